-- ops_golden_spec.lua - ops against stored answers of other programs (tests/golden/README.md says which).
--
-- Special values, wrap-around, promotion, order statistics and transforms. Positions in the files count from 0.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local sample, tol = support.load 'sample', support.load 'tol'
local read = sample.read

local files = {}
local function golden(name)
  files[name] = files[name] or mc.load(support.folder .. '/golden/ops_' .. name .. '.npz')
  return files[name]
end

-- got against a stored tensor, by value; more(i) gives parameters of the class for element i
local function same(what, class, got, want, more)
  assert(table.concat(got.shape, ',') == table.concat(want.shape, ','),
    ('%s: shape {%s}, want {%s}'):format(what, table.concat(got.shape, ','), table.concat(want.shape, ',')))
  local x, y = read(got), read(want)
  for i = 1, #y do
    local wrong = tol.compare(class, got.dtype, x[i], y[i], type(more) == 'function' and more(i) or more)
    if wrong then error(('%s: element %d: %s'):format(what, i, wrong), 0) end
  end
end

local function each_level(f)
  for _, isa in ipairs(support.levels()) do
    support.restoring(function()
      assert(C.mc_isa_set(isa) == 0)
      f(isa)
    end)
  end
end

describe('one operand', function()
  local names = {
    'abs', 'acos', 'acosh', 'asin', 'asinh', 'atan', 'atanh', 'ceil', 'cos', 'cosh', 'erf', 'erfc', 'exp', 'exp2',
    'expm1', 'floor', 'isfinite', 'isinf', 'isnan', 'log', 'log10', 'log1p', 'log2', 'logistic', 'negative',
    'reciprocal', 'round', 'rsqrt', 'sign', 'sin', 'sinh', 'sqrt', 'tan', 'tanh', 'trunc',
  }
  for _, dtype in ipairs { 'f32', 'f64' } do
    for _, name in ipairs(names) do
      it(('%s of %s at special and ordinary points'):format(name, dtype), function()
        local g = golden('unary_' .. dtype)
        each_level(function(isa)
          local y = mc[name](g.x)
          same(name .. ' ' .. isa, y.dtype == 'bool' and 'EXACT' or mc.ops[name].tol, y, g[name]:to(y.dtype))
        end)
      end)
    end
  end

  it('of complex numbers: finite parts, NaN and infinities where both agree on them', function()
    local g = golden 'unary_complex'
    local z = read(g.z)
    each_level(function(isa)
      for _, name in ipairs { 'abs', 'angle', 'sqrt', 'exp', 'log', 'sin', 'cos', 'sinh', 'cosh', 'tanh', 'tan',
        'square', 'reciprocal', 'sign', 'conj' } do
        local x, y = read(mc[name](g.z)), read(g[name])
        for i = 1, #y do
          local finite = z[i].re - z[i].re == 0 and z[i].im - z[i].im == 0
          local w = y[i]
          local size = type(w) == 'table' and math.max(math.abs(w.re), math.abs(w.im)) or math.abs(w)
          local argument = math.max(math.abs(z[i].re), math.abs(z[i].im))
          -- NumPy's own error on the stored side adds up with ours: twice the class
          if finite and size < 1e300 and argument < 100 and (size > 0 or name == 'conj') then
            local wrong = tol.compare('ACCUM', 'f64', type(w) == 'table' and math.max(math.abs(x[i].re - w.re),
              math.abs(x[i].im - w.im)) or math.abs(x[i] - w), 0, { n = 36, scale = size })
            if wrong then error(('%s %s of (%.17g, %.17g): %s'):format(name, isa, z[i].re, z[i].im, wrong), 0) end
          end
        end
      end
    end)
  end)

  it('the modulus does not overflow or vanish on the way', function()
    local g = golden 'unary_complex'
    same('abs', 'ULP4', mc.abs(g.z), g.abs)
    same('conj', 'EXACT', mc.real(mc.conj(g.z)), mc.real(g.conj))
    same('conj', 'EXACT', mc.imag(mc.conj(g.z)), mc.imag(g.conj))
  end)

  it('complex arithmetic', function()
    local g = golden 'unary_complex'
    local z, w = read(g.z), read(g.w)
    local sum, product, quotient = read(g.z + g.w), read(g.z * g.w), read(g.z / g.w)
    local s, p, q = read(g.add), read(g.multiply), read(g.divide)
    for i = 1, #z do
      local finite = z[i].re - z[i].re == 0 and z[i].im - z[i].im == 0 and w[i].re - w[i].re == 0
        and w[i].im - w[i].im == 0
      if finite then
        assert(not tol.compare('EXACT', 'c128', sum[i], s[i]))
        local size = math.max(math.abs(z[i].re), math.abs(z[i].im)) * math.max(math.abs(w[i].re), math.abs(w[i].im))
        if size < 1e300 then
          local wrong = tol.compare('ACCUM', 'c128', product[i], p[i], { n = 2, scale = size })
          if wrong then error('multiply ' .. i .. ': ' .. wrong, 0) end
        end
        local far = math.max(math.abs(q[i].re), math.abs(q[i].im))
        if far > 0 and far < 1e300 then
          local wrong = tol.compare('ACCUM', 'c128', quotient[i], q[i], { n = 9, scale = far })
          if wrong then error('divide ' .. i .. ': ' .. wrong, 0) end
        end
      end
    end
  end)
end)

