-- checkpoint.lua - the files from which a run of training goes on: step-NUMBER.npz in a folder, and best.npz.
--
-- A file holds all tensors of a step by name and, as text, what else the run depends on. It gets its name when it is
-- whole and on the disk; older ones go after that, so that a good one is there at any time.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local json = require 'mascon.base.json'
local file = require 'mascon.base.file'
local io_ = require 'mascon.io'
local bytes = require 'mascon.nn.bytes'
local error = check.error
local M = {}

local FORM = 1 -- of the text

local function named(count) return ('step-%09d.npz'):format(count) end

--- The checkpoints of a folder in the order of their steps: a list of { path, step }.
---     #mc.nn.checkpoint.list('no/such/folder')  --> 0
---@param folder string
---@return table[]
function M.list(folder)
  local out = {}
  for _, name in ipairs(file.names(folder)) do
    local step = name:match '^step%-(%d+)%.npz$'
    if step then out[#out + 1] = { path = folder .. '/' .. name, step = tonumber(step) } end
  end
  table.sort(out, function(a, b) return a.step < b.step end)
  return out
end

local EVENTS, REST = '^events%.out%.tfevents%..*%.mascon$', { ['best.npz'] = true, ['log.jsonl'] = true,
  ['report.html'] = true }

local function of_run(name) return REST[name] or name:find '^step%-%d+%.npz$' or name:find(EVENTS) end

--- Names of the files of a run in a folder: checkpoints, the best one, log, report and event files.
---     #mc.nn.checkpoint.files('no/such/folder')  --> 0
---@param folder string
---@return string[]
function M.files(folder)
  local out = {}
  for _, name in ipairs(file.names(folder)) do
    if of_run(name) then out[#out + 1] = name end
  end
  return out
end

--- Removes the files of a run.
---@param folder string
function M.clear(folder)
  for _, name in ipairs(M.files(folder)) do os.remove(folder .. '/' .. name) end
end

--- Removes what a killed run left half written, under temporary names. For the only writer of the folder.
---     mc.nn.checkpoint.sweep 'no/such/folder'  --> nothing
---@param folder string
function M.sweep(folder)
  for _, name in ipairs(file.names(folder)) do
    local whole = name:match '^(.*)%.tmp%-%w%w%w%w%w%w$'
    if whole and (of_run(whole) or whole == 'model.npz') then os.remove(folder .. '/' .. name) end
  end
end

--- Writes a checkpoint.
---@param path string
---@param tensors table name -> tensor
---@param facts table numbers, texts and tables of them
--- Errors: what keeps the file from being written; the old files stay.
function M.write(path, tensors, facts)
  local all = { ['facts.json'] = bytes.of(json.encode({ form = FORM, facts = facts }, { nonfinite = 'string' })) }
  for k, t in pairs(tensors) do
    if t.dtype == 'bf16' then t = tensor.methods.to(t, 'f32') end
    all[k] = t.device == 'cpu' and t or tensor.methods.to(t, 'cpu')
  end
  io_.save(path, all)
end

--- Reads a checkpoint.
---@param path string
---@return table tensors name -> tensor
---@return table facts
--- Errors: a file that is none.
function M.read(path)
  local all = io_.load(path)
  local text = type(all) == 'table' and all['facts.json']
  if not tensor.is(text) or text.dtype ~= 'u8' or text.ndim ~= 1 then
    error(('nn.checkpoint: %s is no checkpoint of a run'):format(path), 2)
  end
  local facts = json.decode(bytes.text(text))
  if type(facts) ~= 'table' or facts.form ~= FORM then
    error(('nn.checkpoint: %s was written in another form; it cannot be read by this version'):format(path), 2)
  end
  all['facts.json'] = nil
  return all, facts.facts
end

--- Writes a file of a run; what keeps it from being written is an error that names the last good one.
local function careful(folder, name, count, tensors, facts)
  local path = folder .. '/' .. name
  local ok, why = pcall(M.write, path, tensors, facts)
  if ok then return path end
  if check.stopped(why) then error(why, 0) end
  why = tostring(why):gsub('^[^\n:]*%.lua:%d+: ', '')
  local there = M.list(folder)
  local last = there[#there]
  error(('nn.Trainer: the checkpoint of step %d cannot be written: %s; %s'):format(count, why,
    last and ('the last good one is %s: make room, then go on with resume = true'):format(last.path)
    or 'there is none before it'), 2)
end

--- Writes the checkpoint of a step into a folder and removes older ones but the last `keep`.
---@param folder string
---@param count integer number of the step
---@param tensors table
---@param facts table
---@param keep integer
---@return string path
function M.put(folder, count, tensors, facts, keep)
  local path = careful(folder, named(count), count, tensors, facts)
  local there = M.list(folder)
  for i = 1, #there - keep do os.remove(there[i].path) end
  return path
end

--- Writes the checkpoint of the best result, best.npz, into a folder.
---@param folder string
---@param count integer number of the step
---@param tensors table
---@param facts table
---@return string path
function M.put_best(folder, count, tensors, facts) return (careful(folder, 'best.npz', count, tensors, facts)) end

return M
