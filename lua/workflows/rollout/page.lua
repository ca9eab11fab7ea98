-- page.lua - the page of a data set: what was run, distributions of parameters and features, failures, filters, fields.
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

local BLOCK = 2 ^ 18 -- values of a read

--- Bytes that are in memory while the page of rows with D columns of means is made, at about.
function M.bytes(rows, D) return 4 * rows * D + 128 * rows + 4 * BLOCK end

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
local UNIT = { grid_size = 'px', kernel_size = 'px', spatial_correlation = 'share of the grid', period = 'steps',
  schedule_period = 'steps' }
local MOST_BINS, MOST_BARS, MOST_FIGURES = 24, 24, 32

--- Edges of bins for n values from low to high, even on the scale of the coordinate; by Rice's rule 2 n^(1/3) of them.
local function edges_of(low, high, log, n)
  local bins, out = math.min(MOST_BINS, math.max(6, math.ceil(2 * n ^ (1 / 3)))), {}
  for k = 0, bins do
    out[k + 1] = log and low * (high / low) ^ (k / bins) or low + (high - low) * (k / bins)
  end
  out[bins + 1] = high
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

--- A figure of n panels, ACROSS in a line; draw(axes, i) fills each.
local ACROSS = 3
local function sheet(n, draw)
  local lines, cols = math.ceil(n / ACROSS), math.min(n, ACROSS)
  local fig = mc.plot.figure { width = 310 * cols, height = 220 * lines, rows = lines, cols = cols }
  for i = 1, n do draw(fig:axes(math.floor((i - 1) / ACROSS) + 1, (i - 1) % ACROSS + 1), i) end
  return fig
end

