-- scaling.lua - contrast and offset: starting values, modes, how free numbers become values per angle.
--
-- Starting values are quantiles of the data. A mode is a matrix: the value of each angle is a sum of free numbers times
-- entries of it. Takes symmetric matrices with a corrected diagonal; fits nothing.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local parameters = require 'workflows.xpcs.model.parameters'
local error = check.error
local M = {}

local function clip(v, p) return math.max(p.min, math.min(p.max, v)) end

--- Masks of the pairs whose lag is at least the 80th, at most the 20th percentile of all lags, of n equally spaced
--- times.
---@return { long: mc.tensor, short: mc.tensor }
function M.lags(n)
  local t = mc.arange(0, n - 1)
  local lag = mc.abs(t:expand_dims(1) - t:expand_dims(2))
  local flat = lag:reshape(-1)
  return { long = mc.ge(lag, mc.quantile(flat, 0.8):item()), short = mc.le(lag, mc.quantile(flat, 0.2):item()) }
end

local function percentile(c, mask, q, all)
  local good = mc.logical_and(mask, mc.isfinite(c))
  local list = c[good]
  if list:numel() < 10 then list = all end
  return mc.quantile(list, q):item()
end

--- Starting contrast and offset of one angle from quantiles over all pairs: the offset from long lags, the contrast
--- from short ones. The middle of the
--- bounds when fewer than 100 points are finite. Biased low where the decay is faster than a fifth of the lags.
---@param c mc.tensor f64 [n, n]
---@param masks? table of lags(n), for many matrices of one size
---@return number contrast, number offset
function M.start(c, masks)
  if masks ~= nil and (type(masks) ~= 'table' or not masks.long) then
    error('xpcs.scaling.start: masks are no table of lags(n); leave them out, or make them with it', 2)
  end
  local C, O = parameters.CONTRAST, parameters.OFFSET
  local all = c[mc.isfinite(c)]
  if all:numel() < 100 then return (C.min + C.max) / 2, (O.min + O.max) / 2 end
  masks = masks or M.lags(c.shape[1])
  local offset = clip(percentile(c, masks.long, 0.1, all), O)
  return clip(percentile(c, masks.short, 0.9, all) - offset, C), offset
end

--- Contrast and offset of every angle to start from: those that reading the data gave, else of M.start.
---@param data mascon.xpcs.Data
---@return number[] contrast, number[] offset
function M.starts(data)
  if data.start_contrast then return data.start_contrast, data.start_offset end
  local contrast, offset, masks = {}, {}, M.lags(data.n)
  for f = 1, data.F do contrast[f], offset[f] = M.start(data:matrix(f), masks) end
  return contrast, offset
end

M.MODES = { 'auto', 'individual', 'constant', 'averaged', 'fourier' }

--- What a mode means for F angles: 'individual', 'constant', 'averaged' or 'fourier', and a note where it is not what
--- was asked for.
---@param mode string
---@param F integer
---@param o table constant_scaling_threshold 3, fourier_order 2
---@return string mode, string|nil note
function M.resolve(mode, F, o)
  local known = false
  for _, name in ipairs(M.MODES) do known = known or mode == name end
  if not known then
    error(('xpcs.scaling.resolve: mode is %s; choose %s'):format(check.show(mode), table.concat(M.MODES, ', ')), 2)
  end
  if mode == 'auto' then return F >= (o.constant_scaling_threshold or 3) and 'averaged' or 'individual' end
  if mode == 'fourier' then
    local need = 2 * (o.fourier_order or 2) + 1
    if F < need then
      return 'individual',
        ('fourier needs at least %d angles for order %d and there are %d; contrast and offset are free per angle')
        :format(need, o.fourier_order or 2, F)
    end
  end
  return mode
end

--- Matrix of a mode, rows per angle: value of angle f = sum_k matrix[f][k] free[k]; nil for 'constant'. And names of
--- the columns.
---@param mode string resolved
---@param phi number[] deg
---@return number[][]|nil matrix, string[] suffixes
function M.matrix(mode, phi, order)
  local rows, names = {}, {}
  if mode == 'constant' then return nil, {} end
  for f, angle in ipairs(phi) do
    local row = {}
    if mode == 'averaged' then row[1] = 1
    elseif mode == 'individual' then
      for k = 1, #phi do row[k] = k == f and 1 or 0 end
    else
      local a = angle * math.pi / 180
      row[1] = 1
      for k = 1, order do row[2 * k], row[2 * k + 1] = math.cos(k * a), math.sin(k * a) end
    end
    rows[f] = row
  end
  if mode == 'averaged' then names = { '' }
  elseif mode == 'individual' then for f = 1, #phi do names[f] = '_' .. f end
  else
    names[1] = '_mean'
    for k = 1, order do names[2 * k], names[2 * k + 1] = '_cos_' .. k, '_sin_' .. k end
  end
  return rows, names
