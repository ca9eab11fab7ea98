-- io - mc.load, mc.open, mc.save: files by their extension.
--
-- load reads whole, open is lazy, save writes through a temporary name. Owns the dispatch by extension, no format.
local tensor = require 'mascon.tensor'
local check = require 'mascon.check'
local M = {}

local function extension(path) return (path:match '%.([%w]+)$' or ''):lower() end

local function exists(fname, path, level)
  check.arg(fname, 'path', path, 'string', level + 1)
  local f, msg = io.open(path, 'rb')
  if not f then error(('%s: %s; check the path'):format(fname, msg), level) end
  f:close()
end

local READ = 'npy, npz, edf, bdf, json, csv and tsv'

--- Reads a file whole: .npy -> tensor, .npz -> table of tensors, .edf/.bdf -> recording, .json -> Lua value, .csv/.tsv -> table.
---@param path string
function M.load(path)
  exists('load', path, 3)
  local ext = extension(path)
  if ext == 'npy' then return require('mascon.io.npy').load_npy(path, false) end
  if ext == 'npz' then return require('mascon.io.npy').load_npz(path) end
  if ext == 'edf' or ext == 'bdf' then return require('mascon.io.edf').open(path):read_all() end
  if ext == 'json' then
    local text = assert(require('mascon.file').read(path))
    return require('mascon.json').decode(text)
  end
  if ext == 'csv' or ext == 'tsv' then return require('mascon.io.csv').load(path, ext == 'tsv' and '\t' or ',') end
  error(('load: %s has the extension %q; mascon reads %s'):format(path, ext, READ), 2)
end

--- Opens a file lazily: .npy -> mapped read-only tensor, .npz -> archive with :get(name), .edf/.bdf -> recording with :read{...}.
function M.open(path)
  exists('open', path, 3)
  local ext = extension(path)
  if ext == 'npy' then return require('mascon.io.npy').load_npy(path, true) end
  if ext == 'npz' then return require('mascon.io.npy').open_npz(path) end
  if ext == 'edf' or ext == 'bdf' then return require('mascon.io.edf').open(path) end
  error(('open: %s has the extension %q; mascon opens npy, npz, edf and bdf'):format(path, ext), 2)
end

local SAVE = { level = { 0, 'integer >= 0' } }
--- Writes a value: .npy tensor, .npz table of tensors (level = 1..9 deflates), .json, .csv/.tsv (tensor of at most 2 axes or rows).
function M.save(path, value, opts)
  check.arg('save', 'path', path, 'string', 3)
  local o = check.opts('save', opts, SAVE, 3)
  local ext = extension(path)
  if ext == 'npy' then
    if type(value) == 'table' or type(value) == 'number' then value = require('mascon.create').tensor(value) end
    if not tensor.is(value) then error(('save: value is %s; .npy holds one tensor'):format(check.show(value)), 2) end
    return require('mascon.io.npy').save_npy(path, value)
  elseif ext == 'npz' then
    if type(value) ~= 'table' then error(('save: value is %s; .npz holds a table of tensors'):format(check.show(value)), 2) end
    local list = {}
    for k, v in pairs(value) do
      if type(k) ~= 'string' then error(('save: key %s; arrays of an .npz have names'):format(tostring(k)), 2) end
      list[k] = tensor.is(v) and v or require('mascon.create').tensor(v)
    end
    return require('mascon.io.npy').save_npz(path, list, o.level)
  end
  local text
  if ext == 'json' then text = require('mascon.json').encode(value, { indent = 2 }) .. '\n'
  elseif ext == 'csv' or ext == 'tsv' then
    local rows = tensor.is(value) and value:totable() or value
    if tensor.is(value) and value.ndim == 1 then for i, v in ipairs(rows) do rows[i] = { v } end end
    text = require('mascon.text').csv(rows, { separator = ext == 'tsv' and '\t' or nil })
  elseif ext == 'txt' or ext == 'svg' or ext == 'html' or ext == 'md' then text = tostring(value)
  else error(('save: %s has the extension %q; mascon writes npy, npz, json, csv, tsv, txt, svg, html'):format(path, ext), 2) end
  local ok, msg = require('mascon.file').write(path, text)
  if not ok then error(msg, 2) end
end

return M
