-- reduce.lua - reductions, scans, recursive filters, sorting and order statistics.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, FLOAT, FC, ALL, ORD, STD, AX, kernels, functions, ACC, CMP = W.op, W.FLOAT, W.FC, W.ALL, W.ORD, W.STD, W.AX,
  W.kernels, W.functions, W.ACC, W.CMP

-- ---------------------------------------------------------------- reductions
local NONE = 'NAN' -- over nothing, as C text
op {
  'sum', family = 'reduce', mixed = 'f32', dtypes = ALL, accumulate = true, params = AX, tol = 'ACCUM', rules = 'sum',
  doc = 'sum over axes (all by default); integers and booleans give i64', source = STD, work = 1,
  example = "mc.sum(mc.tensor{{1, 2}, {3, 4}}, 1)  --> f64[2]@cpu { 4, 6 }", by_rows = true,
}
op {
  'prod', family = 'reduce', mixed = 'f32', columns = false, nothing = '1', dtypes = ALL, accumulate = true,
  params = AX, tol = 'PRODUCT', rules = 'prod', doc = 'product over axes; integers and booleans give i64', source = STD,
  work = 1, by_rows = true,
}
op {
  'max', family = 'reduce', dtypes = ORD, params = AX, empty = 'error', tol = 'EXACT',
  rules = 'max', doc = 'largest element; NaN wins; empty is an error', source = STD, work = 0.5,
  example = "mc.max(mc.tensor{1, 3, 2})  --> f64[]@cpu 3", by_rows = true,
}
op {
  'min', family = 'reduce', dtypes = ORD, params = AX, empty = 'error', tol = 'EXACT', rules = 'max',
  doc = 'smallest element; NaN wins; empty is an error', source = STD, work = 0.5, by_rows = true,
}
op {
  'any', family = 'reduce', truth = true, compute = 'bool', dtypes = ALL, result = 'bool', params = AX, tol = 'EXACT',
  rules = 'none: boolean', doc = 'some element is non-zero; over everything a Lua boolean', source = STD,
  example = "mc.any(mc.tensor{0, 1})  --> true",
}
op {
  'all', family = 'reduce', nothing = '1', truth = true, compute = 'bool', dtypes = ALL, result = 'bool', params = AX,
  tol = 'EXACT', rules = 'none: boolean',
  doc = 'every element is non-zero; over everything a Lua boolean', source = STD,
}
op {
  'argmax', family = 'reduce', columns = false, dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error',
  tol = 'EXACT', rules = 'none: positions',
  doc = 'position of the first largest element; one axis, or everything flattened', source = STD, work = 0.5,
  example = "mc.argmax(mc.tensor{1, 3, 2})  --> i64[]@cpu 2",
}
op {
  'argmin', family = 'reduce', columns = false, dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error',
  tol = 'EXACT', rules = 'none: positions',
  doc = 'position of the first smallest element; one axis, or everything flattened', source = STD, work = 0.5,
}
op {
  'mean', family = 'reduce', mixed = 'f32', pieces = 'sum',
  finish = 'mean', nothing = NONE, dtypes = FC, promote = 'float', params = AX, tol = 'ACCUM',
  rules = 'mean', doc = 'arithmetic mean; integers give f64; empty gives NaN', source = STD, work = 1,
  example = "mc.mean(mc.tensor{1, 2, 6})  --> f64[]@cpu 3", by_rows = true,
}
op {
  'var', family = 'reduce', mixed = 'f32', pieces = 'moments', finish = 'var', nothing = NONE, dtypes = FLOAT,
  promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'var',
  doc = 'variance sum (x - mean)^2 / (n - correction)',
  source = 'Updating formulae and a pairwise algorithm for computing sample variances, 1979', work = 0.5,
  example = "mc.var(mc.tensor{1, 3}, { correction = 1 })  --> f64[]@cpu 2", by_rows = true,
}
op {
  'std', family = 'reduce', mixed = 'f32', pieces = 'moments', finish = 'std', nothing = NONE, dtypes = FLOAT,
  promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'std',
  doc = 'sqrt(var)', source = STD, work = 0.5, by_rows = true,
}
op {
  'count_nonzero', family = 'reduce', pieces = 'count', compute = 'bool', dtypes = ALL, result = 'i64', params = AX,
  tol = 'EXACT', rules = 'none: counts', doc = 'how many elements are not zero',
  source = 'Python array API standard 2024.12', example = "mc.count_nonzero(mc.tensor{0, 2, 3})  --> i64[]@cpu 2",
}
op {
  'logsumexp', family = 'reduce', mixed = 'f32', pieces = 'lse', finish = 'log', nothing = '-INFINITY', dtypes = FLOAT,
  promote = 'float', params = AX,
  tol = 'ACCUM', rules = 'logsumexp', doc = 'log of the sum of exponentials without overflow; empty gives -inf',
  source = 'Accurately computing the log-sum-exp and softmax functions, 2021', work = 0.5,
  example = "mc.logsumexp(mc.tensor{0, 0})  --> f64[]@cpu 0.69314718055995", by_rows = true,
}
-- the same with NaN left out
local NAN = 'NumPy: functions that leave NaN out'
op {
  'nansum', family = 'reduce', pieces = 'sum', skip = 'count', dtypes = ALL, accumulate = true, params = AX,
  tol = 'ACCUM', rules = 'nansum', doc = 'sum over axes, NaN left out; nothing but NaN gives 0', source = NAN,
  work = 1.1, example = "mc.nansum(mc.tensor{1, mc.nan, 3})  --> f64[]@cpu 4",
}
op {
  'nanprod', family = 'reduce', columns = false, pieces = 'prod', skip = 'fill', fill = '1', nothing = '1',
  dtypes = ALL, accumulate = true, params = AX, tol = 'PRODUCT', rules = 'nanprod',
  doc = 'product over axes, NaN left out; nothing but NaN gives 1', source = NAN, work = 1.1,
}
op {
  'nanmax', family = 'reduce', pieces = 'max', skip = 'fill', fill = '-INFINITY', finish = 'nan', dtypes = ORD,
  params = AX, empty = 'error', tol = 'EXACT', rules = 'max',
  doc = 'largest element, NaN left out; nothing but NaN gives NaN', source = NAN, work = 0.6,
  example = "mc.nanmax(mc.tensor{1, mc.nan, 3})  --> f64[]@cpu 3",
}
op {
  'nanmin', family = 'reduce', pieces = 'min', skip = 'fill', fill = 'INFINITY', finish = 'nan', dtypes = ORD,
  params = AX, empty = 'error', tol = 'EXACT', rules = 'max',
  doc = 'smallest element, NaN left out; nothing but NaN gives NaN', source = NAN, work = 0.6,
}
op {
  'nanargmax', family = 'reduce', columns = false, pieces = 'argmax', skip = 'hold', finish = 'refuse',
  dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error', tol = 'EXACT', rules = 'none: positions',
  doc = 'position of the first largest element, NaN left out; nothing but NaN is an error', source = NAN, work = 0.6,
  example = "mc.nanargmax(mc.tensor{1, mc.nan, 3})  --> i64[]@cpu 3",
}
op {
  'nanargmin', family = 'reduce', columns = false, pieces = 'argmin', skip = 'hold', finish = 'refuse',
  dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error', tol = 'EXACT', rules = 'none: positions',
  doc = 'position of the first smallest element, NaN left out; nothing but NaN is an error', source = NAN, work = 0.6,
}
op {
  'nanmean', family = 'reduce', pieces = 'sum', skip = 'count', finish = 'mean', nothing = NONE, dtypes = FC,
  promote = 'float', params = AX, tol = 'ACCUM',
  rules = 'nanmean', doc = 'arithmetic mean, NaN left out; nothing but NaN gives NaN', source = NAN, work = 1.1,
  example = "mc.nanmean(mc.tensor{1, mc.nan, 3})  --> f64[]@cpu 2",
}
op {
  'nanvar', family = 'reduce', pieces = 'nanmoments', skip = 'kernel', finish = 'var', nothing = NONE, dtypes = FLOAT,
  promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'nanvar',
  doc = 'variance, NaN left out', source = NAN, work = 0.5,
}
op {
  'nanstd', family = 'reduce', pieces = 'nanmoments', skip = 'kernel', finish = 'std', nothing = NONE, dtypes = FLOAT,
  promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'nanstd',
  doc = 'standard deviation, NaN left out', source = NAN, work = 0.5,
}
local SHAPE = { AX[1], AX[2], { 'bias', 'bool', true } }
local JOANES = 'Comparing measures of sample skewness and kurtosis, 1998'
op {
  'skew', family = 'reduce', pieces = 'moments4', finish = 'skew', nothing = NONE, namespace = 'stats', method = false,
  dtypes = FLOAT, promote = 'float', params = SHAPE, tol = 'ACCUM', rules = 'skew',
  doc = 'skewness m3 / m2^(3/2) over axes; bias = false corrects for the sample size; NaN where the spread is 0',
  source = JOANES .. ' (g1, G1)', work = 2.1,
  example = "mc.stats.skew(mc.tensor{1, 2, 3})  --> f64[]@cpu 0", by_rows = true,
}
op {
  'kurtosis', family = 'reduce', pieces = 'moments4', finish = 'kurtosis', nothing = NONE, namespace = 'stats',
  method = false, dtypes = FLOAT, promote = 'float', params = SHAPE, tol = 'ACCUM', rules = 'skew',
  doc = 'excess kurtosis m4 / m2^2 - 3 over axes; bias = false corrects for the sample size; NaN where the spread is 0',
  source = JOANES .. ' (g2, G2)', work = 2.1,
  example = "mc.stats.kurtosis(mc.tensor{1, 2, 3, 4})  --> f64[]@cpu -1.36", by_rows = true,
}
-- exponentials that add up to 1
op {
  'softmax', family = 'softmax', mixed = 'f32', variant = 'plain', nin = 1, dtypes = FLOAT, promote = 'float',
  params = { AX[1] }, tol = 'ACCUM', rules = 'softmax', doc = 'exp(a) divided by its sum over axes (all by default)',
  source = 'Accurately computing the log-sum-exp and softmax functions, 2021', work = 0.3,
  example = "mc.softmax(mc.tensor{0, 0})  --> f64[2]@cpu { 0.5000, 0.5000 }", by_rows = true,
}
op {
  'log_softmax', family = 'softmax', mixed = 'f32', variant = 'log', nin = 1, dtypes = FLOAT, promote = 'float',
  params = { AX[1] }, tol = 'ACCUM', rules = 'log_softmax', doc = 'log(softmax(a)) without cancellation',
  source = 'Accurately computing the log-sum-exp and softmax functions, 2021', work = 0.3, by_rows = true,
}

