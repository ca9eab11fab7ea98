-- xpcs_profile_spec.lua - ends of profile intervals on weak ridges: chi2 has risen by the level there, which fits from
-- many places of the ridge confirm, and the ends of one parameter do not contradict those of another.
local mc = require 'mascon'
local xpcs = mc.xpcs
local ridge = require 'workflows.xpcs.model.ridge'

local LEVEL = 3.84145882 -- of 95 %
local POWERS = { -1, -0.3, -0.1, -0.01, -0.003, 0.03, 0.3 }

--- The least chi2 with one number of the diffusion held, over fits from many powers.
local function held(data, o, r, name, v)
  local tm, x, best = data.t[data.n]:item() / math.exp(1), r.values, nil
  local level, slope = x.D0 * tm ^ x.alpha + x.D_offset, x.D0 * x.alpha * tm ^ x.alpha
  for _, p in ipairs(name == 'alpha' and { v } or POWERS) do
    local s = name == 'D0' and v * tm ^ p or name == 'D_offset' and math.max(level - v, 1)
      or slope / p > 0 and slope / p or level / 2
    local with = { fixed = { [name] = v }, initial = { alpha = p, D0 = s / tm ^ p, D_offset = level - s } }
    for _, q in ipairs(xpcs.parameters.LIST) do
      if x[q.name] and not with.initial[q.name] then with.initial[q.name] = x[q.name] end
    end
    with.initial[name] = nil
    for k, q in pairs(o) do with[k] = q end
    local h = xpcs.fit(data, with)
    if not best or h.chi2 < best then best = h.chi2 end
  end
  return best
end

local function check(data, o, names)
  local r = xpcs.fit(data, o)
  local list = xpcs.intervals.profile(r, names, 0.95)
  for _, name in ipairs(names) do
    local q = list[name]
    for _, side in ipairs { 'low', 'high' } do
      local rise = held(data, o, r, name, q[side]) - r.chi2
      local what = ('%s %s %.8g: %.4g'):format(name, side, q[side], rise)
      assert.is_false(q[side .. '_lost'], what)
      if q[side .. '_open'] then
        local p = r.problem
        for k, place in ipairs(p.free) do
          if r.names[k] == name then assert.equal(side == 'low' and p.low[place] or p.high[place], q[side], what) end
        end
        assert.is_true(rise < LEVEL, what)
      else assert.is_true(math.abs(rise - LEVEL) < 0.03 * LEVEL, what) end
    end
  end
  return r, list
end

describe('profile intervals', function()
  local function static(seed)
    return xpcs.data.of(xpcs.simulate { n = 40, dt = 0.25, q = 0.01, phi = { 0, 60, 120 },
      physics = { 3000, -0.05, 500 }, sigma = 0.02, seed = seed })
  end
  local DIFFUSION = { 'D0', 'alpha', 'D_offset' }

  it('end where chi2 has risen by the level on weak ridges', function()
    for _, seed in ipairs { 2, 4 } do
      local _, list = check(static(seed), { sigma = 0.02, mode = 'static' }, DIFFUSION)
      -- D0 up to its bound takes D_offset along
      assert.is_true(list.D0.high_open)
      assert.is_true(list.D_offset.low < -9e4)
    end
  end)

  it('respect bounds of the other parameters', function()
    local r, list = check(static(2), { sigma = 0.02, mode = 'static', bounds = { D_offset = { -2000, 3000 } } },
      DIFFUSION)
    assert.is_true(list.D_offset.low_open and list.D0.high < 6000)
    assert.matches('%-2000 %(bound%) %.%.', xpcs.report.table(r))
  end)

  it('hold on data with shear', function()
    local data = xpcs.data.of(xpcs.simulate { n = 40, q = 0.01, dt = 0.25, phi = { -60, -20, 20, 55, 85 },
      sigma = 0.008, seed = 2, physics = { 3000, -0.2, 500, 2e-3, 0.1, 1e-4, 3 } })
    check(data, { sigma = 0.008 }, { 'D0', 'D_offset' })
  end)

  it('say where no end could be confirmed', function()
    local r = xpcs.fit(static(2), { sigma = 0.02, mode = 'static' })
    r.intervals = { D0 = { low = 200, high = 9e4, low_open = false, high_open = false, high_lost = true,
      level = 0.95 } }
    xpcs.verdict.judge(r, xpcs.verdict.of(r))
    assert.matches('upper end of the 95 %% interval of D0 was not found: at 90000', table.concat(r.verdict.sentences))
    assert.matches('200 %.%. 90000 %(not the end%)', xpcs.report.table(r))
  end)
end)

