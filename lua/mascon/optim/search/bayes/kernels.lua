-- kernels.lua - covariance functions of Gaussian processes, with derivatives in the logarithms of their
-- hyperparameters.
---
--- Kernels add and multiply: constant(2) * rbf(0.5) + white(0.1). Hyperparameters are positive; each is fitted between
--- its bounds. Holds the formulas.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local error = check.error
local F = op.functions
local M = {}

---@class mascon.Kernel
---@field theta { name: string, value: number, low: number, high: number }[] hyperparameters
local Kernel = {}
Kernel.__index = Kernel

local BOUNDS = { 1e-5, 1e5 }

-- ---------------------------------------------------------------- construction

--- Whether a value is a kernel.
local function is_kernel(k) return getmetatable(k) == Kernel end
M.is = is_kernel

local function positive(fname, what, v)
  if type(v) ~= 'number' or not (v > 0 and v < math.huge) then
    error(('kernels.%s: %s is %s; give a positive number'):format(fname, what, check.show(v)), 4)
  end
  return v
end

--- A hyperparameter with bounds { low, high }; false holds it.
local function parameter(fname, name, value, bounds)
  positive(fname, name, value)
  if bounds == false then return { name = name, value = value, low = value, high = value } end
  bounds = bounds or BOUNDS
  if type(bounds) ~= 'table' or not (type(bounds[1]) == 'number' and type(bounds[2]) == 'number' and bounds[1] > 0
    and bounds[1] < bounds[2]) then
    error(('kernels.%s: the bounds of %s are %s; give { low, high }, or false to hold it'):format(fname, name,
      check.show(bounds)), 4)
  end
  return { name = name, value = value, low = bounds[1], high = bounds[2] }
end

local function new(name, theta, fields)
  local k = { name = name, theta = theta }
  for key, v in pairs(fields or {}) do k[key] = v end
  return setmetatable(k, Kernel)
end

--- Lengths: one for all axes, or one for each.
local function lengths(fname, length, bounds)
  local list = {}
  if tensor.is(length) then length = length.ndim == 0 and length:item() or length:totable() end
  if type(length) == 'table' then
    for i, v in ipairs(length) do list[i] = parameter(fname, 'length_' .. i, v, bounds) end
    if #list == 0 then error(('kernels.%s: the list of lengths is empty'):format(fname), 3) end
    return list, true
  end
  return { parameter(fname, 'length', length == nil and 1 or length, bounds) }, false
end

-- ---------------------------------------------------------------- distances

