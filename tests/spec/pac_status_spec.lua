-- pac_status_spec.lua - pac.compute: status bits of rows and pairs that are bad, and the warnings of a plan.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local shared = support.load 'pac'
local pac = mc.pac

local NAN = 0 / 0
local PHA, AMP = shared.PHA, shared.AMP
local with, near, same_bits, part, bit = shared.with, shared.near, shared.same_bits, shared.part, shared.bit

describe('status', function()
  local O = { fs = 256, pha_bands_hz = PHA, amp_bands_hz = AMP, n_perm = 6, return_surrogates = true,
    return_dist = true, axes = 'ST' }
  local CASES = {
    {}, { dtype = 'f64' }, { measure = 'mvl' }, { measure = 'gc' }, { measure = 'plv' }, { measure = 'glm' },
    { measure = 'ndpac' }, { filter = 'morlet' }, { filter = 'butter_trunc' }, { binning = 'soft' },
    { mcp = 'maxstat' }, { bin_norm = 'pooled' }, { surrogate = 'swap_trials' }, { compat = 'tensorpac' },
    { compat = 'gpac' }, { surrogate = 'exhaustive', min_shift = 145 }, { pairs = { { 1, 1 } } },
  }

  it('4: a row with NaN or Inf is NaN and leaves the others as they are', function()
    local x = part 'ST'
    for i, case in ipairs(CASES) do
      for _, value in ipairs { NAN, math.huge } do
        local o = with(O, case)
        local what = ('case %d, %s'):format(i, tostring(value))
        local spoilt = mc.concat({ x, x['1:1'] }, 1)
        spoilt[{ 4, 150 }] = value
        -- permutations that send the fourth segment around; among the first three they are these
        local clean_o, spoilt_o = with(o), with(o)
        if o.surrogate == 'swap_trials' then
          clean_o.permutations = { { 2, 3, 1 }, { 3, 1, 2 }, { 1, 3, 2 } }
          spoilt_o.permutations = { { 4, 2, 3, 1 }, { 3, 1, 4, 2 }, { 1, 3, 2, 4 } }
          clean_o.n_perm, spoilt_o.n_perm = 3, 3
        end
        local clean, r = pac.compute(x, clean_o), pac.compute(spoilt, spoilt_o)
        for _, name in ipairs(shared.RESULTS) do
          local t = r[name]
          if t and not (name == 'p' and o.compat == 'tensorpac') then
            same_bits(clean[name], t['1:3']:contiguous(), what .. ' ' .. name)
            if name ~= 'status' then assert.is_true(mc.all(mc.isnan(t[4])), what .. ' ' .. name) end
          end
        end
        assert.is_true(bit(r.status[4], 4), what)
      end
    end
  end)

  it('4: a bad phase spoils what it is coupled with, a bad amplitude as well, nothing else', function()
    local x = part 'CT'
    local bad = x:copy()
    bad[{ 1, 5 }] = NAN
    for _, case in ipairs { {}, { measure = 'mvl' }, { measure = 'plv' }, { filter = 'morlet' }, { mcp = 'none' },
      { surrogate = 'exhaustive', min_shift = 145 }, { binning = 'soft' } } do
      local o = with({ mcp_scope = 'channel', fs = 256, pha_bands_hz = PHA, amp_bands_hz = AMP, n_perm = 4,
        dtype = 'f64', return_surrogates = true }, case)
      for _, r in ipairs { pac.compute(bad, with(o, { x_amp = x })), pac.compute(x, with(o, { x_amp = bad })) } do
        assert.is_true(mc.all(mc.isnan(r.pac[1])) and mc.all(mc.isnan(r.z[1])) and mc.all(mc.isnan(r.p[1]))
          and mc.all(mc.isnan(r.surr_mean[1])))
        assert.is_true(bit(r.status[1], 4))
        local clean = pac.compute(x, with(o, { x_amp = x }))
        near(clean.pac[2], r.pac[2], 1e-12)
        near(clean.p[2], r.p[2], 1e-12)
      end
      local pairs_ = pac.compute(bad, with(o, { pairs = { { 1, 1 }, { 1, 2 }, { 2, 1 }, { 2, 2 } } }))
      assert.is_true(mc.all(mc.isnan(pairs_.pac['1:3'])) and mc.all(mc.isfinite(pairs_.pac[4])))
    end
  end)

  it('2: a constant row has amplitude 0 and coupling 0', function()
    local x = mc.stack { mc.full({ 300 }, 0.1), mc.zeros { 300 }, part('ST')[1] }
    for _, m in ipairs(pac.options.MEASURES) do
      for _, dtype in ipairs { 'f32', 'f64' } do
        for _, filter in ipairs { 'fir1', 'morlet' } do
          local r = pac.compute(x, with(O, { measure = m, dtype = dtype, filter = filter }))
          near(mc.zeros { 2, 2, 3 }, r.pac['1:2'], 0)
          assert.is_true(bit(r.status['1:2'], 2), m)
          assert.is_true(mc.all(mc.eq(mc.bitwise_and(r.status[3], 2), 0)), m)
          if r.z then -- no spread either
            assert.is_true(mc.all(mc.isnan(r.z['1:2'])) and bit(r.status['1:2'], 8), m)
            near(mc.ones { 2, 2, 3 }, r.p['1:2'], 0)
            assert.is_true(mc.all(mc.isfinite(r.z[3])))
          end
        end
      end
    end
  end)

  it('8: surrogates that are all equal give z = NaN', function()
    for _, m in ipairs { 'mi', 'mvl' } do
      for _, dtype in ipairs { 'f32', 'f64' } do
        local r = pac.compute(part 'ST', with(O, { shifts = { 77, 77, 77 }, measure = m, dtype = dtype }))
        assert.is_true(mc.all(mc.isnan(r.z)))
        assert.is_true(bit(r.status, 8))
        near(mc.zeros { 3, 2, 3 }, r.surr_std, 0)
        assert.is_true(mc.all(mc.isfinite(r.p)))
      end
    end
    local same = mc.stack { part('ST')[1], part('ST')[1] }
    local r = pac.compute(same, with(O, { surrogate = 'swap_trials' }))
    assert.is_true(bit(r.status, 8) and mc.all(mc.isnan(r.z)))
  end)

  it('1: a phase bin without samples', function()
    local phi = mc.tensor { { -3, -2, -1, 0, 1, 2, 3, 0.5 } }
    local r = pac.from_phases(phi, mc.ones { 1, 8 }, { dtype = 'f64' })
    assert.is_true(bit(r.status, 1))
    near(1 - math.log(8) / math.log(18), r.pac, 1e-12)
    assert.is_true(mc.all(mc.eq(mc.bitwise_and(pac.compute(part 'ST', O).status, 15), 0)))
  end)

  it('16: an order that the recording cuts short, on its bands alone', function()
    local o = { fs = 256, pha_bands_hz = { { 2, 4 }, { 8, 12 } }, amp_bands_hz = AMP, axes = 'ST' }
    for _, compat in ipairs { 'native', 'tensorpac' } do
      local r = pac.compute(part 'ST', with(o, { compat = compat }))
      assert.is_true(bit(r.status[{ mc.all, 1 }], 16))
      assert.is_true(mc.all(mc.eq(mc.bitwise_and(r.status[{ mc.all, 2 }], 16), 0)))
      local wide = pac.compute(part 'ST', with(o, { compat = compat, amp_bands_hz = { { 3, 30 }, { 60, 80 } } }))
      assert.is_true(bit(wide.status[{ mc.all, mc.all, 1 }], 16))
    end
    assert.is_true(mc.all(mc.eq(mc.bitwise_and(pac.compute(part 'ST', with(o, { filter = 'morlet' })).status, 16), 0)))
  end)
end)

