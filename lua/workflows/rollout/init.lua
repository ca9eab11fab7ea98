-- rollout/init.lua - spaces of neural operators, rolled out in time and reduced to features in one HDF5 file.
--
-- config reads the YAML, space and sampling choose parameters, operator builds the network of a row, fields its initial
-- state, roll steps it, features reduce it, store writes rows, generate does all of it. Source: specification of
-- rollouts.
local lazy = require 'mascon.core.lazy'
local M = {}

local FROM = {}
for _, name in ipairs { 'config', 'space', 'sampling', 'operator', 'streams', 'fields', 'roll', 'features', 'store',
  'crew', 'generate', 'dataset', 'report', 'view' } do
  FROM[name] = 'workflows.rollout.' .. name
end

return lazy.parts(M, 'rollout', FROM)
