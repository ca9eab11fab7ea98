-- stream.lua - large data: matrices read by strips of rows, and packed into memory or into a file that every pass reads
-- from front to back.
--
-- The packed file is HDF5 with one dataset per block of tiles, so reading holds one block. It also serves as a cache:
-- its key covers the source (size and both ends), the q, the frames and the angles, standard deviations and masks, and
-- it is made again when any of them differs. Starting values come from thinned matrices; from a whole one only where it
-- has at most EXACT times and memory for it is left.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local data_of = require 'workflows.xpcs.data.data'
local prepare = require 'workflows.xpcs.data.prepare'
local scaling = require 'workflows.xpcs.model.scaling'
local coarse = require 'workflows.xpcs.pass.coarse'
local triangles = require 'workflows.xpcs.data.triangles'
local uncertainty = require 'workflows.xpcs.data.uncertainty'
local error = check.error
local M = {}

M.VERSION = 3
M.STRIP = 2 ^ 19 -- values of a matrix that are read at a time
local T, G = data_of.TILE, data_of.GROUP
local EXACT = 1200 -- times up to which contrast and offset start from whole matrices, where memory is left for one
local EXACT_SQUARES = 20 -- f64 matrices that this takes
local QUANTILES = 300 -- times of the thinned matrices from which they start otherwise
local FEW = { 'holes', 'quality', 'left_out', 'key' } -- what a packed file holds beside its blocks

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

-- options of source.open that are in the keys of packed files and caches by what they lead to, or that change no
-- packed number; any other option is a part of the keys
local KNOWN = {}
for name in ('q dt gap start_frame end_frame phi_ranges skip_phi diagonal full_matrices exclude_first '
  .. 'q_tolerance_fraction strict_q one_q only_among dtype mode progress key pack max_memory pack_default '
  .. 'block_values strip sigma mask mask_frames zero_sigma_is_mask cache shape_only copies'):gmatch '[%w_]+' do
  KNOWN[name] = true
end

--- What identifies standard deviations and masks: file and its bytes' ends, or the numbers; and options beyond KNOWN.
function M.beside(o)
  local out = {}
  for name, v in pairs(o) do if not KNOWN[name] then out[name] = v end end
  for _, what in ipairs { 'sigma', 'mask' } do
    local v = o[what]
    out[what] = type(v) == 'string' and { v, mc.file.exists(v) and M.source_key(v) or 'inside' } or v
  end
  out.frames = o.mask_frames
  return out
end

--- What a packed file must agree in.
local function key_of(input, o)
  return mc.manifest.hash { version = M.VERSION, source = M.source_key(input.path), q = input.q, phi = input.phi,
    first = input.first, last = input.last, drop = input.drop, names = input.names,
    dtype = o.dtype, block = o.block_values, beside = M.beside(o), zero = o.zero_sigma_is_mask }
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

--- The first row (from 0), how many, the first column and how many that blocks a .. z cover: a part of one tile row, or
--- whole ones.
local function cover(tiles, blocks, a, z, n)
  local p, q = tiles[blocks[a].first], tiles[blocks[z].last]
  local i0, i1 = p.I * T, math.min(n, (q.I + 1) * T)
  local j0, j1 = p.J * T, n
  if p.I == q.I then j1 = math.min(n, (q.J + 1) * T) end
  return i0, i1 - i0, j0, j1 - j0
end

