-- xpcs_pack_spec.lua - packed files and checkpoints of scripts/xpcs.lua: what they replace, whom they let in, what
-- damage and a full disk do, and that a fit through one gives the bits of a fit in memory.
local process = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests')
  .. '/support/init.lua').load 'process'
local mc = require 'mascon'
local exe = os.getenv 'MASCON' or require('mascon.host').exe

describe('packed files of scripts/xpcs.lua', function()
  local folder, data
  local function at(name) return folder .. '/' .. name end
  local function fit(words, before)
    local line = "%s '%s' scripts/xpcs.lua '%s' --laminar-flow --quiet --overwrite --no-arrays --out '%s' %s"
    local r = process.shell(line:format(before or '', exe, data, at 'out', words))
    local ok, p = pcall(process.read, at 'out/nlsq/parameters.json')
    return r, ok and p:gsub('"[%w_]*seconds"[^\n]*', ''):gsub('"%w*time%w*"[^\n]*', '')
  end
  setup(function()
    folder = process.folder()
    data = at 'x.npz'
    local s = mc.xpcs.simulate { n = 40, q = 0.0054, phi = { 0, 45, 90 }, seed = 3, first = 0,
      physics = { 1000, -0.3, 100, 1e-3, 0.1, 0, 0 } }
    mc.save(data, { c2_exp = s.c2, phi_angles_list = mc.tensor { 0, 45, 90 }, t1 = mc.arange(0, 39) * 0.1,
      q = mc.tensor { 0.0054 } })
    local m = mc.ones { 40, 40 }
    m[{ mc.all, { 21, 40 } }], m[{ { 21, 40 }, mc.all }] = 0, 0
    mc.save(at 'mask.npy', m)
  end)
  teardown(function() process.remove(folder) end)

  it('give the bits of a fit in memory, with a mask of a whole corner', function()
    local mask = "--mask '" .. at 'mask.npy' .. "'"
    local a, memory = fit(mask)
    assert.equal(0, a.status, a.text)
    local b, packed = fit(mask .. " --pack '" .. at 'mask.h5' .. "'")
    assert.equal(0, b.status, b.text)
    local values = '"value": ([^,\n]*)'
    local n = 0
    local other = packed:gmatch(values)
    for v in memory:gmatch(values) do
      n = n + 1
      assert.equal(v, other())
    end
    assert.is_true(n >= 7)
  end)

  it('replace no input and no other file', function()
    local before = process.read(data)
    process.write(at 'notes.txt', 'mine')
    for _, name in ipairs { 'x.npz', 'mask.npy', 'notes.txt' } do
      local r = fit("--pack '" .. at(name) .. "'")
      assert.equal(1, r.status, r.text)
      assert.is_truthy(r.text:find('no packed file of this program', 1, true), r.text)
    end
    assert.equal(before, process.read(data))
    assert.equal('mine', process.read(at 'notes.txt'))
  end)

  it('are made again where a byte of a block was changed', function()
    local pack = at 'p.h5'
    assert.equal(0, fit("--pack '" .. pack .. "'").status)
    local bytes = process.read(pack)
    local f = mc.open(pack, { format = 'h5' })
    local v = f:get('blocks/000001')
    f:close()
    local value = require('ffi').new('double[1]', v[mc.isfinite(v)][9]:item())
    local place = bytes:find(require('ffi').string(value, 8), 1, true)
    assert.is_truthy(place)
    process.write(pack, bytes:sub(1, place) .. string.char((bytes:byte(place + 1) + 1) % 256) .. bytes:sub(place + 2))
    local r = fit("--pack '" .. pack .. "'")
    assert.is_truthy(r.text:find('is damaged; it is made again', 1, true), r.text)
    assert.equal(0, #fit("--pack '" .. pack .. "'").text:gsub('[^\n]*', function(l)
      return l:find('made again', 1, true) and '!' or ''
    end):gsub('[^!]', ''))
  end)

  it('that a full disk or a kill cut leave nothing and are said', function()
    process.write(at 'cut.h5.tmp-0a1b2c', 'left by a killed run')
    local r = fit("--pack '" .. at 'cut.h5' .. "'", 'ulimit -f 5;')
    assert.equal(1, r.status, r.text)
    assert.is_truthy(r.text:find('ulimit', 1, true), r.text)
    for _, name in ipairs(process.list(folder)) do assert.is_nil(name:find('cut.h5', 1, true), name) end
  end)

  it('checkpoints serve one fit at a time', function()
    local lock = assert(mc.file.make_folder(at 'ck') and mc.file.lock(at 'ck/xpcs_state'))
    local r = fit("--checkpoint-dir '" .. at 'ck' .. "'")
    lock:free()
    assert.equal(1, r.status, r.text)
    assert.is_truthy(r.text:find('is held by process', 1, true), r.text)
    r = fit("--checkpoint-dir '" .. at 'ck' .. "'")
    assert.equal(0, r.status, r.text)
    assert.equal(0, #process.list(at 'ck'))
  end)
end)
