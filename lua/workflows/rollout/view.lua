-- view.lua - a row of a data set as pictures: states at a few times, or all of them as an animation.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local file = require 'mascon.base.file'
local colormap = require 'mascon.plot.colormap'
local gif = require 'mascon.plot.gif'
local look = require 'workflows.rollout.check'
local error = check.error
local M = {}

local SIDE, GAP = 192, 4 -- pixels of a channel of an animation at least, and between channels
local MOST = 400 -- frames of an animation

local function limits(list)
  local low, high = math.huge, -math.huge
  for _, e in ipairs(list) do low, high = math.min(low, e.x:min():item()), math.max(high, e.x:max():item()) end
  if not (high > low) then high = low + 1e-6 end
  return low, high
end

local function picture(list, title, path, low, high)
  local C = list[1].x.shape[1]
  local fig = mc.plot.figure { title = title, width = 170 * #list + 40, height = 180 * C + 40, rows = C, cols = #list }
  if not low then low, high = limits(list) end
  for k, e in ipairs(list) do
    for c = 1, C do fig:axes(c, k):heatmap(nil, nil, e.x[c]:totable(), { title = ('t = %d'):format(e.t),
      cmap = 'viridis', vmin = low, vmax = high }) end
  end
  mc.plot.save(fig, path)
  return path
end

--- The channels of a state side by side, each place a square of `times` pixels: bytes of palette places.
local function frame(x, low, high, times)
  local C, G = x.shape[1], x.shape[2]
  local level = mc.clip((x - low) * (254 / (high - low)), 0, 254) + 0.5
  local cells, lines, gap = level:totable(), {}, string.char(255):rep(GAP)
  for row = 1, G do
    local parts = {}
    for c = 1, C do
      local line = {}
      for k, v in ipairs(cells[c][row]) do line[k] = string.char(math.floor(v)):rep(times) end
      parts[c] = table.concat(line)
    end
    lines[row] = table.concat(parts, gap):rep(times)
  end
  return table.concat(lines)
end

--- Frames on one scale of colours, the length of the rollout in `seconds` or less.
local function film(list, path)
  local C, G = list[1].x.shape[1], list[1].x.shape[2]
  local low, high = limits(list)
  local times = math.max(1, math.ceil(SIDE / G))
  local palette, frames = {}, {}
  for i, text in ipairs(colormap.colours('viridis', 255)) do
    local r, g, b = colormap.components(text)
    palette[i] = { math.floor(r * 255 + 0.5), math.floor(g * 255 + 0.5), math.floor(b * 255 + 0.5) }
  end
  palette[256] = { 255, 255, 255 }
  for k, e in ipairs(list) do frames[k] = frame(e.x, low, high, times) end
  local delay = math.max(2, math.min(12, math.floor(1200 / #list)))
  local ok, why = file.write(path, gif.animation(C * G * times + (C - 1) * GAP, G * times, frames, palette, delay))
  if not ok then error('rollout: ' .. why, 0) end
  return path
end

local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

--- The same as MP4, which ffmpeg makes of the GIF.
local function movie(list, path)
  local gone = os.execute 'command -v ffmpeg > /dev/null 2>&1' ~= 0
  if gone then
    error(('rollout: %s: ffmpeg makes MP4 files and is not there; install it, or give a name in .gif'):format(path), 0)
  end
  local still, fresh = path .. '.tmp.gif', path .. '.tmp.mp4'
  film(list, still)
  local made = os.execute(('ffmpeg -v error -y -i %s -movflags +faststart -pix_fmt yuv420p -vf %s %s'):format(
    quoted(still), quoted 'pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white', quoted(fresh))) == 0
  os.remove(still)
  local ok, why = made and os.rename(fresh, path), 'ffmpeg failed, see its words above'
  if not ok then
    os.remove(fresh)
    error(('rollout: %s: %s'):format(path, why), 0)
  end
  return path
end

--- A picture of each state, all on one scale of colours; pattern holds one %d.
local function frames(list, title, pattern)
  local low, high = limits(list)
  local out = {}
  for k, e in ipairs(list) do out[k] = picture({ e }, title, (pattern:format(e.t)), low, high) end
  return out
end

local function evenly(states, n)
  local chosen = {}
  n = math.min(n, #states)
  for k = 1, n do chosen[k] = states[math.floor((k - 1) * (#states - 1) / math.max(n - 1, 1)) + 1] end
  return chosen
end

--- Pictures of a row, realisation 1, replayed from its parameters: files written.
---
--- out .svg or .png: a contact sheet of eight states; with %d (or %03d) in the name a picture of each state, all on one
--- scale of colours. out .gif, or .mp4 where ffmpeg is installed: an animation of all states, of 400 at most, with the
--- channels side by side.
---@param path string data set
---@param i integer row, from 0
---@param out? string (row-I.svg)
---@return string[]
function M.row(path, i, out)
  out = out or ('row-%d.svg'):format(i)
  local kind = out:match '%.(%w+)$'
  local each = out:match '%%0?%d*d'
  if (kind ~= 'svg' and kind ~= 'png' and kind ~= 'gif' and kind ~= 'mp4')
    or (each and (kind == 'gif' or kind == 'mp4' or select(2, out:gsub('%%', '')) > 1)) then
    error(('rollout: --output %s must end in .svg or .png (eight states; with one %%d in the name a picture of each), '
      .. 'or in .gif or .mp4 (an animation)'):format(out), 0)
  end
  local states = {}
  local row, config = look.replay(path, i, { features = false, visit = function(t, x)
    if t == 0 then states = {} end
    states[#states + 1] = { t = t, x = tensor.hold(x[1]:to('f64'):copy()) }
  end })
  if #states == 0 then
    error(('rollout: row %d is beyond simulation.limits (%s) and was not rolled out'):format(i,
      row.filtered > 0 and require 'workflows.rollout.generate'.FILTERED[row.filtered] or '?'), 0)
  end
  if kind == 'gif' then return { film(evenly(states, MOST), out) }, config end
  if kind == 'mp4' then return { movie(evenly(states, MOST), out) }, config end
  local a = row.arch
  local title = ('row %d: %s b%d %s, %s, %s'):format(i, a.type == 'cnn' and ('L%d k%d'):format(a.layers, a.kernel)
    or a.type, a.base, a.norm, row.policy.policy, row.kind)
  if each then return frames(states, title, out), config end
  return { picture(evenly(states, 8), title, out) }, config
end

return M
