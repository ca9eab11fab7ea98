-- script_pac_spec.lua - scripts/pac.lua as a person runs it: on the demonstration, on a file, on wrong lines,
-- interrupted.
local script =
  dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua').load 'script'
local folder = os.tmpname()
os.remove(folder)

local function run(line) return script.run('pac', line) end

local function exists(path) return script.read(path) ~= nil end

describe('scripts/pac.lua', function()
  local mc = require 'mascon'
  teardown(function() os.execute("rm -rf '" .. folder .. "'*") end)

  local text, status
  setup(function() text, status = run('--demo --out ' .. folder) end)

  it('finds the couplings of the demonstration and writes every result', function()
    assert.equal(0, status, text)
    for _, name in ipairs { 'pac.npz', 'comodulogram.svg', 'channels.svg', 'preferred.svg', 'pac.csv', 'report.html',
      'manifest.json' } do
      assert.is_true(exists(folder .. '/' .. name), name)
    end
    local r = mc.load(folder .. '/pac.npz')
    assert.same({ 4, 10, 10 }, { r.pac:size() })
    -- the three coupled channels stand out, the silent one does not
    local top = mc.max(r.z:reshape(4, -1), 2):totable()
    for c = 1, 3 do assert.is_true(top[c] > 20, ('channel %d: z = %g'):format(c, top[c])) end
    assert.is_true(top[4] < 8, ('silent channel: z = %g'):format(top[4]))
    local p = mc.min(r.p:reshape(4, -1), 2):totable()
    for c = 1, 3 do assert.is_true(p[c] < 0.02) end
    assert.is_true(p[4] > 0.05)
    assert.truthy(text:find 'results in ')
  end)

  it('repeats to the bit, whatever the number of threads', function()
    local said, rc = run('--demo --threads 1 --out ' .. folder .. '-1')
    assert.equal(0, rc, said)
    local a, b = mc.load(folder .. '/pac.npz'), mc.load(folder .. '-1/pac.npz')
    for _, name in ipairs { 'pac', 'z', 'p', 'pref_phase', 'status' } do
      assert.is_true(mc.array_equal(a[name], b[name]), name)
    end
  end)

  it('refuses too small a --max-memory with the least that does, and compares with pooled counts within it', function()
    os.execute("mkdir -p '" .. folder .. "-in'")
    mc.save(folder .. '-in/many.npy', mc.randn { 40, 5000, seed = 3, dtype = 'f32' })
    local line = ('%s-in/many.npy --fs 250 --axes CT --pha-bands 3 --amp-bands 3 --amp-range 40-90 --surrogate none '
      .. '--quiet --out %s-m'):format(folder, folder)
    local said, rc = run(line .. ' --max-memory 6MiB')
    assert.equal(1, rc, said)
    local least = said:match 'raise max_memory to at least ([%d.]+) MiB'
    assert.truthy(least, said)
    said, rc = run(('%s --max-memory %.0fMiB'):format(line, least + 4))
    assert.equal(0, rc, said)
    assert.truthy(script.read(folder .. '-m/report.html'):find 'Tensorpac divides')
  end)

  it('reads a file of the user, with names and pick', function()
    local rec = mc.pac.generate.recording { channels = 2, segments = 1, seconds = 4 }
    os.execute("mkdir -p '" .. folder .. "-in'")
    mc.save(folder .. '-in/x.npy', rec.x:reshape(2, -1))
    local said, rc =
      run(('%s-in/x.npy --fs 512 --pick 2 --measure mvl --n-perm 20 --mcp none --out %s-2'):format(folder, folder))
    assert.equal(0, rc, said)
    assert.same({ 1, 1, 10, 10 }, { mc.load(folder .. '-2/pac.npz').pac:size() })
    assert.truthy(said:find('ch2', 1, true))
    said, rc = run(('%s-in/x.npy --fs 512 --contrast %s-in/x.npy --out %s-6'):format(folder, folder, folder))
    assert.equal(1, rc)
    assert.truthy(said:find('a contrast compares trials, give epochs, or --axes ST', 1, true), said)
  end)

  it('searches the best bands of each channel', function()
    local said, rc = run('--demo --pick Fz,Oz --search 5 --n-perm 50 --surrogate none --out ' .. folder .. '-3')
    assert.equal(0, rc, said)
    assert.truthy(said:find('best bands of %d+ pairs, 50 drawn surrogates'))
    assert.truthy(said:find('Fz +[%d.]+%-[%d.]+ +60%-110'), said)
    local f = assert(io.open(folder .. '-3/report.html'))
    assert.truthy(f:read '*a':find('Best bands', 1, true))
    f:close()
  end)

  it('takes a measure from a Lua file and tests a contrast of two files of epochs', function()
    local list = { {}, {} }
    for c = 1, 2 do
      for i = 1, 12 do
        list[c][i] = mc.stack { mc.randn { 512, seed = 50 * c + i },
          mc.pac.generate.g3 { n = 512, fs = 256, fp = 8, fa = 80, strength = c == 1 and 1 or 0, sigma = 0.3,
            driver_seed = 100 * c + i } }
      end
      os.execute("mkdir -p '" .. folder .. "-in'")
      mc.save(('%s-in/%d.npy'):format(folder, c), mc.permute_dims(mc.stack(list[c]), { 2, 1, 3 }):contiguous())
    end
    local f = assert(io.open(folder .. '-in/length.lua', 'w'))
    f:write [[
      local mc = require 'mascon'
      return function(phase, amp)
        local t = mc.permute_dims(amp, { 1, 3, 2 })
        return mc.hypot(mc.matmul(mc.cos(phase), t), mc.matmul(mc.sin(phase), t)) / phase.shape[3]
      end]]
    f:close()
    local line = ('%s-in/1.npy --fs 256 --axes CST --pha-range 4-14 --pha-bands 5 --amp-range 60-100 --amp-bands 4 ' ..
      '--n-perm 40 '):format(folder)
    local said, rc = run(('%s --measure %s-in/length.lua --contrast %s-in/2.npy --contrast-perm 100 --out ' ..
      '%s-4'):format(line, folder, folder, folder))
    assert.equal(0, rc, said)
    local r = mc.load(folder .. '-4/contrast.npz')
    assert.is_true(mc.min(r.p_maxz[2]):item() < 0.05 and mc.min(r.p_maxz[1]):item() > 0.05
      and mc.min(r.p_cluster[2]):item() < 0.05)
    assert.truthy(said:find('ch2 +A > B'), said)
    assert.truthy(script.read(folder .. '-4/report.html'):find('Contrast of two conditions', 1, true))
    assert.truthy(script.read(folder .. '-4/pac.csv'):find('length', 1, true))
    assert.truthy(script.read(folder .. '-4/manifest.json'):find('length.lua', 1, true))
    local pipe = assert(io.popen((
      '%s plan scripts/pac.lua %s --surrogate block_swap --contrast %s-in/2.npy 2>&1'):format(script.program, line,
      folder)))
    assert.matches('40 surrogates, contrast with 12 segments: about %d+%.%d s', pipe:read '*a')
    pipe:close()
    -- the same as the built-in measure of that formula
    said, rc = run(('%s --measure mvl --surrogate block_swap --out %s-5'):format(line, folder))
    assert.equal(0, rc, said)
    local a, b = mc.load(folder .. '-4/pac.npz'), mc.load(folder .. '-5/pac.npz')
    assert.is_true(mc.allclose(a.pac, b.pac, { rtol = 1e-4, atol = 1e-6 }) and mc.allclose(a.z, b.z, { rtol = 1e-3,
      atol = 1e-3 }))
    for words, more in pairs {
      ['one segment'] = ('--contrast %s-in/1.npy --axes CT'):format(folder),
        ['No such file'] = '--contrast /nonexistent.npy --axes CST',
      ['must return function'] = ('--measure %s-in/none.lua'):format(folder),
        ['cannot open'] = '--measure /nonexistent.lua',
    } do
      local g = assert(io.open(folder .. '-in/none.lua', 'w'))
      g:write 'return 3'
      g:close()
      local input = words == 'one segment' and folder .. '-in/x.npy' or folder .. '-in/1.npy'
      if words == 'one segment' then
        mc.save(input, mc.randn { 2, 600, seed = 1 })
        more = ('--contrast %s'):format(input)
      end
      said, rc = run(('%s --fs 512 %s --out %s-bad'):format(input, more, folder))
      assert.equal(1, rc, said)
      assert.truthy(said:find(words, 1, true), said)
    end
  end)

  it('says what is wrong and leaves no result', function()
    for line, words in pairs {
      ['/nonexistent/x.npz'] = { 'No such file', 'check the path' },
      ['--demo --measur mi'] = { '--measur', '--measure' },
      ['--demo --measure mj'] = { 'choose mi' },
      ['--demo --amp-range 60-400'] = { '--amp-range is 60-400 Hz, and samples at 512 Hz hold', 'below 256 Hz',
        'such as --amp-range 60-225' },
      ['--demo --pha-range 300-400 --amp-range 100-250 --compat tensorpac'] = { '--pha-range 101-202' },
      ['--demo --amp-range 100-250 --compat tensorpac'] = { '--amp-range 100-225' },
      ['--demo --max-memory 10K'] = { 'max_memory', 'needs' },
      ['--demo --min-shift 4000'] = { 'min_shift' },
      [''] = { '--help' },
    } do
      local said, rc = run(line .. ' --out ' .. folder .. '-bad')
      assert.is_true(rc == 1 or rc == 2, line .. ': ' .. tostring(rc) .. said)
      for _, w in ipairs(words) do assert.truthy(said:find(w, 1, true), line .. ': ' .. said) end
      assert.is_false(exists(folder .. '-bad/pac.npz'), line)
    end
  end)

  it('refuses options that would have no effect', function()
    local x = folder .. '-in/none.npy' -- refused before it is looked for
    for line, words in pairs {
      [x .. ' --paired --contrast-perm 5'] = '--contrast-perm and --paired are for --contrast FILE',
      [x .. ' --paired'] = '--paired is for --contrast FILE',
      [x .. ' --key zz'] = '--key is for an .npz',
      [x .. ' --keep-marked'] = '--keep-marked is for recordings with marks; an array has none; leave it out',
      [x .. ' --types Fz=eog'] = '--types is for channels with names; an .npy names none',
      [x .. ' --types Fz=eog,Fz=eeg'] = '--types is "Fz=eog,Fz=eeg"; give NAME=TYPE,...',
      [x .. ' --top -3'] = '--top is "-3"; give a whole number from 1',
      [x .. ' --seed -1'] = '--seed is "-1"; give a whole number from 0',
      [x .. ' --search 0'] = '--search 0: a grid needs at least 2 frequencies',
      [x .. ' --search -1'] = '--search -1: a grid needs at least 2 frequencies',
      [x .. ' --demo'] = 'is not read with --demo, which makes a recording',
      ['--demo --fs 100'] = '--fs is for arrays',
      ['--demo --mask m.npy --from 1'] = '--from and --mask are for a recording, and --demo makes one',
      [folder .. '-in/none.fif --fs 100 --axes CT'] = '--fs is for arrays',
      ['--demo --pick Fz --n-perm 20 --seed 3'] = '--n-perm is for drawn surrogates',
      ['--demo --pick Fz --seed 3'] = '--seed is for drawn surrogates',
      ['--demo --pick Fz --surrogate none --mcp fdr --norm sub'] = '--norm and --mcp are for p and z',
      ['--demo --pick Fz --surrogate none --min-shift 5'] = '--min-shift is for surrogates that are shifts',
      ['--demo --pick Fz --measure ndpac --mcp fdr'] =
        '--mcp is for p and z, which are made of surrogates (not',
      ['--demo --pick Fz --measure mvl --n-bins 9'] = '--n-bins is for measures with phase bins',
      ['--demo --pick Fz --n-bins 1e9'] = 'n_bins',
      ['--demo --pick Fz --measure mvl --bin-norm sum'] = '--bin-norm is for the measures mi and hr',
      ['--demo --pick Fz --measure mvl --segments pool'] =
        '--segments is for several segments and the measures mi and hr',
      ['--demo --pick Fz --mcp fdr --maxstat-of z'] = '--maxstat-of is for --mcp maxstat',
      ['--demo --pick Fz --mcp none --mcp-scope run'] = '--mcp-scope is for corrected p',
      ['--demo --pick Fz --compat gpac --filter morlet'] = '--filter is morlet; --compat gpac has one filter',
      ['--demo --pick Fz --null-shift 1e9'] = 'null_shift is 1e+09',
    } do
      local said, rc = run(line .. ' --quiet --out ' .. folder .. '-refused')
      assert.is_true(rc == 1 or rc == 2, line .. said)
      assert.truthy(said:find(words, 1, true), line .. said)
      assert.is_nil(said:find('without effect', 1, true), line .. said)
      assert.is_false(mc.file.is_folder(folder .. '-refused'), line) -- not even an empty folder
    end
    local ok, why = pcall(mc.pac.plan, 4000, { fs = 1e300 })
    assert.is_false(ok)
    assert.truthy(why:find('fs is 1e+300 Hz; give the sampling rate', 1, true), why)
  end)

  it('refuses a folder that cannot be made before it starts to work', function()
    local said, rc = run '--demo --out /proc/none'
    assert.equal(1, rc)
    assert.truthy(said:find('--out', 1, true))
  end)

  it('stops on SIGTERM with 143 and keeps the old result', function()
    local before = mc.load(folder .. '/pac.npz').pac
    -- long enough that no machine is done before the signal comes
    local line =
      ('(sh -c "sleep 1.5; kill -TERM $$") & exec %s scripts/pac.lua --demo --segments each --dtype f64 --amp-bands 60 '
        .. '--pha-bands 60 --n-perm 20000 --surrogate block_swap --measure gc --quiet --overwrite --out %s')
      :format(script.program, folder)
    local p = io.popen(("sh -c '%s' 2>&1; echo \"<$?>\""):format(line))
    local said = p:read '*a'
    p:close()
    assert.equal(143, tonumber(said:match '<(%d+)>%s*$'), said)
    assert.is_true(mc.array_equal(before, mc.load(folder .. '/pac.npz').pac))
  end)
end)
