-- facts.lua - what a checkpoint says of a run beside its tensors, and whether another run may go on from there.
local check = require 'mascon.core.check'
local error = check.error
local M = {}

local ORDER = { 'batch', 'drop_last', 'shuffle', 'seed' }
--- Options of a loader that say which samples a batch holds; none of a loader of the user's own.
---@param loader mascon.Loader
---@return table
function M.order(loader)
  local out, given = {}, type(loader.options) == 'table' and loader.options or {}
  for _, k in ipairs(ORDER) do out[k] = given[k] end
  return out
end

--- Refuses a loader whose batches are others than those of the run.
---@param path string of the checkpoint
---@param found table its facts
---@param loader mascon.Loader
function M.same_data(path, found, loader)
  if found.batches ~= loader.batches or found.samples ~= loader.n then
    error(('nn.Trainer: %s is of a run with %d samples in %d batches, the data are %d in %d; a run goes on with the '
      .. 'same data'):format(path, found.samples, found.batches, loader.n, loader.batches), 3)
  end
  local before, now = found.order or {}, M.order(loader)
  for _, k in ipairs(ORDER) do
    if before[k] ~= nil and now[k] ~= nil and before[k] ~= now[k] then
      error(('nn.Trainer: %s is of a run whose loader has %s = %s, here it has %s; a run goes on with the same batches')
        :format(path, k, tostring(before[k]), tostring(now[k])), 3)
    end
  end
end

local NUMBERS = 'number'
local FACTS = { batches = NUMBERS, samples = NUMBERS, stale = NUMBERS, step = 'table', sums = { NUMBERS, NUMBERS },
  generator = 'table' }
local BEST = { value = NUMBERS, epoch = NUMBERS, step = NUMBERS }
local EPOCH = { epoch = NUMBERS, step = NUMBERS, batches = NUMBERS, loss = NUMBERS }

--- The first thing of a table that is not of the kind asked for, in words; nil where all are.
local function misfit(v, kind, name)
  if type(kind) == 'string' then
    if type(v) ~= kind then return ('%s is %s'):format(name, check.show(v)) end
    return nil
  end
  if type(v) ~= 'table' then return ('%s is %s'):format(name, check.show(v)) end
  for k, inner in pairs(kind) do
    local bad = misfit(v[k], inner, type(k) == 'number' and ('%s[%d]'):format(name, k) or name .. '.' .. k)
    if bad then return bad end
  end
end

--- Facts of a checkpoint with numbers for the texts that stand for NaN and infinities; refused unless they are those
--- of a run of this version.
---@param path string of the checkpoint
---@param facts table
---@return table facts
function M.checked(path, facts)
  local function refuse(bad)
    if bad then
      error(('nn.Trainer: %s is not as this version writes it: %s; overwrite = true begins anew'):format(path, bad), 0)
    end
  end
  local history = facts.history or {}
  refuse(misfit(facts, FACTS, 'facts') or misfit(facts.order or {}, 'table', 'facts.order')
    or misfit(history, 'table', 'facts.history')
    or facts.best ~= nil and misfit(facts.best, 'table', 'facts.best') or nil)
  for i = 0, #history do
    local one = history[i]
    if i == 0 then one = facts.best or {} end
    refuse(misfit(one, 'table', ('facts.history[%d]'):format(i)))
    for k, v in pairs(one) do one[k] = tonumber(v) or v end
    for k, v in pairs(one) do refuse(misfit(v, NUMBERS, ('%s of an epoch'):format(tostring(k)))) end
    if i > 0 then refuse(misfit(one, EPOCH, ('facts.history[%d]'):format(i))) end
  end
  refuse(facts.best and misfit(facts.best, BEST, 'facts.best') or nil)
  facts.history = history
  return facts
end

return M
