-- convolution.lua - the three forms of a convolution as recorded ops, as layers and derivative rules call them.
--
-- y is a convolution of x with w; `conv` gives y, `conv_input` the gradient of x from y's and w, `conv_weight` that
-- of w from x and y's. One block of parameters serves all three. Axes: [convolutions of their own,] batch, channel,
-- one to three of places. Places of the block: runtime/family/mc_conv_sizes.c.
local lib = require 'mascon.core.ffi'
local op = require 'mascon.core.op'
local M = {}

local STRIDE, BEFORE, AFTER, DILATION, GROUPS, MODE, BATCHED, SIZES = 1, 4, 7, 10, 13, 14, 15, 16
M.BATCHED, M.SIZES = BATCHED, SIZES

-- the modes of padding as pad numbers them, under the names of layers
M.MODES = {}
for name, mode in pairs { zeros = 'constant', replicate = 'edge', reflect = 'reflect', circular = 'wrap' } do
  for k, known in ipairs(op.rows.pad.modes) do if known == mode then M.MODES[name] = k - 1 end end
end

local call = {}
for _, name in ipairs { 'conv', 'conv_input', 'conv_weight' } do
  local id = op.rows[name].id
  call[name] = function(out, a, b, P) return lib.op_pair(id, out, a, b, P) end
end

--- One of the forms, with a geometry of lists stride, before, after, dilation and numbers groups, mode, and `several`
--- where operands have a first axis of convolutions of their own; sizes: of x for conv_input, of the kernel for
--- conv_weight.
---@param name string
---@param fname string for messages
---@param a any
---@param b any
---@param geometry table
---@param sizes? integer[]
---@param level? integer
function M.form(name, fname, a, b, geometry, sizes, level)
  local nd, P = #geometry.stride, lib.params()
  P.i[0] = nd
  for k = 1, nd do
    P.i[STRIDE + k - 1], P.i[DILATION + k - 1] = geometry.stride[k], geometry.dilation[k]
    P.i[BEFORE + k - 1], P.i[AFTER + k - 1] = geometry.before[k], geometry.after[k]
    P.i[SIZES + k - 1] = sizes and sizes[k] or 0
  end
  P.i[GROUPS], P.i[MODE], P.i[BATCHED] = geometry.groups, geometry.mode, geometry.several and 1 or 0
  return op.run(fname, (level or 2) + 1, nil, 0, call[name], a, b, P)
end

return M
