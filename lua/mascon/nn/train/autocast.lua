-- autocast.lua - mixed precision: a function of f32 tensors whose products run in 16 bits.
--
-- The function is traced as it stands, in f32, and its graph runs again with casts before the operations: products and
-- convolutions take 16-bit operands (rows of the op table with mixed = 'low'), sums, exponentials and logarithms take
-- f32 ones (mixed = 'f32'), the others what they get; a sum of a product and something smaller, a bias, belongs to the
-- product (mixed = 'bias'). Casts are ops, so derivatives go back through them and arrive in
-- the dtype of the parameters. Holds that walk.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local evaluate = require 'mascon.transform.evaluate'
local trace = require 'mascon.transform.trace'
local error = check.error
local methods = tensor.methods
local M = {}

local HALF = { f16 = true, bf16 = true }
local OPTS = { dtype = { 'bf16', { 'bf16', 'f16' } }, policy = { 'selective', { 'selective', 'conservative',
  'aggressive' } }, low = { nil, 'table' }, f32 = { nil, 'table' }, enabled = { true, 'bool' } }

local apart -- numbers of calls whose operations stay as recorded (enabled = false), while a function is traced

--- The options of autocast that an option amp stands for: 'bf16', 'f16' or a table of them; nil of nil.
function M.chosen(fname, amp, level)
  if type(amp) == 'string' then amp = { dtype = amp } end
  if amp ~= nil and (type(amp) ~= 'table' or amp.dtype ~= nil and not HALF[amp.dtype]) then
    error(("%s: amp is %s; give 'bf16', 'f16' or a table of options of mc.nn.autocast"):format(fname,
      check.show(type(amp) == 'table' and amp.dtype or amp)), level)
  end
  return amp
end

--- What a layout of a value shows of a tensor that may have been cast.
local function see(t, u)
  local v = u.value
  if u.dtype ~= v.dtype or not HALF[t.dtype] and t._dtype == v.dtype then return evaluate.see(t, u) end
  if evaluate.whole(u) and not u.weak then return t end
  local out = recording.strided(t, u.shape, u.strides, u.offset or 0)
  return u.weak and recording.weaken(out) or out
end

--- A set of names of ops from a list of the user's, each of them known.
local function names(fname, what, list)
  local set, rows = {}, require('mascon.core.op').rows
  for _, name in ipairs(list or {}) do
    if type(name) ~= 'string' or not rows[name] then
      local near = type(name) == 'string' and check.nearest(name, rows)
      error(('%s: %s names %s, which is no operation%s'):format(fname, what, check.show(name),
        near and ('; did you mean %s?'):format(near) or ''), 4)
    end
    set[name] = true
  end
  return set
end

--- 'low', 'f32', 'as recorded', 'rounded' to 16 bits and as recorded, or 'any': what the operands of a node become.
local function class_of(n, o)
  if n.remat and o.apart[n.remat] then return 'as recorded' end
  if n.kind == 'copy' then return n.ins[1].dtype == n.outs[1].dtype and 'any' or 'as recorded' end
  if n.kind == 'call' and n.prim.again then return 'any' end
  if n.kind == 'call' and n.prim.product and not o.f32_names[n.prim.product] then return 'rounded' end
  if n.kind ~= 'op' then return 'as recorded' end
  local row = n.row
  local name = row[1]
  if o.f32_names[name] then return 'f32' end
  local takes = false
  for _, d in ipairs(row.dtypes or {}) do takes = takes or d == o.dtype end
  if not takes or n.params.dtype >= 0 then return 'as recorded' end
  if o.low_names[name] or row.mixed == 'low' then return 'low' end
  if row.mixed == 'bias' and o.joins(n) then return 'low' end
  if row.mixed == 'f32' then return o.policy == 'aggressive' and row.family ~= 'softmax' and 'any' or 'f32' end
  return o.policy == 'conservative' and 'f32' or 'any'
end

