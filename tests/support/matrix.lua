-- matrix.lua - what the tests of the op matrix share: shapes, layouts, operands, comparisons.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local ref, sample, tol = support.load 'reference', support.load 'sample', support.load 'tol'
local read, KIND = sample.read, sample.kind

local M = {}

M.SHAPES = { {}, { 0 }, { 0, 3 }, { 1 }, { 7 }, { 8 }, { 9 }, { 1023 }, { 3, 5 }, { 2, 3, 4 } }
M.LAYOUTS = sample.layouts
if support.gc then M.SHAPES, M.LAYOUTS = { {}, { 0, 3 }, { 2, 3 } }, { 'contiguous', 'strided', 'broadcast' } end
M.RSHAPES = { {}, { 0 }, { 1 }, { 7 }, { 8 }, { 9 }, { 1023 }, { 3, 5 }, { 2, 3, 4 }, { 0, 3 }, { 70, 9 } }
if support.gc then M.RSHAPES = { {}, { 0, 3 }, { 2, 3, 4 } } end

-- operands are shared by all ops of a level and dropped at the end of the file
local store = {}
function M.operand(shape, dtype, layout, seed, style)
  local key = table.concat({ table.concat(shape, ','), dtype, layout, seed, style }, '|')
  local have = store[key]
  if not have then
    local t = sample.make(shape, dtype, layout, seed, style)
    have = { t = t, list = read(t), shape = shape, dtype = dtype, layout = layout }
    store[key] = have
  end
  return have
end

--- Lets go of the operands.
function M.forget() store = {} end

-- What definitions say of the cases of a row. Every level meets the same cases in the same order, so that they are
-- asked once for all levels.
local answers, at = {}, 0
--- Another level begins with the row.
function M.again() at = 0 end
--- Another row follows.
function M.next_row() answers, at = {}, 0 end
--- What f() gives for the next case, which `what` names: computed at the first level.
function M.once(what, f)
  at = at + 1
  local a = answers[at]
  if not a then
    a = { what = what, says = f() }
    answers[at] = a
  elseif a.what ~= what then
    error(('case %d is %s here and %s at another level'):format(at, what, a.what), 0)
  end
  return a.says
end

-- values as a dtype sees them, for integers and booleans that an op takes as floats or booleans
function M.convert(list, from, to)
  if from == to then return list end
  local out, k = {}, KIND[to]
  for i = 1, #list do
    local v = list[i]
    if k == 'b' then out[i] = ref.nonzero(v)
    elseif type(v) == 'boolean' then out[i] = v and 1 or 0
    else out[i] = tonumber(v) end
  end
  return out
end

-- a result tensor with guard elements on both sides of the view
function M.given(shape, dtype, strided)
  local nd = #shape
  if nd == 0 then return mc.zeros({}, { dtype = dtype }) end
  local s, key = {}, {}
  for i = 1, nd do s[i], key[i] = shape[i], mc.all end
  if strided then s[nd], key[nd] = 2 * shape[nd] + 1, { 2, 2 * shape[nd], 2 }
  else s[nd], key[nd] = shape[nd] + 2, { 2, shape[nd] + 1 } end
  local base = mc.zeros(s, { dtype = dtype })
  return base[key], base
end

function M.all_axes(nd)
  local s = {}
  for i = 1, nd do s[i] = true end
  return s
end

function M.compare(row, dtype, got, want, more, what)
  local class = KIND[dtype] == 'f' and row.tol or KIND[dtype] == 'c' and (row.ctol or row.tol) or 'EXACT'
  local wrong = tol.compare(class, dtype, got, want, more)
  if wrong then error(('%s %s: %s'):format(row[1], what, wrong), 0) end
end

function M.equal_lists(name, dtype, got, want)
  assert(#got == #want, ('%s %s: %d elements, want %d'):format(name, dtype, #got, #want))
  for i = 1, #want do
    local wrong = tol.compare('EXACT', dtype, got[i], want[i])
    if wrong then error(('%s %s: element %d: %s'):format(name, dtype, i, wrong), 0) end
  end
end

return M
