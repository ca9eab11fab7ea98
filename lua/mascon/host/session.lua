-- session.lua - what the prompt remembers, and how it runs a chunk.
--
-- Holds the environment in which chunks run (their kept locals, the globals behind them, an error with the nearest name
-- for what is neither), the last results, the compilation of a chunk as an expression or as statements, and the form in
-- which values and errors are written. The library is loaded when `mc` is first read.

local host = require 'mascon.host'
local full = require 'mascon.host.full'
local locals = require 'mascon.host.locals'
local nearest = require 'mascon.host.nearest'
local show = require 'mascon.host.show'
local source = require 'mascon.host.source'
local traceback = require 'mascon.host.traceback'

local LAST_RESULTS = 9

---@class mascon.host.Session
---@field env table environment of the chunks; holds the kept locals
---@field failed boolean? an error was reported
---@field signal integer? the signal other than Ctrl-C that ended the last run
local Session = {}
Session.__index = Session

---Reads of names that are no kept local: globals, then `mc` and `help`, then an error that names the nearest name.
local function read_name(session, name)
  if session.kept[name] then return nil end
  local value = _G[name]
  if value ~= nil or session.globals[name] then return value end
  if name == 'mc' then
    local library = require 'mascon'
    session.kept.mc = true
    rawset(session.env, 'mc', library)
    return library
  end
  if name == 'help' then return require 'mascon.help' end
  local known = { 'mc', 'help' }
  for _, from in ipairs { session.env, _G } do
    for key in next, from do
      if type(key) == 'string' then known[#known + 1] = key end
    end
  end
  error(("undeclared name '%s'%s"):format(tostring(name), nearest.hint(tostring(name), known)), 3)
end

---Assignments: top-level locals stay in the session, everything else is a global of the state.
local function write_name(session, name, value)
  if session.fresh[name] or session.kept[name] then
    session.kept[name] = true
    rawset(session.env, name, value)
  else
    session.globals[name] = true
    _G[name] = value
  end
end

---@param colours boolean errors in red
---@return mascon.host.Session
function Session.new(colours)
  local session = setmetatable({
    colours = colours,
    kept = {}, -- names of top-level locals so far
    fresh = {}, -- and of those in the chunk at hand
    globals = {},
    standard = {},
    results = {},
    count = 0,
  }, Session)
  session.env = setmetatable({}, {
    __index = function(_, name)
      local value = read_name(session, name)
      return value
    end,
    __newindex = function(_, name, value) write_name(session, name, value) end,
  })
  for name in pairs(_G) do session.standard[name] = true end
  return session
end

---Names that the user made: sorted list of { name, value }.
function Session:own_names()
  local list = {}
  for name, value in next, self.env do
    if not name:find('^_%d?$') and name ~= 'mc' then list[#list + 1] = { name, value } end
  end
  for name, value in next, _G do
    if not self.standard[name] and type(name) == 'string' then list[#list + 1] = { name, value } end
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

---Makes `value` the newest of _ and _1.._9.
function Session:keep(value)
  if value == nil then return end
  table.insert(self.results, 1, value)
  self.results[LAST_RESULTS + 1] = nil
  self.kept._ = true
  rawset(self.env, '_', value)
  for i, result in ipairs(self.results) do
    self.kept['_' .. i] = true
    rawset(self.env, '_' .. i, result)
  end
end

---Whether the session or the globals have a value called `name`.
function Session:has(name)
  return rawget(self.env, name) ~= nil or rawget(_G, name) ~= nil
end

---------------------------------------------------------------------------------------------------- output

---One line, or several, on standard output.
function Session.say(_, text)
  io.stdout:write(text, '\n')
end

---An error on standard error, its first line in red on a terminal.
function Session:complain(text)
  io.stdout:flush()
  local first, rest = text:gsub('\n$', ''):match('^([^\n]*)(.*)$')
  if self.colours then first = '\27[31m' .. first .. '\27[0m' end
  io.stderr:write(first, rest, '\n')
  self.failed = true
end

---Prints packed values: side by side while each is one line.
function Session:print(values)
  if values.n == 0 then return end
  local width = host.width()
  local texts, short = {}, true
  for i = 1, values.n do
    texts[i] = show.value(values[i], width)
    if texts[i]:find('\n', 1, true) then short = false end
  end
  self:say(table.concat(texts, short and '\t' or '\n'))
end

---------------------------------------------------------------------------------------------------- running

local function identity(...)
  return ...
end

local function split(ok, ...)
  return ok, { n = select('#', ...), ... }
end

---Whether a value of package.loaded is the mark that require leaves where loading failed: light userdata, or what looks
---like a denormal number in the version of Debian 12.
local function is_mark(value)
  if type(value) == 'userdata' then return not debug.getmetatable(value) end
  return type(value) == 'number' and value < 0 and value > -1e-307
end

---A module whose loading failed (memory, Ctrl-C) may be loaded again.
local function forget_unfinished()
  for name, value in next, package.loaded do
    if is_mark(value) then package.loaded[name] = nil end
  end
end

---Calls fn(...); an error or a signal is reported.
---@param brief boolean without source lines
---@return table? values packed, nil after an error
function Session:guarded(brief, fn, ...)
  local ok, values = split(host.protected(fn, traceback.collect, ...))
  if ok then return values end
  local record = values[1]
  if full.is(record) then
    record = full.report()
  end
  if type(record) ~= 'table' or not record.frames then record = traceback.bare(record) end
  local signal, word = host.signal()
  if signal and traceback.is_signal(record.object, word) then
    if word ~= 'interrupted' then self.signal = signal end
    if word ~= 'broken pipe' then self:complain(traceback.stopped(record, word)) end
  else
    self:complain(traceback.report(record, brief))
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
  return message ~= nil and message:find("near '<eof>'%s*$") ~= nil
end

---As an expression list: its chunk is to be called with `identity`, for `return f(x)` would be a tail call, and an
---error in f would not know its line.
local function compile_expression(text, name, env)
  local plain, message = load('return ' .. text .. '\n', name, 't', env)
  if not plain then return nil, message end
  return load('return (...)(' .. text .. ')', name, 't', env) or load('return (...)(' .. text .. '\n)', name, 't', env)
    or plain
end

---As statements, with top-level locals handed to the session.
local function compile_statements(session, text, name)
  local chunk, message = load(text, name, 't', session.env)
  if not chunk then return nil, message end
  local rewritten, names = locals.persist(text)
  local persistent = #names > 0 and load(rewritten, name, 't', session.env)
  session.fresh = {}
  if not persistent then return chunk end
  for _, word in ipairs(names) do session.fresh[word] = true end
  return persistent
end

---Compiles `text` as an expression list or as statements.
---@return function? chunk, string|boolean message_or_muted, boolean? unfinished
function Session:compile(text)
  local name = ('=prompt[%d]'):format(self.count + 1)
  text = text:gsub('^%s*=', '')
  source.remember(name, text)
  local bare, muted = split_mute(text)
  local chunk, expression_message
  if bare:find('%S') then chunk, expression_message = compile_expression(bare, name, self.env) end
  if not chunk then
    local message
    chunk, message = compile_statements(self, text, name)
    -- a table over several lines is unfinished as an expression only
    if not chunk then return nil, message, at_end(message) or at_end(expression_message) end
    muted = false
  end
  if not host.breaks_compiled_code then jit.off(chunk, true) end
  return chunk, muted
end

---Compiles and calls `text`, keeps its first value and prints all of them unless muted.
function Session:run(text)
  local ok, chunk, muted = full.settle(self.compile, self, text)
  if not ok then error(chunk, 0) end
  self.count = self.count + 1
  forget_unfinished()
  if not chunk then return self:complain(muted) end
  local values = self:guarded(not text:find('\n', 1, true), chunk, identity)
  if not values then return end
  self:keep(values[1])
  if not muted then self:guarded(true, self.print, self, values) end
end

return Session
