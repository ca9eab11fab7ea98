-- step.lua - one step of training: loss, gradient, clipping and optimiser, compiled.
--
-- What the optimiser makes of the gradients (functions.lua) is written over parameters, states and averages once loss
-- and norm are known to be finite. Tensors that others have seen are copied before.
-- Holds what a step needs between calls (state of the optimiser, averages, gradients that are being accumulated, the
-- number of the step). Optimisers are those of mc.optim; a group of parameters has one of its own, with other options.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local lib = require 'mascon.core.ffi'
local op = require 'mascon.core.op'
local compile = require 'mascon.compile'
local optim = require 'mascon.optim'
local functions = require 'mascon.nn.train.functions'
local random = require 'mascon.random'
local keys = require 'mascon.random.key'
local module = require 'mascon.nn.module'
local slots = require 'mascon.nn.slot'
local public = require 'mascon.nn.public'
local anomaly = require 'mascon.nn.train.anomaly'
local autocast = require 'mascon.nn.train.autocast'
local patterns = require 'mascon.nn.train.patterns'
local plainly = require 'mascon.nn.train.plainly'
local scalers = require 'mascon.nn.train.scaler'
local error = check.error
local is, methods = tensor.is, tensor.methods
local M = {}

---@class mascon.Step
local Step = {}
M.methods = Step
local meta = { __index = Step }

local ARGUMENTS = { 'parameter ', 'frozen parameter ', 'buffer ', 'batch.' } -- of the function of a step, in messages
local SIGNS = 2 ^ 52 -- numbers of batches stay below; the estimates of the second derivative have a key of their own
local OPTS = { -- those of a trainer, too
  optimizer = { nil, 'any' }, clip = { nil, 'number > 0 | table' }, groups = { nil, 'table' },
  ema = { nil, 'number > 0' },
  accumulate = { 1, 'integer >= 1' }, compile = { true, 'bool' }, key = { 0, 'any' },
  norm = { true, 'bool' }, amp = { nil, 'any' }, scaler = { nil, 'bool | table' },
  plateau = { nil, 'table' }, anomaly = { true, 'bool' },
}
M.options = OPTS

--- Refuses a loss of two tensors where a function of the network and a batch is wanted.
local function no_formula(fname, loss, level)
  for name in pairs(require 'mascon.nn.loss') do
    if public.names[name] == loss then
      error(('%s: loss is nn.%s, which takes a result and a target; give a function of the network and a batch: '
        .. 'function(net, b) return mc.nn.%s(net(b.x), b.y) end'):format(fname, name, name), level + 1)
    end
  end
end

-- ---------------------------------------------------------------- the step

