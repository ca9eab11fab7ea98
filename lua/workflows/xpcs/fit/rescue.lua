-- rescue.lua - the fit that mc.xpcs.fit and the program give: tried again where it failed, and where it is no fit.
--
-- fit.lua ends in the valley where it starts. A fit that does not converge is tried again nearby (recovery.lua); one
-- that chance does not explain, or whose angles disagree, may lie in the wrong valley: without the starting values that
-- were given, from the physics of a fit with a contrast for each angle, and last from other starts.
local check = require 'mascon.core.check'
local advice = require 'workflows.xpcs.model.advice'
local fit = require 'workflows.xpcs.fit.fit'
local numbers = require 'workflows.xpcs.model.numbers'
local parameters = require 'workflows.xpcs.model.parameters'
local recovery = require 'workflows.xpcs.fit.recovery'
local verdict = require 'workflows.xpcs.judge.verdict'
local M = {}

-- starts that are tried where the first fit is no fit, for so many points at most
local STARTS, MOST = 20, 2e6

M.OPTS = { rescue = { true, 'bool' } }
for name, kind in pairs(fit.OPTS) do M.OPTS[name] = kind end

--- The options of a fit that begins with the physics of another.
local function from(r, o, more)
  local with = { initial = {} }
  for k, v in pairs(more) do with[k] = v end
  for k, v in pairs(o) do if with[k] == nil then with[k] = v end end
  for _, name in ipairs(parameters.names(r.mode)) do with.initial[name] = r.values[name] end
  return with
end

--- Whether chance does not explain a fit, or its angles disagree.
local function is_doubtful(r)
  return r.verdict.unlikely ~= nil or r.contrasts ~= nil and r.contrasts.improbable == true
end

--- Whether it may lie in the wrong valley: such a fit, or one whose shear is none.
local function is_astray(r) return is_doubtful(r) or r.unneeded ~= nil end

--- A note, in the words of who reads it.
local function note(r, words, ...)
  table.insert(r.warnings, advice.worded(words:format(...), r))
end

--- The fit from the start that the scan finds, where the first one began with values of the user and that ends deeper.
local function without_values(data, o, first)
  if next(o.initial or {}) == nil then return first end
  local with = {}
  for k, v in pairs(o) do with[k] = v end
  with.initial = nil
  local r = fit.fit(data, with)
  if not (r.cost < first.cost * (1 - 1e-9)) then return first end
  note(r, 'your starting values led to chi2 %s; a fit from the start that a scan finds reached %s and is reported',
    numbers.number(first.chi2, 6), numbers.number(r.chi2, 6))
  return r
end

--- Where contrasts seem to differ between angles: they may, or the physics is that of another valley. A fit with
--- contrast and offset of their own for each angle tells; from its physics the fit that was asked for goes on.
---@return table the better of the two fits
---@return boolean whether other starts may help: no fit from here is one that chance explains
local function unscaled(data, o, first)
  if not (first.contrasts and first.contrasts.improbable) then return first, true end
  if data.points <= 2 * data.F + #first.names then return first, true end -- too few for numbers of each angle
  local own = from(first, o, { scaling = 'individual' })
  own.progress, own.watch = nil, nil
  own = fit.fit(data, own)
  local best = fit.fit(data, from(own, o, {}))
  if best.cost < first.cost * (1 - 1e-9) then
    note(best, 'the first fit had chi2 %.6g, and contrasts that differ by more than chance gives; it '
      .. 'went on from the physics of a fit with contrast and offset of its own for each angle', first.chi2)
  else best = first end
  if best.verdict.misfit and not own.verdict.misfit then -- which no other start explains
    best.own_scaling = own.reduced_chi2
    verdict.judge(best, verdict.of(best))
  end
  return best, best.verdict.misfit ~= nil and own.verdict.misfit ~= nil
end

local KEPT = { 'recovery_actions', 'statistics', 'checkpoint_enabled', 'resumed', 'resume_batch_idx', 'n_batches',
  'success_rate', 'checkpoint_seconds' } -- of the first fit

--- A fit that chance does not explain, or whose angles disagree, may have ended in the wrong valley: others are tried
--- unless that would take long, or contrast and offset of the angles explain it. The search keeps no checkpoints; it
--- follows from the first fit, so a run that was stopped in it ends the same.
function M.again(data, o, first, seed)
  if data.points > MOST then return first end
  local begun = without_values(data, o, first)
  local r, open = begun, false
  if is_doubtful(begun) then r, open = unscaled(data, o, begun) end
  if open then
    r = require('workflows.xpcs.fit.search').multi_start(data, o, { n_starts = STARTS, seed = seed, first = r })
    note(r, 'reduced chi2 of the first fit was %.4g, which independent noise does not explain, so other starts were '
      .. 'tried (as with {multi-start %d}, which fits from those that begin lowest, %d here); the best fit has %.4g',
      first.reduced_chi2, STARTS, #r.search.fits - 1, r.reduced_chi2)
  end
  for _, name in ipairs(KEPT) do r[name] = first[name] end
  return r
end

--- Fits, and tries again where the fit does not converge or is no fit.
---@param data mascon.xpcs.Data
---@param opts? table options of fit.fit · rescue true: other starts where the first fit is doubtful
---@param with? table run: what fits first · bounded: the user bounds the work (max_nfev is given) · retries (2; 0 where
---  it is bounded) · retry_seed 42 · seed 42 of the search
---@return table result of fit.fit, with recovery_actions
function M.fit(data, opts, with)
  local asked = check.opts('xpcs.fit', opts, M.OPTS, 3)
  with = with or {}
  local o = {}
  for k, v in pairs(opts or {}) do o[k] = v end
  o.rescue = nil
  local bounded = with.bounded
  if bounded == nil then bounded = o.max_nfev ~= nil end
  local r = recovery.fit(data, o, { run = with.run, retries = bounded and 0 or with.retries, seed = with.retry_seed })
  local cut = bounded and r.convergence_status == 'max_iter'
  if asked.rescue and not cut and is_astray(r) then r = M.again(data, o, r, with.seed) end
  return r
end

return M
