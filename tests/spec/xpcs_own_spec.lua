-- xpcs_own_spec.lua - a user's own g1 in mc.xpcs: the solution of the built-in model written as a function, masks and
-- weights, blocks and streams to the same bits, refusals.
local mc = require 'mascon'
local xpcs = mc.xpcs

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

--- Diffusion with D = D0 t^alpha: the integral in closed form, with kd = q^2 / 2 (per second).
local function anomalous(kd)
  return function(p, t1, t2)
    local a = p.alpha + 1
    return mc.exp(-kd * (p.D0 / a) * (mc.exp(a * mc.log(t2)) - mc.exp(a * mc.log(t1))))
  end
end

describe('xpcs.own', function()
  local s, d, kd
  setup(function()
    kd = 0.012 ^ 2 / 2
    local n, phi = 70, { 0, 60 }
    local t = mc.arange(1, n) * 0.5
    local all = {}
    for f = 1, 2 do
      local a, b = t:expand_dims(2), t:expand_dims(1)
      local g = mc.exp(-kd * 2200 / 0.65 * mc.abs(mc.exp(0.65 * mc.log(b)) - mc.exp(0.65 * mc.log(a))))
      local e = mc.triu(mc.randn { n, n, seed = f }, 1)
      all[f] = xpcs.prepare.diagonal(g * g * (0.2 + 0.1 * f) + 1 + (e + e.mT) * 0.004)
    end
    s = { c2 = mc.stack(all, 1), phi = phi, t = t, n = n, q = 0.012, dt = 0.5, gap = 2e6, mode = 'static' }
    s.c2[{ 2, 3, 66 }], s.c2[{ 2, 66, 3 }] = 0 / 0, 0 / 0
    d = xpcs.data.of(s)
  end)
  teardown(function() s, d = nil, nil end)

  it('says what is wrong in a function of tied', function()
    local ok, why = pcall(xpcs.own.solve, d, anomalous(kd), { p0 = { D0 = 3000, alpha = -0.2 },
      tied = { alpha = function(p) return p.none * 2 end } })
    assert.is_false(ok)
    assert.matches('the function of tied that gives alpha fails: .*none', tostring(why))
  end)

  it('reaches the least-squares solution of residuals written out', function()
    local o = { p0 = { D0 = 3000, alpha = -0.2 }, bounds = { D0 = { 100, 1e5 } }, sigma = { 0.004, 0.005 },
      scaling = 'individual' }
    local r = xpcs.own.solve(d, anomalous(kd), o)
    local n = s.n
    local inside = mc.gt(mc.triu(mc.ones { n, n }, 1), 0)
    local t1, t2 = mc.broadcast_to(s.t:expand_dims(2), { n, n })[inside], mc.broadcast_to(s.t:expand_dims(1),
      { n, n })[inside]
    local want = mc.optim.least_squares(function(x)
      local v, out = x:totable(), {}
      local g = anomalous(kd)({ D0 = v[1], alpha = v[2] }, t1, t2)
      for f = 1, 2 do
        local y = s.c2[f][inside]
        local z = (g * g * v[2 + f] + v[4 + f] - y) / o.sigma[f]
        out[f] = z[mc.isfinite(z)]
      end
      return mc.concat(out, 1)
    end, { 3000, -0.2, 0.3, 0.4, 1, 1 }, { x_scale = 'jac', ftol = 1e-15, xtol = 1e-15, gtol = 1e-15, jac = '3-point' })
    near(2 * want.cost, r.chi2, 1e-8 * r.chi2)
    for k, name in ipairs { 'D0', 'alpha', 'contrast_1', 'contrast_2', 'offset_1', 'offset_2' } do
      near(want.x[k]:item(), r.p[name], 1e-4 * r.stderr[name], name)
    end
    assert.equal(n * (n - 1) - 1, r.n)
    assert.is_true(math.abs(r.p.D0 - 2200) < 5 * r.stderr.D0 and math.abs(r.p.alpha + 0.35) < 5 * r.stderr.alpha)
    assert.is_true(r.reduced_chi2 > 0.8 and r.reduced_chi2 < 1.1)
  end)

  it('agrees with the built-in fit of one diffusion, and uses weights of points', function()
    local function brownian(p, t1, t2) return mc.exp(-kd * p.D * (t2 - t1)) end
    local fixed = { alpha = 0, D_offset = 0 }
    local o = { sigma = 0.004, fixed = fixed, scaling = 'averaged', initial = { D0 = 1000 } }
    local a = xpcs.fit(d, o)
    local b = xpcs.own.solve(d, brownian, { p0 = { D = 900 }, bounds = { D = { 100, 1e5 } }, sigma = 0.004 })
    near(a.chi2, b.chi2, 1e-8 * a.chi2)
    near(a.values.D0, b.p.D, 1e-4 * a.errors.D0)
    near(a.errors.D0, b.stderr.D, 1e-4 * a.errors.D0)
    local lag = mc.abs(s.t:expand_dims(1) - s.t:expand_dims(2))
    local w = { sigma_c2 = mc.stack({ 0.003 + 1e-4 * lag, 0.004 + 2e-4 * lag }, 1) }
    for k, v in pairs(s) do w[k] = v end
    local weighted = xpcs.data.of(w)
    o.sigma = nil
    a = xpcs.fit(weighted, o)
    b = xpcs.own.solve(weighted, brownian, { p0 = { D = 900 } })
    local ok, why = pcall(xpcs.own.solve, weighted, brownian, { p0 = { D = 900 }, sigma = 0.02 })
    assert.is_false(ok)
    assert.is_truthy(why:find('sigma is given twice', 1, true), why)
    near(a.chi2, b.chi2, 1e-8 * a.chi2)
    near(a.values.D0, b.p.D, 1e-4 * a.errors.D0)
  end)

  it('gives g1 the q, the time step and the gap of the data', function()
    local seen
    local function g1(p, t1, t2, _, about)
      seen = about
      return mc.exp(-about.q ^ 2 / 2 * p.D * (t2 - t1))
    end
    local b = { D = { 100, 1e5 } }
    local r = xpcs.own.solve(d, g1, { p0 = { D = 900 }, bounds = b, sigma = 0.004 })
    assert.same({ q = 0.012, dt = 0.5, gap = 2e6 }, { q = seen.q, dt = seen.dt, gap = seen.gap })
    local by_hand = xpcs.own.solve(d, function(p, t1, t2) return mc.exp(-kd * p.D * (t2 - t1)) end,
      { p0 = { D = 900 }, bounds = b, sigma = 0.004 })
    assert.equal(by_hand.p.D, r.p.D)
    local file = xpcs.model_file.fit(d, { g1 = g1, p0 = { D = 900 }, bounds = b }, { sigma = 0.004, q = 0.024,
      scaling = 'averaged' })
    assert.is_true(math.abs(file.values.D * 4 / r.p.D - 1) < 1e-3) -- q of the option comes first
    assert.equal(0.024, file.geometry.q)
    local ok, why = pcall(xpcs.own.solve, d, function(p, t1, t2, _, a) return mc.exp(-a.Q * p.D * (t2 - t1)) end,
      { p0 = { D = 900 } })
    assert.is_true(not ok and why:find('there is no Q (did you mean q?)', 1, true) ~= nil, tostring(why))
  end)

  it('judges a fit of a script as that of a file, in words of Lua', function()
    local function g1(p, t1, t2) return mc.exp(-p.rate * (t2 - t1)) end
    local o = { p0 = { rate = 0.1 }, bounds = { rate = { 1e-3, 10 } }, units = { rate = '1/s' } }
    local file = xpcs.model_file.fit(d, { g1 = g1, p0 = o.p0, bounds = o.bounds, units = o.units }, { sigma = 0.004 })
    o.sigma = 0.004
    local r = xpcs.own.fit(d, g1, o)
    assert.matches('^Poor fit: the model does not describe the data', r.conclusion)
    assert.equal(r.conclusion, tostring(r):match '^[^\n]*')
    assert.equal(tostring(file):gsub('%d+ iterations.*', ''), tostring(r):gsub('%d+ iterations.*', ''))
    assert.same({ file.values, file.errors, file.quality_flag, file.chi2 },
      { r.values, r.errors, r.quality_flag, r.chi2 })
    assert.is_nil(tostring(r):find('--', 1, true), tostring(r))
    assert.matches('fit from other starting values %(p0%)', table.concat(r.verdict.sentences))
    assert.equal('individual', r.scaling) -- of two angles
    local v = r.fit:profile('rate', { level = 0.95 })
    assert.is_true(v.low < r.values.rate and r.values.rate < v.high)
  end)

  it('gives the same bits for any blocks', function()
    local o = { p0 = { D0 = 2500, alpha = -0.3 }, sigma = 0.004 }
    local first
    for _, values in ipairs { 1, 5000, 2 ^ 22 } do
      d.block_values = values
      local r = xpcs.own.solve(d, anomalous(kd), o)
      first = first or r
      for _, name in ipairs(r.free) do
        assert.is_true(first.p[name] == r.p[name] and first.stderr[name] == r.stderr[name])
      end
    end
    d.block_values = nil
  end)

  it('refuses what is no function of tensors, and wrong sigma', function()
    local function refused(f, ...)
      local ok, why = pcall(f)
      assert.is_false(ok)
      for _, part in ipairs { ... } do assert.is_truthy(tostring(why):find(part, 1, true), tostring(why)) end
    end
    refused(function() xpcs.own.solve(d, 3, {}) end, 'g1')
    for _, name in ipairs { 'fit', 'solve' } do
      refused(function() xpcs.own[name](nil, anomalous(kd), { p0 = { D0 = 1, alpha = 0 } }) end, 'data is nil')
      refused(function() xpcs.own[name]({}, anomalous(kd), { p0 = { D0 = 1, alpha = 0 } }) end, 'mc.xpcs.open')
      refused(function() xpcs.own[name](d, anomalous(kd)) end, 'p0 is missing', 'p0 = { rate = 0.1 }')
    end
    refused(function() xpcs.own.solve(d, function() return 'no' end, { p0 = { a = 1 } }) end, 'no')
    refused(function() xpcs.own.solve(d, anomalous(kd), { p0 = { D0 = 1, alpha = 0 }, sigma = { 1 } }) end,
      'sigma has 1 number and the data have 2 angles')
    refused(function() xpcs.own.solve(d, anomalous(kd), { p00 = {} }) end, 'p00', 'p0')
    for _, name in ipairs { 'contrast', 'offset', 'contrast_1', 'offset_2', 'contrast_rate', 'offsets' } do
      refused(function()
        xpcs.own.solve(d, function(p, a, b) return mc.exp(-p[name] * (b - a)) end, { p0 = { [name] = 0.1 } })
      end, 'the parameter ' .. name .. ',', 'another name')
    end
    refused(function()
      xpcs.own.solve(d, function(p, a, b) return mc.exp(-p.rate * (b - a:add_(1))) end, { p0 = { rate = 0.1 } })
    end, 'the model writes into its argument')
  end)

  it('names the file of a model, the line, the parameters and the shape that was wanted', function()
    local path = os.tmpname() .. '_model.lua'
    local function says(body, ...)
      local f = assert(io.open(path, 'w'))
      f:write('local mc = require "mascon"\n', 'return { p0 = { rate = 0.1, stretch = 1 }, g1 = function(p, t1, t2)\n',
        body, '\nend }\n')
      f:close()
      local m = xpcs.model_file.read(path)
      local ok, why = pcall(xpcs.model_file.fit, d, m, { sigma = 0.004 })
      assert.is_false(ok, body)
      for _, part in ipairs { 'the model ' .. path, ... } do assert.is_truthy(why:find(part, 1, true), why) end
    end
    says('error("no such phase")', ':3: no such phase')
    says('error { code = 3 }', ':2-4: ')
    says('\nreturn mc.exp(-p.rte * (t2 - t1))', ':4: ', 'there is no parameter rte (did you mean rate?)',
      'the model has rate, stretch')
    says('return 1', 'returns the number 1', 'one value per pair of times', 'the shape [')
    says('return nil', 'returns nil')
    says('return mc.sum(mc.exp(-p.rate * (t2 - t1)))', 'returns f64[]', 'the shape [')
    says('return mc.exp(-p.rate * (t2 - t1)):reshape(-1, 1)', 'returns f64[', ', 1]')
    says('return t1:lt(t2)', 'dtype bool', 'f64')
    says('return mc.log(-p.rate * (t2 - t1))', 'g1 is nan at t1 = 0.5 s', 'rate = 0.1, stretch = 1')
    says('return 1 / (t2 - t2)', 'g1 is inf at t1 = 0.5 s')
    says('return mc.where(mc.sum(t1):item() > 0, t1, t2)', ':3: ', 'being compiled')
    for field, part in pairs { ['bounds = { rat = { 0, 1 } }'] = 'bounds names rat', ['units = { strech = "s" }']
      = 'units names strech', ['fixed = { x = 1 }'] = 'fixed names x' } do
      local f = assert(io.open(path, 'w'))
      f:write('return { p0 = { rate = 0.1, stretch = 1 }, g1 = print, ', field, ' }')
      f:close()
      local ok, why = pcall(xpcs.model_file.read, path)
      assert.is_true(not ok and why:find(path, 1, true) ~= nil and why:find(part, 1, true) ~= nil
        and why:find('p0 has rate, stretch', 1, true) ~= nil, why)
    end
    os.remove(path)
  end)

  it('shows bounds of the scaling as the fit had them', function()
    local m = { p0 = { D = 900 }, g1 = function(p, t1, t2) return mc.exp(-kd * p.D * (t2 - t1)) end,
      bounds = { D = { 100, 1e5 }, contrast = { 0.1, 0.7 } } }
    local r = xpcs.model_file.fit(d, m, { sigma = 0.004, scaling = 'averaged', bounds = { D = { 50, 4000 } } })
    local of = {}
    for _, q in ipairs(r.parameters) do of[q.name] = { q.low, q.high } end
    assert.same({ contrast = { 0.1, 0.7 }, offset = { 0.5, 1.5 }, D = { 50, 4000 } }, of)
    assert.has_error(function() xpcs.model_file.fit(d, m, { bounds = { E = { 0, 1 } } }) end)
  end)

  it('takes bounds of contrast and offset for those of every angle, and starts within them', function()
    for scaling, key in pairs { averaged = 'offset', individual = 'offset_2' } do
      local o = { scaling = scaling, sigma = 0.004, initial = {}, bounds = { offset = { 1.02, 1.03 } } }
      local r = xpcs.model_file.fit(d, { g1 = anomalous(kd), p0 = { D0 = 3000, alpha = -0.2 } }, o)
      local found
      for _, q in ipairs(r.parameters) do if q.name == key then found = q end end
      assert.same({ 1.02, 1.03, 'lower' }, { found.low, found.high, found.at_bound })
      near(1.02, found.value, 1e-6, key)
    end
  end)

  it('names the place where a function of Lua got a tensor', function()
    local function tail(p, t1, t2) return math.exp(-p.rate * (t2 - t1)) end
    local function inside(p, t1, t2)
      local v = math.exp(-p.rate * (t2 - t1))
      return v
    end
    for _, g1 in ipairs { tail, inside } do
      local ok, why = pcall(xpcs.own.solve, d, g1, { p0 = { rate = 0.1 } })
      assert.is_false(ok)
      assert.is_truthy(why:find 'xpcs_own_spec%.lua:%d+' and why:find('mc.exp', 1, true), why)
    end
  end)
end)

