-- train.lua - a two-layer network trained with AdamW; the whole step (loss, gradient, update) is one compiled plan.
--
-- usage: mascon scripts/train.lua [INPUT.npz] [options]; --help lists them. INPUT holds x (samples x features) and y
-- (classes 1, 2, ... or 0, 1, ...); without it three spirals are drawn. Writes DIR/model.npz, history.csv,
-- loss.svg/.png, for two features boundary.svg, and manifest.json.
local mc = require 'mascon'

local o = mc.args.parse(arg, {
  name = 'train', usage = 'usage: mascon scripts/train.lua [INPUT.npz] [options]', positional = 1,
  about = 'Trains a two-layer network on labelled samples.',
  options = {
    { 'hidden', 'count', 'hidden units', default = 128 },
    { 'epochs', 'count', 'passes over the samples',
      default = 200 }, { 'batch', 'count', 'samples per step', default = 256 }, { 'lr', 'number', 'learning rate',
        default = 1e-2 }, { 'weight_decay', 'number', 'decay of the weights', default = 1e-2 },
    { 'test', 'number', 'share of samples held out', default = 0.2 },
    { 'seed', 'natural', 'seed of the weights, of the order of samples and of the spirals', default = 1 },
    { 'device', 'string', 'cpu, gpu, cuda:0, opencl:0, or auto: what MASCON_DEVICE names, else a card, else cpu' },
    { 'out', 'string', 'folder for the results', value = 'DIR', default = 'train-results' },
    { 'overwrite', 'flag', 'replace results that are there' }, { 'eager', 'flag', 'do not compile the step' },
    { 'quiet', 'flag', 'no progress bar' },
  },
})

--- Three arms of a spiral: x [n, 2], y [n] in 1..3.
local function spirals(n, seed)
  local t = mc.rand({ n }, { seed = seed })
  local arm = mc.remainder(mc.arange(0, n - 1, 1, { dtype = 'i64' }), 3)
  local angle = t * 5 + arm * (2 * math.pi / 3) + mc.randn({ n }, { seed = seed + 1 }) * 0.12
  return mc.stack({ t * mc.cos(angle), t * mc.sin(angle) }, 2):to 'f32', arm + 1
end

local function layer(key, rows, columns)
  return { w = (mc.random.normal({ rows, columns }, { key = key }) * math.sqrt(2 / rows)):to 'f32',
    b = mc.zeros({ columns }, { dtype = 'f32' }) }
end

local function logits(p, x) return mc.maximum(x:matmul(p[1].w) + p[1].b, 0):matmul(p[2].w) + p[2].b end
local function cross_entropy(p, x, y)
  return -mc.mean(mc.take_along_axis(mc.log_softmax(logits(p, x), 2), y:reshape(-1, 1), 2))
end
local function accuracy(p, x, y) return mc.mean(mc.eq(mc.argmax(logits(p, x), 2), y):to 'f32'):item() end

