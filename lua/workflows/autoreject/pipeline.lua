-- pipeline.lua - the sequence seen in labs as one call: high-pass, epochs around events, local analysis, report.
--
-- Decides the order of the steps and what of them is handed back. Each step stands alone elsewhere.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local fit = require 'workflows.autoreject.fit'
local options = require 'workflows.autoreject.options'
local run = require 'workflows.autoreject.run'
local error = check.error
local M = {}

local OPTS = {
  highpass = { 1, 'number > 0' }, lowpass = { nil, 'number > 0' }, events = { nil, 'any' }, event_id = { nil, 'any' },
  tmin = { -0.2, 'number' }, tmax = { 0.5, 'number' },
  baseline = { nil, 'table' }, detrend = { nil, { 'constant', 'linear' } }, reject_by_annotation = { true, 'bool' },
  montage = { nil, 'string | table' }, fit = { {}, 'table' }, report = { true, 'bool' },
}
-- positions for channels whose file knows none
local MONTAGE = '10-05'

--- Positions by name where the file has none.
local function placed(raw, montage)
  local missing = false
  for _, c in ipairs(raw.channels) do missing = missing or c.type == 'eeg' and not c.position end
  if not (missing or montage) then return nil end
  local list, report = mc.meeg.montage.join(raw.channels, montage or MONTAGE, { overwrite = montage ~= nil })
  raw.channels = list
  return report.text
end

local function page(r, o, remarks)
  local report, warnings = require 'workflows.autoreject.report', { unpack(remarks) }
  local types = report.types(r.model)
  local averages = require('workflows.autoreject.results').averages(types, r.epochs, r.clean)
  for _, w in ipairs(r.model.warnings) do warnings[#warnings + 1] = w end
  local settings = { { 'high-pass, Hz', o.highpass }, { 'from, s', o.tmin }, { 'to, s', o.tmax },
    { 'seed', r.model.seed }, { 'search', r.model.options.thresh_method } }
  return report.page { log = r.log, types = types, channels = r.epochs.channels, evoked = averages, settings = settings,
    warnings = warnings }
end

--- fit.max_memory, and how it is dealt out: bytes for the filter, options of the fit. Nothing is dealt out when nothing
--- is said.
local function shares(fname, given)
  if not given.max_memory then return nil, nil, given end
  local limit, o = options.bytes(fname, given.max_memory), {}
  for k, v in pairs(given) do o[k] = v end
  o.max_memory = limit - limit / 4
  return limit, limit / 4, o
end

--- From a recording to clean epochs and a report.
---
--- Filters, cuts, fits the local analysis and applies it. EEG channels without position get the one of their name. With
--- fit.max_memory, which then holds for the filter and the fit together, epochs that take more than half of it stay in
--- the recording and are read through the filter.
---@param recording any path of a file, or a Raw of mc.meeg.raw
---@param opts? table highpass 1 Hz · lowpass Hz · events (i64 [n, 3], a list of rows, or a pattern of annotations) ·
---  event_id · tmin -0.2, tmax 0.5 s · baseline { from, to } s · detrend 'constant'|'linear' · reject_by_annotation
---  true · montage (name or table; given, it replaces positions) · fit (options of mc.autoreject.fit) · report true
---@return table result epochs (as cut), clean, log, model, html (the report, a page), warnings
--- Errors: those of the steps; no epoch left after cutting.
--- Source: section 3 of Autoreject: automated artifact rejection for MEG and EEG data, NeuroImage 159, 417, 2017;
--- high-pass before epoching as its manual advises.
function M.pipeline(recording, opts)
  local fname = 'autoreject.pipeline'
  local o = check.opts(fname, opts, OPTS)
  local raw = recording
  if type(recording) == 'string' then raw = mc.meeg.raw.open(recording) end
  if not mc.meeg.raw.is(raw) then
    error(('%s: the recording is %s; give a path or a Raw of mc.meeg.raw'):format(fname, check.show(recording)), 2)
  end
  local limit, room, fitting = shares(fname, o.fit)
  local result = run.with({}, function()
    local remarks = {}
    local filtered = raw:filter { highpass = o.highpass, lowpass = o.lowpass, max_memory = room }
    remarks[1] = placed(filtered, o.montage)
    local epochs = mc.meeg.epochs.cut(filtered, { events = o.events, event_id = o.event_id, tmin = o.tmin,
      tmax = o.tmax, baseline = o.baseline, detrend = o.detrend,
      reject_by_annotation = o.reject_by_annotation })
    if epochs:count() == 0 then
      error(fname .. ': no epoch is left after cutting; look at events, tmin, tmax and annotations', 4)
    end
    if not limit or epochs:count() * #epochs.channels * epochs.samples * 8 <= limit / 2 then epochs:load() end
    local r = { epochs = epochs, warnings = remarks }
    r.clean, r.log, r.model = fit.fit_transform(epochs, fitting)
    if o.report then r.html = page(r, o, remarks) end
    return r
  end, limit)
  return result
end

return M
