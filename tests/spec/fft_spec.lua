-- fft_spec.lua - both engines of mc.fft against the definition, shapes and norms, wisdom, helpers.
--
-- The naive sum is the oracle for every length up to 64 and for awkward long ones; golden answers stand in
-- ops_golden_spec.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local ref, sample, tol = support.load 'reference', support.load 'sample', support.load 'tol'
local read = sample.read

local function engine(name, f)
  mc.fft.config(name)
  local ok, e = xpcall(f, debug.traceback)
  mc.fft.config 'auto'
  if not ok then error(e, 0) end
end

local has_fftw = pcall(mc.fft.config, 'fftw')
mc.fft.config 'auto'
local ENGINES = has_fftw and { 'mascon', 'fftw' } or { 'mascon' }

local function size(list)
  local s = 0
  for i = 1, #list do s = s + list[i].re ^ 2 + list[i].im ^ 2 end
  return math.sqrt(s)
end

local function compare(y, want, n, scale, what)
  local got = read(y)
  for i = 1, #got do
    local w = want[i]
    local wrong =
      tol.compare('FFT', y.dtype, got[i], type(got[i]) == 'number' and w.re or w, { n = n + 1, scale = scale })
    if wrong then error(('%s n=%d, element %d: %s'):format(what, n, i, wrong), 0) end
  end
end

-- all four kinds of one length against the naive sum
local function all_kinds(n, dtypes)
  for _, dtype in ipairs(dtypes) do
    local real = dtype == 'c64' and 'f32' or 'f64'
    local x = sample.from({ n }, dtype, sample.values(dtype, n, n, 'plain'))
    local list = read(x)
    local norm = size(list)
    local forward = ref.dft(list, -1)
    compare(mc.fft.fft(x), forward, n, norm, 'fft ' .. dtype)
    local back = ref.dft(list, 1)
    for i = 1, n do back[i] = { re = back[i].re / n, im = back[i].im / n } end
    compare(mc.fft.ifft(x), back, n, norm / math.sqrt(n), 'ifft ' .. dtype)
    local r = sample.from({ n }, real, sample.values(real, n, n + 1, 'plain'))
    local line = read(r)
    for i = 1, n do line[i] = { re = line[i], im = 0 } end
    local full = ref.dft(line, -1)
    compare(mc.fft.rfft(r), full, n, size(line), 'rfft ' .. real)
    compare(mc.fft.irfft(mc.fft.rfft(r), { n = n }), line, n, size(line) * 2, 'irfft ' .. real)
  end
end

for _, name in ipairs(ENGINES) do
  describe('engine ' .. name, function()
    it('transforms every length from 1 to 64', function()
      engine(name, function() for n = 1, support.gc and 9 or 64 do all_kinds(n, { 'c64', 'c128' }) end end)
    end)

    it('transforms primes, products of 3 and 5, and long powers of two', function()
      engine(name, function()
        for _, n in ipairs(support.gc and { 67 } or { 67, 97, 127, 211, 257, 509, 625, 729, 1024 }) do
          all_kinds(n, { 'c128' })
        end
        for _, n in ipairs(support.gc and {} or { 2048, 3456 }) do all_kinds(n, { 'c64' }) end
      end)
    end)

    it('names itself', function() engine(name, function() assert.matches(name, mc.fft.engine()) end) end)
  end)
end

describe('the two engines', function()
  it('agree on long and awkward lengths, in both precisions and all directions', function()
    if not has_fftw then
      pending('FFTW is missing')
      return
    end
    for _, n in ipairs { 1, 2, 3, 5625, 3456, 4096, 4099, 6000, 10007, 65536 } do
      for _, dtype in ipairs { 'c64', 'c128' } do
        local x = sample.from({ n }, dtype, sample.values(dtype, n, n, 'plain'))
        local norm = math.sqrt(mc.square(mc.abs(x:to 'c128')):sum():item())
        local a, b, c, d
        engine('fftw', function() a, c = mc.fft.fft(x), mc.fft.irfft(x, { n = n }) end)
        engine('mascon', function() b, d = mc.fft.fft(x), mc.fft.irfft(x, { n = n }) end)
        compare(b, read(a), n, norm, 'fft ' .. dtype)
        local want = read(c)
        for i = 1, n do want[i] = { re = want[i], im = 0 } end
        compare(d, want, n, 2 * norm / math.sqrt(n), 'irfft ' .. dtype)
      end
    end
  end)

  it('are chosen by name; another name is an error that lists them', function()
    assert.matches("fft_spec%.lua:%d+: fft engine: 'fftx' is unknown; choose auto, fftw or mascon",
      support.message(function() mc.fft.config 'fftx' end))
  end)
end)

