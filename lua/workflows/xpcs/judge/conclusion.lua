-- conclusion.lua - the first line on a fit: the word on its quality, and the one thing to do.
--
-- Of all findings of a verdict the one that comes first in the list here is told: what makes the values wrong before
-- what makes them uncertain. The sentences below it say more.
local parameters = require 'workflows.xpcs.model.parameters'
local M = {}

--- Names of parameters, a few of them.
local function of(names)
  if #names > 3 then return ('%s, %s and %d more'):format(names[1], names[2], #names - 2) end
  if #names < 2 then return names[1] or 'a parameter' end
  return table.concat(names, ', ', 1, #names - 1) .. ' and ' .. names[#names]
end

--- The constant part of the rate to which all these parameters belong, nil where they do not.
---@param names string[]
---@return string|nil
function M.of_rate(names)
  for _, rate in ipairs(parameters.RATES) do
    local has, count = { [rate.scale] = true, [rate.power] = true, [rate.shift] = true }, 0
    for _, name in ipairs(names) do count = count + (has[name] and 1 or 0) end
    if #names > 0 and count == #names then return rate.shift end
  end
end

--- The constant parts of the rates of which a scale or power and the constant part are among the names.
---@param names string[]
---@return string[]
function M.constants(names)
  local has, out = {}, {}
  for _, name in ipairs(names) do has[name] = true end
  for _, rate in ipairs(parameters.RATES) do
    if has[rate.shift] and (has[rate.scale] or has[rate.power]) then out[#out + 1] = rate.shift end
  end
  return out
end

--- Whether contrast and offset are known by their sum alone.
local function level_alone(r)
  local place = {}
  for k, name in ipairs(r.names or {}) do place[name] = k end
  for name, i in pairs(place) do
    local k = name:find '^contrast' and place[(name:gsub('^contrast', 'offset'))]
    if k and r.correlation[i][k] < -0.9999 then return true end
  end
  return false
end

local function are(names) return #names == 1 and 'is' or 'are' end

--- kind of the finding, and what to do: a text, or what a function of its names and of the result says. doubt: the word
--- on the fit is not good beside it. weak: the level of the verdict is weak, where it is not undetermined. of_all:
--- joint fits say it of all data, or of none.
local ORDER = {
  { 'end', 'it did not converge; allow more evaluations ({max-iterations}) or start closer' },
  { 'level', doubt = true, weak = true, of_all = true,
    'C2 does not lie at the level of a correlation; add 1, or divide by the baseline' },
  { 'lost', doubt = true, weak = true, of_all = true, 'C2 is 0 or less in whole frames; mask them ({mask-frames})' },
  { 'q', doubt = true, of_all = true, function(_, r)
    if r.fits then return 'check the q of the data sets first' end
    return ('check q first, it is %.6g 1/A here'):format(r.geometry.q)
  end },
  { 'gap', doubt = true, of_all = true, function(_, r)
    if r.fits then return 'check the gap of the data sets first ({gap}, in A)' end
    return ('check the gap first, it is %.6g A here (%.4g um)'):format(r.geometry.gap, r.geometry.gap * 1e-4)
  end },
  { 'dt', doubt = true, weak = true, of_all = true, function(_, r)
    local one = r.fits and r.fits[1] or r
    return ('check dt first, it is %.6g s here and the file says another'):format(one.geometry.dt)
  end },
  { 'mixed_q', doubt = true, weak = true, of_all = true,
    'matrices of several q are fitted as one; take one q ({strict-q})' },
  { 'sigma', doubt = true, weak = true, function(_, r)
    return ('check sigma first, it is %.3g times what residuals scatter by'):format(1 / math.sqrt(r.reduced_chi2))
  end },
  { 'flat', doubt = true, weak = true, function(_, r)
    return r.fits and 'a data set shows no decay; leave it out'
      or 'the data show no decay; measure with shorter frames, or a longer run'
  end },
  { 'unneeded', of_all = true, 'the data show no shear; fit with {static-mode}' },
  { 'apart', weak = true, 'the data sets do not share their parameters; fit each alone, or share less ({shared})' },
  { 'not_shared', of_all = true,
    'the data sets do not share their parameters; fit each alone, or share less ({shared})' },
  { 'held', weak = true,
    function(names) return ('%s ended at a bound that was given; widen it first'):format(of(names)) end },
  { 'shear', doubt = true, weak = true, 'the angles decay as those of a sheared sample do; fit with {laminar-flow}' },
  { 'direction', weak = true, 'phi0 is at its bound; widen it ({bounds phi0=-90:90})' },
  { 'angles', weak = true, 'contrast or offset differ between the angles; fit with {scaling individual}' },
  { 'scale', doubt = true, function(_, r)
    local bound
    for _, q in ipairs(r.parameters) do if q.name == 'D0' then bound = q end end
    local lower = bound.at_bound == 'lower'
    return ('D0 ended at its bound; check q and dt, or widen it ({bounds D0=%.6g:%.6g})'):format(lower
      and bound.low / 100 or bound.low, lower and bound.high or bound.high * 100)
  end },
  { 'pattern', doubt = true, weak = true, of_all = true,
    'the model misses something that all angles share; look at the residual maps' },
  { 'misfit', weak = true, function(_, r)
    return 'the model does not describe the data within sigma; look at the residual maps, check sigma'
      .. (r.search and not r.search.skipped and '' or ', try other starts')
  end },
  { 'starts', doubt = true, weak = true, 'the starts do not agree; fit from more of them' },
  { 'undetermined', function(names, r)
    if level_alone(r) then
      return 'the decay is longer than the run, so contrast and offset are not told apart; measure longer, or hold the '
        .. 'contrast ({fixed contrast=VALUE})'
    end
    local shift, held = M.of_rate(names), M.constants(names)
    if #held > 1 then
      return ('the data do not determine %s; hold the constant parts ({fixed %s=0})'):format(of(names),
        table.concat(held, '=0,'))
    end
    if shift then
      return ('the data do not determine %s; hold the constant part ({fixed %s=0}), or take the rate of {rates}')
        :format(of(names), shift)
    end
    return ('the data do not determine %s; hold one, or measure more'):format(of(names))
  end },
  { 'solver', 'the data do not determine all parameters; hold one, or measure more' },
  { 'mirror', doubt = true, weak = true, 'two values of phi0 describe the data alike; measure at a third angle' },
  { 'floor', weak = true, 'a rate falls to 0 within the run; hold its constant part, or give bounds' },
  { 'rate', weak = true, function(names) return ('take the rates ({rates}), not %s'):format(of(names)) end },
  { 'bound', weak = true,
    function(names) return ('%s ended at a bound; widen it, or fix the parameter'):format(of(names)) end },
  { 'scatter', weak = true, 'the angles scatter by other amounts than their sigma; give each its own sigma' },
  { 'ridge', weak = true, function(names)
    return ('%s trade off along a curved valley of chi2; take intervals of {profile 0.95}'):format(of(names))
  end },
  { 'loose', weak = true,
    function(names) return ('%s %s known only roughly; measure more'):format(of(names), are(names)) end },
  { 'open', function(names)
    local shift = M.of_rate(names)
    return ('the interval of %s has an open end; %s'):format(of(names), shift
      and ('take the rate of {rates}, or hold the constant part ({fixed %s=0})'):format(shift)
      or 'widen its bounds, or measure more')
  end },
  { 'pairs', weak = true, of_all = true, function(names)
    return #names == 2 and ('%s are strongly correlated; quote them together, or fix one'):format(of(names))
      or 'some parameters are strongly correlated; quote the rates ({rates}), or fix some'
  end },
  { 'correlated', weak = true, function(_, r)
    if r.sigma_is_default then -- no chi2 tests the model
      return 'residuals are correlated, as those of speckle are, or of a model that misses something; look at the '
        .. 'residual maps'
    end
    return 'its noise is correlated; compare repeated measurements where errors matter'
  end },
}

-- findings that leave nothing to do
local QUIET = { { 'explained' }, { 'determined', of_all = true } }
local ROW = {}
for _, list in ipairs { ORDER, QUIET } do for _, row in ipairs(list) do ROW[row[1]] = row end end

--- The row of a kind of finding; nil for what is none.
---@param kind string
---@return table|nil
function M.row(kind) return ROW[kind] end

--- All kinds, those that are told first before others.
---@return string[]
function M.kinds()
  local out = {}
  for _, list in ipairs { ORDER, QUIET } do for _, row in ipairs(list) do out[#out + 1] = row[1] end end
  return out
end

--- Names of all findings of a kind, each once.
local function names_of(findings, kind)
  local out, seen = {}, {}
  for _, f in ipairs(findings) do
    for _, name in ipairs(f.kind == kind and f.names or {}) do
      if not seen[name] then out[#out + 1], seen[name] = name, true end
    end
  end
  return out
end

--- The line.
---@param r table result with verdict and quality_flag
---@param about string what is to be known beside the word, as ' (sigma is assumed)'
---@return string
function M.of(r, about)
  local findings, todo = r.verdict.findings or {}, nil
  local has = {}
  for _, f in ipairs(findings) do has[f.kind] = true end
  if r.better then todo = 'a profile found a deeper minimum; fit again from other starts' end
  for _, row in ipairs(ORDER) do
    if not todo and has[row[1]] then
      todo = type(row[2]) == 'string' and row[2] or row[2](names_of(findings, row[1]), r)
    end
  end
  todo = todo or ('the data determine all %d free parameters%s'):format(#(r.names or {}),
    r.quality_flag == 'untested' and '; give {sigma} to test the fit' or '')
  return ('%s fit%s: %s.'):format(r.quality_flag:gsub('^%l', string.upper), about, todo)
end

return M
