-- info.lua - mc.info(): what this machine offers and what the library makes of it.
--
-- Reads /proc, /sys and the library's own reports. The texts are for people and for manifests.
local lib = require 'mascon.core.ffi'
local file = require 'mascon.base.file'
local machine = require 'mascon.base.machine'

local M = {}

local function memory()
  local text = file.read '/proc/meminfo' or ''
  local function kib(name) return (tonumber(text:match(name .. ':%s*(%d+)')) or 0) * 1024 end
  local c = lib.memory_stats()
  return {
    total = kib 'MemTotal', available = kib 'MemAvailable', cgroup_limit = machine.cgroup 'memory.max',
    limit = c.limit > 0 and c.limit or nil, limit_source = lib.text(lib.C.mc_memory_limit_source()),
    soft_ceiling = c.soft_ceiling, live = c.live, cached = c.cached, peak = c.peak,
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

--- The machine and the library: processor, cores, isa (kernels in use), threads, libraries by kind, cache
--- (folder), memory in bytes (total, available, limits, live), version. Opens the libraries to ask for their versions.
---@return table
function M.info() return M.about { 'fft', 'blas', 'zlib', 'threads', 'raster', 'hdf5', 'yaml' } end

--- The same with these libraries alone: opening one takes milliseconds.
---@param kinds string[]
function M.about(kinds)
  return {
    version = lib.version(), lua = jit.version, processor = machine.processor(),
    cores = machine.cores(), isa = lib.isa(), threads = lib.C.mc_get_num_threads(), threads_source = lib.text(
      lib.C.mc_threads_source()), libraries = libraries(kinds), cache = cache(), memory = memory(),
    system = (machine.first '/proc/version' or 'unknown'):match '^(%S+ version %S+)' or 'unknown',
  }
end

return M
