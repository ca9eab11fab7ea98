-- joint.lua - several q or files fitted at once, with some parameters in common.
--
-- Each data set keeps its own problem (geometry, contrast, offset, sigma); the joint one adds their costs, gradients
-- and normal matrices, with the columns of a shared parameter in one place. Solver, closing steps and covariance are
-- those of a single fit.
local mc = require 'mascon'
local clock = require 'mascon.base.clock'
local check = require 'mascon.core.check'
local statistics = require 'mascon.optim.fit.curve_fit.statistics'
local trf = require 'mascon.optim.fit.least_squares.trf'
local apart = require 'workflows.xpcs.judge.apart'
local covariance = require 'workflows.xpcs.judge.covariance'
local fit = require 'workflows.xpcs.fit.fit'
local nested = require 'workflows.xpcs.judge.nested'
local noise = require 'workflows.xpcs.judge.noise'
local parameters = require 'workflows.xpcs.model.parameters'
local problem = require 'workflows.xpcs.pass.problem'
local result = require 'workflows.xpcs.fit.result'
local ridge = require 'workflows.xpcs.model.ridge'
local summary = require 'workflows.xpcs.judge.summary'
local verdict = require 'workflows.xpcs.judge.verdict'
local error = check.error
local M = {}

local OPTS = { shared = { nil, 'table' }, each = { nil, 'table' } }

-- options of mc.xpcs.fit that are of all data sets: how they are weighed and counted together, and where the fit ends
local WHOLE = { 'loss', 'absolute_sigma', 'legacy_counting', 'ftol', 'xtol', 'gtol', 'max_nfev' }

local NOT_SHARED = 'The data sets of this joint fit do not share their parameters: the values here describe none of '
  .. 'them; see the verdict of all data.'

---@class mascon.xpcs.JointProblem
local Joint = {}
Joint.__index = Joint

--- Free numbers of data set i out of those of all.
local function part(self, x, i)
  local out = {}
  for k, at in ipairs(self.place[i]) do out[k] = x[at] end
  return out
end

--- Cost of all data sets at a point.
function Joint:at(x)
  self.nfev = self.nfev + 1
  local point, cost = { x = x, parts = {} }, 0
  for i, p in ipairs(self.problems) do
    point.parts[i] = p:at(part(self, x, i))
    cost = cost and point.parts[i].cost and cost + point.parts[i].cost
  end
  point.cost = cost
  return point
end

--- Gradient and normal matrix of all.
function Joint:normal(point)
  if not point.H then
    local n, g, H = #self.low, {}, {}
    for a = 1, n do
      g[a], H[a] = 0, {}
      for b = 1, n do H[a][b] = 0 end
    end
    for i, p in ipairs(self.problems) do
      local gi, Hi = p:normal(point.parts[i])
      for k, a in ipairs(self.place[i]) do
        g[a] = g[a] + gi[k]
        for l, b in ipairs(self.place[i]) do H[a][b] = H[a][b] + Hi[k][l] end
      end
    end
    point.g, point.H = g, H
  end
  return point.g, point.H
end
Joint.linear, Joint.move = problem.linear, problem.move

