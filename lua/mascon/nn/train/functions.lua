-- functions.lua - what a step of training computes, as the functions that are compiled.
--
-- One gives loss, gradients and norms, and changes nothing; the other is the optimiser by pieces of parameters, which
-- writes over parameters, states and averages. Accumulated steps have one that adds up and one that ends the sum.
-- They stand in the step as whole, add, finish and updates, and are made anew where what they were made of has changed.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local compile = require 'mascon.compile'
local transform = require 'mascon.transform'
local optim = require 'mascon.optim'
local clipping = require 'mascon.optim.train.clip'
local autocast = require 'mascon.nn.train.autocast'
local module = require 'mascon.nn.module'
local watch = require 'mascon.nn.watch'
local source = require 'mascon.random.source'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

local INDEPENDENT = 'nn.Step: the loss depends on no parameter that is trained; compute it from the result of the '
  .. 'network, net(batch.x), without stop_gradient or :item() on the way'
local PIECE = 64 -- parameters that one call of a compiled optimiser updates

function M.part(tree, names)
  local out = {}
  for _, n in ipairs(names) do out[n] = tree[n] end
  return out
end

--- Loss, its weight and what comes with them, from what the user's function gave.
local function loss_of(results)
  local loss, weight = results[1], results[2]
  if not is(loss) or loss:numel() ~= 1 then
    error(('nn.Step: the loss function returned %s; it returns one number as a tensor'):format(
      is(loss) and tensor.describe(loss) or check.show(loss)), 2)
  end
  if weight ~= nil and not is(weight) and type(weight) ~= 'number' then
    error(('nn.Step: the second result of the loss function is %s; it is the weight of the batch, a number'):format(
      check.show(weight)), 2)
  end
  if type(weight) == 'number' and not (weight >= 0 and weight < math.huge) then
    error(('nn.Step: the weight of the batch (second result of the loss) is %s; it is a number from 0'):format(
      tostring(weight)), 2)
  end
  return loss, weight
end

--- The loss as a function of parameters and of what else a batch depends on: value, weight, new buffers.
local function forward_of(self)
  local net, loss, compiled = self.net, self.loss, self.options.compile
  return function(params, frozen, buffers, batch, key)
    local all = {}
    for k, v in pairs(frozen) do all[k] = v end
    for k, v in pairs(params) do all[k] = v end
    local g = source.default_generator()
    local before, drawn = g.stream, source.drawn
    local results, after
    local others = module.gather(function()
      results, after = net:with(all, { train = true, key = key, buffers = buffers }, function()
        return loss(net, batch)
      end)
    end)
    for slot, t in pairs(others) do -- of networks outside that are in training
      local name = ('%p'):format(slot)
      self.others[name], after[name] = slot, t
    end
    if compiled and (g.stream ~= before or source.drawn ~= drawn) then
      g.stream = before
      error('nn.Step: the loss draws random numbers without a key, and a compiled step would draw the same ones each '
        .. 'time; give the draws key = net:next_key(), which is another one at each step, or take compile = false', 2)
    end
    local value, weight = loss_of(results)
    if weight == nil then weight = 1 end
    if not is(weight) then weight = op.from_table(weight) end
    return value, methods.to(weight, { dtype = value.dtype, device = value.device }), after
  end
end

--- A tree over a scale; as it is without one.
local function unscaled(tree, scale)
  if not scale then return tree end
  local out = {}
  for k, v in pairs(tree) do out[k] = F.divide(v, scale) end
  return out
end

--- Estimates of the diagonal of the second derivative for some parameters: name -> tensor.
local function bend(forward, names, params, frozen, buffers, batch, key, now)
  local function loss(some)
    local all = {}
    for k, v in pairs(params) do all[k] = some[k] or v end
    local value = forward(all, frozen, buffers, batch, key)
    return now.scale and F.multiply(value, now.scale) or value
  end
  return unscaled(optim.hutchinson(loss, M.part(params, names), { key = now.signs }), now.scale)
end

