-- operator.lua - the operator of a row: its layers, its weights, and one application to states.
--
-- States are [B, C, G, G]. The networks stand in operator/, noise stands here. Source: specification of rollouts, 2.1
-- to 2.4.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local hold = require 'mascon.core.tensor'.outlive
local streams = require 'workflows.rollout.streams'
local parameters = require 'workflows.rollout.parameters'
local block = require 'workflows.rollout.operator.block'
local networks = require 'workflows.rollout.networks'
local user = require 'workflows.rollout.own'
local error = check.error
local M = {}

M.STORAGE = { 'float32', 'float16', 'bfloat16' } -- of tensors between layers
local STORAGE = { float16 = 'f16', bfloat16 = 'bf16' }

local OWN = { flops = { nil, 'function' }, compile = { false, 'bool' } }

local function network(arch) return networks.module(arch.type) end

--- The entry of an operator that a script registered.
local function mine_of(arch)
  local entry = networks.of(arch.type)
  return entry.own and entry or nil
end

--- The architecture that values of the space and the simulation ask for, checked.
---@param values table of space.values
---@param sim table section simulation
---@return table
function M.architecture(values, sim)
  local a, s, o = values.architecture, values.stochastic, values.operator
  for section, own in pairs(values) do parameters.refuse(section, own) end
  local default = parameters.default
  local arch = {
    channels = sim.channels, layers = a.num_layers or default('architecture', 'num_layers'),
    base = a.base_channels or default('architecture', 'base_channels'),
    kernel = a.kernel_size or default('architecture', 'kernel_size'),
    activation = a.activation or default('architecture', 'activation'),
    norm = o.normalization or a.normalization or default('operator', 'normalization'),
    grid = o.grid_size or default('operator', 'grid_size'), gelu = sim.gelu,
    groups = a.num_groups or o.num_groups or sim.num_groups,
    padding_mode = a.padding_mode or o.padding_mode or sim.padding_mode,
    dropout_rate = a.dropout_rate or default('architecture', 'dropout_rate'),
    noise = s.noise_type or default('stochastic', 'noise_type'),
    scale = s.noise_scale or default('stochastic', 'noise_scale'),
    schedule = s.noise_schedule or default('stochastic', 'noise_schedule'),
    period = s.period or s.schedule_period or default('stochastic', 'period'),
    correlation = s.spatial_correlation or default('stochastic', 'spatial_correlation'),
    type = sim.operator_type or networks.DEFAULT, own = values.own, storage = STORAGE[sim.storage],
  }
  local section = networks.of(arch.type).section
  if section then
    local own = {}
    arch[section] = own
    for _, k in ipairs(parameters.NAMES[section]) do
      own[k] = (values[section] or {})[k] or a[k] or default(section, k)
    end
    network(arch).check(arch)
  end
  return arch
end

--- Adds a type of operator of one's own: simulation.operator_type names it, its parameters stand in section `own` of
--- the parameter space.
---
--- build(arch, source, dtype) is called once for a row: arch.own holds the values of the section, arch.grid and
--- arch.channels the sizes, source gives its random numbers (uniform, normal, number, integer). It returns
--- f(x, t) -> O(x) on states x [B, C, G, G].
---@param name string
---@param build fun(arch: table, source: table, dtype: string): function
---@param opts? table flops: f(arch) gives the operations of one application to one state, for plans (0) · compile
--- (false): f is compiled (mc.compile), with the same bits; it must not read values, nor draw numbers
function M.register(name, build, opts)
  local o = check.opts('rollout.operator.register', type(opts) == 'function' and { flops = opts } or opts, OWN, 3)
  if type(name) ~= 'string' or not name:find '^%a[%w_]*$' or type(build) ~= 'function' then
    error('rollout.operator.register: give a name and a function(arch, source, dtype)', 2) end
  if networks.of(name) then
    error(('rollout.operator.register: there is an operator %s already'):format(name), 2) end
  networks.add(name, { name = name, build = build, flops = o.flops, compile = o.compile })
end

