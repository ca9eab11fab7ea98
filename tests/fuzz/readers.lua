-- readers.lua - fuzzing of the readers that are written in Lua: PNG, IDX, CIFAR, safetensors.
--
-- usage: mascon tests/fuzz/readers.lua [SECONDS [SEED]]   (from the top of the tree; environment B: build folder)
-- Files of tests/fuzz/corpus/TARGET and good ones made here are read as they are, then changed ones, for SECONDS of
-- each target (0: a thousand files). A file may give a result, or an error of its reader that names it, within 10 s and
-- 1 GiB. What does something else is kept in $B/fuzz as crash-TARGET-N, and the exit status is 1. Checksums and lengths
-- of what was changed are mostly made right again, so that changes get past them.
local bit = require 'bit'
local mc = require 'mascon'
local seconds, seed = tonumber(arg[1]) or 0, tonumber(arg[2]) or 1
local folder = (os.getenv 'B' or 'build') .. '/fuzz'
assert(mc.file.make_folder(folder))
local at = folder .. '/reader-input'

local function text(bytes)
  local out = {}
  for i, b in ipairs(bytes:totable()) do out[i] = string.char(b) end
  return table.concat(out)
end
local function big(n)
  return string.char(math.floor(n / 2 ^ 24) % 256, math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
end

-- ---------------------------------------------------------------- checksums of PNG

local CRC = {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do c = bit.band(c, 1) == 1 and bit.bxor(0xedb88320, bit.rshift(c, 1)) or bit.rshift(c, 1) end
  CRC[i] = c
end
local function crc(s)
  local c = -1
  for i = 1, #s do c = bit.bxor(CRC[bit.band(bit.bxor(c, s:byte(i)), 255)], bit.rshift(c, 8)) end
  return big(bit.bnot(c) % 2 ^ 32)
end

--- The same chunks with sums that fit them, as far as their lengths go.
local function summed(s)
  local out, k = { s:sub(1, 8) }, 9
  while k + 11 <= #s do
    local a, b, c, d = s:byte(k, k + 3)
    local n = ((a * 256 + b) * 256 + c) * 256 + d
    if k + 11 + n > #s then break end
    out[#out + 1] = s:sub(k, k + 7 + n) .. crc(s:sub(k + 4, k + 7 + n))
    k = k + 12 + n
  end
  out[#out + 1] = s:sub(k)
  return table.concat(out)
end

-- ---------------------------------------------------------------- targets

local function pngs()
  local out = {}
  local file = mc.load 'tests/golden/png.npz'
  for name, t in pairs(file) do if name ~= 'about' and not name:find '_pixels$' then out[#out + 1] = text(t) end end
  table.sort(out)
  return out
end
--- A header of safetensors whose length fits it again.
local function measured(s)
  local n = s:sub(9):find '}[^}]*$'
  return n and big(n):reverse() .. big(0) .. s:sub(9) or s
end
local function tensors()
  local name = folder .. '/seed.safetensors'
  mc.save(name, { a = mc.randn { 2, 3, seed = 1 }, b = mc.tensor({ 1, 0 }):to 'bool', c = mc.zeros { 0, 2 } },
    { metadata = { k = 'v' } })
  local s = mc.file.read(name)
  os.remove(name)
  return { s, '\2\0\0\0\0\0\0\0{}' }
end

local TARGETS = {
  { 'png', 'png', mc.nn.data.png, pngs, summed },
  { 'idx', 'idx', mc.nn.data.idx, function()
    return { '\0\0\8\1' .. big(3) .. 'abc', '\0\0\9\3' .. big(1) .. big(2) .. big(2) .. '\255\1\2\128' }
  end },
  { 'cifar', 'bin', mc.nn.data.cifar, function() return { ('\3'):rep(3073), ('\1'):rep(2 * 3073) } end },
  { 'safetensors', 'safetensors', mc.load, tensors, measured },
}

-- ---------------------------------------------------------------- changes

local state = seed
local function draw(n) -- a whole number from 1 to n
  state = (state * 16807) % 2147483647
  return state % n + 1
end

local EDGES = { 0, 1, 127, 128, 254, 255 }
local function changed(s, all)
  for _ = 1, draw(4) do
    local k, what = #s > 0 and draw(#s) or 1, draw(6)
    if what == 1 then s = s:sub(1, k - 1)
    elseif what == 2 then s = s:sub(1, k - 1) .. s:sub(k + draw(8))
    elseif what == 3 then s = s:sub(1, k) .. s:sub(k, k + draw(16)) .. s:sub(k + 1)
    elseif what == 4 then
      local other = all[draw(#all)]
      s = s:sub(1, k) .. other:sub(math.min(#other, draw(#other)))
    else s = s:sub(1, k - 1) .. string.char(what == 5 and EDGES[draw(#EDGES)] or draw(256) - 1) .. s:sub(k + 1) end
  end
  return s
end

-- ---------------------------------------------------------------- the runs

local crashes = 0
--- Reads bytes as a file; whether it was one.
local function try(target, bytes)
  local path = at .. '.' .. target[2]
  local f = assert(io.open(path, 'wb'))
  f:write(bytes)
  f:close()
  mc.reset_peak_memory()
  local start, before = os.clock(), mc.memory().live
  local ok, why = pcall(target[3], path)
  local trouble
  if os.clock() - start > 10 then trouble = 'it took more than 10 s'
  elseif mc.memory().peak - before > 2 ^ 30 then trouble = 'it took more than 1 GiB'
  elseif not ok and not (type(why) == 'string' and why:find(path, 1, true)) then trouble = tostring(why) end
  if trouble then
    crashes = crashes + 1
    local kept = ('%s/crash-%s-%d'):format(folder, target[1], crashes)
    mc.file.write(kept, bytes)
    print(('%s: %s; kept as %s'):format(target[1], trouble, kept))
  end
  return ok
end

for _, target in ipairs(TARGETS) do
  local list = target[4]()
  for _, bytes in ipairs(list) do assert(try(target, bytes), target[1] .. ': a good file is refused') end
  local corpus = 'tests/fuzz/corpus/' .. target[1]
  for _, name in ipairs(mc.file.is_folder(corpus) and mc.file.names(corpus) or {}) do
    local bytes = mc.file.read(corpus .. '/' .. name)
    list[#list + 1] = bytes
    try(target, bytes)
  end
  local start, n, good = os.time(), 0, 0
  while crashes < 10 and (seconds > 0 and os.time() - start < seconds or seconds == 0 and n < 1000) do
    local bytes = changed(list[draw(#list)], list)
    if target[5] and draw(8) > 1 then bytes = target[5](bytes) end
    if try(target, bytes) then good = good + 1 end
    n = n + 1
    if n % 64 == 0 then collectgarbage() end
  end
  os.remove(at .. '.' .. target[2])
  print(('%s: %d files, %d of them read'):format(target[1], n, good))
end
os.exit(crashes == 0 and 0 or 1)