--- A step of training as an object that is called with a batch: loss, gradient, clipping and optimiser, compiled.
---
--- Parameters are written over; tensors that were read before (net.weight, net:parameters()) stay as they were.
---
--- Calling it, step(batch), changes the parameters and buffers of the network and returns the loss, as a number, and a
--- table { norm = of the gradient before clipping (0 where it is not computed), step = its number, updated = whether
--- parameters changed, own = the loss of this batch alone, nil where its weight is 0, weight = of the batch }. If the
--- loss or the norm is not finite, nothing changes and the table has finite = false and anomaly: what made the first
--- number that is not finite. note, once: which number changes so often that steps are traced again and again; that
--- parameters are of 16 bits, which lose small steps.
--- Variables outside that the loss and the modules read (numbers, tables, tensors, other networks) are read at each
--- call, as by mc.compile, and so are fields and hooks of modules and options of the optimiser. Fields of steps,
--- trainers and loaders are not: pass such numbers in the batch. Random numbers need key = net:next_key().
---
--- The network is in training whatever its own mode is, but for parts in evaluation while it is in training:
--- net:train(); net.backbone:eval() keeps the running moments of a part. Networks outside have the modes that they were
--- set to; running moments of one in training change, too.
--- Dropout draws from the key folded with the number of the step. With mc.optim.sophia a step of its turn (1, 1 + k,
--- ...) also estimates the diagonal of the second derivative on its batch (mc.optim.hutchinson; of accumulated batches
--- the mean, by their weights), which takes about the time of two gradients more.
---@param net mascon.Module
---@param loss fun(net: table, batch: any): any, any gives the loss as a 0-d tensor and, for accumulation, the weight of
---   the batch: a number, such as the tokens that count (1)
---@param opts table optimizer: one of mc.optim (required) · clip: largest norm of the gradient, or options of
---   mc.optim.adaptive_clip, or one: a percentile of the norms so far · groups: list of
---   { 'pattern of names', option = value, lr_factor = }: the first that matches changes options of the optimiser ·
---   ema: decay of running averages of the parameters, min(ema, (1 + t) / (10 + t)) · accumulate: batches in one
---   step (1): the mean over all, by their weights · compile (true) · key (0): of random numbers · norm (true):
---   compute the norm without clip · amp: mixed precision, 'bf16', 'f16' or options of mc.nn.autocast (none) ·
---   scaler: of the loss, true, options of mc.nn.GradScaler or one (with f16; false: none); a step whose gradient
---   overflows is left out (overflow = true) and the scale falls · plateau: options of mc.optim.plateau;
---   step.plateau:update(metric) then lowers the rates of all groups by a common factor · anomaly (true): the first
---   step that is not finite is searched for its cause, mc.nn.anomaly
---@return mascon.Step
--- Errors: a loss that is no number or that no parameter reaches, groups that match nothing, no parameters.
---     local net = mc.nn.Linear(1, 1)
---     local function loss(m, b) return mc.nn.mse_loss(m(b.x), b.y) end
---     local step = mc.nn.Step(net, loss, { optimizer = mc.optim.sgd{ lr = 0.1 } })
---     local b = { x = mc.ones{ 4, 1, dtype = 'f32' }, y = mc.ones{ 4, 1, dtype = 'f32' } }
---     step(b) > step(b)  --> true
function M.Step(net, loss, opts)
  local fname = 'nn.Step'
  if not module.is(net) then error(('%s: the network is %s; give a module'):format(fname, check.show(net)), 2) end
  check.arg(fname, 'loss', loss, 'function', 3)
  no_formula(fname, loss, 3)
  local o = check.opts(fname, opts, OPTS, 3)
  local optimizer = o.optimizer
  if type(optimizer) ~= 'table' or type(optimizer.update) ~= 'function' or type(optimizer.init) ~= 'function' then
    error(('%s: optimizer is %s; give one of mc.optim, such as mc.optim.adamw{ lr = 1e-3 }'):format(fname,
      check.show(optimizer)), 2)
  end
  if o.ema and o.ema >= 1 then error(('%s: ema is %g; a decay is below 1'):format(fname, o.ema), 2) end
  local self = setmetatable({ net = net, loss = loss, options = o, count = 0, pending = 0, missing = 0,
    key = random.key(o.key) }, meta)
  self.shown = setmetatable({}, { __mode = 'k' }) -- tensors that others have seen
  self.others = {} -- name in the result of a step -> slot of a buffer of another network
  self.groups = patterns.of(net, optimizer, o.groups)
  o.amp = autocast.chosen(fname, o.amp, 3)
  local scaler = o.scaler
  if scaler == nil then scaler = o.amp ~= nil and o.amp.dtype == 'f16' end
  if scaler then
    self.scaler = getmetatable(scaler) and scaler or scalers.GradScaler(scaler ~= true and scaler or nil)
  end
  if o.plateau then
    if not (optimizer.options and optimizer.options.lr) then
      error(('%s: plateau lowers a rate, and the optimiser has no options.lr'):format(fname), 2)
    end
    self.plateau = optim.plateau(1, o.plateau)
  end
  if type(o.clip) == 'table' then self.clip = getmetatable(o.clip) and o.clip or optim.adaptive_clip(o.clip) end
  self.states = {}
  local params = module.tensors(net)
  for i, g in ipairs(self.groups) do self.states[i] = g[1].init(functions.part(params, g[2])) end
  if o.ema then
    self.averages = {}
    for k, v in pairs(params) do self.averages[k] = methods.copy(v) end
  end
  functions.made(self)
  return self
end

local function finite(v) return v == v and v ~= math.huge and v ~= -math.huge end

--- By group: whether its optimiser takes an estimate of the second derivative in the step that follows these states;
--- nil where none ever does.
local function turns(all, states)
  local out
  for _, group in ipairs(all) do
    if group[1].bends then out = {} end
  end
  for i, group in ipairs(out and all or {}) do
    out[i] = group[1].bends ~= nil and group[1].bends(states[i])
  end
  return out
end

