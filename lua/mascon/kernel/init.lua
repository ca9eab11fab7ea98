-- kernel/init.lua - functions of one's own, from a few lines of text, that run like the library's.
---
--- Three kinds: formulas for every element, reductions (init, step, combine, finish), and plain C over a range. Holds
--- the checks of what the user gives and the way from tensors to compiled code.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local error = check.error

local M = {}

local IDENTIFIER = '^[%a_][%w_]*$'

--- { 'x', 'y f32' } as { { name, dtype } }.
local function parameters(fname, list, what, level)
  if type(list) ~= 'table' or #list == 0 then error(("%s: %s are %s; give a list of names such as { 'x', 'y f32' }"):format(fname, what, check.show(list)), level + 1) end
  local out, seen = {}, {}
  for i, text in ipairs(list) do
    local name, dtype = tostring(text):match '^%s*(%S+)%s*(%S*)%s*$'
    if type(text) ~= 'string' or not name or not name:find(IDENTIFIER) then error(("%s: entry %d of %s is %s; give a name, or a name and a dtype such as 'x f32'"):format(fname, i, what, check.show(text)), level + 1) end
    if seen[name] then error(('%s: %s stands twice in %s'):format(fname, name, what), level + 1) end
    seen[name] = true
    if dtype ~= '' then tensor.dtype_code(fname, dtype, level + 1) end
    out[i] = { name = name, dtype = dtype ~= '' and (tensor.long_names[dtype] or dtype) or nil }
  end
  return out
end

-- ---------------------------------------------------------------- the public name

local Kernel = {}
Kernel.__index = Kernel
function Kernel:__call(...) return self.run(...) end
function Kernel:__tostring() return ('kernel %s(%s)'):format(self.name, table.concat(self.operands, ', ')) end

--- A function of your own from a few lines of text; one table with the fields below.
---
--- Elementwise: `body`, formulas in C's notation over the inputs, operators of C, `c ? a : b`, every elementwise function of the library (exp, hypot,
--- maximum, ...) and dtype names as conversions (f32(x)). One formula is the result; `d = x - y; out = d * d;` names steps. dtypes and broadcasting are
--- those of the ops. It takes part in mc.compile, grad and vmap, and is one compiled loop after a few calls.
--- Reduction: `init`, `step`, `combine`, `finish`, statements over the names in `state` ({ 'acc' }): init sets them, step takes one element into
--- them, combine joins NAME_b of a later part into NAME, finish makes the outputs (the first name when absent). Called with options axis (all), keepdim
--- (false). The state is f64 (c128 for complex operands) unless `dtype` says so; results have the operands' dtype when that is a float, else the state's.
--- It takes part in mc.compile and vmap; mc.custom_vjp gives it a derivative.
--- Plain C: `c`, the text of a function over [first, last) with typed pointers under the names of inputs and outputs, sizes as NAME_shape[0], ..., and
--- numbers under the names in `values`. Every input and output needs a dtype; inputs come contiguous. Pieces of `grain` (65536) indices run in
--- parallel. shape: a function of the operands that gives the shape of the outputs (default: that of the first input); range: likewise the number
--- of indices (default: elements of the first output).
--- inputs, outputs ({ 'out' }): names, each with a dtype where wanted: 'x f32'. name: for messages.
--- Errors name the kernel and the line of its text; reductions and plain C need a C compiler and wait for it at their first call.
--- Source: the forms of CuPy's ElementwiseKernel, ReductionKernel and RawKernel.
---     mc.kernel{ name = 'axpy', inputs = { 'a', 'x', 'y' }, body = 'a * x + y' }(2, mc.tensor{ 1, 2 }, 10)  --> f64[2]@cpu { 12, 14 }
---@param k table
---@return table callable
function M.kernel(k)
  if type(k) ~= 'table' then error('kernel: the argument is ' .. check.show(k) .. "; give a table such as { inputs = { 'x' }, body = 'x * x' }", 2) end
  local o = check.opts('kernel', k, {
    name = { 'kernel', 'string' }, inputs = { nil, 'table' }, outputs = { { 'out' }, 'table' }, body = { nil, 'string' }, tier = { 'auto', { 'auto', 'native', 'vm', 'eager' } },
    state = { nil, 'table' }, init = { nil, 'string' }, step = { nil, 'string' }, combine = { nil, 'string' }, finish = { nil, 'string' }, dtype = { nil, 'string' },
    c = { nil, 'string' }, values = { nil, 'table' }, grain = { 65536, 'integer >= 1' }, shape = { nil, 'function' }, range = { nil, 'function' },
  }, 3)
  local self = { name = o.name, operands = {} }
  self.inputs, self.outputs = parameters('kernel ' .. o.name, o.inputs, 'inputs', 2), parameters('kernel ' .. o.name, o.outputs, 'outputs', 2)
  for i, p in ipairs(self.inputs) do self.operands[i] = p.name end
  local kinds = (o.body and 1 or 0) + (o.step and 1 or 0) + (o.c and 1 or 0)
  if kinds ~= 1 then error(('kernel %s: give one of body (elementwise), step with init and combine (reduction) and c (plain C)'):format(o.name), 2) end
  if o.dtype then tensor.dtype_code('kernel ' .. o.name, o.dtype, 2) end
  if o.body then self.run, self.compiled = require 'mascon.kernel.elementwise'.make(self, o.body, o)
  elseif o.step then self.run = require 'mascon.kernel.fold'.make(self, o, o)
  else self.run = require 'mascon.kernel.plain'.make(self, o.c, o) end
  return setmetatable(self, Kernel)
end

return M
