-- verdict.lua - what a fit tells and what it does not, in sentences, before any number.
--
-- A finding has a kind, the names of the parameters it speaks of, and its sentence. conclusion.lua makes the first line
-- of them. Here stand the findings on the fit and its data, and the word on its quality; those on parameters are of
-- determined.lua.
local advice = require 'workflows.xpcs.model.advice'
local apart = require 'workflows.xpcs.judge.apart'
local conclusion = require 'workflows.xpcs.judge.conclusion'
local contrasts = require 'workflows.xpcs.judge.contrasts'
local determined = require 'workflows.xpcs.judge.determined'
local examine = require 'workflows.xpcs.read.examine'
local noise = require 'workflows.xpcs.judge.noise'
local numbers = require 'workflows.xpcs.model.numbers'
local parameters = require 'workflows.xpcs.model.parameters'
local wave_vector = require 'workflows.xpcs.judge.wave_vector'
local M = {}

local text = numbers.number

--- A verdict without findings.
local function silent()
  return { sentences = {}, findings = {}, undetermined = {}, weak = {}, level = 'determined' }
end

--- Puts a finding into a verdict.
---@param said table of M.of or M.plain
---@param at integer its place
---@param kind string
---@param names string[]|nil of the parameters it speaks of
---@param sentence string
function M.put(said, at, kind, names, sentence)
  local row = assert(conclusion.row(kind), 'conclusion.lua does not say where this kind of finding stands: ' .. kind)
  said.doubt = said.doubt or row.doubt
  if row.weak and said.level == 'determined' then said.level = 'weak' end
  table.insert(said.sentences, at, sentence)
  table.insert(said.findings, at, { kind = kind, names = names or {}, text = sentence })
end

