-- page.lua - the page of a data set: distributions of parameters and features, failures, filters, types of fields.
--
-- It is made from the file alone, before both get their names (store.publish).
local mc = require 'mascon'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local roll = require 'workflows.rollout.roll'
local space = require 'workflows.rollout.space'
local config_of = require 'workflows.rollout.config'
local error = check.error
local M = {}

--- The page of a data set: PATH.html, without the ending .h5.
---@param path string
function M.of(path)
  check.arg('rollout.page.of', 'path', path, 'string', 3)
  return (path:gsub('%.h5$', '')) .. '.html'
end

--- Bytes that are in memory while the page of rows with D columns of means is made, at about.
function M.bytes(rows, D) return 4 * rows * D + 64 * rows end

--- How often each value of a list occurs, in the order of the values. possible: values that are listed even so.
local function counted(list, possible)
  local n, order, rows = {}, {}, {}
  local function take(k, times)
    if not n[k] then n[k], order[#order + 1] = 0, k end
    n[k] = n[k] + times
  end
  for _, k in ipairs(possible or {}) do take(k, 0) end
  for _, k in ipairs(type(list) == 'table' and list or { list }) do take(k, 1) end
  table.sort(order, function(a, b)
    if type(a) == type(b) and type(a) ~= 'boolean' then return a < b end
    return tostring(a) < tostring(b)
  end)
  for i, k in ipairs(order) do rows[i] = { k, n[k] } end
  return rows
end

local function count(mask) return mask:to('f64'):sum():item() end

-- units of names, for the axes
local UNIT = { grid_size = 'px', kernel_size = 'px', spatial_correlation = 'px', period = 'steps',
  schedule_period = 'steps' }
local BINS, MOST_BARS, MOST_FIGURES = 24, 24, 32

--- Edges of bins from low to high, even on the scale of the coordinate.
local function edges_of(low, high, log)
  local out = {}
  for k = 0, BINS do
    out[k + 1] = log and low * (high / low) ^ (k / BINS) or low + (high - low) * (k / BINS)
  end
  out[BINS + 1] = high
  return out
end

--- The values that a coordinate may take, where they are few; nil otherwise.
local function possible_of(d)
  if d.kind ~= 'integer' then return d.possible or d.values end
  local low, high, out = d.values[1], d.values[#d.values], {}
  if high - low >= MOST_BARS then return nil end
  for v = low, high do out[#out + 1] = v end
  return out
end

--- How often each value of a coordinate was drawn: bars for names and few whole numbers, else a histogram.
local function drawn(d, u)
  local values, name = {}, d.section .. '.' .. d.name
  for i, x in ipairs(u) do values[i] = d.map(x) end
  local unit = UNIT[d.element and d.element[1] or d.name]
  local fig = mc.plot.figure { title = name, width = 420, height = 280 }
  local ax = fig:axes(1, 1)
  local bars = d.kind ~= 'continuous' and counted(values, possible_of(d))
  if bars and #bars <= MOST_BARS then
    local labels, heights = {}, {}
    for i, r in ipairs(bars) do labels[i], heights[i] = tostring(r[1]), r[2] end
    ax:bar(labels, heights)
  else
    ax:hist(values, { bins = edges_of(d.values[1], d.values[#d.values], d.log) })
    if d.log then ax:set { xscale = 'log' } end
  end
  ax:set { xlabel = d.name .. (unit and (' (%s)'):format(unit) or ''), ylabel = 'operators' }
  return fig
end

local function parameters_of(f, tree)
  local d, figures = f:dataset '/parameters/params', {}
  local params, order = d:read(), space.order(d.attributes.names)
  local left = {}
  for i, dim in ipairs(space.new(tree.parameter_space, order).dims) do
    if dim.kind == 'continuous' or dim.values[1] ~= dim.values[#dim.values] then
      if #figures < MOST_FIGURES then figures[#figures + 1] = drawn(dim, params[{ mc.all, i }]:to('f64'):totable())
      else left[#left + 1] = dim.section .. '.' .. dim.name end
    end
  end
  local words = ('%d operators. How often each value of the parameter space was drawn.'):format(params.shape[1])
  if #left > 0 then
    words = ('%s The first %d have a figure; without one: %s.'):format(words, MOST_FIGURES, table.concat(left, ', '))
  end
  return { heading = 'Parameters', figures = figures, paragraphs = words }
end

local function failures_of(f)
  local status, bad, rows = f:dataset('/metadata/status'):read(), f:dataset('/metadata/bad_step'):read(), {}
  for k = 0, #roll.STATUS do rows[k + 1] = { roll.STATUS[k] or 'good', count(mc.eq(status, k)) } end
  local failed = mc.gt(bad, -1)
  return { heading = 'Failures', table = { header = { 'realisations', 'number' }, rows = rows },
    paragraphs = ('Earliest step of a failure: %s.'):format(
      count(failed) > 0 and tostring(mc.where(failed, bad, 2 ^ 30):min():item()) or 'none') }
end

local FILTER_WORDS = { failed = 'failed: too many of its realisations did', flat = 'flat: the last state',
  still = 'still: the last change', work = 'not rolled out: more work than the limit',
  memory = 'not rolled out: more memory than the limit' }

local function filters_of(f)
  local d = f:dataset '/metadata/filtered'
  local filtered, words, rows = d:read(), d.attributes.words, {}
  for k = 0, #words do rows[k + 1] = { k == 0 and 'kept' or FILTER_WORDS[words[k]], count(mc.eq(filtered, k)) } end
  return { heading = 'Filtered operators', table = { header = { 'why', 'operators' }, rows = rows } }
end

--- Names of the columns per trajectory, in order, from the registry of a file.
local function columns_of(f)
  local names = {}
  for _, category in pairs(mc.json.decode(f:group '/features/summary'.attributes.feature_registry)) do
    for name, at in pairs(category) do names[at + 1] = name end
  end
  return names
end

local function features_of(f)
  local d, names, rows = f:dataset '/features/summary/aggregated/features', columns_of(f), {}
  local means = d:read { mc.all, { 1, #names } }
  for i, name in ipairs(names) do
    rows[i] = { mc.scope(function()
      local v = means[{ mc.all, i }]:to 'f64'
      local good = v[mc.isfinite(v)]
      local n = good:numel()
      if n == 0 then return name, '', '', '', v:numel() end
      return name, good:min():item(), mc.quantile(good, 0.5):item(), good:max():item(), v:numel() - n
    end) }
  end
  return { heading = 'Features (means over realisations)', table = { rows = rows, digits = 4,
    header = { 'feature', 'least', 'median', 'largest', 'not finite' } } }
end

--- The page of a data set as a text.
---@param path string data set
---@return string
function M.text(path)
  check.arg('rollout.page.text', 'path', path, 'string', 3)
  local f = mc.open(path, { format = 'h5' })
  local text = mc.scope(function()
    local tree = config_of.held(f:group('/metadata').attributes.config, path)
    local sections = { parameters_of(f, tree), failures_of(f) }
    local function add(section) sections[#sections + 1] = section end
    if f:has '/metadata/filtered' then add(filters_of(f)) end
    add { heading = 'Initial fields', table = { header = { 'type', 'operators' },
      rows = counted(f:get '/metadata/ic_types') } }
    add { heading = 'Policies', table = { header = { 'policy', 'operators' },
      rows = counted(f:get '/metadata/evolution_policies') } }
    if f:has '/features/summary/aggregated/features' then add(features_of(f)) end
    add { heading = 'Sampling', code = f:group '/metadata'.attributes.sampling_metrics }
    return mc.report.html { title = tree.metadata.name, subtitle = path:match '[^/]*$', sections = sections,
      footer = 'mascon ' .. mc.version }
  end)
  f:close()
  return text
end

--- Writes a page.
---@param out string
---@param text string
function M.put(out, text)
  local ok, why = file.write(out, text)
  if not ok then error('rollout: ' .. why, 0) end
end

return M
