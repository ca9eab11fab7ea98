-- shape.lua - compositions: shapes, sets, products, calculus, polynomials, grids.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local composed, FLOAT, REAL, FC, NUM, ALL = W.composed, W.FLOAT, W.REAL, W.FC, W.NUM, W.ALL

-- ---------------------------------------------------------------- compositions: shapes, sets, products

composed('mascon.array.manipulate', ALL, {
  { 'broadcast_shapes', method = false, doc = 'the shape to which shapes broadcast', rules = 'none: shapes' },
  { 'broadcast_arrays', nin = 'list', method = false, doc = 'tensors as views of their common shape' },
  { 'unstack', doc = 'the slices along one axis as a list' },
  { 'matrix_transpose', doc = 'the last two axes exchanged' },
  { 'repeat_each', alias = { 'repeat' }, doc = 'each element several times' },
  { 'tile', doc = 'the whole tensor several times along each axis' },
  { 'cumulative_sum', tol = 'ACCUM', doc = 'running sum, optionally with a leading 0', own_out = true },
  { 'cumulative_prod', tol = 'ACCUM', doc = 'running product, optionally with a leading 1', own_out = true },
})
composed('mascon.core.index', ALL, {
  { 'put', nin = 3, rules = 'put', source = 'NumPy advanced indexing',
    doc = 'a copy with values written at any index expression' },
  { 'index_add', nin = 3, dtypes = NUM, rules = 'put', source = 'NumPy add.at',
    doc = 'a copy with values added at any index expression, in order' },
})
composed('mascon.array.sets', ALL, {
  { 'unique_all', rules = 'none: positions', doc = 'distinct values, their first positions, inverse and counts',
    work = 0.8 }, { 'unique_counts', rules = 'none: positions', doc = 'distinct values and their counts', work = 1.1 },
  { 'unique_inverse', rules = 'none: positions', doc = 'distinct values and the positions that rebuild the tensor',
    work = 2.6 }, { 'unique_values', rules = 'none: sorted set', doc = 'distinct values', work = 3.1 },
})
composed('mascon.core.dtypes', ALL, {
  { 'astype', doc = 'converted copy' },
  { 'result_type', nin = 'list', method = false, rules = 'none: dtypes', doc = 'dtype in which operands meet' },
  { 'can_cast', method = false, rules = 'none: dtypes', doc = 'one dtype promotes to the other' },
  { 'finfo', method = false, rules = 'none: dtypes', doc = 'limits of a float dtype' },
  { 'iinfo', method = false, rules = 'none: dtypes', doc = 'limits of an integer dtype' },
  { 'isdtype', method = false, rules = 'none: dtypes', doc = 'a dtype is of a kind' },
  { 'namespace_info', method = false, rules = 'none: dtypes', doc = 'what the library has, as the array API asks' },
})
composed('mascon.fft', { 'f32', 'f64', 'c64', 'c128' }, {
  { 'fftn', namespace = 'fft', method = false, tol = 'FFT', doc = 'transform over several axes', work = 3.1 },
  { 'ifftn', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of fftn', work = 3.1 },
  { 'rfftn', namespace = 'fft', method = false, tol = 'FFT', doc = 'transform of real data over several axes',
    work = 3.6 }, { 'irfftn', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of rfftn', work = 2.1 },
  { 'hfft', namespace = 'fft', method = false, tol = 'FFT', doc = 'real spectrum of a signal with Hermitian symmetry',
    work = 1.6 }, { 'ihfft', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of hfft', work = 1.3 },
  { 'fftfreq', namespace = 'fft', method = false, tol = 'ULP4', rules = 'none: no operand',
    doc = 'frequencies of the bins of fft', work = 3.2 }, { 'rfftfreq', namespace = 'fft', method = false, tol = 'ULP4',
      rules = 'none: no operand', doc = 'frequencies of the bins of rfft', work = 1.3 },
  { 'fftshift', namespace = 'fft', method = false, dtypes = ALL, doc = 'zero frequency moved to the middle' },
  { 'ifftshift', namespace = 'fft', method = false, dtypes = ALL, doc = 'inverse of fftshift' },
})
composed('mascon.array.products', NUM, {
  { 'dot', nin = 2, tol = 'ACCUM',
    doc = 'product of vectors and matrices, the last axis of a with the last but one of b',
    source = 'NumPy dot', own_out = true },
  { 'vdot', nin = 2, tol = 'ACCUM', doc = 'sum of conj(a) b over all elements', source = 'NumPy vdot', own_out = true },
  { 'inner', nin = 2, tol = 'ACCUM', doc = 'sum of products over the last axis of both', source = 'NumPy inner' },
  { 'outer', nin = 2, doc = 'all products of an element of a with one of b', own_out = true },
  { 'tensordot', nin = 2, tol = 'ACCUM', doc = 'sum of products over chosen axes' },
  { 'kron', nin = 2, doc = 'Kronecker product', source = 'NumPy kron' },
  { 'cross', nin = 2, tol = 'ACCUM', doc = 'vector product in space', work = 1.6 },
})
composed('mascon.array.einsum', ALL, {
  { 'einsum', nin = 'list', method = false, tol = 'ACCUM', doc = 'sums of products in index notation',
    source = 'NumPy einsum; Faster identification of optimal contraction sequences for tensor networks, 2014' },
  { 'einsum_path', nin = 'list', method = false, rules = 'none: a report',
    doc = 'the order and cost of the products of an einsum', source = 'NumPy einsum_path' },
})
composed('mascon.array.join', ALL, {
  { 'atleast_1d', nin = 'list', method = false, doc = 'operands with at least one axis', source = 'NumPy atleast_1d' },
  { 'atleast_2d', nin = 'list', method = false, doc = 'operands with at least two axes', source = 'NumPy atleast_2d' },
  { 'atleast_3d', nin = 'list', method = false, doc = 'operands with at least three axes',
    source = 'NumPy atleast_3d' },
  { 'vstack', nin = 'list', method = false, doc = 'tensors stacked as rows', source = 'NumPy vstack' },
  { 'hstack', nin = 'list', method = false, doc = 'tensors side by side', source = 'NumPy hstack' },
  { 'dstack', nin = 'list', method = false, doc = 'tensors stacked in depth', source = 'NumPy dstack' },
  { 'column_stack', nin = 'list', method = false, doc = 'vectors as columns', source = 'NumPy column_stack' },
  { 'block', nin = 'list', method = false, doc = 'a tensor from nested lists of blocks', source = 'NumPy block' },
  { 'split', nout = 'list', doc = 'equal pieces along an axis, or pieces that end at given positions',
    source = 'NumPy split' },
  { 'array_split', nout = 'list', doc = 'pieces along an axis, the first ones longer by one where they must',
    source = 'NumPy array_split' },
})
composed('mascon.array.shapes', ALL, {
  { 'swapaxes', doc = 'two axes exchanged', source = 'NumPy swapaxes' },
  { 'diagonal', method = false, doc = 'a diagonal of two axes as a view' },
  { 'trace', dtypes = NUM, tol = 'ACCUM', doc = 'sum of a diagonal' },
  { 'rot90', doc = 'quarter turns in the plane of two axes', source = 'NumPy rot90' },
  { 'argwhere', result = 'i64', rules = 'none: positions', doc = 'positions of the non-zero elements, one row for each',
    source = 'NumPy argwhere', work = 2.6 },
  { 'flatnonzero', result = 'i64', rules = 'none: positions', doc = 'flat positions of the non-zero elements',
    source = 'NumPy flatnonzero', work = 0.2 },
  { 'sliding_window_view', doc = 'windows sliding over one or several axes', source = 'NumPy sliding_window_view' },
})
composed('mascon.linalg.toeplitz', ALL, {
  { 'toeplitz', nin = 2, doc = 'matrix constant along diagonals', source = 'SciPy toeplitz', work = 2.2 },
  { 'hankel', nin = 2, doc = 'matrix constant along antidiagonals', source = 'SciPy hankel', work = 2.2 },
})
composed('mascon.array.matrices', ALL, {
  { 'eye', nin = 0, method = false, rules = 'none: constant', doc = 'ones on a diagonal, zeros elsewhere' },
  { 'tri', nin = 0, method = false, rules = 'none: constant', doc = 'ones at and below a diagonal',
    source = 'NumPy tri', work = 0.2 },
  { 'tril', doc = 'lower triangle, zeros above', work = 0.2 },
  { 'triu', doc = 'upper triangle, zeros below', work = 0.2 },
  { 'tril_indices', nin = 0, nout = 2, method = false, rules = 'none: positions', doc = 'positions of a lower triangle',
    source = 'NumPy tril_indices', work = 1.9 },
  { 'triu_indices', nin = 0, nout = 2, method = false, rules = 'none: positions',
    doc = 'positions of an upper triangle', source = 'NumPy triu_indices', work = 2.1 },
  { 'diag', doc = 'a vector as a diagonal, or a diagonal as a view', source = 'NumPy diag' },
  { 'diagflat', doc = 'all elements as a diagonal', source = 'NumPy diagflat' },
  { 'fill_diagonal_', doc = 'a diagonal set in place', source = 'NumPy fill_diagonal' },
  { 'vander', dtypes = NUM, tol = 'ACCUM', doc = 'powers in columns', source = 'NumPy vander', work = 2.1 },
})

-- ---------------------------------------------------------------- compositions: calculus, polynomials, grids
composed('mascon.signal.convolution', ALL, {
  { 'convolve', nin = 2, method = false, tol = 'ACCUM', doc = 'convolution of vectors',
    source = 'NumPy convolve', work = 3.9 },
  { 'correlate', nin = 2, method = false, tol = 'ACCUM', doc = 'correlation of vectors',
    source = 'NumPy correlate', work = 3.9 },
})
composed('mascon.array.polynomial', NUM, {
  { 'polyval', nin = 2, method = false, tol = 'ACCUM', doc = 'a polynomial at x',
    source = 'NumPy polyval', own_out = true },
  { 'polyadd', nin = 2, method = false, doc = 'sum of polynomials', source = 'NumPy polyadd' },
  { 'polysub', nin = 2, method = false, doc = 'difference of polynomials', source = 'NumPy polysub' },
  { 'polymul', nin = 2, method = false, tol = 'ACCUM', doc = 'product of polynomials',
    source = 'NumPy polymul', work = 2.4 },
  { 'polydiv', nin = 2, nout = 2, method = false, tol = 'ITERATIVE', doc = 'quotient and remainder of polynomials',
    source = 'NumPy polydiv', work = 347.8 },
  { 'polyder', method = false, tol = 'ULP4', doc = 'derivative of a polynomial', source = 'NumPy polyder', work = 1.1 },
  { 'polyint', method = false, tol = 'ULP4', doc = 'integral of a polynomial', source = 'NumPy polyint', work = 1.2 },
})
composed('mascon.linalg.polyfit', NUM, {
  { 'polyfit', nin = 2, method = false, tol = 'ITERATIVE', doc = 'polynomial that fits samples best',
    source = 'NumPy polyfit', work = 10.8 },
})
composed('mascon.array.polynomial', NUM, {
  { 'roots', method = false, tol = 'ITERATIVE', rules = 'none: an ordering of eigenvalues',
    doc = 'roots of a polynomial',
    source = 'NumPy roots; Polynomial roots from companion matrix eigenvalues, 1995', work = 131.9 },
  { 'poly', method = false, tol = 'ITERATIVE', doc = 'polynomial with given roots', source = 'NumPy poly', work = 1.7 },
  { 'chebval', nin = 2, method = false, tol = 'ACCUM', doc = 'Chebyshev series at x',
    source = 'NumPy chebval; A note on the summation of Chebyshev series, 1955', work = 3.1 },
  { 'legval', nin = 2, method = false, tol = 'ACCUM', doc = 'Legendre series at x',
    source = 'NumPy legval; A note on the summation of Chebyshev series, 1955', work = 9.1 },
  { 'hermval', nin = 2, method = false, tol = 'ACCUM', doc = 'series of Hermite polynomials of physics at x',
    source = 'NumPy hermval; A note on the summation of Chebyshev series, 1955', work = 3.1 },
  { 'hermeval', nin = 2, method = false, tol = 'ACCUM', doc = 'series of Hermite polynomials of probability at x',
    source = 'NumPy hermeval; A note on the summation of Chebyshev series, 1955', work = 2.1 },
  { 'lagval', nin = 2, method = false, tol = 'ACCUM', doc = 'Laguerre series at x',
    source = 'NumPy lagval; A note on the summation of Chebyshev series, 1955', work = 10.1 },
})
composed('mascon.fft.dct', FC, {
  { 'dctn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT',
    doc = 'cosine transforms over several axes', source = 'SciPy fft.dctn', work = 3.1 },
  { 'idctn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of dctn',
    source = 'SciPy fft.idctn', work = 3.1 },
  { 'dstn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT',
    doc = 'sine transforms over several axes', source = 'SciPy fft.dstn', work = 3.1 },
  { 'idstn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of dstn',
    source = 'SciPy fft.idstn', work = 3.1 },
})
composed('mascon.array.grid', ALL, {
  { 'meshgrid', nin = 'list', nout = 'list', method = false,
    doc = 'coordinates of a grid from one vector for each axis' },
  { 'mgrid', nin = 0, method = false, rules = 'none: constant', doc = 'coordinates of a grid of ranges',
    source = 'NumPy mgrid' },
  { 'indices', nin = 0, method = false, rules = 'none: positions', doc = 'positions along each axis of a shape',
    source = 'NumPy indices' },
  { 'unravel_index', nout = 'list', method = false, rules = 'none: positions',
    doc = 'flat positions as positions along each axis', source = 'NumPy unravel_index', work = 2.1 },
  { 'ravel_multi_index', nin = 'list', method = false, rules = 'none: positions',
    doc = 'positions along each axis as flat positions', source = 'NumPy ravel_multi_index', work = 2.1 },
  { 'logspace', nin = 0, method = false, tol = 'ULP4', rules = 'none: constant',
    doc = 'numbers even on a logarithmic scale, by exponents', source = 'NumPy logspace', work = 1.1 },
  { 'geomspace', nin = 0, method = false, tol = 'ULP4', rules = 'none: constant',
    doc = 'numbers even on a logarithmic scale, by ends', source = 'NumPy geomspace', work = 2.1 },
})
composed('mascon.interpolate', FLOAT, {
  { 'interp1d', nin = 3, promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM',
    doc = 'values between samples along one axis: steps, lines, splines', source = 'SciPy interp1d', work = 0.4 },
  { 'regular_grid', nin = 'list', promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM',
    doc = 'values between the points of a grid', source = 'SciPy RegularGridInterpolator', work = 29.2 },
})
composed('mascon.interpolate.spline', FLOAT, {
  { 'cubic_spline', nin = 2, promote = 'float', namespace = 'interpolate', method = false, tol = 'ITERATIVE',
    doc = 'cubic spline through samples', source = 'SciPy CubicSpline', work = 4.9 },
  { 'pchip', nin = 2, promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM',
    doc = 'cubic through samples without overshoot',
    source = 'Monotone piecewise cubic interpolation, 1980', work = 5.8 },
  { 'akima', nin = 2, promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM',
    doc = 'cubic through samples with local slopes',
    source = 'A new method of interpolation and smooth curve fitting based on local procedures, 1970', work = 5.2 },
})
composed('mascon.array.calculus', FC, {
  { 'diff', dtypes = ALL, doc = 'differences of neighbours, n times', source = 'Python array API standard 2024.12' },
  { 'ediff1d', dtypes = NUM, doc = 'differences of the flattened tensor', source = 'NumPy ediff1d' },
  { 'gradient', promote = 'float', nout = 'list', tol = 'ACCUM', doc = 'derivatives by differences',
    source = 'NumPy gradient' },
  { 'trapezoid', promote = 'float', tol = 'ACCUM', doc = 'integral by the trapezoidal rule',
    source = 'NumPy trapezoid' },
  { 'cumulative_trapezoid', promote = 'float', tol = 'ACCUM', doc = 'running integral by the trapezoidal rule',
    source = 'SciPy cumulative_trapezoid', work = 1.1 },
  { 'simpson', promote = 'float', tol = 'ACCUM', doc = "integral by Simpson's rule", source = 'SciPy simpson' },
  { 'cumulative_simpson', promote = 'float', tol = 'ACCUM', doc = 'running integral by parabolas',
    source = 'SciPy cumulative_simpson', work = 13.1 },
  { 'romb', promote = 'float', tol = 'ACCUM', doc = "integral by Romberg's method", source = 'SciPy romb' },
  { 'unwrap', dtypes = REAL, tol = 'ACCUM', doc = 'a phase made continuous', source = 'NumPy unwrap', work = 9.6 },
})
