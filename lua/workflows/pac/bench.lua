-- bench.lua - what `mascon bench pac` measures: rows of 2048 samples, 16 x 16 bands, alone and with surrogates.
local mc = require 'mascon'

local M = {}

local ROWS, T, FS = 16, 2048, 512

M.about = ('coupling of %d rows of %d samples, f32, 16 x 16 bands'):format(ROWS, T)

local function bands(from, to, n, width)
  local list = {}
  for i = 1, n do
    local c = from + (i - 1) * (to - from) / (n - 1)
    list[i] = { math.max(from, c * (1 - width)), math.min(to, c * (1 + width)) }
  end
  return mc.tensor(list)
end

--- A function that computes the maps of all rows.
local function job(more)
  return function(device)
    local t = mc.arange(0, T - 1) / FS
    local slow = mc.sin(2 * math.pi * 6 * t + mc.cumsum(mc.randn({ ROWS, T }, { seed = 1 }) * 0.1, 2))
    local x = (slow + (1 + slow) * mc.sin(2 * math.pi * 80 * t) + mc.randn({ ROWS, T }, { seed = 2 })):to 'f32'
    local o = { fs = FS, pha_bands_hz = bands(2, 30, 16, 0.25), amp_bands_hz = bands(30, 230, 16, 0.125),
      min_shift = 1, device = device }
    for k, v in pairs(more) do o[k] = v end
    local plan = mc.pac.plan(T, o)
    return function() return plan:run(x) end
  end
end

--- Cases: name, how many units a call does and what they are called, make(device) -> the call.
M.cases = {
  { name = 'maps', amount = ROWS, unit = 'rows/s', make = job {} },
  { name = 'maps, 200 shifts', amount = ROWS, unit = 'rows/s', make = job { n_perm = 200 } },
  { name = 'maps, all shifts', amount = ROWS, unit = 'rows/s', make = job { surrogate = 'exhaustive' } },
}

return M
