-- contrasts.lua - whether contrast and offset of a fit hold for every angle, or differ from one to the next.
--
-- With g1 as fitted, the best contrast and offset of each angle are a line through its points: what chi2 would fall by
-- is compared with what chance gives. Takes the end of a fit; fits nothing.
local mc = require 'mascon'
local model = require 'workflows.xpcs.model.model'
local numbers = require 'workflows.xpcs.model.numbers'
local parameters = require 'workflows.xpcs.model.parameters'
local pass = require 'workflows.xpcs.pass.pass'
local place = require 'workflows.xpcs.model.sums'
local M = {}

-- standard deviations of a normal number, as rare as a fall that chance does not explain
local IMPROBABLE, SHOWN = 5, 3

--- The step of contrast and offset to the best line, and what chi2 falls by, from the sums of an angle.
local function line(cc, co, oo, c, o)
  local det = cc * oo - co * co
  if det > 1e-9 * cc * oo then
    local dc, d_o = (oo * c - co * o) / det, (cc * o - co * c) / det
    return dc, d_o, c * dc + o * d_o
  end
  return 0, oo > 0 and o / oo or 0, oo > 0 and o * o / oo or 0 -- g1 does not vary
end

--- The best contrast that a contrast can be, and the best offset beside it: where next to nothing is left of g1 the
--- best line runs through noise, with a contrast of any size.
local function held(sums, contrast, offset, dc)
  local best = math.max(parameters.CONTRAST.min, math.min(parameters.CONTRAST.max, contrast + dc))
  local _, co, oo, _, o = unpack(sums)
  return best, offset + (oo > 0 and (o - co * (best - contrast)) / oo or 0)
end

--- What a chi2 of k degrees of freedom exceeds by chance once in millions, or beyond sd standard deviations (Wilson and
--- Hilferty).
---@param k number
---@param sd? number 5
---@return number
function M.limit_of(k, sd) return k * (1 - 2 / (9 * k) + (sd or IMPROBABLE) * math.sqrt(2 / (9 * k))) ^ 3 end

--- Judges sums per angle: { contrast x contrast, contrast x offset, offset x offset, contrast x r, offset x r }.
---@param o table sums, cost (the sum of rho), phi, contrast, offset (per angle), scaling, free (numbers of contrast and
---  offset that are free), points, n (free numbers of all), absolute, weights (per angle, of the shear)
---@return table|nil gain, chance (shares of the cost), improbable, list of { phi, contrast, offset, best_contrast,
---  best_offset, gain, held_contrast, held_offset (with a contrast from 0 to 1) }, the largest gain first; nil where no
---  angle could have more of its own
function M.judge(o)
  local k = 2 * #o.phi - o.free
  if o.scaling == 'individual' or k <= 0 then return nil end
  local list, raw, gain = {}, 0, 0
  for f, phi in ipairs(o.phi) do
    local dc, d_o, g = line(unpack(o.sums[f]))
    local near, beside = held(o.sums[f], o.contrast[f], o.offset[f], dc)
    raw = raw + g
    gain = gain + g / math.max(o.weights and o.weights[f] or 1, 1)
    list[f] = { phi = phi, contrast = o.contrast[f], offset = o.offset[f], best_contrast = o.contrast[f] + dc,
      best_offset = o.offset[f] + d_o, held_contrast = near, held_offset = beside, gain = g, angle = f }
  end
  table.sort(list, function(a, b) return a.gain > b.gain or (a.gain == b.gain and a.phi < b.phi) end)
  local s2 = math.max(o.absolute and 1 or 0, (o.cost - raw) / math.max(o.points - o.n - k, 1))
  local chance = M.limit_of(k) * s2
  return { gain = gain / o.cost, chance = chance / o.cost, improbable = gain > chance, list = list }
end

-- rho' of a loss, of the square of residuals
local WEIGHT = {
  soft_l1 = function(z) return 1 / mc.sqrt(z + 1) end,
  huber = function(z) return mc.minimum(1 / mc.sqrt(mc.maximum(z, 1e-300)), 1) end,
  cauchy = function(z) return 1 / (z + 1) end,
  arctan = function(z) return 1 / (z * z + 1) end,
}

--- Sums per angle with g1^2 of theory(f, first, last). Where a loss bends, points weigh as rho' says: the cost falls by
--- no less than these sums give.
local function sums_of(data, o)
  local out = {}
  for f = 1, data.F do
    out[f] = { 0, 0, 0, 0, 0 }
    for I = 0, data:tile_rows() - 1 do
      local part = mc.scope(function()
        local y, spread, first, last = data:rows(f, I)
        local inside = mc.logical_and(mc.gt(mc.arange(1, data.n):expand_dims(1),
          mc.arange(first, last):expand_dims(2)), mc.isfinite(y))
        local g, e = o.theory(f, first, last)[inside], o.sigma[f]
        if spread then e = spread[inside] * e end
        local r = y[inside] - (g * o.contrast[f] + o.offset[f])
        local w = mc.ones { g:numel() } / (e * e)
        if o.loss ~= 'linear' then w = w * WEIGHT[o.loss](r * r * w * o.f_scale ^ -2) end
        y:release()
        if spread then spread:release() end
        local wg, wr = w * g, w * r
        return { mc.sum(wg * g):item(), mc.sum(wg):item(), mc.sum(w):item(), mc.sum(wr * g):item(),
          mc.sum(wr):item() }
      end)
      for k = 1, 5 do out[f][k] = out[f][k] + part[k] end
    end
  end
  return out
