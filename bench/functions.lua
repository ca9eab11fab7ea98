-- functions.lua - the op table against NumPy, SciPy and PyTorch: one row per function, size and layout.
--
-- A row names its function, inputs and call; the peers' bench reads the same rows from a plan file and has a call under
-- the same key, so shapes and values stand once. Sizes: small (100 elements: the call is the cost), cache (10^4),
-- memory (4 * 10^6); layouts: contiguous and strided (every second element; matrices transposed). Functions that this
-- build lacks are left out of the plan. The limit beside a row is a copy of as many bytes as the function has to move,
-- a read of them, a direct cblas product of as many operations, or FFTW. Holds rows, inputs and the checksum by which
-- the results of both sides are compared.
local mc = require 'mascon'
local limits = require 'limits'
local measure = require 'measure'
local C = require('mascon.core.ffi').C
local M = {}

local SIZE = { small = 100, cache = 10000, memory = 4000000 }
local FAMILY = 'fn_'
local WARM = 0.02 -- seconds a case runs untimed: until the pool of memory holds the blocks that its results turn over

-- ---------------------------------------------------------------- inputs

-- squares of positions modulo a prime: the same numbers in every language, with no pattern that sorting could use
local PRIME = 16777213

--- Numbers in [low, high), a different sequence for every `seed`; whole ones when `int`.
local held, order = {}, {} -- the last few sequences: neighbouring rows share them
local HOLD = 4

