-- commands.lua - the lines of the prompt that are not Lua: ?name, ??text, %time, %who, !command, quit and kin.
--
-- Works on a session. Documentation comes from the library's `help` module; without it the value and the comment above
-- a function are shown. Holds the texts of these commands.

local host = require 'mascon.host'
local nearest = require 'mascon.host.nearest'
local show = require 'mascon.host.show'
local source = require 'mascon.host.source'

local M = {}

---What `try` returns when the user leaves.
M.QUIT = {}

local HELP = [[
  1 + 2          values are printed, a ; at the end mutes them
  _  _1 to _9    the last value, the last nine
  local x = 3    stays for the next lines, like a global
  mc             the library, loaded when first used
  ?name          documentation of a name
  ??text         names whose documentation has the text
  %time expr     how long it takes
  %bench expr    the same, repeated, with the spread
  %who  %mem     names of this session, memory in use
  !command       a command of the shell
  Tab completes, Ctrl-R searches earlier lines, Ctrl-C stops a run or
  clears the line, Ctrl-D or quit leaves]]

local function seconds_text(t)
  local units = { { 1, 's' }, { 1e-3, 'ms' }, { 1e-6, 'us' } }
  for _, unit in ipairs(units) do
    if t >= unit[1] then return ('%.3g %s'):format(t / unit[1], unit[2]) end
  end
  return ('%.3g ns'):format(t / 1e-9)
end

local function bytes_text(n)
  local units = { 'B', 'KiB', 'MiB', 'GiB', 'TiB' }
  local i = 1
  while n >= 1024 and i < #units do
    n, i = n / 1024, i + 1
  end
  return (i == 1 and '%d %s' or '%.1f %s'):format(n, units[i])
end

local commands = {}

function commands.time(session, text)
  local before = collectgarbage('count')
  local start = host.clock()
  session:run(text)
  local elapsed = host.clock() - start
  local grown = (collectgarbage('count') - before) * 1024
  session:say(('time %s%s'):format(seconds_text(elapsed),
    grown > 0 and (', Lua heap grew by ' .. bytes_text(math.floor(grown))) or ''))
end

