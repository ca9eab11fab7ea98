-- compile/init.lua - a Lua function of tensors as a plan that replays without Lua.
---
--- The first call with arguments of a new form runs the function with tensors that have shapes and no values, and
--- writes down what it does with its arguments; this call and the next ones of the same form replay that. A form is the
--- structure of the arguments, dtypes, sizes and strides of the tensors, and the values of what is no tensor and no
--- number; variables outside the function are looked after by variables.lua. Holds the cache of forms.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local guard = require 'mascon.core.guard'
local placing = require 'mascon.core.place'
local random = require 'mascon.random.key'
local aliases = require 'mascon.compile.aliases'
local tensor = require 'mascon.core.tensor'
local call = require 'mascon.compile.call'
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local lib = require 'mascon.core.ffi'
local log = require 'mascon.compile.log'
local objects = require 'mascon.compile.objects'
local once = require 'mascon.graph.once'
local outside = require 'mascon.compile.outside'
local packed = require 'mascon.compile.packed'
local plans = require 'mascon.compile.plan'
local pipeline = require 'mascon.compile.pipeline'
local unsteady = require 'mascon.compile.unsteady'
local variables = require 'mascon.compile.variables'
local work = require 'mascon.compile.work'
local tree = require 'mascon.graph.tree'
local error = check.error
local flatten, rebuild = tree.flatten, tree.rebuild

local M = {}

local function form(t)
  return ('%d%s/%s%s;'):format(t._dtype, tostring(t.shape), table.concat(t.strides, ','),
    t._device ~= 0 and '@' .. t._device or '')
end

-- ---------------------------------------------------------------- compiled functions

---@class mascon.Compiled
---@field f function
---@field traces integer how often f was run and written down
---@field tier string 'auto', 'native', 'vm' or 'eager'
local Compiled = {}
local methods = {}
Compiled.__index = methods

local TIERS = { 'auto', 'native', 'vm', 'eager' }
local IS_TIER = { auto = true, native = true, vm = true, eager = true }
local RECENT = 4 -- forms that a call looks at before it makes a key
local KEPT = 64 -- forms of a function; the first traced of those not in use goes when there are more
local PAUSE = 110 -- percent of the Lua heap after which the collector starts again while it has to stay small
local GARBAGE = 2 ^ 26 -- bytes that a first call leaves behind: from here on their handles are collected at once

local native -- loaded when a tier asks for it
local function with_native()
  native = native or require 'mascon.compile.native'
  return native
end

local function number(x)
  return recording.weaken(mc.tensor(x))
end

