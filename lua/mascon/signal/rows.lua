-- rows.lua - the working shape of mc.signal: samples as contiguous rows [m, n], one axis last.
--
-- Holds the way there and back, the size of blocks that stay in cache, and the edge extensions.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local index = require 'mascon.core.index'
local check = require 'mascon.core.check'
local methods, F = tensor.methods, op.functions
local M = {}

--- Elements of one block in flight: 2^18 f64 are 2 MiB, which a core's cache holds beside the result (tuned on a Zen
--- 3).
M.BLOCK = 2 ^ 18

--- A real or complex floating tensor from any operand; integers become f64.
function M.float(fname, x, level)
  if not tensor.is(x) and type(x) ~= 'table' then
    error(('%s: samples are %s; give a tensor'):format(fname, check.show(x)), level)
  end
  x = op.operand(fname, x, level)
  local kind = tensor.kind[x.dtype]
  if kind ~= 'f' and kind ~= 'c' then return methods.to(x, 'f64') end
  if x.dtype == 'f16' or x.dtype == 'bf16' then return methods.to(x, 'f32') end
  return x
end

function M.is_complex(x) return tensor.kind[x.dtype] == 'c' end

--- x as rows f32|f64|c64|c128 [m, n] of one axis (default last), and a function that gives a result [m, k] the shape of
--- x again.
---@return any rows
---@return function back
---@return integer n samples of a row
function M.of(fname, x, axis, level)
  if x.ndim == 0 then error(('%s: samples are %s; give at least one axis'):format(fname, tensor.describe(x)), level) end
  local a = tensor.axis(fname, x, axis or -1, level + 1) + 1
  local moved = a == x.ndim and x or methods.moveaxis(x, a, -1)
  local shape = moved.shape
  local n, m, outer = shape[#shape], 1, {}
  for i = 1, #shape - 1 do m, outer[i] = m * shape[i], shape[i] end
  local function back(y)
    local s = {}
    for i = 1, #outer do s[i] = outer[i] end
    s[#s + 1] = y.shape[2]
    y = methods.reshape(y, s)
    if a == #shape then return methods.contiguous(y) end
    return methods.contiguous(methods.moveaxis(y, -1, a))
  end
  return methods.reshape(moved, { m, n }), back, n
end

--- Samples first..last (1-based) of every row.
function M.cut(x, first, last) return x[{ index.all, { first, last } }] end

--- Whether k taps over the rows r [m, n] run faster as a recursion than by transforms: eight rows share its lanes (Zen
--- 3: 0.26 ns a tap and sample there, 0.85 ns for one row, against 8 to 10 ns a sample of a transform pair).
function M.is_short(k, r)
  return k <= (r.shape[1] >= 4 and 32 or 12)
end

--- A 1-D f64 tensor from a number, a list or a tensor.
function M.vector(fname, what, v, level)
  if type(v) == 'number' then v = { v } end
  local t
  if tensor.is(v) then t = v
  elseif type(v) == 'table' then t = op.from_table(v)
  else error(('%s: %s is %s; give a list or a 1-D tensor'):format(fname, what, check.show(v)), level) end
  if t.ndim == 0 then t = methods.reshape(t, { 1 }) end
  if t.ndim ~= 1 or t.shape[1] < 1 then
    error(('%s: %s is %s; give one dimension with at least one entry'):format(fname, what, tensor.describe(t)), level)
  end
  if tensor.kind[t.dtype] == 'c' then
    error(('%s: %s is %s; give real numbers'):format(fname, what, tensor.describe(t)), level)
  end
  return methods.to(t, 'f64')
end

local PAD = { odd = 'odd_reflect', even = 'reflect', constant = 'edge' }
M.PADS = { 'odd', 'even', 'constant', 'none' }

--- Rows extended by k samples at both ends: odd (2 edge - reflection), even (reflection) or constant (edge value).
function M.extend(x, k, padtype)
  if k == 0 then return x end
  return F.pad(x, { { 0, 0 }, { k, k } }, { mode = PAD[padtype] })
end

--- f(first, last) for blocks of rows that stay within BLOCK elements a worker, whole multiples of rows a worker. Rows
--- are independent, so the cut, unlike one inside a row, may follow the number of workers.
function M.blocks(m, per_row, multiple, f)
  local workers = lib.C.mc_get_num_threads()
  local step = math.floor(M.BLOCK / math.max(1, per_row))
  step = math.max(multiple, step - step % multiple) * workers
  for first = 1, m, step do f(first, math.min(m, first + step - 1)) end
end

--- Complex rows from two real ones.
function M.complex(re, im)
  local out = tensor.empty('complex', re.shape, re.dtype == 'f32' and 'c64' or 'c128', 2, re._device)
  methods.copy_(methods.view_real(out), re)
  methods.copy_(methods.view_imag(out), im)
  return out
end

M.all, M.F = index.all, F
return M
