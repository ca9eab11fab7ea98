-- roll.lua - an operator applied again and again: update policies, what is done after an update, and divergence.
--
-- A realisation that becomes non-finite or too large is frozen at its last good state and recorded; the others go on.
-- Source: specification of rollouts, 2.5 and 2.6.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local streams = require 'workflows.rollout.streams'
local error = check.error
local M = {}

M.POLICIES = { 'autoregressive', 'residual', 'convex' }

--- One update: the state after x when the operator gives o.
---     mc.rollout.roll.update({ policy = 'convex', alpha = 0.7 }, 2, -1)  --> 1.1
function M.update(p, x, o)
  if p.policy == 'autoregressive' then return o end
  if p.policy == 'residual' then return x + p.dt * o end
  return p.alpha * x + (1 - p.alpha) * o
end

--- Policy of a row: from its values, else of the simulation, else residual.
function M.policy(values, sim)
  local e = values.evolution
  local p = { policy = e.update_policy or sim.policy or 'residual', alpha = e.alpha or sim.alpha, dt = e.dt or sim.dt,
    normalize = sim.normalize, clamp = sim.clamp }
  local known = false
  for _, name in ipairs(M.POLICIES) do known = known or name == p.policy end
  if not known then error(('update_policy is %s; choose %s'):format(check.show(p.policy), table.concat(M.POLICIES,
    ', ')), 0) end
  if not (p.alpha >= 0 and p.alpha < 1) then
    error(('alpha is %s; it must be from 0 and below 1'):format(check.show(p.alpha)), 0) end
  if not (p.dt > 0) then error(('dt is %s; it must be above 0'):format(check.show(p.dt)), 0) end
  return p
end

--- What follows every update, per realisation: normalisation, then limits. x [B, C, G, G].
function M.post(p, x)
  local B = x.shape[1]
  if p.normalize == 'minmax' or p.normalize == 'zscore' then
    local flat = x:reshape(B, -1)
    if p.normalize == 'minmax' then
      local low = flat:min(2, { keepdim = true })
      local range = flat:max(2, { keepdim = true }) - low
      local wide = mc.gt(range, 1e-8)
      flat = mc.where(wide, (flat - low) / mc.where(wide, range, 1), flat)
    else flat = (flat - flat:mean(2, { keepdim = true })) / (flat:std(2, { correction = 1, keepdim = true }) + 1e-8) end
    x = flat:reshape(unpack(x.shape))
  end
  if p.clamp then x = mc.clip(x, p.clamp[1], p.clamp[2]) end
  return x
end

---@class rollout.Outcome
---@field status integer[] per realisation: 0 good, 1 non-finite, 2 exploded
---@field bad_step integer[] the step at which it stopped; -1 for none

--- Rolls one operator out. visit(t, x, alive) is called with X_0 .. X_{T-1}, [M, C, G, G]; alive[m] is false from the
--- step on at which realisation m failed.
---@param spec table { apply, policy, x0 [C,G,G], realisations, steps, seed, index, divergence, noise (bool) }
---@param visit function
---@return rollout.Outcome
function M.run(spec, visit)
  local B, T, p = spec.realisations, spec.steps, spec.policy
  local out = { status = {}, bad_step = {} }
  local alive, living = {}, B
  for m = 1, B do alive[m], out.status[m], out.bad_step[m] = true, 0, -1 end
  local x = mc.broadcast_to(spec.x0:reshape(1, unpack(spec.x0.shape)), { B, unpack(spec.x0.shape) }):copy()
  x = M.post(p, x)
  local function judge(t, new, old)
    local flat = new:reshape(B, -1)
    local most = flat:abs():max(2):totable()
    local list
    for m = 1, B do
      local v = most[m]
      local bad = v ~= v or v == math.huge
      if alive[m] and (bad or v > spec.divergence) then
        alive[m], out.status[m], out.bad_step[m], living = false, bad and 1 or 2, t, living - 1
      end
      if not alive[m] then list = true end
    end
    if not list or not old then return new end
    local keep = {}
    for m = 1, B do keep[m] = alive[m] and new[{ { m, m } }] or old[{ { m, m } }] end
    return mc.concat(keep, 1)
  end
  judge(0, x)
  visit(0, x, alive)
  local last = spec.single and 1 or T - 1 -- T = 1: one application, whose result is the trajectory
  for t = 1, last do
    if living > 0 then
      x = mc.scope(function()
        local sources
        if spec.noise then
          sources = {}
          for m = 1, B do sources[m] = streams.source(spec.seed, spec.index, 'noise', m - 1, t) end
        end
        local new = M.post(p, M.update(p, x, spec.apply(x, sources, t, T)))
        return judge(t, new, x)
      end)
    end
    visit(t, x, alive)
  end
  return out
end

return M
