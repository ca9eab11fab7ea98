-- dlpack_spec.lua - tensors handed over and taken as DLPack structs.
--
-- The struct is declared here as dlpack.h has it, so that the layout of runtime/tensor/mc_dlpack.c is held to the
-- published one; tests/c/dlpack.c does the same from C.
local here = debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests'
local process = dofile(here .. '/support/init.lua').load 'process'
local ffi = require 'ffi'
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'

ffi.cdef [[
typedef struct spec_dlpack {
  void *data; int32_t device_type, device_id; int32_t ndim; uint8_t code, bits; uint16_t lanes;
  int64_t *shape, *strides; uint64_t byte_offset;
  void *manager; void (*deleter)(struct spec_dlpack *);
} spec_dlpack;
typedef struct spec_DLManagedTensorVersioned {
  uint32_t major, minor; void *manager; void (*deleter)(struct spec_DLManagedTensorVersioned *); uint64_t flags;
  void *data; int32_t device_type, device_id; int32_t ndim; uint8_t code, bits; uint16_t lanes;
  int64_t *shape, *strides; uint64_t byte_offset;
} spec_DLManagedTensorVersioned;
void *calloc(size_t, size_t);
]]
local STRUCT = ffi.typeof 'spec_dlpack *'
local CODES = {
  bool = { 6, 8 }, u8 = { 1, 8 }, i8 = { 0, 8 }, i16 = { 0, 16 }, i32 = { 0, 32 }, i64 = { 0, 64 }, f16 = { 2, 16 },
  bf16 = { 4, 16 }, f32 = { 2, 32 }, f64 = { 2, 64 }, c64 = { 5, 64 }, c128 = { 5, 128 },
}

--- Memory of C's for what a tensor takes over: the collector frees Lua's structs before the finalizers of tensors look
--- at them. Never freed.
local function lasting(kind, n, values)
  local p = ffi.cast(kind .. ' *', ffi.C.calloc(n, ffi.sizeof(kind)))
  for i, v in ipairs(values or {}) do p[i - 1] = v end
  return p
end

--- A struct of our own over an array: fields as given, the deleter absent.
local function produced(fields)
  local s = lasting('spec_dlpack', 1)
  s.data = lasting('double', 16, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 })
  s.device_type, s.ndim, s.code, s.bits, s.lanes = fields.device or 1, fields.ndim or #fields.shape, fields.code or 2,
    fields.bits or 64, fields.lanes or 1
  s.shape, s.byte_offset = lasting('int64_t', 12, fields.shape), fields.offset or 0
  if fields.strides then s.strides = lasting('int64_t', 12, fields.strides) end
  return s
end
local function message(f, ...)
  local ok, text = pcall(f, ...)
  assert.is_false(ok)
  return text
end

