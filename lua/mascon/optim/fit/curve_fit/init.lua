-- curve_fit/init.lua - fits of a user's model to data.
--
-- Holds the public function: options, the choice of method, the order parameters, data, solver, result.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local solver = require 'mascon.optim.fit.least_squares'
local loss = require 'mascon.optim.fit.least_squares.loss'
local parameters_of = require 'mascon.optim.fit.curve_fit.parameters'
local data_of = require 'mascon.optim.fit.curve_fit.data'
local result = require 'mascon.optim.fit.curve_fit.result'
local error = check.error
local M = {}

local OPTS = {
  p0 = { nil, 'any' }, names = { nil, 'table' }, sigma = { nil, 'any' }, absolute_sigma = { false, 'bool' },
  fixed = { nil, 'table' }, tied = { nil, 'table' },
  block = { nil, 'integer >= 1 | bool' }, nan = { 'raise', { 'raise', 'omit' } },
}
for k, v in pairs(solver.OPTS) do OPTS[k] = v end
OPTS.diff_step = nil

--- Parameters of a model that bring it closest to data: sum of ((model(x, p) - y) / sigma)^2 is least, or a robust
--- sum.
---
---   model: function(x, p) -> values like y; p is a table of numbers, by name (p.a) where p0 has names, else p[1],
---   p[2], ...; or an
---   expression as text, 'a * exp(-k * x) + c', with the names of p0, x (x1, x2 for the rows of x), pi and functions
---   of mc
---   x: what the model takes, a tensor [m] or [k, m] say; y: f32|f64 [m] or any shape
---   p0: starts, { a = 1, b = 0 } or { 1, 0 } or a tensor; names: their order in covariances (sorted without it)
---   sigma: standard deviations of y (a number, or like y), or their covariance [m, m]; absolute_sigma (false): sigma
---   is in units of y, else only
---   ratios count and errors are scaled by the residuals
---   bounds: { a = { low, high } }, either may be absent; for p0 without names { low, high } as in least_squares
---   fixed: { 'a' } at its start, or { a = 3 }, or positions; tied: { c = function(p) return 2 * p.a end }
---   method: 'trf' (default), 'lm' or 'dogbox'; loss, f_scale, ftol, xtol, gtol, x_scale ('jac'), max_nfev, callback,
---   progress: as in least_squares
---   jac: '3-point' or '2-point' differences; 'forward' or 'reverse': derivatives of the model itself, compiled (p.a,
---   ... are then 0-d tensors, the
---   model may not ask for their values); or a function(x, p) -> table of the model's derivatives by parameter.
---   Without it: forward for
---   10000 points and more where the model can be recorded, else 3-point; the result says which
---   nan: 'raise' (default) or 'omit' points where y (or x) is not finite
---   block: observations that are evaluated at once. By default, fits of 500000 points and more look at what the model
---   does with a few points: where everything is elementwise along y [m], cost, gradient and normal matrix come from
---   one compiled loop over the points, without a Jacobian in memory; any other model is evaluated on all points. A
---   number (65536, say; true: 65536) says that the model treats points one by one: it is then evaluated on blocks of
---   that many, whatever it does and however few points there are. false: always on all points.
---   Sums are cut into units of 32768 points whatever the block, so that results depend neither on blocks and chunks
---   nor on threads. They agree with those of false to rounding. Where the normal matrix is close to singular
---   (condition above 1e8), and for differences, derivatives of the user's and models that cannot be recorded, the
---   columns of a block are factorised instead. The loop needs a C compiler when a model is first fitted; without one,
---   blocks are evaluated by compiled tensor operations
---
--- Data larger than memory: curve_fit(model, source, opts), source() giving an iterator over chunks x, y, sigma (x
--- [n] or [k, n], y [n]), anew at
--- each call. Points are cut into blocks by their number and sums follow a fixed tree, so any chunking gives the same
--- bits.
---
--- Result: a table of p (values by name), stderr (same), covariance, correlation [nfree, nfree] in the order of free,
--- chi2, reduced_chi2, dof, n,
--- aic, bic (n ln(chi2 / n) + 2 k, + k ln n), residuals [m] (none for a stream or a block), cost, optimality,
--- active_mask, nfev,
--- njev, nit, status, message,
--- success, rank, derivatives (how they were taken); methods predict(x), band(x, opts), profile(name, opts),
--- report(). Printed, it is a report. Directions without information give
--- infinite standard errors and a note. Under a robust loss the covariance is H^-1 B H^-1 n / dof, H the curvature of
--- the cost without second derivatives of the model, B the sum of squared gradients of the points: it holds for any
--- distribution of the noise and takes no part of absolute_sigma. Profiles divide the rise of the cost by its ratio to
--- H^-1.
--- Errors: a start outside its bounds, names that are no parameters, shapes that do not fit, NaN, a model that writes
--- into its argument.
--- Source: SciPy optimize.curve_fit, for the meaning of sigma; lmfit, for the report.
---     local x = mc.arange(0, 5)
---     local fit = mc.optim.curve_fit(function(t, p) return p.a * mc.exp(-p.k * t) end, x, 3 * mc.exp(-0.5 * x),
---       { p0 = { a = 1, k = 1 } })
---     ('%.4f %.4f'):format(fit.p.a, fit.p.k)  --> 3.0000 0.5000
---@param model fun(x: any, p: table): mc.tensor
---@param x any
---@param y any
---@param opts? table
---@return mascon.Fit
function M.curve_fit(model, x, y, opts)
  local fname = 'curve_fit'
  if type(model) ~= 'function' and type(model) ~= 'string' then
    error(('%s: the model is %s; give a function of x and a table of parameters, or an expression as text'):format(
      fname,
      check.show(model)), 2)
  end
  local stream = type(x) == 'function'
  if stream and opts == nil and type(y) == 'table' and not tensor.is(y) then y, opts = nil, y end
  if stream and y ~= nil then
    error(('%s: x is a source of chunks and y %s; the source gives y too'):format(fname, check.show(y)), 2)
  end
  local o = check.opts(fname, opts, OPTS, 3)
  tensor.only_host(fname, { x or false, y or false, o.sigma or false }, 2)
  local par = parameters_of.new(fname, o)
  if type(model) == 'string' then
    local known = {}
    for _, key in ipairs(par.keys) do
      if type(key) ~= 'string' then
        error(('%s: a model as text needs parameters with names, p0 = { a = 1 } say'):format(fname), 2)
      end
      known[key] = true
    end
    model = require('mascon.optim.fit.curve_fit.expression').model(fname, model, known)
  end
  local method, jac = o.method or 'trf', o.jac or 'auto'
  solver.check_jac(fname, o.jac)
  local rho = loss.resolve(fname, o.loss)
  if method == 'lm' then
    if o.bounds then error(('%s: method lm takes no bounds; use trf or dogbox'):format(fname), 2) end
    if rho then error(('%s: method lm takes the linear loss only; use trf or dogbox'):format(fname), 2) end
  end
  local data = data_of.new(fname, { model = model, x = x, y = y, sigma = o.sigma, parameters = par, jac = jac,
    loss = rho, f_scale = o.f_scale, block = o.block, nan = o.nan })
  if o.x_scale == nil then o.x_scale = 'jac' end
  local function run(d, quiet)
    local p = d.parameters
    local settings = solver.settings(fname, o, p.start, p.low, p.high, method)
    if quiet then settings.notify = nil end
    return solver.solve(d, p.start, method, settings)
  end
  local solved, point, small = run(data)
  if solved.status == -4 then
    error(('%s: the model is not finite at p0 everywhere; start where it is defined'):format(fname), 2)
  end
  if data.rows < #par.free and method == 'lm' then
    error(('%s: method lm needs at least as many points as parameters, there are %d and %d; use trf'):format(fname,
      data.rows, #par.free), 2)
  end
  return result.new(data, solved, point, small, o, function(d) return run(d, true) end)
end

return M
