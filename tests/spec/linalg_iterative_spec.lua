-- linalg_iterative_spec.lua - the iterative solvers of mc.linalg: what each promises, operators that are functions,
-- stopping, messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local L, R = mc.linalg, mc.random
local tol = support.load 'tol'

local function says(pattern, f) assert.matches(pattern, support.message(f)) end
local function norm(x) return math.sqrt(mc.sum(mc.square(mc.abs(x))):item()) end
local function draw(shape, dtype, key)
  local x = R.normal(shape, { key = key })
  if dtype:sub(1, 1) == 'c' then x = x:to 'c128' + R.normal(shape, { key = key + 1000 }) * mc.complex(0, 1) end
  return x:to(dtype)
end
local function adjoint(a) return a.dtype:sub(1, 1) == 'c' and mc.conj(a.mT) or a.mT end
local below = tol.below

local DTYPES = { 'f32', 'f64', 'c64', 'c128' }
local function definite(n, dtype, key)
  local a = draw({ n, n }, dtype, key)
  return mc.matmul(a, adjoint(a)) / n + mc.eye(n, { dtype = dtype })
end
local function plain(n, dtype, key)
  return draw({ n, n }, dtype, key) / math.sqrt(n) + mc.eye(n, { dtype = dtype }) * 3
end
local SOLVERS = { cg = definite, bicgstab = plain, gmres = plain }

--- The one-dimensional Laplacian without a matrix.
local function laplacian(x)
  local y = x * 2
  y['2:'] = y['2:'] - x[':-2']
  y[':-2'] = y[':-2'] - x['2:']
  return y
end

