-- xpcs_starts.lua - fits that find their own start end as deep as fits that start from the truth, or say so.
-- soak: 200
--
--     mascon tests/soak/xpcs_starts.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- Each case draws true parameters, geometry and noise. Two of four: laminar or static, 24 to 320 times, 3 to 7 angles,
-- decays from two steps to longer than the measurement; the others: laminar, 30 to 70 times of 0.25 s at 0.01 1/A.
-- Reference: the same solver from the true values.
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local xpcs = mc.xpcs

local DEEPER = 4 -- of chi2: what a start may cost, two standard errors along a ridge

local ANGLES = { { 0, 45, 90 }, { -25, 0, 30, 75 }, { -80, -40, 5, 33, 60 } }

--- Laminar flow in one geometry, its rates over all that this shows.
local function in_one_geometry(draw, even, log_even)
  return { n = draw(30, 70), dt = 0.25, q = 0.01, phi = ANGLES[draw(1, 3)], physics = { log_even(200, 1e4),
    even(-0.8, 0.8), even(0, 300), log_even(5e-4, 0.02), even(-0.6, 0.6), even(0, 1e-3), even(-6, 6) },
    contrast = even(0.1, 0.4), offset = even(0.97, 1.03), sigma = 0.004, seed = draw(1, 1e6) }
end

--- Static or laminar data of a drawn geometry.
local function in_any_geometry(draw, even, log_even, laminar)
  local n, dt, F = math.floor(log_even(24, 320)), log_even(0.05, 0.5), draw(3, 7)
  local T, phi = n * dt, {}
  for f = 1, F do phi[f] = -90 + 180 * (f - 1 + even(0, 0.8)) / F end
  local alpha, D0 = even(-1, 0.8), log_even(200, 5e4)
  local offset = D0 * even(-0.05, 0.4) * (T / 3) ^ alpha
  -- q from the exponent over all times, where the beamlines have it
  local decay = D0 * T ^ (alpha + 1) / (alpha + 1.05) + offset * T
  local q = math.max(1e-3, math.min(0.1, math.sqrt(log_even(0.7, n / 2) / math.max(decay, 1e-9))))
  local physics = { D0, alpha, offset }
  if laminar then
    local beta = even(-0.8, 0.8)
    local rate = log_even(0.5, n / 4) * 2 * math.pi / (q * 2e6) / T
    local rest = math.min(rate * even(0, 0.4), 0.09)
    physics = { D0, alpha, offset, math.max(2e-6, math.min(0.45, (rate - rest) * (beta + 1) / T ^ beta)), beta, rest,
      even(-9, 9) }
  end
  return { n = n, dt = dt, q = q, phi = phi, physics = physics, contrast = even(0.08, 0.45),
    offset = even(0.95, 1.05), sigma = log_even(0.002, 0.01), seed = draw(1, 1e6) }
end

soak.run('xpcs_starts', 200, arg, function(draw, k)
  local function even(a, b) return a + (b - a) * draw() end
  local function log_even(a, b) return a * (b / a) ^ draw() end
  local o = (k % 4 < 2 and in_one_geometry or in_any_geometry)(draw, even, log_even, k % 4 == 2)
  local s, physics, sigma = xpcs.simulate(o), o.physics, o.sigma
  local data, truth = xpcs.data.of(s), {}
  for i, name in ipairs(xpcs.parameters.names(s.mode)) do truth[name] = physics[i] end
  local own = xpcs.fit(data, { sigma = sigma, mode = s.mode })
  local best = xpcs.fit(data, { sigma = sigma, mode = s.mode, initial = truth })
  local told = own.verdict.misfit or own.verdict.level == 'undetermined'
  assert(told or own.chi2 < best.chi2 + DEEPER, ('%s, %d angles x %d times, q %.3g: chi2 %.8g, from the truth %.8g; '
    .. 'truth %s'):format(s.mode, data.F, data.n, o.q, own.chi2, best.chi2, mc.json.encode(physics)))
end)
