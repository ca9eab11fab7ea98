-- elementwise.lua - a user's elementwise kernel: its formulas as ops, compiled as one group.
--
-- A body is run through the ops themselves, so that it follows their dtypes and broadcasting, takes part in mc.compile,
-- grad and vmap, and needs no compiler to begin with; mc.compile makes one loop of it.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local operators = require 'mascon.core.operators'
local tensor = require 'mascon.core.tensor'
local body = require 'mascon.kernel.body'
local compile = require 'mascon.compile'.compile
local error = check.error

local M = {}

local OPERATOR = operators.arithmetic

local function lookup(row)
  local m = mc
  for part in (row.namespace or ''):gmatch '[^.]+' do m = m[part] end
  return m[row[1]]
end

--- The value of a tree over tensors.
local function value(tree, env)
  local op = tree[1]
  if op == 'num' then return tonumber(tree[2]) end
  if op == 'var' then return env[tree[2]] end
  local v = {}
  for i = op == 'call' and 3 or 2, #tree do v[#v + 1] = value(tree[i], env) end
  if op == 'neg' and type(v[1]) == 'number' then return -v[1] end
  if op == 'call' then
    local row = body.functions()[tree[2]]
    if row then return lookup(row)(unpack(v)) end
    return (tensor.is(v[1]) and v[1] or mc.tensor(v[1])):to(tree[2])
  end
  local fold = type(v[1]) == 'number' and type(v[2]) == 'number' and operators.fold[op]
  if fold then return fold(v[1], v[2]) end
  return mc[OPERATOR[op]](v[1], v[2], v[3])
end

--- A function of the inputs.
---@param k table name, inputs { { name, dtype } }, outputs { { name, dtype } }
---@param text string
---@param opts table tier
function M.make(k, text, opts)
  local inputs, outputs = {}, {}
  for i, p in ipairs(k.inputs) do inputs[i] = p.name end
  for i, p in ipairs(k.outputs) do outputs[i] = p.name end
  local statements = body.parse('kernel ' .. k.name, text, inputs, outputs, 4)
  local function run(...)
    local env = {}
    for i, p in ipairs(k.inputs) do
      local v = select(i, ...)
      env[p.name] = p.dtype and tensor.is(v) and v.dtype ~= p.dtype and v:to(p.dtype) or v
    end
    for _, s in ipairs(statements) do
      local ok, v = pcall(value, s.tree, env)
      if not ok then
        error(('kernel %s: line %d: %s'):format(k.name, s.line, (tostring(v):gsub('^[^\n]-:%d+: ', ''))), 0)
      end
      env[s.name] = v
    end
    local results = {}
    for i, p in ipairs(k.outputs) do
      local v = env[p.name]
      if not tensor.is(v) then v = mc.tensor(v) end
      results[i] = p.dtype and v.dtype ~= p.dtype and v:to(p.dtype) or v
    end
    return unpack(results, 1, #k.outputs)
  end
  local compiled = compile(run, { tier = opts.tier })
  return function(...)
    local n = select('#', ...)
    if n ~= #k.inputs then
      error(('kernel %s: takes %d operand%s (%s) and is given %d'):format(k.name, #k.inputs,
        #k.inputs == 1 and '' or 's', table.concat(inputs, ', '), n), 3)
    end
    for i = 1, n do
      local v = select(i, ...)
      if not tensor.is(v) and type(v) ~= 'number' then
        error(('kernel %s: operand %s is %s; give a tensor or a number'):format(k.name, inputs[i], check.show(v)), 3)
      end
    end
    return compiled(...)
  end, compiled
end

return M
