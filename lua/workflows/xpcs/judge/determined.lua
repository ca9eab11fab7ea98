-- determined.lua - what the data tell of single parameters and of their combinations, in sentences.
--
-- Combinations that the data do not determine at all (a direction of the scaled normal matrix without curvature, or
-- whose one-standard-error range exceeds the bounds), curved valleys, a second direction of flow, parameters at a bound
-- or known worse than to half of their value, pairs that are tied closely, open intervals. Functions take the result,
-- the verdict `out`, `known` (names that need no further word; changed) and say(kind, names, sentence, ...).
local covariance = require 'workflows.xpcs.judge.covariance'
local floor = require 'workflows.xpcs.model.floor'
local numbers = require 'workflows.xpcs.model.numbers'
local parameters = require 'workflows.xpcs.model.parameters'
local rates = require 'workflows.xpcs.judge.rates'
local M = {}

local text = numbers.number

--- Names as words of a sentence.
---@param list string[]
---@return string
function M.join(list)
  if #list <= 1 then return list[1] or '' end
  return table.concat(list, ', ', 1, #list - 1) .. ' and ' .. list[#list]
end

local join = M.join

--- Names that take part in a direction, the largest share first.
local function members(names, v, share)
  local out = {}
  local top = 0
  for i = 1, #v do top = math.max(top, math.abs(v[i])) end
  for i = 1, #v do if math.abs(v[i]) >= share * top then out[#out + 1] = { names[i], math.abs(v[i]) } end end
  table.sort(out, function(a, b) return a[2] > b[2] or (a[2] == b[2] and a[1] < b[1]) end)
  for i = 1, #out do out[i] = out[i][1] end
  table.sort(out)
  return out
end

local WHY = {}
for i, rate in ipairs(parameters.RATES) do
  WHY[i] = { { rate.scale, rate.shift }, ('at %s = 0 both are constants of the same %s, only their sum acts'):format(
    rate.power, rate.of) }
end
WHY[#WHY + 1] = { { 'phi0' }, 'angles that are equal, or differ by 180 deg, see phi0 only through the product with the '
  .. 'shear rate; measure at angles further apart' }

--- Whether angles are one, modulo 180 deg.
local function one_angle(phi)
  for _, a in ipairs(phi) do if math.abs((a - phi[1] + 90) % 180 - 90) > 0.5 then return false end end
  return true
end

local function reason(list, phi)
  local has = {}
  for _, n in ipairs(list) do has[n] = true end
  has.phi0 = has.phi0 and one_angle(phi)
  for _, w in ipairs(WHY) do
    local all = true
    for _, n in ipairs(w[1]) do all = all and has[n] end
    if all then return ': ' .. w[2] end
  end
  return ''
end

--- Names of the shear that the data do not need, as a set.
---@param r table result of fit
---@return table<string, boolean>
function M.idle(r)
  local out = {}
  for _, name in ipairs(r.unneeded and r.unneeded.names or {}) do out[name] = true end
  return out
end

local CURVED = 0.1 -- relative error of a scale from which on chi2 is no parabola along its ridge

--- scale t^power + shift: along its ridge chi2 is no parabola once the scale is known roughly only.
local function tell_ridges(r, out, known, say)
  for _, rate in ipairs(parameters.RATES) do
    local three = rate.names
    local i, k
    for a, name in ipairs(r.names) do
      if name == three[1] then i = a elseif name == three[3] then k = a end
    end
    if i and k and not known[three[1]] and not known[three[3]] then
      local v, e = r.values[three[1]], r.errors[three[1]]
      if e < math.huge and e > CURVED * math.abs(v) and math.abs(r.correlation[i][k]) > 0.9 then
        table.insert(out.weak, three[1])
        say('ridge', three, '%s, %s and %s trade off along a curved valley of chi2: their 95 %% errors contain the '
          .. 'truth in fewer than 95 %% of cases, and the true interval is not symmetric%s.', three[1], three[2],
          three[3], r.joint and '; fit a data set alone with {profile 0.95} to see it'
          or '{?; use profile intervals ({profile 0.95})}' .. (r.noise and r.noise.correlated and ''
          or '{?; the posterior ({method both}) shows it too}'))
      end
    end
  end
end

--- Notes that data do not determine parameters, or a combination of them.
---@param names string[]
---@param vector? number[]
function M.lack(out, names, vector)
  out.level = 'undetermined'
  table.insert(out.undetermined, { names = names, vector = vector })
end

--- Combinations of parameters that the data do not determine, of a fit whose spectrum is known.
function M.directions(r, out, known, say)
  local s, p, n, idle = r.spectrum, r.problem, #r.names, M.idle(r)
  local phi = (r.fits and r.fits[1].problem or p).data.phi
  local scale = (r.absolute_sigma or r.loss ~= 'linear') and 1 or math.sqrt(r.reduced_chi2)
  for k = 1, n do
    local v = s.vectors[k]
    local none = s.values[k] < s.values[n] / covariance.LIMIT
    -- how far one standard error along this direction moves each member, against its bounds
    local beyond, count = true, 0
    local list, of_idle = members(r.names, v, 0.2), false
    for _, name in ipairs(list) do of_idle = of_idle or idle[name] end
    if not none then
      for i = 1, n do
        if math.abs(v[i]) >= 0.2 then
          local place = p.free[i]
          local move = math.abs(v[i]) / (s.norms[i] * math.sqrt(s.values[k])) * s.width[k] * scale
          count = count + 1
          if not (move > p.high[place] - p.low[place]) then beyond = false end
        end
      end
    end
    if not of_idle and (none or (beyond and count > 0)) then
      M.lack(out, list, v)
      for _, name in ipairs(list) do known[name] = true end
      if #list == 1 then say('undetermined', list, 'The data do not determine %s%s.', list[1],
        reason(list, phi))
      else say('undetermined', list, 'The data do not determine %s separately, only a combination of them%s.',
        join(list), reason(list, phi)) end
    end
  end
  for i, name in ipairs(r.names) do
    if s.norms[i] == 0 and not known[name] then
      known[name] = true
      M.lack(out, { name })
      say('undetermined', { name }, 'The data do not determine %s: it has no effect on the model here%s.', name,
        reason({ name }, phi))
    end
  end
  for _, q in ipairs(r.parameters) do
    if q.state == 'free' and q.error == math.huge and not known[q.name] then
      known[q.name] = true
      M.lack(out, { q.name })
      say('undetermined', { q.name }, 'The data do not determine %s: its standard error exceeds the range between its '
        .. 'bounds, %s to %s.', q.name, text(q.low), text(q.high))
    end
  end
  tell_ridges(r, out, known, say)
