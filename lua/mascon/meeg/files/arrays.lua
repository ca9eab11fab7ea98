-- arrays.lua - .npy and .npz arrays with a side table as Raw [C, T] or Epochs [E, C, T].
--
-- Holds finding the samples, the rate, the events and the names. Arrays stored plainly are mapped, so that one larger
-- than memory passes through. The side table is in side_table.lua.
local tensor = require 'mascon.core.tensor'
local create = require 'mascon.array.create'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local lib = require 'mascon.core.ffi'
local channels = require 'mascon.meeg.channels'
local raw = require 'mascon.meeg.raw'
local epochs = require 'mascon.meeg.epochs'
local side_table = require 'mascon.meeg.files.side_table'
local archive = require 'mascon.meeg.files.archive'
local error = check.error
local M = {}

-- channels times samples of epochs that there are none of
local EMPTY = 2 ^ 24

--- The arrays of an .npz: samples, rate, time of the first sample, events, and what else it says.
local function from_npz(path, key)
  local file = require('mascon.io').open(path)
  local found = archive.read('meeg.open', file, { key = key, prefer = 'data', least = 2, most = 3 })
  return found.data, found.fs, archive.number(file, { 'tmin' }), file:has 'events' and file:get 'events' or nil, found
end

local function scales_of(path, list, unit)
  local scale = {}
  for i, c in ipairs(list) do
    local name = c.file_unit or unit
    local factor, si = 1, nil
    if name then factor, si = channels.unit(name) end
    if not factor then
      error(('meeg.open: %s: the unit %q of channel %s is not known; scale the data to SI units and leave it out')
        :format(path, name, c.name), 4)
    end
    scale[i], c.unit = factor, si
  end
  return scale
end

--- Opens an array: [C, T] as a Raw, [E, C, T] as an Epochs object. Options as in mc.meeg.raw.open.
---@param path string
---@param o table
---@return table
function M.open(path, o)
  local data, fs, tmin, events, found
  if path:lower():match '%.npz$' then data, fs, tmin, events, found = from_npz(path, o.key)
  else data = require('mascon.io').open(path) end
  if data.ndim ~= 2 and data.ndim ~= 3 or tensor.kind[data.dtype] == 'c' then
    error(('meeg.open: %s is %s; a recording is [channels, samples], epochs are [epochs, channels, samples]'):format(
      path, tensor.describe(data)), 3)
  end
  local n_channels, n_samples = data.shape[data.ndim - 1], data.shape[data.ndim]
  -- an array without elements can be of any shape
  if n_channels < 1 or n_samples < 1 or data:numel() == 0 and n_channels * n_samples > EMPTY then
    error(('meeg.open: %s is %s; a recording has channels and samples'):format(path, tensor.describe(data)), 3)
  end
  local side = side_table.load(path, o.table)
  fs, tmin, events = o.fs or side.fs or fs, o.tmin or side.tmin or tmin or 0, events or side.events
  if not fs then error(('meeg.open: %s does not tell its sampling rate; give fs in Hz'):format(path), 3) end
  local C = data.shape[data.ndim - 1]
  local list = side.channels
  if not list then
    list = {}
    local names = found and archive.names(found, C)
    for i = 1, C do
      list[i] = names and { name = names[i], type = channels.guess(names[i], 'eeg') } or { name = ('ch%d'):format(i),
        type = 'eeg' }
    end
    if names then table.insert(found.notes, channels.distinct(list)) end
  end
  if #list ~= C then
    error(('meeg.open: %s has %d channels, its table %s names %d; they must agree'):format(path, C, side.path, #list),
      3)
  end
  local notes = found and found.notes or {}
  if not side.channels and data.ndim == 2 and C > data.shape[2] then
    notes[#notes + 1] = ('the array is read as %d channels x %d samples; transpose one that is samples x ' ..
      'channels'):format(C, data.shape[2])
  end
  local scale = scales_of(path, list, o.unit)
  channels.check('meeg.open', list)
  if data.ndim == 2 then
    return raw.over({ path = path, format = path:lower():match '%.(%w+)$', fs = fs, samples = data.shape[2],
      channels = list, bads = side.bads, warnings = notes }, raw.rows(data, scale))
  end
  local n, dtype = data.shape[1], data.dtype == 'f32' and 'f32' or 'f64'
  return epochs.over('meeg.open', {
    fs = fs, tmin = tmin, samples = data.shape[3], channels = list, bads = side.bads, events = events,
    event_id = side.event_id, info = {},
    selection = side.selection, drop_log = side.drop_log, baseline = side.baseline, warnings = notes,
  }, {
    count = n, dtype = dtype, read = function(rows, picks)
      local there = data
      if rows[#rows] - rows[1] == #rows - 1 then there = data[{ { rows[1], rows[#rows] } }] end
      local x = there
      if there == data then x = op.functions.take(data, create.tensor(rows, { dtype = 'i64' }), 1) end
      x = op.functions.take(x, create.tensor(picks, { dtype = 'i64' }), 2):to { dtype = dtype }
      lib.C.mc_unload(there) -- a file that passes through block by block does not pile up in the process
      return raw.scaled(x, picks, scale)
    end,
  })
end

--- Saves epochs as .npy or .npz with a side table of the same name, .json. Options of the method :save, checked.
---@param path string
---@param e table epochs
---@param o table
function M.save(path, e, o)
  local io_, table_path, dtype = require 'mascon.io', side_table.path(path), o.dtype or e:dtype()
  require('mascon.meeg.files').vacant('epochs.save', table_path, o.overwrite)
  if path:lower():match '%.npz$' then
    local data = e.data
    io_.save(path, {
      data = data.dtype == dtype and data or data:to { dtype = dtype }, fs = create.tensor(e.fs),
      tmin = create.tensor(e.tmin), events = e.events,
    }, { level = o.level })
  else
    local blocks = e:blocks()
    io_.save(path, function()
      local x = blocks()
      return x and (x.dtype == dtype and x or x:to { dtype = dtype })
    end, { dtype = dtype, row = { #e.channels, e.samples } })
  end
  local ok, msg = side_table.save(path, e)
  if not ok then
    os.remove(path)
    error(msg, 4)
  end
end

return M
