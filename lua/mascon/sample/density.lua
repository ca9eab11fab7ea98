-- density.lua - a user's log density as the samplers see it: a function of a flat vector without bounds, and one
-- leapfrog step over it.
--
-- A state is a point with what belongs to it: position q, momentum p, gradient g and velocity v (metric times
-- momentum), each a tensor [n], the log density and the energy H = v.p / 2 - log density as numbers. A compiled density
-- is traced together with the step around it: one call per step. States are never written to, so that trees of states
-- may share them.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local tree = require 'mascon.graph.tree'
local transform = require 'mascon.transform'
local compile = require 'mascon.compile'.compile
local parameters = require 'mascon.optim.parameters'
local scalar = require 'mascon.optim.scalar'
local bounds = require 'mascon.sample.bounds'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

---@class mascon.sample.Density
local Density = {}
Density.__index = Density

--- Metric times momentum. The metric (inverse mass matrix) is the covariance of the position: [n] or [n, n].
local function velocity(metric, p)
  if metric.ndim == 2 then return F.matmul(metric, p) end
  return F.multiply(metric, p)
end

local function drift(q, p, g, metric, step)
  local half = F.fma(g, F.multiply(step, 0.5), p)
  return F.fma(velocity(metric, half), step, q), half
end

local function kick(half, g, metric, step, value)
  local p = F.fma(g, F.multiply(step, 0.5), half)
  local v = velocity(metric, p)
  return p, v, F.subtract(F.multiply(F.sum(F.multiply(p, v)), 0.5), value)
end

local function one_number(fname, v)
  if is(v) and v:numel() == 1 and tensor.kind[v.dtype] == 'f' then
    return v.ndim == 0 and v or methods.reshape(v, {})
  end
  error(('%s: the log density gave %s; it must give a real tensor of one element, computed from the parameters '
    .. '(option jac = true: value and gradient)'):format(fname, is(v) and tensor.describe(v) or check.show(v)), 3)
end

