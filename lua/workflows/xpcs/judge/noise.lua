-- noise.lua - what residuals tell of the noise: whether pairs of times that share a frame are correlated, as those of
-- speckle are, errors of a fit that hold then, and the scatter of each angle.
--
-- Intensities of speckle have the cumulants of pixels.lua, with g = g1, contrast b and the variance v of counting. With
-- c = b g^2, D = c + v on the diagonal, and for a sum w_ij C2_ij over pairs V = W g (by elements) and m the row sums of
-- W c, the variance is that of normal noise, tr(W D W D) / 2 + m D m, and, of the higher cumulants,
-- 3 / 2 b^3 tr(V g V g) + 2 b^2 v tr(V g V) + v^2 sum(W W c) / 2 - 2 m (b^2 diag(g V g) + v m), over the pixels P:
-- products of n x n matrices. One of three rings of four indices is no such product and is taken as large as the other
-- two (exact for slow decays; errors differ by up to 9 % at contrast 1 and 3 % at 0.25). v and P are found by
-- pixels.lua. That noise is correlated shows in the sums of products of residuals that share a frame: 0 for independent
-- noise. Of more than MOST times every k-th is looked at. Points with standard deviations of their own are
-- weighed by them, and have one v and P in common. Under a robust loss residuals are cut where only outliers are, and
-- the covariance is that of the linear loss at the same point: what correlated noise adds to the sums is the same to
-- first order, since psi(r) follows r.
--
-- Source: Isserlis, On a formula for the product-moment coefficient of any order of a normal frequency distribution,
-- 1918; Huber, Robust statistics, 1981, section 7.6.
local mc = require 'mascon'
local covariance = require 'workflows.xpcs.judge.covariance'
local model = require 'workflows.xpcs.model.model'
local numbers = require 'workflows.xpcs.model.numbers'
local pattern = require 'workflows.xpcs.judge.pattern'
local pixels = require 'workflows.xpcs.judge.pixels'
local M = {}

local MOST, LEAST = 160, 8 -- times
local CERTAIN, POSSIBLE = 5, 2 -- standard deviations, under independent noise
local UNEQUAL = 1.2 -- ratio of scatters that matters
local LIGHT = 0.2 -- weight of a point, over the root mean square, below which it is left out
local FAINT = 1e-3 -- least contrast
local RINGS = 1.5 -- three rings of four intensities, each 2 / 4: two are equal, the third is taken as their like
local CUT = 4 * 1.4826 -- median sizes of residuals, beyond which there are outliers

local FAR = 10 -- reduced chi2 from which on sigma alone is no reason
M.MISFIT = 3 -- reduced chi2 from which on residuals are those of the model
M.BY = 'normal matrix and correlated residuals' -- what the covariance of an own model is made of

---@class mascon.xpcs.Fitted what residuals are looked at for: the end of a fit of one data set
---@field data mascon.xpcs.Data
---@field loss string
---@field sigma number[] per angle
---@field given_sigma number[] the same before the shear weighs them
---@field contrast number[] per angle
---@field offset number[] per angle
---@field curve fun(f: integer, k: integer): mc.tensor, mc.tensor[] g1^2 [m, m] of every k-th time of angle f, and its
---  derivatives
---@field mix fun(f: integer): number[][] rows per free number: what it moves contrast, offset and those derivatives by

--- What noise.of takes of a point of a problem.
---@param p mascon.xpcs.Problem
---@param point table
---@return mascon.xpcs.Fitted
function M.fitted(p, point)
  local contrast, offset, physics = p:split(p:full(point.x))
  local about = { physics = physics, kd = p.kd, ks = p.ks, t = p.t }
  return { data = p.data, loss = p.loss, sigma = p.sigma, given_sigma = p.given_sigma, contrast = contrast,
    offset = offset, smooth = p.legacy_abs,
    curve = function(f, k)
      about.step = k
      local g1, columns = model.g1(about, p.data.phi[f], true)
      return g1 * g1, columns
    end,
    mix = function(f) return covariance.mix(p, f) end }
end

