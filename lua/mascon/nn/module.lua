-- module.lua - modules of networks: parameters, buffers and inner modules by name, in the order of their registration.
--
-- A module is a plain table whose tensors lie in slots. A call reads the tensors of the slots, or those that apply()
-- puts in their place for the length of one call: with apply a network is a pure function of its parameters, and
-- mc.grad, mc.vmap, mc.compile and mc.scan need to know nothing of modules. Parameters of a whole network are one table
-- { ['1.weight'] = tensor, ... }.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local placing = require 'mascon.core.place'
local keys = require 'mascon.random.key'
local duplicate = require 'mascon.nn.duplicate'
local fields = require 'mascon.nn.fields'
local parts = require 'mascon.nn.parts'
local held = require 'mascon.nn.slot'
local calls = require 'mascon.nn.call'
local states = require 'mascon.nn.state'
local watch = require 'mascon.nn.watch'
local initial = require 'mascon.nn.initial'
local error = check.error
local is, kind = tensor.is, tensor.kind
local M = {}

---@class mascon.Module
local methods = {}
M.methods = methods

local Module -- the metatable of all modules
local function is_module(v) return type(v) == 'table' and getmetatable(v) == Module end
--- Whether a value is a module.
---     mc.nn.module.is(mc.nn.ReLU())  --> true
---@param v any
---@return boolean
M.is = is_module

-- ---------------------------------------------------------------- slots

local value_of, fill, put, unread = held.value_of, held.fill, held.put, held.unread
local slots_of = held.all
M.slots, M.gather, M.returning = slots_of, calls.gather, calls.returning
local described = states.described

local function register(self, name, what, level)
  check.arg('module', 'name', name, 'string', level + 1)
  if name == '' or name:find('.', 1, true) then
    error(('module: %q is no name for a %s; names have no dots'):format(name, what), level + 1)
  end
  fields.free(rawget(self, '_class'), name, methods, level + 1)
  for _, n in ipairs(rawget(self, '_order')) do if n == name then return end end
  table.insert(rawget(self, '_order'), name)
end

local function add_slot(fname, self, name, shape, make, opts, buffer)
  local o = opts or {}
  local slot = { dtype = o.dtype or 'f32', device = o.device or placing.name or 'cpu', trainable = not buffer,
    buffer = buffer, settle = o.settle }
  if is(shape) then
    slot.shape, slot.dtype, slot.device, slot.value = {}, shape.dtype, shape.device, shape
    for i, n in ipairs(shape.shape) do slot.shape[i] = n end
    local kept = shape
    slot.make = function() return tensor.methods.copy(kept) end
  else
    slot.shape, slot.make, slot.key = shape, initial.of(fname, make or 'zeros', 4), held.next_key(o.key)
    fill(slot)
  end
  register(self, name, buffer and 'buffer' or 'parameter', 3)
  rawset(self, name, nil)
  rawget(self, '_modules')[name] = nil
  rawget(self, '_slots')[name] = slot
end

--- Gives the module a parameter: a tensor that training changes.
---
--- self:parameter('scale', tensor), or a shape with an initialiser: self:parameter('scale', { 8 }, 'ones').
---@param name string without dots
---@param shape table|any sizes, or the tensor itself
---@param initialiser? string|table|function as mc.nn.init takes it (zeros)
---@param opts? table dtype (f32) · device (cpu, or that of mc.with_device) · key: of the random numbers (the default
---  generator)
function methods:parameter(name, shape, initialiser, opts)
  add_slot('module:parameter', self, name, shape, initialiser, opts, false)
end

--- Gives the module a buffer: a tensor that is saved with it and that training does not differentiate.
---@param name string without dots
---@param shape table|any sizes, or the tensor itself
---@param initialiser? string|table|function (zeros)
---@param opts? table as parameter
function methods:buffer(name, shape, initialiser, opts)
  add_slot('module:buffer', self, name, shape, initialiser, opts, true)
end

