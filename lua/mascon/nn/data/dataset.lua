-- dataset.lua - data sets: samples by number, whole batches where they are tensors.
--
-- A data set is a table with n, the number of samples, and batch(positions), which gives the samples at a list of
-- positions (a 1-d i64 tensor, from 1) as one batch. Those of samples one by one have get(i) and are put together. Both
-- are methods: set:batch(positions), set:get(i).
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local random = require 'mascon.random'
local array = require 'mascon.array'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

---@class mascon.Dataset
local Dataset = {}
Dataset.__index = Dataset
Dataset.__tostring = function(d) return ('data set of %d samples'):format(d.n) end
local function new(t) return setmetatable(t, Dataset) end

--- Whether a value can serve as a data set.
local function is_dataset(v) return type(v) == 'table' and type(v.n) == 'number' and (v.batch or v.get) ~= nil end
M.is_dataset = is_dataset

--- Refuses what cannot serve as a data set.
local function need(fname, v, level)
  if not is_dataset(v) then
    error(('%s: the data set is %s; give one of mc.nn.data, or a table with n and a method get(self, i) or '
      .. 'batch(self, positions)'):format(
      fname, check.show(v)), (level or 2) + 1)
  end
  if not (v.n >= 0 and v.n < 2 ^ 53 and v.n % 1 == 0) then
    error(('%s: n of the data set is %s; it is the number of its samples'):format(fname, tostring(v.n)),
      (level or 2) + 1)
  end
  return v
end
M.need = need

--- Samples as one batch: tensors and numbers become tensors with an axis more in front, tables are gone into.
---     mc.nn.data.collate{ { x = 1 }, { x = 2 } }.x  --> f64[2]@cpu { 1, 2 }
---@param samples table list
---@return any batch
--- Errors: samples of different shapes, with their place.
function M.collate(samples)
  local first = samples[1]
  if is(first) then
    for i, s in ipairs(samples) do
      if not is(s) or s.shape ~= first.shape then
        error(('nn.data.collate: sample %d is %s, the first one %s; give equal shapes, or your own collate'):format(i,
           is(s) and tensor.describe(s) or check.show(s), tensor.describe(first)), 2)
      end
    end
    return F.stack(samples, 1)
  elseif type(first) == 'number' then return op.from_table(samples)
  elseif type(first) == 'table' and getmetatable(first) == nil then
    local out = {}
    for k in pairs(first) do
      local list = {}
      for i, s in ipairs(samples) do
        if type(s) ~= 'table' or s[k] == nil then
          error(('nn.data.collate: sample %d has no %s, which the first one has'):format(i, tostring(k)), 2)
        end
        list[i] = s[k]
      end
      out[k] = M.collate(list)
    end
    return out
  end
  error(('nn.data.collate: a sample is %s; give tensors, numbers or tables of them'):format(check.show(first)), 2)
end

--- A data set of tensors with one axis of samples in front.
---     mc.nn.data.tensors{ x = mc.ones{ 5, 2 }, y = mc.zeros{ 5 } }.n  --> 5
---@param fields table name -> tensor [n, ...]
---@return mascon.Dataset
--- Errors: fields of different lengths.
function M.tensors(fields)
  if type(fields) ~= 'table' or next(fields) == nil then
    error(('nn.data.tensors: fields are %s; give { name = tensor }'):format(check.show(fields)), 2)
  end
  local n, first
  for _, k in ipairs(require 'mascon.graph.tree'.keys(fields)) do
    local t = fields[k]
    if not is(t) or t.ndim == 0 then
      error(('nn.data.tensors: %s is %s; give a tensor with samples on its first axis'):format(tostring(k),
        is(t) and tensor.describe(t) or check.show(t)), 2)
    end
    if n and t.shape[1] ~= n then
      error(('nn.data.tensors: %s has %d samples, %s has %d; give equally many'):format(tostring(k), t.shape[1], first,
        n), 2)
    end
    n, first = t.shape[1], tostring(k)
  end
  return new { n = n, fields = fields, batch = function(self, at)
    local out = {}
    for k, t in pairs(self.fields) do out[k] = F.take(t, tensor.moved(at, t._device, 3), 1) end
    return out
  end }
end

