-- linalg/init.lua - linear algebra on stacks of matrices, under the names of the array API, then those of SciPy and
-- NumPy.
--
-- Matrices stand in the last two axes, all axes before them are a batch and broadcast. f32, f64, c64, c128; integers
-- count as f64, f16 and bf16 are refused. LAPACK through OpenBLAS, one thread per matrix; small matrices of large
-- batches by kernels of our own. Rows of the op table plus what is composed from them.
--
-- Where this differs from the array API and from SciPy: two results are two values (q, r = qr(a)), three or more a
-- table with their names (svd(a).S); positions (lu_factor, qr with pivoting, ldl) count from 1, or from 0 with base =
-- 0; axes count from 1; lstsq always gives residuals; the number of a batch's first matrix without an answer stands
-- in the error.
--
-- Derivatives (mc.grad): all but ldl, hessenberg and schur. Of Hermitian operands, of which one triangle is read,
-- gradients are Hermitian. Losses should not depend on what is arbitrary: signs and phases of vectors, the choice
-- among vectors of equal values.
local op = require 'mascon.core.op'
local into = require 'mascon.core.into'
local M = {}

for name, row in pairs(op.rows) do
  if row.namespace == 'linalg' and op.functions[name] then
    M[name] = op.composed(row) or op.functions[name]
    for _, alias in ipairs(row.alias or {}) do M[alias] = M[name] end
  end
end

-- products and axes that live among mc's own names
for _, name in ipairs { 'matmul', 'matrix_transpose', 'tensordot', 'vecdot', 'outer', 'cross', 'diagonal', 'trace',
  'kron', 'toeplitz', 'hankel' } do
  M[name] = M[name] or op.functions[name]
end

return into.all('linalg.', M, op.functions)
