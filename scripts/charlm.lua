-- charlm.lua - a small transformer learns to write, character by character: sentences of a grammar, or a text file.
--
-- usage: mascon scripts/charlm.lua [options]; --help lists them. Without --data, 200 kB of sentences are made by a
-- grammar.
-- Writes DIR/model.npz, log.jsonl, report.html, sample.txt, manifest.json, checkpoints, and prints the loss in bits per
-- character on
-- text that was not trained on, beside that of single characters: below 0.8 bits (4.1 for characters alone) after 400
-- steps, in about a minute on two cores.
local mc = require 'mascon'
local nn = mc.nn

local o = mc.args.parse(arg, {
  name = 'charlm', usage = 'usage: mascon scripts/charlm.lua [options]',
  about = 'Trains a character language model: a transformer with rotary positions.',
  options = {
    { 'data', 'string', 'text file; without it sentences of a grammar are made', value = 'FILE' },
    { 'out', 'string', 'folder for the results', value = 'DIR', default = 'charlm-results' },
    { 'steps', 'count', 'steps of training', default = 400 },
    { 'batch', 'count', 'windows per step', default = 32 },
    { 'length', 'count', 'characters of a window', default = 64 },
    { 'width', 'count', 'numbers per character', default = 64 },
    { 'layers', 'count', 'blocks', default = 2 }, { 'heads', 'count', 'heads of attention', default = 4 },
    { 'lr', 'number', 'learning rate', default = 5e-3 },
    { 'write', 'count', 'characters to write at the end', default = 300 },
    { 'temperature', 'number', 'of the writing; near 0 takes the likeliest', default = 0.8 },
    { 'seed', 'natural', 'seed of text, weights, order and writing', default = 1 },
    { 'device', 'string', 'cpu, gpu, cuda:0, opencl:0, or auto: what MASCON_DEVICE names, else a card, else cpu' },
    { 'resume', 'flag', 'go on with the run in the folder of the results' },
    { 'overwrite', 'flag', 'remove the run in the folder of the results' }, { 'quiet', 'flag', 'no progress line' },
  },
})

local GRAMMAR = {
  S = { 'NP VP .', 'NP VP .', 'NP VP and NP VP .', 'when NP VP , NP VP .' },
  NP = { 'the N', 'a N', 'the A N', 'NAME' },
  VP = { 'V NP', 'V NP', 'I', 'I near NP' },
  N = { 'moon', 'crater', 'probe', 'signal', 'orbit', 'shadow', 'engine', 'map' },
  A = { 'silent', 'bright', 'heavy', 'distant', 'small' },
  V = { 'follows', 'measures', 'crosses', 'finds', 'leaves' },
  I = { 'turns', 'rises', 'sleeps', 'falls' },
  NAME = { 'luna', 'selene', 'artemis' },
}

