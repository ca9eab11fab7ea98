-- rollout.lua - the regenerable test set of the specification of rollouts (3.1): weights and states from SplitMix64.
local mc = require 'mascon'
local splitmix = require 'mascon.array.splitmix'
local operator = require 'workflows.rollout.operator'
local roll = require 'workflows.rollout.roll'
local M = {}

--- The first n numbers 2u - 1 of a seed, u of 24 bits: f64 [n].
function M.values(n, seed)
  local words = splitmix.words(n, { seed })[1]
  local u = mc.bitwise_and(mc.bitwise_right_shift(words, 40), 2 ^ 24 - 1):to 'f64' * 2 ^ -24
  return 2 * u - 1
end

--- Weights of an architecture from a seed (1001): v 2^-e with the least e such that 4^e is the fan or more.
function M.weights(arch, dtype, seed)
  local layers, total, out = operator.layers(arch), 0, {}
  local function size(l)
    return l.part == 'spectral' and 2 * l.cin * l.cout * l.rows * l.columns
      or l.cout * l.cin * l.k * l.k + (l.bias and l.cout or 0)
  end
  for _, l in ipairs(layers) do total = total + size(l) end
  local v, at = M.values(total, seed or 1001), 0
  local function take(shape, fan)
    local e, n = 0, 1
    while 4 ^ e < fan do e = e + 1 end
    for _, k in ipairs(shape) do n = n * k end
    at = at + n
    return (v[{ { at - n + 1, at } }] * 2 ^ -e):reshape(unpack(shape)):to(dtype)
  end
  for i, l in ipairs(layers) do
    if l.part == 'spectral' then
      local shape = { l.cin, l.cout, l.rows, l.columns }
      local re = take(shape, l.cin)
      out[i] = { mix = require 'workflows.rollout.operator.u_afno'.mixing(re, take(shape, l.cin)) }
    else
      local fan = l.cin * l.k * l.k
      out[i] = { w = take({ l.cout, l.cin, l.k, l.k }, fan) }
      if l.bias then out[i].b = take({ l.cout }, fan) end
    end
  end
  return out
end

--- X_0: f64 [3, 16, 16] from seed 2001.
function M.input(seed) return M.values(768, seed or 2001):reshape(3, 16, 16) end

--- An architecture of the set.
function M.arch(layers, base, kernel, norm, activation)
  return { channels = 3, layers = layers, base = base, kernel = kernel, norm = norm, activation = activation,
    gelu = 'exact', groups = 32, padding_mode = 'zeros', grid = 16, noise = 'none', scale = 0 }
end

--- States X_0 .. X_T of a case, each [1, 3, 16, 16].
function M.states(arch, policy, T, dtype)
  local apply, out = operator.build(arch, M.weights(arch, dtype)), {}
  policy.dt, policy.alpha = 0.1, 0.7
  roll.run({ apply = apply, policy = policy, x0 = M.input():to(dtype), realisations = 1, steps = T + 1,
    divergence = 1e6 }, function(t, x) out[t] = mc.keep(x:copy()) end)
  return out
end

return M