--- Weights of points over their root mean square, and that; 1 where the points of an angle share one.
local function weights(there, spread)
  if not spread then return 1, 1, there end
  there = mc.logical_and(there, mc.isfinite(spread))
  local u = mc.where(there, 1 / mc.where(there, spread, 1), 0)
  local rms = math.sqrt(mc.sum(u * u):item() / math.max(mc.sum(there):item(), 1))
  u = u / math.max(rms, 1e-300)
  there = mc.logical_and(there, mc.ge(u, LIGHT))
  return mc.where(there, u, 1), rms, there
end

--- What is looked at of every k-th time of an angle: x, residuals over sigma times u, symmetric, 0 on the diagonal and
--- where points are masked; there; g2, columns; w, 1 / sigma; u, weights over their root mean square.
local function residuals(v, contrast, offset, f, k)
  local y, spread = v.data:thin(f, k)
  local u, rms, there = weights(mc.logical_and(mc.isfinite(y), mc.eq(mc.eye(y.shape[1]), 0)), spread)
  local g2, columns = v.curve(f, k)
  local w = rms / v.sigma[f]
  local x = mc.where(there, (mc.where(there, y, 0) - g2 * contrast - offset) * u * w, 0)
  if v.loss ~= 'linear' and mc.any(there) then
    local most = CUT * mc.median(mc.abs(x[there])):item()
    x = mc.maximum(mc.minimum(x, most), -most)
  end
  return { x = x, there = there:to 'f64', g2 = g2, columns = columns, w = w, u = u }
end

--- Contrast and offset of each angle with which residuals are made: the best ones where `lines` says them.
---@param v mascon.xpcs.Fitted
---@param lines? table of contrasts.judge
---@return number[], number[]
local function scaling_of(v, lines)
  local contrast, offset = { unpack(v.contrast) }, { unpack(v.offset) }
  for _, one in ipairs(lines and lines.list or {}) do
    contrast[one.angle], offset[one.angle] = one.held_contrast, one.held_offset
  end
  return contrast, offset
end

--- Sums of an angle: of squares, of products that share a frame, and counts.
local function sums_of(x, there)
  local rows, count = mc.sum(x, 2), mc.sum(there, 2)
  local squares = mc.sum(x * x):item()
  local n = x.shape[1]
  local here, beside = { mc.all, { 1, n - 1 } }, { mc.all, { 2, n } }
  local both = there[here] * there[beside]
  return { squares = squares, products = mc.sum(rows * rows):item() - squares, count = mc.sum(there):item(),
    chances = mc.sum(count * (count - 1)):item() / 2, along = mc.sum(x[here] * x[beside] * both):item(),
    apart = mc.sum((x[here] * x[here] + x[beside] * x[beside]) * both):item() / 2 }
end

--- The spread of the sums of columns times residuals of an angle, [2 + P, 2 + P].
---@param a table of residuals
---@param counting number variance of intensities beside that of speckle
---@param count number pixels, of residuals over sigma
---@param scale number contrast of the fit, as its derivatives have it
local function spread_of(a, contrast, counting, count, k, scale)
  local there, columns, w = a.there, a.columns, a.w
  local list = { a.g2 * w, there * w }
  for i = 1, #columns do list[2 + i] = columns[i] * (scale * w) end
  local m, v = there.shape[1], counting / k
  local eye, c, g = mc.eye(m), a.g2 * contrast, mc.sqrt(a.g2)
  -- blocks of k x k pairs, of which those on the diagonal hold k (k - 1)
  local inside = there * a.u * a.u * k ^ 2 + eye * (k * (k - 1))
  for i = 1, #list do list[i] = list[i] * inside end
  local W = mc.stack(list, 1)
  local A = #list
  local function flat(x) return x:reshape(A, m * m) end
  local rows, own = mc.sum(W * c, 3), W * c
  c = c + eye * v
  local Wc, V = mc.matmul(W, c), W * g
  local Vg = mc.matmul(V, g)
  local S = mc.matmul(flat(Wc), flat(Wc.mT:contiguous()).mT) * 0.5 + mc.matmul(mc.matmul(rows, c), rows.mT)
  -- the cumulants beyond the second
  S = S + mc.matmul(flat(Vg), flat(Vg.mT:contiguous()).mT) * (RINGS * contrast ^ 3)
    + mc.matmul(flat(Vg), flat(V).mT) * (2 * contrast ^ 2 * v) + mc.matmul(flat(own), flat(W).mT) * (v ^ 2 / 2)
  local taken = mc.matmul(mc.sum(Vg * g, 2) * contrast ^ 2 + rows * v, rows.mT)
  return ((S - taken - taken.mT) * (1 / count)):totable()
