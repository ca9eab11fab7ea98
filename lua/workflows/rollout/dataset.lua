-- dataset.lua - a data set looked at again: what it holds, whether it is whole, and rows computed anew.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local config_of = require 'workflows.rollout.config'
local generate = require 'workflows.rollout.generate'
local store = require 'workflows.rollout.store'
local own = require 'workflows.rollout.own'
local operator = require 'workflows.rollout.operator'
local fields = require 'workflows.rollout.fields'
local features = require 'workflows.rollout.features'
local error = check.error
local M = {}

local function opened(path)
  local ok, f = pcall(mc.open, path, { format = 'h5' })
  if not ok then
    error(('rollout: %s cannot be read: %s'):format(path, (tostring(f):gsub('^[^\n]-%.lua:%d+: ', ''))), 0)
  end
  return f
end

--- Lines that describe a file: every dataset with shape and dtype, then the attributes of /metadata.
---@param path string
---@param verbose? boolean with all attributes, among them the configuration and the names of columns
---@return string[]
function M.info(path, verbose)
  local f = opened(path)
  local out = { path }
  local function attributes(at, indent)
    local names = {}
    for k in pairs(at) do names[#names + 1] = k end
    table.sort(names)
    for _, k in ipairs(names) do
      local v = at[k]
      v = type(v) == 'table' and mc.json.encode(v) or tostring(v)
      if verbose or (#v < 120 and k ~= 'config') then out[#out + 1] = ('%s%s: %s'):format(indent, k, v) end
    end
  end
  local function walk(g, at)
    for _, name in ipairs(g.names) do
      local here = at .. '/' .. name
      local node = f:kind_of(here) == 'group' and f:group(here) or f:dataset(here)
      if node.shape then
        out[#out + 1] = ('  %-50s %s %s'):format(here, node.dtype or 'text', table.concat(node.shape, ' x '))
      end
      if verbose and here ~= '/metadata' then
        if not node.shape and next(node.attributes) then out[#out + 1] = '  ' .. here end
        attributes(node.attributes, '    ')
      end
      if not node.shape then walk(node, here) end
    end
  end
  walk(f, '')
  if f:has '/metadata' then
    local a = f:group('/metadata').attributes
    if a.config then config_of.held(a.config, path) end
    attributes(a, '  ')
  end
  f:close()
  return out
end

local NEEDED = { '/parameters/params', '/inputs/fields', '/metadata/ic_types', '/metadata/evolution_policies',
  '/metadata/noise_regimes', '/metadata/grid_sizes', '/metadata/status',
  '/metadata/bad_step' }

local BLOCK = 2 ^ 20 -- values of a read

--- How many values of a dataset [N, ..., D] are not finite where they should be: in rows that are good, [N] or [N, M],
--- in columns that are finite in some good row. A column may be without meaning in a whole space, such as correlations
--- of one channel.
local function unexpected(d, good)
  local n, D, row = d.shape[1], d.shape[#d.shape], 1
  for k = 2, #d.shape do row = row * d.shape[k] end
  local most = math.max(1, math.floor(BLOCK / row))
  local bad, of = mc.zeros { D }, mc.zeros { D } -- by column: not finite, all
  for first = 1, n, most do
    bad, of = mc.scope(function()
      local rows = { { first, math.min(n, first + most - 1) } }
      local x, mask = d:read(rows), good[rows]:to 'f64'
      local wrong = mc.logical_not(mc.isfinite(x)):to 'f64'
      while mask.ndim < x.ndim do mask = mask:expand_dims(mask.ndim + 1) end
      return bad + (wrong * mask):reshape(-1, D):sum(1), of + (mc.ones(x.shape) * mask):reshape(-1, D):sum(1)
    end)
  end
  return (mc.where(mc.lt(bad, of), bad, 0)):sum():item()
end

--- Checks a file: groups, numbers of rows, coordinates in [0, 1], NaN and Inf where nothing failed. Returns ok and
--- lines.
---@param path string
---@return boolean ok
---@return string[] lines
function M.validate(path)
  local f = opened(path)
  local lines, ok = {}, true
  local function say(good, fmt, ...)
    ok = ok and good
    lines[#lines + 1] = (good and 'ok    ' or 'FAIL  ') .. fmt:format(...)
  end
  local whole = true
  for _, place in ipairs(NEEDED) do
    local there = f:has(place)
    whole = whole and there
    if not there then say(false, '%s is missing', place) end
  end
  local made = f:has '/metadata' and f:group('/metadata').attributes.config
  if made then
    local fine, why = check.try(config_of.held, made, path)
    say(fine, fine and 'configuration: keys and values' or '%s', (tostring(why):gsub('^rollout: ', '')))
  end
  if whole then
    local n = f:dataset('/parameters/params').shape[1]
    for _, place in ipairs(store.places()) do
      if f:has(place) then
        local k = f:dataset(place).shape[1]
        say(k == n, '%s has %d rows of %d', place, k, n)
      end
    end
    local p = f:dataset('/parameters/params'):read()
    local low, high = p:min():item(), p:max():item()
    say(low >= 0 and high <= 1, 'coordinates lie in [%.4g, %.4g]', low, high)
    local inputs = f:dataset('/inputs/fields'):read()
    local bad = mc.logical_not(mc.isfinite(inputs)):to('f64'):sum():item()
    say(bad == 0, 'initial fields: %d values are not finite', bad)
    local status = f:dataset('/metadata/status'):read()
    local failed = mc.gt(status, 0)
    local count = failed:to('f64'):sum():item()
    local out = mc.eq(status, generate.LEFT_OUT):to('f64'):sum():item()
    lines[#lines + 1] = ('note  %d of %d realisations failed'):format(count - out, status:numel())
    if f:has '/metadata/filtered' then
      local filtered, words = f:dataset('/metadata/filtered'):read(), {}
      for k, name in ipairs(generate.FILTERED) do
        local many = mc.eq(filtered, k):to('f64'):sum():item()
        if many > 0 then words[#words + 1] = ('%s %d'):format(name, many) end
      end
      if words[1] then lines[#lines + 1] = 'note  filtered operators: ' .. table.concat(words, ', ') end
    end
    local sections = made and ok and config_of.held(made, path).features
    for name, section in pairs(sections and { temporal = sections.temporal, summary = sections.summary } or {}) do
      if section.enabled and not f:has('/features/' .. name) then say(false, '/features/%s is missing', name) end
    end
    local steps = f:has '/features/temporal/features' and f:dataset('/features/temporal/features').shape[2] or 99
    local living = mc.logical_not(failed):to('f64'):sum(2) -- [N]
    local function finite(place, good, what)
      if not f:has(place) then return end
      local bad_values = unexpected(f:dataset(place), good)
      say(bad_values == 0, '%s: %d values of %s are NaN or Inf', place, bad_values, what)
    end
    if steps >= 5 then
      finite('/features/summary/per_trajectory/features', mc.logical_not(failed), 'realisations that did not fail')
    end
    finite('/features/temporal/features', mc.ge(living, failed.shape[2]), 'rows without a failure')
    finite('/features/summary/aggregated/features', mc.ge(living, math.min(2, failed.shape[2])),
      'rows with realisations that did not fail')
  end
  f:close()
  return ok, lines
end

--- Refuses operators and fields that are not those that the rows of a file were made with.
local function same_functions(path, made, now)
  local changed, missing = own.apart(made, now)
  if missing[1] then
    error(('rollout: %s was made with the own %s, which is not registered; register it (--own FILE) before'):format(
      path, missing[1]), 0)
  end
  if changed[1] then
    error(('rollout: %s was made with another own %s: its rows cannot be made again; use the script that it was made '
      .. 'with'):format(path, changed[1]), 0)
  end
end

--- Notes on own features that differ from those of a file.
local function feature_notes(path, made, config)
  local changed, missing = own.apart(made, features.records())
  for _, what in ipairs(missing) do
    config.notes[#config.notes + 1] = ('the columns of the own %s of %s are left out: it is not registered '
      .. '(--own FILE)'):format(what, path)
  end
  for _, what in ipairs(changed) do
    config.notes[#config.notes + 1] = ('the own %s is not the one of %s: its columns are those of now'):format(what,
      path)
  end
end

--- The configuration that a file was made with; its notes say which own features differ from those of the file.
---@param path string
---@return table config
---@return mascon.Tensor params [N, P]
---@return integer first row
--- Errors: own operators or fields of the file that are not registered, or changed.
function M.configuration(path)
  local f = opened(path)
  local a = f:group('/metadata').attributes
  local params = f:dataset('/parameters/params'):read()
  local names = f:dataset('/parameters/params').attributes.names
  f:close()
  if not a.config then error(('rollout: %s holds no configuration'):format(path), 0) end
  local tree, order = config_of.ordered(a.config, names, path)
  local made = { operator = {}, field = {}, feature = {} }
  for _, r in ipairs(a.own_functions and mc.json.decode(a.own_functions) or {}) do table.insert(made[r.kind], r) end
  same_functions(path, made.operator, { operator.record(tree.simulation.operator_type) })
  local drawn = { simulation = { input_generation = tree.simulation.input_generation } }
  same_functions(path, made.field, fields.records(drawn))
  local config = config_of.of(tree, { name = path, order = order })
  feature_notes(path, made.feature, config)
  return config, params, tonumber(a.first_row)
end

--- Row i (from 0) of a file computed anew from its parameters; see generate.row.
function M.replay(path, i, opts)
  local config, params, first = M.configuration(path)
  if i < first or i >= first + params.shape[1] then
    error(('rollout: row %d is not in %s, which holds %d to %d'):format(i, path, first, first + params.shape[1] - 1),
    0) end
  local points = require 'workflows.rollout.sampling'.points(config, i + 1, i + 1)
  local row = generate.row(config, i, points[1]:totable(), opts)
  return row, config
end

--- States [M, T, C, G, G] of a row that a file holds, its status and bad_step.
local function stored_row(f, at, grid, T)
  local x = f:dataset '/outputs/fields':read { at }
  if T == 1 then x = x:expand_dims(2) end
  local left = math.floor((x.shape[4] - grid) / 2)
  local inner = { left + 1, left + grid } -- smaller grids stand in the middle
  return x[{ mc.all, mc.all, mc.all, inner, inner }]:copy(), f:dataset '/metadata/status':read { at }:totable(),
    f:dataset '/metadata/bad_step':read { at }:totable()
end

M.EXTRACTED = { 'temporal', 'summary', unpack(features.FAMILIES) }
M.EXTRACTED[#M.EXTRACTED + 1] = 'operator'

--- Features of the rows of a data set once more, with families that it lacks, as a data set of its own. States are
--- those of the file where it holds trajectories of f32, else rows are rolled out again; the bits are the same.
---@param path string data set
---@param families string[] of M.EXTRACTED: in addition to those of the file; `operator` is the operator's sensitivity
---@param opts table out (path), first and last (rows from 0, those of the file), and resume, overwrite, quiet,
--- max_memory, save_every as generate.run
---@return table as generate.run; stored: whether states of the file were taken; notes: on own features that differ
function M.extract(path, families, opts)
  local config, params, first = M.configuration(path)
  for _, name in ipairs(families) do
    if name == 'operator' then config.simulation.extract_operator_features = true
    elseif config.features[name] and config.features[name].enabled ~= nil then config.features[name].enabled = true
    else
      local near = check.nearest(name, M.EXTRACTED)
      error(('rollout: there is no family %s%s; there are %s'):format(name,
        near and (' (did you mean %s?)'):format(near) or '', table.concat(M.EXTRACTED, ', ')), 0)
    end
  end
  local o, last = {}, first + params.shape[1] - 1
  for k, v in pairs(opts) do o[k] = v end
  o.first, o.last = opts.first or first, opts.last or last
  if o.first < first or o.last > last then
    error(('rollout: rows %d to %d are not all in %s, which holds %d to %d'):format(o.first, o.last, path, first, last),
      0)
  end
  local f = opened(path)
  if f:has '/outputs/fields' and config.simulation.precision ~= 'float64' then
    local T = config.simulation.num_timesteps
    local grids = f:dataset '/metadata/grid_sizes':read():totable()
    o.stored = function(index) return stored_row(f, index - first + 1, grids[index - first + 1], T) end
  end
  config.dataset.storage.store_trajectories = false
  local ok, r = pcall(generate.run, config, o)
  f:close()
  if not ok then error(r, 0) end
  r.stored, r.notes = o.stored ~= nil, config.notes
  return r
end

return M
