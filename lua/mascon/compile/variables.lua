-- variables.lua - what a compiled function makes of the variables outside it.
---
--- Each is either watched (a call compares it with what it was; another value is another form) or given (its value is
--- an argument in front of the caller's). Tensors are given from the start; numbers, keys and trees of tensors when
--- they have changed, numbers and trees on trial. Holds these lists, which stand in the compiled function as watched,
--- given, guard, give, values, fixed (static places behind the given ones), and who moves between them.
local keys = require 'mascon.core.keys'
local recording = require 'mascon.graph.recording'
local outside = require 'mascon.compile.outside'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local tree = require 'mascon.graph.tree'
local error = check.error

local M = {}

--- Takes variables of f as watched (a call compares them with what they were) and given (their values are arguments in
--- front of the caller's).
local function arrange(self, watched, given)
  self.watched, self.given = watched, given
  self.guard, self.give = outside.guard(watched), outside.giver(given)
  self.values, self.fixed = {}, {}
  for i, v in ipairs(watched) do self.values[i] = v.value end
  for i, v in ipairs(given) do self.fixed[i] = v.frozen or nil end
  for i in pairs(self.static) do self.fixed[i + #given] = true end
end

--- The watched values as part of the key of a form. What is no value of its own goes by identity.
function M.key(self)
  local text = {}
  for i, v in ipairs(self.watched) do
    local x, kind = v.value, type(v.value)
    if kind == 'number' then text[i] = ('%.17g'):format(x)
    elseif kind == 'string' then text[i] = ('%q'):format(x)
    elseif kind == 'boolean' or kind == 'nil' then text[i] = tostring(x)
    else
      if not self.identity[x] then
        self.identities = self.identities + 1
        self.identity[x] = self.identities
      end
      text[i] = '#' .. self.identity[x]
    end
  end
  return table.concat(text, ',') .. ';'
end

local OFTEN = 30 -- values of a number, each of which means a trace
--- Counts the values of a variable that cannot become an argument; self.restless is one that has had many.
local function restless(self, v)
  v.times = (v.times or 0) + 1
  if v.times == OFTEN and type(v.value) == 'number' then self.restless = v end
end

local renew -- forward: all is looked for anew

--- A watched variable has another value: a tensor, a tree of them or a number is given from here on; anything else
--- means another form.
local function notice(self)
  local watched, given = {}, { unpack(self.given) }
  for _, v in ipairs(self.watched) do
    local now = outside.get(v)
    if v.holder and not rawequal(now, v.value) then return renew(self) end
    if v.stays and not rawequal(now, v.value) then restless(self, v) end
    local kind = not rawequal(now, v.value) and not v.stays and outside.kind(now)
    local filled = v.empty and type(now) == 'table' and next(now) ~= nil
    if (filled or not rawequal(now, v.value)) and outside.is_tree(now) then
      v.frozen, v.empty = true, nil
      given[#given + 1] = v
    elseif kind and kind == outside.kind(v.value) and not (kind ~= 'tensor' and self.writes) then
      v.on_trial = kind == 'number' or kind == 'tree'
      given[#given + 1] = v
    else watched[#watched + 1] = v end
    v.value = now
  end
  if #given > #self.given then self.plans, self.forms = {}, {} end
  self.recent = {}
  arrange(self, watched, given)
end

--- The buffers that watched variables hold, with the state of their contents: { variable, tensor, version }.
function M.buffers(self)
  local out = {}
  for _, v in ipairs(self.watched) do
    for _, t in ipairs(outside.kind(v.value) and tree.leaves(v.value, true) or {}) do
      t = recording.own(t)
      out[#out + 1] = { v, t, recording.version(t) }
    end
  end
  return out
end

--- f writes to tensors that these variables hold: they are given from here on, since a plan writes to its arguments
--- only. Whether there was one.
function M.give_written(self, before)
  local hit, watched, given = {}, {}, { unpack(self.given) }
  for _, b in ipairs(before) do hit[b[1]] = hit[b[1]] or recording.version(b[2]) ~= b[3] end
  for _, v in ipairs(self.watched) do
    local list = hit[v] and given or watched
    list[#list + 1] = v
  end
  if #given == #self.given then return false end
  self.writes = true
  self.plans, self.forms, self.recent = {}, {}, {}
  arrange(self, watched, given)
  return true
end

--- Numbers in given tables have changed and nothing else has: they are arguments from here on, on trial. Whether there
--- were some.
---@param args any[] what is given, in front
function M.thaw(self, args)
  local some = false
  for i, v in ipairs(self.given) do
    if v.frozen ~= nil then
      local free, bound = {}, {}
      tree.flatten(args[i], {}, free, false, { loops = true })
      tree.flatten(args[i], {}, bound, true, { loops = true })
      free, bound = table.concat(free), table.concat(bound)
      if v.frozen and not v.stays and not self.writes and v.free == free and v.bound ~= bound then
        v.frozen, v.on_trial, v.proven, some = false, true, false, true
      end
      v.free, v.bound = free, bound
    end
  end
  if some then
    self.plans, self.forms, self.recent = {}, {}, {}
    arrange(self, self.watched, self.given)
  end
  return some
end

local function changes(name, before)
  error(('compile: the function changes %s, which was %s; a replay would not do that: hold it in a tensor and write to '
    .. 'it (add_, copy_), or return the new value')
    :format(name,
      type(before) == 'table' and 'a table' or tensor.is(before) and tensor.describe(before) or tostring(before)), 2)
end

--- Refuses a function that gave a variable another value while something stood for the one that it has.
function M.replaced(v, before, now)
  if not tensor.is(before) and type(before) ~= 'table' then changes(v.name, before) end
  error(('compile: the function gives the variable %s another %s, which a replay would not do; return the tensor, '
    .. 'or write to the one that is there (copy_, add_)'):format(v.name, tensor.is(now) and 'tensor' or 'value'), 2)
end

--- Refuses a function that changes what it found outside; what it made where there was nothing (the memory of a first
--- call) is watched like the rest.
---@param changed table of outside.swapped
function M.settle(self, changed)
  for _, c in ipairs(changed) do changes(c[1], c[2]) end
  local some = false
  for i, v in ipairs(self.watched) do
    local now = outside.get(v)
    if v.empty and next(now) ~= nil then v.empty, some = nil, true end -- the memory of a first call
    if not rawequal(now, v.value) and not (now ~= now and v.value ~= v.value) then
      if v.value ~= nil then
        outside.set(v, v.value)
        changes(v.name, v.value)
      end
      v.value, self.values[i], some = now, now, true
    end
  end
  if some then arrange(self, self.watched, self.given) end
end

--- Takes variables that were found beside those that are known. Whether there were new ones.
local function add(self, found, unsteady)
  local watched, given, some = { unpack(self.watched) }, { unpack(self.given) }, false
  for _, v in ipairs(found) do
    if not self.known[v.id] then
      local list = (tensor.is(v.value) or v.frozen) and given or watched
      list[#list + 1], self.known[v.id], some = v, true, true
    end
  end
  for _, u in ipairs(unsteady) do
    local id = ('%p/%d'):format(u[1], u[2])
    if not self.known[id] then self.unsteady[#self.unsteady + 1], self.known[id] = u, true end
  end
  if some then arrange(self, watched, given) end
  return some
end

local function forget(self) self.plans, self.forms, self.recent = {}, {}, {} end

local function start(self)
  self.identity, self.identities = setmetatable({}, { __mode = 'k' }), 0
  self.known, self.unsteady, self.met, self.looks = {}, {}, setmetatable({}, { __mode = 'k' }), {}
  arrange(self, {}, {})
  local found, unsteady, asks = outside.find(self.f, self.calls, self.apart, self.looks)
  self.asks, self.fresh = asks, true
  add(self, found, unsteady)
  if self.varied then M.vary(self, self.varied) end
end
function renew(self)
  forget(self)
  start(self)
end

--- Variables beside those that f reads by name, such as numbers of modules that have changed: they become arguments as
--- others do.
---@param list mascon.Variable[]
function M.vary(self, list)
  self.varied = self.varied or {}
  local own = {}
  for i, v in ipairs(list) do
    own[i] = { name = v.name, of = v.of, env = v.env, at = v.at, id = v.id, value = outside.get(v), stays = self.asks }
    if list ~= self.varied then table.insert(self.varied, v) end
  end
  if self.watched and add(self, own, {}) then forget(self) end
end

--- Compares the variables with what they were; finds them at the first call.
function M.look(self)
  if not self.watched then start(self)
  elseif keys(self.looks) ~= nil and not outside.same(self.looks) then
    local numbers = outside.loosened(self.looks)
    if numbers then M.vary(self, numbers) else renew(self) end
    if self.guard and not self.guard(self.values) then notice(self) end
  elseif self.guard and not self.guard(self.values) then notice(self) end
end

--- Before a trace: functions and methods that come with the arguments read variables too, and so do functions and
--- modules that have taken the place of others: they belong to those of f from here on. Whether there were new ones.
---@param args any[] what is given in front
---@param classes table[] of outside.classes
function M.meet(self, args, n, classes)
  local new = {}
  for _, v in ipairs(outside.callables(args, #self.given + 1, n, classes)) do
    if not self.met[v] then new[#new + 1] = v end
  end
  local fresh = self.fresh
  self.fresh = nil
  if not new[1] and fresh then return false end
  for _, v in ipairs(new) do self.met[v] = true end
  for _, v in ipairs(self.calls or {}) do new[#new + 1] = v end
  local found, unsteady, asks = outside.find(self.f, new, self.apart, self.looks)
  self.asks = asks
  local count = #self.watched + #self.given
  for _, v in ipairs(found) do if not self.known[v.id] then count = count + 1 end end
  if count > outside.MOST then -- of functions that do not come any more
    start(self)
    for _, v in ipairs(new) do self.met[v] = true end
  end
  if not add(self, found, unsteady) then return false end
  forget(self)
  return true
end

--- Whether numbers or trees are given that f may not take: 'new' ones, 'any' when all have served before, or nil.
function M.on_trial(self)
  local suspect
  for _, v in ipairs(self.given) do
    if v.on_trial and not v.proven then return 'new' end
    if v.on_trial then suspect = 'any' end
  end
  return suspect
end

--- What is given has served.
function M.proven(self)
  for _, v in ipairs(self.given) do v.proven = true end
end

--- Those on trial are watched from here on; with 'new', those that served before stay given.
function M.distrust(self, suspect)
  local watched, given = { unpack(self.watched) }, {}
  for _, v in ipairs(self.given) do
    v.stays = v.on_trial and (suspect == 'any' or not v.proven)
    v.value = outside.get(v)
    if v.stays and v.frozen ~= nil then v.frozen, v.on_trial = true, nil end
    local list = v.stays and v.frozen == nil and watched or given
    list[#list + 1] = v
  end
  arrange(self, watched, given)
end

return M
