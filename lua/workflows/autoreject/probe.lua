-- probe.lua - how long a cleaning will take here, from the same stages run on a few of the epochs.
--
-- Cleans two small sets in turn and writes their results to a folder of its own, so that what does not grow with the
-- epochs is told from what does. Reading, hashes and the scratch file are added from rates measured beside it.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local clock = require 'mascon.base.clock'
local devices = require 'mascon.core.devices'
local place = require 'mascon.core.place'
local portions = require 'mascon.base.portions'
local stages = require 'workflows.autoreject.stages'
local tensor = require 'mascon.core.tensor'
local M = {}

-- samples of the smaller set, at least; epochs whose reading is timed; passes over a file of what is held then, and of
-- what is done block by block; seconds per byte of a scratch file, written and read twice
local SAMPLES, READ, HELD, BLOCKS, SCRATCH = 1e6, 32, 3, 4, 2e-9

--- The first n epochs: what lies side by side is filtered together.
local function some(epochs, n)
  local drop = {}
  for e = 1, epochs:count() do drop[e] = e > n end
  return epochs:drop(drop, 'PROBE')
end

--- Seconds of cleaning and of writing the results.
---@param epochs table
---@param way string as for ways.clean
---@param opts table as for ways.clean
---@param plan table of ways.plan: scratch
---@param inputs number bytes of the files that are hashed
---@return number seconds
---@return number|nil bytes on each device at the peak, at most: of cleaning on devices
function M.seconds(epochs, way, opts, plan, inputs)
  local E, C, T = epochs:count(), #epochs.channels, epochs.samples
  local per = C * T
  local least = math.min(E, math.max((opts.cv or 10) + 2, math.ceil(SAMPLES / per)))
  local sizes = 2 * least <= E and { least, 2 * least } or { E }
  local o = {}
  for k, v in pairs(opts) do o[k] = v end
  o.verbose, o.allow_empty, o.reject_log = false, true, nil
  local took, places, there = {}, devices.numbers('autoreject', opts.device or place.of_analysis(), 2), nil
  local ways, results = require 'workflows.autoreject.ways', require 'workflows.autoreject.results'
  for i, n in ipairs(sizes) do
    local set = n == E and epochs or some(epochs, n)
    local folder = os.tmpname()
    os.remove(folder)
    mc.scope(function() -- opens what is loaded once
      if i == 1 then mc.matmul(mc.ones { 64, 64 }, mc.ones { 64, 64 }) end
    end)
    local function probe()
      took[i] = clock.taken(function()
        local r = ways.clean(set, way, o)
        results.folder(folder, true)
        results.write(folder, r)
      end)
    end
    if places[1] > 0 then
      local held = 8 * n * per
      local bytes = portions.taken(places, probe)
      there = portions.most(math.max(bytes - held, 0), E / n) + stages.room(places[1], 8 * E * per)
    else probe() end
    lib.C.mc_memory_trim()
    os.execute(("rm -rf '%s'"):format(folder))
  end
  local seconds = took[1]
  if #sizes == 2 then
    local slope = math.max(0, took[2] - took[1]) / least
    seconds = took[1] + slope * (E - least)
  end
  local size = tensor.size[epochs:dtype()]
  if not rawget(epochs, 'data') and #sizes == 2 then
    local n, passes = math.min(E, READ), plan.scratch > 0 and BLOCKS or HELD
    epochs:forget()
    local each, read, last = {}, 0, n + 1
    for e = 1, n do
      each[e] = clock.taken(function() mc.scope(function() epochs:read { first = e, last = e } end) end)
    end
    -- a filter works block by block: whole blocks count
    for e = n, 2, -1 do
      if each[e] > each[1] / 2 then
        last = e
        break
      end
    end
    for e = 1, last - 1 do read = read + each[e] / (last - 1) end
    epochs:forget()
    seconds = seconds + passes * read * (E - least) + plan.scratch * SCRATCH
  end
  -- inputs, cleaned samples, the file of them
  return seconds + mc.manifest.hash_seconds(inputs + (size + 4) * E * per), there
end

return M
