-- pac_bits_spec.lua - pac.compute: the same bits for any threads, blocks and batches; what a plan says about memory.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local few = support.load 'ceiling'
local mc = require 'mascon'
local shared = support.load 'pac'
local pac = mc.pac

local PHA, AMP = shared.PHA, shared.AMP
local with, same_bits, same_results, batch = shared.with, shared.same_bits, shared.same_results, shared.batch

describe('the same bits', function()
  local CASES = {
    {}, { measure = 'hr', n_perm = 7 }, { surrogate = 'exhaustive', min_shift = 100 }, { measure = 'mvl', n_perm = 5 },
    { measure = 'gc', n_perm = 5 }, { measure = 'plv', n_perm = 5 }, { measure = 'glm' }, { measure = 'ndpac' },
    { filter = 'morlet', n_perm = 3 }, { filter = 'butter_trunc' }, { binning = 'soft', n_perm = 3 },
    { mcp = 'maxstat', n_perm = 9 },
    { pool_segments = true, n_perm = 4 }, { surrogate = 'swap_trials', n_perm = 6, mcp = 'maxstat' },
    { pairs = { { 1, 2 }, { 2, 2 } }, n_perm = 4 }, { compat = 'tensorpac', bin_norm = 'mean', n_perm = 4 },
    { pool_segments = true, surrogate = 'exhaustive', min_shift = 100 }, { windows = { { 20, 280 } }, n_perm = 3 },
  }
  local function each(f)
    for i, case in ipairs(CASES) do
      for _, dtype in ipairs { 'f32', 'f64' } do
        f(with({ fs = 256, pha_bands_hz = PHA, amp_bands_hz = AMP, axes = 'BCST', dtype = dtype, return_dist = true,
          return_surrogates = true }, case), ('case %d %s'):format(i, dtype))
      end
    end
  end

  it('for 1, 2 and 4 threads', function()
    each(function(o, what)
      local one = pac.compute(batch(), with(o, { threads = 1 }))
      for _, n in ipairs { 2, 4 } do same_results(one, pac.compute(batch(), with(o, { threads = n })), what) end
    end)
  end)

  it('for all rows at once and one group at a time', function()
    local blocks = 0
    each(function(o, what)
      local all = pac.compute(batch(), o)
      local plan = pac.plan(300, o)
      local group = o.pairs and 6 or (o.pool_segments or o.surrogate == 'swap_trials') and 3 or 1
      local least = plan:bytes(12, group, 3)
      local seen = 0
      local parts = few.left(least, function()
        return pac.compute(batch(), with(o, { progress = function() seen = seen + 1 end }))
      end)
      same_results(all, parts, what)
      assert.equal(12 / group, seen, what)
      blocks = blocks + seen
    end)
    assert.is_true(blocks > 100)
  end)

  it('for rows together and one by one', function()
    each(function(o, what)
      if o.pairs or o.pool_segments or o.surrogate == 'swap_trials' or o.compat == 'tensorpac' then return end
      -- corrected over the run, p of a row depends on the others
      local all = pac.compute(batch(), with(o, { mcp_scope = 'channel' }))
      local alone = pac.compute(batch()[{ 2, 1, 3 }], with(o, { axes = 'T', mcp_scope = 'channel' }))
      for _, name in ipairs(shared.RESULTS) do
        if all[name] then same_bits(all[name][{ 2, 1, 3 }], alone[name], what .. ' ' .. name) end
      end
    end)
  end)

  it('for every call of a plan, and other draws for another seed', function()
    local o = { fs = 256, pha_bands_hz = PHA, amp_bands_hz = AMP, axes = 'CST', n_perm = 9,
      return_surrogates = true, seed = 5 }
    local plan = pac.plan(300, o)
    local first = plan:run(batch()[1])
    same_results(first, plan:run(batch()[1]))
    same_results(first, pac.compute(batch()[1], o))
    assert.is_false(mc.array_equal(first.surrogates, pac.compute(batch()[1], with(o, { seed = 6 })).surrogates))
  end)

  it('leaves the number of threads as it was', function()
    local before = mc.get_num_threads()
    pac.compute(batch(), { fs = 256, pha_bands_hz = PHA, amp_bands_hz = AMP, threads = before + 1 })
    assert.equal(before, mc.get_num_threads())
    pcall(pac.compute, batch(), { fs = 256, pha_bands_hz = PHA, amp_bands_hz = AMP, threads = before + 1,
      progress = function() error 'stop' end })
    assert.equal(before, mc.get_num_threads())
  end)
end)

describe('plan:bytes', function()
  local function peak_of(x, o)
    collectgarbage()
    collectgarbage()
    local C = require 'mascon.core.ffi'.C
    local before = mc.memory().live
    C.mc_memory_reset_peak()
    local r = pac.compute(x, o)
    local peak = mc.memory().peak - before
    assert.is_true(mc.any(mc.isfinite(r.pac)))
    return peak
  end

  it('foretells the peak of a run: not exceeded by more than 30 % + 24 MiB, and no more than twice too large',
    function()
      local x = mc.randn { 48, 6000, seed = 1, dtype = 'f32' }
      local slack = 24 * 2 ^ 20
      local cases = {
        {}, { n_perm = 3, measure = 'mvl' }, { dtype = 'f64' }, { measure = 'plv' }, { measure = 'gc' },
        { filter = 'morlet' }, { filter = 'butter_trunc', measure = 'mvl' }, { compat = 'tensorpac', n_perm = 9 },
        { bin_norm = 'pooled' }, { pool_segments = true }, { surrogate = 'swap_trials', n_perm = 20 },
        { n_perm = 50, return_surrogates = true, measure = 'mvl' },
      }
      for i, case in ipairs(cases) do
        local o = with({ fs = 512, pha_n_bands = 12, amp_n_bands = 12, axes = 'ST' }, case)
        local group = (o.pool_segments or o.surrogate == 'swap_trials' or o.bin_norm == 'pooled'
          or o.compat == 'tensorpac') and 48 or nil
        local plan = pac.plan(6000, o)
        local said, took = plan:bytes(48, group, 48), peak_of(x, o)
        assert.is_true(took <= 1.3 * said + slack,
          ('case %d: said %.1f MiB, took %.1f MiB'):format(i, said / 2 ^ 20, took / 2 ^ 20))
        assert.is_true(said <= 2 * took + slack,
          ('case %d: said %.1f MiB, took %.1f MiB'):format(i, said / 2 ^ 20, took / 2 ^ 20))
      end
    end)

  it('and a limit is kept', function()
    local x = mc.randn { 64, 16384, seed = 2, dtype = 'f32' }
    local o = { fs = 512, pha_n_bands = 10, amp_n_bands = 10, axes = 'ST', measure = 'plv' }
    local limit = 80 * 2 ^ 20
    assert.is_true(pac.plan(16384, o):bytes(64, 64) > 2 * limit)
    local took = peak_of(x, with(o, { max_memory = limit }))
    assert.is_true(took <= 1.3 * limit, ('limit 80 MiB, took %.1f MiB'):format(took / 2 ^ 20))
  end)
end)
