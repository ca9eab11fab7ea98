-- ten_five.lua - the places of the 10-20 system and its extensions, computed from their definition on a sphere.
--
-- Holds names and geometry. The definition: arcs between landmarks are cut into twentieths. The midline runs from the
-- nasion (Nz) over the vertex (Cz) to the inion (Iz); three rings run round the head through places of the midline and
-- of the line from ear to ear; each transverse row is the arc through its two places on the upper ring and its place on
-- the midline. On a sphere the arc through three points is a circle. Angles are in degrees. Source: Oostenveld and
-- Praamstra, The five percent electrode system for high-resolution EEG and ERP measurements, 2001; Jurcak, Tsuzuki and
-- Dan, 10/20, 10/10, and 10/5 systems revisited, 2007.
local M = {}

local sin, cos, sqrt, atan2, pi = math.sin, math.cos, math.sqrt, math.atan2, math.pi

-- rows from the front, as letters on the side and near the midline; the first and last three places of the midline have
-- no row
local ROWS = {
  { 'AFp', 'AFp' }, { 'AF', 'AF' }, { 'AFF', 'AFF' }, { 'F', 'F' }, { 'FFT', 'FFC' }, { 'FT', 'FC' }, { 'FTT', 'FCC' },
  { 'T', 'C' }, { 'TTP', 'CCP' }, { 'TP', 'CP' },
  { 'TPP', 'CPP' }, { 'P', 'P' }, { 'PPO', 'PPO' }, { 'PO', 'PO' }, { 'POO', 'POO' },
}
-- places of a row from the left ring to the midline: which letters, which number, halved or not
local STEPS = { { 1, 7, '' }, { 1, 7, 'h' }, { 2, 5, '' }, { 2, 5, 'h' }, { 2, 3, '' }, { 2, 3, 'h' },
  { 2, 1, '' }, { 2, 1, 'h' } }
-- rings, lowest first: number and halving of its row places, names at the front and at the back
local RINGS = { { 9, '', 'N', 'I' }, { 9, 'h', 'NFp', 'OI' }, { 7, '', 'Fp', 'O' } }

M.TWENTY = { 'Fp1', 'Fpz', 'Fp2', 'F7', 'F3', 'Fz', 'F4', 'F8', 'T7', 'C3', 'Cz', 'C4', 'T8', 'P7', 'P3', 'Pz', 'P4',
  'P8', 'O1', 'Oz', 'O2' }

-- names of older or other usage
M.ALIASES = { T3 = 'T7', T4 = 'T8', T5 = 'P7', T6 = 'P8', Nasion = 'Nz', Inion = 'Iz' }

local function dot(a, b) return a[1] * b[1] + a[2] * b[2] + a[3] * b[3] end
local function minus(a, b) return { a[1] - b[1], a[2] - b[2], a[3] - b[3] } end
local function cross(a, b)
  return { a[2] * b[3] - a[3] * b[2], a[3] * b[1] - a[1] * b[3], a[1] * b[2] - a[2] * b[1] }
end
local function scaled(a, s) return { a[1] * s, a[2] * s, a[3] * s } end
local function unit(a) return scaled(a, 1 / sqrt(dot(a, a))) end

--- The arc from p over q to r, three points of the unit sphere: a function from the share of its length (0 at p, 1 at
--- r) to a point.
local function arc(p, q, r)
  local normal = unit(cross(minus(q, p), minus(r, q)))
  local centre = scaled(normal, dot(normal, p))
  local x = minus(p, centre)
  local radius = sqrt(dot(x, x))
  x = scaled(x, 1 / radius)
  local y = cross(normal, x)
  local d = minus(r, centre)
  local angle = atan2(dot(d, y), dot(d, x))
  if angle <= 0 then angle = angle + 2 * pi end
  return function(share)
    local c, s = radius * cos(share * angle), radius * sin(share * angle)
    return { centre[1] + c * x[1] + s * y[1], centre[2] + c * x[2] + s * y[2], centre[3] + c * x[3] + s * y[3] }
  end
end

-- a name of the left side for the right: odd numbers become the next even one
local function mirrored(letters, number, half) return letters .. (number + 1) .. half end

--- Every place of the 10-05 system as unit vectors: x to the right ear, y to the nasion, z to the vertex.
---
--- inclination: angle of nasion, inion and ear points from the vertex, degrees. 90 puts them on the equator; 112.5 puts
--- Fpz, T7, Oz and T8 there, as the caps of the trade do.
---@param inclination number degrees, between 45 and 135
---@return string[] names, in the order of rings and rows
---@return table name = { x, y, z }
---@return table name = true for the places of the 10-10 system
function M.places(inclination)
  local names, at, ten = {}, {}, {}
  local function put(name, p, is_ten)
    if not at[name] then
      names[#names + 1] = name
      at[name], ten[name] = p, is_ten or nil
    end
  end
  local a = inclination * pi / 180
  local function inclined(theta, front) return { 0, front * sin(theta), cos(theta) } end
  local middle = arc(inclined(a, 1), { 0, 0, 1 }, inclined(a, -1))
  local side = arc({ -sin(a), 0, cos(a) }, { 0, 0, 1 }, { sin(a), 0, cos(a) })
  local z = { 'Nz', 'NFpz', 'Fpz' }
  for i, r in ipairs(ROWS) do z[i + 3] = r[2] .. 'z' end
  z[19], z[20], z[21] = 'Oz', 'OIz', 'Iz'
  for i = 1, 21 do put(z[i], middle((i - 1) / 20), i % 2 == 1) end
  for k, ring in ipairs(RINGS) do
    local share = (k - 1) / 20
    local number, half, front, back = unpack(ring)
    for hand = 0, 1 do
      local round = arc(middle(share), side(hand == 0 and share or 1 - share), middle(1 - share))
      local function name(letters, n, h) return hand == 0 and letters .. n .. h or mirrored(letters, n, h) end
      local is_ten = half == ''
      put(name(front, 1, 'h'), round(1 / 20))
      put(name(front, 1, ''), round(2 / 20), is_ten)
      for i, r in ipairs(ROWS) do put(name(r[1], number, half), round((i + 2) / 20), is_ten and i % 2 == 0) end
      put(name(back, 1, ''), round(18 / 20), is_ten)
      put(name(back, 1, 'h'), round(19 / 20))
    end
  end
  for i, r in ipairs(ROWS) do
    local row = arc(at[r[1] .. '7'], at[z[i + 3]], at[r[1] .. '8'])
    for k, s in ipairs(STEPS) do
      local letters, is_ten = r[s[1]], i % 2 == 0 and s[3] == ''
      put(letters .. s[2] .. s[3], row((k - 1) / 16), is_ten)
      put(mirrored(letters, s[2], s[3]), row(1 - (k - 1) / 16), is_ten)
    end
  end
  return names, at, ten
end

return M
