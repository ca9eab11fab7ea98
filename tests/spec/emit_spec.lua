-- emit_spec.lua - runtime/ops/emit.lua: rows of the op table as text of a dialect.
local lib = require 'mascon.core.ffi'
local emit = require 'mascon.gen.emit'
local scalar = require 'mascon.gen.scalar'

local dtypes, rows = {}, {}
for _, d in ipairs(lib.gen.dtypes) do dtypes[d[1]] = d end
for _, r in ipairs(lib.gen.ops) do rows[r[1]] = r end

describe('emit', function()
  local C, device = emit.new('c', dtypes, lib.gen.ops), emit.new('device', dtypes, lib.gen.ops)

  it('prints a tree for a dtype', function()
    local function text(formula, d, names) return C.expr(scalar.parse(formula), dtypes[d], names) end
    assert.equal('((a * b) + 1.0f)', text('a * b + 1', 'f32'))
    assert.equal('((a * b) + 1.0)', text('a * b + 1', 'f64'))
    assert.equal('((x < 0.0) ? (-x) : mck_exp_f64(x))', text('a < 0 ? -a : exp(a)', 'f64', { a = 'x' }))
    assert.equal('mck_mul_c64(a, mck_make_c64(2, 0))', text('a * 2', 'c64'):gsub('%s+', ' '))
    assert.equal('(int32_t)((uint32_t)a + (uint32_t)b)', text('a + b', 'i32'))
  end)

  it('gives the parts of an element of a row', function()
    local e = C.element(rows.sin, dtypes.f32, { 'x' })
    assert.equal('(float)mck_sin_f32(x)', e.value)
    assert.equal('MCK_NEEDS_FIX_sin_f32(x) ? mck_sin_f32_slow(x) : mck_sin_f32(x)', e.careful)
    assert.is_true(e.heavy)
    assert.is_nil(e.forbidden)
    e = C.element(rows.floor_divide, dtypes.i64, { 'x', 'y' })
    assert.equal('y == 0', e.forbidden)
    assert.is_nil(e.test)
    assert.equal('bool', C.element(rows.lt, dtypes.f64, { 'x', 'y' }).dtype[1])
    assert.is_false(C.element(rows.sqrt, dtypes.f64, { 'x' }).heavy)
    assert.is_true(C.element(rows.gammainc, dtypes.f64, { 'x', 'y' }).special)
  end)

  it('differs between dialects in complex numbers alone', function()
    assert.equal('(mck_c64){(float)v, 0}', C.cast('v', dtypes.f64, dtypes.c64))
    assert.equal('mck_make_c64((float)v, 0)', device.cast('v', dtypes.f64, dtypes.c64))
    for _, from in ipairs(lib.gen.dtypes) do
      for _, to in ipairs(lib.gen.dtypes) do
        local text = device.cast('v', from, to)
        assert.is_nil(text:find('{', 1, true), text)
        if to.kind ~= 'c' then assert.equal(C.cast('v', from, to), text) end
      end
    end
    local count = 0
    for _, r in ipairs(lib.gen.ops) do
      if r.expr then
        for _, name in ipairs(r.dtypes) do
          local d = dtypes[name]
          if not d.compute then
            local x = { 'x', 'y', 'z' }
            assert.same(C.element(r, d, x), device.element(r, d, x), r[1] .. ' ' .. name)
            count = count + 1
          end
        end
      end
    end
    assert.is_true(count > 400, count)
  end)

  it('refuses a dialect that is none', function()
    assert.has_error(function() emit.new('fortran', dtypes) end, 'emit: there is no dialect fortran')
  end)
end)
