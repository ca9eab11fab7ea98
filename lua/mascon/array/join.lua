-- join.lua - tensors put together and taken apart: stacks in rows, columns and depth, blocks, pieces.
--
-- Names of NumPy over the ops concat and stack; pieces are views.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local index = require 'mascon.core.index'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- The operands of f{ a, b } or f(a, b) as tensors.
local function list_of(fname, ...)
  local first = ...
  local given = { ... }
  if select('#', ...) == 1 and type(first) == 'table' then given = first end
  local out = {}
  for i = 1, #given do out[i] = op.operand(fname, given[i], 3) end
  if #out == 0 then error(fname .. ': the list is empty; give at least one tensor', 3) end
  return out
end

local function atleast(fname, n, place)
  return function(...)
    local out = {}
    for k = 1, select('#', ...) do
      local t = op.operand(fname, (select(k, ...)), 2)
      if t._flags == 256 then t._flags = 0 end -- a plain number becomes a tensor like any other
      if t.ndim < n then t = methods.reshape(t, place(t.shape)) end
      out[k] = t
    end
    return unpack(out)
  end
end
--- Operands with at least one axis: a number becomes [1].
---@param ... any tensors or numbers
---@return any ... one for each; views
--- Source: NumPy atleast_1d.
---     mc.atleast_1d(5)  --> f64[1]@cpu { 5 }
M.atleast_1d = atleast('atleast_1d', 1, function() return { 1 } end)
--- Operands with at least two axes: [n] becomes [1, n].
---@param ... any tensors or numbers
---@return any ... one for each; views
--- Source: NumPy atleast_2d.
---     mc.atleast_2d(mc.tensor{ 1, 2, 3 }).shape[1]  --> 1
M.atleast_2d = atleast('atleast_2d', 2, function(s) return { 1, s[1] or 1 } end)
--- Operands with at least three axes: [n] becomes [1, n, 1], [n, m] becomes [n, m, 1].
---@param ... any tensors or numbers
---@return any ... one for each; views
--- Source: NumPy atleast_3d.
---     mc.atleast_3d(mc.tensor{ 1, 2, 3 }).shape[2]  --> 3
M.atleast_3d = atleast('atleast_3d', 3, function(s)
  if #s == 2 then return { s[1], s[2], 1 } end
  return { 1, s[1] or 1, 1 }
end)

local function each(list, f)
  for i, t in ipairs(list) do list[i] = f(t) end
  return list
end

--- Tensors stacked as rows: along the first axis, vectors as one row each.
---@param ... any tensors, or one list of them
--- Errors: sizes differ off the axis. Source: NumPy vstack.
---     mc.vstack{ mc.tensor{ 1, 2 }, mc.tensor{ 3, 4 } }:totable()[2][1]  --> 3
function M.vstack(...) return F.concat(each(list_of('vstack', ...), M.atleast_2d), 1) end

--- Tensors side by side: along the second axis, vectors along their only one.
---@param ... any tensors, or one list of them
--- Errors: sizes differ off the axis. Source: NumPy hstack.
---     mc.hstack{ mc.tensor{ 1, 2 }, mc.tensor{ 3 } }  --> f64[3]@cpu { 1, 2, 3 }
function M.hstack(...)
  local list = each(list_of('hstack', ...), M.atleast_1d)
  return F.concat(list, list[1].ndim == 1 and 1 or 2)
end

--- Tensors stacked in depth: along the third axis; vectors as [1, n, 1].
---@param ... any tensors, or one list of them
--- Errors: sizes differ off the axis. Source: NumPy dstack.
---     mc.dstack{ mc.tensor{ 1, 2 }, mc.tensor{ 3, 4 } }.shape[3]  --> 2
function M.dstack(...) return F.concat(each(list_of('dstack', ...), M.atleast_3d), 3) end

--- Vectors as the columns of a matrix; matrices side by side.
---@param ... any tensors, or one list of them
--- Errors: numbers of rows differ. Source: NumPy column_stack.
---     mc.column_stack{ mc.tensor{ 1, 2 }, mc.tensor{ 3, 4 } }:totable()[1][2]  --> 3
function M.column_stack(...)
  return F.concat(each(list_of('column_stack', ...), function(t)
    if t.ndim < 2 then return methods.reshape(t, { -1, 1 }) end
    return t
  end), 2)
end

