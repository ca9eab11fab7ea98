-- sample_resume_spec.lua - runs of mc.sample that stop: states to go on from, to the same bits; draws that are kept.
local mc = require 'mascon'

local function density(x)
  local v, g = x:totable(), {}
  local value = -0.3 * v[1] * v[2]
  for k = 1, #v do value, g[k] = value - 0.5 * v[k] ^ 2, -v[k] end
  g[1], g[2] = g[1] - 0.3 * v[2], g[2] - 0.3 * v[1]
  return value, mc.tensor(g)
end
local O = { key = 7, chains = 2, draws = 30, warmup = 45, metric = 'dense', jac = true }

local function with(more)
  local o = {}
  for k, v in pairs(O) do o[k] = v end
  for k, v in pairs(more) do o[k] = v end
  return o
end

local function same(a, b)
  assert.is_true(mc.array_equal(a.posterior.x, b.posterior.x))
  for name, v in pairs(a.sample_stats) do assert.is_true(mc.array_equal(v, b.sample_stats[name]), name) end
  assert.equal(a.gradients, b.gradients)
end

describe('sample.nuts', function()
  local whole
  setup(function() whole = mc.sample.nuts(density, { 0, 0, 0 }, O) end)
  teardown(function() whole = nil end)

  it('goes on from a state in a file to the bits of a run that was not stopped', function()
    local path = os.tmpname() .. '.h5'
    for _, stop in ipairs { 3, 41, 45, 60, 75, 130, 148 } do
      local count, latest, stopping, left = 0, nil, false, 2
      -- stopped in the middle of the next iteration
      local function stopped(x)
        if stopping then left = left - 1 end
        if left == 0 then error('stop here', 0) end
        return density(x)
      end
      local ok, why = pcall(mc.sample.nuts, stopped, { 0, 0, 0 }, with { notify = function(state)
        count = count + 1
        latest = state
        if count == stop then stopping = true end
      end })
      assert.is_false(ok)
      assert.equal('stop here', why)
      mc.save(path, latest())
      same(whole, mc.sample.nuts(density, { 0, 0, 0 }, with { resume = mc.load(path) }))
    end
    os.remove(path)
  end)

  it('refuses a state of another run', function()
    local state
    mc.sample.nuts(density, { 0, 0 }, with { chains = 1, notify = function(s) state = state or s() end })
    local ok, why = pcall(mc.sample.nuts, density, { 0, 0, 0 }, with { resume = state })
    assert.is_false(ok)
    assert.is_truthy(tostring(why):find('the state to resume from has 2 parameters', 1, true))
  end)

  it('keeps what was drawn when it is interrupted', function()
    local function stopped(after, word)
      local count = 0
      return mc.sample.nuts(density, { 0, 0, 0 }, with { keep = true, notify = function()
        count = count + 1
        if count == after then error(word, 0) end
      end })
    end
    local r = stopped(60, 'interrupted') -- 15 draws of the first chain
    assert.equal('interrupted', r.interrupted)
    assert.is_true(mc.array_equal(whole.posterior.x[{ { 1, 1 }, { 1, 15 } }], r.posterior.x))
    r = stopped(140, 'terminated') -- the first chain is whole
    assert.equal('terminated', r.interrupted)
    assert.is_true(mc.array_equal(whole.posterior.x[{ { 1, 1 } }], r.posterior.x))
    assert.equal(1, #r.step_size)
    assert.is_false(pcall(stopped, 20, 'interrupted')) -- nothing but warm-up
    assert.is_false(pcall(stopped, 60, 'another error'))
    assert.is_nil(whole.interrupted)
  end)
end)