end

--- Parameters of a model whose spectrum nobody knows, that the data do not determine.
---@param note? string what the solver says of undetermined parameters
function M.without_spectrum(r, note, out, known, say)
  local list = {}
  for _, q in ipairs(r.parameters) do
    if q.state == 'free' and not known[q.name] and not (q.error and q.error < math.huge) then
      known[q.name] = true
      if q.at_bound then
        say('bound', { q.name }, '%s ended at its %s bound, %s, where the model does not depend on it to first order: '
          .. 'no error follows. Compare chi2 at other values ({fixed %s=VALUE}).', q.name, q.at_bound,
          text(q.at_bound == 'lower' and q.low or q.high), q.name)
      else list[#list + 1] = q.name end
    end
  end
  if #list > 0 then
    M.lack(out, list)
    say('undetermined', list, 'The data do not determine %s%s.', join(list), #list > 1 and ' separately' or '')
  elseif note then say('solver', nil, '%s.', (note:gsub('^%l', string.upper))) end
end

--- Where bounds are said.
---@param r table result of fit
---@return string
function M.bounds_in(r)
  if r.mode == 'own model' then return 'bounds in the file of the model' end
  return '{any-bounds}'
end

local WELL = 0.2 -- relative error of a rate that is determined

--- Names of parameters in whose place the rate is determined: a scale that ended at its lower bound, or is known
--- to half of its value at most, beside an offset that takes its part.
---@return table<string, boolean>
local function tell_rates(r, out, say)
  local told, by = { phi0 = out.phi0, [out.held or ''] = true }, {}
  if r.joint and not r.fits then return told end -- said of all data
  for _, q in ipairs(r.parameters) do by[q.name] = q end
  for _, rate in ipairs(parameters.RATES) do
    local scale, shift = by[rate.scale], by[rate.shift]
    local free = scale and shift and scale.state == 'free' and shift.state == 'free'
    local weak = free and not (scale.error and scale.error <= 0.5 * math.abs(scale.value))
    if free and (scale.at_bound == 'lower' or not scale.at_bound and weak) then
      local best = rates.best(r.fits and r.fits[1] or r, rate.at)
      if best and best.error < WELL * best.value then
        told[rate.scale], told[rate.shift] = true, true
        table.insert(out.weak, rate.scale)
        local both = { rate.scale, rate.shift }
        say('rate', both, 'The data fix %s, but not %s separately: it is %s %s at %s s{? ({all-rates}: '
          .. 'all times)}, while %s is %s%s.', best.said, join(rate.names),
          numbers.with_error(best.value, best.error), best.unit,
          text(best.t), rate.scale, scale.at_bound and text(scale.value) or numbers.with_error(scale.value,
          scale.error, 4), scale.at_bound and ', at its lower bound'
          or not (scale.error and scale.error < math.huge) and ', not determined' or '')
        say('rate', both, '{?Where a power law alone is expected, hold the constant part: {fixed %s=0}.}', rate.shift)
      end
    end
  end
  return told
end

--- Single parameters and pairs, and a sentence where there is nothing to say.
function M.each(r, out, known, say)
  for _, cut in ipairs(r.cuts or {}) do
    if not known[cut.names[1]] then
      say('floor', cut.names, '%s.', floor.sentence(cut))
      end
  end
  local n = #r.names
  local pairs_told, paired, told, idle = {}, {}, tell_rates(r, out, say), M.idle(r)
  for _, q in ipairs(r.parameters) do
    if q.state == 'free' and not known[q.name] and not told[q.name] then
      local e = q.error
      if q.at_bound then
        say('bound', { q.name }, '%s ended at its %s bound, %s: its error is not meaningful; widen the bound{? (%s)} '
          .. 'or fix it{? ({fixed %s=VALUE})}.', q.name, q.at_bound, text(q.at_bound == 'lower' and q.low or q.high),
          M.bounds_in(r), q.name)
        table.insert(out.weak, q.name)
      elseif e and e > 0.5 * math.abs(q.value) and ((parameters.known(q.name) or {}).part == 'scale'
        or q.name:find '^contrast') then
        say('loose', { q.name }, e < math.abs(q.value) and '%s is known to %s %% only.'
          or '%s is not significantly different from 0: its error is %s times its value.', q.name,
          text((e < math.abs(q.value) and 100 or 1) * e / math.max(math.abs(q.value), 1e-300), 2))
        table.insert(out.weak, q.name)
      end
    end
  end
  for i = 1, n do
    for j = i + 1, n do
      local c = r.correlation[i][j]
      if c == c and math.abs(c) > 0.99 and not known[r.names[i]] and not known[r.names[j]] then
        table.insert(pairs_told, ('%s and %s (%.4f)'):format(r.names[i], r.names[j], c))
        paired[#paired + 1], paired[#paired + 2] = r.names[i], r.names[j]
      end
    end
  end
  if #pairs_told > 0 then
    say('pairs', paired, 'These are correlated so closely that their separate errors say little: %s.', #pairs_told > 4
      and table.concat(pairs_told, ', ', 1, 4) .. (' and %d more pair%s'):format(#pairs_told - 4,
      #pairs_told == 5 and '' or 's') or join(pairs_told))
  end
  for _, name in ipairs(r.names) do
    local v = r.intervals and r.intervals[name]
    if v and not idle[name] and (v.low_open or v.high_open) then
      local marked = false
      for _, other in pairs(r.intervals) do marked = marked or other.low_by == name or other.high_by == name end
      say('open', { name }, 'The %g %% interval of %s is open %s: chi2 does not rise to the level before the '
        .. 'bound.%s', 100 * v.level, name,
        v.low_open and v.high_open and 'on both sides' or v.low_open and 'below' or 'above', marked
        and (' Ends of other intervals that are marked with %s follow from that bound.'):format(name) or '')
    end
    for _, side in ipairs { 'low', 'high' } do
      if v and not idle[name] and v[side .. '_lost'] then
        say('open', { name }, 'The %s end of the %g %% interval of %s was not found: at %s chi2 is still below the '
          .. 'level, and no fit '
          .. 'beyond could be confirmed.', side == 'low' and 'lower' or 'upper', 100 * v.level, name, text(v[side]))
      end
    end
  end
  if #out.sentences == 0 then say('determined', nil, 'The data determine all %d free parameters.', n) end
end

local SAME = 0.5 -- deg: angles that no data tell apart

--- The two angles modulo 180 deg that data have; nil where they have one, or more than two.
local function two_of(phi)
  local list = {}
  for _, v in ipairs(phi) do
    local known = false
    for _, p in ipairs(list) do known = known or math.abs((v - p + 90) % 180 - 90) <= SAME end
    if not known then list[#list + 1] = v end
  end
  if #list == 2 then return list[1], list[2] end
end

--- The other value of phi0 that describes the data alike, and by how much the shear rate is larger there. C2 holds
--- |cos(phi0 - phi)| times the shear rate alone: of two angles a and b, x with cos(x - a) / cos(x - b) the negative of
--- cos(phi0 - a) / cos(phi0 - b) is a second solution.
---@param r table
---@return number|nil within the bounds of phi0
---@return number factor
local function mirror(r)
  local q, phi = nil, r.problem and r.problem.data and r.problem.data.phi
  for _, one in ipairs(r.parameters) do if one.name == 'phi0' and one.state == 'free' then q = one end end
  if not q or not phi then return nil end
  local a, b = two_of(phi)
  if not a then return nil end
  a, b = math.rad(a), math.rad(b)
  local ca, cb = math.cos(math.rad(q.value) - a), math.cos(math.rad(q.value) - b)
  local other = math.deg(math.atan2(-(cb * math.cos(a) + ca * math.cos(b)), cb * math.sin(a) + ca * math.sin(b)))
  other = other + 180 * math.floor((q.value - other) / 180 + 0.5) -- phi0 and phi0 + 180 are the same flow
  local away = math.abs(other - q.value)
  if away < 2 * SAME or q.error and q.error < math.huge and away < q.error then return nil end
  if other < q.low or other > q.high then return nil end
  local near = math.abs(ca) > math.abs(cb)
  local here, there = near and ca or cb, math.rad(other) - (near and a or b)
  return other, math.abs(here / math.cos(there))
end

--- Two directions of flow that describe the data alike.
function M.mirror(r, out, known, say)
  if known.phi0 then return end
  local other, factor = mirror(r)
  if not other then return end
  table.insert(out.weak, 'phi0')
  say('mirror', { 'phi0' }, 'Two angles leave two directions of flow: phi0 = %s and phi0 = %s, with %s '
    .. 'shear rate, describe the data alike. Measure at a third angle, or give bounds on one side '
    .. '({bounds phi0=LOW:HIGH}).', text(r.values.phi0), text(other),
    math.abs(factor - 1) < 1e-3 and 'the same' or text(factor, 5) .. ' times the')
end

return M
