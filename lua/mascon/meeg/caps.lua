-- caps.lua - places of the electrode caps of BioSemi, as the maker states them: angles on a sphere.
--
-- Holds the tables. An electrode stands at an inclination from the vertex (degrees, negative on the left) and an
-- azimuth from the right ear towards the nasion (degrees, seen from its own side). The caps of 16, 32 and 64 are named
-- by the 10-20 system; the places of a name are the same on all three, whole degrees. Those of 128, 160 and 256 are
-- named by plug and pin (A1 .. A32, B1 ..) and lie on rings about the vertex; nasion and ears stand at 115 degrees.
-- Source: BioSemi, cap coordinates of the ActiveTwo caps.
local M = {}

-- left side and midline; the right side mirrors the left
local NAMED = [[
  Fp1 -92 -72; AF7 -92 -54; AF3 -74 -65; F1 -50 -68; F3 -60 -51; F5 -75 -41; F7 -92 -36; FT7 -92 -18; FC5 -72 -21;
  FC3 -50 -28; FC1 -32 -45; C1 -23 0; C3 -46 0; C5 -69 0; T7 -92 0; TP7 -92 18; CP5 -72 21; CP3 -50 28; CP1 -32 45;
  P1 -50 68; P3 -60 51; P5 -75 41; P7 -92 36; P9 -115 36; PO7 -92 54; PO3 -74 65; O1 -92 72; Iz 115 -90; Oz 92 -90;
  POz 69 -90; Pz 46 -90; CPz 23 -90; Fpz 92 90; AFz 69 90; Fz 46 90; FCz 23 90; Cz 0 0;
]]

local ORDER = {
  biosemi16 = [[
    Fp1 Fp2 F4 Fz F3 T7 C3 Cz C4 T8 P4 Pz P3 O1 Oz O2
  ]],
  biosemi32 = [[
    Fp1 AF3 F7 F3 FC1 FC5 T7 C3 CP1 CP5 P7 P3 Pz PO3 O1 Oz O2 PO4 P4 P8 CP6 CP2 C4 T8 FC6 FC2 F4 F8 AF4 Fp2 Fz Cz
  ]],
  biosemi64 = [[
    Fp1 AF7 AF3 F1 F3 F5 F7 FT7 FC5 FC3 FC1 C1 C3 C5 T7 TP7 CP5 CP3 CP1 P1 P3 P5 P7 P9 PO7 PO3 O1 Iz Oz POz Pz CPz Fpz
    Fp2 AF8 AF4 AFz Fz F2 F4 F6 F8 FT8 FC6 FC4 FC2 FCz Cz C2 C4 C6 T8 TP8 CP6 CP4 CP2 P2 P4 P6 P8 P10 PO8 PO4 O2
  ]],
}

