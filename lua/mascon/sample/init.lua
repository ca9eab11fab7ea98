-- sample/init.lua - draws from log densities by Hamiltonian Monte Carlo, and how far they can be trusted.
--
-- The public table; every function is defined and documented in the file of its concept and loads when touched.
-- Names of diagnostics are those of ArviZ.
return require('mascon.core.lazy').table('mc.sample', {
  ['mascon.sample.run'] = { 'nuts', 'hmc' },
  ['mascon.sample.diagnose'] = { 'rhat', 'ess', 'mcse', 'bfmi' },
  ['mascon.sample.predict'] = { 'predict' },
  ['mascon.sample.figures'] = { 'trace', 'corner', 'marginals', 'predictive' },
})
