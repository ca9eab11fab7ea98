-- forms.lua - trees of tensors that keep their form from turn to turn.
--
-- Loops and branches hand trees to functions and get trees back: the same tables with the same keys, each leaf with its
-- shape and dtype. Holds taking trees apart, putting them together, and the words for a leaf that changed. A form holds
-- no tensors, so that it may outlive a call.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local random = require 'mascon.random.key'
local tensor = require 'mascon.core.tensor'
local tree = require 'mascon.graph.tree'
local error = check.error

local M = {}

---@class mascon.Leaf what is known of a tensor without it
---@field _dtype integer
---@field dtype string
---@field shape table
---@field text string as errors show it
---@field key boolean the tensor holds the words of a random key
local Leaf = {}
Leaf.__index = Leaf
function Leaf.__tostring(l) return l.text end

local function leaf_of(t, key)
  local text = key and ('key%s'):format(tostring(t.shape)) or tensor.describe(t)
  return setmetatable({ _dtype = t._dtype, dtype = t.dtype, device = t.device, shape = t.shape, text = text,
    key = key }, Leaf)
end

--- Whether an element of the tree of a form stands for a tensor.
function M.is_leaf(v) return getmetatable(v) == Leaf end

---@class mascon.Form
---@field tree any with a mascon.Leaf in the place of each tensor
---@field leaves mascon.Leaf[]
---@field text string structure
---@field names string[] of the leaves, as paths

--- A function that a public one is given: it must be callable.
function M.callable(name, what, f)
  if type(f) == 'function' then return end
  local m = getmetatable(f)
  if type(f) == 'table' and m and m.__call then return end
  error(('%s: %s is %s; give a function'):format(name, what, check.show(f)), 2)
end

--- Name of the device of the first tensor of a tree that is not on the CPU.
local function device_of(v)
  if tensor.is(v) then return v._device ~= 0 and v.device or nil end
  for _, k in ipairs(tree.is_branch(v) and tree.keys(v) or {}) do
    local name = device_of(v[k])
    if name then return name end
  end
end

local function take(v, where, numbers, form, tensors, text)
  if type(v) == 'number' and not numbers then v = mc.full({}, v, { device = device_of(form.beside) or 'cpu' }) end
  local key = random.is_key(v)
  if key then
    v = v:words()
    local name = v._device == 0 and device_of(form.around)
    if name then v = tensor.moved(v, tensor.device_number('key', name, 3), 3) end
  end
  if tensor.is(v) then
    local leaf = leaf_of(v, key)
    local n = #tensors + 1
    tensors[n], form.leaves[n], form.names[n], text[#text + 1] = v, leaf, where, key and 'K' or 'T'
    return leaf
  elseif tree.is_branch(v) then
    local out = {}
    text[#text + 1] = '{'
    for _, k in ipairs(tree.keys(v)) do
      text[#text + 1] = tostring(k) .. '='
      out[k] = take(v[k], where .. (type(k) == 'number' and '[' .. k .. ']' or '.' .. tostring(k)), numbers,
        form, tensors, text)
    end
    text[#text + 1] = '}'
    return tree.like(out, v)
  end
  text[#text + 1] = type(v) == 'string' and ('%q'):format(v) or tostring(v)
  return v
end

--- A tree taken apart; numbers become 0-d tensors of f64, or stay what they are.
---@param v any
---@param numbers? boolean numbers stay
---@param beside? any a tree; the numbers of v go to the device of the tensors in v and in it
---@return any[] tensors
---@return mascon.Form form
function M.apart(v, numbers, beside)
  local tensors, form, text = {}, { leaves = {}, names = {} }, {}
  form.around = { v, beside }
  form.beside = numbers and {} or form.around
  form.tree = take(v, '', numbers, form, tensors, text)
  form.beside, form.around = nil, nil
  form.text = table.concat(text)
  return tensors, form
end

local function put(v, tensors, at, plain)
  if getmetatable(v) == Leaf then
    if v.key and not plain then return random.of(tensors[at]), at + 1 end
    return tensors[at], at + 1
  end
  if not tree.is_branch(v) then return v, at end
  local out = {}
  for _, k in ipairs(tree.keys(v)) do out[k], at = put(v[k], tensors, at, plain) end
  return tree.like(out, v), at
end

--- The tree of a form with these tensors at its leaves; with `plain` any values, also in the place of random keys.
function M.together(form, tensors, plain) return (put(form.tree, tensors, 1, plain)) end

local function find(list, name)
  for _, n in ipairs(list) do if n == name then return true end end
  return false
end

--- Refuses a form that is not that of another one.
---@param form mascon.Form
---@param other mascon.Form
---@param say fun(what: string, name: string, one: string, other: string): string words the error: what differs, where,
---  and how it is in both
function M.same(form, other, say)
  if form.text ~= other.text then
    for _, name in ipairs(form.names) do
      if not find(other.names, name) then error(say('structure', name, 'a tensor', 'missing'), 2) end
    end
    for _, name in ipairs(other.names) do
      if not find(form.names, name) then error(say('structure', name, 'missing', 'a tensor'), 2) end
    end
    for i, a in ipairs(form.leaves) do
      local b = other.leaves[i]
      if b and a.key ~= b.key then
        error(say('structure', form.names[i], a.key and 'a key' or 'a tensor', b.key and 'a key' or 'a tensor'), 2)
      end
    end
    error(say('structure', '', form.text, other.text), 2)
  end
  for i, a in ipairs(form.leaves) do
    local b = other.leaves[i]
    if a.text ~= b.text then
      error(say(a._dtype ~= b._dtype and 'dtype' or 'shape', form.names[i], a.text, b.text), 2)
    end
  end
end

return M