--- Nothing accumulated; bent: names of the parameters with estimates of the second derivative.
local function nothing(params, bent)
  local zero = op.from_table(0)
  local sums, dtype = { total = zero, loss = zero, grads = {}, bent = {} }, 'f32'
  for _, k in ipairs(bent) do sums.bent[k] = params[k] * 0 end
  for k, v in pairs(params) do
    sums.grads[k] = v * 0
    if v.dtype == 'f64' then dtype = 'f64' end
  end
  zero = functions.beside(params, methods.to(zero, dtype))
  sums.total, sums.loss = zero, zero
  return sums
end

--- Calls f with every tensor of a tree.
local function each(v, f)
  if is(v) then f(v)
  elseif type(v) == 'table' then for _, x in pairs(v) do each(x, f) end end
end

--- Gives back what a compiled step made and nobody else has: it would wait for the collector.
local function give_back(self, old)
  if not self.compiled then return end
  local now, kept = {}, self.shown
  each(self.sums, function(t) now[t] = true end)
  each(old, function(t) if not now[t] and not kept[t] then tensor.drop(t) end end)
end

--- Puts a record of what a step changed beside its parameters into the network and the step: one assignment decides, so
--- that an interruption leaves all of it or nothing.
local function commit(self, r)
  self.unfinished = r
  local old, own = self.sums, {}
  for name, t in pairs(r.buffers) do
    local other = self.others[name]
    if other then slots.put('nn.Step', 'a buffer of another network', other, t, 2) else own[name] = t end
  end
  self.net:update(own)
  self.sums, self.count, self.pending = r.sums, r.count, r.pending
  self.missing = self.missing + (r.missing or 0)
  self.unfinished = nil
  give_back(self, old)
end

--- A tree whose tensors may be written to: those that others have seen are copied.
local function owned(self, v)
  if is(v) then return self.shown[v] and methods.copy(v) or v end
  if type(v) ~= 'table' then return v end
  local out = {}
  for k, x in pairs(v) do out[k] = owned(self, x) end
  return out
end

--- One piece is written over; a function that has to be traced has not written yet.
local function write(self, i, ...)
  self.torn = self.torn or self.compiled ~= nil and self.compiled[3 + i].forms[1] ~= nil
  self.updates[i](...)
  self.torn = true
end

--- Writes a step over parameters, states and averages.
local function change(self, g, bent, norm, now, record)
  local params = module.owned(self.net)
  self.states, self.averages = owned(self, self.states), owned(self, self.averages)
  functions.each_piece(self, write, true, params, g, bent, norm, now)
  commit(self, record)
  self.torn = nil
end

--- Ends what was interrupted, or says that it cannot be ended.
local function settle(self)
  if self.torn then
    error(('nn.Step: step %d failed or was stopped while it changed the parameters, which may be half written; go on '
      .. 'from a checkpoint (step:restore, the option resume of a trainer)'):format(self.count + 1), 3)
  end
  if self.unfinished then commit(self, self.unfinished) end
end

--- How often parts of the step were traced.
local function traces(self)
  local n = 0
  for _, f in ipairs(self.compiled or {}) do n = n + f.traces end
  return n
end

--- A key where the parameters are.
local function there(params, key)
  local _, p = next(params)
  return p and key:to(p.device) or key
end

--- The key of the run folded with a number, where the parameters are.
---@param number integer
---@return mascon.Key
function Step:turn(number) return (there((module.tensors(self.net)), self.key:fold_in(number))) end

--- What a step depends on beside its batch and what the network and the optimiser hold.
local function circumstances(self, params)
  local now = { count = self.count, scale = self.scaler and self.scaler.value,
    factor = self.plateau and self.plateau.rate, limit = self.clip and self.clip:next_limit(),
    turn = turns(self.groups, self.states) }
  if functions.bent_names(self.groups, now.turn)[1] then
    now.signs = there(params, self.key:fold_in(SIGNS):fold_in(self.count))
  end
  return now
end

--- Whether a step counts: loss, norms of gradients and estimates are finite. Squares of numbers beyond 1.8e19 are
--- infinite in f32, so that an infinite norm of finite gradients is computed once more.
local function counts(r, loss)
  local sizes = r.sizes
  if not finite(loss) then return false end
  if not finite(sizes.norm:item()) then
    local wide = {}
    for k, g in pairs(r.grads) do wide[k] = methods.to(g, 'f64') end
    sizes.norm = optim.global_norm(wide)
  end
  return finite(sizes.norm:item()) and (sizes.bent == nil or finite(sizes.bent:item()))