--- The layers in the order of evaluation: { cin, cout, k, bias, part, grid }, as operator/cnn.lua and
--- operator/u_afno.lua say; none for own operators.
function M.layers(arch) return mine_of(arch) and {} or network(arch).layers(arch) end

--- Number of weights, biases and the affine pairs of normalisations.
---     mc.rollout.operator.parameters{ channels = 3, layers = 4, base = 64, kernel = 3, norm = 'none' }  --> 2404227
function M.parameters(arch)
  local n, affine = 0, { block = true, first = true, second = true, down = true, up = true }
  for _, l in ipairs(M.layers(arch)) do
    if l.part == 'spectral' then n = n + 2 * l.cin * l.cout * l.rows * l.columns + 4 * l.cin
    else
      n = n + l.cout * l.cin * l.k * l.k + (l.bias and l.cout or 0)
      if affine[l.part] and arch.norm ~= 'none' then n = n + 2 * l.cout end
    end
  end
  return n
end

--- Multiplications and additions of one application to one state.
function M.flops(arch)
  local mine, n = mine_of(arch), 0
  if mine then
    local v = mine.flops and user.call('operator ' .. mine.name, mine.flops, nil, arch) or 0
    if type(v) ~= 'number' or not (v >= 0) then
      user.refuse('operator ' .. mine.name, mine.flops, v, 'a number of operations, from 0')
    end
    return v
  end
  for _, l in ipairs(M.layers(arch)) do
    if l.part == 'spectral' then
      n = n + 8 * l.cin * l.cout * l.rows * l.columns + 10 * l.cin * l.grid ^ 2 * math.log(l.grid) / math.log(2)
    else n = n + 2 * l.cin * l.cout * l.k * l.k * (l.grid / (l.stride or 1)) ^ 2 end
  end
  return n
end

--- A tensor of one element that is seen as many.
local function header(shape) return mc.broadcast_to(mc.zeros({ 1 }, { dtype = 'f32' }), shape) end

--- How the processor computes the convolutions of operators side by side: for each layer the way in words, and the
--- bytes that it takes beside operands and result.
---     mc.rollout.operator.ways({ channels = 3, layers = 2, base = 16, kernel = 3, grid = 64 })[3].way
---       --> Winograd's tiles of 4 x 4
---@param arch table
---@param operators? integer with one key (1)
---@param states? integer of each (1)
---@return table[] { way, bytes } by layer
function M.ways(arch, operators, states)
  local n, out = operators or 1, {}
  for i, l in ipairs(M.layers(arch)) do
    if l.part == 'spectral' then out[i] = { way = 'products at the modes', bytes = 0 }
    else
      local function of(...) return header(n > 1 and { n, ... } or { ... }) end
      local way, bytes = mc.nn.conv2d_way(of(states or 1, l.cin, l.grid, l.grid), of(l.cout, l.cin, l.k, l.k),
        { padding = math.floor(l.k / 2), stride = l.stride or 1, padding_mode = arch.padding_mode })
      out[i] = { way = way, bytes = bytes }
    end
  end
  return out
end

--- Lines on how each layer of an operator is computed.
---@param arch table
---@param operators? integer as ways
---@param states? integer
---@return string[]
function M.explain(arch, operators, states)
  local ways, out = M.ways(arch, operators, states), {}
  for i, l in ipairs(M.layers(arch)) do
    local w = ways[i]
    out[i] = ('%-10s %3d -> %3d channels, %d x %d taps, %d x %d: %s%s'):format(l.part, l.cin, l.cout, l.k or 1,
      l.k or 1, l.grid, l.grid, w.way, w.bytes > 0 and ', ' .. mc.text.bytes(w.bytes) .. ' beside it' or '')
  end
  return out
end