describe('special functions', function()
  it('agree with their stored values', function()
    local g = golden 'stats'
    -- functions of one argument carry its rounding: a few units, with zeros (digamma, lgamma at 1 and 2) measured
    -- against 1
    local function check(name, got, want)
      local w = read(want)
      same(name, 'ACCUM', got, want,
        function(i) return { n = 60, scale = math.max(math.abs(w[i]), name:find 'gamma$' and 1 or 0) + 1e-300 } end)
    end
    each_level(function()
      check('erfinv', mc.erfinv(g.erfinv_x), g.erfinv)
      check('ndtri', mc.ndtri(g.norm_p), g.norm_ppf)
      check('ndtr', mc.ndtr(-g.norm_q), g.norm_sf)
      local v = g.dist_x
      check('lgamma', mc.lgamma(v['2:']), g.gammaln)
      check('digamma', mc.digamma(v['2:']), g.digamma)
      for _, k in ipairs { 1, 2, 5, 30 } do
        -- x^k e^-x is e to the power k log x - x - log k!, whose terms reach 75 for k = 30: so many units are lost, on
        -- both sides
        same('gammainc', 'ACCUM', mc.gammainc(k, v), g['gammainc_' .. k],
          function(i) return { n = 150 ^ 2, scale = read(g['gammainc_' .. k])[i] + 1e-300 } end)
        same('gammaincc', 'ACCUM', mc.gammaincc(k, v), 1 - g['gammainc_' .. k], { n = 60, scale = 1 })
      end
      check('betainc', mc.betainc(2, 3, mc.linspace(0, 1, 9)), g.betainc_2_3)
    end)
  end)
end)

