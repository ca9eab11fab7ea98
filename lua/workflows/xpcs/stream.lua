-- stream.lua - data larger than memory: packed once, then read by every pass from front to back.
--
-- The packed file is HDF5 with one dataset per block of tiles, so reading holds one block. It also serves as a cache:
-- it names its source by size and a hash of both ends, the
-- q, the frames and the angles, and is made again when any of them differs. Matrices are read by rectangles; none is
-- ever whole in memory.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local file_ = require 'mascon.base.file'
local data_of = require 'workflows.xpcs.data'
local prepare = require 'workflows.xpcs.prepare'
local scaling = require 'workflows.xpcs.scaling'
local start = require 'workflows.xpcs.start'
local error = check.error
local M = {}

M.VERSION = 1
local T, G = data_of.TILE, data_of.GROUP
local QUANTILES = 300 -- times of the thinned matrices from which contrast and offset start

--- Size and a hash of the first and last MiB of a file.
function M.source_key(path)
  local f = assert(io.open(path, 'rb'))
  local size = f:seek 'end'
  f:seek('set', 0)
  local head = f:read(2 ^ 20) or ''
  f:seek('set', math.max(0, size - 2 ^ 20))
  local tail = f:read(2 ^ 20) or ''
  f:close()
  return mc.manifest.hash { size, head, tail }
end

--- What a packed file must agree in.
local function key_of(path, about, o)
  return mc.manifest.hash { version = M.VERSION, source = M.source_key(path), q = about.q, phi = about.phi,
    first = about.first, last = about.last, drop = about.drop, names = about.datasets,
    dtype = o.dtype, block = o.block_values, full = o.full_matrices }
end

