-- uncertainty.lua - standard deviations and masks per point, from files or tensors, as the data of a fit need them.
--
-- A file holds one matrix for all angles or one per angle, over the frames of the data file or over those that are
-- kept. It is read by rectangles, so that data larger than memory take it as well. Standard deviations of the two
-- triangles are folded into one: their weights are averaged.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

local NAMES = { sigma = { 'sigma', 'c2_sigma', 'c2_std', 'sigma_c2' }, mask = { 'mask', 'c2_mask', 'valid' } }
M.UNEVEN = 'sigma differs between the two triangles; the weights of both are averaged' -- a warning
local ROWS = 64 -- rows of a matrix that are looked at together

--- The array of a file: PATH, or PATH:NAME for one of several arrays. Tensors of .npy and .npz stay in their file where
--- they are stored plainly; datasets of .h5 are read by parts.
local function array_of(what, path)
  local name
  if not mc.file.exists(path) then
    local file, inner = path:match '^(.*%.%w+):(.+)$'
    if file then path, name = file, inner end
  end
  local ext = (path:match '%.(%w+)$' or ''):lower()
  if ext == 'npy' then return mc.open(path) end
  if ext ~= 'npz' and ext ~= 'h5' and ext ~= 'hdf5' and ext ~= 'hdf' then
    error(('xpcs: %s is read from .npy, .npz or .h5; %s is none of them'):format(what, path), 4)
  end
  local all = mc.open(path, { format = ext == 'npz' and 'npz' or 'h5' })
  local found
  for _, n in ipairs(name and { name } or NAMES[what]) do found = found or all:has(n) and n end
  if not found and not name and #all.names == 1 then found = all.names[1] end
  if not found then
    local list = table.concat(all.names, ', ')
    all:close()
    error(('xpcs: %s holds no array %s; it holds %s. Write FILE:NAME to choose one'):format(path, name
      or table.concat(NAMES[what], ' or '), list), 4)
  end
  local x
  if ext == 'npz' then x = all:get(found) else
    x = all:kind_of(found) == 'dataset' and all:dataset(found) or all:get(found)
    if not mc.is_tensor(x) and x.holds ~= 'numbers' then x = all:get(found) end
  end
  all:close()
  return x
end

---@class mascon.xpcs.Uncertainty
local Uncertainty = {}
Uncertainty.__index = Uncertainty

