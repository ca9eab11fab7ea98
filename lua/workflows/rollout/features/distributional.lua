-- distributional.lua - 8 opt-in figures of how complex one state of one channel is.
--
-- The two figures named sample and approximate entropy are the stand-ins that the reference computes: autocorrelation
-- of 256 places along the rows, entropy of the spectrum of the rows one after the other. Source: spinlock,
-- features/summary/distributional.py.
local mc = require 'mascon'
local M = {}

M.NAMES = { 'sample_entropy', 'approximate_entropy', 'svd_entropy', 'participation_ratio', 'pca_compression_ratio',
  'multiscale_entropy_2', 'multiscale_entropy_4', 'multiscale_entropy_8' }

local PLACES = 256

local function entropy(p) return mc.clip(-(p * mc.log(p + 1e-8)):sum(2), 0, 10) end

--- Entropy of the power of a spectrum s [R, ...].
local function of_spectrum(s)
  local P = (mc.real(s) ^ 2 + mc.imag(s) ^ 2):reshape(s.shape[1], -1)
  return entropy(P / (P:sum(2, { keepdim = true }) + 1e-8))
end

--- Means of blocks of k x k places, what does not fill one left out: x [R, G, G].
function M.pooled(x, k)
  local R, n = x.shape[1], math.floor(x.shape[2] / k)
  return x[{ mc.all, { 1, n * k }, { 1, n * k } }]:reshape(R, n, k, n, k):mean { 3, 5 }
end

local function sample(flat)
  local n = flat.shape[2]
  if n > PLACES then
    local at = mc.floor_divide(mc.arange(0, PLACES - 1, 1, { dtype = 'i64' }) * (n - 1), PLACES - 1) + 1
    flat, n = mc.take(flat, at, 2), PLACES
  end
  local c = flat - flat:mean(2, { keepdim = true })
  local var = flat:var(2, { correction = 1 })
  local function at(lag)
    return ((c[{ mc.all, { 1, n - lag } }] * c[{ mc.all, { lag + 1, n } }]):mean(2) / (var + 1e-8)):abs()
  end
  local two, three = at(2), at(3)
  local there = mc.logical_and(mc.gt(two, 1e-6), mc.gt(three, 1e-6))
  return mc.where(there, mc.clip(-mc.log(mc.where(there, three, 1) / (two + 1e-8)), 0, 10), 0)
end

--- Columns of states x [R, G, G]: [R, 8].
function M.columns(x)
  local R, G, dtype = x.shape[1], x.shape[2], x.dtype
  local flat = x:reshape(R, -1)
  local s = mc.linalg.svdvals(x)
  local lam = s * s
  local square, sum = (lam * lam):sum(2), lam:sum(2)
  local some = mc.gt(square, 1e-8)
  local part = mc.cumsum(lam, 2) / (sum:reshape(R, 1) + 1e-8)
  local out = { sample(flat), of_spectrum(mc.fft.rfft(flat)), entropy(s / (s:sum(2, { keepdim = true }) + 1e-8)),
    mc.where(some, sum * sum / mc.where(some, square, 1) / G, 0), (mc.lt(part, 0.9):to(dtype):sum(2) + 1) / G }
  for _, k in ipairs { 2, 4, 8 } do
    out[#out + 1] = G >= k and of_spectrum(mc.fft.rfftn(M.pooled(x, k), { axes = { -2, -1 } }))
      or mc.zeros({ R }, { dtype = dtype })
  end
  for k, t in ipairs(out) do out[k] = t:to(dtype) end
  return mc.stack(out, 2)
end

return M
