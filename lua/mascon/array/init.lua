-- array/init.lua - the functions of tensors in one table: what `mc` holds before anything that stands on arrays is
-- loaded.
--
-- Ops by name, makers of tensors, the markers of indices, constants; of the namespaces (linalg, fft, special ...) the
-- ops alone. What stands above this folder takes its `mc` from here, so that no file of the library needs the public
-- table.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local into = require 'mascon.core.into'
require 'mascon.core.guard'
require 'mascon.core.view'
require 'mascon.core.several'
local index = require 'mascon.core.index'
local create = require 'mascon.array.create'
local print_ = require 'mascon.core.print'
local select_ = require 'mascon.core.select'
local dlpack = require 'mascon.core.dlpack'
tensor.install()

local M = {}

local apart = {} -- functions of a namespace, under all their names
for name, row in pairs(op.rows) do
  if row.namespace and op.functions[name] then apart[op.functions[name]] = true end
end
for name, f in pairs(op.functions) do
  if not apart[f] then M[name] = f end
end
for _, from in ipairs { create, select_, dlpack } do
  for name, f in pairs(from) do M[name] = f end
end
M.from_table = nil
M.complex = into.wrap('complex', create.complex)
M.newaxis, M.ellipsis = index.newaxis, index.ellipsis
M.scope, M.keep, M.is_tensor = tensor.scope, tensor.keep, tensor.is
M.repr = print_.repr
M.pi, M.inf, M.nan, M.e = math.pi, math.huge, 0 / 0, math.exp(1)
M.none = tensor.none
for long, name in pairs(tensor.long_names) do
  if long:match '%d$' then M[long] = name end -- mc.float32 is 'f32'
end
M.bool, M['__array_namespace_info__'] = 'bool', M.namespace_info

-- mc.all is the index marker and, called, the reduction: both readings are in the contract
local all = op.functions.all
getmetatable(index.all).__call = function(_, ...) return all(...) end
M.all = index.all

for _, name in ipairs { 'reshape', 'permute_dims', 'moveaxis', 'broadcast_to', 'squeeze', 'expand_dims',
  'flip', 'copy' } do
  M[name] = into.wrap(name, function(x, ...) return tensor.methods[name](op.operand(name, x, 2), ...) end)
end


--- Namespaces whose ops stand here: linalg, fft, special and so on. Their other functions are in the folders of that
--- name.
M.spaces = {}
for name, row in pairs(op.rows) do
  if row.namespace and op.functions[name] then
    local space = M.spaces[row.namespace] or {}
    M.spaces[row.namespace], M[row.namespace] = space, space
    space[name] = op.functions[name]
    for _, alias in ipairs(row.alias or {}) do space[alias] = op.functions[name] end
  end
end

return M
