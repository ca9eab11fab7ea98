-- fit.lua - the local analysis: thresholds, then how many bad channels make an epoch bad and how many are repaired.
--
-- Chains thresholds, votes and cross-validation for each type of channel and makes the model that transform.lua
-- applies. Holds the fields of a model.
local adjacency = require 'workflows.autoreject.adjacency'
local augment = require 'workflows.autoreject.augment'
local certainty = require 'workflows.autoreject.certainty'
local check = require 'mascon.core.check'
local cv = require 'workflows.autoreject.cv'
local folds = require 'workflows.autoreject.folds'
local options = require 'workflows.autoreject.options'
local run = require 'workflows.autoreject.run'
local source = require 'workflows.autoreject.source'
local thresholds = require 'workflows.autoreject.thresholds'
local transform = require 'workflows.autoreject.transform'
local verdict = require 'workflows.autoreject.verdict'
local error = check.error
local M = {}

local function names_of(epochs, picks)
  local out = {}
  for k, i in ipairs(picks) do out[k] = epochs.channels[i].name end
  return out
end

--- Repair limits of one type: what is asked for where there is an interpolator, none where there is none.
local function limits_of(fname, o, g, list, warnings)
  if g.interpolator or o.compat == 'upstream' then return list end
  if o.n_interpolate then
    for _, r in ipairs(list) do
      if r == 0 then return { 0 } end
    end
    error(('%s: channels of type %s have no interpolator, so they cannot be repaired; add 0 to n_interpolate'):format(
      fname, g.type), 3)
  end
  warnings[#warnings + 1] = ('%s channels have no interpolator: epochs are kept or dropped as they are'):format(g.type)
  return { 0 }
end

--- Epochs with too large a cluster of bad neighbours, as a set, or nil.
local function clustered(o, neighbours, vote)
  if not (neighbours and o.adjacency_drop) then return nil end
  local out = {}
  for e = 1, vote.E do
    if neighbours:largest(vote.worst[e]) >= o.adjacency_drop then out[e] = true end
  end
  return out
end

--- Thresholds of one type, searched for or given.
local function limits(fname, o, epochs, g, s, W, step)
  if o.thresholds then return { threshold = thresholds.given(fname, o.thresholds, epochs, g.picks) } end
  local job = { fname = fname, source = s, seed = o.seed, W = W,
    doubled = o.augment and o.compat == 'upstream', step = step }
  local curve = thresholds.curve(job)
  local chosen = thresholds.choose(o.thresh_method, curve, o.seed, o.compat)
  if o.certainty == 0 then curve.folds = curve.folds:release() end -- the largest table, for resampling alone
  return { threshold = chosen.threshold, loss = chosen.loss, index = chosen.index, candidates = curve.candidates,
    losses = curve.mean, folds = curve.folds, job = job }
end

--- Everything about one type of channel.
local function fit_type(fname, o, epochs, g, list, split, model)
  local s = source.new(epochs, g.picks)
  local W = not o.thresholds and o.augment and g.interpolator and g.interpolator.weights() or nil
  local range = s:ranges(fname, W)
  local step = run.progress(o, 2 * s.T, s.E * s.C)
  local found = limits(fname, o, epochs, g, s, W, step)
  local names = names_of(epochs, g.picks)
  local vote, spoken = verdict.vote(range, found.threshold, names, o, model.warnings)
  local neighbours = o.adjacency
    and adjacency.new(fname, o.adjacency, names, g.interpolator and g.interpolator.positions)
  local rho = limits_of(fname, o, g, list, model.warnings)
  local loss = cv.losses {
    fname = fname, source = s, vote = vote, folds = split, consensus = model.consensus_grid, n_interpolate = rho,
    interpolator = g.interpolator, compat = o.compat, partial = o.partial,
    neighbours = neighbours, dropped = clustered(o, neighbours, vote), step = step,
  }
  local i, j, mean = cv.choose(loss)
  local t = {
    type = g.type, names = names, threshold = found.threshold, range = range, candidates = found.candidates,
    losses = found.losses, threshold_loss = found.loss, index = found.index, consensus = model.consensus_grid[i],
    n_interpolate = rho[j], consensus_index = i, n_interpolate_index = j, n_interpolate_grid = rho, loss = loss,
    mean_loss = mean, bad_channels = spoken,
  }
  if o.certainty > 0 and found.job then t.certainty = certainty.of(found, vote, o) end
  s:close()
  return t
end

--- Finds what is bad in a set of epochs: a limit for each channel, how many bad channels make an epoch bad, how many
--- are repaired.
---
--- For each type of channel: 1. the limit of each channel with the lowest loss over stratified splits of the epochs, as
--- they are and as the other channels predict them; 2. every channel votes on every epoch; 3. for each consensus kappa
--- and repair limit rho, contiguous folds: the loss is the distance between the mean of the repaired training epochs
--- with fewer than kappa C bad channels and the median of the test epochs as recorded; the pair of lowest loss is kept.
--- All candidate limits are tried, not a sample of them, from one running sum a fold: medians belong to the fold and
--- not to the limit, and a limit decides only how many of the quietest rows are kept.
---@param epochs table Epochs of mc.meeg.epochs, E epochs, C channels of a type, T samples; in memory or in a file
---@param opts? table n_interpolate {1, 4, min(P - 1, 32)} of P picked channels · consensus {0, 0.1, ..., 1} fractions
---  of C · cv 10, or a list of { train, test } · picks (names, types, 1-based numbers; default all of mag, grad, eeg,
---  hbo, hbr, ecog, seeg but marked bads) · thresh_method 'exact'|'bayesian_optimization'|'random_search' ·
---  random_state integer (drawn and recorded when left out) · verbose true (a bar for long jobs; or a function(done,
---  total)) · compat 'native'|'upstream' · augment true · alpha 1e-5, centre 'none'|'fit'|{x, y, z} of the splines
---  · thresholds (by name, instead of a search) · device (a name, or a list of names that share the work) · threads
---  · max_memory bytes or "2GiB" (samples in a file that take more than half of it, or of 1 GiB, pass through a
---  temporary file of their size in the folder TMPDIR, else /var/tmp; mc.autoreject.plan says so before) · and, off by
---  default: certainty (number of seeds beside the first; how sure each vote is) · adjacency (true, radius in m, or
---  pairs of names: bad neighbours of a repaired channel are no sources, label 3) · adjacency_drop (bad channels in a
---  cluster that make an epoch bad) · partial 'drop' (epochs with more than rho bad channels are bad) · mark
---  (transform keeps bad epochs) · allow_empty · flat (V: cells of at most this range are bad) · bad_channel
---  (fraction of epochs: channels that are bad more often are bad in all)
---@return table model thresholds (by name), consensus, n_interpolate (by type), loss f64 [consensus, n_interpolate,
---  folds] (by type), types (by type: what was found, with candidates, losses and ranges), order (types), seed,
---  warnings; :transform(epochs, opts), :log(epochs), :save(path)
--- Errors: what is no set of epochs; options out of range; positions that are not valid; samples that are not finite,
--- with epoch and channel; fewer epochs than folds; too few channels.
--- Source: Autoreject: automated artifact rejection for MEG and EEG data, NeuroImage 159, 417, 2017.
function M.fit(epochs, opts)
  local fname = 'autoreject.fit'
  local o = options.complete(fname, opts, options.FIT)
  source.check(fname, epochs)
  local model = { options = o, given = opts or {}, seed = o.seed, warnings = {}, thresholds = {}, consensus = {},
    n_interpolate = {}, loss = {}, types = {}, order = {} }
  model.consensus_grid = options.consensus(fname, o.consensus)
  local groups, picks = source.groups(fname, epochs, o.picks)
  local list = options.n_interpolate(fname, o.n_interpolate, #picks)
  local split = folds.of(o.cv, epochs:count())
  for _, g in ipairs(groups) do
    g.interpolator = augment.interpolator(fname, epochs, g, o, list)
    if g.interpolator and g.interpolator.doubt then table.insert(model.warnings, g.interpolator.doubt) end
  end
  if o.bad_channel and o.bad_channel > 1 then
    error(('%s: bad_channel is %g; give a share of the epochs, up to 1'):format(fname, o.bad_channel), 2)
  end
  if o.adjacency_drop and not o.adjacency then
    error(fname .. ': adjacency_drop counts neighbours; give adjacency = true, a radius in metres, or pairs of names',
      2)
  end
  transform.warn_marked(epochs, model.warnings)
  run.with(o, function()
    model.seen = not rawget(epochs, 'data') and epochs or nil
    for k, g in ipairs(groups) do
      local t = fit_type(fname, o, epochs, g, list, split, model)
      local limit = t.threshold:totable()
      for c, name in ipairs(t.names) do model.thresholds[name] = limit[c] end
      model.order[k], model.types[g.type] = g.type, t
      model.consensus[g.type], model.n_interpolate[g.type], model.loss[g.type] = t.consensus, t.n_interpolate, t.loss
    end
  end, source.room(epochs, o))
  return transform.model(model)
end

--- fit, then transform of the same epochs.
---@param epochs table
---@param opts? table as for fit
---@return table clean epochs
---@return table log
---@return table model
function M.fit_transform(epochs, opts)
  local model = M.fit(epochs, opts)
  local clean, log = model:transform(epochs)
  return clean, log, model
end

return M
