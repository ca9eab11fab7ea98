-- channels.lua - tables of channels: name, type, unit, position.
--
-- Holds the types that are known, their SI units, the factors of the units found in files, and how channels are picked.
-- A channel is a table { name, type, unit, position = { x, y, z } (m, head frame) or nil, and what its file knows
-- beside }; a list of them stands beside the data of a recording.
local check = require 'mascon.core.check'
local error = check.error
local tensor = require 'mascon.core.tensor'
local M = {}

--- SI unit of each type of channel.
M.UNITS = {
  eeg = 'V', eog = 'V', ecg = 'V', emg = 'V', ecog = 'V', seeg = 'V', dbs = 'V', bio = 'V', mag = 'T', grad = 'T/m',
  ref_meg = 'T', hbo = 'M', hbr = 'M', stim = 'V', resp = 'V', misc = '', temperature = 'C', gsr = 'S', eyegaze = 'px',
  pupil = '', chpi = '', ias = '', syst = '', exci = '', dipole = '', gof = '', fnirs = 'V', csd = 'V/m2',
}

--- Factor to SI and the SI unit, by the unit as files spell it.
local SCALES = {
  ['V'] = { 1, 'V' }, ['mV'] = { 1e-3, 'V' }, ['uV'] = { 1e-6, 'V' }, ['nV'] = { 1e-9, 'V' }, ['pV'] = { 1e-12, 'V' },
  ['T'] = { 1, 'T' }, ['uT'] = { 1e-6, 'T' }, ['nT'] = { 1e-9, 'T' }, ['pT'] = { 1e-12, 'T' }, ['fT'] = { 1e-15, 'T' },
  ['T/m'] = { 1, 'T/m' }, ['pT/m'] = { 1e-12, 'T/m' }, ['fT/m'] = { 1e-15, 'T/m' },
  ['T/cm'] = { 1e2, 'T/m' }, ['pT/cm'] = { 1e-10, 'T/m' }, ['fT/cm'] = { 1e-13, 'T/m' }, ['M'] = { 1, 'M' },
  ['mM'] = { 1e-3, 'M' }, ['uM'] = { 1e-6, 'M' }, ['nM'] = { 1e-9, 'M' }, ['S'] = { 1, 'S' }, ['mS'] = { 1e-3, 'S' },
  ['uS'] = { 1e-6, 'S' }, ['nS'] = { 1e-9, 'S' }, ['C'] = { 1, 'C' },
}

--- Factor that takes numbers in `unit` to SI, and the SI unit; nil when the unit is not known. Both signs for micro are
--- understood.
---     mc.meeg.channels.unit('uV')  --> 1e-06, V
---@param unit string
---@return number|nil
---@return string|nil
function M.unit(unit)
  -- micro sign U+00B5 and Greek mu U+03BC in UTF-8, micro sign in Latin-1
  local plain = unit:gsub('^\194\181', 'u'):gsub('^\206\188', 'u'):gsub('^\181', 'u'):gsub('^%s+', ''):gsub('%s+$',
    ''):gsub('^\194\176C$', 'C')
  local s = SCALES[plain]
  if s then return s[1], s[2] end
end

local RULES = { -- by the beginning or the whole of the lower-case label, first match wins
  { '^stim', 'stim' }, { '^sti%s*%d+$', 'stim' }, { '^status$', 'stim' }, { '^trigger', 'stim' }, { '^trig$', 'stim' },
  { '^eeg%f[^%a]', 'eeg' }, { '^seeg%f[^%a]', 'seeg' }, { '^ecog%f[^%a]', 'ecog' }, { '^[hvlr]?e[oo]g%f[^%a]', 'eog' },
  { '^[hvlr]?eog[hvlr]?$', 'eog' }, { '^eog', 'eog' }, { '^ecg', 'ecg' }, { '^ekg', 'ecg' }, { '^emg', 'emg' },
  { '^resp', 'resp' }, { '^gsr', 'gsr' }, { '^eda', 'gsr' }, { '^temp', 'temperature' },
  { '^dc%d*$', 'misc' }, { '^misc', 'misc' },
}

--- Type of a channel as its label tells, else `default`. For files that carry no types.
---     mc.meeg.channels.guess('EOG left', 'eeg')  --> eog
---@param label string
---@param default string
---@return string
function M.guess(label, default)
  local low = label:lower():gsub('^%s+', ''):gsub('%s+$', '')
  for _, r in ipairs(RULES) do
    if low:find(r[1]) then return r[2] end
  end
  return default
end

local function known(fname, type_, name)
  if M.UNITS[type_] then return type_ end
  local near = check.nearest(tostring(type_), M.UNITS)
  error(('%s: channel %s has the type %s, which is not known%s'):format(fname, name, check.show(type_),
    near and (' (did you mean %q?)'):format(near)
    or '; it is one of ' .. check.names(M.UNITS)), 4)
end