local function values(shape, low, high, seed, int, dtype)
  local key = table.concat({ table.concat(shape, 'x'), low, high, seed, tostring(int), dtype }, ' ')
  if held[key] then return held[key] end
  local count = 1
  for _, s in ipairs(shape) do count = count * s end
  local i = mc.remainder(mc.arange(1, count):to 'f64' + 7919 * seed, PRIME)
  local x = low + (high - low) * (mc.remainder(i * i * 5 + i * 17, PRIME) / PRIME)
  if int then x = mc.floor(x) end
  x = x:reshape(shape):to(dtype)
  held[key], order[#order + 1] = x, key
  if #order > HOLD then held[table.remove(order, 1)] = nil end
  return x
end

local function input(spec, dtype, strided)
  local shape, kind = spec.shape, spec.kind
  local own = spec.dtype or dtype
  if own == 'c128' or own == 'c64' then
    return (values(shape, spec.low, spec.high, spec.seed, false, 'f64') + mc.complex(0, 1) * values(shape, spec.low,
      spec.high, spec.seed + 50, false, 'f64')):to(own)
  end
  if strided and #shape == 1 then
    return values({ 2 * shape[1] }, spec.low, spec.high, spec.seed, spec.int, own)['::2']
  end
  if strided then
    local turned = { unpack(shape) }
    turned[#shape], turned[#shape - 1] = shape[#shape - 1], shape[#shape]
    return values(turned, spec.low, spec.high, spec.seed, spec.int, own).mT
  end
  local x = values(shape, spec.low, spec.high, spec.seed, spec.int, own)
  if kind == 'spd' then -- symmetric, positive definite
    local n = shape[#shape]
    x = (x + x.mT) / 2 + n * mc.eye(n, { dtype = own })
  elseif kind == 'heavy' then -- far from singular
    local n = shape[#shape]
    x = x + n * mc.eye(n, { dtype = own })
  elseif kind == 'sorted' then
    x = mc.sort(x)
  end
  return x
end

-- ---------------------------------------------------------------- rows

local list, chosen -- rows of the chosen family, or of all

local function find(path)
  local at = mc
  for part in path:gmatch '[^.]+' do
    local ok, v = pcall(function() return at[part] end)
    if not ok or v == nil then return nil end
    at = v
  end
  return at
end

--- One row. inputs: specs with shape, low, high, ...; moved: arrays of the first input's size that have to go through
--- memory; call(f, x, y, z).
local function row(group, key, path, dtype, size, layout, inputs, limit, call)
  if chosen and chosen ~= FAMILY .. group then return end
  for k, i in ipairs(inputs) do
    i.low, i.high, i.seed = i.low or 0.1, i.high or 5, i.seed or k
  end
  list[#list + 1] = { name = ('%s%s_%s_%s%s'):format(FAMILY, key, dtype, size,
    layout == 'strided' and '_strided' or ''), family = FAMILY .. group, key = key, path = path, dtype = dtype,
    size = size, layout = layout, inputs = inputs, limit = limit, call = call,
    positions = group == 'order' and (key == 'argsort' or key == 'searchsorted') or key == 'argmax' }
end

local FORMS = { { 'small', 'contiguous', 'f64' }, { 'cache', 'contiguous', 'f64' }, { 'cache', 'strided', 'f64' },
  { 'cache', 'contiguous', 'f32' }, { 'memory', 'contiguous', 'f64' } }

--- A function of vectors in all forms. spec: low, high, count of operands, moved arrays, call, forms.
local function vectors(group, key, spec)
  spec = spec or {}
  for _, f in ipairs(spec.forms or FORMS) do
    local inputs = {}
    for k = 1, spec.operands or 1 do
      inputs[k] = { shape = { SIZE[f[1]] }, low = spec.low, high = spec.high,
        dtype = spec.dtypes and spec.dtypes[k], int = spec.int }
    end
    row(group, key, spec.path or key, f[3], f[1], f[2], inputs,
      { spec.limit or 'copy', spec.moved or (spec.operands or 1) + 1 }, spec.call)
  end
end

--- The rows of one family, or of all: a collection of Lua's garbage walks what is held, so no more than needed is.
local function declare(family)
  list, chosen = {}, family
  local function unary(names, low, high)
    for name in names:gmatch '%S+' do vectors('unary', name, { low = low, high = high }) end
  end
  unary('exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh asinh atan erf erfc square abs negative floor '
    .. 'round sign isnan isfinite logistic reciprocal lgamma digamma')
  unary('asin acos atanh', -0.99, 0.99)
  unary('acosh', 1, 5)
  unary('erfinv', -0.99, 0.99)
  for _, k in ipairs { 'special.gamma', 'special.j0', 'special.i0', 'special.expi', 'special.ellipk',
    'special.ellipe' } do
    vectors('unary', (k:gsub('.*%.', '')),
      { path = k, low = 0.1, high = 0.9, forms = { FORMS[1], FORMS[2], FORMS[5] } })
  end

  for name in ('add multiply divide pow maximum atan2 hypot fmod lt logaddexp'):gmatch '%S+' do
    vectors('binary', name, { operands = 2 })
  end
  vectors('binary', 'clip', { call = function(f, x) return f(x, 1, 3) end })
  vectors('binary', 'where', { operands = 2, call = function(f, x, y) return f(mc.gt(x, y), x, y) end })
  vectors('binary', 'gammainc', { operands = 2, forms = { FORMS[1], FORMS[2], FORMS[5] } })
  vectors('binary', 'stdtrit', { path = 'special.stdtrit', low = 0.01, high = 0.99, forms = { FORMS[1], FORMS[2] },
    call = function(f, x) return f(5, x) end })
  vectors('binary', 'add_scalar', { path = 'add', call = function(f, x) return f(x, 1.5) end })

  for name in ('sum mean max argmax var std prod'):gmatch '%S+' do
    vectors('reduce', name,
      { limit = 'read', moved = 1, low = name == 'prod' and 0.99 or nil, high = name == 'prod' and 1.01 or nil })
  end
  for name in ('nansum logsumexp count_nonzero any'):gmatch '%S+' do
    vectors('reduce', name, { limit = 'read', moved = 1, forms = { FORMS[1], FORMS[2], FORMS[3], FORMS[5] } })
  end
  for name in ('cumsum cumprod cummax'):gmatch '%S+' do
    vectors('reduce', name, { low = 0.99, high = 1.01, call = function(f, x) return f(x, 1) end })
  end
  for _, axis in ipairs { 1, 2 } do
    for _, s in ipairs { { 'cache', 100, 100 }, { 'memory', 2500, 2000 } } do
      for _, l in ipairs { 'contiguous', 'strided' } do
        row('reduce', 'sum_axis' .. axis, 'sum', 'f64', s[1], l, { { shape = { s[2], s[3] } } }, { 'read', 1 },
          function(f, x) return f(x, axis) end)
        row('reduce', 'max_axis' .. axis, 'max', 'f64', s[1], l, { { shape = { s[2], s[3] } } }, { 'read', 1 },
          function(f, x) return f(x, axis) end)
      end
    end
  end
  for name in ('softmax log_softmax'):gmatch '%S+' do
    for _, s in ipairs { { 'small', 1, 100 }, { 'cache', 100, 100 }, { 'memory', 2500, 2000 } } do
      row('reduce', name, name, 'f64', s[1], 'contiguous', { { shape = { s[2], s[3] } } }, { 'copy', 2 },
        function(f, x) return f(x, 2) end)
      row('reduce', name, name, 'f32', s[1], 'contiguous', { { shape = { s[2], s[3] } } }, { 'copy', 2 },
        function(f, x) return f(x, 2) end)
    end
  end

  local ORDER = { { 'small', 'contiguous', 'f64' }, { 'cache', 'contiguous', 'f64' }, { 'cache', 'strided', 'f64' },
    { 'memory', 'contiguous', 'f64' } }
  for name in ('sort argsort median'):gmatch '%S+' do vectors('order', name, { forms = ORDER }) end
  vectors('order', 'quantile', { forms = ORDER, call = function(f, x) return f(x, 0.9) end })
  vectors('order', 'topk', { forms = ORDER, call = function(f, x) return (f(x, 10)) end })
  vectors('order', 'unique', { path = 'unique_values', forms = ORDER, low = 0, high = 1000, int = true })
  vectors('order', 'bincount', { forms = ORDER, low = 0, high = 1000, int = true, dtypes = { 'i64' } })
  vectors('order', 'isin',
    { forms = { ORDER[1], ORDER[2] }, operands = 2, low = 0, high = 1000, int = true, dtypes = { 'i64', 'i64' } })
  for _, s in ipairs { 'small', 'cache', 'memory' } do
    row('order', 'searchsorted', 'searchsorted', 'f64', s, 'contiguous',
      { { shape = { 1000 }, kind = 'sorted' }, { shape = { SIZE[s] } } }, { 'copy', 2 })
  end

  vectors('move', 'copy', { call = function(_, x) return x:copy() end, path = 'add' })
  vectors('move', 'flip', { forms = ORDER, call = function(_, x) return x['::-1']:copy() end, path = 'add' })
  vectors('move', 'roll', { forms = ORDER, call = function(f, x) return f(x, 37) end })
  vectors('move', 'concat', { forms = ORDER, operands = 2, call = function(f, x, y) return f { x, y } end })
  vectors('move', 'stack', { forms = ORDER, operands = 2, call = function(f, x, y) return f { x, y } end })
  vectors('move', 'mask', { forms = ORDER, operands = 1, path = 'gt', call = function(f, x) return x[f(x, 2.5)] end })
  vectors('move', 'diff', { forms = ORDER })
  vectors('move', 'astype', { forms = ORDER, path = 'add', call = function(_, x) return x:to 'f32' end })
  vectors('move', 'repeat_each', { forms = { ORDER[1], ORDER[2], ORDER[4] }, call = function(f, x) return f(x, 3) end })
  vectors('move', 'tile', { forms = { ORDER[1], ORDER[2], ORDER[4] }, call = function(f, x) return f(x, { 3 }) end })
  vectors('move', 'pad',
    { forms = { ORDER[1], ORDER[2], ORDER[4] }, call = function(f, x) return f(x, { { 3, 3 } }) end })
  for _, s in ipairs { 'small', 'cache', 'memory' } do
    row('move', 'take', 'take', 'f64', s, 'contiguous', { { shape = { SIZE[s] } }, { shape = { SIZE[s] }, low = 1,
      high = SIZE[s], int = true, dtype = 'i64' } }, { 'copy', 3 }, function(f, x, i) return f(x, i, { axis = 1 }) end)
  end
  for _, s in ipairs { { 'small', 10, 10 }, { 'cache', 100, 100 }, { 'memory', 2500, 2000 } } do
    row('move', 'transpose', 'add', 'f64', s[1], 'contiguous', { { shape = { s[2], s[3] } } }, { 'copy', 2 },
      function(_, x) return x.T:copy() end)
    row('move', 'tril', 'tril', 'f64', s[1], 'contiguous', { { shape = { s[2], s[3] } } }, { 'copy', 2 })
  end

  local function matrices(key, path, spec)
    for _, s in ipairs { { 'small', spec.small or 8 }, { 'cache', spec.cache or 64 },
      { 'memory', spec.memory or 384 } } do
      local n = s[2]
      for _, dtype in ipairs(spec.dtypes or { 'f64' }) do
        local inputs = { { shape = { n, n }, kind = spec.kind, low = -1, high = 1 } }
        if spec.two then inputs[2] = { shape = { n, spec.two == 'vector' and 1 or n }, low = -1, high = 1 } end
        row('linalg', key, path, dtype, s[1], 'contiguous', inputs, { 'gemm', spec.flops * n ^ 3 }, spec.call)
        if spec.strided and s[1] ~= 'small' then
          row('linalg', key, path, dtype, s[1], 'strided', inputs, { 'gemm', spec.flops * n ^ 3 }, spec.call)
        end
      end
    end
  end
  matrices('matmul', 'matmul', { two = true, flops = 2, dtypes = { 'f64', 'f32' }, strided = true, memory = 1000 })
  matrices('solve', 'linalg.solve', { kind = 'heavy', two = 'vector', flops = 2 / 3 })
  matrices('inv', 'linalg.inv', { kind = 'heavy', flops = 2 })
  matrices('det', 'linalg.det', { kind = 'heavy', flops = 2 / 3, call = function(f, x) return f(x / x.shape[1]) end })
  matrices('cholesky', 'linalg.cholesky', { kind = 'spd', flops = 1 / 3 })
  matrices('qr', 'linalg.qr', { kind = 'heavy', flops = 8 / 3, call = function(f, x)
    local q, r = f(x)
    return r or q.R
  end })
  matrices('svdvals', 'linalg.svdvals', { flops = 8 / 3, memory = 256 })
  matrices('svd', 'linalg.svd', { flops = 20, memory = 256, call = function(f, x) return f(x).S end })
  matrices('eigh', 'linalg.eigh', { kind = 'spd', flops = 9, memory = 256, call = function(f, x)
    local w = f(x)
    return type(w) == 'table' and (w.eigenvalues or w.w or w[1]) or w
  end })
  matrices('expm', 'linalg.expm', { flops = 20, memory = 128 })
  matrices('kron', 'kron', { two = true, flops = 0.1, small = 4, cache = 10, memory = 45 })
  for _, s in ipairs { { 'small', 10 }, { 'cache', 100 }, { 'memory', 3000 } } do
    local n = s[2]
    row('linalg', 'outer', 'outer', 'f64', s[1], 'contiguous', { { shape = { n } }, { shape = { n } } }, { 'copy', n })
    row('linalg', 'vecdot', 'vecdot', 'f64', s[1], 'contiguous',
      { { shape = { n * n } }, { shape = { n * n } } }, { 'read', 2 })
    row('linalg', 'matvec', 'matmul', 'f64', s[1], 'contiguous',
      { { shape = { n, n } }, { shape = { n } } }, { 'read', 1 })
    row('linalg', 'einsum', 'einsum', 'f64', s[1], 'contiguous', { { shape = { 4, math.min(n, 300), 20 } },
      { shape = { 4, 20, math.min(n, 300) } } }, { 'gemm', 2 * 80 * math.min(n, 300) ^ 2 },
      function(f, x, y) return f('bij,bjk->bik', x, y) end)
  end
  for _, s in ipairs { { 'small', 30 }, { 'cache', 3000 }, { 'memory', 300000 } } do
    row('linalg', 'cross', 'cross', 'f64', s[1], 'contiguous',
      { { shape = { s[2], 3 } }, { shape = { s[2], 3 } } }, { 'copy', 3 })
  end
  for _, s in ipairs { { 'cache', 64, 4 }, { 'memory', 20000, 4 } } do
    row('linalg', 'solve_batched', 'linalg.solve', 'f64', s[1], 'contiguous', { { shape = { s[2], s[3], s[3] },
      kind = 'heavy', low = -1, high = 1 }, { shape = { s[2], s[3], 1 }, low = -1, high = 1 } },
      { 'gemm', 2 / 3 * s[3] ^ 3 * s[2] })
    row('linalg', 'matmul_batched', 'matmul', 'f64', s[1], 'contiguous',
      { { shape = { s[2], s[3], s[3] } }, { shape = { s[2], s[3], s[3] } } }, { 'gemm', 2 * s[3] ^ 3 * s[2] })
  end

  for _, s in ipairs { { 'small', 1, 100 }, { 'cache', 8, 1024 }, { 'memory', 1024, 2048 } } do
    local flops = 5 * s[2] * s[3] * math.log(s[3]) / math.log(2)
    row('fft', 'fft', 'fft.fft', 'c128', s[1], 'contiguous',
      { { shape = { s[2], s[3] }, low = -1, high = 1 } }, { 'fft', flops })
    row('fft', 'ifft', 'fft.ifft', 'c128', s[1], 'contiguous',
      { { shape = { s[2], s[3] }, low = -1, high = 1 } }, { 'fft', flops })
    for _, l in ipairs { 'contiguous', 'strided' } do
      row('fft', 'rfft', 'fft.rfft', 'f64', s[1], l, { { shape = { s[2], s[3] }, low = -1, high = 1 } },
        { 'fft', flops / 2 })
    end
    row('fft', 'rfft', 'fft.rfft', 'f32', s[1], 'contiguous', { { shape = { s[2], s[3] }, low = -1, high = 1 } },
      { 'fft', flops / 2 })
    row('fft', 'fft2', 'fft.fftn', 'c128', s[1], 'contiguous', { { shape = { s[2], s[3] }, low = -1, high = 1 } },
      { 'fft', 2 * flops })
    row('fft', 'dct', 'fft.dct', 'f64', s[1], 'contiguous', { { shape = { s[2], s[3] }, low = -1, high = 1 } },
      { 'fft', flops / 2 })
  end

  for _, s in ipairs { 'small', 'cache', 'memory' } do
    local n = SIZE[s]
    local function drawn(key, path, f)
      row('random', key, path, 'f64', s, 'contiguous', { { shape = { 1 } } }, { 'fill', n }, f)
    end
    drawn('uniform', 'rand', function(f) return f { n } end)
    drawn('normal', 'randn', function(f) return f { n } end)
    drawn('integers', 'randint', function(f) return f(1, 1000, { n }) end)
    drawn('exponential', 'random.exponential', function(f) return f { n } end)
    drawn('permutation', 'randperm', function(f) return f(n) end)
  end

  vectors('calculus', 'trapezoid', { forms = ORDER, limit = 'read', moved = 1 })
  vectors('calculus', 'gradient', { forms = ORDER })
  vectors('calculus', 'unwrap', { forms = ORDER, low = -3, high = 3 })
  for _, s in ipairs { 'small', 'cache', 'memory' } do
    row('calculus', 'interp', 'interp', 'f64', s, 'contiguous', { { shape = { SIZE[s] }, low = 0, high = 1 },
      { shape = { 1000 }, kind = 'sorted', low = 0, high = 1 }, { shape = { 1000 } } }, { 'copy', 2 })
    row('calculus', 'polyval', 'polyval', 'f64', s, 'contiguous',
      { { shape = { 6 } }, { shape = { SIZE[s] }, low = -1, high = 1 } }, { 'copy', 2 })
  end
  for _, s in ipairs { { 'small', 100 }, { 'cache', 10000 }, { 'memory', 1000000 } } do
    row('calculus', 'lfilter', 'signal.lfilter', 'f64', s[1], 'contiguous',
      { { shape = { s[2] }, low = -1, high = 1 } }, { 'copy', 2 },
      function(f, x) return f({ 0.2, 0.3, 0.2 }, { 1, -0.4, 0.2 }, x) end)
    row('calculus', 'convolve', 'signal.convolve', 'f64', s[1], 'contiguous',
      { { shape = { s[2] }, low = -1, high = 1 }, { shape = { 64 }, low = -1, high = 1 } }, { 'copy', 2 })
  end
  return list
end

-- ---------------------------------------------------------------- running

--- The first tensor of a result, as one number that a peer can compute too: the sum of absolute values, rounded by the
--- reader.
local function checksum(r)
  if type(r) == 'number' then return math.abs(r) end
  if type(r) == 'boolean' then return r and 1 or 0 end
  if r.dtype == 'f32' then
    r = r:to 'f64'
  elseif r.dtype == 'c64' then
    r = r:to 'c128'
  elseif r.dtype ~= 'f64' and r.dtype ~= 'c128' then
    r = r:to 'f64'
  end
  return mc.abs(r):sum():item()
end

local function bytes_of(r, x)
  local size = ({ f32 = 4, c128 = 16 })[r.dtype] or 8
  return x:numel() * size
end

--- The machine's own way of moving or computing as much as the row does, or nil.
local function limit_of(r, threads, x, y)
  local kind, amount = r.limit[1], r.limit[2]
  local alone = r.size == 'memory' and threads or 1
  -- streams want aligned memory, which tensors of up to 1 KiB do not have
  local function floats(n) return mc.zeros({ math.max(512, math.ceil(n / 16) * 16) }, { dtype = 'f32' }) end
  if kind == 'copy' or kind == 'fill' then -- a copy moves two arrays
    local n = (kind == 'fill' and amount * 8 or bytes_of(r, x) * amount) / 4 / 2
    return limits.copy(alone, floats(n), floats(n)), 'copy'
  elseif kind == 'read' then
    return limits.read(alone, floats(bytes_of(r, x) * amount / 4)), 'read'
  elseif kind == 'gemm' then -- as many operations in one square product
    local n = math.max(4, math.floor((amount / 2) ^ (1 / 3) + 0.5))
    local m = function() return mc.ones({ n, n }, { dtype = r.dtype == 'f32' and 'f32' or 'f64' }) end
    return limits.gemm(1, m(), m(), m()), 'cblas on one thread'
  end
  if (r.key == 'fft' and r.dtype == 'c128') or (r.key == 'rfft' and r.dtype == 'f32' and y == nil) then
    local rows, n = x.shape[1], x.shape[2]
    local width = r.key == 'fft' and n or math.ceil((n / 2 + 1) / 8) * 8
    local run, drop = limits.fft(alone, mc.zeros({ rows, width }, { dtype = r.dtype == 'f32' and 'c64' or 'c128' }), x)
    return run, 'FFTW', drop
  end
  local n = amount / 5 / 10 * 4 -- other transforms: a copy of their data
  return limits.copy(alone, floats(n), floats(n)), 'copy'
end

local function case(r)
  return { name = r.name, family = r.family, op = r.key, dtype = r.dtype, shape = r.size, least = 0.03, samples = 5,
    warm = WARM, setup = function(threads)
      local f, inputs, result = find(r.path), {}, nil
      for k, spec in ipairs(r.inputs) do inputs[k] = input(spec, r.dtype, r.layout == 'strided') end
      local x, y, z = inputs[1], inputs[2], inputs[3]
      local call = r.call
      local function once()
        if call then return (call(f, x, y, z)) end
        if z then return (f(x, y, z)) end
        if y then return (f(x, y)) end
        return (f(x))
      end
      local function run(n) for _ = 1, n do result = once() end end
      local limit, name, drop = limit_of(r, threads, x, y)
      --- Seconds of a call whose result is given back at once, as those of the peers are: the rest is the wait for the
      --- collector. Not by x:release(), which also notes the line.
      local function freed()
        if type(result) ~= 'cdata' then return nil end
        local best = math.huge
        for _ = 1, 5 do
          local n, t = 0, measure.clock()
          repeat
            C.mc_drop(once())
            n = n + 1
          until measure.clock() - t > 2e-3
          best = math.min(best, (measure.clock() - t) / n)
        end
        return best
      end
      local kit = { run = run, limit = limit, limit_name = name, close = drop,
        values = { size = r.size, layout = r.layout } }
      function kit.check()
        -- theirs count from 0
        if r.family ~= FAMILY .. 'random' then
          kit.values.sum = checksum(result) - (r.positions and result:numel() or 0)
        end
        kit.values.freed_seconds = freed()
        return true
      end
      return kit
    end }
end

--- What the peers are to run: one row per line of a JSON file.
function M.plan()
  local out = {}
  for _, r in ipairs(declare()) do
    if find(r.path) then
      out[#out + 1] = { name = r.name, family = r.family, key = r.key, dtype = r.dtype, size = r.size,
        layout = r.layout, inputs = r.inputs, count = r.limit[1] == 'fill' and r.limit[2] or nil }
    end
  end
  return out
end

--- Families of the rows, in order.
function M.families()
  local names, seen = {}, {}
  for _, r in ipairs(declare()) do
    if not seen[r.family] then names[#names + 1] = r.family end
    seen[r.family] = true
  end
  list = nil
  return names
end

return setmetatable(M, { __call = function(_, bench, family)
  for _, r in ipairs(declare(family)) do if find(r.path) then bench.case(case(r)) end end
end })
