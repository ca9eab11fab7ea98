-- transform/init.lua - derivatives of Lua functions of tensors.
---
--- A function is run once while libmascon writes down its ops; transforms walk what was written and call ops again, so
--- that they compose: with one another, with mc.compile and with mc.vmap. Holds the public functions.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local tree = require 'mascon.graph.tree'
local recording = require 'mascon.graph.recording'
local random = require 'mascon.random.key'
local outside = require 'mascon.compile.outside'
local batch = require 'mascon.transform.batch'
local evaluate = require 'mascon.transform.evaluate'
local forward = require 'mascon.transform.forward'
local reverse = require 'mascon.transform.reverse'
local trace = require 'mascon.transform.trace'
local error = check.error

local M = {}

local function callable(name, f, level)
  if type(f) == 'function' then return end
  local m = getmetatable(f)
  if type(f) == 'table' and m and m.__call then return end
  error(('%s: the first argument is %s; give a function'):format(name, check.show(f)), level + 1)
end

--- Places of arguments: 1 (also nil) or a list.
local function places(name, argnums, n, level)
  local list = type(argnums) == 'table' and argnums or { argnums or 1 }
  local set = {}
  for _, i in ipairs(list) do
    if type(i) ~= 'number' or i < 1 or i > n or i ~= math.floor(i) then
      error(('%s: argnums names argument %s; the function was called with %d'):format(name, check.show(i), n),
        level + 1)
    end
    set[i] = true
  end
  return list, set
end

--- Refuses a module among what a derivative is taken by: its tensors are no leaves.
local function refuse_objects(name, v, where)
  if tree.is_branch(v) then
    for _, k in ipairs(tree.keys(v)) do refuse_objects(name, v[k], ('%s.%s'):format(where, tostring(k))) end
  elseif outside.says(v) then
    error(('%s: %s is a module, %s; a derivative is taken by tables of tensors: f(params) calls net:apply(params, x), '
      .. 'with params = net:parameters()'):format(name, where, tostring(v):match '^[^\n]*'), 0)
  end
end

--- Runs f and what is needed to go on: the traced function and the tensors of its values. back: it is to be gone
--- through in reverse.
local function linearise(name, f, args, numbers, back)
  local nested = recording.on()
  local t = trace.run(f, args, { keep = not nested, numbers = numbers, restore = nested, name = name })
  -- within another recording what f writes to its arguments is done again, so that the other one sees it
  local effects = nested and t.graph.effects or {}
  for _, e in ipairs(effects) do
    t.inputs[e.input] = tensor.is(t.given[e.input]) and t.given[e.input]:copy() or t.inputs[e.input]
  end
  t.env = evaluate.run(t.graph, t.inputs, nested, back)
  for _, e in ipairs(effects) do if tensor.is(t.given[e.input]) then t.given[e.input]:copy_(t.env[e.value]) end end
  -- within another recording the results are those of the nodes just run, which it saw
  t.values = {}
  for i, v in ipairs(t.leaves) do t.values[i] = v end
  if nested then
    for i, u in ipairs(t.graph.outputs) do t.values[t.outputs[i]] = evaluate.see(t.env[u.value], u) end
  end
  return t
end

--- The trees of the results with other leaves.
local function results(t, leaves)
  local at, out = 0, { n = t.results.n }
  for i = 1, t.results.n do
    out[i] = tree.rebuild(t.results[i], function()
      at = at + 1
      return leaves[at]
    end)
  end
  leaves = nil -- machine code may keep the function above
  return out
end

--- Cotangents of the leaves of argument i as a tree of its form; zeros where nothing depends on it.
local function of_argument(t, i, back)
  local at = t.first[i] - 1
  local out = tree.rebuild(t.args[i], function()
    at = at + 1
    local x = t.inputs[at]
    if back[at] then return back[at] end
    return mc.zeros(x.shape, { dtype = reverse.continuous(x._dtype) and x.dtype or 'f64', device = x.device })
  end)
  t, back = nil, nil -- machine code may keep the function above
  return out
