-- loader.lua - batches of a data set in an order that follows from a seed and the number of the epoch.
--
-- A loader keeps no place: batch k of epoch e is the same whenever it is asked for, so that a run goes on anywhere.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local array = require 'mascon.array'
local random = require 'mascon.random'
local dataset = require 'mascon.nn.data.dataset'
local error = check.error
local M = {}

---@class mascon.Loader
---@field n integer samples
---@field batches integer in one epoch
local Loader = {}
Loader.__index = Loader
M.methods = Loader
Loader.__tostring = function(l) return ('%d batches of %d of %d samples'):format(l.batches, l.size, l.n) end

--- Refuses what is no loader in front of the colon, as in loader.epoch(1).
local function self_of(fname, self, level)
  if type(self) ~= 'table' or type(self.batches) ~= 'number' then
    error(('%s: it is called on %s; write loader:%s with a colon'):format(fname, check.show(self),
      fname:match ':(.*)'), level + 1)
  end
end
Loader.__call = function(_)
  error('nn.data.loader: a loader is no function; write for batch in loader:epoch(1) do ... end', 2)
end

local OPTS = {
  batch = { 32, 'integer >= 1' }, shuffle = { false, 'bool' }, seed = { 0, 'integer >= 0' },
    drop_last = { false, 'bool' },
  transform = { nil, 'function' }, collate = { nil, 'function' }, device = { nil, 'string' },
  workers = { 0, 'integer >= 0' }, prefetch = { 2, 'integer >= 1' }, folder = { nil, 'string' },
}

--- Batches of a data set.
---
--- for batch in loader:epoch(e) do ... end goes through epoch e (1, 2, ...); loader:at(e, k) is its batch k;
--- loader.batches
--- says how many there are. With shuffle the order of epoch e follows from the seed and e.
---@param set mascon.Dataset
---@param opts? table batch: samples in one (32) · shuffle (false) · seed (0) · drop_last: leave a smaller last batch
---   out (false) · transform: f(batch, key) gives what is used instead, with a random key of its own for each batch
---   (augmentation) · collate: f(list of samples) for data sets with get(i) · device (as the data) · workers:
---   processes beside this one that make the batches of a data set of mc.nn.data.of_module, or a part of one (0);
---   order and numbers stay the same · prefetch: batches that each worker makes ahead (2) · folder: for batches on
---   their way (in shared memory)
---@return mascon.Loader
--- Errors: an empty data set; fewer samples than one batch with drop_last.
---     mc.nn.data.loader(mc.nn.data.tensors{ x = mc.arange(1, 10) }, { batch = 4 }).batches  --> 3
function M.loader(set, opts)
  local fname = 'nn.data.loader'
  dataset.need(fname, set)
  local o = check.opts(fname, opts, OPTS, 3)
  if set.n < 1 then error(('%s: the data set is empty'):format(fname), 2) end
  if o.drop_last and set.n < o.batch then
    error(('%s: %d samples are fewer than one batch of %d and drop_last leaves it out; take a smaller batch, or '
      .. 'drop_last = false'):format(fname, set.n, o.batch), 2)
  end
  local count = o.drop_last and math.floor(set.n / o.batch) or math.ceil(set.n / o.batch)
  local self = setmetatable({ set = set, n = set.n, size = o.batch, batches = count, options = o,
    key = random.key(o.seed) }, Loader)
  if o.workers > 0 then
    if not set.module then
      error(fname .. ': workers load the data set by the name of its module; make it with mc.nn.data.of_module, '
        .. 'or take workers = 0', 2)
    elseif o.collate then
      error(fname .. ': collate is a function of this process, which workers cannot have; put it into the module', 2)
    end
    self.beside = Loader._start(self, o)
  end
  return self
end

--- The positions of an epoch in its order: i64 [n].
---@param epoch integer
---@return any
function Loader:order(epoch)
  self_of('loader:order', self, 2)
  check.arg('loader:order', 'epoch', epoch, 'integer >= 1', 3)
  if self.kept == epoch then return self.positions end
  local order
  if self.options.shuffle then order = random.permutation(self.n, { key = self.key:fold_in(2 * epoch) })
  else order = array.arange(1, self.n, 1, { dtype = 'i64' }) end
  self.kept, self.positions = epoch, order
  return order
end

--- Batch k of an epoch.
---@param epoch integer from 1
---@param k integer from 1
---@return any batch
function Loader:at(epoch, k)
  self_of('loader:at', self, 2)
  check.arg('loader:at', 'k', k, 'integer >= 1', 3)
  if k > self.batches then error(('loader:at: batch %d; an epoch has %d'):format(k, self.batches), 2) end
  local batch
  if self.beside then batch = self.beside:at(epoch, k)
  else
    local from, to = (k - 1) * self.size + 1, math.min(k * self.size, self.n)
    local places = self.options.shuffle and self:order(epoch)[{ { from, to } }]
      or array.arange(from, to, 1, { dtype = 'i64' })
    batch = dataset.batch_of(self.set, places, self.options.collate)
    if batch == nil then error('nn.data.loader: the data set, or collate, gave no batch (nil)', 2) end
    if self.set.transform then
      batch = self.set.transform(batch, self.key:fold_in(2 * epoch + 1):fold_in(k):fold_in(1))
    end
  end
  if self.options.transform then
    batch = self.options.transform(batch, self.key:fold_in(2 * epoch + 1):fold_in(k))
  end
  if batch == nil then error('nn.data.loader: transform returned nil; it returns the batch that is used', 2) end
  if self.options.device then
    local to = { device = self.options.device }
    batch = require 'mascon.graph.tree'.map(function(t) return tensor.is(t) and tensor.methods.to(t, to) or t end,
      batch)
  end
  return batch
end

--- Ends the workers, if there are any; batches are made in this process from here on.
function Loader:close()
  if self.beside then self.beside:close() end
  self.beside = nil
end

--- An iterator over the batches of an epoch: for batch, k in loader:epoch(e) do ... end.
---@param epoch? integer (1)
---@param first? integer batch to begin with (1)
---@return function
function Loader:epoch(epoch, first)
  self_of('loader:epoch', self, 2)
  epoch = check.arg('loader:epoch', 'epoch', epoch or 1, 'integer >= 1', 3)
  local k = check.arg('loader:epoch', 'first', first or 1, 'integer >= 1', 3) - 1
  return function()
    k = k + 1
    if k <= self.batches then return self:at(epoch, k), k end
  end
end

return M
