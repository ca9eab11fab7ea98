-- fields.lua - initial states [C, G, G]: which kind a row gets, and the kinds themselves.
--
-- A kind is a function f(source, C, G, options) -> f64 [C, G, G] in fields/ or one that a script registers. Source:
-- specification of rollouts, 2.8.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local streams = require 'workflows.rollout.streams'
local leaf = require 'workflows.rollout.leaf'
local own = require 'workflows.rollout.own'
local error = check.error
local M = {}

local FILES = { 'fields.noise', 'fields.shapes', 'fields.physics', 'fields.biology', 'fields.frontier' }
local MIXTURES = { 'mixed', 'sampled' } -- methods that choose among kinds
local mine = {} -- names of those that a script registered
local kinds, schemas, orders -- by name: the function, its options as leaves, pairs { low, high } of them

local function load()
  if kinds then return end
  kinds, schemas, orders = {}, {}, {}
  for _, name in ipairs(FILES) do
    for kind, entry in pairs(require('workflows.rollout.' .. name)) do
      kinds[kind], schemas[kind], orders[kind] = entry[1], entry[2], entry[3]
    end
  end
end

--- Names of the kinds there are, sorted.
function M.names()
  load()
  local out = {}
  for k in pairs(kinds) do out[#out + 1] = k end
  table.sort(out)
  return out
end

--- What simulation.input_generation.method may be: the kinds, then mixed and sampled, which choose among them.
---@return string[]
function M.choices()
  local out = M.names()
  for _, name in ipairs(MIXTURES) do out[#out + 1] = name end
  return out
end

--- Adds a kind of one's own: f(source, C, G, options) -> tensor [C, G, G]; defaults names its options.
---@param name string
---@param f function
---@param defaults? table
function M.register(name, f, defaults)
  load()
  if type(name) ~= 'string' or type(f) ~= 'function' then
    error('rollout.fields.register: give a name and a function(source, channels, grid, options)', 2) end
  if kinds[name] then error(('rollout.fields.register: there is a field %s already'):format(name), 2) end
  local schema = {}
  for k, v in pairs(defaults or {}) do schema[k] = leaf.of(v) end
  kinds[name], schemas[name] = f, schema
  mine[name] = true
end

--- The options of a kind as leaves; nil where it has no block: sampled and mixed choose among kinds.
---@param kind string?
---@return table?
function M.schema(kind)
  load()
  return kind and schemas[kind]
end

--- The kind that a name means: the name itself, or an alias of it with a block of its own (structured_v1, _low, _mid,
--- _high); nil for other names.
---@param name string
---@return string?
function M.kind_of(name)
  load()
  if kinds[name] then return name end
  local base = tostring(name):gsub('_v%d+$', ''):gsub('_low$', ''):gsub('_mid$', ''):gsub('_high$', '')
  return kinds[base] and base or nil
end

--- Refuses options of a kind of which the lower end of a range is above the upper one. at(name, other): what
--- stands before an option in the message; one of both is given.
---@param kind string
---@param o table options, completed
---@param at fun(name: string, other: string): string
function M.refuse_order(kind, o, at)
  check.arg('rollout.fields.refuse_order', 'kind', kind, 'string', 3)
  check.arg('rollout.fields.refuse_order', 'o', o, 'table', 3)
  check.arg('rollout.fields.refuse_order', 'at', at, 'function', 3)
  load()
  for _, pair in ipairs(orders[kind] or {}) do
    local low, high = pair[1], pair[2]
    if o[low] > o[high] then
      error(('%s is %.16g, above %s %.16g; give both, the lower one first'):format(at(low, high), o[low], high,
        o[high]), 0)
    end
  end
end

--- Options completed and checked.
local function completed(kind, block)
  local schema, o = schemas[kind], {}
  for k, v in pairs(block or {}) do
    local path = ('simulation.input_generation.%s.%s'):format(kind, k)
    if schema[k] == nil then
      local near = check.nearest(tostring(k), schema)
      error(('there is no key %s%s'):format(path, near and (' (did you mean %s?)'):format(near) or ''), 0)
    end
    leaf.check(path, schema[k], v)
    o[k] = v
  end
  for k, l in pairs(schema) do if o[k] == nil then o[k] = l[2] end end
  M.refuse_order(kind, o, function(name) return ('simulation.input_generation.%s.%s'):format(kind, name) end)
  return o
end

--- A field of a kind. block: options as the configuration names them.
---@param kind string
---@param source table of streams.source
---@param C integer channels
---@param G integer grid
---@param block? table
---@return mascon.Tensor f64 [C, G, G]
function M.make(kind, source, C, G, block)
  load()
  local f = kinds[kind]
  if not f then
    local near = check.nearest(tostring(kind), M.names())
    error(('there is no initial field %s%s'):format(tostring(kind), near and (' (did you mean %s?)'):format(near)
      or ''), 0)
  end
  local o = completed(kind, block)
  return mc.scope(function()
    if not mine[kind] then return f(source, C, G, o):to 'f64' end
    local x = own.call('field ' .. kind, f, nil, source, C, G, o)
    if not mc.is_tensor(x) or table.concat(x.shape, ' ') ~= table.concat({ C, G, G }, ' ') then
      own.refuse('field ' .. kind, f, x, 'a tensor [channels, grid, grid], here [%d, %d, %d]', C, G, G)
    end
    return x:to 'f64'
  end)
end

--- What identifies the own fields that a configuration draws.
---@param config table
---@return table[]
function M.records(config)
  local g, out, kept = config.simulation.input_generation, {}, {}
  local function take(name)
    local kind = M.kind_of(name)
    if not mine[kind] or kept[kind] then return end
    kept[kind] = true
    local defaults = {}
    for k, l in pairs(schemas[kind]) do defaults[k] = l[2] end
    out[#out + 1] = own.record('field', kind, kinds[kind], defaults)
  end
  take(g.method)
  if g.method == 'sampled' then
    for name, w in pairs(g.ic_type_weights or {}) do if w > 0 then take(name) end end
  end
  table.sort(out, function(a, b) return a.name < b.name end)
  return out
end

--- Which kind a row gets: the name in the file (with its suffix) and the kind.
function M.choose(config, index)
  local g = config.simulation.input_generation
  local weights = g.ic_type_weights
  local names, sum = {}, 0
  for k, w in pairs(weights or {}) do
    if w > 0 then names[#names + 1] = k end
    sum = sum + w
  end
  if g.method == 'sampled' and #names > 0 then
    table.sort(names)
    local u, c = streams.source(config.sampling.sobol.seed, index, 'kind'):number() * sum, 0
    for _, k in ipairs(names) do
      c = c + weights[k]
      if c > u then return k, M.kind_of(k) end
    end
    return names[#names], M.kind_of(names[#names])
  end
  local method = g.method
  if method == 'sampled' then method = 'gaussian_random_field' end
  if method == 'mixed' then method = index % 2 == 0 and 'gaussian_random_field' or 'structured' end
  return method, method
end

--- The initial state of a row: f64 [C, G, G], and the name of its kind.
---@param config table
---@param index integer row, from 0
---@param G integer
function M.initial(config, index, G)
  local g = config.simulation.input_generation
  local name, kind = M.choose(config, index)
  local block = g[name]
  if kind == 'gaussian_random_field' and not block then block = { length_scale = g.length_scale,
    variance = g.variance } end
  if kind == 'random' and not block then block = { distribution = g.distribution, variance = g.variance } end
  return M.make(kind, streams.source(config.sampling.sobol.seed, index, 'field'), config.simulation.channels, G,
    block), name
end

return M
