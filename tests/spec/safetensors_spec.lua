-- safetensors_spec.lua - files of named tensors as networks are exchanged: the same bits back, and hostile headers.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local mc = require 'mascon'
local folder = process.folder()
local path = folder .. '/a.safetensors'

--- A file of these bytes: a header, then data.
local function written(head, data, length)
  local n, bytes = length or #head, {}
  for i = 1, 8 do
    bytes[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  assert(mc.file.write(path, table.concat(bytes) .. head .. (data or '')))
  return path
end

describe('a safetensors file', function()
  it('gives tensors of each dtype back with the same bits (nn C31)', function()
    local all = { ['a.weight'] = mc.randn { 3, 4, seed = 1 }, none = mc.zeros { 0, 3, dtype = 'f32' },
      one = mc.tensor(7), turned = mc.randn({ 5, 2 }, { seed = 2 }).T, ['"é'] = mc.tensor { 1, -0.0, mc.nan, mc.inf } }
    for _, dtype in ipairs { 'bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'c64' } do
      all[dtype] = mc.tensor { 0, 1, 1, 0, 1 }:to(dtype)
    end
    mc.save(path, all, { metadata = { format = 'mascon', ['b"'] = '' } })
    local back, texts = mc.load(path)
    assert.same({ format = 'mascon', ['b"'] = '' }, texts)
    for name, t in pairs(all) do
      local u = back[name]
      assert.equal(t.dtype, u.dtype)
      assert.equal(tostring(t.shape), tostring(u.shape))
      assert.equal(tostring(t), tostring(u))
      if t.dtype ~= 'c64' then assert.is_true(mc.array_equal(t, u, { equal_nan = true })) end
      back[name] = nil
    end
    assert.equal(nil, next(back))
  end)

  it('holds a network', function()
    local net = mc.nn.Sequential { mc.nn.Linear(3, 4), mc.nn.BatchNorm1d(4) }
    net:save(path)
    local other = mc.nn.Sequential { mc.nn.Linear(3, 4), mc.nn.BatchNorm1d(4) }:load(path)
    for name, t in pairs(net:state_dict()) do assert.is_true(mc.array_equal(t, other:state_dict()[name])) end
  end)

  it('of another program is read: header and data as the format prints them', function()
    local t = mc.load(written([[{"__metadata__":{"x":"y"},"b":{"dtype":"I32","shape":[2],"data_offsets":[4,12]},]]
      .. [["a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   ]], '\0\0\128\63\1\0\0\0\254\255\255\255'))
    assert.equal(1, t.a:item())
    assert.same({ 1, -2 }, t.b:totable())
    assert.equal(nil, next((mc.load(written '{}'))))
  end)

  it('that lies is refused in words', function()
    local function refused(words, head, data, length)
      local text = support.message(mc.load, written(head, data, length))
      assert(text:find(words, 1, true) and text:find(path, 1, true), text)
    end
    local function one(dtype, shape, offsets)
      return ('{"a":{"dtype":%s,"shape":%s,"data_offsets":%s}}'):format(dtype, shape, offsets)
    end
    refused('its header would have 9223372036854775808 bytes', '{}', '', 2 ^ 63)
    refused('its header would have 100 bytes', '{}', '', 100)
    refused('its header: ', '{')
    refused('needs dtype, shape and data_offsets', '{"a":3}')
    refused("has the dtype 'F8_E4M3', which is not read", one('"F8_E4M3"', '[1]', '[0,1]'), 'x')
    refused('has the size -1', one('"F32"', '[-1]', '[0,4]'), '1234')
    refused('has the size 1.5', one('"F32"', '[1.5]', '[0,4]'), '1234')
    refused('is larger than any file', one('"F32"', '[4294967296,4294967296,4294967296]', '[0,4]'), '1234')
    refused('its 8 bytes do not fit them', one('"F32"', '[2]', '[0,4]'), '1234')
    refused('its 4 bytes do not fit them', one('"F32"', '[1]', '[4,0]'), '1234')
    refused('begins at byte 4 of the data, where 0 is due', one('"F32"', '[1]', '[4,8]'), '12345678')
    refused('it has 8 bytes of data, its header says 4', one('"F32"', '[1]', '[0,4]'), '12345678')
    refused('it has 3 bytes of data, its header says 4', one('"F32"', '[1]', '[0,4]'), '123')
    refused('begins at byte 0 of the data, where 4 is due', '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
      .. '"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', '1234')
    refused('holds bytes that are no bool', one('"BOOL"', '[2]', '[0,2]'), '\1\2')
    refused('has 9 axes', one('"U8"', '[1,1,1,1,1,1,1,1,1]', '[0,1]'), 'x')
    refused('__metadata__ is no table of texts', '{"__metadata__":{"a":1}}')
    mc.file.write(path, 'abc')
    assert(support.message(mc.load, path):find('it ends within its header', 1, true))
    assert(support.message(mc.save, path, { a = mc.zeros { 1, dtype = 'c128' } }):find('does not hold', 1, true))
    assert(support.message(mc.save, path, mc.zeros { 1 }):find('holds a table of tensors', 1, true))
  end)
end)

teardown(function() process.remove(folder) end)
