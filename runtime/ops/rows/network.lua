-- network.lua - layers of networks: convolution and its derivatives.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, composed, FLOAT, kernels, functions = W.op, W.composed, W.FLOAT, W.kernels, W.functions

-- ---------------------------------------------------------------- convolution
local DUMOULIN = 'A guide to convolution arithmetic for deep learning, 2016'
for _, r in ipairs {
  { 'conv', 'sums over channels and taps of a kernel that slides over the places of x' },
    { 'conv_input', 'gradient of the operand of a convolution; a transposed convolution' },
  { 'conv_weight', 'gradient of the kernel of a convolution' },
} do
  op { r[1], family = 'conv', internal = true, nin = 2, dtypes = FLOAT, promote = 'float', method = false,
    tol = 'ACCUM', rules = r[1], doc = r[2], source = DUMOULIN }
end

local list = {}
for d = 1, 3 do
  list[#list + 1] = { 'conv' .. d .. 'd', doc = ('convolution over %d %s: cross-correlation with a kernel'):format(d,
    d == 1 and 'axis' or 'axes'), source = 'PyTorch nn.functional.conv' .. d .. 'd; ' .. DUMOULIN }
  list[#list + 1] = { 'conv_transpose' .. d .. 'd', doc = ('transposed convolution over %d %s'):format(d,
    d == 1 and 'axis' or 'axes'), source = 'PyTorch nn.functional.conv_transpose' .. d .. 'd; ' .. DUMOULIN }
end
for _, r in ipairs(list) do r.nin, r.namespace, r.method, r.tol, r.promote = 2, 'nn', false, 'ACCUM', 'float' end
composed('mascon.nn.convolution', FLOAT, list)

-- ---------------------------------------------------------------- kernels
kernels('conv', { { 'conv_rows', { 'f32', 'f64' } }, { 'conv_dots', { 'f32', 'f64' } } })
functions 'conv_copy_f32 conv_copy_f64 conv_fold_f32 conv_fold_f64'
