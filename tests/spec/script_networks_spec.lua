-- script_networks_spec.lua - scripts/digits.lua and scripts/charlm.lua as a person runs them: made data, files,
-- resuming.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local script, process = support.load 'script', support.load 'process'
local mc = require 'mascon'
local folder = process.folder()

local function run(name, line)
  local text, status = script.run(name, line)
  return text, status
end
local function same(a, b)
  local p, q = mc.load(a), mc.load(b)
  for name, v in pairs(p) do assert.is_true(mc.array_equal(v, q[name]), name) end
end
local function be(n) return string.char(0, 0, math.floor(n / 256), n % 256) end

describe('scripts/digits.lua', function()
  it('learns drawn digits, and goes on where it was', function()
    local line = '--quiet --count 640 --batch 32 --lr 0.01 --epochs %d --out %s/%s %s'
    local text, status = run('digits', line:format(2, folder, 'a', ''))
    assert.equal(0, status, text)
    local losses = {}
    for l in io.lines(folder .. '/a/log.jsonl') do
      local e = mc.json.decode(l)
      if e.kind == 'epoch' then losses[e.epoch] = e.loss end
    end
    assert(losses[2] < losses[1], text)
    assert(tonumber(text:match 'best accuracy on other images ([%d.]+)') > 0.25, text)
    for _, name in ipairs { 'model.npz', 'log.jsonl', 'report.html', 'best.npz' } do
      assert(io.open(folder .. '/a/' .. name), name):close()
    end
    local again = process.shell(('%s rerun %s/a --out %s/again 2>&1'):format(script.program, folder, folder))
    assert(again.text:find('identical: 0 stages and 1 file agree', 1, true), again.text)
    text, status = run('digits', line:format(2, folder, 'a', ''))
    assert(status ~= 0 and text:find('is there already; use --overwrite, --resume', 1, true), text)
    text, status = run('digits', line:format(2, folder, 'a', '--resume'))
    assert.equal(0, status, text)
    assert(text:find('40 steps', 1, true), text)
  end)

  it('reads files of MNIST', function()
    local data = folder .. '/mnist'
    process.make(data, '755')
    for which, n in pairs { train = 40, t10k = 10 } do
      local pixels, labels = {}, {}
      for i = 1, n do
        labels[i] = string.char(i % 10)
        pixels[i] = string.char(i % 10 * 25):rep(64)
      end
      process.write(('%s/%s-images-idx3-ubyte'):format(data, which), '\0\0\8\3' .. be(n) .. be(8) .. be(8)
        .. table.concat(pixels))
      process.write(('%s/%s-labels-idx1-ubyte'):format(data, which), '\0\0\8\1' .. be(n) .. table.concat(labels))
    end
    local shown = process.shell(("'%s' scripts/digits.lua --epochs 1 --batch 10 --data %s --out %s/b 2>&1"):format(
      script.program, data, folder))
    local text = shown.text
    assert.equal(0, shown.status, text)
    assert(text:find('digits 1  loss [%d.e-]+: 75%%, %d+%% of peak, 30/40 samples, [%d.e]+ samples/s, [%d.]+ %a+ left'),
      text)
    assert(text:find('epoch 1: loss [%d.]+, on other samples loss [%d.]+, accuracy [%d.]+\n'), text)
    assert(text:find('digits: complete after step 4; best valid accuracy [%d.]+ in epoch 1\n'), text)
    assert(text:find('40 images, 4 steps', 1, true), text)
    local status
    text, status = run('digits', ('--quiet --data %s --out %s/c'):format(folder, folder))
    assert(status ~= 0 and text:find('train%-images%-idx3%-ubyte'), text)
  end)
end)

describe('scripts/charlm.lua', function()
  it('learns from a text, writes, and stops and goes on with the same bits', function()
    local words = {}
    for i = 1, 400 do words[i] = i % 3 == 0 and 'm\195\182\195\182n ' or i % 3 == 1 and 'the ' or 'silent ' end
    process.write(folder .. '/text.txt', table.concat(words))
    local line = ('--quiet --data %s/text.txt --steps %%d --batch 8 --length 16 --width 16 --layers 1 --heads 2 '
      .. '--write 20 --lr 0.02 --out %s/%%s %%s'):format(folder, folder)
    local text, status = run('charlm', line:format(30, 'd', '--length 400'))
    assert(status == 1 and text:find('the twentieth that is held out is no longer than --length 400', 1, true), text)
    text, status = run('charlm', line:format(30, 'd', '--temperature -1'))
    assert(status == 1 and text:find('--temperature is -1; give a number from 0', 1, true), text)
    text, status = run('charlm', line:format(30, 'd', ''))
    assert.equal(0, status, text)
    local bits, alone = text:match '([%d.]+) bits per character on the text held out; characters alone have ([%d.]+)'
    assert(tonumber(bits) < 0.8 * tonumber(alone), text)
    assert.equal(21, select(2, process.read(folder .. '/d/sample.txt'):gsub('[^\128-\191]', '')))
    -- a run from whose files the later ones are gone
    os.execute(("cp -r '%s/d' '%s/e'; rm '%s'/e/step-00000002*.npz '%s'/e/step-000000030.npz '%s/e/model.npz'"):format(
      folder, folder, folder, folder, folder))
    text, status = run('charlm', line:format(30, 'e', '--resume'))
    assert.equal(0, status, text)
    same(folder .. '/d/model.npz', folder .. '/e/model.npz')
    -- and with another number of threads
    local other = process.shell(("MASCON_NUM_THREADS=3 '%s' scripts/charlm.lua %s"):format(script.program,
      line:format(30, 'g', '')))
    assert.equal(0, other.status, other.text)
    same(folder .. '/d/model.npz', folder .. '/g/model.npz')
  end)

  it('explains itself', function()
    for _, name in ipairs { 'digits', 'charlm' } do
      local text, status = run(name, '--help')
      assert(status == 0 and text:find('--data', 1, true) and text:find('--resume', 1, true), text)
    end
    local text, status = run('charlm', ('--quiet --data %s/none.txt --out %s/f'):format(folder, folder))
    assert(status ~= 0 and text:find('none.txt', 1, true), text)
  end)
end)

teardown(function() process.remove(folder) end)

describe('bench/published.lua', function()
  it('sets kernels at published sizes beside the limits of the machine, in one command (nn W11)', function()
    local r = process.shell(("'%s' bench/published.lua 'layer norm' --seconds 0.01"):format(script.program))
    assert.equal(0, r.status, r.text)
    assert(r.text:find('threads; copy [%d.]+ GB/s, product %d+ GFLOP/s\n'), r.text)
    for _, size in ipairs { '1024x768', '2048x1024', '4096x2048' } do
      local row = '| layer norm | ' .. size .. ' | ([%d.]+) | ([%d.]+) | ([%d.]+) |'
      local ms, floor, share = r.text:match(row)
      assert(ms and math.abs(tonumber(floor) / tonumber(ms) - tonumber(share)) < 0.02, r.text)
    end
  end)
end)
