-- search.lua - fits from many starts, for data where the first one may end in the wrong valley.
--
-- The fit from the given start comes first; when it is good (converged, nothing at a bound, reduced chi2 below a
-- threshold) the search is skipped, since a global search
-- from a good start only costs. Starts are a Latin hypercube over the bounds, screened by one pass each; the better
-- half is fitted.
local check = require 'mascon.core.check'
local fit = require 'workflows.xpcs.fit'
local parameters = require 'workflows.xpcs.parameters'
local generate = require 'workflows.xpcs.generate'
local M = {}

local OPTS = {
  n_starts = { 10, 'integer >= 1' }, seed = { 42, 'integer >= 0' }, sampling_strategy = { 'latin_hypercube',
    { 'latin_hypercube', 'random' } }, use_screening = { true, 'bool' },
  skip_below = { 1.5, 'number >= 0' }, always = { false, 'bool' },
}

--- Starts over the bounds of the free physical parameters: { name = value } each. Positive ranges of more than two
--- decades are spread by their logarithm.
local function starts(p, o)
  local draw = generate.splitmix(o.seed)
  local list = {}
  for i = 1, o.n_starts do list[i] = {} end
  for _, place in ipairs(p.free) do
    if place > 2 * p.m then
      local low, high = p.low[place], p.high[place]
      local order = {}
      for i = 1, o.n_starts do order[i] = i end
      for i = o.n_starts, 2, -1 do
        local j = math.floor(draw() * i) + 1
        order[i], order[j] = order[j], order[i]
      end
      for i = 1, o.n_starts do
        local u = o.sampling_strategy == 'random' and draw() or (order[i] - 1 + draw()) / o.n_starts
        local v
        if low > 0 and high > 100 * low then v = low * (high / low) ^ u else v = low + u * (high - low) end
        list[i][p.names[place]] = v
      end
    end
  end
  return list
end

--- The best fit from the given start and others.
---@param data mascon.xpcs.Data
---@param opts table options of fit
---@param search? table n_starts 10 · seed 42 · sampling_strategy · use_screening true · skip_below 1.5 (reduced chi2
---  that needs no search) · always
---@return table result with search = { skipped, fits = list of { chi2, status, values } }
function M.multi_start(data, opts, search)
  local o = check.opts('xpcs.multi_start', search, OPTS, 3)
  local best = fit.fit(data, opts)
  local log = { { chi2 = best.chi2, status = best.convergence_status, values = best.values } }
  if not o.always and best.success and best.at_bounds == 0 and best.reduced_chi2 < o.skip_below then
    best.search = { skipped = true, fits = log }
    return best
  end
  local full = check.opts('xpcs.fit', opts, fit.OPTS, 3)
  local p = fit.set_up(data, full)
  local list = starts(p, o)
  if o.use_screening and #list > 3 then
    local cost = {}
    for i, s in ipairs(list) do
      local x = {}
      for k, place in ipairs(p.free) do
        local v = s[p.names[place]] or p.start[place]
        x[k] = math.max(p.low[place], math.min(p.high[place], v))
      end
      cost[i] = { p:at(x).cost or math.huge, i }
    end
    table.sort(cost, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
    local kept = {}
    for k = 1, math.ceil(#list / 2) do kept[k] = list[cost[k][2]] end
    list = kept
  end
  for _, s in ipairs(list) do
    local again = {}
    for k, v in pairs(opts or {}) do again[k] = v end
    again.initial = {}
    for k, v in pairs(opts and opts.initial or {}) do again.initial[parameters.get('xpcs', k).name] = v end
    for k, v in pairs(s) do again.initial[k] = v end
    local r = fit.fit(data, again)
    log[#log + 1] = { chi2 = r.chi2, status = r.convergence_status, values = r.values }
    if r.chi2 < best.chi2 then best = r end
  end
  best.search = { skipped = false, fits = log }
  return best
end

return M
