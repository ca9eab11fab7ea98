-- optim/init.lua - minimisers, optimisers for training, roots of equations, fits.
--
-- The public table; every function is defined and documented in the file of its concept and loads when touched. Names
-- are SciPy's for minimisers and roots, PyTorch's for training.
return require('mascon.core.lazy').table('mc.optim', {
  ['mascon.optim.train.update'] = { 'sgd', 'adam', 'adamw', 'rmsprop', 'adagrad', 'lion', 'radam', 'lamb',
    'lookahead', 'sophia', 'hutchinson' },
  ['mascon.optim.train.schedule'] = { 'constant', 'step_decay', 'exponential_decay', 'cosine', 'warmup', 'one_cycle',
    'polynomial', 'sequential', 'plateau' },
  ['mascon.optim.train.clip'] = { 'global_norm', 'clip_norm', 'clip_value', 'adaptive_clip' },
  ['mascon.optim.minimize'] = { 'minimize' },
  ['mascon.optim.minimize.nelder_mead'] = { 'nelder_mead' },
  ['mascon.optim.minimize.root_scalar'] = { 'brentq', 'bisect', 'newton' },
  ['mascon.optim.minimize.root'] = { 'root' },
  ['mascon.optim.search.cma'] = { 'cma_es' },
  ['mascon.optim.search.evolution'] = { 'evolution', 'differential_evolution' },
  ['mascon.optim.fit.least_squares'] = { 'least_squares' },
  ['mascon.optim.fit.least_squares.batch'] = { 'least_squares_batch' },
  ['mascon.optim.fit.curve_fit'] = { 'curve_fit' },
  ['mascon.optim.search.bayes.process'] = { 'gaussian_process' },
  ['mascon.optim.search.bayes.search'] = { 'bayes', 'bayes_search' },
}, { kernels = 'mascon.optim.search.bayes.kernels' }, function() return require 'mascon.optim.elsewhere' end)
