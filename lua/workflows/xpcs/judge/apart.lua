-- apart.lua - whether the data sets of a joint fit share the parameters that it gives them in common.
--
-- Each set alone is fitted anyway, as a start. What chi2 rises by from these fits to the joint one is compared with
-- what chance gives for as many parameters, in units of the scatter where sigma is assumed, and of the variance of
-- correlated noise where that is found. Takes the ends of fits; fits nothing.
local contrasts = require 'workflows.xpcs.judge.contrasts'
local labels = require 'workflows.xpcs.model.labels'
local numbers = require 'workflows.xpcs.model.numbers'
local rates = require 'workflows.xpcs.judge.rates'
local M = {}

local SHOWN = 3

--- By how much the variance of a fit exceeds that of independent noise: found, or its bound, as many as the frames
--- with which a pair shares one.
local function inflation(single)
  local a = single.noise
  if not (a and a.correlated) then return 1 end
  return a.factor and a.factor ^ 2 or 2 * single.problem.data.n
end

--- Values of a shared parameter of the sets alone, the largest difference of two in standard errors, and whether some
--- of the sets determine it and others not.
local function spread_of(name, singles)
  local values, most, known = {}, 0, 0
  for i, one in ipairs(singles) do
    for _, q in ipairs(one.parameters) do
      if q.name == name and q.state == 'free' then
        values[#values + 1] = { set = i, value = q.value, error = q.error, at_bound = q.at_bound }
        known = known + (q.error < math.huge and not q.at_bound and 1 or 0)
      end
    end
  end
  for a = 1, #values do
    for b = 1, a - 1 do
      local e = math.sqrt(values[a].error ^ 2 + values[b].error ^ 2)
      if e > 0 and e < math.huge then most = math.max(most, math.abs(values[a].value - values[b].value) / e) end
    end
  end
  return { name = name, values = values, apart = most, partly = known > 0 and known < #values }
end

--- D(t) of the sets alone at the time that all have where the least known of them is known best; nil where they have
--- none, or one does not determine it.
local function at_one_time(singles)
  local first, last, grid, best = 0, math.huge, nil, nil
  for _, one in ipairs(singles) do
    local t = one.problem and one.problem.t and one.problem.t:totable()
    if not t then return nil end
    if not (first >= t[1]) then first = t[1] end
    if t[#t] < last then last, grid = t[#t], t end
  end
  local at, lists = {}, {}
  for _, v in ipairs(grid) do if v >= first and v > 0 then at[#at + 1] = v end end
  if #at == 0 then return nil end
  for i, one in ipairs(singles) do lists[i] = rates.of(one, at)[1] end
  for k in ipairs(at) do
    local worst = 0
    for _, one in ipairs(lists) do worst = math.max(worst, one.error[k] / one.value[k]) end
    if worst < math.huge and not (best and best.worst <= worst) then best = { at = k, worst = worst } end
  end
  if not best then return nil end
  local out = { t = at[best.at], unit = lists[1].unit }
  for i, one in ipairs(lists) do out[i] = { value = one.value[best.at], error = one.error[best.at] } end
  return out
end

--- Judges a joint fit by the fits of its sets alone.
---@param r table joint result: chi2, cost of its sets, n_points, names
---@param singles table[] results of the sets alone
---@param costs number[] of the sets at the joint solution
---@param shared string[] names in common, of two sets at least
---@return table|nil joint, alone (sums of rho), more (parameters), chance, improbable, list of { name, values, apart,
---  partly }, the most different first; nil where nothing is shared
function M.judge(r, singles, costs, shared)
  local joint, alone, n, excess = 0, 0, 0, 1
  for i, one in ipairs(singles) do
    joint, alone = joint + 2 * costs[i], alone + 2 * math.min(one.cost, costs[i])
    n, excess = n + #one.names, math.max(excess, inflation(one))
  end
  local more, list = n - #r.names, {}
  if more <= 0 then return nil end
  local variance = math.max(r.absolute_sigma and 1 or 0, alone / math.max(r.distinct - n, 1))
  local chance = contrasts.limit_of(more) * variance * excess
  for k, name in ipairs(shared) do list[k] = spread_of(name, singles) end
  table.sort(list, function(a, b) return a.apart > b.apart or a.apart == b.apart and a.name < b.name end)
  local words = {}
  for i, one in ipairs(singles) do words[i] = ('set %d %s'):format(i, one.quality_flag) end
  return { joint = joint, alone = alone, more = more, chance = chance, improbable = joint - alone > chance,
    list = list, rates = at_one_time(singles), words = words }
end

local text = numbers.number

local function with_error(v)
  return numbers.with_error(v.value, v.error, 4) .. (v.error and v.error < math.huge and '' or ' (not determined)')
end

--- The value of a set alone; one at its bound has no error that says anything.
local function alone_of(v)
  if not (v.error < math.huge) then return ('not determined in set %d'):format(v.set) end
  return (v.at_bound and text(v.value) .. ' (at its bound)' or with_error(v)) .. (' in set %d'):format(v.set)
end

local DIFFER = 2 -- standard errors between two sets

--- Names of the parameters that differ between the sets, the most different first.
---@param a table of M.judge
---@return string[]
function M.differing(a)
  local out = {}
  for _, one in ipairs(a.list) do if one.apart > DIFFER then out[#out + 1] = one.name end end
  return out
end

--- Up to SHOWN of a list of parameters with their values in the sets, the names of the others.
local function with_values(list)
  local out = {}
  for k, one in ipairs(list) do
    local values = {}
    for i, v in ipairs(one.values) do values[i] = alone_of(v) end
    out[k] = k > SHOWN and one.name or ('%s (%s)'):format(one.name, table.concat(values, ', '))
  end
  return table.concat(out, ', ')
end

--- What the sets do not share: what differs; else what some of them alone determine; else that no one number does.
local function what_of(a)
  local differ, partly = {}, {}
  for _, one in ipairs(a.list) do
    if one.apart > DIFFER then differ[#differ + 1] = one elseif one.partly then partly[#partly + 1] = one end
  end
  if #differ > 0 then return ('The data sets do not share %s'):format(with_values(differ)) end
  if #partly > 0 then
    return ('The data sets do not share what some of them alone determine: %s; other parameters agree'):format(
      with_values(partly))
  end
  return ('The data sets do not share their parameters, though each one alone agrees within %d standard errors')
    :format(DIFFER)
end

--- What it means, in sentences without their full stop.
---@param a table of M.judge
---@param sets mascon.xpcs.Data[]
---@return string[]
function M.sentences(a, sets)
  local alone, rate, label = {}, {}, labels.of(sets)
  for i, data in ipairs(sets) do
    alone[i] = ('%s{q %.8g}'):format(label[i] ~= '' and label[i] .. ' ' or '', data.q)
    local b = a.rates and a.rates[i]
    rate[#rate + 1] = b and ('%s in set %d'):format(with_error(b), i) or nil
  end
  local out = { what_of(a),
    ('chi2 is %s jointly and %s where each set is fitted alone, with %d parameters more; chance gives a rise of '
    .. '%s at most. The fits alone are: %s'):format(text(a.joint, 6), text(a.alone, 6), a.more, text(a.chance, 3),
    table.concat(a.words, ', ')) }
  if a.rates then
    out[#out + 1] = ('D(t) of each set alone, in %s at %s s, is %s'):format(a.rates.unit, text(a.rates.t),
      table.concat(rate, ', '))
  end
  out[#out + 1] = ('The joint values describe no set: fit each alone ({alone}: %s){?, or '
    .. 'share less ({shared})}'):format(table.concat(alone, ', '))
  return out
end

return M
