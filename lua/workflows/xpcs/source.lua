-- source.lua - data of a fit from a file: HDF5 of the beamline or NPZ.
--
-- Reads the matrices that are wanted and only their frames. Small ones are read whole, one after the other: made
-- symmetric, the diagonal corrected, the first time dropped, quality and starting contrast and offset taken, packed;
-- SQUARES matrices of f64 stand beside the packed values then. Others go by strips of rows, and by a packed file where
-- max_memory holds no packed values (stream.lua).
local mc = require 'mascon'
local check = require 'mascon.core.check'
local text = require 'mascon.base.text'
local tensor = require 'mascon.core.tensor'
local angles = require 'workflows.xpcs.angles'
local cache = require 'workflows.xpcs.cache'
local examine = require 'workflows.xpcs.examine'
local layout = require 'workflows.xpcs.layout'
local prepare = require 'workflows.xpcs.prepare'
local scaling = require 'workflows.xpcs.scaling'
local data = require 'workflows.xpcs.data'
local copies = require 'workflows.xpcs.coarse'
local stream = require 'workflows.xpcs.stream'
local times = require 'workflows.xpcs.times'
local triangles = require 'workflows.xpcs.triangles'
local truth = require 'workflows.xpcs.truth'
local uncertainty = require 'workflows.xpcs.uncertainty'
local error = check.error
local M = {}

local OPTS = {
  q = { nil, 'number' }, dt = { nil, 'number' }, gap = { 2e6, 'number' }, start_frame = { 1, 'integer' },
    end_frame = { -1, 'integer' }, phi_ranges = { nil, 'table' },
  diagonal = { 'basic', prepare.METHODS }, full_matrices = { false, 'bool' }, exclude_first = { true, 'bool' },
    q_tolerance_fraction = { 0.1, 'number > 0' }, strict_q = { false, 'bool' }, only_among = { false, 'bool' },
  dtype = { 'f64', { 'f32', 'f64' } }, mode = { nil, 'string' }, progress = { nil, 'any' }, key = { nil, 'string' },
    pack = { nil, 'string' }, max_memory = { nil, 'number > 0' }, pack_default = { nil, 'string' },
    block_values = { 2 ^ 22, 'integer >= 1' },
  strip = { nil, 'integer >= 1' }, sigma = { nil, 'any' }, mask = { nil, 'any' },
  zero_sigma_is_mask = { false, 'bool' }, cache = { nil, 'table' },
  shape_only = { false, 'bool' }, copies = { nil, 'integer >= 1' },
}

--- First and last frame inside N, 1-based.
local function frames(o, N, warnings)
  local first, last = o.start_frame, o.end_frame
  if first < 1 then
    table.insert(warnings, ('start_frame is %d and frames count from 1; the first one is taken'):format(first))
    first = 1
  end
  if last < -1 then
    table.insert(warnings, ('end_frame is %d; the last of %d frames is taken, as for -1'):format(last, N))
  end
  if last < 0 then last = N end
  if last > N then
    table.insert(warnings, ('end_frame is %d and there are %d frames; the last one is taken'):format(last, N))
    last = N
  end
  if first > last then error(('xpcs: frames %d to %d hold nothing; the file has %d'):format(first, last, N), 4) end
  if last - first + 1 < 2 then
    error(('xpcs: frames %d to %d are too few; two-time correlation needs at least 2'):format(first, last), 4) end
  return first, last
end

local function checked(name, v, unit)
  if type(v) ~= 'number' then
    error(('xpcs: %s is missing; give it in %s (--%s)'):format(name, unit, name:match '^%a+'), 4)
  end
  if not (v > 0 and v < math.huge) then error(('xpcs: %s is %s; it must be positive and finite, %s'):format(name,
    check.show(v), unit), 4) end
  return v
end

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
local function shape_of(o, input, count, N)
  local n = N - (o.exclude_first and N >= 2 and 1 or 0)
  return { n = n, F = count, dtype = o.dtype, phi = input.phi, q = input.q, path = input.path, layout = input.layout,
    names = input.names, masked = 0, points = count * n * (n - 1) / 2, streamed = input.streamed }
end

