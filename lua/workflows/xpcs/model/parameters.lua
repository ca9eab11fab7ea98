-- parameters.lua - the physical parameters: names, units, defaults, bounds, priors, checks.
--
-- Names what a fit is about; the model's formulas stand in model.lua. Order: diffusion, then shear.
local check = require 'mascon.core.check'
local numbers = require 'workflows.xpcs.model.numbers'
local error = check.error
local M = {}

---@class mascon.xpcs.Parameter
---@field name string
---@field unit string
---@field default number
---@field min number
---@field max number
---@field prior number[] mean and width of a truncated normal
---@field about string
---@field rate? string key of RATES, a rate scale t^power + shift
---@field part? 'scale'|'power'|'shift' what the parameter is of that rate

M.LIST = {
  { name = 'D0', unit = 'A^2/s', default = 1000, min = 100, max = 1e5, prior = { 1000, 1000 },
    rate = 'D', part = 'scale', about = 'diffusion coefficient at 1 s' },
  { name = 'alpha', unit = '', default = 0.5, min = -2, max = 2, prior = { 0.5, 0.5 },
    rate = 'D', part = 'power', about = 'exponent of diffusion' },
  { name = 'D_offset', unit = 'A^2/s', default = 10, min = -1e5, max = 1e5, prior = { 10, 200 },
    rate = 'D', part = 'shift', about = 'constant part of diffusion' },
  { name = 'gamma_dot_t0', unit = '1/s', default = 0.01, min = 1e-6, max = 0.5, prior = { 0.01, 0.1 },
    rate = 'shear_rate', part = 'scale', about = 'shear rate at 1 s' },
  { name = 'beta', unit = '', default = 0.5, min = -2, max = 2, prior = { 0, 0.5 },
    rate = 'shear_rate', part = 'power', about = 'exponent of shear' },
  { name = 'gamma_dot_t_offset', unit = '1/s', default = 0, min = -0.1, max = 0.1, prior = { 0, 0.02 },
    rate = 'shear_rate', part = 'shift', about = 'constant part of the shear rate' },
  { name = 'phi0', unit = 'deg', default = 0, min = -10, max = 10, prior = { 0, 5 }, about = 'angle of the flow' },
}
M.CONTRAST = { name = 'contrast', unit = '', default = 0.5, min = 0, max = 1, prior = { 0.5, 0.25 },
  about = 'speckle contrast' }
M.OFFSET = { name = 'offset', unit = '', default = 1, min = 0.5, max = 1.5, prior = { 1, 0.25 }, about = 'baseline' }

--- Other names under which a parameter is known.
local ALIAS = { gamma_dot_0 = 'gamma_dot_t0', gamma_dot_t_0 = 'gamma_dot_t0', gamma_dot_offset = 'gamma_dot_t_offset',
  gamma_dot_t0_offset = 'gamma_dot_t_offset', phi_0 = 'phi0' }

--- The rates scale t^power + shift: words for them, and of LIST the names of scale, power and shift (names: all three),
--- the place `at` of the first, and its unit.
M.RATES = {
  { key = 'D', symbol = 'D', name = 'D(t)', said = 'D(t)', title = 'diffusion coefficient', of = 'diffusion' },
  { key = 'shear_rate', symbol = 'G', name = 'shear rate', said = 'the shear rate', title = 'shear rate',
    of = 'shear rate' },
}

