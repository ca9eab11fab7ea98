-- linear.lua - derivatives of products and moving elements, which are linear in each operand.
--
-- Form of a rule: see init.lua.
local mc = require 'mascon'

local R = {}

local function adjoint(t)
  local m = t.mT
  return t.dtype:sub(1, 1) == 'c' and mc.conj(m) or m
end
local function conj(t) return t.dtype:sub(1, 1) == 'c' and mc.conj(t) or t end

R.matmul = function(g, x)
  local a, b = x[1], x[2]
  if a.ndim == 1 and b.ndim == 1 then
    return { function() return g * conj(b) end, function() return g * conj(a) end }
  end
  if a.ndim == 1 then -- [k] @ [..., k, n] -> [..., n]
    local row = g:expand_dims(-2)
    return { function() return row:matmul(adjoint(b)):squeeze(-2) end, function() return conj(a):reshape(-1, 1) * row end }
  end
  if b.ndim == 1 then -- [..., m, k] @ [k] -> [..., m]
    local column = g:expand_dims(-1)
    return { function() return column * conj(b) end, function() return adjoint(a):matmul(column):squeeze(-1) end }
  end
  return { function() return g:matmul(adjoint(b)) end, function() return adjoint(a):matmul(g) end }
end

R.take = function(g, x, _, p)
  local t, index = x[1], x[2]
  local a = p.axes and p.axes[1] or 1
  local out = mc.zeros(t.shape, { dtype = g.dtype })
  local key = {}
  for i = 1, t.ndim do key[i] = i == a and index or mc.all end
  if p.base == 0 then key[a] = index + 1 end
  return { out:index_add_(key, g) }
end
R.take_along_axis = function(g, x, _, p)
  local a = p.axes and p.axes[1] or x[1].ndim
  return { mc.scatter_add(mc.zeros(x[1].shape, { dtype = g.dtype }), x[2], g, { axis = a, base = p.base }) }
end
R.scatter_add = function(g, x, _, p)
  local a = p.axes and p.axes[1] or x[1].ndim
  return { g, nil, mc.take_along_axis(g, x[2], { axis = a, base = p.base }) }
end
R.concat = function(g, x, _, p)
  local a, at, out = p.axes and p.axes[1] or 1, 0, {}
  for i, t in ipairs(x) do
    local key, n = {}, t.shape[a]
    for d = 1, g.ndim do key[d] = d == a and { at + 1, at + n } or mc.all end
    out[i] = n > 0 and g[key] or mc.zeros(t.shape, { dtype = g.dtype })
    at = at + n
  end
  return out
end
R.stack = function(g, x, _, p)
  local a, out = p.axes and p.axes[1] or 1, {}
  for i = 1, #x do
    local key = {}
    for d = 1, g.ndim do key[d] = d == a and i or mc.all end
    out[i] = g[key]
  end
  return out
end

return { reverse = R, forward = { matmul = 'multilinear' } }
