--- mascon.autoreject.run: what surrounds an analysis: the number of threads, and how far it has come.
--
-- Owns nothing else. Results depend on neither.
local mc = require 'mascon'
local M = {}

--- Runs f with the threads asked for; sets the former number again, also after an error.
---@param o table options: threads
---@param f function
function M.with(o, f)
  if not o.threads then return f() end
  local before = mc.get_num_threads()
  mc.set_num_threads(o.threads)
  local ok, a, b = pcall(f)
  mc.set_num_threads(before)
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
  local bar = require('mascon.progress').new(total, { label = 'autoreject', unit = 'samples' })
  local done = 0
  return function(n)
    done = done + n
    bar:add(n)
    if done >= total then bar:done() end
  end
end

return M