--- A data set of windows of a long row of tokens: x [length] and y, the tokens that follow each of x.
---
--- Window i begins at (i - 1) stride. The row may be a file that mc.open maps; tokens become i64 batch by batch.
---     mc.nn.data.windows(mc.arange(0, 9, 1, { dtype = 'i64' }), 4).n  --> 2
---@param tokens any integers [n]
---@param length integer
---@param opts? table stride (length)
---@return mascon.Dataset
--- Errors: a row shorter than a window and its next token.
function M.windows(tokens, length, opts)
  local fname = 'nn.data.windows'
  check.arg(fname, 'length', length, 'integer >= 1', 3)
  local o = check.opts(fname, opts, { stride = { nil, 'integer >= 1' } }, 3)
  if not is(tokens) or tokens.ndim ~= 1 or tensor.kind[tokens.dtype] == 'f' then
    error(('%s: tokens are %s; give one row of integers'):format(fname, is(tokens) and tensor.describe(tokens)
      or check.show(tokens)), 2)
  end
  local total, stride = tokens.shape[1], o.stride or length
  local n = math.floor((total - length - 1) / stride) + 1
  if n < 1 then
    error(('%s: %d tokens hold no window of %d and the token after it; give more, or shorter windows'):format(fname,
      total, length), 2)
  end
  local steps = array.arange(0, length, 1, { dtype = 'i64' })
  return new { n = n, batch = function(_, at)
    local places = methods.reshape((at - 1) * stride + 1, { -1, 1 }) + steps
    local flat = tensor.moved(methods.reshape(places, { -1 }), tokens._device, 3)
    local rows = methods.to(methods.reshape(F.take(tokens, flat, 1), { -1, length + 1 }), 'i64')
    return { x = rows[{ array.all, { 1, length } }], y = rows[{ array.all, { 2, length + 1 } }] }
  end }
end

--- A data set made by a module: require(name)(options). Loaders can then make its batches in processes beside the
--- program (mc.nn.data.loader, option workers), which load the module again.
---
--- The module returns a function of a table of options (numbers, texts, booleans and tables of them) that gives a data
--- set. What batches depend on has to follow from the options and from files. A field transform of the data set, a
--- function of a batch and a random key, is applied where the batch is made.
---@param name string as for require
---@param options? table
---@return mascon.Dataset
--- Errors: a module that returns something else.
---     type(mc.nn.data.of_module)  --> function
function M.of_module(name, options)
  local fname = 'nn.data.of_module'
  check.arg(fname, 'name', name, 'string', 3)
  local found, make = check.try(require, name)
  if not found then error(('%s: the module %s cannot be loaded: %s'):format(fname, name, tostring(make)), 2) end
  if type(make) ~= 'function' then
    error(('%s: the module %s gave %s; it returns a function of options that gives a data set'):format(fname, name,
      check.show(make)), 2)
  end
  local inner = need(fname, make(options or {}))
  local out = { n = inner.n, module = name, given = options or {}, transform = inner.transform }
  function out.batch(_, at) return M.batch_of(inner, at) end
  return new(out)
end

--- The batch at positions of any data set.
function M.batch_of(set, at, collate)
  if set.batch and not collate then return set:batch(at) end
  local list = {}
  for i, k in ipairs(at:totable()) do list[i] = set:get(k) end
  return (collate or M.collate)(list)
end

--- The samples at some positions of a data set, as a data set with the same field transform.
---@param set mascon.Dataset
---@param at any i64 [m], from 1
---@return mascon.Dataset
---     mc.nn.data.subset(mc.nn.data.tensors{ x = mc.arange(1, 9) }, mc.ones{ 2, dtype = 'i64' }).n  --> 2
function M.subset(set, at)
  need('nn.data.subset', set)
  if not is(at) or at.ndim ~= 1 or tensor.kind[at.dtype] ~= 'i' then
    error(('nn.data.subset: positions are %s; give integers from 1'):format(is(at) and tensor.describe(at)
      or check.show(at)), 2)
  end
  local least, most = 1, set.n
  if at:numel() > 0 then least, most = F.min(at):item(), F.max(at):item() end
  if least < 1 or most > set.n then
    error(('nn.data.subset: position %d is none of a data set of %d samples, which count from 1'):format(
      least < 1 and tonumber(least) or tonumber(most), set.n), 2)
  end
  -- workers make the set of a module again and take its part
  local places = set.positions and F.take(set.positions, at, 1) or set.module and at or nil
  return new { n = at.shape[1], transform = set.transform, module = set.module, given = set.given, positions = places,
    batch = function(_, where) return M.batch_of(set, F.take(at, where, 1)) end }
end

--- A data set cut in two at random: training and validation. Both keep the field transform, if there is one.
---@param set mascon.Dataset
---@param share number of the second part, 0 < share < 1
---@param opts? table seed (0)
---@return mascon.Dataset
---@return mascon.Dataset
---     (mc.nn.data.split(mc.nn.data.tensors{ x = mc.arange(1, 10) }, 0.2)).n  --> 8
function M.split(set, share, opts)
  need('nn.data.split', set)
  check.arg('nn.data.split', 'share', share, 'number > 0', 3)
  local o = check.opts('nn.data.split', opts, { seed = { 0, 'integer >= 0' } }, 3)
  local second = math.floor(set.n * share + 0.5)
  if second < 1 or second >= set.n then
    error(('nn.data.split: a share of %g of %d samples leaves one part empty'):format(share, set.n), 2)
  end
  local order = random.permutation(set.n, { key = random.key(o.seed) })
  return M.subset(set, order[{ { second + 1, set.n } }]), M.subset(set, order[{ { 1, second } }])
end

return M
