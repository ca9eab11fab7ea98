-- denoise.lua - a U-Net learns to remove noise from images: drawn shapes, or a file of images.
--
-- usage: mascon scripts/denoise.lua [options]; --help lists them. The network sees an image with noise and gives the
-- image without. Without --data, images of six shapes are drawn; --data FILE takes grey images from a file of MNIST's
-- IDX form or an .npy array [n, height, width] and adds the noise. Writes DIR/model.npz, log.jsonl, report.html,
-- images.png (noisy, denoised, clean), manifest.json, checkpoints, and prints the peak signal-to-noise ratio on images
-- that were not trained on, beside those of the noisy images and of the best Gaussian filter.
local mc = require 'mascon'
local nn = mc.nn

local o = mc.args.parse(arg, {
  name = 'denoise', usage = 'usage: mascon scripts/denoise.lua [options]',
  about = 'Trains a U-Net that removes noise from small images.',
  options = {
    { 'data', 'string', 'grey images, IDX or .npy [n, height, width]; without it shapes are drawn', value = 'FILE' },
    { 'out', 'string', 'folder for the results', value = 'DIR', default = 'denoise-results' },
    { 'epochs', 'count', 'passes over the images', default = 6 },
    { 'batch', 'count', 'images per step', default = 32 },
    { 'count', 'count', 'images that are drawn for training', default = 1500 },
    { 'noise', 'number', 'standard deviation of the noise; images reach from 0 to 1', default = 0.3 },
    { 'channels', 'count', 'of the first level; each level below has twice as many', default = 12 },
    { 'levels', 'count', 'resolutions', default = 3 }, { 'lr', 'number', 'learning rate', default = 3e-3 },
    { 'seed', 'natural', 'seed of images, weights and order', default = 1 },
    { 'device', 'string', 'cpu, gpu, cuda:0, opencl:0, or auto: what MASCON_DEVICE names, else a card, else cpu' },
    { 'resume', 'flag', 'go on with the run in the folder of the results' },
    { 'overwrite', 'flag', 'remove the run in the folder of the results' }, { 'quiet', 'flag', 'no progress line' },
  },
})

--- Clean images f32 [n, 1, side, side] with sides that the levels divide, for training and for the test.
local function images()
  if not o.data then
    local function drawn(n, seed) return nn.data.shapes(n, { seed = seed, noise = 0 }).fields.clean * 0.5 + 0.5 end
    return drawn(o.count, o.seed), drawn(math.max(16, math.min(200, math.floor(o.count / 5))), o.seed + 1000)
  end
  local all = o.data:find '%.npy$' and mc.load(o.data) or nn.data.idx(o.data)
  if not mc.is_tensor(all) or all.ndim ~= 3 then
    error(('--data %s holds %s; give grey images [n, height, width]'):format(o.data, mc.is_tensor(all)
      and ('%s[%s]'):format(all.dtype, table.concat(all.shape, ',')) or 'a ' .. type(all)), 0)
  end
  local low, high = mc.min(all):item(), mc.max(all):item()
  if all.dtype ~= 'u8' and (low < 0 or high > 1) then
    error(('--data %s has values from %g to %g; give u8, or numbers from 0 to 1'):format(o.data, low, high), 0)
  end
  all = all.dtype == 'u8' and nn.data.scaled(mc.expand_dims(all, 2)) or mc.expand_dims(all, 2):to 'f32'
  local function cut(k) return all.shape[k] - all.shape[k] % 2 ^ (o.levels - 1) end
  local test = math.max(1, math.min(200, math.floor(all.shape[1] / 5)))
  if all.shape[1] < 2 or cut(3) == 0 or cut(4) == 0 then
    error(('--data %s: %d images of %d x %d are too few or too small for %d levels'):format(o.data, all.shape[1],
      all.shape[3], all.shape[4], o.levels), 0)
  end
  all = all[{ mc.all, mc.all, { 1, cut(3) }, { 1, cut(4) } }]
  return all[{ { 1, all.shape[1] - test } }], all[{ { all.shape[1] - test + 1, all.shape[1] } }]
end

local function noise(x, key)
  return x + mc.random.normal(x.shape, { key = key, dtype = 'f32' }) * o.noise
