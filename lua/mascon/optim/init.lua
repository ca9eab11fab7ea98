--- mascon.optim: minimisers, optimisers for training, roots of equations, fits.
--
-- The public table; every function is defined and documented in the file of its concept and loads when touched. Names are SciPy's for
-- minimisers and roots, PyTorch's for training. Owns nothing.
local FROM = {}
for file, names in pairs {
  update = { 'sgd', 'adam', 'adamw', 'rmsprop', 'adagrad', 'lion' },
  schedule = { 'constant', 'step_decay', 'exponential_decay', 'cosine', 'warmup', 'one_cycle' },
  clip = { 'global_norm', 'clip_norm', 'clip_value' },
  minimize = { 'minimize' },
  nelder_mead = { 'nelder_mead' },
  root_scalar = { 'brentq', 'bisect', 'newton' },
  root = { 'root' },
  cma = { 'cma_es' },
  evolution = { 'evolution', 'differential_evolution' },
  least_squares = { 'least_squares' },
  ['least_squares.batch'] = { 'least_squares_batch' },
  curve_fit = { 'curve_fit' },
  ['bayes.process'] = { 'gaussian_process' },
  ['bayes.search'] = { 'bayes', 'bayes_search' },
} do
  for _, name in ipairs(names) do FROM[name] = 'mascon.optim.' .. file end
end
local LAZY = { kernels = 'mascon.optim.bayes.kernels' } -- tables of functions

return setmetatable({}, {
  __index = function(t, k)
    if LAZY[k] then
      rawset(t, k, require(LAZY[k]))
      return t[k]
    end
    local from = FROM[k]
    if not from then
      if type(k) ~= 'string' or k:sub(1, 1) == '_' then return nil end
      local check = require 'mascon.check'
      local near = check.nearest(k, FROM)
      check.error(('mc.optim.%s: there is no such name%s'):format(k, near and ('; did you mean mc.optim.%s?'):format(near) or ''), 2)
    end
    local v = require(from)[k]
    rawset(t, k, v)
    return v
  end,
})
