-- prepare.lua - matrices as they come from a detector made ready for a fit: symmetric, diagonal corrected.
--
-- The diagonal of a two-time matrix holds shot noise, not correlation; every program replaces it by values beside it.
-- Fits leave it out; plots, starting values and what is written use it. Tensors in, tensors out.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local triangles = require 'workflows.xpcs.data.triangles'
local error = check.error
local M = {}

local RULE = { rule = { 'half', triangles.RULES } }

--- The full matrix of the triangle that counts: H + H^T with the diagonal once. Raises where the rule allows neither.
---@param h mc.tensor [n, n]
---@param where string for messages
---@param rule? string of triangles.RULES ('half': one triangle holds values, either one)
---@param odd? table takes what is odd about full matrices; see triangles.side
function M.symmetric(h, where, rule, odd)
  check.arg('xpcs.prepare.symmetric', 'where', where, 'string', 3)
  rule = check.opts('xpcs.prepare.symmetric', { rule = rule }, RULE).rule
  if odd ~= nil then check.arg('xpcs.prepare.symmetric', 'odd', odd, 'table', 3) end
  if h.ndim ~= 2 or h.shape[1] ~= h.shape[2] then
    error(('xpcs: %s is %s; a two-time matrix is square'):format(where, tostring(h.shape)), 3)
  end
  h = h:to 'f64'
  local upper, lower = mc.triu(h, 1), mc.tril(h, -1)
  local side, even = triangles.side(upper, lower.mT, rule, where, odd)
  if even then return h end
  local one = side == 'upper' and upper or lower.mT -- NaN fills none: a triangle that is not used may hold it
  return one + one.mT + mc.diag(mc.diagonal(h))
end

local function with_diagonal(c, d) return c - mc.diag(mc.diagonal(c)) + mc.diag(d) end

--- Values beside the diagonal: c[i, i + 1] of a symmetric matrix.
local function beside(c) return (mc.diagonal(c, { offset = 1 }) + mc.diagonal(c, { offset = -1 })) * 0.5 end

local function edges(s)
  local n = s.shape[1] + 1
  if n == 2 then return mc.concat({ s, s }, 1) end
  return mc.concat({ s[{ { 1, 1 } }], (s[{ { 1, n - 2 } }] + s[{ { 2, n - 1 } }]) * 0.5, s[{ { n - 1, n - 1 } }] }, 1)
end

--- Of the neighbours along rows and columns at distances 1 to 3: median, mean or mean of the middle 60 %.
local function of_window(c, estimator)
  local rows, out = c:totable(), {}
  local n = #rows
  for i = 1, n do
    local v = {}
    for k = 1, 3 do
      for _, j in ipairs { i + k, i - k } do
        if j >= 1 and j <= n then
          for _, x in ipairs { rows[i][j], rows[j][i] } do if x == x then v[#v + 1] = x end end
        end
      end
    end
    table.sort(v)
    local from, to = 1, #v
    if estimator == 'median' then from, to = math.ceil((#v + 1) / 2 - 0.5), math.floor((#v + 1) / 2 + 0.5)
    elseif estimator == 'trimmed' then
      local cut = math.floor(0.2 * #v)
      from, to = 1 + cut, #v - cut
    end
    local sum = 0
    for k = from, to do sum = sum + v[k] end
    out[i] = to >= from and sum / (to - from + 1) or 0 / 0
  end
  return mc.tensor(out)
end

M.METHODS = { 'basic', 'median', 'mean', 'trimmed', 'interpolation' }

--- A symmetric matrix with its diagonal replaced by values beside it.
---@param c mc.tensor f64 [n, n]
---@param method? string 'basic' (mean of the two nearest averages), 'median', 'mean', 'trimmed' (distances 1 to 3),
---  'interpolation' (along the row)
function M.diagonal(c, method)
  local n = c.shape[1]
  method = method or 'basic'
  local known = table.concat(M.METHODS, ', ')
  if type(method) ~= 'string' or not (', ' .. known .. ','):find(', ' .. method .. ',', 1, true) then
    error(('xpcs.prepare.diagonal: method is %s; choose %s'):format(check.show(method), known), 2)
  end
  if n < 2 then return c end
  if method == 'basic' or n == 2 then return with_diagonal(c, edges(beside(c))) end
  if method == 'interpolation' then return with_diagonal(c, edges(mc.diagonal(c, { offset = 1 }))) end
  return with_diagonal(c, of_window(c, method))
end

--- Quality of one matrix: how many of its pairs are finite, and range and mean of these.
---@param c mc.tensor f64 [n, n] symmetric
---@return table points, good, missing, least, most, mean
function M.quality(c)
  local n = c.shape[1]
  local points = n * (n - 1) / 2
  local finite = mc.isfinite(c)
  if mc.all(finite) then return { points = points, good = points, missing = 0, least = mc.min(c):item(),
    most = mc.max(c):item(), mean = mc.mean(c):item() } end
  local t = mc.arange(1, n)
  local inside = mc.logical_and(finite, mc.gt(t:expand_dims(1), t:expand_dims(2)))
  local good = mc.sum(inside:to 'f64'):item()
  return {
    points = points, good = good, missing = points - good, least = mc.min(mc.where(inside, c, math.huge)):item(),
      most = mc.max(mc.where(inside, c, -math.huge)):item(),
    mean = good > 0 and mc.sum(mc.where(inside, c, 0)):item() / good or 0 / 0,
  }
end

return M
