-- pac_errors_spec.lua - what pac.compute, pac.plan, pac.from_phases and pac.search say about input that cannot be
-- right.
--
-- Every message names the parameter, its value and the limit, and blames the line that made the call.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local pac = mc.pac

local O = { fs = 256, pha_bands_hz = { { 4, 8 } }, amp_bands_hz = { { 30, 50 } } }
local function with(more)
  local o = {}
  for k, v in pairs(O) do o[k] = v end
  for k, v in pairs(more or {}) do o[k] = v end
  return o
end
local function x(...)
  local shape = { ... }
  return mc.randn(#shape > 0 and shape or { 300 }, { seed = 1 })
end

--- f must raise a message with all the pieces, prefixed by a line of this file.
local function refuses(pieces, f, ...)
  local e = support.message(f, ...)
  assert.is_truthy(e:find('pac_errors_spec.lua:%d+: '), 'blames ' .. e)
  for _, piece in ipairs(pieces) do assert.is_truthy(e:find(piece, 1, true), ('%q is not in %q'):format(piece, e)) end
end

describe('pac.compute refuses', function()
  it('samples that are none', function()
    refuses({ 'x is 3', 'tensor' }, function() pac.compute(3, O) end)
    refuses({ 'x is ', 'give real samples', 'c128' }, function() pac.compute(mc.fft.fft(x()), O) end)
    refuses({ 'bool' }, function() pac.compute(mc.gt(x(), 0), O) end)
  end)

  it('a wrong rank and axes that do not fit', function()
    refuses({ 'f64[2,2,2,2,30]', '1 to 4 axes' }, function() pac.compute(x(2, 2, 2, 2, 30), O) end)
    refuses({ 'f64[2,300]', '"CST"' }, function() pac.compute(x(2, 300), with { axes = 'CST' }) end)
    refuses({ '"TC"', 'samples last' }, function() pac.compute(x(300, 2), with { axes = 'TC' }) end)
    refuses({ 'f64[1]', 'at least 2 samples' }, function() pac.compute(x(1), O) end)
    refuses({ 'f64[0,300]', 'no samples' }, function() pac.compute(mc.zeros { 0, 300 }, O) end)
  end)

  it('a length that differs from the plan', function()
    refuses({ '301 samples', 'plan is for 300' }, function() pac.plan(300, O):run(x(301)) end)
    refuses({ 'T is 1', 'integer >= 2' }, function() pac.plan(1, O) end)
  end)

  it('a sampling rate that is none', function()
    refuses({ 'fs is missing' }, function() pac.compute(x(), {}) end)
    refuses({ 'fs is missing' }, function() pac.compute(x()) end)
    for _, fs in ipairs { 0, -5 } do
      refuses({ 'fs is ' .. fs, 'number > 0' }, function() pac.compute(x(), with { fs = fs }) end)
    end
    refuses({ 'fs is inf', 'finite' }, function() pac.compute(x(), with { fs = math.huge }) end)
    refuses({ 'fs is nan' }, function() pac.compute(x(), with { fs = 0 / 0 }) end)
  end)

  it('bands upside down, beyond fs/2, or none', function()
    refuses({ 'pha_bands_hz band 1', '[8, 4] Hz', 'below the high edge' },
      function() pac.compute(x(), with { pha_bands_hz = { { 8, 4 } } }) end)
    refuses({ 'amp_bands_hz band 2', '[50, 50] Hz' },
      function() pac.compute(x(), with { amp_bands_hz = { { 30, 50 }, { 50, 50 } } }) end)
    refuses({ 'amp_bands_hz band 1', '[30, 128] Hz', 'fs/2 = 128' },
      function() pac.compute(x(), with { amp_bands_hz = { { 30, 128 } } }) end)
    refuses({ 'pha_bands_hz band 1', '[0, 4] Hz', 'above 0' },
      function() pac.compute(x(), with { pha_bands_hz = { { 0, 4 } } }) end)
    refuses({ 'amp_range_hz', '[60, 160] Hz', 'fs/2 = 128' }, function() pac.compute(x(), { fs = 256 }) end)
    refuses({ 'pha_range_hz', '[20, 2] Hz' }, function() pac.compute(x(), { fs = 512, pha_range_hz = { 20, 2 } }) end)
    refuses({ 'amp_bands_hz', 'empty' }, function() pac.compute(x(), with { amp_bands_hz = {} }) end)
    refuses({ 'pha_n_bands is 0', 'integer >= 1' }, function() pac.compute(x(), { fs = 512, pha_n_bands = 0 }) end)
    refuses({ 'n_cycles[2] is 0', 'positive' }, function() pac.compute(x(), with { n_cycles = { 3, 0 } }) end)
    refuses({ "'mrez'", 'mres' }, function() pac.compute(x(), with { pha_bands_hz = 'mrez' }) end)
  end)

  it('counts that make no sense', function()
    refuses({ 'n_perm is 1', 'at least 2' }, function() pac.compute(x(), with { n_perm = 1 }) end)
    refuses({ 'n_perm is -1', 'integer >= 0' }, function() pac.compute(x(), with { n_perm = -1 }) end)
    refuses({ 'n_bins is 1', 'integer >= 2' }, function() pac.compute(x(), with { n_bins = 1 }) end)
    refuses({ 'n_bins is 257', '2..256' }, function() pac.compute(x(), with { n_bins = 257 }) end)
    refuses({ 'p_threshold is 1', '(0, 1)' }, function() pac.compute(x(), with { p_threshold = 1 }) end)
    refuses({ 'ndpac_p is 2', '(0, 1]' }, function() pac.compute(x(), with { measure = 'ndpac', ndpac_p = 2 }) end)
    refuses({ 'threads is 0' }, function() pac.compute(x(), with { threads = 0 }) end)
  end)

  it('shifts that do not fit the recording', function()
    refuses({ 'min_shift is 151', '300 samples', '2 min_shift <= samples' },
      function() pac.compute(x(), with { n_perm = 5, min_shift = 151 }) end)
    refuses({ 'min_shift is 150', 'leaves 1 shift' },
      function() pac.compute(x(), with { surrogate = 'exhaustive', min_shift = 150 }) end)
    refuses({ 'shifts[2] is 300', '0..299' }, function() pac.compute(x(), with { shifts = { 5, 300 } }) end)
    refuses({ 'shifts[1] is 1.5' }, function() pac.compute(x(), with { shifts = { 1.5, 3 } }) end)
    refuses({ 'shifts is a list of 1', 'at least 2' }, function() pac.compute(x(), with { shifts = { 5 } }) end)
    refuses({ 'shifts are given', 'swap_trials' },
      function() pac.compute(x(), with { shifts = { 5, 6 }, surrogate = 'swap_trials' }) end)
  end)

  it('what leaves fewer than 2 samples', function()
    refuses({ 'edges is 150', '300 samples', 'fewer than 2' }, function() pac.compute(x(), with { edges = 150 }) end)
    refuses({ 'windows[1] is {0, 20}', '1..300' }, function() pac.compute(x(), with { windows = { { 0, 20 } } }) end)
    refuses({ 'windows[2] is {15, 40}' }, function() pac.compute(x(), with { windows = { { 1, 20 }, { 15, 40 } } }) end)
    refuses({ 'windows[1] is {5, 301}', '1..300' }, function() pac.compute(x(), with { windows = { { 5, 301 } } }) end)
    refuses({ 'windows is an empty list' }, function() pac.compute(x(), with { windows = {} }) end)
    refuses({ '1 of 300 samples', 'at least 2' }, function() pac.compute(x(), with { windows = { { 7, 7 } } }) end)
    refuses({ 'mask keeps no sample' },
      function() pac.compute(x(), with { mask = mc.zeros({ 300 }, { dtype = 'bool' }) }) end)
    refuses({ 'mask is bool[299]', '300' },
      function() pac.compute(x(), with { mask = mc.ones({ 299 }, { dtype = 'bool' }) }) end)
    refuses({ 'more than one of edges, mask and windows' },
      function() pac.compute(x(), with { edges = 5, windows = { { 1, 100 } } }) end)
  end)

  it('trial swaps without trials, and permutations that are none', function()
    refuses({ 'swap_trials', 'one segment' },
      function() pac.compute(x(), with { surrogate = 'swap_trials', n_perm = 5 }) end)
    refuses({ 'swap_trials', 'one segment' },
      function() pac.compute(x(2, 1, 300), with { surrogate = 'swap_trials', n_perm = 5, axes = 'CST' }) end)
    refuses({ 'permutations[2]', '1..3', 'entry 3 is 1' },
      function() pac.compute(x(3, 300), with { axes = 'ST', permutations = { { 1, 2, 3 }, { 1, 2, 1 } } }) end)
    refuses({ 'permutations[1]', 'entry 3 is nil' },
      function() pac.compute(x(3, 300), with { axes = 'ST', permutations = { { 1, 2 }, { 1, 2 } } }) end)
    refuses({ 'permutations holds 1' },
      function() pac.compute(x(3, 300), with { axes = 'ST', permutations = { { 1, 2, 3 } } }) end)
    refuses({ 'permutations are given', 'block_swap' }, function()
      pac.compute(x(3, 300),
        with { axes = 'ST', surrogate = 'block_swap', permutations = { { 1, 2, 3 }, { 2, 1, 3 } } })
    end)
    refuses({ 'pool_segments', 'no segments', 'axes' },
      function() pac.compute(x(3, 300), with { pool_segments = true }) end)
  end)

  it('a second signal or channel pairs that do not fit', function()
    refuses({ 'x_amp is f64[2,299]', 'x is f64[2,300]' },
      function() pac.compute(x(2, 300), with { x_amp = x(2, 299) }) end)
    refuses({ 'x_amp is c128' }, function() pac.compute(x(2, 300), with { x_amp = mc.fft.fft(x(2, 300)) }) end)
    refuses({ 'pairs[2]', 'channel 3', '1 to 2' },
      function() pac.compute(x(2, 300), with { pairs = { { 1, 2 }, { 3, 1 } } }) end)
    refuses({ 'pairs[1]', 'channel 0' }, function() pac.compute(x(2, 300), with { pairs = { { 0, 1 } } }) end)
    refuses({ 'pairs[1] is 4' }, function() pac.compute(x(2, 300), with { pairs = { 4 } }) end)
    refuses({ 'pairs is an empty list' }, function() pac.compute(x(2, 300), with { pairs = {} }) end)
  end)

  it('combinations that do not go together', function()
    refuses({ 'binning is "soft"', "'mvl'" },
      function() pac.compute(x(), with { measure = 'mvl', binning = 'soft' }) end)
    refuses({ 'pooled', 'soft' }, function() pac.compute(x(), with { binning = 'soft', bin_norm = 'pooled' }) end)
    refuses({ 'pool_segments', "'gc'" },
      function() pac.compute(x(2, 300), with { axes = 'ST', measure = 'gc', pool_segments = true }) end)
    refuses({ "filter is 'fir1'", 'butter_trunc' },
      function() pac.compute(x(), with { compat = 'gpac', filter = 'fir1' }) end)
    refuses({ "measure is 'mvl'", 'gpac' }, function() pac.compute(x(), with { compat = 'gpac', measure = 'mvl' }) end)
    refuses({ "binning is 'hard'", 'gpac' },
      function() pac.compute(x(), with { compat = 'gpac', binning = 'hard' }) end)
    refuses({ 'device "moon" is unknown', 'cpu' }, function() pac.compute(x(), with { device = 'moon' }) end)
  end)

  it('unknown options and values, with the nearest known one', function()
    refuses({ 'n_prem', 'did you mean "n_perm"' }, function() pac.compute(x(), with { n_prem = 5 }) end)
    refuses({ 'pha_band_hz', 'did you mean "pha_bands_hz"' },
      function() pac.compute(x(), with { pha_band_hz = { { 4, 8 } } }) end)
    refuses({ "measure is 'mvll'", 'did you mean "mvl"' }, function() pac.compute(x(), with { measure = 'mvll' }) end)
    refuses({ "surrogate is 'block'", 'block_swap' }, function() pac.compute(x(), with { surrogate = 'block' }) end)
    refuses({ "mcp is 'bonferoni'", 'bonferroni' }, function() pac.compute(x(), with { mcp = 'bonferoni' }) end)
    refuses({ "dtype is 'f46'", 'f64' }, function() pac.compute(x(), with { dtype = 'f46' }) end)
    refuses({ 'options are 512' }, function() pac.compute(x(), 512) end)
  end)

  it('too little memory, with what is needed', function()
    local e = support.message(function() pac.compute(x(4, 5000), with { max_memory = '10k', measure = 'plv' }) end)
    assert.is_truthy(e:find 'pac_errors_spec.lua:%d+: ')
    local said, needs =
      e:match 'max_memory is ([%d.]+) MiB, .-the smallest block.-raise max_memory to at least ([%d.]+) MiB'
    assert.is_truthy(said)
    assert.is_true(tonumber(needs) > tonumber(said))
    -- what it says it needs is enough
    local r = pac.compute(x(4, 5000), with { max_memory = needs + 2 .. 'M', measure = 'plv' })
    assert.equal('{4, 1, 1}', tostring(r.pac.shape))
    refuses({ "max_memory is 'lots'", '2GiB' }, function() pac.compute(x(), with { max_memory = 'lots' }) end)
  end)
end)

describe('pac.from_phases refuses', function()
  local function phi(...) return (mc.rand({ ... }, { seed = 1 }) - 0.5) * 6 end
  local function amp(...) return mc.rand({ ... }, { seed = 2 }) end

  it('degrees and unwrapped phases', function()
    refuses({ 'phase runs from', 'more than 2 pi', 'degrees' },
      function() pac.from_phases(phi(2, 100) * (180 / math.pi), amp(3, 100)) end)
    refuses({ 'more than 2 pi', 'unwrapped' },
      function() pac.from_phases(mc.arange(0, 99):reshape(1, 100), amp(3, 100)) end)
    assert.is_true(mc.all(mc.isfinite(pac.from_phases(phi(2, 100) + math.pi, amp(3, 100)).pac)))
  end)

  it('shapes that differ', function()
    refuses({ 'phase is f64[2,100]', 'amp is f64[3,99]' }, function() pac.from_phases(phi(2, 100), amp(3, 99)) end)
    refuses({ 'phase is f64[2,2,100]', 'amp is f64[3,3,100]' },
      function() pac.from_phases(phi(2, 2, 100), amp(3, 3, 100)) end)
    refuses({ 'phase is f64[2,100]', 'amp is f64[1,3,100]' },
      function() pac.from_phases(phi(2, 100), amp(1, 3, 100)) end)
    refuses({ 'phase is f64[100]' }, function() pac.from_phases(phi(100), amp(3, 100)) end)
    refuses({ 'amp is 7' }, function() pac.from_phases(phi(2, 100), 7) end)
  end)

  it('amplitudes below zero, options of filters, bands that are not theirs', function()
    refuses({ 'amp goes down to -1', 'not negative' }, function() pac.from_phases(phi(2, 100), amp(3, 100) * 0 - 1) end)
    refuses({ 'option filter', 'not filtered' },
      function() pac.from_phases(phi(2, 100), amp(3, 100), { filter = 'fir1' }) end)
    refuses({ 'pha_bands_hz holds 1', 'there are 2' },
      function() pac.from_phases(phi(2, 100), amp(3, 100), { fs = 256, pha_bands_hz = { { 4, 8 } } }) end)
    refuses({ 'fs is missing' },
      function() pac.from_phases(phi(2, 100), amp(3, 100), { pha_bands_hz = { { 4, 8 }, { 5, 9 } } }) end)
    refuses({ 'n_perm is 1' }, function() pac.from_phases(phi(2, 100), amp(3, 100), { n_perm = 1 }) end)
    refuses({ 'swap_trials', 'one segment' },
      function() pac.from_phases(phi(2, 100), amp(3, 100), { n_perm = 4, surrogate = 'swap_trials' }) end)
  end)
end)

describe('pac.search.best refuses', function()
  local S = { fs = 256, pha_grid_hz = { 4, 8 }, amp_grid_hz = { 30, 50 } }
  local function s(more)
    local o = {}
    for k, v in pairs(S) do o[k] = v end
    for k, v in pairs(more) do o[k] = v end
    return o
  end
  it('grids that span no band and options that name bands', function()
    refuses({ 'pha_grid_hz is missing' }, function() pac.search.best(x(), { fs = 256, amp_grid_hz = { 30, 50 } }) end)
    refuses({ 'pha_bands_hz.search', 'at least 2' }, function() pac.search.best(x(), s { pha_grid_hz = { 4 } }) end)
    refuses({ 'fs/2 = 128' }, function() pac.search.best(x(), s { amp_grid_hz = { 30, 128 } }) end)
    refuses({ 'amp_grid_hz', '50 to 60 Hz wide' }, function() pac.search.best(x(), s { amp_width_hz = { 50, 60 } }) end)
    refuses({ 'pha_bands_hz' }, function() pac.search.best(x(), s { pha_bands_hz = { { 4, 8 } } }) end)
    refuses({ 'fs is missing' },
      function() pac.search.best(x(), { pha_grid_hz = { 4, 8 }, amp_grid_hz = { 30, 50 } }) end)
  end)
  it('modes whose maps depend on which bands share a call', function()
    refuses({ "compat is 'tensorpac'" }, function() pac.search.best(x(), s { compat = 'tensorpac' }) end)
    refuses({ "bin_norm is 'pooled'" }, function() pac.search.best(x(), s { bin_norm = 'pooled' }) end)
    refuses({ "filter is 'butter_trunc'" }, function() pac.search.best(x(), s { filter = 'butter_trunc' }) end)
  end)
  it('what compute refuses', function()
    refuses({ 'n_perm is 1' }, function() pac.search.best(x(), s { n_perm = 1 }) end)
    refuses({ 'x is 3' }, function() pac.search.best(3, S) end)
    refuses({ 'swap_trials', 'one segment' },
      function() pac.search.best(x(), s { surrogate = 'swap_trials', n_perm = 5 }) end)
  end)
end)
