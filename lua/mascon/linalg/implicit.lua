-- implicit.lua - iterative solvers in a recording: one call of the graph, whose derivatives are those of what is
-- solved, not of the steps.
--
-- A system says what its solution depends on: operators are traced as graphs, and what they read of the enclosing
-- functions becomes operands, beside b, the goal and x0. Going back through A x = b takes one solve with the adjoint
-- operator; through least squares, one with the normal equations; both are such calls again, so that derivatives of any
-- order compose. x0 and preconditioners only steer. Holds that. Source: Evaluating Derivatives, 2008, section 15.4
-- (implicit differentiation); jax.lax.custom_linear_solve
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local krylov = require 'mascon.linalg.krylov'
local F = op.functions
local M = {}

local OPERATORS = { 'apply', 'precondition', 'adjoint' }

local System
--- The call that stands for a solve: operands { what the operators read, b, goal, x0 }; graphs: of the operators, by
--- name.
local function kind()
  local region = require 'mascon.transform.region'
  local forward = require 'mascon.transform.forward'
  local K = region.kind 'solve'

  --- The system with operators that run graphs over these operands.
  function K:system(ins)
    local captured = region.part(ins, 1, self.fixed)
    local s = { b = ins[self.fixed + 1], x0 = self.with_x0 and ins[self.fixed + 3] or nil }
    for k, v in pairs(self.settings) do s[k] = v end
    if not self.normal then s.goal = ins[self.fixed + 2] end
    for name, graph in pairs(self.graphs) do
      s[name] = function(x) return region.run(graph, region.join(captured, { x }))[1] end
    end
    return s, captured
  end

  function K:run(ins) return self.method((self:system(ins))) end

  --- The method as a graph: loops and choices by values that are not known.
  function K:body()
    if not self.graph then
      local examples = {}
      for i, f in ipairs(self.forms) do examples[i] = create.zeros(f.shape, { dtype = f.dtype, device = f.device }) end
      self.graph = region.trace(self.title, function(...) return self:run { ... } end, examples)
      region.close { self.graph }
    end
    return self.graph
  end
  function K:batch(x, flags, size) return region.batch(self:body(), x, flags, size) end
  function K:lower(make)
    local graph = self:body()
    return { kind = 'once', parts = { make(graph) }, fixed = #graph.inputs, made = #graph.outputs }
  end

  --- Cotangents of the operands of an operator at x, from that of its result; sums[i] are added to.
  local function through(self, captured, x, g, wanted, sums)
    local back = region.back(self.graphs.apply, region.join(captured, { x }), { g }, wanted)
    for i = 1, self.fixed do
      if back[i] then sums[i] = sums[i] and sums[i] + back[i] or back[i] end
    end
  end

  --- The adjoint of an operator, turned round by its graph.
  local function adjoint(self, name, captured, like)
    local at = self.fixed + 1
    return function(y)
      return region.back(self.graphs[name], region.join(captured, { like }), { y }, { [at] = true })[at]
    end
  end

  function K:back(g, ins, y, _, wanted)
    if not g[1] then return {} end
    local s, captured = self:system(ins)
    local x, out = y[1], {}
    local size = krylov.norm(g[1])
    local back = { name = self.title, n = x.shape[1], dtype = s.dtype, b = g[1], maxiter = s.maxiter,
      restart = s.restart, hermitian = true }
    local multiplier
    if self.normal then
      -- A^H A x + damp^2 x = A^H b: with the multiplier m, cotangents are those of Re <A m, b - A x>
      local turned = adjoint(self, 'apply', captured, x)
      back.apply = function(v) return turned(s.apply(v)) + v * (s.damp * s.damp) end
      back.goal, back.maxiter = size * s.atol, 10 * back.n
      multiplier = M.solve(back, self.normal)[1]
      local image = s.apply(multiplier)
      through(self, captured, multiplier, s.b - s.apply(x), wanted, out)
      through(self, captured, x, -image, wanted, out)
      out[self.fixed + 1] = image
      return out
    end
    -- the same relative residual as the solve that is gone through
    local size_b = krylov.norm(s.b)
    back.goal = size * krylov.ratio(s.goal, size_b, F.gt(size_b, 0))
    back.hermitian = s.hermitian
    back.apply = s.hermitian and s.apply or adjoint(self, 'apply', captured, x)
    if s.precondition then
      back.precondition = s.hermitian and s.precondition or adjoint(self, 'precondition', captured, x)
    end
    multiplier = M.solve(back, self.method)[1]
    through(self, captured, x, -multiplier, wanted, out)
    out[self.fixed + 1] = multiplier
    return out
  end

  --- What goes back is linear in what comes, and is turned round.
  function K:forward(t, x, y)
    local wanted = {}
    for i = 1, self.fixed + 1 do wanted[i] = t[i] ~= nil end
    for i = self.fixed + 2, #x do t[i] = nil end
    return forward.transposed(function(g) return self:back(g, x, y, nil, wanted) end, t, x, y,
      function(found, i) return found[i] end)
  end
  return K
end

local STEERING = { b = true, goal = true, x0 = true, callback = true, apply = true,
  precondition = true, adjoint = true }

local function recorded(s, method, normal)
  local recording, region = require 'mascon.graph.recording', require 'mascon.transform.region'
  System = System or kind()
  local graphs, list = {}, {}
  for _, name in ipairs(OPERATORS) do
    if s[name] then
      local like = name == 'adjoint' and s.b or create.zeros({ s.n }, { dtype = s.dtype, device = s.b.device })
      graphs[name] = region.trace(s.name, function(x) return { s[name](x) } end, { like }, true)
      list[#list + 1] = graphs[name]
    end
  end
  local captured = region.close(list)
  local ins = region.join(captured, { s.b, normal and s.b or krylov.target(s), s.x0 })
  if not region.is_traced(ins) then return method(s) end
  local settings, forms = {}, {}
  for k, v in pairs(s) do if not STEERING[k] then settings[k] = v end end
  for i, t in ipairs(ins) do forms[i] = { shape = { unpack(t.shape) }, dtype = t.dtype, device = t.device } end
  local prim = setmetatable({ title = s.name, method = method, normal = normal, graphs = graphs, fixed = #captured,
    with_x0 = s.x0 ~= nil, settings = settings, forms = forms }, System)
  local since = region.now()
  return prim:call(ins, recording.quietly(method, s), since)
end

--- What a method makes of a square system { name, n, dtype, apply, precondition?, b, x0?, rtol, atol, maxiter, ... }.
---@param s mascon.System
---@param method fun(s: mascon.System): mc.tensor[]
---@return mc.tensor[] of the method; the first is x, and the only one with a derivative
function M.solve(s, method)
  if not require('mascon.graph.recording').on() then return method(s) end
  return recorded(s, method)
end

--- The same for least squares { name, dtype, apply, adjoint, b, damp, ... }.
---@param normal fun(s: mascon.System): mc.tensor[] a method for positive definite systems
function M.least(s, method, normal)
  if not require('mascon.graph.recording').on() then return method(s) end
  s.n = s.columns or s.x0 and s.x0.shape[1] or s.adjoint(s.b).shape[1]
  return recorded(s, method, normal)
end

return M
