-- state.lua - a fitted model as a file.
--
-- Holds the layout: an .npz with the tensors of each type under type/name and one JSON text for everything else; a file
-- of Python's autoreject is upstream.lua's.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local json = require 'mascon.base.json'
local npy = require 'mascon.io.npy'
local upstream = require 'workflows.autoreject.upstream'
local error = check.error
local M = {}

local FORMAT = 1
-- what cannot or need not be stored
local LEFT = { verbose = true }

local function plain(v)
  if type(v) ~= 'table' then return v end
  local out = {}
  for k, x in pairs(v) do
    if not LEFT[k] and type(x) ~= 'function' and not mc.is_tensor(x) then out[k] = plain(x) end
  end
  return out
end

--- Writes a model.
function M.write(model, path)
  local about = { format = FORMAT, kind = 'autoreject model', seed = model.seed, order = model.order, warnings = model.warnings, types = {},
    options = plain(model.options), given = plain(model.given), consensus_grid = model.consensus_grid }
  for _, kind in ipairs(model.order) do about.types[kind] = plain(model.types[kind]) end
  local w = npy.create_npz(path)
  w:put_texts('about', { json.encode(about) })
  for _, kind in ipairs(model.order) do
    local names = {}
    for name, v in pairs(model.types[kind]) do
      if mc.is_tensor(v) then names[#names + 1] = name end
    end
    table.sort(names)
    for _, name in ipairs(names) do w:put(kind .. '/' .. name, model.types[kind][name]) end
  end
  w:close()
end

--- What :save wrote.
local function stored(path)
  local fname = 'autoreject.load'
  local archive = npy.open_npz(path)
  local about = archive:has 'about' and json.decode(archive:texts 'about'[1] or '')
  if type(about) ~= 'table' or about.kind ~= 'autoreject model' then error(('%s: %s holds no model'):format(fname, path), 3) end
  if about.format ~= FORMAT then error(('%s: %s has format %s, this program reads %d'):format(fname, path, tostring(about.format), FORMAT), 3) end
  about.options.verbose = false
  for kind, t in pairs(about.types) do
    for _, name in ipairs(archive.names) do
      local field = name:match('^' .. kind .. '/(.*)$')
      if field then t[field] = archive:get(name, { map = false }) end
    end
    if not t.threshold or not t.names then error(('%s: %s lacks the thresholds of %s'):format(fname, path, kind), 3) end
  end
  archive:close()
  return about
end

--- Reads a model that :save wrote, or one that Python's autoreject saved (.hdf5, .h5); the latter judges and repairs as with compat = 'upstream'.
---@param path string
---@return table model
--- Errors: a file that is not there or holds no model.
function M.load(path)
  check.arg('autoreject.load', 'path', path, 'string')
  local about = upstream.is(path) and upstream.fields(path) or stored(path)
  local model = { options = about.options, given = about.given, seed = about.seed, order = about.order, warnings = about.warnings, types = about.types, consensus_grid = about.consensus_grid,
    thresholds = {}, consensus = {}, n_interpolate = {}, loss = {} }
  for kind, t in pairs(about.types) do
    local limit = t.threshold:totable()
    for c, n in ipairs(t.names) do model.thresholds[n] = limit[c] end
    model.consensus[kind], model.n_interpolate[kind], model.loss[kind] = t.consensus, t.n_interpolate, t.loss
  end
  return require('workflows.autoreject.transform').model(model)
end

return M
