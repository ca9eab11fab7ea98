-- derivative.lua - comparing trees of tensors, and derivatives with differences, for the specs of transforms.
local mc = require 'mascon'

local M = {}

--- Leaves with their paths.
local function walk(v, where, out)
  if mc.is_tensor(v) or type(v) ~= 'table' then
    out[#out + 1] = { where, v }
  else
    for _, k in ipairs(mc.tree.keys(v)) do walk(v[k], where .. '.' .. tostring(k), out) end
  end
  return out
end

local function each(want, got, what, f)
  local a, b = walk(want, what, {}), walk(got, what, {})
  assert(#a == #b, ('%s: %d leaves, want %d'):format(what, #b, #a))
  for i, leaf in ipairs(a) do
    assert(leaf[1] == b[i][1], ('%s where %s is wanted'):format(b[i][1], leaf[1]))
    local x, y = leaf[2], b[i][2]
    if mc.is_tensor(x) then
      assert(mc.is_tensor(y), leaf[1] .. ': no tensor')
      assert(x.dtype == y.dtype and tostring(x.shape) == tostring(y.shape),
        ('%s: %s%s, want %s%s'):format(leaf[1], y.dtype, tostring(y.shape), x.dtype, tostring(x.shape)))
      f(leaf[1], x, y)
    else
      assert(x == y, ('%s: %s, want %s'):format(leaf[1], tostring(y), tostring(x)))
    end
  end
end

--- The same bits (NaN equals NaN), dtypes and shapes, leaf by leaf.
function M.same(want, got, what)
  each(want, got, what or 'result', function(where, x, y)
    local nx, ny = mc.isnan(x), mc.isnan(y)
    assert(mc.array_equal(nx, ny) and mc.array_equal(mc.where(nx, 0, x), mc.where(ny, 0, y)),
      ('%s: %s, want %s'):format(where, tostring(y), tostring(x)))
  end)
end

--- Equal but for rounding of sums in another order.
function M.close(want, got, what, rtol)
  each(want, got, what or 'result', function(where, x, y)
    assert(mc.allclose(y, x, { rtol = rtol or 1e-10, atol = 1e-12, equal_nan = true }),
      ('%s: %s, want %s'):format(where, tostring(y), tostring(x)))
  end)
end

--- Gradient of f, which returns a number as a 0-d tensor, at t by central differences.
function M.differences(f, t)
  local g, h = mc.zeros(t.shape), 1e-6
  local flat, out = t:copy():reshape(-1), g:reshape(-1)
  for i = 1, flat:numel() do
    local v = flat[i]:item()
    flat[i] = v + h
    local up = f(flat:reshape(t.shape)):item()
    flat[i] = v - h
    local down = f(flat:reshape(t.shape)):item()
    flat[i] = v
    out[i] = (up - down) / (2 * h)
  end
  return g
end

--- Reverse mode against differences and forward mode, eager and compiled; second order forwards over reverse against
--- differences of the gradient.
function M.check(what, f, t, options)
  local o = options or {}
  local want = M.differences(f, t)
  local g = mc.grad(f)(t)
  M.close(want, g, what .. ': reverse', 1e-6)
  local d = mc.randn { seed = 99, unpack(t.shape) }:reshape(t.shape)
  local _, forward = mc.jvp(f, { t }, { d })
  M.close(mc.sum(g * d), forward, what .. ': forward', 1e-9)
  if o.compile ~= false then
    local c = mc.compile(mc.grad(f))
    for call = 1, 2 do M.close(g, c(t), what .. ': compiled gradient, call ' .. call, 1e-12) end
    local j = mc.compile(function(x, v) return select(2, mc.jvp(f, { x }, { v })) end)
    for call = 1, 2 do M.close(forward, j(t, d), what .. ': compiled tangent, call ' .. call, 1e-12) end
  end
  if o.second ~= false then
    local function slope(x) return mc.sum(mc.grad(f)(x) * d) end
    M.close(M.differences(slope, t), mc.grad(slope)(t), what .. ': reverse over reverse', 1e-5)
    local _, hd = mc.hvp(f, t, d)
    M.close(mc.grad(slope)(t), hd, what .. ': forward over reverse', 1e-9)
  end
end

return M
