-- run.lua - chains from a log density: warm-up, draws, and the table of results.
--
-- Chains run one after another; a chain is a function of its key, of start and of the options alone, so that it is the
-- same bits whatever the number of chains or threads.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local source = require 'mascon.random.source'
local random = require 'mascon.random'
local objective = require 'mascon.optim.objective'
local densities = require 'mascon.sample.density'
local adapt = require 'mascon.sample.adapt'
local trajectory = require 'mascon.sample.trajectory'
local result = require 'mascon.sample.result'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

local SHARED = {
  chains = { 4, 'integer >= 1' }, draws = { 1000, 'integer >= 4' }, warmup = { 1000, 'integer >= 0' },
    key = { nil, 'any' }, seed = { nil, 'integer >= 0' },
  generator = { nil, 'table' }, metric = { 'diag', { 'diag', 'dense' } }, covariance = { nil, 'any' },
    target_accept = { 0.8, 'number > 0' }, step_size = { nil, 'number > 0' },
  bounds = { nil, 'any' }, jitter = { 1, 'number >= 0' }, names = { nil, 'table' }, args = { nil, 'table' },
    jac = { false, 'bool' }, compile = { true, 'bool' },
  progress = { false, 'any' }, notify = { nil, 'function' }, resume = { nil, 'table' }, keep = { false, 'bool' },
}

local function with(more)
  for k, v in pairs(SHARED) do more[k] = v end
  return more
end

local NUTS = with { max_depth = { 10, 'integer >= 1' } }
local HMC = with { length = { math.pi / 2, 'number > 0' }, max_steps = { 1000, 'integer >= 1' } }

-- More than these is a slip: such a run would not end.
local MOST = { chains = 65536, draws = 1e8, warmup = 1e8, max_steps = 1e7, max_depth = 30 }

-- ---------------------------------------------------------------- random numbers of a chain

local BLOCK, CHOICES = 64, 1024

--- Standard normal vectors and uniform numbers from a key, drawn many at a time; and the place in both, from which
--- another stream goes on.
local function stream(key, n, dtype, from)
  local of_vectors, of_choices = unpack(key:split(2))
  local vectors, row, vector_block, rows = nil, 0, 0, n <= 1024 and BLOCK or 1
  local choices, at, choice_block, list = nil, CHOICES, 0, nil
  local function vector()
    if not vectors or row == rows then
      vectors, row, vector_block = random.normal({ rows, n },
        { key = of_vectors:fold_in(vector_block), dtype = dtype }), 0, vector_block + 1
    end
    row = row + 1
    return vectors[row]
  end
  local function uniform()
    if at == CHOICES then
      choices, at, choice_block = random.uniform({ CHOICES }, { key = of_choices:fold_in(choice_block) }), 0,
        choice_block + 1
      list = tensor.pointer(choices)
    end
    at = at + 1
    return list[at - 1]
  end
  if from then
    if from.row < rows and from.vector_block > 0 then
      row, vector_block, vectors = rows, from.vector_block - 1, nil
      vector()
      row = from.row
    else row, vector_block, vectors = rows, from.vector_block, nil end
    if from.at < CHOICES and from.choice_block > 0 then
      at, choice_block = CHOICES, from.choice_block - 1
      uniform()
      at = from.at
    else at, choice_block = CHOICES, from.choice_block end
  end
  return vector, uniform, function()
    return { row = row, vector_block = vector_block, at = at, choice_block = choice_block }
  end
end

-- ---------------------------------------------------------------- a chain

--- The metric at the beginning: the identity, or the covariance that was given, in the coordinates of the sampler.
local function first_metric(density, o)
  local n, c = density.n, o.covariance
  local fname = density.fname
  if c == nil then
    local ones = methods.fill_(tensor.empty(fname, { n }, density.dtype, 3), 1)
    return adapt.metric(o.metric == 'dense' and methods.to(F.eye(n), density.dtype) or ones)
  end
  if not is(c) then c = op.from_table(c) end
  local shape_ok = c.shape[1] == n and (c.ndim == 1 or c.ndim == 2 and c.shape[2] == n)
  if not shape_ok or not F.isfinite(c):all() then
    error(('%s: option covariance is %s for %d parameters; give finite variances [n] or a covariance matrix [n, '
      .. 'n], of the parameters in the order of start'):format(fname, tensor.describe(c), n), 3)
  end
  c = methods.to(c, 'f64')
  if density.bounds then
    local slope = methods.to(density.bounds:slope(density.x), 'f64')
    c = F.divide(c, c.ndim == 2 and F.outer(slope, slope) or F.square(slope))
  end
  local variances = c.ndim == 2 and F.diagonal(c) or c
  if not F.gt(variances, 0):all() then
    error(fname .. ': option covariance has a variance that is not above 0; give the variances of a fit that '
      .. 'determines every parameter', 3)
  end
  if o.metric == 'dense' and c.ndim == 1 then c = F.multiply(F.eye(n), c)
  elseif o.metric == 'diag' and c.ndim == 2 then c = variances:contiguous() end
  return adapt.metric(methods.to(c, density.dtype))
