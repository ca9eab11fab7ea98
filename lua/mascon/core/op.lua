-- op.lua - the functions and methods that come from the op table.
--
-- One maker per family turns a row into a Lua function: arguments checked, parameters packed, result header sized, C
-- called. Holds the call rule (array part positional, hash part options).
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local keys = require 'mascon.core.keys'
local into = require 'mascon.core.into'
local calls = require 'mascon.core.call'
local operands = require 'mascon.core.operands'
local error = check.error
local C = lib.C
local is, header, finish, failed, make = tensor.is, tensor.header, tensor.finish, tensor.failed, tensor.make
local methods = tensor.methods
local OK, FLAG_OUT = 0, 4
local ct, istype, new = tensor.ct, tensor.istype, tensor.new
-- held here because interpreted code pays for each look into the library
local op1_new, op2_new, op2_scalar_new, op2_into, op2_scalar = C.mc_op1_new, C.mc_op2_new, C.mc_op2_scalar_new,
  C.mc_op2_into, C.mc_op2_scalar

local M = {}
local rows = {}
for _, r in ipairs(lib.gen.ops) do rows[r[1]] = r end
M.rows = rows

-- ---------------------------------------------------------------- operands

--- Bytes to set aside inline for a result of an operand: integers may become f64.
local function room(t)
  local s = t._small
  if t._dtype < 8 then s = s * 8 end
  return s <= 1024 and s or 1024
end

local WEAK = operands.WEAK
local scalar, operand, beside = operands.scalar, operands.one, operands.beside
M.scalar, M.operand, M.beside, M.operands = scalar, operand, beside, operands.list

--- The operand of an op over axes: a tensor or a nested table. A plain number is the mark of x.sum(2) in the place of
--- x:sum(2).
local function subject(fname, v, level)
  if is(v) then return v end
  if type(v) == 'number' or v == nil then
    error(('%s: the first operand is %s; give a tensor (a method is called with a colon, x:%s(...))'):format(fname,
      check.show(v), fname), level + 1)
  end
  return scalar(fname, v, level + 1)
end

--- The out= tensor of an options table, marked for C; nil when there is none.
local function out_of(fname, opts, level)
  local out = opts.out
  if not is(out) then error(('%s: option out is %s; give a tensor'):format(fname, check.show(out)), level + 1) end
  return out
end

-- C clears nothing on an out= header, so the flag is put on for the call and taken off after it.
local bit = require 'bit'
local function mark(out)
  if out._data == nil then failed(lib.status.ERELEASED, 3, true, out) end
  out._flags = bit.bor(out._flags, FLAG_OUT)
end
local function unmark(out) out._flags = bit.band(out._flags, -5) end

--- Calls f(out, ...) into opts.out or a new header.
local function run(fname, level, opts, bytes, f, ...)
  local out = opts and opts.out
  if type(out) == 'nil' then return make(level + 1, bytes, f, ...) end
  out = out_of(fname, opts, level + 1)
  mark(out)
  local rc = f(out, ...)
  if rc == lib.status.ENOMEM then
    C.mc_memory_trim()
    collectgarbage()
    collectgarbage()
    rc = f(out, ...)
  end
  unmark(out)
  if rc ~= OK then failed(rc, level + 1, true, out, ...) end
  return out
end
M.run = run

local EWISE_OPTS = { out = { nil, 'tensor' } }
local function ewise_opts(fname, opts, level)
  if opts == nil then return nil end
  if type(opts) == 'table' and is(opts.out) then
    local _, other = keys(opts)
    if other == nil then return opts end
  end
  return check.opts(fname, opts, EWISE_OPTS, level + 1)
end

--- An argument that a call has no place for.
local function one_too_many(fname, v, level)
  error(('%s: %s is one argument too many'):format(fname, check.show(v)), level + 1)
end
M.one_too_many = one_too_many

-- ---------------------------------------------------------------- families

local maker = {}
local STORED, UNSUITABLE = -1, -2 -- what the entry points for new results return besides a status

