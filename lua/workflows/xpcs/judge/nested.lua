-- nested.lua - whether the data need what a fit has: the shear of laminar flow, and any decay at all. The model without
-- it, fitted from the same point, against it.
--
-- Where shear is absent its four numbers fit noise: their errors, valleys and floors are those of nothing, and what is
-- said of them leads astray; where constants describe C2 that holds of all but the offset. Takes the end of a fit.
local trf = require 'mascon.optim.fit.least_squares.trf'
local contrasts = require 'workflows.xpcs.judge.contrasts'
local pass = require 'workflows.xpcs.pass.pass'
local problem = require 'workflows.xpcs.pass.problem'
local M = {}

local FAR = 1000 -- times what chance gives: a static model that misses by this is not fitted to its end
local SCANT = 3 -- standard deviations: a decay that is that improbable by chance is none that is not there
local SHEAR = 4 -- number of the first parameter of the shear in the physics

--- A problem with other free numbers, start and ties, of so many physical numbers; passes over the data alone.
local function changed(p, free, start, ties, count)
  local settings = {}
  for key, v in pairs(p) do settings[key] = v end
  settings.free, settings.start, settings.ties = free, start, ties or {}
  settings.P = count or p.P
  settings.watch, settings.engine = nil, pass.run
  return problem.new(settings)
end

--- The problem without shear; nil where it has no meaning: diffusion is tied to shear, or no shear is free.
---@return mascon.xpcs.Problem|nil, string[] names of the free parameters of the shear
local function static(p, point)
  local first, free, ties, shear = 2 * p.m + SHEAR, {}, {}, {}
  for _, i in ipairs(p.free) do
    if i < first then free[#free + 1] = i else shear[#shear + 1] = p.names[i] end
  end
  for i, t in pairs(p.ties) do
    if i < first and t.to >= first then return nil end
    if i < first then ties[i] = t end
  end
  if p.P < SHEAR or #shear == 0 or #free == 0 then return nil end
  return changed(p, free, p:full(point.x), ties, SHEAR - 1), shear
end

--- What twice the cost falls by in a Gauss-Newton step without bounds, as far as the cost is a parabola.
---@param q mascon.xpcs.Problem
---@param point table
---@return number
function M.fall(q, point)
  local g, H = q:normal(point)
  local values, vectors, norms = problem.spectrum(H)
  local fall = 0
  for k = 1, #g do
    local along = 0
    for j = 1, #g do if norms[j] > 0 then along = along + vectors[k][j] * g[j] / norms[j] end end
    if values[k] > 1e-12 * values[#g] then fall = fall + along * along / values[k] end
  end
  return fall
end

--- Compares a fit with the one without shear.
---@param p mascon.xpcs.Problem of laminar flow
---@param point table its end
---@param absolute boolean whether sigma is in units of the data
---@param excess? number variance over that of independent noise (1)
---@return table|nil names (free parameters of the shear), rise (of twice the cost without them), chance: the largest
---  rise that chance gives; nil where the data need the shear
function M.of(p, point, absolute, excess)
  local q, shear = static(p, point)
  if not q then return nil end
  local variance = math.max(absolute and 1 or 0, 2 * point.cost / math.max(p.data.points - #p.free, 1))
  local chance = contrasts.limit_of(#shear) * variance * (excess or 1)
  local low, high, x = {}, {}, {}
  for k, i in ipairs(q.free) do
    low[k], high[k] = p.low[i], p.high[i]
    x[k] = math.max(low[k], math.min(high[k], q.start[i]))
  end
  local first = q:at(x)
  if not first.cost or 2 * (first.cost - point.cost) - M.fall(q, first) > FAR * chance then return nil end
  local last = trf.run(q, x, { low = low, high = high, ftol = 1e-10, xtol = 1e-10, gtol = 1e-10, max_nfev = 30 * #x,
    x_scale = 'jac' })
  local rise = math.max(2 * ((last.cost or math.huge) - point.cost), 0)
  return rise <= chance and { names = shear, rise = rise, chance = chance } or nil
end

--- Compares a fit with constants, an offset without contrast.
---@param p mascon.xpcs.Problem
---@param point table its end
---@param absolute boolean whether sigma is in units of the data
---@return table|nil rise (of twice the cost without decay), chance: the largest that chance gives under independent
---  noise (correlated noise moves the level of an angle and hardly its slope: so no decay is denied), less: numbers
---  less, level: mean of the constants; nil where the data show a decay
function M.flat(p, point, absolute)
  if p.m == 0 then return nil end -- contrast and offset are held
  local start, free, low, high, x = p:full(point.x), {}, {}, {}, {}
  for i = 1, p.m do
    local k = p.m + i
    -- the level of a decay that has not begun is offset and contrast
    free[i], low[i], high[i] = k, p.low[k], p.high[k] + math.max(p.high[i], 0)
    x[i] = math.max(low[i], math.min(high[i], start[k]))
    start[i] = 0
  end
  local q = changed(p, free, start)
  local last = trf.run(q, x, { low = low, high = high, ftol = 1e-10, xtol = 1e-10, gtol = 1e-10, max_nfev = 30,
    x_scale = 'jac' })
  local less = math.max(1, #p.free - #free)
  local variance = math.max(absolute and 1 or 0, 2 * point.cost / math.max(p.data.points - #p.free, 1))
  local chance = contrasts.limit_of(less, SCANT) * variance
  local rise = math.max(2 * ((last.cost or math.huge) - point.cost), 0)
  if rise > chance then return nil end
  local level, _, offset = 0, q:split(q:full(last.x))
  for _, v in ipairs(offset) do level = level + v / p.data.F end
  return { rise = rise, chance = chance, less = less, level = level }
end

--- What holds of data sets that are fitted at once: nil where one of them needs the shear.
---@param singles table[] results of the sets alone
---@param names string[] of the free numbers of all
---@return table|nil as of M.of
function M.joint(singles, names)
  local out, shear, free = { names = {}, rise = 0, chance = 0 }, {}, {}
  for _, name in ipairs(names) do free[name] = true end
  for _, one in ipairs(singles) do
    local u = one.unneeded
    if not u then return nil end
    out.rise, out.chance = out.rise + u.rise, out.chance + u.chance
    for _, name in ipairs(u.names) do
      if free[name] and not shear[name] then out.names[#out.names + 1], shear[name] = name, true end
    end
  end
  return #out.names > 0 and out or nil
end

return M
