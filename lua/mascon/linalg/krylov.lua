-- krylov.lua - what the iterative solvers share: operators, vectors with few passes, complex scalars, stopping.
--
-- An operator is a square tensor or a Lua function x -> A x of tensors. Scalars of the recurrences are pairs { re, im }, so that one text
-- serves real and complex systems. Owns the options and the messages of the family. May not know any method.
local tensor = require 'mascon.tensor'
local check = require 'mascon.check'
local op = require 'mascon.op'
local stack = require 'mascon.linalg.stack'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

-- ---------------------------------------------------------------- scalars

function M.times(a, b) return { a[1] * b[1] - a[2] * b[2], a[1] * b[2] + a[2] * b[1] } end
function M.over(a, b)
  local d = b[1] * b[1] + b[2] * b[2]
  return { (a[1] * b[1] + a[2] * b[2]) / d, (a[2] * b[1] - a[1] * b[2]) / d }
end
function M.minus(a) return { -a[1], -a[2] } end
function M.conj(a) return { a[1], -a[2] } end
function M.size(a) return math.sqrt(a[1] * a[1] + a[2] * a[2]) end

--- A pair as what ops take: a Lua number or a complex one.
local function value(a) return a[2] == 0 and a[1] or tensor.complex(a[1], a[2]) end
M.value = value

local function pair(v)
  if type(v) == 'number' then return { v, 0 } end
  return { v.re, v.im }
end

--- The elements of a 1-D tensor as pairs.
function M.pairs_of(t)
  local list = t:totable()
  for i = 1, #list do list[i] = pair(list[i]) end
  return list
end

-- ---------------------------------------------------------------- vectors

local function complex(x) return tensor.kind[x.dtype] == 'c' end
M.complex = complex

--- Inner product, conjugate in the first factor.
function M.dot(a, b)
  if complex(a) then return pair(F.matmul(F.conj(a), b):item()) end
  return { F.matmul(a, b):item(), 0 }
end

--- Euclidean norm.
function M.norm(x)
  if complex(x) then
    local re, im = F.real(x), F.imag(x)
    return math.sqrt(F.matmul(re, re):item() + F.matmul(im, im):item())
  end
  return math.sqrt(F.matmul(x, x):item())
end

--- y + a x in place of y, a a pair.
function M.add_scaled(y, a, x)
  if complex(y) or a[2] ~= 0 then return F.add(y, F.multiply(x, value(a)), { out = y }) end
  return F.fma(x, a[1], y, { out = y })
end

--- w less its components along the rows of V, twice, so that what is left is orthogonal to working precision; the components as pairs.
--- Source: Giraud, Langou and Rozloznik, The loss of orthogonality in the Gram-Schmidt orthogonalization process, 2005.
function M.orthogonalise(V, w)
  local sum
  for _ = 1, 2 do
    local h = complex(w) and F.conj(F.matmul(V, F.conj(w))) or F.matmul(V, w)
    w = F.subtract(w, F.matmul(h, V))
    sum = sum and F.add(sum, h) or h
  end
  return w, M.pairs_of(sum)
end

-- ---------------------------------------------------------------- arguments

--- A tensor [m, n] or a function as a function of vectors, with its sizes where they are known. `what` names it in messages.
function M.operator(fname, what, A, dtype)
  if type(A) == 'function' then
    return function(x)
      local y = A(x)
      if not is(y) then error(('%s: the function %s gave %s; it must give a tensor'):format(fname, what, check.show(y)), 3) end
      if y.ndim ~= 1 then error(('%s: the function %s gave %s for %s; it must give a vector'):format(fname, what, tensor.describe(y), tensor.describe(x)), 3) end
      return y.dtype == dtype and y or y:to(dtype)
    end
  end
  A = stack.operand(fname, A)
  if A.ndim ~= 2 then error(('%s: %s is %s; give one matrix, or a function of a vector'):format(fname, what, tensor.describe(A)), 3) end
  A = A:to(dtype)
  return function(x) return F.matmul(A, x) end, A.shape[1], A.shape[2], A
end

