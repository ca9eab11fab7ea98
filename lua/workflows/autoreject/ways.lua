-- ways.lua - the three ways of cleaning under one name, with the same kind of answer.
--
-- Holds the log and the tables of types where a way gives none of its own: limits of whole types, channels that others
-- cannot predict. What decides stands in fit.lua, global.lua and ransac.lua.
local mc = require 'mascon'
local ceiling = require 'mascon.base.ceiling'
local check = require 'mascon.core.check'
local devices = require 'mascon.core.devices'
local placing = require 'mascon.core.place'
local fit = require 'workflows.autoreject.fit'
local global = require 'workflows.autoreject.global'
local log_ = require 'workflows.autoreject.log'
local options = require 'workflows.autoreject.options'
local plan = require 'workflows.autoreject.plan'
local ransac = require 'workflows.autoreject.ransac'
local report = require 'workflows.autoreject.report'
local run = require 'workflows.autoreject.run'
local source = require 'workflows.autoreject.source'
local tensor = require 'mascon.core.tensor'
local M = {}

--- Labels of epochs in which no channel is considered.
local function unlabelled(epochs) return mc.full({ epochs:count(), #epochs.channels }, mc.nan) end

local function none_bad(epochs) return mc.zeros({ epochs:count() }, { dtype = 'bool' }) end

local function names_at(epochs, picks)
  local out = {}
  for k, i in ipairs(picks) do out[k] = epochs.channels[i].name end
  return out
end

local function chosen(opts, names)
  local out = {}
  for _, k in ipairs(names) do out[k] = opts[k] end
  return out
end

-- bytes of a block of epochs on its way to averages, files and ranges
local BLOCK = 16 * 2 ^ 20

local WAYS = {}

WAYS['local'] = function(epochs, opts)
  local o = chosen(opts, { 'picks', 'random_state', 'compat', 'device', 'threads', 'max_memory', 'verbose', 'consensus',
    'n_interpolate', 'cv', 'allow_empty', 'flat', 'bad_channel',
    'partial', 'adjacency', 'adjacency_drop', 'certainty', 'mark' })
  o.thresh_method = opts.method
  local model = fit.fit(epochs, o)
  local clean, log = model:transform(epochs, { reject_log = opts.reject_log })
  return { clean = clean, log = log, types = report.types(model), warnings = model.warnings, model = model }
end

WAYS.global = function(epochs, opts)
  local o = chosen(opts, { 'picks', 'device', 'threads', 'max_memory', 'verbose', 'cv', 'method' })
  local limits, details = global.get_rejection_threshold(epochs, o)
  local labels, bad, types = unlabelled(epochs), none_bad(epochs), {}
  for _, t in ipairs(mc.meeg.channels.types(epochs.channels)) do
    if limits[t] then
      local picks, parts = epochs:picks(t), {}
      local size = math.max(1, math.floor(ceiling.block(BLOCK, epochs:work()) / (8 * #picks * epochs.samples)))
      for x in epochs:blocks { channels = picks, size = size } do
        parts[#parts + 1] = mc.gt(mc.max(x, 3) - mc.min(x, 3), limits[t])
      end
      local over = tensor.hosted(mc.concat(parts, 1))
      labels[{ mc.all, mc.tensor(picks, { dtype = 'i64' }) }] = over:to 'f64'
      bad = mc.logical_or(bad, mc.max(over:to 'u8', 2):to 'bool')
      types[#types + 1] = { type = t, channels = { 'all ' .. t }, members = names_at(epochs, picks),
        thresholds = { limits[t] },
        curves = { { tau = details[t].candidates, loss = details[t].losses } } }
    end
  end
  return { clean = epochs:drop(bad, 'AUTOREJECT'), log = log_.new(labels, bad, epochs:names()),
    types = types, warnings = {} }
end

WAYS.ransac = function(epochs, opts)
  local r = ransac.ransac(epochs, chosen(opts, { 'picks', 'compat', 'device', 'threads', 'max_memory', 'verbose' }))
  local labels, place = unlabelled(epochs), {}
  for i, c in ipairs(epochs.channels) do place[c.name] = i end
  for _, name in ipairs(r.names) do labels[{ mc.all, place[name] }] = 0 end
  for _, name in ipairs(r.bad_channels) do labels[{ mc.all, place[name] }] = 2 end
  return { clean = r:transform(epochs), log = log_.new(labels, none_bad(epochs), epochs:names()),
    types = { { type = epochs.channels[place[r.names[1]]].type, channels = r.names } },
    warnings = { tostring(r), unpack(r.warnings) }, ransac = r }
end

--- Cleans epochs in one of three ways.
---
--- local: limits by channel, repair and drop (mc.autoreject.fit); global: one limit for each type, epochs beyond it are
--- dropped (get_rejection_threshold); ransac: channels that the others cannot predict are repaired in all epochs
--- (ransac).
---@param epochs table Epochs of mc.meeg.epochs
---@param way string 'local', 'global' or 'ransac'
---@param opts? table method (search of limits) and what the function of the way takes; options of other ways are left
---  aside. reject_log: decides instead (local)
---@return table { before, clean, log, types (as the report takes them), device (its name), warnings } and model or
---  ransac
--- Errors: those of the way; an unknown way.
function M.clean(epochs, way, opts)
  if not WAYS[way] then
    check.error(('autoreject.ways.clean: way is %s; choose local, global or ransac'):format(check.show(way)), 2)
  end
  local o = opts or {}
  local r = run.with({}, function() return WAYS[way](epochs, o) end,
    source.room(epochs, { max_memory = o.max_memory and options.bytes('autoreject.ways.clean', o.max_memory) }))
  r.before = epochs
  local places = devices.numbers('autoreject.ways.clean', o.device or placing.of_analysis(), 2)
  local data = rawget(epochs, 'data')
  r.device = devices.names(places[1] == 0 and data and { data._device } or places)
  return r
end

-- measured on two cores: seconds per sample of a fit; per cube of the channels of a decomposition in field mapping; per
-- pair of points of coils
local PER_SAMPLE, PER_CUBE, PER_PAIR = 30e-9, 4.1e-10, 2.1e-6
-- points of a coil, numbers of repairs tried, blocks of epochs on their way to averages and files and what is made of
-- one
local POINTS, REPAIRS, COPIES = 4, 3, 4
-- bytes of the page for each cell of the log
local PAGE = 512

--- What cleaning by the local way should take on this machine, from sizes alone.
---@param epochs table
---@param max_memory? number|string as for the cleaning
---@return table { seconds, bytes, scratch } bytes: peak of memory beside samples that are there: a filter they are read
---  through, the fit, the clean copy, the report; scratch: of a temporary file
function M.plan(epochs, max_memory)
  local E, T, C, count, seconds = epochs:count(), epochs.samples, #epochs.channels, {}, 0
  local here, limit = rawget(epochs, 'data') ~= nil, max_memory and options.bytes('autoreject.ways.plan', max_memory)
  local size, work = tensor.size[epochs:dtype()], source.work(epochs)
  for _, c in ipairs(epochs.channels) do count[c.type] = (count[c.type] or 0) + 1 end
  local fitting, turned = 0, 0
  local limited = limit
  if limit then
    if not here then source.afford(epochs, C) end
    limit = math.max(1, limit - work)
  end
  for kind, n in pairs(count) do
    seconds = seconds + PER_SAMPLE * 2 / mc.get_num_threads() * E * n * T
    if kind == 'mag' or kind == 'grad' then
      seconds = seconds + (n + REPAIRS * E) * n ^ 3 * PER_CUBE + (POINTS * n) ^ 2 * PER_PAIR
    end
    local read = not here and source.fits(E, n, T, size, limit)
    local part = plan.plan { epochs = E, channels = n, samples = T, dtype = epochs:dtype(), in_memory = here or read,
      max_memory = limit and (read and limit - E * n * T * size or limit) }
    fitting, turned = math.max(fitting, part.bytes + (read and E * n * T * size or 0)), math.max(turned, part.scratch)
  end
  local whole = E * C * T * size
  -- what is too large for memory is repaired block by block on its way to the file
  local held = (here or source.fits(E, C, T, size, limit)) and whole or 0
  local writing = held + COPIES * math.min(BLOCK, whole) + PAGE * E * C
  return { seconds = seconds, bytes = math.min(work + math.max(fitting, writing), limited or math.huge),
    scratch = turned }
end

return M
