-- body.lua - the text of a user's kernel: statements `name = formula;` of the scalar language.
--
-- Reads and checks lines, comments, `&&`, `||` and `!`, names that are defined before they are used, functions that
-- exist. A formula alone is the first output. Trees are those of the scalar language.
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local scalar = require 'mascon.gen.scalar'
local error = check.error

local M = {}

local EWISE = lib.gen.elementwise

local rows
--- Elementwise functions by name (aliases too).
function M.functions()
  if not rows then
    rows = {}
    for _, r in ipairs(lib.gen.ops) do
      if EWISE[r.family] and not r.internal then
        rows[r[1]] = rows[r[1]] or r
        for _, a in ipairs(type(r.alias) == 'table' and r.alias or { r.alias }) do rows[a] = rows[a] or r end
      end
    end
  end
  return rows
end

local casts = {}
for _, d in ipairs(lib.gen.dtypes) do casts[d[1]] = true end
M.casts = casts

--- `text` without comments, with the lines where they were.
local function plain(text)
  text = text:gsub('/%*.-%*/', function(c) return (c:gsub('[^\n]', ' ')) end)
  text = text:gsub('//[^\n]*', ''):gsub('&&', ' &'):gsub('||', ' |'):gsub('!([^=])', '~%1')
  return text
end

--- Statements of a body.
---@param what string `kernel NAME` and the part, for messages
---@param text string
---@param known string[] names that are given
---@param targets string[] names that must be assigned, the first of them by a formula alone
---@param level integer whom to blame
---@return table[] { name, tree, line }
function M.parse(what, text, known, targets, level)
  if type(text) ~= 'string' then
    error(('%s: the body is %s; give a text'):format(what, check.show(text)), level + 1)
  end
  local names, functions = {}, M.functions()
  for _, n in ipairs(known) do names[n] = true end
  local function fail(line, message) error(('%s: line %d: %s'):format(what, line, message), level + 3) end
  local function examine(tree, line)
    if tree[1] == 'var' and not names[tree[2]] then
      local near = check.nearest(tree[2], names)
      fail(line, ('%s is not defined%s'):format(tree[2], near and ('; did you mean %s?'):format(near) or ''))
    elseif tree[1] == 'call' then
      local row = functions[tree[2]]
      if not row and not casts[tree[2]] then
        local near = check.nearest(tree[2], functions)
        fail(line,
          ('there is no elementwise function %s%s'):format(tree[2], near and ('; did you mean %s?'):format(near) or ''))
      end
      local want = row and EWISE[row.family] or 1
      if #tree - 2 ~= want then
        fail(line, ('%s takes %d operand%s and is given %d'):format(tree[2], want, want > 1 and 's' or '', #tree - 2))
      end
    end
    for i = 2, #tree do if type(tree[i]) == 'table' then examine(tree[i], line) end end
  end
  local statements, line, at = {}, 1, 1
  text = plain(text)
  while at <= #text do
    local stop = text:find(';', at, true) or #text + 1
    local piece = text:sub(at, stop - 1)
    local lead = piece:match '^%s*'
    local _, skipped = lead:gsub('\n', '')
    local first = line + skipped
    local formula = piece:sub(#lead + 1)
    if formula ~= '' then
      local name, rest = formula:match '^([%a_][%w_]*)%s*=([^=].*)$'
      if not name then name, rest = targets[1], formula end
      local ok, tree = pcall(scalar.parse, rest)
      if not ok then fail(first, (tostring(tree):gsub('^.-expr: ', ''):gsub('%s+', ' '))) end
      examine(tree, first)
      names[name] = true
      statements[#statements + 1] = { name = name, tree = tree, line = first }
    end
    local _, passed = piece:gsub('\n', '')
    line, at = line + passed, stop + 1
  end
  local given = {}
  for _, s in ipairs(statements) do given[s.name] = true end
  for _, n in ipairs(targets) do
    if not given[n] then fail(line, ('%s is never assigned'):format(n)) end
  end
  return statements
end

return M
