-- features.lua - states of a rollout as columns: per step, per trajectory, and over realisations.
--
-- A collector takes states as they come and keeps a few numbers of each, so that trajectories never exist as a whole.
-- Rows do not depend on how many steps are taken at once. Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local spatial = require 'workflows.rollout.features.spatial'
local spectral = require 'workflows.rollout.features.spectral'
local cross = require 'workflows.rollout.features.cross'
local series = require 'workflows.rollout.features.series'
local causality = require 'workflows.rollout.features.causality'
local drift = require 'workflows.rollout.features.drift'
local sensitivity = require 'workflows.rollout.features.sensitivity'
local metrics = require 'workflows.rollout.features.metrics'
local opt_in = require 'workflows.rollout.families'
local user = require 'workflows.rollout.own'
local error = check.error
local M = {}

M.VERSION = '1'
M.sensitivity = sensitivity

local SUMMARY = { { 'temporal', series.NAMES }, { 'causality', causality.NAMES }, { 'invariant_drift', drift.NAMES },
  { 'operator_sensitivity', sensitivity.NAMES } } -- categories per trajectory; the last one on request
local taken = {}
for _, e in ipairs(SUMMARY) do taken[e[1]] = true end

local own = {} -- features of the user: { name, f, names, batch: f of all realisations at once }
local OWN = { batch = { false, 'bool' } }

