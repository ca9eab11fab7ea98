-- xpcs_robust_spec.lua - errors and intervals of mc.xpcs under robust losses: the sums they are made of, how often they
-- hold the truth. SciPy's errors under every loss: xpcs_fit_spec.
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests'
local tol = dofile(here .. '/tol.lua')
local xpcs = mc.xpcs
local pass, dense = xpcs.pass, require('workflows.xpcs.pass.dense')
local LOSSES = { 'soft_l1', 'huber', 'cauchy', 'arctan' }
local TRUTH = { D0 = 2200, alpha = -0.35, contrast = 0.25, offset = 1 }

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

--- Data of the truth with normal noise, and outliers of 5 to 20 standard deviations as a share of the points.
local function made(seed, n, share)
  local s = xpcs.simulate { n = n, q = 0.012, dt = 0.5, phi = { 0, 60, 120 }, contrast = 0.25, offset = 1,
    physics = { 2200, -0.35, 300 }, sigma = 1e-12, seed = 1 }
  local draw, c = xpcs.generate.splitmix(seed), s.c2:totable()
  for f = 1, 3 do
    for i = 1, n do
      for j = i + 1, n do
        local e = 0.004 * math.sqrt(-2 * math.log(1 - draw())) * math.cos(2 * math.pi * draw())
        if draw() < share then e = (draw() < 0.5 and -1 or 1) * (5 + 15 * draw()) * 0.004 end
        c[f][i][j], c[f][j][i] = c[f][i][j] + e, c[f][i][j] + e
      end
    end
  end
  s.c2 = mc.tensor(c)
  return xpcs.data.of(s)
end

--- One fit: outliers are more than chance explains, and other starts are not what is tested.
local function fitted(data, o)
  o.sigma, o.fixed, o.rescue = o.sigma or 0.004, { D_offset = 300 }, false
  return xpcs.fit(data, o)
end

