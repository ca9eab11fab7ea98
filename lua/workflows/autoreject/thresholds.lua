-- thresholds.lua - one limit of peak-to-peak amplitude for each channel.
--
-- Chains the parts: interpolated rows, folds, losses of all candidates, the choice among them. Decides the order of
-- these steps and the public compute_thresholds.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local augment = require 'workflows.autoreject.augment'
local bayesian = require 'workflows.autoreject.bayesian'
local curves = require 'workflows.autoreject.curves'
local exact = require 'workflows.autoreject.exact'
local folds = require 'workflows.autoreject.folds'
local options = require 'workflows.autoreject.options'
local random_search = require 'workflows.autoreject.random_search'
local run = require 'workflows.autoreject.run'
local source = require 'workflows.autoreject.source'
local error = check.error
local M = {}

--- Chooses by name among the candidates of a curve.
---@param method string 'exact', 'bayesian_optimization' or 'random_search'
---@param curve table of curves.compute
---@param seed integer
---@param compat string
---@return table index, threshold, loss
function M.choose(method, curve, seed, compat)
  if method == 'exact' then return exact.choose(curve.candidates, curve.mean) end
  if method == 'random_search' then return random_search.choose(curve.candidates, curve.mean, seed, compat) end
  return bayesian.choose(curve.candidates, curve.mean)
end

--- Classes of rows for the split: originals and interpolated ones, or originals alone.
local function classes(E, augmented) return augmented and { E, E } or { E } end

--- Losses of all candidates of the channels of one source.
---@param job table fname, source, seed, W f64 [C, C] or nil (the rows made by interpolation), doubled (compat:
---  originals twice), step
---@return table curve
function M.curve(job)
  local W = job.W
  if not W and job.doubled then W = mc.eye(job.source.C) end
  local split = folds.stratified(classes(job.source.E, W ~= nil), { seed = job.seed })
  return curves.compute { fname = job.fname, source = job.source, W = W, folds = split, step = job.step }
end

--- Peak-to-peak limit of each picked channel.
---
--- For each channel the threshold with the lowest mean loss over ten stratified splits of the epochs, seen as they are
--- and as the other channels predict them. The loss is the distance between the mean of what the threshold keeps and
--- the median of what was held out.
---@param epochs table Epochs of mc.meeg.epochs
---@param opts? table method 'exact'|'bayesian_optimization'|'random_search' · augment true (needs positions; without an
---  interpolator for the type the epochs alone) · random_state (integer; drawn and recorded when left out) · picks ·
---  alpha 1e-5, centre 'none'|'fit'|{x, y, z} of the splines · compat 'native'|'upstream' · threads · max_memory bytes
---  or "2GiB" · verbose
---@return table<string, number> thresholds by channel name, in the unit of the data
---@return table details by type { names, threshold, loss, index, candidates, losses, folds } and seed
--- Errors: what is no set of epochs; an unknown method; samples that are not finite; positions that are not valid; too
--- few epochs.
--- Source: Autoreject: automated artifact rejection for MEG and EEG data, NeuroImage 159, 417, 2017; all candidates
--- instead of a search.
function M.compute_thresholds(epochs, opts)
  local fname = 'autoreject.compute_thresholds'
  local o = options.complete(fname, opts, options.THRESHOLDS)
  source.check(fname, epochs)
  local groups = source.groups(fname, epochs, o.picks)
  for _, g in ipairs(groups) do g.interpolator = o.augment and augment.interpolator(fname, epochs, g, o) or nil end
  local out, details = {}, { seed = o.seed }
  run.with(o, function()
    for _, g in ipairs(groups) do
      local s = source.new(epochs, g.picks)
      local curve = M.curve { fname = fname, source = s, seed = o.seed, W = g.interpolator and g.interpolator.weights(),
        doubled = o.augment and o.compat == 'upstream' }
      local chosen = M.choose(o.method, curve, o.seed, o.compat)
      local names, list = {}, chosen.threshold:totable()
      for k, i in ipairs(g.picks) do
        names[k] = epochs.channels[i].name
        out[names[k]] = list[k]
      end
      details[g.type] = { names = names, threshold = chosen.threshold, loss = chosen.loss, index = chosen.index,
        candidates = curve.candidates, losses = curve.mean, folds = curve.folds }
    end
  end, source.room(epochs, o))
  return out, details
end

--- Thresholds that are given instead of searched for.
---@param fname string
---@param given table<string, number>
---@param epochs table
---@param picks integer[]
---@return any f64 [C]
function M.given(fname, given, epochs, picks)
  local list = {}
  for k, i in ipairs(picks) do
    local name = epochs.channels[i].name
    local t = given[name]
    if type(t) ~= 'number' or t ~= t then
      error(('%s: thresholds hold %s for channel %s; give a number for each picked channel'):format(fname,
        check.show(t), name), 3)
    end
    list[k] = t
  end
  return mc.tensor(list)
end

return M
