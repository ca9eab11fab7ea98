-- xpcs_device_spec.lua - passes of a fit on a device: its sums beside those of the CPU, the same fit, blocks and
-- reruns, what has no form there.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device, process = support.load 'device', support.load 'process'
local device_of = require 'workflows.xpcs.pass.device'
local pass, place = mc.xpcs.pass, device_of.place

local BOUND = 1e-12 -- of sums in f64, relative to the size of what is added

local on = device.tests(it, pending)

local PHI = { -20, 0, 33, 90.5 }
local FLOW, STILL = { 500, -0.25, 6, 2.5e-3, -0.25, 2e-4, -4 }, { 500, -0.25, 6 }

--- Simulated data of n times, not those of the parameters above.
local function data_of(n, opts)
  local s = mc.xpcs.generate.simulate { n = n, dt = 0.1, q = 0.0054, gap = 2e6, phi = PHI, contrast = 0.3, offset = 1,
    physics = { 400, -0.3, 5, 3e-3, -0.2, 1e-4, -6 }, sigma = 0.01, seed = 3, first = 1 }
  local o = { c2 = s.c2, phi = PHI, t = s.t, q = 0.0054, dt = 0.1, gap = 2e6, mode = 'laminar_flow' }
  for k, v in pairs(opts or {}) do o[k] = v end
  return mc.xpcs.data.of(o), s
end

--- A point of a pass.
local function at(data, kind, o)
  local kd, ks = mc.xpcs.model.constants { q = 0.0054, gap = 2e6, dt = 0.1 }
  local common = kind == 'common'
  local p = { physics = FLOW, contrast = common and { 0.3, 0.3, 0.3, 0.3 } or { 0.28, 0.3, 0.31, 0.25 },
    offset = common and { 1, 1, 1, 1 } or { 1, 1.01, 0.99, 1 }, sigma = { 0.01, 0.011, 0.009, 0.02 }, kd = kd, ks = ks,
    t = data.t, loss = 'linear', f_scale = 1.5 }
  for k, v in pairs(o or {}) do p[k] = v end
  return p
end

--- What a sum adds up to at most, without the signs: by Cauchy and Schwarz from the diagonal.
local function size(s, i)
  local function normal(k, l) -- place of the product of physical columns k <= l
    local p = 8
    for m = 1, k - 1 do p = p + 8 - m end
    return p + l - k + 1
  end
  local function root(a, b) return math.sqrt(math.abs(s[a] * s[b])) end
  if i >= 2 and i <= 8 then return root(normal(i - 1, i - 1), 1) end
  if i <= 36 then
    for k = 1, 7 do
      for l = k, 7 do if normal(k, l) == i then return root(normal(k, k), normal(l, l)) end end
    end
    return math.abs(s[i])
  end
  local b = 36 + 19 * math.floor((i - 37) / 19)
  local w, cc, oo = i - b, b + 1, b + 3
  if w == 2 then return root(cc, oo) end
  if w == 4 or w == 5 then return root(w == 4 and cc or oo, 1) end
  if w > 5 then
    local k = (w - 6) % 7 + 1
    return root(w <= 12 and cc or oo, normal(k, k))
  end
  return math.abs(s[i])
end