describe('x:dlpack', function()
  it('hands over every dtype, shape and strides, and takes them back without a copy', function()
    for dtype, code in pairs(CODES) do
      local x = (mc.remainder(mc.arange(24):reshape { 2, 3, 4 }, 2)):to(dtype)
      local p = x:dlpack()
      local s = ffi.cast(STRUCT, p)
      assert.same({ code[1], code[2], 1, 1, 3 }, { s.code, s.bits, s.lanes, s.device_type, s.ndim })
      local y = mc.from_dlpack(p)
      assert.equal(dtype, y.dtype)
      assert.is_true(mc.array_equal(x, y), dtype)
      y:fill_(1)
      assert.is_true(mc.all(mc.eq(x, mc.ones({ 2, 3, 4 }, { dtype = dtype }))), dtype .. ' shares memory')
    end
  end)

  it('keeps views as they lie: transposed, every second, backwards, of no element, of one', function()
    local x = mc.arange(60):reshape { 5, 12 }
    for _, v in ipairs { x.T, x['::2, 3:9:2'], x['::-1, ::-3'], x[{ { 3, 2 } }], x[2][3], x } do
      local y = mc.from_dlpack(v:dlpack())
      assert.same(v.shape, y.shape)
      assert.is_true(mc.array_equal(v, y))
    end
    local half = ffi.cast(STRUCT, x['::2, 3:9:2']:dlpack())
    assert.same({ 24, 2 }, { tonumber(half.strides[0]), tonumber(half.strides[1]) })
  end)

  it('holds the memory until the struct goes, and the taken tensor until its last view goes', function()
    collectgarbage()
    collectgarbage()
    local before = mc.memory().tensors
    local x = mc.ones { 1000, 100 }
    local y
    do
      local p = x:dlpack()
      x:release()
      assert.equal(before + 800000, mc.memory().tensors)
      y = mc.from_dlpack(p)
    end
    local v = y[7]
    y:release()
    assert.equal(100, v:sum():item())
    v:release()
    assert.equal(before, mc.memory().tensors)
    x = mc.ones { 1000, 100 }
    x:dlpack() -- never taken: the collector gives it back
    x:release()
    assert.equal(before + 800000, mc.memory().tensors)
    collectgarbage()
    collectgarbage()
    assert.equal(before, mc.memory().tensors)
  end)

  it('hands over version 1 with the flag of what may only be read', function()
    local NEW = ffi.typeof 'spec_DLManagedTensorVersioned *'
    for dtype, code in pairs(CODES) do
      local x = (mc.remainder(mc.arange(24):reshape { 2, 3, 4 }, 2)):to(dtype)
      local p = x:dlpack(nil, 1)
      local s = ffi.cast(NEW, p)
      assert.same({ 1, 0, code[1], code[2], 1, 1, 3, 0 },
        { s.major, s.minor, s.code, s.bits, s.lanes, s.device_type, s.ndim, tonumber(s.flags) })
      local y = mc.from_dlpack(p)
      assert.is_true(mc.array_equal(x, y), dtype)
      y:fill_(1)
      assert.is_true(mc.all(mc.eq(x, mc.ones({ 2, 3, 4 }, { dtype = dtype }))), dtype .. ' shares memory')
    end
    local x = mc.tensor { { 1, 2, 3 } }
    local p = mc.broadcast_to(x, { 4, 3 }):dlpack(nil, 1)
    assert.equal(1, tonumber(ffi.cast(NEW, p).flags))
    assert.equal(0, tonumber(ffi.cast(NEW, p).strides[0]))
    local y = mc.from_dlpack(p)
    assert.is_false(pcall(y.fill_, y, 0))
    assert.equal(24, y:sum():item())
    assert.is_false(pcall(mc.from_dlpack(mc.broadcast_to(x, { 4, 3 })).fill_, y, 0))
    assert.truthy(message(function() return x:dlpack(nil, 2) end):find('dlpack: version is 2; give 0', 1, true))
  end)

  it('exchanges version 1 with NumPy and PyTorch, where Python has them (PEERS: its virtual environment)', function()
    local python = os.getenv 'PEERS' and os.getenv 'PEERS' .. '/bin/python' or 'python3'
    local ran = 0
    for _, peer in ipairs { 'numpy', 'torch' } do
      if process.shell(("'%s' -c 'import %s'"):format(python, peer)).status == 0 then
        ran = ran + 1
        local r = process.shell(("'%s' '%s/support/dlpack_peer.py' '%s/libmascon.so' %s"):format(python, here,
          require 'mascon.host'.libdir, peer))
        assert.equal(0, r.status, r.text)
        assert.matches('%d+ passed, 0 failed\n$', r.text)
      end
    end
    if ran == 0 then pending(python .. ' has neither NumPy nor PyTorch') end
  end)

  it('refuses what DLPack cannot say, with words', function()
    local text = message(function() return mc.broadcast_to(mc.ones { 1, 3 }, { 4, 3 }):dlpack() end)
    assert.truthy(text:find('dlpack: f64[4,3]@cpu may only be read', 1, true), text)
    assert.truthy(text:find('ask for version 1 or copy it first', 1, true), text)
    local x = mc.ones { 3 }
    x:release()
    assert.truthy(message(function() return x:dlpack() end):find('was released', 1, true))
    text = message(mc.vmap(function(v)
      v:dlpack()
      return v
    end), mc.ones { 2, 3 })
    assert.truthy(text:find('dlpack: ', 1, true) and text:find('not known yet', 1, true), text)
  end)
end)