-- plug by plug, 32 pins each: ring, counted from the vertex (negative on the left), and azimuth
local RINGS = {
  biosemi128 = { step = 11.5, pins = [[
    0 0; 1 -90; 2 -90; 3 -90; -4 67.5; -4 45; -5 45; -6 54; -7 54; -8 54; -9 54; -10 54; -10 72; -9 72; -8 72; -7 72;
    -6 72; -5 67.5; 4 -90; 5 -90; 6 -90; 7 -90; 8 -90; 9 -90; 10 -90; 10 -72; 9 -72; 8 -72; 7 -72; 6 -72; 5 -67.5;
    4 -67.5; 1 -18; 2 -45; 4 -45; 5 -45; 6 -54; 7 -54; 8 -54; 9 -54; 10 -54; 9 -36; 8 -36; 7 -36; 6 -36; 8 -18; 7 -18;
    6 -18; 5 -22.5; 4 -22.5; 3 -30; 2 0; 3 0; 4 0; 5 0; 6 0; 7 0; 8 0; 8 18; 7 18; 6 18; 5 22.5; 4 22.5; 3 30;
    1 54; 2 45; 4 45; 5 45; 6 36; 7 36; 8 36; 8 54; 7 54; 6 54; 3 60; 4 67.5; 5 67.5; 6 72; 7 72; 8 72; 8 90; 7 90;
    6 90; 5 90; 4 90; 3 90; 2 90; -3 -60; -4 -67.5; -5 -67.5; -6 -72; -7 -72; -8 -72; -8 -54; -7 -54; -6 -54;
    -1 -54; -2 -45; -4 -45; -5 -45; -6 -36; -7 -36; -8 -36; -8 -18; -7 -18; -6 -18; -5 -22.5; -4 -22.5; -3 -30; -2 0;
    -1 18; -2 45; -3 30; -3 0; -4 0; -5 0; -6 0; -7 0; -8 0; -8 18; -7 18; -6 18; -5 22.5; -4 22.5; -6 36; -7 36; -8 36;
    -9 36;
  ]] },
  biosemi160 = { step = 11.5, pins = [[
    0 0; 1 -90; 2 -90; 3 -90; -4 72; -4 54; -5 54; -6 60; -7 60; -8 60; -9 60; -10 60; -10 75; -9 75; -8 75; -7 75;
    -6 75; -5 72; 4 -90; 5 -90; 6 -90; 7 -90; 8 -90; 9 -90; 10 -90; 10 -75; 9 -75; 8 -75; 7 -75; 6 -75; 5 -72; 4 -72;
    1 -18; 2 -60; 4 -54; 5 -54; 6 -60; 7 -60; 8 -60; 9 -60; 10 -60; 10 -45; 9 -45; 8 -45; 7 -45; 6 -45; 6 -30; 7 -30;
    8 -30; 9 -30; 8 -15; 7 -15; 6 -15; 5 -36; 4 -36; 3 -45; 2 -30; 3 -22.5; 4 -18; 5 -18; 5 0; 6 0; 7 0; 8 0;
    1 54; 2 30; 2 0; 3 0; 3 22.5; 4 18; 4 0; 5 18; 6 15; 7 15; 8 15; 8 30; 7 30; 6 30; 6 45; 7 45; 8 45; 8 60; 7 60;
    6 60; 5 54; 5 36; 4 36; 3 45; 2 60; 3 67.5; 4 54; 4 72; 5 72; 6 75; 7 75; 8 75;
    -1 -54; 2 90; 3 90; 4 90; 5 90; 6 90; 7 90; 8 90; -8 -75; -7 -75; -6 -75; -5 -72; -4 -72; -3 -67.5; -2 -60; -2 -30;
    -3 -45; -4 -54; -5 -54; -6 -60; -7 -60; -8 -60; -8 -45; -7 -45; -6 -45; -5 -36; -4 -36; -3 -22.5; -4 -18; -6 -30;
    -7 -30; -8 -30; -1 18; -2 0; -3 0; -4 0; -5 -18; -6 -15; -7 -15; -8 -15; -8 0; -7 0; -6 0; -5 0; -5 18; -6 15;
    -7 15; -8 15; -9 30; -8 30; -7 30; -6 30; -4 18; -3 22.5; -2 30; -2 60; -3 45; -4 36; -5 36; -6 45; -7 45; -8 45;
    -9 45; -10 45;
  ]] },
  biosemi256 = { step = 9.2, pins = [[
    0 0; 1 -90; 2 -90; 3 -90; 4 -90; 5 -90; -5 75; -6 75; -7 78; -8 78; -9 78.75; -10 78.75; -11 78.75; -12 78; -13 78;
    13 -90; 12 -90; 11 -90; 10 -90; 9 -90; 8 -90; 7 -90; 6 -90; 5 -75; 6 -75; 7 -78; 8 -78; 9 -78.75; 10 -78.75;
    11 -78.75; 12 -78; 13 -78; 2 -54; 3 -66; 4 -54; 5 -60; 6 -60; 7 -66; 8 -66; 9 -67.5; 10 -67.5; 11 -67.5; 12 -66;
    13 -66; 12 -54; 11 -56.25; 10 -56.25; 9 -56.25; 8 -54; 7 -54; 6 -45; 5 -45; 3 -42; 4 -36; 5 -30; 6 -30; 7 -42;
    8 -42; 9 -45; 10 -45; 11 -45; 12 -42; 12 -30; 11 -33.75; 1 -18; 2 -18; 3 -18; 4 -18; 5 -15; 6 -15; 7 -18; 7 -30;
    8 -30; 9 -33.75; 10 -33.75; 11 -22.5; 10 -22.5; 9 -22.5; 8 -18; 9 -11.25; 10 -11.25; 10 0; 9 0; 8 -6; 7 -6; 6 0;
    5 0; 4 0; 3 6; 4 18; 5 15; 6 15; 7 6; 8 6; 9 11.25; 10 11.25;
    1 54; 2 18; 3 30; 4 36; 5 30; 7 18; 8 18; 9 22.5; 10 22.5; 11 22.5; 11 33.75; 10 33.75; 9 33.75; 8 30; 7 30; 6 30;
    5 45; 6 45; 7 42; 8 42; 9 45; 10 45; 11 45; 10 56.25; 9 56.25; 8 54; 7 54; 6 60; 7 66; 8 66; 9 67.5; 10 67.5;
    2 90; 2 54; 3 54; 4 54; 5 60; 5 75; 6 75; 7 78; 8 78; 9 78.75; 10 78.75; 10 90; 9 90; 8 90; 7 90; 6 90; 5 90; 4 90;
    4 72; 3 78; -3 -78; -4 -72; -5 -75; -6 -75; -7 -78; -8 -78; -9 -78.75; -10 -78.75; -10 -67.5; -9 -67.5; -8 -66;
    -7 -66; -1 -54; -2 -54; -3 -54; -4 -54; -5 -60; -6 -60; -7 -54; -8 -54; -9 -56.25; -10 -56.25; -11 -45; -10 -45;
    -9 -45; -8 -42; -7 -42; -6 -45; -5 -45; -4 -36; -3 -30; -2 -18; -3 -6; -4 -18; -5 -30; -6 -30; -7 -30; -8 -30;
    -9 -33.75; -10 -33.75; -11 -33.75; -11 -22.5; -10 -22.5; -9 -22.5;
    -1 18; -2 18; -3 18; -4 0; -5 -15; -6 -15; -7 -18; -8 -18; -9 -11.25; -10 -11.25; -10 0; -9 0; -8 -6; -7 -6; -6 0;
    -5 0; -6 15; -7 6; -8 6; -9 11.25; -10 11.25; -11 22.5; -10 22.5; -9 22.5; -8 18; -7 18; -7 30; -8 30; -9 33.75;
    -10 33.75; -11 33.75; -12 30; -2 54; -3 42; -4 36; -4 18; -5 15; -5 30; -6 30; -7 42; -8 42; -9 45; -10 45; -11 45;
    -12 42; -12 54; -11 56.25; -10 56.25; -9 56.25; -8 54; -7 54; -6 45; -5 45; -4 54; -3 66; -5 60; -6 60; -7 66;
    -8 66; -9 67.5; -10 67.5; -11 67.5; -12 66; -13 66;
  ]] },
}

