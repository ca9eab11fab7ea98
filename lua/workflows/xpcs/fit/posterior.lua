-- posterior.lua - draws from the distribution of the parameters given all data, by the No-U-Turn Sampler.
--
-- One fused pass gives the log likelihood and its gradient, so the whole data set is used and no shards are needed.
-- The fit gives the start and the coordinates (coordinates.lua); bounds are transformed away. The likelihood is normal
-- with sigma as given; where sigma is only assumed, a factor on it ("noise") is drawn too.
local mc = require 'mascon'
local clock = require 'mascon.base.clock'
local check = require 'mascon.core.check'
local coordinates = require 'workflows.xpcs.model.coordinates'
local correlations = require 'workflows.xpcs.judge.noise'
local parameters = require 'workflows.xpcs.model.parameters'
local pass = require 'workflows.xpcs.pass.pass'
local problem = require 'workflows.xpcs.pass.problem'
local error = check.error
local M = {}

local OPTS = {
  draws = { 1000, 'integer >= 4' }, warmup = { 500, 'integer >= 0' }, chains = { 4, 'integer >= 1' },
  seed = { 42, 'integer >= 0' }, target_accept = { 0.85, 'number > 0' }, max_depth = { 10, 'integer >= 1' },
  metric = { 'dense', { 'dense', 'diag' } }, prior = { 'flat', { 'flat', 'normal', 'nlsq' } },
  priors = { nil, 'table' },
  noise = { 'auto', { 'auto', 'fixed', 'free' } }, warm_start = { true, 'bool' }, temper = { 1, 'number > 0' },
  checkpoint = { nil, 'string' }, every = { 20, 'number >= 0' }, resume = { true, 'bool' }, progress = { false, 'any' },
  keep = { true, 'bool' },
}

--- Normal priors of the free numbers: lists of means and widths, math.huge for none.
local function priors_of(r, o)
  local p, mu, width = r.problem, {}, {}
  for k, place in ipairs(p.free) do
    local name = p.names[place]
    local base = place <= p.m and parameters.CONTRAST or place <= 2 * p.m and parameters.OFFSET
      or parameters.LIST[place - 2 * p.m]
    local deviates = r.scaling == 'fourier' and place <= 2 * p.m and not name:find '_mean$'
    mu[k], width[k] = 0, math.huge
    local given = o.priors and o.priors[base.name]
    if given then mu[k], width[k] = given[1], given[2]
    elseif o.prior == 'normal' then mu[k], width[k] = base.prior[1], base.prior[2]
    elseif o.prior == 'nlsq' and r.errors[name] and r.errors[name] < math.huge then
      mu[k], width[k] = r.values[name], 2 * r.errors[name]
    end
    if deviates and (given or o.prior == 'normal') then mu[k] = 0 end
    width[k] = width[k] * math.sqrt(o.temper)
  end
  return mu, width
end

--- Start strictly inside the bounds, and a covariance for the first metric in which nothing is infinite: that of
--- independent noise, as the likelihood has it.
local function beginning(r, low, high, o)
  local n, x, sd, c = #low, {}, {}, {}
  local of_fit = r.independent_covariance or r.covariance
  for k = 1, n do
    local v = o.warm_start and r.point.x[k] or r.problem.start[r.problem.free[k]]
    local width = high[k] - low[k]
    local e = math.sqrt(of_fit[k][k])
    if not (e > 0 and e < math.huge) then e = width / 4 end
    local away = math.min(0.05 * width, math.max(1e-6 * width, 0.5 * e))
    x[k] = math.max(low[k] + away, math.min(high[k] - away, v))
    sd[k] = math.min(e, 0.5 * math.min(x[k] - low[k], high[k] - x[k]) + 0.1 * e, width / 4)
  end
  for i = 1, n do
    c[i] = {}
    for j = 1, n do
      local corr = i == j and 1 or o.warm_start and of_fit[i][j] / math.sqrt(of_fit[i][i] * of_fit[j][j]) or 0
      if corr ~= corr or math.abs(corr) > 1 then corr = 0 end
      c[i][j] = corr * sd[i] * sd[j]
    end
  end
  local scaled = {}
  for i = 1, n do
    scaled[i] = {}
    for j = 1, n do scaled[i][j] = c[i][j] / (sd[i] * sd[j]) end
  end
  if not (mc.linalg.eigvalsh(mc.tensor(scaled)):totable()[1] > 1e-10) then
    for i = 1, n do for j = 1, n do if i ~= j then c[i][j] = 0 end end end
  end
  return x, c
end

