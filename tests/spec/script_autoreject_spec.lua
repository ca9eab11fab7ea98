-- script_autoreject_spec.lua - scripts/autoreject.lua as a person runs it: on epochs, on a recording, on wrong lines,
-- interrupted.
local script =
  dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua').load 'script'
local folder = os.tmpname()
os.remove(folder)

local function run(line) return script.run('autoreject', line) end
local read = script.read

describe('scripts/autoreject.lua', function()
  local mc = require 'mascon'
  local epochs_file, array_file = folder .. '/s1-epo.fif', folder .. '/s1.npy'
  local fixed = array_file .. ' --fs 250 --events fixed --tmin 0 --tmax 0.2'
  teardown(function() os.execute("rm -rf '" .. folder .. "'*") end)

  local text, status
  setup(function()
    os.execute("mkdir -p '" .. folder .. "'")
    local s = mc.autoreject.generate.s1()
    local e = mc.meeg.epochs.new { data = s.data, fs = s.fs, channels = s.names, positions = s.positions }
    e:save(epochs_file)
    mc.save(array_file, mc.permute_dims(s.data, { 2, 1, 3 }):reshape(16, 1500):contiguous())
    local rows, at = {}, s.positions:totable()
    for c, name in ipairs(s.names) do rows[c] = { name, 'eeg', at[c][1], at[c][2], at[c][3] } end
    assert(mc.file.write(folder .. '/s1.csv', mc.text.csv(rows, { header = { 'name', 'type', 'x', 'y', 'z' } })))
    mc.save(folder .. '/odd.npy', s.data[1]['1:5, :']:contiguous())
    assert(mc.file.write(folder .. '/odd.csv', 'name\nC3\nC4\nLA1\nLA2\nLA3\n'))
    text, status = run(epochs_file .. ' --out ' .. folder .. '/a')
  end)

  it('cleans epochs and writes every result', function()
    assert.equal(0, status, text)
    for _, name in ipairs { 'cleaned-epo.fif', 'reject_log.npz', 'thresholds.csv', 'log.svg', 'thresholds.svg',
      'loss.svg', 'evoked.svg', 'bad_channels.svg', 'report.html', 'manifest.json' } do
      assert.is_string(read(folder .. '/a/' .. name), name)
    end
    assert.equal(0, os.execute(("[ \"$(umask)\" != 0022 ] || [ \"$(stat -c %%a '%s/a')\" = 755 ]"):format(folder)),
      'others may read results')
    local log = mc.autoreject.log.read(folder .. '/a/reject_log.npz')
    assert.same({ 3, 8, 19 }, log:bad_list())
    assert.same({ 343, 48, 89 }, (function(n) return { n[0], n[1], n[2] } end)(log:counts()))
    local clean = mc.meeg.open(folder .. '/a/cleaned-epo.fif')
    assert.equal(27, clean:count())
    assert.same({ 'AUTOREJECT' }, clean.drop_log[8])
    assert.truthy(text:find('27 of 30 epochs kept, 3 dropped; 89 cells repaired, 48 bad and left', 1, true), text)
    assert.equal(17, select(2, read(folder .. '/a/thresholds.csv'):gsub('\n', '')))
  end)

  it('does the same from a recording, whatever the number of threads and the memory', function()
    local reference
    for k, more in ipairs { '', ' --threads 1', ' --max-memory 40M' } do
      local said, rc = run(fixed .. more .. ' --out ' .. folder .. '/b' .. k)
      assert.equal(0, rc, said)
      local log = mc.autoreject.log.read(folder .. '/b' .. k .. '/reject_log.npz')
      assert.same({ 3, 8, 19 }, log:bad_list())
      local bytes = read(folder .. '/b' .. k .. '/cleaned-epo.fif')
      reference = reference or bytes
      assert.is_true(reference == bytes, more)
    end
  end)

  it('lets an edited log decide', function()
    assert.equal(0, status, text) -- of the first run
    local log = mc.autoreject.log.read(folder .. '/a/reject_log.npz')
    log.bad_epochs[3] = false
    log.labels[{ 1, 1 }] = 0
    log:save(folder .. '/edited.npz')
    local said, rc = run(epochs_file .. ' --log ' .. folder .. '/edited.npz --out ' .. folder .. '/c')
    assert.equal(0, rc, said)
    assert.equal(28, mc.meeg.open(folder .. '/c/cleaned-epo.fif'):count())
    assert.same({ 8, 19 }, mc.autoreject.log.read(folder .. '/c/reject_log.npz'):bad_list())
  end)

  it('drops by one limit, and repairs what others cannot predict', function()
    local said, rc = run(fixed .. ' --reject-by global --out ' .. folder .. '/d')
    assert.equal(0, rc, said)
    local log = mc.autoreject.log.read(folder .. '/d/reject_log.npz')
    assert.equal(30 - #log:bad_list(), mc.meeg.open(folder .. '/d/cleaned-epo.fif'):count())
    assert.matches('\neeg,all eeg,0%.000237948684593%d*,V,,\n', read(folder .. '/d/thresholds.csv'))
    said, rc = run(fixed .. ' --reject-by ransac --out ' .. folder .. '/f')
    assert.equal(0, rc, said)
    assert.truthy(said:find('bad channels ch05', 1, true), said)
    assert.equal(30, mc.meeg.open(folder .. '/f/cleaned-epo.fif'):count())
    assert.same({ 450, 30 },
      (function(n) return { n[0], n[2] } end)(mc.autoreject.log.read(folder .. '/f/reject_log.npz'):counts()))
  end)

  it('leaves EEG channels without a place alone, and says so', function()
    local s = mc.autoreject.generate.s1()
    local names = { 'Fp1', 'Fp2', 'F3', 'Fz', 'F4', 'C3', 'Cz', 'C4', 'P3', 'Pz', 'P4', 'O1', 'O2', 'EXG1' }
    mc.save(folder .. '/some.npy', mc.permute_dims(s.data, { 2, 1, 3 }):reshape(16, 1500)['1:14, :']:contiguous())
    assert(mc.file.write(folder .. '/some.csv', 'name\n' .. table.concat(names, '\n') .. '\n'))
    local said, rc = run(folder .. '/some.npy --fs 250 --events fixed --tmin 0 --tmax 0.2 --out ' .. folder .. '/g')
    assert.equal(0, rc, said)
    assert.truthy(said:find('positions: 13 of 14 channels found in 10-05; without a place: EXG1', 1, true), said)
    assert.truthy(said:find('left alone, since they have no place: EXG1', 1, true), said)
    local log = mc.autoreject.log.read(folder .. '/g/reject_log.npz')
    assert.same({ false, true }, { mc.isnan(log.labels[{ 1, 13 }]):item(), mc.isnan(log.labels[{ 1, 14 }]):item() })
  end)

  it('needs no positions for one limit, and says what to give where they are needed', function()
    mc.save(folder .. '/plain.npy', mc.permute_dims(mc.load(folder .. '/s1.npy'), { 1, 2 }))
    local line = folder .. '/plain.npy --fs 250 --events fixed --tmin 0 --tmax 0.2 --quiet --out ' .. folder .. '/plain'
    local said, rc = run(line)
    assert.equal(1, rc, said)
    for _, word in ipairs { 'say them for 0 of 16 (ch1, ch2, ch3, ch4, ...)', '--montage TABLE', 'ch_names',
      '--reject-by global' } do
      assert.truthy(said:find(word, 1, true), said)
    end
    said, rc = run(line .. ' --reject-by global')
    assert.equal(0, rc, said)
    assert.truthy(said:find('events: 30 events of --events fixed', 1, true), said)
  end)

  it('does not guess where annotations are fewer than the folds and triggers are more', function()
    local ffi = require 'ffi'
    local x = mc.permute_dims(mc.load(folder .. '/s1.npy'), { 1, 2 })
    local status_ = mc.zeros { 1, x.shape[2] }
    for k = 1, 25 do status_[{ 1, { k * 55, k * 55 + 4 } }] = 4 end
    local flat = mc.concat({ x, status_ }, 1).T:contiguous():reshape(-1):totable()
    mc.file.write(folder .. '/t.eeg', ffi.string(ffi.new('float[?]', #flat, flat), 4 * #flat))
    local rows, names = {}, {}
    for line in (read(folder .. '/s1.csv') .. '\n'):gmatch '([^\n]+)\n' do names[#names + 1] = line:match '^[^,]+' end
    names[#names + 1] = 'Status'
    for i = 2, #names do rows[i - 1] = ('Ch%d=%s,,1,V'):format(i - 1, names[i]) end
    mc.file.write(folder .. '/t.vhdr', table.concat({ 'Brain Vision Data Exchange Header File Version 1.0',
      '[Common Infos]',
      'DataFile=t.eeg', 'MarkerFile=t.vmrk', 'DataFormat=BINARY', 'DataOrientation=MULTIPLEXED', 'NumberOfChannels=17',
      'SamplingInterval=4000', '[Binary Infos]', 'BinaryFormat=IEEE_FLOAT_32', '[Channel Infos]', table.concat(rows,
        '\n'), '' }, '\n'))
    local marks =
      'Brain Vision Data Exchange Marker File, Version 1.0\n[Common Infos]\nDataFile=t.eeg\n[Marker Infos]\n'
    mc.file.write(folder .. '/t.vmrk', marks .. 'Mk1=Comment,BAD move,20,30,0\nMk2=Comment,note,400,1,0\n')
    local line = folder .. '/t.vhdr --tmin 0 --tmax 0.15 --reject-by global --quiet --overwrite --out ' .. folder
      .. '/t'
    local said, rc = run(line)
    assert.equal(1, rc, said)
    assert.truthy(said:find('has 1 event in annotations (Comment/note), fewer than the 10 folds, '
      .. 'and 25 in trigger channels (Status); give --events "Status"', 1, true), said)
    said, rc = run(line .. ' --events Status')
    assert.equal(0, rc, said)
    mc.file.write(folder .. '/t.vmrk', marks .. 'Mk1=Comment,BAD move,20,30,0\n')
    said, rc = run(line)
    assert.equal(0, rc, said)
    assert.truthy(said:find('events: 25 events of trigger channels (Status)', 1, true), said)
  end)

  it('marks instead of dropping, finds what is flat, and says how sure votes are', function()
    local x = mc.autoreject.generate.s1()
    x.data['1:-1, 4'] = 0
    local file = folder .. '/flat-epo.fif'
    mc.meeg.epochs.new({ data = x.data, fs = x.fs, channels = x.names, positions = x.positions }):save(file)
    local said, rc = run(file
      .. ' --mark --flat 1e-9 --bad-channel 0.9 --partial drop --adjacency --adjacency-drop 4 --certainty 1 --out '
      .. folder .. '/h')
    assert.equal(0, rc, said)
    assert.matches('%d+ of 30 epochs good, %d+ bad and kept as they were', said)
    assert.truthy(said:find('channel ch03 is bad in 100 % of the epochs', 1, true), said)
    assert.is_nil(said:find('flat', 1, true), said)
    local log, clean = mc.autoreject.log.read(folder .. '/h/reject_log.npz'),
      mc.meeg.open(folder .. '/h/cleaned-epo.fif')
    assert.equal(30, clean:count())
    assert.is_true(#log:bad_list() > 0)
    assert.is_true(mc.all(mc.ge(log.labels[{ mc.all, 4 }], 1)))
    local bad = log:bad_list()[1]
    assert.is_true(mc.array_equal(mc.meeg.open(file).data[bad], clean.data[bad]))
    assert.equal(31, select(2, read(folder .. '/h/certainty.csv'):gsub('\n', '')))
    assert.truthy(read(folder .. '/h/report.html'):find('Certainty of the votes', 1, true))
    said, rc = run(file .. ' --adjacency-drop 4 --out ' .. folder .. '/k')
    assert.equal(1, rc)
    assert.truthy(said:find('--adjacency-drop is for --adjacency with --reject-by local', 1, true), said)
  end)

  it('leaves marked channels and gives back results only where asked to replace them', function()
    local said, rc = run(fixed .. ' --bads ch05 --out ' .. folder .. '/a')
    assert.equal(1, rc)
    assert.truthy(said:find('cleaned-epo.fif is there already', 1, true), said)
    said, rc = run(fixed .. ' --bads ch05 --quiet --overwrite --out ' .. folder .. '/e')
    assert.equal(0, rc, said)
    assert.truthy(said:find('1 channels are marked as bad', 1, true), said)
    local log = mc.autoreject.log.read(folder .. '/e/reject_log.npz')
    assert.is_true(mc.all(mc.isnan(log.labels[{ mc.all, 6 }])))
    assert.same({ 'ch05' }, mc.meeg.open(folder .. '/e/cleaned-epo.fif').bads)
  end)

  it('says what is wrong and leaves no result', function()
    for line, words in pairs {
      ['/nonexistent/x.vhdr'] = { 'No such file', 'check the path' },
      [array_file .. ' --fs 250'] = { 'has no event', '--events fixed' },
      [array_file .. ' --fs 250 --events nothing.csv'] = { 'nothing.csv', 'check the path' },
      [array_file .. ' --fs 250 --events fixed --tmin 0.1 --tmax 0.1'] = { 'tmax must be later' },
      [fixed .. ' --kappa 0.5,2'] = { 'consensus', '2' },
      [fixed .. ' --rho 1.5'] = { 'n_interpolate', '1.5' },
      [fixed .. ' --cv 31'] = { '31', '30' },
      [fixed .. ' --cv 1'] = { 'cv' },
      [fixed .. ' --bads ch5'] = { 'ch5', 'ch05' },
      [fixed .. ' --types ch05'] = { 'NAME=TYPE' },
      [fixed .. ' --types ch05=egg'] = { 'egg', 'eeg' },
      [fixed .. ' --picks ch00,ch01'] = { 'too few channels' },
      [fixed .. ' --montage 10-06'] = { '10-06', '10-05' },
      [fixed .. ' --montage 10-20'] = { 'none of 16 channels' },
      [folder .. '/odd.npy --fs 250 --events fixed --tmin 0 --tmax 0.2'] = { '2 of 5 (LA1, LA2, LA3)', '--montage',
        '--types' },
      [fixed .. ' --max-memory 9M'] = { 'max_memory', 'needs', 'at least' },
      [fixed .. ' --event-id 7'] = { '7' },
      [fixed .. ' --event-id seven'] = { 'seven' },
      [fixed .. ' --log ' .. array_file] = { 's1.npy' },
      [fixed .. ' --reject-by locl'] = { 'choose local' },
      [fixed .. ' --highpass 200'] = { '125' },
      [epochs_file .. ' --highpass 1'] = { 'holds epochs' },
      [epochs_file .. ' --baseline -0.1,0 --tmin -0.1 --tmax 0.4 --events no.csv --event-id 1 --keep-marked'] = {
        '--events, --event-id, --tmin, --tmax, --baseline and --keep-marked are for recordings', 'holds epochs' },
      [epochs_file .. ' --bad-channel 2'] = { 'bad_channel is 2', 'up to 1' },
      [epochs_file .. ' --certainty 0'] = { '--certainty is "0"', 'from 1' },
      [epochs_file .. ' --seed -1'] = { '--seed is "-1"', 'from 0' },
      [epochs_file .. ' --reject-by global --rho 1 --kappa 0.5 --adjacency --certainty 2 --bad-channel 0.5 '
        .. '--partial drop'] = {
          '--kappa, --rho, --bad-channel, --partial, --adjacency and --certainty are for --reject-by local' },
      [epochs_file .. ' --reject-by global --seed 1'] = { '--seed is for --reject-by local; leave it out' },
      [epochs_file .. ' --reject-by ransac --cv 3'] = { '--cv is for --reject-by local, or for --reject-by global' },
      [epochs_file .. ' --rho 1 --log ' .. folder .. '/a/reject_log.npz'] = {
        '--rho is for --reject-by local without --log' },
      [fixed .. ' --metod exact'] = { '--metod', '--method' },
      [array_file .. ' --fs 250 --events nothing'] = { 'has no event "nothing"; give --events' },
      [''] = { '--help' },
    } do
      local said, rc = run(line .. ' --out ' .. folder .. '/bad')
      assert.is_true(rc == 1 or rc == 2, line .. ': ' .. tostring(rc) .. said)
      for _, w in ipairs(words) do assert.truthy(said:find(w, 1, true), line .. ': ' .. said) end
      assert.is_nil(said:find '%.lua:%d' or said:find 'traceback', line .. ': a trace: ' .. said)
      assert.is_nil(read(folder .. '/bad/reject_log.npz'), line)
    end
  end)

  it('rehearses', function()
    local p = assert(io.popen(('%s plan scripts/autoreject.lua %s 2>&1; echo "<$?>"'):format(script.program,
      fixed .. ' --out ' .. folder .. '/plan')))
    local said = p:read '*a'
    p:close()
    assert.matches('30 epochs x 16 channels x 50 samples: about %d+%.%d s, peak %d+%.%d MiB', said)
    assert.is_nil(read(folder .. '/plan/report.html'))
  end)

  it('leaves nothing of results that cannot all be written, and the old ones as they are', function()
    os.execute(("mkdir -p '%s/l/report.html'"):format(folder)) -- a folder where the page should be
    local said, rc = run(fixed .. ' --out ' .. folder .. '/l')
    assert.equal(1, rc, said)
    assert.truthy(said:find('report.html', 1, true), said)
    for _, name in ipairs { 'cleaned-epo.fif', 'reject_log.npz', 'log.svg' } do
      assert.is_nil(read(folder .. '/l/' .. name), name)
    end
  end)

  it('refuses a folder that cannot be made before it starts to work', function()
    local said, rc = run(fixed .. ' --out /proc/none')
    assert.equal(1, rc)
    assert.truthy(said:find('/proc/none', 1, true), said)
  end)

  it('stops on SIGTERM with 143 and keeps the old results', function()
    local before = read(folder .. '/a/cleaned-epo.fif')
    -- long enough that no machine is done before the signal comes
    mc.save(folder .. '/long.npy', mc.randn { 64, 200000, seed = 1, dtype = 'f32' } * 1e-5)
    local line =
      ('(sh -c "sleep 0.5; kill -TERM $$") & exec %s scripts/autoreject.lua %s/long.npy --fs 250 --events fixed --tmin '
        .. '0 --tmax 1 --montage biosemi64 --quiet --overwrite --out %s/a'):format(script.program, folder, folder)
    local names = {}
    for c, n in ipairs(mc.meeg.montage.standard('biosemi64').names) do names[c] = { n } end
    assert(mc.file.write(folder .. '/long.csv', mc.text.csv(names, { header = { 'name' } })))
    local p = io.popen(("sh -c '%s' 2>&1; echo \"<$?>\""):format(line))
    local said = p:read '*a'
    p:close()
    assert.equal(143, tonumber(said:match '<(%d+)>%s*$'), said)
    assert.is_true(before == read(folder .. '/a/cleaned-epo.fif'))
  end)
end)
