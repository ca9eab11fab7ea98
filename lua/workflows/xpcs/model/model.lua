-- model.lua - two-time correlation of diffusion and shear, in tensors.
--
-- The definition in its plainest form, for simulation, plots and the test of the fused pass, which computes the same
-- without these arrays.
-- C2(phi, t_i, t_j) = offset + contrast g1^2, g1 = exp(-kD |A_j - A_i|) sinc(x)^2, x = kS cos(phi0 - phi) |B_j - B_i|,
-- where A and B are running trapezoids (without dt) of D(t) = D0 t^alpha + D_offset and G(t) = g0 t^beta + g_off, kD =
-- q^2 dt / 2, kS = q L dt / (2 pi). Times below half a step count as half a step.
local mc = require 'mascon'
local M = {}

local DEGREE = math.pi / 180
local LEAST = 1e-10 -- of D, G and g1
M.LEAST = LEAST

--- kD and kS of a geometry. phase_convention 'qL/2' takes the phase pi times larger, as homodyne-analysis does.
---@param o table q 1/A, gap A, dt s, phase_convention
function M.constants(o)
  local ks = o.q * (o.gap or 2e6) * o.dt / (2 * math.pi)
  if o.phase_convention == 'qL/2' then ks = ks * math.pi end
  return o.q * o.q * o.dt / 2, ks
end

--- Running trapezoid without dt: 0, (f1 + f2)/2, ...
local function running(f)
  local n = f.shape[1]
  if n == 1 then return mc.zeros { 1 } end
  return mc.concat({ mc.zeros { 1 }, mc.cumulative_sum((f[{ { 1, n - 1 } }] + f[{ { 2, n } }]) * 0.5) }, 1)
end

--- scale t^power + shift at the times, where it is no more than the least value, t as it is taken, and t^power.
---@param t mc.tensor f64 [n] s
---@return mc.tensor rate, mc.tensor floored bool, mc.tensor tau, mc.tensor power
function M.rate(t, scale, power, shift)
  local least = math.max(t.shape[1] > 1 and math.abs(t[2]:item() - t[1]:item()) / 2 or 0, 1e-8)
  local tau = mc.where(mc.gt(t, least), t, least)
  local p = tau ^ power
  local rate = p * scale + shift
  return rate, mc.le(rate, LEAST), tau, p
end

--- Integral of scale t^power + shift over the times, and of its three derivatives; f64 [n] each.
---@param t mc.tensor f64 [n] s
---@return mc.tensor[]
function M.integrals(t, scale, power, shift)
  local n = t.shape[1]
  local rate, _, tau, p = M.rate(t, scale, power, shift)
  local above = mc.gt(rate, LEAST)
  return { running(mc.where(above, rate, LEAST)), running(mc.where(above, p, 0)), running(mc.where(above,
    p * scale * mc.log(tau), 0)),
    running(mc.where(above, mc.ones { n }, 0)) }
end

local function differences(p, rows) return p:expand_dims(1) - (rows and p[{ rows }] or p):expand_dims(2) end

--- |X|, or the smooth form of upstream.
local function size(x, legacy) return legacy and mc.sqrt(x * x + 1e-12) or mc.abs(x) end

local function sinc(x)
  local z = x * x
  local safe = mc.where(mc.eq(x, 0), 1, x)
  return mc.where(mc.lt(mc.abs(x), 1e-4), 1 - z / 6 + z * z / 120, mc.sin(safe) / safe)
end

--- Derivative of s = sinc(x).
local function sinc_slope(x, s)
  local z = x * x
  local safe = mc.where(mc.eq(x, 0), 1, x)
  return mc.where(mc.lt(mc.abs(x), 0.1), x * (-1 / 3 + z / 30 - z * z / 840 + z * z * z / 45360),
    (mc.cos(x) - s) / safe)
end

