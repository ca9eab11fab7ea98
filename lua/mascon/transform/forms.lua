-- forms.lua - trees of tensors that keep their form from turn to turn.
--
-- Loops and branches hand trees to functions and get trees back: the same tables with the same keys, each leaf with its shape and dtype. Owns
-- taking trees apart, putting them together, and the words for a leaf that changed. May not know graphs.
local mc = require 'mascon'
local check = require 'mascon.check'
local tensor = require 'mascon.tensor'
local tree = require 'mascon.tree'
local error = check.error

local M = {}

---@class mascon.Form
---@field tree any with tensors at its leaves
---@field text string structure
---@field names string[] of the leaves, as paths
---@field n integer how many leaves

--- Calls a function with the message head of a public function: it must be callable.
function M.callable(name, what, f)
  if type(f) == 'function' then return end
  local m = getmetatable(f)
  if type(f) == 'table' and m and m.__call then return end
  error(('%s: %s is %s; give a function'):format(name, what, check.show(f)), 2)
end

local function name_leaves(v, where, names)
  if tree.is_branch(v) then
    for _, k in ipairs(tree.keys(v)) do name_leaves(v[k], where .. (type(k) == 'number' and '[' .. k .. ']' or '.' .. tostring(k)), names) end
  elseif tensor.is(v) then
    names[#names + 1] = where
  end
end

--- A tree taken apart; numbers become 0-d tensors of f64.
---@return any[] leaves
---@return mascon.Form form
function M.apart(v)
  v = tree.rebuild(v, function(leaf) return type(leaf) == 'number' and mc.full({}, leaf) or leaf end)
  local leaves, text, names = {}, {}, {}
  tree.flatten(v, leaves, text)
  name_leaves(v, '', names)
  return leaves, { tree = v, text = table.concat(text), names = names, n = #leaves }
end

--- The tree of a form with leaves from `first` on.
function M.together(form, leaves, first)
  local at = (first or 1) - 1
  return tree.rebuild(form.tree, function()
    at = at + 1
    return leaves[at]
  end)
end

--- Refuses leaves that are not of the form of others.
---@param say fun(what: string, name: string, want: string, got: string): string words an error: what differs
function M.same(form, leaves, other, others, say)
  if form.text ~= other.text then
    for _, name in ipairs(form.names) do
      local found = false
      for _, n in ipairs(other.names) do found = found or n == name end
      if not found then error(say('structure', name, 'a tensor', 'missing'), 2) end
    end
    for _, name in ipairs(other.names) do
      local found = false
      for _, n in ipairs(form.names) do found = found or n == name end
      if not found then error(say('structure', name, 'missing', 'a tensor'), 2) end
    end
    error(say('structure', '', 'one thing', 'another'), 2)
  end
  for i, t in ipairs(leaves) do
    local u = others[i]
    if t._dtype ~= u._dtype or tostring(t.shape) ~= tostring(u.shape) then
      error(say(t._dtype ~= u._dtype and 'dtype' or 'shape', form.names[i], tensor.describe(t), tensor.describe(u)), 2)
    end
  end
end

return M
