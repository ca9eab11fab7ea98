-- noise.lua - random fields given by their spectrum, and the helpers that other kinds build on.
local mc = require 'mascon'
local leaves = require 'workflows.rollout.leaf'
local num, choice = leaves.num, leaves.one
local M, H = {}, {}
local POSITIVE = { above = 0 }

--- Signed frequencies of a grid as whole numbers: rows [G, 1] and columns [1, G].
function H.modes(G)
  local k = mc.arange(0, G - 1)
  k = mc.where(mc.ge(k, G / 2), k - G, k)
  return k:reshape(G, 1), k:reshape(1, G)
end

--- Pixel coordinates: y [G, 1], x [1, G], from 0.
function H.pixels(G)
  local k = mc.arange(0, G - 1)
  return k:reshape(G, 1), k:reshape(1, G)
end

--- A field that is made in pieces: f(what there is so far, k) for k = 1 .. n. Only the last result stays in memory,
--- and `start` where it is given.
---@param n integer
---@param f fun(before: mascon.Tensor?, k: integer): mascon.Tensor
---@param start? mascon.Tensor
function H.fold(n, f, start)
  local sum = start
  for k = 1, n do
    local before = sum
    sum = mc.scope(function() return f(before, k) end)
    if before and before ~= start then before:release() end
  end
  return sum
end

--- The sum of f(1) .. f(n); see fold.
function H.sum(n, f)
  return H.fold(n, function(sum, k)
    local one = f(k)
    return sum and sum + one or one
  end)
end

--- A field of standard deviation `sd` whose power per mode is proportional to `power` [G, G]: [n, G, G].
function H.spectral(source, n, G, power, sd)
  local p = power / power:sum()
  local z = mc.complex(source:normal { n, G, G }, source:normal { n, G, G }) * math.sqrt(0.5)
  return mc.real(mc.fft.ifftn(z * p:sqrt(), { axes = { -2, -1 } })) * (G * G * math.sqrt(2) * sd)
end

--- A Gaussian random field of correlation exp(-r^2 / 2 l^2), l as a share of the domain.
function H.grf(source, n, G, length, variance)
  local my, mx = H.modes(G)
  return H.spectral(source, n, G, mc.exp(-(2 * math.pi * length) ^ 2 * (my * my + mx * mx) / 2), math.sqrt(variance))
end

--- Scales a field by its largest magnitude.
function H.by_largest(x)
  local most = x:abs():max():item()
  return most > 0 and x / most or x
end

--- Scales a field linearly onto [0, 1].
function H.unit(x)
  local low, high = x:min():item(), x:max():item()
  return high > low and (x - low) / (high - low) or x * 0
end

M.random = { function(s, C, G, o)
  if o.distribution == 'uniform' then return s:uniform({ C, G, G }, -1, 1) * math.sqrt(3 * o.variance) end
  return s:normal { C, G, G } * math.sqrt(o.variance)
end, { distribution = choice('gaussian', 'gaussian', 'uniform'), variance = num(1, POSITIVE) } }

M.gaussian_random_field = { function(s, C, G, o) return H.grf(s, C, G, o.length_scale, o.variance) end,
  { length_scale = num(0.1, { above = 0, high = 1 }), variance = num(1, POSITIVE) } }

M.multiscale_grf = { function(s, C, G, o)
  return H.sum(#o.scales, function(k) return H.grf(s, C, G, o.scales[k], o.variance / #o.scales) end)
end, { scales = leaves.numbers({ 0.02, 0.05, 0.1, 0.2, 0.4 }, { above = 0, high = 1 }), variance = num(1, POSITIVE) } }

M.heavy_tailed = { function(s, C, G, o)
  local my, mx = H.modes(G)
  local r2 = my * my + mx * mx
  local power = mc.where(mc.eq(r2, 0), 0, mc.where(mc.eq(r2, 0), 1, r2) ^ (-o.alpha / 2))
  return H.spectral(s, C, G, power, math.sqrt(o.variance))
end, { alpha = num(1.5, { low = 0 }), variance = num(1, POSITIVE) } }

M.critical_fluctuation = { function(s, C, G, o)
  local my, mx = H.modes(G)
  local k2 = (2 * math.pi / G) ^ 2 * (my * my + mx * mx)
  return H.spectral(s, C, G, (k2 + 1 / o.xi ^ 2) ^ (-(1 - o.eta / 2)), 1)
end, { xi = num(15, POSITIVE), eta = num(0.04, { low = 0, below = 2 }) } }

M.light_cone = { function(s, C, G, o)
  local y, x = H.pixels(G)
  local r = ((x - G / 2) ^ 2 + (y - G / 2) ^ 2):sqrt()
  return H.grf(s, C, G, o.correlation / G, 1) / (1 + mc.exp(-(o.radius - r) / 2))
end, { radius = num(20, POSITIVE), correlation = num(5, POSITIVE) } }

M.shannon_entropy = { function(s, C, G, o)
  local y, x = H.pixels(G)
  local h
  local pattern = o.pattern == 'mixed' and ({ 'gradient', 'patches', 'random' })[s:integer(1, 3)] or o.pattern
  if pattern == 'gradient' then h = 0.1 + 0.9 * x / (G - 1) + 0 * y
  elseif pattern == 'patches' then
    local side = math.max(1, math.floor(G / 8))
    local n = math.ceil(G / side)
    local values = s:uniform({ n, n }, 0.1, 1)
    h = mc.repeat_each(mc.repeat_each(values, side, 1), side, 2)[{ { 1, G }, { 1, G } }]
  else h = s:uniform({ G, G }, 0.1, 1) end
  return H.grf(s, C, G, 0.2, 0.5) + s:normal { C, G, G } * mc.exp(h)
end, { pattern = choice('mixed', 'gradient', 'patches', 'random', 'mixed') } }

M.mutual_information = { function(s, C, G, o)
  local latent = H.grf(s, 1, G, 0.1, 1)
  local noise = s:normal { C, G, G }
  if C < 2 then return noise end
  local both = o.share * latent + math.sqrt(1 - o.share ^ 2) * noise[{ { 1, 2 } }]
  return C > 2 and mc.concat({ both, noise[{ { 3, C } }] }, 1) or both
end, { share = num(0.5, { low = 0, high = 1 }) } }

return setmetatable(M, { __index = H })
