-- device_workflows_spec.lua - phase-amplitude coupling and autoreject of samples on `ref`: the bits of the CPU. Maps
-- and decisions come to host memory, samples stay where they are.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local sets = support.load 'epochs'
local ar = mc.autoreject

local function same(want, got, at, device)
  if not mc.is_tensor(want) then return end
  assert.equal(device or 'cpu', got.device, at)
  assert.equal(want.dtype, got.dtype, at)
  assert.equal(tostring(want.shape), tostring(got.shape), at)
  got = got:to { device = 'cpu' }
  local equal = mc.logical_or(mc.eq(want, got), mc.logical_and(mc.ne(want, want), mc.ne(got, got)))
  if not mc.all(equal) then error(at .. ' differs', 0) end
end

describe('pac on a device', function()
  local x, flawed = mc.randn({ 4, 900 }, { seed = 1 }), mc.randn({ 4, 900 }, { seed = 1 })
  flawed[{ 2, 7 }], flawed[3] = mc.nan, 1
  teardown(function() x, flawed = nil, nil end)
  local CASES = { rows = {}, flaws = { x = 'flawed' }, ['flaws and locking'] = { measure = 'plv', x = 'flawed' },
    ['flaws and information'] = { measure = 'gc', x = 'flawed' }, vectors = { measure = 'mvl' },
    butterworth = { filter = 'butter_trunc' }, wavelets = { filter = 'morlet' }, ['soft bins'] = { binning = 'soft' },
    ['every shift'] = { surrogate = 'exhaustive', n_perm = 0 }, trials = { surrogate = 'swap_trials', axes = 'ST' },
    ['pooled counts'] = { bin_norm = 'pooled' }, ['pooled segments'] = { pool_segments = true, axes = 'ST' },
    windows = { windows = { { 1, 400 }, { 500, 880 } } }, pairs = { pairs = { { 1, 2 }, { 3, 4 } } },
    all = { return_surrogates = true, return_dist = true, norm = 'sub', dtype = 'f64' },
    tensorpac = { compat = 'tensorpac', measure = 'plv' }, gpac = { compat = 'gpac' },
    ['a measure of one\'s own'] = { measure = function(p, a) return mc.matmul(mc.cos(p), a.mT) / p.shape[3] end },
  }
  local names = {}
  for name in pairs(CASES) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    it(name, function()
      mc.scope(function()
        local case, o = CASES[name], { fs = 500, pha_n_bands = 2, amp_n_bands = 9, n_perm = 12, seed = 3 }
        for k, v in pairs(case) do if k ~= 'x' then o[k] = v end end
        local samples = case.x and flawed or x
        local want, got = mc.pac.compute(samples, o), mc.pac.compute(samples:to 'ref', o)
        for k, v in pairs(want) do same(v, got[k], k) end
      end)
    end)
  end
end)

describe('autoreject on a device', function()
  local function decided(e)
    local m = ar.fit(e, { random_state = 5, cv = 4, verbose = false })
    local clean, log = m:transform(e, { allow_empty = true })
    local t = m.types.eeg
    return { labels = log.labels, bad = log.bad_epochs, threshold = t.threshold, losses = t.losses, loss = t.loss,
      corr = ar.ransac(e, { random_state = 5 }).corr }, clean:read()
  end
  it('decides and repairs as on the CPU', function()
    local e = sets.random(24, 11, 120, { seed = 3 })
    local there = mc.meeg.epochs.new { data = e.data:to 'ref', fs = e.fs, channels = e.channels }
    local want, clean = decided(e)
    local got, mended = decided(there)
    for k, v in pairs(want) do same(v, got[k], k) end
    same(clean, mended, 'clean', 'ref:0')
  end)
end)