--- Makes a parameter of this module the same as one of another module (tied weights): one tensor, counted once.
---@param name string of the parameter here
---@param other mascon.Module
---@param its_name? string of the parameter there (the same)
function methods:tie(name, other, its_name)
  its_name = its_name or name
  local slot = is_module(other) and rawget(other, '_slots')[its_name]
  if not slot then error(('module:tie: the other module has no parameter %s'):format(check.show(its_name)), 2) end
  local mine = rawget(self, '_slots')[name]
  if mine and table.concat(mine.shape, ',') ~= table.concat(slot.shape, ',') then
    error(('module:tie: %s is %s, the other parameter is %s; both need the same shape'):format(name, described(mine),
      described(slot)), 2)
  end
  register(self, name, 'parameter', 2)
  rawget(self, '_slots')[name] = slot
end

-- ---------------------------------------------------------------- one call of a network

local path, depth, told = {}, 0, nil

--- Whether the module is in training: as train() and eval() set it. In a call of apply with the option train that says
--- so for all parts of the network, but for those that are in evaluation while the network itself is in training.
function methods:is_training() return (calls.training(self)) end

--- A random key for this use: another one at each use within a call, derived from the option key of apply.
---@return mascon.Key
--- Errors: within mc.scan, mc.vmap and loops, whose turns would all draw the same numbers; give each turn a key.
function methods:next_key() return (calls.key()) end

--- Gives a buffer a new value: in the result of apply, outside of apply in the module itself.
---@param name string
---@param value any
function methods:update_buffer(name, value) calls.update(self, name, value) end

--- "encoder.layers.2.norm": the name of a part in the outermost module that is being called, '' for that itself; '?'
--- for one that is none of its parts.
local function where(d)
  if d == 1 then return '' end
  local found
  path[1]:each(function(m, name) if m == path[d] then found = name end end)
  return found or '?'
end

--- The part of a network that is being called, as names with dots; '' outside of a call.
---@return string
function M.place() return depth > 0 and where(depth) or '' end

local function through(hooks, self, args, y)
  for _, h in ipairs(hooks) do
    local new
    if y then new = h(self, y, unpack(args, 1, args.n)) else new = h(self, unpack(args, 1, args.n)) end
    if new ~= nil then
      if y then y = new else args = { n = 1, new } end
    end
  end
  return y or args
end

local function run(self, ...)
  local before, after = rawget(self, '_before'), rawget(self, '_after')
  local forward = rawget(self, 'forward') or rawget(self, '_class').forward or methods.forward
  if not before and not after then return forward(self, ...) end
  local args = { n = select('#', ...), ... }
  if before then args = through(before, self, args) end
  if not after then return forward(self, unpack(args, 1, args.n)) end
  local results = { n = 0 }
  local function keep(...)
    results.n = select('#', ...)
    for i = 1, results.n do results[i] = (select(i, ...)) end
  end
  keep(forward(self, unpack(args, 1, args.n)))
  results[1] = through(after, self, args, results[1])
  return unpack(results, 1, results.n)
end

local function finish(d, ok, ...)
  if ok then
    depth = d - 1
    path[d] = nil
    return ...
  end
  local why = ...
  if type(why) == 'string' and why ~= told and not check.stopped(why) then
    local place, class = where(d), rawget(path[d], '_class')._name
    why = ('%s (in %s)'):format(why, place == '' and class or ('%s, %s'):format(place, class))
    told = why
  end
  for i = #path, d, -1 do path[i] = nil end
  depth = d - 1
  error(why, 0)
end

local function call(self, ...)
  local d = depth + 1
  depth, path[d] = d, self
  local around = rawget(self, '_around') -- a checkpoint scope: around(run, self, ...)
  if around then return finish(d, pcall(around, run, self, ...)) end
  return finish(d, pcall(run, self, ...))
end

--- What a module computes: a class defines it. Calling the module runs it, between its hooks.
---
--- Errors: a class that does not define it.
function methods:forward(...) -- luacheck: ignore
  local name = rawget(self, '_class')._name
  error(('%s: the class has no forward; define function %s:forward(...)'):format(name, name), 2)
end

-- ---------------------------------------------------------------- the metatable

