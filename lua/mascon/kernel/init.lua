-- kernel/init.lua - functions of one's own, from a few lines of text, that run like the library's.
---
--- Four kinds: formulas for every element, reductions (init, step, combine, finish), plain C over a range, and programs
--- of devices. Holds the checks of what the user gives and the way from tensors to compiled code.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local error = check.error

local M = {}

local IDENTIFIER = '^[%a_][%w_]*$'

--- { 'x', 'y f32' } as { { name, dtype } }.
local function parameters(fname, list, what, level)
  if type(list) ~= 'table' or #list == 0 then
    error(("%s: %s are %s; give a list of names such as { 'x', 'y f32' }"):format(fname, what, check.show(list)),
      level + 1)
  end
  local out, seen = {}, {}
  for i, text in ipairs(list) do
    local name, dtype = tostring(text):match '^%s*(%S+)%s*(%S*)%s*$'
    if type(text) ~= 'string' or not name or not name:find(IDENTIFIER) then
      error(("%s: entry %d of %s is %s; give a name, or a name and a dtype such as 'x f32'"):format(fname, i, what,
        check.show(text)), level + 1)
    end
    if seen[name] then error(('%s: %s stands twice in %s'):format(fname, name, what), level + 1) end
    seen[name] = true
    if dtype ~= '' then tensor.dtype_code(fname, dtype, level + 1) end
    out[i] = { name = name, dtype = dtype ~= '' and (tensor.long_names[dtype] or dtype) or nil }
  end
  return out
end

--- f with the derivative that the user gives; f has `count` results.
local function differentiable(f, vjp, count)
  if not vjp then return f end
  local custom_vjp = require 'mascon.transform.custom'.custom_vjp
  local function all(...)
    if count == 1 then return (f(...)) end
    return { f(...) }
  end
  local g = custom_vjp(all, {
    forward = function(...)
      local out = all(...)
      return out, { out = out, operands = { ... } }
    end,
    backward = function(kept, cotangent) return vjp(cotangent, kept.out, unpack(kept.operands)) end,
  })
  if count == 1 then return g end
  return function(...) return unpack(g(...)) end
end

-- ---------------------------------------------------------------- the public name