end

--- The state at start, moved by at most jitter standard deviations of the metric in every coordinate; closer where the
--- density is 0 there.
local function begin(density, metric, key, o)
  local u = random.uniform({ density.n }, { key = key, low = -1, high = 1, dtype = density.dtype })
  local size = o.jitter
  for _ = 1, 50 do
    local q = size > 0 and F.add(density.q, F.multiply(metric:spread(u), size)) or density.q
    local s = density:at(q)
    if math.abs(s.value) < math.huge and F.isfinite(s.g):all() then return s end
    if size == 0 then
      error(('%s: the log density is %g at start%s; start where both are finite'):format(density.fname, s.value,
        math.abs(s.value) < math.huge and ' and its gradient is not finite' or ''), 3)
    end
    size = size > 1e-6 and size / 2 or 0
  end
  error(density.fname .. ': no point near start has a finite log density', 3)
end

local LISTS = { 'lp', 'energy', 'acceptance_rate', 'tree_depth', 'n_steps' }

--- Draws 1 .. k of a chain as tensors by name, nil for none.
local function packed(out, k)
  if k == 0 then return nil end
  local t = { q = out.q[{ { 1, k } }]:copy(), diverging = {} }
  for _, name in ipairs(LISTS) do t[name] = op.from_table({ unpack(out[name], 1, k) }) end
  for i = 1, k do t.diverging[i] = out.diverging[i] and 1 or 0 end
  t.diverging = op.from_table(t.diverging)
  return t
end

--- The draws of `packed` as the lists of a chain; the rest of q is empty.
local function unpacked(t, draws, n, density)
  local out = { q = tensor.empty(density.fname, { draws, n }, density.dtype, 3), diverging = {} }
  for _, name in ipairs(LISTS) do out[name] = t and t[name]:totable() or {} end
  if t then
    local k = t.q.shape[1]
    out.q[{ { 1, k } }] = t.q
    for i, v in ipairs(t.diverging:totable()) do out.diverging[i] = v ~= 0 end
  end
  return out
end

--- What a chain needs to go on after an iteration, as a tree of numbers and tensors. at: what changed in it.
local function chain_state(at, out, warmup)
  local seen = {}
  for k = 1, at.count do seen[k] = at.seen[k] end
  return {
    i = at.i, q = at.state.q, g = at.state.g, value = at.state.value, eps = at.eps, place = at.place,
    metric = at.metric.inverse, step = at.step, seen = at.count > 0 and F.stack(seen, 1) or nil,
    draws = packed(out, math.max(0, at.i - warmup)),
  }
end

