-- state.lua - a fitted model as a file.
--
-- Holds the layout: an .npz with the tensors of each type under type/name and one JSON text for everything else; a file
-- of Python's autoreject is upstream.lua's.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local json = require 'mascon.base.json'
local npy = require 'mascon.io.npy'
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
  local about = { format = FORMAT, kind = 'autoreject model', seed = model.seed, order = model.order,
    warnings = model.warnings, types = {},
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

--- The fields of a model that :save wrote. For load alone: errors blame its caller.
function M.stored(path)
  local fname = 'autoreject.load'
  local archive = npy.open_npz(path)
  local about = archive:has 'about' and json.decode(archive:texts 'about'[1] or '')
  if type(about) ~= 'table' or about.kind ~= 'autoreject model' then
    error(('%s: %s holds no model'):format(fname, path), 3)
  end
  if about.format ~= FORMAT then
    error(('%s: %s has format %s, this program reads %d'):format(fname, path, tostring(about.format), FORMAT), 3)
  end
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

return M
