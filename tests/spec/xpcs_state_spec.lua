-- xpcs_state_spec.lua - checkpoints of a fit: stopped anywhere, also inside a pass, it goes on to the same bits;
-- damaged ones are passed over.
local mc = require 'mascon'
local xpcs = mc.xpcs
local folder = os.tmpname()
os.remove(folder)

local function list()
  local out = {}
  for name in io.popen("ls '" .. folder .. "' 2>/dev/null"):lines() do out[#out + 1] = name end
  return out
end

describe('xpcs.state', function()
  local s, d, plain
  -- with a start, so that a fit takes passes over the data and no search; one test goes without
  local FROM = { initial = { D0 = 900 }, contrast = { 0.3, 0.3, 0.3, 0.3 }, offset = { 1, 1, 1, 1 } }
  local function options(more)
    local out = { sigma = 0.01, loss = 'soft_l1' }
    for k, v in pairs(FROM) do out[k] = v end
    for k, v in pairs(more or {}) do out[k] = v end
    return out
  end
  local o = options()
  setup(function()
    s = xpcs.simulate { n = 140, q = 0.01, phi = { -30, 0, 30, 75 }, seed = 2 }
    d = xpcs.data.of(s)
    plain = xpcs.fit(d, o)
  end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
    s, d, plain = nil, nil, nil
  end)

  before_each(function() os.execute("rm -rf '" .. folder .. "'") end)

  --- A fit with options (o) that dies after so many blocks; then one that resumes.
  local function stopped(after, with)
    local state = xpcs.state.new(d, with or o, { dir = folder, every = 0, block_values = 1 })
    local left = after
    state.watch = function()
      left = left - 1
      if left == 0 then error('terminated', 0) end
    end
    local given = { engine = state.engine }
    for k, v in pairs(with or o) do given[k] = v end
    assert.is_false(pcall(xpcs.fit, d, given))
    assert.is_true(#list() >= 1 and #list() <= 3)
    return state
  end

  local function same(r, whole)
    whole = whole or plain
    for k, v in ipairs(whole.point.x) do assert.is_true(v == r.point.x[k]) end
    assert.is_true(whole.chi2 == r.chi2 and whole.nfev == r.nfev)
    for i = 1, #whole.names do
      for j = 1, #whole.names do assert.is_true(whole.covariance[i][j] == r.covariance[i][j]) end
    end
  end

  it('writes none before the first pass, and passes over one without sums in silence', function()
    local state = xpcs.state.new(d, o, { dir = folder })
    assert.is_nil(state:save())
    assert.same({}, list())
    mc.save(folder .. '/xpcs_state_000001.npz', { fingerprint = state.fingerprint })
    local r = xpcs.state.fit(d, o, { dir = folder })
    same(r)
    assert.is_false(r.resumed)
    assert.is_nil(table.concat(r.warnings, '\n'):find('checkpoint', 1, true))
  end)

  it('resumes at any block to the same bits, and reads the data only for what is left', function()
    local searched = { sigma = 0.01, loss = 'soft_l1' }
    for after, with in pairs { [2] = o, [7] = o, [23] = searched, [40] = o } do
      local whole = with == o and plain or xpcs.fit(d, with)
      stopped(after, with)
      local r = xpcs.state.fit(d, with, { dir = folder, every = 0, block_values = 1 })
      same(r, whole)
      assert.is_true(r.resumed)
      assert.equal(whole.nfev * 6 - after, r.statistics.total_batches)
      assert.equal(1, r.statistics.success_rate)
      assert.same({}, list())
    end
  end)

  it('passes over checkpoints that are cut or changed, and those of other data', function()
    stopped(30)
    local names = list()
    for k = 2, #names do os.remove(folder .. '/' .. names[k]) end
    local path = folder .. '/' .. names[1]
    local f = assert(io.open(path, 'rb'))
    local bytes = f:read '*a'
    f:close()
    local at = math.floor(#bytes / 2)
    for _, damaged in ipairs { bytes:sub(1, at), bytes:sub(1, at) .. string.char((bytes:byte(at + 1) + 1) % 256)
      .. bytes:sub(at + 2) } do
      f = assert(io.open(path, 'wb'))
      f:write(damaged)
      f:close()
      local r = xpcs.state.fit(d, o, { dir = folder, every = 1e9 })
      same(r)
      assert.is_false(r.resumed)
      assert.is_truthy(table.concat(r.warnings, '\n'):find('is damaged and is passed over', 1, true))
    end
    stopped(30)
    local other = xpcs.state.fit(d, options { loss = 'huber' }, { dir = folder, every = 1e9 })
    assert.is_false(other.resumed)
    assert.is_truthy(table.concat(other.warnings, '\n'):find('belongs to other data', 1, true))
  end)

  it('sees by the sums of the first pass that values of the data are others', function()
    local c = s.c2:copy()
    c[{ 2, 5, 90 }], c[{ 2, 90, 5 }] = c[{ 2, 5, 90 }] + 1e-9, c[{ 2, 90, 5 }] + 1e-9
    local with = options { loss = 'linear' }
    local other = xpcs.data.of { c2 = c, phi = s.phi, t = s.t, q = s.q, dt = s.dt, gap = s.gap, mode = s.mode,
      sigma = s.sigma }
    for _, after in ipairs { 2, 30 } do
      local state = xpcs.state.new(d, with, { dir = folder, every = 0, block_values = 1 })
      local left = after
      state.watch = function()
        left = left - 1
        if left == 0 then error('terminated', 0) end
      end
      assert.is_false(pcall(xpcs.fit, d, options { loss = 'linear', engine = state.engine }))
      assert.is_true(xpcs.state.new(other, with, { dir = folder }).resumed, 'until its sums are looked at')
      local r = xpcs.state.fit(other, with, { dir = folder, every = 1e9, block_values = 1 })
      assert.is_false(r.resumed)
      assert.is_truthy(table.concat(r.warnings, '\n'):find('belongs to other data', 1, true))
      assert.is_true(r.chi2 == xpcs.fit(other, with).chi2)
      os.execute("rm -rf '" .. folder .. "'")
    end
  end)

  it('without checkpoints leaves the point it had reached, as options', function()
    local calls = 0
    local function engine(...)
      calls = calls + 1
      if calls == 7 then error('terminated', 0) end
      return xpcs.pass.run(...)
    end
    local settings = { fit = { sigma = 0.01, engine = engine }, streaming = {}, multi_start = {}, cmaes = {} }
    assert.is_nil(xpcs.run.reached(settings))
    assert.is_false(pcall(xpcs.run.fit, settings, d, true))
    local words = xpcs.run.reached(settings)
    assert.matches('^it had come to a cost of [%d.]+; to start from there add %-%-initial%-d0 [%d.]+ %-%-initial%-a',
      words)
    local initial = {}
    for name, v in words:gmatch '%-%-initial%-([%w-]+) (%S+)' do initial[#initial + 1] = { name, tonumber(v) } end
    assert.equal(#plain.physics, #initial)
    assert.is_true(settings.reached.cost < 1.01 * 0.5 * xpcs.fit(d, { sigma = 0.01 }).chi2)
  end)

  it('is over with the fit: profiles of its result leave nothing', function()
    local r = xpcs.state.fit(d, options { loss = 'linear' }, { dir = folder, every = 0 })
    xpcs.intervals.profile(r, { 'alpha' }, 0.95)
    assert.is_false(mc.file.is_folder(folder))
    os.execute("mkdir '" .. folder .. "'")
    r = xpcs.state.fit(d, options { loss = 'linear' }, { dir = folder, every = 0 })
    xpcs.intervals.profile(r, { 'alpha' }, 0.95)
    assert.same({}, list())
  end)

  it('leaves no folder behind where it made one', function()
    xpcs.state.fit(d, o, { dir = folder, every = 0 })
    assert.is_false(mc.file.is_folder(folder))
    assert.is_false(pcall(xpcs.state.fit, d, options { watch = function() error('no', 0) end }, { dir = folder }))
    assert.is_false(mc.file.is_folder(folder))
    assert.is_false(pcall(xpcs.state.new, {}, o, { dir = folder }))
    assert.is_false(mc.file.is_folder(folder))
    os.execute("mkdir '" .. folder .. "'")
    xpcs.state.fit(d, o, { dir = folder })
    assert.is_true(mc.file.is_folder(folder))
  end)

  it('leaves a checkpoint when it is interrupted, and says when the folder cannot be made', function()
    local calls = 0
    local ok = pcall(xpcs.state.fit, d, options { watch = function()
      calls = calls + 1
      if calls == 7 then error('terminated', 0) end
    end }, { dir = folder, every = 1e9 })
    assert.is_false(ok)
    assert.equal(1, #list())
    assert.has_error(function() xpcs.state.fit(d, o, { dir = '/dev/null/x' }) end)
  end)
end)
