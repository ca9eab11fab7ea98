-- evolution.lua - differential evolution: a population whose members try differences of others.
--
-- Works in the unit cube that the bounds are mapped to; a whole generation is asked for at once (SciPy's updating =
-- 'deferred'). Holds the strategies, the generation step and its stopping.
--
-- Source: Differential evolution - a simple and efficient heuristic for global optimization over continuous spaces,
-- 1997; strategies and stopping of SciPy optimize.differential_evolution.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local ask = require 'mascon.optim.ask'
local objective = require 'mascon.optim.objective'
local create = require 'mascon.array.create'
local random = require 'mascon.random'
local F, methods = op.functions, tensor.methods
local error = check.error
local M = {}

local method = { name = 'differential evolution' }

-- what a mutant is made of: base, then how many pairs of differences
local BASE = { best1 = { 'best', 1 }, rand1 = { 'rand', 1 }, best2 = { 'best', 2 }, rand2 = { 'rand', 2 },
  randtobest1 = { 'rand to best', 1 }, currenttobest1 = { 'current to best', 1 } }
local STRATEGIES = {}
for name in pairs(BASE) do
  STRATEGIES[#STRATEGIES + 1] = name .. 'bin'
  STRATEGIES[#STRATEGIES + 1] = name .. 'exp'
end
table.sort(STRATEGIES)

local OPTS = {
  strategy = { 'best1bin', STRATEGIES }, maxiter = { 1000, 'integer >= 0' }, maxfev = { nil, 'integer >= 1' },
  popsize = { 15, 'integer >= 1' }, tol = { 0.01, 'number >= 0' }, atol = { 0, 'number >= 0' }, mutation = { { 0.5, 1 },
    'number | table' }, recombination = { 0.7, 'number >= 0' }, init = { 'latinhypercube', 'any' }, x0 = { nil, 'any' },
  state = { nil, 'table' },
}
for k, v in pairs(ask.SEEDED) do OPTS[k] = v end

local function scaled(s, u) return F.add(F.multiply(u, F.subtract(s.high, s.low)), s.low) end

--- The first population in the unit cube.
local function first(fname, s, o)
  local n, k = s.n, s.k
  local u
  if tensor.is(o.init) or type(o.init) == 'table' then
    local given = tensor.hosted(op.operand(fname, o.init, 3))
    if given.ndim ~= 2 or given.shape[2] ~= n or given.shape[1] < 5 then
      error(('%s: init is %s; give at least 5 points of %d coordinates'):format(fname, tensor.describe(given), n), 3)
    end
    s.k = given.shape[1]
    u = F.clip(F.divide(F.subtract(methods.to(given, 'f64'), s.low),
      F.where(F.eq(s.high, s.low), 1, F.subtract(s.high, s.low))), 0, 1)
  elseif o.init == 'latinhypercube' or o.init == 'sobol' or o.init == 'halton' then
    local draw = o.init == 'latinhypercube' and random.latin_hypercube or random[o.init]
    u = ask.draw(s, function(g)
      return draw(k, n, o.init == 'latinhypercube' and { generator = g } or { scramble = true, generator = g })
    end)
  elseif o.init == 'random' then
    u = ask.draw(s, function(g) return random.uniform({ k, n }, { generator = g }) end)
  else
    error(("%s: option init is %s; choose latinhypercube, sobol, halton, random, or give points"):format(fname,
      check.show(o.init)), 3)
  end
  if o.x0 ~= nil then
    local x = tensor.hosted(op.operand(fname, o.x0, 3))
    if x:numel() ~= n then error(('%s: x0 is %s; give %d coordinates'):format(fname, tensor.describe(x), n), 3) end
    u = methods.copy(u)
    u[1] = F.clip(F.divide(F.subtract(methods.reshape(methods.to(x, 'f64'), { n }), s.low),
      F.where(F.eq(s.high, s.low), 1, F.subtract(s.high, s.low))), 0, 1)
  end
  return u
end

function M.start(fname, bounds, o)
  local n = type(bounds) == 'table'
    and not tensor.is(bounds) and (#bounds == 2 and tensor.is(bounds[1]) and bounds[1]:numel() or #bounds) or 0
  if n == 0 then
    error(('%s: bounds are %s; give a pair { low, high } for each parameter, or { low, high } as tensors'):format(fname,
      check.show(bounds)), 3)
  end
  local low, high = objective.bounds(fname, bounds, n, 'f64', function(_, v)
    return tensor.is(v) and tensor.hosted(v) or v
  end)
  if not low or not F.isfinite(low):all() or not F.isfinite(high):all() then
    error(fname .. ': the bounds are not finite; differential evolution searches a box', 3)
  end
  local mutation = type(o.mutation) == 'table' and o.mutation or { o.mutation, o.mutation }
  for i = 1, 2 do
    if type(mutation[i]) ~= 'number' or not (mutation[i] >= 0 and mutation[i] < 2) or mutation[1] > mutation[2] then
      error(('%s: option mutation is { %s, %s }; give a number, or two rising ones, in [0, 2)'):format(fname,
        tostring(mutation[1]), tostring(mutation[2])), 3)
    end
  end
  if o.recombination > 1 then
    error(('%s: option recombination is %g; it must be number <= 1'):format(fname, o.recombination), 3)
  end
  local s = {
    n = n, on = ask.device(o.x0) or ask.device(bounds[1]) or ask.device(bounds[2]) or ask.device(o.init),
    low = low, high = high, k = math.max(5, o.popsize * n), strategy = o.strategy, least = mutation[1],
    most = mutation[2], crossover = o.recombination,
    tol = o.tol, atol = o.atol, maxiter = o.maxiter, maxfev = o.maxfev, random = ask.random(fname, o),
  }
  s.u = first(fname, s, o)
  return s
end

--- `count` different members for every one of k, none of them itself: [k] positions each. A place among those left is
--- drawn, then moved past the ones already taken.
local function others(g, k, count)
  local taken, out = { create.arange(1, k) }, {}
  for i = 1, count do
    local r = random.integers({ k }, { low = 1, high = k - i, generator = g })
    local sorted = F.sort(F.stack(taken, 2), { axis = 2 })
    for column = 1, i do r = F.add(r, methods.to(F.ge(r, sorted[{ { 1, k }, column }]), 'i64')) end
    taken[#taken + 1], out[i] = r, r
  end
  return out
end

--- The coordinates that come from the mutant: each by chance, or a run of them; one at least.
local function chosen(s, g, form)
  local n, k = s.n, s.k
  local anchor = methods.reshape(random.integers({ k }, { low = 0, high = n - 1, generator = g }), { k, 1 })
  local hit = F.lt(random.uniform({ k, n }, { generator = g }), s.crossover)
  local place = F.subtract(create.arange(1, n), 1)
  if form == 'bin' then return F.logical_or(hit, F.eq(place, anchor)) end
  local behind = F.remainder(F.subtract(place, anchor), n) -- 0 at the anchor
  local length = F.add(F.sum(F.cumprod(methods.to(hit, 'i64'), 2), 2), 1)
  return F.lt(behind, methods.reshape(length, { k, 1 }))
end

function method.ask(s)
  if not s.f then return scaled(s, s.u) end
  local base, form = s.strategy:match '^(.*)(...)$'
  local kind, pairs_ = BASE[base][1], BASE[base][2]
  return ask.draw(s, function(g)
    local scale = s.least
    if s.most > s.least then
      scale = s.least + (s.most - s.least) * random.uniform({ 1 }, { generator = g })[1]:item()
    end
    local r = others(g, s.k, (kind == 'rand' or kind == 'rand to best') and 1 + 2 * pairs_ or 2 * pairs_)
    local function member(i) return F.take(s.u, r[i], 1) end
    local best, at = s.u[s.best], 1
    local start
    if kind == 'best' then start = best
    elseif kind == 'current to best' then start = F.fma(F.subtract(best, s.u), scale, s.u)
    else
      start, at = member(1), 2
      if kind == 'rand to best' then start = F.fma(F.subtract(best, start), scale, start) end
    end
    local difference = F.subtract(member(at), member(at + 1))
    if pairs_ == 2 then difference = F.add(difference, F.subtract(member(at + 2), member(at + 3))) end
    local mutant = F.add(start, F.multiply(difference, scale))
    local trial = F.where(chosen(s, g, form), mutant, s.u)
    local outside = F.logical_or(F.lt(trial, 0), F.gt(trial, 1))
    s.trial = F.where(outside, random.uniform({ s.k, s.n }, { generator = g }), trial)
    return scaled(s, s.trial)
  end)
end

--- Puts the best member down and stops when the values have come together.
local function settle(s)
  local f = op.from_table(s.f)
  s.best = F.argmin(f):item()
  if s.f[s.best] == math.huge then return end
  local mean, spread = F.mean(f):item(), F.std(f):item()
  if spread <= s.atol + s.tol * math.abs(mean) then
    s.status, s.message = 0, 'converged: spread of the population values below tol'
  end
end

function method.tell(s, _, list)
  if not s.f then
    s.f = list
    settle(s)
    return false
  end
  local better = {}
  for i, v in ipairs(list) do
    better[i] = v <= s.f[i]
    if better[i] then s.f[i] = v end
  end
  s.u = F.where(methods.reshape(op.from_table(better), { s.k, 1 }), s.trial, s.u)
  s.trial = nil
  settle(s)
  return true
end

--- Differential evolution as an object that is asked for a generation of points and told their values.
---
--- ask() gives points [popsize n, n]; use, results and state as for mc.optim.nelder_mead, bounds and options as for
--- mc.optim.differential_evolution (but for polish, callback, progress, args and vectorized).
---     local opt = mc.optim.evolution({ { -4, 4 }, { -4, 4 } }, { seed = 1 })
---     while not opt:done() do local x = opt:ask() opt:tell(x, mc.sum(mc.square(x), 2)) end
---     opt:result().success  --> true
---@param bounds any
---@param opts? table
---@return mascon.Asker
function M.evolution(bounds, opts)
  local o = check.opts('optim.evolution', opts, OPTS, 3)
  return ask.object('optim.evolution', method, o, function() return M.start('optim.evolution', bounds, o) end)
end

local DRIVEN = { polish = { true, 'bool' }, callback = { nil, 'function' }, progress = { false, 'any' },
  args = { nil, 'table' }, vectorized = { false, 'bool' }, jac = { nil, 'any' } }
for k, v in pairs(OPTS) do DRIVEN[k] = v end

--- The minimum of f in a box, by differential evolution and a polish with L-BFGS.
---
--- f(x, args...): takes a vector f64 [n] (with vectorized: points [k, n], giving k values) and returns a real number;
--- NaN counts as infinite. bounds: a pair { low, high } for each parameter, or { low, high } as tensors [n]; finite.
--- Options: strategy ('best1bin'): best1, best2, rand1, rand2, randtobest1 or currenttobest1, with bin or exp for the
--- crossover · popsize (15): members for each parameter · mutation ({ 0.5, 1 }): the factor of differences, drawn anew
--- in this range for each generation, or a number · recombination (0.7): share of coordinates taken from the mutant ·
--- tol (0.01), atol (0): it stops when the standard deviation of the values is below atol + tol |mean| · maxiter (1000)
--- generations · maxfev · init ('latinhypercube'): 'sobol', 'halton', 'random' or points [k, n] · x0: a member of the
--- first population · polish (true): L-BFGS with bounds from the best one, jac as for mc.optim.minimize ('2-point' when
--- f is vectorized) · callback(x, { nit, nfev, fun }), progress, args: as for mc.optim.minimize · seed, key or
--- generator · state: of mc.optim.evolution.
--- Result: { x [n], fun, nit, nfev, success, status, message }, jac after a polish that helped. A whole generation is
--- tried at once (SciPy's updating = 'deferred').
--- Errors: bounds that are not finite or cross; options out of range. Source: Differential evolution - a simple and
--- efficient heuristic for global optimization over continuous spaces, 1997; SciPy optimize.differential_evolution.
---     local function f(x) return mc.sum(mc.square(x) - mc.cos(x * 18)) end
---     mc.round(mc.optim.differential_evolution(f, { { -4, 5 }, { -3, 4 } }, { seed = 1 }).fun)  --> f64[]@cpu -2
---@param f function
---@param bounds any
---@param opts? table
---@return table result
function M.differential_evolution(f, bounds, opts)
  local fname = 'optim.differential_evolution'
  local o = check.opts(fname, opts, DRIVEN, 3)
  local asker = ask.object(fname, method, o, function() return M.start(fname, bounds, o) end)
  local s = asker.s
  local self = objective.new(fname, f, F.multiply(F.add(s.low, s.high), 0.5),
    { callback = o.callback, progress = o.progress, args = o.args, jac = '2-point' })
  local r = ask.drive(self, asker, o.vectorized)
  if not (o.polish and s.x) or r.status == 99 then return r end
  local function one(x, ...)
    if not o.vectorized then return f(x, ...) end
    local v = f(methods.reshape(x, { 1, s.n }), ...)
    return tensor.is(v) and v:item() or type(v) == 'table' and v[1] or v
  end
  local fine = require 'mascon.optim.minimize'.minimize(one, ask.there(s, s.x),
    { bounds = { ask.there(s, s.low), ask.there(s, s.high) }, args = o.args,
      jac = o.jac or (o.vectorized and '2-point' or nil) })
  r.nfev = r.nfev + fine.nfev
  if fine.fun < r.fun then r.x, r.fun, r.jac = fine.x, fine.fun, fine.jac end
  return r
end

return M
