-- linear.lua - matrix products against one direct call of the same OpenBLAS, batched transforms against a direct loop
-- over FFTW.
--
-- Small M, odd K, tall and thin shapes as well as square ones; at all threads and at one. The direct call may cut the
-- product as it likes, ours cuts by shape. Holds shapes.
local mc = require 'mascon'
local limits = require 'limits'

local SHAPES = {
  { 1, 1024, 1024 }, { 4, 1024, 1024 }, { 8, 4096, 512 }, { 17, 333, 257 }, { 64, 64, 64 }, { 96, 96, 96 },
  { 128, 128, 128 }, { 192, 192, 192 }, { 256, 256, 256 }, { 512, 511, 512 }, { 1000, 1000, 1000 },
  { 1024, 1024, 1024 }, { 2048, 2048, 2048 }, { 288, 2048, 16 }, { 4096, 64, 64 },
}

local REST = 0.12 -- seconds that OpenBLAS's own threads spin on after a product (2^28 cycles)

local function products(bench)
  for _, s in ipairs(SHAPES) do
    local m, k, n = s[1], s[2], s[3]
    for _, dtype in ipairs { 'f32', 'f64' } do
      for _, threads in ipairs(bench.threads > 1 and { bench.threads, 1 } or { 1 }) do
        bench.case {
          name = ('matmul_%dx%dx%d_%s%s'):format(m, k, n, dtype, threads ~= bench.threads and '_t1' or ''),
          family = 'matmul', op = 'matmul', dtype = dtype,
          shape = ('%dx%dx%d'):format(m, k, n), threads = threads, work = { 2e-9 * m * n * k, 'GFLOP' },
          setup = function(t)
            local a, b = mc.randn({ m, k }, { dtype = dtype, seed = 1 }),
              mc.randn({ k, n }, { dtype = dtype, seed = 2 })
            local c, d = mc.zeros({ m, n }, { dtype = dtype }), mc.zeros({ m, n }, { dtype = dtype })
            local opts = { out = c }
            local direct = limits.gemm(t, d, a, b)
            return {
              run = function(times)
                for _ = 1, times do mc.matmul(a, b, opts) end
              end, limit = direct, limit_name = 'cblas', rest = t > 1 and REST or nil,
              check = function()
                direct(1)
                local scale = (dtype == 'f32' and 1e-6 or 1e-14) * k
                return mc.max(mc.abs(c - d)):item() <= scale, 'differs from the direct call'
              end,
            }
          end,
        }
      end
    end
  end
  bench.case { name = 'matmul_batch64_32x64x32_f32', family = 'matmul', op = 'matmul', dtype = 'f32',
    shape = '64x32x64x32', work = { 2e-9 * 64 * 32 * 64 * 32, 'GFLOP' }, setup = function(t)
      local a, b = mc.randn({ 64, 32, 64 }, { dtype = 'f32', seed = 1 }),
        mc.randn({ 64, 64, 32 }, { dtype = 'f32', seed = 2 })
      local c, d = mc.zeros({ 64, 32, 32 }, { dtype = 'f32' }), mc.zeros({ 64, 32, 32 }, { dtype = 'f32' })
      local opts = { out = c }
      local direct = limits.gemm_batch(t, d, a, b)
      return { run = function(n)
        for _ = 1, n do mc.matmul(a, b, opts) end
      end, limit = direct, limit_name = 'cblas loop', check = function()
        direct(1)
        return mc.max(mc.abs(c - d)):item() < 1e-4, 'differs from the direct calls'
      end }
    end }
end

local function transforms(bench)
  local function case(name, kind, rows, n, dtype)
    local flop = (kind == 'fft' and 5 or 2.5) * n * math.log(n) / math.log(2) * rows
    bench.case { name = name, family = 'fft', op = kind, dtype = dtype, shape = rows .. 'x' .. n,
      work = { flop / 1e9, 'GFLOP' }, setup = function(t)
        local real = dtype == 'c128' and 'f64' or 'f32'
        local x = mc.randn({ rows, n }, { dtype = real, seed = 1 })
        if kind == 'fft' then
          x = (x + mc.complex(0, 1) * mc.randn({ rows, n }, { dtype = real, seed = 2 })):to(dtype)
        end
        local half = n / 2 + 1
        local width = kind == 'rfft' and math.ceil(half / 8) * 8 or n
        local d = mc.zeros({ rows, width }, { dtype = dtype == 'c128' and 'c128' or 'c64' })
        local y = mc.zeros({ rows, kind == 'rfft' and half or n }, { dtype = d.dtype })
        local direct, drop = limits.fft(t, d, x)
        local f, opts = mc.fft[kind], { out = y }
        return {
          run = function(times)
            for _ = 1, times do f(x, opts) end
          end, limit = direct, limit_name = 'FFTW', close = drop,
          check = function()
            direct(1)
            local e = mc.max(mc.abs(y - d[{ mc.all, { 1, y.shape[2] } }])):item()
            return e <= (dtype == 'c128' and 1e-10 or 1e-2), 'differs from FFTW by ' .. e
          end,
        }
      end }
  end
  local function back(name, rows, n)
    bench.case { name = name, family = 'fft', op = 'irfft', dtype = 'f32', shape = rows .. 'x' .. n,
      work = { 2.5 * n * math.log(n) / math.log(2) * rows / 1e9, 'GFLOP' }, setup = function(t)
        local half = n / 2 + 1
        local wide = mc.zeros({ rows, math.ceil(half / 8) * 8 }, { dtype = 'c64' })
        local x = mc.fft.rfft(mc.randn({ rows, n }, { dtype = 'f32', seed = 1 }))
        wide[{ mc.all, { 1, half } }] = x
        local d, y = mc.zeros({ rows, n }, { dtype = 'f32' }), mc.zeros({ rows, n }, { dtype = 'f32' })
        local direct, drop = limits.fft(t, d, wide, n)
        local opts = { out = y, norm = 'forward' } -- unscaled, as FFTW leaves it
        return {
          run = function(times)
            for _ = 1, times do mc.fft.irfft(x, opts) end
          end, limit = direct, limit_name = 'FFTW', close = drop,
          check = function()
            direct(1)
            return mc.max(mc.abs(y - d)):item() <= 1e-2 * n, 'differs from FFTW'
          end,
        }
      end }
  end
  for _, n in ipairs { 2048, 3456 } do
    case(('fft_512x%d_c64'):format(n), 'fft', 512, n, 'c64')
    case(('rfft_512x%d_f32'):format(n), 'rfft', 512, n, 'f32')
    back(('irfft_512x%d_f32'):format(n), 512, n)
  end
  case('fft_64x4096_c128', 'fft', 64, 4096, 'c128')
  case('fft_1x1M_c64', 'fft', 1, 2 ^ 20, 'c64')
end

return function(bench)
  products(bench)
  transforms(bench)
end