describe('warnings', function()
  local function warned(o, pattern, n)
    for _, w in ipairs(pac.plan(n or 5120, with({ fs = 512 }, o)).warnings) do
      if w:find(pattern) then return w end
    end
  end
  it('speak of overlap, sidebands, short filters, few cycles and few surrogates', function()
    assert.is_string(warned({ pha_bands_hz = { { 20, 70 } }, amp_bands_hz = { { 60, 90 } } },
      'overlap in 1 of 1 pairs'))
    assert.is_string(warned({ pha_bands_hz = { { 9, 11 } }, amp_bands_hz = { { 60, 67.5 } } },
      'cuts off the sidebands'))
    assert.is_string(warned({ pha_bands_hz = { { 2, 3 } }, amp_bands_hz = { { 60, 90 } } },
      'fewer than 3 filter orders', 2048))
    assert.is_string(warned({ pha_bands_hz = { { 2, 3 } }, amp_bands_hz = { { 60, 90 } } },
      'cycles of the slowest phase band', 1024))
    assert.is_string(warned({ n_perm = 20 }, '20 surrogates are few for p < 0.05'))
    assert.is_string(warned({ n_perm = 300, p_threshold = 0.01 }, 'use at least 1000'))
  end)
  it('are silent when all is well, and about filters that have no order', function()
    assert.same({},
      pac.plan(5120, { fs = 512, pha_bands_hz = { { 9, 11 } }, amp_bands_hz = { { 80, 120 } }, n_perm = 200 }).warnings)
    assert.is_nil(warned({ filter = 'morlet', pha_bands_hz = { { 2, 3 } }, amp_bands_hz = { { 60, 90 } } },
      'filter orders', 2048))
  end)
  it('speak of options without effect', function()
    assert.is_string(warned({ surrogate = 'time_lag' }, 'surrogate is time_lag and n_perm is 0'))
    assert.is_string(warned({ mcp = 'fdr' }, 'mcp is fdr, but without surrogates'))
    assert.is_string(warned({ measure = 'ndpac', n_perm = 50 }, 'ndpac carries its own threshold'))
  end)
end)
