-- network_numbers_spec.lua - optimisers, rates and clipping against the numbers of the specification of networks.
local mc = require 'mascon'
local dir = debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests'
local support = dofile(dir .. '/support/init.lua')
local tol = support.load 'tol'
local O = mc.optim

--- A number against printed digits: half a unit of the last of `digits` behind the point.
local function near(want, got, digits, what)
  local bound = 0.5 * 10 ^ -digits + 1e-12 * math.max(1, math.abs(want))
  local wrong = tol.compare('ITERATIVE', 'f64', got, want, { bound = bound })
  if wrong then error(('%s: %s'):format(what or 'value', wrong), 2) end
end

--- theta after each step over given gradients.
local function over(opt, gradients)
  local p, out = mc.tensor { 1 }, {}
  local state = opt.init(p)
  for i, g in ipairs(gradients) do
    p, state = opt.update(p, mc.tensor { g }, state)
    out[i] = p:item()
  end
  return out
end

describe('the optimisers', function()
  it('take the steps of the specification (nn C13, C14, C33)', function()
    local g = { 0.5, -0.25, 0.1 }
    for _, c in ipairs {
      { O.adamw(), { 0.99899000002, 0.99871367308708, 0.99838844239353 } },
      { O.adam(), { 0.99900000002, 0.99873366298708, 0.99841841943026 } },
      { O.adam { weight_decay = 0.1 }, { 0.99900000001667, 0.99853067066084, 0.99798889165409 } },
      { O.adam { maximize = true }, { 1.00099999998, 1.0012663370129, 1.0015815805697 } },
      { O.adam { betas = { 0.9, 0.5 } }, { 0.99900000002, 0.9987022708574, 0.99827793112879 } },
      { O.sgd { lr = 0.1, momentum = 0.9 }, { 0.95, 0.93, 0.902 } },
      { O.sgd { lr = 0.1, momentum = 0.9, nesterov = true }, { 0.905, 0.912, 0.8768 } },
      { O.sgd { lr = 0.1, momentum = 0.9, dampening = 0.5 }, { 0.95, 0.9175, 0.88325 } },
      { O.sgd { lr = 0.1, momentum = 0.9, weight_decay = 0.01 }, { 0.949, 0.927151, 0.896559749 } },
      { O.lion { lr = 1e-4, weight_decay = 0.01 }, { 0.999899, 0.999998000101, 0.999897000103 } },
    } do
      local got = over(c[1], g)
      for i, want in ipairs(c[2]) do near(want, got[i], 11, c[1].name .. ' step ' .. i) end
    end
    near(0.99900000001, over(O.adam { lr = 1e-3 }, { 1 })[1], 11)
  end)

  it('go down a quadratic as tabulated (nn C41)', function()
    local A, b = mc.tensor { { 3, 1 }, { 1, 2 } }, mc.tensor { 1, -1 }
    for _, c in ipairs {
      { O.sgd { lr = 0.05 }, { 1.9, -2.85 }, { 1.8075, -2.71 }, { 1.2738803844, -1.88149134454 } },
      { O.sgd { lr = 0.05, momentum = 0.9 }, { 1.9, -2.85 }, { 1.7175, -2.575 }, { -0.0960261506625, 0.316898462056 } },
      { O.sgd { lr = 0.05, momentum = 0.9, nesterov = true }, { 1.81, -2.715 }, { 1.566075, -2.3446 },
        { 0.093436844841, 0.0192643842674 } },
      { O.sgd { lr = 0.05, momentum = 0.9, dampening = 0.5, weight_decay = 0.1 }, { 1.89, -2.835 },
        { 1.7404, -2.6099125 }, { 0.245293677738, -0.272426427485 } },
      { O.adam { lr = 0.1 }, { 1.9000000005, -2.90000000033 }, { 1.80041222869, -2.80010270775 },
        { 1.07441532043, -2.01468198779 } },
      { O.adam { lr = 0.1, weight_decay = 0.1 }, { 1.90000000045, -2.9000000003 }, { 1.80038632613, -2.80010270769 },
        { 1.0685507118, -2.01459428795 } },
      { O.adam { lr = 0.1, betas = { 0.9, 0.5 } }, { 1.9000000005, -2.90000000033 }, { 1.79862546355, -2.79953450427 },
        { 0.725028170016, -1.95728282768 } },
      { O.adam { lr = 0.1, betas = { 0.9, 0.5 }, amsgrad = true }, { 1.9000000005, -2.90000000033 },
        { 1.79862546355, -2.79953450427 }, { 1.12616577463, -2.015972093 } },
      { O.adamw { lr = 0.1, weight_decay = 0.1 }, { 1.8800000005, -2.87000000033 }, { 1.76170305495, -2.74145303941 },
        { 0.943545882408, -1.77869395921 } },
      { O.lion { lr = 0.1, weight_decay = 0.1 }, { 1.88, -2.87 }, { 1.7612, -2.7413 },
        { 0.852584900106, -1.75696697511 } },
      { O.lion { lr = 0.5, weight_decay = 0.1 }, { 1.4, -2.35 }, { 0.83, -1.7325 },
        { 0.636941411486, -0.405461460099 } },
      { O.radam { lr = 0.1 }, { 1.8, -2.7 }, { 1.61578947368, -2.42105263158 }, { 1.13690535086, -1.69071863556 } },
      { O.lamb { lr = 0.1, weight_decay = 0.01 }, { 1.74629572743, -2.74380838796 }, { 1.51910012537, -2.51108002531 },
        { 0.585499162002, -1.1374368048 } },
      { O.lookahead(O.adamw { lr = 0.1, weight_decay = 0.1 }), { 1.8800000005, -2.87000000033 },
        { 1.71079825756, -2.68276556109 }, { 1.44226271495, -2.37694877391 }, at = { 1, 5, 10 } },
      { O.rmsprop { lr = 0.1 }, { 1.00000005, -2.00000003333 }, { 0.999999991373, -1.44336970563 },
        { 0.605722987215, -0.808564307883 } },
      { O.sophia { lr = 0.1, rho = 1, k = 2, betas = { 0.5, 0.5 }, weight_decay = 0.1 }, { 1.91333333333, -2.87 },
        { 1.79853333333, -2.7413 }, { 1.26204701607, -1.78011197593 }, curvature = mc.tensor { 3, 2 } },
      { O.adagrad { lr = 0.1 }, { 1.9, -2.9 }, { 1.83310352685, -2.83049779032 },
        { 1.5517554703, -2.51595548112 } },
    } do
      local p = mc.tensor { 2, -3 }
      local state, after = c[1].init(p), {}
      for t = 1, 10 do
        p, state = c[1].update(p, A:matmul(p) - b, state, nil, c.curvature)
        after[t] = p
      end
      for k, t in ipairs(c.at or { 1, 2, 10 }) do
        for i = 1, 2 do near(c[k + 1][i], after[t][i]:item(), 10, ('%s after %d'):format(c[1].name, t)) end
      end
    end
  end)
end)

