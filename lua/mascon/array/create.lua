-- create.lua - tensors from sizes, numbers, tables and random streams; conversion and copies.
--
-- Reads nested Lua tables (path in errors). Random tensors come from mascon.random.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local cards = require 'mascon.core.cards'
local error = check.error
local op = require 'mascon.core.op'
local place = require 'mascon.core.place'
local C = lib.C
local is, methods = tensor.is, tensor.methods
local M = {}

local DT = { dtype = { nil, 'string' }, device = place.OPTION }

local device = tensor.device_number

--- A tensor made on the CPU, where its options want it.
local function placed(fname, t, name, level)
  if name == nil or name == 'cpu' then return t end
  return tensor.moved(t, device(fname, name, level + 1), level + 1)
end

--- {2, 3, dtype = 'f32'} or (shape, {dtype = 'f32'}): sizes and checked options.
local function shape_opts(fname, shape, opts, spec, level)
  if opts ~= nil and type(opts) ~= 'table' then
    error(('%s: options are %s; write sizes as a list, %s { 2, 3 }, and options in a table'):format(fname,
      check.show(opts), fname), level)
  end
  local sizes, given = {}, {}
  if type(shape) == 'number' then shape = { shape } end
  if type(shape) ~= 'table' then
    error(('%s: shape is %s; give a table of sizes, as in mc.%s{ 2, 3 }'):format(fname, check.show(shape), fname),
      level)
  end
  for k, v in pairs(shape) do
    if type(k) == 'number' then sizes[k] = v else given[k] = v end
  end
  if type(opts) == 'table' then for k, v in pairs(opts) do given[k] = v end end
  local o = check.opts(fname, given, spec or DT, level + 1)
  local number = device(fname, o.device, level)
  local code = tensor.dtype_code(fname, o.dtype or 'f64', level + 1)
  return sizes, tensor.name[code], o, number
end

--- A tensor of a shape whose elements are not set yet. Options dtype ('f64'), device.
---     mc.empty({ 2, 3 }, { dtype = 'f32' }).shape  --> {2, 3}
function M.empty(shape, opts)
  local s, dt, _, number = shape_opts('empty', shape, opts, nil, 3)
  return tensor.empty('empty', s, dt, 2, number)
end

local function filled(fname, v)
  return function(shape, opts)
    local s, dt, _, number = shape_opts(fname, shape, opts, nil, 3)
    return tensor.empty(fname, s, dt, 2, number):fill_(v)
  end
end
--- A tensor of one value, 0 or 1. Sizes as a list, options in the same table or after it: dtype ('f64'), device.
---     mc.zeros { 2, dtype = 'i32' }  --> i32[2]@cpu { 0, 0 }
---     mc.ones({ 1, 2 })  --> f64[1,2]@cpu { { 1, 1 } }
M.zeros, M.ones = filled('zeros', 0), filled('ones', 1)

local function boxed(v) return type(v) == 'cdata' and not is(v) and tonumber(v) ~= nil end -- a 64-bit integer

--- A tensor with every element `value`. Options dtype (bool for booleans, c128 for complex numbers, i64 for boxed
--- 64-bit integers, else f64), device.
---     mc.full({ 2 }, 7, { dtype = 'i64' })  --> i64[2]@cpu { 7, 7 }
function M.full(shape, value, opts)
  local s, dt, o, number = shape_opts('full', shape, opts, nil, 3)
  if not o.dtype then
    dt = type(value) == 'boolean' and 'bool' or tensor.is_complex(value) and 'c128' or boxed(value) and 'i64' or 'f64'
  end
  return tensor.empty('full', s, dt, 2, number):fill_(value)
end

local LIKE = { dtype = DT.dtype, device = { nil, 'string' } }
local function like(fname, v)
  return function(x, opts)
    if not is(x) then error(('%s: operand is %s; give a tensor'):format(fname, check.show(x)), 2) end
    local o = check.opts(fname, opts, LIKE, 3)
    local number = o.device and device(fname, o.device, 2) or x._device
    local t =
      tensor.empty(fname, x.shape, o.dtype and tensor.name[tensor.dtype_code(fname, o.dtype, 3)] or x.dtype, 2, number)
    return v and t:fill_(v) or t
  end
