-- convolution.lua - derivatives of convolutions: each of the three forms is linear in both operands, and its
-- derivatives are the other two.
--
-- Form of a rule: see init.lua.
local op = require 'mascon.core.op'
local mc = require 'mascon.array'
local recording = require 'mascon.graph.recording'
local convolution = require 'mascon.array.convolution'

local R, forward = {}, {}

--- One of the forms with the geometry of another; of: a tensor whose last axes are the sizes that this form has to be
--- told.
local function form(name, a, b, p, of)
  local q = recording.params(p.raw)
  local nd = tonumber(q.i[0])
  for k = 1, nd do q.i[convolution.SIZES + k - 1] = of.shape[of.ndim - nd + k] end
  local y = recording.call(op.rows[name], 1, { a, b }, q)[1]
  -- what all convolutions shared gets the sum of their shares
  if q.i[convolution.BATCHED] ~= 0 and of.shape[1] == 1
    and y.shape[1] ~= 1 then y = mc.sum(y, { 1, keepdim = true }) end
  return y
end

R.conv = function(g, x, _, p)
  return { function() return form('conv_input', g, x[2], p, x[1]) end, function() return form('conv_weight', x[1], g,
    p, x[2]) end }
end
-- operands: the gradient of a result, the kernel
R.conv_input = function(g, x, _, p)
  return { function() return form('conv', g, x[2], p, x[1]) end, function() return form('conv_weight', g, x[1], p,
    x[2]) end }
end
-- operands: x, the gradient of a result
R.conv_weight = function(g, x, _, p)
  return { function() return form('conv_input', x[2], g, p, x[1]) end,
    function() return form('conv', x[1], g, p, x[2]) end }
end
for name in pairs(R) do forward[name] = 'multilinear' end

return { reverse = R, forward = forward }
