-- multivariate.lua - random vectors and matrices: Dirichlet, multinomial, multivariate normal, Wishart.
--
-- Holds the shapes: sizes of the result come first, the components of a vector (or matrix) last. Parameters with more
-- axes than a vector has broadcast to the sizes.
local op = require 'mascon.core.op'
local check = require 'mascon.core.check'
local place = require 'mascon.core.place'
local tensor = require 'mascon.core.tensor'
local draw = require 'mascon.random.draw'
local error = check.error
local is = tensor.is
local F, ROWS = op.functions, op.rows
local M = {}

--- A parameter in the dtype and on the device of the numbers drawn.
local function like(t, z) return tensor.moved(t:to(z.dtype), z._device, 3) end

--- The device on which parameters lie, where it is none of the host.
local function there(...)
  for i = 1, select('#', ...) do
    local t = select(i, ...)
    if t and t._device ~= 0 then return t.device end
  end
end

--- A parameter as a tensor of at least `least` axes.
local function vector(fname, name, v, least)
  if type(v) == 'table' then v = op.from_table(v) end
  if not is(v) then error(('%s: %s is %s; give a tensor'):format(fname, name, check.show(v)), 4) end
  if v.ndim < least then
    error(('%s: %s is %s; it needs at least %d axes'):format(fname, name, tensor.describe(v), least), 4)
  end
  return v
end

--- How multinomial trials fall into k categories.
---
---   n (integer|tensor): trials, >= 0
---   p (tensor [..., k]): weights, >= 0, of any positive sum
---   dtype: i64 (default), i32, f64, f32
---   result: [sizes..., k]; without sizes, those that n and p broadcast to
---
--- Errors: weights that are negative or sum to nothing, by position.
--- Source: binomial counts category by category: Non-uniform random variate generation, 1986, XI.1.
---
---     mc.random.multinomial{ n = 10, p = { 1, 2, 2 }, key = 1 }  --> i64[3]@cpu { 0, 7, 3 }
---@param sizes? table
---@param opts? table
---@return mascon.Tensor
function M.multinomial(sizes, opts)
  local list, given = draw.arguments('random.multinomial', sizes, opts, 3)
  local p = vector('random.multinomial', 'p', given.p, 1)
  local k = p.shape[p.ndim]
  if k == 0 then error(('random.multinomial: p is %s; give at least one category'):format(tensor.describe(p)), 2) end
  given.p = p
  local out = draw.draw(ROWS.random_multinomial, 'random.multinomial', list, given, { width = k }, 3)
  return out
end

--- Dirichlet vectors: k positive numbers that sum to 1.
---
---   alpha (tensor [..., k]): concentrations, > 0, however small
---   dtype: f64 (default), f32
---   result: [sizes..., k]
---
--- Errors: a concentration that is not positive, by position.
--- Source: normalised gamma numbers, taken through logarithms: Non-uniform random variate generation, 1986, XI.4.
---
---     mc.random.dirichlet{ alpha = { 1, 2, 3 }, key = 1 }  --> f64[3]@cpu { 0.1032, 0.2897, 0.6071 }
---@param sizes? table
---@param opts? table
---@return mascon.Tensor
function M.dirichlet(sizes, opts)
  local list, given = draw.arguments('random.dirichlet', sizes, opts, 3)
  local alpha = vector('random.dirichlet', 'alpha', given.alpha, 1)
  local wrong = F.nonzero_flat(F.logical_not(F.gt(alpha._device ~= 0 and tensor.hosted(alpha) or alpha, 0)))
  if wrong:numel() > 0 then
    local at = wrong[1]:item()
    error(('random.dirichlet: alpha is %.17g at position %d (from 1); concentrations are > 0'):format(
      alpha:reshape { -1 }[at]:item(), at), 2)
  end
  local out, device = given.out, draw.device_of('random.dirichlet', given, 3)
  given.alpha, given.out, given.a = nil, nil, alpha
  if #list > 0 then list[#list + 1] = alpha.shape[alpha.ndim] end
  local x = draw.draw(ROWS.random_loggamma, 'random.dirichlet', list, given, nil, 3)
  if x:numel() > 0 then
    F.subtract(x, F.max(x, -1, { keepdim = true }), { out = x })
    F.exp(x, { out = x })
    F.divide(x, F.sum(x, -1, { keepdim = true }), { out = x })
  end
  return draw.placed('random.dirichlet', out and out:copy_(x) or x, device, out, 2)
end

--- A lower triangular factor L with cov = L L^T: given, or made of a covariance.
local function factor(fname, given)
  local cov, chol = given.cov, given.cholesky
  if (cov == nil) == (chol == nil) then error(fname .. ': give one of cov and cholesky', 4) end
  local what = cov ~= nil and 'cov' or 'cholesky'
  local m = vector(fname, what, cov ~= nil and cov or chol, 2)
  local d = m.shape[m.ndim]
  if m.shape[m.ndim - 1] ~= d then
    error(('%s: %s is %s; give square matrices'):format(fname, what, tensor.describe(m)), 4)
  end
  given.cov, given.cholesky = nil, nil
  if not cov then return m, d end
  return F.cholesky(m), d
end