---Calls fn again and again for half a second: at least 9 samples, each long enough for the clock.
---@return number[] seconds of one call, sorted
---@return integer calls of a sample
local function measure(fn)
  local budget, least, fewest = 0.5, 2e-4, 9
  local sink = {}
  local function sample(calls)
    local before = host.clock()
    for _ = 1, calls do sink[1] = fn() end -- a result that nobody keeps would not be computed
    return host.clock() - before, sink[1]
  end
  local calls = 1
  local start = host.clock()
  while sample(calls) < least do calls = calls * 2 end
  local samples = {}
  repeat
    samples[#samples + 1] = sample(calls) / calls
  until host.clock() - start > budget and #samples >= fewest
  table.sort(samples)
  return samples, calls
end

function commands.bench(session, text)
  text = text:gsub(';%s*$', '')
  local env = session.env
  local maker = load('return function() return ' .. text .. '\nend', '=prompt', 't', env)
  local message
  if not maker then maker, message = load('return function() ' .. text .. '\nend', '=prompt', 't', env) end
  if not maker then return session:complain(message) end
  local values = session:guarded(true, measure, maker())
  if not values then return end
  local samples, calls = values[1], values[2]
  local function quantile(q) return seconds_text(samples[math.max(1, math.ceil(q * #samples))]) end
  session:say(('median %s, p10 %s, p90 %s (%d samples of %d call%s)'):format(quantile(0.5), quantile(0.1),
    quantile(0.9), #samples, calls, calls == 1 and '' or 's'))
end

function commands.who(session)
  local list = session:own_names()
  if #list == 0 then return session:say('no names yet') end
  local width = 4
  for _, entry in ipairs(list) do width = math.max(width, #entry[1]) end
  local room = math.max(20, host.width() - width - 14)
  for _, entry in ipairs(list) do
    local text = show.value(entry[2], 1e6):match('^[^\n]*')
    if #text > room then text = text:sub(1, room - 3) .. '...' end
    session:say(('%-' .. width .. 's  %-9s %s'):format(entry[1], type(entry[2]), text))
  end
end

function commands.mem(session)
  session:say(('Lua heap        %s'):format(bytes_text(math.floor(collectgarbage('count') * 1024))))
  local resident = tonumber((source.read('/proc/self/status') or ''):match('VmRSS:%s*(%d+) kB'))
  if resident then session:say(('whole process   %s'):format(bytes_text(resident * 1024))) end
  local library = package.loaded.mascon
  if type(library) == 'table' and library.memory then
    local values = session:guarded(true, library.memory)
    if values then
      session:say('library')
      session:print(values)
    end
  end
end

function commands.help(session)
  session:say(HELP)
end

---------------------------------------------------------------------------------------------------- documentation

---The comment above the function `value`, from its source.
local function comment_above(value)
  local info = debug.getinfo(value, 'S')
  local lines = {}
  for at = info.linedefined - 1, 1, -1 do
    local line = source.line(info.source, at)
    local text = line and line:match('^%s*%-%-%-?%s?(.*)$')
    if not text then break end
    table.insert(lines, 1, text)
  end
  return lines
end

local function plain_help(session, expression)
  local chunk, message = load('return ' .. expression, '=prompt', 't', session.env)
  if not chunk then return session:complain(message) end
  local values = session:guarded(true, chunk)
  if not values then return end
  local value = values[1]
  session:say(('%s: %s'):format(expression, show.value(value, host.width())))
  if type(value) == 'function' and debug.getinfo(value, 'S').what ~= 'C' then
    for _, line in ipairs(comment_above(value)) do session:say('  ' .. line) end
  end
end

---Names of the session, of the globals and of their tables that contain the text.
local function plain_apropos(session, text)
  local found, visited = {}, {}
  local function visit(prefix, t, depth)
    if visited[t] then return end
    visited[t] = true
    for name, value in next, t do
      if type(name) == 'string' and show.is_name(name) then
        if name:lower():find(text:lower(), 1, true) then found[#found + 1] = prefix .. name end
        if type(value) == 'table' and depth < 2 and value ~= package.loaded then
          visit(prefix .. name .. '.', value, depth + 1)
        end
      end
    end
  end
  visit('', session.env, 0)
  visit('', _G, 0)
  table.sort(found)
  session:say(#found > 0 and table.concat(found, '\n') or ("no name contains '" .. text .. "'"))
end

---Calls `field` of the library's help module with `text`, or fallback(session, text) when there is none.
local function documentation(session, field, text, fallback)
  local help
  if package.searchpath('mascon.help', package.path) then
    local values = session:guarded(true, require, 'mascon.help')
    if not values then return end
    help = values[1]
  end
  if type(help) ~= 'table' or not help[field] then return fallback(session, text) end
  local values = session:guarded(true, help[field], text)
  if values and type(values[1]) == 'string' then session:say((values[1]:gsub('\n$', ''))) end
end

---------------------------------------------------------------------------------------------------- dispatch

local function percent(session, word, rest)
  local command = commands[word]
  if not command then
    local known = {}
    for name in pairs(commands) do known[#known + 1] = name end
    table.sort(known)
    session:complain(("no command %%%s%s; there are %%%s"):format(word, nearest.hint(word, known),
      table.concat(known, ', %')))
  elseif (word == 'time' or word == 'bench') and rest == '' then
    session:complain(('%%%s needs an expression'):format(word))
  else
    command(session, rest)
  end
end

local function shell(session, command)
  io.stdout:flush()
  local values = session:guarded(true, os.execute, command)
  if values and values[1] ~= 0 then session.failed = true end
end

---Runs `line`, the first of a chunk, when it is a command.
---@return boolean|table done false when it is Lua; M.QUIT when the user leaves
function M.try(session, line)
  line = line:match('^%s*(.-)%s*$')
  local word = line:match('^(%a+)%f[^%a]%(?%)?$')
  if (word == 'quit' or word == 'exit') and not session:has(word) then return M.QUIT end
  if line == 'help' and not session:has('help') then
    commands.help(session)
  elseif line:sub(1, 2) == '??' then
    local text = line:match('^%?%?%s*(.*)$')
    if text == '' then return session:complain('??text lists the names whose documentation has the text') or true end
    documentation(session, 'apropos', text, plain_apropos)
  elseif line:sub(1, 1) == '?' then
    local text = line:match('^%?%s*(.*)$')
    if text == '' then commands.help(session) else documentation(session, 'show', text, plain_help) end
  elseif line:sub(1, 1) == '%' then
    percent(session, line:match('^%%%s*(%a*)%s*(.*)$'))
  elseif line:sub(1, 1) == '!' then
    shell(session, line:sub(2))
  else
    return false
  end
  return true
end

return M
