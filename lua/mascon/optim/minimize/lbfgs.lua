-- lbfgs.lua - limited-memory BFGS: the inverse curvature from the last few steps, with or without bounds.
--
-- Holds the two-loop recursion and the steps. With bounds, coordinates that sit on a bound with the gradient pressing
-- outwards rest, the others move in the quasi-Newton direction along the projected path.
local op = require 'mascon.core.op'
local line_search = require 'mascon.optim.minimize.line_search'
local objective = require 'mascon.optim.objective'
local F = op.functions
local M = {}

M.OPTS = { history = { 10, 'integer >= 1' }, ftol = { nil, 'number >= 0' }, gtol = { nil, 'number >= 0' } }

local C1, C2 = 1e-4, 0.9

local function dot(a, b) return F.matmul(a, b):item() end
local function largest(g) return F.max(F.abs(g)):item() end

--- -H g from the pairs of steps and gradient changes (Nocedal and Wright, algorithm 7.4).
local function direction(pairs_, g)
  local q, alpha = F.negative(g), {}
  for k = #pairs_, 1, -1 do
    local p = pairs_[k]
    alpha[k] = p.rho * dot(p.s, q)
    F.fma(p.y, -alpha[k], q, { out = q })
  end
  local last = pairs_[#pairs_]
  if last then F.multiply(q, last.scale, { out = q }) end
  for k = 1, #pairs_ do
    local p = pairs_[k]
    F.fma(p.s, alpha[k] - p.rho * dot(p.y, q), q, { out = q })
  end
  return q
end

local function remember(pairs_, s, y, most, eps)
  local sy, yy = dot(s, y), dot(y, y)
  if not (sy > eps * yy) then return end
  pairs_[#pairs_ + 1] = { s = s, y = y, rho = 1 / sy, scale = sy / yy }
  if #pairs_ > most then table.remove(pairs_, 1) end
end

--- How far x may go along d before a coordinate meets its bound.
local function room(self, x, d)
  if not self.low then return math.huge end
  local side = F.where(F.gt(d, 0), self.high, self.low)
  return F.min(F.where(F.eq(d, 0), math.huge, F.divide(F.subtract(side, x), d))):item()
end

--- The next point along d: a Wolfe step where there is room for a full one, else along the path projected on the
--- bounds.
local function step(self, x, f, g, d, slope, first)
  local longest = room(self, x, d)
  if longest >= first then
    local at, value, more = line_search.wolfe(function(a)
      local y = F.fma(d, a, x)
      if self.low then y = F.clip(y, self.low, self.high) end -- of rounding
      local fy, gy = self:both(y)
      return fy, dot(gy, d), { x = y, g = gy }
    end, f, slope, first, { c1 = C1, c2 = C2, longest = math.min(longest, 1e20) })
    if at then return { x = more.x, f = value, g = more.g } end
    if not self.low then return nil end
  end
  local at, value, more = line_search.backtrack(function(a)
    local y = F.clip(F.fma(d, a, x), self.low, self.high)
    local fy, gy = self:both(y)
    return fy, dot(g, F.subtract(y, x)), { x = y, g = gy }
  end, f, first, { c1 = C1 })
  return at and { x = more.x, f = value, g = more.g }
end

--- Runs the method on an objective.
---@param self mascon.Objective
---@param o table options
---@return table result
function M.run(self, o)
  local eps = self.dtype == 'f32' and 2 ^ -23 or 2 ^ -52
  local ftol = o.ftol or o.tol or 1e7 * 2 ^ -52 -- SciPy's factr
  local gtol = o.gtol or o.tol or 1e-5
  local maxiter, maxfev = o.maxiter or 15000, o.maxfev or 15000
  local low, high = self.low, self.high
  local x = self.x
  local f, g = self:both(x)
  if not objective.starts(self, f, g) then return self:result(x, f, g, 3, 'the gradient at x0 is NaN or infinite') end
  local pairs_ = {}
  while true do
    local rest -- coordinates at a bound
    local measure = g
    if low then
      measure = F.subtract(F.clip(F.subtract(x, g), low, high), x)
      rest = F.eq(measure, 0)
    end
    if largest(measure) <= gtol then return self:result(x, f, g, 0, 'converged: gradient at most gtol') end
    if self.nit >= maxiter then return self:result(x, f, g, 1) end
    if self.nfev >= maxfev then return self:result(x, f, g, 4) end
    local free = rest and F.where(rest, 0, g) or g
    local d = direction(pairs_, free)
    if rest then d = F.where(rest, 0, d) end
    local slope = dot(d, free)
    if not (slope < 0) then
      pairs_, d = {}, F.negative(free)
      slope = dot(d, free)
    end
    local new
    while true do
      local first = #pairs_ > 0 and 1 or math.min(1, 1 / math.sqrt(-slope))
      new = step(self, x, f, g, d, slope, first)
      if new or #pairs_ == 0 then break end
      pairs_, d = {}, F.negative(free) -- the memory may be at fault
      slope = dot(d, free)
    end
    if not new then return self:result(x, f, g, 2) end
    remember(pairs_, F.subtract(new.x, x), F.subtract(new.g, g), o.history or 10, eps)
    local before = f
    x, f, g = new.x, new.f, new.g
    if self:iterate(x, f) then return self:result(x, f, g, 99) end
    if before - f <= ftol * math.max(math.abs(before), math.abs(f), 1) then
      return self:result(x, f, g, 0, 'converged: relative decrease below ftol')
    end
  end
end


return M