--- The prefix integrals of the diffusion or the shear rate of a description (see g1), at its times.
local function prefixes(o, scale, power, shift)
  local list = M.integrals(o.t, scale, power, shift)
  for k = 1, o.step and o.step > 1 and 4 or 0 do list[k] = list[k][{ { 1, list[k].shape[1], o.step } }] end
  return list
end

local function decay(a, kd, legacy) return mc.exp(mc.maximum(size(a, legacy) * -kd, -700)) end

--- g1 [n, n] of one angle, and with `derivatives` the list dC2/dp of the physical parameters for contrast 1.
---@param o table t f64 [n], kd, ks, physics (list of 3 or 7), legacy_abs; step: only every step-th time, integrated
---  over all of them; rows { first, last }: these rows alone
---@param phi number deg
function M.g1(o, phi, derivatives)
  local p, rows = o.physics, o.rows
  local A = prefixes(o, p[1], p[2], p[3])
  local E = decay(differences(A[1], rows), o.kd, o.legacy_abs)
  local g1, S, D, b, B, turn = E, nil, nil, nil, nil, nil
  if #p > 3 then
    B = prefixes(o, p[4], p[5], p[6])
    turn = (p[7] - phi) * DEGREE
    b = size(differences(B[1], rows), o.legacy_abs)
    local x = b * (o.ks * math.cos(turn))
    S = sinc(x)
    D = derivatives and sinc_slope(x, S)
    g1 = E * S * S
  end
  local above = mc.gt(g1, LEAST)
  g1 = mc.where(above, g1, LEAST)
  if not derivatives then return g1 end
  local out = {}
  local forward = mc.sign(differences(A[1], rows))
  local function sized(prefix) return differences(prefix, rows) * forward end
  local common = mc.where(above, g1 * g1 * (-2 * o.kd), 0)
  for k = 1, 3 do out[k] = common * sized(A[k + 1]) end
  if #p > 3 then
    local f = mc.where(above, g1 * E * S * D * 4, 0)
    for k = 1, 3 do out[3 + k] = f * sized(B[k + 1]) * (o.ks * math.cos(turn)) end
    out[7] = f * b * (-o.ks * math.sin(turn) * DEGREE)
  end
  return g1, out
end

--- g1^2 of rows first .. last of one angle as one compiled function; the bits of g1.
local function square(g1)
  g1 = mc.where(mc.gt(g1, LEAST), g1, LEAST)
  return g1 * g1
end
local COMPILED = setmetatable({}, { __mode = 'v' }) -- what nobody uses goes
local function compiled(name, f)
  local c = COMPILED[name] or mc.compile(f)
  COMPILED[name] = c
  return c
end
local function columns(p, first, last) return p:expand_dims(1), p[{ { first, last } }]:expand_dims(2) end

--- g1 * g1 [last - first + 1, n] of one angle, for many rows: compiled.
---@param o table as for g1, without step and rows
---@param phi number deg
---@param first integer
---@param last integer
function M.rows(o, phi, first, last)
  local p, legacy = o.physics, o.legacy_abs and true or false
  local a, at = columns(prefixes(o, p[1], p[2], p[3])[1], first, last)
  if #p == 3 then
    local f = compiled('static ' .. tostring(legacy), function(x, y, kd) return square(decay(x - y, kd, legacy)) end)
    return f(a, at, o.kd)
  end
  local b, bt = columns(prefixes(o, p[4], p[5], p[6])[1], first, last)
  local f = compiled('laminar ' .. tostring(legacy), function(x, y, kd, u, v, w)
    local S = sinc(size(u - v, legacy) * w)
    return square(decay(x - y, kd, legacy) * S * S)
  end)
  return f(a, at, o.kd, b, bt, o.ks * math.cos((p[7] - phi) * DEGREE))
end

--- Two-time correlation of one angle, f64 [n, n].
---@param o table as for g1
function M.c2(o, phi, contrast, offset)
  local g1 = M.g1(o, phi)
  return g1 * g1 * contrast + offset
end

return M
