-- transforms.lua - named functions, plain and compiled, with and without gradients: what a user would hand to
-- mc.compile.
--
-- Holds the functions, their shapes and inputs; the names are those of the peers' bench (`tr_<name>`, ours with _eager,
-- _compiled and _vm), so are the inputs: sin(i k) for the i-th element, scaled. A row also holds the time of the first
-- call and the peak of tensor memory.
local mc = require 'mascon'
local measure = require 'measure'

local function numel(shape)
  local n = 1
  for _, s in ipairs(shape) do n = n * s end
  return n
end

--- The same numbers in every language: sin(k i), i = 1, 2, ...
local function wave(shape, k, dtype)
  return mc.sin(mc.arange(1, numel(shape)):to 'f64' * k):reshape(shape):to(dtype or 'f32')
end

local function gelu(x) return x * 0.5 * (mc.erf(x * math.sqrt(0.5)) + 1) end
local function layernorm(x, w, b)
  local d = x - mc.mean(x, { 2, keepdim = true })
  return d * mc.rsqrt(mc.mean(d * d, { 2, keepdim = true }) + 1e-5) * w + b
end
local function black_scholes(s, k, t)
  local v, r = 0.3, 0.02
  local root = v * mc.sqrt(t)
  local d1 = (mc.log(s / k) + (r + 0.5 * v * v) * t) / root
  local function cdf(z) return 0.5 * (1 + mc.erf(z * math.sqrt(0.5))) end
  return s * cdf(d1) - k * mc.exp(-r * t) * cdf(d1 - root)
end
local function mixture(x, logw, mu, sd)
  local z = (x:expand_dims(-1) - mu) / sd
  return mc.sum(mc.logsumexp(logw - mc.log(sd) - 0.5 * z * z - 0.9189385332046727, 2))
end
local function nbody(p, v, m, dt)
  local d = p:expand_dims(1) - p:expand_dims(2) -- [n, n, 3]
  local r = mc.sum(d * d, 3) + 1e-2
  local a = mc.sum(d * (m * r ^ -1.5):expand_dims(-1), 2)
  local v2 = v + a * dt
  return p + v2 * dt, v2
end
local function chain(n)
  return function(x, y)
    local h = x
    for _ = 1, math.floor(n / 5) do
      h = h * y + x
      h = mc.tanh(h) - y * 0.5
      h = mc.maximum(h, x)
    end
    return h
  end
end
local function attention(q, k, v)
  return mc.softmax(q:matmul(k.mT) / math.sqrt(q.shape[4]), 4):matmul(v)
end

local function mlp(batch)
  local params = {
    { w = wave({ 784, 256 }, 0.7) / 28, b = mc.zeros({ 256 }, { dtype = 'f32' }) },
    { w = wave({ 256, 10 }, 0.3) / 16, b = mc.zeros({ 10 }, { dtype = 'f32' }) },
  }
  local opt = mc.optim.adamw { lr = 1e-3 }
  local x, y = wave({ batch, 784 }, 1.1), mc.remainder(mc.arange(1, batch, 1, { dtype = 'i64' }), 10) + 1
  local function loss(p, images, labels)
    local h = mc.maximum(images:matmul(p[1].w) + p[1].b, 0)
    local lp = mc.log_softmax(h:matmul(p[2].w) + p[2].b, 2)
    return -mc.mean(mc.take_along_axis(lp, labels:reshape(-1, 1), 2))
  end
  local both = mc.value_and_grad(loss)
  local function step(p, s, images, labels)
    local l, g = both(p, images, labels)
    local after, state = opt.update(p, g, s)
    return after, state, l
  end
  return step, { params, opt.init(params), x, y }, 3
end

local function of(f, ...)
  local args = { ... }
  return function() return f, args, 1 end
end
local function with_gradient(f, argnums)
  return mc.grad(function(...) return mc.sum(mc.square(f(...))) end, { argnums = argnums })
end

