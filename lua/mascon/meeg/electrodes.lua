-- electrodes.lua - positions of electrodes from the files that digitisers and other programs write.
--
-- Holds the formats and the way into the head frame. Angles are on a sphere, in degrees; distances are scaled so that
-- the median of the electrodes lies on the head asked for, as other programs do with files whose unit cannot be
-- trusted.
--
-- Source: the formats as MNE-Python's read_custom_montage reads them (EEGLAB's channel locations, BESA's spherical
-- angles, ASA's .elc, EGI's .sfp).
local check = require 'mascon.core.check'
local error = check.error
local cos, sin, rad, pi, sqrt = math.cos, math.sin, math.rad, math.pi, math.sqrt
local M = {}

--- Extensions that are read, in the words of help.
M.FORMATS = { 'elc', 'sfp', 'elp', 'txt', 'loc', 'locs', 'eloc' }

local MOST = 100000 -- lines; positions of more electrodes are no montage

local function lines_of(fname, path)
  local f, why = io.open(path, 'rb')
  if not f then error(('%s: %s; check the path'):format(fname, why), 4) end
  local text = f:read '*a'
  f:close()
  local out = {}
  for line in ((text or ''):gsub('\r\n?', '\n') .. '\n'):gmatch '(.-)\n' do
    out[#out + 1] = line
    if #out > MOST then error(('%s: %s has more than %d lines; it is no montage'):format(fname, path, MOST), 4) end
  end
  return out
end

local function words_of(line)
  local out = {}
  for w in line:gmatch '%S+' do out[#out + 1] = w end
  return out
end

--- The numbers words[from], ..., words[to], or nil.
local function numbers(words, from, to)
  local out = {}
  for i = from, to do
    local v = tonumber(words[i])
    if not v or v - v ~= 0 then return nil end
    out[#out + 1] = v
  end
  return out
end

--- Radius, azimuth from x to y and angle from z (radians) as x, y, z.
local function cartesian(r, azimuth, polar) return { r * sin(polar) * cos(azimuth), r * sin(polar) * sin(azimuth),
  r * cos(polar) } end

-- Each reader gives a list of { name, { x, y, z } }, or nil and what is wrong. `scaled`: only the directions count.
local READ = {}

--- ASA: "UnitPosition mm", "Positions" with "x y z" or "name : x y z", "Labels" with a name a line.
function READ.elc(lines)
  local at, unit, out = 1, nil, {}
  while lines[at] and not lines[at]:match '^%s*Positions%s*$' do
    unit = unit or lines[at]:match 'UnitPosition%s+(%S+)'
    at = at + 1
  end
  local scale = ({ m = 1, mm = 1e-3 })[unit]
  if not lines[at] then return nil, 'a line "Positions" is missing' end
  if not scale then return nil, ('a line "UnitPosition mm" (or m) before the positions is %s'):format(unit
    and 'another: ' .. unit or 'missing') end
  at = at + 1
  local own = {}
  while lines[at] and not lines[at]:match '^%s*Labels%s*$' do
    local words = words_of(lines[at])
    if #words > 0 then
      local p = #words >= 3 and numbers(words, #words - 2, #words)
      if not p then return nil, ('line %d has no three numbers'):format(at) end
      out[#out + 1] = { nil, { p[1] * scale, p[2] * scale, p[3] * scale } }
      own[#out] = lines[at]:match '^%s*(.-)%s*:'
    end
    at = at + 1
  end
  local k = 0
  at = at + 1
  while lines[at] and lines[at]:match '%S' do
    local name = lines[at]:match '^%s*(.-)%s*$'
    local list = next(own) and words_of(name) or { name } -- beside "name :" all stand in one line
    for _, n in ipairs(list) do
      k = k + 1
      if out[k] then out[k][1] = n end
    end
    at = at + 1
  end
  if k == 0 then
    for i in ipairs(out) do out[i][1] = own[i] end
    k = #own
  end
  if k ~= #out then return nil, ('%d positions and %d labels'):format(#out, k) end
  return out
end

--- EGI: "name x y z".
function READ.sfp(lines)
  local out = {}
  for i, line in ipairs(lines) do
    local words = words_of(line)
    if #words > 0 and words[1]:sub(1, 1) ~= '#' then
      local p = #words == 4 and numbers(words, 2, 4)
      if not p then return nil, ('line %d is no "name x y z"'):format(i) end
      if words[1] ~= 'headshape' then out[#out + 1] = { words[1], p } end -- points of the scalp
    end
  end
  return out
end

--- BESA: "type name azimuth horizontal radius"; azimuth is the angle from the vertex, negative on the left.
function READ.elp(lines)
  local out = {}
  for i, line in ipairs(lines) do
    local words = words_of(line)
    if #words > 0 and words[1]:sub(1, 1) ~= '#' then
      local p = #words == 5 and numbers(words, 3, 5)
      if not p then return nil, ('line %d is no "type name azimuth horizontal radius" of BESA'):format(i) end
      local a, h = p[1], p[2]
      out[#out + 1] = { words[2], cartesian(p[3] / 100, rad(a >= 0 and h or 180 + h), math.abs(a) / 180 * pi) }
    end
  end
  return out
end

--- A line of headings, then "name theta phi": theta from the vertex, phi from the right ear.
function READ.txt(lines)
  local out = {}
  for i, line in ipairs(lines) do
    local words = words_of(line)
    if i > 1 and #words > 0 then
      local p = #words == 3 and numbers(words, 2, 3)
      if not p then return nil, ('line %d is no "name theta phi"'):format(i) end
      out[#out + 1] = { words[1], cartesian(1, rad(p[2]), rad(p[1])) }
    end
  end
  return out
end

--- EEGLAB: "number theta radius name"; theta clockwise from the nose, radius 0.5 at the equator.
function READ.locs(lines)
  local out = {}
  for i, line in ipairs(lines) do
    local words = words_of(line)
    if #words > 0 and words[1]:sub(1, 1) ~= '#' and words[1]:sub(1, 1) ~= '%' then
      local p = #words >= 4 and numbers(words, 2, 3)
      if not p then return nil, ('line %d is no "number theta radius name"'):format(i) end
      local q = cartesian(1, -rad(p[1]), pi * p[2]) -- x to the nose
      out[#out + 1] = { words[4], { -q[2], q[1], q[3] } }
    end
  end
  return out
end
READ.loc, READ.eloc = READ.locs, READ.locs

-- what formats call the landmarks
local NAMED = { Nz = 'nasion', LPA = 'lpa', RPA = 'rpa' }
local LANDMARKS = {
  elc = NAMED, elp = NAMED, txt = NAMED, locs = {}, loc = {}, eloc = {},
  sfp = { FidNz = 'nasion', FidT9 = 'lpa', FidT10 = 'rpa', fidnz = 'nasion', fidt9 = 'lpa', fidt10 = 'rpa' },
}

local function length(p) return sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3]) end
local function minus(a, b) return { a[1] - b[1], a[2] - b[2], a[3] - b[3] } end
local function dot(a, b) return a[1] * b[1] + a[2] * b[2] + a[3] * b[3] end
local function scaled(a, s) return { a[1] * s, a[2] * s, a[3] * s } end
local function cross(a, b) return { a[2] * b[3] - a[3] * b[2], a[3] * b[1] - a[1] * b[3],
  a[1] * b[2] - a[2] * b[1] } end

local function median(list)
  table.sort(list)
  local n = #list
  return n % 2 == 1 and list[(n + 1) / 2] or 0.5 * (list[n / 2] + list[n / 2 + 1])
end

--- A function from a point to the head frame of three landmarks: x through the ears, y through the nasion.
local function to_head(marks)
  local x = minus(marks.rpa, marks.lpa)
  if length(x) == 0 then return nil end
  x = scaled(x, 1 / length(x))
  local shift = dot(minus(marks.nasion, marks.lpa), x)
  local origin = { marks.lpa[1] + shift * x[1], marks.lpa[2] + shift * x[2], marks.lpa[3] + shift * x[3] }
  local y = minus(marks.nasion, origin)
  if length(y) == 0 then return nil end
  y = scaled(y, 1 / length(y))
  local z = cross(x, y)
  return function(p)
    local d = minus(p, origin)
    return { dot(d, x), dot(d, y), dot(d, z) }
  end
end

--- The places of a file: names in order, positions by name in the head frame (m), landmarks.
---
--- radius: distances are scaled so that the median electrode lies this far from the file's origin; false keeps them as
--- they stand.
---@param fname string for messages
---@param path string
---@param kind string extension
---@param radius number|boolean
---@return string[] names
---@return table positions
---@return table landmarks
function M.read(fname, path, kind, radius)
  local list, why = READ[kind](lines_of(fname, path))
  if not list then error(('%s: %s: %s; correct the file'):format(fname, path, why), 3) end
  if #list == 0 then error(('%s: %s names no electrode; check the file'):format(fname, path), 3) end
  local names, at, marks, seen = {}, {}, {}, {}
  for _, item in ipairs(list) do
    local name, p = item[1], item[2]
    if seen[name] then error(('%s: %s names %q twice; each place needs a name of its own'):format(fname, path, name),
      3) end
    seen[name] = true
    local mark = LANDMARKS[kind][name]
    if mark then marks[mark] = p else names[#names + 1], at[name] = name, p end
  end
  if #names == 0 then error(('%s: %s names no electrode beside the landmarks; check the file'):format(fname, path),
    3) end
  if radius then
    local lengths = {}
    for _, item in ipairs(list) do lengths[#lengths + 1] = length(item[2]) end
    local middle = median(lengths)
    if not (middle > 0) then error(('%s: most places of %s lie at the origin; correct the file'):format(fname, path),
      3) end
    for name, p in pairs(at) do at[name] = scaled(p, radius / middle) end
    for name, p in pairs(marks) do marks[name] = scaled(p, radius / middle) end
  end
  if marks.nasion and marks.lpa and marks.rpa then
    local moved = to_head(marks)
    if not moved then error(('%s: the landmarks of %s lie on one line; correct the file'):format(fname, path), 3) end
    for name, p in pairs(at) do at[name] = moved(p) end
    for name, p in pairs(marks) do marks[name] = moved(p) end
  end
  return names, at, marks
end

return M
