-- side_table.lua - what an array of samples does not say about its channels, from a CSV or JSON file beside it.
--
-- Holds the columns name, type, unit, x, y, z (m, head frame), bad, and what a JSON table may say of the whole
-- recording (fs, tmin, events, event_id, bads, selection, drop_log).
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local error = check.error
local M = {}

local ENDINGS = { '.csv', '.tsv', '.json' }

--- The table that lies beside a file of samples, or nil.
local function beside(path)
  local stem = path:gsub('%.%w+$', '')
  for _, ending in ipairs(ENDINGS) do
    if file.exists(stem .. ending) then return stem .. ending end
  end
end

local COLUMNS = { name = true, type = true, unit = true, x = true, y = true, z = true, bad = true }

local function truth(path, v)
  if type(v) == 'boolean' then return v end
  if type(v) == 'number' then return v == v and v ~= 0 end
  local word = tostring(v):lower()
  if word == 'true' or word == 'yes' or word == 'bad' or word == '1' then return true end
  if word == 'false' or word == 'no' or word == 'good' or word == '0' or word == '' then return false end
  error(('meeg.open: %s: column bad holds %s; write 0 or 1'):format(path, check.show(v)), 4)
end

local function number(path, i, name, v)
  if v == nil or v == '' or (type(v) == 'number' and v ~= v) or type(v) == 'table' then return nil end
  local n = tonumber(v)
  if not n then
    error(('meeg.open: %s: row %d: %s is %s; it must be a number'):format(path, i, name, check.show(v)), 4)
  end
  return n
end

local function word(v)
  if type(v) ~= 'string' and type(v) ~= 'number' or v == '' or v ~= v then return nil end
  return tostring(v)
end

--- Rows { name, type, unit, x, y, z, bad } as channels, and the names of the bad ones.
local function channels_of(path, rows)
  local list, bads = {}, {}
  for i, row in ipairs(rows) do
    if type(row) ~= 'table' then
      error(('meeg.open: %s: channel %d is %s; give { name, type, x, y, z, unit }'):format(path, i, check.show(row)), 4)
    end
    local x, y, z = number(path, i, 'x', row.x), number(path, i, 'y', row.y), number(path, i, 'z', row.z)
    local name = word(row.name)
    if not name then
      error(('meeg.open: %s: channel %d has no name; the table needs a column name'):format(path, i), 4)
    end
    local type_ = word(row.type)
    list[i] = { name = name, type = type_ and type_:lower() or 'eeg', file_unit = word(row.unit),
      position = x and y and z and { x, y, z } or nil }
    if row.bad ~= nil and truth(path, row.bad) then bads[#bads + 1] = name end
  end
  return list, bads
end

local function rows_of_csv(path)
  local t = require('mascon.io').load(path, { header = true })
  local rows = {}
  if not t.names then
    error(
      ('meeg.open: %s has no header; its first line must name the columns, as in name,type,x,y,z,unit'):format(path), 4)
  end
  local known = false
  for _, name in ipairs(t.names) do known = known or COLUMNS[name:lower()] end
  for i = 1, t.rows do rows[i] = {} end
  for j, name in ipairs(t.names) do
    local column = t.columns[j]
    if type(column) ~= 'table' then column = column:totable() end
    for i = 1, t.rows do rows[i][name:lower()] = column[i] end
  end
  if not known then
    error(('meeg.open: %s has none of the columns name, type, x, y, z, unit; correct its header'):format(path), 4)
  end
  return rows
end

-- what a table may say of the whole recording
local WHOLE = { fs = 'number', tmin = 'number', channels = 'table', bads = 'table', events = 'table',
  event_id = 'table', selection = 'table', drop_log = 'table', baseline = 'table' }

--- The side table of a file of samples: { channels, bads, fs, tmin, events, event_id, path }, or an empty table when
--- there is none.
--
-- given: path of a table, a Lua table of the same form, or nil for a file of the same name beside the samples.
---@param path string of the samples
---@param given? string|table
---@return table
function M.load(path, given)
  local from, t
  if type(given) == 'table' then
    from, t = 'option table', given
  else
    from = given or beside(path)
    if not from then return {} end
    if from:lower():match '%.json$' then
      local text, msg = file.read(from, 2 ^ 28)
      if not text then error('meeg.open: ' .. msg .. '; check the path of the table', 3) end
      t, msg = require('mascon.base.json').decode(text)
      if type(t) ~= 'table' then error(('meeg.open: %s: %s'):format(from, msg or 'no table of channels'), 3) end
    else t = rows_of_csv(from) end
  end
  if t[1] ~= nil then t = { channels = t } end
  local out = { path = from }
  for k, kind in pairs(WHOLE) do
    if t[k] ~= nil and type(t[k]) ~= kind then
      error(('meeg.open: %s: %s is %s; it must be a %s'):format(from, k, check.show(t[k]), kind), 3)
    end
    out[k] = t[k]
  end
  for name, id in pairs(out.event_id or {}) do
    if type(id) ~= 'number' then
      error(('meeg.open: %s: event_id %s is %s; it must be a number'):format(from, tostring(name), check.show(id)), 3)
    end
  end
  local bads = {}
  if out.channels then out.channels, bads = channels_of(from, out.channels) end
  for _, b in ipairs(t.bads or {}) do bads[#bads + 1] = b end
  out.bads = bads
  return out
end

--- Where the side table of a file of samples is written.
---@param path string of the samples
function M.path(path) return (path:gsub('%.%w+$', '')) .. '.json' end

--- Writes the side table of epochs; true, or nil and a message.
---@param path string of the samples
---@param e table epochs
function M.save(path, e)
  local json, list, bad, log = require 'mascon.base.json', {}, {}, {}
  for _, b in ipairs(e.bads) do bad[b] = true end
  for i, c in ipairs(e.channels) do
    local p = c.position or {}
    list[i] = { name = c.name, type = c.type, unit = c.unit ~= '' and c.unit or nil, x = p[1], y = p[2], z = p[3],
      bad = bad[c.name] or nil }
  end
  for i, reasons in ipairs(e.drop_log) do
    log[i] = json.array {}
    for k, r in ipairs(reasons) do log[i][k] = r end
  end
  local t = {
    fs = e.fs, tmin = e.tmin, channels = list, events = json.array(e.events:totable()), event_id = e.event_id,
    selection = json.array { unpack(e.selection) }, drop_log = json.array(log), baseline = e.baseline,
  }
  return file.write(M.path(path), json.encode(t, { indent = 1 }) .. '\n')
end

return M
