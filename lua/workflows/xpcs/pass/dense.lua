-- dense.lua - residuals and derivatives of one angle written out, as a textbook would.
--
-- What the fused pass computes without them. Serves the tests as the other opinion, fits with legacy_abs, and the
-- covariance of nearly degenerate fits, where a QR factorisation of the columns keeps twice the digits of a normal
-- matrix. Some rows of an angle at a time.
local mc = require 'mascon'
local tensor = require 'mascon.core.tensor'
local loss_of = require 'mascon.optim.fit.least_squares.loss'
local model = require 'workflows.xpcs.model.model'
local sums = require 'workflows.xpcs.model.sums'
local M = {}

local POINTS = 2 ^ 13 -- pairs whose columns are in memory at a time

--- Residuals [m] and columns [2 + P, m] (contrast, offset, physics) of the pairs i < j of one tile row of an angle that
--- are not masked, both over sigma.
---@param data mascon.xpcs.Data
---@param p table physics, contrast, offset (lists per angle), sigma (list), kd, ks, legacy_abs, t
---@param f integer
---@param I integer tile row, from 0
---@param take fun(r: mc.tensor, J: mc.tensor) called for some rows after the other
function M.rows(data, p, f, I, take)
  local values, spreads, top, bottom = data:rows(f, I)
  local step = math.max(1, math.floor(POINTS / data.n))
  for first = top, bottom, step do
    mc.scope(function()
      local last = math.min(bottom, first + step - 1)
      local part = { { first - top + 1, last - top + 1 } }
      local y, spread = values[part], spreads and spreads[part]
      local g1, columns = model.g1({ t = p.t, kd = p.kd, ks = p.ks, physics = p.physics, legacy_abs = p.legacy_abs,
        rows = { first, last } }, data.phi[f], true)
      local i, j = mc.arange(first, last), mc.arange(1, data.n)
      local inside = mc.logical_and(mc.gt(j:expand_dims(1), i:expand_dims(2)), mc.isfinite(y))
      local g2 = (g1 * g1)[inside]
      local c, w = p.contrast[f], 1 / p.sigma[f]
      if spread then w = 1 / (spread[inside] * p.sigma[f]) end
      local r = (y[inside] - (g2 * c + p.offset[f])) * w
      local list = { g2 * w, mc.ones { g2:numel() } * w }
      for k = 1, #p.physics do list[2 + k] = columns[k][inside] * (c * w) end
      take(r, mc.stack(list, 1))
    end)
  end
  values:release()
  if spreads then spreads:release() end
end

--- Tile rows of data.
function M.count(data) return data.tiles[#data.tiles].I + 1 end

--- Residuals and columns of all pairs of an angle.
local function angle_of(data, p, f)
  local r, J = {}, {}
  for I = 1, M.count(data) do
    M.rows(data, p, f, I - 1, function(a, b) r[#r + 1], J[#J + 1] = tensor.hold(a), tensor.hold(b) end)
  end
  if #r == 1 then return r[1], J[1] end
  return mc.concat(r, 1), mc.concat(J, 2)
end

--- Rows under the loss of a problem, as the part of a pass takes them, and what goes into the place of the cost.
local function weighed(p, r, J)
  local part = p.part or 'fit'
  local loss = loss_of.resolve('xpcs', p.loss or 'linear')
  if not loss then return r, J, mc.sum(r * r):item() end
  local scale = p.f_scale or 1
  if part == 'fit' then
    local bent, rows = loss_of.weigh(loss, r, J, scale)
    return bent, rows, 2 * loss_of.cost(loss, r, scale)
  end
  local psi, below = loss_of.spread(loss, r, scale)
  local w = part == 'psi' and psi or below
  return r * 0, J * w, mc.sum(w * w):item()
end

--- Sums of the fused pass from these, in its order (see sums.lua).
---@param scaling 'fixed'|'common'|'each'
---@return number[]
function M.sums(data, p, scaling)
  local out, P = {}, #p.physics
  for i = 1, sums.count(scaling, data.F) do out[i] = 0 end
  for f = 1, data.F do
    local r, J, cost = weighed(p, angle_of(data, p, f))
    local H, g = mc.matmul(J, J.mT):totable(), mc.matmul(J, r):totable()
    out[1] = out[1] + cost
    for k = 1, P do out[1 + k] = out[1 + k] + g[2 + k] end
    sums.normal(P, function(k, l, at) out[at] = out[at] + H[2 + k][2 + l] end)
    if scaling ~= 'fixed' then
      local b = sums.before(scaling == 'common' and 1 or f)
      for i, v in ipairs { H[1][1], H[1][2], H[2][2], g[1], g[2] } do out[b + i] = out[b + i] + v end
      for k = 1, P do
        out[b + 5 + k], out[b + 12 + k] = out[b + 5 + k] + H[1][2 + k], out[b + 12 + k] + H[2][2 + k]
      end
    end
  end
  return out
end

return M
