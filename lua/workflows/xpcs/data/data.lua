-- data.lua - the pairs i < j of all angles, packed in the order in which the pass reads them; data from tensors.
--
-- The matrix is symmetric, so its triangle is kept once: square tiles of 64 times, in a tile its rows, in a row groups
-- of 8 columns, in a group the 8 values of every angle. NaN stands where there is no pair and where a point is masked.
-- Packed values are in memory, or in a file of blocks that is read front to back; what reads them need not know which.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

M.TILE, M.GROUP = 64, 8
local T, G = M.TILE, M.GROUP
local ceil, min = math.ceil, math.min
local MOST = 2 ^ 20 -- times or angles: that many times are 4 TB an angle

---@class mascon.xpcs.Data
---@field n integer times
---@field F integer angles
---@field packed mc.tensor f32|f64
---@field holes mc.tensor u8 [tiles]
---@field points integer pairs that are not masked
---@field weight? mc.tensor like packed: factor of 1 / sigma per point; sigma: list per angle that goes with it
local Data = {}
Data.__index = Data
Data.TILE = T

local function sized(fname, n, F)
  for name, v in pairs { n = n, F = F } do
    if type(v) ~= 'number' or not (v >= 0 and v <= MOST and v % 1 == 0) then
      error(('%s: %s is %s; give a whole number up to 2^20'):format(fname, name, check.show(v)), 3)
    end
  end
end