--- Bytes that operators of one key take while they are rolled out side by side: weights, the widest layer with what
--- its convolution needs, states.
---@param arch table
---@param operators? integer
---@param states? integer
---@return number bytes
---@return number work those of them that are free between steps
function M.bytes(arch, operators, states)
  local n, B = operators or 1, states or 1
  local weights, largest, widest = 4 * n * M.parameters(arch), 0, 0
  if mine_of(arch) then return 0, 0 end
  local ways = M.ways(arch, n, B)
  for i, l in ipairs(M.layers(arch)) do
    local each = 4 * n * B * (l.grid / (l.stride or 1)) ^ 2
    widest = math.max(widest, each * (l.cin + 2 * l.cout) + ways[i].bytes)
    largest = math.max(largest, 12 * l.cin * l.cout * (l.k or 1) ^ 2) -- while it is drawn in f64
  end
  local list, state = M.layers(arch), 4 * n * B * arch.grid ^ 2 -- of one channel
  local fields = (arch.correlation or 0) > 0 and 12 or 6
  local noise = (arch.scale or 0) > 0 and state * (list[#list].cin + arch.channels * fields) or 0
  local work = math.max(largest, widest, noise) -- noise comes when the last hidden tensor is there
  return (n > 1 and 2 or 1) * weights + work + 6 * arch.channels * state, work
end

--- What the function of the user for a type returned, as apply(x, t), which checks what that returns.
local function applied(mine, f)
  local what = 'operator ' .. mine.name
  if type(f) ~= 'function' then user.refuse(what, mine.build, f, 'a function f(x, t), which is applied to states') end
  local g = mine.compile and mc.compile(f) or f
  return function(x, t)
    local y = user.call(what, g, f, x, t)
    if not mc.is_tensor(y) or table.concat(y.shape, ' ') ~= table.concat(x.shape, ' ') then
      user.refuse(what, f, y, 'a tensor of the shape of the states x, [%s]', table.concat(x.shape, ', '))
    end
    return y
  end
end

--- What identifies an own operator in a data set; nil for the types that are not the user's.
---@param name string simulation.operator_type
---@return table?
function M.record(name)
  local mine = networks.of(name)
  return mine and mine.own and user.record('operator', name, mine.build, mine.flops) or nil
end

--- Weights of the operator of a row, uniform in +-1/sqrt(cin k k).
---@param arch table
---@param seed integer
---@param index integer row, from 0
---@param dtype? string default f32
---@return table|function per layer { w, b } or { mix }; of an own operator what its function returned
function M.weights(arch, seed, index, dtype)
  local source, out = streams.source(seed, index, 'weights'), {}
  local mine = mine_of(arch)
  if mine then
    return applied(mine, user.call('operator ' .. mine.name, mine.build, nil, arch, source, dtype or 'f32'))
  end
  for i, l in ipairs(M.layers(arch)) do
    if l.part == 'spectral' then
      local shape = { l.cin, l.cout, l.rows, l.columns }
      local function draw() return (source:normal(shape) / (l.cin * l.cout)):to(dtype or 'f32') end
      local re, im = draw(), draw()
      out[i] = { mix = network(arch).mixing(re, im) }
    else
      local bound = 1 / math.sqrt(l.cin * l.k * l.k)
      local w = source:uniform({ l.cout, l.cin, l.k, l.k }, -bound, bound)
      local b = source:uniform({ l.cout }, -bound, bound) -- drawn for every layer, so that a bias moves no other weight
      out[i] = { w = w:to(dtype or 'f32'), b = l.bias and b:to(dtype or 'f32') or nil }
      if w.dtype ~= out[i].w.dtype then w:release() end
    end
  end
  return out
end

-- ---------------------------------------------------------------- one application

--- The scale of the noise at step t of T.
---@param arch table scale, schedule, period
---@param t? integer
---@param T? integer
function M.scale(arch, t, T)
  local s = arch.scale
  check.arg('rollout.operator.scale', 'arch.scale', s, 'number', 3)
  check.arg('rollout.operator.scale', 't', t or 0, 'number', 3)
  check.arg('rollout.operator.scale', 'T', T or 0, 'number', 3)
  if arch.schedule == 'annealing' then return s * (1 - math.min(t / T, 1)) end
  if arch.schedule == 'periodic' then return s * (1 + 0.5 * math.sin(2 * math.pi * t / arch.period)) end
  return s
end

local filters = setmetatable({}, { __mode = 'k' }) -- by architecture, as long as that is used
--- The filter exp(-(k c G)^2 / 2) of one axis, k in cycles per pixel, as a symmetric matrix [G, G]: the filter of the
--- plane is that of the columns after that of the rows.
local function filter(arch)
  if not filters[arch] then
    local G, c = arch.grid, arch.correlation
    local at = mc.arange(0, G - 1)
    local k = mc.where(mc.gt(at, G / 2), at - G, at) / G
    local response = mc.fft.irfft(mc.exp(-(k * k) * (c * G) ^ 2 / 2)[{ { 1, math.floor(G / 2) + 1 } }], { n = G })
    local apart = mc.remainder(at:reshape(G, 1) - at:reshape(1, G), G):to 'i64'
    filters[arch] = hold(mc.take(response, apart:reshape(-1) + 1, 1):reshape(G, G))
  end
  return filters[arch]
end

--- Draws of a law [states, channels, G, G], a state for each source; in f32 (laplace: f64), so that numbers do not
--- depend on dtype.
local function white(list, channels, G, law, dtype)
  local sizes, parts = { channels, G, G }, {}
  for k, source in ipairs(list) do
    parts[k] = law ~= 'laplace' and source:normal(sizes, 'f32') or mc.scope(function()
      return (source:exponential(sizes) * mc.where(mc.lt(source:uniform(sizes), 0.5), -1, 1)):to(dtype)
    end)
  end
  return mc.stack(parts, 1):to(dtype)
end

--- Draws [operators, states, channels, G, G] with the correlation of the operators, each state of spread 1.
local function correlated(x, filter_of)
  local n, B = x.shape[1], x.shape[2]
  local z = mc.matmul(mc.matmul(filter_of, x), filter_of)
  return z / (z:reshape(n * B, -1):std(2) + 1e-8):reshape(n, B, 1, 1, 1)
end

--- The filters of operators [operators, 1, 1, G, G].
local function filters_of(archs, dtype)
  local parts = {}
  for i, arch in ipairs(archs) do parts[i] = filter(arch) end
  local all = mc.stack(parts, 1):to(dtype)
  return hold(all:reshape(#archs, 1, 1, unpack(all.shape, 2)))
end

--- Where noise acts: on the last hidden tensor, or on the output, where gaussian noise has the same law; nil: nowhere.
local function place_of(arch)
  if arch.noise == 'none' or not (arch.scale > 0) then return nil end
  return networks.of(arch.type).hidden and arch.noise ~= 'gaussian' and 'hidden' or 'output'
end

--- Whether the noise of an operator is gaussian on a hidden tensor, and so goes to the output.
local function mixes(arch) return arch.noise == 'gaussian' and networks.of(arch.type).hidden end

--- The noise of one operator where it acts on a tensor as it is: f(h, sources, t, T), h [B, channels, G, G], a source
--- for each state.
local function own_noise(arch)
  local filter_of
  return function(h, sources, t, T)
    local s, C, G = M.scale(arch, t, T), h.shape[2], arch.grid
    if arch.noise == 'dropout' then
      local parts = {}
      for b, source in ipairs(sources) do parts[b] = mc.ge(source:uniform { C, 1, 1 }, s) end
      return h * (mc.stack(parts, 1):to(h.dtype) / (1 - s)):to(h.device)
    end
    local dtype = h.dtype == 'f64' and 'f64' or 'f32'
    local n = white(sources, C, G, arch.noise, dtype)
    if arch.correlation > 0 then
      filter_of = filter_of or mc.scope(filters_of, { arch }, dtype)
      n = correlated(n:expand_dims(1), filter_of):reshape(unpack(n.shape))
    end
    n = n:to { device = h.device, dtype = h.dtype }
    return arch.noise == 'multiplicative' and h * (1 + s * n) or h + s * n
  end
end

--- The gaussian noise of operators of one key, on their outputs: f(sources, t, T) gives [operators B, C, G, G], zeros
--- for operators without sources.
local function mixed_noise(archs, lists, dtype)
  -- L with L L' = W W' of the output layer: noise of few channels, of the same law; W where it has fewer columns
  local function mix(weights)
    local w = weights[#weights].w
    w = w:reshape(w.shape[1], -1):to { device = 'cpu', dtype = 'f64' }
    return w.shape[2] > w.shape[1] and mc.linalg.cholesky(mc.matmul(w, w.T)) or w
  end
  local n, mixed, filter_of, spread = #archs, nil, nil, {}
  local function prepare()
    local parts, some = {}, {}
    for i, list in ipairs(lists) do parts[i] = mix(list) end
    mixed = hold(mc.stack(parts, 1):expand_dims(2)) -- [n, 1, C, columns]
    for i, arch in ipairs(archs) do
      if arch.correlation > 0 then spread[#spread + 1], some[#some + 1] = i, arch end
    end
    filter_of = #spread > 0 and filters_of(some, dtype)
  end
  --- Draws [operators, states, ...], filtered for the operators whose noise correlates.
  local function filtered(x)
    if #spread == n then return correlated(x, filter_of) end
    local z, parts, k = correlated(x:take(mc.tensor(spread, { dtype = 'i64' }), 1), filter_of), {}, 0
    for i, arch in ipairs(archs) do
      if arch.correlation > 0 then k, parts[i] = k + 1, z[k + 1] else parts[i] = x[i] end
    end
    return mc.stack(parts, 1)
  end
  return function(sources, t, T)
    if not mixed then mc.scope(prepare) end
    return mc.scope(function()
      local G, C, columns, B, list, scales = archs[1].grid, archs[1].channels, mixed.shape[4], 0, {}, {}
      for _, of in pairs(sources) do B = #of end
      local any = select(2, next(sources))
      for i, arch in ipairs(archs) do
        scales[i] = sources[i] and M.scale(arch, t, T) or 0
        for _, source in ipairs(sources[i] or any) do list[#list + 1] = source end
      end
      local x = white(list, columns, G, 'gaussian', dtype):reshape(n, B, columns, G, G)
      if #spread > 0 then x = filtered(x) end
      local by = (mixed * mc.tensor(scales):reshape(n, 1, 1, 1)):to(dtype)
      return mc.matmul(by, x:reshape(n, B, columns, G * G)):reshape(n * B, C, G, G)
    end)
  end
end

--- Operators with equal keys differ in weights and noise only, so that `together` takes them at once; nil for those
--- that it does not.
---@param arch table
---@return string?
function M.key(arch)
  if not networks.of(arch.type).alike then return nil end
  local parts = {}
  for i, k in ipairs { 'channels', 'layers', 'base', 'kernel', 'activation', 'gelu', 'norm', 'groups', 'padding_mode',
    'grid', 'storage' } do parts[i] = tostring(arch[k]) end
  return table.concat(parts, ' ')
end

--- What decides the bytes of operators.
---@param arch table
---@return string
function M.size_key(arch)
  if mine_of(arch) then return arch.type .. ' ' .. arch.grid end
  local key, section = M.key(arch), networks.of(arch.type).section
  if key then return key end
  local parts = { arch.type, arch.channels, arch.base, arch.norm, arch.grid, arch.padding_mode }
  for _, name in ipairs(parameters.NAMES[section]) do parts[#parts + 1] = tostring(arch[section][name]) end
  return table.concat(parts, ' ')
end

local BUILD = { composed = { false, 'bool' }, keep = { false, 'bool' }, direct = { false, 'bool' } }

--- Operators of one key as one function on the device of their weights: apply(x, sources, t, T) with the states of all
--- of them one after the other,
--- x [operators B, C, G, G], and sources[i], the sources of noise of operator i (a source per state), or nil. What an
--- operator gives does not depend on the others, bit by bit.
---@param archs table[]
---@param lists table[] of M.weights
---@param opts? table as build
---@return fun(x: mascon.Tensor, sources?: table[], t?: integer, T?: integer): mascon.Tensor
function M.together(archs, lists, opts)
  local o = check.opts('rollout.operator.together', opts, BUILD, 3)
  local n, arch, weights, noise = #archs, archs[1], lists[1], {}
  local mixing = { archs = {}, lists = {}, at = {} } -- the operators whose noise goes through their output layer
  for i, a in ipairs(archs) do
    noise[i] = own_noise(a)
    if place_of(a) and mixes(a) then
      local k = #mixing.at + 1
      mixing.archs[k], mixing.lists[k], mixing.at[k] = a, lists[i], i
    end
    if a.noise == 'dropout' and parameters.drops_all(a.scale, a.schedule) then
      error(('rollout.operator.together: dropout at noise_scale %.16g drops every channel; keep it below 1'):format(
        a.scale), 2)
    end
    if n > 1 and (M.key(a) == nil or M.key(a) ~= M.key(arch)) then
      error('rollout.operator.together: operators must have the same key', 2) end
  end
  if n > 1 then
    weights = {}
    for l = 1, #lists[1] do
      weights[l] = {}
      for _, k in ipairs { 'w', 'b' } do
        local all = {}
        for i = 1, n do all[i] = lists[i][l][k] end
        if #all > 0 then weights[l][k] = hold(mc.stack(all, 1)) end
      end
    end
  end
  local hidden, output
  if mine_of(arch) then
    hidden = function(x, t) return weights(x, t) end
    output = function(h) return h end
  else
    local there = lists[1][1].w.device ~= 'cpu' -- the fused pass is the processor's
    local layers, kit, net = M.layers(arch), block.kit(arch, o.composed or there, o.keep, n, o.direct), network(arch)
    hidden = function(x) return net.hidden(kit, layers, weights, x, arch) end
    output = function(h) return kit.conv(h, layers[#layers], weights[#layers]) end
  end
  local through = #mixing.at > 0
    and mixed_noise(mixing.archs, mixing.lists, lists[1][1].w.dtype == 'f64' and 'f64' or 'f32')
  --- The states of operator i, of B each.
  local function states_of(h, i, B) return n > 1 and h[{ { (i - 1) * B + 1, i * B } }] or h end
  local function joined(parts) return n > 1 and mc.concat(parts, 1) or parts[1] end
  local function noisy(where, h, sources, t, T)
    local B, some, parts = h.shape[1] / n, false, {}
    for i, a in ipairs(archs) do
      local acts, one = sources and sources[i] and place_of(a) == where and not mixes(a), states_of(h, i, B)
      parts[i], some = acts and noise[i](one, sources[i], t, T) or one, some or acts
    end
    return some and joined(parts) or h
  end
  local function mixed(y, sources, t, T)
    local B, list, parts = y.shape[1] / n, {}, {}
    for k, i in ipairs(mixing.at) do list[k] = sources and sources[i] end
    if next(list) == nil then return y end
    local e = through(list, t, T):to { device = y.device, dtype = y.dtype }
    if #mixing.at == n then return y + e end
    for i = 1, n do parts[i] = states_of(y, i, B) end
    for k, i in ipairs(mixing.at) do parts[i] = parts[i] + e[{ { (k - 1) * B + 1, k * B } }] end
    return joined(parts)
  end
  return function(x, sources, t, T)
    local y = output(noisy('hidden', hidden(x, t), sources, t, T))
    return noisy('output', mixed(y, sources, t, T), sources, t, T)
  end
end

--- The operator as a function: apply(x, sources, t, T) with x [B, C, G, G] and a source of noise per state (nil: no
--- noise).
---@param arch table
---@param weights table of M.weights
---@param opts? table composed (false): of ops that have derivatives, where the fused pass between convolutions has
---   none · keep (false): intermediate tensors live to the end of the scope instead of being reused · direct (false):
---   convolutions are sums as they are written, never by tiles
---@return fun(x: mascon.Tensor, sources?: table, t?: integer, T?: integer): mascon.Tensor
function M.build(arch, weights, opts)
  local apply = M.together({ arch }, { weights }, check.opts('rollout.operator.build', opts, BUILD, 3))
  return function(x, sources, t, T) return apply(x, sources and { sources }, t, T) end
end

--- Gives back the memory of weights.
function M.release(weights)
  if type(weights) ~= 'table' then return end
  for _, w in ipairs(weights) do
    for _, k in ipairs { 'w', 'b', 'mix' } do if w[k] then w[k]:release() end end
  end
end

return M
