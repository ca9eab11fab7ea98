-- tensor.lua - the handle: making, releasing, scopes, properties, the metatable.
--
-- Holds the metatype of mc_tensor, scopes and when to collect. Small results live inline in the Lua heap without a
-- finalizer; a result that needed storage gets ffi.gc with the plain C release. Ops (op.lua), indexing (index.lua) and
-- printing (print.lua) add methods.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local misspelt = require 'mascon.core.misspelt'
local elsewhere = require 'mascon.core.elsewhere'
local queued = require 'mascon.core.queued'
local error = check.error
local C, gen = lib.C, lib.gen

local M = {}

local ct = ffi.typeof 'mc_tensor'
local istype = ffi.istype
local methods = {}
M.methods, M.ct, M.istype, M.new = methods, ct, istype, ffi.new -- new(ct, n): in interpreted code cheaper than ct(n)

local CODE, NAME, KIND, SIZE = {}, {}, {}, {}
for _, d in ipairs(gen.dtypes) do
  CODE[d[1]], NAME[d.code], KIND[d[1]], SIZE[d[1]] = d.code, d[1], d.kind, d.size
end
local ALIAS = {
  float32 = 'f32', float64 = 'f64', float16 = 'f16', bfloat16 = 'bf16', int8 = 'i8', int16 = 'i16', int32 = 'i32',
  int64 = 'i64', uint8 = 'u8', complex64 = 'c64', complex128 = 'c128', double = 'f64', float = 'f32', single = 'f32',
  half = 'f16', int = 'i64', boolean = 'bool',
}
M.code, M.name, M.kind, M.size, M.long_names = CODE, NAME, KIND, SIZE, ALIAS
--- The mark of an absent value in nested tables and options.
M.none = setmetatable({}, { __tostring = function() return 'mc.none' end })

--- dtype code of a name ('f32', 'float32'), or an error that offers the nearest.
function M.dtype_code(fname, name, level)
  local code = CODE[name] or CODE[ALIAS[name]]
  if code then return code end
  local near = type(name) == 'string' and check.nearest(name, CODE)
  error(('%s: dtype %s is unknown; choose bool, u8, i8, i16, i32, i64, f16, bf16, f32, f64, c64 or c128%s'):format(
    fname, check.show(name), near and (' (did you mean %q?)'):format(near) or ''), level or 3)
end

--- The dtype in which two dtypes meet.
function M.promote_dtypes(a, b) return NAME[C.mc_promote_types(CODE[a], CODE[b])] end

local function no_tensor(name, v)
  error(('%s: the operand is %s; give a tensor (a method is called with a colon, x:%s())'):format(name,
    check.show(v), name), 3)
end

--- x is a tensor.
---     mc.is_tensor(mc.zeros{ 2 }), mc.is_tensor(2)  --> true, false
function M.is(x) return type(x) == 'cdata' and istype(ct, x) end
local is = M.is

-- ---------------------------------------------------------------- making and keeping

local pressure = C.mc_memory_pressure()
local scope -- innermost open scope: { tensors..., n =, keep = {}, f = its function, where =, outer = } or nil

local CYCLE = 2 ^ 20 -- KiB of work for one step of the collector: more than a cycle takes

--- Ends the collector's cycle, or runs one: half the work of collectgarbage(), which sweeps the heap before it begins.
local function collect()
  collectgarbage('step', CYCLE)
  C.mc_tape_drop(1)
  C.mc_memory_collected(collectgarbage 'count' * 1024)
end

--- A header that got storage: give it the finalizer, enter it in the open scope, collect when live bytes grew by a
--- step.
local function finish(t)
  ffi.gc(t, C.mc_drop)
  if scope then
    local n = scope.n + 1
    scope.n, scope[n] = n, t
  end
  if pressure[0] ~= 0 then collect() end
  return t
end

--- An empty result header with room for `bytes` inline.
local function header(bytes)
  if bytes > 1024 then bytes = 0 end
  local t = ct((bytes + 7) / 8)
  t._capacity = bytes
  t._dtype = -1
  return t
end
M.header, M.finish = header, finish

local LISTED = 2 ^ 20 -- bytes of a tensor whose release would help