describe('a model of a file that does what no model may', function()
  local process = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests')
    .. '/support/init.lua').load 'process'
  local model_file = require 'workflows.xpcs.fit.model_file'
  local folder, d
  setup(function()
    folder = process.folder()
    d = xpcs.data.of(xpcs.generate.set 'A')
  end)
  teardown(function()
    process.remove(folder)
    d = nil
  end)

  local HEAD, G1 = 'local mc = require "mascon"\nlocal n = 0\n', 'return mc.exp(-p.rate * (t2 - t1))'
  local function path_of(before, inside)
    local path = folder .. '/m.lua'
    process.write(path, ('%s%s\nreturn { p0 = { rate = 0.1 }, g1 = function(p, t1, t2)\n  n = n + 1\n  %s\n  %s\n'
      .. 'end }\n'):format(HEAD, before, inside, G1))
    return path
  end

  --- The message of reading and fitting the model.
  local function message(before, inside)
    local path = path_of(before, inside)
    local ok, why = pcall(function() return model_file.fit(d, model_file.read(path), { sigma = 0.004 }) end)
    assert.is_false(ok)
    assert.is_truthy(tostring(why):find('xpcs: the model ' .. path, 1, true), tostring(why))
    return why
  end

  local BAD = {
    { 'error({})', 'error was called with a table; give it a text that says what is wrong' },
    { 'error()', 'error was called with nothing; give it a text that says what is wrong' },
    { 'error { message = "no sample" }', 'no sample' },
    { 'coroutine.yield(1)', 'coroutine.yield is called, and a model returns its values at once' },
    { 'os.exit(7)', 'os.exit is called, and a model does not end the program' },
  }
  for _, case in ipairs(BAD) do
    it(('is told so with its file, at once and later: %s'):format(case[1]), function()
      for _, where in ipairs { { case[1], '' }, { '', case[1] }, { '', ('if n > 1 then %s end'):format(case[1]) } } do
        local why = message(unpack(where))
        assert.is_truthy(why:find(case[2], 1, true), why)
      end
    end)
  end

  it('may read its parameters by name and in turn, and not write them', function()
    for _, line in ipairs { 'p.rate = 3', 'p.other = 3', 'if n > 1 then p.rate = 3 end' } do
      local why = message('', line)
      assert.is_truthy(why:find('is assigned, and the parameters are the fit', 1, true), why)
    end
    local path = path_of('', 'local sum = 0\n  for _, v in pairs(p) do sum = sum + v end\n  p = { rate = sum }')
    local plain = model_file.fit(d, model_file.read(path_of('', '')), { sigma = 0.004 })
    local walked = model_file.fit(d, model_file.read(path), { sigma = 0.004 })
    assert.equal(plain.chi2, walked.chi2)
    assert.equal(plain.values.rate, walked.values.rate)
  end)

  it('leaves the globals of the program alone but for what it assigns', function()
    local exit, yield = os.exit, coroutine.yield
    model_file.read(path_of('local t = os.time() assert(type(t) == "number")', ''))
    assert.is_true(exit == os.exit and yield == coroutine.yield)
  end)

  it('that names no unit gets a note, and the table no column of intervals without numbers', function()
    local r = model_file.fit(d, model_file.read(path_of('', '')), { sigma = 0.004 })
    assert.is_truthy(table.concat(r.warnings, '\n'):find('the model names no unit of rate', 1, true))
    assert.is_nil(xpcs.report.table(r):find('interval', 1, true))
    local m = model_file.read(path_of('', ''))
    m.units = { rate = '' }
    assert.is_nil(table.concat(model_file.fit(d, m, { sigma = 0.004 }).warnings, '\n'):find('unit', 1, true))
  end)
end)
