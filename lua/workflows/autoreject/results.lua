-- results.lua - the folder a cleaning leaves behind.
--
-- Holds names and order of its files: clean epochs, log, thresholds, figures, page. What they show is in report.lua.
local mc = require 'mascon'
local ceiling = require 'mascon.base.ceiling'
local epochs_ = require 'mascon.meeg.epochs'
local report = require 'workflows.autoreject.report'
local run = require 'workflows.autoreject.run'
local M = {}

-- bytes of a block of epochs on its way to an average; of such blocks on their way to averages and files
local BLOCK, ROOM = 2 ^ 24, 64 * 2 ^ 20

--- Names of the files that every cleaning leaves.
M.FILES = { 'cleaned-epo.fif', 'reject_log.npz', 'thresholds.csv', 'report.html' }

--- Makes the folder, or refuses: before the work, not after it.
---@param dir string
---@param overwrite? boolean whether results of a cleaning that are there may be replaced
--- Errors: a folder that cannot be made; results that are there.
function M.folder(dir, overwrite)
  local names = { unpack(M.FILES) }
  names[#names + 1] = mc.manifest.NAME
  mc.results.folder('--out', dir, { overwrite = overwrite, names = names })
end

--- Average over epochs, block by block: f64 [#picks, T].
---@param epochs table
---@param picks integer[]
function M.average(epochs, picks)
  local size = math.max(1, math.floor(ceiling.block(BLOCK, epochs:work()) / (8 * #picks * epochs.samples)))
  local sum, next_ = mc.zeros { #picks, epochs.samples }, epochs:blocks { channels = picks, size = size }
  local left = true
  while left do
    left = mc.scope(function()
      local x = next_()
      for e = 1, x and x.shape[1] or 0 do mc.add(sum, x[e]:to 'f64', { out = sum }) end -- one by one: no block shows
      return x ~= nil
    end)
  end
  return sum / math.max(1, epochs:count())
end

--- Averages before and after for each type, as the report takes them: a list, and the same by type. Empty when no epoch
--- is left.
---@param types table[] as report.lua has them
---@param before table epochs
---@param clean table epochs
---@return table[]
---@return table<string, table>
function M.averages(types, before, clean)
  local out, by_type = {}, {}
  for _, t in ipairs(types) do
    local place, picks = {}, {}
    for i, c in ipairs(before.channels) do place[c.name] = i end
    for k, name in ipairs(t.members or t.channels) do picks[k] = place[name] end
    if clean:count() > 0 and #picks > 0 then
      out[#out + 1] = { type = t.type, before = M.average(before, picks), after = M.average(clean, picks),
        times = before:times() }
      by_type[t.type] = out[#out]
    end
  end
  return out, by_type
end

--- Writes the folder. Files get their names when all of them are whole.
---@param dir string made by M.folder
---@param r table before and clean (Epochs), log, types (as report.lua has them; `members` names the channels of a type
---  where `channels` does not), settings (rows), device (its name), warnings, subtitle, marked (bad epochs were kept)
---@param record? table of mc.manifest.new: stages and outputs are noted
---@return string[] names of the files, in the order written
--- Errors: what cannot be written.
function M.write(dir, r, record)
  return run.with({}, function()
    return mc.results.write(dir, record, function(set) M.fill(set, r, record) end)
  end, ROOM)
end

--- Writes every file of the set. See M.write.
function M.fill(set, r, record)
  local counts = report.counts(r.log)
  if record then record:stage('labels', r.log.labels) end
  local hashes, clean = {}, r.clean
  local data = rawget(clean, 'data')
  if record and data then
    for k = 1, clean:count() do hashes[k] = mc.manifest.hash(data[k]) end
  elseif record then -- epoch by epoch on their way to the file, so that no set is made in memory and no block shows
    clean = epochs_.behind(clean, function(rows, picks)
      local x = r.clean:read { epochs = rows, channels = picks }
      for k, row in ipairs(rows) do hashes[row] = hashes[row] or mc.manifest.hash(x[k]) end
      return x
    end)
  end
  clean:save(set:path 'cleaned-epo.fif', { overwrite = true })
  if #hashes > 0 then record:stage('cleaned', hashes) end
  set:parts 'cleaned-epo.fif'
  r.log:save(set:path 'reject_log.npz', { overwrite = true })
  set:put('thresholds.csv', report.csv(r.types, counts))
  local function figure(name, fig)
    if fig then set:put(name .. '.svg', mc.plot.render(fig)) end
  end
  local evoked, by_type = M.averages(r.types, r.before, r.clean)
  r.before:forget()
  figure('log', report.log_figure(r.log))
  for _, t in ipairs(r.types) do
    local suffix, e = #r.types > 1 and '_' .. t.type or '', by_type[t.type]
    figure('thresholds' .. suffix, t.thresholds and report.threshold_figure(t))
    figure('loss' .. suffix, t.loss and report.loss_figure(t))
    if t.certainty then
      figure('certainty' .. suffix, report.certainty_figure(t))
      set:put('certainty' .. suffix .. '.csv',
        mc.text.csv(t.certainty:totable(), { header = t.channels, newline = 'lf' }))
    end
    figure('evoked' .. suffix, e and report.evoked_figure(e.before, e.after, e.times, t.type))
    figure('bad_channels' .. suffix, report.scalp_figure(r.before.channels, counts, t.type))
  end
  ceiling.left() -- what is kept for later goes
  set:put('report.html', report.page { log = r.log, types = r.types, channels = r.before.channels, evoked = evoked,
    settings = r.settings, device = r.device, warnings = r.warnings, subtitle = r.subtitle, marked = r.marked },
    { compare = false })
end

return M