--- Names of the leaves: a path in a tree, or the given names of the elements of a vector; shapes beside them.
local function names_of(fname, start, names, n)
  if names then
    if not (is(start) and start.ndim == 1) then
      error(fname .. ': option names goes with a start that is a vector; a tree has names of its own', 3)
    end
    if #names ~= n then
      error(('%s: there are %d names for %d parameters; give as many'):format(fname, #names, n), 3)
    end
    local list, seen = {}, {}
    for i, name in ipairs(names) do
      if type(name) ~= 'string' or seen[name] then
        error(('%s: name %d is %s; give texts that differ'):format(fname, i, check.show(name)), 3)
      end
      list[i], seen[name] = { name = name, shape = {}, first = i, size = 1 }, true
    end
    return list
  end
  if is(start) then return { { name = 'x', shape = start.shape, first = 1, size = n } } end
  local leaves, paths = parameters.leaves(fname, '', start)
  local list, at = {}, 1
  for i, v in ipairs(leaves) do
    list[i] = { name = (paths[i]:gsub('^%.', '')), shape = v.shape, first = at, size = v:numel() }
    at = at + list[i].size
  end
  return list
end

--- start with its numbers as 0-d tensors: { mu = 0, tau = 1 }; lists of numbers as vectors.
local function with_tensors(v)
  if type(v) == 'number' or parameters.numbers(v) then return op.from_table(v) end
  if not tree.is_branch(v) then return v end
  local out = {}
  for _, k in ipairs(tree.keys(v)) do out[k] = with_tensors(v[k]) end
  return out
end

--- A start on a device: the same on the CPU, where the sampler works, and f as a function of the flat vector that gives
--- value and gradient there. nil where the start is on the CPU.
local function fetched(fname, f, start, o)
  local leaves = parameters.leaves(fname, 'start', start)
  local where = tensor.shared_device(leaves)
  if where == 'cpu' then return nil end
  local number = tensor.device_number(fname, where, 3)
  local host = parameters.map(fname, 'start', start, tensor.hosted)
  local _, unravel = parameters.ravel(fname, 'start', host)
  local both = o.jac and function(x, ...)
    local y, g = f(unravel(x), ...)
    return y, parameters.vector(g, number)
  end or transform.value_and_grad(function(x, ...) return one_number(fname, (f(unravel(x), ...))) end)
  if o.compile and not o.jac then both = compile(both) end
  local function back(v) return is(v) and tensor.hosted(v) or v end
  return host, function(x, ...)
    local y, g = both(tensor.moved(x, number, 3), ...)
    return back(y), back(g)
  end
end

--- A density made ready. o: bounds, args, jac, compile, names.
---@return mascon.sample.Density
function M.new(fname, f, start, o)
  scalar.callable(fname, 'the log density', f)
  start = with_tensors(start)
  local jac, vector = o.jac, false
  local host, there = fetched(fname, f, start, o)
  if host then start, f, jac, vector = host, there, true, true end
  local self = setmetatable({ fname = fname, gradients = 0 }, Density)
  local x
  x, self.unravel = parameters.ravel(fname, 'start', start)
  self.n, self.dtype = x:numel(), x.dtype
  self.leaves = names_of(fname, start, o.names, self.n)
  if not F.isfinite(x):all() then
    error(('%s: start is %s and holds NaN or infinity; find them with isfinite'):format(fname, tensor.describe(x)), 3)
  end
  self.bounds = bounds.new(fname, o.bounds, tree.is_branch(start) and start or x, self.n, self.dtype)
  self.x = x
  self.q = self.bounds and self.bounds:free(x) or x
  local wrong = F.flatnonzero(F.logical_not(F.isfinite(self.q)))
  if wrong:numel() > 0 then
    local i = wrong[1]:item()
    error(('%s: element %d of start is %g, on a bound or outside; start inside the bounds'):format(fname, i,
      x[i]:item()), 3)
  end
  local args = o.args or {}
  local count = #args
  local limits, unravel = self.bounds, vector and function(v) return v end or self.unravel

  local function value(q, ...) -- the log density of the unbounded position
    local y = one_number(fname, (f(unravel(limits and limits:inside(q) or q), ...)))
    return limits and F.add(y, limits:log_volume(q)) or y
  end
  local both
  if jac then -- f gives value and gradient by x; the chain to q is ours
    local chain = limits and compile(transform.value_and_grad(function(q, gx)
      return F.add(F.sum(F.multiply(limits:inside(q), gx)), limits:log_volume(q))
    end))
    local volume = limits and compile(function(q) return limits:log_volume(q) end)
    local inside = limits and compile(function(q) return limits:inside(q) end)
    function both(q, ...)
      local y, g = f(unravel(inside and inside(q) or methods.copy(q)), ...)
      if type(y) == 'number' then y = op.from_table(y) end
      local flat = parameters.vector(g)
      if not flat or flat:numel() ~= self.n then
        error(('%s: the gradient (second result) is %s for %d parameters; it must have the form of '
          .. 'start'):format(fname, is(g) and tensor.describe(g) or check.show(g), self.n), 3)
      end
      y, flat = one_number(fname, y), methods.to(flat, self.dtype)
      if not limits then return y, flat end
      local _, gq = chain(q, flat)
      return F.add(y, volume(q)), gq
    end
  else
    both = transform.value_and_grad(value)
  end
  if o.compile and not jac then
    local step = compile(function(q, p, g, metric, eps, ...)
      local new, half = drift(q, p, g, metric, eps)
      local y, gradient = both(new, ...)
      local momentum, v, energy = kick(half, gradient, metric, eps, y)
      return new, momentum, gradient, v, y, energy
    end)
    local first = compile(both)
    self.step = count == 0 and step
      or function(q, p, g, metric, eps) return step(q, p, g, metric, eps, unpack(args, 1, count)) end
    self.both = function(q) return first(q, unpack(args, 1, count)) end
  else
    local before, after = compile(drift), compile(kick)
    self.both = function(q) return both(q, unpack(args, 1, count)) end
    function self.step(q, p, g, metric, eps)
      local new, half = before(q, p, g, metric, eps)
      local y, gradient = both(new, unpack(args, 1, count))
      local momentum, v, energy = after(half, gradient, metric, eps, y)
      return new, momentum, gradient, v, y, energy
    end
  end
  return self
end

--- The state one leapfrog step further; a step below 0 goes back in time.
function Density:leapfrog(s, metric, eps)
  self.gradients = self.gradients + 1
  local q, p, g, v, value, energy = self.step(s.q, s.p, s.g, metric, eps)
  energy = methods.item(energy)
  if energy ~= energy then energy = math.huge end
  return { q = q, p = p, g = g, v = v, value = methods.item(value), energy = energy }
end

--- The state at a position, without momentum.
function Density:at(q)
  self.gradients = self.gradients + 1
  local value, g = self.both(q)
  return { q = q, g = g, value = methods.item(value) }
end

--- A state with another momentum.
function Density.kicked(s, p, metric)
  local v = velocity(metric, p)
  return { q = s.q, p = p, g = s.g, v = v, value = s.value, energy = F.sum(F.multiply(p, v)):item() / 2 - s.value }
end

--- Positions q [..., n] as the user's parameters.
function Density:inside(q) return self.bounds and self.bounds:inside(q) or q end

return M
