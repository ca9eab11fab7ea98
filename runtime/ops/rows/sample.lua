-- sample.lua - compositions: random numbers.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local composed, DRAWN = W.composed, W.DRAWN

-- ---------------------------------------------------------------- compositions: random numbers
for _, m in ipairs {
  { 'multivariate',
    { 'dirichlet', rules = 'none: the derivative of incomplete gamma functions in their order has no op',
      doc = 'positive numbers that sum to 1',
      source = 'Non-uniform random variate generation, 1986, XI.4', work = 1.1 },
    { 'multivariate_normal', rules = 'auto', doc = 'normal vectors with mean and covariance',
      source = 'Non-uniform random variate generation, 1986, XI.2', work = 1.1 },
    { 'wishart', rules = 'auto', doc = 'sums of outer products of normal vectors',
      source = 'Algorithm AS 53: Wishart variate generator, 1972', work = 6.1 },
  },
  { 'sample',
    { 'permutation', doc = 'a random order of 1..n or of slices',
      source = 'Non-uniform random variate generation, 1986, XII.2', work = 2.2 },
    { 'shuffle', doc = 'slices put into a random order, in place',
      source = 'Non-uniform random variate generation, 1986, XII.2' },
    { 'choice', doc = 'draws from things, with weights or without, with replacement or without',
      source = 'Weighted random sampling with a reservoir, 2006' },
  },
  { 'sequence', { 'latin_hypercube', doc = 'points with one in each slice of every coordinate',
    source = 'A comparison of three methods, 1979', work = 7.1 } },
} do
  local list = { unpack(m, 2) }
  for _, r in ipairs(list) do r.namespace, r.method, r.rules, r.nin = 'random', false, r.rules or 'none: random', 0 end
  composed('mascon.random.' .. m[1], DRAWN, list)
end
