-- options.lua - the options of a coupling analysis, their defaults and their limits.
--
-- Holds the table of options and the checks that need more than one of them.
local check = require 'mascon.core.check'
local devices = require 'mascon.core.devices'
local place = require 'mascon.core.place'
local error = check.error
local M = {}

M.MEASURES = { 'mi', 'mvl', 'ozk', 'hr', 'ndpac', 'plv', 'gc', 'glm' }
M.SURROGATES = { 'none', 'swap_trials', 'block_swap', 'time_lag', 'exhaustive' }

M.SPEC = {
  fs = { nil, 'number > 0' },
  pha_range_hz = { { 2, 20 }, 'table' }, pha_n_bands = { 10, 'integer >= 1' }, amp_range_hz = { { 60, 160 }, 'table' },
  amp_n_bands = { 10, 'integer >= 1' }, pha_bands_hz = { nil, 'any' }, amp_bands_hz = { nil, 'any' },
  spacing = { 'linear', { 'linear', 'log' } }, band_clip = { nil, 'bool' },
  filter = { 'fir1', { 'fir1', 'butter_trunc', 'morlet' } }, n_cycles = { { 3, 6 }, 'table' },
  pad = { nil, 'integer >= 0' }, morlet_width = { 7, 'number > 0' },
  edges = { 0, 'integer >= 0' }, demean = { nil, 'bool' }, mask = { nil, 'table | tensor' }, windows = { nil, 'table' },
  measure = { 'mi', M.MEASURES }, measure_name = { nil, 'string' }, n_bins = { 18, 'integer >= 2' }, bin_norm = { nil,
    { 'mean', 'sum', 'pooled' } }, binning = { 'hard', { 'hard', 'soft' } },
  tau = { 0.01, 'number > 0' }, ndpac_p = { 0.05, 'number > 0' }, plv_entry = { 'filterfit', { 'filterfit', 'fit' } },
  segment_length = { nil, 'number >= 0' },
  n_perm = { 0, 'integer >= 0' }, surrogate = { 'block_swap', M.SURROGATES }, min_shift = { nil, 'integer >= 1' },
  null_shift = { nil, 'integer >= 0' }, shifts = { nil, 'table | tensor' }, permutations = { nil, 'table | tensor' },
  norm = { 'z', { 'none', 'sub', 'div', 'subdiv', 'z' } },
  mcp = { 'maxstat', { 'none', 'maxstat', 'fdr', 'bonferroni' } },
  mcp_scope = { 'run', { 'run', 'channel' } }, maxstat_of = { nil, { 'z', 'raw' } },
  p_threshold = { 0.05, 'number > 0' }, seed = { 42, 'integer >= 0' }, return_surrogates = { false, 'bool' },
  return_sums = { false, 'bool' }, return_dist = { false, 'bool' },
  dtype = { 'f32', { 'f32', 'f64' } }, compat = { 'native', { 'native', 'tensorpac', 'gpac' } },
  x_amp = { nil, 'tensor' }, pairs = { nil, 'table' }, pool_segments = { false, 'bool' }, axes = { nil, 'string' },
  device = place.ANALYSIS, threads = { nil, 'integer >= 1' },
  max_memory = { nil, 'number > 0 | string' },
  progress = { false, 'bool | function' },
}

-- what only a filter needs: not for phases and amplitudes that are given
local FILTERING = { 'pha_range_hz', 'pha_n_bands', 'amp_range_hz', 'amp_n_bands', 'spacing', 'band_clip', 'filter',
  'n_cycles', 'pad', 'morlet_width', 'demean',
  'x_amp', 'segment_length' }

local function fail(fmt, ...) error('pac: ' .. fmt:format(...), 2) end

--- Bytes of "2GiB", "500M" or a number.
---@param v number|string
---@return number|nil nil where the text is no size
function M.bytes(v)
  if type(v) == 'number' then return v end
  if type(v) ~= 'string' then fail('max_memory is %s; give bytes, or a size such as "2GiB"', check.show(v)) end
  local n, unit = tostring(v):match '^%s*([%d.]+)%s*([kKmMgGtT]?)i?[bB]?%s*$'
  n = tonumber(n)
  if not n then return nil end
  local f = { k = 2 ^ 10, m = 2 ^ 20, g = 2 ^ 30, t = 2 ^ 40 }
  return n * (f[unit:lower()] or 1)
end

local MOST_FS = 1e12 -- orders of filters stay whole numbers

