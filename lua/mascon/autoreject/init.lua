--- mascon.autoreject: epochs of EEG and MEG cleaned by thresholds that cross-validation finds.
--
-- Owns nothing but the names: each part stands in a file of its own and is loaded when touched.
local lazy = require 'mascon.lazy'

return lazy.table('mc.autoreject', {}, {
  twister = 'mascon.autoreject.twister', folds = 'mascon.autoreject.folds', generate = 'mascon.autoreject.generate', report = 'mascon.autoreject.report',
})
