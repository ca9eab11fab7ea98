-- update.lua - optimisers for training: pure functions of parameters, gradients and a state, over trees of tensors.
--
-- One rule per optimiser says what happens to one tensor; the walk over trees, the step counter, the rate and the
-- half-precision policy stand here once. Everything is tensor arithmetic without a look at a value, so that mc.compile
-- takes a whole step into one plan. Holds the formulas.
--
-- f16 and bf16 parameters: arithmetic and state are f32, the parameter is rounded once per step. PyTorch keeps such
-- state in half.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local parameters = require 'mascon.optim.parameters'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

--- Arithmetic that leaves numbers numbers: a tensor made of them would lie on the host, wherever the parameters are.
local function of_both(f, plain)
  return function(a, b)
    if type(a) == 'number' and type(b) == 'number' then return plain(a, b) end
    return f(a, b)
  end
end
local add = of_both(F.add, function(a, b) return a + b end)
local sub = of_both(F.subtract, function(a, b) return a - b end)
local mul = of_both(F.multiply, function(a, b) return a * b end)
local div = of_both(F.divide, function(a, b) return a / b end)

--- dtype of the arithmetic on a parameter.
local function work(fname, p, path)
  if tensor.kind[p.dtype] ~= 'f' then
    error(('%s: %s is %s; parameters are f16, bf16, f32 or f64%s'):format(fname, path, tensor.describe(p),
      tensor.kind[p.dtype] == 'c' and ', complex ones as their real and imaginary parts' or ''), 4)
  end
  return (p.dtype == 'f64') and 'f64' or 'f32'
end

--- A tensor like the parameter p, beside it, full of one value.
local function full(p, dtype, value)
  return methods.to(tensor.empty('optim', p.shape, dtype, 4):fill_(value or 0), { device = p.device })
end

--- The number of steps made so far: none, where the parameters are.
local function no_steps(leaves)
  local t = op.from_table(0)
  return leaves[1] and methods.to(t, { device = leaves[1].device }) or t
end

---@class mascon.Optimizer
---@field init fun(params): table the state before the first step
---@field update fun(params, grads, state, lr?): any, table new parameters and new state; the old ones stay as they are
---@field separable? boolean each parameter goes its own way: the update of some of them is that of all, but for `step`
---@field bends? fun(state): boolean whether the next update takes an estimate of the second derivative
---@field step fun(params, grads, state, lr?) the same, written into params and state
---@field options table
---@field with fun(changes: table): mascon.Optimizer the same with some options changed (for groups of nn.Step)