end

--- By how much the spread S of the sums of contrast and offset exceeds that of independent noise of variance s2.
---@param a table of residuals
local function excess(S, a, s2, k)
  local g2, there, half = a.g2, a.there * a.u * a.u, 0.5 * k ^ 2 * a.w * a.w
  local cc, co, oo = mc.sum(g2 * g2 * there):item() * half, mc.sum(g2 * there):item() * half,
    mc.sum(there):item() * half
  local det = cc * oo - co * co
  if not (det > 1e-9 * cc * oo) then return 1 end
  return (oo * S[1][1] - 2 * co * S[1][2] + cc * S[2][2]) / det / 2 / s2
end

--- The inverse of a normal matrix without the combinations that are not determined.
---@param spectrum table of covariance.of
---@return number[][]
function M.within(spectrum)
  local s, out = spectrum, {}
  local n = #s.values
  for i = 1, n do
    out[i] = {}
    for j = 1, n do
      local sum = 0
      for k = 1, n do
        if s.values[k] >= s.values[n] / covariance.LIMIT then
          sum = sum + s.vectors[k][i] * s.vectors[k][j] / s.values[k]
        end
      end
      out[i][j] = s.norms[i] > 0 and s.norms[j] > 0 and sum / (s.norms[i] * s.norms[j]) or 0
    end
  end
  return out
end

--- What the sums over all angles say, and those of each.
local function scattered(v, contrast, offset, k)
  local F = v.data.F
  local each, all = {}, { squares = 0, products = 0, count = 0, chances = 0, along = 0, apart = 0 }
  local common
  for f = 1, F do
    each[f] = mc.scope(function()
      local a = residuals(v, contrast[f], offset[f], f, k)
      if f == 1 then
        common = pattern.new(v.data.phi, a.x.shape[1])
        if common then mc.keep(common.cell) end
      end
      if common then common:add(f, a.x, a.there) end
      return sums_of(a.x, a.there)
    end)
    for key, sum in pairs(each[f]) do all[key] = all[key] + sum end
  end
  if not (all.squares > 0) then return nil end
  local out = { scatter = {}, z = all.products * all.count / (2 * all.squares * math.sqrt(math.max(all.chances, 1))) }
  for f = 1, F do out.scatter[f] = math.sqrt(each[f].squares / math.max(each[f].count, 1)) end
  out.pattern = common and common:judge(k)
  if common then common.cell:release() end
  out.common = all.apart > 0 and all.along / all.apart or 0
  out.level, out.count = all.squares / math.max(all.count, 1), all.count
  return out, each
end

--- Whether the angles scatter by different amounts.
---@param out table of scattered
---@param each table[] sums of each angle
---@param variance? number[] of chi2 of each angle, over its square, where noise is correlated
local function unequal(v, out, each, variance)
  local low, high
  local function size(f) return out.scatter[f] * v.sigma[f] / v.given_sigma[f] end -- the shear may weigh on purpose
  for f = 1, #out.scatter do
    if not low or size(f) < size(low) then low = f end
    if not high or size(f) > size(high) then high = f end
  end
  -- the logarithm of a scatter has half the relative error of chi2; half of the count are pairs
  local function own(f) return variance and variance[f] or 4 / math.max(each[f].count, 1) end
  return size(high) > UNEQUAL * size(low)
    and math.log(size(high) / size(low)) > CERTAIN * math.sqrt(own(low) + own(high)) / 2
end

--- Adds the matrix b to a, both n x n; a may be nil.
local function added(a, b)
  for i, row in ipairs(b) do
    if not a then return b end
    for j, value in ipairs(row) do a[i][j] = a[i][j] + value end
  end
  return a
end