end

--- Inputs of the wanted arguments, by position.
local function wanted(t, set)
  local w = {}
  for i in pairs(set) do for k = t.first[i], t.first[i + 1] - 1 do w[k] = true end end
  return w
end

local function scalar_output(name, t, has_aux, level)
  if t.results.n < 1 or has_aux and t.results.n < 2 then
    error(('%s: the function returned %d values; it must return a real number (a 0-d tensor)%s'):format(name,
      t.results.n, has_aux and ' and what has_aux = true keeps' or ''), level + 1)
  end
  local y = t.results[1]
  if type(y) == 'number' then return end
  if not tensor.is(y) or y:numel() ~= 1 or y.dtype:sub(1, 1) == 'c' or not reverse.continuous(y._dtype) then
    error(
      ('%s: the function returned %s; gradients need one real number: reduce it, for example with mc.sum or mc.mean')
      :format(name, tensor.describe(y)), level + 1)
  end
end

local GRAD_OPTS = { argnums = { 1, 'any' }, has_aux = { false, 'bool' }, independent = { nil, 'string' } }

local function value_and_grad(name, f, opts)
  callable(name, f, 3)
  local o = check.opts(name, opts, GRAD_OPTS, 4)
  return function(...)
    local args = { n = select('#', ...), ... }
    local list, set = places(name, o.argnums, args.n, 2)
    for _, i in ipairs(list) do refuse_objects(name, args[i], 'argument ' .. i) end
    local t = linearise(name, f, args, set, true)
    scalar_output(name, t, o.has_aux, 2)
    local y = t.values[1]
    local back = {}
    if tensor.is(y) then back = reverse.run(t.graph, t.env, { mc.ones_like(y) }, wanted(t, set)) end
    if o.independent then
      local reached = false
      for k in pairs(wanted(t, set)) do reached = reached or back[k] ~= nil end
      if not reached then error(o.independent, 2) end
    end
    local grads = {}
    for k, i in ipairs(list) do grads[k] = of_argument(t, i, back) end
    local out = results(t, t.values)
    reverse.forget(t.graph, t.env)
    return out, type(o.argnums) == 'table' and grads or grads[1], o.has_aux
  end
end

--- The gradient of a function that returns one real number.
---
--- f: takes tensors, numbers and nested tables of them; returns a 0-d tensor. The result takes the same arguments and
--- returns the gradient with respect to the first one, as a tree of its form: same shapes and dtypes (numbers become
--- 0-d tensors, integers get zeros of f64). Captured tensors are constants; numbers in other arguments stay numbers.
--- For complex arguments the gradient points uphill: x - step * g goes down (the conjugate of JAX's, as PyTorch's).
--- Options: argnums: another argument's place, or a list of places (the result is then a list) · has_aux (false): f
--- returns further values, which follow the gradient · independent: text of an error where the value depends on
--- none of these arguments (none: zeros). Errors: f returns something else; an op without a derivative is
--- on the way.
---     mc.grad(function(x) return mc.sum(x * x * x) end)(mc.tensor{ 1, 2 })  --> f64[2]@cpu { 3, 12 }
--- Source: reverse accumulation, Evaluating Derivatives, 2008, chapter 3
---@param f function
---@param opts? table
---@return function
function M.grad(f, opts)
  local run = value_and_grad('grad', f, opts)
  return function(...)
    local out, grads, aux = run(...)
    if aux then return grads, unpack(out, 2, out.n) end
    return grads
  end
end

--- Value and gradient of a function that returns one real number; see mc.grad for arguments and options.
---     mc.value_and_grad(function(x) return mc.sum(x * x) end)(mc.tensor{ 1, 2 })  --> f64[]@cpu 5, f64[2]@cpu { 2, 4 }
---@param f function
---@param opts? table
---@return function f(...) -> value, gradient, further values of f with has_aux
function M.value_and_grad(f, opts)
  local run = value_and_grad('value_and_grad', f, opts)
  return function(...)
    local out, grads, aux = run(...)
    if aux then return out[1], grads, unpack(out, 2, out.n) end
    return out[1], grads
  end