-- ---------------------------------------------------------------- scans
op {
  'cumsum', family = 'scan', mixed = 'f32', dtypes = ALL, accumulate = true, params = { { 'axis', 'axis' } },
  tol = 'ACCUM', rules = 'cumsum', doc = 'running sum along one axis; integers give i64', source = STD, work = 2,
  example = "mc.cumsum(mc.tensor{1, 2, 3}, 1)  --> f64[3]@cpu { 1, 3, 6 }",
}
op {
  'cumprod', family = 'scan', mixed = 'f32', dtypes = ALL, accumulate = true, params = { { 'axis', 'axis' } },
  tol = 'ACCUM', rules = 'cumprod', doc = 'running product along one axis', source = STD, work = 2,
}
op {
  'cummax', family = 'scan', dtypes = ORD, params = { { 'axis', 'axis' }, { 'reverse', 'bool', false } },
  alias = { 'cumulative_max' }, tol = 'EXACT', rules = 'cummax',
  doc = 'largest element so far along one axis; NaN wins; reverse runs from the end', source = 'PyTorch cummax',
  work = 2, example = "mc.cummax(mc.tensor{2, 1, 3}, 1)  --> f64[3]@cpu { 2, 2, 3 }",
}
op {
  'cummin', family = 'scan', dtypes = ORD, params = { { 'axis', 'axis' }, { 'reverse', 'bool', false } },
  alias = { 'cumulative_min' }, tol = 'EXACT', rules = 'cummax',
  doc = 'smallest element so far along one axis; NaN wins; reverse runs from the end',
  source = 'PyTorch cummin', work = 2,
}
op {
  'argcummax', family = 'scan', dtypes = ORD, result = 'i64', base = true, params = { { 'axis', 'axis' } },
  tol = 'EXACT', rules = 'none: positions', doc = 'position of the first largest element so far along one axis',
  source = 'PyTorch cummax, there the last', work = 2,
  example = "mc.argcummax(mc.tensor{2, 1, 3}, 1)  --> i64[3]@cpu { 1, 1, 3 }",
}
op {
  'argcummin', family = 'scan', dtypes = ORD, result = 'i64', base = true, params = { { 'axis', 'axis' } },
  tol = 'EXACT', rules = 'none: positions', doc = 'position of the first smallest element so far along one axis',
  source = 'PyTorch cummin, there the last', work = 2,
}
op {
  'logcumsumexp', family = 'scan', mixed = 'f32', dtypes = FLOAT, promote = 'float', params = { { 'axis', 'axis' },
    { 'reverse', 'bool', false } }, alias = { 'cumulative_logsumexp' }, tol = 'ACCUM', rules = 'logcumsumexp',
  doc = 'log of the running sum of exponentials along one axis', source = 'definition; PyTorch logcumsumexp', work = 2,
}
op { 'linear_recurrence', family = 'recurrence', nin = 2, dtypes = FC, promote = 'float', params = { { 'axis', 'axis' },
  { 'reverse', 'bool', false } }, method = false, tol = 'ACCUM', rules = 'linear_recurrence',
  doc = 'a, b: y[i] = a[i] y[i - 1] + b[i] along one axis, y[1] = b[1]; reverse runs from the end',
  source = 'definition; Prefix sums and their applications, 1990',
  example = "mc.linear_recurrence(mc.tensor{0, 2, 3}, mc.tensor{1, 1, 1})  --> f64[3]@cpu {  1,  3, 10 }" }

