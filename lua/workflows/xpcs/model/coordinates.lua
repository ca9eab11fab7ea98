-- coordinates.lua - where the sampler moves: unbounded numbers w in which the posterior is close to a standard normal.
--
-- Three steps from w to the parameters. v = v0 + L w with L L^T the covariance of the fit in v: parameters differ by
-- seven orders of magnitude. Shears straighten the ridge of scale t^power + shift (D0, alpha, D_offset, and the same of
-- the shear rate): data fix its value and its slope at a middle time, so power and shift are measured from where they
-- would be for this scale. A shear adds a function of one coordinate to another one: its Jacobian is 1. Last, bounds:
-- logit between two, logarithm above one. Plain numbers, no tensors: there are at most some dozens.
local mc = require 'mascon'
local ridge = require 'workflows.xpcs.model.ridge'
local M = {}

---@class mascon.xpcs.Coordinates
local Coordinates = {}
Coordinates.__index = Coordinates

local function logit(self, i, y) return math.log((y - self.low[i]) / (self.high[i] - y)) end
local function logit_slope(self, i, y)
  return (self.high[i] - self.low[i]) / ((y - self.low[i]) * (self.high[i] - y))
end

--- A value kept off its bounds, and whether it was free to move.
local function held(self, i, y)
  local margin = 1e-3 * (self.high[i] - self.low[i])
  local low, high = self.low[i] + margin, self.high[i] - margin
  if y < low then return low, 0 elseif y > high then return high, 0 end
  return y, 1
end

local LEAST = -0.3 -- of z = y e^y: below, the power stays where it is

--- Where the power of a ridge would be for a scale, as u, and its slope by the scale: power time^power is
--- product / scale.
local function power_of(self, t, scale)
  local z = t.product / scale
  local y, slope = z, -z / scale
  if t.curved then
    local y_log = ridge.lambert(math.max(z * t.log, LEAST))
    y = y_log / t.log
    slope = z * t.log > LEAST and slope / (math.exp(y_log) * (1 + y_log)) or 0
  end
  local free
  y, free = held(self, t.power, y)
  return logit(self, t.power, y), free * logit_slope(self, t.power, y) * slope
end

--- Where the shift would be for a scale and a power, as u, and its slopes by both.
local function shift_of(self, t, scale, power)
  local p = t.time ^ power
  local y, free = held(self, t.shift, t.level - scale * p)
  local slope = free * logit_slope(self, t.shift, y)
  return logit(self, t.shift, y), -slope * p, -slope * scale * p * t.log
end

--- Parameter i of u_i, with its slope, the logarithm of the slope and the slope of that.
local function bounded(self, i, u)
  local low, high = self.low[i], self.high[i]
  if high == math.huge then
    local e = math.exp(u)
    return low + e, e, u, 1
  end
  local e = math.exp(-math.abs(u))
  local s = u >= 0 and 1 / (1 + e) or e / (1 + e)
  local width = high - low
  return low + width * s, width * (e / (1 + e) ^ 2), math.log(width) - math.abs(u) - 2 * math.log(1 + e), 1 - 2 * s
end

--- Parameters of w, with their slopes by u and the terms of the Jacobian: its logarithm, and the slopes of that by u.
---@param w number[]
---@return number[] x, number[] slope, number volume, number[] dvolume
function Coordinates:values(w)
  local n, L, v, x, slope, dvolume, volume = self.n, self.L, {}, {}, {}, {}, 0
  for i = 1, n do
    v[i] = self.v0[i]
    for j = 1, i do v[i] = v[i] + L[i][j] * w[j] end
  end
  local function take(i, u)
    local log_slope
    x[i], slope[i], log_slope, dvolume[i] = bounded(self, i, u)
    volume = volume + log_slope
  end
  for i = 1, n do if not self.sheared[i] then take(i, v[i]) end end
  for _, t in ipairs(self.ridges) do
    local u_power, dp = power_of(self, t, x[t.scale])
    take(t.power, v[t.power] + u_power)
    local u_shift, ds, dq = shift_of(self, t, x[t.scale], x[t.power])
    take(t.shift, v[t.shift] + u_shift)
    t.dpower, t.dshift, t.dshift_power = dp * slope[t.scale], ds * slope[t.scale], dq * slope[t.power]
  end
  return x, slope, volume, dvolume
end

--- Gradient by w of one by u, at the point of the last `values`.
function Coordinates:pull(g)
  local n, out = self.n, {}
  for _, t in ipairs(self.ridges) do
    g[t.power] = g[t.power] + t.dshift_power * g[t.shift]
    g[t.scale] = g[t.scale] + t.dshift * g[t.shift] + t.dpower * g[t.power]
  end
  for j = 1, n do
    local sum = 0
    for i = j, n do sum = sum + self.L[i][j] * g[i] end
    out[j] = sum
  end
  return out
end

--- Coordinates around x with a covariance of x.
---@param x number[] strictly inside
---@param low number[]
---@param high number[] math.huge: open
---@param covariance number[][]
---@param ridges? table[] { scale, power, shift (places in x), time (at which scale t^power + shift is known best) }
---@return mascon.xpcs.Coordinates
function M.new(x, low, high, covariance, ridges)
  local n = #x
  local self = setmetatable({ n = n, low = low, high = high, v0 = {}, ridges = {}, sheared = {} }, Coordinates)
  local slope, map = {}, {}
  for i = 1, n do
    map[i] = {}
    for j = 1, n do map[i][j] = 0 end
    if high[i] == math.huge then self.v0[i], slope[i] = math.log(x[i] - low[i]), x[i] - low[i]
    else self.v0[i], slope[i] = logit(self, i, x[i]), 1 / logit_slope(self, i, x[i]) end
    map[i][i] = 1 / slope[i]
  end
  for k, r in ipairs(ridges or {}) do
    local a, b, c = r.scale, r.power, r.shift
    local t = { scale = a, power = b, shift = c, time = r.time, log = math.log(r.time),
      level = x[a] * r.time ^ x[b] + x[c] }
    t.curved = math.abs(t.log) > 1e-6 and x[b] * t.log * r.time ^ x[b] > 0.9 * LEAST
    t.product = x[a] * x[b] * (t.curved and r.time ^ x[b] or 1)
    self.ridges[k], self.sheared[b], self.sheared[c] = t, true, true
    local u_power, dp = power_of(self, t, x[a])
    local u_shift, ds, dq = shift_of(self, t, x[a], x[b])
    self.v0[b], self.v0[c] = self.v0[b] - u_power, self.v0[c] - u_shift
    map[b][a], map[c][a], map[c][b] = -dp, -ds, -dq
  end
  local J = mc.tensor(map)
  local C = J:matmul(mc.tensor(covariance)):matmul(J.mT):totable()
  -- factorised in units of the standard deviations, so that sizes play no part
  local d, scaled = {}, {}
  for i = 1, n do d[i] = math.sqrt(C[i][i]) end
  for i = 1, n do
    scaled[i] = {}
    for j = 1, n do scaled[i][j] = 0.5 * (C[i][j] + C[j][i]) / (d[i] * d[j]) end
  end
  local L = mc.linalg.cholesky(mc.tensor(scaled)):totable()
  for i = 1, n do for j = 1, n do L[i][j] = L[i][j] * d[i] end end
  self.L = L
  return self
end

return M