--- Data with room for the kept entries; takes the matrix of each from `read(k)`. place: what of sigma and mask.
local function collect(o, input, count, N, read, warnings, place)
  local dt = checked('dt', o.dt or input.dt, 's')
  local drop = o.exclude_first and N >= 2 and 1 or 0
  local n = N - drop
  local d
  local masks = scaling.lags(n)
  local quality, contrast, offset, coarse = {}, {}, {}, {}
  place.count, place.n, place.drop, place.names = count, n, drop, input.names
  local given = uncertainty.of(o, place)
  local left_out, odd = 0, {}
  for f = 1, count do
    local c, mask, sigma, level
    mc.scope(function()
      local h, where, full = read(f)
      c = prepare.symmetric(h, where, full, odd)
      if c.shape[1] ~= N then error(('xpcs: %s is %s; the matrices before are [%d, %d]'):format(input.names[f],
        tostring(c.shape), N, N), 4) end
      c = prepare.diagonal(c, o.diagonal)
      if drop > 0 then c = c[{ { 2, N }, { 2, N } }]:contiguous() end
      return tensor.hold(c)
    end)
    if not d then
      d = data.new { n = n, phi = input.phi, t = mc.arange(drop, N - 1) * dt, dtype = o.dtype, q = input.q, dt = dt,
        gap = o.gap, mode = o.mode, path = input.path, layout = input.layout }
    end
    if given then
      mask, sigma, level = given:at(f)
      if mask then
        local before = prepare.quality(c).good
        local masked = mc.where(mask, c, mc.nan)
        if prepare.quality(masked).good == 0 then
          error(('xpcs: mask and sigma leave no point of %s; leave out the angle instead'):format(input.names[f]), 3)
        end
        left_out = left_out + before - prepare.quality(masked).good
        c = masked
      end
    end
    quality[f] = prepare.quality(c)
    contrast[f], offset[f] = scaling.start(c, masks)
    coarse[f] = copies.thin(c, d.F)
    d:put(f, c, nil, sigma, level)
    if coarse[f][1] ~= c then c:release() end
    if o.progress then o.progress(f, count) end
  end
  triangles.notes(odd, count, warnings)
  local missing = 0
  for f = 1, count do
    missing = missing + quality[f].missing
    if quality[f].good == 0 then error(('xpcs: %s holds no finite value'):format(input.names[f]), 3) end
  end
  if left_out > 0 then table.insert(warnings, ('%d of %d points are left out by the mask or by sigma = 0'):format(
    left_out, count * n * (n - 1) / 2)) end
  missing = missing - left_out
  if missing > 0 then table.insert(warnings, ('%d of %d points are NaN or infinite and are masked'):format(missing,
    count * n * (n - 1) / 2)) end
  if given and given.uneven then table.insert(warnings, uncertainty.UNEVEN) end
  d.coarse, d.start_contrast, d.start_offset, d.quality, d.warnings, d.names = coarse, contrast, offset, quality,
    warnings, input.names
  return d
end

--- What a cache of these matrices must agree in.
local function cache_key(path, input, list, o, first, last)
  local names = {}
  for i, e in ipairs(list) do names[i] = e.name end
  return mc.manifest.hash { version = cache.VERSION, source = stream.source_key(path), q = input.q, phi = input.phi,
    first = first, last = last, names = names, dtype = o.dtype, full = o.full_matrices, diagonal = o.diagonal,
    exclude_first = o.exclude_first, zero = o.zero_sigma_is_mask, beside = stream.beside(o) }
end

--- The way of the data, with block sizes set and a note where it is a file.
local function arranged(o, n, F, warnings)
  if o.exclude_first and n < 3 then
    error(('xpcs: %d frames leave one time, since the first is dropped; a fit needs at least 3 frames (exclude_first = '
      .. 'false in a script keeps the first)'):format(n), 4)
  end
  local way = M.way(n, F, o)
  sized(o, n, F, way)
  if way == 'file' and not o.pack then
    o.pack = o.pack_default or os.tmpname() .. '.h5'
    table.insert(warnings,
      ('the data need %.0f MiB and max_memory is %.0f MiB: they are read from %s block by block'):format(data.bytes(n,
      F, o.dtype) / 2 ^ 20, o.max_memory / 2 ^ 20, o.pack))
  end
  return way