-- C receives (out, a, b); the op number is bound here. FFI functions are reached through small closures so that traces
-- stay monomorphic.
function maker.unary(row)
  local id, name = row.id, row[1]
  local function call(out, a) return C.mc_op1(id, out, a, nil) end
  return function(a, opts, extra)
    if extra ~= nil then one_too_many(name, extra, 2) end
    if opts == nil and istype(ct, a) then
      local n = a._small
      local out = new(ct, (n + 7) / 8)
      local rc = op1_new(id, out, n, a)
      if rc == OK then return out end
      if rc == STORED then return finish(out) end
      if rc ~= UNSUITABLE then failed(rc, 2, false, a) end
    end
    a = operand(name, a, 2)
    return run(name, 2, ewise_opts(name, opts, 3), room(a), call, a)
  end
end

function maker.binary(row)
  local id, name = row.id, row[1]
  local function call(out, a, b) return C.mc_op2(id, out, a, b) end
  local function call_scalar(out, a, s, swapped) return C.mc_op2_scalar(id, out, a, s, swapped) end
  local function general(a, b, opts)
    opts = ewise_opts(name, opts, 4)
    if type(b) == 'number' and is(a) then return run(name, 3, opts, room(a), call_scalar, a, b, 0) end
    if type(a) == 'number' and is(b) then return run(name, 3, opts, room(b), call_scalar, b, a, 1) end
    a, b = beside(name, a, b, 3), beside(name, b, a, 3)
    if a._flags == WEAK and b._flags == WEAK then a._flags = 0 end
    local n, m = room(a), room(b)
    if tensor.kind[tensor.name[a._dtype]] ~= tensor.kind[tensor.name[b._dtype]] then n, m = n * 2, m * 2 end
    n = n > m and n or m
    return run(name, 3, opts, n <= 1024 and n or 1024, call, a, b)
  end
  return function(a, b, opts, extra)
    if extra ~= nil then one_too_many(name, extra, 2) end
    if istype(ct, a) then
      if opts == nil then
        local n = a._small
        local out, rc
        if istype(ct, b) then
          out = new(ct, (n + 7) / 8)
          rc = op2_new(id, out, n, a, b)
        elseif type(b) == 'number' then
          out = new(ct, (n + 7) / 8)
          rc = op2_scalar_new(id, out, n, a, b, 0)
        else
          rc = UNSUITABLE
        end
        if rc == OK then return out end
        if rc == STORED then return finish(out) end
        if rc ~= UNSUITABLE then failed(rc, 2, false, a, b) end
      elseif istype(ct, b) and type(opts) == 'table' then
        local key, other = keys(opts)
        local out = opts.out
        if key == 'out' and other == nil and istype(ct, out) then
          local rc = op2_into(id, out, a, b)
          if rc == OK then return out end
          failed(rc, 2, false, out, a, b)
        end
      elseif type(b) == 'number' and type(opts) == 'table' then
        local key, other = keys(opts)
        local out = opts.out
        if key == 'out' and other == nil and istype(ct, out) then
          mark(out)
          local rc = op2_scalar(id, out, a, b, 0)
          unmark(out)
          if rc == OK then return out end
          failed(rc, 2, false, out, a)
        end
      end
    elseif opts == nil and type(a) == 'number' and istype(ct, b) then
      local n = b._small
      local out = new(ct, (n + 7) / 8)
      local rc = op2_scalar_new(id, out, n, b, a, 1)
      if rc == OK then return out end
      if rc == STORED then return finish(out) end
      if rc ~= UNSUITABLE then failed(rc, 2, false, b) end
    end
    return (general(a, b, opts))
  end
end

