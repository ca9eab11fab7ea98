-- covariance.lua - errors of a fit, and what the data do not determine.
--
-- The normal matrix, scaled to a unit diagonal, tells by its condition: up to 1e8 its inverse is good; up to 1e12 the
-- columns themselves are factorised (QR), which keeps twice the digits; beyond that some combination of parameters is
-- not determined, and its members get an infinite variance instead of a number.
-- Under a robust loss the covariance is made of the residuals (mascon.optim.fit.curve_fit.statistics).
local mc = require 'mascon'
local tensor = require 'mascon.core.tensor'
local statistics = require 'mascon.optim.fit.curve_fit.statistics'
local problem = require 'workflows.xpcs.pass.problem'
local dense = require 'workflows.xpcs.pass.dense'
local M = {}

local GOOD = 1e8
M.LIMIT = 1e12
local MEMBER = 1e-3 -- of a unit vector: what counts as part of a combination
-- eigenvalues, as shares of the largest, that are more than rounding
local TRUST = { ['normal matrix'] = 1e-14, QR = 1e-28 }

--- Inverse of a normal matrix from its scaled spectrum. Combinations below 1 / LIMIT of the largest eigenvalue are not
--- determined: their members get an infinite variance. A parameter that leans on one of them only a little keeps a
--- finite one, which holds that share; where the eigenvalue is lost in rounding (below `trust` of the largest) it is
--- infinite unless the share is negligible at any value the eigenvalue may have.
---@param middle? number[][] covariance in the coordinates in which the normal matrix is 1; nil: 1
---@return number[][] covariance, table[] null each { vector over scaled parameters }, number condition
local function invert(values, vectors, norms, trust, middle)
  local n = #values
  local top = values[n]
  local cut, least = top / M.LIMIT, top * trust
  local cov, null, infinite = {}, {}, {}
  for i = 1, n do
    cov[i] = {}
    infinite[i] = norms[i] == 0
  end
  for k = 1, n do
    if values[k] < cut then
      null[#null + 1] = vectors[k]
      for i = 1, n do if math.abs(vectors[k][i]) > MEMBER then infinite[i] = true end end
    end
  end
  local function sum_of(i, j, from)
    local sum = 0
    for k = 1, n do
      if values[k] >= from and not middle then sum = sum + vectors[k][i] * vectors[k][j] / values[k] end
      for l = 1, middle and values[k] >= from and n or 0 do
        if values[l] >= from then
          sum = sum + vectors[k][i] * vectors[l][j] * middle[k][l] / math.sqrt(values[k] * values[l])
        end
      end
    end
    return sum
  end
  for i = 1, n do
    local lost = 0
    for k = 1, n do
      if values[k] < least then lost = lost + vectors[k][i] ^ 2 / least end
    end
    if lost > 1e-2 * sum_of(i, i, least) then infinite[i] = true end
  end
  for i = 1, n do
    for j = i, n do
      local unknown = infinite[i] or infinite[j]
      cov[i][j] = unknown and 0 / 0 or sum_of(i, j, least) / (norms[i] * norms[j])
      cov[j][i] = cov[i][j]
    end
    if infinite[i] then cov[i][i] = math.huge end
  end
  return cov, null, values[1] > 0 and top / values[1] or math.huge
end

--- The columns of the free numbers as combinations of those of an angle: contrast, offset and physics.
---@param p mascon.xpcs.Problem
---@param f integer
---@return number[][] rows per free number
function M.mix(p, f)
  local mix, m = {}, p.m
  for k, i in ipairs(p.free) do
    local row = {}
    for c = 1, 2 + p.P do row[c] = 0 end
    local function take(place, factor)
      if place <= m then row[1] = row[1] + factor * p.shares[f][place]
      elseif place <= 2 * m then row[2] = row[2] + factor * p.shares[f][place - m]
      else row[2 + place - 2 * m] = row[2 + place - 2 * m] + factor end
    end
    take(i, 1)
    for place, t in pairs(p.ties) do if t.to == i then take(place, t.factor) end end
    mix[k] = row
  end
  return mix
end

--- Singular values and vectors of the columns themselves, scaled: by QR of one tile row of an angle after the other.
local function factorised(p, point, norms)
  local reduced = require 'mascon.optim.fit.least_squares.reduced'
  local z = p:full(point.x)
  local contrast, offset, physics = p:split(z)
  local at = { physics = physics, contrast = contrast, offset = offset, sigma = p.sigma, kd = p.kd, ks = p.ks, t = p.t,
    legacy_abs = p.legacy_abs }
  local n, P = #p.free, p.P
  local triangle
  for f = 1, p.data.F do
    local mix = M.mix(p, f)
    for k, row in ipairs(mix) do
      for c = 1, 2 + P do row[c] = norms[k] > 0 and row[c] / norms[k] or 0 end
    end
    mix = mc.tensor(mix)
    for I = 0, dense.count(p.data) - 1 do
      dense.rows(p.data, at, f, I, function(r, J)
        if r:numel() == 0 then return end
        local part = reduced.triangle(mc.matmul(mix, J), r)
        local before = triangle
        triangle = tensor.hold(before and reduced.stack(before, part) or part)
        if before then before:release() end
      end)
    end
  end
  local svd = mc.linalg.svd(triangle[{ mc.all, { 1, n } }], { full_matrices = false })
  local s, V = svd.S:totable(), svd.Vh:totable()
  local values, vectors = {}, {}
  for k = 1, n do values[n + 1 - k], vectors[n + 1 - k] = s[k] ^ 2, V[k] end
  return values, vectors
end

--- Covariance of a robust fit in the coordinates in which its normal matrix is 1, and the one that its curvature alone
--- would give (nil: 1).
local function sandwich(p, point, values, vectors, norms)
  local n, W = #values, {}
  for k = 1, n do
    W[k] = {}
    local good = values[k] >= values[n] * TRUST['normal matrix']
    for i = 1, n do W[k][i] = good and norms[i] > 0 and vectors[k][i] / (norms[i] * math.sqrt(values[k])) or 0 end
  end
  local spread, below = p:robust(point)
  local middle, inverse = statistics.sandwich(spread, below, W)
  return middle:totable(), inverse and inverse:totable()
end

--- Covariance of the free numbers at a point: of the linear loss for sigma as given, of a robust one from the
--- residuals.
---@param p mascon.xpcs.Problem
---@param point table
---@return table covariance (list of lists), null, condition, how 'normal matrix', 'QR' or 'sandwich', values, vectors,
---  norms; width: of each vector, by which factor its standard error differs from that of the normal matrix; rise: of
---  each number, what its square over its variance costs twice (1 for the linear loss)
function M.of(p, point)
  local _, H = p:normal(point)
  local values, vectors, norms = problem.spectrum(H)
  local n = #values
  local how, trust, middle, inverse = 'normal matrix', TRUST['normal matrix'], nil, nil
  local condition = values[1] > 0 and values[n] / values[1] or math.huge
  if p.loss ~= 'linear' then
    middle, inverse = sandwich(p, point, values, vectors, norms)
    how = 'sandwich'
  elseif condition > GOOD and p.data then
    values, vectors = factorised(p, point, norms)
    how, trust = 'QR', TRUST.QR
  end
  local cov, null
  cov, null, condition = invert(values, vectors, norms, trust, middle)
  local width, rise = {}, {}
  local plain = middle and invert(values, vectors, norms, trust, inverse)
  for k = 1, n do
    width[k] = middle and math.sqrt(middle[k][k]) or 1
    rise[k] = plain and cov[k][k] < math.huge and cov[k][k] / plain[k][k] or 1
  end
  return { covariance = cov, null = null, condition = condition, how = how, values = values, vectors = vectors,
    norms = norms, width = width, rise = rise }
end

--- The factor of a covariance: for absolute sigma 1, for sigma whose ratios alone count the misfit; residuals of a
--- robust fit, which its covariance is made of, are smaller than errors by the numbers that were fitted.
---@param loss string
---@param absolute boolean
---@param cost number half the sum of rho
---@param points integer
---@param n integer free numbers
function M.factor(loss, absolute, cost, points, n)
  if points <= n then return math.huge end
  if loss ~= 'linear' then return points / (points - n) end
  return absolute and 1 or 2 * cost / (points - n)
end

return M