local function complete_numbers(o)
  if o.fs and o.fs == math.huge then fail('fs is inf; it must be finite and above 0') end
  if o.fs and o.fs > MOST_FS then fail('fs is %g Hz; give the sampling rate in Hz, at most %g', o.fs, MOST_FS) end
  if o.n_bins > 256 then fail('n_bins is %d; it must lie in 2..256', o.n_bins) end
  if o.n_perm == 1 then fail('n_perm is 1; give 0, or at least 2 surrogates') end
  if o.p_threshold >= 1 then fail('p_threshold is %g; it must lie in (0, 1)', o.p_threshold) end
  for i = 1, 2 do
    local n = o.n_cycles[i]
    if type(n) ~= 'number' or not (n > 0 and n < math.huge) then
      fail('n_cycles[%d] is %s; give two positive numbers {phase, amplitude}', i, check.show(n))
    end
  end
  if o.ndpac_p > 1 then fail('ndpac_p is %g; it must lie in (0, 1]', o.ndpac_p) end
  if o.max_memory then
    local b = M.bytes(o.max_memory)
    if not b or b <= 0 then fail('max_memory is %s; give bytes, or a size such as "2GiB"', check.show(o.max_memory)) end
    o.max_memory = b
  end
  o.places = devices.numbers('pac', o.device, 3)
  o.placed = o.places[1] -- of the first rows
end

local function complete_compat(o, given)
  if o.demean == nil then o.demean = o.compat == 'native' end
  if o.bin_norm == nil then
    o.bin_norm = o.compat == 'tensorpac' and 'pooled' or o.compat == 'gpac' and 'sum' or 'mean'
  end
  if o.maxstat_of == nil then o.maxstat_of = o.compat == 'native' and 'z' or 'raw' end
  if o.compat ~= 'gpac' then return end
  if given.filter and given.filter ~= 'butter_trunc' then
    fail('filter is %s; compat = "gpac" has one filter, butter_trunc', check.show(given.filter))
  end
  if given.binning == 'hard' then fail("binning is 'hard'; compat = \"gpac\" has soft bins only") end
  if o.measure ~= 'mi' then fail('measure is %s; compat = "gpac" knows the measure mi only', check.show(o.measure)) end
  o.filter, o.binning, o.min_shift = 'butter_trunc', 'soft', o.min_shift or 1
end

