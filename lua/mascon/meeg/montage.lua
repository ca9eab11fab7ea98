-- montage.lua - where electrodes stand, by name.
--
-- Holds the montages that are known (computed on the sphere or read from a table of a file), how a name of a recording
-- finds its place, and the positions of channels as every interpolator asks for them. Positions are { x, y, z } in
-- metres in the head frame: x through the right ear point, y through the nasion, z up, the origin between the ears.
local check = require 'mascon.core.check'
local caps = require 'mascon.meeg.caps'
local electrodes = require 'mascon.meeg.electrodes'
local sphere = require 'mascon.meeg.sphere'
local ten_five = require 'mascon.meeg.ten_five'
local error = check.error
local M = {}

local SYSTEMS = { '10-20', '10-10', '10-05' }

--- Names of the montages that are known.
M.NAMES = {}
for _, list in ipairs { SYSTEMS, caps.NAMES } do
  for _, name in ipairs(list) do table.insert(M.NAMES, name) end
end

-- aliases hold as long as a montage has no place of that name itself
local function index_of(m)
  local fold = {}
  for _, name in ipairs(m.names) do fold[name:lower()] = fold[name:lower()] or name end
  for old, name in pairs(ten_five.ALIASES) do
    if m.positions[name] and not fold[old:lower()] then fold[old:lower()] = name end
  end
  m.fold = fold
  return m
end

-- heads that others measured; their numbers are not ours to give
local TEMPLATES = {}
for _, head in ipairs { 'standard', 'colin27', 'fsaverage' } do
  for _, names in ipairs { '1005', '1010', '1020', 'alphabetic', 'postfixed', 'prefixed', 'primed' } do
    TEMPLATES[head .. '_' .. names] = true
  end
end

local STANDARD = { radius = { 0.095, 'number > 0' }, inclination = { nil, 'number >= 45' } }
local made = {}

