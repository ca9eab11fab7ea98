-- ternary.lua - elementwise ops of three operands.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, FLOAT, FC, ALL, ORD, STD, NO_FORM, beta_slope = W.op, W.FLOAT, W.FC, W.ALL, W.ORD, W.STD,
  W.NO_FORM, W.beta_slope

-- ---------------------------------------------------------------- elementwise, three operands
op {
  'clip', family = 'ternary', dtypes = ORD, expr = 'minimum(maximum(a, b), c)', without = { 'minimum', 'maximum' },
  tol = 'EXACT',
  doc = 'a limited to [b, c], also given as { min =, max = }; a bound that is nil does not limit; NaN stays',
  source = STD, example = "mc.clip(mc.tensor{-1, 0.5, 3}, 0, 1)  --> f64[3]@cpu { 0.0000, 0.5000, 1.0000 }",
  rules = 'auto', d = { 'a >= b & a <= c ? 1 : 0', 'a < b & b <= c ? 1 : 0', 'a > c | b > c ? 1 : 0' },
}
op {
  'where', family = 'where', dtypes = ALL, expr = 'a ? b : c', tol = 'EXACT', rules = 'auto', method = false,
  doc = 'b where the condition a holds, else c', source = STD,
  example = "mc.where(mc.tensor{true, false}, 1, 2)  --> f64[2]@cpu { 1, 2 }",
}
op {
  'fma', family = 'ternary', header = 'class', light = true, dtypes = FLOAT, promote = 'float', expr = 'fma(a, b, c)',
  tol = 'EXACT', doc = 'a b + c, rounded once where the machine has it (v3, v4)', source = 'IEEE 754-2019 5.4.1',
  rules = 'auto', d = { 'b', 'a', '1' },
}
op {
  'betainc', family = 'ternary', kernels = 'special', dtypes = FLOAT, promote = 'float', expr = 'betainc(a, b, c)',
  method = false, tol = 'ITERATIVE', doc = 'regularised incomplete beta function I_c(a, b), a, b > 0, c in [0, 1]',
  source = 'DLMF 8.17', rules = 'auto', d = { NO_FORM, NO_FORM, beta_slope 'c' },
}
op { 'lerp', family = 'ternary', dtypes = FC, promote = 'float', expr = 'a + c * (b - a)', tol = 'ULP4', rules = 'auto',
  doc = 'a + c (b - a)', source = 'definition' }