--- The dtype in which an operator and vectors meet: f32, f64, c64 or c128.
function M.common_dtype(fname, ...)
  local lib = require 'mascon.ffi'
  local code
  for i = 1, select('#', ...) do
    local x = select(i, ...)
    if type(x) ~= 'nil' and type(x) ~= 'function' then
      local t = stack.operand(fname, x)
      code = code and lib.C.mc_promote_types(code, t._dtype) or t._dtype
    end
  end
  return tensor.name[code]
end

--- A vector argument, copied into a dtype.
function M.vector(fname, what, v, n, dtype)
  v = op.operand(fname, v, 3)
  if v.ndim ~= 1 or n and v.shape[1] ~= n then
    error(('%s: %s is %s; give a vector%s'):format(fname, what, tensor.describe(v), n and (' of %d elements'):format(n) or ''), 3)
  end
  return v.dtype == dtype and methods.copy(v) or v:to(dtype)
end

--- Options of the solvers of square systems.
M.OPTS = {
  x0 = { nil, 'any' }, rtol = { 1e-5, 'number >= 0' }, atol = { 0, 'number >= 0' }, maxiter = { nil, 'integer >= 0' }, M = { nil, 'any' },
  callback = { nil, 'function' },
}

--- A square system made ready: apply, precondition, b, x, r = b - A x, the norm at which to stop, the largest number of steps.
function M.system(fname, A, b, o)
  local dtype = M.common_dtype(fname, A, b, o.x0, o.M)
  b = M.vector(fname, 'b', b, nil, dtype)
  local n = b.shape[1]
  local apply, rows, cols = M.operator(fname, 'A', A, dtype)
  if rows and (rows ~= n or cols ~= n) then
    error(('%s: A is [%d, %d], b has %d elements; the matrix must be square and fit'):format(fname, rows, cols, n), 3)
  end
  local s = { n = n, b = b, dtype = dtype, maxiter = o.maxiter or 10 * n, callback = o.callback, iterations = 0 }
  function s.apply(x)
    local y = apply(x)
    if y.shape[1] ~= n then error(('%s: the function A gave %s for %s; it must give as many elements'):format(fname, tensor.describe(y), tensor.describe(x)), 3) end
    return y
  end
  local size = M.norm(b)
  if not (size < math.huge) then error(('%s: b is %s and holds NaN or infinity; find them with isfinite'):format(fname, tensor.describe(b)), 3) end
  s.target = math.max(o.rtol * size, o.atol)
  s.precondition = function(x) return x end
  if o.M ~= nil then
    local precondition, mr, mc = M.operator(fname, 'M', o.M, dtype)
    if mr and (mr ~= n or mc ~= n) then error(('%s: M is [%d, %d], b has %d elements; the matrix must be square and fit'):format(fname, mr, mc, n), 3) end
    s.precondition = precondition
  end
  if o.x0 ~= nil then
    s.x = M.vector(fname, 'x0', o.x0, n, dtype)
    s.r = F.subtract(b, s.apply(s.x))
  else
    s.x = tensor.empty(fname, { n }, dtype, 4):fill_(0)
    s.r = methods.copy(b)
  end
  return s
end

--- One step more: true when the solver is to stop, because the residual is small enough or the callback says so.
function M.step(s, residual)
  s.iterations = s.iterations + 1
  if s.callback and s.callback(s.x, { iterations = s.iterations, residual = residual }) then s.stopped = true end
  return s.stopped or residual <= s.target
end

--- The table of results: the residual is computed anew, and decides.
function M.result(s, reason)
  local residual = M.norm(F.subtract(s.b, s.apply(s.x)))
  -- the recurrence may run ahead of the true residual by rounding: a factor that both share the digits of
  local fine = residual <= s.target * (1 + 64 * s.n ^ 0.5 * stack.EPS[s.dtype]) + 64 * stack.EPS[s.dtype] * M.norm(s.b)
  return { x = s.x, converged = fine, iterations = s.iterations, residual = residual, reason = not fine and (reason or s.stopped and 'the callback stopped it' or 'maxiter is reached') or nil }
end

return M