Module = {
  __index = function(self, k)
    local slot = rawget(self, '_slots')[k]
    if slot then return value_of(slot, tostring(k)) end
    local inner = rawget(self, '_modules')[k]
    if inner then return inner end
    local class = rawget(self, '_class')
    if k == 'forward' then return fields.forward(class, methods.forward, is_module) end
    local v = class[k]
    if v ~= nil then return v end
    return methods[k] or fields.elsewhere(class, k)
  end,
  __newindex = function(self, k, v)
    local slots, modules = rawget(self, '_slots'), rawget(self, '_modules')
    if is_module(v) then
      local placed = rawget(self, '_class').placed -- of lists: which positions there are
      if placed then placed(self, k, v) end
      register(self, tostring(k), 'module', 2)
      if type(k) == 'number' then rawset(self, k, v) else modules[k], slots[k] = v, nil end
    elseif slots[k] then
      if v == nil then error(('module: %s is a parameter or buffer; give it a tensor'):format(tostring(k)), 2) end
      put('module', tostring(k), slots[k], v, 2)
    elseif modules[k] and v == nil then
      modules[k] = nil
      local order = rawget(self, '_order')
      for i, n in ipairs(order) do
        if n == tostring(k) then
          table.remove(order, i)
          break
        end
      end
    else
      if type(v) ~= 'function' then fields.free(rawget(self, '_class'), k, methods, 3) end
      if depth == 0 then fields.check(k, v, is_module, 3) end
      rawset(self, k, v)
    end
  end,
  __call = function(self, ...) return call(self, ...) end,
  __tostring = function(self) return require('mascon.nn.describe').tree(self) end,
  __look = function(self) return watch.look(self, 'own') end, -- for compiled functions that find it outside
  __same = watch.same, __loosen = watch.loosen,
}

-- ---------------------------------------------------------------- classes

local Class = {}
Class.__call = function(class, ...)
  fields.class(class, methods, is_module, 3)
  local self = setmetatable({ _class = class, _order = {}, _slots = {}, _modules = {}, _training = true }, Module)
  if class.init then class.init(self, ...) end
  for k, v in pairs(self) do -- tables that were filled after they became fields
    if type(v) == 'table' and type(k) == 'string' and k:sub(1, 1) ~= '_' then fields.check(k, v, is_module, 3) end
  end
  return self
end
Class.__tostring = function(class) return 'class ' .. class._name end

--- A class of modules. Write its methods init(self, ...), which registers parts, and forward(self, ...), which
--- computes.
---
--- Modules are registered when they become fields of self, in that order (assign them one by one: Lua assigns the last
--- of several first). Tensors of its own have a name: self:parameter('scale', { 8 }, 'ones') is trained,
--- self:buffer('mean', tensor) is only saved with the module; a tensor as a plain field is refused outside of a call.
--- Calling the class makes a module; calling the module runs forward.
---     local Net = mc.nn.Module 'Net'
---     function Net:init(width) self.inner = mc.nn.Linear(2, width); self.outer = mc.nn.Linear(width, 1) end
---     function Net:forward(x) return self.outer(mc.tanh(self.inner(x))) end
---     Net(8)(mc.zeros{ 3, 2, dtype = 'f32' }).shape  --> {3, 1}
---     local Scale = mc.nn.Module 'Scale'
---     function Scale:init(width) self:parameter('scale', { width }, 'ones') end
---     function Scale:forward(x) return x * self.scale end
---     Scale(2):count()  --> 2
---
--- A class that derives from another has its methods, too, and calls those that it defines anew by name:
--- Base.init(self, width).
---     local Half = mc.nn.Module('Half', Scale)
---     function Half:forward(x) return Scale.forward(self, x) / 2 end
---     Half(2)(mc.ones{ 2, dtype = 'f32' })  --> f32[2]@cpu { 0.5000, 0.5000 }
---@param name string as messages and summaries have it
---@param base? table the class it derives from
---@return table class
function M.Module(name, base)
  check.arg('nn.Module', 'name', name, 'string', 3)
  if base == nil then return setmetatable({ _name = name }, Class) end
  local meta = type(base) == 'table' and getmetatable(base)
  if not meta or meta.__call ~= Class.__call then
    error(('nn.Module: the base of %s is %s; give a class of mc.nn.Module, and hold a layer as a part: self.inner = '
      .. 'mc.nn.Linear(2, 3)'):format(name, check.show(base)), 2)
  end
  return setmetatable({ _name = name, _base = base }, { __call = Class.__call, __tostring = Class.__tostring,
    __index = base })
