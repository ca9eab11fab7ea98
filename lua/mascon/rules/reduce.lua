-- reduce.lua - derivatives of reductions, scans and orderings.
--
-- Form of a rule: see elementwise.lua. p.axes lists the reduced axes (all when nil), p.keepdim says whether they stay with size 1.
local mc = require 'mascon'

local R = {}

--- A tensor of the result's shape, with the reduced axes back as size 1.
local function back(t, x, p)
  if p.keepdim then return t end
  local shape, gone = {}, {}
  for _, a in ipairs(p.axes or {}) do gone[a] = true end
  for i = 1, x.ndim do shape[i] = (not p.axes or gone[i]) and 1 or x.shape[i] end
  return t:reshape(shape)
end

local function count(x, p)
  local n = 1
  if not p.axes then return x:numel() end
  for _, a in ipairs(p.axes) do n = n * x.shape[a] end
  return n
end

R.sum = function(g, x, _, p) return { back(g, x[1], p):broadcast_to(x[1].shape) } end
R.mean = function(g, x, _, p) return { (back(g, x[1], p) / count(x[1], p)):broadcast_to(x[1].shape) } end
R.max = function(g, x, y, p)
  local hit = mc.eq(x[1], back(y[1], x[1], p)):to(g.dtype)
  local axes = { keepdim = true }
  for i, a in ipairs(p.axes or {}) do axes[i] = a end
  local ties = p.axes and mc.sum(hit, axes) or mc.sum(hit)
  return { hit * (back(g, x[1], p) / ties) } -- equal elements share
end
R.min = R.max
R.prod = function(g, x, y, p)
  -- without division by zero: the product of the others, from both sides
  local t = x[1]
  if p.axes and #p.axes == 1 or t.ndim == 1 then
    local a = p.axes and p.axes[1] or 1
    local flip = mc.flip(t, a)
    local function before(u)
      local one = mc.ones(u:size(a) > 0 and (function()
        local s = {}
        for i = 1, u.ndim do s[i] = i == a and 1 or u.shape[i] end
        return s
      end)() or u.shape, { dtype = u.dtype })
      local key = {}
      for i = 1, u.ndim do key[i] = i == a and { 1, -2 } or mc.all end
      return mc.cumprod(mc.concat({ one, u[key] }, a), a)
    end
    return { back(g, t, p) * before(t) * mc.flip(before(flip), a) }
  end
  return { back(g * y[1], t, p) / t }
end
local function centred(x, p)
  local axes = { keepdim = true }
  for i, a in ipairs(p.axes or {}) do axes[i] = a end
  return x - (p.axes and mc.mean(x, axes) or mc.mean(x))
end
R.var = function(g, x, _, p) return { back(g, x[1], p) * centred(x[1], p) * (2 / (count(x[1], p) - p.correction)) } end
R.std = function(g, x, y, p)
  local s = back(y[1], x[1], p)
  return { back(g, x[1], p) * centred(x[1], p) / (mc.where(mc.eq(s, 0), 1, s) * (count(x[1], p) - p.correction)) }
end
R.logsumexp = function(g, x, y, p) return { back(g, x[1], p) * mc.exp(x[1] - back(y[1], x[1], p)) } end
R.softmax = function(g, x, y, p)
  local axes = { keepdim = true }
  for i, a in ipairs(p.axes or {}) do axes[i] = a end
  local gy = g * y[1]
  return { gy - y[1] * (p.axes and mc.sum(gy, axes) or mc.sum(gy)) }
end
R.log_softmax = function(g, _, y, p)
  local axes = { keepdim = true }
  for i, a in ipairs(p.axes or {}) do axes[i] = a end
  return { g - mc.exp(y[1]) * (p.axes and mc.sum(g, axes) or mc.sum(g)) }
end
R.cumsum = function(g, x, _, p)
  local a = p.axes and p.axes[1] or 1
  return { mc.flip(mc.cumsum(mc.flip(g, a), a), a):reshape(x[1].shape) }
end
R.sort = function(g, x, _, p)
  local a = p.axes and p.axes[1] or x[1].ndim
  local order = mc.argsort(x[1], { axis = a, descending = p.descending == 1, stable = true })
  return { mc.put_along_axis(mc.zeros(g.shape, { dtype = g.dtype }), order, g, { axis = a }) }
end

return { reverse = R }
