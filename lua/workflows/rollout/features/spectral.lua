-- spectral.lua - 27 figures of the power spectrum of one state of one channel.
--
-- P = |rfft2|^2 in orthonormal scaling on the half plane, columns not doubled. Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local workflow = require 'mascon.base.workflow'
local hold = require 'mascon.core.tensor'.outlive
workflow.native 'rollout' -- the op ro_power
local M = {}

M.NAMES = {}
for k = 0, 4 do for _, s in ipairs { 'mean', 'max', 'std' } do M.NAMES[#M.NAMES + 1] = ('band_%d_%s'):format(k,
  s) end end
for _, n in ipairs { 'dominant_frequency_x', 'dominant_frequency_y', 'dominant_power', 'centroid_x', 'centroid_y',
  'bandwidth', 'low_ratio', 'mid_ratio',
  'high_ratio', 'flatness', 'rolloff', 'anisotropy' } do M.NAMES[#M.NAMES + 1] = n end

local plans = {} -- bands and frequencies of the bins by size: a handful of grids in a run

local function plan_for(G)
  if plans[G] then return plans[G] end
  local half = math.floor(G / 2) + 1
  local rows = mc.arange(0, G - 1)
  local ky = mc.where(mc.ge(rows, G / 2), rows - G, rows):reshape(G, 1) / G
  if G % 2 == 1 then ky = mc.where(mc.gt(rows, (G - 1) / 2), rows - G, rows):reshape(G, 1) / G end
  local kx = mc.arange(0, half - 1):reshape(1, half) / G
  local size = (kx * kx + ky * ky):sqrt()
  local f = size * G
  local p = { half = half }
  local first, last = math.sqrt(0.5), math.sqrt(G / math.sqrt(2))
  local band = mc.full({ G, half }, 5)
  for k = 0, 4 do
    local low, high = (first + (last - first) * k / 5) ^ 2, (first + (last - first) * (k + 1) / 5) ^ 2
    local inside = mc.ge(f, low) -- the corner of the half plane belongs to the last band
    if k < 4 then inside = mc.logical_and(inside, mc.lt(f, high)) end
    band = mc.where(inside, k, band)
  end
  local ratio = mc.where(mc.lt(size, 1 / 16), 0, mc.where(mc.lt(size, 1 / 8), 1, 2))
  p.kx, p.ky = hold((kx + 0 * ky):reshape(-1):copy()), hold((ky + 0 * kx):reshape(-1):copy())
  p.band, p.ratio = hold(band:reshape(-1):to 'u8'), hold(ratio:reshape(-1):to 'u8')
  plans[G] = p
  return p
end

--- Forgets the masks that were made.
function M.forget() plans = {} end

--- Columns of states x [R, G, G]: [R, 27].
function M.columns(x)
  local R, G = x.shape[1], x.shape[2]
  local p = plan_for(G)
  local s = mc.fft.rfftn(x, { axes = { -2, -1 }, norm = 'ortho' })
  local P = (mc.square(mc.real(s)) + mc.square(mc.imag(s))):reshape(R, -1)
  return workflow.call('ro_power', { P, mc.sort(P, 2), p.kx, p.ky, p.band, p.ratio }, { grid = G }, 1)[1]
end

return M
