-- layout.lua - derivatives of tensors joined, rolled and padded: what moves elements as they are.
--
-- Form of a rule: rules/init.lua.
local mc = require 'mascon.array'
local axes = require 'mascon.rules.axes'

local R, forward, without = {}, {}, {}

-- ---------------------------------------------------------------- joined tensors

R.concat = function(g, x, _, p)
  local axis, at, out = axes.axis(p, 1), 0, {}
  for i, t in ipairs(x) do
    local first, n = at + 1, t.shape[axis]
    out[i] = n > 0 and function() return axes.slab(g, axis, first, first + n - 1) end
      or mc.zeros(t.shape, { dtype = g.dtype, device = g.device })
    at = at + n
  end
  return out
end
R.stack = function(g, x, _, p)
  local axis, out = axes.axis(p, 1), {}
  for i in ipairs(x) do
    local key = {}
    for d = 1, g.ndim do key[d] = d == axis and i or mc.all end
    out[i] = function() return g[key] end
  end
  return out
end
local function joined(f)
  return function(t, x, y, p)
    local list = {}
    for i, v in ipairs(x) do list[i] = t[i] or mc.zeros(v.shape, { dtype = y[1].dtype, device = y[1].device }) end
    return { f(list, axes.axis(p, 1)) }
  end
end
forward.concat, forward.stack = joined(mc.concat), joined(mc.stack)

-- ---------------------------------------------------------------- roll

R.roll = function(g, _, _, p)
  local shift = {}
  for i, s in ipairs(p.shift) do shift[i] = -s end
  return { mc.roll(g, shift, p.axes and { axis = p.axes } or {}) }
end
forward.roll = 'linear'

-- ---------------------------------------------------------------- pad

local function mode_of(p) return p.row.modes[tonumber(p.raw.i[0]) + 1] end
local function widths(p, axis) return tonumber(p.raw.i[2 * axis - 1]), tonumber(p.raw.i[2 * axis]) end

--- Copies are added up where they came from, axis by axis: the op itself tells of 1, 2, ..., n where each stood.
R.pad = function(g, x, _, p)
  local mode, t = mode_of(p), x[1]
  for i = 1, t.ndim do
    local before, after = widths(p, i)
    local n = t.shape[i]
    if before + after > 0 then
      if n == 0 then return { mc.zeros(t.shape, { dtype = g.dtype, device = g.device }) } end
      if mode == 'constant' or mode == 'empty' then
        g = axes.slab(g, i, before + 1, before + n)
      else
        local places = mc.arange(1, n, 1, { dtype = 'i64', device = g.device })
        local from = mc.pad(places, { before, after }, { mode = mode })
        g = mc.segment_sum(g, from, { num_segments = n, axis = i })
      end
    end
  end
  return { g }
end
forward.pad = function(t, x, _, p)
  local mode, w = mode_of(p), {}
  for i = 1, x[1].ndim do w[i] = { widths(p, i) } end
  return { mc.pad(t[1], w, { mode = mode == 'empty' and 'constant' or mode }) }
end
without.pad = { [2] = 'the constants around are numbers' }

return { reverse = R, forward = forward, without = without }
