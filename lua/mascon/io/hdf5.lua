-- hdf5.lua - HDF5 files: read whole, as a lazy tree, written from nested tables.
---
--- Groups are tables, datasets tensors in their own dtype (u16 -> i32, u32 and u64 -> i64), texts Lua strings; what has
--- no axes is a number, a boolean or a string. libhdf5 trusts the bytes of a file: one that this process did not write
--- is read by a process of its own, whose crash or hang is an error here (MASCON_HDF5=inprocess: read it here). Holds
--- this translation and the ranges of :read. The bytes are libhdf5's, behind a plug-in. Source: The HDF Group, HDF5
--- specification, version 3.0; booleans, complex numbers and texts as h5py 3 keeps them.
local file = require 'mascon.io.hdf5_file'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local error = check.error
local M = {}

-- groups within groups; links may lead in a circle through many files
local DEEPEST = 128

-- ---------------------------------------------------------------- values

--- A flat list of texts as nested lists of this shape; the text itself without axes.
local function nested(list, shape)
  if #shape == 0 then return list[1] end
  local at = 0
  local function level(k)
    local out = {}
    for i = 1, shape[k] do
      if k == #shape then
        at = at + 1
        out[i] = list[at]
      else out[i] = level(k + 1) end
    end
    return out
  end
  return level(1)
end

--- A number or boolean for a tensor without axes, unless only a tensor says all of it: complex, and whole numbers past
--- 2^53.
local function plain(t)
  if t.ndim > 0 then return t end
  local v = t:item()
  if type(v) == 'number' or type(v) == 'boolean' then return v end
  return t
end

local function unreadable(where, o, level)
  local what = o.holds == 'references' and 'references to other places of the file'
    or 'elements of a kind that has no dtype here (tables of several columns, dates, opaque bytes)'
  error(('hdf5: %s holds %s; open the file with mc.open and read its other datasets'):format(where, what), level + 1)
end

local function sizes(shape, between)
  local out = {}
  for k, n in ipairs(shape) do out[k] = ('%.0f'):format(n) end
  return table.concat(out, between)
end

--- Refuses what no machine holds: a few bytes can declare any shape.
local function sizeable(shape, where, level)
  local n = 1
  for _, k in ipairs(shape) do n = n * k end
  if n > 2 ^ 44 then
    error(('hdf5: %s declares the shape {%s}, more than any machine holds; read parts of it with mc.open and :read, or '
      .. 'check the file'):format(
        where, sizes(shape, ', ')), level + 1)
  end
end

--- All of a dataset or attribute as a Lua value.
local function value_of(o, where, level)
  sizeable(o.shape, where, level + 1)
  if o.holds == 'texts' then
    if o.null then return '' end
    return nested(o:texts(), o.shape)
  end
  if o.holds ~= 'numbers' then unreadable(where, o, level + 1) end
  if #o.shape > 8 then error(('hdf5: %s has %d axes; a tensor has at most 8'):format(where, #o.shape), level + 1) end
  return plain(o:numbers())
end

local function join(a, b) return a == '/' and '/' .. b or a .. '/' .. b end

local function descend(o, where, walk, depth, level)
  local found = walk.seen[o.key]
  if found ~= nil then return found end
  if depth > DEEPEST then
    error(('hdf5: %s:%s lies more than %d groups deep; its links lead in a circle'):format(walk.path, where, DEEPEST),
      level + 1)
  end
  if o.kind == 'dataset' then
    local v = value_of(o, walk.path .. ':' .. where, level + 1)
    if tensor.is(v) then walk.seen[o.key] = v end
    return v
  end
  local out = {}
  walk.seen[o.key] = out
  for _, name in ipairs(o:names 'links') do
    local child = o:at(name)
    local at = #walk.open + 1
    walk.open[at] = child
    if child.kind ~= 'other' then out[name] = descend(child, join(where, name), walk, depth + 1, level + 1) end
    walk.open[at] = nil
    child:close()
  end
  return out
end

