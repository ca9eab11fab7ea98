-- anomaly.lua - which operation made the first number that is not finite, on the way there or back.
--
-- Costs nothing while all is well: nn.Step runs it after a step whose loss or gradient is not finite, on the parameters
-- and random numbers of that step. The function is recorded once more, with the line of the script at each operation;
-- from the bad result the search goes back along operands that are bad too, to an operation whose operands are fine.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local tree = require 'mascon.graph.tree'
local evaluate = require 'mascon.transform.evaluate'
local reverse = require 'mascon.transform.reverse'
local trace = require 'mascon.transform.trace'
local module = require 'mascon.nn.module'
local F = op.functions
local M = {}

---@class mascon.Anomaly
---@field what string 'NaN' or 'infinity'
---@field op string|nil name of the operation; nil when the number was there before
---@field direction string 'forward' or 'backward'
---@field line string|nil of the script, "file:line"
---@field part string of the network, '' outside of modules
---@field operands string[] each with its least and largest element
---@field input string|nil the argument that holds it, when no operation made it
---@field row integer|nil the first row of that argument that holds it
---@field cause mascon.Anomaly|nil where the infinities among the operands come from
local Anomaly = {}
Anomaly.__index = Anomaly
function Anomaly:__tostring()
  local out
  if self.input then
    out = ('%s holds %s%s'):format(self.input, self.what, self.row and (', first in row %d of %s'):format(self.row,
      self.operands[1]) or '')
  else
    out = ('the first %s came from %s%s%s%s, of %s'):format(self.what, self.op,
      self.direction == 'backward' and ' (its derivative)' or '', self.line and ' at ' .. self.line or '',
      self.part ~= '' and (' (in %s)'):format(self.part) or '', table.concat(self.operands, ' and '))
  end
  if self.cause then out = ('%s; %s'):format(out, tostring(self.cause)) end
  return out
end

--- 'NaN', 'infinity' or nothing.
local function flaw(t)
  if not tensor.is(t) or not reverse.continuous(t._dtype) or t:numel() == 0 then return nil end
  if F.any(F.isnan(t)) then return 'NaN' end
  return not F.all(F.isfinite(t)) and 'infinity' or nil
end

local function described(t)
  if tensor.kind[t.dtype] ~= 'f' or t:numel() == 0 then return tensor.describe(t) end
  if t:numel() == 1 then return ('%s = %.6g'):format(tensor.describe(t), t:item()) end
  return ('%s from %.6g to %.6g'):format(tensor.describe(t), F.min(t):item(), F.max(t):item())
end

--- Names of the leaves of arguments: "argument 1.weight", or what `names` has for an argument, such as "batch.", and
--- the name of the leaf.
local function paths_of(args, names)
  local out = {}
  local function walk(v, path, between)
    if tree.is_branch(v) then
      for _, k in ipairs(tree.keys(v)) do walk(v[k], path .. between .. tostring(k), '.') end
    elseif #tree.leaves(v, true) > 0 then out[#out + 1] = path:match '^(.-)%.?$' end
  end
  for i = 1, args.n do walk(args[i], names and names[i] or 'argument ' .. i, names and names[i] and '' or '.') end
  return out
end

--- The first row of a tensor with such a number; nothing for a single row.
local function row_of(t, what)
  if t.ndim == 0 or t.shape[1] < 2 then return nil end
  local bad = what == 'NaN' and F.isnan(t) or F.logical_not(F.isfinite(t))
  return F.argmax(F.any(bad:reshape(t.shape[1], -1), { 2 }):to 'i64'):item()
end

--- f(...) with a note of the line of the script and the part of the network at each entry of the recording.
local function noting(lines, f)
  return function(...)
    local base, seen = recording.place()
    local hook, mask, count = debug.gethook()
    local compiled = require('jit').status()
    local function look()
      local depth, n = recording.place()
      if depth ~= base or n <= seen then return end
      local at = { check.site(), module.place() }
      for k = seen + 1, n do lines[k] = at end
      seen = n
    end
    require('jit').off()
    require('jit').flush() -- compiled code calls no hooks
    debug.sethook(look, '', 1)
    local function done(ok, ...)
      if hook then debug.sethook(hook, mask, count) else debug.sethook() end
      if compiled then require('jit').on() end
      if not ok then error((...), 0) end
      return ...
    end
    return done(pcall(f, ...))
  end
end

--- What made the results of a node, in words.
local function maker(n)
  if n.kind == 'op' then return n.row.says or n.row[1] end
  return n.kind == 'call' and (n.prim.title or 'a part that runs again') or n.kind
end

local function about(n, what, direction, operands)
  local line = n.line or { nil, '' }
  local texts = {}
  for i, t in ipairs(operands) do texts[i] = described(t) end
  return setmetatable({ what = what, direction = direction, line = line[1] ~= '?' and line[1] or nil, part = line[2],
    op = maker(n), operands = texts }, Anomaly)
end

