-- spline.lua - spherical splines, from sensors to any place on the head.
--
-- Holds the functions g and h, the spline system and everything that follows from its one inverse: leave-one-out
-- weights of all sensors and the repair of any set of bad ones. Values lie on the unit sphere; only directions of
-- positions count. The idea: setting the spline coefficients of left-out sensors to zero gives exactly the system of
-- the others, and coefficients are M y with M the inverse of the whole system; so a missing value is the one that makes
-- its coefficient zero.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local repairer = require 'mascon.meeg.repairer'
local sphere = require 'mascon.meeg.sphere'
local error = check.error
local M = {}

local SERIES = { terms = { 50, 'integer >= 1' }, stiffness = { 4, 'integer >= 2' } }
local OPTS = {
  alpha = { 1e-5, 'number >= 0' }, terms = SERIES.terms, stiffness = SERIES.stiffness,
  centre = { 'none', 'string | table' }, cache = { repairer.CACHE, 'number >= 0' },
}

--- Coefficients (2n + 1) / (4 pi (n (n + 1))^power), n = 0 .. terms, without the constant term.
local function coefficients(power, terms)
  local c = { 0 }
  for n = 1, terms do c[n + 1] = (2 * n + 1) / (4 * math.pi * (n * (n + 1)) ^ power) end
  return c
end

--- g(x) = 1/(4 pi) sum_n (2n + 1) / (n (n + 1))^m P_n(x), n = 1 .. terms, the kernel of the spherical spline.
---@param x any f64, cosines of angles between points
---@param opts? table terms (50), stiffness m (4)
---@return any f64, the shape of x
--- Source: Perrin, Pernier, Bertrand and Echallier, Spherical splines for scalp potential and current density mapping,
--- 1989, equation 3.
---     mc.format('%.12f', mc.meeg.spline.g(1))  --> 0.015260761697
function M.g(x, opts)
  local o = check.opts('meeg.spline.g', opts, SERIES)
  return mc.legval(x, coefficients(o.stiffness, o.terms))
end

--- h(x): as g with exponent m - 1; the kernel of the surface Laplacian of the spline.
---@param x any f64, cosines of angles between points
---@param opts? table terms (50), stiffness m (4)
---@return any f64, the shape of x
--- Source: Perrin et al. 1989, equation 5b.
---     mc.format('%.12f', mc.meeg.spline.h(1))  --> 0.032158349043
function M.h(x, opts)
  local o = check.opts('meeg.spline.h', opts, SERIES)
  return mc.legval(x, coefficients(o.stiffness - 1, o.terms))
end

local function kernel(a, b, o) return mc.legval(mc.matmul(a, b.mT), coefficients(o.stiffness, o.terms)) end

--- The spline system [[g + alpha I, 1], [1, 0]] of unit vectors u [n, 3].
local function system(u, o)
  local n = u.shape[1]
  local K = mc.ones { n + 1, n + 1 }
  K[{ { 1, n }, { 1, n } }] = kernel(u, u, o) + o.alpha * mc.eye(n)
  K[{ n + 1, n + 1 }] = 0
  return K
end

--- A system with two sensors at one place and alpha = 0 has no inverse: said in terms of sensors.
local function guarded(fname, f, ...)
  local fine, result = pcall(f, ...)
  if fine then return result end
  if tostring(result):find 'singular' then
    error(fname .. ': two sensors lie in the same direction and alpha is 0, so the system is singular; give alpha > 0, '
      .. 'or drop one of them', 3)
  end
  error(result, 0)
end

--- The inverse of the spline system over all sensors.
---@param pos any f32|f64 [C, 3] m, head frame
---@param opts? table alpha (1e-5, on the diagonal), terms (50), stiffness (4), centre: 'none' (default: directions from
---  the origin of the head frame), 'fit' (from the centre of the best sphere) or { x, y, z } m
---@return table { M = f64 [C + 1, C + 1], units = f64 [C, 3], centre = { x, y, z } or nil }
--- Errors: invalid positions (see mc.meeg.sphere.check); two equal directions with alpha = 0. Source: Perrin et al.
--- 1989.
---     mc.meeg.spline.matrix({ { 0, 0, 1 }, { 0, 1, 0 }, { 1, 0, 0 } }).M.shape[1]  --> 4
function M.matrix(pos, opts)
  local o = check.opts('meeg.spline.matrix', opts, OPTS)
  local u, centre = sphere.units(sphere.check('meeg.spline.matrix', pos), o.centre)
  return { M = guarded('meeg.spline.matrix', mc.linalg.inv, system(u, o)), units = u, centre = centre }
end

