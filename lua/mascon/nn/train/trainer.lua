-- trainer.lua - the loop around a step: epochs, evaluation, checkpoints, log, early end, resuming.
--
-- What a run does next follows from the number of batches it has taken: epoch and place in it, order, keys. A
-- checkpoint holds that number, the state of the step, the best result so far and the state of the default generator,
-- so that a run goes on in the middle of an epoch with the bits it would have had.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local json = require 'mascon.base.json'
local file = require 'mascon.base.file'
local progress = require 'mascon.base.progress'
local text = require 'mascon.base.text'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local source = require 'mascon.random.source'
local clock = require('mascon.core.ffi').clock_seconds
local checkpoint = require 'mascon.nn.train.checkpoint'
local evaluation = require 'mascon.nn.train.evaluation'
local events = require 'mascon.nn.train.events'
local stored = require 'mascon.nn.train.facts'
local manifest = require 'mascon.report.manifest'
local results = require 'mascon.report.results'
local steps = require 'mascon.nn.train.step'
local module = require 'mascon.nn.module'
local tree = require 'mascon.graph.tree'
local error, F = check.error, op.functions
local M = {}

local SIDE, TRIES = 512, 8 -- of the product that a share of the peak is a share of

---@class mascon.Trainer
local Trainer = {}
Trainer.__index = Trainer
M.methods = Trainer

Trainer.__tostring = function(t)
  local best, epochs = t.best, #t.history
  return ('%s: %d step%s, %d epoch%s%s'):format(t.options.name, t.step.count, t.step.count == 1 and '' or 's', epochs,
    epochs == 1 and '' or 's', best and ('; best %s %s in epoch %d'):format((t.monitor:gsub('_', ' ')),
      text.significant(best.value, 4), best.epoch) or '')
end

local OPTS = {
  loss = { nil, 'function' }, train = { nil, 'table' }, valid = { nil, 'table' }, metrics = { nil, 'table' },
  epochs = { nil, 'integer >= 1' }, steps = { nil, 'integer >= 1' }, folder = { nil, 'string' },
  every = { nil, 'integer >= 1' }, keep = { 3, 'integer >= 1' }, monitor = { nil, 'string' },
  patience = { nil, 'integer >= 1' }, callbacks = { nil, 'table' }, progress = { true, 'bool' },
  resume = { false, 'bool' }, overwrite = { false, 'bool' }, nonfinite = { 'stop', { 'stop', 'skip' } },
  log_every = { 1, 'integer >= 1' }, name = { 'training', 'string' }, tensorboard = { false, 'bool' },
  device = { nil, 'string' },
}
for k, v in pairs(steps.options) do OPTS[k] = v end
local CALLBACKS = { start = true, step = true, epoch = true, checkpoint = true, finish = true }

--- Options of the plateau: what is better is what the monitor says.
local function plateau_of(given, larger)
  local out = { larger = larger }
  for k, v in pairs(given) do out[k] = v end
  return out
end

--- A loader whose batches go to a device.
local function placed(loader, device)
  local to = { device = device }
  local function there(batch)
    return tree.map(function(t) return tensor.is(t) and tensor.methods.to(t, to) or t end, batch)
  end
  return setmetatable({
    at = function(_, epoch, k) return there(loader:at(epoch, k)) end,
    epoch = function(_, epoch, first)
      local next_one = loader:epoch(epoch, first)
      return function()
        local batch, k = next_one()
        if batch ~= nil then return there(batch), k end
      end
    end,
  }, { __index = loader })
end

local function is_loader(v) return type(v) == 'table' and type(v.batches) == 'number' and type(v.at) == 'function' end

