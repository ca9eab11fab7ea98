-- random.lua - derivatives of random numbers in the parameters of their distribution: the draw stays, its place moves
-- with the parameters.
--
-- Where a number is an explicit function of a draw without parameters (location and scale, inversion) the derivative
-- follows from the number itself. The truncated normal goes by the derivative of its distribution function. Shapes of
-- gamma, beta and their kin would need the derivative of incomplete functions in their order; counts jump. Form of a
-- rule: see init.lua. Source: Auto-encoding variational Bayes, 2014; Implicit reparameterization gradients, 2018.
local mc = require 'mascon.array'

local R = {}

--- Parameters by name, and the place of each that is a tensor among the operands.
local function parameters(x, p)
  local v, place, at = {}, {}, 0
  local mask = tonumber(p.raw.i[5])
  for j, spec in ipairs(p.row.params) do
    local name = spec[1]
    if math.floor(mask / 2 ^ (j - 1)) % 2 == 1 then
      at = at + 1
      v[name], place[name] = x[at], at
    else
      v[name] = p[name]
    end
  end
  return v, place
end

--- of: derivative of the number y in each parameter, as functions of y and the parameters; a string says why there is
--- none.
local function distribution(name, of)
  R['random_' .. name] = function(g, x, y, p)
    local v, place = parameters(x, p)
    local out = {}
    for parameter, at in pairs(place) do
      local d = of[parameter]
      if type(d) == 'string' then
        out[at] = function() error(('random.%s: no derivative with respect to %s: %s; give it as a number, or as a '
          .. 'tensor that the function captures'):format(name, parameter, d), 0) end
      else
        out[at] = function() return g * d(y[1], v) end
      end
    end
    return out
  end
end

local function is_tensor(v) return type(v) ~= 'number' end
--- a / b, 0 where b is 0: a distribution of no width stays where it is.
local function ratio(a, b)
  if not is_tensor(b) then return b == 0 and a * 0 or a / b end
  local none = mc.eq(b, 0)
  return mc.where(none, 0, a / mc.where(none, 1, b))
end

local function one() return 1 end
local function unit(y, v) return ratio(y - v.loc, v.scale) end
local function relative(y, v) return ratio(y, v.scale) end

for _, name in ipairs { 'laplace', 'logistic', 'gumbel', 'cauchy' } do
  distribution(name, { loc = one, scale = unit })
end
distribution('exponential', { scale = relative })
distribution('rayleigh', { scale = relative })
distribution('normal', { mean = one, std = function(y, v) return ratio(y - v.mean, v.std) end })
distribution('lognormal',
  { mean = function(y) return y end, std = function(y, v) return y * ratio(mc.log(y) - v.mean, v.std) end })
distribution('uniform', {
  low = function(y, v) return 1 - ratio(y - v.low, v.high - v.low) end,
  high = function(y, v) return ratio(y - v.low, v.high - v.low) end,
})
-- y = scale e^(t / a) with a draw t
local function shape(y, v)
  local r = relative(y, v)
  return ratio(-y * mc.log(mc.where(mc.gt(r, 0), r, 1)), v.a)
end
distribution('weibull', { a = shape, scale = relative })
distribution('pareto', { a = shape, scale = relative })

local ORDER = 'the derivative of the incomplete function in its order has no op'
distribution('gamma', { a = ORDER, scale = relative })
distribution('loggamma', { a = ORDER })
distribution('beta', { a = ORDER, b = ORDER })
distribution('chisquare', { df = ORDER })
distribution('f', { dfn = ORDER, dfd = ORDER })
distribution('student_t', { df = ORDER, loc = one, scale = unit })
distribution('von_mises', { mu = one, kappa = 'the derivative of the distribution function in kappa has no op' })

-- ---------------------------------------------------------------- truncated normal

--- Probability of a standard normal number in [a, b], without cancellation in the upper tail.
local function between(a, b)
  local high = mc.gt(a, 0)
  local p, q = mc.where(high, -b, a), mc.where(high, -a, b)
  return mc.ndtr(q) - mc.ndtr(p)
end
--- Density at a over that at z.
local function density_ratio(a, z) return mc.exp((z - a) * (z + a) * 0.5) end

local FAR = 1e8 -- an infinite bound: no density there, and derivatives that are 0 and not NaN

--- A bound in units of the distribution, of the shape of y.
local function standard(t, y, v)
  local zero = mc.zeros_like(y)
  if not is_tensor(t) and math.abs(t) == math.huge then return zero + (t > 0 and FAR or -FAR) end
  local none = mc.isinf(zero + t)
  return mc.where(none, mc.sign(t) * FAR, (mc.where(none, 0, t) - v.mean) / v.std)
end

--- With u = P(low < . < y) / P(low < . < high) held: dz phi(z) = (1 - u) phi(a) da + u phi(b) db for standardised y,
--- bounds z, a, b.
---@return any left weight of da
---@return any right weight of db
local function truncated(y, v)
  local z, a, b = (y - v.mean) / v.std, standard(v.low, y, v), standard(v.high, y, v)
  local whole = between(a, b)
  local left = ratio(between(z, b), whole) * density_ratio(a, z)
  local right = ratio(between(a, z), whole) * density_ratio(b, z)
  return left, right, z, a, b
end
distribution('truncated_normal', {
  low = function(y, v) return (truncated(y, v)) end,
  high = function(y, v) return select(2, truncated(y, v)) end,
  mean = function(y, v)
    local left, right = truncated(y, v)
    return 1 - left - right
  end,
  std = function(y, v)
    local left, right, z, a, b = truncated(y, v)
    return z - a * left - b * right
  end,
})

return { reverse = R }