end

--- Free numbers whose values per angle are nearest to given ones, by least squares.
---@param rows number[][]
---@param values number[]
---@return number[]
function M.free(rows, values)
  if #rows[1] == 1 then
    local s = 0
    for _, v in ipairs(values) do s = s + v end
    return { s / #values }
  end
  if #rows[1] == #rows and rows[1][1] == 1 and (#rows == 1 or rows[1][2] == 0) and rows[#rows][1] == (#rows == 1 and 1
    or 0) then
    return { unpack(values) }
  end
  local x = mc.linalg.lstsq(mc.tensor(rows), mc.tensor(values)).x
  return x:reshape(-1):totable()
end

--- Least and largest free numbers of values per angle that lie between two: where the angles are spread unevenly the
--- numbers of a Fourier series reach far beyond the values.
---@param rows number[][]
---@return number[] low, number[] high
function M.reach(rows, least, largest)
  local inverse = mc.linalg.pinv(mc.tensor(rows)):totable()
  local low, high = {}, {}
  for k, row in ipairs(inverse) do
    low[k], high[k] = 0, 0
    for _, v in ipairs(row) do
      low[k] = low[k] + math.min(v * least, v * largest)
      high[k] = high[k] + math.max(v * least, v * largest)
    end
  end
  return low, high
end

--- Values per angle of free numbers.
function M.values(rows, free, first)
  local out = {}
  for f, row in ipairs(rows) do
    local s = 0
    for k = 1, #row do s = s + row[k] * free[first + k - 1] end
    out[f] = s
  end
  return out
end

---@class mascon.xpcs.Regression
local Regression = {}
Regression.__index = Regression

--- Unweighted least squares on [g1^2, 1] over pairs i < j, from rows of matrices.
function M.regression() return setmetatable({ m = 0, g = 0, y = 0, gg = 0, gy = 0 }, Regression) end

--- Takes rows first, first + 1, ... of one angle.
---@param c mc.tensor f64 [rows, n]
---@param g2 mc.tensor g1^2 [rows, n]
---@param first integer
function Regression:add(c, g2, first)
  local i = mc.arange(first, first + c.shape[1] - 1):expand_dims(2)
  local inside = mc.logical_and(mc.gt(mc.arange(1, c.shape[2]):expand_dims(1), i), mc.isfinite(c))
  local y, g = c[inside], g2[inside]
  local m = y:numel()
  if m == 0 then return end
  -- means and deviations of the rows, joined with those before
  local gm, ym = mc.mean(g):item(), mc.mean(y):item()
  local dg, dy = g - gm, y - ym
  local all = self.m + m
  local a, b, w = gm - self.g, ym - self.y, self.m * m / all
  self.gg = self.gg + mc.sum(dg * dg):item() + a * a * w
  self.gy = self.gy + mc.sum(dg * dy):item() + a * b * w
  self.g, self.y, self.m = self.g + a * m / all, self.y + b * m / all, all
end

--- Contrast and offset; 0 and the mean where g1^2 does not vary.
---@return number contrast, number offset
function Regression:line()
  if self.m == 0 then return 0, 0 / 0 end
  if not (self.gg > 1e-24 * self.m) then return 0, self.y end
  local contrast = self.gy / self.gg
  return contrast, self.y - contrast * self.g
end

--- Weights of angles for shear: w_min + (1 - w_min) |cos(phi0 - phi)|^alpha, mean 1 when normalised.
---@param phi number[] deg
---@param o table phi0 deg, alpha 1, min_weight 0.3, normalize true
function M.shear_weights(phi, o)
  local w, sum = {}, 0
  local least, power = o.min_weight or 0.3, o.alpha or 1
  for f, angle in ipairs(phi) do
    w[f] = least + (1 - least) * math.max(math.abs(math.cos((o.phi0 - angle) * math.pi / 180)), 1e-10) ^ power
    sum = sum + w[f]
  end
  if o.normalize ~= false then for f = 1, #w do w[f] = w[f] * #w / sum end end
  return w
end

return M
