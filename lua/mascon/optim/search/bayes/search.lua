-- search.lua - Bayesian optimisation: the next point is where a Gaussian process promises most.
--
-- The state is a plain table (ranges, points, values, hyperparameters, random numbers), from which a search goes on
-- with the same bits. Decides the order: evenly spread points first, then model, promise, its maximum.
--
-- Source: Jones, Schonlau and Welch, Efficient global optimization of expensive black-box functions, 1998;
-- Ginsbourger, Le Riche and Carraro, Kriging is well-suited to parallelize optimization, 2010 (several points at
-- once); Snoek, Larochelle and Adams, Practical Bayesian optimization of machine learning algorithms, 2012 (kernel).
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local ask = require 'mascon.optim.ask'
local random = require 'mascon.random'
local kernels = require 'mascon.optim.search.bayes.kernels'
local process = require 'mascon.optim.search.bayes.process'
local acquisition = require 'mascon.optim.search.bayes.acquisition'
local space_of = require 'mascon.optim.search.bayes.space'
local box = require 'mascon.optim.search.bayes.box'
local error = check.error
local F = op.functions
local M = {}

-- points of the first look, as many near the best one, those improved further
local CANDIDATES, LOCAL, REFINED = 1024, 256, 2
local SPREAD = 0.05 -- of the points near the best one
local STEP = 1e-6 -- of differences in the cube
local REFIT = 5 -- values after which hyperparameters are also sought from elsewhere

local OPTS = {
  acquisition = { 'ei', acquisition.NAMES }, xi = { 0, 'number >= 0' }, kappa = { 1.96, 'number >= 0' },
  n_initial = { nil, 'integer >= 1' }, kernel = { nil, 'table' }, state = { nil, 'table' },
}
for k, v in pairs(ask.SEEDED) do OPTS[k] = v end

---@class mascon.BayesSearch
local Search = {}
Search.__index = Search

-- ---------------------------------------------------------------- model

--- Values as the model sees them: what is no number, or infinite, counts as the worst value there is.
local function finite(values)
  local worst = -math.huge
  for _, v in ipairs(values) do if v < math.huge and v > worst then worst = v end end
  local out = {}
  for i, v in ipairs(values) do out[i] = v < math.huge and v or worst > -math.huge and worst or 0 end
  return out
end

local function kernel_of(self)
  local k = self.kernel
  if k then
    k = k:copy()
  else
    local unit = {}
    for i = 1, self.space.n do unit[i] = 0.5 end
    k = kernels.constant(1, { bounds = { 1e-3, 1e3 } }) * kernels.matern(unit,
      { bounds = { 5e-3, 50 } }) + kernels.white(1e-4, { bounds = { 1e-9, 1 } })
  end
  if self.s.hyper then k:values(self.s.hyper) end
  return k
end

