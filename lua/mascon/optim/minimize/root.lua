-- root.lua - roots of systems of n equations in n unknowns.
--
-- Holds the three methods (Powell's hybrid, Newton with a line search, Broyden) and how a Jacobian is come by.
local mc = require 'mascon.array'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local parameters = require 'mascon.optim.parameters'
local scalar = require 'mascon.optim.scalar'
local watch = require 'mascon.optim.watch'
local tree = require 'mascon.graph.tree'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

local EPS = 2 ^ -52

local function dot(a, b) return F.matmul(a, b):item() end
local function norm(a) return math.sqrt(F.sum(F.square(a)):item()) end

-- ---------------------------------------------------------------- the system

local System = {}
System.__index = System

function System:vector(what, v)
  local flat = parameters.vector(v, self.x._device)
  if not flat or flat:numel() ~= self.n then
    error(('%s: %s gave %s for %d unknowns; it must give as many values'):format(self.fname, what,
      flat and tensor.describe(flat) or check.show(v), self.n), 2)
  end
  if tensor.kind[flat.dtype] == 'c' then
    error(('%s: %s gave %s; it must give real values'):format(self.fname, what, tensor.describe(flat)), 2)
  end
  return flat.dtype == 'f64' and flat or methods.to(flat, 'f64')
end

function System:value(x)
  self.nfev = self.nfev + 1
  return self:vector('f', (self.f(self.unravel(methods.copy(x)), unpack(self.args))))
end

local function differences(self, x, fx)
  local moved, steps = {}, {}
  for i, here in ipairs(methods.totable(x)) do
    local y = methods.copy(x)
    local there = here + 2 ^ -26 * math.max(1, math.abs(here)) * (here < 0 and -1 or 1)
    y[i] = there
    moved[i], steps[i] = self:value(y), there - here
  end
  local change = F.matrix_transpose(F.subtract(F.stack(moved), fx)) -- [equations, unknowns]
  return F.divide(change, tensor.moved(op.from_table(steps), change._device, 3))
end

--- The Jacobian at x, [equations, unknowns].
function System:jacobian(x, fx)
  self.njev = self.njev + 1
  if self.jac == '2-point' then return differences(self, x, fx) end
  local J = self.jac(self.derived and x or self.unravel(x), unpack(self.args))
  if not is(J) then J = tensor.moved(op.from_table(J), x._device, 3) end
  if J:numel() ~= self.n * self.n then
    error(('%s: jac gave %s for %d unknowns; it must give a square matrix'):format(self.fname,
      tensor.describe(J), self.n), 2)
  end
  J = methods.to(methods.reshape(J, { self.n, self.n }), 'f64')
  if self.derived and self.njev == 1 and not F.any(F.ne(J, 0)) then
    -- f left the tensors, so there was nothing to derive
    self.jac = '2-point'
    return differences(self, x, fx)
  end
  return J
end

local MESSAGES = {
  [0] = 'converged', [1] = 'the largest number of evaluations is reached',
  [2] = 'no step lowers the residual; there may be no root nearby', [3] = 'f became NaN',
  [4] = 'progress is slow; another start or method may help', [99] = 'the callback stopped it',
}

function System:result(x, fx, status)
  return { x = self.unravel(x), fun = self.unravel(fx), nit = self.nit, nfev = self.nfev, njev = self.njev,
    success = status == 0, status = status, message = MESSAGES[status] }
end

function System:iterate(x, fx)
  self.nit = self.nit + 1
  return self.callback ~= nil
    and self.callback(self.unravel(methods.copy(x)), { nit = self.nit, nfev = self.nfev, residual = norm(fx) }) == true
end

--- p with J p = -f, or the shortest least-squares one where J is singular to working precision.
local function newton_step(J, fx)
  local Q, R = mc.linalg.qr(J)
  local pivots = F.abs(F.diagonal(R))
  if F.min(pivots):item() > EPS * F.max(pivots):item() then
    return mc.linalg.solve_triangular(R, F.negative(F.matmul(fx, Q)))
  end
  return F.negative(mc.linalg.lstsq(J, fx).x)
end

-- ---------------------------------------------------------------- Powell's hybrid

--- The step of the dogleg within |D p| <= radius: Newton's where it fits (true then), else down the gradient and
--- towards it.
local function dogleg(J, D, fx, radius)
  local p = newton_step(J, fx)
  local q = F.multiply(D, p)
  if norm(q) <= radius then return p, true end
  local g = F.divide(F.matmul(fx, J), D) -- gradient of |f|^2 / 2 in scaled unknowns
  local gg = norm(g)
  if gg == 0 then return F.multiply(p, radius / norm(q)) end
  local down = F.divide(g, -gg)
  local along = norm(F.matmul(J, F.divide(down, D)))
  local cauchy = gg / along ^ 2
  if not (cauchy < radius) then return F.divide(F.multiply(down, radius), D) end
  -- from the lowest point down the gradient to Newton's step, as far as the radius
  local c = F.multiply(down, cauchy)
  local way = F.subtract(q, c)
  local a, b, d = dot(way, way), dot(c, way), cauchy ^ 2 - radius ^ 2
  local t = (-b + math.sqrt(b * b - a * d)) / a
  return F.divide(F.fma(way, t, c), D)
end

local function hybrid(self, o)
  local x = self.x
  local fx = self:value(x)
  local size = norm(fx)
  if size ~= size then return self:result(x, fx, 3) end
  local first = size
  local D, radius
  local slow, slow_here, shrunk, grown = 0, 0, 0, 0
  local J, fresh
  while true do
    if not J then
      J, fresh = self:jacobian(x, fx), true
      if not F.isfinite(J):all() then return self:result(x, fx, 3) end
      local columns = F.sqrt(F.sum(F.square(J), 1))
      if not D then
        D = F.where(F.eq(columns, 0), 1, columns)
        local scaled = norm(F.multiply(D, x))
        radius = scaled > 0 and 100 * scaled or 100
      else
        D = F.maximum(D, columns)
      end
    end
    if size == 0 then return self:result(x, fx, 0) end
    local p, whole = dogleg(J, D, fx, radius)
    local length = norm(F.multiply(D, p))
    if self.nit == 0 then radius = math.min(radius, length) end
    local y = F.add(x, p)
    local fy = self:value(y)
    local next_size = norm(fy)
    local actual = next_size < size and 1 - (next_size / size) ^ 2 or -1
    local model = norm(F.add(fx, F.matmul(J, p)))
    local promised = model < size and 1 - (model / size) ^ 2 or 0
    local ratio = promised > 0 and actual / promised or 0
    if not (ratio >= 0.1) then
      grown, shrunk = 0, shrunk + 1
      radius = radius / 2
    else
      shrunk, grown = 0, grown + 1
      if ratio >= 0.5 or grown > 1 then radius = math.max(radius, length / 0.5) end
      if math.abs(ratio - 1) <= 0.1 then radius = length / 0.5 end
    end
    local change = F.subtract(F.subtract(fy, fx), F.matmul(J, p))
    if ratio >= 1e-4 then x, fx, size = y, fy, next_size end
    if self:iterate(x, fx) then return self:result(x, fx, 99) end
    slow = actual >= 1e-3 and 0 or slow + 1
    if fresh then slow_here = slow_here + 1 end
    if actual >= 0.1 then slow_here = 0 end
    local scaled = o.tol * norm(F.multiply(D, x))
    -- a Newton step as small as that where the residual is all but gone: the rest is rounding, which never fits the
    -- model
    local arrived = whole and length <= scaled and size <= math.max(first * 2 ^ -26, 64 * EPS * norm(J) * norm(x))
    if radius <= scaled or size == 0 or arrived then return self:result(x, fx, 0) end
    if self.nfev >= o.maxfev then return self:result(x, fx, 1) end
    if 0.1 * math.max(0.1 * radius, length) <= EPS * norm(F.multiply(D, x)) then return self:result(x, fx, 2) end
    if slow_here == 5 or slow == 10 then return self:result(x, fx, 4) end
    if length == 0 then return self:result(x, fx, 2) end
    if shrunk == 2 then
      J, shrunk = nil, 0
    elseif next_size < math.huge then -- Broyden's update in scaled unknowns
      local w = F.multiply(F.square(D), p)
      J = F.add(J, F.outer(change, F.divide(w, length ^ 2)))
      fresh = false
    end
  end
end

-- ---------------------------------------------------------------- line searches

--- Backtracking on |f|^2 / 2 along p, whose slope is known.
local function search(self, x, fx, p, slope)
  local half, a = dot(fx, fx) / 2, 1
  for _ = 1, 40 do
    local y = F.fma(p, a, x)
    local fy = self:value(y)
    local value = dot(fy, fy) / 2
    if value <= half + 1e-4 * a * slope then return y, fy end
    local shorter = value - value == 0 and -slope * a / (2 * (value - half - slope * a)) or 0.5
    a = a * math.max(0.1, math.min(0.5, shorter))
  end
end

local function small(self, x, fx, p, o)
  local largest = F.max(F.abs(fx)):item()
  return largest <= o.ftol
    or p and norm(p) <= o.tol * (norm(x) + o.tol) and largest <= math.sqrt(o.ftol) * math.max(1, self.first)
end

local function newton(self, o)
  local x = self.x
  local fx = self:value(x)
  self.first = F.max(F.abs(fx)):item()
  local p
  while true do
    if self.first ~= self.first then return self:result(x, fx, 3) end
    if small(self, x, fx, p, o) then return self:result(x, fx, 0) end
    if self.nfev >= o.maxfev then return self:result(x, fx, 1) end
    local J = self:jacobian(x, fx)
    if not F.isfinite(J):all() then return self:result(x, fx, 3) end
    p = newton_step(J, fx)
    local slope = dot(F.matmul(fx, J), p)
    if not (slope < 0) then return self:result(x, fx, 2) end
    local y, fy = search(self, x, fx, p, slope)
    if not y then return self:result(x, fx, 2) end
    p, x, fx = F.subtract(y, x), y, fy
    if self:iterate(x, fx) then return self:result(x, fx, 99) end
  end
end

--- Broyden's first method: the inverse Jacobian is updated by the change of f, and started anew where it leads nowhere.
local function broyden(self, o)
  local x = self.x
  local fx = self:value(x)
  self.first = F.max(F.abs(fx)):item()
  local H, fresh, p
  while true do
    if self.first ~= self.first then return self:result(x, fx, 3) end
    if small(self, x, fx, p, o) then return self:result(x, fx, 0) end
    if self.nfev >= o.maxfev then return self:result(x, fx, 1) end
    if not H then H, fresh = mc.linalg.pinv(self:jacobian(x, fx)), true end
    local way = F.negative(F.matmul(H, fx))
    local y, fy = search(self, x, fx, way, -dot(fx, fx)) -- to first order f falls by itself
    if not y then
      if fresh then return self:result(x, fx, 2) end
      H = nil
    else
      p = F.subtract(y, x)
      local df = F.subtract(fy, fx)
      local Hdf = F.matmul(H, df)
      local under = dot(p, Hdf)
      if math.abs(under) > EPS * norm(p) * norm(Hdf) then
        H = F.add(H, F.outer(F.divide(F.subtract(p, Hdf), under), F.matmul(p, H)))
      end
      fresh = false
      x, fx = y, fy
      if self:iterate(x, fx) then return self:result(x, fx, 99) end
    end
  end
end

-- ---------------------------------------------------------------- the door

local METHODS = { hybr = hybrid, newton = newton, broyden = broyden }
local OPTS = {
  method = { 'hybr', { 'hybr', 'newton', 'broyden' } }, jac = { nil, 'any' }, tol = { 1.49012e-8, 'number >= 0' },
  ftol = { 6e-6, 'number >= 0' }, maxfev = { nil, 'integer >= 1' },
  callback = { nil, 'function' }, args = { nil, 'table' },
}

--- Nothing in what f gave is a tensor: it computes with plain numbers, and differences are all there is.
local function plain(v)
  for _, leaf in ipairs(tree.leaves(v)) do if is(leaf) then return false end end
  return true
end

--- A root of a system: x with f(x) = 0, as many equations as unknowns.
---
--- f(x, args...): takes what has the form of x0 and gives as many real numbers, a tensor, list or tree. x0: f32|f64
--- tensor, list or tree; computed in f64.
--- Options: method: 'hybr' (default): Powell's hybrid, a dogleg in a trust region whose Jacobian is updated · 'newton':
--- a Jacobian at each step and a line search · 'broyden': the inverse Jacobian is updated · jac: a function giving [n,
--- n], or '2-point'; nil: mc.jacfwd, or 2-point differences where f gives plain numbers, at the price of one evaluation
--- · tol (1.49e-8): relative size of the step or of the trust region · ftol (6e-6): largest residual that newton and
--- broyden take for 0 · maxfev (200 (n + 1)) · callback(x, { nit, nfev, residual }): returns true to stop · args.
--- Result: { x, fun, nit, nfev, njev, success, status, message }: 0 converged, 1 maxfev, 2 no step helps, 3 NaN, 4
--- slow, 99 callback.
--- Errors: sizes that do not fit, x0 not finite.
--- Source: A hybrid method for nonlinear equations, 1970; User guide for MINPACK-1, 1980 (hybr); Nocedal and Wright,
--- Numerical optimization, 2006, chapter 11;
--- SciPy optimize.root.
---     local r = mc.optim.root(function(x) return { x[1] + x[2] - 3, x[1] * x[2] - 2 } end, { 0.5, 3 })
---     mc.round(r.x * 1e6) / 1e6  --> f64[2]@cpu { 1, 2 }
---@param f function
---@param x0 any
---@param opts? table
---@return table result
function M.root(f, x0, opts)
  local fname = 'optim.root'
  local o = check.opts(fname, opts, OPTS, 3)
  scalar.callable(fname, 'f', f)
  if o.args and #o.args > 0 then
    f = watch.leaves(fname, 'f', f, 2)
    if type(o.jac) == 'function' then o.jac = watch.leaves(fname, 'jac', o.jac, 2) end
  end
  local self = setmetatable({ fname = fname, f = f, nfev = 0, njev = 0, nit = 0, callback = o.callback,
    args = o.args or {} }, System)
  local x, unravel = parameters.ravel(fname, 'x0', x0)
  self.n, self.x, self.unravel = x:numel(), methods.to(x, 'f64'), unravel
  if not F.isfinite(self.x):all() then
    error(('%s: x0 is %s and holds NaN or infinity; find them with isfinite'):format(fname, tensor.describe(x)), 2)
  end
  self.jac = o.jac
  if o.jac == nil and plain((f(unravel(self.x), unpack(self.args)))) then
    self.jac = '2-point'
  elseif o.jac == nil then
    self.derived = true
    self.jac =
      require('mascon.transform').jacfwd(function(flat, ...) return (parameters.vector((f(unravel(flat), ...)))) end)
  elseif type(o.jac) ~= 'function' and o.jac ~= '2-point' then
    error(("%s: option jac is %s; give a function or '2-point'"):format(fname, check.show(o.jac)), 2)
  end
  if o.jac == nil then self.nfev = 1 end
  o.maxfev = o.maxfev or 200 * (self.n + 1)
  return METHODS[o.method](self, o)
end

return M
