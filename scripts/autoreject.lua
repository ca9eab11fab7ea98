-- autoreject.lua - epochs cleaned: thresholds by channel, repair, log, report.
--
-- usage: mascon scripts/autoreject.lua INPUT [options]; --help lists them. INPUT is a recording or epochs: .fif,
-- .edf, .bdf, .vhdr, .set, .npy, .npz. Writes DIR/cleaned-epo.fif, reject_log.npz, thresholds.csv, figures as .svg,
-- report.html and manifest.json.
local mc = require 'mascon'
local ar, meeg = mc.autoreject, mc.meeg

local LINE = {
  name = 'autoreject', usage = 'usage: mascon scripts/autoreject.lua INPUT [options]', positional = 1,
  about = 'Epochs of EEG and MEG cleaned by limits that cross-validation finds: bad channels repaired epoch by epoch, '
    .. 'bad epochs dropped.',
  options = {
    { 'events', 'string', 'a file (.csv .tsv .npy .eve .txt -eve.fif), a trigger channel, "fixed", or a pattern of '
        .. 'annotations (annotations, else triggers)', value = 'WHAT',
      of = 'recording' },
    { 'event_id', 'list', 'ids or names of the events to take', of = 'recording' },
    { 'tmin', 'number', 'start of an epoch, s from its event', default = -0.2, of = 'recording' },
    { 'tmax', 'number', 'end of an epoch, s', default = 0.5, of = 'recording' },
    { 'baseline', 'numbers', 'stretch whose mean is taken off, s', value = 'FROM,TO', of = 'recording' },
    { 'highpass', 'number', 'zero-phase high-pass of the recording, Hz', of = 'recording' },
    { 'lowpass', 'number', 'zero-phase low-pass of the recording, Hz', of = 'recording' },
    { 'no_proj', 'flag', 'leave projectors of a FIF file (SSP, average reference) unapplied', of = 'fif' },
    { 'keep_marked', 'flag', 'keep epochs in stretches annotated "bad"', of = 'recording' },
    { 'fs', 'number', 'sampling rate, Hz (files that know theirs need none)', of = 'rate' },
    { 'unit', 'string', 'unit of an array, such as uV (SI)', of = 'unit' },
    { 'types', 'named', 'types of channels the file does not know', value = 'NAME=TYPE,...' },
    { 'bads', 'list', 'channels known to be bad: left alone' },
    { 'montage', 'string', 'positions by name: ' .. table.concat(meeg.montage.NAMES, ', ')
      .. ', or a file .csv .tsv .elc .sfp .elp .locs .txt (where the file has none: 10-05, or a cap whose pins are '
        .. 'all there)', value = 'NAME' },
    { 'picks', 'list', 'channels or types to clean; others are neither read nor kept (all that can be; all are kept)' },
    { 'reject_by', { 'local', 'global', 'ransac' },
      'limits by channel with repair, one limit a type, or channels that others cannot predict', default = 'local' },
    { 'method', { 'exact', 'bayesian_optimization', 'random_search' }, 'search of limits', default = 'exact',
      of = 'local global' },
    { 'kappa', 'numbers', 'shares of bad channels that make an epoch bad (0 to 1 in tenths)', of = 'repair' },
    { 'rho', 'numbers', 'numbers of channels repaired at most (1, 4, 32)', of = 'repair' },
    { 'cv', 'integer', 'folds', default = 10, of = 'local global' },
    { 'seed', 'natural', 'seed of the splits', default = 42, of = 'local' },
    { 'compat', { 'native', 'upstream' }, 'behave as upstream', default = 'native', of = 'local ransac' },
    { 'flat', 'number', 'cells whose range is at most this many SI units are bad (a limit from above never finds them)',
      of = 'repair' },
    { 'bad_channel', 'number', 'channels bad in more than this share of epochs are bad in all', value = 'SHARE',
      of = 'repair' },
    { 'partial', { 'repair', 'drop' }, 'epochs with more than rho bad channels: repair the worst, or drop',
      default = 'repair',
      of = 'repair' },
    { 'adjacency', 'flag', 'bad neighbours of a repaired channel are no sources', of = 'repair' },
    { 'adjacency_drop', 'integer', 'bad channels side by side that make an epoch bad (with --adjacency)',
      of = 'adjacent' },
    { 'certainty', 'count', 'seeds beside the first that tell how sure each vote is: certainty.csv', value = 'SEEDS',
      of = 'repair' },
    { 'mark', 'flag', 'keep bad epochs as they are; the log tells which', of = 'local' },
    { 'log', 'string', 'a reject log that was edited: it decides', value = 'FILE', of = 'local' },
    { 'allow_empty', 'flag', 'no error when every epoch is bad', of = 'local' },
    { 'device', 'string',
      'cpu, gpu, cuda:0, opencl:0, or auto: what MASCON_DEVICE names, else a card, else cpu; several, such as '
        .. 'cuda:0,cuda:1, share the work', value = 'NAME' },
    { 'threads', 'integer', 'worker threads (all cores); results do not depend on it' },
    { 'max_memory', 'string', 'memory the whole program may take, such as 2GiB; results do not depend on it' },
    { 'out', 'string', 'folder for the results', value = 'DIR', default = 'autoreject-results' },
    { 'overwrite', 'flag', 'replace results that are there' },
    { 'quiet', 'flag', 'no progress bar' },
  },
  -- under which settings an option does something: the words of its field `of`
  settings = {
    recording = 'recordings, which are cut into epochs; this file holds epochs',
    fif = 'a FIF file, which may hold projectors',
    rate = 'arrays, and for an EDF or BDF of several rates; other files say their rate',
    unit = 'arrays (.npy, .npz); other files say their units',
    repair = '--reject-by local without --log, which decides', adjacent = '--adjacency with --reject-by local',
    ['local'] = '--reject-by local', global = '--reject-by global', ransac = '--reject-by ransac',
  },
}
local o, asked = mc.args.parse(arg, LINE)
if o[1] and not (o.tmax > o.tmin) then
  io.stderr:write(
    ('autoreject: epochs from --tmin %g to --tmax %g s have no length; tmax must be later\n'):format(o.tmin, o.tmax))
  os.exit(2)
