-- pac_own_spec.lua - coupling measures that are Lua functions: the same results as a built-in measure on every route,
-- and what they are refused for.
local mc = require 'mascon'
local pac = mc.pac
local generate = pac.generate

local function with(base, more)
  local o = {}
  for k, v in pairs(base) do o[k] = v end
  for k, v in pairs(more or {}) do o[k] = v end
  return o
end

--- The mean vector length, on tensors.
local function mvl(phase, amp)
  local t = mc.permute_dims(amp, { 1, 3, 2 })
  return mc.hypot(mc.matmul(mc.cos(phase), t), mc.matmul(mc.sin(phase), t)) / phase.shape[3]
end

local function close(want, got, tol, what)
  local a, b = want:to 'f64', got:to 'f64'
  assert.equal(tostring(a.shape), tostring(b.shape), what)
  local same = mc.logical_or(mc.logical_or(mc.eq(a, b), mc.logical_and(mc.isnan(a), mc.isnan(b))),
    mc.le(mc.abs(a - b), tol * (1 + mc.abs(a))))
  assert.is_true(mc.all(same), what)
end

local O = { fs = 256, pha_bands_hz = { { 4, 8 }, { 8, 12 } }, amp_bands_hz = { { 30, 50 }, { 50, 70 }, { 60, 80 } },
  axes = 'CST', dtype = 'f64', return_surrogates = true }
local NAMES = { 'pac', 'z', 'p', 'surr_mean', 'surr_std', 'surrogates', 'status', 'standard', 'surr_max', 'surr_near',
  'normalized' }
local function rows()
  return (generate.noise(300, { 1, 2, 3, 4, 5, 6 }) + generate.g1 { n = 300, fs = 256, fp = 6, fa = 60, sigma = 0,
    segments = 6 }):reshape(2, 3, 300)
end

local function agree(o, x, what, tol)
  local a, b = pac.compute(x, with(o, { measure = 'mvl' })), pac.compute(x, with(o, { measure = mvl }))
  for _, name in ipairs(NAMES) do
    assert.equal(a[name] == nil, b[name] == nil, what .. ' ' .. name)
    if a[name] then close(a[name], b[name], tol or 1e-8, what .. ' ' .. name) end
  end
end

describe('an own measure', function()
  it('gives what the built-in measure of the same formula gives', function()
    local x = rows()
    for i, more in ipairs {
      { n_perm = 19 }, { surrogate = 'exhaustive' }, { n_perm = 19, maxstat_of = 'raw' },
      { n_perm = 19, surrogate = 'swap_trials' }, { n_perm = 9, filter = 'morlet' }, { n_perm = 9, edges = 20 },
      { n_perm = 9, pairs = { { 1, 2 }, { 2, 1 } } }, { n_perm = 9, mcp_scope = 'channel' },
      { n_perm = 9, mcp = 'fdr', norm = 'sub' }, { n_perm = 9, x_amp = mc.flip(x) },
      { n_perm = 9, mask = mc.gt(generate.noise(900, 3):reshape(3, 300), -2) }, { shifts = { 0, 0, 100 } },
    } do agree(with(O, more), x, 'case ' .. i) end
    agree(with(O, { n_perm = 9, dtype = 'f32' }), x, 'f32', 1e-4)
  end)

  it('meets NaN as a built-in measure does', function()
    local x = rows()
    local bad = x:copy()
    bad[{ 1, 2, 5 }] = 0 / 0
    for i, more in ipairs { {}, { surrogate = 'swap_trials', permutations = { { 2, 1, 3 }, { 3, 1, 2 },
    { 1, 3, 2 } } } } do agree(with(with(O, { n_perm = 9 }), more), bad, 'bad ' .. i) end
    local a, b = with(O, { n_perm = 9, x_amp = bad }), with(O, { n_perm = 9, x_amp = x })
    agree(a, x, 'bad amplitude')
    agree(b, bad, 'bad phase')
  end)

  it('works on phases and amplitudes that are given, in blocks, and in a search', function()
    local phi, amp = (generate.uniform(3 * 2 * 90, 3) * 6 - 3):reshape(3, 2, 90), generate.uniform(3 * 4 * 90,
      4):reshape(3, 4, 90)
    local o = { n_perm = 9, dtype = 'f64' }
    close(pac.from_phases(phi, amp, with(o, { measure = 'mvl' })).z, pac.from_phases(phi, amp, with(o,
      { measure = mvl })).z, 1e-9)
    amp[{ 2, 3, 8 }] = 0 / 0
    local u, v = pac.from_phases(phi, amp, with(o, { measure = 'mvl' })), pac.from_phases(phi, amp, with(o,
      { measure = mvl }))
    close(u.p, v.p, 1e-9)
    assert.equal(4, v.status[{ 2, 1, 3 }]:item())
    local whole = pac.compute(rows(), with(O, { n_perm = 9, measure = mvl }))
    local plan = pac.plan(300, with(O, { n_perm = 9, measure = mvl }))
    close(whole.p, pac.compute(rows(), with(O, { n_perm = 9, measure = mvl, max_memory = plan:bytes(6, 1) })).p, 0)
    local s = { fs = 256, axes = 'ST', pha_grid_hz = { 4, 8, 12 }, amp_grid_hz = { 30, 60, 90 }, n_perm = 9,
      dtype = 'f64' }
    close(pac.search.best(rows()[1], with(s, { measure = 'mvl' })).z, pac.search.best(rows()[1], with(s,
      { measure = mvl })).z, 1e-8)
  end)

  it('is told rate and bands, and its name is shown', function()
    local seen
    local r = pac.compute(rows(), with(O, { n_perm = 2, measure_name = 'mine', measure = function(p, a, info)
      seen = info
      return mvl(p, a)
    end }))
    assert.equal(256, seen.fs)
    assert.same({ 4, 8 }, seen.pha_bands_hz:totable()[1])
    assert.same({ 60, 80 }, seen.amp_bands_hz:totable()[3])
    assert.truthy(pac.report.csv(r, { 'a', 'b' }):find('mine', 1, true))
  end)

  it('is refused in words', function()
    for i, case in ipairs {
      { { measure = function(p, a) return mvl(p, a) - mc.mean(a) end }, 'must not depend on each other' },
      { { measure = function() return 3 end }, 'measure returned 3 for phases' },
      { { measure = function(p) return p end }, 'coupling values [6, 2, 3]' },
      { { measure = mvl, compat = 'tensorpac' }, 'functions need compat = "native"' },
      { { measure = mvl, measure_name = 'gc' }, 'is a built-in measure' },
      { { measure = 'mi', measure_name = 'gc' }, 'a name is for a measure that is a function' },
      { { measure = mvl, pool_segments = true }, 'pooling adds up bins' },
    } do
      local ok, why = pcall(pac.compute, rows(), with(O, case[1]))
      assert.is_false(ok, i)
      assert.truthy(tostring(why):find(case[2], 1, true), tostring(why))
    end
  end)
end)