--- Adds findings to a verdict, each sentence once: say(kind, names, sentence, ...).
local function teller(out)
  local said = {}
  return function(kind, names, s, ...)
    s = s:format(...)
    if not said[s] then M.put(out, #out.findings + 1, kind, names, s) end
    said[s] = true
  end
end

-- standard deviations of chi2 beyond which a misfit is none of chance
M.IMPROBABLE = 5
local MUCH = 0.7 -- reduced chi2 below which sigma is said to be too large

--- What reduced chi2 (of the residuals themselves, whatever the loss) says where sigma was given: an improbable one is
--- a misfit, whatever the errors say. nil where it tests nothing: sigma assumed or fitted.
---@param r table result of fit
---@return table|nil { reduced, expected standard deviation, improbable }
function M.misfit(r)
  if not r.absolute_sigma or r.sigma_is_default or r.shear_weights then return nil end
  local sd = math.sqrt(2 / r.dof)
  return { reduced = r.reduced_chi2, sd = sd, improbable = not (r.reduced_chi2 <= 1 + M.IMPROBABLE * sd) }
end

local WORDS = { 'good', 'marginal', 'poor' }

M.RULE = 'good: reduced chi2 below 1.5, nothing at a bound and no finding against the fit; marginal: reduced chi2 '
  .. 'below 3, at most 2 parameters at a bound; poor: the rest, misfits '
  .. 'from reduced chi2 1.5 on whose residuals have structure that exceeds 20 standard deviations, fits that did not '
  .. 'converge or have a deeper minimum elsewhere, and joint fits of sets that do not share their parameters. '
  .. 'untested: it would be good, and without sigma reduced chi2 tests nothing.'

local BLIND = 'Sigma is %s, so reduced chi2 tests nothing and the word follows from the findings alone. untested: '
  .. 'there is none; marginal: 1 or 2 parameters at a bound, or a finding against the fit; poor: more at a bound, or a '
  .. 'fit that did not converge, that has a deeper minimum elsewhere, or a joint fit of sets that do not share their '
  .. 'parameters.'

--- Whether reduced chi2 tests the fit.
local function tested(r) return r.absolute_sigma and not r.sigma_is_default end

local function blind(r) return r.sigma_is_default and 'assumed' or 'relative' end

--- The rule by which a fit got its word.
---@param r table result of fit
---@return string
function M.rule(r) return tested(r) and M.RULE or BLIND:format(blind(r)) end

local CLEAR = 20 -- standard deviations of chi2 that neighbouring residuals have in common and that leave no doubt

--- Whether a misfit is that of the model: what neighbouring residuals have in common is far from chance, and a sigma
--- that is too small gives them nothing. Compat counting keeps the two limits of reduced chi2 alone.
local function is_model(r)
  local m = r.reduced_chi2 >= 1.5 and r.counting == 'unique pairs' and M.misfit(r)
  return m and r.noise and r.noise.common and m.reduced * r.noise.common > CLEAR * m.sd or false
end

--- The word on a fit, by its rule: the only place that decides it. Findings: a reduced chi2 that is improbable,
--- parameters that are not determined, contrasts that differ between the angles, starts that disagree.
---@param r table result of fit
---@param said table of M.of or M.plain
---@return 'good'|'marginal'|'poor'|'untested'
local function quality(r, said)
  local hits, rank = 0, 1
  local idle = determined.idle(r)
  for _, q in ipairs(r.parameters) do if q.at_bound and not idle[q.name] then hits = hits + 1 end end
  local function at_least(k) rank = math.max(rank, k) end
  local sure = tested(r)
  if sure and not (r.reduced_chi2 < 3) or said.misfit and is_model(r) or hits > 2 or not r.success or r.better
    or said.apart then at_least(3) end
  if sure and not (r.reduced_chi2 < 1.5) or hits > 0 or said.misfit or said.level == 'undetermined'
    or r.contrasts and r.contrasts.improbable or said.doubt then at_least(2) end
  return rank == 1 and not sure and 'untested' or WORDS[rank]
end

--- Gives a result its verdict and the word on its quality.
---@param r table
---@param said table of M.of or M.plain
function M.judge(r, said)
  r.verdict, r.quality_flag = said, quality(r, said)
  said.conclusion = conclusion.of(r, tested(r) and '' or (' (sigma is %s)'):format(blind(r)))
  advice.reword(said, r)
  r.conclusion = said.conclusion
end

--- The word, with the reason where reduced chi2 tests nothing.
function M.word(r)
  if tested(r) then return r.quality_flag end
  return ('%s%s; sigma is %s, so chi2 tests nothing'):format(r.quality_flag, r.quality_flag == 'untested' and ''
    or ': see findings', blind(r))
end

local function add(out, seen, prefix, lists)
  for _, list in ipairs(lists) do
    for _, w in ipairs(list) do
      if not seen[prefix .. w] then out[#out + 1], seen[prefix .. w] = prefix .. w, true end
    end
  end
end

local function notes_of(r, data)
  local c = r.checks or {}
  return { data.warnings or {}, r.warnings, c.errors or {}, c.warnings or {}, c.remarks or {} }
end

--- What is to be read with care, each once: odd data, what the fit had to do, values that are no usual ones. Of a joint
--- fit those of all its data sets, and what each set says alone with its number.
---@param r table result of fit, of an own model, or of joint.fit
---@return string[]
function M.notes(r)
  local out, seen = {}, {}
  for _, f in ipairs(r.verdict.findings) do seen[f.text:gsub('%.$', '')] = true end -- said above the numbers
  if not r.fits then
    add(out, seen, '', notes_of(r, r.problem and r.problem.data or r.data))
    return out
  end
  local count, each = {}, {}
  for i, one in ipairs(r.fits) do
    each[i] = M.notes(one)
    for _, w in ipairs(each[i]) do count[w] = (count[w] or 0) + 1 end
  end
  for i, list in ipairs(each) do
    for _, w in ipairs(list) do
      add(out, seen, count[w] == #each and '' or ('data set %d: '):format(i), { { w } })
    end
  end
  add(out, seen, '', { r.warnings })
  return out
end

--- What stands above the numbers: the conclusion, then the findings that say more; of a joint fit also chi2 and
--- findings of each data set.
---@param r table result of fit, of an own model, or of joint.fit
---@return string[]
function M.lines(r)
  local out = { r.verdict.conclusion }
  for _, f in ipairs(r.verdict.findings) do
    if f.kind ~= 'determined' then out[#out + 1] = f.text end
  end
  for i, one in ipairs(r.fits or {}) do
    out[#out + 1] = ('Data set %d: chi2 %s, reduced %s (%s).'):format(i, text(one.chi2, 6), text(one.reduced_chi2),
      one.verdict.apart and 'of values that the sets do not share' or M.word(one))
    for _, f in ipairs(M.of_set(r, one)) do out[#out + 1] = ('Data set %d: %s'):format(i, f.text) end
  end
  return out
end

--- The findings of one data set of a joint fit that those of all data do not say; none where its values describe none
--- of the sets.
---@param r table result of joint.fit
---@param one table one of r.fits
---@return table[] findings
function M.of_set(r, one)
  if one.verdict.apart then return {} end
  local out, said, common = {}, {}, {}
  for _, q in ipairs(r.parameters) do common[q.name] = #q.sets > 1 end
  for _, f in ipairs(r.verdict.findings) do said[f.template or f.text] = true end
  for _, f in ipairs(one.verdict.findings) do
    local again = conclusion.row(f.kind).of_all or said[f.template or f.text]
      or (f.kind == 'bound' or f.kind == 'loose') and common[f.names[1]]
      or f.kind == 'correlated' and r.noise and one.noise and one.noise.factor
    if not again then out[#out + 1] = f end
  end
  return out
end

local THIRD = { 'first', 'middle', 'last' }

--- Residuals whose mean all angles share.
local function tell_pattern(r, out, say)
  for i, one in ipairs(r.fits or { r }) do
    local a, dt = one.pattern, one.geometry and one.geometry.dt
    if a and a.improbable and dt then
      say('pattern', nil, '%sResiduals have a pattern that the angles share, which no noise has: at lags of %s to %s s '
        .. 'in the %s third of the run their mean is %s sigma, %.0f times its scatter between the angles. The model '
        .. 'misses something: look at the residual maps%s.', r.fits
        and ('Data set %d: '):format(i) or '', text(a.from * dt), text(a.to * dt), THIRD[a.age], text(a.mean),
        math.abs(a.t), out.misfit and '' or '; values and errors hold as far as the model does')
    end
  end
end

--- Where other starts come from: what the kind of fit takes.
local function other_starts(r)
  if r.mode == 'own model' then return 'fit from other starting values ({p0})' end
  if r.joint then return 'fit from other starting values ({starts})' end
  return 'search from other starts ({multi-start 20})'
end

--- A fit that ended before its minimum.
local function tell_end(r, say)
  if r.success ~= false then return end
  say('end', nil, 'The fit did not converge%s: values and errors are those of where it stopped{?. Allow more '
    .. 'evaluations ({max-iterations}), or start closer}.', r.status == 0
    and ', since the largest number of evaluations was reached' or '')
end

--- A q that is not the one asked for.
local function tell_q(r, out, say)
  for i, one in ipairs(r.fits or { r }) do
    for _, sentence in ipairs(wave_vector.sentences(one)) do
      say('q', { 'D0' }, '%s%s.', r.fits and ('Data set %d: '):format(i) or '', sentence)
    end
  end
end

--- A D0 that a mistyped q explains.
local function tell_scale(r, out, say)
  local sentence = not r.fits and not r.flat and wave_vector.doubt(r)
  if not sentence then return end
  say('scale', { 'D0' }, '%s.', sentence)
end

--- What is odd in the data, from which all else may follow.
local function tell_data(r, out, say)
  for i, one in ipairs(r.fits or { r }) do
    local data = one.problem and one.problem.data or one.data
    for _, f in ipairs(data and examine.findings(data) or {}) do
      say(f.kind, nil, '%s%s.', r.fits and ('Data set %d: '):format(i) or '', f.text)
    end
  end
end

local GAP = { 1e5, 1e8 } -- A, that are usual

--- A gap that is no usual one: the shear rate goes as its inverse.
local function tell_gap(r, out, say)
  for i, one in ipairs(r.fits or { r }) do
    local gap = one.mode == 'laminar_flow' and one.geometry and one.geometry.gap
    if gap and not (gap >= GAP[1] and gap <= GAP[2]) then
      say('gap', nil, '%sThe gap is %s A (%s um), and %g to %g A are usual: the shear rate goes as 1 / gap. Is '
        .. 'its unit right ({gap}, in A)?', r.fits and ('Data set %d: '):format(i) or '', text(gap), text(gap * 1e-4),
        GAP[1], GAP[2])
    end
  end
end

--- Shear that the data do not need.
local function tell_unneeded(r, out, known, say)
  local u = r.unneeded
  if not u then return end
  determined.lack(out, u.names)
  for _, name in ipairs(u.names) do known[name] = true end
  say('unneeded', u.names, 'The data show no shear: without it chi2 rises by %s, and chance gives %s at most for '
    .. '%d parameter%s less. They do not determine %s{?: fit without shear ({static-mode})}.', text(u.rise, 3),
    text(u.chance, 3), #u.names, #u.names == 1 and '' or 's', determined.join(u.names))
end

--- Data without a decay.
local function tell_flat(r, out, known, say)
  for i, one in ipairs(r.flat_sets or {}) do
    if one then
      say('flat', nil, 'Data set %d alone shows no decay: it adds nothing to what the sets share, and its own numbers '
        .. 'are not determined. Leave it out.', i)
    end
  end
  local f = r.flat
  if not f then return end
  local p, names = r.problem, {}
  for _, name in ipairs(r.names) do
    known[name] = true
    if not name:find '^offset' then names[#names + 1] = name end
  end
  determined.lack(out, names)
  local t = p.t:totable()
  say('flat', names, 'C2 shows no decay: with constants in place of it chi2 rises by %s, and chance gives %s at most '
    .. 'for %d parameter%s less. The decay is over within the first frame (%s s), or much slower than the run (%s s), '
    .. 'or there is no contrast: the data determine its level alone, %s.', text(f.rise, 3), text(f.chance, 3), f.less,
    f.less == 1 and '' or 's', text(math.abs(t[2] - t[1])), text(math.abs(t[#t] - t[1])), text(f.level))
end

local function tell_apart(r, out, say)
  if not r.apart or not r.apart.improbable then return end
  out.apart = true
  local sets = {}
  for i, one in ipairs(r.fits) do sets[i] = one.problem.data end
  local differ = apart.differing(r.apart)
  for _, sentence in ipairs(apart.sentences(r.apart, sets)) do say('apart', differ, '%s.', sentence) end
end

local DEPTH = 3 -- mean standard errors of contrasts, what they vary by along the angle where that is no chance

--- Whether the fit has no shear and its angles differ as shear makes them: of their best contrasts, or of those of an
--- individual scaling.
local function sheared(r)
  if r.mode ~= 'static' or r.own_scaling then return nil end -- contrasts of their own explain the angles
  local m, a = M.misfit(r), r.noise
  local left = a and (a.correlated or a.unequal) or r.pattern and r.pattern.improbable
  if m then left = m.improbable end
  if r.scaling == 'individual' and not left then return nil end -- nothing that shear could explain
  local phi, best = {}, {}
  a = r.contrasts
  if a and a.improbable then
    for k, v in ipairs(a.list) do phi[k], best[k] = v.phi, v.best_contrast end
    return contrasts.shear(phi, best)
  end
  if r.scaling ~= 'individual' then return nil end
  local error_of = 0
  for _, q in ipairs(r.parameters) do
    if q.angle and q.name:find '^contrast' then
      phi[#phi + 1], best[#best + 1] = q.angle, q.value
      error_of = error_of + (q.error and q.error < math.huge and q.error or 0)
    end
  end
  local found = contrasts.shear(phi, best)
  return found and found.depth > DEPTH * error_of / #phi and found or nil
end

local PUSHED = 9 -- times the variance, that chi2 falls by beyond a bound

--- A parameter at a bound that the user set, not the table of the built-in model: where the fit does not describe the
--- data all else may follow from it. nil where there is none.
local function held(r)
  local idle = determined.idle(r)
  for _, q in ipairs(r.parameters) do
    local scaling = q.name:match '^contrast' or q.name:match '^offset'
    local base = (scaling or r.mode ~= 'own model') and parameters.known(scaling or q.name)
    local own = q.at_bound and (base and base[q.at_bound == 'lower' and 'min' or 'max']) ~= q[q.at_bound == 'lower'
      and 'low' or 'high']
    if own and not idle[q.name] then return q end
  end
end

--- What differences between the angles follow from, before what they are.
local function tell_cause(r, out, say)
  local m, own = M.misfit(r), held(r)
  local missed = m and m.improbable or r.contrasts and r.contrasts.improbable or r.pattern and r.pattern.improbable
  if own and (missed and own.name ~= 'phi0' or not missed and (r.pushed or 0) > PUSHED) then
    out.held = own.name
    table.insert(out.weak, own.name)
    say('held', { own.name }, '%s ended at its %s bound, %s, and %s: other findings may follow from that. Widen the '
      .. 'bound first (%s).', own.name, own.at_bound, text(own.value), missed and 'the fit does not describe the data'
      or ('chi2 falls by some %s beyond it'):format(text(r.pushed * math.max(m and 1 or 0, r.reduced_chi2), 2)),
      determined.bounds_in(r))
    return true
  end
  local found = sheared(r)
  if found then
    say('shear', nil, 'The angles decay differently, as those of a sheared sample do (flow near phi0 = %.0f deg, '
      .. 'which explains '
      .. '%.0f %% of the variance of their best contrasts), and the static model has no shear{?: fit with '
      .. '{laminar-flow%s}}.',
      found.phi0, 100 * found.share, math.abs(found.phi0) > 10 and ' & bounds phi0=-90:90' or '')
    return true
  end
  for _, q in ipairs(r.parameters) do
    local differ = r.contrasts and r.contrasts.improbable
    if q.name == 'phi0' and q.at_bound and q.high - q.low < 180 and (differ or m and m.improbable) then
      out.phi0 = true
      table.insert(out.weak, 'phi0')
      say('direction', { 'phi0' }, 'phi0 ended at its %s bound, %s, and %s, as where the flow has another direction{?: '
        .. 'widen the bound first ({bounds phi0=-90:90})}.', q.at_bound, text(q.value), differ and 'the angles differ'
        or 'the fit does not describe the data')
      return true
    end
  end
end

local function tell_angles(r, out, say)
  local cause = tell_cause(r, out, say)
  if not r.contrasts or not r.contrasts.improbable then return end
  for _, sentence in ipairs(contrasts.sentences(r.contrasts, cause)) do say('angles', nil, '%s.', sentence) end
end

--- How many starts of a search ended where the best one did, within 1 of chi2, of how many; nil without a search.
local function agreement(r)
  if not r.search or r.search.skipped then return nil end
  local count, unit = 0, (r.absolute_sigma or r.loss ~= 'linear') and 1 or r.reduced_chi2
  for _, one in ipairs(r.search.fits) do if 2 * (one.cost - r.cost) <= unit then count = count + 1 end end
  return count, #r.search.fits
end

--- Starts that disagree, unless the fit describes the data.
local function tell_search(r, out, say)
  local count, all = agreement(r)
  local m = M.misfit(r)
  if not count or count > 1 or all < 3 or m and not m.improbable then return end
  say('starts', nil, 'The starts do not agree: only 1 of %d ended here, the others higher. There may be a deeper '
    .. 'minimum still; fit '
    .. 'from more starts ({multi-start %d}) or from values of your own.', all, 5 * math.max(all, 10))
end

local function tell_noise(r, out, say)
  -- what the model misses is no noise: a sigma made of it would hide the misfit
  local missed = out.misfit or r.contrasts and r.contrasts.improbable
  for i, sentence in ipairs(noise.sentences(r)) do
    local kind = i == 1 and r.noise.correlated and 'correlated' or 'scatter'
    if kind == 'correlated' or not missed then
      say(kind, nil, '%s', sentence)
    end
  end
end

--- A sigma that is too large: chi2 falls short of what chance gives.
local function tell_sigma(r, out, say)
  local m = M.misfit(r)
  local sd = m and math.max(m.sd, r.noise and r.noise.chi2_sd and r.noise.chi2_sd / r.dof or 0)
  if not m or not (m.reduced < MUCH and m.reduced < 1 - M.IMPROBABLE * sd) then return end
  say('sigma', nil, 'Reduced chi2 is %s, where 1 +- %s is expected: sigma is %s times what residuals scatter '
    .. 'by, and all errors are too large by as much. Check sigma.', text(m.reduced),
    text(sd, 2), text(1 / math.sqrt(m.reduced), 3))
end

local function tell_misfit(r, out, say)
  local m = M.misfit(r)
  if not m or not m.improbable then return end
  local sd = r.noise and r.noise.chi2_sd and r.noise.chi2_sd / r.dof
  out.unlikely = true
  if sd and m.reduced <= 1 + M.IMPROBABLE * sd then
    say('explained', nil, 'Reduced chi2 is %s, where %s is expected of independent noise with the sigma that was given '
      .. 'and %s of noise as correlated as the residuals: it does not speak against the fit.', text(m.reduced),
      numbers.with_error(1, m.sd), numbers.with_error(1, sd))
    return
  end
  out.misfit = true
  if r.own_scaling then
    say('misfit', nil, 'With contrast and offset of its own for each angle the fit from here has reduced chi2 %s{?: '
      .. 'fit with {scaling individual}}.', text(r.own_scaling))
    return
  end
  local count, all = agreement(r)
  local suspect = r.contrasts and r.contrasts.improbable and 'contrast or offset differ between the angles (above), '
    or ''
  local robust = r.loss ~= 'linear' and ('some points are outliers, which loss %s weighs down, '):format(r.loss) or ''
  say('misfit', nil, 'Reduced chi2 is %s, where %s is expected of %d points with the sigma that was given: '
    .. 'the fit does not describe the data within it, and %s.', text(m.reduced), numbers.with_error(1, m.sd),
    r.n_points, m.reduced < 3 and not is_model(r)
    and 'its values may be wrong by more than their standard errors say'
    or 'its values and standard errors are not to be trusted')
  say('misfit', nil, '%s.', count
    and ('%s: %ssigma is too small, %sor the model is not that of the data'):format(count == all
      and ('All %d fits led to this minimum'):format(all)
      or ('%d of %d fits led to this minimum, the deepest'):format(count, all), suspect, robust)
    or ('It may have ended in a local minimum: %s; else %ssigma is too small, %sor the model is not that of the data')
      :format(other_starts(r), suspect, robust))
end

--- What is said of every fit before its parameters; known gets the names that need no further word.
local function tell_fit(r, out, known, say)
  tell_end(r, say)
  tell_data(r, out, say)
  tell_q(r, out, say)
  tell_gap(r, out, say)
  tell_flat(r, out, known, say)
  tell_unneeded(r, out, known, say)
  tell_apart(r, out, say)
  if out.apart then return end
  tell_angles(r, out, say)
  tell_scale(r, out, say)
  tell_sigma(r, out, say)
  tell_misfit(r, out, say)
  tell_pattern(r, out, say)
  tell_search(r, out, say)
  tell_noise(r, out, say)
end

--- Sentences on a result.
---@param r table result of fit
---@return { sentences: string[], findings: table[], undetermined: table[], weak: table[], level: string } findings:
---  { kind, names, text } of each sentence; level: 'determined', 'weak' or 'undetermined'
function M.of(r)
  local out = silent()
  local say = teller(out)
  local known = {}
  tell_fit(r, out, known, say)
  if out.apart then return out end -- the values describe none of the sets: what else they miss says nothing more
  if not r.flat then determined.directions(r, out, known, say) end
  determined.mirror(r, out, known, say)
  determined.each(r, out, known, say)
  return out
end

--- The same for a model whose spectrum nobody knows: from errors, bounds and correlations.
---@param r table parameters, names, correlation, intervals
---@param note? string what the solver says of undetermined parameters
---@return table as of
function M.plain(r, note)
  local out = silent()
  local say = teller(out)
  local known = {}
  tell_fit(r, out, known, say)
  determined.without_spectrum(r, note, out, known, say)
  determined.each(r, out, known, say)
  return out
end

return M
