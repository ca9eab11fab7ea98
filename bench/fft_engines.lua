-- fft_engines.lua - our transform beside FFTW, one core, best of six: the measurement behind mci_fft_own_suits
-- (runtime/device/mc_fft_own.c).
--
-- usage: mascon bench/fft_engines.lua    (prints kind, dtype, length, rows, time of ours over that of FFTW, time of
-- FFTW in us; two minutes)
local mc = require "mascon"
mc.set_num_threads(1)
local function clock() return os.clock() end
local sizes = {}
for k = 2, 20 do sizes[#sizes+1] = 2^k end
for _, n in ipairs{3,5,6,7,9,10,12,15,18,20,24,30,36,45,48,60,72,75,81,90,96,100,120,125,144,150,180,192,200,240,250,
  256*3,300,360,384,400,480,500,512*5,600,625,720,729,1000,1200,1536,2000,2187,2400,3000,3125,3600,4000,5000,6000,6144,
  8000,10000,12288,16000,20000,30000,50000,65536*3,100000,
 11,13,22,26,33,77,91,121,143,169,242,338,1001,1331,2197, 14,21,28,35,42,49,56,63,98,196,343,686,1372,2401,4802,
 17,19,23,29,31,37,41,43,47,53,59,61,67,71,73,79,83,97,101,127,131,251,257,509,521,1009,1021,1031,2039,2047,2053,4093,
 4099,8191,8209,16381,10007,34,46,62,94,134,202,254,502,1018,2018,2046,4094,89*4,89*16,101*10} do
  sizes[#sizes+1] = n
end
table.sort(sizes)
local kinds = { {"rfft","f32"}, {"fft","c64"}, {"rfft","f64"}, {"fft","c128"}, {"irfft","c64"} , {"irfft","c128"} }
for _, k in ipairs(kinds) do
  for _, n in ipairs(sizes) do
    local rows = math.max(1, math.min(512, math.floor(32768 / n)))
    local x
    if k[1] == "rfft" then x = mc.randn{rows, n, seed=1}:to(k[2])
    else x = mc.complex(mc.randn{rows, k[1]=="irfft" and math.floor(n/2)+1 or n, seed=1}, 0.5):to(k[2]) end
    local f = mc.fft[k[1]]
    local run = k[1]=="irfft" and function(o) return f(x, {n=n, out=o}) end or function(o) return f(x, {out=o}) end
    local best = {}
    local out = k[1]=="irfft" and f(x,{n=n}) or f(x)
    for pass = 1, 6 do
      for _, e in ipairs{"mascon","fftw"} do
        mc.fft.config(e)
        run(out)
        local reps, t = 1
        while true do
          local t0 = clock()
          for _ = 1, reps do run(out) end
          t = clock() - t0
          if t > 4e-4 then break end
          reps = reps * 2
        end
        best[e] = math.min(best[e] or 1e9, t / reps)
      end
    end
    print(k[1], k[2], n, rows, ("%.3f"):format(best.mascon / best.fftw), ("%.3g"):format(best.fftw*1e6))
  end
end
