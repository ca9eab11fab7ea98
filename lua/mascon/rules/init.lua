-- rules/init.lua - where transforms find what they need to know about an op.
--
-- Reverse rule of an op: rule(g, x, y, p) -> list of cotangents, one for each operand (nil: none). x: operands, y:
-- results, p: parameters (transform/params.lua), g: the cotangent of the result; for ops of several results a list of
-- them (nil where nothing came back). A cotangent that is costly may come as a function that makes it: it is called
-- when it is needed. An elementwise rule answers in the shape of the result; the caller sums over broadcast axes, and
-- turns every cotangent into the dtype of its operand. Cotangents of complex numbers are those of the inner product Re
-- sum(conj(a) b): a holomorphic op multiplies by the conjugate of its derivative, and gradients point uphill.
-- Elementwise rows have their derivative as formulas (rules/formula.lua); the rest stands in the files of this folder,
-- by name or by the key of the row. Rows that are 'none: piecewise constant' have the derivative zero. A file's
-- `without` names operands that have no derivative: { op = { [operand] = why } }. Forward rule: rule(t, x, y, p) ->
-- list of tangents of the results; t: tangents of the operands (nil: zero). 'linear' stands for an op that is linear in
-- its one operand, 'multilinear' for one linear in each, 'elementwise' for one whose results depend on the same element
-- of each operand. Without a forward rule the reverse one is transposed. Decides the order of looking up: name of the
-- op, then the key its row carries.
local op = require 'mascon.core.op'
local formula = require 'mascon.rules.formula'

local M = {}

local FILES = {
  'linear', 'elementwise', 'reduce', 'scan', 'order', 'gather', 'layout', 'fourier', 'linalg', 'factor', 'spectral',
  'filter', 'interpolate', 'random', 'convolution',
}
local EWISE = require('mascon.core.ffi').gen.elementwise
-- Where the rules of a family stand; every file for the others. A rule stands in one file only, that of a name with
-- that of the key it goes before.
local HOME = { unary = { 'elementwise' }, where = { 'elementwise' }, matmul = { 'linear' }, reduce = { 'reduce' },
  softmax = { 'reduce' }, dot = { 'reduce' },
  gather = { 'gather' }, segment = { 'gather' }, layout = { 'layout' }, pad = { 'layout' }, scan = { 'scan' },
  conv = { 'convolution' }, sort = { 'order' }, select = { 'order' } }
HOME.binary, HOME.ternary = HOME.unary, HOME.unary

local function nothing() return {} end

--- The rule of a row in one of three lists: reverse, forward, without. Files are read when they are asked.
local function find(list, row)
  if type(row.rules) == 'table' then return row.rules[list] end -- a row that came along with a workflow
  for _, name in ipairs(HOME[row.family] or FILES) do
    local rules = require('mascon.rules.' .. name)[list] or {}
    local f = rules[row[1]] or list ~= 'without' and rules[row.rules or '']
    if f then return f end
  end
end

--- Reverse rule of a row of the op table; else nil and why there is none.
---@return function? rule
---@return string? why
function M.reverse(row)
  local why
  if type(row.rules) == 'string' then why = row.rules:match '^none: (.*)' elseif row.rules then why = row.rules.none end
  local f = not why
    and (row.rules ~= 'auto' and find('reverse', row) or row.d and formula.rule(row) or find('reverse', row))
  if f then return f end
  if why == 'piecewise constant' then return nothing end
  return nil, why or 'no rule is written for it'
end

--- Why operand i of a row has no derivative, nil when it has one.
---@param row table
---@param i integer
---@return string? why
function M.without(row, i)
  local list = find('without', row)
  if list then return list[i] end
  return formula.without(row, i)
end

--- What the answer of a reverse rule holds for operand i, which needs it: a tensor, or nil for zero.
---@param row table
---@param back table what the rule returned
---@param i integer
---@return any? cotangent
function M.cotangent(row, back, i)
  local c = back[i]
  if not c then
    local why = M.without(row, i)
    if why then
      error(('%s: no derivative with respect to operand %d: %s; give it a constant there (a number, or a tensor that '
        .. 'the function captures)'):format(row[1], i, why), 0)
    end
  end
  if type(c) == 'function' then return c() end
  return c or nil
end

M.FILES, M.HOME = FILES, HOME

--- Forward rule of a row: a function, 'linear', 'multilinear', 'elementwise', or nil.
function M.forward(row)
  local f = find('forward', row)
  if f then return f end
  if EWISE[row.family] then return 'elementwise' end
  return nil
end

--- Names under which rules stand, sorted: of ops, or of what their rows name.
function M.names()
  local set, out = {}, {}
  for _, name in ipairs(FILES) do
    local file = require('mascon.rules.' .. name)
    for _, list in ipairs { 'reverse', 'forward', 'without' } do
      for k in pairs(file[list] or {}) do set[k] = true end
    end
  end
  for k in pairs(set) do out[#out + 1] = k end
  table.sort(out)
  return out
end

--- Whether a row can be differentiated: true, or false and the reason. Compositions are as differentiable as their
--- parts.
---@return boolean|string yes true, 'parts' for compositions, 'zero' for piecewise constant ops, false
---@return string? why with true: which operands have no derivative
function M.differentiable(row)
  if type(row) == 'string' then row = op.rows[row] end
  if row.family == 'lua' and not (row.rules or ''):match '^none' then return 'parts' end
  local f, why = M.reverse(row)
  if f == nothing or f and row.d and row.rules == 'auto' and formula.zero(row) then return 'zero' end
  if not f then return false, why end
  local places = {}
  for i = 1, 4 do if M.without(row, i) then places[#places + 1] = i end end
  return true, #places > 0 and 'not in operand ' .. table.concat(places, ', ') or nil
end

return M
