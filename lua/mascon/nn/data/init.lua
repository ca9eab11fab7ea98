-- data/init.lua - data for training: data sets, batches in a seeded order, files of images, tokens.
--
-- CSV files and arrays come through mc.load; a row of tokens in an .npy file of i32 or u8 stays in the file with
-- mc.open.
local M = {}

for _, name in ipairs { 'dataset', 'loader', 'images', 'png' } do
  for k, v in pairs(require('mascon.nn.data.' .. name)) do
    if type(v) == 'function' and k ~= 'is_dataset' and k ~= 'batch_of' then M[k] = v end
  end
end
M.methods = require 'mascon.nn.data.loader'.methods

return M
