-- rules/init.lua - where transforms find what they need to know about an op.
--
-- Reverse rule of an op: rule(g, x, y, p) -> list of cotangents, one for each operand (nil: none). x: operands, y: results, p: parameters
-- (transform/params.lua), g: the cotangent of the result; for ops of several results a list of them (nil where nothing came back). A cotangent that is
-- costly may come as a function that makes it: it is called when it is needed. An
-- elementwise rule answers in the shape of the result; the caller sums over broadcast axes, and turns every cotangent into the dtype of its
-- operand. Cotangents of complex numbers are those of the inner product Re sum(conj(a) b): a holomorphic op multiplies by the conjugate of its
-- derivative, and gradients point uphill.
-- Forward rule: rule(t, x, y, p) -> list of tangents of the results; t: tangents of the operands (nil: zero). 'linear' stands for an op that is
-- linear in its one operand, 'multilinear' for one linear in each, 'elementwise' for one whose results depend on the same element of each
-- operand. Without a forward rule the reverse one is transposed.
-- Owns the order of looking up: name of the op, then the key its row carries. May not know graphs.
local op = require 'mascon.op'

local M = {}

local FILES = { 'elementwise', 'reduce', 'linear' }
local EWISE = { unary = true, binary = true, ternary = true, where = true }
local reverse, forward

local function load()
  reverse, forward = {}, {}
  for _, name in ipairs(FILES) do
    local file = require('mascon.rules.' .. name)
    for k, f in pairs(file.reverse) do reverse[k] = f end
    for k, f in pairs(file.forward or {}) do forward[k] = f end
  end
end

local function find(list, row)
  if not reverse then load() end
  list = list == 'reverse' and reverse or forward
  return list[row[1]] or list[row.rules or '']
end

--- Reverse rule of a row of the op table; else nil and why there is none.
---@return function? rule
---@return string? why
function M.reverse(row)
  local f = find('reverse', row)
  if f then return f end
  return nil, (row.rules or ''):match '^none: (.*)' or 'no rule is written for it'
end

--- Forward rule of a row: a function, 'linear', 'multilinear', 'elementwise', or nil.
function M.forward(row)
  local f = find('forward', row)
  if f then return f end
  if EWISE[row.family] then return 'elementwise' end
  return nil
end

--- Whether a row can be differentiated: true, or false and the reason. Compositions are as differentiable as their parts.
---@return boolean|string yes true, 'parts' for compositions, false
---@return string? why
function M.differentiable(row)
  if type(row) == 'string' then row = op.rows[row] end
  if row.family == 'lua' and not (row.rules or ''):match '^none' then return 'parts' end
  local f, why = M.reverse(row)
  return f ~= nil, why
end

return M
