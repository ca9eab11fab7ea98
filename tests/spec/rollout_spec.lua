-- rollout_spec.lua - rollouts against the conformance list and the regenerable set of their specification.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local rollout = mc.rollout
local set = support.load 'rollout'

local function near(want, got, rtol, what)
  local scale = math.max(math.abs(want), 1e-12)
  if not (math.abs(want - got) <= rtol * scale) then error(('%s: %.10g, want %.10g'):format(what, got, want), 2) end
end

-- case: sums and sums of squares, X[0,0,0], X[1,7,9], X[2,15,15] at t = 1, 2, 8
local CASES = {
  { 4, 16, 3, 'instance', 'gelu', { policy = 'autoregressive' }, { 106.7959681, 399.6670462, 0.009187000933,
    0.6097492651, -0.4817418178 },
    { 107.853699, 398.3745169, -0.2131752578, 2.589317084, -0.369981337 }, { 97.081015, 378.9238708, 0.08309345414,
      0.9226288386, -0.1714472941 } },
  { 4, 16, 3, 'instance', 'gelu', { policy = 'residual' }, { 13.2837514, 267.9710294, -0.9841065866, 0.5338418193,
    -0.3890982064 },
    { 23.92259983, 281.1128244, -0.9896000979, 0.5902960087, -0.4371587339 }, { 88.32404564, 517.3311732, -1.074874935,
      1.133473583, -0.7027812168 } },
  { 4, 16, 3, 'instance', 'gelu', { policy = 'convex' }, { 33.86169865, 167.3036716, -0.6867616004, 0.5139316045,
    -0.3831693625 },
    { 55.99478193, 164.8081185, -0.5253463392, 0.6402193711, -0.4117381744 }, { 96.48677537, 276.8822522,
      -0.05060998123, 1.166637787, -0.3347291312 } },
  { 4, 16, 3, 'group', 'gelu', { policy = 'autoregressive' }, { 118.5805903, 440.3871747, -0.3115024475, 0.8287073231,
    -0.5220749617 },
    { 123.6149841, 467.8992031, -0.9214566629, 2.307056212, -0.03915697448 }, { 109.5635442, 403.7005555,
      -0.6757066301, 2.329816844, -0.2212438857 } },
  { 4, 16, 3, 'group', 'gelu', { policy = 'convex' }, { 37.39708529, 171.0903162, -0.7829684349, 0.5796190219,
    -0.3952693057 },
    { 61.29044589, 176.629921, -0.6918382505, 0.6887214188, -0.4135929444 }, { 111.4217328, 328.5926035, -0.2901582757,
      0.8621893689, -0.4310273308 } },
  { 4, 16, 3, 'group', 'tanh', { policy = 'residual' }, { 0.7554025088, 269.7750048, -0.9579511254, 0.6086076783,
    -0.3469552725 },
    { -0.8526951755, 281.7528673, -0.9346691828, 0.7417441154, -0.3335533284 }, { -7.197882185, 439.2162969,
      -0.7737059919, 1.423472547, -0.0546764572 } },
  { 4, 16, 3, 'group', 'gelu', { policy = 'residual' }, { 14.46221361, 268.4362464, -1.016175531, 0.5557376251,
    -0.3931315208 },
    { 26.1937225, 282.7084594, -1.050491589, 0.6390698537, -0.4446741642 }, { 96.55119501, 546.2588431, -1.348940085,
      1.246349973, -0.7063007264 } },
  { 4, 16, 3, 'instance', 'silu', { policy = 'convex' }, { 24.66832127, 159.7252056, -0.7004284092, 0.5265591854,
    -0.3513882177 },
    { 40.16212055, 142.7659754, -0.5376082286, 0.6011243686, -0.358463556 }, { 68.97687921, 223.0225887, 0.03602641777,
      1.319569628, -0.3904312595 } },
  { 4, 16, 3, 'instance', 'relu', { policy = 'autoregressive' }, { 159.5868911, 578.0240062, 0.130650294, 0.8934683361,
    -0.6055098539 },
    { 159.5507311, 596.1466981, -0.3045863825, 2.303679991, -0.6792911096 }, { 154.2103378, 579.6507047, -0.1400080326,
      1.28903135, -0.8057233021 } },
  { 4, 16, 3, 'layer', 'gelu', { policy = 'autoregressive' }, { 96.63968505, 217.0699604, -0.1417459095, -0.2370506659,
    -0.3846060148 },
    { 113.994479, 197.6128463, -0.2541493241, 1.091954595, -0.0632437769 }, { 121.7118065, 269.4821892, -0.1383964539,
      0.5307114706, -0.03258793089 } },
  { 4, 16, 3, 'batch', 'silu', { policy = 'convex' }, { -1.422521949, 129.6773049, -0.7219437861, 0.3644334809,
    -0.260243345 },
    { -4.078352192, 65.2805128, -0.5379982169, 0.2889036698, -0.2014298162 }, { -8.980270324, 7.205729343,
      -0.1604608433, 0.1365105412, -0.06905248105 } },
  { 4, 16, 3, 'none', 'tanh', { policy = 'convex' }, { 6.757209765, 129.9276885, -0.6561362158, 0.3537081185,
    -0.2751899931 },
    { 9.598263393, 65.69155573, -0.4273987516, 0.2703149961, -0.229365056 }, { 15.0206042, 7.885545487, 0.03511561962,
      0.09867005889, -0.1356377579 } },
  { 2, 4, 5, 'instance', 'gelu', { policy = 'convex' }, { -43.91856827, 144.0063277, -0.7711719269, 0.5273404507,
    -0.3413772304 },
    { -76.32917475, 99.40226703, -0.6305773691, 0.5428174715, -0.3382290724 }, { -140.4214021, 103.0272443,
      -0.3300038287, 0.180435431, -0.2752901974 } },
  { 3, 6, 7, 'layer', 'silu', { policy = 'residual', normalize = 'zscore', clamp = { -1.5, 1.5 } }, { 0.3841874921,
    753.2253437, -1.5, 0.806823274, -0.6119993131 },
    { 0.1351653899, 758.8487727, -1.5, 0.8024058143, -0.626191606 }, { 0.1838024665, 760.1178395, -1.470208387,
      0.7584498403, -0.6816518268 } },
  { 2, 4, 5, 'instance', 'tanh', { policy = 'autoregressive', normalize = 'minmax' }, { 342.8832056, 175.9658363,
    0.6583717863, 1, 0.3337517607 },
    { 338.9148965, 173.2251951, 0.5536075965, 0.5519159179, 0.3936819848 }, { 364.5541108, 194.4716395, 0.3600952504,
      0.7187424749, 0.471098631 } },
}

