-- convolution.lua - the three forms of a convolution as recorded ops, as layers and derivative rules call them.
--
-- y is a convolution of x with w; `conv` gives y, `conv_input` the gradient of x from y's and w, `conv_weight` that
-- of w from x and y's. One block of parameters serves all three. Axes: [convolutions of their own,] batch, channel,
-- one to three of places. Places of the block: runtime/family/mc_conv_sizes.c.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local op = require 'mascon.core.op'
local C = lib.C
local M = {}

local STRIDE, BEFORE, AFTER, DILATION = 1, 4, 7, 10
local GROUPS, MODE, BATCHED, SIZES, DIRECT = 13, 14, 15, 16, 19
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

--- The parameters of a geometry: lists stride, before, after, dilation and numbers groups, mode, `several` where
--- operands have a first axis of convolutions of their own, `direct` where sums are taken as they are written; sizes:
--- of x for conv_input, of the kernel for conv_weight.
local function block(geometry, sizes)
  local nd, P = #geometry.stride, lib.params()
  P.i[0] = nd
  for k = 1, nd do
    P.i[STRIDE + k - 1], P.i[DILATION + k - 1] = geometry.stride[k], geometry.dilation[k]
    P.i[BEFORE + k - 1], P.i[AFTER + k - 1] = geometry.before[k], geometry.after[k]
    P.i[SIZES + k - 1] = sizes and sizes[k] or 0
  end
  P.i[GROUPS], P.i[MODE], P.i[BATCHED] = geometry.groups, geometry.mode, geometry.several and 1 or 0
  P.i[DIRECT] = geometry.direct and 1 or 0
  return P
end

--- One of the forms, with a geometry and sizes as `block` takes them.
---@param name string
---@param fname string for messages
---@param a any
---@param b any
---@param geometry table
---@param sizes? integer[]
---@param level? integer
function M.form(name, fname, a, b, geometry, sizes, level)
  return op.run(fname, (level or 2) + 1, nil, 0, call[name], a, b, block(geometry, sizes))
end

local WAYS = { [0] = 'direct sums', 'products of matrices', "Winograd's tiles", 'Fourier transforms of tiles' }
local four = ffi.typeof 'int64_t[4]'

--- How the processor computes one of the forms for operands of such shapes and dtypes, and the bytes that it takes
--- beside them.
---@param name string
---@param a mascon.Tensor
---@param b mascon.Tensor
---@param geometry table, or a block of parameters
---@return string way in words
---@return number bytes
function M.way(name, a, b, geometry)
  local out, P = four(), type(geometry) == 'table' and block(geometry) or geometry
  lib.check(C.mc_conv_way(op.rows[name].id, P, a, b, out), 3)
  local words = WAYS[tonumber(out[0])]
  if out[1] > 0 then words = ('%s of %d x %d'):format(words, tonumber(out[1]), tonumber(out[2])) end
  return words, tonumber(out[3])
end

return M
