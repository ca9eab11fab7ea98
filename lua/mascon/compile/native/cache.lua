-- cache.lua - compiled code on disk.
--
-- A folder that is ours alone ($XDG_CACHE_HOME/mascon/kernels, MASCON_CACHE names another one or `off`), one library
-- per key, its checksum and key in a line behind it, so that an entry appears whole by one rename and is checked before
-- it is opened. Entries unused for longest go first when MASCON_CACHE_SIZE (256M) is reached. Any trouble only means
-- that nothing is kept. Holds the folder.
local lib = require 'mascon.core.ffi'
local handles = require 'mascon.compile.native.handles'

local M = {}

-- the line behind a library: mark, key, checksum, words for people
local MARK, PATTERN = 'mascon-kernel 1', 'mascon%-kernel 1 (%x+) (%x+) ([^\n]*)\n$'
local SIZE, STALE, FRESH = 256 * 2 ^ 20, 3600, 3600
local UNIT = { [''] = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30 }

--- The folder as the environment names it; nil when the cache is off.
---@return string|nil
---@return string|nil why there is none
function M.path()
  local own = os.getenv 'MASCON_CACHE'
  if own == 'off' or own == '0' or own == '' then return nil, 'MASCON_CACHE turns it off' end
  if own then return own end
  local base, home = os.getenv 'XDG_CACHE_HOME', os.getenv 'HOME'
  if base and base:sub(1, 1) == '/' then return base .. '/mascon/kernels' end
  if home and home:sub(1, 1) == '/' then return home .. '/.cache/mascon/kernels' end
  return nil, 'neither XDG_CACHE_HOME nor HOME names a folder'
end

--- Bytes that may be kept.
function M.capacity()
  local text = os.getenv 'MASCON_CACHE_SIZE'
  local number, unit = (text or ''):upper():match '^(%d+%.?%d*)([KMG]?)I?B?$'
  return number and tonumber(number) * UNIT[unit] or SIZE
end

local function open_folder()
  local path, why = M.path()
  if not path then return nil, why end
  local ok, message = handles.private(path)
  if not ok then return nil, message end
  return path
end

local function bytes_of(path)
  local f = io.open(path, 'rb')
  if not f then return nil end
  local text = f:read '*a'
  f:close()
  return text
end

--- Whether the bytes of an entry are what was stored under its key: the line about it, or nil and why not.
local function checked(text, key)
  local at, _, own, sum, info = text:find('\n' .. PATTERN, math.max(1, #text - 500))
  if not at then return nil, 'it ends in the middle' end
  if own ~= key then return nil, 'it belongs to another key' end
  if lib.sha256(text:sub(1, at - 1)) ~= sum then return nil, 'its checksum differs' end
  return info
end

--- The file of a key, checked; nil and why not (nil alone: there is none).
---@return string|nil path
---@return string|nil why not
function M.find(key)
  local folder, why = open_folder()
  if not folder then return nil, why end
  local path = ('%s/%s.so'):format(folder, key)
  local facts = handles.facts(path)
  if not facts then return nil end
  if not facts.ours then return nil, 'the entry can be written by others' end
  local text = bytes_of(path)
  local info, bad = nil, 'it cannot be read'
  if text then info, bad = checked(text, key) end
  if not info then
    os.remove(path)
    return nil, 'the entry was damaged (' .. bad .. ') and is removed'
  end
  if os.time() - facts.changed > FRESH then handles.touch(path) end
  return path
end

--- Entries with bytes, time of last use, and whether they are of ours, oldest first; leftovers of writers that died are
--- removed.
local function entries(folder)
  local list, total = {}, 0
  for _, name in ipairs(handles.list(folder) or {}) do
    local path = folder .. '/' .. name
    local facts = handles.facts(path)
    if facts and name:find '^tmp%-' then
      if os.time() - facts.changed > STALE then os.remove(path) end
    elseif facts then
      list[#list + 1] = { name = name, path = path, bytes = facts.bytes, used = facts.changed, ours = facts.ours }
      total = total + facts.bytes
    end
  end
  table.sort(list, function(a, b)
    if a.used ~= b.used then return a.used < b.used end
    return a.name < b.name
  end)
  return list, total
end

--- Removes what was not used for longest until the rest fits.
function M.trim()
  local folder = open_folder()
  if not folder then return 0 end
  local list, total = entries(folder)
  local room, removed = M.capacity(), 0
  for _, e in ipairs(list) do
    if total <= room then break end
    if os.remove(e.path) then total, removed = total - e.bytes, removed + 1 end
  end
  return removed
end

--- Keeps a library under a key. tag: something no other writer has. The path, or nil and why not.
---@param info string one line for `mascon cache list`
function M.store(key, bytes, info, tag)
  local folder, why = open_folder()
  if not folder then return nil, why end
  local text = ('%s\n%s %s %s %s\n'):format(bytes, MARK, key, lib.sha256(bytes), (info:gsub('%c', ' ')))
  if #text > M.capacity() then return nil, 'it is larger than the whole cache' end
  local path, new = ('%s/%s.so'):format(folder, key), ('%s/tmp-%s'):format(folder, tag)
  os.remove(new)
  local ok, message = handles.keep(new, text)
  if not ok then return nil, message end
  ok, message = os.rename(new, path)
  if not ok then
    os.remove(new)
    return nil, message
  end
  M.trim()
  return path
end

-- ---------------------------------------------------------------- small values

--- A text kept under a name (measured settings), or nil.
function M.note(name)
  local folder = M.path()
  local facts = folder and handles.facts(('%s/%s.txt'):format(folder, name))
  return facts and facts.ours and bytes_of(('%s/%s.txt'):format(folder, name)) or nil
end

--- Keeps a text under a name: true, or nil and why not.

function M.keep_note(name, text)
  local folder, why = open_folder()
  if not folder then return nil, why end
  return require('mascon.base.file').write(('%s/%s.txt'):format(folder, name), text)
end

-- ---------------------------------------------------------------- for people

--- What is kept: { { key, bytes, used (seconds since 1970), info, bad } }, most recently used last; nil and why there
--- is no cache.
function M.list()
  local folder, why = open_folder()
  if not folder then return nil, why end
  local list = entries(folder)
  for _, e in ipairs(list) do
    local key = e.name:match '^(%x+)%.so$' or e.name:match '^(%x+)%.code$' -- of devices: runtime/device/mc_code_cache.c
    if key then
      e.key = key
      local text = bytes_of(e.path)
      e.info, e.bad = nil, 'it cannot be read'
      if text then e.info, e.bad = checked(text, key) end
      if not e.ours then e.bad = 'others can write it' end
    end
  end
  return list
end

--- Removes everything: how many files went.
function M.clear()
  local folder, why = open_folder()
  if not folder then return nil, why end
  local n = 0
  for _, name in ipairs(handles.list(folder) or {}) do
    if os.remove(folder .. '/' .. name) then n = n + 1 end
  end
  return n
end

--- Removes what is damaged or not ours to trust: how many were looked at, and the damaged ones.
function M.verify()
  local list, why = M.list()
  if not list then return nil, why end
  local bad = {}
  for _, e in ipairs(list) do
    if e.key and e.bad then
      os.remove(e.path)
      bad[#bad + 1] = e
    end
  end
  return #list, bad
end

return M
