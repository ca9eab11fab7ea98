-- leaf.lua - values of a configuration: their kinds and ranges, and the check of one.
--
-- A leaf is { kind, default, low, high, above, below, choices }: low and high are inclusive, above and below exclusive;
-- `true` as default of other kinds than bool: required. Schemas are tables of leaves by key.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local place = require 'workflows.rollout.place'
local error = check.error
local M = {}

M.UNUSED = setmetatable({}, { __tostring = function() return 'unused' end })

--- Keys that are accepted and have no effect.
---@param text string names with spaces between them
function M.unused(text)
  local keys = {}
  for name in text:gmatch '%S+' do keys[name] = M.UNUSED end
  return keys
end

local function ranged(kind, default, range)
  range = range or {}
  return { kind, default, low = range.low, high = range.high, above = range.above, below = range.below }
end

function M.int(default, low, high) return { 'integer', default, low = low, high = high } end
function M.odd(default, low, high) return { 'odd', default, low = low, high = high } end
function M.num(default, range) return ranged('number', default, range) end
--- What a leaf made by `one` or `among` may be.
function M.choices(leaf) return type(leaf.choices) == 'function' and leaf.choices() or leaf.choices end
--- Bytes, as a number or a text such as 64MiB.
function M.size() return { 'size', nil } end
function M.flag(default) return { 'bool', default } end
function M.text(default) return { 'string', default } end
function M.one(default, ...) return { 'choice', default, choices = { ... } } end
--- One of a list that stands elsewhere, or of what a function returns when a value is checked. more: words of the
--- message on other ways to get a value.
function M.among(default, choices, more) return { 'choice', default, choices = choices, more = more } end
--- [lowest, highest], both in the range.
function M.pair(default, range) return ranged('pair', default, range) end

M.MOST = 10000 -- things of a field that are made one after the other

--- How many of something: a whole number up to M.MOST.
function M.some_of(default, low) return M.int(default, low, M.MOST) end
--- The same, or [lowest, highest].
function M.count(default, low) return { 'count', default, low = low, high = M.MOST } end
--- A list of numbers in the range, one at least.
function M.numbers(default, range) return ranged('numbers', default, range) end
--- A list of some of the words, one at least.
function M.some(default, ...) return { 'words', default, choices = { ... } } end

--- The leaf that a plain default stands for.
---@param v any
function M.of(v)
  if type(v) == 'boolean' then return M.flag(v) end
  if type(v) == 'number' then return M.num(v) end
  return { type(v) == 'string' and 'string' or 'list', v }
end

--- Whether a node of a schema is a leaf.
function M.is(node) return node == M.UNUSED or type(node[1]) == 'string' end

local WORDS = { size = 'bytes, or a size such as 64MiB', integer = 'a whole number', odd = 'an odd whole number',
  number = 'a number',
  bool = 'true or false', string = 'a text', device = 'cpu, auto, gpu, cuda:0 or the like',
  list = 'a list', map = 'names with values', pair = '[lowest, highest]',
  count = 'a whole number or [lowest, highest]', numbers = 'a list of numbers' }

local function number(v) return type(v) == 'number' and v == v and math.abs(v) < math.huge end
local function whole(v) return number(v) and v % 1 == 0 end
local function list_of(v, is)
  if type(v) ~= 'table' or #v == 0 then return false end
  for _, e in ipairs(v) do if not is(e) then return false end end
  return true
end
local function pair(v, is) return list_of(v, is) and #v == 2 and v[1] <= v[2] end

local KINDS = {
  integer = whole, odd = function(v) return whole(v) and v % 2 == 1 end, number = number,
  bool = function(v) return type(v) == 'boolean' end,
  string = function(v) return type(v) == 'string' end, device = place.is_name,
  list = function(v) return type(v) == 'table' and (v[1] ~= nil or next(v) == nil) end,
  size = function(v) return mc.ceiling.bytes(v) ~= nil end,
  map = function(v) return type(v) == 'table' and v[1] == nil end,
  pair = function(v) return pair(v, number) end,
  count = function(v) return whole(v) or pair(v, whole) end,
  numbers = function(v) return list_of(v, number) end,
}

local function refuse_choice(path, list, v, level, more)
  local near = type(v) == 'string' and check.nearest(v, list)
  error(('%s is %s; choose %s%s%s'):format(path, check.show(v), table.concat(list, ', '), more or '',
    near and (' (did you mean %s?)'):format(near) or ''), level)
end

local function member(list, v)
  for _, c in ipairs(list) do if c == v then return true end end
end

local function refuse_range(path, leaf, v)
  local low, high, above, below = leaf.low, leaf.high, leaf.above, leaf.below
  if not (low and v < low or high and v > high or above and v <= above or below and v >= below) then return end
  local from = low and ('from %.16g'):format(low) or above and ('above %g'):format(above) or ''
  local to = high and (low and ' to %.16g' or ' and at most %.16g'):format(high)
    or below and (' and below %g'):format(below) or ''
  error(('%s is %.16g; it must be %s%s'):format(path, v, from, to), 0)
end

--- Refuses a value that is none of its kind or is out of its range. path: what stands before it in the message.
---@param path string
---@param leaf table
---@param v any
function M.check(path, leaf, v)
  if leaf[1] == 'choice' then
    local choices = M.choices(leaf)
    if not member(choices, v) then refuse_choice(path, choices, v, 0, leaf.more) end
    return
  end
  if leaf[1] == 'words' then
    if type(v) ~= 'table' or #v == 0 then refuse_choice(path, leaf.choices, v, 0) end
    for _, e in ipairs(v) do if not member(leaf.choices, e) then refuse_choice(path, leaf.choices, e, 0) end end
    return
  end
  if not KINDS[leaf[1]](v) then
    error(('%s is %s; it must be %s'):format(path, check.show(v), WORDS[leaf[1]]), 0)
  end
  for _, e in ipairs(type(v) == 'table' and v or { v }) do
    if type(e) == 'number' then refuse_range(path, leaf, e) end
  end
end

return M
