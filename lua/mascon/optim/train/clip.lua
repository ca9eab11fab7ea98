-- clip.lua - gradients kept within bounds, over trees of tensors.
--
-- Holds the norms over a tree.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local parameters = require 'mascon.optim.parameters'
local F = op.functions
local M = {}

local NORM = { ord = { 2, 'number > 0' } }

--- Norm of all elements of a tree together, as an f64 tensor [].
---
--- Options: ord (2): sum(|g|^ord)^(1 / ord); math.huge gives the largest magnitude. Every leaf is summed in its own
--- dtype, the leaves in f64.
---     mc.optim.global_norm { a = mc.tensor { 3 }, b = { mc.tensor { 0, 4 } } }  --> f64[]@cpu 5
---@param grads any
---@param opts? table ord
---@return any f64 []
function M.global_norm(grads, opts)
  local ord, total = check.opts('optim.global_norm', opts, NORM, 3).ord, nil
  for _, g in ipairs((parameters.leaves('optim.global_norm', 'grads', grads))) do
    local size = F.abs(g)
    local part
    if ord == math.huge then part = F.max(size)
    elseif ord == 2 then part = F.sum(F.square(size))
    else part = F.sum(F.pow(size, ord)) end
    part = tensor.methods.to(part, 'f64')
    if not total then
      total = part
    elseif ord == math.huge then
      total = F.maximum(total, part)
    else
      total = F.add(total, part)
    end
  end
  total = total or op.from_table(0)
  if ord == math.huge then return total end
  return ord == 2 and F.sqrt(total) or F.pow(total, 1 / ord)
end

--- Gradients scaled down together so that their norm is at most max_norm, and the norm they had.
---
--- g min(1, max_norm / (norm + 1e-6)). Options: ord (2). Nothing looks at a value, so that it compiles; NaN gradients
--- stay NaN.
--- Source: On the difficulty of training recurrent neural networks, 2013, algorithm 1; torch.nn.utils.clip_grad_norm_.
---     mc.optim.clip_norm(mc.tensor { 30, 40 }, 5)  --> f64[2]@cpu { 3.0000, 4.0000 }, f64[]@cpu 50
---@param grads any tree of tensors
---@param max_norm number
---@param opts? table ord
---@return any grads, any norm f64 []
function M.clip_norm(grads, max_norm, opts)
  check.arg('optim.clip_norm', 'max_norm', max_norm, 'number >= 0', 3)
  local norm = M.global_norm(grads, opts)
  local share = F.minimum(F.divide(max_norm, F.add(norm, 1e-6)), 1)
  return parameters.map('optim.clip_norm', 'grads', grads, function(g)
    local real = ({ f64 = 'f64', c128 = 'f64' })[g.dtype] or 'f32'
    local out = F.multiply(g, tensor.methods.to(share, real))
    return out.dtype == g.dtype and out or tensor.methods.to(out, g.dtype)
  end), norm
end

--- Gradients with every element limited to [-limit, limit].
--- Source: torch.nn.utils.clip_grad_value_.
---     mc.optim.clip_value(mc.tensor { -3, 0.5 }, 1)  --> f64[2]@cpu { -1.0000, 0.5000 }
---@param grads any tree of tensors
---@param limit number
---@return any grads
function M.clip_value(grads, limit)
  check.arg('optim.clip_value', 'limit', limit, 'number >= 0', 3)
  return parameters.map('optim.clip_value', 'grads', grads, function(g) return F.clip(g, -limit, limit) end)
end

return M
