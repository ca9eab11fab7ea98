-- arrayapi_spec.lua - the names of the Python array API standard 2023.12, and what its functions promise beyond single
-- values.
--
-- Names come from the standard's own stubs (tests/golden/array_api_names.json); what is not there must stand in
-- lua/mascon/help/deviations.lua. Special values are in special_cases_spec, golden answers in cases_spec, index
-- expressions in index_numpy_spec.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local deviations = require 'mascon.help.deviations'
local op = require 'mascon.core.op'
local sample = support.load 'sample'

local function names()
  local f = assert(io.open(support.folder .. '/golden/array_api_names.json'))
  local text = f:read '*a'
  f:close()
  return mc.json.decode(text)
end

local function has(t, name)
  local ok, v = pcall(function() return t[name] end)
  return ok and v ~= nil
end

local function i64(t) return mc.tensor(t, { dtype = 'i64' }) end
local function same(want, got, what) assert.same(want, mc.is_tensor(got) and got:totable() or got, what) end
local function fails(pattern, f, ...)
  local m = support.message(function(...)
    local r = f(...)
    return r
  end, ...)
  assert.matches('^[^\n]*arrayapi_spec%.lua:%d+: ', m)
  assert.matches(pattern, m)
end

describe('the names of the standard', function()
  local standard, absent, listed = names(), {}, {}
  for _, row in ipairs(deviations.rows) do
    for _, n in ipairs(row.names) do
      listed[n] = true
      if row.absent then absent[n] = true end
    end
  end

  it('are there, or listed as absent', function()
    local missing = {}
    local function look(t, space, list)
      for name in pairs(list) do
        if not has(t, name) and not absent[name] then missing[#missing + 1] = space .. name end
      end
    end
    local function set(list)
      local s = {}
      for _, n in ipairs(list) do s[n] = true end
      return s
    end
    look(mc, 'mc.', standard.main)
    look(mc.fft, 'mc.fft.', standard.fft)
    look(mc.linalg, 'mc.linalg.', standard.linalg)
    look(mc, 'mc.', set(standard.constants))
    look(mc, 'mc.', set(standard.dtypes))
    local x = mc.ones { 2, 2 }
    look(x, 'x.', set(standard.fields))
    local operators = {
      __add__ = '__add', __sub__ = '__sub', __mul__ = '__mul', __truediv__ = '__div', __mod__ = '__mod',
      __pow__ = '__pow', __neg__ = '__unm', __getitem__ = '__index', __setitem__ = '__newindex',
    }
    for name in pairs(standard.methods) do
      local there = operators[name] and require 'mascon.core.tensor'.meta[operators[name]]
        or (not name:match '^__' and has(x, name))
      if not there and not absent[name] then missing[#missing + 1] = 'x.' .. name end
    end
    table.sort(missing)
    assert.equal('', table.concat(missing, ' '))
  end)

  it('that are listed as absent are absent, and all others of the list are names of the standard', function()
    local known = {}
    for _, part in ipairs { 'main', 'fft', 'linalg', 'methods' } do
      for n in pairs(standard[part]) do known[n] = true end
    end
    for _, part in ipairs { 'constants', 'dtypes', 'fields' } do
      for _, n in ipairs(standard[part]) do known[n] = true end
    end
    for n in pairs(listed) do assert.is_true(known[n], n .. ' is no name of the standard') end
    for n in pairs(absent) do assert.is_false(has(mc, n), n .. ' is there, but listed as absent') end
  end)

  it('have a stand-in that exists where the list names one', function()
    for _, row in ipairs(deviations.rows) do
      for _, n in ipairs(row.instead or {}) do assert.is_true(has(mc, n), n) end
    end
  end)

  it('take the keywords of the standard', function()
    local x, m = mc.tensor { { 3, 1 }, { 2, 4 } }, mc.tensor { 1, 2, 3 }
    for _, f in ipairs {
      function() return mc.sum(x, { axis = 1, dtype = 'f32', keepdims = true }) end,
      function() return mc.prod(x, { axis = 1, dtype = 'f32', keepdims = true }) end,
      function() return mc.std(x, { axis = 1, correction = 1, keepdims = true }) end,
      function() return mc.var(x, { axis = 1, correction = 1, keepdims = true }) end,
      function() return mc.mean(x, { axis = 1, keepdims = true }) end,
      function() return mc.max(x, { axis = 1, keepdims = true }) end,
      function() return mc.min(x, { axis = 1, keepdims = true }) end,
      function() return mc.all(x, { axis = 1, keepdims = true }) end,
      function() return mc.any(x, { axis = 1, keepdims = true }) end,
      function() return mc.argmax(x, { axis = 1, keepdims = true }) end,
      function() return mc.argmin(x, { axis = 1, keepdims = true }) end,
    } do assert.equal('1,2', table.concat(f().shape, ',')) end
    for _, f in ipairs {
      function() return mc.sort(x, { axis = 1, descending = true, stable = true }) end,
      function() return mc.argsort(x, { axis = 1, descending = true, stable = true }) end,
      function() return mc.flip(x, { axis = 2 }) end, function() return mc.roll(x, 1, { axis = 2 }) end,
      function() return mc.concat({ x[{ { 1, 1 } }], x[{ { 2, 2 } }] }, { axis = 1 }) end,
      function() return mc.take(x, i64 { 1, 2 }, { axis = 2 }) end,
      function() return mc.reshape(x, { 2, 2 }, { copy = true }) end,
      function() return mc.asarray(x, { dtype = 'f64', device = 'cpu', copy = true }) end,
      function() return mc.astype(x, 'f64', { copy = true, device = 'cpu' }) end,
      function() return mc.full_like(x, 1, { dtype = 'f64', device = 'cpu' }) end,
      function() return mc.empty_like(x, { dtype = 'f64', device = 'cpu' }) end,
    } do assert.equal('2,2', table.concat(f().shape, ',')) end
    for _, f in ipairs {
      function() return mc.arange(1, 3, 1, { dtype = 'f32', device = 'cpu' }) end,
      function() return mc.linspace(0, 1, 3, { dtype = 'f32', device = 'cpu', endpoint = true }) end,
      function() return mc.empty({ 3 }, { dtype = 'f32', device = 'cpu' }) end,
      function() return mc.full({ 3 }, 1, { dtype = 'f32', device = 'cpu' }) end,
      function() return mc.zeros({ 3 }, { dtype = 'f32', device = 'cpu' }) end,
      function() return mc.cumulative_sum(m, { axis = 1, dtype = 'f32', include_initial = false }) end,
    } do assert.equal('f32[3]', f().dtype .. '[' .. table.concat(f().shape, ',') .. ']') end
  end)

  it('are explained by help', function()
    local text = require 'mascon.help'.show 'deviations'
    for _, row in ipairs(deviations.rows) do assert.is_truthy(text:find(row.about, 1, true), row.about) end
    for line in text:gmatch '[^\n]+' do assert.is_true(#line <= 100 or line:find('^Where') ~= nil, line) end
  end)

  it('report what the library has', function()
    local info = mc['__array_namespace_info__']()
    assert.equal('cpu', info.default_device())
    assert.same({ 'cpu' }, info.devices())
    assert.equal('f64', info.default_dtypes()['real floating'])
    assert.same({ i8 = 'i8', i16 = 'i16', i32 = 'i32', i64 = 'i64' }, info.dtypes 'signed integer')
    assert.is_true(info.capabilities()['boolean indexing'])
    assert.equal('f32', mc.float32)
    assert.equal('bool', mc.bool)
  end)
end)

describe('unique', function()
  it('values rebuild the tensor, are distinct and ascend, whatever the dtype', function()
    for seed = 1, support.gc and 5 or 40 do
      local stream = sample.stream(seed)
      local n = math.floor(stream() * 60)
      for _, dtype in ipairs { 'bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128' } do
        local list = {}
        for i = 1, n do
          local v = math.floor(stream() * 7)
          if dtype == 'bool' then list[i] = v > 3
          elseif dtype:sub(1, 1) == 'c' then list[i] = { re = v % 3, im = math.floor(stream() * 3) - 1 }
          else list[i] = dtype:find 'i64' and 0LL + v or v end
        end
        local x = sample.from({ n }, dtype, list)
        local u = mc.unique_all(x)
        local what = ('seed %d, %s'):format(seed, dtype)
        assert.is_true(mc.array_equal(u.values[u.inverse_indices], x), what)
        assert.is_true(mc.array_equal(x[u.indices], u.values), what)
        assert.equal(n, u.counts:sum():item(), what)
        assert.is_true(
          mc.array_equal(mc.bincount(u.inverse_indices, { minlength = u.counts:numel() + 1 })['2:'], u.counts), what)
        local first = {}
        for i, p in ipairs(u.inverse_indices:totable()) do first[p] = first[p] or i end
        same(first, u.indices, what)
        local a, b = mc.unique_counts(x)
        assert.is_true(mc.array_equal(a, u.values) and mc.array_equal(b, u.counts), what)
        a, b = mc.unique_inverse(x)
        assert.is_true(mc.array_equal(a, u.values) and mc.array_equal(b, u.inverse_indices), what)
        assert.is_true(mc.array_equal(mc.unique_values(x), u.values), what)
        if dtype:sub(1, 1) ~= 'c' and dtype ~= 'bool' and u.values:numel() > 1 then
          assert.is_true(mc.all(mc.gt(u.values['2:'], u.values[':-2'])), what)
        end
      end
    end
  end)

  it('keeps the shape of the inverse, counts NaN one by one and takes -0 for 0', function()
    local u = mc.unique_all(mc.tensor { { 0 / 0, -0.0 }, { 0, 0 / 0 } })
    assert.equal('2,2', table.concat(u.inverse_indices.shape, ','))
    same({ 2, 1, 1 }, u.counts)
    same({ 2, 1, 4 }, u.indices)
    same({ { 2, 1 }, { 1, 3 } }, u.inverse_indices)
    assert.equal(2, mc.unique_values(mc.tensor { mc.complex(0 / 0, 1), mc.complex(0 / 0, 1) }):numel())
    assert.equal(0, mc.unique_all(mc.zeros { 0, 2 }).values:numel())
    same({ 7 }, mc.unique_all(mc.tensor(7)).values)
    assert.equal(0, mc.unique_all(mc.tensor(7)).inverse_indices.ndim)
  end)

  it('takes views and gives the same as for a copy', function()
    local x = mc.randint(0, 9, { 40, 30 }, { seed = 4 })
    for _, v in ipairs { x.T, x['::-2, 3:20:3'], x[{ mc.all, 1 }] } do
      local a, b = mc.unique_all(v), mc.unique_all(v:copy())
      for _, k in ipairs { 'values', 'indices', 'inverse_indices', 'counts' } do
        assert.is_true(mc.array_equal(a[k], b[k]), k)
      end
    end
  end)

  it('runs of a sorted row are found, and bad rows refused', function()
    local out = op.raw('group_runs', { mc.tensor { 1, 1, 2, 5, 5, 5 } }, {}, 2)
    same({ 1, 3, 4 }, out[1])
    same({ 2, 1, 3 }, out[2])
    assert.matches('group_runs: operands must be one sorted row',
      support.message(op.raw, 'group_runs', { mc.ones { 2, 2 } }, {}, 2))
    assert.matches('group_runs: position 9 is outside',
      support.message(op.raw, 'group_runs', { mc.ones { 2 }, i64 { 1, 9 } }, {}, 4))
    assert.matches('group_runs: 4 results from 1 operands',
      support.message(op.raw, 'group_runs', { mc.ones { 2 } }, {}, 4))
  end)
end)

describe('shapes', function()
  it('broadcast_shapes refuses what does not fit', function()
    fails('broadcast_shapes: {2, 3} and {4} do not fit; sizes must be equal or 1', mc.broadcast_shapes, { 2, 3 }, { 4 })
    fails('broadcast_shapes: argument 1 is', mc.broadcast_shapes, 'a')
    fails('broadcast_shapes: a size is %-1', mc.broadcast_shapes, { -1 })
    same({}, mc.broadcast_shapes())
    fails('broadcast_shapes: {2} and {3} do not fit', mc.broadcast_arrays, mc.ones { 2 }, mc.ones { 3 })
  end)

  it('moveaxis, squeeze and expand_dims take lists', function()
    local x = mc.zeros { 1, 3, 4, 1, 5 }
    local function shape(y) return table.concat(y.shape, ',') end
    assert.equal('4,1,5,1,3', shape(mc.moveaxis(x, { 1, 2 }, { 4, 5 })))
    assert.equal('5,1,3,4,1', shape(mc.moveaxis(x, -1, 1)))
    assert.equal('4,3,1,1,5', shape(mc.moveaxis(x, { 3, 2 }, { 1, 2 })))
    assert.equal('3,4,5', shape(mc.squeeze(x, { 1, -2 })))
    assert.equal('3,4,1,5', shape(mc.squeeze(x, 1)))
    assert.equal('1,2,1,3,1', shape(mc.expand_dims(mc.ones { 2, 3 }, { 1, 3, -1 })))
    assert.equal('2,1,3', shape(mc.expand_dims(mc.ones { 2, 3 }, { axis = 2 })))
    fails('moveaxis: 2 axes go to 1 places', mc.moveaxis, x, { 1, 2 }, { 1 })
    fails('moveaxis: an axis of .* is named twice', mc.moveaxis, x, { 1, 1 }, { 1, 2 })
    fails('squeeze: axis 2 of f64%[1,3,4,1,5%]@cpu has size 3', mc.squeeze, x, { 1, 2 })
    fails('expand_dims: place 1 is named twice', mc.expand_dims, x, { 1, 1 })
    fails('expand_dims: axis 9 is outside 1..6', mc.expand_dims, x, 9)
  end)

  it('reshape copies when told to, and refuses to when told not to', function()
    local x = mc.arange(1, 6)
    local y = mc.reshape(x, { 2, 3 }, { copy = true })
    assert.is_false(y:shares_memory(x))
    assert.is_true(mc.reshape(x, { 2, 3 }):shares_memory(x))
    assert.is_true(x:reshape(2, 3):shares_memory(x))
    fails('cannot be viewed as %[6%] without a copy', function() local _ = mc.reshape(y.T, { 6 }, { copy = false }) end)
    fails('reshape: option "cpy" is unknown; did you mean "copy"', mc.reshape, x, { 6 }, { cpy = true })
  end)

  it('roll takes several shifts and axes', function()
    for seed = 1, support.gc and 5 or 60 do
      local stream = sample.stream(seed)
      local function draw(lo, hi) return lo + math.floor(stream() * (hi - lo + 1)) end
      local shape = {}
      for i = 1, draw(1, 4) do shape[i] = draw(1, 4) end
      local x = mc.arange(1, sample.count(shape)):reshape(shape)
      if draw(0, 1) == 1 then x = x:permute_dims((function()
        local p = {}
        for i = 1, #shape do p[i] = #shape + 1 - i end
        return p
      end)()) end
      local shifts, axes, want = {}, {}, x
      for k = 1, draw(1, 3) do
        shifts[k], axes[k] = draw(-9, 9), draw(1, #shape)
        want = mc.roll(want, shifts[k], { axis = axes[k] })
      end
      assert.is_true(mc.array_equal(mc.roll(x, shifts, { axis = axes }), want), 'seed ' .. seed)
      local all, total = mc.roll(x, shifts, {}), 0
      for _, s in ipairs(shifts) do total = total + s end
      assert.is_true(mc.array_equal(all, mc.roll(x, total)), 'seed ' .. seed)
      local out = mc.zeros(x.shape)
      mc.roll(x, shifts, { axis = axes, out = out })
      assert.is_true(mc.array_equal(out, want), 'seed ' .. seed)
      local y = x:copy()
      mc.roll(y, shifts, { axis = axes, out = y })
      assert.is_true(mc.array_equal(y, want), 'in place, seed ' .. seed)
    end
    fails('roll: 2 shifts for 1 axes of f64%[3%]@cpu; give one shift, or one for each axis', mc.roll, mc.ones { 3 },
      { 1, 2 }, { axis = { 1 } })
    fails('roll: shift is .*; give a whole number or a list', mc.roll, mc.ones { 3 }, 'a')
    same({ 3, 1, 2 }, mc.roll(mc.tensor { 1, 2, 3 }, 1, 1))
    assert.equal(0, mc.roll(mc.zeros { 0 }, 1):numel())
    same(5, mc.roll(mc.tensor(5), 3))
  end)

  it('concat without an axis flattens', function()
    same({ 1, 2, 3, 4, 5 }, mc.concat({ mc.tensor { { 1, 2 }, { 3, 4 } }, mc.tensor(5) }, { axis = mc.none }))
  end)

  it('repeat_each and tile refuse bad counts', function()
    fails('repeat_each: a count is %-1', mc.repeat_each, mc.ones { 2 }, i64 { 1, -1 })
    fails('repeat_each: repeats are i64%[3%]@cpu for axis 1 of f64%[2%]@cpu', mc.repeat_each,
      mc.ones { 2 }, i64 { 1, 1, 1 })
    fails('repeat_each: repeats are f64%[2%]@cpu; give whole numbers', mc.repeat_each, mc.ones { 2 },
      mc.tensor { 1, 1.5 })
    fails('repeat_each: repeats is %-2', mc.repeat_each, mc.ones { 2 }, -2)
    fails('tile: reps is 1.5', mc.tile, mc.ones { 2 }, 1.5)
    fails('tile: 9 repetitions', mc.tile, mc.ones { 2 }, { 1, 1, 1, 1, 1, 1, 1, 1, 2 })
    local deep = mc.arange(1, 2):reshape(1, 1, 1, 1, 1, 1, 1, 2)
    same({ 1, 1, 2, 2 }, mc.repeat_each(deep, 2, 8):flatten())
    same({ 1, 1, 2, 2 }, mc['repeat'](mc.tensor { 1, 2 }, 2))
  end)
end)

describe('dtypes', function()
  it('asarray and astype copy as told', function()
    local x = mc.ones({ 2 }, { dtype = 'f32' })
    assert.is_true(rawequal(x, mc.asarray(x)))
    assert.is_false(mc.asarray(x, { copy = true }):shares_memory(x))
    assert.equal('f64', mc.asarray(x, { dtype = 'f64' }).dtype)
    fails('asarray: copy = false, but f32%[2%]@cpu has to be converted to f64', mc.asarray, x,
      { dtype = 'f64', copy = false })
    fails('asarray: copy = false, but a table has to be copied', mc.asarray, { 1 }, { copy = false })
    assert.is_false(rawequal(x, mc.astype(x, 'f32')))
    assert.is_true(rawequal(x, x:astype('f32', { copy = false })))
    assert.equal('i32', x:astype('int32').dtype)
    fails('astype: operand is 3', mc.astype, 3, 'f32')
    fails('astype: dtype \'f31\' is unknown', mc.astype, x, 'f31')
    assert.is_true(rawequal(x, x:to_device 'cpu'))
  end)

  it('promotion is commutative and what arithmetic does', function()
    local list = { 'bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128' }
    for _, a in ipairs(list) do
      for _, b in ipairs(list) do
        local t = mc.result_type(a, b)
        assert.equal(t, mc.result_type(b, a))
        assert.equal(t == b, mc.can_cast(a, b))
        assert.equal(t,
          mc.where(mc.tensor(true), mc.ones({}, { dtype = a }), mc.ones({}, { dtype = b })).dtype, a .. ' ' .. b)
      end
      if a ~= 'bool' then
        local x = mc.ones({ 2 }, { dtype = a })
        for _, s in ipairs { 2, 0.5, mc.complex(0, 1) } do
          assert.equal((x + s).dtype, mc.result_type(x, s), a .. ' ' .. tostring(s))
        end
      end
    end
    assert.equal('f64', mc.result_type(1, 2.5))
    assert.equal('bool', mc.result_type(true))
    fails('result_type: nothing given', mc.result_type)
    fails('isdtype: kind is \'floating\'; give a dtype or one of', mc.isdtype, 'f32', 'floating')
    fails('finfo: i32 is no float dtype; use iinfo', mc.finfo, 'i32')
    fails('iinfo: f32 is no integer dtype; use finfo', mc.iinfo, 'f32')
  end)

  it('limits are those that the tensors have', function()
    for _, d in ipairs { 'f16', 'bf16', 'f32', 'f64' } do
      local f = mc.finfo(d)
      local one = mc.ones({}, { dtype = d })
      assert.is_true((one + mc.full({}, f.eps, { dtype = d })):item() > 1)
      assert.equal(1, (one + mc.full({}, f.eps / 2, { dtype = d })):item())
      assert.equal(f.max, mc.full({}, f.max, { dtype = d }):item())
      assert.equal(math.huge, (mc.full({}, f.max, { dtype = d }) * 2):item())
      assert.equal(f.smallest_normal, mc.full({}, f.smallest_normal, { dtype = d }):item())
    end
    for _, d in ipairs { 'u8', 'i8', 'i16', 'i32', 'i64' } do
      local f = mc.iinfo(d)
      local top = sample.from({ 1 }, d, { 0LL + f.max })
      assert.is_true((top + 1)[1]:item() == f.min or tonumber((top + 1)[1]:item()) == tonumber(f.min), d)
    end
  end)
end)

describe('empty and 0-d tensors', function()
  -- a call and the shapes of its results; '' is 0-d
  local e, o, p = { 0, 3 }, {}, { 0 }
  local CALLS = {
    { 'flip', o, '' }, { 'flip', e, '0,3' }, { 'squeeze', o, '' }, { 'expand_dims', e, '1,0,3', 1 },
    { 'tile', p, '0', 3 }, { 'tile', o, '2,2', { 2, 2 } }, { 'tile', e, '0,0', { 2, 0 } }, { 'roll', o, '', 1 },
    { 'roll', e, '0,3', 1 }, { 'repeat_each', p, '0', 2 }, { 'repeat_each', o, '2', 2 },
    { 'repeat_each', e, '0,3', 2, 1 }, { 'unstack', e, '0 0 0', 2 }, { 'unstack', e, nil, 1 },
    { 'sort', e, '0,3' }, { 'argsort', p, '0' }, { 'unique_values', e, '0' }, { 'unique_counts', o, '1 1' },
    { 'unique_inverse', e, '0 0,3' }, { 'nonzero', e, '0 0' }, { 'take', e, '0,3', i64 {}, { axis = 1 } },
    { 'take', e, '0,2', i64 { 1, 3 }, { axis = 2 } }, { 'searchsorted', p, '2', mc.ones { 2 } },
    { 'cumulative_sum', p, '0' }, { 'cumulative_sum', e, '0,3', 1 },
    { 'cumulative_sum', p, '1', { include_initial = true } }, { 'cumulative_prod', e, '1,3', 1,
      { include_initial = true } }, { 'permute_dims', o, '', {} }, { 'permute_dims', e, '3,0', { 2, 1 } },
    { 'reshape', e, '3,0', { 3, 0 } }, { 'reshape', o, '1,1', { 1, 1 } }, { 'broadcast_to', o, '2,2', { 2, 2 } },
    { 'broadcast_to', p, '3,0', { 3, 0 } }, { 'moveaxis', e, '3,0', 1, 2 }, { 'matrix_transpose', e, '3,0' },
    { 'broadcast_arrays', o, '0 0', mc.zeros { 0 } }, { 'matmul', e, '0,2', mc.zeros { 3, 2 } }, { 'argmax', o, '' },
    { 'std', p, '' }, { 'prod', e, '3', 1 }, { 'max', e, '0', 2 }, { 'min', o, '' }, { 'clip', p, '0', 0, 1 },
    { 'astype', e, '0,3', 'i32' }, { 'index_add', p, '0', i64 {}, 1 }, { 'put', e, '0,3', i64 {}, 1 },
    { 'put', o, '', mc.tensor(true), 1 }, { 'where', p, '0', mc.zeros { 0 }, 1 },
  }
  teardown(function() -- the operands go with the tests
    for _, c in ipairs(CALLS) do for k = 4, 6 do c[k] = nil end end
  end)
  for _, c in ipairs(CALLS) do
    it(('of shape {%s} go through %s'):format(table.concat(c[2], ','), c[1]), function()
      local x = mc.zeros(c[2], { dtype = c[1] == 'where' and 'bool' or 'f64' })
      local r = { mc[c[1]](x, unpack(c, 4, 6)) }
      if type(r[1]) == 'table' and not mc.is_tensor(r[1]) then r = r[1] end
      local shapes = {}
      for i, t in ipairs(r) do shapes[i] = table.concat(t.shape, ',') end
      assert.equal(c[3] or '', table.concat(shapes, ' '))
    end)
  end

  it('join and stand in line', function()
    assert.equal('0', table.concat(mc.concat({ mc.zeros { 0 }, mc.zeros { 0 } }).shape, ','))
    assert.equal('2', table.concat(mc.concat({ mc.zeros { 0 }, mc.ones { 2 } }).shape, ','))
    assert.equal('2', table.concat(mc.stack({ mc.tensor(1), mc.tensor(2) }).shape, ','))
    same({ { 0, 0 }, { 0, 0 } }, mc.matmul(mc.zeros { 2, 0 }, mc.zeros { 0, 2 }))
    fails('concat: axis 1 is outside a result of 0 axes',
      function() return mc.concat { mc.tensor(1), mc.tensor(2) } end)
  end)
end)

describe('creation', function()
  it('linspace runs along complex numbers and with an open end', function()
    local z = mc.linspace(mc.complex(0, 1), mc.complex(1, -1), 5)
    assert.equal('c128', z.dtype)
    same({ 0, 0.25, 0.5, 0.75, 1 }, mc.real(z))
    same({ 1, 0.5, 0, -0.5, -1 }, mc.imag(z))
    same({ 0, 0.25, 0.5, 0.75 }, mc.real(mc.linspace(0, mc.complex(1, 0), 4, { endpoint = false, dtype = 'c64' })))
    same({ 0, 0.25, 0.5, 0.75 }, mc.linspace(0, 1, 4, { endpoint = false }))
    same({ 3 }, mc.linspace(3, 4, 1))
    same({}, mc.linspace(3, 4, 0))
    same({ 3, 2, 1 }, mc.linspace(3, 1, 3, { dtype = 'i32' }))
  end)

  it('arange holds both ends and counts down', function()
    same({ 5, 3, 1 }, mc.arange(5, 1, -2))
    same({}, mc.arange(2, 1))
    same({ 0, 0.1, 0.2, 0.1 * 3 }, mc.arange(0, 0.3, 0.1))
  end)

  it('full takes its dtype from the value', function()
    assert.equal('bool', mc.full({ 2 }, true).dtype)
    assert.equal('c128', mc.full({ 2 }, mc.complex(1, 1)).dtype)
    assert.equal('f32', mc.full_like(mc.zeros({ 2 }, { dtype = 'f32' }), 3).dtype)
    fails('fill_: 300 does not fit u8', mc.full_like, mc.zeros({ 2 }, { dtype = 'u8' }), 300)
  end)
end)

describe('clip', function()
  it('takes one bound, the other, both or none', function()
    local x = mc.tensor { -1, 0.5, 3, 0 / 0 }
    local function text(y) return table.concat(y:totable(), ' ') end
    assert.equal('-1 0.5 2 nan', text(mc.clip(x, nil, 2)):gsub('%-nan', 'nan'), nil)
    assert.equal('0 0.5 3 nan', text(mc.clip(x, 0)):gsub('%-nan', 'nan'), nil)
    assert.equal('0 0.5 2 nan', text(mc.clip(x, { min = 0, max = 2 })):gsub('%-nan', 'nan'), nil)
    assert.equal('0 0.5 2 nan', text(x:clip(0, mc.tensor(2))):gsub('%-nan', 'nan'), nil)
    local y = mc.clip(x)
    assert.is_false(y:shares_memory(x))
    local out = mc.zeros { 4 }
    mc.clip(x, nil, 2, { out = out })
    assert.equal(2, out[3]:item())
    fails('clip: option "mni" is unknown', mc.clip, x, { mni = 0, max = 1 })
  end)
end)

describe('statistics', function()
  it('of nothing are what the standard says', function()
    for _, d in ipairs { 'f32', 'f64' } do
      local x = mc.zeros({ 0, 3 }, { dtype = d })
      assert.equal(0, mc.sum(x):item())
      assert.equal(1, mc.prod(x):item())
      local mean, var = mc.mean(x):item(), mc.var(x):item()
      assert.is_true(mean ~= mean and var ~= var)
      same({ 0, 0, 0 }, mc.sum(x, 1))
      same({}, mc.sum(x, 2))
      fails('max: nothing to reduce', mc.max, x)
      fails('argmin: nothing to reduce', mc.argmin, x)
      assert.is_true(mc.all(x))
      assert.is_false(mc.any(x))
    end
    local one = mc.tensor(2.5)
    for _, f in ipairs { 'sum', 'prod', 'max', 'min', 'mean' } do assert.equal(2.5, mc[f](one):item()) end
    assert.equal(0, mc.var(one):item())
    local v = mc.var(one, { correction = 1 }):item()
    assert.is_true(v ~= v)
  end)

  it('carry NaN and infinities', function()
    local x = mc.tensor { 1, 0 / 0, math.huge }
    for _, f in ipairs { 'sum', 'prod', 'max', 'min', 'mean', 'var', 'std' } do
      local y = mc[f](x):item()
      assert.is_true(y ~= y, f)
    end
    local y = mc.tensor { math.huge, -math.huge }
    assert.is_true(mc.sum(y):item() ~= mc.sum(y):item())
    assert.equal(math.huge, mc.sum(mc.tensor { math.huge, 1 }):item())
    assert.equal(math.huge, mc.max(y):item())
  end)

  it('run in the dtype asked for', function()
    local x = mc.full({ 300 }, 16777217, { dtype = 'i64' })
    assert.equal(300 * 16777217, mc.sum(x, { dtype = 'f64' }):item())
    assert.equal('f32', mc.sum(x, { dtype = 'f32' }).dtype)
    local tenth = mc.full({ 1000 }, 0.1, { dtype = 'f32' })
    assert.is_true(
      math.abs(mc.sum(tenth, { dtype = 'f64' }):item() - 1000 * mc.full({}, 0.1, { dtype = 'f32' }):item()) < 1e-10)
    assert.equal(2, mc.sum(mc.tensor { 1.7, 1.7 }, { dtype = 'i32' }):item())
    assert.equal('i64', mc.sum(mc.ones({ 2 }, { dtype = 'u8' })).dtype)
    assert.equal('f64', mc.cumulative_sum(mc.ones({ 2 }, { dtype = 'i32' }), { dtype = 'f64' }).dtype)
    assert.equal('i64', mc.argmax(mc.tensor { 1.5, 1.7 }).dtype)
  end)

  it('cumulative_sum with the initial 0 writes where told and names the axis it lacks', function()
    local x = mc.ones { 2, 3 }
    local out = mc.zeros { 2, 4 }
    assert.is_true(rawequal(out, mc.cumulative_sum(x, { axis = 2, include_initial = true, out = out })))
    same({ { 0, 1, 2, 3 }, { 0, 1, 2, 3 } }, out)
    fails('cumulative_sum: operand is f64%[2,3%]@cpu; name the axis', mc.cumulative_sum, x)
    fails('cumulative_sum: out is f64%[2,3%]@cpu, the result is f64%[2,4%]', mc.cumulative_sum, x,
      { axis = 2, include_initial = true, out = mc.zeros { 2, 3 } })
    same({ { 0, 1 }, { 0, 1 }, { 0, 1 } }, mc.cumulative_sum(x.T['::, :1'], 2, { include_initial = true }))
  end)
end)

describe('searchsorted', function()
  it('takes a side and a sorter', function()
    local x, v = mc.tensor { 3, 1, 2, 2 }, mc.tensor { 2, 0, 9 }
    local order = mc.argsort(x)
    same({ 2, 1, 5 }, mc.searchsorted(x, v, { sorter = order }))
    same({ 4, 1, 5 }, mc.searchsorted(x, v, { sorter = order, side = 'right' }))
    same({ 3, 0, 4 }, mc.searchsorted(x, v, { sorter = mc.argsort(x, { base = 0 }), side = 'right', base = 0 }))
    same({ 2, 1, 5 }, mc.searchsorted(mc.sort(x), v, { side = 'left' }))
    fails('searchsorted: option side is \'middle\'; choose left, right', mc.searchsorted, x, v, { side = 'middle' })
  end)
end)

describe('transforms', function()
  it('over several axes invert each other and refuse bad axes', function()
    local x = mc.randn({ 3, 4, 5 }, { seed = 2 })
    local function close(a, b) assert.is_true(mc.allclose(a, b, { rtol = 0, atol = 1e-12 })) end
    close(mc.real(mc.fft.ifftn(mc.fft.fftn(x))), x)
    close(mc.fft.irfftn(mc.fft.rfftn(x), { s = { 3, 4, 5 } }), x)
    close(mc.fft.irfftn(mc.fft.rfftn(x, { axes = { 1, 2 } }), { axes = { 1, 2 }, s = { 3, 4 } }), x)
    close(mc.fft.hfft(mc.fft.ihfft(x), { n = 5 }), x)
    assert.is_true(mc.array_equal(mc.fft.ifftshift(mc.fft.fftshift(x)), x))
    assert.is_true(mc.array_equal(mc.fft.ifftshift(mc.fft.fftshift(x, { 1, 3 }), { axes = { 1, 3 } }), x))
    fails('fftn: axis 1 of .* is named twice', mc.fft.fftn, x, { axes = { 1, -3 } })
    fails('fftn: 2 lengths for 1 axes', mc.fft.fftn, x, { axes = { 1 }, s = { 2, 2 } })
    fails('rfftn: axis 4 is outside', mc.fft.rfftn, x, { axes = { 4 } })
    fails('irfftn: 4 lengths for', mc.fft.irfftn, x, { s = { 1, 1, 1, 1 } })
    fails('rfft: operand is c128', mc.fft.ihfft, mc.fft.fft(x))
    fails('fftfreq: n is 0', mc.fft.fftfreq, 0)
    fails('fftshift: axes are', mc.fft.fftshift, x, 'a')
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
