-- linalg.lua - linear algebra on stacks of matrices.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, STD, MATRIX, LAPACK, kernels = W.op, W.STD, W.MATRIX, W.LAPACK, W.kernels

-- ---------------------------------------------------------------- linear algebra
-- Operands are stacks of matrices in the last two axes. threads: of LAPACK within one large matrix (0: one; more gives
-- up equal bits).
local TRANS = { 'none', 'transpose', 'adjoint' }
local function linalg(name, nin, params, more)
  local p = { { 'threads', 'int', 0 } }
  for i, v in ipairs(params) do p[i + 1] = v end
  more[1], more.family, more.nin, more.params, more.dtypes, more.promote, more.namespace, more.method = name, 'linalg',
    nin, p, more.dtypes or MATRIX, 'float', 'linalg', false
  more.tol, more.rules, more.source = more.tol or 'ITERATIVE', more.rules or name, more.source or LAPACK
  more.variant = more.variant or name -- which factorisation
  op(more)
end
linalg('solve', 2, {}, {
  batch = 'system', doc = 'x with a x = b for square matrices a[..., n, n]; b is a vector [n] or matrices [..., n, '
    .. 'k]; LU with partial pivoting', source = STD, work = 1.1,
  example = "mc.linalg.solve({ { 2, 0 }, { 0, 4 } }, { 2, 4 })  --> f64[2]@cpu { 1, 1 }",
})
linalg('solve_triangular', 2,
  { { 'lower', 'bool', false }, { 'trans', TRANS, 'none' }, { 'unit_diagonal', 'bool', false } }, {
    batch = 'system',
    doc = 'x with a x = b, or with the transpose or adjoint of a, for triangular a; the other triangle is not read',
    work = 1.1, example = "mc.linalg.solve_triangular({ { 2, 1 }, { 0, 4 } }, { 4, 8 })  --> f64[2]@cpu { 1, 2 }",
  })
linalg('inv', 1, {}, { doc = 'inverse of square matrices', source = STD, work = 1,
  example = "mc.linalg.inv { { 1, 1 }, { 1, 2 } }  --> f64[2,2]@cpu { { 2, -1 }, { -1, 1 } }" })
linalg('det', 1, {}, { doc = 'determinant of square matrices', source = STD, work = 1.2,
  example = "mc.linalg.det { { 1, 2 }, { 3, 5 } }  --> f64[]@cpu -1" })
linalg('slogdet', 1, {}, {
  variant = 'det', nout = 2,
  doc = 'sign (a phase for complex matrices) and logarithm of the modulus of the determinant; 0 and -inf when singular',
  source = STD, work = 1.2, example = "mc.linalg.slogdet { { 0, 1 }, { 1, 0 } }  --> f64[]@cpu -1, f64[]@cpu 0",
})
linalg('lu_factor', 1, {}, {
  nout = 2, base = true,
  doc = 'L below and U on and above the diagonal of one matrix, and the exchanges of rows: row i with row piv[i]',
  work = 1.2,
  example = "mc.linalg.lu_factor { { 0, 1 }, { 2, 0 } }  --> f64[2,2]@cpu { { 2, 0 }, { 0, 1 } }, i64[2]@cpu { 2, 2 }",
})
linalg('lu_solve', 3, { { 'trans', TRANS, 'none' } }, {
  base = true, doc = 'x with a x = b from lu_solve(lu, b, piv), factors and exchanges as lu_factor gives them',
  work = 1.1, example = { "local lu, piv = mc.linalg.lu_factor { { 0, 1 }, { 2, 0 } }",
    "mc.linalg.lu_solve(lu, { 3, 4 }, piv)  --> f64[2]@cpu { 2, 3 }" },
})
linalg('lu', 1, {}, {
  nout = 3, results = { 'P', 'L', 'U' },
  doc = 'a = P L U: permutation, unit lower and upper trapezium, of matrices of any shape', work = 1.3,
  example = "mc.linalg.lu({ { 0, 1 }, { 2, 0 } }).P  --> f64[2,2]@cpu { { 0, 1 }, { 1, 0 } }",
})
linalg('cholesky', 1, { { 'upper', 'bool', false } }, {
  doc =
  'L with a = L L^H (or U with a = U^H U) of positive definite Hermitian matrices; only that triangle of a is read',
  source = STD, work = 1,
  example = "mc.linalg.cholesky { { 4, 2 }, { 2, 5 } }  --> f64[2,2]@cpu { { 2, 0 }, { 1, 2 } }",
})
linalg('ldl', 1, { { 'hermitian', 'bool', true } }, {
  rules = 'none: the blocks of D follow the values', nout = 3, base = true, results = { 'L', 'D', 'P' },
  doc = 'a = L D L^H of Hermitian, or a = L D L^T of symmetric matrices (hermitian = false), not definite; D has '
    .. 'blocks of 1 and 2 rows, the rows P of L are unit lower triangular; the lower triangle of a is read', work = 0.9,
  example = "mc.linalg.ldl({ { 4, 2 }, { 2, 5 } }).D  --> f64[2,2]@cpu { { 4, 0 }, { 0, 4 } }",
})
linalg('qr', 1, { { 'mode', { 'reduced', 'complete', 'r' }, 'reduced' }, { 'pivoting', 'bool', false } }, {
  nout = 'list', more = 'pivoting', fewer = { 'mode', 'r' }, base = true, results = { 'Q', 'R', 'P' },
  doc = 'a = Q R, Q with orthonormal columns, R upper triangular (mode r: R alone); pivoting: a table of Q, R, P '
    .. 'with the columns P of a in place of a, |R_ii| not growing', source = STD, work = 1,
  example = "mc.abs(mc.linalg.qr({ { 3, 1 }, { 4, 2 } }, { mode = 'r' }))  --> f64[2,2]@cpu { { 5.0000, 2.2000 }, { "
    .. "0.0000, 0.4000 } }",
})
linalg('svd', 1, { { 'full_matrices', 'bool', true } }, {
  nout = 3, results = { 'U', 'S', 'Vh' },
  doc = 'a = U diag(S) Vh, singular values falling; full_matrices = false keeps min(m, n) vectors', source = STD,
  work = 2.3, example = "mc.linalg.svd({ { 0, 2 }, { 3, 0 } }).S  --> f64[2]@cpu { 3, 2 }",
})
linalg('svdvals', 1, {}, { variant = 'svd', doc = 'singular values, falling', source = STD, work = 1.7,
  example = "mc.linalg.svdvals { { 3, 0 }, { 0, 0.5 } }  --> f64[2]@cpu { 3.0000, 0.5000 }" })