--- Multivariate normal vectors: mean + L z, cov = L L^T, z standard normal.
---
---   mean (tensor [..., d]): default 0
---   cov (tensor [..., d, d]): covariance, positive definite; or
---   cholesky (tensor [..., d, d]): its lower triangular factor L, which saves the factorisation
---   dtype: f64 (default), f32
---   result: [sizes..., d]; without sizes, those that mean and covariance broadcast to
---
--- Errors: a covariance that is not positive definite (from mc.linalg.cholesky); shapes that do not fit.
--- Source: Non-uniform random variate generation, 1986, XI.2.
---
---     mc.random.multivariate_normal{ cov = { { 4, 2 }, { 2, 3 } }, key = 1 }  --> f64[2]@cpu { -0.2274, -0.7612 }
---@param sizes? table
---@param opts? table
---@return mascon.Tensor
function M.multivariate_normal(sizes, opts)
  local list, given = draw.arguments('random.multivariate_normal', sizes, opts, 3)
  local L, d = factor('random.multivariate_normal', given)
  local mean = given.mean ~= nil and vector('random.multivariate_normal', 'mean', given.mean, 1) or nil
  if mean and mean.shape[mean.ndim] ~= d then
    error(('random.multivariate_normal: mean is %s, the covariance %s; their last sizes must agree'):format(
      tensor.describe(mean), tensor.describe(L)), 2)
  end
  local out, device = given.out, draw.device_of('random.multivariate_normal', given, 3) or there(mean, L)
  given.out, given.mean = nil, nil
  if #list == 0 then -- sizes of the parameters
    local row = L['..., 1']
    local sizes_of = mean and F.multiply(like(mean, row), row) or row
    for i = 1, sizes_of.ndim - 1 do list[i] = sizes_of.shape[i] end
  end
  list[#list + 1] = d
  local z = draw.draw(ROWS.random_normal, 'random.multivariate_normal', list, given, nil, 3)
  L = like(L, z)
  local x
  if L.ndim == 2 then
    x = F.matmul(z:reshape { -1, d }, L.mT):reshape(list)
  else
    x = F.matmul(L, z:expand_dims(-1)):squeeze(-1)
  end
  if mean then F.add(x, like(mean, z), { out = x }) end
  return draw.placed('random.multivariate_normal', out and out:copy_(x) or x, device, out, 2)
end

--- Wishart matrices: the sum of df outer products of normal vectors with covariance `scale`.
---
---   df (number): degrees of freedom, > d - 1, need not be whole
---   scale (tensor [d, d]): positive definite; mean of the result is df scale
---   dtype: f64 (default), f32
---   result: [sizes..., d, d]
---
--- Errors: df too small; scale not positive definite.
--- Source: Bartlett's decomposition: Algorithm AS 53: Wishart variate generator, 1972.
---
---     mc.random.wishart{ df = 5, scale = { { 1, 0 }, { 0, 2 } }, key = 1 }
---       --> f64[2,2]@cpu { { 1.8411, -0.5538 }, { -0.5538, 2.0607 } }
---@param sizes? table
---@param opts? table
---@return mascon.Tensor
function M.wishart(sizes, opts)
  local list, given = draw.arguments('random.wishart', sizes, opts, 3)
  given.cov, given.scale = given.scale, nil
  if given.cov == nil then error('random.wishart: scale is not given; it is a positive definite matrix', 2) end
  local L, d = factor('random.wishart', given)
  if L.ndim ~= 2 then error(('random.wishart: scale is %s; give one matrix'):format(tensor.describe(L)), 2) end
  local df = check.arg('random.wishart', 'df', given.df, 'number', 3)
  if not (df > d - 1 and df < math.huge) then
    error(('random.wishart: df is %.17g; it must exceed d - 1 = %d'):format(df, d - 1), 2)
  end
  local out, device = given.out, draw.device_of('random.wishart', given, 3) or there(L)
  given.out, given.df = nil, nil
  local spec = draw.spec()
  local o = draw.options('random.wishart', given, spec, 3)
  local key, stream = require('mascon.random.source').resolve('random.wishart', o)
  local from = { key = key, stream = stream, dtype = o.dtype }
  local matrix = { unpack(list) }
  matrix[#matrix + 1], matrix[#matrix + 2] = d, d
  -- Bartlett: below the diagonal normal numbers, on it roots of chi-square numbers with df, df - 1, ... degrees of
  -- freedom
  local A = draw.draw(ROWS.random_normal, 'random.wishart', matrix, from, nil, 3)
  local diagonal = { unpack(list) }
  diagonal[#diagonal + 1] = d
  from.df = F.subtract(df, F.cumsum(tensor.empty('random.wishart', { d }, 'f64', 3):fill_(1)) - 1)
  local chi = F.sqrt(draw.draw(ROWS.random_chisquare, 'random.wishart', diagonal, from, { part = 1 }, 3))
  local row = F.cumsum(tensor.empty('random.wishart', { d }, A.dtype, 3, A._device):fill_(1))
  local i, j = row:reshape { d, 1 }, row:reshape { 1, d }
  A = F.add(F.multiply(A, F.gt(i, j):to(A.dtype)), F.multiply(chi:expand_dims(-1), F.eq(i, j):to(A.dtype)))
  local B = F.matmul(like(L, A), A)
  local x = F.matmul(B, B.mT)
  return draw.placed('random.wishart', out and out:copy_(x) or x, device, out, 2)
end

place.made_by(M, 'multinomial dirichlet multivariate_normal wishart')

return M
