-- source.lua - data of a fit from a file: HDF5 of the beamline or NPZ.
--
-- Reads the matrices that selection.lua names and only their frames. Small ones are read whole, one after the other:
-- made symmetric, the diagonal corrected, the first time dropped, quality and starting contrast and offset taken,
-- packed; SQUARES matrices of f64 stand beside the packed values then. Others go by strips of rows, and by a packed
-- file where max_memory holds no packed values (stream.lua).
local mc = require 'mascon'
local check = require 'mascon.core.check'
local text = require 'mascon.base.text'
local tensor = require 'mascon.core.tensor'
local cache = require 'workflows.xpcs.read.cache'
local examine = require 'workflows.xpcs.read.examine'
local prepare = require 'workflows.xpcs.data.prepare'
local scaling = require 'workflows.xpcs.model.scaling'
local data = require 'workflows.xpcs.data.data'
local copies = require 'workflows.xpcs.pass.coarse'
local selection = require 'workflows.xpcs.read.selection'
local stream = require 'workflows.xpcs.read.stream'
local triangles = require 'workflows.xpcs.data.triangles'
local uncertainty = require 'workflows.xpcs.data.uncertainty'
local error = check.error
local M = {}

local OPTS = {
  q = { nil, 'number' }, dt = { nil, 'number' }, gap = { 2e6, 'number' }, start_frame = { 1, 'integer' },
    end_frame = { -1, 'integer' }, phi_ranges = { nil, 'table' }, skip_phi = { nil, 'table' },
  diagonal = { 'basic', prepare.METHODS }, full_matrices = { false, 'bool' }, exclude_first = { true, 'bool' },
    q_tolerance_fraction = { 0.1, 'number > 0' }, strict_q = { false, 'bool' }, one_q = { false, 'bool' },
    only_among = { false, 'bool' },
  dtype = { 'f64', { 'f32', 'f64' } }, mode = { nil, 'string' }, progress = { nil, 'any' }, key = { nil, 'string' },
    pack = { nil, 'string' }, max_memory = { nil, 'number > 0' }, pack_default = { nil, 'string' },
    block_values = { 2 ^ 22, 'integer >= 1' },
  strip = { nil, 'integer >= 1' }, sigma = { nil, 'any' }, mask = { nil, 'any' },
  mask_frames = { nil, 'table' },
  zero_sigma_is_mask = { false, 'bool' }, cache = { nil, 'table' },
  layout = { nil, 'table' },
  shape_only = { false, 'bool' }, copies = { nil, 'integer >= 1' },
}

-- bytes of the program with its libraries; f64 matrices that reading one whole takes, and those of sigma and masks;
-- copies of a block in flight, and of a strip; bytes of matrices read whole where nothing bounds them
local BASE, BESIDE, COPIES, STRIPS, WHOLE = 96 * 2 ^ 20, 8, 4, 10, 64 * 2 ^ 20
M.SQUARES = 14

