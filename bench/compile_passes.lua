-- compile_passes.lua - what the passes of mc.compile do to named examples: steps, memory, time, with and without them.
--
-- usage: mascon bench/compile_passes.lua [--save]     prints the table; --save keeps it for the page
-- (stored/compile_passes.md) Three columns of time: plain Lua, the log replayed with every pass switched off, and all
-- passes. The vector machine is used throughout, so that the difference is the passes' own. A last column has the
-- compiled code on top. Holds the examples.
local folder = arg[0]:match '^(.*)/[^/]*$' or '.'
package.path = folder .. '/?.lua;' .. package.path
local mc = require 'mascon'
local file = require 'mascon.base.file'
local measure = require 'measure'
local size = require 'mascon.base.text'.bytes

local PASSES = { 'algebra', 'anew', 'copies', 'cse', 'dce', 'epilogue', 'fold', 'fuse', 'inplace', 'prologue', 'rows',
  'split' }
local LEAST = 0.2 -- seconds each column is timed for
local OFF = {}
for _, name in ipairs(PASSES) do OFF[name] = false end

local function draw(shape, seed)
  shape.seed, shape.dtype = seed, 'f32'
  return mc.randn(shape)
end

-- ---------------------------------------------------------------- examples

local function mlp(x, w1, b1, w2, b2)
  local h = x:matmul(w1) + b1
  h = 0.5 * h * (1 + mc.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))
  return mc.softmax(h:matmul(w2) + b2, -1)
end

local function attention(q, k, v)
  local s = q:matmul(k.mT) / 8
  local e = mc.exp(s - s:max { -1, keepdim = true })
  return (e / e:sum { -1, keepdim = true }):matmul(v)
end

local function black_scholes(s, k, t)
  local root = 0.3 * mc.sqrt(t)
  local d1 = (mc.log(s / k) + 0.065 * t) / root
  local d2 = (mc.log(s / k) + 0.065 * t) / root - root
  local discount = k * mc.exp(-0.02 * t)
  local call = s * 0.5 * (1 + mc.erf(d1 / math.sqrt(2))) - discount * 0.5 * (1 + mc.erf(d2 / math.sqrt(2)))
  return call, call - s + discount -- the put by parity
end

local function nbody(p, v, m)
  local d = p:reshape(1, -1, 3) - p:reshape(-1, 1, 3)
  local r2 = (d * d):sum(3) + 1e-3
  local a = (d * (m / (r2 * mc.sqrt(r2))):reshape(p.shape[1], -1, 1)):sum(2)
  local w = v + 0.01 * a
  return p + 0.01 * w, w
end

local function mixture(x, mu, sigma, weight)
  local z = (x:reshape(-1, 1) - mu) / sigma
  return mc.logsumexp(mc.log(weight) - mc.log(sigma) - 0.5 * z * z - 0.918938533, -1):mean()
end

local function layer_norm(x, w, b)
  local c = x - x:mean { -1, keepdim = true }
  return c / mc.sqrt(mc.square(c):mean { -1, keepdim = true } + 1e-5) * w + b
end

local EXAMPLES = {
  { 'MLP forward, 1024 x 256, 512 hidden, 10 classes', mlp,
    { draw({ 1024, 256 }, 1), draw({ 256, 512 }, 2), draw({ 512 }, 3), draw({ 512, 10 }, 4), draw({ 10 }, 5) } },
  { 'softmax attention by hand, 8 heads, 256 x 64', attention,
    { draw({ 8, 256, 64 }, 1), draw({ 8, 256, 64 }, 2), draw({ 8, 256, 64 }, 3) } },
  { 'layer norm, 4096 x 768', layer_norm, { draw({ 4096, 768 }, 1), draw({ 768 }, 2), draw({ 768 }, 3) } },
  { 'Black-Scholes, 10^6 options', black_scholes,
    { mc.exp(draw({ 1000000 }, 1)), mc.exp(draw({ 1000000 }, 2)), mc.exp(draw({ 1000000 }, 3)) } },
  { 'N-body step, 512 bodies', nbody, { draw({ 512, 3 }, 1), draw({ 512, 3 }, 2), mc.exp(draw({ 512 }, 3)) } },
  { 'Gaussian mixture log-likelihood, 10^5 points, 16 parts', mixture,
    { draw({ 100000 }, 1), draw({ 16 }, 2), mc.exp(draw({ 16 }, 3)), mc.softmax(draw({ 16 }, 4), -1) } },
}

-- ---------------------------------------------------------------- the table

local function time(f, args)
  local function run(n)
    for _ = 1, n do f(unpack(args)) end
  end
  return measure.pairs_of(run, nil, LEAST).median
end

local function compiled(f, args, opts)
  local g = mc.compile(f, opts)
  g(unpack(args))
  g(unpack(args))
  g:wait()
  g(unpack(args))
  return g
end

local lines = {
  '| example | ops recorded | steps | arena without / with | plain | replayed, no pass | all passes | and compiled |',
  '|---|---|---|---|---|---|---|---|',
}
for _, e in ipairs(EXAMPLES) do
  local name, f, args = e[1], e[2], e[3]
  local without, with, native = compiled(f, args, { passes = OFF, tier = 'vm' }), compiled(f, args, { tier = 'vm' }),
    compiled(f, args, { tier = 'native' })
  local a, b, c = { f(unpack(args)) }, { with(unpack(args)) }, { native(unpack(args)) }
  for i in ipairs(a) do
    assert(mc.array_equal(a[i], b[i]) and mc.array_equal(a[i], c[i]), name .. ': the results differ')
  end
  local r, s = without:explain(), with:explain()
  local plain, none, all, best = time(f, args), time(without, args), time(with, args), time(native, args)
  lines[#lines + 1] = ('| %s | %d | %d | %s / %s | %s | %s | %s, %.1fx | %s, %.1fx |'):format(name, s.nodes, s.steps,
    size(r.memory.arena), size(s.memory.arena), measure.time(plain), measure.time(none),
    measure.time(all), plain / all, measure.time(best), plain / best)
end
local text = table.concat(lines, '\n')
print(text)
if arg[1] == '--save' then
  local ok, why = file.write(folder .. '/stored/compile_passes.md',
    ('f32, %d threads, %s; ratios to plain Lua. Results are the same bits in all columns.\n\n%s\n'):format(
      mc.get_num_threads(), mc.info().processor, text))
  if not ok then error(why, 0) end
end
