-- transform.lua - a model applied to epochs: votes, labels, repair, and what is dropped.
--
-- Holds the Model object and its two steps: a log from a model and epochs, and clean epochs from a log. Neither changes
-- the model.
local mc = require 'mascon'
local adjacency = require 'workflows.autoreject.adjacency'
local augment = require 'workflows.autoreject.augment'
local check = require 'mascon.core.check'
local log_ = require 'workflows.autoreject.log'
local repair = require 'workflows.autoreject.repair'
local run = require 'workflows.autoreject.run'
local source = require 'workflows.autoreject.source'
local stages = require 'workflows.autoreject.stages'
local state = require 'workflows.autoreject.state'
local tensor = require 'mascon.core.tensor'
local verdict = require 'workflows.autoreject.verdict'
local vote_ = require 'workflows.autoreject.vote'
local epochs_ = require 'mascon.meeg.epochs'
local error = check.error
local M = {}

local Model = {}
Model.__index = Model

--- A model from its fields.
function M.model(fields) return setmetatable(fields, Model) end

--- Whether a value is a model.
function M.is(v) return type(v) == 'table' and getmetatable(v) == Model end

--- Adds the remark about channels that were marked bad before.
function M.warn_marked(epochs, warnings)
  local n = #epochs.bads
  if n > 0 then
    warnings[#warnings + 1] =
      ('%d channels are marked as bad and left alone; unmark them to have them considered'):format(n)
  end
end

function Model:__tostring()
  local out = {}
  for k, t in ipairs(self.order) do
    out[k] = ('%s: consensus %.3g, n_interpolate %d, %d channels'):format(t, self.consensus[t], self.n_interpolate[t],
      #self.types[t].names)
  end
  return 'autoreject model; ' .. table.concat(out, '; ')
end

-- ---------------------------------------------------------------- channels

--- Where the channels of the model are in these epochs, by type: { type, picks, threshold [C] }. Channels marked bad
--- since are left out.
local function groups_of(fname, model, epochs)
  local place, marked, fitted, out = {}, {}, {}, {}
  for i, c in ipairs(epochs.channels) do place[c.name] = i end
  for _, b in ipairs(epochs.bads) do marked[b] = true end
  for _, kind in ipairs(model.order) do
    local t = model.types[kind]
    local at = {}
    for k, name in ipairs(t.names) do
      fitted[name] = true
      local i = place[name]
      if not i then
        error(('%s: channel %s was there at fit and is missing here; give the same channels, or fit again'):format(
          fname, name), 3)
      end
      if epochs.channels[i].type ~= kind then
        error(('%s: channel %s was of type %s at fit and is %s here; fit again'):format(fname, name, kind,
          epochs.channels[i].type), 3)
      end
      if not marked[name] then at[#at + 1] = { i, k } end
    end
    if #at == 0 then
      error(('%s: all %s channels are marked bad; nothing is left to judge by'):format(fname, kind), 3)
    end
    table.sort(at, function(a, b) return a[1] < b[1] end)
    local picks, rows, names = {}, {}, {}
    for k, p in ipairs(at) do picks[k], rows[k], names[k] = p[1], p[2], t.names[p[2]] end
    out[#out + 1] = { type = kind, picks = picks, names = names,
      threshold = mc.take(t.threshold, mc.tensor(rows, { dtype = 'i64' })) }
  end
  if model.given.picks == nil then
    for _, c in ipairs(epochs.channels) do
      if model.types[c.type] and not fitted[c.name] and not marked[c.name] then
        error(('%s: channel %s was not present at fit; fit again with it, pick it away, or mark it bad'):format(
          fname, c.name), 3)
      end
    end
  end
  return out
end

-- ---------------------------------------------------------------- log

--- Labels of one type into `labels` (rows of Lua numbers), bad epochs into `bad`.
local function judge(fname, model, epochs, g, labels, bad, warnings)
  local o, t = model.options, model.types[g.type]
  -- samples in a file are those that the fit has read
  local same = model.seen == epochs and #t.names == #g.picks
  local range = same and t.range or source.new(epochs, g.picks):ranges(fname)
  local vote = verdict.vote(range, g.threshold, g.names, o, warnings, t.bad_channels)
  local C, interpolator = #g.picks, nil
  if o.adjacency and augment.has(g.type) then interpolator = augment.interpolator(fname, epochs, g, o) end
  local neighbours = o.adjacency and adjacency.new(fname, o.adjacency, g.names, interpolator and interpolator.positions)
  for e = 1, vote.E do
    local b, worst = vote.count[e], vote.worst[e]
    for c = 1, C do labels[e][g.picks[c]] = log_.GOOD end
    for _, c in ipairs(worst) do labels[e][g.picks[c]] = log_.BAD end
    local chosen = { unpack(worst, 1, vote_.repaired(b, t.n_interpolate, C, o.partial)) }
    if neighbours and #chosen > 0 then
      for _, c in ipairs(neighbours:excluded(chosen, worst)) do labels[e][g.picks[c]] = log_.CLUSTER end
    end
    for _, c in ipairs(chosen) do labels[e][g.picks[c]] = log_.REPAIRED end
    bad[e] = bad[e] or vote_.is_bad(b, t.consensus, C) or o.partial == 'drop' and b > t.n_interpolate
      or neighbours and o.adjacency_drop and neighbours:largest(worst) >= o.adjacency_drop or false
  end
end

--- The log of epochs, without touching them.
---@param epochs table
---@return table log of mc.autoreject.log
--- Errors: channels that differ from those of the fit; samples that are not finite.
function Model:log(epochs)
  local fname = 'autoreject.log'
  source.check(fname, epochs)
  local labels, bad, warnings = {}, {}, {}
  for e = 1, epochs:count() do
    labels[e], bad[e] = {}, false
    for c = 1, #epochs.channels do labels[e][c] = mc.nan end
  end
  run.with(self.options, function()
    for _, g in ipairs(groups_of(fname, self, epochs)) do judge(fname, self, epochs, g, labels, bad, warnings) end
  end, source.room(epochs, self.options))
  M.warn_marked(epochs, warnings)
  local log = log_.new(mc.tensor(labels, { dtype = 'f64' }), bad, epochs:names())
  log.warnings = warnings
  return log
end

-- ---------------------------------------------------------------- clean epochs

local function check_log(fname, log, epochs)
  if not log_.is(log) then
    error(('%s: reject_log is %s; give a log (mc.autoreject.log.new or read)'):format(fname, check.show(log)), 3)
  end
  local E, C = epochs:count(), #epochs.channels
  if log.labels.ndim ~= 2 or log.labels.shape[1] ~= E or log.labels.shape[2] ~= C or log.bad_epochs:numel() ~= E then
    error(('%s: reject_log has labels %s for %d epochs of %d channels; give the log of these epochs'):format(fname,
      tostring(log.labels.shape), E, C), 3)
  end
  for c, name in ipairs(epochs:names()) do
    if log.names[c] ~= name then
      error(('%s: reject_log calls channel %d %s, the epochs call it %s; give the log of these epochs'):format(fname, c,
        tostring(log.names[c]), name), 3)
    end
  end
end

--- Cells of one type that the log wants repaired, in the rows of `kept`.
local function wanted(g, labels, kept)
  local cells, at = repair.cells(#kept, #g.picks), {}
  for row, e in ipairs(kept) do
    local list, excluded = {}, {}
    for c, i in ipairs(g.picks) do
      local l = labels[e][i]
      if l == log_.REPAIRED then list[#list + 1] = c elseif l == log_.CLUSTER then excluded[#excluded + 1] = c end
    end
    while #list + #excluded >= #g.picks do excluded[#excluded] = nil end
    if #list > 0 then at[#at + 1] = { row, cells:want(row, list, excluded), list } end
  end
  return cells:number(), at
end

--- What repairs the channels of a group, or nil where nothing is to be repaired.
local function interpolator_of(fname, model, epochs, g, labels, kept)
  local any = false
  for _, e in ipairs(kept) do
    local count, excluded = 0, 0
    for _, i in ipairs(g.picks) do
      local l = labels[e][i]
      if l == log_.REPAIRED then count = count + 1 elseif l == log_.CLUSTER then excluded = excluded + 1 end
    end
    any = any or count > 0
    if count >= #g.picks then
      error(
        ('%s: the log wants all %d %s channels of epoch %d repaired; at least one must be left to repair from'):format(
          fname, #g.picks, g.type, e), 3)
    end
  end
  if not any then return nil end
  local interpolator = augment.interpolator(fname, epochs, g, model.options)
  if interpolator or model.options.compat == 'upstream' then return interpolator end
  error(('%s: channels of type %s have no interpolator and cannot be repaired; set their labels 2 to 1'):format(
    fname, g.type), 3)
end

--- Writes repaired values of one group into data [kept, columns, T]; places: the columns of g.picks, from 1.
local function mend(g, labels, kept, data, places)
  local cells, at = wanted(g, labels, kept)
  if cells.count == 0 then return end
  mc.scope(function()
    local values = cells:repair(g.interpolator).values(stages.placed(data), mc.tensor(places, { dtype = 'i64' }) - 1)
    local row, channel, cell = {}, {}, {}
    for _, a in ipairs(at) do
      local first = cells:at(a[1], a[2])
      for i, c in ipairs(a[3]) do row[#row + 1], channel[#channel + 1], cell[#cell + 1] = a[1], places[c], first + i end
    end
    local function i64(list) return mc.tensor(list, { dtype = 'i64' }) end
    local function key(list) return i64(list):to(data.device) end
    local new = mc.take(values, i64(cell):to(values.device), 1)
    data[{ key(row), key(channel) }] = new:to { dtype = data.dtype, device = data.device }
  end)
end

--- Epochs whose cells are repaired when they are read, for sets that memory does not hold.
--- rows[k]: the row of labels of epoch k.
local function mended(model, clean, groups, labels, rows)
  return epochs_.behind(clean, function(which, picks)
    local need, column, kept = { unpack(picks) }, {}, {}
    for k, i in ipairs(picks) do column[i] = k end
    for k, i in ipairs(which) do kept[k] = rows[i] end
    local touched = {}
    for _, g in ipairs(groups) do
      local here = false
      for _, i in ipairs(g.picks) do here = here or column[i] ~= nil end
      if here then touched[#touched + 1] = g end
    end
    for _, g in ipairs(touched) do
      for _, i in ipairs(g.picks) do
        if not column[i] then
          need[#need + 1] = i
          column[i] = #need
        end
      end
    end
    local data = clean:read { epochs = which, channels = need }
    run.with(model.options, function()
      for _, g in ipairs(touched) do
        local places = {}
        for c, i in ipairs(g.picks) do places[c] = column[i] end
        mend(g, labels, kept, data, places)
      end
    end)
    return #need == #picks and data or data[{ mc.all, { 1, #picks } }]:contiguous()
  end)
end

--- Groups whose channels repair each other: each type for itself; upstream judges magnetometers and gradiometers apart,
--- but repairs them from both.
local function repaired_together(model, groups)
  if model.options.compat ~= 'upstream' or not (model.types.mag and model.types.grad) then return groups end
  local out, meg = {}, nil
  for _, g in ipairs(groups) do
    if g.type ~= 'mag' and g.type ~= 'grad' then out[#out + 1] = g
    elseif not meg then
      meg = { type = g.type, picks = { unpack(g.picks) } }
      out[#out + 1] = meg
    else
      for _, i in ipairs(g.picks) do table.insert(meg.picks, i) end
      table.sort(meg.picks)
    end
  end
  return out
end

--- Says for which types no pair of consensus and number of repairs was possible.
local function ruled_out(model)
  for _, kind in ipairs(model.order) do
    if not mc.any(mc.isfinite(model.loss[kind])) then
      return ('every pair of consensus and n_interpolate is ruled out for %s (consensus times %d channels must exceed '
        .. 'n_interpolate, and an epoch must be left): give others, or '):format(
          kind, #model.types[kind].names)
    end
  end
  return ''
end

local OPTS = { reject_log = { nil, 'any' }, allow_empty = { nil, 'bool' }, mark = { nil, 'bool' } }

--- Repairs and drops as the model decides, or as a log says that was decided elsewhere or edited by hand.
---@param epochs table of the channels the model was fitted on, the same epochs or others
---@param opts? table reject_log (a log of these epochs, overrides the model) · mark (bad epochs stay, unchanged; the
---  log tells which) · allow_empty (no error when every epoch is bad); the last two default to what the fit was given
---@return table clean epochs, new samples; bad epochs dropped with the reason AUTOREJECT. Of a set
---  in a file that takes more than half of max_memory (of 1 GiB where that is not given), samples are repaired as they
---  are read: keep the file open
---@return table log
--- Errors: channels that differ from those of the fit; a log of another kind, shape or names; every epoch bad.
function Model:transform(epochs, opts)
  local fname = 'autoreject.transform'
  local o = check.opts(fname, opts, OPTS)
  source.check(fname, epochs)
  local groups = groups_of(fname, self, epochs)
  if o.reject_log ~= nil then check_log(fname, o.reject_log, epochs) end
  local log = o.reject_log or self:log(epochs)
  local mark, empty = o.mark, o.allow_empty
  if mark == nil then mark = self.options.mark end
  if empty == nil then empty = self.options.allow_empty end
  local labels, bad, kept = log.labels:totable(), log.bad_epochs:totable(), {}
  for e = 1, #bad do
    if not bad[e] then kept[#kept + 1] = e end
  end
  if #kept == 0 and not empty and not mark then
    error(('%s: all %d epochs are bad; %slook at the log (model:log), raise consensus, or give allow_empty = true')
      :format(fname, #bad, ruled_out(self)), 2)
  end
  local rows = kept
  if mark then
    rows = {}
    for e = 1, #bad do
      rows[e] = e
      if bad[e] then labels[e] = {} end
    end
  end
  local clean = mark and epochs:copy() or epochs:drop(log.bad_epochs, 'AUTOREJECT')
  if #rows == 0 then return clean, log end
  local repaired = {}
  for _, g in ipairs(repaired_together(self, groups)) do
    g.interpolator = interpolator_of(fname, self, epochs, g, labels, rows)
    if g.interpolator then repaired[#repaired + 1] = g end
  end
  local shared = rawget(clean, 'data')
  local size, limit = tensor.size[epochs:dtype()], source.share(epochs, self.options)
  if not shared and not source.fits(#rows, #epochs.channels, epochs.samples, size, limit) then
    return #repaired > 0 and mended(self, clean, repaired, labels, rows) or clean, log
  end
  local data = shared or clean:read()
  if shared and not mark and #rows == #bad then data = data:copy() end
  run.with(self.options, function()
    for _, g in ipairs(repaired) do mend(g, labels, rows, data, g.picks) end
  end)
  clean.data, clean._source = data, nil
  return clean, log
end

-- ---------------------------------------------------------------- file

--- Writes the model to one .npz file.
---@param path string
---@param opts? table overwrite false
--- Errors: a file that is there; what cannot be written.
function Model:save(path, opts)
  log_.free('autoreject.save', path, opts)
  state.write(self, path)
end

return M
