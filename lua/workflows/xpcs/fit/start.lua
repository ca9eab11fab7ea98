-- start.lua - where a fit begins when nobody says: a scan of coarse copies of the data, then short fits of the best
-- places.
--
-- The cost has many valleys: D too large and shear too small look alike, and so do rates whose lobes fall on each
-- other. The grid holds levels at a middle time that the data can tell apart, between a decay that hardly begins and
-- one that is over in a frame, with powers that grow and fall. For each place one pass gives the cost with the best
-- contrast and offset in closed form, since the model is linear in them. Fits start from the best place of each shear
-- rate, and from the best of all; after a few steps the better ones go on, those that met in one valley as one.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local trf = require 'mascon.optim.fit.least_squares.trf'
local coarse = require 'workflows.xpcs.pass.coarse'
local parameters = require 'workflows.xpcs.model.parameters'
local ridge = require 'workflows.xpcs.model.ridge'
local error = check.error
local M = {}

-- of the exponent of the decay over all times, and of the argument of sinc: the least, the largest per time, and the
-- ratio of two levels
M.RATES = {
  { factor = 'kd', least = 0.05, most = 3, ratio = 2.5, powers = { -0.9, -0.3, 0.3 } },
  { factor = 'ks', least = 0.15, most = 1, ratio = 2, powers = { -0.5, 0, 0.5 } },
}
local REST = { phi0 = 0 }
for i, rate in ipairs(parameters.RATES) do M.RATES[i].names, REST[rate.shift] = rate.names, 0 end
local SCANNED = 40 -- times of a copy for the scan
local APART = 45 -- degrees, of two angles of flow
local FITS = 12 -- from the best places of all

--- With the flow on the other side of the axis, which few angles hardly tell from this.
local function mirrored(p, x)
  local out = {}
  for k, place in ipairs(p.free) do
    if p.names[place] == 'phi0' and x[k] ~= 0 then
      out[1] = { unpack(x) }
      out[1][k] = math.max(p.low[place], math.min(p.high[place], -x[k]))
    end
  end
  return out
end

-- of fits: evaluations, how many places are kept, and places that join
local ROUNDS = {
  { nfev = 10, kept = 8 },
  { nfev = 30, kept = 4, also = mirrored },
  { nfev = 100, kept = 1, also = mirrored },
}

--- The levels of a rate that data of a problem may show, the lowest first.
---@param p mascon.xpcs.Problem
---@param rate table of RATES
---@return number[]
function M.levels(p, rate)
  local n, out = p.data.n, {}
  local count = math.ceil(math.log(rate.most * n / rate.least) / math.log(rate.ratio))
  for k = 0, count do out[k + 1] = rate.least * (rate.most * n / rate.least) ^ (k / count) / (p[rate.factor] * n) end
  return out
end

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

--- Values by place of a rate that has a level at the middle time, with the slope of a power; some of its numbers may be
--- held. Nil where all are, or where there are none inside the bounds.
---@param p mascon.xpcs.Problem
---@param names string[] of scale, power and shift
---@param level number
---@param power number
---@return table|nil
function M.with_level(p, names, level, power)
  local places, held, count = three_of(p, names)
  if not places or count == 3 then return nil end
  local log = math.log(p.t[p.t.shape[1]]:item()) - 1
  local found
  if count == 0 then found = { level * math.exp(-power * log), power, 0 }
  else found = { ridge.rate(log, level, level * power, held[1], held[2], held[3]) } end
  local out = {}
  for i = 1, 3 do
    local v, place = found[i], places[i]
    if not v then return nil end
    if not held[i] then out[place] = math.max(p.low[place], math.min(p.high[place], v)) end
  end
  return out
end

--- Cost and free numbers of a point with the best contrast and offset: the model is linear in them, so that one step
--- over the sums of the pass leads there. Bounds cut the numbers, and the cost is as if they did not.
---@param q mascon.xpcs.Problem with the linear loss
---@param point table of a pass, without a cost where it has none
---@return number cost
---@return number[] x
function M.settled(q, point)
  if type(q) ~= 'table' or not q.kind then
    error('xpcs.start.settled: the problem has no kind; give one of mc.xpcs.problem', 2)
  end
  if not point.cost then return math.huge, point.x end
  local g, H = q:normal(point)
  local n = 0
  for k, place in ipairs(q.free) do if place <= 2 * q.m then n = k end end
  -- elimination, as it stands: the matrix is symmetric and not negative
  local a, gain, x = {}, 0, { unpack(point.x) }
  for i = 1, n do
    a[i] = { -g[i] }
    for j = 1, n do a[i][j + 1] = H[i][j] end
  end
  for i = 1, n do
    local pivot = a[i][i + 1]
    if pivot > 1e-10 * H[i][i] then
      gain = gain + a[i][1] ^ 2 / pivot
      for k = i + 1, n do
        local share = a[k][i + 1] / pivot
        if share ~= 0 then
          a[k][1] = a[k][1] - share * a[i][1]
          for j = i + 1, n do a[k][j + 1] = a[k][j + 1] - share * a[i][j + 1] end
        end
      end
    else a[i][i + 1] = nil end
  end
  local step = {}
  for i = n, 1, -1 do
    local sum = a[i][1]
    for j = i + 1, n do sum = sum - (a[i][j + 1] or 0) * step[j] end
    step[i] = a[i][i + 1] and sum / a[i][i + 1] or 0
    local place = q.free[i]
    x[i] = math.max(q.low[place], math.min(q.high[place], x[i] + step[i]))
  end
  local left = point.cost - 0.5 * gain
  return left == left and left or math.huge, x
