-- move.lua - ops that move elements, and values between knots.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, FLOAT, REAL, FC, NUM, ALL, ORD, STD, kernels = W.op, W.FLOAT, W.REAL, W.FC, W.NUM, W.ALL,
  W.ORD, W.STD, W.kernels

-- ---------------------------------------------------------------- moving elements
op {
  'take', family = 'gather', variant = 'take', dtypes = ALL, params = { { 'axis', 'axis', 1 } }, base = true,
  tol = 'EXACT', rules = 'take', doc = 'the slices of x at positions `index` along one axis', source = STD, work = 0.7,
  example = "mc.take(mc.tensor{10, 20, 30}, mc.tensor({3, 1}, { dtype = 'i64' }))  --> f64[2]@cpu { 30, 10 }", nin = 2,
  operands = { 'x', 'index' },
}
op {
  'take_along_axis', family = 'gather', variant = 'along', dtypes = ALL, params = { { 'axis', 'axis', -1 } },
  base = true, alias = { 'gather' }, tol = 'EXACT', rules = 'gather',
  doc = 'x picked at index, elementwise along one axis', source = STD, work = 1, nin = 2, operands = { 'x', 'index' },
}
op {
  'put_along_axis', family = 'gather', variant = 'put', dtypes = ALL, params = { { 'axis', 'axis', -1 } }, base = true,
  alias = { 'scatter' }, tol = 'EXACT', rules = 'scatter',
  doc = 'a copy of x with values put at index along one axis; the last write wins', source = 'NumPy put_along_axis',
  work = 1, nin = 3, operands = { 'x', 'index', 'values' },
}
op {
  'scatter_add', family = 'segment', variant = 'scatter_add', nin = 3, dtypes = NUM,
  params = { { 'axis', 'axis', -1 } }, base = true, tol = 'ACCUM', rules = 'scatter',
  doc = 'a copy of x with values added at index along one axis, in order', source = 'PyTorch scatter_add', work = 4.8,
  operands = { 'x', 'index', 'values' },
}
op {
  'scatter_reduce', family = 'segment', variant = 'scatter', nin = 3, dtypes = NUM, params = { { 'axis', 'axis', -1 },
    { 'reduce', { 'sum', 'prod', 'max', 'min', 'mean' }, 'sum' }, { 'include_self', 'bool', true } }, base = true,
  tol = 'ACCUM', rules = 'scatter_reduce', doc = 'a copy of x with values joined to it at index along one axis: reduce '
    .. '= sum, prod, max, min or mean; include_self: the elements of x take part', source = 'PyTorch scatter_reduce',
  work = 4.8, example = "mc.scatter_reduce(mc.tensor{1, 2}, mc.tensor({1, 1}, { dtype = 'i64' }), mc.tensor{5, 7}, { "
    .. "reduce = 'max' })  --> f64[2]@cpu { 7, 2 }", operands = { 'x', 'index', 'values' },
}
op {
  'nonzero_flat', family = 'gather', variant = 'nonzero',
  by_value = 'choose with mc.where, or find the positions outside', dtypes = ALL, result = 'i64', base = true,
  method = false, tol = 'EXACT', rules = 'none: positions',
  doc = 'flat positions of the non-zero elements in row-major order', source = 'definition', work = 0.3, nin = 1,
}
op {
  'searchsorted', family = 'gather', variant = 'search', dtypes = REAL, result = 'i64',
  params = { { 'right', 'bool', false } }, sorter = true, base = true, tol = 'EXACT', rules = 'none: positions',
  doc = 'positions at which values would be inserted into the sorted x: one row, or [..., n] for values [..., m]; '
    .. 'before equal elements, or behind them with right = true or side = "right"; sorter: positions that sort x',
  source = STD, work = 3, example = "mc.searchsorted(mc.tensor{1, 3, 5}, mc.tensor{2, 3})  --> i64[2]@cpu { 2, 2 }",
  nin = 2, operands = { 'x', 'values' },
}
op {
  'bincount', family = 'gather', variant = 'bincount', by_value = 'sum with mc.segment_sum and num_segments',
  dtypes = { 'i64' }, result = 'i64', params = { { 'minlength', 'int', 0 } }, tol = 'EXACT', rules = 'none: counts',
  doc = 'how often each non-negative integer occurs: result[1] counts zeros', source = 'NumPy bincount', work = 1,
  example = "mc.bincount(mc.tensor({0, 2, 2}, { dtype = 'i64' }))  --> i64[3]@cpu { 1, 0, 2 }", nin = 1,
}
op {
  'bincount_weighted', family = 'gather', variant = 'bincount', by_value = 'sum with mc.segment_sum and num_segments',
  dtypes = { 'f64' }, params = { { 'minlength', 'int', 0 } }, method = false, tol = 'ACCUM',
  rules = 'bincount', doc = 'sum of the weights of each integer value', source = 'NumPy bincount', work = 1, nin = 2,
  operands = { 'x', 'weights' },
}
for _, r in ipairs {
  { 'sum', NUM, 'sums; empty segments give 0', work = 0.1,
    example = "mc.segment_sum(mc.tensor{1, 2, 4}, mc.tensor({1, 1, 2}, { dtype = 'i64' }))  --> f64[2]@cpu { 3, 4 }" },
  { 'prod', NUM, 'products; empty segments give 1', work = 0.1 },
  { 'max', ORD, 'largest elements; empty segments give the least number of the dtype', work = 0.1 },
  { 'min', ORD, 'smallest elements; empty segments give the greatest number of the dtype', work = 0.1 },
  { 'mean', FC, 'means; empty segments give NaN' },
} do
  op { 'segment_' .. r[1], family = 'segment', variant = r[1], operands = { 'x', 'segments' },
    by_value = 'give num_segments', nin = 2, dtypes = r[2], promote = r[1] == 'mean' and 'float' or nil,
    params = { { 'num_segments', 'int', -1 }, { 'axis', 'axis', 1 } }, base = true,
    tol = (r[1] == 'max' or r[1] == 'min') and 'EXACT' or 'ACCUM',
    rules = 'segment', work = r.work, example = r.example, doc =
    'x, segments: the elements along an axis joined by the segment each belongs to (one integer each, any order): '
      .. r[3], source = 'JAX ops.segment_' .. (r[1] == 'mean' and 'sum' or r[1]) }
