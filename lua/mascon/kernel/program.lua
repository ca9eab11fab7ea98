-- program.lua - a user's program for devices: text in the language of device kernels, launched over groups of lanes.
--
-- Holds the frame around the text: arrays as typed pointers, numbers by their types, the struct that carries them, and
-- what a launch is over; a text of CUDA C++ has no frame. On CUDA a pointer is that of the array, for any code that
-- the text calls.
local check = require 'mascon.core.check'
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local mc = require 'mascon.array'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local error = check.error
local C = lib.C

local M = {}

local TYPE = require 'mascon.kernel.plain'.C_TYPE
-- of numbers: those of 8 bytes stand first in the struct
local NUMBER = { i64 = 'int64_t', f64 = 'double', i32 = 'int32_t', f32 = 'float' }
local MOST = { i64 = 2 ^ 63, i32 = 2 ^ 31 } -- whole numbers below, and from its negative on
local BYTES = { i64 = 8, f64 = 8, i32 = 4, f32 = 4 }

--- 'n i64' as { name, dtype }, those of 8 bytes first.
local function values_of(fname, list)
  local out = {}
  for i, text in ipairs(list or {}) do
    local name, dtype = tostring(text):match '^%s*([%a_][%w_]*)%s*(%S*)%s*$'
    dtype = dtype == '' and 'f64' or dtype
    if not name or not NUMBER[dtype] then
      error(("%s: entry %d of values is %s; give a name and one of i64, f64, i32, f32, such as 'n i64'"):format(fname,
        i, check.show(text)), 4)
    end
    out[i] = { name = name, dtype = dtype, place = i }
  end
  local sorted = { unpack(out) }
  table.sort(sorted, function(a, b)
    if BYTES[a.dtype] ~= BYTES[b.dtype] then return BYTES[a.dtype] > BYTES[b.dtype] end
    return a.place < b.place
  end)
  return sorted, #out
end

