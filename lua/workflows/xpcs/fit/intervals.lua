-- intervals.lua - profile likelihood: how far a parameter can move before the fit gets worse by a given chi2, all
-- others fitted anew.
--
-- Near a bound or along a curved valley the interval is not symmetric and not what the normal matrix says. Each point
-- of a profile is a fit of the other parameters. It starts from the point before, moved along the ridge, since a fit
-- from a point beside it may end in another valley. Ends are checked from other places of the ridges where these are
-- known badly, and against all points of all profiles: a point whose chi2 is below the level lies inside every
-- interval. An end that cannot be confirmed is not given.
-- A robust cost is no log likelihood: it is divided by what the square of a standard error costs (Kent, Robust
-- properties of likelihood ratio tests, 1982), so that a cost without curvature gives the interval of the standard
-- error.
local trf = require 'mascon.optim.fit.least_squares.trf'
local check = require 'mascon.core.check'
local covariance = require 'workflows.xpcs.judge.covariance'
local problem = require 'workflows.xpcs.pass.problem'
local parameters = require 'workflows.xpcs.model.parameters'
local ridge = require 'workflows.xpcs.model.ridge'
local fit = require 'workflows.xpcs.fit.fit'
local result = require 'workflows.xpcs.fit.result'
local verdict = require 'workflows.xpcs.judge.verdict'
local error = check.error
local M = {}

-- chi2 of one degree of freedom
local LEVELS = { [0.68] = 0.98894647, [0.6827] = 1, [0.9] = 2.70554345, [0.95] = 3.84145882, [0.99] = 6.63489660 }
local CLOSE = 2e-3 -- of the level: an end is where chi2 has risen so nearly to it
local STEPS = 60 -- fits for an end, at most
local WEAK = 0.2 -- relative error of a scale above which its ridge is bent
local BETTER = 0.01 -- of chi2: a fall that makes the fit a local minimum

--- Raises for a level that profile does not take.
---@param what string that names it, for the message
---@param level number
function M.known(what, level)
  if not LEVELS[level] then
    error(('%s is %s; choose 0.68, 0.6827, 0.9, 0.95 or 0.99'):format(what, check.show(level)), 2)
  end
end

---@class mascon.xpcs.Profile
local Profile = {}
Profile.__index = Profile

--- The problem without free number k, which is v.
function Profile:without(k, v)
  local p = self.p
  local free, low, high = {}, {}, {}
  for i, at in ipairs(p.free) do
    if i ~= k then
      local j = #free + 1
      free[j], low[j], high[j] = at, p.low[at], p.high[at]
    end
  end
  local start = p:full(self.best.x)
  start[p.free[k]] = v
  local settings = {}
  for key, value in pairs(p) do settings[key] = value end
  settings.free, settings.start, settings.watch = free, start, nil
  local q = problem.new(settings)
  q.names, q.low, q.high = p.names, p.low, p.high
  return q, low, high
end

--- The numbers but k, inside their bounds.
local function rest(x, k, low, high)
  local out = {}
  for i = 1, #x do
    local j = #out + 1
    if i ~= k then out[j] = math.max(low[j], math.min(high[j], x[i])) end
  end
  return out
end

