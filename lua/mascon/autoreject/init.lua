--- mascon.autoreject: epochs of EEG and MEG cleaned by limits that cross-validation finds.
--
-- fit(epochs) gives a model, model:transform(epochs) clean epochs and a log of what was decided; get_rejection_threshold gives one limit for all
-- channels; ransac finds channels that others cannot predict. Owns nothing but the names: each part stands in a file of its own and is
-- loaded when touched.
local lazy = require 'mascon.core.lazy'

return lazy.table('mc.autoreject', {
  ['mascon.autoreject.fit'] = { 'fit', 'fit_transform' }, ['mascon.autoreject.thresholds'] = { 'compute_thresholds' },
  ['mascon.autoreject.global'] = { 'get_rejection_threshold', 'validation_curve' }, ['mascon.autoreject.ransac'] = { 'ransac' },
  ['mascon.autoreject.state'] = { 'load' }, ['mascon.autoreject.pipeline'] = { 'pipeline' }, ['mascon.autoreject.plan'] = { 'plan' },
}, {
  log = 'mascon.autoreject.log', generate = 'mascon.autoreject.generate', folds = 'mascon.autoreject.folds', twister = 'mascon.autoreject.twister',
  exact = 'mascon.autoreject.exact', bayesian = 'mascon.autoreject.bayesian', random_search = 'mascon.autoreject.random_search', curves = 'mascon.autoreject.curves',
  vote = 'mascon.autoreject.vote', report = 'mascon.autoreject.report', results = 'mascon.autoreject.results', ways = 'mascon.autoreject.ways',
})