describe('the diagonal of the second derivative', function()
  it('is what estimates of it have as their mean, and sophia asks for it', function()
    local A = mc.tensor { { 3, 1, 0 }, { 1, 2, -0.5 }, { 0, -0.5, 1 } }
    local function f(p) return mc.sum(p.x * mc.matmul(A, p.x)) / 2 + mc.sum(p.y ^ 3) end
    local params = { x = mc.tensor { 1, 2, 3 }, y = mc.tensor { 2, -1 } }
    local sum
    for key = 1, 400 do
      local d = O.hutchinson(f, params, { key = key })
      near(12, d.y[1]:item(), 9)
      near(-6, d.y[2]:item(), 9)
      sum = sum and sum + d.x or d.x
    end
    -- off the diagonal u_i u_j A_ij of standard deviation 1: four of them in 400 draws
    for i, want in ipairs { 3, 2, 1 } do assert(math.abs(sum[i]:item() / 400 - want) < 5 * 1.2 / 20) end
    local opt = O.sophia {}
    local state = opt.init(params)
    local e = support.message(function() opt.update(params, params, state) end)
    assert(e:find('optim.sophia: step 1 needs an estimate of the second derivative', 1, true), e)
    params, state = opt.update(params, params, state, nil, O.hutchinson(f, params, { key = 1 }))
    assert(opt.update(params, params, state)) -- step 2 does not
    -- false says that none is needed, which bends foretells
    assert.is_false(opt.bends(state))
    local same = opt.update(params, params, state, nil, false)
    assert.is_true(mc.array_equal(same.x, opt.update(params, params, state).x))
  end)
end)