--- Lines of the user under their own numbers, for what a compiler says; `what` names them. An #include line stands for
--- the lines of its file.
local function numbered(what, text)
  local out, n = { ('#line 1 "%s"\n'):format(what) }, 0
  for line in (text .. '\n'):gmatch '[^\n]*\n' do
    n = n + 1
    out[#out + 1] = line
    if line:find '^#include' then out[#out + 1] = ('#line %d "%s"\n'):format(n + 1, what) end
  end
  return table.concat(out)
end

--- The program: the text within a kernel of that name.
local function source_of(k, text, head, values)
  local lines, at = { '//own\n#include "mck_math.h"\n' }, 0
  local function say(...) lines[#lines + 1] = string.format(...) end
  if head then lines[2] = numbered('head', head) end
  say '#line 1 "inputs, outputs and values"\n'
  say('typedef struct mcd_args {\n    int64_t at[%d];\n', #k.outputs + #k.inputs)
  for _, v in ipairs(values) do say('    %s %s;\n', NUMBER[v.dtype], v.name) end
  say('} mcd_args;\nKERNEL mcu_%s(', k.name)
  for i = 1, #k.outputs + #k.inputs do say('GLOBAL char *mcd_b%d, ', i) end
  say 'const mcd_args mcd_j)\n{\n'
  for _, list in ipairs { k.outputs, k.inputs } do
    for _, p in ipairs(list) do
      say('    GLOBAL %s%s *%s = AT(%s, mcd_b%d, mcd_j.at[%d]);\n', list == k.inputs and 'const ' or '', TYPE[p.dtype],
        p.name, TYPE[p.dtype], at + 1, at)
      at = at + 1
    end
  end
  for _, v in ipairs(values) do say('    const %s %s = mcd_j.%s;\n', NUMBER[v.dtype], v.name, v.name) end
  lines[#lines + 1] = numbered('launch', text)
  lines[#lines + 1] = '}\n'
  return table.concat(lines)
end

--- Groups along three axes from what was given; given: the arguments of the call.
local function groups_of(fname, grid, given, count, lanes)
  if grid == nil then return { math.max(1, math.ceil(count / lanes)), 1, 1 } end
  if type(grid) == 'function' then
    grid = grid(unpack(given))
    if grid == nil then
      error(fname .. ': the function grid returned nil; return a number of groups, or a list of up to three', 3)
    end
  end
  if type(grid) == 'number' then grid = { grid } end
  if type(grid) ~= 'table' or #grid < 1 or #grid > 3 then
    error(('%s: grid is %s; give a number of groups, or a list of up to three'):format(fname, check.show(grid)), 3)
  end
  local out = {}
  for a = 1, 3 do
    out[a] = grid[a] or 1
    if type(out[a]) ~= 'number' or out[a] % 1 ~= 0 then
      error(('%s: entry %d of grid is %s; give whole numbers of groups'):format(fname, a, check.show(out[a])), 3)
    end
  end
  return out
end

--- A function of the inputs, then the values.
---@param k table name, inputs, outputs
---@param text string
---@param opts table values, head, lanes, grid, shape
function M.make(k, text, opts)
  local fname = 'kernel ' .. k.name
  if not k.name:find '^[%a_][%w_]*$' then
    error(('%s: name is %q; a program needs a name of letters, digits and _'):format(fname, k.name), 3)
  end
  for _, list in ipairs { k.inputs, k.outputs } do
    for _, p in ipairs(list) do
      if not p.dtype then error(('%s: %s has no dtype; write "%s f32"'):format(fname, p.name, p.name), 3) end
    end
  end
  local values, count = values_of(fname, opts.values)
  local seen = {}
  for _, list in ipairs { k.inputs, k.outputs, values } do
    for _, p in ipairs(list) do
      if seen[p.name] then error(('%s: %s stands twice among inputs, outputs and values'):format(fname, p.name), 3) end
      seen[p.name] = true
    end
  end
  local source = opts.cuda and '//verbatim\n' .. text or source_of(k, text, opts.head, values)
  local fields = {}
  for i, v in ipairs(values) do fields[i] = NUMBER[v.dtype] .. ' ' .. v.name end
  local struct = #values > 0 and ffi.typeof('struct { ' .. table.concat(fields, '; ') .. '; }') or ffi.typeof 'char[1]'
  local nin, nout = #k.inputs, #k.outputs
  local places = opts.cuda and ffi.new('int32_t[?]', count + 1) or nil -- of values in the struct, in their order
  for _, v in ipairs(opts.cuda and values or {}) do places[v.place - 1] = ffi.offsetof(struct, v.name) end

  return function(...)
    local given = { ... }
    if select('#', ...) ~= nin + count then
      error(('%s: %d of %d arguments; it takes %s'):format(fname, select('#', ...), nin + count,
        table.concat(k.operands, ', ')), 2)
    end
    if recording.on() then
      error(fname .. ': a program of devices cannot be recorded; call it outside mc.compile and mc.grad', 2)
    end
    local arrays, number = {}, 0
    for i, p in ipairs(k.inputs) do
      local t = given[i]
      if not tensor.is(t) or t.dtype ~= p.dtype then
        error(('%s: %s is %s; give a tensor of %s'):format(fname, p.name,
          tensor.is(t) and tensor.describe(t) or check.show(t), p.dtype), 2)
      end
      number = t._device
      arrays[i] = tensor.methods.contiguous(t)
    end
    tensor.one_device(fname, arrays, 2)
    local raw = struct()
    for _, v in ipairs(values) do
      local x = given[nin + v.place]
      local most = MOST[v.dtype]
      if type(x) ~= 'number' or most and (x % 1 ~= 0 or x < -most or x >= most) then
        error(('%s: %s is %s; give a number of %s'):format(fname, v.name, check.show(x), v.dtype), 2)
      end
      raw[v.name] = x
    end
    local shape = opts.shape and opts.shape(...) or { unpack(arrays[1].shape) }
    local device, outs, list = tensor.device_name(number), {}, ffi.new('mc_tensor *[?]', nin + nout)
    for i, p in ipairs(k.outputs) do
      outs[i] = mc.zeros(shape, { dtype = p.dtype, device = device })
      list[i - 1] = outs[i]
    end
    for i = 1, nin do list[nout + i - 1] = arrays[i] end
    local grid = groups_of(fname, opts.grid, given, outs[1]:numel(), opts.lanes)
    local groups = ffi.new('int64_t[3]', grid)
    lib.check(C.mc_device_launch(number, source, k.name, groups, opts.lanes, nin + nout, list, raw,
      #values > 0 and ffi.sizeof(struct) or 0, count, places), 2)
    return unpack(outs)
  end
end

return M
