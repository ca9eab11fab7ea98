-- expression.lua - models written as text: 'a * exp(-k * x) + c'.
--
-- The text is split into numbers, names, operators and brackets, nothing else; a name is the variable x (x1, x2, ...
-- for the rows of x), a function, pi, or a parameter. What is left is an arithmetic expression, which becomes a
-- function of tensors and numbers alike: it can be recorded, differentiated and compiled, and holds no other code.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local error = check.error
local F = op.functions
local M = {}

local NAMES = { 'exp', 'log', 'log10', 'sqrt', 'abs', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh',
  'tanh', 'erf', 'expm1', 'log1p', 'minimum', 'maximum', 'where', 'lt', 'le', 'gt', 'ge' }

--- The functions of a text: of numbers they give numbers.
local function functions()
  local out = {}
  for _, name in ipairs(NAMES) do
    local f = F[name]
    out[name] = function(a, b, c)
      if tensor.is(a) or tensor.is(b) or tensor.is(c) then return f(a, b, c) end
      return f(op.from_table { a }, b, c)[1]:item()
    end
  end
  return out
end

--- Tokens of a text: { kind, text } with kinds number, name, sign.
local function tokens(fname, text)
  local out, at = {}, 1
  while true do
    at = text:match('^%s*()', at)
    if at > #text then return out end
    local number, after = text:match('^(%d*%.?%d+[eE][-+]?%d+)()', at)
    if not number then number, after = text:match('^(%d+%.?%d*)()', at) end
    if not number then number, after = text:match('^(%.%d+)()', at) end
    local name, sign
    if not number then
      name, after = text:match('^([%a_][%w_]*)()', at)
      if not name then sign, after = text:match('^([-+*/^(),])()', at) end
    end
    if not after then
      error(('%s: the model %q holds %q at place %d; write numbers, names, + - * / ^ and brackets'):format(fname, text,
        text:sub(at, at), at), 5)
    end
    out[#out + 1] = number and { 'number', number } or name and { 'name', name } or { 'sign', sign }
    at = after
  end
end

--- The function of a text.
---@param fname string for messages
---@param text string
---@param known table names of parameters as keys
---@return fun(x: any, p: table): any
function M.model(fname, text, known)
  local is_function, used = {}, {}
  for _, name in ipairs(NAMES) do is_function[name] = true end
  local list, words = tokens(fname, text), {}
  for k, t in ipairs(list) do
    local kind, word = t[1], t[2]
    if kind ~= 'name' then words[k] = word
    elseif is_function[word] and list[k + 1] and list[k + 1][2] == '(' then words[k] = 'f.' .. word
    elseif known[word] then
      words[k], used[word] = 'p.' .. word, true
    elseif word == 'x' then words[k] = 'x'
    elseif word == 'pi' then words[k] = '3.141592653589793'
    elseif word:find '^x%d+$' then words[k] = ('x[%s]'):format(word:sub(2))
    else
      local all = { x = true }
      for name in pairs(known) do all[name] = true end
      for _, name in ipairs(NAMES) do all[name] = true end
      local near = check.nearest(word, all)
      error(('%s: the model %q names %s, which is no parameter of p0 and no function%s'):format(fname, text, word, near
        and ('; did you mean %s?'):format(near) or ''), 4)
    end
  end
  for name in pairs(known) do
    if not used[name] then error(('%s: the model %q does not use the parameter %s'):format(fname, text, name), 4) end
  end
  local source = ('local f = ... return function(x, p) return %s end'):format(table.concat(words, ' '))
  local build, why = load(source, '=model', 't', {})
  if not build then
    error(('%s: the model %q is no expression: %s'):format(fname, text, (why:gsub('^model:%d+: ', ''))), 4)
  end
  return build(functions())
end

return M
