--- multivariate.lua - random vectors: Dirichlet, multinomial, multivariate normal, Wishart.
--
-- Owns the shapes: sizes of the result come first, the components of a vector (or matrix) last. Parameters with more axes than a vector
-- has broadcast to the sizes. May not know how numbers are drawn.
local op = require 'mascon.op'
local check = require 'mascon.check'
local tensor = require 'mascon.tensor'
local draw = require 'mascon.random.draw'
local error = check.error
local is = tensor.is
local F, ROWS = op.functions, op.rows
local M = {}

--- A parameter as a tensor of at least `least` axes.
local function vector(fname, name, v, least)
  if type(v) == 'table' then v = op.from_table(v) end
  if not is(v) then error(('%s: %s is %s; give a tensor'):format(fname, name, check.show(v)), 4) end
  if v.ndim < least then error(('%s: %s is %s; it needs at least %d axes'):format(fname, name, tensor.describe(v), least), 4) end
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
--- Source: binomial counts category by category: Devroye, Non-uniform random variate generation, 1986, XI.1.
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
--- Source: normalised gamma numbers, taken through logarithms: Devroye 1986, XI.4.
---
---     mc.random.dirichlet{ alpha = { 1, 2, 3 }, key = 1 }  --> f64[3]@cpu { 0.1032, 0.2897, 0.6071 }
---@param sizes? table
---@param opts? table
---@return mascon.Tensor
function M.dirichlet(sizes, opts)
  local list, given = draw.arguments('random.dirichlet', sizes, opts, 3)
  local alpha = vector('random.dirichlet', 'alpha', given.alpha, 1)
  local wrong = F.nonzero_flat(F.logical_not(F.gt(alpha, 0)))
  if wrong:numel() > 0 then
    local at = wrong[1]:item()
    error(('random.dirichlet: alpha is %.17g at position %d (from 1); concentrations are > 0'):format(alpha:reshape { -1 }[at]:item(), at), 2)
  end
  local out = given.out
  given.alpha, given.out, given.a = nil, nil, alpha
  if #list > 0 then list[#list + 1] = alpha.shape[alpha.ndim] end
  local x = draw.draw(ROWS.random_loggamma, 'random.dirichlet', list, given, nil, 3)
  if x:numel() > 0 then
    F.subtract(x, F.max(x, -1, { keepdim = true }), { out = x })
    F.exp(x, { out = x })
    F.divide(x, F.sum(x, -1, { keepdim = true }), { out = x })
  end
  return out and out:copy_(x) or x
end

return M
