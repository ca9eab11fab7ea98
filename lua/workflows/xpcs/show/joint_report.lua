-- joint_report.lua - the HTML page of a joint fit: its verdict, parameters, rates and what each data set says.
--
-- The page of each set (report.lua) holds its maps and residuals. Takes results and data; fits nothing.
local mc = require 'mascon'
local labels = require 'workflows.xpcs.model.labels'
local report = require 'workflows.xpcs.show.report'
local summary = require 'workflows.xpcs.judge.summary'
local verdict = require 'workflows.xpcs.judge.verdict'
local M = {}

local shown = summary.shown

local CELLS = 56 -- a side of a map

--- Rows of the data sets.
local function sets_of(r, list)
  local rows, label = {}, labels.of(list)
  for i, data in ipairs(list) do
    local one = r.fits[i]
    rows[i] = { i, label[i], shown(data.q), data.F, data.n,
      shown(one.chi2), shown(one.reduced_chi2, 4), verdict.word(one), { href = ('set%d/report.html'):format(i) } }
  end
  return { header = { 'set', 'file', 'q, 1/A', 'angles', 'times', 'chi2', 'reduced', 'quality', 'its page' },
    rows = rows }
end

--- Rates of the sets: one figure where the sets share all of them, else one of each set.
local function rates_of(r)
  local count, shared = 0, 0
  for _, q in ipairs(r.parameters) do
    if not q.name:find '^contrast' and not q.name:find '^offset' then
      count, shared = count + 1, shared + (#q.sets == #r.fits and 1 or 0)
    end
  end
  local figures = {}
  for i, one in ipairs(r.fits) do
    if i == 1 or shared < count then
      figures[#figures + 1] = report.rates(one, shared < count and ('Rates of data set %d'):format(i) or nil)
    end
  end
  return figures
end

--- Maps and cuts of the angle of each set that fits worst.
local function worst_of(r, list)
  local figures, cuts, label = {}, {}, labels.of(list)
  for i, data in ipairs(list) do
    local one = r.fits[i]
    local f, misfit = report.by_misfit(one, data)
    f = f[1]
    figures[i] = report.heatmaps(one, data, f, { limit = CELLS, note = (', data set %d (%s), reduced chi2 %s'):format(i,
      label[i], shown(misfit[f], 3)) })
    cuts[i] = report.cuts(one, data, f, ('Data set %d: C2 against the lag at three ages'):format(i))
  end
  return { { heading = 'The angle of each data set that fits worst', figures = figures, paragraphs = {
    'The page of each data set has the other angles.' } }, { heading = 'Cuts of these angles', figures = cuts } }
end

--- Rows of chi2 together and apart.
local function apart_of(a)
  local rows = { { 'joint', shown(a.joint), '' }, { 'each alone', shown(a.alone),
    ('%d parameters more'):format(a.more) }, { 'rise', shown(a.joint - a.alone, 4),
    ('chance gives %s at most'):format(shown(a.chance, 3)) } }
  return { header = { 'fit', 'sum of residuals (chi2 for the linear loss)', '' }, rows = rows }
end

--- The HTML page of all data.
---@param r table result of joint.fit
---@param list mascon.xpcs.Data[]
---@return string
function M.page(r, list)
  local head, rows = summary.cells(r)
  local notes = verdict.notes(r)
  local sections = { { heading = 'What the data tell', paragraphs = verdict.lines(r) },
    { heading = 'Parameters', table = { header = head, rows = rows }, paragraphs = { summary.line(r),
      verdict.rule(r) } },
    { heading = 'Data sets', table = sets_of(r, list) } }
  if #notes > 0 then table.insert(sections, 2, { heading = 'Read with care', paragraphs = notes }) end
  if r.apart then
    table.insert(sections, { heading = 'Together and apart', table = apart_of(r.apart), paragraphs = {
      'Each data set is fitted alone too. A rise that chance does not explain means that the sets do not share their '
      .. 'parameters.' } })
  end
  for _, s in ipairs(worst_of(r, list)) do sections[#sections + 1] = s end
  local figures = rates_of(r)
  if #figures > 0 then
    table.insert(sections, { heading = 'Rates against time', figures = figures, paragraphs = {
      'Bands hold 95 % by the linearised errors of the joint fit; the numbers are in nlsq/rates.csv of each set.' }
    })
  end
  return mc.report.html { title = 'Joint fit of two-time correlations', sections = sections,
    subtitle = ('%d data sets'):format(#list), footer = 'mascon ' .. mc.version }
end

return M
