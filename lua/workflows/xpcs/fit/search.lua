-- search.lua - fits from many starts, for data where the first one may end in the wrong valley.
--
-- The fit from the given start comes first; when it is good (converged, nothing at a bound, reduced chi2 below a
-- threshold) the search is skipped, since a global search from a good start only costs. Starts are a Latin hypercube
-- over the bounds, screened by one pass each, of which the better half is fitted; or the end of an evolution strategy
-- on a coarse copy of the data.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local cma_es = require 'mascon.optim.search.cma'.cma_es
local coarse = require 'workflows.xpcs.pass.coarse'
local start = require 'workflows.xpcs.fit.start'
local fit = require 'workflows.xpcs.fit.fit'
local parameters = require 'workflows.xpcs.model.parameters'
local generate = require 'workflows.xpcs.data.generate'
local verdict = require 'workflows.xpcs.judge.verdict'
local M = {}

local OPTS = {
  n_starts = { 10, 'integer >= 1' }, seed = { 42, 'integer >= 0' }, sampling_strategy = { 'latin_hypercube',
    { 'latin_hypercube', 'random' } }, use_screening = { true, 'bool' },
  skip_below = { 1.5, 'number >= 0' }, always = { false, 'bool' }, ftol = { nil, 'number > 0' },
  first = { nil, 'table' },
}
local EVOLVE = {
  max_generations = { 200, 'integer >= 1' }, sigma = { 0.5, 'number > 0' }, popsize = { nil, 'integer >= 3' },
  restarts = { 2, 'integer >= 0' }, tolfun = { 1e-2, 'number >= 0' }, tolx = { 1e-6, 'number >= 0' },
  seed = { 42, 'integer >= 0' }, skip_below = { 1.5, 'number >= 0' }, always = { false, 'bool' },
  ftol = { nil, 'number > 0' },
}

local function good(r, o)
  local m = verdict.misfit(r)
  return not o.always and r.success and r.at_bounds == 0 and r.reduced_chi2 < o.skip_below
    and not (m and m.improbable) and not (r.contrasts and r.contrasts.improbable)
end

--- The result of a search, whose verdict knows of it.
local function searched(r, search)
  r.search = search
  verdict.judge(r, verdict.of(r))
  return r
end

--- Options of a fit from other values, and with another tolerance when one is given.
local function again_from(opts, values, ftol)
  local again = {}
  for k, v in pairs(opts or {}) do again[k] = v end
  again.initial = {}
  for k, v in pairs(opts and opts.initial or {}) do again.initial[parameters.get('xpcs', k).name] = v end
  for k, v in pairs(values) do again.initial[k] = v end
  if ftol then again.ftol = ftol end
  return again
end

