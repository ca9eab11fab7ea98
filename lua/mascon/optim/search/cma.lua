-- cma.lua - the evolution strategy with covariance matrix adaptation (CMA-ES).
--
-- A population is drawn from a normal distribution, whose mean, step size and covariance follow the ranks of the
-- values. Restarts double the population (IPOP). Holds the strategy's constants, the update, the penalty of bounds and
-- the stopping.
--
-- Source: The CMA evolution strategy: a tutorial, arXiv 1604.00772, 2016, figure 6, table 1 and appendix B (names and
-- equation numbers below are its); restarts: A restart CMA evolution strategy with increasing population size, 2005;
-- penalty: A method for handling uncertainty in evolutionary optimization with an application to feedback control of
-- combustion, 2009, section IV B.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local ask = require 'mascon.optim.ask'
local objective = require 'mascon.optim.objective'
local parameters = require 'mascon.optim.parameters'
local random = require 'mascon.random'
local F, methods = op.functions, tensor.methods
local error = check.error
local M = {}

local method = { name = 'cma-es' }

M.OPTS = {
  sigma = { nil, 'number > 0' }, popsize = { nil, 'integer >= 3' }, restarts = { 0, 'integer >= 0' },
  increase = { 2, 'number >= 1' }, tolfun = { 1e-12, 'number >= 0' },
  tolx = { nil, 'number >= 0' }, target = { nil, 'number' }, vectorized = { false, 'bool' }, state = { nil, 'table' },
}
for k, v in pairs(ask.SEEDED) do M.OPTS[k] = v end

-- ---------------------------------------------------------------- constants of a run (table 1)

--- Weights of all ranks, the ones below the best half negative (equations 49 to 53), and the rates that go with them.
local function constants(s)
  local n, lambda = s.n, s.lambda
  local mu = math.floor(lambda / 2)
  local raw, plus, plus2, minus, minus2 = {}, 0, 0, 0, 0
  for i = 1, lambda do
    local w = math.log((lambda + 1) / 2) - math.log(i)
    raw[i] = w
    if i <= mu then plus, plus2 = plus + w, plus2 + w * w else minus, minus2 = minus + w, minus2 + w * w end
  end
  local mu_eff, mu_eff_minus = plus * plus / plus2, minus * minus / minus2
  local c = { mu = mu, mu_eff = mu_eff }
  c.c_c = (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n)
  c.c_1 = 2 / ((n + 1.3) ^ 2 + mu_eff)
  c.c_mu = math.min(1 - c.c_1, 2 * (0.25 + mu_eff + 1 / mu_eff - 2) / ((n + 2) ^ 2 + mu_eff))
  c.c_sigma = (mu_eff + 2) / (n + mu_eff + 5)
  c.damping = 1 + 2 * math.max(0, math.sqrt((mu_eff - 1) / (n + 1)) - 1) + c.c_sigma
  c.length = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n)) -- of a normal vector
  local limit = math.min(1 + c.c_1 / c.c_mu, 1 + 2 * mu_eff_minus / (mu_eff + 2), (1 - c.c_1 - c.c_mu) / (n * c.c_mu))
  local below = 0
  for i = 1, lambda do if raw[i] < 0 then below = below - raw[i] end end
  c.weights, c.total = {}, 0
  for i = 1, lambda do
    c.weights[i] = raw[i] >= 0 and raw[i] / plus or limit * raw[i] / below
    c.total = c.total + c.weights[i]
  end
  return c
end

-- ---------------------------------------------------------------- a run

local function zeros(n) return tensor.empty('cma_es', { n }, 'f64', 3):fill_(0) end

--- Where a run begins: x0 the first time, a uniform place in the box after that, or x0 again without one.
local function begin(s)
  local n = s.n
  s.mean, s.constants = methods.copy(s.x0), constants(s)
  if s.run > 0 and s.low and F.isfinite(s.low):all() and F.isfinite(s.high):all() then
    local u = ask.draw(s, function(g) return random.uniform({ n }, { generator = g }) end)
    s.mean = F.add(s.low, F.multiply(F.subtract(s.high, s.low), u))
  end
  s.sigma, s.p_sigma, s.p_c = s.sigma0, zeros(n), zeros(n)
  s.C, s.B, s.D = F.eye(n), F.eye(n), tensor.empty('cma_es', { n }, 'f64', 3):fill_(1)
  s.generation, s.since, s.best_of, s.medians = 0, 0, {}, {}
  s.penalty, s.spread = nil, {}
