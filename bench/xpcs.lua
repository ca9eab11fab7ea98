-- xpcs.lua - the pass over two-time data, and a whole fit: 23 angles of 200 and 1000 times, diffusion and shear, f64
-- and f32.
--
-- A pass gives cost, gradient and normal matrix. Checked against the sums from residuals and columns written out, on
-- the first angle alone (they take n^2 numbers a column).
local mc = require 'mascon'
local xpcs = mc.xpcs
local ANGLES = 23

local function job(n, dtype, angles)
  local phi = {}
  for k = 1, angles do phi[k] = -90 + 180 * (k - 1) / (ANGLES - 1) end
  local s = xpcs.simulate { n = n, q = 0.0054, phi = { phi[1] }, physics = { 3000, -0.2, 500, 2e-3, 0.1, 1e-4, 3 } }
  local d = xpcs.data.new { n = n, phi = phi, t = s.t, dtype = dtype, q = s.q, dt = s.dt, gap = 2e6,
    mode = 'laminar_flow' }
  for f = 1, angles do d:put(f, s.c2[1]) end
  local kd, ks = xpcs.model.constants { q = s.q, gap = 2e6, dt = s.dt }
  local p = { physics = { 3000, -0.2, 500, 2e-3, 0.1, 1e-4, 3 }, contrast = {}, offset = {}, sigma = {}, kd = kd,
    ks = ks, t = s.t, loss = 'linear', f_scale = 1 }
  for f = 1, angles do p.contrast[f], p.offset[f], p.sigma[f] = 0.3, 1, 0.01 end
  return d, p
end

local function pass_case(bench, family, n, dtype, kind, threads)
  bench.case {
    name = ('xpcs_pass_%d_%s_%s_%d'):format(n, kind, dtype, threads), family = family, op = 'xpcs_pass', dtype = dtype,
      shape = ('%dx%dx%d, laminar, %s'):format(ANGLES, n, n, kind), threads = threads,
    setup = function()
      local d, p = job(n, dtype, ANGLES)
      return {
        run = function(count) for _ = 1, count do xpcs.pass.run(d, p, kind) end end,
        check = function()
          local one, q = job(math.min(n, 200), dtype, 1)
          local a, b = xpcs.pass.run(one, q, kind), require('workflows.xpcs.pass.dense').sums(one, q, kind)
          for k = 1, #a do
            if math.abs(a[k] - b[k]) > 1e-8 * math.abs(b[k]) + 1e-9 * math.abs(b[1]) then return false,
              ('sum %d: %.12g, %.12g'):format(k, a[k], b[k]) end
          end
          return true
        end,
      }
    end,
  }
end

local START = { D0 = 3600, alpha = -0.16, D_offset = 550, gamma_dot_t0 = 1.8e-3, beta = 0.12,
  gamma_dot_t_offset = 1.1e-4, phi0 = 3 }

--- Simulated data of 23 angles x 200 times, ready for a fit.
local function simulated()
  local phi = {}
  for k = 1, ANGLES do phi[k] = -90 + 180 * (k - 1) / (ANGLES - 1) end
  local d = xpcs.data.of(xpcs.simulate { n = 200, q = 0.0054, phi = phi,
    physics = { 3000, -0.2, 500, 2e-3, 0.1, 1e-4, 3 } })
  d.start_contrast, d.start_offset = {}, {}
  for f = 1, ANGLES do d.start_contrast[f], d.start_offset[f] = 0.25, 1 end
  return d
end

--- Notes the least processor seconds of a run in kit.values.
local function busy(kit)
  local run = kit.run
  kit.values = kit.values or {}
  function kit.run(n)
    local began = os.clock()
    run(n)
    kit.values.cpu = math.min(kit.values.cpu or math.huge, (os.clock() - began) / n)
  end
  return kit
end

local function fit_case(bench, family)
  bench.case {
    name = 'xpcs_fit_200', family = family, op = 'xpcs_fit', dtype = 'f64',
      shape = ('%dx200x200, laminar, averaged'):format(ANGLES), threads = 1, least = 3,
    setup = function()
      local d, r = simulated(), nil
      return busy {
        run = function(count) for _ = 1, count do r = xpcs.fit(d, { sigma = 0.01, initial = START }) end end,
        check = function() return math.abs(r.reduced_chi2 - 1) < 0.02 and r.success,
          ('reduced chi2 %.4g'):format(r.reduced_chi2) end,
      }
    end,
  }
end

-- the row holds the gradients beside the time, as that of NumPyro does
local function nuts_case(bench, family)
  bench.case {
    name = 'xpcs_nuts_200', family = family, op = 'xpcs_nuts', dtype = 'f64',
      shape = ('%dx200x200, NUTS, 30 draws'):format(ANGLES), threads = 1, samples = 3,
    setup = function()
      local r, p = xpcs.fit(simulated(), { sigma = 0.01, initial = START }), nil
      local kit = { values = {} }
      function kit.run(n)
        for _ = 1, n do p = xpcs.posterior.run(r, { chains = 1, draws = 20, warmup = 10, seed = 1 }) end
      end
      function kit.check()
        kit.values.nfev = p.gradients
        return p.gradients >= 30
      end
      return busy(kit)
    end,
  }
end

return function(bench, family)
  for _, n in ipairs { 200, 1000 } do
    for _, threads in ipairs { 1, 2 } do
      pass_case(bench, family, n, 'f64', 'common', threads)
      pass_case(bench, family, n, 'f32', 'common', threads)
    end
    pass_case(bench, family, n, 'f64', 'each', 1)
  end
  fit_case(bench, family)
  nuts_case(bench, family)
end
