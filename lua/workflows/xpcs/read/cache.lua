-- cache.lua - what was read from a beamline file, kept packed for the next run and checked against its source.
--
-- One HDF5 file per q and range of frames. Its key covers the source (size and both ends), the choice of q, frames and
-- angles, and every option that changes numbers; a file with another key is made again, one that is no cache of ours is
-- left alone.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local data_of = require 'workflows.xpcs.data.data'
local coarse = require 'workflows.xpcs.pass.coarse'
local error = check.error
local M = {}

M.VERSION = 3
local TEMPLATE = 'cached_c2_q{wavevector_q:.4f}_frames_{start_frame}_{end_frame}.h5'
local MARK = 'mascon xpcs cache'

--- The file of a cache: its folder and a name from a template with {wavevector_q:.4f}, {start_frame}, {end_frame}.
---@param o table folder, template
---@param place table q, first, last
---@return string path
function M.path(o, place)
  local values = { wavevector_q = place.q, start_frame = place.first, end_frame = place.last }
  local template = o.template or TEMPLATE
  local name = template:gsub('{([%w_]+):?([^}]*)}', function(key, form)
    local v = values[key]
    if not v then
      error(('xpcs: cache_filename_template holds {%s}; the names are {wavevector_q}, {start_frame} and {end_frame}')
        :format(key), 4)
    end
    local digits = form:match '^%.(%d+)f$'
    if form ~= '' and not digits then
      error(('xpcs: cache_filename_template holds {%s:%s}; write {%s} or {%s:.4f}'):format(key, form, key, key), 4)
    end
    return digits and ('%.' .. digits .. 'f'):format(v) or ('%.14g'):format(v)
  end)
  if name:find '[/\\]' or name:find('..', 1, true) then
    error(('xpcs: cache_filename_template gives %q; a name holds no path separator and no ".."'):format(name), 4)
  end
  return (o.folder or '.'):gsub('/*$', '') .. '/' .. name:gsub('%.npz$', '') .. (name:find '%.h5$' and '' or '.h5')
end

local LISTS = { 'start_contrast', 'start_offset', 'sigma' }

--- The data of a cache, or nil and why not.
---@param path string
---@param key string
---@param o table what the data are made with: n, phi, t, dtype and what describes them
---@return mascon.xpcs.Data|nil, string|nil why, boolean|nil foreign
function M.read(path, key, o)
  check.arg('xpcs.cache.read', 'key', key, 'string', 3)
  check.arg('xpcs.cache.read', 'o', o, 'table', 3)
  if not mc.file.exists(path) then return nil end
  local ok, file = check.try(mc.open, path, { format = 'h5' })
  if not ok then return nil, 'it is damaged', false end
  local fine, d, why, foreign = pcall(function()
    if not file:has 'mark' or file:get 'mark' ~= MARK then return nil, 'it is no cache of this program', true end
    if file:get 'key' ~= key then return nil, 'it belongs to other data, q, frames, angles or options' end
    local d = data_of.streamed(o)
    d.packed, d.holes = file:get 'packed', file:get 'holes'
    if file:has 'weight' then d.weight = file:get 'weight' end
    for _, name in ipairs(LISTS) do if file:has(name) then d[name] = file:get(name):totable() end end
    local counts = file:get('counts'):totable()
    d.points, d.masked, d.coarse, d.quality = counts[1], counts[2], {}, {}
    local quality = file:get('quality'):totable()
    for f = 1, d.F do
      d.coarse[f] = {}
      for i = 1, #coarse.windows(d.n, d.F) do d.coarse[f][i] = file:get(('coarse/%05d/%02d'):format(f, i)) end
      local q = quality[f]
      d.quality[f] = { points = q[1], good = q[2], missing = q[3], least = q[4], most = q[5], mean = q[6] }
    end
    return d
  end)
  file:close()
  if not fine then
    if check.stopped(d) then error(d, 0) end
    return nil, 'it is damaged', false
  end
  return d, why, foreign
end

--- Keeps data in a cache.
---@param path string
---@param key string
---@param d mascon.xpcs.Data in memory
---@param o table compressed
function M.write(path, key, d, o)
  local folder = path:match '^(.*)/[^/]*$'
  local made, why = mc.file.make_folder(folder)
  if not made then error(('xpcs: the cache cannot be kept: %s'):format(why), 4) end
  local w = mc.open(path, { mode = 'w', format = 'h5', level = o.compressed and 4 or nil })
  local ok, wrong = pcall(function()
    w:put('mark', MARK)
    w:put('key', key)
    w:put('packed', d.packed)
    w:put('holes', d.holes)
    if d.weight then w:put('weight', d.weight) end
    for _, name in ipairs(LISTS) do if d[name] then w:put(name, mc.tensor(d[name])) end end
    w:put('counts', mc.tensor { d.points, d.masked })
    local rows = {}
    for f, q in ipairs(d.quality) do
      rows[f] = { q.points, q.good, q.missing, q.least, q.most, q.mean }
      for i, c in ipairs(d.coarse[f]) do w:put(('coarse/%05d/%02d'):format(f, i), c) end
    end
    w:put('quality', mc.tensor(rows))
    w:close()
  end)
  if not ok then
    w:abort()
    error(wrong, 0)
  end
end

return M
