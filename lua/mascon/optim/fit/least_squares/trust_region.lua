-- trust_region.lua - the step of least length-limited residual: min |J p + r| with |p| <= Delta, by singular values.
--
-- Holds the secular equation |(s^2 + a)^-1 s u^T r| = Delta and the rules by which a trust region grows, shrinks and
-- ends a run.
--
-- Source: More, The Levenberg-Marquardt algorithm: implementation and theory, 1978, section 5; Conn, Gould and Toint,
-- Trust-region methods, 2000, section 7.3.
local op = require 'mascon.core.op'
local vectors = require 'mascon.optim.fit.least_squares.vectors'
local F = op.functions
local M = {}

local sqrt, max, abs = math.sqrt, math.max, math.abs
local EPS = 2 ^ -52

---@class mascon.Spectrum
---@field s number[] singular values, largest first
---@field u number[] U^T r
---@field V number[][] right vectors as rows
---@field full boolean whether the rank is full

--- The singular values of J diag(d), with sqrt(C) below it where there are curvatures C, and r in their frame.
---@param small mascon.Reduced
---@param d number[] scale of the columns
---@param C? number[] curvatures >= 0
---@param rows? integer rows of the problem that was reduced, for the rank
---@return mascon.Spectrum
function M.spectrum(small, d, C, rows)
  local n = small.n
  local block = {}
  for i = 1, small.k do block[i] = vectors.times(small.J[i], d) end
  local extra = 0
  if C then
    for j = 1, n do
      if C[j] > 0 then
        extra = extra + 1
        local row = vectors.filled(n, 0)
        row[j] = sqrt(C[j])
        block[small.k + extra] = row
      end
    end
  end
  local svd = F.svd(op.from_table(block), { full_matrices = false })
  local s, U, V = svd.S:totable(), svd.U:totable(), svd.Vh:totable()
  local u = {}
  for k = 1, #s do
    local sum = 0
    for i = 1, small.k do sum = sum + U[i][k] * small.r[i] end
    u[k] = sum
  end
  local total = (rows or small.k) + extra
  return { s = s, u = u, V = V, full = #s == n and s[n] > EPS * max(total, n) * s[1] }
end

--- p = -V q.
local function back(V, q, n)
  local p = vectors.filled(n, 0)
  for k = 1, #q do
    local row, c = V[k], -q[k]
    for j = 1, n do p[j] = p[j] + row[j] * c end
  end
  return p
end

local STEPS = 10 -- of Newton's method on the secular equation

--- Step p of length at most radius; `alpha` is where the search starts. Stops where the length is within `slack`
--- (relative) of the radius and, with `exactly`, is scaled to it.
---@param f mascon.Spectrum
---@param n integer
---@param radius number
---@param alpha number|nil
---@param slack number
---@param exactly boolean
---@return number[] p, number alpha
function M.step(f, n, radius, alpha, slack, exactly)
  local s, u = f.s, f.u
  local count = #s
  if f.full then
    local q = vectors.over(u, s)
    if vectors.norm(q) <= radius * (exactly and 1 or 1 + slack) then return back(f.V, q, n), 0 end
  end
  local su = vectors.times(s, u)
  local high = vectors.norm(su) / radius
  if high == 0 then return vectors.filled(n, 0), 0 end
  -- phi(a) = |q(a)| - radius and its slope
  local function phi(a)
    local length, slope = 0, 0
    for k = 1, count do
      local d = s[k] * s[k] + a
      if su[k] ~= 0 then
        length = length + (su[k] / d) ^ 2
        slope = slope + su[k] ^ 2 / d ^ 3
      end
    end
    length = sqrt(length)
    return length - radius, -slope / length
  end
  local low = 0
  if f.full then
    local y, slope = phi(0)
    low = -y / slope
  end
  if not alpha or (alpha == 0 and not f.full) then alpha = max(0.001 * high, sqrt(low * high)) end
  for _ = 1, STEPS do
    if alpha < low or alpha > high then alpha = max(0.001 * high, sqrt(low * high)) end
    local y, slope = phi(alpha)
    if y < 0 then high = alpha end
    local ratio = y / slope
    low = max(low, alpha - ratio)
    alpha = alpha - (y + radius) * ratio / radius
    if abs(y) < slack * radius then break end
  end
  local q = {}
  for k = 1, count do q[k] = su[k] == 0 and 0 or su[k] / (s[k] * s[k] + alpha) end
  local p = back(f.V, q, n)
  if exactly then
    local length = vectors.norm(p)
    if length > 0 then p = vectors.scaled(p, radius / length) end
  end
  return p, alpha
end

--- The shortest step that minimises |J p + r|; singular values at the level of rounding count as 0.
function M.newton(f, n)
  local q, cut = {}, EPS * n * (f.s[1] or 0)
  for k = 1, #f.s do q[k] = f.s[k] > cut and f.u[k] / f.s[k] or 0 end
  return back(f.V, q, n)
end

--- The positive t where |x + t s| = radius.
function M.to_sphere(x, s, radius)
  local a, b, c = vectors.dot(s, s), vectors.dot(x, s), vectors.dot(x, x) - radius * radius
  if a == 0 then return 0 end
  local root = sqrt(max(0, b * b - a * c))
  local q = -(b + (b >= 0 and root or -root)) -- without cancellation
  local t1, t2 = q / a, q ~= 0 and c / q or 0
  return max(t1, t2)
end

--- Radius after a step, and how well the model told the actual decrease.
function M.resize(radius, actual, predicted, length, at_edge)
  local ratio
  if predicted > 0 then
    ratio = actual / predicted
  elseif predicted == 0 and actual == 0 then
    ratio = 1
  else
    ratio = 0
  end
  if ratio < 0.25 then radius = 0.25 * length elseif ratio > 0.75 and at_edge then radius = radius * 2 end
  return radius, ratio
end

--- Status 2, 3 or 4 when a step of `length` at |x| that lowered the cost F by dF ends the run. Not asked while the
--- first radius, a guess from |x|, has only grown: a start of 1e-10 would end the run at 2e-10.
function M.finished(dF, F_, length, size, ratio, ftol, xtol)
  local by_f = dF < ftol * F_ and ratio > 0.25
  local by_x = length < xtol * (xtol + size)
  return by_f and by_x and 4 or by_f and 2 or by_x and 3 or nil
end

--- Scale of the variables and its reciprocal from a small problem: option x_scale 'jac' takes the largest column norms
--- so far.
function M.scale(x_scale, small, inverse)
  if x_scale ~= 'jac' then return x_scale, inverse end
  local scale, now = {}, {}
  for j = 1, small.n do
    local v = small.norms[j]
    if inverse then v = max(v, inverse[j]) elseif v == 0 then v = 1 end
    now[j], scale[j] = v, 1 / v
  end
  return scale, now
end

return M
