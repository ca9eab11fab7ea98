-- least_squares/init.lua - nonlinear least squares with bounds and robust losses: options, methods, results.
--
-- Holds the public function, its options and the words of its results. The methods stand in trf.lua, dogbox.lua and
-- lm.lua and see the residuals only through problem.lua.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local vectors = require 'mascon.optim.fit.least_squares.vectors'
local loss = require 'mascon.optim.fit.least_squares.loss'
local exact = require 'mascon.optim.fit.least_squares.exact'
local problem_of = require 'mascon.optim.fit.least_squares.problem'
local error = check.error
local M = {}

local INF, EPS = math.huge, 2 ^ -52
local METHODS = { trf = 'mascon.optim.fit.least_squares.trf', dogbox = 'mascon.optim.fit.least_squares.dogbox',
  lm = 'mascon.optim.fit.least_squares.lm' }

local MESSAGES = {
  [-4] = 'the residuals are not finite at x0',
  [-3] = 'a derivative of the residuals is not finite',
  [-2] = 'the callback asked to stop',
  [0] = 'the largest number of evaluations is reached',
  [1] = 'gtol: the gradient is small enough',
  [2] = 'ftol: the cost changes little enough',
  [3] = 'xtol: the variables change little enough',
  [4] = 'ftol and xtol: the cost and the variables change little enough',
}
M.MESSAGES = MESSAGES

--- Options of the solver, which curve_fit hands on.
M.OPTS = {
  jac = { nil, 'string | function' }, bounds = { nil, 'any' }, method = { nil, { 'trf', 'dogbox', 'lm' } },
  ftol = { 1e-8, 'number >= 0 | bool' }, xtol = { 1e-8, 'number >= 0 | bool' }, gtol = { 1e-8, 'number >= 0 | bool' },
  x_scale = { nil, 'any' }, loss = { 'linear', 'string | function' },
  f_scale = { 1, 'number > 0' }, diff_step = { nil, 'any' }, max_nfev = { nil, 'integer >= 1' },
  callback = { nil, 'function' }, progress = { nil, 'any' },
}