--- Which kind of surrogates is left, and remarks on options that have no effect.
local function complete_surrogates(o, given)
  local notes = {}
  if o.permutations and given.surrogate and given.surrogate ~= 'swap_trials' then
    fail('permutations are given and surrogate is %s; permutations are for "swap_trials"', check.show(o.surrogate))
  end
  if o.shifts and (o.surrogate == 'swap_trials' or given.surrogate == 'none') then
    fail('shifts are given and surrogate is %s; shifts are for "block_swap" and "time_lag"', check.show(o.surrogate))
  end
  if o.permutations then o.surrogate = 'swap_trials' end
  local drawn = o.n_perm > 0 or o.shifts or o.permutations
  if o.measure == 'ndpac' then
    if drawn or o.surrogate == 'exhaustive' then
      notes[1] = 'ndpac carries its own threshold (ndpac_p), so no surrogates are made and there are no z and p'
    end
    o.surrogate = 'none'
  elseif o.surrogate ~= 'exhaustive' and not drawn then
    if given.surrogate and given.surrogate ~= 'none' then
      notes[1] = ('surrogate is %s and n_perm is 0, so no surrogates are made; give n_perm'):format(o.surrogate)
    end
    o.surrogate = 'none'
  end
  if given.mcp and o.mcp ~= 'none' and o.surrogate == 'none' then
    notes[#notes + 1] = ('mcp is %s, but without surrogates there are no p-values'):format(o.mcp)
  end
  o.notes = notes
end

local function surrogates(o) return o.surrogate ~= 'none' end
local function drawn(o) return surrogates(o) and o.surrogate ~= 'exhaustive' and not o.shifts and not o.permutations end
local function shifted(o) return surrogates(o) and o.surrogate ~= 'swap_trials' end
local function corrected(o) return surrogates(o) and o.mcp ~= 'none' end
local function binned(o) return not o.moments end

--- When an option does something, and in words; those left out always do, or are refused where they do not.
local DRAWN = 'surrogates are drawn (block_swap, time_lag, swap_trials)'
local BINNED = 'phases are binned (mi, hr)'
local ACTS = {
  { 'n_perm', drawn, DRAWN }, { 'seed', drawn, DRAWN },
  { 'min_shift', shifted, 'surrogates are shifts' }, { 'null_shift', shifted, 'surrogates are shifts' },
  { 'norm', surrogates, 'there are surrogates' }, { 'mcp_scope', corrected, 'p-values are corrected' },
  { 'maxstat_of', function(o) return corrected(o) and o.mcp == 'maxstat' end, 'mcp is "maxstat"' },
  { 'n_bins', function(o) return binned(o) or o.own end, BINNED },
  { 'bin_norm', function(o) return binned(o) and not o.own end, BINNED }, { 'return_dist', binned, BINNED },
  { 'tau', function(o) return o.binning == 'soft' end, 'binning is "soft"' },
  { 'ndpac_p', function(o) return o.measure == 'ndpac' end, 'measure is "ndpac"' },
  { 'plv_entry', function(o) return o.measure == 'plv' end, 'measure is "plv"' },
  { 'n_cycles', function(o) return o.filter == 'fir1' end, 'filter is "fir1"' },
  { 'morlet_width', function(o) return o.filter == 'morlet' end, 'filter is "morlet"' },
}

--- Remarks on options that were given another value than the default and do nothing.
local function complete_notes(o, given)
  for _, rule in ipairs(ACTS) do
    local name, acts, where = unpack(rule)
    if given[name] ~= nil and given[name] ~= M.SPEC[name][1] and not acts(o) then
      o.notes[#o.notes + 1] = ('option %s does nothing here: it acts where %s'):format(name, where)
    end
  end
end

--- Options checked by a table of them; a measure of the user is taken out first, since choices are names.
---@param fname string for messages
---@param opts table|nil
---@param spec? table as check.opts has it (M.SPEC)
---@return table options with their defaults
---@return function|nil measure
---@return table given without the function
function M.take_own(fname, opts, spec)
  if opts ~= nil and type(opts) ~= 'table' then fail('options are %s; give a table', check.show(opts)) end
  local own, rest = opts and type(opts.measure) == 'function' and opts.measure or nil, opts or {}
  if own then
    rest = {}
    for k, v in pairs(opts) do rest[k] = v end
    rest.measure = nil
  end
  return check.opts(fname, rest, spec or M.SPEC, 5), own, rest
end

local function complete_own(o, own)
  if not own then
    if o.measure_name then fail('measure_name is %s and measure is %s; a name is for a measure that is a function',
      check.show(o.measure_name), check.show(o.measure)) end
    return
  end
  o.own, o.measure = own, o.measure_name or 'own measure'
  for _, name in ipairs(M.MEASURES) do
    if o.measure == name then fail('measure_name is %s, which is a built-in measure; choose another name',
      check.show(name)) end
  end
  if o.compat ~= 'native' then fail('measure is a function and compat is %s; functions need compat = "native"',
    check.show(o.compat)) end
end

--- Options checked and completed with what follows from others.
---@param opts table
---@param phases? boolean phases and amplitudes are given, so that nothing is filtered and fs may be missing
---@return table
function M.complete(opts, phases)
  local o, own
  o, own, opts = M.take_own('pac', opts)
  complete_own(o, own)
  if phases then
    for _, name in ipairs(FILTERING) do
      if opts[name] ~= nil then
        fail('option %s is for filters; phases and amplitudes that are given are not filtered', name)
      end
    end
  elseif not o.fs then
    fail('option fs is missing; give the sampling rate in Hz, fs = 512')
  end
  complete_numbers(o)
  local moments = o.measure ~= 'mi' and o.measure ~= 'hr'
  o.moments = moments
  complete_compat(o, opts)
  if o.binning == 'soft' and moments then
    fail('binning is "soft" and measure is %s; soft bins are for the measures mi and hr', check.show(o.measure))
  end
  if o.binning == 'soft' and o.bin_norm == 'pooled' then
    fail('bin_norm is "pooled" and binning is "soft"; pooled counts need hard bins')
  end
  if o.return_sums and (moments or o.own or o.binning == 'soft') then
    fail('return_sums is true; sums by phase bin are there for the measures mi and hr with hard bins')
  end
  if moments and o.pool_segments then
    fail('pool_segments is true and measure is %s; pooling adds up bins, so it is for mi and hr', check.show(o.measure))
  end
  complete_surrogates(o, opts)
  complete_notes(o, opts)
  return o
end

return M
