-- nn/init.lua - functions of networks under PyTorch's names.
local op = require 'mascon.core.op'
local M = {}

for name, row in pairs(op.rows) do
  if row.namespace == 'nn' then
    M[name] = op.functions[name]
    for _, alias in ipairs(row.alias or {}) do M[alias] = op.functions[name] end
  end
end

return M
