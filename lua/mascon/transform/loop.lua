-- loop.lua - repetition as long as a condition holds.
---
--- Holds mc.while_loop and mc.fori_loop, and the primitive that stands for a loop of unknown length in a graph. Where
--- values are known the loop is a plain loop in Lua.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local branch = require 'mascon.transform.branch'
local decide = require 'mascon.transform.decide'
local forms = require 'mascon.transform.forms'
local region = require 'mascon.transform.region'
local reverse = require 'mascon.transform.reverse'
local scan = require 'mascon.transform.scan'
local error = check.error

local M = {}

--- A loop as a primitive: operands { what condition and body captured, state }.
local Loop = region.kind 'loop'

--- A truth value of one element as a 0-d bool tensor, made on a device where it is one of Lua.
local function truth(p, device)
  if type(p) == 'boolean' then return mc.full({}, p and 1 or 0, { dtype = 'bool', device = device }) end
  if not tensor.is(p) or p:numel() ~= 1 or p.dtype:sub(1, 1) == 'c' then
    error(('while_loop: the condition returned %s; it returns one truth value: reduce it with :any{ 1 } or :all{ 1 }, '
      .. 'for example'):format(tensor.describe(p)), 2)
  end
  if p.ndim > 0 then p = p:reshape {} end
  return p.dtype == 'bool' and p or mc.ne(p, 0)
end

local function plain(holds, body, state, most)
  local turn = 0
  while turn < (most or math.huge) and holds(state):item() do
    turn, state = turn + 1, body(state)
  end
  return state
end

jit.off(plain) -- as machine code it would keep the functions of a call, and the tensors that they hold

