-- words.lua - the vocabulary of the rows: lists of dtypes, sources that are named often, and how a row is put into the
-- table.
local T = ...
local W = {}

--- Puts a row into the table.
function W.op(row) T.ops[#T.ops + 1] = row end
--- Kernels written by hand in kernels/cpu/<family>.c as mck_<name>_<dtype>, { name, dtypes } each; signature: of which
--- family. (Elementwise kernels are generated from expr under the op's name.)
function W.kernels(signature, list)
  for _, k in ipairs(list) do T.kernels[#T.kernels + 1] = { k[1], k[2], signature } end
end
--- Other functions of the kernels: one table entry for each level.
function W.functions(names)
  for name in names:gmatch '%S+' do T.functions[#T.functions + 1] = name end
end

function W.join(...)
  local out = {}
  for _, l in ipairs { ... } do for _, v in ipairs(l) do out[#out + 1] = v end end
  return out
end

--- Integer parameters that are 0 by default, by their names.
function W.ints(text)
  local out = {}
  for n in text:gmatch '%S+' do out[#out + 1] = { n, 'int', 0 } end
  return out
end

--- Rows of compositions that stand in one Lua module.
function W.composed(module, dtypes, list)
  for _, r in ipairs(list) do
    r.family, r.module, r.dtypes = 'lua', module, r.dtypes or dtypes
    r.tol, r.source, r.rules = r.tol or 'EXACT', r.source or W.STD, r.rules or 'auto'
    W.op(r)
  end
end

local join = W.join
W.BOOL, W.INT = { 'bool' }, { 'u8', 'i8', 'i16', 'i32', 'i64' }
W.FLOAT, W.CPLX = { 'f16', 'bf16', 'f32', 'f64' }, { 'c64', 'c128' }
W.REAL, W.FC, W.NUM = join(W.INT, W.FLOAT), join(W.FLOAT, W.CPLX), join(W.INT, W.FLOAT, W.CPLX)
W.ALL, W.ORD, W.IB = join(W.BOOL, W.NUM), join(W.BOOL, W.REAL), join(W.BOOL, W.INT)
-- what sums, and what comparisons are computed in
W.ACC, W.CMP = { 'i64', 'f32', 'f64', 'c64', 'c128' }, join(W.INT, { 'f32', 'f64' })
W.MATRIX, W.DRAWN = { 'f32', 'f64', 'c64', 'c128' }, { 'f64', 'f32' } -- of matrices, and of random numbers

W.AX = { { 'axis', 'axes' }, { 'keepdim', 'bool', false } } -- parameters of a reduction

W.STD = 'Python array API standard 2023.12'
W.LAPACK = "LAPACK Users' Guide, third edition, 1999"

-- ---------------------------------------------------------------- pieces of derivatives

W.NO_FORM = 'none: it has no closed form'
-- densities divide by what may be 0 at an end of the range; there a power says whether they are 0, finite or infinite
function W.gamma_slope(x)
  return (('(X == 0 ? pow(X == 0 ? X : 1, a - 1) : gamma_density(a, X) / (X == 0 ? 1 : X))'):gsub('X', x))
end
function W.beta_slope(x)
  local inside = '(X == 0 | X == 1 ? 0.5 : X)'
  return (('(X == 0 ? b * pow(X == 0 ? X : 1, a - 1) : X == 1 ? a * pow(X == 1 ? 1 - X : 1, b - 1) : beta_density(a, '
    .. 'b, I) / (I * (1 - I)))'):gsub('I', inside):gsub('X', x))
end

return W
