-- run.lua - what surrounds an analysis: the number of threads, the memory it keeps, and how far it has come.
--
-- Results depend on neither.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local M = {}

--- Bytes of freed blocks that may wait to be used again beside those in use.
M.SPARE = 64 * 2 ^ 20

--- Runs f with the threads asked for, freed memory given back beyond the room it has, and all of it at the end; sets both as they were again, also after
--- an error.
---@param o table options: threads
---@param f function
---@param room? number bytes that f may take; nothing is given back when left out
function M.with(o, f, room)
  local threads, before = o.threads and mc.get_num_threads(), nil
  if threads then mc.set_num_threads(o.threads) end
  if room then before = tonumber(lib.C.mc_memory_room_set(lib.memory_stats().live + room + M.SPARE)) end
  local ok, a, b = pcall(f)
  if threads then mc.set_num_threads(threads) end
  if room then
    lib.C.mc_memory_trim()
    lib.C.mc_memory_room_set(before)
  end
  if not ok then error(a, 0) end
  return a, b
end

-- sample points of a job that is over before a bar could be read
local SHORT = 2e8

--- A function step(samples, cells) that reports progress, or nil: to the caller's function, or to a bar for a long job.
---@param o table options: verbose
---@param total number samples of time to go through
---@param cells number of a sample of time: epochs times channels
function M.progress(o, total, cells)
  if type(o.verbose) == 'function' then
    local done = 0
    return function(n)
      done = done + n
      o.verbose(done, total)
    end
  end
  if not o.verbose or total * cells < SHORT then return nil end
  local bar = require('mascon.base.progress').new(total, { label = 'autoreject', unit = 'samples' })
  local done = 0
  return function(n)
    done = done + n
    bar:add(n)
    if done >= total then bar:done() end
  end
end

return M
