-- gradient.lua - derivatives held to differences of the function itself.
--
-- A function of tensors becomes a number, sum Re conj(w) f with random weights w, and each operand moves along a random
-- direction v. The slope is taken from five points at two steps; what both steps disagree by bounds their error, so
-- that the bound comes from the method (central differences of order 4: error h^4, rounding eps / h) and a point that
-- is no smooth one shows. Also: jvp against vjp, second derivatives as first ones of the gradient, compiled against
-- plain.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'

local M = {}

local FLOATS = { f64 = true, c128 = true }
local function complex(t) return t.dtype:sub(1, 1) == 'c' end

--- Standard normal numbers of a shape, complex ones with both parts.
function M.random(shape, dtype, seed)
  if dtype ~= 'c128' then return mc.randn(shape, { seed = seed, dtype = 'f64' }) end
  return mc.randn(shape, { seed = seed }) + mc.randn(shape, { seed = seed + 5000 }) * mc.complex(0, 1)
end

--- Numbers spread over [low, high].
function M.uniform(shape, low, high, seed) return mc.rand(shape, { seed = seed }) * (high - low) + low end

local function inner(a, b)
  if complex(a) or complex(b) then return mc.sum(mc.real(mc.conj(a) * b)) end
  return mc.sum(a * b)
end

local function size(t) return mc.sum(mc.abs(t)):item() end

--- The results of f that have derivatives, as a list.
local function results(...)
  local out = {}
  local function add(v)
    if mc.is_tensor(v) then
      if FLOATS[v.dtype] then out[#out + 1] = v end
    elseif type(v) == 'table' then
      local keys = {}
      for k in pairs(v) do keys[#keys + 1] = k end
      table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
      for _, k in ipairs(keys) do add(v[k]) end
    end
  end
  for i = 1, select('#', ...) do add((select(i, ...))) end
  return out
end
M.results = results

--- A number from the results of f: sum Re conj(w) f.
function M.loss(f, inputs, seed)
  local w = {}
  for k, y in ipairs(results(f(unpack(inputs)))) do w[k] = M.random(y.shape, y.dtype, seed + 7 * k) end
  return function(...)
    local total
    for k, y in ipairs(results(f(...))) do
      local part = inner(w[k], y)
      total = total and total + part or part
    end
    return total
  end, w
end

local function moved(inputs, i, v, h)
  local out = { unpack(inputs, 1, table.maxn(inputs)) }
  out[i] = inputs[i] + v * h
  return unpack(out, 1, table.maxn(inputs))
end

local function slope(loss, inputs, i, v, h)
  local function at(k) return loss(moved(inputs, i, v, k * h)):item() end
  return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
end

--- Places of the operands with derivatives.
local function places(inputs, without)
  local out = {}
  for i = 1, table.maxn(inputs) do
    if mc.is_tensor(inputs[i]) and FLOATS[inputs[i].dtype] and not (without and without[i]) then out[#out + 1] = i end
  end
  return out
end

--- First derivatives of f at inputs: reverse against differences, forward against reverse.
---@param o? table seed, step (1e-3), without: places of operands that are left alone, forward (true)
function M.first(what, f, inputs, o)
  o = o or {}
  local seed, h = o.seed or 11, o.step or 1e-3
  local wanted = places(inputs, o.without)
  assert(#wanted > 0, what .. ': no operand has a derivative')
  local loss, w = M.loss(f, inputs, seed)
  local grads = mc.grad(loss, { argnums = wanted })(unpack(inputs, 1, table.maxn(inputs)))
  local scale = 0
  for k, y in ipairs(results(f(unpack(inputs, 1, table.maxn(inputs))))) do
    scale = scale + mc.sum(mc.abs(w[k] * y)):item()
  end
  local tangents, along = { n = table.maxn(inputs) }, 0
  for k, i in ipairs(wanted) do
    local x, g = inputs[i], grads[k]
    assert(g.dtype == x.dtype and tostring(g.shape) == tostring(x.shape), ('%s: operand %d is %s, its gradient %s')
      :format(what, i, tostring(x.dtype) .. tostring(x.shape), tostring(g.dtype) .. tostring(g.shape)))
    local v = M.random(x.shape, x.dtype, seed + 100 + i)
    tangents[i] = v
    local got, wide, fine = inner(g, v):item(), slope(loss, inputs, i, v, h), slope(loss, inputs, i, v, h / 2)
    local bound = 2 * math.abs(wide - fine) + 2 ^ -52 * 50 * (scale + size(g)) / h
    assert(bound <= 1e-3 * (math.abs(fine) + scale + 1),
      ('%s, operand %d: differences do not settle: %g and %g'):format(what, i, wide, fine))
    local wrong = tol.compare('ITERATIVE', 'f64', got, fine, { bound = bound })
    if wrong then
      error(('%s, operand %d: the gradient along a direction: %s, bound %g'):format(what, i, wrong, bound), 0)
    end
    along = along + got
  end
  if o.forward == false then return end
  local all = { mc.jvp(f, { n = tangents.n, unpack(inputs, 1, tangents.n) }, tangents) }
  local half = #all / 2
  local got, reach = 0, 0
  for k, d in ipairs(results(unpack(all, half + 1))) do
    got = got + inner(w[k], d):item()
    reach = reach + mc.sum(mc.abs(w[k] * d)):item()
  end
  local wrong = tol.compare('ITERATIVE', 'f64', got, along, { bound = 2 ^ -52 * 1e4 * (reach + math.abs(along) + 1) })
  if wrong then error(('%s: forward against reverse: %s'):format(what, wrong), 0) end
end

--- The gradients with respect to all operands, as a function of them.
function M.gradients(f, inputs, o)
  o = o or {}
  local wanted = places(inputs, o.without)
  local loss = M.loss(f, inputs, o.seed or 11)
  return function(...) return unpack(mc.grad(loss, { argnums = wanted })(...)) end
end

--- Second derivatives: the gradients as a function.
function M.second(what, f, inputs, o)
  M.first(what .. ', second order', M.gradients(f, inputs, o), inputs, o)
end

--- The compiled gradient has the bits of the plain one.
function M.compiled(what, f, inputs, o)
  local g = M.gradients(f, inputs, o)
  local n = table.maxn(inputs)
  local want, got = results(g(unpack(inputs, 1, n))), results(mc.compile(g)(unpack(inputs, 1, n)))
  assert(#want == #got, what .. ': number of compiled gradients')
  for k, t in ipairs(want) do
    if not mc.array_equal(t, got[k]) then
      error(('%s: compiled gradient %d is %s, the plain one %s'):format(what, k, tostring(got[k]), tostring(t)), 0)
    end
  end
end

--- All of them. o.second, o.compiled: false leaves one out.
function M.check(what, f, inputs, o)
  o = o or {}
  M.first(what, f, inputs, o)
  if o.second ~= false then M.second(what, f, inputs, o) end
  if o.compiled ~= false then M.compiled(what, f, inputs, o) end
end

return M