--- The least memory of data that are read block by block: tables of times and angles, coarse copies, a tile in flight.
---@param n integer times
---@param F integer angles
function M.least(n, F)
  local tables = (2 * F + 40) * n * 8 + 2 * math.min(n, 64) * n * 8 * 12
  local coarse = (#copies.windows(n, F) * F * copies.times(F) ^ 2 + 6 * 300 ^ 2) * 8
  return BASE + tables + coarse + COPIES * 64 * 64 * F * 8
end

--- Bytes of reading whole matrices; nil where their scratch would exceed that of strips.
local function as_a_whole(n, F, o)
  local packed = data.bytes(n, F, o.dtype or 'f64') * (o.sigma ~= nil and 2 or 1)
  local whole = (M.SQUARES + ((o.sigma ~= nil or o.mask ~= nil) and BESIDE or 0)) * 8 * n * n
  local strip = STRIPS * 8 * math.min(stream.STRIP, n * n)
  return (whole <= WHOLE or whole <= strip) and packed + whole + BASE or nil
end

--- Where data of n times and F angles lie: 'whole' (matrices are read one after the other), 'strips' (by strips of
--- rows), 'file' (packed on disk and read block by block); and the bytes of that.
---@param o table max_memory, dtype, pack, sigma, mask
---@return string way, number bytes
function M.way(n, F, o)
  local packed = data.bytes(n, F, o.dtype or 'f64') * (o.sigma ~= nil and 2 or 1)
  local least, all = M.least(n, F), as_a_whole(n, F, o)
  local strip = STRIPS * 8 * math.min(stream.STRIP, n * n)
  local room = o.max_memory or math.huge
  if o.pack then return 'file', least + 8 * COPIES * o.block_values + strip end
  if all and all <= room then return 'whole', all end
  if packed + least + STRIPS * 8 * 64 * n <= room then return 'strips', packed + least + strip end
  return 'file', least + 8 * COPIES * o.block_values + strip
end

--- Bytes of data that are in memory.
function M.bytes(d) return data.bytes(d.n, d.F, d.dtype) * (d.weight and 2 or 1) end

--- Sets the sizes of blocks and strips of a way so that they stay within max_memory; refuses what cannot.
local function sized(o, n, F, way)
  if not o.max_memory or way == 'whole' then return end
  local least = M.least(n, F)
  if o.max_memory < least then
    local all = as_a_whole(n, F, o) or math.huge
    error(('xpcs: max_memory is %s; %d angles x %d times need at least %.0f MiB%s'):format(text.bytes(o.max_memory), F,
      n, math.ceil(math.min(least, all) / 2 ^ 20), least <= all and ', read block by block' or ''), 4)
  end
  local packed = way == 'strips' and data.bytes(n, F, o.dtype) * (o.sigma ~= nil and 2 or 1) or 0
  local free = o.max_memory - least - packed
  o.block_values = math.max(1, math.min(o.block_values, math.floor(free / 2 / (8 * (o.copies or COPIES)))))
  o.strip = math.max(64 * 64, math.min(stream.STRIP, math.floor(free / 2 / (8 * STRIPS))))
end

--- What a plan needs to know of data that are not read.
local function shape_of(o, input, way)
  local n, F = input.n, #input.phi
  return { n = n, F = F, dtype = o.dtype, phi = input.phi, q = input.q, path = input.path, layout = input.layout,
    names = input.names, masked = 0, points = F * n * (n - 1) / 2, streamed = way == 'file' }
end

--- The points of a matrix that count: those out of the mask and of sigma = 0 become NaN. Also how many that were.
local function masked_by(mask, c, name)
  local masked = mc.where(mask, c, mc.nan)
  local before, left = prepare.quality(c).good, prepare.quality(masked).good
  if left == 0 then
    error(('xpcs: mask and sigma leave no point of %s; leave out the angle instead'):format(name), 4)
  end
  return masked, before - left
end

--- One matrix whole: symmetric, its diagonal corrected, without the first time. Held.
local function matrix_of(take, f, N, odd)
  return mc.scope(function()
    local h, where = take.read(f)
    local c = prepare.symmetric(h, where, take.o.triangle, odd)
    if c.shape[1] ~= N then error(('xpcs: %s is %s; the matrices before are [%d, %d]'):format(take.input.names[f],
      tostring(c.shape), N, N), 4) end
    c = prepare.diagonal(c, take.o.diagonal)
    if take.input.drop > 0 then c = c[{ { 2, N }, { 2, N } }]:contiguous() end
    return tensor.hold(c)
  end)
end

--- Notes on points that do not count; raises where an angle has none.
local function count_points(d, left_out, names, warnings)
  local missing, all = -left_out, d.F * d.n * (d.n - 1) / 2
  for f = 1, d.F do
    missing = missing + d.quality[f].missing
    if d.quality[f].good == 0 then error(('xpcs: %s holds no finite value'):format(names[f]), 4) end
  end
  if left_out > 0 then
    table.insert(warnings, ('%d of %d points are left out by the mask or by sigma = 0'):format(left_out, all))
  end
  if missing > 0 then
    table.insert(warnings, ('%d of %d points are NaN or infinite and are masked'):format(missing, all))
  end
end

--- Data of matrices that are read whole, one after the other.
local function collect(take, warnings)
  local o, input = take.o, take.input
  local F, n = #input.phi, input.n
  local d = data.new { n = n, phi = input.phi, t = take.t(), dtype = o.dtype, q = input.q, dt = o.dt, gap = o.gap,
    mode = o.mode, path = input.path, layout = input.layout }
  d.coarse, d.start_contrast, d.start_offset, d.quality, d.warnings, d.names = {}, {}, {}, {}, warnings, input.names
  local given = uncertainty.of(o, { entries = input.entries, chosen = input.chosen, N = input.N, first = input.first,
    count = F, n = n, drop = input.drop, names = input.names })
  local masks, left_out, odd = scaling.lags(n), 0, {}
  for f = 1, F do
    local c = matrix_of(take, f, n + input.drop, odd)
    local mask, sigma, level, out
    if given then mask, sigma, level = given:at(f) end
    if mask then
      c, out = masked_by(mask, c, input.names[f])
      left_out = left_out + out
    end
    d.quality[f] = prepare.quality(c)
    d.start_contrast[f], d.start_offset[f] = scaling.start(c, masks)
    d.coarse[f] = copies.thin(c, F)
    d:put(f, c, nil, sigma, level)
    if d.coarse[f][1] ~= c then c:release() end
    if o.progress then o.progress(f, F) end
  end
  triangles.notes(odd, F, warnings)
  count_points(d, left_out, input.names, warnings)
  if given and given.uneven then table.insert(warnings, uncertainty.UNEVEN) end
  return d
end

--- What a cache of these matrices must agree in.
local function cache_key(take)
  local names, o, input = {}, take.o, take.input
  for i, e in ipairs(take.list) do names[i] = e.name end
  return mc.manifest.hash { version = cache.VERSION, source = stream.source_key(input.path), q = input.q,
    phi = input.phi, first = input.first, last = input.last, names = names, dtype = o.dtype,
    diagonal = o.diagonal, exclude_first = o.exclude_first, zero = o.zero_sigma_is_mask, beside = stream.beside(o) }
end

--- Data from their cache where it holds them; nil, the path and key of the cache to be written (nil: it is not ours).
local function from_cache(take, warnings)
  local o, input = take.o, take.input
  local path, key = cache.path(o.cache, { q = input.q, first = input.first, last = input.last }), cache_key(take)
  local d, why, foreign = cache.read(path, key, { n = input.n, phi = input.phi, dtype = o.dtype, q = input.q, dt = o.dt,
    t = take.t(), gap = o.gap, mode = o.mode, path = input.path, layout = input.layout, names = input.names,
    warnings = warnings })
  if why then
    table.insert(warnings, ('cache %s: %s; the data are read from %s%s'):format(path, why, input.path, foreign
      and ' and it is left alone' or ' and it is made again'))
    if foreign then path = nil end
  end
  if not d then return nil, path, key end
  d.from_cache = path
  if d.masked > 0 then table.insert(warnings, ('%d of %d points are masked (from the cache)'):format(d.masked,
    d.F * d.n * (d.n - 1) / 2)) end
  return d
end

local FEW = 5 -- times, below which a fit has too few pairs of any lag

--- Data of what a fit takes of a file; with shape_only what a plan needs to know, refused as the data would be.
---@param take table of selection.lua
local function ready(take, warnings)
  local o, input = take.o, take.input
  local frames, F = input.last - input.first + 1, #input.phi
  selection.checked('dt', o.dt, 's')
  if o.exclude_first and frames < 3 then
    error(('xpcs: %d frames leave one time, since the first is dropped; a fit needs at least 3 frames (exclude_first = '
      .. 'false in a script keeps the first)'):format(frames), 4)
  end
  local way = M.way(frames, F, o)
  sized(o, frames, F, way)
  input.n = frames - input.drop
  if o.shape_only then
    local d = shape_of(o, input, way)
    take.finish(d)
    return d
  end
  if input.n < FEW then
    table.insert(warnings, ('the frames leave %d times, %s of them per angle: give more frames'):format(input.n,
      text.count(input.n * (input.n - 1) / 2, 'pair')))
  end
  if way == 'file' and not o.pack then
    o.pack = o.pack_default or os.tmpname() .. '.h5'
    table.insert(warnings,
      ('the data need %.0f MiB and max_memory is %.0f MiB: they are read from %s block by block'):format(data.bytes(
      frames, F, o.dtype) / 2 ^ 20, o.max_memory / 2 ^ 20, o.pack))
  end
  if way ~= 'whole' then
    take.same_sides()
    input.t = take.t()
  end
  local d, path, key
  if take.list and o.cache and way ~= 'file' then d, path, key = from_cache(take, warnings) end
  if not d then
    d = way == 'whole' and collect(take, warnings) or stream.open(input, o, warnings)
    if path then cache.write(path, key, d, o.cache) end
  end
  d.frames = { input.first, input.last, input.N }
  take.finish(d)
  return d
end

--- Data of a file, ready for a fit.
---@param path string .h5, .hdf, .hdf5, .nxs of the APS, the APS-U or an own layout, or .npz with c2_exp [angles, n, n]
---  (full, symmetric), phi_angles_list, t1, q
---@param opts? table q 1/A (the nearest one is taken; not needed when the file holds one q) · dt s · gap 2e6 A ·
---  start_frame 1, end_frame -1 · phi_ranges list of { low, high } deg, or { angle } for the one nearest to it
---  (or_all = true: where none matches all stay) · skip_phi: a list like it of angles to leave out · diagonal 'basic' ·
---  full_matrices (both triangles hold values; the upper one counts where they differ) · layout: where an HDF5 file of
---  another beamline holds its datasets, { c2 =, q =, phi =, dt = } (paths; q, phi and dt also numbers), and axis,
---  triangle, near, q_unit, phi_unit as in docs/xpcs.md · exclude_first true · q_tolerance_fraction 0.1 (APS: what
---  lies so near is one q; the 10 nearest where these are fewer than 5) · strict_q (that very q alone, in any layout) ·
---  one_q: fit matrices whose q differ by more than 1 % with the one asked for, which fits refuse otherwise ·
---  only_among: q chooses among several of a file, and of a file of one q that one is taken ·
---  dtype 'f64'|'f32' · mode · key (array of an .npz) ·
---  pack: a file into which the matrices are packed and from which every pass reads block by block, for data larger
---  than memory; kept as a cache · block_values 2^22 ·
---  max_memory bytes: pack (into pack_default) when the data do not fit ·
---  sigma, mask: standard deviations of points, and which points count (true): a file (.npy, .npz, .h5, FILE:NAME) or a
---  tensor, [n, n] for all angles or [angles, n, n] · zero_sigma_is_mask: points of sigma 0 do not count ·
---  mask_frames: a list of ranges { first, last } of frames of the file, from 1, that do not count ·
---  cache { folder, template, compressed }: keep what is read from HDF5 and take it from there the next time ·
---  progress(done, of): called while matrices are read · strip: values of a matrix that are read at a time ·
---  copies: how often a fit holds a block of values beside it (4; a model of the user's more) ·
---  shape_only: give n, F, points and q alone, reading no matrix
---@return mascon.xpcs.Data with start_contrast, start_offset, quality, warnings
function M.open(path, opts)
  local o = check.opts('xpcs.open', opts, OPTS, 3)
  check.arg('xpcs.open', 'path', path, 'string', 3)
  local f, why = io.open(path, 'rb')
  if not f then error(('xpcs: %s; check the path'):format(why), 2) end
  f:close()
  local ext = (path:match '%.(%w+)$' or ''):lower()
  local warnings = {}
  local take = (ext == 'npz' and selection.of_npz or selection.of_hdf5)(path, o, warnings)
  local d = ready(take, warnings)
  take.close()
  d.first_frame = take.input.first + take.input.drop
  for _, w in ipairs(d.quality and examine.warnings(d) or {}) do table.insert(d.warnings, w) end
  d.asked_q = not o.only_among and o.q or nil
  if o.copies and o.max_memory and d.packed then
    local free = o.max_memory - BASE - M.bytes(d)
    d.block_values = math.max(64 * 64, math.floor(free / (8 * o.copies)))
  end
  return d
end

return M
