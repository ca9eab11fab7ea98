-- generate.lua - a small set of epochs with known bad channels and bad epochs.
--
-- Holds one recipe, so that every program can make the same numbers: sums and products of SplitMix64 uniforms in a
-- stated order, no special function.
local mc = require 'mascon'
local splitmix = require 'mascon.array.splitmix'
local M = {}

local E, C, T = 30, 16, 50
local SEED = 20240607
local UNIFORMS = 2 * C + 12 * (E * 3 * T + E * C * T + (E - E / 3) * T)

--- Uniform numbers one by one, and g: twelve of them added up, minus 6.
local function stream()
  local list, at = splitmix.uniforms(UNIFORMS, { SEED })[1]:totable(), 0
  local function u()
    at = at + 1
    return list[at]
  end
  local function g()
    local sum = 0
    for _ = 1, 12 do sum = sum + u() end
    return sum - 6
  end
  return u, g
end

local function directions(u)
  local U = {}
  for c = 0, C - 1 do
    local i, j = math.floor(c / 4), c % 4
    local a = -0.75 + 0.5 * i + 0.2 * (u() - 0.5)
    local b = -0.75 + 0.5 * j + 0.2 * (u() - 0.5)
    local d = 1 + a * a + b * b
    U[c] = { 2 * a / d, 2 * b / d, (1 - a * a - b * b) / d }
  end
  return U
end

local function sources(g)
  local s = {}
  for e = 0, E - 1 do
    s[e] = {}
    for k = 1, 3 do
      local p, row = 0, {}
      for t = 0, T - 1 do
        p = 0.95 * p + 0.3 * g()
        row[t] = p
      end
      s[e][k] = row
    end
  end
  return s
end

local function add_artefacts(x, g)
  local function at(e, c, t) return (e * C + c) * T + t + 1 end
  local function add(e, c, t, v) x[at(e, c, t)] = x[at(e, c, t)] + v end
  for e = 0, E - 1 do
    for t = 0, T - 1 do
      if e % 3 ~= 0 then add(e, 5, t, 1e-6 * (40 * g())) end
    end
  end
  for _, e in ipairs { 7, 18 } do
    for c = 0, C - 1 do
      for t = 0, T - 1 do add(e, c, t, 1e-6 * (150 * (1 - math.abs(t - 25) / 25) * (1 + c / 16))) end
    end
  end
  for _, p in ipairs { { 3, 2 }, { 11, 3 }, { 20, 6 }, { 26, 5 } } do
    for i = 0, p[2] - 1 do
      for t = 0, T - 1 do add(p[1], (p[1] + 3 * i) % C, t, 1e-6 * ((80 + 10 * i) * t / 50)) end
    end
  end
end

--- S1: 30 epochs of 16 EEG channels, 50 samples at 250 Hz; three sources and noise, channel 6 broken in two epochs of
--- three, epochs 8 and 19 bad everywhere, channels of epochs 4, 12, 21 and 27 with a drift.
---     mc.autoreject.generate.s1().data.shape  --> {30, 16, 50}
---@return table set data f64 [E, C, T] V, fs Hz, positions f64 [C, 3] m, names
function M.s1()
  local u, g = stream()
  local U = directions(u)
  local s, x, position, names = sources(g), {}, {}, {}
  for e = 0, E - 1 do
    for c = 0, C - 1 do
      for t = 0, T - 1 do
        x[#x + 1] = 1e-6 * (20 * (U[c][1] * s[e][1][t] + U[c][2] * s[e][2][t] + U[c][3] * s[e][3][t]) + 3 * g())
      end
    end
  end
  add_artefacts(x, g)
  for c = 0, C - 1 do
    position[c + 1] = { 0.09 * U[c][1], 0.09 * U[c][2], 0.09 * U[c][3] }
    names[c + 1] = ('ch%02d'):format(c)
  end
  return { data = mc.tensor(x):reshape(E, C, T), fs = 250, positions = mc.tensor(position), names = names }
end

return M
