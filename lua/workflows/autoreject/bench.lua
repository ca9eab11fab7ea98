-- bench.lua - what `mascon bench autoreject` measures: 32 channels, 40 epochs of 250 samples, fit and repair.
local mc = require 'mascon'

local M = {}

local C, E, T = 32, 40, 250

M.about = ('rejection in %d channels and %d epochs of %d samples'):format(C, E, T)

--- Slow sources seen by all channels, noise, one cell in twenty ten times as loud.
local function epochs()
  local s = mc.cumsum(mc.randn({ E, 5, T }, { seed = 1 }), 3)
  local x = 2e-7 * mc.matmul(mc.randn({ C, 5 }, { seed = 2 }), s) + 3e-6 * mc.randn({ E, C, T }, { seed = 3 })
  x:mul_(mc.where(mc.rand({ E, C, 1 }, { seed = 4 }):gt(0.95), 10, 1))
  local k = mc.arange(0, C - 1):to 'f64'
  local height, turn = 1 - (k + 0.5) / C, 2.399963229728653 * k
  local ring = mc.sqrt(1 - height * height)
  local positions = 0.09 * mc.stack({ ring * mc.cos(turn), ring * mc.sin(turn), height }, 2)
  return mc.meeg.epochs.new { data = x, fs = 250, positions = positions }
end

--- Cases: name, how many units a call does and what they are called, make(device) -> the call.
M.cases = {
  { name = 'fit', amount = E, unit = 'epochs/s', make = function(device)
    local e = epochs()
    return function() return (mc.autoreject.fit(e, { random_state = 42, verbose = false, device = device })) end
  end },
  { name = 'repair', amount = E, unit = 'epochs/s', make = function(device)
    local e = epochs()
    local model = mc.autoreject.fit(e, { random_state = 42, verbose = false, device = device })
    return function() return (model:transform(e)) end
  end },
}

return M
