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

--- Weights of an architecture from seed 1001.
function M.weights(arch, dtype)
  local layers, total = operator.layers(arch), 0
  for _, l in ipairs(layers) do total = total + l.cout * l.cin * l.k * l.k + (l.bias and l.cout or 0) end
  local v, at, out = M.values(total, 1001), 0, {}
  for i, l in ipairs(layers) do
    local e = 0
    while 4 ^ e < l.cin * l.k * l.k do e = e + 1 end
    local n = l.cout * l.cin * l.k * l.k
    out[i] = { w = (v[{ { at + 1, at + n } }] * 2 ^ -e):reshape(l.cout, l.cin, l.k, l.k):to(dtype) }
    at = at + n
    if l.bias then
      out[i].b = (v[{ { at + 1, at + l.cout } }] * 2 ^ -e):to(dtype)
      at = at + l.cout
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
