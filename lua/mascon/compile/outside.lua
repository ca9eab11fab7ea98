-- outside.lua - the variables that a Lua function finds outside itself.
---
--- A function that is written down once has to notice when a variable it read has another value at a later call.
--- Variables are upvalues and globals of the function and of the functions that these hold, the library's own left out.
--- Holds finding them, the function that compares them with what they were, and the run in which some of them hold
--- other values.
---
--- Reading is made by functions that share the upvalues themselves (debug.upvaluejoin): machine code compares them
--- without a call.
local bit = require 'bit'
local util = require 'jit.util'
local lazy = require 'mascon.core.lazy'
local steady = require 'mascon.compile.unsteady'
local check = require 'mascon.core.check'
local library = check.library
local random = require 'mascon.random.key'
local tensor = require 'mascon.core.tensor'
local tree = require 'mascon.graph.tree'
local error = check.error

local HERE = debug.getinfo(1, 'S').source -- what is made here is the library's
local M = {}

M.MOST = 1000 -- variables that one function reads
local PART = 50 -- of them in one function that reads them: fewer than the upvalues it may have
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
---@field holder? boolean a table of which single fields are variables: it reaches what others look after

local function written_in_lua(f) return debug.getinfo(f, 'S').what ~= 'C' end

--- What can stand for a value of the same kind in a recording: 'tensor', 'number', 'key' (of random numbers), 'tree'
--- (plain tables of these, some tensor or key among them) or nil.
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

local LEAVES = 10000 -- of a table outside: they are compared at each call

--- Modules, whose functions are taken to stay: `modules`, what package.loaded holds and what the public table does.
local function is_module(v, modules)
  if modules[v] then return true end
  for _, m in next, package.loaded do if rawequal(m, v) then return true end end
  for _, m in next, lazy.public or {} do if rawequal(m, v) then return true end end
  return false
end

--- Whether a table holds something that may be read and change: anything but the functions of a module.
local function holds(name, v, modules)
  local seen, some, count = {}, getmetatable(v) ~= nil, 0
  local function walk(t)
    seen[t] = true
    for _, x in next, t do
      count = count + 1
      if tree.is_branch(x) then
        some = some or getmetatable(x) ~= nil
        if not seen[x] then walk(x) end
      elseif type(x) ~= 'function' then some = true end
    end
  end
  walk(v)
  if some and count > LEAVES then
    error(('compile: the function reads the table %s, which holds more than %d values; make it a tensor or pass what '
      .. 'is needed as an argument'):format(name, LEAVES), 2)
  end
  -- functions alone: those of a module stay; an empty table is one that the function may fill
  return some or count > 0 and not is_module(v, modules)
end

local function unchanged(a, b) return rawequal(a, b) or (a ~= a and b ~= b) end

