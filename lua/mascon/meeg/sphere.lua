-- sphere.lua - sensor positions as points of a sphere.
--
-- Decides what every interpolator needs of positions: that they are valid at all, unit vectors about a centre, the
-- sphere that fits them best.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

-- what counts as nowhere, in metres: below it no sensor of any head lies apart from another
local NOWHERE = 1e-8

--- Positions as an f64 tensor, or an error that counts what is wrong with them.
---
--- A recording whose positions were never set has them all at the origin or NaN; an interpolation from them would be
--- noise. One sensor at the origin is let pass, since some recordings keep their reference there.
---@param fname string public name, for messages
---@param pos any f32|f64 [C, 3] m, or a table
---@param names? string[] C names, for messages
---@return mc.tensor f64 [C, 3]
--- Errors: a shape that is not [C, 3]; NaN or infinity; all positions within 1e-8 m of the origin; more than one
--- exactly at it.
---     mc.meeg.sphere.check('x', { { 0, 0, 1 }, { 0, 1, 0 } }).shape[1]  --> 2
function M.check(fname, pos, names)
  if type(fname) ~= 'string' then
    error(('meeg.sphere.check: the name for messages is %s; give a text'):format(check.show(fname)), 2)
  end
  if type(pos) == 'table' then pos = mc.tensor(pos, { dtype = 'f64' }) end
  if not tensor.is(pos) or pos.ndim ~= 2 or pos.shape[2] ~= 3 or pos.shape[1] == 0 then
    error(('%s: positions are %s; give x, y, z in metres for each channel, [C, 3]'):format(fname,
      tensor.is(pos) and tensor.describe(pos) or check.show(pos)), 3)
  end
  pos = tensor.hosted(pos)
  local p = pos:to 'f64'
  local C = p.shape[1]
  local strange, zero = {}, 0
  local rows = p:totable()
  for c = 1, C do
    local r = rows[c]
    local s = r[1] + r[2] + r[3]
    if s - s ~= 0 then strange[#strange + 1] = names and names[c] or ('%d'):format(c) end
    if r[1] == 0 and r[2] == 0 and r[3] == 0 then zero = zero + 1 end
  end
  if #strange > 0 then
    local shown = {}
    for i = 1, math.min(5, #strange) do shown[i] = strange[i] end
    error(('%s: valid positions needed, %d of %d are NaN or infinite (%s%s); set a montage, or leave interpolation off')
      :format(fname, #strange, C, table.concat(shown, ', '), #strange > 5 and ', ...' or ''), 3)
  end
  if mc.max(mc.abs(p)):item() <= NOWHERE then
    error(('%s: valid positions needed, all %d lie at the origin; set a montage, or leave interpolation off'):format(
      fname, C), 3)
  end
  if zero > 1 then
    error(('%s: %d of %d positions are exactly zero; at most one may be: set a montage that knows these channels, or '
      .. 'leave them out'):format(fname, zero, C), 3)
  end
  return p
end

--- The sphere that fits points best: least squares of |p|^2 = 2 p . c + k, radius sqrt(|c|^2 + k).
---@param pos any f32|f64 [C, 3] m, C >= 4
---@return table { centre = { x, y, z } m, radius = m, error = |1 - mean(|p - c| / radius)| }; an error above 0.1 makes
---  interpolation doubtful
--- Errors: fewer than 4 points; invalid positions. Source: algebraic sphere fit, Coope, Circle fitting by linear and
--- nonlinear least squares, 1993.
---     mc.meeg.sphere.fit({ { 3, 1, 1 }, { -1, 1, 1 }, { 1, 3, 1 }, { 1, 1, 3 } }).radius  --> 2
function M.fit(pos)
  local p = M.check('meeg.sphere.fit', pos)
  local C = p.shape[1]
  if C < 4 then error(('meeg.sphere.fit: %d positions do not determine a sphere; give 4 or more'):format(C), 2) end
  local A = mc.concat({ 2 * p, mc.ones { C, 1 } }, 2)
  local s = mc.linalg.lstsq(A, mc.sum(p * p, 2)).x:totable()
  local centre = { s[1], s[2], s[3] }
  local radius = math.sqrt(s[1] ^ 2 + s[2] ^ 2 + s[3] ^ 2 + s[4])
  local d = p - mc.tensor(centre)
  local ratio = mc.mean(mc.sqrt(mc.sum(d * d, 2))):item() / radius
  return { centre = centre, radius = radius, error = math.abs(1 - ratio) }
end

--- Unit vectors from a centre to points already checked, and the centre; a point at the centre stays zero.
---@param pos any f64 [C, 3] m
---@param centre? string|table 'none' (default, the origin), 'fit' (that of M.fit) or { x, y, z } m
---@return any f64 [C, 3]
---@return table|nil centre used, { x, y, z } m
--- Errors: a centre of another form.
---     mc.meeg.sphere.units(mc.tensor{ { 0, 0, 2 } })  --> f64[1,3]@cpu { { 0, 0, 1 } }, nil
function M.units(pos, centre)
  local c
  if centre == 'fit' then c = M.fit(pos).centre
  elseif type(centre) == 'table' then
    c = centre
    if #c ~= 3 then
      error('meeg.sphere.units: the centre is a table of ' .. #c .. ' numbers; give { x, y, z } in metres', 2)
    end
  elseif centre and centre ~= 'none' then
    error(("meeg.sphere.units: the centre is %s; choose 'none', 'fit' or { x, y, z } in metres"):format(
      check.show(centre)), 2)
  end
  if c then pos = pos - mc.tensor(c) end
  local length = mc.sqrt(mc.sum(pos * pos, { 2, keepdim = true }))
  return pos / mc.where(mc.eq(length, 0), 1, length), c
end

return M
