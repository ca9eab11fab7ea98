-- overwrite_spec.lua - results that are there: every script refuses to replace them unless it is told to.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process, script = support.load 'process', support.load 'script'
local mc = require 'mascon'
local at
setup(function()
  at = process.folder()
  mc.save(at .. '/x.npy', mc.randn { 2, 1500, seed = 1, dtype = 'f32' })
  mc.save(at .. '/e.npy', mc.randn { 12, 8, 60, seed = 2, dtype = 'f64' } * 1e-5)
  process.write(at .. '/e.csv', 'name\n' .. ('Fp1 Fp2 F3 F4 C3 C4 O1 O2'):gsub(' ', '\n') .. '\n')
  local s = mc.xpcs.simulate { n = 40, q = 0.01, dt = 0.1, phi = { 0, 60 }, seed = 3, sigma = 0.004 }
  mc.save(at .. '/x.npz', { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
  process.write(at .. '/space.yaml', [[
version: "1.0"
metadata: { name: small, purpose: a test }
parameter_space:
  architecture: { base_channels: { type: integer, bounds: [4, 6] }, kernel_size: { type: choice, choices: [3] } }
  operator: { grid_size: { type: choice, choices: [8] } }
sampling: { total_samples: 2, batch_size: 2, sobol: { seed: 7 } }
simulation: { num_realizations: 1, num_timesteps: 3, input_generation: { method: structured } }
dataset: { output_path: OUT, storage: { chunk_size: 2 } }
]])
end)
teardown(function() process.remove(at) end)

-- script, words (AT: the folder), output, a file of it, whether it can go on with what is there
local SCRIPTS = {
  { 'pac', 'AT/x.npy --fs 250 --axes CT --pha-bands 2 --amp-bands 2 --amp-range 40-90 --surrogate none', '--out',
    'manifest.json' },
  { 'autoreject', 'AT/e.npy --fs 60 --reject-by global', '--out', 'cleaned-epo.fif' },
  { 'xpcs', 'AT/x.npz --static-mode --sigma 0.004 --scaling constant', '--output-dir', 'manifest.json' },
  { 'xpcs', 'simulate --frames 20', '--output-dir', 'simulated_data.npz' },
  { 'xpcs', 'plot AT/x.npz', '--output-dir', 'experimental_data.svg' },
  { 'rollout', 'generate --config AT/space.yaml', '--output', nil, true },
  { 'digits', '--count 32 --batch 32 --epochs 1', '--out', 'log.jsonl', true },
  { 'charlm', '--data AT/space.yaml --steps 1 --batch 4 --length 4 --width 4 --layers 1 --heads 1 --write 2', '--out',
    'log.jsonl', true },
  { 'surrogate', '--problem branin --calls 6', '--out', 'manifest.json' },
  { 'train', '--epochs 1 --hidden 4', '--out', 'manifest.json' },
}

describe('results that are there are kept', function()
  for i, case in ipairs(SCRIPTS) do
    local name, words, option, file, resumes = unpack(case, 1, 5)
    it(('by %s %s'):format(name, words:match '^%l+ ' or ''), function()
      local out = ('%s/out%d'):format(at, i)
      local path = out .. '/' .. (file or 'set.h5')
      local line = ('%s --quiet %s %s'):format(words:gsub('AT', at), option, file and out or path)
      process.make(out, '755')
      process.write(path, 'of an earlier run')
      local text, status = script.run(name, line)
      assert.equal(1, status, text)
      assert.truthy(text:find(path .. ' is there already; use --overwrite', 1, true), text)
      assert.truthy(text:find('or another ' .. option, 1, true), text)
      assert.equal(resumes or false, text:find('--resume', 1, true) ~= nil, text)
      assert.equal('of an earlier run', process.read(path))
      assert.same({ path:match '[^/]*$' }, process.list(out))
      text, status = script.run(name, line .. ' --overwrite')
      assert.equal(0, status, text)
      assert.not_equal('of an earlier run', process.read(path))
      if resumes then
        text, status = script.run(name, line .. ' --overwrite --resume')
        assert.equal(1, status, text)
        assert.truthy(text:find('--resume and --overwrite exclude each other; give one', 1, true), text)
      end
    end)
  end

  it('by mascon rerun, where another folder than its own is named', function()
    process.write(at .. '/s.lua', [[
      local mc, out = require 'mascon', nil
      for i, word in ipairs(arg) do if word == '--out' then out = arg[i + 1] end end
      mc.results.folder('--out', out)
      mc.results.write(out, mc.manifest.new {}, function(set) set:put('a.txt', 'a') end)]])
    local function mascon(...)
      local r = process.run({}, ...)
      return r.status, r.text
    end
    local function rerun(...) return mascon('rerun', at .. '/r', ...) end
    assert.equal(0, (mascon(at .. '/s.lua', '--out', at .. '/r')))
    for _ = 1, 2 do assert.equal(0, (rerun())) end
    assert.equal(0, (rerun('--out', at .. '/q')))
    local status, text = rerun('--out', at .. '/q')
    assert.equal(2, status, text)
    assert.truthy(text:find('q/manifest.json is there already; use --overwrite, or another --out', 1, true), text)
    status, text = rerun('--out', at .. '/q', '--overwrite')
    assert.equal(0, status, text)
  end)
end)