end

--- Cotangent leaves for the outputs of a traced function.
local function cotangents(name, t, given, level)
  local leaves, at = {}, 0
  local function match(where, y, c)
    if tree.is_branch(y) then
      if not tree.is_branch(c) then
        error(('%s: the cotangent%s is %s; give a table of the form of the result'):format(name, where, check.show(c)),
          level + 2)
      end
      for _, k in ipairs(tree.keys(y)) do match(where .. '.' .. tostring(k), y[k], c[k]) end
    elseif tensor.is(y) then
      at = at + 1
      if c ~= nil then
        if type(c) == 'number' then c = mc.full(y.shape, c, { dtype = y.dtype, device = y.device }) end
        if not tensor.is(c) then
          error(('%s: the cotangent%s is %s; give a tensor'):format(name, where, check.show(c)), level + 2)
        end
        if tostring(c.shape) ~= tostring(y.shape) then
          error(('%s: the cotangent%s is %s, but the result is %s; shapes must agree'):format(name, where,
            tensor.describe(c), tensor.describe(y)), level + 2)
        end
        leaves[at] = reverse.cast(c, y.dtype)
      end
    elseif random.is_key(y) then
      at = at + 1
    end
  end
  for i = 1, t.results.n do match(t.results.n > 1 and (' ' .. i) or '', t.results[i], given[i]) end
  return leaves
end

--- Results of f and the function that takes cotangents of the results back to cotangents of the arguments.
---
--- pull(ct, ...): one cotangent for each result of f (trees of its form; nil: zero); returns one tree for each
--- argument. May be called again.
---     local y, pull = mc.vjp(function(x) return x * x end, mc.tensor{ 1, 2 })
---     pull(mc.tensor{ 1, 10 })  --> f64[2]@cpu { 2, 40 }
---@param f function
---@param ... any arguments
---@return any ... results of f, then pull
function M.vjp(f, ...)
  callable('vjp', f, 2)
  local args = { n = select('#', ...), ... }
  local t = linearise('vjp', f, args, nil, true)
  local out = results(t, t.values)
  out[out.n + 1] = function(...)
    local back = reverse.run(t.graph, t.env, cotangents('vjp', t, { ... }, 1))
    local grads = {}
    for i = 1, args.n do grads[i] = of_argument(t, i, back) end
    return unpack(grads, 1, args.n)
  end
  return unpack(out, 1, out.n + 1)
end

--- Results of f and their derivatives along a direction, in one run forwards.
---
--- args, tangents: lists of the arguments and of the direction's components, of the same form (nil: zero).
---     mc.jvp(function(x) return x * x end, { mc.tensor{ 1, 2 } }, { mc.tensor{ 1, 10 } })
---       --> f64[2]@cpu { 1, 4 }, f64[2]@cpu { 2, 40 }
---@param f function
---@param args table
---@param tangents table
---@return any ... results of f, then as many tangents
function M.jvp(f, args, tangents)
  callable('jvp', f, 2)
  if not tree.is_branch(args) or not tree.is_branch(tangents) then
    error('jvp: give a list of arguments and a list of tangents', 2)
  end
  local n = args.n or table.maxn(args)
  local list = { n = n }
  for i = 1, n do list[i] = args[i] end
  local numbers = {}
  for i = 1, n do numbers[i] = tangents[i] ~= nil end
  local t = linearise('jvp', f, list, numbers)
  local dots = {}
  local at = 0
  for i = 1, n do
    local function match(x, d)
      if tree.is_branch(x) then
        for _, k in ipairs(tree.keys(x)) do match(x[k], tree.is_branch(d) and d[k] or nil) end
      elseif tensor.is(x) or (type(x) == 'number' and numbers[i]) then
        at = at + 1
        local want = t.inputs[at]
        if d ~= nil then
          if type(d) == 'number' then d = mc.full(want.shape, d, { dtype = want.dtype, device = want.device }) end
          if not tensor.is(d) or tostring(d.shape) ~= tostring(want.shape) then
            error(('jvp: the tangent of argument %d is %s, but the argument is %s; shapes must agree'):format(i,
              tensor.describe(d), tensor.describe(want)), 4)
          end
          if reverse.continuous(want._dtype) then dots[at] = reverse.cast(d, want.dtype) end
        end
      elseif random.is_key(x) then
        at = at + 1
      end
    end
    match(list[i], tangents[i])
  end
  local moved = forward.run(t.graph, t.env, dots)
  local leaves = {}
  for i, v in ipairs(t.values) do
    leaves[i] = tensor.is(v) and mc.zeros(v.shape, { dtype = v.dtype, device = v.device }) or 0
  end
  for i in ipairs(t.graph.outputs) do
    if moved[i] then leaves[t.outputs[i]] = moved[i] end
  end
  local out, dout = results(t, t.values), results(t, leaves)
  for i = 1, dout.n do out[out.n + i] = dout[i] end
  return unpack(out, 1, 2 * out.n)