end
--- Tensors of the shape of x, and of its dtype unless dtype says another: zeros, ones, or elements that are not set
--- yet.
---     mc.ones_like(mc.tensor({ 5, 6 }, { dtype = 'i16' }))  --> i16[2]@cpu { 1, 1 }
M.zeros_like, M.ones_like, M.empty_like = like('zeros_like', 0), like('ones_like', 1), like('empty_like')

--- A tensor of the shape and dtype of x (or opts.dtype), filled with one value.
---     mc.full_like(mc.zeros{2}, 7)  --> f64[2]@cpu { 7, 7 }
function M.full_like(x, value, opts)
  return M.empty_like(x, opts):fill_(value)
end

local AS = { dtype = DT.dtype, device = { nil, 'string' }, copy = { nil, 'bool' } }
--- A tensor from a number, a nested table or a tensor. A tensor that needs no conversion is given back itself; copy =
--- true makes a new one always, copy = false makes an error of a copy that would be needed.
---     mc.asarray({ 1, 2 }, { dtype = 'i32' })  --> i32[2]@cpu { 1, 2 }
function M.asarray(v, opts)
  local o = check.opts('asarray', opts, AS, 3)
  local plain = { dtype = o.dtype, device = o.device }
  if not is(v) then
    if o.copy == false then
      error(('asarray: copy = false, but %s has to be copied into a tensor'):format(check.show(v)), 2)
    end
    return M.tensor(v, plain)
  end
  local y = methods.to(v, plain)
  if o.copy == false and not rawequal(y, v) then
    error(('asarray: copy = false, but %s has to be converted to %s'):format(tensor.describe(v), y.dtype), 2)
  end
  return o.copy and rawequal(y, v) and methods.copy(v) or y
end

local function int64(v) return 0LL + v end
--- Whole numbers past 2^53 as i64: start, stop and step are boxed 64-bit integers or whole numbers.
local function wide_range(start, stop, step, o)
  for name, v in pairs { start = start, stop = stop, step = step } do
    if not boxed(v) then check.arg('arange', name, v, 'integer', 4) end
  end
  start, stop, step = int64(start), int64(stop), int64(step)
  if step == 0 then error('arange: step is 0; give a positive or negative step', 3) end
  local n = (step > 0 and stop >= start or step < 0 and stop <= start) and tonumber((stop - start) / step) + 1 or 0
  local t = tensor.empty('arange', { n }, 'i64', 3)
  local p = tensor.pointer(t)
  for i = 0, n - 1 do p[i] = start + step * i end
  local dt = o.dtype and tensor.name[tensor.dtype_code('arange', o.dtype, 4)] or 'i64'
  return placed('arange', dt == 'i64' and t or methods.to(t, dt), o.device, 3)
end

--- Numbers start, start+step, ..., up to and including stop. arange(n) runs from 1 to n. Boxed 64-bit integers (5LL)
--- give i64.
---     mc.arange(1, 4)  --> f64[4]@cpu { 1, 2, 3, 4 }
---     mc.arange(0, 1, 0.25)  --> f64[5]@cpu { 0.0000, 0.2500, 0.5000, 0.7500, 1.0000 }
function M.arange(start, stop, step, opts)
  if type(stop) == 'table' then stop, opts = nil, stop end
  if type(step) == 'table' then step, opts = nil, step end
  if stop == nil then start, stop = 1, start end
  step = step or 1
  if boxed(start) or boxed(stop) or boxed(step) then
    return wide_range(start, stop, step, check.opts('arange', opts, DT, 3))
  end
  check.arg('arange', 'start', start, 'number', 3)
  check.arg('arange', 'stop', stop, 'number', 3)
  check.arg('arange', 'step', step, 'number', 3)
  if step == 0 then error('arange: step is 0; give a positive or negative step', 2) end
  local o = check.opts('arange', opts, DT, 3)
  local n = math.max(0, math.floor((stop - start) / step * (1 + 2e-16) + 1e-12) + 1)
  local dt = o.dtype and tensor.name[tensor.dtype_code('arange', o.dtype, 3)] or 'f64'
  local t = tensor.empty('arange', { n }, 'f64', 2)
  local p = tensor.pointer(t)
  for i = 0, n - 1 do p[i] = start + i * step end
  return placed('arange', dt == 'f64' and t or methods.to(t, dt), o.device, 2)
