--- mascon.compile.outside: the variables that a Lua function finds outside itself.
---
--- A function that is written down once has to notice when a variable it read has another value at a later call. Variables are upvalues and globals of
--- the function and of the functions that these hold, the library's own left out. Owns finding them, the function that compares them with what they
--- were, and the run in which some of them hold other values. May not know forms, plans or recordings.
---
--- Reading is made by functions that share the upvalues themselves (debug.upvaluejoin): machine code compares them without a call.
local bit = require 'bit'
local util = require 'jit.util'
local library = require('mascon.core.check').library
local random = require 'mascon.random.key'
local tensor = require 'mascon.core.tensor'
local tree = require 'mascon.graph.tree'

local M = {}

local MOST = 50 -- variables that one function reads: fewer than the upvalues it may have
local HOPS = 2 -- functions of the library between a user's function and the next: mc.grad(f) holds f
local UPVALUES = 60 -- of a function at most

-- luacheck: push ignore
local READ_GLOBAL = bit.band(util.funcbc(function() return a_global end, 1), 0xff)
-- luacheck: pop

---@class mascon.Variable
---@field name string
---@field of? function whose upvalue it is
---@field at? integer its place there
---@field env? table in which it is a global
---@field value any at the time of the last look

local function written_in_lua(f) return debug.getinfo(f, 'S').what ~= 'C' end

--- What can stand for a value of the same kind in a recording: 'tensor', 'number', 'key' (of random numbers), 'tree' (plain tables of these, some tensor or
--- key among them) or nil.
function M.kind(v)
  if tensor.is(v) then return 'tensor' end
  if type(v) == 'number' then return 'number' end
  if random.is_key(v) then return 'key' end
  if not tree.is_branch(v) then return nil end
  local seen, some = {}, false
  local function plain(t)
    if seen[t] then return false end
    seen[t] = true
    for _, x in pairs(t) do
      if tensor.is(x) or random.is_key(x) then some = true
      elseif tree.is_branch(x) then
        if not plain(x) then return false end
      elseif type(x) ~= 'number' then return false end
    end
    return true
  end
  return plain(v) and some and 'tree' or nil
end

--- The tables of a tree anew, with the same leaves.
function M.copy(v)
  if not tree.is_branch(v) then return v end
  local out = {}
  for k, x in pairs(v) do out[k] = M.copy(x) end
  return out
end

--- Whether two trees have the same leaves in the same places.
function M.same(a, b)
  if not (tree.is_branch(a) and tree.is_branch(b)) then return rawequal(a, b) end
  for k, x in pairs(a) do if not M.same(x, b[k]) then return false end end
  for k in pairs(b) do if a[k] == nil then return false end end
  return true
end

local WATCHED = { number = true, string = true, boolean = true, ['nil'] = true, ['function'] = true, table = true }

local function watched(v, modules)
  if tensor.is(v) then return true end
  if not WATCHED[type(v)] then return false end
  if type(v) == 'table' then return not modules[v] and (getmetatable(v) == nil or random.is_key(v)) end
  if type(v) == 'function' then return written_in_lua(v) and not library(v) end
  return true
end

--- Names of the globals that a function, or one that is written inside it, reads.
local function globals(f, out)
  local info = util.funcinfo(f)
  for pc = 1, info.bytecodes - 1 do
    local code = util.funcbc(f, pc)
    if bit.band(code, 0xff) == READ_GLOBAL then out[util.funck(f, -bit.rshift(code, 16) - 1)] = true end
  end
  for i = 1, info.gcconsts do
    local k = util.funck(f, -i)
    if type(k) == 'proto' then globals(k, out) end
  end
  return out
end

--- The function inside a callable object of the library (what mc.compile returns), or the function itself.
local function inner(v)
  if type(v) == 'function' then return v end
  if type(v) == 'table' and getmetatable(v) ~= nil and type(rawget(v, 'f')) == 'function' then return rawget(v, 'f') end
end

local ASKS = { [type] = true, [tonumber] = true }

