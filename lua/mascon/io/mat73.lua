-- mat73.lua - MAT-files of version 7.3: variables, structs and cells of MATLAB that lie in HDF5, with the interface of
-- mat.lua.
--
-- A struct is a group whose datasets are its fields; an array of structs has references for fields; a cell is a dataset
-- of references. Shapes lie backwards, since MATLAB counts down columns. Holds this translation. Source: the attributes
-- that MATLAB R2006b to R2023b writes (MATLAB_class, MATLAB_empty, MATLAB_fields), as scipy's and MNE's readers
-- describe them.
local file = require 'mascon.io.hdf5_file'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local text = require 'mascon.base.text'
local error = check.error
local M = {}

local NUMBER = { double = true, single = true, logical = true }
for _, bits in ipairs { 8, 16, 32, 64 } do NUMBER['int' .. bits], NUMBER['uint' .. bits] = true, true end
-- structs within cells within structs; references may lead in a circle
local DEEPEST = 64

local File = {}
File.__index = File

local function attribute(o, name)
  if not o:has('attributes', name) then return nil end
  local a = o:attribute(name)
  local v
  if a.holds == 'texts' then
    v = a:texts()
    if #a.shape == 0 then v = v[1] end
  elseif a.holds == 'numbers' and a.numel >= 1 then v = a:numbers():reshape { -1 }[1]:item() end
  a:close()
  return v
end

