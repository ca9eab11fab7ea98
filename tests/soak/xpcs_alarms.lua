-- xpcs_alarms.lua - how often do limits of the XPCS verdict speak without a cause, and do they where there is one? 2
-- data sets of each kind a case.
-- soak: 20
--
--     mascon tests/soak/xpcs_alarms.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- Kinds: a sigma that is right, and 1.1 to 1.5 times too large (limit: reduced chi2 0.7 and 5 standard deviations);
-- data without shear and with (limit: 5 standard deviations of chi2); residuals of the right model under independent
-- noise and under speckle, and of two relaxations (limit: 1e-6, from 3 angles on); data without a decay, with a weak
-- one and with one (limit: 3 standard deviations of chi2). A case fails on a false alarm of sigma, a pattern or no
-- decay, and where a cause that is clear is not told. The counts lie beside the state (FILE.tsv).
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak, speckle = dofile(here .. '/support/soak.lua'), dofile(here .. '/support/speckle.lua')
local xpcs = mc.xpcs

local SETS = 2
local state
for i = 1, #arg do if arg[i] == '--state' then state = arg[i + 1] end end

local function has(r, kind)
  for _, f in ipairs(r.verdict.findings) do if f.kind == kind then return true end end
  return false
end

--- Fits of a simulation: how many have a finding of a kind.
local function told(kind, make)
  local count = 0
  for i = 1, SETS do if has(make(i), kind) then count = count + 1 end end
  return count
end

--- Static data with independent noise, fitted with a sigma that is so many times too large.
local function sigma(seed, factor, n)
  return function(i)
    local s = xpcs.simulate { n = n, q = 0.012, dt = 0.3, phi = { 0, 60 }, physics = { 2200, -0.3, 200 }, sigma = 0.005,
      seed = seed * 1000 + i }
    s.sigma = nil
    return xpcs.fit(xpcs.data.of(s), { sigma = 0.005 * factor, scaling = 'averaged', fixed = { D_offset = 200 },
      rescue = false })
  end
end

--- Laminar fits of data with this shear rate.
local function shear(seed, rate)
  return function(i)
    local s = xpcs.simulate { n = 40, q = 0.01, dt = 0.25, phi = { -25, 0, 30, 75 }, sigma = 0.005,
      physics = { 3000, 0, 300, rate, 0, 0, 4 }, seed = seed * 1000 + i }
    s.sigma = nil
    return xpcs.fit(xpcs.data.of(s), { mode = 'laminar_flow', sigma = 0.005, scaling = 'averaged', rescue = false,
      fixed = { alpha = 0, beta = 0, gamma_dot_t_offset = 0 } })
  end
end

--- Fits of data with this D0 and contrast.
local function decays(seed, D0, contrast)
  return function(i)
    local s = xpcs.simulate { n = 40, q = 0.01, dt = 0.25, phi = { 0, 60 }, contrast = contrast, sigma = 0.01,
      physics = { D0, 0, 0 }, seed = seed * 1000 + i }
    s.sigma = nil
    return xpcs.fit(xpcs.data.of(s), { scaling = 'averaged', rescue = false })
  end
end

local PHI = { -80, -60, -40, -20, 0, 20, 40, 60 }
local ONE = { scaling = 'averaged', fixed = { alpha = 0, D_offset = 0 },
  bounds = { D0 = { 100, 1e6 } }, rescue = false }