--- Ranges of tiles of one tile row with at most so many values.
local function blocks_of(tiles, limit)
  local out, first = {}, 1
  while first <= #tiles do
    local last, sum = first, tiles[first].values
    while last < #tiles and tiles[last + 1].I == tiles[first].I and sum + tiles[last + 1].values <= limit do
      last = last + 1
      sum = sum + tiles[last].values
    end
    out[#out + 1] = { first = first, last = last, values = sum }
    first = last + 1
  end
  return out
end

--- Which triangle a half matrix fills, seen from its first row and column.
local function triangle_of(set, first, last, where, full)
  if full then return 'upper' end
  local row, column = set:read { first, { first + 1, last } }:to 'f64', set:read({ { first + 1, last },
    first }):to 'f64'
  local function filled(x) return mc.any(mc.logical_and(mc.ne(x, 0), mc.logical_not(mc.isnan(x)))) end
  local up, low = filled(row), filled(column)
  if up and low then
    error(('xpcs: both triangles of %s hold values; two-time matrices are stored as one triangle. '
      .. 'When the file holds full symmetric matrices, say so with full_matrices = true'):format(where), 4)
  end
  return low and 'lower' or 'upper'
end

--- Every k-th frame of a half matrix as a full one, its diagonal corrected.
local function thinned(set, first, last, k, where, full)
  local h = set:read { { first, last, k }, { first, last, k } }
  return prepare.diagonal(prepare.symmetric(h, where, full))
end

--- Packs the matrices into `to`.
local function pack(to, file, about, o, report)
  local n, F = about.n, #about.phi
  local tiles = data_of.tiles(n, F)
  local blocks = blocks_of(tiles, o.block_values)
  local r0 = about.first + about.drop -- frame of time 1
  local sets, triangle = {}, {}
  for f = 1, F do
    sets[f] = file:dataset(about.datasets[f])
    triangle[f] = triangle_of(sets[f], r0, about.last, about.names[f], o.full_matrices)
  end
  local holes, masked = mc.zeros({ #tiles }, { dtype = 'u8' }), 0
  local w = mc.open(to, { mode = 'w', format = 'h5' })
  local ok, why = pcall(function()
    for b, block in ipairs(blocks) do
      mc.scope(function()
        local buffer = mc.full({ block.values }, mc.nan, { dtype = o.dtype })
        local a, z = tiles[block.first], tiles[block.last]
        local i0, j0 = a.I * T, a.J * T
        local rows, cols = a.rows, math.min(n, (z.J + 1) * T) - j0
        for f = 1, F do
          mc.scope(function()
            local ri, rj = { r0 + i0, r0 + i0 + rows - 1 }, { r0 + j0, r0 + j0 + cols - 1 }
            local x
            if triangle[f] == 'upper' then x = sets[f]:read { ri, rj } else x = sets[f]:read({ rj, ri }).mT end
            x = x:to 'f64'
            local i, j = mc.arange(i0, i0 + rows - 1):expand_dims(2), mc.arange(j0, j0 + cols - 1):expand_dims(1)
            local inside = mc.gt(j, i)
            local good = mc.logical_and(mc.isfinite(x), inside)
            local lost = mc.sum(mc.logical_and(inside, mc.logical_not(good)):to 'f64'):item()
            masked = masked + lost
            local full = mc.full({ rows, math.ceil(cols / G) * G }, mc.nan, { dtype = o.dtype })
            full[{ mc.all, { 1, cols } }] = mc.where(good, x, mc.nan):to(o.dtype)
            for k = block.first, block.last do
              local tile = tiles[k]
              local at, c = tile.at - a.at, tile.J * T - j0
              local place = buffer[{ { at + 1, at + tile.values } }]:reshape(tile.rows, tile.groups, F, G)[{ mc.all,
                mc.all, f, mc.all }]
              place:copy_(full[{ mc.all, { c + 1, c + tile.groups * G } }]:reshape(place.shape))
              if lost > 0 then holes[k] = 1 end -- of the block; a tile without holes only takes the slower way
            end
          end)
        end
        w:put(('blocks/%06d'):format(b), buffer)
      end)
      if report then report(b, #blocks) end
    end
    w:put('holes', holes)
    w:put('masked', mc.tensor(masked))
    w:put('key', about.key)
    w:close()
  end)
  for f = 1, F do sets[f]:close() end
  if not ok then
    w:abort()
    error(why, 0)
  end
end

--- Data that are read from a packed file, which is made from the entries of a source when it is not there or belongs to
--- something else.
---@param path string the source
---@param file table its open tree
---@param about table q, phi, datasets, names, first, last (frames), layout
---@param o table options of open: pack (the packed file), dtype, block_values, dt, gap, exclude_first, full_matrices,
---  progress
---@param warnings string[]
---@return mascon.xpcs.Data
function M.open(path, file, about, o, warnings)
  local N = about.last - about.first + 1
  about.drop = o.exclude_first and 1 or 0
  about.n = N - about.drop
  local n, F = about.n, #about.phi
  for f = 1, F do
    local shape = file:dataset(about.datasets[f]).shape
    if #shape ~= 2 or shape[1] ~= shape[2] then
      error(('xpcs: %s is [%s]; a two-time matrix is square'):format(about.names[f], table.concat(shape, ', ')), 3) end
    if shape[1] < about.last then
      error(('xpcs: %s is [%d, %d] and %s has more frames; all matrices must have one shape'):format(about.names[f],
      shape[1], shape[2], about.names[1]), 3) end
  end
  about.key = key_of(path, about, o)
  local known
  if file_.read and io.open(o.pack, 'rb') then
    local ok, old = pcall(mc.open, o.pack, { format = 'h5' })
    if ok and old:has 'key' and old:get 'key' == about.key then known = old
    else
      table.insert(warnings,
        ('%s is damaged or belongs to other data, q, frames or angles; it is made again'):format(o.pack))
      if ok then old:close() end
    end
  end
  if not known then
    pack(o.pack, file, about, o, o.progress)
    known = mc.open(o.pack, { format = 'h5' })
  end
  local d = data_of.streamed { n = n, phi = about.phi, t = mc.arange(about.drop, N - 1) * o.dt, dtype = o.dtype,
    q = about.q, dt = o.dt, gap = o.gap, mode = o.mode, path = path,
    layout = about.layout, names = about.names, warnings = warnings }
  d.store, d.store_blocks, d.key = known, blocks_of(d.tiles, o.block_values), about.key
  d.holes = known:get 'holes'
  local masked = known:get 'masked'
  d.masked = type(masked) == 'number' and masked or masked:item()
  d.points = F * n * (n - 1) / 2 - d.masked
  if d.masked > 0 then table.insert(warnings, ('%d of %d points are NaN or infinite and are masked'):format(d.masked,
    F * n * (n - 1) / 2)) end
  -- starts from thinned matrices
  local first = about.first + about.drop
  local k, fine = math.ceil(n / start.TIMES), math.ceil(n / QUANTILES)
  d.coarse, d.start_contrast, d.start_offset = {}, {}, {}
  for f = 1, F do
    local set = file:dataset(about.datasets[f])
    d.coarse[f] = thinned(set, first, about.last, k, about.names[f], o.full_matrices)
    mc.scope(function()
      local c = thinned(set, first, about.last, fine, about.names[f], o.full_matrices)
      d.start_contrast[f], d.start_offset[f] = scaling.start(c)
    end)
    set:close()
  end
  -- rows first .. last of pairs i < j, for errors of nearly degenerate fits
  local triangle = {}
  d.read_rows = function(f, i, j)
    local source = mc.open(path, { format = 'h5' })
    local set = source:dataset(about.datasets[f])
    local r0 = first - 1
    triangle[f] = triangle[f] or triangle_of(set, first, about.last, about.names[f], o.full_matrices)
    local rows = mc.scope(function()
      local ri, rj = { r0 + i, r0 + j }, { first, about.last }
      local x
      if triangle[f] == 'upper' then x = set:read { ri, rj } else x = set:read({ rj, ri }).mT end
      x = x:to 'f64'
      local a, b = mc.arange(i, j), mc.arange(1, n)
      return mc.where(mc.logical_and(mc.gt(b:expand_dims(1), a:expand_dims(2)), mc.isfinite(x)), x, mc.nan)
    end)
    set:close()
    source:close()
    return rows
  end
  -- every k-th row and column, for figures
  d.read_thin = function(f, every)
    local source = mc.open(path, { format = 'h5' })
    local set = source:dataset(about.datasets[f])
    local c = mc.scope(function()
      return thinned(set, first, about.last, every, about.names[f], o.full_matrices)
    end)
    set:close()
    source:close()
    return c
  end
  -- one whole matrix, for fitted_data
  d.read_matrix = function(f)
    local source = mc.open(path, { format = 'h5' })
    local set = source:dataset(about.datasets[f])
    local c = mc.scope(function()
      local h = prepare.diagonal(prepare.symmetric(set:read { { about.first, about.last }, { about.first,
        about.last } }, about.names[f], o.full_matrices), o.diagonal)
      return (about.drop > 0 and h[{ { 2, N }, { 2, N } }] or h):contiguous()
    end)
    set:close()
    source:close()
    return c
  end
  return d
end

return M