--- How often each value of a coordinate was drawn: bars for names and few whole numbers, else a histogram.
local function drawn(ax, d, u)
  local values = {}
  for i, x in ipairs(u) do values[i] = d.map(x) end
  local unit = UNIT[d.element and d.element[1] or d.name]
  local bars = d.kind ~= 'continuous' and counted(values, possible_of(d))
  if bars and #bars <= MOST_BARS then
    local labels, heights = {}, {}
    for i, r in ipairs(bars) do labels[i], heights[i] = tostring(r[1]), r[2] end
    ax:bar(labels, heights)
  else
    ax:hist(values, { bins = edges_of(d.values[1], d.values[#d.values], d.log, #values) })
    if d.log then ax:set { xscale = 'log' } end
  end
  ax:set { title = d.section .. '.' .. d.name, xlabel = d.name .. (unit and (' (%s)'):format(unit) or ''),
    ylabel = 'operators' }
end

local function parameters_of(f, tree)
  local d, shown, left = f:dataset '/parameters/params', {}, {}
  local params, order = d:read(), space.order(d.attributes.names)
  for i, dim in ipairs(space.new(tree.parameter_space, order).dims) do
    if dim.kind == 'continuous' or dim.values[1] ~= dim.values[#dim.values] then
      if #shown < MOST_FIGURES then shown[#shown + 1] = { dim, i }
      else left[#left + 1] = dim.section .. '.' .. dim.name end
    end
  end
  local words = ('%d operators. How often each value of the parameter space was drawn.'):format(params.shape[1])
  if #left > 0 then
    words = ('%s The first %d have a figure; without one: %s.'):format(words, MOST_FIGURES, table.concat(left, ', '))
  end
  return { heading = 'Parameters', paragraphs = words, figure = shown[1] and sheet(#shown, function(ax, k)
    drawn(ax, shown[k][1], params[{ mc.all, shown[k][2] }]:to('f64'):totable())
  end) }
end

--- What was run: configuration and attributes of the file.
local function run_of(f, tree)
  local a, rows, sim = f:group '/metadata'.attributes, {}, tree.simulation
  local function add(what, value)
    if value ~= nil and value ~= mc.json.null then rows[#rows + 1] = { what, tostring(value) } end
  end
  local n = f:dataset '/parameters/params'.shape[1]
  add('operators', n)
  add('rows', ('%d to %d of %d'):format(a.first_row, a.first_row + n - 1, a.total_rows))
  add('type of operator', sim.operator_type)
  add('realisations', sim.num_realizations)
  add('states', sim.num_timesteps)
  add('channels', sim.channels)
  add('places of a side, at most', a.grid_size)
  add('initial fields', sim.input_generation.method)
  add('sampling', tree.sampling.strategy or 'sobol')
  add('seed', tree.sampling.sobol.seed)
  add('device', a.device)
  add('configuration, SHA-256', a.configuration_sha256)
  add('made', a.creation_date)
  return { heading = 'Run', table = { header = { 'what', 'value' }, rows = rows } }
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
  for k, word in ipairs(words) do rows[k] = { FILTER_WORDS[word] or word, count(mc.eq(filtered, k - 1)) } end
  return { heading = 'Filtered operators', table = { header = { 'why', 'operators' }, rows = rows } }
end

--- Names of columns in order, from a registry of a file.
local function columns_of(text)
  local names = {}
  for _, category in pairs(mc.json.decode(text)) do
    for name, at in pairs(category) do names[at + 1] = name end
  end
  return names
end

--- Values [rows, columns] with a name each: a table of all, and distributions of those that differ between rows.
local function distributions(heading, values, names)
  local rows, shown = {}, {}
  local function finite(i)
    local v = values[{ mc.all, i }]:to 'f64'
    return v[mc.isfinite(v)]
  end
  for i, name in ipairs(names) do
    rows[i] = mc.scope(function()
      local good, n = finite(i), values.shape[1]
      if good:numel() == 0 then return { name, '', '', '', n } end
      local low, high = good:min():item(), good:max():item()
      local log = low > 0 and high > 1e3 * low
      local edges = edges_of(low, high, log, n)
      if edges[2] > low and high > edges[#edges - 1] and high - low < math.huge then
        shown[#shown + 1] = { i, name, edges, log }
      end
      return { name, low, mc.quantile(good, 0.5):item(), high, n - good:numel() }
    end)
  end
  local function draw(ax, k)
    local i, name, edges, log = unpack(shown[k])
    ax:hist(mc.scope(function() return finite(i):totable() end), { bins = edges })
    ax:set { title = name, ylabel = 'operators', xscale = log and 'log' or nil }
  end
  return { heading = heading, figure = shown[1] and sheet(#shown, draw), table = { rows = rows, digits = 4,
    header = { 'feature', 'least', 'median', 'largest', 'not finite' } } }
end

local SUMMARY, TEMPORAL = '/features/summary/aggregated/features', '/features/temporal/features'

local function summary_of(f)
  local names = columns_of(f:group '/features/summary'.attributes.feature_registry)
  return distributions('Features (means over realisations)', f:dataset(SUMMARY):read { mc.all, { 1, #names } }, names)
end

local function temporal_of(f)
  local d, means = f:dataset(TEMPORAL), {}
  local n, T, D = unpack(d.shape)
  local most = math.max(1, math.floor(BLOCK / (T * D)))
  for first = 1, n, most do
    means[#means + 1] = d:read({ { first, math.min(n, first + most - 1) } }):mean(2)
  end
  return distributions('Features of states (means over steps)', mc.concat(means, 1),
    columns_of(f:group '/features'.attributes.temporal_registry))
end

--- The page of a data set as a text.
---@param path string data set
---@return string
function M.text(path)
  check.arg('rollout.page.text', 'path', path, 'string', 3)
  local f = mc.open(path, { format = 'h5' })
  local text = mc.scope(function()
    local tree = config_of.held(f:group('/metadata').attributes.config, path)
    local sections = { run_of(f, tree), parameters_of(f, tree), failures_of(f) }
    local function add(section) sections[#sections + 1] = section end
    if f:has '/metadata/filtered' then add(filters_of(f)) end
    add { heading = 'Initial fields', table = { header = { 'type', 'operators' },
      rows = counted(f:get '/metadata/ic_types') } }
    add { heading = 'Policies', table = { header = { 'policy', 'operators' },
      rows = counted(f:get '/metadata/evolution_policies') } }
    if f:has(SUMMARY) then add(summary_of(f)) end
    if f:has(TEMPORAL) then add(temporal_of(f)) end
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
