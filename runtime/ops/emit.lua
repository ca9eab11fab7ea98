-- emit.lua - formulas of the scalar language as C: one emitter for every place that compiles an elementwise row.
--
-- Kernels compiled ahead of time (gen/gen.lua), fused groups (compile/native), a user's reductions (kernel/) and
-- devices print an op through the same functions, so that an op is one text with the same bits everywhere. What
-- surrounds an element (loops, loads, blocks, what happens at a forbidden operand) is the caller's.
--
--     local E = emit.new('c', dtypes, rows)         -- or 'device'; dtypes: rows of the table by name
--     E.expr(scalar.parse 'a * b + 1', dtypes.f32)  --> ((a * b) + 1.0f)
--     E.element(row, dtypes.f32, { 'x', 'y' })      --> value, careful, slow, test, forbidden, dtype, heavy, special
--     E.cast('v', dtypes.f64, dtypes.i32)           --> mck_f64_to_i32(v)
--
-- A dialect is what differs between languages. Both call functions of the kernels' headers, mck_NAME_DTYPE; types are
-- named as in C (uint8_t, mck_c64): the head of a device's program defines them.
-- Read by the generator at build time and by the library, as mascon.gen.emit.
local scalar = require 'mascon.gen.scalar'

local M = {}

--- What differs between languages: complex(to, re, im) is the text of a complex number of dtype row `to`.
M.DIALECTS = {
  c = {
    complex = function(to, re, im) return ('(%s){%s, %s}'):format(to.c, re, im) end,
  },
  -- OpenCL C and CUDA C++: no compound literals
  device = {
    complex = function(to, re, im) return ('mck_make_%s(%s, %s)'):format(to[1], re, im) end,
  },
}

-- ---------------------------------------------------------------- rows

--- The formula of an elementwise row for a dtype.
function M.formula(row, d)
  if d.kind == 'c' then return row.cexpr or row.expr end
  if d.kind == 'f' then return row.fx or row.expr end
  return row.ix or row.expr
end

local RESULT = { bool = 'bool', i64 = 'i64' }
--- The dtype row of the result of a row for operands of dtype row d.
function M.result(row, d, dtypes)
  if row.result == 'real' then return d.real and dtypes[d.real] or d end
  return RESULT[row.result] and dtypes[RESULT[row.result]] or d
end

--- Whether operands of a dtype can be forbidden ones of a row (division of integers by zero).
function M.guarded(row, d)
  return row.guard and d.kind ~= 'f' and d.kind ~= 'c' and not (d.kind == 'u' and row.guard == 'b < 0')
end

--- Whether the kernel of a row for a dtype is written by hand.
---@param row table
---@param d table dtype row
---@return boolean
function M.by_hand(row, d)
  for _, name in ipairs(row.kernel or {}) do if name == d[1] then return true end end
  return false
end

--- Functions of a few instructions: those of rows that say `light`, by the name their formula calls.
---@param rows table[]
---@return table<string, boolean>
function M.light(rows)
  local out = {}
  for _, r in ipairs(rows) do
    if r.light then
      local tree = scalar.parse(r.expr)
      assert(tree[1] == 'call', r[1] .. ': a light row is a call of one function')
      out[tree[2]] = true
    end
  end
  return out
end

-- ---------------------------------------------------------------- trees

local NAME = { ['+'] = 'add', ['-'] = 'sub', ['*'] = 'mul', ['/'] = 'div', ['=='] = 'eq', ['!='] = 'ne' }
local CMP = { ['=='] = true, ['!='] = true, ['<'] = true, ['<='] = true, ['>'] = true, ['>='] = true }

--- Text of a tree for dtype row d. Integers compute in the unsigned type of their width, so that wrap-around is
--- defined; complex numbers go through functions. names: what variables are called, as they stand when absent.
---@param e table of scalar.parse
---@param d table
---@param names? table<string, string>
---@return string
local function expr(e, d, names)
  local k, name = d.kind, d[1]
  local function go(x)
    local o = x[1]
    if o == 'var' then return names and names[x[2]] or x[2] end
    if o == 'num' then
      local n = x[2]
      if k == 'c' then return ('mck_make_%s(%s, 0)'):format(name, n) end
      if k == 'f' then
        if not n:find '[.eE]' then n = n .. '.0' end
        return d.size == 4 and n .. 'f' or n
      end
      return n
    end
    if o == 'call' then
      local args = {}
      for i = 3, #x do args[#args + 1] = go(x[i]) end
      return ('mck_%s_%s(%s)'):format(x[2], name, table.concat(args, ', '))
    end
    if o == '?' then return ('(%s ? %s : %s)'):format(go(x[2]), go(x[3]), go(x[4])) end
    if o == 'not' then
      if k == 'b' then return ('(uint8_t)!%s'):format(go(x[2])) end
      return ('(%s)~%s'):format(d.c, go(x[2]))
    end
    if o == 'neg' then
      if k == 'c' then return ('mck_neg_%s(%s)'):format(name, go(x[2])) end
      if k == 'f' then return ('(-%s)'):format(go(x[2])) end
      return ('(%s)(0u - (%s)%s)'):format(d.c, d.wide, go(x[2]))
    end
    local l, r = go(x[2]), go(x[3])
    if k == 'c' then return ('mck_%s_%s(%s, %s)'):format(NAME[o], name, l, r) end
    if CMP[o] then return ('(%s %s %s)'):format(l, o, r) end
    if (k == 'i' or k == 'u') and (o == '+' or o == '-' or o == '*') then
      return ('(%s)((%s)%s %s (%s)%s)'):format(d.c, d.wide, l, o, d.wide, r)
    end
    if k ~= 'f' then return ('(%s)(%s %s %s)'):format(d.c, l, o, r) end
    return ('(%s %s %s)'):format(l, o, r)
  end
  return go(e)
