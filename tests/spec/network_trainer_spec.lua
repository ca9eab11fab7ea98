-- network_trainer_spec.lua - runs of training: epochs, checkpoints, resuming to the same bits, what can go wrong; data.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local process, recordings = support.load 'process', support.load 'recordings'
local mc = require 'mascon'
local host = require 'mascon.host'
local nn = mc.nn
local data = nn.data
local folder = process.folder()
local function at(name) return folder .. '/' .. name end
local says = support.says

local x = mc.randn({ 60, 6 }, { seed = 1 }):to 'f32'
local y = mc.argmax(x[':, 1:3'], 2) - 1
local set = data.tensors { x = x, y = y }
local function accuracy(m, b) return mc.mean(mc.eq(mc.argmax(m(b.x), -1) - 1, b.y):to 'f32'), b.x.shape[1] end
local function loss(m, b) return nn.cross_entropy(m(b.x), b.y), b.x.shape[1] end

--- A trainer with the same start whenever it is made.
local function made(options)
  local net = nn.Sequential { nn.Linear(6, 16, { key = 1 }), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2),
    nn.Linear(16, 3, { key = 2 }) }
  local o = { loss = loss, optimizer = mc.optim.adamw { lr = mc.optim.cosine(1e-2, { steps = 40 }) }, clip = 1,
    ema = 0.9,
    train = data.loader(set, { batch = 8, shuffle = true, seed = 4 }), valid = data.loader(set, { batch = 32 }),
    metrics = { accuracy = accuracy }, epochs = 3, progress = false }
  for k, v in pairs(options or {}) do o[k] = v end
  if o.valid == mc.none then o.metrics = mc.none end
  for k, v in pairs(o) do if v == mc.none then o[k] = nil end end
  return nn.Trainer(net, o), net
end

local function same(a, b)
  local p, q = a:state_dict(), b:state_dict()
  for name, v in pairs(p) do assert.is_true(mc.array_equal(v, q[name]), name) end
end