local function ternary_maker(row)
  local id, name = row.id, row[1]
  local function call(out, a, b, c) return C.mc_op3(id, out, a, b, c) end
  local without = row.without
  return function(a, b, c, opts, extra)
    if extra ~= nil then one_too_many(name, extra, 2) end
    if without then -- operands that may be absent, or stand as { min =, max = }
      if type(b) == 'table' and c == nil and (b.min ~= nil or b.max ~= nil or b.out ~= nil) then
        local o = check.opts(name, b, { min = { nil, 'any' }, max = { nil, 'any' }, out = { nil, 'tensor' } }, 3)
        b, c, opts = o.min, o.max, o.out and { out = o.out }
      end
      if b == nil and c == nil then return M.functions.positive(a, opts) end
      if b == nil then return M.functions[without[1]](a, c, opts) end
      if c == nil then return M.functions[without[2]](a, b, opts) end
    end
    opts = ewise_opts(name, opts, 3)
    local like = is(a) and a or is(b) and b or c
    a, b, c = beside(name, a, like, 2), beside(name, b, like, 2), beside(name, c, like, 2)
    local n = math.max(room(a), room(b), room(c)) * 2
    return run(name, 2, opts, n <= 1024 and n or 1024, call, a, b, c)
  end
end
maker.ternary, maker.where = ternary_maker, ternary_maker

-- ---------------------------------------------------------------- parameters

--- axes: nil, a number, or a table of numbers; 1-based, into the axes of the block P.
local function pack_axes(P, fname, t, axes, level)
  if axes == nil or axes == 'all' then
    P.naxes = -1
    return
  end
  if type(axes) == 'number' then
    P.naxes, P.axes[0] = 1, tensor.axis(fname, t, axes, level + 1)
    return
  end
  if type(axes) ~= 'table' then
    error(('%s: axes are %s; give a number or a list'):format(fname, check.show(axes)), level)
  end
  for i = 1, #axes do P.axes[i - 1] = tensor.axis(fname, t, axes[i], level + 1) end
  P.naxes = #axes
end
M.pack_axes = pack_axes

local KINDS = { axes = 'any', axis = 'any', bool = 'bool', int = 'integer', ints = 'any', number = 'number',
  dtype = 'string' }

--- Option spec of a row, and the packer of its parameters.
local function param_spec(row)
  local spec = { out = { nil, 'tensor' } }
  for _, p in ipairs(row.params or {}) do
    local kind = p[2]
    spec[p[1]] = { p[3], type(kind) == 'table' and kind or KINDS[kind] }
  end
  if row.base then spec.base = { 1, { 0, 1 } } end
  if row.sorter then spec.side, spec.sorter = { nil, { 'left', 'right' } }, { nil, 'tensor' } end
  if row.family == 'reduce' or row.family == 'scan' then spec.dtype = { nil, 'string' } end
  return spec
end

--- One option into a list of options, once.
local function once(fname, opts, k, v, level)
  if opts[k] ~= nil then error(('%s: %s is given twice'):format(fname, k), level + 1) end
  opts[k] = v
end

--- Splits `f(x, axis, opts)`, `f(x, {axes..., name = v})`, `x:sum{2, keepdim = true}` into options; positional values
--- fill row.params in order.
local function collect_args(row, spec, fname, first, second, level)
  local opts, params = {}, row.params or {}
  -- roll({ 1, 2 }, { axis = { 1, 2 } }): the list is the parameter itself
  local whole = params[1] and (params[1][2] == 'ints' and type(second) == 'table')
  if type(first) == 'table' and not whole then
    local list
    for k, v in pairs(first) do
      if type(k) == 'number' then
        list = list or {}
        list[k] = v
      else once(fname, opts, k, v, level) end
    end
    local n = 0
    for _ in pairs(list or {}) do n = n + 1 end
    if list and #list ~= n then error(('%s: the list of arguments has gaps'):format(fname), level) end
    if list and params[1] and params[1][2] == 'axes' then once(fname, opts, params[1][1], list, level)
    else
      for k, v in ipairs(list or {}) do
        if not params[k] then one_too_many(fname, v, level) end
        once(fname, opts, params[k][1], v, level)
      end
    end
  elseif first ~= nil then
    if not params[1] then one_too_many(fname, first, level) end
    opts[params[1][1]] = first
  end
  if type(second) == 'number' and params[2] then once(fname, opts, params[2][1], second, level)
  elseif type(second) == 'table' then for k, v in pairs(second) do once(fname, opts, k, v, level) end
  elseif second ~= nil then check.opts(fname, second, spec, level + 1) end
  return check.opts(fname, opts, spec, level + 1)
end

