-- noise.lua - what residuals tell of the noise: whether pairs of times that share a frame are correlated, as those of
-- speckle are, errors of a fit that hold then, and the scatter of each angle.
--
-- With u the deviation of a pixel's intensity from its mean, C2 - 1 is the mean of u_i u_j over the pixels, less what
-- the division by the mean intensities takes. For normal u of covariance c (contrast g1^2, and d on the diagonal, which
-- holds the noise of counting), a sum w_ij C2_ij over pairs has the variance (tr(W c W c) / 2 + m c m) / P, m the row
-- sums of W c_ij over i other than j: products of n x n matrices. Residuals give d and the number of pixels P of each
-- angle: by their squares and by the sums of the products of those that share a frame, which are 0 for independent
-- noise. Of more than MOST times every k-th is looked at. Points with standard deviations of their own are weighed by
-- them, and have one d and P in common. Under a robust loss residuals are cut where only outliers are, and the
-- covariance is that of the linear loss at the same point: what correlated noise adds to the sums is the same to first
-- order, since psi(r) follows r.
--
-- Source: Isserlis, On a formula for the product-moment coefficient of any order of a normal frequency distribution,
-- 1918; Huber, Robust statistics, 1981, section 7.6.
local mc = require 'mascon'
local covariance = require 'workflows.xpcs.covariance'
local model = require 'workflows.xpcs.model'
local vectors = require 'mascon.optim.fit.least_squares.vectors'
local M = {}

local MOST, LEAST = 160, 8 -- times
local CERTAIN = 5 -- standard deviations, under independent noise
local UNEQUAL = 1.2 -- ratio of scatters that matters
local LIGHT = 0.2 -- weight of a point, over the root mean square, below which it is left out
local FEW, HALVINGS = 64, 16 -- times that tell the diagonal, and steps to it
local CUT = 4 * 1.4826 -- median sizes of residuals, beyond which there are outliers

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
--- where points are masked; there; c, contrast g1^2; g2, columns; w, 1 / sigma; u, weights over their root mean square.
local function residuals(v, contrast, offset, f, k)
  local y, spread = v.data:thin(f, k)
  local u, rms, there = weights(mc.logical_and(mc.isfinite(y), mc.eq(mc.eye(y.shape[1]), 0)), spread)
  local g2, columns = v.curve(f, k)
  local w = rms / v.sigma[f]
  local c = mc.where(there, g2 * contrast, 0)
  local x = mc.where(there, (mc.where(there, y, 0) - g2 * contrast - offset) * u * w, 0)
  if v.loss ~= 'linear' and mc.any(there) then
    local most = CUT * mc.median(mc.abs(x[there])):item()
    x = mc.maximum(mc.minimum(x, most), -most)
  end
  return { x = x, there = there:to 'f64', c = c, g2 = g2, columns = columns, w = w, u = u }
end

--- Sums of an angle: of squares, of products that share a frame, what these are expected to be, and counts.
local function sums_of(x, there, c)
  local rows = mc.sum(x, 2)
  local squares = mc.sum(x * x):item()
  local row_c, count = mc.sum(c, 2), mc.sum(there, 2)
  return { squares = squares, products = mc.sum(rows * rows):item() - squares, count = mc.sum(there):item(),
    shared = mc.sum(mc.matmul(there, c) * there):item(),
    rest = mc.sum(row_c * row_c):item() - mc.sum(c * c):item(), own = mc.sum(c * c):item(),
    chances = mc.sum(count * (count - 1)):item() / 2 }
end

