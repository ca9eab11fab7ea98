-- traceback.lua - what a user reads when a script fails.
--
-- First `file:line: message`, then three lines of source around the innermost line of the user's own code, then the
-- frames of the user's code. Frames of our library are folded to one line unless MASCON_TRACEBACK=full; frames of the
-- host never show. Holds the form of the report.

local host = require 'mascon.host'
local source = require 'mascon.host.source'

local M = {}

local MAX_FRAMES = 22 -- of a stack overflow show this many, half from each end
local ECANCELLED = 7 -- status of a library call that Ctrl-C stopped
local HIDDEN_C = { error = true, assert = true, pcall = true, xpcall = true, require = true, protected = true,
  held = true }

---The library module a source belongs to ("mascon.signal"), or nil for the user's code.
local function module_of(chunk)
  for _, folder in ipairs { host.luadir, host.generated } do
    if chunk:sub(1, #folder + 2) == '@' .. folder .. '/' then
      return (chunk:sub(#folder + 3):gsub('%.lua$', ''):gsub('/init$', ''):gsub('/', '.'))
    end
  end
end

local function frame_name(info)
  if info.what == 'main' then return 'in main chunk' end
  if info.name then return ("in %s '%s'"):format(info.namewhat == 'method' and 'method' or 'function', info.name) end
  return ('in function at line %d'):format(info.linedefined)
end

---Message handler for xpcall: keeps the error object and the stack at the moment of the error.
---@param object any
---@return table record object; frames, innermost first; places: modules of ours on the stack by their file's short
---name
function M.collect(object)
  local frames, places = {}, {}
  local level = 2
  while true do
    local info = debug.getinfo(level, 'Sln')
    if not info then break end
    local module = module_of(info.source)
    if module then places[info.short_src] = module end
    if module and module:find('^mascon%.host%.') then
      if #frames > 0 and module:find '%.runner$' then break end
    else
      frames[#frames + 1] = {
        source = info.source,
        where = info.what ~= 'C' and ('%s:%d'):format(info.short_src, info.currentline) or '[C]',
        line = info.currentline,
        what = info.what,
        name = info.name,
        text = info.what ~= 'C' and frame_name(info) or ("in function '%s'"):format(info.name or '?'),
        module = module,
      }
    end
    level = level + 1
  end
  return { object = object, frames = frames, places = places }
end

---The record of an error for which the handler failed (out of memory) or was not called: LuaJIT finds the end of the
---stack inside compiled recursion and unwinds without a word.
function M.bare(object)
  if object == 'stack overflow' then
    object = 'stack overflow: a function calls itself without end; compiled code leaves no trace of it, MASCON_JIT=off '
      .. 'shows the place'
  end
  return { object = object, frames = {} }
end

-- plain Lua functions that a tensor is given by mistake, and what does it with tensors; the rest of math has the same
-- name there
local TENSOR_SPELLING = {
  max = 'mc.maximum(x, y) or x:max()', min = 'mc.minimum(x, y) or x:min()', format = 'mc.format',
  concat = 'x:totable()', unpack = 'unpack(x:totable())', next = 'x:totable()', insert = 'mc.concat', sort = 'mc.sort',
  rad = 'mc.deg2rad', deg = 'mc.rad2deg', random = 'mc.rand', rep = 'mc.tile',
}

---The sentence behind an error of a plain Lua function that was given a tensor (which it calls a cdata), or nothing.
local function tensor_hint(text)
  local name = text:match "bad argument #%d+ to '([%w_]+)' %([%w_ ]+ expected, got cdata%)"
  if not name then return '' end
  local spelling = TENSOR_SPELLING[name] or (math[name] and 'mc.' .. name)
  return ('; for a tensor %sx:item() gives the number of one element'):format(spelling
    and 'use ' .. spelling .. '; ' or '')
end

---The method that was meant, behind Lua's words for one that an object lacks; nothing where none of the classes that
---are loaded has one of about this name.
local function method_hint(text)
  local name = text:match "attempt to call method '([%w_]+)' %(a nil value%)$"
  local check, names = package.loaded['mascon.core.check'], {}
  if not name or not check then return '' end
  for file, class in pairs(package.loaded) do
    local methods = file:find '^mascon%.' and type(class) == 'table' and rawget(class, 'methods')
    for k in pairs(type(methods) == 'table' and methods or {}) do names[tostring(k)] = true end
  end
  local near = check.nearest(name, names)
  local start = math.ceil(#name / 2)
  if not near or near:sub(1, start) ~= name:sub(1, start) then return '' end
  return ('; did you mean %s?'):format(near)
end

---The error object as text, and whether it may be given a place.
local function object_text(object)
  local kind = type(object)
  if kind == 'string' then return object .. tensor_hint(object) .. method_hint(object) end
  if kind == 'number' then return tostring(object) end
  local meta = getmetatable(object)
  if kind == 'cdata' or (type(meta) == 'table' and rawget(meta, '__tostring')) then
    local ok, text = pcall(tostring, object)
    if ok and type(text) == 'string' then return text end
  end
  if kind == 'table' then
    local message = rawget(object, 'message')
    if type(message) == 'string' then return message end
    return '(error object is a table without message)'
  end
  return ('(error object is a %s value)'):format(kind)
end

---Whether an error object is the one that the signal called `word` raised (coroutine.wrap puts a place before it), or
---what a library call that stopped because of it returned.
---@param object any
---@param word string
---@return boolean
function M.is_signal(object, word)
  if type(object) == 'table' then return rawget(object, 'status') == ECANCELLED end
  return type(object) == 'string' and object:sub(-#word) == word
end

---The innermost frame of the user's own code.
local function user_frame(record)
  for _, frame in ipairs(record.frames) do
    if not frame.module and frame.what ~= 'C' and frame.line > 0 then return frame end
  end
end

---First line of the report.
function M.message(record)
  local text = object_text(record.object)
  local frame = user_frame(record)
  if not frame then return text end
  local place, line, rest = text:match('^([^\n]-):(%d+): (.*)$')
  if not place then return frame.where .. ': ' .. text end
  local module = record.places and record.places[place]
  if not module then return text end
  -- a place in the host comes from an error level that a tail call made too high; one in the library is for its
  -- authors
  if module:find('^mascon%.host%.') then return ('%s: %s'):format(frame.where, rest) end
  return ('%s: (%s:%s) %s'):format(frame.where, module, line, rest)
end

---Three lines of source around `number`, the middle one marked; an empty list when the source is not at hand.
local function context(chunk, number)
  local lines = {}
  local width = #tostring(number + 1)
  for i = number - 1, number + 1 do
    local text = i > 0 and source.line(chunk, i)
    if text then
      lines[#lines + 1] = ('%s %' .. width .. 'd | %s'):format(i == number and '>' or ' ', i, text)
    end
  end
  return lines
end

--- Frames of the stack; those of a run that was stopped only where they say more than the place does: the library is
--- no part of the question.
local function add_frames(lines, frames, brief)
  local count = 0
  for _, frame in ipairs(frames) do count = count + (frame.what ~= 'C' and not (brief and frame.module) and 1 or 0) end
  if count < (brief and 2 or 1) then return end -- a single frame of a line at the prompt says nothing new
  local full = os.getenv('MASCON_TRACEBACK') == 'full'
  local shown = {}
  local i = 1
  while i <= #frames do
    local frame = frames[i]
    if frame.module and not full then
      local first = i
      while frames[i + 1] and (frames[i + 1].module or frames[i + 1].what == 'C') do i = i + 1 end
      while frames[i].what == 'C' and i > first do i = i - 1 end
      local inner = i - first + 1
      shown[#shown + 1] = ('  (%d frame%s in %s)'):format(inner, inner == 1 and '' or 's', frame.module)
    elseif full or frame.what ~= 'C' then
      shown[#shown + 1] = ('  %s: %s'):format(frame.where, frame.text)
    elseif frame.name and not HIDDEN_C[frame.name] then
      shown[#shown + 1] = '  [C]: ' .. frame.text
    end
    i = i + 1
  end
  local skipped = #shown - MAX_FRAMES
  for k, text in ipairs(shown) do
    if skipped <= 0 or k <= MAX_FRAMES / 2 or k > MAX_FRAMES / 2 + skipped then
      lines[#lines + 1] = text
    elseif k == MAX_FRAMES / 2 + 1 then
      lines[#lines + 1] = ('  ... (%d more)'):format(skipped)
    end
  end
end

---Whole report of a failed run, ending in a newline.
---@param record table from collect
---@param brief? boolean without source lines: the place says enough, nothing is wrong with it
---@return string
function M.report(record, brief)
  local object = record.object
  if type(object) == 'table' and rawget(object, 'outside') then return 'mascon: ' .. object_text(object) .. '\n' end
  local lines = { M.message(record) }
  local frame = user_frame(record)
  if frame and not brief then
    for _, line in ipairs(context(frame.source, frame.line)) do lines[#lines + 1] = line end
  end
  add_frames(lines, record.frames, brief)
  return table.concat(lines, '\n') .. '\n'
end

---Report of a run that a signal stopped: one sentence, and the frames where they say more than the place.
---@param record table from collect
---@param word string of the signal
function M.stopped(record, word)
  local frame = user_frame(record)
  local lines = { ('mascon: %s%s'):format(word, frame and ' at ' .. frame.where or '') }
  add_frames(lines, record.frames, true)
  return table.concat(lines, '\n') .. '\n'
end

---Report of a chunk that does not compile.
---@param message string from load
---@param chunk string its chunk name
function M.syntax(message, chunk)
  local lines = { message }
  local number = tonumber(message:match(':(%d+): '))
  if number then
    for _, line in ipairs(context(chunk, number)) do lines[#lines + 1] = line end
  end
  return table.concat(lines, '\n') .. '\n'
end

return M