--- Weights from sources to targets: values at targets = W values at sources. Rows sum to 1. A target at a source is
--- smoothed, not copied.
---@param sources any f32|f64 [S, 3] m
---@param targets any f32|f64 [D, 3] m
---@param opts? table alpha, terms, stiffness, centre as for matrix; 'fit' fits the sources
---@return any f64 [D, S]
--- Errors: invalid positions; two equal directions among the sources with alpha = 0. Source: Perrin et al. 1989.
---     mc.sum(mc.meeg.spline.weights({ { 0, 0, 1 }, { 0, 1, 0 } }, { { 1, 0, 0 } }), 2)  --> f64[1]@cpu { 1 }
function M.weights(sources, targets, opts)
  local o = check.opts('meeg.spline.weights', opts, OPTS)
  local from, centre = sphere.units(sphere.check('meeg.spline.weights', sources), o.centre)
  local to = sphere.units(sphere.check('meeg.spline.weights', targets), centre or 'none')
  local S, D = from.shape[1], to.shape[1]
  local right = mc.ones { S + 1, D }
  right[{ { 1, S }, mc.all }] = kernel(from, to, o)
  -- the system is symmetric, so the transposed solution holds the weights
  local W = guarded('meeg.spline.weights', mc.linalg.solve, system(from, o), right)
  return W[{ { 1, S }, mc.all }].mT:contiguous()
end

--- Weights from many subsets of sensors to all of them, as weights() gives them for each, from one kernel and one batch
--- of systems.
---@param pos any f32|f64 [C, 3] m
---@param subsets any i64 [S, n] places, 1 .. C
---@param opts? table as for matrix
---@return any f64 [S, C, n]
--- Errors: invalid positions; two equal directions in a subset with alpha = 0.
---     mc.meeg.spline.subsets({ { 0, 0, 1 }, { 0, 1, 0 }, { 1, 0, 0 } }, mc.tensor({ { 1, 3 }, { 2, 1 } },
---       { dtype = 'i64' })).shape
---       --> {2, 3, 2}
function M.subsets(pos, subsets, opts)
  local o = check.opts('meeg.spline.subsets', opts, OPTS)
  local u = sphere.units(sphere.check('meeg.spline.subsets', pos), o.centre)
  subsets = tensor.hosted(subsets)
  local C, S, n = u.shape[1], subsets.shape[1], subsets.shape[2]
  local g = kernel(u, u, o)
  local K, right = mc.ones { S, n + 1, n + 1 }, mc.ones { S, n + 1, C }
  local rows = mc.take(g, subsets:reshape(-1), 1):reshape(S, n, C)
  right[{ mc.all, { 1, n }, mc.all }] = rows
  K[{ mc.all, { 1, n }, { 1, n } }] = mc.take_along_axis(rows,
    subsets:reshape(S, 1, n) + mc.zeros({ S, n, n }, { dtype = 'i64' }), 3) + o.alpha * mc.eye(n)
  K[{ mc.all, n + 1, n + 1 }] = 0
  local W = guarded('meeg.spline.subsets', mc.linalg.solve, K, right)
  return mc.permute_dims(W[{ mc.all, { 1, n }, mc.all }], { 1, 3, 2 }):contiguous()
end

--- Weights that predict each sensor from all others: X~ = W X, with zeros on the diagonal, from one inverse.
---@param pos any f32|f64 [C, 3] m
---@param opts? table as for matrix
---@return any f64 [C, C]
--- Errors: as matrix; fewer than 2 sensors. w_cj = -M_cj / M_cc.
---     mc.meeg.spline.leave_one_out({ { 0, 0, 1 }, { 0, 1, 0 } })  --> f64[2,2]@cpu { { 0, 1 }, { 1, 0 } }
function M.leave_one_out(pos, opts)
  local inverse = M.matrix(pos, opts).M
  local C = inverse.shape[1] - 1
  if C < 2 then error('meeg.spline.leave_one_out: one sensor cannot be predicted from others; give 2 or more', 2) end
  local sensors = inverse[{ { 1, C }, { 1, C } }]
  local W = -sensors / sensors:diagonal():reshape(C, 1)
  W[mc.eye(C, { dtype = 'bool' })] = 0
  return W
end

--- What repairs any set of bad sensors from all others, weights kept by set.
---@param pos any f32|f64 [C, 3] m
---@param opts? table as for matrix; cache: bytes of weights kept (64 MiB)
---@return table with :weights(bad): f64 [#bad, C], y_B = W X with zero columns at the bad; y_B = -M_BB^-1 M_BA y_A
--- Errors: as matrix; sets as mc.meeg.repairer.
---     mc.meeg.spline.repairer({ { 0, 0, 1 }, { 0, 1, 0 }, { 1, 0, 0 } }):weights({ 3 })
---       --> f64[1,3]@cpu { { 0.5000, 0.5000, 0.0000 } }
function M.repairer(pos, opts)
  local o = check.opts('meeg.spline.repairer', opts, OPTS)
  local inverse = M.matrix(pos, opts).M
  local C = inverse.shape[1] - 1
  inverse = inverse[{ { 1, C }, { 1, C } }]:contiguous()
  return repairer.new(C, function(at)
    local rows = mc.take(inverse, at, 1)
    return -mc.linalg.cholesky_solve(mc.linalg.cholesky(mc.take(rows, at, 2)), rows)
  end, o.cache)
end

return M