--- Sums on the device are those of the CPU.
local function agree(name, data, kind, o)
  local want, given = pass.run(data, at(data, kind, o), kind), at(data, kind, o)
  given.device = place({ device = name }, {})
  local got = pass.run(data, given, kind)
  assert.equal(#want, #got)
  for i, v in ipairs(want) do
    local far = math.abs(v - got[i])
    if not (far <= BOUND * size(want, i)) then
      error(('%s, sum %d: %.17g instead of %.17g, %.2g of its size'):format(kind, i, got[i], v, far / size(want, i)))
    end
  end
  return got
end

describe('a pass on a device', function()
  on('has the sums of the CPU: sizes of tiles, kinds of scaling, dtypes', function(d)
    for _, n in ipairs { 2, 9, 64, 65, 150 } do
      local data = data_of(n)
      for _, kind in ipairs { 'common', 'each', 'fixed' } do agree(d, data, kind) end
      agree(d, data, 'common', { physics = STILL })
    end
    agree(d, (data_of(70, { dtype = 'f32' })), 'common')
  end)

  on('has them with masks, standard deviations of points, one angle', function(d)
    local _, s = data_of(70)
    local points = mc.random.uniform({ 70, 70 }, { seed = 4 })
    local mask = mc.gt(points + points.mT, 0.3)
    local sigma = 0.01 + 0.01 * points * points.mT
    local data = data_of(70, { mask = mask, sigma_c2 = (sigma + sigma.mT) / 2 })
    assert.is_truthy(data.weight)
    for _, kind in ipairs { 'common', 'each' } do agree(d, data, kind) end
    local one = mc.xpcs.data.of { c2 = s.c2[{ { 1, 1 } }], phi = { -20 }, t = s.t }
    local o = { contrast = { 0.3 }, offset = { 1 }, sigma = { 0.01 } }
    agree(d, one, 'each', o)
  end)

  on('has them under robust losses, for the errors of a fit too', function(d)
    local data = data_of(70)
    for _, loss in ipairs { 'soft_l1', 'huber', 'cauchy', 'arctan' } do
      for _, part in ipairs { 'fit', 'psi', 'below' } do agree(d, data, 'common', { loss = loss, part = part }) end
    end
  end)

  on('has them where a decay is over at once, where D is at its floor, where nothing flows', function(d)
    local data = data_of(70)
    for _, physics in ipairs { { 1e7, 0.5, 0, 0.2, 0.3, 0, 10 }, { 1, -1, -5, 1e-6, 0, 0, 90 },
      { 300, 0.1, 0, 0, 0, 0, 0 }, { 300, 0.1, 0, 5, 0.5, 0, -4 } } do
      agree(d, data, 'common', { physics = physics })
    end
  end)

  on('has the same bits in blocks of any size, from where another one stopped, and each time', function(d)
    local data = data_of(200)
    local function run(o, p)
      o.device = d
      local given = at(data, 'each', p)
      given.device = place(o, {})
      return pass.run(data, given, 'each')
    end
    local before, there = mc.memory { device = d }.live, data
    local whole = run {}
    local room = data.packed:numel() * 8
    assert.is_true(mc.memory { device = d }.live - before >= room, 'data that fit stay on the device')
    before = mc.memory { device = d }.live
    assert.same(whole, run {})
    assert.is_true(mc.memory { device = d }.live - before < room, 'and go there once')
    before = mc.memory { device = d }.live
    data = data_of(200) -- not on the device yet, and with no room to stay
    assert.same(whole, run { max_memory = 3e5 })
    assert.is_true(mc.memory { device = d }.live - before < 1e5, 'blocks do not stay on the device')
    data = there
    for _, most in ipairs { 1, 40000 } do
      data.block_values = most
      assert.same(whole, run {})
    end
    local stopped
    data.block_values = 1
    pcall(run, {}, { between = function(state, tile)
      if tile >= 5 then
        stopped = { state = state, tile = tile }
        error 'enough'
      end
    end })
    assert.equal(5, stopped.tile)
    assert.same(whole, run({}, { from = stopped }))
    data.block_values = nil
  end)
end)

describe('a fit on a device', function()
  local function fit(data, name, o)
    local with = { device = name, sigma = 0.004, rescue = false } -- one fit, not those from other starts
    for k, v in pairs(o or {}) do with[k] = v end
    return mc.xpcs.fit(data, with)
  end

  -- a start near the truth of data_of: its search would run on the CPU, and in each of these fits
  local function near(more)
    local o = { sigma = 0.004, contrast = { 0.3, 0.3, 0.3, 0.3 }, offset = { 1, 1, 1, 1 }, initial = { D0 = 500,
      alpha = -0.25, D_offset = 6, gamma_dot_t0 = 2.5e-3, beta = -0.25, gamma_dot_t_offset = 2e-4, phi0 = -4 } }
    for k, v in pairs(more or {}) do o[k] = v end
    return o
  end

  on('has the values, errors and words of the CPU', function(d)
    local data = mc.xpcs.data.of(mc.xpcs.generate.set 'B')
    for _, o in ipairs { {}, { scaling = 'individual' }, { shear_weighting = true }, { mode = 'static' },
      { loss = 'soft_l1' } } do
      local want, got = fit(data, 'cpu', o), fit(data, d, o)
      assert.same({ 'cpu', d }, { want.device, got.device })
      for name, v in pairs(want.values) do
        assert.is_true(math.abs(v - got.values[name]) <= 1e-9 * math.max(math.abs(v), want.errors[name]), name)
        assert.is_true(math.abs(want.errors[name] / got.errors[name] - 1) <= 1e-8, name)
      end
      assert.same(want.quality_flag, got.quality_flag)
      assert.same(want.verdict.sentences, got.verdict.sentences)
      assert.same(want.status, got.status)
    end
  end)

  on('keeps checkpoints', function(d)
    local data, dir = data_of(130), os.tmpname()
    os.remove(dir)
    local r = mc.xpcs.state.fit(data, near { device = d }, { dir = dir, every = 0, block_values = 5000 })
    data.block_values = nil
    assert.same(fit(data, d, near()).values, r.values)
    assert.is_true(r.n_batches > r.nfev)
  end)

  on('goes on from a checkpoint on its device only', function(d)
    local data, dir = data_of(130), os.tmpname()
    os.remove(dir)
    local function state(name, options)
      options.dir, options.every = dir, 0
      return mc.xpcs.state.new(data, near { device = name }, options)
    end
    for _, from in ipairs { d, 'cpu' } do
      local to = from == d and 'cpu' or d
      local s, left = state(from, { block_values = 5000, resume = false }), 20
      s.watch = function()
        left = left - 1
        if left == 0 then error('terminated', 0) end
      end
      assert.is_false((pcall(fit, data, from, near { engine = s.engine })))
      assert.is_nil(state(to, {}).resumed)
      assert.matches('other data, options, another device or version', state(to, {}).warnings[1])
      assert.is_true(state(from, {}).resumed)
      local r = mc.xpcs.state.fit(data, near { device = from }, { dir = dir, every = 0, block_values = 5000 })
      data.block_values = nil
      assert.is_true(r.resumed)
      assert.same(fit(data, from, near()).values, r.values)
    end
    os.execute("rm -rf '" .. dir .. "'")
  end)

  it('on ref has the bits of the CPU', function()
    mc.scope(function()
      local data = data_of(60)
      assert.same(fit(data, 'cpu', near()).values, fit(data, 'ref:0', near()).values)
    end)
  end)

  on('says what has no form there; auto leaves it to the CPU', function(d)
    local data = data_of(20)
    local said = support.message(function() return fit(data, d, { legacy_abs = true }) end)
    assert.matches('legacy_abs has no form on a device; leave it out, or give device = "cpu"', said)
    local r = fit(data, d, { legacy_abs = true, fall_back = true })
    assert.equal('cpu', r.device)
    assert.matches('the pass runs on the CPU: legacy_abs has no form', table.concat(r.warnings, '\n'))
    assert.matches('xpcs.fit: device "cuda:77"', support.message(function() return fit(data, 'cuda:77') end))
  end)

  it('is looked for before data are read', function()
    local settings = mc.xpcs.run.settings
    local function says(pattern, o) assert.matches(pattern, support.message(function() settings(o) end), 1, true) end
    says('--device: device "cuda:77" is not there', { device = 'cuda:77', data_file = 'none.h5' })
    says('--device has no meaning with --model', { device = 'cuda:77', model = 'none.lua' })
    -- in a process of its own: what a device that auto took cannot do goes through the host from then on
    local r = process.mascon([[
local s = require 'mascon'.xpcs.run.settings { device = 'auto', data_file = 'none.h5', max_memory = '1k' }
print(s.device_line:match '^device: %S+, %a', s.fit.fall_back, s.fit.max_memory)]])
    assert.matches('^device: %S+, %a\ttrue\t1024\n$', r.text)
    assert.is_nil(settings { data_file = 'none.h5', max_memory = '1k' }.fit.max_memory)
  end)

  on('reads a packed file block by block', function(d)
    local _, s = data_of(150)
    local path = os.tmpname()
    os.remove(path)
    mc.save(path .. '.npz', { c2_exp = s.c2, phi_angles_list = mc.tensor(PHI), t1 = s.t, t2 = s.t,
      q = mc.tensor(0.0054) })
    local o = { q = 0.0054, dt = 0.1, mode = 'laminar_flow', pack = path .. '.h5', block_values = 20000 }
    local data = mc.xpcs.open(path .. '.npz', o)
    assert.is_truthy(data.store)
    for _, kind in ipairs { 'common', 'each' } do agree(d, data, kind) end
    data.store:close()
    for _, ending in ipairs { '.npz', '.h5' } do os.remove(path .. ending) end
  end)

  on('goes on with the CPU where the device fails and auto took it', function(d)
    local data = data_of(20)
    local run = device_of.run
    local small = place({ device = d, fall_back = true }, {})
    local p = at(data, 'common')
    p.device, p.t = small, data.t:to 'f32' -- a program that takes no such times
    local sums = run(data, p, {}, FLOW, 55)
    assert.is_nil(sums)
    assert.matches('^the passes run on the CPU, since ' .. d .. ' failed: ', small.warnings[1])
    assert.is_nil(run(data, at(data, 'common', { device = small }), {}, FLOW, 55))
    assert.equal(1, #small.warnings)
    -- what a caller raises between blocks is no failure of the device
    local fine = at(data, 'common', { device = place({ device = d, fall_back = true }, {}) })
    function fine.between() error('no more', 0) end
    assert.matches('no more$', (select(2, pcall(mc.xpcs.pass.run, data, fine, 'common'))))
    assert.is_nil(fine.device.left)
    small.auto, small.left = false, nil
    assert.is_false((pcall(run, data, p, {}, FLOW, 55)))
  end)
end)
