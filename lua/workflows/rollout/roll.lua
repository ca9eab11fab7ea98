-- roll.lua - an operator applied again and again: update policies, what is done after an update, and divergence.
--
-- A realisation that becomes non-finite or too large is frozen at its last good state and recorded; the others go on.
-- Source: specification of rollouts, 2.5 and 2.6.
local mc = require 'mascon'
local parameters = require 'workflows.rollout.parameters'
local streams = require 'workflows.rollout.streams'
local M = {}

M.STATUS = { 'non-finite', 'exploded', 'not rolled out' } -- 1 .. 3 of a realisation; 0: good

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
  parameters.refuse('evolution', e)
  return { policy = e.update_policy or sim.policy or parameters.default('evolution', 'update_policy'),
    alpha = e.alpha or sim.alpha, dt = e.dt or sim.dt, normalize = sim.normalize, clamp = sim.clamp }
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

---@class rollout.Spec
---@field policy table
---@field x0 mascon.Tensor [C, G, G]
---@field realisations integer
---@field steps integer
---@field single boolean? one application, whose result is the trajectory
---@field seed integer
---@field index integer
---@field divergence number
---@field noise boolean?

--- Marks realisations of a row that failed at step t; the state of the row after it, where those keep the one before.
local function judge(row, t, new, old)
  local B, out, alive = row.spec.realisations, row.out, row.alive
  local most = mc.scope(function() return new:reshape(B, -1):abs():max(2):totable() end)
  local list
  for m = 1, B do
    local v = most[m]
    local bad = v ~= v or v == math.huge
    if alive[m] and (bad or v > row.spec.divergence) then
      alive[m], out.status[m], out.bad_step[m], row.living = false, bad and 1 or 2, t, row.living - 1
    end
    if not alive[m] then list = true end
  end
  if not list or not old then return new end
  local keep = {}
  for m = 1, B do keep[m] = alive[m] and new[{ { m, m } }] or old[{ { m, m } }] end
  return mc.concat(keep, 1)
end

--- Rolls operators out side by side: those of operator.together, with equal numbers of realisations and steps.
--- visit(i, t, x, alive) is called with X_0 .. X_{T-1} of row i, [M, C, G, G]; alive[m] is false from the step on at
--- which realisation m failed. A row is the same in any company.
---@param specs rollout.Spec[]
---@param apply fun(x: mascon.Tensor, sources: table?, t: integer, T: integer): mascon.Tensor
---@param visit function
---@return rollout.Outcome[]
function M.together(specs, apply, visit)
  local n, B, T, rows, noise = #specs, specs[1].realisations, specs[1].steps, {}, false
  for i, spec in ipairs(specs) do
    local row = { spec = spec, alive = {}, living = B, out = { status = {}, bad_step = {} } }
    for m = 1, B do row.alive[m], row.out.status[m], row.out.bad_step[m] = true, 0, -1 end
    local shape = spec.x0.shape
    row.x = M.post(spec.policy, mc.broadcast_to(spec.x0:reshape(1, unpack(shape)), { B, unpack(shape) }):copy())
    judge(row, 0, row.x)
    visit(i, 0, row.x, row.alive)
    rows[i], noise = row, noise or spec.noise
  end
  for t = 1, specs[1].single and 1 or T - 1 do
    local living, sources = 0, noise and {} or nil
    for i, row in ipairs(rows) do
      living = living + row.living
      if row.spec.noise then
        sources[i] = {}
        for m = 1, B do sources[i][m] = streams.source(row.spec.seed, row.spec.index, 'noise', m - 1, t) end
      end
    end
    if living > 0 then
      local new = { mc.scope(function()
        local states, list = {}, {}
        for i, row in ipairs(rows) do states[i] = row.x end
        local y = apply(n > 1 and mc.concat(states, 1) or states[1], sources, t, T)
        for i, row in ipairs(rows) do
          local one = n > 1 and y[{ { (i - 1) * B + 1, i * B } }] or y
          list[i] = row.living > 0
            and judge(row, t, M.post(row.spec.policy, M.update(row.spec.policy, row.x, one)), row.x) or row.x
        end
        return unpack(list)
      end) }
      for i, row in ipairs(rows) do row.x = new[i] end
    end
    for i, row in ipairs(rows) do visit(i, t, row.x, row.alive) end
  end
  local out = {}
  for i, row in ipairs(rows) do out[i] = row.out end
  return out
end

--- Rolls one operator out: spec.apply(x, sources, t, T), visit(t, x, alive).
---@param spec rollout.Spec with apply
---@param visit function
---@return rollout.Outcome
function M.run(spec, visit)
  return M.together({ spec }, function(x, sources, t, T) return spec.apply(x, sources and sources[1], t, T) end,
    function(_, t, x, alive) visit(t, x, alive) end)[1]
end

return M
