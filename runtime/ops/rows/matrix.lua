-- matrix.lua - compositions: linear algebra.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local composed, MATRIX, LAPACK = W.composed, W.MATRIX, W.LAPACK

-- ---------------------------------------------------------------- compositions: linear algebra
local function matrices(module, list)
  for _, r in ipairs(list) do r.namespace, r.method, r.tol = 'linalg', false, r.tol or 'ITERATIVE' end
  composed('mascon.linalg.' .. module, MATRIX, list)
end
local HIGHAM = 'Functions of matrices, 2008'
matrices('systems', {
  { 'lstsq', nin = 2, doc = 'x that minimises |a x - b|, the shortest of them: a table of x, residuals, rank, S',
    source = LAPACK, work = 3.2 },
  { 'pinv', doc = 'Moore-Penrose inverse from singular values above rtol times the largest', work = 5.6 },
  { 'cholesky_solve', nin = 2, doc = 'x with a x = b from the Cholesky factor of a', source = LAPACK, work = 1.9 },
  { 'null_space', doc = 'orthonormal columns that a maps to 0', source = 'SciPy linalg.null_space', work = 6.6 },
  { 'orth', doc = 'orthonormal columns that span the columns of a', source = 'SciPy linalg.orth', work = 5.6 },
  { 'multi_dot', nin = 'list', doc = 'product of a chain of matrices in the cheapest order',
    source = 'Introduction to algorithms, third edition, 2009, section 15.2', work = 0.4 },
})
matrices('banded', {
  { 'solve_tridiagonal', nin = 4, doc = 'x with a x = b for tridiagonal a from its three diagonals',
    source = LAPACK .. ': gtsv', work = 1.6 },
})
matrices('toeplitz', {
  { 'circulant', tol = 'EXACT', doc = 'the matrix whose columns are c moved round',
    source = 'SciPy linalg.circulant', work = 3.2 },
  { 'solve_toeplitz', nin = 2, doc = 'x with T x = b, T Toeplitz, in n^2 steps',
    source = 'Matrix computations, 2013, section 4.7', work = 4.7 },
  { 'solve_circulant', nin = 2, doc = 'x with C x = b, C circulant, by transforms',
    source = 'Matrix computations, 2013, section 4.8', work = 34.6 },
  { 'matmul_toeplitz', nin = 2, doc = 'T x, T Toeplitz, by transforms',
    source = 'Matrix computations, 2013, section 4.8', work = 42.9 },
})
matrices('iterative', {
  { 'cg', nin = 2, doc = 'x with A x = b for positive definite A, by conjugate gradients',
    source = 'Methods of conjugate gradients for solving linear systems, 1952' },
  { 'bicgstab', nin = 2, doc = 'x with A x = b, by stabilised biconjugate gradients',
    source = 'Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG, 1992' },
})
matrices('gmres', {
  { 'gmres', nin = 2, doc = 'x with A x = b, by generalised minimal residuals',
    source = 'GMRES: a generalized minimal residual algorithm, 1986', work = 0.4 },
})
matrices('lsqr', {
  { 'lsqr', nin = 2, doc = 'x that minimises |b - A x|, by bidiagonalisation',
    source = 'LSQR: an algorithm for sparse linear equations and sparse least squares, 1982', work = 0.4 },
})
matrices('lanczos', {
  { 'eigsh', rules = 'none: stops by the data', doc = 'some extreme eigenvalues and eigenvectors of a Hermitian matrix',
    source = 'Thick-restart Lanczos method for large symmetric eigenvalue problems, 2000', work = 4.6 },
})
matrices('norms', {
  { 'matrix_norm', doc = 'norm of matrices: fro, nuc, 1, -1, 2, -2, inf, -inf', work = 3 },
  { 'vector_norm', doc = 'norm of order ord over one axis, several or all', work = 3 },
  { 'norm', doc = 'vector_norm or matrix_norm, by the axes', source = 'NumPy linalg.norm', work = 3 },
  { 'cond', doc = 'condition number in the norm p', source = 'NumPy linalg.cond', work = 1.7 },
  { 'matrix_rank', rules = 'none: counts', doc = 'number of singular values above rtol times the largest', work = 1.7 },
})
matrices('functions', {
  { 'schur', rules = 'none: the triangle and its basis are not unique',
    doc = 'T and unitary Z with a = Z T Z^H; output real or complex', source = LAPACK, work = 1.3 },
  { 'matrix_power', doc = 'a multiplied by itself n times; the inverse for negative n', work = 2 },
  { 'logm', doc = 'principal logarithm of square matrices', source = HIGHAM .. ', algorithm 11.9', work = 36.1 },
  { 'sqrtm', doc = 'principal square root of square matrices', source = HIGHAM .. ', algorithm 6.3', work = 36.1 },
  { 'funm', doc = 'a function of Hermitian matrices, given as a function of their eigenvalues',
    source = HIGHAM .. ', section 4.5', work = 3.3 },
  { 'polar', doc = 'unitary u and positive semidefinite p with a = u p, or a = p u',
    source = HIGHAM .. ', section 8.1', work = 2.5 },
})

matrices('exponential', {
  { 'expm', doc = 'exponential of square matrices',
    source = 'The scaling and squaring method for the matrix exponential revisited, 2005', work = 24 },
})