describe('two operands', function()
  it('of integers wrap and divide as the stored answers do', function()
    local g = golden 'integer'
    each_level(function(isa)
      for _, d in ipairs { 'u8', 'i8', 'i16', 'i32', 'i64' } do
        local a, b = g[d .. '_a'], g[d .. '_b']
        for name, op in pairs {
          add = 'add', subtract = 'subtract', multiply = 'multiply', floor_divide = 'floor_divide',
          remainder = 'remainder', xor = 'bitwise_xor',
        } do
          local y = mc[op](a, b)
          assert.equal(d, y.dtype)
          same(op .. ' ' .. d .. ' ' .. isa, 'EXACT', y, g[d .. '_' .. name])
        end
        for name, op in pairs { negative = 'negative', abs = 'abs', invert = 'bitwise_invert' } do
          same(op .. ' ' .. d, 'EXACT', mc[op](a), g[d .. '_' .. name])
        end
        same('shift left ' .. d, 'EXACT',
          mc.bitwise_left_shift(g[d .. '_shift_v'], g[d .. '_shift_s']), g[d .. '_left'])
        same('shift right ' .. d, 'EXACT',
          mc.bitwise_right_shift(g[d .. '_shift_v'], g[d .. '_shift_s']), g[d .. '_right'])
      end
    end)
  end)

  for _, name in ipairs { 'atan2', 'copysign', 'divide', 'floor_divide', 'fmod', 'hypot', 'logaddexp', 'maximum',
    'minimum', 'pow', 'remainder' } do
    it(name .. ' of floats at special points', function()
      local g = golden 'integer'
      each_level(function(isa)
        local a, b = g.f64_a, g.f64_b
        if name == 'copysign' then -- the sign of a NaN is nobody's promise
          local keep = mc.logical_not(mc.isnan(b))
          same(name, 'EXACT', mc.copysign(a[keep], b[keep]), g.f64_copysign[keep])
          return
        end
        same(name .. ' ' .. isa, mc.ops[name].tol, mc[name](a, b), g['f64_' .. name])
      end)
    end)
  end
end)

describe('conversion', function()
  it('truncates towards zero where the value fits', function()
    local g = golden 'integer'
    for _, d in ipairs { 'u8', 'i8', 'i16', 'i64' } do
      local x = g.cast_in[g['cast_' .. d .. '_keep']]
      same('cast ' .. d, 'EXACT', x:to(d), g['cast_' .. d])
    end
  end)

  it('to f16 and bf16 rounds to nearest even, with subnormals and overflow', function()
    local g = golden 'integer'
    local h, want = read(g.f16_in:to 'f16'), read(g.f16)
    for i = 1, #want do assert(h[i] == want[i], ('%g gives %g, want %g'):format(read(g.f16_in)[i], h[i], want[i])) end
    local b = g.f16_in:to 'f32':to 'bf16'
    local bits, p = g.bf16_bits:totable(), require 'ffi'.cast('uint16_t *', b._data)
    for i = 1, #bits do assert.equal(bits[i], p[i - 1]) end
  end)

  it('saturates out of range and turns NaN into 0', function()
    local x = mc.tensor { 300, -300, 1e30, -1e30, 0 / 0, math.huge }
    assert.same({ 127, -128, 127, -128, 0, 127 }, x:to 'i8':totable())
    assert.same({ 255, 0, 255, 0, 0, 255 }, x:to 'u8':totable())
    assert.same({ 300, -300, 2147483647, -2147483648, 0, 2147483647 }, x:to 'i32':totable())
  end)
end)

