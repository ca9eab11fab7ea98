-- report.lua - the page of a run of training: curves over steps and epochs, what was best, the network.
local file = require 'mascon.base.file'
local json = require 'mascon.base.json'
local clock = require 'mascon.base.clock'
local text = require 'mascon.base.text'
local op = require 'mascon.core.op'
local plot = require 'mascon.plot'
local report = require 'mascon.report'
local error = require('mascon.core.check').error
local M = {}

local MOST = 2000 -- points of a curve: steps are averaged beyond it

--- x and y of at most MOST points.
local function thinned(xs, ys)
  local n = #xs
  local width = math.ceil(n / MOST)
  if width <= 1 then return xs, ys end
  local x, y = {}, {}
  for i = 1, n, width do
    local a, b, k = 0, 0, 0
    for j = i, math.min(i + width - 1, n) do a, b, k = a + xs[j], b + ys[j], k + 1 end
    x[#x + 1], y[#y + 1] = a / k, b / k
  end
  return x, y
end

--- A figure of one or more curves over steps: { xs, ys, name }.
local function curves(list, title, label)
  local fig = plot.figure()
  local panel = fig:axes(1, 1)
  for _, c in ipairs(list) do
    local xs, ys = thinned(c[1], c[2])
    panel:line(op.from_table(xs), op.from_table(ys), { label = #list > 1 and c[3] or nil })
  end
  panel:set { title = title, xlabel = 'step', ylabel = label }
  return fig
end

local WORDS = { loss = 'training loss', valid_loss = 'validation loss', rate_factor = 'factor of the rate' }

--- A name of the history in words.
local function named(k) return WORDS[k] or (k:gsub('^valid_', 'validation '):gsub('_', ' ')) end

local function finite(v) return type(v) == 'number' and v - v == 0 end

--- Steps of the log: what = { at, values } for loss, norm and rate; and the seconds of its steps.
local function steps_of(folder)
  local out, seconds = { loss = { {}, {} }, norm = { {}, {} }, rate = { {}, {} } }, 0
  for line in ((file.read(folder .. '/log.jsonl') or '') .. '\n'):gmatch '([^\n]+)\n' do
    local e = json.decode(line)
    if e.kind == 'step' then
      seconds = seconds + (tonumber(e.seconds) or 0)
      for k, c in pairs(out) do
        if finite(e[k]) then c[1][#c[1] + 1], c[2][#c[2] + 1] = e.step, e[k] end
      end
    end
  end
  return out, seconds
end

--- What the run was, as sentences.
local function facts_of(trainer, seconds)
  local o, best = trainer.options, trainer.best
  local lr = o.optimizer.options and o.optimizer.options.lr
  local facts = { ('%d steps, %d epochs, %d samples in %d batches of %d an epoch%s.'):format(trainer.step.count,
    #trainer.history, o.train.n, o.train.batches, o.train.size,
    o.valid and (', %d samples for validation'):format(o.valid.n) or '') }
  facts[2] = ('Optimiser: %s%s. Script: %s.'):format(o.optimizer.name or 'of its own', type(lr) == 'number'
    and (', rate %s'):format(text.significant(lr, 6)) or lr and ', rate by a schedule' or '',
    arg and type(arg[0]) == 'string' and arg[0]:match '[^/]*$' or 'none')
  local more = {}
  local function add(k, words) if o[k] then more[#more + 1] = words:format(tostring(o[k])) end end
  add('clip', type(o.clip) == 'table' and 'clipping by a percentile of norms' or 'norm of the gradient at most %s')
  if o.accumulate > 1 then add('accumulate', '%s batches a step') end
  add('ema', 'averages of parameters with decay %s')
  if o.amp then more[#more + 1] = 'mixed precision ' .. (type(o.amp) == 'table' and o.amp.dtype or o.amp) end
  add('patience', 'patience of %s epochs')
  if more[1] then facts[3] = table.concat(more, '; '):gsub('^%l', string.upper) .. '.' end
  local date = clock.stamp():gsub('T', ' '):gsub(':%d+Z', ' UTC')
  facts[#facts + 1] = ('Ended on %s: %s; %s in steps.'):format(date, trainer.why,
    text.duration(seconds))
  if best then
    facts[#facts + 1] = ('Best %s: %s in epoch %d (step %d).'):format(named(trainer.monitor),
      text.significant(best.value, 6), best.epoch, best.step)
  end
  return facts
end

--- Names of the numbers of epochs: the losses first.
local function names_of(history)
  local names, seen = {}, { epoch = true, step = true, batches = true }
  for _, h in ipairs(history) do
    for k in pairs(h) do
      if not seen[k] then
        seen[k] = true
        names[#names + 1] = k
      end
    end
  end
  local function rank(k) return k == 'loss' and 1 or k == 'valid_loss' and 2 or 3 end
  table.sort(names, function(a, b)
    if rank(a) ~= rank(b) then return rank(a) < rank(b) end
    return a < b
  end)
  return names
end

--- Writes report.html into the folder of a trainer.
function M.write(trainer)
  local folder, history = trainer.options.folder, trainer.history
  local steps, seconds = steps_of(folder)
  local sections = { { heading = 'Run', paragraphs = facts_of(trainer, seconds) } }
  local function figure(list, title, label)
    if list[1] and #list[1][1] > 1 then
      sections[#sections + 1] = { heading = title, figure = curves(list, title, label) }
    end
  end
  local names, epochs = names_of(history), {}
  for _, k in ipairs(names) do
    local xs, ys = {}, {}
    for _, h in ipairs(history) do
      if finite(h[k]) then xs[#xs + 1], ys[#ys + 1] = h.step, h[k] end
    end
    epochs[k] = { xs, ys, named(k) }
  end
  figure(epochs.valid_loss and { epochs.loss, epochs.valid_loss } or { epochs.loss }, 'Loss of epochs', 'loss')
  for _, k in ipairs(names) do
    local words = named(k)
    if k ~= 'loss' and k ~= 'valid_loss' then
      figure({ epochs[k] }, words:gsub('^%l', string.upper) .. ' of epochs', words)
    end
  end
  figure({ steps.loss }, 'Loss of steps', 'loss')
  figure({ steps.norm }, 'Norm of the gradient', 'norm')
  figure({ steps.rate }, 'Learning rate', 'rate')
  local header, rows = { 'epoch', 'step' }, {}
  for j, k in ipairs(names) do header[j + 2] = named(k) end
  for i, h in ipairs(history) do
    rows[i] = { h.epoch, h.step }
    for j, k in ipairs(names) do rows[i][j + 2] = h[k] end
  end
  if #rows > 0 then sections[#sections + 1] = { heading = 'Epochs', table = { header = header, rows = rows } } end
  sections[#sections + 1] = { heading = 'Network', code = tostring(trainer.net) }
  local ok, why = file.write(folder .. '/report.html', report.html { title = trainer.options.name,
    sections = sections })
  if not ok then error('nn.Trainer: ' .. why, 2) end
end

return M
