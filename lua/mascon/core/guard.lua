-- guard.lua - the check in front of functions that are composed of others: arguments too many, and words for what they
-- do not take.
--
-- A function says what it takes in its annotations (---@param). They are read when a call fails in the library itself
-- (an index of nil, a conversion), never before: a call that is as it should be costs one protected call. Errors that
-- have words pass as they are.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local into = require 'mascon.core.into'
local place = require 'mascon.core.place'
local M = {}

local HERE = debug.getinfo(1, 'S').source
local MOST = 8 -- parameters of a function that is guarded by straight code

-- ---------------------------------------------------------------- what a function says it takes

--- Annotations of a function: name -> { type, text, optional }, from the lines above it.
local function annotations(f)
  local info, out = debug.getinfo(f, 'S'), {}
  local file = info.source:sub(1, 1) == '@' and io.open(info.source:sub(2), 'rb')
  if not file then return out end
  local list = {}
  for line in file:lines() do
    list[#list + 1] = line
    if #list == info.linedefined then break end
  end
  file:close()
  for i = #list - 1, 1, -1 do
    if not list[i]:find '^%s*%-%-' then break end
    local name, optional, rest = list[i]:match '^%s*%-%-%-@param%s+([%w_]+)(%??)%s+(.*)$'
    if name then
      local kind, text = rest:match '^(fun%b()%S*)%s*(.*)$'
      if not kind then kind, text = rest:match '^(%b{}%S*)%s*(.*)$' end
      if not kind then kind, text = rest:match '^(%S+)%s*(.*)$' end
      out[name] = { kind or 'any', text or '', optional == '?' or (kind or ''):find('nil', 1, true) ~= nil }
    end
  end
  return out
end

local LUA = { string = 'string', boolean = 'boolean', number = 'number', ['function'] = 'function', table = 'table' }

--- Whether a value is of an annotated type.
local function fits(v, kind, text)
  for one in (kind .. '|'):gmatch '([^|]*)|' do
    if one == 'any' then
      local of_numbers = text:find '[fciu]%d%d' or text:find '%['
      if not of_numbers or tensor.is(v) or type(v) ~= 'function' and type(v) ~= 'string' then return true end
    elseif one == 'mc.tensor' or one == 'mascon.Tensor' then
      if tensor.is(v) or type(v) == 'number' or type(v) == 'table' or type(v) == 'cdata' then return true end
    elseif one == 'integer' then
      if type(v) == 'number' and v % 1 == 0 then return true end
    elseif one:find '^fun%(' then
      if type(v) == 'function' or type(v) == 'table' then return true end
    elseif LUA[one] then
      if type(v) == LUA[one] then return true end
    elseif type(v) == 'table' then return true end -- lists, records, objects
  end
  return false
end

local CALLABLE = setmetatable({}, { __mode = 'k' })
--- Whether a function takes a function in place i: errors of that are not looked at. A place that its list does not
--- name may.
local function calls_back(f, i)
  local places = CALLABLE[f]
  if not places then
    places = {}
    local notes = annotations(f)
    for k = 1, debug.getinfo(f, 'u').nparams do
      local a = notes[debug.getlocal(f, k)]
      places[k] = a ~= nil and a[1]:find('fun', 1, true) ~= nil
    end
    CALLABLE[f] = places
  end
  return places[i] ~= false
end

--- The same for any of the arguments given.
local function any_calls_back(f, ...)
  for i = 1, select('#', ...) do
    if type((select(i, ...))) == 'function' and calls_back(f, i) then return true end
  end
  return false
end

--- Where in the library an error of Lua's own came up.
local function stopped(raw) return raw:match '([^/]*/[^/]*%.lua:%d+):' or '?' end

local function shown(v) return tensor.is(v) and tensor.describe(v) or check.show(v) end

--- Why a call failed, in words.
local function words(name, f, raw, args, n)
  local notes = annotations(f)
  for i = 1, n do
    local what = debug.getlocal(f, i)
    local a, v = notes[what], args[i]
    local wanted = a and (a[1] .. ' ' .. a[2]):gsub('%s+$', '')
    if a and v == nil and not a[3] then return ('%s: %s is missing; it takes %s'):format(name, what, wanted) end
    if a and v ~= nil and not fits(v, a[1], a[2]) then
      return ('%s: %s is %s; it takes %s'):format(name, what, shown(v), wanted)
    end
  end
  local list = {}
  for i = 1, n do list[i] = shown(args[i]) end
  while list[n] == 'nil' do
    list[n] = nil
    n = n - 1
  end
  return ('%s: it cannot be called with (%s); help says what it takes (it stopped at %s)'):format(name,
    table.concat(list, ', '), stopped(raw))
end

local RAW = {
  'attempt to ', 'bad argument #', 'cannot convert ', "has no member named '",
  'wrong number of arguments for function call', 'table index is ', "'for' ",
}
--- Whether an error is one of Lua's own, raised inside the library.
local function is_raw(why)
  if type(why) ~= 'string' then return false end
  local source, text = why:match '^(.-%.lua):%d+: (.*)$'
  if source and not check.inside(source) then return false end
  text = text or why:match '^bad argument #%d+ to .*' -- of a function that was called last of all: Lua names no place
  if not text then return false end
  for _, start in ipairs(RAW) do if text:find(start, 1, true) then return true end end
  return false
end

-- ---------------------------------------------------------------- in front of a function

--- What a device has no form for is an op: under the name of the function that was called.
local function as_called(name, why)
  local line, inner, device = why:match '^(.-)([%w_]+): it has no form for (.*)$'
  local plain = name:match '[%w_]*$'
  if line and inner ~= plain then return ('%s%s: %s has no form for %s'):format(line, name, inner, device) end
  local before, op, after = why:match '^(.-)([%w_]+): (the size of its result depends on values.*)$'
  return before and op ~= plain and ('%s%s: %s'):format(before, name, after) or why
end

--- Raises an error again. One raised with a level counted by hand found the guard in the place of the caller: it blames
--- the line of the script now.
local function again(name, why)
  if type(why) == 'string' then
    why = as_called(name, why)
    local source, text = why:match '^([^\n:]-%.lua):%d+: (.*)$'
    if source and check.named(source, HERE) then why, source = text, nil end
    if not source and not why:find '^[^\n:]*:%d+: ' then check.error(why, 4) end
  end
  error(why, 0)
end

local function after(name, f, ok, ...)
  if ok then return ... end
  local why = ...
  if is_raw(why) then
    check.error(('%s: its arguments are not what it takes; see help (it stopped at %s)'):format(name, stopped(why)), 3)
  end
  again(name, why)
end

local makers = {}
--- Writes out the guard of a function of n parameters.
local function maker(n)
  local names, functions = {}, {}
  for i = 1, n do
    names[i] = 'a' .. i
    functions[i] = ("type(a%d) == 'function' and calls_back(f, %d)"):format(i, i)
  end
  local list = table.concat(names, ', ')
  local text = ([[
local name, f, pcall, type, is_raw, words, again, blame, calls_back, too_many = ...
local function after(@LIST@COMMA ok, ...)
  if ok then return ... end
  local why = ...
  if is_raw(why) then blame(words(name, f, why, { @LIST }, @N), 3) end
  again(name, why)
end
return function(@LIST@COMMA extra)
  if extra ~= nil then too_many(name, f, extra, @N@COMMA @LIST) end
  if @FUNCTIONS then return f(@LIST) end
  return after(@LIST@COMMA pcall(f@COMMA @LIST))
end]]):gsub('@(%u+)', {
    LIST = list, COMMA = n > 0 and ',' or '', N = n, FUNCTIONS = n > 0 and table.concat(functions, ' or ') or 'false',
  })
  if n == 0 then text = text:gsub('pcall%(f, *%)', 'pcall(f)') end
  return assert(loadstring(text, HERE))
end

--- Whether a table holds things by name, as options and parameters do.
local function by_name(v) return type(v) == 'table' and getmetatable(v) == nil and v[1] == nil and next(v) ~= nil end

--- n: how many the function f takes.
local function too_many(name, f, v, n, first)
  local advice = debug.getlocal(f, n) == 'opts' and '; options stand in one table, { name = value }' or ''
  if n == 1 and by_name(first) and by_name(v) then advice = '; it takes one table of options, and nothing before it'
  elseif n == 1 and type(v) == 'table' then advice = ('; several things go in one list, %s{ ... }'):format(name) end
  check.error(('%s: %s is one argument too many%s'):format(name, shown(v), advice), 3)
end

local made = setmetatable({}, { __mode = 'k' })

local function ended(ok, ...)
  place.withdraw()
  if ok then return ... end
  error((...), 0)
end

--- The guard of a function that makes tensors: a call of the script inside mc.with_device offers the device to it.
local function placed(g)
  return function(...)
    if not place.name then return g(...) end
    local caller = debug.getinfo(2, 'f') -- none: the function of a coroutine called it last of all
    if caller and check.library(caller.func) then return g(...) end
    place.offer()
    return ended(pcall(g, ...))
  end
end

--- A function with its check in front. name: as messages say it.
---@param name string
---@param f function
---@return function
function M.of(name, f)
  if made[f] then return made[f] end
  local info = debug.getinfo(f, 'uS')
  local g
  if info.what == 'C' or into.behind[f] then return f end
  if info.isvararg or info.nparams > MOST then
    g = function(...)
      if any_calls_back(f, ...) then return f(...) end
      return after(name, f, pcall(f, ...))
    end
  else
    makers[info.nparams] = makers[info.nparams] or maker(info.nparams)
    g = makers[info.nparams](name, f, pcall, type, is_raw, words, again, check.error, calls_back, too_many)
  end
  if place.makers[f] then g = placed(g) end
  into.behind[g], made[f], made[g] = f, g, g
  return g
end

local method_makers = {}
--- Writes out the guard of a method of n parameters.
local function method_maker(n, vararg)
  local names = {}
  for i = 1, math.max(n, 1) do names[i] = 'a' .. i end
  local list = table.concat(names, ', ')
  return assert(loadstring(([[
local name, f, ct, istype, blame, show, too_many = ...
return function(%s, @)
  if not istype(ct, a1) then
    blame(('%%s: the operand is %%s; give a tensor (a method is called with a colon, x:%%s(...))'):format(name,
      show(a1), name), 2)
  end
  !
  return f(%s?)
end]]):format(list, list):gsub('[@!?]', vararg and { ['@'] = '...', ['!'] = '', ['?'] = ', ...' }
    or { ['@'] = 'extra', ['!'] = ('if extra ~= nil then too_many(name, f, extra, %d) end'):format(
      math.max(n, 2)), ['?'] = '' }), HERE))
end

--- The same for methods of tensors: what stands in front of the colon is a tensor.
---@param name string
---@param f function
---@return function
function M.method(name, f)
  if made[f] then return made[f] end
  local info = debug.getinfo(f, 'uS')
  if info.what == 'C' or (info.nparams < 1 and not info.isvararg) or info.nparams > MOST then return f end
  local kind = info.isvararg and -1 - info.nparams or info.nparams
  method_makers[kind] = method_makers[kind] or method_maker(info.nparams, info.isvararg)
  local g = method_makers[kind](name, f, tensor.ct, tensor.istype, check.error, shown, too_many)
  into.behind[g], made[f], made[g] = f, g, g
  return g
end

--- Guards the functions of a table in place, but those of `apart` (a set of functions).
---@param prefix string as messages name them
---@param t table
---@param apart? table
---@return table t
function M.all(prefix, t, apart)
  for name, f in pairs(t) do
    if type(f) == 'function' and not (apart and apart[f]) then t[name] = M.of(prefix .. name, f) end
  end
  return t
end

--- The same for the methods of a class, those of its metatable (__) and private ones (_) apart.
---@param name string of an object of it, as messages say it
---@param class table
---@return table class
function M.class(name, class)
  for k, f in pairs(class) do
    if type(f) == 'function' and k:sub(1, 1) ~= '_' then class[k] = M.of(name .. ':' .. k, f) end
  end
  return class
end

into.guard = M.of

return M