local function is_list(v) return type(v) == 'table' and (#v > 0 or next(v) == nil) end

--- Refuses what is no list of channels, or of places in it.
local function lists(fname, list, picks)
  if not is_list(list) then
    error(('%s: the channels are %s; give a list of them'):format(fname, check.show(list)), 3)
  end
  if picks ~= nil and not is_list(picks) then
    error(('%s: picks are %s; give a list of places, from 1'):format(fname, check.show(picks)), 3)
  end
end

--- Checks names, types and positions of a list of channels and fills in units.
---@param fname string for messages
---@param list table[]
function M.check(fname, list)
  check.arg('meeg.channels.check', 'fname', fname, 'string', 3)
  lists(fname, list)
  local seen = {}
  for i, c in ipairs(list) do
    if type(c.name) ~= 'string' or c.name == '' then
      error(('%s: channel %d has no name; each needs one'):format(fname, i), 3)
    end
    if seen[c.name] then
      error(('%s: channels %d and %d are both called %q; names must differ'):format(fname, seen[c.name], i, c.name), 3)
    end
    seen[c.name] = i
    known(fname, c.type, c.name)
    c.unit = c.unit or M.UNITS[c.type]
    local p = c.position
    if p ~= nil and (type(p) ~= 'table' or #p ~= 3 or type(p[1]) ~= 'number' or type(p[2]) ~= 'number'
      or type(p[3]) ~= 'number') then
      error(('%s: the position of channel %s is no list of three numbers; give { x, y, z } in metres or leave it out')
        :format(fname, c.name), 3)
    end
  end
  return list
end

--- Gives channels of one name running numbers as MNE does, Fz-0, Fz-1 (a letter where that is taken too). For lists
--- that come from files.
---@param list table[]
---@return string|nil what was done, for the warnings of a recording
function M.distinct(list)
  local places, order, taken = {}, {}, {}
  for i, c in ipairs(list) do
    local at = places[c.name] or {}
    places[c.name], taken[c.name] = at, true
    at[#at + 1] = i
    if #at == 2 then order[#order + 1] = c.name end
  end
  for _, name in ipairs(order) do
    for k, i in ipairs(places[name]) do
      local given = ('%s-%d'):format(name, k - 1)
      for letter in ('abcdefghijklmnopqrstuvwxyz'):gmatch '.' do
        if not taken[given] then break end
        given = name .. '-' .. letter
      end
      list[i].name, taken[given] = given, true
    end
  end
  return order[1] and ('several channels are called %s; they got running numbers'):format(table.concat(order, ', '))
    or nil
end

local function as_rows(fname, positions, n)
  if tensor.is(positions) then
    if positions.ndim ~= 2 or positions.shape[1] ~= n or positions.shape[2] ~= 3 then
      error(('%s: positions are %s; %d channels need [%d, 3]'):format(fname, tensor.describe(positions), n, n), 4)
    end
    positions = positions:totable()
  end
  return positions
end

--- Names of marked channels, checked to be among the channels.
---@param fname string for messages
---@param bads string[]
---@param list table[]
---@return string[]
function M.marked(fname, bads, list)
  local there = {}
  for _, c in ipairs(list) do there[c.name] = true end
  for _, b in ipairs(bads) do
    if not there[b] then
      local near = check.nearest(tostring(b), M.names(list))
      error(('%s: bad channel %s is not among the channels%s'):format(fname, check.show(b),
        near and (' (did you mean %q?)'):format(near) or '; correct its name'), 3)
    end
  end
  return bads
end

--- A list of channels from names or tables.
--
-- list: names or tables { name, type, unit, position }. types: one type for all or a list of them (default eeg where a
-- table has none). positions: [C, 3] in metres, head frame; a row of NaN is a channel without position.
---     mc.meeg.channels.new({ 'Fz', 'Cz' }, 'eeg')[2].unit  --> V
---@param list table
---@param types? string|string[]
---@param positions? any tensor or nested list
---@return table[]
function M.new(list, types, positions)
  local fname, out = 'meeg.channels', {}
  check.arg(fname, 'channels', list, 'table', 3)
  if #list == 0 then error(fname .. ': the list of channels is empty; name at least one', 2) end
  if type(types) == 'table' and #types ~= #list then
    error(('%s: %d types for %d channels; give one each, or one for all'):format(fname, #types, #list), 2)
  end
  local rows = positions ~= nil and as_rows(fname, positions, #list)
  if rows and #rows ~= #list then
    error(('%s: %d positions for %d channels; give one each'):format(fname, #rows, #list), 2)
  end
  for i, c in ipairs(list) do
    local one = {}
    if type(c) == 'table' then
      for k, v in pairs(c) do one[k] = v end
    else one.name = c end
    local given = type(types) == 'table' and types[i] or types
    one.type = given or one.type or 'eeg'
    if rows then
      local p = rows[i]
      one.position = p[1] == p[1] and p[2] == p[2] and p[3] == p[3] and { p[1], p[2], p[3] } or nil
    end
    out[i] = one
  end
  return M.check(fname, out)
end

--- A copy of a list of channels that shares nothing with it.
---@param list table[]
---@param picks? integer[] positions to take, all when left out
---@return table[]
function M.copy(list, picks)
  lists('meeg.channels.copy', list, picks)
  local out = {}
  local function one(v)
    if type(v) ~= 'table' then return v end
    local t = {}
    for k, x in pairs(v) do t[k] = one(x) end
    return t
  end
  for k = 1, picks and #picks or #list do out[k] = one(list[picks and picks[k] or k]) end
  return out
end

--- Names of channels, in order.
---@param list table[]
---@return string[]
function M.names(list)
  local out = {}
  for i, c in ipairs(list) do out[i] = c.name end
  return out
end

local DATA = { mag = true, grad = true, eeg = true, seeg = true, ecog = true, dbs = true, hbo = true,
  hbr = true, fnirs = true }
local GROUPS = {
  data = function(t) return DATA[t] end, meg = function(t) return t == 'mag' or t == 'grad' end,
  all = function() return true end,
  fnirs = function(t) return t == 'hbo' or t == 'hbr' or t == 'fnirs' end,
}

--- Types in the order of their first appearance among the channels at `picks`.
---@param list table[]
---@param picks? integer[]
---@return string[]
function M.types(list, picks)
  lists('meeg.channels.types', list, picks)
  local out, seen = {}, {}
  for k = 1, picks and #picks or #list do
    local t = list[picks and picks[k] or k].type
    if not seen[t] then
      seen[t] = true
      out[#out + 1] = t
    end
  end
  return out
end

local function add_word(fname, list, word, chosen, marked)
  local group = GROUPS[word]
  local by_type = group or M.UNITS[word] and function(t) return t == word end
  local hits = 0
  for i, c in ipairs(list) do
    if c.name == word then
      chosen[i] = true
      return
    end
  end
  if by_type then
    for i, c in ipairs(list) do
      if by_type(c.type) then
        hits = hits + 1
        if not marked[c.name] then chosen[i] = true end
      end
    end
    if hits > 0 then return end
    error(('%s: no channel is of type %s; there are %s'):format(fname, word, table.concat(M.types(list), ', ')), 4)
  end
  local names, words = M.names(list), M.types(list)
  for _, name in ipairs(names) do words[#words + 1] = name end
  local near = check.nearest(word, words)
  error(('%s: %q is neither a channel nor a type%s; there are %s'):format(fname, word,
    near and (' (did you mean %q?)'):format(near) or '',
    table.concat(names, ', ', 1, math.min(#names, 12)) .. (#names > 12 and ', ...' or '')), 4)
end

--- Positions of the channels that are meant, ascending, each once.
--
-- what: a name, a type, a group ('data', 'meg', 'fnirs', 'all'), a position (1-based, negative from the end), or a list
-- of these; nil for all of group data. Channels named by a type leave out those marked bad; channels named themselves
-- stay.
---     mc.meeg.channels.pick(mc.meeg.channels.new({ 'Fz', 'Cz', 'EOG' }, { 'eeg', 'eeg', 'eog' }), 'eeg', { 'Fz' })
---       --> { 2 }
---@param list table[]
---@param what? string|integer|table
---@param bads? string[] names to leave out
---@param fname? string for messages
---@return integer[]
function M.pick(list, what, bads, fname)
  fname = fname or 'meeg.pick'
  lists(fname, list)
  if type(what) == 'table' and not is_list(what) then
    error(('%s: the channels to pick are %s with names in it; give a list'):format(fname, check.show(what)), 2)
  end
  if bads ~= nil and not is_list(bads) then
    error(('%s: the bad channels are %s; give a list of names'):format(fname, check.show(bads)), 2)
  end
  local chosen, marked, out = {}, {}, {}
  for _, b in ipairs(bads or {}) do marked[b] = true end
  if what == nil then
    for i, c in ipairs(list) do
      if DATA[c.type] and not marked[c.name] then chosen[i] = true end
    end
  else
    for _, w in ipairs(type(what) == 'table' and what or { what }) do
      if type(w) == 'number' then
        local i = w < 0 and #list + 1 + w or w
        if w ~= math.floor(w) or not list[i] then
          error(('%s: channel %s is outside the %d there are; they count from 1, or -1 backwards'):format(fname,
            tostring(w), #list), 3)
        end
        chosen[i] = true
      elseif type(w) == 'string' then add_word(fname, list, w, chosen, marked)
      else error(('%s: a channel is %s; give names, types or numbers'):format(fname, check.show(w)), 3) end
    end
  end
  for i = 1, #list do
    if chosen[i] then out[#out + 1] = i end
  end
  return out
end

--- Positions of sensors as f64 [C, 3] in metres, NaN where a channel has none.
---@param list table[]
---@param picks? integer[]
---@return any tensor
function M.positions(list, picks)
  lists('meeg.channels.positions', list, picks)
  local rows, nan = {}, 0 / 0
  for k = 1, picks and #picks or #list do
    local p = list[picks and picks[k] or k].position
    rows[k] = p and { p[1], p[2], p[3] } or { nan, nan, nan }
  end
  return require('mascon.array.create').tensor(rows)
end

return M
