-- examples.lua - the examples of docstrings and of rows of the op table, collected from source and run.
--
-- A line of a docstring with four blanks of indentation is code: `---     EXPR  --> RESULT`, where RESULT is what EXPR
-- prints, with runs of white space folded to one blank; or a statement that the lines below it in the same docstring
-- stand on (`---     local x = mc.arange(1, 4)`). Several results are separated by ', '; strings print bare, tables as
-- mc.repr shows them; an error prints as `error: MESSAGE`. A row's `example` is one such line or a list of them. Reads
-- and the running.
-- Code, or its arrow and result, goes on in lines with six blanks.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local M = {}

local root = support.folder .. '/..'

local function files()
  local pipe, list = io.popen(("find '%s/lua' -name '*.lua'"):format(root)), {}
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  table.sort(list)
  return list
end

--- Docstrings of a text: lists of { at = line, code = text }, with the line below the docstring (what it documents).
function M.of_text(text, name)
  local out, block, at = {}, nil, 0
  for line in (text .. '\n'):gmatch '([^\n]*)\n' do
    at = at + 1
    local comment = line:match '^%s*%-%-%-(.*)$'
    if comment then
      block = block or { file = name, lines = {} }
      local code, more = comment:match '^     (.*%S)', comment:match '^       +(%S.*)$'
      local above = block.lines[#block.lines]
      if more and above and not above.malformed then
        above.code = above.code .. (more:find '^%-%-> ' and '  ' or ' ') .. more:gsub('%s+$', '')
      elseif code then
        table.insert(block.lines, { at = at, code = code })
      elseif comment:find('-->', 1, true) then
        table.insert(block.lines, { at = at, code = comment, malformed = true })
      end
    elseif block then
      block.below = line
      if block.lines[1] then out[#out + 1] = block end
      block = nil
    end
  end
  return out
end

--- Every block of examples in lua/ and in the op table.
function M.all()
  local out = {}
  for _, path in ipairs(files()) do
    -- a relocatable folder holds the test framework too
    local name = path:match "lua/mascon/.*$" or path:match "lua/workflows/.*$"
    if name then
      local f = assert(io.open(path, 'rb'))
      for _, block in ipairs(M.of_text(f:read '*a', name)) do out[#out + 1] = block end
      f:close()
    end
  end
  local names = {}
  for name in pairs(mc.ops) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local row = mc.ops[name]
    local list = type(row.example) == 'string' and { row.example } or row.example
    if list then
      local block = { file = 'ops.lua, row ' .. name, row = name, lines = {} }
      for i, code in ipairs(list) do block.lines[i] = { at = i, code = code } end
      out[#out + 1] = block
    end
  end
  return out
end

local function fold(text) return (text:gsub('%s+', ' '):gsub('^ ', ''):gsub(' $', '')) end
M.fold = fold

local function show(v)
  if type(v) == 'table' then return mc.repr(v) end
  return tostring(v)
end

local function outcome(ok, ...)
  if not ok then return 'error: ' .. fold(tostring((...)):gsub('^[^\n]-:%d+: ', '')) end
  local n, parts = select('#', ...), {}
  for i = 1, n do parts[i] = fold(show((select(i, ...)))) end
  return n == 0 and 'nothing' or table.concat(parts, ', ')
end

--- Runs a block: a list of what is wrong, each a sentence with file and line; and the number of results compared.
function M.run(block)
  local env, wrong, compared = setmetatable({ mc = mc }, { __index = _G }), {}, 0
  local function complain(line, text) wrong[#wrong + 1] = ('%s:%d: %s'):format(block.file, line.at, text) end
  for _, line in ipairs(block.lines) do
    local expr, want = line.code:match '^(.-)%s%s%-%->%s(.*)$'
    if line.malformed then
      complain(line, 'an arrow --> outside of the form `---     EXPR  --> RESULT` (four blanks of indentation, two '
        .. 'before the arrow)')
    elseif expr then
      local f, why = loadstring('return ' .. expr, '=example')
      if not f then complain(line, 'is no expression: ' .. why)
      else
        setfenv(f, env)
        local got = outcome(pcall(f))
        compared = compared + 1
        if got ~= fold(want) then
          complain(line, ('%s\n      gives %s\n      not   %s'):format(expr, got, fold(want)))
        end
      end
    else
      -- what a line makes is seen by the lines below it
      local f, why = loadstring((line.code:gsub('^local%s+function%s+', 'function '):gsub('^local%s+', '')), '=example')
      if not f then complain(line, 'is neither a statement nor EXPR  --> RESULT: ' .. why)
      else
        local ok, e = pcall(setfenv(f, env))
        if not ok then complain(line, 'fails: ' .. tostring(e)) end
      end
    end
  end
  if compared == 0 and not wrong[1] then
    wrong[1] = ('%s:%d: code without a result to compare'):format(block.file, block.lines[1].at)
  end
  return wrong, compared
end

return M
