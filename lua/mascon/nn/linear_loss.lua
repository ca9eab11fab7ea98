-- linear_loss.lua - the loss of a linear layer with many outputs, such as the head of a language model, in blocks of
-- rows: the logits of all rows never exist together.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local linear = require 'mascon.nn.linear'
local loss = require 'mascon.nn.loss'
local checkpoint = require 'mascon.transform.checkpoint'
local scan = require 'mascon.transform.scan'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local OPTS = {
  bias = { nil, 'tensor' }, rows = { 512, 'integer >= 1' }, ignore_index = { -100, 'integer' },
  label_smoothing = { 0, 'number >= 0' }, reduction = { 'mean', { 'mean', 'sum', 'none' } },
  weight = { nil, 'tensor' },
}

--- What the mean divides by: the weights of the labels that count, or their number.
local function counted(target, o, dtype)
  local counts = F.ne(target, o.ignore_index)
  if not o.weight then return methods.to(F.sum(methods.to(counts, 'i64')), dtype) end
  local own = F.take(methods.to(o.weight, dtype), F.where(counts, target, 0) + 1)
  return F.sum(F.where(counts, own, 0))
end

--- Cross entropy of the logits x weight^T + bias with class labels, some rows at a time.
---
--- It is nn.cross_entropy(nn.linear(x, weight, bias), target), in the memory of the logits of `rows` rows: the way back
--- makes the logits of each block again.
---@param x any f32|f64 [..., d]
---@param weight any [classes, d]
---@param target any integers from 0 [...]
---@param opts? table bias: [classes] (none) · rows (512) · weight: of the classes, [classes] (none) · ignore_index
---   (-100) · label_smoothing (0) · reduction ('mean'): as for nn.cross_entropy
---@return any a number, or the shape of target
--- Errors: as nn.linear and nn.cross_entropy; rows and labels that do not belong together.
---     mc.nn.linear_cross_entropy(mc.ones{ 1, 1 }, mc.tensor{ { 1000 }, { 0 } }, mc.tensor({ 1 }, { dtype = 'i64' }))
---       --> f64[]@cpu 1000
function M.linear_cross_entropy(x, weight, target, opts)
  local fname = 'nn.linear_cross_entropy'
  x, weight, target = op.beside(fname, x, weight, 2), op.beside(fname, weight, x, 2), op.beside(fname, target, x, 2)
  local o = check.opts(fname, opts, OPTS, 3)
  local fits = x.ndim >= 1 and target.ndim == x.ndim - 1
  for i = 1, fits and target.ndim or 0 do fits = fits and target.shape[i] == x.shape[i] end
  if not fits then
    error(('%s: input is %s and target is %s; give a class for each row of the input'):format(fname,
      tensor.describe(x), tensor.describe(target)), 2)
  end
  if o.weight and (o.weight.ndim ~= 1 or o.weight.shape[1] ~= weight.shape[1]) then
    error(('%s: option weight is %s for %d classes; give one number for each'):format(fname, tensor.describe(o.weight),
      weight.shape[1]), 2)
  end
  local each = o.reduction == 'none'
  local bias, how, shape = o.bias, { ignore_index = o.ignore_index, label_smoothing = o.label_smoothing,
    reduction = each and 'none' or 'sum' }, target.shape
  x, target = methods.reshape(x, { -1, x.shape[x.ndim] }), methods.to(methods.reshape(target, { -1 }), 'i64')
  local block = checkpoint.checkpoint(function(a, w, t, b, c)
    how.weight = c
    return loss.cross_entropy(linear.linear(a, w, b), t, how)
  end)
  local n, rows = x.shape[1], o.rows
  local total, losses
  if n <= rows then
    total = block(x, weight, target, bias, o.weight)
    losses = total
  else
    local blocks = math.ceil(n / rows)
    local left = blocks * rows - n -- rows that do not count
    if left > 0 then
      x, target = F.pad(x, { { 0, left }, { 0, 0 } }), F.pad(target, { { 0, left } }, { value = o.ignore_index })
    end
    local sum = methods.to(op.from_table(0), { dtype = x.dtype, device = x.device })
    total, losses = scan.scan(function(before, xs)
      local own = block(xs[1], weight, xs[2], bias, o.weight)
      if each then return before, own end
      return before + own, before
    end, sum, { methods.reshape(x, { blocks, rows, -1 }), methods.reshape(target, { blocks, rows }) })
  end
  if each then return methods.reshape(methods.reshape(losses, { -1 })[{ { 1, n } }], shape) end
  if o.reduction == 'sum' then return total end
  return total / counted(target, o, total.dtype)
end

return M
