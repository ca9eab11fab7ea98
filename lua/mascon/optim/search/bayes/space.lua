-- space.lua - what a search may vary: ranges, logarithmic ranges, whole numbers, as points of the unit cube.
--
-- Holds the maps between values and the cube, and the forms of points (tensors for a list of ranges, tables for named
-- ones).
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local error = check.error
local M = {}

local RANGE = { log = { false, 'bool' }, integer = { false, 'bool' }, low = { nil, 'number' },
  high = { nil, 'number' } }

---@class mascon.Space
---@field n integer
---@field keys any[]
---@field named boolean
local Space = {}
Space.__index = Space

--- One range { low, high, log = , integer = }; low and high may stand under their names.
local function range(fname, key, given)
  local r = given
  if type(given) == 'table' then r = { given[1] or given.low, given[2] or given.high } end
  if type(r) ~= 'table' or type(r[1]) ~= 'number' or type(r[2]) ~= 'number'
    or not (r[1] < r[2] and r[1] > -math.huge and r[2] < math.huge) then
    error(('%s: the range of %s is %s; give { low, high }, finite, low below high'):format(fname, tostring(key),
      type(r) == 'table' and ('{ %s, %s }'):format(tostring(r[1]), tostring(r[2])) or check.show(r)), 4)
  end
  local named = {}
  for k, v in pairs(given) do if k ~= 1 and k ~= 2 then named[k] = v end end
  local o = check.opts(fname, named, RANGE, 5)
  if o.log and r[1] <= 0 then
    error(('%s: the range of %s starts at %g; a logarithmic one starts above 0'):format(fname, tostring(key), r[1]), 4)
  end
  if o.integer and (r[1] % 1 ~= 0 or r[2] % 1 ~= 0) then
    error(('%s: the range of %s is one of whole numbers; its ends are %g and %g'):format(fname,
      tostring(key), r[1], r[2]), 4)
  end
  return { r[1], r[2], log = o.log, integer = o.integer }
end

--- A space from a list of ranges, or a table of them by name.
---@return mascon.Space
function M.new(fname, spec)
  if type(spec) ~= 'table' or next(spec) == nil then
    error(('%s: the space is %s; give a range { low, high } for each variable'):format(fname, check.show(spec)), 3)
  end
  local keys, ranges = {}, {}
  for key in pairs(spec) do keys[#keys + 1] = key end
  local named = type(keys[1]) == 'string'
  for _, key in ipairs(keys) do
    if (type(key) == 'string') ~= named then error(('%s: the space mixes names and positions'):format(fname), 3) end
  end
  table.sort(keys)
  for i, key in ipairs(keys) do ranges[i] = range(fname, key, spec[key]) end
  return setmetatable({ n = #keys, keys = keys, ranges = ranges, named = named }, Space)
end

--- The space as plain tables that JSON can hold, from which new() makes it again.
function Space:plain()
  local spec = {}
  for i, key in ipairs(self.keys) do
    local r = self.ranges[i]
    spec[key] = { low = r[1], high = r[2], log = r.log or nil, integer = r.integer or nil }
  end
  return spec
end

local function value(r, u)
  local low, high = r[1], r[2]
  if r.integer then -- each number has an equal part of the range
    if r.log then
      local v = math.exp(math.log(low - 0.5) + u * (math.log(high + 0.5) - math.log(low - 0.5)))
      return math.max(low, math.min(high, math.floor(v + 0.5)))
    end
    return math.min(high, low + math.floor(u * (high - low + 1)))
  end
  if r.log then return math.max(low, math.min(high, math.exp(math.log(low) + u * (math.log(high) - math.log(low))))) end
  return low + u * (high - low)
end

local function unit(r, v)
  local low, high = r[1], r[2]
  if r.integer then
    if r.log then return (math.log(v) - math.log(low - 0.5)) / (math.log(high + 0.5) - math.log(low - 0.5)) end
    return (v - low + 0.5) / (high - low + 1)
  end
  if r.log then return (math.log(v) - math.log(low)) / (math.log(high) - math.log(low)) end
  return (v - low) / (high - low)
end

--- Values of a point of the cube, as a list.
function Space:values(u)
  local v = {}
  for i, r in ipairs(self.ranges) do v[i] = value(r, u[i]) end
  return v
end

--- The point of the cube for a list of values; whole numbers stand in the middle of their part.
function Space:cube(v)
  local u = {}
  for i, r in ipairs(self.ranges) do u[i] = math.max(0, math.min(1, unit(r, v[i]))) end
  return u
end

--- A point as the user sees it: a tensor [n], or a table by name.
function Space:point(values)
  if not self.named then return op.from_table(values) end
  local p = {}
  for i, key in ipairs(self.keys) do p[key] = values[i] end
  return p
end

--- Several points: a tensor [k, n], or a list of tables.
function Space:points(list)
  if not self.named then return op.from_table(list) end
  local out = {}
  for i, v in ipairs(list) do out[i] = self:point(v) end
  return out
end

--- Lists of values from what the user tells: points as points() gives them, or one point.
function Space:read(fname, x)
  local rows
  if tensor.is(x) then
    if x.ndim == 1 then x = x:expand_dims(1) end
    if x.ndim ~= 2 or x.shape[2] ~= self.n then
      error(('%s: the points are %s; give [k, %d]'):format(fname, tensor.describe(x), self.n), 3)
    end
    rows = x:to('f64'):totable()
  elseif type(x) == 'table' then
    rows = (x[1] == nil or type(x[1]) == 'number') and { x } or x
  else error(('%s: the points are %s; give what ask gave'):format(fname, check.show(x)), 3) end
  local out = {}
  for k, row in ipairs(rows) do
    if tensor.is(row) then row = row:totable() end
    local v = {}
    for i, key in ipairs(self.keys) do
      local r, a = self.ranges[i], row[self.named and key or i]
      if type(a) ~= 'number' or not (a >= r[1] and a <= r[2]) then
        error(('%s: %s of point %d is %s; it must lie between %g and %g'):format(fname, tostring(key), k,
          check.show(a), r[1], r[2]), 3)
      end
      v[i] = a
    end
    out[k] = v
  end
  return out
end

return M