-- An optimiser prints with its options.
local Optimizer = {}
function Optimizer.__tostring(self)
  local out = {}
  for k, v in pairs(self.options) do
    if type(v) == 'table' then v = ('{ %s }'):format(table.concat(v, ', ')) end
    out[#out + 1] = ('%s = %s'):format(k, type(v) == 'function' and 'a schedule' or tostring(v))
  end
  table.sort(out)
  local list = table.concat(out, ', ')
  return self.inner and ('%s(%s)'):format(self.name, tostring(self.inner)) or ('%s { %s }'):format(self.name, list)
end

--- update() of an optimiser written into its arguments.
local function in_place(self)
  return function(params, grads, state, lr)
    local new, after = self.update(params, grads, state, lr)
    local function put(old, fresh)
      if is(old) then methods.copy_(old, fresh) else for k, v in pairs(old) do put(v, fresh[k]) end end
    end
    put(params, new)
    put(state, after)
  end
end

--- The optimiser of a rule.
--- rule: slots(o) = names of what is kept for each parameter; start(o, name) = its first value (0); scalars(o, lr, t) =
--- numbers or f64 0-d tensors of step t = 1, 2, ...; leaf(o, p, g, slot, k) = new p, new slots.
local function optimizer(name, rule, opts, spec)
  local o = check.opts('optim.' .. name, opts, spec, 4)
  if type(o.lr) == 'number' and not (o.lr >= 0) then
    error(('optim.%s: option lr is %s; it must be number >= 0'):format(name, tostring(o.lr)), 3)
  end
  for i, b in ipairs(o.betas or {}) do
    if type(b) ~= 'number' or not (b >= 0 and b < 1) then
      error(('optim.%s: option betas[%d] is %s; it must be number >= 0 and < 1'):format(name, i, check.show(b)), 3)
    end
  end
  local fname, slots = 'optim.' .. name, rule.slots(o)
  local self = { options = o, name = name, separable = not rule.bends }

  function self.init(params)
    local leaves, paths = parameters.leaves(fname, 'params', params)
    local state = { step = no_steps(leaves) }
    for _, slot in ipairs(slots) do
      local list = {}
      for i, p in ipairs(leaves) do
        list[i] = full(p, work(fname, p, paths[i]), rule.start and rule.start(o, slot))
      end
      state[slot] = parameters.build(params, list)
    end
    return state
  end

  function self.update(params, grads, state, lr, curvature)
    local leaves, paths = parameters.leaves(fname, 'params', params)
    local bent = rule.bent and rule.bent(o, state, curvature, params) or {}
    local g = parameters.matching(fname, 'grads', grads, 'params', params)
    if type(state) ~= 'table' or state.step == nil then
      error(('%s: state is %s; give what init or the last update gave'):format(fname, check.show(state)), 2)
    end
    local kept = {}
    for _, slot in ipairs(slots) do
      kept[slot] = parameters.matching(fname, 'state.' .. slot, state[slot], 'params', params)
    end
    local before = state.step
    local rate = lr == nil and o.lr or lr
    if type(rate) == 'function' then rate = rate(before) end
    local t = F.add(before, 1)
    local scalars = rule.scalars(o, rate, t)
    local by_dtype = {}
    local function of(dtype)
      if not by_dtype[dtype] then
        local k = {}
        -- what comes of a number that a compiled function was given belongs to any device until it is converted
        local at = leaves[1]._device
        for key, v in pairs(scalars) do
          k[key] = is(v) and v.dtype ~= dtype and v._device == at and methods.to(v, dtype) or v
        end
        by_dtype[dtype] = k
      end
      return by_dtype[dtype]
    end
    local new, after = {}, {}
    for _, slot in ipairs(slots) do after[slot] = {} end
    for i, p in ipairs(leaves) do
      local dtype, slot = work(fname, p, paths[i]), {}
      for _, s in ipairs(slots) do slot[s] = kept[s][i] end
      slot.curvature = bent[i]
      local x = p.dtype == dtype and p or methods.to(p, dtype)
      local d = g[i].dtype == dtype and g[i] or methods.to(g[i], dtype)
      if o.maximize then d = F.negative(d) end
      local q, next_slot = rule.leaf(o, x, d, slot, of(dtype))
      new[i] = p.dtype == dtype and q or methods.to(q, p.dtype)
      for _, s in ipairs(slots) do after[s][i] = next_slot[s] end
    end
    local out = { step = t }
    for _, slot in ipairs(slots) do out[slot] = parameters.build(params, after[slot]) end
    return parameters.build(params, new), out
  end

  if rule.bends then
    function self.bends(state) return rule.bends(o, state) end
  end
  --- The same optimiser with some options changed.
  function self.with(changes)
    local given = {}
    for k, v in pairs(o) do given[k] = v end
    for k, v in pairs(changes) do given[k] = v end
    return M[name](given)
  end
  self.step = in_place(self)
  return setmetatable(self, Optimizer)
end

-- ---------------------------------------------------------------- rules

local LR = 'number | tensor | function'
--- Options shared by all, joined with an optimiser's own.
local function spec(lr, weight_decay, more)
  more.lr, more.weight_decay, more.maximize = { lr, LR }, { weight_decay, 'number >= 0' }, { false, 'bool' }
  return more
end

--- The gradient with the penalty weight_decay / 2 |p|^2.
local function decayed(o, p, g)
  if o.weight_decay == 0 then return g end
  return add(g, mul(p, o.weight_decay))
end

local SGD =
  spec(1e-3, 0, { momentum = { 0, 'number >= 0' }, dampening = { 0, 'number' }, nesterov = { false, 'bool' } })
local sgd = {
  slots = function(o) return o.momentum ~= 0 and { 'momentum' } or {} end,
  scalars = function(o, lr, t)
    -- the first gradient enters the momentum undamped
    return { lr = lr, share = o.dampening ~= 0 and F.where(F.eq(t, 1), 1, 1 - o.dampening) or nil }
  end,
  leaf = function(o, p, g, slot, k)
    g = decayed(o, p, g)
    local after = {}
    if o.momentum ~= 0 then
      after.momentum = add(mul(slot.momentum, o.momentum), k.share and mul(g, k.share) or g)
      g = o.nesterov and add(g, mul(after.momentum, o.momentum)) or after.momentum
    end
    return sub(p, mul(g, k.lr)), after
  end,
}

--- Stochastic gradient descent with momentum.
---
--- g = grad + weight_decay p; m = momentum m + (1 - dampening) g, undamped at the first step; p = p - lr m, with
--- nesterov p - lr (g + momentum m).
--- Options: lr (1e-3): number, 0-d tensor, or a schedule, a function of the steps made so far · momentum (0) ·
--- dampening (0) · nesterov (false) · weight_decay (0) · maximize (false).
--- Result: an optimiser with three functions, for parameters that are nested tables of f16|bf16|f32|f64 tensors:
--- init(params) gives the state, a plain table of tensors; update(params, grads, state, lr?) gives new parameters and
--- the new state; step(params, grads, state, lr?) writes into both. update can be compiled: with lr as an argument or a
--- schedule it changes without a new trace. f16 and bf16 compute and keep their state in f32.
--- Errors: names and shapes of grads or state that do not fit those of params; parameters that are no floating tensors.
--- Source: On the importance of initialization and momentum in deep learning, 2013, in the form of torch.optim.SGD.
---     local opt = mc.optim.sgd { lr = 0.1, momentum = 0.9 }
---     local params, state = { w = mc.tensor { 1, 2 } }, opt.init { w = mc.tensor { 1, 2 } }
---     params, state = opt.update(params, { w = mc.tensor { 1, 1 } }, state)
---     params.w  --> f64[2]@cpu { 0.9000, 1.9000 }
---@param opts? table
---@return mascon.Optimizer
function M.sgd(opts)
  local made = optimizer('sgd', sgd, opts, SGD)
  local o = made.options
  if o.nesterov and (o.momentum == 0 or o.dampening ~= 0) then
    error('optim.sgd: nesterov needs momentum > 0 and dampening = 0', 2)
  end
  return made
end

local function adam_slots(o) return o.amsgrad and { 'm', 'v', 'v_max' } or { 'm', 'v' } end
local function adam_scalars(o, lr, t)
  local b1, b2 = o.betas[1], o.betas[2]
  return { rate = div(lr, sub(1, F.pow(b1, t))), root = F.sqrt(sub(1, F.pow(b2, t))),
    kept = sub(1, mul(lr, o.weight_decay)) }
end
--- Adam's step from the first and second moments.
local function adam_step(o, p, g, slot, k)
  local after =
    { m = F.lerp(slot.m, g, 1 - o.betas[1]), v = add(mul(slot.v, o.betas[2]), mul(mul(g, g), 1 - o.betas[2])) }
  local v = after.v
  if o.amsgrad then
    v = F.maximum(slot.v_max, v)
    after.v_max = v
  end
  local size = add(div(F.sqrt(v), k.root), o.eps)
  return sub(p, mul(div(after.m, size), k.rate)), after
end
local adam = { slots = adam_slots, scalars = adam_scalars,
  leaf = function(o, p, g, slot, k) return adam_step(o, p, decayed(o, p, g), slot, k) end }
local adamw = { slots = adam_slots, scalars = adam_scalars, leaf = function(o, p, g, slot, k)
  return adam_step(o, o.weight_decay ~= 0 and mul(p, k.kept) or p, g, slot, k)
end }
local function adam_spec(weight_decay)
  return spec(1e-3, weight_decay,
    { betas = { { 0.9, 0.999 }, 'table' }, eps = { 1e-8, 'number >= 0' }, amsgrad = { false, 'bool' } })
end
local ADAM, ADAMW = adam_spec(0), adam_spec(1e-2)

--- Adam: steps of the size of the rate, by running means of the gradient and of its square.
---
--- g = grad + weight_decay p; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p = p - lr / (1 - b1^t) m / (sqrt(v / (1
--- - b2^t)) + eps).
--- Options: lr (1e-3), weight_decay (0), maximize as for sgd · betas ({ 0.9, 0.999 }) · eps (1e-8) · amsgrad (false):
--- the largest v so far.
--- Result and errors as for mc.optim.sgd.
--- Source: Adam: a method for stochastic optimization, 2015, algorithm 1; On the convergence of Adam and beyond, 2018;
--- torch.optim.Adam.
---     local opt = mc.optim.adam { lr = 0.1 }
---     local x = mc.tensor { 1, 2 }
---     opt.update(x, mc.tensor { 3, -4 }, opt.init(x))
---       --> f64[2]@cpu { 0.9000, 2.1000 }, { m = f64[2]@cpu { 0.3000, -0.4000 }, step = f64[]@cpu 1,
---       v = f64[2]@cpu { 0.0090, 0.0160 } }
---@param opts? table
---@return mascon.Optimizer
function M.adam(opts) return (optimizer('adam', adam, opts, ADAM)) end

--- Adam with weight decay apart from the gradient: p = (1 - lr weight_decay) p before the step.
---
--- Options as for mc.optim.adam; weight_decay is 1e-2. Result and errors as for mc.optim.sgd.
--- Source: Decoupled weight decay regularization, 2019, algorithm 2; torch.optim.AdamW.
---     local opt = mc.optim.adamw { lr = 0.1, weight_decay = 0.5 }
---     local x = mc.tensor { 1, 2 }
---     (opt.update(x, mc.tensor { 3, -4 }, opt.init(x)))  --> f64[2]@cpu { 0.8500, 2.0000 }
---@param opts? table
---@return mascon.Optimizer
function M.adamw(opts) return (optimizer('adamw', adamw, opts, ADAMW)) end

local RMSPROP = spec(1e-2, 0, { alpha = { 0.99, 'number >= 0' }, eps = { 1e-8, 'number >= 0' },
  momentum = { 0, 'number >= 0' }, centered = { false, 'bool' } })
local rmsprop = {
  slots = function(o)
    local list = { 'v' }
    if o.centered then list[#list + 1] = 'mean' end
    if o.momentum ~= 0 then list[#list + 1] = 'momentum' end
    return list
  end,
  scalars = function(_, lr) return { lr = lr } end,
  leaf = function(o, p, g, slot, k)
    g = decayed(o, p, g)
    local after = { v = add(mul(slot.v, o.alpha), mul(mul(g, g), 1 - o.alpha)) }
    local v = after.v
    if o.centered then
      after.mean = F.lerp(slot.mean, g, 1 - o.alpha)
      v = sub(v, mul(after.mean, after.mean))
    end
    local way = div(g, add(F.sqrt(v), o.eps))
    if o.momentum ~= 0 then
      way = add(mul(slot.momentum, o.momentum), way)
      after.momentum = way
    end
    return sub(p, mul(way, k.lr)), after
  end,
}

--- RMSprop: gradients over the root of the running mean of their squares.
---
--- v = alpha v + (1 - alpha) g^2; centered: less the square of the running mean of g; b = momentum b + g / (sqrt(v) +
--- eps); p = p - lr b.
--- Options: lr (1e-2), weight_decay (0), maximize as for sgd · alpha (0.99) · eps (1e-8) · momentum (0) · centered
--- (false).
--- Result and errors as for mc.optim.sgd.
--- Source: Neural networks for machine learning, lecture 6, 2012; Generating sequences with recurrent neural networks,
--- 2013; torch.optim.RMSprop.
---     local opt = mc.optim.rmsprop { lr = 0.1, alpha = 0.75 }
---     local x = mc.tensor { 1, 2 }
---     (opt.update(x, mc.tensor { 3, -4 }, opt.init(x)))  --> f64[2]@cpu { 0.8000, 2.2000 }
---@param opts? table
---@return mascon.Optimizer
function M.rmsprop(opts) return (optimizer('rmsprop', rmsprop, opts, RMSPROP)) end

local ADAGRAD = spec(1e-2, 0,
  { lr_decay = { 0, 'number >= 0' }, initial_accumulator_value = { 0, 'number >= 0' }, eps = { 1e-10, 'number >= 0' } })
local adagrad = {
  slots = function() return { 'sum' } end,
  start = function(o) return o.initial_accumulator_value end,
  scalars = function(o, lr,
    t) return { lr = o.lr_decay == 0 and lr or div(lr, add(mul(sub(t, 1), o.lr_decay), 1)) } end,
  leaf = function(o, p, g, slot, k)
    g = decayed(o, p, g)
    local sum = F.fma(g, g, slot.sum)
    return sub(p, mul(div(g, add(F.sqrt(sum), o.eps)), k.lr)), { sum = sum }
  end,
}

--- Adagrad: gradients over the root of the sum of all their squares.
---
--- s = s + g^2; p = p - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps).
--- Options: lr (1e-2), weight_decay (0), maximize as for sgd · lr_decay (0) · initial_accumulator_value (0): s at the
--- start · eps (1e-10). Result and errors as for mc.optim.sgd.
--- Source: Adaptive subgradient methods for online learning and stochastic optimization, 2011; torch.optim.Adagrad.
---     local opt = mc.optim.adagrad { lr = 0.5 }
---     local x = mc.tensor { 1, 2 }
---     (opt.update(x, mc.tensor { 3, -4 }, opt.init(x)))  --> f64[2]@cpu { 0.5000, 2.5000 }
---@param opts? table
---@return mascon.Optimizer
function M.adagrad(opts) return (optimizer('adagrad', adagrad, opts, ADAGRAD)) end

local LION = spec(1e-4, 0, { betas = { { 0.9, 0.99 }, 'table' } })
local lion = {
  slots = function() return { 'm' } end,
  scalars = function(o, lr) return { lr = lr, kept = sub(1, mul(lr, o.weight_decay)) } end,
  leaf = function(o, p, g, slot, k)
    local way = F.sign(F.lerp(g, slot.m, o.betas[1]))
    if o.weight_decay ~= 0 then p = mul(p, k.kept) end
    return sub(p, mul(way, k.lr)), { m = F.lerp(g, slot.m, o.betas[2]) }
  end,
}

--- Lion: steps of one size, in the direction of the sign of a blended gradient.
---
--- p = (1 - lr weight_decay) p - lr sign(b1 m + (1 - b1) g); m = b2 m + (1 - b2) g.
--- Options: lr (1e-4), weight_decay (0), maximize as for sgd · betas ({ 0.9, 0.99 }). Result and errors as for
--- mc.optim.sgd.
--- Source: Symbolic discovery of optimization algorithms, 2023, program 1.
---     local opt = mc.optim.lion { lr = 0.5 }
---     local x = mc.tensor { 1, 2 }
---     (opt.update(x, mc.tensor { 3, -4 }, opt.init(x)))  --> f64[2]@cpu { 0.5000, 2.5000 }
---@param opts? table
---@return mascon.Optimizer
function M.lion(opts) return (optimizer('lion', lion, opts, LION)) end

local radam = { slots = adam_slots, scalars = function(o, lr, t)
  local b1, b2 = o.betas[1], o.betas[2]
  local most, power = 2 / (1 - b2) - 1, F.pow(b2, t)
  local rho = sub(most, div(mul(mul(t, 2), power), sub(1, power)))
  local on = F.gt(rho, 5)
  local known = F.where(on, rho, 6)
  local share = F.sqrt(mul(div(mul(sub(known, 4), sub(known, 2)), known), most / ((most - 4) * (most - 2))))
  local rate = div(lr, sub(1, F.pow(b1, t)))
  return { scaled = F.where(on, mul(mul(rate, share), F.sqrt(sub(1, power))), 0), plain = F.where(on, 0, rate) }
end, leaf = function(o, p, g, slot, k)
  g = decayed(o, p, g)
  local after = { m = F.lerp(slot.m, g, 1 - o.betas[1]), v = add(mul(slot.v, o.betas[2]),
    mul(mul(g, g), 1 - o.betas[2])) }
  local way = add(mul(div(after.m, add(F.sqrt(after.v), o.eps)), k.scaled), mul(after.m, k.plain))
  return sub(p, way), after
end }

--- Rectified Adam: plain momentum until the second moment is known well enough, then Adam with a growing share.
---
--- Options: lr (1e-3), weight_decay (0), maximize as for sgd · betas ({ 0.9, 0.999 }) · eps (1e-8). Result and errors
--- as for mc.optim.sgd.
--- Source: On the variance of the adaptive learning rate and beyond, 2020, algorithm 2; torch.optim.RAdam.
---     local opt = mc.optim.radam { lr = 0.1 }
---     local x = mc.tensor { 1, 2 }
---     (opt.update(x, mc.tensor { 3, -4 }, opt.init(x)))  --> f64[2]@cpu { 0.7000, 2.4000 }
---@param opts? table
---@return mascon.Optimizer
function M.radam(opts)
  return (optimizer('radam', radam, opts, spec(1e-3, 0, { betas = { { 0.9, 0.999 }, 'table' },
    eps = { 1e-8, 'number >= 0' } })))
end

local function length(x) return F.sqrt(F.sum(F.square(x))) end
local lamb = { slots = adam_slots, scalars = function(o, lr, t)
  return { lr = lr, first = sub(1, F.pow(o.betas[1], t)), root = F.sqrt(sub(1, F.pow(o.betas[2], t))) }
end, leaf = function(o, p, g, slot, k)
  local after = { m = F.lerp(slot.m, g, 1 - o.betas[1]), v = add(mul(slot.v, o.betas[2]),
    mul(mul(g, g), 1 - o.betas[2])) }
  local way = div(div(after.m, k.first), add(div(F.sqrt(after.v), k.root), o.eps))
  if o.weight_decay ~= 0 then way = add(way, mul(p, o.weight_decay)) end
  local a, b = length(p), length(way)
  local ratio = F.where(F.logical_and(F.gt(a, 0), F.gt(b, 0)), div(a, F.where(F.gt(b, 0), b, 1)), 1)
  return sub(p, mul(way, mul(ratio, k.lr))), after
end }

--- LAMB: Adam's way in each tensor, as long as the tensor itself: for very large batches.
---
--- u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay p; p = p - lr |p| / |u| u; the ratio is 1 where a
--- norm is 0.
--- Options: lr (1e-3), weight_decay (1e-2), maximize as for sgd · betas ({ 0.9, 0.999 }) · eps (1e-6). Result and
--- errors as for mc.optim.sgd.
--- Source: Large batch optimization for deep learning: training BERT in 76 minutes, 2020, algorithm 2.
---     local opt = mc.optim.lamb { lr = 0.1, weight_decay = 0, eps = 0 }
---     local x = mc.tensor { 3, 4 }
---     (opt.update(x, mc.tensor { 3, 3 }, opt.init(x)))  --> f64[2]@cpu { 2.6464, 3.6464 }
---@param opts? table
---@return mascon.Optimizer
function M.lamb(opts)
  return (optimizer('lamb', lamb, opts, spec(1e-3, 1e-2, { betas = { { 0.9, 0.999 }, 'table' },
    eps = { 1e-6, 'number >= 0' } })))
end

-- ---------------------------------------------------------------- by second derivatives

local sophia = {
  slots = function() return { 'm', 'h' } end,
  scalars = function(o, lr, t)
    return { lr = lr, kept = sub(1, mul(lr, o.weight_decay)), turn = F.eq(F.remainder(sub(t, 1), o.k), 0) }
  end,
  --- Whether the step that follows a state is one of 1, 1 + k, ...
  bends = function(o, state) return state.step:item() % o.k == 0 end,
  --- Leaves of the estimate; nothing where this step needs none, or where false says so.
  bent = function(o, state, curvature, params)
    if curvature == false then return {} end
    if curvature ~= nil then
      return parameters.matching('optim.sophia', 'curvature', curvature, 'params', params)
    end
    local step = type(state) == 'table' and state.step
    if is(step) and (tensor.recorded(step) or step:item() % o.k == 0) then
      local number = tensor.recorded(step) and 'a step that is compiled' or ('step %d'):format(step:item() + 1)
      error(('optim.sophia: %s needs an estimate of the second derivative; give update its fifth argument, such as '
        .. 'mc.optim.hutchinson(f, params, { key = key })'):format(number), 3)
    end
  end,
  leaf = function(o, p, g, slot, k)
    local after, h = { m = F.lerp(slot.m, g, 1 - o.betas[1]), h = slot.h }, slot.curvature
    if h then
      if h.dtype ~= slot.h.dtype then h = methods.to(h, slot.h.dtype) end
      after.h = F.where(k.turn, F.lerp(slot.h, h, 1 - o.betas[2]), slot.h)
    end
    local way = F.clip(div(after.m, F.maximum(mul(after.h, o.rho), o.eps)), -1, 1)
    if o.weight_decay ~= 0 then p = mul(p, k.kept) end
    return sub(p, mul(way, k.lr)), after
  end,
}

--- Sophia: steps by the mean gradient over a mean of the diagonal of the second derivative, of at most the rate.
---
--- m = b1 m + (1 - b1) g; at steps 1, 1 + k, ... h = b2 h + (1 - b2) curvature; p = (1 - lr weight_decay) p - lr
--- clip(m / max(rho h, eps), -1, 1). update(params, grads, state, lr?, curvature) takes an estimate of that diagonal, a
--- tree like the parameters (mc.optim.hutchinson); it may be left out at other steps. bends(state) says whether the
--- next step takes one. A compiled function does not see the number of its step: give the estimate, or false at other
--- steps. nn.Step makes the estimates itself.
--- Options: lr (1e-3), weight_decay (0.1), maximize as for sgd · betas ({ 0.965, 0.99 }) · rho (0.04) · k (10) · eps
--- (1e-12). Result as for mc.optim.sgd.
--- Errors: as mc.optim.sgd; a missing estimate. Source: Sophia: a scalable stochastic second-order optimizer for
--- language model pre-training, 2024, algorithm 3.
---     local opt = mc.optim.sophia { lr = 0.1, rho = 1, weight_decay = 0, betas = { 0, 0 } }
---     local x = mc.tensor { 1, 2 }
---     (opt.update(x, mc.tensor { 3, -1 }, opt.init(x), nil, mc.tensor { 6, 1 }))  --> f64[2]@cpu { 0.9500, 2.1000 }
---@param opts? table
---@return mascon.Optimizer
function M.sophia(opts)
  return (optimizer('sophia', sophia, opts, spec(1e-3, 0.1, { betas = { { 0.965, 0.99 }, 'table' },
    rho = { 0.04, 'number > 0' }, k = { 10, 'integer >= 1' }, eps = { 1e-12, 'number > 0' } })))
end

--- An estimate of the diagonal of the second derivative of f at params: u times the product of the second derivative
--- with u, for random signs u. Its mean over keys is the diagonal.
--- Source: A stochastic estimator of the trace of the influence matrix for Laplacian smoothing splines, 1990; Sophia,
--- 2024, section 2.3.
---     mc.optim.hutchinson(function(x) return mc.sum(x ^ 2) end, mc.tensor { 1, 5 }, { key = 1 })
---       --> f64[2]@cpu { 2, 2 }
---@param f fun(params: any): any a 0-d tensor
---@param params any tree of tensors
---@param opts table key: a random key or whole number (required)
---@return any tree like params
function M.hutchinson(f, params, opts)
  local fname = 'optim.hutchinson'
  check.arg(fname, 'f', f, 'function', 3)
  local key = check.opts(fname, opts, { key = { nil, 'any' } }, 3).key
  if key == nil then error(fname .. ': option key is missing; give a random key', 2) end
  local transform, random = require 'mascon.transform', require 'mascon.random'
  local leaves, paths = parameters.leaves(fname, 'params', params)
  local signs = {}
  for i, p in ipairs(leaves) do
    local u = random.rademacher(p.shape, { key = random.key(key):fold_in(i), dtype = work(fname, p, paths[i]) })
    signs[i] = methods.to(u, { device = p.device, dtype = p.dtype })
  end
  local slopes = transform.grad(f)
  local bent = transform.grad(function(x)
    local total
    for i, g in ipairs((parameters.leaves(fname, 'the gradient', slopes(x)))) do
      local part = F.sum(F.multiply(g, signs[i]))
      total = total and add(total, part) or part
    end
    return total
  end)(params)
  local out = {}
  for i, v in ipairs((parameters.leaves(fname, 'the second derivative', bent))) do out[i] = mul(v, signs[i]) end
  return parameters.build(params, out)
end

-- ---------------------------------------------------------------- around others

--- Lookahead: every k steps of another optimiser the parameters go back towards where they were k steps before.
---
--- Slow parameters move by alpha of the way to the fast ones, which then begin there; the state of the inner optimiser
--- stays.
--- Options: k (5) · alpha (0.5). Result as for mc.optim.sgd; the state has slow and inner.
--- Errors: an inner optimiser that is none. Source: Lookahead optimizer: k steps forward, 1 step back, 2019, algorithm
--- 1.
---     local opt = mc.optim.lookahead(mc.optim.sgd { lr = 1 }, { k = 1 })
---     local x = mc.tensor { 1, 2 }
---     (opt.update(x, mc.tensor { 1, 1 }, opt.init(x)))  --> f64[2]@cpu { 0.5000, 1.5000 }
---@param inner mascon.Optimizer
---@param opts? table
---@return mascon.Optimizer
function M.lookahead(inner, opts)
  local fname = 'optim.lookahead'
  local o = check.opts(fname, opts, { k = { 5, 'integer >= 1' }, alpha = { 0.5, 'number >= 0' } }, 3)
  if type(inner) ~= 'table' or type(inner.update) ~= 'function' or type(inner.init) ~= 'function' then
    error(('%s: the inner optimiser is %s; give one of mc.optim'):format(fname, check.show(inner)), 2)
  end
  local self = { name = 'lookahead', options = inner.options }
  function self.with(changes) return M.lookahead(inner.with(changes), o) end
  self.inner = inner
  function self.init(params)
    return { step = no_steps((parameters.leaves(fname, 'params', params))), inner = inner.init(params),
      slow = parameters.map(fname, 'params', params, methods.copy) }
  end
  if inner.bends then
    function self.bends(state) return inner.bends(state.inner) end
  end
  function self.update(params, grads, state, lr, curvature)
    if type(state) ~= 'table' or state.slow == nil then
      error(('%s: state is %s; give what init or the last update gave'):format(fname, check.show(state)), 2)
    end
    local fast, after = inner.update(params, grads, state.inner, lr, curvature)
    local t = add(state.step, 1)
    local turn = F.eq(F.remainder(t, o.k), 0)
    local slow = parameters.matching(fname, 'state.slow', state.slow, 'params', params)
    local new, kept = {}, {}
    for i, p in ipairs((parameters.leaves(fname, 'params', fast))) do
      kept[i] = F.where(turn, add(slow[i], mul(sub(p, slow[i]), o.alpha)), slow[i])
      new[i] = F.where(turn, kept[i], p)
    end
    return parameters.build(params, new), { step = t, inner = after, slow = parameters.build(params, kept) }
  end
  self.step = in_place(self)
  return setmetatable(self, Optimizer)
end

return M