end

M.shapes_only = held.shapes_only

-- ---------------------------------------------------------------- walking

--- Each inner module in order, depth first, the module itself first: f(module, name), names with dots.
---@param f fun(module: table, name: string)
function methods:each(f) parts.each(self, f) end


--- The parameters in order: a list of { name =, value =, shape =, dtype =, trainable = }, tied ones once.
---@return table[]
function methods:named_parameters()
  local out = {}
  for _, e in ipairs((slots_of(self))) do
    local s = e[2]
    if not s.buffer then
      unread[s] = nil
      out[#out + 1] = { name = e[1], value = s.bound or s.value, shape = s.shape, dtype = s.dtype,
        trainable = s.trainable }
    end
  end
  return out
end

local function collect(self, take)
  local out = {}
  for _, e in ipairs((slots_of(self))) do
    if take(e[2]) then out[e[1]] = value_of(e[2], e[1]) end
  end
  return out
end

--- Tensors as a step of training reads them, tied ones once: those that are trained, frozen ones, buffers.
---@return table params, table frozen, table buffers name -> tensor
function M.tensors(self)
  local params, frozen, buffers = {}, {}, {}
  for _, e in ipairs((slots_of(self))) do
    local s = e[2]
    local own = unread[s]
    local kind_of = s.buffer and buffers or s.trainable and params or frozen
    kind_of[e[1]], unread[s] = value_of(s, e[1]), own
  end
  return params, frozen, buffers
end

--- The parameters that training changes, as tensors that nobody else holds and that may be written to: those that
--- others have seen are copied first.
---@return table params name -> tensor
function M.owned(self)
  local params = {}
  for _, e in ipairs((slots_of(self))) do
    local s = e[2]
    if not s.buffer and s.trainable then
      if not unread[s] then s.value = tensor.methods.copy(value_of(s, e[1])) end
      params[e[1]], unread[s] = s.value, true
    end
  end
  return params
end

local ALL = { all = { false, 'bool' } }
--- The parameters that training changes, as one table name -> tensor: what apply, mc.grad and optimisers take.
---
--- Frozen ones are among them with all = true.
---     mc.nn.Linear(2, 3):parameters().bias.shape  --> {3}
---@param opts? table all (false)
---@return table
function methods:parameters(opts)
  local all = check.opts('module:parameters', opts, ALL, 3).all
  return collect(self, function(s) return not s.buffer and (all or s.trainable) end)
end

--- The frozen parameters: name -> tensor.
---@return table
function methods:frozen() return collect(self, function(s) return not s.buffer and not s.trainable end) end

--- The buffers: name -> tensor.
---@return table
function methods:buffers() return collect(self, function(s) return s.buffer end) end

--- Number of elements of all parameters, tied ones once.
---@param opts? table trainable (false): those alone that training changes
---@return integer
function methods:count(opts)
  local o = check.opts('module:count', opts, { trainable = { false, 'bool' } }, 3)
  local n = 0
  for _, e in ipairs((slots_of(self))) do
    local s = e[2]
    if not s.buffer and (s.trainable or not o.trainable) then
      local size = 1
      for _, k in ipairs(s.shape) do size = size * k end
      n = n + size
    end
  end
  return n
end

-- ---------------------------------------------------------------- as a pure function

local APPLY = { train = { nil, 'bool' }, key = { nil, 'any' }, buffers = { nil, 'table' } }

