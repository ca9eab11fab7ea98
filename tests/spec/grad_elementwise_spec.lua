-- grad_elementwise_spec.lua - derivatives of every elementwise row of the op table against differences, forwards,
-- backwards, twice and compiled.
--
-- The rows come from the table: a new one is tried on [0.2, 0.9] unless a domain stands here, and fails without a rule
-- or a mark.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local op, rules = require 'mascon.core.op', require 'mascon.rules'
local ops = require 'mascon.gen.ops'.ops
local gradient, tol = support.load 'gradient', support.load 'tol'

local FAMILY = { unary = 1, binary = 2, ternary = 3, where = 3 }
local FLOAT = { f64 = true, c128 = true }

-- domains of operands: { low, high } each, or a list of whole numbers for orders; several ones for several branches
local W = { whole = { 1, 2, 3 } }
local DOMAIN = {
  acosh = { { { 1.2, 4 } } }, log = { { { 0.2, 4 } } }, lgamma = { { { 0.3, 6 } }, { { -2.9, -2.2 } } },
  digamma = { { { 0.3, 6 } } }, gamma = { { { 0.3, 4 } }, { { -0.9, -0.2 } } }, rgamma = { { { -1.9, 4 } } },
  abs = { { { -2, -0.1 } } }, sign = { { { -2, -0.1 } } }, lambertwm1 = { { { -0.3, -0.05 } } },
  lambertw0 = { { { -0.2, 3 } } },
  sinh = { { { -2, 2 } } }, asinh = { { { -3, 3 } } }, erfcx = { { { -1, 3 } } }, log_ndtr = { { { -9, 3 } } },
  logit = { { { 0.1, 0.9 } } }, sinc = { { { -2, 2 } } }, j0 = { { { -9, 9 } } }, j1 = { { { -9, 9 } } },
  i0e = { { { -3, -0.3 } } }, i1e = { { { 0.3, 3 } } }, ci = { { { -4, -1 } } }, fresnel_s = { { { -2, 2 } } },
  fresnel_c = { { { -2, 2 } } },
  ellipk = { { { -2, 0.9 } } }, ellipe = { { { -2, 0.9 } } }, factorial = { { { 0.5, 3 } } },
  copysign = { { { -2, -0.1 }, { 0.1, 2 } } }, remainder = { { { 3.2, 3.8 }, { 0.9, 1.05 } },
    { { -3.8, -3.2 }, { 0.9, 1.05 } } }, fmod = { { { -3.8, -3.2 }, { 0.9, 1.05 } } },
  atan2 = { { { -1, 1 }, { -2, -0.4 } } }, hypot = { { { -1, 1 }, { -2, -0.4 } } },
  logaddexp = { { { -3, 3 }, { -3, 3 } } }, polygamma = { { W, { 0.5, 4 } } }, hurwitz_zeta = { { { 1.5, 4 },
    { 0.5, 4 } } }, gammainc = { { { 0.5, 4 }, { 0.3, 5 } } }, gammaincc = { { { 0.5, 4 }, { 0.3, 5 } } },
  poch = { { { 1.2, 3 }, { 0.3, 2 } } }, binom = { { { 3.2, 4 }, { 1.2, 2 } } }, comb = { { { 3.2, 4 }, { 1.2, 2 } } },
  perm = { { { 3.2, 4 }, { 1.2, 2 } } }, stdtr = { { { 1.5, 9 }, { -3, 3 } } }, stdtrit = { { { 1.5, 9 },
    { 0.1, 0.9 } } }, gammaincinv = { { { 0.5, 3 }, { 0.2, 0.8 } } }, gammainccinv = { { { 0.5, 3 }, { 0.2, 0.8 } } },
  jv = { { { 0.5, 3 }, { 1, 9 } }, { W, { -4, 4 } } }, yv = { { { 0.5, 3 }, { 1, 9 } } },
  iv = { { { 0.5, 3 }, { 0.5, 4 } } }, struve = { { { 0.5, 3 }, { 1, 9 } }, { W, { -4, 4 } }, { { -3, 0 }, { 1, 9 } } },
  modstruve = { { { 0.5, 3 }, { 0.5, 4 } }, { W, { -4, 4 } } }, ive = { { { 0.5, 3 }, { 0.5, 4 } } },
  kv = { { { 0.5, 3 }, { 0.5, 4 } } }, kve = { { { 0.5, 3 }, { 0.5, 4 } } },
  spherical_jn = { { { whole = { 0, 1, 3 } }, { -4, 4 } } }, spherical_yn = { { { whole = { 0, 1, 3 } }, { 1, 4 } } },
  expn = { { { whole = { 0, 1, 3 } }, { 0.5, 3 } } },
  owens_t = { { { -2, 2 }, { -2, 2 } } }, ellipkinc = { { { 0.2, 1.4 }, { -1, 0.8 } }, { { 3.3, 5 }, { 0.1, 0.8 } } },
  ellipeinc = { { { 0.2, 1.4 }, { -1, 0.8 } }, { { 3.3, 5 }, { 0.1, 0.8 } } },
  ellipj_sn = { { { -5, 5 }, { 0.2, 0.8 } } }, ellipj_cn = { { { -5, 5 }, { 0.2, 0.8 } } },
  ellipj_dn = { { { -5, 5 }, { 0.2, 0.8 } } }, ellipj_ph = { { { -5, 5 }, { 0.2, 0.8 } } },
  elliprc = { { { 0.2, 2 }, { 0.2, 2 } }, { { 0.2, 2 }, { -2, -0.2 } } },
  elliprd = { { { 0.2, 0.6 }, { 0.8, 1.2 }, { 1.4, 2 } } },
  elliprf = { { { 0.2, 0.6 }, { 0.8, 1.2 }, { 1.4, 2 } } }, elliprg = { { { 0.2, 0.6 }, { 0.8, 1.2 }, { 1.4, 2 } } },
  eval_legendre = { { { whole = { 0, 2, 5 } }, { -0.9, 0.9 } } },
  lpmv = { { { whole = { 0, 1, 2 } }, { whole = { 2, 3, 4 } }, { -0.8, 0.8 } } },
  sph_legendre_p = { { { whole = { 1, 2, 4 } }, { whole = { 0, 1, -2 } }, { 0.2, 2.8 } } },
  vonmises_cdf = { { { 0.5, 3 }, { -2, 2 } } }, pow = { { { 0.3, 2 }, { -2, 2 } }, { { -2, -0.3 }, W } },
  betaincinv = { { { 0.5, 3 }, { 0.5, 3 }, { 0.2, 0.8 } } }, betainccinv = { { { 0.5, 3 }, { 0.5, 3 }, { 0.2, 0.8 } } },
  beta_odds = { { { 0.5, 3 }, { 0.5, 3 }, { 0.2, 0.8 } } },
  beta_oddsc = { { { 0.5, 3 }, { 0.5, 3 }, { 0.2, 0.8 } } }, maximum = { { { -1, 1 }, { -1, 1 } } },
  minimum = { { { -1, 1 }, { -1, 1 } } }, clip = { { { -2, 2 }, { -1, -0.5 }, { 0.5, 1 } } },
}
local SHAPE = { 2, 3 }

