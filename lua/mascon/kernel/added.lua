-- added.lua - rows that kernels of one's own add to the op table.
--
-- A row stays until the program ends, so kernels of equal text and dtypes are one op.
local op = require 'mascon.core.op'

local M = {}

local rows = {}

--- A name that no op has yet.
local function free_name(name)
  local free, count = name, 1
  while op.rows[free] do
    count = count + 1
    free = ('%s #%d'):format(name, count)
  end
  return free
end

--- The row under this key; else a new one. make(name) -> the number of its op, or nil and why there is none.
---@param key string text and dtypes of the kernel
---@param row table fields of the row, its name first
---@param make fun(name: string): integer?, string?
---@return table? row
---@return string? why
function M.row(key, row, make)
  if rows[key] then return rows[key] end
  local name = free_name(row[1])
  local id, why = make(name)
  if not id then return nil, why end
  row[1], row.id, row.family, row.method, row.internal = name, id, 'native', false, true
  op.define(row)
  rows[key] = row
  return row
end

--- dtype and sizes of a tensor in messages.
function M.shown(x)
  local sizes = {}
  for i = 1, x.ndim do sizes[i] = tostring(x.shape[i]) end
  return ('%s[%s]'):format(x.dtype, table.concat(sizes, ','))
end

return M