-- ---------------------------------------------------------------- recursive filters
op {
  'iir', family = 'filter', nin = 3, nout = 2, dtypes = FLOAT, promote = 'float', params = { { 'axis', 'axis', -1 },
    { 'reverse', 'bool', false } }, namespace = 'signal', method = false, tol = 'ITERATIVE', rules = 'iir',
  doc = 'samples through recursive sections f64[sections,2 (order + 1)] from a state; gives samples and the state '
    .. 'after the last', source = 'transposed direct form II: Discrete-time signal processing, 1999, section 6.3',
}

-- ---------------------------------------------------------------- sorting and order statistics
op {
  'sort', family = 'sort', variant = 'whole', dtypes = ORD, params = { { 'axis', 'axis', -1 }, { 'descending', 'bool',
    false }, { 'stable', 'bool', true } }, tol = 'EXACT', rules = 'sort', doc = 'sorted along one axis, NaN last',
  source = STD, work = 2, example = "mc.sort(mc.tensor{3, 1, 2}, { descending = true })  --> f64[3]@cpu { 3, 2, 1 }",
}
op {
  'argsort', family = 'sort', variant = 'whole', dtypes = ORD, result = 'i64', base = true,
  params = { { 'axis', 'axis', -1 }, { 'descending', 'bool', false }, { 'stable', 'bool', true } }, tol = 'EXACT',
  rules = 'none: positions', doc = 'positions that sort along one axis, NaN last', source = STD, work = 2,
  example = "mc.argsort(mc.tensor{3, 1, 2})  --> i64[3]@cpu { 2, 3, 1 }",
}
op {
  'partition', family = 'sort', variant = 'part', dtypes = ORD, params = { { 'kth', 'int' }, { 'axis', 'axis', -1 } },
  tol = 'EXACT', rules = 'sort', doc = 'the element at place kth of the sorted axis, smaller ones before it, the '
    .. 'others behind it, each group in its order; NaN last', source = 'NumPy partition', work = 2.1,
  example = "mc.partition(mc.tensor{4, 1, 3, 2}, 2)  --> f64[4]@cpu { 1, 2, 4, 3 }",
}
op {
  'argpartition', family = 'sort', variant = 'part', dtypes = ORD, result = 'i64',
  base = true, params = { { 'kth', 'int' }, { 'axis', 'axis', -1 } }, tol = 'EXACT', rules = 'none: positions',
  doc = 'positions that partition along one axis', source = 'NumPy argpartition', work = 0.6,
}
op {
  'topk', family = 'sort', variant = 'top', nout = 2, dtypes = ORD, base = true, params = { { 'k', 'int' }, { 'axis',
    'axis', -1 }, { 'largest', 'bool', true }, { 'sorted', 'bool', true } }, tol = 'EXACT', rules = 'sort', doc =
  'the k largest (or smallest) elements along one axis and their positions; NaN last, equal elements in their order',
  source = 'PyTorch topk', work = 1.1,
  example = "mc.topk(mc.tensor{4, 1, 9, 2}, 2)  --> f64[2]@cpu { 9, 4 }, i64[2]@cpu { 3, 1 }",
}
op {
  'median', family = 'select', variant = 'median', dtypes = FLOAT,
  promote = 'float', params = { { 'axis', 'axes' }, { 'keepdim', 'bool', false } }, tol = 'ULP4', rules = 'quantile',
  doc = 'middle value, the mean of the two middle ones for even counts; NaN wins', source = 'definition', work = 3.3,
  example = "mc.median(mc.tensor{1, 2, 4, 9})  --> f64[]@cpu 3",
}
op {
  'select_quantile', family = 'select', variant = 'quantile', internal = true, dtypes = FLOAT, promote = 'float',
  params = { { 'axis', 'axes' }, { 'keepdim', 'bool', false } }, tol = 'ULP4', rules = 'quantile', method = false,
  doc = 'quantiles along axes: method, skip NaN, number of probabilities (0: one, without an axis of its own), the '
    .. 'probabilities', source = 'Sample quantiles in statistical packages, 1996',
}