--- Names of the parameters whose optimisers take an estimate of the second derivative in this step.
function M.bent_names(all, turn)
  local names = {}
  for i, group in ipairs(turn and all or {}) do
    if turn[i] then for _, n in ipairs(group[2]) do names[#names + 1] = n end end
  end
  return names
end

--- Loss, gradients, weight and new buffers of one batch, and estimates of the second derivative (none: empty).
--- now: { scale, turn, signs, ... }, what else a step depends on.
local function gradients(self)
  local forward = forward_of(self)
  self.forward = forward
  if self.options.amp then forward = autocast.autocast(forward, self.options.amp) end
  local run = transform.value_and_grad(function(params, frozen, buffers, batch, key, scale)
    local value, weight, after = forward(params, frozen, buffers, batch, key)
    return scale and F.multiply(value, scale) or value, value, weight, after
  end, { has_aux = true, independent = INDEPENDENT })
  return function(params, frozen, buffers, batch, key, now)
    local _, g, value, weight, after = run(params, frozen, buffers, batch, key, now.scale)
    local names = M.bent_names(self.groups, now.turn)
    local bent = names[1] and bend(forward, names, params, frozen, buffers, batch, key, now) or {}
    return value, unscaled(g, now.scale), weight, after, bent
  end
end

--- A tensor on the device of some others.
function M.beside(others, t)
  local _, other = next(others)
  return other and methods.to(t, { device = other.device }) or t
end

--- Norms of the gradients and of the estimates, which decide whether the step counts.
local function measured(self, g, bent)
  local o = self.options
  local norm = (o.clip or o.norm or self.scaler) and optim.global_norm(g) or M.beside(g, op.from_table(0))
  return { norm = norm, bent = next(bent) and optim.global_norm(bent) or nil }
end

--- Running averages of parameters behind a step.
local function averaged(self, new, ema, count)
  if not ema then return nil end
  local share = (count + 1) / (count + 10)
  share = is(share) and F.minimum(share, self.options.ema) or math.min(share, self.options.ema)
  local averages = {}
  for k, v in pairs(ema) do averages[k] = F.lerp(new[k], v, share) end
  return averages
end

--- New parameters, state and averages of parameters of group i from gradients of a norm.
local function updated(self, i, params, state, ema, g, bent, norm, now)
  if self.options.clip then g = clipping.scaled('nn.Step', g, norm, self.clip and now.limit or self.options.clip) end
  local optimizer = self.groups[i][1]
  local lr, curvature
  if now.factor then
    lr = optimizer.options.lr
    if type(lr) == 'function' then lr = lr(state.step) end
    lr = lr * now.factor
  end
  if optimizer.bends then curvature = now.turn[i] and bent end
  local new, after = optimizer.update(params, g, state, lr, curvature)
  return new, after, averaged(self, new, ema, now.count)
end

--- The tensors of a tree by name at some names, as a list; nil of nil.
local function listed(tree, names)
  if not tree then return nil end
  local out = {}
  for i, n in ipairs(names) do out[i] = tree[n] end
  return out
end

--- What the optimiser of a group is called with, piece by piece: lists of its parameters, states and averages, so that
--- layers of the same shapes share a plan; all by name where the optimiser takes them together.
local function pieces(self, i, params, states, ema, g, bent)
  local optimizer, names = self.groups[i][1], self.groups[i][2]
  local state, out = states[i], {}
  if not optimizer.separable then
    return { { M.part(params, names), state, ema and M.part(ema, names), M.part(g, names), M.part(bent, names) } }
  end
  for first = 1, #names, PIECE do
    local some = { unpack(names, first, math.min(first + PIECE - 1, #names)) }
    local own = {}
    for slot, v in pairs(state) do own[slot] = slot == 'step' and v or listed(v, some) end
    out[#out + 1] = { listed(params, some), own, listed(ema, some), listed(g, some), {} }
  end
  return out
end

--- Writes the tensors of a tree over those of another.
local function overwrite(old, fresh)
  if rawequal(old, fresh) then return end
  if is(old) and is(fresh) then methods.copy_(old, fresh)
  elseif type(old) == 'table' and type(fresh) == 'table' then
    for k, v in pairs(old) do overwrite(v, fresh[k]) end
  else
    error(('nn.Step: the optimiser makes %s of %s in its state; a state is a tree of tensors whose form stays'):format(
      check.show(fresh), check.show(old)), 2)
  end
end

--- Tensors that nobody else holds: results of a plan.
local function apart(tree)
  local out = {}
  for k, v in pairs(tree) do out[k] = methods.copy(v) end
  return out
end

--- A compiled function whose call that is traced has the bits of the later ones: in 16 bits a fused group is rounded
--- once, its operations one by one more often, and a run that goes on must not depend on where it went on.
local function steady(f)
  return function(...)
    local before, out = f.traces, { f(...) }
    if f.traces ~= before then out = { f(...) } end
    return unpack(out, 1, 6)
  end
end

local function functions(self)
  local run, compiled = gradients(self), self.options.compile
  local fresh = compiled and apart or function(tree) return tree end
  local function whole(params, frozen, buffers, batch, key, now)
    local value, g, weight, after, bent = run(params, frozen, buffers, batch, key, now)
    return value, measured(self, g, bent), fresh(g), after, fresh(bent), weight
  end
  -- one part of a step: gradients times the weight of the batch are added up
  local function add(params, frozen, buffers, sums, batch, key, now)
    local value, g, weight, after, bent = run(params, frozen, buffers, batch, key, now)
    -- a batch that weighs nothing adds nothing, whatever its mean over nothing is
    local function weighed(v) return F.multiply_no_nan(v, methods.to(weight, v.dtype)) end
    local out = { total = sums.total + weight, loss = sums.loss + weighed(value), grads = {}, bent = {} }
    for k, v in pairs(g) do out.grads[k] = sums.grads[k] + weighed(v) end
    for k, v in pairs(bent) do out.bent[k] = sums.bent[k] + weighed(v) end
    return out, after, value, weight
  end
  -- the means take the place of the sums
  local function finish(sums)
    local g, bent = {}, {}
    for k, v in pairs(sums.grads) do g[k] = v / methods.to(sums.total, v.dtype) end
    for k, v in pairs(sums.bent) do bent[k] = v / methods.to(sums.total, v.dtype) end
    local sizes = measured(self, g, bent)
    overwrite(sums.grads, g)
    overwrite(sums.bent, bent)
    return sums.loss / sums.total, sizes
  end
  local updates = {}
  for i, group in ipairs(self.groups) do
    local together = #group[2] <= PIECE or not group[1].separable
    updates[i] = function(params, state, ema, g, bent, norm, now)
      local new, after, averages = updated(self, i, params, state, ema, g, bent, norm, now)
      if not compiled then self.torn = true end
      if not together then after.step = state.step end -- see update
      overwrite(params, new)
      overwrite(state, after)
      overwrite(ema, averages)
    end
  end
  if not compiled then return whole, add, finish, updates end
  local calls, around = watch.calls(self.net)
  calls[#calls + 1] = self.loss
  around[self] = true
  self.seen_in, self.rules = watch.look(self.net, 'parts'), {}
  self.compiled = { compile.reads(compile.compile(whole, { lend = { 3 } }), calls, around),
    compile.reads(compile.compile(add), calls, around), compile.compile(finish, { overwrite = true }) }
  for i, f in ipairs(updates) do
    local optimizer, own = self.groups[i][1], {}
    for _, holder in ipairs { optimizer, optimizer.options or {} } do
      for _, v in pairs(holder) do own[#own + 1] = v end
    end
    if optimizer.options then -- a rate that is changed there is another rate
      self.rules[optimizer.options] = {}
      for k, v in pairs(optimizer.options) do self.rules[optimizer.options][k] = v end
    end
    updates[i] = compile.reads(compile.compile(f, { overwrite = true }), watch.functions(own), around)
    self.compiled[3 + i] = updates[i]
  end
  local a, b, c = unpack(self.compiled)
  if self.options.amp then return steady(a), steady(b), c, updates end
  return a, b, c, updates
end

--- Whether the modules of a network are as they were seen, but for numbers, which become arguments of the compiled
--- functions of a list.
---@param seen table of watch.look
---@param list mascon.Compiled[]
---@return boolean
function M.follow(seen, list)
  if watch.same(seen) then return true end
  local numbers = watch.loosen(seen)
  for _, f in ipairs(numbers and list or {}) do compile.vary(f, numbers) end
  return numbers ~= nil
end

--- Whether the modules and the options of optimisers are those of the functions.
function M.unaltered(self)
  for options, was in pairs(self.rules) do
    for k, v in pairs(options) do if was[k] ~= v then return false end end
  end
  return M.follow(self.seen_in, { self.compiled[1], self.compiled[2] })
end

--- What to say of parameters of 16 bits, which no step of a usual size changes; nil where there are none.
function M.coarse(self)
  for name, p in pairs((module.tensors(self.net))) do
    if p.dtype == 'bf16' or p.dtype == 'f16' then
      return ("%s is %s, and steps are rounded to it: changes below about %s of a parameter are lost. Keep the network "
        .. "in f32 and give amp = '%s', which computes in 16 bits"):format(name, p.dtype, p.dtype == 'f16' and '1/4096'
        or '1/512', p.dtype)
    end
  end
end

--- What to say once of a number that changes at each step and cannot become an argument; nil where there is none.
function M.note(self)
  for _, f in ipairs(not self.noted and self.compiled or {}) do
    local v = f.restless
    if v then
      self.noted = true
      local name, seconds = v.name, 0
      if module.is(v.env) then
        self.net:each(function(m, place) if m == v.env and place ~= '' then name = place .. '.' .. v.name end end)
      end
      for _, form in ipairs(f.forms) do seconds = math.max(seconds, form.seconds) end
      return ('%s has had %d values, and each means a new trace of the step (%.2g s); change it less often, such as at '
        .. 'each epoch, or pass the number in the batch'):format(name, v.times, seconds)
    end
  end
end

--- Makes the functions of a step; anew where fields of the modules have others values than when they were made.
function M.made(self)
  self.whole, self.add, self.finish, self.updates = functions(self)
  self.traced = nil
end

--- Calls visit(self, i, ...) for every piece of every group i, with the arguments of its update.
--- writes: the pieces are updated, and with the last one the number of the step that they share.
function M.each_piece(self, visit, writes, params, g, bent, norm, now)
  for i, group in ipairs(self.groups) do
    local list = pieces(self, i, params, self.states, self.averages, g, bent)
    for _, p in ipairs(list) do visit(self, i, p[1], p[2], p[3], p[4], p[5], norm, now) end
    local step = self.states[i].step
    if writes and #list > 1 then methods.copy_(step, F.add(step, 1)) end
  end
end

return M
