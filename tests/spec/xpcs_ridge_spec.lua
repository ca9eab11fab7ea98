-- xpcs_ridge_spec.lua - steps along the ridge of scale t^power + shift: what they keep, how few passes a fit takes; and
-- which misfits are searched from other starts.
local mc = require 'mascon'
local xpcs = mc.xpcs
local ridge = require 'workflows.xpcs.model.ridge'

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

describe('xpcs.ridge', function()
  local LOW, HIGH = { 100, -2, -1e5 }, { 1e5, 2, 1e5 }
  local LAST = 30
  local function all() return ridge.among(function(i) return i end, 3, LAST, function() end) end

  it('is the straight step to first order, whatever is held', function()
    local x, d = { 2200, -0.35, 300 }, { 300, 0.02, -250 }
    for _, held in ipairs { 0, 1, 3 } do
      local index, y, step, low, high = {}, {}, {}, {}, {}
      for i = 1, 3 do
        if i ~= held then
          local k = #y + 1
          index[i], y[k], step[k], low[k], high[k] = k, x[i], d[i], LOW[i], HIGH[i]
        end
      end
      local list = ridge.among(function(i) return index[i] end, 3, LAST, function(i) return x[i] end)
      assert.equal(1, #list)
      local function off(h)
        local s, most = {}, 0
        for k = 1, #step do s[k] = h * step[k] end
        for k, v in ipairs(ridge.move(list, y, s, low, high)) do
          most = math.max(most, math.abs(v - y[k] - s[k]) / math.abs(step[k]))
        end
        return most
      end
      -- of second order, and not less: the step is bent
      near(100, off(1e-2) / off(1e-3), 12, ('held %d'):format(held))
    end
    assert.equal(0, #ridge.among(function(i) return i ~= 2 and i or nil end, 3, LAST, function() return 1 end))
  end)

  it('keeps level and slope at a middle time where a straight step leaves them, and the bounds', function()
    local x, middle = { 3000, -0.02, 500 }, LAST / math.exp(1)
    local function level(v) return v[1] * middle ^ v[2] + v[3] end
    local function slope(v) return v[1] * v[2] * middle ^ v[2] end
    -- the direction in which neither changes
    local ds = 2000
    local scale = middle ^ x[2]
    local dp = -x[2] * ds * scale / (x[1] * scale + x[1] * scale * math.log(middle) * x[2])
    local change = ds * scale + x[1] * scale * math.log(middle) * dp
    local step = { ds, dp, -change }
    local y = ridge.move(all(), x, step, LOW, HIGH)
    assert.is_true(y[1] > 4000)
    near(level(x), level(y), 1e-9 * level(x))
    near(slope(x), slope(y), 1e-9 * math.abs(slope(x)))
    local far = ridge.move(all(), x, { 97000 - 1, dp * 40, -change * 40 }, LOW, HIGH)
    for k = 1, 3 do assert.is_true(far[k] > LOW[k] and far[k] < HIGH[k]) end
  end)

  it('lets fits of nearly constant rates end after a few passes, alone and joint', function()
    local data = {}
    for seed = 2, 3 do
      data[seed] = xpcs.data.of(xpcs.simulate { n = 60, q = 0.012, dt = 0.5, phi = { 0, 60, 120 },
        physics = { 2200, -0.02, 300 }, sigma = 0.004, seed = seed })
      local r = xpcs.fit(data[seed], { sigma = 0.004 })
      assert.is_true(r.nfev <= 40, ('%d passes'):format(r.nfev)) -- 204 and 223 with straight steps
      assert.is_true(r.last_step < 1e-6)
      -- what those reached
      assert.is_true(r.chi2 < ({ nil, 5337.919633, 5321.073634 })[seed] + 1e-5, ('%.10g'):format(r.chi2))
    end
    local r = xpcs.joint.fit({ data[2], data[3] }, { sigma = 0.004 })
    assert.is_true(r.success and r.nfev <= 60, ('%d passes'):format(r.nfev))
  end)
end)

describe('a misfit', function()
  local function made(contrasts)
    local parts = {}
    for f, c in ipairs(contrasts) do
      parts[f] = xpcs.simulate { n = 40, dt = 0.1, phi = { 40 * f }, physics = { 5000, -0.3, 100 }, sigma = 0.005,
        seed = f, contrast = c }
    end
    local list = {}
    for f, s in ipairs(parts) do list[f] = s.c2[1] end
    return xpcs.data.of { c2 = mc.stack(list, 1), phi = { 40, 80, 120 }, t = parts[1].t, q = parts[1].q, dt = 0.1 }
  end
  local function settings(sigma) return { fit = { sigma = sigma }, streaming = {}, multi_start = {}, cmaes = {} } end

  it('of contrasts that differ is not searched from other starts, and the run says why', function()
    local data = made { 0.2, 0.3, 0.25 }
    local r = xpcs.run.fit(settings(0.005), data, true)
    assert.is_true(r.verdict.misfit)
    assert.is_nil(r.search)
    local words = table.concat(r.verdict.sentences, '\n')
    assert.matches('contrast and offset of its own for each angle the fit from here has reduced chi2 [01]%.', words)
    assert.is_nil(words:find('local minimum', 1, true), words)
  end)

  it('of something else beside them is', function()
    local r = xpcs.run.fit(settings(0.004), made { 0.2, 0.3, 0.25 }, true)
    assert.is_false(r.search.skipped)
  end)
end)