--- What lies at an object, walked down; the object is closed. Objects with two names, and groups that hold themselves,
--- are one table or tensor under all names.
local function whole(o, path, where)
  local walk = { path = path, seen = {}, open = { o } }
  local ok, v = pcall(descend, o, where, walk, 0, 0)
  for _, held in ipairs(walk.open) do held:close() end
  if ok then return v end
  error(v, 0)
end

--- A file read whole: nested tables of tensors, numbers, booleans, strings and lists of strings. Links are followed;
--- one that leads nowhere is an error, as is a dataset whose elements have no dtype here.
---     (function() local p, as = os.tmpname(), { format = 'h5' }; mc.save(p, { a = { x = mc.arange(1, 3) },
---       unit = 'uV' }, as); local t = mc.load(p, as); os.remove(p); return t.a.x, t.unit end)()
---       --> f64[3]@cpu { 1, 2, 3 }, uV
---@param path string
---@return table
function M.load(path)
  local out = whole(file.open(path), path, '/')
  return out
end

-- ---------------------------------------------------------------- the lazy tree

local function attributes_of(o, where)
  local out = {}
  for _, name in ipairs(o:names 'attributes') do
    local a = o:attribute(name)
    -- references between axes and their scales, and other things of the writer's own, are left out
    if a.holds == 'numbers' and #a.shape <= 8 or a.holds == 'texts' then
      out[name] = value_of(a, where .. '@' .. name, 4)
    end
    a:close()
  end
  return out
end

local Group, Dataset = {}, {}

--- Fields made when first asked for.
local function lazily(class, makers)
  class.__index = function(t, k)
    local f = makers[k]
    if not f then return class[k] end
    local v = f(t)
    rawset(t, k, v)
    return v
  end
end