--- The graph of a node that is a function of its operands with an inside (a checkpoint, a function with a rule of its
--- own); nil for others.
local function inside(n, ins)
  local graph = n.kind == 'call' and n.prim.graph
  return graph and #graph.inputs == #ins and #graph.outputs == #n.outs and graph or nil
end

--- What was found within a node, which has no line of its own.
local function within(n, found)
  local line = n.line or { nil, '' }
  if not found.line and line[1] ~= '?' then found.line = line[1] end
  if found.part == '' then found.part = line[2] end
  return found
end

local origin
--- The operation within a node that made the first such number; nil where there is no looking in.
local function deeper(n, ins)
  local graph = inside(n, ins)
  if not graph then return nil end
  local env = evaluate.run(graph, ins, true)
  for _, u in ipairs(graph.outputs) do
    if flaw(evaluate.see(env[u.value], u)) then
      local found = origin(env, u.value, {})
      found.cause = nil
      return not found.input and within(n, found) or nil
    end
  end
end

--- Where what is wrong with a value comes from.
function origin(env, v, paths)
  local what = flaw(env[v])
  while true do
    local n = v.node
    if not n then
      return setmetatable({ what = what, input = v.input and (paths[v.input] or 'argument ' .. v.input)
        or 'a tensor from outside of the function', row = row_of(env[v], what), direction = 'forward', part = '',
        operands = { tensor.describe(env[v]) } }, Anomaly)
    end
    local worse, infinite
    local ins = {}
    for i, u in ipairs(n.ins) do
      ins[i] = evaluate.see(env[u.value], u)
      if not (u.value.const and u.value.literal) then
        local f = flaw(ins[i])
        if f == what then worse = worse or u.value elseif f == 'infinity' then infinite = infinite or u.value end
      end
    end
    if not worse then
      local found = deeper(n, ins) or about(n, what, 'forward', ins)
      if infinite then found.cause = origin(env, infinite, paths) end
      return found
    end
    v = worse
  end
end

--- The operation on the way back from cotangents of a graph's outputs whose derivative is the first such number, if
--- any; and the cotangents of its inputs.
local way_back
function way_back(graph, env, cotangents)
  local found
  local back = reverse.run(graph, env, cotangents, nil, nil, function(n, of)
    if found then return end
    for i, v in ipairs(n.outs) do
      if i and of[v] and flaw(of[v]) then return end
    end
    for _, u in ipairs(n.ins) do
      local what = of[u.value] and flaw(of[u.value])
      if what then
        local operands, mine = {}, {}
        for i, w in ipairs(n.ins) do operands[i] = evaluate.see(env[w.value], w) end
        local deep = inside(n, operands)
        if deep and not n.prim.ahead and not n.prim.push then
          for i, v in ipairs(n.outs) do mine[i] = of[v] end
          local one = way_back(deep, evaluate.run(deep, operands, true, true), mine)
          found = one and within(n, one)
        end
        found = found or about(n, what, 'backward', operands)
        return
      end
    end
  end)
  return found, back
end

--- The operation that made the first NaN or infinity of a function's results, or of its gradient; nil when all is
--- finite.
---
--- The result prints as a sentence; its fields are what ('NaN' or 'infinity'), op, direction ('forward', 'backward'),
--- line ("file:line" of the script), part (of a network), operands, and cause: where infinite operands come from. For
--- the gradient the first result of f has to be one real number.
---@param f function of trees of tensors
---@param ... any arguments
---@return mascon.Anomaly|nil
---     mc.nn.anomaly(function(x) return mc.sum(mc.log(x)) end, mc.tensor{ 1, -1 }).op  --> log
---     mc.nn.anomaly(function(x) return mc.sum(mc.sqrt(x)) end, mc.tensor{ 1, 0 }).direction  --> backward
function M.anomaly(f, ...)
  check.arg('nn.anomaly', 'f', f, 'function', 3)
  return (M.search(nil, f, ...))
end

--- The same, with names for the arguments in what is said of them: 'parameter ', 'batch.'.
function M.search(names, f, ...)
  local args = { n = select('#', ...), ... }
  local lines = {}
  local t = trace.run(noting(lines, f), args, { keep = true, restore = true, numbers = {}, lines = lines,
    name = 'nn.anomaly' })
  local env, paths = evaluate.run(t.graph, t.inputs, false, true), paths_of(args, names)
  for _, u in ipairs(t.graph.outputs) do
    if flaw(evaluate.see(env[u.value], u)) then return origin(env, u.value, paths) end
  end
  local first = t.graph.outputs[1]
  if not first or graphs.numel(first.shape) ~= 1 or tensor.kind[tensor.name[first.dtype]] ~= 'f' then return nil end
  local one = F.add(F.multiply(evaluate.see(env[first.value], first), 0), 1)
  local found, back = way_back(t.graph, env, { one })
  local bad = false
  for i in ipairs(t.inputs) do bad = bad or flaw(back[i]) ~= nil end
  return bad and found or nil
end

return M
