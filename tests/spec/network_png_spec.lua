-- network_png_spec.lua - PNG files against Pillow, and files that are cut or changed.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local mc = require 'mascon'
local crc32 = require 'mascon.base.crc'.crc32
local png = mc.nn.data.png
local folder = process.folder()
local path = folder .. '/a.png'

local function bytes_of(t)
  local out = {}
  for i, b in ipairs(t:totable()) do out[i] = string.char(b) end
  return table.concat(out)
end
local function refused(text, words)
  process.write(path, text)
  local e = support.message(png, path)
  assert(e:find('nn.data.png: ' .. path, 1, true) and e:find(words or '', 1, true), e)
end

local function be32(n)
  local out = {}
  for i = 4, 1, -1 do out[i], n = string.char(n % 256), math.floor(n / 256) end
  return table.concat(out)
end
--- With sums that fit what its parts hold, as far as there are parts.
local function mended(text)
  local at = 9
  while at + 11 <= #text do
    local a, b, c, d = text:byte(at, at + 3)
    local last = at + 7 + ((a * 256 + b) * 256 + c) * 256 + d
    if last + 4 > #text then break end
    text = text:sub(1, last) .. be32(crc32(text:sub(at + 4, last)) % 2 ^ 32) .. text:sub(last + 5)
    at = last + 5
  end
  return text
end

describe('a PNG file', function()
  local file = mc.load(support.folder .. '/golden/png.npz')
  local names = {}
  for name in pairs(file) do if name ~= 'about' and not name:find '_pixels$' then names[#names + 1] = name end end
  table.sort(names)

  it('is read as Pillow reads it', function()
    assert.equal(12, #names)
    for _, name in ipairs(names) do
      process.write(path, bytes_of(file[name]))
      local got = png(path)
      assert.equal(tostring(file[name .. '_pixels'].shape), tostring(got.shape), name)
      assert.is_true(mc.array_equal(file[name .. '_pixels'], got), name)
    end
  end)

  it('that is cut or changed gives an image or an error in words', function()
    local draws = mc.randint(0, 2 ^ 30, { 600 }, { seed = 11 }):totable()
    local errors = 0
    for k = 1, 300 do
      local text = bytes_of(file[names[k % #names + 1]])
      local at, b = draws[k] % #text + 1, draws[300 + k] % 256
      local changed = k % 5 == 0 and text:sub(1, at - 1) or text:sub(1, at - 1) .. string.char(b) .. text:sub(at + 1)
      process.write(path, k % 3 > 0 and mended(changed) or changed)
      local ok, why = pcall(png, path)
      if not ok then
        errors = errors + 1
        assert(tostring(why):find('nn.data.png: ' .. path, 1, true), why)
      end
    end
    assert(errors > 100, errors)
  end)

  it('with another sum than its data have is refused', function()
    for _, name in ipairs(names) do
      local text = bytes_of(file[name])
      local at = text:find('IDAT', 1, true)
      local stop = text:find('IEND', 1, true) - 9 -- the last byte of the sum of the data
      local changed = text:sub(1, stop - 1) .. string.char((text:byte(stop) + 1) % 256) .. text:sub(stop + 1)
      refused(changed, 'its part IDAT is damaged')
      if not text:find('IDAT', at + 1, true) then refused(mended(changed), 'its data are damaged') end
    end
  end)

  it('that is none, too large or interlaced is refused', function()
    refused('', 'does not begin like a PNG file')
    refused('GIF89a', 'does not begin like a PNG file')
    local grey = bytes_of(file.grey)
    -- byte 17 is the first of the width; 29 says interlaced
    refused(grey:sub(1, 16) .. '\127' .. grey:sub(18), 'the bound is')
    refused(grey:sub(1, 16) .. '\0\0\32\0\0\0\32\0' .. grey:sub(25), 'its data end too soon')
    refused(grey:sub(1, 28) .. '\1' .. grey:sub(30), 'interlaced')
    refused(grey:sub(1, -20), '')
    local e = support.message(png, folder .. '/none.png')
    assert(e:find('none.png', 1, true), e)
  end)
end)

teardown(function() process.remove(folder) end)