--- The process for what is known; points that are still out count as having come out as expected.
local function model_of(self)
  local s = self.s
  local y = finite(s.y)
  local first = s.hyper == nil
  local gp = process.gaussian_process(op.from_table(s.x), op.from_table(y),
    { kernel = kernel_of(self), restarts = first and 3 or #s.y % REFIT == 0 and 1 or 0, key = #s.y })
  s.hyper = gp.kernel:values()
  if #s.out == 0 then return gp, gp end
  local x = {}
  for i, u in ipairs(s.x) do x[i] = u end
  for _, u in ipairs(s.out) do
    y[#y + 1] = gp:predict(op.from_table { u }, { std = false }).mean:item()
    x[#x + 1] = u
  end
  return process.gaussian_process(op.from_table(x), op.from_table(y), { kernel = gp.kernel, fit = false }), gp
end

-- ---------------------------------------------------------------- the next point

local function snapped(self, u) return self.space:cube(self.space:values(u)) end

local function known(self, u)
  for _, list in ipairs { self.s.x, self.s.out } do
    for _, v in ipairs(list) do
      local same = true
      for i = 1, #u do same = same and math.abs(u[i] - v[i]) < 1e-9 end
      if same then return true end
    end
  end
  return false
end

--- The point of the cube where the model promises most.
local function propose(self)
  local s, n = self.s, self.space.n
  local gp, told = model_of(self)
  local best = F.min(told:predict(op.from_table(s.x), { std = false }).mean):item()
  local promise = acquisition[self.o.acquisition]
  local function score(X)
    local p = gp:predict(X)
    return promise(p.mean, p.std, best, self.o)
  end
  local at = self:_best()
  local X = ask.draw(s, function(g)
    local even = random.sobol(CANDIDATES, n, { generator = g })
    local close = F.clip(op.from_table(s.x[at]) + random.normal({ LOCAL, n }, { generator = g }) * SPREAD, 0, 1)
    return F.concat({ even, close }, 1)
  end)
  local order = F.argsort(score(X), { descending = true }):totable()
  local low, high = {}, {}
  for i = 1, n do low[i], high[i] = 0, 1 end
  local eye = F.eye(n)
  local function objective(u) -- value and differences of one call of the model
    local x = op.from_table(u)
    local h = {}
    for i = 1, n do h[i] = u[i] + STEP <= 1 and STEP or -STEP end
    local values = score(F.concat({ x:expand_dims(1), x + eye * op.from_table(h) }, 1)):totable()
    local g = {}
    for i = 1, n do g[i] = -(values[i + 1] - values[1]) / h[i] end
    return -values[1], g
  end
  local found = {}
  for k = 1, REFINED do
    local u, value =
      box.minimise(objective, X[order[k]]:totable(), low, high, { maxiter = 25, gtol = 1e-6, ftol = 1e-7 })
    if value then found[#found + 1] = { value, snapped(self, u), k } end
  end
  table.sort(found, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[3] < b[3]
  end)
  for _, f in ipairs(found) do if not known(self, f[2]) then return f[2] end end
  for _, k in ipairs(order) do -- the promising ones are all known: the next best that is new
    local u = snapped(self, X[k]:totable())
    if not known(self, u) then return u end
  end
  return snapped(self, X[order[1]]:totable())
end

-- ---------------------------------------------------------------- asked and told

--- Place of the least value told.
function Search:_best()
  local at = 1
  for i, v in ipairs(self.s.y) do if v < self.s.y[at] then at = i end end
  return at
end

--- The next k points (1): a tensor [k, n], or a list of tables for named ranges. They may be told in any order, and
--- others too.
---@param k? integer
---@return any
function Search:ask(k)
  k = k or 1
  check.arg('bayes.ask', 'k', k, 'integer >= 1', 3)
  local s, list = self.s, {}
  for i = 1, k do
    local u
    if s.asked < s.n_initial or #s.y == 0 then
      u = snapped(self, random.sobol(1, self.space.n, { skip = s.asked, key = random.key(s.design) })[1]:totable())
    else
      u = propose(self)
    end
    s.asked = s.asked + 1
    s.out[#s.out + 1] = u
    list[i] = self.space:values(u)
  end
  return self.space:points(list)
end

--- Takes the values of points (what ask gave, some of it, or points of your own).
---@param x any
---@param f number|number[]|mc.tensor
function Search:tell(x, f)
  local rows = self.space:read('bayes.tell', x)
  local values
  if tensor.is(f) then
    values = f:reshape({ -1 }):totable()
  elseif type(f) == 'table' then
    values = f
  else
    values = { f }
  end
  if #values ~= #rows then
    error(('bayes.tell: %d values for %d points; give one for each'):format(#values, #rows), 2)
  end
  local s = self.s
  for i, row in ipairs(rows) do
    local v = values[i]
    if tensor.is(v) and v:numel() == 1 then v = v:item() end
    if type(v) ~= 'number' then
      error(('bayes.tell: value %d is %s; give a number (infinity or NaN for a failed run)'):format(i, check.show(v)),
        2)
    end
    local u = self.space:cube(row)
    for j, out in ipairs(s.out) do
      local same = true
      for d = 1, #u do same = same and math.abs(u[d] - out[d]) < 1e-9 end
      if same then
        table.remove(s.out, j)
        break
      end
    end
    s.x[#s.x + 1], s.v[#s.v + 1], s.y[#s.y + 1] = u, row, v == v and v or math.huge
  end
  return self
end

--- The best point told, and all of them: x, fun, n, history = { x, y, best } (lists of points, values, best values so
--- far), model()'s hyperparameters.
---@return table
function Search:result()
  local s, history, least = self.s, { x = {}, y = {}, best = {} }, math.huge
  for i, v in ipairs(s.v) do
    least = math.min(least, s.y[i])
    history.x[i], history.y[i], history.best[i] = self.space:point(v), s.y[i], least
  end
  if #s.y == 0 then return { n = 0, fun = math.huge, history = history } end
  local at = self:_best()
  return { x = self.space:point(s.v[at]), fun = s.y[at], n = #s.y, history = history }
end

--- The Gaussian process of what was told, in coordinates of the unit cube; nil before there are two points.
---@return mascon.Process|nil
function Search:model()
  if #self.s.y < 2 then return nil end
  return process.gaussian_process(op.from_table(self.s.x), op.from_table(finite(self.s.y)),
    { kernel = kernel_of(self), fit = self.s.hyper == nil })
end

--- A point (tensor or table) in coordinates of the unit cube, a tensor [n]: what model():predict takes.
function Search:cube(x) return op.from_table(self.space:cube(self.space:read('bayes.cube', x)[1])) end

local function plain(v)
  if type(v) ~= 'table' then return v end
  local y = {}
  for k, x in pairs(v) do y[k] = plain(x) end
  return y
end

--- All there is to know as a plain table of numbers, texts and tables: { state = it } in the options goes on with the
--- same bits.
function Search:state() return plain(self.s) end

--- A Bayesian search for the least value of an expensive function, asked and told.
---
---   space: a list of ranges { low, high }, or a table of them by name; { 1e-5, 1, log = true }: even in the logarithm;
---   { 1, 8, integer = true } acquisition: 'ei' (default, expected improvement by more than xi (0)), 'pi' (its
---   probability), 'lcb' (mean - kappa (1.96) deviations) n_initial: points of a Sobol' design before the model decides
---   (2 n + 2); kernel: over the unit cube, of mc.optim.kernels (Matern 5/2 with a length for each variable, and noise)
---   seed, key, generator: source of random numbers; state: of search:state(), to go on
---
--- Result: an object with ask(k), tell(points, values), result(), model(), cube(x), state().
--- Errors: ranges that are none.
--- Source: Efficient global optimization of expensive black-box functions, 1998.
---     local search = mc.optim.bayes_search({ { -1, 3 } }, { seed = 1 })
---     for _ = 1, 12 do local x = search:ask(); search:tell(x, (x[{ 1, 1 }]:item() - 2) ^ 2) end
---     search:result().fun < 1e-3  --> true
---@param space table
---@param opts? table
---@return mascon.BayesSearch
function M.bayes_search(space, opts)
  local fname = 'bayes_search'
  local o = check.opts(fname, opts, OPTS, 3)
  if o.state then space = space or o.state.space end
  local sp = space_of.new(fname, space)
  local s
  if o.state then
    s = plain(o.state)
    if s.method ~= 'bayes' then
      error(('%s: option state is of %s; give one of search:state()'):format(fname, check.show(s.method)), 2)
    end
    if #(s.x[1] or s.out[1] or sp.keys) ~= sp.n then
      error(('%s: option state is of another space'):format(fname), 2)
    end
  else
    s = { method = 'bayes', space = sp:plain(), x = {}, v = {}, y = {}, out = {}, asked = 0,
      n_initial = o.n_initial or 2 * sp.n + 2, random = ask.random(fname, o) }
    s.design =
      ask.draw(s, function(g) return random.integers { 1, low = 0, high = 2 ^ 31, generator = g } end):totable()[1]
  end
  if o.kernel and not kernels.is(o.kernel) then
    error(('%s: option kernel is %s; give one of mc.optim.kernels'):format(fname, check.show(o.kernel)), 2)
  end
  return setmetatable({ space = sp, s = s, o = o, kernel = o.kernel }, Search)
end

local RUN = { n_calls = { 50, 'integer >= 1' }, batch = { 1, 'integer >= 1' }, callback = { nil, 'function' },
  progress = { nil, 'any' }, target = { nil, 'number' } }
for k, v in pairs(OPTS) do RUN[k] = v end

--- The least value of an expensive function within ranges, by Bayesian optimisation.
---
---   f: function of a point (a tensor [n], or a table for named ranges) that gives a number; NaN or infinity: a run
---   that failed space, acquisition, xi, kappa, n_initial, kernel, seed, key, generator, state: as bayes_search n_calls
---   (50): evaluations in all, those of a state included; batch (1): points asked at a time; target: it ends at a value
---   as low callback(search), which ends the run by returning true; progress: a bar of mc.progress
---
--- Result: x, fun, n, history = { x, y, best }, state (a plain table), search.
--- Errors: ranges that are none; values that are no numbers.
--- Source: as bayes_search.
---     local r = mc.optim.bayes(function(p) return (p.a - 0.3) ^ 2 + (p.k - 4) ^ 2 end, { a = { 0, 1 }, k = { 1, 8,
---       integer = true } }, { n_calls = 20, seed = 1 })
---     r.x.k  --> 4
---@param f fun(x: any): number
---@param space table
---@param opts? table
---@return table
function M.bayes(f, space, opts)
  local fname = 'bayes'
  if type(f) ~= 'function' then
    error(('%s: the first argument is %s; give a function of a point'):format(fname, check.show(f)), 2)
  end
  local o = check.opts(fname, opts, RUN, 3)
  local inner = {}
  for k in pairs(OPTS) do inner[k] = o[k] end
  local search = M.bayes_search(space, inner)
  local s = search.s
  while #s.y < o.n_calls do
    local k = math.min(o.batch, o.n_calls - #s.y)
    local points = search:ask(k)
    for i = 1, k do
      local x = points[i]
      local v = f(x)
      if tensor.is(v) and v:numel() == 1 then v = v:item() end
      if type(v) ~= 'number' then
        error(('%s: the function gave %s; it must give a number'):format(fname, check.show(v)), 2)
      end
      search:tell(x, v)
    end
    if o.progress then o.progress:update(#s.y) end
    if o.callback and o.callback(search) == true then break end
    if o.target and s.y[search:_best()] <= o.target then break end
  end
  local r = search:result()
  r.state, r.search = search:state(), search
  return r
end

return M