--- The error text for memory that ran out, with the largest live tensors of the device that it names.
local function memory_text()
  local lines, entry = { lib.message() }, ffi.new 'int64_t[11]'
  local on = lines[1]:match ' on (%a+:%d+) '
  local k, number = 0, on and C.mc_device_find(on) or 0
  while k < 5 and C.mc_memory_largest(number, k, entry) ~= 0 and entry[0] >= LISTED do
    local dims = {}
    for i = 1, tonumber(entry[2]) do dims[i] = tostring(tonumber(entry[2 + i])) end
    lines[#lines + 1] = ('  %10s  %s[%s]'):format(('%.1f MiB'):format(tonumber(entry[0]) / 2 ^ 20),
      NAME[tonumber(entry[1])], table.concat(dims, ','))
    k = k + 1
  end
  -- what was live when memory ran out and went with the call: values of a compiled function, workspace
  local live = tonumber(lines[1]:match '%(([%d.]+) MiB are live%)')
  if live then
    if number > 0 then C.mc_device_memory(number, entry) else C.mc_memory_stats(entry) end
    local within = live - tonumber(entry[0]) / 2 ^ 20
    if within >= 1 then lines[#lines + 1] = ('  %10s  within the call itself'):format(('%.1f MiB'):format(within)) end
  end
  if k > 0 then table.insert(lines, 2, ('largest live tensors%s:'):format(on and ' there' or '')) end
  return table.concat(lines, '\n')
end

local released = setmetatable({}, { __mode = 'k' })

local site = check.site
function check.outer() return scope and scope.where ~= '?' and scope.where end

--- After a failing C call on these operands: the second attempt for memory, else the error. Returns true when the call
--- may be repeated.
local function failed(rc, level, again, ...)
  if rc == lib.status.ENOMEM and not again then
    C.mc_memory_trim()
    collectgarbage()
    collectgarbage()
    C.mc_memory_collected(collectgarbage 'count' * 1024)
    return true
  end
  if rc == lib.status.ENOMEM then error(memory_text(), level + 1) end
  if rc == lib.status.ERELEASED then
    for i = 1, select('#', ...) do
      local list = select(i, ...)
      if is(list) then list = { list } end
      for k = 1, type(list) == 'table' and #list or 0 do
        local at = released[list[k]]
        if at then
          error((lib.message():gsub('was released', function() return 'was released at ' .. at end)), level + 1)
        end
      end
    end
  end
  error(lib.message(), level + 1)
end
M.failed = failed

--- Runs `f(out, ...)` on a fresh header: the ladder of out of memory, then the finalizer. f returns a status.
---@param level integer whom to blame, as in error(), counted from the caller of make
local function make(level, bytes, f, ...)
  local t = header(bytes)
  local rc = f(t, ...)
  if rc ~= 0 and failed(rc, level + 1, false, ...) then
    t = header(bytes)
    rc = f(t, ...)
    if rc ~= 0 then failed(rc, level + 1, true, ...) end
  end
  if t._storage ~= nil then return finish(t) end
  return t
end
M.make = make

local sizes_t, sizes_spare = ffi.typeof 'int64_t[8]', nil

local function entered(fname, v, dims, i, least, level)
  if type(v) ~= 'number' or v ~= math.floor(v) or v < least then
    error(('%s: size %d of the shape is %s; sizes are whole numbers from %d'):format(fname, i, check.show(v), least),
      level + 1)
  end
  dims[i - 1] = v
  return v
end

--- An array of sizes after its use, for the next shape.
function M.give_dims(dims) sizes_spare = dims end

--- Shape arguments {2, 3} or a plain number as an array of C; returns the rank, the array and the product of the sizes.
function M.dims(fname, shape, level, least)
  least = least or 0
  local dims = sizes_spare
  if dims then sizes_spare = nil else dims = sizes_t() end
  if type(shape) == 'number' then return 1, dims, entered(fname, shape, dims, 1, least, level) end
  if type(shape) ~= 'table' then
    error(('%s: shape is %s; give a table of sizes'):format(fname, check.show(shape)), level)
  end
  local n = #shape
  if n > 8 then error(('%s: shape has %d axes; at most 8'):format(fname, n), level) end
  -- no loop up to four axes: see check.opts
  local count = 1
  if n > 0 then count = entered(fname, shape[1], dims, 1, least, level) end
  if n > 1 then count = count * entered(fname, shape[2], dims, 2, least, level) end
  if n > 2 then count = count * entered(fname, shape[3], dims, 3, least, level) end
  if n > 3 then
    for i = 4, n do count = count * entered(fname, shape[i], dims, i, least, level) end
  end
  return n, dims, count
end

local function create_on(t, device, code, n, sizes) return C.mc_create_on(t, device, code, n, sizes) end

--- Uninitialised tensor. device: a number of M.device_number (the CPU).
function M.empty(fname, shape, dtype, level, device)
  local n, dims, count = M.dims(fname, shape, (level or 2) + 1)
  local t
  if device and device ~= 0 then t = make(level or 2, 0, create_on, device, CODE[dtype], n, dims)
  else
    local bytes = SIZE[dtype] * count
    t = make(level or 2, bytes <= 1024 and bytes or 0, C.mc_create, CODE[dtype], n, dims)
  end
  M.give_dims(dims)
  return t
end

--- Uninitialised contiguous tensor of the shape of t, on its device.
function M.empty_like(t, dtype, level)
  if t._device ~= 0 then return make(level or 2, 0, create_on, t._device, CODE[dtype], t._ndim, t._shape) end
  local bytes = SIZE[dtype] * tonumber(t._numel)
  return make(level or 2, bytes <= 1024 and bytes or 0, C.mc_create, CODE[dtype], t._ndim, t._shape)
end

--- Inline payload becomes shared storage, so that views can hold on to it.
local function promote(t, level)
  if t._storage == nil then
    local rc = C.mc_promote(t)
    if rc ~= 0 and failed(rc, level + 1, false, t) then
      rc = C.mc_promote(t)
      if rc ~= 0 then failed(rc, level + 1, true, t) end
    end
    ffi.gc(t, C.mc_drop) -- not entered in the open scope: the tensor may be older than it
  end
  return t
end
M.promote = promote

--- Gives the memory back now. The handle may not be used afterwards.
function methods.release(t)
  if t._data ~= nil then released[t] = site() end
  ffi.gc(t, nil)
  C.mc_drop(t)
end

--- release() of a tensor that nobody else has: without a note of the script's line, which takes longer than the rest.
function M.drop(t)
  ffi.gc(t, nil)
  C.mc_drop(t)
end

--- A tensor that was just made and that nobody else holds, under another shape of as many elements: its own header
--- changes, since a view would leave the first handle, and with it the memory, to the collector. What a recording
--- follows becomes a view.
function M.reshaped(t, sizes)
  if C.mc_record_traced(t) ~= 0 or C.mc_is_contiguous(t) == 0 then return methods.reshape(t, sizes) end
  local n, step = #sizes, 1
  t._ndim = n
  for i = n, 1, -1 do
    t._shape[i - 1], t._strides[i - 1] = sizes[i], step
    step = step * sizes[i]
  end
  return t
end

-- ---------------------------------------------------------------- scopes

local function walk(v, f, seen)
  if is(v) then
    f(v)
  elseif type(v) == 'table' and not seen[v] then
    seen[v] = true
    for k, x in pairs(v) do
      walk(k, f, seen)
      walk(x, f, seen)
    end
  end
end

--- Keeps a tensor (or the tensors in a table) alive past the end of the innermost scope; returns it. In a function that
--- the library calls, past the scopes of the library around it too: it then belongs to the scope in which the library
--- was called.
function M.keep(v)
  local s = scope
  while s do
    walk(v, function(t) s.keep[t] = true end, {})
    s = s.outer
    if s and not check.library(s.f) then break end
  end
  return v
end

--- The same for the library itself: past the innermost scope alone.
function M.hold(v)
  local s = scope
  if s then walk(v, function(t) s.keep[t] = true end, {}) end
  return v
end

--- Keeps a tensor alive past the end of every open scope, for what remembers it between calls; returns it.
function M.outlive(t)
  local s = scope
  while s do
    s.keep[t] = true
    s = s.outer
  end
  return t
end

local function close(s, where, ...)
  scope = s.outer
  for i = 1, select('#', ...) do
    walk(select(i, ...), function(t) s.keep[t] = true end, {})
  end
  for i = 1, s.n do
    local t = s[i]
    if t._data ~= nil then
      if s.keep[t] then
        if scope then
          scope.n = scope.n + 1
          scope[scope.n] = t
        end
      else
        released[t] = where
        ffi.gc(t, nil)
        C.mc_drop(t)
      end
    end
  end
end

--- Runs f(...); all tensors made inside are released at its end, also on error, except those it returns (also inside
--- tables) and those given to mc.keep. Yielding out of a scope is an error.
---     mc.scope(function() return mc.sum(mc.ones{ 3 }) end)  --> f64[]@cpu 3
---@param f fun(...): any
---@return any ... what f returned
function M.scope(f, ...)
  if type(f) ~= 'function' then error('scope: the argument is ' .. check.show(f) .. '; give a function', 2) end
  -- a scope runs on a stack of its own: the lines of the caller of one inside another are those of the other
  local s = { n = 0, keep = setmetatable({}, { __mode = 'k' }), outer = scope, f = f, where = site() }
  if s.where == '?' and scope then s.where = scope.where end
  scope = s
  local co = coroutine.create(f)
  local where = s.where .. ' (end of scope)'
  local function done(ok, ...)
    if ok and coroutine.status(co) == 'suspended' then
      while scope ~= s.outer do close(scope, where) end
      error('scope: the function yielded; a scope must end before control leaves it', 3)
    end
    if not ok then
      local e = (...)
      while scope ~= s.outer do close(scope, where) end
      if type(e) == 'string' then error(e, 0) end
      error(e)
    end
    close(s, where, ...)
    return ...
  end
  return done(coroutine.resume(co, ...))
end

-- ---------------------------------------------------------------- properties

local shape_meta = {}
shape_meta.__eq = function(a, b)
  local n = #a
  if n ~= #b or a[1] ~= b[1] or a[2] ~= b[2] or a[3] ~= b[3] then return false end
  if n > 3 then
    for i = 4, n do if a[i] ~= b[i] then return false end end
  end
  return true
end
shape_meta.__tostring = function(s) return '{' .. table.concat(s, ', ') .. '}' end
shape_meta.__newindex = function() error('shape: sizes are read-only; use reshape', 2) end
shape_meta.__concat = function(a, b) return tostring(a) .. tostring(b) end

--- Shape as a plain Lua array with equality.
local function shape_of(t)
  local n, p = t._ndim, t._shape
  if n == 1 then return setmetatable({ tonumber(p[0]) }, shape_meta) end
  if n == 2 then return setmetatable({ tonumber(p[0]), tonumber(p[1]) }, shape_meta) end
  if n == 3 then return setmetatable({ tonumber(p[0]), tonumber(p[1]), tonumber(p[2]) }, shape_meta) end
  local s = {}
  for i = 1, n do s[i] = tonumber(p[i - 1]) end
  return setmetatable(s, shape_meta)
end
M.shape_of = shape_of

local device_names = { [0] = 'cpu' }
--- Name of a device by its number.
function M.device_name(number)
  local name = device_names[number]
  if not name then
    name = ffi.string(C.mc_device_name(number))
    device_names[number] = name
  end
  return name
end

--- Number of the device of a name, opened if need be; an error where there is none.
function M.device_number(fname, name, level)
  if name == nil or name == 'cpu' then return 0 end
  if type(name) ~= 'string' then
    error(('%s: device is %s; give a name, such as "cpu" or "cuda:0"'):format(fname, check.show(name)), level + 1)
  end
  local number = C.mc_device_find(name)
  if number < 0 then error(('%s: %s%s'):format(fname, lib.message(), misspelt(name)), level + 1) end
  if number > 0 then queued.wait_at_end(number) end
  return number
end

--- Name of the device that "auto" is, and why. An enquiry: operations without a form go through the host where
--- device_number(fname, 'auto') led to the device.
---@return string name
---@return string why in words
function M.device_auto(level)
  local why = ffi.new 'char[640]'
  local number = C.mc_device_auto(why, 640)
  if number < 0 then error(lib.message(), level + 1) end
  if number > 0 then queued.wait_at_end(number) end
  return M.device_name(number), ffi.string(why)
end

--- A copy of t on a device (its number); t itself when it is there.
function M.moved(t, number, level)
  if t._device == number then return t end
  local bytes = number == 0 and SIZE[NAME[t._dtype]] * tonumber(t._numel) or 0
  return make(level, bytes <= 1024 and bytes or 0, C.mc_to_device, number, t)
end

--- Name of the device that tensors of a list share: that of the first one that is not on the CPU.
function M.shared_device(list)
  for i = 1, table.maxn(list) do
    local t = list[i]
    if M.is(t) and t._device ~= 0 then return M.device_name(t._device) end
  end
  return 'cpu'
end

--- Refuses tensors of a list that are not on the CPU, for functions that work there alone.
function M.only_host(fname, list, level)
  local name = M.shared_device(list)
  if name ~= 'cpu' then
    error(('%s: it has no form for %s yet; move the operands with :to "cpu" first'):format(fname, name), level + 1)
  end
end

--- Refuses tensors of a list that are on different devices; numbers that stand in tensors belong to any.
function M.one_device(fname, list, level)
  local first
  for i = 1, table.maxn(list) do
    local t = list[i]
    if M.is(t) and t._flags ~= 256 then
      if first and first._device ~= t._device and C.mc_mixed_devices(fname, first, t) ~= 0 then lib.raise(level + 1) end
      first = first or t
    end
  end
end

--- The tensor in host memory, for code that reads its elements: no part of what is being recorded.
function M.hosted(t)
  if t._device == 0 then
    if C.mc_hollow(t) ~= 0 and C.mc_refuse_hollow(t) ~= 0 then lib.raise(3) end
    return t
  end
  local before = C.mc_record_pause(1)
  local ok, copy = pcall(M.moved, t, 0, 3)
  C.mc_record_pause(before)
  if not ok then error(copy, 0) end
  return copy
end

local properties = {
  shape = shape_of,
  dtype = function(t) return NAME[t._dtype] end,
  device = function(t) return M.device_name(t._device) end,
  ndim = function(t) return t._ndim end,
  itemsize = function(t) return SIZE[NAME[t._dtype]] end,
  nbytes = function(t) return SIZE[NAME[t._dtype]] * tonumber(t._numel) end,
  strides = function(t)
    local s = {}
    for i = 1, t._ndim do s[i] = tonumber(t._strides[i - 1]) end
    return s
  end,
  T = function(t)
    if t._ndim ~= 2 then
      error(('T: operand is %s; it needs two axes, use mT or permute_dims'):format(M.describe(t)), 3)
    end
    return methods.transpose(t)
  end,
  mT = function(t)
    local n = t._ndim
    if n < 2 then error(('mT: operand is %s; it needs at least two axes'):format(M.describe(t)), 3) end
    return methods.transpose(t)
  end,
}
M.properties = properties
-- name of a field that can be assigned = f(tensor, value)
local setters = {}
M.setters = setters

--- "f32[3,4]@cpu"
function M.describe(t)
  if not is(t) then return check.show(t) end
  return ('%s[%s]@%s'):format(NAME[t._dtype] or '?', table.concat(shape_of(t), ','), M.device_name(t._device))
end

--- The sizes of all axes, or of one.
---     mc.zeros({ 2, 3 }):size()  --> 2, 3
---     mc.zeros({ 2, 3 }):size(-1)  --> 3
function methods.size(t, axis)
  if axis == nil then return unpack(shape_of(t)) end
  return shape_of(t)[M.axis('size', t, axis, 3) + 1]
end

--- Number of elements.
---     mc.zeros({ 2, 3 }):numel()  --> 6
function methods.numel(t) return tonumber(t._numel) end
--- Whether the elements lie in memory in row-major order without gaps.
---     mc.zeros({ 2, 3 }).T:is_contiguous()  --> false
function methods.is_contiguous(t)
  if not istype(ct, t) then no_tensor('is_contiguous', t) end
  return C.mc_is_contiguous(t) ~= 0
end
--- Whether two tensors are views of one storage.
---     local x = mc.zeros { 400 }
---     x:shares_memory(x['1:2'])  --> true
function methods.shares_memory(a, b)
  if not istype(ct, a) or not istype(ct, b) then
    error(('shares_memory: the operands are %s and %s; give two tensors'):format(check.show(a), check.show(b)), 2)
  end
  return C.mc_shares_storage(a, b) ~= 0
end

--- 1-based axis of the caller to the 0-based one (negative stays negative for C, which counts from the end).
function M.axis(fname, t, axis, level)
  local n = t._ndim
  if type(axis) ~= 'number' or axis ~= math.floor(axis) then
    error(('%s: axis is %s; give a whole number'):format(fname, check.show(axis)), level)
  end
  if n == 0 then error(('%s: operand is %s; it needs at least one axis'):format(fname, M.describe(t)), level) end
  if axis == 0 or axis > n or axis < -n then
    error(('%s: axis %d is outside %s; axes run from 1 to %d, or -1 backwards'):format(fname, axis, M.describe(t), n),
      level)
  end
  return axis > 0 and axis - 1 or axis + n
end

-- ---------------------------------------------------------------- elements out and in

local pair_t, pair_spare = ffi.typeof 'double[2]', nil -- where C puts the element of the next item()
local slab_of, SLAB = ffi.typeof 'double[?]', 512 -- elements on their way to a table

local complex_meta = {}
complex_meta.__index = complex_meta
local complex_ct
--- A complex number; arithmetic with numbers and other complex numbers.
---     mc.complex(1, 2)  --> 1+2i
function M.complex(re, im) return complex_ct(re, im or 0) end
local function parts(z)
  if type(z) == 'number' then return z, 0 end
  return z.re, z.im
end
local function complex_op(f)
  return function(a, b)
    if is(a) or is(b) then return M.complex_arith(f, a, b) end
    local ar, ai = parts(a)
    local br, bi = parts(b)
    return complex_ct(f.f(ar, ai, br, bi))
  end
end
complex_meta.__add = complex_op { op = 'add', f = function(a, b, c, d) return a + c, b + d end }
complex_meta.__sub = complex_op { op = 'subtract', f = function(a, b, c, d) return a - c, b - d end }
complex_meta.__mul = complex_op { op = 'multiply', f = function(a, b, c, d) return a * c - b * d, a * d + b * c end }
complex_meta.__div = complex_op { op = 'divide', f = function(a, b, c, d)
  local n = c * c + d * d
  return (a * c + b * d) / n, (b * c - a * d) / n
end }
complex_meta.__unm = function(a) return complex_ct(-a.re, -a.im) end
complex_meta.__eq = function(a, b)
  if type(a) ~= 'cdata' or type(b) ~= 'cdata' or not istype(complex_ct, a) or not istype(complex_ct, b) then
    return false
  end
  return a.re == b.re and a.im == b.im
end
complex_meta.__tostring = function(a) return ('%.14g%+.14gi'):format(a.re, a.im) end
function complex_meta.abs(a) return math.sqrt(a.re * a.re + a.im * a.im) end
function complex_meta.arg(a) return math.atan2(a.im, a.re) end
function complex_meta.conj(a) return complex_ct(a.re, -a.im) end
complex_ct = ffi.metatype('struct { double re, im; }', complex_meta)
M.complex_ct = complex_ct
function M.is_complex(x) return type(x) == 'cdata' and istype(complex_ct, x) end

--- Whether the values of a tensor may be asked for: not while a function is compiled or batched and they depend on its
--- arguments. Checks of values are left out then.
function M.known(t) return not is(t) or C.mc_record_readable(t) ~= 0 end
--- Whether some recording follows what is done with t.
--- A tensor in the words of an error about something that is no tensor: what stands for a number in a trace says so.
function check.of_tensor(v)
  if not is(v) then return nil end
  if v._ndim > 0 or v._flags ~= 256 or M.known(v) then return M.describe(v) end
  return 'a number that may change from call to call of a compiled function; name its place in static, mc.compile(f, { '
    .. 'static = { 2 } }) for the second argument'
end

function M.recorded(t) return C.mc_record_traced(t) ~= 0 end

--- A 64-bit integer as a number up to 2^53, as it is beyond.
local LAST = 2LL ^ 53
local function exact_number(i)
  if i > LAST or i < -LAST then return i end
  return tonumber(i)
end

local function to_lua(kind, v, t)
  if kind == 'c' then return complex_ct(v[0], v[1]) end
  if kind == 'b' then return v[0] ~= 0 end
  if kind == 'i' and (v[0] >= 2 ^ 53 or v[0] <= -2 ^ 53) then
    local exact = ffi.new 'int64_t[1]'
    if C.mc_item(t, v, exact) ~= 0 then failed(1, 3, true, t) end
    return exact_number(exact[0])
  end
  return v[0]
end

--- The one element as a Lua value: number, boolean, mc.complex, or a boxed int64 beyond 2^53.
---     mc.tensor(2.5):item()  --> 2.5
function methods.item(t)
  if not istype(ct, t) then no_tensor('item', t) end
  local pair = pair_spare
  if pair then pair_spare = nil else pair = pair_t() end
  local rc = C.mc_item(t, pair, nil)
  if rc ~= 0 then failed(rc, 2, true, t) end
  local v = to_lua(KIND[NAME[t._dtype]], pair, t)
  pair_spare = pair
  return v
end

local ELEMENT = { bool = 'uint8_t *', u8 = 'uint8_t *', i8 = 'int8_t *', i16 = 'int16_t *', i32 = 'int32_t *',
  i64 = 'int64_t *', f32 = 'float *', f64 = 'double *' }
local POINTER = {}
for k, v in pairs(ELEMENT) do POINTER[k] = ffi.typeof(v) end
POINTER.c64, POINTER.c128 = ffi.typeof 'float *', ffi.typeof 'double *'
M.pointer_type = POINTER

--- Typed pointer to the first element of a contiguous tensor (library use only).
function M.pointer(t)
  if C.mc_hollow(t) ~= 0 and C.mc_refuse_hollow(t) ~= 0 then lib.raise(3) end
  if t._device ~= 0 then error(('internal: elements of %s are read on the host'):format(M.describe(t)), 2) end
  return ffi.cast(POINTER[NAME[t._dtype]], t._data)
end

--- All elements as nested Lua tables (a number for a 0-d tensor).
---     mc.tensor({ 1, 2 }):totable()  --> { 1, 2 }
function methods.totable(t)
  if t._ndim == 0 then return methods.item(t) end
  if not M.known(t) then
    error(('totable: %s depends on the arguments of a function that is being compiled, so its values are not known '
      .. 'yet; choose with mc.where, mc.cond or mc.while_loop, or take the decision outside'):format(M.describe(t)), 2)
  end
  local name = NAME[t._dtype]
  local src = M.hosted(t)
  if name == 'f16' or name == 'bf16' then src, name = methods.to(src, 'f32'), 'f32' end
  if not methods.is_contiguous(src) then src = methods.copy(src) end
  if src._data == nil then failed(C.mc_item(src, pair_t(), nil), 2, true, t) end
  local p, kind, at, shape, n = M.pointer(src), KIND[name], 0, shape_of(t), t._ndim
  local slab, left, width = nil, 0, kind == 'c' and 2 or 1
  if kind == 'f' or kind == 'c' then slab = slab_of(math.min(SLAB, tonumber(src._numel)) * width) end
  --- Place in the slab of element `at`: floats come through C, see mc_numbers.
  local function place()
    if left == 0 then
      left = math.min(SLAB, tonumber(src._numel) - at)
      if C.mc_numbers(src, at, left, slab) ~= 0 then failed(1, 4, true, t) end
    end
    left = left - 1
    return at % SLAB * width
  end
  local function build(d)
    local out = {}
    for i = 1, shape[d] do
      if d < n then
        out[i] = build(d + 1)
      else
        if kind == 'c' then
          local k = place()
          out[i] = complex_ct(slab[k], slab[k + 1])
        elseif slab then out[i] = slab[place()]
        elseif kind == 'b' then out[i] = p[at] ~= 0
        elseif name == 'i64' then
          out[i] = exact_number(p[at])
        else out[i] = tonumber(p[at]) end
        at = at + 1
      end
    end
    return out
  end
  local out = build(1)
  return src ~= nil and out
end

--- Fills dst from src with broadcasting and conversion (dst is returned).
function methods.copy_(dst, src)
  if not is(src) then return methods.fill_(dst, src) end
  local rc = C.mc_copy(dst, src)
  if rc ~= 0 then failed(rc, 2, true, dst, src) end
  return dst
end

local LIMIT = {
  u8 = { 0, 255 }, i8 = { -128, 127 }, i16 = { -32768, 32767 }, i32 = { -2147483648, 2147483647 },
  i64 = { -2 ^ 63, 2 ^ 63 - 1024 },
}
local int64_ct, uint64_ct = ffi.typeof 'int64_t', ffi.typeof 'uint64_t'
--- A boxed 64-bit integer that no double holds as an i64; nil for every other value.
local function wide(v, level)
  if type(v) ~= 'cdata' or not (istype(int64_ct, v) or istype(uint64_ct, v)) then return nil end
  if istype(uint64_ct, v) and v > 0x7fffffffffffffffULL then
    error(('fill_: %s is past 2^63 - 1, the largest i64'):format(tostring(v)), level + 1)
  end
  local i = ffi.cast(int64_ct, v)
  return (i > LAST or i < -LAST) and i or nil
end

--- Sets all elements to one number, boolean, complex number or boxed 64-bit integer.
---     mc.zeros({ 2 }):fill_(3)  --> f64[2]@cpu { 3, 3 }
function methods.fill_(t, v)
  local re, im = v, 0
  local exactly = wide(v, 2)
  if exactly and NAME[t._dtype] == 'i64' then
    local one = M.empty('fill_', {}, 'i64', 2)
    M.pointer(one)[0] = exactly
    return methods.copy_(t, one)
  end
  if M.is_complex(v) then re, im = v.re, v.im
  elseif type(v) == 'boolean' then re = v and 1 or 0
  elseif type(v) == 'cdata' and not is(v) then re = tonumber(v)
  elseif type(v) ~= 'number' then error(('fill_: value is %s; give a number'):format(check.show(v)), 2) end
  local k = KIND[NAME[t._dtype]]
  if im ~= 0 and k ~= 'c' then
    error(('fill_: a complex value does not fit %s; convert the tensor first'):format(M.describe(t)), 2)
  end
  if (k == 'i' or k == 'u') and re ~= math.floor(re) then
    error(('fill_: %.17g does not fit %s; round it first'):format(re, M.describe(t)), 2)
  end
  local limit = LIMIT[NAME[t._dtype]]
  if limit and (re < limit[1] or re > limit[2]) then
    error(('fill_: %.17g does not fit %s; convert the tensor to a wider dtype first'):format(re, M.describe(t)), 2)
  end
  local rc = C.mc_fill(t, re, k == 'c' and im or 0)
  if rc ~= 0 then failed(rc, 2, true, t) end
  return t
end

-- ---------------------------------------------------------------- the metatable

local index -- function(t, key): set by index.lua
function M.set_index(get, set) index = { get, set } end

local mt = {}
function mt.__index(t, k)
  if type(k) == 'string' then
    local m = methods[k]
    if m then return m end
    local p = properties[k]
    if p then return p(t) end
    if k:find '[,:%d]' then return index[1](t, k) end
    local names = {}
    for n in pairs(methods) do names[n] = true end
    for n in pairs(properties) do names[n] = true end
    local here, near = elsewhere[k], check.nearest(k, names)
    error(('tensor: no field or method %q%s'):format(k, here and '; here it is ' .. here
      or near and ('; did you mean %q?'):format(near) or ''), 2)
  end
  return index[1](t, k)
end
local function no_iterator()
  error('ipairs: a tensor is no Lua table; use for i = 1, #x do ... x[i] ... end, or x:totable()', 2)
end
mt.__ipairs, mt.__pairs = no_iterator, no_iterator
function mt.__newindex(t, k, v)
  if setters[k] then return setters[k](t, v) end
  if type(k) == 'string' and (methods[k] or properties[k]) then
    error(('tensor: %s cannot be assigned'):format(k), 2)
  end
  index[2](t, k, v)
end
M.meta = mt

--- Installs the metatable; called once, after all modules have added their metamethods.
function M.install() ffi.metatype(ct, mt) end

return M
