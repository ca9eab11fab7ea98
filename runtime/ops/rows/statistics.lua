-- statistics.lua - compositions: statistics along axes.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local composed, FLOAT, REAL, FC, NUM, ALL, ORD = W.composed, W.FLOAT, W.REAL, W.FC, W.NUM, W.ALL, W.ORD

-- ---------------------------------------------------------------- compositions: statistics along axes
local NP, SP = 'NumPy 2.4: ', 'SciPy 1.17: '
composed('mascon.array.quantile', FLOAT, {
  { 'quantile', promote = 'float', tol = 'ULP4', rules = 'quantile', doc = 'quantiles over axes: nine types, weights',
    source = 'Sample quantiles in statistical packages, 1996', work = 2.3, own_out = true },
  { 'nanquantile', promote = 'float', tol = 'ULP4', rules = 'quantile', doc = 'quantiles over axes, NaN left out',
    source = NP .. 'nanquantile', work = 2.3, own_out = true },
  { 'percentile', promote = 'float', tol = 'ULP4', rules = 'quantile', doc = 'quantiles for q in percent',
    source = NP .. 'percentile', work = 2.3, own_out = true },
  { 'nanpercentile', promote = 'float', tol = 'ULP4', rules = 'quantile',
    doc = 'quantiles for q in percent, NaN left out', source = NP .. 'nanpercentile', work = 2.3, own_out = true },
  { 'nanmedian', promote = 'float', tol = 'ULP4', rules = 'quantile', doc = 'median over axes, NaN left out',
    source = NP .. 'nanmedian', work = 2.3, own_out = true },
})
composed('mascon.array.histogram', REAL, {
  { 'digitize', nin = 2, rules = 'none: positions', doc = 'the bin of each element',
    source = NP .. 'digitize', work = 2.1 },
  { 'histogram_bin_edges', tol = 'ULP4', rules = 'none: edges', doc = 'edges of bins by a number, a rule or a range',
    source = NP .. 'histogram_bin_edges' },
  { 'histogram', tol = 'ACCUM', rules = 'none: counts', doc = 'counts of elements in bins, and the edges',
    source = NP .. 'histogram', work = 7.4 },
  { 'histogram2d', nin = 2, method = false, tol = 'ACCUM', rules = 'none: counts',
    doc = 'counts of pairs in the cells of a grid', source = NP .. 'histogram2d', work = 7 },
  { 'histogramdd', method = false, tol = 'ACCUM', rules = 'none: counts',
    doc = 'counts of points in the cells of a grid', source = NP .. 'histogramdd', work = 7 },
})
composed('mascon.array.statistics', FC, {
  { 'ptp', dtypes = REAL, doc = 'largest minus smallest element over axes', source = NP .. 'ptp' },
  { 'average', promote = 'float', tol = 'ACCUM', doc = 'weighted mean over axes, and the sums of the weights',
    source = NP .. 'average' },
  { 'cov', promote = 'float', tol = 'ACCUM', doc = 'covariance matrix of variables', source = NP .. 'cov', work = 2.6 },
  { 'corrcoef', promote = 'float', tol = 'ACCUM', doc = 'matrix of correlation coefficients',
    source = NP .. 'corrcoef', work = 6.1 },
  { 'reduceat', dtypes = NUM, nin = 2, tol = 'ACCUM', doc = 'reductions of consecutive pieces of an axis',
    source = NP .. 'ufunc.reduceat', work = 5.1 },
})
composed('mascon.array.compare', ALL, {
  { 'isclose', nin = 2, method = false, rules = 'none: boolean', doc = '|a - b| <= atol + rtol |b|, elementwise',
    source = NP .. 'isclose', work = 2.8 },
  { 'allclose', nin = 2, method = false, rules = 'none: boolean', doc = 'whether all elements are close; a Lua boolean',
    source = NP .. 'allclose', work = 2.9 },
  { 'array_equal', nin = 2, method = false, rules = 'none: boolean',
    doc = 'same shape and equal elements; a Lua boolean', source = NP .. 'array_equal' },
  { 'isin', nin = 2, dtypes = ORD, rules = 'none: boolean', doc = 'which elements are among the values of a set',
    source = 'Python array API standard 2025.12', work = 3.1 },
  { 'nan_to_num', rules = 'select', doc = 'NaN and infinities replaced by numbers',
    source = NP .. 'nan_to_num', work = 2.4 },
})
composed('mascon.array.unique', ALL, {
  { 'unique', rules = 'none: positions',
    doc = 'distinct slices along an axis: values, first positions, inverse, counts',
    source = NP .. 'unique', work = 3.4 },
  { 'unique_consecutive', rules = 'none: positions', doc = 'runs of equal neighbours: values, inverse, counts',
    source = 'PyTorch unique_consecutive', work = 2.1 },
})
local function statistics(module, list)
  for _, r in ipairs(list) do r.namespace, r.method, r.promote, r.tol = 'stats', false, 'float', r.tol or 'ACCUM' end
  composed('mascon.stats.' .. module, FLOAT, list)
end
statistics('descriptive', {
  { 'zscore', doc = '(x - mean) / standard deviation', source = SP .. 'stats.zscore' },
  { 'sem', doc = 'standard error of the mean', source = SP .. 'stats.sem' },
  { 'mad', doc = 'median absolute deviation',
    source = 'The influence curve and its role in robust estimation, 1974', work = 4.3 },
  { 'iqr', doc = 'distance between two quantiles', source = SP .. 'stats.iqr', work = 2.3 },
  { 'moment', doc = 'moment of an order about the mean or another centre', source = SP .. 'stats.moment', work = 2.1 },
  { 'trim_mean', doc = 'mean without a share of the smallest and the largest elements',
    source = SP .. 'stats.trim_mean', work = 4 },
  { 'gmean', doc = 'geometric mean', source = SP .. 'stats.gmean', work = 1.1 },
  { 'hmean', doc = 'harmonic mean', source = SP .. 'stats.hmean', work = 3.2 },
  { 'mode', tol = 'EXACT', rules = 'none: positions', doc = 'most frequent value, and how often it occurs',
    source = SP .. 'stats.mode', work = 8.5 },
})
statistics('rank', {
  { 'rankdata', tol = 'EXACT', rules = 'none: ranks', doc = 'ranks along an axis, five rules for ties',
    source = SP .. 'stats.rankdata', work = 11.5 },
})
