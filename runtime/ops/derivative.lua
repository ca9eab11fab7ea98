-- derivative.lua - derivatives of formulas of the scalar language, as formulas.
--
-- A row with an expression is differentiated by the rules of sums, products, quotients, choices and chains. What its
-- functions contribute stands in the rows of those functions: `d`, a formula for each operand in terms of the operands
-- a, b, c and the result y; or 'none: why'. A row that gives d itself (the functions of the language must; others do
-- where the plain derivation loses digits) has those formulas as they stand.
-- The generator calls this at build time; the answers are text, so that the library, the reference and later device
-- code read one thing.
local scalar = require 'mascon.gen.scalar'

local M = {}

local LETTERS = { 'a', 'b', 'c' }
local text = scalar.text

local function same(a, b) return text(a) == text(b) end

-- ---------------------------------------------------------------- trees made simple as they are made

local function num(v)
  return { 'num', v == math.floor(v) and math.abs(v) < 1e15 and ('%d'):format(v) or ('%.17g'):format(v) }
end
local ZERO, ONE = num(0), num(1)
local function value(e) return e[1] == 'num' and tonumber(e[2]) or nil end

local function negative(e)
  if e[1] == 'num' then return num(-value(e)) end
  return e[1] == 'neg' and e[2] or { 'neg', e }
end

--- A product as coefficient, factors above and factors below the line.
local function factors(e, k, above, below)
  local v = value(e)
  if v then return k * v end
  if e[1] == 'neg' then return factors(e[2], -k, above, below) end
  if e[1] == '*' then return factors(e[3], factors(e[2], k, above, below), above, below) end
  if e[1] == '/' and not value(e[3]) then
    k = factors(e[2], k, above, below)
    below[#below + 1] = e[3]
    return k
  end
  above[#above + 1] = e
  return k
end

local function chain(list)
  local e = list[1]
  for i = 2, #list do e = { '*', e, list[i] } end
  return e
end

local function product(a, b)
  local above, below = {}, {}
  local k = factors(b, factors(a, 1, above, below), above, below)
  if k == 0 then return ZERO end
  for i = #below, 2, -1 do -- sqrt(u) sqrt(u) below the line is u
    if below[i][1] == 'call' and below[i][2] == 'sqrt' and same(below[i], below[i - 1]) then
      below[i - 1] = below[i][3]
      table.remove(below, i)
    end
  end
  local e = chain(above)
  if k == -1 then e = e and negative(e) or num(-1)
  elseif k ~= 1 or not e then e = e and { '*', num(k), e } or num(k) end
  for _, x in ipairs(below) do e = { '/', e, x } end
  return e
end

local function sum(a, b)
  if value(a) == 0 then return b end
  if value(b) == 0 then return a end
  if value(a) and value(b) then return num(value(a) + value(b)) end
  if same(a, b) then return product(num(2), a) end
  if b[1] == 'neg' then return { '-', a, b[2] } end
  return { '+', a, b }
end

local function quotient(a, b)
  if value(b) then return value(b) == 1 and a or { '/', a, b } end
  return product(a, { '/', ONE, b })
end

local function choice(c, yes, no)
  if same(yes, no) then return yes end
  return { '?', c, yes, no }
end

-- ---------------------------------------------------------------- derivation

--- e with the variables of a table replaced.
local function put(e, by)
  if e[1] == 'var' then return by[e[2]] or e end
  if e[1] == 'num' then return e end
  local out = { e[1] }
  for i = 2, #e do out[i] = type(e[i]) == 'table' and put(e[i], by) or e[i] end
  return out
end

--- Derivative of a tree with respect to a variable. known(name, i): formula of the derivative of a function by its
--- operand i; it raises where there is none.
local function derive(e, v, known, whole)
  local o, y = e[1], e == whole and { 'var', 'y' } or e
  if o == 'var' then return e[2] == v and ONE or ZERO end
  if o == 'neg' then return negative(derive(e[2], v, known)) end
  if o == '+' then return sum(derive(e[2], v, known), derive(e[3], v, known)) end
  if o == '-' then return sum(derive(e[2], v, known), negative(derive(e[3], v, known))) end
  if o == '*' then return sum(product(derive(e[2], v, known), e[3]), product(e[2], derive(e[3], v, known))) end
  if o == '/' then
    local da, db = derive(e[2], v, known), derive(e[3], v, known)
    return quotient(sum(da, negative(product(y, db))), e[3])
  end
  if o == '?' then return choice(e[2], derive(e[3], v, known), derive(e[4], v, known)) end
  if o ~= 'call' then return ZERO end -- numbers, comparisons, bits
  local by, out = { y = y }, ZERO
  for i = 3, #e do by[LETTERS[i - 2]] = e[i] end
  for i = 3, #e do
    local inner = derive(e[i], v, known)
    if value(inner) ~= 0 then out = sum(out, product(put(known(e[2], i - 2), by), inner)) end
  end
  return out
end

--- e with what equals the result written as y.
local function through_result(e, whole)
  if e[1] ~= 'num' and e[1] ~= 'var' and same(e, whole) then return { 'var', 'y' } end
  local out = { e[1] }
  for i = 2, #e do out[i] = type(e[i]) == 'table' and through_result(e[i], whole) or e[i] end
  return out
end

--- Derivatives of a formula by its n operands, as text.
---@param formula string
---@param n integer
---@param of fun(name: string): table? the derivatives `d` of a function, one text for each operand
---@return string[]
function M.of(formula, n, of)
  local parse = scalar.parse
  local whole, out = parse(formula), {}
  local function known(name, i)
    local d = of(name)
    if not d then error(('%s: the function %s has no derivative; give its row d'):format(formula, name), 0) end
    if d[i]:find '^none: ' then
      error(('%s: %s has no derivative by operand %d (%s)'):format(formula, name, i, d[i]:sub(7)), 0)
    end
    return parse(d[i])
  end
  for i = 1, n do out[i] = text(through_result(derive(whole, LETTERS[i], known, whole), whole)) end
  return out
end

return M
