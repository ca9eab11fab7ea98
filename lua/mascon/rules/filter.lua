-- filter.lua - derivatives of recursive filters.
--
-- One section of order q satisfies A y = B u + z in delays, z the state before the first sample in its first q places;
-- past the last sample the same line reads off the state that is left. Multipliers w of these lines solve A^T w =
-- cotangent of y: a filter run backwards, begun with the cotangent of the last state. Then u gets B^T w, z the first q
-- of w, coefficients the correlations of w with u and y. Form of a rule: see init.lua.
local mc = require 'mascon.array'
local recurrence = require 'mascon.array.recurrence'

local R = {}

local ALL = mc.all
local function cut(t, first, last) return t[{ ALL, { first, last } }] end

--- Cotangents of one section. u, y, gy: f64 [m, n]; b, a: f64 [1, q + 1]; ge: of the state left, f64 [m, q] or nil. In
--- filter order.
---@return any gu [m, n]
---@return any gz [m, q]
---@return any w [m, n + q]
local function back_section(b, a, gy, ge)
  local m, n, q = gy.shape[1], gy.shape[2], b.shape[2] - 1
  local at = { device = gy.device }
  local unit = mc.concat({ mc.ones({ 1, 1 }, at), mc.zeros({ 1, q }, at) }, 2)
  local rest = mc.zeros({ m, q }, at)
  if q == 0 then return gy * b, rest, gy end
  local tail = rest
  if ge then -- so that w is ge there: A^T applied to it
    tail = recurrence.recurse(ge, mc.concat({ a, unit }, 2), rest, true)
  end
  local w = recurrence.recurse(mc.concat({ gy, tail }, 2), mc.concat({ unit, a }, 2), rest, true)
  local gu = recurrence.recurse(w, mc.concat({ b, unit }, 2), rest, true)
  return cut(gu, 1, n), cut(w, 1, q), w
end

--- Sums over rows and time of t[r, s] w[r, s + k] for k = first..q as [1, q + 1 - first].
local function lags(t, w, first, q)
  local n, out = t.shape[2], {}
  for k = first, q do out[#out + 1] = mc.sum(t * cut(w, 1 + k, n + k)) end
  return #out > 0 and mc.stack(out):reshape(1, -1) or mc.zeros({ 1, 0 }, { device = t.device })
end

--- Operands: samples, coefficients f64 [sections, 2 (q + 1)], state f64; results: samples, state.
R.iir = function(g, x, y, p)
  local axis = p.axes and p.axes[1] or x[1].ndim
  local n, sections, q = x[1].shape[axis], x[2].shape[1], x[2].shape[2] / 2 - 1
  local m = 1
  for i, size in ipairs(x[1].shape) do if i ~= axis then m = m * size end end
  --- Samples as f64 [m, n] in filter order, and back.
  local function rows(t)
    local r = mc.moveaxis(t, axis, -1):reshape { m, n }:to 'f64'
    return p.reverse and mc.flip(r, 2) or r
  end
  local moved = mc.moveaxis(x[1], axis, -1).shape
  local function samples(r)
    if p.reverse then r = mc.flip(r, 2) end
    return mc.moveaxis(r:reshape { unpack(moved) }, -1, axis)
  end
  local state = x[3]:reshape { m, sections * q }
  local ge = g[2] and g[2]:reshape { m, sections * q }
  local function of_section(t, s) return cut(t, (s - 1) * q + 1, s * q) end
  local function b_of(s) return x[2][{ { s, s }, { 1, q + 1 } }] end
  local function a_of(s) return x[2][{ { s, s }, { q + 2, 2 * q + 2 } }] end
  local c = g[1] and rows(g[1]) or mc.zeros({ m, n }, { device = x[1].device })
  local gz, w = {}, {}
  for s = sections, 1, -1 do
    c, gz[s], w[s] = back_section(b_of(s), a_of(s), c, ge and of_section(ge, s))
  end
  local function coefficients() -- what goes through each section, once more
    local u, out = rows(x[1]), {}
    for s = 1, sections do
      local v = s < sections and recurrence.recurse(u, x[2][{ { s, s }, ALL }], of_section(state, s), false)
        or rows(y[1])
      out[s] = mc.concat({ lags(u, w[s], 0, q), mc.zeros({ 1, 1 }, { device = x[1].device }), -lags(v, w[s], 1, q) }, 2)
      u = v
    end
    return mc.concat(out, 1)
  end
  return { samples(c), coefficients, mc.concat(gz, 2):reshape { unpack(x[3].shape) } }
end

return { reverse = R }
