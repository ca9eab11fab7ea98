-- grad_parts_spec.lua - compositions of ops are differentiated by their parts: against differences, twice, and
-- compiled.
--
-- Every composition of the modules named here is tried; one without a case fails, unless its row says why it has no
-- derivative.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local ops = require 'mascon.gen.ops'.ops
local gradient = support.load 'gradient'

local MODULES = {}
for _, m in ipairs {
  'special', 'core.index', 'core.dtypes', 'stats.descriptive', 'linalg.polyfit', 'array.manipulate', 'array.products',
  'array.join', 'array.shapes', 'array.matrices', 'array.polynomial', 'array.grid', 'array.calculus', 'array.quantile',
  'array.statistics', 'array.compare',
} do MODULES['mascon.' .. m] = true end

local S = mc.special
local function int(list) return mc.tensor(list, { dtype = 'i64' }) end
local function r(seed, ...) return gradient.random({ ... }, 'f64', seed) end
local function z(seed, ...) return gradient.random({ ... }, 'c128', seed) end
local function u(seed, low, high, ...) return gradient.uniform({ ... }, low, high, seed) end

local X, Z, Y, V, W = r(1, 3, 4), z(2, 3, 4), r(3, 3, 4), r(4, 5), r(5, 5)
local POSITIVE = u(6, 0.3, 2, 3, 4)
local line = mc.tensor { 0, 0.4, 1.1, 1.5, 2.5 }