--- A vector argument as a Lua list of n numbers (any number of them without n); `fill` for one number.
function M.list(fname, what, v, n)
  if type(v) == 'number' then
    if not n then return { v } end
    return vectors.filled(n, v)
  end
  if tensor.is(v) then
    if v.ndim > 1 or tensor.kind[v.dtype] == 'c' then
      error(('%s: %s is %s; give one axis of real numbers'):format(fname, what, tensor.describe(v)), 3)
    end
    v = v.ndim == 0 and { v:item() } or v:to('f64'):totable()
    if n and #v == 1 then return vectors.filled(n, v[1]) end
  end
  if type(v) ~= 'table' then
    error(('%s: %s is %s; give a tensor or a list of numbers'):format(fname, what, check.show(v)), 3)
  end
  local y = {}
  for i = 1, #v do
    y[i] = tonumber(v[i])
    if not y[i] then error(('%s: %s[%d] is %s; give a number'):format(fname, what, i, check.show(v[i])), 3) end
  end
  if n and #y ~= n then
    error(('%s: %s has %d numbers, there are %d variables; give one for each'):format(fname, what, #y, n), 3)
  end
  return y
end

--- Bounds { low, high }, each a number or one per variable, as two lists; x0 must lie between them.
function M.bounds(fname, bounds, x0)
  local n = #x0
  if bounds == nil then return vectors.filled(n, -INF), vectors.filled(n, INF), false end
  if type(bounds) ~= 'table' or bounds[1] == nil or bounds[2] == nil or bounds[3] ~= nil then
    error(('%s: bounds are %s; give { low, high }, each a number or one per variable'):format(fname,
      check.show(bounds)), 3)
  end
  local low, high = M.list(fname, 'the lower bound', bounds[1], n), M.list(fname, 'the upper bound', bounds[2], n)
  local any = false
  for i = 1, n do
    if not (low[i] < high[i]) then
      error(('%s: the bounds of variable %d are %g and %g; the lower one must be below the upper one'):format(fname, i,
        low[i], high[i]), 3)
    end
    if not (x0[i] >= low[i] and x0[i] <= high[i]) then
      error(('%s: x0[%d] is %g, outside of its bounds %g and %g; start inside'):format(fname, i, x0[i],
        low[i], high[i]), 3)
    end
    any = any or low[i] > -INF or high[i] < INF
  end
  return low, high, any
end

local BY_NAME = { ['2-point'] = true, ['3-point'] = true, forward = true, reverse = true }

--- Raises unless jac is a function or one of the ways to get derivatives without one.
function M.check_jac(fname, jac)
  if type(jac) == 'string' and not BY_NAME[jac] then
    error(
      ("%s: option jac is '%s'; choose 2-point, 3-point, forward or reverse, or give a function"):format(fname, jac), 3)
  end
end

--- Tolerances, x_scale, the largest number of evaluations and the notices of a run, ready for a method.
---@return table
function M.settings(fname, o, x0, low, high, method)
  local n = #x0
  local function tolerance(name)
    local v = o[name]
    if v == true then
      error(('%s: option %s is true; give a number, or false to switch the test off'):format(fname, name), 3)
    end
    if v == false then return 0 end
    return v < EPS and method == 'lm' and EPS or v
  end
  local s = { low = low, high = high, ftol = tolerance 'ftol', xtol = tolerance 'xtol', gtol = tolerance 'gtol',
    max_nfev = o.max_nfev or 100 * n }
  if s.ftol < EPS and s.xtol < EPS and s.gtol < EPS then
    error(('%s: ftol, xtol and gtol are all below the precision %.2g; keep one of them'):format(fname, EPS), 3)
  end
  local x_scale = o.x_scale
  if x_scale == nil then x_scale = method == 'lm' and 'jac' or 1 end
  if x_scale ~= 'jac' then
    if type(x_scale) == 'string' then
      error(("%s: option x_scale is '%s'; give 'jac', a number or one per variable"):format(fname, x_scale), 3)
    end
    x_scale = M.list(fname, 'x_scale', x_scale, n)
    for i = 1, n do
      if not (x_scale[i] > 0 and x_scale[i] < INF) then
        error(('%s: x_scale[%d] is %g; it must be positive'):format(fname, i, x_scale[i]), 3)
      end
    end
  end
  s.x_scale = x_scale
  if o.callback or o.progress then
    s.notify = function(point, iteration, decrease, length, optimality)
      if o.progress then o.progress:update(iteration) end
      return o.callback and o.callback { x = op.from_table(point.x), cost = point.cost, iteration = iteration,
        decrease = decrease, step = length, optimality = optimality } == true
    end
  end
  return s
end

--- Runs a method on a problem: the fields of a result that do not need the residuals themselves.
function M.solve(problem, x0, method, settings)
  local point, small, status, optimality, iterations, on = require(METHODS[method]).run(problem, x0, settings)
  local mask
  if method == 'lm' then
    mask = vectors.filled(#x0, 0)
  else
    mask = on
      or vectors.active(point.x, settings.low, settings.high, method == 'trf' and math.max(settings.xtol, EPS) or 0)
  end
  return {
    x = op.from_table(point.x), cost = point.cost, optimality = optimality, active_mask = op.from_table(mask):to 'i64',
    nfev = problem.nfev, njev = problem.njev, nit = iterations, status = status, message = MESSAGES[status],
    success = status > 0, method = method,
  }, point, small
end

--- x with the least cost 1/2 sum c^2 rho((f_i(x) / c)^2), c = f_scale, within bounds: nonlinear least squares.
---
---   f: function from x, f64 [n], to residuals [m] (f32|f64; a list of numbers will do)
---   x0: start, a tensor or list [n]; a number for n = 1
---   jac: '2-point' or '3-point' differences; 'forward' or 'reverse': mc.jacfwd or mc.jacrev of f, compiled (f of
---   tensors alone, from x[1] to the result; some ms at first, then exact and about as fast as f itself; reverse for
---   few residuals); or a function x -> [m, n]. Without it: forward for 10000 residuals and more where f can be
---   recorded, else 2-point; the result says which bounds: { low, high }, each a number or one per variable; x0 must
---   lie within. method 'lm' takes none method: 'trf' (default; iterates strictly inside the bounds), 'dogbox'
---   (box-shaped region; for few variables with bounds), 'lm' (More's Levenberg-Marquardt; no bounds, m >= n, linear
---   loss) loss: 'linear', 'soft_l1', 'huber', 'cauchy', 'arctan', or a function z -> rho, rho', rho''; f_scale (1):
---   residual from which it bends ftol, xtol, gtol (1e-8): it stops when the cost falls by less than ftol of it, the
---   step is below xtol |x|, or the gradient (scaled by the distance from the bounds) is below gtol; false switches a
---   test off x_scale: sizes of the variables, or 'jac' (from the columns of the derivatives); default 1, for 'lm'
---   'jac' diff_step: step of differences relative to |x|; max_nfev: default 100 n; those for differences are not
---   counted callback({ x, cost, iteration, decrease, step, optimality }), which ends the run by returning true;
---   progress: a bar of mc.progress
---
--- Result: a table of x [n], cost, fun (residuals [m], never scaled), jac [m, n] (scaled by the loss: jac^T jac is the
--- Gauss-Newton matrix), grad [n], optimality, active_mask (i64 [n]: -1 at the lower bound, 1 at the upper one), nfev,
--- njev, nit, derivatives (how they were taken), status (1 gtol, 2 ftol, 3 xtol, 4 both, 0 max_nfev, -2 callback, -3 a
--- derivative that is not finite), message, success.
--- Errors: residuals that are not finite at x0, x0 outside of the bounds, shapes that do not fit.
--- Source: Branch, Coleman and Li, 1999 (trf); Voglis and Lagaris, 2004 (dogbox); More, 1978 (lm); SciPy
--- optimize.least_squares, whose meanings of options and status these are.
---     local r = mc.optim.least_squares(function(x) return mc.stack { 10 * (x[2] - x[1] ^ 2), 1 - x[1] } end,
---       { -1.2, 1 }, { xtol = 1e-12 })
---     r.x:round()  --> f64[2]@cpu { 1, 1 }
---@param f fun(x: mc.tensor): mc.tensor
---@param x0 mc.tensor|number[]|number
---@param opts? table
---@return table
function M.least_squares(f, x0, opts)
  local fname = 'least_squares'
  if type(f) ~= 'function' then
    error(('%s: the first argument is %s; give a function of x that gives residuals'):format(fname, check.show(f)), 2)
  end
  local o = check.opts(fname, opts, M.OPTS, 3)
  local x = M.list(fname, 'x0', x0)
  local n = #x
  if n == 0 then error(('%s: x0 is empty; give a start for every variable'):format(fname), 2) end
  for i = 1, n do
    if not (x[i] > -INF and x[i] < INF) then
      error(('%s: x0[%d] is %g; give finite numbers'):format(fname, i, x[i]), 2)
    end
  end
  local low, high, bounded = M.bounds(fname, o.bounds, x)
  local method, jac = o.method or 'trf', o.jac or 'auto'
  M.check_jac(fname, o.jac)
  local derivatives = type(jac) == 'function' and 'function' or jac
  if jac == 'forward' or jac == 'reverse' then jac = exact.jacobian(f, jac) end
  local rho = loss.resolve(fname, o.loss)
  if method == 'lm' then
    if bounded then error(('%s: method lm takes no bounds; use trf or dogbox'):format(fname), 2) end
    if rho then error(("%s: method lm takes the linear loss only; use trf or dogbox"):format(fname), 2) end
  end
  local settings = M.settings(fname, o, x, low, high, method)
  local diff_step = o.diff_step and M.list(fname, 'diff_step', o.diff_step, n)
  local problem = problem_of.new(fname, f, { jac = jac, loss = rho, f_scale = o.f_scale, diff_step = diff_step,
    low = low, high = high, derivatives = derivatives,
    device = tensor.is(x0) and x0._device ~= 0 and x0._device or nil })
  if method == 'lm' then
    local m = problem:at(x).r:numel()
    problem.nfev = 0
    if m < n then
      error(('%s: method lm needs at least as many residuals as variables, there are %d and %d; use trf or dogbox')
        :format(fname, m, n), 2)
    end
  end
  local result, point, small = M.solve(problem, x, method, settings)
  if result.status == -4 then
    error(('%s: the residuals are %s and not all finite at x0; start where the function is defined'):format(fname,
      tensor.describe(point.r)), 2)
  end
  result.fun, result.derivatives = point.r, problem.derived
  if point.Jt then result.jac = point.Jt.mT end
  result.grad = small and op.from_table(small.g)
  if problem.device then
    for _, name in ipairs { 'x', 'fun', 'jac', 'grad', 'active_mask' } do
      if result[name] then result[name] = tensor.moved(result[name], problem.device, 3) end
    end
  end
  return result
end

return M