end

--- Ends a step: takes what it changes, unless a number is not finite. r: { value, sizes, grads, bent, buffers, now }.
local function end_step(self, r, loss, size, good, search)
  local record = { buffers = good and r.buffers or {}, count = self.count + 1, pending = 0, missing = r.missing }
  local scale = self.scaler and self.scaler.value
  if good then change(self, r.grads, r.bent, size, r.now, record) else commit(self, record) end
  give_back(self, { r.grads, r.bent })
  local norm = size:item()
  local overflow = self.scaler and not good and finite(loss) and self.scaler:can_fall() or nil
  if self.scaler then self.scaler:update(good, norm) end
  if self.clip and good then self.clip:add(norm) end
  local found
  if not good and not overflow and self.options.anomaly and not self.searched then
    self.searched = true -- once: with steps that are left out it may happen often
    found = search()
  end
  return loss, { norm = norm, step = self.count, updated = good, finite = good, overflow = overflow, scale = scale,
    own = r.own, weight = r.weight, anomaly = found }
end

--- What a step leaves behind is written all at once: a first signal waits until the caller's behind(loss, info) has
--- written its part, too.
local function settled(behind, f, ...)
  local stop, loss, info = check.held(function(...)
    local loss, info = f(...)
    if behind then behind(loss, info) end
    return loss, info
  end, ...)
  if stop then error(stop, 0) end
  return loss, info
end

--- Parameters, frozen ones and buffers of the network, the key of the next batch, and what else its step depends on.
local function operands(self)
  local params, frozen, buffers = module.tensors(self.net)
  patterns.check(self.groups, params, 4)
  local key = there(params, self.key:fold_in(self.count * self.options.accumulate + self.pending))
  return params, frozen, buffers, key, circumstances(self, params)
end

--- Traces gradients and optimiser before the first of them runs: tracing takes memory, and an arena does.
local function trace_ahead(self, params, frozen, buffers, batch, key, now)
  if self.traced or not self.compiled or self.options.accumulate > 1 then return end
  self.traced = true
  local run = self.compiled[1]
  local value, sizes, g, after, bent, weight = compile.ahead(run, params, frozen, buffers, batch, key, now)
  if value == nil then return end
  local function trace(_, i, ...) compile.ahead(self.compiled[3 + i], ...) end
  functions.each_piece(self, trace, false, params, g, bent, sizes.norm, now)
  each({ value, sizes, g, after, bent, weight }, tensor.drop)
  collectgarbage()
  lib.C.mc_memory_trim()
end

--- The weight of a batch as a number.
local function weight_of(t)
  local weight = t:item()
  if weight >= 0 and weight < math.huge then return weight end
  error(('nn.Step: the weight of the batch (second result of the loss) is %s; it is a number from 0'):format(
    tostring(weight)), 4)
end

local function step_of(self, batch, behind)
  settle(self)
  if self.compiled and not functions.unaltered(self) then functions.made(self) end
  local many = self.options.accumulate
  local params, frozen, buffers, key, now = operands(self)
  local r = { now = now }
  local function plain() self.forward(params, frozen, buffers, batch, key) end
  trace_ahead(self, params, frozen, buffers, batch, key, now)
  if many == 1 then
    local weight
    r.value, r.sizes, r.grads, r.buffers, r.bent, weight = plainly.call(plain, self.whole, params, frozen, buffers,
      batch, key, now)
    r.weight = weight_of(weight)
    give_back(self, { weight })
  else
    local old = self.sums or nothing(params, functions.bent_names(self.groups, now.turn))
    local sums, value, weight
    sums, r.buffers, value, weight = plainly.call(plain, self.add, params, frozen, buffers, old, batch, key, now)
    if not self.sums then give_back(self, old) end
    local own = value:item()
    r.weight = weight_of(weight)
    r.own = r.weight ~= 0 and own or nil
    give_back(self, { value, weight })
    if self.pending + 1 < many then
      return settled(behind, function()
        commit(self, { buffers = r.buffers, sums = sums, count = self.count, pending = self.pending + 1 })
        return own, { updated = false, step = self.count + 1, finite = r.own == nil or finite(own), own = r.own,
          weight = r.weight }
      end)
    end
    r.value, r.sizes = self.finish(sums)
    r.grads, r.bent = sums.grads, sums.bent
  end
  local loss = r.value:item()
  local good = counts(r, loss)
  if many == 1 and r.weight ~= 0 then r.own = loss end
  return settled(behind, end_step, self, r, loss, r.sizes.norm, good, function()
    return anomaly.search(ARGUMENTS, self.forward, params, frozen, buffers, batch, key)
  end)
