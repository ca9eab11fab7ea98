-- own_layout.lua - a layout of the user's own: where a file of another beamline holds matrices, q, angles and times.
--
-- The matrices are one dataset [n, n] each in a group, or one dataset of all: [matrices, n, n] (their axis may be any),
-- [q, angles, n, n], or a single [n, n]. Makes a row as those of layout.LIST; reads lists, no matrix.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local layout = require 'workflows.xpcs.read.layout'
local times = require 'workflows.xpcs.read.times'
local triangles = require 'workflows.xpcs.data.triangles'
local error = check.error
local M = {}

--- What a layout may say, and what it is where it does not. q, phi and dt: a path, a number or a list of numbers.
M.KEYS = {
  c2 = { nil, 'string' }, q = { nil, 'any' }, phi = { nil, 'any' }, dt = { nil, 'any' }, axis = { nil, 'integer >= 1' },
  triangle = { 'found', triangles.RULES }, near = { false, 'bool' }, q_unit = { '1/A', { '1/A', '1/nm' } },
  phi_unit = { 'deg', { 'deg', 'rad' } },
}

local UNITS = { ['1/A'] = 1, ['1/nm'] = 0.1, deg = 1, rad = 180 / math.pi }

--- Raises for what names no numbers: a path, a number or a list of numbers.
local function source(name, v)
  local fits = v == nil or type(v) == 'string' or type(v) == 'number' or type(v) == 'table' and #v > 0
  for _, x in ipairs(type(v) == 'table' and v or {}) do fits = fits and type(x) == 'number' end
  if not fits then
    error(('xpcs: layout: %s is %s; give the path of a dataset, a number or a list of numbers'):format(name,
      check.show(v)), 5)
  end
end

--- The numbers that a layout names, as a list and a tensor; nil where it names none.
local function numbers_of(file, path, v)
  if v == nil then return nil end
  if type(v) ~= 'string' then v = mc.tensor(type(v) == 'number' and { v } or v)
  else
    if not file:has(v) then error(('xpcs: %s has no %s, which the layout names'):format(path, v), 5) end
    local name = v
    v = file:get(name)
    if type(v) == 'number' then v = mc.tensor { v } end
    layout.real(v, path, name, 5)
  end
  v = v:to 'f64'
  return v:reshape(-1):totable(), v
end

--- Places of the matrices: { name, dataset, at, of: the numbers of its q and angle }, and how many q and angles there
--- are where these are axes.
local function places(file, path, own, warnings)
  local out, c2 = {}, own.c2
  if not file:has(c2) then error(('xpcs: %s has no %s, which the layout names'):format(path, c2), 5) end
  if file:kind_of(c2) == 'group' then
    local names = layout.counted(file:group(c2).names, warnings)
    for k, name in ipairs(names) do out[k] = { name = c2 .. '/' .. name } end
    return out
  end
  local set = file:dataset(c2)
  local shape = set.shape
  set:close()
  if #shape == 2 then return { { name = c2 } } end
  if #shape == 4 and not own.axis then
    for i = 1, shape[1] do
      for k = 1, shape[2] do
        out[#out + 1] = { name = ('%s[%d, %d]'):format(c2, i, k), dataset = c2, at = { i, k }, of = { q = i, phi = k } }
      end
    end
    return out, shape[1], shape[2]
  end
  if #shape ~= 3 or (own.axis or 1) > 3 then
    error(('xpcs: %s:%s is [%s]%s; the matrices are [n, n], [matrices, n, n] (the axis of the matrices may be another '
      .. 'one of the three) or [q, angles, n, n]'):format(path, c2, table.concat(shape, ', '), own.axis
      and (' and axis is %d'):format(own.axis) or ''), 5)
  end
  local axis = own.axis or shape[2] == shape[3] and 1 or shape[1] == shape[2] and 3 or 2
  for k = 1, shape[axis] do
    out[k] = { name = ('%s[%d]'):format(c2, k), dataset = c2, at = { [axis] = k } }
  end
  return out
end

--- The value of each matrix: one for all, one for each, or one for each place along an axis of so many.
local function each(path, what, list, all, along)
  if #list == 1 then return function() return list[1] end end
  if #list == #all then return function(k) return list[k] end end
  if #list == along then return function(k) return list[all[k].of[what]] end end
  error(('xpcs: %s: %s holds %d values for %d matrices; give one, or one per matrix%s'):format(path, what, #list, #all,
    along and (', or %d'):format(along) or ''), 5)
end

--- The row of a layout; raises for what it cannot say.
---@param own table c2: path of the matrices · q (1/A; without it the q of the options) · phi · dt: paths, numbers or
---  lists · axis of the matrices · triangle 'found' · near · q_unit '1/A' · phi_unit 'deg'
---@return table row as those of layout.LIST, with time(file, path, n): step and first time in s, nil without dt
function M.row(own)
  own = check.opts('xpcs.open: layout', own, M.KEYS, 5)
  if not own.c2 then error('xpcs: layout names no matrices; give c2, the path of a dataset or of a group', 5) end
  if own.phi == nil then error('xpcs: layout names no angles; give phi, a path or a number (degrees)', 5) end
  for _, name in ipairs { 'q', 'phi', 'dt' } do source(name, own[name]) end
  local row = { name = 'own', triangle = own.triangle, near = own.near, dt = own.dt }
  function row.entries(file, path, warnings, asked)
    local all, n_q, n_phi = places(file, path, own, warnings)
    if #all == 0 then error(('xpcs: %s holds no matrix in %s'):format(path, own.c2), 5) end
    if own.q == nil and not asked then
      error('xpcs: q is missing: the layout names none; give it in 1/A (--q)', 5)
    end
    local q = own.q ~= nil and each(path, 'q', (numbers_of(file, path, own.q)), all, n_q)
    local phi = each(path, 'phi', (numbers_of(file, path, own.phi)), all, n_phi)
    for k, e in ipairs(all) do
      e.k, e.q, e.phi = k, q and q(k) * UNITS[own.q_unit] or asked, phi(k) * UNITS[own.phi_unit]
    end
    return all
  end
  function row.time(file, path, n)
    local list, t = numbers_of(file, path, own.dt)
    if not list or #list == 1 then return list and list[1], 0 end
    local step
    t, step = times.grid(path, t, n)
    return step, t[1]:item()
  end
  return row
end

return M