mc.args.run('train', function()
  local device, said = mc.args.device(o.device)
  if said then print(said) end
  mc.results.folder('--out', o.out, { overwrite = o.overwrite })
  local x, y
  if o[1] then
    local file = mc.load(o[1])
    if type(file) ~= 'table' or not file.x or not file.y then
      error(o[1] .. ': holds no arrays x and y; save x (samples x features) and y (classes)', 0)
    end
    if not (mc.is_tensor(file.x) and mc.is_tensor(file.y)) then
      error(('%s: %s holds texts; give numbers, classes as 1, 2, ... or 0, 1, ...'):format(o[1],
        mc.is_tensor(file.x) and 'y' or 'x'), 0)
    end
    x, y = file.x:to 'f32', file.y:to 'i64'
    if x.ndim ~= 2 or y.ndim ~= 1 or x.shape[1] ~= y.shape[1] then
      error(('%s: x is %s and y is %s; give x [samples, features] and y [samples]'):format(o[1], tostring(x.shape),
        tostring(y.shape)), 0)
    end
    y = y - mc.min(y) + 1
  else
    x, y = spirals(3000, o.seed)
  end
  local options = {}
  for name, v in pairs(o) do if type(name) == 'string' then options[name] = v end end
  local record = mc.manifest.new { options = options,
    inputs = o[1] and { o[1] } or nil, seed = o.seed, quiet = o.quiet }
  local n, classes = x.shape[1], mc.max(y):item()
  local keys = mc.random.key(o.seed):split(3)
  local order = mc.random.permutation(n, { key = keys[3] })
  local held = math.floor(n * o.test)
  local function pick(first, last)
    return x:take(order[{ { first, last } }], 1), y:take(order[{ { first, last } }], 1)
  end
  local test_x, test_y = pick(1, math.max(held, 1))
  local train_x, train_y = pick(held + 1, n)
  local function there(t) return mc.tree.map(function(v) return v:to(device or 'cpu') end, t) end
  test_x, test_y, train_x, train_y = there(test_x), there(test_y), there(train_x), there(train_y)
  local many = train_x.shape[1]
  local batch = math.min(o.batch, many)

  local params = there { layer(keys[1], x.shape[2], o.hidden), layer(keys[2], o.hidden, classes) }
  local optimizer = mc.optim.adamw { lr = o.lr, weight_decay = o.weight_decay }
  local state = optimizer.init(params)
  local value_and_grad = mc.value_and_grad(cross_entropy)
  local function step(p, s, images, labels, rate)
    local loss, g = value_and_grad(p, images, labels)
    local after, next_state = optimizer.update(p, g, s, rate)
    return after, next_state, loss
  end
  local train = o.eager and step or mc.compile(step)

  local bar = not o.quiet and mc.progress.new(o.epochs, { label = 'training', unit = 'epochs' }) or nil
  local history, steps = {}, math.floor(many / batch)
  for epoch = 1, o.epochs do
    local shuffled = there(mc.random.permutation(many, { key = keys[3]:fold_in(epoch) }))
    local rate = o.lr * 0.5 * (1 + math.cos(math.pi * (epoch - 1) / o.epochs))
    local total = 0
    for k = 1, steps do
      local at = shuffled[{ { (k - 1) * batch + 1, k * batch } }]
      local loss
      params, state, loss = train(params, state, train_x:take(at, 1), train_y:take(at, 1), rate)
      total = total + loss:item()
    end
    history[epoch] = { epoch, total / steps, accuracy(params, test_x, test_y) }
    if bar then bar:update(epoch) end
  end
  if bar then bar:done() end
  params = mc.tree.map(function(t) return t:to 'cpu' end, params)
  local best = history[o.epochs]
  print(('%s: %d samples, %d features, %d classes; %d epochs of %d steps'):format(o[1] or 'three spirals', n,
    x.shape[2], classes, o.epochs, steps))
  print(('loss %.4f, accuracy on held-out samples %.3f%s'):format(best[2], best[3],
    o.eager and '' or (', step traced %d time%s'):format(train.traces, train.traces == 1 and '' or 's')))

  local table_of = mc.tensor(history)
  local loss =
    mc.plot.line(table_of[':, 1'], table_of[':, 2'], { title = 'Training', xlabel = 'epoch', ylabel = 'cross entropy' })
  local map
  if x.shape[2] == 2 then
    local low, high = mc.min(x):item(), mc.max(x):item()
    local side = mc.linspace(low, high, 160, { dtype = 'f32' })
    local across, up = mc.meshgrid(side, side, { indexing = 'xy' })
    local at = mc.stack({ across:reshape(-1), up:reshape(-1) }, 2)
    map = mc.plot.heatmap(side, side, mc.argmax(logits(params, at), 2):reshape(160, 160),
      { title = 'Decision', xlabel = 'first feature', ylabel = 'second feature' })
  end
  local png, no_png
  local names = mc.results.write(o.out, record, function(set)
    mc.save(set:path 'model.npz', { w1 = params[1].w, b1 = params[1].b, w2 = params[2].w, b2 = params[2].b })
    mc.save(set:path 'history.csv', table_of, { header = { 'epoch', 'loss', 'accuracy' } })
    set:put('loss.svg', mc.plot.render(loss))
    if map then set:put('boundary.svg', mc.plot.render(map)) end
    png, no_png = set:try('loss.png', function(path) return mc.plot.save(loss, path, { required = false }) end,
      { compare = false })
  end)
  print(('results in %s: %s'):format(o.out, table.concat(names, '  ')))
  if not png then print('no PNG: ' .. tostring(no_png)) end
end)
