-- results_autoreject.lua - the part of the page about epoch rejection: against upstream, growth, ablation, memory.
--
-- Holds its tables. Rows come from bench/autoreject.lua and peers/bench_autoreject.py.
local measure = require 'measure'
local M = {}

local function by_name(list)
  local out = {}
  for _, r in ipairs(list) do out[r.name] = r end
  return out
end

local function table_of(header, body)
  local line = {}
  for i = 1, #header do line[i] = '---' end
  local out = { '| ' .. table.concat(header, ' | ') .. ' |', '|' .. table.concat(line, '|') .. '|' }
  for _, row in ipairs(body) do out[#out + 1] = '| ' .. table.concat(row, ' | ') .. ' |' end
  return table.concat(out, '\n')
end

local JOBS = {
  { 'fit', 'default analysis', '50x (100x for the larger)', '300x (500x)' }, { 'transform', 'its transform', '', '' },
  { 'ransac', 'RANSAC', '20x', '' },
  { 'repair', 'five channels of every epoch repaired, against autoreject\'s neighbour MNE', '', '' },
  { 'loo_weights', 'weights that give each channel from all others, against MNE', '', '' },
  { 'set_weights', 'weights for a hundred sets of bad channels, against MNE', '', '' },
}

local function against(ours, theirs)
  local body = {}
  for _, size in ipairs { { '64', '64 x 100 x 500' }, { '128', '128 x 300 x 1000' } } do
    for _, j in ipairs(JOBS) do
      local a, b = ours[('ar_%s_%s'):format(j[1], size[1])], theirs[('ar_%s_%s_upstream'):format(j[1], size[1])]
      if a and a.seconds and b and b.seconds then
        body[#body + 1] = { j[2], size[2], measure.time(a.seconds), measure.time(b.seconds),
          ('%d / %d'):format(a.threads, b.jobs or 1), ('%.3gx'):format(b.seconds / a.seconds), j[3], j[4] }
      end
    end
  end
  return #body > 0 and table_of({ 'job', 'channels x epochs x samples', 'ours', 'upstream', 'threads / jobs', 'ratio',
    'floor', 'goal' }, body)
end

local function rows_of(list, family, header, row)
  local body = {}
  for _, r in ipairs(list) do
    if r.family == family and not r.failed then body[#body + 1] = row(r) end
  end
  return #body > 0 and table_of(header, body)
end

--- The section, or nil when nothing of it was run.
function M.section(ours, theirs)
  local parts = {}
  local function add(title, text) if text then parts[#parts + 1] = title .. '\n\n' .. text end end
  add('Each side with its own search of thresholds: all candidates here, at most 51 there.',
    against(by_name(ours), by_name(theirs)))
  add('Growth, one thread:',
    rows_of(ours, 'autoreject_growth', { 'row', 'channels x epochs x samples', 'seconds', 'per sample' }, function(r)
      return { '`' .. r.name .. '`', r.shape, measure.time(r.seconds), measure.time(r.seconds / r.cells) }
    end))
  add('Ablation, 64 x 100 x 500; the slow steps on four channels, scaled:',
    rows_of(ours, 'autoreject_ablation', { 'row', 'what', 'threads', 'seconds' }, function(r)
      return { '`' .. r.name .. '`', r.note or '', tostring(r.threads), measure.time(r.seconds) }
    end))
  add('Peak memory of a process with one analysis:',
    rows_of(ours, 'autoreject_memory', { 'row', 'peak', 'input and plan', 'allowed' }, function(r)
      local function mib(b) return ('%.0f MiB'):format(b / 2 ^ 20) end
      return { '`' .. r.name .. '`', mib(r.peak), mib(r.planned), mib(r.allowed) }
    end))
  add('Epochs in a file, 1 GiB allowed:', rows_of(ours, 'autoreject_stream',
    { 'row', 'channels x epochs x samples', 'threads', 'seconds', 'per epoch', 'processor per epoch',
      'passes over the file', 'temporary file', 'peak', 'planned' }, function(r)
        local function mib(b) return ('%.0f MiB'):format(b / 2 ^ 20) end
        return { '`' .. r.name .. '`', r.shape, tostring(r.threads), measure.time(r.seconds), measure.time(
          r.seconds / r.epochs), measure.time(r.cpu / r.epochs), ('%d'):format(r.passes), mib(r.scratch), mib(r.peak),
          mib(r.planned) }
      end))
  return #parts > 0 and table.concat(parts, '\n\n') or nil
end

return M
