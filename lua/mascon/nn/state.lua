-- state.lua - parameters and buffers of a module as one table name -> tensor, under the module's names or PyTorch's.
--
-- PyTorch counts the parts of lists from 0, and holds some tensors as one that stand apart here (the projections of
-- attention). What a class is called there is its method pytorch_name(name): the name of a tensor within the module,
-- with dots, gives the name there, and its place where several are one along the first axis.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local child = require 'mascon.nn.parts'.child
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

---@class mascon.StateEntry one tensor of such a table
---@field name string
---@field slots mascon.Slot[] of the module's tensors in it, in order along the first axis
---@field shape integer[]

function M.same_shape(t, shape)
  if t.ndim ~= #shape then return false end
  for i = 1, #shape do if t.shape[i] ~= shape[i] then return false end end
  return true
end

function M.described(slot) return ('%s[%s]'):format(slot.dtype, table.concat(slot.shape, ',')) end

--- Entries under the names of the module: the first name of each slot, then the other names of shared ones.
local function own(list, by_name)
  local out, first = {}, {}
  for i, e in ipairs(list) do
    out[i], first[e[1]] = { name = e[1], slots = { e[2] }, shape = e[2].shape }, true
  end
  for name, slot in pairs(by_name) do
    if not first[name] then out[#out + 1] = { name = name, slots = { slot }, shape = slot.shape } end
  end
  return out
end

--- Entries under the names of PyTorch, which has shared tensors under each of their names.
local function pytorch(self)
  local out, by_name, path = {}, {}, {}
  local function take(name, slot)
    local place = 1
    for i = #path, 1, -1 do
      local rename = rawget(path[i][1], '_class').pytorch_name
      if rename then
        local new, at = rename(path[i][1], name)
        name, place = new, at or place
      end
      if i > 1 then name = path[i][2] .. '.' .. name end
    end
    local e = by_name[name]
    if not e then
      e = { name = name, slots = {} }
      out[#out + 1], by_name[name] = e, e
    end
    e.slots[place] = slot
  end
  local function walk(m, name)
    path[#path + 1] = { m, name }
    local slots = rawget(m, '_slots')
    for _, n in ipairs(rawget(m, '_order')) do
      local inner = child(m, n)
      if slots[n] then take(n, slots[n]) elseif inner then walk(inner, n) end
    end
    path[#path] = nil
  end
  walk(self)
  for _, e in ipairs(out) do
    e.shape = { unpack(e.slots[1].shape) }
    for i = 2, #e.slots do e.shape[1] = e.shape[1] + e.slots[i].shape[1] end
  end
  return out
end

local function entries(self, names, list, by_name)
  if names == 'pytorch' then return pytorch(self) end
  return own(list, by_name)
end

--- name -> tensor under PyTorch's names; value(slot, name) gives the tensor of a slot.
function M.pytorch(self, value)
  local out = {}
  for _, e in ipairs(pytorch(self)) do
    local parts = {}
    for i, slot in ipairs(e.slots) do parts[i] = value(slot, e.name) end
    out[e.name] = parts[2] and F.concat(parts, 1) or parts[1]
  end
  return out
end

--- How many names of a table are among those of the module, and how many are not.
local function fitting(self, names, state, list, by_name)
  local known, there, others = {}, 0, 0
  for _, e in ipairs(entries(self, names, list, by_name)) do known[e.name] = true end
  for name in pairs(state) do
    if known[name] then there = there + 1 else others = others + 1 end
  end
  return there, others
end

--- Whether a table has a tensor of the module at all.
function M.any_there(...) return (fitting(...)) > 0 end

--- Advice for a table more of whose names are of the other kind; nothing for others.
function M.advice(self, names, state, list, by_name)
  local other = names == 'pytorch' and 'module' or 'pytorch'
  local there, others = fitting(self, other, state, list, by_name)
  if there <= fitting(self, names, state, list, by_name) then return nil end
  return (other == 'pytorch' and "the names are those of PyTorch, names = 'pytorch' takes them"
    or "the names are those of the module, leave out names = 'pytorch'")
    .. (others > 0 and ' (with strict = false, since some are of neither)' or '')
end

--- What a table gives to each slot: slot -> tensor; names that are missing and names that are not known, sorted.
---@param fname string
---@param self mascon.Module
---@param state table name -> tensor
---@param names string 'module' or 'pytorch'
---@param list table of slots, as module.slots gives it
---@param by_name table
---@param level integer as in error()
---@return table given, string[] missing, string[] unknown
--- Errors: shapes.
function M.divide(fname, self, state, names, list, by_name, level)
  local given, known, missing, unknown = {}, {}, {}, {}
  local all = entries(self, names, list, by_name)
  for _, e in ipairs(all) do
    local t = state[e.name]
    known[e.name] = true
    if t ~= nil then
      if not is(t) or not M.same_shape(t, e.shape) then
        error(('%s: %s is %s, the module has %s; both need the same shape'):format(fname, e.name,
          is(t) and tensor.describe(t) or check.show(t), M.described { dtype = e.slots[1].dtype, shape = e.shape }),
          level + 1)
      end
      local first = 1
      for i, slot in ipairs(e.slots) do
        local last = first + (slot.shape[1] or 1) - 1
        given[slot] = e.slots[2] and methods.copy(t[{ { first, last } }]) or t
        if i < #e.slots then first = last + 1 end
      end
    end
  end
  local told = {}
  for _, e in ipairs(all) do
    local slot = e.slots[1]
    if not given[slot] and not told[slot] then missing[#missing + 1], told[slot] = e.name, true end
  end
  for name in pairs(state) do if not known[name] then unknown[#unknown + 1] = tostring(name) end end
  table.sort(unknown)
  return given, missing, unknown
end

return M