end

function M.start(fname, self, o)
  local n = self.x:numel()
  if not o.sigma then
    error(fname
      .. ': option sigma is missing; give the first standard deviation, about a third of the way to the minimum', 3)
  end
  local function host(t) return t and methods.to(tensor.hosted(t), 'f64') end
  local s = {
    n = n, on = ask.device(self.x), x0 = host(self.x), low = host(self.low), high = host(self.high),
    dtype = self.x.dtype, sigma0 = o.sigma, lambda = o.popsize
      or 4 + math.floor(3 * math.log(n)), run = 0, restarts = o.restarts, increase = o.increase, target = o.target,
    tolfun = o.tol or o.tolfun, tolx = o.tolx or 1e-12 * o.sigma, random = ask.random(fname, o),
  }
  s.maxiter = o.maxiter
    or (o.maxfev and math.huge or 100 + math.floor(150 * (n + 3) ^ 2 / math.sqrt(s.lambda)) * 2 ^ o.restarts)
  s.maxfev = o.maxfev or math.huge
  begin(s)
  return s
end

function method.ask(s)
  local z = ask.draw(s, function(g) return random.normal({ s.lambda, s.n }, { generator = g }) end)
  s.y = F.matmul(F.multiply(z, s.D), F.matrix_transpose(s.B)) -- rows N(0, C) (39)
  local x = F.fma(s.y, s.sigma, s.mean)
  if s.low then x = F.clip(x, s.low, s.high) end
  return methods.to(x, s.dtype)
end

local function median(list)
  local sorted = {}
  for i, v in ipairs(list) do sorted[i] = v end
  table.sort(sorted)
  local n = #sorted
  return n % 2 == 1 and sorted[(n + 1) / 2] or (sorted[n / 2] + sorted[n / 2 + 1]) / 2, sorted
end

