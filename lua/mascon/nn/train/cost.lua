-- cost.lua - what a run of training would cost: memory by kind, peak, time of a step and of the whole.
--
-- The plan takes real steps (the first one traces the step, the others replay it) and evaluates, so that it holds what
-- libraries, data and the collector need as well. Bytes of parameters, gradients and states are
-- those of their tensors; the rest of a replayed step is its arena: activations and workspace.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local text = require 'mascon.base.text'
local time = require 'mascon.base.clock'
local clock, processor = time.seconds, time.processor
local M = {}

-- steps that are made; seconds, of the clock and of a processor, in which more are, until so many collections: from the
-- second on the peak stays
local STEPS, SECONDS, ENOUGH = 8, 10, 2

---@class mascon.TrainingPlan
---@field parameters number bytes, frozen ones and buffers included
---@field gradients number bytes
---@field state number bytes of the optimiser
---@field averages number bytes
---@field batch number bytes
---@field arena number bytes: activations and workspace of a replayed step
---@field first number bytes of the host, as all peaks but `there`: peak of the first step, which is traced
---@field before number bytes: peak of what the program did before, such as making its data
---@field peak number bytes: peak of the run, at most: some of it is what waits for the collector
---@field there number|nil bytes: peak on the device of the network, where that is none of the host's
---@field device string name of the device of the network
---@field seconds number of a step
---@field total number seconds of the run, from its start
local Plan = {}
Plan.__index = Plan

local function bytes_in(v, seen)
  seen = seen or {}
  if tensor.is(v) then
    if seen[v] then return 0 end
    seen[v] = true
    return v:numel() * tensor.size[v.dtype]
  end
  local n = 0
  if type(v) == 'table' then for _, x in pairs(v) do n = n + bytes_in(x, seen) end end
  return n
end

function Plan:__tostring()
  local out = {}
  local function say(what, bytes)
    if bytes > 0 then out[#out + 1] = ('  %-24s%s'):format(what, text.bytes(bytes)) end
  end
  out[1] = ('%s: %d steps of %s%d samples'):format(self.name, self.steps,
    self.accumulate > 1 and self.accumulate .. ' x ' or '', self.size)
  say('parameters', self.parameters)
  say('gradients', self.gradients)
  say('state of the optimiser', self.state)
  say('averages', self.averages)
  say('a batch', self.batch)
  say('activations, workspace', self.arena)
  if self.there then
    say(('peak on %s, about'):format(self.device), self.there)
    say('peak of the host, about', math.max(self.before, self.peak))
  else
    say('peak of the first step', self.first)
    if self.before > self.peak then say('peak before the run', self.before) end
    say('peak of the run, about', self.peak)
  end
  out[#out + 1] = ('  %-24s%s'):format('time of a step', text.duration(self.seconds))
  out[#out + 1] = ('  %-24s%s'):format('time of the run', text.duration(self.total))
  return table.concat(out, '\n')
end

--- The first batches of a loader.
local function few(loader, n)
  return setmetatable({ batches = math.min(n, loader.batches) }, { __index = loader })
end

--- The plan of a trainer; its network and step are used up.
---@param trainer mascon.Trainer
---@return mascon.TrainingPlan
function M.of(trainer)
  local o, step, net = trainer.options, trainer.step, trainer.net
  local began = clock()
  local batch = o.train:at(1, 1)
  local loading = clock() - began
  local self = setmetatable({ name = o.name, size = o.train.size, accumulate = o.accumulate,
    steps = o.steps or math.ceil(o.epochs * o.train.batches / o.accumulate),
    parameters = bytes_in(net:state_dict()), gradients = bytes_in(net:parameters()), state = bytes_in(step.states),
    averages = bytes_in(step.averages), batch = bytes_in(batch) }, Plan)
  local function peak() return tonumber(lib.memory_stats().peak) end
  local number = tensor.device_number('plan', trainer.device, 2)
  self.device, self.before = trainer.device, peak()
  collectgarbage()
  collectgarbage()
  lib.C.mc_memory_reset_peak()
  local drawn, there = 0, 0
  local function whole_step()
    local seconds = 0
    for _ = 1, o.accumulate do
      batch = o.train:at(1, drawn % o.train.batches + 1)
      drawn = drawn + 1
      local t = clock()
      step(batch)
      seconds = seconds + clock() - t
    end
    return seconds
  end
  local function live() return tonumber(lib.memory_stats().live) end
  whole_step()
  self.first = peak()
  local left = live()
  self.seconds = math.huge
  for k = 2, math.min(STEPS, self.steps) do -- the least of them: the second may compile
    local t = whole_step()
    if k > 2 or self.steps == 2 then self.seconds = math.min(self.seconds, t) end
  end
  if self.steps == 1 then self.seconds = 0 end
  self.seconds = self.seconds + loading * o.accumulate
  local evaluations = o.epochs or math.ceil(self.steps * o.accumulate / o.train.batches)
  self.total = self.seconds * self.steps
  if o.valid then
    trainer:evaluate(few(o.valid, 1))
    local t = clock()
    trainer:evaluate(few(o.valid, 2))
    self.total = self.total + (clock() - t) / math.min(2, o.valid.batches) * o.valid.batches * evaluations
  end
  -- batches that were used wait for the collector: steps until it has come show the peak, else it is what would wait
  local made, start, work, collections = math.min(STEPS, self.steps), clock(), processor(), 0
  local canary = setmetatable({ {} }, { __mode = 'v' }) -- is gone after a collection
  while made < self.steps and collections < ENOUGH and (clock() - start < SECONDS or processor() - work < SECONDS) do
    whole_step()
    made = made + 1
    if not canary[1] then collections, canary[1] = collections + 1, {} end
  end
  self.peak, self.arena = peak(), step:arena()
  -- what the first step left behind may still wait when the second takes its arena
  if self.steps > 1 then self.peak = math.max(self.peak, left + self.arena) end
  if made < self.steps and collections < ENOUGH then
    collectgarbage()
    collectgarbage()
    there = lib.memory_stats(number).peak
    lib.C.mc_memory_collected(collectgarbage 'count' * 1024)
    lib.C.mc_memory_reset_peak()
    local before = live()
    whole_step()
    local after, ceiling = live(), tonumber(lib.memory_stats().soft_ceiling)
    self.peak = math.max(self.peak, peak() + math.min((after - before) * (self.steps - 1), ceiling - before))
  end
  self.peak = math.max(self.peak, peak())
  self.there = number > 0 and math.max(there, lib.memory_stats(number).peak) or nil
  return self
end

return M
