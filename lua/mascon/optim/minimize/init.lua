-- minimize/init.lua - the door to the minimisers of one function: options by method, one form of results.
--
-- Holds the list of methods and which options each takes.
local check = require 'mascon.core.check'
local objective = require 'mascon.optim.objective'
local error = check.error
local M = {}

local METHODS = {
  lbfgs = { module = 'mascon.optim.minimize.lbfgs', run = 'run', opts = 'OPTS', bounds = true },
  cg = { module = 'mascon.optim.minimize.conjugate', run = 'cg', opts = 'CG' },
  ['newton-cg'] = { module = 'mascon.optim.minimize.conjugate', run = 'newton', opts = 'NEWTON' },
  ['nelder-mead'] = { module = 'mascon.optim.minimize.nelder_mead', run = 'run', opts = 'OPTS',
    bounds = true, values = true },
  ['cma-es'] = { module = 'mascon.optim.search.cma', run = 'run', opts = 'OPTS', bounds = true, values = true },
}
local ALIAS = { ['l-bfgs-b'] = 'lbfgs', ['l-bfgs'] = 'lbfgs', cma = 'cma-es' }
local NAMES = { 'lbfgs', 'cg', 'newton-cg', 'nelder-mead', 'cma-es' }

--- A minimum of f near x0.
---
--- f(x, args...): takes what has the form of x0 and returns one real number (a number or a tensor of one element).
--- x0: f32|f64 tensor of any shape, a list of numbers, or a tree of tensors; f64 unless all are f32.
---
--- Options of all methods: method: 'lbfgs' (default), 'cg', 'newton-cg', 'nelder-mead', 'cma-es', also as SciPy spells
--- them · tol: sets the method's own tolerances · maxiter · maxfev · callback(x, { nit, nfev, fun }): returns true to
--- stop · progress (false): true, a label or a mc.progress line · args: list of further arguments of f · compile
--- (false): f and its derivatives are replayed by mc.compile, many times as fast for small tensors; f may then not ask
--- for values, and is not run again for what else it does.
--- Derivatives (lbfgs, cg, newton-cg): jac: a function, true (f returns value and gradient), '2-point' or '3-point'
--- differences; nil: mc.value_and_grad, or 2-point differences where f returns a plain number, which has left the
--- tensors.
--- lbfgs: history (10) · gtol (1e-5): largest element of the gradient · ftol (2.2e-9): relative fall of a step ·
--- bounds: { low, high } of numbers or trees, or n pairs; mc.none for an open side. cg: gtol.
--- newton-cg: hess(x) [n, n], or hessp(x, p); else mc.hvp where mc.value_and_grad gives the gradient, or its
--- differences · xtol (1e-5): mean step · gtol (0). nelder-mead: see mc.optim.nelder_mead. cma-es: see mc.optim.cma_es;
--- sigma is required. These two compare values on the CPU; f gets points on the device of x0.
---
--- Result: { x (form of x0), fun, jac, nit, nfev, njev, nhev, success, status, message }; status 0 converged, 1
--- maxiter, 2 no lower value along the direction, 3 NaN, 4 maxfev, 99 stopped by the callback. A value that is NaN or
--- infinite counts as outside of the domain.
--- Errors: x0 or f(x0) not finite; what f or jac give has another form; bounds that cross; options of another method.
--- Source: Nocedal and Wright, Numerical optimization, 2006, algorithms 7.4 (lbfgs), 5.4 (cg), 7.1 (newton-cg);
--- Projected Newton methods for optimization problems with simple constraints, 1982 (bounds); Line search algorithms
--- with guaranteed sufficient decrease, 1994; SciPy optimize.minimize.
---     local function f(x) return mc.sum(mc.square(x - mc.tensor { 1, 2 })) end
---     mc.round(mc.optim.minimize(f, { 0, 0 }).x * 1e4) / 1e4  --> f64[2]@cpu { 1, 2 }
---     mc.optim.minimize(f, { 0, 0 }, { bounds = { mc.none, 0.5 } }).x  --> f64[2]@cpu { 0.5000, 0.5000 }
---@param f function
---@param x0 any
---@param opts? table
---@return table result
function M.minimize(f, x0, opts)
  local given = type(opts) == 'table' and opts.method or 'lbfgs'
  local name = type(given) == 'string' and given:lower() or given
  name = ALIAS[name] or name
  local method = METHODS[name]
  if not method then
    local near = type(given) == 'string' and check.nearest(given, NAMES)
    error(('optim.minimize: option method is %s; choose %s%s'):format(check.show(given), table.concat(NAMES, ', '),
      near and (' (did you mean %q?)'):format(near) or ''), 2)
  end
  local module = require(METHODS[name].module)
  local spec = { method = { nil, 'string' } }
  for _, from in ipairs { objective.OPTS, module[method.opts] } do
    for k, v in pairs(from) do spec[k] = v end
  end
  if not method.bounds then spec.bounds = nil end
  if method.values then spec.jac = nil end
  local o = check.opts('optim.minimize', opts, spec, 3)
  if method.values then o.jac = '2-point' end -- never asked for
  return module[method.run](objective.new('optim.minimize', f, x0, o), o)
end

return M
