-- pixels.lua - of how many pixels residuals of speckle are the mean, and how much noise of counting these have.
--
-- C2 - 1 is the mean over P pixels of products of deviations of intensities, less what the division by the mean
-- intensities takes. For complex Gaussian fields of correlation g, contrast b and counts with the variance v beside
-- that of speckle, intensities have the cumulants b g12^2, 2 b^2 g12 g23 g31 and 2 b^3 times the sum over the three
-- rings of four, and v more where two indices are the same frame. So the covariance of all pairs of some frames is
-- K(v) / P, K = K0 + v K1 + v^2 K2. What a fit can have taken off residuals is projected out; of the rest v and P have
-- the largest likelihood (restricted maximum likelihood). Frames lie in runs, so that short and long lags are there.
--
-- Source: Goodman, Statistical optics, 1985, section 2.8 (moments of fields); Patterson and Thompson, Recovery of
-- inter-block information when block sizes are unequal, Biometrika 58, 1971.
local mc = require 'mascon'
local M = {}

local PAIRS, MOST, LEAST = 450, 23, 12 -- pairs of all angles, at most; frames of an angle
local RUN = 6 -- frames
local DECADES, STEPS = 3, 7 -- of v over the contrast, on both sides; steps of the golden section
local GOLDEN = (math.sqrt(5) - 1) / 2
local REST = 8 -- numbers that are left at least

--- Frames of n that are looked at, in runs.
---@param n integer
---@param F integer angles
---@return number[]
local function frames(n, F)
  local m = math.min(n, MOST, math.max(LEAST, math.floor(math.sqrt(2 * PAIRS / F))))
  local runs, out = math.ceil(m / RUN), {}
  for r = 1, runs do
    local first, last = math.floor((r - 1) * m / runs), math.floor(r * m / runs)
    local shift = runs > 1 and math.floor((n - m) * (r - 1) / (runs - 1)) or 0
    for i = first + 1, last do out[i] = i + shift end
  end
  return out
end

