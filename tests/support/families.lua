-- families.lua - what the assembler says of the kernels of each family of device programs, and an estimate of how many
-- lanes a card holds of them.
--
-- A family is the file of kernels/device/ that a program ends with. Occupancy: share of the lanes a multiprocessor
-- holds, for groups of 256 lanes, from registers and memory of a group alone. Arithmetic and bytes are counted in the
-- text of the PTX, where there is one: instructions on floats, and bytes of loads and stores, each once.
local M = {}

-- of a multiprocessor: lanes, memory of groups (CUDA C++ programming guide, table of compute capabilities)
local LANES = { [75] = 1024, [80] = 2048, [86] = 1536, [89] = 1536, [90] = 2048, [100] = 2048, [120] = 1536 }
local MEMORY = { [75] = 64, [80] = 164, [86] = 100, [89] = 100, [90] = 228, [100] = 228, [120] = 100 }
local REGISTERS, GROUP = 65536, 256

--- Family of a program's text.
function M.of(text)
  local family
  for name in text:gmatch '/%* ([%w_]+)%.c %- ' do family = name end
  return family or 'fused'
end

--- Share of a multiprocessor's lanes.
function M.occupancy(arch, registers, memory)
  local most = (LANES[arch] or 2048) / GROUP
  local by_registers = math.floor(REGISTERS / (math.ceil(math.max(registers, 1) / 8) * 8 * GROUP))
  local by_memory = memory > 0 and math.floor((MEMORY[arch] or 100) * 1024 / (memory + 1024)) or most
  return math.min(most, by_registers, by_memory) / most
end

--- Kernels { name, registers, spilled, memory } in what the assembler said.
function M.kernels(said)
  local out = {}
  local entry = "Compiling entry function '"
  for name, rest in (said:gsub(entry, '\1') .. '\1'):gmatch "\1([%w_]+)'([^\1]*)" do
    local spilled = 0 -- also by functions that it calls, which follow it
    for bytes in rest:gmatch '(%d+) bytes spill stores' do spilled = math.max(spilled, tonumber(bytes)) end
    out[#out + 1] = { name = name, registers = tonumber(rest:match 'Used (%d+) registers') or 0, spilled = spilled,
      memory = tonumber(rest:match '(%d+) bytes smem') or 0 }
  end
  return out
end

local WIDTH = { b8 = 1, u8 = 1, s8 = 1, b16 = 2, u16 = 2, s16 = 2, f16 = 2, b32 = 4, u32 = 4, s32 = 4, f32 = 4, b64 = 8,
  u64 = 8, s64 = 8, f64 = 8 }
local FLOAT = { add = true, sub = true, mul = true, fma = true, mad = true, div = true, sqrt = true, rcp = true }

--- Instructions on floats and bytes of loads and stores in the text of PTX.
function M.counted(ptx)
  local flops, bytes = 0, 0
  for line in ptx:gmatch '[^\n]+' do
    local word, rest = line:match '^%s*(%a+)(%.[%w.:]+)'
    if not word then word, rest = line:match '^%s*@!?%%p%d+ (%a+)(%.[%w.:]+)' end
    if word and FLOAT[word] and rest:find '%.f%d%d' then flops = flops + (word == 'fma' and 2 or 1) end
    if (word == 'ld' or word == 'st') and rest:find '^%.global' then
      bytes = bytes + (WIDTH[rest:match '(%a%d+)$'] or 4) * (tonumber(rest:match '%.v(%d)') or 1)
    end
  end
  return flops, bytes
end

-- most registers, spilled bytes, memory of a group: heavy special functions take 120 registers and spill 80 bytes at
-- most (fused programs may end in them); the sums of a pass of XPCS fits (two_time) and the table of a sequence, a lane
-- for each dimension, stay in registers; fused programs that end in a reduction have a place for each lane; a pass of
-- fft in f64 is given 64 registers at 9.0, for four groups at once, and spills 88 bytes
local LIMIT = { ewise = { 160, 96, 0 }, fused = { 160, 96, 16384 }, two_time = { 255, 128, 49152 },
  sequence = { 255, 0, 0 }, fft = { 128, 96, 49152 } }
local EVERY = { 128, 64, 49152 }

--- The kernels of a program that pass the limits of its family, in words; nil where there are none.
function M.beyond(text, said)
  local family = M.of(text)
  local most, out = LIMIT[family] or EVERY, {}
  for _, k in ipairs(M.kernels(said)) do
    if k.registers > most[1] or k.spilled > most[2] or k.memory > most[3] then
      out[#out + 1] = ('%s of %s: %d registers, %d bytes spilled, %d bytes of group memory; limits are %d, %d, %d')
        :format(k.name, family, k.registers, k.spilled, k.memory, most[1], most[2], most[3])
    end
  end
  return #out > 0 and table.concat(out, '\n') or nil
end

--- Adds a program to a table by family. ptx: its text, or nil.
function M.add(all, text, arch, said, ptx)
  local name = M.of(text)
  local f = all[name] or { name = name, programs = 0, kernels = 0, registers = 0, spilled = 0, memory = 0, least = 1,
    flops = 0, bytes = 0 }
  all[name] = f
  f.programs = f.programs + 1
  for _, k in ipairs(M.kernels(said)) do
    f.kernels = f.kernels + 1
    f.registers, f.spilled = math.max(f.registers, k.registers), math.max(f.spilled, k.spilled)
    f.memory, f.least = math.max(f.memory, k.memory), math.min(f.least, M.occupancy(arch, k.registers, k.memory))
  end
  if ptx then
    local flops, bytes = M.counted(ptx)
    f.flops, f.bytes = f.flops + flops, f.bytes + bytes
  end
end

--- Lines of the table, sorted by name.
function M.lines(all)
  local names, out = {}, {}
  for name in pairs(all) do names[#names + 1] = name end
  table.sort(names)
  out[1] = ('%-10s %8s %8s %10s %8s %8s %10s %12s'):format('family', 'programs', 'kernels', 'registers', 'spilled',
    'memory', 'occupancy', 'flops/byte')
  for _, name in ipairs(names) do
    local f = all[name]
    out[#out + 1] = ('%-10s %8d %8d %10d %8d %8d %9.0f%% %12s'):format(name, f.programs, f.kernels, f.registers,
      f.spilled, f.memory, 100 * f.least, f.bytes > 0 and ('%.2f'):format(f.flops / f.bytes) or '-')
  end
  return out
end

return M