--- f() while the leaves of tables are replaced: trees is a list of { table, place of its first leaf before 1, static };
--- take(place, leaf) gives what stands there meanwhile. Afterwards the tables hold what they held, but for what f
--- changed.
---@return table changed list of { path, before, after } of what f changed; what it added is not among it
---@return any ... what f returns
function M.swapped(trees, take, f)
  local slots, of = {}, {}
  --- The place of a table, which several trees may reach: what stands there, what f finds there, and a name.
  local function slot(v, k, x, where)
    local list = of[v] or {}
    of[v] = list
    if not list[k] then
      list[k] = { v, k, x, x, where }
      slots[#slots + 1] = list[k]
    end
    return list[k]
  end
  for _, t in ipairs(trees) do -- all are read before the first is changed
    local at, path = t[2], {}
    local function walk(v, name)
      path[v] = true
      for _, k in ipairs(tree.keys(v)) do
        local x = rawget(v, k)
        local s = slot(v, k, x, ('%s.%s'):format(name, tostring(k)))
        if tensor.is(x) or random.is_key(x) or (type(x) == 'number' and not t[3]) then
          at = at + 1
          s[4] = take(at, x)
        end
        if tree.is_branch(x) and not path[x] then walk(x, s[5]) end
      end
      path[v] = nil
    end
    walk(t[1], t[4])
  end
  for _, s in ipairs(slots) do
    if not rawequal(s[3], s[4]) then rawset(s[1], s[2], s[4]) end
  end
  local function finish(ok, ...)
    local changed = {}
    for i = #slots, 1, -1 do
      local v, k, x, given, where = unpack(slots[i], 1, 5)
      local now = rawget(v, k)
      if unchanged(now, given) then rawset(v, k, x) else changed[#changed + 1] = { where, x, now } end
    end
    if not ok then error((...), 0) end
    return changed, ...
  end
  return finish(pcall(f))
end

local WATCHED = { number = true, string = true, boolean = true, ['nil'] = true, ['function'] = true, table = true }

--- A table whose values are read at each call.
function M.is_tree(v) return tree.is_branch(v) end

local function watched(v, modules)
  if tensor.is(v) then return true end
  if type(v) == 'table' then return not modules[v] end
  return WATCHED[type(v)] or false
end

--- Whether a value is one of the library's or of Lua's, whose name says enough.
function M.common(v)
  return type(v) == 'function' and (not written_in_lua(v) or library(v))
    or type(v) == 'table' and not tree.is_branch(v) and not tensor.is(v)
end

--- Names of the globals that a function, or one that is written inside it, reads.
---@param f function
---@param out table the names are added to it as keys
---@return table out
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

M.globals = globals

--- The function inside a callable object of the library (what mc.compile returns), or the function itself.
local function inner(v)
  if type(v) == 'function' then return v end
  if type(v) == 'table' and getmetatable(v) ~= nil and type(rawget(v, 'f')) == 'function' then return rawget(v, 'f') end
end

--- Text that stands in a function, or in one that is written inside it: names of fields and methods among it.
local function names_in(f, out)
  local info = util.funcinfo(f)
  for i = 1, info.gcconsts do
    local k = util.funck(f, -i)
    if type(k) == 'string' then out[k] = true elseif type(k) == 'proto' then names_in(k, out) end
  end
end

local DEEPEST = 100 -- tables that one field is looked for in, as in Lua

--- The function that v[name] is, for a table or an object, whose class may inherit from others.
local function method(v, name)
  for _ = 1, DEEPEST do
    local x = rawget(v, name)
    if x ~= nil then return type(x) == 'function' and x or nil end
    local mt = getmetatable(v)
    v = type(mt) == 'table' and rawget(mt, '__index') or nil
    if type(v) ~= 'table' then return nil end
  end
end

--- The metatables behind the tables of a list (1..n) and behind these metatables, in the order in which they are met.
--- What an object inherits is read from them.
---@param list any[]
---@param n integer
---@return table[]
function M.classes(list, n)
  local out, seen, met = {}, nil, nil
  local function walk(v)
    if seen[v] or not tree.is_branch(v) then return end
    seen[v] = true
    local mt = getmetatable(v)
    if mt ~= nil and not met[mt] then
      met[mt] = true
      if tree.is_branch(mt) then out[#out + 1] = mt end
    end
    for _, k in ipairs(tree.keys(v)) do
      local x = rawget(v, k)
      if type(x) == 'table' then walk(x) end
    end
  end
  for i = 1, n do
    if type(list[i]) == 'table' then
      if not seen then seen, met = {}, {} end
      walk(list[i])
    end
  end
  local at = 1
  while out[at] do -- grows meanwhile
    walk(out[at])
    at = at + 1
  end
  return out
end

--- What an object of the library says of what a call of it depends on (a module): the function __look of its
--- metatable, nil for all others.
---@return function|nil
function M.says(v)
  local mt = type(v) == 'table' and getmetatable(v)
  return type(mt) == 'table' and rawget(mt, '__look') or nil
end
local says = M.says

--- What a function may call of its arguments: functions and modules that stand among them, and the classes of their
--- objects.
function M.callables(args, from, to, classes)
  local out, seen = { unpack(classes) }, {}
  local function walk(v)
    if type(v) == 'function' and written_in_lua(v) and not library(v) then out[#out + 1] = v
    elseif says(v) then out[#out + 1] = v
    elseif tree.is_branch(v) and not seen[v] then
      seen[v] = true
      for _, x in next, v do
        if type(x) == 'function' or type(x) == 'table' then walk(x) end
      end
    end
  end
  for i = from, to do walk(args[i]) end
  return out
end

--- Whether a table reaches one that is looked after elsewhere, or more than LEAVES values.
local function reaches(v, apart)
  local seen, count = {}, 0
  local function walk(t)
    if apart[t] or count > LEAVES then return true end
    seen[t] = true
    for _, x in next, t do
      count = count + 1
      if type(x) == 'table' and not seen[x] and walk(x) then return true end
    end
    return count > LEAVES
  end
  return walk(v)
end

local STANDARD = { 'string', 'table', 'math', 'io', 'os', 'debug', 'coroutine', 'bit', 'jit', 'ffi', 'package', '_G' }

local ASKS = { [type] = true, [tonumber] = true }

--- The variables of f and of the functions it holds, in the order in which they are met. `stays` marks the numbers and
--- trees of a function that asks for types: a tensor in the place of a number would be told from it.
---@param f function
---@param roots? table more of what f may call: functions, and objects whose methods it may
---@param apart? table set of tables that others look after: of variables that reach one of them, or hold more than
---   LEAVES values, those fields are variables whose names stand in the functions
---@param looks? table object -> what is known of it, filled: of objects of the library that say by __look of their
---   metatable what a call of them depends on: { slots = tables whose tensors it reads, calls = functions }
---@return mascon.Variable[]
---@return table unsteady upvalues that hold functions of unsteady.lua: { function, place, value }
---@return boolean asks whether one of the functions asks for types
function M.find(f, roots, apart, looks)
  local list, seen, shared, modules, asks = {}, {}, {}, {}, false
  local follow
  for _, name in ipairs(STANDARD) do modules[package.loaded[name] or modules] = true end
  local objects, names, visited, unsteady, holders = {}, {}, {}, {}, {}
  local function object(v)
    local look = says(v)
    if not look or not looks or apart and apart[v] then return look ~= nil end
    if not looks[v] then looks[v] = look(v) end
    local known = looks[v]
    local id = 'slots' .. tostring(known)
    if shared[id] then return true end
    shared[id] = true
    if #list < M.MOST and known.slots[1] then
      list[#list + 1] = { name = 'slots', env = known, value = known.slots, frozen = true, id = id }
    end
    for _, g in ipairs(known.calls) do follow(g, HOPS) end
    return true
  end
  local function objects_in(t, passed)
    passed[t] = true
    for _, x in next, t do
      if type(x) == 'table' and not passed[x] and not object(x) and tree.is_branch(x) then objects_in(x, passed) end
    end
  end
  local function add(v, id)
    if type(v.value) == 'table' then object(v.value) end
    if shared[id] or not watched(v.value, modules) then return end
    if #list == M.MOST then
      error(('compile: the function reads more than %d variables outside it (%s is one of them); put them into ' ..
        'a table or pass them as arguments'):format(M.MOST, v.name), 2)
    end
    shared[id], v.id = true, id
    if type(v.value) == 'table' and tree.is_branch(v.value) then
      v.holder, v.empty = apart and reaches(v.value, apart) or nil, next(v.value) == nil or nil
      if v.holder then holders[#holders + 1] = v.value
      else v.frozen = holds(v.name, v.value, modules) end
      objects[#objects + 1] = v.value
      objects_in(v.value, {})
    end
    list[#list + 1] = v
  end
  --- What a function that calls require finds there.
  local function loaded(g)
    local texts = {}
    names_in(g, texts)
    for _, name in ipairs(tree.keys(texts)) do
      local v = package.loaded[name]
      if tree.is_branch(v) then add({ name = name, env = package.loaded, value = v }, 'loaded ' .. name) end
    end
  end
  local visit
  function follow(v, hops)
    v = inner(v)
    if v and not seen[v] and written_in_lua(v) then visit(v, hops) end
  end
  function visit(g, hops)
    seen[g] = true
    local own = not library(g)
    if not own and hops == 0 then return end
    if own then names_in(g, names) end
    for i = 1, UPVALUES do
      local name, v = debug.getupvalue(g, i)
      if not name then break end
      asks = asks or (own and ASKS[v] or false)
      if own and type(v) == 'function' and steady.stub(v) then unsteady[#unsteady + 1] = { g, i, v } end
      if own then add({ name = name, of = g, at = i, value = v }, tostring(debug.upvalueid(g, i))) end
      if own and rawequal(v, require) then loaded(g) end
      follow(v, own and HOPS or hops - 1)
    end
    if not own then return end
    local env = debug.getfenv(g)
    for name in pairs(globals(g, {})) do
      local ok, v = check.try(function() return env[name] end)
      asks = asks or (ok and ASKS[v] or false)
      if ok and rawequal(v, require) then loaded(g) end
      if ok and v ~= nil and not (type(v) == 'function' and not written_in_lua(v)) then
        add({ name = name, env = env, value = v }, name .. tostring(env))
        follow(v, HOPS)
      end
    end
  end
  visit(f, HOPS)
  for _, v in ipairs(roots or {}) do
    if type(v) ~= 'table' then follow(v, HOPS)
    elseif not object(v) then objects[#objects + 1] = v end
  end
  local function events(mt) -- metamethods are called without their names
    if type(mt) ~= 'table' then return end
    for k, x in next, mt do
      if type(k) == 'string' and k:sub(1, 2) == '__' and type(x) == 'function' then follow(x, HOPS) end
    end
  end
  local function methods(v)
    if visited[v] then return end
    visited[v] = true
    for name in pairs(names) do follow(method(v, name), HOPS) end
    events(v)
    events(getmetatable(v))
    for _, x in next, v do if tree.is_branch(x) and not modules[x] then methods(x) end end
  end
  local before
  local function size()
    local n = #list
    for _ in next, seen do n = n + 1 end
    for _ in next, names do n = n + 1 end
    return n
  end
  repeat -- a method that is found may call others
    before, visited = size(), {}
    for i = 1, #objects do methods(objects[i]) end
    for _, t in ipairs(holders) do
      for _, name in ipairs(tree.keys(names)) do
        local x = rawget(t, name)
        if x ~= nil or getmetatable(t) == nil then
          add({ name = name, env = t, value = x }, ('%s of %p'):format(name, t))
        end
      end
    end
  until size() == before
  for _, v in ipairs(list) do v.stays = asks and not tensor.is(v.value) end
  return list, unsteady, asks
end

--- Numbers of objects that have changed since they were found, as variables; nil where something else has.
---@param looks table of find
---@return mascon.Variable[]|nil
function M.loosened(looks)
  local out = {}
  for v, known in next, looks do
    if not getmetatable(v).__same(known) then
      local numbers = getmetatable(v).__loosen(known)
      if not numbers then return nil end
      for _, n in ipairs(numbers) do out[#out + 1] = n end
    end
  end
  return out
end

--- Whether objects are as they were found.
---@param looks table of find
function M.same(looks)
  for v, known in next, looks do
    if not getmetatable(v).__same(known) then return false end
  end
  return true
end

--- A function from text in which variable i of the list is named v<i> (an upvalue) or e<i>.<name> (a global of the
--- environment e<i>).
local function generate(list, text)
  local names, holders, envs = {}, {}, {}
  for i, v in ipairs(list) do
    if v.of then names[#names + 1] = 'v' .. i
    else
      holders[#holders + 1] = 'e' .. i
      envs[#envs + 1] = v.env
    end
  end
  local head = (names[1] and 'local ' .. table.concat(names, ', ') .. '\n' or '')
    .. (holders[1] and 'local ' .. table.concat(holders, ', ') .. ' = ...\n' or '')
  local f = assert(loadstring(head .. text, HERE))(unpack(envs))
  for i = 1, UPVALUES do
    local name = debug.getupvalue(f, i)
    if not name then break end
    local v = list[tonumber(name:match '^v(%d+)$')]
    if v then debug.upvaluejoin(f, i, v.of, v.at) end
  end
  return f
end

local function place(v, i) return v.of and 'v' .. i or ('e%d[%q]'):format(i, v.name) end

--- Calls f(some, first) for the variables of a list part by part; what it gives, last part first.
local function by_parts(list, f)
  local out = {}
  for first = 1, #list, PART do
    table.insert(out, 1, f({ unpack(list, first, math.min(first + PART - 1, #list)) }, first))
  end
  return out
end

--- A function that tells whether the variables still have these values: guard(values) -> boolean; nil when there is no
--- variable.
---@param list mascon.Variable[]
---@return function?
function M.guard(list)
  local guards = by_parts(list, function(some, first)
    local terms = {}
    for i, v in ipairs(some) do
      terms[i] = ('rawequal(%s, k[%d])'):format(place(v, i), first - 1 + i)
      if v.empty then terms[i] = ('%s and next(%s) == nil'):format(terms[i], place(v, i)) end
    end
    return generate(some,
      'local rawequal, next = rawequal, next\nreturn function(k) return ' .. table.concat(terms, ' and ') .. ' end')
  end)
  if #guards < 2 then return guards[1] end
  return function(k)
    for i = 1, #guards do if not guards[i](k) then return false end end
    return true
  end
end

--- A function that calls run(self, values of the variables ..., ...); nil when there is no variable.
function M.giver(list)
  local all
  for _, give in ipairs(by_parts(list, function(some)
    local names = {}
    for i, v in ipairs(some) do names[i] = place(v, i) end
    return generate(some,
      ('return function(run, self, ...) return run(self, %s, ...) end'):format(table.concat(names, ', ')))
  end)) do
    local inner_one = all
    all = inner_one and function(run, self, ...)
      return inner_one(function(me, ...) return give(run, me, ...) end, self, ...)
    end or give
  end
  return all
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

--- Gives a variable a value.
M.set = set

--- f(...) while the variables hold the values given; afterwards they hold what they held. tell(v, held, now): f gave
--- variable v another value than that which stood there.
---@return any ... what f returns
function M.with(list, values, tell, f, ...)
  local held = {}
  for i, v in ipairs(list) do
    held[i] = get(v)
    set(v, values[i])
  end
  local function finish(ok, ...)
    for i, v in ipairs(list) do
      local now = get(v)
      set(v, held[i])
      if not rawequal(now, values[i]) then tell(v, held[i], now) end
    end
    if not ok then
      local why = ...
      if type(why) == 'string' and why:find "'for' %a+ must be a number" then
        why = why .. '; a number among the arguments of a compiled function may change from call to call: name its '
          .. 'place in static, mc.compile(f, { static = { 2 } }) for the second argument'
      end
      error(why, 0)
    end
    return ...
  end
  return finish(pcall(f, ...))
end

return M