-- ops of complex numbers whose derivative is there for real ones only
local REAL_ONLY = { loggamma = true }

-- a whole list fills an integer-valued operand that has no derivative
local function operand(domain, dtype, seed)
  if domain.whole then return mc.tensor { domain.whole, domain.whole } end
  local t = gradient.uniform(SHAPE, domain[1], domain[2], seed)
  if dtype == 'c128' then t = t + gradient.uniform(SHAPE, 0.2, 0.9, seed + 50) * mc.complex(0, 1) end
  return t
end

local function rowed(row) return FAMILY[row.family] and (op.functions[row[1]] or require 'mascon.special'[row[1]]) end

-- narrower dtypes: gradients in the operand's dtype with half of its digits, since formulas in it may cancel
local NARROW = { f32 = 'f64', f16 = 'f64', bf16 = 'f64', c64 = 'c128' }
local function narrow(row, f, inputs, without)
  local first
  for i = 1, #inputs do
    if not without[i] and mc.is_tensor(inputs[i]) and FLOAT[inputs[i].dtype] then first = first or i end
  end
  for _, dtype in ipairs(row.dtypes) do
    if first and NARROW[dtype] == inputs[first].dtype then
      local few, same = { unpack(inputs) }, { unpack(inputs) }
      for i, t in ipairs(inputs) do
        if FLOAT[t.dtype] then
          few[i] = t:to(dtype)
          same[i] = few[i]:to(t.dtype)
        end
      end
      local run = mc.grad(function(...) return mc.sum(mc.real(f(...))) end, { argnums = first })
      local got, want = run(unpack(few)), run(unpack(same))
      assert.equal(dtype, got.dtype, row[1] .. ': dtype of the gradient')
      local apart = mc.max(mc.abs(got:to(want.dtype) - want)):item()
      local wrong = tol.compare('ITERATIVE', 'f64', apart, 0,
        { bound = math.sqrt(tol.kind[dtype].eps) * mc.max(mc.abs(want)):item() })
      if wrong then error(('%s %s: the gradient is off by %s'):format(row[1], dtype, wrong), 0) end
    end
  end
end

describe('elementwise derivatives', function()
  for _, row in ipairs(ops) do
    local n, f = FAMILY[row.family], rowed(row)
    if n and f and row.result ~= 'bool' then
      local continuous = {}
      for _, d in ipairs(row.dtypes) do
        if FLOAT[d] and not (REAL_ONLY[row[1]] and d == 'c128') then continuous[#continuous + 1] = d end
      end
      if #continuous > 0 then
        it('of ' .. row[1], function()
          local yes, why = rules.differentiable(row)
          if not yes then
            assert(why ~= 'no rule is written for it', row[1] .. ': no rule and no mark')
            return
          end
          for _, dtype in ipairs(continuous) do
            for k, domains in ipairs(DOMAIN[row[1]] or { { { 0.2, 0.9 }, { 0.2, 0.9 }, { 0.2, 0.9 } } }) do
              local inputs, without = {}, {}
              for i = 1, n do
                inputs[i] = operand(domains[i], dtype, 10 * k + i)
                without[i] = domains[i].whole ~= nil or rules.without(row, i) ~= nil
              end
              if row.family == 'where' then inputs[1] = mc.gt(gradient.uniform(SHAPE, 0, 1, 3), 0.5) end
              local what = row[1] .. ' ' .. dtype
              if yes == 'zero' then
                local g = mc.grad(function(x) return mc.sum(mc.real(f(x, unpack(inputs, 2)))) end)(inputs[1])
                assert(not mc.any(g), what .. ': the gradient is not zero')
              else
                gradient.check(what, f, inputs, { without = without })
                if k == 1 then narrow(row, f, inputs, without) end
              end
            end
          end
        end)
      end
    end
  end

  it('of loggamma refuse complex numbers with words', function()
    local ok, why =
      pcall(mc.grad(function(x) return mc.sum(mc.real(mc.special.loggamma(x))) end), mc.tensor { mc.complex(1, 2) })
    assert.is_false(ok)
    assert.truthy(why:find('special.loggamma: operand is c128[1]@cpu; its derivative, digamma, takes real tensors only',
      1, true), why)
  end)
end)
