-- bayesian.lua - the search of upstream over a curve that is already known.
--
-- Holds the start points, the Gaussian process of fixed unit length and the acquisition that upstream minimises. It
-- exists to reproduce upstream's thresholds; mc.autoreject.exact never has a higher loss.
--
-- The process has zero mean, covariance exp(-(x - x')^2 / 2) and 1e-10 on the diagonal. With data in volts all
-- covariances are 1 to eight digits, so the result depends on the unit; that is part of what is reproduced. A new
-- point adds one row to the Cholesky factor and one to its solutions for all candidates, so a round costs n
-- multiplications a candidate.
local mc = require 'mascon'
local M = {}

local JITTER, ROUNDS = 1e-10, 10

--- Places (1-based) where a search over n candidates begins: floor(j s), j = 0 .. points - 1, s = n / points in
--- doubles, and the last one.
---     table.concat(mc.autoreject.bayesian.starts(10, 5), ' ')  --> 1 3 5 7 9 10
---@param n integer candidates
---@param points integer 40 for channels, 5 for all channels together
---@return integer[]
function M.starts(n, points)
  local list, step = {}, n / points
  local function add(i)
    if list[#list] ~= i + 1 then list[#list + 1] = i + 1 end
  end
  for j = 0, points - 1 do add(math.floor(j * step)) end
  add(n - 1)
  return list
end

local Process = {}
Process.__index = Process

local function covariance(a, b) return math.exp(-0.5 * (a - b) * (a - b)) end

--- A process over candidates; mu and left hold means and what remains of the variance 1.
local function process(candidates)
  local p = { x = {}, rows = {}, solved = {}, values = {}, all = candidates, mu = {}, left = {} }
  for i = 1, #candidates do p.mu[i], p.left[i] = 0, 1 end
  return setmetatable(p, Process)
end

function Process:add(x, y)
  local n, row, rest = #self.x, {}, y
  local diagonal = 1 + JITTER
  for j = 1, n do
    local sum, other = covariance(x, self.x[j]), self.rows[j]
    for k = 1, j - 1 do sum = sum - row[k] * other[k] end
    row[j] = sum / other[j]
    diagonal = diagonal - row[j] * row[j]
    rest = rest - row[j] * self.values[j]
  end
  local root = math.sqrt(diagonal)
  row[n + 1] = root
  local value, solved = rest / root, {}
  for i, a in ipairs(self.all) do
    local sum = covariance(x, a)
    for j = 1, n do sum = sum - row[j] * self.solved[j][i] end
    local v = sum / root
    solved[i] = v
    self.mu[i] = self.mu[i] + v * value
    self.left[i] = self.left[i] - v * v
  end
  self.x[n + 1], self.rows[n + 1], self.values[n + 1], self.solved[n + 1] = x, row, value, solved
end

--- The candidate where upstream's acquisition is least.
function Process:next(best)
  local mu, left = mc.tensor(self.mu), mc.tensor(self.left)
  local sd = mc.sqrt(mc.maximum(left, 0))
  local z = (mu - best) / (sd + 1e-12)
  local a = (mu - best) * mc.special.ndtr(z) + sd * (mc.exp(z * z * -0.5) / math.sqrt(2 * math.pi))
  return mc.argmin(a):item()
end

--- The search over one curve.
---@param candidates number[] ascending, ties kept
---@param losses number[] of the candidates, +inf allowed
---@param points integer start points: 40 for channels, 5 for all channels together
---@return integer index of the candidate chosen, 1-based
--- Source: upstream's bayesopt.py, whose expected improvement has the sign for a maximum.
function M.search(candidates, losses, points)
  local p, best, at = process(candidates), nil, nil
  local n = #candidates
  -- equal candidates share the loss of the last of them: a threshold is snapped to it
  local function snapped(i)
    while i < n and candidates[i + 1] == candidates[i] do i = i + 1 end
    return i
  end
  local function try(i)
    local y = losses[snapped(i)]
    if y == math.huge then return end
    p:add(candidates[i], y)
    if not best or y < best then best, at = y, i end
  end
  for _, i in ipairs(M.starts(n, points)) do try(i) end
  for _ = 1, ROUNDS do
    try(mc.scope(function() return p:next(best) end))
  end
  return snapped(at)
end

--- The search for every channel, in the form of mc.autoreject.exact.choose.
---@param candidates any f64 [C, n] ascending
---@param losses any f64 [C, n]
---@param points? integer 40
---@return table index i64 [C], 1-based · threshold f64 [C] · loss f64 [C]
function M.choose(candidates, losses, points)
  local a, l, index, threshold, loss = candidates:totable(), losses:totable(), {}, {}, {}
  for c = 1, #a do
    local i = M.search(a[c], l[c], points or 40)
    index[c], threshold[c], loss[c] = i, a[c][i], l[c][i]
  end
  return { index = mc.tensor(index, { dtype = 'i64' }), threshold = mc.tensor(threshold), loss = mc.tensor(loss) }
end

return M
