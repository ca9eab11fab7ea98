-- roll.lua - an operator applied again and again: update policies, what is done after an update, and divergence.
--
-- A realisation that becomes non-finite or too large is frozen at its last good state and recorded; the others go on.
-- Source: specification of rollouts, 2.5 and 2.6.
local mc = require 'mascon'
local parameters = require 'workflows.rollout.parameters'
local policies = require 'workflows.rollout.policies'
local streams = require 'workflows.rollout.streams'
local M = {}

M.STATUS = { 'non-finite', 'exploded', 'not rolled out' } -- 1 .. 3 of a realisation; 0: good

--- One update: the state after x when the operator gives o.
---     mc.rollout.roll.update({ policy = 'convex', alpha = 0.7 }, 2, -1)  --> 1.1
function M.update(p, x, o)
  local a, b = policies.shares(p)
  return a * x + b * o
end

--- Policy of a row: from its values, else of the simulation, else residual.
function M.policy(values, sim)
  local e = values.evolution
  parameters.refuse('evolution', e)
  return { policy = e.update_policy or sim.policy or policies.DEFAULT,
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

--- Marks realisations of rows that failed at step t; the states after it, where those keep the ones before. new, old
--- [rows B, C, G, G].
local function judge(rows, t, new, old)
  local B, bad_any = rows[1].spec.realisations, false
  local most = mc.scope(function() return new:reshape(#rows * B, -1):abs():max(2):totable() end)
  for i, row in ipairs(rows) do
    for m = 1, B do
      local v = most[(i - 1) * B + m]
      local bad = v ~= v or v == math.huge
      if row.alive[m] and (bad or v > row.spec.divergence) then
        row.alive[m], row.out.status[m], row.out.bad_step[m] = false, bad and 1 or 2, t
        row.living = row.living - 1
      end
      bad_any = bad_any or not row.alive[m]
    end
  end
  if not bad_any or not old then return new end
  local keep = {}
  for i, row in ipairs(rows) do
    for m = 1, B do
      local k = (i - 1) * B + m
      keep[k] = (row.alive[m] and new or old)[{ { k, k } }]
    end
  end
  return mc.concat(keep, 1)
end

--- The update of rows side by side: f(x, o) of states and what the operators give, [rows B, C, G, G]; a x + b o, a and
--- b by row, as update has them.
local function updating(rows, like)
  local old, new, alike = {}, {}, true
  for _, row in ipairs(rows) do
    local a, b = policies.shares(row.spec.policy)
    for _ = 1, row.spec.realisations do old[#old + 1], new[#new + 1] = a, b end
    alike = alike and a == 1
  end
  local function column(list)
    return mc.tensor(list):reshape(#list, 1, 1, 1):to { device = like.device, dtype = like.dtype }
  end
  local a, b = not alike and column(old), column(new)
  return function(x, o) return (alike and x or a * x) + b * o end
end

--- Rolls operators out side by side: those of operator.together, with equal numbers of realisations and steps.
--- visit(i, t, x, alive) is called with X_0 .. X_{T-1} of row i, [M, C, G, G]; alive[m] is false from the step on at
--- which realisation m failed. A row is the same in any company.
---@param specs rollout.Spec[]
---@param apply fun(x: mascon.Tensor, sources: table?, t: integer, T: integer): mascon.Tensor
---@param visit function
---@return rollout.Outcome[]
function M.together(specs, apply, visit)
  local n, B, T, rows, noise, states = #specs, specs[1].realisations, specs[1].steps, {}, false, {}
  for i, spec in ipairs(specs) do
    local row = { spec = spec, alive = {}, living = B, out = { status = {}, bad_step = {} } }
    for m = 1, B do row.alive[m], row.out.status[m], row.out.bad_step[m] = true, 0, -1 end
    local shape = spec.x0.shape
    states[i] = mc.broadcast_to(spec.x0:reshape(1, unpack(shape)), { B, unpack(shape) })
    rows[i], noise = row, noise or spec.noise
  end
  local policy = specs[1].policy -- normalize and clamp are those of the configuration
  local function show(t, x)
    for i, row in ipairs(rows) do visit(i, t, n > 1 and x[{ { (i - 1) * B + 1, i * B } }] or x, row.alive) end
  end
  local x = M.post(policy, mc.concat(states, 1))
  local update = updating(rows, x)
  judge(rows, 0, x)
  show(0, x)
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
      x = mc.scope(function() return judge(rows, t, M.post(policy, update(x, apply(x, sources, t, T))), x) end)
    end
    show(t, x)
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