describe('rates and clipping', function()
  it('have the values of the specification (nn C16)', function()
    local function rates(f, steps, wants)
      for i, s in ipairs(steps) do near(wants[i], f(s), 12, 'rate ' .. s) end
    end
    rates(O.cosine(1, { steps = 100 }), { 25, 50, 100, 130 }, { 0.85355339059327, 0.5, 0, 0 })
    rates(O.cosine(1, { steps = 10, least = 0.1 }), { 1, 3, 9 }, { 0.97797543233282, 0.81450336353161,
      0.12202456766718 })
    rates(O.one_cycle(1, { steps = 10 }), { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { 0.04, 0.52, 1, 0.95048463201347,
      0.81174565394976, 0.61126202193629, 0.38874197806371, 0.18825834605024, 0.049519367986526, 4e-6 })
    rates(O.warmup(1, { steps = 5 }), { 0, 1, 2, 3, 4, 5, 6 }, { 1 / 3, 7 / 15, 0.6, 11 / 15, 13 / 15, 1, 1 })
    rates(O.warmup(O.cosine(1, { steps = 6 }), { steps = 4, start = 0.1 }), { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 },
      { 0.1, 0.325, 0.55, 0.775, 1, 0.93301270189222, 0.75, 0.5, 0.25, 0.066987298107781, 0 })
    -- several cycles of the cosine, and schedules one after the other
    rates(O.cosine(1, { steps = 8, cycles = 1.5 }), { 0, 2, 4, 8, 9 }, { 1, 0.14644660940673, 0.5 * (1 + math.cos(1.5
      * math.pi)), 0, 0 })
    rates(O.sequential({ O.warmup(1, { steps = 4, start = 0.1 }), O.cosine(1, { steps = 6 }), 0.3 }, { 4, 9 }),
      { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20 },
      { 0.1, 0.325, 0.55, 0.775, 1, 0.93301270189222, 0.75, 0.5, 0.25, 0.3, 0.3 })
    -- the rate of step t = 1, 2, ... of a warm-up of 2 and a cosine up to 10
    local both = O.warmup(O.cosine(1, { steps = 8 }), { steps = 2, start = 0 })
    rates(both, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, { 0.5, 1, 0.96193976625564, 0.85355339059327, 0.69134171618254, 0.5,
      0.30865828381746, 0.14644660940673, 0.038060233744357, 0 })
  end)

  it('fall as polynomials and where a metric stands still (nn C16)', function()
    local poly = O.warmup(O.polynomial(1, { steps = 8, power = 2, least = 0.1 }), { steps = 2, start = 0 })
    for i, want in ipairs { 0.7890625, 0.60625, 0.4515625, 0.325 } do near(want, poly(i + 2), 12) end
    local line = O.warmup(O.polynomial(1, { steps = 8 }), { steps = 2, start = 0 })
    for t, want in ipairs { 0.5, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0, 0 } do near(want, line(t), 12) end
    local p = O.plateau(1, { patience = 1, cooldown = 1 })
    local wants = { 1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001 }
    for i, metric in ipairs { 1, 0.5, 0.49999, 0.5, 0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.4 } do
      near(wants[i], p:update(metric), 12, 'metric ' .. i)
    end
    -- it goes on from its state, and knows larger as better
    local a = O.plateau(1, { patience = 0, factor = 0.5, larger = true, least = 0.2 })
    for _, m in ipairs { 1, 2, mc.nan } do a:update(m) end
    local b = O.plateau(1, { patience = 0, factor = 0.5, larger = true, least = 0.2 }):restore(a:state())
    for _, m in ipairs { 2, 1, 3, 3 } do assert.equal(a:update(m), b:update(m)) end
    assert.equal(0.2, a.rate)
  end)

  it('scale gradients as specified (nn C17)', function()
    local g, norm = O.clip_norm(mc.tensor { 3, 4 }, 1)
    assert.equal(5, norm:item())
    near(0.599999880000024, g[1]:item(), 15)
    near(0.799999840000032, g[2]:item(), 15)
    g = O.clip_norm(mc.tensor { 0.6, 0.8 }, 1)
    near(0.5999994000006, g[1]:item(), 13)
    near(0.7999992000008, g[2]:item(), 13)
    assert.same({ 0.6, 0.8 }, (O.clip_norm(mc.tensor { 0.6, 0.8 }, 1.00001)):totable())
    assert.same({ 0, 0 }, (O.clip_norm(mc.zeros { 2 }, 1)):totable())
    -- a norm that is not finite leaves gradients as they are
    local wild = { a = mc.tensor { 3, math.huge }, b = mc.tensor { 4 } }
    for _, f in ipairs { O.clip_norm, mc.compile(function(t) return O.clip_norm(t, 1) end) } do
      g, norm = f(wild, f == O.clip_norm and 1 or nil)
      assert.equal(math.huge, norm:item())
      assert.same({ 3, math.huge, 4 }, { g.a[1]:item(), g.a[2]:item(), g.b:item() })
    end
  end)

  it('follow the norms so far: the 90th percentile of the last 1000, behind 10', function()
    local clip, seen = O.adaptive_clip(), {}
    for t = 1, 1200 do
      local v = 1 + mc.random.uniform({}, { key = t }):item() * (t > 600 and 9 or 1)
      local g, norm = clip:apply { mc.tensor { 0.6 * v, 0.8 * v } }
      near(v, norm, 12)
      local limit = math.huge
      if #seen >= 10 then
        local last = {}
        for i = math.max(1, #seen - 999), #seen do last[#last + 1] = seen[i] end
        limit = mc.quantile(mc.tensor(last), 0.9):item()
      end
      seen[#seen + 1] = v
      near(math.min(1, limit / (v + 1e-6)) * 0.6 * v, g[1][1]:item(), 11, 'step ' .. t)
    end
    -- a norm that is not finite changes neither gradients nor the record; a state goes on
    local other = O.adaptive_clip():restore(clip:state())
    local _, norm = other:apply { mc.tensor { mc.nan } }
    assert(norm ~= norm)
    for _, c in ipairs { clip, other } do near(select(2, c:apply { mc.tensor { 100 } }), 100, 12) end
    assert.equal(clip.limit, other.limit)
  end)

  it('come after a backward pass that changes no value (nn C34)', function()
    local function at(scale) return mc.grad(function(x) return mc.sum(x * scale) end)(mc.ones { 1 }):item() end
    assert.equal(1e8, at(1e8))
    assert.equal(math.huge, at(math.huge))
    local nan = at(0 / 0)
    assert(nan ~= nan)
    local doubled = mc.grad(function(x)
      for _ = 1, 64 do x = x + x end
      return mc.sum(x)
    end)(mc.ones { 1 }):item()
    assert.equal(2 ^ 64, doubled)
  end)
end)
