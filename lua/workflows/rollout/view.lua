-- view.lua - a realisation of a row as pictures: states at a few times, or all of them as an animation.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local file = require 'mascon.base.file'
local colormap = require 'mascon.plot.colormap'
local gif = require 'mascon.plot.gif'
local networks = require 'workflows.rollout.networks'
local dataset = require 'workflows.rollout.dataset'
local error = check.error
local M = {}

local SIDE, GAP = 192, 4 -- pixels of a channel of an animation at least; between channels, and of the line below
local MOST = 400 -- frames of an animation
local LEVELS, TIME, RED, WHITE = 253, 253, 254, 255 -- colours of values, and places in the palette after them
local PAST, FROZEN = { 90, 90, 90 }, { 200, 30, 30 }

local OPTS = { overwrite = { true, 'bool' }, realization = { 1, 'integer >= 1' } }

local function limits(list)
  local low, high = math.huge, -math.huge
  for _, e in ipairs(list) do
    local good = mc.isfinite(e.x)
    low = math.min(low, mc.where(good, e.x, math.huge):min():item())
    high = math.max(high, mc.where(good, e.x, -math.huge):max():item())
  end
  if low > high then low, high = 0, 1 end -- no value is finite
  if not (high > low) then high = low + 1e-6 end
  return low, high
end

--- Panels of states: a line for each channel, a column for each state { t, x, frozen }.
local function picture(list, title, path, low, high)
  local C, n = list[1].x.shape[1], #list
  local fig = mc.plot.figure { title = title, width = math.max(170 * n + 110, 320), height = 170 * C + 80, rows = C,
    cols = n }
  if not low then low, high = limits(list) end
  for c = 1, C do
    for k, e in ipairs(list) do
      local top, bottom = c == 1, c == C
      fig:axes(c, k):heatmap(nil, nil, e.x[c]:totable(), { cmap = 'viridis', vmin = low, vmax = high,
        aspect = 'equal', title = top and ('t = %d%s'):format(e.t, e.frozen and ', frozen' or '') or nil,
        xlabel = bottom and 'x' or nil, xunit = bottom and 'px' or nil,
        ylabel = k == 1 and ('channel %d, y'):format(c) or nil, yunit = k == 1 and 'px' or nil,
        colorbar = k == n, label = k == n and 'state' or nil })
    end
  end
  mc.plot.save(fig, path)
  return path
end

