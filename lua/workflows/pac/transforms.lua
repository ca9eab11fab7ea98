-- transforms.lua - Fourier transforms that several stages of coupling share.
local mc = require 'mascon'
local fft = require 'mascon.fft'
local M = {}

--- Length of the transforms that correlate rows of L samples: L itself where it has small factors, else a padded one
--- (measured: the prime 4001 takes far longer than the padded 8100).
function M.correlation_length(L)
  local rest = L
  for _, f in ipairs { 2, 3, 5, 7, 11, 13 } do
    while rest % f == 0 do rest = rest / f end
  end
  return rest == 1 and L or fft.next_fast_len(2 * L - 1)
end

--- Analytic signal of real rows by an n-point transform, the first T points kept.
function M.hilbert(x, n)
  local T = x.shape[x.ndim]
  local Z = fft.fft(x, { n = n })
  local g = mc.zeros({ n }, { device = x.device })
  g[1] = 1
  if n % 2 == 0 then
    g[n / 2 + 1] = 1
    if n > 2 then g[{ { 2, n / 2 } }] = 2 end
  elseif n > 1 then g[{ { 2, (n + 1) / 2 } }] = 2 end
  return fft.ifft(Z * g)['..., 1:' .. T]
end

return M