describe('mc.from_dlpack', function()
  it('takes a tensor, and a struct of another producer with offset, strides or none', function()
    local x = mc.arange(6)
    mc.from_dlpack(x)[1] = 10
    assert.equal(10, x[1]:item())
    local s = produced { shape = { 2, 3 } }
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, mc.from_dlpack(s):totable())
    s = produced { shape = { 2, 3 }, strides = { 1, 2 }, offset = 16 }
    assert.same({ { 3, 5, 7 }, { 4, 6, 8 } }, mc.from_dlpack(ffi.cast('void *', s)):totable())
    s = produced { shape = { 0, 3 } }
    s.data = nil
    assert.same({ 0, 3 }, mc.from_dlpack(s).shape)
    s = produced { shape = {} }
    assert.equal(1, mc.from_dlpack(s):item())
  end)

  it('takes version 1: what it may only read, its deleter, no later version', function()
    local function new(flags, major)
      local s = lasting('spec_DLManagedTensorVersioned', 1)
      s.major, s.minor, s.flags = major or 1, 3, flags
      s.data, s.device_type, s.ndim, s.code, s.bits, s.lanes = lasting('double', 4, { 1, 2, 3, 4 }), 1, 1, 2, 64, 1
      s.shape = lasting('int64_t', 1, { 4 })
      return s
    end
    local dropped = 0
    local free = ffi.cast('void (*)(spec_DLManagedTensorVersioned *)', function() dropped = dropped + 1 end)
    local s = new(0)
    s.deleter = free
    local t = mc.from_dlpack(s)
    t[1] = 7
    assert.equal(7, s.data ~= nil and ffi.cast('double *', s.data)[0])
    t:release()
    collectgarbage() -- what wrote the element is a view
    collectgarbage()
    assert.equal(1, dropped)
    s = new(3) -- only to be read, and a copy
    t = mc.from_dlpack(s)
    assert.is_false(pcall(t.fill_, t, 0))
    assert.equal(10, t:sum():item())
    t:release()
    assert.truthy(message(mc.from_dlpack, new(0, 2)):find('the struct is of DLPack 2.3; ask its producer', 1, true))
    assert.truthy(message(mc.from_dlpack, ffi.cast('void *', new(0))):find('seems to be that of a '
      .. 'DLManagedTensorVersioned (version 1.3); cast it', 1, true))
    free:free()
  end)

  it('makes overlapping elements read-only', function()
    for _, strides in ipairs { { 0, 1 }, { 1, 1 }, { 2, 1 } } do
      local s = produced { shape = { 3, 3 }, strides = strides }
      local t = mc.from_dlpack(s)
      assert.is_false(pcall(t.fill_, t, 0), table.concat(strides, ','))
      assert.equal(1, t[{ 1, 1 }]:item())
    end
    local s = produced { shape = { 3, 3 }, strides = { 3, 1 } }
    assert.equal(0, mc.from_dlpack(s):fill_(0):sum():item())
  end)

  it('refuses other devices, dtypes, ranks, addresses and operands with words', function()
    for what, fields in pairs {
      ['device of DLPack\'s type 10; copy it to the CPU'] = { shape = { 2 }, device = 10 },
      ['lies on cuda:0, which this process has not opened'] = { shape = { 2 }, device = 2 },
      ['type code 1 with 16 bits and 1 lanes have no dtype'] = { shape = { 2 }, code = 1, bits = 16 },
      ['type code 1 with 64 bits'] = { shape = { 2 }, code = 1 }, ['and 4 lanes'] = { shape = { 2 }, lanes = 4 },
      ['has 9 axes; at most 8'] = { shape = { 1 }, ndim = 9 }, ['a size is -2'] = { shape = { -2 } },
      ['does not lie at a multiple of its 8 bytes'] = { shape = { 2 }, offset = 4 },
    } do
      local s = produced(fields)
      local text = message(mc.from_dlpack, s)
      assert.truthy(text:find('from_dlpack: ', 1, true) and text:find(what, 1, true), text)
    end
    assert.truthy(message(mc.from_dlpack, ffi.cast('void *', nil)):find('the pointer is NULL', 1, true))
    for _, wrong in ipairs { 3, 'x', {}, ffi.new 'double' } do
      assert.truthy(message(mc.from_dlpack, wrong):find('give a pointer', 1, true))
    end
    local p = mc.ones { 2 }:dlpack()
    mc.from_dlpack(p)
    assert.truthy(message(mc.from_dlpack, p):find('was taken before', 1, true))
  end)

  it('goes on with the derivative where the struct is of a tensor that is differentiated', function()
    local x = mc.tensor { { 1, 2 }, { 3, 4 } }
    for _, of in ipairs { mc.from_dlpack, function(v) return mc.from_dlpack(v:dlpack()) end,
      function(v) return mc.from_dlpack(v.mT:dlpack(nil, 1)).mT end } do
      local function f(v) return mc.sum(mc.square(of(v * 1))) end
      assert.same({ { 2, 4 }, { 6, 8 } }, mc.grad(f)(x):totable())
      assert.equal(60, (select(2, mc.jvp(f, { x }, { x }))):item())
    end
    local p
    mc.grad(function(v)
      p = v:dlpack()
      return mc.sum(mc.from_dlpack(p))
    end)(x)
    assert.truthy(message(mc.from_dlpack, p):find('was taken before', 1, true))
  end)

  it('leaves a refused struct and its memory to their owner', function()
    collectgarbage()
    collectgarbage()
    local before = mc.memory().tensors
    do
      local p = mc.ones { 1000, 100 }:dlpack()
      ffi.cast(STRUCT, p).device_type = 2
      assert.is_false(pcall(mc.from_dlpack, p))
    end
    collectgarbage()
    collectgarbage()
    assert.equal(before, mc.memory().tensors)
  end)

  it('gives back under every failing allocation', function()
    for n = 1, 20 do
      local x = mc.ones { 300 }
      lib.C.mc_test_fail_alloc(n)
      local ok, p = pcall(x.dlpack, x)
      local done = ok and pcall(mc.from_dlpack, p)
      lib.C.mc_test_fail_alloc(0)
      if done then return end
    end
    error 'no attempt succeeded'
  end)
end)