describe('a trainer', function()
  it('learns, evaluates, keeps the last checkpoints and the best, and writes a log and a page', function()
    local t, net = made { folder = at 'a', epochs = 6, keep = 2 }
    local history = t:fit()
    assert.equal(6, #history)
    assert.equal(48, history[6].step)
    assert(history[6].valid_loss < history[1].valid_loss)
    assert(history[6].valid_accuracy > 0.5, history[6].valid_accuracy)
    assert.same({ 'best.npz', 'log.jsonl', 'report.html', 'step-000000040.npz', 'step-000000048.npz' }, (function()
      local list = host.list(at 'a')
      table.sort(list)
      return list
    end)())
    local lines = 0
    for line in io.lines(at 'a/log.jsonl') do
      local e = mc.json.decode(line)
      assert(e.kind == 'epoch' and e.valid.valid_accuracy or e.kind == 'end' and e.why == 'complete'
        or e.loss and e.norm and e.step and e.rate)
      if e.step == 5 then assert.equal(mc.optim.cosine(1e-2, { steps = 40 })(4), e.rate) end
      lines = lines + 1
    end
    assert.equal(48 + 6 + 1, lines)
    local page = process.read(at 'a/report.html')
    assert(page:find('Validation accuracy of epochs', 1, true) and page:find('Linear(6, 16)', 1, true))
    assert(page:find('Optimiser: adamw, rate by a schedule. Script: run.lua.', 1, true), page:match '<p>Opt.-</p>')
    for _, words in ipairs { '8 batches of 8 an epoch, 60 samples for validation.', 'Norm of the gradient at most 1; ',
      'averages of parameters with decay 0.9.', ': complete; ', 'Best validation loss: ', 'Learning rate',
      'training loss', 'validation loss' } do
      assert(page:find(words, 1, true), words)
    end
    -- evaluation is in evaluation, with averages, and leaves the network as it was
    local before = net:parameters()['1.weight']
    local values = t:evaluate()
    assert.is_true(mc.array_equal(before, net:parameters()['1.weight']))
    assert.equal(history[6].valid_loss, values.loss)
    local best = t.best.value
    t:use_best()
    net:eval()
    local total = 0
    for b in data.loader(set, { batch = 60 }):epoch() do total = loss(net, b):item() end
    assert(math.abs(total - best) < 1e-5, total - best)
  end)

  it('goes on in the middle of an epoch with the same bits, schedule, averages and history', function()
    local whole, want = made { epochs = 4 }
    local history = whole:fit()
    for _, stop in ipairs { 3, 8 } do
      local name = at('b' .. stop)
      local first = made { epochs = 4, folder = name, callbacks = { step = function(_, f)
        return f.step == stop and 'stop' or nil
      end } }
      first:fit()
      assert.equal(stop, first:done())
      local second, net = made { epochs = 4, folder = name, resume = true }
      assert.equal(stop, second:done())
      assert.same(history, second:fit())
      same(want, net)
      assert.equal(32, (select(2, process.read(name .. '/log.jsonl'):gsub('"kind":"step"', ''))))
    end
    -- a run that has come to its end has nothing left to do, and can be made longer
    local third, net = made { epochs = 4, folder = at 'b8', resume = true }
    assert.equal(4, #third:fit())
    same(want, net)
    local longer = made { epochs = 5, folder = at 'b8', resume = true }
    assert.equal(5, #longer:fit())
  end)

  it('has one kind of mean for training and evaluation, by the weights of the batches', function()
    for _, many in ipairs { 1, 3 } do
      local t = made { epochs = 1, folder = mc.none, optimizer = mc.optim.sgd { lr = 0 }, ema = mc.none, clip = mc.none,
        accumulate = many, valid = data.loader(set, { batch = 60 }) }
      t.net[2]:eval() -- neither moves nor draws
      t.net[4]:eval()
      local one = t:fit()[1]
      assert(math.abs(one.loss - one.valid_loss) < 1e-6, one.loss - one.valid_loss)
    end
  end)

  it('goes on after parts of steps and of epochs', function()
    local whole, want = made { epochs = mc.none, steps = 11, accumulate = 3 }
    whole:fit()
    local first = made { epochs = mc.none, steps = 4, accumulate = 3, folder = at 'c', callbacks = { step = function(t)
      return t:done() == 10 and 'stop' or nil
    end } }
    first:fit()
    assert.equal(1, first.step.pending)
    for _, steps in ipairs { 5, 11 } do
      local t, net = made { epochs = mc.none, steps = steps, accumulate = 3, folder = at 'c', resume = true }
      t:fit()
      if steps == 11 then
        same(want, net)
        assert.same(whole.history, t.history)
      end
    end
  end)

  local SCRIPT = [[
local mc = require 'mascon'
local nn, folder, last = mc.nn, %q, %d
local set = nn.data.tensors { x = mc.randn({ 60, 6 }, { seed = 1 }):to 'f32',
  y = mc.randn({ 60, 1 }, { seed = 2 }):to 'f32' }
local net = nn.Sequential { nn.Linear(6, 64, { key = 1 }), nn.Dropout(0.2), nn.Linear(64, 1, { key = 2 }) }
local t = nn.Trainer(net, { loss = function(m, b) return nn.mse_loss(m(b.x), b.y) end, optimizer = mc.optim.adam(),
  train = nn.data.loader(set, { batch = 8, shuffle = true }), steps = 60, folder = folder, resume = true,
    progress = false,
  every = %s, callbacks = { step = function(_, f)
    if f.step == last then os.execute 'kill -%s $PPID' end
  end } })
t:fit()
net:save(folder .. '/end.npz')
print('end at', t:done())
]]
  it('ends with a checkpoint when it is told to, and survives being killed', function()
    local script = at 'run.lua'
    --- A run in the folder `name` that a signal ends at step `last`.
    local function run(name, every, last, signal)
      process.write(script, SCRIPT:format(at(name), last or 0, every, signal or 'TERM'))
      return process.shell(("'%s' '%s'"):format(host.exe, script))
    end
    assert.equal(0, run('d', 50).status)
    local r = run('e', 50, 31, 'TERM')
    assert.equal(143, r.status, r.text)
    assert.equal(1, #nn.checkpoint.list(at 'e'), r.text)
    local again = run('e', 50)
    assert.equal(0, again.status, again.text)
    for k, last in ipairs { 1, 22, 57 } do
      r = run('f' .. k, 2, last, 'KILL')
      assert.equal(137, r.status, r.text)
      again = run('f' .. k, 2)
      assert.equal(0, again.status, again.text)
    end
    for _, name in ipairs { 'e', 'f1', 'f2', 'f3' } do
      assert.equal(process.read(at 'd/end.npz'), process.read(at(name .. '/end.npz')), name)
    end
  end)

  it('is told to end while the optimiser writes: the step is whole, in the log, too', function()
    local script = at 'write.lua'
    process.write(script, [[
      local mc = require 'mascon'
      local nn, folder, last, calls = mc.nn, arg[1], tonumber(arg[2]), 0
      local inner = mc.optim.sgd { lr = 0.1 }
      local mine = { name = 'mine', options = inner.options, init = inner.init, update = function(...)
        calls = calls + 1
        if calls == last then os.execute 'kill -TERM $PPID' end
        return inner.update(...)
      end }
      local x = mc.randn({ 30, 4 }, { seed = 1 }):to 'f32'
      local net = nn.Linear(4, 4, { key = 1 })
      nn.Trainer(net, { loss = function(m, b) return nn.mse_loss(m(b.x), b.x * 3) end, optimizer = mine,
        compile = false,
        train = nn.data.loader(nn.data.tensors { x = x }, { batch = 3, shuffle = true }), epochs = 2, folder = folder,
        resume = true, progress = false, clip = { percentile = 50, least = 2 } }):fit()
      net:save(folder .. '/end.npz')
    ]])
    local function run(name, last)
      return process.shell(("'%s' '%s' '%s' %d"):format(host.exe, script, at(name), last)).status
    end
    local function log_of(name)
      return (process.read(at(name) .. '/log.jsonl'):gsub(',"seconds":[%d.e-]+', ''))
    end
    assert.equal(0, run('w1', 0))
    assert.equal(143, run('w2', 7))
    assert.equal(0, run('w2', 0))
    assert.equal(log_of 'w1', log_of 'w2')
    assert.equal(process.read(at 'w1/end.npz'), process.read(at 'w2/end.npz'))
  end)

  it('ends early without better results', function()
    local t = made { epochs = 30, patience = 2, optimizer = mc.optim.sgd { lr = 0 }, ema = mc.none,
      monitor = '-valid_accuracy' }
    local history = t:fit()
    assert(#history < 10, #history)
    assert.equal('patience: no better valid accuracy in 2 epochs', t.why)
  end)

  it('says when the loss is not finite, and leaves the parameters', function()
    local bad = x:copy()
    bad[20] = math.huge
    local o = { train = data.loader(data.tensors { x = bad, y = y }, { batch = 8 }), folder = at 'g', valid = mc.none }
    local t, net = made(o)
    says("nn.Trainer: the loss of step 3 is nan, gradient norm nan: the first NaN came from matmul at ", t.fit, t)
    assert(mc.all(mc.isfinite(net[1].weight)))
    o.nonfinite, o.folder = 'skip', nil
    local skipping = made(o)
    assert.equal(24, skipping:fit()[3].step)
    assert(skipping.history[3].loss == skipping.history[3].loss)
    o = { train = data.loader(data.tensors { x = x * math.huge, y = y }, { batch = 8 }), folder = at 'none',
      valid = mc.none, nonfinite = 'skip', epochs = 1 }
    local idle = made(o)
    local mean = idle:fit()[1].loss
    assert(mean ~= mean, 'the mean over no step at all is no number')
    assert.is_nil(idle.best)
    assert(mc.file.read(at 'none' .. '/log.jsonl'):find('"kind":"epoch","loss":"NaN"', 1, true))
    o.resume, o.epochs = true, 2
    assert.equal(2, #made(o):fit())
  end)

  it('goes on where a metric is no finite number, also from a file', function()
    local o = { folder = at 'infinite', epochs = 1, monitor = '-valid_far',
      metrics = { far = function() return math.huge end, accuracy = function() return 0 / 0 end } }
    made(o):fit()
    o.resume, o.epochs = true, 2
    local t = made(o)
    local first = t:fit()[1]
    assert.equal(math.huge, first.valid_far)
    assert(first.valid_accuracy ~= first.valid_accuracy)
    assert.equal(math.huge, t.best.value)
  end)

  it('takes what nn.classification gives, and says when the loss of valid is NaN', function()
    process.write(at 'valid.lua', [[
      local mc = require 'mascon'
      local nn = mc.nn
      local x = mc.randn({ 8, 2 }, { seed = 1 }):to 'f32'
      local y = mc.tensor({ 0, 1, 0, 1, 0, 1, 0, 1 }, { dtype = 'i64' })
      local options = nn.classification()
      options.train = nn.data.loader(nn.data.tensors { x = x, y = y }, { batch = 4 })
      options.valid = nn.data.loader(nn.data.tensors { x = x / mc.zeros({ 8, 2 }):to 'f32' * 0, y = y }, { batch = 8 })
      options.epochs, options.optimizer, options.progress = 2, mc.optim.adam(), false
      nn.Trainer(nn.Linear(2, 2), options):fit()
      options.train = nn.data.loader(nn.data.tensors { x = x:to 'f64', y = y }, { batch = 4 })
      options.progress, options.patience = true, 1
      nn.Trainer(nn.Linear(2, 2), options):fit()
      local o = { progress = true, epochs = 1, loss = options.loss, folder = arg[0] .. '.run',
        optimizer = mc.optim.sgd(), train = nn.data.loader(nn.data.tensors { x = x, y = y }, { batch = 4 }),
        name = 'ended' }
      nn.Trainer(nn.Linear(2, 2), o):fit()
      o.resume = true
      nn.Trainer(nn.Linear(2, 2), o):fit()
    ]])
    local r = process.shell(("'%s' '%s'"):format(os.getenv 'MASCON' or host.exe, at 'valid.lua'))
    assert.equal(0, r.status, r.text)
    local _, times = r.text:gsub('valid_loss of epoch 1 is NaN', '')
    assert.equal(2, times, r.text)
    _, times = r.text:gsub('nn.Trainer: note: batch.x is f64 and the parameters are not, so that the step computes in '
      .. "f64, which takes longer; convert the data, x:to 'f32'", '')
    assert.equal(1, times, r.text)
    assert(r.text:find('training: epoch 1  loss [%d.]+  valid loss nan  valid accuracy [%d.]+  %(best so far%)\n'),
      r.text)
    assert(r.text:find 'ended: 100%%, 8/8 samples, took', r.text) -- of a run that has nothing left to do: no pace
    assert(r.text:find 'ended by patience: no better valid accuracy in 1 epoch after step 4; best valid', r.text)
  end)

  it('says which function of the user gave nothing', function()
    local t = made { metrics = { accuracy = function() end }, epochs = 1 }
    says('trainer:evaluate: the metric accuracy is nil; it gives one number, or a tensor of one', t.fit, t)
    t = made { metrics = { accuracy = function() return mc.zeros { 3 } end }, epochs = 1 }
    says('trainer:evaluate: the metric accuracy is f64[3]@cpu; it gives one number', t.fit, t)
    t = made { loss = function(m, b) return nn.cross_entropy(m(b.x), b.y, { reduction = 'none' }) end }
    says('trainer:evaluate: the loss is f32[32]@cpu; it gives one number', t.evaluate, t)
    local none = data.loader(set, { batch = 8, transform = function(b) b.x = b.x * 2 end })
    says('nn.data.loader: transform returned nil; it returns the batch that is used', none.at, none, 1, 1)
  end)

  it('keeps the transform of a data set in parts of it, and takes methods get', function()
    local own = { n = 8, get = function(_, i) return { x = x[i] } end, transform = function(b)
      b.x = b.x * 0 + 7
      return b
    end }
    local first, second = data.split(own, 0.25)
    for _, part in ipairs { own, first, second, (data.split(first, 0.5)) } do
      assert.equal(7, mc.max(data.loader(part):at(1, 1).x):item())
    end
    local loose = { n = 8, batch = function(positions) return { x = x[positions] } end } -- without self
    says('index: the table of positions has the field', function() data.loader(loose):at(1, 1) end)
  end)

  it('refuses what does not fit, in words', function()
    says('nn.data.loader: 60 samples are fewer than one batch of 64 and drop_last leaves it out', data.loader, set,
      { batch = 64, drop_last = true })
    assert.equal(1, data.loader(set, { batch = 64 }).batches)
    says('nn.Trainer: loss is missing', nn.Trainer, nn.Linear(1, 1), {})
    says('optimizer is a function; give one of mc.optim, such as mc.optim.adamw{ lr = 1e-3 }', made,
      { optimizer = mc.optim.adam })
    says('nn.Trainer: give epochs or steps, one of them', made, { steps = 3 })
    made({ folder = at 'i', epochs = 1 }):fit()
    says('holds a run (step-000000008.npz); give resume = true', made, { folder = at 'i' })
    says('nn.Trainer: metrics are computed on the loader valid, and there is none', nn.Trainer, nn.Linear(1, 1),
      { loss = loss, train = data.loader(set), epochs = 1, metrics = { accuracy = accuracy } })
    says('nn.Trainer: metric accuracy is 3; give a function of the network and a batch', made,
      { metrics = { accuracy = 3 } })
    says('nn.Trainer: monitor is valid_acuracy; there are loss, valid_accuracy, valid_loss', made,
      { monitor = 'valid_acuracy', folder = at 'i', overwrite = true }) -- before anything is removed
    says('nn.Trainer: callback finished is a function; there are checkpoint, epoch, finish, start, step', made,
      { callbacks = { finished = print } })
    says('a run goes on with the same data', made, { folder = at 'i', resume = true,
      train = data.loader(set, { batch = 7 }) })
    for key, v in pairs { seed = 9, shuffle = false } do
      local how = { batch = 8, shuffle = true, seed = 4 }
      local before = tostring(how[key])
      how[key] = v
      says(('is of a run whose loader has %s = %s, here it has %s; a run goes on with the same batches'):format(key,
        before, tostring(v)), made, { folder = at 'i', resume = true, train = data.loader(set, how) })
    end
    says('the state is of steps of 1 batch, this step accumulates 2; give accumulate = 1', made,
      { folder = at 'i', resume = true, accumulate = 2 })
    assert.is_nil(made({ folder = at 'i', resume = true, monitor = '-valid_accuracy' }).best) -- of another number
    os.execute(("mkdir -p '%s'; printf 'no checkpoint' > '%s/step-000000003.npz'"):format(at 'h', at 'h'))
    says('it is the only checkpoint: overwrite = true begins anew', made, { folder = at 'h', resume = true })
    process.write(at 'i' .. '/step-000000099.npz', 'cut')
    local o = { folder = at 'i', resume = true, epochs = 2 }
    says(('step-000000099.npz'), made, o)
    says(('remove that file and resume = true goes on from the one before, %s/step-000000008.npz'):format(at 'i'),
      made, o)
    os.remove(at 'i' .. '/step-000000099.npz')
    assert.equal(16, made(o):fit()[2].step)
  end)

  it('replaces no results without overwrite, goes on from the best, and sweeps what a kill left', function()
    local seen = 0
    local first = made { folder = at 'tidy', epochs = 9, callbacks = { checkpoint = function()
      seen = seen + 1
      return seen == 2 and 'stop' or nil
    end } }
    first:fit()
    assert.equal(16, first:done())
    assert.equal('a callback', first.why)
    for _, c in ipairs(nn.checkpoint.list(at 'tidy')) do os.remove(c.path) end
    process.write(at 'tidy' .. '/best.npz.tmp-a1b2c3', 'half')
    process.write(at 'tidy' .. '/own.npz.tmp-a1b2c3', 'of the user')
    says('holds a run (report.html); give resume = true, overwrite = true, or another folder', made,
      { folder = at 'tidy' })
    local second = made { folder = at 'tidy', resume = true }
    assert.equal(first.best.step, second:done() / 1)
    assert.is_false(mc.file.exists(at 'tidy' .. '/best.npz.tmp-a1b2c3'))
    assert.equal('of the user', process.read(at 'tidy' .. '/own.npz.tmp-a1b2c3'))
    -- the trainer that was made last has the folder
    local third = made { folder = at 'tidy', resume = true }
    says('trainer:fit: a trainer that was made later has the folder', second.fit, second)
    assert.equal(3, #third:fit())
    local kinds = {}
    for line in io.lines(at 'tidy/log.jsonl') do
      local e = mc.json.decode(line)
      local name = e.kind .. (e.epoch or '') .. (e.kind == 'step' and ' ' .. e.step or '')
      assert(kinds[name] == nil or e.kind == 'end', name)
      kinds[name] = true
    end
    assert(kinds.epoch1 and kinds.epoch2 and kinds.epoch3 and kinds['step3 24'])
  end)

  it('says what a checkpoint holds that it cannot go on from', function()
    local t = made { folder = at 'facts', epochs = 1 }
    t:fit()
    local path = t:save()
    local tensors, facts = nn.checkpoint.read(path)
    for _, c in ipairs {
      { 'facts.sums is 1', function(f) f.sums = 1 end }, { 'facts.sums[1] is true', function(f) f.sums[1] = true end },
      { 'facts.sums is nil', function(f) f.sums = nil end },
      { 'facts.best.epoch is nil', function(f) f.best.epoch = nil end },
      { 'facts.history[1].batches is nil', function(f) f.history[1].batches = nil end },
      { "loss of an epoch is 'x'", function(f) f.history[1].loss = 'x' end },
      { 'step:restore: count is', function(f) f.step.count = nil end },
      { 'step:restore: key[1] is', function(f) f.step.key = {} end },
      { 'adaptive_clip:restore: norms[1] is', function(f) f.step.clip = { norms = { {} } } end },
      { 'generator:restore', function(f) f.generator = {} end },
    } do
      local wrong = mc.json.decode(mc.json.encode(facts, { nonfinite = 'string' }))
      c[2](wrong)
      nn.checkpoint.write(path, tensors, wrong)
      says(c[1], made, { folder = at 'facts', resume = true, clip = {} })
    end
  end)

  it('leaves a folder alone in which another process trains', function()
    local t = made { folder = at 'claimed', epochs = 1 }
    t:fit()
    local path = t:save() -- by hand, after the run
    local mark = at 'claimed-mark'
    local code = ("mc.results.claim('--out', '%s'); mc.file.write('%s', 'x'); io.read()"):format(at 'claimed', mark)
    local other = io.popen(("%s -e \"local mc = require 'mascon'; %s\""):format(host.exe, code), 'w')
    for _ = 1, 400 do
      if mc.file.read(mark) then break end
      os.execute 'sleep 0.05'
    end
    assert(mc.file.read(mark), 'the other process did not start')
    local before = process.read(path)
    says('trainer:save: folder', function() t:save() end)
    says('trainer:conclude: folder', function() t:conclude(mc.manifest.new {}) end)
    assert.equal(before, process.read(path))
    other:close()
    assert.equal(path, t:save())
  end)

  it('writes the network and a manifest beside the run', function()
    local record = mc.manifest.new { seed = 1, quiet = true }
    local t = made { folder = at 'concluded', epochs = 1 }
    t:fit()
    process.write(at 'concluded/more.txt', 'x')
    local now, net = t.net:state_dict()['1.weight']:copy(), nn.Sequential { nn.Linear(6, 16), nn.BatchNorm1d(16),
      nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3) }
    local names = t:conclude(record, { 'more.txt' })
    assert.is_true(mc.array_equal(now, t.net:state_dict()['1.weight']))
    net:load(at 'concluded' .. '/model.npz') -- the averages of the best epoch
    assert.is_false(mc.array_equal(now, net[1].weight))
    same(t:use_best().net, net)
    assert.equal('model.npz  log.jsonl  report.html  best.npz  more.txt  manifest.json', names)
    local read = mc.manifest.read(at 'concluded')
    assert.equal(4, #read.outputs)
    assert.equal(0, #mc.manifest.files_apart(read, at 'concluded'))
    says('trainer:save: there is no folder', function() made({ epochs = 1 }):save() end)
    says('trainer:conclude: there is no folder', function() made({ epochs = 1 }):conclude(record) end)
  end)

  it('repeats a script that names its folder beside the result, which stays', function()
    process.write(at 'named.lua', ([[
      local mc = require 'mascon'
      local nn, record = mc.nn, mc.manifest.new { quiet = true }
      local set = nn.data.tensors { x = mc.ones({ 4, 1 }, { dtype = 'f32' }) }
      local t = nn.Trainer(nn.Linear(1, 1, { key = 1 }), { loss = function(m, b) return mc.mean(m(b.x)) end,
        optimizer = mc.optim.sgd(), train = nn.data.loader(set, { batch = 2 }), epochs = 1, folder = %q,
        overwrite = true, progress = false })
      t:fit()
      t:conclude(record)
    ]]):format(at 'named'))
    assert.equal(0, process.shell(("'%s' '%s'"):format(host.exe, at 'named.lua')).status)
    local before = process.read(at 'named/log.jsonl')
    for _ = 1, 2 do
      local r = process.shell(("'%s' rerun '%s'"):format(host.exe, at 'named'))
      assert(r.status == 0 and r.text:find('identical: 0 stages and 1 file agree', 1, true), r.text)
    end
    assert.equal(before, process.read(at 'named/log.jsonl'))
    assert.equal(3, #mc.json.decode(process.read(at 'named-rerun/manifest.json')).outputs)
  end)

  it('keeps the last good checkpoint on a full disk', function()
    local there = recordings.small_disk('256k', function(small)
      local run = small .. '/run'
      local t = made { folder = run, epochs = 1, valid = mc.none }
      t:fit()
      local before = process.read(run .. '/step-000000008.npz')
      local filler = io.open(small .. '/filler', 'wb')
      filler:setvbuf 'no'
      while filler:write(('x'):rep(4096)) do end
      while filler:write 'x' do end
      filler:close()
      local more = made { folder = run, epochs = 2, valid = mc.none, resume = true }
      local why = support.message(more.fit, more)
      assert(why:find('cannot be written: npz: ', 1, true), why)
      assert.equal(before, process.read(run .. '/step-000000008.npz'))
      os.remove(small .. '/filler')
      local last, net = made { folder = run, epochs = 2, valid = mc.none, resume = true }
      last:fit()
      local whole, want = made { epochs = 2, valid = mc.none }
      whole:fit()
      same(want, net)
    end)
    if not there then pending 'no file system can be mounted' end
  end)
end)

describe('data', function()
  it('comes in an order that follows from seed and epoch', function()
    local l = data.loader(set, { batch = 7, shuffle = true, seed = 2 })
    local function order(e)
      local out = {}
      for b in l:epoch(e) do out[#out + 1] = b.x end
      return mc.concat(out, 1)
    end
    local one, two = order(1), order(2)
    assert.is_false(mc.array_equal(one, two))
    assert.is_true(mc.array_equal(one, order(1)))
    assert.is_true(mc.array_equal(mc.sort(one[':, 1']), mc.sort(x[':, 1'])))
    assert.is_true(mc.array_equal(l:at(2, 3).x, two['15:21']))
    local part, rest = data.split(set, 0.25, { seed = 1 })
    assert.same({ 45, 15 }, { part.n, rest.n })
    local both = mc.concat({ part:batch(mc.arange(1, 45, 1, { dtype = 'i64' })).x,
      rest:batch(mc.arange(1, 15, 1, { dtype = 'i64' })).x }, 1)
    assert.is_true(mc.array_equal(mc.sort(both[':, 2']), mc.sort(x[':, 2'])))
    -- samples one by one, collated; a transform with a key of its own
    local own = { n = 5, get = function(_, i) return { v = mc.full({ 2 }, i), k = i * 10 } end }
    local keys = {}
    local batch = data.loader(own, { batch = 3, transform = function(b, key)
      keys[#keys + 1] = tostring(key)
      b.v = b.v + 1
      return b
    end }):at(1, 2)
    assert.same({ { 5, 5 }, { 6, 6 } }, batch.v:totable())
    assert.same({ 40, 50 }, batch.k:totable())
    says('nn.data.collate: sample 2 is f64[2]@cpu, the first one f64[1]@cpu', data.collate,
      { mc.ones { 1 }, mc.ones { 2 } })
    says('nn.data.windows: 4 tokens hold no window of 4', data.windows, mc.zeros { 4, dtype = 'i64' }, 4)
  end)

  it('is read from IDX and CIFAR files, and cut ones are refused', function()
    local function be(n) return string.char(math.floor(n / 2 ^ 24) % 256, math.floor(n / 2 ^ 16) % 256,
      math.floor(n / 256) % 256, n % 256) end
    local body = {}
    for i = 0, 23 do body[i + 1] = string.char(i * 10) end
    body = table.concat(body)
    process.write(at 'a.idx', '\0\0\8\3' .. be(2) .. be(3) .. be(4) .. body)
    local t = data.idx(at 'a.idx')
    assert.same({ 2, 3, 4 }, { t:size() })
    assert.equal(230, t[{ 2, 3, 4 }]:item())
    process.write(at 'b.idx', '\0\0\9\1' .. be(2) .. '\255\1')
    assert.same({ -1, 1 }, data.idx(at 'b.idx'):totable())
    -- numbers of several bytes, the highest first
    for _, c in ipairs {
      { 11, 'i16', '\255\254\1\0', { -2, 256 } }, { 12, 'i32', '\255\255\255\253\0\1\0\0', { -3, 65536 } },
      { 13, 'f32', '\63\128\0\0\192\32\0\0', { 1, -2.5 } },
      { 14, 'f64', '\63\240\0\0\0\0\0\0\192\4\0\0\0\0\0\0', { 1, -2.5 } },
    } do
      process.write(at 'b.idx', ('\0\0%s\2'):format(string.char(c[1])) .. be(2) .. be(1) .. c[3])
      local b = data.idx(at 'b.idx')
      assert.equal(c[2], b.dtype)
      assert.same({ 2, 1 }, { b:size() })
      assert.same(c[4], b:reshape(-1):totable())
      process.write(at 'b.idx', ('\0\0%s\2'):format(string.char(c[1])) .. be(0) .. be(3))
      assert.same({ 0, 3 }, { data.idx(at 'b.idx'):size() })
    end
    for _, bad in ipairs { '', '\0\0\8', '\31\139\8\0\0', '\0\0\8\3' .. be(2), '\0\0\8\1' .. be(3) .. 'ab',
      '\0\0\10\1' .. be(1) .. 'abcd',
      '\0\0\13\1' .. be(1) .. 'abc', '\0\0\14\1' .. be(1) .. 'abcd',
      '\0\0\8\3' .. be(2 ^ 31) .. be(2 ^ 31) .. be(2 ^ 31) .. 'x' } do
      process.write(at 'c.idx', bad)
      assert(support.message(data.idx, at 'c.idx'):find('nn.data.idx: ' .. at 'c.idx', 1, true))
    end
    local record = string.char(7) .. ('\1'):rep(1024) .. ('\2'):rep(1024) .. ('\3'):rep(1024)
    process.write(at 'c.idx', '\0\0\8\8' .. ('\255'):rep(32))
    says('has 0 bytes of data, its header says 1.16e+77 (4294967295 x', data.idx, at 'c.idx')
    process.write(at 'c.idx', '\0\0\8\4' .. be(0) .. ('\127'):rep(12))
    says('c.idx has sizes that no array has (0 x 2139062143 x', data.idx, at 'c.idx')
    process.write(at 'c.bin', record:rep(3))
    local c = data.cifar { at 'c.bin', at 'c.bin' }
    assert.same({ 6, 3, 32, 32 }, { c.x:size() })
    assert.same({ 7, 7, 7, 7, 7, 7 }, c.y:totable())
    assert.equal(3, c.x[{ 4, 3, 32, 32 }]:item())
    process.write(at 'c.bin', record:sub(1, -2))
    says('no number of records of 3073 bytes', data.cifar, at 'c.bin')
    assert.same({ 1, 3, 32, 32 }, { data.scaled(c.x['1:1'], { mean = { 0, 0, 0 }, std = 2 }):size() })
  end)

  it('has as many samples as it says, and positions among them', function()
    local five = nn.data.tensors { x = mc.ones { 5, 2 } }
    for _, bad in ipairs { 0, 6, -7 } do
      local e = support.message(nn.data.subset, five, mc.tensor({ 1, bad }, { dtype = 'i64' }))
      assert(e:find(('nn.data.subset: position %d is none of a data set of 5 samples'):format(bad), 1, true), e)
    end
    local function get(_, i) return i end
    for _, n in ipairs { 2.5, 0 / 0, math.huge } do
      assert.matches('n of the data set is', support.message(nn.data.loader, { n = n, get = get }))
    end
    local many = nn.data.loader({ n = 2 ^ 40, get = get }, { batch = 2 })
    assert.same({ 2 ^ 40 - 1, 2 ^ 40 }, many:at(1, 2 ^ 39):totable())
    local none = nn.data.loader { n = 4, batch = function() end }
    assert.matches('the data set, or collate, gave no batch', support.message(none.at, none, 1, 1))
    assert.matches('the module none_of_it cannot be loaded', support.message(nn.data.of_module, 'none_of_it'))
  end)

  it('is augmented by keys', function()
    local images = mc.arange(1, 36):reshape(4, 1, 3, 3)
    local flipped = data.random_flip(images, 3)
    for i = 1, 4 do
      local plain = mc.array_equal(flipped[i], images[i])
      assert(plain or mc.array_equal(flipped[i], mc.flip(images[i], 3)))
    end
    local loader = data.loader(data.tensors { x = images }, { batch = 2, transform = function(_, key)
      return tostring(key)
    end })
    assert.equal(loader:at(1, 2), loader:at(1, 2))
    assert(loader:at(1, 1) ~= loader:at(2, 1) and loader:at(1, 1) ~= loader:at(1, 2)) -- other ones in each epoch
    local moved = data.random_shift(images, 1, 2)
    assert.same({ 4, 1, 3, 3 }, { moved:size() })
    assert.is_true(mc.array_equal(moved, data.random_shift(images, 1, 2)))
    local sums = mc.sum(moved, { 2, 3, 4 }):totable()
    for i, s in ipairs(sums) do assert(s <= mc.sum(images[i]):item()) end
  end)
end)

teardown(function()
  process.remove(folder)
  collectgarbage()
  collectgarbage()
  assert(support.tensor_bytes() - BEFORE < 2 ^ 22)
end)
