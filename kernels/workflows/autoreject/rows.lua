-- autoreject.lua - epochs of many channels (mc.autoreject calls these).
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, ints = W.op, W.ints

-- ---------------------------------------------------------------- epochs of many channels (mc.autoreject calls these; shapes in runtime/mc_autoreject.c)
for _, r in ipairs {
  { 'ar_range', nil, 'epochs -> largest minus smallest sample of each channel, NaN where one is not finite' },
  { 'ar_mix', ints 'want', 'epochs -> weighted sums of channels and their ranges' },
  { 'ar_sums', nil, 'epochs -> squared distances of medians and growing means of folds, added to sums' },
  { 'ar_losses', ints 'points fallback', 'sums -> losses of thresholds' },
  { 'ar_levels', nil, 'epochs -> squared distances of medians and means by repair, fold and level, added to sums' },
  { 'ar_weights', nil, 'inverse and sets of bad channels -> weights that repair them' },
  { 'ar_predict', nil, 'epochs -> correlation of channels with the median of their predictions' },
} do
  op { r[1], family = 'autoreject', nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' }, params = r[2], method = false, tol = 'ACCUM', rules = 'none: analysis end point', doc = r[3], source = 'Autoreject: automated artifact rejection for MEG and EEG data, 2017; shared medians and running sums: docstring of mc.autoreject.fit' }
end