--- Starts over the bounds of the free physical parameters: { name = value } each. Positive ranges of more than two
--- decades are spread by their logarithm. Of a rate with numbers that are held, level and power are drawn, since hardly
--- any other values of the rest give a rate of its size.
local function starts(p, o)
  local draw = generate.splitmix(o.seed)
  local list = {}
  for i = 1, o.n_starts do list[i] = {} end
  for _, place in ipairs(p.free) do
    if place > 2 * p.m then
      local low, high = p.low[place], p.high[place]
      local order = {}
      for i = 1, o.n_starts do order[i] = i end
      for i = o.n_starts, 2, -1 do
        local j = math.floor(draw() * i) + 1
        order[i], order[j] = order[j], order[i]
      end
      for i = 1, o.n_starts do
        local u = o.sampling_strategy == 'random' and draw() or (order[i] - 1 + draw()) / o.n_starts
        local v
        if low > 0 and high > 100 * low then v = low * (high / low) ^ u else v = low + u * (high - low) end
        list[i][p.names[place]] = v
      end
    end
  end
  for _, rate in ipairs(start.RATES) do
    local levels = start.levels(p, rate)
    local low, high = levels[1], levels[#levels]
    for i = 1, start.with_level(p, rate.names, low, 0.1) and o.n_starts or 0 do
      local values = start.with_level(p, rate.names, low * (high / low) ^ draw(), 2 * draw() - 1)
      for place, v in pairs(values or {}) do list[i][p.names[place]] = v end
    end
  end
  return list
end

--- The best fit from the given start and others.
---@param data mascon.xpcs.Data
---@param opts table options of fit
---@param search? table n_starts 10 · seed 42 · sampling_strategy · use_screening true · skip_below 1.5 (reduced chi2
---  that needs no search, where sigma was given also one that chance explains) · always · ftol of the fits from other
---  starts · first (the fit from the given start, where it is there already)
---@return table result with search = { skipped, drawn, fits = list of { chi2, status, values } }
function M.multi_start(data, opts, search)
  local o = check.opts('xpcs.multi_start', search, OPTS, 3)
  local best = o.first or fit.fit(data, opts)
  local log = { { chi2 = best.chi2, cost = best.cost, status = best.convergence_status, values = best.values } }
  if good(best, o) then
    best.search = { skipped = true, fits = log }
    return best
  end
  local full = check.opts('xpcs.fit', opts, fit.OPTS, 3)
  local p = fit.set_up(data, full)
  local list = starts(p, o)
  if o.use_screening and #list > 3 then
    local cost = {}
    for i, s in ipairs(list) do
      local x = {}
      for k, place in ipairs(p.free) do
        local v = s[p.names[place]] or p.start[place]
        x[k] = math.max(p.low[place], math.min(p.high[place], v))
      end
      cost[i] = { p:at(x).cost or math.huge, i }
    end
    table.sort(cost, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
    local kept = {}
    for k = 1, math.ceil(#list / 2) do kept[k] = list[cost[k][2]] end
    list = kept
  end
  for _, s in ipairs(list) do
    local r = fit.fit(data, again_from(opts, s, o.ftol))
    log[#log + 1] = { chi2 = r.chi2, cost = r.cost, status = r.convergence_status, values = r.values }
    if r.cost < best.cost then best = r end -- of the loss that is asked for
  end
  return searched(best, { skipped = false, drawn = o.n_starts, fits = log })
end

--- A range of a parameter as coordinates from 0 to 1: by the logarithm where it is positive and wide, by asinh where it
--- goes through 0 (offsets are small against their bounds), else straight.
local function axis_of(low, high)
  local to, from = function(v) return v end, function(v) return v end
  if low > 0 and high > 100 * low then to, from = math.log, math.exp
  elseif low < 0 and high > 0 then
    local c = (high - low) * 1e-3
    function to(v) return (v < 0 and -1 or 1) * math.log(math.abs(v / c) + math.sqrt((v / c) ^ 2 + 1)) end
    function from(u) return c * (math.exp(u) - math.exp(-u)) / 2 end
  end
  local a, b = to(low), to(high)
  return {
    value = function(u) return math.max(low, math.min(high, from(a + math.max(0, math.min(1, u)) * (b - a)))) end,
    coordinate = function(v) return (to(v) - a) / (b - a) end,
  }
end

--- The best of the fit from the given start and fits from the ends of several runs of CMA-ES over the bounds of the
--- physical parameters; contrast and offset are the best ones for each place. Each run after the first begins at a
--- drawn place, with twice the population.
---@param data mascon.xpcs.Data
---@param opts table options of fit
---@param search? table max_generations 200 (of a run) · sigma 0.5 (of coordinates from 0 to 1) · popsize · restarts 2 ·
---  tolfun 0.01 (of the cost), tolx 1e-6 · seed 42 · skip_below 1.5 · always · ftol of the last fit
---@return table result with search = { skipped, fits, evaluations }
--- Source: mc.optim.cma_es.
function M.evolve(data, opts, search)
  local o = check.opts('xpcs.evolve', search, EVOLVE, 3)
  local best = fit.fit(data, opts)
  local log = { { chi2 = best.chi2, cost = best.cost, status = best.convergence_status, values = best.values } }
  if good(best, o) then
    best.search = { skipped = true, fits = log, evaluations = 0 }
    return best
  end
  local p = fit.set_up(data, check.opts('xpcs.fit', opts, fit.OPTS, 3))
  local q = coarse.problem(p, coarse.of(data), 'linear')
  local axes, x0 = {}, {}
  for k, place in ipairs(p.free) do
    x0[k] = p.start[place]
    if place > 2 * p.m then
      local low, high = p.low[place], p.high[place]
      axes[#axes + 1] = { k = k, name = p.names[place], scale = axis_of(low, high) }
    end
  end
  local middle = {}
  for i, axis in ipairs(axes) do
    middle[i] = math.max(0.05, math.min(0.95, axis.scale.coordinate(best.values[axis.name])))
  end
  local evaluations = 0
  local draw, size = generate.splitmix(o.seed), o.popsize or 4 + math.floor(3 * math.log(math.max(#axes, 1)))
  for run = 0, #axes > 0 and o.restarts or -1 do
    local asker = cma_es(middle, { sigma = o.sigma, popsize = size * 2 ^ run, tolfun = o.tolfun, tolx = o.tolx,
      maxiter = o.max_generations, bounds = { 0, 1 }, seed = o.seed + run })
    local least, found = math.huge, nil
    while not asker:done() do
      local points = asker:ask()
      local costs = {}
      for i, u in ipairs(points:totable()) do
        local x = { unpack(x0) }
        for a, axis in ipairs(axes) do x[axis.k] = axis.scale.value(u[a]) end
        costs[i] = start.settled(q, mc.scope(function() return q:at(x) end))
        evaluations = evaluations + 1
        if costs[i] < least then least, found = costs[i], x end
      end
      asker:tell(points, mc.tensor(costs))
    end
    if found then
      local values = {}
      for _, axis in ipairs(axes) do values[axis.name] = found[axis.k] end
      local r = fit.fit(data, again_from(opts, values, o.ftol))
      log[#log + 1] = { chi2 = r.chi2, cost = r.cost, status = r.convergence_status, values = r.values }
      if r.cost < best.cost then best = r end -- of the loss that is asked for
    end
    for i = 1, #axes do middle[i] = 0.1 + 0.8 * draw() end
  end
  return searched(best, { skipped = false, fits = log, evaluations = evaluations })
end

return M
