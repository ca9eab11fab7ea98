-- machine.lua - what /proc and /sys say of the machine this process runs on.
local file = require 'mascon.base.file'

local M = {}

local function first(path)
  local text = file.read(path)
  return text and text:match '^[^\n]+'
end

--- Name of the processor as the kernel gives it.
function M.processor()
  local text = file.read '/proc/cpuinfo' or ''
  return text:match 'model name%s*:%s*([^\n]+)' or text:match 'CPU implementer%s*:%s*([^\n]+)' or 'unknown'
end

--- Processors this process may run on.
function M.cores()
  local list, n = (file.read '/proc/self/status' or ''):match 'Cpus_allowed_list:%s*(%S+)', 0
  for a, b in (list or ''):gmatch '(%d+)%-?(%d*)' do n = n + (b == '' and 1 or b - a + 1) end
  return math.max(n, 1)
end

--- A limit of the cgroup (version 2) this process is in: nearest folder upwards that has the file.
function M.cgroup(name)
  local path = (file.read '/proc/self/cgroup' or ''):match '0::(/[^\n]*)'
  while path do
    local text = first('/sys/fs/cgroup' .. path:gsub('/$', '') .. '/' .. name)
    if text then return tonumber(text) end
    path = path ~= '/' and path:match '^(.*)/[^/]*$' or nil
    if path == '' then path = '/' end
  end
end

M.first = first

return M
