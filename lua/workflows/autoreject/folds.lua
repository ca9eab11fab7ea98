-- folds.lua - how rows are split into training and test sets.
--
-- Holds the contiguous K-fold, the stratified shuffle split of the threshold search and the check of splits that are
-- given. A fold is { train = list, test = list } of 1-based rows.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local twister = require 'workflows.autoreject.twister'
local error = check.error
local M = {}

--- Splits of the search for limits, and the share of the rows that trains.
M.SPLITS, M.TRAIN = 10, 0.8

--- K contiguous blocks in turn as test sets; the first n mod K blocks are one longer.
---     #mc.autoreject.folds.contiguous(11, 3)[1].test  --> 4
---@param n integer rows
---@param k integer 2 <= k <= n
---@return table[] folds { train, test }, 1-based
--- Errors: k below 2 or above n.
--- Source: scikit-learn KFold without shuffling.
function M.contiguous(n, k)
  check.arg('autoreject.folds', 'k', k, 'integer')
  if k < 2 then error(('autoreject.folds: cv is %d; cross-validation needs at least 2 folds'):format(k), 2) end
  if k > n then
    error(('autoreject.folds: cv is %d and there %s %d epoch%s; give at most as many folds as epochs, or other events')
      :format(
        k, n == 1 and 'is' or 'are', n, n == 1 and '' or 's'), 2)
  end
  local folds, first = {}, 1
  for f = 1, k do
    local last = first + math.floor(n / k) - 1 + (f <= n % k and 1 or 0)
    local train, test = {}, {}
    for i = 1, n do
      if i >= first and i <= last then test[#test + 1] = i else train[#train + 1] = i end
    end
    folds[f] = { train = train, test = test }
    first = last + 1
  end
  return folds
end

-- Whole shares of `draws` among classes of the given sizes: floors first, then one more by descending fractional part,
-- ties by lot.
local function shares(stream, sizes, draws)
  local total = 0
  for _, n in ipairs(sizes) do total = total + n end
  local out, rest, missing = {}, {}, draws
  for i, n in ipairs(sizes) do
    local share = n / total * draws
    out[i] = math.floor(share)
    rest[i], missing = share - out[i], missing - out[i]
  end
  local levels = {}
  for _, r in ipairs(rest) do levels[#levels + 1] = r end
  table.sort(levels, function(a, b) return a > b end)
  for i, level in ipairs(levels) do
    if missing > 0 and level ~= levels[i - 1] then
      local tied = {}
      for c, r in ipairs(rest) do
        if r == level then tied[#tied + 1] = c end
      end
      local order = stream:permutation(#tied)
      for k = 1, math.min(#tied, missing) do out[tied[order[k] + 1]] = out[tied[order[k] + 1]] + 1 end
      missing = missing - math.min(#tied, missing)
    end
  end
  return out
end

local function reordered(stream, list)
  local out = {}
  for i, at in ipairs(stream:permutation(#list)) do out[i] = list[at + 1] end
  return out
end

--- Splits that keep the shares of the classes, drawn from one stream.
---
--- Rows are classes in blocks: sizes = { E, E } stands for E originals followed by E interpolated rows. ceil(test_size
--- n) rows are tested.
---     mc.autoreject.folds.stratified({ 5, 5 }, { seed = 42 })[1].test[1]  --> 4
---@param sizes integer[] rows of each class
---@param opts table seed (required) · splits 10 · test_size 0.2
---@return table[] folds { train, test }, 1-based, in the order drawn
--- Errors: a class with fewer than two rows; fewer test or training rows than classes.
--- Source: scikit-learn StratifiedShuffleSplit on NumPy's legacy generator.
function M.stratified(sizes, opts)
  local o = check.opts('autoreject.folds', opts,
    { seed = { nil, 'integer >= 0' }, splits = { 10, 'integer >= 1' }, test_size = { 0.2, 'number > 0' } })
  if not o.seed then error('autoreject.folds: option seed is missing; give an integer', 2) end
  local n = 0
  for i, size in ipairs(sizes) do
    if size < 2 then
      error(
        ('autoreject.folds: class %d has %d row; a stratified split needs at least 2 of each class'):format(i, size), 2)
    end
    n = n + size
  end
  local n_test = math.ceil(o.test_size * n)
  local n_train = n - n_test
  if n_test < #sizes or n_train < #sizes then
    error(('autoreject.folds: %d rows leave %d for training and %d for the test, fewer than the %d classes; give '
      .. 'more epochs'):format(n, n_train, n_test, #sizes), 2)
  end
  local stream, folds = twister.new(o.seed), {}
  for f = 1, o.splits do
    local to_train, left = shares(stream, sizes, n_train), {}
    for i, size in ipairs(sizes) do left[i] = size - to_train[i] end
    local to_test = shares(stream, left, n_test)
    local train, test, first = {}, {}, 1
    for i, size in ipairs(sizes) do
      local order = stream:permutation(size)
      for k = 1, to_train[i] do train[#train + 1] = first + order[k] end
      for k = to_train[i] + 1, to_train[i] + to_test[i] do test[#test + 1] = first + order[k] end
      first = first + size
    end
    train = reordered(stream, train)
    folds[f] = { train = train, test = reordered(stream, test) }
  end
  return folds
end

--- One side of all folds as tensors for the kernels: where each list starts, and the lists, 0-based.
---@param folds table[] as contiguous() or stratified() give them
---@param side string 'train' or 'test'
---@return any at i64 [K + 1], any rows i64 [total], integer longest list
function M.lists(folds, side)
  local at, rows, longest = { 0 }, {}, 0
  for f, fold in ipairs(folds) do
    for _, i in ipairs(fold[side]) do rows[#rows + 1] = i - 1 end
    at[f + 1] = #rows
    longest = math.max(longest, #fold[side])
  end
  return mc.tensor(at, { dtype = 'i64' }), mc.tensor(rows, { dtype = 'i64' }), longest
end

--- Folds of n epochs from an option cv: a number of contiguous blocks, or a list of { train, test } lists of 1-based
--- epochs.
---@param cv any
---@param n integer
---@return table[] folds { train, test }
--- Errors: those of contiguous(); an empty list; an epoch that is not there; a side without epochs.
function M.of(cv, n)
  if type(cv) ~= 'table' then return M.contiguous(n, cv) end
  if #cv < 2 then error(('autoreject.folds: cv lists %d splits; give at least 2'):format(#cv), 2) end
  local folds = {}
  for f, pair in ipairs(cv) do
    local fold = { train = pair.train or pair[1], test = pair.test or pair[2] }
    for _, side in ipairs { 'train', 'test' } do
      local list = fold[side]
      if type(list) ~= 'table' or #list == 0 then
        error(('autoreject.folds: split %d of cv has no %s epochs; give { train, test } lists'):format(f, side), 2)
      end
      local seen = {}
      for _, e in ipairs(list) do
        if seen[e] then
          error(('autoreject.folds: split %d of cv names epoch %s twice on one side; name each once'):format(
            f, tostring(e)), 2)
        end
        seen[e] = true
        if type(e) ~= 'number' or e ~= math.floor(e) or e < 1 or e > n then
          error(('autoreject.folds: split %d of cv names epoch %s; epochs run from 1 to %d'):format(f,
            check.show(e), n), 2)
        end
      end
    end
    folds[f] = fold
  end
  return folds
end

return M
