-- circular.lua - statistics of angles.
--
-- Holds the resultant vector and what follows from it. Angles are radians unless low and high say what one turn is.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local methods, F = tensor.methods, op.functions
local M = {}

local SPEC = { axis = { nil, 'integer | table' }, keepdim = { false, 'bool' }, weights = { nil, 'tensor' },
  low = { 0, 'number' }, high = { 2 * math.pi, 'number' } }

--- Mean cosine and sine of the angles, options, number of angles folded.
local function resultant(fname, x, axis, opts, level)
  local o = op.axis_options(fname, SPEC, axis, opts, level)
  x = op.operand(fname, x, level)
  local kind = tensor.kind[x.dtype]
  if kind == 'c' then error(('%s: angles are %s; take :angle() first'):format(fname, tensor.describe(x)), level) end
  if kind ~= 'f' then x = methods.to(x, 'f64') end
  if not (o.high > o.low) then
    error(('%s: low = %g and high = %g; high must be larger'):format(fname, o.low, o.high), level)
  end
  local turn = o.high - o.low
  local angle = x
  if o.low ~= 0 then angle = angle - o.low end
  if turn ~= 2 * math.pi then angle = angle * (2 * math.pi / turn) end
  local c, s = F.cos(angle), F.sin(angle)
  local how = { axis = o.axis, keepdim = o.keepdim }
  if o.weights then
    local w = o.weights
    local total = F.sum(w * create.ones_like(x), how)
    return F.sum(c * w, how) / total, F.sum(s * w, how) / total, o, total
  end
  local n, shape = 1, x.shape
  if o.axis == nil then
    n = x:numel()
  else
    for _, a in ipairs(type(o.axis) == 'table' and o.axis or { o.axis }) do
      n = n * shape[tensor.axis(fname, x, a, level + 1) + 1]
    end
  end
  return F.mean(c, how), F.mean(s, how), o, n
end

--- Direction of the mean resultant vector, in [low, high).
---@param x any f32|f64 [...] angles
---@param axis any option axis, alone or before the others
---@param opts table|nil axis (all) · keepdim · weights: broadcast with x, >= 0 · low, high: one turn (0, 2 pi)
---@return any angle; without meaning where the resultant is 0
--- Source: Fisher, Statistical analysis of circular data, 1993, section 2.3.
function M.circmean(x, axis, opts)
  local c, s, o = resultant('stats.circmean', x, axis, opts, 3)
  local a = F.atan2(s, c)
  a = F.where(F.lt(a, 0), a + 2 * math.pi, a) * ((o.high - o.low) / (2 * math.pi)) + o.low
  return F.where(F.ge(a, o.high), o.low, a)
end

--- Length R of the mean resultant vector: 0 spread evenly, 1 all equal. Arguments and source as circmean.
---     mc.stats.circ_r(mc.tensor{0, 0})  --> f64[]@cpu 1
function M.circ_r(x, axis, opts)
  local c, s = resultant('stats.circ_r', x, axis, opts, 3)
  return F.minimum(F.hypot(c, s), 1)
end

--- Circular variance 1 - R. Arguments and source as circmean.
function M.circvar(x, axis, opts)
  local c, s = resultant('stats.circvar', x, axis, opts, 3)
  return 1 - F.minimum(F.hypot(c, s), 1)
end

--- Circular standard deviation sqrt(-2 log R), in the unit of x. Arguments and source as circmean.
function M.circstd(x, axis, opts)
  local c, s, o = resultant('stats.circstd', x, axis, opts, 3)
  return F.sqrt(F.maximum(F.log(F.minimum(F.hypot(c, s), 1)) * -2, 0)) * ((o.high - o.low) / (2 * math.pi))
end

--- Rayleigh test of uniformity against one preferred direction.
---@param x any f32|f64 [...] angles
---@param axis any option axis, alone or before the others
---@param opts table|nil as circmean; weights count as numbers of angles (binned data)
---@return table { statistic = n R^2, pvalue =, r = R }
--- p = exp(sqrt(1 + 4 n + 4 (n^2 - (n R)^2)) - (1 + 2 n)), good to three digits for n >= 10.
--- Source: Zar, Biostatistical analysis, 1999, equation 27.4.
function M.rayleigh(x, axis, opts)
  local c, s, _, n = resultant('stats.rayleigh', x, axis, opts, 3)
  local r = F.minimum(F.hypot(c, s), 1)
  local nr = r * n
  local rest = (n - nr) * (n + nr)
  -- sqrt(a) - b with a - b^2 = -4 (n R)^2: no cancellation for large n
  local root = F.sqrt(rest * 4 + (n * 4 + 1))
  local p = F.exp(F.square(nr) * -4 / (root + (n * 2 + 1)))
  return { statistic = nr * r, pvalue = p, r = r }
end

return M
