-- tree.lua - nested tables of tensors and numbers, leaf by leaf.
---
--- Functions that compile, differentiate or optimise take and return trees: a tensor, a number, a random key, or a
--- table of trees, which may be an object of a class of the user's: its fields are walked and trees made from it are of
--- the same class. Decides the order of leaves (sorted keys: numbers before strings).
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local random = require 'mascon.random.key'
local error = check.error

local M = {}

local function before(a, b)
  local ta, tb = type(a), type(b)
  if ta == tb and (ta == 'number' or ta == 'string') then return a < b end
  if ta ~= tb then return ta < tb end
  return tostring(a) < tostring(b)
end

--- Keys of a table in the order of leaves.
function M.keys(t)
  local keys = {}
  for k in next, t do keys[#keys + 1] = k end
  table.sort(keys, before)
  return keys
end

--- Whether a metatable belongs to the library (or hides itself): its objects are handed on as they are.
local foreign = setmetatable({}, { __mode = 'k' })
local function closed(mt)
  if type(mt) ~= 'table' then return true end
  local known = foreign[mt]
  if known == nil then
    known = false
    for _, t in ipairs { mt, type(rawget(mt, '__index')) == 'table' and rawget(mt, '__index') or nil } do
      for _, f in next, t do known = known or (type(f) == 'function' and check.library(f)) end
    end
    foreign[mt] = known
  end
  return known
end

--- A table that is walked into: plain ones and instances of the user's classes; tensors and objects of the library are
--- not.
function M.is_branch(v)
  if type(v) ~= 'table' then return false end
  local mt = getmetatable(v)
  return mt == nil or not closed(mt)
end

--- out as an object of the class of v.
function M.like(out, v)
  if type(out) ~= 'table' then error(('tree.like: out is %s; give a table'):format(check.show(out)), 2) end
  local mt = getmetatable(v)
  if mt == nil then return out end
  return setmetatable(out, mt)
end

local function endless()
  error('tree: a table holds itself, so that it has no leaves to walk; give tables without a way back to themselves', 2)
end

--- Appends the leaves of a value (tensors, the words of random keys, and numbers unless `static`) to `leaves`, and its
--- structure to `text`; the places of words to leaves.keys where that is a list.
---@param v any
---@param leaves table
---@param text table strings
---@param static? boolean numbers belong to the structure
---@param path? table the tables that v stands in; with path.loops a way back to one of them is part of the structure,
---  else an error; path.object(v) says more of an object
function M.flatten(v, leaves, text, static, path)
  if tensor.is(v) then
    leaves[#leaves + 1] = v
    text[#text + 1] = 'T'
  elseif type(v) == 'number' and not static then
    leaves[#leaves + 1] = v
    text[#text + 1] = 'N'
  elseif random.is_key(v) then
    leaves[#leaves + 1] = v:words()
    if leaves.keys then table.insert(leaves.keys, #leaves) end
    text[#text + 1] = 'K'
  elseif M.is_branch(v) then
    path = path or {}
    if path[v] then
      if not path.loops then endless() end
      text[#text + 1] = '@'
      return
    end
    path[v] = true
    local mt = getmetatable(v)
    text[#text + 1] = mt and ('%p{'):format(mt) or '{'
    for _, k in ipairs(M.keys(v)) do
      text[#text + 1] = tostring(k) .. '='
      M.flatten(rawget(v, k), leaves, text, static, path)
    end
    path[v] = nil
    text[#text + 1] = '}'
  else
    local kind = type(v)
    text[#text + 1] = kind == 'string' and ('%q'):format(v) or kind == 'number' and ('%.17g'):format(v)
      or kind == 'table' and ('%p'):format(v) or tostring(v) -- an object of the library is itself alone
    if path and path.object then text[#text + 1] = path.object(v) end
  end
end

--- The same structure with take(leaf) in the place of each leaf; words that stand for those of a key become a key.
---@param v any
---@param take fun(leaf: any): any
---@param static? boolean numbers stay
function M.rebuild(v, take, static)
  if type(take) ~= 'function' then error(('tree.rebuild: take is %s; give a function'):format(check.show(take)), 2) end
  if tensor.is(v) or (type(v) == 'number' and not static) then return take(v) end
  if M.is_branch(v) then
    local out = {}
    for _, k in ipairs(M.keys(v)) do out[k] = M.rebuild(rawget(v, k), take, static) end
    return M.like(out, v)
  end
  if random.is_key(v) then
    local words = take(v:words())
    return tensor.is(words) and words.dtype == 'i64' and random.of(words) or words
  end
  return v
end

--- The leaves of a tree in order: tensors, numbers, and the words of random keys.
---     #mc.tree.leaves({ w = mc.zeros{2}, b = { 1, 2 } })  --> 3
---@param tree any
---@param static? boolean tensors only
---@return table list
function M.leaves(tree, static)
  if static ~= nil and type(static) ~= 'boolean' then
    error(('tree.leaves: static is %s; give true or false'):format(check.show(static)), 2)
  end
  local leaves = {}
  M.flatten(tree, leaves, {}, static)
  return leaves
end

--- f(leaf, ...) for each leaf of the first tree and the leaves at the same places of the others, in a tree of the same
--- form.
---     mc.tree.map(function(a, b) return a + b end, { x = 1, y = { 2 } }, { x = 10, y = { 20 } })
---       --> { x = 11, y = { 22 } }
---@param f function
---@param tree any
---@param ... any trees of the same form
---@return any tree
function M.map(f, tree, ...)
  if type(f) ~= 'function' then error('tree.map: the first argument is ' .. check.show(f) .. '; give a function', 2) end
  local n = select('#', ...)
  local others = { ... }
  local function walk(where, v, ...)
    if M.is_branch(v) then
      local out = {}
      for _, k in ipairs(M.keys(v)) do
        local rest = {}
        for i = 1, n do
          local o = select(i, ...)
          if not M.is_branch(o) or o[k] == nil then
            error(('tree.map: tree %d has no %s%s'):format(i + 1, where, tostring(k)), 0)
          end
          rest[i] = o[k]
        end
        out[k] = walk(where .. tostring(k) .. '.', v[k], unpack(rest, 1, n))
      end
      return M.like(out, v)
    end
    return f(v, ...)
  end
  return walk('', tree, unpack(others, 1, n))
end

return M