describe('a pass under a robust loss', function()
  local function about(data, loss)
    return { physics = { 5000, 0.3, 900, 4e-4, -0.25, 1.2e-4, 4 }, contrast = { 0.3, 0.3, 0.3 }, offset = { 1, 1, 1 },
      sigma = { 0.004, 0.005, 0.003 }, kd = 1.25e-5, ks = 795, t = data.t, loss = loss, f_scale = 0.8 }
  end

  it('gives the sums of residuals and columns written out, of every part', function()
    local data = made(1, 70, 0.1)
    for _, loss in ipairs(LOSSES) do
      for _, kind in ipairs { 'fixed', 'common', 'each' } do
        for _, part in ipairs { 'fit', 'psi', 'below' } do
          local p = about(data, loss)
          p.part = part
          local a, b = pass.run(data, p, kind), dense.sums(data, p, kind)
          assert.equal(#b, #a)
          local bends = require('workflows.xpcs.pass.problem').BENDS_BACK[loss] ~= nil
          for k = 1, part == 'below' and not bends and 0 or #a do
            near(b[k], a[k], 1e-9 * math.abs(b[k]) + 1e-12 * math.abs(b[1]), ('%s %s %s %d'):format(loss, kind, part,
              k))
          end
          assert.equal(part ~= 'below' or bends, a[1] > 0)
        end
      end
    end
  end)

  it('gives the same bits for any number of threads and any blocks', function()
    local data, threads = made(2, 150, 0.1), mc.get_num_threads()
    local p = about(data, 'cauchy')
    for _, part in ipairs { 'psi', 'below' } do
      local first
      p.part = part
      for _, count in ipairs { 1, 2, 4 } do
        mc.set_num_threads(count)
        for _, values in ipairs { false, 1, 50000 } do
          data.block_values = values or nil
          local sums = pass.run(data, p, 'each')
          first = first or sums
          assert.same(first, sums)
        end
      end
    end
    mc.set_num_threads(threads)
  end)

  it('is refused for parts of the linear loss', function()
    local data = made(3, 10, 0)
    local p = about(data, 'linear')
    p.part = 'psi'
    assert.has_error(function() pass.run(data, p, 'common') end)
  end)

  it('is the one of the smooth distance too', function()
    local data = made(4, 20, 0.1)
    for _, loss in ipairs { 'soft_l1', 'cauchy' } do
      local r, smooth = fitted(data, { loss = loss }), fitted(data, { loss = loss, legacy_abs = true })
      near(r.cost, smooth.cost, 1e-6 * r.cost, loss)
      near(r.errors.D0, smooth.errors.D0, 1e-3 * r.errors.D0, loss)
    end
  end)
end)

describe('errors under a robust loss', function()
  it('are as large as the deviations from the truth, with outliers and without', function()
    local SETS = 120
    for _, case in ipairs { { 'soft_l1', 0 }, { 'cauchy', 0.05 } } do
      local square, inside = {}, 0
      for set = 1, SETS do
        mc.scope(function()
          local r = fitted(made(1e6 + set, 16, case[2]), { loss = case[1], scaling = 'averaged',
            initial = { D0 = 2000, alpha = -0.3 } })
          for name, v in pairs(TRUTH) do
            square[name] = (square[name] or 0) + ((r.values[name] - v) / r.errors[name]) ^ 2
          end
          if math.abs(r.values.alpha - TRUTH.alpha) < 1.959964 * r.errors.alpha then inside = inside + 1 end
        end)
      end
      for name, sum in pairs(square) do
        -- a sum of squares of standard normal numbers
        assert.is_nil(tol.stat(sum, SETS, math.sqrt(2 * SETS)), ('%s %s: %g'):format(case[1], name, sum / SETS))
        assert.is_true(sum / SETS > 0.75 and sum / SETS < 1.35, ('%s %s: %g'):format(case[1], name, sum / SETS))
      end
      assert.is_nil(tol.stat(inside, 0.95 * SETS, math.sqrt(0.95 * 0.05 * SETS)))
    end
  end)

  it('do not depend on the unit of sigma where the loss bends with it', function()
    local data = made(5, 24, 0.05)
    for _, loss in ipairs(LOSSES) do
      local r = fitted(data, { loss = loss, sigma = 0.004 })
      local other = fitted(data, { loss = loss, sigma = 0.008, f_scale = 0.5 })
      for name, e in pairs(r.errors) do near(e, other.errors[name], 1e-9 * e, loss .. ' ' .. name) end
      local free = fitted(data, { loss = loss, sigma = 0.004, absolute_sigma = false })
      near(r.errors.D0, free.errors.D0, 1e-9 * r.errors.D0, loss)
    end
  end)

  it('follow ties, hold for fixed parameters, and are infinite for what the data do not determine', function()
    local data = made(6, 24, 0.05)
    local o = { sigma = 0.004, loss = 'cauchy', fixed = { 'alpha' }, initial = { alpha = 0, D0 = 2000 } }
    local r = xpcs.fit(data, o)
    assert.equal(math.huge, r.errors.D0)
    assert.equal(math.huge, r.errors.D_offset)
    assert.is_true(r.errors.contrast < 0.01)
    assert.equal('undetermined', r.verdict.level)
    -- 2 D0 t^alpha as D0 t^alpha + D_offset with the offset tied
    o.ties = { D_offset = { to = 'D0', factor = 1 } }
    local tied = xpcs.fit(data, o)
    o.ties, o.fixed = nil, { alpha = 0, D_offset = 0 }
    local alone = xpcs.fit(data, o)
    near(alone.values.D0, 2 * tied.values.D0, 1e-5 * alone.errors.D0)
    near(alone.errors.D0, 2 * tied.errors.D0, 1e-5 * alone.errors.D0)
    near(tied.errors.D0, tied.errors.D_offset, 0)
  end)

  it('are those of all data in a joint fit', function()
    local data = made(7, 20, 0.05)
    for _, loss in ipairs { 'soft_l1', 'cauchy' } do
      local o = { sigma = 0.004, loss = loss, fixed = { D_offset = 300 }, scaling = 'averaged' }
      local one, both = xpcs.fit(data, o), xpcs.joint.fit({ data, (made(7, 20, 0.05)) }, o)
      local N, n, m = data.points, one.n_parameters, both.n_parameters
      -- contrast and offset are free twice, so the factors for the numbers fitted differ
      local factor = math.sqrt((2 * N / (2 * N - m)) / (N / (N - n)) / 2)
      near(factor * one.errors.D0, both.errors.D0, 1e-5 * one.errors.D0, loss)
    end
  end)

  it('have profile intervals beside them, which hold the truth as often', function()
    local r = fitted(made(8, 30, 0.05), { loss = 'soft_l1' })
    assert.matches(', loss soft_l1: chi2 ', tostring(r)) -- a configuration may bring it
    local v = xpcs.intervals.profile(r, { 'alpha' }, 0.95).alpha
    near(r.values.alpha - 1.959964 * r.errors.alpha, v.low, 0.05 * r.errors.alpha)
    near(r.values.alpha + 1.959964 * r.errors.alpha, v.high, 0.05 * r.errors.alpha)
    for _, sentence in ipairs(r.verdict.sentences) do assert.is_nil(sentence:find('reweighted', 1, true)) end
  end)
end)