--- The channels of a state side by side, the first row below as in figures, each place a square of `times` pixels:
--- bytes of palette places. A line below grows with time, share of it, and is red where the state is frozen.
local function frame(e, low, high, times, share)
  local C, G = e.x.shape[1], e.x.shape[2]
  local good = mc.isfinite(e.x)
  local level = mc.clip((mc.where(good, e.x, low) - low) * ((LEVELS - 1) / (high - low)), 0, LEVELS - 1) + 0.5
  local cells, lines, gap = mc.where(good, level, WHITE):totable(), {}, string.char(WHITE):rep(GAP)
  for row = G, 1, -1 do
    local parts = {}
    for c = 1, C do
      local line = {}
      for k, v in ipairs(cells[c][row]) do line[k] = string.char(math.floor(v)):rep(times) end
      parts[c] = table.concat(line)
    end
    lines[#lines + 1] = table.concat(parts, gap):rep(times)
  end
  local width = C * G * times + (C - 1) * GAP
  local past = math.floor(width * share + 0.5)
  lines[#lines + 1] = (e.frozen and string.char(RED):rep(width)
    or string.char(TIME):rep(past) .. string.char(WHITE):rep(width - past)):rep(GAP)
  return table.concat(lines)
end

--- Frames on one scale of colours, the length of the rollout in `seconds` or less.
local function film(list, path)
  local C, G = list[1].x.shape[1], list[1].x.shape[2]
  local low, high = limits(list)
  local times = math.max(1, math.ceil(SIDE / G))
  local palette, frames = {}, {}
  for i, text in ipairs(colormap.colours('viridis', LEVELS)) do
    local r, g, b = colormap.components(text)
    palette[i] = { math.floor(r * 255 + 0.5), math.floor(g * 255 + 0.5), math.floor(b * 255 + 0.5) }
  end
  palette[TIME + 1], palette[RED + 1], palette[WHITE + 1] = PAST, FROZEN, { 255, 255, 255 }
  for k, e in ipairs(list) do frames[k] = frame(e, low, high, times, k / #list) end
  local delay = math.max(2, math.min(12, math.floor(1200 / #list)))
  local ok, why = file.write(path, gif.animation(C * G * times + (C - 1) * GAP, G * times + GAP, frames, palette,
    delay))
  if not ok then error('rollout: ' .. why, 0) end
  return ('t = %d to %d; channels 1 to %d from the left; colours from %.3g (dark) to %.3g (light); the line below is '
    .. 'time'):format(list[1].t, list[#list].t, C, low, high)
end

local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

--- The same as MP4, which ffmpeg makes of the GIF.
local function movie(list, path)
  local gone = os.execute 'command -v ffmpeg > /dev/null 2>&1' ~= 0
  if gone then
    error(('rollout: %s: ffmpeg makes MP4 files and is not there; install it, or give a name in .gif'):format(path), 0)
  end
  local still, fresh = path .. '.tmp.gif', path .. '.tmp.mp4'
  local legend = film(list, still)
  local made = os.execute(('ffmpeg -v error -y -i %s -movflags +faststart -pix_fmt yuv420p -vf %s %s'):format(
    quoted(still), quoted 'pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white', quoted(fresh))) == 0
  os.remove(still)
  local ok, why = made and os.rename(fresh, path), 'ffmpeg failed, see its words above'
  if not ok then
    os.remove(fresh)
    error(('rollout: %s: %s'):format(path, why), 0)
  end
  return legend
end

--- The name of the picture of a state: f(t), where the name of a file holds a %d or %03d; nil where it holds none.
--- Other percent signs, and those of folders, are as they stand.
local function numbered(path)
  local folder, name = path:match '^(.*/)([^/]*)$'
  folder, name = folder or '', name or path
  local before, number, after = name:match '^(.-)(%%0?%d?d)(.*)$'
  return number and function(t) return folder .. before .. number:format(t) .. after end
end

--- A picture of each state, all on one scale of colours. Refuses files that are there unless they may be replaced.
local function frames(list, title, name, overwrite)
  local low, high = limits(list)
  local out = {}
  for k, e in ipairs(list) do out[k] = name(e.t) end
  mc.results.free('--output', out, { overwrite = overwrite })
  for k, e in ipairs(list) do picture({ e }, title, out[k], low, high) end
  return out
end

local function evenly(states, n)
  local chosen = {}
  n = math.min(n, #states)
  for k = 1, n do chosen[k] = states[math.floor((k - 1) * (#states - 1) / math.max(n - 1, 1)) + 1] end
  return chosen
end

--- Words on the realisations of a row that failed.
local function failures(row)
  local out = {}
  for m, step in ipairs(row.bad_step) do
    if step >= 0 then
      out[#out + 1] = ('realisation %d %s at step %d: %s'):format(m, row.status[m] == 1 and 'was not finite'
        or 'exploded', step, step == 0 and 'its states are the initial one'
        or ('later states are that of step %d, frozen'):format(step - 1))
    end
  end
  return out[1] and table.concat(out, '; ') or nil
end

--- Pictures of one realisation of a row, replayed from its parameters: files written.
---
--- out .svg or .png: a contact sheet of eight states; with %d (or %03d) in the name a picture of each state, all on one
--- scale of colours. out .gif, or .mp4 where ffmpeg is installed: an animation of all states, of 400 at most, with the
--- channels side by side, and a line below that grows with time, red from the step on at which the realisation failed.
--- The first row of a state stands below everywhere.
---@param path string data set
---@param i integer row, from 0
---@param out? string (row-I.svg)
---@param opts? table realization (1, counted from 1), overwrite (true): the pictures of states may replace files
---@return string[]
---@return table configuration
---@return string? words on realisations that failed
---@return string? legend of an animation
function M.row(path, i, out, opts)
  local o = check.opts('rollout.view.row', opts, OPTS, 3)
  out = out or ('row-%d.svg'):format(i)
  local kind = out:match '%.(%w+)$'
  local each = numbered(out)
  if (kind ~= 'svg' and kind ~= 'png' and kind ~= 'gif' and kind ~= 'mp4')
    or (each and (kind == 'gif' or kind == 'mp4' or numbered(each(0)))) then
    error(('rollout: --output %s must end in .svg or .png (eight states; with one %%d in the name a picture of each), '
      .. 'or in .gif or .mp4 (an animation)'):format(out), 0)
  end
  local states = {}
  local row, config = dataset.replay(path, i, { features = false, visit = function(t, x, alive)
    if t == 0 then states = {} end
    local m = o.realization
    if m > x.shape[1] then
      error(('rollout: --realization is %d; the rows of %s have %d'):format(m, path, x.shape[1]), 0)
    end
    states[#states + 1] = { t = t, x = tensor.hold(x[m]:to('f64'):copy()), frozen = not alive[m] }
  end })
  if #states == 0 then
    error(('rollout: row %d is beyond simulation.limits (%s) and was not rolled out'):format(i,
      row.filtered > 0 and require 'workflows.rollout.generate'.FILTERED[row.filtered] or '?'), 0)
  end
  local words = failures(row)
  if kind == 'gif' or kind == 'mp4' then
    local legend = (kind == 'gif' and film or movie)(evenly(states, MOST), out)
    return { out }, config, words, legend
  end
  local title = ('%s, row %d, realisation %d: %s, %s, %s'):format(config.metadata.name, i, o.realization,
    networks.title(row.arch), row.policy.policy, row.kind)
  if row.bad_step[o.realization] >= 0 then title = ('%s; %s'):format(title, words) end
  if each then return frames(states, title, each, o.overwrite), config, words end
  return { picture(evenly(states, 8), title, out) }, config, words
end

return M
