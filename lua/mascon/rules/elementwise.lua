-- elementwise.lua - reverse rules of the parts of complex numbers, which are not holomorphic: no formula times the
-- cotangent gives them.
--
-- All other elementwise rows are differentiated from their formulas: rules/formula.lua. Form of a rule: rules/init.lua.
local mc = require 'mascon.array'
local chain = require 'mascon.rules.chain'

local R = {}
local is_complex, times, but = chain.is_complex, chain.times, chain.but

R.abs = function(g, x) return { g * mc.sign(x[1]) } end
-- a / |a| of a complex number turns, but does not grow
R.sign = function(g, x, y)
  if not is_complex(x[1]) then return {} end
  local s = y[1]
  return { times(g - s * mc.real(mc.conj(s) * g), mc.where(mc.eq(x[1], 0), 0, 1 / but(mc.abs(x[1]), 0, 1))) }
end
R.conj = function(g) return { mc.conj(g) } end
R.real = function(g, x) return { is_complex(x[1]) and g:to(x[1].dtype) or g } end
R.imag = function(g, x) return { is_complex(x[1]) and g:to(x[1].dtype) * mc.complex(0, 1) or nil } end
R.angle = function(g, x)
  if not is_complex(x[1]) then return {} end
  local r = but(mc.abs(x[1]), 0, 1)
  return { (x[1] / r) * mc.complex(0, 1) * (g / r) }
end

return { reverse = R }
