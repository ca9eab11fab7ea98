-- scalp.lua - sensors and their values as a flat map of the head.
--
-- Holds the projection of positions to a disc and the values between sensors; the drawing is mc.plot's. The projection
-- keeps angles from the vertex: a sensor lies at its inclination over 95 degrees from the middle, so that the rim of
-- the head (radius 1) is a little below the ring of Fpz, T7, Oz and T8.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local montage = require 'mascon.meeg.montage'
local sphere = require 'mascon.meeg.sphere'
local spline = require 'mascon.meeg.spline'
local error = check.error
local M = {}

local RIM = math.rad(95)
-- sensors between whose values a point of a clamped map lies
local AROUND = 4
local GRID = 81 -- points of a side
local PICTURE = 1e-7 -- a map shows what was measured, where repair smooths with 1e-5

--- Centre to look from: that of the sphere the sensors lie on; the origin where they do not determine one of a head's
--- size.
local function centre_of(pos)
  if pos.shape[1] < 4 then return 'none' end
  local s = sphere.fit(pos)
  return s.error < 0.1 and s.radius > 0.04 and s.radius < 0.25 and s.centre or 'none'
end

local function flattened(u)
  local x, y = u[{ mc.all, 1 }], u[{ mc.all, 2 }]
  local across = mc.sqrt(x * x + y * y)
  local r = mc.atan2(across, u[{ mc.all, 3 }]) / RIM / mc.where(mc.eq(across, 0), 1, across)
  return mc.stack({ x * r, y * r }, 2)
end

--- Places of sensors on the map: x to the right ear, y to the nose, the rim of the head at radius 1.
---@param pos any f64 [C, 3] m, head frame
---@return any f64 [C, 2]
--- Errors: invalid positions. An azimuthal projection that keeps distances from the vertex.
---     mc.meeg.scalp.project({ { 0, 0, 1 }, { 0, 0.1, 0 } })
---       --> f64[2,2]@cpu { { 0.0000, 0.0000 }, { 0.0000, 0.9474 } }
function M.project(pos)
  local p = sphere.check('meeg.scalp.project', pos)
  return (flattened((sphere.units(p, centre_of(p)))))
end

--- Values between sensors on a square grid, by spherical splines; what lies outside the disc takes the value of its
--- rim.
---@param pos any f64 [C, 3] m
---@param values any f64 [C]
---@param extent number half side of the square
---@param radius number of the disc
---@param clamp boolean whether values stay between those of the sensors around
---@return any f64 [81, 81], rows from the back of the head to the front
local function grid(pos, values, extent, radius, clamp)
  local n = GRID
  local line = mc.linspace(-extent, extent, n)
  local x = mc.broadcast_to(line:reshape(1, n), { n, n }):reshape(n * n)
  local y = mc.broadcast_to(line:reshape(n, 1), { n, n }):reshape(n * n)
  local r = mc.sqrt(x * x + y * y)
  local a = mc.minimum(r, radius) * RIM
  local s = mc.sin(a) / mc.where(mc.eq(r, 0), 1, r)
  local points = mc.stack({ x * s, y * s, mc.cos(a) }, 2)
  local from = sphere.units(pos, centre_of(pos))
  local W = spline.weights(from, points, { alpha = PICTURE })
  local z = mc.matmul(W, values:reshape(-1, 1)):reshape(n, n)
  if clamp then -- between the sensors around, not only between the extremes of the head
    local near = math.min(AROUND, from.shape[1])
    local closest = mc.argsort(mc.matmul(points, from.T), { descending = true })['..., 1:' .. near]
    local around = mc.take(values, closest:reshape(-1), 1):reshape(n * n, near)
    z = mc.minimum(mc.maximum(z:reshape(-1), mc.min(around, 2)), mc.max(around, 2)):reshape(n, n)
  end
  return z
end

local DRAW = {
  names = { nil, 'table | string' }, marked = { nil, 'table' }, clamp = { false, 'bool' }, picks = { nil, 'table' },
  title = { nil, 'string' }, label = { nil, 'string' }, cmap = { nil, 'string' }, vmin = { nil, 'number' }, vmax = {
    nil, 'number' }, center = { nil, 'number' }, colorbar = { nil, 'bool' }, contour_levels = { nil, 'number | table' },
}

--- Draws values of channels on a panel as a map of the scalp.
---@param axes table of mc.plot (fig:axes(i, j))
---@param channels table[] tables of channels with positions
---@param values any f64 [C], one for each channel (of picks)
---@param opts? table picks (places of channels, all); names: 'all', 'marked' or a list, shown beside sensors (none);
---  marked: bool list of sensors that stand out; clamp (false): no value beyond those of the sensors around; title,
---  label, cmap, vmin, vmax, center, colorbar, contour_levels as mc.plot.scalp
---@return table axes
--- Errors: positions as mc.meeg.montage.positions; another number of values than channels; fewer than 2 channels.
function M.draw(axes, channels, values, opts)
  local fname = 'meeg.scalp.draw'
  local o = check.opts(fname, opts, DRAW)
  local pos = montage.positions(channels, o.picks, fname)
  local C = pos.shape[1]
  if type(values) == 'table' then values = mc.tensor(values, { dtype = 'f64' }) end
  if values:numel() ~= C then
    error(('%s: %d values for %d channels; give one each'):format(fname, values:numel(), C), 2)
  end
  if C < 2 then error(fname .. ': a map of one channel shows nothing; give 2 or more', 2) end
  values = values:to('f64'):reshape(C)
  local flat = M.project(pos)
  local radius = math.min(1.35, math.max(1, 1.03 * mc.max(mc.sqrt(mc.sum(flat * flat, 2))):item()))
  local names
  if o.names then
    names = {}
    for k = 1, C do
      local name = type(o.names) == 'table' and o.names[k] or channels[o.picks and o.picks[k] or k].name
      names[k] = (o.names ~= 'marked' or o.marked and o.marked[k]) and name or ''
    end
  end
  -- a map of one value has no colours to speak of
  local same = mc.max(values):item() == mc.min(values):item()
  local z = same and mc.full({ GRID, GRID }, values[1]:item()) or grid(pos, values, radius, radius, o.clamp)
  return axes:scalp(z, {
    extent = radius, radius = radius, sensors = flat, names = names, marked = o.marked, title = o.title,
    label = o.label, cmap = o.cmap, vmin = o.vmin, vmax = o.vmax,
    center = o.center, colorbar = o.colorbar, contour_levels = same and 0 or o.contour_levels,
  })
end

return M
