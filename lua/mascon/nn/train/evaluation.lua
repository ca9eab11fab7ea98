-- evaluation.lua - means of the loss and of metrics over the batches of a loader, compiled.
--
-- The network is in evaluation and nothing of it changes. The compiled function is made anew where modules have
-- changed.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local compile = require 'mascon.compile'
local source = require 'mascon.random.source'
local functions = require 'mascon.nn.train.functions'
local plainly = require 'mascon.nn.train.plainly'
local watch = require 'mascon.nn.watch'
local module = require 'mascon.nn.module'
local error = check.error
local M = {}

local EVALUATION = 2 ^ 52 + 1 -- in the key of the run: behind the numbers of batches, and of estimates of a step

local function number(v) return tensor.is(v) and v:item() or v end

--- Refuses a loss or metric that no single number can be taken from.
local function one_number(what, v)
  if type(v) == 'number' or tensor.is(v) and v:numel() == 1 then return end
  error(('trainer:evaluate: the %s is %s; it gives one number, or a tensor of one'):format(what,
    tensor.is(v) and tensor.describe(v) or check.show(v)), 0)
end

--- Loss and metrics by name of a trainer's network on a loader.
---@param self mascon.Trainer
---@param loader mascon.Loader its batches are where the network is
---@return table
function M.of(self, loader)
  local net, o = self.net, self.options
  local names = {}
  for k in pairs(o.metrics or {}) do names[#names + 1] = k end
  table.sort(names)
  if not self.measure or self.seen_in and not functions.follow(self.seen_in, { self.measures }) then
    local function measure(params, buffers, batch, key)
      local all, drawn = {}, source.drawn
      local function values()
        all[1] = { o.loss(net, batch) }
        one_number('loss', all[1][1])
        for i, k in ipairs(names) do
          all[i + 1] = { o.metrics[k](net, batch) }
          one_number('metric ' .. k, all[i + 1][1])
        end
      end
      -- what networks outside make of their running moments is left: an evaluation changes nothing
      module.gather(function() net:with(params, { train = false, buffers = buffers, key = key }, values) end)
      if o.compile and source.drawn ~= drawn then
        error('trainer:evaluate: the loss or a metric draws random numbers without a key, and a compiled evaluation '
          .. 'would draw the same ones for each batch; give the draws key = net:next_key(), or take compile = false', 2)
      end
      return all
    end
    local run = measure
    if o.compile then
      local called, around = watch.calls(net)
      called[#called + 1] = o.loss
      for _, k in ipairs(names) do called[#called + 1] = o.metrics[k] end
      run, self.seen_in = compile.reads(compile.compile(measure), called, around), watch.look(net)
      self.measures = run
    end
    self.measure = function(params, buffers, batch, key)
      local traced = o.compile and run.traces
      local all = plainly.call(function() measure(params, buffers, batch, key) end, run, params, buffers, batch, key)
      if traced and run.traces ~= traced then collectgarbage() end -- as behind a step that is traced
      return all
    end
  end
  local function all()
    local params, buffers, sums, weights = net:parameters { all = true }, net:buffers(), {}, {}
    local key = self.step:turn(EVALUATION)
    for batch, k in loader:epoch(1) do
      local got = self.measure(params, buffers, batch, key:fold_in(k))
      for i, v in ipairs(got) do
        local w = v[2] == nil and 1 or number(v[2])
        if not (w >= 0 and w < math.huge) then
          error(('trainer:evaluate: the weight of batch %d is %s; it is a number from 0'):format(k, tostring(w)), 0)
        end
        local part = w == 0 and 0 or number(v[1]) * w -- a mean over nothing may be NaN
        sums[i], weights[i] = (sums[i] or 0) + part, (weights[i] or 0) + w
      end
    end
    self.weightless = weights[1] == 0
    local out = { loss = sums[1] / weights[1] }
    for i, k in ipairs(names) do out[k] = sums[i + 1] / weights[i + 1] end
    return out
  end
  if self.step.averages then return (self.step:averaged(all)) end
  return all()
end

return M
