-- dlpack_device_spec.lua - tensors of devices handed over and taken as DLPack structs, and their memory shown to other
-- libraries of the process: on OpenCL and, in a process of its own, on the stand-in for CUDA.
--
-- The other library is the interface itself, called through the FFI: it reads and writes in streams of its own.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local ffi = require 'ffi'
local mc = require 'mascon'
local device, process, standin = support.load 'device', support.load 'process', support.load 'standin'
local host = require 'mascon.host'

local on = device.tests(it, pending)

ffi.cdef [[
typedef struct spec_dlpack_on {
  void *data; int32_t device_type, device_id; int32_t ndim; uint8_t code, bits; uint16_t lanes;
  int64_t *shape, *strides; uint64_t byte_offset;
  void *manager; void (*deleter)(struct spec_dlpack_on *);
} spec_dlpack_on;
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;
void *calloc(size_t, size_t);
int clGetCommandQueueInfo(void *, unsigned, size_t, void *, size_t *);
void *clCreateCommandQueue(void *, void *, uint64_t, int *);
void *clCreateContext(const intptr_t *, unsigned, void *const *, void *, void *, int *);
void *clCreateBuffer(void *, uint64_t, size_t, void *, int *);
int clEnqueueReadBuffer(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
int clEnqueueWriteBuffer(void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *, void *);
int clFinish(void *);
int cuStreamCreate(void **, unsigned);
int cuStreamSynchronize(void *);
int cuMemAlloc_v2(unsigned long long *, size_t);
int cuMemAllocHost_v2(void **, size_t);
int cuMemcpyHtoDAsync_v2(unsigned long long, const void *, size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, unsigned long long, size_t, void *);
]]
local STRUCT = ffi.typeof 'spec_dlpack_on *'

local function lasting(kind, n, values)
  local p = ffi.cast(kind .. ' *', ffi.C.calloc(n, ffi.sizeof(kind)))
  for i, v in ipairs(values or {}) do p[i - 1] = v end
  return p
end

local function fine(rc) if rc ~= 0 then error('code ' .. rc, 2) end end

-- CUDA as a library with a stream of its own: read(memory, offset, n) and write of doubles, new(n)
local function cuda(library)
  local cu, slot, pinned = ffi.load 'libcuda.so.1', ffi.new 'void *[1]', ffi.new 'void *[1]'
  fine(cu.cuStreamCreate(slot, 1))
  fine(cu.cuMemAllocHost_v2(pinned, 4096))
  local stream = slot[0]
  local function at(memory, offset) return ffi.cast('uintptr_t', memory) + offset end
  return {
    stream = stream,
    read = function(memory, offset, n)
      local out = ffi.new('double[?]', n)
      fine(cu.cuMemcpyDtoHAsync_v2(out, at(memory, offset), 8 * n, stream))
      fine(cu.cuStreamSynchronize(stream))
      return out
    end,
    write = function(memory, offset, values, queue)
      ffi.copy(pinned[0], ffi.new('double[?]', #values, values), 8 * #values)
      fine(cu.cuMemcpyHtoDAsync_v2(at(memory, offset), pinned[0], 8 * #values, queue or stream))
      if not queue then fine(cu.cuStreamSynchronize(stream)) end
    end,
    new = function(n)
      local p = ffi.new 'unsigned long long[1]'
      fine(cu.cuMemAlloc_v2(p, 8 * n))
      return ffi.cast('void *', ffi.cast('uintptr_t', p[0])), library
    end,
  }
end

local function opencl(queue)
  local cl, code, slot = ffi.load 'libOpenCL.so.1', ffi.new 'int[1]', ffi.new 'void *[2]'
  fine(cl.clGetCommandQueueInfo(queue, 0x1090, 8, slot, nil))
  fine(cl.clGetCommandQueueInfo(queue, 0x1091, 8, slot + 1, nil))
  local stream = cl.clCreateCommandQueue(slot[0], slot[1], 0, code)
  fine(code[0])
  return {
    stream = stream,
    read = function(memory, offset, n)
      local out = ffi.new('double[?]', n)
      fine(cl.clEnqueueReadBuffer(stream, memory, 1, offset, 8 * n, out, 0, nil, nil))
      return out
    end,
    write = function(memory, offset, values, at)
      fine(cl.clEnqueueWriteBuffer(at or stream, memory, 1, offset, 8 * #values,
        ffi.new('double[?]', #values, values), 0, nil, nil))
    end,
    new = function(n)
      local p = cl.clCreateBuffer(slot[0], 1, 8 * n, nil, code)
      fine(code[0])
      return p
    end,
    foreign = function(n)
      local other = cl.clCreateContext(nil, 1, slot + 1, nil, nil, code)
      fine(code[0])
      return cl.clCreateBuffer(other, 1, 8 * n, nil, code)
    end,
  }
end

local library
local function other(d)
  if not library then
    local _, _, queue = mc.ones({ 2 }, { device = d }):pointer()
    library = d:find '^cuda' and cuda(queue) or opencl(queue)
  end
  return library
end

-- The deleter, which is C: finalizers call it. deleted(): how often it ran since the last call.
local counter
local function deleted()
  if not counter then
    local folder = process.folder()
    local r = process.shell(([[cd '%s' && echo 'int spec_dropped; void spec_drop(void *p) { spec_dropped++; }' >d.c &&
      cc -shared -fPIC -o d.so d.c]]):format(folder))
    assert(r.status == 0, r.text)
    ffi.cdef 'extern int spec_dropped; void spec_drop(spec_dlpack_on *);'
    counter = ffi.load(folder .. '/d.so')
    process.remove(folder)
  end
  local n = counter.spec_dropped
  counter.spec_dropped = 0
  return n
end

-- A struct over memory of the other library, 12 doubles from 1 on unless `data` is given.
local function produced(d, fields)
  local s, lib = lasting('spec_dlpack_on', 1), other(d)
  s.data = fields.data or lib.new(12)
  if not fields.data then lib.write(s.data, 0, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }) end
  s.device_type, s.device_id = fields.device or d:find '^cuda' and 2 or 4, fields.id or 0
  s.ndim, s.code, s.bits, s.lanes = fields.ndim or #fields.shape, fields.code or 2, fields.bits or 64, 1
  s.shape, s.byte_offset = lasting('int64_t', 12, fields.shape), fields.offset or 0
  if fields.strides then s.strides = lasting('int64_t', 12, fields.strides) end
  if not counter then deleted() end
  s.deleter = counter.spec_drop
  return s
end

describe('x:dlpack on a device', function()
  on('gives memory that another library reads, with and without its stream', function(d)
    local lib = other(d)
    for _, stream in ipairs { false, lib.stream } do
      local x = mc.arange(1, 4000):to(d)
      local y = (x * 2 + 1)[{ { 101, 104 } }]
      local p = y:dlpack(stream or nil)
      local s = ffi.cast(STRUCT, p)
      assert.same({ d:find '^cuda' and 2 or 4, 0, 1, 2, 64, 1 },
        { s.device_type, s.device_id, s.ndim, s.code, s.bits, tonumber(s.strides[0]) })
      local seen = lib.read(s.data, s.byte_offset, 4)
      assert.same({ 203, 205, 207, 209 }, { seen[0], seen[1], seen[2], seen[3] })
    end
    local x = mc.ones({ 4 }, { device = d }) * 3
    assert.is_true(pcall(x.dlpack, x, -1))
  end)

  on('keeps views as they lie, and takes them back in the same memory', function(d)
    local x = mc.arange(60):reshape(5, 12):to(d)
    for _, v in ipairs { x.T, x['::2, 3:9:2'], x['::-1, ::-3'], x[{ { 3, 2 } }], x[2][3], x } do
      local y = mc.from_dlpack(v:dlpack())
      assert.equal(d, y.device)
      assert.same(v.shape, y.shape)
      assert.is_true(mc.array_equal(v:to 'cpu', y:to 'cpu'))
    end
    local y = mc.from_dlpack(x)
    assert.is_true(x:shares_memory(y))
    y:fill_(7)
    assert.equal(7 * 60, x:sum():item())
    -- operands that overlap are seen as such
    local z = mc.arange(1, 6):to(d)
    z[{ { 2, 6 } }]:copy_(mc.from_dlpack(z)[{ { 1, 5 } }])
    assert.same({ 1, 1, 2, 3, 4, 5 }, z:to 'cpu':totable())
  end)

  on('holds memory flat over a thousand round trips', function(d)
    local x, lib = mc.ones({ 1000 }, { device = d }), other(d)
    local s = produced(d, { shape = { 12 } })
    deleted()
    local function trips(n)
      for i = 1, n do
        mc.scope(function()
          local y = mc.from_dlpack((x * i):dlpack(i % 2 == 0 and lib.stream or nil))
          local z = mc.from_dlpack(y[{ { 2, 5 } }])
          if i % 100 == 0 then assert.equal(4 * i, z:sum():item()) end
          local w = mc.from_dlpack(ffi.cast('void *', s))
          if i % 100 == 0 then assert.equal(78, w:sum():item()) end
        end)
      end
      collectgarbage()
      collectgarbage()
      return { mc.memory({ device = d }).tensors, mc.memory().tensors, mc.memory().blocks }
    end
    trips(100)
    local before = trips(20)
    deleted()
    assert.same(before, trips(1000))
    assert.equal(1000, deleted())
  end)

  on('refuses streams that are none', function(d)
    local x = mc.ones({ 2 }, { device = d })
    for _, wrong in ipairs { 0, -2, 1.5, 'x', {}, true } do
      assert.matches('dlpack: stream is .*the host waits', support.message(function() return x:dlpack(wrong) end))
    end
    local number = d:find '^opencl' and 1 or d:find '^cuda' and 3
    if number then
      for _, f in ipairs { x.dlpack, x.pointer } do
        assert.matches(('stream %d is .*as a pointer, or none'):format(number),
          support.message(function() return f(x, number) end))
      end
    end
    assert.matches('dlpack: the tensor is in host memory, which has no streams',
      support.message(function() return mc.ones { 2 }:dlpack(1) end))
    assert.is_true(pcall(function() return mc.ones { 2 }:dlpack(-1) end))
    local wide = mc.broadcast_to(mc.ones({ 1, 3 }, { device = d }), { 4, 3 })
    assert.matches('dlpack: .* may only be read', support.message(function() return wide:dlpack() end))
    local gone = mc.ones({ 3 }, { device = d })
    gone:release()
    assert.matches('was released', support.message(function() return gone:dlpack() end))
  end)
end)

describe('mc.from_dlpack on a device', function()
  on('takes memory of another library, keeps it, and calls its deleter once', function(d)
    deleted()
    local s = produced(d, { shape = { 2, 3 }, strides = { 1, 2 }, offset = 16 })
    local t = mc.from_dlpack(s)
    assert.equal(d, t.device)
    assert.same({ { 3, 5, 7 }, { 4, 6, 8 } }, t:to 'cpu':totable())
    assert.equal(66, (t * 2):sum():item())
    t:fill_(5)
    t:pointer() -- waits for that
    local seen = other(d).read(s.data, 0, 12)
    assert.same({ 2, 5, 5, 9 }, { seen[1], seen[2], seen[7], seen[8] })
    local v, used = t[2], t * 2
    t:release()
    assert.equal(0, deleted())
    assert.equal(15, v:sum():item())
    v:release()
    assert.equal(1, deleted())
    assert.equal(60, used:sum():item())
    s = produced(d, { shape = { 12 } })
    local a, b = mc.from_dlpack(s), mc.from_dlpack(produced(d, { shape = { 6 }, data = s.data, offset = 48 }))
    assert.is_true(a:shares_memory(b))
    assert.is_true(pcall(function() return a + 1 end))
    a:release()
    assert.equal(1, deleted())
    assert.equal(57, b:sum():item())
    b:release()
    assert.equal(1, deleted())
    assert.same({ 0, 3 }, mc.from_dlpack(produced(d, { shape = { 0, 3 } })).shape)
  end)

  on('makes overlapping elements read-only', function(d)
    for _, strides in ipairs { { 0, 1 }, { 1, 1 } } do
      local t = mc.from_dlpack(produced(d, { shape = { 3, 3 }, strides = strides }))
      assert.is_false(pcall(t.fill_, t, 0))
      assert.equal(1, t[{ 1, 1 }]:item())
    end
  end)

  on('refuses other devices, strides, places and versions with words, and leaves the struct alone', function(d)
    deleted()
    local kind = d:match '^%a+'
    local cases = {
      { { shape = { 2 }, id = 7 }, 'lies on ' .. kind .. ':7, which this process has not opened; make a tensor there' },
      { { shape = { 2 }, device = 10 }, "a device of DLPack's type 10; copy it to the CPU" },
      { { shape = { 13 } }, 'the strides reach outside of the memory on ' .. d .. ', which has 96 bytes' },
      { { shape = { 3 }, strides = { -1 } }, 'the strides reach outside' },
      { { shape = { 2, 2 }, strides = { 11, 1 } }, 'the strides reach outside' },
      { { shape = { 3 }, strides = { 2 ^ 62 } }, 'pass 64 bits' },
      { { shape = { 2 }, offset = 4 }, 'does not lie at a multiple of its 8 bytes' },
      { { shape = { 2 }, code = 1, bits = 16 }, 'have no dtype here' },
      { { shape = { 1 }, ndim = 9 }, 'has 9 axes; at most 8' },
      { { shape = { 1 }, data = ffi.cast('void *', 1) }, 'that of a DLManagedTensorVersioned %(version 1.0%)' },
    }
    for _, c in ipairs(cases) do
      assert.matches(c[2], support.message(function() return mc.from_dlpack(produced(d, c[1])) end))
    end
    assert.matches('the struct is of DLPack 0.0; ask its producer for version 1', support.message(function()
      return mc.from_dlpack(ffi.cast('DLManagedTensorVersioned *', lasting('spec_dlpack_on', 1)))
    end))
    local lib = other(d)
    local wrong = lib.foreign and lib.foreign(4) or lasting('double', 4)
    assert.matches(lib.foreign and 'belongs to another context' or 'is no memory of', support.message(function()
      return mc.from_dlpack(produced(d, { shape = { 2 }, data = wrong }))
    end))
    assert.equal(0, deleted())
  end)
end)

describe('x:pointer', function()
  on('shows memory and the queue in which work on it is in order', function(d)
    local lib = other(d)
    local x = mc.arange(1, 8):to(d) * 2
    local p, offset, queue = x:pointer()
    local seen = lib.read(p, offset, 8)
    assert.same({ 2, 16 }, { seen[0], seen[7] })
    local v = x['::-1']
    local q, from = v:pointer(-1)
    assert.equal(56, tonumber(ffi.cast('intptr_t', q) - ffi.cast('intptr_t', p)) + from - offset)
    lib.write(p, offset, { 9, 8, 7, 6, 5, 4, 3, 2 }, queue)
    assert.equal(44 * 10, (x * 10):sum():item())
  end)

  it('is an address on the CPU, also of a small tensor, and refused on a device of tests', function()
    local x = mc.ones { 3 }
    local p, offset, queue = x:pointer()
    assert.same({ 0, true }, { offset, queue == nil })
    ffi.cast('double *', p)[1] = 5
    assert.equal(7, x:sum():item())
    assert.matches('pointer: the tensor is in host memory', support.message(function() return x:pointer(1) end))
    assert.matches('has no form for ref:0 yet', support.message(function() return x:to 'ref':pointer() end))
    assert.matches('not known yet', support.message(mc.vmap(function(y) return y, y:pointer() end), mc.ones { 2, 3 }))
  end)
end)

describe('the exchange', function()
  it('holds on the stand-in for CUDA as well', function()
    if (os.getenv 'MASCON_TEST_DEVICE' or ''):find '^cuda' then return end
    local folder, why = standin.folder()
    if not folder then return pending(why) end
    local r = process.shell(("%s timeout 300 '%s' '%s/run.lua' dlpack_device"):format(standin.environment(),
      host.program or arg[-1], support.folder))
    assert.equal(0, r.status, r.text)
    assert.is_truthy(r.text:find ' 0 pending', r.text)
  end)
end)
