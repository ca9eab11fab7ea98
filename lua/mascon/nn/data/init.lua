-- data/init.lua - data for training: data sets, batches in a seeded order, files of images, tokens.
--
-- CSV files and arrays come through mc.load; a row of tokens in an .npy file of i32 or u8 stays in the file with
-- mc.open.
local M = {}

local NAMES = {
  dataset = { 'collate', 'tensors', 'windows', 'of_module', 'subset', 'split' },
  loader = { 'loader' },
  images = { 'idx', 'cifar', 'random_flip', 'random_shift', 'scaled' },
  png = { 'png' },
  shapes = { 'shapes' },
}
for part, names in pairs(NAMES) do
  local functions = require('mascon.nn.data.' .. part)
  for _, name in ipairs(names) do M[name] = functions[name] end
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
