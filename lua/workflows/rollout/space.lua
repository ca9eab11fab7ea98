-- space.lua - the parameter space of operators: which value a coordinate between 0 and 1 stands for.
--
-- A space is a list of dimensions in the order of the file. Each has a name, the section it stands in and a map from
-- [0, 1] to values. Rules: specification of rollouts, 1.3.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local parameters = require 'workflows.rollout.parameters'
local error = check.error
local M = {}

local KEYS = {
  integer = { type = true, bounds = true, description = true },
  continuous = { type = true, bounds = true, description = true, log_scale = true },
  choice = { type = true, choices = true, weights = true, description = true },
  boolean = { type = true, description = true },
  array = { type = true, length = true, element_type = true, bounds = true, choices = true, weights = true,
    log_scale = true, description = true },
}
local KINDS = { 'integer', 'continuous', 'choice', 'boolean', 'array' }

local LONGEST = 1000 -- elements of an array

local function sorted(t)
  local out = {}
  for k in pairs(t) do out[#out + 1] = k end
  table.sort(out)
  return out
end

local function is_number(v) return type(v) == 'number' and v == v and math.abs(v) < math.huge end

local function bounds_of(where, e)
  local b = e.bounds
  if type(b) ~= 'table' or #b ~= 2 or not is_number(b[1]) or not is_number(b[2]) then
    error(('%s.bounds is %s; give [lowest, highest]'):format(where, check.show(b)), 0)
  end
  if b[1] >= b[2] then error(('%s.bounds is [%g, %g]; the first must be below the second'):format(where, b[1], b[2]),
    0) end
  return b[1], b[2]
end

-- by type: { map, values, possible, open }. values stand for all that the map gives: choices, or the ends of bounds;
-- possible: those of the choices that have a weight; open: the upper end is not reached
local MAKERS = {}

function MAKERS.integer(where, e)
  local low, high = bounds_of(where, e)
  if low % 1 ~= 0 or high % 1 ~= 0 then error(('%s.bounds is [%g, %g]; an integer has whole bounds'):format(where, low,
    high), 0) end
  return { values = { low, low + 1, high }, map = function(u)
    local x = low + u * (high - low)
    local down = math.floor(x)
    local rest = x - down
    if rest > 0.5 or (rest == 0.5 and down % 2 == 1) then down = down + 1 end -- half to even
    return down
  end }
end

function MAKERS.continuous(where, e)
  local low, high = bounds_of(where, e)
  if e.log_scale ~= nil and type(e.log_scale) ~= 'boolean' then
    error(('%s.log_scale is %s; it must be true or false'):format(where, check.show(e.log_scale)), 0) end
  local out = { values = { low, high }, open = true, map = function(u) return low + u * (high - low) end }
  if not e.log_scale then return out end
  if low <= 0 then error(('%s.bounds begins at %g; a logarithmic scale begins above 0'):format(where, low), 0) end
  local a, b = math.log10(low), math.log10(high)
  out.map = function(u) return 10 ^ (a + u * (b - a)) end
  return out
end

function MAKERS.choice(where, e)
  local list = e.choices
  if type(list) ~= 'table' or #list == 0 then error(('%s.choices is %s; give a list of at least one'):format(where,
    check.show(list)), 0) end
  local n, w = #list, e.weights
  if w == nil then
    return { values = list, map = function(u) return list[math.min(math.floor(u * n), n - 1) + 1] end }
  end
  if type(w) ~= 'table' or #w ~= n then error(('%s.weights has %s entries for %d choices'):format(where,
    type(w) == 'table' and #w or 'no', n), 0) end
  local sum, possible = 0, {}
  for i, v in ipairs(w) do
    if not is_number(v) or v < 0 then error(('%s.weights holds %s; weights are numbers from 0'):format(where,
      check.show(v)), 0) end
    sum = sum + v
    if v > 0 or i == n and sum < 1 then possible[#possible + 1] = list[i] end
  end
  if math.abs(sum - 1) > 1e-6 then error(('%s.weights sum to %g; they must sum to 1'):format(where, sum), 0) end
  return { values = list, possible = possible, map = function(u)
    local c = 0
    for i = 1, n do
      c = c + w[i]
      if c > u then return list[i] end
    end
    return list[n]
  end }
end

function MAKERS.boolean() return { values = { false, true }, map = function(u) return u > 0.5 end } end

--- The map of one entry, its keys checked.
local function maker(where, e)
  if type(e) ~= 'table' or e[1] ~= nil then error(('%s is %s; it must hold type and bounds or choices'):format(where,
    check.show(e)), 0) end
  if not KEYS[e.type] then
    local near = type(e.type) == 'string' and check.nearest(e.type, KINDS)
    error(('%s.type is %s; choose %s%s'):format(where, check.show(e.type), table.concat(KINDS, ', '),
      near and (' (did you mean %s?)'):format(near) or ''), 0)
  end
  for k in pairs(e) do
    if not KEYS[e.type][k] then
      local near = check.nearest(tostring(k), sorted(KEYS[e.type]))
      error(('there is no key %s.%s for type %s%s'):format(where, k, e.type, near
        and (' (did you mean %s?)'):format(near) or ''), 0)
    end
  end
  return MAKERS[e.type]
end

---@class rollout.Space
---@field dims table[] { name, section, kind, log, map, values, possible, open } in the order of the coordinates

--- The space that a section `parameter_space` describes; order: { section = names in the order of the file }.
---@param tree table
---@param order table
---@return rollout.Space
function M.new(tree, order)
  local dims = {}
  for _, section in ipairs(parameters.SECTIONS) do
    local entries = tree[section]
    if entries ~= nil and entries ~= mc.json.null then
      for _, name in ipairs(order[section]) do
        local where = ('parameter_space.%s.%s'):format(section, name)
        local e = entries[name]
        local make = maker(where, e)
        local function add(one, d)
          d.section, d.map, d.values, d.possible, d.open = section, one.map, one.values, one.possible, one.open
          d.kind, d.log = make and e.type or e.element_type, e.log_scale == true
          dims[#dims + 1] = d
        end
        if make then add(make(where, e), { name = name })
        else
          if not is_number(e.length) or e.length < 1 or e.length % 1 ~= 0 or e.length > LONGEST then
            error(('%s.length is %s; give a whole number from 1 to %d'):format(where, check.show(e.length), LONGEST), 0)
          end
          if e.element_type == 'array' or not KEYS[e.element_type] then
            error(('%s.element_type is %s; choose integer, continuous, choice, boolean'):format(where,
            check.show(e.element_type)), 0) end
          local one = MAKERS[e.element_type](where, e)
          for k = 1, e.length do add(one, { name = ('%s[%d]'):format(name, k), element = { name, k } }) end
        end
      end
    end
  end
  if #dims == 0 then error('parameter_space holds no parameter', 0) end
  return { dims = dims }
end

--- The order that M.new takes, from names of coordinates: { section = names }.
---@param names string[] as M.names
---@return table
function M.order(names)
  check.arg('rollout.space.order', 'names', names, 'table', 3)
  local out, seen = {}, {}
  for _, full in ipairs(names) do
    local section, name = full:match '^([^.]+)%.([^%[]+)'
    local key = section and section .. '.' .. name
    if key and not seen[key] then
      out[section] = out[section] or {}
      table.insert(out[section], name)
      seen[key] = true
    end
  end
  return out
end

--- Names of the coordinates, in order.
function M.names(space)
  local out = {}
  for i, d in ipairs(space.dims) do out[i] = d.section .. '.' .. d.name end
  return out
end

--- The values that a name may have: choices, or the ends of its bounds; nil where the space lacks it.
---@param space rollout.Space
---@param section string
---@param name string
---@return any[]?
function M.possible(space, section, name)
  for _, d in ipairs(space.dims) do
    if d.section == section and d.name == name then return d.possible or d.values end
  end
end

--- The values that a point stands for: { section = { name = value } }.
---@param space rollout.Space
---@param u number[] coordinates between 0 and 1
---@return table
function M.values(space, u)
  if #u ~= #space.dims then error(('rollout.space: the point has %d coordinates, the space %d'):format(#u,
    #space.dims), 2) end
  local out = {}
  for _, s in ipairs(parameters.SECTIONS) do out[s] = {} end
  for i, d in ipairs(space.dims) do
    local v = d.map(u[i])
    if d.element then
      local list = out[d.section][d.element[1]] or {}
      list[d.element[2]] = v
      out[d.section][d.element[1]] = list
    else out[d.section][d.name] = v end
  end
  return out
end

--- The values of each coordinate over points, in their order: { name, values }, values a tensor [n] (i64 for whole
--- numbers, u8 for yes and no, else f64), or texts where one of the choices is a text.
---@param space rollout.Space
---@param points mascon.Tensor [n, d]
---@return table[]
function M.columns(space, points)
  local names, out = M.names(space), {}
  for k, d in ipairs(space.dims) do
    local values, texts, whole = points[{ mc.all, k }]:to('f64'):totable(), false, true
    for _, v in ipairs(d.values) do
      texts = texts or type(v) == 'string'
      whole = whole and type(v) == 'number' and v % 1 == 0
    end
    for i, u in ipairs(values) do
      local v = d.map(u)
      values[i] = texts and tostring(v) or v == true and 1 or v or 0
    end
    local dtype = type(d.values[1]) == 'boolean' and 'u8' or whole and d.kind ~= 'continuous' and 'i64' or 'f64'
    out[k] = { names[k], texts and values or mc.tensor(values, { dtype = dtype }) }
  end
  return out
end

return M