local function run(graph, inputs, policy)
  local env, lowered, products = {}, {}, {}
  local o = setmetatable({ joins = function(n)
    local a, b = n.ins[1], n.ins[2]
    local x, y = graphs.numel(a.shape), graphs.numel(b.shape)
    return products[a.value] and y < x or products[b.value] and x < y
  end }, { __index = policy })
  for i, v in ipairs(graph.inputs) do env[v] = inputs[i] end
  for _, v in ipairs(graph.consts) do env[v] = v.const end
  --- The value as 16 bits: cast once, however often it is used.
  local function low(u)
    local v = u.value
    if u.weak or env[v].dtype ~= 'f32' or u.dtype ~= v.dtype then return see(env[v], u) end
    lowered[v] = lowered[v] or methods.to(env[v], o.dtype)
    return see(lowered[v], u)
  end
  for _, n in ipairs(graph.nodes) do
    local class, ins = class_of(n, o), {}
    for i, u in ipairs(n.ins) do
      local t = (class == 'low' or class == 'rounded') and low(u) or see(env[u.value], u)
      local as = class == 'f32' and 'f32' or (class == 'as recorded' or class == 'rounded') and tensor.name[u.dtype]
        or nil
      if as and HALF[t.dtype] and t.dtype ~= as then t = methods.to(t, as) end
      ins[i] = t
    end
    local outs
    if n.kind == 'copy' and class == 'any' then
      outs = { tensor.empty('copy', n.outs[1].shape, ins[1].dtype, 2, ins[1]._device):copy_(ins[1]) }
    elseif n.kind == 'call' and n.prim.again then
      outs = n.prim:again(function(inner, given) return M.outputs(inner, given, o) end, ins)
    else outs = evaluate.node(n, ins) end
    for i, t in ipairs(outs) do
      env[n.outs[i]] = class == 'rounded' and t.dtype == 'f32' and methods.to(t, o.dtype) or t
    end
    if class == 'low' and n.row.mixed == 'low' then products[n.outs[1]] = true end
  end
  return env
end

--- Results of a graph under a policy, as its uses show them.
function M.outputs(graph, inputs, o)
  local env, out = run(graph, inputs, o), {}
  for i, u in ipairs(graph.outputs) do out[i] = see(env[u.value], u) end
  return out
end

--- A function in mixed precision: products and convolutions of f32 tensors take operands of 16 bits.
---
--- Sums, means, softmax, exponentials, logarithms and powers take f32 operands; other operations take what they get,
--- and 16 bits meet f32 as f32. f64, complex and integer tensors stay as they are, and so do conversions that f asks
--- for. Attention takes operands of 16 bits and computes in f32. Parameters stay f32 and get f32 gradients:
--- mc.grad(mc.nn.autocast(f)). Bodies of loops (mc.scan, recurrent layers) stay f32. A processor without 16-bit
--- arithmetic gains memory by it, not time.
---@param f function of trees of tensors
---@param opts? table dtype: 'bf16' or 'f16' ('bf16') · policy: 'selective'; 'conservative' runs all but products and
---   convolutions in f32, 'aggressive' sums and exponentials in 16 bits too · low, f32: lists of names of operations
---   that run in 16 bits, or in f32 · enabled (true): false gives f as it is, within another autocast, too
---@return function
--- Errors: names that are no operations. Source: Mixed precision training, 2018; torch.autocast.
---     local a = mc.ones{ 2, 2, dtype = 'f32' }
---     mc.nn.autocast(function(x, y) return mc.matmul(x, y) end)(a, a).dtype  --> bf16
function M.autocast(f, opts)
  local fname = 'nn.autocast'
  check.arg(fname, 'f', f, 'function', 3)
  local given = check.opts(fname, opts, OPTS, 3)
  if not given.enabled then
    return function(...)
      if not apart then return f(...) end
      return recording.anew(function(...)
        apart[recording.turn()] = true
        return f(...)
      end, ...)
    end
  end
  local policy = { dtype = given.dtype, policy = given.policy, low_names = names(fname, 'low', given.low),
    f32_names = names(fname, 'f32', given.f32) }
  return function(...)
    local args = { n = select('#', ...), ... }
    local nested = recording.on()
    local before, o = apart, setmetatable({ apart = {} }, { __index = policy })
    apart = o.apart
    local ok, t = pcall(trace.run, f, args, { numbers = {}, restore = true, name = fname })
    apart = before
    if not ok then error(t, 0) end
    if next(t.graph.effects) then
      error(fname .. ': the function writes to an argument; give it a copy, x:copy()', 2)
    end
    if not nested and #t.graph.nodes == 0 then return unpack(t.results, 1, t.results.n) end
    local values, made = {}, M.outputs(t.graph, t.inputs, o)
    for i, v in ipairs(t.leaves) do values[i] = v end
    for i, at in ipairs(t.outputs) do values[at] = made[i] end
    local out = trace.with(t.results, values)
    return unpack(out, 1, out.n)
  end
end

return M