-- name: list of { function, operands..., and options of gradient.check by name }
local CASE = {
  -- special
  zeta = { { function(q) return S.zeta(2.5, q) end, POSITIVE } }, sici = { { S.sici, POSITIVE } },
  shichi = { { S.shichi, POSITIVE } }, fresnel = { { S.fresnel, X } },
  ellipj = { { S.ellipj, X, u(7, 0.2, 0.8, 3, 4) } },
  lambertw = { { S.lambertw, POSITIVE }, { function(x) return S.lambertw(x, { k = -1 }) end, u(8, -0.3, -0.1, 4) } },
  sph_harm_y = { { function(t, p) return S.sph_harm_y(3, 2, t, p) end, u(9, 0.3, 2, 4), r(10, 4) } },
  -- shapes
  broadcast_arrays = { { function(a, b) return mc.broadcast_arrays { a, b } end, X, r(1, 4) } },
  unstack = { { function(x) return mc.unstack(x, { axis = 2 }) end, X } },
  matrix_transpose = { { mc.matrix_transpose, Z } },
  repeat_each = { { function(x) return mc.repeat_each(x, 3, { axis = 2 }) end, X },
    { function(x) return mc.repeat_each(x, int { 1, 0, 2 }, { axis = 1 }) end, X, compiled = false } },
  tile = { { function(x) return mc.tile(x, { 2, 3 }) end, Z } },
  cumulative_sum = { { function(x) return mc.cumulative_sum(x, { axis = 2, include_initial = true }) end, X } },
  cumulative_prod = { { function(x) return mc.cumulative_prod(x, { axis = 2, include_initial = true }) end, X } },
  put = { { function(x, v) return mc.put(x, { int { 3, 1 } }, v) end, X, r(2, 2, 4) },
    { function(x, v) return mc.put(x, { { 1, 2 } }, v) end, Z, z(2, 4) } },
  index_add = { { function(x, v) return mc.index_add(x, { int { 3, 3 } }, v) end, X, r(2, 2, 4) } },
  astype = { { function(x) return mc.astype(x, 'c128') end, X } },
  atleast_1d = { { function(x) return mc.atleast_1d(x) end, r(1) } }, atleast_2d = {
    { function(x) return mc.atleast_2d(x) end, V } }, atleast_3d = { { function(x) return mc.atleast_3d(x) end, V } },
  vstack = { { function(a, b) return mc.vstack { a, b } end, X, Y } },
  hstack = { { function(a, b) return mc.hstack { a, b } end, X, Y } },
  dstack = { { function(a, b) return mc.dstack { a, b } end, X, Y } },
  column_stack = { { function(a, b) return mc.column_stack { a, b } end, V, W } },
  block = { { function(a, b) return mc.block { { a, b }, { b, a } } end, X, Y } },
  split = { { function(x) return mc.split(x, 2, { axis = 2 }) end, X } },
  array_split = { { function(x) return mc.array_split(x, 3, { axis = 2 }) end, X } },
  swapaxes = { { function(x) return mc.swapaxes(x, 1, 2) end, Z } }, diagonal = { { mc.diagonal, X } },
  trace = { { mc.trace, Z } }, rot90 = { { mc.rot90, X } },
  sliding_window_view = { { function(x) return mc.sliding_window_view(x, 3, { axis = 2 }) end, X } },
  tril = { { mc.tril, X } }, triu = { { mc.triu, Z } }, diag = { { mc.diag, V }, { mc.diag, X } },
  diagflat = { { mc.diagflat, V } }, fill_diagonal_ = { { function(x, v) return mc.fill_diagonal_(x * 1, v) end, X,
    r(3) } }, vander = { { function(x) return mc.vander(x, 4) end, V } },
  meshgrid = { { function(a, b) return mc.meshgrid(a, b) end, V, W } },
  -- products
  dot = { { mc.dot, X, r(2, 4, 2) }, { mc.dot, Z, z(3, 4) } }, vdot = { { mc.vdot, Z, z(3, 3, 4) }, { mc.vdot, X, Y } },
  inner = { { mc.inner, X, Y } }, outer = { { mc.outer, V, W } },
  tensordot = { { function(a, b) return mc.tensordot(a, b, { { 1 }, { 1 } }) end, X, Y } },
  kron = { { mc.kron, X, V } }, cross = { { mc.cross, r(1, 2, 3), r(2, 1, 3) } },
  -- polynomials
  polyval = { { mc.polyval, V, X } }, polyadd = { { mc.polyadd, V, r(1, 3) } },
  polysub = { { mc.polysub, V, r(1, 3) } }, polymul = { { mc.polymul, V, r(1, 3) } },
  polydiv = { { mc.polydiv, V, r(1, 3), compiled = false } }, polyder = { { mc.polyder, V } },
  polyint = { { mc.polyint, V } }, polyfit = { { function(x, y) return mc.polyfit(x, y, 2) end, line, W } },
  roots = { { mc.roots, V, compiled = false } }, poly = { { mc.poly, V } }, chebval = { { mc.chebval, X, V } },
  legval = { { mc.legval, X, V } }, hermval = { { mc.hermval, X, V } }, hermeval = { { mc.hermeval, X, V } },
  lagval = { { mc.lagval, X, V } },
  -- calculus
  diff = { { function(x) return mc.diff(x, { axis = 2, n = 2 }) end, X } }, ediff1d = { { mc.ediff1d, X } },
  gradient = {
    { function(x) return mc.gradient(x, { spacing = 0.5 }) end, X },
    { function(y, x) return mc.gradient(y, { spacing = x, edge_order = 2 }) end, V, line },
    { function(y, h) return mc.gradient(y, { spacing = h }) end, V, mc.tensor(0.7) },
  },
  trapezoid = { { function(y, x) return mc.trapezoid(y, { x = x }) end, V, line } },
  cumulative_trapezoid = { { function(y, x) return mc.cumulative_trapezoid(y, { x = x }) end, V, line } },
  simpson = { { function(y, x) return mc.simpson(y, { x = x }) end, V, line } },
  cumulative_simpson = { { function(y) return mc.cumulative_simpson(y) end, V },
    { function(y, x) return mc.cumulative_simpson(y, { x = x }) end, V, line } },
  romb = { { mc.romb, V } }, unwrap = { { mc.unwrap, V * 3 } },
  -- statistics
  quantile = { { function(x) return mc.quantile(x, 0.3, 2) end, X },
    { function(x) return mc.quantile(x, 0.3, 2, { weights = POSITIVE }) end, X } },
  nanquantile = { { function(x) return mc.nanquantile(x, 0.3, 2) end, X } },
  percentile = { { function(x) return mc.percentile(x, 30, 2) end, X } },
  nanpercentile = { { function(x) return mc.nanpercentile(x, 30, 2) end, X } },
  nanmedian = { { function(x) return mc.nanmedian(x, 2) end, X } },
  ptp = { { function(x) return mc.ptp(x, 2) end, X } },
  average = { { function(x, w) return mc.average(x, 2, { weights = w }) end, X, POSITIVE } },
  cov = { { mc.cov, X }, { function(x, w) return mc.cov(x, { aweights = w }) end, X, u(11, 0.3, 2, 4) } }, corrcoef = {
    { mc.corrcoef, X } }, reduceat = { { function(x) return mc.reduceat(x, int { 1, 3 }, { axis = 2 }) end, X } },
  nan_to_num = { { mc.nan_to_num, X } }, zscore = { { function(x) return mc.stats.zscore(x, { axis = 2 }) end, X } },
  sem = { { function(x) return mc.stats.sem(x, { axis = 2 }) end, X } },
  mad = { { function(x) return mc.stats.mad(x, { axis = 2 }) end, X } },
  iqr = { { function(x) return mc.stats.iqr(x, { axis = 2 }) end, X } },
  moment = { { function(x) return mc.stats.moment(x, 3, { axis = 2 }) end, X } },
  trim_mean = { { function(x) return mc.stats.trim_mean(x, 0.3, { axis = 2 }) end, X } },
  gmean = { { function(x) return mc.stats.gmean(x, { axis = 2 }) end, POSITIVE } },
  hmean = { { function(x) return mc.stats.hmean(x, { axis = 2 }) end, POSITIVE } },
}

describe('derivatives by parts', function()
  for _, row in ipairs(ops) do
    if MODULES[row.module] and row.family == 'lua' and not (row.rules or ''):match '^none' then
      it('of ' .. row[1], function()
        for k, c in ipairs(CASE[row[1]] or error(row[1] .. ' has no case here')) do
          gradient.check(('%s, case %d'):format(row[1], k), c[1], { unpack(c, 2) },
            { compiled = c.compiled, second = c.second })
        end
      end)
    end
  end
end)
