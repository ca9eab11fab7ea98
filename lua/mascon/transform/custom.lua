-- custom.lua - derivatives that a user states himself.
---
--- Holds mc.custom_vjp, mc.custom_jvp, mc.stop_gradient and the primitive that stands for a function with rules of its
--- own. The function is still traced, so that it compiles and maps over batches; only derivatives go by the rule.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local graphs = require 'mascon.graph.graph'
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local tree = require 'mascon.graph.tree'
local forms = require 'mascon.transform.forms'
local forward = require 'mascon.transform.forward'
local recording = require 'mascon.graph.recording'
local region = require 'mascon.transform.region'
local reverse = require 'mascon.transform.reverse'
local transpose = require 'mascon.transform.transpose'
local error = check.error

local M = {}

--- A function with rules: title; graph; fixed: how many operands are captured; and of the operands behind those, as
--- lists of tensors, either ahead(x) -> outs, residual and pull(residual, g) -> cotangents, or push(x, t) -> tangents
--- of the results; perhaps many(x, flags, size) -> outs with a batch in front.
local Custom = region.kind 'custom'

local function own(self, list) return region.part(list, self.fixed + 1, #self.graph.inputs) end

--- Refuses captured tensors that are others than when the rules were made, as in the turns of a loop: they would read
--- the first ones.
local function refuse_others(self, x)
  for i = 1, self.fixed do
    if x[i]._data ~= self.places[i] then
      error(('%s: the function reads %s of the enclosing function, which is another one here than where its rule was '
        .. 'made; pass it as an argument'):format(self.title, tensor.describe(x[i])), 2)
    end
  end
end

function Custom:linearise(ins)
  if not self.ahead then return self:call(ins) end
  refuse_others(self, ins)
  local outs, residual = self.ahead(own(self, ins))
  return outs, { residual }
end

local function refuse_captured(self, x, which)
  for i = 1, self.fixed do
    if which[i] then
      error(('%s: the function reads %s of the enclosing function, which its rule knows nothing about; pass it as an '
        .. 'argument'):format(self.title, tensor.describe(x[i])), 2)
    end
  end
end

function Custom:back(g, x, y, residual, wanted)
  refuse_captured(self, x, wanted)
  local mine = own(self, x)
  local found = {}
  if self.ahead then
    local all = {}
    for i, t in ipairs(y) do all[i] = g[i] or region.zeros(t) end
    if not residual then
      local _
      _, residual = self:linearise(x)
    end
    found = self.pull(residual[1], all)
  else
    -- the rule is linear in the tangents: turned round, it gives cotangents
    local seeds, places = {}, {}
    for i, t in ipairs(mine) do
      if wanted[self.fixed + i] then
        seeds[#seeds + 1] = region.zeros(t)
        places[#seeds] = i
      end
    end
    seeds.n = #seeds
    local moving = {}
    local back = transpose.run(function(...)
      local t, out = {}, {}
      for k, i in ipairs(places) do t[i] = (select(k, ...)) end
      local dots = self.push(mine, t)
      for i in ipairs(y) do
        if dots[i] and g[i] then
          out[#out + 1] = dots[i]
          moving[#out] = i
        end
      end
      return out
    end, seeds, function(k) return g[moving[k]] end)
    for k, i in ipairs(places) do found[i] = back[k] end
  end
  local out = {}
  for i = 1, #mine do out[self.fixed + i] = found[i] end
  return out
end

function Custom:forward(t, x, y)
  refuse_captured(self, x, t)
  if self.push then
    refuse_others(self, x)
    return self.push(own(self, x), own(self, t))
  end
  local wanted = {}
  for i = self.fixed + 1, #x do wanted[i] = t[i] ~= nil and reverse.continuous(x[i]._dtype) or nil end
  local _, residual = self:linearise(x)
  return forward.transposed(function(g) return self:back(g, x, y, residual, wanted) end, t, x, y,
    function(found, i) return found[i] end)
end

--- The same function over batches, with its rules over batches.
function Custom:batch(x, flags, size)
  local axes = {}
  for i = 1, #x - self.fixed do axes[i] = flags[self.fixed + i] and 1 or false end
  local captured = false
  for i = 1, self.fixed do captured = captured or flags[i] end
  -- rules that are told nothing of a batch cannot serve it
  if captured then return region.batch(self.graph, x, flags, size) end
  local fixed = region.part(x, 1, self.fixed)
  local graph = region.trace(self.title, function(...)
    if self.many then return self.many({ ... }, region.part(flags, self.fixed + 1, #x), size) end
    return region.batch(self.graph, region.join(fixed, { ... }), flags, size)
  end, own(self, x))
  local outer = region.close { graph }
  local prim = setmetatable({ title = self.title, graph = graph, fixed = #outer, places = {} }, Custom)
  for i, t in ipairs(outer) do prim.places[i] = t._data end
  local function mapped(f, ...) return require('mascon.transform').vmap(f, { in_axes = { ... } }) end
  if self.ahead then
    function prim.ahead(ins)
      local outs, residual = mapped(self.ahead, axes)(ins)
      return outs, residual
    end
    function prim.pull(residual, g)
      local none = {}
      local full = mapped(function(r, c)
        local back, list = self.pull(r, c), {}
        for i = 1, #axes do
          none[i] = not back[i]
          list[i] = back[i] or mc.zeros {}
        end
        return list
      end, 1, 1)(residual, g)
      for i, a in ipairs(axes) do
        if none[i] then full[i] = nil
        elseif not a then full[i] = mc.sum(full[i], 1) end
      end
      return full
    end
  else
    function prim.push(ins, t)
      local given, places, spec = {}, {}, {}
      for i = 1, #ins do
        if t[i] then
          given[#given + 1] = t[i]
          places[#given] = i
          spec[#given] = axes[i]
        end
      end
      return mapped(function(one, dots)
        local list = {}
        for k, i in ipairs(places) do list[i] = dots[k] end
        local found = self.push(one, list)
        for i, u in ipairs(self.graph.outputs) do
          local dtype = reverse.continuous(u.dtype) and tensor.name[u.dtype] or 'f64'
          found[i] = found[i] or mc.zeros(u.shape, { dtype = dtype, device = tensor.shared_device(one) })
        end
        return found
      end, axes, spec)(ins, given)
    end
  end
  return prim:call(region.join(outer, own(self, x)))
end

-- ---------------------------------------------------------------- public functions

--- What the rule for batches gives, as leaves of the form of f's result with a batch in front of each.
local function batched_leaves(name, result, y, size)
  local outs, form = forms.apart(y)
  local function words(what, where, a, b)
    return ('%s: %s of the result%s of batch differs: f returns %s for one element, batch %s for %d of them; it puts '
      .. 'the elements in front, [%d, ...]'):format(name, what, where, a, b, size, size)
  end
  if form.text ~= result.text then forms.same(result, form, words) end
  for i, leaf in ipairs(result.leaves) do
    local t, shape = outs[i], { size, unpack(leaf.shape) }
    if t._dtype ~= leaf._dtype or not graphs.same(t.shape, shape) then
      error(words(t._dtype ~= leaf._dtype and 'dtype' or 'shape', form.names[i], leaf.text, tensor.describe(t)), 2)
    end
    if not t:is_contiguous() then outs[i] = t:copy() end
  end
  return outs
end

--- The function that stands in for f where something is recorded; rules(argument form, result form) gives the rest of
--- the primitive.
local function custom(name, f, batch, rules)
  return function(...)
    local count = select('#', ...)
    local leaves, form = forms.apart({ ... }, true)
    -- what is compiled as it is has no derivatives to come: its steps are seen by the passes
    if recording.inline or not region.is_traced(leaves) then return f(...) end
    local box = {}
    local function take(list) return unpack(forms.together(form, list), 1, count) end
    local graph, outs = region.trace(name, function(...)
      local list
      list, box.form = forms.apart(f(take { ... }))
      return list
    end, leaves, true)
    local captured = region.close { graph }
    local prim = rules(take, form, count, box.form)
    prim.title, prim.graph, prim.fixed, prim.places = name, graph, #captured, {}
    for i, t in ipairs(captured) do prim.places[i] = t._data end
    if batch then
      function prim.many(ins, flags, size)
        local which = {}
        for i = 1, #ins do which[i] = flags[i] == true end
        return batched_leaves(name, box.form, batch(size, forms.together(form, which, true), take(ins)), size)
      end
    end
    return forms.together(box.form, setmetatable(prim, Custom):call(region.join(captured, leaves), outs, graph.since))
  end
end

local function differs(name, who, whom)
  return function(what, where, a, b)
    return ('%s: %s of %s%s differs: it gives %s, but %s %s'):format(name, what, who, where, a, whom, b)
  end
end

--- Leaves of a tree given for another one, nil where it is left out; shapes must agree.
local function match(name, what, like, given, out)
  if given == nil then
    if forms.is_leaf(like) then out.n = out.n + 1
    elseif tree.is_branch(like) then
      for _, k in ipairs(tree.keys(like)) do match(name, what, like[k], nil, out) end
    end
  elseif forms.is_leaf(like) then
    out.n = out.n + 1
    if type(given) == 'number' then given = mc.full(like.shape, given, { dtype = like.dtype, device = like.device }) end
    if not tensor.is(given) or tostring(given.shape) ~= tostring(like.shape) then
      error(('%s: %s is %s, but belongs to %s; shapes must agree'):format(name, what,
        tensor.describe(given), like.text), 2)
    end
    if given.device ~= like.device then
      tensor.one_device(name, { given, mc.zeros(like.shape, { dtype = like.dtype, device = like.device }) }, 2)
    end
    if reverse.continuous(like._dtype) then out[out.n] = reverse.cast(given, like.dtype) end
  elseif tree.is_branch(like) then
    if not tree.is_branch(given) then
      error(('%s: %s is %s; give a table of the form of what it belongs to'):format(name, what, check.show(given)), 2)
    end
    for _, k in ipairs(tree.keys(like)) do match(name, what .. '.' .. tostring(k), like[k], given[k], out) end
  end
end

--- f with a reverse rule of its own.
---
--- f: returns one tree. forward(...) -> what f returns, and whatever backward wants to find (a tensor, a table of
--- them, nil); backward(kept, g) -> a cotangent for each argument of f, as a tree of its form (nil: none), given
--- the cotangent g of the result. Where no derivative is asked for, f runs; else forward does. Composes with
--- mc.compile, mc.vmap, and with derivatives of higher order through the ops of forward and backward; forward mode
--- turns the rule round. What f or its rules need of an enclosing function is passed as an argument. Option
--- batch(size, batched, ...) -> what f returns for each of `size` elements, put in front of the axes of each
--- tensor: what mc.vmap runs in the place of f's ops, where f alone is asked for; ... are the arguments, with the
--- elements in front of those tensors whose place in `batched` (a list of the form of the arguments) is true.
--- Errors: a result or a cotangent of another form; a captured tensor with a derivative.
--- Source: jax.custom_vjp
---     local f = mc.custom_vjp(function(x) return x * x end, { forward = function(x) return x * x, x end,
---       backward = function(x, g) return g * x * 100 end })
---     mc.grad(f)(mc.tensor(2))  --> f64[]@cpu 200
---@param f function
---@param rule { forward: function, backward: function, batch?: function }
---@return function
function M.custom_vjp(f, rule) return (M.product(f, rule)) end

--- The same for a function that mixed precision takes for a product: its operands and results are rounded to 16 bits.
---@param f function
---@param rule table
---@param row? string under which policies of mixed precision name it (none: it stays as recorded)
---@return function
function M.product(f, rule, row)
  forms.callable('custom_vjp', 'the first argument', f)
  local o = check.opts('custom_vjp', rule,
    { forward = { nil, 'any' }, backward = { nil, 'any' }, batch = { nil, 'function' } }, 3)
  forms.callable('custom_vjp', 'forward', o.forward)
  forms.callable('custom_vjp', 'backward', o.backward)
  return custom('custom_vjp', f, o.batch, function(take, form, count, result)
    local prim = { product = row }
    function prim.ahead(ins)
      local y, kept = o.forward(take(ins))
      local outs, other = forms.apart(y)
      forms.same(other, result, differs('custom_vjp', 'what forward returns', 'f returns'))
      return outs, kept
    end
    function prim.pull(kept, g)
      local back, out = { o.backward(kept, forms.together(result, g)) }, { n = 0 }
      for i = 1, count do match('custom_vjp', 'cotangent ' .. i, form.tree[i], back[i], out) end
      return out
    end
    return prim
  end)
end

--- f with a forward rule of its own.
---
--- f: returns one tree. rule(primals, tangents) -> what f returns, and its tangent as a tree of its form (nil: zero);
--- primals and tangents are lists of the arguments and of what they move by (zeros where nothing moves). The tangent is
--- linear in the tangents and is made with ops, so that reverse mode can turn it round. Composes as mc.custom_vjp does,
--- and takes the option batch as it does. Source: jax.custom_jvp
---     local f = mc.custom_jvp(mc.sin, function(p, t) return mc.sin(p[1]), t[1] * 7 end)
---     mc.grad(f)(mc.tensor(2))  --> f64[]@cpu 7
---@param f function
---@param rule fun(primals: table, tangents: table): any, any
---@param opts? { batch?: function }
---@return function
function M.custom_jvp(f, rule, opts)
  forms.callable('custom_jvp', 'the first argument', f)
  forms.callable('custom_jvp', 'the second argument', rule)
  local o = check.opts('custom_jvp', opts, { batch = { nil, 'function' } }, 3)
  return custom('custom_jvp', f, o.batch, function(take, _, _, result)
    local prim = {}
    function prim.push(ins, t)
      local full = {}
      for i, x in ipairs(ins) do full[i] = t[i] or region.zeros(x) end
      local _, moved = rule({ take(ins) }, { take(full) })
      local out = { n = 0 }
      match('custom_jvp', 'the tangent', result.tree, moved, out)
      return out
    end
    return prim
  end)
end

--- A tree through which no derivative flows: values as they are, derivatives zero.
---
--- x: a tensor, a number or a table of them; integers and numbers pass as they are. Source: jax.lax.stop_gradient
---     mc.grad(function(x) return mc.sum(x * mc.stop_gradient(x)) end)(mc.tensor{ 3 })  --> f64[1]@cpu { 3 }
---@param x any
---@return any
function M.stop_gradient(x)
  return tree.rebuild(x, function(t)
    if reverse.continuous(t._dtype) then return op.functions.cut(t) end
    return t
  end, true)
end

return M