linalg('eigh', 1, { { 'upper', 'bool', false }, { 'kind', { 1, 2, 3 }, 1 }, { 'b', 'tensor' } }, {
  nout = 2, doc = 'eigenvalues (rising) and orthonormal eigenvectors (columns) of Hermitian matrices, of which one '
    .. 'triangle is read; with b (positive definite) of a v = w b v, kind 2: a b v = w v, kind 3: b a v = w v',
  source = STD, work = 3.3,
  example = "mc.linalg.eigh { { 3, 0 }, { 0, 3 } }  --> f64[2]@cpu { 3, 3 }, f64[2,2]@cpu { { 1, 0 }, { 0, 1 } }",
})
linalg('eigvalsh', 1, { { 'upper', 'bool', false }, { 'kind', { 1, 2, 3 }, 1 }, { 'b', 'tensor' } }, {
  variant = 'eigh', doc = 'eigenvalues (rising) of Hermitian matrices; options of eigh', source = STD, work = 1.4,
  example = "mc.linalg.eigvalsh { { 2, 1 }, { 1, 2 } }  --> f64[2]@cpu { 1, 3 }",
})
linalg('eig', 1, { { 'left', 'bool', false } }, {
  nout = 'list', more = 'left', results = { 'values', 'vectors', 'left' },
  doc = 'complex eigenvalues, in no order, and eigenvectors (columns of length 1) of square matrices; left: a '
    .. 'table of values, vectors and left, with columns u of length 1 for which u^H a = w u^H',
  source = 'NumPy linalg.eig', work = 3.3,
})
linalg('eigvals', 1, {}, {
  variant = 'eig', doc = 'complex eigenvalues of square matrices, in no order', source = 'NumPy linalg.eigvals',
  work = 1.4, example = "mc.linalg.eigvals { { 0, -1 }, { 1, 0 } }  --> c128[2]@cpu { 0+1i, 0-1i }",
})
linalg('hessenberg', 1, {}, { rules = 'none: a step on the way to eigenvalues; take those of eig', nout = 2,
  doc = 'H, zero below the first subdiagonal, and unitary Q with a = Q H Q^H', work = 1 })
linalg('solve_banded', 2, { { 'lower', 'int' }, { 'upper', 'int' } }, {
  doc = 'x with a x = b for banded a, whose diagonals are the rows of ab[..., lower + upper + 1, n]: a[i, j] stands in '
    .. 'ab[upper + 1 + i - j, j]', source = LAPACK .. ': gbsv, gtsv', work = 0.8,
})
linalg('solveh_banded', 2, { { 'lower', 'bool', false } }, {
  doc = 'x with a x = b for banded positive definite a, of which the diagonals on and above the main one (lower: '
    .. 'below) are the rows of ab, as in solve_banded', source = LAPACK .. ': pbsv', work = 0.8,
})
linalg('levinson', 3, {}, {
  internal = true, says = 'solve_toeplitz', operands = { 'c', 'r', 'b' },
  doc = 'x with T x = b, T Toeplitz with first column c and first row r', source =
  'The Wiener RMS error criterion in filter design and prediction, 1946; Matrix computations, 2013, section 4.7',
})
for _, r in ipairs {
  { 'schur_form', 1, { { 'still', 'bool', false }, { 'order', { 'none', 'lhp', 'rhp', 'iuc', 'ouc' }, 'none' } },
    'list', MATRIX, 'T and unitary Z with a = Z T Z^H; still: derivatives hold Z and let T be any matrix, for '
      .. 'functions of a; order: which eigenvalues come first, how many is a third result', 'schur' },
  { 'least_squares', 2, { { 'rcond', 'number', -1 } }, 3, MATRIX,
    'shortest x that minimises |a x - b|, rank, singular values', 'lstsq' },
  { 'sqrt_upper', 1, {}, 1, { 'c128' }, 'upper triangular square root of upper triangular matrices', 'sqrtm' },
  { 'log_upper', 1, {}, 1, { 'c128' }, 'logarithm of upper triangular matrices', 'logm' },
} do
  linalg(r[1], r[2], r[3], { nout = r[4], dtypes = r[5], internal = true, doc = r[6], says = r[7] })
end

-- ---------------------------------------------------------------- kernels and their other functions
kernels('small',
  { { 'small_solve', MATRIX }, { 'small_inv', MATRIX }, { 'small_lu', MATRIX }, { 'small_cholesky', MATRIX } })
kernels('levinson', { { 'levinson', { 'f64', 'c128' } } })
