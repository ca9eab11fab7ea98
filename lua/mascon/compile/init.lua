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
local fuse = require 'mascon.compile.passes.fuse'
local tree = require 'mascon.tree'
local error = check.error
local flatten, rebuild = tree.flatten, tree.rebuild

local M = {}

local function form(t)
  return ('%d%s/%s;'):format(t._dtype, tostring(t.shape), table.concat(t.strides, ','))
end

-- ---------------------------------------------------------------- compiled functions

local Compiled = {}
Compiled.__index = Compiled

local function number(x)
  return launch.weaken(mc.tensor(x))
end

--- First call of a form: runs f, writes down what it did.
local function build(self, args, n, tensors)
  tensors = launch.aliases(tensors)
  local at = 0
  local shown = {}
  for i = 1, n do
    shown[i] = rebuild(args[i], function()
      at = at + 1
      return tensors[at]
    end, self.static[i])
  end
  local log, results = launch.record(tensors, { strict = true }, function() return self.f(unpack(shown, 1, n)) end)
  local leaves, text = {}, {}
  for i = 1, results.n do flatten(results[i], leaves, text, true) end
  local graph = graphs.build(tensors, log, leaves)
  local report = self.fuse and fuse.run(graph) or { groups = 0, nodes = 0 }
  local plan = plans.make(graph)
  plan.fused = report
  plan.results, plan.graph = results, graph
  return plan, results
end

function Compiled.__call(self, ...)
  if launch.recording() then return self.f(...) end -- becomes a part of the function that is being recorded
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

--- A function that runs f and, from the second call of a form on, replays what it did, without Lua.
---
--- f: takes and returns tensors, numbers and nested tables of them. Its first call with arguments of a new form (structure, dtypes, sizes, strides)
--- runs f itself and writes down its ops; later calls replay them over memory laid out beforehand, neighbouring elementwise ops block by
--- block in the cache. Results are the same bits (f16 and bf16 round once per group). Numbers may change from call to call; strings, booleans and
--- numbers in `static` places are part of the form. What f reads from outside is read again at each call when it is a tensor, and fixed when
--- it is a number. Random numbers drawn inside are fixed too: pass a key.
--- Options: static: positions of arguments whose numbers are fixed · fuse (true). Errors: a value of a traced tensor is asked for (item, if).
---     local f = mc.compile(function(a, s) return mc.exp(a) * s end)
---     f(mc.zeros{2}, 3)  --> f64[2]@cpu { 3, 3 }
---@param f function
---@param opts? table
---@return table callable
function M.compile(f, opts)
  if type(f) ~= 'function' then error('compile: the first argument is ' .. check.show(f) .. '; give a function', 2) end
  local o = check.opts('compile', opts, { static = { nil, 'table' }, fuse = { true, 'bool' } }, 3)
  local static = {}
  for _, i in ipairs(o.static or {}) do static[i] = true end
  return setmetatable({ f = f, static = static, fuse = o.fuse, plans = {}, traces = 0 }, Compiled)
end

return M