end

--- n numbers from start to stop, both included.
---     mc.linspace(0, 1, 5)  --> f64[5]@cpu { 0.0000, 0.2500, 0.5000, 0.7500, 1.0000 }
function M.linspace(start, stop, n, opts)
  if tensor.is_complex(start) or tensor.is_complex(stop) then
    local a, b = tensor.complex(0, 0) + start, tensor.complex(0, 0) + stop
    local z = tensor.empty('linspace', { check.arg('linspace', 'n', n, 'integer >= 0', 3) }, 'c128', 2)
    local o = check.opts('linspace', opts, { dtype = { 'c128', { 'c64', 'c128', 'complex64', 'complex128' } },
      device = DT.device, endpoint = { true, 'bool' } }, 3)
    methods.view_real(z):copy_(M.linspace(a.re, b.re, n, { endpoint = o.endpoint }))
    methods.view_imag(z):copy_(M.linspace(a.im, b.im, n, { endpoint = o.endpoint }))
    return placed('linspace', methods.to(z, o.dtype), o.device, 2)
  end
  check.arg('linspace', 'start', start, 'number', 3)
  check.arg('linspace', 'stop', stop, 'number', 3)
  check.arg('linspace', 'n', n, 'integer >= 0', 3)
  local o = check.opts('linspace', opts, { dtype = DT.dtype, device = DT.device, endpoint = { true, 'bool' } }, 3)
  local t = tensor.empty('linspace', { n }, 'f64', 2)
  local p, d = tensor.pointer(t), o.endpoint and n - 1 or n
  for i = 0, n - 1 do p[i] = start + (d > 0 and i * ((stop - start) / d) or 0) end
  if o.endpoint and n > 1 then p[n - 1] = stop end
  local dt = o.dtype and tensor.name[tensor.dtype_code('linspace', o.dtype, 3)] or 'f64'
  return placed('linspace', dt == 'f64' and t or methods.to(t, dt), o.device, 2)
end

-- ---------------------------------------------------------------- nested tables

local function path_text(path) return #path == 0 and 'the table' or 'x[' .. table.concat(path, '][') .. ']' end

--- The error for a table with names in it: an object, such as a module of a network, says what it is.
local function named(v, key, path, level)
  local meta = getmetatable(v)
  if type(meta) == 'table' and meta.__tostring then
    error(('tensor: %s is an object, %s; give a tensor%s'):format(path_text(path), tostring(v):match '[^\n]*',
      meta.__call and ', such as the result of its call' or ' or a list of numbers'), level + 1)
  end
  error(('tensor: %s has the key %s; nested tables hold positions only'):format(path_text(path), check.show(key)),
    level + 1)
end

