-- data.lua - the pairs i < j of all angles, packed in the order in which the pass reads them.
--
-- The matrix is symmetric, so its triangle is kept once: square tiles of 64 times, in a tile its rows, in a row groups
-- of 8 columns, in a group the 8 values of
-- every angle. NaN stands where there is no pair and where a point is masked. Angles come one after the other, so that
-- never more than one full matrix is in memory.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

M.TILE, M.GROUP = 64, 8
local T, G = M.TILE, M.GROUP
local ceil, min = math.ceil, math.min

---@class mascon.xpcs.Data
---@field n integer times
---@field F integer angles
---@field packed mc.tensor f32|f64
---@field holes mc.tensor u8 [tiles]
---@field points integer pairs that are not masked
---@field weight? mc.tensor like packed: factor of 1 / sigma per point; sigma: list per angle that goes with it
local Data = {}
Data.__index = Data

--- Tiles of n times and F angles, in order: { I, J, rows, groups, at } with 0-based offsets.
---@return table[] tiles, integer values
function M.tiles(n, F)
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
function M.bytes(n, F, dtype)
  local _, values = M.tiles(n, F)
  return values * (dtype == 'f32' and 4 or 8)
end

--- Room for the data of F angles.
---@param o table n, phi (list, deg), t f64 [n], dtype 'f64'|'f32', and whatever else describes them (q, dt, gap)
---@return mascon.xpcs.Data
function M.new(o)
  local d = setmetatable({}, Data)
  for k, v in pairs(o) do d[k] = v end
  d.F, d.dtype = #o.phi, o.dtype or 'f64'
  local values
  d.tiles, values = M.tiles(d.n, d.F)
  d.packed = mc.full({ values }, mc.nan, { dtype = d.dtype })
  d.holes = mc.zeros({ #d.tiles }, { dtype = 'u8' })
  d.points, d.masked = 0, 0
  d.filled = {}
  return d
end

--- Data that lie in a file: everything but the values. The caller adds store (the open file), store_blocks, holes,
--- masked, points and read_matrix(f).
---@param o table as for new
---@return mascon.xpcs.Data
function M.streamed(o)
  local d = setmetatable({}, Data)
  for k, v in pairs(o) do d[k] = v end
  d.F, d.dtype = #o.phi, o.dtype or 'f64'
  d.tiles = M.tiles(d.n, d.F)
  return d
end

--- The place of an angle in a tile: a view [rows, groups, G].
local function slot(packed, tile, F, f)
  return packed[{ { tile.at + 1, tile.at + tile.values } }]:reshape(tile.rows, tile.groups, F, G)[{ mc.all, mc.all, f,
    mc.all }]
end

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
---@param sigma? mc.tensor f64 [n, n] symmetric: standard deviations; what is masked may be anything
function Data:put(f, c, mask, sigma)
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
      -- one number for the angle, of the weight of its mean point; the weights hold what is left
      local each = 1 / math.sqrt(mc.sum(w * w):item() / math.max(mc.sum(counted:to 'f64'):item(), 1))
      if not (each > 0 and each < math.huge) then each = 1 end
      self.sigma = self.sigma or {}
      self.sigma[f] = each
      if not self.weight then
        self.weight = mc.keep(mc.full({ self.packed.shape[1] }, mc.nan, { dtype = self.dtype }))
      end
      into(self.weight, self, f, upper(w * each, self.dtype))
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

--- The matrix of one angle, f64 [n, n], symmetric, its diagonal corrected; NaN where points are masked.
---@param f integer
function Data:matrix(f)
  if self.read_matrix then return self.read_matrix(f) end
  return mc.scope(function()
    local u = out_of(self.packed, self, f)
    return require('workflows.xpcs.prepare').diagonal(u + u.mT)
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
  if self.read_rows then return self.read_rows(f, first, last), nil, first, last end
  return of(self.packed), self.weight and 1 / of(self.weight) or nil, first, last
end

--- Standard deviation over that of the angle of every point of angle f, f64 [n, n], 1 on the diagonal; nil when the
--- points of an angle share one.
---@param f integer
function Data:spread(f)
  if not self.weight then return nil end
  return mc.scope(function()
    local u = out_of(self.weight, self, f)
    return 1 / (u + u.mT + mc.eye(self.n))
  end)
end

--- Iterates over blocks of tiles from tile `from` on: { first, y, holes }. At most block_values values a block when
--- set, always whole tiles.
---@param from? integer
function Data:blocks(from)
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
        y = self.store:get(('blocks/%06d'):format(k)) }
    end
  end
  local limit = self.block_values
  return function()
    if tile > #tiles then return nil end
    local first, last, sum = tile, tile, tiles[tile].values
    while last < #tiles and (not limit or sum + tiles[last + 1].values <= limit) do
      last = last + 1
      sum = sum + tiles[last].values
    end
    tile = last + 1
    local a = tiles[first].at
    local b = { first = first, holes = self.holes[{ { first, last } }] }
    b.y = self.packed[{ { a + 1, a + sum } }]
    if self.weight then b.weight = self.weight[{ { a + 1, a + sum } }] end
    return b
  end
end

--- Data of matrices that are in memory.
---@param o table c2 f64|f32 [angles, n, n] symmetric, phi, t, and the options of new; mask bool like c2 (true: the
---  point counts), sigma_c2 like c2: standard deviations of points
---@return mascon.xpcs.Data
function M.of(o)
  local d = {}
  for k, v in pairs(o) do if k ~= 'c2' and k ~= 'mask' and k ~= 'sigma_c2' and k ~= 'sigma' then d[k] = v end end
  d.n = o.c2.shape[2]
  d = M.new(d)
  for f = 1, d.F do d:put(f, o.c2[f]:to 'f64', o.mask and o.mask[f], o.sigma_c2 and o.sigma_c2[f]:to 'f64') end
  return d
end

return M
