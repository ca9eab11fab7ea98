-- transpose.lua - a linear function turned round.
--
-- Holds the one step that both directions of differentiation share: what a linear function of tensors does is written
-- down and gone through in reverse.
local recording = require 'mascon.graph.recording'
local evaluate = require 'mascon.transform.evaluate'
local reverse = require 'mascon.transform.reverse'
local trace = require 'mascon.transform.trace'

local M = {}

--- f* c for a linear f.
---@param f fun(...): table takes tensors, returns a list of tensors
---@param seeds table { n =, tensors }: operands of f, in form
---@param cotangent fun(k: integer): any cotangent of result k of f, or nil
---@return table list for each operand a tensor, or nil where nothing depends on it
function M.run(f, seeds, cotangent)
  local nested = recording.on()
  local count
  local traced = trace.run(function(...)
    local out = f(...)
    count = #out
    return unpack(out, 1, count)
  end, seeds, { keep = not nested })
  local env = evaluate.run(traced.graph, traced.inputs, nested, true)
  local cotangents = {}
  for k = 1, count do cotangents[k] = cotangent(k) end
  return reverse.run(traced.graph, env, cotangents)
end

return M
