-- statistics.lua - what a fitted triangle says about its parameters: covariance, correlation, standard errors,
-- criteria.
--
-- Holds the pseudo-inverse that tells undetermined parameters from determined ones, and the covariance under a robust
-- loss: its normal matrix is no inverse covariance. The gradient spreads by B = sum psi^2 g g^T, the cost is curved by
-- H = sum psi' g g^T, and estimates spread by H^-1 B H^-1, for whatever distribution the residuals have.
--
-- Source: Press, Teukolsky, Vetterling and Flannery, Numerical recipes, 2007, section 15.4; Akaike, A new look at the
-- statistical model identification, 1974; Schwarz, Estimating the dimension of a model, 1978; Huber, Robust statistics,
-- 1981, section 7.6; White, Maximum likelihood estimation of misspecified models, 1982.
local op = require 'mascon.core.op'
local F = op.functions
local M = {}

local INF, EPS = math.huge, 2 ^ -52

local FLAT = 0.01 -- least curvature of the cost, as a share of what the fit takes

--- Covariance under a robust loss in the coordinates in which the normal matrix of the fit is 1, and the one that the
--- curvature of the cost alone would give (nil: 1).
---@param spread number[][] sum of psi^2 g g^T
---@param below number[][]|nil sum of g g^T times what the curvature of the loss is below 0
---@param W number[][] rows: a coordinate's change of the parameters; 0 for what the data do not determine
---@return mc.tensor covariance, mc.tensor|nil inverse
function M.sandwich(spread, below, W)
  W = op.from_table(W)
  local function whitened(A)
    local x = F.matmul(F.matmul(W, op.from_table(A)), W.mT)
    return (x + x.mT) * 0.5
  end
  local B = whitened(spread)
  if not below then return B end
  local k, V = require('mascon.linalg').eigh(whitened(below) * -1)
  local inverse = F.matmul(V / F.maximum(k + 1, FLAT), V.mT)
  return F.matmul(F.matmul(inverse, B), inverse), inverse
end

--- Inverse of J^T J from a small problem as nested lists, by the singular values of J with columns of length 1.
--- Parameters that have a part in a direction without information get infinite variance (and no covariance); the second
--- result counts such directions.
---@param small mascon.Reduced
---@param rows integer observations
---@param noise number relative error of the derivatives: what they cannot resolve is no information
---@param robust? table spread, below: the covariance under a robust loss
---@return number[][] covariance, integer missing, number[] rise by parameter, what its square over its variance costs
---  twice (1 without a loss)
function M.covariance(small, rows, noise, robust)
  local n = small.n
  local unit = {}
  for j = 1, n do unit[j] = small.norms[j] > 0 and 1 / small.norms[j] or 0 end
  local block = {}
  for i = 1, math.max(small.k, n) do
    local row = {}
    for j = 1, n do row[j] = small.J[i] and small.J[i][j] * unit[j] or 0 end
    block[i] = row
  end
  local svd = F.svd(op.from_table(block), { full_matrices = false })
  local s, V = svd.S:totable(), svd.Vh:totable()
  local cut, missing, lost = math.max(EPS * math.max(rows, n), noise) * s[1], 0, {}
  local W = {}
  for k = 1, n do
    W[k] = {}
    for i = 1, n do W[k][i] = s[k] > cut and V[k][i] * unit[i] / s[k] or 0 end
    if not (s[k] > cut) then
      missing = missing + 1
      for i = 1, n do if math.abs(V[k][i]) > math.sqrt(EPS) then lost[i] = true end end
    end
  end
  local function spread_by(middle)
    local rows_ = op.from_table(W)
    local C = F.matmul(rows_.mT, middle and F.matmul(middle, rows_) or rows_):totable()
    for i = 1, n do
      for j = 1, n do if lost[i] or lost[j] then C[i][j] = i == j and INF or 0 end end
    end
    return C
  end
  local rise = {}
  for i = 1, n do rise[i] = 1 end
  if not robust then return spread_by(), missing, rise end
  local middle, inverse = M.sandwich(robust.spread, robust.below, W)
  local C, curved = spread_by(middle), spread_by(inverse)
  for i = 1, n do if not lost[i] then rise[i] = C[i][i] / curved[i][i] end end
  return C, missing, rise
end

--- Nested lists times a number; infinity stays.
function M.scaled(C, c)
  local y = {}
  for i = 1, #C do
    y[i] = {}
    for j = 1, #C do y[i][j] = C[i][j] == INF and INF or C[i][j] * c end
  end
  return y
end

--- Correlation matrix; NaN where a variance is 0 or infinite.
function M.correlation(C)
  local y = {}
  for i = 1, #C do
    y[i] = {}
    for j = 1, #C do y[i][j] = i == j and 1 or C[i][j] / math.sqrt(C[i][i] * C[j][j]) end
  end
  return y
end

--- Criteria of Akaike and Schwarz for n Gaussian residuals of unknown size with k parameters, up to a constant: n
--- ln(chi2 / n) + 2 k, and
--- + k ln n.
function M.criteria(chi2, n, k)
  local likelihood = n * math.log(chi2 / n)
  return likelihood + 2 * k, likelihood + k * math.log(n)
end

return M
