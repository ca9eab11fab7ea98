-- operators.lua - the operators of the scalar language: the op of each, and what it makes of two numbers.
--
-- The ops come from the formulas of their rows (runtime/ops/ops.lua: operator). In conditions, & | ^ and ~ are those of
-- truth values.
local gen = require 'mascon.core.ffi'.gen

local M = { arithmetic = {}, conditions = {} }

for _, row in ipairs(gen.ops) do
  local to = row.promote == 'bool' and M.conditions or M.arithmetic
  if row.operator then to[row.operator] = row[1] end
end
for sign, name in pairs(M.arithmetic) do M.conditions[sign] = M.conditions[sign] or name end

M.fold = {
  ['+'] = function(a, b) return a + b end, ['-'] = function(a, b) return a - b end,
  ['*'] = function(a, b) return a * b end, ['/'] = function(a, b) return a / b end,
}
M.compare = {
  ['<'] = function(a, b) return a < b end, ['<='] = function(a, b) return a <= b end,
  ['>'] = function(a, b) return a > b end, ['>='] = function(a, b) return a >= b end,
  ['=='] = function(a, b) return a == b end, ['!='] = function(a, b) return a ~= b end,
}

return M
