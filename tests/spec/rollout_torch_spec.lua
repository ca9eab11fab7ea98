-- rollout_torch_spec.lua - operators of both types, policies and features of random configurations, against PyTorch.
--
-- ROLLOUT_TORCH names another file of tests/golden/make_rollout.py, with more configurations.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local rollout = mc.rollout
local set = support.load 'rollout'

local EPS = 2 ^ -52

local function text(t)
  local out = {}
  for i, v in ipairs(t:totable()) do out[i] = string.char(v) end
  return table.concat(out)
end

local function arch_of(c)
  local u = c.u
  return { type = c.type, channels = c.channels, layers = c.layers, base = c.base, kernel = c.kernel, grid = c.grid,
    norm = c.norm, activation = c.activation, gelu = c.gelu, groups = c.groups, padding_mode = c.padding_mode,
    noise = 'none', scale = 0, u_afno = { modes = u.modes, encoder_levels = u.levels, afno_blocks = u.blocks,
      blocks_per_level = u.per, hidden_dim = u.hidden > 0 and u.hidden or nil } }
end

--- States X_0 .. X_steps, each [B, C, G, G].
local function states(c, dtype, composed)
  local arch, null = arch_of(c), mc.json.null
  local x = set.values(c.states * c.channels * c.grid ^ 2, c.seed + 100000)
  x = x:reshape(c.states, c.channels, c.grid, c.grid):to(dtype)
  local apply = rollout.operator.build(arch, set.weights(arch, dtype, c.seed), { composed = composed })
  local p = { policy = c.policy, dt = c.dt, alpha = c.alpha, normalize = c.normalize,
    clamp = c.clamp ~= null and c.clamp or nil }
  local out = { [0] = mc.keep(rollout.roll.post(p, x)) }
  for t = 1, c.steps do
    out[t] = mc.keep(mc.scope(function()
      return rollout.roll.post(p, rollout.roll.update(p, out[t - 1], apply(out[t - 1])))
    end))
  end
  return out
end

local function six(x)
  local v = x:to('f64'):reshape(-1)
  local n = v:numel()
  local wave = mc.cos(mc.arange(0, n - 1) * 0.37 + 1)
  return { v:sum():item(), (v * v):sum():item(), (v * wave):sum():item(), v[1]:item(),
    v[math.floor(n / 2) + 1]:item(), v[n]:item() }
end

local function columns(c, s)
  local B, C, G = c.states, c.channels, c.grid
  local collector = rollout.features.collector(B, C, G)
  local alive = {}
  for b = 1, B do alive[b] = true end
  for t = 0, c.steps do collector:add(s[t], alive) end
  local r = collector:finish()
  local one = s[c.steps]:reshape(B * C, G, G)
  local part = function(name) return require('workflows.rollout.features.' .. name).columns(one):mean(1) end
  return r.temporal[-1], r.summary[-1], mc.concat { part 'distributional', part 'wavelet' }
end

describe('rollout, random configurations', function()
  local file = mc.load(os.getenv 'ROLLOUT_TORCH' or support.folder .. '/golden/rollout.npz')
  local cases = mc.json.decode(text(file.cases))
  local stored, temporal = file.states:totable(), file.temporal:totable()
  local trajectory, extra = file.trajectory:totable(), file.extra:totable()
  teardown(function()
    rollout.features.forget()
    for _, t in pairs(file) do t:release() end
  end)

  local function far(want, got, scale) return math.abs(want - got) / math.max(scale, 1e-300) end

  -- two programs that round differently part by their rounding times the growth of a disturbance
  local function each(dtype, composed, unit)
    local at, worst = 0, 0
    for k, c in ipairs(cases) do
      if not composed or k % 3 == 0 then mc.scope(function()
        local s = states(c, dtype, composed)
        for i, t in ipairs(c.kept) do
          local want, got = stored[at + i], six(s[t])
          local size = math.sqrt(want[2])
          local n = s[t]:numel()
          local bound = unit * math.max(4, c.growth[i]) * 100
          for j = 1, 6 do
            -- the sum of squares, sums of n values, single values: each against the size of the state
            local scale = j == 2 and 2 * size * size or j < 4 and size * math.sqrt(n) or size
            local d = far(want[j], got[j], scale)
            worst = math.max(worst, d / unit / math.max(4, c.growth[i]))
            if bound < 0.1 and not (d <= bound) then
              error(('case %d (%s, %s, %s) step %d, figure %d: %.17g, want %.17g'):format(k, c.type, c.norm, c.policy,
                t, j, got[j], want[j]))
            end
          end
        end
        for _, t in pairs(s) do t:release() end
      end) end
      at = at + #c.kept
    end
    return worst
  end

  it('have the states of PyTorch in f64', function() each('f64', false, EPS) end)
  it('have them when composed of ops', function() each('f64', true, EPS) end)
  it('have them in f32 as far as f32 goes', function() each('f32', false, 2 ^ -23) end)

  it('have the features of PyTorch', function()
    local at = 0
    for k, c in ipairs(cases) do
      if c.features then
        at = at + 1
        mc.scope(function()
          local s = states(c, 'f64')
          local a, b, e = columns(c, s)
          local growth = c.growth[#c.growth]
          local function compare(want, have, names, what)
            have = have:totable()
            for i, name in ipairs(names) do
              local got = have[i] == have[i] and have[i] or 0 -- NaN is kept as 0
              -- bins, and differences of nearly equal numbers over 1e-8, see a last bit as a step
              local counted = name:find 'mutual' or name:find 'entropy' or name:find 'sign' or name:find 'zero'
              local ratio = name:find 'anisotropy' or name:find 'kewness' or name:find 'index' or name:find 'ratio'
                or name:find 'drift' or name:find 'lyapunov' or name:find 'asymmetry'
              local tol = counted and 2e-2 or ratio and 1e-5 or 1e-7
              local bound = math.max(tol, 1e-10 * growth) * math.max(math.abs(want[i]), 1e-4)
              -- the same counts in other bins: the sign of a difference that is zero up to rounding
              if name:find 'entropy_monotonicity' then bound = 0.2 end
              if not (math.abs(want[i] - got) <= bound) then
                error(('case %d, %s %s: %.10g, want %.10g'):format(k, what, name, got, want[i]))
              end
            end
          end
          compare(temporal[at], a, rollout.features.temporal_names(), 'step')
          compare(trajectory[at], b, rollout.features.summary_names(), 'trajectory')
          local names = { unpack(require 'workflows.rollout.features.distributional'.NAMES) }
          for _, n in ipairs(require 'workflows.rollout.features.wavelet'.NAMES) do names[#names + 1] = n end
          compare(extra[at], e, names, 'opt-in')
          for _, t in pairs(s) do t:release() end
        end)
      end
    end
    assert.is_true(at >= 8)
  end)
end)