--- Squares of the scaled differences along each axis, [n1, n2] each, and their sum.
local function squares(self, fname, a, b, keep)
  local d = a.shape[2]
  if self.each and #self.theta - (self.extra or 0) ~= d then
    error(('%s: the kernel has %d lengths, the points have %d coordinates'):format(fname,
      #self.theta - (self.extra or 0), d), 4)
  end
  local at, bt, list, sum = a.mT, b.mT, {}, nil
  for k = 1, d do
    local l = self.theta[self.each and k or 1].value
    local s = F.square((at[k]:expand_dims(-1) - bt[k]) / l)
    sum = sum and sum + s or s
    if keep then list[k] = s end
  end
  return sum, list
end

--- Derivatives in the logarithms of the lengths from the factor that multiplies each square.
local function length_slopes(self, factor, list, sum)
  if not self.each then return { factor * sum } end
  local out = {}
  for k = 1, #list do out[k] = factor * list[k] end
  return out
end

-- name -> function(self, r2) giving the value and, for the derivatives in log length, the factor of the squares
local SHAPES = {}
function SHAPES.rbf(_, r2)
  local k = F.exp(r2 * -0.5)
  return k, k
end
SHAPES['matern 1/2'] = function(_, r2)
  local r = F.sqrt(r2)
  local k = F.exp(-r)
  return k, k / F.where(F.gt(r, 0), r, 1)
end
SHAPES['matern 3/2'] = function(_, r2)
  local a = F.sqrt(r2 * 3)
  local e = F.exp(-a)
  return (a + 1) * e, e * 3
end
SHAPES['matern 5/2'] = function(_, r2)
  local a = F.sqrt(r2 * 5)
  local e = F.exp(-a)
  return (a + 1 + a * a / 3) * e, (a + 1) * e * (5 / 3)
end
SHAPES['rational quadratic'] = function(self, r2)
  local alpha = self.theta[#self.theta].value
  local base = r2 / (2 * alpha) + 1
  local k = base ^ -alpha
  return k, k / base, k * alpha * (r2 / (base * (2 * alpha)) - F.log(base))
end

-- ---------------------------------------------------------------- public kernels

--- Squared exponential kernel: exp(-r^2 / 2), r^2 = sum ((a_i - b_i) / length_i)^2.
---
---   length: a number, or a list with one for each coordinate (automatic relevance determination); bounds: { low,
---   high } of the lengths in a fit (1e-5, 1e5), or false to hold them
--- Source: Gaussian processes for machine learning, 2006, equation 4.9.
---     local k = mc.optim.kernels.rbf(2)
---     k:matrix({ { 0 }, { 2 } })  --> f64[2,2]@cpu { { 1.0000, 0.6065 }, { 0.6065, 1.0000 } }
---@param length? number|number[]
---@param opts? { bounds?: number[]|false }
---@return mascon.Kernel
function M.rbf(length, opts)
  local o = check.opts('kernels.rbf', opts, { bounds = { nil, 'any' } }, 3)
  local theta, each = lengths('rbf', length, o.bounds)
  return new('rbf', theta, { each = each, shape = 'rbf' })
end

local NU = { [0.5] = 'matern 1/2', [1.5] = 'matern 3/2', [2.5] = 'matern 5/2' }

--- Matern kernel: exp(-r), (1 + a) exp(-a) with a = sqrt(3) r, (1 + a + a^2 / 3) exp(-a) with a = sqrt(5) r, for nu
--- 1/2, 3/2, 5/2.
---
---   length, bounds: as rbf; nu: 0.5, 1.5 or 2.5 (default): functions that are continuous, once, twice differentiable
--- Source: Gaussian processes for machine learning, 2006, section 4.2.1.
---@param length? number|number[]
---@param opts? { nu?: number, bounds?: number[]|false }
---@return mascon.Kernel
function M.matern(length, opts)
  local o = check.opts('kernels.matern', opts, { nu = { 2.5, { 0.5, 1.5, 2.5 } }, bounds = { nil, 'any' } }, 3)
  local theta, each = lengths('matern', length, o.bounds)
  return new('matern', theta, { each = each, shape = NU[o.nu], nu = o.nu })
end

--- Rational quadratic kernel: (1 + r^2 / (2 alpha))^-alpha, a mixture of squared exponentials of many lengths.
---
---   length, bounds: as rbf; alpha (1) with alpha_bounds
--- Source: Gaussian processes for machine learning, 2006, equation 4.19.
---@param length? number|number[]
---@param opts? { alpha?: number, bounds?: number[]|false, alpha_bounds?: number[]|false }
---@return mascon.Kernel
function M.rational_quadratic(length, opts)
  local o = check.opts('kernels.rational_quadratic', opts,
    { alpha = { 1, 'number > 0' }, bounds = { nil, 'any' }, alpha_bounds = { nil, 'any' } }, 3)
  local theta, each = lengths('rational_quadratic', length, o.bounds)
  theta[#theta + 1] = parameter('rational_quadratic', 'alpha', o.alpha, o.alpha_bounds)
  return new('rational_quadratic', theta, { each = each, extra = 1, shape = 'rational quadratic' })
end

--- Periodic kernel: exp(-2 sum sin^2(pi (a_i - b_i) / period) / length^2).
---
---   length (1), period (1): numbers; bounds and period_bounds as rbf
--- Source: Gaussian processes for machine learning, 2006, equation 4.31.
---@param length? number
---@param period? number
---@param opts? { bounds?: number[]|false, period_bounds?: number[]|false }
---@return mascon.Kernel
function M.periodic(length, period, opts)
  local o = check.opts('kernels.periodic', opts, { bounds = { nil, 'any' }, period_bounds = { nil, 'any' } }, 3)
  return new('periodic', { parameter('periodic', 'length', length or 1, o.bounds),
    parameter('periodic', 'period', period or 1, o.period_bounds) })
end

--- White noise: `variance` on the diagonal of the covariance of the data with themselves, 0 elsewhere.
---
---   variance (1); bounds: as rbf
--- Source: Gaussian processes for machine learning, 2006, equation 2.20.
---@param variance? number
---@param opts? { bounds?: number[]|false }
---@return mascon.Kernel
function M.white(variance, opts)
  local o = check.opts('kernels.white', opts, { bounds = { nil, 'any' } }, 3)
  return new('white', { parameter('white', 'variance', variance or 1, o.bounds) })
end

--- Constant kernel: the factor of another kernel (its variance), or the variance of an unknown mean.
---
---   variance (1); bounds: as rbf
--- Source: Gaussian processes for machine learning, 2006, section 4.2.
---@param variance? number
---@param opts? { bounds?: number[]|false }
---@return mascon.Kernel
function M.constant(variance, opts)
  local o = check.opts('kernels.constant', opts, { bounds = { nil, 'any' } }, 3)
  return new('constant', { parameter('constant', 'variance', variance or 1, o.bounds) })
end

-- ---------------------------------------------------------------- sums and products

local function both(name, a, b)
  if type(a) == 'number' then a = M.constant(a) end
  if type(b) == 'number' then b = M.constant(b) end
  for _, k in ipairs { a, b } do
    if not is_kernel(k) then
      error(('kernels: %s is no kernel; add and multiply kernels and numbers'):format(check.show(k)), 3)
    end
  end
  local theta = {}
  for _, k in ipairs { a, b } do for _, t in ipairs(k.theta) do theta[#theta + 1] = t end end
  return new(name, theta, { a = a, b = b })
end
function Kernel.__add(a, b) return both('sum', a, b) end
function Kernel.__mul(a, b) return both('product', a, b) end

--- The same kernel with hyperparameters of its own.
function Kernel:copy()
  if self.a then return both(self.name, self.a:copy(), self.b:copy()) end
  local fields, theta = {}, {}
  for key, v in pairs(self) do fields[key] = v end
  for i, t in ipairs(self.theta) do theta[i] = { name = t.name, value = t.value, low = t.low, high = t.high } end
  return new(self.name, theta, (function()
    fields.theta, fields.name = nil, nil
    return fields
  end)())
end

--- Hyperparameters as a list of numbers, or set from one.
function Kernel:values(list)
  if list then
    for i, t in ipairs(self.theta) do t.value = list[i] end
    return self
  end
  local out = {}
  for i, t in ipairs(self.theta) do out[i] = t.value end
  return out
end

function Kernel:__tostring()
  if self.a then
    local function side(k)
      return self.name == 'product' and k.name == 'sum' and '(' .. tostring(k) .. ')' or tostring(k)
    end
    return side(self.a) .. (self.name == 'sum' and ' + ' or ' * ') .. side(self.b)
  end
  local parts = {}
  for i, t in ipairs(self.theta) do parts[i] = ('%s=%.4g'):format(t.name, t.value) end
  return ('%s(%s)'):format(self.shape or self.name, table.concat(parts, ', '))
end

-- ---------------------------------------------------------------- values

--- Points as f64 rows [n, d]; fname stands in messages.
local function points(fname, x)
  x = op.operand(fname, x, 4)
  if x.ndim == 1 then x = x:expand_dims(-1) end
  if x.ndim ~= 2 or tensor.kind[x.dtype] == 'c' then
    error(('%s: the points are %s; give [n, d], a row for each'):format(fname, tensor.describe(x)), 4)
  end
  return x.dtype == 'f64' and x or x:to 'f64'
end
M.points = points

--- Covariances [n1, n2] of points a [n1, d] with b [n2, d]; without b of a with themselves, white noise included. With
--- `slopes`, also the list of derivatives in the logarithms of the hyperparameters.
---@param a mc.tensor
---@param b? mc.tensor
---@param slopes? boolean
---@return mc.tensor, mc.tensor[]|nil
function Kernel:matrix(a, b, slopes)
  a = points('kernel', a)
  local same = b == nil
  b = same and a or points('kernel', b)
  if a.shape[2] ~= b.shape[2] then
    error(('kernel: the points are %s and %s; they need equally many coordinates'):format(tensor.describe(a),
      tensor.describe(b)), 2)
  end
  local n1, n2 = a.shape[1], b.shape[1]
  if self.a then
    local u, du = self.a:matrix(a, not same and b or nil, slopes)
    local v, dv = self.b:matrix(a, not same and b or nil, slopes)
    if self.name == 'sum' then
      for _, s in ipairs(dv or {}) do du[#du + 1] = s end
      return u + v, du
    end
    for i, s in ipairs(du or {}) do du[i] = s * v end
    for _, s in ipairs(dv or {}) do du[#du + 1] = s * u end
    return u * v, du
  end
  local v1 = self.theta[1].value
  if self.name == 'constant' then
    local k = create.full({ n1, n2 }, v1)
    return k, slopes and { k }
  elseif self.name == 'white' then
    local k = same and F.eye(n1) * v1 or create.zeros { n1, n2 }
    return k, slopes and { k }
  elseif self.name == 'periodic' then
    local period = self.theta[2].value
    local at, bt, sum, turn = a.mT, b.mT, nil, nil
    for d = 1, a.shape[2] do
      local u = (at[d]:expand_dims(-1) - bt[d]) * (math.pi / period)
      local s = F.square(F.sin(u))
      sum = sum and sum + s or s
      if slopes then
        local w = u * F.sin(u * 2)
        turn = turn and turn + w or w
      end
    end
    local k = F.exp(sum * (-2 / v1 ^ 2))
    return k, slopes and { k * sum * (4 / v1 ^ 2), k * turn * (2 / v1 ^ 2) }
  end
  local r2, list = squares(self, 'kernel', a, b, slopes and self.each)
  local k, factor, last = SHAPES[self.shape](self, r2)
  if not slopes then return k end
  local out = length_slopes(self, factor, list, r2)
  if last then out[#out + 1] = last end
  return k, out
end

--- Variances [n] of points: the diagonal of matrix(a), with or without white noise.
function Kernel:diagonal(n, with_noise)
  if self.a then
    local u, v = self.a:diagonal(n, with_noise), self.b:diagonal(n, with_noise)
    return self.name == 'sum' and u + v or u * v
  end
  if self.name == 'constant' then return self.theta[1].value end
  if self.name == 'white' then return with_noise and self.theta[1].value or 0 end
  return 1
end

return M
