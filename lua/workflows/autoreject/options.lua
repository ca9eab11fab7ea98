-- options.lua - the options of the analyses, their defaults and their limits.
--
-- Holds the tables of options and every check that needs no samples.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local devices = require 'mascon.core.devices'
local place = require 'mascon.core.place'
local error = check.error
local M = {}

M.METHODS = { 'exact', 'bayesian_optimization', 'random_search' }
-- words that upstream takes for a progress bar
local BARS = { tqdm = true, tqdm_notebook = true, progressbar = true }

-- shared by every analysis
local RUN = {
  picks = { nil, 'any' }, random_state = { nil, 'any' }, verbose = { true, 'any' },
  compat = { 'native', { 'native', 'upstream' } }, device = place.ANALYSIS,
  threads = { nil, 'integer >= 1' }, max_memory = { nil, 'number > 0 | string' },
}
local SPLINE = { centre = { 'none', 'any' }, alpha = { 1e-5, 'number > 0' } }

local function join(...)
  local out = {}
  for _, t in ipairs { ... } do
    for k, v in pairs(t) do out[k] = v end
  end
  return out
end

M.FIT = join(RUN, SPLINE, {
  n_interpolate = { nil, 'table' }, consensus = { nil, 'table' }, cv = { 10, 'number | table' },
  thresh_method = { 'exact', 'any' }, augment = { true, 'bool' }, thresholds = { nil, 'table' },
  certainty = { 0, 'integer >= 0' }, adjacency = { nil, 'any' }, adjacency_drop = { nil, 'integer >= 1' },
  partial = { 'repair', { 'repair', 'drop' } }, mark = { false, 'bool' }, allow_empty = { false, 'bool' },
  flat = { nil, 'number >= 0' }, bad_channel = { nil, 'number > 0' },
})
M.THRESHOLDS = join(RUN, SPLINE, { method = { 'exact', 'any' }, augment = { true, 'bool' }, cv = { nil, 'table' } })
M.GLOBAL = join(RUN, { decim = { 1, 'integer >= 1' }, ch_types = { nil, 'any' }, cv = { 5, 'number | table' },
  method = { 'exact', 'any' } })
M.CURVE = join(RUN, { param_range = { nil, 'table | tensor' }, cv = { 5, 'number | table' } })
M.RANSAC = join(RUN, SPLINE, {
  n_resample = { 50, 'integer >= 1' }, min_channels = { 0.25, 'number > 0' }, min_corr = { 0.75, 'number' },
  unbroken_time = { 0.4, 'number >= 0' },
})

--- Bytes of "2GiB", "500M" or a number.
---@param fname string
---@param v number|string
function M.bytes(fname, v)
  local n, unit = tostring(v):match '^%s*([%d.eE+]+)%s*([kKmMgGtT]?)i?[bB]?%s*$'
  n = tonumber(n)
  if not n or n <= 0 then
    error(('%s: max_memory is %s; give bytes, or a size such as "2GiB"'):format(fname, check.show(v)), 3)
  end
  return n * (({ k = 2 ^ 10, m = 2 ^ 20, g = 2 ^ 30, t = 2 ^ 40 })[unit:lower()] or 1)
end

--- One seed for everything: the one given, or one drawn from the default generator and kept.
local function seed_of(fname, v)
  if v == nil then return mc.random.integers { low = 0, high = 2 ^ 31 - 1 }:item() end
  if type(v) ~= 'number' or v % 1 ~= 0 or v < 0 or v >= 2 ^ 32 then
    error(('%s: random_state is %s; give an integer from 0 to 2^32 - 1, or leave it out'):format(fname, check.show(v)),
      3)
  end
  return v
end

function M.method(fname, name, v)
  for _, m in ipairs(M.METHODS) do
    if v == m then return v end
  end
  local near = type(v) == 'string' and check.nearest(v, M.METHODS)
  error(('%s: %s %s is not known%s; choose %s'):format(fname, name, check.show(v),
    near and (' (did you mean %q?)'):format(near) or '', table.concat(M.METHODS, ', ')), 3)
end

--- Options of one analysis, checked and completed.
---@param fname string for messages
---@param opts table|nil
---@param spec table of this module
---@return table
function M.complete(fname, opts, spec)
  local o = check.opts(fname, opts, spec)
  if type(o.verbose) ~= 'boolean' and type(o.verbose) ~= 'function' and not BARS[o.verbose] then
    error(('%s: verbose is %s; it must be a boolean value, or a function that is told of progress'):format(fname,
      check.show(o.verbose)), 3)
  end
  o.places, o.shared = devices.numbers(fname, o.device, 3), type(o.device) == 'table'
  o.seed = seed_of(fname, o.random_state)
  if o.max_memory then o.max_memory = M.bytes(fname, o.max_memory) end
  if spec.thresh_method then M.method(fname, 'thresh_method', o.thresh_method) end
  if spec.method then M.method(fname, 'method', o.method) end
  return o
end

--- The fractions of channels that make an epoch bad: the eleven of upstream (0, 0.1, ..., 0.9 as products of 0.1, then
--- 1), or those given.
---@param fname string
---@param list number[]|nil
---@return number[]
--- Errors: an empty list; a value outside [0, 1].
function M.consensus(fname, list)
  local out = {}
  if not list then
    for i = 0, 9 do out[i + 1] = i * 0.1 end
    out[11] = 1
    return out
  end
  if #list == 0 then error(fname .. ': consensus is an empty list; give fractions of the channels in [0, 1]', 3) end
  for i, k in ipairs(list) do
    if type(k) ~= 'number' or not (k >= 0 and k <= 1) then
      error(('%s: consensus must lie between 0 and 1, entry %d is %s'):format(fname, i, check.show(k)), 3)
    end
    out[i] = k
  end
  return out
end

--- How many channels may be repaired in an epoch: 1, 4 and min(P - 1, 32) of P picked channels, or the list given.
---@param fname string
---@param list integer[]|nil
---@param P integer picked channels of all types
---@return integer[]
--- Errors: fewer than 4 channels for the default; an empty list; an entry that is no whole number from 0.
function M.n_interpolate(fname, list, P)
  if not list then
    if P < 4 then
      error(('%s: too few channels, %d are picked and the default n_interpolate needs 4; give n_interpolate, such as '
        .. '{ 0, 1 }'):format(fname, P), 3)
    end
    return { 1, 4, math.min(P - 1, 32) }
  end
  if #list == 0 then
    error(fname .. ': n_interpolate is an empty list; give numbers of channels, such as { 1, 4 }', 3)
  end
  local out = {}
  for i, r in ipairs(list) do
    if type(r) ~= 'number' or r % 1 ~= 0 or r < 0 then
      error(('%s: n_interpolate must hold whole numbers from 0, entry %d is %s'):format(fname, i, check.show(r)), 3)
    end
    out[i] = r
  end
  return out
end

return M
