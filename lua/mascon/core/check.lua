-- check.lua - options and arguments, checked once with the same words everywhere.
--
-- Holds the nearest-name search, the option types, and whom an error blames: the innermost line outside the library,
-- found by walking the stack, since levels counted by hand go wrong with every tail call.
local keys = require 'mascon.core.keys'
local M = {}

local raise, getinfo = error, debug.getinfo
-- "@/somewhere/lua/mascon/": what stands below is the library, its programs (host) apart; so are the workflows
local HOME = getinfo(1, 'S').source:match '^(.*mascon/)core/check%.lua$' or '@?'
local homes = { HOME, (HOME:gsub('mascon/$', 'workflows/')) }

local function library(source)
  for i = 1, #homes do
    if source:sub(1, #homes[i]) == homes[i] then return true end
  end
  return false
end

--- A file or folder (with its slash) whose functions count as the library's when an error looks for the line to blame.
function M.own(path)
  path = '@' .. path
  if not library(path) then homes[#homes + 1] = path end
end

M.outer = nil -- the line of the script below the stack of a coroutine of the library: set by the tensors' scopes

--- error() for the library: a text message is prefixed with the line of the script that made the call. The level is
--- taken only where no script is on the stack.
---@param message any
---@param level? integer
function M.error(message, level)
  if level ~= 0 and type(message) == 'string' then
    local at = 2
    while true do
      local info = getinfo(at, 'Sl')
      if not info then break end
      if info.currentline > 0 and not library(info.source) then raise(message, at) end
      at = at + 1
    end
  end
  local outer = level ~= 0 and type(message) == 'string' and M.outer and M.outer()
  if outer then raise(('%s: %s'):format(outer, message), 0) end
  raise(message, level == 0 and 0 or (level or 1) + 1)
end
local error = M.error

--- The word of the signal that an error comes from, "interrupted", "terminated" or "broken pipe", and the status of a
--- program that it ends; nil for other errors.
---@param why any the error
---@return string|nil
---@return integer|nil
function M.stopped(why)
  if type(why) ~= 'string' then return nil end
  local host = package.loaded['mascon.host']
  local number, word
  if type(host) == 'table' and host.signal then number, word = host.signal() end
  if number and (why:find(word, 1, true) or why:find('interrupted', 1, true)) then return word, 128 + number end
  -- what a caller raises in their words
  word = (': ' .. why):match ': (%l+)$'
  if word == 'interrupted' or word == 'terminated' then return word, word == 'terminated' and 143 or 130 end
end

--- Calls f(...) while a first Ctrl-C or SIGTERM waits for its end; a second one ends it.
---@param f function
---@return string|nil word of the signal that came meanwhile, which is not raised any more
---@return any what f gives
function M.held(f, ...)
  local host = package.loaded['mascon.host']
  if type(host) == 'table' and host.held then return host.held(f, ...) end
  return nil, f(...)
end

local function passed(ok, ...)
  if not ok and M.stopped((...)) then raise((...), 0) end
  return ok, ...
end

--- pcall for errors that are looked at and forgotten: those of signals go on.
function M.try(f, ...) return passed(pcall(f, ...)) end

local ACROSS = 'attempt to yield across C-call boundary'
--- f(...), which may not yield: a coroutine that is never resumed would leave what holds during the call for ever. The
--- stack stays one, so that errors find their lines.
---@param fname string
---@param f function
function M.unyielding(fname, f, ...)
  if not coroutine.running() then return f(...) end
  local n, args, results = select('#', ...), { ... }, nil
  local function keep(...) results = { n = select('#', ...), ... } end
  local ok, why = pcall(string.gsub, '-', '%-', function() keep(f(unpack(args, 1, n))) end)
  if ok then return unpack(results, 1, results.n) end
  if type(why) == 'string' and why:find(ACROSS, 1, true) then
    why = ('%s: the function yielded; the call must end before control leaves it'):format(fname)
  end
  raise(why, 0)
end

local Outside = { __tostring = function(e) return e.message end }

--- An error whose cause is outside of the script, such as the environment: the report of the program shows no line.
---@param why string
---@return table
function M.outside(why) return setmetatable({ message = why, outside = true }, Outside) end

--- Whether a function was written in the library.
function M.library(f) return library(getinfo(f, 'S').source) end

--- Whether a name that messages give to a file is that of a source: Lua keeps the end of long ones only.
---@param short string
---@param source string of debug.getinfo, such as "@/somewhere/script.lua"
function M.named(short, source)
  local tail = short:match '^%.%.%.(.+)$'
  return source == '@' .. short or tail ~= nil and #source > #tail and source:sub(-#tail) == tail
end

--- The part of a shortened name that follows a folder, where the folder's end is its beginning.
local function beyond(tail, home)
  for k = math.min(#tail, #home - 1), 1, -1 do
    if home:sub(-k) == tail:sub(1, k) then return tail:sub(k + 1) end
  end
end

--- Whether a file, as messages name it, is one of the library.
---@param path string the whole name, or the end of a long one behind three dots
function M.inside(path)
  if library('@' .. path) then return true end
  local tail = path:match '^%.%.%.(.+)$'
  for i = 1, tail and #homes or 0 do
    local rest = beyond(tail, homes[i])
    local file = rest and io.open(homes[i]:sub(2) .. rest, 'rb')
    if file then
      file:close()
      return true
    end
  end
  return false
end

--- The innermost line outside the library, as "file:line".
function M.site()
  local at = 2
  while true do
    local info = getinfo(at, 'Sl')
    if not info then return '?' end
    if info.currentline > 0 and not library(info.source) then return info.short_src .. ':' .. info.currentline end
    at = at + 1
  end
end

--- Edit distance (Levenshtein, 1966) of two short names; two letters that changed places count as one.
local function distance(a, b)
  local prev, before = {}, nil
  for j = 0, #b do prev[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(prev[j] + 1, row[j - 1] + 1, prev[j - 1] + cost)
      local turned = i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      if turned then row[j] = math.min(row[j], before[j - 2] + 1) end
    end
    before, prev = prev, row
  end
  return prev[#b]
end

--- The name of `names` (list or set) nearest to `name`, else the shortest that begins with it (3 letters or more), or
--- nil when none is near.
---@param name string
---@param names table
---@return string|nil
function M.nearest(name, names)
  local list = {}
  for k, v in pairs(names) do list[#list + 1] = type(k) == 'number' and v or k end
  table.sort(list)
  local best, at
  local lower = name:lower()
  for _, n in ipairs(list) do
    local other = tostring(n):lower()
    if not at or math.abs(#other - #lower) < at then -- which is the least that they differ by
      local d = distance(lower, other)
      if not at or d < at then best, at = n, d end
    end
  end
  if at and at <= math.max(2, math.floor(#name / 2)) and at < #name then return best end
  local longer
  for _, n in ipairs(#name > 2 and list or {}) do
    n = tostring(n)
    if n:lower():sub(1, #name) == name:lower() and not (longer and #longer <= #n) then longer = n end
  end
  return longer
end

local function is_int(v) return type(v) == 'number' and v == math.floor(v) and v > -2 ^ 53 and v < 2 ^ 53 end

local TYPES = { bool = 'boolean', tensor = 'cdata' } -- where the word is not that of type()

--- A kind as a list of alternatives { base, op, bound }: "integer >= 1", "number > 0", "bool", "string", "any"; joined
--- by " | ".
local function alternatives(kind)
  local list = {}
  for one in (kind .. '|'):gmatch '%s*(.-)%s*|' do
    local base, op, bound = one:match '^(%a+)%s*([<>]=?)%s*([-%d.e]+)$'
    base = base or one
    list[#list + 1] = { base = TYPES[base] or base, op = op, bound = tonumber(bound) }
  end
  return list
end

local kinds = {} -- read once each

local function fits_one(v, a)
  local base, op, bound = a.base, a.op, a.bound
  if base == 'integer' then
    if not is_int(v) then return false end
  elseif base ~= 'any' and type(v) ~= base then return false end
  return not op or op == '>' and v > bound or op == '>=' and v >= bound or op == '<' and v < bound
    or op == '<=' and v <= bound
end

local function fits(v, kind)
  local list = kinds[kind]
  if not list then
    list = alternatives(kind)
    kinds[kind] = list
  end
  if fits_one(v, list[1]) then return true end
  for k = 2, #list do if fits_one(v, list[k]) then return true end end
  return false
end

local function show(v)
  if type(v) == 'cdata' and M.of_tensor then -- set by the tensors
    local text = M.of_tensor(v)
    if text then return text end
  end
  if type(v) == 'cdata' then
    local digits = tostring(v):match '^%-?%d+U?LL$'
    if digits then return digits .. ' (a boxed 64-bit integer; tonumber gives a number)' end
  end
  if type(v) == 'string' then return "'" .. v .. "'" end
  if type(v) == 'table' or type(v) == 'function' or type(v) == 'cdata' then return 'a ' .. type(v) end
  return tostring(v)
end

-- names of options as Python spells them
local SPELLING = { keepdims = 'keepdim' }

-- A loop inside a call is compiled apart from the loop around the call, and what lies between runs interpreted, ten
-- times slower. So the common ways through here have none: defaults come from a constructor made for the spec, the
-- first options are looked at one by one.
local constructors = setmetatable({}, { __mode = 'k' })

local function every_default(spec)
  local out = {}
  for k, rule in pairs(spec) do
    if rule.from then out[k] = rule.from() else out[k] = rule[1] end
  end
  return out
end

--- The function that makes a table of the defaults of a spec. Specs written down within a call come once; they are not
--- compiled.
local function constructor(spec)
  if constructors[spec] == nil then
    constructors[spec] = false
    return every_default
  end
  local fields = {}
  for k, rule in pairs(spec) do
    if rule.from then fields[#fields + 1] = ('[%q] = s[%q].from()'):format(k, k)
    elseif rule[1] ~= nil then fields[#fields + 1] = ('[%q] = s[%q][1]'):format(k, k) end
  end
  table.sort(fields)
  local f = loadstring('local s = ... return { ' .. table.concat(fields, ', ') .. ' }', HOME .. 'check.lua')
  constructors[spec] = f
  return f
end

local sets = setmetatable({}, { __mode = 'k' }) -- choices as sets

local function chosen(v, choices)
  local set = sets[choices]
  if not set then
    set = {}
    for _, c in ipairs(choices) do set[c] = true end
    sets[choices] = set
  end
  return set[v]
end

--- One option into out.
local function enter(fname, out, spec, k, v, level)
  if type(k) ~= 'string' then
    error(('%s: the options hold %s without a name; write name = value'):format(fname, show(v)), level + 1)
  end
  if spec[k] == nil and SPELLING[k] and spec[SPELLING[k]] then k = SPELLING[k] end
  local rule = spec[k]
  if not rule then
    local near = M.nearest(k, spec)
    error(('%s: option %q is unknown%s'):format(fname, k,
      near and ('; did you mean %q?'):format(near) or '; it takes ' .. M.names(spec)), level + 1)
  end
  local kind = rule[2]
  if type(kind) == 'table' then
    if not chosen(v, kind) then
      local near = type(v) == 'string' and M.nearest(v, kind)
      error(('%s: option %s is %s; choose %s%s'):format(fname, k, show(v), table.concat(kind, ', '),
        near and (' (did you mean %q?)'):format(near) or ''), level + 1)
    end
  elseif kind and not fits(v, kind) then
    error(('%s: option %s is %s; it must be %s'):format(fname, k, show(v), kind), level + 1)
  end
  out[k] = v
end

--- Checks `opts` against spec { name = { default, type or choices } } and fills in the defaults; a rule with a field
--- `from`, a function, has what that gives at the call.
---@param fname string the public name, for messages
---@param opts table|nil
---@param spec table
---@param level? integer of the caller to blame; 3 is the caller of the function that calls opts
---@return table
function M.opts(fname, opts, spec, level)
  level = level or 3
  local out = (constructors[spec] or constructor(spec))(spec)
  if opts == nil then return out end
  if type(opts) ~= 'table' then
    error(('%s: options are %s; give a table, { name = value }%s'):format(fname, show(opts),
      next(spec) and '; it takes ' .. M.names(spec) or ''), level)
  end
  local a, b, c, d, k = keys(opts)
  if a ~= nil then enter(fname, out, spec, a, opts[a], level) end
  if b ~= nil then enter(fname, out, spec, b, opts[b], level) end
  if c ~= nil then enter(fname, out, spec, c, opts[c], level) end
  if d ~= nil then enter(fname, out, spec, d, opts[d], level) end
  while k ~= nil do
    enter(fname, out, spec, k, opts[k], level)
    k = next(opts, k)
  end
  return out
end

--- Refuses a text that is no pattern of Lua.
function M.pattern(what, pattern, level)
  if type(pattern) ~= 'string' then
    M.error(('%s: the pattern is %s; give a text'):format(what, show(pattern)), level + 1)
  end
  local ok, why = pcall(string.find, '', pattern)
  if not ok then
    M.error(("%s: '%s' is no pattern of Lua: %s"):format(what, pattern, (why:gsub('^.-:%d+: ', ''))), level + 1)
  end
end

--- Sorted names of a spec, for messages.
function M.names(spec)
  local list = {}
  for k in pairs(spec) do list[#list + 1] = k end
  table.sort(list)
  return #list > 0 and table.concat(list, ', ') or 'none'
end

--- Raises unless v fits the kind; `what` names the argument.
function M.arg(fname, what, v, kind, level)
  if not fits(v, kind) then error(('%s: %s is %s; it must be %s'):format(fname, what, show(v), kind), level or 3) end
  return v
end

--- Raises where a list holds anything by name: an option that nobody reads.
---@param fname string
---@param list any
---@param spec? table what it may hold by name
function M.list(fname, list, spec, level)
  if type(list) ~= 'table' then return end
  for k in pairs(list) do
    if type(k) == 'string' and not (spec and spec[k]) then
      error(('%s: option %q is unknown%s'):format(fname, k, spec and '; it takes ' .. M.names(spec) or ''),
        (level or 3))
    end
  end
end

M.show = show
return M
