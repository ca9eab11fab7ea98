-- sensitivity.lua - 10 figures of how an operator answers small noise and other amplitudes.
--
-- Both evaluations of a gain see the same noise of the operator. Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local M = {}

M.NAMES = { 'noise_gain_1e-4', 'noise_gain_1e-3', 'noise_gain_1e-2', 'gain_0.50', 'gain_0.75', 'gain_1.25',
  'gain_1.50', 'linearity_r2', 'saturation', 'compression' }

local function norm(x) return (x * x):sum():sqrt():item() end

--- The ten figures of an operator at a state. apply(x) -> O(x), the same noise at every call; probe: field of unit
--- size like x.
---@param apply fun(x: mascon.Tensor): mascon.Tensor
---@param x mascon.Tensor [1, C, G, G]
---@param probe mascon.Tensor of the shape of x
---@return number[]
function M.of(apply, x, probe)
  check.arg('rollout.features.sensitivity.of', 'apply', apply, 'function', 3)
  check.arg('rollout.features.sensitivity.of', 'x', x, 'tensor', 3)
  check.arg('rollout.features.sensitivity.of', 'probe', probe, 'tensor', 3)
  local out = {}
  mc.scope(function()
    local y = apply(x)
    local size = norm(y)
    for _, e in ipairs { 1e-4, 1e-3, 1e-2 } do
      local d = probe * e
      out[#out + 1] = norm(apply(x + d) - y) / norm((x + d) - x)
    end
    local at, gains = { 0.5, 0.75, 1.25, 1.5 }, {}
    for i, a in ipairs(at) do
      gains[i] = norm(apply(x * a)) / size
      out[#out + 1] = gains[i]
    end
    local ma, mg = 1, 0
    for i = 1, 4 do mg = mg + gains[i] / 4 end
    local sag, saa, total = 0, 0, 0
    for i = 1, 4 do
      sag, saa, total = sag + (at[i] - ma) * (gains[i] - mg), saa + (at[i] - ma) ^ 2, total + (gains[i] - mg) ^ 2
    end
    local rest = 0
    for i = 1, 4 do rest = rest + (gains[i] - mg - sag / saa * (at[i] - ma)) ^ 2 end
    out[#out + 1] = 1 - rest / (total + 1e-10)
    out[#out + 1] = 1.5 - gains[4]
    out[#out + 1] = gains[1] / gains[4]
  end)
  return out
end

return M