--- What an argument looks like, field by field, for the line that says why a function is traced again.
local function describe(v, name, out, static, path)
  if tensor.is(v) then
    out[#out + 1] = { 'dtype of ' .. name, v.dtype }
    out[#out + 1] = { 'shape of ' .. name, tostring(v.shape) }
    out[#out + 1] = { 'device of ' .. name, v.device }
    out[#out + 1] = { 'strides of ' .. name, '(' .. table.concat(v.strides, ', ') .. ')' }
  elseif type(v) == 'number' and not static then out[#out + 1] = { name, 'a number' }
  elseif random.is_key(v) then out[#out + 1] = { 'number of keys in ' .. name, tostring(v:words().shape) }
  elseif tree.is_branch(v) then
    path = path or {}
    if path[v] then return end
    path[v] = true
    for _, k in ipairs(tree.keys(v)) do
      describe(rawget(v, k), type(k) == 'string' and name .. '.' .. k or ('%s[%s]'):format(name, tostring(k)),
        out, static, path)
    end
    path[v] = nil
    out[#out + 1] = { 'keys of ' .. name, ('%d'):format(#tree.keys(v)) }
  else out[#out + 1] = { name, check.show(v) } end
end

local function explain(self, args, n, classes)
  local given = #self.given
  local fields = { { 'number of arguments', tostring(n - given) } }
  for _, v in ipairs(self.watched) do fields[#fields + 1] = { v.name, check.show(v.value) } end
  for i = 1, n do
    describe(args[i], i <= given and self.given[i].name or 'argument ' .. i - given, fields, self.fixed[i])
  end
  for i, c in ipairs(classes) do describe(c, 'class ' .. i, fields, true) end
  local old = self.fields and packed.unpack(self.fields)
  self.fields = packed.pack(fields)
  if not old then return 'first call' end
  local before = {}
  for _, field in ipairs(old) do before[field[1]] = field[2] end
  for _, field in ipairs(fields) do
    local was = before[field[1]]
    if was and was ~= field[2] then return ('%s is %s, was %s'):format(field[1], field[2], was) end
  end
  for i, field in ipairs(fields) do
    local was = old[i]
    if not was then return ('%s is %s and was not there'):format(field[1], field[2]) end
    if was[1] ~= field[1] then return ('%s stands where %s was'):format(field[1], was[1]) end
  end
  return 'a form that was seen before the last one'
end

local function named(self)
  local at = debug.getinfo(self.f, 'S')
  return ('%s:%d'):format(at.short_src, at.linedefined)
end

--- How the numbers among the arguments decide dtypes: 'whole' where one meets a tensor of integers (a fraction gives
--- another dtype), 'exact' where what is computed of one does, else nil.
local function numbers_of(tensors, record)
  local inputs, how = {}, nil
  for _, t in ipairs(tensors) do if recording.weak(t) then inputs[recording.serial(t)] = true end end
  if not next(inputs) then return nil end
  for _, e in ipairs(record) do
    local weak, meets = nil, false
    for i, o in ipairs(e.ins) do
      local kind = tensor.kind[tensor.name[o.dtype]]
      if o.weak and o.traced then
        weak = inputs[o.serial] and (weak or 'whole') or 'exact'
      elseif not o.weak and (kind == 'i' or kind == 'u' or kind == 'b') then
        meets = meets or not (e.row and e.row.family == 'where' and i == 1)
      end
    end
    if e.kind == 'op' and meets and weak then how = (how == 'exact' or weak == 'exact') and 'exact' or 'whole' end
  end
  return how
end

--- Number of the device on which a graph runs: that of its arguments and of what it captured, as far as it reads them.
local function device_of(graph, tensors)
  local read = {}
  local function mark(uses) for _, u in ipairs(uses) do read[u.value] = true end end
  for _, n in ipairs(graph.nodes) do mark(n.ins) end
  mark(graph.outputs)
  mark(graph.effects)
  local list = {}
  for i, t in ipairs(tensors) do if read[graph.inputs[i]] then list[#list + 1] = t end end
  tensor.one_device('compile', list, 0)
  for _, t in ipairs(list) do if t._device ~= 0 then return t._device end end
  for _, v in ipairs(graph.consts) do if v.const._device ~= 0 then return v.const._device end end
  return 0
end

--- What f did with tensors, as a plan. lent: which outputs may lie in its arena.
local function planned(self, tensors, record, results, since, outputs, lent)
  local source = graphs.source(tensors, record, outputs, since)
  local graph = graphs.from(source)
  local options = pipeline.on_device(self.options, device_of(graph, tensors))
  if lent and not options.device then options = setmetatable({ lent = lent }, { __index = options }) end
  local reports = pipeline.run(graph, options)
  local plan = plans.make(graph, options)
  source.log = packed.pack(source.log)
  plan.source, plan.results, plan.options = source, results, options
  plan.operations = work.of(graph)
  plan.passes = {} -- the reports hold the graph, and explain makes them again
  for i, r in ipairs(reports) do plan.passes[i] = { name = r.name, seconds = r.seconds } end
  local fused = pipeline.report(reports, 'fuse')
  plan.fused = { groups = fused and fused.groups or 0, nodes = fused and fused.nodes or 0 }
  for _, e in ipairs(record) do
    for _, o in ipairs(e.outs) do self.writes = self.writes or o.serial <= since end
  end
  return plan
end

local tuned
--- Why a form is left to f itself, or nil: a write reaches memory that other operands show.
local function own_run(tensors, writes)
  if not writes then return nil end
  if writes.shared then return 'the function writes to an argument or variable that shares memory with another one' end
  for k, t in ipairs(tensors) do
    if writes[k] and not t:is_contiguous() then
      return ('tensor %d among the arguments is written and not contiguous'):format(k)
    end
  end
end

--- Refuses a function that puts other values into the tables of an argument: the caller's would not get them.
local function unaltered(given, shown, place, stands)
  local function walk(a, b, name)
    for _, k in ipairs(tree.keys(b)) do
      local x, y = rawget(a, k), rawget(b, k)
      local where = name .. (type(k) == 'string' and '.' .. k or ('[%s]'):format(tostring(k)))
      if tree.is_branch(x) and tree.is_branch(y) then walk(x, y, where)
      elseif x == nil or not (stands[y] or random.is_key(y) or rawequal(x, y) or x ~= x) then
        error(('compile: the function changes %s; a replay would not do that: return the new value instead'):format(
          where), 2)
      end
    end
    for _, k in ipairs(tree.keys(a)) do
      if rawget(b, k) == nil then
        error(('compile: the function takes %s out of %s; a replay would not do that: return a new table instead')
          :format(tostring(k), name), 2)
      end
    end
  end
  if tree.is_branch(given) then walk(given, shown, ('argument %d'):format(place)) end
end

--- What a recorded run with values took goes back to the system: a plan has memory of its own. Handles of a large run
--- are collected before.
local function give_back(live)
  if lib.memory_stats().live - live > GARBAGE then
    collectgarbage()
    collectgarbage()
  end
  lib.C.mc_memory_trim()
end

--- First call of a form: runs f, writes down what it did. by_shapes: f sees shapes and no values, and results are those
--- of the plan; nil in their place.
local build, recorded
function build(self, args, n, tensors, classes, by_shapes)
  if not tuned then
    tuned = true
    require 'mascon.compile.tune'.apply()
  end
  tensors = recording.aliases(tensors, by_shapes)
  local at = 0
  local shown, trees, given = {}, {}, #self.given
  for i = 1, n do
    if i <= given and tree.is_branch(args[i]) then -- the table itself, with other leaves while f runs
      local own = {}
      flatten(args[i], own, {}, self.fixed[i], { loops = true })
      trees[#trees + 1] = { args[i], at, self.fixed[i], self.given[i].name }
      shown[i], at = args[i], at + #own
    else
      shown[i] = rebuild(args[i], function()
        at = at + 1
        return tensors[at]
      end, self.fixed[i])
    end
  end
  for i, c in ipairs(classes) do
    local own = {}
    flatten(c, own, {}, true, { loops = true })
    trees[#trees + 1] = { c, at, true, 'class ' .. i }
    at = at + #own
  end
  local function stand_in(place, leaf) return random.is_key(leaf) and random.of(tensors[place]) or tensors[place] end
  local live = lib.memory_stats().live
  local since = recording.serial(recording.own(mc.tensor(0)))
  local held = variables.buffers(self)
  local changed, replaced
  local function tell(v, before, now) replaced = replaced or { v, before, now } end
  local function keep(list, ...)
    changed = list
    return ...
  end
  local how = { strict = true, inline = true, shapes = by_shapes }
  local record, results, writes = recording.record(tensors, how, function()
    return keep(outside.swapped(trees, stand_in, function()
      return unsteady.refused(self.unsteady, outside.with, self.given, shown, tell, self.f,
        unpack(shown, given + 1, n))
    end))
  end)
  local stands = {}
  for _, t in ipairs(tensors) do stands[t] = true end
  for i = given + 1, n do unaltered(args[i], shown[i], i - given, stands) end
  if variables.give_written(self, held) then return false, results end
  if replaced then variables.replaced(unpack(replaced, 1, 3)) end
  for _, e in ipairs(record) do
    local o = e.kind == 'base' and e.outs[1]
    if o and o.serial <= since then
      error(('compile: the function writes to a tensor of %d elements that it finds in a table or in another object; '
        .. 'hold it in a local variable or pass it as an argument'):format(o.size), 2)
    end
  end
  variables.settle(self, changed)
  if writes and writes.outside > 0 then
    error('compile: the function writes to a tensor that it finds in a table or in another object; hold it in a local '
      .. 'variable or pass it as an argument', 2)
  end
  local leaves = {}
  for i = 1, results.n do flatten(results[i], leaves, {}, true) end
  local outputs, shown_in = aliases.find(leaves, tensors, since)
  local outline = aliases.outline(results)
  if by_shapes and aliases.opaque(outline) then
    self.valued = true
    return recorded(self, args, n, tensors, classes)
  end
  local plain = own_run(tensors, writes)
  local plan = plain and { plain = plain, fused = { groups = 0, nodes = 0 }, steps = 0, passes = {}, outputs = {} }
    or once.run(#record, planned, self, tensors, record, outline, since, outputs,
      self.lend and not shown_in and aliases.among(outline, self.lend))
  if plain then self.writes = true end
  local kind = numbers_of(tensors, record)
  if kind and self.numbers ~= 'exact' then self.numbers = kind end
  plan.places = shown_in
  if by_shapes then results = nil
  elseif shown_in then -- views of the arguments themselves, not of what stood for them
    local args_leaves = {}
    for i = 1, n do flatten(args[i], args_leaves, {}, self.fixed[i], i <= given and { loops = true } or nil) end
    for _, c in ipairs(classes) do flatten(c, args_leaves, {}, true, { loops = true }) end
    local list, place = aliases.tensors(shown_in, outputs, args_leaves), 1
    for i = 1, results.n do results[i], place = aliases.shaped(outline[i], list, place) end
  end
  plan.outside = {}
  for _, v in ipairs(self.watched) do
    if not outside.common(v.value) then plan.outside[#plan.outside + 1] = { name = v.name, value = v.value } end
  end
  for _, v in ipairs(self.given) do plan.outside[#plan.outside + 1] = { name = v.name, given = true } end
  self.forms[#self.forms + 1] = plan
  if not by_shapes then give_back(live) end
  return plan, results
end

--- build, by shapes unless f needs values: then it runs once more with them.
function recorded(self, args, n, tensors, classes)
  if self.valued then
    if self.ahead then error('compile: f needs values', 0) end
    return build(self, args, n, tensors, classes)
  end
  recording.asked()
  local function finish(ok, ...)
    if ok then return ... end
    local why = ...
    if self.ahead or not recording.asked() or check.stopped(why) then error(why, 0) end
    self.valued = true
    return build(self, args, n, tensors, classes)
  end
  return finish(pcall(build, self, args, n, tensors, classes, true))
end

--- build; nil when f does not take a given number or tree for what it was (a size, the end of a loop, a table it writes
--- to): it is watched from here on.
local function attempt(self, args, n, tensors, classes)
  local trial = variables.on_trial(self)
  if not trial then return recorded(self, args, n, tensors, classes) end
  local function finish(ok, ...)
    if ok then
      variables.proven(self)
      return ...
    end
    local why = ...
    if type(why) ~= 'string' or check.stopped(why) then error(why, 0) end
    variables.distrust(self, trial)
  end
  return finish(pcall(recorded, self, args, n, tensors, classes))
end

--- Forms that are not used go when there are many.
local function forget(self)
  local at = 1
  while #self.forms > KEPT do
    local plan, used = self.forms[at], false
    for _, f in ipairs(self.recent) do used = used or f.plan == plan end
    if used then at = at + 1
    else
      self.plans[plan.key] = nil
      table.remove(self.forms, at)
    end
  end
end

--- The forms that calls look at first: the one just used in front.
local function remember(self, f)
  local recent = self.recent
  for i = #recent, 1, -1 do if recent[i] == f then table.remove(recent, i) end end
  table.insert(recent, 1, f)
  recent[RECENT + 1] = nil
end

--- Results in the structure of what f returned. ...: the arguments, given variables in front.
local function unfold(f, outs, ...)
  if f.single then return outs end
  local results, list, at = f.results, {}, 1
  if f.places then
    local leaves = {}
    for i = 1, f.n do flatten((select(i, ...)), leaves, {}, f.static[i], { loops = true }) end
    for _, c in ipairs(f.classes) do flatten(c, leaves, {}, true, { loops = true }) end
    outs = aliases.tensors(f.places, outs, leaves)
  end
  for i = 1, results.n do list[i], at = aliases.shaped(results[i], outs, at) end
  return unpack(list, 1, results.n)
end

--- Looks for compiled code of a plan and orders what is missing.
local function attach(self, plan)
  plan.later = nil
  once.run(plan.steps, with_native().attach, plan, self)
end

local general
--- run(self, given variables ..., arguments ...) as they are at this moment.
local function enter(self, run, ...)
  variables.look(self)
  local give = self.give
  if give then return give(run, self, ...) end
  return run(self, ...)
end

--- A call that no recent form took: by its key, or by running f.
function general(self, ...)
  local n, args = select('#', ...), { ... }
  local leaves, text = { keys = {} }, {}
  for i = 1, n do
    flatten(args[i], leaves, text, self.fixed[i], { loops = i <= #self.given or nil, object = objects.text })
  end
  local classes = outside.classes(args, n)
  for _, c in ipairs(classes) do flatten(c, leaves, text, true, { loops = true }) end
  random.settle(leaves, leaves.keys)
  local tensors = {}
  for i, v in ipairs(leaves) do
    local t = type(v) == 'number' and number(v) or tensor.promote(v, 2)
    tensors[i] = t
    text[#text + 1] = form(t)
  end
  local rest = table.concat(text)
  local function key_of()
    local more = { variables.key(self), placing.name or '', rest, self.writes and recording.sharing(tensors) or '' }
    for _, v in ipairs(self.numbers and leaves or {}) do
      if type(v) == 'number' then
        more[#more + 1] = self.numbers == 'exact' and ('%.17g,'):format(v) or call.whole(v) and 'w' or 'f'
      end
    end
    return table.concat(more)
  end
  local plan, given = self.plans[key_of()], #self.given
  if plan and plan.plain then
    if self.ahead then return nil end
    return self.f(select(given + 1, ...))
  end
  local known = plan and plan.form
  if known and self.ahead then return known end
  if known then
    local outs, rc = call.try(known, n, ...)
    if outs then
      remember(self, known)
      return unfold(known, outs, ...)
    end
    if outs == false then tensor.failed(rc, 3, true, tensors) end
  end
  if variables.meet(self, args, n, classes) or variables.thaw(self, args) then
    return enter(self, general, unpack(args, given + 1, n))
  end
  local start = lib.clock_seconds()
  local results
  plan, results = attempt(self, args, n, tensors, classes)
  if plan == nil then return enter(self, general, unpack(args, given + 1, n)) end
  if not plan then return unpack(results, 1, results.n) end -- the next call is the first of another kind
  local why = explain(self, args, n, classes)
  plan.key = key_of()
  self.traces = self.traces + 1
  plan.why, plan.seconds = why, lib.clock_seconds() - start
  self.plans[plan.key], self.plan = plan, plan
  if plan.plain then
    forget(self)
    if self.ahead then return nil end
    if not results then return self.f(select(given + 1, ...)) end
    return unpack(results, 1, results.n)
  end
  local f = call.form(plan, args, leaves,
    { n = n, static = self.fixed, results = plan.results, numbers = self.numbers, classes = classes })
  plan.form = f
  remember(self, f)
  forget(self)
  if log.on() then
    log.say('trace %d of %s (%s): %d step%s, %d group%s of %d ops', self.traces, named(self), why, plan.steps,
      plan.steps == 1 and '' or 's', plan.fused.groups, plan.fused.groups == 1 and '' or 's', plan.fused.nodes)
  end
  if self.tier == 'auto' then plan.later, plan.orders = true, {} end -- a function that is called once needs no compiler
  if self.tier == 'native' then
    attach(self, plan)
    native.start(plan, self)
    native.wait(function() return plan.native < plan.groups end)
  end
  if self.ahead then
    plan.new = true
    return f
  end
  if results then return unpack(results, 1, results.n) end
  local outs, rc = call.try(f, n, ...)
  if outs then return unfold(f, outs, ...) end
  if outs == false and tensor.failed(rc, 3, false, tensors) then
    outs, rc = call.try(f, n, ...)
    if outs then return unfold(f, outs, ...) end
    tensor.failed(rc, 3, true, tensors)
  end
  return self.f(select(given + 1, ...))
end

local function failed_call(rc, f, self, ...)
  if tensor.failed(rc, 3, false, f.cells) then
    local outs, again = call.try(f, select('#', ...), ...)
    if outs then return unfold(f, outs, ...) end
    tensor.failed(again, 3, true, f.cells)
  end
end

-- Seconds that calls of a plan take in the vector machine before what the cache lacks is compiled. A group takes 50 to
-- 300 ms of another processor: most functions are called a few times and are over before.
local PAYS = 0.03

--- The time, for a plan whose orders are not given yet.
local function before(plan) return plan.orders and plan.orders[1] and lib.clock_seconds() end

--- What is due after a call of a form that began then: it stands in front, and compiled code is looked for.
local function used(self, f, i, began)
  if i > 1 then remember(self, f) end
  local plan = f.plan
  if plan.new then plan.new = nil -- its first call, though it was traced before
  elseif plan.orders then -- not all of it is compiled
    if plan.later then attach(self, plan) end
    if began then plan.spent = (plan.spent or 0) + lib.clock_seconds() - began end
    if plan.spent and plan.spent > PAYS and plan.orders[1] then native.start(plan, self) end
    native.poll()
    if plan.native == plan.groups then plan.orders = nil end
  end
end

local function replay(self, ...)
  local recent, n = self.recent, select('#', ...)
  for i = 1, #recent do
    local f = recent[i]
    local began = before(f.plan)
    local outs, rc = call.try(f, n, ...)
    if outs then
      if i > 1 or f.plan.orders then used(self, f, i, began) end
      if f.single then return outs end
      return unfold(f, outs, ...)
    elseif outs == false then return failed_call(rc, f, self, ...) end
  end
  return general(self, ...)
end

--- A call under another default device (mc.with_device) looks among the forms of that one.
local function elsewhere(self) self.place, self.recent = placing.name, {} end

function Compiled.__call(self, ...)
  if self.place ~= placing.name then elsewhere(self) end
  if self.tier == 'eager' or recording.on() then return self.f(...) end
  return enter(self, replay, ...)
end

--- Looks for a recent form that takes the arguments and writes to self.target; whether there was one.
local function replay_into(self, ...)
  if self.place ~= placing.name then elsewhere(self) end
  for i = 1, #self.recent do
    local f = self.recent[i]
    local began = before(f.plan)
    local outs, rc = call.into(f, self.target, select('#', ...), ...)
    if outs then
      used(self, f, i, began)
      return true
    elseif outs == false then tensor.failed(rc, 2, true, f.cells) end
  end
  return false
end

--- Calls the function with its results written to tensors that are there, so that nothing is allocated.
---
--- out: a tensor (or table of tensors) as the function returns it; a list of them when it returns several. dtypes and
--- shapes are those of the results; arguments may be among them: they are read before they are written. Result: out.
--- Errors: out has another structure, dtype or shape, or two parts of it share memory.
---     local f = mc.compile(function(a, s) return a * s + 1 end)
---     local y = mc.zeros{2}
---     f:into(y, mc.tensor{1, 2}, 3)  --> f64[2]@cpu { 4, 7 }
function methods:into(out, ...)
  local leaves, text = {}, {}
  flatten(out, leaves, text, true)
  if self.tier ~= 'eager' and not recording.on() then
    self.target = leaves
    local done = enter(self, replay_into, ...)
    self.target = nil
    if done then return out end
  end
  for i, t in ipairs(leaves) do
    for k = 1, i - 1 do
      if recording.overlap(t, leaves[k]) then
        error(('compile: out %d and %d share memory; give each result its own tensor'):format(k, i), 2)
      end
    end
  end
  local results, made = { self(...) }, {}
  for i = 1, table.maxn(results) do flatten(results[i], made, text, true) end
  if #made ~= #leaves then
    error(('compile: into: out holds %d tensor%s and the function returns %d; give as many'):format(#leaves,
      #leaves == 1 and '' or 's', #made), 2)
  end
  for i, t in ipairs(leaves) do
    if t.dtype ~= made[i].dtype or tostring(t.shape) ~= tostring(made[i].shape) then
      error(('compile: result %d is %s%s and out is %s%s; give a tensor of that dtype and shape'):format(i,
        made[i].dtype, tostring(made[i].shape), t.dtype, tostring(t.shape)), 2)
    end
    t:copy_(made[i])
  end
  return out
end

--- The C text of the groups of the form that was traced last, one function per group.
---@return string
function methods:source()
  local plan = self.plan
  if not plan then error('compile: source() before the first call; call the function once', 2) end
  if plan.plain then return '' end
  local codegen = require 'mascon.compile.native.codegen'
  if not plan.functions then attach(self, plan) end
  return (codegen.source(plan.functions))
end

--- How many groups the form that was traced last has, and how many of them run as compiled code.
---@return integer groups
---@return integer native
function methods:groups()
  local plan = self.plan
  return plan and (plan.groups or plan.fused.groups) or 0, plan and plan.native or 0
end

--- Whether every group of the form that was traced last runs as compiled code.
---@return boolean
function methods:native()
  local plan = self.plan
  return plan ~= nil and plan.native ~= nil and plan.native == plan.groups
end

--- Compiles what is not compiled yet of the forms that were called, and waits for it.
function methods:wait()
  if self.plan and self.plan.orders then
    if self.plan.later then attach(self, self.plan) end
    for _, plan in pairs(self.plans) do -- in any order: the functions are the same
      if plan.orders and plan.orders[1] then native.start(plan, self) end
    end
    native.wait()
  end
  return self
end

--- Says what a compiled function of the library calls: functions of the user's, whose variables are read at each call.
--- apart: a set of tables that the caller looks after; of what reaches them those fields are read that functions name.
---@param self mascon.Compiled
function M.reads(self, calls, apart)
  self.calls, self.apart = calls, apart
  return self
end

--- Numbers that a compiled function of the library reads beside the variables of its functions.
---@param self mascon.Compiled
---@param list mascon.Variable[]
M.vary = variables.vary

--- Traces a compiled f for arguments of a form before it is called with such, so that what tracing needs is gone when
--- the plan takes its memory. Results of their form that nobody has written to, or nil where that cannot be: f needs
--- values, fails, or runs elsewhere.
---@param self mascon.Compiled
function M.ahead(self, ...)
  if self.tier == 'eager' or recording.on() then return nil end
  if self.place ~= placing.name then self.place, self.recent = placing.name, {} end
  self.ahead = true
  local pause = collectgarbage('setpause', PAUSE)
  local ok, f = pcall(enter, self, general, ...)
  collectgarbage('setpause', pause)
  self.ahead = nil
  if not ok and check.stopped(f) then error(f, 0) end
  if not ok or type(f) ~= 'table' or not f.plan or f.places or f.plan.options.device then return nil end
  local outs = {}
  for i, o in ipairs(f.plan.outputs) do outs[i] = tensor.empty('compile', o.shape, o.dtype, 2) end
  if f.single then return outs[1] end
  return unfold(f, outs)
end

for _, name in ipairs { 'groups', 'native', 'wait' } do methods[name] = guard.of('compiled:' .. name, methods[name]) end

--- What the compiled function does, form by form; see `explain`.
function methods:graph(opts) return require 'mascon.compile.explain'.graph(self, opts) end
function methods:explain(opts) return require 'mascon.compile.explain'.explain(self, opts) end

--- A function that runs f once for each form of its arguments and replays what it did, without Lua.
---
--- f: takes and returns tensors, numbers and nested tables of them. Its first call with arguments of a new form
--- (structure, dtypes, sizes, strides) runs f with tensors that have shapes and no values (once more with values where
--- it needs some, as for the end of a loop) and writes down its ops; all calls replay them over memory laid out
--- beforehand, neighbouring elementwise ops block by block in the cache. Results are the same bits (f16 and bf16
--- round once per group). Numbers may change from call to call; strings, booleans and numbers in `static` places are
--- part of the form. Other sizes are another form, which costs a trace (measured: 1 ms for a chain of 20 ops, 2.4 ms
--- for a training step of a two-layer net; explain() says why and how long) and no compiler: what was compiled serves
--- all sizes. Variables outside that f or the functions it calls read (upvalues, globals, and what stands in tables and
--- objects that they hold) are read at each call: a tensor is one more argument, and may be written to in place; a
--- number becomes one when it has changed, unless f needs it as a number (a size, a branch, the end of a loop); that
--- and any other value (string, boolean, function) is part of the form. Parameters of networks (mc.nn) are read
--- likewise, and their fields are part of the form; of other objects of the library (an optimiser, a data set) fields
--- are so among the arguments, and in variables they are not read again. f may
--- add to tables outside, which happens when it is traced only; it may not change what is there (an error names it).
--- Arguments and variables that share memory,
--- where f writes to one of them, are a form that runs f itself. Results share memory with arguments, with variables
--- and with one another as those of f do. Objects of classes are trees like tables;
--- what they inherit is read at each call too (a number in a class is part of the form). explain() lists what was
--- found. At most 64 forms are kept. Random numbers drawn inside are fixed, unless they come from a key among the
--- arguments or variables (mc.random.key): that is read at each call, and so are the keys that f derives from it.
--- Fused groups run in a vector machine at once; from the second call on compiled code that is in the cache takes their
--- place, and after some 30 ms of calls the rest is compiled by the machine's C compiler
--- beside the program and put in at a later call, with the same bits. Options: static: positions of arguments whose
--- numbers are fixed · fuse (true): false puts no ops together · passes: { name = false } leaves a pass out (fold,
--- algebra, copies, cse, dce, fuse, split, epilogue, rows, prologue, anew, inplace; also MASCON_PASSES=-cse,-fold) ·
--- math ('strict'): 'fast' allows identities that do not keep rounding, signed zeros, inf and NaN · tier: 'auto',
--- 'native' (the first call waits for the compiler), 'vm' or 'eager' (f itself) · overwrite (false): true writes to
--- arguments while the plan runs instead of at its end, where elementwise operations allow it: f that updates its
--- arguments needs no memory beside them, and a call that fails may leave them half written · lend: positions of
--- results that lie in the memory of the call, which goes with the last of them (none): large results take the place
--- of what was computed before them · keep_source: a folder for the generated C. MASCON_COMPILE names a tier for all,
--- MASCON_CC the compiler, MASCON_CACHE the folder of what it made, MASCON_LOG=compile tells what happens. Methods:
--- explain() says what was done and why, graph() shows it, source(), groups(), native(), wait(); into(out, ...) calls
--- with results written to tensors that are there. Errors: a value of a traced tensor is asked for (item, if); f gives
--- a variable outside another tensor, or writes to a tensor in a table that is no argument.
---     local f = mc.compile(function(a, s) return mc.exp(a) * s end)
---     f(mc.zeros{2}, 3)  --> f64[2]@cpu { 3, 3 }
---@param f function
---@param opts? table
---@return table callable
function M.compile(f, opts)
  if type(f) ~= 'function' then error('compile: the first argument is ' .. check.show(f) .. '; give a function', 2) end
  local o = check.opts('compile', opts, { static = { nil, 'table' }, fuse = { true, 'bool' }, passes = { nil, 'table' },
    math = { 'strict', { 'strict', 'fast' } }, tier = { 'auto', TIERS }, keep_source = { nil, 'string' },
    overwrite = { false, 'bool' }, lend = { nil, 'table' } }, 3)
  local static, lend = {}, o.lend and {}
  for _, i in ipairs(o.static or {}) do static[i] = true end
  for _, i in ipairs(o.lend or {}) do lend[i] = true end
  local tier = os.getenv 'MASCON_COMPILE'
  if tier == nil or tier == '' then tier = o.tier end
  if not IS_TIER[tier] then
    error(('compile: MASCON_COMPILE is %q; set it to auto, native, vm or eager'):format(tier), 2)
  end
  local on = pipeline.switches(o.passes, o.fuse, 2)
  local options = { on = on, inplace = on.inplace, overwrite = o.overwrite, math = o.math }
  function options.prepare(graph) return pipeline.run(graph, options) end -- graphs inside the graph
  return setmetatable({ f = f, static = static, lend = lend, options = options, tier = tier,
    keep_source = o.keep_source, plans = {}, forms = {}, recent = {}, traces = 0 }, Compiled)
end

return M
