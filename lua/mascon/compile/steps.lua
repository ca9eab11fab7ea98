-- steps.lua - the C plan of a list of steps, as a Lua value.
--
-- With recording.lua and tensor.lua one of the few files that touch the FFI.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local C = lib.C

local M = {}

local ints, longs, handles = ffi.typeof 'int32_t[?]', ffi.typeof 'int64_t[?]', ffi.typeof 'mc_tensor *[?]'
local instrs = ffi.typeof 'mc_vm_instr[?]'

local LOOP = { once = 0, choose = 1, ['while'] = 2, scan = 3 }
local WHERE = { input = 0, output = 1, arena = 2, const = 3, tile = 4 }

local function header(p, i, h)
  local like = tensor.ct(0)
  if h.const then
    if C.mc_hollow(h.const) ~= 0 then
      check.error(('compile: %s, made within the function, is read by a rule of mc.custom_vjp or mc.custom_jvp that '
        .. 'captures it; pass it to the function with the rule as an argument'):format(tensor.describe(h.const)), 2)
    end
    tensor.promote(h.const, 2)
    ffi.copy(like, h.const, ffi.sizeof(tensor.ct, 0))
  end
  like._dtype, like._ndim, like._device = h.dtype, #h.shape, 0
  local n = 1
  for d = 1, #h.shape do
    like._shape[d - 1], like._strides[d - 1] = h.shape[d], h.strides[d]
    n = n * h.shape[d]
  end
  like._numel = n
  like._flags = h.weak and 256 or 0
  if C.mc_plan_header(p, like, WHERE[h.where], h.index or 0, h.offset or 0) ~= i - 1 then lib.raise(2) end
end

--- Numbers less one (headers, counted from 1) as C integers.
local function integers(values, less)
  local out = ints(#values + 1)
  for i, v in ipairs(values) do out[i - 1] = v - (less or 0) end
  return out
end

local function program(code)
  local out = instrs(#code + 1)
  for i, c in ipairs(code) do
    local q = out[i - 1]
    q.op, q.dtype, q.rdtype, q.dst, q.nsrc = c.op, c.dtype, c.rdtype, c.dst, #c.src
    for k, r in ipairs(c.src) do q.src[k - 1] = r end
  end
  return out
end

-- How each kind of step enters a plan. ins, outs: numbers of headers, from 1.
local enter = {}
function enter.op(p, s)
  return C.mc_plan_op(p, s.row.id, #s.outs, integers(s.outs, 1), #s.ins, integers(s.ins, 1), s.params)
end
function enter.copy(p, s) return C.mc_plan_copy(p, s.outs[1] - 1, s.ins[1] - 1) end
function enter.put(p, s)
  return C.mc_plan_put(p, s.outs[1] - 1, s.axis, s.ins[1] - 1, s.ins[2] - 1, s.accumulate and 1 or 0)
end
function enter.fused(p, s)
  local rc = C.mc_plan_fused(p, #s.ins, integers(s.ins, 1), integers(s.want), #s.outs,
    integers(s.outs, 1), integers(s.result), #s.code, program(s.code))
  local there = s.there -- of launch.emit
  if rc ~= 0 or not there then return rc end
  return C.mc_plan_program(p, there.text, #there.guards, integers(there.guards), integers(s.want))
end
function enter.call(p, s)
  local l = s.loop
  local parts = ffi.new('mc_plan *[?]', #l.parts + 1)
  for i, part in ipairs(l.parts) do parts[i - 1] = part.plan end
  local spec = ffi.new('mc_loop_spec', LOOP[l.kind], #l.parts, l.fixed, l.state or 0, l.rows or 0,
    l.made or 0, l.reverse and 1 or 0, l.length or 0)
  return C.mc_plan_loop(p, spec, parts, #s.outs, integers(s.outs, 1), #s.ins, integers(s.ins, 1))
end
function enter.reduced(p, s)
  return C.mc_plan_reduced(p, s.row.id, s.params, s.outs[1] - 1, s.like - 1, #s.ins,
    integers(s.ins, 1), integers(s.want), s.result[1], #s.code, program(s.code))
end
function enter.product(p, s)
  return C.mc_plan_product(p, s.product - 1, s.a - 1, s.b - 1, #s.ins, integers(s.ins, 1),
    integers(s.want), #s.outs, integers(s.outs, 1), integers(s.result), #s.code, program(s.code))
end
function enter.tiles(p, s)
  local lead, bytes = longs(#s.lead + 1), longs(#s.row_bytes + 1)
  for i, v in ipairs(s.lead) do lead[i - 1] = v end
  for i, v in ipairs(s.row_bytes) do bytes[i - 1] = v end
  return C.mc_plan_tiles(p, s.count, #s.lead, lead, #s.row_bytes, bytes, s.extra)
end

--- A C plan. headers: { dtype, shape, strides, weak, where, index, offset, const }; steps: { kind, row, params, ins,
--- outs (numbers of headers), ... };
--- a step `tiles` stands before the `count` steps it is made of. effects: { input } of each argument that is written.
--- device: where it runs (0). lent: byte of the arena where each result lies, -1 for those with memory of their own.
---@return userdata plan
function M.make(headers, steps, arena, effects, device, lent)
  local p = C.mc_plan_new()
  if p == nil then lib.raise(2) end
  p = ffi.gc(p, C.mc_plan_free)
  for i, h in ipairs(headers) do header(p, i, h) end
  local owner, left
  for _, s in ipairs(steps) do
    lib.check(enter[s.kind](p, s), 2)
    if s.kind == 'tiles' then owner, left = s, s.count
    elseif owner then
      left = left - 1
      if left == 0 then
        lib.check(C.mc_plan_views(p, #owner.shift, integers(owner.shift), integers(owner.slot)), 2)
        owner = nil
      end
    end
  end
  C.mc_plan_arena(p, arena)
  C.mc_plan_device(p, device or 0)
  if lent then lib.check(C.mc_plan_lend(p, #lent, longs(#lent + 1, lent)), 2) end
  if effects and effects[1] then
    local which = {}
    for i, e in ipairs(effects) do which[i] = e.input end
    lib.check(C.mc_plan_writes(p, #which, integers(which, 1)), 2)
  end
  return p
end

--- A function that runs a plan on a list of inputs into a list of outputs.
function M.runner(plan, nin, nout)
  local ins, outs = handles(nin + 1), handles(nout + 1)
  return function(inputs, outputs)
    for i = 1, nin do ins[i - 1] = inputs[i] end
    for i = 1, nout do outs[i - 1] = outputs[i] end
    local rc = C.mc_plan_run(plan, ins, nin, outs, nout)
    if rc ~= 0 then tensor.failed(rc, 3, true, inputs) end
  end
end

return M