--- At least n characters of sentences.
local function sentences(n, seed)
  local draws = mc.random.uniform { 65536, key = mc.random.key(seed) }:totable()
  local at, out, length = 0, {}, 0
  local function words(symbol, list)
    local rules = GRAMMAR[symbol]
    if not rules then
      list[#list + 1] = symbol
      return list
    end
    at = at % #draws + 1
    for word in rules[math.floor(draws[at] * #rules) + 1]:gmatch '%S+' do words(word, list) end
    return list
  end
  while length < n do
    local text = table.concat(words('S', {}), ' '):gsub(' ([.,])', '%1') .. '\n'
    if at > 65000 then
      seed = seed + 1
      draws, at = mc.random.uniform { 65536, key = mc.random.key(seed) }:totable(), 0
    end
    out[#out + 1], length = text, length + #text
  end
  return table.concat(out)
end

local Model = nn.Module 'CharacterModel'
function Model:init(vocabulary, key)
  self.embedding = nn.Embedding(vocabulary, o.width, { key = key:fold_in(1), weight_init = { 'normal', std = 0.02 } })
  self.blocks = nn.TransformerEncoder(o.width, o.heads, o.layers, { causal = true, rope = true, norm = 'rms',
    activation = 'swiglu', bias = false, key = key:fold_in(2) })
  self.head = nn.Linear(o.width, vocabulary, { bias = false, key = key:fold_in(3) })
end
function Model:forward(ids, caches)
  local x = self.embedding(ids)
  if not caches then return self.head(self.blocks(x)) end
  for i = 1, o.layers do x = self.blocks.layers[i](x, { cache = caches[i] }) end
  return self.head(self.blocks.norm(x))
end

--- Text that the model writes after a character, one character after the other, with kept keys and values. It sees
--- between half and all of the characters that a window had in training.
local function written(net, letters, start, n, key)
  local caches, ids, seen = nil, { start }, 0
  local logits
  for k = 1, n do
    if not caches or seen >= o.length then
      caches = {}
      for i = 1, o.layers do caches[i] = {} end
      seen = math.min(#ids, math.floor(o.length / 2))
      logits = net(mc.tensor({ { unpack(ids, #ids - seen + 1) } }, { dtype = 'i64' }), caches)
    else
      logits, seen = net(mc.tensor({ { ids[#ids] } }, { dtype = 'i64' }), caches), seen + 1
    end
    local last = logits[{ 1, -1 }] / math.max(o.temperature, 1e-3)
    local noise = mc.random.gumbel { last.shape[1], key = key:fold_in(k), dtype = 'f32' }
    ids[#ids + 1] = mc.argmax(last + noise):item() - 1
  end
  local out = {}
  for i, id in ipairs(ids) do out[i] = letters[id + 1] end
  return table.concat(out)
end

mc.args.run('charlm', function()
  local device, said = mc.args.device(o.device)
  if said then print(said) end
  if not (o.temperature >= 0 and o.temperature < math.huge) then
    error(('--temperature is %g; give a number from 0 (the likeliest character) up'):format(o.temperature), 0)
  end
  if not mc.manifest.planning() then
    mc.results.folder('--out', o.out, { overwrite = o.overwrite, resume = o.resume or false,
      names = { 'model.npz', 'log.jsonl' } })
  end
  local text = o.data and mc.load(o.data, { format = 'txt' }) or sentences(200000, o.seed)
  local record = mc.manifest.new { options = o, inputs = { o.data }, seed = o.seed, quiet = o.quiet }
  local codes, letters, ids, counts = {}, {}, {}, {}
  for c in text:gmatch '[^\128-\191][\128-\191]*' do -- characters of UTF-8
    if not codes[c] then
      letters[#letters + 1] = c
      codes[c] = #letters - 1
    end
    ids[#ids + 1] = codes[c]
    counts[c] = (counts[c] or 0) + 1
  end
  local alone = 0
  for _, n in pairs(counts) do alone = alone - n / #ids * math.log(n / #ids) / math.log(2) end
  local tokens = mc.tensor(ids, { dtype = 'i64' })
  local cut = math.floor(#ids * 0.95)
  if #ids - cut <= o.length then
    error(('%s has %d characters; the twentieth that is held out is no longer than --length %d: give a longer '
      .. 'text, or a smaller --length'):format(o.data and '--data ' .. o.data or 'the text', #ids, o.length), 0)
  end
  local train = nn.data.windows(tokens[{ { 1, cut } }], o.length, { stride = math.max(1, math.floor(o.length / 2)) })
  local valid = nn.data.windows(tokens[{ { cut + 1, #ids } }], o.length)
  local key = mc.random.key(o.seed)
  local net = Model(#letters, key:fold_in(1))
  print(net)
  local bits = 1 / math.log(2)
  local trainer = nn.Trainer(net, {
    name = 'charlm', folder = o.out, resume = o.resume, overwrite = o.overwrite, progress = not o.quiet,
    device = device,
    steps = o.steps, clip = 1,
    every = math.max(1, math.floor(o.steps / 4)), key = key:fold_in(2),
    train = nn.data.loader(train, { batch = o.batch, shuffle = true, seed = o.seed, drop_last = o.batch <= train.n }),
    valid = nn.data.loader(valid, { batch = o.batch }), groups = { { 'norm', weight_decay = 0 } },
    optimizer = mc.optim.adamw { weight_decay = 0.1, lr = mc.optim.one_cycle(o.lr, { steps = math.max(2, o.steps),
      pct_start = 0.1 }) },
    loss = function(model, b) return nn.cross_entropy(model(b.x), b.y), b.x.shape[1] end,
    callbacks = { epoch = function(_, f)
      return ('step %d: %.3f bits per character, on the text held out %.3f'):format(f.step, f.loss * bits,
        f.valid_loss * bits)
    end },
  })
  for _, name in ipairs(o.overwrite and { 'model.npz', 'sample.txt' } or {}) do os.remove(o.out .. '/' .. name) end
  trainer:fit()
  trainer:use_best()
  net:eval():to 'cpu'
  local sample = written(net, letters, ids[1], o.write, key:fold_in(3))
  mc.save(o.out .. '/sample.txt', sample)
  print(('%d characters, %d of them different; %d steps'):format(#ids, #letters, trainer.step.count))
  print(('%.3f bits per character on the text held out; characters alone have %.3f'):format(trainer.best.value * bits,
    alone))
  print('it writes: ' .. sample)
  print(('results in %s: %s'):format(o.out, trainer:conclude(record, { 'sample.txt' })))
end)
