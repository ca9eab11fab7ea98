-- recording.lua - what a function does while it is recorded, as plain Lua values.
--
-- Holds: reading the log of a recording into tables, the tape, ops by the parameters of the log. With tensor.lua one of
-- the few files that touch the FFI.
local bit = require 'bit'
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local once = require 'mascon.graph.once'
local tensor = require 'mascon.core.tensor'
local error = require 'mascon.core.check'.error
local C = lib.C

local M = {}

local params_t = ffi.typeof 'mc_params'
local handles, operands, const_handles = ffi.typeof 'mc_tensor *[?]', ffi.typeof 'const mc_tensor *[?]',
  ffi.typeof 'const mc_tensor *const *'
local numbers = 0
local KIND = { [0] = 'op', 'copy', 'put', 'base', 'call' }
local calls = {} -- of each recording: what its CALL entries stand for, by number

local by_id = lib.by_id

--- A C array of handles; the list keeps them alive.
local function array(tensors)
  local p = handles(#tensors + 1)
  for i, t in ipairs(tensors) do p[i - 1] = t end
  return p
end

local function list(p, n)
  local out = {}
  for i = 1, n do out[i] = tonumber(p[i - 1]) end
  return out
end

--- An operand of the log: serial (its buffer), offset and size (elements), shape, strides, dtype (code), weak; const =
--- a tensor for one that comes from outside or was a number.
local function operand(o)
  local t = {
    serial = tonumber(o.serial), offset = tonumber(o.offset), size = tonumber(o.size), numel = tonumber(o.numel),
    dtype = o.dtype, weak = o.weak ~= 0, shape = list(o.shape, o.ndim), strides = list(o.strides, o.ndim),
    device = o.device ~= 0 and o.device or nil,
    traced = o.traced ~= 0, version = o.version, now = C.mc_tape_version(o), gone = C.mc_tape_gone(o) ~= 0,
  }
  if o.literal ~= nil then
    local name = tensor.name[o.dtype]
    local c = tensor.empty('compile', t.shape, name, 2)
    ffi.copy(c._data, o.literal, t.numel * tensor.size[name])
    t.const, t.literal = tensor.promote(c, 2), true
  elseif o.kept ~= nil then
    t[o.traced ~= 0 and 'kept' or 'const'] = tensor.make(2, 0, C.mc_record_kept, o)
  end
  return t
end

--- Parameters as text: equal when they are.
function M.params_key(p) return ffi.string(p, ffi.sizeof(params_t)) end

local function entry(e, mine)
  local ins, outs, kind = {}, {}, KIND[e.kind]
  for i = 1, e.nin do ins[i] = operand(e.operands[i - 1]) end
  for i = 1, e.nout do outs[i] = operand(e.operands[e.nin + i - 1]) end
  return { kind = kind, row = kind == 'op' and by_id[e.op] or nil, call = kind == 'call' and mine[e.op] or nil,
    compute = e.compute, params = params_t(e.params),
    ins = ins, outs = outs, axis = e.axis, accumulate = e.accumulate ~= 0, turn = e.turn ~= 0 and e.turn or nil }
end

--- Entries of the log, in order: { kind = 'op' | 'copy' | 'put' | 'base' | 'call', row, params, ins, outs, axis,
--- accumulate, call }.
local function entries()
  local out, mine = {}, calls[C.mc_record_depth()] or {}
  for k = 0, tonumber(C.mc_record_count()) - 1 do out[k + 1] = entry(C.mc_record_at(k), mine) end
  return out
end

--- Tensors over the memory of others, each with a buffer number of its own: arguments that share memory are told apart.
---@param hollow? boolean without that memory, for a recording by shapes; numbers keep theirs: they decide dtypes
function M.aliases(tensors, hollow)
  local out = {}
  for i, t in ipairs(tensors) do
    local alias = hollow and not M.weak(t) and C.mc_record_hollow or C.mc_record_alias
    out[i] = tensor.make(2, 0, alias, tensor.promote(t, 2))
  end
  return out
end

--- Whether a recording by shapes met what needs values, since this was asked last.
function M.asked() return C.mc_record_asked() ~= 0 end

local turns = 0

--- f(...), whose work is done anew in this place though it was done before: passes neither merge it with the first time
--- nor move it there. That is what a checkpoint asks for, which keeps no results between the two.
function M.anew(f, ...)
  turns = turns % 2 ^ 30 + 1
  local before = C.mc_record_turn(turns)
  local function finish(ok, ...)
    C.mc_record_turn(before)
    if not ok then error((...), 0) end
    return ...
  end
  return finish(pcall(f, ...))
end

--- The number of the call of anew that is under way, as entries of the log have it; 0 outside.
function M.turn()
  local turn = C.mc_record_turn(0)
  C.mc_record_turn(turn)
  return turn
end

--- Whether some function is being recorded.
function M.on() return C.mc_record_active() ~= 0 end

--- Which recording is the innermost one, and how many entries its log has.
function M.place() return C.mc_record_depth(), tonumber(C.mc_record_count()) end

--- What the innermost recording asks for: strict, keep.
function M.mode()
  local flags = C.mc_record_flags()
  return bit.band(flags, 1) ~= 0, bit.band(flags, 2) ~= 0
end

--- Whether a recording is in force that logs what is done with t.
M.traced = tensor.recorded

--- f(...) without anybody writing down what it does.
function M.quietly(f, ...)
  local before = C.mc_record_pause(1)
  local function finish(ok, ...)
    C.mc_record_pause(before)
    if not ok then error((...), 0) end
    return ...
  end
  return finish(pcall(f, ...))
end

--- Logs that `call` (any table) made the tensors outs from ins; the results become traced.
function M.call_entry(call, ins, outs)
  local i, o, level = array(ins), array(outs), ffi.new 'int32_t[1]'
  numbers = numbers + 1
  lib.check(C.mc_record_call(numbers, #outs, o, #ins, ffi.cast(const_handles, i), level), 2)
  local d = level[0] + 1
  calls[d] = calls[d] or {}
  calls[d][numbers] = call
end

--- Whether two tensors show a common byte.
function M.overlap(a, b) return C.mc_record_overlap(a, b) ~= 0 end

--- Which of the tensors share memory, and how they lie to one another, as text; '' when none do.
function M.sharing(tensors)
  local spans, out = {}, {}
  for i, t in ipairs(tensors) do
    if t._numel > 0 then
      local at, size = tonumber(ffi.cast('intptr_t', t._data)), tensor.size[tensor.name[t._dtype]]
      local lo, hi = at, at + size
      for d = 0, t._ndim - 1 do
        local reach = tonumber((t._shape[d] - 1) * t._strides[d]) * size
        if reach < 0 then lo = lo + reach else hi = hi + reach end
      end
      spans[#spans + 1] = { i = i, at = at, lo = lo, hi = hi }
    end
  end
  table.sort(spans, function(a, b)
    if a.lo ~= b.lo then return a.lo < b.lo end
    return a.i < b.i
  end)
  for k, a in ipairs(spans) do
    for n = k + 1, #spans do
      local b = spans[n]
      if b.lo >= a.hi then break end
      out[#out + 1] = ('%d~%d:%d'):format(a.i, b.i, b.at - a.at)
    end
  end
  table.sort(out)
  return table.concat(out, ' ')
end

--- All of the buffer of t, in the shape that it was made for.
function M.all_of(t) return tensor.make(2, 0, C.mc_tape_buffer, tensor.promote(t, 2)) end

--- What f wrote besides its own tensors: nil, or { [k] = argument k as it was before, outside = how many writes went to
--- other tensors that were there before, shared = an argument that is written shares memory with another one, or with a
--- tensor that f found elsewhere }.
local function writes_of(traced, log)
  local w = { outside = C.mc_record_outside(), shared = C.mc_record_crossed() ~= 0 }
  local some = w.shared or w.outside > 0
  for k, t in ipairs(traced) do
    if C.mc_record_written(k - 1) ~= 0 then
      some, w[k] = true, tensor.make(2, 0, C.mc_record_before, t, k - 1)
      for i, other in ipairs(traced) do w.shared = w.shared or (i ~= k and M.overlap(t, other)) end
      for _, e in ipairs(log) do
        for _, o in ipairs(e.ins) do w.shared = w.shared or (o.const and not o.literal and M.overlap(t, o.const)) end
      end
    end
  end
  return some and w or nil
end

--- The innermost recording of a function, nil outside: { outer, name, strict: it or one around it, turns }.
M.frame = nil

--- Runs f() with the tensors in `traced` (of aliases) as its arguments; the log of what it did with them, and what it
--- returned.
---@param how table strict: asking for values is an error; keep: results stay alive as `kept` in the log; capture: what
--- f does with values of enclosing recordings belongs to this log; lines: what is put into the entries of the log, by
--- number, as `line`; fixed: f must not write to tensors from outside that are no arguments; restore: arguments that f
--- wrote hold afterwards what they held before; name: of the transform that cannot serve f when what it writes shares
--- memory; shapes: nothing is computed or written that depends on `traced`, whose tensors are hollow (aliases), and
--- results hold no values; turns: f is traced once for several calls of it
---@return table log
---@return table results of f, as { n =, ... }
---@return table? writes { [k] = argument k as it was before, outside, shared }; nil when f wrote to tensors of its own
---  only
function M.record(traced, how, f)
  local outer, around = M.inline, M.frame
  lib.check(C.mc_record_begin((how.strict and 1 or 0) + (how.keep and 2 or 0) + (how.capture and 4
    or 0) + (how.fixed and 8 or 0) + (how.shapes and 16 or 0)), 2)
  for _, t in ipairs(traced) do
    local rc = C.mc_record_trace(t, 1)
    if rc ~= 0 then
      C.mc_record_end()
      C.mc_record_clear()
      lib.check(rc, 2)
    end
  end
  M.inline = how.inline or false
  M.frame = { outer = around, name = how.name, strict = how.strict or around ~= nil and around.strict,
    turns = how.turns }
  local function finish(ok, ...)
    M.inline, M.frame = outer, around
    C.mc_record_end()
    for _, t in ipairs(traced) do C.mc_record_trace(t, 0) end
    local log = ok and once.run(tonumber(C.mc_record_count()), entries)
    for k, line in pairs(ok and how.lines or {}) do log[k].line = line end
    local writes = ok and writes_of(traced, log) or nil
    traced = nil -- machine code may keep this function
    local refused = writes and writes.shared and how.name
    local restored = (how.restore or refused) and C.mc_record_restore() or 0
    calls[C.mc_record_depth()] = nil
    C.mc_record_clear()
    lib.check(restored, 2)
    if not ok then error((...), 0) end
    if refused then
      error(('%s: the function writes to an argument that shares memory with another argument or with a tensor from '
        .. 'outside; pass a copy, x:copy()'):format(how.name), 2)
    end
    for _, e in ipairs(how.strict and log or {}) do
      local row = e.row
      if row and row.by_value
        and not (row.params and row.params[1] and row.params[1][1] == 'num_segments' and e.params.i[0] >= 0) then
        error(('%s: the size of its result depends on the values of the arguments of a function that is being compiled '
          .. 'or batched; %s'):format(row.says or row[1], row.by_value), 0)
      end
    end
    return log, { n = select('#', ...), ... }, writes
  end
  return finish(pcall(f))
end

--- The tensor itself with a buffer of its own, which numbers and small tensors lack.
function M.own(t) return tensor.promote(t, 2) end
-- ---------------------------------------------------------------- the tape

--- Starts the recording that stays, if it does not run.
function M.tape_begin() lib.check(C.mc_tape_begin(), 2) end
function M.tape_end() C.mc_tape_end() end
--- Whether the tape is the only recording.
function M.tape_alone() return C.mc_tape_alone() ~= 0 end
function M.tape_leaf(t, on) lib.check(C.mc_tape_leaf(tensor.promote(t, 2), on and 1 or 0), 2) end
--- A tensor over the same memory that the tape does not know.
function M.tape_detach(t) return tensor.make(2, 0, C.mc_tape_detach, tensor.promote(t, 2)) end

--- All of the buffer of an entry's operand.
function M.buffer(o) return tensor.make(2, 0, C.mc_tape_buffer, o.kept) end

--- What the tape holds of calls that were dropped goes too.
local function forget_calls()
  local mine, left = calls[1], {}
  if not mine or not next(mine) then return end
  for k = 0, tonumber(C.mc_record_count()) - 1 do
    local e = C.mc_record_at(k)
    if KIND[e.kind] == 'call' then left[e.op] = mine[e.op] end
  end
  calls[1] = left
end

--- Entries that the tensors depend on, in order; read(entries) works on them. Then they are dropped unless `keep`.
function M.tape_read(tensors, keep, read)
  local n = tonumber(C.mc_tape_find(#tensors, array(tensors)))
  local function finish(ok, ...)
    C.mc_tape_drop(ok and not keep and 0 or 2)
    forget_calls()
    if not ok then error((...), 0) end
    return ...
  end
  return finish(pcall(function()
    local found, mine = {}, calls[1] or {}
    for k = 0, n - 1 do
      local e = C.mc_record_at(k)
      if e.wanted ~= 0 then found[#found + 1] = entry(e, mine) end
    end
    return read(found)
  end))
end

--- Drops what nobody can ask for any more; how many entries are left. The collector asks at any time: nil while the
--- innermost log is not the tape's, for then neither its entries nor its calls are those of the tape.
function M.tape_tidy()
  C.mc_tape_drop(1)
  if not M.tape_alone() then return nil end
  forget_calls()
  return tonumber(C.mc_record_count())
end

--- Serial of the buffer of a tensor, 0 when it has none, and the place of its first element in it.
function M.serial(t) return tonumber(C.mc_record_serial(t)) end

--- How often the buffer of t was written while something was being recorded.
function M.version(t) return C.mc_record_version(t) end

--- f with its writes counted, see version, and nothing logged; it gives its first result.
function M.watched(f)
  return function(...)
    local given, n = { ... }, select('#', ...)
    local _, out = M.record({}, {}, function() return (M.quietly(f, unpack(given, 1, n))) end)
    return out[1]
  end
end

--- Whether t shows all of its buffer, as it lies.
function M.whole(t) return C.mc_record_whole(t) ~= 0 end

--- Place of the first element of t in its buffer.
function M.offset(t)
  return t._storage == nil and 0 or tonumber(C.mc_record_offset(t))
end

--- A number argument: takes part in promotion as a number does.
function M.weak(t) return t._flags == 256 end
function M.weaken(t)
  t._flags = 256
  return t
end

--- Header of a tensor as the log would show it.
function M.layout(t)
  return { dtype = t._dtype, numel = tonumber(t._numel), shape = list(t._shape, t._ndim),
    strides = list(t._strides, t._ndim) }
end

-- ---------------------------------------------------------------- steps, one at a time

--- Any layout within the buffer of t, counted in elements from its first one.
function M.strided(t, shape, strides, offset)
  local sizes, strides_of = ffi.new 'int64_t[8]', ffi.new 'int64_t[8]'
  for i = 1, #shape do sizes[i - 1], strides_of[i - 1] = shape[i], strides[i] end
  return tensor.make(2, 0, C.mc_view_strided, tensor.promote(t, 2), #shape, sizes, strides_of, offset)
end

--- A parameter block of its own, to be changed.
function M.params(p) return params_t(p) end

--- Runs an op with parameters as the log has them.
---@return table results
function M.call(row, nout, inputs, params)
  local ins, outs, results = operands(#inputs + 1), handles(nout + 1), {}
  for i, t in ipairs(inputs) do ins[i - 1] = t end
  local function run()
    for i = 1, nout do
      results[i] = tensor.header(0)
      outs[i - 1] = results[i]
    end
    return C.mc_op(row.id, nout, outs, #inputs, ins, params)
  end
  local rc = run()
  if rc ~= 0 and tensor.failed(rc, 2, false, inputs) then
    rc = run()
    if rc ~= 0 then tensor.failed(rc, 2, true, inputs) end
  end
  for i = 1, nout do if results[i]._storage ~= nil then tensor.finish(results[i]) end end
  return results
end

--- dst at positions of an axis = values (accumulate: added).
function M.put(dst, axis, index, values, accumulate)
  lib.check(C.mc_put(dst, axis, index, values, accumulate and 1 or 0), 2)
end

return M
