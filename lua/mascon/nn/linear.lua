-- linear.lua - products with a weight along the last axis, and rows of a table.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local custom = require 'mascon.transform.custom'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- x weight^T + bias along the last axis.
---@param x any f16|bf16|f32|f64 [..., in]
---@param weight any [out, in]
---@param bias? any [out]
---@return any [..., out]
--- Errors: sizes that differ. Source: PyTorch nn.functional.linear.
---     mc.nn.linear(mc.tensor{ 1, 2 }, mc.tensor{ { 3, 4 } })  --> f64[1]@cpu { 11 }
function M.linear(x, weight, bias)
  x, weight = op.beside('nn.linear', x, weight, 2), op.beside('nn.linear', weight, x, 2)
  if x.ndim == 0 or weight.ndim ~= 2 or x.shape[x.ndim] ~= weight.shape[2] then
    error(('nn.linear: input is %s and weight is %s; the last axis of the input must have the size of the second of '
      .. 'the weight'):format(tensor.describe(x), tensor.describe(weight)), 2)
  end
  local back
  if x.ndim > 2 then
    back = {}
    for i = 1, x.ndim - 1 do back[i] = x.shape[i] end
    back[x.ndim] = weight.shape[1]
    x = methods.reshape(x, { -1, weight.shape[2] })
  end
  local y = methods.matmul(x, weight.mT)
  if bias then y = y + bias end
  return back and methods.reshape(y, back) or y
end

--- The rows of a table at places counted from 0 (token ids); the gradient is added to the rows.
---@param ids any i8..i64, u8, any shape
---@param weight any [rows, width]
---@param opts? table padding_idx: a row without gradient (none)
---@return any [..., width]
--- Errors: an id outside the table. Source: PyTorch nn.functional.embedding.
---     mc.nn.embedding(mc.ones{ 1, dtype = 'i64' }, mc.tensor{ { 1 }, { 3 } })  --> f64[1,1]@cpu { { 3 } }
function M.embedding(ids, weight, opts)
  ids, weight = op.beside('nn.embedding', ids, weight, 2), op.beside('nn.embedding', weight, ids, 2)
  local pad = check.opts('nn.embedding', opts, { padding_idx = { nil, 'integer >= 0' } }, 3).padding_idx
  local k = tensor.kind[ids.dtype]
  if (k ~= 'i' and k ~= 'u') or weight.ndim ~= 2 then
    error(('nn.embedding: ids are %s and weight is %s; give integers from 0 and a table [rows, width]'):format(
      tensor.describe(ids), tensor.describe(weight)), 2)
  end
  local shape = {}
  for i = 1, ids.ndim do shape[i] = ids.shape[i] end
  shape[#shape + 1] = weight.shape[2]
  local flat = methods.reshape(ids, { -1 })
  if flat.dtype ~= 'i64' then flat = methods.to(flat, 'i64') end
  local rows = weight.shape[1]
  if flat._device == 0 and not tensor.recorded(flat) and flat:numel() > 0 then
    local lo, hi = F.min(flat):item(), F.max(flat):item()
    if lo < 0 or hi >= rows then
      error(('nn.embedding: id %d is outside the table %s; ids count from 0'):format(tonumber(lo < 0 and lo or hi),
        tensor.describe(weight)), 2)
    end
  end
  -- no id counts from the end
  local y = F.take(weight, k == 'i' and F.where(F.lt(flat, 0), rows, flat) or flat, { axis = 1, base = 0 })
  if pad then
    y = F.where(methods.reshape(F.eq(flat, pad), { -1, 1 }), custom.stop_gradient(y), y)
  end
  return methods.reshape(y, shape)
end

return M