local M4, M16 = 4194304, 16777216
local CASES = {
  { 'chain5_16M_f32', 'f32', '16M', function() return chain(5), { wave({ M16 }, 0.1), wave({ M16 }, 0.2) }, 1 end },
  { 'chain10_4M_f32', 'f32', '4M', function() return chain(10), { wave({ M4 }, 0.1), wave({ M4 }, 0.2) }, 1 end },
  { 'chain30_4M_f32', 'f32', '4M', function() return chain(30), { wave({ M4 }, 0.1), wave({ M4 }, 0.2) }, 1 end },
  { 'chain10_4M_f64', 'f64', '4M',
    function() return chain(10), { wave({ M4 }, 0.1, 'f64'), wave({ M4 }, 0.2, 'f64') }, 1 end },
  { 'chain10_broadcast_f32', 'f32', '2048x2048',
    function() return chain(10), { wave({ 2048, 2048 }, 0.1), wave({ 1, 2048 }, 0.2) }, 1 end },
  { 'chain10_strided_f32', 'f32', '2048x2048 of 4096',
    function() return chain(10), { wave({ 2048, 4096 }, 0.1)[':, ::2'], wave({ 2048, 4096 }, 0.2)[':, ::2'] }, 1 end },
  { 'softmax_4096x1024', 'f32', '4096x1024',
    function() return function(x) return mc.softmax(x, 2) end, { wave({ 4096, 1024 }, 0.1) * 5 }, 1 end },
  { 'layernorm_4096x1024', 'f32', '4096x1024',
    function() return layernorm, { wave({ 4096, 1024 }, 0.1), wave({ 1024 }, 0.3), wave({ 1024 }, 0.5) }, 1 end },
  { 'layernorm_grad_4096x1024', 'f32', '4096x1024', function() return with_gradient(layernorm, { 1, 2, 3 }),
    { wave({ 4096, 1024 }, 0.1), wave({ 1024 }, 0.3), wave({ 1024 }, 0.5) }, 1 end },
  { 'gelu_1000x512', 'f32', '1000x512', function() return gelu, { wave({ 1000, 512 }, 0.1) * 3 }, 1 end },
  { 'gelu_2048x768', 'f32', '2048x768', function() return gelu, { wave({ 2048, 768 }, 0.1) * 3 }, 1 end },
  { 'gelu_4096x1024', 'f32', '4096x1024', function() return gelu, { wave({ 4096, 1024 }, 0.1) * 3 }, 1 end },
  { 'gelu_grad_4096x1024', 'f32', '4096x1024',
    function() return with_gradient(gelu), { wave({ 4096, 1024 }, 0.1) * 3 }, 1 end },
  { 'linear_gelu_1024', 'f32', '1024x768x3072', function() return function(x, w, b) return gelu(x:matmul(w) + b) end,
    { wave({ 1024, 768 }, 0.1), wave({ 768, 3072 }, 0.3) / 28, wave({ 3072 }, 0.5) }, 1 end },
  { 'attention_2x12x512x64', 'f32', '2x12x512x64', function() return attention,
    { wave({ 2, 12, 512, 64 }, 0.1), wave({ 2, 12, 512, 64 }, 0.2), wave({ 2, 12, 512, 64 }, 0.3) }, 1 end },
  { 'mixture_1M_8_f64', 'f64', '1M x 8', of(mixture, wave({ 1000000 }, 0.1, 'f64') * 3, wave({ 8 }, 1, 'f64') - 2,
    wave({ 8 }, 2, 'f64'), wave({ 8 }, 3, 'f64') * 0.3 + 0.6) },
  { 'nbody_1024_f32', 'f32', '1024',
    of(nbody, wave({ 1024, 3 }, 0.7), wave({ 1024, 3 }, 0.3), wave({ 1024 }, 0.1) * 0.4 + 0.5, 1e-3) },
  { 'black_scholes_4M_f32', 'f32', '4M', function() return black_scholes,
    { wave({ M4 }, 0.1) * 20 + 100, wave({ M4 }, 0.2) * 20 + 100, wave({ M4 }, 0.3) * 0.4 + 1 }, 1 end },
  { 'black_scholes_4M_f64', 'f64', '4M', function() return black_scholes, { wave({ M4 }, 0.1, 'f64') * 20 + 100,
    wave({ M4 }, 0.2, 'f64') * 20 + 100, wave({ M4 }, 0.3, 'f64') * 0.4 + 1 }, 1 end },
  { 'mlp_step_32', 'f32', '784-256-10, 32', function() return mlp(32) end },
  { 'mlp_step_1024', 'f32', '784-256-10, 1024', function() return mlp(1024) end },
  { 'call_16_f32', 'f32', '16',
    function() return function(a) return mc.tanh(a * 2 + 1) * a end, { wave({ 16 }, 0.1) }, 1 end },
}

--- A number for a tree of results, by which both sides are compared.
local function checksum(v)
  local total = 0
  for _, t in ipairs(mc.tree.leaves(v)) do total = total + mc.sum(mc.abs(t:to 'f64')):item() end
  return total
end

-- cases that also run in the vector machine alone: contiguous, broadcast and strided operands, short rows, reductions
local MACHINE = { chain10_4M_f32 = true, chain10_4M_f64 = true, chain10_broadcast_f32 = true,
  chain10_strided_f32 = true, layernorm_4096x1024 = true, gelu_2048x768 = true,
  nbody_1024_f32 = true, black_scholes_4M_f32 = true, mixture_1M_8_f64 = true }

--- how: 'eager', 'compiled' or 'vm'
local function case(name, dtype, shape, make, how)
  local compiled = how ~= 'eager'
  return {
    name = 'tr_' .. name .. '_' .. how, family = 'transform', op = name, dtype = dtype, shape = shape,
    interpreted = false,
    setup = function()
      local f, args, which = make()
      local n = table.maxn(args)
      local values = {}
      local g = f
      if compiled then
        g = mc.compile(f, { tier = how == 'vm' and 'vm' or nil })
        local t = measure.clock()
        g(unpack(args, 1, n))
        values.first_call = measure.clock() - t
        for _ = 1, 3 do g(unpack(args, 1, n)) end
        local stop = measure.clock() + 3
        -- until native code is swapped in, where there is some
        while how ~= 'vm' and measure.clock() < stop and not (g.native and g:native()) do g(unpack(args, 1, n)) end
      end
      values.sum = checksum((select(which, f(unpack(args, 1, n)))))
      return {
        values = values,
        run = function(k) for _ = 1, k do g(unpack(args, 1, n)) end end,
        check = function()
          local want, got = values.sum, checksum((select(which, g(unpack(args, 1, n)))))
          return math.abs(want - got) <= 1e-5 * math.max(1, math.abs(want)),
            ('checksum %.9g, plain %.9g'):format(got, want)
        end,
      }
    end,
  }
end

return function(bench)
  for _, c in ipairs(CASES) do
    for _, how in ipairs { 'eager', 'compiled', MACHINE[c[1]] and 'vm' } do
      bench.case(case(c[1], c[2], c[3], c[4], how))
    end
  end
end