--- The variables of f and of the functions it holds, in the order in which they are met. `stays` marks the numbers and trees of a function that asks
--- for types: a tensor in the place of a number would be told from it.
---@param f function
---@return mascon.Variable[]
function M.find(f)
  local list, seen, shared, modules, asks = {}, {}, {}, {}, false
  for _, t in pairs(package.loaded) do if type(t) == 'table' then modules[t] = true end end
  local function add(v, id)
    if shared[id] or #list == MOST or not watched(v.value, modules) then return end
    shared[id] = true
    list[#list + 1] = v
  end
  local visit
  local function follow(v, hops)
    v = inner(v)
    if v and not seen[v] and written_in_lua(v) then visit(v, hops) end
  end
  function visit(g, hops)
    seen[g] = true
    local own = not library(g)
    if not own and hops == 0 then return end
    for i = 1, UPVALUES do
      local name, v = debug.getupvalue(g, i)
      if not name then break end
      asks = asks or (own and ASKS[v] or false)
      if own then add({ name = name, of = g, at = i, value = v }, tostring(debug.upvalueid(g, i))) end
      follow(v, own and HOPS or hops - 1)
    end
    if not own then return end
    local env = debug.getfenv(g)
    for name in pairs(globals(g, {})) do
      local ok, v = pcall(function() return env[name] end)
      asks = asks or (ok and ASKS[v] or false)
      if ok and v ~= nil and not (type(v) == 'function' and not written_in_lua(v)) then
        add({ name = name, env = env, value = v }, name .. tostring(env))
        follow(v, HOPS)
      end
    end
  end
  visit(f, HOPS)
  for _, v in ipairs(list) do v.stays = asks and not tensor.is(v.value) end
  return list
end

--- A function from text in which variable i of the list is named v<i> (an upvalue) or e<i>.<name> (a global of the environment e<i>).
local function generate(list, text)
  local names, holders, envs = {}, {}, {}
  for i, v in ipairs(list) do
    if v.of then names[#names + 1] = 'v' .. i
    else
      holders[#holders + 1] = 'e' .. i
      envs[#envs + 1] = v.env
    end
  end
  local head = (names[1] and 'local ' .. table.concat(names, ', ') .. '\n' or '') .. (holders[1] and 'local ' .. table.concat(holders, ', ') .. ' = ...\n' or '')
  local f = assert(loadstring(head .. text, '=mascon.compile.outside'))(unpack(envs))
  for i = 1, UPVALUES do
    local name = debug.getupvalue(f, i)
    if not name then break end
    local v = list[tonumber(name:match '^v(%d+)$')]
    if v then debug.upvaluejoin(f, i, v.of, v.at) end
  end
  return f
end

local function place(v, i) return v.of and 'v' .. i or ('e%d[%q]'):format(i, v.name) end

--- A function that tells whether the variables still have these values: guard(values) -> boolean; nil when there is no variable.
---@param list mascon.Variable[]
---@return function?
function M.guard(list)
  local terms = {}
  if #list == 0 then return nil end
  for i, v in ipairs(list) do terms[i] = ('rawequal(%s, k[%d])'):format(place(v, i), i) end
  return generate(list, 'local rawequal = rawequal\nreturn function(k) return ' .. table.concat(terms, ' and ') .. ' end')
end

--- A function that calls run(self, values of the variables ..., ...); nil when there is no variable.
function M.giver(list)
  local names = {}
  if #list == 0 then return nil end
  for i, v in ipairs(list) do names[i] = place(v, i) end
  return generate(list, ('return function(run, self, ...) return run(self, %s, ...) end'):format(table.concat(names, ', ')))
end

local function get(v)
  if v.of then return (select(2, debug.getupvalue(v.of, v.at))) end
  return v.env[v.name]
end

local function set(v, x)
  if v.of then debug.setupvalue(v.of, v.at, x)
  else v.env[v.name] = x end
end

--- The value that a variable has.
M.get = get

--- f(...) while the variables hold the values given; afterwards they hold what they held, unless f gave them another.
---@return any ... what f returns
function M.with(list, values, f, ...)
  local held = {}
  for i, v in ipairs(list) do
    held[i] = get(v)
    set(v, values[i])
  end
  local function finish(ok, ...)
    for i, v in ipairs(list) do
      if rawequal(get(v), values[i]) then set(v, held[i]) end
    end
    if not ok then error((...), 0) end
    return ...
  end
  return finish(pcall(f, ...))
end

return M