--- Values with a penalty for points that had to be moved onto a bound: of the size of the spread of values, per squared
--- distance.
local function penalised(s, f)
  if not s.low then return f end
  local n, c = s.n, s.constants
  local variance = F.diagonal(s.C)
  local free = F.fma(s.y, s.sigma, s.mean)
  local inside = F.clip(s.mean, s.low, s.high)
  local out = F.abs(F.subtract(s.mean, inside))
  local _, sorted = median(f)
  local quarter = math.max(1, math.floor(#sorted / 4))
  local range = sorted[#sorted - quarter + 1] - sorted[quarter]
  if range < math.huge and range > 0 then
    table.insert(s.spread, range)
    if #s.spread > 20 + 3 * n / s.lambda then table.remove(s.spread, 1) end
  end
  if F.any(F.gt(out, 0)) and #s.spread > 0 then
    if not s.penalty then
      local size = 2 * median(s.spread) / (s.sigma ^ 2 * F.mean(variance):item())
      s.penalty = tensor.empty('cma_es', { n }, 'f64', 3):fill_(size)
    end
    local far = F.gt(out, F.multiply(F.sqrt(variance), 3 * s.sigma * math.max(1, math.sqrt(n) / c.mu_eff)))
    s.penalty = F.where(far, F.multiply(s.penalty, 1.1 ^ math.max(1, c.mu_eff / (10 * n))), s.penalty)
  end
  if not s.penalty then return f end
  local scale = F.exp(F.multiply(F.subtract(F.log(variance), F.mean(F.log(variance))), 0.9))
  local moved = F.square(F.subtract(free, F.clip(free, s.low, s.high)))
  local extra = F.divide(F.sum(F.multiply(moved, F.divide(s.penalty, scale)), 2), n):totable()
  local list = {}
  for i, v in ipairs(f) do list[i] = v + extra[i] end
  return list
end

--- Places of the values in rising order; equal ones keep their order.
local function ranks(f)
  local place = {}
  for i = 1, #f do place[i] = i end
  table.sort(place, function(a, b)
    if f[a] ~= f[b] then return f[a] < f[b] end
    return a < b
  end)
  return place
end

local function decompose(s)
  s.C = F.multiply(F.add(s.C, F.matrix_transpose(s.C)), 0.5)
  local w, B = require 'mascon.linalg'.eigh(s.C)
  s.B, s.D = B, F.sqrt(F.maximum(w, 0))
  s.since = 0
end

--- Mean, paths, covariance and step size from the ranked steps (equations 38 to 47).
local function update(s, place)
  local c, n = s.constants, s.n
  local y = F.take(s.y, op.from_table(place, 'i64'), 1)
  local weights = op.from_table(c.weights)
  local step = F.matmul(weights[{ { 1, c.mu } }], y[{ { 1, c.mu } }])
  s.mean = F.fma(step, s.sigma, s.mean)
  local whitened = F.matmul(s.B, F.divide(F.matmul(step, s.B), s.D)) -- C^(-1/2) step
  s.p_sigma = F.fma(whitened, math.sqrt(c.c_sigma * (2 - c.c_sigma) * c.mu_eff), F.multiply(s.p_sigma, 1 - c.c_sigma))
  local length = math.sqrt(F.matmul(s.p_sigma, s.p_sigma):item())
  s.generation = s.generation + 1
  local h = length / math.sqrt(1 - (1 - c.c_sigma) ^ (2 * s.generation)) < (1.4 + 2 / (n + 1)) * c.length and 1 or 0
  s.p_c = F.fma(step, h * math.sqrt(c.c_c * (2 - c.c_c) * c.mu_eff), F.multiply(s.p_c, 1 - c.c_c))
  -- negative weights count in units of the length of their steps, which keeps C positive (46)
  local size = F.sum(F.square(F.divide(F.matmul(y, s.B), s.D)), 2)
  local factor = F.where(F.ge(weights, 0), weights, F.divide(F.multiply(weights, n), F.maximum(size, 1e-300)))
  local late = (1 - h) * c.c_c * (2 - c.c_c)
  local rank_mu = F.matmul(F.matrix_transpose(F.multiply(y, methods.reshape(factor, { s.lambda, 1 }))), y)
  s.C = F.add(F.add(F.multiply(s.C, 1 + c.c_1 * late - c.c_1 - c.c_mu * c.total),
    F.multiply(F.outer(s.p_c, s.p_c), c.c_1)), F.multiply(rank_mu, c.c_mu))
  s.sigma = s.sigma * math.exp(math.min(1, c.c_sigma / c.damping * (length / c.length - 1)))
  s.since = s.since + 1
  if s.since >= math.max(1, math.floor(1 / (10 * n * (c.c_1 + c.c_mu)))) then decompose(s) end
end

--- Why the run has ended, or nil (appendix B.3).
local function ended(s, f)
  local n = s.n
  local history = 10 + math.ceil(30 * n / s.lambda)
  local middle, sorted = median(f)
  table.insert(s.best_of, 1, sorted[1])
  table.insert(s.medians, 1, middle)
  local function range(list, count)
    local least, most = math.huge, -math.huge
    for i = 1, math.min(count, #list) do least, most = math.min(least, list[i]), math.max(most, list[i]) end
    return most - least
  end
  if s.target and s.fun <= s.target then return 'the target value is reached', true end
  if #s.best_of >= history and range(s.best_of, history) == 0 then
    return 'converged: the best value has not changed'
  end
  if #s.best_of >= history and math.max(range(s.best_of, history), sorted[#sorted] - sorted[1]) < s.tolfun then
    return 'converged: range of the values below tolfun'
  end
  local spread = F.multiply(F.sqrt(F.diagonal(s.C)), s.sigma)
  if F.max(F.maximum(spread, F.multiply(F.abs(s.p_c), s.sigma))):item() < s.tolx then
    return 'converged: steps below tolx'
  end
  local widest, narrowest = F.max(s.D):item(), F.min(s.D):item()
  if widest > 1e7 * narrowest then return 'the covariance has become ill-conditioned' end
  if s.sigma * widest > 1e4 * s.sigma0 * 1e4 then
    return 'the steps grow without end; sigma was far too small, or there is no minimum'
  end
  if not F.any(F.ne(s.mean, F.fma(spread, 0.2, s.mean))) then
    return 'converged: the steps are below the precision of x'
  end
  local long = 120 + 30 * n / s.lambda
  if #s.best_of > math.max(long, 0.2 * s.generation) then
    local last = math.floor(0.3 * #s.best_of)
    local function of(list, first)
      local out = {}
      for i = 1, last do out[i] = list[first + i] end
      return (median(out))
    end
    local old = #s.best_of - last
    if of(s.best_of, 0) >= of(s.best_of, old) and of(s.medians, 0) >= of(s.medians, old) then
      return 'the values no longer fall'
    end
  end
  local keep = math.max(history, math.ceil(math.max(long, 0.2 * s.generation) + 1))
  s.best_of[keep + 1], s.medians[keep + 1] = nil, nil
end

function method.tell(s, _, list)
  local f = penalised(s, list)
  update(s, ranks(f))
  local why, final = ended(s, list)
  if s.sigma ~= s.sigma or s.sigma == math.huge then
    why = 'the steps grow without end; sigma was far too small, or there is no minimum'
  end
  if why then
    if s.run < s.restarts and not final then
      s.run = s.run + 1
      s.lambda = math.floor(s.lambda * s.increase + 0.5)
      begin(s)
    else
      s.message = why
      s.status = (why:find '^converged' or final) and 0 or 2
    end
  end
  return true
end

--- Runs the method on an objective.
function M.run(self, o)
  return ask.drive(self,
    ask.object(self.fname, method, o, function() return M.start(self.fname, self, o) end), o.vectorized)
end

local OPTS = { bounds = { nil, 'any' }, maxiter = { nil, 'integer >= 0' }, maxfev = { nil, 'integer >= 1' },
  tol = { nil, 'number >= 0' } }
for k, v in pairs(M.OPTS) do OPTS[k] = v end
OPTS.vectorized = nil

--- The evolution strategy CMA-ES as an object that is asked for points and told their values; for functions that are
--- rugged, noisy or without derivatives, of 2 to some hundred parameters.
---
--- ask() gives the population [popsize, n]; use, results and state as for mc.optim.nelder_mead.
--- x0: f32|f64 [n] or a list. Options: sigma (required): the first standard deviation of every coordinate, so scale
--- them alike · popsize (4 + floor(3 ln n)) · bounds: { low, high } or n pairs: points asked for lie within, and a
--- penalty holds the mean there · restarts (0), increase (2): after a run has ended, so many more with a population as
--- many times larger, from a uniform place within the bounds · target: a value to stop at · tolfun (1e-12), tolx (1e-12
--- sigma) · maxiter (generations), maxfev · seed, key or generator: the source of random numbers · state.
--- Errors: sigma missing; shapes that do not fit; points told that were not asked for.
--- Source: The CMA evolution strategy: a tutorial, arXiv 1604.00772, 2016, with its default parameters.
---     local opt = mc.optim.cma_es({ 3, 4 }, { sigma = 1, seed = 1 })
---     while not opt:done() do local x = opt:ask() opt:tell(x, mc.sum(mc.square(x), 2)) end
---     opt:result().fun < 1e-12  --> true
---@param x0 any
---@param opts table
---@return mascon.Asker
function M.cma_es(x0, opts)
  local o = check.opts('optim.cma_es', opts, OPTS, 3)
  return ask.object('optim.cma_es', method, o, function()
    local x = parameters.ravel('optim.cma_es', 'x0', x0)
    local self = { x = x }
    if o.bounds ~= nil then
      self.low, self.high = objective.bounds('optim.cma_es', o.bounds, x:numel(), x.dtype,
        function(what, v) return tensor.hosted((parameters.ravel('optim.cma_es', what, v))) end)
    end
    return M.start('optim.cma_es', self, o)
  end)
end

return M
