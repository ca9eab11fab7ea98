-- operator.lua - the convolutional operator of a row: its layers, its weights, and one application to states.
--
-- States are [B, C, G, G]. Block = convolution, normalisation, activation; up to three layers are Blocks, more are
-- residual units of two. Source: specification of rollouts, 2.1 to 2.4.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local hold = require 'mascon.core.tensor'.outlive
local streams = require 'workflows.rollout.streams'
local error = check.error
local M = {}

M.NORMS = { 'instance', 'group', 'layer', 'batch', 'none' }
M.ACTIVATIONS = { 'relu', 'gelu', 'silu', 'swish', 'tanh', 'none' }
M.NOISES = { 'gaussian', 'multiplicative', 'laplace', 'dropout', 'none' }
M.SCHEDULES = { 'constant', 'annealing', 'periodic' }
local EPS = 1e-5

local function member(what, v, list)
  for _, c in ipairs(list) do if c == v then return v end end
  local near = type(v) == 'string' and check.nearest(v, list)
  error(('%s is %s; choose %s%s'):format(what, check.show(v), table.concat(list, ', '),
    near and (' (did you mean %s?)'):format(near) or ''), 0)
end

--- The architecture that values of the space and the simulation ask for, checked.
---@param values table of space.values
---@param sim table section simulation
---@return table
function M.architecture(values, sim)
  local a, s, o = values.architecture, values.stochastic, values.operator
  local arch = {
    channels = sim.channels, layers = a.num_layers or 4, base = a.base_channels or 32, kernel = a.kernel_size or 3,
      activation = member('activation', a.activation or 'gelu', M.ACTIVATIONS),
    norm = member('normalization', o.normalization or 'instance', M.NORMS), grid = o.grid_size or 64, gelu = sim.gelu,
      groups = a.num_groups or o.num_groups or sim.num_groups,
    padding_mode = member('padding_mode', a.padding_mode or o.padding_mode or sim.padding_mode, { 'zeros',
      'circular' }), dropout_rate = a.dropout_rate or 0,
    noise = member('noise_type', s.noise_type or 'gaussian', M.NOISES), scale = s.noise_scale or 0,
      schedule = member('noise_schedule', s.noise_schedule or 'constant', M.SCHEDULES),
    period = s.period or 100, correlation = s.spatial_correlation or 0,
  }
  local function whole(what, v, low)
    if type(v) ~= 'number' or v % 1 ~= 0 or v < low then
      error(('%s is %s; it must be a whole number from %d'):format(what, check.show(v), low), 0) end
  end
  whole('num_layers', arch.layers, 1)
  whole('base_channels', arch.base, 1)
  whole('kernel_size', arch.kernel, 1)
  whole('grid_size', arch.grid, 4)
  if arch.kernel % 2 == 0 then
    error(('kernel_size is %d; an even kernel would make the field grow, give an odd one'):format(arch.kernel), 0) end
  return arch
end

--- The layers in the order of evaluation: { cin, cout, k, bias, unit, part } with part first, second, projection or
--- nil.
function M.layers(arch)
  local list, bias = {}, arch.norm == 'none'
  local function add(cin, cout, k, with, part) list[#list + 1] = { cin = cin, cout = cout, k = k, bias = with,
    part = part } end
  add(arch.channels, arch.base, arch.kernel, bias, 'block')
  local cin = arch.base
  for i = 0, arch.layers - 1 do
    local cout = arch.base * 2 ^ math.min(i, 2)
    if arch.layers <= 3 then add(cin, cout, arch.kernel, bias, 'block')
    else
      add(cin, cout, arch.kernel, bias, 'first')
      add(cout, cout, arch.kernel, bias, 'second')
      if cin ~= cout then add(cin, cout, 1, false, 'projection') end
    end
    cin = cout
  end
  add(cin, arch.channels, 1, true, 'output')
  return list
end

