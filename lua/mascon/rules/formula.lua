-- formula.lua - reverse rules of elementwise rows, made from the formulas of their derivatives.
--
-- The op table gives each operand of such a row a formula in the operands a, b, c and the result y
-- (runtime/ops/derivative.lua). Here it becomes a Lua function of ops, each step once: what a formula repeats is
-- computed once, numbers are folded. Choices send the cotangent down the branch that was taken, and what multiplies
-- it does so by the convention of chain.lua. Formulas of several steps are taken in f32 for numbers of 16 bits, which
-- are rounded once, at their end. This file has the way from text to functions and names no op beyond arithmetic.
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local operators = require 'mascon.core.operators'
local scalar = require 'mascon.gen.scalar'
local chain = require 'mascon.rules.chain'

local M = {}
local F = op.functions
local HERE = debug.getinfo(1, 'S').source -- what is made here is the library's
local ARITHMETIC, fold, compare = operators.conditions, operators.fold, operators.compare

local LOCALS = 180 -- steps that a function keeps as local variables: LuaJIT takes 200

--- The cotangent of an operand as a function(g, y, a, b, c), from the formula of its derivative, and its steps; false
--- where that is zero.
local function compiled(text)
  local lines, names, known = { 'local F, times = ...', 'return function(g, y, a, b, c)' }, {}, {}
  local function name(text_)
    if not names[text_] then
      known[#known + 1] = text_
      names[text_] = 'v' .. #known
      lines[#lines + 1] = ('  local v%d = %s'):format(#known, text_)
    end
    return names[text_]
  end
  local function literal(v) return type(v) == 'number' and ('%.17g'):format(v) or v end
  --- A number, a boolean, or the name of what holds the value.
  local function value(e)
    local o, args = e[1], {}
    if o == 'num' then return tonumber(e[2]) end
    if o == 'var' then return e[2] end
    for i = o == 'call' and 3 or 2, #e do args[#args + 1] = value(e[i]) end
    if o == '?' and type(args[1]) == 'boolean' then return args[1] and args[2] or args[3] end
    if type(args[1]) == 'number' then
      local f = type(args[2]) == 'number' and (fold[o] or compare[o])
      if f then return f(args[1], args[2]) end
      if o == 'neg' then return -args[1] end
    end
    for i, v in ipairs(args) do args[i] = literal(v) end
    return name(('F.%s(%s)'):format(o == 'call' and e[2] or ARITHMETIC[o], table.concat(args, ', ')))
  end
  --- The cotangent through a derivative: the name of what holds it, or false.
  local function through(e)
    if e[1] == 'neg' and e[2][1] ~= 'num' then
      local v = through(e[2])
      return v and name('F.negative(' .. v .. ')')
    end
    if e[1] == '?' then
      local c, yes, no = value(e[2]), through(e[3]), through(e[4])
      if type(c) == 'boolean' then return c and yes or no end
      return (yes or no) and name(('F.where(%s, %s, %s)'):format(c, yes or 0, no or 0))
    end
    local v = value(e)
    if type(v) == 'string' then return name(('times(g, %s)'):format(v)) end
    if v == 0 or v == 1 then return v == 1 and 'g' end
    return name(v == -1 and 'F.negative(g)' or ('F.multiply(g, %s)'):format(literal(v)))
  end
  local v = through(scalar.parse(text))
  if not v then return false end
  lines[#lines + 1] = ('  return %s\nend'):format(v)
  local body = table.concat(lines, '\n', 3)
  if #known > LOCALS then
    body = '  local v = {}\n' .. body:gsub('local (v%d+) =', '%1 ='):gsub('%f[%w]v(%d+)', 'v[%1]')
  end
  return assert(loadstring(('%s\n%s\n%s'):format(lines[1], lines[2], body), HERE))(F, chain.times), #known
end

local HALF = { f16 = true, bf16 = true }

--- A tensor of 16 bits as f32; anything else as it is.
local function wide(t) return t and HALF[t.dtype] and t:to 'f32' or t end

--- The same function, in f32 where its result has 16 bits.
local function rounded_once(f)
  return function(g, y, a, b, c)
    if not HALF[y.dtype] then return f(g, y, a, b, c) end
    return f(wide(g), wide(y), wide(a), wide(b), wide(c)):to(y.dtype)
  end
end

--- Functions of the derivatives of a row, one for each operand: false where it is zero, a text where there is none.
local function all(list)
  local out = {}
  for i, text in ipairs(list) do
    out[i] = text:match '^none: (.*)'
    if not out[i] then
      local f, steps = compiled(text)
      out[i] = f and steps > 1 and rounded_once(f) or f
    end
  end
  return out
end

local rules = setmetatable({}, { __mode = 'k' })

--- Reverse rule of a reduction: the derivative by an element is a formula in that element and in the result of its
--- group.
local function reduction(row)
  local f
  return function(g, x, y, p)
    local axes = require 'mascon.rules.axes'
    f = f or all(row.d)[1]
    local function spread(t) return tensor.methods.broadcast_to(axes.back(t, x[1], p), x[1].shape) end
    return { f and f(spread(g), spread(y[1]), x[1]) or nil }
  end
end

--- Reverse rule of a row that has formulas.
---@param row table
---@return fun(g: any, x: table, y: table): table
function M.rule(row)
  if rules[row] then return rules[row] end
  if row.family == 'reduce' then
    rules[row] = reduction(row)
    return rules[row]
  end
  local real, complex = nil, nil
  rules[row] = function(g, x, y)
    local d
    if row.cd and chain.is_complex(y[1]) then
      complex = complex or all(row.cd)
      d = complex
    else
      real = real or all(row.d)
      d = real
    end
    local at, out = nil, {}
    for i in ipairs(x) do
      local f = d[i]
      if type(f) == 'function' then
        out[i] = function()
          at = at or chain.operands(x, y[1])
          return f(g, y[1], at[1], at[2], at[3])
        end
      elseif f and d == complex then
        check.error(('%s%s: operand is %s; %s'):format(row.namespace and row.namespace .. '.' or '', row[1],
          tensor.describe(x[i]), f), 2)
      end
    end
    return out
  end
  return rules[row]
end

--- Why operand i of a row has no derivative, nil when it has one (or the row has no formulas).
---@param row table
---@param i integer
---@return string?
function M.without(row, i) return row.d and (row.d[i] or ''):match '^none: (.*)' end

--- Whether all formulas of a row are zero.
function M.zero(row)
  for _, text in ipairs(row.d) do if text ~= '0' then return false end end
  return true
end

return M
