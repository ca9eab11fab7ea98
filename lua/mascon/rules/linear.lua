-- linear.lua - derivatives of matrix products, linear in each operand.
--
-- Form of a rule: see init.lua.
local mc = require 'mascon.array'

local R = {}

local function adjoint(t)
  local m = t.mT
  return t.dtype:sub(1, 1) == 'c' and mc.conj(m) or m
end
local function conj(t) return t.dtype:sub(1, 1) == 'c' and mc.conj(t) or t end

--- Whether matrices lie column by column, as the transpose of a tensor does: their gradient is made the same way, so
--- that the gradient of the tensor itself is contiguous.
local function turned(t)
  local s, n = t.strides, t.ndim
  return t.shape[n] > 1 and t.shape[n - 1] > 1 and s[n - 1] == 1 and s[n] >= t.shape[n - 1]
end

R.matmul = function(g, x)
  local a, b = x[1], x[2]
  if a.ndim == 1 and b.ndim == 1 then
    return { function() return g * conj(b) end, function() return g * conj(a) end }
  end
  if a.ndim == 1 then -- [k] @ [..., k, n] -> [..., n]
    local row = g:expand_dims(-2)
    return { function() return row:matmul(adjoint(b)):squeeze(-2) end,
      function() return conj(a):reshape(-1, 1) * row end }
  end
  if b.ndim == 1 then -- [..., m, k] @ [k] -> [..., m]
    local column = g:expand_dims(-1)
    return { function() return column * conj(b) end, function() return adjoint(a):matmul(column):squeeze(-1) end }
  end
  return {
    function()
      if turned(a) then return conj(b):matmul(g.mT).mT end
      return g:matmul(adjoint(b))
    end,
    function()
      if turned(b) then return g.mT:matmul(conj(a)).mT end
      return adjoint(a):matmul(g)
    end,
  }
end

return { reverse = R, forward = { matmul = 'multilinear' } }
