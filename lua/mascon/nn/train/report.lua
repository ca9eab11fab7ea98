-- report.lua - the page of a run of training: curves over steps and epochs, what was best, the network.
local file = require 'mascon.base.file'
local json = require 'mascon.base.json'
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

local function curve(xs, ys, title, label)
  xs, ys = thinned(xs, ys)
  return plot.line(op.from_table(xs), op.from_table(ys), { title = title, xlabel = 'step', ylabel = label })
end

--- Writes report.html into the folder of a trainer.
function M.write(trainer)
  local folder = trainer.options.folder
  local at, losses, norm_at, norms = {}, {}, {}, {}
  for line in ((file.read(folder .. '/log.jsonl') or '') .. '\n'):gmatch '([^\n]+)\n' do
    local e = json.decode(line)
    if e.kind == 'step' and type(e.loss) == 'number' then
      at[#at + 1], losses[#losses + 1] = e.step, e.loss
      if type(e.norm) == 'number' then norm_at[#norm_at + 1], norms[#norms + 1] = e.step, e.norm end
    end
  end
  local sections, names, seen, o = {}, {}, {}, trainer.options
  local facts = { ('%d steps, %d epochs, %d samples in %d batches an epoch.'):format(trainer.step.count,
    #trainer.history, o.train.n, o.train.batches) }
  local lr = o.optimizer.options and o.optimizer.options.lr
  facts[2] = ('Optimiser: %s%s. Script: %s.'):format(o.optimizer.name or 'of its own', type(lr) == 'number'
    and (', rate %s'):format(text.significant(lr, 6)) or lr and ', rate by a schedule' or '',
    arg and type(arg[0]) == 'string' and arg[0]:match '[^/]*$' or 'none')
  if trainer.best then
    facts[3] = ('Best %s: %s in epoch %d (step %d).'):format(trainer.monitor, text.significant(trainer.best.value, 6),
      trainer.best.epoch, trainer.best.step)
  end
  sections[1] = { heading = 'Run', paragraphs = facts }
  if #at > 1 then
    sections[#sections + 1] = { heading = 'Loss of steps', figure = curve(at, losses, 'Loss of steps', 'loss') }
    if #norms > 1 then
      local words = 'Norm of the gradient'
      sections[#sections + 1] = { heading = words, figure = curve(norm_at, norms, words, 'norm') }
    end
  end
  for _, h in ipairs(trainer.history) do
    for k in pairs(h) do
      if not seen[k] and k ~= 'epoch' and k ~= 'step' and k ~= 'batches' then
        seen[k] = true
        names[#names + 1] = k
      end
    end
  end
  table.sort(names)
  local rows = {}
  for i, h in ipairs(trainer.history) do
    rows[i] = { h.epoch, h.step }
    for j, k in ipairs(names) do rows[i][j + 2] = h[k] end
  end
  for _, k in ipairs(names) do
    local xs, ys = {}, {}
    for _, h in ipairs(trainer.history) do
      if h[k] and h[k] == h[k] and math.abs(h[k]) < math.huge then xs[#xs + 1], ys[#ys + 1] = h.step, h[k] end
    end
    local words = k:sub(1, 1):upper() .. k:sub(2):gsub('_', ' ') .. ' of epochs'
    if #xs > 1 then sections[#sections + 1] = { heading = words, figure = curve(xs, ys, words, (k:gsub('_', ' '))) } end
  end
  if #rows > 0 then
    sections[#sections + 1] = { heading = 'Epochs', table = { header = { 'epoch', 'step', unpack(names) },
      rows = rows } }
  end
  sections[#sections + 1] = { heading = 'Network', code = tostring(trainer.net) }
  local ok, why = file.write(folder .. '/report.html', report.html { title = o.name,
    sections = sections })
  if not ok then error('nn.Trainer: ' .. why, 2) end
end

return M
