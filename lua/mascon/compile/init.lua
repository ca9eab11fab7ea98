--- mascon.compile: a Lua function of tensors as a plan that replays without Lua.
---
--- The first call with arguments of a new form runs the function for real and writes down what it did with its arguments; the next calls of the
--- same form replay that. A form is the structure of the arguments, dtypes, sizes and strides of the tensors, and the values of what is no
--- tensor and no number. Owns the cache of forms. May not know passes, steps or C.
local mc = require 'mascon'
local check = require 'mascon.check'
local tensor = require 'mascon.tensor'
local graphs = require 'mascon.compile.graph'
local launch = require 'mascon.compile.launch'
local plans = require 'mascon.compile.plan'
local pipeline = require 'mascon.compile.pipeline'
local error = check.error

local M = {}

-- ---------------------------------------------------------------- trees of values

local function sorted(t)
  local keys = {}
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and (type(a) == 'number' or type(a) == 'string') then return a < b end
    return tostring(a) < tostring(b)
  end)
  return keys
end

--- The leaves of a value in the order of sorted keys, and a text of its structure.
local function flatten(v, leaves, text, static)
  if tensor.is(v) then
    leaves[#leaves + 1] = v
    text[#text + 1] = 'T'
  elseif type(v) == 'number' and not static then
    leaves[#leaves + 1] = v
    text[#text + 1] = 'N'
  elseif type(v) == 'table' and getmetatable(v) == nil then
    text[#text + 1] = '{'
    for _, k in ipairs(sorted(v)) do
      text[#text + 1] = tostring(k) .. '='
      flatten(v[k], leaves, text, static)
    end
    text[#text + 1] = '}'
  else
    text[#text + 1] = type(v) == 'string' and ('%q'):format(v) or type(v) == 'number' and ('%.17g'):format(v) or tostring(v)
  end
end

--- The same structure with other leaves.
local function rebuild(v, take, static)
  if tensor.is(v) or (type(v) == 'number' and not static) then return take(v) end
  if type(v) == 'table' and getmetatable(v) == nil then
    local out = {}
    for _, k in ipairs(sorted(v)) do out[k] = rebuild(v[k], take, static) end
    return out
  end
  return v
end
M.flatten, M.rebuild = flatten, rebuild

local function form(t)
  return ('%d%s/%s;'):format(t._dtype, tostring(t.shape), table.concat(t.strides, ','))
end

-- ---------------------------------------------------------------- compiled functions

local Compiled = {}
Compiled.__index = Compiled

local function number(x)
  return launch.weaken(mc.tensor(x))
end

--- Arguments that share a buffer would be one value to the recorder: all but the first become copies for the trace.
local function apart(tensors)
  local seen, out = {}, {}
  for i, t in ipairs(tensors) do
    local serial = launch.serial(t)
    out[i] = serial ~= 0 and seen[serial] and launch.own(t:copy()) or t
    seen[serial] = true
  end
  return out
end

--- First call of a form: runs f, writes down what it did.
local function build(self, args, n, tensors)
  tensors = apart(tensors)
  local at = 0
  local shown = {}
  for i = 1, n do
    shown[i] = rebuild(args[i], function()
      at = at + 1
      return tensors[at]
    end, self.static[i])
  end
  local since = launch.serial(launch.own(mc.tensor(0)))
  local log, results = launch.record(tensors, true, function() return self.f(unpack(shown, 1, n)) end)
  local leaves, text = {}, {}
  for i = 1, results.n do flatten(results[i], leaves, text, true) end
  local source = graphs.source(tensors, log, leaves, since)
  local graph = graphs.build(source)
  local reports = pipeline.run(graph, self.options)
  local plan = plans.make(graph, self.options)
  plan.source, plan.passes = source, reports
  plan.fused = pipeline.report(reports, 'fuse') or { groups = 0, nodes = 0 }
  plan.results = results
  self.forms[#self.forms + 1] = plan
  return plan, results
end

function Compiled.__call(self, ...)
  local n = select('#', ...)
  local args = { ... }
  local leaves, text = {}, {}
  for i = 1, n do flatten(args[i], leaves, text, self.static[i]) end
  local tensors = {}
  for i, v in ipairs(leaves) do
    local t = type(v) == 'number' and number(v) or tensor.promote(v, 2)
    tensors[i] = t
    text[#text + 1] = form(t)
  end
  local key = table.concat(text)
  local plan = self.plans[key]
  if not plan then
    local results
    plan, results = build(self, args, n, tensors)
    self.plans[key] = plan
    self.traces = self.traces + 1
    return unpack(results, 1, results.n)
  end
  local outs = {}
  for i, o in ipairs(plan.outputs) do outs[i] = tensor.empty('compile', o.shape, o.dtype, 2) end
  plan.run(tensors, outs)
  local at, results = 0, {}
  for i = 1, plan.results.n do
    results[i] = rebuild(plan.results[i], function()
      at = at + 1
      return outs[at]
    end, true)
  end
  return unpack(results, 1, plan.results.n)
end

--- What the compiled function does, form by form; see `explain`.
function Compiled:graph(opts) return require 'mascon.compile.explain'.graph(self, opts) end
function Compiled:explain(opts) return require 'mascon.compile.explain'.explain(self, opts) end

--- A function that runs f and, from the second call of a form on, replays what it did, without Lua.
---
--- f: takes and returns tensors, numbers and nested tables of them. Its first call with arguments of a new form (structure, dtypes, sizes, strides)
--- runs f itself and writes down its ops; later calls replay them over memory laid out beforehand, neighbouring elementwise ops block by
--- block in the cache. Results are the same bits (f16 and bf16 round once per group). Numbers may change from call to call; strings, booleans and
--- numbers in `static` places are part of the form. What f reads from outside is read again at each call when it is a tensor, and fixed when
--- it is a number; what f computes from such tensors alone is computed once. Random numbers drawn inside are fixed too: pass a key.
--- Options: static: positions of arguments whose numbers are fixed · fuse (true): false puts no ops together · passes: { name = false } leaves a pass
--- out (fold, algebra, copies, cse, dce, fuse, ...; also MASCON_PASSES=-cse,-fold) · math ('strict'): 'fast' allows identities that do not keep
--- rounding, signed zeros, inf and NaN. `f:explain()` tells what was done, `f:graph()` shows it. Errors: a value of a traced tensor is asked for
--- (item, if).
---     local f = mc.compile(function(a, s) return mc.exp(a) * s end)
---     f(mc.zeros{2}, 3)  --> f64[2]@cpu { 3, 3 }
---@param f function
---@param opts? table
---@return table callable
function M.compile(f, opts)
  if type(f) ~= 'function' then error('compile: the first argument is ' .. check.show(f) .. '; give a function', 2) end
  local o = check.opts('compile', opts, { static = { nil, 'table' }, fuse = { true, 'bool' }, passes = { nil, 'table' }, math = { 'strict', { 'strict', 'fast' } } }, 3)
  local static = {}
  for _, i in ipairs(o.static or {}) do static[i] = true end
  local on = pipeline.switches(o.passes, o.fuse, 2)
  return setmetatable({ f = f, static = static, options = { on = on, inplace = on.inplace, math = o.math }, plans = {}, forms = {}, traces = 0 }, Compiled)
end

return M
