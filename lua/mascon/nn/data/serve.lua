-- serve.lua - the program of a loader's worker: batches of a data set as files, ahead of those who want them.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local child = require 'mascon.base.child'
local file = require 'mascon.base.file'
local json = require 'mascon.base.json'
local dataset = require 'mascon.nn.data.dataset'
local loaders = require 'mascon.nn.data.loader'
local workers = require 'mascon.nn.data.workers'
local M = {}

--- What a worker does: makes batches until the process that started it is gone or ends it.
---@param folder string
function M.run(folder)
  local config = json.decode(assert(file.read(folder .. '/config.json')))
  package.path = config.path
  lib.C.mc_set_num_threads(1)
  local set = dataset.of_module(config.module, config.given)
  if config.positions then
    set = dataset.subset(set, tensor.methods.to(op.from_table(config.positions), 'i64'))
  end
  local source = loaders.loader(set, config.options)
  local function alone()
    local _, parent = workers.processes()
    return parent ~= config.parent
  end
  local function wanted()
    local serial, g = (file.read(folder .. '/want') or ''):match '^(%d+) (%d+)\n'
    return tonumber(serial), tonumber(g)
  end
  local serial, g = wanted()
  local waiting, turns = {}, 0
  while true do
    local now, from = wanted()
    if now and now ~= serial then
      for _, path in ipairs(waiting) do os.remove(path) end
      serial, g, waiting = now, from, {}
    end
    while waiting[1] and not file.exists(waiting[1]) do table.remove(waiting, 1) end
    turns = turns + 1
    if turns % 64 == 1 and alone() then
      for _, name in ipairs(file.names(folder)) do os.remove(folder .. '/' .. name) end
      os.remove(folder)
      return
    end
    if not serial or #waiting >= config.prefetch then child.pause(0.001)
    elseif g % config.count ~= config.index then g = g + 1
    else
      local path = workers.named(folder, serial, g)
      workers.put(path, (source:at(math.floor(g / source.batches) + 1, g % source.batches + 1)))
      waiting[#waiting + 1], g = path, g + 1
    end
  end
end

return M
