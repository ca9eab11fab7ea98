-- rollout_surrogate.lua - a network that predicts features of rollouts from the parameters of the operator.
--
-- usage: mascon scripts/rollout_surrogate.lua DATA.h5 [options]; --help lists them. DATA is a file of
-- scripts/rollout.lua generate. The rows are split in three: training uses the first part, the second ends it and
-- chooses the epoch whose weights are kept, and the third, which neither has seen, gives the figures. Prints the share
-- of variance that is explained there, by category of features, names what parameters do not say, and writes
-- DIR/surrogate.npz (weights, scales, names), scores.csv, predictions.npz, log.jsonl and report.html.
local mc = require 'mascon'
local nn = mc.nn

local o = mc.args.parse(arg, {
  name = 'rollout_surrogate', usage = 'usage: mascon scripts/rollout_surrogate.lua DATA.h5 [options]', positional = 1,
  about = 'Trains a network that predicts features of rollouts from the parameters of the operator.',
  options = {
    { 'out', 'string', 'folder for the results', value = 'DIR', default = 'surrogate-results' },
    { 'epochs', 'integer', 'passes over the rows', default = 200 },
    { 'batch', 'integer', 'rows per step', default = 32 },
    { 'hidden', 'integer', 'hidden units', default = 96 }, { 'lr', 'number', 'learning rate', default = 3e-3 },
    { 'dropout', 'number', 'share of hidden units left out in training', default = 0.1 },
    { 'test', 'number', 'share of rows that are held out for the figures', default = 0.2 },
    { 'valid', 'number', 'share of rows by which training ends and an epoch is chosen', default = 0.15 },
    { 'patience', 'natural', 'epochs without a lower validation loss that end training (0: none do)', default = 40 },
    { 'field', 'flag', 'the type of the initial field is an input too' },
    { 'device', 'string', 'cpu, gpu, cuda:0, opencl:0, or auto: what MASCON_DEVICE names, else a card, else cpu' },
    { 'seed', 'natural', 'seed of the split, the weights and the order', default = 1 },
    { 'overwrite', 'flag', 'replace results that are there' }, { 'quiet', 'flag', 'no progress line' },
  },
})

