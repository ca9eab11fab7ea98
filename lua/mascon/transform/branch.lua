-- branch.lua - choosing between functions by a value that is not known yet.
---
--- Holds mc.cond and mc.switch, and the primitive that stands for a choice in a graph. Where the value is known
--- (nothing is being recorded, or the recording is for these values alone) the function is simply called.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local decide = require 'mascon.transform.decide'
local forms = require 'mascon.transform.forms'
local region = require 'mascon.transform.region'
local reverse = require 'mascon.transform.reverse'
local error = check.error

local M = {}

--- A choice as a primitive: operands { index from 0, what any branch captured, operands of the branches }.
local Choice = region.kind 'choice'

local function held(k, n) return k < 1 and 1 or k > n and n or k end

--- Whether the value of a tensor may be asked for.
local function known(t) return not (recording.mode() and recording.traced(t)) end

--- fs[index](ins), index a 0-d i64 tensor counted from 0 and held to the range; branches are functions of a list of
--- tensors that return lists of tensors of the same shapes and dtypes. agree(list of outs) refuses branches that
--- differ.
local function choose(name, index, fs, ins, agree)
  if known(index) then return fs[held(index:item() + 1, #fs)](ins) end
  local list, outs = {}, {}
  for k, f in ipairs(fs) do
    list[k], outs[k] = region.trace(name, function(...) return f { ... } end, ins)
  end
  if agree then agree(outs) end
  local prim = setmetatable({ title = name, graphs = list }, Choice)
  local captured = region.close(list)
  return prim:call(region.join({ index }, region.join(captured, ins)))
end

--- Refuses operands of several devices. What decides may lie in host memory.
local function one_place(fname, decides, leaves)
  local there = tensor.is(decides) and decides._device ~= 0
  tensor.one_device(fname, there and region.join({ decides }, leaves) or leaves, 3)
end

--- The index of the first of two branches where a 0-d bool tensor holds, else of the second.
function M.number(holds) return 1 - holds:to 'i64' end

local function rest(list, n) return region.part(list, 2, n) end

function Choice:run(ins)
  return (region.run(self.graphs[held(ins[1]:item() + 1, #self.graphs)], rest(ins, #ins)))
end

function Choice:back(g, x, _, _, wanted)
  local n, given, places = #x, {}, {}
  for i = 1, #self.graphs[1].outputs do
    if g[i] then
      given[#given + 1] = g[i]
      places[#places + 1] = i
    end
  end
  local into = {}
  for i = 2, n do if wanted[i] and reverse.continuous(x[i]._dtype) then into[#into + 1] = i end end
  local fs = {}
  for k, graph in ipairs(self.graphs) do
    fs[k] = function(list)
      local cotangents, operands = {}, region.part(list, #places + 1, #list)
      for j, i in ipairs(places) do cotangents[i] = list[j] end
      local want = {}
      for _, i in ipairs(into) do want[i - 1] = true end
      local back = region.back(graph, operands, cotangents, want)
      local out = {}
      for j, i in ipairs(into) do
        out[j] = back[i - 1] and reverse.cast(back[i - 1], operands[i - 1].dtype) or region.zeros(operands[i - 1])
      end
      return out
    end
  end
  local found = choose(self.title, x[1], fs, region.join(given, rest(x, n)))
  local out = {}
  for j, i in ipairs(into) do out[i] = found[j] end
  return out
end

function Choice:forward(t, x)
  local n, given, places = #x, {}, {}
  for i = 2, n do
    if t[i] then
      given[#given + 1] = t[i]
      places[#places + 1] = i
    end
  end
  local outputs = self.graphs[1].outputs
  local moving = {}
  for i, u in ipairs(outputs) do if reverse.continuous(u.dtype) then moving[#moving + 1] = i end end
  local fs = {}
  for k, graph in ipairs(self.graphs) do
    fs[k] = function(list)
      local tangents = {}
      for j, i in ipairs(places) do tangents[i - 1] = list[j] end
      local outs, dots = region.forward(graph, region.part(list, #places + 1, #list), tangents)
      local out = {}
      for j, i in ipairs(moving) do out[j] = dots[i] or region.zeros(outs[i]) end
      return out
    end
  end
  local found = choose(self.title, x[1], fs, region.join(given, rest(x, n)))
  local out = {}
  for j, i in ipairs(moving) do out[i] = found[j] end
  return out
end

function Choice:batch(x, flags, size)
  local n = #x
  local below = region.part(flags, 2, n)
  local fs = {}
  for k, graph in ipairs(self.graphs) do
    fs[k] = function(list) return region.batch(graph, list, below, size) end
  end
  if not flags[1] then return choose(self.title, x[1], fs, rest(x, n)) end
  -- each element chooses for itself: all branches run, and results are picked
  local index, outs = mc.clip(x[1], 0, #fs - 1), nil
  for k, f in ipairs(fs) do
    local now = f(rest(x, n))
    if not outs then outs = now
    else
      for i, t in ipairs(now) do outs[i] = mc.where(region.column(mc.eq(index, k - 1), t.ndim), t, outs[i]) end
    end
  end
  return outs
end

function Choice:lower(make)
  local parts = {}
  for k, g in ipairs(self.graphs) do parts[k] = make(g) end
  return { kind = 'choose', parts = parts, fixed = #self.graphs[1].inputs, made = #self.graphs[1].outputs }
end

-- ---------------------------------------------------------------- public functions

--- Branches as functions of leaves, the form of the results found on the way.
local function branches(name, words, fs, count, args)
  local leaves, form = forms.apart(args, true)
  local results, list = {}, {}
  for k, f in ipairs(fs) do
    list[k] = function(ins)
      local a = forms.together(form, ins)
      local outs
      outs, results[k] = forms.apart({ f(unpack(a, 1, count)) }, false, ins)
      results.last = results[k]
      return outs
    end
  end
  local function agree(outs)
    for k = 2, #outs do
      forms.same(results[1], results[k], function(what, where, a, b)
        return ('%s: %s of result%s differs: %s gives %s, %s gives %s; branches return the same structure, shapes and '
          .. 'dtypes (convert with :to)'):format(
            name, what, where, words(1), a, words(k), b)
      end)
    end
  end
  return leaves, list, agree, results
end

local function finish(results, outs)
  local out = forms.together(results.last, outs)
  return unpack(out, 1, table.maxn(out))
end

--- then_f(...) where pred is true, else_f(...) where it is not, also for a pred whose value is not known yet.
---
--- pred: a 0-d bool or number tensor, a Lua boolean or number, or a function that returns one of these. In functions
--- that are compiled or vectorised write mc.gt(x, 1) or function() return x > 1 end: the value of x > 1 is not known
--- there. Further arguments, which both functions take: tensors, numbers and tables of them. Both return the same
--- structure, shapes and dtypes (numbers count as 0-d tensors of f64). Only the chosen one runs, and gradients flow
--- through it alone, so that what would be NaN in the other does no harm; under mc.vmap with a batch of preds both run
--- and results are picked.
--- Errors: branches that differ, naming the result.
--- Source: jax.lax.cond
---     mc.cond(mc.gt(mc.tensor(2), 1), function(x) return x * 10 end, function(x) return -x end, mc.tensor{ 1, 2 })
---       --> f64[2]@cpu { 10, 20 }
---@param pred any
---@param then_f function
---@param else_f function
---@param ... any arguments of both
---@return any ... what the chosen one returned
function M.cond(pred, then_f, else_f, ...)
  forms.callable('cond', 'the second argument', then_f)
  forms.callable('cond', 'the third argument', else_f)
  if type(pred) == 'function' then
    local test = pred
    pred = decide.run('cond', test, function(v, device)
      if type(v) == 'number' then v = v ~= 0 end
      if type(v) == 'boolean' then return mc.full({}, v and 1 or 0, { dtype = 'bool', device = device }) end
      if not tensor.is(v) or v:numel() ~= 1 or v.dtype:sub(1, 1) == 'c' then
        error(('cond: the function of the first argument returned %s; it returns one truth value'):format(
          tensor.describe(v)), 2)
      end
      return mc.ne(v:reshape {}, 0)
    end)
  end
  if type(pred) == 'number' then pred = pred ~= 0 end
  local index
  if type(pred) == 'boolean' then
    index = mc.full({}, pred and 0 or 1, { dtype = 'i64' })
  elseif tensor.is(pred) and pred:numel() == 1 and pred.dtype:sub(1, 1) ~= 'c' then
    index = M.number(mc.ne(pred:reshape {}, 0))
  else
    error(('cond: the first argument is %s; give one truth value (for a choice element by element use mc.where)')
      :format(tensor.describe(pred)), 2)
  end
  local leaves, list, agree, results = branches('cond', function(k) return k == 1 and 'then_f' or 'else_f' end,
    { then_f, else_f }, select('#', ...), { ... })
  one_place('cond', pred, leaves)
  return finish(results, choose('cond', index, list, leaves, agree))
end

--- branches[index](...), also for an index whose value is not known yet.
---
--- index: a number or a 0-d tensor of integers from 1; below 1 the first branch is taken, above #branches the last.
--- branches: a list of functions that return the same structure, shapes and dtypes. As mc.cond otherwise.
--- Source: jax.lax.switch
---     mc.switch(2, { function(x) return x end, function(x) return x * 2 end }, mc.tensor(4))  --> f64[]@cpu 8
---@param index any
---@param list function[]
---@param ... any arguments of all
---@return any ... what the chosen one returned
function M.switch(index, list, ...)
  if type(list) ~= 'table' or #list == 0 then
    error(('switch: the second argument is %s; give a list of functions'):format(check.show(list)), 2)
  end
  for k, f in ipairs(list) do forms.callable('switch', 'branch ' .. k, f) end
  local given = index
  if type(index) == 'number' then
    if index ~= math.floor(index) then
      error(('switch: the index is %s; give a whole number from 1'):format(check.show(index)), 2)
    end
    index = mc.full({}, index, { dtype = 'i64' })
  end
  if tensor.is(index) and recording.weak(index) then index = index:to 'i64' end -- a number of a compiled function
  local kind = tensor.is(index) and tensor.kind[index.dtype]
  if not (kind == 'i' or kind == 'u') or index:numel() ~= 1 then
    error(('switch: the index is %s; give a whole number or a 0-d tensor of integers'):format(tensor.describe(index)),
      2)
  end
  local leaves, fs, agree, results =
    branches('switch', function(k) return 'branch ' .. k end, list, select('#', ...), { ... })
  one_place('switch', given, leaves)
  return finish(results, choose('switch', index:reshape({}):to 'i64' - 1, fs, leaves, agree))
end

M.choose = choose
return M
