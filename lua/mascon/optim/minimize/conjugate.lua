-- conjugate.lua - nonlinear conjugate gradients, and Newton's method whose linear systems are solved by conjugate
-- gradients.
--
-- Both need only vectors. Holds the two recurrences and their stopping.
local op = require 'mascon.core.op'
local line_search = require 'mascon.optim.minimize.line_search'
local objective = require 'mascon.optim.objective'
local F = op.functions
local M = {}

M.CG = { gtol = { nil, 'number >= 0' } }
M.NEWTON = { xtol = { nil, 'number >= 0' }, gtol = { nil, 'number >= 0' }, hess = { nil, 'function' },
  hessp = { nil, 'function' } }

local function dot(a, b) return F.matmul(a, b):item() end
local function largest(g) return F.max(F.abs(g)):item() end

--- A Wolfe step from x along d: the new point with value and gradient, or nil.
local function search(self, x, f, d, slope, first, c2)
  local at, value, more = line_search.wolfe(function(a)
    local y = F.fma(d, a, x)
    local fy, gy = self:both(y)
    return fy, dot(gy, d), { x = y, g = gy }
  end, f, slope, first, { c1 = 1e-4, c2 = c2 })
  return at and { x = more.x, f = value, g = more.g, step = at }
end

--- Conjugate gradients of Polak and Ribiere, restarted where their factor is negative or the direction does not
--- descend.
--- Source: Nocedal and Wright, Numerical optimization, 2006, equations 5.44 to 5.46; first steps as in its section 3.5.
function M.cg(self, o)
  local gtol = o.gtol or o.tol or 1e-5
  local maxiter, maxfev = o.maxiter or 200 * self.n, o.maxfev or math.huge
  local x = self.x
  local f, g = self:both(x)
  if not objective.starts(self, f, g) then return self:result(x, f, g, 3, 'the gradient at x0 is NaN or infinite') end
  local d = F.negative(g)
  local before = f + math.sqrt(dot(g, g)) / 2
  while true do
    if largest(g) <= gtol then return self:result(x, f, g, 0, 'converged: gradient at most gtol') end
    if self.nit >= maxiter then return self:result(x, f, g, 1) end
    if self.nfev >= maxfev then return self:result(x, f, g, 4) end
    local slope = dot(d, g)
    local new
    for attempt = 1, 2 do
      -- the change of the last step, expected again
      local first = math.min(1, 1.01 * 2 * (f - before) / slope)
      if not (first > 0) then first = 1 end
      new = slope < 0 and search(self, x, f, d, slope, first, 0.4)
      if new or attempt == 2 then break end
      d = F.negative(g)
      slope = dot(d, g)
    end
    if not new then return self:result(x, f, g, 2) end
    local beta = math.max(0, dot(new.g, F.subtract(new.g, g)) / dot(g, g))
    d = F.fma(d, beta, F.negative(new.g))
    before, x, f, g = f, new.x, new.f, new.g
    if not (dot(d, g) < 0) then d = F.negative(g) end
    if self:iterate(x, f) then return self:result(x, f, g, 99) end
  end
end

--- Newton steps whose systems are solved only as well as it pays, by products with the second derivative; along
--- negative curvature it goes on.
--- Source: Nocedal and Wright, Numerical optimization, 2006, algorithm 7.1.
function M.newton(self, o)
  local xtol, gtol = o.xtol or o.tol or 1e-5, o.gtol or 0
  local maxiter, maxfev = o.maxiter or 200 * self.n, o.maxfev or math.huge
  local eps = self.dtype == 'f32' and 2 ^ -23 or 2 ^ -52
  local x = self.x
  local f, g = self:both(x)
  if not objective.starts(self, f, g) then return self:result(x, f, g, 3, 'the gradient at x0 is NaN or infinite') end
  while true do
    local size = F.sum(F.abs(g)):item()
    if size == 0 or largest(g) <= gtol then return self:result(x, f, g, 0, 'converged: gradient at most gtol') end
    if self.nit >= maxiter then return self:result(x, f, g, 1) end
    if self.nfev >= maxfev then return self:result(x, f, g, 4) end
    local target = math.min(0.5, math.sqrt(size)) * size
    local z, r = F.multiply(g, 0), g
    local p, rr = F.negative(g), dot(g, g)
    for _ = 1, 20 * self.n do
      if F.sum(F.abs(r)):item() <= target then break end
      local q = self:curvature(x, g, p)
      local bend = dot(p, q)
      if bend ~= bend then return self:result(x, f, g, 3, 'a product with the second derivative is NaN') end
      if bend <= 3 * eps * dot(p, p) then
        if dot(z, z) == 0 then z = bend < 0 and F.multiply(p, rr / -bend) or p end
        break
      end
      local a = rr / bend
      z = F.fma(p, a, z)
      r = F.fma(q, a, r)
      local next_rr = dot(r, r)
      p = F.subtract(F.multiply(p, next_rr / rr), r)
      rr = next_rr
    end
    local slope = dot(z, g)
    if not (slope < 0) then
      z = F.negative(g)
      slope = dot(z, g)
    end
    local new = search(self, x, f, z, slope, 1, 0.9)
    if not new then return self:result(x, f, g, 2) end
    local moved = F.mean(F.abs(F.subtract(new.x, x))):item()
    x, f, g = new.x, new.f, new.g
    if self:iterate(x, f) then return self:result(x, f, g, 99) end
    if moved <= xtol then return self:result(x, f, g, 0, 'converged: steps at most xtol') end
  end
end

return M
