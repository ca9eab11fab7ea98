-- patterns.lua - rows of ops that users have registered together with a function that does the same.
--
-- Holds the list and the checks of what is registered; passes/patterns.lua finds them in graphs.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local error = check.error
local M = {}

---@class mascon.Pattern
---@field name string
---@field ops table[] { name, at = place of the operand that the op before makes }
---@field replace function
---@field when? function
---@field check boolean

M.list = {} -- the longest first, of one length in the order of their registration
local order = 0

local OPTS = { when = { nil, 'function' }, check = { true, 'bool' } }

--- The row of a name that is another name of it, such as sigmoid of logistic.
local function renamed(name)
  for here, row in pairs(op.rows) do
    for _, alias in ipairs(row.alias or {}) do
      if alias == name then return here end
    end
  end
end

local function steps(fname, ops)
  check.arg(fname, 'ops', ops, 'table', 4)
  local out = {}
  for i, o in ipairs(ops) do
    local name, at = o, nil
    if type(o) == 'table' then name, at = o[1], o.at end
    if type(name) ~= 'string' or not op.rows[name] then
      local near = type(name) == 'string' and (renamed(name) or check.nearest(name, op.rows))
      error(('%s: op %d is %s, which is no row of the op table%s'):format(fname, i, check.show(name),
        near and ('; did you mean %s?'):format(near) or '; f:graph() prints their names'), 3)
    end
    if at ~= nil then check.arg(fname, ('at of op %d'):format(i), at, 'integer >= 1', 4) end
    out[i] = { name, at = at }
  end
  if #out == 0 then error(fname .. ': ops is empty; name one op at least', 3) end
  return out
end

--- Registers a row of ops and what takes its place in compiled functions.
---@param name string a new one takes the place of an old one of that name
---@param ops table
---@param replace function
---@param opts? table when, check
---@return function remove
function M.register(fname, name, ops, replace, opts)
  check.arg(fname, 'name', name, 'string', 3)
  local list = steps(fname, ops)
  check.arg(fname, 'replace', replace, 'function', 3)
  local o = check.opts(fname, opts, OPTS, 3)
  order = order + 1
  local p = { name = name, ops = list, replace = replace, when = o.when, check = o.check, order = order }
  local function remove()
    for i, q in ipairs(M.list) do if q == p then table.remove(M.list, i) end end
  end
  for i = #M.list, 1, -1 do if M.list[i].name == name then table.remove(M.list, i) end end
  table.insert(M.list, p)
  table.sort(M.list, function(a, b)
    if #a.ops ~= #b.ops then return #a.ops > #b.ops end
    return a.order < b.order
  end)
  return remove
end

return M
