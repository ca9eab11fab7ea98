-- classify.lua - what training and evaluation of a classifier need: its loss, its accuracy, what is best.
local check = require 'mascon.core.check'
local loss = require 'mascon.nn.loss'
local mc = require 'mascon.array'

local M = {}

--- Options of nn.Trainer for batches of x and class labels y (integers from 0): loss, metrics and monitor; and a text
--- on an epoch.
---
--- The loss is the cross entropy of the logits [batch, classes] that the network gives; metrics.accuracy is the share
--- of samples whose largest logit is that of their label; the best epoch has the largest accuracy. Both are means over
--- samples.
---@param opts? table label_smoothing (0), as in nn.cross_entropy
---@return table { loss, metrics, monitor }
---@return function line(figures): the text on the figures of an epoch, which the callback epoch may give
--- Errors: unknown options.
---     mc.nn.classification().monitor  --> -valid_accuracy
function M.classification(opts)
  local o = check.opts('nn.classification', opts, { label_smoothing = { 0, 'number >= 0' } }, 3)
  local function count(batch) return batch.x.shape[1] end
  return {
    loss = function(net, batch)
      return loss.cross_entropy(net(batch.x), batch.y, { label_smoothing = o.label_smoothing }), count(batch)
    end,
    metrics = { accuracy = function(net, batch)
      return mc.mean(mc.eq(mc.argmax(net(batch.x), 2) - 1, batch.y):to 'f32'), count(batch)
    end },
    monitor = '-valid_accuracy',
  }, function(f)
    return ('epoch %d: loss %.4f, on other samples loss %.4f, accuracy %.4f'):format(f.epoch, f.loss, f.valid_loss,
      f.valid_accuracy)
  end
end

return M