local BY_NAME = { contrast = M.CONTRAST, offset = M.OFFSET }
for i, p in ipairs(M.LIST) do
  p.place = i
  BY_NAME[p.name] = p
  for _, rate in ipairs(M.RATES) do
    if rate.key == p.rate then
      rate.names = rate.names or {}
      rate[p.part], rate.names[#rate.names + 1] = p.name, p.name
      rate.at, rate.unit = rate.at or i, rate.unit or p.unit
    end
  end
end

--- Names of the physical parameters of a mode.
---@param mode 'static'|'laminar_flow'
function M.names(mode)
  if mode ~= nil and mode ~= 'static' and mode ~= 'laminar_flow' then
    error(('xpcs.parameters.names: mode is %s; choose static or laminar_flow'):format(check.show(mode)), 2)
  end
  local out = {}
  for i = 1, mode == 'static' and 3 or 7 do out[i] = M.LIST[i].name end
  return out
end

--- The parameter of a name; nil for one of a user's own model.
---@param name string
---@return mascon.xpcs.Parameter|nil
function M.known(name) return BY_NAME[name] end

--- The parameter of a name or alias; raises with the nearest name.
---@param fname string for messages
---@param level? integer
---@return mascon.xpcs.Parameter
function M.get(fname, name, level)
  local p = type(name) == 'string' and BY_NAME[ALIAS[name] or name]
  if p then return p end
  local all = {}
  for k in pairs(BY_NAME) do all[#all + 1] = k end
  for k in pairs(ALIAS) do all[#all + 1] = k end
  table.sort(all)
  local near = type(name) == 'string' and check.nearest(name, all)
  error(('%s: there is no parameter %s%s'):format(fname, check.show(name), near and (' (did you mean %s?)'):format(near)
    or '; the names are ' .. table.concat(M.names 'laminar_flow', ', ') .. ', contrast and offset'),
    (level or 2) <= 0 and 0 or (level or 2) + 1)
end

--- Whether a name is that of contrast or offset of one angle or term: contrast_1, offset_mean.
function M.of_angle(name)
  return type(name) == 'string' and (name:find '^contrast_%w' or name:find '^offset_%w') ~= nil
end

--- The name of a parameter, also of that of one angle (contrast_1) or of a Fourier series (offset_mean).
---@param fname string for messages
---@param level? integer
---@return string
function M.key(fname, name, level)
  if M.of_angle(name) then return name end
  local p = M.get(fname, name, level == 0 and -1 or (level or 2) + 1)
  return p.name
end

-- t^50 and its square are finite over all times that are measured
local MOST_EXPONENT = 50
local MOST = 1e15 -- of values with a unit: ten powers of ten above any that was measured

local function text(v) return numbers.number(v, 6) end

--- What physics says about values: lists of errors, warnings and remarks, in words.
---@param values table name = number
---@param seen? boolean the data show a decay, whatever its contrast
---@return { errors: string[], warnings: string[], remarks: string[] }
function M.examine(values, seen)
  local out = { errors = {}, warnings = {}, remarks = {} }
  local function say(list, name, what)
    local p = BY_NAME[name]
    table.insert(out[list], ('%s = %s%s %s'):format(name, text(values[name]), p.unit ~= '' and ' ' .. p.unit or '',
      what))
  end
  local function when(name, test, list, what)
    local v = values[name]
    if v and test(v) then say(list, name, what) end
  end
  when('D0', function(v) return v <= 0 end, 'errors', 'is not positive: diffusion needs D0 > 0')
  for _, name in ipairs { 'alpha', 'beta' } do
    when(name, function(v) return not (math.abs(v) <= MOST_EXPONENT) end, 'errors',
      'is no exponent of time that can be computed: measured ones lie within -2 .. 2')
  end
  for _, name in ipairs { 'D0', 'D_offset', 'gamma_dot_t0', 'gamma_dot_t_offset', 'phi0' } do
    when(name, function(v) return not (math.abs(v) <= MOST) end, 'errors', 'is no value that can be measured')
  end
  when('gamma_dot_t0', function(v) return v < 0 end, 'errors', 'is negative: turn phi0 by 180 deg instead')
  when('contrast', function(v) return v <= 0 or v > 1 end, 'errors', 'is outside (0, 1]')
  when('offset', function(v) return v <= 0 end, 'errors', 'is not positive')
  when('D0', function(v) return v > 1e7 end, 'warnings',
    'is above 1e7: check the unit, which is A^2/s (1 nm^2/s = 100 A^2/s)')
  when('alpha', function(v) return v < -1.5 or v > 1 end, 'warnings',
    'is outside -1.5 .. 1: an unusual kind of diffusion')
  when('D_offset', function(v) return v < 0 end, 'warnings',
    'is negative: check that D0 t^alpha + D_offset stays positive over the measured times')
  when('gamma_dot_t0', function(v) return v > 0.5 end, 'warnings', 'is above 0.5: an unusually fast flow')
  when('beta', function(v) return v < -2 or v > 2 end, 'warnings', 'is outside -2 .. 2')
  when('gamma_dot_t_offset', function(v) return v < -0.1 or v > 0.1 end, 'warnings', 'is outside -0.1 .. 0.1')
  when('contrast', function(v) return v > 0 and v < 0.1 and not seen end, 'warnings',
    'is below 0.1: the decay is hard to tell from noise')
  when('phi0', function(v) return v < -10 or v > 10 end, 'remarks',
    'is outside -10 .. 10: is the sample mounted at an angle?')
  return out
end

return M
