-- rows.lua - the ops on epochs of many channels, called by mc.autoreject; shapes of operands and results stand in
-- autoreject.c.
--
-- What the fields of a row mean stands in runtime/ops/ops.lua.

--- Integer parameters that are 0 by default, by their names.
local function ints(text)
  local out = {}
  for n in text:gmatch '%S+' do out[#out + 1] = { n, 'int', 0 } end
  return out
end

local rows = {}
for i, r in ipairs {
  { 'ar_range', nil, 'epochs -> largest minus smallest sample of each channel, NaN where one is not finite' },
  { 'ar_mix', ints 'want', 'epochs -> weighted sums of channels and their ranges' },
  { 'ar_sums', nil, 'epochs -> squared distances of medians and growing means of folds, added to sums' },
  { 'ar_losses', ints 'points fallback', 'sums -> losses of thresholds' },
  { 'ar_levels', nil, 'epochs -> squared distances of medians and means by repair, fold and level, added to sums' },
  { 'ar_weights', nil, 'inverse and sets of bad channels -> weights that repair them' },
  { 'ar_predict', nil, 'epochs -> correlation of channels with the median of their predictions' },
} do
  rows[i] = {
    r[1], nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' }, params = r[2], tol = 'ACCUM',
    rules = 'none: analysis end point', doc = r[3], source = 'Autoreject: automated artifact rejection for MEG and EEG '
      .. 'data, 2017; shared medians and running sums: docstring of mc.autoreject.fit',
  }
end
return rows
