-- difference.lua - derivatives of a vector function by finite differences that never leave the bounds.
--
-- Holds the sizes and directions of the steps: relative to |x|, as in MINPACK, where SciPy steps relative to max(1,
-- |x|) and so across many times the value of a small variable. A variable near 0 steps by its largest size so far.
-- Where the first step of a variable is lost in the rounding of f, |x| is not its size (a start at 1e-10): the step
-- grows until f notices, up to that of a variable of size 1.
--
-- Source: Press, Teukolsky, Vetterling and Flannery, Numerical recipes, 2007, section 5.7; Nocedal and Wright,
-- Numerical optimization, 2006, section 8.1 (eps^(1/2) and eps^(1/3)).
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local F = op.functions
local M = {}

local max, min, abs = math.max, math.min, math.abs
local EPS = 2 ^ -52
local RELATIVE = { ['2-point'] = EPS ^ 0.5, ['3-point'] = EPS ^ (1 / 3) }
M.RELATIVE = RELATIVE

--- Relative errors of derivatives at best: of the order of eps^(1/2) and eps^(2/3).
M.NOISE = { ['2-point'] = EPS ^ 0.5, ['3-point'] = EPS ^ (2 / 3) }

local NEAR_ZERO = 1e-4 -- of the largest size so far
M.LOST = EPS ^ 0.75 -- of the value: smaller changes have less than four digits
M.GROWTH = 1000 -- of a step that was lost

--- The step of one variable, exactly representable: h, and whether both sides fit into the bounds. `most` is its
--- largest size so far, `least` the least step that f notices.
local function choose(x, most, low, high, method, relative, least)
  local size = max((relative or RELATIVE[method]) * max(abs(x), NEAR_ZERO * most), least)
  if size == 0 or x + size == x then size = RELATIVE[method] end
  local h = x >= 0 and size or -size
  local fits_up, fits_down = x + size <= high, x - size >= low
  if method == '3-point' and fits_up and fits_down then return (x + size) - x, true end
  local room = method == '3-point' and 2 or 1
  local function fits(s) return x + room * s <= high and x + room * s >= low end
  if not fits(h) then
    if fits(-h) then
      h = -h
    else -- neither fits: towards the farther bound, as far as there is room
      h = high - x >= x - low and (high - x) / room or -(x - low) / room
    end
  end
  return (x + h) - x, false
end

--- (b - a) c, in row j of `into` when there is one; a and b, which nobody else holds then, are given back.
local function slope(a, b, c, into, j)
  if not into then return (b - a) * c end
  local row = into[j]
  F.subtract(b, a, { out = row })
  F.multiply(row, c, { out = row })
  b:release()
  return row
end

--- The derivative by variable j, and its step.
---@param o table f, x, f0, low, high, method, relative, into as in rows
local function derivative(o, j, most, least)
  local x, f, f0, into = o.x, o.f, o.f0, o.into
  local y = {}
  for i = 1, #x do y[i] = x[i] end
  local h, both = choose(x[j], most, o.low[j], o.high[j], o.method, o.relative and o.relative[j], least)
  if h == 0 then return into and into[j]:fill_(0) or create.zeros_like(f0), 0 end -- bounds that leave no room
  y[j] = x[j] + h
  local one = f(y)
  if both then
    y[j] = x[j] - h
    local down = f(y)
    local row = slope(down, one, 1 / (2 * h), into, j)
    if into then down:release() end
    return row, h
  end
  if o.method == '2-point' then return slope(f0, one, 1 / h, into, j), h end
  y[j] = x[j] + 2 * h -- a parabola through x, x + h, x + 2 h
  local two = f(y)
  local row = slope(f0 * 3 + two, one * 4, 1 / (2 * h), into, j)
  if into then
    one:release()
    two:release()
  end
  return row, h
end

--- Whether a step changes nothing that stands above the rounding of f0.
local function lost(row, h, f0)
  return f0:numel() > 0 and not F.any(F.gt(F.abs(row) * abs(h), F.abs(f0) * M.LOST))
end

--- Rows of derivatives of f at x: a list of tensors shaped like f0, row j for x[j].
---@param f fun(x: number[]): mc.tensor
---@param x number[]
---@param f0 mc.tensor
---@param low number[]
---@param high number[]
---@param method '2-point'|'3-point'
---@param sizes number[] largest size of each variable so far; brought up to date, as is its field least
---@param relative? number[] steps relative to |x|
---@param into? mc.tensor [n or more, m] whose rows take the derivatives; f gives a new tensor [m] at every call then,
---  which is released
---@return mc.tensor[]
function M.rows(f, x, f0, low, high, method, sizes, relative, into)
  local o = { f = f, x = x, f0 = f0, low = low, high = high, method = method, relative = relative, into = into }
  local rows, least = {}, sizes.least or {}
  sizes.least = least
  for j = 1, #x do
    local first = sizes[j] == nil and not (relative and relative[j])
    sizes[j] = max(sizes[j] or 0, abs(x[j]))
    local h
    rows[j], h = derivative(o, j, sizes[j], least[j] or 0)
    while first and h ~= 0 and abs(h) < RELATIVE[method] and lost(rows[j], h, f0) do
      least[j] = min(M.GROWTH * abs(h), RELATIVE[method])
      local before = abs(h)
      rows[j], h = derivative(o, j, sizes[j], least[j])
      if abs(h) <= before then break end -- the bounds leave no more room
    end
  end
  return rows
end

return M