--- Rows and columns of angle f, ranges { first, last[, step] } over the times of the fit, as f64.
local function part(self, x, f, ri, rj)
  local shape = x.shape
  local m = shape[#shape]
  local from = m == self.N and self.first + self.drop or m == self.n + self.drop and 1 + self.drop or 1
  local function moved(r) return { r[1] + from - 1, r[2] + from - 1, r[3] } end
  local places = { moved(ri), moved(rj) }
  if #shape == 3 then table.insert(places, 1, shape[1] == self.count and f or self.chosen[f]) end
  local t = mc.is_tensor(x) and x[places] or x:read(places)
  return t:to('f64'):contiguous()
end

--- Raises unless an array fits the angles and times.
local function fits(self, what, x)
  if not mc.is_tensor(x) and not (type(x) == 'table' and x.kind == 'dataset' and x.holds == 'numbers') then
    error(('xpcs: %s is %s; give numbers'):format(what, check.show(x)), 5)
  end
  if x.dtype:sub(1, 1) == 'c' then error(('xpcs: %s holds complex numbers; give real ones'):format(what), 5) end
  local shape, n = {}, 0
  for k, v in ipairs(x.shape) do shape[k], n = v, k end
  local m, A = shape[n], n == 3 and shape[1]
  local good = (n == 2 or n == 3) and shape[n - 1] == m
    and (m == self.N or m == self.n + self.drop or m == self.n)
    and (not A or A == self.count or A == self.entries)
  if not good then
    local sizes = { ('%d (frames of the file)'):format(self.N) }
    local kept = self.n + self.drop
    if kept ~= self.N then sizes[#sizes + 1] = ('%d (frames that are kept)'):format(kept) end
    if self.drop > 0 then sizes[#sizes + 1] = ('%d (times of the fit, without the first)'):format(self.n) end
    local several = #sizes > 1
    local size = several and 'n' or tostring(self.N)
    error(('xpcs: %s is %s[%s]; give [%s, %s] for all angles or [%d, %s, %s]%s'):format(what, x.dtype,
      table.concat(shape, ', '), size, size, self.count, size, size, several and ', where n is '
      .. table.concat(sizes, ' or ') or ''), 5)
  end
end

--- Whether angle f has standard deviations in its upper and in its lower triangle.
local function triangles(self, f)
  self.filled = self.filled or {}
  local key = #self.sigma.shape == 3 and f or 1
  local known = self.filled[key]
  if known then return known[1], known[2] end
  local n, up, low = self.n, false, false
  for first = 1, n, ROWS do
    if up and low then break end
    mc.scope(function()
      local last = math.min(n, first + ROWS - 1)
      local s = part(self, self.sigma, f, { first, last }, { 1, n })
      local i, j = mc.arange(first, last):expand_dims(2), mc.arange(1, n):expand_dims(1)
      local there = mc.ne(s, 0)
      up = up or mc.any(mc.logical_and(there, mc.gt(j, i)))
      low = low or mc.any(mc.logical_and(there, mc.lt(j, i)))
    end)
  end
  self.filled[key] = { up, low }
  return up, low
end

--- Which pairs i < j of a rectangle count, and their standard deviations (of one triangle out of two: the mean of the
--- weights of both; a triangle that is 0 counts for nothing). Nil for what was not given. What stands on and below the
--- diagonal has no meaning.
---@param f integer
---@param ri integer[] rows { first, last[, step] } over the times of the fit
---@param rj integer[] columns
---@return mc.tensor|nil mask bool, mc.tensor|nil sigma f64
function Uncertainty:rectangle(f, ri, rj)
  local mask, sigma
  if self.mask then
    local one, other = part(self, self.mask, f, ri, rj), part(self, self.mask, f, rj, ri).mT
    if mc.any(mc.isnan(one + other)) then
      error(('xpcs: the mask of %s holds NaN; write 1 for points that count and 0 for others'):format(self.names[f]), 5)
    end
    mask = mc.logical_and(mc.ne(one, 0), mc.ne(other, 0)) -- a point counts when neither triangle excludes it
  end
  if self.sigma then
    local up, low = triangles(self, f)
    if up or not low then sigma = part(self, self.sigma, f, ri, rj) end
    if low then
      local other = part(self, self.sigma, f, rj, ri).mT
      if not up then sigma = other
      else
        local i = mc.arange(ri[1], ri[2], ri[3] or 1):expand_dims(2)
        local j = mc.arange(rj[1], rj[2], rj[3] or 1):expand_dims(1)
        local apart = mc.logical_and(mc.ne(sigma, other), mc.gt(j, i))
        if mask then apart = mc.logical_and(apart, mask) end
        if mc.any(apart) then
          self.uneven = true
          local w = mc.sqrt((mc.square(1 / sigma) + mc.square(1 / other)) * 0.5)
          sigma = mc.where(mc.eq(sigma, other), sigma, 1 / w)
        end
      end
    end
    if self.zero_is_mask then
      local there = mc.ne(sigma, 0)
      mask = mask and mc.logical_and(mask, there) or there
    end
  end
  if self.keep then
    local function of(r) return self.keep[{ { r[1], r[2], r[3] or 1 } }] end
    local there = mc.logical_and(of(ri):expand_dims(2), of(rj):expand_dims(1))
    mask = mask and mc.logical_and(mask, there) or there
  end
  return mask, sigma
end

--- Whether each time of the fit counts: false where its frame is masked.
---@param list integer[][] ranges of frames of the file, from 1
local function kept_times(self, list)
  local out, any = {}, false
  for i = 1, self.n do out[i] = true end
  for _, r in ipairs(list) do
    if r[2] > self.N then
      error(('xpcs: mask_frames names frame %d; the file has %d'):format(r[2], self.N), 5)
    end
    for frame = r[1], r[2] do
      local i = frame - self.first - self.drop + 1
      if i >= 1 and i <= self.n then out[i], any = false, true end
    end
  end
  return any and mc.tensor(out) or nil
end

--- The standard deviation of the mean weight of angle f, over the points that count: that of the angle, to which those
--- of its points are relative. Raises where a point that counts has none. Nil without standard deviations.
---@param f integer
---@return number|nil
function Uncertainty:level(f)
  if not self.sigma then return nil end
  self.levels = self.levels or {}
  local key = (#self.sigma.shape == 3 or self.mask and #self.mask.shape == 3) and f or 1
  if self.levels[key] then return self.levels[key] end
  local n, bad, sum, count = self.n, 0, 0, 0
  for first = 1, n, ROWS do
    mc.scope(function()
      local last = math.min(n, first + ROWS - 1)
      local mask, sigma = self:rectangle(f, { first, last }, { first, n })
      local i, j = mc.arange(first, last):expand_dims(2), mc.arange(first, n):expand_dims(1)
      local counted = mc.gt(j, i)
      if mask then counted = mc.logical_and(counted, mask) end
      local fine = mc.logical_and(mc.isfinite(sigma), mc.gt(sigma, 0))
      bad = bad + mc.sum(mc.logical_and(counted, mc.logical_not(fine)):to 'f64'):item()
      counted = mc.logical_and(counted, fine)
      local w = mc.where(counted, 1 / mc.where(counted, sigma, 1), 0)
      sum, count = sum + mc.sum(w * w):item(), count + mc.sum(counted:to 'f64'):item()
    end)
  end
  if bad > 0 then
    error(('xpcs: %d of the %d values of sigma of %s are not positive and finite; mask such points, or leave out '
      .. 'those that are 0 with zero_sigma_is_mask'):format(bad, n * (n - 1) / 2, self.names[f]), 4)
  end
  local level = 1 / math.sqrt(sum / math.max(count, 1))
  if not (level > 0 and level < math.huge) then level = 1 end
  self.levels[key] = level
  return level
end

--- Mask (bool [n, n], symmetric) of angle f, its standard deviations (f64 [n, n], pairs i < j) and that of the angle;
--- nil for what was not given.
---@param f integer
---@return mc.tensor|nil, mc.tensor|nil, number|nil
function Uncertainty:at(f)
  local all = { 1, self.n }
  local level = self:level(f)
  local mask, sigma = self:rectangle(f, all, all)
  if mask then
    local pairs_ = mc.logical_and(mask, mc.gt(mc.triu(mc.ones { self.n, self.n }, 1), 0))
    mask = mc.logical_or(mc.logical_or(pairs_, pairs_.mT), mc.gt(mc.eye(self.n), 0))
  end
  return mask, sigma, level
end

--- Standard deviations and masks for data of these places; nil when neither is given.
---@param o table sigma, mask: a path, or a tensor [n, n] or [angles, n, n]; zero_sigma_is_mask; mask_frames: ranges
---@param place table count (angles kept), entries (angles of the file), chosen (their numbers), N (frames of the file),
---  first (frame), n (times of the fit), drop (0 or 1), names
---@return mascon.xpcs.Uncertainty|nil
function M.of(o, place)
  local self = setmetatable({ zero_is_mask = o.zero_sigma_is_mask }, Uncertainty)
  for k, v in pairs(place) do self[k] = v end
  for _, what in ipairs { 'sigma', 'mask' } do
    local x = o[what]
    if type(x) == 'string' then x = array_of(what, x) end
    if x ~= nil then
      fits(self, what, x)
      self[what] = x
    end
  end
  if o.mask_frames then self.keep = kept_times(self, o.mask_frames) end
  return (self.sigma or self.mask or self.keep) and self or nil
end

local ASSUMED = 0.01

--- sigma of each angle, and whether it is the assumed one: what a fit is given, else that of the data.
---@param fname string what the messages begin with
---@param given? number|number[]|mc.tensor one number, or one per angle
---@return number[], boolean
function M.of_angles(fname, given, data)
  if given ~= nil and (data.weight or data.weighted) then
    error(fname .. ': sigma is given twice, per point with the data and as an option; give one of them', 4)
  end
  local s, F, list, bad = given, data.F, {}, {}
  if s == nil then s = data.sigma or ASSUMED end
  if mc.is_tensor(s) then s = s:to('f64'):reshape(-1):totable() end
  if type(s) ~= 'number' and type(s) ~= 'table' then
    error(('%s: sigma is %s; give a number, or a list of one per angle'):format(fname, check.show(s)), 4)
  end
  if type(s) == 'table' and #s ~= F then
    error(('%s: sigma has %d number%s and the data have %d angle%s; give one number, or one per angle'):format(fname,
      #s, #s == 1 and '' or 's', F, F == 1 and '' or 's'), 4)
  end
  for f = 1, F do
    local v = type(s) == 'number' and s or s[f]
    list[f] = tonumber(v)
    if not (list[f] and list[f] > 0 and list[f] < math.huge) then bad[#bad + 1] = { f, v } end
  end
  if bad[1] then
    error(('%s: %d of the %d values of sigma are not positive and finite (angle %d: %s); mask points with mask instead')
      :format(fname, #bad, F, bad[1][1], check.show(bad[1][2])), 4)
  end
  return list, given == nil and not data.sigma
end

return M
