-- silent.lua - rows of a result that have no coupling to speak of, and why, in words.
--
-- A row is silent where every pair of it has a status that leaves no z: samples that are NaN or infinite, an amplitude
-- of zero (a flat channel), surrogates that are all equal.
local mc = require 'mascon'
local M = {}

--- Why a row with NaN or infinite samples is silent.
M.NAN = 'NaN or infinite samples'

local CAUSES = { { 4, M.NAN }, { 2, 'flat' }, { 8, 'surrogates that are all equal' } }

--- Silent rows of a status: a list of { row (from 1), why }.
---@param status any i32 [..., P, A]
---@return table[]
function M.rows(status)
  local cells = status.shape[status.ndim] * status.shape[status.ndim - 1]
  local flat, seen, out = status:reshape(-1, cells), {}, {}
  for _, cause in ipairs(CAUSES) do
    local all = mc.all(mc.ne(mc.bitwise_and(flat, cause[1]), 0), 2)
    for _, i in ipairs(mc.nonzero(all):reshape(-1):totable()) do
      if not seen[i] then
        seen[i] = true
        out[#out + 1] = { row = i, why = cause[2] }
      end
    end
  end
  table.sort(out, function(a, b) return a.row < b.row end)
  return out
end

--- A sentence on them.
---@param rows table[] of M.rows
---@param total integer rows there are
---@param what string what a row is: 'row', 'channel'
---@param name fun(row: integer): string
---@return string|nil
function M.sentence(rows, total, what, name)
  if #rows == 0 then return nil end
  local list = {}
  for i = 1, math.min(#rows, 12) do list[i] = ('%s (%s)'):format(name(rows[i].row), rows[i].why) end
  if #rows > 12 then list[#list + 1] = ('%d more'):format(#rows - 12) end
  local one = #rows == 1
  return ('%d of %d %ss %s no z%s: %s'):format(#rows, total, what, one and 'has' or 'have', what == 'row' and ''
    or (' and %s no part in means over %ss'):format(one and 'takes' or 'take', what), table.concat(list, ', '))
end

return M
