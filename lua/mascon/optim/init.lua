--- mascon.optim: minimisers, optimisers for training, roots of equations, fits.
--
-- The public table; every function is defined and documented in the file of its concept and loads when touched. Names are SciPy's for
-- minimisers and roots, PyTorch's for training. Owns nothing.
return require('mascon.lazy').table('mc.optim', {
  ['mascon.optim.update'] = { 'sgd', 'adam', 'adamw', 'rmsprop', 'adagrad', 'lion' },
  ['mascon.optim.schedule'] = { 'constant', 'step_decay', 'exponential_decay', 'cosine', 'warmup', 'one_cycle' },
  ['mascon.optim.clip'] = { 'global_norm', 'clip_norm', 'clip_value' },
  ['mascon.optim.minimize'] = { 'minimize' },
  ['mascon.optim.nelder_mead'] = { 'nelder_mead' },
  ['mascon.optim.root_scalar'] = { 'brentq', 'bisect', 'newton' },
  ['mascon.optim.root'] = { 'root' },
  ['mascon.optim.cma'] = { 'cma_es' },
  ['mascon.optim.evolution'] = { 'evolution', 'differential_evolution' },
  ['mascon.optim.least_squares'] = { 'least_squares' },
  ['mascon.optim.least_squares.batch'] = { 'least_squares_batch' },
  ['mascon.optim.curve_fit'] = { 'curve_fit' },
  ['mascon.optim.bayes.process'] = { 'gaussian_process' },
  ['mascon.optim.bayes.search'] = { 'bayes', 'bayes_search' },
}, { kernels = 'mascon.optim.bayes.kernels' })
