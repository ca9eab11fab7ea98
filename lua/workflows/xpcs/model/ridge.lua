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

--- The principal y with y e^y = z, for z above -1 / e.
function M.lambert(z)
  local y = z < 1 and z * (1 - math.min(z, 0.5)) or math.log(z)
  for _ = 1, 50 do
    local e = math.exp(y)
    local step = (y * e - z) / (e * (1 + y))
    y = math.max(y - step, -0.999)
    if math.abs(step) < 1e-15 * (1 + math.abs(y)) then break end
  end
  return y
end

--- Values of a ridge at a point: of scale, power and shift, and level and slope at the middle time.
local function values(r, x)
  local scale, power = r.scale and x[r.scale] or r.held, x[r.power]
  local shift = r.shift and x[r.shift] or r.held
  local s = scale * math.exp(power * r.log)
  return scale, power, shift, s + shift, s * power
end

--- The point with number k at v where the others of its ridge keep level and slope at the middle time, as far as there
--- are such values; those of a ridge with one number less keep the level.
---@param ridges table[] of among, before number k was held
---@param x number[]
---@param k integer
---@param v number
---@return number[]
function M.through(ridges, x, k, v)
  local y = { unpack(x) }
  y[k] = v
  for _, r in ipairs(ridges) do
    local a, b, c = r.scale, r.power, r.shift
    if k == a or k == b or k == c then
      local scale, power, shift, level, slope = values(r, x)
      if k == a then
        scale = v
        if c then
          local z = slope * r.log / v
          power = math.abs(r.log) < 1e-9 and slope / v or M.lambert(math.max(z, -0.36)) / r.log
        elseif level - shift > 0 then power = math.log((level - shift) / v) / r.log end
      elseif k == b then
        local s = not a and scale * math.exp(v * r.log) or not c and level - shift
          or slope / v > 0 and slope / v or level - shift
        power, scale = v, s > 0 and s * math.exp(-v * r.log) or scale
      elseif level - v > 0 then
        power = a and slope / (level - v) or math.log((level - v) / scale) / r.log
        if a then scale = (level - v) * math.exp(-power * r.log) end
      end
      if a and k ~= a then y[a] = scale end
      if k ~= b and power - power == 0 then y[b] = power end
      if c and k ~= c then y[c] = level - scale * math.exp(y[b] * r.log) end
    end
  end
  return y
end

local POWERS = { -1, -0.3, 0.3, 1 }

--- Points with other powers along a ridge whose three numbers are free: level and slope are those of x where a positive
--- scale has them, else half of the level is of the scale.
---@return number[][]
function M.elsewhere(r, x)
  local out = {}
  if not (r.scale and r.shift) then return out end
  local _, _, _, level, slope = values(r, x)
  for i, power in ipairs(POWERS) do
    local s = slope / power > 0 and slope / power or level / 2
    local y = { unpack(x) }
    y[r.scale], y[r.power], y[r.shift] = s * math.exp(-power * r.log), power, level - s
    out[i] = y
  end
  return out
end

--- The point of a ridge whose three numbers are free where the scale alone has level and slope at the middle time.
---@return number[] x where there is none
function M.plain(r, x)
  if not (r.scale and r.shift) then return x end
  local _, _, _, level, slope = values(r, x)
  if level <= 0 then return x end
  local y = { unpack(x) }
  y[r.power], y[r.shift] = slope / level, 0
  y[r.scale] = level * math.exp(-y[r.power] * r.log)
  return y
end

--- Scale, power and shift of a rate scale t^power + shift with a level and a slope (of the level by ln t) at a time,
--- where some of the three are given: the slope is met as far as what is left allows.
---@param log number ln of the time
---@param level number
---@param slope number
---@param scale? number
---@param power? number
---@param shift? number
---@return number|nil scale, number|nil power, number|nil shift; nil where there are none
function M.rate(log, level, slope, scale, power, shift)
  if not power then
    if scale and not shift then
      power = math.abs(log) < 1e-9 and slope / scale or M.lambert(math.max(slope * log / scale, -0.36)) / log
    else
      local s = level - (shift or 0)
      if s <= 0 then return nil end
      power = scale and math.log(s / scale) / log or slope / s
    end
  end
  if not scale then
    local s = level - (shift or 0)
    if not shift and slope / power > 0 then s = slope / power end -- of a power that is given too
    if s <= 0 then return nil end
    scale = s * math.exp(-power * log)
  end
  if power - power ~= 0 then return nil end
  return scale, power, shift or level - scale * math.exp(power * log)
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