--- Fits of one relaxation, without sigma, of so many angles: `share` of a second one 31 times slower under independent
--- noise, or one under the noise of speckle.
local function relaxations(seed, count, share, field)
  return function(i)
    local angles = { unpack(PHI, 1, count) }
    local o = { n = 60, q = 0.0085, dt = 0.08, phi = angles, physics = { 1.1e5, 0, 0 }, seed = seed * 1000 + i,
      pixels = 400, modes = 2 }
    if field then return xpcs.fit(speckle.data(o), ONE) end
    local function g1(D0)
      local s = xpcs.simulate { n = o.n, q = o.q, dt = o.dt, phi = angles, physics = { D0, 0, 0 }, contrast = 1,
        offset = 0, sigma = 0 }
      return mc.sqrt(mc.maximum(s.c2, 0)), s.t
    end
    local fast, t = g1(1.1e5)
    local g = fast * (1 - share) + g1(3500) * share
    local e = mc.triu(mc.randn({ count, o.n, o.n }, { seed = o.seed }), 1) * 0.01
    return xpcs.fit(xpcs.data.of { c2 = g * g * 0.3 + 1 + e + e.mT, phi = angles, t = t, q = o.q, dt = o.dt }, ONE)
  end
end

--- name, kind of the finding, fits of a seed, fewest and most of SETS.
local KINDS = {
  { 'sigma right', 'sigma', function(s) return sigma(s, 1, 30) end, 0, 0 },
  { 'sigma right, 12 times', 'sigma', function(s) return sigma(s, 1, 12) end, 0, 0 },
  { 'sigma 1.1 times too large', 'sigma', function(s) return sigma(s, 1.1, 60) end, 0, 0 },
  { 'sigma 1.25 times too large', 'sigma', function(s) return sigma(s, 1.25, 60) end, SETS, SETS },
  { 'sigma 1.5 times too large, 12 times', 'sigma', function(s) return sigma(s, 1.5, 12) end, 0, SETS },
  { 'no shear', 'unneeded', function(s) return shear(s, 1e-6) end, SETS - 2, SETS },
  { 'weak shear', 'unneeded', function(s) return shear(s, 3e-4) end, 0, SETS },
  { 'shear', 'unneeded', function(s) return shear(s, 1e-3) end, 0, 0 },
  { 'independent noise, 3 angles', 'pattern', function(s) return relaxations(s, 3, 0) end, 0, 0 },
  { 'independent noise, 6 angles', 'pattern', function(s) return relaxations(s, 6, 0) end, 0, 0 },
  { 'speckle, 3 angles', 'pattern', function(s) return relaxations(s, 3, 0, true) end, 0, 0 },
  { 'speckle, 4 angles', 'pattern', function(s) return relaxations(s, 4, 0, true) end, 0, 0 },
  { 'speckle, 6 angles', 'pattern', function(s) return relaxations(s, 6, 0, true) end, 0, 0 },
  { 'two relaxations, 3 angles', 'pattern', function(s) return relaxations(s, 3, 0.5) end, SETS, SETS },
  { 'two relaxations, 4 angles', 'pattern', function(s) return relaxations(s, 4, 0.5) end, SETS, SETS },
  { 'a tenth of a second relaxation, 4 angles', 'pattern', function(s) return relaxations(s, 4, 0.1) end, 0, SETS },
  { 'no decay: over within a frame', 'flat', function(s) return decays(s, 1e5 * 50, 0.3) end, SETS, SETS },
  { 'no decay: no contrast', 'flat', function(s) return decays(s, 2000, 1e-6) end, SETS - 1, SETS },
  { 'a weak decay', 'flat', function(s) return decays(s, 2000, 0.004) end, 0, SETS },
  { 'a decay', 'flat', function(s) return decays(s, 2000, 0.02) end, 0, 0 },
}

soak.run('xpcs_alarms', 20, arg, function(_, seed)
  local wrong, counts = {}, {}
  for i, k in ipairs(KINDS) do
    counts[i] = told(k[2], k[3](seed))
    if counts[i] < k[4] or counts[i] > k[5] then
      wrong[#wrong + 1] = ('%s: %s told in %d of %d, expected %d to %d'):format(k[1], k[2], counts[i], SETS, k[4], k[5])
    end
  end
  if state then
    local out = assert(io.open(state .. '.tsv', 'a'))
    for i, k in ipairs(KINDS) do out:write(('%s\t%d\t%d\n'):format(k[1], counts[i], SETS)) end
    out:close()
  end
  assert(not wrong[1], table.concat(wrong, '; '))
end)