--- Elements of x [n, n] at rows a and columns b, [#a, #b].
local function at(x, a, b) return mc.take(mc.take(x, a, 1), b, 2) end

--- K0, K1 and K2 of pairs of frames (I, J) for the correlation g [n, n] and the contrast b.
---@param g mc.tensor f64 [n, n]
---@param b number
---@param I mc.tensor i64 [N], the earlier frame of each pair
---@param J mc.tensor i64 [N], the later one
---@return mc.tensor[] each f64 [N, N]
function M.powers(g, b, I, J)
  local ik, il, jk, jl = at(g, I, I), at(g, I, J), at(g, J, I), at(g, J, J)
  local function same(x, y) return mc.eq(x:expand_dims(2), y:expand_dims(1)):to 'f64' end
  local eik, eil, ejk, ejl = same(I, I), same(I, J), same(J, I), same(J, J)
  local own = mc.diagonal(il) -- g of each pair
  local rows, both = own:expand_dims(2), own:expand_dims(2) * own:expand_dims(1)
  local squares = mc.square(both) * b ^ 2
  local ring = (ik * jl + il * jk) * both + ik * il * jk * jl
  local taken = rows * (ik * jk + il * jl) * mc.square(own):expand_dims(1) * (2 * b ^ 3)
  local K0 = (mc.square(ik * jl) + mc.square(il * jk)) * b ^ 2 + ring * (2 * b ^ 3) - taken - taken.mT
    + squares * (mc.square(ik) + mc.square(il) + mc.square(jk) + mc.square(jl)) * b
  local K1 = eik * jl * (jl * b + both * (2 * b ^ 2)) + ejl * ik * (ik * b + both * (2 * b ^ 2))
    + eil * jk * (jk * b + both * (2 * b ^ 2)) + ejk * il * (il * b + both * (2 * b ^ 2))
    - squares * (eik + eil + ejk + ejl)
  return { K0, K1, eik * ejl * (mc.square(rows) * b + 1) }
end

--- The pairs of an angle that are looked at: their residuals and the powers of K, without what a fit can take.
---@param a table x (residuals [n, n]), there [n, n], g2 [n, n], columns [c, n, n] that a fit moves them by, contrast
---@return mc.tensor|nil y [m], mc.tensor K0 [m, m], mc.tensor K1, mc.tensor K2; nil where no pairs are left
local function prepared(a, F)
  local n, I, J, there, known = a.x.shape[1], {}, {}, a.there:totable(), {}
  for i, row in ipairs(there) do
    local sum = 0
    for j = 1, n do sum = sum + row[j] end
    if sum > 0 then known[#known + 1] = i end
  end
  local list = frames(#known, F)
  for q = 2, #list do
    for p = 1, q - 1 do
      local i, j = known[list[p]], known[list[q]]
      if there[i][j] > 0 then I[#I + 1], J[#J + 1] = i, j end
    end
  end
  local N, c = #I, a.columns.shape[1]
  if N < c + REST then return nil end
  I, J = mc.tensor(I):to 'i64', mc.tensor(J):to 'i64'
  local flat = (I - 1) * n + J
  local moved = mc.take(a.columns:reshape(c, n * n), flat, 2)
  moved = moved / mc.maximum(mc.sqrt(mc.sum(moved * moved, 2)), 1e-300):expand_dims(2)
  local U = mc.linalg.qr(moved.mT:contiguous(), { mode = 'complete' })[{ mc.all, { c + 1, N } }]:contiguous()
  local K = M.powers(mc.sqrt(a.g2), a.contrast, I, J)
  for p = 1, 3 do K[p] = mc.matmul(mc.matmul(U.mT, K[p]), U) end
  return mc.matmul(U.mT, mc.take(a.x:reshape(n * n), flat, 1)), K[1], K[2], K[3]
end

--- Twice the negative logarithm of the likelihood of an angle, and 1 / P that goes with it.
local function misfit(one, v)
  return mc.scope(function()
    local K, m = one.K[1] + one.K[2] * v + one.K[3] * v ^ 2, one.y.shape[1]
    local _, size = mc.linalg.slogdet(K)
    local s = mc.sum(one.y * mc.linalg.solve(K, one.y)):item() / m
    if not (s > 0) then return math.huge, s end
    return size:item() + m * math.log(s), s
  end)
end

--- The noise of counting that all angles share, and the pixels of each; where an angle has too few pairs, those of
--- the mean of the others.
---@param F integer
---@param angle fun(f: integer): table of prepared
---@return number|nil v, in units of the square of the mean intensity; nil where no angle has enough pairs
---@return number[]|nil pixels of each angle
---@return number|nil gain: by how much twice the logarithm of the likelihood exceeds that of independent noise
function M.of(F, angle)
  local list, unit = {}, 0
  for f = 1, F do
    local y, K0, K1, K2 = mc.scope(function()
      local a = angle(f)
      unit = unit + a.contrast / F
      return prepared(a, F)
    end)
    list[f] = y and { y = y, K = { K0, K1, K2 } } or false
  end
  local function cost(step)
    local sum = 0
    for f = 1, F do if list[f] then sum = sum + misfit(list[f], unit * 10 ^ step) end end
    return sum
  end
  local best, least = 0, math.huge
  for step = -DECADES, DECADES do
    local value = cost(step)
    if value < least then best, least = step, value end
  end
  local low, high = best - 1, best + 1
  local a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
  local at_a, at_b = cost(a), cost(b)
  for _ = 1, STEPS do
    if at_a < at_b then
      high, b, at_b = b, a, at_a
      a = high - GOLDEN * (high - low)
      at_a = cost(a)
    else
      low, a, at_a = a, b, at_b
      b = low + GOLDEN * (high - low)
      at_b = cost(b)
    end
  end
  local gain = cost(DECADES) - math.min(at_a, at_b)
  local v, pixels, sum, known = unit * 10 ^ ((low + high) / 2), {}, 0, 0
  for f = 1, F do
    local s = list[f] and select(2, misfit(list[f], v)) or 0
    pixels[f] = s > 0 and 1 / s or false
    if s > 0 then sum, known = sum + s, known + 1 end
  end
  if known == 0 then return nil end
  for f = 1, F do pixels[f] = pixels[f] or known / sum end
  return v, pixels, gain < math.huge and math.max(gain, 0) or 0 -- a likelihood without a value gains nothing
end

return M
