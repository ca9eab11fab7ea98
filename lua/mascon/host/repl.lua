-- repl.lua - the prompt: reads a chunk, runs it, prints its values.
--
-- A chunk goes on over lines while its syntax is unfinished. Its values are printed without being asked for, kept as
-- _ and _1.._9 (newest first), and muted by a trailing semicolon. Top-level locals stay (locals.lua). Without a
-- terminal the same loop serves pipes: no prompts, and the exit status is 1 when a chunk failed. Owns the session and
-- its commands; the library is loaded when `mc` is first used. May not know which line editor there is.

local host = require 'mascon.host'
local locals = require 'mascon.host.locals'
local nearest = require 'mascon.host.nearest'
local show = require 'mascon.host.show'
local source = require 'mascon.host.source'
local traceback = require 'mascon.host.traceback'

local M = {}

local PROMPT, CONTINUED = '> ', '. '
local LAST_RESULTS = 9
local SIGINT = 2
local QUIT = {} -- what read_chunk returns when the user leaves

local HELP = [[
  1 + 2                  values are printed; a ; at the end mutes them; _ is the last one, _1 to _9 the last nine
  local x = 3            stays for the next lines, like a global
  ?name   ??text         documentation of a name; names whose documentation has the text
  %time expr             how long it takes          %bench expr   the same, repeated, with the spread
  %who                   names of this session      %mem          memory in use
  !command               a command of the shell
  Tab completes, Ctrl-R searches earlier lines, Ctrl-C stops a run or clears the line, Ctrl-D (or quit) leaves
  mc is the library, loaded when first used]]

---------------------------------------------------------------------------------------------------- session

