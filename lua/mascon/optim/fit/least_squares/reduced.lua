-- reduced.lua - a tall linear least-squares problem as an equivalent one of at most n + 1 rows.
--
-- The triangle of a QR factorisation of [J, r] has the same products J^T J, J^T r and r^T r as J[m, n] and r[m]
-- themselves, without the loss of half the digits that forming J^T J costs. Every method steps on it, so none sees m.
-- Triangles of pieces of rows stack into the triangle of the whole. Holds the small problem as Lua numbers.
--
-- Source: Demmel, Grigori, Hoemmen and Langou, Communication-optimal parallel and sequential QR and LU
-- factorizations, 2012, section 2.
local op = require 'mascon.core.op'
local F = op.functions
local M = {}

---@class mascon.Reduced
---@field n integer parameters
---@field k integer rows
---@field J number[][] [k][n]
---@field r number[] [k]
---@field g number[] gradient J^T r
---@field norms number[] norms of the columns of J
---@field triangle mc.tensor f64 [k, n + 1]

--- Upper triangle of [J, r], f64 [min(m, n + 1), n + 1], whose columns are the rows of all [n + 1, m]. nil when a
--- number is not finite.
function M.triangle_of(all)
  local sum = F.sum(all):item()
  if sum - sum ~= 0 and not F.all(F.isfinite(all)) then return nil end -- finite numbers may add up to infinity
  return F.qr(all.mT, { mode = 'r' })
end

--- The same of Jt[n, m] and r[m].
function M.triangle(Jt, r) return M.triangle_of(F.concat({ Jt, r:expand_dims(1) }, 1)) end

--- One triangle of two, one above the other.
function M.stack(a, b) return F.qr(F.concat({ a, b }, 1), { mode = 'r' }) end

--- The small problem of a triangle.
---@param triangle mc.tensor
---@return mascon.Reduced
function M.of(triangle)
  local rows = triangle:totable()
  local k, n = #rows, triangle.shape[2] - 1
  local r, g, norms = {}, {}, {}
  for i = 1, k do
    r[i] = rows[i][n + 1]
    rows[i][n + 1] = nil
  end
  for j = 1, n do
    local sum, square = 0, 0
    for i = 1, math.min(j, k) do -- what is below the diagonal is 0
      sum = sum + rows[i][j] * r[i]
      square = square + rows[i][j] ^ 2
    end
    g[j], norms[j] = sum, math.sqrt(square)
  end
  return { n = n, k = k, J = rows, r = r, g = g, norms = norms, triangle = triangle }
end

return M