--- Rows of the file: coordinates x [n, P], features y [n, D] (means over realisations), their names, places of
--- categories, and which rows no filter met. With --field, a column per type of initial field follows the coordinates.
local function read(path)
  local f = mc.open(path, { format = 'h5' })
  local place = '/features/summary/aggregated/features'
  if not f:has(place) then
    error(('%s: there is no %s; generate it with features.summary.enabled'):format(path, place), 0)
  end
  local x, all = f:dataset('/parameters/params'):read():to 'f32', f:dataset(place):read():to 'f64'
  local parameters = f:dataset('/parameters/params').attributes.names
  local registry = mc.json.decode(f:group('/features/summary').attributes.feature_registry)
  local kept = f:has '/metadata/filtered' and mc.eq(f:dataset('/metadata/filtered'):read(), 0)
    or mc.ones({ x.shape[1] }, { dtype = 'bool' })
  if o.field then
    local kinds, columns, order = f:get '/metadata/ic_types', {}, {}
    for i, k in ipairs(type(kinds) == 'table' and kinds or { kinds }) do
      if not columns[k] then
        columns[k], order[#order + 1] = {}, k
        for j = 1, x.shape[1] do columns[k][j] = 0 end
      end
      columns[k][i] = 1
    end
    table.sort(order)
    for _, k in ipairs(order) do
      x = mc.concat({ x, mc.tensor(columns[k]):to('f32'):reshape(-1, 1) }, 2)
      parameters[#parameters + 1] = 'field.' .. k
    end
  end
  f:close()
  local D = all.shape[2] / 3
  local y = all[{ mc.all, { 1, D } }]
  local names, category = {}, {}
  for section, list in pairs(registry) do
    for name, at in pairs(list) do names[at + 1], category[at + 1] = name, section end
  end
  return x, y, names, category, parameters, kept
end

--- Columns that can be learned: finite, and not constant on the rows to train on, on a scale without a heavy tail:
--- sign(v) log(1 + |v| / median |v|), the median of the rows to train on.
local function prepared(y, train)
  local columns, scales = {}, {}
  for k = 1, y.shape[2] do
    local all = y[{ mc.all, k }]
    local v = all:take(train, 1)
    if mc.isfinite(all):all() then
      local typical = mc.quantile(v:abs(), 0.5):item()
      if typical > 0 and (v:max() - v:min()):item() > 1e-6 * typical then
        columns[#columns + 1], scales[#scales + 1] = k, typical
      end
    end
  end
  if #columns == 0 then error('no column of features is finite and differs between rows', 0) end
  local z = mc.take(y, mc.tensor(columns, { dtype = 'i64' }), 2) / mc.tensor(scales)
  return mc.sign(z) * mc.log1p(z:abs()), columns, scales
end

--- R2 by column: 1 - sum of squared errors / that of the mean.
local function explained(want, got)
  local rest, total = ((want - got) ^ 2):sum(1), ((want - want:mean(1, { keepdim = true })) ^ 2):sum(1)
  return 1 - rest / mc.maximum(total, 1e-12)
end

local TRAIN, HELD = 6, 2 -- rows at least

--- Places of n rows to train on, to choose by and to test.
local function split(n, key)
  local test, valid = math.floor(n * o.test + 0.5), math.max(HELD, math.floor(n * o.valid + 0.5))
  if n - test - valid < TRAIN or test < HELD then
    error(('%s: %d rows did not fail and met no filter; a surrogate needs %d to train on, %d to choose by and %d to '
      .. 'test'):format(o[1], n, TRAIN, HELD, HELD), 0)
  end
  local order = mc.random.permutation(n, { key = key })
  return order[{ { test + valid + 1, n } }], order[{ { test + 1, test + valid } }], order[{ { 1, test } }]
end

--- Trains a network on rows x -> target, and gives it the weights of the best epoch. Returns it and the trainer.
local function trained(x, target, train, valid, key)
  local function rows(at) return nn.data.tensors { x = x:take(at, 1), y = target:take(at, 1) } end
  local net = nn.Sequential {
    nn.Linear(x.shape[2], o.hidden, { key = key:fold_in(2) }), nn.GELU(), nn.Dropout(o.dropout),
    nn.Linear(o.hidden, o.hidden, { key = key:fold_in(3) }), nn.GELU(), nn.Dropout(o.dropout),
    nn.Linear(o.hidden, target.shape[2], { key = key:fold_in(4) }),
  }
  local loader = nn.data.loader(rows(train), { batch = math.min(o.batch, train:numel()), shuffle = true, seed = o.seed,
    drop_last = true })
  local device, said = mc.args.device(o.device)
  if said then print(said) end
  local trainer = nn.Trainer(net, {
    device = device, name = 'surrogate', folder = o.out, overwrite = o.overwrite, progress = not o.quiet,
    epochs = o.epochs,
    train = loader, valid = nn.data.loader(rows(valid), { batch = valid:numel() }), key = key:fold_in(5), keep = 1,
    patience = o.patience > 0 and o.patience or nil,
    optimizer = mc.optim.adamw { lr = mc.optim.one_cycle(o.lr, { steps = math.max(2, o.epochs * loader.batches) }),
      weight_decay = 1e-2 },
    loss = function(model, b) return mc.mean(mc.square(model(b.x) - b.y)), b.x.shape[1] end,
  })
  trainer:fit()
  trainer:use_best()
  return net:to 'cpu', trainer
end

local UNSAID = 0.05 -- a feature of which less is explained is one that parameters do not say

mc.args.run('rollout_surrogate', function()
  if not o[1] then error('give a data set of scripts/rollout.lua generate', 0) end
  for _, name in ipairs { 'test', 'valid' } do
    if not (o[name] > 0 and o[name] < 1) then
      error(('--%s %g: give a share between 0 and 1'):format(name, o[name]), 0) end
  end
  local x, y, names, category, parameters, kept = read(o[1])
  local alive = mc.logical_and(kept, mc.all(mc.isfinite(x), 2))
  local good = mc.logical_and(alive, mc.logical_not(mc.all(mc.isnan(y), 2)))
  local place = mc.arange(0, x.shape[1] - 1, 1, { dtype = 'i64' })[good]
  x, y = x[good], y[good]
  local n = x.shape[1]
  local key = mc.random.key(o.seed)
  local train, valid, test = split(n, key:fold_in(1))
  mc.results.folder('--out', o.out, { overwrite = o.overwrite,
    names = { 'surrogate.npz', 'scores.csv', 'predictions.npz', 'log.jsonl' } })
  local z, columns, scales = prepared(y, train)
  local mean = z:take(train, 1):mean(1)
  local spread = mc.maximum(z:take(train, 1):std(1, { correction = 1 }), 1e-9)
  local target = ((z - mean) / spread):to 'f32'
  local net, trainer = trained(x, target, train, valid, key)
  local guess = net:eval()(x:take(test, 1)):to 'f64' * spread + mean
  local want = z:take(test, 1)
  local score = explained(want, guess):totable()

  local by, sections = {}, {}
  local lines = { 'feature,category,explained' }
  for i, k in ipairs(columns) do
    local c = category[k]
    if not by[c] then
      by[c] = {}
      sections[#sections + 1] = c
    end
    table.insert(by[c], score[i])
    lines[#lines + 1] = ('%s,%s,%.6g'):format(names[k], c, score[i])
  end
  table.sort(sections)
  print(('%d rows to train on, %d to choose by, %d to test; %d parameters, %d of %d features'):format(train:numel(),
    valid:numel(), test:numel(), x.shape[2], #columns, y.shape[2]))
  print(('weights of epoch %d of %d, with the least validation loss: %.4g; %.4g at the end'):format(trainer.best.epoch,
    #trainer.history, trainer.best.value, trainer.history[#trainer.history].valid_loss))
  print 'R2 on the rows to test, of each feature (on the scale sign(v) log(1 + |v| / median |v|)):'
  print(('%-22s %8s %8s %8s %8s %12s %12s'):format('category', 'features', 'upper q.', 'median', 'best', 'above 0.5',
    'below 0.05'))
  local function line(what, list)
    local t = mc.tensor(list)
    local function share(v) return ('%d %%'):format(100 * v:to('f64'):mean():item() + 0.5) end
    print(('%-22s %8d %8.3f %8.3f %8.3f %12s %12s'):format(what, #list, mc.quantile(t, 0.75):item(),
      mc.quantile(t, 0.5):item(), t:max():item(), share(mc.gt(t, 0.5)), share(mc.lt(t, UNSAID))))
  end
  for _, c in ipairs(sections) do line(c, by[c]) end
  line('all', score)
  local unsaid = {}
  for i, k in ipairs(columns) do if score[i] < UNSAID then unsaid[#unsaid + 1] = names[k] end end
  print(('parameters do not say (R2 below %g): %s'):format(UNSAID, #unsaid > 0 and table.concat(unsaid, ', ')
    or 'nothing'))
  local known, constant = {}, {}
  for _, k in ipairs(columns) do known[k] = true end
  for k = 1, y.shape[2] do if not known[k] then constant[#constant + 1] = names[k] end end
  if constant[1] then print('left out, constant or not finite: ' .. table.concat(constant, ', ')) end
  assert(mc.file.write(o.out .. '/scores.csv', table.concat(lines, '\n') .. '\n'))
  local state = { mean = mean, spread = spread, scale = mc.tensor(scales),
    column = mc.tensor(columns, { dtype = 'i64' }) - 1 }
  for k, t in pairs(net:state_dict()) do state['net/' .. k] = t end
  mc.save(o.out .. '/surrogate.npz', state)
  mc.save(o.out .. '/predictions.npz', { row = place:take(test, 1), train = place:take(train, 1),
    valid = place:take(valid, 1), want = want, got = guess })
  print(('results in %s: surrogate.npz  scores.csv  predictions.npz  log.jsonl  report.html; inputs are %s'):format(
    o.out, table.concat(parameters, ', ')))
end)
