-- colormap.lua - numbers to colours.
--
-- Holds: the colour maps, the cycle of line colours, conversion between sRGB and Oklab.
--
-- A map is a few control points, joined in Oklab, the colour space in which equal distances look equal ("A perceptual
-- color space for image processing", 2020). 'viridis', 'magma' and 'cividis' are given by points read off the published
-- maps (viridis and magma 2015, CC0; "Optimizing colormaps with consideration for color vision deficiency", 2018).
-- 'tide' (diverging) and 'phase' (cyclic) are our own: lightness linear or constant, hue and chroma chosen in gamut.
-- Line colours are the set of "Color Universal Design", 2008, without its yellow, which vanishes on white.

local M = {}

local floor, fmt = math.floor, string.format

---------------------------------------------------------------------------------------------------------------
-- sRGB and Oklab

local function to_linear(c)
  return c <= 0.04045 and c / 12.92 or ((c + 0.055) / 1.055) ^ 2.4
end

local function to_srgb(c)
  if c <= 0 then return 0 end
  if c >= 1 then return 1 end
  return c <= 0.0031308 and 12.92 * c or 1.055 * c ^ (1 / 2.4) - 0.055
end

local function cbrt(x)
  return x < 0 and -((-x) ^ (1 / 3)) or x ^ (1 / 3)
end

--- sRGB components in 0..1 to Oklab.
function M.oklab(r, g, b)
  r, g, b = to_linear(r), to_linear(g), to_linear(b)
  local l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
  local m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
  local s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
  return 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s
end

--- Oklab to sRGB components, clipped to 0..1.
function M.from_oklab(L, a, b)
  local l = (L + 0.3963377774 * a + 0.2158037573 * b) ^ 3
  local m = (L - 0.1055613458 * a - 0.0638541728 * b) ^ 3
  local s = (L - 0.0894841775 * a - 1.2914855480 * b) ^ 3
  return to_srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    to_srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    to_srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)
end

local function parse_hex(s)
  local r, g, b = s:match('^#(%x%x)(%x%x)(%x%x)$')
  return tonumber(r, 16) / 255, tonumber(g, 16) / 255, tonumber(b, 16) / 255
end

local function hex(r, g, b)
  return fmt('#%02x%02x%02x', floor(r * 255 + 0.5), floor(g * 255 + 0.5), floor(b * 255 + 0.5))
end

---------------------------------------------------------------------------------------------------------------
-- Control points: sRGB text, or { lightness, chroma, hue in degrees } in Oklab's polar form

local MAPS = {
  viridis = {
    '#440154', '#472d7b', '#3b528b', '#2c728e', '#21918c', '#28ae80', '#5ec962', '#addc30', '#fde725',
  },
  magma = {
    '#000004', '#1d1147', '#51127c', '#822681', '#b63679', '#e65164', '#fb8861', '#fec287', '#fcfdbf',
  },
  cividis = {
    '#00204d', '#00336f', '#39486b', '#575c6d', '#707173', '#8a8779', '#a69d75', '#c4b56c', '#e4cf5b', '#ffea46',
  },
  grey = { '#000000', '#ffffff' },
  tide = {
    { 0.30, 0.09, 262 }, { 0.465, 0.135, 256 }, { 0.63, 0.125, 248 }, { 0.795, 0.075, 240 }, { 0.96, 0.006, 235 },
    { 0.795, 0.09, 48 }, { 0.63, 0.155, 36 }, { 0.465, 0.155, 28 }, { 0.30, 0.10, 22 },
  },
}

do -- a full turn of hue at one lightness and the largest chroma that sRGB holds all the way round
  local phase = {}
  for k = 0, 24 do phase[k + 1] = { 0.70, 0.118, 30 + 15 * k } end
  MAPS.phase = phase
end

--- Names of the maps; each also exists reversed with the suffix _r.
M.names = { 'viridis', 'magma', 'cividis', 'grey', 'tide', 'phase' }

local function control(point)
  if type(point) == 'string' then return { M.oklab(parse_hex(point)) } end
  local h = math.rad(point[3])
  return { point[1], point[2] * math.cos(h), point[2] * math.sin(h) }
end

local tables = {} -- finished maps; a map is a pure function of its name

--- A colour map as `n` colours '#rrggbb' from low to high.
---     mc.plot.colours('viridis', 2)[1]  --> #440154
---@param name string one of `names`, optionally with the suffix _r
---@param n? integer 2 or more, default 255
---@return string[]|nil colours
---@return string|nil message when there is no such map
function M.colours(name, n)
  n = n or 255
  local key = name .. '/' .. n
  if tables[key] then return tables[key] end
  local base = name:gsub('_r$', '')
  local points = MAPS[base]
  if not points then
    return nil, fmt("no colour map '%s'; there are %s (with _r: reversed)", name, table.concat(M.names, ', '))
  end
  local lab = {}
  for i, point in ipairs(points) do lab[i] = control(point) end
  local out = {}
  for i = 1, n do
    local t = (i - 1) / (n - 1)
    if base ~= name then t = 1 - t end
    local place = t * (#lab - 1)
    local k = math.min(floor(place), #lab - 2)
    local f, p, q = place - k, lab[k + 1], lab[k + 2]
    out[i] = hex(M.from_oklab(p[1] + f * (q[1] - p[1]), p[2] + f * (q[2] - p[2]), p[3] + f * (q[3] - p[3])))
  end
  tables[key] = out
  return out
end

--- Colours of successive lines.
M.cycle = { '#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7f7f7f' }

local NAMED = {
  black = '#000000', white = '#ffffff', grey = '#7f7f7f', gray = '#7f7f7f', red = '#c62828', blue = '#0072b2',
  orange = '#d55e00', green = '#009e73', pink = '#cc79a7', yellow = '#e69f00', sky = '#56b4e9',
}

--- A colour given as '#rgb', '#rrggbb', a name or a place in the cycle, as '#rrggbb'.
---@param c string|integer
---@return string|nil
function M.parse(c)
  if type(c) == 'number' and c >= 1 and c == floor(c) then return M.cycle[(c - 1) % #M.cycle + 1] end
  if type(c) ~= 'string' then return nil end
  if NAMED[c] then return NAMED[c] end
  if c:match('^#%x%x%x%x%x%x$') then return c:lower() end
  local r, g, b = c:match('^#(%x)(%x)(%x)$')
  if r then return ('#' .. r .. r .. g .. g .. b .. b):lower() end
  return nil
end

--- Components of '#rrggbb' in 0..1.
M.components = parse_hex

return M