--- Makes the folder ready: goes on with the run there, removes it, or refuses.
local function begin(self, fname)
  local o = self.options
  if o.resume and o.overwrite then error(fname .. ': resume and overwrite exclude each other; give one', 2) end
  checkpoint.sweep(o.folder)
  local there = checkpoint.files(o.folder)
  if o.resume then self:restore()
  elseif #there > 0 and not o.overwrite then
    error(('%s: %s holds a run (%s); give resume = true, overwrite = true, or another folder'):format(fname, o.folder,
      there[#there]), 2)
  else checkpoint.clear(o.folder) end
end

local writers = setmetatable({}, { __mode = 'k' }) -- trainers of this process that have their folders

--- Makes a trainer the one that writes to its folder; one of this process that has it, and has not been fitted, is
--- refused from then on.
local function take(self, fname)
  self.claim = results.claim(fname .. ': folder', self.options.folder)
  for other in pairs(writers) do
    if other ~= self and other.claim and file.same(other.options.folder, self.options.folder) then
      other.claim:free()
      other.claim, other.replaced = nil, true
    end
  end
  writers[self] = true
end

--- A run of training: nn.Step over the batches of a loader, with evaluation, checkpoints, a log and a report.
---
--- trainer:fit() runs it and returns the history: a list of one table for each epoch (epoch, step, loss, and after an
--- evaluation valid_loss and the metrics as valid_NAME). With a folder it writes log.jsonl (a line for each step and
--- each epoch), step-NUMBER.npz (checkpoints), best.npz and report.html. Ctrl-C and SIGTERM end a run with a
--- checkpoint;
--- resume = true goes on from the last one to the same bits, in the middle of an epoch too.
---@param net mascon.Module
---@param opts table loss: f(net, batch) as for nn.Step (required) · optimizer: one of mc.optim (required) · train: a
---   loader (mc.nn.data.loader, required) · valid: a loader, evaluated after each epoch · metrics: name -> f(net,
---   batch), a number as a tensor and its weight (1) · epochs or steps (one is required) · clip, groups, ema,
---   accumulate, compile, key as for nn.Step (batches that are left at the end of the run make a step) · folder: for
---   files (none) · every: steps between checkpoints (one at the end of each epoch) ·
---   keep: how many (3) · monitor: what is best, 'valid_loss' or a name, with '-' in front where
---   larger is better ('valid_loss', or 'loss' without valid) · patience: epochs without a better result that end the
---   run (none; early stopping) · callbacks: start, step, epoch, checkpoint, finish: f(trainer, facts), 'stop' as a
---   result ends the run; a text that epoch gives is shown in place of the line on that epoch · progress (true): a
---   line on a terminal that shows how far the run is, elsewhere one at each tenth of the way; and a line on each
---   epoch with the numbers of its evaluation and one at the end (on standard error) · resume (false) · overwrite
---   (false): the files of a run that is there are removed · nonfinite: 'stop' with an error, or 'skip' the step, when
---   the loss is not finite · log_every: steps between lines of the log (1) · name: title of the report · amp, scaler,
---   norm, anomaly as for nn.Step · plateau: options of mc.optim.plateau, fed with the monitored number after each
---   epoch · tensorboard (false): an event file in the folder, for tensorboard --logdir ·
---   device: where the network is moved (where it is); batches go where the network is
---@return mascon.Trainer
--- Errors: options that are missing or do not fit; a folder that holds another run, or that another process trains
--- in (until its fit ends).
---     local set = mc.nn.data.tensors{ x = mc.ones{ 8, 1, dtype = 'f32' }, y = mc.ones{ 8, 1, dtype = 'f32' } }
---     local options = { train = mc.nn.data.loader(set, { batch = 4 }), epochs = 2, progress = false }
---     options.loss, options.optimizer = function(m, b) return mc.nn.mse_loss(m(b.x), b.y) end, mc.optim.sgd()
---     mc.nn.Trainer(mc.nn.Linear(1, 1), options):fit()[2].step  --> 4
function M.Trainer(net, opts)
  local fname = 'nn.Trainer'
  if not module.is(net) then error(('%s: the network is %s; give a module'):format(fname, check.show(net)), 2) end
  local o = check.opts(fname, opts, OPTS, 3)
  if not o.loss then error(fname .. ': loss is missing; give a function of the network and a batch', 2) end
  for _, k in ipairs { 'train', 'valid' } do
    if (k == 'train' or o[k]) and not is_loader(o[k]) then
      error(('%s: %s is %s; give a loader, mc.nn.data.loader(set, { batch = 32 })'):format(fname, k, check.show(o[k])),
        2)
    end
  end
  if (o.epochs == nil) == (o.steps == nil) then error(fname .. ': give epochs or steps, one of them', 2) end
  if (o.every or o.resume or o.tensorboard) and not o.folder then
    error(fname .. ': checkpoints and tensorboard need a folder', 2)
  end
  for k, f in pairs(o.callbacks or {}) do
    if not CALLBACKS[k] or type(f) ~= 'function' then
      error(('%s: callback %s is %s; there are %s, functions of the trainer'):format(fname, tostring(k), check.show(f),
        check.names(CALLBACKS)), 2)
    end
  end
  local monitor, larger = o.monitor or (o.valid and 'valid_loss' or 'loss'), false
  if monitor:sub(1, 1) == '-' then monitor, larger = monitor:sub(2), true end
  if monitor:find '^valid_' and not o.valid then
    error(('%s: monitor is %s, but there is no loader valid'):format(fname, monitor), 2)
  end
  if o.folder then
    local again
    o.folder, again = manifest.redirected(o.folder)
    if again then o.resume, o.overwrite = false, true end
  end
  local known = { loss = true, valid_loss = o.valid and true }
  for k, f in pairs(o.metrics or {}) do
    if type(f) ~= 'function' then
      error(('%s: metric %s is %s; give a function of the network and a batch'):format(fname, tostring(k),
        check.show(f)), 2)
    end
    known['valid_' .. tostring(k)] = true
  end
  if o.metrics and next(o.metrics) and not o.valid then
    error(fname .. ': metrics are computed on the loader valid, and there is none; give one', 2)
  end
  if not known[monitor] then
    error(('%s: monitor is %s; there are %s'):format(fname, monitor, check.names(known)), 2)
  end
  if o.device then net:to { device = tensor.device_name(tensor.device_number(fname, o.device, 3)) } end
  local _, parameter = next(net:parameters { all = true })
  local device = parameter and parameter.device or 'cpu'
  if device ~= 'cpu' then o.train, o.valid = placed(o.train, device), o.valid and placed(o.valid, device) end
  local how = {}
  for k in pairs(steps.options) do how[k] = o[k] end
  how.plateau = o.plateau and plateau_of(o.plateau, larger)
  local step = steps.Step(net, o.loss, how)
  local self = setmetatable({ net = net, options = o, step = step, monitor = monitor, larger = larger, history = {},
    device = device, best = nil, stale = 0, sums = { 0, 0 }, pace = {} }, Trainer)
  if o.folder and not manifest.planning() then
    local ok, why = file.make_folder(o.folder)
    if not ok then error(('%s: %s'):format(fname, why), 2) end
    take(self, fname)
    local free, wrong = pcall(begin, self, fname)
    if not free then
      self.claim:free()
      self.claim = nil
      error(wrong, 0)
    end
  end
  self.first = step.count > 0 and step.count + 1 or 0
  collectgarbage() -- what making the data left behind is no part of the run
  step.collected = true
  return self
end

-- ---------------------------------------------------------------- evaluation

--- Means over the batches of a loader, with the parameters as they are (or their averages, option ema), in evaluation.
---@param loader? mascon.Loader (valid)
---@return table loss and the metrics by name
function Trainer:evaluate(loader)
  loader = loader or self.options.valid
  if not is_loader(loader) then error('trainer:evaluate: there is no loader; give one', 2) end
  if self.device ~= 'cpu' then loader = placed(loader, self.device) end
  return evaluation.of(self, loader)
end

-- ---------------------------------------------------------------- files

--- Everything the rest of the run depends on, as tensors and facts.
local function state(self)
  local tensors, numbers = self.step:state()
  local g = source.default_generator()
  return tensors, {
    step = numbers, best = self.best, stale = self.stale, history = self.history, sums = self.sums,
    generator = g:state(), batches = self.options.train.batches, samples = self.options.train.n,
    order = stored.order(self.options.train), monitor = (self.larger and '-' or '') .. self.monitor,
  }
end

--- Refuses a trainer whose folder another one of this process has taken.
local function owns(self, fname, level)
  if self.replaced then
    error(('%s: a trainer that was made later has the folder %s; use that one, or give each a folder'):format(fname,
      self.options.folder), level + 1)
  end
end

--- f() while no other process may write to the folder: a run has it from its start to the end of its fit.
local function claimed(self, fname, f)
  local folder = self.options.folder
  if not folder then error(fname .. ': there is no folder; give one', 3) end
  if self.claim then return f() end
  owns(self, fname, 3)
  local claim = results.claim(fname .. ': folder', folder)
  local ok, result = pcall(f)
  claim:free()
  if not ok then error(result, 0) end
  return result
end

local function put(self)
  local tensors, facts = state(self)
  local path = checkpoint.put(self.options.folder, self:done(), tensors, facts, self.options.keep)
  self.saved = self:done()
  if self:call('checkpoint', { path = path }) then self.ending = true end
  return path
end

--- Writes a checkpoint now. Returns its path.
---@return string
--- Errors: no folder; a folder in which another process trains.
function Trainer:save() return claimed(self, 'trainer:save', function() return put(self) end) end

--- Parameters and buffers of the best result by name.
local function best_state(self)
  local out = {}
  local tensors = checkpoint.read(self.options.folder .. '/best.npz')
  for k, t in pairs(tensors) do
    local name = k:match '^net/(.*)$'
    if name then out[name] = tensors['ema/' .. name] or t end
  end
  return out
end

--- f() while the network has the parameters and buffers of the best result.
local function with_best(self, f)
  local own = self.net:state_dict()
  self.net:load_state_dict(best_state(self))
  local ok, why = pcall(f)
  self.net:load_state_dict(own)
  if not ok then error(why, 0) end
end

--- Writes model.npz into the folder, the network with the parameters of the best epoch (their averages, with ema), and
--- manifest.json, from which `mascon rerun` repeats the run. The network itself keeps the parameters that it has.
---@param record mascon.Manifest of mc.manifest.new, begun before the run
---@param names? string[] further files of the result that stand in the folder
---@return string the names of the files
--- Errors: no folder; a folder in which another process trains; a file that is not there.
function Trainer:conclude(record, names)
  return claimed(self, 'trainer:conclude', function()
    local folder = self.options.folder
    local function write() self.net:save(folder .. '/model.npz') end
    if self.best then with_best(self, write) elseif self.step.averages then self.step:averaged(write) else write() end
    record:output(folder .. '/model.npz')
    for _, name in ipairs(names or {}) do record:output(folder .. '/' .. name) end
    -- these hold times
    for _, name in ipairs { 'log.jsonl', 'report.html' } do
      record:output(folder .. '/' .. name, { compare = false })
    end
    record:write(folder)
    local all = { 'model.npz', 'log.jsonl', 'report.html', 'best.npz', unpack(names or {}) }
    all[#all + 1] = 'manifest.json'
    return table.concat(all, '  ')
  end)
end

--- Keeps the lines of the log that are of batches and epochs that have been: others are made again.
local function cut_log(self)
  local path, kept, dropped = self.options.folder .. '/log.jsonl', {}, false
  for line in ((file.read(path) or '') .. '\n'):gmatch '([^\n]+)\n' do
    local ok, entry = check.try(json.decode, line)
    local past = ok and type(entry) == 'table' and (tonumber(entry.batches) or 0) <= self:done()
    if past and entry.kind == 'epoch' then
      past = false
      for _, h in ipairs(self.history) do past = past or h.batches == entry.batches end
    end
    if past then kept[#kept + 1] = line .. '\n' else dropped = true end
  end
  if dropped then
    local ok, why = file.write(path, table.concat(kept))
    if not ok then error('nn.Trainer: ' .. why, 2) end
  end
end

--- Goes on from the last checkpoint of the folder, or from the best one where no other is left; without one the run
--- begins at its start.
---@return boolean whether there was one
--- Errors: a checkpoint that cannot be read, or is of other data or in another order, of steps
--- of another number of batches, of another network or another optimiser.
function Trainer:restore()
  local folder = self.options.folder
  local there, best = checkpoint.list(folder), folder .. '/best.npz'
  local path = there[#there] and there[#there].path or file.exists(best) and best
  if not path then
    cut_log(self)
    return false
  end
  local good, tensors, found = pcall(checkpoint.read, path)
  if not good then
    if check.stopped(tensors) then error(tensors, 0) end
    local before = there[#there - 1]
    error(('nn.Trainer: %s; %s'):format(tostring(tensors), before
      and ('remove that file and resume = true goes on from the one before, %s'):format(before.path)
      or 'it is the only checkpoint: overwrite = true begins anew'), 2)
  end
  found = stored.checked(path, found)
  stored.same_data(path, found, self.options.train)
  self.step:restore(tensors, found.step)
  self.best, self.stale, self.history, self.sums = found.best, found.stale, found.history, found.sums
  if found.monitor and found.monitor ~= (self.larger and '-' or '') .. self.monitor then -- the best of another number
    self.best, self.stale = nil, 0
  end
  source.default_generator():restore(found.generator)
  self.saved = self:done()
  cut_log(self)
  return true
end

local function log(self, entry)
  if not self.options.folder then return end
  local path = self.options.folder .. '/log.jsonl'
  local f, why = io.open(path, 'ab')
  local ok = f and f:write(json.encode(entry, { nonfinite = 'string' }), '\n')
  if f then
    local closed, reason = f:close()
    if not closed then ok, why = nil, reason end
  end
  if not ok then error(('nn.Trainer: the log %s cannot be written: %s'):format(path, tostring(why)), 2) end
end

--- Numbers of the step that was made, for TensorBoard.
local function scalars(self, values)
  if not self.options.tensorboard then return end
  self.events = self.events or events.open(self.options.folder, self.first)
  self.events:scalars(self.step.count, values)
end

--- Batches taken so far.
---@return integer
function Trainer:done() return self.step:_batches() end

--- Calls a callback of the user's: true when it asks for the end, and what it gave.
function Trainer:call(name, facts)
  local f = self.options.callbacks and self.options.callbacks[name]
  local result = f and f(self, facts)
  return result == 'stop', result
end

-- ---------------------------------------------------------------- the loop

--- Names of the numbers of evaluations, valid_loss first.
local function facts_of(facts)
  local names = {}
  for k in pairs(facts) do
    if k:find '^valid_' then names[#names + 1] = k end
  end
  table.sort(names, function(a, b)
    if (a == 'valid_loss') ~= (b == 'valid_loss') then return a == 'valid_loss' end
    return a < b
  end)
  return names
end

local function better(self, value)
  if value ~= value then return false end
  if self.best == nil then return true end
  if self.larger then return value > self.best.value end
  return value < self.best.value
end

--- What an epoch was, as a line.
local function line_of(self, facts)
  local out = { ('%s: epoch %d  loss %s'):format(self.options.name, facts.epoch, text.significant(facts.loss, 4)) }
  for _, k in ipairs(facts_of(facts)) do
    out[#out + 1] = ('%s %s'):format((k:gsub('_', ' ')), text.significant(facts[k], 4))
  end
  if self.best and self.best.step == facts.step then out[#out + 1] = '(best so far)' end
  return table.concat(out, '  ')
end

--- What is taken down of an epoch and its evaluation: all of it or nothing, since signals wait.
local function record(self, facts, part, bar)
  local o = self.options
  local value = facts[self.monitor]
  if self.step.plateau and not part then facts.rate_factor = self.step.plateau:update(value) end
  if not part then self.sums = { 0, 0 } end
  self.history[#self.history + 1] = facts
  local entry = { kind = 'epoch', valid = {} }
  local shown = { ['epoch/loss'] = facts.loss, ['epoch/rate_factor'] = facts.rate_factor }
  for k, v in pairs(facts) do
    local name = k:match '^valid_(.*)'
    if name then
      entry.valid[k], shown['valid/' .. name] = v, v
    else entry[k] = v end
  end
  log(self, entry)
  scalars(self, shown)
  if better(self, value) then
    self.best, self.stale = { value = value, epoch = facts.epoch, step = self.step.count }, 0
    if o.folder then
      local tensors, kept = state(self)
      checkpoint.put_best(o.folder, self:done(), tensors, kept)
    end
  else self.stale = self.stale + 1 end
  local stop, words = self:call('epoch', facts)
  if bar then bar:say(type(words) == 'string' and not stop and words or line_of(self, facts)) end
  return stop
end

--- Whether patience has come to its end.
local function impatient(self)
  local o = self.options
  if not o.patience or self.stale < o.patience then return false end
  self.why = ('patience: no better %s in %d epoch%s'):format((self.monitor:gsub('_', ' ')), self.stale,
    self.stale == 1 and '' or 's')
  return true
end

--- The end of an epoch, or of the part that was asked for: evaluation, best result, log. True when the run is to end.
local function epoch_end(self, epoch, bar, part)
  local facts = { epoch = epoch, step = self.step.count, batches = self:done(),
    loss = self.sums[1] / self.sums[2] } -- NaN where every step was left out
  if self.options.valid then
    for k, v in pairs(self:evaluate()) do facts['valid_' .. k] = v end
    local lost = facts.valid_loss
    if lost ~= lost and not self.warned then
      self.warned = true
      io.stderr:write(('nn.Trainer: warning: valid_loss of epoch %d is NaN; %s\n'):format(epoch, self.weightless
        and 'every batch of valid has the weight 0 (second result of the loss)'
        or 'look for NaN in the data of valid: metrics on them mean little'))
    end
  end
  local stop, ended = check.held(record, self, facts, part, bar)
  if stop then error(stop, 0) end
  return impatient(self) or ended
end

--- Samples in the first `done` batches of a run.
local function samples(loader, done)
  local rest = done % loader.batches
  local epoch = math.min(loader.n, loader.batches * loader.size)
  return (done - rest) / loader.batches * epoch + rest * loader.size
end

--- Operations per second of a product of matrices beside a parameter: what a share of the peak is a share of.
local function peak_of(net)
  local _, like = next(net:parameters())
  local a = create.ones({ SIDE, SIDE }, { dtype = like.dtype == 'f64' and 'f64' or 'f32', device = like.device })
  local least = math.huge
  for _ = 1, TRIES do
    local before = clock()
    F.sum(tensor.methods.matmul(a, a)):item()
    least = math.min(least, clock() - before)
  end
  return 2 * SIDE ^ 3 / least
end

--- Tells the progress line of a batch and its seconds: loss, samples, and the operations per second of the batches so
--- far as a share of the peak.
local function tell(self, bar, epoch, loss, seconds)
  local o, share, pace = self.options, nil, self.pace
  if pace.seconds then -- behind the first one, which is traced
    pace.seconds, pace.work = pace.seconds + seconds, pace.work + self.step:operations() / o.accumulate
  elseif self.step:operations() > 0 and self.step.pending == 0 then
    pace.seconds, pace.work, pace.peak = 0, 0, tensor.scope(function() return peak_of(self.net) end)
  end
  if pace.seconds and pace.seconds > 0 then
    share = ('%.0f%% of peak'):format(100 * pace.work / pace.seconds / pace.peak)
  end
  bar.label = ('%s %d  loss %s'):format(o.name, epoch, text.significant(loss, 4))
  bar:update(samples(o.train, self:done()), share)
end

--- What a batch leaves in the sums, the log and the files. True when a callback asks for the end.
local function behind_batch(self, epoch, k, bar, began, before, rate, loss, info)
  local o = self.options
  local own = info.finite and info.own -- of this batch alone; none of a batch that weighs nothing
  if own then self.sums = { self.sums[1] + own * info.weight, self.sums[2] + info.weight } end
  local done = self:done()
  if (self.step.count % o.log_every == 0 and info.updated) or not info.finite then
    log(self, { kind = 'step', step = info.step, batches = done, epoch = epoch, loss = loss, rate = rate,
      norm = info.norm and info.norm == info.norm and info.norm < math.huge and info.norm or nil,
      scale = info.scale, anomaly = info.anomaly and tostring(info.anomaly) or nil,
      seconds = tonumber(('%.6f'):format(clock() - before)) })
    if info.updated then
      scalars(self, { ['train/loss'] = loss, ['train/norm'] = info.norm, ['train/scale'] = info.scale,
        ['train/rate'] = rate })
    end
  end
  if not info.finite and not info.overflow and o.nonfinite == 'stop' then
    error(('nn.Trainer: the loss of step %d is %s%s%s; the parameters are those before it. Lower the '
      .. 'learning rate, clip gradients, or look at the data; nonfinite = \'skip\' leaves such steps out'):format(
      info.step, tostring(loss), info.norm and ', gradient norm ' .. tostring(info.norm) or '',
      info.anomaly and ': ' .. tostring(info.anomaly) or ''), 2)
  end
  if bar then tell(self, bar, epoch, loss, clock() - before) end
  if o.every and info.updated and self.step.count % o.every == 0 then self:save() end
  return self:call('step', { epoch = epoch, batch = k, step = self.step.count, loss = loss, norm = info.norm,
    finite = info.finite, seconds = clock() - began })
end

--- Says once that a batch holds f64 where the parameters are narrower: all of the step is then computed in f64.
local function notice(self, batch)
  if self.noticed then return end
  self.noticed = true
  for _, p in pairs(self.net:parameters { all = true }) do
    if p.dtype == 'f64' then return end
  end
  local wide = {}
  for k, v in pairs(type(batch) == 'table' and not tensor.is(batch) and batch or { batch }) do
    if tensor.is(v) and v.dtype == 'f64' then wide[#wide + 1] = 'batch.' .. tostring(k) end
  end
  table.sort(wide)
  if wide[1] then
    io.stderr:write(('nn.Trainer: note: %s %s f64 and the parameters are not, so that the step computes in f64, which '
      .. "takes longer; convert the data, x:to 'f32'\n"):format(table.concat(wide, ' and '), wide[2] and 'are' or 'is'))
  end
end

--- One batch. True when a callback asks for the end.
local function one(self, epoch, k, bar, began)
  local o, before, stop = self.options, clock(), nil
  local batch = o.train:at(epoch, k)
  notice(self, batch)
  local rate = o.folder and self.step:rate() or nil
  local _, info = self.step:_take(batch, function(loss, info)
    stop = behind_batch(self, epoch, k, bar, began, before, rate, loss, info)
  end)
  if info.note then io.stderr:write('nn.Trainer: note: ', info.note, '\n') end
  return stop
end

--- The last step of a run, of fewer batches than the others.
local function rest(self, epoch, began)
  local rate = self.options.folder and self.step:rate() or nil
  self.saved = nil
  self.step:_rest(function(loss, info)
    behind_batch(self, epoch, self.options.train.batches, nil, began, clock(), rate, loss, info)
  end)
end

local function loop(self, bar)
  local o = self.options
  local per = o.train.batches
  local last = o.epochs and o.epochs * per or o.steps * o.accumulate
  local began = clock()
  self.why, self.ending = nil, nil
  if self:call('start', { batches = last, done = self:done() }) then
    self.why = 'a callback'
    return
  end
  local newest = self.history[#self.history]
  if newest and newest.batches % per ~= 0 and self:done() < last then -- a part of an epoch that goes on
    table.remove(self.history)
    newest = self.history[#self.history]
  end
  local ended = newest and math.ceil(newest.batches / per) or 0 -- else the end of an epoch may still be to do
  while true do
    local done = self:done()
    if done >= last and self.step.pending > 0 then rest(self, math.ceil(done / per), began) end
    if done > 0 and done % per == 0 and done / per > ended then
      ended = done / per
      local stop = epoch_end(self, ended, bar)
      if o.folder and self.saved ~= done and not o.every then self:save() end
      if stop or self.ending then break end
    end
    if done >= last or impatient(self) then break end
    if one(self, math.floor(done / per) + 1, done % per + 1, bar, began) or self.ending then
      self.ending = true
      break
    end
  end
  self.why = self.why or self:done() < last and 'a callback' or 'complete'
  if self:done() >= last and self:done() % per ~= 0 and not (newest and newest.batches == self:done()) then
    epoch_end(self, math.floor(self:done() / per) + 1, bar, true)
  end
end

--- Why the run is over and what was best, in words.
local function end_of(self)
  local o, best = self.options, self.best
  return ('%s: %s after step %d%s'):format(o.name, self.why == 'complete' and 'complete' or 'ended by ' .. self.why,
    self.step.count, best and ('; best %s %s in epoch %d'):format((self.monitor:gsub('_', ' ')),
      text.significant(best.value, 4), best.epoch) or '')
end

--- The work of fit.
local function trained(self)
  local o = self.options
  local total = samples(o.train, o.epochs and o.epochs * o.train.batches or o.steps * o.accumulate)
  local bar = o.progress and progress.new(total, { label = o.name, unit = 'samples',
    from = samples(o.train, self:done()) }) or nil
  local ok, why = pcall(loop, self, bar)
  if bar then
    bar:done()
    if ok then bar:say(end_of(self)) end
  end
  local stopped = not ok and check.stopped(why)
  if o.folder and (ok or stopped) and (self.saved ~= self:done() or stopped) then self:save() end
  if not ok then error(why, 0) end
  if o.folder then
    log(self, { kind = 'end', batches = self:done(), step = self.step.count, why = self.why })
    require('mascon.nn.train.report').write(self)
  end
  self:call('finish', { history = self.history, best = self.best })
  return self.history
end

--- What the run would cost, measured on some steps: a table that prints as a report, with bytes of parameters,
--- gradients, state, averages, batch, arena (activations and workspace), first (the peak of the first step) and peak,
--- and seconds of a step and in total. The trainer and its network are used up by it.
---
--- Under `mascon plan SCRIPT`, fit() prints it and the script ends; nothing is written.
---@return mascon.TrainingPlan
function Trainer:plan() return (require 'mascon.nn.train.cost'.of(self)) end

--- Runs to the end and returns the history.
---@return table[]
--- Errors: a loss that is not finite (nonfinite = 'stop'), files that cannot be written.
function Trainer:fit()
  local o = self.options
  if manifest.planning() then
    io.stdout:write(tostring(self:plan()), '\n')
    os.exit(0)
  end
  owns(self, 'trainer:fit', 2)
  if o.folder and not self.claim then take(self, 'trainer:fit') end
  local ok, history = pcall(trained, self)
  if self.claim then self.claim:free() end
  self.claim = nil
  if not ok then error(history, 0) end
  return history
end

--- Puts the parameters and buffers of the best result (best.npz; averages, with ema) into the network.
---@return mascon.Trainer self
function Trainer:use_best()
  if not self.options.folder then error('trainer:use_best: there is no folder; give one', 2) end
  self.net:load_state_dict(best_state(self))
  return self
end

return M
