-- pac_contrast_spec.lua - pac.contrast against loops over its permutations, on maps with a known difference and
-- without one.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local mc = require 'mascon'
local pac = mc.pac

local function close(want, got, bound, what)
  assert.equal(tostring(want.shape), tostring(got.shape), what)
  assert.is_true(mc.all(mc.le(mc.abs(want - got), bound * (1 + mc.abs(want)))), what)
end

--- Welch's t, or that of the paired differences, of lists x and y.
local function t_by_hand(x, y, paired)
  local function moments(v)
    local sum, sq = 0, 0
    for _, e in ipairs(v) do sum = sum + e end
    for _, e in ipairs(v) do sq = sq + (e - sum / #v) ^ 2 end
    return sum / #v, sq / (#v - 1) / #v
  end
  if paired then
    local d = {}
    for i = 1, #x do d[i] = x[i] - y[i] end
    local m, v = moments(d)
    return m / math.sqrt(v)
  end
  local m, v = moments(x)
  local n, w = moments(y)
  return (m - n) / math.sqrt(v + w)
end

--- Masses of clusters of one map [P][A] of values above u: cells take the smallest label around them until none
--- changes.
local function masses(map, u)
  local label, P, A = {}, #map, #map[1]
  for i = 1, P do
    label[i] = {}
    for j = 1, A do label[i][j] = map[i][j] >= u and (i - 1) * A + j or nil end
  end
  local changed = true
  while changed do
    changed = false
    for i = 1, P do
      for j = 1, A do
        for _, s in ipairs { { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } } do
          local other = label[i + s[1]] and label[i + s[1]][j + s[2]]
          if label[i][j] and other and other < label[i][j] then label[i][j], changed = other, true end
        end
      end
    end
  end
  local sum = {}
  for i = 1, P do
    for j = 1, A do
      local l = label[i][j]
      if l then sum[l] = (sum[l] or 0) + map[i][j] end
    end
  end
  return sum, label
end

--- The whole test by loops: z, p_maxz and p_cluster [C][P][A] over one family.
local function by_hand(a, b, o)
  local n, m = a.shape[1], b.shape[1]
  local C, P, A = a.shape[2], a.shape[3], a.shape[4]
  local x, y = a:totable(), b:totable()
  local function column(t, c, i, j)
    local v = {}
    for s = 1, #t do v[s] = t[s][c][i][j] end
    return v
  end
  local t = {}
  for k = 0, o.n_perm do
    t[k] = {}
    local order = k > 0 and not o.paired and mc.randperm(n + m, { seed = 42, stream = k }):totable()
    local sign = k > 0 and o.paired and pac.generate.uniform(n, 42 + 7919 * k):totable()
    for c = 1, C do
      for i = 1, P do
        for j = 1, A do
          local u, v = column(x, c, i, j), column(y, c, i, j)
          if order then -- observation s gets the label that stood at order[s]
            local p, q = {}, {}
            for s = 1, n + m do
              local value = s <= n and u[s] or v[s - n]
              table.insert(order[s] <= n and p or q, value)
            end
            u, v = p, q
          elseif sign then
            for s = 1, n do if sign[s] < 0.5 then u[s], v[s] = v[s], u[s] end end
          end
          table.insert(t[k], t_by_hand(u, v, o.paired))
        end
      end
    end
  end
  local N, K = C * P * A, o.n_perm
  local z, maps = {}, {}
  for k = 0, K do z[k] = {} end
  for i = 1, N do
    local sum, sq = 0, 0
    for k = 0, K do sum = sum + t[k][i] end
    for k = 0, K do sq = sq + (t[k][i] - sum / (K + 1)) ^ 2 end
    for k = 0, K do z[k][i] = (t[k][i] - sum / (K + 1)) / math.sqrt(sq / (K + 1)) end
  end
  local u = mc.stats.norm_isf(mc.tensor { (o.cluster_p or 0.01) / 2 }):item()
  local top, heaviest, observed = {}, {}, {}
  for k = 0, K do
    top[k], heaviest[k] = 0, 0
    for i = 1, N do top[k] = math.max(top[k], math.abs(z[k][i])) end
    for c = 1, C do
      for _, side in ipairs { 1, -1 } do
        local map = {}
        for i = 1, P do
          map[i] = {}
          for j = 1, A do map[i][j] = side * z[k][((c - 1) * P + i - 1) * A + j] end
        end
        local sum, label = masses(map, u)
        for _, mass in pairs(sum) do heaviest[k] = math.max(heaviest[k], mass) end
        if k == 0 then
          for i = 1, P do for j = 1, A do
            if label[i][j] then observed[((c - 1) * P + i - 1) * A + j] = sum[label[i][j]] end
          end end
        end
      end
    end
  end
  for i = 1, N do
    local p, q = 1, 1
    for k = 1, K do
      if top[k] >= math.abs(z[0][i]) * (1 - 1e-9) then p = p + 1 end
      if observed[i] and heaviest[k] >= observed[i] * (1 - 1e-9) then q = q + 1 end
    end
    maps[i] = { z[0][i], p / (K + 1), observed[i] and q / (K + 1) or 1 }
  end
  local out = mc.tensor(maps)
  local function of(k) return out['..., ' .. k]:reshape(C, P, A) end
  return of(1), of(2), of(3)
end

local function observations(n, seed, extra)
  local x = mc.randn { n, 2, 4, 5, seed = seed, dtype = 'f64' }
  if extra then x[{ mc.all, 1, { 2, 3 }, { 2, 4 } }] = x[{ mc.all, 1, { 2, 3 }, { 2, 4 } }] + extra end
  return x
end

describe('pac.contrast.maps', function()
  it('is the test that its definition says, by loops', function()
    for i, case in ipairs { { n_perm = 49 }, { n_perm = 49, paired = true }, { n_perm = 30, cluster_p = 0.2 } } do
      local a, b = observations(11, 1, 0.8), observations(case.paired and 11 or 9, 2) * 1.5
      local r = pac.contrast.maps(a, b, case)
      local z, p, q = by_hand(a, b, case)
      close(z, r.z, 1e-9, 'z ' .. i)
      close(p, r.p_maxz, 1e-12, 'p_maxz ' .. i)
      close(q, r.p_cluster, 1e-12, 'p_cluster ' .. i)
      close(a:mean(1) - b:mean(1), r.difference, 1e-12)
    end
  end)

  it('finds where the difference is, and its sign', function()
    local r = pac.contrast.maps(observations(30, 1), observations(25, 2, 1.5), { n_perm = 200 })
    local low = mc.lt(r.p_maxz, 0.05)
    assert.is_true(mc.all(low[{ 1, { 2, 3 }, { 2, 4 } }]))
    assert.equal(6, mc.sum(low:to 'i64'):item())
    local c = r.clusters[1]
    assert.same({ -1, 1, 6 }, { c.sign, c.map, c.size })
    assert.is_true(c.p < 0.01 and mc.max(r.p_cluster[{ 1, { 2, 3 }, { 2, 4 } }]):item() == c.p)
    local less = pac.contrast.maps(observations(30, 1), observations(25, 2, 1.5), { n_perm = 200, tail = 'less' })
    assert.is_true(mc.all(mc.lt(less.p_maxz[{ 1, { 2, 3 }, { 2, 4 } }], 0.05)))
    local greater = pac.contrast.maps(observations(30, 1), observations(25, 2, 1.5), { n_perm = 200, tail = 'greater' })
    assert.is_true(mc.all(mc.gt(greater.p_maxz[{ 1, { 2, 3 }, { 2, 4 } }], 0.5)))
    -- each map by itself: the other map has no part in the first one's
    local alone = pac.contrast.maps(observations(30, 1)[{ mc.all, { 1, 1 } }], observations(25, 2, 1.5)[{ mc.all, { 1,
      1 } }], { n_perm = 200 })
    local apart = pac.contrast.maps(observations(30, 1), observations(25, 2, 1.5), { n_perm = 200,
      mcp_scope = 'channel' })
    close(alone.p_maxz[1], apart.p_maxz[1], 1e-12)
    close(alone.p_cluster[1], apart.p_cluster[1], 1e-12)
  end)

  it('raises few false alarms in maps of unequal spread and number', function()
    local n, z, cluster, pairs_ = 80, 0, 0, 0
    for i = 1, n do
      mc.scope(function()
        local r = pac.contrast.maps(observations(9, 2 * i), observations(14, 2 * i + 1), { n_perm = 39, seed = i,
          cluster_p = 0.05, mcp_scope = 'run' })
        if mc.min(r.p_maxz):item() <= 0.1 then z = z + 1 end
        if mc.min(r.p_cluster):item() <= 0.1 then cluster = cluster + 1 end
        r = pac.contrast.maps(observations(10, 2 * i), observations(10, 2 * i + 1), { n_perm = 39, seed = i,
          paired = true })
        if mc.min(r.p_maxz):item() <= 0.1 then pairs_ = pairs_ + 1 end
      end)
    end
    local se = math.sqrt(0.1 * 0.9 / n)
    assert.is_nil(tol.stat(z / n, 0.1, se))
    assert.is_nil(tol.stat(cluster / n, 0.1, se))
    assert.is_nil(tol.stat(pairs_ / n, 0.1, se))
  end)

  it('leaves bad observations and maps out, and says so', function()
    local a, b = observations(12, 1, 1), observations(11, 2)
    local spoilt = mc.concat({ a, a['1:1'] * (0 / 0) }, 1)
    local clean, r = pac.contrast.maps(a, b, { n_perm = 50 }), pac.contrast.maps(spoilt, b, { n_perm = 50 })
    close(clean.p_maxz, r.p_maxz, 0)
    assert.truthy(r.warnings[1]:find('1 of 24 observations', 1, true))
    local a2, b2 = a:copy(), b:copy()
    a2[{ mc.all, 2 }], b2[{ mc.all, 2 }] = 0 / 0, 0 / 0
    r = pac.contrast.maps(a2, b2, { n_perm = 50 })
    assert.is_true(mc.all(mc.isnan(r.p_maxz[2])) and mc.all(mc.isnan(r.p_cluster[2]))
      and mc.all(mc.isfinite(r.p_maxz[1])))
    assert.truthy(table.concat(pac.contrast.maps(a['1:4'], b['1:4'], {}).warnings,
      ' '):find('70 distinct permutations', 1, true))
  end)

  it('refuses in words', function()
    local a, b = observations(8, 1), observations(7, 2)
    for _, case in ipairs {
      { { a, b, { paired = true } }, 'with paired the first too' }, { { a, b['..., 1:3'] },
        'all axes but the first must be equal' }, { { a, 3 }, 'b is 3' },
      { { a['1:1'], b }, '1 and 7 observations' }, { { a['1:3'], b['1:3'], { paired = true } }, 'at least 4 pairs' },
        { { a, b, { cluster_p = 0.7 } }, 'cluster_p is 0.7' },
      { { a, b, { n_prem = 3 } }, 'n_perm' }, { { a * (0 / 0), b * (0 / 0) }, 'no value of a and b is finite' },
    } do
      local ok, why = pcall(pac.contrast.maps, unpack(case[1]))
      assert.is_false(ok)
      assert.truthy(tostring(why):find(case[2], 1, true), tostring(why))
    end
  end)
end)

describe('pac.contrast', function()
  local function trials(n, seed, strength)
    local list = {}
    for i = 1, n do list[i] = pac.generate.g3 { n = 512, fs = 256, fp = 8, fa = 80, strength = strength, sigma = 0.6,
      driver_seed = seed + i, noise_seed = seed + 7000 + i } end
    return mc.stack(list)
  end
  local O = { fs = 256, pha_range_hz = { 4, 14 }, pha_n_bands = 5, amp_range_hz = { 60, 100 }, amp_n_bands = 4,
    n_perm = 100 }
  local function with(more)
    local o = {}
    for k, v in pairs(O) do o[k] = v end
    for k, v in pairs(more) do o[k] = v end
    return o
  end

  it('finds the pair of bands and the channel that differ between conditions', function()
    local a = mc.stack { trials(25, 1, 0), trials(25, 100, 0.9) }
    local b = mc.stack { trials(20, 3000, 0), trials(20, 4000, 0) }
    for _, measure in ipairs { 'mi', 'mvl', function(p, q) return mc.abs(mc.matmul(mc.cos(p), mc.permute_dims(q, { 1,
      3, 2 }))) end } do
      local r = pac.contrast(a, b, with { measure = measure })
      assert.same({ 2, 5, 4 }, { r.z:size() })
      local c = r.clusters[1]
      assert.is_true(c.p < 0.05 and c.sign == 1 and c.channel == 2)
      assert.is_true(c.pha_hz[1] <= 8 and c.pha_hz[2] >= 8 and c.amp_hz[1] <= 80 and c.amp_hz[2] >= 80)
      assert.is_true(mc.min(r.p_maxz[2]):item() < 0.05 and mc.min(r.p_maxz[1]):item() > 0.05)
    end
    -- the values are those of compute, trial by trial
    local r, v = pac.contrast(a, b, O), pac.compute(a, { fs = 256, axes = 'CST', pha_range_hz = { 4, 14 },
      pha_n_bands = 5, amp_range_hz = { 60, 100 }, amp_n_bands = 4 }).pac
    close(v:to('f64'):mean(2), r.mean_a, 1e-12)
    local one = pac.contrast(a[2], b[2], O)
    assert.same({ 5, 4 }, { one.p_cluster:size() })
    close(r.t[2], one.t, 1e-12)
  end)

  it('refuses in words', function()
    local a = mc.randn { 6, 300, seed = 1 }
    for _, case in ipairs {
      { { a, a }, 'fs is missing' }, { { a, a['..., 1:200'], O }, 'channels and samples must be equal' }, { { a[1],
        a[1], O }, 'give trials' },
      { { a, a, with { surrogate = 'exhaustive' } }, 'a contrast permutes trials between conditions' }, { { a, a,
        with { tial = 'less' } }, 'did you mean "tail"' },
    } do
      local ok, why = pcall(pac.contrast, unpack(case[1]))
      assert.is_false(ok)
      assert.truthy(tostring(why):find(case[2], 1, true), tostring(why))
    end
  end)
end)
