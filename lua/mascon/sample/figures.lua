-- figures.lua - draws of a sampler as figures: traces, marginals, pairs, predictions beside what was observed.
--
-- A result may hold units, a table by label: they stand beside the names of axes.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local plot = require 'mascon.plot'
local results = require 'mascon.sample.result'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

local PICK = { names = { nil, 'table' } }

local function picked(fname, r, o, most)
  if type(r) ~= 'table' or type(r.posterior) ~= 'table' then
    error(('%s: the first argument is %s; give a result of mc.sample.nuts'):format(fname, check.show(r)), 3)
  end
  local rows = results.scalars(r, fname, o.names)
  if #rows > most then
    error(('%s: there are %d numbers to show, and room for %d; choose parameters by the option names'):format(fname,
      #rows, most), 3)
  end
  for _, row in ipairs(rows) do row.unit = r.units and r.units[row.label] end
  return rows
end

local function everything(x) return methods.reshape(x, { x:numel() }) end

--- A figure of every parameter: the distribution in each chain on the left, the draws in order on the right; divergent
--- transitions as points below.
---
--- Options: names: parameters to show, 30 numbers at most. Result: a figure; mc.plot.save writes it.
---     local function f(x) return -0.5 * mc.sum(x * x) end
---     local r = mc.sample.nuts(f, { 0 }, { key = 1, chains = 2, draws = 50, warmup = 50 })
---     mc.sample.trace(r).rows  --> 1
---@param r mascon.sample.Result
---@param opts? table names
---@return mascon.plot.Figure
function M.trace(r, opts)
  local rows = picked('sample.trace', r, check.opts('sample.trace', opts, PICK), 30)
  local fig = plot.figure { rows = #rows, cols = 2, width = 900, height = 40 + 195 * #rows }
  local diverging = r.sample_stats.diverging
  for i, row in ipairs(rows) do
    local chains = row.draws.shape[1]
    local left = fig:axes(i, 1, { xlabel = row.label, xunit = row.unit, ylabel = 'Density' })
    local right = fig:axes(i, 2, { ylabel = row.label, yunit = row.unit, xlabel = i == #rows and 'Draw' or nil })
    local bottom = F.min(row.draws):item()
    for c = 1, chains do
      left:hist(row.draws[c], { density = true, alpha = 0.4,
        label = i == 1 and chains > 1 and ('chain %d'):format(c) or nil })
      right:line(row.draws[c], { width = 0.6 })
    end
    for c = 1, chains do
      local at = F.flatnonzero(diverging[c])
      if at:numel() > 0 then
        right:scatter(at, F.add(F.multiply(methods.to(at, 'f64'), 0), bottom), { color = '#d62728', size = 4 })
      end
    end
  end
  return fig
end

--- A figure of all pairs of parameters: distributions on the diagonal, draws below it; divergent transitions in red.
--- Its title says what is red and which parameters are not shown.
---
--- Options: names: parameters to show, 10 numbers at most · points (2000): draws shown per panel, evenly taken. Result:
--- a figure.
---     local function f(x) return -0.5 * mc.sum(x * x) end
---     local r = mc.sample.nuts(f, { 0, 0 }, { key = 1, chains = 2, draws = 50, warmup = 50 })
---     #mc.sample.corner(r).panels  --> 3
---@param r mascon.sample.Result
---@param opts? table names, points
---@return mascon.plot.Figure
function M.corner(r, opts)
  local o = check.opts('sample.corner', opts, { names = { nil, 'table' }, points = { 2000, 'integer >= 1' } })
  local rows = picked('sample.corner', r, o, 10)
  local n = #rows
  local diverged, notes, there = F.flatnonzero(everything(r.sample_stats.diverging)), {}, {}
  for i = 1, n do there[rows[i].label] = true end
  if diverged:numel() > 0 then
    notes[1] = ('red: %d divergent transition%s'):format(diverged:numel(), diverged:numel() == 1 and '' or 's')
  end
  local left_out = {}
  for _, row in ipairs(results.scalars(r, 'sample.corner')) do
    if not there[row.label] then left_out[#left_out + 1] = row.label end
  end
  if #left_out > 0 then notes[#notes + 1] = 'not shown: ' .. table.concat(left_out, ', ') end
  local fig = plot.figure { rows = n, cols = n, width = 60 + 190 * n, height = 60 + 170 * n,
    title = #notes > 0 and table.concat(notes, '; ') or nil }
  local total = rows[1].draws:numel()
  local stride = math.max(1, math.ceil(total / o.points))
  for i = 1, n do
    local y = everything(rows[i].draws)
    for j = 1, i do
      local at = fig:axes(i, j,
        { xlabel = i == n and rows[j].label or nil, xunit = i == n and rows[j].unit or nil,
        ylabel = j == 1 and i > 1 and rows[i].label or nil, yunit = j == 1 and i > 1 and rows[i].unit or nil })
      local x = everything(rows[j].draws)
      if i == j then at:hist(x, { density = true, ylabel = j == 1 and 'Density' or '' })
      else
        at:scatter(x[{ { 1, total, stride } }], y[{ { 1, total, stride } }], { size = 2, alpha = 0.35 })
        if diverged:numel() > 0 then
          at:scatter(F.take(x, diverged, 1), F.take(y, diverged, 1), { size = 3, color = '#d62728' })
        end
      end
    end
  end
  return fig
end

--- A figure of the distribution of every parameter, with median and 5 % and 95 % quantiles as lines.
---
--- Options: names: parameters to show, 40 numbers at most. Result: a figure.
---     local function f(x) return -0.5 * mc.sum(x * x) end
---     local r = mc.sample.nuts(f, { 0 }, { key = 1, chains = 2, draws = 50, warmup = 50 })
---     #mc.sample.marginals(r).panels  --> 1
---@param r mascon.sample.Result
---@param opts? table names
---@return mascon.plot.Figure
function M.marginals(r, opts)
  local rows = picked('sample.marginals', r, check.opts('sample.marginals', opts, PICK), 40)
  local cols = math.min(3, #rows)
  local fig = plot.figure { rows = math.ceil(#rows / cols), cols = cols,
    title = 'full line: median; dashed: 5 % and 95 % quantiles' }
  for i, row in ipairs(rows) do
    local x = everything(row.draws)
    local at = fig:axes(math.ceil(i / cols), (i - 1) % cols + 1, { xlabel = row.label, xunit = row.unit })
    at:hist(x, { density = true })
    for _, q in ipairs { 0.05, 0.5, 0.95 } do
      at:vline(F.quantile(x, q):item(), { dash = q == 0.5 and 'solid' or 'dashed', width = 1.2, color = '#333333' })
    end
  end
  return fig
end

--- A figure of predictions beside what was observed: median, bands from 5 % to 95 % and from 25 % to 75 %, observations
--- as points.
---
--- observed: f32|f64 [n]. predictions: f32|f64 [chain, draw, n], as mc.sample.predict gives them. Options: x: f32|f64
--- [n], 1 to n by default · xlabel · ylabel · title. Result: a figure.
--- Errors: observed and predictions have other lengths.
---     mc.sample.predictive(mc.zeros { 3 }, mc.random.normal({ 2, 20, 3 }, { key = 1 })).rows  --> 1
---@param observed mascon.Tensor
---@param predictions mascon.Tensor
---@param opts? table x, xlabel, ylabel, title, xscale 'linear'|'log'
---@return mascon.plot.Figure
function M.predictive(observed, predictions, opts)
  local o = check.opts('sample.predictive', opts,
    { x = { nil, 'any' }, xlabel = { nil, 'string' }, ylabel = { nil, 'string' }, title = { nil, 'string' },
      xscale = { nil, { 'linear', 'log' } } })
  if not is(observed) then observed = op.from_table(observed) end
  local n = observed:numel()
  if not is(predictions) or predictions.ndim ~= 3 or observed.ndim ~= 1 or predictions.shape[3] ~= n then
    error(('sample.predictive: observed is %s, predictions are %s; give [n] and [chain, draw, '
      .. 'n]'):format(tensor.describe(observed), is(predictions) and tensor.describe(predictions)
      or check.show(predictions)), 2)
  end
  local all = methods.reshape(predictions, { predictions.shape[1] * predictions.shape[2], n })
  local function level(q) return F.quantile(all, q, 1) end
  local x = o.x
  if x == nil then x = F.cumulative_sum(methods.fill_(tensor.empty('sample.predictive', { n }, 'f64', 3), 1)) end
  local fig = plot.figure { title = o.title }
  local at = fig:axes(1, 1, { xlabel = o.xlabel, ylabel = o.ylabel, xscale = o.xscale })
  at:band(x, level(0.05), level(0.95), { label = '5 % to 95 %', alpha = 0.2 })
  at:band(x, level(0.25), level(0.75), { label = '25 % to 75 %', alpha = 0.35 })
  at:line(x, level(0.5), { label = 'median' })
  at:scatter(x, observed, { label = 'observed', color = '#333333', size = 4 })
  return fig
end

return M
