-- network_spec.lua - activations, normalisations and losses against the numbers of their specification.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local nn = mc.nn

--- Values against printed digits: half a unit of the last one of `digits` behind the point.
local function near(want, got, digits)
  if type(want) ~= 'table' then want = { want } end
  got = got:reshape(-1)
  assert.equal(#want, got.shape[1])
  for i, w in ipairs(want) do
    local wrong = tol.compare('ITERATIVE', 'f64', got[i]:item(), w,
      { bound = 0.5 * 10 ^ -(digits or 13) + 1e-12 * math.max(1, math.abs(w)) })
    if wrong then error(('entry %d: %s'):format(i, wrong), 2) end
  end
end
local function slope(f, ...)
  return mc.grad(function(x) return mc.sum(f(x)) end)(mc.tensor { ... })
end
local function at(f, ...) return f(mc.tensor { ... }) end

describe('activations', function()
  it('of gaussians (nn C2, C3)', function()
    near({ 0.841344746068543, -0.158655253931457, 0.345731230637007, 1.954499736103642, -0.00404969409489 },
      at(nn.gelu, 1, -1, 0.5, 2, -3))
    near({ 1.083315470587686, -0.083315470587686, 0.867495124656163, 1.085231801078197, -0.011945647204184 },
      slope(nn.gelu, 1, -1, 0.5, 2, -3))
    near({ 0.841191990608277, 1.954597694087775, 2.996362607918227, -0.158808009391723, -0.003637392081773 },
      at(nn.gelu_tanh, 1, 2, 3, -1, -3))
    near({ 1.082964083845783, 1.086099256623618, -0.082964083845783 }, slope(nn.gelu_tanh, 1, 2, -1))
    near(4.732355e-4, mc.abs(at(nn.gelu, 2.698942) - at(nn.gelu_tanh, 2.698942)), 10)
    local x = mc.linspace(-20, 20, 40001):to 'f32'
    local function far(f)
      return mc.max(mc.abs(f(x):to 'f64' - f(x:to 'f64')) / mc.maximum(1, mc.abs(x:to 'f64'))):item()
    end
    for _, f in ipairs { nn.gelu, nn.gelu_tanh } do -- PyTorch 2.15: 3.5e-7, 1.05e-7; slopes 2.6e-7, 2.1e-7
      local value, d = far(f), far(mc.grad(function(t) return mc.sum(f(t)) end))
      assert(value > 0 and value <= 1e-7, value)
      assert(d > 0 and d <= 1.7e-7, d)
    end
  end)

  it('of gaussians round 16 bits once', function()
    local x = mc.linspace(-8, 8, 20001)
    for _, dtype in ipairs { 'bf16', 'f16' } do
      local h = x:to(dtype)
      local want, got = nn.gelu_tanh(h:to 'f64'), nn.gelu_tanh(h):to 'f64'
      local far = mc.max(mc.abs(got - want) / mc.maximum(mc.abs(want), 1e-3)):item()
      local half_unit = dtype == 'bf16' and 0.00392 or 0.00049
      assert(far < half_unit, ('%s: %g'):format(dtype, far))
      for name, f in pairs { gelu = nn.gelu, gelu_tanh = nn.gelu_tanh, silu = nn.silu, mish = nn.mish } do
        local slope_of = mc.grad(function(t) return mc.sum(f(t)) end)
        got, want = slope_of(h):to 'f64', slope_of(h:to 'f64')
        far = mc.max(mc.abs(got - want) / mc.maximum(mc.abs(want), 1e-2)):item()
        assert(far < half_unit, ('slope of %s in %s: %g'):format(name, dtype, far))
      end
    end
  end)

  it('of other forms (nn C4, C5)', function()
    near({ 0.73105857863000, -0.26894142137000 }, at(nn.silu, 1, -1))
    near({ 0.92767051187149, 0.072329488128513 }, slope(nn.silu, 1, -1))
    near({ 0.86509838826731, -0.30340146137411 }, at(nn.mish, 1, -1))
    near({ 1.0490362200998, 0.059216755877395 }, slope(nn.mish, 1, -1))
    near({ 1.3132616875182, 0.31326168751822 }, at(nn.softplus, 1, -1))
    near(-0.63212055882856, at(nn.elu, -1))
    near(0.36787944117144, slope(nn.elu, -1))
    near({ -1 / 3, 1 / 6 }, mc.concat({ at(nn.hardswish, -1), slope(nn.hardswish, -1) }, 1))
    near({ 0, 1, -0.5, 1.5 }, slope(nn.hardswish, -4, 4, -3, 3))
    near(-4.018149927918, at(nn.log_sigmoid, -4), 12)
    near({ 0, 0, 1, 0.01, 0.01, 1 }, mc.concat({ slope(nn.relu, -1, 0, 1), slope(nn.leaky_relu, -1, 0, 1) }, 1))
    near({ 1.46211715726, 0.73105857863000, 1.8553410237430 },
      mc.concat({ at(nn.swiglu, 2, 1), slope(nn.swiglu, 2, 1) }, 1), 11)
    near({ 0.75508133759629, 0.37754066879815, 0.47000742440319 },
      mc.concat({ at(nn.glu, 2, -0.5), slope(nn.glu, 2, -0.5) }, 1))
    near({ -0.30853753872599, -0.15426876936299, 0.26500975068767 },
      mc.concat({ at(nn.geglu, 2, -0.5), slope(nn.geglu, 2, -0.5) }, 1))
    near({ -0.37754066879815, -0.18877033439907, 0.52007762539470 },
      mc.concat({ at(nn.swiglu, 2, -0.5), slope(nn.swiglu, 2, -0.5) }, 1))
  end)

  it('are finite with finite derivatives far out (nn C6)', function()
    local points = {}
    for _, v in ipairs { 0, 1e-30, 88, 1e4, 1e30 } do
      points[#points + 1] = v
      points[#points + 1] = -v
    end
    local names = { 'leaky_relu', 'elu' }
    for name, row in pairs(require 'mascon.core.op'.rows) do
      if row.namespace == 'nn' and row.family == 'unary' and not name:find '_slope$' then names[#names + 1] = name end
    end
    assert(#names > 9)
    for _, name in ipairs(names) do
      for _, dtype in ipairs { 'f32', 'f64' } do
        local x = mc.tensor(points, { dtype = dtype })
        local y, g = nn[name](x), mc.grad(function(t) return mc.sum(nn[name](t)) end)(x)
        assert(mc.all(mc.isfinite(y)), name .. ' ' .. dtype)
        assert(mc.all(mc.isfinite(g)), name .. ' slope ' .. dtype)
      end
    end
  end)
end)

describe('normalisations', function()
  local x = mc.tensor { { 1, 2, 3, 4 } }
  local first = mc.tensor { { 1, 0, 0, 0 } }
  local function gradient(f) return mc.grad(function(t) return mc.sum(f(t) * first) end)(x) end

  it('over layers and by root mean squares (nn C10, C11)', function()
    near({ -1.3416354199689, -0.44721180665631, 0.44721180665631, 1.3416354199689 }, nn.layer_norm(x, 4))
    local g = gradient(function(t) return nn.layer_norm(t, 4) end)
    near({ 0.26833030389303, -0.35776837202530, -0.089443434631011, 0.17888150276327 }, g)
    near(0, mc.sum(g), 15)
    near({ 0.36514834732689, 0.73029669465378, 1.0954450419807, 1.4605933893076 }, nn.rms_norm(x, 4))
    near({ 0.35297673737221, -0.024343219909363, -0.036514829864045, -0.048686439818726 },
      gradient(function(t) return nn.rms_norm(t, 4) end))
  end)

  it('over batches, with running moments (nn C12)', function()
    local t, mean, var = mc.tensor { { 1 }, { 2 }, { 3 }, { 4 } }, mc.zeros { 1 }, mc.ones { 1 }
    local y
    y, mean, var = nn.batch_norm(t, mean, var, { training = true })
    near({ -1.3416354199689, -0.44721180665631, 0.44721180665631, 1.3416354199689 }, y)
    near({ 0.25, 16 / 15 }, mc.concat({ mean, var }, 1))
    near(0.999992000064, mc.var(y), 10)
    near({ 0.72618097344856, 1.69442227138, 2.6626635693114, 3.6309048672428 }, (nn.batch_norm(t, mean, var)), 11)
  end)

  it('at widths around those of vectors (nn C32)', function()
    for _, d in ipairs { 1, 31, 33, 48, 80, 768, 1000, 1025, 4097 } do
      local t = mc.randn({ 3, d }, { seed = d })
      local c = t - mc.mean(t, { 2, keepdim = true })
      local want = c / mc.sqrt(mc.mean(c * c, { 2, keepdim = true }) + 1e-5)
      assert(mc.max(mc.abs(nn.layer_norm(t, d) - want)):item() < 1e-13)
      assert(mc.max(mc.abs(nn.layer_norm(t:to 'f32', d):to 'f64' - want)):item() < 1e-5)
    end
  end)

  it('say what does not fit', function()
    local function says(message, f, ...)
      local e = support.message(f, ...)
      assert(e:find(message, 1, true), e)
    end
    says('nn.layer_norm: the last axes of f64[1,4]@cpu are not of sizes 3', nn.layer_norm, x, 3)
    says('nn.layer_norm: weight is f64[1]@cpu; give one of the sizes of the last axes', nn.layer_norm, x, 4,
      { weight = mc.ones { 1 } })
    says('nn.group_norm: 3 groups do not divide the channels of f64[1,4]@cpu', nn.group_norm, x, 3)
    says('nn.batch_norm: f64[1,4]@cpu has one value per channel; training needs two at least', nn.batch_norm, x, nil,
      nil, { training = true })
    says('nn.batch_norm: running moments are missing; give both, or training = true', nn.batch_norm, x)
    says('nn.glu: axis -1 of f64[3]@cpu has an odd size; it holds as many values as gates', nn.glu, mc.ones { 3 })
  end)
end)

describe('windows and attention', function()
  it('have known values (nn C38, C39)', function()
    local image, o = mc.arange(1, 16):reshape(1, 4, 4), { stride = 2, padding = 1 }
    near({ 14 / 9, 10 / 3, 19 / 3, 11 }, nn.avg_pool2d(image, 3, o))
    near({ -1, -2, -5, -6 }, nn.max_pool2d(-image, 3, o))
    o.count_include_pad = false
    near({ 3.5, 5, 9.5, 11 }, nn.avg_pool2d(image, 3, o))
    near({ 1, 0, 0 }, mc.grad(function(t) return mc.sum(nn.max_pool1d(t, 3)) end)(mc.ones { 1, 3 }))
    local q, k = mc.tensor { { 1, 0 }, { 0, 1 }, { 1, 1 } }, mc.tensor { { 1, 2 }, { 0, -1 }, { 2, 0 } }
    local v, g = mc.tensor { { 1, 2 }, { 3, 4 }, { 5, 6 } }, mc.tensor { { 1, 0 }, { 0, 1 }, { 1, -1 } }
    local y, back = mc.vjp(nn.scaled_dot_product_attention, q, k, v)
    local dq, dk, dv = back(g)
    near({ 3.58395987095, 4.58395987095, 1.88937809646, 2.88937809646, 2.34681141989, 3.34681141989 }, y, 11)
    near({ 0.634540415896, -0.979975062903, 0.323263986942, -0.991871132342, 0, 0 }, dq, 12)
    near({ -0.518898108341, -0.461401250325, -0.0578211537777, 0.0690686316915, 0.576719262118, 0.392332618634 }, dk,
      12)
    near({ 0.928252894948, 0.0894236212905, 0.178108564685, 0.0498694191343, 0.893638540368, -0.139293040425 }, dv, 12)
    y, back = mc.vjp(function(a, b, c) return nn.scaled_dot_product_attention(a, b, c, { causal = true }) end, q, k, v)
    dq, dk = back(g)
    near({ 1, 2, 1.21408360293, 2.21408360293, 2.34681141989, 3.34681141989 }, y, 11)
    near({ 0, 0, -0.13517598296, -0.405527948879, 0, 0 }, dq, 11)
    near({ 0, -0.13517598296, 0, 0.13517598296, 0, 0 }, dk, 11)
  end)

  it('give zeros and no gradient where a query sees no key', function()
    local t = mc.ones { 2, 2 }
    local mask = mc.tensor { { true, true }, { false, false } }
    local y, back = mc.vjp(function(x) return nn.scaled_dot_product_attention(x, t, t, { mask = mask }) end, t)
    near({ 1, 1, 0, 0 }, y)
    near({ 0, 0, 0, 0 }, back(t))
  end)
end)

describe('losses', function()
  local function label(...) return mc.tensor({ ... }, { dtype = 'i64' }) end

  it('of classes (nn C7, C8, C36)', function()
    local z = mc.tensor { { 1, 2, 3 } }
    for k, want in ipairs { 2.4076059644444, 1.4076059644444, 0.40760596444438 } do near(want,
      nn.cross_entropy(z, label(k - 1))) end
    for k, want in ipairs { 2.3076059644444, 1.4076059644444, 0.50760596444438 } do
      near(want, nn.cross_entropy(z, label(k - 1), { label_smoothing = 0.1 }))
    end
    local function gradient(f, o) return mc.grad(function(t) return f(t, label(2), o) end)(z) end
    near({ 0.09003057317038, 0.24472847105480, -0.33475904422518 }, gradient(nn.cross_entropy))
    near({ 0.056697239837047, 0.21139513772146, -0.26809237755851 },
      gradient(nn.cross_entropy, { label_smoothing = 0.1 }))
    near(0.045677798967885, nn.focal_loss(z, label(2)))
    near({ 0.026433659246699, 0.071854135589979, -0.098287794836678 }, gradient(nn.focal_loss))
    assert.equal(1000, nn.cross_entropy(mc.tensor { { 1000, 0 } }, label(1)):item())
    local rows, w = mc.tensor { { 1, 2, 3 }, { 0.5, -1, 0 }, { 2, 0, 1 }, { 0, 1, 0 } }, mc.tensor { 1, 2, 0.5 }
    local t = label(2, 0, -100, 1)
    near({ 0.20380298222219, 0.60413060533673, 0, 1.1028894278641 },
      nn.cross_entropy(rows, t, { weight = w, reduction = 'none' }))
    near(1.9108230154230, nn.cross_entropy(rows, t, { weight = w, reduction = 'sum' }))
    near(0.54594943297801, nn.cross_entropy(rows, t, { weight = w }))
    near(0.62679386580398, nn.cross_entropy(rows, t, { weight = w, label_smoothing = 0.1 }))
    near(0.59883820568217, nn.cross_entropy(rows, t, { label_smoothing = 0.1 }))
    local none = label(-100, -100, -100, -100)
    assert.equal(0, nn.cross_entropy(rows, none, { reduction = 'sum' }):item())
    local v = nn.cross_entropy(rows, none):item()
    assert(v ~= v)
  end)

  it('of numbers, distributions and vectors (nn C9, C37)', function()
    near(0.14384103622589, nn.kl_div_loss(mc.log(mc.tensor { { 0.25, 0.75 } }), mc.tensor { { 0.5, 0.5 } },
      { reduction = 'batchmean' }))
    near(0.28768207245178, nn.kl_div_loss(mc.log(mc.tensor { { 0.25, 0.75 } }), mc.tensor { { 0, 1 } },
      { reduction = 'sum' }))
    for delta, want in pairs { [0.5] = 1.375, [1] = 2.5, [2] = 4 } do
      near({ want, want }, nn.huber_loss(mc.tensor { 3, -3 }, mc.zeros { 2 }, { delta = delta, reduction = 'none' }))
    end
    near({ 0.12692801104297, 2.1269280110430, 0.61326168751822, 1000, 1000 },
      nn.binary_cross_entropy_with_logits(mc.tensor { 2, 2, -1, 1000, -1000 }, mc.tensor { 1, 0, 0.3, 0, 1 },
        { reduction = 'none' }))
    near(1.2095581466564, nn.binary_cross_entropy_with_logits(mc.tensor { 0.7 }, mc.tensor { 1 }, { pos_weight = 3 }))
    near(100, nn.binary_cross_entropy(mc.tensor { 0 }, mc.tensor { 1 }))
    local a, b = mc.tensor { { 1, 2, 3 } }, mc.tensor { { 2, 0, -1 } }
    near(-0.11952286093344, nn.cosine_similarity(a, b))
    near(1.1195228609334, nn.cosine_embedding_loss(a, b, mc.tensor { 1 }))
    near(0, nn.cosine_embedding_loss(a, b, mc.tensor { -1 }))
    near(0.38047713906656, nn.cosine_embedding_loss(a, b, mc.tensor { -1 }, { margin = -0.5 }))
    near(0.88196511682367, nn.triplet_margin_loss(mc.tensor { { 1, 2 } }, mc.tensor { { 1.5, 1 } }, mc.zeros { 1, 2 },
      { margin = 2 }))
  end)

  it('of pairs among all pairs of a batch (nn C37)', function()
    local a, b = mc.tensor { { 1, 0 }, { 0.6, 0.8 } }, mc.tensor { { 0.8, 0.6 }, { 0, 1 } }
    near(1.1912904354682, nn.contrastive_loss(a, b))
    near(1.1912904354682, nn.contrastive_loss(a * 3, b * 0.1, { log_scale = mc.tensor(math.log(1 / 0.07)) }))
    -- the scale ends at 100, and its derivative there
    local function scaled(s) return nn.contrastive_loss(a, b, { log_scale = s }) end
    near(scaled(math.log(100)):item(), scaled(7))
    near(0, mc.grad(scaled)(mc.tensor(7)))
    near(mc.nn.cross_entropy(a:matmul(b.mT) * 2, label(0, 1)):item() / 2
      + mc.nn.cross_entropy(b:matmul(a.mT) * 2, label(0, 1)):item() / 2, scaled(math.log(2)))
    local e = support.message(nn.contrastive_loss, a, mc.ones { 3, 2 })
    assert(e:find('nn.contrastive_loss: input is f64[2,2]@cpu and target is f64[3,2]@cpu', 1, true), e)
  end)

  it('say what does not fit', function()
    local function says(message, f, ...)
      local e = support.message(f, ...)
      assert(e:find(message, 1, true), e)
    end
    local z = mc.ones { 2, 3 }
    says('nn.mse_loss: input is f64[2,3]@cpu and target is f64[3]@cpu; give equal shapes', nn.mse_loss, z,
      mc.ones { 3 })
    says('nn.cross_entropy: logits are f64[2,3]@cpu and target is i64[3]@cpu; give a class for each row of logits',
      nn.cross_entropy, z, label(0, 1, 2))
    says('nn.cross_entropy: weight is f64[2]@cpu for 3 classes; give one number for each', nn.cross_entropy, z,
      label(0, 1), { weight = mc.ones { 2 } })
    assert(support.message(nn.cross_entropy, z, label(0, 3)):find('outside', 1, true)
      or support.message(nn.cross_entropy, z, label(0, 3)):find('take_along', 1, true))
  end)
end)