end

--- The step of what has been accumulated, where batches are missing to a whole one; nothing without any.
function Step:_rest(behind)
  settle(self)
  if self.pending == 0 then return end
  local sums = self.sums
  local _, _, _, _, now = operands(self)
  local r = { now = now, buffers = {}, grads = sums.grads, bent = sums.bent,
    missing = self.options.accumulate - self.pending }
  r.value, r.sizes = self.finish(sums)
  local loss = r.value:item()
  local good = counts(r, loss)
  settled(behind, end_step, self, r, loss, r.sizes.norm, good, function() end)
end

--- Batches taken so far.
function Step:_batches() return self.count * self.options.accumulate + self.pending - self.missing end

--- What is to be said of the parameters, behind the first step.
local function noted(self)
  if self.looked then return nil end
  self.looked = true
  return functions.coarse(self)
end

--- A step, and behind(loss, info) with it: no signal comes between the two.
---
--- A step that is traced keeps all that it computes: the collector comes before it and takes that after it, so that the
--- peak of a run does not hang on the moment at which it would come by itself.
function Step:_take(batch, behind)
  if not self.compiled then
    local loss, told = step_of(self, batch, behind)
    told.note = noted(self)
    return loss, told
  end
  local before = traces(self)
  if before == 0 and not self.collected then collectgarbage() end
  local loss, told = step_of(self, batch, behind)
  if traces(self) ~= before then
    told.note = functions.note(self)
    collectgarbage()
  end
  told.note = told.note or noted(self)
  return loss, told
end
meta.__call = function(self, batch) return self:_take(batch) end

