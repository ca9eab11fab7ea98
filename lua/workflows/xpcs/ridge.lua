-- ridge.lua - steps along the curved ridge of scale t^power + shift (D0, alpha, D_offset; the same of the shear rate).
--
-- With L = ln(t / time) such a rate is level + slope L + slope power L^2 / 2 + ...: data fix its level and its slope at
-- a middle time well and the rest badly, so that the least cost lies along a curve of constant level and slope. A step
-- that is straight in the parameters leaves it at once, and a solver follows it in hundreds of short ones. Here the
-- change that a step means to first order is made in level, slope and the logarithm of the scale at that time. Where
-- scale or shift is held, level and slope follow the step with the two that are left.
local M = {}

local SHARES = { 1, 0.5, 0.25, 0 } -- of the step along the ridge, until its end is inside the bounds

--- Ridges among free numbers: those whose power is free and scale or shift as well.
---@param at fun(i: integer): integer|nil index of physical parameter i among the free numbers
---@param P integer physical parameters
---@param last number s, the last time
---@param value fun(i: integer): number value of physical parameter i where it is held
---@return table[] list of { scale, power, shift (indices or nil), held (value of the one that is nil), log }
function M.among(at, P, last, value)
  local out = {}
  for first = 1, P - 2, 3 do
    local a, b, c = at(first), at(first + 1), at(first + 2)
    if b and (a or c) then
      out[#out + 1] = { scale = a, power = b, shift = c, held = not a and value(first) or not c and value(first + 2)
        or nil, log = math.log(last) - 1 }
    end
  end
  return out
end

--- Scale, power and shift of a share of a step.
local function moved(r, x, step, share)
  local a, b, c = r.scale, r.power, r.shift
  local power, turn = x[b], step[b]
  local factor = math.exp(power * r.log)
  local scale, shift = (a and x[a] or r.held) * factor, c and x[c] or r.held
  local change = (a and step[a] * factor or 0) + scale * r.log * turn
  local slope = (scale + change) * power + scale * turn
  local level = scale + shift + change + (c and step[c] or 0)
  local s
  if not a then
    local p = power + turn
    return r.held, p, level - r.held * math.exp(p * r.log)
  elseif not c then s = level - shift
  else s = scale * math.exp(share * change / scale) end
  local p = slope / s
  return s * math.exp(-p * r.log), p, level - s
end

local function inside(v, k, low, high) return not k or v > low[k] and v < high[k] end

--- Where a step leads: x + step for all others, along the ridge for its parameters.
---@param ridges table[]
---@param x number[]
---@param step number[]
---@param low number[]
---@param high number[]
---@return number[]
function M.move(ridges, x, step, low, high)
  local y = {}
  for k = 1, #x do y[k] = x[k] + step[k] end
  for _, r in ipairs(ridges) do
    local a, b, c = r.scale, r.power, r.shift
    for k = 1, a and c and x[a] > 0 and #SHARES or 1 do
      local scale, power, shift = moved(r, x, step, SHARES[k])
      if scale > 0 and inside(scale, a, low, high) and inside(power, b, low, high) and inside(shift, c, low, high) then
        if a then y[a] = scale end
        y[b] = power
        if c then y[c] = shift end
        break
      end
    end
  end
  return y
end

return M
