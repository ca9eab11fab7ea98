-- view.lua - a row of a data set as pictures: states at a few times, a frame per state for an animation.
local mc = require 'mascon'
local look = require 'workflows.rollout.check'
local M = {}

local function picture(list, title, path)
  local C = list[1].x.shape[1]
  local fig = mc.plot.figure { title = title, width = 170 * #list + 40, height = 180 * C + 40, rows = C, cols = #list }
  local low, high = math.huge, -math.huge
  for _, e in ipairs(list) do low, high = math.min(low, e.x:min():item()), math.max(high, e.x:max():item()) end
  if not (high > low) then high = low + 1e-6 end
  for k, e in ipairs(list) do
    for c = 1, C do fig:axes(c, k):heatmap(nil, nil, e.x[c]:totable(), { title = ('t = %d'):format(e.t),
      cmap = 'viridis', vmin = low, vmax = high }) end
  end
  mc.plot.save(fig, path)
  return path
end

--- Contact sheet of a row, realisation 1, replayed from its parameters: files written. out: path of an SVG or PNG.
---@param path string data set
---@param i integer row, from 0
---@param out? string
---@return string[]
function M.row(path, i, out)
  local states = {}
  local row, config = look.replay(path, i, { features = false, visit = function(t, x) states[#states + 1] = { t = t,
    x = mc.keep(x[1]:to('f64'):copy()) } end })
  local chosen, n = {}, math.min(8, #states)
  for k = 1, n do chosen[k] = states[math.floor((k - 1) * (#states - 1) / math.max(n - 1, 1)) + 1] end
  local title = ('row %d: L%d b%d k%d %s, %s, %s'):format(i, row.arch.layers, row.arch.base, row.arch.kernel,
    row.arch.norm, row.policy.policy, row.kind)
  return { picture(chosen, title, out or ('row-%d.svg'):format(i)) }, config
end

return M