--- Names of the members of a group, those that MATLAB lists first and in its order.
local function members(o)
  local there, out = {}, {}
  local names = o:names 'links'
  for _, n in ipairs(names) do there[n] = true end
  local listed = o:has('attributes', 'MATLAB_fields') and attribute(o, 'MATLAB_fields')
  for _, n in ipairs(type(listed) == 'table' and listed or {}) do
    if there[n] then
      out[#out + 1] = n
      there[n] = nil
    end
  end
  for _, n in ipairs(names) do
    if there[n] then out[#out + 1] = n end
  end
  return out
end

--- What an object is, as the array that mat.lua describes; the object is closed. `open` opens it again.
local function describe(f, o, open)
  local class = attribute(o, 'MATLAB_class')
  local a = { open = open, shape = {}, children = 0, fields = 0, readable = true, kind = 'other', key = o.key }
  if type(class) ~= 'string' then class = nil end
  for k = #o.shape, 1, -1 do a.shape[#a.shape + 1] = o.shape[k] end
  a.numel = o.numel
  if o.kind == 'group' then
    a.numel, a.shape = 1, { 1, 1 }
    if class == 'struct' or class == nil then
      a.kind, a.names = 'struct', members(o)
      a.fields = #a.names
      local first = a.names[1] and o:at(a.names[1])
      if first then -- an array of structs has references without a class for fields
        if first.holds == 'references' and not first:has('attributes', 'MATLAB_class') then
          a.numel, a.shape, a.references = first.numel, {}, {}
          for k = #first.shape, 1, -1 do a.shape[#a.shape + 1] = first.shape[k] end
        end
        first:close()
      end
      a.children = a.numel * a.fields
    end
  elseif attribute(o, 'MATLAB_empty') == 1 then
    local sizes = o.holds == 'numbers' and o:numbers():reshape { -1 }:totable() or { 0, 0 }
    a.shape, a.numel, a.empty = {}, 1, true
    for k, n in ipairs(sizes) do
      a.shape[k] = tonumber(n)
      a.numel = a.numel * a.shape[k]
    end
    a.kind = class == 'cell' and 'cell' or class == 'struct' and 'struct' or class == 'char' and 'char'
      or NUMBER[class] and 'number' or 'other'
    a.names = {}
    if a.numel ~= 0 then
      error(('mat: %s is damaged: an array said to be empty has elements; copy or download it again'):format(f.path), 5)
    end
  elseif o.holds == 'references' then
    a.kind, a.children, a.references = 'cell', o.numel, {}
  elseif o.holds == 'texts' then a.kind, a.plain = 'char', true
  elseif o.holds == 'numbers' then
    a.kind = class == 'char' and 'char' or 'number'
    a.dtype, a.chunk = o.dtype, o.chunk
  end
  a.numbers = a.numel
  if #a.shape > 8 then a.readable = false end
  o:close()
  return a
end

--- Keeps an array under a number, which stands for it.
local function enter(f, a)
  f._arrays[#f._arrays + 1] = a
  return #f._arrays
end

--- Opens a MAT-file. Owns it until :close() or collection.
---@param path string
---@return table file with variables (name = array) and names, in order
function M.open(path)
  local root = file.open(path)
  local f = setmetatable({ path = path, variables = {}, names = {}, _arrays = {}, _root = root }, File)
  for _, name in ipairs(root:names 'links') do
    if name:sub(1, 1) ~= '#' then -- #refs# and #subsystem# are MATLAB's own
      local function open() return root:at(name) end
      f.names[#f.names + 1] = name
      f.variables[name] = enter(f, describe(f, open(), open))
    end
  end
  return f
end

local function array_of(f, i)
  if not f._root then error(('mat: %s was closed; open it again'):format(f.path), 4) end
  return f._arrays[i] or error(('mat: %s has no array %s'):format(f.path, tostring(i)), 4)
end

--- Gives the file back now.
function File:close()
  if self._root then self._root:close() end
  self._root, self._arrays = nil, {}
end

--- What array i is: { kind = 'cell' | 'struct' | 'char' | 'number' | 'other', numel, shape, children, readable }.
function File:array(i) return array_of(self, i) end

--- The array a reference means.
local function referred(f, reference)
  local known = f._known or {}
  f._known = known
  local i = known[reference]
  if not i then
    local function open() return f._root:refer(reference) end
    i = enter(f, describe(f, open(), open))
    known[reference] = i
  end
  return i
end

local function references_of(a, name)
  local list = a.references[name or 1]
  if not list then
    local o = a.open()
    local holder = name and o:at(name) or o
    if holder.holds ~= 'references' then list = {} else list = holder:references() end
    if name then holder:close() end
    o:close()
    a.references[name or 1] = list
  end
  return list
end

--- Field `name` of element `at` of a struct.
local function field(f, a, name, at)
  if a.references then
    local list = references_of(a, name)
    if not list[at] then
      error(('mat: %s is damaged: field %s of an array of structs has too few elements; copy or download it again')
        :format(f.path, name), 5)
    end
    return referred(f, list[at])
  end
  a.members = a.members or {}
  local i = a.members[name]
  if not i then
    local function open()
      local o = a.open()
      local child = o:at(name)
      o:close()
      return child
    end
    i = enter(f, describe(f, open(), open))
    a.members[name] = i
  end
  return i
end

--- Child k (1-based) of a cell or struct.
function File:child(i, k)
  local a = array_of(self, i)
  if k < 1 or k > a.children then error(('mat: array %d has no child %d'):format(i, k), 3) end
  if a.kind == 'cell' then return referred(self, references_of(a)[k]) end
  return field(self, a, a.names[(k - 1) % a.fields + 1], math.floor((k - 1) / a.fields) + 1)
end

--- Names of the fields of a struct, in order.
function File:fields(i) return array_of(self, i).names or {} end

--- Field `name` of element `at` (default 1) of a struct as an array, or nil.
function File:get(i, name, at)
  if not i then return nil end
  local a = array_of(self, i)
  if a.kind ~= 'struct' or (at or 1) > a.numel then return nil end
  for _, n in ipairs(a.names) do
    if n == name then return field(self, a, name, at or 1) end
  end
end

local function numbers(a, start, count)
  local o = a.open()
  local t = o:numbers(start, count)
  o:close()
  return t
end

--- Text of a char array as UTF-8, its first row when there are several; nil for another kind.
function File:text(i)
  if not i then return nil end
  local a = array_of(self, i)
  if a.kind ~= 'char' then return nil end
  if a.numel == 0 then return '' end
  if a.plain then
    local o = a.open()
    local s = o:texts()[1]
    o:close()
    return text.utf8(s)
  end
  local t = numbers(a)
  local list = t:reshape { -1, a.shape[1] }:to('i64'):permute_dims { 2, 1 }[1]:totable()
  return text.from_utf16(list)
end

--- First number of an array, nil when it holds none.
function File:number(i)
  if not i then return nil end
  local a = array_of(self, i)
  if a.kind ~= 'number' or a.numel == 0 or not a.readable then return nil end
  local one, zero = {}, {}
  for k = 1, #a.shape do one[k], zero[k] = 1, 0 end
  local t = numbers(a, zero, one):reshape { -1 }[1]
  if tensor.kind[t.dtype] == 'c' then t = t:real() end
  return t:to('f64'):item()
end

--- Numbers of an array as a tensor with MATLAB's axes: f64, of complex ones c128.
function File:tensor(i)
  local a = array_of(self, i)
  if a.numel == 0 then return tensor.empty('mat', a.shape, 'f64', 4) end
  local t, order = numbers(a), {}
  for k = 1, #a.shape do order[k] = #a.shape + 1 - k end
  t = t:to(tensor.kind[t.dtype] == 'c' and 'c128' or 'f64')
  return #order > 1 and t:permute_dims(order) or t
end

--- Rows [first, first + count) of an array seen as rows of n numbers, which its last axes make up.
local function rows_of(a, n, first, count)
  local sizes, inner, axis = {}, 1, nil
  for k = 1, #a.shape do sizes[k] = a.shape[#a.shape + 1 - k] end
  for k = #sizes, 1, -1 do
    inner = inner * sizes[k]
    if inner == n then axis = k break end
  end
  while axis and axis > 2 and sizes[axis - 1] == 1 do axis = axis - 1 end
  local o = a.open()
  local parts = {}
  if not axis or axis < 2 or axis > 3 then parts[1] = o:numbers():reshape { -1, n }[{ { first + 1, first + count } }]
  else
    local start, some = {}, {}
    for k = 1, #sizes do start[k], some[k] = 0, sizes[k] end
    local per = sizes[axis - 1]
    local at = first
    while at < first + count do
      local inside = at % per
      local many = math.min(per - inside, first + count - at)
      start[axis - 1], some[axis - 1] = inside, many
      if axis == 3 then start[1], some[1] = math.floor(at / per), 1 end
      parts[#parts + 1] = o:numbers(start, some):reshape { many, n }
      at = at + many
    end
  end
  o:close()
  return #parts == 1 and parts[1] or op.functions.concat(parts, 1)
end

--- Samples on a grid within array i, f64 [#picks, count]: base and steps in numbers, picks 1-based, first from 0;
--- scale: one factor for all.
function File:samples(i, base, channel_step, sample_step, picks, first, count, scale)
  local a = array_of(self, i)
  if base ~= 0 or channel_step ~= 1 or a.kind ~= 'number' or first < 0 or (first + count) * sample_step > a.numel then
    error(('mat: %s: samples %d to %d are not in its data'):format(self.path, first + 1, first + count), 3)
  end
  if count == 0 or #picks == 0 then return tensor.empty('mat', { #picks, count }, 'f64', 4) end
  local t = rows_of(a, sample_step, first, count):to('f64')
  local all = #picks == sample_step
  for k, p in ipairs(picks) do all = all and p == k end
  t = t:permute_dims { 2, 1 }
  if not all then t = t:take(create.tensor(picks, { dtype = 'i64' }), 1) end
  return t * scale
end

--- Array i as a Lua value: a number, a tensor, a string, a list (cells, arrays of structs) or a table (a struct); nil
--- for what cannot be read.
function File:value(i, depth)
  local a = array_of(self, i)
  depth = (depth or 0) + 1
  if depth > DEEPEST then
    error(('mat: %s is damaged: arrays lie more than %d deep in each other; copy or download it again'):format(
      self.path, DEEPEST), 3)
  end
  if a.kind == 'char' then return self:text(i) end
  if a.kind == 'number' then
    if not a.readable then return nil end
    return a.numel == 1 and tensor.kind[a.dtype] ~= 'c' and self:number(i) or self:tensor(i)
  end
  local out = {}
  if a.kind == 'cell' then
    for k = 1, a.children do out[k] = self:value(self:child(i, k), depth) end
    return out
  end
  if a.kind ~= 'struct' then return nil end
  for at = 1, a.numel do
    local one_ = {}
    for _, name in ipairs(a.names) do one_[name] = self:value(field(self, a, name, at), depth) end
    out[at] = one_
  end
  return a.numel == 1 and out[1] or out
end

return M