describe('promotion', function()
  it('follows the standard wherever it speaks', function()
    local want, codes = golden('promotion').standard:totable(),
      { 'bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128' }
    for i, a in ipairs(codes) do
      for j, b in ipairs(codes) do
        local got = mc.concat { mc.zeros({ 1 }, { dtype = a }), mc.zeros({ 1 }, { dtype = b }) }.dtype
        assert.equal(got, mc.concat { mc.zeros({ 1 }, { dtype = b }), mc.zeros({ 1 }, { dtype = a }) }.dtype)
        if want[i][j] >= 0 then assert.equal(codes[want[i][j] + 1], got, a .. ' with ' .. b) end
      end
    end
  end)

  it('treats Lua numbers as weak', function()
    local function x(d) return mc.ones({ 2 }, { dtype = d }) end
    assert.equal('f32', (x 'f32' + 1.5).dtype)
    assert.equal('i8', (x 'i8' + 1).dtype)
    assert.equal('f64', (x 'i8' + 1.5).dtype)
    assert.equal('f16', (x 'f16' * 2).dtype)
    assert.equal('c64', (x 'c64' * 2).dtype)
    assert.equal('c64', (x 'f32' * mc.complex(0, 1)).dtype)
    assert.equal('c128', (x 'i32' * mc.complex(0, 1)).dtype)
    assert.equal('i64', (x 'bool' + 1).dtype)
    assert.equal('f64', (x 'i32' / 2).dtype)
    assert.equal('f64', (x 'i32' / x 'i32').dtype)
    assert.equal('f32', (x 'f32' + x 'i64').dtype)
    assert.equal('f32', (x 'f16' + x 'bf16').dtype)
    assert.equal('bool', mc.lt(x 'u8', 200).dtype)
  end)

  it('refuses numbers that do not fit', function()
    local m = support.message(function() local _ = mc.ones({ 2 }, { dtype = 'i8' }) + 300 end)
    assert.matches('ops_golden_spec%.lua:%d+: add: the number 300 does not fit i8%[2%]@cpu; convert the tensor to a '
      .. 'wider dtype first', m)
    assert.matches('does not fit u8', support.message(function() local _ = mc.ones({ 2 }, { dtype = 'u8' }) - -1 end))
  end)
end)