end

--- Angles of flow over the bounds, so that one is near; the one of the base where the bounds are narrow.
local function flows(p, base)
  local out = { { z = base, cell = 1 } }
  for _, place in ipairs(p.free) do
    local low, high = p.low[place], math.min(p.high[place], p.low[place] + 180)
    local count = p.names[place] == 'phi0' and high < math.huge and math.ceil((high - low) / APART) or 1
    for i = 1, count > 1 and count or 0 do
      local z = { unpack(base) }
      z[place] = low + (high - low) * (i - 0.5) / count
      out[i] = { z = z, cell = 1 }
    end
  end
  return out
end

--- The places of the grid: full vectors, each with the number of its shear rate.
local function grid(p, base)
  local list = flows(p, base)
  for r, rate in ipairs(M.RATES) do
    local values = {}
    for _, level in ipairs(3 * r <= p.P and M.levels(p, rate) or {}) do
      for _, power in ipairs(rate.powers) do values[#values + 1] = M.with_level(p, rate.names, level, power) end
    end
    if #values > 0 then
      local longer = {}
      for _, one in ipairs(list) do
        for i, some in ipairs(values) do
          local z = { unpack(one.z) }
          for place, v in pairs(some) do z[place] = v end
          longer[#longer + 1] = { z = z, cell = r == 1 and 1 or i }
        end
      end
      list = longer
    end
  end
  return list
end

--- The places that fits start from, of those that are sorted by cost: the best, and the best of each cell.
local function picked(found)
  local out, seen = {}, {}
  for i, one in ipairs(found) do
    if i <= FITS or not seen[one.cell] then out[#out + 1] = one end
    seen[one.cell] = true
  end
  return out
end

local function by_cost(a, b) return a.cost < b.cost or (a.cost == b.cost and a.order < b.order) end

--- The full vector that the grid varies.
local function base_of(p)
  local base = {}
  for i = 1, p.Z do base[i] = p.start[i] end
  for _, place in ipairs(p.free) do
    local v = REST[p.names[place]]
    if v then base[place] = math.max(p.low[place], math.min(p.high[place], v)) end
  end
  return base
end

--- The places of the grid, the best first: { x, cost, order, cell } each.
local function scanned(p, fine)
  local q = coarse.problem(p, coarse.thinner(fine, SCANNED), 'linear')
  local found = grid(p, base_of(p))
  for i, one in ipairs(found) do
    local x = {}
    for a, place in ipairs(p.free) do x[a] = one.z[place] end
    one.order, one.cost, one.x = i, M.settled(q, mc.scope(function() return q:at(x) end))
    for a, place in ipairs(p.free) do -- without contrast nothing else moves the model
      if place <= p.m and one.x[a] <= p.low[place] then one.x[a] = x[a] end
    end
  end
  table.sort(found, by_cost)
  return found
end

--- The ends of short fits from places, the deepest first, one per valley.
---@param c mascon.xpcs.Problem
---@param list table[] { x } each
---@param round table of ROUNDS
local function fitted(c, list, round, low, high)
  local further, kept = {}, {}
  for i, one in ipairs(list) do
    further[i] = one
    for _, x in ipairs(round.also and round.also(c, one.x) or {}) do further[#further + 1] = { x = x } end
  end
  for i, one in ipairs(further) do
    c.nfev = 0
    local point = trf.run(c, one.x, { low = low, high = high, ftol = 1e-6, xtol = 1e-7, gtol = 1e-10,
      max_nfev = round.nfev, x_scale = 'jac' })
    one.order, one.cost, one.x = i, point.cost or math.huge, point.x
  end
  table.sort(further, by_cost)
  for _, one in ipairs(further) do
    local same = kept[1] and one.cost - kept[#kept].cost <= 1e-7 * one.cost
    if #kept < round.kept and not same then kept[#kept + 1] = one end
  end
  return kept
end

--- Starting values of the free physical parameters (by place), from the problem of the whole data. Along a ridge they
--- lie where a scale alone has its level and slope: from the far ends of a ridge a fit does not come back.
---@param p mascon.xpcs.Problem
---@param above? boolean offsets of D and of the shear rate stay at 0 or above, so that neither is cut off at its floor
---@return table { [place] = value }
function M.find(p, above)
  if above ~= nil then check.arg('xpcs.start.find', 'above', above, 'bool', 3) end
  local low, high, fine = {}, {}, coarse.of(p.data)
  for a, place in ipairs(p.free) do
    low[a], high[a] = p.low[place], p.high[place]
    if above and (parameters.known(p.names[place]) or {}).part == 'shift' then
      low[a] = math.min(math.max(low[a], 0), high[a])
    end
  end
  local c, list = coarse.problem(p, fine), picked(scanned(p, fine))
  for _, round in ipairs(ROUNDS) do list = fitted(c, list, round, low, high) end
  local out, best = {}, list[1]
  if best and best.cost < math.huge then
    for _, r in ipairs(p.ridges) do best.x = ridge.plain(r, best.x) end
    for a, place in ipairs(p.free) do out[place] = best.x[a] end
  end
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
