-- shards.lua - the posterior as upstream computes it: random shards of the data, one sampler each, and the product of
-- normal distributions of their draws.
--
-- For comparison only: draws from all data at once (posterior.lua) cost one pass per gradient and need no such
-- approximation. Priors are tempered so that their product is the prior; shards whose mean lies far from the others, or
-- with many divergences, are left out.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local noise = require 'workflows.xpcs.judge.noise'
local posterior = require 'workflows.xpcs.fit.posterior'
local error = check.error
local M = {}

local OPTS = { shards = { nil, 'integer >= 2' }, seed = { 42, 'integer >= 0' } }

--- Random shards of packed data, one after the other.
local function shard_of(data, k, count, seed)
  if data.store then error('xpcs: shards need the data in memory; raise max_memory', 4) end
  local d = setmetatable({}, getmetatable(data))
  for key, v in pairs(data) do d[key] = v end
  return mc.scope(function()
    local number = mc.floor(mc.random.uniform({ data.packed.shape[1] }, { key = seed }) * count)
    local mine = mc.eq(number, k - 1)
    d.packed = mc.where(mine, data.packed, mc.nan):to(data.packed.dtype)
    d.points = mc.sum(mc.isfinite(d.packed):to 'f64'):item()
    d.holes = mc.ones({ #data.tiles }, { dtype = 'u8' })
    tensor.hold(d.packed)
    tensor.hold(d.holes)
    return d
  end)
end

local function median(list)
  local s = { unpack(list) }
  table.sort(s)
  local n = #s
  return n % 2 == 1 and s[(n + 1) / 2] or (s[n / 2] + s[n / 2 + 1]) / 2
end

--- Shards whose mean is not further from the median than 5 median absolute deviations, in any parameter.
local function inliers(list)
  if #list < 4 then return list end
  local out = {}
  local n = #list[1].mean
  local far = {}
  for k = 1, n do
    local values, away = {}, {}
    for i, s in ipairs(list) do values[i] = s.mean[k] end
    local m = median(values)
    for i, v in ipairs(values) do away[i] = math.abs(v - m) end
    local width = 1.4826 * median(away)
    for i, v in ipairs(away) do if v > 5 * width and width > 0 then far[i] = true end end
  end
  for i, s in ipairs(list) do
    if far[i] then s.left_out = 'mean far from those of the other shards' else out[#out + 1] = s end
  end
  return out
end

--- The product of normal distributions.
local function combined(list)
  local n = #list[1].mean
  local precision, weighted = mc.zeros { n, n }, mc.zeros { n }
  for _, s in ipairs(list) do
    local p = mc.linalg.inv(mc.tensor(s.covariance))
    precision, weighted = precision + p, weighted + p:matmul(mc.tensor(s.mean))
  end
  local covariance = mc.linalg.inv(precision)
  local mean, sd = covariance:matmul(weighted):totable(), mc.sqrt(mc.diagonal(covariance)):totable()
  return mean, sd, covariance:totable()
end

--- Draws from shards and the normal distribution that combines them.
---@param r table result of mc.xpcs.fit
---@param opts table shards (how many) · seed 42 · the options of mc.xpcs.posterior.run; warmup and draws 500, 1500
---@return table names, mean, sd, covariance, shards (list of { points, mean, sd, rhat, ess, divergences, left_out }),
---  success_rate, trusted, warnings
function M.run(r, opts)
  local own, rest = {}, { warmup = 500, draws = 1500 }
  for k, v in pairs(opts or {}) do
    if OPTS[k] then own[k] = v end
    if k ~= 'shards' then rest[k] = v end
  end
  local o = check.opts('xpcs.shards', own, OPTS, 3)
  if not o.shards then error('xpcs.shards: option shards is missing; say how many', 2) end
  local list, names, warnings = {}, nil, {}
  for k = 1, o.shards do
    local d = shard_of(r.problem.data, k, o.shards, o.seed)
    if d.points < 10 * #r.problem.free then
      error(('xpcs.shards: %d shards of %d points are too small for %d parameters; make fewer'):format(o.shards,
        r.problem.data.points, #r.problem.free), 2)
    end
    local problem, with, part = {}, {}, {}
    for key, v in pairs(r.problem) do problem[key] = v end
    problem.data = d
    for key, v in pairs(r) do with[key] = v end
    with.problem = setmetatable(problem, getmetatable(r.problem))
    -- the errors of a shard are wider by the root of their number
    with.covariance = {}
    for i, row in ipairs(r.covariance) do
      with.covariance[i] = {}
      for j, v in ipairs(row) do with.covariance[i][j] = v * o.shards end
    end
    for key, v in pairs(rest) do part[key] = v end
    part.temper, part.checkpoint, part.seed, part.keep = o.shards, nil, o.seed + k, false -- a part is no result
    local s = posterior.run(with, part)
    names = s.names
    local x = s.positions
    local flat = x:reshape(x.shape[1] * x.shape[2], x.shape[3])
    local mean = mc.mean(flat, 1)
    local e = flat - mean
    local cov = (e.mT:matmul(e) / (flat.shape[1] - 1)):totable()
    local rhat, ess = mc.max(s.table.rhat):item(), mc.min(s.table.ess_bulk):item()
    local diverged = mc.mean(s.sample_stats.diverging:to 'f64'):item()
    list[k] = { points = d.points, mean = mean:totable(), sd = s.table.sd:totable(), covariance = cov, rhat = rhat,
      ess = ess, divergences = diverged }
    if diverged > 0.1 then list[k].left_out = 'more than 10 % of its transitions diverge'
    elseif not (rhat <= 1.1) then list[k].left_out = 'R-hat above 1.1'
    elseif not (ess >= math.min(400, rest.draws)) then list[k].left_out = 'effective sample size too small' end
    d.packed:release()
  end
  local kept = {}
  for _, s in ipairs(list) do if not s.left_out then kept[#kept + 1] = s end end
  kept = inliers(kept)
  local out = { names = names, shards = list, success_rate = #kept / #list, warnings = warnings }
  out.trusted = out.success_rate >= 0.9
  if #kept == 0 then
    local why = {}
    for k, one in ipairs(list) do
      why[k] = ('%d: %s (R-hat %.3f, effective sample size %.0f, %.1f %% diverge)'):format(k, one.left_out
        or 'far from the others', one.rhat, one.ess, 100 * one.divergences)
    end
    error(('xpcs.shards: no shard can be trusted; draw more, or sample the whole data set. %s'):format(
      table.concat(why, '; ')), 2)
  end
  if not out.trusted then
    table.insert(warnings, ('only %d of %d shards are used; 90 %% are needed for a result to be trusted'):format(#kept,
      #list))
  end
  warnings[#warnings + 1] = select(2, noise.too_narrow(r))
  out.mean, out.sd, out.covariance = combined(kept)
  return out
end

return M
