-- devices.lua - the devices of this machine, and why a kind is not there.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local op = require 'mascon.core.op'
local cards = require 'mascon.core.cards'
local machine = require 'mascon.base.machine'
local tensor = require 'mascon.core.tensor'
local C = lib.C

local M = {}

--- Devices as mc.devices() gives them, and why a kind has none or a device cannot be used, by its name.
---@return table[], table<string, string>
function M.list()
  local out, missing = { { name = 'cpu', kind = 'cpu', title = machine.processor(), f64 = true, processor = true } }, {}
  local text, words, numbers = ffi.new 'char[128]', ffi.new 'char[512]', ffi.new 'int64_t[3]'
  for _, kind in ipairs(cards) do
    local n = C.mc_device_count(kind)
    if n <= 0 then missing[kind] = n < 0 and lib.text(C.mc_errmsg()) or 'its driver has no device' end
    for i = 0, n - 1 do
      local name = ('%s:%d'):format(kind, i)
      local number = C.mc_device_find(name)
      if number < 0 then missing[name] = lib.text(C.mc_errmsg())
      elseif C.mc_device_about(tensor.device_number('devices', name, 2), text, 128, numbers) == 0 then
        C.mc_device_words(number, words, 512)
        out[#out + 1] = {
          name = name, kind = kind, title = ffi.string(text), memory = numbers[0] > 0 and tonumber(numbers[0]) or nil,
          f64 = numbers[1] ~= 0, processor = numbers[2] ~= 0, about = ffi.string(words),
        }
      end
    end
  end
  return out, missing
end

--- Calls of operations whose operands went through the host, by name.
---@return table<string, integer>
function M.through_host()
  local out = {}
  for name, row in pairs(op.rows) do
    local n = row.id >= 0 and tonumber(C.mc_through_host(row.id)) or 0
    if n > 0 then out[name] = n end
  end
  return out
end

--- The same as a line for people.
---@return string
function M.detours()
  local words = {}
  for name, n in pairs(M.through_host()) do words[#words + 1] = ('%s (%d)'):format(name, n) end
  table.sort(words)
  return ('mascon: calls without a form on the device that auto took went through the host: %s\n'):format(
    table.concat(words, ', '))
end

--- Devices whose memory this process has used, by name, in words: what the bits of a result can depend on.
---@return table<string, string>
function M.used()
  local out, number = {}, 1
  local text, words, numbers = ffi.new 'char[128]', ffi.new 'char[512]', ffi.new 'int64_t[3]'
  while C.mc_device_about(number, text, 128, numbers) == 0 do
    if lib.memory_stats(number).allocations > 0 then
      C.mc_device_words(number, words, 512)
      local about = ffi.string(words)
      out[tensor.device_name(number)] = ffi.string(text) .. (about ~= '' and ', ' .. about or '')
    end
    number = number + 1
  end
  return out
end

return M