--- Number of weights, biases and the affine pairs of normalisations.
---     mc.rollout.operator.parameters{ channels = 3, layers = 4, base = 64, kernel = 3, norm = 'none' }  --> 2404227
function M.parameters(arch)
  local n = 0
  for _, l in ipairs(M.layers(arch)) do
    n = n + l.cout * l.cin * l.k * l.k + (l.bias and l.cout or 0)
    if l.part ~= 'projection' and l.part ~= 'output' and arch.norm ~= 'none' then n = n + 2 * l.cout end
  end
  return n
end

--- Multiplications and additions of one application to one state.
function M.flops(arch)
  local n = 0
  for _, l in ipairs(M.layers(arch)) do n = n + 2 * l.cin * l.cout * l.k * l.k end
  return n * arch.grid * arch.grid
end

--- Weights of the operator of a row, uniform in +-1/sqrt(cin k k).
---@param arch table
---@param seed integer
---@param index integer row, from 0
---@param dtype? string default f32
function M.weights(arch, seed, index, dtype)
  local source, out = streams.source(seed, index, 'weights'), {}
  for i, l in ipairs(M.layers(arch)) do
    local bound = 1 / math.sqrt(l.cin * l.k * l.k)
    out[i] = { w = source:uniform({ l.cout, l.cin, l.k, l.k }, -bound, bound):to(dtype or 'f32') }
    local b = source:uniform({ l.cout }, -bound, bound) -- drawn for every layer, so that a bias moves no other weight
    if l.bias then out[i].b = b:to(dtype or 'f32') end
  end
  return out
end

-- ---------------------------------------------------------------- one application

local function normalise(arch, x)
  local B, C, H, W = x.shape[1], x.shape[2], x.shape[3], x.shape[4]
  local groups = arch.norm == 'instance' and C or arch.norm == 'layer' and 1
  if arch.norm == 'none' then return x end
  if arch.norm == 'batch' then return x * (1 / math.sqrt(1 + EPS)) end
  if not groups then
    groups = math.min(arch.groups, C)
    while C % groups ~= 0 do groups = groups - 1 end
  end
  local y = x:reshape(B * groups, -1)
  local mean = y:mean(2, { keepdim = true })
  local var = y:var(2, { keepdim = true })
  return ((y - mean) / (var + EPS):sqrt()):reshape(B, C, H, W)
end

local function activate(arch, x)
  local a = arch.activation
  if a == 'relu' then return mc.maximum(x, 0) end
  if a == 'tanh' then return mc.tanh(x) end
  if a == 'silu' or a == 'swish' then return x / (1 + mc.exp(-x)) end
  if a == 'gelu' then
    if arch.gelu == 'tanh' then return 0.5 * x * (1 + mc.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))) end
    return 0.5 * x * (1 + mc.special.erf(x * math.sqrt(0.5)))
  end
  return x
end

local function convolve(arch, x, layer, p)
  return mc.nn.conv2d(x, p.w, { bias = p.b, padding = math.floor(layer.k / 2), padding_mode = arch.padding_mode })
end

--- The scale of the noise at step t of T.
function M.scale(arch, t, T)
  local s = arch.scale
  if arch.schedule == 'annealing' then return s * (1 - math.min(t / T, 1)) end
  if arch.schedule == 'periodic' then return s * (1 + 0.5 * math.sin(2 * math.pi * t / arch.period)) end
  return s
end

local filters = setmetatable({}, { __mode = 'k' }) -- by architecture, as long as that is used
--- exp(-(k c G)^2 / 2) on the half plane, k in cycles per pixel.
local function filter(arch)
  if not filters[arch] then
    local G, c = arch.grid, arch.correlation
    local half = math.floor(G / 2) + 1
    local rows = mc.arange(0, G - 1)
    local ky = mc.where(mc.gt(rows, G / 2), rows - G, rows):reshape(G, 1) / G
    local kx = mc.arange(0, half - 1):reshape(1, half) / G
    filters[arch] = hold(mc.exp(-(kx * kx + ky * ky) * (c * G) ^ 2 / 2))
  end
  return filters[arch]
