-- autoreject/init.lua - epochs of EEG and MEG cleaned by limits that cross-validation finds.
--
-- fit(epochs) gives a model, model:transform(epochs) clean epochs and a log of what was decided;
-- get_rejection_threshold gives one limit for all channels; ransac finds channels that others cannot predict.
local lazy = require 'mascon.core.lazy'

return lazy.table('mc.autoreject', {
  ['workflows.autoreject.fit'] = { 'fit', 'fit_transform' },
  ['workflows.autoreject.thresholds'] = { 'compute_thresholds' },
  ['workflows.autoreject.global'] = { 'get_rejection_threshold', 'validation_curve' },
  ['workflows.autoreject.ransac'] = { 'ransac' },
  ['workflows.autoreject.load'] = { 'load' }, ['workflows.autoreject.pipeline'] = { 'pipeline' },
  ['workflows.autoreject.plan'] = { 'plan' },
}, {
  log = 'workflows.autoreject.log', generate = 'workflows.autoreject.generate', folds = 'workflows.autoreject.folds',
  twister = 'workflows.autoreject.twister', exact = 'workflows.autoreject.exact',
  bayesian = 'workflows.autoreject.bayesian', random_search = 'workflows.autoreject.random_search',
  curves = 'workflows.autoreject.curves',
  vote = 'workflows.autoreject.vote', report = 'workflows.autoreject.report', results = 'workflows.autoreject.results',
  ways = 'workflows.autoreject.ways', probe = 'workflows.autoreject.probe',
})