--- Adds columns per trajectory: f(states) with states [T, C, G, G] of one realisation gives one number per name.
---@param name string category
---@param names string[] names of the columns
---@param f fun(states: mascon.Tensor): mascon.Tensor of as many numbers
---@param opts? table batch (false): f is compiled, and called once for all realisations of a row, by mc.compile and
--- mc.vmap; it must not read values then
function M.register(name, names, f, opts)
  local o = check.opts('rollout.features.register', opts, OWN, 3)
  if type(name) ~= 'string' or type(names) ~= 'table' or type(f) ~= 'function' then
    error('rollout.features.register: give a name, a list of column names and a function(states)', 2) end
  if taken[name] then
    error(('rollout.features.register: %s is a category of the program; take another name'):format(name), 2) end
  for _, e in ipairs(own) do if e.name == name then
    error(('rollout.features.register: there are features %s already'):format(name), 2) end end
  local seen = {}
  for i = 1, math.max(#names, 1) do
    local column = names[i]
    if type(column) ~= 'string' or seen[column] then
      error(('rollout.features.register: the columns of %s must be different names; number %d is %s'):format(name, i,
        check.show(column)), 2)
    end
    seen[column] = true
  end
  own[#own + 1] = { name = name, names = names, f = f, batch = o.batch and mc.compile(mc.vmap(f)) or nil }
end

--- What identifies the own features that there are, with the names of their columns.
---@return table[]
function M.records()
  local out = {}
  for i, e in ipairs(own) do
    out[i] = user.record('feature', e.name, e.f, e.names, e.batch ~= nil)
    out[i].columns = e.names
  end
  return out
end

--- Takes registered columns away again.
function M.forget()
  own = {}
  spectral.forget()
end

local function joined(...)
  local out = {}
  for _, list in ipairs { ... } do for _, n in ipairs(list) do out[#out + 1] = n end end
  return out
end

M.FAMILIES = opt_in.NAMES
local FAMILIES = {}
for _, name in ipairs(M.FAMILIES) do FAMILIES[name] = { false, 'bool' } end

local function family(name) return require('workflows.rollout.features.' .. name) end

--- Names of the 63 columns per step, then those of opt-in families, as { wavelet = true }; FAMILIES names them.
---@param families? table
function M.temporal_names(families)
  families = check.opts('rollout.features.temporal_names', families, FAMILIES, 3)
  local list = joined(spatial.NAMES, spectral.NAMES, cross.NAMES)
  for _, name in ipairs(M.FAMILIES) do
    if families[name] then list = joined(list, family(name).NAMES) end
  end
  return list
end

--- Names of the columns per trajectory: 110, 120 with the operator's sensitivity, then registered ones.
---@param with_sensitivity? boolean
function M.summary_names(with_sensitivity)
  check.arg('rollout.features.summary_names', 'with_sensitivity', with_sensitivity or false, 'bool', 3)
  local list = joined(series.NAMES, causality.NAMES, drift.NAMES, with_sensitivity and sensitivity.NAMES or {})
  for _, e in ipairs(own) do for _, n in ipairs(e.names) do list[#list + 1] = n end end
  return list
end

--- { category = { name = index from 0 } } of both families, as the file keeps it.
---@param with_sensitivity? boolean
---@param families? table as temporal_names
function M.registry(with_sensitivity, families)
  check.arg('rollout.features.registry', 'with_sensitivity', with_sensitivity or false, 'bool', 3)
  families = check.opts('rollout.features.registry', families, FAMILIES, 3)
  local function places(lists)
    local out, at = {}, 0
    for _, l in ipairs(lists) do
      local one = {}
      for _, n in ipairs(l[2]) do one[n], at = at, at + 1 end
      out[l[1]] = one
    end
    return out
  end
  local summary = { unpack(SUMMARY, 1, with_sensitivity and #SUMMARY or #SUMMARY - 1) }
  for _, e in ipairs(own) do summary[#summary + 1] = { e.name, e.names } end
  local steps = { { 'spatial', spatial.NAMES }, { 'spectral', spectral.NAMES }, { 'cross_channel', cross.NAMES } }
  for _, name in ipairs(M.FAMILIES) do
    if families[name] then steps[#steps + 1] = { name, family(name).NAMES } end
  end
  return places(steps), places(summary)
end

--- Versions of the definitions of the families that a section `features` of a configuration asks for.
---@param section table
---@param with_sensitivity boolean
---@return table by name
function M.versions(section, with_sensitivity)
  local out = {}
  for _, name in ipairs { 'temporal', 'summary', unpack(M.FAMILIES) } do
    if section[name].enabled then out[name] = M.VERSION end
  end
  if section.summary.enabled and with_sensitivity then out.operator = M.VERSION end
  return out
end

local BUFFER = 2 ^ 18 -- numbers of states that are looked at together
local WORK = 36 -- bytes for each while they are

--- Bytes that a collector holds of a trajectory of T states of B realisations, C channels and G x G places, and those
--- that it takes while it looks at some of them.
---@return number held
---@return number work
function M.bytes(B, C, G, T)
  local one = B * C * G * G
  local numbers = math.min(math.max(BUFFER, one), T * one)
  return 4 * (numbers + one) + 4 * T * B * (#spatial.NAMES * C + #M.temporal_names()), WORK * numbers
end

local Collector = {}
Collector.__index = Collector

local COLLECTOR = { temporal = { true, 'bool' }, summary = { true, 'bool' }, families = { nil, 'table' } }

--- A collector for trajectories of B realisations, C channels and G x G places.
---@param B integer
---@param C integer
---@param G integer
---@param opts? table temporal, summary (true): which columns · families: as temporal_names
function M.collector(B, C, G, opts)
  local o = check.opts('rollout.features.collector', opts, COLLECTOR, 3)
  local most = math.max(1, math.floor(BUFFER / (B * C * G * G)))
  return setmetatable({ B = B, C = C, G = G, temporal = o.temporal, summary = o.summary, most = most,
    families = check.opts('rollout.features.collector', o.families, FAMILIES, 3), waiting = {}, alive = {}, rows = {},
    states = {},
    drift = {}, flow = {}, moments = {}, kept = #own > 0 and {} or nil }, Collector)
end

--- The state of step t (from 0, in order); alive[m] says which realisations still run.
function Collector:add(x, alive)
  local now = {}
  for m = 1, self.B do now[m] = alive[m] end
  self.waiting[#self.waiting + 1] = tensor.hold(x:copy())
  self.alive[#self.alive + 1] = now
  if self.kept then self.kept[#self.kept + 1] = tensor.hold(x:copy()) end
  if #self.waiting >= self.most then self:flush() end
end

function Collector:flush()
  local n = #self.waiting
  if n == 0 then return end
  local B, C, G = self.B, self.C, self.G
  mc.scope(function()
    local x = mc.stack(self.waiting, 1) -- [n, B, C, G, G]
    local one = x:reshape(n * B * C, G, G)
    local figures, norms, moments = spatial.state(one)
    if self.temporal then
      local per = mc.concat({ figures, spectral.columns(one) }, 2):reshape(n, B, C, -1):mean(3)
      local all = { per, cross.columns(x:reshape(n * B, C, G, G)):reshape(n, B, -1) }
      for _, name in ipairs(M.FAMILIES) do
        if self.families[name] then
          local of = family(name)
          all[#all + 1] = of.WHOLE and of.columns(x, self.last) or of.columns(one):reshape(n, B, C, -1):mean(3)
        end
      end
      self.rows[#self.rows + 1] = tensor.hold(mc.concat(all, 3)) -- [n, B, 63 and more]
    end
    if self.summary then
      self.moments[#self.moments + 1] = tensor.hold(moments:reshape(n, B * C, 3):copy())
      self.drift[#self.drift + 1] = tensor.hold(norms:reshape(n, B * C, -1):copy())
      local before = self.last and mc.concat({ self.last:expand_dims(1), x }, 1) or x
      local k = before.shape[1] - 1
      if k > 0 then
        local from = before[{ { 1, k } }]:reshape(k * B * C, G, G)
        local to = before[{ { 2, k + 1 } }]:reshape(k * B * C, G, G)
        local magnitude, anisotropy = causality.flow(from, to)
        self.flow[#self.flow + 1] = tensor.hold(mc.stack({ magnitude, anisotropy }, 2):reshape(k, B * C, 2))
      end
    end
  end)
  if self.last then self.last:release() end
  self.last = self.waiting[n]
  for i = 1, n - 1 do self.waiting[i]:release() end
  self.waiting = {}
end

local function join(list) return #list > 0 and mc.concat(list, 1) or nil end

--- Columns [B, k] of a feature of the user; kept: states [B, C, G, G] of all steps.
local function columns_of(e, kept, B)
  local states, rows = mc.stack(kept, 2), {} -- [B, T, C, G, G]
  local what = 'feature ' .. e.name
  local function fitting(v, n)
    if not mc.is_tensor(v) or v:numel() ~= n * #e.names then
      user.refuse(what, e.f, v, 'a tensor of %d number%s for states [T, channels, grid, grid]: %s', #e.names,
        #e.names == 1 and '' or 's', table.concat(e.names, ', '))
    end
    return v:reshape(n, #e.names)
  end
  if e.batch then return fitting(user.call(what, e.batch, e.f, states), B) end
  for b = 1, B do rows[b] = fitting(user.call(what, e.f, nil, states[b]:copy()), 1) end
  return mc.concat(rows, 1)
end

--- What a trajectory gives: temporal [T, 63] (means over channels and living realisations), summary [B, D] (NaN for a
--- realisation that failed),
--- aggregated [3 D]: mean, std, cv over the realisations that did not fail. extra: columns [B, k] after the 110, or
--- nil.
---@param extra? mascon.Tensor
---@return table { temporal, summary, aggregated }
function Collector:finish(extra)
  self:flush()
  local B, C = self.B, self.C
  local T = #self.alive
  local out = {}
  local good = {}
  for m = 1, B do good[m] = self.alive[T][m] end
  mc.scope(function()
    if self.temporal then
      local all = join(self.rows)
      local weight = {}
      for t = 1, T do
        weight[t] = {}
        local living = 0
        for m = 1, B do if self.alive[t][m] then living = living + 1 end end
        for m = 1, B do weight[t][m] = self.alive[t][m] and 1 / living or 0 end
        if living == 0 then weight[t][1] = 0 / 0 end
      end
      out.temporal = tensor.hold((all * mc.tensor(weight):to(all.dtype):reshape(T, B, 1)):sum(2))
    end
    if self.summary then
      local m = join(self.moments):permute_dims(2, 1, 3) -- [B C, T, 3]
      local mean = m[{ mc.all, mc.all, 1 }]
      local flow = join(self.flow)
      local R = B * C
      local function nan() return mc.full({ R }, 0 / 0, { dtype = m.dtype }) end
      local magnitude, anisotropy = flow and flow[{ mc.all, mc.all, 1 }]:mean(1) or nan(), flow and flow[{ mc.all,
        mc.all, 2 }]:mean(1) or nan()
      local parts = {
        series.columns(mean, m[{ mc.all, mc.all, 2 }], m[{ mc.all, mc.all, 3 }]):reshape(B, C, -1):mean(2),
        causality.columns(mean:reshape(B, C, -1), magnitude:reshape(B, C), anisotropy:reshape(B, C)):mean(2),
        drift.columns(join(self.drift):permute_dims(2, 1, 3)):reshape(B, C, -1):mean(2),
      }
      if extra then parts[#parts + 1] = extra:to(m.dtype) end
      for _, e in ipairs(own) do parts[#parts + 1] = columns_of(e, self.kept, B):to(m.dtype) end
      local all = mc.concat(parts, 2)
      local mask = {}
      for b = 1, B do mask[b] = good[b] and 1 or 0 / 0 end
      all = all * mc.tensor(mask):to(all.dtype):reshape(B, 1)
      out.summary = tensor.hold(all)
      local keep = {}
      for b = 1, B do if good[b] then keep[#keep + 1] = b end end
      local D = all.shape[2]
      local function none() return mc.full({ D }, 0 / 0, { dtype = all.dtype }) end
      if #keep == 0 then out.aggregated = tensor.hold(mc.concat { none(), none(), none() })
      else
        local v = mc.take(all, mc.tensor(keep, { dtype = 'i64' }), 1)
        local mu = v:mean(1)
        local sd = #keep > 1 and v:std(1, { correction = 1 }) or none()
        out.aggregated = tensor.hold(mc.concat { mu, sd, sd / (mu:abs() + 1e-8) })
      end
    end
  end)
  for _, list in ipairs { self.rows, self.moments, self.drift, self.flow, self.kept or {} } do for _,
    t in ipairs(list) do t:release() end end
  if self.last then self.last:release() end
  return out
end

--- Figures of a state [B, C, G, G] as the reference's engine keeps them: metrics.step, metrics.derived.
M.step, M.derived = metrics.step, metrics.derived

return M
