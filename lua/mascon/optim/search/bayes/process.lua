-- process.lua - regression by Gaussian processes: posterior means, deviations, samples; hyperparameters by the marginal
-- likelihood.
--
-- Holds the factor of the covariance and the fit of hyperparameters.
--
-- Source: Rasmussen and Williams, Gaussian processes for machine learning, 2006, algorithm 2.1 and equation 5.9.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local kernels = require 'mascon.optim.search.bayes.kernels'
local box = require 'mascon.optim.search.bayes.box'
local error = check.error
local F = op.functions
local M = {}

---@class mascon.Process
---@field kernel mascon.Kernel with fitted hyperparameters
---@field log_likelihood number of the (normalised) data
---@field n integer
local Process = {}
Process.__index = Process

local JITTER = { 0, 1e-12, 1e-10, 1e-8, 1e-6 } -- of the mean variance, until the factorisation succeeds

--- Cholesky factor of K, with as little on the diagonal as it takes; nil when none of it helps.
local function factor(K)
  local n = K.shape[1]
  local scale = F.trace(K):item() / n
  if not (scale < math.huge) then return nil end
  for _, j in ipairs(JITTER) do
    -- the one way an op says that a matrix is not definite
    local fine, L = pcall(F.cholesky, j == 0 and K or K + F.eye(n) * (j * scale))
    if fine then return L end
    if not tostring(L):find 'positive definite' then error(L, 0) end
  end
end

--- Factor, weights and log marginal likelihood of a kernel for these data; with slopes also the gradient in the
--- logarithms of the hyperparameters.
local function posterior(self, kernel, slopes)
  local K, list = kernel:matrix(self.X, nil, slopes)
  if self.noise then K = K + F.diag(self.noise) end
  local L = factor(K)
  if not L then return nil end
  local y = self.y:expand_dims(-1)
  local alpha = F.solve_triangular(L, F.solve_triangular(L, y, { lower = true }), { lower = true, trans = 'transpose' })
  local n = self.n
  local value = -0.5 * F.sum(y * alpha):item() - F.sum(F.log(F.diagonal(L))):item() - 0.5 * n * math.log(2 * math.pi)
  local g
  if slopes then
    local half = F.solve_triangular(L, F.eye(n), { lower = true })
    local W = F.matmul(alpha, alpha.mT) - F.matmul(half.mT, half)
    g = {}
    for i, s in ipairs(list) do g[i] = 0.5 * F.sum(W * s):item() end
  end
  return { L = L, alpha = alpha, value = value, gradient = g }
end