--- Tiles of n times and F angles, in order: { I, J, rows, groups, at } with 0-based offsets.
---@return table[] tiles, integer values
function M.tiles(n, F)
  sized('xpcs.data.tiles', n, F)
  local edge, out, at = ceil(n / T), {}, 0
  for I = 0, edge - 1 do
    for J = I, edge - 1 do
      local rows, groups = min(T, n - I * T), ceil(min(T, n - J * T) / G)
      out[#out + 1] = { I = I, J = J, rows = rows, groups = groups, at = at, values = rows * groups * F * G }
      at = at + rows * groups * F * G
    end
  end
  return out, at
end

--- Bytes of the packed data.
---@param n integer times
---@param F integer angles
---@param dtype? string f64, f32
function M.bytes(n, F, dtype)
  if dtype ~= nil and dtype ~= 'f32' and dtype ~= 'f64' then
    error(('xpcs.data.bytes: dtype is %s; choose f64 or f32'):format(check.show(dtype)), 2)
  end
  sized('xpcs.data.bytes', n, F)
  -- tiles as M.tiles has them: edge - 1 whole rows of tiles and the last one
  local edge = ceil(n / T)
  local rows = n - (edge - 1) * T
  local groups = ceil(rows / G)
  local values = n > 0 and F * G * (T * (edge - 1) * (T / G * edge / 2 + groups) + rows * groups) or 0
  return values * (dtype == 'f32' and 4 or 8)
end

--- One line on the data.
function Data:__tostring()
  local path = self.path and self.path:match '[^/]*$' .. ': ' or ''
  return ('%s%d angles x %d times%s, %s points%s'):format(path, self.F, self.n, type(self.q) == 'number'
    and (', q = %.6g 1/A'):format(self.q) or '', tostring(self.points), (self.masked or 0) > 0
    and (', %d masked'):format(self.masked) or '')
end

--- Data of a description, without values.
local function bare(fname, o)
  check.arg(fname, 'o', o, 'table', 4)
  if type(o.phi) ~= 'table' then
    error(('%s: phi is %s; give a list of angles, deg'):format(fname, check.show(o.phi)), 3)
  end
  if type(o.n) ~= 'number' or o.n < 1 or o.n % 1 ~= 0 then
    error(('%s: n is %s; give the number of times. Matrices in memory are taken by mc.xpcs.data.of{ c2 = ... }'):format(
      fname, check.show(o.n)), 4)
  end
  if o.c2 ~= nil then
    error(('%s: c2 is given, and it takes no matrices; mc.xpcs.data.of does'):format(fname), 4)
  end
  local d = setmetatable({}, Data)
  for k, v in pairs(o) do d[k] = v end
  d.F, d.dtype = #o.phi, o.dtype or 'f64'
  return d
end

--- Room for the data of F angles.
---@param o table n, phi (list, deg), t f64 [n], dtype 'f64'|'f32', and whatever else describes them (q, dt, gap)
---@return mascon.xpcs.Data
function M.new(o)
  local d = bare('xpcs.data.new', o)
  local tiles, values = M.tiles(d.n, d.F)
  d.tiles = tiles
  d.packed = mc.full({ values }, mc.nan, { dtype = d.dtype })
  d.holes = mc.zeros({ #d.tiles }, { dtype = 'u8' })
  d.points, d.masked = 0, 0
  d.filled = {}
  return d
end

--- Data that lie in a file: everything but the values. The caller adds store (the open file), store_blocks, holes,
--- masked, points, read_rows, read_strip, read_thin, read_spread; weighted where the points have standard deviations of
--- their own.
---@param o table as for new
---@return mascon.xpcs.Data
function M.streamed(o)
  local d = bare('xpcs.data.streamed', o)
  d.tiles = M.tiles(d.n, d.F)
  return d
end

--- The place of an angle in a tile of a packed tensor that begins with the value `from` (0): a view [rows, groups, G].
local function slot(packed, tile, F, f, from)
  local at = tile.at - (from or 0)
  return packed[{ { at + 1, at + tile.values } }]:reshape(tile.rows, tile.groups, F, G)[{ mc.all, mc.all, f, mc.all }]
end
M.slot = slot

--- A matrix padded to whole tiles, NaN on and below the diagonal.
local function upper(c, dtype)
  local n = c.shape[1]
  local full = mc.full({ n, ceil(n / G) * G }, mc.nan, { dtype = dtype })
  local t = mc.arange(1, n)
  full[{ mc.all, { 1, n } }] = mc.where(mc.gt(t:expand_dims(1), t:expand_dims(2)), c, mc.nan):to(dtype)
  return full
end

--- Writes a padded matrix [n, columns] into the place of angle f of a packed tensor.
local function into(packed, d, f, full)
  for _, tile in ipairs(d.tiles) do
    local i, j = tile.I * T, tile.J * T
    local place = slot(packed, tile, d.F, f)
    place:copy_(full[{ { i + 1, i + tile.rows }, { j + 1, j + tile.groups * G } }]:reshape(place.shape))
  end
end

--- The values of angle f of a packed tensor as a matrix; 0 on and below the diagonal.
local function out_of(packed, d, f)
  local n = d.n
  local full = mc.full({ n, ceil(n / G) * G }, mc.nan)
  for _, tile in ipairs(d.tiles) do
    local i, j = tile.I * T, tile.J * T
    full[{ { i + 1, i + tile.rows }, { j + 1, j + tile.groups * G } }] = slot(packed, tile, d.F, f):to('f64'):reshape(
      tile.rows, tile.groups * G)
  end
  local t = mc.arange(1, n)
  return mc.where(mc.gt(t:expand_dims(1), t:expand_dims(2)), full[{ mc.all, { 1, n } }], 0)
end

--- Takes the matrix of one angle. Points that are not finite, and those where mask is false, are masked.
---@param f integer
---@param c mc.tensor f64 [n, n] symmetric
---@param mask? mc.tensor bool [n, n]
---@param sigma? mc.tensor f64 [n, n]: standard deviations of the pairs i < j; what is masked may be anything
---@param level? number with sigma: the standard deviation of the angle, to which those of its points are relative
function Data:put(f, c, mask, sigma, level)
  local n = self.n
  if c.ndim ~= 2 or c.shape[1] ~= n or c.shape[2] ~= n then
    error(('xpcs: the matrix of angle %d is %s; it must be [%d, %d]'):format(f, tostring(c.shape), n, n), 2)
  end
  mc.scope(function()
    local good = mc.isfinite(c)
    if mask then good = mc.logical_and(good, mask) end
    local inside = mc.gt(mc.triu(mc.ones { n, n }, 1), 0)
    local missing = mc.logical_and(inside, mc.logical_not(good))
    local count = mc.sum(missing:to 'f64'):item()
    local full = upper(mc.where(good, c, mc.nan), self.dtype)
    into(self.packed, self, f, full)
    if sigma then
      local counted = mc.logical_and(inside, good)
      local w = mc.where(counted, 1 / mc.where(counted, sigma, 1), 0)
      self.sigma = self.sigma or {}
      self.sigma[f] = level
      if not self.weight then
        self.weight = tensor.hold(mc.full({ self.packed.shape[1] }, mc.nan, { dtype = self.dtype }))
      end
      into(self.weight, self, f, upper(w * level, self.dtype))
    end
    if count > 0 then
      for k, tile in ipairs(self.tiles) do
        local i, j = tile.I * T, tile.J * T
        if mc.any(missing[{ { i + 1, i + tile.rows }, { j + 1, min(j + T, n) } }]) then self.holes[k] = 1 end
      end
    end
    self.points, self.masked = self.points + n * (n - 1) / 2 - count, self.masked + count
  end)
  self.filled[f] = true
end

--- Rows of tile row I (from 0) of a symmetric matrix out of its packed upper triangle, f64 [rows, n]; its diagonal has
--- no meaning.
local function symmetric_rows(packed, d, f, I)
  local n = d.n
  local rows = min(T, n - I * T)
  local full = mc.zeros { rows, n }
  for _, tile in ipairs(d.tiles) do
    if tile.I == I or tile.J == I then
      local cols = min(T, n - tile.J * T)
      local v = slot(packed, tile, d.F, f):to('f64'):reshape(tile.rows, tile.groups * G)[{ mc.all, { 1, cols } }]
      if tile.I == tile.J then
        local i = mc.arange(1, rows)
        v = mc.where(mc.gt(i:expand_dims(1), i:expand_dims(2)), v, 0)
        v = v + v.mT
      elseif tile.J == I then v = v.mT end
      local at = (tile.I == I and tile.J or tile.I) * T
      full[{ mc.all, { at + 1, at + v.shape[2] } }] = v
    end
  end
  return full
end

--- The first and last time (from 1) of tile row I (from 0), of which there are so many.
function Data:tile_rows() return ceil(self.n / T) end
function Data:times_of(I) return I * T + 1, min(self.n, (I + 1) * T) end

--- Rows of tile row I (from 0) of the matrix of one angle, f64 [rows, n], its diagonal corrected (mean of the values
--- beside it); NaN where points are masked.
---@param f integer
---@param I integer
function Data:strip(f, I)
  return mc.scope(function()
    local n = self.n
    local first, last = self:times_of(I)
    local x = self.read_strip and self.read_strip(f, first, last) or symmetric_rows(self.packed, self, f, I)
    local i = mc.arange(first, last):to 'i64'
    local function beside(step)
      local at = mc.clip(i + step, 1, n):to('i64'):reshape(-1, 1)
      return mc.take_along_axis(x, at, 2)
    end
    local before, after = beside(-1), beside(1)
    local column = i:reshape(-1, 1)
    local d = mc.where(mc.eq(column, 1), after, mc.where(mc.eq(column, n), before, (before + after) * 0.5))
    return mc.where(mc.eq(mc.arange(1, n):expand_dims(1), column), d, x)
  end)
end

--- The matrix of one angle, f64 [n, n], symmetric, its diagonal corrected; NaN where points are masked.
---@param f integer
function Data:matrix(f)
  if self.store then
    local out = mc.empty { self.n, self.n }
    for I = 0, self:tile_rows() - 1 do
      mc.scope(function()
        local first, last = self:times_of(I)
        out[{ { first, last } }] = self:strip(f, I)
      end)
    end
    return out
  end
  return mc.scope(function()
    local u = out_of(self.packed, self, f)
    return require('workflows.xpcs.data.prepare').diagonal(u + u.mT)
  end)
end

--- Every k-th row and column of a symmetric matrix out of its packed upper triangle, 0 on the diagonal.
local function thinned(packed, d, f, k)
  local n = d.n
  local m = math.floor((n - 1) / k) + 1
  local full = mc.zeros { m, m }
  for _, tile in ipairs(d.tiles) do
    local i0, j0 = tile.I * T, tile.J * T
    local a, b = -i0 % k + 1, -j0 % k + 1 -- the first row and column that are taken, from 1
    local rows, cols = tile.rows, min(T, n - j0)
    if a <= rows and b <= cols then
      local v = slot(packed, tile, d.F, f):to('f64'):reshape(rows, tile.groups * G)[{ { a, rows, k }, { b, cols, k } }]
      local i, j = (i0 + a - 1) / k, (j0 + b - 1) / k
      full[{ { i + 1, i + v.shape[1] }, { j + 1, j + v.shape[2] } }] = v
    end
  end
  local t = mc.arange(1, m)
  local u = mc.where(mc.gt(t:expand_dims(1), t:expand_dims(2)), full, 0)
  return u + u.mT
end

--- Every k-th row and column of the matrix of one angle, its diagonal corrected; and the standard deviations over that
--- of the angle, nil when the points of an angle share one.
---@param f integer
---@param k integer
---@return mc.tensor, mc.tensor|nil
function Data:thin(f, k)
  if self.read_thin then
    local c, s = self.read_thin(f, k)
    return c, s
  end
  return mc.scope(function()
    local c = require('workflows.xpcs.data.prepare').diagonal(thinned(self.packed, self, f, k))
    if not self.weight then return c end
    local w = thinned(self.weight, self, f, k)
    return c, 1 / (w + mc.eye(w.shape[1]))
  end)
end

--- Rows of tile row I (from 0) of angle f, f64 [rows, n]: pairs i < j, NaN elsewhere and where points are masked; and
--- their standard deviations over that of the angle, nil when the points of an angle share one.
---@param f integer
---@param I integer
---@return mc.tensor values, mc.tensor|nil spread, integer first, integer last
function Data:rows(f, I)
  local n = self.n
  local first, last = I * T + 1, min(n, (I + 1) * T)
  local function of(packed)
    local full = mc.full({ last - first + 1, ceil(n / G) * G }, mc.nan)
    for _, tile in ipairs(self.tiles) do
      if tile.I == I then
        local j = tile.J * T
        full[{ mc.all, { j + 1, j + tile.groups * G } }] = slot(packed, tile, self.F, f):to('f64'):reshape(tile.rows,
          tile.groups * G)
      end
    end
    return full[{ mc.all, { 1, n } }]
  end
  if self.read_rows then
    local values, spread = self.read_rows(f, first, last)
    return values, spread, first, last
  end
  return of(self.packed), self.weight and 1 / of(self.weight) or nil, first, last
end

--- Standard deviations over that of the angle, of the rows of tile row I (from 0) of angle f, f64 [rows, n], 1 on the
--- diagonal; nil when the points of an angle share one.
---@param f integer
---@param I integer
function Data:spread(f, I)
  if self.read_spread then
    local first, last = self:times_of(I)
    return self.read_spread(f, first, last)
  end
  if not self.weight then return nil end
  return mc.scope(function()
    local first, last = self:times_of(I)
    local i, j = mc.arange(first, last):expand_dims(2), mc.arange(1, self.n):expand_dims(1)
    return mc.where(mc.eq(i, j), 1, 1 / symmetric_rows(self.weight, self, f, I))
  end)
end

--- Iterates over blocks of tiles from tile `from` on: { first, y, holes }. At most block_values values a block when
--- set, always whole tiles.
---@param from? integer
---@param to? integer of data in memory: the last tile
---@param most? integer of data in memory: values of a block
function Data:blocks(from, to, most)
  local tile, tiles = from or 1, self.tiles
  if self.store then
    local k = 0
    return function()
      local block
      repeat
        k = k + 1
        block = self.store_blocks[k]
      until not block or block.first >= tile
      if not block then return nil end
      return { first = block.first, holes = self.holes[{ { block.first, block.last } }],
        y = self.store:get(('blocks/%06d'):format(k)),
        weight = self.weighted and self.store:get(('weights/%06d'):format(k)) or nil }
    end
  end
  local limit = most and math.min(most, self.block_values or most) or self.block_values
  to = to or #tiles
  return function()
    if tile > to then return nil end
    local first, last, sum = tile, tile, tiles[tile].values
    while last < to and (not limit or sum + tiles[last + 1].values <= limit) do
      last = last + 1
      sum = sum + tiles[last].values
    end
    tile = last + 1
    if first == 1 and last == #tiles then
      return { first = 1, holes = self.holes, y = self.packed, weight = self.weight }
    end
    local a = tiles[first].at
    local b = { first = first, holes = self.holes[{ { first, last } }] }
    b.y = self.packed[{ { a + 1, a + sum } }]
    if self.weight then b.weight = self.weight[{ { a + 1, a + sum } }] end
    return b
  end
end

--- Gives back what a block of a file holds, once it was used.
function Data:done(block)
  if not self.store then return end
  block.y:release()
  if block.weight then block.weight:release() end
end

-- what data in memory are made of, and what a simulation says beside it
local OF = {
  c2 = { nil, 'tensor' }, phi = { nil, 'table | tensor' }, t = { nil, 'table | tensor' }, mask = { nil, 'tensor' },
  sigma = { nil, 'number > 0 | table | tensor' }, sigma_c2 = { nil, 'tensor' }, dtype = { 'f64', { 'f64', 'f32' } },
  q = { nil, 'number > 0' }, dt = { nil, 'number > 0' }, gap = { nil, 'number > 0' }, mode = { nil, 'string' },
  n = { nil, 'integer >= 1' }, physics = { nil, 'table' }, contrast = { nil, 'any' }, offset = { nil, 'any' },
  model = { nil, 'tensor' }, seed = { nil, 'integer' },
}

--- A list of `count` finite numbers out of a list or a tensor of one axis.
local function numbers(name, v, count, what)
  local list = mc.is_tensor(v) and v:to('f64'):reshape(-1):totable() or v
  local wrong = #list ~= count and ('%s holds %d values'):format(name, #list)
  for k = 1, wrong and 0 or count do
    local x = list[k]
    if type(x) ~= 'number' or x - x ~= 0 then wrong = ('%s[%d] is %s'):format(name, k, check.show(x)) end
  end
  if wrong then
    error(('xpcs.data.of: %s; give %d finite numbers, one per %s'):format(wrong, count, what), 4)
  end
  return list
end

--- The options of `of`, complete and of one size, on the host.
local function described(given)
  if given == nil then error('xpcs.data.of: give a table { c2 =, phi =, t =, q =, dt = }', 3) end
  local o = check.opts('xpcs.data.of', given, OF, 4)
  for _, needed in ipairs { { 'c2', 'the matrices, a tensor [angles, n, n]' }, { 'phi', 'the angles, deg' },
    { 't', 'the times, s' } } do
    if o[needed[1]] == nil then
      error(('xpcs.data.of: %s is missing; give %s'):format(needed[1], needed[2]), 3)
    end
  end
  if o.c2.ndim ~= 3 or o.c2.shape[2] ~= o.c2.shape[3] then
    error(('xpcs.data.of: c2 is %s; the matrices must be [angles, n, n]'):format(check.show(o.c2)), 3)
  end
  for _, name in ipairs { 'c2', 'phi', 't', 'mask', 'sigma', 'sigma_c2' } do
    if mc.is_tensor(o[name]) and o[name].device ~= 'cpu' then
      error(('xpcs.data.of: %s is %s; the points are packed on the CPU, give %s:to "cpu"'):format(name,
        check.show(o[name]), name), 3)
    end
  end
  local F, n = o.c2.shape[1], o.c2.shape[2]
  if o.n and o.n ~= n then
    error(('xpcs.data.of: n is %d and the matrices are [%d, %d]'):format(o.n, n, n), 3)
  end
  o.n, o.phi, o.t = n, numbers('phi', o.phi, F, 'matrix'), mc.tensor(numbers('t', o.t, n, 'row of a matrix'))
  if o.sigma ~= nil and o.sigma_c2 then
    error('xpcs.data.of: sigma (per angle) and sigma_c2 (per point) are both given; give one of them', 3)
  end
  if type(o.sigma) == 'number' then
    local one = o.sigma
    o.sigma = {}
    for f = 1, F do o.sigma[f] = one end
  elseif o.sigma then o.sigma = numbers('sigma', o.sigma, F, 'matrix') end
  return o
end

--- Data of matrices that are in memory, for a fit.
---@param o table c2 f64|f32 [angles, n, n] symmetric (the upper triangle counts where the two differ; warnings of the
---  data say so) · phi: list of deg · t: list or f64 [n], s · q 1/A · dt s · gap A · mode · dtype 'f64'|'f32' ·
---  sigma: standard deviation of the points, a number or one per angle, which a fit takes unless it is given its own ·
---  sigma_c2 like c2, or [n, n] for all angles: standard deviations of points · mask bool, likewise: true where the
---  point counts · n, physics, contrast, offset, model, seed: what a simulation knows of the data, kept with them
---@return mascon.xpcs.Data
function M.of(o)
  o = described(o)
  local c2, names, warnings, odd = o.c2, {}, {}, {}
  for f = 1, #o.phi do names[f] = ('matrix %d'):format(f) end
  local given = require('workflows.xpcs.data.uncertainty').of({ sigma = o.sigma_c2, mask = o.mask }, { count = #o.phi,
    entries = #o.phi, N = o.n, n = o.n, first = 1, drop = 0, names = names })
  o.c2, o.sigma_c2, o.mask = nil, nil, nil
  local d = M.new(o)
  for f = 1, d.F do
    local mask, sigma, level
    if given then mask, sigma, level = given:at(f) end
    d:put(f, require('workflows.xpcs.data.prepare').symmetric(c2[f], names[f], 'full', odd), mask, sigma, level)
  end
  require('workflows.xpcs.data.triangles').notes(odd, d.F, warnings)
  if given and given.uneven then warnings[#warnings + 1] = require('workflows.xpcs.data.uncertainty').UNEVEN end
  d.warnings = warnings
  return d
end

return M
