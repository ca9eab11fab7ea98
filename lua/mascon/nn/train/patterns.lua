-- patterns.lua - groups of parameters by patterns of their names, each with an optimiser: the one for all with some
-- options changed.
local check = require 'mascon.core.check'
local module = require 'mascon.nn.module'
local tree = require 'mascon.graph.tree'
local error = check.error
local M = {}

--- The optimiser of a group: that of the others with some options changed.
local function varied(optimizer, group, at)
  local changes, lr = {}, optimizer.options and optimizer.options.lr
  for k, v in pairs(group) do
    if type(k) == 'string' and k ~= 'lr_factor' then changes[k] = v end
  end
  local factor = group.lr_factor
  if factor ~= nil then
    check.arg('nn.Step', ('groups[%d].lr_factor'):format(at), factor, 'number >= 0', 5)
    lr = changes.lr or lr
    if lr == nil then
      error(('nn.Step: groups[%d] has lr_factor, and the optimiser has no options.lr; give the group lr'):format(at), 4)
    end
    if type(lr) == 'function' then changes.lr = function(t) return lr(t) * factor end else changes.lr = lr * factor end
  end
  if type(optimizer.with) ~= 'function' then
    error(('nn.Step: groups[%d] changes options of an optimiser without a method for it; give the optimiser '
      .. 'with(options), which returns it with these options changed'):format(at), 4)
  end
  return optimizer.with(changes)
end

--- Names of the trainable parameters by group: a list of { optimizer, names }.
function M.of(net, optimizer, groups)
  local list = {}
  for i, g in ipairs(groups or {}) do
    if type(g) ~= 'table' or type(g[1]) ~= 'string' then
      error(("nn.Step: groups[%d] is %s; give { 'pattern of names', option = value }"):format(i, check.show(g)), 4)
    end
    check.pattern(('nn.Step: groups[%d]'):format(i), g[1], 4)
    list[i] = { varied(optimizer, g, i), {}, g[1] }
  end
  list[#list + 1] = { optimizer, {} }
  for _, e in ipairs((module.slots(net))) do
    local name, slot = e[1], e[2]
    if slot.trainable and not slot.buffer then
      for _, g in ipairs(list) do
        if not g[3] or name:find(g[3]) then
          table.insert(g[2], name)
          break
        end
      end
    end
  end
  local out = {}
  for i, g in ipairs(list) do
    if #g[2] > 0 then out[#out + 1] = g
    elseif g[3] then error(('nn.Step: groups[%d]: no parameter matches %q'):format(i, g[3]), 4) end
  end
  if #out == 0 then error('nn.Step: the network has no parameters to train', 4) end
  return out
end

local ADVICE = 'freeze and unfreeze before the step or the trainer is made. A part that joins later is a group whose '
  .. "rate is 0 until then: groups = { { 'pattern', lr = mc.optim.sequential({ 0, 1e-3 }, { 1000 }) } }"

--- Refuses parameters that were frozen or taken back into training since the groups were made.
---@param groups table
---@param params table name -> tensor, those that are trained now
---@param level integer as in error()
function M.check(groups, params, level)
  local known = {}
  for _, g in ipairs(groups) do
    for _, name in ipairs(g[2]) do
      known[name] = true
      if not params[name] then
        error(('nn.Step: %s was frozen after the step was made; %s'):format(name, ADVICE), level + 1)
      end
    end
  end
  for _, name in ipairs(tree.keys(params)) do
    if not known[name] then
      error(('nn.Step: %s was frozen, or not there, when the step was made; %s'):format(name, ADVICE), level + 1)
    end
  end
end

local name_of
function name_of(optimizer)
  return (optimizer.name or '?') .. (optimizer.inner and ('(%s)'):format(name_of(optimizer.inner)) or '')
end

--- Names of the optimisers of all groups, that inside another one in brackets.
function M.optimisers(groups)
  local out = {}
  for i, group in ipairs(groups) do out[i] = name_of(group[1]) end
  return table.concat(out, ', ')
end

return M
