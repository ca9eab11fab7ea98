-- polyfit.lua - polynomials that fit samples in the sense of least squares.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local systems = require 'mascon.linalg.systems'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local FIT = { w = { nil, 'tensor | table' }, rcond = { nil, 'number > 0' }, full = { false, 'bool' } }
--- Polynomial of a degree that fits samples best in the sense of least squares.
---@param x any positions [m]
---@param y any samples [m] or [m, k]
---@param degree integer
---@param opts? table w: weights [m] of the residuals · rcond: singular values below it times the largest count as 0
--- (m eps) · full (false)
---@return any coefficients [degree + 1] or [degree + 1, k], highest power first; with full a table coef, residuals,
--- rank, S (singular values of the scaled Vandermonde matrix), rcond
--- Errors: sizes that differ, no samples.
--- Source: NumPy polyfit: columns scaled to norm 1, singular value decomposition.
---     mc.polyfit({ 0, 1, 2 }, { 1, 3, 7 }, 2):round()  --> f64[3]@cpu { 1, 1, 1 }
function M.polyfit(x, y, degree, opts)
  local o = check.opts('polyfit', opts, FIT, 3)
  x, y = op.beside('polyfit', x, y, 2), op.beside('polyfit', y, x, 2)
  check.arg('polyfit', 'degree', degree, 'integer >= 0', 3)
  if x.ndim ~= 1 or y.ndim < 1 or y.ndim > 2 or x:numel() == 0 or y.shape[1] ~= x:numel() then
    local text = 'polyfit: samples are %s at %s; give positions [m] and samples [m] or [m, k]'
    error(text:format(tensor.describe(y), tensor.describe(x)), 2)
  end
  local kind = tensor.kind[y.dtype]
  local whole = kind ~= 'f' and kind ~= 'c'
  local complex = tensor.kind[x.dtype] == 'c' or kind == 'c'
  local dtype = y.dtype
  if whole or dtype == 'f64' then dtype = complex and 'c128' or 'f64'
  elseif complex then dtype = tensor.promote_dtypes(dtype, x.dtype) end
  local m, wide = x:numel(), complex and 'c128' or 'f64'
  local a, b = F.vander(methods.to(x, wide), degree + 1), methods.to(y, wide)
  if o.w then
    local w = methods.to(op.operand('polyfit', o.w, 2), 'f64')
    if w.ndim ~= 1 or w:numel() ~= m then
      error(('polyfit: weights are %s for %d samples; give one for each'):format(tensor.describe(w), m), 2)
    end
    local column = methods.reshape(w, { m, 1 })
    a, b = a * column, b * (y.ndim == 2 and column or w)
  end
  local scale = F.sqrt(F.sum(F.square(F.abs(a)), 1))
  scale = F.where(F.eq(scale, 0), 1, scale)
  local rcond = o.rcond or m * 2 ^ -52
  local s = systems.lstsq(a / scale, b, { rcond = rcond })
  local coef = methods.to(s.x / (y.ndim == 2 and methods.reshape(scale, { degree + 1, 1 }) or scale), dtype)
  if not o.full then return coef end
  return { coef = coef, residuals = s.residuals, rank = s.rank, S = s.S, rcond = rcond }
end

return M
