-- pass.lua - one pass over the data, as numbers.
--
-- sums.lua says which sum stands where. Derivatives are those of the model over sigma; r is (data - model) / sigma.
-- Under a robust loss there are two more parts, of which errors are made: products of derivatives times psi^2, psi = r
-- rho', and times what the curvature of rho is below 0, which the fit takes as 0; no sums with r. Data come in blocks
-- of tiles; the state between two blocks is a sum and its rounding error, so neither blocks nor threads change a bit.
local mc = require 'mascon'
local op = require 'mascon.core.op'
local dense = require 'workflows.xpcs.pass.dense'
local sums = require 'workflows.xpcs.model.sums'
require 'mascon.base.workflow'.native 'xpcs' -- the op xpcs_pass
local M = {}

local SCALING = { fixed = 0, common = 1, each = 2 }
local LOSS = { linear = 0, soft_l1 = 1, huber = 2, cauchy = 3, arctan = 4 }
local PART = { fit = 0, psi = 1, below = 2 }

M.count = sums.count

--- Numbers of each angle as a tensor of 4 rows. A search for a start makes thousands of passes over small copies, so
--- that what surrounds the pass is most of their time.
local function by_angle(F, ...)
  local flat = {}
  for row = 1, 4 do
    local list = select(row, ...)
    for f = 1, F do flat[#flat + 1] = list[f] end
  end
  return mc.tensor(flat):reshape { 4, F }
end

--- Sums of a pass.
---@param data mascon.xpcs.Data
---@param p table physics, contrast, offset, sigma, kd, ks, t, loss, f_scale, legacy_abs; device: of device.lua; part
---  'fit', 'psi' or 'below'; between(state, tile) is called after each block;
---  from = { state, tile }: a pass that stopped before this tile
---@param kind 'fixed'|'common'|'each'
---@return number[]
function M.run(data, p, kind)
  if p.legacy_abs then return dense.sums(data, p, kind) end
  local physics = {}
  for k = 1, 7 do physics[k] = p.physics[k] or 0 end
  local values = { laminar = #p.physics > 3 and 1 or 0, scaling = SCALING[kind], loss = LOSS[p.loss or 'linear'],
    part = PART[p.part or 'fit'], kd = p.kd, ks = p.ks or 0, f_scale = p.f_scale or 1 }
  local there = p.device and require('workflows.xpcs.pass.device').run(data, p, values, physics, M.count(kind, data.F))
  if there then return there end
  local angles, theta = by_angle(data.F, data.phi, p.sigma, p.contrast, p.offset), mc.tensor(physics)
  local state = p.from and p.from.state or mc.zeros { 2, sums.count(kind, data.F) }
  local from = p.from and p.from.tile or 1
  for block in data:blocks(from) do
    values.first = block.first - 1
    local list = { block.y, block.holes, p.t, angles, theta, state }
    if block.weight then list[7] = block.weight end
    state = op.raw('xpcs_pass', list, values, 1)[1]
    data:done(block)
    if p.between then p.between(state, block.first + block.holes.shape[1]) end
  end
  local both = state:totable()
  local list, rest = both[1], both[2]
  for k = 1, #list do list[k] = list[k] + rest[k] end
  return list
end

return M
