-- load.lua - a model from a file: one that :save wrote, or one of Python's autoreject.
local check = require 'mascon.core.check'
local state = require 'workflows.autoreject.state'
local transform = require 'workflows.autoreject.transform'
local upstream = require 'workflows.autoreject.upstream'

local M = {}

--- Reads a model that :save wrote, or one that Python's autoreject saved (.hdf5, .h5); the latter judges and repairs
--- as with compat = 'upstream'.
---@param path string
---@return table model
--- Errors: a file that is not there or holds no model.
function M.load(path)
  check.arg('autoreject.load', 'path', path, 'string')
  local about = upstream.is(path) and upstream.fields(path) or state.stored(path)
  local model = {
    options = about.options, given = about.given, seed = about.seed, order = about.order, warnings = about.warnings,
    types = about.types, consensus_grid = about.consensus_grid, thresholds = {},
    consensus = {}, n_interpolate = {}, loss = {},
  }
  for kind, t in pairs(about.types) do
    local limit = t.threshold:totable()
    for c, n in ipairs(t.names) do model.thresholds[n] = limit[c] end
    model.consensus[kind], model.n_interpolate[kind], model.loss[kind] = t.consensus, t.n_interpolate, t.loss
  end
  return transform.model(model)
end

return M
