-- scalar.lua - the tiny scalar language of elementwise rows: parse to a tree, print as C for one dtype; conversions as C.
--
-- The generator of kernels (at build time) and the generator of fused code (at run time) both print through here, so that one op is one text.
-- Grammar: ?: | == != < <= > >= | & ^ '|' (bitwise) | + - | * / | unary - ~ | call, name, number, ( ). The tree is what later passes
-- (CUDA, derivatives) read. Knows dtypes only through the table handed in; knows no op.
local M = {}

local PREC = { ['|'] = 1, ['^'] = 2, ['&'] = 3, ['=='] = 4, ['!='] = 4, ['<'] = 5, ['<='] = 5, ['>'] = 5, ['>='] = 5, ['+'] = 6, ['-'] = 6, ['*'] = 7, ['/'] = 7 }

local function tokens(s)
  local out, i = {}, 1
  while i <= #s do
    local a, b, kind = s:find('^%s+', i)
    if not a then
      for _, p in ipairs { { '^%d+%.?%d*[eE]?[-+]?%d*', 'number' }, { '^[%a_][%w_]*', 'name' }, { '^[=!<>]=', 'op' }, { '^[-+*/()?:,<>&|^~]', 'op' } } do
        a, b = s:find(p[1], i)
        if a and p[2] == 'number' then
          -- "1 - a": the sign belongs to the number only behind an exponent letter
          local text = s:match('^%d+%.?%d*[eE][-+]?%d+', i) or s:match('^%d+%.?%d*', i)
          b = a + #text - 1
        end
        kind = p[2]
        if a then break end
      end
      assert(a, 'expr: cannot read "' .. s:sub(i) .. '" in ' .. s)
      out[#out + 1] = { kind, s:sub(a, b) }
    end
    i = b + 1
  end
  return out
end

--- Parses an expression into nested tables { op, args... }: {'num', text} {'var', name} {'call', fn, args...} {'neg', x} {'not', x}
--- {'+', l, r} ... {'?', c, t, f}.
function M.parse(text)
  local t, at = tokens(text), 1
  local function peek() return t[at] and t[at][2] end
  local function take(what)
    local v = peek()
    assert(v and (not what or v == what), 'expr: expected ' .. (what or 'more') .. ' in ' .. text)
    at = at + 1
    return v, t[at - 1][1]
  end
  local expr
  local function primary()
    local v, kind = take()
    if v == '(' then
      local e = expr()
      take(')')
      return e
    elseif v == '-' then return { 'neg', primary() }
    elseif v == '~' then return { 'not', primary() }
    elseif kind == 'number' then return { 'num', v }
    elseif kind == 'name' then
      if peek() ~= '(' then return { 'var', v } end
      take('(')
      local call = { 'call', v }
      while peek() ~= ')' do
        call[#call + 1] = expr()
        if peek() == ',' then take() end
      end
      take(')')
      return call
    end
    error('expr: unexpected ' .. v .. ' in ' .. text)
  end
  local function binary(min)
    local left = primary()
    while peek() and PREC[peek()] and PREC[peek()] >= min do
      local o = take()
      left = { o, left, binary(PREC[o] + 1) }
    end
    return left
  end
  function expr()
    local c = binary(1)
    if peek() ~= '?' then return c end
    take('?')
    local yes = expr()
    take(':')
    return { '?', c, yes, expr() }
  end
  local e = expr()
  assert(at > #t, 'expr: rest "' .. tostring(peek()) .. '" in ' .. text)
  return e
end

local NAME = { ['+'] = 'add', ['-'] = 'sub', ['*'] = 'mul', ['/'] = 'div', ['=='] = 'eq', ['!='] = 'ne' }
local CMP = { ['=='] = true, ['!='] = true, ['<'] = true, ['<='] = true, ['>'] = true, ['>='] = true }

--- C text of a tree for dtype row d (of ops.lua). Integers compute in the unsigned type of their width, so that wrap-around is
--- defined; complex numbers go through functions. names: what variables are called, as they stand when absent.
function M.c(e, d, names)
  local k, name = d.kind, d[1]
  local function go(x)
    local o = x[1]
    if o == 'var' then return names and names[x[2]] or x[2] end
    if o == 'num' then
      local n = x[2]
      if k == 'c' then return ('mck_make_%s(%s, 0)'):format(name, n) end
      if k == 'f' then
        if not n:find('[.eE]') then n = n .. '.0' end
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

--- The formula of an elementwise row for a dtype.
function M.text(row, d)
  if d.kind == 'c' then return row.cexpr or row.expr end
  if d.kind == 'f' then return row.fx or row.expr end
  return row.ix or row.expr
end

local RESULT = { bool = 'bool', i64 = 'i64' }
--- dtype row in which a kernel of a row and dtype leaves its result. dtypes: the table, by name.
function M.result(row, d, dtypes)
  if row.result == 'real' then return d.real and dtypes[d.real] or d end
  return RESULT[row.result] and dtypes[RESULT[row.result]] or d
end

--- Whether integers of a dtype can be forbidden operands of a row.
function M.guarded(row, d)
  return row.guard and d.kind ~= 'f' and d.kind ~= 'c' and not (d.kind == 'u' and row.guard == 'b < 0')
end

--- A value of one dtype as C text of another: bool is "not zero"; floats to integers truncate, out of range and NaN saturate by the
--- helpers of mck_cast.h.
function M.cast(v, from, to, dtypes)
  if from.compute then v, from = ('mck_%s_to_f32(%s)'):format(from[1], v), dtypes.f32 end
  if from.kind == 'c' and to.kind ~= 'c' and to.kind ~= 'b' then v, from = v .. '.re', dtypes[from.real] end
  if to.compute then return ('mck_f32_to_%s((float)%s)'):format(to[1], v) end
  if to.kind == 'b' then
    if from.kind == 'c' then return ('(uint8_t)(%s.re != 0 || %s.im != 0)'):format(v, v) end
    return ('(uint8_t)(%s != 0)'):format(v)
  end
  if to.kind == 'c' then
    local part = dtypes[to.real].c
    if from.kind == 'c' then return ('(%s){(%s)%s.re, (%s)%s.im}'):format(to.c, part, v, part, v) end
    return ('(%s){(%s)%s, 0}'):format(to.c, part, v)
  end
  if to.kind ~= 'f' and from.kind == 'f' then return ('mck_%s_to_%s(%s)'):format(from[1], to[1], v) end
  return ('(%s)%s'):format(to.c, v)
end

return M
