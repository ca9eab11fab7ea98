-- run.lua - what surrounds an analysis: threads, the device, the memory it keeps, and how far it has come.
--
-- Results depend on neither.
local mc = require 'mascon'
local ceiling = require 'mascon.base.ceiling'
local stages = require 'workflows.autoreject.stages'
local M = {}

--- Runs f with the threads asked for, on the device and in the memory it has; sets all as they were again, also after
--- an error.
---@param o table options: threads, places, shared
---@param f function
---@param room? number bytes that f may take beside what is resident (mascon.base.ceiling)
function M.with(o, f, room)
  local threads = o.threads and mc.get_num_threads()
  if threads then mc.set_num_threads(o.threads) end
  local ok, a, b = pcall(stages.on, o, function() return ceiling.beside(room, f) end)
  if threads then mc.set_num_threads(threads) end
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
