-- brainvision.lua - BrainVision recordings as Raw objects.
--
-- Holds the factors to SI units, the types that names and units tell, the positions and the markers as annotations. The
-- format itself is mascon.io.brainvision.
local brainvision = require 'mascon.io.brainvision'
local channels = require 'mascon.meeg.channels'
local raw = require 'mascon.meeg.raw'
local M = {}

-- radius of a head, m, for coordinates on the unit sphere
local HEAD = 0.095

--- Radius (mm, or 1 on the unit sphere), angle from the vertical and in the plane from the right (degrees) as { x, y,
--- z } in metres, x to the right, y to the front.
local function position(c)
  local r = c.radius == 1 and HEAD or c.radius * 1e-3
  local theta, phi = math.rad(c.theta), math.rad(c.phi)
  return { r * math.sin(theta) * math.cos(phi), r * math.sin(theta) * math.sin(phi), r * math.cos(theta) }
end

--- The first date among the markers, as 2013-11-13T16:14:03.794232.
local function date_of(markers)
  for _, m in ipairs(markers) do
    local y, mo, d, h, mi, s, us = (m.date or ''):match '^(%d%d%d%d)(%d%d)(%d%d)(%d%d)(%d%d)(%d%d)(%d*)$'
    if m.type == 'New Segment' and y then
      return ('%s-%s-%sT%s:%s:%s%s'):format(y, mo, d, h, mi, s, us ~= '' and '.' .. us or '')
    end
  end
end

--- Opens a .vhdr file as a Raw object. Markers become annotations "Type/text" (a first New Segment, which only tells
--- the date, does not).
---@param path string
---@return table raw
function M.open(path)
  local rec = brainvision.open(path)
  local list, scale, warnings = {}, {}, {}
  for _, w in ipairs(rec.warnings) do warnings[#warnings + 1] = w end
  for i, c in ipairs(rec.channels) do
    local factor, unit = channels.unit(c.unit)
    local name = c.name
    list[i] = { name = name, type = unit == 'V' and channels.guess(name, 'eeg') or 'misc', unit = unit or c.unit,
      file_unit = c.unit, position = c.coordinates and position(c.coordinates) }
    scale[i] = c.resolution * (factor or 1)
  end
  warnings[#warnings + 1] = channels.distinct(list)
  local annotations = {}
  for i, m in ipairs(rec.markers) do
    if i > 1 or m.type ~= 'New Segment' then
      annotations[#annotations + 1] = { onset = (m.position - 1) / rec.fs, duration = m.size / rec.fs,
        text = m.type .. '/' .. m.text }
    end
  end
  return raw.over({
    path = path, format = 'BrainVision', fs = rec.fs, samples = rec.samples,
    channels = channels.check('meeg.open', list), annotations = annotations, warnings = warnings,
    info = { meas_date = date_of(rec.markers), highpass = rec.filters and rec.filters.highpass,
      lowpass = rec.filters and rec.filters.lowpass },
  }, function(picks, first, count) return rec:fetch(picks, first, count, scale) end, function() rec:close() end)
end

return M