--- The spread of the sums of columns times residuals of an angle, [2 + P, 2 + P].
---@param a table of residuals
local function spread_of(a, contrast, d, pixels, k)
  local there, c, columns, w = a.there, a.c, a.columns, a.w
  local list = { a.g2 * w, there * w }
  for i = 1, #columns do list[2 + i] = columns[i] * (contrast * w) end
  local m, eye = c.shape[1], mc.eye(c.shape[1])
  -- blocks of k x k pairs, of which those on the diagonal hold k (k - 1)
  local inside = there * a.u * a.u * k ^ 2 + eye * (k * (k - 1))
  for i = 1, #list do list[i] = list[i] * inside end
  local W = mc.stack(list, 1)
  local rows = mc.sum(W * (c + eye * contrast), 3)
  c = c + eye * ((d + (k - 1) * contrast) / k)
  local Wc = mc.matmul(W, c)
  local A = #list
  local trace = mc.matmul(Wc:reshape(A, m * m), Wc.mT:contiguous():reshape(A, m * m).mT)
  return ((trace * 0.5 + mc.matmul(mc.matmul(rows, c), rows.mT)) * (1 / pixels)):totable()
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

--- The sums over all angles, those of each, and what the scatters of the angles say.
local function scattered(v, contrast, offset, k)
  local F = v.data.F
  local each, all = {}, { squares = 0, products = 0, count = 0, shared = 0, rest = 0, own = 0, chances = 0 }
  for f = 1, F do
    each[f] = mc.scope(function()
      local a = residuals(v, contrast[f], offset[f], f, k)
      local sums = sums_of(a.x, a.there, a.c)
      if type(a.u) ~= 'number' then sums.plain = sums_of(a.x / a.u, a.there, a.c) end
      return sums
    end)
    for key, sum in pairs(each[f]) do if key ~= 'plain' then all[key] = all[key] + sum end end
  end
  if not (all.squares > 0) then return nil end
  local out = { scatter = {}, z = all.products * all.count / (2 * all.squares * math.sqrt(math.max(all.chances, 1))) }
  local least, most = math.huge, 0
  for f = 1, F do
    local s = math.sqrt(each[f].squares / math.max(each[f].count, 1))
    out.scatter[f] = s
    s = s * v.sigma[f] / v.given_sigma[f] -- the shear may weigh angles otherwise, on purpose
    least, most = math.min(least, s), math.max(most, s)
  end
  out.correlated, out.level = out.z > CERTAIN, all.squares / math.max(all.count, 1)
  -- half of the count are pairs: the logarithm of a scatter has the error 1 / sqrt(2 pairs)
  out.unequal = most > UNEQUAL * least
    and math.log(most / least) > CERTAIN * math.sqrt(2 * F / math.max(all.count, 1)) * (out.correlated and 3 or 1)
  return out, each
end

--- Adds the matrix b to a, both n x n; a may be nil.
local function added(a, b)
  for i, row in ipairs(b) do
    if not a then return b end
    for j, value in ipairs(row) do a[i][j] = a[i][j] + value end
  end
  return a
end

