-- handles.lua - compilers, compiled code and the folder of the cache, as plain Lua values.
--
-- Holds the handles of running compilers (killed with their folder by the C release) and of opened code.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local C = lib.C

local M = {}

local strings, ints, longs = ffi.typeof 'const char *[?]', ffi.typeof 'int32_t[?]', ffi.typeof 'int64_t[?]'
local path_t = ffi.typeof 'char[1024]'

-- ---------------------------------------------------------------- folders and files

--- A new private folder for temporary files, or nil and why not.
function M.temporary()
  local path_room = path_t()
  if C.mc_folder_temporary(path_room, 1024) ~= 0 then return nil, lib.message() end
  return ffi.string(path_room)
end

--- Removes a folder and the files in it.
function M.remove(path) C.mc_folder_remove(path) end

--- Makes sure that a folder is there and ours alone: true, or nil and why not.
function M.private(path)
  if C.mc_folder_private(path) ~= 0 then return nil, lib.message() end
  return true
end

--- Names in a folder, sorted; nil when it cannot be read.
function M.list(path)
  local room = 4096
  while true do
    local buffer = ffi.new('char[?]', room)
    local n = tonumber(C.mc_folder_list(path, buffer, room))
    if n < 0 then return nil end
    if n <= room then
      local names = {}
      for name in ffi.string(buffer, n):gmatch '[^\n]+' do names[#names + 1] = name end
      table.sort(names)
      return names
    end
    room = 2 * n
  end
end

--- { bytes, changed (seconds), ours, number } of a file, or nil.
function M.facts(path)
  local facts = ffi.new 'double[4]'
  if C.mc_file_facts(path, facts) ~= 0 then return nil, lib.message() end
  return { bytes = facts[0], changed = facts[1], ours = facts[2] ~= 0, number = facts[3] }
end

--- The file was used now.
function M.touch(path) return C.mc_file_touch(path) == 0 end

--- Writes a new file that is closed to other users; nil and why not.
function M.keep(path, bytes)
  if C.mc_file_private(path, bytes, #bytes) ~= 0 then return nil, lib.message() end
  return true
end

--- Where a program lies, links resolved, or nil and advice.
function M.program(name)
  local path_room = path_t()
  if C.mc_file_program(name, path_room, 1024) ~= 0 then return nil, lib.message() end
  return ffi.string(path_room)
end

-- ---------------------------------------------------------------- the vector machine

--- Bytes that its registers use at a time, changed when `bytes` is given: those before.
function M.vm_cache(bytes) return tonumber(C.mc_vm_cache(bytes or 0)) end

-- ---------------------------------------------------------------- compilers

--- Starts a program. words: its name and arguments; folder: private, holds its log and goes with the handle.
---@return cdata|nil handle
---@return string|nil why not
function M.start(words, folder, seconds)
  local argv = strings(#words + 1)
  for i, w in ipairs(words) do argv[i - 1] = w end
  local c = C.mc_compiler_start(argv, folder, seconds)
  if c == nil then return nil, lib.message() end
  return ffi.gc(c, C.mc_compiler_free)
end

local STATE = { [0] = 'running', 'done', 'failed', 'timeout' }
--- 'running', 'done', 'failed' or 'timeout'.
function M.poll(handle) return STATE[C.mc_compiler_poll(handle)] end

function M.finish(handle)
  ffi.gc(handle, nil)
  C.mc_compiler_free(handle)
end

--- Sleeps.
function M.pause(seconds) C.mc_pause(seconds) end

-- ---------------------------------------------------------------- code

--- Opens a library for good; nil and why not.
function M.open(path)
  local code = C.mc_code_open(path)
  if code == nil then return nil, lib.message() end
  return code
end

local fn_t = ffi.typeof 'mc_native_fn'
--- A function of opened code, or nil and why not.
function M.find(code, name)
  local f = C.mc_code_find(code, name)
  if f == nil then return nil, lib.message() end
  return ffi.cast(fn_t, f)
end

--- Lets a variable of opened code point to the kernel of an op: true, or nil and why not.
---@param code ffi.cdata*
---@param name string of the variable
---@param op integer number of the op
---@param dtype integer its code
---@param isa string the level of instructions
function M.give(code, name, op, dtype, isa)
  if C.mc_code_kernel(code, name, op, dtype, isa) ~= 0 then return nil, lib.message() end
  return true
end

local function flags(one)
  local list = ints(#one + 1)
  for i, v in ipairs(one) do list[i - 1] = v and 1 or 0 end
  return list
end

--- A step (from 1) of a plan runs this function from now on; fn nil: its own program again.
function M.bind(plan, step, fn, one)
  lib.check(C.mc_plan_native(plan, step - 1, fn, flags(one)), 2)
end

local function counted(values, less)
  local list = ints(#values + 1)
  for i, v in ipairs(values) do list[i - 1] = v - less end
  return list
end

local function long(values)
  local list = longs(#values + 1)
  for i, v in ipairs(values) do list[i - 1] = v end
  return list
end

--- The steps of tiles (the step before them, from 1) as one function. f: of rows.emit: leaves, results, members (from
--- 1), lengths, slots.
function M.bind_rows(plan, step, fn, f)
  lib.check(C.mc_plan_rows(plan, step - 1, fn, #f.leaves, counted(f.leaves, 1), #f.results, counted(f.results, 1),
    #f.lengths, long(f.lengths), #f.slots, long(f.slots),
    #f.members, counted(f.members, 1), counted(f.member_lengths, 1)), 2)
end

local reduction_t, range_t = ffi.typeof 'mc_reduction', ffi.typeof 'mc_range_kernel'

--- A reduction out of opened code: its functions are NAME_part, NAME_join and NAME_finish.
function M.reduction(code, name, bytes)
  local r = reduction_t()
  for _, field in ipairs { 'part', 'join', 'finish' } do
    local f = C.mc_code_find(code, name .. '_' .. field)
    if f == nil then return nil, lib.message() end
    r[field] = f
  end
  r.bytes = bytes
  return r
end

--- A range kernel out of opened code.
function M.range(code, name)
  local f = C.mc_code_find(code, name)
  if f == nil then return nil, lib.message() end
  return ffi.cast(range_t, f)
end

--- Codes of dtypes.
local function codes(names)
  local list = ffi.new('int8_t[?]', #names + 1)
  for i, dtype in ipairs(names) do list[i - 1] = tensor.code[dtype] end
  return list
end

--- A reduction as an op: its number; nil and why it cannot be one.
---@param name string
---@param r ffi.cdata* of M.reduction
---@param ins string[] dtypes of the operands
---@param outs string[] dtypes of the results
---@param program string the same for devices
---@param lanes integer of a group there
function M.reduction_row(name, r, ins, outs, program, lanes)
  local id = C.mc_reduction_row(name, r, #ins, codes(ins), #outs, codes(outs), program, lanes)
  if id < 0 then return nil, lib.message() end
  return id
end

--- Plain C over a range as an op: its number; nil and why it cannot be one.
---@param name string
---@param f ffi.cdata* of M.range
---@param grain integer
---@param ins string[] dtypes of the inputs
---@param values integer how many numbers follow them
---@param outs string[] dtypes of the results
function M.range_row(name, f, grain, ins, values, outs)
  local id = C.mc_range_row(name, f, grain, #ins, codes(ins), values, #outs, codes(outs))
  if id < 0 then return nil, lib.message() end
  return id
end

return M