--- A montage computed on the sphere.
---
--- '10-20' (21 places), '10-10' (89) and '10-05' (345) follow from their definition on a sphere. They are not the
--- digitised head that MNE calls standard_1005, whose places lie up to 31 mm away: mc.meeg.montage.read takes its file.
--- biosemi16 to biosemi256 are the maker's angles.
---@param name string one of mc.meeg.montage.NAMES
---@param opts? table radius of the head (0.095 m); inclination: angle of nasion, inion and ears from the vertex,
---  degrees (10-20 and kin: 115, as on the caps of the trade, where T7, Fpz and Oz stand at 92; 90 puts the landmarks
---  on the equator)
---@return table { name, names, positions = name -> { x, y, z } m, landmarks = { nasion, lpa, rpa }, centre = { x, y,
---  z }, radius }
--- Errors: an unknown name; an inclination outside 45 to 135.
--- Source: Oostenveld and Praamstra 2001; Jurcak, Tsuzuki and Dan 2007; BioSemi.
---     #mc.meeg.montage.standard('10-05').names  --> 345
function M.standard(name, opts)
  local fname = 'meeg.montage.standard'
  local o = check.opts(fname, opts, STANDARD)
  local cap = type(name) == 'string' and name:match '^biosemi%d+$'
  local inclination = o.inclination or caps.LANDMARKS
  if inclination > 135 then
    error(('%s: option inclination is %g; it must be at most 135 degrees'):format(fname, inclination), 2)
  end
  if cap and o.inclination then
    error(fname .. ': a cap has its own angles; leave inclination out, or take 10-20, 10-10 or 10-05', 2)
  end
  local key = ('%s %.17g %.17g'):format(tostring(name), o.radius, inclination)
  if made[key] then return made[key] end
  local names, at, ten
  if cap then names, at = caps.places(name)
  elseif name == '10-05' or name == '10-10' or name == '10-20' then
    names, at, ten = ten_five.places(inclination)
    if name == '10-20' then names = ten_five.TWENTY
    elseif name == '10-10' then
      local chosen = {}
      for _, n in ipairs(names) do if ten[n] then chosen[#chosen + 1] = n end end
      names = chosen
    end
  end
  if not names then
    local near = type(name) == 'string' and check.nearest(name, M.NAMES)
    if TEMPLATES[name] then
      error(('%s: %s is a digitised head that comes with other programs; give its file, or a table (help of '
        .. 'mc.meeg.montage.read); "10-05" has the same names on a sphere, up to 31 mm away'):format(fname, name), 2)
    end
    error(('%s: montage %s is not known%s; there are %s, and files (.csv, .tsv, .%s)'):format(fname, check.show(name),
      near and (' (did you mean %q?)'):format(near) or '',
      table.concat(M.NAMES, ', '), table.concat(electrodes.FORMATS, ', .')), 2)
  end
  local r = o.radius
  local a = math.rad(inclination)
  local lift = -math.cos(a) * r -- the landmarks' plane is z = 0
  local function placed(p) return { p[1] * r, p[2] * r, p[3] * r + lift } end
  local positions = {}
  for _, n in ipairs(names) do positions[n] = placed(at[n]) end
  local ear = math.sin(a) * r
  made[key] = index_of {
    name = name, names = names, positions = positions, radius = r, centre = { 0, 0, lift },
    landmarks = { nasion = { 0, ear, 0 }, lpa = { -ear, 0, 0 }, rpa = { ear, 0, 0 } },
  }
  return made[key]
end

local READ = { unit = { 'm', { 'm', 'cm', 'mm' } }, radius = { 0.095, 'number > 0 | boolean' } }
local METRES = { m = 1, cm = 1e-2, mm = 1e-3 }
local KINDS = { csv = true, tsv = true }
for _, kind in ipairs(electrodes.FORMATS) do KINDS[kind] = true end

local function kind_of(path) return path:lower():match '%.(%w+)$' end

--- A montage from a file: a table of positions in the head frame (.csv, .tsv), or electrodes of a digitiser or another
--- program (.elc of ASA, .sfp of EGI, .elp of BESA, .loc, .locs, .eloc of EEGLAB, .txt with angles).
---
--- Tables have the columns name (or label, channel), x, y, z, in `unit`. The other files are scaled so that their
--- median place lies `radius` (0.095 m) from their origin, as MNE's read_custom_montage does (false: as they stand);
--- where they name nasion and ears, places are moved into the head frame of these. The digitised head standard_1005
--- comes with MNE-Python as mne/channels/data/montages/standard_1005.elc.
---@param path string
---@param opts? table unit of a table's numbers: m (default), cm, mm; radius of the head of other files, m, or false
---@return table montage; landmarks where the file names them
--- Errors: columns or lines that are missing, a name twice.
function M.read(path, opts)
  local fname = 'meeg.montage.read'
  check.arg(fname, 'path', path, 'string', 3)
  local o = check.opts(fname, opts, READ)
  local kind = kind_of(path)
  if not KINDS[kind] then
    error(('%s: %s; give a table (.csv, .tsv) or a file of electrodes (.%s)'):format(fname, path,
      table.concat(electrodes.FORMATS, ', .')), 2)
  end
  if kind ~= 'csv' and kind ~= 'tsv' then
    if opts and opts.unit then
      error(('%s: option unit is for tables; %s has its own, and radius scales it'):format(fname, path), 2) end
    if o.radius == true then error(fname .. ': option radius is true; give metres, or false', 2) end
    local names, positions, landmarks = electrodes.read(fname, path, kind, o.radius)
    return index_of { name = path, names = names, positions = positions, landmarks = landmarks }
  end
  if opts and opts.radius ~= nil then
    error(('%s: option radius is for files of electrodes; a table is taken as it stands'):format(fname), 2) end
  local t = require('mascon.io').load(path)
  local columns = {}
  for k, v in pairs(type(t) == 'table' and t.columns or {}) do
    if type(k) == 'string' then columns[k:lower()] = v end
  end
  local labels = columns.name or columns.label or columns.labels or columns.channel
  if not (labels and columns.x and columns.y and columns.z) then
    error(('%s: %s has the columns %s; it needs name, x, y and z'):format(fname, path,
      type(t) == 'table' and t.names and table.concat(t.names, ', ') or 'of no header'), 2)
  end
  local m = { name = path, names = {}, positions = {}, landmarks = {} }
  local scale = METRES[o.unit]
  local function numbers(column) return type(column) == 'table' and column or column:totable() end
  local x, y, z = numbers(columns.x), numbers(columns.y), numbers(columns.z)
  labels = numbers(labels)
  for i = 1, t.rows do
    local name = tostring(labels[i])
    if m.positions[name] then
      error(('%s: %s names %q twice; each place needs a name of its own'):format(fname, path, name), 2)
    end
    local px, py, pz = tonumber(x[i]), tonumber(y[i]), tonumber(z[i])
    if not (px and py and pz) then error(('%s: %s gives no three numbers for %q'):format(fname, path, name), 2) end
    m.names[i], m.positions[name] = name, { px * scale, py * scale, pz * scale }
  end
  return index_of(m)
end

--- A montage as callers give it: a table, the path of a file, or a name.
local function montage_of(m)
  if type(m) == 'table' then return m end
  if type(m) == 'string' and KINDS[kind_of(m) or ''] then return M.read(m) end
  return M.standard(m)
end

-- what recorders write about the reference after a name
local REFERENCES = { ref = true, le = true, re = true, avg = true, ave = true, ar = true, a1 = true, a2 = true,
  m1 = true, m2 = true, a1a2 = true, m1m2 = true, org = true, linked = true }

--- A label without what recorders put round the name: "EEG Fp1-REF", "Fc5.", "EEG_Cz".
local function bare(label)
  local s = label:lower():gsub('^%s+', ''):gsub('%s+$', ''):gsub('^eeg[%s_:%-]*', ''):gsub('%.+$', '')
  local name, reference = s:match '^(.-)%s*[%-_/]%s*(%w+)$'
  if name and REFERENCES[reference] then s = name end
  return s
end

--- The place a label means in a montage, or nil: by its name, an older name (T3, T5), other capitals, without "EEG" and
--- reference.
---     mc.meeg.montage.find('EEG FP1-REF')  --> Fp1
---     mc.meeg.montage.find('T3')  --> T7
---     mc.meeg.montage.find('EOG')  --> nil
---@param label string
---@param montage? string|table name or montage ('10-05')
---@return string|nil
function M.find(label, montage)
  local m = montage_of(montage or '10-05')
  if m.positions[label] then return label end
  return m.fold[label:lower()] or m.fold[bare(label)]
end

-- caps whose pins have names of their own, and the share of them that must be there: A1, C3 and F4 mean other things
-- elsewhere
local GUESSES, SHARE = { 'biosemi128', 'biosemi160', 'biosemi256' }, 0.9

--- The montage that channels tell of: 10-05, unless nearly all pins of a cap with names of its own are there; then the
--- largest such cap.
---@param channels table[]
---@param types? string[] that take part ({ 'eeg' })
---@return string
---     mc.meeg.montage.guess { { name = 'Cz', type = 'eeg' }, { name = 'EEG F3-REF', type = 'eeg' } }  --> 10-05
function M.guess(channels, types)
  local wanted, best = {}, '10-05'
  if types ~= nil and (type(types) ~= 'table' or next(types) ~= nil and types[1] == nil) then
    error(('meeg.montage.guess: types are %s; give a list such as { "eeg" }'):format(check.show(types)), 2)
  end
  for _, t in ipairs(types or { 'eeg' }) do wanted[t] = true end
  for _, name in ipairs(GUESSES) do
    local m, n = M.standard(name), 0
    for _, c in ipairs(channels) do if wanted[c.type] and M.find(c.name, m) then n = n + 1 end end
    if n >= SHARE * #m.names then best = name end
  end
  return best
end

local JOIN = { overwrite = { true, 'bool' }, types = { { 'eeg' }, 'table' },
  missing = { 'report', { 'report', 'error' } } }

local function listed(names, most)
  local shown = {}
  for i = 1, math.min(most, #names) do shown[i] = names[i] end
  return table.concat(shown, ', ') .. (#names > most and (', ... (%d in all)'):format(#names) or '')
end

--- Channels with positions of a montage joined by name; other fields stay. The list given is not changed.
---@param channels table[] tables of channels (see mc.meeg.channels)
---@param montage string|table a name of mc.meeg.montage.NAMES, the path of a file (see mc.meeg.montage.read), or a
---  montage
---@param opts? table overwrite (true): positions there are replaced; types ({ 'eeg' }) that take part; missing:
---  'report' (default) or 'error' when a name has no place
---@return table[] channels
---@return table report { matched = number, places = channel name -> place, unmatched = names, text = one sentence }
--- Errors: an unknown montage; no name at all that matches; two channels at one place; missing names with missing =
--- 'error'.
---     local list, report = mc.meeg.montage.join({ { name = 'T3', type = 'eeg' }, { name = 'Foo', type = 'eeg' } },
---       '10-20')
---     report.text  --> 1 of 2 channels found in 10-20; without a place: Foo
function M.join(channels, montage, opts)
  local fname = 'meeg.montage.join'
  local o = check.opts(fname, opts, JOIN)
  local m = montage_of(montage)
  local wanted, out = {}, {}
  for _, t in ipairs(o.types) do wanted[t] = true end
  local report = { matched = 0, places = {}, unmatched = {} }
  local taken, asked = {}, 0
  for i, c in ipairs(channels) do
    local copy = {}
    for k, v in pairs(c) do copy[k] = v end
    out[i] = copy
    if wanted[c.type] and (o.overwrite or not c.position) then
      asked = asked + 1
      local place = M.find(c.name, m)
      if not place then report.unmatched[#report.unmatched + 1] = c.name
      elseif taken[place] then
        error(('%s: channels %s and %s both mean the place %s; rename one, or set its type to what it is'):format(fname,
          taken[place], c.name, place), 2)
      else
        taken[place] = c.name
        local p = m.positions[place]
        copy.position = { p[1], p[2], p[3] }
        report.places[c.name] = place
        report.matched = report.matched + 1
      end
    end
  end
  if asked > 0 and report.matched == 0 then
    error(('%s: none of %d channels is known to %s: the recording has %s; the montage has %s'):format(fname, asked,
      m.name, listed(report.unmatched, 5), listed(m.names, 5)), 2)
  end
  report.text = ('%d of %d channels found in %s'):format(report.matched, asked, m.name)
  if #report.unmatched > 0 then
    report.text = report.text .. '; without a place: ' .. listed(report.unmatched, 8)
    if o.missing == 'error' then error(('%s: %s'):format(fname, report.text), 2) end
  end
  return out, report
end

--- Positions of channels, checked as every interpolator needs them.
---@param channels table[]
---@param picks? integer[] places in the list (all)
---@param fname? string public name for messages
---@return any f64 [#picks, 3] m
--- Errors: a channel without position, NaN or infinity, all or more than one at the origin.
---     mc.meeg.montage.positions({ { name = 'Cz', position = { 0, 0, 0.09 } }, { name = 'Oz', position = { 0, -0.09,
---       0 } } }).shape[1]
---       --> 2
function M.positions(channels, picks, fname)
  fname = fname or 'meeg.montage.positions'
  local names, rows, missing = {}, {}, {}
  for k = 1, picks and #picks or #channels do
    local c = channels[picks and picks[k] or k]
    names[k], rows[k] = c.name, c.position
    if not c.position then missing[#missing + 1] = c.name end
  end
  if #missing > 0 then
    error(('%s: valid positions needed, %d of %d channels have none (%s); join a montage (mc.meeg.montage.join), or '
      .. 'leave interpolation off'):format(fname, #missing, #names, listed(missing, 5)), 2)
  end
  return sphere.check(fname, rows, names)
end

--- A sentence when positions do not lie on a sphere, so that splines on one are doubtful; nil when they do.
---@param pos any f64 [C, 3] m
---@return string|nil
---     mc.meeg.montage.doubt(mc.tensor{ { 0, 0, 1 }, { 0, 1, 0 }, { 1, 0, 0 }, { 0, 0, -1 } })  --> nil
function M.doubt(pos)
  if pos.shape[1] < 4 then return nil end
  local s = sphere.fit(pos)
  return s.error > 0.1 and ('the positions lie %.0f %% off the best sphere (radius %.3g m); interpolation on a sphere '
    .. 'is likely to be inaccurate'):format(100 * s.error, s.radius) or nil
end

return M