local rad, sin, cos = math.rad, math.sin, math.cos

local function place(theta, phi)
  local t, p = rad(theta), rad(phi)
  return { sin(t) * cos(p), sin(t) * sin(p), cos(t) }
end

--- Inclination of nasion and ears from the vertex, degrees.
M.LANDMARKS = 115

--- Names of the caps, smallest first.
M.NAMES = { 'biosemi16', 'biosemi32', 'biosemi64', 'biosemi128', 'biosemi160', 'biosemi256' }

--- Places of a cap as unit vectors: x to the right ear, y to the nasion, z to the vertex.
---@param cap string
---@return string[]|nil names in the order of the plugs; nil when there is no such cap
---@return table|nil name = { x, y, z }
function M.places(cap)
  local names, at = {}, {}
  if ORDER[cap] then
    local all = {}
    for letters, number, theta, phi in NAMED:gmatch '(%a+)(%d*) (%S+) ([^;%s]+)' do
      all[letters .. number] = place(theta, phi)
      if number ~= '' then all[letters .. number + 1] = place(-theta, -phi) end
    end
    for name in ORDER[cap]:gmatch '%S+' do
      names[#names + 1] = name
      at[name] = all[name]
    end
    return names, at
  end
  local rings = RINGS[cap]
  if not rings then return nil end
  for ring, phi in rings.pins:gmatch '(%-?%d+) (%-?[%d.]+)' do
    local k = #names
    local name = string.char(65 + math.floor(k / 32)) .. (k % 32 + 1)
    names[k + 1] = name
    at[name] = place(ring * rings.step, phi)
  end
  return names, at
end

return M
