-- krylov.lua - what the iterative solvers share: operators, scalars, turns, stopping, results.
--
-- An operator is a square tensor or a Lua function x -> A x of tensors. The scalars of the recurrences are 0-d tensors
-- and their turns a loop of the graph, so that one text serves plain calls and functions that are compiled or
-- vectorised. Holds the options, the messages and the table of results of the family.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local stack = require 'mascon.array.stacks'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

-- ---------------------------------------------------------------- scalars and vectors

local function complex(x) return tensor.kind[x.dtype] == 'c' end
M.complex = complex

--- A number as a 0-d tensor, where `like` is.
local function number(v, dtype, like) return create.full({}, v, { dtype = dtype, device = like and like.device }) end
M.number = number

--- Inner product, conjugate in the first factor.
function M.dot(a, b) return F.matmul(complex(a) and F.conj(a) or a, b) end

--- Its real part, where theory says that it has no other.
function M.real_dot(a, b)
  local d = M.dot(a, b)
  return complex(d) and F.real(d) or d
end

--- Euclidean norm.
function M.norm(x)
  if not complex(x) then return F.sqrt(F.matmul(x, x)) end
  local re, im = F.real(x), F.imag(x)
  return F.sqrt(F.matmul(re, re) + F.matmul(im, im))
end

--- What a condition (a 0-d bool tensor) says; nil where that is not known yet.
local function says(condition)
  if tensor.known(condition) then return condition:item() end
end

--- a / b where `good`, else 0.
function M.ratio(a, b, good)
  local yes = says(good)
  if yes ~= nil then return yes and a / b or number(0, (is(a) and a or b).dtype, good) end
  return F.where(good, a / F.where(good, b, 1), 0)
end

--- y + a x, a a scalar.
function M.add_scaled(y, a, x)
  if complex(y) then return y + x * a end
  return F.fma(x, a, y)
end

--- A number of a loop as it travels in a graph, where `like` is.
local function code(v, like) return is(v) and v or number(v, 'i64', like) end
--- The same of a list whose tensors are on one device.
local function codes(...)
  local out, like = { ... }, nil
  for _, v in ipairs(out) do like = like or is(v) and v end
  for i, v in ipairs(out) do out[i] = code(v, like) end
  return out
end

--- yes(...) where a condition holds, else no(...); whole numbers among what they return are those of loops.
function M.choose(condition, yes, no, ...)
  local now = says(condition)
  if now ~= nil then return (now and yes or no)(...) end
  return require('mascon.transform.branch').cond(condition, function(...) return unpack(codes(yes(...))) end,
    function(...) return unpack(codes(no(...))) end, ...)
end

--- w less its components along the rows of V, twice, so that what is left is orthogonal to working precision; the
--- components.
--- Source: Giraud, Langou and Rozloznik, The loss of orthogonality in the Gram-Schmidt orthogonalization process, 2005.
function M.orthogonalise(V, w)
  local sum
  for _ = 1, 2 do
    local h = complex(w) and F.conj(F.matmul(V, F.conj(w))) or F.matmul(V, w)
    w = F.subtract(w, F.matmul(h, V))
    sum = sum and F.add(sum, h) or h
  end
  return w, sum
end

-- ---------------------------------------------------------------- arguments

--- A tensor [m, n] or a function as a function of vectors, with its sizes where they are known. `what` names it in
--- messages.
function M.operator(fname, what, A, dtype)
  if type(A) == 'function' then
    return function(x)
      local y = A(x)
      if not is(y) then
        error(('%s: the function %s gave %s; it must give a tensor'):format(fname, what, check.show(y)), 3)
      end
      if y.ndim ~= 1 then
        error(('%s: the function %s gave %s for %s; it must give a vector'):format(fname, what, tensor.describe(y),
          tensor.describe(x)), 3)
      end
      return y.dtype == dtype and y or y:to(dtype)
    end
  end
  A = stack.operand(fname, A)
  if A.ndim ~= 2 then
    error(('%s: %s is %s; give one matrix, or a function of a vector'):format(fname, what, tensor.describe(A)), 3)
  end
  A = A:to(dtype)
  return function(x) return F.matmul(A, x) end, A.shape[1], A.shape[2], A
