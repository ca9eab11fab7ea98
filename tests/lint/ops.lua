-- ops.lua - what knows single ops outside their rows: lists of their names, comparisons with them, their numbers.
--
-- What code asks of an op is a field of its row. check(path, complain) reads a file of C or Lua.
local HERE = arg[0]:match '^(.*)/[^/]*$' or '.'
local code = dofile(HERE .. '/code.lua')
local M = {}

-- C that names single ops (MC_OP_*), with the reason.
local NAMES_OPS = {
  ['runtime/family/mc_pick.c'] = 'sums at positions are additions: it runs add',
  ['runtime/family/mc_matmul.c'] = 'products within other ops are its own',
}

-- Lists and comparisons of names that users write, of which many are ops; operators.
local PUBLIC = {
  ['lua/mascon/array/statistics.lua'] = 'the option reduce',
  ['lua/mascon/nn/fused.lua'] = 'activations that are no rows of networks',
  ['lua/mascon/nn/loss.lua'] = 'the option reduction',
  ['lua/mascon/optim/fit/curve_fit/expression.lua'] = 'functions of formulas',
  ['lua/mascon/help/deviations.lua'] = 'what documents name',
  ['lua/mascon/fft/init.lua'] = 'names of mc.fft', ['lua/mascon/integrate/init.lua'] = 'names of mc.integrate',
  ['lua/mascon/linalg/init.lua'] = 'names of mc.linalg',
  ['lua/mascon/random/init.lua'] = 'names of mc.random', ['lua/mascon/special/init.lua'] = 'names of mc.special',
  ['lua/mascon/stats/init.lua'] = 'names of mc.stats',
  ['runtime/ops/emit.lua'] = 'operators of formulas, as functions of C',
  ['lua/workflows/rollout/operator/block.lua'] = 'the activation of a stored network',
}

local ROWS = dofile(HERE .. '/../../runtime/ops/ops.lua').ops
local row_of, family = {}, {}
for _, r in ipairs(ROWS) do row_of[r[1]], family[r.family] = r, true end
for _, r in ipairs(ROWS) do
  for _, alias in ipairs(r.alias or {}) do row_of[alias] = row_of[alias] or r end
end
local own, library -- of the file that is checked: its module, whether it belongs to the library

--- The name of the op that a word names, itself or as an alias; false for others. Not: a word that is a family, too;
--- what the file itself composes; in scripts and workflows statistics (mean, max), which reports name.
local function is_op(word)
  local r = row_of[word]
  local one = r and not family[word] and not (own and r.module == own) and (library or r.family ~= 'reduce')
  return one and r[1]
end
-- so many names, and so great a part of a table or of what is compared, are a list of ops
local LISTED, COMPARED, SHARE = 3, 2, 0.75

--- The op that an item of a table names: as its key, as its value or as the first of a table of its own.
local function named(item, inner)
  local key = item:match '^%s*([%a_][%w_]*)%s*=[^=]' or item:match "^%s*%[%s*['\"]([%w_]+)['\"]%s*%]%s*=[^=]"
  local value = item:match "^%s*['\"]([%w_]+)['\"]%s*$" or item:match "=%s*['\"]([%w_]+)['\"]%s*$"
  return is_op(key) or is_op(value) or item:find '^%s*{' and inner or nil
end

