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
  cma = { 'cma_es' },
  evolution = { 'evolution', 'differential_evolution' },
} do
  for _, name in ipairs(names) do FROM[name] = 'mascon.optim.' .. file end
end

return setmetatable({}, {
  __index = function(t, k)
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
