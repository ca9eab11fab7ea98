-- start.lua - where a fit begins when nobody says: a scan of a coarse copy of the data, then short fits of the best
-- places.
--
-- The cost has several valleys: D too large and shear too small look alike. Every k-th time is enough to tell them
-- apart. For each place of a grid one pass over the
-- coarse data gives the cost with the best contrast and offset in closed form, since the model is linear in them; the
-- three best places are fitted on the coarse data.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local trf = require 'mascon.optim.fit.least_squares.trf'
local parameters = require 'workflows.xpcs.parameters'
local problem = require 'workflows.xpcs.problem'
local data_of = require 'workflows.xpcs.data'
local error = check.error
local M = {}

M.TIMES = 40 -- of the coarse copy, at most

--- Every k-th row and column of a matrix, so that at most TIMES are left; k.
function M.thin(c)
  local n = c.shape[1]
  local k = math.ceil(n / M.TIMES)
  return k == 1 and c or c[{ { 1, n, k }, { 1, n, k } }]:contiguous(), k
end

--- The coarse copy of data, and how many times further apart its times are.
local function coarse(data)
  if data.n <= M.TIMES then return data, 1 end
  local list, k = data.coarse, math.ceil(data.n / M.TIMES)
  if not list then
    list = {}
    for f = 1, data.F do list[f] = mc.scope(function() return (M.thin(data:matrix(f))) end) end
  end
  return data_of.of { c2 = mc.stack(list, 1), phi = data.phi, t = data.t[{ { 1, data.n, k } }]:contiguous() }, k
end

local LEVELS = { D0 = { 150, 400, 1000, 2500, 6000, 15000, 40000 }, alpha = { -1, -0.3, 0.3 }, gamma_dot_t0 = { 3e-6,
  3e-5, 2e-4, 8e-4, 3e-3, 1.2e-2, 5e-2, 0.2 }, beta = { -0.4, 0.3 } }
local REST = { D_offset = 0, gamma_dot_t_offset = 0, phi0 = 0 }
local ORDER = { 'D0', 'alpha', 'gamma_dot_t0', 'beta' }

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
  for b = 36, #s - 19, 19 do
    local cc, co, oo, cr, o_r = s[b + 1], s[b + 2], s[b + 3], s[b + 4], s[b + 5]
    local det = cc * oo - co * co
    if det > 1e-10 * cc * oo then gain = gain + (oo * cr * cr - 2 * co * cr * o_r + cc * o_r * o_r) / det
    elseif oo > 0 then gain = gain + o_r * o_r / oo end
  end
  local left = point.cost - 0.5 * gain
  return left == left and left or math.huge
end

--- The fields of a problem on a coarse copy of its data.
local function on_coarse(p)
  local data, k = coarse(p.data)
  local settings = {}
  for key, v in pairs(p) do settings[key] = v end
  settings.data, settings.t, settings.kd, settings.ks, settings.watch, settings.weights, settings.engine = data, data.t,
    p.kd * k, p.ks * k, nil, nil, nil
  return settings
end

--- A problem on a coarse copy of the data, with the linear loss.
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
  for _, name in ipairs(ORDER) do
    local place = place_of[name]
    if place and is_free[place] then
      local longer = {}
      for _, z in ipairs(list) do
        for _, v in ipairs(LEVELS[name]) do
          if v > p.low[place] and v < p.high[place] then
            local y = {}
            for i = 1, #z do y[i] = z[i] end
            y[place] = v
            longer[#longer + 1] = y
          end
        end
      end
      if #longer > 0 then list = longer end
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

return M
