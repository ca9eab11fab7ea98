-- problem.lua - a residual function as the methods see it: cost at a point, small linear problem at a point.
--
-- Holds the calls of the user's functions, the checks of what they give, and the counts of them. Another object with
-- the same two functions (residuals that are read in pieces, say) serves the methods as well.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local loss = require 'mascon.optim.fit.least_squares.loss'
local reduced = require 'mascon.optim.fit.least_squares.reduced'
local exact = require 'mascon.optim.fit.least_squares.exact'
local difference = require 'mascon.optim.fit.least_squares.difference'
local error = check.error
local F = op.functions

---@class mascon.LeastSquaresProblem
local Problem = {}
Problem.__index = Problem
local M = {}

--- A vector that a user's function gave, f64 [m].
local function residuals(self, r)
  if type(r) == 'table' then r = op.operand(self.fname, r, 3) end
  if type(r) == 'number' then r = op.operand(self.fname, { r }, 3) end
  if not tensor.is(r) then
    error(('%s: the function gave %s; it must give a tensor of residuals'):format(self.fname, check.show(r)), 3)
  end
  if tensor.kind[r.dtype] == 'c' then
    error(('%s: the residuals are %s; give real ones, mc.concat { mc.real(r), mc.imag(r) } say'):format(self.fname,
      tensor.describe(r)), 3)
  end
  if r.ndim == 0 then r = r:reshape { 1 } end
  if r.ndim ~= 1 then
    error(('%s: the residuals are %s; give one axis, r:reshape{ -1 } say'):format(self.fname, tensor.describe(r)), 3)
  end
  if r.dtype ~= 'f64' then r = r:to 'f64' end
  if self.rows and r:numel() ~= self.rows then
    error(('%s: the function gave %s, and %d residuals before; their number may not change'):format(self.fname,
      tensor.describe(r), self.rows), 3)
  end
  return r
end

--- A point where the start was.
local function placed(self, x) return tensor.moved(op.from_table(x), self.device or 0, 3) end

--- What a user's function gave: the methods work on the host.
local function fetched(self, t) return self.device and tensor.is(t) and tensor.hosted(t) or t end

local function call(self, x) return residuals(self, fetched(self, self.f(placed(self, x)))) end

--- Point x: residuals and cost; cost is nil when a residual is not finite.
---@param x number[]
---@return { x: number[], r: mc.tensor, cost: number? }
function Problem:at(x)
  self.nfev = self.nfev + 1
  local r = call(self, x)
  self.rows = r:numel()
  local cost = loss.cost(self.loss, r, self.f_scale)
  if not (cost < math.huge) or not F.all(F.isfinite(r)) then cost = nil end
  return { x = x, r = r, cost = cost }
end

--- Derivatives of the residuals at a point, f64 [n, m].
function Problem:derivatives(point)
  self.njev = self.njev + 1
  local n, m = #point.x, self.rows
  if self.jac == 'auto' then
    self.jac, self.derived = '2-point', '2-point'
    if m >= exact.LARGE then
      local jac = exact.jacobian(self.f, 'forward')
      local J = exact.attempt(function() return fetched(self, jac(placed(self, point.x))) end)
      if J then self.jac, self.derived = jac, 'forward' end
    end
  end
  if type(self.jac) == 'string' then
    return F.stack(difference.rows(function(x) return call(self, x) end, point.x, point.r, self.low, self.high,
      self.jac, self.sizes, self.diff_step), 1)
  end
  local J = fetched(self, self.jac(placed(self, point.x)))
  if type(J) == 'table' then J = op.operand(self.fname, J, 3) end
  if not tensor.is(J) or J.ndim ~= 2 or J.shape[1] ~= m or J.shape[2] ~= n then
    error(('%s: jac gave %s; it must give f64[%d,%d], a row per residual and a column per variable'):format(self.fname,
      tensor.is(J) and tensor.describe(J) or check.show(J), m, n), 3)
  end
  if J.dtype ~= 'f64' then J = J:to 'f64' end
  return J.mT
end

--- The small problem at a point, or nil when a derivative is not finite. The point keeps its scaled derivatives.
---@return mascon.Reduced|nil
function Problem:linear(point)
  local Jt = self:derivatives(point)
  local r
  r, point.Jt = loss.weigh(self.loss, point.r, Jt, self.f_scale)
  local triangle = reduced.triangle(point.Jt, r)
  return triangle and reduced.of(triangle)
end

--- A problem of the function f.
---@param fname string
---@param f fun(x: mc.tensor): mc.tensor
---@param o table jac, loss (resolved), f_scale, diff_step, low, high
---@return mascon.LeastSquaresProblem
function M.new(fname, f, o)
  return setmetatable({
    fname = fname, f = f, jac = o.jac, loss = o.loss, f_scale = o.f_scale, diff_step = o.diff_step, low = o.low,
    high = o.high, derived = o.derivatives, sizes = {}, nfev = 0, njev = 0,
    device = o.device,
  }, Problem)
end

return M
