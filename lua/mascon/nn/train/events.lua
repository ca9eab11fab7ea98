-- events.lua - numbers of a run as an event file of TensorBoard.
--
-- A file is a row of records: length (u64), masked CRC-32C of it, data, masked CRC-32C of the data; the data are
-- protocol buffers (Event, Summary). Holds that form, of numbers alone.
local bit = require 'bit'
local error = require('mascon.core.check').error
local check = require 'mascon.core.check'
local band, bor, bxor, rshift, lshift, bnot = bit.band, bit.bor, bit.bxor, bit.rshift, bit.lshift, bit.bnot
local M = {}

-- ---------------------------------------------------------------- checksums

local TABLE
local function crc_table()
  if TABLE then return TABLE end
  TABLE = {}
  for i = 0, 255 do
    local c = i
    for _ = 1, 8 do c = band(c, 1) == 1 and bxor(rshift(c, 1), 0x82f63b78) or rshift(c, 1) end
    TABLE[i] = c
  end
  return TABLE
end

--- CRC-32C (Castagnoli) of a text, as a number from 0 on.
---     mc.nn.events.crc32c '123456789'  --> 3808858755
---@param text string
---@return integer
--- Source: RFC 3720, appendix B.4.
function M.crc32c(text)
  check.arg('nn.events.crc32c', 'text', text, 'string', 3)
  local t, c = crc_table(), bnot(0)
  for i = 1, #text do c = bxor(t[band(bxor(c, text:byte(i)), 255)], rshift(c, 8)) end
  return bnot(c) % 2 ^ 32
end

local function little(v, bytes)
  local out = {}
  for i = 1, bytes do
    out[i] = string.char(v % 256)
    v = math.floor(v / 256)
  end
  return table.concat(out)
end

local function masked(text)
  local c = M.crc32c(text)
  local turned = bor(rshift(c, 15), lshift(c, 17)) % 2 ^ 32
  return little((turned + 0xa282ead8) % 2 ^ 32, 4)
end

local function record(data)
  local length = little(#data, 8)
  return length .. masked(length) .. data .. masked(data)
end

-- ---------------------------------------------------------------- protocol buffers

local function varint(v)
  local out = {}
  repeat
    local low = v % 128
    v = math.floor(v / 128)
    out[#out + 1] = string.char(v > 0 and low + 128 or low)
  until v == 0
  return table.concat(out)
end

local function whole(field, v) return varint(field * 8) .. varint(v) end
local function bytes(field, s) return varint(field * 8 + 2) .. varint(#s) .. s end

--- A number as IEEE 754 bytes, little-endian: of 4 or 8 bytes. Halves round to even.
local function float_bytes(v, size)
  local exponents, digits = size == 8 and 11 or 8, size == 8 and 52 or 23
  local bias = 2 ^ (exponents - 1) - 1
  local sign = (v < 0 or v == 0 and 1 / v < 0) and 1 or 0
  local e, m
  v = math.abs(v)
  if v ~= v then e, m = 2 * bias + 1, 2 ^ (digits - 1)
  elseif v == math.huge then e, m = 2 * bias + 1, 0
  elseif v == 0 then e, m = 0, 0
  else
    local _, power = math.frexp(v)
    e = math.max(power - 1 + bias, 1)
    m = v / 2 ^ (e - bias) * 2 ^ digits -- below 2^digits where it is subnormal
    local floor = math.floor(m)
    local rest = m - floor
    m = (rest > 0.5 or rest == 0.5 and floor % 2 == 1) and floor + 1 or floor
    if m < 2 ^ digits then e = 0 else m = m - 2 ^ digits end
    if m == 2 ^ digits then e, m = e + 1, 0 end -- rounded up to the next power
    if e == 0 and m == 2 ^ digits then e, m = 1, 0 end
    if e > 2 * bias then e, m = 2 * bias + 1, 0 end
  end
  local high = sign * 2 ^ exponents + e -- above the digits
  local per = 2 ^ (digits % 8) -- digits of the byte that both share
  local low = m % 2 ^ (digits - digits % 8)
  return little(low, (digits - digits % 8) / 8) .. little(high * per + (m - low) / 2 ^ (digits - digits % 8),
    size - (digits - digits % 8) / 8)
end
local function fixed(field, size, v) return varint(field * 8 + (size == 8 and 1 or 5)) .. float_bytes(v, size) end

--- Event: wall_time = 1 (double), step = 2, file_version = 3, summary = 5, session_log = 7.
local function event(time, step, rest) return record(fixed(1, 8, time) .. whole(2, step) .. rest) end

-- ---------------------------------------------------------------- a file

---@class mascon.Events
local Events = {}
Events.__index = Events
M.methods = Events

local function put(self, data)
  local ok, why = self.stream:write(data)
  if ok then ok, why = self.stream:flush() end
  if not ok then error(('nn.events: %s cannot be written: %s'):format(self.path, tostring(why)), 3) end
end

local count = 0

--- Opens a new event file in a folder, which TensorBoard shows: tensorboard --logdir FOLDER.
---
--- Each start of a run has a file of its own. first: the number of its first step; what other files of the folder hold
--- from there on is of steps that are made again, and TensorBoard leaves it out.
---@param folder string
---@param first? integer (0)
---@return mascon.Events
--- Errors: a folder that cannot be written.
---     type(mc.nn.events.open)  --> function
function M.open(folder, first)
  check.arg('nn.events.open', 'folder', folder, 'string', 3)
  first = check.arg('nn.events.open', 'first', first or 0, 'integer >= 0', 3)
  local time = os.time()
  local path, probe
  repeat -- several in one second
    count = count + 1
    path = ('%s/events.out.tfevents.%d.%03d.mascon'):format(folder, time, count)
    probe = io.open(path, 'rb')
    if probe then probe:close() end
  until not probe
  local stream, why = io.open(path, 'wb')
  if not stream then error(('nn.events.open: %s'):format(tostring(why)), 2) end
  local self = setmetatable({ path = path, stream = stream }, Events)
  put(self, event(time, 0, bytes(3, 'brain.Event:2')))
  if first > 0 then put(self, event(time, first, bytes(7, whole(1, 1)))) end -- SessionLog: START
  return self
end

--- Writes numbers of one step: name = number; names with slashes are groups.
---@param step integer
---@param values table
function Events:scalars(step, values)
  check.arg('events:scalars', 'step', step, 'integer >= 0', 3)
  check.arg('events:scalars', 'values', values, 'table', 3)
  local names, summary = {}, {}
  for k in pairs(values) do names[#names + 1] = k end
  table.sort(names)
  for i, k in ipairs(names) do
    check.arg('events:scalars', tostring(k), values[k], 'number', 3)
    summary[i] = bytes(1, bytes(1, tostring(k)) .. fixed(2, 4, values[k])) -- Value: tag = 1, simple_value = 2
  end
  put(self, event(os.time(), step, bytes(5, table.concat(summary))))
end

--- Ends the file.
function Events:close()
  if self.stream then self.stream:close() end
  self.stream = nil
end

return M