--- A tensor from nested lists of blocks: the innermost lists are joined along the last axis, the next along the one
--- before, and so on.
---@param blocks any nested Lua lists, all equally deep, of tensors or numbers
---@return any
--- Errors: lists of different depth, empty lists, sizes that do not fit. Source: NumPy block.
---     mc.block{ { mc.eye(2), mc.zeros{ 2, 1 } }, { mc.ones{ 1, 2 }, 7 } }:sum()  --> f64[]@cpu 11
function M.block(blocks)
  local depth
  local function measure(v, d)
    if type(v) == 'table' then
      if #v == 0 then error('block: a list is empty; give at least one block', 4) end
      for i = 1, #v do measure(v[i], d + 1) end
    elseif depth and depth ~= d then
      error(('block: lists are nested %d and %d deep; make them equally deep'):format(depth, d), 4)
    else
      depth = d
    end
  end
  measure(blocks, 0)
  if depth == 0 then return methods.copy((M.atleast_1d(blocks))) end
  local rank, device = depth, 0
  local function rank_of(v)
    if type(v) == 'table' then for i = 1, #v do rank_of(v[i]) end
    elseif tensor.is(v) then rank, device = math.max(rank, v.ndim), device ~= 0 and device or v._device end
  end
  rank_of(blocks)
  local function build(v, d)
    if type(v) ~= 'table' then
      local t = op.operand('block', v, 4)
      if t._flags == 256 then
        t._flags = 0
        t = tensor.moved(t, device, 4)
      end
      local s = t.shape
      local full = {}
      for i = 1, rank do full[i] = s[i - rank + #s] or 1 end
      return #s < rank and methods.reshape(t, full) or t
    end
    local list = {}
    for i = 1, #v do list[i] = build(v[i], d + 1) end
    return F.concat(list, rank - depth + d)
  end
  return build(blocks, 1)
end

-- ---------------------------------------------------------------- pieces

--- Views of axis a from the ends (last positions) of the pieces but the last.
local function pieces(x, a, ends)
  local out, first, n = {}, 1, x.shape[a]
  for k = 1, #ends + 1 do
    local last = ends[k] or n
    last = math.max(first - 1, math.min(n, last < 0 and last + n or last))
    local key = {}
    for i = 1, x.ndim do key[i] = i == a and { first, last } or index.all end
    if last < first then key[a] = { 1, 0 } end
    out[k] = x[key]
    first = last + 1
  end
  return out
end

-- views made at once; more of them than elements are empty, and a list of 2^40 is no list
local MOST = 2 ^ 20
local SPLIT = { axis = { 1, 'integer' } }
local function splitter(fname, even)
  return function(x, parts, axis, opts)
    x = op.operand(fname, x, 2)
    local o = op.axis_option(fname, SPLIT, axis, opts, 3)
    local a = tensor.axis(fname, x, o.axis, 3) + 1
    if tensor.is(parts) then parts = parts:totable() end
    if type(parts) == 'table' then
      check.list(fname, parts)
      for i, v in ipairs(parts) do check.arg(fname, 'position ' .. i, v, 'integer', 3) end
      return pieces(x, a, parts)
    end
    check.arg(fname, 'parts', parts, 'integer >= 1', 3)
    local n, ends = x.shape[a], {}
    if even and n % parts ~= 0 then
      error(('%s: %d does not divide axis %d of %s; use array_split'):format(fname, parts, a, tensor.describe(x)), 2)
    end
    if parts > MOST then
      error(('%s: %s parts are asked of %s; at most %d make sense'):format(fname, check.show(parts),
        tensor.describe(x), MOST), 2)
    end
    local long, size = n % parts, math.floor(n / parts)
    for k = 1, parts - 1 do ends[k] = k * size + math.min(k, long) end
    return pieces(x, a, ends)
  end
end
--- Pieces of x along an axis: equal parts, or the pieces that end at given positions.
---@param x any
---@param parts integer|table number of parts, or the last positions of all pieces but the last ({ 2, 5 }: 1..2, 3..5,
---  6..end)
---@param axis? integer (1)
---@return table list of views
--- Errors: a number of parts that does not divide the size (array_split takes it). Source: NumPy split.
---     mc.split(mc.arange(6), { 2, 5 })[2]  --> f64[3]@cpu { 3, 4, 5 }
M.split = splitter('split', true)
--- As split; parts need not divide the size: the first ones are longer by one.
---@param x any
---@param parts integer|table as split
---@param axis? integer (1)
---@return table list of views
--- Source: NumPy array_split.
---     mc.array_split(mc.arange(5), 2)[1]  --> f64[3]@cpu { 1, 2, 3 }
M.array_split = splitter('array_split', false)

return M
