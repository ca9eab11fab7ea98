-- statistics.lua - what a fitted triangle says about its parameters: covariance, correlation, standard errors,
-- criteria.
--
-- Holds the pseudo-inverse that tells undetermined parameters from determined ones.
--
-- Source: Press, Teukolsky, Vetterling and Flannery, Numerical recipes, 2007, section 15.4; Akaike, A new look at the
-- statistical model identification, 1974; Schwarz, Estimating the dimension of a model, 1978.
local op = require 'mascon.core.op'
local F = op.functions
local M = {}

local INF, EPS = math.huge, 2 ^ -52

--- Inverse of J^T J from a small problem as nested lists, by the singular values of J with columns of length 1.
--- Parameters that have a part in a direction without information get infinite variance (and no covariance); the second
--- result counts such directions.
---@param small mascon.Reduced
---@param rows integer observations
---@param noise number relative error of the derivatives: what they cannot resolve is no information
---@return number[][] covariance, integer missing
function M.covariance(small, rows, noise)
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
  local C = {}
  for i = 1, n do
    C[i] = {}
    for j = 1, n do C[i][j] = 0 end
  end
  for k = 1, n do
    if s[k] > cut then
      local w = 1 / (s[k] * s[k])
      for i = 1, n do for j = 1, n do C[i][j] = C[i][j] + V[k][i] * V[k][j] * w end end
    else
      missing = missing + 1
      for i = 1, n do if math.abs(V[k][i]) > math.sqrt(EPS) then lost[i] = true end end
    end
  end
  for i = 1, n do
    for j = 1, n do
      if lost[i] or lost[j] then C[i][j] = i == j and INF or 0 else C[i][j] = C[i][j] * unit[i] * unit[j] end
    end
  end
  return C, missing
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
