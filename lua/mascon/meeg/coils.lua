-- coils.lua - what a MEG sensor measures: points in space with directions and weights.
--
-- Holds the geometry of the coils of known systems at the accuracy that field mapping uses: a coil is replaced by a few
-- points, so that the weighted sum of the field along their directions is the signal, T for magnetometers and axial
-- gradiometers, T/m for planar ones. In the frame of a coil x and y lie in its plane and z is its normal; distances are
-- in metres. Source: sizes and baselines of Neuromag-122, VectorView (Elekta, MEGIN), Magnes (4D), CTF, KIT, BabyMEG,
-- KRISS, Artemis, Compumedics and optically pumped sensors as their makers state them, numbered as in FIF files.
local M = {}

--- Four points of a square coil at (+-q, +-q), which integrate polynomials of degree 3 over it when q is a quarter of
--- the side.
local function square(q, z, w, qy, x)
  x, qy = x or 0, qy or q
  return { { x + q, qy, z, w / 4 }, { x - q, qy, z, w / 4 }, { x - q, -qy, z, w / 4 }, { x + q, -qy, z, w / 4 } }
end

local function joined(...)
  local out = {}
  for _, list in ipairs { ... } do
    for _, p in ipairs(list) do out[#out + 1] = p end
  end
  return out
end

--- Two equal coils wound against each other, `base` apart along the normal.
local function axial(q, base) return joined(square(q, 0, 1), square(q, base, -1)) end

--- Two equal coils side by side, centres at +-x.
local function beside(qx, qy, x) return joined(square(qx, 0, 1, qy, x), square(qx, 0, -1, qy, -x)) end

--- A planar gradiometer: the difference of two pairs of points at +-x over their distance.
local function planar(x, y, z)
  local w = 1 / (4 * x)
  return { { x, y, z, w }, { x, -y, z, w }, { -x, y, z, -w }, { -x, -y, z, -w } }
end

--- Points in a row along x, every half millimetre: a cell of vapour through which a beam passes.
local function row()
  local out = {}
  for k = 1, 6 do out[k] = { -1.25e-3 + (k - 1) * 0.5e-3, 0, 0, 1 / 6 } end
  return out
end

--- Centre and corners of a cube.
local function cube(h)
  local out = { { 0, 0, 0, 1 / 9 } }
  for _, z in ipairs { -h, h } do
    for _, y in ipairs { -h, h } do
      for _, x in ipairs { -h, h } do out[#out + 1] = { x, y, z, 1 / 9 } end
    end
  end
  return out
end

local POINT = { { 0, 0, 0, 1 } }
local VECTORVIEW = planar(8.4e-3, 6.713e-3, 0.3e-3)

-- by the number of the coil in FIF files
local COILS = {
  [2] = { { 8.1e-3, 0, 0, 1 / 16.2e-3 }, { -8.1e-3, 0, 0, -1 / 16.2e-3 } }, [2000] = POINT,
  [3012] = VECTORVIEW, [3013] = VECTORVIEW, [3014] = VECTORVIEW, [3015] = VECTORVIEW,
  [3022] = square(6.45e-3, 0.3e-3, 1), [3023] = square(6.45e-3, 0.3e-3, 1), [3024] = square(5.25e-3, 0.3e-3, 1),
  [3025] = square(7e-3, 0.3e-3, 1), [4001] = square(5.75e-3, 0, 1), [4002] = axial(4.5e-3, 50e-3),
  [4003] = square(7.5e-3, 0, 1), [4004] = axial(20e-3, 135e-3), [4005] = beside(20e-3, 20e-3, 67.5e-3),
  [5001] = axial(4.5e-3, 50e-3), [5002] = square(4e-3, 0, 1), [5003] = axial(8.6e-3, 78.6e-3),
  [5004] = beside(8.5e-3, 8.5e-3, 39.3e-3), [6001] = axial(3.875e-3, 50e-3), [6002] = square(3.875e-3, 0, 1),
  [7001] = { { 0, 0, 0, 1 }, { 0, 0, 50e-3, -1 } }, [7002] = square(2.5e-3, 0, 1), [7003] = square(5e-3, 0, 1),
  [7004] = square(5e-3, 0, 1),
  [7501] = axial(3.715e-3, 57.4e-3), [7502] = square(3.712e-3, 0, 1), [7503] = axial(3.715e-3, 30e-3),
  [8001] = row(), [8002] = row(), [8101] = row(), [8201] = cube(0.5e-3),
  [9001] = axial(5e-3, 50e-3), [9101] = axial(5.125e-3, 50e-3),
  [9102] = joined(square(4.15e-3, 0, 0.5), square(4.15e-3, 1.5e-3, 0.5), square(4.15e-3, 47e-3, -0.5),
    square(4.15e-3, 48.5e-3, -0.5)),
}

--- Points of a coil as a list of { x, y, z, weight } in its own frame; nil for a coil that is not known.
---@param number integer of the coil in FIF files; the upper half of 32 bits is another matter
---@return table[]|nil
---     #mc.meeg.coils.points(3012)  --> 4
function M.points(number) return COILS[number % 65536] end

return M