end

--- The same of a fit of the built-in model.
---@param p mascon.xpcs.Problem
---@param point table
---@param absolute boolean whether sigma is in units of the data
function M.of(p, point, absolute)
  local F, free = p.data.F, 0
  for _, i in ipairs(p.free) do if i <= 2 * p.m then free = free + 1 end end
  if p.mode == 'individual' or 2 * F <= free then return nil end
  local contrast, offset, physics = p:split(p:full(point.x))
  local about = { physics = physics, contrast = contrast, offset = offset, sigma = p.sigma, kd = p.kd, ks = p.ks,
    t = p.t, loss = p.loss, f_scale = p.f_scale, legacy_abs = p.legacy_abs, device = p.device }
  local sums = {}
  if p.loss == 'linear' then
    local s = pass.run(p.data, about, 'each')
    for f = 1, F do sums[f] = { unpack(s, place.before(f) + 1, place.before(f) + 5) } end
  else
    function about.theory(f, first, last)
      about.rows = { first, last }
      local g = model.g1(about, p.data.phi[f])
      return g * g
    end
    sums = sums_of(p.data, about)
  end
  return M.judge { sums = sums, cost = 2 * point.cost, phi = p.data.phi, contrast = contrast, offset = offset,
    scaling = p.mode, free = free, points = p.data.points, n = #p.free, absolute = absolute, weights = p.weights }
end

--- The same of a result with a g1^2 of its own, `theory`.
---@param r table result: theory, contrast, offset, sigma, names, cost, loss, f_scale, scaling, absolute_sigma
---@param data mascon.xpcs.Data
function M.own(r, data)
  if r.scaling == 'individual' then return nil end
  local free = 0
  for _, name in ipairs(r.names) do
    if name:find '^contrast' or name:find '^offset' then free = free + 1 end
  end
  return M.judge { sums = sums_of(data, r), cost = 2 * r.cost, phi = data.phi, contrast = r.contrast,
    offset = r.offset, scaling = r.scaling, free = free, points = data.points, n = #r.names,
    absolute = r.absolute_sigma }
end

local ANGLES, SHARE = 6, 0.6 -- angles, and what shear must explain of the variance of their contrasts

--- Whether contrasts of a fit without shear vary with the angle as shear makes them: lowest along the flow, where C2
--- decays fastest, as a - b cos 2 (phi - phi0).
---@param phi number[] deg
---@param contrast number[] best one of each angle
---@return table|nil { phi0 (deg, in -90 .. 90), depth (b), share: of the variance }; nil where it does not, or of fewer
---  than 6 angles
function M.shear(phi, contrast)
  if #phi < ANGLES then return nil end
  return mc.scope(function()
    local turn = mc.tensor(phi) * (math.pi / 90)
    local y = mc.tensor(contrast)
    local A = mc.stack({ mc.ones { #phi }, mc.cos(turn), mc.sin(turn) }, 2)
    local x = mc.linalg.lstsq(A, y:expand_dims(2)).x:reshape(-1)
    local left, all = mc.sum(mc.square(y - mc.matmul(A, x))):item(), mc.sum(mc.square(y - mc.mean(y))):item()
    local share = all > 0 and 1 - left / all or 0
    if not (share > SHARE) then return nil end
    local _, b, c = unpack(x:totable())
    return { phi0 = math.deg(math.atan2(-c, -b)) / 2, depth = math.sqrt(b * b + c * c), share = share }
  end)
end

local text = numbers.number

--- What it means, in sentences without their full stop.
---@param a table of M.judge
---@param cause? boolean whether a cause is said before
---@return string[]
function M.sentences(a, cause)
  local worst = {}
  for k = 1, math.min(SHOWN, #a.list) do
    local v = a.list[k]
    local real = v.best_contrast >= 0 and v.best_contrast <= 1 -- else the decay is wrong
    worst[k] = ('%s deg (%s, offset %s instead of %s)'):format(text(v.phi), real and ('contrast %s instead of %s')
      :format(text(v.best_contrast), text(v.contrast)) or 'no contrast from 0 to 1 is best', text(v.best_offset),
      text(v.offset))
  end
  return { ('Contrast or offset differ between the angles: separate values for each angle lower chi2 by %s %% or more '
    .. '(chance: at most %s %%)'):format(text(100 * a.gain, 3), text(100 * a.chance, 2)),
    ('The largest deviations are at %s'):format(table.concat(worst, ', ')),
    ('The other parameters may be wrong by more than their errors%s. What differs with separate values too is what the '
      .. 'model misses of the angle'):format(cause and ': if they differ after that, fit with {scaling individual}'
      or '{?: fit with {scaling individual}}') }
end

return M
