-- workers.lua - batches of a loader made by processes beside the program.
--
-- A worker is a second copy of the program. It loads the data set by the name of its module, makes every W-th batch in
-- the order of the loader and puts it as a file into its folder in shared memory; the loader takes the file away, which
-- is how the worker (serve.lua) knows that it may go on. Which process makes a batch changes nothing in it. Holds the
-- loader's end and the form of the files.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local child = require 'mascon.base.child'
local file = require 'mascon.base.file'
local json = require 'mascon.base.json'
local bytes = require 'mascon.nn.bytes'
local error = check.error
local M = {}

-- ---------------------------------------------------------------- batches as files

--- The form of a batch, with its tensors put into a list.
local function apart(v, list, path)
  if tensor.is(v) then
    list[#list + 1] = v
    return { kind = 'tensor', at = #list, dtype = v.dtype }
  end
  local kind = type(v)
  if kind == 'table' and getmetatable(v) == nil then
    local parts = {}
    for _, k in ipairs(require 'mascon.graph.tree'.keys(v)) do
      parts[#parts + 1] = { key = k, value = apart(v[k], list, path .. '.' .. tostring(k)) }
    end
    return { kind = 'table', parts = parts }
  elseif kind == 'number' or kind == 'string' or kind == 'boolean' then return { kind = 'value', value = v } end
  error(('nn.data.loader: %s of a batch is %s; workers hand over tensors, numbers, texts and tables of them'):format(
    path, check.show(v)), 0)
end

local function together(form, list)
  if form.kind == 'value' then return form.value end
  if form.kind == 'tensor' then
    local t = list['t' .. form.at]
    return t.dtype == form.dtype and t or tensor.methods.to(t, form.dtype)
  end
  local out = {}
  for _, p in ipairs(form.parts) do out[p.key] = together(p.value, list) end
  return out
end

local function put(path, batch)
  local list, all = {}, {}
  local form = apart(batch, list, 'a part')
  for i, t in ipairs(list) do
    if t.dtype == 'bf16' then t = tensor.methods.to(t, 'f32') end -- files of arrays have no bf16
    all['t' .. i] = t.device == 'cpu' and t or tensor.methods.to(t, 'cpu')
  end
  all.form = bytes.of(json.encode(form))
  require('mascon.io').save(path, all)
end

local function get(path)
  local all = require('mascon.io').load(path)
  return together(json.decode(bytes.text(all.form)), all)
end

local function named(folder, serial, g) return ('%s/batch-%d-%d.npz'):format(folder, serial, g) end

--- Process number and that of the process which started this one.
local function processes()
  local pid, parent = (file.read '/proc/self/stat' or ''):match '^(%d+) %b() %S (%d+)'
  return tonumber(pid), tonumber(parent)
end

M.put, M.get, M.named, M.processes = put, get, named, processes

-- ---------------------------------------------------------------- the loader's end

---@class mascon.Workers
local Workers = {}
Workers.__index = Workers
M.methods = Workers

--- Starts the workers of a loader.
---@param loader mascon.Loader
---@param o table options of the loader: workers, prefetch, folder and what batches depend on
---@param code string what a worker runs
---@return mascon.Workers
function M.start(loader, o, code)
  if not child.possible() then
    error('nn.data.loader: workers need the program mascon; a library inside another program has none, take '
      .. 'workers = 0', 3)
  end
  local self = setmetatable({ loader = loader, count = o.workers, serial = 0, list = {} }, Workers)
  local pid = processes()
  for i = 1, o.workers do
    local config = { module = loader.set.module, given = loader.set.given,
      positions = loader.set.positions and loader.set.positions:totable(), path = package.path, parent = pid,
      index = i - 1, count = o.workers, prefetch = o.prefetch, options = { batch = o.batch, shuffle = o.shuffle,
      seed = o.seed, drop_last = o.drop_last } }
    local ok, text = check.try(json.encode, config)
    if not ok then
      error(('nn.data.loader: workers get the options of the module as JSON, which cannot hold one of them: %s'):format(
        tostring(text):match 'json.encode: (.-);' or tostring(text)), 3)
    end
    local process, why = child.start(code, { ['config.json'] = text }, o.folder)
    if not process then
      error(('nn.data.loader: a worker cannot be started in the folder for batches: %s'):format(why), 3)
    end
    self.list[i] = process
  end
  return self
end

local function failed(w)
  local said = w:said()
  error(('nn.data.loader: a worker ended: %s'):format(said ~= '' and said or 'it said nothing; there may be no memory '
    .. 'for it, or no room in ' .. w.folder .. ' (option folder)'), 4)
end

--- Batch k of an epoch, made by a worker.
---@param epoch integer
---@param k integer
---@return any
function Workers:at(epoch, k)
  local g = (epoch - 1) * self.loader.batches + k - 1
  if g ~= self.next then
    self.serial = self.serial + 1
    for _, w in ipairs(self.list) do
      local ok, why = file.write(w.folder .. '/want', ('%d %d\n'):format(self.serial, g))
      if not ok then error('nn.data.loader: ' .. why, 3) end
    end
  end
  local w = self.list[g % self.count + 1]
  local path = named(w.folder, self.serial, g)
  while not file.exists(path) do
    if not w:running() then failed(w) end
    child.pause(0.0002)
  end
  local batch = get(path)
  os.remove(path)
  self.next = g + 1
  return batch
end

--- Ends the processes.
function Workers:close()
  for _, w in ipairs(self.list) do w:stop() end
  self.list = {}
end

return M
