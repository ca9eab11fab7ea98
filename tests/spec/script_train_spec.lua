-- script_train_spec.lua - scripts/train.lua as a person runs it: spirals, a file, compiled and eager, wrong input.
local script =
  dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua').load 'script'
local folder = os.tmpname()
os.remove(folder)

local function run(line) return script.run('train', line) end

describe('scripts/train.lua', function()
  local mc = require 'mascon'
  teardown(function() os.execute("rm -rf '" .. folder .. "'*") end)

  it('learns three spirals with a step that is traced once, and writes what it made', function()
    local text, status = run('--epochs 60 --out ' .. folder)
    assert.equal(0, status, text)
    assert.truthy(text:find('step traced 1 time', 1, true), text)
    assert(tonumber(text:match 'samples ([%d.]+)') > 0.9, text)
    for _, name in ipairs { 'model.npz', 'history.csv', 'loss.svg', 'boundary.svg', 'manifest.json' } do
      assert(io.open(folder .. '/' .. name), name):close()
    end
    assert.same({ 2, 128 }, { mc.load(folder .. '/model.npz').w1:size() })
  end)

  it('gives the same bits without compiling', function()
    local line = '--epochs 5 --hidden 16 --out ' .. folder
    assert.equal(0, select(2, run(line .. '-c')))
    assert.equal(0, select(2, run(line .. '-e --eager')))
    local a, b = mc.load(folder .. '-c/model.npz'), mc.load(folder .. '-e/model.npz')
    for _, name in ipairs { 'w1', 'b1', 'w2', 'b2' } do assert.is_true(mc.array_equal(a[name], b[name]), name) end
  end)

  it('reads samples of the user and says what is wrong with them', function()
    os.execute("mkdir -p '" .. folder .. "-in'")
    local x = mc.randn { 60, 4, seed = 1 }
    mc.save(folder .. '-in/good.npz', { x = x, y = mc.gt(x[':, 1'], 0):to 'i64' })
    local text, status = run(('%s-in/good.npz --epochs 40 --batch 12 --out %s-2'):format(folder, folder))
    assert.equal(0, status, text)
    assert.truthy(text:find('4 features, 2 classes', 1, true), text)
    mc.save(folder .. '-in/bad.npz', { x = x, y = mc.zeros { 3 } })
    text, status = run(('%s-in/bad.npz --out %s-3'):format(folder, folder))
    assert(status ~= 0 and text:find('give x [samples, features]', 1, true), text)
  end)

  it('trains on the device of --device, which the record names', function()
    local line = '--epochs 2 --hidden 16 --quiet --out ' .. folder
    local text, status = run(line .. '-r --device ref:0')
    assert.equal(0, status, text)
    assert.matches('^device: ref:0\n', text)
    assert.is_string(mc.json.decode(mc.load(folder .. '-r/manifest.json', { format = 'txt' })).facts.devices['ref:0'])
    assert.equal(0, select(2, run(line .. '-p')))
    local a, b = mc.load(folder .. '-r/model.npz'), mc.load(folder .. '-p/model.npz')
    for _, name in ipairs { 'w1', 'b1', 'w2', 'b2' } do assert.is_true(mc.array_equal(a[name], b[name]), name) end
  end)

  it('and its kin refuse a device that is not there', function()
    for _, name in ipairs { 'train', 'digits', 'charlm', 'vit', 'denoise' } do
      local text, status = script.run(name, '--device cuda:900 --out ' .. folder .. '-none')
      assert.equal(1, status, text)
      assert.matches('^' .. name .. ': %-%-device: device "cuda:900" is not there', text)
    end
  end)
end)
