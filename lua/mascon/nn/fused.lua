-- fused.lua - activations by name, and a product with its activation in one pass: what linear layers and fusions share.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local recording = require 'mascon.graph.recording'
local functions = require 'mascon.nn.activation'
local F = op.functions
local M = {}

-- those that are no rows of the namespace nn
local BY_NAME = { sigmoid = F.logistic, tanh = F.tanh, leaky_relu = functions.leaky_relu, elu = functions.elu }
for name, row in pairs(op.rows) do
  local of = name:match '^(.*)_slope$' -- a derivative
  if row.namespace == 'nn' and row.family == 'unary' and not (of and op.rows[of]) then BY_NAME[name] = F[name] end
end

--- The function of an activation's name, or a function itself.
function M.named(fname, v, level)
  if type(v) == 'function' then return v end
  local f = BY_NAME[v]
  if not f then
    local near = type(v) == 'string' and check.nearest(v, BY_NAME)
    check.error(('%s: activation is %s; choose %s, or give a function%s'):format(fname, check.show(v),
      check.names(BY_NAME),
      near and (' (did you mean %q?)'):format(near) or ''), level)
  end
  return f
end

--- The function of the name of what may stand behind a product: an activation, 'none' or 'swiglu'.
function M.behind(fname, act, level)
  if act == nil or act == 'none' then return function(t) return t end end
  if act == 'swiglu' then return functions.swiglu end
  return M.named(fname, act, level + 1)
end

local compiled = setmetatable({}, { __mode = 'v' }) -- by the name of the activation; made anew after a collection

--- act(linear(x, weight, bias)) in one pass; part of what is recorded or compiled around it, where something is.
---@param act string? name
---@param f function of that name
function M.linear(linear, act, f, x, weight, bias)
  if recording.on() then return f(linear(x, weight, bias)) end
  local key = act or 'none'
  local run = compiled[key] or require('mascon.compile').compile(function(a, w, b) return f(linear(a, w, b)) end)
  compiled[key] = run
  return (run(x, weight, bias))
end

return M
