-- parameters.lua - trees of tensors as optimisers take them: checked, compared, as one vector and back.
--
-- Trees are those of mascon.tree without numbers as leaves. Holds the messages that name a leaf by its path, and the
-- flat vector.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local tree = require 'mascon.graph.tree'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

local sorted, branch = tree.keys, tree.is_branch

local function named(path, key)
  return path .. (type(key) == 'number' and ('[%s]'):format(key) or '.' .. tostring(key))
end

--- The leaves of a tree, and their paths for messages.
---@param fname string public name of the caller
---@param what string what the tree is, for messages
---@return any[] leaves, string[] paths
function M.leaves(fname, what, t)
  local leaves, paths = {}, {}
  local function walk(v, path)
    if is(v) then
      leaves[#leaves + 1], paths[#leaves + 1] = v, path
    elseif branch(v) then
      for _, k in ipairs(sorted(v)) do walk(v[k], named(path, k)) end
    else
      error(('%s: %s is %s; give tensors, or nested tables of them'):format(fname, path, check.show(v)), 3)
    end
  end
  walk(t, what)
  return leaves, paths
end

--- The leaves of `t`, which must have the structure and the shapes of `like`.
function M.matching(fname, what, t, like_what, like)
  local leaves = {}
  local function walk(v, l, path, like_path)
    if is(l) then
      if not is(v) then
        error(('%s: %s is %s, %s is %s; both need the same structure'):format(fname, path, check.show(v), like_path,
          tensor.describe(l)), 3)
      end
      if v.shape ~= l.shape then
        error(('%s: %s is %s, %s is %s; both need the same shapes'):format(fname, path, tensor.describe(v), like_path,
          tensor.describe(l)), 3)
      end
      leaves[#leaves + 1] = v
      return
    end
    if not branch(v) then
      error(('%s: %s is %s, %s is a table; both need the same structure'):format(fname, path,
        is(v) and tensor.describe(v) or check.show(v), like_path), 3)
    end
    for _, k in ipairs(sorted(l)) do walk(v[k], l[k], named(path, k), named(like_path, k)) end
    for _, k in ipairs(sorted(v)) do
      if l[k] == nil then
        error(('%s: %s has no counterpart in %s; both need the same structure'):format(fname,
          named(path, k), like_path), 3)
      end
    end
  end
  walk(t, like, what, like_what)
  return leaves
end

--- A tree of the structure of `like` with other leaves, taken from a list in order.
function M.build(like, leaves)
  local at = 0
  return tree.rebuild(like, function()
    at = at + 1
    return leaves[at]
  end, true)
end

--- f of every leaf.
function M.map(fname, what, t, f)
  local leaves = M.leaves(fname, what, t)
  local out = {}
  for i, v in ipairs(leaves) do out[i] = f(v) end
  return M.build(t, out)
end

--- A copy of plain tables, numbers and strings whose tensors are copies too.
function M.copy(v)
  if is(v) then return methods.copy(v) end
  if type(v) ~= 'table' then return v end
  local out = {}
  for k, x in pairs(v) do out[k] = M.copy(x) end
  return out
end

--- A list of numbers, one at least, and nothing else.
function M.numbers(v)
  if not branch(v) or v[1] == nil then return false end
  local n = 0
  for i, x in ipairs(v) do
    if type(x) ~= 'number' then return false end
    n = i
  end
  for k in pairs(v) do if type(k) ~= 'number' or k > n then return false end end
  return true
end

--- What a user's function gave, a tree of tensors and numbers, as one vector; by ops, so that derivatives pass. nil
--- when it is no tree. Numbers become tensors of a device (its number; the CPU).
function M.vector(v, device)
  if is(v) then return v.ndim == 1 and v or methods.reshape(v, { v:numel() }) end
  local function made(list) return tensor.moved(op.from_table(list), device or 0, 3) end
  if M.numbers(v) then return made(v) end
  local pieces = {}
  local function walk(t)
    if is(t) then pieces[#pieces + 1] = methods.reshape(t, { t:numel() })
    elseif type(t) == 'number' then pieces[#pieces + 1] = made { t }
    elseif branch(t) then
      for _, k in ipairs(sorted(t)) do if not walk(t[k]) then return false end end
    else return false end
    return true
  end
  if not walk(v) or #pieces == 0 then return nil end
  return #pieces == 1 and pieces[1] or F.concat(pieces, 1)
end

--- A tree as one vector, and how to go back.
---
--- A list of numbers counts as a vector. The vector is f32 when every leaf is f32, else f64.
---@return any vector [n] contiguous, never a view
---@return fun(v: any): any tree of the structure of t, views where they can be
function M.ravel(fname, what, t)
  if M.numbers(t) then t = op.from_table(t)
  elseif type(t) == 'number' then
    t = op.from_table { t }
  end
  local leaves, paths = M.leaves(fname, what, t)
  local dtype, shapes, n = 'f32', {}, 0
  for i, v in ipairs(leaves) do
    local kind = tensor.kind[v.dtype]
    if kind == 'c' then
      error(('%s: %s is %s; give its real and imaginary parts as parameters of their own'):format(fname, paths[i],
        tensor.describe(v)), 3)
    end
    if v.dtype ~= 'f32' then dtype = 'f64' end
    shapes[i] = v.shape
    n = n + v:numel()
  end
  if n == 0 then error(('%s: %s holds no element; give at least one'):format(fname, what), 3) end
  if is(t) then
    local shape = t.shape
    local flat = methods.to(t, dtype)
    if flat == nil or rawequal(flat, t) or methods.shares_memory(flat, t) then flat = methods.copy(t) end
    if #shape == 1 then return flat, function(v) return v end end
    return methods.reshape(flat, { n }), function(v) return methods.reshape(v, shape) end
  end
  local flats = {}
  for i, v in ipairs(leaves) do flats[i] = methods.reshape(methods.to(v, dtype), { v:numel() }) end
  local vector = F.concat(flats, 1)
  return vector, function(v)
    local parts, at = {}, 0
    for i, shape in ipairs(shapes) do
      local size = 1
      for _, s in ipairs(shape) do size = size * s end
      parts[i] = methods.reshape(v[{ { at + 1, at + size } }], shape)
      at = at + size
    end
    return M.build(t, parts)
  end
end

return M
