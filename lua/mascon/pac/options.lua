--- mascon.pac.options: the options of a coupling analysis, their defaults and their limits.
--
-- Owns the table of options and the checks that need more than one of them. May not know tensors of signals.
local check = require 'mascon.check'
local M = {}

M.MEASURES = { 'mi', 'mvl', 'ozk', 'hr', 'ndpac', 'plv', 'gc', 'glm' }
M.SURROGATES = { 'none', 'swap_trials', 'block_swap', 'time_lag', 'exhaustive' }

M.SPEC = {
  fs = { nil, 'number > 0' },
  pha_range_hz = { { 2, 20 }, 'table' }, pha_n_bands = { 10, 'integer >= 1' }, amp_range_hz = { { 60, 160 }, 'table' }, amp_n_bands = { 10, 'integer >= 1' },
  pha_bands_hz = { nil, 'any' }, amp_bands_hz = { nil, 'any' }, spacing = { 'linear', { 'linear', 'log' } }, band_clip = { nil, 'bool' },
  filter = { 'fir1', { 'fir1', 'butter_trunc', 'morlet' } }, n_cycles = { { 3, 6 }, 'table' }, morlet_width = { 7, 'number > 0' },
  edges = { 0, 'integer >= 0' }, demean = { nil, 'bool' }, mask = { nil, 'tensor' }, windows = { nil, 'table' },
  measure = { 'mi', M.MEASURES }, n_bins = { 18, 'integer >= 2' }, bin_norm = { nil, { 'mean', 'sum', 'pooled' } }, binning = { 'hard', { 'hard', 'soft' } },
  tau = { 0.01, 'number > 0' }, ndpac_p = { 0.05, 'number > 0' }, plv_entry = { 'filterfit', { 'filterfit', 'fit' } },
  n_perm = { 0, 'integer >= 0' }, surrogate = { 'block_swap', M.SURROGATES }, min_shift = { nil, 'integer >= 1' }, shifts = { nil, 'table' },
  norm = { 'z', { 'none', 'sub', 'div', 'subdiv', 'z' } }, mcp = { 'none', { 'none', 'maxstat', 'fdr', 'bonferroni' } }, p_threshold = { 0.05, 'number > 0' },
  seed = { 42, 'integer >= 0' }, return_surrogates = { false, 'bool' }, return_dist = { false, 'bool' },
  dtype = { 'f32', { 'f32', 'f64' } }, compat = { 'native', { 'native', 'tensorpac', 'gpac' } },
  x_amp = { nil, 'tensor' }, pairs = { nil, 'table' }, pool_segments = { false, 'bool' }, axes = { nil, 'string' },
  device = { 'auto', 'string' }, threads = { nil, 'integer >= 1' }, max_memory = { nil, 'number > 0 | string' }, progress = { false, 'bool | function' },
}

local function fail(level, fmt, ...) error('pac: ' .. fmt:format(...), level + 1) end

--- Bytes of "2GiB", "500M" or a number.
function M.bytes(v)
  if type(v) == 'number' then return v end
  local n, unit = tostring(v):match '^%s*([%d.]+)%s*([kKmMgGtT]?)i?[bB]?%s*$'
  n = tonumber(n)
  if not n then return nil end
  local f = { k = 2 ^ 10, m = 2 ^ 20, g = 2 ^ 30, t = 2 ^ 40 }
  return n * (f[unit:lower()] or 1)
end

--- Options checked and completed with what follows from others.
---@param opts table
---@param level integer caller to blame
---@return table
function M.complete(opts, level)
  local o = check.opts('pac', opts, M.SPEC, level + 1)
  if not o.fs then fail(level, 'option fs is missing; give the sampling rate in Hz, fs = 512') end
  if o.n_bins > 256 then fail(level, 'n_bins is %d; it must lie in 2..256', o.n_bins) end
  if o.n_perm == 1 then fail(level, 'n_perm is 1; give 0, or at least 2 surrogates') end
  for i = 1, 2 do
    if type(o.n_cycles[i]) ~= 'number' or not (o.n_cycles[i] > 0) then fail(level, 'n_cycles[%d] is %s; give two positive numbers {phase, amplitude}', i, check.show(o.n_cycles[i])) end
  end
  if o.ndpac_p > 1 then fail(level, 'ndpac_p is %g; it must lie in (0, 1]', o.ndpac_p) end
  if o.max_memory then
    local b = M.bytes(o.max_memory)
    if not b or b <= 0 then fail(level, 'max_memory is %s; give bytes, or a size such as "2GiB"', check.show(o.max_memory)) end
    o.max_memory = b
  end
  if o.device ~= 'auto' and o.device ~= 'cpu' then fail(level, 'device %s is not there: this build runs on the CPU; use "cpu" or "auto"', check.show(o.device)) end
  local native = o.compat == 'native'
  if o.demean == nil then o.demean = native end
  if o.bin_norm == nil then o.bin_norm = o.compat == 'tensorpac' and 'pooled' or o.compat == 'gpac' and 'sum' or 'mean' end
  if o.compat == 'gpac' then
    if opts.filter and opts.filter ~= 'butter_trunc' then fail(level, 'compat = "gpac" has one filter, butter_trunc') end
    if o.measure ~= 'mi' then fail(level, 'compat = "gpac" knows the measure mi only') end
    o.filter, o.binning, o.min_shift = 'butter_trunc', 'soft', o.min_shift or 1
  end
  if o.binning == 'soft' and o.measure ~= 'mi' and o.measure ~= 'hr' then fail(level, 'binning = "soft" is for the measures mi and hr') end
  if o.binning == 'soft' and o.bin_norm == 'pooled' then fail(level, 'bin_norm = "pooled" needs hard bins') end
  local moments = o.measure ~= 'mi' and o.measure ~= 'hr'
  o.moments = moments
  if moments and o.pool_segments then fail(level, 'pool_segments adds up bins, so it is for mi and hr') end
  if o.measure == 'ndpac' then o.surrogate = 'none' end
  if o.surrogate ~= 'exhaustive' and o.n_perm == 0 and not o.shifts then o.surrogate = 'none' end
  if o.shifts and o.surrogate == 'none' and o.measure ~= 'ndpac' then o.surrogate = 'block_swap' end
  return o
end

return M