describe('rollout, the regenerable set', function()
  it('has the states of the reference in f64, and close to them in f32', function()
    mc.scope(function()
      assert.same({ -0.34967041015625, -0.5408523082733154 }, set.values(2, 1001):totable())
      for _, c in ipairs(CASES) do
        local name = ('%d,%d,%d %s %s %s'):format(c[1], c[2], c[3], c[4], c[5], c[6].policy)
        local s = set.states(set.arch(c[1], c[2], c[3], c[4], c[5]), c[6], 8, 'f64')
        for i, t in ipairs { 1, 2, 8 } do
          local x, want = s[t]:reshape(3, 16, 16), c[6 + i]
          near(want[1], x:sum():item(), 1e-8, name)
          near(want[2], (x * x):sum():item(), 1e-8, name)
          near(want[3], x[{ 1, 1, 1 }]:item(), 1e-8, name)
          near(want[4], x[{ 2, 8, 10 }]:item(), 1e-8, name)
          near(want[5], x[{ 3, 16, 16 }]:item(), 1e-8, name)
        end
        local single = set.states(set.arch(c[1], c[2], c[3], c[4], c[5]), c[6], 8, 'f32')
        local function far(t)
          local d = single[t]:to 'f64' - s[t]
          return ((d * d):sum() / (s[t] * s[t]):sum()):sqrt():item()
        end
        -- below 1e-6 by direct sums; transformed tiles of 3 x 3 kernels add terms that cancel, two bits more
        assert.is_true(far(1) < 4e-6, name)
        -- what rounding grows to in the reference: 5e-6, autoregressive 5e-4, with relu 3e-3
        local growing = c[6].policy == 'autoregressive' and (c[4] == 'instance' or c[4] == 'group')
        assert.is_true(far(8) < 4 * (c[5] == 'relu' and 3e-3 or growing and 5e-4 or 5e-6), name .. ' ' .. far(8))
      end
    end)
  end)

  local FEATURES = {
    spatial = { mean = -.11325645, variance = .124026207, skewness = .275259366, kurtosis = 1.60345635,
      min = -1.32769267, max = 1.25511622, iqr = .431448617, mad = .215623423,
      percentile_5 = -.607839286, percentile_25 = -.333718495, percentile_50 = -.146947563,
        percentile_75 = .0977301217, percentile_95 = .50887388, gradient_magnitude_mean = .309807057,
      gradient_magnitude_std = .168255493, gradient_magnitude_max = 1.06009419, gradient_anisotropy = .98069103,
        laplacian_std = 1.49335063, laplacian_energy = 2.2213848 },
    spectral = { band_0_mean = .417270997, band_0_max = .175973487, band_0_std = .0469419815, band_1_mean = .132981134,
      band_1_max = .0442707868, band_1_std = .015095995,
      band_2_mean = .089275934, band_2_max = .0110803948, band_2_std = .0104601765, band_3_mean = .1372002,
        band_3_max = .0101218019, band_3_std = .0145424183, band_4_mean = .111144911,
      band_4_max = .00759414934, band_4_std = .0104557475, dominant_power = 3.28371799, centroid_x = .191814833,
        centroid_y = -.0281523753, bandwidth = .306574495, low_ratio = .151118708,
      mid_ratio = .0960153309, high_ratio = .752865961, flatness = .46002211, rolloff = .465277778,
        anisotropy = 1.04422853 },
    cross = { eigenvalue_1 = 1.30570513, eigenvalue_2 = .939070091, eigenvalue_3 = .743505864, trace = 2.98828108,
      condition_number = 1.75614635, participation_ratio = 2.8443282,
      correlation_mean = .0181616323, correlation_max = .248507572, correlation_min = -.117956015,
        correlation_std = .200581949, mutual_information_mean = .3175971,
      mutual_information_max = .3324736 },
    series = { energy_growth_rate = -.0909460593, energy_growth_accel = 6.23908066, variance_growth_rate = -.104713533,
      dominant_frequency = .111111111, oscillation_amplitude = 61.5023475,
      oscillation_period = 8.99999919, autocorrelation_lag = 2, lyapunov_approx = -4.46926467,
        trajectory_smoothness = .00520598241, sign_change_share = 0, final_initial_ratio = 21.2804476,
      trend_strength = .897487307, detrended_variance = .000164652684, spike_count = 0, burst_count = 0,
        zero_crossings = 1, half_time = .111111111, double_time = 1,
      window_5_mean = -.0759395308, window_10_std = .0104809603, window_20_max = -.0685283727,
        window_5_min = -.0833506889, window_10_mean_variability = .0343359654,
      window_20_std_variability = .00779871805 },
    causality = { asymmetry_max_lag_1 = .00202083091, asymmetry_max_lag_2 = .00123466909,
      asymmetry_max_lag_3 = .000728254282, prediction_ratio_lag_1 = .999999325,
      prediction_ratio_lag_2 = .999999642, prediction_difference_lag_1 = 0, irreversibility = -1.79972159e-5,
        irreversibility_index = -.0112049981, flow_magnitude = .0274466748,
      flow_anisotropy = 7.73330665 },
    drift = { L1_mean_drift_raw = -7.79036274, L1_drift_variance_raw = 186.481097,
      L1_final_initial_ratio_raw = .540576314, L1_monotonicity_raw = -.5, L2_mean_drift_raw = -.47048808,
      Linf_mean_drift_raw = .0424713246, Linf_drift_variance_raw = .0083087096,
        Linf_final_initial_ratio_raw = 1.34392448, tv_mean_drift_raw = -17.8773741, tv_drift_variance_raw = 670.361421,
      tv_final_initial_ratio_raw = .553596052, tv_monotonicity_raw = -1, L2_mean_drift_lowpass = .0208602401,
        L2_drift_variance_lowpass = .0326582184,
      L2_final_initial_ratio_lowpass = 1.10340773, L2_monotonicity_lowpass = .5, tv_mean_drift_lowpass = -.429657411,
        tv_drift_variance_lowpass = 2.54985538,
      tv_final_initial_ratio_lowpass = .706252658, L1_mean_drift_highpass = -7.94364689,
        L1_drift_variance_highpass = 157.070318, Linf_mean_drift_highpass = .0207850998,
      Linf_drift_variance_highpass = .0111535526, Linf_final_initial_ratio_highpass = 1.15806848,
        entropy_mean_drift_raw = -.07575649,
      entropy_final_initial_ratio_raw = .8205036, entropy_monotonicity_raw = -.75 },
    sensitivity = { ['noise_gain_1e-4'] = 1.99196869, ['noise_gain_1e-3'] = 1.99221812,
      ['noise_gain_1e-2'] = 1.99434187, ['gain_0.50'] = 1.00000005, ['gain_0.75'] = 1.00000001,
      ['gain_1.25'] = .999999995, ['gain_1.50'] = .999999992, linearity_r2 = .999996686, saturation = .500000008,
        compression = 1.00000005 },
  }

  it('has the features of the reference', function()
    finally(rollout.features.forget)
    mc.scope(function()
      local arch = set.arch(4, 16, 3, 'instance', 'gelu')
      local s = set.states(arch, { policy = 'convex' }, 8, 'f64')
      local function part(name) return require('workflows.rollout.features.' .. name) end
      local list = {}
      for t = 0, 8 do list[t + 1] = s[t]:reshape(3, 16, 16) end
      local all = mc.stack(list, 1)
      local flat = all:reshape(27, -1)
      local function series(v) return v:reshape(9, 3).T:copy() end
      local mean = series(flat:mean(2))
      local magnitude, anisotropy = part 'causality'.flow(all['1:8']:reshape(24, 16, 16), all['2:9']:reshape(24, 16,
        16))
      local function over_time(v) return v:reshape(8, 3):mean(1):reshape(1, 3) end
      local rows = {
        spatial = part 'spatial'.columns(list[9])[1], spectral = part 'spectral'.columns(list[9])[1],
          cross = part 'cross'.columns(s[8])[1],
        series = part 'series'.columns(mean, series((flat * flat):sum(2)), series(flat:var(2, { correction = 1 })))[1],
        causality = part 'causality'.columns(mean:reshape(1, 3, 9), over_time(magnitude), over_time(anisotropy))[{ 1,
          1 }],
        drift = part 'drift'.columns(part 'drift'.state(all:reshape(27, 16, 16)):reshape(9, 3, 15):permute_dims(2, 1,
          3))[1],
        sensitivity = mc.tensor(part 'sensitivity'.of(rollout.operator.build(arch, set.weights(arch, 'f64')),
          set.input():reshape(1, 3, 16, 16), set.input(3001):reshape(1, 3, 16, 16))),
      }
      for name, want in pairs(FEATURES) do
        local have, found = rows[name]:totable(), 0
        for i, column in ipairs(part(name).NAMES) do
          if want[column] then
            -- what is counted in bins moves with a value at the edge of one
            near(want[column], have[i], (column:find 'mutual' or column:find 'entropy') and 1e-2 or 2e-6, column)
            found = found + 1
          end
        end
        local n = 0
        for _ in pairs(want) do n = n + 1 end
        assert.equal(n, found, name)
      end
      local step = rollout.features.step(s[8], s[7])[1]:totable()
      for i, v in ipairs { 276.8822522, 3.461253853, .980021823, .345189374, .476483396 } do near(v, step[i], 1e-8,
        'step ' .. i) end
      rollout.features.forget()
    end)
  end)
end)

