-- forward.lua - tangents of the inputs of a graph on to its outputs.
--
-- Holds the walk and the three general forms of a forward rule: linear, multilinear and elementwise ops; what has none
-- of them is the transposed of its reverse rule.
local mc = require 'mascon.array'
local recording = require 'mascon.graph.recording'
local evaluate = require 'mascon.transform.evaluate'
local params = require 'mascon.transform.params'
local reverse = require 'mascon.transform.reverse'
local tensor = require 'mascon.core.tensor'
local transpose = require 'mascon.transform.transpose'
local rules = require 'mascon.rules'

local M = {}

local function plus(a, b)
  if a == nil then return b end
  if b == nil then return a end
  return a + b
end

local function conj(t) return t.dtype:sub(1, 1) == 'c' and mc.conj(t) or t end

local function multilinear(n, t, x)
  local out = {}
  for i = 1, #x do
    if t[i] then
      local with = {}
      for k = 1, #x do with[k] = k == i and t[k] or x[k] end
      for k, d in ipairs(recording.call(n.row, #n.outs, with, n.params)) do out[k] = plus(out[k], d) end
    end
  end
  return out
end

--- Element by element the derivative is a factor, so that the reverse rule also tells what goes forwards. For complex
--- operands the factor of the reverse rule is conjugated.
local function elementwise(rule, n, t, x, y)
  local p, out = params.read(n), nil
  for i = 1, #x do
    if t[i] then
      local wide = mc.broadcast_to(t[i], n.outs[1].shape)
      local back = rule(conj(wide), x, y, p)
      local c = rules.cotangent(n.row, back, i)
      if c then out = plus(out, conj(c)) end
    end
  end
  return { out }
end

--- J t from a rule that gives J* g: the gradient of <J* g, t> with respect to g.
---@param back fun(g: table): table cotangents of the operands (nil or tensors) from those of the results
---@param t table tangents of the operands
---@param x table operands
---@param y table results
---@param pick fun(found: table, i: integer): any the cotangent of operand i among what back gave
---@return table tangents of the results
function M.transposed(back, t, x, y, pick)
  local seeds, places = { n = #y }, {}
  for k, v in ipairs(y) do seeds[k] = mc.zeros(v.shape, { dtype = v.dtype, device = v.device }) end
  return transpose.run(function(...)
    local found, out = back { ... }, {}
    for i = 1, #x do
      local c = t[i] and pick(found, i)
      if c then
        out[#out + 1] = reverse.cast(reverse.sum_to(c, x[i].shape), x[i].dtype)
        places[#out] = i
      end
    end
    return out
  end, seeds, function(k) return t[places[k]] end)
end

local function transposed(rule, n, t, x, y)
  local p = params.read(n)
  return M.transposed(function(g) return rule(#y == 1 and g[1] or g, x, y, p) end, t, x, y,
    function(found, i) return rules.cotangent(n.row, found, i) end)
end

local function forward_op(n, env, dot)
  local x, y, t, any = {}, {}, {}, false
  for i, u in ipairs(n.ins) do
    x[i] = evaluate.see(env[u.value], u)
    if dot[u.value] then
      t[i] = evaluate.see(dot[u.value], u)
      any = true
    end
  end
  if not any then return end
  local out_of_reach = true
  for i, v in ipairs(n.outs) do
    y[i] = env[v]
    out_of_reach = out_of_reach and not reverse.continuous(v.dtype)
  end
  if out_of_reach then return end
  local rule = rules.forward(n.row)
  local back, why = rules.reverse(n.row)
  local complex = false
  for i = 1, #x do complex = complex or x[i].dtype:sub(1, 1) == 'c' end
  if y[1].dtype:sub(1, 1) == 'c' ~= complex then rule = type(rule) == 'function' and rule or nil end
  local out
  if type(rule) == 'function' then out = rule(t, x, y, params.read(n))
  elseif not back and rule ~= 'linear' and rule ~= 'multilinear' then
    error(('jvp: %s has no derivative: %s'):format(n.row[1], why), 0)
  elseif rule == 'linear' or rule == 'multilinear' then out = multilinear(n, t, x)
  elseif rule == 'elementwise' and not complex then out = elementwise(back, n, t, x, y)
  else out = transposed(back, n, t, x, y) end
  for i, v in ipairs(n.outs) do
    if out[i] and reverse.continuous(v.dtype) then
      dot[v] = reverse.dense(reverse.cast(reverse.sum_to(out[i], v.shape), tensor.name[v.dtype]))
    end
  end
end

--- copy, update and put are linear in everything but positions.
local function forward_move(n, env, dot)
  local any, ins, device = false, {}, 'cpu'
  for _, u in ipairs(n.ins) do device = dot[u.value] and dot[u.value].device or device end
  for i, u in ipairs(n.ins) do
    local t = dot[u.value]
    if t then
      any = true
      ins[i] = evaluate.see(t, u)
    else
      local v = u.value
      local positions = n.kind == 'put' and i == 2
      local held = positions and env[v] or mc.zeros(v.shape, { dtype = tensor.name[v.dtype], device = device })
      ins[i] = evaluate.see(held, u)
    end
  end
  if any and reverse.continuous(n.outs[1].dtype) then dot[n.outs[1]] = evaluate.node(n, ins)[1] end
end

--- A call answers for itself.
local function forward_call(n, env, dot)
  local x, y, t, any = {}, {}, {}, false
  for i, u in ipairs(n.ins) do
    x[i] = evaluate.see(env[u.value], u)
    t[i] = dot[u.value] and evaluate.see(dot[u.value], u)
    any = any or t[i] ~= nil
  end
  if not any then return end
  for i, v in ipairs(n.outs) do y[i] = env[v] end
  local out = n.prim:forward(t, x, y)
  for i, v in ipairs(n.outs) do if reverse.continuous(v.dtype) then dot[v] = out[i] end end
end

--- Tangents of the outputs.
---@param graph table
---@param env table of evaluate.run
---@param tangents table tensor or nil for each input
---@return table list tensor or nil for each output
function M.run(graph, env, tangents)
  local dot = {}
  for i, v in ipairs(graph.inputs) do dot[v] = tangents[i] and reverse.dense(tangents[i]) end
  for _, n in ipairs(graph.nodes) do
    if n.kind == 'op' then forward_op(n, env, dot)
    elseif n.kind == 'call' then forward_call(n, env, dot)
    else forward_move(n, env, dot) end
  end
  local out = {}
  for i, u in ipairs(graph.outputs) do
    if dot[u.value] then out[i] = evaluate.see(dot[u.value], u) end
  end
  return out
end

return M