--- The result of the module with these parameters in the place of its own, which stay as they are.
---
--- Nothing of the module changes, so that the call can be differentiated, compiled and mapped. Parameters and buffers
--- that are not given are the module's.
---     local net = mc.nn.Linear(2, 1)
---     local loss = function(p, x) return mc.mean(net:apply(p, x) ^ 2) end
---     mc.grad(loss)(net:parameters(), mc.ones{ 4, 2, dtype = 'f32' }).bias.shape  --> {1}
---@param params table name -> tensor, as parameters() gives them
---@param inputs any what the module is called with: one tensor, or a list of arguments
---@param opts? table train: training or evaluation (as the module is set; true leaves parts in evaluation that are so
---   while the module is in training: net:train(); net.norm:eval()) · key: of random numbers, needed by dropout in
---   training · buffers: name -> tensor
---@return any result of forward; a list where it gives several
---@return table buffers after the call, all of them
--- Errors: a name that the module does not have, another shape.
function methods:apply(params, inputs, opts)
  if is(params) or is(opts) then
    error(('module:apply: %s is %s; parameters come first, several inputs go in a list: net:apply(net:parameters(), '
      .. '{ x, y }, { train = true })'):format(is(params) and 'params' or 'the argument behind the inputs',
      tensor.describe(is(params) and params or opts)), 2)
  end
  local o = check.opts('module:apply', opts, APPLY, 3)
  local results, buffers
  if type(inputs) == 'table' and not is(inputs) and not is_module(inputs) then
    results, buffers = calls.with('module:apply', self, params, o, call, self, unpack(inputs, 1, table.maxn(inputs)))
  else
    results, buffers = calls.with('module:apply', self, params, o, call, self, inputs)
  end
  if results.n > 1 then
    results.n = nil
    return results, buffers
  end
  return results[1], buffers
end

--- f() while these parameters stand in the place of the module's own: what f calls of the module uses them.
---
--- For losses that call a module several times, or parts of it. Options are those of apply.
---     local net = mc.nn.Linear(2, 1)
---     local zero = mc.tree.map(function(t) return t * 0 end, net:parameters())
---     net:with(zero, function() return net(mc.ones{ 3, 2, dtype = 'f32' }):sum():item() end)[1]  --> 0
---@param params table name -> tensor
---@param opts? table train, key, buffers as apply has them; can be left out
---@param f function
---@return table results of f, a list
---@return table buffers after the call
function methods:with(params, opts, f)
  if f == nil and type(opts) == 'function' then opts, f = nil, opts end
  local o = check.opts('module:with', opts, APPLY, 3)
  check.arg('module:with', 'f', f, 'function', 3)
  local results, buffers = calls.with('module:with', self, params, o, f)
  results.n = nil
  return results, buffers
end

-- ---------------------------------------------------------------- state

--- Takes new values for parameters and buffers: name -> tensor of the module's shapes; those not named stay.
---@param ... table as parameters() and buffers() give them
---@return mascon.Module self
function methods:update(...)
  local _, by_name = slots_of(self)
  for _, values in ipairs { ... } do
    for name, t in pairs(values) do
      if not by_name[name] then error(('module:update: the module has no %s'):format(tostring(name)), 2) end
      put('module:update', name, by_name[name], t, 2)
    end
  end
  return self
end