describe('rollout, the conformance list', function()
  it('samples as Sobol, measures evenness, maps coordinates', function()
    mc.scope(function()
      local x = (mc.tensor { { 1, 3 }, { 2, 6 }, { 3, 2 }, { 4, 5 }, { 5, 1 }, { 6, 4 } } - 0.5) / 6
      near(.00814203961, rollout.sampling.discrepancy(x), 1e-8, 'discrepancy')
      near(2.59780834e-4, rollout.sampling.discrepancy(mc.random.sobol(256, 5, { scramble = false })), 1e-8,
        'discrepancy')
      local y = mc.random.sobol(1024, 12, { scramble = false })
      near(2.26631316e-3, rollout.sampling.discrepancy(y), 1e-8, 'discrepancy')
      near(9.756e-4, rollout.sampling.correlations(y).max, 1e-4, 'correlation')
      assert.same({ max = 0, min = 0, mean = 0 }, rollout.sampling.correlations(mc.ones { 9, 3 }))
    end)
    local function dim(e) return rollout.space.new({ architecture = { x = e } },
      { architecture = { 'x' } }).dims[1].map end
    local int = dim { type = 'integer', bounds = { 2, 5 } }
    assert.same({ 2, 4, 5 }, { int(0), int(0.5), int(1) })
    assert.equal(2, dim { type = 'integer', bounds = { 2, 3 } }(0.5))
    near(3.16227766e-3, dim { type = 'continuous', bounds = { 1e-5, 1 }, log_scale = true }(0.5), 1e-8, 'log')
    local choice = dim { type = 'choice', choices = { 'a', 'b' }, weights = { 0.75, 0.25 } }
    assert.same({ 'a', 'b', 'b' }, { choice(.7499999), choice(.75), choice(1) })
  end)

  it('counts parameters, keeps weights in their range', function()
    assert.equal(2405699, rollout.operator.parameters(set.arch(4, 64, 3, 'instance', 'gelu')))
    mc.scope(function()
      local arch = set.arch(3, 32, 3, 'instance', 'gelu')
      local w = rollout.operator.weights(arch, 1, 0, 'f64')
      for i, l in ipairs(rollout.operator.layers(arch)) do
        local bound = 1 / math.sqrt(l.cin * l.k * l.k)
        assert.is_true(w[i].w:abs():max():item() <= bound)
        if w[i].w:numel() > 1e4 then near(bound ^ 2 / 3, w[i].w:var():item(), 0.05, 'variance') end
      end
    end)
  end)

  it('updates by the policies', function()
    local update = rollout.roll.update
    assert.equal(-1, update({ policy = 'autoregressive' }, 2, -1))
    near(1.99, update({ policy = 'residual', dt = 0.01 }, 2, -1), 1e-15, 'residual')
    near(1.1, update({ policy = 'convex', alpha = 0.7 }, 2, -1), 1e-15, 'convex')
    local scale = rollout.operator.scale
    near(.05, scale({ scale = .1, schedule = 'annealing' }, 50, 100), 1e-14, 'annealing')
    near(.15, scale({ scale = .1, schedule = 'periodic', period = 100 }, 25, 100), 1e-14, 'periodic')
    near(.05, scale({ scale = .1, schedule = 'periodic', period = 100 }, 75, 100), 1e-14, 'periodic')
  end)

  it('is homogeneous, commutes with shifts when padding is circular, adds noise of the right law', function()
    mc.scope(function()
      local function shifted(v) return mc.roll(mc.roll(v, 3, 3), 5, 4) end
      local arch = set.arch(2, 8, 3, 'instance', 'gelu')
      local x = mc.random.normal { 1, 3, 16, 16, seed = 3 }
      local w = rollout.operator.weights(arch, 5, 1, 'f64')
      local apply = rollout.operator.build(arch, w)
      local y = apply(x)
      assert.is_true((apply(x * 2) - y):abs():max():item() < 1e-3 * y:abs():max():item())
      arch.padding_mode = 'circular'
      local round = rollout.operator.build(arch, w)
      local moved = shifted(round(x))
      assert.is_true((round(shifted(x)) - moved):abs():max():item() < 1e-13)
      assert.is_true((apply(shifted(x)) - shifted(y)):abs():max():item() > 1e-3)
      arch.padding_mode, arch.noise, arch.scale, arch.schedule, arch.correlation = 'zeros', 'gaussian', 0.3,
        'constant', 0
      apply = rollout.operator.build(arch, w)
      local sources = {}
      for m = 1, 40 do sources[m] = rollout.streams.source(1, 2, 'noise', m - 1, 4) end
      local many = mc.broadcast_to(x, { 40, 3, 16, 16 }):copy()
      local d = (apply(many, sources, 4, 9) - y):permute_dims(2, 1, 3, 4):reshape(3, -1)
      local W = w[#w].w:reshape(3, -1)
      local want = mc.matmul(W, W.T) * 0.09
      assert.is_true((mc.matmul(d, d.T) / d.shape[2] - want):abs():max():item() < 0.05 * want:max():item())
    end)
  end)

  it('freezes what diverges and goes on with the rest', function()
    mc.scope(function()
      local seen = {}
      local out = rollout.roll.run({ apply = function(x, _, t)
        local y = x + 1
        if t == 2 then y[{ 2 }] = 1 / 0 end
        if t == 3 then y[{ 3 }] = 1e9 end
        return y
      end, policy = { policy = 'autoregressive' }, x0 = mc.zeros { 1, 4, 4 }, realisations = 3, steps = 5,
        divergence = 1e6 }, function(t, x, alive)
        seen[t] = { x[{ 1, 1, 1, 1 }]:item(), x[{ 2, 1, 1, 1 }]:item(), x[{ 3, 1, 1, 1 }]:item(), alive[1], alive[2],
          alive[3] }
      end)
      assert.same({ 0, 1, 2 }, out.status)
      assert.same({ -1, 2, 3 }, out.bad_step)
      assert.same({ 4, 1, 2, true, false, false }, seen[4])
    end)
  end)

  it('gives an operator the same bits in any company', function()
    for k, kernel in ipairs { 3, 5 } do
      mc.scope(function()
        local archs, weights, specs = {}, {}, {}
        for i, noise in ipairs { 'gaussian', 'multiplicative', 'none', 'dropout', 'laplace' } do
          local arch = set.arch(k + 2, k == 1 and 12 or 24, kernel, k == 1 and 'none' or 'instance', 'silu')
          arch.noise, arch.scale, arch.schedule, arch.correlation = noise, 0.1 * i, 'constant', 0.05 * (i % 2)
          archs[i], weights[i] = arch, rollout.operator.weights(arch, 5, i)
          specs[i] = { policy = { policy = i == 2 and 'autoregressive' or 'residual', dt = i == 4 and 1e8 or 0.1 },
            x0 = mc.randn({ 3, 16, 16 }, { seed = i }):to 'f32', realisations = 2, steps = 4, seed = 3, index = i,
            divergence = 1e6, noise = i ~= 3 }
        end
        local got = { {}, {}, {}, {}, {} }
        local outcomes = rollout.roll.together(specs, rollout.operator.together(archs, weights), function(i, t, x)
          got[i][t] = mc.keep(x:copy())
        end)
        for i, spec in ipairs(specs) do
          spec.apply = rollout.operator.build(archs[i], weights[i])
          local alone = rollout.roll.run(spec, function(t, x)
            assert.is_true(mc.array_equal(x, got[i][t]), ('operator %d, step %d'):format(i, t))
          end)
          assert.same(alone, outcomes[i])
        end
        assert.same({ 2, 2 }, outcomes[4].status)
        assert.same({ 0, 0 }, outcomes[3].status)
        for _, list in ipairs(got) do for t = 0, 3 do list[t]:release() end end
      end)
    end
    local one, other = set.arch(2, 8, 3, 'instance', 'gelu'), set.arch(2, 8, 5, 'instance', 'gelu')
    assert.has_error(function() rollout.operator.together({ one, other }, { {}, {} }) end,
      'rollout.operator.together: operators must have the same key')
  end)

  it('says how the layers of an operator are computed, and takes sums as they are written when told to', function()
    mc.scope(function()
      local arch = set.arch(4, 24, 3, 'instance', 'gelu')
      local function all()
        local out = {}
        for i, w in ipairs(rollout.operator.ways(arch, 2, 3)) do out[i] = w.way end
        return out
      end
      local W, P, D = "Winograd's tiles of 4 x 4", 'products of matrices', 'direct sums'
      arch.grid = 32
      assert.same({ D, W, W, W, W, P, W, W, P, W, W, D }, all())
      local lines = rollout.operator.explain(arch)
      assert.equal(12, #lines)
      assert.matches("^first       24 %->  48 channels, 3 x 3 taps, 32 x 32: Winograd's tiles of 4 x 4, %S+ %a+ beside",
        lines[4])
      assert.matches('^projection.*' .. P, lines[6])
      local x = mc.randn({ 1, 3, 32, 32 }, { seed = 3 }):to 'f32'
      local w = rollout.operator.weights(arch, 5, 1)
      local want, direct = rollout.operator.build(arch, w)(x), rollout.operator.build(arch, w, { direct = true })(x)
      assert.is_false(mc.array_equal(want, direct))
      assert.is_true((want - direct):abs():max():item() < 1e-4)
    end)
  end)

  it('takes the memory that it says, and no more with every row', function()
    finally(rollout.features.forget)
    local function config(layers, base, kernel, grid, T)
      local function one(v) return { type = 'choice', choices = { v } } end
      return rollout.config.of { metadata = { name = 'a' }, parameter_space = { architecture = {
        base_channels = one(base), kernel_size = one(kernel), num_layers = one(layers) },
        operator = { grid_size = one(grid) }, stochastic = { noise_scale = one(0.01) } },
        sampling = { total_samples = 400, batch_size = 20, strategy = 'random' },
        simulation = { num_timesteps = T, num_realizations = 2 }, dataset = { output_path = 'none.h5' } }
    end
    for _, c in ipairs { { 2, 24, 3, 64 }, { 4, 32, 3, 32 }, { 3, 24, 7, 32 } } do
      local one = config(c[1], c[2], c[3], c[4], 3)
      local points = rollout.sampling.points(one, 1, 1)
      collectgarbage() -- what the tests before left behind must not go while this is counted
      collectgarbage()
      local before = mc.memory().live
      mc.reset_peak_memory()
      mc.scope(function() rollout.generate.row(one, 0, points[1]:totable()) end)
      local took, said = mc.memory().peak - before, rollout.generate.bytes(one, points)
      assert.is_true(took < 1.2 * said and took > said / 1.5, ('L%d b%d k%d: %.1f MiB, said %.1f'):format(c[1], c[2],
        c[3], took / 2 ^ 20, said / 2 ^ 20))
    end
    local many = config(2, 16, 3, 64, 4) -- side by side: layers use again what the ones before them had
    many.sampling.batch_size = 6
    local points = rollout.sampling.points(many, 1, 6)
    collectgarbage()
    collectgarbage()
    local indices, us, before = {}, {}, mc.memory().live
    for i = 1, 6 do indices[i], us[i] = i - 1, points[i]:totable() end
    mc.reset_peak_memory()
    mc.scope(function() rollout.generate.rows(many, indices, us) end)
    local took, said = mc.memory().peak - before, rollout.generate.bytes(many, points)
    assert.is_true(took < 1.2 * said and took > said / 1.5,
      ('side by side: %.1f MiB, said %.1f'):format(took / 2 ^ 20, said / 2 ^ 20))
    local small = config(2, 4, 3, 8, 3)
    local all, held = rollout.sampling.points(small, 1, 400), nil
    for first = 0, 380, 20 do
      mc.scope(function() rollout.generate.batch(small, all, first, first + 19) end)
      collectgarbage()
      collectgarbage()
      local live = mc.memory().live
      if first == 100 then held = live end
      if held then assert.is_true(live <= held + 2 ^ 14, ('row %d: %d bytes more'):format(first, live - held)) end
    end
  end)

  it('stores tensors between layers in 16 bits, and in f32 where f16 does not reach', function()
    mc.scope(function()
      local x = mc.randn({ 2, 3, 16, 16 }, { seed = 4 }):to 'f32'
      for _, norm in ipairs { 'instance', 'none' } do
        local arch = set.arch(4, 12, 3, norm, 'gelu')
        local w = rollout.operator.weights(arch, 5, 1)
        local want = rollout.operator.build(arch, w)(x)
        local size = (want * want):sum():sqrt():item()
        for storage, most in pairs { f16 = 2 ^ -11, bf16 = 2 ^ -8 } do
          arch.storage = storage
          for _, composed in ipairs { false, true } do
            local d = rollout.operator.build(arch, w, { composed = composed })(x) - want
            local far = (d * d):sum():sqrt():item() / size
            assert.is_true(far > most / 100 and far < 4 * most, ('%s %s: %g'):format(norm, storage, far))
          end
        end
      end
      local text = [[{ "metadata": { "name": "a" }, "parameter_space": {
        "architecture": { "num_layers": { "type": "choice", "choices": [2] },
          "base_channels": { "type": "choice", "choices": [4] } },
        "stochastic": { "noise_scale": { "type": "choice", "choices": [0.001] } },
        "operator": { "grid_size": { "type": "choice", "choices": [8] },
          "normalization": { "type": "choice", "choices": ["none"] } } },
        "sampling": { "total_samples": 1, "batch_size": 1 }, "simulation": { "num_timesteps": 5, "divergence": 1e30,
        "num_realizations": 2, "policy": "autoregressive", "storage": "float16",
        "input_generation": { "variance": 1e12 } }, "dataset": { "output_path": "none.h5" } }]]
      local c = rollout.config.of(mc.json.decode(text))
      local starts = 0
      local row = rollout.generate.row(c, 0, { 0.5, 0.5, 0.5, 0.5, 0.5 }, { states = true, visit = function(t)
        starts = starts + (t == 0 and 1 or 0)
      end })
      c.simulation.storage = 'float32'
      local wide = rollout.generate.row(c, 0, { 0.5, 0.5, 0.5, 0.5, 0.5 }, { states = true })
      assert.equal(2, starts)
      assert.same({ 0, 0 }, row.status)
      assert.is_true(mc.array_equal(row.states, wide.states))
      assert.is_true(mc.array_equal(row.summary, wide.summary))
      c.simulation.storage = 'bfloat16'
      local other = rollout.generate.row(c, 0, { 0.5, 0.5, 0.5, 0.5, 0.5 }, { states = true })
      assert.same({ 0, 0 }, other.status)
      assert.is_false(mc.array_equal(other.states, wide.states))
    end)
  end)

  it('makes initial fields of every kind, and Gaussian ones of their covariance', function()
    mc.scope(function()
      for i, name in ipairs(rollout.fields.names()) do
        for _, G in ipairs { 16, 33 } do
          local f = rollout.fields.make(name, rollout.streams.source(1, i, 'field'), 3, G)
          assert.same({ 3, G, G }, { f.shape[1], f.shape[2], f.shape[3] })
          assert.is_true(mc.all(mc.isfinite(f)), name)
        end
      end
      local power, lagged, n = 0, 0, 60
      for i = 1, n do
        local f = rollout.fields.make('gaussian_random_field', rollout.streams.source(3, i, 'field'), 3, 64,
          { length_scale = 0.05, variance = 2 })
        power, lagged = power + (f * f):mean():item() / n, lagged + (f * mc.roll(f, 3, 3)):mean():item() / n
      end
      near(2, power, 0.03, 'variance')
      near(math.exp(-(3 / 64) ^ 2 / (2 * 0.05 ^ 2)), lagged / power, 0.02, 'correlation')
      assert.has_error(function() rollout.fields.make('localised', nil, 3, 16) end,
        'there is no initial field localised (did you mean localized?)')
    end)
  end)
end)