local Kernel = {}
Kernel.__index = Kernel
function Kernel:__call(...) return self.run(...) end
--- What help shows: the name with its operands, and lines of text.
function Kernel.__help(self)
  local out, names = {}, {}
  for line in (self.doc or 'A kernel of your own.'):gmatch '[^\n]+' do out[#out + 1] = line end
  for i, p in ipairs(self.outputs) do names[i] = p.name .. (p.dtype and ' ' .. p.dtype or '') end
  out[#out + 1] = ('%s; outputs: %s'):format(self.kind, table.concat(names, ', '))
  return { name = self.name, args = self.operands, text = out }
end
function Kernel:__tostring() return ('kernel %s(%s)'):format(self.name, table.concat(self.operands, ', ')) end

--- A function of your own from a few lines of text; one table with the fields below.
---
--- Elementwise: `body`, formulas in C's notation over the inputs, operators of C, `c ? a : b`, every elementwise
--- function of the library (exp, hypot, maximum, ...) and dtype names as conversions (f32(x)). One formula is the
--- result; `d = x - y; out = d * d;` names steps. dtypes and broadcasting are those of the ops. It takes part in
--- mc.compile, grad and vmap, and is one compiled loop after a few calls.
--- Reduction: `init`, `step`, `combine`, `finish`, statements over the names in `state` ({ 'acc' }): init sets them,
--- step takes one element into them, combine joins NAME_b of a later part into NAME, finish makes the outputs (the
--- first name when absent). Called with options axis (all), keepdim (false). The state is f64 (c128 for complex
--- operands) unless `dtype` says so; results have the operands' dtype when that is a float, else the state's. It takes
--- part in mc.compile and vmap; mc.custom_vjp gives it a derivative.
--- Plain C: `c`, the text of a function over [first, last) with typed pointers under the names of inputs and outputs,
--- sizes as NAME_shape[0], ..., and numbers under the names in `values`. Every input and output needs a dtype; inputs
--- come contiguous. Pieces of `grain` (65536) indices run in parallel. shape: a function of the operands that gives the
--- shape of the outputs (default: that of the first input); range: likewise the number of indices (default: elements of
--- the first output). head: text before the function, such as functions that it calls. vjp: its derivative,
--- vjp(g, out, ...) -> a cotangent for each operand (nil: none), where g is the cotangent of the output `out` (lists,
--- if there are several) and ... are the operands. It takes part in mc.compile, vmap and, with vjp, in grad.
--- Program of devices: `launch`, the text of a kernel in the language of device kernels (C for OpenCL and CUDA at
--- once, kernels/device/dialect.h), run by each lane: LANE, LANES, GROUP_AT(0..2), GLOBAL_LANE say which,
--- MCD_GROUP_MEMORY float s[256]; is memory of the group, BARRIER waits for its lanes. Arrays are typed pointers (of
--- CUDA, on CUDA) and come contiguous, outputs begin as zeros; numbers stand in `values` ({ 'n i64', 'a f64' }: i64,
--- f64, i32 or f32). The text has the types of C: float for f32, double for f64, int64_t for i64. lanes: of a group
--- (256). grid: groups, a number, a list of up to three or a function of the arguments (default: a lane for each
--- element of the first output). shape: as for plain C. head: text before the kernel, such as functions, and #include
--- lines of the library's own headers. A lane beyond the end must do nothing by itself. It cannot be recorded. Operands
--- are on a card or on a device of OpenCL.
--- CUDA C++: `cuda`, a whole text for NVRTC as it is, with `extern "C" __global__ void NAME(outputs, inputs, values)`,
--- where NAME is `name`; arrays are pointers to their elements, values come in the order of `values`, one by one. It
--- runs on cards of CUDA alone, without contraction (--fmad=false); lanes, grid and shape as for `launch`. What the
--- compiler says names the line of the text.
--- inputs, outputs ({ 'out' }): names, each with a dtype where wanted: 'x f32'. name: for messages. doc: what
--- help(kernel) shows.
--- Errors name the kernel and the line of its text; reductions and plain C need a C compiler and wait for it at their
--- first call.
--- Source: the forms of CuPy's ElementwiseKernel, ReductionKernel and RawKernel.
---     mc.kernel{ name = 'axpy', inputs = { 'a', 'x', 'y' }, body = 'a * x + y' }(2, mc.tensor{ 1, 2 }, 10)
---       --> f64[2]@cpu { 12, 14 }
---@param k table
---@return table callable
function M.kernel(k)
  if type(k) ~= 'table' then
    error('kernel: the argument is ' .. check.show(k) .. "; give a table such as { inputs = { 'x' }, body = 'x * x' }",
      2)
  end
  local o = check.opts('kernel', k, {
    name = { 'kernel', 'string' }, inputs = { nil, 'table' }, outputs = { { 'out' }, 'table' },
    body = { nil, 'string' }, tier = { 'auto', { 'auto', 'native', 'vm', 'eager' } }, state = { nil, 'table' },
    init = { nil, 'string' }, step = { nil, 'string' }, combine = { nil, 'string' }, finish = { nil, 'string' },
    dtype = { nil, 'string' }, c = { nil, 'string' }, values = { nil, 'table' }, grain = { 65536, 'integer >= 1' },
    launch = { nil, 'string' }, cuda = { nil, 'string' }, head = { nil, 'string' }, lanes = { nil, 'integer >= 1' },
    grid = { nil, 'number | table | function' },
    shape = { nil, 'function' }, range = { nil, 'function' }, vjp = { nil, 'function' }, doc = { nil, 'string' },
  }, 3)
  local self = { name = o.name, operands = {} }
  self.inputs, self.outputs = parameters('kernel ' .. o.name, o.inputs, 'inputs', 2),
    parameters('kernel ' .. o.name, o.outputs, 'outputs', 2)
  for i, p in ipairs(self.inputs) do self.operands[i] = p.name end
  for _, v in ipairs((o.c or o.launch or o.cuda) and o.values or {}) do
    self.operands[#self.operands + 1] = tostring(v):match '%S*'
  end
  local kinds = (o.body and 1 or 0) + (o.step and 1 or 0) + (o.c and 1 or 0) + (o.launch and 1 or 0)
    + (o.cuda and 1 or 0)
  if kinds ~= 1 then
    error(('kernel %s: give one of body (elementwise), step with init and combine (reduction), c (plain C), launch '
      .. '(a program of devices) and cuda (CUDA C++)'):format(o.name), 2)
  end
  if o.vjp and not o.c then
    local text = 'kernel %s: vjp belongs to plain C; formulas have their derivative, a reduction gets one by custom_vjp'
    error(text:format(o.name), 2)
  end
  if not (o.launch or o.cuda) and (o.lanes or o.grid) then
    error(('kernel %s: lanes and grid belong to launch and to cuda'):format(o.name), 2)
  end
  if o.head and not (o.launch or o.c) then
    error(('kernel %s: head belongs to launch and to plain C'):format(o.name), 2)
  end
  if o.dtype then tensor.dtype_code('kernel ' .. o.name, o.dtype, 2) end
  if o.body then self.run, self.compiled = require 'mascon.kernel.elementwise'.make(self, o.body, o)
  elseif o.step then self.run = require 'mascon.kernel.fold'.make(self, o, o)
  elseif o.launch or o.cuda then
    o.lanes = o.lanes or 256
    self.run = require 'mascon.kernel.program'.make(self, o.launch or o.cuda, o)
  else self.run = differentiable(require 'mascon.kernel.plain'.make(self, o.c, o), o.vjp, #self.outputs) end
  self.doc = o.doc
  self.kind = o.body and 'formula' or o.step and 'reduction' or (o.launch or o.cuda) and 'program of devices'
    or 'plain C'
  return setmetatable(self, Kernel)
end

return M
