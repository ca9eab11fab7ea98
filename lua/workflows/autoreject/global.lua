-- global.lua - one limit for all channels of a type.
--
-- Holds get_rejection_threshold and validation_curve: an epoch has one value, its largest range, and a threshold that
-- keeps no epoch costs +inf.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local bayesian = require 'workflows.autoreject.bayesian'
local curves = require 'workflows.autoreject.curves'
local exact = require 'workflows.autoreject.exact'
local folds = require 'workflows.autoreject.folds'
local options = require 'workflows.autoreject.options'
local run = require 'workflows.autoreject.run'
local source = require 'workflows.autoreject.source'
local error = check.error
local M = {}

local TYPES = { 'mag', 'grad', 'eeg', 'eog', 'hbo', 'hbr', 'ecog', 'seeg' }
local KNOWN = {}
for _, t in ipairs(TYPES) do KNOWN[t] = true end

local function types_of(fname, v)
  if v == nil then return TYPES end
  if type(v) == 'string' then v = { v } end
  if type(v) ~= 'table' then
    error(('%s: ch_types is %s; give a type, a list of types, or nothing for all'):format(fname, check.show(v)), 3)
  end
  for i, t in ipairs(v) do
    if not KNOWN[t] then
      local near = type(t) == 'string' and check.nearest(t, TYPES)
      error(('%s: ch_types[%d] is %s%s; types are %s'):format(fname, i, check.show(t),
        near and (' (did you mean %q?)'):format(near) or '', table.concat(TYPES, ', ')), 3)
    end
  end
  return v
end

--- Every decim-th sample, the one at time 0 among them.
local function thinned(epochs, decim)
  if decim == 1 then return epochs end
  local first = math.floor(-epochs.tmin * epochs.fs + 0.5) % decim
  local out = setmetatable({}, getmetatable(epochs))
  for k, v in pairs(epochs) do out[k] = v end
  local data = rawget(epochs, 'data') or epochs:read()
  out.data = data[{ mc.all, mc.all, { first + 1, epochs.samples, decim } }]:contiguous()
  out.samples, out.fs, out.tmin, out._source = out.data.shape[3], epochs.fs / decim,
    epochs.tmin + first / epochs.fs, nil
  return out
end

--- One peak-to-peak limit for each type of channel, the `reject` table for cutting epochs.
---
--- The value of an epoch is its largest range over the channels of the type. Of all E values the one with the lowest
--- loss in contiguous folds: the distance, over channels and time, between the mean of the epochs it keeps and the
--- median of those held out.
---@param epochs table Epochs of mc.meeg.epochs
---@param opts? table ch_types (nil: all of mag, grad, eeg, eog, hbo, hbr, ecog, seeg that are there; a type; a list) ·
---  decim 1 · cv 5 or a list of { train, test } · method 'exact', or 'bayesian_optimization' as upstream searches ·
---  random_state (without effect here) · threads · max_memory · verbose
---@return table<string, number> limits by type; types without channels are left out
---@return table details by type { candidates f64 [E], losses f64 [E], loss }
--- Errors: an unknown type; fewer epochs than folds; samples that are not finite.
function M.get_rejection_threshold(epochs, opts)
  local fname = 'autoreject.get_rejection_threshold'
  local o = options.complete(fname, opts, options.GLOBAL)
  source.check(fname, epochs)
  if o.method == 'random_search' then
    error(fname .. ": method is 'random_search'; choose exact or bayesian_optimization", 2)
  end
  local types = types_of(fname, o.ch_types)
  local thin = thinned(epochs, o.decim)
  local split = folds.of(o.cv, epochs:count())
  local out, details, there = {}, {}, {}
  for i, c in ipairs(epochs.channels) do
    local marked = false
    for _, b in ipairs(epochs.bads) do marked = marked or b == c.name end
    if not marked then
      there[c.type] = there[c.type] or {}
      table.insert(there[c.type], i)
    end
  end
  run.with(o, function()
    for _, t in ipairs(types) do
      if there[t] then
        local curve = curves.compute { fname = fname, source = source.new(thin, there[t]),
          folds = split, pooled = true }
        local chosen
        if o.method == 'exact' then chosen = exact.choose(curve.candidates, curve.mean)
        else chosen = bayesian.choose(curve.candidates, curve.mean, 5) end
        out[t] = chosen.threshold:item()
        details[t] = { candidates = curve.candidates[1], losses = curve.mean[1], loss = chosen.loss:item() }
      end
    end
  end, source.room(thin, o))
  return out, details
end

--- Scores of the global limit at given values: minus the loss, on the training and on the test epochs.
---@param epochs table Epochs of mc.meeg.epochs
---@param opts? table param_range (list or tensor, ascending; 15 even values between the least and the largest range) ·
---  cv 5 · picks · threads · max_memory
---@return table train f64 [n, K] · test f64 [n, K] · range f64 [n]
--- Errors: as get_rejection_threshold; values that do not ascend.
function M.validation_curve(epochs, opts)
  local fname = 'autoreject.validation_curve'
  local o = options.complete(fname, opts, options.CURVE)
  source.check(fname, epochs)
  local _, picks = source.groups(fname, epochs, o.picks)
  local split = folds.of(o.cv, epochs:count())
  local result = run.with(o, function()
    local s = source.new(epochs, picks)
    local range = o.param_range and mc.tensor(o.param_range):to 'f64' or nil
    if not range then
      local q = s:ranges(fname)
      range = mc.linspace(mc.min(q):item(), mc.max(q):item(), 15)
    end
    local n = range:numel()
    if n > 1 and not mc.all(mc.ge(range[{ { 2, n } }], range[{ { 1, n - 1 } }])) then
      error(fname .. ': param_range does not ascend; sort it', 2)
    end
    local out = { range = range }
    for _, side in ipairs { 'train', 'test' } do
      local curve = curves.compute { fname = fname, source = s, folds = split, pooled = true, middle = side,
        at = range:reshape(1, n) }
      out[side] = -curve.folds[1].T:contiguous()
    end
    return out
  end, source.room(epochs, o))
  return result
end

return M
