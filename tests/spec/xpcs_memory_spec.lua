-- xpcs_memory_spec.lua - peak memory of scripts/xpcs.lua: what the system counts, held to --max-memory, to the plan,
-- and to the size of the data where nothing is said.
local process = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests')
  .. '/support/init.lua').load 'process'
local mc = require 'mascon'
local MIB = 2 ^ 20

-- the script with these words; at its end what was resident at most, without pages of mapped files
local RUN = [[
  arg = { [0] = 'scripts/xpcs.lua' }
  for word in ('%s'):gmatch '%%S+' do arg[#arg + 1] = word end
  require('mascon.host').on_exit(function()
    local text = io.open '/proc/self/status':read '*a'
    print('PEAK', 1024 * (text:match 'VmHWM:%%s*(%%d+)' - text:match 'RssFile:%%s*(%%d+)'))
  end)
  dofile 'scripts/xpcs.lua'
]]

describe('peak memory of scripts/xpcs.lua', function()
  local F, N = 2, 1000
  local folder, data, mask
  setup(function()
    folder = process.folder()
    data, mask = folder .. '/x.h5', folder .. '/mask.npy'
    local phi, groups = {}, {}
    for f = 1, F do phi[f] = 40 * f end
    for f = 1, F do
      -- alpha near 0: D0 and D_offset are nearly one parameter, and the covariance needs the columns themselves
      local s = mc.xpcs.simulate { n = N, q = 0.0054, phi = { phi[f] }, physics = { 3000, 1e-3, 500 }, seed = f,
        first = 0 }
      groups[('c2_%05d'):format(f)] = mc.triu(s.c2[1])
    end
    mc.save(data, { xpcs = { qmap = { dynamic_v_list_dim0 = mc.tensor { 0.0054 },
      dynamic_v_list_dim1 = mc.tensor(phi) }, twotime = { processed_bins = mc.arange(1, F),
      correlation_map = groups } } })
    local m = mc.ones { N, N }
    m[{ { 30, 60 } }] = 0
    mc.save(mask, m:to 'u8')
  end)
  teardown(function() process.remove(folder) end)

  --- Bytes of a run with these words, and its words. Nothing but memory of its own counts towards a bound; what the
  --- system adds on a busy machine (pages of files that it takes back before the end, pages made huge) differs from run
  --- to run. So a run above the bound is repeated, twice at most, and the least counts.
  local function least_of(words, bound)
    local bytes, text = math.huge, nil
    for _ = 1, 3 do
      local r = process.mascon(RUN:format(words))
      assert.equal(0, r.status, r.text)
      bytes, text = math.min(bytes, tonumber(r.text:match 'PEAK%s+(%d+)')), r.text
      if bytes < bound then break end
    end
    assert.is_true(bytes < bound, ('%g of %g MiB'):format(bytes / MIB, bound / MIB))
    return text, bytes
  end

  local function run(words, bound)
    local text, bytes = least_of(('%s --static-mode --q 0.0054 --dt 0.1 --sigma 0.01 --fixed alpha=1e-4 --quiet '
      .. '--threads 2 --overwrite --output-dir %s/out %s'):format(data, folder, words), bound)
    return mc.load(folder .. '/out/nlsq/parameters.json'), text, bytes
  end

  it('stays within the matrices as f32 and 300 MB, and within the plan', function()
    local plan = mc.xpcs.plan.cost { n = N - 1, F = F, dtype = 'f64', mode = 'static' }
    local p, _, bytes = run('', math.min(4 * F * N ^ 2 + 3e8, 1.3 * plan.bytes + 64 * MIB))
    assert.is_true(plan.bytes < 2 * bytes + 64 * MIB, ('%g MiB said, %g used'):format(plan.bytes / MIB, bytes / MIB))
    assert.equal('QR', p.covariance.method)
  end)

  it('stays within --max-memory, arrays and errors from columns included', function()
    local least = mc.xpcs.source.least(N, F)
    local limit = math.ceil(least / MIB) + 1
    local p, text = run(('--max-memory %dMiB --mask %s'):format(limit, mask), limit * MIB)
    assert.equal('QR', p.covariance.method)
    assert.is_truthy(text:find('left out by the mask', 1, true), text)
    assert.is_truthy(text:find('fitted_data.npz', 1, true))
    assert.is_true(math.abs(p.parameters.contrast.value - 0.3) < 5 * p.parameters.contrast.uncertainty)
    -- a model of the user's
    local model = folder .. '/model.lua'
    process.write(model, [[
      local mc = require 'mascon'
      return { g1 = function(q, t1, t2) return mc.exp(-q.rate * (t2 - t1)) end, p0 = { rate = 0.05 } }
    ]])
    least_of(('%s --model %s --q 0.0054 --dt 0.1 --sigma 0.01 --quiet --threads 2 --no-arrays --overwrite '
      .. '--max-memory %dMiB --output-dir %s/own'):format(data, model, limit + 4, folder), (limit + 4) * MIB)
    local r = process.mascon(RUN:format(('%s --static-mode --q 0.0054 --dt 0.1 --sigma 0.01 --quiet --output-dir %s/no '
      .. '--max-memory %dMiB'):format(data, folder, math.floor(least / MIB) - 1)))
    assert.equal(1, r.status)
    assert.is_truthy(r.text:find('need at least', 1, true), r.text)
  end)
end)