--- The ridges of diffusion and shear whose three parameters are free, each with the time at which the fit knows
--- scale t^power + shift best.
local function ridges_of(r, x, c)
  local p, at, out = r.problem, {}, {}
  for k, place in ipairs(p.free) do if place > 2 * p.m then at[place - 2 * p.m] = k end end
  local t = p.t:totable()
  for first = 1, p.P > 3 and 4 or 1, 3 do
    local i, j, k = at[first], at[first + 1], at[first + 2]
    if i and j and k then
      local best, time
      for step = 0, 40 do
        local s = math.max(t[1], 1e-8) * (t[#t] / math.max(t[1], 1e-8)) ^ (step / 40)
        local g = { s ^ x[j], x[i] * s ^ x[j] * math.log(s), 1 }
        local var, places = 0, { i, j, k }
        for a = 1, 3 do for b = 1, 3 do var = var + g[a] * g[b] * c[places[a]][places[b]] end end
        if not best or var < best then best, time = var, s end
      end
      out[#out + 1] = { scale = i, power = j, shift = k, time = time }
    end
  end
  return out
end

--- Checkpoints of a run: when to write, and what to go on from.
local function keeper(r, o, sizes)
  if not o.checkpoint then return nil, nil, {} end
  local dir, warnings = o.checkpoint, {}
  local hold = require('workflows.xpcs.fit.state').hold(dir)
  local ours = hold.ours
  local path = dir .. '/xpcs_posterior.h5'
  local data = r.problem.data
  local mark = mc.manifest.hash { packed = data.packed or data.key, weight = data.weight, holes = data.holes,
    phi = data.phi, t = data.t, x = r.point.x, sizes = sizes, kd = r.kd, ks = r.ks, sigma = r.sigma,
    device = r.device, version = 2 }
  local resume
  if o.resume and mc.file.exists(path) then
    local fine, a = check.try(mc.load, path)
    if not fine then
      table.insert(warnings, ('checkpoint %s is damaged and is passed over'):format(path))
    elseif a.mark ~= mark then
      table.insert(warnings, ('checkpoint %s belongs to other data, options, another fit or device; it is replaced')
        :format(path))
    else resume = a.state end
  end
  local last = clock.seconds()
  local function save(state)
    mc.save(path, { mark = mark, state = state() })
    last = clock.seconds()
  end
  local function clear()
    os.remove(path)
    hold()
    if ours then os.remove(dir) end -- refused by the system where it holds files
  end
  if not resume then -- what keeps it from being written is said before the work
    local fine, trouble = pcall(mc.save, path, { mark = mark })
    if not fine then
      clear()
      error(trouble, 0)
    end
  end
  return function(state)
    if clock.seconds() - last >= o.every then save(state) end
  end, resume, warnings, clear, save, hold
end

--- Log density of the coordinates and its gradient, from one pass.
local function density(q, to, mu, width, noisy)
  local n, points = #q.free, q.data.points
  return function(w)
    local v, slope, value, g = to:values(w:totable())
    local s = noisy and v[n + 1] or 1
    local at = {}
    for k = 1, n do at[k] = v[k] end
    local cost, down = mc.scope(function()
      local point = q:at(at)
      if not point.cost then return nil end
      return point.cost, (q:normal(point))
    end)
    if not cost then
      for k = 1, #v do g[k] = 0 end
      return mc.tensor(-math.huge), mc.tensor(g)
    end
    value = value - cost / (s * s)
    for k = 1, n do
      local z = (at[k] - mu[k]) / width[k]
      value = value - 0.5 * z * z
      g[k] = g[k] - (down[k] / (s * s) + z / width[k]) * slope[k]
    end
    if noisy then
      value = value - (points + 1) * math.log(s)
      g[n + 1] = g[n + 1] + (2 * cost / s ^ 3 - (points + 1) / s) * slope[n + 1]
    end
    return mc.tensor(value), mc.tensor(to:pull(g))
  end
end

--- The draws as parameters, in place of the coordinates.
local function renamed(out, to, names)
  local w = out.positions
  local chains, draws, n = w.shape[1], w.shape[2], w.shape[3]
  local rows = w:reshape(chains * draws, n):totable()
  for i, row in ipairs(rows) do rows[i] = to:values(row) end
  local x = mc.tensor(rows):reshape(chains, draws, n)
  out.positions, out.posterior, out.names = x, {}, names
  for k, name in ipairs(names) do out.posterior[name] = x[{ mc.all, mc.all, k }]:contiguous() end
end

local NEAR = 4 -- standard deviations from a bound, within which it cuts the posterior

--- Parameters whose draws lie against a bound: sd and quantiles are those of the bound.
local function pressed(s)
  local out, by = {}, {}
  for _, p in ipairs(s.fit.parameters) do by[p.name] = p end
  for i, name in ipairs(s.table.labels) do
    local p = by[name]
    local mean, sd = s.table.mean[i]:item(), s.table.sd[i]:item()
    for _, side in ipairs { 'low', 'high' } do
      local b = p and p.state == 'free' and p[side]
      if b and math.abs(b) < math.huge and math.abs(mean - b) < 1.5 * sd and p.high - p.low > NEAR * sd then
        out[#out + 1] = ('%s lies against its %s bound, %.6g: its mean and sd follow from the bound'):format(name,
          side == 'low' and 'lower' or 'upper', b)
      end
    end
  end
  return out
end

--- Draws from the posterior of a fit.
---
---@param r table result of mc.xpcs.fit; a robust fit is taken with the normal likelihood
---@param opts? table draws 1000 and warmup 500 per chain · chains 4 · seed 42 · target_accept 0.85 ·
---  max_depth 10 · metric 'dense'|'diag' · prior 'flat' (uniform between the bounds), 'normal' (normal
---  distributions of
---  the table of parameters, inside the bounds) or 'nlsq' (around the fit with twice its errors; counts the data
---  twice) ·
---  priors { name = { mean, width } } · noise 'auto'|'fixed'|'free': a factor on sigma; auto: free when sigma was
---  not
---  given · warm_start true: begin at the fit with its covariance · checkpoint: a folder; a run that was stopped
---  goes
---  on to the same bits · every 20 s · keep true: Ctrl-C ends the run with the draws so far;
---  one that comes after the last draw is told in stopped_late
---@return mascon.sample.Result with names, priors, seed, seconds, gradients_per_second, notes,
---  too_narrow (nil, or where residuals of the fit show correlated noise, by name: the factor by which sd is too small)
--- Source: mc.sample.nuts; the prior of the noise is 1 / noise.
function M.run(r, opts)
  local o = check.opts('xpcs.posterior', opts, OPTS, 3)
  if type(r) ~= 'table' or not r.problem or r.fits then
    error(('xpcs.posterior.run: the first argument is %s; give the result of mc.xpcs.fit'):format(check.show(r)), 2)
  end
  local p = r.problem
  if p.legacy_abs then error('xpcs: the posterior needs the exact distance; leave out legacy_abs', 2) end
  local q = problem.new(p)
  q.loss, q.watch, q.engine = 'linear', nil, pass.run
  local n, low, high, names = #p.free, {}, {}, {}
  for k, place in ipairs(p.free) do low[k], high[k], names[k] = p.low[place], p.high[place], p.names[place] end
  local mu, width = priors_of(r, o)
  local noisy = o.noise == 'free' or o.noise == 'auto' and r.sigma_is_default
  local x, c = beginning(r, low, high, o)
  if noisy then
    local s = math.sqrt(r.chi2 / math.max(r.dof, 1) / (r.counting == 'unique pairs' and 1 or 2))
    x[n + 1], low[n + 1], high[n + 1], names[n + 1] = s, 0, math.huge, 'noise'
    for i = 1, n do c[i][n + 1] = 0 end
    c[n + 1] = {}
    for j = 1, n do c[n + 1][j] = 0 end
    c[n + 1][n + 1] = s * s / (2 * math.max(r.problem.data.points, 1))
  end
  local sizes = { o.draws, o.warmup, o.chains, o.seed, o.target_accept, o.max_depth, o.metric, mu, width, noisy, c,
    o.warm_start }
  local notify, resume, warnings, clear, save, hold = keeper(r, o, sizes)
  local latest
  local start = clock.seconds()
  local to = coordinates.new(x, low, high, c, ridges_of(r, x, c))
  local ok, out = pcall(mc.sample.nuts, density(q, to, mu, width, noisy), mc.zeros { #x }, {
    jac = true, names = names, draws = o.draws, warmup = o.warmup, chains = o.chains, key = o.seed,
    target_accept = o.target_accept, max_depth = o.max_depth, metric = o.metric, progress = o.progress, keep = o.keep,
    resume = resume, jitter = o.warm_start and 1 or 0.1,
    notify = notify and function(state)
      latest = state
      notify(state)
    end,
  })
  if not ok then
    if hold then
      if latest then save(latest) end
      hold()
    end
    error(out, 0)
  end
  local function finish()
    if out.interrupted and latest then
      save(latest)
      hold()
    elseif clear then clear() end
    out.seconds = clock.seconds() - start
    out.gradients_per_second = out.gradients / math.max(out.seconds, 1e-9)
    out.resumed, out.priors, out.noise_is_free, out.notes = resume ~= nil, o.prior, noisy, warnings
    if r.loss ~= 'linear' then
      table.insert(warnings, ('the fit has the loss %s; the posterior is that of normal noise'):format(r.loss))
    end
    if o.prior == 'nlsq' then
      table.insert(warnings, 'priors around the fit count the data twice; intervals come out too narrow')
    end
    local narrow
    out.too_narrow, narrow = correlations.too_narrow(r)
    warnings[#warnings + 1] = narrow
    renamed(out, to, names)
    out.seed, out.units = o.seed, {}
    for _, one in ipairs(r.parameters) do out.units[one.name] = one.unit ~= '' and one.unit or nil end
    out.fit, out.table = r, out:summary()
    for _, sentence in ipairs(pressed(out)) do warnings[#warnings + 1] = sentence end
  end
  if o.keep then out.stopped_late = check.held(finish) or out.stopped_late else finish() end
  return out
end
M.density, M.priors_of, M.beginning, M.ridges_of = density, priors_of, beginning, ridges_of
return M