end

--- The size of a dataset that holds a two-time matrix; raises for what is none.
local function side_of(set, name)
  if set.holds ~= 'numbers' or set.dtype:sub(1, 1) == 'c' then
    error(('xpcs: %s holds %s; a two-time matrix is real numbers'):format(name, set.holds == 'numbers'
      and 'complex numbers' or 'no numbers'), 4)
  end
  local shape = set.shape
  if #shape ~= 2 or shape[1] ~= shape[2] then
    error(('xpcs: %s is [%s]; a two-time matrix is square'):format(name, table.concat(shape, ', ')), 4)
  end
  return shape[1]
end

local function of_hdf5(path, o)
  local warnings = {}
  local file = mc.open(path, { format = 'h5' })
  local entries, kind = layout.read(file, path, warnings)
  local wanted = o.q
  if wanted == nil or o.only_among then
    local list, seen = {}, {}
    for _, e in ipairs(entries) do
      if e.q == e.q and not seen[e.q] then list[#list + 1], seen[e.q] = ('%g'):format(e.q), true end
    end
    if #list == 1 then wanted = entries[1].q end
    if not wanted then
      error(('xpcs: %s holds matrices of %d q (1/A): %s; name one of them, q (--q)'):format(path, #list,
        table.concat(list, ', ')), 3)
    end
  end
  wanted = checked('q (wavevector_q)', wanted, '1/A')
  local kept, q = layout.select_q(entries, kind, wanted, o, warnings)
  local phi = {}
  for k, e in ipairs(kept) do phi[k] = e.phi end
  examine.angles(path, phi)
  for k, a in ipairs(phi) do phi[k] = angles.wrap(a) end
  local chosen = angles.choose(phi, o.phi_ranges, warnings)
  local list, names, kept_phi, numbers = {}, {}, {}, {}
  for i, k in ipairs(chosen) do
    list[i], names[i], kept_phi[i] = kept[k], path .. ':' .. kept[k].name, phi[k]
    for number, e in ipairs(entries) do if e == kept[k] then numbers[i] = number end end
  end
  local first, last, size
  local function read(i)
    local set = file:dataset(list[i].name)
    local side = side_of(set, names[i])
    if size and side ~= size then
      error(('xpcs: %s is [%d, %d] and %s is [%d, %d]; all matrices must have one shape'):format(names[i], side, side,
        names[1], size, size), 4)
    end
    size = side
    local t = set:read { { first, last }, { first, last } }
    set:close()
    return t, names[i], o.full_matrices
  end
  local N = side_of(file:dataset(list[1].name), names[1])
  first, last = frames(o, N, warnings)
  local F, n = #list, last - first + 1
  local input = { q = q, phi = kept_phi, names = names, path = path, layout = kind }
  if o.shape_only then
    file:close()
    local way = M.way(n, F, o)
    sized(o, n, F, way)
    input.streamed = way == 'file'
    return shape_of(o, input, F, n)
  end
  local way = arranged(o, n, F, warnings)
  input.session = function()
    local again = mc.open(path, { format = 'h5' })
    return { set = function(f) return again:dataset(list[f].name) end, close = function() again:close() end }
  end
  for key, v in pairs { first = first, last = last, drop = o.exclude_first and 1 or 0, chosen = numbers,
    entries = #entries, N = N } do input[key] = v end
  input.n = n - input.drop
  if way ~= 'whole' then
    for i, e in ipairs(list) do
      local side = i > 1 and side_of(file:dataset(e.name), names[i]) or N
      if side ~= N then
        error(('xpcs: %s is [%d, %d] and %s is [%d, %d]; all matrices must have one shape'):format(names[i], side,
          side, names[1], N, N), 3)
      end
    end
    input.t = mc.arange(input.drop, n - 1) * checked('dt', o.dt, 's')
  end
  local d, cached, key
  if o.cache and way ~= 'file' then
    cached = cache.path(o.cache, { q = q, first = first, last = last })
    key = cache_key(path, input, list, o, first, last)
    local drop = o.exclude_first and 1 or 0
    local why, foreign
    d, why, foreign = cache.read(cached, key, { n = n - drop, phi = kept_phi, dtype = o.dtype, q = q, dt = o.dt,
      t = mc.arange(drop, n - 1) * checked('dt', o.dt, 's'), gap = o.gap, mode = o.mode, path = path, layout = kind,
      names = names, warnings = warnings })
    if why then
      table.insert(warnings, ('cache %s: %s; the data are read from %s%s'):format(cached, why, path, foreign
        and ' and it is left alone' or ' and it is made again'))
      if foreign then cached = nil end
    end
    if d then
      d.from_cache = cached
      if d.masked > 0 then table.insert(warnings, ('%d of %d points are masked (from the cache)'):format(d.masked,
        F * d.n * (d.n - 1) / 2)) end
    end
  end
  if not d then
    if way ~= 'whole' then d = stream.open(input, o, warnings)
    else
      d = collect(o, input, F, n, read, warnings, { entries = #entries, chosen = numbers, N = N, first = first })
    end
    if cached then cache.write(cached, key, d, o.cache) end
  end
  d.q_list = {}
  for i, e in ipairs(list) do d.q_list[i] = e.q end
  d.first_frame, d.last_frame = first, last
  file:close()
  return d
end

local SIGMA = { 'sigma', 'c2_sigma', 'c2_std' } -- beside the matrices of an .npz
local MASK = { 'mask', 'c2_mask' }

local NAMES = { c2 = { 'c2_exp', 'c2', 'C2', 'correlation' }, phi = { 'phi_angles_list', 'phi_angles', 'phi' },
  q = { 'q', 'wavevector_q', 'wavevector_q_list' }, t = { 't1', 't' } }

local function of_npz(path, o)
  local warnings = {}
  local archive, known = mc.open(path, { format = 'npz' }), {}
  --- An array of the file, nil where there is none; it stays in the file where it is stored plainly.
  local function get(name)
    if known[name] == nil then
      known[name] = archive:has(name) and archive:get(name, { map = true, verify = not o.shape_only })
    end
    return known[name] or nil
  end
  local function find(what, needed)
    for _, name in ipairs(what == 'c2' and o.key and { o.key } or NAMES[what]) do
      local x = get(name)
      if x ~= nil then
        layout.real(x, path, name, 3)
        return x
      end
    end
    if needed then
      error(('xpcs: %s has no array %s; it holds %s'):format(path, table.concat(NAMES[what], ' or '),
        table.concat(archive.names, ', ')), 4)
    end
  end
  local c2, phi = find('c2', true), find('phi', true):to('f64'):reshape(-1):totable()
  if #phi == 0 then error(('xpcs: %s holds no angle, so no matrix; nothing can be fitted'):format(path), 3) end
  if c2.ndim ~= 3 or c2.shape[1] ~= #phi or c2.shape[2] ~= c2.shape[3] then
    error(('xpcs: %s: the matrices are [%s] for %d angles; they must be [angles, n, n]'):format(path,
      table.concat({ c2:size() }, ', '), #phi), 3)
  end
  local q, t = find 'q', find 't'
  local dt, origin, step = o.dt, 0, nil
  if t then
    t, step = times.grid(path, t, c2.shape[2])
    if dt and math.abs(dt - step) > 1e-6 * step then
      table.insert(warnings,
        ('the times of the file have a step of %.8g s and dt = %.8g s is asked for; %.8g is used'):format(
        step, dt, dt))
      t = t * (dt / step)
    end
    dt, origin = dt or step, t[1]:item()
  end
  examine.angles(path, phi)
  for k = 1, #phi do phi[k] = angles.wrap(phi[k]) end
  local of_q
  q, of_q = layout.q_of(path, q, o, #phi, warnings)
  local chosen = angles.choose(phi, o.phi_ranges, warnings, of_q)
  local kept, names = {}, {}
  for i, k in ipairs(chosen) do kept[i], names[i] = phi[k], ('%s: matrix %d'):format(path, k) end
  local first, last = frames(o, c2.shape[2], warnings)
  if o.shape_only then
    archive:close()
    local late = origin > 1e-12
    return shape_of({ dtype = o.dtype, exclude_first = not late and o.exclude_first }, { q = q, phi = kept, path = path,
      names = names, layout = 'NPZ', streamed = M.way(last - first + 1, #kept, o) == 'file' }, #kept, last - first + 1)
  end
  local opts = {}
  for k, v in pairs(o) do opts[k] = v end
  opts.dt = dt
  for _, pair in ipairs { { 'sigma', SIGMA }, { 'mask', MASK } } do
    local what = pair[1]
    for _, name in ipairs(pair[2]) do
      local x = opts[what] == nil and get(name) or nil
      if x ~= nil then layout.real(x, path, name, 2) end
      if x ~= nil and x.ndim > 1 then
        opts[what] = x
        table.insert(warnings, ('%s is that of the array %s of the file'):format(what, name))
      end
    end
  end
  -- times that start after 0 say that the first one was dropped already; a range of frames begins where the file does
  local late = origin > 1e-12
  if late then opts.exclude_first = false end
  local known_truth = step and truth.of(truth.read(archive), { first = first, dt = step, wanted = dt, gap = o.gap },
    warnings)
  archive:close()
  local N = last - first + 1
  local input = { q = checked('q', q, '1/A'), phi = kept, names = names, path = path, layout = 'NPZ',
    entries = c2.shape[1], chosen = chosen, N = c2.shape[2], first = first, last = last,
    drop = opts.exclude_first and N >= 2 and 1 or 0 }
  local way = arranged(opts, N, #kept, warnings)
  local d
  if way == 'whole' then
    d = collect(opts, input, #kept, N, function(i)
      return c2[chosen[i]][{ { first, last }, { first, last } }], names[i], true
    end, warnings, { entries = input.entries, chosen = chosen, N = input.N, first = first })
  else
    opts.full_matrices, input.n = true, N - input.drop
    input.t = mc.arange(input.drop, N - 1) * checked('dt', opts.dt, 's')
    input.session = function()
      return { set = function(f)
        return { read = function(_, r) return c2[{ chosen[f], r[1], r[2] }]:to 'f64' end, close = function() end }
      end, close = function() end }
    end
    d = stream.open(input, opts, warnings)
  end
  if late then d.t = t[{ { 1, N } }]:contiguous() end
  d.truth = known_truth
  return d
end

--- Data of a file, ready for a fit.
---@param path string .h5, .hdf, .hdf5, .nxs of the APS or APS-U layout, or .npz with c2_exp [angles, n, n] (full,
---  symmetric), phi_angles_list, t1, q
---@param opts? table q 1/A (the nearest one is taken; not needed when the file holds one q) · dt s · gap 2e6 A ·
---  start_frame 1, end_frame -1 · phi_ranges list of { low, high } deg · diagonal 'basic' ·
---  full_matrices (the file holds both triangles) · exclude_first true · q_tolerance_fraction 0.1 (APS: what
---  lies so near is one q; the 10 nearest where these are fewer than 5) · strict_q (that very q alone, in any layout) ·
---  only_among: q chooses among several of a file, and of a file of one q that one is taken ·
---  dtype 'f64'|'f32' · mode · key (array of an .npz) ·
---  pack: a file into which the matrices are packed and from which every pass reads block by block, for data larger
---  than memory; kept as a cache · block_values 2^22 ·
---  max_memory bytes: pack (into pack_default) when the data do not fit ·
---  sigma, mask: standard deviations of points, and which points count (true): a file (.npy, .npz, .h5, FILE:NAME) or a
---  tensor, [n, n] for all angles or [angles, n, n] · zero_sigma_is_mask: points of sigma 0 do not count ·
---  cache { folder, template, compressed }: keep what is read from HDF5 and take it from there the next time ·
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
  local d
  if ext == 'npz' then d = of_npz(path, o) else d = of_hdf5(path, o) end
  for _, w in ipairs(d.quality and examine.warnings(d) or {}) do table.insert(d.warnings, w) end
  if o.copies and o.max_memory and d.packed then
    local free = o.max_memory - BASE - M.bytes(d)
    d.block_values = math.max(64 * 64, math.floor(free / (8 * o.copies)))
  end
  return d
end

return M