local NAMES = { 'module', { 'module', 'pytorch' } }
--- All parameters and buffers: name -> tensor (the module's own, not copies), for files.
---
--- With names = 'pytorch' under the names of the same layers there: parts of lists count from 0, the projections of
--- nn.MultiheadAttention are in_proj_weight and in_proj_bias, blocks of transformers have linear1, linear2 and
--- multihead_attn. A class of your own gives others by a method pytorch_name(name). Shared tensors stand under each of
--- their names.
---     mc.tree.keys(mc.nn.Sequential{ mc.nn.Linear(2, 3) }:state_dict{ names = 'pytorch' })[2]  --> 0.weight
---@param opts? table names ('module'; 'pytorch')
---@return table
function methods:state_dict(opts)
  if check.opts('module:state_dict', opts, { names = NAMES }, 3).names == 'pytorch' then
    return states.pytorch(self, value_of)
  end
  return collect(self, function() return true end)
end

--- Takes parameters and buffers from a table, as state_dict or mc.load of an .npz file gave it.
---
--- Shapes have to agree; dtypes are those of the module. Nothing changes when anything does not fit.
---@param state table name -> tensor
---@param opts? table strict (true): names that are missing or not known are an error · names ('module'; 'pytorch'): as
---   in state_dict
---@return string[] missing, string[] unknown names
--- Errors: names (strict), shapes, more names of the other kind than of this one.
function methods:load_state_dict(state, opts)
  local fname = 'module:load_state_dict'
  local o = check.opts(fname, opts, { strict = { true, 'bool' }, names = NAMES }, 3)
  check.arg(fname, 'state', state, 'table', 3)
  local list, by_name = slots_of(self)
  local given, missing, unknown = states.divide(fname, self, state, o.names, list, by_name, 2)
  if o.strict and (#missing > 0 or #unknown > 0) then
    local words = {}
    if #missing > 0 then words[1] = 'missing: ' .. table.concat(missing, ', ') end
    if #unknown > 0 then words[#words + 1] = 'not in the module: ' .. table.concat(unknown, ', ') end
    error(('%s: %s; %s'):format(fname, table.concat(words, '; '),
      states.advice(self, o.names, state, list, by_name) or 'strict = false takes what fits'), 2)
  end
  local shifted = not o.strict and states.advice(self, o.names, state, list, by_name)
  if shifted then error(('%s: %s; as they stand, tensors would go to other layers'):format(fname, shifted), 2) end
  for _, e in ipairs(list) do
    if given[e[2]] then put(fname, e[1], e[2], given[e[2]], 2) end
  end
  return missing, unknown
end

--- Draws all parameters anew, sets buffers back, and makes both of a module built with shapes only. With a pattern, or
--- an initialiser: parameters alone, those whose names match.
---
--- net:initialise('weight$', 'he_normal') uses another initialiser from here on.
---@param pattern? string Lua pattern of full names (all)
---@param initialiser? string|table|function as mc.nn.init takes it (the one of each parameter)
---@param opts? table key: a random key or whole number; each parameter gets its own derived from it (as when it was
---   made)
---@return mascon.Module self
function methods:initialise(pattern, initialiser, opts)
  if type(pattern) == 'table' and initialiser == nil and opts == nil then pattern, opts = nil, pattern end
  local o = check.opts('module:initialise', opts, { key = { nil, 'any' } }, 3)
  if pattern then check.pattern('module:initialise', pattern, 2) end
  local key = o.key ~= nil and keys.key(o.key)
  local hits = 0
  for i, e in ipairs((slots_of(self))) do
    local slot = e[2]
    if slot.buffer and not (pattern or initialiser) or not slot.buffer and (not pattern or e[1]:find(pattern)) then
      hits = hits + 1
      if initialiser then slot.make = initial.of('module:initialise', initialiser, 3) end
      if key then slot.key = key:fold_in(i) end
      fill(slot)
    end
  end
  if hits == 0 and pattern then error(('module:initialise: no parameter matches %q'):format(pattern), 2) end
  return self
end

local function set_trainable(fname, self, pattern, on)
  if pattern then check.pattern(fname, pattern, 3) end
  local hits = 0
  for _, e in ipairs((slots_of(self))) do
    if not e[2].buffer and (not pattern or e[1]:find(pattern)) then
      e[2].trainable, hits = on, hits + 1
    end
  end
  if hits == 0 then error(('%s: no parameter matches %s'):format(fname, check.show(pattern)), 3) end
  return self
end

--- A copy of the module with parameters and buffers of its own, for a teacher, a target or a start to return to.
---
--- What is shared within the module is shared within the copy; modes and what is frozen stay as they are. Functions in
--- fields and hooks are those of the module.
---     local net = mc.nn.Linear(2, 1)
---     local start = net:copy()
---     mc.array_equal(start.weight, net.weight), rawequal(start.weight, net.weight)  --> true, false
---@return mascon.Module
function methods:copy() return (duplicate.copy(self)) end
methods.clone = methods.copy

--- Leaves parameters out of training: all, or those whose full names match a Lua pattern.
---@param pattern? string
---@return mascon.Module self
function methods:freeze(pattern) return (set_trainable('module:freeze', self, pattern, false)) end

--- Takes parameters back into training: all, or those whose full names match a Lua pattern.
---@param pattern? string
---@return mascon.Module self
function methods:unfreeze(pattern) return (set_trainable('module:unfreeze', self, pattern, true)) end

--- Training mode for the module and all within: dropout drops, batch norms use the batch.
---@param on? boolean (true)
---@return mascon.Module self
function methods:train(on)
  if on == nil then on = true end
  methods.each(self, function(m) rawset(m, '_training', on) end)
  return self
end

--- Evaluation mode for the module and all within.
---@return mascon.Module self
function methods:eval() return (self:train(false)) end

local TO = { dtype = { nil, 'string' }, device = { nil, 'string' } }
--- Converts all floating parameters and buffers to a dtype, and moves all to a device.
---@param opts table|string dtype · device; a text is one of both
---@return mascon.Module self
function methods:to(opts)
  if type(opts) == 'string' then opts = kind[opts] and { dtype = opts } or { device = opts } end
  local o = check.opts('module:to', opts, TO, 3)
  if o.dtype and kind[o.dtype] ~= 'f' then
    error(('module:to: dtype is %s; give f64, f32, f16 or bf16'):format(o.dtype), 2)
  end
  for _, e in ipairs((slots_of(self))) do
    local s = e[2]
    if kind[s.dtype] == 'f' and o.dtype then s.dtype = o.dtype end
    if s.value then
      s.value = tensor.methods.to(s.value, { dtype = s.dtype, device = o.device or s.device })
      s.device = s.value.device
    else s.device = o.device or s.device end
  end
  return self
end

--- Calls f at each call of the module: after it f(module, result, arguments ...), before it f(module, arguments ...).
---
--- What f returns, unless nil, takes the place of the (first) result, or of the arguments.
---@param f function
---@param opts? table before (false)
---@return function remove takes the hook away
function methods:hook(f, opts)
  check.arg('module:hook', 'f', f, 'function', 3)
  local field = check.opts('module:hook', opts, { before = { false, 'bool' } }, 3).before and '_before' or '_after'
  local list = { unpack(rawget(self, field) or {}) }
  list[#list + 1] = f
  rawset(self, field, list)
  return function()
    local rest = {}
    for _, h in ipairs(rawget(self, field) or {}) do if h ~= f then rest[#rest + 1] = h end end
    rawset(self, field, rest[1] and rest or nil)
  end
end

--- A table of parts of the network: each module, the shape of its result, parameters, bytes and operations of one call.
---
--- Counts multiplications and additions of linear layers, convolutions, attention and recurrent layers.
---@param ... any what the module is called with
---@return string
function methods:summary(...) return (require('mascon.nn.describe').summary(self, ...)) end

--- Writes all parameters and buffers to an .npz or .safetensors file; the old file stays when anything fails.
---@param name string path
---@param opts? table names ('module'; 'pytorch'): as in state_dict
function methods:save(name, opts)
  check.opts('module:save', opts, { names = NAMES }, 3)
  require('mascon.io').save(name, self:state_dict(opts))
end

--- Reads parameters and buffers (weights) from an .npz or .safetensors file: mc.load and load_state_dict.
---@param name string path
---@param opts? table strict (true) · names ('module'; 'pytorch'): as in state_dict
---@return mascon.Module self
function methods:load(name, opts)
  local o = check.opts('module:load', opts, { strict = { true, 'bool' }, names = NAMES }, 3)
  local state = require('mascon.io').load(name)
  if type(state) ~= 'table' or is(state) then error(('module:load: %s holds no table of tensors'):format(name), 2) end
  local list, by_name = slots_of(self)
  if list[1] and not states.any_there(self, o.names, state, list, by_name) then
    error(('module:load: %s holds none of the tensors of the module, such as %s; %s'):format(name, list[1][1],
      states.advice(self, o.names, state, list, by_name) or 'give a file of module:save'), 2)
  end
  self:load_state_dict(state, opts)
  return self
end

--- Options of layers: those given, and dtype, device and key of their parameters.
function M.options(spec)
  spec.dtype, spec.device, spec.key = { 'f32', 'string' }, placing.STANDING, { nil, 'any' }
  return spec
end

--- Options for one parameter of a layer: a key of its own when the layer was given one. settle: f(tensor) writes into
--- its first values, also where they are drawn anew.
function M.own(o, k, settle)
  return { dtype = o.dtype, device = o.device, key = o.key ~= nil and keys.key(o.key):fold_in(k) or nil,
    settle = settle }
end

return M