--- Tables that list ops, over one line or several: calls met(position, text).
local function lists(f, met)
  local stack = {}
  for at, mark in f.bare_text:gmatch '()([{},;])' do
    local t = stack[#stack]
    if t and mark ~= '{' then
      local item = f.text:sub(t.item, at - 1)
      if item:find '%S' then
        local op = named(item, t.inner)
        t.all, t.ops = t.all + 1, t.ops + (op and not t.seen[op] and 1 or 0)
        if op then t.seen[op] = true end
        if t.all == 1 then t.first = op end
      end
      t.item, t.inner = at + 1, nil
      if mark == '}' then
        if t.ops >= LISTED and t.ops >= SHARE * t.all then met(t.at, 'lists ops by name') end
        stack[#stack] = nil
        if stack[1] then stack[#stack].inner = t.first end
      end
    elseif mark == '{' then stack[#stack + 1] = { at = at, item = at + 1, all = 0, ops = 0, seen = {} } end
  end
end

--- Names that one variable is compared with, line after line: `name == 'add' or name == 'sub'`, strcmp(name, "add").
--- What check.opts gave (o.reduce) is a word of users.
local PAIRS = {
  lua = { "([%w_.%[%]]+)%s*[=~]=%s*['\"]([%w_]+)['\"]()", "['\"]([%w_]+)['\"]%s*[=~]=%s*([%w_.%[%]]+)()" },
  c = { 'str%a*cmp%s*%(%s*([^,"]-)%s*,%s*"([%w_]+)"()', 'str%a*cmp%s*%(%s*"([%w_]+)"%s*,%s*([^,")]+)()' },
}
PAIRS.h = PAIRS.c

local function compared(f, pairs_, met)
  local by, list = {}, {}
  for k, pattern in ipairs(pairs_) do
    for variable, name, at in f.text:gmatch(pattern) do
      if k == 2 then variable, name = name, variable end
      if not variable:find '^o%.' and not variable:find 'variant$' then
        local v = by[variable]
        if not v then
          v = { all = 0, ops = 0, seen = {} }
          by[variable], list[#list + 1] = v, v
        end
        if not v.seen[name] then
          v.seen[name], v.all = true, v.all + 1
          if is_op(name) then v.ops, v.at = v.ops + 1, v.at or at end
        end
      end
    end
  end
  for _, v in ipairs(list) do
    if v.ops >= COMPARED and v.ops >= SHARE * v.all then met(v.at, 'compares with names of ops') end
  end
end

--- Single ops, line by line.
local SINGLE = {
  lua = {
    { "row%[1%]%s*[~=]=%s*['\"]([%w_]+)['\"]", 'asks for the op %s by name' },
    { "['\"]([%w_]+)['\"]%s*[~=]=%s*[%w_.]*row%[1%]", 'asks for the op %s by name' },
  },
  c = {
    { '(strcmp%s*%([^,]*%->%s*name%s*,%s*")', 'asks for a single op (%s)' },
    { '(strcmp%s*%(%s*"[^"]*"%s*,[^,;]*%->%s*name%s*%))', 'asks for a single op (%s)' },
    { '(%->%s*id%s*[=!<>]=?%s*[1-9])', 'asks for a single op (%s)' },
    { '(%->%s*id%s*[=!]=%s*%d)', 'asks for a single op (%s)' },
    { '([1-9]%s*[=!<>]=?%s*[%w_>.-]*%->%s*id)%f[^%w_]', 'asks for a single op (%s)' },
    { '(switch%s*%([^;{]*%->%s*id%s*%))', 'asks for a single op (%s)' },
  },
}
SINGLE.h = SINGLE.c

--- Complains about each op that a file knows by itself.
function M.check(path, complain)
  local f, language = code.of(path), path:match '%.(%w+)$'
  local public, found = PUBLIC[path], false
  own, library = path:match '^lua/(.*)%.lua$', not path:find '^scripts/' and not path:find 'workflows/'
  own = own and own:gsub('/init$', ''):gsub('/', '.')
  local function met(at, what)
    found = true
    if public then return end
    complain(path, code.line(f.text, at), what .. '; make what they share a field of their rows')
  end
  lists(f, met)
  compared(f, PAIRS[language], met)
  if public and not found then
    complain('tests/lint/ops.lua', 1, ('PUBLIC has %s, which lists no ops; take it off the list'):format(path))
  end
  found = false
  for at, line in ipairs(f.lines) do
    for _, single in ipairs(SINGLE[language]) do
      local word = line:match(single[1])
      if word then
        complain(path, at, (single[2] .. '; make what it asks for a field of the row'):format(word))
        break
      end
    end
    local name = language ~= 'lua' and line:match '%f[%w_]MC_OP_[%u%d_]+'
    found = found or name
    if name and not NAMES_OPS[path] then
      complain(path, at, ('names %s; make what it asks for a field of the row'):format(name))
    end
  end
  if NAMES_OPS[path] and not found then
    complain('tests/lint/ops.lua', 1, ('NAMES_OPS lists %s, which names no op; take it off the list'):format(path))
  end
end

return M