end

-- ---------------------------------------------------------------- batches

--- The axis of a leaf: from a number, a table of the form of the argument, or false (none).
local function axis_of(name, spec, where, level)
  if spec == nil then return 1 end
  if spec == false or type(spec) == 'number' then return spec end
  error(('%s: the axis of argument %s is %s; give a number, or false for no batch'):format(name, where,
    check.show(spec)), level + 1)
end

--- The leaves of a tree with their axes.
local function axes_of(name, v, spec, where, out, level)
  if tree.is_branch(v) then
    for _, k in ipairs(tree.keys(v)) do
      local sub = spec
      if tree.is_branch(spec) then sub = spec[k] end
      axes_of(name, v[k], sub, where .. '.' .. tostring(k), out, level)
    end
  elseif tensor.is(v) or random.is_key(v) then
    out[#out + 1] = { random.is_key(v) and v:words() or v, axis_of(name, spec, where, level), where,
      key = random.is_key(v) }
  end
end

--- Words of keys go where the tensors are.
local function settle(leaves)
  local list, at = {}, {}
  for i, l in ipairs(leaves) do
    list[i] = l[1]
    if l.key then at[#at + 1] = i end
  end
  random.settle(list, at)
  for _, i in ipairs(at) do leaves[i][1] = list[i] end
end

--- Writes what f made of its arguments into them. effects: of batch.run; leaves: { tensor, axis, name, the tensor that
--- was given with the batch in front }.
local function write_back(leaves, effects, size)
  for i, v in pairs(effects) do
    for k, l in ipairs(leaves) do
      if k ~= i and recording.overlap(l[4] or l[1], leaves[i][4]) then
        error(('vmap: the function writes to argument %s, which shares memory with argument %s; pass a copy, x:copy()')
          :format(leaves[i][3], l[3]), 3)
      end
    end
    leaves[i].value = v
  end
  for _, l in ipairs(leaves) do if l.value then l[4]:copy_(size > 0 and l.value or l[4]) end end
end

--- f over batches: written for one element, run for all of them at once.
---
--- Each tensor argument (and each mc.random.keys) is taken apart along an axis (the first unless in_axes says
--- otherwise) and f is applied to the parts; results are put together along out_axes. f runs once, on the first
--- element, while its ops are written down; then every op runs over the whole batch. Composes with mc.grad, mc.compile
--- and itself. f may not decide by the values of its arguments. What f writes to a batched argument is written to all
--- of it; it may not write to one that is not batched, nor to a tensor from outside. Ops that have no form over batches
--- run one element at a time.
--- Options: in_axes: an axis, false (not batched), or a list with one entry for each argument (a table for the leaves
--- of a table) · out_axes (1): an axis, or a list with one for each result. Errors: arguments whose batches differ; no
--- batched argument.
---     mc.vmap(function(a, b) return mc.sum(a * b) end)(mc.tensor{ { 1, 2 }, { 3, 4 } }, mc.tensor{ { 1, 1 }, { 2,
---       2 } })
---       --> f64[2]@cpu { 3, 14 }
---@param f function
---@param opts? table
---@return function
function M.vmap(f, opts)
  callable('vmap', f, 2)
  local o = check.opts('vmap', opts, { in_axes = { nil, 'any' }, out_axes = { 1, 'any' } }, 3)
  return function(...)
    local args = { n = select('#', ...), ... }
    local leaves = {}
    for i = 1, args.n do
      local spec = o.in_axes
      if type(spec) == 'table' then spec = spec[i] end
      axes_of('vmap', args[i], spec, tostring(i), leaves, 2)
    end
    settle(leaves)
    local size, from
    for _, l in ipairs(leaves) do
      local t, a, where = unpack(l)
      if a then
        if t.ndim == 0 then
          error(('vmap: argument %s is %s; it has no axis to batch over: give in_axes = false for it'):format(where,
            tensor.describe(t)), 2)
        end
        local n = t.shape[tensor.axis('vmap', t, a, 3) + 1]
        if size and n ~= size then
          error(('vmap: argument %s has %d elements along its batch axis, argument %s has %d; they must agree'):format(
            where, n, from, size), 2)
        end
        size, from = n, where
      end
    end
    if not size then error('vmap: no argument is batched; give in_axes with an axis', 2) end
    local examples, batched = {}, {}
    for i, l in ipairs(leaves) do
      local t, a = l[1], l[2]
      if a then
        t = t:moveaxis(a, 1)
        l[4] = t
        if not t:is_contiguous() then t = t:copy() end
        batched[i] = true
        if size > 0 then
          examples[i] = t[1]
        else
          local rest = {}
          for k = 2, t.ndim do rest[k - 1] = t.shape[k] end
          examples[i] = mc.zeros(rest, { dtype = t.dtype, device = t.device })
        end
        l[1] = t
      else
        examples[i] = t
      end
    end
    local t = trace.run(f, trace.with(args, examples, {}),
      { strict = true, numbers = {}, fixed = true, restore = true, name = 'vmap', turns = true })
    for _, e in ipairs(t.graph.effects) do
      if not batched[e.input] then
        error(('vmap: the function writes to argument %s, which is the same for all elements of the batch (in_axes = '
          .. 'false); return the new value instead'):format(leaves[e.input][3]), 2)
      end
    end
    local inputs = {}
    for i, l in ipairs(leaves) do inputs[i] = batched[i] and l[1] or t.inputs[i] end
    local outs, _, effects = batch.run(t.graph, inputs, batched, size)
    if next(effects) then write_back(leaves, effects, size) end
    local values = {}
    for i, v in ipairs(t.leaves) do values[i] = v end
    for i, u in ipairs(outs) do values[t.outputs[i]] = u end
    for i, v in ipairs(values) do
      if type(v) == 'number' then values[i] = mc.full({ size }, v) end
    end
    local out = results(t, values)
    for i = 1, out.n do
      local a = type(o.out_axes) == 'table' and o.out_axes[i] or o.out_axes
      if type(a) ~= 'table' and a ~= 1 then
        out[i] = tree.rebuild(out[i], function(v) return v:moveaxis(1, a) end)
      end
    end
    return unpack(out, 1, out.n)
  end
end

-- ---------------------------------------------------------------- Jacobians

local function one_tensor(name, x, what, level)
  if type(x) == 'number' then return mc.tensor(x) end
  if not tensor.is(x) then
    error(('%s: %s is %s; give a function of a tensor that returns a tensor'):format(name, what, check.show(x)),
      level + 1)
  end
  return x
end

local function joined(a, b)
  local s = {}
  for i = 1, #a do s[#s + 1] = a[i] end
  for i = 1, #b do s[#s + 1] = b[i] end
  return s
end

--- The unit vectors of a shape: [numel, ...shape].
local function basis(x)
  local n = x:numel()
  return mc.eye(n, { dtype = x.dtype, device = x.device }):reshape(joined({ n }, x.shape))
end

--- f of its argument `at` alone.
local function of_one(f, args, at)
  return function(x)
    local list = { n = args.n }
    for i = 1, args.n do list[i] = i == at and x or args[i] end
    return f(unpack(list, 1, args.n))
  end
end

local function jacobian(name, f, opts, run)
  callable(name, f, 3)
  local o = check.opts(name, opts, { argnums = { 1, 'any' } }, 4)
  return function(...)
    local args = { n = select('#', ...), ... }
    local list = places(name, o.argnums, args.n, 2)
    local out = {}
    for k, i in ipairs(list) do
      args[i] = one_tensor(name, args[i], 'argument ' .. i, 2)
      out[k] = run(of_one(f, args, i), args[i])
    end
    return type(o.argnums) == 'table' and out or out[1]
  end
end

--- The Jacobian by rows, in reverse mode: cheap where f has few results.
---
--- f: takes tensors, returns one tensor. Result: [...shape of f(x), ...shape of x]. Options: argnums, as in mc.grad.
---     mc.jacrev(function(x) return x * x end)(mc.tensor{ 1, 2 })  --> f64[2,2]@cpu { { 2, 0 }, { 0, 4 } }
---@param f function
---@param opts? table
---@return function
function M.jacrev(f, opts)
  return jacobian('jacrev', f, opts, function(g, x)
    local y, pull = M.vjp(g, x)
    y = one_tensor('jacrev', y, 'the result', 3)
    if y:numel() == 0 then return mc.zeros(joined(y.shape, x.shape), { dtype = x.dtype, device = x.device }) end
    return M.vmap(function(ct) return (pull(ct)) end)(basis(y)):reshape(joined(y.shape, x.shape))
  end)
end

--- The Jacobian by columns, in forward mode: cheap where x has few elements.
---
--- f: takes tensors, returns one tensor. Result: [...shape of f(x), ...shape of x]. Options: argnums, as in mc.grad.
---     mc.jacfwd(function(x) return x * x end)(mc.tensor{ 1, 2 })  --> f64[2,2]@cpu { { 2, 0 }, { 0, 4 } }
---@param f function
---@param opts? table
---@return function
function M.jacfwd(f, opts)
  return jacobian('jacfwd', f, opts, function(g, x)
    local shape
    local columns = M.vmap(function(d)
      local y, dy = M.jvp(g, { x }, { d })
      shape = one_tensor('jacfwd', y, 'the result', 3).shape
      return dy
    end)(basis(x))
    return columns:moveaxis(1, -1):reshape(joined(shape, x.shape))
  end)
end

--- Second derivatives of a function that returns one real number, forwards over reverse.
---
--- Result: [...shape of x, ...shape of x]. Options: argnums (one place), as in mc.grad.
---     mc.hessian(function(x) return mc.sum(x * x * x) end)(mc.tensor{ 1, 2 })
---       --> f64[2,2]@cpu { { 6, 0 }, { 0, 12 } }
---@param f function
---@param opts? table
---@return function
function M.hessian(f, opts)
  local o = check.opts('hessian', opts, { argnums = { 1, 'integer' } }, 3)
  return M.jacfwd(M.grad(f, o), o)
end

--- Gradient of f at x and the product of its second derivatives with v, without the matrix.
---
--- x, v: trees of one form. f(x, ...) returns one real number; further arguments follow v.
---     mc.hvp(function(x) return mc.sum(x * x * x) end, mc.tensor{ 1, 2 }, mc.tensor{ 1, 1 })
---       --> f64[2]@cpu { 3, 12 }, f64[2]@cpu { 6, 12 }
---@param f function
---@param x any
---@param v any
---@return any gradient
---@return any product
function M.hvp(f, x, v, ...)
  callable('hvp', f, 2)
  local more = { n = select('#', ...), ... }
  return M.jvp(M.grad(function(t) return f(t, unpack(more, 1, more.n)) end), { x }, { v })
end

return M
