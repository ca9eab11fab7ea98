-- dense.lua - residuals and derivatives of one angle written out, as a textbook would.
--
-- What the fused pass computes without them. Serves the tests as the other opinion, and the covariance of nearly
-- degenerate fits, where a QR factorisation
-- of the columns keeps twice the digits of a normal matrix. One angle at a time: n^2 times a dozen numbers.
local mc = require 'mascon'
local model = require 'workflows.xpcs.model'
local M = {}

--- Residuals [m] and columns [2 + P, m] (contrast, offset, physics) of an angle over its pairs i < j that are not
--- masked, both over sigma.
---@param data mascon.xpcs.Data
---@param p table physics, contrast, offset (lists per angle), sigma (list), kd, ks, legacy_abs, t
---@param f integer
function M.angle(data, p, f)
  return mc.scope(function()
    local n = data.n
    local y = data:matrix(f)
    local g1, columns = model.g1({ t = p.t, kd = p.kd, ks = p.ks, physics = p.physics, legacy_abs = p.legacy_abs },
      data.phi[f], true)
    local inside = mc.logical_and(mc.gt(mc.triu(mc.ones { n, n }, 1), 0), mc.isfinite(y))
    local g2 = (g1 * g1)[inside]
    local c, w = p.contrast[f], 1 / p.sigma[f]
    local spread = data:spread(f)
    if spread then w = 1 / (spread[inside] * p.sigma[f]) end
    local r = (y[inside] - (g2 * c + p.offset[f])) * w
    local rows = { g2 * w, mc.ones { g2:numel() } * w }
    for k = 1, #p.physics do rows[2 + k] = columns[k][inside] * (c * w) end
    return r, mc.stack(rows, 1)
  end)
end

--- Sums of the fused pass from these, in its order (see pass.lua), for a linear loss.
---@param scaling 'fixed'|'common'|'each'
---@return number[]
function M.sums(data, p, scaling)
  local out, P = {}, #p.physics
  local blocks = scaling == 'fixed' and 0 or scaling == 'common' and 1 or data.F
  for i = 1, 36 + 19 * blocks do out[i] = 0 end
  for f = 1, data.F do
    local r, J = M.angle(data, p, f)
    local H, g = mc.matmul(J, J.mT):totable(), mc.matmul(J, r):totable()
    out[1] = out[1] + mc.sum(r * r):item()
    local at = 8
    for k = 1, 7 do
      if k <= P then out[1 + k] = out[1 + k] + g[2 + k] end
      for l = k, 7 do
        at = at + 1
        if l <= P then out[at] = out[at] + H[2 + k][2 + l] end
      end
    end
    if blocks > 0 then
      local b = 36 + (blocks == 1 and 0 or 19 * (f - 1))
      for i, v in ipairs { H[1][1], H[1][2], H[2][2], g[1], g[2] } do out[b + i] = out[b + i] + v end
      for k = 1, P do
        out[b + 5 + k], out[b + 12 + k] = out[b + 5 + k] + H[1][2 + k], out[b + 12 + k] + H[2][2 + k]
      end
    end
  end
  return out
end

return M
