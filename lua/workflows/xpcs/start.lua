-- start.lua - where a fit begins when nobody says: a scan of coarse copies of the data, then short fits of the best
-- places.
--
-- The cost has several valleys: D too large and shear too small look alike. Every k-th time is enough to tell them
-- apart where the decay takes longer than that; where it is over by then, shorter windows at both ends of the data,
-- with finer steps, hold it. For each place of a grid one pass over the coarse data gives the cost with the best
-- contrast and offset in closed form, since the model is linear in them; the three best places are fitted on the
-- coarse data.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local trf = require 'mascon.optim.fit.least_squares.trf'
local parameters = require 'workflows.xpcs.parameters'
local pass = require 'workflows.xpcs.pass'
local problem = require 'workflows.xpcs.problem'
local ridge = require 'workflows.xpcs.ridge'
local sums_of = require 'workflows.xpcs.sums'
local data_of = require 'workflows.xpcs.data'
local error = check.error
local M = {}

M.TIMES = 40 -- of a coarse copy, at most
local SHORTER = 4 -- a window lasts so much less than the one before

--- The coarse copies of n times: { first, last, step } each. The first spans all times; the others lie at both ends,
--- ever shorter, until two times of a copy are at most two apart.
---@param n integer
---@return integer[][]
function M.windows(n)
  if type(n) ~= 'number' or n < 1 then
    error(('xpcs.start.windows: n is %s; give the number of times'):format(check.show(n)), 2)
  end
  local out, size = {}, n
  while true do
    local step = math.ceil(size / M.TIMES)
    out[#out + 1] = { 1, size, step }
    if size < n then out[#out + 1] = { n - size + 1, n, step } end
    if step <= 2 then return out end
    size = math.ceil(size / SHORTER)
  end
end

--- The coarse copies of a matrix, one per window.
---@param c mc.tensor f64 [n, n]
---@return mc.tensor[]
function M.thin(c)
  local out = {}
  if c.shape[1] <= M.TIMES then return { c } end
  for i, w in ipairs(M.windows(c.shape[1])) do out[i] = tensor.hold(c[{ w, w }]:contiguous()) end
  return out
end

--- The coarse copies of data: { data, step } each.
local function coarse(data)
  if data.n <= M.TIMES then return { { data = data, step = 1 } } end
  local list = data.coarse
  if not list then
    list = {}
    for f = 1, data.F do mc.scope(function() list[f] = M.thin(data:matrix(f)) end) end
  end
  local out = {}
  for i, w in ipairs(M.windows(data.n)) do
    local c2 = {}
    for f = 1, data.F do c2[f] = list[f][i] end
    out[i] = { step = w[3], data = data_of.of { c2 = mc.stack(c2, 1), phi = data.phi, t = data.t[{ w }]:contiguous() } }
  end
  return out
end

M.RATES = {
  { names = { 'D0', 'alpha', 'D_offset' }, levels = { 150, 400, 1000, 2500, 6000, 15000, 40000 },
    powers = { -1, -0.3, 0.3 } },
  { names = { 'gamma_dot_t0', 'beta', 'gamma_dot_t_offset' }, levels = { 3e-6, 3e-5, 2e-4, 8e-4, 3e-3, 1.2e-2, 5e-2,
    0.2 }, powers = { -0.4, 0.3 } },
}
local REST = { D_offset = 0, gamma_dot_t_offset = 0, phi0 = 0 }

--- Places of scale, power and shift of a rate, and the values of those that are held (neither free nor tied).
local function three_of(p, names)
  local places, held, count = {}, {}, 0
  local is_free = {}
  for _, place in ipairs(p.free) do is_free[place] = true end
  for i, name in ipairs(names) do
    for place, other in ipairs(p.names) do if other == name then places[i] = place end end
    if not places[i] or p.ties[places[i]] then return nil end
    if not is_free[places[i]] then held[i], count = p.start[places[i]], count + 1 end
  end
  return places, held, count
end

--- Values by place of a rate of which some numbers are held: those that give it a level at the middle time, with the
--- slope of a power. Nil where all or none are held, or where there are none inside the bounds.
---@param p mascon.xpcs.Problem
---@param names string[] of scale, power and shift
---@param level number
---@param power number
---@return table|nil
function M.with_level(p, names, level, power)
  local places, held, count = three_of(p, names)
  if not places or count == 0 or count == 3 then return nil end
  local log = math.log(p.t[p.t.shape[1]]:item()) - 1
  local found = { ridge.rate(log, level, level * power, held[1], held[2], held[3]) }
  local out = {}
  for i = 1, 3 do
    local v, place = found[i], places[i]
    if not v then return nil end
    if not held[i] then out[place] = math.max(p.low[place], math.min(p.high[place], v)) end
  end
  return out
end

--- Cost with the best contrast and offset: those of a pass less what one linear step takes off.
---@param p table a problem
---@param point table of a pass, without a cost where it has none
---@return number
function M.projected(p, point)
  if type(p) ~= 'table' or not p.kind then
    error('xpcs.start.projected: the problem has no kind; give one of mc.xpcs.problem', 2)
  end
  if not point.cost then return math.huge end
  local s, gain = point.sums, 0
  if p.kind == 'fixed' then return point.cost end
  for f = 1, sums_of.sections(p.kind, p.data.F) do
    local b = sums_of.before(f)
    local cc, co, oo, cr, o_r = s[b + 1], s[b + 2], s[b + 3], s[b + 4], s[b + 5]
    local det = cc * oo - co * co
    if det > 1e-10 * cc * oo then gain = gain + (oo * cr * cr - 2 * co * cr * o_r + cc * o_r * o_r) / det
    elseif oo > 0 then gain = gain + o_r * o_r / oo end
  end
  local left = point.cost - 0.5 * gain
  return left == left and left or math.huge
end

--- The fields of a problem on the coarse copies of its data. Its sums are those over all of them.
local function on_coarse(p)
  local parts = coarse(p.data)
  local settings = {}
  for key, v in pairs(p) do settings[key] = v end
  settings.data, settings.watch, settings.weights, settings.device = parts[1].data, nil, nil, nil
  function settings.engine(_, at, kind)
    local sums
    for _, part in ipairs(parts) do
      at.kd, at.ks, at.t = p.kd * part.step, p.ks * part.step, part.data.t
      local s = pass.run(part.data, at, kind)
      if sums then for k = 1, #s do sums[k] = sums[k] + s[k] end else sums = s end
    end
    return sums
  end
  return settings
end

--- A problem on the coarse copies of the data, with the linear loss.
function M.coarse_problem(p)
  local settings = on_coarse(p)
  settings.loss = 'linear'
  return problem.new(settings)
end

--- Starting values of the free physical parameters (by place), from the problem of the whole data.
---@param p mascon.xpcs.Problem
---@param above? boolean offsets of D and of the shear rate stay at 0 or above, so that neither is cut off at its floor
---@return table { [place] = value }
function M.find(p, above)
  if above ~= nil then check.arg('xpcs.start.find', 'above', above, 'bool', 3) end
  local settings = on_coarse(p)
  local linear = settings
  if p.loss ~= 'linear' then
    linear = {}
    for key, v in pairs(settings) do linear[key] = v end
    linear.loss = 'linear'
  end
  local q = problem.new(linear)
  local place_of, is_free = {}, {}
  for _, place in ipairs(p.free) do is_free[place] = true end
  for i = 1, p.P do place_of[parameters.LIST[i].name] = 2 * p.m + i end
  local base = {}
  for i = 1, p.Z do base[i] = p.start[i] end
  for name, v in pairs(REST) do
    local place = place_of[name]
    if place and is_free[place] then base[place] = math.max(p.low[place], math.min(p.high[place], v)) end
  end
  -- the grid over what is free
  local list = { base }
  local function times(values)
    local longer = {}
    for _, z in ipairs(list) do
      for _, some in ipairs(values) do
        local y = { unpack(z) }
        for place, v in pairs(some) do y[place] = v end
        longer[#longer + 1] = y
      end
    end
    if #longer > 0 then list = longer end
  end
  for _, rate in ipairs(M.RATES) do
    local held = {}
    for _, level in ipairs(rate.levels) do
      for _, power in ipairs(rate.powers) do held[#held + 1] = M.with_level(p, rate.names, level, power) end
    end
    times(held)
    for i = 1, #held == 0 and 2 or 0 do
      local place, values = place_of[rate.names[i]], {}
      for _, v in ipairs(i == 1 and rate.levels or rate.powers) do
        local there = place and is_free[place] and v > p.low[place] and v < p.high[place]
        if there then values[#values + 1] = { [place] = v } end
      end
      times(values)
    end
  end
  local found = {}
  for i, z in ipairs(list) do
    local x = {}
    for a, place in ipairs(p.free) do x[a] = z[place] end
    found[i] = { M.projected(q, mc.scope(function() return q:at(x) end)), i, x }
  end
  table.sort(found, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
  -- short fits from the best places
  local low, high = {}, {}
  for a, place in ipairs(p.free) do
    low[a], high[a] = p.low[place], p.high[place]
    if above and (place == place_of.D_offset or place == place_of.gamma_dot_t_offset) then
      low[a] = math.min(math.max(low[a], 0), high[a])
    end
  end
  local best
  local c = problem.new(settings)
  for i = 1, math.min(3, #found) do
    c.nfev = 0
    local point = trf.run(c, found[i][3], { low = low, high = high, ftol = 1e-5, xtol = 1e-6, gtol = 1e-10,
      max_nfev = 30, x_scale = 'jac' })
    if point.cost and (not best or point.cost < best.cost) then best = point end
  end
  local out = {}
  if best then for a, place in ipairs(p.free) do out[place] = best.x[a] end end
  return out
end

local POWERS = { 0.3, -0.3 }

--- Starts for a fit that ended at a bound of scale t^power + shift: the same value at the middle time, half of it from
--- the scale, with a growing and a falling power. Where one is held, the others follow. None where all are inside.
---@param p mascon.xpcs.Problem
---@param x number[] the free numbers where it ended
---@param at_bound fun(v: number, low: number, high: number): string|nil
---@return number[][]
function M.off_bounds(p, x, at_bound)
  local index, out = {}, {}
  for k, place in ipairs(p.free) do index[p.names[place]] = k end
  local time = math.sqrt(math.max(p.t[1]:item(), p.geometry.dt / 2) * p.t[p.t.shape[1]]:item())
  local log = math.log(p.t[p.t.shape[1]]:item()) - 1
  for _, rate in ipairs(M.RATES) do
    local places, held, count = three_of(p, rate.names)
    local hit, three = false, {}
    for i = 1, 3 do
      local k = index[rate.names[i]]
      three[i] = k and x[k] or held and held[i]
      hit = hit or k and at_bound(x[k], p.low[p.free[k]], p.high[p.free[k]]) ~= nil
    end
    local level = hit and places and count < 3 and three[1] * time ^ three[2] + three[3] or 0
    for _, power in ipairs(level > 0 and POWERS or {}) do
      local values
      if count == 0 then
        values = { [places[1]] = level / 2 / time ^ power, [places[2]] = power, [places[3]] = level / 2 }
      else values = M.with_level(p, rate.names, three[1] * math.exp(three[2] * log) + three[3], power) end
      if values then
        local y = { unpack(x) }
        for k, place in ipairs(p.free) do
          y[k] = math.max(p.low[place], math.min(p.high[place], values[place] or y[k]))
        end
        out[#out + 1] = y
      end
    end
  end
  return out
end

return M