--- holds(state) -> 0-d bool tensor, body(state) -> state; states are lists of tensors that keep their shapes and
--- dtypes.
local function loop(holds, body, state, most)
  if not recording.mode() then return plain(holds, body, state, most) end
  local condition = region.trace('while_loop', function(...) return { holds { ... } } end, state, false, true)
  local turn = region.trace('while_loop', function(...) return body { ... } end, state, false, true)
  local list = { condition, turn }
  local captured = region.close(list)
  if not region.is_traced(captured) and not region.is_traced(state) then return plain(holds, body, state) end
  return setmetatable({ condition = condition, turn = turn, fixed = #captured },
    Loop):call(region.join(captured, state))
end

local function halves(self, list)
  return region.part(list, 1, self.fixed), region.part(list, self.fixed + 1, #self.condition.inputs)
end

function Loop:run(ins)
  local fixed, state = halves(self, ins)
  return plain(function(s) return region.run(self.condition, region.join(fixed, s))[1] end,
    function(s) return (region.run(self.turn, region.join(fixed, s))) end, state)
end

function Loop.back()
  error('grad: mc.while_loop runs an unknown number of turns, so that nothing is kept for the way back; give '
    .. 'max_steps, or use mc.scan or mc.fori_loop, or mc.jvp (forward mode)', 2)
end

function Loop:forward(t, x)
  local fixed, state = halves(self, x)
  local n, moving = #state, {}
  for i, s in ipairs(state) do if reverse.continuous(s._dtype) then moving[#moving + 1] = i end end
  local both = region.join(state, {})
  for j, i in ipairs(moving) do both[n + j] = t[self.fixed + i] or region.zeros(state[i]) end
  local out = loop(function(s)
    return region.run(self.condition, region.join(fixed, region.part(s, 1, n)))[1]
  end, function(s)
    local tangents = region.part(t, 1, self.fixed)
    for j, i in ipairs(moving) do tangents[self.fixed + i] = s[n + j] end
    local outs, dots = region.forward(self.turn, region.join(fixed, region.part(s, 1, n)), tangents)
    for j, i in ipairs(moving) do outs[n + j] = dots[i] or region.zeros(outs[i]) end
    return outs
  end, both)
  local dots = {}
  for j, i in ipairs(moving) do dots[i] = out[n + j] end
  return dots
end

--- Every element runs until it is done; those that are keep their state while others go on.
function Loop:batch(x, flags, size)
  local fixed, state = halves(self, x)
  local all = region.part(flags, 1, self.fixed)
  for i, s in ipairs(state) do
    if not flags[self.fixed + i] then state[i] = region.spread(s, size) end
    all[self.fixed + i] = true
  end
  local function each(graph, s) return region.batch(graph, region.join(fixed, s), all, size) end
  local n = #state
  local out = loop(function(s) return s[n + 1]:any { 1 } end, function(s)
    local old, active = region.part(s, 1, n), s[n + 1]
    local new = each(self.turn, old)
    for i, t in ipairs(new) do new[i] = mc.where(region.column(active, t.ndim), t, old[i]) end
    new[n + 1] = mc.logical_and(active, each(self.condition, new)[1])
    return new
  end, region.join(state, each(self.condition, state)))
  return region.part(out, 1, n)
end

M.loop = loop

function Loop:lower(make)
  return { kind = 'while', parts = { make(self.condition), make(self.turn) }, fixed = self.fixed,
    state = #self.turn.outputs }
end

-- ---------------------------------------------------------------- public functions

local function changed(what, where, a, b)
  return ('while_loop: %s of state%s is %s before the body and %s after it; the state keeps its structure, shapes and '
    .. 'dtypes (convert with :to)'):format(what, where, a, b)
end

--- state = body(state) as long as cond(state) holds, also inside functions that are compiled or vectorised.
---
--- cond: state -> one truth value; comparisons with <, and, or, not are understood also where values are not known.
--- body: state -> state. state: a tensor, a number (becomes a 0-d tensor of f64) or a table of them; structure, shapes
--- and dtypes stay. Under mc.vmap each element runs as often as it needs. mc.jvp goes through; mc.grad goes through
--- where values are known, and inside mc.compile only with max_steps, which keeps the state of every turn.
--- Options: max_steps: the loop ends after so many turns. Errors: a state that changes its form, naming the leaf;
--- reverse mode without max_steps.
--- Source: jax.lax.while_loop
---     mc.while_loop(function(s) return s.i < 5 end, function(s) return { i = s.i + 1, x = s.x * 2 } end, { i = 0,
---       x = 1 }).x
---       --> f64[]@cpu 32
---@param cond function
---@param body function
---@param state any
---@param opts? table
---@return any state
function M.while_loop(cond, body, state, opts)
  forms.callable('while_loop', 'the first argument', cond)
  forms.callable('while_loop', 'the second argument', body)
  local o = check.opts('while_loop', opts, { max_steps = { nil, 'integer >= 0' } }, 3)
  local leaves, form = forms.apart(state)
  tensor.one_device('while_loop', leaves, 2)
  local function holds(s)
    return decide.run('while_loop', function() return cond(forms.together(form, s)) end, truth)
  end
  local function turn(s)
    local outs, after = forms.apart(body(forms.together(form, s)), false, s)
    forms.same(form, after, changed)
    return outs
  end
  local out
  if o.max_steps and recording.mode() then
    -- a scan of fixed length whose turns do nothing once the condition fails
    out = scan.scan_leaves('while_loop', function(s)
      local n = #s - 1
      local next_state = branch.choose('while_loop', branch.number(s[n + 1]), {
        function(ins)
          local new = turn(region.part(ins, 1, n))
          new[n + 1] = holds(new)
          return new
        end,
        function(ins) return ins end,
      }, s)
      return next_state, {}
    end, region.join(leaves, { holds(leaves) }), {}, { length = o.max_steps })
  else
    out = loop(holds, turn, leaves, o.max_steps)
  end
  return forms.together(form, out)
end

--- state = body(i, state) for i = first, ..., last.
---
--- first, last: whole numbers, or 0-d tensors of integers; i is a 0-d tensor of i64. With numbers the loop is a scan
--- and can be differentiated in reverse; with tensors it is a while_loop. state as in mc.while_loop.
--- Source: jax.lax.fori_loop (whose upper bound is exclusive)
---     mc.fori_loop(1, 4, function(i, s) return s * i end, 1)  --> f64[]@cpu 24
---@param first any
---@param last any
---@param body fun(i: any, state: any): any
---@param state any
---@return any state
function M.fori_loop(first, last, body, state)
  forms.callable('fori_loop', 'the third argument', body)
  for k, v in ipairs { first, last } do
    local whole = type(v) == 'number' and v == math.floor(v)
      or tensor.is(v) and v:numel() == 1 and (tensor.kind[v.dtype] == 'i' or tensor.kind[v.dtype] == 'u')
    if not whole then
      error(('fori_loop: bound %d is %s; give a whole number or a 0-d tensor of integers'):format(k,
        tensor.describe(v)), 2)
    end
  end
  local leaves, form = forms.apart(state)
  tensor.one_device('fori_loop', region.join(leaves, { first, last }), 2)
  local function turn(i, s)
    local outs, after = forms.apart(body(i, forms.together(form, s)), false, s)
    forms.same(form, after, function(...) return (changed(...):gsub('^while_loop', 'fori_loop')) end)
    return outs
  end
  local device = tensor.shared_device(leaves)
  if type(first) == 'number' and type(last) == 'number' then
    local n = math.max(0, last - first + 1)
    local how = { dtype = 'i64', device = device }
    local rows = n > 0 and mc.arange(first, last, 1, how) or mc.zeros({ 0 }, how)
    local out =
      scan.scan_leaves('fori_loop', function(s, x) return turn(x[1], s), {} end, leaves, { rows }, { length = n })
    return forms.together(form, out)
  end
  local function count(v)
    return tensor.is(v) and v:reshape({}):to 'i64' or mc.full({}, v, { dtype = 'i64', device = device })
  end
  local n = #leaves
  local ending = count(last)
  local out = loop(function(s) return mc.le(s[n + 1], ending) end, function(s)
    local new = turn(s[n + 1], region.part(s, 1, n))
    new[n + 1] = s[n + 1] + 1
    return new
  end, region.join(leaves, { count(first) }))
  return forms.together(form, out)
end

return M
