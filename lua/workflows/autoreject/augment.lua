-- augment.lua - what a channel would be if the others had to tell.
--
-- Decides which interpolator serves a type of channel: spherical splines for EEG, field mapping for MEG, none for the
-- others. Gives the weights that predict every channel from all others, and what repairs any set of bad ones.
local check = require 'mascon.core.check'
local mc = require 'mascon'
local error = check.error
local M = {}

local FIELD = { mag = true, grad = true }

--- Whether a type has an interpolator.
function M.has(kind) return kind == 'eeg' or FIELD[kind] or false end

--- An interpolator for the picked channels of one type.
---
--- weights() is W f64 [C, C] with X~ = W X and zeros on the diagonal. inverse() is that of the spline system, from
--- which weights for any set of bad channels follow; where there is none, repairer() gives :weights(bad) -> f64 [#bad,
--- C], zero at the bad ones. subsets(lists of S places) is f64 [lists, C, S].
---@param fname string
---@param epochs table
---@param group table { type, picks }
---@param o table options alpha, centre
---@return table|nil nil for a type without interpolator
--- Errors: positions that are missing, not finite or at the origin.
function M.interpolator(fname, epochs, group, o)
  if not M.has(group.type) then return nil end
  if #group.picks < 2 then
    error(('%s: one %s channel cannot be predicted from others; pick 2 or more, or give augment = false and '
      .. 'n_interpolate = { 0 }'):format(fname, group.type), 3)
  end
  if FIELD[group.type] then
    local field, opts = require 'mascon.meeg.field', { dev_head_t = epochs.info.dev_head_t, projs = epochs.info.projs }
    local prepared = field.prepare(epochs.channels, group.picks, opts)
    return {
      weights = function() return field.leave_one_out(epochs.channels, group.picks, opts) end,
      repairer = function() return field.repairer(epochs.channels, group.picks, opts) end,
      subsets = function(list)
        local all, maps = {}, {}
        for k = 1, #group.picks do all[k] = k end
        for s, sources in ipairs(list) do maps[s] = mc.scope(function() return prepared:map(sources, all) end) end
        return mc.stack(maps, 1)
      end,
    }
  end
  local spline, sphere, names = require 'mascon.meeg.spline', require 'mascon.meeg.sphere', {}
  for k, i in ipairs(group.picks) do names[k] = epochs.channels[i].name end
  local positions = sphere.check(fname, epochs:positions(group.picks), names)
  local opts = { alpha = o.alpha, centre = o.centre }
  return {
    positions = positions, doubt = require('mascon.meeg.montage').doubt(positions),
    weights = function() return spline.leave_one_out(positions, opts) end,
    inverse = function()
      local n = #group.picks
      return spline.matrix(positions, opts).M[{ { 1, n }, { 1, n } }]:contiguous()
    end,
    subsets = function(list) return spline.subsets(positions, mc.tensor(list, { dtype = 'i64' }), opts) end,
  }
end

return M
