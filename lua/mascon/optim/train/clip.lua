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

--- Gradients times min(1, limit / (norm + 1e-6)); as they are when the norm is not finite.
function M.scaled(fname, grads, norm, limit)
  local share = F.where(F.isfinite(norm), F.minimum(F.divide(limit, F.add(norm, 1e-6)), 1), 1)
  return parameters.map(fname, 'grads', grads, function(g)
    local real = ({ f64 = 'f64', c128 = 'f64' })[g.dtype] or 'f32'
    local out = F.multiply(g, tensor.methods.to(share, real))
    return out.dtype == g.dtype and out or tensor.methods.to(out, g.dtype)
  end)
end

--- Gradients scaled down together so that their norm is at most max_norm, and the norm they had.
---
--- g min(1, max_norm / (norm + 1e-6)). Options: ord (2). Nothing looks at a value, so that it compiles. A norm that is
--- not finite leaves the gradients as they are.
--- Source: On the difficulty of training recurrent neural networks, 2013, algorithm 1; torch.nn.utils.clip_grad_norm_,
--- which multiplies by 0 or NaN where the norm is not finite.
---     mc.optim.clip_norm(mc.tensor { 30, 40 }, 5)  --> f64[2]@cpu { 3.0000, 4.0000 }, f64[]@cpu 50
---@param grads any tree of tensors
---@param max_norm number
---@param opts? table ord
---@return any grads, any norm f64 []
function M.clip_norm(grads, max_norm, opts)
  check.arg('optim.clip_norm', 'max_norm', max_norm, 'number >= 0', 3)
  local norm = M.global_norm(grads, opts)
  return M.scaled('optim.clip_norm', grads, norm, max_norm), norm
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

-- ---------------------------------------------------------------- by the norms so far

---@class mascon.AdaptiveClip
---@field limit number the largest norm of the last call (infinite at first)
local Adaptive = {}
Adaptive.__index = Adaptive
M.adaptive_clip_methods = Adaptive

local ADAPTIVE = {
  percentile = { 90, 'number > 0' }, window = { 1000, 'integer >= 1' }, least = { 10, 'integer >= 1' },
}

--- Clipping by a percentile of the norms so far: an object, called once a step as grads, norm = clip:apply(grads).
---
--- The limit is that percentile of the last `window` norms, before this one; up to `least` norms nothing is clipped.
--- apply reads the norm as a number, so that it stands between compiled functions, not inside of one. As the option
--- clip of nn.Step the limit is an argument of the compiled step.
--- Source: AutoClip: adaptive gradient clipping for source separation networks, 2020.
---     mc.optim.adaptive_clip():apply(mc.tensor { 3, 4 })  --> f64[2]@cpu { 3, 4 }, 5
---@param opts? table percentile (90) · window: norms that are kept (1000) · least (10)
---@return mascon.AdaptiveClip
function M.adaptive_clip(opts)
  local o = check.opts('optim.adaptive_clip', opts, ADAPTIVE, 3)
  if o.percentile > 100 then
    check.error(('optim.adaptive_clip: percentile is %g; it is at most 100'):format(o.percentile), 2)
  end
  return setmetatable({ options = o, norms = {}, limit = math.huge }, Adaptive)
end

--- The limit of the next gradient: the percentile of the norms so far, infinite while there are too few.
---@return number
function Adaptive:next_limit()
  local norms, o = self.norms, self.options
  self.limit = #norms >= o.least and F.quantile(op.from_table(norms), o.percentile / 100):item() or math.huge
  return self.limit
end

--- Takes the norm of a gradient into the record; one that is not finite leaves it as it is.
---@param norm number
function Adaptive:add(norm)
  if norm ~= norm or norm == math.huge then return end
  local norms = self.norms
  norms[#norms + 1] = norm
  if #norms > self.options.window then table.remove(norms, 1) end
end

--- Gradients scaled down to a limit, a number or a 0-d tensor, infinite for none; and their norm before, f64 [].
---@param grads any tree of tensors
---@param limit any
---@return any grads, any norm
function Adaptive.scaled(grads, limit)
  local norm = M.global_norm(grads)
  return M.scaled('optim.adaptive_clip', grads, norm, limit), norm
end

--- Gradients scaled down to the limit, and their norm before.
---@param grads any tree of tensors
---@return any grads, number norm
function Adaptive:apply(grads)
  local limit = self:next_limit()
  local out, norm = Adaptive.scaled(grads, limit)
  local value = norm:item()
  self:add(value)
  return limit == math.huge and grads or out, value
end

--- What a checkpoint keeps: a table of numbers.
---@return table
function Adaptive:state() return { norms = { unpack(self.norms) } } end

--- Takes what state() gave.
---@param state table
---@return mascon.AdaptiveClip self
function Adaptive:restore(state)
  local norms = check.arg('adaptive_clip:restore', 'norms', type(state) == 'table' and state.norms or nil, 'table', 3)
  for i, v in ipairs(norms) do check.arg('adaptive_clip:restore', ('norms[%d]'):format(i), v, 'number', 3) end
  self.norms = { unpack(norms) }
  return self
end

return M
