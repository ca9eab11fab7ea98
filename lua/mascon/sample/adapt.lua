-- adapt.lua - what a sampler learns while it warms up: the step size and the metric.
--
-- Step size: dual averaging (Hoffman and Gelman, The No-U-Turn Sampler, 2014, section 3.2). Metric: windows of doubling
-- length, each of which gives the covariance of its draws, shrunk towards a small multiple of the identity (Stan
-- Reference Manual, section HMC algorithm parameters).
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local methods, F = tensor.methods, op.functions
local M = {}

-- ---------------------------------------------------------------- step size

local GAMMA, T0, KAPPA = 0.05, 10, 0.75

---@class mascon.sample.StepSize
local StepSize = {}
StepSize.__index = StepSize

function M.step_size(target) return setmetatable({ target = target }, StepSize) end

--- Begins anew at a step size.
function StepSize:restart(eps)
  self.mu, self.count, self.deficit, self.mean = math.log(10 * eps), 0, 0, 0
  self.eps = eps
end

--- One transition had this acceptance statistic.
function StepSize:learn(accept)
  if accept ~= accept then accept = 0 end
  self.count = self.count + 1
  local t = self.count
  local share = 1 / (t + T0)
  self.deficit = (1 - share) * self.deficit + share * (self.target - math.min(1, accept))
  local x = self.mu - self.deficit * math.sqrt(t) / GAMMA
  local weight = t ^ -KAPPA
  self.mean = (1 - weight) * self.mean + weight * x
  self.eps = math.exp(x)
end

--- The step size of the draws that are kept.
function StepSize:settled() return self.count > 0 and math.exp(self.mean) or self.eps end

--- A step size at which one leapfrog step is accepted with probability about 0.8.
---@param momentum fun(): any a fresh momentum
function M.reasonable(density, state, metric, momentum, eps)
  local direction
  for _ = 1, 200 do
    local from = density.kicked(state, momentum(), metric)
    local to = density:leapfrog(from, metric, eps)
    local up = from.energy - to.energy > math.log(0.8)
    if direction == nil then direction = up and 1 or -1 end
    if (direction == 1) ~= up then return eps end
    if eps > 1e7 then
      return nil, 'grows without end: the density is not proper, or does not depend on the parameters'
    end
    if eps < 1e-300 then
      return nil, 'shrinks to 0: the gradient does not belong to the log density, or start lies where the density '
        .. 'is not smooth'
    end
    eps = eps * 2 ^ direction
  end
  return eps
end

-- ---------------------------------------------------------------- windows

local FIRST, LAST, BASE = 75, 50, 25

--- The iterations of a warm-up after which the metric is made anew, and the iteration from which draws are looked at.
---@return table<integer, boolean> ends
---@return integer first
---@return integer last
function M.windows(warmup)
  if warmup < 20 then return {}, 1, 0 end
  local first, last, size = FIRST, LAST, BASE
  if warmup < FIRST + LAST + BASE then
    first, last = math.floor(0.15 * warmup), math.floor(0.1 * warmup)
    size = warmup - first - last
  end
  local ends, at, stop = {}, first, warmup - last
  while at < stop do
    local to = at + size
    if to + 2 * size > stop then to = stop end -- the next window would not fit: this one takes what is left
    ends[to] = true
    at, size = to, 2 * size
  end
  return ends, first + 1, stop
end

-- ---------------------------------------------------------------- metric

---@class mascon.sample.Metric
---@field inverse any covariance of the position: [n] or [n, n]
local Metric = {}
Metric.__index = Metric

local function metric(inverse)
  local self = setmetatable({ inverse = inverse }, Metric)
  if inverse.ndim == 2 then
    local linalg = require 'mascon.linalg'
    self.root = linalg.cholesky(inverse)
    self.factor = F.matrix_transpose(linalg.inv(self.root)):contiguous() -- momenta are N(0, inverse^-1)
  else
    self.root = F.sqrt(inverse)
    self.factor = F.divide(1, self.root)
  end
  return self
end
M.metric = metric

--- Draws as positions or momenta: standard normal z [n] with the covariance of the metric, or with its inverse.
function Metric:momentum(z) return self.inverse.ndim == 2 and F.matmul(self.factor, z) or F.multiply(self.factor, z) end
function Metric:spread(z) return self.inverse.ndim == 2 and F.matmul(self.root, z) or F.multiply(self.root, z) end

--- The metric of a list of positions.
function M.learned(positions, dense, dtype)
  local x = methods.to(F.stack(positions, 1), 'f64')
  local k, n = #positions, x.shape[2]
  local shrink, floor = k / (k + 5), 1e-3 * 5 / (k + 5)
  local deviation = F.subtract(x, F.mean(x, 1))
  local c
  if dense then
    c = F.divide(F.matmul(F.matrix_transpose(deviation), deviation), k - 1)
    c = F.add(F.multiply(c, shrink), F.multiply(F.eye(n), floor))
  else
    c = F.add(F.multiply(F.divide(F.sum(F.square(deviation), 1), k - 1), shrink), floor)
  end
  return metric(methods.to(c, dtype))
end

return M
