-- describe.lua - modules as text: the tree of parts with their parameters, and what one call does.
local tensor = require 'mascon.core.tensor'
local dtypes = require('mascon.gen.ops').dtypes
local parts = require 'mascon.nn.parts'
local M = {}

local BYTES = {}
for _, d in ipairs(dtypes) do BYTES[d[1]] = d.size end

local function size_of(shape)
  local n = 1
  for _, k in ipairs(shape) do n = n * k end
  return n
end

local UNITS = { 'bytes', 'KiB', 'MiB', 'GiB', 'TiB' }
local function in_bytes(n)
  local k = 1
  while n >= 1024 and k < #UNITS do n, k = n / 1024, k + 1 end
  return k == 1 and ('%d %s'):format(n, UNITS[k]) or ('%.1f %s'):format(n, UNITS[k])
end
M.in_bytes = in_bytes

local function operations(n)
  for _, u in ipairs { { 1e12, 'T' }, { 1e9, 'G' }, { 1e6, 'M' }, { 1e3, 'k' } } do
    if n >= u[1] then return ('%.2f %s'):format(n / u[1], u[2]) end
  end
  return ('%d'):format(n)
end

--- Parameters of a module itself: elements, bytes, frozen elements; `seen` are slots that others hold.
local function own(m, seen)
  local count, bytes, frozen = 0, 0, 0
  for _, n in ipairs(rawget(m, '_order')) do
    local s = rawget(m, '_slots')[n]
    if s and not seen[s] then
      seen[s] = true
      local size = size_of(s.shape)
      bytes = bytes + size * BYTES[s.dtype]
      if not s.buffer then
        count = count + size
        if not s.trainable then frozen = frozen + size end
      end
    end
  end
  return count, bytes, frozen
end

local function title(m)
  local class = rawget(m, '_class')
  local words = class.describe and class.describe(m)
  return class._name .. (words and words ~= '' and '(' .. words .. ')' or '')
end

--- Rows { depth, name, module, count, bytes, frozen } of all parts.
local function rows_of(self)
  local rows, seen = {}, {}
  self:each(function(m, name)
    local _, dots = name:gsub('%.', '')
    local count, bytes, frozen = own(m, seen)
    rows[#rows + 1] = { name == '' and 0 or dots + 1, name:match '[^.]*$', m, count, bytes, frozen }
  end)
  return rows
end

local function total(rows)
  local count, bytes, frozen = 0, 0, 0
  for _, r in ipairs(rows) do count, bytes, frozen = count + r[4], bytes + r[5], frozen + r[6] end
  return ('%d parameters%s, %s'):format(count, frozen > 0 and (' (%d frozen)'):format(frozen) or '', in_bytes(bytes))
end

--- Lines of columns, padded.
local function columns(lines, right)
  local widths = {}
  for _, l in ipairs(lines) do
    for i, c in ipairs(l) do widths[i] = math.max(widths[i] or 0, #c) end
  end
  local out = {}
  for k, l in ipairs(lines) do
    local cells = {}
    for i, c in ipairs(l) do
      local pad = (' '):rep(widths[i] - #c)
      cells[i] = right[i] and pad .. c or c .. pad
    end
    out[k] = (table.concat(cells, '  '):gsub('%s+$', ''))
  end
  return table.concat(out, '\n')
end

--- The tree of parts: tostring(module).
function M.tree(self)
  local rows, lines = rows_of(self), {}
  if #rows == 1 then return ('%s: %s'):format(title(self), total(rows)) end
  for _, r in ipairs(rows) do
    if r[1] > 0 then
      lines[#lines + 1] = { ('  '):rep(r[1]) .. r[2], title(r[3]), r[4] > 0 and ('%d'):format(r[4]) or '' }
    end
  end
  return ('%s: %s\n%s'):format(title(self), total(rows), columns(lines, { [3] = true }))
end

--- What one call of the module does, part by part.
function M.summary(self, ...)
  local rows, results, removers = rows_of(self), {}, {}
  for _, r in ipairs(rows) do
    local m = r[3]
    local class = rawget(m, '_class')
    removers[#removers + 1] = m:hook(function(_, y, ...)
      local t = type(y) == 'table' and not tensor.is(y) and y[1] or y
      local was = results[m] or { 0, 0, '' }
      if tensor.is(t) then
        was[1] = was[1] + t:numel() * BYTES[t.dtype]
        was[3] = ('%s[%s]'):format(t.dtype, table.concat(t.shape, ','))
        if class.operations then was[2] = was[2] + class.operations(m, t, ...) end
      end
      results[m] = was
    end)
  end
  local args, count = { ... }, select('#', ...)
  local modes = {}
  self:each(function(m) modes[m] = rawget(m, '_training') end)
  self:eval()
  local ok, why = pcall(tensor.scope, function() self(unpack(args, 1, count)) end)
  for m, on in pairs(modes) do rawset(m, '_training', on) end
  for _, remove in ipairs(removers) do remove() end
  if not ok then error(why, 0) end
  local lines, all, activations = { { 'part', 'module', 'result', 'parameters', 'operations' } }, 0, 0
  for _, r in ipairs(rows) do
    local res = results[r[3]] or { 0, 0, rawget(r[3], '_class').holds_only and '' or 'not called' }
    all = all + res[2]
    if parts.single(r[3]) then activations = activations + res[1] end
    lines[#lines + 1] = { ('  '):rep(r[1]) .. r[2], title(r[3]), res[3], r[4] > 0 and ('%d'):format(r[4]) or '',
      res[2] > 0 and operations(res[2]) or '' }
  end
  return ('%s\n%s, results of parts %s, %s operations of products a call'):format(
    columns(lines, { [4] = true, [5] = true }), total(rows), in_bytes(activations), operations(all))
end

return M