end

--- The dtype in which an operator and vectors meet: f32, f64, c64 or c128.
function M.common_dtype(fname, ...)
  local lib = require 'mascon.core.ffi'
  local dtype
  for i = 1, select('#', ...) do
    local x = select(i, ...)
    if type(x) ~= 'nil' and type(x) ~= 'function' then
      local t = stack.operand(fname, x)
      dtype = dtype and lib.C.mc_promote_types(dtype, t._dtype) or t._dtype
    end
  end
  return tensor.name[dtype]
end

--- A vector argument, copied into a dtype.
function M.vector(fname, what, v, n, dtype)
  v = op.operand(fname, v, 3)
  if v.ndim ~= 1 or n and v.shape[1] ~= n then
    error(('%s: %s is %s; give a vector%s'):format(fname, what, tensor.describe(v),
      n and (' of %d elements'):format(n) or ''), 3)
  end
  return v.dtype == dtype and methods.copy(v) or v:to(dtype)
end

--- Options of the solvers of square systems.
M.OPTS = {
  x0 = { nil, 'any' }, rtol = { 1e-5, 'number >= 0' }, atol = { 0, 'number >= 0' }, maxiter = { nil, 'integer >= 0' },
  M = { nil, 'any' }, callback = { nil, 'function' },
}

--- Refuses a right side that is not finite, as far as its values are known.
function M.finite(fname, b)
  if not op.certain(F.isfinite(b)) then
    error(('%s: b is %s and holds NaN or infinity; find them with isfinite'):format(fname, tensor.describe(b)), 3)
  end
end

function M.no_callback(fname)
  error(fname .. ': option callback is called with values, which are not known in a function that is compiled or '
    .. 'vectorised; leave it out', 3)
end

---@class mascon.System what a method works on
---@field apply fun(x: mc.tensor): mc.tensor the operator; further ones: precondition, adjoint
---@field b mc.tensor
---@field x0? mc.tensor
---@field dtype string
---@field maxiter integer
---@field goal? mc.tensor residual at which it is solved, in the place of rtol and atol

--- A square system made ready.
---@return mascon.System
function M.system(fname, A, b, o)
  local dtype = M.common_dtype(fname, A, b, o.x0, o.M)
  b = M.vector(fname, 'b', b, nil, dtype)
  local n = b.shape[1]
  local apply, rows, cols = M.operator(fname, 'A', A, dtype)
  if rows and (rows ~= n or cols ~= n) then
    error(('%s: A is [%d, %d], b has %d elements; the matrix must be square and fit'):format(fname, rows, cols, n), 3)
  end
  if o.callback and not tensor.known(b) then M.no_callback(fname) end
  local s = { name = fname, n = n, b = b, dtype = dtype, maxiter = o.maxiter or 10 * n, callback = o.callback,
    rtol = o.rtol, atol = o.atol }
  function s.apply(x)
    local y = apply(x)
    if y.shape[1] ~= n then
      error(('%s: the function A gave %s for %s; it must give as many elements'):format(fname, tensor.describe(y),
        tensor.describe(x)), 3)
    end
    return y
  end
  M.finite(fname, b)
  if o.M ~= nil then
    local precondition, mr, mc = M.operator(fname, 'M', o.M, dtype)
    if mr and (mr ~= n or mc ~= n) then
      error(('%s: M is [%d, %d], b has %d elements; the matrix must be square and fit'):format(fname, mr, mc, n), 3)
    end
    s.precondition = precondition
  end
  if o.x0 ~= nil then s.x0 = M.vector(fname, 'x0', o.x0, n, dtype) end
  return s
end

--- M x, or x where there is no M.
function M.precondition(s, x)
  if s.precondition then return s.precondition(x) end
  return x
end

-- ---------------------------------------------------------------- turns

-- How a loop stands: it goes on, it is done, the callback stopped it; then the reasons of a method, those of turns that
-- do not count and those of turns that do.
M.RUNS, M.DONE, M.STOPPED, M.COUNTED = 0, 1, 2, 10

