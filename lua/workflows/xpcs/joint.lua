-- joint.lua - several q or files fitted at once, with some parameters in common.
--
-- Each data set keeps its own problem (geometry, contrast, offset, sigma); the joint one adds their costs, gradients
-- and normal matrices, with the columns of a shared parameter in one place. Solver, closing steps and covariance are
-- those of a single fit.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local statistics = require 'mascon.optim.fit.curve_fit.statistics'
local trf = require 'mascon.optim.fit.least_squares.trf'
local covariance = require 'workflows.xpcs.covariance'
local fit = require 'workflows.xpcs.fit'
local parameters = require 'workflows.xpcs.parameters'
local problem = require 'workflows.xpcs.problem'
local truth = require 'workflows.xpcs.truth'
local verdict = require 'workflows.xpcs.verdict'
local error = check.error
local M = {}

local OPTS = { shared = { nil, 'table' }, each = { nil, 'table' } }

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

--- Fits several data sets at once.
---
---@param list mascon.xpcs.Data[]
---@param opts? table options of mc.xpcs.fit for all · shared: names of the physical parameters in common (all of
---  them)
---  · each: a list of tables of options, one per data set, before those for all
---@return table result parameters (list of { name, value, error, sets }), values (by name; NAME[i] for the one of set
---  i), errors, covariance, names, chi2, reduced_chi2, dof, fits (one result of mc.xpcs.fit per data set, at the
---  joint
---  solution), success, status
--- Source: mc.xpcs.fit.
---     local a, b = mc.xpcs.generate.set 'A', mc.xpcs.generate.set 'A'
---     local list = { mc.xpcs.data.of(a), mc.xpcs.data.of(b) }
---     mc.xpcs.joint.fit(list, { sigma = a.sigma, shared = { 'D0', 'alpha', 'D_offset' } }).success  --> true
function M.fit(list, opts)
  local own, rest = {}, {}
  for k, v in pairs(opts or {}) do if OPTS[k] then own[k] = v else rest[k] = v end end
  check.opts('xpcs.joint', own, OPTS, 3)
  if type(list) ~= 'table' or #list < 2 then error('xpcs.joint: give a list of at least two data sets', 2) end
  local before = {}
  for i, data in ipairs(list) do
    local twice = M.taken(before, data)
    if twice then
      error(('xpcs.joint: data set %d takes matrices of data set %d, which would count twice; leave it out'):format(i,
        twice), 2)
    end
    before[i] = data
  end
  local shared = {}
  for _, name in ipairs(own.shared or parameters.names 'laminar_flow') do
    shared[parameters.get('xpcs.joint', name, 2).name] = true
  end
  if shared.contrast or shared.offset then
    error('xpcs.joint: contrast and offset belong to a data set; share physical parameters', 2)
  end
  local self = setmetatable({ problems = {}, place = {}, low = {}, high = {}, names = {}, nfev = 0, njev = 0,
    rows = 1 }, Joint)
  local settings, x0, at_name, points = {}, {}, {}, 0
  local singles, alone, started = {}, 0, lib.clock_seconds()
  for i, data in ipairs(list) do
    local o = {}
    for k, v in pairs(rest) do o[k] = v end
    for k, v in pairs(own.each and own.each[i] or {}) do o[k] = v end
    -- where the set alone would end: a start for what is its own
    singles[i] = fit.fit(data, o)
    alone = alone + singles[i].nfev * data.points
    settings[i] = check.opts('xpcs.fit', o, fit.OPTS, 3)
    local p = fit.set_up(data, settings[i])
    self.problems[i], self.place[i] = p, {}
    points = points + data.points
    for k, place in ipairs(p.free) do
      local name = p.names[place]
      local common = place > 2 * p.m and shared[name]
      local at = common and at_name[name]
      if not at then
        at = #self.low + 1
        self.low[at], self.high[at] = p.low[place], p.high[place]
        self.names[at] = common and name or ('%s[set %d]'):format(name, i)
        x0[at] = singles[i].point.x[k]
        if common then at_name[name] = at end
      elseif p.low[place] ~= self.low[at] or p.high[place] ~= self.high[at] then
        error(('xpcs.joint: the bounds of %s differ between data sets; give one pair'):format(name), 2)
      end
      self.place[i][k] = at
    end
  end
  local first = settings[1]
  self.loss, self.ridges = first.loss, ridges_of(self)
  -- from each set's own end, the best
  local best, small, status, steps
  for i = 1, #list do
    local x = { unpack(x0) }
    for k, at in ipairs(self.place[i]) do x[at] = singles[i].point.x[k] end
    for a = 1, #x do x[a] = math.max(self.low[a], math.min(self.high[a], x[a])) end
    local point, s, st, _, iterations = trf.run(self, x, { low = self.low, high = self.high,
      ftol = first.ftol, xtol = first.xtol,
      gtol = first.gtol, max_nfev = first.max_nfev or 100 * #x, x_scale = 'jac' })
    if s and point.cost and (not best or point.cost < best.cost) then
      best, small, status, steps = point, s, st, iterations
    end
  end
  if not small then error('xpcs.joint: the cost is not finite at any start; check the data', 2) end
  best = fit.polish(self, best, self.low, self.high, 1)
  local n = #self.low
  local seconds = lib.clock_seconds() - started
  local dof = math.max(points - n, 1)
  local absolute = not self.problems[1].default_sigma
  local spectrum = covariance.of(self, best)
  local cov = statistics.scaled(spectrum.covariance, covariance.factor(self.loss, absolute, best.cost, points, n))
  local r = { names = self.names, covariance = cov, values = {}, errors = {}, parameters = {}, fits = {}, dof = dof,
    chi2 = 2 * best.cost, reduced_chi2 = 2 * best.cost / dof, n_points = points, n_parameters = n, status = status,
    success = status > 0, nfev = self.nfev, point = best, shared = shared, iterations = steps, seconds = seconds,
    points_per_second = (self.nfev * points + alone) / math.max(seconds, 1e-9), correlation = {}, warnings = {},
    spectrum = spectrum, covariance_by = spectrum.how, absolute_sigma = absolute,
    sigma_is_default = not absolute, joint = true, loss = first.loss, problem = { free = {}, low = self.low,
      high = self.high } }
  for a, name in ipairs(self.names) do
    local e = math.sqrt(cov[a][a])
    if e > self.high[a] - self.low[a] then e = math.huge end
    r.problem.free[a], r.correlation[a] = a, {}
    for b = 1, n do r.correlation[a][b] = a == b and 1 or cov[a][b] / math.sqrt(cov[a][a] * cov[b][b]) end
    local sets = {}
    for i = 1, #list do for _, at in ipairs(self.place[i]) do if at == a then sets[#sets + 1] = i end end end
    r.values[name], r.errors[name] = best.x[a], e
    r.parameters[a] = { name = name, value = best.x[a], error = e, low = self.low[a], high = self.high[a], sets = sets,
      state = 'free', at_bound = fit.at_bound(best.x[a], self.low[a], self.high[a]) }
  end
  local plain = 0
  for i, p in ipairs(self.problems) do
    local one = fit.describe(p, settings[i], best.parts[i], status, steps, seconds, nil)
    -- errors are those of all data together
    for k, a in ipairs(self.place[i]) do
      for l, b in ipairs(self.place[i]) do
        one.covariance[k][l] = cov[a][b]
        one.correlation[k][l] = k == l and 1 or cov[a][b] / math.sqrt(cov[a][a] * cov[b][b])
      end
      local name = p.names[p.free[k]]
      one.errors[name] = r.errors[self.names[a]]
      for _, q in ipairs(one.parameters) do if q.name == name then q.error = one.errors[name] end end
    end
    one.covariance_by = spectrum.how .. ' of all data sets'
    one.nfev, one.points_per_second = r.nfev, r.points_per_second
    one.joint = true
    one.verdict = verdict.plain(one)
    r.fits[i], plain = one, plain + one.chi2 / (settings[i].legacy_counting and 2 or 1)
  end
  -- a robust cost is no chi2
  if r.loss ~= 'linear' then r.chi2, r.reduced_chi2 = plain, plain / dof end
  r.verdict = verdict.of(r)
  return r
end

--- True value and pull of a parameter of all data sets, where they agree on it.
local function beside(r, q)
  local own = q.name:gsub('%[set %d+%]$', '')
  local first
  for _, i in ipairs(q.sets) do
    local v = truth.beside(r.fits[i], { name = own })
    if v == nil or first and v ~= first then return nil end
    first = v
  end
  if first then return first, q.error > 0 and q.error < math.huge and (q.value - first) / q.error or nil end
end

--- The table of joint.json.
function M.tables(r, list)
  local results = require 'workflows.xpcs.results'
  local warnings = mc.json.array {}
  for i in ipairs(list) do
    for _, w in ipairs(r.fits[i].warnings) do warnings[#warnings + 1] = ('data set %d: %s'):format(i, w) end
  end
  local out = { verdict = mc.json.array(r.verdict.sentences), warnings = warnings, iterations = r.iterations,
    function_evaluations = r.nfev, execution_time = r.seconds, points_per_second = results.finite(r.points_per_second),
    chi_squared = r.chi2, reduced_chi_squared = r.reduced_chi2, total_data_points = r.n_points,
    convergence_status = r.success and 'converged' or 'max_iter', parameters = {}, data_sets = {},
    covariance = { names = r.names, matrix = {} } }
  local matrix = results.covariance(r)
  for a, q in ipairs(r.parameters) do
    local v, pull = beside(r, q)
    out.parameters[q.name] = { value = q.value, uncertainty = results.finite(q.error), data_sets = q.sets,
      true_value = v, pull = pull }
    out.covariance.matrix[a] = results.finite_list(matrix[a])
  end
  for i, data in ipairs(list) do
    out.data_sets[i] = { file = data.path, q = data.q, n_angles = data.F, n_time_points = data.n,
      chi_squared = r.fits[i].chi2, reduced_chi_squared = r.fits[i].reduced_chi2,
      verdict = mc.json.array(r.fits[i].verdict.sentences) }
  end
  return out
end

--- The table of a joint fit for a terminal.
function M.table(r)
  local rows = {}
  local text = require 'mascon.base.text'
  local known = false
  for _, q in ipairs(r.parameters) do known = known or beside(r, q) ~= nil end
  for i, q in ipairs(r.parameters) do
    rows[i] = { q.name, text.significant(q.value, 7), q.error < math.huge and text.significant(q.error, 3)
      or 'not determined', #q.sets > 1 and ('sets %s'):format(table.concat(q.sets, ', ')) or '',
      q.at_bound and ('at %s bound'):format(q.at_bound) or '' }
    if known then
      local v, pull = beside(r, q)
      table.insert(rows[i], 4, v and text.significant(v, 7) or '')
      table.insert(rows[i], 5, pull and ('%+.2f'):format(pull) or '')
    end
  end
  local head = { 'parameter', 'value', 'standard error', 'shared by', '' }
  if known then
    table.insert(head, 4, 'true value')
    table.insert(head, 5, 'pull')
  end
  return text.table(rows, { header = head })
    .. ('chi2 %.6g, reduced %.4g, %s, %s, %s in %.3g s, %s points/s\n'):format(r.chi2, r.reduced_chi2,
    text.count(r.n_points, 'point'), text.count(r.n_parameters, 'parameter'), text.count(r.iterations, 'iteration'),
    r.seconds, text.significant(r.points_per_second, 3))
end

--- What is said of a joint fit before its numbers: its verdict, then of each data set what is not said yet.
---@return string[]
function M.sentences(r)
  local out, said = {}, {}
  for i, s in ipairs(r.verdict.sentences) do out[i], said[s] = s, true end
  for i, one in ipairs(r.fits) do
    out[#out + 1] = ('Data set %d: chi2 %.6g, reduced %.4g (%s).'):format(i, one.chi2, one.reduced_chi2,
      one.quality_flag)
    for _, s in ipairs(one.verdict.sentences) do
      local again = said[s] or s:find '^These are correlated' or s:find '^The data determine all'
      if not again then out[#out + 1] = ('Data set %d: %s'):format(i, s) end
    end
  end
  return out
end

return M
