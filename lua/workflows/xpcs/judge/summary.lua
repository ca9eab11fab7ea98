-- summary.lua - a fit as text: what is said of it, the table of parameters, a line of numbers.
--
-- One form for fits of one data set, of own models and joint ones, from which terminal, report and print() take theirs.
local text = require 'mascon.base.text'
local numbers = require 'workflows.xpcs.model.numbers'
local truth = require 'workflows.xpcs.model.truth'
local verdict = require 'workflows.xpcs.judge.verdict'
local M = {}

--- A number for a table.
---@param v number|nil
---@param digits? integer 6
---@return string
function M.shown(v, digits)
  if v == nil then return '' end
  if v ~= v then return 'not known' end
  if v == math.huge then return 'not determined' end
  return numbers.number(v, digits or 6)
end

local shown = M.shown

--- The standard error, or why there is none: at a bound no symmetric error holds.
local function error_of(q)
  if q.at_bound then
    return (q.error == math.huge and 'not determined, ' or '') .. ('at %s bound'):format(q.at_bound)
  end
  if q.state == 'free' and q.error and q.error < math.huge then
    local _, e = numbers.rounded(q.value, q.error)
    return e
  end
  return q.state == 'free' and shown(q.error) or q.state
end

--- A value of a parameter, or an end of its interval, with the digits that its error leaves.
local function value_of(q, v, digits)
  local error = q.state ~= 'fixed' and not q.at_bound and q.error or nil
  return (numbers.rounded(v, error, digits))
end

--- One end of a profile interval.
local function end_of(q, v, open, lost, by)
  return value_of(q, v, 5) .. (open and ' (bound)' or lost and ' (not the end)' or by and (' (bound of %s)'):format(by)
    or '')
end

local function interval_of(r, q)
  local v = r.intervals and r.intervals[q.name]
  return v and ('%s .. %s'):format(end_of(q, v.low, v.low_open, v.low_lost, v.low_by),
    end_of(q, v.high, v.high_open, v.high_lost, v.high_by)) or ''
end

--- The columns that a table may have: heading, and what stands there for a parameter.
local function columns(r)
  local _, any = next(r.intervals or {})
  return {
    { 'parameter', function(q) return q.name end },
    { 'unit', function(q) return q.unit or '' end },
    { 'value', function(q) return value_of(q, q.value, 6) end },
    { 'standard error', error_of },
    { ('%g %% interval'):format(100 * (any and any.level or 0.95)), function(q) return interval_of(r, q) end },
    { 'true value', function(q) return shown((truth.beside(r, q)), 7) end },
    { 'pull', function(q)
      local _, pull = truth.beside(r, q)
      return pull and not q.at_bound and ('%+.2f'):format(pull) or ''
    end },
    { 'shared by', function(q)
      return q.sets and #q.sets > 1 and ('sets %s'):format(table.concat(q.sets, ', ')) or ''
    end },
    { 'angle', function(q) return q.angle and ('%g deg'):format(q.angle) or '' end },
  }
end

--- The table of parameters: names of the columns, and rows; no column without a word in it.
---@param r table result of fit, of an own model, or of joint.fit
---@return string[] head, string[][] rows, boolean known whether true values stand there
function M.cells(r)
  local head, rows, known = {}, {}, false
  for i in ipairs(r.parameters) do rows[i] = {} end
  for _, column in ipairs(columns(r)) do
    local cells, used = {}, false
    for i, q in ipairs(r.parameters) do
      cells[i] = column[2](q)
      used = used or cells[i] ~= ''
    end
    if used then
      head[#head + 1], known = column[1], known or column[1] == 'true value'
      for i, v in ipairs(cells) do table.insert(rows[i], v) end
    end
  end
  return head, rows, known
end

--- The table of parameters for a terminal.
---@param r table
---@return string
function M.table(r)
  local head, rows = M.cells(r)
  return text.table(rows, { header = head })
end

--- One line of numbers on a fit.
---@param r table
---@return string
function M.line(r)
  local way = { not r.fits and ('%s, %s scaling'):format(r.mode, r.scaling) or nil }
  if r.loss and r.loss ~= 'linear' then way[#way + 1] = ('loss %s'):format(r.loss) end
  return ('%s%schi2 %s, reduced %s (%s), %s, %s, %s in %s s, %s points/s'):format(table.concat(way, ', '),
    way[1] and ': ' or '', shown(r.chi2), shown(r.reduced_chi2, 4), verdict.word(r),
    text.count(r.n_points, 'point'), text.count(r.n_parameters, 'parameter'), text.count(r.iterations, 'iteration'),
    shown(r.seconds, 3), shown(r.points_per_second, 3))
end

--- All of it.
---@param r table
---@return string
function M.text(r)
  return table.concat({ table.concat(verdict.lines(r), '\n'), '', M.table(r) .. M.line(r) }, '\n')
end

return M