describe('shapes', function()
  it('crop and fill with zeros for n', function()
    local x = mc.tensor { 1, 2, 3, 4, 5 }
    assert.is_true(mc.allclose(mc.fft.fft(x, { n = 3 }), mc.fft.fft(mc.tensor { 1, 2, 3 })))
    assert.is_true(mc.allclose(mc.fft.fft(x, 8), mc.fft.fft(mc.tensor { 1, 2, 3, 4, 5, 0, 0, 0 })))
    assert.equal('3', table.concat(mc.fft.rfft(x, { n = 4 }).shape, ','))
    assert.equal('8', table.concat(mc.fft.irfft(x).shape, ','))
    assert.equal('9', table.concat(mc.fft.irfft(x, { n = 9 }).shape, ','))
  end)

  it('take any axis and layout', function()
    local x = mc.randn({ 4, 6, 5 }, { seed = 1 })
    for axis = 1, 3 do
      local p = { 1, 2, 3 }
      p[axis], p[3] = 3, axis
      local want = mc.fft.fft(x:permute_dims(p):copy()):permute_dims(p)
      assert.is_true(mc.array_equal(want, mc.fft.fft(x, { axis = axis })))
      assert.is_true(mc.array_equal(want, mc.fft.fft(x, { axis = axis - 4 })))
    end
    assert.is_true(mc.array_equal(mc.fft.fft(x[{ { -1, 1, -2 } }]), mc.fft.fft(x[{ { -1, 1, -2 } }]:copy())))
  end)

  it('keep empty batches empty', function()
    assert.equal('0,3', table.concat(mc.fft.rfft(mc.zeros { 0, 4 }).shape, ','))
    assert.equal('0,4', table.concat(mc.fft.fft(mc.zeros { 0, 4 }).shape, ','))
  end)

  it('promote integers and single precision', function()
    assert.equal('c128', mc.fft.fft(mc.tensor({ 1, 2 }, { dtype = 'i32' })).dtype)
    assert.equal('c64', mc.fft.rfft(mc.tensor({ 1, 2 }, { dtype = 'f32' })).dtype)
    assert.equal('f32', mc.fft.irfft(mc.tensor({ 1, 2 }, { dtype = 'c64' })).dtype)
  end)

  it('write into out=, strided and in place', function()
    local x = mc.fft.fft(mc.randn({ 3, 8 }, { seed = 2 }))
    local want = mc.fft.fft(x)
    local base = mc.zeros({ 3, 16 }, { dtype = 'c128' })
    local out = base[{ mc.all, { 2, 16, 2 } }]
    mc.fft.fft(x, { out = out })
    assert.is_true(mc.array_equal(out, want))
    mc.fft.fft(x, { out = x })
    assert.is_true(mc.array_equal(x, want))
  end)

  it('over several axes go one by one', function()
    local x = mc.randn({ 3, 4, 5 }, { seed = 3 })
    assert.is_true(mc.allclose(mc.fft.fftn(x), mc.fft.fft(mc.fft.fft(mc.fft.fft(x), { axis = 2 }), { axis = 1 })))
    assert.is_true(mc.allclose(mc.fft.ifftn(mc.fft.fftn(x)), x:to 'c128'))
    for _, v in ipairs { mc.randn({ 1, 12 }, { seed = 3 }), mc.randn({ 12, 1 }, { seed = 3 }), mc.ones { 1, 1 },
      mc.ones({ 1, 3 }, { dtype = 'i32' }), mc.ones({ 1, 1 }, { dtype = 'f32' }) } do
      -- axes of size 1
      for _, norm in ipairs { 'backward', 'ortho', 'forward' } do
        local want = mc.fft.fft(mc.fft.fft(v, { norm = norm }), { axis = 1, norm = norm })
        assert.equal(want.dtype, mc.fft.fftn(v, { norm = norm }).dtype)
        assert.is_true(mc.array_equal(want, mc.fft.fftn(v, { norm = norm })))
      end
    end
    assert.is_true(mc.array_equal(mc.fft.fft(mc.ones { 1, 4 }, { axis = 1, n = 3 }):sum(2),
      mc.fft.fftn(mc.ones { 1, 4 }, { s = { 3, 4 } })[{ mc.all, 1 }]))
    assert.is_true(mc.allclose(mc.fft.fftn(x, { axes = { 1, 3 } }), mc.fft.fft(mc.fft.fft(x), { axis = 1 })))
  end)
end)