--- One chain. from: a state of it to go on from. after(i, state_of): called after every iteration.
local function chain(density, move, key, o, from, after)
  local first, numbers = unpack(key:split(2))
  local vector, uniform, place = stream(numbers, density.n, density.dtype, from and from.place)
  local metric = from and adapt.metric(from.metric) or first_metric(density, o)
  local state = from and { q = from.q, g = from.g, value = from.value } or begin(density, metric, first, o)
  local function momentum() return metric:momentum(vector()) end
  local function search(eps)
    local found, why = adapt.reasonable(density, state, metric.inverse, momentum, eps)
    if not found then error(('%s: the step size %s'):format(density.fname, why), 3) end
    return found
  end
  local step = adapt.step_size(o.target_accept)
  if from then for k, v in pairs(from.step) do step[k] = v end
  else step:restart(o.step_size or search(1)) end
  local ends, first_seen, last_seen = adapt.windows(o.warmup)
  local seen = {}
  if from and from.seen then for i = 1, from.seen.shape[1] do seen[i] = from.seen[i] end end
  local n, draws = density.n, o.draws
  local out = unpacked(from and from.draws, draws, n, density)
  local eps = from and from.eps or step.eps
  local at_end -- of the last iteration: an interruption may come in the middle of the next one
  local function now() return chain_state(at_end, out, o.warmup), at_end.gradients end
  for k = from and from.i + 1 or 1, o.warmup + draws do
    local t
    state, t = move(density, density.kicked(state, momentum(), metric.inverse), metric.inverse, eps, uniform, o)
    if k <= o.warmup then
      step:learn(t.accept)
      if k >= first_seen and k <= last_seen then seen[#seen + 1] = state.q end
      if ends[k] then
        metric = adapt.learned(seen, o.metric == 'dense', density.dtype)
        seen = {}
        step:restart(search(step.eps))
      end
      eps = k == o.warmup and step:settled() or step.eps
    else
      local at = k - o.warmup
      out.q[at] = state.q
      out.lp[at], out.energy[at], out.diverging[at] = state.value, state.energy, t.diverging
      out.acceptance_rate[at], out.tree_depth[at], out.n_steps[at] = t.accept, t.depth, t.steps
    end
    if after then
      at_end = { i = k, state = state, eps = eps, metric = metric, seen = seen, count = #seen, place = place(),
        gradients = density.gradients, step = { mu = step.mu, count = step.count, deficit = step.deficit,
        mean = step.mean, eps = step.eps } }
      after(k, now)
    end
  end
  out.step_size, out.metric = eps, metric.inverse
  return out
end

-- ---------------------------------------------------------------- all chains

local function run(fname, move, spec, f, start, opts)
  local o = check.opts(fname, opts, spec, 4)
  for name, most in pairs(MOST) do
    if o[name] and o[name] > most then
      error(('%s: option %s is %s; at most %d'):format(fname, name, check.show(o[name]), most), 3)
    end
  end
  if o.target_accept >= 1 then
    error(('%s: option target_accept is %g; give a number between 0 and 1'):format(fname, o.target_accept), 3)
  end
  local key, number = source.resolve(fname, { key = o.key, seed = o.seed, generator = o.generator })
  if o.key == nil and o.seed == nil then key = key:fold_in(number) end
  local density = densities.new(fname, f, start, o)
  local bar = objective.bar(fname, o.progress, o.chains * (o.warmup + o.draws))
  local length = o.warmup + o.draws
  local from = o.resume
  local ended, chains = {}, {} -- states and results of the chains that have ended
  local current -- the state of the chain under way, as a function
  local gradients = 0 -- of the chains that have ended
  --- The whole run as a tree of numbers and tensors with names as keys.
  local function state()
    local s = { chains = #ended, n = density.n, draws = o.draws, warmup = o.warmup, gradients = gradients }
    for c, e in ipairs(ended) do s['chain_' .. c] = e end
    if current then s.current, s.gradients = current() end
    return s
  end
  if from and (from.n ~= density.n or from.draws ~= o.draws or from.warmup ~= o.warmup) then
    error(('%s: the state to resume from has %s parameters, %s draws and %s of warm-up; this run has %d, %d and %d')
      :format(fname, tostring(from.n), tostring(from.draws), tostring(from.warmup), density.n, o.draws, o.warmup), 3)
  end
  local function all()
    for c = 1, o.chains do
      local known = from and from['chain_' .. c]
      if known then
        chains[c] = unpacked(known.draws, o.draws, density.n, density)
        chains[c].step_size, chains[c].metric = known.step_size, known.metric
        ended[c] = known
      else
        chains[c] = nil
        local begun = from and c == from.chains + 1 and from.current or nil
        local result_of_chain = chain(density, move, key:fold_in(c), o, begun, function(i, now)
          current = now
          if bar then bar:update((c - 1) * length + i) end
          if o.notify and i < length then o.notify(state) end
        end)
        chains[c], current = result_of_chain, nil
        ended[c] = { draws = packed(result_of_chain, o.draws), step_size = result_of_chain.step_size,
          metric = result_of_chain.metric }
        gradients = density.gradients
        if o.notify then o.notify(state) end
      end
    end
  end
  if from then density.gradients, gradients = from.gradients, from.gradients end
  local ok, why = true, nil
  if bar or o.keep then
    ok, why = pcall(all)
    if bar then bar:done() end -- the line ends also when Ctrl-C or an error ends the work
  else all() end
  local settings = o
  if not ok then
    if not (o.keep and check.stopped(why)) then error(why, 0) end
    -- what ended in time: whole chains, else what the first one has
    local s = current and #chains == 0 and current()
    if s and s.draws and s.draws.q.shape[1] >= 4 then
      chains[1] = unpacked(s.draws, s.draws.q.shape[1], density.n, density)
      chains[1].step_size, chains[1].metric = s.eps, s.metric
    elseif #chains == 0 then error(why, 0) end
    settings = setmetatable({ draws = chains[1].q.shape[1] }, { __index = o })
  end
  local word, r
  if o.keep then word, r = check.held(result.new, density, chains, settings)
  else r = result.new(density, chains, settings) end
  r.stopped_late = word
  if not ok then r.interrupted = check.stopped(why) end
  return r
end

--- Draws from a density by the No-U-Turn Sampler.
---
--- f(x, args...): logarithm of the density, up to a constant, as a real number computed by ops from x, which has the
--- form of start. mc.compile and
--- mc.value_and_grad make one call per leapfrog step of it.
--- start: f32|f64 tensor, a list of numbers, or a tree of tensors; in the bounds, where the density is not 0. Where a
--- tensor of it is on a device, f gets its parameters there; the sampler works on the CPU, draws are there.
---
--- Options: chains (4) · draws (1000) per chain · warmup (1000) iterations per chain, which adapt step size and metric
--- and are not kept · key: mc.random.key(...) or
--- a whole number; also seed, generator; none draws from the default generator · metric ('diag'): 'dense' also learns
--- correlations · covariance: what is known of the
--- covariance of the parameters near start, variances [n] or [n, n], for example that of a fit; a warm-up of 200
--- iterations is then enough ·
--- target_accept (0.8): closer to 1 for fewer divergences by smaller steps · step_size: the first one; without warm-up
--- the only one · max_depth (10): at most 2^max_depth - 1 steps in a trajectory ·
--- bounds: { low, high } of numbers or trees like start, n pairs { low, high }, or by name, { tau = { 0 } }; nil or
--- mc.none is an open side. A parameter with bounds is sampled as a
--- logarithm or logit, its Jacobian included · jitter (1): chains begin up to so many standard deviations of the first
--- metric (1 without covariance) from start ·
--- names: of the elements of a start that is a vector · args: list of further arguments of f, not differentiated · jac
--- (false): f returns log density and gradient ·
--- compile (true): false for an f that reads values of tensors (and for jac = true) · progress (false): true, a label
--- or a mc.progress line · notify: notify(state) is called after every iteration; state() gives the run so far, a tree
--- of tensors and numbers (mc.save to .h5) · resume: such a tree; the run goes on from it to the same bits · keep
--- (false): Ctrl-C and SIGTERM end the run with the chains drawn so far, and the result says interrupted; one that
--- comes after the last draw ends nothing, and is told in stopped_late.
---
--- Result: posterior: { name = f64|f32 [chain, draw, ...] }, names as in start ('x' for a tensor or a list) ·
--- sample_stats: { lp (of the sampler's coordinates, Jacobian included), energy,
--- diverging, acceptance_rate, step_size, tree_depth, n_steps }, each [chain, draw] · names: of the parameters, in
--- order · step_size: one per chain · metric: covariance that was learned, one per
--- chain, in the sampler's coordinates · gradients: evaluations in all. Methods: summary(), warnings(), save(path);
--- print(result) shows the summary and warnings. The same key gives the same bits for any number of threads.
--- Figures: mc.sample.trace, corner, marginals, predictive.
---
--- Errors: start outside the bounds, or a log density there that is not finite; f gives no number of tensors; names or
--- bounds that do not fit start.
--- Source: The No-U-Turn Sampler, 2014; A Conceptual Introduction to Hamiltonian Monte Carlo, 2017; adaptation as in
--- the Stan Reference Manual.
---     local function f(x) return -0.5 * mc.sum(mc.square((x - 3) / 2)) end
---     local r = mc.sample.nuts(f, { 0 }, { key = 1, draws = 500, warmup = 300 })
---     mc.abs(r.posterior.x:mean() - 3):item() < 0.3  --> true
---@param f function
---@param start any
---@param opts? table
---@return mascon.sample.Result
function M.nuts(f, start, opts)
  local r = run('sample.nuts', trajectory.nuts, NUTS, f, start, opts)
  return r
end

--- Draws from a density by Hamiltonian Monte Carlo with trajectories of a drawn length.
---
--- As mc.sample.nuts, without max_depth. Options: length (pi / 2): mean time of a trajectory, in standard deviations of
--- what the metric holds; each is uniform in
--- (0, 2 length) · max_steps (1000): steps of a trajectory at most. tree_depth of the result is 0.
--- Source: MCMC using Hamiltonian dynamics, 2011, sections 2 and 3.2.
---     local function f(x) return -0.5 * mc.sum(mc.square(x)) end
---     mc.sample.hmc(f, { 0, 0 }, { key = 1, chains = 2, draws = 50, warmup = 50 }).posterior.x.shape  --> {2, 50, 2}
---@param f function
---@param start any
---@param opts? table
---@return mascon.sample.Result
function M.hmc(f, start, opts)
  local r = run('sample.hmc', trajectory.hmc, HMC, f, start, opts)
  return r
end

return M
