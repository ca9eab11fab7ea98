-- special/init.lua - special functions under SciPy's names and argument orders.
--
-- Elementwise functions of real tensors: f16, bf16, f32 and f64, integers count as f64; results keep the dtype,
-- operands broadcast. Outside the domain NaN, at a pole the infinity SciPy gives. Everything is computed in f64 and
-- rounded once. Rows of the op table, their second names, and functions of two and more results composed here.
-- Measured errors: tests/golden/accuracy_special.lua.
local op = require 'mascon.core.op'
local into = require 'mascon.core.into'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local F, methods, error = op.functions, tensor.methods, check.error
local M = {}

for name, row in pairs(op.rows) do
  if row.namespace == 'special' and row.family ~= 'lua' then
    M[name] = F[name]
    for _, alias in ipairs(row.alias or {}) do M[alias] = F[name] end
  end
end

-- functions that stand among mc's own names
for name, row in pairs {
  erf = 'erf', erfc = 'erfc', erfinv = 'erfinv', ndtr = 'ndtr', ndtri = 'ndtri', lgamma = 'lgamma', gammaln = 'lgamma',
  digamma = 'digamma', psi = 'digamma',
  expit = 'logistic', logistic = 'logistic', gammainc = 'gammainc', gammaincc = 'gammaincc', betainc = 'betainc',
} do
  M[name] = F[row]
end

--- Zeta function sum (q + k)^-s over k = 0, 1, ...: Riemann's (q absent, any real s) or Hurwitz' (s > 1).
---@param s any real f16|f32|f64 [...] or a number
---@param q? any shape broadcasts with s; poles at 0, -1, ... give inf; below 0 for whole s only
---@return any tensor
--- Source: DLMF 25.2.1, 25.11.1.
---
---     mc.special.zeta(mc.tensor{0, -1})  --> f64[2]@cpu { -0.5000, -0.0833 }
---     mc.special.zeta(2, 1) * 6 / mc.pi ^ 2  --> f64[]@cpu 1
function M.zeta(s, q)
  if q == nil then return F.riemann_zeta(s) end
  return F.hurwitz_zeta(s, q)
end

--- Sine integral int_0^x sin(t) / t dt and cosine integral gamma + log |x| + int_0^|x| (cos(t) - 1) / t dt.
---@param x any real f16|f32|f64 [...] or a number
---@return any si
---@return any ci
--- Source: DLMF 6.2.9, 6.2.13.
---
---     mc.special.sici(1)  --> f64[]@cpu 0.94608307036718, f64[]@cpu 0.33740392290097
function M.sici(x) return F.si(x), F.ci(x) end

--- Hyperbolic sine integral int_0^x sinh(t) / t dt and cosine integral gamma + log |x| + int_0^|x| (cosh(t) - 1) / t
--- dt.
---@param x any real f16|f32|f64 [...] or a number
---@return any shi
---@return any chi
--- Source: DLMF 6.2.15, 6.2.16.
---
---     mc.special.shichi(1)  --> f64[]@cpu 1.0572508753757, f64[]@cpu 0.83786694098021
function M.shichi(x) return F.shi(x), F.chi(x) end

--- Fresnel integrals S = int_0^x sin(pi t^2 / 2) dt and C = int_0^x cos(pi t^2 / 2) dt.
---@param x any real f16|f32|f64 [...] or a number
---@return any S
---@return any C
--- Source: DLMF 7.2.7, 7.2.8.
---
---     mc.special.fresnel(1)  --> f64[]@cpu 0.43825914739035, f64[]@cpu 0.77989340037682
function M.fresnel(x) return F.fresnel_s(x), F.fresnel_c(x) end

--- Jacobi's elliptic functions sn, cn, dn and the amplitude ph (rad) of argument u and parameter m = k^2.
---@param u any real f16|f32|f64 [...] or a number
---@param m any in [0, 1], else NaN; broadcasts with u
---@return table results sn, cn, dn, ph
--- Source: DLMF 22.20.
---
---     mc.special.ellipj(0.5, 0).sn  --> f64[]@cpu 0.4794255386042
function M.ellipj(u, m)
  return { sn = F.ellipj_sn(u, m), cn = F.ellipj_cn(u, m), dn = F.ellipj_dn(u, m), ph = F.ellipj_ph(u, m) }
end

local LAMBERT = { k = { 0, { 0, -1 } } }
--- Lambert's W: the real w with w exp(w) = x. Branch 0 (x >= -1/e, w >= -1) or -1 (-1/e <= x <= 0, w <= -1); NaN
--- outside. SciPy's is complex and has all branches.
---@param x any real f16|f32|f64 [...] or a number
---@param opts? table k (0): branch, 0 or -1
---@return any tensor
--- Source: On the Lambert W function, 1996; DLMF 4.13.
---
---     mc.special.lambertw(mc.e)  --> f64[]@cpu 1
---     mc.special.lambertw(-0.1, { k = -1 })  --> f64[]@cpu -3.5771520639573
function M.lambertw(x, opts)
  local o = check.opts('special.lambertw', opts, LAMBERT, 3)
  return o.k == 0 and F.lambertw0(x) or F.lambertwm1(x)
end

--- Spherical harmonic of degree n and order m with the phase (-1)^m: theta is the polar angle, phi the azimuth, both
--- rad.
---@param n any whole numbers >= 0, f64 [...] or a number
---@param m any whole numbers; |m| > n gives 0
---@param theta any real f32|f64 [...] or a number
---@param phi any real f32|f64 [...] or a number; all four broadcast
---@return any c64 where all floating operands are f16, bf16 or f32, else c128
--- Source: DLMF 14.30.1.
---
---     mc.real(mc.special.sph_harm_y(0, 0, 0.3, 0.2))  --> f64[]@cpu 0.28209479177388
function M.sph_harm_y(n, m, theta, phi)
  for name, v in pairs { theta = theta, phi = phi } do
    if tensor.is(v) and tensor.kind[v.dtype] == 'c' then
      error(('special.sph_harm_y: %s is %s; give real angles'):format(name, tensor.describe(v)), 2)
    end
  end
  local p = F.sph_legendre_p(n, m, theta)
  local a = F.multiply(m, phi)
  return methods.to(F.multiply(F.cos(a), p), F.multiply(F.sin(a), p).dtype == 'f64' and 'c128' or 'c64')
    + F.multiply(F.sin(a), p) * tensor.complex(0, 1)
end

return into.all('special.', M, op.functions)
