-- product.lua - products and transforms.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, FC, ALL, STD, kernels, functions, ACC = W.op, W.FC, W.ALL, W.STD, W.kernels, W.functions, W.ACC

-- ---------------------------------------------------------------- products
op {
  'matmul', family = 'matmul', mixed = 'low', dtypes = ALL, tol = 'ACCUM', rules = 'matmul',
  doc = 'matrix product over the last two axes, batched over the others; 1-D operands as vectors', source = STD,
  work = 1.3, example = "mc.matmul(mc.tensor{{1, 2}, {3, 4}}, mc.tensor{1, 1})  --> f64[2]@cpu { 3, 7 }",
}
op {
  'cross_product', family = 'cross', internal = true, says = 'cross', nin = 2,
  dtypes = { 'f32', 'f64' }, method = false, tol = 'EXACT', rules = 'none: cross takes it where nothing is recorded',
  doc = 'vector products along the last axis', source = STD,
}
op {
  'vecdot', family = 'dot', mixed = 'low', module = 'mascon.array.products', nin = 2, dtypes = ALL, tol = 'ACCUM',
  rules = 'auto', doc = 'sum of conj(a) b along one axis, batched over the others', source = STD, own_out = true,
}

-- ---------------------------------------------------------------- transforms
local FP = { { 'n', 'int', -1 }, { 'axis', 'axis', -1 }, { 'norm', { 'backward', 'ortho', 'forward' }, 'backward' } }
for _, r in ipairs {
  { 'fft', 'discrete Fourier transform X_k = sum_t x_t exp(-2 pi i k t / n)', work = 3.2 },
  { 'ifft', 'inverse of fft, scaled by 1/n', work = 3.2 },
  { 'rfft', 'transform of a real signal, bins 0..n/2', work = 3.4,
    example = "mc.fft.rfft(mc.tensor{1, 1, 1, 1})  --> c128[3]@cpu { 4+0i, 0+0i, 0+0i }" },
  { 'irfft', 'inverse of rfft; n is 2 (bins - 1) by default', work = 3.2 },
} do
  op {
    r[1], family = 'fft', variant = r[1], dtypes = { 'f32', 'f64', 'c64', 'c128' }, promote = 'float', params = FP,
    tol = 'FFT', rules = r[1], namespace = 'fft', method = false, work = r.work, example = r.example,
    doc = r[2], source = STD,
  }
end

for _, r in ipairs {
  { 'dct', 'discrete cosine transform, types 1 to 4', work = 1.2 }, { 'idct', 'inverse of dct', work = 1.2 },
  { 'dst', 'discrete sine transform, types 1 to 4' }, { 'idst', 'inverse of dst' },
} do
  op {
    r[1], family = 'dct', variant = r[1], own_out = true, module = 'mascon.fft.dct', nin = 1, dtypes = FC,
    promote = 'float', tol = 'FFT', rules = r[1], namespace = 'fft', method = false, work = r.work, example = r.example,
    doc = r[2], source = 'SciPy fft.' .. r[1] .. '; A fast cosine transform in one and two dimensions, 1980',
  }
end

-- ---------------------------------------------------------------- kernels and their other functions
kernels('matmul', { { 'matmul', ACC } })
kernels('dot', { { 'vecdot', ACC }, { 'cross_product', { 'f32', 'f64' } } })
functions('dct_table dct_before_f32 dct_before_f64 dct_after_f32 dct_after_f64 fft_table_bytes fft_table fft_work '
  .. 'fft_f32 fft_f64 matmul_few_f32 matmul_turn_f32')