--- The learning rate of the next step, without factors of groups; nil where the optimiser has no options.lr.
---@return number|nil
function Step:rate()
  local options, state = self.options.optimizer.options, self.states[#self.states]
  local lr = options and options.lr
  if type(lr) == 'function' then
    lr = tensor.scope(function()
      local rate = lr(state.step)
      return is(rate) and rate:item() or rate
    end)
  end
  if is(lr) then lr = lr:item() end
  return lr and lr * (self.plateau and self.plateau.rate or 1)
end

--- Bytes of activations and workspace that a step on a batch takes: the step is compiled and computed, and changes
--- nothing.
---@param batch any
---@return integer
--- Errors: a step that is not compiled.
function Step:measure(batch)
  if not self.compiled then error('step:measure: the step is not compiled; leave out compile = false', 2) end
  settle(self)
  local params, frozen, buffers, key, now = operands(self)
  if self.options.accumulate == 1 then self.whole(params, frozen, buffers, batch, key, now)
  else
    local sums = self.sums or nothing(params, functions.bent_names(self.groups, now.turn))
    self.add(params, frozen, buffers, sums, batch, key, now)
  end
  collectgarbage()
  return self:arena()
end

--- Bytes of activations and workspace of a step that was traced: 0 before the first one, and without compile.
---@return integer
function Step:arena()
  local most = 0
  for _, f in ipairs(self.compiled or {}) do
    for _, form in ipairs(f.forms) do most = math.max(most, form.arena or 0) end
  end
  return most
end

--- Operations of a step as it was traced last, two for each term of a product: 0 before the first one, and without
--- compile. Loops of unknown length count one turn; attention counts what a query does not see.
---@return integer
function Step:operations()
  local n = 0
  for i, f in ipairs(self.compiled or {}) do
    local form = f.forms[#f.forms]
    if form and form.operations then n = n + form.operations * (i == 2 and self.options.accumulate or 1) end
  end
  return n
end

--- Runs f with the averages of the parameters (option ema) in the network; afterwards it has its own again.
---@param f function
---@return any what f returns
function Step:averaged(f)
  settle(self)
  if not self.averages then error('step:averaged: there are no averages; give nn.Step the option ema', 2) end
  local own = self.net:parameters()
  each(self.averages, function(t) self.shown[t] = true end)
  self.net:update(self.averages)
  local function done(ok, ...)
    self.net:update(own)
    if not ok then error((...), 0) end
    return ...
  end
  return done(pcall(f))
end

--- All that the next steps depend on, as one table of tensors by name and one of numbers: what a checkpoint keeps.
---@return table tensors name -> tensor
---@return table numbers
function Step:state()
  settle(self)
  local out = {}
  for k, v in pairs(self.net:state_dict()) do out['net/' .. k] = v end
  local function walk(prefix, v)
    if is(v) then
      out[prefix], self.shown[v] = v, true
    elseif type(v) == 'table' then
      for k, x in pairs(v) do walk(prefix .. '/' .. tostring(k), x) end
    end
  end
  for i, s in ipairs(self.states) do walk('optimizer/' .. i, s) end
  walk('ema', self.averages)
  walk('sums', self.sums)
  return out, { count = self.count, pending = self.pending, missing = self.missing,
    accumulate = self.options.accumulate,
    optimizer = patterns.optimisers(self.groups), key = { self.key.lo, self.key.hi },
    scaler = self.scaler and self.scaler:state(),
    plateau = self.plateau and self.plateau:state(), clip = self.clip and self.clip:state() }
end

--- Takes what state() gave, here or in another run; the network and the options have to be the same.
---@param tensors table
---@param numbers table
---@return mascon.Step self
function Step:restore(tensors, numbers)
  check.arg('step:restore', 'numbers', numbers, 'table', 3)
  for _, k in ipairs { 'count', 'pending' } do check.arg('step:restore', k, numbers[k], 'integer >= 0', 3) end
  local key = check.arg('step:restore', 'key', numbers.key, 'table', 3)
  for i = 1, 2 do check.arg('step:restore', ('key[%d]'):format(i), key[i], 'integer >= 0', 3) end
  local before, here = numbers.optimizer, patterns.optimisers(self.groups)
  if before and before ~= here then
    error(('step:restore: the state is of %s, this step has %s; give the same optimiser'):format(before, here), 2)
  end
  local many = self.options.accumulate -- on it depends the place in an epoch
  if numbers.accumulate and numbers.accumulate ~= many then
    error(('step:restore: the state is of steps of %d batch%s, this step accumulates %d; give accumulate = %d'):format(
      numbers.accumulate, numbers.accumulate == 1 and '' or 'es', many, numbers.accumulate), 2)
  end
  local wanted = {}
  local function fits(name, like)
    local t = tensors[name]
    wanted[name] = true
    if is(t) and like.dtype == 'bf16' and t.dtype == 'f32' then t = methods.to(t, 'bf16') end -- as files have it
    if not is(t) or tostring(t.shape) ~= tostring(like.shape) or t.dtype ~= like.dtype then
      error(('step:restore: %s is %s, this step has %s; the network or its optimiser is another one'):format(name,
        is(t) and tensor.describe(t) or 'missing', tensor.describe(like)), 3)
    end
    return methods.to(t, { device = like.device })
  end
  local function walk(prefix, v)
    if is(v) then return fits(prefix, v) end
    local out = {}
    for k, x in pairs(v) do out[k] = walk(prefix .. '/' .. tostring(k), x) end
    return out
  end
  local state = {}
  for k, v in pairs(self.net:state_dict()) do state[k] = fits('net/' .. k, v) end
  local states = {}
  for i, s in ipairs(self.states) do states[i] = walk('optimizer/' .. i, s) end
  local averages = self.averages and walk('ema', self.averages)
  local bent = functions.bent_names(self.groups, turns(self.groups, states))
  local sums = numbers.pending > 0 and walk('sums', nothing(self.net:parameters(), bent)) or nil
  local names = {}
  for name in pairs(tensors) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    if not wanted[name] then
      error(('step:restore: this step has no %s, which is %s; the network or its optimiser is another one'):format(name,
        tensor.describe(tensors[name])), 2)
    end
  end
  self.net:update(state)
  self.states, self.averages, self.sums, self.unfinished, self.torn = states, averages, sums, nil, nil
  each({ states, averages, sums }, function(t) self.shown[t] = true end)
  self.count, self.pending, self.missing = numbers.count, numbers.pending, numbers.missing or 0
  if self.scaler and numbers.scaler then self.scaler:restore(numbers.scaler) end
  if self.plateau and numbers.plateau then self.plateau:restore(numbers.plateau) end
  if self.clip and numbers.clip then self.clip:restore(numbers.clip) end
  self.key = keys.new(key[1], key[2])
  return self
end

return M
