-- data/init.lua - data for training: data sets, batches in a seeded order, files of images, tokens.
--
-- CSV files and arrays come through mc.load; a row of tokens in an .npy file of i32 or u8 stays in the file with
-- mc.open.
local M = {}

for _, name in ipairs { 'dataset', 'loader', 'images', 'png', 'shapes' } do
  for k, v in pairs(require('mascon.nn.data.' .. name)) do
    if type(v) == 'function' and k ~= 'is_dataset' and k ~= 'batch_of' then M[k] = v end
  end
end
M.methods = require 'mascon.nn.data.loader'.methods
-- given from here, since a worker is a program with a loader of its own
local WORKER = [[
local ok, why = pcall(require 'mascon.nn.data.serve'.run, arg[1])
if not ok then
  io.stderr:write(tostring(why), '\n')
  os.exit(1)
end
]]
function M.methods._start(loader, o) return (require 'mascon.nn.data.workers'.start(loader, o, WORKER)) end

return M
