-- watch.lua - what a call of a module depends on beside its arguments: tensors, plain fields, functions of the user's.
--
-- A compiled function reads the tensors of modules outside of it at each call, and the variables of the user's
-- functions that modules call (compile/outside.lua finds both by the metatable of modules). Plain fields, such as the
-- share of a dropout, hooks and parts are part of what is traced: when one has changed, it is traced anew.
local check = require 'mascon.core.check'
local parts = require 'mascon.nn.parts'
local M = {}

local function of_user(v) return type(v) == 'function' and not check.library(v) end

--- The user's functions among some values.
---@param values any[]
---@return function[]
function M.functions(values)
  local out = {}
  for _, v in ipairs(values) do if of_user(v) then out[#out + 1] = v end end
  return out
end

--- Each module of a network once: f(module).
local function each(net, f)
  local seen = {}
  local function walk(m)
    if seen[m] then return end
    seen[m] = true
    f(m)
    for _, n in ipairs(rawget(m, '_order')) do
      local inner = parts.child(m, n)
      if inner then walk(inner) end
    end
  end
  walk(net)
end

--- Functions that a call of a network may run, the library's left out, and the set of its modules.
---@param net mascon.Module
---@return function[] calls
---@return table set
function M.calls(net)
  local calls, set, seen = {}, {}, {}
  local function add(v)
    if of_user(v) and not seen[v] then calls[#calls + 1], seen[v] = v, true end
  end
  each(net, function(m)
    set[m] = true
    local holders = { m }
    local class = rawget(m, '_class')
    while class do
      table.insert(holders, 1, class)
      class = rawget(class, '_base')
    end
    for _, holder in ipairs(holders) do
      local names = {}
      for k, v in pairs(holder) do if of_user(v) then names[#names + 1] = tostring(k) end end
      table.sort(names)
      for _, k in ipairs(names) do add(holder[k]) end
    end
    for _, list in ipairs { rawget(m, '_before') or {}, rawget(m, '_after') or {} } do
      for _, hook in ipairs(list) do add(hook) end
    end
  end)
  return calls, set
end

local OWN = { _before = true, _after = true, _around = true }
local PLAIN = { number = true, string = true, boolean = true, ['function'] = true }
--- Whether a call depends on a field of a module.
local function counts(k, v)
  if type(k) == 'number' then return true end
  return OWN[k] or k:sub(1, 1) ~= '_' and PLAIN[type(v)]
end

--- What a call depends on of the mode of a module m of a network: with 'own' whether it is in training, with 'parts'
--- whether it stays in evaluation while the network trains.
local function mode_of(m, net, mode)
  local training = rawget(m, '_training')
  if mode == 'parts' then return not training and rawget(net, '_training') end
  return mode == 'own' and training
end

--- What a call of a network depends on, as it is now.
---@param net mascon.Module
---@param mode? 'own'|'parts' on which modes of modules, too
---@return table
function M.look(net, mode)
  local fields, slots, met = {}, {}, {}
  each(net, function(m)
    local own = {}
    for k, v in pairs(m) do if counts(k, v) then own[k] = v end end
    local tensors, inner = {}, {}
    for k, v in pairs(rawget(m, '_modules')) do inner[k] = v end
    for _, n in ipairs(rawget(m, '_order')) do
      local slot = rawget(m, '_slots')[n]
      tensors[n] = slot
      if slot and not met[slot] then
        met[slot] = true
        slots[#slots + 1] = slot
      end
    end
    fields[m] = { own, tensors, inner, mode = mode_of(m, net, mode) }
  end)
  return { net = net, fields = fields, slots = slots, calls = M.calls(net), mode = mode }
end

--- Whether the entries of b that count are those of a, and no others.
local function equal(a, b, all, loose)
  for k, v in pairs(b) do
    if (all or counts(k, v)) and not rawequal(a[k], v) and (a[k] == a[k] or v == v) and not (loose and loose[k])
    then
      return false
    end
  end
  for k in pairs(a) do if rawget(b, k) == nil then return false end end
  return true
end

local function same(look, m, was)
  return was.mode == mode_of(m, look.net, look.mode) and equal(was[1], m, false, was.loose)
    and equal(was[2], rawget(m, '_slots'), true) and equal(was[3], rawget(m, '_modules'), true)
end

--- Whether all is as M.look found it; the values of tensors may be others, and so may numbers of M.loosen.
function M.same(look)
  for m, was in pairs(look.fields) do if not same(look, m, was) then return false end end
  return true
end

--- Numbers that have changed since M.look, as variables of compiled functions, which look after them from here on; nil
--- where something else has changed, too.
---@return mascon.Variable[]|nil
function M.loosen(look)
  local out, names = {}, {}
  for m, was in pairs(look.fields) do
    local loose = {}
    for k in pairs(was.loose or {}) do loose[k] = true end
    for k, v in pairs(was[1]) do
      local now = rawget(m, k)
      if type(k) == 'string' and type(v) == 'number' and type(now) == 'number' and v ~= now and not loose[k] then
        loose[k] = true
        out[#out + 1] = { name = k, env = m, value = now, id = ('%s of %p'):format(k, m) }
      end
    end
    names[m] = loose
    if not same(look, m, { was[1], was[2], was[3], mode = was.mode, loose = loose }) then return nil end
  end
  for m, loose in pairs(names) do look.fields[m].loose = loose end
  table.sort(out, function(a, b) return a.id < b.id end)
  return out
end

return M