describe('helpers', function()
  it('next_fast_len gives the smallest 2^a 3^b 5^c at or above n', function()
    local function smooth(v)
      for _, p in ipairs { 2, 3, 5 } do while v % p == 0 do v = v / p end end
      return v == 1
    end
    for n = 1, 700 do
      local want = n
      while not smooth(want) do want = want + 1 end
      assert.equal(want, mc.fft.next_fast_len(n))
    end
    assert.equal(10125, mc.fft.next_fast_len(10007))
  end)

  it('fftshift and ifftshift undo each other', function()
    for n = 1, 9 do
      local x = mc.arange(1, n)
      assert.is_true(mc.array_equal(x, mc.fft.ifftshift(mc.fft.fftshift(x))))
    end
    assert.same({ 4, 5, 1, 2, 3 }, mc.fft.fftshift(mc.arange(1, 5)):totable())
  end)

  it('fftfreq and rfftfreq are k / (n d)', function()
    assert.same({ 0, 0.5, -1, -0.5 }, mc.fft.fftfreq(4, 0.5):totable())
    assert.same({ 0, 0.5, 1 }, mc.fft.rfftfreq(4, 0.5):totable())
  end)
end)

describe('wisdom', function()
  it('is saved and read back, and measured plans give the same numbers within the class', function()
    if not has_fftw then
      pending('FFTW is missing')
      return
    end
    local path = os.tmpname()
    local x = mc.randn({ 4, 240 }, { seed = 4 })
    local plain = mc.fft.rfft(x)
    mc.fft.config('fftw', { measure = true })
    local measured = mc.fft.rfft(x)
    mc.fft.save_wisdom(path)
    local f = assert(io.open(path))
    assert.is_true(#f:read '*a' > 0)
    f:close()
    mc.fft.load_wisdom(path)
    mc.fft.config 'auto'
    os.remove(path)
    assert.is_true(mc.allclose(plain, measured, { rtol = 1e-12, atol = 1e-12 }))
    assert.matches('fft_spec%.lua:%d+: fft wisdom: .*cannot be read; check the path',
      support.message(function() mc.fft.load_wisdom(path .. '.none') end))
  end)

  it('is not kept by the own engine', function()
    engine('mascon',
      function() assert.matches('keeps none', support.message(function() mc.fft.save_wisdom '/dev/null' end)) end)
  end)
end)

describe('a mistake', function()
  it('is explained', function()
    local x = mc.randn({ 2, 4 }, { seed = 1 })
    local function fails(pattern, f) assert.matches('fft_spec%.lua:%d+: ' .. pattern, support.message(f)) end
    fails('fft: 0 points from f64%[2,4%]@cpu; give a length of at least 1',
      function() local _ = mc.fft.fft(x, { n = 0 }) end)
    fails('fft: axis 3 is outside f64%[2,4%]@cpu', function() local _ = mc.fft.fft(x, { axis = 3 }) end)
    fails('rfft: operand is c128%[2,4%]@cpu; take its real part, or use fft',
      function() local _ = mc.fft.rfft(mc.fft.fft(x)) end)
    fails("fft: option norm is 'orth'; choose backward, ortho, forward %(did you mean \"ortho\"%?%)",
      function() local _ = mc.fft.fft(x, { norm = 'orth' }) end)
    fails('fft: operand is f64%[%]@cpu; it needs at least one axis', function() local _ = mc.fft.fft(mc.tensor(1)) end)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)

describe('the engine by shape', function()
  it('takes our transform where it is the faster one, to its bits, and says so', function()
    if not tostring(mc.fft.engine()):find 'FFTW' and not tostring(mc.fft.engine()):find 'fftw' then
      return pending 'FFTW is not there'
    end
    assert.matches('mascon by shape', mc.fft.engine())
    for _, case in ipairs { { 'rfft', { 3, 2039 }, 'f32', 'mascon' }, { 'rfft', { 4, 2048 }, 'f32', 'fftw' },
      { 'rfft', { 5, 625 }, 'f64', 'mascon' } } do
      local x = mc.randn { case[2][1], case[2][2], seed = 3 }:to(case[3])
      local y = mc.fft[case[1]](x)
      mc.fft.config(case[4])
      local same = mc.array_equal(y, mc.fft[case[1]](x))
      mc.fft.config 'auto'
      assert.is_true(same)
    end
  end)
end)
