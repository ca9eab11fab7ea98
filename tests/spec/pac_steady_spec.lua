-- pac_steady_spec.lua - how much of a phase is left after shifts, and the note where surrogates made by shifts hold the
-- coupling of the data.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local mc = require 'mascon'
local pac = mc.pac

local function with(fs, more)
  local o = { fs = fs, pha_bands_hz = { { 4, 8 }, { 8, 12 } }, amp_bands_hz = { { 50, 70 }, { 60, 80 } },
    n_perm = 50 }
  for k, v in pairs(more or {}) do o[k] = v end
  return o
end

describe('pac.steady', function()
  local function rhythm(noise, T)
    local phase = mc.arange(0, T - 1) * (2 * math.pi * 6 / 250)
    return mc.sin(phase) + mc.multiply(0.3 * (1 + mc.sin(phase)), mc.sin(phase * 10)) + noise * mc.randn({ T },
      { seed = 3 })
  end

  it('is 1 for a sine and what chance gives for noise, short recordings included', function()
    local share = pac.steady.share
    local sine = mc.sin(mc.arange(0, 4095) * (2 * math.pi * 6 / 512))
    assert.is_true(share(sine, { 4, 8 }, 512)[1]:item() > 0.95)
    for _, T in ipairs { 1024, 8192 } do
      local noise = share(mc.randn({ 20, T }, { seed = T }), { 4, 8 }, 512)
      assert.equal('{20}', tostring(noise.shape))
      assert.is_true(mc.all(mc.lt(noise, 3 / math.sqrt(4 * T / 512))), T)
    end
    -- the definition, shift by shift
    local phase = mc.cumsum(mc.randn({ 256 }, { seed = 5 }) * 0.1 + 0.3)
    local z, squares = mc.complex(mc.cos(phase), mc.sin(phase)), 0
    for L = 0, 255 do squares = squares + mc.square(mc.abs(mc.mean(mc.roll(z, L) * mc.conj(z)))):item() end
    local power = mc.square(mc.abs(mc.fft.fft(z)))
    tol.near(math.sqrt(squares / 256), mc.sqrt(mc.sum(mc.square(power / mc.sum(power)))):item(), 1e-12)
  end)

  it('is noted where surrogates hold the coupling, and only there', function()
    local function notes(x, o)
      local s = pac.source.wrap(x, { fs = 250, axes = x.ndim == 3 and 'CST' or 'CT' })
      local r = pac.source.run(pac.plan(s.T, with(s.fs, o)), s)
      return table.concat(r.warnings, '\n')
    end
    local two = mc.stack { rhythm(0.5, 5000), mc.randn({ 5000 }, { seed = 4 }) }
    assert.truthy(notes(two):find('steady rhythm in 1 of 2 channels (ch1)', 1, true))
    assert.is_nil(notes(two, { n_perm = 0 }):find 'steady')
    assert.is_nil(notes(two[{ { 2, 2 } }]):find 'steady')
    local s = pac.source.wrap(two, { fs = 250, axes = 'CT' })
    local r = pac.source.run(pac.plan(s.T, with(250)), s)
    assert.is_string(pac.steady.note({ options = { surrogate = 'time_lag' } }, s, r))
    -- a rhythm in noise: more than half of its phase is left after shifts, or less
    local band = { pha_bands_hz = { { 4, 8 } } }
    assert.truthy(notes(rhythm(4, 5000):reshape(1, -1), band):find 'steady')
    local weak = rhythm(6, 5000):reshape(1, -1)
    assert.is_true(pac.steady.share(weak, { 4, 8 }, 250)[1]:item() > 3 / math.sqrt(4 * 5000 / 250))
    assert.is_nil(notes(weak, band):find 'steady')
    -- in a short recording noise is left after shifts too: what exceeds one half there is chance
    local short = mc.randn({ 6, 250 }, { seed = 11 })
    assert.is_true(mc.any(mc.gt(pac.steady.share(short, { 4, 8 }, 250), 0.5)))
    assert.is_nil(notes(short, { pha_bands_hz = { { 4, 8 } } }):find 'steady')
    assert.is_nil(pac.steady.note({ options = { surrogate = 'swap_trials' } }, s, r))
  end)
end)