--- Fits the hyperparameters: the best of several starts, the first one as given, others drawn within the bounds.
local function fit(self, restarts, key)
  local kernel = self.kernel
  local low, high, start = {}, {}, {}
  local movable = false
  for i, t in ipairs(kernel.theta) do
    low[i], high[i], start[i] = math.log(t.low), math.log(t.high), math.log(t.value)
    movable = movable or t.high > t.low
  end
  if not movable then return end
  local function objective(theta)
    local values = {}
    for i = 1, #theta do values[i] = math.exp(theta[i]) end
    local p = posterior(self, kernel:values(values), true)
    if not p or p.value ~= p.value then return nil end
    local g = {}
    for i = 1, #theta do g[i] = -p.gradient[i] end
    return -p.value, g
  end
  local best, at
  local draws = restarts > 0 and require('mascon.random').uniform({ restarts, #start }, { key = key }):totable() or {}
  for r = 0, restarts do
    local from = start
    if r > 0 then
      from = {}
      for i = 1, #start do -- within e^3 of the start, which is where answers are, and the bounds
        local a, b = math.max(low[i], start[i] - 3), math.min(high[i], start[i] + 3)
        from[i] = a + (b - a) * draws[r][i]
      end
    end
    local x, value = box.minimise(objective, from, low, high, { gtol = 1e-4, ftol = 1e-8, maxiter = 60 })
    if value and (not best or value < best) then best, at = value, x end
  end
  local values = {}
  at = at or start
  for i = 1, #at do
    values[i] = kernel.theta[i].high == kernel.theta[i].low and kernel.theta[i].value or math.exp(at[i])
  end
  kernel:values(values)
end

local OPTS = {
  kernel = { nil, 'table' }, noise = { nil, 'any' }, normalize = { true, 'bool' }, fit = { true, 'bool' },
  restarts = { 2, 'integer >= 0' }, key = { 0, 'any' },
}

--- Regression by a Gaussian process: a distribution over functions that agrees with data.
---
---   X: f32|f64 [n, d] or [n]; y: [n]
---   kernel: of mc.optim.kernels, copied; default constant * matern(a length for each coordinate) + white
---   noise: variances of y known in advance, a number or [n] (in units of y^2), on top of the kernel's
---   normalize (true): y is moved to mean 0 and scaled to deviation 1 before, and back in predictions
---   fit (true): hyperparameters that are most likely given the data, from the kernel's values and `restarts` (2) other
---   starts drawn from `key` (0)
---
--- Result: kernel, log_likelihood (of normalised y), n; methods predict(X, opts), sample(X, opts), likelihood(values).
--- Errors: shapes that do not fit, NaN, a covariance that is not positive definite.
--- Source: Gaussian processes for machine learning, 2006, algorithm 2.1.
---     local x = mc.linspace(0, 6, 13)
---     local gp = mc.optim.gaussian_process(x, mc.sin(x), { kernel = mc.optim.kernels.rbf(1) })
---     ('%.3f'):format(gp:predict(mc.tensor { 1.25 }).mean:item())  --> 0.949
---@param X mc.tensor
---@param y mc.tensor
---@param opts? table
---@return mascon.Process
function M.gaussian_process(X, y, opts)
  local fname = 'gaussian_process'
  local o = check.opts(fname, opts, OPTS, 3)
  X = kernels.points(fname, X)
  y = op.operand(fname, y, 2)
  tensor.only_host(fname, { X, y }, 2)
  local n = X.shape[1]
  if y.ndim ~= 1 or y:numel() ~= n or tensor.kind[y.dtype] == 'c' then
    error(('%s: X is %s and y %s; give a value for each point'):format(fname, tensor.describe(X), tensor.describe(y)),
      2)
  end
  if n == 0 then error(('%s: there are no points'):format(fname), 2) end
  if not (F.all(F.isfinite(X)) and F.all(F.isfinite(y))) then
    error(('%s: X is %s, y %s, and some of it is NaN or infinite; leave such points out'):format(fname,
      tensor.describe(X), tensor.describe(y)), 2)
  end
  y = y:to 'f64'
  local self = setmetatable({ X = X, n = n, d = X.shape[2], mean = 0, scale = 1 }, Process)
  if o.normalize then
    self.mean = F.mean(y):item()
    local s = n > 1 and math.sqrt(F.mean(F.square(y - self.mean)):item()) or 0
    self.scale = s > 0 and s or 1
  end
  self.y = (y - self.mean) / self.scale
  if o.noise ~= nil then
    local v = op.operand(fname, o.noise, 2):to 'f64'
    if v.ndim > 0 and (v.ndim ~= 1 or v:numel() ~= n) or not F.all(F.ge(v, 0)) then
      error(('%s: option noise is %s; give a variance, or one for each of %d points'):format(fname,
        tensor.describe(v), n), 2)
    end
    self.noise = v:broadcast_to { n } / self.scale ^ 2
  end
  local kernel = o.kernel
  if kernel == nil then
    local unit = {}
    for i = 1, self.d do unit[i] = 1 end
    kernel = kernels.constant(1) * kernels.matern(self.d > 1 and unit
      or 1) + kernels.white(1e-2, { bounds = { 1e-8, 10 } })
  elseif not kernels.is(kernel) then
    error(('%s: option kernel is %s; give one of mc.optim.kernels'):format(fname, check.show(kernel)), 2)
  end
  self.kernel = kernel:copy()
  if o.fit then fit(self, o.restarts, o.key) end
  local p = posterior(self, self.kernel, false)
  if not p then
    error(('%s: the covariance of kernel %s is not positive definite; add kernels.white, or noise'):format(fname,
      tostring(self.kernel)), 2)
  end
  self._L, self._alpha, self.log_likelihood = p.L, p.alpha, p.value
  return self
end

local PREDICT = { std = { true, 'bool' }, cov = { false, 'bool' }, noise = { false, 'bool' } }

--- Posterior at X [k, d]: mean [k], std [k], and with cov = true the covariance [k, k].
---
---   noise (false): with white noise of the kernel, for new observations instead of the function; std = false leaves
---   the deviations out
---@param X mc.tensor
---@param opts? { std?: boolean, cov?: boolean, noise?: boolean }
---@return { mean: mc.tensor, std?: mc.tensor, cov?: mc.tensor }
function Process:predict(X, opts)
  local o = check.opts('gaussian_process.predict', opts, PREDICT, 3)
  X = kernels.points('gaussian_process.predict', X)
  if X.shape[2] ~= self.d then
    error(('gaussian_process.predict: the points are %s, those of the data have %d coordinates'):format(
      tensor.describe(X), self.d), 2)
  end
  local cross = self.kernel:matrix(X, self.X)
  local out = { mean = F.matmul(cross, self._alpha):reshape { -1 } * self.scale + self.mean }
  if o.std or o.cov then
    local v = F.solve_triangular(self._L, cross.mT, { lower = true })
    local prior = self.kernel:diagonal(X.shape[1], o.noise)
    out.std = F.sqrt(F.maximum(prior - F.sum(F.square(v), 1), 0)) * self.scale
    if o.cov then
      local K = o.noise and self.kernel:matrix(X) or self.kernel:matrix(X, X)
      out.cov = (K - F.matmul(v.mT, v)) * self.scale ^ 2
    end
  end
  return out
end

--- Functions drawn from the posterior, at X [k, d]: [n, k].
---
---   n (1): how many; key, seed, generator: source of the numbers, as in mc.random
---@param X mc.tensor
---@param opts? { n?: integer, key?: any, seed?: integer, generator?: any }
---@return mc.tensor
function Process:sample(X, opts)
  local o = check.opts('gaussian_process.sample', opts,
    { n = { 1, 'integer >= 1' }, key = { nil, 'any' }, seed = { nil, 'integer >= 0' }, generator = { nil, 'any' } }, 3)
  local p = self:predict(X, { cov = true })
  local L = factor(p.cov)
  if not L then
    error('gaussian_process.sample: the posterior covariance is not positive definite; take points further apart', 2)
  end
  local z =
    require('mascon.random').normal({ o.n, p.mean:numel() }, { key = o.key, seed = o.seed, generator = o.generator })
  return F.matmul(z, L.mT) + p.mean
end

--- Log marginal likelihood of the data, and its gradient in the logarithms of the hyperparameters, for other values of
--- them (those of the fitted kernel without). nil where the covariance is not positive definite.
---@param values? number[]
---@return number|nil, number[]|nil
function Process:likelihood(values)
  local kernel = self.kernel:copy()
  if values then
    if type(values) ~= 'table' or #values ~= #kernel.theta then
      error(('gaussian_process.likelihood: give a list of %d hyperparameters'):format(#kernel.theta), 2)
    end
    kernel:values(values)
  end
  local p = posterior(self, kernel, true)
  if p then return p.value, p.gradient end
end

function Process:__tostring()
  return ('Gaussian process: %d points of %d coordinate%s, kernel %s, log likelihood %.6g'):format(self.n, self.d,
    self.d == 1 and '' or 's', tostring(self.kernel), self.log_likelihood)
end

return M