end
op {
  'concat', family = 'layout', variant = 'join', joins = 0, nin = 'list', dtypes = ALL, params = { { 'axis', 'axis',
    1 } }, method = false, tol = 'EXACT', rules = 'concat', doc = 'tensors joined along an existing axis', source = STD,
  example = "mc.concat({ mc.tensor{1, 2}, mc.tensor{3} })  --> f64[3]@cpu { 1, 2, 3 }",
}
op {
  'stack', family = 'layout', variant = 'join', joins = 1, nin = 'list', dtypes = ALL, params = { { 'axis', 'axis',
    1 } }, method = false, tol = 'EXACT', rules = 'stack', doc = 'tensors of one shape joined along a new axis',
  source = STD, example = "mc.stack({ mc.tensor{1, 2}, mc.tensor{3, 4} })  --> f64[2,2]@cpu { { 1, 2 }, { 3, 4 } }",
}
op {
  'roll', family = 'layout', variant = 'roll', nin = 1, dtypes = ALL,
  params = { { 'shift', 'ints' }, { 'axis', 'axes' } }, tol = 'EXACT', rules = 'roll', doc =
  'elements moved by shift along an axis, or by several along several; those that fall off come in on the other side',
  source = STD, example = "mc.roll(mc.tensor{1, 2, 3}, 1)  --> f64[3]@cpu { 3, 1, 2 }",
}
op {
  'group_runs', family = 'unique', by_value = 'group outside', nin = 'list', nout = 'list', dtypes = ALL,
  internal = true, method = false, tol = 'EXACT', rules = 'none: positions',
  doc = 'a sorted row (and the positions that sorted it) -> where runs of equal elements start, their lengths, their '
    .. 'first positions, the run of each', source = STD,
}

op {
  'pad', family = 'pad', modes = { 'constant', 'edge', 'reflect', 'symmetric', 'wrap', 'empty' },
  module = 'mascon.array.pad', nin = 'list', dtypes = ALL, tol = 'ACCUM', rules = 'pad',
  doc = 'the tensor with elements added at the ends of its axes', source = 'NumPy pad', work = 1.3, own_out = true,
}

-- ---------------------------------------------------------------- values between knots
op {
  'interp', family = 'interp', variant = 'lines', module = 'mascon.interpolate', nin = 3, dtypes = FLOAT,
  promote = 'float', tol = 'ULP4', rules = 'interp', doc = 'linear interpolation at x between knots xp with values fp',
  source = 'NumPy interp', own_out = true,
}
op {
  'ppoly', family = 'interp', variant = 'pieces', module = 'mascon.interpolate', nin = 3,
  dtypes = FLOAT, promote = 'float', namespace = 'interpolate', method = false, tol = 'ULP4', rules = 'ppoly',
  doc = 'piecewise polynomial at x: coefficients [c, knots - 1, ...], highest power of x - knot first',
  source = 'SciPy PPoly', own_out = true,
}
op {
  'tridiagonal', family = 'tridiagonal', module = 'mascon.interpolate.spline', nin = 2, dtypes = FLOAT,
  promote = 'float', namespace = 'interpolate', method = false, tol = 'ITERATIVE', rules = 'tridiagonal',
  doc = 'solutions of tridiagonal systems: bands [3, n], right sides [n, ...]',
  source = 'elimination without exchange of rows: Matrix computations, 2013, section 4.3', work = 1.9, own_out = true,
}

-- ---------------------------------------------------------------- kernels and their other functions
local WIDE = { 'i64', 'f64', 'c128' }
kernels('segment', { { 'segment_sum', WIDE }, { 'segment_prod', WIDE }, { 'segment_max', { 'i64', 'f64' } },
  { 'segment_min', { 'i64', 'f64' } } })
kernels('interp', { { 'interp', { 'f32', 'f64' } }, { 'ppoly', { 'f32', 'f64' } } })
kernels('tridiagonal', { { 'tridiagonal', { 'f64' } } })