--- The status `k` where a condition holds, else `other`: a number where the condition is known, else a 0-d tensor.
function M.status(condition, k, other)
  local yes = says(condition)
  if yes ~= nil then return yes and k or not yes and other end
  return F.where(condition, code(k, condition), code(other, condition))
end

--- The residual at which a system is solved.
function M.target(s) return s.goal or F.maximum(M.norm(s.b) * s.rtol, s.atol) end

--- The first x and its residual b - A x.
function M.start(s)
  if s.x0 then return s.x0, F.subtract(s.b, s.apply(s.x0)) end
  return tensor.empty(s.name, { s.n }, s.dtype, 4, s.b._device):fill_(0), s.b
end

--- What the callback says after turn k, in which the status is a number.
function M.heard(s, x, k, residual, status)
  if not s.callback or status > M.STOPPED then return status end
  local stop = s.callback(x, { iterations = k, residual = is(residual) and residual:item() or residual })
  return stop and status == M.RUNS and M.STOPPED or status
end

--- Turns of a method: turn(own, k) -> own, status; own is a list of tensors that keep their forms, and of whole
--- numbers; k is the number of the turn. Where values are known k, statuses and those numbers stay numbers.
---@return mc.tensor[] own
---@return any status
---@return any k turns
function M.turns(s, own, status, turn)
  if not require('mascon.graph.recording').mode() then
    local k = 0
    while status == M.RUNS and k < s.maxiter do
      own, status = turn(own, k + 1)
      if status <= M.STOPPED or status >= M.COUNTED then k = k + 1 end
    end
    return own, status, k
  end
  local n, state = #own, codes(unpack(own))
  state[n + 1], state[n + 2] = code(status, state[1]), code(0, state[1])
  local out = require('mascon.transform.loop').loop(function(v)
    return F.logical_and(F.eq(v[n + 1], M.RUNS), F.lt(v[n + 2], s.maxiter))
  end, function(v)
    local k = v[n + 2] + 1
    local new, now = turn({ unpack(v, 1, n) }, k)
    new, now = codes(unpack(new)), code(now, new[1])
    new[n + 1], new[n + 2] = now, F.where(F.logical_or(F.le(now, M.STOPPED), F.ge(now, M.COUNTED)), k, v[n + 2])
    return new
  end, state)
  return { unpack(out, 1, n) }, out[n + 1], out[n + 2]
end

-- ---------------------------------------------------------------- results

--- x, status, turns, residual and further scalars, as methods return them.
function M.outcome(x, status, k, ...) return { x, code(status, x), code(k, x), ... } end

--- Those of a square system: the residual is computed anew, and decides.
function M.solved(s, x, status, k)
  local residual = M.norm(F.subtract(s.b, s.apply(x)))
  -- the recurrence may run ahead of the true residual by rounding: a factor that both share the digits of
  local eps = stack.EPS[s.dtype]
  local fine = F.le(residual, M.target(s) * (1 + 64 * s.n ^ 0.5 * eps) + M.norm(s.b) * (64 * eps))
  local other = is(status) and F.where(F.eq(status, M.DONE), code(M.RUNS, status), status)
    or status == M.DONE and M.RUNS or status
  return M.outcome(x, M.status(fine, M.DONE, other), k, residual)
end

--- The table of results; where values are known their scalars are numbers.
---@param outs mc.tensor[] x, status, turns, residual, further scalars
---@param reasons string[] of the method, from 3 on
---@param more? string[] names of the further scalars
function M.result(outs, reasons, more)
  local status = outs[2]
  local known = tensor.known(status)
  local r = { x = outs[1], iterations = outs[3], residual = outs[4] }
  for i, name in ipairs(more or {}) do r[name] = outs[4 + i] end
  if not known then
    r.converged = F.eq(status, M.DONE)
    return r
  end
  for name, v in pairs(r) do if name ~= 'x' then r[name] = v:item() end end
  local at = status:item()
  r.converged = at == M.DONE
  if not r.converged then
    r.reason = at == M.STOPPED and 'the callback stopped it' or reasons[at] or 'maxiter is reached'
  end
  return r
end

return M