local AXES = { params = { { 'axis', 'axes' } } }
--- Options of a composition that is called like a reduction: f(x, axes, opts), f(x, { axes..., name = v }), f(x, opts).
function M.axis_options(fname, spec, first, second, level)
  return collect_args(AXES, spec, fname, first, second, level + 1)
end

--- The same for functions of one axis: f(x, axis, opts), f(x, { axis, name = v }), f(x, opts).
function M.axis_option(fname, spec, first, second, level)
  local o = collect_args(AXES, spec, fname, first, second, level + 1)
  if type(o.axis) == 'table' and o.axis[2] == nil then o.axis = o.axis[1] end
  return o
end

local function pack_ints(P, name, fname, v, at, level) -- a number or a list: count, then eight places
  local list = type(v) == 'number' and { v } or v
  if type(list) ~= 'table' or #list < 1 or #list > 8 then
    error(('%s: %s is %s; give a whole number or a list of one to eight'):format(fname, name, check.show(v)), level + 1)
  end
  P.i[at] = #list
  for k = 1, #list do P.i[at + k] = check.arg(fname, name, list[k], 'integer', level + 1) end
end

local HERE = debug.getinfo(1, 'S').source -- so that errors blame the caller of the library, not the packer

--- The packer of a row, one statement for each parameter: written out because a loop would be compiled apart, see
--- check.opts.
local function packer(row)
  local lines, ni, nd, places =
    { 'local check, axes, ints, places = ...', 'return function(P, fname, t, o, level)' }, 0, 0, {}
  local function add(text, ...) lines[#lines + 1] = '  ' .. text:format(...) end
  for _, p in ipairs(row.params or {}) do
    local name, kind = p[1], p[2]
    if kind == 'axes' then add('axes(P, fname, t, o.%s, level + 1)', name)
    elseif kind == 'axis' then
      add('if o.%s ~= nil and type(o.%s) ~= "number" then check.error(("%%s: %s is %%s; give one '
        .. 'number"):format(fname, check.show(o.%s)), level + 1) end', name, name, name, name)
      add('axes(P, fname, t, o.%s, level + 1)', name)
    elseif name == 'keepdim' then
      add 'P.keepdim = o.keepdim and 1 or 0'
    elseif kind == 'number' then
      add('P.d[%d] = check.arg(fname, %q, o.%s, "number", level + 1)', nd, name, name)
      nd = nd + 1
    elseif type(kind) == 'table' then
      places[name] = {}
      for k, c in ipairs(kind) do places[name][c] = k - 1 end
      add('if o.%s ~= nil then P.i[%d] = places.%s[o.%s] end', name, ni, name, name)
      ni = ni + 1
    elseif kind == 'ints' then
      add('ints(P, %q, fname, o.%s, %d, level)', name, name, ni)
      ni = ni + 9
    elseif kind == 'bool' then
      add('P.i[%d] = o.%s and 1 or 0', ni, name)
      ni = ni + 1
    else
      if kind == 'int' then add('check.arg(fname, %q, o.%s, "integer", level + 1)', name, name) end
      add('P.i[%d] = o.%s', ni, name)
      ni = ni + 1
    end
  end
  lines[#lines + 1] = 'end'
  return loadstring(table.concat(lines, '\n'), HERE)(check, pack_axes, pack_ints, places)
end

local packers = {}

--- Options in a parameter block of C: axes apart, booleans and integers in i, numbers in d, in the order of the row.
local function pack(row, fname, t, opts, level)
  local f = packers[row]
  if not f then
    f = packer(row)
    packers[row] = f
  end
  local P = lib.params()
  f(P, fname, t, opts, level)
  if opts.base then P.base = opts.base end
  if opts.dtype then P.dtype = tensor.dtype_code(fname, opts.dtype, level + 1) end
  return P
end
M.pack = pack

local NAMED = { reduce = true, scan = true, fft = true, layout = true, softmax = true, sort = true,
  select = true, gather = true }
--- Packed parameters as text, as they would be written: `axis = 2, keepdim = true`; '' where there are none or the row
--- packs them its own way.
---@param row table
---@param p userdata mc_params
---@return string
function M.parameters(row, p)
  local out, ni, nd = {}, 0, 0
  local function say(name, v) out[#out + 1] = name .. ' = ' .. v end
  if not NAMED[row.family] then return '' end
  for _, q in ipairs(row.params or {}) do
    local name, kind = q[1], q[2]
    if kind == 'axes' or kind == 'axis' then
      local list = {}
      for k = 1, p.naxes do list[k] = tonumber(p.axes[k - 1]) + 1 end
      if p.naxes > 0 then say(name, #list == 1 and list[1] or '{' .. table.concat(list, ', ') .. '}') end
    elseif name == 'keepdim' then
      if p.keepdim ~= 0 then say(name, 'true') end
    elseif kind == 'number' then
      if tonumber(p.d[nd]) ~= q[3] then say(name, ('%.6g'):format(tonumber(p.d[nd]))) end
      nd = nd + 1
    elseif kind == 'ints' then
      local list = {}
      for k = 1, tonumber(p.i[ni]) do list[k] = tonumber(p.i[ni + k]) end
      say(name, '{' .. table.concat(list, ', ') .. '}')
      ni = ni + 9
    else
      local v = tonumber(p.i[ni])
      if type(kind) == 'table' then v = kind[v + 1] elseif kind == 'bool' then v = v ~= 0 end
      if v ~= q[3] then say(name, tostring(v)) end
      ni = ni + 1
    end
  end
  if row.base and p.base == 0 then say('base', 0) end
  if p.dtype >= 0 then say('dtype', tensor.name[p.dtype]) end
  return table.concat(out, ', ')
end

--- Rows of one operand and parameters: the plain calls are written out (call.lua), the others come here.
local function along(row, bytes, truth)
  local id, name, spec = row.id, row[1], nil
  local function c(out, a, P) return C.mc_op1(id, out, a, P) end
  local function general(x, first, second, extra)
    x = subject(name, x, 3)
    if extra ~= nil then one_too_many(name, extra, 3) end
    local opts = collect_args(row, spec, name, first, second, 4)
    local P = pack(row, name, x, opts, 4)
    local out = run(name, 3, opts, bytes or room(x), c, x, P)
    lib.give(P)
    if truth and opts.axis == nil and not opts.keepdim and not opts.out then return out:item() end
    return out
  end
  local f -- written out at the first call: the start of the program would pay for all
  return function(x, first, second, extra)
    if not f then
      spec = param_spec(row)
      f = calls.of(row, general, { dtype = spec.dtype ~= nil, all_is_item = truth })
    end
    return f(x, first, second, extra)
  end
end
function maker.reduce(row) return along(row, 1024, row.truth) end
function maker.scan(row) return along(row) end
maker.fft, maker.layout, maker.softmax = maker.scan, maker.scan, maker.scan

--- Calls an op with lists of operands and results.
local function call_multi(id, list, nout, P)
  local outs = {}
  for again = 1, 2 do
    for k = 1, nout do outs[k] = header(0) end
    local rc = lib.op_multi(id, outs, list, P)
    if rc == OK then break end
    failed(rc, 3, again == 2, unpack(list))
  end
  for k = 1, nout do
    if outs[k]._storage ~= nil then finish(outs[k]) end
  end
  return outs
end

--- Two results, without a loop: see check.opts.
local function call_two(id, list, P)
  local a, b = header(0), header(0)
  local rc = lib.op_multi(id, { a, b }, list, P)
  if rc ~= OK then
    failed(rc, 3, false, unpack(list))
    return unpack(call_multi(id, list, 2, P))
  end
  if a._storage ~= nil then finish(a) end
  if b._storage ~= nil then finish(b) end
  return a, b
end

--- Rows with several results; out= is not offered.
local function several(row)
  local id, name, spec = row.id, row[1], param_spec(row)
  spec.out = nil
  return function(x, first, opts, extra)
    if extra ~= nil then one_too_many(name, extra, 2) end
    x = subject(name, x, 2)
    opts = collect_args(row, spec, name, first, opts, 3)
    local P = pack(row, name, x, opts, 3)
    if row.nout == 2 then return call_two(id, { x }, P) end
    return unpack(call_multi(id, { x }, row.nout, P), 1, row.nout)
  end
end
function maker.sort(row) return (row.nout and several or maker.scan)(row) end
maker.select = maker.scan

function maker.matmul(row)
  local id, name = row.id, row[1]
  local function call(out, a, b) return C.mc_op2(id, out, a, b) end
  return function(a, b, opts, extra)
    if extra ~= nil then one_too_many(name, extra, 2) end
    if not is(a) or not is(b) then
      error(('matmul: operands are %s and %s; give two tensors'):format(tensor.describe(a), tensor.describe(b)), 2)
    end
    return run(name, 2, ewise_opts(name, opts, 3), 1024, call, a, b)
  end
end

local op_list = lib.op_list

function maker.gather(row)
  local id, name, spec, nin = row.id, row[1], param_spec(row), row.nin
  local function call1(out, a, P) return op_list(id, out, { a }, P) end
  local function call2(out, a, b, P) return lib.op_pair(id, out, a, b, P) end
  local function call3(out, a, b, c, P) return op_list(id, out, { a, b, c }, P) end
  if nin == 1 then
    return function(x, first, opts, extra)
      if extra ~= nil then one_too_many(name, extra, 2) end
      x = operand(name, x, 2)
      opts = collect_args(row, spec, name, first, opts, 3)
      return run(name, 2, opts, 0, call1, x, pack(row, name, x, opts, 3))
    end
  elseif nin == 2 then
    return function(x, index, first, opts, extra)
      if extra ~= nil then one_too_many(name, extra, 2) end
      x, index = beside(name, x, index, 2), beside(name, index, x, 2)
      opts = collect_args(row, spec, name, first, opts, 3)
      if opts.side then opts.right = opts.side == 'right' end
      if opts.sorter then x = M.functions.take(x, opts.sorter, { base = opts.base }) end
      local P = pack(row, name, x, opts, 3)
      local y = run(name, 2, opts, 1024, call2, x, index, P)
      lib.give(P)
      return y
    end
  end
  return function(x, index, values, first, opts, extra)
    if extra ~= nil then one_too_many(name, extra, 2) end
    local like = is(x) and x or index
    x, index, values = beside(name, x, like, 2), beside(name, index, like, 2), beside(name, values, like, 2, true)
    opts = collect_args(row, spec, name, first, opts, 3)
    return run(name, 2, opts, 1024, call3, x, index, values, pack(row, name, x, opts, 3))
  end
end

maker.segment, maker.recurrence = maker.gather, maker.gather

local function list_maker(row)
  local id, name, spec, more_axes = row.id, row[1], param_spec(row), row.joins
  local function call(out, list, P) return op_list(id, out, list, P) end
  return function(list, axis, opts, extra)
    if extra ~= nil then one_too_many(name, extra, 2) end
    if type(list) ~= 'table' then
      error(('%s: the first argument is %s; give a list of tensors'):format(name, check.show(list)), 2)
    end
    local n = #list
    local tensors, more
    if type(axis) == 'table' and axis ~= tensor.none then opts, axis = axis, nil end
    local _, second, third, fourth = keys(list)
    if n > 0 and n <= 3 and (n > 1 or second == nil) and (n > 2 or third == nil) and fourth == nil and is(list[1])
      and (n < 2 or is(list[2])) and (n < 3 or is(list[3])) and axis ~= tensor.none then
      tensors, more = list, opts -- tensors and nothing else
    else
      if opts ~= nil and type(opts) ~= 'table' then check.opts(name, opts, spec, 3) end
      tensors, more = {}, {}
      for k, v in pairs(list) do if type(k) == 'string' then more[k] = v end end
      for i = 1, n do tensors[i] = list[i] end
      operands.list(name, tensors, n, 2)
      if n == 0 then error(name .. ': the list is empty; give at least one tensor', 2) end
      for k, v in pairs(opts or {}) do more[k] = v end
    end
    more = check.opts(name, more, spec, 3)
    if axis ~= nil then more.axis = axis end
    if more.axis == tensor.none and more_axes == 0 then -- axis=None of the array API
      local given = tensors
      tensors = {}
      for i = 1, #given do tensors[i] = methods.flatten(given[i]) end
      more.axis = 1
    end
    local a = more.axis
    n = tensors[1]._ndim + more_axes
    if type(a) ~= 'number' or a == 0 or a > n or a < -n then
      error(('%s: axis %s is outside a result of %d axes'):format(name, tostring(a), n), 2)
    end
    local P = lib.params()
    P.naxes, P.axes[0] = 1, a > 0 and a - 1 or a + n
    local y = run(name, 2, more, 0, call, tensors, P)
    lib.give(P)
    return y
  end
end

--- The Lua function that a row's module has for it, or nil where it names none.
function M.composed(row) return row.module and require(row.module)[row[1]] end

--- A composition of other ops, or a C op with a Lua function in front of it: the module is loaded at the first call.
function maker.lua(row)
  local name, module, f = row[1], row.module, nil
  local function composed(...)
    if not f then
      f = M.composed(row)
      if type(f) ~= 'function' then
        error(('%s: the op table names %s, which has no such function'):format(name, module))
      end
      f = into.guard and into.guard(row.namespace and row.namespace .. '.' .. name or name, f) or f
    end
    return f(...)
  end
  if into.own[name] then return composed end
  return function(...)
    local n = select('#', ...)
    if n > 0 then
      local last = select(n, ...)
      if type(last) == 'table' and rawget(last, 'out') ~= nil then return into.call(name, composed, last, ...) end
    end
    return (f or composed)(...)
  end
end

-- Makers of files that stand on this one, by family: several.lua.
M.makers = {}

--- Linear algebra: its calls are made at the first of them.
function maker.linalg(row)
  if row.internal then return nil end
  local f
  return function(...)
    f = f or M.makers.linalg(row)
    return f(...)
  end
end

--- C that a workflow brings along: f(a, b, parameter, opts) with as many operands as the row has; for lists f(tensors,
--- values, number of results).
function maker.native(row)
  local id, name, nin, nout = row.id, row[1], row.nin, row.nout or 1
  if nin == 255 or nout == 'list' then
    return function(list, values, n)
      if type(list) ~= 'table' or is(list) then
        error(('%s: the first argument is %s; give a list of tensors'):format(name, check.show(list)), 2)
      end
      for i = 1, #list do
        if not is(list[i]) then
          error(('%s: operand %d is %s; give a tensor'):format(name, i, check.show(list[i])), 2)
        end
      end
      if values ~= nil and type(values) ~= 'table' then
        error(('%s: the second argument is %s; give a table of parameters'):format(name, check.show(values)), 2)
      end
      return unpack(M.raw(name, list, values or {}, n or type(nout) == 'number' and nout or 1))
    end
  end
  local spec = param_spec(row)
  if nout > 1 then spec.out = nil end
  local function call(out, list, P) return op_list(id, out, list, P) end
  return function(...)
    local list = {}
    for i = 1, nin do list[i] = (select(i, ...)) end
    operands.list(name, list, nin, 2)
    local first, opts = select(nin + 1, ...)
    if select('#', ...) > nin + 2 then
      error(('%s: takes %d operand%s and options, and is given %d arguments'):format(name, nin, nin == 1 and '' or 's',
        select('#', ...)), 2)
    end
    if type(first) == 'table' and not is(first) and opts == nil and first[1] == nil then first, opts = nil, first end
    opts = collect_args(row, spec, name, first, opts, 3)
    local P = pack(row, name, list[1], opts, 3)
    if nout > 1 then return unpack(call_multi(id, list, nout, P), 1, nout) end
    return run(name, 2, opts, 0, call, list, P)
  end
end

-- ---------------------------------------------------------------- all rows

local functions = {}
M.functions = functions
M.in_place = {} -- methods add_ and kin, as a set
for _, row in ipairs(lib.gen.ops) do
  local name = row[1]
  local f
  -- a step of compositions, which pack its parameters themselves
  if row.internal and row.family ~= 'linalg' then f = nil
  elseif row.joins then f = list_maker(row)
  elseif row.module then f = maker.lua(row)
  elseif maker[row.family] then f = maker[row.family](row) end
  if f then
    functions[name] = f
    for _, a in ipairs(row.alias or {}) do functions[a] = f end
    if row.method ~= false then
      methods[name] = f
      for _, a in ipairs(row.alias or {}) do methods[a] = f end
    end
    if row.inplace then
      local binary = row.family == 'binary'
      local into_first = binary and function(a, b, extra) return f(a, b, { out = a }, extra) end
        or function(a, extra) return f(a, { out = a }, extra) end
      methods[name .. '_'] = into_first
      M.in_place[into_first] = true
      for _, a in ipairs(row.alias or {}) do methods[a .. '_'] = into_first end
    end
  end
end

M.added = {} -- rows of ops that were added while the program runs, by their functions

--- Puts a row that has become an op while the program runs among the others: it is found by name and number. Its
--- function, which has no place in `functions`.
---@return function
function M.define(row)
  local list, f = lib.gen.ops, maker.native(row)
  if not row.internal then list[#list + 1] = row end
  rows[row[1]], lib.by_id[row.id], M.added[f] = row, row, row
  if row.method then methods[row[1]] = f end
  return f
end

--- All elements hold; taken for granted where values are not known (tensor.known): a check that tracing leaves out.
function M.certain(t) return not tensor.known(t) or functions.all(t) end
--- Some element holds, as far as values are known.
function M.found(t) return tensor.known(t) and functions.any(t) end

--- Runs an op whose operands and results are lists (families of workflows). values: parameters by name; those not named
--- are 0.
---@return table results tensors
function M.raw(name, list, values, nout)
  local row, ni, nd, P = rows[name], 0, 0, lib.params()
  for _, p in ipairs(row.params or {}) do
    local v = values[p[1]] or 0
    if v == true then v = 1 end
    if p[2] == 'number' then
      P.d[nd] = v
      nd = nd + 1
    else
      P.i[ni] = v
      ni = ni + 1
    end
  end
  return call_multi(row.id, list, nout, P)
end

-- ---------------------------------------------------------------- operators

local F, mt = functions, tensor.meta
mt.__add = F.add
mt.__sub = F.subtract
mt.__mul = F.multiply
mt.__div = F.divide
mt.__mod = F.remainder
mt.__pow = F.pow
mt.__unm = function(a) return F.negative(a) end
mt.__len = function(a)
  if a._ndim == 0 then error('#: a 0-d tensor has no length; use :item()', 2) end
  return tonumber(a._shape[0])
end
-- identity between handles; a number is a slip that deserves a word (`t == nil` calls this too: nil stays false)
mt.__eq = function(a, b)
  local ka, kb = type(a), type(b)
  if ka == 'nil' or kb == 'nil' then return false end
  if ka == 'number' or kb == 'number' then
    error('==: compares handles, not elements; use mc.eq(x, number), or x:item() == number', 2)
  end
  return rawequal(a, b)
end
local function compare(name, word)
  return function(a, b)
    local x, y = operand(word, a, 2), operand(word, b, 2)
    if x:numel() ~= 1 or y:numel() ~= 1 then
      error(('%s: operands are %s and %s; only one-element tensors give a boolean, use :%s or :%s elementwise'):format(
        word, tensor.describe(x), tensor.describe(y), name, name:gsub('^l', 'g')), 2)
    end
    local truth = F[name](x, y)
    if not tensor.known(truth) then
      if tensor.decide then return tensor.decide(truth) end -- within a condition: see transform/decide.lua
      error(('%s: %s and %s are compared while a function is compiled or vectorised, where values are not known yet; '
        .. 'a:%s(b) gives a tensor: choose with mc.where(a:%s(b), x, y), '
        .. 'or mc.cond(a:%s(b), f, g), or take the decision outside'):format(word, tensor.describe(x),
          tensor.describe(y), name, name, name), 2)
    end
    return truth:item()
  end
end
mt.__lt, mt.__le = compare('lt', '<'), compare('le', '<=')
mt.__concat = function(a, b) return tostring(a) .. tostring(b) end

function tensor.complex_arith(f, a, b) return F[f.op](a, b) end

return M