--- Shape of a nested table; ragged tables and gaps are errors with the path of the first offender.
local function table_shape(v, shape, path, level)
  if type(v) ~= 'table' then return shape end
  if #shape == 8 then error('tensor: the table is nested more than 8 deep, or contains itself', level) end
  local n, max = #v, 0
  for k in pairs(v) do
    if type(k) ~= 'number' then named(v, k, path, level) end
    max = max + 1
  end
  if max ~= n then error(('tensor: %s has a gap; position %d is nil'):format(path_text(path), n + 1), level) end
  shape[#shape + 1] = n
  if n > 0 then
    path[#path + 1] = 1
    table_shape(v[1], shape, path, level + 1)
    path[#path] = nil
  end
  return shape
end

--- A list of numbers and nothing else as f64 [n]; nil for any other table.
local function from_list(v, level)
  if type(v) ~= 'table' then return nil end
  local n = #v
  if n == 0 or type(v[1]) ~= 'number' or next(v, n) ~= nil then return nil end
  local t = tensor.empty('tensor', n, 'f64', level + 1)
  local p = tensor.pointer(t)
  for i = 1, n do
    local x = v[i]
    if type(x) ~= 'number' then return nil end
    p[i - 1] = x
  end
  return t
end

--- Whether an element of a table stays a tensor: on a device, or followed by a recording, which would take its value
--- for a constant.
local function follows(x) return x._numel == 1 and (x._device ~= 0 or tensor.recorded(x)) end

--- Numbers and tensors of one element as a vector on the device of one of them.
local function stacked(flat, dtype, first)
  local parts = {}
  for i, x in ipairs(flat) do
    if is(x) then parts[i] = methods.to(methods.reshape(x, {}), dtype)
    else
      local t = op.scalar('tensor', x, 2)
      t._flags = 0
      parts[i] = tensor.moved(methods.to(t, dtype), first._device, 2)
    end
  end
  return op.functions.stack(parts, 1)
end

function M.from_table(v, dtype, level)
  level = level or 3
  if dtype == nil or dtype == 'f64' then
    local t = from_list(v, level)
    if t then return t end
  end
  local shape = table_shape(v, {}, {}, level + 1)
  local flat, path, complex, kinds, integer64, kept = {}, {}, false, {}, false, nil
  local function walk(x, d)
    if d > #shape then
      local k = type(x)
      if k == 'table' then
        error(('tensor: %s is a table, its neighbours are numbers'):format(path_text(path)), level + d + 1)
      end
      if k == 'cdata' and is(x) then
        if follows(x) then
          local kind = tensor.kind[x.dtype]
          kept, complex, kinds[kind == 'b' and 'boolean' or 'number'] = kept or x, complex or kind == 'c', true
          flat[#flat + 1] = x
          return
        end
        x = x:item()
        k = type(x)
      end
      if tensor.is_complex(x) then complex, k = true, 'number'
      elseif k == 'cdata' then integer64, k = true, 'number' end
      if k ~= 'number' and k ~= 'boolean' then
        error(('tensor: %s is %s; give numbers or booleans'):format(path_text(path), check.show(x)), level + d + 1)
      end
      kinds[k] = true
      flat[#flat + 1] = x
      return
    end
    if type(x) ~= 'table' then
      error(('tensor: %s is %s, its neighbours are tables'):format(path_text(path), check.show(x)), level + d + 1)
    end
    if #x ~= shape[d] then
      error(('tensor: %s has %d entries, its neighbours have %d'):format(path_text(path), #x, shape[d]), level + d + 1)
    end
    for i = 1, shape[d] do
      path[d] = i
      walk(x[i], d + 1)
      path[d] = nil
    end
  end
  walk(v, 1)
  if kinds.number and kinds.boolean then
    if not dtype then error('tensor: numbers and booleans are mixed; use one kind, or give dtype', level) end
    for i, x in ipairs(flat) do if type(x) == 'boolean' then flat[i] = x and 1 or 0 end end
    kinds.boolean = nil
  end
  local natural = complex and 'c128' or integer64 and 'i64' or kinds.boolean and 'bool' or 'f64'
  if kept then return methods.to(methods.reshape(stacked(flat, natural, kept), shape), dtype or natural) end
  local t = tensor.empty('tensor', shape, natural, level)
  local p = tensor.pointer(t)
  for i, x in ipairs(flat) do
    if complex then
      local z = type(x) == 'number' and { re = x, im = 0 } or x
      p[2 * i - 2], p[2 * i - 1] = z.re, z.im
    elseif natural == 'bool' then
      p[i - 1] = x and 1 or 0
    else
      p[i - 1] = x
    end
  end
  if dtype and dtype ~= natural then
    if natural == 'f64' and tensor.kind[dtype] ~= 'f' and tensor.kind[dtype] ~= 'c' and dtype ~= 'bool' then
      for i, x in ipairs(flat) do
        if x ~= math.floor(x) then
          error(('tensor: entry %d is %.17g; dtype %s takes whole numbers, round first'):format(i, x, dtype), level)
        end
      end
    end
    return methods.to(t, dtype)
  end
  return t
end
op.from_table = M.from_table
require('mascon.core.operands').from_table = M.from_table

--- A tensor from a nested table, a number, a boolean, a complex number, or a copy of a tensor.
---     mc.tensor({ { 1, 2 }, { 3, 4 } }, { dtype = 'f32' })  --> f32[2,2]@cpu { { 1, 2 }, { 3, 4 } }
function M.tensor(v, opts)
  local o = check.opts('tensor', opts, LIKE, 3)
  local where = o.device or not is(v) and place.taken()
  local number = where and device('tensor', where, 2)
  local dtype = o.dtype and tensor.name[tensor.dtype_code('tensor', o.dtype, 3)]
  local t
  if is(v) then
    if number and number ~= v._device then
      t = tensor.moved(v, number, 2)
      return dtype and dtype ~= v.dtype and methods.to(t, dtype) or t
    end
    return dtype and dtype ~= v.dtype and methods.to(v, dtype) or methods.copy(v)
  end
  if type(v) == 'table' then
    t = M.from_table(v, dtype, 3)
  else
    t = op.scalar('tensor', v, 2)
    t._flags = 0
    t = dtype and dtype ~= t.dtype and methods.to(t, dtype) or t
  end
  return number and tensor.moved(t, number, 2) or t
end

--- A complex number of two numbers, or a complex tensor of a real and an imaginary part.
--- re, im: real numbers or tensors that broadcast (im: 0 when left out). Result: mc.complex of two numbers; else c64
--- where both parts are f16, bf16 or f32 (numbers do not count), else c128. Errors: complex parts.
---     mc.complex(1, 2)  --> 1+2i
---     mc.complex(mc.tensor{ 1, 2 }, 3)  --> c128[2]@cpu { 1+3i, 2+3i }
---@param re any
---@param im? any
---@return any
function M.complex(re, im, ...)
  if select('#', ...) > 0 then error('complex: too many arguments; give the real and the imaginary part', 2) end
  im = im or 0
  if not is(re) and not is(im) then
    check.arg('complex', 'the real part', re, 'number', 3)
    check.arg('complex', 'the imaginary part', im, 'number', 3)
    return tensor.complex(re, im)
  end
  local single = true
  for name, v in pairs { re = re, im = im } do
    if is(v) then
      if tensor.kind[v.dtype] == 'c' then
        error(('complex: %s is %s; give real parts'):format(name, tensor.describe(v)), 2)
      end
      single = single and (v.dtype == 'f32' or v.dtype == 'f16' or v.dtype == 'bf16')
    else check.arg('complex', name == 're' and 'the real part' or 'the imaginary part', v, 'number', 3) end
  end
  local dt = single and 'f32' or 'f64'
  local form = is(re) and (is(im) and methods.to(re, dt) + methods.to(im, dt) or re) or im
  local z = tensor.empty('complex', tensor.shape_of(form), single and 'c64' or 'c128', 2, form._device)
  for view, v in pairs { view_real = re, view_imag = im } do
    local part = methods[view](z)
    if is(v) then part:copy_(methods.to(v, dt)) else part:fill_(v) end
  end
  return z
end

-- ---------------------------------------------------------------- copies and conversion

--- The same elements in memory of their own, contiguous.
---     mc.tensor({ 1, 2 }):copy():shares_memory(mc.tensor { 1, 2 })  --> false
function methods.copy(t)
  local out = tensor.empty_like(t, tensor.name[t._dtype], 2)
  local rc = C.mc_copy(out, t)
  if rc ~= 0 then tensor.failed(rc, 2, true, t) end
  return out
end
methods.clone = methods.copy

--- The tensor itself when it is contiguous, else a contiguous copy.
function methods.contiguous(t)
  if methods.is_contiguous(t) then return t end
  return methods.copy(t)
end

local function converted(t, code)
  if code == t._dtype then return t end
  local out = tensor.empty_like(t, tensor.name[code], 3)
  local rc = C.mc_copy(out, t)
  if rc ~= 0 then tensor.failed(rc, 3, true, t) end
  return out
end

local DEVICE = { cpu = true, ref = true, gpu = true, auto = true } -- words that begin names of devices
for _, kind in ipairs(cards) do DEVICE[kind] = true end
local TO = { dtype = { nil, 'string' }, device = { nil, 'string' } }
--- x:to 'f32', x:to 'cuda', x:to{ dtype =, device = }: a copy in a dtype or on a device, or x itself when nothing
--- changes. Devices are named cpu, cuda:0, opencl:0, gpu (the first of cuda, opencl), and auto (what MASCON_DEVICE
--- names, else a card, else the CPU). Operations take operands of one device.
---     mc.tensor({ 1.5, -2 }):to { dtype = 'i32' }  --> i32[2]@cpu { 1, -2 }
function methods.to(t, what)
  local plain = type(what) == 'string' and tensor.code[what]
  if plain then return converted(t, plain) end
  if type(what) == 'string' then
    local dtype, head = tensor.long_names[what], what:match '^[^:]*'
    if not dtype and not DEVICE[head] then
      local near = check.nearest(what, tensor.code) or check.nearest(head:lower(), DEVICE)
      error(('to: %q is neither a dtype (f64, i64 ...) nor a device ("cpu", %s, "gpu", "auto")%s'):format(what,
        cards.named(0, ', '), near and ('; did you mean %q?'):format(near) or ''), 2)
    end
    what = dtype and { dtype = what } or DEVICE[head] and { device = what } or { dtype = what }
  end
  local o = check.opts('to', what, TO, 3)
  local number = o.device and device('to', o.device, 2) or t._device
  local y = t
  if o.dtype then y = converted(t, tensor.dtype_code('to', o.dtype, 3)) end
  return tensor.moved(y, number, 2)
end
--- The tensor on a device: x:to { device = ... }.
function methods.to_device(t, name) return methods.to(t, { device = name }) end

-- ---------------------------------------------------------------- random streams: short names; mc.random has the rest

local source = require 'mascon.random.source'
function source.load_draws() return require 'mascon.random' end
local draw = require 'mascon.random.draw'
local UNIFORM, NORMAL, INTEGERS = op.rows.random_uniform, op.rows.random_normal, op.rows.random_integers

--- Sets the key of the default generator and starts its streams anew.
---@param n integer 0 <= n < 2^53
function M.seed(n)
  check.arg('seed', 'n', n, 'integer >= 0', 3)
  source.seed(n)
end

--- Key and stream in use (for manifests).
function M.seed_state()
  local g = source.default_generator()
  return g.key.hi * 2 ^ 32 + g.key.lo, g.stream
end

--- Uniform numbers on [low, high): mc.random.uniform.
function M.rand(shape, opts)
  local out = draw.draw(UNIFORM, 'rand', shape, opts, nil, 3)
  return out
end
--- Normal numbers: mc.random.normal.
---     mc.randn({ 2 }, { seed = 1 }).shape  --> {2}
function M.randn(shape, opts)
  local out = draw.draw(NORMAL, 'randn', shape, opts, nil, 3)
  return out
end
--- Whole numbers in [low, high], both included, without bias: mc.random.integers.
---     mc.randint(1, 6, { 3 }, { seed = 1 }).dtype  --> i64
function M.randint(low, high, shape, opts)
  check.arg('randint', 'low', low, 'integer', 3)
  check.arg('randint', 'high', high, 'integer', 3)
  if high < low then error(('randint: high %d is below low %d; swap them'):format(high, low), 2) end
  local out = draw.draw(INTEGERS, 'randint', shape, opts, { named = { low = low, high = high } }, 3)
  return out
end
--- A random order of 1..n as i64: mc.random.permutation.
function M.randperm(n, opts)
  check.arg('randperm', 'n', n, 'integer >= 0', 3)
  return require('mascon.random.sample').permutation(n, opts)
end

place.made_by(M, 'empty zeros ones full asarray arange linspace tensor rand randn randint randperm')

return M
