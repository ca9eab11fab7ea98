-- parameters.lua - what an operator may be built from: each name of the parameter space with its kind, default, range.
--
-- A space is checked as a whole before any work: the ends of its bounds and all its choices, so that no row of it ends
-- a run. Source: specification of rollouts, 1.3, 1.6 and 2.1 to 2.5.
local check = require 'mascon.core.check'
local leaves = require 'workflows.rollout.leaf'
local networks = require 'workflows.rollout.networks'
local policies = require 'workflows.rollout.policies'
local error = check.error
local int, num, one = leaves.int, leaves.num, leaves.one
local M = {}

local SIZE = 2 ^ 16
local NORM = one('instance', 'instance', 'group', 'layer', 'batch', 'none')
local PADDING = one(nil, 'zeros', 'circular')
local GROUPS = int(nil, 1, 2 ^ 20)
local PERIOD = num(100, { above = 0 })

-- sections in the order of their coordinates, names in the order of messages
local SECTIONS = {
  { 'architecture', { { 'num_layers', int(4, 1, 256) }, { 'base_channels', int(32, 1, SIZE) },
    { 'kernel_size', leaves.odd(3, 1, 255) },
    { 'activation', one('gelu', 'relu', 'gelu', 'silu', 'swish', 'tanh', 'none') },
    { 'dropout_rate', num(0, { low = 0, high = 1 }) }, { 'padding_mode', PADDING }, { 'num_groups', GROUPS },
    { 'normalization', NORM } } },
  { 'stochastic', { { 'noise_type', one('gaussian', 'gaussian', 'multiplicative', 'laplace', 'dropout', 'none') },
    { 'noise_scale', num(0, { low = 0 }) },
    { 'noise_schedule', one('constant', 'constant', 'annealing', 'periodic') },
    { 'spatial_correlation', num(0, { low = 0 }) }, { 'period', PERIOD }, { 'schedule_period', PERIOD } } },
  { 'operator', { { 'normalization', NORM }, { 'grid_size', int(64, 4, SIZE) }, { 'num_groups', GROUPS },
    { 'padding_mode', PADDING } } },
  { 'evolution', { { 'update_policy', one(policies.DEFAULT, unpack(policies.names())) },
    { 'alpha', num(nil, { low = 0, below = 1 }) }, { 'dt', num(nil, { above = 0 }) } } },
}
for _, name in ipairs(networks.names()) do
  local section = networks.of(name).section
  if section then SECTIONS[#SECTIONS + 1] = { section, networks.module(name).LEAVES } end
end
SECTIONS[#SECTIONS + 1] = { 'own', {} } -- what operators of the user take

M.SECTIONS, M.NAMES = {}, {} -- sections in order, the names of each in order
local by = {} -- leaves by section and name
for i, e in ipairs(SECTIONS) do
  local section, names = e[1], {}
  by[section] = {}
  for k, pair in ipairs(e[2]) do names[k], by[section][pair[1]] = pair[1], pair[2] end
  M.SECTIONS[i], M.NAMES[section] = section, names
end

--- The leaf of a name in a section; those of types of operators may stand in `architecture`, too. Nil for names of
--- the user.
---@param section string
---@param name string
---@return table?
function M.leaf(section, name)
  local leaf = by[section][name]
  if leaf or section ~= 'architecture' then return leaf end
  for _, other in ipairs(networks.names()) do
    local theirs = by[networks.of(other).section]
    leaf = leaf or theirs and theirs[name]
  end
  return leaf
end

--- What a name is where the space lacks it.
---@param section string
---@param name string
function M.default(section, name) return by[section][name][2] end

--- Refuses values of a section that operators cannot be built from.
---@param section string
---@param values table by name
function M.refuse(section, values)
  for name, v in pairs(values or {}) do
    local leaf = M.leaf(section, name)
    if leaf then leaves.check(section .. '.' .. name, leaf, v) end
  end
end

--- The largest factor of the noise's scale over time.
local function swing(schedule) return schedule == 'periodic' and 1.5 or 1 end

--- Whether dropout with these drops every channel at some step.
---@param scale number
---@param schedule string
function M.drops_all(scale, schedule) return scale * swing(schedule) >= 1 end

--- Refuses a coordinate: where stands before the message. Coordinates are below 1, so that continuous ones stay below
--- their upper bound.
local function refuse_dim(where, leaf, d)
  if d.element then error(where .. ' is an array; it takes one value: use type integer, continuous or choice', 0) end
  if d.open and (leaf[1] == 'integer' or leaf[1] == 'odd') then
    error(where .. ' is continuous; its values are whole numbers: use type integer or choice', 0)
  end
  for _, v in ipairs(d.values) do
    if not (d.open and v == d.values[2] and leaf.below == v) then leaves.check(where, leaf, v) end
  end
end

--- Refuses a space with noise of type dropout that may drop every channel.
local function refuse_dropout(dims, fallback)
  local function values(name) return dims['stochastic.' .. name] and dims['stochastic.' .. name].values or fallback end
  local drops, factor, scale = false, 1, dims['stochastic.noise_scale']
  for _, v in ipairs(values 'noise_type') do drops = drops or v == 'dropout' end
  for _, v in ipairs(values 'noise_schedule') do factor = math.max(factor, swing(v)) end
  local worst -- the largest of those that drop every channel
  for _, v in ipairs(drops and scale and scale.values or fallback) do
    if v * factor > 1 or v * factor == 1 and not scale.open then worst = math.max(worst or v, v) end
  end
  if worst then
    error(('parameter_space.stochastic.noise_scale reaches %.16g, where noise_type dropout%s drops every channel; '
      .. 'keep it below %.4g'):format(worst, factor > 1 and ' with noise_schedule periodic' or '', 1 / factor), 0)
  end
end

--- Refuses grids that do not fit the sizes of a type of operators with a section of its own.
local function refuse_grids(dims, operator_type)
  local section = networks.of(operator_type).section
  if not section then return end
  local net = networks.module(operator_type)
  local sizes, grid = dims[section .. '.' .. net.FITS] or dims['architecture.' .. net.FITS], dims['operator.grid_size']
  for _, n in ipairs(sizes and sizes.values or { M.default(section, net.FITS) }) do
    for _, g in ipairs(grid and grid.values or { M.default('operator', 'grid_size') }) do
      local ok, why = pcall(net.check, { grid = g, [section] = { [net.FITS] = n } })
      if not ok then
        local set = grid or sizes
        error(('parameter_space.%s.%s: %s'):format(set.section, set.name, why), 0)
      end
    end
  end
end

--- Refuses a space that holds values which no operator can be built from.
---@param space rollout.Space
---@param operator_type string
function M.refuse_space(space, operator_type)
  local dims = {}
  for _, d in ipairs(space.dims) do
    local name = d.element and d.element[1] or d.name
    local leaf = M.leaf(d.section, name)
    if leaf then refuse_dim(('parameter_space.%s.%s'):format(d.section, name), leaf, d) end
    dims[d.section .. '.' .. name] = d
  end
  refuse_dropout(dims, {})
  refuse_grids(dims, operator_type)
end

return M
