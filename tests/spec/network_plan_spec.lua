-- network_plan_spec.lua - what a run of training would cost, before it runs, and the example scripts that ask for it.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local script, process = support.load 'script', support.load 'process'
local mc = require 'mascon'
local host = require 'mascon.host'
local nn = mc.nn
local folder = process.folder()

local W, BATCH = 300, 32
local function made(more)
  local x = mc.randn({ 256, W }, { seed = 1 }):to 'f32'
  local set = nn.data.tensors { x = x, y = mc.argmax(x[':, 1:10'], 2) - 1 }
  local o = { loss = function(m, b) return nn.cross_entropy(m(b.x), b.y) end, optimizer = mc.optim.adamw(),
    train = nn.data.loader(set, { batch = BATCH }), valid = nn.data.loader(set, { batch = 64 }), epochs = 3,
    progress = false }
  for k, v in pairs(more or {}) do o[k] = v end
  return nn.Trainer(nn.Sequential { nn.Linear(W, 2 * W), nn.ReLU(), nn.Linear(2 * W, 10) }, o)
end

describe('the plan of a run', function()
  it('counts bytes by kind, and foretells the peak', function()
    local t = made { ema = 0.9 }
    local parameters = 4 * t.net:count()
    local p = t:plan()
    assert.equal(parameters, p.parameters)
    assert.equal(parameters, p.gradients)
    assert.equal(parameters, p.averages)
    assert.equal(2 * parameters + 8, p.state)
    assert.equal(BATCH * (W * 4 + 8), p.batch)
    -- activations of a batch and gradients lie in the arena
    assert(p.arena >= BATCH * 2 * W * 4 and p.arena < 40 * 2 ^ 20, p.arena)
    assert.equal(24, p.steps)
    assert(p.seconds > 0 and p.total > 22 * p.seconds)
    t = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    local other = made { ema = 0.9 }
    collectgarbage()
    collectgarbage()
    mc.reset_peak_memory()
    other:fit()
    local peak = mc.memory().peak
    -- steps this small end before the collector comes: parameters of 0.7 MiB wait from each
    assert(peak < 1.2 * p.peak + 2 ^ 23 and p.peak - peak < math.max(0.2 * p.peak, 2 ^ 26), peak .. ' ' .. p.peak)
  end)

  it('tells the peak of a device and that of the host apart', function()
    local p = made { device = 'ref:0' }:plan()
    assert(p.there > 4 * p.parameters, p.there) -- parameters, gradients, two states
    local text = tostring(p)
    assert.matches('\n  peak on ref:0, about    %d', text)
    assert.matches('\n  peak of the host, about %d', text)
    assert.is_nil(text:find('peak of the run', 1, true))
  end)

  it('says what was needed before the run, and an evaluation that is traced leaves nothing behind', function()
    local t = made()
    mc.reset_peak_memory()
    mc.ones({ 2 ^ 23 }, { dtype = 'f32' }):release()
    local p = t:plan()
    assert(p.before >= 2 ^ 25, p.before)
    p.before = p.peak + 2 ^ 20
    assert(tostring(p):find 'peak before the run', tostring(p))
    t = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    local start = mc.memory().live
    for k = 1, 4 do mc.full({ 2 ^ 21 }, k, { dtype = 'f32' }) end -- of making data, which the collector has not seen
    local run = made()
    local waiting = mc.memory().live - start
    assert(waiting < 2 ^ 23 and run, waiting)
    local other = made { valid = nn.data.loader(nn.data.tensors { x = mc.ones({ 2048, W }, { dtype = 'f32' }),
      y = mc.zeros({ 2048 }, { dtype = 'i64' }) }, { batch = 2048 }) }
    collectgarbage()
    collectgarbage()
    local live = mc.memory().live
    other:evaluate()
    local more = mc.memory().live - live
    assert(more < 2 * 2048 * 2 * W * 4, more) -- of some results of the first layer, which the trace holds: its arena
  end)

  it('foretells the peak of layers, convolutions, attention and recurrence', function()
    local bad = {}
    -- where parameters are large beside activations the peak moves with the moment at which the collector takes those
    -- that were replaced
    local within = { cnn = 0.1, transformer = 0.1, checkpointed = 0.1, accumulated = 0.1, mlp = 0.3, lstm = 0.3 }
    for model, bound in pairs(within) do
      local peak = {}
      for _, how in ipairs { 'plan', 'fit' } do
        local r = process.shell(("'%s' '%s/support/plans.lua' %s %s"):format(host.exe, support.folder, model, how))
        assert.equal(0, r.status, r.text)
        peak[how] = tonumber(r.text:match '(%d+)%s*$')
      end
      if math.abs(peak.plan / peak.fit - 1) > bound then
        bad[#bad + 1] = ('%s: %d foretold, %d measured'):format(model, peak.plan, peak.fit)
      end
    end
    assert(#bad == 0, table.concat(bad, '\n'))
  end)

  it('is what mascon plan prints of a script, which then writes nothing', function()
    local out = folder .. '/planned'
    local text = process.shell(("'%s' plan scripts/digits.lua --count 128 --out '%s'"):format(host.exe, out))
    assert.equal(0, text.status, text.text)
    for _, words in ipairs { 'digits: 10 steps of 64 samples', 'parameters  ', 'state of the optimiser  ',
      'activations, workspace  ', 'peak of the run, about  ', 'time of the run  ' } do
      assert(text.text:find(words, 1, true), text.text)
    end
    assert.is_false(mc.file.is_folder(out))
  end)
end)

describe('example scripts', function()
  local function same(a, b)
    local p, q = mc.load(a), mc.load(b)
    for name, v in pairs(p) do assert.is_true(mc.array_equal(v, q[name]), name) end
  end

  it('vit learns shapes, in mixed precision too, and goes on to the same bits', function()
    local size = '--count 192 --batch 32 --width 16 --layers 1 --heads 2 --quiet'
    local a, b = folder .. '/vit', folder .. '/vit-b'
    local text, status = script.run('vit', ('%s --epochs 2 --out %s --tensorboard'):format(size, a))
    assert.equal(0, status, text)
    assert(text:find('192 images, 12 steps; best accuracy on other images 0.', 1, true), text)
    for _, name in ipairs { 'model.npz', 'log.jsonl', 'report.html', 'best.npz' } do
      assert.is_true(mc.file.exists(a .. '/' .. name))
    end
    mc.save(b .. '.npz', mc.load(a .. '/model.npz'))
    os.remove(a .. '/step-000000012.npz')
    text, status = script.run('vit', ('%s --epochs 2 --out %s --resume'):format(size, a))
    assert.equal(0, status, text)
    same(a .. '/model.npz', b .. '.npz')
    text, status = script.run('vit', ('%s --epochs 1 --out %s --overwrite --amp f16'):format(size, a))
    assert.equal(0, status, text)
    text, status = script.run('vit', ('%s --epochs 1 --out %s --patch 5'):format(size, folder .. '/vit-c'))
    assert.equal(1, status)
    assert(text:find('vit: --patch 5 does not divide images of', 1, true), text)
  end)

  it('denoise makes images cleaner, drawn ones and those of a file', function()
    local size = '--count 48 --batch 16 --channels 4 --levels 2 --epochs 1 --quiet'
    local text, status = script.run('denoise', ('%s --out %s/den'):format(size, folder))
    assert.equal(0, status, text)
    assert(text:find('with noise %d+%.%d+ dB; best Gaussian filter %(%g*%d.*%) %d+%.%d+ dB; network'), text)
    assert.is_true(mc.file.exists(folder .. '/den/images.png'))
    mc.save(folder .. '/images.npy', mc.rand({ 40, 9, 11 }, { seed = 2 }):to 'f32')
    text, status = script.run('denoise', ('%s --data %s/images.npy --out %s/den-b'):format(size, folder, folder))
    assert.equal(0, status, text)
    assert(text:find('32 images, 2 steps', 1, true), text)
    text, status = script.run('denoise', ('%s --data %s/vit/model.npz --out %s/den-c'):format(size, folder, folder))
    assert(status ~= 0 and text:find('denoise: ', 1, true), text)
  end)
end)

teardown(function() process.remove(folder) end)
