-- random/init.lua - keys, generators, distributions, permutations and choices, low-discrepancy points.
--
-- The public table; every function is defined and documented in the file of its concept. Numbers are functions of (key,
-- stream, index): the same whatever the threads, the split of the work or the order of the calls that name a key.
local source = require 'mascon.random.source'
local place = require 'mascon.core.place'
local M = {}

local PARTS = {
  key = { 'key', 'keys' },
  source = { 'generator', 'default_generator' },
  distributions = { 'uniform', 'normal', 'integers', 'exponential', 'laplace', 'logistic', 'gumbel', 'weibull',
    'pareto', 'cauchy', 'rayleigh', 'lognormal',
    'gamma', 'loggamma', 'beta', 'chisquare', 'student_t', 'f', 'von_mises', 'truncated_normal', 'poisson', 'binomial',
    'negative_binomial', 'geometric', 'hypergeometric', 'bernoulli', 'rademacher' },
  multivariate = { 'multinomial', 'dirichlet', 'multivariate_normal', 'wishart' },
  sample = { 'permutation', 'shuffle', 'choice' },
  sequence = { 'sobol', 'halton', 'latin_hypercube' },
}
for part, names in pairs(PARTS) do
  local from = require('mascon.random.' .. part)
  for _, name in ipairs(names) do
    M[name] = from[name]
    if part == 'distributions' then place.makers[from[name]] = true end
    if part == 'distributions' or part == 'multivariate' then source.draws[name] = from[name] end
  end
end

return M
