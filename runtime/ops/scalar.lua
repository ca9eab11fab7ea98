-- scalar.lua - the scalar language of elementwise rows: text to tree and tree to text.
--
-- Grammar: ?: | == != < <= > >= | & ^ '|' (bitwise) | + - | * / | unary - ~ | call, name, number, ( ).
-- emit.lua prints a tree as code for a dtype, derivative.lua differentiates it. Read by the generator at build time and
-- by the library, as mascon.gen.scalar.
local M = {}

local PREC = {
  ['|'] = 1, ['^'] = 2, ['&'] = 3, ['=='] = 4, ['!='] = 4, ['<'] = 5, ['<='] = 5, ['>'] = 5, ['>='] = 5,
  ['+'] = 6, ['-'] = 6, ['*'] = 7, ['/'] = 7,
}

local TOKENS = {
  { '^%d+%.?%d*[eE]?[-+]?%d*', 'number' }, { '^[%a_][%w_]*', 'name' }, { '^[=!<>]=', 'op' },
  { '^[-+*/()?:,<>&|^~]', 'op' },
}

local function tokens(s)
  local out, i = {}, 1
  while i <= #s do
    local a, b, kind = s:find('^%s+', i)
    if not a then
      for _, p in ipairs(TOKENS) do
        a, b = s:find(p[1], i)
        if a and p[2] == 'number' then
          -- "1 - a": the sign belongs to the number only behind an exponent letter
          local text = s:match('^%d+%.?%d*[eE][-+]?%d+', i) or s:match('^%d+%.?%d*', i)
          b = a + #text - 1
        end
        kind = p[2]
        if a then break end
      end
      local compound = s:match('^%s*([%+%-%*/])=', i - 1) or s:match('([%+%-%*/])=', 1)
      assert(a, 'expr: cannot read "' .. s:sub(i) .. '" in ' .. s .. (compound
        and ('; there is no %s=, write the whole assignment, as in a = a %s b'):format(compound, compound) or ''))
      out[#out + 1] = { kind, s:sub(a, b) }
    end
    i = b + 1
  end
  return out
end

--- Parses an expression into nested tables { op, args... }: {'num', text} {'var', name} {'call', fn, args...}
--- {'neg', x} {'not', x} {'+', l, r} ... {'?', c, t, f}.
---@param text string
---@return table tree
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

-- ---------------------------------------------------------------- text of a tree

local CHOICE, PREFIX, ATOM = 0, 8, 9

local function level(e)
  if e[1] == '?' then return CHOICE end
  if e[1] == 'neg' or e[1] == 'not' then return PREFIX end
  if e[1] == 'num' and e[2]:sub(1, 1) == '-' then return PREFIX end
  return PREC[e[1]] or ATOM
end

--- A tree as text that parses to it.
---@param e table
---@return string
function M.text(e)
  local o = e[1]
  local function inside(x, least)
    local s = M.text(x)
    return level(x) < least and '(' .. s .. ')' or s
  end
  if o == 'num' or o == 'var' then return e[2] end
  if o == 'call' then
    local args = {}
    for i = 3, #e do args[#args + 1] = M.text(e[i]) end
    return ('%s(%s)'):format(e[2], table.concat(args, ', '))
  end
  if o == '?' then return ('%s ? %s : %s'):format(inside(e[2], 1), inside(e[3], 1), M.text(e[4])) end
  if o == 'neg' then return '-' .. inside(e[2], PREFIX + 1) end
  if o == 'not' then return '~' .. inside(e[2], PREFIX + 1) end
  return ('%s %s %s'):format(inside(e[2], PREC[o]), o, inside(e[3], PREC[o] + 1))
end

return M
