-- files.lua - which module reads a recording, by the name of its file.
--
-- Dispatches by extension and checks the options of opening. The modules of files/ each offer open(path, options)
-- -> Raw or Epochs object.
local check = require 'mascon.core.check'
local error = check.error
local M = {}

local FORMATS = { edf = 'edf', bdf = 'edf', npy = 'arrays', npz = 'arrays', vhdr = 'brainvision',
  fif = 'fif', set = 'eeglab' }

local OPEN = {
  fs = { nil, 'number > 0' }, table = { nil, 'string | table' }, key = { nil, 'string' }, types = { nil, 'table' },
  unit = { nil, 'string' }, tmin = { nil, 'number' }, proj = { true, 'bool' },
}

--- Opens a file of continuous samples or of epochs, as what it holds: a Raw or an Epochs object. Options as in
--- mc.meeg.raw.open and mc.meeg.epochs.open.
---@param path string
---@param opts? table
---@return table raw or epochs
function M.open(path, opts)
  local fname = 'meeg.open'
  check.arg(fname, 'path', path, 'string', 3)
  local o = check.opts(fname, opts, OPEN, 3)
  local name = path:lower():gsub('%.gz$', '')
  local ext = name:match '%.([%w]+)$' or ''
  local module = FORMATS[ext]
  if not module then
    local known = check.names(FORMATS)
    local near = ext ~= '' and check.nearest(ext, FORMATS)
    error(('%s: %s has the extension %q%s; give a file of one of %s'):format(fname, path, ext,
      near and (' (did you mean %q?)'):format(near) or '', known), 2)
  end
  local f, msg = io.open(path, 'rb')
  if not f then error(('%s: %s; check the path'):format(fname, msg), 2) end
  f:close()
  local r = require('mascon.meeg.files.' .. module).open(path, o)
  for channel, type_ in pairs(o.types or {}) do
    local found
    for _, c in ipairs(r.channels) do
      if c.name == channel then c.type, c.unit, found = type_, nil, true end
    end
    if not found then
      error(('%s: option types names the channel %q, which %s does not have'):format(fname, tostring(channel), path), 2)
    end
  end
  if o.types then require('mascon.meeg.channels').check(fname, r.channels) end
  return o.proj and require('mascon.meeg.epochs').is(r) and r:apply_proj() or r
end

--- A file read whole: { data f64 [C, n], fs, channels, bads, annotations, info, warnings, path } of a recording, or an
--- Epochs object with its samples in memory. Options as in M.open.
---@param path string
---@param opts? table
function M.load(path, opts)
  local r = M.open(path, opts)
  if not require('mascon.meeg.raw').is(r) then return r:load() end
  local out = { data = r:read(), fs = r.fs, channels = r.channels, bads = r.bads, annotations = r.annotations,
    info = r.info, warnings = r.warnings, path = path }
  r:close()
  return out
end

--- Refuses a name that is taken.
---@param fname string for messages
---@param path string
---@param overwrite boolean
function M.vacant(fname, path, overwrite)
  if not overwrite and require('mascon.base.file').exists(path) then
    error(('%s: %s is there; choose another name or give overwrite = true'):format(fname, path), 4)
  end
end

local SAVED = { fif = true, npy = true, npz = true }

--- Saves epochs; see the method :save.
---@param path string
---@param e table epochs
---@param o table options, checked
function M.save(path, e, o)
  local ext = path:lower():match '%.([%w]+)$' or ''
  if not SAVED[ext] then
    error(('epochs.save: %s has the extension %q; give .fif, .npy or .npz%s'):format(path, ext,
      ext == 'gz' and ' (pack it afterwards)' or ''), 3)
  end
  M.vacant('epochs.save', path, o.overwrite)
  if ext == 'fif' then
    o.dtype = o.dtype or 'f32'
    require('mascon.meeg.files.fif_save').epochs(path, e, o)
  else require('mascon.meeg.files.arrays').save(path, e, o) end
end

return M