--- The columns of C2 of an angle that a fit moves it by: contrast, offset, and those free numbers that move g1.
---@param a table of residuals
---@return mc.tensor [2 + P, m, m]
local function moved_by(v, a, contrast, f)
  local list = { a.g2, mc.ones(a.g2.shape) }
  for _, row in ipairs(v.mix(f)) do
    local sum
    for c, column in ipairs(a.columns) do
      if row[2 + c] ~= 0 then sum = (sum or 0) + column * (row[2 + c] * contrast) end
    end
    list[#list + 1] = sum
  end
  return mc.stack(list, 1)
end

--- The variance of chi2 of an angle, times P^2: |c|^4 + |c c|^2 of a thinned matrix, whose residuals stand for k^2.
local function spread_of_chi2(a, contrast, counting, k)
  local c = a.g2 * contrast + mc.eye(a.g2.shape[1]) * (counting / k)
  return k ^ 4 * (mc.sum(c * c):item() ^ 2 + mc.sum(mc.square(mc.matmul(c, c))):item())
end

--- The noise of counting and the pixels of each angle, of C2 itself.
local function pixels_of(v, contrast, offset, k)
  return pixels.of(v.data.F, function(f)
    local a = residuals(v, contrast[f], offset[f], f, k)
    return { x = a.x / (a.u * a.w), there = a.there, g2 = a.g2, contrast = math.max(contrast[f], FAINT),
      columns = moved_by(v, a, contrast[f], f) }
  end)
end

--- What residuals of a fit tell.
---@param v mascon.xpcs.Fitted
---@param lines? table of contrasts.judge: residuals are those of the best contrast (0 to 1) and offset of each angle
---@return table|nil z: of the products, in standard deviations of independent noise; certain: the same with what the
---  likelihood of pixels.lua gains over that of independent noise; correlated; level: mean square
---  of residuals over sigma; spread: of the gradient of chi2 / 2, of the linear loss, by the free numbers, number[][];
---  chi2_sd: standard deviation of chi2; lines: by how much chi2 falls more for a contrast and an offset of each angle
---  than under independent noise; scatter: of each angle in units of its sigma; unequal; pattern: of pattern.lua;
---  common: what neighbours along the lag have in common, as a share of the square of residuals (0 of independent
---  noise); where correlated, counting: variance of intensities beside that of speckle,
---  over the square of their mean; pixels of each angle
function M.of(v, lines)
  local data = v.data
  if data.n < LEAST or v.smooth then return nil end
  local contrast, offset = scaling_of(v, lines)
  local F, k = data.F, math.ceil(data.n / MOST)
  local out, each = scattered(v, contrast, offset, k)
  if not out then return nil end
  local counting, count, gain
  if out.z > POSSIBLE then
    counting, count, gain = mc.scope(function() return pixels_of(v, contrast, offset, k) end)
  end
  out.certain = math.sqrt(math.max(out.z, 0) ^ 2 + (gain or 0))
  out.correlated = out.certain > CERTAIN
  if not out.correlated or not counting then
    out.unequal = unequal(v, out, each)
    return out
  end
  out.counting, out.pixels = counting, count
  local variance, shares = 0, {}
  for f = 1, F do
    local part = each[f].squares > 0 and mc.scope(function()
      local a = residuals(v, contrast[f], offset[f], f, k)
      local own, seen = math.max(contrast[f], FAINT), count[f] / a.w ^ 2
      local one = spread_of_chi2(a, own, counting, k) / seen ^ 2
      variance, shares[f] = variance + one, one / (each[f].squares * k ^ 2 / 2) ^ 2
      local mix = mc.tensor(v.mix(f))
      local spread = spread_of(a, own, counting, seen, k, v.contrast[f])
      out.lines = (out.lines or 0) + math.max(1, excess(spread, a, each[f].squares / each[f].count, k)) / F
      return mc.matmul(mc.matmul(mix, mc.tensor(spread)), mix.mT):totable()
    end)
    if part then out.spread = added(out.spread, part) end
  end
  out.chi2_sd = math.sqrt(variance)
  out.unequal = unequal(v, out, each, shares)
  return out
end

--- The same where the errors of a fit can take it: not where it is far from the data within the sigma that was given,
--- which leaves residuals of the model. What chance gives for contrasts of the angles becomes that of this noise, also
--- where sigma is too small by up to the root of FAR.
---@param v mascon.xpcs.Fitted
---@param lines? table of contrasts.judge
---@param tested number|nil reduced chi2, where it tests the fit
---@return table|nil as M.of
function M.judge(v, lines, tested)
  local out, far = M.of(v, lines), tested and tested >= FAR
  if out and tested and v.loss ~= 'linear' then tested = out.level end
  if lines and out and out.lines and not far then
    lines.chance = lines.chance * out.lines
    lines.improbable = lines.gain > lines.chance
  end
  if out and tested and tested >= M.MISFIT then out.spread, out.lines, out.chi2_sd = nil, nil, nil end
  return out
end

--- Covariance under correlated noise, H^-1 S H^-1. What is not determined stays so.
---@param spread number[][] S
---@param inverse number[][] H^-1, 0 for what is not determined (M.within)
---@param plain number[][] covariance under independent noise
---@return number[][] covariance, number[] rise: of each variance over that of independent noise, number factor: the
---  root of the largest
function M.covariance(spread, inverse, plain)
  local n, rise, most = #plain, {}, 0
  local cov = mc.scope(function()
    local C = mc.tensor(inverse)
    return mc.matmul(mc.matmul(C, mc.tensor(spread)), C):totable()
  end)
  for i = 1, n do
    for j = 1, n do if plain[i][j] ~= plain[i][j] then cov[i][j] = 0 / 0 end end
    rise[i] = 1
    if plain[i][i] == math.huge then cov[i][i] = math.huge
    else
      rise[i] = cov[i][i] / plain[i][i]
      most = math.max(most, rise[i])
    end
  end
  return cov, rise, math.sqrt(most)
end

local text = numbers.number

--- By how much the standard deviations of a posterior, which takes the noise as independent, are too small beside the
--- errors of the fit.
---@param r table result of fit
---@return table<string, number>|nil factors by name, empty where they are not known; nil: noise is not correlated
---@return string|nil sentence
function M.too_narrow(r)
  local a = r.noise
  if not a or not a.correlated then return nil end
  local factors, list = {}, {}
  for k, name in ipairs(a.factor and r.names or {}) do
    if r.errors[name] < math.huge then
      local factor = math.sqrt(r.spectrum.rise[k])
      if factor > 1.05 then
        factors[name] = factor
        list[#list + 1] = ('%s %s'):format(name, text(factor, 2))
      end
    end
  end
  return factors, 'residuals of pairs that share a frame are correlated, and the posterior takes the noise as '
    .. 'independent: its sd and intervals are too narrow' .. (list[1] and ', by these factors beside the standard '
    .. 'errors of the fit: ' .. table.concat(list, ', ') .. '; take the errors and profiles of the fit' or '')
end

--- What it means, in sentences.
---@param r table result with noise
---@return string[]
function M.sentences(r)
  local a, out = r.noise, {}
  if a and a.correlated then
    out[1] = ('Residuals of pairs that share a frame are correlated (by %.0f standard deviations of independent '
      .. 'noise), as those of speckle are, or of what the model misses. '):format(a.certain) .. (a.factor
      and ('Standard errors are those of correlated noise, %s.'):format(a.factor <= 1.05
        and 'which are no larger here than those of independent noise'
        or ('up to %s times those of independent noise%s'):format(text(a.factor, 2), r.joint or r.mode == 'own model'
        and '' or '; a posterior takes it as independent, and its intervals are too narrow by as much'))
      or 'Standard errors take them as independent and are too small.')
  end
  if a and a.unequal then
    local list = {}
    local low, high = math.huge, 0
    for f, s in ipairs(a.scatter) do
      s = s * r.sigma[f]
      list[f], low, high = text(s, 3), math.min(low, s), math.max(high, s)
    end
    local same = high <= UNEQUAL * low -- it is the sigmas that were given that differ
    out[#out + 1] = ('%s: values and errors are worse than they need to be; give each angle its own ({sigma %s}).')
      :format(same and 'The angles have a different sigma each and scatter alike, by ' .. text(low)
      .. (text(low) ~= text(high) and ' to ' .. text(high) or '')
      or ('The angles scatter by different amounts, %s to %s, and the sigma of the fit does not'):format(text(low),
      text(high)), table.concat(list, ','))
  end
  return out
end

return M