describe('the solvers', function()
  it('reach the residual asked for, in the dtype of the system, and report it as it is', function()
    for name, matrix in pairs(SOLVERS) do
      for _, dtype in ipairs(DTYPES) do
        local n, rtol = 60, (dtype == 'f32' or dtype == 'c64') and 1e-5 or 1e-10
        local A, b = matrix(n, dtype, 1), draw({ n }, dtype, 2)
        local r = L[name](A, b, { rtol = rtol })
        assert(r.converged, ('%s %s: %s'):format(name, dtype, tostring(r.reason)))
        assert.equal(dtype, r.x.dtype)
        assert.is_nil(r.reason)
        local residual = norm(b - mc.matmul(A, r.x))
        below(residual - r.residual, 100 * tol.kind[dtype].eps * norm(b))
        below(r.residual, rtol * norm(b) + 100 * tol.kind[dtype].eps * norm(b))
      end
    end
  end)
  it('take functions for the matrix and for the preconditioner', function()
    for name, matrix in pairs(SOLVERS) do
      local A, b = matrix(40, 'f64', 3), draw({ 40 }, 'f64', 4)
      local inverse, products = L.inv(A), 0
      local by_tensor = L[name](A, b, { rtol = 1e-9 })
      local by_function = L[name](function(x)
        products = products + 1
        return mc.matmul(A, x)
      end, b, { rtol = 1e-9 })
      assert.is_true(mc.array_equal(by_tensor.x, by_function.x))
      assert.equal(by_tensor.iterations, by_function.iterations)
      assert.is_true(products >= by_function.iterations)
      for _, M in ipairs { inverse, function(x) return mc.matmul(inverse, x) end } do
        local r = L[name](A, b, { rtol = 1e-9, M = M })
        assert.is_true(r.converged and r.iterations <= 2)
      end
    end
  end)
  it('find in n steps what has n dimensions', function()
    local n = 50
    local b = R.normal({ n }, { key = 1 })
    local r = L.cg(laplacian, b, { rtol = 1e-10 })
    assert.is_true(r.converged and r.iterations <= n)
    assert.is_true(L.gmres(laplacian, b, { rtol = 1e-10, restart = n }).iterations <= n)
    -- a matrix with three eigenvalues takes three steps
    local d = mc.take(mc.tensor { 1, 2, 5 }, R.choice(3, { n }, { key = 2 }))
    assert.is_true(L.cg(function(x) return x * d end, b, { rtol = 1e-10 }).iterations <= 3)
    assert.is_true(L.gmres(function(x) return x * d end, b, { rtol = 1e-10 }).iterations <= 3)
  end)
  it('start from x0, stop at maxiter, at atol, at the word of the callback', function()
    for name, matrix in pairs(SOLVERS) do
      local A, b = matrix(40, 'f64', 5), draw({ 40 }, 'f64', 6)
      local x = L.solve(A, b)
      local r = L[name](A, b, { x0 = x })
      assert.equal(0, r.iterations)
      assert.is_true(r.converged)
      local x0 = mc.ones { 40 }
      assert.is_true(L[name](A, b, { x0 = x0 }).converged)
      assert.is_true(mc.array_equal(x0, mc.ones { 40 })) -- untouched
      r = L[name](A, b, { rtol = 1e-14, maxiter = 2 })
      assert.equal(2, r.iterations)
      assert.is_false(r.converged)
      assert.equal('maxiter is reached', r.reason)
      local seen = {}
      r = L[name](A, b, { rtol = 1e-14, callback = function(at, info)
        seen[#seen + 1] = info.residual
        assert.equal(40, at:numel())
        assert.equal(#seen, info.iterations)
        return #seen == 3
      end })
      assert.equal(3, r.iterations)
      assert.equal('the callback stopped it', r.reason)
      r = L[name](A, b, { rtol = 0, atol = 0.5 })
      assert.is_true(r.converged and r.residual <= 0.5)
      r = L[name](A, mc.zeros { 40 })
      assert.is_true(r.converged and norm(r.x) == 0)
    end
  end)
  it('lower the residual at every step of gmres', function()
    local last = math.huge
    L.gmres(plain(60, 'f64', 7) - mc.eye(60) * 3, draw({ 60 }, 'f64', 8),
      { rtol = 1e-10, restart = 15, maxiter = 60, callback = function(_, info)
        assert(info.residual <= last * (1 + 1e-9))
        last = info.residual
      end })
    assert.is_true(last < math.huge)
  end)
  it('say when the method does not fit the matrix', function()
    local r = L.cg(-mc.eye(3), mc.ones { 3 })
    assert.is_false(r.converged)
    assert.equal('A or M is not positive definite', r.reason)
    r = L.gmres(mc.zeros { 3, 3 }, mc.ones { 3 })
    assert.is_false(r.converged)
    r = L.bicgstab(mc.tensor { { 0, 1 }, { -1, 0 } }, mc.tensor { 1, 0 })
    assert.is_false(r.converged)
    assert.matches('use gmres', r.reason)
    assert.is_true(L.gmres(mc.tensor { { 0, 1 }, { -1, 0 } }, mc.tensor { 1, 0 }).converged)
  end)
  it('name wrong arguments', function()
    for name in pairs(SOLVERS) do
      says(name .. ': A is %[2, 3%], b has 3 elements; the matrix must be square and fit',
        function() local _ = L[name](mc.ones { 2, 3 }, mc.ones { 3 }) end)
      says(name .. ': b is f64%[2,2%]@cpu; give a vector',
        function() local _ = L[name](mc.eye(2), mc.ones { 2, 2 }) end)
      says(name .. ': b is f64%[2%]@cpu and holds NaN or infinity',
        function() local _ = L[name](mc.eye(2), mc.tensor { 1, 0 / 0 }) end)
      says(name .. ': x0 is f64%[3%]@cpu; give a vector of 2 elements',
        function() local _ = L[name](mc.eye(2), mc.ones { 2 }, { x0 = mc.ones { 3 } }) end)
      says(name .. ': the function A gave nil; it must give a tensor',
        function() local _ = L[name](function() end, mc.ones { 2 }) end)
      says(name .. ': the function A gave f64%[3%]@cpu for f64%[2%]@cpu; it must give as many elements',
        function() local _ = L[name](function() return mc.ones { 3 } end, mc.ones { 2 }) end)
      says(name .. ': A is f64%[1,2,2%]@cpu; give one matrix',
        function() local _ = L[name](mc.ones { 1, 2, 2 }, mc.ones { 2 }) end)
      says(name .. ': option "tol" is unknown', function() local _ = L[name](mc.eye(2), mc.ones { 2 }, { tol = 1 }) end)
    end
  end)
end)

describe('lsqr', function()
  it('solves consistent systems, least squares, damped and short ones', function()
    for _, dtype in ipairs(DTYPES) do
      local eps = tol.kind[dtype].eps
      local tight = { atol = 8 * eps, btol = 8 * eps }
      local A, b = draw({ 50, 12 }, dtype, 1), draw({ 50 }, dtype, 2)
      local r = L.lsqr(A, b, tight)
      assert.is_true(r.converged)
      below(norm(mc.matmul(adjoint(A), b - mc.matmul(A, r.x))), 2000 * eps * norm(b) * norm(A))
      r = L.lsqr(A, mc.matmul(A, draw({ 12 }, dtype, 3)), tight)
      below(r.residual, 2000 * eps * norm(b))
      -- underdetermined: the shortest solution lies in the rows
      r = L.lsqr(adjoint(A), draw({ 12 }, dtype, 4), tight)
      assert.is_true(r.converged)
      below(norm(r.x - mc.matmul(A, L.lstsq(A, r.x).x)), 5000 * eps * norm(r.x))
    end
  end)
  it('takes functions with their adjoints', function()
    local A, b = draw({ 30, 8 }, 'c128', 5), draw({ 30 }, 'c128', 6)
    local r = L.lsqr(function(x) return mc.matmul(A, x) end, b,
      { adjoint = function(y) return mc.matmul(adjoint(A), y) end, atol = 1e-12, btol = 1e-12 })
    below(norm(r.x - L.lsqr(A, b, { atol = 1e-12, btol = 1e-12 }).x), 1e-9)
    r = L.lsqr(A, b, { x0 = L.lstsq(A, b).x, atol = 1e-8 })
    assert.is_true(r.converged and r.iterations <= 2)
    assert.is_true(L.lsqr(A, mc.zeros({ 30 }, { dtype = 'c128' })).converged)
    r = L.lsqr(A, b, { atol = 0, btol = 0, maxiter = 1 })
    assert.is_true(not r.converged and r.reason == 'maxiter is reached')
  end)
  it('says what is wrong', function()
    says('lsqr: A is a function; give its adjoint too', function() local _ = L.lsqr(function() end, mc.ones { 3 }) end)
    says('lsqr: A is f64%[2,3%]@cpu, b is f64%[3%]@cpu; b needs as many elements as A has rows',
      function() local _ = L.lsqr(mc.ones { 2, 3 }, mc.ones { 3 }) end)
  end)
end)

describe('the solvers in a recording', function()
  local n = 7
  local TIGHT = { rtol = 1e-14 }
  local function by(name, A, b, o)
    if name == 'lsqr' then
      return L.lsqr(A, b, { atol = 1e-15, btol = 1e-15, damp = o and o.damp, adjoint = o and o.adjoint })
    end
    return L[name](A, b, o or TIGHT)
  end
  local MATRIX = {
    cg = function(a)
      return mc.matmul(a, adjoint(a)) + mc.eye(n) * 2
    end, bicgstab = function(a) return a / 3 + mc.eye(n) * 3 end, gmres = function(a)
      return a / 3 + mc.eye(n) * 3
    end,
    lsqr = function(a) return mc.concat({ a / 3 + mc.eye(n) * 3, a[{ { 1, 2 } }] }, 1) end,
  }
  --- The same by factors.
  local function direct(name, A, b)
    if name == 'lsqr' then return L.solve(mc.matmul(adjoint(A), A), mc.matmul(adjoint(A), b)) end
    return L.solve(A, b)
  end
  local function close(want, got, what)
    local size = mc.max(mc.abs(want)):item()
    assert(mc.max(mc.abs(got - want)):item() <= 1e-11 * size,
      ('%s: %s, want %s'):format(what, tostring(got), tostring(want)))
  end
  local function rows(name, b) return name == 'lsqr' and mc.concat({ b, b[{ { 1, 2 } }] }, 1) or b end

  for name, matrix in pairs(MATRIX) do
    --- Losses of a and b: by the iterative solver in some way, and by factors.
    local function losses(dtype, way)
      local w = R.normal({ n }, { key = 9 })
      local function size(x) return mc.sum(mc.abs(x) ^ 2 * w) + mc.sum(mc.real(x) * w) end
      return function(a, b)
        local A = matrix(a)
        if way == 'tensor' then return size(by(name, A, rows(name, b)).x) end
        local o = { rtol = 1e-14, adjoint = name == 'lsqr' and function(y) return mc.matmul(adjoint(A), y) end or nil }
        if way == 'steered' and name ~= 'lsqr' then o.x0, o.M = b * 0.5, function(x) return x * 0.3 end end
        return size(by(name, function(x) return mc.matmul(A, x) end, rows(name, b), o).x)
      end, function(a, b)
        return size(direct(name, matrix(a), rows(name, b)))
      end, draw({ n, n }, dtype, 1), draw({ n }, dtype, 2)
    end
    it('have the derivatives of what they solve: ' .. name, function()
      for _, dtype in ipairs { 'f64', 'c128' } do
        for _, way in ipairs { 'tensor', 'function', 'steered' } do
          local f, exact, a, b = losses(dtype, way)
          local what = ('%s %s %s'):format(name, dtype, way)
          local which = { argnums = { 1, 2 } }
          local want, got = mc.grad(exact, which)(a, b), mc.grad(f, which)(a, b)
          for i = 1, 2 do close(want[i], got[i], ('%s, gradient %d'):format(what, i)) end
          local _, moved = mc.jvp(exact, { a, b }, { b:reshape(1, n) * a, a[1] })
          local _, dot = mc.jvp(f, { a, b }, { b:reshape(1, n) * a, a[1] })
          close(moved, dot, what .. ', tangent')
          local c = mc.compile(mc.grad(f, which), { tier = 'vm' })
          for call = 1, 2 do
            local again = c(a, b)
            for i = 1, 2 do
              assert(mc.array_equal(got[i], again[i]), ('%s, compiled gradient %d, call %d'):format(what, i, call))
            end
          end
        end
      end
      local f, exact, a, b = losses('f64', 'function')
      local function along(g) return mc.hessian(function(s) return g(a * s[1], b * s[2]) end) end
      close(along(exact)(mc.ones { 2 }), along(f)(mc.ones { 2 }), 'second order')
    end)
    it('compile and vectorise: ' .. name, function()
      local a, b = draw({ n, n }, 'f64', 3), draw({ n }, 'f64', 4)
      local function solve(A, c) return by(name, A, c) end
      local g = mc.compile(solve, { tier = 'vm' })
      for _, s in ipairs { 1, 0.3, 2 } do -- other numbers of steps
        local A, c = matrix(a * s), rows(name, b * s)
        local want, got = solve(A, c), g(A, c)
        assert.is_true(mc.array_equal(want.x, got.x))
        assert.equal(want.iterations, got.iterations:item())
        assert.equal(want.residual, got.residual:item())
        assert.equal(want.converged, got.converged:item())
        assert.is_nil(got.reason)
      end
      assert.equal(1, g.traces)
      local many, right = mc.stack({ matrix(a), matrix(a * 0.3), matrix(a * 2) }, 1),
        mc.stack({ rows(name, b), rows(name, b * 5), rows(name, b * 1e-9) }, 1)
      for _, v in ipairs { mc.vmap(solve), mc.compile(mc.vmap(solve), { tier = 'vm' }) } do
        local got = v(many, right)
        for i = 1, 3 do
          close(solve(many[i], right[i]).x, got.x[i], 'element ' .. i)
          assert.equal(solve(many[i], right[i]).iterations, got.iterations[i]:item())
        end
      end
      local limited = mc.compile(function(A, c) return L[name](A, c, { maxiter = 1 }) end)
      for _ = 1, 2 do
        local r = limited(matrix(a), rows(name, b))
        assert.is_false(r.converged:item())
        assert.equal(1, r.iterations:item())
      end
      says(name .. ': option callback is called with values, which are not known', function()
        local _ =
          mc.compile(function(c) return L[name](matrix(a), c, { callback = function() end }).x end)(rows(name, b))
      end)
    end)
  end
  it('take the turns of plain calls through restarts of gmres', function()
    local A, b = plain(30, 'f64', 7), draw({ 30 }, 'f64', 8)
    for _, o in ipairs { { rtol = 1e-10, restart = 3 }, { rtol = 1e-10, restart = 4, maxiter = 10 },
      { rtol = 1e-3, restart = 30 } } do
      local g = mc.compile(function(a, c) return L.gmres(a, c, o) end, { tier = 'vm' })
      for _ = 1, 2 do
        local want, got = L.gmres(A, b, o), g(A, b)
        close(want.x, got.x, 'x')
        assert.equal(want.iterations, got.iterations:item())
      end
    end
  end)
  it('take the damped minimum back, and end without a solution as plain calls do', function()
    local A, b = draw({ 9, 4 }, 'f64', 5), draw({ 9 }, 'f64', 6)
    local function damped(a, c) return mc.sum(by('lsqr', a, c, { damp = 0.7 }).x ^ 2) end
    local function exact(a, c) return mc.sum(L.solve(mc.matmul(a.mT, a) + mc.eye(4) * 0.49, mc.matmul(a.mT, c)) ^ 2) end
    for i = 1, 2 do close(mc.grad(exact, { argnums = i })(A, b), mc.grad(damped, { argnums = i })(A, b), 'damped') end
    for _, case in ipairs { { 'cg', -mc.eye(3), mc.ones { 3 } }, { 'gmres', mc.zeros { 3, 3 }, mc.ones { 3 } },
      { 'bicgstab', mc.tensor { { 0, 1 }, { -1, 0 } }, mc.tensor { 1, 0 } } } do
      local name, singular, c = unpack(case)
      local g = mc.compile(function(a, y) return L[name](a, y) end)
      for _ = 1, 2 do
        local got = g(singular, c)
        assert.is_false(got.converged:item())
        assert.equal(L[name](singular, c).iterations, got.iterations:item())
      end
    end
  end)
end)

describe('eigsh', function()
  it('gives the ends of the spectrum with orthonormal vectors', function()
    for _, dtype in ipairs(DTYPES) do
      local A = draw({ 120, 120 }, dtype, 1)
      A = A + adjoint(A)
      local all = L.eigvalsh(A)
      local eps, size = tol.kind[dtype].eps, mc.max(mc.abs(all)):item()
      for _, which in ipairs { 'LA', 'SA', 'LM' } do
        local r = L.eigsh(A, { k = 5, which = which })
        assert(r.converged, which)
        local want = which == 'LA' and all['-5:'] or which == 'SA' and all['1:5']
        if not want then
          local order = mc.argsort(mc.abs(all), { descending = true })
          want = mc.take(all, order[{ { 1, 5 } }]):sort()
        end
        assert.equal(want.dtype, r.values.dtype)
        below(mc.max(mc.abs(r.values - want)):item(), 500 * eps * size)
        assert.same({ 120, 5 }, { unpack(r.vectors.shape) })
        below(norm(mc.matmul(adjoint(r.vectors), r.vectors) - mc.eye(5, { dtype = dtype })), 500 * eps)
        below(norm(mc.matmul(A, r.vectors) - r.vectors * r.values), 500 * eps * size)
      end
    end
  end)
  it('takes functions, also inverses for the middle', function()
    local n = 300
    local r = L.eigsh(function(x)
      return L.solve_banded(mc.stack { -mc.ones { n }, mc.full({ n }, 2), -mc.ones { n } }, x, { lower = 1, upper = 1 })
    end, { n = n, k = 3, which = 'LM' })
    assert.is_true(r.converged)
    for k = 1, 3 do below(1 / r.values[4 - k]:item() - (2 - 2 * math.cos(k * math.pi / (n + 1))), 1e-12) end
  end)
  it('finds degenerate eigenvalues and lives with invariant spaces', function()
    local d = mc.concat { mc.ones { 40 }, mc.tensor { 3, 3, 7 } }
    local r = L.eigsh(function(x) return x * d end, { n = 43, k = 3, which = 'LA' })
    assert.is_true(r.converged)
    below(mc.max(mc.abs(r.values - mc.tensor { 3, 3, 7 })):item(), 1e-12)
    r = L.eigsh(mc.eye(30) * 2, { k = 4 })
    assert.is_true(r.converged)
    below(mc.max(mc.abs(r.values - 2)):item(), 1e-13)
    below(norm(mc.matmul(r.vectors.mT, r.vectors) - mc.eye(4)), 1e-12)
    r = L.eigsh(mc.eye(30) * 2, { k = 2, v0 = mc.ones { 30 }, vectors = false })
    assert.is_nil(r.vectors)
  end)
  it('gives the same numbers each time, and says when it has not found them', function()
    local A = definite(200, 'f64', 3)
    assert.is_true(mc.array_equal(L.eigsh(A, { k = 2 }).values, L.eigsh(A, { k = 2 }).values))
    local r = L.eigsh(A, { k = 6, which = 'SA', maxiter = 1 })
    assert.is_false(r.converged)
    for _, transform in ipairs { mc.grad, mc.compile } do
      says('eigsh: A depends on the arguments of a function that is differentiated, compiled or vectorised',
        function() local _ = transform(function(a) return mc.sum(L.eigsh(a, { k = 1 }).values) end)(mc.eye(4)) end)
    end
    for _, transform in ipairs { mc.grad, mc.compile } do -- what does not depend on arguments is a constant
      local f = transform(function(x)
        return mc.sum(x * L.eigsh(mc.diag(mc.tensor { 1, 2, 3, 4 }), { k = 1, which = 'LA' }).values)
      end)
      below(math.abs(mc.sum(f(mc.ones { 1 })):item() - 4), 1e-12)
    end
    says('eigsh: k is 3, A has 3 rows; give k below that, or use eigh',
      function() local _ = L.eigsh(mc.eye(3), { k = 3 }) end)
    says('eigsh: A is a function; give its size, n = ', function() local _ = L.eigsh(function(x) return x end) end)
    says('eigsh: A is %[2, 3%]; it must be square', function() local _ = L.eigsh(mc.ones { 2, 3 }, { k = 1 }) end)
    says('eigsh: ncv is 3; it must exceed k = 3', function() local _ = L.eigsh(mc.eye(9), { k = 3, ncv = 3 }) end)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
