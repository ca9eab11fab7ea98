-- recordings.lua - files of labs for the specs of mc.meeg: a folder of their own, the files kept in goldens, and damage
-- to them.
--
-- Holds the folder and the comparison with what another program read.
local mc = require 'mascon'
local M = {}

--- A new folder; give it back with M.remove.
function M.folder()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute('mkdir ' .. path) == 0)
  return path
end

function M.remove(folder)
  collectgarbage()
  collectgarbage()
  os.execute('rm -rf ' .. folder)
end

function M.write(path, bytes)
  local f = assert(io.open(path, 'wb'))
  f:write(bytes)
  f:close()
  return path
end

function M.read(path)
  local f = assert(io.open(path, 'rb'))
  local s = f:read '*a'
  f:close()
  return s
end

--- Names in a folder, sorted, with blanks between.
function M.listing(folder)
  local p = io.popen('ls -A ' .. folder)
  local s = p:read '*a'
  p:close()
  return (s:gsub('\n$', ''):gsub('\n', ' '))
end

--- A golden of files: its entries, what it says of each file, and the bytes of one.
function M.golden(support, name)
  local g = mc.load(support.folder .. '/golden/' .. name .. '.npz')
  local about = {}
  for i, b in ipairs(g.about:totable()) do about[i] = string.char(b) end
  about = assert(mc.json.decode(table.concat(about)))
  local function bytes(file)
    local list, out = g['file ' .. file]:totable(), {}
    for i = 1, #list, 4096 do out[#out + 1] = string.char(unpack(list, i, math.min(i + 4095, #list))) end
    return table.concat(out)
  end
  return { arrays = g, about = about, files = about.files, bytes = bytes,
    data = function(file) return g['data ' .. file] end }
end

--- Writes the files of a golden into a folder.
function M.unpack(golden, folder)
  for key in pairs(golden.arrays) do
    local name = key:match '^file (.*)$'
    if name then M.write(folder .. '/' .. name, golden.bytes(name)) end
  end
end

--- f(bytes, what) for damaged versions of bytes: cut at `cuts` places, and single bytes changed; places spread by a
--- fixed rule.
function M.damaged(bytes, cuts, changes, f)
  local state = 12345
  local function place()
    state = (state * 1103515245 + 12345) % 2 ^ 31
    return math.floor(state / 8) % #bytes + 1
  end
  for k = 1, cuts do
    local n = math.floor((k - 1) * #bytes / cuts)
    f(bytes:sub(1, n), ('cut at byte %d'):format(n))
  end
  for _ = 1, changes do
    local at = place()
    local v = (bytes:byte(at) + 1 + place() % 255) % 256
    f(bytes:sub(1, at - 1) .. string.char(v) .. bytes:sub(at + 1), ('byte %d is %d'):format(at, v))
  end
end

--- f(folder) on a file system of its own that holds `size` (64k, 1m); false where none can be mounted.
function M.small_disk(size, f)
  local small = M.folder()
  local there = os.execute(('mount -t tmpfs -o size=%s tmpfs %s 2>/dev/null'):format(size, small)) == 0
  local ok, why = true, nil
  if there then
    ok, why = pcall(f, small)
    os.execute('umount ' .. small)
  end
  M.remove(small)
  assert(ok, why)
  return there
end

return M