end

local LETTERS = { 'a', 'b', 'c' }

-- ---------------------------------------------------------------- an emitter

--- An emitter of a dialect.
---@param dialect string 'c' or 'device'
---@param dtypes table<string, table> rows of the table by name: kind, size, c, wide, real, compute
---@param rows? table[] of the table, for the field heavy of elements
---@return table { expr, cast, element }
function M.new(dialect, dtypes, rows)
  local D = assert(M.DIALECTS[dialect], 'emit: there is no dialect ' .. tostring(dialect))
  local E = { expr = expr }

  --- A value of one dtype as text of another: bool is "not zero"; floats to integers truncate, out of range and NaN
  --- saturate by the helpers of mck_cast.h.
  ---@param v string
  ---@param from table dtype row
  ---@param to table dtype row
  ---@return string
  function E.cast(v, from, to)
    if from.compute then v, from = ('mck_%s_to_f32(%s)'):format(from[1], v), dtypes.f32 end
    if from.kind == 'c' and to.kind ~= 'c' and to.kind ~= 'b' then v, from = v .. '.re', dtypes[from.real] end
    if to.compute then return ('mck_f32_to_%s((float)%s)'):format(to[1], v) end
    if to.kind == 'b' then
      if from.kind == 'c' then return ('(uint8_t)(%s.re != 0 || %s.im != 0)'):format(v, v) end
      return ('(uint8_t)(%s != 0)'):format(v)
    end
    if to.kind == 'c' then
      local part = dtypes[to.real].c
      if from.kind ~= 'c' then return D.complex(to, ('(%s)%s'):format(part, v), '0') end
      return D.complex(to, ('(%s)%s.re'):format(part, v), ('(%s)%s.im'):format(part, v))
    end
    if to.kind ~= 'f' and from.kind == 'f' then return ('mck_%s_to_%s(%s)'):format(from[1], to[1], v) end
    return ('(%s)%s'):format(to.c, v)
  end

  local trees, heavy, light = {}, {}, nil -- by the text of a formula; light functions
  local function is_heavy(tree)
    if tree[1] == 'call' and not light[tree[2]] then return true end
    for i = 2, #tree do if type(tree[i]) == 'table' and is_heavy(tree[i]) then return true end end
    return false
  end

  --- One element of a row.
  --- value: its text, of the type of dtype row `dtype`, right wherever `test` is false; careful: right everywhere.
  --- test, slow: where a quick formula does not hold, and the function that is exact there (absent: everywhere).
  --- forbidden: text that is true for operands with no result (absent: there are none); the value is then unspecified.
  --- heavy: more than a few instructions; special: needs mck_special.h.
  ---@param row table of a family of elementwise ops
  ---@param d table dtype row of the arithmetic (none with `compute`)
  ---@param operands string[] names of the operands
  ---@return table
  function E.element(row, d, operands)
    local text = M.formula(row, d)
    local tree = trees[text] or scalar.parse(text)
    trees[text] = tree
    if rows and heavy[text] == nil then
      light = light or M.light(rows)
      heavy[text] = is_heavy(tree)
    end
    local names = {}
    for i, v in ipairs(operands) do names[LETTERS[i]] = v end
    local e = { dtype = M.result(row, d, dtypes), special = row.kernels == 'special' }
    e.heavy = heavy[text] or e.special
    local plain = expr(tree, d, names)
    e.value = e.dtype.kind == 'c' and plain or ('(%s)%s'):format(e.dtype.c, plain)
    e.careful = e.value
    if row.fix and d.kind == 'f' then
      local list = table.concat(operands, ', ')
      e.test = ('MCK_NEEDS_FIX_%s_%s(%s)'):format(row.fix, d[1], list)
      e.slow = ('mck_%s_%s_slow(%s)'):format(row.fix, d[1], list)
      e.careful = ('%s ? %s : %s'):format(e.test, e.slow, plain)
    end
    if M.guarded(row, d) then e.forbidden = row.guard:gsub('%f[%w_][abc]%f[^%w_]', names) end
    return e
  end

  return E
end

return M
