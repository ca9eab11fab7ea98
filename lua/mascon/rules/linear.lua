-- linear.lua - derivatives of products, transforms and moving elements, which are linear in each operand.
--
-- Form of a rule: see elementwise.lua.
local mc = require 'mascon'

local R = {}

local function adjoint(t)
  local m = t.mT
  return t.dtype:sub(1, 1) == 'c' and mc.conj(m) or m
end
local function conj(t) return t.dtype:sub(1, 1) == 'c' and mc.conj(t) or t end

R.matmul = function(g, x)
  local a, b = x[1], x[2]
  if a.ndim == 1 and b.ndim == 1 then return { g * conj(b), g * conj(a) } end
  if a.ndim == 1 then -- [k] @ [..., k, n] -> [..., n]
    return { g:expand_dims(-2):matmul(adjoint(b)):squeeze(-2), conj(a):reshape(-1, 1) * g:expand_dims(-2) }
  end
  if b.ndim == 1 then -- [..., m, k] @ [k] -> [..., m]
    return { g:expand_dims(-1) * conj(b), adjoint(a):matmul(g:expand_dims(-1)):squeeze(-1) }
  end
  return { g:matmul(adjoint(b)), adjoint(a):matmul(g) }
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

local function back_norm(norm, way)
  -- the adjoint of a forward transform is the backward one without its 1/n, and the other way round
  if norm == 1 then return 'ortho' end
  if way == 'forward' then return norm == 0 and 'forward' or 'backward' end
  return norm == 0 and 'forward' or 'backward'
end
local function fit(t, n, axis)
  local have = t.shape[axis]
  if have == n then return t end
  local key = {}
  for i = 1, t.ndim do key[i] = i == axis and { 1, math.min(n, have) } or mc.all end
  if have > n then return t[key] end
  local s = {}
  for i = 1, t.ndim do s[i] = i == axis and n - have or t.shape[i] end
  return mc.concat({ t, mc.zeros(s, { dtype = t.dtype }) }, axis)
end
R.fft = function(g, x, y, p)
  local a = p.axes and p.axes[1] or x[1].ndim
  local r = fit(mc.fft.ifft(g, { axis = a, norm = back_norm(p.norm, 'forward') }), x[1].shape[a], a)
  return { x[1].dtype:sub(1, 1) == 'c' and r or mc.real(r) }
end
R.ifft = function(g, x, y, p)
  local a = p.axes and p.axes[1] or x[1].ndim
  local r = fit(mc.fft.fft(g, { axis = a, norm = back_norm(p.norm, 'backward') }), x[1].shape[a], a)
  return { x[1].dtype:sub(1, 1) == 'c' and r or mc.real(r) }
end

return { reverse = R }
