-- wave_vector.lua - whether the q of a fit is the one that was meant: D goes as 1/q^2, so a q that is mistyped by a
-- factor of ten makes D wrong by a hundred, and no residual shows it.
--
-- Takes the end of a fit, the q that was asked for and the one of the file; fits nothing.
local numbers = require 'workflows.xpcs.model.numbers'
local parameters = require 'workflows.xpcs.model.parameters'
local rates = require 'workflows.xpcs.judge.rates'
local M = {}

local FAR = 0.1 -- of q, by which it may miss what was asked for without a word

--- What a ratio of two q looks like.
local function ratio_of(a, b)
  local ratio = math.max(a, b) / math.min(a, b)
  return ('%s times %s'):format(numbers.number(ratio, 3), a > b and 'as large' or 'smaller'),
    math.abs(ratio / 10 - 1) < FAR and '; 1 1/nm is 0.1 1/A' or ''
end

--- That the fit is of another q than the one asked for, or than that of the data.
local function other(r, data)
  local q, asked = r.geometry.q, data.asked_q or data.q
  if not q or not asked or math.abs(asked - q) <= FAR * q then return nil end
  local size, unit = ratio_of(asked, q)
  if not data.asked_q then
    return ('The fit is of q = %.6g 1/A, and that of the data is %.6g, %s%s: D, which goes as 1/q^2, is wrong where '
      .. 'the data are right'):format(q, asked, size, unit)
  end
  return ('q = %.6g 1/A was asked for and the fit is of q = %.6g, the nearest of the file: what was asked for is %s%s')
    :format(asked, q, size, unit)
end

--- That D0 ended at the end of all that is measured, as a wrong q makes it.
local function beyond(r)
  for _, d in ipairs(r.parameters) do
    local p = d.name == 'D0' and parameters.get('xpcs', 'D0')
    local own = p and d.at_bound and (d.at_bound == 'lower' and d.low == p.min or d.at_bound == 'upper'
      and d.high == p.max)
    local best = own and rates.best(r, 1)
    if own and best and (best.value < p.min or best.value > p.max) then
      return ('Are q and dt right? D0 ended at its %s bound, as it does where q (%.6g 1/A here) is ten times too %s, '
        .. 'or dt (%.6g s here) a hundred times: D goes as 1 / (q^2 dt)'):format(d.at_bound, r.geometry.q,
        d.at_bound == 'lower' and 'large' or 'small', r.geometry.dt)
    end
  end
end

--- That D0 is one that a wrong q makes, a sentence without its full stop; nil where nothing speaks for that.
---@param r table result of fit
---@return string|nil
function M.doubt(r)
  if not (r.problem and r.problem.data) or not r.geometry or r.mode == 'own model' or r.joint then return nil end
  return beyond(r)
end

--- That the q of a fit of one data set is not the one that was meant, in sentences without their full stop.
---@param r table result of fit
---@return string[]
function M.sentences(r)
  local data = r.problem and r.problem.data or r.data
  local out = {}
  if not data or not r.geometry then return out end
  out[1] = other(r, data)
  return out
end

return M
