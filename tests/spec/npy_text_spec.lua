-- npy_text_spec.lua - texts in .npy and .npz files: lists of names beside the numbers, as NumPy stores them.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local recordings = support.load 'recordings'
local mc = require 'mascon'
local message = support.message

local folder
before_each(function() folder = recordings.folder() end)
after_each(function() recordings.remove(folder) end)

local function at(name) return folder .. '/' .. name end

describe('a file of NumPy', function()
  it('holds texts beside numbers, as NumPy writes and reads them', function()
    local path = at 'text.npz'
    mc.save(path, { x = mc.ones { 2 }, names = { 'Fz', 'Öl', '' }, title = 'a b' })
    local z = mc.load(path)
    assert.same({ 'Fz', 'Öl', '' }, z.names)
    assert.equal('a b', z.title)
    assert.equal(2, mc.sum(z.x):item())
    local a = mc.open(path)
    assert.same(z.names, a:get 'names')
    assert.same(z.names, a:texts 'names')
    a:close()
    assert.truthy(message(mc.save, path, { names = { 'a', 1 } }):find('element 2 of', 1, true))
    assert.same(z.names, mc.load(path).names) -- the old file is as it was
  end)
  it('reads texts in any axes and byte order, and bytes', function()
    local function image(descr, shape, data)
      local head = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"):format(descr, shape)
      head = head .. (' '):rep((-(10 + #head + 1)) % 64) .. '\n'
      return recordings.write(at 'text.npy',
        '\147NUMPY\1\0' .. string.char(#head % 256, math.floor(#head / 256)) .. head .. data)
    end
    assert.same({ { 'a', 'b' }, { 'c', 'é' } }, mc.load(image('>U1', '2, 2', '\0\0\0a\0\0\0b\0\0\0c\0\0\0\233')))
    assert.same({ 'xy', 'z' }, mc.load(image('|S2', '2,', 'xyz\0')))
    assert.equal('xy', mc.load(image('|S2', '', 'xy')))
    assert.same({}, mc.load(image('<U4', '0,', '')))
    for _, bad in ipairs { { '<U1', '2,', 'a\0\0\0', 'cut short' }, { '<U1', '1,', '\0\0\0\1', "holds dtype '<U1'" },
      { '<U0', '99999999,', '', 'more than 16 million' },
      { '<U99999999999', '1,', '', "holds dtype" }, { '|O', '1,', '12345678', 'object array' } } do
      assert.truthy(message(mc.load, image(bad[1], bad[2], bad[3])):find(bad[4], 1, true), bad[4])
    end
  end)
end)