--- Least cost with number k at v, from the `most` (1) best of some starts; the point is kept.
---@return table point { cost, x }; math.huge where there is none
function Profile:held(k, v, starts, most)
  local q, low, high = self:without(k, v)
  local list = {}
  for i, x in ipairs(starts) do
    local point = q:at(rest(x, k, low, high))
    if point.cost then list[#list + 1] = { point = point, i = i } end
  end
  table.sort(list, function(a, b) return a.point.cost < b.point.cost or a.point.cost == b.point.cost and a.i < b.i end)
  local found = { cost = math.huge }
  for i = 1, math.min(most or 1, #list) do
    local point = list[i].point
    if #low > 0 then
      q.nfev = 0
      local settings = { low = low, high = high, ftol = 1e-10, xtol = 1e-10, gtol = 1e-10, max_nfev = 50 * #low,
        x_scale = 'jac' }
      point = fit.polish(q, trf.run(q, point.x, settings), low, high, 1)
    end
    if point.cost and point.cost < found.cost then
      found.cost, found.x = point.cost, {}
      for j = 1, #self.best.x do found.x[j] = j == k and v or point.x[j < k and j or j - 1] end
    end
  end
  if found.x then
    self.points[#self.points + 1] = found
    if found.cost < self.best.cost then self.best = found end
  end
  return found
end

--- Starts for number k at v from a point: as it is, and along the ridge.
function Profile:starts(k, v, x)
  local plain = { unpack(x) }
  plain[k] = v
  return { plain, ridge.through(self.p.ridges, x, k, v) }
end

--- Starts far from a point, for what the data know badly.
function Profile:far(k, v, x)
  local out = {}
  for i, r in ipairs(self.p.ridges) do
    if self.weak[i] then
      for _, y in ipairs(ridge.elsewhere(r, x)) do
        y = ridge.through(self.p.ridges, y, k, v)
        out[#out + 1] = y
      end
    end
  end
  if self.mirrored and self.mirrored ~= k and #out > 0 then
    local y = { unpack(x) }
    y[k], y[self.mirrored] = v, -y[self.mirrored]
    out[#out + 1] = y
  end
  return out
end

--- The name of another parameter that is at its bound at a point, and was not in the fit: with other bounds the point
--- would be another one.
function Profile:leaning(k, point)
  for j, place in ipairs(self.p.free) do
    local low, high = self.p.low[place], self.p.high[place]
    if j ~= k and point.x and result.at_bound(point.x[j], low, high)
      and not result.at_bound(self.best.x[j], low, high) then return self.p.names[place] end
  end
end

--- How much chi2 of a point lies above the level, in units of the noise.
function Profile:excess(point, scale2) return 2 * (point.cost - self.best.cost) / scale2 - self.rise end

--- The point below the level that lies farthest out.
function Profile:outermost(k, direction, scale2)
  local out = self.best
  for _, point in ipairs(self.points) do
    if self:excess(point, scale2) < 0 and (point.x[k] - out.x[k]) * direction > 0 then out = point end
  end
  return out
end

--- One end: where chi2 has risen by the level, from the outermost point that is known outwards.
---@return table { at, open: the bound comes first, lost: no end could be confirmed }
function Profile:end_of(k, direction, width, scale2)
  local place = self.p.free[k]
  local bound = direction < 0 and self.p.low[place] or self.p.high[place]
  local step, outer = width * math.sqrt(self.rise), nil
  local inner = self:outermost(k, direction, scale2)
  local checked
  local function found(v, from)
    local starts = self:starts(k, v, from.x)
    for _, x in ipairs(outer and self:starts(k, v, outer.x) or {}) do starts[#starts + 1] = x end
    return self:held(k, v, starts, outer and self.bent and 2 or 1)
  end
  --- The same from far away.
  local function confirmed(point)
    local far = self:far(k, point.x[k], point.x)
    if #far == 0 then return point end
    local other = self:held(k, point.x[k], far, 3)
    return other.cost < point.cost and other or point
  end
  for _ = 1, STEPS do
    if (inner.x[k] - bound) * direction >= 0 then return { at = bound, open = true } end
    local v
    if outer then -- regula falsi on the square root, which is nearly straight
      local a = math.sqrt(math.max(self:excess(inner, scale2) + self.rise, 0))
      local b = math.sqrt(math.max(self:excess(outer, scale2) + self.rise, 0))
      local t = (math.sqrt(self.rise) - a) / (b - a)
      t = t == t and math.max(0.05, math.min(0.95, t)) or 0.5
      v = inner.x[k] + t * (outer.x[k] - inner.x[k])
    else
      v = inner.x[k] + direction * step
      if (v - bound) * direction >= 0 then v = bound end
    end
    local point = found(v, inner)
    if not point.x then
      step = step / 4
    else
      local f = self:excess(point, scale2)
      if f >= 0 and not checked then -- the first point outside bounds the search: it is to be no end of a wrong valley
        point, checked = confirmed(point), true
        f = self:excess(point, scale2)
      end
      if math.abs(f) < CLOSE * self.rise then
        local sure = confirmed(point)
        f = self:excess(sure, scale2)
        if math.abs(f) < CLOSE * self.rise then return { at = v, by = self:leaning(k, sure) } end
        point = sure
      end
      if f < 0 then
        inner = point
        if not outer then step = step * 1.6 end
        if outer and (inner.x[k] - outer.x[k]) * direction >= 0 then outer = nil end
      else outer = point end
      if outer and math.abs(outer.x[k] - inner.x[k]) < 1e-5 * math.abs(inner.x[k] - self.best.x[k]) + 1e-9 * width then
        -- chi2 jumps: the point outside is not the least there, or the one inside has lost its way
        step, outer, checked = 0.02 * width, nil, nil
      end
    end
  end
  return { at = inner.x[k], lost = true }
end

--- A profile of a result: what all its ends have in common.
local function profile_of(r, rise)
  local self = setmetatable({ p = r.problem, best = { cost = r.point.cost, x = r.point.x }, points = {}, rise = rise,
    weak = {} }, Profile)
  local function badly(k)
    if not k then return false end
    local name, x = r.names[k], r.point.x[k]
    local place = self.p.free[k]
    return not (r.errors[name] < WEAK * math.abs(x))
      or result.at_bound(x, self.p.low[place], self.p.high[place], r.errors[name]) ~= nil
  end
  for i, one in ipairs(self.p.ridges) do
    self.weak[i] = badly(one.scale)
    self.bent = self.bent or self.weak[i]
  end
  for k, name in ipairs(r.names) do if name == 'phi0' and badly(k) then self.mirrored = k end end
  return self
end

--- Profile intervals of parameters, also kept in r.intervals.
---@param r table result of fit
---@param names? string[] default: the free physical parameters
---@param level? number 0.68, 0.6827, 0.9, 0.95 (default) or 0.99
---@return table r.intervals, which print(r) shows: name = { low, high, low_open, high_open, low_lost, high_lost,
---  low_by, high_by, level }; by: the name of another parameter whose bound makes the end; open: the bound comes before
---  the level; lost: no end could be confirmed, and chi2 is still below the level at the value
function M.profile(r, names, level)
  if type(r) ~= 'table' or not r.problem or r.fits then
    error(('xpcs.intervals.profile: the first argument is %s; give the result of mc.xpcs.fit (of a model of your own: '
      .. 'result:profile(name); a joint fit has standard errors and no profiles)'):format(check.show(r)), 2)
  end
  if names ~= nil and type(names) ~= 'table' then
    error(('xpcs.intervals.profile: names is %s; give a list, such as { %q }'):format(check.show(names),
      type(names) == 'string' and names or 'D0'), 2)
  end
  level = level or 0.95
  M.known('xpcs.intervals.profile: level', level)
  local rise = LEVELS[level]
  local place = {}
  for k, name in ipairs(r.names) do place[name] = k end
  if not names then
    names = {}
    for _, p in ipairs(parameters.LIST) do if place[p.name] then names[#names + 1] = p.name end end
  end
  local self, list = profile_of(r, rise), {}
  for i, name in ipairs(names) do
    local k = place[name] or place[parameters.get('xpcs.intervals.profile', name, 3).name]
    if not k then error(('xpcs.intervals.profile: %s is not free in this fit'):format(name), 2) end
    local low, high = self.p.low[self.p.free[k]], self.p.high[self.p.free[k]]
    local width = r.errors[r.names[k]]
    if not (width and width > 0 and width < math.huge) then width = (high - low) / 8 end
    list[i] = { k = k, width = width, scale2 = r.spectrum.rise[k] * (r.problem.loss ~= 'linear'
      and covariance.factor(r.problem.loss, true, nil, r.n_points, #r.names)
      or r.absolute_sigma and 1 or r.reduced_chi2) }
  end
  -- again as long as a profile shows a point beyond an end of another one, or a better fit
  for _ = 1, 4 do
    local done = true
    for _, one in ipairs(list) do
      for _, direction in ipairs { -1, 1 } do
        local has = one[direction]
        local out = self:outermost(one.k, direction, one.scale2)
        if not has or 2 * (has.best - self.best.cost) / one.scale2 > BETTER
          or not has.open and (out.x[one.k] - has.at) * direction > 1e-3 * math.abs(has.at - self.best.x[one.k]) then
          has = self:end_of(one.k, direction, one.width, one.scale2)
          has.best, one[direction], done = self.best.cost, has, false
        end
      end
    end
    if done then break end
  end
  local out = {}
  for _, one in ipairs(list) do
    local low, high = one[-1], one[1]
    -- a profile along the ridge may have lost its way on one side of the value: the interval holds it at least
    local here = r.point.x[one.k]
    if low.lost then low.at = math.min(low.at, here) end
    if high.lost then high.at = math.max(high.at, here) end
    out[r.names[one.k]] = { low = low.at, high = high.at, low_open = low.open or false, high_open = high.open or false,
      low_by = low.by, high_by = high.by,
      low_lost = low.lost or false, high_lost = high.lost or false, level = level }
  end
  r.intervals = out
  local fall = 2 * (r.point.cost - self.best.cost) / list[1].scale2
  if fall > BETTER then
    r.better = self.best
    table.insert(r.warnings,
      ('a profile found a better fit (chi2 %.8g): this one is a local minimum; fit again from other starts '
        .. '(multi_start)'):format(2 * self.best.cost))
  end
  verdict.judge(r, verdict.of(r))
  return out
end

return M
