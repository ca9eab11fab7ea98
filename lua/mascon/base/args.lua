-- args.lua - command lines of scripts, declared once: parsing, checking, --help.
--
-- Reads `--name value`, `--name=value`, flags and positional words.
local check = require 'mascon.core.check'
local place = require 'mascon.core.place'
local devices = require 'mascon.core.devices'
local tensor = require 'mascon.core.tensor'
local M = {}

--- Ends the program with what was asked for on standard output.
local function answer(text)
  io.write(text, '\n')
  os.exit(0)
end

local function usage_error(spec, fmt, ...)
  io.stderr:write((spec.name or 'script') .. ': ' .. fmt:format(...) .. '\n')
  os.exit(2)
end

--- A finite number; nan and inf mean nothing on a command line.
local function finite(v)
  local n = tonumber(v)
  return n and n - n == 0 and n or nil
end

--- "1,2.5" or "2-20" as numbers; nil where anything else stands between them.
local function numbers(text)
  local out, at = {}, 1
  while at <= #text do
    local from, to = text:find('^%s*[-+]?[%d.]+[eE]?[-+]?%d*%s*', at)
    local n = from and finite(text:sub(from, to))
    if not n then return nil end
    out[#out + 1], at = n, to + 1
    if at <= #text and text:find('^[,:;]', at) then at = at + 1 end
  end
  return out
end

--- The pieces of "a=1,b=[2,3]": commas within brackets, braces and quotes are of the value.
local function pieces(text)
  local out, depth, quote, from, last = {}, 0, nil, 1, ''
  for i = 1, #text do
    local c = text:sub(i, i)
    if quote then quote = c ~= quote and quote or nil
    elseif (c == '"' or c == "'") and last:find '[=,:%[{]' then quote = c
    elseif c:find '[%[{]' then depth = depth + 1
    elseif c:find '[%]}]' then depth = depth - 1
    elseif c == ',' and depth == 0 then
      out[#out + 1] = text:sub(from, i - 1)
      from = i + 1
    end
    if c ~= ' ' then last = c end
  end
  out[#out + 1] = text:sub(from)
  return out
end

local READ = {
  number = finite,
  integer = function(v)
    local n = finite(v)
    return n and n == math.floor(n) and n or nil
  end,
  natural = function(v)
    local n = finite(v)
    return n and n == math.floor(n) and n >= 0 and n or nil
  end,
  count = function(v)
    local n = finite(v)
    return n and n == math.floor(n) and n >= 1 and n or nil
  end,
  string = function(v) return v end,
  range = function(v)
    local a, b = v:match '^%s*([%d.]+)%s*[-,:]%s*([%d.]+)%s*$'
    return a and { tonumber(a), tonumber(b) } or nil
  end,
  list = function(v)
    local out = {}
    for word in v:gmatch '[^,]+' do out[#out + 1] = word end
    return #out > 0 and out or nil
  end,
  settings = pieces,
  named = function(v)
    local out = {}
    for word in v:gmatch '[^,]+' do
      local name, value = word:match '^(.-)=(.+)$'
      if not name or name == '' or out[name] then return nil end
      out[name] = value
    end
    return next(out) and out or nil
  end,
  numbers = function(v)
    local out = numbers(v)
    return out and #out > 0 and out or nil
  end,
}
local WORDS = { number = 'a number', integer = 'a whole number',
  natural = 'a whole number from 0', count = 'a whole number from 1', range = 'two numbers such as 2-20',
  list = 'words such as A,B',
  settings = 'settings such as A=X,B=[Y,Z]',
  named = 'words such as A=X,B=Y, each name once', numbers = 'numbers such as 1,2.5' }
local SHOW = { number = 'X', integer = 'N', natural = 'N', count = 'N', string = 'TEXT',
  range = 'LO-HI', list = 'A,B,...', settings = 'A=X,B=Y,...', named = 'A=X,B=Y,...', numbers = 'X,Y,...' }

--- The options of a command: those that name it in `of`.
local function of_command(spec, command)
  if not command then return spec.options end
  local out = {}
  for _, o in ipairs(spec.options) do
    if not o.unlisted and (' ' .. o.of .. ' '):find(' ' .. command .. ' ', 1, true) then out[#out + 1] = o end
  end
  return out
end

--- Text of --help. spec.commands: a list of { name, text }, of which each has a help of its own, and the first is that
--- of a line without a command; spec.footer: a text, or a function that gives it for a command. An option of a command
--- may have another text there (texts = { COMMAND = text }), or none at all (unlisted = true).
---@param spec table as for parse
---@param command? string
---@return string
function M.help(spec, command)
  local out = { spec.usage, '', spec.about, '' }
  local width = 0
  local left = {}
  if spec.commands then
    local wide = 10
    for _, c in ipairs(spec.commands) do wide = math.max(wide, #c[1]) end
    for _, c in ipairs(spec.commands) do
      if not command or command == c[1] then
        out[#out + 1] = '  ' .. c[1] .. (' '):rep(wide - #c[1] + 1) .. c[2]
      end
    end
    if not command then
      out[#out + 1] = '  COMMAND --help lists the options of a command.'
      command = spec.commands[1][1]
    end
    out[#out + 1] = ('\nOptions of %s:'):format(command)
  end
  local options = of_command(spec, spec.commands and command)
  for i, o in ipairs(options) do
    local kind = o[2]
    local value = kind == 'flag' and '' or type(kind) == 'table' and ' ' .. table.concat(kind, '|')
      or ' ' .. (o.value or SHOW[kind])
    if type(kind) == 'table' and #value > 24 then value = ' NAME' end
    left[i] = '  --' .. o[1]:gsub('_', '-') .. value
    width = math.max(width, #left[i])
  end
  for i, o in ipairs(options) do
    local text = o.texts and o.texts[command] or o[3]
    if type(o[2]) == 'table' and left[i]:find ' NAME$' then text = text .. ': ' .. table.concat(o[2], ', ') end
    if o.default ~= nil then
      text = text .. (' (%s)'):format(type(o.default) == 'table' and table.concat(o.default, '-')
        or tostring(o.default))
    end
    out[#out + 1] = left[i] .. (' '):rep(width - #left[i] + 2) .. text
  end
  local footer = type(spec.footer) == 'function' and spec.footer(command) or spec.footer
  if footer then out[#out + 1] = '\n' .. footer end
  return table.concat(out, '\n')
end

--- The command that a line begins with, nil for none.
local function command_of(spec, argv)
  for _, c in ipairs(spec.commands or {}) do if argv[1] == c[1] then return c[1] end end
end

--- Parses `argv` by a declaration { name=, usage=, about=, options = { { name, kind, text, default= } ... }, positional
--- = max }.
--- Prints --help or an error and exits (2) on a wrong line.
---     local o = mc.args.parse({ 'a.edf', '--top', '3' }, { name = 'demo', positional = 1, options = { { 'top',
---       'integer', 'rows', default = 10 } } })
---     o[1], o.top  --> a.edf, 3
---     local spec = { name = 'demo', options = { { 'set', 'settings', 'keys' } } }
---     mc.args.parse({ '--set', 'a=[1,2],b=3', '--set', 'c=4' }, spec).set  --> { "a=[1,2]", "b=3", "c=4" }
---@return table options by name (underscores), and positional words by number
---@return table<string, boolean> names of the options that stand on the line
function M.parse(argv, spec)
  local known, names, out, given = {}, {}, {}, {}
  for _, o in ipairs(spec.options) do
    known[o[1]] = o
    names[o[1]:gsub('_', '-')] = true
    out[o[1]] = o.default
  end
  names.help = true
  local i, literal = 1, false
  while argv[i] do
    local word = argv[i]
    if not literal and (word == '--help' or word == '-h') then answer(M.help(spec, command_of(spec, argv)))
    elseif not literal and word == '--' then literal = true -- what follows are words, also those with dashes
    elseif not literal and word:sub(1, 2) == '--' then
      local name, value = word:match '^%-%-([^=]*)=?(.*)$'
      local has = word:find('=', 1, true) ~= nil
      local o = known[(name:gsub('-', '_'))]
      if not o then
        local near = check.nearest(name, names)
        usage_error(spec, 'option --%s is unknown%s; --help lists them', name,
          near and (', did you mean --%s?'):format(near) or '')
      end
      if o[2] == 'flag' then
        if has then usage_error(spec, '--%s takes no value', name) end
        out[o[1]], given[o[1]] = true, true
      else
        if not has then
          i = i + 1
          value = argv[i]
          if value == nil then usage_error(spec, '--%s needs a value', name) end
        end
        if value == '' then
          local wanted = type(o[2]) == 'table' and 'a word' or o.value or WORDS[o[2]] or 'a text'
          usage_error(spec, '--%s is empty; give %s, or leave it out', name, wanted)
        end
        local v
        given[o[1]] = true
        if type(o[2]) == 'table' then
          for _, c in ipairs(o[2]) do if c == value then v = value end end
          if not v then usage_error(spec, '--%s is %q; choose %s', name, value, table.concat(o[2], ', ')) end
        else
          v = READ[o[2]](value)
          if v == nil then
            local counts = (o[2] == 'count' or o[2] == 'natural') and WORDS[o[2]]
            usage_error(spec, '--%s is %q; give %s', name, value,
              counts or o.value or WORDS[o[2]] or 'a text')
          end
        end
        if o[2] == 'settings' then -- those of several options hold together
          local all = out[o[1]] or {}
          for _, piece in ipairs(v) do all[#all + 1] = piece end
          v = all
        end
        out[o[1]] = v
      end
    else
      if word == '' then usage_error(spec, 'a word is empty; give a name, or leave it out') end
      if #out >= (spec.positional or 0) then usage_error(spec, 'unexpected word %q; --help shows the usage', word) end
      out[#out + 1] = word
    end
    i = i + 1
  end
  return out, given
end

--- Refuses options that stand on the line and that this run would not use.
---     mc.args.unused({ top = true }, { 'tmin' }, 'for recordings')  --> nothing
---@param given table<string, boolean> as parse gives it
---@param names string[] of options without effect in this run
---@param why string what follows "is" or "are": what they are for
function M.unused(given, names, why)
  check.arg('args.unused', 'given', given, 'table', 3)
  check.arg('args.unused', 'names', names, 'table', 3)
  check.arg('args.unused', 'why', why, 'string', 3)
  local list = {}
  for _, name in ipairs(names) do
    if given[name] then list[#list + 1] = '--' .. name:gsub('_', '-') end
  end
  if #list == 0 then return end
  local last = table.remove(list)
  error(#list == 0 and ('%s is %s'):format(last, why)
    or ('%s and %s are %s'):format(table.concat(list, ', '), last, why), 0)
end

--- Refuses options that stand on the line and have no effect under the settings of this run.
---
--- An option names the settings under which it does something (`of = 'drawn search'`: any of them), spec.settings says
--- in words what each is, and facts which hold. A setting that facts leave out is not known yet and refuses nothing.
---     local spec = { options = { { 'top', 'count', 'rows', of = 'table' } }, settings = { table = '--table' } }
---     mc.args.refuse(spec, {}, { table = false })  --> nothing
---@param spec table as for parse, with settings
---@param given table<string, boolean> as parse gives it
---@param facts table<string, boolean> settings of this run
function M.refuse(spec, given, facts)
  local groups, order = {}, {}
  for _, o in ipairs(spec.options) do
    local holds, words = not o.of, {}
    for name in (o.of or ''):gmatch '%S+' do
      holds = holds or facts[name] ~= false
      words[#words + 1] = spec.settings[name]
    end
    if not holds and given[o[1]] then
      local why = 'for ' .. table.concat(words, ', or for ')
      if not groups[why] then
        groups[why] = {}
        order[#order + 1] = why
      end
      table.insert(groups[why], o[1])
    end
  end
  for _, why in ipairs(order) do
    M.unused(given, groups[why], ('%s; leave %s out'):format(why, #groups[why] > 1 and 'them' or 'it'))
  end
end

--- Words that follow a peak of the host's memory in a forecast, on that of the devices.
---     mc.args.there('cpu') == ''  --> true
---@param device string|string[]|nil as M.device gives it
---@param bytes number|nil on each device; nil: not known
---@return string "" where there is no device
function M.there(device, bytes)
  if device == nil or device == 'cpu' then return '' end
  local many = type(device) == 'table' and device[2] ~= nil
  local name = type(device) == 'table' and table.concat(device, ', ') or device
  return bytes and (' of the host, at most about %.1f MiB on %s%s'):format(bytes / 2 ^ 20, many and 'each of ' or '',
    name) or (' of the host; that of %s is not known'):format(name)
end

--- The device that an option --device names, or MASCON_DEVICE where the option is left out, and a line that says so.
---     mc.args.device 'cpu'  --> cpu
---@param text string|nil value of the option; 'auto': what mc.choose_device gives
---@return string|table|nil name a list of names where commas part several; nil where nothing is said
---@return string|nil line for the user, where it is another one than the CPU or 'auto' chose it
--- Errors: a device that is not there; several of different kinds.
function M.device(text)
  if text ~= nil then check.arg('args.device', 'text', text, 'string', 3) end
  local list = text and text:find(',', 1, true) and READ.list(text)
  if list then return list, 'device: ' .. devices.names(devices.numbers('--device', list, 0)) end
  if text == nil and place.of_analysis() == 'cpu' then return nil end
  local name, why
  if text == nil or text == 'auto' then
    tensor.device_number('--device', 'auto', 0) -- the word is used, not asked about: tensor.device_auto
    name, why = tensor.device_auto(0)
  else
    name = tensor.device_name(tensor.device_number('--device', text, 0))
  end
  if name == 'cpu' and text ~= 'auto' then return name end
  return name, ('device: %s%s'):format(name, why and ', ' .. why or '')
end

--- The word of the signal that an error comes from: "interrupted" (Ctrl-C) or "terminated"; nil for other errors.
---     mc.args.stopped 'no such file'  --> nothing
---@param why any as pcall gives it
---@return string|nil
---@return integer|nil status of a program that it ends
M.stopped = check.stopped

--- Calls f(...) while a first Ctrl-C or SIGTERM waits for its end, as when finished work is written; a second one ends
--- it. The signal is told and not raised any more: the caller ends the program with the status of `stopped(word)`.
---     mc.args.held(function() return 7 end)  --> nil, 7
---@param f function
---@return string|nil word of the signal that came meanwhile
---@return any what f gives
function M.held(f, ...)
  check.arg('args.held', 'f', f, 'function', 3)
  return check.held(f, ...)
end

--- Runs a script's body: an error becomes one line on stderr and exit status 1, Ctrl-C and SIGTERM a line and 130, 143.
--- MASCON_TRACEBACK=full shows where.
---@param name string of the script, for the message
---@param body function
function M.run(name, body)
  if os.getenv 'MASCON_TRACEBACK' == 'full' then return body() end
  local ok, why = pcall(body)
  if ok then return end
  local word, status = check.stopped(why)
  if word == 'broken pipe' then error(word, 0) end -- nobody reads: the program ends without a word
  if word then
    io.stdout:flush()
    io.stderr:write(('%s: %s before the end; no incomplete results were written\n'):format(name, word))
    os.exit(status)
  end
  if type(why) ~= 'string' then error(why, 0) end
  local text = why:gsub('^[^\n:]*%.lua:%d+: ', '')
  if text == 'not enough memory' then -- of the program itself; that of tensors says more
    text = text .. ': the process reached the limit of its memory; raise it (ulimit -v), or free memory of the machine'
  end
  if text:sub(1, #name + 2) ~= name .. ': ' then text = name .. ': ' .. text end
  io.stderr:write(text, '\n')
  os.exit(1)
end

return M
