-- io/init.lua - mc.load, mc.open, mc.save: files by their extension.
--
-- load reads whole, open is lazy (or, with mode = "w", writes in pieces), save writes through a temporary name.
-- Dispatches by extension; the formats have files of their own. A file that is not there or not what its name says is
-- an error that names it.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

local FORMATS = { 'npy', 'npz', 'safetensors', 'edf', 'bdf', 'fif', 'vhdr', 'set', 'mat', 'h5', 'hdf5', 'hdf', 'json',
  'yaml', 'yml', 'csv', 'tsv', 'txt', 'md', 'html', 'svg' }
local BRAIN = { fif = true, vhdr = true, set = true } -- recordings: read by what stands above (meeg/load.lua)
local TREE = { h5 = true, hdf5 = true, hdf = true }
local YAML = { yaml = true, yml = true }
local TEXT = { txt = true, md = true, html = true, svg = true }
local SEPARATOR = { tsv = '\t' } -- csv.lua looks for that of a .csv itself

local function join(list) return table.concat(list, ', ', 1, #list - 1) .. ' and ' .. list[#list] end

--- The path checked and its format: the option `format`, or the extension.
local function format_of(fname, path, opts, known)
  check.arg(fname, 'path', path, 'string', 4)
  if path:find('\0', 1, true) then error(fname .. ': the path holds a zero byte; check how it was made', 3) end
  if opts ~= nil and type(opts) ~= 'table' then
    error(('%s: options are %s; give a table'):format(fname, check.show(opts)), 3)
  end
  local ext = opts and opts.format
  if ext ~= nil then check.arg(fname, 'option format', ext, 'string', 4)
  else ext = (path:match '%.([%w]+)$' or ''):lower() end
  if ext == 'gz' and path:lower():match '%.fif%.gz$' then ext = 'fif' end
  for _, k in ipairs(known) do
    if k == ext then return ext end
  end
  local what = ext == '' and 'has no extension'
    or ('has the %s %q'):format(opts and opts.format and 'format' or 'extension', ext)
  local near = ext ~= '' and check.nearest(ext, known)
  local hint = near and (' (did you mean %q?)'):format(near) or ''
  error(('%s: %s %s%s; give format = to say what it is, one of %s'):format(fname, path, what, hint, join(known)), 3)
end

--- Raises for what cannot be read: a missing file, a directory. Results whose publication was killed are completed
--- first: no reader sees files of two runs.
local function readable(fname, path)
  if lib.C.mc_file_set_recover(path) ~= 0 then error(('%s: %s'):format(fname, lib.message()), 3) end
  local f, msg = io.open(path, 'rb')
  if not f then error(('%s: %s; check the path'):format(fname, msg), 3) end
  local _, why = f:read(1)
  f:close()
  if why then error(('%s: %s: %s; give the name of a file'):format(fname, path, why), 3) end
end

--- Options without those of the dispatch; nil when none are left.
local function rest(opts)
  local out
  for k, v in pairs(opts or {}) do
    if k ~= 'format' and k ~= 'mode' then
      out = out or {}
      out[k] = v
    end
  end
  return out
end

local NONE = {}

--- The module that reads recordings of EEG and MEG, set by meeg/load.lua.
function M.recordings() error('io: recordings are read through mc.load and mc.open', 3) end

--- Reads a file whole.
--
-- .npy: tensor (texts: Lua strings in lists). .npz: table of these. .safetensors: table of tensors, and its texts as a
-- second result. .edf, .bdf: { data [C, n], fs, channels, labels,
-- annotations, gaps, ... }. .fif, .vhdr, .set: { data [C, n], fs, channels, bads, annotations, info, ... } in SI units,
-- or epochs. .mat: table of variables. .h5, .hdf5, .hdf: nested table of its groups. .csv, .tsv: { rows, names,
-- columns, data }: columns by position and by name, f64 [rows], or lists of texts where a cell is a word; data f64
-- [rows, columns], nil where a column holds words. .json, .yaml, .yml: Lua value. .txt, .md, .html, .svg: text.
-- format: says what the file is when its name does not. Other options are those of the format. CSV: header (true,
-- false, 'auto'), separator, decimal ('.' or ','), comment (text that opens a line to leave out), missing (more words
-- for NaN), numeric (true: a word is an error with its place). EDF and BDF: channels, from and to (seconds) or first
-- and last, fs, dtype, gaps. Owns the result.
---@param path string
---@param opts? table
function M.load(path, opts)
  local ext = format_of('load', path, opts, FORMATS)
  readable('load', path)
  local o = rest(opts)
  local out, msg
  if ext == 'edf' or ext == 'bdf' then out = require('mascon.io.edf').load(path, o)
  elseif ext == 'csv' or ext == 'tsv' then out = require('mascon.io.csv').load(path, SEPARATOR[ext], o)
  elseif BRAIN[ext] then out = M.recordings().load(path, o)
  else
    check.opts('load', o, NONE, 3)
    if ext == 'npy' then out = require('mascon.io.npy').load_npy(path, false)
    elseif ext == 'mat' then out = require('mascon.io.mat').load(path)
    elseif TREE[ext] then out = require('mascon.io.hdf5').load(path)
    elseif YAML[ext] then out = require('mascon.io.yaml').load(path)
    elseif ext == 'npz' then out = require('mascon.io.npy').load_npz(path)
    elseif ext == 'safetensors' then
      local texts
      out, texts = require('mascon.io.safetensors').load(path)
      return out, texts
    else
      out, msg = require('mascon.base.file').read(path, ext == 'json' and 2 ^ 28 or nil)
      if out and ext == 'json' then
        out, msg = require('mascon.base.json').decode(out)
        if msg then msg = path .. ': ' .. msg end
      end
    end
  end
  if msg then error('load: ' .. msg, 2) end
  return out
end

local LAZY = { 'npy', 'npz', 'edf', 'bdf', 'fif', 'vhdr', 'set', 'mat', 'h5', 'hdf5', 'hdf' }
local PIECES = { 'npy', 'npz', 'h5', 'hdf5', 'hdf', 'csv', 'tsv' }

--- Opens a file without reading it: .npy -> read-only tensor on the mapped file, .npz -> archive with names and
--- :get(name), .edf and .bdf -> recording with :read{...}, :blocks{...}, :epochs{...}; .fif, .vhdr and .set ->
--- recording or epochs of mc.meeg; .mat -> tree of variables; .h5, .hdf5 and .hdf -> tree of groups with names,
--- attributes, :get(path), and :dataset(path) with :read{...} of ranges.
--
-- mode = 'w': a file written in pieces, each with :close() and :abort(): .npy :append(rows) (options dtype, row), .npz
-- :put(name, tensor) (option level), .h5, .hdf5 and .hdf :put(path, value), :attributes(path, table) (option level),
-- .csv and .tsv :append(rows) (options header, separator, newline). Until :close() an older file stays as it is. Owns.
---@param path string
---@param opts? table
function M.open(path, opts)
  local mode = type(opts) == 'table' and opts.mode or 'r'
  if mode ~= 'r' and mode ~= 'w' then
    error(('open: mode is %s; choose "r" to read or "w" to write in pieces'):format(check.show(mode)), 2)
  end
  local ext = format_of('open', path, opts, mode == 'r' and LAZY or PIECES)
  local o = rest(opts)
  local out
  if mode == 'w' then
    if ext == 'npy' then out = require('mascon.io.npy').create_npy(path, o)
    elseif ext == 'npz' then out = require('mascon.io.npy').create_npz(path, o)
    elseif TREE[ext] then out = require('mascon.io.hdf5').create(path, o)
    else out = require('mascon.io.csv').create(path, o, SEPARATOR[ext]) end
    return out
  end
  readable('open', path)
  if BRAIN[ext] then
    out = M.recordings().open(path, o)
    return out
  end
  check.opts('open', o, NONE, 3)
  if ext == 'npy' then out = require('mascon.io.npy').load_npy(path, true)
  elseif ext == 'npz' then out = require('mascon.io.npy').open_npz(path)
  elseif ext == 'mat' then out = require('mascon.io.mat').open(path)
  elseif TREE[ext] then out = require('mascon.io.hdf5').open(path)
  else out = require('mascon.io.edf').open(path) end
  return out
end

local SAVED = { 'npy', 'npz', 'safetensors', 'h5', 'hdf5', 'hdf', 'json', 'yaml', 'yml', 'csv', 'tsv', 'txt', 'md',
  'html', 'svg' }
local LEVEL = { level = { 0, 'integer >= 0' } }

--- Blocks from a function to one .npy file; an error in it leaves the old file.
local function save_blocks(path, f, o)
  local s = require('mascon.io.npy').create_npy(path, o)
  local ok, e = pcall(function()
    for block in f do s:append(block) end
    s:close()
  end)
  if not ok then
    s:abort()
    error(e, 0)
  end
end

local function save_npz(path, value, o)
  if type(value) ~= 'table' then
    error(('save: value is %s; .npz holds a table of tensors'):format(check.show(value)), 3)
  end
  local list = {}
  for k, v in pairs(value) do
    if type(k) ~= 'string' then error(('save: key %s; arrays of an .npz have names'):format(tostring(k)), 3) end
    local texts = type(v) == 'string' or (type(v) == 'table' and type(v[1]) == 'string')
    list[k] = (texts or tensor.is(v)) and v or require('mascon.array.create').tensor(v)
  end
  require('mascon.io.npy').save_npz(path, list, check.opts('save', o, LEVEL, 4).level)
end

--- Writes a value; an older file stays as it is until the new one is whole.
--
-- .npy: a tensor, a number, a nested table, or a function that returns one block of rows after the other, then nil
-- (options dtype, row). .npz: a table of tensors (level = 1..9 deflates). .safetensors: the same for other programs
-- (metadata = texts by name). .h5, .hdf5, .hdf: a nested table of tensors,
-- numbers, booleans, strings and lists of strings (level = 1..9 packs, attributes = { path = { name = value } }). .csv,
-- .tsv: a tensor of at most 2 axes, an array of rows, or { names, columns } (options header, separator, newline).
-- .json, .yaml, .yml: a Lua value. .txt, .md, .html, .svg: text.
---@param path string
---@param value any
---@param opts? table
function M.save(path, value, opts)
  local ext = format_of('save', path, opts, SAVED)
  local o = rest(opts)
  if ext == 'npy' then
    if type(value) == 'function' then
      save_blocks(path, value, o)
      return
    end
    check.opts('save', o, NONE, 3)
    if type(value) == 'table' or type(value) == 'number' or type(value) == 'boolean' or tensor.is_complex(value) then
      value = require('mascon.array.create').tensor(value)
    end
    if not tensor.is(value) then error(('save: value is %s; .npy holds one tensor'):format(check.show(value)), 2) end
    require('mascon.io.npy').save_npy(path, value)
    return
  elseif ext == 'npz' then
    save_npz(path, value, o)
    return
  elseif ext == 'safetensors' then
    require('mascon.io.safetensors').save(path, value, o)
    return
  elseif TREE[ext] then
    require('mascon.io.hdf5').save(path, value, o)
    return
  elseif ext == 'csv' or ext == 'tsv' then
    require('mascon.io.csv').save(path, value, o, SEPARATOR[ext])
    return
  end
  check.opts('save', o, NONE, 3)
  local text
  if TEXT[ext] then
    if type(value) ~= 'string' and type(value) ~= 'number' and not tensor.is(value) then
      error(('save: value is %s; .%s holds text'):format(check.show(value), ext), 2)
    end
    text = tostring(value)
  elseif YAML[ext] then text = require('mascon.io.yaml').encode(value)
  else text = require('mascon.base.json').encode(value, { indent = 2 }) .. '\n' end
  local ok, msg = require('mascon.base.file').write(path, text)
  if not ok then error(msg, 2) end
end

return M
