-- spectral.lua - 27 figures of the power spectrum of one state of one channel.
--
-- P = |rfft2|^2 in orthonormal scaling on the half plane, columns not doubled. Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local hold = require 'mascon.core.tensor'.outlive
local M = {}

M.NAMES = {}
for k = 0, 4 do for _, s in ipairs { 'mean', 'max', 'std' } do M.NAMES[#M.NAMES + 1] = ('band_%d_%s'):format(k,
  s) end end
for _, n in ipairs { 'dominant_frequency_x', 'dominant_frequency_y', 'dominant_power', 'centroid_x', 'centroid_y',
  'bandwidth', 'low_ratio', 'mid_ratio',
  'high_ratio', 'flatness', 'rolloff', 'anisotropy' } do M.NAMES[#M.NAMES + 1] = n end

local plans = {} -- masks and frequencies by size and dtype: a handful of grids in a run

local function plan_for(G, dtype)
  local key = G .. dtype
  if plans[key] then return plans[key] end
  local half = math.floor(G / 2) + 1
  local rows = mc.arange(0, G - 1)
  local ky = mc.where(mc.ge(rows, G / 2), rows - G, rows):reshape(G, 1) / G
  if G % 2 == 1 then ky = mc.where(mc.gt(rows, (G - 1) / 2), rows - G, rows):reshape(G, 1) / G end
  local kx = mc.arange(0, half - 1):reshape(1, half) / G
  local size = (kx * kx + ky * ky):sqrt()
  local f = size * G
  local p = { half = half, bins = G * half, bands = {} }
  local first, last = math.sqrt(0.5), math.sqrt(G / math.sqrt(2))
  local edges = {}
  for k = 0, 5 do edges[k] = (first + (last - first) * k / 5) ^ 2 end
  for k = 0, 4 do
    local inside = k < 4 and mc.lt(f, edges[k + 1]) or mc.le(f,
      edges[k + 1] * (1 + 1e-9)) -- the corner of the half plane belongs to the last band
    local mask = mc.logical_and(mc.ge(f, edges[k]), inside):to(dtype)
    p.bands[k + 1] = { mask = hold(mask:reshape(1, -1)), n = math.max(mask:sum():item(), 1) }
  end
  p.kx = hold((kx + 0 * ky):reshape(1, -1):to(dtype))
  p.ky = hold((ky + 0 * kx):reshape(1, -1):to(dtype))
  p.low = hold(mc.lt(size, 1 / 16):to(dtype):reshape(1, -1))
  p.mid = hold(mc.logical_and(mc.ge(size, 1 / 16), mc.lt(size, 1 / 8)):to(dtype):reshape(1, -1))
  plans[key] = p
  return p
end

--- Forgets the masks that were made.
function M.forget() plans = {} end

--- Columns of states x [R, G, G]: [R, 27].
function M.columns(x)
  local R, G, dtype = x.shape[1], x.shape[2], x.dtype
  local p = plan_for(G, dtype)
  local s = mc.fft.rfftn(x, { axes = { -2, -1 }, norm = 'ortho' })
  local P = (mc.real(s) ^ 2 + mc.imag(s) ^ 2):reshape(R, -1)
  local out = {}
  for _, b in ipairs(p.bands) do
    local inside = P * b.mask
    out[#out + 1] = inside:sum(2) / b.n
    out[#out + 1] = mc.minimum(inside:max(2) / b.n, 1e6)
    out[#out + 1] = inside:std(2, { correction = 1 }) / math.sqrt(b.n)
  end
  local total = P:sum(2)
  local safe = total + 1e-8
  -- ties between conjugate bins of columns 0 and G/2 are broken for the smaller row: they are the same number there
  local at = mc.argmax(P:reshape(R, G, p.half):permute_dims(1, 3, 2):reshape(R, -1), 2) - 1 -- columns first
  local column = mc.floor_divide(at, G)
  local row = at - column * G
  local edge = mc.logical_or(mc.eq(column, 0), mc.eq(column, G / 2))
  row = mc.where(mc.logical_and(edge, mc.gt(row, G / 2)), G - row, row)
  out[#out + 1] = column:to(dtype) / G
  out[#out + 1] = row:to(dtype) / G
  out[#out + 1] = P:max(2)
  local cx, cy = (P * p.kx):sum(2) / safe, (P * p.ky):sum(2) / safe
  out[#out + 1], out[#out + 2] = cx, cy
  local dx, dy = p.kx - cx:reshape(R, 1), p.ky - cy:reshape(R, 1)
  out[#out + 1] = ((P * (dx * dx + dy * dy)):sum(2) / safe + 1e-8):sqrt()
  local low, mid = (P * p.low):sum(2), (P * p.mid):sum(2)
  out[#out + 1], out[#out + 2], out[#out + 3] = low / safe, mid / safe, (total - low - mid) / safe
  out[#out + 1] = mc.exp(mc.log(P + 1e-10):mean(2)) / (P:mean(2) + 1e-10)
  local falling = mc.cumsum(mc.sort(P, 2, { descending = true }), 2)
  local reached = mc.lt(falling, 0.85 * total:reshape(R, 1)):to(dtype):sum(2) -- bins before the one that reaches it
  out[#out + 1] = reached / p.bins
  out[#out + 1] = (P * p.kx * p.kx):sum(2) / ((P * p.ky * p.ky):sum(2) + 1e-8)
  return mc.stack(out, 2)
end

return M
