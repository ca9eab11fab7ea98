-- wavelet.lua - 20 opt-in figures of one state of one channel: Haar details and a Laplacian pyramid, four levels each.
--
-- Source: spinlock, features/sdf/multiscale.py; The Laplacian pyramid as a compact image code, 1983.
local mc = require 'mascon'
local pooled = require 'workflows.rollout.features.distributional'.pooled
local M = {}

local LEVELS = 4
M.NAMES = {}
for k = 0, LEVELS - 1 do
  for _, s in ipairs { 'energy', 'mean', 'std' } do M.NAMES[#M.NAMES + 1] = ('wavelet_%s_level_%d'):format(s, k) end
end
for k = 0, LEVELS - 1 do
  for _, s in ipairs { 'energy', 'contrast' } do M.NAMES[#M.NAMES + 1] = ('pyramid_%s_level_%d'):format(s, k) end
end

local TAPS, sum = {}, 0
for k = -2, 2 do
  TAPS[k + 3] = math.exp(-k * k / 2)
  sum = sum + TAPS[k + 3]
end
for k = 1, 5 do TAPS[k] = TAPS[k] / sum end

--- The 5x5 Gaussian of sigma 1, zero outside: x [R, n, n].
local function blurred(x)
  local n = x.shape[2]
  for axis = 2, 3 do
    local padded = mc.pad(x, { { 0, 0 }, axis == 2 and { 2, 2 } or { 0, 0 }, axis == 3 and { 2, 2 } or { 0, 0 } })
    local y
    for k = 1, 5 do
      local at = { mc.all, mc.all, mc.all }
      at[axis] = { k, k + n - 1 }
      y = y and y + TAPS[k] * padded[at] or TAPS[k] * padded[at]
    end
    x = y
  end
  return x
end

--- Linear interpolation from n to size places, edges as half a place outside: [size, n].
local function stretch(size, n, dtype)
  local rows = {}
  for i = 0, size - 1 do
    local at = math.max(0, (i + 0.5) * n / size - 0.5)
    local k = math.min(math.floor(at), n - 1)
    local row = {}
    for j = 1, n do row[j] = 0 end
    row[k + 1] = 1 - (at - k)
    local next_one = math.min(k + 1, n - 1) + 1
    row[next_one] = row[next_one] + at - k
    rows[i + 1] = row
  end
  return mc.tensor(rows, { dtype = dtype })
end

--- Columns of states x [R, G, G]: [R, 20]; 0 at levels that the grid does not have.
function M.columns(x)
  local R, dtype, out = x.shape[1], x.dtype, {}
  local zero = mc.zeros({ R }, { dtype = dtype })
  local a = x
  for _ = 1, LEVELS do
    local n = math.floor(a.shape[2] / 2)
    if n < 1 then for _ = 1, 3 do out[#out + 1] = zero end
    else
      local four = a[{ mc.all, { 1, 2 * n }, { 1, 2 * n } }]:reshape(R, n, 2, n, 2)
      local p, q = four[{ mc.all, mc.all, 1, mc.all, 1 }], four[{ mc.all, mc.all, 1, mc.all, 2 }]
      local r, s = four[{ mc.all, mc.all, 2, mc.all, 1 }], four[{ mc.all, mc.all, 2, mc.all, 2 }]
      local d = (mc.stack({ p - q + r - s, p + q - r - s, p - q - r + s }, 2) / 2):reshape(R, -1)
      out[#out + 1] = (d * d):sum(2) / (n * n + 1e-8)
      out[#out + 1] = d:mean(2)
      out[#out + 1] = d:std(2, { correction = 1 })
      a = (p + q + r + s) / 2
    end
  end
  local now = x
  for _ = 1, LEVELS do
    local n = now and now.shape[2] or 0
    if n < 2 then
      now = nil
      for _ = 1, 2 do out[#out + 1] = zero end
    else
      local small = pooled(blurred(now), 2)
      local w = stretch(n, small.shape[2], dtype)
      local d = (now - mc.matmul(mc.matmul(w, small), w.T)):reshape(R, -1)
      out[#out + 1] = (d * d):sum(2) / (n * n + 1e-8)
      out[#out + 1] = d:std(2, { correction = 1 })
      now = small
    end
  end
  return mc.stack(out, 2)
end

return M