-- ---------------------------------------------------------------- kernels and their other functions
kernels('reduce', {
  { 'sum', ACC }, { 'prod', ACC }, { 'max', CMP }, { 'min', CMP }, { 'any', { 'u8' } }, { 'all', { 'u8' } },
  { 'argmax', CMP }, { 'argmin', CMP }, { 'count', { 'u8' } },
  { 'nansum', { 'f32', 'f64' } }, { 'nanfill', { 'f32', 'f64', 'c64', 'c128' } }, { 'nanhold', { 'f32', 'f64' } },
  { 'moments', { 'f32', 'f64' } }, { 'nanmoments', { 'f32', 'f64' } }, { 'moments_fold', { 'f64' } },
  { 'moments4', { 'f32', 'f64' } }, { 'moments4_fold', { 'f64' } },
  { 'lse', { 'f32', 'f64' } }, { 'lse_fold', { 'f64' } },
  { 'cumsum', ACC }, { 'cumprod', ACC }, { 'cummax', CMP }, { 'cummin', CMP }, { 'argcummax', CMP },
  { 'argcummin', CMP }, { 'logcumsumexp', { 'f32', 'f64' } },
})
kernels('softmax', { { 'softmax', { 'f32', 'f64' } } })
kernels('recurrence', { { 'linear_recurrence', { 'f32', 'f64', 'c64', 'c128' } } })
kernels('filter', { { 'iir', { 'f32', 'f64' } } })
kernels('sort', { { 'sort', CMP }, { 'partition', CMP }, { 'topk', CMP } })
kernels('select', { { 'select', { 'f32', 'f64' } } })
functions 'sort_work topk_work select_work'
