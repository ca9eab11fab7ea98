-- truth.lua - the true values of a simulation: kept in its file, shown beside the values of a fit.
--
-- simulate writes them as arrays true_NAME of the .npz. A fit of the whole file compares; where the clock, the gap or
-- the step of time is another one, true values do not hold and a note says so.
local mc = require 'mascon'
local numbers = require 'workflows.xpcs.model.numbers'
local parameters = require 'workflows.xpcs.model.parameters'
local M = {}

local PREFIX = 'true_'

--- Arrays of the .npz, for a simulation of generate.simulate.
---@param sim table
---@return table<string, mc.tensor>
function M.arrays(sim)
  local out = { [PREFIX .. 'contrast'] = mc.tensor(sim.contrast), [PREFIX .. 'offset'] = mc.tensor(sim.offset),
    [PREFIX .. 'sigma'] = mc.tensor(sim.sigma or 0) }
  for k, v in ipairs(sim.physics) do out[PREFIX .. parameters.LIST[k].name] = mc.tensor(v) end
  if #sim.physics > 3 then out[PREFIX .. 'gap'] = mc.tensor(sim.gap) end
  return out
end

--- Lines of the true values for a terminal.
---@param sim table
---@return string
function M.text(sim)
  local rows = {}
  local function row(p, v) rows[#rows + 1] = { p.name, p.unit, numbers.number(v, 7) } end
  row(parameters.CONTRAST, sim.contrast)
  row(parameters.OFFSET, sim.offset)
  for k, v in ipairs(sim.physics) do row(parameters.LIST[k], v) end
  rows[#rows + 1] = { 'sigma', '', numbers.number(sim.sigma or 0, 7) }
  return require('mascon.base.text').table(rows, { header = { 'parameter', 'unit', 'true value' } })
end

--- The true values that a file holds, by name; nil where it holds none.
---@param archive table of mc.open: names, get
---@return table<string, number>|nil
function M.read(archive)
  local out
  for _, key in ipairs(archive.names) do
    local name = key:match('^' .. PREFIX .. '(.+)$')
    local x = name and archive:get(name and key)
    if mc.is_tensor(x) and x:numel() == 1 then x = x:to('f64'):reshape(-1)[1]:item() end
    if type(x) == 'number' and x - x == 0 then
      out = out or {}
      out[name] = x
    end
  end
  return out
end

--- The true values that hold for data that were read with these settings; says what does not hold.
---@param truth table|nil of read
---@param o table first (frame), dt (of the file), wanted (dt that is used), gap
---@param warnings string[]
---@return table|nil
function M.of(truth, o, warnings)
  if not truth then return nil end
  local why
  if o.first > 1 then why = 'the clock starts again at the first frame that is kept'
  elseif math.abs(o.wanted - o.dt) > 1e-6 * o.dt then why = 'the time between frames is another one'
  elseif truth.gap and math.abs(o.gap - truth.gap) > 1e-9 * truth.gap then
    why = ('it was simulated for a gap of %s A, and %s A is used'):format(numbers.number(truth.gap, 6),
      numbers.number(o.gap, 6))
  end
  if not why then return truth end
  table.insert(warnings, 'the file is a simulation; its true values are not shown beside those of the fit, because '
    .. why)
end

--- The true value of a parameter in one data set.
local function of_set(r, name)
  local data = r.problem and r.problem.data or r.data
  local truth = data and data.truth
  if not truth then return nil end
  local base, term = name:match '^(contrast)_?(.*)$'
  if not base then base, term = name:match '^(offset)_?(.*)$' end
  local v
  if not base then v = truth[name]
  elseif term:find '^cos' or term:find '^sin' then v = 0
  else v = truth[base] end
  local p = parameters.known(name)
  if v and r.geometry.convention == 'qL/2' and p and p.rate == 'shear_rate' and p.part ~= 'power' then
    v = v / math.pi
  end
  return v
end

--- The true value of a parameter of a result, and how many standard errors the fitted one lies above it. Of a joint
--- fit: where all sets of the parameter agree on it.
---@param r table result of a fit
---@param q table one of r.parameters
---@return number|nil truth, number|nil pull
function M.beside(r, q)
  local v
  if r.fits then
    local own = q.name:gsub('%[set %d+%]$', '')
    for _, i in ipairs(q.sets) do
      local one = of_set(r.fits[i], own)
      if one == nil or v and one ~= v then return nil end
      v = one
    end
  else v = of_set(r, q.name) end
  if v == nil then return nil end
  local e = q.state == 'free' and q.error
  return v, e and e > 0 and e < math.huge and (q.value - v) / e or nil
end

return M
