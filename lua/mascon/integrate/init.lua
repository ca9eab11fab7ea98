-- integrate/init.lua - integrals of functions and of samples, ordinary differential equations.
--
-- The public table, under SciPy's names; every function is defined and documented in the file of its concept and loads
-- when touched. Integrals of samples are those among mc's own names.
return require('mascon.core.lazy').table('mc.integrate', {
  ['mascon.integrate.quad'] = { 'quad' },
  ['mascon.integrate.gauss'] = { 'leggauss', 'fixed_quad' },
  ['mascon.integrate.ivp'] = { 'solve_ivp', 'rk4' },
  ['mascon.array.calculus'] = { 'trapezoid', 'cumulative_trapezoid', 'simpson', 'cumulative_simpson', 'romb' },
})