end

--- Noise of a law with the correlation that the architecture asks for: [channels, G, G].
local function field(arch, source, channels, law)
  local G = arch.grid
  local n = law == 'laplace' and source:exponential { channels, G, G } * mc.where(mc.lt(source:uniform { channels, G,
    G }, 0.5), -1, 1) or source:normal { channels, G, G }
  if arch.correlation > 0 then
    n = mc.fft.irfftn(mc.fft.rfftn(n, { axes = { -2, -1 } }) * filter(arch), { axes = { -2, -1 },
      s = { G, G } })
    n = n / (n:reshape(-1):std():item() + 1e-8)
  end
  return n
end

--- The network as a function: apply(x, sources, t, T) with x [B, C, G, G] and a source of noise per state (nil: no
--- noise).
---@param arch table
---@param weights table of M.weights
---@return fun(x: mascon.Tensor, sources?: table, t?: integer, T?: integer): mascon.Tensor
function M.build(arch, weights)
  local layers = M.layers(arch)
  local last = weights[#layers]
  -- lower triangle L with L L' = W W' of the output layer: noise of as many channels as the state has, of the same law
  local mix
  local function output_mix()
    if not mix then
      local w = last.w:reshape(last.w.shape[1], -1):to 'f64'
      mix = mc.linalg.cholesky(mc.matmul(w, w.T) + 1e-300 * mc.eye(w.shape[1]))
    end
    return mix
  end
  local function noise_on(h, sources, t, T)
    local s = M.scale(arch, t, T)
    local parts = {}
    for b, source in ipairs(sources) do
      local one = h[{ { b, b } }]
      local C, G = h.shape[2], arch.grid
      if arch.noise == 'dropout' then
        local kept = mc.ge(source:uniform { 1, C, 1, 1 }, s)
        parts[b] = one * (kept:to(h.dtype) / (1 - s))
      else
        local n = field(arch, source, C, arch.noise):reshape(1, C, G, G):to(h.dtype)
        parts[b] = arch.noise == 'multiplicative' and one * (1 + s * n) or one + s * n
      end
    end
    return mc.concat(parts, 1)
  end
  local function gaussian_output(y, sources, t, T)
    local s, C, G = M.scale(arch, t, T), arch.channels, arch.grid
    local parts = {}
    for b, source in ipairs(sources) do parts[b] = mc.matmul(output_mix(), field(arch, source, C,
      'gaussian'):reshape(C, -1)):reshape(1, C, G, G) end
    return y + (s * mc.concat(parts, 1)):to(y.dtype)
  end
  return function(x, sources, t, T)
    local noisy = sources and arch.noise ~= 'none' and arch.scale > 0
    if noisy and arch.noise == 'dropout' and M.scale(arch, t, T) >= 1 then
      error('noise_scale of dropout is 1 or more: nothing would be left', 0) end
    local h
    local i = 1
    while i < #layers do
      local l = layers[i]
      if l.part == 'block' then h = activate(arch, normalise(arch, convolve(arch, h or x, l, weights[i])))
      elseif l.part == 'first' then
        local skip = h
        h = activate(arch, normalise(arch, convolve(arch, h, l, weights[i])))
        i = i + 1
        h = activate(arch, normalise(arch, convolve(arch, h, layers[i], weights[i])))
        if layers[i + 1].part == 'projection' then
          i = i + 1
          skip = convolve(arch, skip, layers[i], weights[i])
        end
        h = h + skip
      end
      i = i + 1
    end
    if noisy and arch.noise ~= 'gaussian' then h = noise_on(h, sources, t, T) end
    local y = convolve(arch, h, layers[#layers], last)
    if noisy and arch.noise == 'gaussian' then y = gaussian_output(y, sources, t, T) end
    return y
  end
end

return M