end
local function decibels(mse) return -10 * math.log10(mse) end
local function error_of(a, b) return mc.mean(mc.square(a - b)):item() end

--- The least error that a Gaussian filter of some width leaves.
local function filtered(noisy, clean)
  local best, width
  for _, sigma in ipairs { 0.4, 0.6, 0.8, 1, 1.3, 1.6, 2 } do
    local row = mc.exp(mc.square(mc.arange(-6, 6)) * (-0.5 / sigma ^ 2))
    row = (row / mc.sum(row)):to 'f32'
    local y = nn.conv2d(noisy, row:reshape(1, 1, 1, -1), { padding = { 0, 6 }, padding_mode = 'replicate' })
    local e = error_of(nn.conv2d(y, row:reshape(1, 1, -1, 1), { padding = { 6, 0 }, padding_mode = 'replicate' }),
      clean)
    if not best or e < best then best, width = e, sigma end
  end
  return best, width
end

mc.args.run('denoise', function()
  local device, said = mc.args.device(o.device)
  if said then print(said) end
  local clean, other = images()
  if not mc.manifest.planning() then
    mc.results.folder('--out', o.out, { overwrite = o.overwrite, resume = o.resume or false,
      names = { 'model.npz', 'log.jsonl', 'images.png' } })
  end
  local record = mc.manifest.new { options = o, inputs = { o.data }, seed = o.seed, quiet = o.quiet }
  local key = mc.random.key(o.seed)
  local channels = {}
  for i = 1, o.levels do channels[i] = o.channels * 2 ^ (i - 1) end
  local net = nn.UNet(1, 1, { channels = channels, groups = 4, key = key:fold_in(1) })
  print(net)
  local noisy = noise(other, key:fold_in(2))
  -- the network gives the noise; what it sees has new noise in each epoch
  local function without(model, x) return x - model(x) end
  local loader = nn.data.loader(nn.data.tensors { clean = clean }, { batch = o.batch, shuffle = true, seed = o.seed,
    drop_last = o.batch <= clean.shape[1],
    transform = function(b, k) return { x = noise(b.clean, k), clean = b.clean } end })
  local trainer = nn.Trainer(net, {
    name = 'denoise', folder = o.out, resume = o.resume, overwrite = o.overwrite, progress = not o.quiet,
    device = device,
    epochs = o.epochs, train = loader,
    valid = nn.data.loader(nn.data.tensors { x = noisy, clean = other }, { batch = 50 }), key = key:fold_in(3),
    optimizer = mc.optim.adamw { lr = mc.optim.one_cycle(o.lr, { steps = math.max(2, o.epochs * loader.batches) }) },
    clip = 1,
    loss = function(model, b) return nn.mse_loss(without(model, b.x), b.clean), b.x.shape[1] end,
    callbacks = { epoch = function(_, f)
      return ('epoch %d: %.2f dB, on other images %.2f dB'):format(f.epoch, decibels(f.loss), decibels(f.valid_loss))
    end },
  })
  if o.overwrite then os.remove(o.out .. '/model.npz') end
  trainer:fit()
  trainer:use_best()
  net:eval():to 'cpu'
  local few = math.min(6, other.shape[1])
  local function row(t) return mc.concat(mc.split(t[{ { 1, few }, 1 }]:copy(), few, 1), 3)[1] end
  local seen = noisy[{ { 1, few } }]:copy()
  mc.plot.heatmap(mc.flip(mc.clip(mc.concat({ row(seen), row(without(net, seen)), row(other) }, 1), 0, 1), 1),
    { title = 'with noise, without, as it was', cmap = 'grey' }):save(o.out .. '/images.png')
  local blurred, sigma = filtered(noisy, other)
  print(('%d images, %d steps'):format(clean.shape[1], trainer.step.count))
  print(('with noise %.2f dB; best Gaussian filter (%g pixels) %.2f dB; network %.2f dB'):format(
    decibels(error_of(noisy, other)), sigma, decibels(blurred), decibels(trainer.best.value)))
  print(('results in %s: %s'):format(o.out, trainer:conclude(record, { 'images.png' })))
end)