lazily(Group, {
  names = function(g) return g._o:names 'links' end,
  attributes = function(g) return attributes_of(g._o, g.path .. ':' .. g.name) end,
})
lazily(Dataset, {
  attributes = function(d) return attributes_of(d._o, d.path .. ':' .. d.name) end,
  filters = function(d) return d._o:names 'filters' end,
  compression = function(d)
    for _, f in ipairs(d.filters) do
      if f ~= 'shuffle' and f ~= 'fletcher32' then return f end
    end
  end,
})
function Group.__tostring(g)
  return ('hdf5 %s:%s: %s'):format(g.path, g.name, #g.names > 0 and table.concat(g.names, ', ') or 'empty')
end
function Dataset.__tostring(d)
  return ('hdf5 %s:%s: %s[%s]'):format(d.path, d.name, d.dtype or d.holds, sizes(d.shape, ','))
end

local function group(o, path, name) return setmetatable({ _o = o, path = path, name = name, kind = 'group' }, Group) end

local function dataset(o, path, name)
  return setmetatable({
    _o = o, path = path, name = name, kind = 'dataset', dtype = o.dtype or (o.holds == 'texts' and 'text' or nil),
    holds = o.holds, shape = o.shape, chunk = o.chunk, stored = o.stored,
  }, Dataset)
end

--- A file as a lazy tree: its root group, with path, name, names (of groups and datasets), attributes, :get(path),
--- :dataset(path), :group(path), :kind_of(path), :has(path), :close(). Attributes are numbers, booleans, strings, lists
--- of strings or tensors. Owns the file, which stays open as long as one of its groups or datasets.
---     (function() local p, as = os.tmpname(), { format = 'h5' }; mc.save(p, { a = mc.eye(3) }, as);
---       local f = mc.open(p, as); local row = f:dataset('a'):read{ 2 }; f:close(); os.remove(p); return row end)()
---       --> f64[3]@cpu { 0, 1, 0 }
---@param path string
function M.open(path) return group(file.open(path), path, '/') end

--- The object at a path, which must be of this kind.
local function find(g, fname, name, kind)
  check.arg(fname, 'name', name, 'string', 4)
  if name:find('\0', 1, true) then error(('%s: the name holds a zero byte; check how it was made'):format(fname), 3) end
  local first = name:match '^/*([^/]*)'
  if name:sub(1, 1) ~= '/' and not g._o:has('links', first) and first ~= '.' then
    local near = check.nearest(first, g.names)
    error(('hdf5: %s:%s has no %q%s; it holds %s'):format(g.path, g.name, first,
      near and (' (did you mean %q?)'):format(near) or '',
      #g.names > 0 and table.concat(g.names, ', ') or 'nothing'), 3)
  end
  local o = g._o:at(name)
  if kind and o.kind ~= kind then
    error(('hdf5: %s:%s is a %s, not a %s; use :get to read either'):format(g.path, join(g.name, name), o.kind, kind),
      3)
  end
  return o, name:sub(1, 1) == '/' and name or join(g.name, name)
end

--- What lies at a path, read whole: a table for a group, a tensor, number, boolean, string or list of strings for a
--- dataset.
---@param name string path from here, or from the root when it begins with /
function Group:get(name)
  local o, where = find(self, 'hdf5.get', name)
  local v = whole(o, self.path, where)
  return v
end

--- The dataset at a path, unread: shape, dtype ('text' for texts, nil for what cannot be read), chunk (shape, nil when
--- stored in one piece), filters (names), compression (nil without), attributes, stored (bytes in the file),
--- :read(ranges), :close().
---@param name string
function Group:dataset(name)
  local o, where = find(self, 'hdf5.dataset', name, 'dataset')
  return dataset(o, self.path, where)
end

--- The group at a path.
---@param name string
function Group:group(name)
  local o, where = find(self, 'hdf5.group', name, 'group')
  return group(o, self.path, where)
end

--- Whether there is something at a path, links that lead nowhere apart.
---@param name string
--- Errors: what keeps the file from being read; a group that was closed.
function Group:has(name)
  check.arg('hdf5.has', 'name', name, 'string', 3)
  local ok, found = pcall(self._o.at, self._o, name)
  if ok then found:close()
  elseif not tostring(found):find(': there is no ', 1, true) then error(found, 0) end -- a signal, no memory
  return ok
end

--- 'group', 'dataset' or 'other'.
---@param name string
function Group:kind_of(name)
  local o = find(self, 'hdf5.kind_of', name)
  o:close()
  return o.kind
end

--- Gives the group back now; the file closes with the last of its groups and datasets.
function Group:close() self._o:close() end
function Dataset:close() self._o:close() end

local function outside(d, axis, v, level)
  error(('hdf5.read: %s is outside axis %d of %s:%s, which is {%s}; positions run from 1 to %.0f, or -1 backwards')
    :format(tostring(v), axis, d.path, d.name,
      sizes(d.shape, ', '), d.shape[axis]), level + 1)
end

local function number(d, axis, v, level)
  if type(v) ~= 'number' or v ~= math.floor(v) then
    error(('hdf5.read: axis %d of %s:%s: %s is no whole number; give a position, {first, last, step} or mc.all'):format(
      axis, d.path, d.name, check.show(v)), level + 1)
  end
  return v < 0 and v + d.shape[axis] or v - 1
end

--- Ranges as 0-based starts, counts, steps, and the shape of what is read: positions drop their axis.
local function ranges(d, spec, level)
  local all = require('mascon.core.index').all
  local start, count, step, shape = {}, {}, {}, {}
  if type(spec) == 'number' then spec = { spec } end
  if spec ~= nil and type(spec) ~= 'table' then
    error(('hdf5.read: ranges are %s; give a table of positions and {first, last, step}'):format(check.show(spec)),
      level + 1)
  end
  for k in pairs(spec or {}) do
    if type(k) ~= 'number' or k < 1 or k > #d.shape then
      error(('hdf5.read: there is a range %s and %s:%s has %d axes'):format(tostring(k), d.path, d.name, #d.shape),
        level + 1)
    end
  end
  for axis, n in ipairs(d.shape) do
    local r = spec and spec[axis]
    if r == nil or r == all then
      start[axis], count[axis], step[axis] = 0, n, 1
    elseif type(r) == 'table' then
      local s = r[3] or 1
      if type(s) ~= 'number' or s < 1 or s ~= math.floor(s) then
        error(('hdf5.read: the step of axis %d is %s; give a whole number from 1'):format(axis, check.show(s)),
          level + 1)
      end
      local a = number(d, axis, (r[1] == nil or r[1] == all) and 1 or r[1], level + 1)
      local b = number(d, axis, (r[2] == nil or r[2] == all) and n or r[2], level + 1)
      local c = math.max(math.floor((b - a) / s) + 1, 0)
      if c > 0 and (a < 0 or a >= n or b < 0 or b >= n) then
        outside(d, axis, a < 0 and r[1] or a >= n and r[1] or r[2], level + 1)
      end
      start[axis], count[axis], step[axis] = c > 0 and a or 0, c, s
    else
      local a = number(d, axis, r, level + 1)
      if r == 0 or a < 0 or a >= n then outside(d, axis, r, level + 1) end
      start[axis], count[axis], step[axis] = a, 1, 1
    end
    if type(r) ~= 'number' then shape[#shape + 1] = count[axis] end
  end
  return start, count, step, shape
end

--- Reads ranges, one per axis: a position (drops the axis), {first, last}, {first, last, step}, mc.all; missing ones
--- take all. 1-based, inclusive, negative from the end. A tensor in the dataset's dtype, or texts as nested lists.
--- d:read() reads all.
---@param spec? table
function Dataset:read(spec)
  local o = self._o
  if o.holds ~= 'numbers' and o.holds ~= 'texts' then unreadable(self.path .. ':' .. self.name, o, 2) end
  if o.null then return o.holds == 'texts' and '' or o:numbers() end
  local start, count, step, shape = ranges(self, spec, 2)
  sizeable(count, self.path .. ':' .. self.name, 2)
  if o.holds == 'texts' then return nested(o:texts(start, count, step), shape) end
  if #self.shape > 8 then
    error(('hdf5: %s:%s has %d axes; a tensor has at most 8'):format(self.path, self.name, #self.shape), 2)
  end
  local t = o:numbers(start, count, step)
  return #shape < #count and t:reshape(shape) or t
end

-- ---------------------------------------------------------------- writing

local Writer = {}
Writer.__index = Writer

local PUT = { level = { 0, 'integer >= 0' }, chunk = { nil, 'table' }, attributes = { nil, 'table' } }
local LEVEL = { level = { 0, 'integer >= 0' } }

--- A file written piece by piece: :put(path, value), :group(path), :attributes(path, table), :close() gives it its
--- name, :abort() leaves the old file. level 1 to 9 packs datasets (shuffle and gzip). Owns.
---@param path string
---@param opts? table
function M.create(path, opts)
  local o = check.opts('hdf5', opts, LEVEL, 4)
  if o.level > 9 then error(('save: level is %d; it is at most 9'):format(o.level), 3) end
  return setmetatable({ _w = file.create(path), path = path, level = o.level }, Writer)
end

--- A path of names, each one that HDF5 can hold.
local function checked_name(w, name, level)
  if type(name) ~= 'string' or name == '' or name:find('\0', 1, true) then
    error(('save: %s: %s is no name; give a text without zero bytes'):format(w.path, check.show(name)), level + 1)
  end
  for part in (name:gsub('^/', '') .. '/'):gmatch '([^/]*)/' do
    if part == '' or part == '.' or part == '..' then
      error(('save: %s: %q is no path of names; HDF5 keeps /, . and empty names for itself'):format(w.path, name),
        level + 1)
    end
  end
  return name:gsub('^/*', '/')
end

local function checked_text(w, name, s, level)
  if type(s) ~= 'string' then
    error(('save: %s:%s: %s is among texts; a list of texts holds strings only'):format(w.path, name, check.show(s)),
      level + 1)
  end
  if s:find('\0', 1, true) then
    error(('save: %s:%s: a text holds a zero byte, which HDF5 ends texts at; save it as a tensor of u8'):format(
      w.path, name), level + 1)
  end
end

--- What a value is stored as: 'texts', 'tensor' and the tensor, or 'group'.
local function form_of(w, name, v, level)
  if tensor.is(v) then return 'tensor', v end
  local kind = type(v)
  if kind == 'string' then
    checked_text(w, name, v, level + 1)
    return 'texts'
  end
  if kind == 'number' or kind == 'boolean' or kind == 'cdata' then
    local ok, t = check.try(create.tensor, v)
    if ok then return 'tensor', t end
  elseif kind == 'table' and getmetatable(v) == nil then
    local n = #v
    if n == 0 then return 'group' end
    for k in pairs(v) do
      if type(k) ~= 'number' or k < 1 or k > n or k ~= math.floor(k) then
        error(('save: %s:%s has the key %s beside positions; a list becomes a dataset, a table with names a group')
          :format(w.path, name, check.show(k)), level + 1)
      end
    end
    if type(v[1]) == 'string' then
      for k = 1, n do checked_text(w, name, v[k], level + 1) end
      return 'texts'
    end
    local ok, t = check.try(create.tensor, v)
    if ok then return 'tensor', t end
    error(('save: %s:%s: %s; a list holds numbers or strings, other things need names'):format(w.path, name,
      tostring(t):gsub('^.-: tensor: ', '')), level + 1)
  end
  error(('save: %s:%s is %s; HDF5 holds tensors, numbers, booleans, strings and tables of these'):format(w.path, name,
    check.show(v)), level + 1)
end

local function sorted(w, name, t, level)
  local keys = {}
  for k in pairs(t) do
    if type(k) ~= 'string' or k == '' or k == '.' or k == '..' or k:find '[/%z]' then
      error(('save: %s:%s has the key %s; names are texts without / and zero bytes'):format(w.path, name,
        check.show(k)), level + 1)
    end
    keys[#keys + 1] = k
  end
  table.sort(keys)
  return keys
end

local function chunk_for(w, name, chunk, t, level)
  if not chunk then return nil end
  local s = t.shape
  if #chunk ~= #s then
    error(('save: %s:%s: chunk has %d sizes and the tensor %d axes'):format(w.path, name, #chunk, #s), level + 1)
  end
  local out = {}
  for k, c in ipairs(chunk) do
    if type(c) ~= 'number' or c < 1 or c ~= math.floor(c) then
      error(('save: %s:%s: chunk holds %s; give whole numbers from 1'):format(w.path, name, check.show(c)), level + 1)
    end
    out[k] = math.max(math.min(c, s[k]), 1)
  end
  return out
end

local function put(w, name, v, o, above, level)
  local form, t = form_of(w, name, v, level + 1)
  if form == 'texts' then w._w:texts(nil, name, v)
  elseif form == 'tensor' then w._w:tensor(nil, name, t, chunk_for(w, name, o.chunk, t, level + 1), o.level)
  else
    if above[v] then error(('save: %s:%s holds itself; a file is a tree'):format(w.path, name), level + 1) end
    above[v] = true
    if name ~= '/' then w._w:group(name) end
    for _, k in ipairs(sorted(w, name, v, level + 1)) do put(w, join(name, k), v[k], o, above, level + 1) end
    above[v] = nil
  end
end

local function put_attributes(w, name, list, level)
  if type(list) ~= 'table' then
    error(('save: %s:%s: attributes are %s; give a table'):format(w.path, name, check.show(list)), level + 1)
  end
  for _, k in ipairs(sorted(w, name, list, level + 1)) do
    local form, t = form_of(w, name .. '@' .. k, list[k], level + 1)
    if form == 'group' then
      error(('save: %s:%s: attribute %s is a table; give numbers, texts or a tensor'):format(w.path, name, k),
        level + 1)
    end
    if form == 'texts' then w._w:texts(name, k, list[k]) else w._w:tensor(name, k, t) end
  end
end

--- f(...), which gives the file up when it fails.
local function guarded(w, f, ...)
  local ok, e = pcall(f, ...)
  if ok then return end
  w._w:abort()
  error(e, 0)
end

--- A value under a path: a tensor, number, boolean, string, list of strings, or a table of these as a group. Groups
--- above are made. level 1 to 9 packs, chunk = {sizes} says in which pieces, attributes = {name = value}. After an
--- error nothing of the file remains.
---@param name string
---@param v any
---@param opts? table
function Writer:put(name, v, opts)
  local o = check.opts('hdf5.put', opts, PUT, 3)
  if o.level == 0 and (opts == nil or opts.level == nil) then o.level = self.level end
  if o.level > 9 then error(('hdf5.put: level is %d; it is at most 9'):format(o.level), 2) end
  name = checked_name(self, name, 2)
  guarded(self, put, self, name, v, o, {}, 3)
  if o.attributes then guarded(self, put_attributes, self, name, o.attributes, 3) end
end

local ROWS = { dtype = { 'f32', 'string' }, chunk = { nil, 'table' }, level = { 0, 'integer >= 0' } }

--- A dataset written block by block, so that it is never in memory as a whole: next() is called until shape[1] rows
--- have come, and gives a tensor [rows, ...] of the dtype, at least one row at a time. opts: dtype (f32), chunk, level.
---@param name string
---@param shape integer[]
---@param next fun(): mascon.Tensor
---@param opts? table
function Writer:rows(name, shape, next, opts)
  local o = check.opts('hdf5.rows', opts, ROWS, 3)
  if not tensor.code[o.dtype] then error(('hdf5.rows: there is no dtype %s'):format(o.dtype), 2) end
  name = checked_name(self, name, 2)
  local got = 0
  local function block()
    local t = next()
    if not tensor.is(t) or t.dtype ~= o.dtype or t.ndim ~= #shape then
      error(('hdf5.rows: %s: a block is %s; give %s with %d axes'):format(name, check.show(t), o.dtype, #shape), 0)
    end
    local s = t.shape
    got = got + s[1]
    if s[1] < 1 or got > shape[1] then
      error(('hdf5.rows: %s: blocks hold %d rows for %d'):format(name, got, shape[1]), 0)
    end
    for k = 2, #shape do
      if s[k] ~= shape[k] then
        local rows = sizes(shape, ', ')
        error(('hdf5.rows: %s: a block is %s for rows of {%s}'):format(name, tensor.describe(t), rows), 0)
      end
    end
    return t
  end
  guarded(self, function() self._w:rows(name, o.dtype, shape, o.chunk, opts and opts.level or self.level, block) end)
end

--- An empty group, with those above it.
---@param name string
function Writer:group(name) guarded(self, self._w.group, self._w, checked_name(self, name, 2)) end

--- Attributes of what was put under a path ('/' is the file itself): numbers, booleans, strings, lists of strings,
--- small tensors.
---@param name string
---@param list table
function Writer:attributes(name, list)
  guarded(self, put_attributes, self, name == '/' and '/' or checked_name(self, name, 2), list, 3)
end

--- Completes the file and gives it its name.
function Writer:close() self._w:commit() end
function Writer:abort() self._w:abort() end

local SAVE = { level = { 0, 'integer >= 0' }, attributes = { nil, 'table' } }

--- A nested table as a file; an older one stays until the new one is whole. level = 1..9 packs, attributes = { path =
--- { name = value } }.
---@param path string
---@param value table
---@param opts? table
function M.save(path, value, opts)
  local o = check.opts('save', opts, SAVE, 4)
  if type(value) ~= 'table' or value[1] ~= nil or getmetatable(value) ~= nil then
    local what = tensor.is(value) and 'a tensor' or type(value) == 'table' and value[1] ~= nil and 'a list'
      or check.show(value)
    error(('save: value is %s; an HDF5 file holds a table whose keys are names'):format(what), 3)
  end
  local w = M.create(path, { level = o.level })
  guarded(w, put, w, '/', value, o, {}, 4)
  local places = {}
  for p in pairs(o.attributes or {}) do places[#places + 1] = p end
  table.sort(places)
  for _, p in ipairs(places) do
    guarded(w, put_attributes, w, p == '/' and '/' or checked_name(w, p, 3), o.attributes[p], 4)
  end
  w:close()
end

return M
