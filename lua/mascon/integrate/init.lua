--- mascon.integrate: integrals of functions and of samples, ordinary differential equations.
--
-- The public table, under SciPy's names; every function is defined and documented in the file of its concept and loads when touched. Integrals of
-- samples are those among mc's own names. Owns nothing.
local FROM = {}
for file, names in pairs {
  ['mascon.integrate.quad'] = { 'quad' },
  ['mascon.integrate.gauss'] = { 'leggauss', 'fixed_quad' },
  ['mascon.integrate.ivp'] = { 'solve_ivp', 'rk4' },
  ['mascon.calculus'] = { 'trapezoid', 'cumulative_trapezoid', 'simpson', 'cumulative_simpson', 'romb' },
} do
  for _, name in ipairs(names) do FROM[name] = file end
end

return setmetatable({}, {
  __index = function(t, k)
    local from = FROM[k]
    if not from then
      if type(k) ~= 'string' or k:sub(1, 1) == '_' then return nil end
      local check = require 'mascon.check'
      local near = check.nearest(k, FROM)
      check.error(('mc.integrate.%s: there is no such name%s'):format(k, near and ('; did you mean mc.integrate.%s?'):format(near) or ''), 2)
    end
    local v = require(from)[k]
    rawset(t, k, v)
    return v
  end,
})
