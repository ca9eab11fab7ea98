-- result.lua - what a sampler gives: arrays by name, a table of numbers, warnings in words, a file.
--
-- The file is laid out for ArviZ: posterior/NAME and sample_stats/NAME, each [chain, draw, ...].
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local all = require 'mascon.core.index'.all
local diagnose = require 'mascon.sample.diagnose'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

---@class mascon.sample.Result
---@field posterior table<string, any> name = [chain, draw, ...]
---@field sample_stats table<string, any> name = [chain, draw]
---@field names string[] of the parameters, in order
local Result = {}
Result.__index = Result

local function flags(lists) return methods.to(op.from_table(lists), 'bool') end

--- The result of chains.
---@return mascon.sample.Result
function M.new(density, chains, o)
  local self = setmetatable({ posterior = {}, sample_stats = {}, names = {}, step_size = {}, metric = {},
    gradients = density.gradients, max_depth = o.max_depth, unravel = density.unravel }, Result)
  local positions = {}
  for c, chain in ipairs(chains) do
    positions[c], self.step_size[c], self.metric[c] = chain.q, chain.step_size, chain.metric
  end
  local x = density:inside(F.stack(positions, 1)) -- [chain, draw, n]
  self.positions = x
  for i, leaf in ipairs(density.leaves) do
    local shape = { #chains, o.draws }
    for _, s in ipairs(leaf.shape) do shape[#shape + 1] = s end
    self.names[i] = leaf.name
    self.posterior[leaf.name] = methods.reshape(x[{ all, all, { leaf.first, leaf.first + leaf.size - 1 } }],
      shape):contiguous()
  end
  local function gather(name)
    local lists = {}
    for c, chain in ipairs(chains) do lists[c] = chain[name] end
    return lists
  end
  local diverging = gather 'diverging'
  for _, list in ipairs(diverging) do
    for i, v in ipairs(list) do list[i] = v and 1 or 0 end
  end
  self.sample_stats.diverging = flags(diverging)
  for _, name in ipairs { 'lp', 'energy', 'acceptance_rate' } do
    self.sample_stats[name] = op.from_table(gather(name))
  end
  for _, name in ipairs { 'tree_depth', 'n_steps' } do self.sample_stats[name] = op.from_table(gather(name), 'i64') end
  self.sample_stats.step_size = F.add(methods.reshape(op.from_table(self.step_size), { #chains, 1 }),
    tensor.empty('sample', { 1, o.draws }, 'f64', 3):fill_(0))
  return self
end

--- Draws of single numbers, in order: { label, draws [chain, draw] } for every element of every parameter.
function M.scalars(r, fname, names)
  local out = {}
  for _, name in ipairs(names or r.names) do
    local x = r.posterior[name]
    if not is(x) then
      local near = check.nearest(tostring(name), r.names)
      error(('%s: there is no parameter %s%s'):format(fname, tostring(name), near
        and ('; did you mean %s?'):format(near) or '; there are ' .. table.concat(r.names, ', ')), 3)
    end
    local sizes, count = {}, 1
    for i = 3, x.ndim do
      sizes[#sizes + 1] = x.shape[i]
      count = count * x.shape[i]
    end
    local flat = methods.reshape(x, { x.shape[1], x.shape[2], count })
    for k = 1, count do
      local place, rest = {}, k - 1
      for d = #sizes, 1, -1 do
        place[d] = rest % sizes[d] + 1
        rest = math.floor(rest / sizes[d])
      end
      out[#out + 1] = { label = #sizes > 0 and ('%s[%s]'):format(name, table.concat(place, ',')) or name,
        draws = flat[{ all, all, k }]:contiguous() }
    end
  end
  return out
end

local COLUMNS = { 'mean', 'sd', 'q5', 'median', 'q95', 'mcse_mean', 'mcse_sd', 'ess_bulk', 'ess_tail', 'rhat' }

--- A table of numbers, one row per element of every parameter.
---
--- Options: names: parameters to show. Result: { labels, columns, mean, sd, q5, median, q95, mcse_mean, mcse_sd,
--- ess_bulk, ess_tail, rhat: f64 [row] }; it prints as a table.
---     local function f(x) return -0.5 * mc.sum(x * x) end
---     local r = mc.sample.nuts(f, { 0 }, { key = 1, chains = 2, draws = 50, warmup = 50 })
---     r:summary().labels  --> { "x[1]" }
---@param opts? table
---@return table
function Result:summary(opts)
  local o = check.opts('result:summary', opts, { names = { nil, 'table' } })
  local rows = M.scalars(self, 'result:summary', o.names)
  local out = setmetatable({ labels = {}, columns = COLUMNS }, {
    __tostring = function(t) return M.text(t) end,
  })
  local lists = {}
  for _, c in ipairs(COLUMNS) do lists[c] = {} end
  for i, row in ipairs(rows) do
    local x = row.draws
    out.labels[i] = row.label
    lists.mean[i], lists.sd[i] = F.mean(x):item(), math.sqrt(F.var(x, { 1, 2, correction = 1 }):item())
    lists.q5[i], lists.median[i], lists.q95[i] = F.quantile(x, 0.05):item(), F.quantile(x, 0.5):item(),
      F.quantile(x, 0.95):item()
    lists.mcse_mean[i], lists.mcse_sd[i] = diagnose.mcse(x):item(), diagnose.mcse(x, { method = 'sd' }):item()
    lists.ess_bulk[i], lists.ess_tail[i] = diagnose.ess(x):item(), diagnose.ess(x, { method = 'tail' }):item()
    lists.rhat[i] = diagnose.rhat(x):item()
  end
  for _, c in ipairs(COLUMNS) do out[c] = op.from_table(lists[c]) end
  return out
end

--- A summary as lines of text.
function M.text(t)
  local wide = 4
  for _, label in ipairs(t.labels) do wide = math.max(wide, #label) end
  local lines = { (' '):rep(wide) }
  for _, c in ipairs(t.columns) do lines[1] = lines[1] .. ('%11s'):format(c) end
  for i, label in ipairs(t.labels) do
    local cells = { label .. (' '):rep(wide - #label) }
    for _, c in ipairs(t.columns) do
      local v = t[c][i]:item()
      cells[#cells + 1] = (c:find '^ess' and '%11.0f' or c == 'rhat' and '%11.3f' or '%11.4g'):format(v)
    end
    lines[#lines + 1] = table.concat(cells)
  end
  return table.concat(lines, '\n')
end

local LARGEST_RHAT, LEAST_ESS = 1.01, 100 -- LEAST_ESS for each chain
local NAMED = 8

--- The worst of a list of { text, rank } as words.
local function worst(list)
  table.sort(list, function(a, b) return a[2] < b[2] or a[2] == b[2] and a[1] < b[1] end)
  local words = {}
  for i = 1, math.min(#list, NAMED) do words[i] = list[i][1] end
  return table.concat(words, ', ') .. (#list > NAMED and (' and %d more'):format(#list - NAMED) or '')
end

--- What speaks against the draws, in sentences, one of each kind; an empty list when nothing does. Sentences of
--- `notes`, a list that who drew may add to the result, come last.
---@return string[]
function Result:warnings(summary)
  local out = {}
  local s = self.sample_stats
  local chains, draws = s.lp.shape[1], s.lp.shape[2]
  local function plural(n, word) return ('%d %s%s'):format(n, word, n == 1 and '' or 's') end
  local diverged = F.sum(methods.to(s.diverging, 'i64')):item()
  if diverged > 0 then
    out[#out + 1] = ('%s of %d ended in a divergence: the draws may miss a region of strong curvature; raise '
      .. 'target_accept, or write the model in other parameters'):format(plural(diverged, 'transition'), chains * draws)
  end
  if self.max_depth then
    local deep = F.sum(methods.to(F.ge(s.tree_depth, self.max_depth), 'i64')):item()
    if deep > 0 then
      out[#out + 1] = ('%s of %d reached max_depth = %d: the chains move slowly; use metric = "dense", scale the '
        .. 'parameters, or raise max_depth'):format(plural(deep, 'trajectory'):gsub('trajectorys', 'trajectories'),
        chains * draws, self.max_depth)
    end
  end
  local fraction = diagnose.bfmi(s.energy)
  local low = F.min(fraction):item()
  if low < 0.3 then
    out[#out + 1] = ('the lowest E-BFMI of a chain is %.2f (below 0.3): the tails are explored slowly; write the '
      .. 'model in other parameters'):format(low)
  end
  local t, apart, few = summary or self:summary(), {}, {}
  for i, label in ipairs(t.labels) do
    local rhat, ess = t.rhat[i]:item(), math.min(t.ess_bulk[i]:item(), t.ess_tail[i]:item())
    if not (rhat <= LARGEST_RHAT) then apart[#apart + 1] = { ('%s %.3f'):format(label, rhat), -rhat } end
    if not (ess >= LEAST_ESS * chains) then few[#few + 1] = { ('%s %.0f'):format(label, ess), ess } end
  end
  if apart[1] then
    out[#out + 1] = ('R-hat is above %g (%s): the chains do not agree yet; draw more, with a longer warm-up'):format(
      LARGEST_RHAT, worst(apart))
  end
  if few[1] then
    out[#out + 1] = ('effective draws are fewer than the %d that %s need%s (%s): errors are uncertain; draw '
      .. 'more'):format(
      LEAST_ESS * chains, plural(chains, 'chain'), chains == 1 and 's' or '', worst(few))
  end
  for _, note in ipairs(self.notes or {}) do out[#out + 1] = note end
  return out
end

Result.__tostring = function(self)
  local s = self.sample_stats.lp.shape
  local t = self:summary()
  local lines = { ('%d chain%s of %d draws, %d gradients'):format(s[1], s[1] == 1 and '' or 's', s[2],
    self.gradients), M.text(t) }
  for _, w in ipairs(self:warnings(t)) do lines[#lines + 1] = 'warning: ' .. w end
  return table.concat(lines, '\n')
end

--- Writes the draws to a file (.npz): posterior/NAME and sample_stats/NAME, each [chain, draw, ...].
---
--- In Python: z = numpy.load(path); d = arviz.from_dict(**{ g: { k.split('/')[1]: z[k] for k in z if k.startswith(g +
--- '/') } for g in ('posterior', 'sample_stats') }).
---@param path string
---@param opts? table posterior_predictive, observed_data, constant_data: tables of tensors by name, written beside them
function Result:save(path, opts)
  local o = check.opts('result:save', opts,
    { posterior_predictive = { nil, 'table' }, observed_data = { nil, 'table' }, constant_data = { nil, 'table' } })
  local out = {}
  local groups = { posterior = self.posterior, sample_stats = self.sample_stats,
    posterior_predictive = o.posterior_predictive, observed_data = o.observed_data,
    constant_data = o.constant_data }
  for group, arrays in pairs(groups) do
    for name, x in pairs(arrays) do out[group .. '/' .. name] = x end
  end
  require 'mascon.io'.save(path, out)
end

return M