--- Ridges of all data sets, those of shared parameters once; where only some of the three are shared, none.
local function ridges_of(self)
  local out, taken = {}, {}
  for i, p in ipairs(self.problems) do
    for _, r in ipairs(p.ridges) do
      local one, free = { held = r.held, log = r.log }, true
      for _, key in ipairs { 'scale', 'power', 'shift' } do
        one[key] = r[key] and self.place[i][r[key]]
        free = free and not (one[key] and taken[one[key]])
      end
      for _, key in ipairs { 'scale', 'power', 'shift' } do
        if free and one[key] then taken[one[key]] = true end
      end
      if free then out[#out + 1] = one end
    end
  end
  return out
end

--- Those of a robust loss (Problem:robust) of all.
function Joint:robust(point)
  local function none()
    local A = {}
    for a = 1, #self.low do
      A[a] = {}
      for b = 1, #self.low do A[a][b] = 0 end
    end
    return A
  end
  local spread, below = none(), problem.BENDS_BACK[self.loss] and none() or nil
  for i, p in ipairs(self.problems) do
    local s, d = p:robust(point.parts[i])
    for k, a in ipairs(self.place[i]) do
      for l, b in ipairs(self.place[i]) do
        spread[a][b] = spread[a][b] + s[k][l]
        if d then below[a][b] = below[a][b] + d[k][l] end
      end
    end
  end
  return spread, below
end

--- The data set before `d` that takes one of its matrices already: the same object, or matrices of one file.
---@param list mascon.xpcs.Data[] those before
---@param d mascon.xpcs.Data
---@return integer|nil
function M.taken(list, d)
  local own = {}
  for _, name in ipairs(d.path and d.names or {}) do own[name:sub(#d.path + 1)] = true end
  for i, before in ipairs(list) do
    if before == d then return i end
    if before.path and d.path and mc.file.same(before.path, d.path) then
      for _, name in ipairs(before.names or {}) do if own[name:sub(#before.path + 1)] then return i end end
    end
  end
end

--- Refuses lists in which matrices would count twice.
local function check_list(list)
  if type(list) ~= 'table' or #list < 2 then error('xpcs.joint: give a list of at least two data sets', 3) end
  local before = {}
  for i, data in ipairs(list) do
    local twice = M.taken(before, data)
    if twice then
      error(('xpcs.joint: data set %d takes matrices of data set %d, which would count twice; leave it out'):format(i,
        twice), 3)
    end
    before[i] = data
  end
end

--- Names of the parameters in common, as a set.
local function names_shared(given)
  local shared = {}
  for _, name in ipairs(given or parameters.names 'laminar_flow') do
    shared[parameters.get('xpcs.joint', name, 3).name] = true
  end
  if shared.contrast or shared.offset then
    error('xpcs.joint: contrast and offset belong to a data set; share physical parameters', 3)
  end
  return shared
end

--- Gives the free numbers of data set i their places among those of all, new ones where no other set shares them.
---@param at_name table<string, integer> places of those in common
---@return integer[] new ones, by free number of the set
local function take_places(self, i, shared, at_name)
  local p, new = self.problems[i], {}
  self.place[i] = {}
  for k, place in ipairs(p.free) do
    local name = p.names[place]
    local common = place > 2 * p.m and shared[name]
    local at = common and at_name[name]
    if not at then
      at = #self.low + 1
      self.low[at], self.high[at] = p.low[place], p.high[place]
      self.names[at] = common and name or ('%s[set %d]'):format(name, i)
      new[k] = at
      if common then at_name[name] = at end
    elseif p.low[place] ~= self.low[at] or p.high[place] ~= self.high[at] then
      error(('xpcs.joint: the bounds of %s differ between data sets; give one pair'):format(name), 3)
    end
    self.place[i][k] = at
  end
  return new
end

--- Moves what sets have of their own of a rate so that each keeps the level and slope of its own fit at a middle time,
--- beside the shared numbers of x: with those of another place of its ridge its rate would be another one, or 0.
---@param singles table[] results of the sets alone
---@param x number[] changed
local function follow(self, singles, x)
  for i, p in ipairs(self.problems) do
    local last = p.t[p.t.shape[1]]:item()
    for first = 1, p.P - 2, 3 do
      local at, given, shared = {}, {}, 0
      for k, place in ipairs(p.free) do
        local number = place - 2 * p.m - first + 1
        if number >= 1 and number <= 3 then at[number] = self.place[i][k] end
      end
      for number = 1, 3 do
        if not at[number] then given[number] = p:full(part(self, x, i))[2 * p.m + first + number - 1]
        elseif not self.names[at[number]]:find '%[set %d+%]$' then given[number], shared = x[at[number]], shared + 1 end
      end
      local scale, power, shift = unpack(singles[i].physics, first, first + 2)
      local log = math.log(last) - 1
      local steep = scale * math.exp(power * log)
      local level = steep + shift
      if shared > 0 and level > 0 and not (given[1] and given[2] and given[3]) then
        local found = { ridge.rate(log, level, steep * power, given[1], given[2], given[3]) }
        for number = 1, found[1] and 3 or 0 do
          local a = not given[number] and at[number]
          if a then x[a] = math.max(self.low[a], math.min(self.high[a], found[number])) end
        end
      end
    end
  end
end

--- Solves from each set's own end; the best.
---@param singles table[] results of the sets alone
---@param o table options
---@return table|nil point, integer|nil status, integer|nil steps
local function solved(self, singles, x0, o)
  local best, status, steps
  for i, single in ipairs(singles) do
    if best and o.max_nfev and self.nfev >= o.max_nfev then break end
    local x = { unpack(x0) }
    for k, at in ipairs(self.place[i]) do x[at] = single.point.x[k] end
    follow(self, singles, x)
    for a = 1, #x do x[a] = math.max(self.low[a], math.min(self.high[a], x[a])) end
    local point, small, st, _, iterations = trf.run(self, x, { low = self.low, high = self.high, ftol = o.ftol,
      xtol = o.xtol, gtol = o.gtol, max_nfev = o.max_nfev or 100 * #x, x_scale = 'jac' })
    if small and point.cost and (not best or point.cost < best.cost) then
      best, status, steps = point, st, iterations
    end
  end
  return best, status, steps
end

--- Fills in the parameters of a joint result from its covariance.
local function list_parameters(self, r)
  local errors
  errors, r.correlation = fit.errors_of(r.covariance, self.low, self.high)
  for a, name in ipairs(self.names) do
    local v, e, sets = result.told(r.point.x[a]), errors[a], {}
    for i in ipairs(self.problems) do
      for _, at in ipairs(self.place[i]) do if at == a then sets[#sets + 1] = i end end
    end
    r.problem.free[a], r.values[name], r.errors[name] = a, v, e
    r.parameters[a] = { name = name, value = v, error = e, low = self.low[a], high = self.high[a], sets = sets,
      state = 'free', at_bound = result.at_bound(v, self.low[a], self.high[a], e) }
  end
end

--- Gives the parameters of a joint result units and angles, and lists those that are tied or fixed: once where all
--- their sets have one value.
local function complete(r)
  local at, order = {}, {}
  for i, one in ipairs(r.fits) do
    for _, q in ipairs(one.parameters) do
      local own = ('%s[set %d]'):format(q.name, i)
      for _, mine in ipairs(r.parameters) do
        if mine.name == own or mine.name == q.name then mine.unit, mine.about, mine.angle = q.unit, q.about, q.angle end
      end
      local before = at[q.name]
      if q.state ~= 'free' then
        if before and not q.angle and before.value == q.value and before.error == q.error then
          table.insert(before.sets, i)
        else
          local row = {}
          for key, v in pairs(q) do row[key] = v end
          row.sets, row.own = { i }, own
          at[q.name], order[#order + 1] = at[q.name] or row, row
        end
      end
    end
  end
  for _, row in ipairs(order) do
    if #row.sets < #r.fits then row.name = row.own end
    row.own = nil
    r.parameters[#r.parameters + 1] = row
  end
end

--- The result of data set i at the joint solution, with errors of all data together.
local function of_set(self, i, settings, r)
  local cov = {}
  for k, a in ipairs(self.place[i]) do
    cov[k] = {}
    for l, b in ipairs(self.place[i]) do cov[k][l] = r.covariance[a][b] end
  end
  local one = fit.describe(self.problems[i], settings, r.point.parts[i], r.status, r.iterations, r.seconds, nil,
    { covariance = cov, covariance_by = r.covariance_by .. ' of all data sets', contrasts = r.seen[i].contrasts,
      noise = r.seen[i].noise, unneeded = r.unneeded })
  one.nfev = r.nfev
  one.whole = { covariance = r.covariance, spectrum = r.spectrum, place = self.place[i] } -- of rates.lua
  return one
end

--- Whether the sets share what they have in common; the verdict of each set says it too.
local function compare(self, r, singles)
  local costs, names = {}, {}
  for i, part_of in ipairs(r.point.parts) do costs[i] = part_of.cost end
  for _, q in ipairs(r.parameters) do
    if #q.sets > 1 and q.state == 'free' then names[#names + 1] = q.name end
  end
  r.distinct = 0
  for _, p in ipairs(self.problems) do r.distinct = r.distinct + p.data.points end
  r.apart = apart.judge(r, singles, costs, names)
end

--- The inverse of the normal matrix of the linear loss at the point of a result.
local function inverse_of(self, r)
  if self.loss == 'linear' then return noise.within(r.spectrum) end
  local q = setmetatable({}, Joint)
  for key, v in pairs(self) do q[key] = v end
  q.loss, q.problems = 'linear', {}
  for i, p in ipairs(self.problems) do q.problems[i] = fit.linear(p) end
  return noise.within(covariance.of(q, q:at(r.point.x)))
end

--- Looks at the residuals of each set, and gives the result the errors of correlated noise where a set shows it: the
--- spread of the gradient is that of each set, of independent noise in the others. Under a robust loss it is that of
--- the linear one, and all sets have to show it.
local function look(self, r, o)
  local spread, seen, worst, taken, robust = {}, {}, nil, 0, self.loss ~= 'linear'
  for a = 1, #self.low do
    spread[a] = {}
    for b = 1, #self.low do spread[a][b] = 0 end
  end
  for i, p in ipairs(self.problems) do
    local of = fit.misfit({ p }, { r.point.parts[i] }, o, #p.free)
    local one = {}
    one.contrasts, one.noise = fit.look(p, r.point.parts[i], of)
    seen[i] = one
    local found = one.noise and one.noise.correlated
    if found and not (worst and worst.certain > one.noise.certain) then worst = one.noise end
    local S, factor = one.noise and one.noise.spread, 1
    taken = taken + (S and 1 or 0)
    if not S then
      local _, H = p:normal(r.point.parts[i])
      S, factor = H, r.factor
    end
    for k, a in ipairs(self.place[i]) do
      for l, b in ipairs(self.place[i]) do spread[a][b] = spread[a][b] + factor * S[k][l] end
    end
  end
  r.seen, r.noise = seen, worst and { correlated = true, z = worst.z, certain = worst.certain }
  if taken == 0 or o.legacy_counting or robust and taken < #seen
    or not robust and r.absolute_sigma and r.reduced_chi2 >= noise.MISFIT then return end
  local rise
  r.covariance, rise, r.noise.factor = noise.covariance(spread, inverse_of(self, r), r.covariance)
  r.covariance_by = r.spectrum.how .. ' and correlated residuals'
  for i, one in ipairs(seen) do
    local most = 1
    for _, a in ipairs(self.place[i]) do most = math.max(most, rise[a]) end
    if one.noise and one.noise.spread then one.noise.factor = math.sqrt(most) end
  end
end

--- Options of data set i: its own, before those for all.
local function options_of(i, own, rest)
  local o, each = {}, own.each and own.each[i] or {}
  for _, name in ipairs(WHOLE) do
    if each[name] ~= nil then
      error(('xpcs.joint: each[%d] holds %s, which belongs to all data sets; give it beside each'):format(i, name), 3)
    end
  end
  for k, v in pairs(rest) do o[k] = v end
  for k, v in pairs(each) do o[k] = v end
  return o
end

--- Refuses a sigma that is known for some data sets and assumed for others: it decides what each one weighs.
local function check_sigma(problems)
  local known, assumed
  for i, p in ipairs(problems) do
    if p.default_sigma then assumed = assumed or i else known = known or i end
  end
  if known and assumed then
    error(('xpcs.joint: data set %d has no sigma and data set %d has one; an assumed sigma would weigh it wrongly: '
      .. 'give sigma for all, or store that of each data set in its file'):format(assumed, known), 3)
  end
end

--- Fits several data sets at once.
---
---@param list mascon.xpcs.Data[]
---@param opts? table options of mc.xpcs.fit for all · shared: names of the physical parameters in common (all of
---  them)
---  · each: a list of tables of options, one per data set, before those for all; loss, absolute_sigma,
---  legacy_counting, ftol, xtol, gtol and max_nfev are of all. sigma is known for all data sets or for none. x_scale
---  and trust_region_scale hold for the fits of each set alone, which the joint one starts from
---@return table result parameters (list of { name, value, error, sets }), values (by name; NAME[set i] for the one of
---  set i), errors, covariance, names, chi2, reduced_chi2, dof, fits (one result of mc.xpcs.fit per data set, at the
---  joint
---  solution), success, status;
---  apart: nil, or chi2 of the joint fit and of the sets alone, with what chance gives (apart.lua)
--- Source: mc.xpcs.fit.
---     local a, b = mc.xpcs.generate.set 'A', mc.xpcs.generate.set 'A'
---     local list = { mc.xpcs.data.of(a), mc.xpcs.data.of(b) }
---     mc.xpcs.joint.fit(list, { sigma = a.sigma, shared = { 'D0', 'alpha', 'D_offset' } }).success  --> true
function M.fit(list, opts)
  local own, rest = {}, {}
  for k, v in pairs(opts or {}) do if OPTS[k] then own[k] = v else rest[k] = v end end
  check.opts('xpcs.joint', own, OPTS, 3)
  check_list(list)
  local shared = names_shared(own.shared)
  local self = setmetatable({ problems = {}, place = {}, low = {}, high = {}, names = {}, nfev = 0, njev = 0,
    rows = 1 }, Joint)
  local o = check.opts('xpcs.fit', rest, fit.OPTS, 3)
  local each, settings, singles, x0, at_name = {}, {}, {}, {}, {}
  local points, alone, weights, started = 0, 0, {}, clock.seconds()
  for i, data in ipairs(list) do
    each[i] = options_of(i, own, rest)
    settings[i] = check.opts('xpcs.fit', each[i], fit.OPTS, 3)
    self.problems[i] = fit.set_up(data, settings[i])
    weights[#weights + 1] = self.problems[i].weights
  end
  check_sigma(self.problems)
  for i, data in ipairs(list) do
    -- where the set alone would end: a start for what is its own
    singles[i] = fit.fit(data, each[i])
    alone, points = alone + singles[i].nfev * data.points, points + data.points
    for k, at in pairs(take_places(self, i, shared, at_name)) do x0[at] = singles[i].point.x[k] end
  end
  self.loss, self.ridges = o.loss, ridges_of(self)
  local best, status, steps = solved(self, singles, x0, o)
  if not best then error('xpcs.joint: the cost is not finite at any start; check the data', 2) end
  local n = #self.low
  local left, closing
  best, left, closing = fit.polish(self, best, self.low, self.high, fit.unit_of_errors(self,
    fit.is_absolute(self.problems[1].default_sigma, o), best.cost, points - n), o.max_nfev)
  status, steps = fit.ended_by(status, left, o.max_nfev ~= nil and self.nfev >= o.max_nfev), steps + closing
  local r = fit.misfit(self.problems, best.parts, o, n)
  local seconds, spectrum = clock.seconds() - started, covariance.of(self, best)
  for key, v in pairs { names = self.names, covariance = statistics.scaled(spectrum.covariance, r.factor), values = {},
    errors = {}, parameters = {}, fits = {}, n_parameters = n, status = status, success = status > 0, nfev = self.nfev,
    point = best, shared = shared, iterations = steps, seconds = seconds,
    passed = self.nfev * points + alone, warnings = {}, spectrum = spectrum,
    covariance_by = spectrum.how, joint = true, loss = self.loss,
    shear_weights = weights[1] and weights,
    problem = { free = {}, low = self.low, high = self.high, ridges = self.ridges } } do r[key] = v end
  look(self, r, o)
  r.unneeded = nested.joint(singles, r.names)
  if r.unneeded then r.covariance = fit.without(r.covariance, r.names, r.unneeded.names) end
  list_parameters(self, r)
  for i in ipairs(list) do r.fits[i] = of_set(self, i, settings[i], r) end
  complete(r)
  result.of(r)
  for _, one in ipairs(r.fits) do one.points_per_second = r.points_per_second end
  compare(self, r, singles)
  r.flat_sets = {}
  for i, one in ipairs(singles) do r.flat_sets[i] = one.flat ~= nil end
  verdict.judge(r, verdict.of(r))
  if r.apart and r.apart.improbable then
    for _, one in ipairs(r.fits) do
      verdict.put(one.verdict, 1, 'not_shared', nil, NOT_SHARED)
      one.verdict.apart = true
      verdict.judge(one, one.verdict)
    end
  end
  return r
end

--- The table of joint.json: parameters as in parameters.json, with the data sets that have them.
---@param r table result of fit
---@param list mascon.xpcs.Data[]
function M.tables(r, list)
  local results = require 'workflows.xpcs.show.results'
  local out = { conclusion = r.verdict.conclusion, verdict = mc.json.array(r.verdict.sentences),
    warnings = mc.json.array(verdict.notes(r)), iterations = r.iterations,
    function_evaluations = r.nfev, execution_time = r.seconds, points_per_second = results.finite(r.points_per_second),
    chi_squared = results.finite(r.chi2), reduced_chi_squared = results.finite(r.reduced_chi2),
    degrees_of_freedom = r.dof, quality_flag = r.quality_flag, total_data_points = r.n_points, counting = r.counting,
    loss = r.loss, sigma_is_default = r.sigma_is_default, convergence_status = r.convergence_status,
    parameters = {}, data_sets = {}, covariance = results.covariance_table(r) }
  for _, q in ipairs(r.parameters) do
    local row = results.row(r, q)
    row.data_sets = q.sets
    out.parameters[q.name] = row
  end
  for i, data in ipairs(list) do
    local one = r.fits[i]
    out.data_sets[i] = { file = data.path, q = data.q, n_angles = data.F, n_time_points = data.n,
      chi_squared = results.finite(one.chi2), reduced_chi_squared = results.finite(one.reduced_chi2),
      conclusion = one.verdict.conclusion, verdict = mc.json.array(one.verdict.sentences) }
  end
  return out
end

--- The table of a joint fit for a terminal, and a line of numbers on it.
---@param r table
---@return string
function M.table(r) return summary.table(r) .. summary.line(r) .. '\n' end

--- What is said of a joint fit before its numbers: the conclusion and its verdict, then of each data set what is not
--- said yet.
---@param r table
---@return string[]
function M.sentences(r) return verdict.lines(r) end

return M