--- The columns of an angle that a fit moves it by, over sigma: contrast, offset, and those free numbers that move g1.
---@param a table of residuals
---@return mc.tensor [2 + P, m, m]
local function moved_by(v, a, contrast, f)
  local list = { a.g2 * a.there * a.w, a.there * a.w }
  for _, row in ipairs(v.mix(f)) do
    local sum
    for c, column in ipairs(a.columns) do
      if row[2 + c] ~= 0 then sum = (sum or 0) + column * (row[2 + c] * contrast * a.w) end
    end
    if sum then list[#list + 1] = sum * a.there end
  end
  return mc.stack(list, 1)
end

--- The squares that the noise of an angle has, times P.
local function squares_of(a, d) return mc.sum(a.there * (a.c * a.c * (2 * d + 1 + a.c * 2) + d * d)):item() end

--- The variance of chi2 of an angle, times P^2: |c|^4 + |c c|^2 of a thinned matrix, whose residuals stand for k^2.
local function spread_of_chi2(a, contrast, d, k)
  local c = a.c + mc.eye(a.c.shape[1]) * ((d + (k - 1) * contrast) / k)
  return k ^ 4 * (mc.sum(c * c):item() ^ 2 + mc.sum(mc.square(mc.matmul(c, c))):item())
end

--- Of an angle, for the diagonal d, times P: squares and products that the noise has, and what a fit takes off them is
--- made of: H = J^T J, S the spread of J^T x, and with R the sums over a frame, G = (R J)^T (R J), B that of R J with
--- the covariance of R x and J^T x.
---@param a table of residuals
---@param J mc.tensor of moved_by
local function expected(a, J, d)
  local A, m, C, T = J.shape[1], J.shape[2], a.c, a.there
  local W, c = J * a.u * a.u, C + mc.eye(J.shape[2]) * d
  local Wc, rows, R, each = mc.matmul(W, c), mc.sum(W * C, 3), mc.sum(J, 3), mc.sum(C, 2)
  local rc, flat, cC = mc.matmul(rows, c), Wc:reshape(A, m * m), mc.matmul(c, C.mT)
  local with_rows = mc.sum(mc.matmul(c, Wc) * T, 3) + mc.matmul(rc, C.mT) + rc * each
  local squares = squares_of(a, d)
  local sums = mc.sum(mc.matmul(T, c) * T, 2) * d + each * each * (1 + d) + mc.diagonal(mc.matmul(C, cC))
    + mc.diagonal(cC) * each * 2
  return { squares = squares, products = mc.sum(sums):item() - squares,
    H = (mc.matmul(W:reshape(A, m * m), J:reshape(A, m * m).mT) * 0.5):totable(),
    S = (mc.matmul(flat, Wc.mT:contiguous():reshape(A, m * m).mT) * 0.5 + mc.matmul(rc, rows.mT)):totable(),
    B = mc.matmul(R, with_rows.mT):totable(), G = mc.matmul(R, R.mT):totable() }
end

--- The ratio of products to squares that residuals of a fit have for a diagonal, and the share of the squares that the
--- fit leaves: residuals are x - J H^-1 J^T x. Every angle has contrast and offset of its own, the others are common.
---@param list table[] of angles: { a, J, contrast }
---@return number ratio, number share
local function left_by(list, d)
  local F, sums, squares, products = #list, { H = {}, S = {}, B = {}, G = {} }, 0, 0
  for f, one in ipairs(list) do
    local part = mc.scope(function() return expected(one.a, one.J, math.max(d, one.contrast)) end)
    squares, products = squares + part.squares, products + part.products
    local N = 2 * F + #part.H - 2
    local function place(i) return i <= 2 and 2 * (f - 1) + i or 2 * F + i - 2 end
    for key, to in pairs(sums) do
      for i = 1, f == 1 and N or 0 do to[i] = vectors.filled(N, 0) end
      for i, row in ipairs(part[key]) do
        for j, value in ipairs(row) do to[place(i)][place(j)] = to[place(i)][place(j)] + value end
      end
    end
  end
  return mc.scope(function()
    local H, S = mc.linalg.pinv(mc.tensor(sums.H)), mc.tensor(sums.S)
    local off = 2 * mc.sum(H * S):item()
    local off_products = 2 * mc.sum(H * mc.tensor(sums.B)):item()
      - mc.sum(mc.tensor(sums.G) * mc.matmul(mc.matmul(H, S), H)):item() - off
    return (products - off_products) / math.max(squares - off, 1e-300), 1 - off / squares
  end)
end

--- The deviation d of the diagonal for which residuals of a fit have the ratio of products to squares that is seen, and
--- the share of the squares that the fit leaves. The ratio falls with d, which is the contrast at least.
local function diagonal_of(v, contrast, offset)
  local list, k = {}, math.ceil(v.data.n / FEW)
  local squares, products, low = 0, 0, math.huge
  for f = 1, v.data.F do
    local a = residuals(v, contrast[f], offset[f], f, k)
    local sums = sums_of(a.x / a.u, a.there, a.c)
    if sums.squares > 0 then
      squares, products, low = squares + sums.squares, products + sums.products, math.min(low, contrast[f])
      list[#list + 1] = { a = a, J = moved_by(v, a, contrast[f], f), contrast = contrast[f] }
    end
  end
  low = math.max(low, 1e-3)
  local high, ratio = 1e3 * low, products / squares
  local d, share = low, nil
  for _ = 1, HALVINGS do
    local seen
    seen, share = left_by(list, d)
    if seen > ratio then low = d else high = d end
    if d == low and seen <= ratio then break end -- no less than the contrast
    d = math.sqrt(low * high)
  end
  return d, share
end

--- What residuals of a fit tell.
---@param v mascon.xpcs.Fitted
---@param lines? table of contrasts.judge: residuals are those of the best contrast and offset of each angle
---@return table|nil z: of the products, in standard deviations of independent noise; correlated; level: mean square
---  of residuals over sigma; spread: of the gradient of chi2 / 2, of the linear loss, by the free numbers, number[][];
---  chi2_sd: standard deviation of chi2; lines: by how much chi2 falls more for a contrast and an offset of each angle
---  than under independent noise; scatter: of each angle in units of its sigma; unequal
function M.of(v, lines)
  local data = v.data
  if data.n < LEAST or v.smooth then return nil end
  local contrast, offset = { unpack(v.contrast) }, { unpack(v.offset) }
  for _, one in ipairs(lines and lines.list or {}) do
    contrast[one.angle], offset[one.angle] = one.best_contrast, one.best_offset
  end
  local F, k = data.F, math.ceil(data.n / MOST)
  local out, each = scattered(v, contrast, offset, k)
  if not out or not out.correlated then return out end
  local d, share = mc.scope(function() return diagonal_of(v, contrast, offset) end)
  local variance = 0
  for f = 1, F do
    local s = each[f].plain or each[f]
    local part = s.squares > 0 and mc.scope(function()
      local a = residuals(v, contrast[f], offset[f], f, k)
      local own_d = math.max(d, contrast[f])
      local pixels = share * squares_of(a, own_d) / s.squares -- of residuals over sigma
      variance = variance + spread_of_chi2(a, contrast[f], own_d, k) / pixels ^ 2
      local mix = mc.tensor(v.mix(f))
      local spread = spread_of(a, contrast[f], own_d, pixels, k)
      out.lines = (out.lines or 0) + math.max(1, excess(spread, a, each[f].squares / each[f].count, k)) / F
      return mc.matmul(mc.matmul(mix, mc.tensor(spread)), mix.mT):totable()
    end)
    if part then out.spread = added(out.spread, part) end
  end
  out.chi2_sd = math.sqrt(variance)
  return out
end

--- The same where the errors of a fit can take it: not where it is far from the data within the sigma that was given,
--- which leaves residuals of the model. What chance gives for contrasts of the angles becomes that of this noise.
---@param v mascon.xpcs.Fitted
---@param lines? table of contrasts.judge
---@param tested number|nil reduced chi2, where it tests the fit
---@return table|nil as M.of
function M.judge(v, lines, tested)
  local out = M.of(v, lines)
  if out and tested and v.loss ~= 'linear' then tested = out.level end
  if out and tested and tested >= M.MISFIT then out.spread, out.lines, out.chi2_sd = nil, nil, nil end
  if lines and out and out.lines then
    lines.chance = lines.chance * out.lines
    lines.improbable = lines.gain > lines.chance
  end
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

local function text(v) return ('%.4g'):format(v) end

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
        list[#list + 1] = ('%s %.2g'):format(name, factor)
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
      .. 'noise), as those of speckle are, or of what the model misses. '):format(a.z) .. (a.factor
      and ('Standard errors are those of correlated noise, up to %.2g times those of independent noise, and may still '
        .. 'be too small by a third%s.'):format(a.factor, not (r.joint or r.mode == 'own model')
        and '; a posterior takes it as independent, and its intervals are too narrow by as much' or '')
      or 'Standard errors take them as independent and are too small.')
  end
  if a and a.unequal then
    local list = {}
    local low, high = math.huge, 0
    for f, s in ipairs(a.scatter) do
      s = s * r.sigma[f]
      list[f], low, high = ('%.3g'):format(s), math.min(low, s), math.max(high, s)
    end
    out[#out + 1] = ('The angles scatter by different amounts, %s to %s, and the sigma of the fit does not: values and '
      .. 'errors are worse than they need to be; give each angle its own (--sigma %s).'):format(text(low), text(high),
      table.concat(list, ','))
  end
  return out
end

return M