describe('a point moved along the ridge', function()
  it('keeps level and slope at the middle time', function()
    local last = 30
    local tm = last / math.exp(1)
    local list = ridge.among(function(i) return i end, 3, last, function() end)
    local x = { 3000, -0.05, 500 }
    local function level(v) return v[1] * tm ^ v[2] + v[3] end
    local function slope(v) return v[1] * v[2] * tm ^ v[2] end
    for k, v in ipairs { 9000, -0.3, -2000 } do
      local y = ridge.through(list, x, k, v)
      assert.equal(v, y[k])
      assert.is_true(math.abs(level(y) - level(x)) < 1e-9 * level(x))
      assert.is_true(math.abs(slope(y) - slope(x)) < 1e-9 * math.abs(slope(x)))
    end
    -- with one of the three held the level alone
    local two = ridge.among(function(i) return ({ 1, 2 })[i] end, 3, last, function() return 500 end)
    local y = ridge.through(two, { 3000, -0.05 }, 1, 4000)
    assert.is_true(math.abs(level { y[1], y[2], 500 } - level(x)) < 1e-9 * level(x))
  end)
end)

describe('fits with a parameter held far from its value', function()
  -- the other two of its rate are to take values that no scan of their own ranges has
  local function fitted(physics, name, v, o)
    local data = xpcs.data.of(xpcs.simulate { n = 40, dt = 0.2, q = 0.01, phi = { -70, -30, 5, 45, 80 },
      physics = physics, sigma = 0.005, seed = 3 })
    local with = { sigma = 0.005, fixed = { [name] = v } }
    for k, q in pairs(o or {}) do with[k] = q end
    return xpcs.fit(data, with), data, with
  end
  local STATIC, FLOW = { 4000, 0.3, 900 }, { 4000, 0.3, 900, 1e-3, -0.25, 3e-4, 4 }

  --- The least chi2 from starts that have the true rate at the middle time.
  local function reference(data, o, physics, name, v)
    local at = name == 'D0' and 1 or name == 'D_offset' and 1 or 4
    local names = xpcs.parameters.names 'laminar_flow'
    local tm, best = data.t[data.n]:item() / math.exp(1), nil
    local level = physics[at] * tm ^ physics[at + 1] + physics[at + 2]
    for _, p in ipairs { 0.003, 0.01, 0.03, 0.1, 0.3 } do
      local scale = names[at] == name and v or (level - v) / tm ^ p
      local with = { initial = {} }
      for i, n in ipairs(names) do if physics[i] then with.initial[n] = physics[i] end end
      with.initial[names[at]], with.initial[names[at + 1]] = scale, p
      with.initial[names[at + 2]] = level - scale * tm ^ p
      with.initial[name] = nil
      for k, q in pairs(o) do with[k] = q end
      local r = xpcs.fit(data, with)
      if not best or r.chi2 < best then best = r.chi2 end
    end
    return best
  end

  it('find the minimum, static and laminar', function()
    for _, case in ipairs { { STATIC, 'D0', 91172 }, { STATIC, 'D_offset', -61530 }, { FLOW, 'D0', 91172 },
      { FLOW, 'D_offset', -61530 }, { FLOW, 'gamma_dot_t0', 0.05 },
      { FLOW, 'D0', 91172, { scaling = 'individual' } } } do
      local r, data, o = fitted(unpack(case, 1, 4))
      local best = reference(data, o, case[1], case[2], case[3])
      assert.is_true(r.chi2 < best + 0.5, ('%s %s %g: %.8g instead of %.8g'):format(#case[1], case[2], case[3], r.chi2,
        best))
    end
  end)
end)