elseif not o[1] then
  io.stderr:write 'autoreject: give a recording or epochs; --help shows the options\n'
  os.exit(2)
end

--- Refuses names of channels that say no place, with what to give.
local function known_names(x, montage, eeg)
  local cap, found, odd = meeg.montage.standard(montage), 0, {}
  for _, c in ipairs(x.channels) do
    if c.type == 'eeg' then
      if meeg.montage.find(c.name, cap) then found = found + 1 else odd[#odd + 1] = c.name end
    end
  end
  if 2 * found >= eeg then return end
  error(('positions are needed to repair channels, and the names say them for %d of %d (%s%s). Give positions as ' ..
    '--montage TABLE (.csv with the columns name, x, y, z in m), or a cap by its name; names of an array stand in ' ..
    'ch_names of the .npz or in a table .csv beside it; --types NAME=TYPE for what is no EEG; or ' ..
    '--reject-by global, which needs no positions'):format(found, eeg, table.concat(odd, ', ', 1, math.min(#odd, 4)),
    #odd > 4 and ', ...' or ''), 0)
end

--- Channels marked bad and with positions: those of the file, or by name. Returns the channels to clean where some have
--- no place.
local function prepare(x)
  for _, name in ipairs(o.bads or {}) do
    x:picks(name) -- an unknown name is said with the nearest one
    table.insert(x.bads, name)
  end
  local placed, eeg = 0, 0
  for _, c in ipairs(x.channels) do
    if c.type == 'eeg' then eeg, placed = eeg + 1, placed + (c.position and 1 or 0) end
  end
  -- one limit for each type takes no part in repairs, so it needs no positions
  if o.montage or (eeg > 0 and placed == 0 and o.reject_by ~= 'global') then
    local m = o.montage or meeg.montage.guess(x.channels)
    if not o.montage then known_names(x, m, eeg) end
    local report
    x.channels, report = meeg.montage.join(x.channels, m)
    print('positions: ' .. report.text)
    if m == '10-05' or m == '10-10' or m == '10-20' then
      print('note: these positions follow from the definition on a sphere; those of the digitised head that MNE '
        .. 'calls standard_1005 lie up to 31 mm away, and decisions can differ (--montage FILE takes those: help of '
        .. 'mc.meeg.montage.read)')
    end
    placed = report.matched
  end
  if placed == eeg or placed == 0 or o.picks then return o.picks end
  local chosen, left = {}, {}
  for _, i in ipairs(x:picks()) do
    local c = x.channels[i]
    table.insert((c.position or c.type ~= 'eeg') and chosen or left, c.name)
  end
  print(('left alone, since they have no place: %s; --types, --montage and --picks say otherwise')
    :format(table.concat(left, ', ')))
  return chosen
end

local EVENT_FILES = { csv = true, tsv = true, npy = true, eve = true, txt = true, fif = true }

-- what is loaded on the way: linear algebra, transforms, figures
local LIBRARIES = 16 * 2 ^ 20

local function limit_of(word)
  if not word then return nil end
  return mc.ceiling.bytes(word)
    or error(('--max-memory: %q is no size; give bytes, or a size such as 2GiB'):format(word), 0)
end

local function plural(n, what) return ('%d %s%s'):format(n, what, n == 1 and '' or 's') end

--- Events where nobody says which: annotations, else triggers. Says where they come from; refuses to guess where the
--- annotations are too few for the folds and a trigger channel has more.
local function found_events(raw)
  local events, ids = meeg.events.from_annotations(raw)
  local n, stim = events.shape[1], {}
  for _, c in ipairs(raw.channels) do if c.type == 'stim' then stim[#stim + 1] = c.name end end
  local triggers, names
  if #stim > 0 and n < o.cv then triggers, names = meeg.events.find(raw) end
  if triggers and (n == 0 or triggers.shape[1] <= n) then
    if n == 0 then
      print(('events: %s of trigger channels (%s)'):format(plural(triggers.shape[1], 'event'), table.concat(stim,
        ', ')))
      return triggers, names
    end
  elseif triggers then
    local texts = {}
    for text in pairs(ids) do texts[#texts + 1] = text end
    table.sort(texts)
    error(('%s has %s in annotations (%s), fewer than the %d folds, and %d in trigger channels (%s); give ' ..
      '--events %q for the triggers or --events %q for the annotations (with --cv)'):format(o[1], plural(n, 'event'),
      table.concat(texts, ', '), o.cv, triggers.shape[1], table.concat(stim, ', '), stim[1], texts[1]), 0)
  end
  if n > 0 then print(('events: %s of annotations'):format(plural(n, 'event'))) end
  return events, ids
end

local function events_of(raw)
  local what = o.events
  if what == 'fixed' then
    local length = o.tmax - o.tmin
    o.tmin, o.tmax = 0, length - 1 / raw.fs
    return meeg.events.fixed(raw, { duration = length })
  end
  if what and EVENT_FILES[(what:gsub('%.gz$', '')):match '%.(%w+)$'] then return meeg.events.read(what) end
  for _, c in ipairs(raw.channels) do
    if c.name == what then return meeg.events.find(raw, { channel = what }) end
  end
  if not what then return found_events(raw) end
  return meeg.events.from_annotations(raw, { match = what })
end

--- What a recording has of events, in words.
local function sources_of(raw)
  local list, seen = {}, {}
  for _, a in ipairs(raw.annotations) do
    if not seen[a.text] and #list < 12 then list[#list + 1] = a.text end
    seen[a.text] = true
  end
  for _, c in ipairs(raw.channels) do if c.type == 'stim' then list[#list + 1] = 'channel ' .. c.name end end
  return #list > 0 and (', but ' .. table.concat(list, ', ')) or ''
end

local function cut(raw, picks)
  local events, ids = events_of(raw)
  if o.events then print(('events: %s of --events %s'):format(plural(events.shape[1], 'event'), o.events)) end
  if events.shape[1] == 0 then
    error(('%s has no event%s%s; give --events, or --events fixed for stretches of equal length'):format(o[1],
      o.events and (' %q'):format(o.events) or '', o.events and sources_of(raw) or ''), 0)
  end
  if picks then raw = raw:pick(picks) end
  local wanted
  for _, id in ipairs(o.event_id or {}) do
    wanted = wanted or {}
    if tonumber(id) then table.insert(wanted, tonumber(id))
    elseif ids[id] then wanted[id] = ids[id]
    else
      local names = {}
      for name in pairs(ids) do names[#names + 1] = name end
      table.sort(names)
      error(('--event-id: there is no event %q; there are %s'):format(id, table.concat(names, ', ')), 0)
    end
  end
  if o.highpass or o.lowpass then
    local left = mc.ceiling.left() -- a part of it for what a filter remembers
    raw = raw:filter { highpass = o.highpass, lowpass = o.lowpass,
      max_memory = left and math.min(128 * 2 ^ 20, math.max(left / 5, 2 ^ 20)) }
  end
  return meeg.epochs.cut(raw, {
    events = events, event_id = wanted or ids, tmin = o.tmin, tmax = o.tmax, baseline = o.baseline,
      reject_by_annotation = not o.keep_marked, repeated = 'drop', proj = not o.no_proj,
  })
end

--- Refuses options without effect in this run.
local function refuse_unused()
  local way, file = o.reject_by, o[1]:lower():gsub('%.gz$', ''):match '%.(%w+)$' or ''
  local array, repair = file == 'npy' or file == 'npz', way == 'local' and not o.log
  mc.args.refuse(LINE, asked, { ['local'] = way == 'local', global = way == 'global', ransac = way == 'ransac',
    repair = repair, adjacent = repair and o.adjacency or false, fif = file == 'fif',
    rate = array or file == 'edf' or file == 'bdf', unit = array })
end

--- Everything, within --max-memory.
local function clean()
  local line
  o.device, line = mc.args.device(o.device)
  if line then print(line) end
  refuse_unused()
  local x = meeg.open(o[1], { fs = o.fs, unit = o.unit, types = o.types, proj = not o.no_proj })
  for _, w in ipairs(rawget(x, 'warnings') or {}) do print('note: ' .. w) end
  mc.args.refuse(LINE, asked, { recording = meeg.raw.is(x) })
  local picks = prepare(x)
  if o.log and (asked.cv or asked.method or asked.seed) then
    print 'note: --log decides; --cv, --method and --seed shape only the limits that are shown beside it'
  end
  -- only what is picked is read and kept; upstream predicts a channel from others of its type too
  local only = o.compat ~= 'upstream' and o.picks or nil
  local epochs = meeg.raw.is(x) and cut(x, only) or only and x:pick(only) or x
  local E, T = epochs:count(), epochs.samples
  local opts = {
    picks = only and epochs:names() or picks, random_state = o.seed, compat = o.compat, device = o.device,
    threads = o.threads,
    verbose = not o.quiet, method = o.method, consensus = o.kappa,
    n_interpolate = o.rho, cv = o.cv, allow_empty = o.allow_empty, reject_log = o.log and ar.log.read(o.log),
    flat = o.flat, bad_channel = o.bad_channel, partial = o.partial,
    adjacency = o.adjacency, adjacency_drop = o.adjacency_drop, certainty = o.certainty, mark = o.mark,
  }
  if mc.manifest.planning() then
    local here, left = mc.ceiling.resident() + LIBRARIES, mc.ceiling.left()
    local plan = ar.ways.plan(epochs, left and math.max(1, left - LIBRARIES))
    local file = io.open(o[1], 'rb')
    local seconds, there = ar.probe.seconds(epochs, o.reject_by, opts, plan, file and file:seek 'end' or 0)
    print(('autoreject: %d epochs x %d channels x %d samples: about %.1f s, peak %.1f MiB%s%s'):format(
      E, #epochs.channels, T, seconds, (here + plan.bytes) / 2 ^ 20, mc.args.there(o.device, there),
      plan.scratch > 0 and (', temporary file %.1f MiB'):format(plan.scratch / 2 ^ 20) or ''))
    os.exit(0)
  end
  ar.results.folder(o.out, o.overwrite)
  local given = {}
  for k, v in pairs(o) do if type(k) == 'string' then given[k] = v end end
  local record = mc.manifest.new { options = given, inputs = { o[1] }, seed = o.seed, quiet = o.quiet }
  print(tostring(epochs))
  local r = ar.ways.clean(epochs, o.reject_by, opts)
  print()
  io.write(ar.report.text(r.types, ar.report.counts(r.log), o.mark))
  local total = ar.report.counts(r.log)
  local cells = total.good + total.bad + total.repaired
  if cells > 0 and (total.bad + total.repaired) / cells > 0.25 then
    table.insert(r.warnings,
      ('%.0f %% of the cells are bad; with so many the limits say more about the recording than about single channels: '
        .. 'check its unit, reference, filter and montage, or drop the channels that are bad throughout'):format(
          100 * (total.bad + total.repaired) / cells))
  end
  for _, w in ipairs(r.warnings) do print('note: ' .. w) end
  r.marked, r.settings, r.subtitle = o.mark, { { 'input', o[1] }, { 'epochs', E }, { 'samples', T },
    { 'sampling rate, Hz', epochs.fs }, { 'from, s', epochs.tmin } }, o[1]:match '[^/]*$'
  for _, k in ipairs { 'reject_by', 'method', 'cv', 'seed', 'compat' } do table.insert(r.settings, { k, o[k] }) end
  local names = ar.results.write(o.out, r, record)
  print(('\nresults in %s: %s'):format(o.out, table.concat(names, '  ')))
end

mc.args.run('autoreject', function() mc.ceiling.with(limit_of(o.max_memory), clean) end)
