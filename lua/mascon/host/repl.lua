-- repl.lua - the prompt: reads a chunk, has the session run it, and so on until the user leaves.
--
-- A chunk goes on over lines while its syntax is unfinished. On a terminal lines come from the editor plug-in or,
-- without it, plainly. Without a terminal the same loop serves pipes: no prompts, and the exit status is 1 when a chunk
-- failed. The history is kept between sessions.

local host = require 'mascon.host'
local full = require 'mascon.host.full'
local Session = require 'mascon.host.session'
local commands = require 'mascon.host.commands'

local M = {}

local PROMPT, CONTINUED = '> ', '. '
local SIGINT = 2
local MOST_FAILURES = 20 -- one after the other of reading and compiling, for lack of memory

---The folder of the history, made if need be; nil when there is no home.
local function state_folder()
  local base = os.getenv('XDG_STATE_HOME')
  local home = os.getenv('HOME')
  if not base or base:sub(1, 1) ~= '/' then
    if not home or home == '' then return nil end
    base = home .. '/.local/state'
    host.make_folder(home .. '/.local', true)
  end
  host.make_folder(base, true)
  return host.make_folder(base .. '/mascon', true) and base .. '/mascon' or nil
end

---Reader without editing. Returns a line; or nil and the signal that ended it, 0 at the end of the input.
local function read_plain(prompt)
  io.stdout:write(prompt)
  io.stdout:flush()
  local ok, line = full.settle(host.read_line)
  local signal = host.signal()
  if signal then return nil, signal end
  if not ok then error(line, 0) end
  return line, 0
end

---The editor's reader and the path of its history; nil when lines are to be read plainly.
local function open_editor(session)
  if os.getenv('MASCON_EDIT') == 'plain' or os.getenv('TERM') == 'dumb' or not host.edit_open() then return nil end
  local folder = state_folder()
  local history = folder and folder .. '/history'
  if history then host.edit_history_load(history) end
  host.edit_complete(function(line, cursor)
    return require('mascon.host.complete').complete(session, line, cursor)
  end)
  return function(prompt)
    local line, signal = host.edit_read(prompt)
    if line and line:find('%S') then host.edit_history_add(line) end
    return line, signal
  end, history
end

---Lines until the syntax is complete; commands are run on the way.
---@return string|boolean|table|nil text the chunk; true when there is nothing to run; commands.QUIT; nil at the end
---@return integer? signal that ended the reading, 0 at the end of the input
local function read_chunk(session, read, prompt)
  local lines
  while true do
    local line, signal = read(prompt and (lines and CONTINUED or PROMPT) or '')
    if not line then
      if signal == 0 and lines then return table.concat(lines, '\n') end
      return nil, signal
    end
    if lines then
      lines[#lines + 1] = line
    else
      local done = commands.try(session, line)
      if done then return done end
      lines = { line }
    end
    local text = table.concat(lines, '\n')
    if not text:find('%S') then return true end
    local ok, chunk, _, unfinished = full.settle(session.compile, session, text)
    if not ok then error(chunk, 0) end
    if chunk or not unfinished then return text end
  end
end

---Reads and runs one chunk. Returns the exit status when the session is over, 0 at its regular end.
local function step(session, read, options)
  host.run_begin()
  session.signal = nil
  local ok, text, signal = pcall(read_chunk, session, read, options.prompt)
  if not ok then
    signal = host.signal()
    if not signal then error(text, 0) end
    text = nil
  elseif text == commands.QUIT then
    return 0
  elseif type(text) == 'string' then
    host.run_begin()
    session:run(text)
    io.stdout:flush()
  end
  if text ~= nil then return session.signal and 128 + session.signal end
  if options.prompt and (signal == 0 or signal == SIGINT and not options.edited) then session:say('') end
  if signal == SIGINT and options.prompt then return nil end
  return signal == 0 and 0 or 128 + signal
end

local function report_full(session) session:complain(full.report()) end

---@param options table prompt: print prompts; banner: greet on a terminal
---@return integer status
function M.main(options)
  local terminal = host.isatty(0) and host.isatty(1)
  local session = Session.new(terminal and host.isatty(2) and not os.getenv('NO_COLOR'))
  host.interactive = options.prompt
  local read, history
  if terminal then read, history = open_editor(session) end
  options.edited = read ~= nil
  if options.banner and terminal then
    session:say(('mascon %s, %s; help explains this prompt, ?name a name, Ctrl-D leaves'):format(host.version,
      (jit.version:gsub('%-beta.*', ''))))
  end
  local status
  local failures = 0
  repeat
    local ok, why = pcall(step, session, read or read_plain, options)
    if ok then
      status, failures = why, 0
    elseif full.is(why) and failures < MOST_FAILURES then -- outside of what the user's chunk runs
      failures = failures + 1
      if not full.settle(report_full, session) then full.last() end
    else
      error(why, 0)
    end
    pcall(full.again)
  until status
  if history then host.edit_history_save(history) end
  return status == 0 and not options.prompt and session.failed and 1 or status
end

return M
