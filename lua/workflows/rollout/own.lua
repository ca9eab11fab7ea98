-- own.lua - functions of the user's script: their identity in a data set, and calls with words when they fail.
--
-- The identity is a hash of the bytecode, which has no lines, names of locals or comments, and of what the function
-- reads from outside: upvalues, globals, tables, functions and tensors of the script. What belongs to the library or to
-- Lua counts by its name.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local outside = require 'mascon.compile.outside'
local error = check.error
local M = {}

--- Where a function stands, as "file.lua:12".
---@param f function
---@return string
function M.place(f)
  local info = debug.getinfo(f, 'S')
  return ('%s:%d'):format(info.short_src:match '[^/]*$', info.linedefined)
end

local DEEP = 4 -- tables below tables of the library whose functions have names
local LUA = { string = string, table = table, math = math, os = os, io = io, debug = debug, coroutine = coroutine,
  bit = require 'bit', basic = { assert, error, ipairs, next, pairs, pcall, rawequal, rawget, rawset, select,
    setmetatable, getmetatable, tonumber, tostring, type, unpack, xpcall } }

local function ordered(t)
  local keys = {}
  for k in next, t do
    if type(k) == 'string' or type(k) == 'number' or type(k) == 'boolean' then keys[#keys + 1] = k end
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return type(a) < type(b) end
    if type(a) == 'boolean' then return not a and b end
    return a < b
  end)
  return keys
end

--- Names of the functions and tables of Lua and of the library.
local function known()
  local out = {}
  local function walk(t, name, depth)
    out[t] = out[t] or name
    for _, k in ipairs(ordered(t)) do -- of several names the first
      local v, here = rawget(t, k), ('%s.%s'):format(name, tostring(k))
      if type(v) == 'function' then out[v] = out[v] or here
      elseif type(v) == 'table' and not out[v] and depth < DEEP then walk(v, here, depth + 1) end
    end
  end
  for _, name in ipairs(ordered(LUA)) do walk(LUA[name], name, DEEP) end
  walk(mc, 'mc', 1)
  return out
end

--- Adds what a value is to a list of texts. state: out, names (of known), seen (what was met: its number).
local function add(state, v)
  local kind, out = type(v), state.out
  local function say(fmt, ...) out[#out + 1] = fmt:format(...) end
  if mc.is_tensor(v) then return say('tensor %s', mc.manifest.hash(v.device == 'cpu' and v or v:to 'cpu')) end
  if kind == 'number' then return say('number %.17g', v) end
  if kind == 'string' then return say('string %d %s', #v, v) end
  if kind == 'cdata' then return say('cdata %s', tostring(v):match '^[%d.eE+-]+[UL]*i?$' or '') end
  if kind ~= 'table' and kind ~= 'function' then return say('%s', kind == 'boolean' and tostring(v) or kind) end
  local meta = kind == 'table' and getmetatable(v) -- of mc.compile: the rest of the table is what it learned
  if meta and type(rawget(v, 'f')) == 'function' then return add(state, rawget(v, 'f')) end
  if state.names[v] then return say('known %s', state.names[v]) end
  if state.seen[v] then return say('again %d', state.seen[v]) end
  state.met = state.met + 1
  state.seen[v] = state.met
  if kind == 'table' then
    say '{'
    for _, k in ipairs(ordered(v)) do
      add(state, k)
      add(state, rawget(v, k))
    end
    add(state, getmetatable(v))
    return say '}'
  end
  local info = debug.getinfo(v, 'S')
  if info.what == 'C' then return say 'builtin' end
  if check.library(v) then return say('library %s:%d', info.source:match '[^/]*/[^/]*$' or '', info.linedefined) end
  say('function %s', mc.manifest.hash(string.dump(v, 'sd')))
  for i = 1, math.huge do
    local name, x = debug.getupvalue(v, i)
    if not name then break end
    add(state, x)
  end
  local env = debug.getfenv(v)
  for _, name in ipairs(ordered(outside.globals(v, {}))) do
    say('global %s', name)
    local ok, x = check.try(function() return env[name] end)
    add(state, ok and x or nil)
  end
end

--- SHA-256 of functions and values of the script: equal where they compute the same from the same text and values.
---@param ... any
---@return string 64 hexadecimal digits
function M.identity(...)
  local state = { out = {}, names = known(), seen = {}, met = 0 }
  for i = 1, select('#', ...) do add(state, (select(i, ...))) end
  return mc.manifest.hash(table.concat(state.out, '\n'))
end

--- What a data set keeps of an own function: { kind, name, at, sha256 }.
---@param kind string operator, field or feature
---@param name string
---@param f function
---@param ... any what else decides its values
---@return table
function M.record(kind, name, f, ...)
  return { kind = kind, name = name, at = M.place(f), sha256 = M.identity(f, ...) }
end

local function by_name(list)
  local out = {}
  for _, r in ipairs(list) do out[r.kind .. ' ' .. r.name] = r end
  return out
end

--- How own functions differ from those that rows were made with: lists of names, as "operator heat (mine.lua:6)".
---@param made table[] records of the rows
---@param now table[] records of this program
---@return string[] changed
---@return string[] missing of now
---@return string[] added by now
function M.apart(made, now)
  local changed, missing, added, a, b = {}, {}, {}, by_name(made), by_name(now)
  for _, key in ipairs(ordered(a)) do
    local was, is = a[key], b[key]
    if not is then missing[#missing + 1] = ('%s (%s)'):format(key, was.at)
    elseif is.sha256 ~= was.sha256 then changed[#changed + 1] = ('%s (%s)'):format(key, is.at) end
  end
  for _, key in ipairs(ordered(b)) do
    if not a[key] then added[#added + 1] = ('%s (%s)'):format(key, b[key].at) end
  end
  return changed, missing, added
end

--- The first difference in words, as what stands after "own"; nil for none.
---@param made table[]
---@param now table[]
---@return string?
function M.difference(made, now)
  local changed, missing, added = M.apart(made, now)
  if changed[1] then return changed[1] .. ' is not the one that they were made with' end
  if missing[1] then return missing[1] .. ' that they were made with is not registered' end
  if added[1] then return added[1] .. ' was not there when they were made' end
end

--- f(...); an error of it says which own function failed. of: the function whose place is named, where f is made of it.
---@param what string as "operator heat"
---@param f function
---@param of? function
---@param ... any
---@return any
function M.call(what, f, of, ...)
  local ok, v = check.try(f, ...)
  if ok then return v end
  error(('rollout: own %s (%s) failed: %s'):format(what, M.place(of or f), type(v) == 'string' and v or check.show(v)),
    0)
end

--- Refuses what an own function returned: words on what it must be.
---@param what string
---@param of function
---@param v any
---@param fmt string
---@param ... any
function M.refuse(what, of, v, fmt, ...)
  error(('rollout: own %s (%s) returned %s; it must return %s'):format(what, M.place(of), check.show(v),
    fmt:format(...)), 0)
end

return M
