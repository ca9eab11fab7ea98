-- info.lua - mc.info(): what this machine offers and what the library makes of it.
--
-- Reads /proc, /sys and the library's own reports. Owns nothing; the texts are for people and for manifests. May not know ops.
local lib = require 'mascon.core.ffi'
local file = require 'mascon.base.file'

local M = {}

local function first(path)
  local text = file.read(path)
  return text and text:match '^[^\n]+'
end

--- Name of the processor as the kernel gives it.
local function processor()
  local text = file.read '/proc/cpuinfo' or ''
  return text:match 'model name%s*:%s*([^\n]+)' or text:match 'CPU implementer%s*:%s*([^\n]+)' or 'unknown'
end

--- Processors this process may run on.
local function cores()
  local list, n = (file.read '/proc/self/status' or ''):match 'Cpus_allowed_list:%s*(%S+)', 0
  for a, b in (list or ''):gmatch '(%d+)%-?(%d*)' do n = n + (b == '' and 1 or b - a + 1) end
  return math.max(n, 1)
end

--- A limit of the cgroup (version 2) this process is in: nearest folder upwards that has the file.
local function cgroup(name)
  local path = (file.read '/proc/self/cgroup' or ''):match '0::(/[^\n]*)'
  while path do
    local text = first('/sys/fs/cgroup' .. path:gsub('/$', '') .. '/' .. name)
    if text then return tonumber(text) end
    path = path ~= '/' and path:match '^(.*)/[^/]*$' or nil
    if path == '' then path = '/' end
  end
end

local function memory()
  local text = file.read '/proc/meminfo' or ''
  local function kib(name) return (tonumber(text:match(name .. ':%s*(%d+)')) or 0) * 1024 end
  local c = lib.memory_stats()
  return {
    total = kib 'MemTotal', available = kib 'MemAvailable', cgroup_limit = cgroup 'memory.max',
    limit = c.limit > 0 and c.limit or nil, soft_ceiling = c.soft_ceiling, live = c.live, cached = c.cached, peak = c.peak,
  }
end

--- Neighbours by kind: name and version, or why one is missing.
local function libraries(kinds)
  local out = {}
  for _, kind in ipairs(kinds) do
    local name, why = lib.neighbour(kind)
    out[kind] = name or 'missing: ' .. why
  end
  return out
end

local function cache()
  local path, why = require 'mascon.compile.native.cache'.path()
  return path or 'off: ' .. why
end

--- The machine and the library: processor, cores, isa (kernels in use), threads, libraries by kind, devices, cache (folder), memory in
--- bytes (total, available, limits, live), version. Opens the libraries to ask for their versions.
---@return table
function M.info() return M.about { 'fft', 'blas', 'zlib', 'threads', 'raster', 'hdf5', 'yaml' } end

--- The same with these libraries alone: opening one takes milliseconds.
---@param kinds string[]
function M.about(kinds)
  return {
    version = lib.version(), lua = jit.version, processor = processor(), cores = cores(), isa = lib.isa(),
    threads = lib.C.mc_get_num_threads(), libraries = libraries(kinds), devices = { 'cpu' }, cache = cache(), memory = memory(),
    system = (first '/proc/version' or 'unknown'):match '^(%S+ version %S+)' or 'unknown',
  }
end

M.processor, M.cores = processor, cores

return M
