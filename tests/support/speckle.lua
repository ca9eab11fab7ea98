-- speckle.lua - two-time matrices of simulated speckle, whose noise is that of the fields themselves.
--
-- Every pixel has modes of complex Gaussian fields with the g1 of the model; its intensity is their mean square,
-- counted (Poisson) where counts are given. C2 is the mean over pixels of products of intensities, divided by the
-- product of the mean intensities. The contrast is 1 / modes.
local mc = require 'mascon'
local model = require 'workflows.xpcs.model.model'
local M = {}

local NEVER_SINGULAR = 1e-10 -- of the variance, added to the diagonal

--- Data of one q.
---@param o table n (times), dt (s), q (1/A), phi (deg), physics (3 or 7), pixels (per angle), modes, counts (mean per
---  pixel and frame; nil: no noise of counting), seed, gap (A)
---@return mascon.xpcs.Data
function M.data(o)
  local t = mc.arange(0, o.n - 1):to 'f64' * o.dt
  local about, list = { t = t, physics = o.physics }, {}
  about.kd, about.ks = model.constants { q = o.q, dt = o.dt, gap = o.gap }
  local key = mc.random.key(o.seed)
  for f, phi in ipairs(o.phi) do
    list[f] = mc.scope(function()
      local own = key:fold_in(f)
      local L = mc.linalg.cholesky(model.g1(about, phi) + mc.eye(o.n) * NEVER_SINGULAR)
      local parts = 2 * o.modes
      local x = mc.matmul(L, mc.random.normal({ o.n, o.pixels * parts }, { key = own:fold_in(1) }))
      local I = mc.sum((x * x):reshape(o.n, o.pixels, parts), 3) * (1 / parts)
      if o.counts then
        I = mc.random.poisson({ o.n, o.pixels }, { rate = I * o.counts, key = own:fold_in(2) }):to 'f64'
      end
      local mean = mc.mean(I, 2)
      local y = mc.matmul(I, I.mT) / (mean:expand_dims(1) * mean:expand_dims(2) * o.pixels)
      return (y + y.mT) * 0.5
    end)
  end
  return mc.xpcs.data.of { c2 = mc.stack(list, 1), phi = o.phi, t = t, q = o.q, dt = o.dt, gap = o.gap,
    mode = #o.physics > 3 and 'laminar_flow' or 'static' }
end

return M