describe('reductions', function()
  it('over every axis and all', function()
    local g = golden 'reduce'
    each_level(function(isa)
      for _, name in ipairs { 'sum', 'prod', 'mean', 'var', 'std', 'max', 'min', 'argmax', 'argmin' } do
        local class = mc.ops[name].tol
        for axis = 0, 3 do
          local want = axis == 0 and g['x_' .. name] or g[('x_%s_axis_%d'):format(name, axis - 1)]
          local y = mc[name](g.x, axis > 0 and axis or nil)
          if name:find 'arg' then want = want + 1 end
          local n = axis == 0 and 210 or g.x.shape[axis]
          same(name .. ' ' .. isa, class, y, want, function(i)
            return { n = n, scale = math.max(2 * n, math.abs(tonumber(read(want)[i]))) / (name == 'sum' and 1 or n) }
          end)
        end
      end
      same('sum {1, 3}', 'ACCUM', g.x:sum { 1, 3 }, g.x_sum_axes_0_2, { n = 35, scale = 35 })
      same('var {1, 3}', 'ACCUM', g.x:var { 1, 3 }, g.x_var_axes_0_2, { n = 35, scale = 2 })
      same('var correction', 'ACCUM', g.x:var { 2, correction = 1 }, g.x_var_correction_1, { n = 6, scale = 4 })
      same('std correction', 'ACCUM', g.x:std { 2, correction = 1 }, g.x_std_correction_1, { n = 6, scale = 2 })
    end)
  end)

  it('keep their digits when f32 data lie far from zero', function()
    local g = golden 'reduce'
    local x = g.offset_f32
    same('sum', 'ACCUM', x:sum(2), g.offset_sum:to 'f32', { n = 1, scale = 4e6 })
    same('mean', 'ACCUM', x:mean(2), g.offset_mean:to 'f32', { n = 1, scale = 1e4 })
    same('var', 'ACCUM', x:var(2), g.offset_var:to 'f32', { n = 1, scale = 1 })
  end)

  it('carry NaN and infinities', function()
    local g = golden 'reduce'
    for _, name in ipairs { 'sum', 'mean', 'var', 'max', 'min' } do
      same(name, 'ACCUM', mc[name](g.y, 3), g[('y_%s_axis_2'):format(name)], { n = 7, scale = 14 })
    end
    for _, name in ipairs { 'argmax', 'argmin' } do
      same(name, 'EXACT', mc[name](g.y, 3), g[('y_%s_axis_2'):format(name)] + 1)
    end
  end)

  it('of integers, booleans and complex numbers', function()
    local g = golden 'reduce'
    assert.equal('i64', g.i:sum(2).dtype)
    same('sum', 'EXACT', g.i:sum(2), g.i_sum)
    same('prod', 'EXACT', g.i[':, :3']:prod(2), g.i_prod)
    same('mean', 'ACCUM', g.i:mean(2), g.i_mean, { n = 9, scale = 100 })
    same('max', 'EXACT', g.i:max(1), g.i_max)
    same('sum', 'EXACT', g.b:sum(2), g.b_sum)
    same('any', 'EXACT', g.b:any(1), g.b_any)
    same('all', 'EXACT', g.b:all(2), g.b_all)
    same('sum', 'ACCUM', g.c:sum(2), g.c_sum, { n = 8, scale = 16 })
    same('prod', 'ACCUM', g.c:prod(2), g.c_prod, { n = 64, scale = 20 })
    same('mean', 'ACCUM', g.c:mean(1), g.c_mean, { n = 3, scale = 3 })
  end)

  it('matrix products', function()
    local g = golden 'reduce'
    each_level(function(isa)
      for k = 0, 9 do
        local a = g[('mm_%d_a'):format(k)]
        local n = a.shape[#a.shape]
        same('matmul ' .. isa, 'ACCUM', a:matmul(g[('mm_%d_b'):format(k)]), g['mm_' .. k], { n = n + 1, scale = 4 * n })
      end
      same('matmul', 'ACCUM', g.mmc_a:matmul(g.mmc_b), g.mmc, { n = 4, scale = 30 })
      same('matmul', 'EXACT', g.mmi_a:matmul(g.mmi_b), g.mmi)
    end)
  end)
end)

describe('scans and moves', function()
  it('agree along every axis', function()
    local g = golden 'scan'
    for axis = 1, 3 do
      local tail = ('_axis_%d'):format(axis - 1)
      same('cumsum', 'ACCUM', g.x:cumsum(axis), g['x_cumsum' .. tail], { n = 7, scale = 20 })
      same('cumprod', 'ACCUM', g.x:cumprod(axis), g['x_cumprod' .. tail], { n = 7, scale = 30 })
      same('diff', 'EXACT', mc.diff(g.x, axis), g['x_diff' .. tail])
      same('flip', 'EXACT', g.x:flip(axis), g['x_flip' .. tail])
      same('roll', 'EXACT', g.x:roll(2, { axis = axis }), g['x_roll_2' .. tail])
      same('roll', 'EXACT', g.x:roll(-9, { axis = axis }), g['x_roll_m9' .. tail])
    end
    same('roll', 'EXACT', g.x:roll(5), g.x_roll_5)
    same('cumsum', 'ACCUM', g.x:flatten():cumsum(), g.x_cumsum_flat, { n = 140, scale = 140 })
    same('cumsum', 'EXACT', g.b:cumsum(2), g.b_cumsum_axis_1)
    same('cumsum', 'EXACT', g.i:cumsum(2), g.i_cumsum_axis_1)
    same('cumprod', 'EXACT', g.i:cumprod(2), g.i_cumprod_axis_1)
  end)

  it('counts and histograms', function()
    local g = golden 'scan'
    same('bincount', 'EXACT', mc.bincount(g.k), g.bincount)
    same('bincount', 'EXACT', mc.bincount(g.k, { minlength = 20 }), g.bincount_min_20)
    same('bincount_weighted', 'ACCUM', mc.bincount_weighted(g.k, g.w), g.bincount_w, { n = 200, scale = 200 })
    local counts, edges = mc.histogram(g.h, { bins = 10 })
    same('histogram', 'EXACT', counts, g.hist_10)
    same('edges', 'ULP4', edges, g.hist_10_edges)
    same('histogram', 'EXACT', (mc.histogram(g.h, { bins = 8, range = { -2, 2 } })), g.hist_range)
    same('density', 'ACCUM', (mc.histogram(g.h, { bins = 8, range = { -2, 2 }, density = true })), g.hist_density,
      { n = 4, scale = 1 })
    same('weights', 'ACCUM', (mc.histogram(g.h, { bins = 8, range = { -2, 2 }, weights = mc.abs(g.h) })),
      g.hist_weights, { n = 300, scale = 300 })
    same('edges given', 'EXACT', (mc.histogram(g.h, { bins = g.hist_edges_in })), g.hist_edges)
  end)

  it('padding', function()
    local g = golden 'scan'
    for _, mode in ipairs { 'constant', 'edge', 'reflect', 'symmetric', 'wrap' } do
      same(mode, 'EXACT', mc.pad(g.y, { { 2, 1 }, { 0, 3 } }, { mode = mode }), g['pad_' .. mode])
    end
    same('constant', 'EXACT', mc.pad(g.y, 1, { value = 5 }), g.pad_constant_5)
    same('odd_reflect', 'ULP4', mc.pad(g.y, { { 2, 1 }, { 3, 2 } }, { mode = 'odd_reflect' }), g.pad_reflect_odd)
    same('tile', 'EXACT', mc.tile(g.y, { 2, 1, 3 }), g.tile)
  end)
end)

describe('order', function()
  it('sort and argsort of floats and integers', function()
    local g = golden 'sort'
    each_level(function(isa)
      for _, d in ipairs { 'f32', 'f64' } do
        for _, key in ipairs { 'special', 'n1', 'n2', 'n7', 'n8', 'n9', 'n33', 'n200' } do
          local x = g[d .. '_' .. key]
          same('sort ' .. isa, 'EXACT', x:sort(), g[('%s_%s_sort'):format(d, key)])
          same('argsort ' .. isa, 'EXACT', x:argsort { base = 0 }, g[('%s_%s_argsort'):format(d, key)])
          same('argsort down ' .. isa, 'EXACT', x:argsort { base = 0, descending = true },
            g[('%s_%s_argsort_down'):format(d, key)])
        end
      end
      for _, d in ipairs { 'u8', 'i8', 'i16', 'i32', 'i64' } do
        same('sort ' .. isa, 'EXACT', g[d]:sort(), g[d .. '_sort'])
        same('argsort ' .. isa, 'EXACT', g[d]:argsort { base = 0 }, g[d .. '_argsort'])
      end
      -- x was given a NaN after its plain medians were taken; its sorted copies still hold the values
      same('median', 'ULP4', g.x_sort_axis_0:median(1), g.x_median_axis_0)
      same('median', 'ULP4', g.x_sort_axis_1:median(2), g.x_median_axis_1)
      same('median', 'ULP4', g.x_sort_axis_2:median(3), g.x_median_axis_2)
      same('median', 'ULP4', g.x_sort_axis_0:median(), g.x_median)
      same('median', 'ULP4', g.x_sort_axis_0:median { 1, 3 }, g.x_median_axes_0_2)
      same('nanmedian', 'ULP4', mc.nanmedian(g.x, { axis = 3 }), g.x_nanmedian_axis_2)
      same('median', 'ULP4', g.x:median(3), g.x_nan_median_axis_2)
    end)
  end)

  local METHODS = {
    'linear', 'lower', 'higher', 'nearest', 'midpoint', 'inverted_cdf', 'averaged_inverted_cdf', 'closest_observation',
    'interpolated_inverted_cdf', 'hazen', 'weibull', 'median_unbiased', 'normal_unbiased',
  }
  for code, method in ipairs(METHODS) do
    it('quantile method ' .. method, function()
      local g = golden 'sort'
      each_level(function()
        for _, n in ipairs { 1, 2, 5, 8, 101 } do
          local y = mc.quantile(g['quantile_in_' .. n], g.prob, { axis = 2, method = method })
          same(method .. ' n=' .. n, 'ACCUM', y.T, g['quantile_' .. n][code], { n = 2, scale = 2 })
        end
      end)
    end)
  end

  it('searchsorted', function()
    local g = golden 'sort'
    same('left', 'EXACT', mc.searchsorted(g.edges, g.values, { base = 0 }), g.search_left)
    same('right', 'EXACT', mc.searchsorted(g.edges, g.values, { base = 0, right = true }), g.search_right)
  end)
end)

describe('transforms', function()
  for _, engine in ipairs { 'auto', 'mascon' } do
    it('of all stored lengths, axes and norms, engine ' .. engine, function()
      mc.fft.config(engine)
      local ok, e = pcall(function()
        local g = golden 'fft'
        for _, n in ipairs(g.sizes:totable()) do
          local x, r = g.x[{ { 1, n } }], g.r[{ { 1, n } }]
          same('fft ' .. n, 'FFT', mc.fft.fft(x), g['fft_' .. n], { n = n + 1, scale = 2 * math.sqrt(n) })
          same('rfft ' .. n, 'FFT', mc.fft.rfft(r), g['rfft_' .. n], { n = n + 1, scale = 2 * math.sqrt(n) })
          if n <= 64 then
            same('irfft ' .. n, 'FFT', mc.fft.irfft(g.x[{ { 1, math.floor(n / 2) + 1 } }], { n = n }), g['irfft_' .. n],
              { n = n + 1, scale = 3 })
          end
        end
        local b, q = g.b, g.q
        for axis = 1, 3 do
          local tail, more = ('_axis_%d'):format(axis - 1), { n = 8, scale = 8 }
          same('fft', 'FFT', mc.fft.fft(b, { axis = axis }), g['b_fft' .. tail], more)
          same('ifft', 'FFT', mc.fft.ifft(b, { axis = axis }), g['b_ifft' .. tail], more)
          same('rfft', 'FFT', mc.fft.rfft(q, { axis = axis }), g['q_rfft' .. tail], more)
          same('irfft', 'FFT', mc.fft.irfft(b, { axis = axis }), g['b_irfft' .. tail], more)
          same('fft n=7', 'FFT', mc.fft.fft(b, { n = 7, axis = axis }), g['b_fft_n7' .. tail], more)
          same('fft n=2', 'FFT', mc.fft.fft(b, { n = 2, axis = axis }), g['b_fft_n2' .. tail], more)
          same('irfft n=9', 'FFT', mc.fft.irfft(b, { n = 9, axis = axis }), g['b_irfft_n9' .. tail], more)
          same('rfft n=3', 'FFT', mc.fft.rfft(q, { n = 3, axis = axis }), g['q_rfft_n3' .. tail], more)
        end
        for _, norm in ipairs { 'ortho', 'forward' } do
          local more = { n = 8, scale = 8 }
          same(norm, 'FFT', mc.fft.fft(b, { norm = norm }), g['b_fft_' .. norm], more)
          same(norm, 'FFT', mc.fft.ifft(b, { norm = norm }), g['b_ifft_' .. norm], more)
          same(norm, 'FFT', mc.fft.rfft(q, { norm = norm }), g['q_rfft_' .. norm], more)
          same(norm, 'FFT', mc.fft.irfft(b, { norm = norm }), g['b_irfft_' .. norm], more)
        end
        same('fftn', 'FFT', mc.fft.fftn(b), g.b_fftn, { n = 60, scale = 20 })
        same('fftfreq', 'EXACT', mc.fft.fftfreq(9, 0.5), g.freq_9)
        same('rfftfreq', 'EXACT', mc.fft.rfftfreq(8, 0.5), g.rfreq_8)
        same('fftshift', 'EXACT', mc.fft.fftshift(mc.arange(0, 8)), g.shift_9)
        same('ifftshift', 'EXACT', mc.fft.ifftshift(mc.arange(0, 8)), g.ishift_9)
      end)
      mc.fft.config 'auto'
      if not ok then error(e, 0) end
    end)
  end
end)

teardown(function()
  files = {}
  assert.equal(BEFORE, support.tensor_bytes())
end)
