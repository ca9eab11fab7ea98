-- parameters.lua - the parameters of a model: named or numbered, free, fixed, tied, bounded.
--
-- Holds the way from the vector of free values that a solver moves to the table that a model reads, and the checks of
-- p0, fixed, tied and bounds.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

local INF = math.huge

---@class mascon.Parameters
---@field keys any[] names or positions of all parameters, in order
---@field free any[] keys of those that are fitted
---@field start number[] their first values
---@field low number[]
---@field high number[]
---@field values table values of all that are not tied, by key
---@field tied table functions by key
local Parameters = {}
Parameters.__index = Parameters

--- How a key is written in reports: its name, or p1, p2, ...
function M.label(key) return type(key) == 'number' and 'p' .. key or key end

local function number(fname, what, key, v)
  if tensor.is(v) and v:numel() == 1 then v = v:item() end
  if type(v) ~= 'number' or v ~= v or v == INF or v == -INF then
    error(('%s: %s of %s is %s; give a finite number'):format(fname, what, M.label(key), check.show(v)), 3)
  end
  return v
end

--- All keys, sorted by name or in the order of `names`; positions count from 1.
local function keys_of(fname, o)
  local p0, keys, seen = o.p0, {}, {}
  if tensor.is(p0) then p0 = p0:totable() end
  if type(p0) ~= 'table' then
    error(('%s: option p0 is %s; give a start for every parameter, { a = 1, b = 0 } say'):format(fname, check.show(p0)),
      3)
  end
  local positional = p0[1] ~= nil
  local function add(key)
    if type(key) ~= (positional and 'number' or 'string') then
      error(('%s: parameter %s among %s ones; use names or positions throughout'):format(fname, check.show(key),
        positional and 'numbered' or 'named'), 4)
    end
    if not seen[key] then
      seen[key] = true
      keys[#keys + 1] = key
    end
  end
  for key in pairs(p0) do add(key) end
  for key, v in pairs(o.fixed or {}) do
    if positional then add(v) elseif type(key) == 'string' then add(key) else add(v) end
  end
  for key in pairs(o.tied or {}) do add(key) end
  table.sort(keys)
  if positional then
    for i, key in ipairs(keys) do if key ~= i then error(('%s: parameter p%d has no start'):format(fname, i), 3) end end
  end
  if o.names then
    local place = {}
    for i, name in ipairs(o.names) do place[name] = i end
    for _, key in ipairs(keys) do
      if not place[key] then error(('%s: option names leaves out %s'):format(fname, M.label(key)), 3) end
    end
    if #o.names ~= #keys then
      error(('%s: option names has %d names, there are %d parameters'):format(fname, #o.names, #keys), 3)
    end
    table.sort(keys, function(a, b) return place[a] < place[b] end)
  end
  return keys, p0, positional
end

local function known(fname, what, key, seen)
  if seen[key] then return end
  local near = type(key) == 'string' and check.nearest(key, seen)
  error(('%s: option %s has %s, which is no parameter%s'):format(fname, what, check.show(key),
    near and ('; did you mean %q?'):format(near) or ''), 4)
end

--- Bounds of a key: named parameters have { low, high } under their name, numbered ones lists as in least_squares.
local function bounds_of(fname, o, keys, positional)
  local seen, found = {}, {}
  for i, key in ipairs(keys) do seen[key] = i end
  local b = o.bounds
  if b == nil then return found end
  if type(b) ~= 'table' then
    error(('%s: option bounds is %s; give { a = { low, high } }'):format(fname, check.show(b)), 3)
  end
  if positional then
    local list = require 'mascon.optim.fit.least_squares'.list
    local low, high = list(fname, 'the lower bound', b[1], #keys), list(fname, 'the upper bound', b[2], #keys)
    for i, key in ipairs(keys) do found[key] = { low[i], high[i] } end
    return found
  end
  for key, pair in pairs(b) do
    known(fname, 'bounds', key, seen)
    if type(pair) ~= 'table' then
      error(('%s: the bounds of %s are %s; give { low, high }'):format(fname, key, check.show(pair)), 3)
    end
    found[key] = { pair[1] or -INF, pair[2] or INF }
  end
  return found
end

--- The parameters of options p0, names, fixed, tied, bounds.
---@return mascon.Parameters
function M.new(fname, o)
  local keys, p0, positional = keys_of(fname, o)
  local seen, fixed, values = {}, {}, {}
  for _, key in ipairs(keys) do seen[key] = key end
  for key, v in pairs(o.fixed or {}) do
    if positional or type(key) == 'number' then
      known(fname, 'fixed', v, seen)
      fixed[v] = true
    else
      fixed[key], values[key] = true, number(fname, 'the fixed value', key, v)
    end
  end
  local tied = o.tied or {}
  for key, f in pairs(tied) do
    known(fname, 'tied', key, seen)
    if type(f) ~= 'function' then
      error(('%s: %s is tied to %s; give a function of the parameters'):format(fname, M.label(key), check.show(f)), 3)
    end
    if fixed[key] then error(('%s: %s is both fixed and tied'):format(fname, M.label(key)), 3) end
  end
  local bounds = bounds_of(fname, o, keys, positional)
  local self = { fname = fname, keys = keys, positional = positional, values = values, tied = tied, fixed = fixed,
    free = {}, start = {}, low = {}, high = {} }
  for _, key in ipairs(keys) do
    if not tied[key] then
      if values[key] == nil then
        if p0[key] == nil then error(('%s: %s has no start; give it in p0'):format(fname, M.label(key)), 3) end
        values[key] = number(fname, 'the start', key, p0[key])
      end
      if not fixed[key] then
        local k, b = #self.free + 1, bounds[key] or { -INF, INF }
        self.free[k], self.start[k], self.low[k], self.high[k] = key, values[key], b[1], b[2]
        if not (b[1] < b[2]) then
          error(('%s: the bounds of %s are %g and %g; the lower one must be below the upper one'):format(fname,
            M.label(key), b[1], b[2]), 3)
        end
        if not (values[key] >= b[1] and values[key] <= b[2]) then
          error(('%s: the start of %s is %g, outside of its bounds %g and %g; start inside'):format(fname, M.label(key),
            values[key], b[1], b[2]), 3)
        end
      end
    end
  end
  if #self.free == 0 then error(('%s: no parameter is free; fix fewer'):format(fname), 3) end
  return setmetatable(self, Parameters)
end

--- The table a model reads, from free values (numbers; while derivatives are recorded 0-d tensors, or a value for each
--- point).
function Parameters:table(free)
  local p, one = {}, free[1]
  for key, v in pairs(self.values) do p[key] = v end
  for k, key in ipairs(self.free) do p[key] = free[k] end
  for _, key in ipairs(self.keys) do
    local tie = self.tied[key]
    if tie then
      local v = tie(p)
      local fits = tensor.is(v) and (v:numel() == 1 or tensor.is(one) and v.shape == one.shape)
      if type(v) ~= 'number' and not fits then
        error(('%s: the tie of %s gave %s; it must give a number'):format(self.fname, M.label(key), check.show(v)), 3)
      end
      p[key] = v
    end
  end
  return p
end

--- The same with one free parameter fixed at a value; the others start at `free`.
function Parameters:without(index, value, free)
  local other = { fname = self.fname, keys = self.keys, positional = self.positional, tied = self.tied,
    fixed = self.fixed, values = {}, free = {}, start = {}, low = {}, high = {} }
  for key, v in pairs(self.values) do other.values[key] = v end
  for k, key in ipairs(self.free) do
    if k == index then
      other.values[key] = value
    else
      local n = #other.free + 1
      other.free[n], other.start[n], other.low[n], other.high[n] = key, free[k], self.low[k], self.high[k]
    end
  end
  return setmetatable(other, Parameters)
end

--- Position of a key among the free parameters.
function Parameters:index(fname, key)
  for k, name in ipairs(self.free) do if name == key then return k end end
  local what = self.fixed[key] and 'is fixed' or self.tied[key] and 'is tied' or 'is no parameter'
  error(('%s: %s %s; the free ones are %s'):format(fname, check.show(key), what, table.concat(self.free, ', ')), 3)
end

return M
