-- trajectory.lua - one transition of a chain: a no-U-turn trajectory, or one of drawn length.
--
-- Source: A Conceptual Introduction to Hamiltonian Monte Carlo, 2017, appendix A (multinomial sampling, generalised
-- criterion); The No-U-Turn Sampler, 2014; Stan's base_nuts for the two checks across the halves of a tree. MCMC using
-- Hamiltonian dynamics, 2011, section 3.2 (drawn length).
-- A tree is { first, last: states at its ends in the order in which they were made, rho: sum of momenta, weight: log of
-- the sum of exp(H0 - H), proposal: a state drawn by weight }.
local tensor = require 'mascon.core.tensor'
local pointer, empty = tensor.pointer, tensor.empty
local M = {}

local DIVERGED = 1000 -- error of the energy from which a trajectory is given up

local function log_add(a, b)
  if a < b then a, b = b, a end
  if b == -math.huge then return a end
  return a + math.log(1 + math.exp(b - a))
end

--- Joins two neighbouring trees: the sum of momenta of both, and whether the whole still moves apart.
---
--- a_out, a_in, b_in, b_out: the states at the ends in their order along the trajectory. Six products over one reading
--- of the vectors: a loop
--- here takes 0.1 us for 10 parameters where a compiled function takes 6, and as long as ops for 10^5.
local function join(a_rho, b_rho, a_out, a_in, b_in, b_out, n)
  local rho = empty('sample', { n }, a_rho.dtype, 3)
  local sum, ra, rb = pointer(rho), pointer(a_rho), pointer(b_rho)
  local v_a, v_am, v_bm, v_b = pointer(a_out.v), pointer(a_in.v), pointer(b_in.v), pointer(b_out.v)
  local p_am, p_bm = pointer(a_in.p), pointer(b_in.p)
  local s1, s2, s3, s4, s5, s6 = 0, 0, 0, 0, 0, 0
  for i = 0, n - 1 do
    local a, b = ra[i], rb[i]
    local whole, across_a, across_b = a + b, a + p_bm[i], b + p_am[i]
    sum[i] = whole
    s1, s2 = s1 + whole * v_a[i], s2 + whole * v_b[i]
    s3, s4 = s3 + across_a * v_a[i], s4 + across_a * v_bm[i]
    s5, s6 = s5 + across_b * v_am[i], s6 + across_b * v_b[i]
  end
  return rho, s1 > 0 and s2 > 0 and s3 > 0 and s4 > 0 and s5 > 0 and s6 > 0
end

--- A tree of 2^depth states from the state after `from` on; nil when it diverges or turns back within. t: what the
--- transition counts.
local function grow(t, from, depth)
  if depth == 0 then
    local s = t.density:leapfrog(from, t.metric, t.eps)
    local gain = t.energy - s.energy
    t.steps = t.steps + 1
    t.accept = t.accept + (gain >= 0 and 1 or math.exp(gain))
    if not (gain > -DIVERGED) then
      t.diverging = true
      return nil
    end
    return { first = s, last = s, rho = s.p, weight = gain, proposal = s }
  end
  local a = grow(t, from, depth - 1)
  if not a then return nil end
  local b = grow(t, a.last, depth - 1)
  if not b then return nil end
  local weight = log_add(a.weight, b.weight)
  local proposal = t.uniform() < math.exp(b.weight - weight) and b.proposal or a.proposal
  local rho, apart = join(a.rho, b.rho, a.first, a.last, b.first, b.last, t.n)
  if not apart then return nil end
  return { first = a.first, last = b.last, rho = rho, weight = weight, proposal = proposal }
end

--- A no-U-turn transition from a state with momentum.
---@return table state
---@return table stats accept, steps, depth, diverging
function M.nuts(density, start, metric, eps, uniform, o)
  local t = { density = density, metric = metric, energy = start.energy, uniform = uniform, n = density.n, steps = 0,
    accept = 0, diverging = false }
  local back, front, rho, weight, sample, depth = start, start, start.p, 0, start, 0
  while depth < o.max_depth do
    local forward = uniform() > 0.5
    t.eps = forward and eps or -eps
    local new = grow(t, forward and front or back, depth)
    if not new then break end
    depth = depth + 1
    if new.weight > weight or uniform() < math.exp(new.weight - weight) then sample = new.proposal end
    weight = log_add(weight, new.weight)
    local apart
    if forward then
      rho, apart = join(rho, new.rho, back, front, new.first, new.last, t.n)
      front = new.last
    else
      rho, apart = join(rho, new.rho, front, back, new.first, new.last, t.n)
      back = new.last
    end
    if not apart then break end
  end
  t.depth, t.accept = depth, t.accept / t.steps
  return sample, t
end

--- A transition of Hamiltonian Monte Carlo: time uniform in (0, 2 length), the end accepted or not.
function M.hmc(density, start, metric, eps, uniform, o)
  local steps = math.max(1, math.min(o.max_steps, math.ceil(2 * uniform() * o.length / eps)))
  local s, t = start, { steps = 0, depth = 0, diverging = false }
  for _ = 1, steps do
    s = density:leapfrog(s, metric, eps)
    t.steps = t.steps + 1
    if not (start.energy - s.energy > -DIVERGED) then
      t.diverging = true
      break
    end
  end
  local gain = start.energy - s.energy
  t.accept = gain >= 0 and 1 or math.exp(gain)
  local u = uniform()
  return not t.diverging and u < t.accept and s or start, t
end

return M