--- Runs of blocks that are read at a time: some of one tile row, or whole tile rows; their cover and their values stay
--- within limits.
local function runs_of(tiles, blocks, n, limit, values)
  local function row(b) return tiles[blocks[b].first].I end
  local function fits(a, z)
    local _, rows, _, cols = cover(tiles, blocks, a, z, n)
    local sum = 0
    for b = a, z do sum = sum + blocks[b].values end
    return rows * cols <= limit and sum <= values
  end
  local function last_of(b)
    while b < #blocks and row(b + 1) == row(b) do b = b + 1 end
    return b
  end
  local out, a = {}, 1
  while a <= #blocks do
    local z, stop = a, last_of(a)
    while z < stop and fits(a, z + 1) do z = z + 1 end
    if z == stop and (a == 1 or row(a - 1) ~= row(a)) then
      while z < #blocks and fits(a, last_of(z + 1)) do z = last_of(z + 1) end
    end
    out[#out + 1] = { a, z }
    a = z + 1
  end
  return out
end

local PROBES = 3 -- rows, and columns, from which it is found that both triangles hold the same

--- Which triangle of a matrix counts, seen from some rows and columns: the side, and the rule for parts of it.
local function triangle_of(set, first, last, where, rule, odd)
  if rule == 'upper' or rule == 'lower' then return rule, rule end
  local rows, columns = {}, {}
  local k = first
  while k < last do
    local row = set:read({ k, { k + 1, last } }):to('f64'):reshape(-1)
    local column = set:read({ { k + 1, last }, k }):to('f64'):reshape(-1)
    -- a frame that was lost holds nothing on either side: the next one then
    if #rows > 0 or k == last - 1 or triangles.filled(row) or triangles.filled(column) then
      rows[#rows + 1], columns[#columns + 1] = row, column
      if rule == 'half' or #rows == PROBES then break end
      k = k + math.max(1, math.floor((last - k) / PROBES))
    else
      k = k + 1
    end
  end
  local side, even = triangles.side(mc.concat(rows, 1), mc.concat(columns, 1), rule, where, odd)
  return side, even and 'full' or side
end

--- Which triangle of each matrix counts: lists of sides and of the rules for parts.
local function sides_of(input, rule)
  local session, sides, rules = input.session(), {}, {}
  for f = 1, #input.phi do
    local set = session.set(f)
    mc.scope(function()
      sides[f], rules[f] = triangle_of(set, input.first + input.drop, input.last, input.names[f], rule, input.odd)
    end)
    set:close()
  end
  session.close()
  return sides, rules
end

--- Times { first, last, step } of a half matrix as a full one, its diagonal corrected; NaN where points do not count.
--- The diagonal of whole matrices comes before the mask and before a frame is dropped, as in memory.
local function thinned(set, input, f, window, given, method)
  local drop = window[1] == 1 and window[3] == 1 and input.drop or 0
  local r0 = input.first + input.drop - 1
  local r = { r0 + window[1] - drop, r0 + window[2], window[3] }
  local h = prepare.diagonal(prepare.symmetric(set:read { r, r }, input.names[f], input.rules[f]), method)
  if drop > 0 then h = h[{ { 2, h.shape[1] }, { 2, h.shape[1] } }] end
  if given then
    local mask = given:rectangle(f, window, window)
    if mask then
      local m = h.shape[1]
      local upper = mc.logical_or(mask, mc.eq(mc.triu(mc.ones { m, m }, 1), 0))
      h = mc.where(mc.logical_and(upper, upper.mT), h, mc.nan)
    end
  end
  return h
end

--- A part of the upper triangle of matrix f as f64: rows and columns { first, last } over the times of the fit, NaN
--- where there is no pair, where a point is no number and where it does not count; its standard deviations.
local function rectangle(set, input, f, ri, rj, given)
  local r0 = input.first + input.drop - 1
  local a, b = { r0 + ri[1], r0 + ri[2] }, { r0 + rj[1], r0 + rj[2] }
  local x
  if input.sides[f] == 'upper' then x = set:read { a, b } else x = set:read({ b, a }).mT end
  x = x:to 'f64'
  local inside = mc.gt(mc.arange(rj[1], rj[2]):expand_dims(1), mc.arange(ri[1], ri[2]):expand_dims(2))
  local good = mc.logical_and(mc.isfinite(x), inside)
  local mask, sigma
  if given then mask, sigma = given:rectangle(f, ri, rj) end
  local counted = mask and mc.logical_and(good, mask) or good
  return x, inside, good, counted, sigma
end

--- Packs the matrices, NaN where nothing counts: into sink.memory, tensors { y, weight } over all tiles, or as blocks
--- handed to sink.put(number, values, weights).
---@return mc.tensor holes, table[] quality, number left_out points that a mask excludes
local function pack(input, o, given, levels, sink, report)
  local n, F = input.n, #input.phi
  local tiles = data_of.tiles(n, F)
  local blocks = blocks_of(tiles, o.block_values)
  local session, sets = input.session(), {}
  for f = 1, F do sets[f] = session.set(f) end
  local holes, quality = mc.zeros({ #tiles }, { dtype = 'u8' }), {}
  for f = 1, F do
    quality[f] = { points = n * (n - 1) / 2, good = 0, missing = 0, least = math.huge, most = -math.huge, mean = 0 }
  end
  local left_out = 0
  --- One angle of a run of blocks into buffers that begin with the value `from`.
  local function one(run, f, y, weight, from)
    local i0, rows, j0, cols = cover(tiles, blocks, run[1], run[2], n)
    local x, inside, good, counted, sigma = rectangle(sets[f], input, f, { i0 + 1, i0 + rows },
      { j0 + 1, j0 + cols }, given)
    local q = quality[f]
    local have = mc.sum(good:to 'f64'):item()
    local missing = mc.sum(inside:to 'f64'):item() - have
    local used = rawequal(counted, good) and have or mc.sum(counted:to 'f64'):item()
    left_out = left_out + have - used
    missing = missing + have - used
    q.missing, q.good = q.missing + missing, q.good + used
    local values = mc.where(counted, x, mc.nan)
    if used > 0 then
      q.least = math.min(q.least, mc.min(mc.where(counted, x, math.huge)):item())
      q.most = math.max(q.most, mc.max(mc.where(counted, x, -math.huge)):item())
      q.mean = q.mean + mc.sum(mc.where(counted, x, 0)):item()
    end
    local function padded(v)
      local full = mc.full({ rows, math.ceil(cols / G) * G }, mc.nan, { dtype = o.dtype })
      full[{ mc.all, { 1, cols } }] = v:to(o.dtype)
      return full
    end
    local full, factors = padded(values), nil
    local lost = missing > 0 and mc.logical_and(inside, mc.logical_not(counted))
    if sigma then
      local w = mc.where(counted, 1 / mc.where(counted, sigma, 1), 0)
      factors = padded(mc.where(inside, w * levels[f], mc.nan))
    end
    for b = run[1], run[2] do
      for k = blocks[b].first, blocks[b].last do
        local tile = tiles[k]
        local places = { { tile.I * T - i0 + 1, tile.I * T - i0 + tile.rows }, { tile.J * T - j0 + 1, tile.J * T - j0
          + tile.groups * G } }
        local place = data_of.slot(y, tile, F, f, from)
        place:copy_(full[places]:reshape(place.shape))
        if factors then
          place = data_of.slot(weight, tile, F, f, from)
          place:copy_(factors[places]:reshape(place.shape))
        end
        if lost then
          places[2][2] = math.min(places[2][2], cols)
          if mc.any(lost[places]) then holes[k] = 1 end
        end
      end
    end
  end
  local strip = o.strip or M.STRIP
  if sink.memory then
    local runs = runs_of(tiles, blocks, n, strip, math.huge)
    for f = 1, F do
      for _, run in ipairs(runs) do mc.scope(function() one(run, f, sink.memory.y, sink.memory.weight, 0) end) end
      if report then report(f, F) end
    end
  else
    local runs = runs_of(tiles, blocks, n, strip, math.max(o.block_values, 1))
    for _, run in ipairs(runs) do
      mc.scope(function()
        local from, values = tiles[blocks[run[1]].first].at, 0
        for b = run[1], run[2] do values = values + blocks[b].values end
        local y = mc.full({ values }, mc.nan, { dtype = o.dtype })
        local weight = levels and mc.full({ values }, mc.nan, { dtype = o.dtype })
        for f = 1, F do mc.scope(function() one(run, f, y, weight, from) end) end
        for b = run[1], run[2] do
          local at = tiles[blocks[b].first].at - from
          local range = { { at + 1, at + blocks[b].values } }
          sink.put(b, y[range], weight and weight[range])
        end
      end)
      if report then report(run[2], #blocks) end
    end
  end
  for f = 1, F do
    sets[f]:close()
    quality[f].mean = quality[f].good > 0 and quality[f].mean / quality[f].good or 0 / 0
  end
  session.close()
  return holes, quality, left_out
end

--- Refuses angles without a point.
local function checked(input, quality, given)
  for f, q in ipairs(quality) do
    if q.good == 0 then
      error(given and ('xpcs: mask and sigma leave no point of %s; leave out the angle instead'):format(input.names[f])
        or ('xpcs: %s holds no finite value'):format(input.names[f]), 0)
    end
  end
end

--- A file of packed blocks, with a hash of each.
local function write(to, input, o, given, levels)
  local w = mc.open(to, { mode = 'w', format = 'h5' })
  local ok, why = pcall(function()
    local hashes = {}
    local holes, quality, left_out = pack(input, o, given, levels, { put = function(b, y, weight)
      hashes[b] = mc.manifest.hash { y, weight }
      w:put(('blocks/%06d'):format(b), y)
      if weight then w:put(('weights/%06d'):format(b), weight) end
    end }, o.progress)
    checked(input, quality, given)
    local rows = {}
    for f, q in ipairs(quality) do rows[f] = { q.points, q.good, q.missing, q.least, q.most, q.mean } end
    local few = { holes = holes, quality = mc.tensor(rows), left_out = mc.tensor { left_out }, key = input.key }
    for _, name in ipairs(FEW) do w:put(name, few[name]) end
    hashes[#hashes + 1] = mc.manifest.hash(few)
    w:put('hashes', hashes)
    w:close()
  end)
  if not ok then
    w:abort()
    error(why, 0)
  end
end

--- Whether what a packed file holds is what was written. Raises when it cannot be read.
local function whole(file)
  local hashes, few = file:get 'hashes', {}
  for _, name in ipairs(FEW) do few[name] = file:get(name) end
  if mc.manifest.hash(few) ~= hashes[#hashes] then return false end
  for b = 1, #hashes - 1 do
    local weights = ('weights/%06d'):format(b)
    local good = mc.scope(function()
      return mc.manifest.hash { file:get(('blocks/%06d'):format(b)), file:has(weights) and file:get(weights) or nil }
        == hashes[b]
    end)
    if not good then return false end
  end
  return true
end

--- The packed file of these data, nil where it is to be made; and what is to be said about an older one. Refuses a
--- file that is no packed file of this program: an input, a configuration.
---@return table|nil file, string|nil note
local function kept(path, key)
  if not mc.file.exists(path) then return nil end
  local ok, old = check.try(mc.open, path, { format = 'h5' })
  local ours = ok
  for _, name in ipairs(FEW) do ours = ours and old:has(name) end
  if not (ours and old:has 'blocks/000001') then
    if ok then old:close() end
    error(('xpcs: %s is there and is no packed file of this program, or is damaged; remove it, or choose another '
      .. '--pack'):format(path), 0)
  end
  local good, same, sound = pcall(function()
    local mine = old:get 'key' == key
    return mine, mine and whole(old)
  end)
  if good and same and sound then return old end
  old:close()
  if not good and check.stopped(same) then error(same, 0) end
  return nil, ('%s %s; it is made again'):format(path, good and not same
    and 'belongs to other data, q, frames, angles or options' or 'is damaged')
end

--- Opens the packed file of these data, made where it is not there, as its only writer.
local function packed(input, o, given, levels, warnings)
  local known, note = kept(o.pack, input.key)
  if known then return known end
  local lock, why = mc.file.lock(o.pack)
  if not lock then error('xpcs: ' .. why, 0) end
  local ok, wrong = pcall(function()
    known, note = kept(o.pack, input.key) -- another process may have made it meanwhile
    if not known then write(o.pack, input, o, given, levels) end
  end)
  lock:free()
  if not ok then error(wrong, 0) end
  if note and not known then table.insert(warnings, note) end
  return known or mc.open(o.pack, { format = 'h5' })
end

--- Warnings about points that are left out.
local function notes(input, d, left_out, given, warnings)
  local all = d.F * d.n * (d.n - 1) / 2
  if left_out > 0 then
    table.insert(warnings, ('%d of %d points are left out by the mask or by sigma = 0'):format(left_out, all))
  end
  if d.masked - left_out > 0 then
    table.insert(warnings, ('%d of %d points are NaN or infinite and are masked'):format(d.masked - left_out, all))
  end
  if given and given.uneven then table.insert(warnings, uncertainty.UNEVEN) end
end

--- Starting values and the coarse copy, from thinned matrices.
local function begin(d, input, o, given)
  local windows, fine = coarse.windows(input.n, d.F), math.ceil(input.n / QUANTILES)
  d.coarse, d.start_contrast, d.start_offset = {}, {}, {}
  local masks
  local left = mc.ceiling.left()
  if input.n <= EXACT and (not o.max_memory or left and left > EXACT_SQUARES * 8 * input.n ^ 2) then
    masks = scaling.lags(input.n)
  end
  local session = input.session()
  for f = 1, d.F do
    local set = session.set(f)
    d.coarse[f] = {}
    for i, w in ipairs(windows) do
      d.coarse[f][i] = mc.scope(function() return thinned(set, input, f, w, given) end)
    end
    mc.scope(function()
      local c = thinned(set, input, f, { 1, input.n, masks and 1 or fine }, given, o.diagonal)
      d.start_contrast[f], d.start_offset[f] = scaling.start(c, masks)
    end)
    set:close()
  end
  session.close()
  mc.ceiling.left() -- what reading left over goes back
end

--- What a streamed fit reads again from the source.
local function readers(d, input, given, levels)
  local function with(f, read)
    local session = input.session()
    local set = session.set(f)
    local x, y = mc.scope(function() return read(set) end)
    set:close()
    session.close()
    return x, y
  end
  --- Pairs i < j of a rectangle, NaN where there is none and where points do not count; and the spread of its points.
  local function part(set, f, ri, rj)
    local x, _, _, counted, sigma = rectangle(set, input, f, ri, rj, given)
    return mc.where(counted, x, mc.nan), sigma and mc.where(counted, sigma, levels[f]) / levels[f]
  end
  --- Rows first .. last out of what lies above the diagonal.
  local function rows_of(upper, left, first, last)
    local n = input.n
    local i = mc.arange(first, last):expand_dims(2)
    local j = mc.arange(1, n):expand_dims(1)
    local x = mc.zeros { last - first + 1, n }
    x[{ mc.all, { 1, last } }] = left.mT
    local y = mc.zeros { last - first + 1, n }
    y[{ mc.all, { first, n } }] = upper
    return mc.where(mc.gt(j, i), y, mc.where(mc.lt(j, i), x, 0))
  end
  -- rows i .. j of pairs, for errors of nearly degenerate fits
  d.read_rows = function(f, i, j)
    return with(f, function(set) return part(set, f, { i, j }, { 1, input.n }) end)
  end
  -- rows of the symmetric matrix, for fitted_data
  d.read_strip = function(f, first, last)
    return (with(f, function(set)
      local upper, left = part(set, f, { first, last }, { first, input.n }), part(set, f, { 1, last }, { first, last })
      return rows_of(upper, left, first, last)
    end))
  end
  d.read_spread = levels and function(f, first, last)
    return (with(f, function(set)
      local _, upper = part(set, f, { first, last }, { first, input.n })
      local _, left = part(set, f, { 1, last }, { first, last })
      local x = rows_of(upper, left, first, last)
      return mc.where(mc.gt(x, 0), x, 1)
    end))
  end
  -- every k-th row and column, for figures; and the standard deviations over that of the angle
  d.read_thin = function(f, every)
    return with(f, function(set)
      local r = { 1, input.n, every }
      local c = prepare.diagonal(thinned(set, input, f, r, given))
      if not levels then return c end
      local mask, sigma = given:rectangle(f, r, r)
      local m = sigma.shape[1]
      local inside = mc.gt(mc.triu(mc.ones { m, m }, 1), 0)
      local u = mc.where(mask and mc.logical_and(inside, mask) or inside, sigma / levels[f], 0)
      return c, mc.where(mc.gt(u + u.mT, 0), u + u.mT, 1)
    end)
  end
end

--- Data packed by strips: into memory, or into a file (o.pack), which is made when it is not there or belongs to
--- something else.
---@param input table path (the source), q, phi, names, first, last (frames), drop (0 or 1), n (times of the fit), t,
---  layout; session(): { set(f): { read(ranges), close() }, close() }; entries, chosen, N: the angles of the file,
---  which of them, its frames
---@param o table options of open: pack, dtype, block_values, dt, gap, triangle (of triangles.RULES), sigma, mask,
---  zero_sigma_is_mask, progress; strip: values of a matrix that are read at a time
---@param warnings string[]
---@return mascon.xpcs.Data
function M.open(input, o, warnings)
  local F = #input.phi
  local given = uncertainty.of(o, { count = F, entries = input.entries or F, chosen = input.chosen, N = input.N,
    first = input.first, n = input.n, drop = input.drop, names = input.names })
  local levels
  input.odd = {}
  input.sides, input.rules = sides_of(input, o.triangle)
  if given and given.sigma then
    levels = {}
    for f = 1, F do levels[f] = given:level(f) end
  end
  local form = { n = input.n, phi = input.phi, t = input.t, dtype = o.dtype, q = input.q, dt = o.dt, gap = o.gap,
    mode = o.mode, path = input.path, layout = input.layout, names = input.names, warnings = warnings }
  local d, left_out
  if not o.pack then
    d = data_of.new(form)
    if levels then d.weight = mc.full({ d.packed.shape[1] }, mc.nan, { dtype = o.dtype }) end
    d.holes, d.quality, left_out = pack(input, o, given, levels, { memory = { y = d.packed, weight = d.weight } },
      o.progress)
    checked(input, d.quality, given)
  else
    input.key = key_of(input, o)
    local known = packed(input, o, given, levels, warnings)
    d = data_of.streamed(form)
    d.store, d.store_blocks, d.key, d.weighted = known, blocks_of(d.tiles, o.block_values), input.key, levels and true
    d.holes, left_out, d.quality = known:get 'holes', known:get('left_out')[1]:item(), {}
    for f, q in ipairs(known:get('quality'):totable()) do
      d.quality[f] = { points = q[1], good = q[2], missing = q[3], least = q[4], most = q[5], mean = q[6] }
    end
    readers(d, input, given, levels)
  end
  d.sigma, d.points, d.masked = levels, 0, 0
  for _, q in ipairs(d.quality) do d.points, d.masked = d.points + q.good, d.masked + q.missing end
  triangles.notes(input.odd, F, warnings)
  notes(input, d, left_out, given, warnings)
  begin(d, input, o, given)
  return d
end

return M
