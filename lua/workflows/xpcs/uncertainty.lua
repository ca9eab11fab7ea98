-- uncertainty.lua - standard deviations and masks per point, from files or tensors, as the data of a fit need them.
--
-- A file holds one matrix for all angles or one per angle, over the frames of the data file or over those that are
-- kept. Standard deviations of the two triangles are folded into one: their weights are averaged. Takes tensors and
-- places; knows no layout of a beamline.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

local NAMES = { sigma = { 'sigma', 'c2_sigma', 'c2_std', 'sigma_c2' }, mask = { 'mask', 'c2_mask', 'valid' } }

--- The array of a file: PATH, or PATH:NAME for one of several arrays.
local function array_of(what, path)
  local name
  if not mc.file.exists(path) then
    local file, inner = path:match '^(.*%.%w+):(.+)$'
    if file then path, name = file, inner end
  end
  local ext = (path:match '%.(%w+)$' or ''):lower()
  if ext == 'npy' then return mc.load(path) end
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
  local x = all:get(found)
  all:close()
  return x
end

---@class mascon.xpcs.Uncertainty
local Uncertainty = {}
Uncertainty.__index = Uncertainty

--- A matrix of one angle over the times of the fit.
local function cut(self, x, f)
  if x.ndim == 3 then x = x[x.shape[1] == self.count and f or self.chosen[f]] end
  local n, drop, m = self.n, self.drop, x.shape[1]
  local from = m == self.N and self.first + drop or m == n + drop and 1 + drop or 1
  return x[{ { from, from + n - 1 }, { from, from + n - 1 } }]:contiguous()
end

--- Raises unless an array fits the angles and times.
local function fits(self, what, x)
  if not mc.is_tensor(x) then error(('xpcs: %s is %s; give numbers'):format(what, check.show(x)), 5) end
  local m, A = x.shape[x.ndim], x.ndim == 3 and x.shape[1]
  local good = (x.ndim == 2 or x.ndim == 3) and x.shape[x.ndim - 1] == m
    and (m == self.N or m == self.n + self.drop or m == self.n)
    and (not A or A == self.count or A == self.entries)
  if not good then
    error(('xpcs: %s is %s; give [%d, %d] for all angles or [%d, %d, %d], over the frames of the file (%d) or '
      .. 'those that are kept (%d)'):format(what, tostring(x.shape), self.n, self.n, self.count, self.n, self.n, self.N,
      self.n + self.drop), 5)
  end
end

--- One triangle out of two: the mean of the weights of both; a triangle that is 0 counts for nothing.
local function folded(self, s, good)
  local upper, lower = mc.triu(s, 1), mc.tril(s, -1).mT
  if not mc.any(mc.ne(lower, 0)) then return upper + upper.mT end
  if not mc.any(mc.ne(upper, 0)) then return lower + lower.mT end
  local apart = mc.logical_and(mc.ne(upper, lower), good)
  if mc.any(apart) then
    self.uneven = true
    local w = mc.sqrt((mc.square(1 / upper) + mc.square(1 / lower)) * 0.5)
    s = mc.where(mc.eq(upper, lower), upper, 1 / w)
    s = mc.triu(s, 1)
    return s + s.mT
  end
  return s
end

--- Mask (bool [n, n], true where a point counts) and standard deviations (f64 [n, n]) of angle f; nil for what was not
--- given.
---@param f integer
function Uncertainty:at(f)
  local n = self.n
  local mask, sigma
  local inside = mc.gt(mc.triu(mc.ones { n, n }, 1), 0)
  if self.mask then
    mask = mc.ne(cut(self, self.mask, f):to 'f64', 0)
    mask = mc.logical_and(mask, mask.mT) -- a point counts when neither triangle excludes it
  end
  if self.sigma then
    local s = cut(self, self.sigma, f):to 'f64'
    sigma = folded(self, s, inside)
    local wrong = mc.logical_not(mc.logical_and(mc.isfinite(sigma), mc.gt(sigma, 0)))
    if mask then wrong = mc.logical_and(wrong, mask) end
    if self.zero_is_mask then
      local zero = mc.eq(sigma, 0)
      mask = mask and mc.logical_and(mask, mc.logical_not(zero)) or mc.logical_not(zero)
      wrong = mc.logical_and(wrong, mask)
    end
    local bad = mc.sum(mc.logical_and(wrong, inside):to 'f64'):item()
    if bad > 0 then
      error(('xpcs: %d of the %d values of sigma of %s are not positive and finite; mask such points, or leave out '
        .. 'those that are 0 with zero_sigma_is_mask'):format(bad, n * (n - 1) / 2, self.names[f]), 4)
    end
  end
  return mask, sigma
end

--- Standard deviations and masks for data of these places; nil when neither is given.
---@param o table sigma, mask: a path, or a tensor [n, n] or [angles, n, n]; zero_sigma_is_mask
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
  return (self.sigma or self.mask) and self or nil
end

--- Raises for values of sigma and mask that have no form of a file or an array: those of a configuration.
function M.check(what, v)
  if v == nil or type(v) == 'string' or mc.is_tensor(v) then return end
  error(('xpcs: %s is %s; give the name of a file or a tensor'):format(what, check.show(v)), 3)
end

return M