---Environment of the session: its own locals, then the globals, then an error that names the nearest name.
local function new_session()
  local session = { kept = {}, fresh = {}, count = 0, results = {} }
  session.env = setmetatable({}, {
    __index = function(env, name)
      if session.kept[name] then return nil end
      local value = _G[name]
      if value ~= nil or session.globals[name] then return value end
      if name == 'mc' then
        session.kept.mc = true
        local library = require 'mascon'
        rawset(env, 'mc', library)
        return library
      end
      local known = { 'mc' }
      for _, from in ipairs { env, _G } do
        for key in next, from do
          if type(key) == 'string' then known[#known + 1] = key end
        end
      end
      error(("undeclared name '%s'%s"):format(tostring(name), nearest.hint(tostring(name), known)), 2)
    end,
    __newindex = function(env, name, value)
      if session.fresh[name] or session.kept[name] then
        session.kept[name] = true
        rawset(env, name, value)
      else
        session.globals[name] = true
        _G[name] = value
      end
    end,
  })
  session.globals = {}
  session.standard = {}
  for name in pairs(_G) do session.standard[name] = true end
  return session
end

---Names that the user made, sorted: list of { name, value }.
local function own_names(session)
  local list = {}
  for name, value in next, session.env do
    if not name:find('^_%d?$') and name ~= 'mc' then list[#list + 1] = { name, value } end
  end
  for name, value in next, _G do
    if not session.standard[name] and type(name) == 'string' then list[#list + 1] = { name, value } end
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

local function keep_result(session, value)
  if value == nil then return end
  table.insert(session.results, 1, value)
  session.results[LAST_RESULTS + 1] = nil
  session.kept._ = true
  rawset(session.env, '_', value)
  for i, result in ipairs(session.results) do
    session.kept['_' .. i] = true
    rawset(session.env, '_' .. i, result)
  end
end

---------------------------------------------------------------------------------------------------- output

local function say(text)
  io.stdout:write(text, '\n')
end

local function paint(session, text, code)
  if not session.colours then return text end
  return ('\27[%sm%s\27[0m'):format(code, text)
end

local function complain(session, text)
  io.stdout:flush()
  text = text:gsub('\n$', '')
  local first, rest = text:match('^([^\n]*)(.*)$')
  io.stderr:write(paint(session, first, '31'), rest, '\n')
  session.failed = true
end

local function print_values(values)
  local width = host.width()
  local texts, short = {}, true
  for i = 1, values.n do
    texts[i] = show.value(values[i], width)
    if texts[i]:find('\n', 1, true) then short = false end
  end
  if values.n > 0 then say(table.concat(texts, short and '\t' or '\n')) end
end

---------------------------------------------------------------------------------------------------- running

local function identity(...)
  return ...
end

local function split(ok, ...)
  return ok, { n = select('#', ...), ... }
end

---Calls fn(...) so that an error or a signal comes back as a report. Returns the packed values, or nil.
local function guarded(session, brief, fn, ...)
  local ok, values = split(xpcall(fn, traceback.collect, ...))
  if ok then return values end
  local record = values[1]
  if type(record) ~= 'table' or not record.frames then record = { object = record, frames = {} } end
  local signal, word = host.signal()
  if signal and traceback.is_signal(record.object, word) then
    session.signal = word ~= 'interrupted' and signal or nil
    if word ~= 'broken pipe' then complain(session, traceback.report(record, true)) end
  else
    complain(session, traceback.report(record, brief))
  end
  return nil
end

---Text without a semicolon at its end, and whether there was one.
local function split_mute(text)
  local rest = text:match('^(.-);%s*$')
  if rest and not rest:find('%-%-[^\n]*$') then return rest, true end
  return text, false
end

---Whether a syntax error says that more lines are needed.
local function at_end(message)
  return message:find("near '<eof>'%s*$") ~= nil
end

---Compiles `text` as an expression list or as statements.
---@return function? chunk, string|boolean message_or_muted, boolean? unfinished
local function compile(session, text)
  local name = ('=prompt[%d]'):format(session.count + 1)
  local env = session.env
  text = text:gsub('^%s*=', '')
  local bare, muted = split_mute(text)
  local chunk, expression_message
  if bare:find('%S') then chunk, expression_message = load('return ' .. bare .. '\n', name, 't', env) end
  if chunk then
    -- `return f(x)` would be a tail call, and an error in f would not know its line; the chunk is called with
    -- `identity`
    chunk = load('return (...)(' .. bare .. ')', name, 't', env)
      or load('return (...)(' .. bare .. '\n)', name, 't', env) or chunk
  else
    local message
    chunk, message = load(text, name, 't', env)
    if not chunk then
      -- a table over several lines is unfinished as an expression only
      return nil, message, at_end(message) or at_end(expression_message or '')
    end
    local rewritten, names = locals.persist(text)
    local persistent = #names > 0 and load(rewritten, name, 't', env)
    session.fresh = {}
    if persistent then
      chunk = persistent
      for _, word in ipairs(names) do session.fresh[word] = true end
    end
    muted = false
  end
  source.load(text, name, env) -- remembers the text for reports
  if not host.breaks_compiled_code then jit.off(chunk, true) end
  return chunk, muted
end

local function run(session, text)
  local chunk, muted = compile(session, text)
  session.count = session.count + 1
  if not chunk then
    complain(session, muted)
    return
  end
  local values = guarded(session, not text:find('\n', 1, true), chunk, identity)
  if not values then return end
  keep_result(session, values[1])
  if not muted then guarded(session, true, print_values, values) end
end

---------------------------------------------------------------------------------------------------- commands

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
  local chunk, message = compile(session, text)
  if not chunk then return complain(session, message) end
  session.count = session.count + 1
  local before = collectgarbage('count')
  local start = host.clock()
  local values = guarded(session, true, chunk, identity)
  local elapsed = host.clock() - start
  local grown = (collectgarbage('count') - before) * 1024
  if values then
    keep_result(session, values[1])
    if message ~= true then guarded(session, true, print_values, values) end
  end
  say(('time %s%s'):format(seconds_text(elapsed),
    grown > 0 and (', Lua heap grew by ' .. bytes_text(math.floor(grown))) or ''))
end

---Repeats until half a second is spent: at least 9 samples, each long enough for the clock.
local function measure(fn)
  local sink = {} -- results that nobody sees would not be computed
  local budget, least = 0.5, 2e-4
  local calls = 1
  local start = host.clock()
  local once
  repeat -- warm up and find the number of calls of a sample
    local before = host.clock()
    for _ = 1, calls do sink[1] = fn() end
    once = host.clock() - before
    if once < least then calls = calls * 2 end
  until once >= least
  local samples = {}
  repeat
    local before = host.clock()
    for _ = 1, calls do sink[1] = fn() end
    samples[#samples + 1] = (host.clock() - before) / calls
  until host.clock() - start > budget and #samples >= 9
  table.sort(samples)
  return samples, calls
end

function commands.bench(session, text)
  local name = '=prompt'
  local body = split_mute(text)
  local maker = load('return function() return ' .. body .. '\nend', name, 't', session.env)
  local message
  if not maker then
    maker, message = load('return function() ' .. text .. '\nend', name, 't', session.env)
  end
  if not maker then return complain(session, message) end
  local values = guarded(session, true, measure, maker())
  if not values then return end
  local samples, calls = values[1], values[2]
  local function quantile(q) return seconds_text(samples[math.max(1, math.ceil(q * #samples))]) end
  say(('median %s, p10 %s, p90 %s (%d samples of %d call%s)'):format(quantile(0.5), quantile(0.1), quantile(0.9),
    #samples, calls, calls == 1 and '' or 's'))
end

function commands.who(session)
  local list = own_names(session)
  if #list == 0 then return say('no names yet') end
  local width = 4
  for _, entry in ipairs(list) do width = math.max(width, #entry[1]) end
  for _, entry in ipairs(list) do
    local text = show.value(entry[2], 1e6):match('^[^\n]*')
    local room = math.max(20, host.width() - width - 14)
    if #text > room then text = text:sub(1, room - 3) .. '...' end
    say(('%-' .. width .. 's  %-9s %s'):format(entry[1], type(entry[2]), text))
  end
end

function commands.mem(session)
  local lines = { ('Lua heap        %s'):format(bytes_text(math.floor(collectgarbage('count') * 1024))) }
  local statm = source.read('/proc/self/statm')
  local resident = statm and tonumber(statm:match('^%d+ (%d+)'))
  if resident then lines[#lines + 1] = ('whole process   %s'):format(bytes_text(resident * 4096)) end
  for _, line in ipairs(lines) do say(line) end
  local library = package.loaded.mascon
  if type(library) == 'table' and library.memory then
    local values = guarded(session, true, library.memory)
    if values then
      say('library')
      print_values(values)
    end
  end
end

function commands.help()
  say(HELP)
end

---The comment above the function `value`, from its source.
local function comment_above(value)
  local info = debug.getinfo(value, 'S')
  local lines = {}
  local at = info.linedefined - 1
  while at > 0 do
    local line = source.line(info.source, at)
    local text = line and line:match('^%s*%-%-%-?%s?(.*)$')
    if not text then break end
    table.insert(lines, 1, text)
    at = at - 1
  end
  return lines
end

---What can be said without the library's reference: the value, and the comment above a function.
local function plain_help(session, expression)
  local chunk, message = load('return ' .. expression, '=prompt', 't', session.env)
  if not chunk then return complain(session, message) end
  local values = guarded(session, true, chunk)
  if not values then return end
  local value = values[1]
  say(('%s: %s'):format(expression, show.value(value, host.width())))
  if type(value) == 'function' and debug.getinfo(value, 'S').what ~= 'C' then
    for _, line in ipairs(comment_above(value)) do say('  ' .. line) end
  end
end

local function library_help()
  if package.searchpath('mascon.help', package.path) then return require 'mascon.help' end
end

local function show_help(session, text)
  if text == '' then return commands.help() end
  local values = guarded(session, true, library_help)
  local help = values and values[1]
  if not help or not help.show then return plain_help(session, text) end
  values = guarded(session, true, help.show, text)
  if values and type(values[1]) == 'string' then say((values[1]:gsub('\n$', ''))) end
end

---Without a reference: names of the session, of the globals and of their tables that contain the text.
local function plain_apropos(session, text)
  local found, visited = {}, {}
  local function visit(prefix, t, depth)
    if visited[t] or depth > 2 then return end
    visited[t] = true
    for name, value in next, t do
      if type(name) == 'string' and show.is_name(name) then
        if name:lower():find(text:lower(), 1, true) then found[#found + 1] = prefix .. name end
        if type(value) == 'table' and name ~= 'loaded' then visit(prefix .. name .. '.', value, depth + 1) end
      end
    end
  end
  visited[_G] = true
  for _, t in ipairs { session.env, _G } do
    visited[t] = nil
    visit('', t, 0)
  end
  table.sort(found)
  say(#found > 0 and table.concat(found, '\n') or ("no name contains '" .. text .. "'"))
end

local function apropos(session, text)
  if text == '' then return say('??text lists the names whose documentation has the text') end
  local values = guarded(session, true, library_help)
  local help = values and values[1]
  if not help or not help.apropos then return plain_apropos(session, text) end
  values = guarded(session, true, help.apropos, text)
  if values and type(values[1]) == 'string' then say((values[1]:gsub('\n$', ''))) end
end

local function run_command(session, word, rest)
  local command = commands[word]
  if not command then
    local known = {}
    for name in pairs(commands) do known[#known + 1] = name end
    table.sort(known)
    complain(session, ("no command %%%s%s; there are %%%s"):format(word, nearest.hint(word, known),
      table.concat(known, ', %')))
  elseif (word == 'time' or word == 'bench') and rest == '' then
    complain(session, ('%%%s needs an expression'):format(word))
  else
    command(session, rest)
  end
end

---Runs the first line of a chunk when it is a command. Returns true when it was one, QUIT to leave.
local function try_command(session, line)
  local word = line:match('^%s*(.-)%s*$')
  if (word == 'quit' or word == 'exit' or word == 'quit()' or word == 'exit()')
    and rawget(session.env, word:match('%a+')) == nil and rawget(_G, word:match('%a+')) == nil then
    return QUIT
  end
  if word == 'help' and rawget(session.env, 'help') == nil and rawget(_G, 'help') == nil then
    commands.help()
    return true
  end
  if word:sub(1, 2) == '??' then
    apropos(session, word:match('^%?%?%s*(.*)$'))
  elseif word:sub(1, 1) == '?' then
    show_help(session, word:match('^%?%s*(.*)$'))
  elseif word:sub(1, 1) == '%' then
    run_command(session, word:match('^%%%s*(%a*)%s*(.*)$'))
  elseif word:sub(1, 1) == '!' then
    io.stdout:flush()
    local values = guarded(session, true, os.execute, word:sub(2))
    if values and values[1] ~= 0 then session.failed = true end
  else
    return false
  end
  return true
end

---------------------------------------------------------------------------------------------------- input

local function state_folder()
  local base = os.getenv('XDG_STATE_HOME')
  local home = os.getenv('HOME')
  if not base or base:sub(1, 1) ~= '/' then
    if not home or home == '' then return nil end
    base = home .. '/.local/state'
    host.make_folder(home .. '/.local')
  end
  host.make_folder(base)
  return host.make_folder(base .. '/mascon') and base .. '/mascon' or nil
end

---Reader without editing. Returns line; or nil and the signal that ended it, 0 at the end.
local function read_plain(prompt)
  io.stdout:write(prompt)
  io.stdout:flush()
  local ok, line = pcall(io.read, '*l')
  local signal = host.signal()
  if signal then return nil, signal end
  if not ok then return nil, 0 end
  if line then return (line:gsub('\r$', '')) end
  return nil, 0
end

---The editor's reader, or nil when a plain one is to be used.
local function open_editor(session)
  if os.getenv('MASCON_EDIT') == 'plain' or os.getenv('TERM') == 'dumb' then return nil end
  local name, why = host.edit_open()
  if not name then return nil, why end
  local folder = state_folder()
  if folder then host.edit_history_load(folder .. '/history') end
  host.edit_complete(function(line, cursor)
    return require('mascon.host.complete').complete(session, line, cursor)
  end)
  return function(prompt)
    local line, signal = host.edit_read(prompt)
    if line then
      if line:find('%S') then host.edit_history_add(line) end
      return line
    end
    return nil, signal
  end, folder and folder .. '/history'
end

---------------------------------------------------------------------------------------------------- loop

---One chunk: lines until the syntax is complete. Returns text, or nil and the signal (0: end of input).
local function read_chunk(session, read, prompt)
  local lines
  while true do
    local shown = prompt and (lines and CONTINUED or PROMPT) or ''
    local line, signal = read(shown)
    if not line then
      if signal == 0 and lines then return table.concat(lines, '\n') end
      return nil, signal
    end
    if not lines then
      local done = try_command(session, line)
      if done then return done end
      lines = { line }
    else
      lines[#lines + 1] = line
    end
    local text = table.concat(lines, '\n')
    if not text:find('%S') then return true end
    local chunk, _, unfinished = compile(session, text)
    if chunk or not unfinished then return text end
  end
end

---@param options table prompt: print prompts; banner: greet (and edit lines when there is a terminal)
---@return integer status
function M.main(options)
  local session = new_session()
  local terminal = host.isatty(0) and host.isatty(1)
  session.colours = terminal and host.isatty(2) and not os.getenv('NO_COLOR')
  host.interactive = options.prompt
  local read, history
  if terminal then read, history = open_editor(session) end
  local edited = read ~= nil
  read = read or read_plain
  if options.banner and terminal then
    say(('mascon %s, %s; help explains this prompt, ?name a name, Ctrl-D leaves'):format(host.version,
      (jit.version:gsub('%-beta.*', ''))))
  end
  local status
  repeat
    host.run_begin()
    session.signal = nil
    local ok, text, signal = pcall(read_chunk, session, read, options.prompt)
    if not ok then
      signal = host.signal()
      if not signal then error(text, 0) end
      text = nil
    elseif type(text) == 'string' then
      host.run_begin()
      run(session, text)
      io.stdout:flush()
    end
    if text == QUIT or (text == nil and signal == 0) then
      status = 0
      if text == nil and options.prompt then say('') end
    elseif text == nil and signal == SIGINT and options.prompt then
      if not edited then say('') end
    elseif text == nil then
      status = 128 + signal
    elseif session.signal then
      status = 128 + session.signal
    end
  until status
  if history then host.edit_history_save(history) end
  if status == 0 and not options.prompt and session.failed then status = 1 end
  return status
end

return M
