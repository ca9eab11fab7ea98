-- result.lua - a fit: its numbers, predictions, bands, intervals and its report.
--
-- Holds the fields and methods of what curve_fit gives. Runs no first fit; profiles refit through the solver it is
-- given.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local difference = require 'mascon.optim.fit.least_squares.difference'
local statistics = require 'mascon.optim.fit.curve_fit.statistics'
local profile = require 'mascon.optim.fit.curve_fit.profile'
local label = require 'mascon.optim.fit.curve_fit.parameters'.label
local error = check.error
local F = op.functions
local M = {}

local INF, sqrt = math.huge, math.sqrt

---@class mascon.Fit
local Fit = {}
M.Fit = Fit

--- Residuals of a fused fit are computed when somebody asks: the passes kept none.
function Fit.__index(self, key)
  if key ~= 'residuals' then return Fit[key] end
  local r = self._data:residuals(self._free)
  self.residuals = r
  return r
end

--- Slopes of the tied parameter `key` in the free ones, by central differences.
local function tie_slopes(par, free, key)
  local function tie(v) return op.from_table { par:table(v)[key] } end
  local rows, slopes = difference.rows(tie, free, tie(free), par.low, par.high, '3-point', {}), {}
  for k = 1, #rows do slopes[k] = rows[k]:item() end
  return slopes
end

--- Takes another covariance of the free parameters: of noise that is not what sigma says, correlated say. Standard
--- errors, also those of tied parameters, correlations and bands follow; profiles rise as the variances do.
---
---   C: number[][] in the order of `free`; infinite on the diagonal for what is not determined
---   how: what it is made of, for the report
---   rise: by parameter, the variance over that of the noise the fit took (1)
---@param C number[][]
---@param how? string
---@param rise? number[]
function Fit:set_covariance(C, how, rise)
  local par, n = self._data.parameters, #self.free
  self._C, self._how, self._rise = C, how, rise or self._rise
  self.covariance, self.correlation = op.from_table(C), op.from_table(statistics.correlation(C))
  for i, key in ipairs(par.free) do self.stderr[key] = sqrt(C[i][i]) end
  for key in pairs(par.tied) do
    local slopes, v = tie_slopes(par, self._free, key), 0
    for i = 1, n do
      for j = 1, n do if slopes[i] ~= 0 and slopes[j] ~= 0 then v = v + slopes[i] * C[i][j] * slopes[j] end end
    end
    self.stderr[key] = sqrt(v)
  end
  for key in pairs(par.fixed) do self.stderr[key] = 0 end
end

--- The result of a solved fit.
---@param data mascon.FitData
---@param solved table of least_squares.solve
---@param point table
---@param small mascon.Reduced|nil
---@param o table options of curve_fit
---@param refit fun(data, parameters): table, table
function M.new(data, solved, point, small, o, refit)
  local par, free = data.parameters, point.x
  local n, k = data.rows, #free
  local self = setmetatable({
    p = par:table(free), keys = par.keys, free = par.free, x = solved.x, n = n, dof = n - k, cost = solved.cost,
    chi2 = point.squares, active_mask = solved.active_mask, optimality = solved.optimality, nfev = solved.nfev,
    njev = solved.njev, nit = solved.nit, status = solved.status, message = solved.message, success = solved.success,
    method = solved.method,
    absolute_sigma = o.absolute_sigma, derivatives = type(data.jac) == 'function' and 'function' or data.jac,
    _data = data, _refit = refit, _free = free,
  }, Fit)
  self.reduced_chi2 = self.dof > 0 and self.chi2 / self.dof or INF
  self.aic, self.bic = statistics.criteria(self.chi2, n, k)
  if not data.fused then self.residuals = data:residuals(free) end
  local C, missing
  if small then
    C, missing, self._rise = statistics.covariance(small, n, difference.NOISE[data.jac] or 0,
      data.loss and data:robust(point))
    self.variance = o.absolute_sigma and 1 or self.dof > 0 and 2 * solved.cost / self.dof or INF
    -- the covariance under a loss is made of residuals, smaller than errors by the numbers that were fitted
    self._factor = not data.loss and self.variance or self.dof > 0 and n / self.dof or INF
    C = statistics.scaled(C, self._factor)
  end
  self.stderr = {}
  if C then
    self.rank = k - missing
    self:set_covariance(C)
    if missing > 0 then
      local lost = {}
      for i, key in ipairs(par.free) do if C[i][i] == INF then lost[#lost + 1] = label(key) end end
      self.note = ('the data leave %d combination%s of %s undetermined'):format(missing, missing > 1 and 's' or '',
        table.concat(lost, ', '))
    end
  end
  return self
end

-- ---------------------------------------------------------------- predictions

--- The model at x with the fitted parameters.
---     local fit = mc.optim.curve_fit(function(x, p) return p.a * x end, { 1, 2 }, { 2, 4 }, { p0 = { a = 1 } })
---     fit:predict(mc.tensor { 10 }):round()  --> f64[1]@cpu { 20 }
---@param x any what the model takes
---@return mc.tensor
function Fit:predict(x) return (self._data:model_at(x, self._free, false)) end

local LEVEL = { level = { 0.95, 'number > 0' }, prediction = { false, 'bool' } }

local function check_level(fname, o)
  if not (o.level < 1) then
    error(('%s: option level is %g; give a share below 1, 0.95 say'):format(fname, o.level), 3)
  end
end

--- Quantile of the size of a standardised error.
local function quantile(self, level)
  local stats = require 'mascon.stats'
  local p = 0.5 + 0.5 * level
  local q = self.absolute_sigma and stats.norm.ppf(p) or stats.t.ppf(p, self.dof)
  return tensor.is(q) and q:item() or q
end

--- Confidence band of the model at x: value, low, high, std, tensors like the model's values.
---
---   x: what the model takes; level (0.95): share of the curves inside, pointwise, to first order in the parameters;
---   prediction (false): with the noise of one more observation (of weight 1), for a band of data instead of curves
---@return { value: mc.tensor, low: mc.tensor, high: mc.tensor, std: mc.tensor }
function Fit:band(x, opts)
  local o = check.opts('curve_fit.band', opts, LEVEL, 3)
  check_level('curve_fit.band', o)
  if not self._C then error('curve_fit.band: the fit has no covariance; look at its message', 2) end
  for i, key in ipairs(self.free) do
    if self._C[i][i] == INF then error(('curve_fit.band: %s is undetermined; fix it'):format(label(key)), 2) end
  end
  local y, rows = self._data:model_at(x, self._free, true)
  local J = rows:reshape { #self.free, -1 }
  local variance = F.sum(J * F.matmul(self.covariance, J), 1)
  if o.prediction then variance = variance + self.variance end
  local std = F.sqrt(F.maximum(variance, 0)):reshape(y.shape)
  local q = quantile(self, o.level)
  return { value = y, low = y - std * q, high = y + std * q, std = std }
end

-- ---------------------------------------------------------------- intervals

--- Interval of a parameter by profile likelihood: the values for which the best fit of all others raises the sum of
--- squares by less than the level allows; not symmetric, and right where the standard error is not.
---
---   key: a free parameter, by name or position; level (0.95)
---   result: low, high, and closed = { low, high }: false where a bound came first (or the sum of squares stays below
---   the level)
--- Errors: a fixed or tied parameter; a fit that leaves no degree of freedom.
--- Source: Bates and Watts, Nonlinear regression analysis and its applications, 1988, section 6.1.
---@return { low: number, high: number, level: number, closed: boolean[] }
function Fit:profile(key, opts)
  local fname = 'curve_fit.profile'
  local o = check.opts(fname, opts, { level = LEVEL.level }, 3)
  check_level(fname, o)
  local data, par = self._data, self._data.parameters
  local k = par:index(fname, key)
  if not self.absolute_sigma and self.dof < 1 then
    error(('%s: %d points and %d parameters leave no degree of freedom; give sigma with absolute_sigma'):format(fname,
      self.n, #self.free), 2)
  end
  local best, target = self._free[k], quantile(self, o.level)
  local noise = self._factor * (self._rise and self._rise[k] or 1)
  local better
  local function rise(at, others)
    local cost, x
    if #self.free == 1 then
      cost = data:with(par):at({ at }).cost
    else
      local solved, point = self._refit(data:with(par:without(k, at, others)))
      cost, x = solved.cost, point.x
    end
    if not cost then return nil end
    if cost < self.cost * (1 - 1e-6) then better = at end
    if noise == 0 then return cost > 0 and INF or 0 end
    return profile.root(2 * (cost - self.cost) / noise), x
  end
  local width = self.stderr[key] or 0
  if not (width > 0 and width < INF) then width = math.max(math.abs(best), 1) * 0.1 end
  local function side(sign, limit)
    local follow = {}
    for i = 1, #self._free do follow[i] = self._free[i] end
    return profile.side(function(c)
      local y, x = rise(c, follow)
      if y and x then -- the next refit starts where this one ended
        local j = 0
        for i = 1, #follow do
          if i ~= k then
            j = j + 1
            follow[i] = x[j]
          end
        end
      end
      return y
    end, best, sign * width * target, target, limit)
  end
  local low, low_closed = side(-1, par.low[k])
  local high, high_closed = side(1, par.high[k])
  return { low = low, high = high, level = o.level, closed = { low_closed, high_closed }, better = better }
end

-- ---------------------------------------------------------------- report

local function short(v) return ('%.6g'):format(v) end

local function state(self, key)
  local par = self._data.parameters
  if par.fixed[key] then return '(fixed)' end
  if par.tied[key] then return '(tied)' end
  for i, name in ipairs(par.free) do
    if name == key then
      local at = self.active_mask[i]:item()
      local text = at < 0 and '(at its lower bound)' or at > 0 and '(at its upper bound)' or ''
      if par.low[i] > -INF or par.high[i] < INF then
        text = text .. (' [%s, %s]'):format(short(par.low[i]), short(par.high[i]))
      end
      return text
    end
  end
end

--- The report as text: how it ended, fit quality, parameters with errors, correlations.
function Fit:report()
  local lines = {
    ('fit of %d parameter%s to %d points (%s)'):format(#self.free, #self.free == 1 and '' or 's', self.n, self.method),
    ('  %s: %s (%d evaluations)'):format(self.success and 'converged' or 'NOT CONVERGED', self.message, self.nfev),
    ('  chi2 %s   reduced chi2 %s   degrees of freedom %d   AIC %s   BIC %s'):format(short(self.chi2),
      short(self.reduced_chi2), self.dof, short(self.aic), short(self.bic)),
    ('  standard errors: %s'):format(self._how or self._data.loss
      and 'from the residuals, for any distribution (robust loss)'
      or self.absolute_sigma and 'from sigma as given' or 'scaled by the residuals'),
    '',
  }
  local wide = 0
  for _, key in ipairs(self.keys) do wide = math.max(wide, #label(key)) end
  for _, key in ipairs(self.keys) do
    local v, e = self.p[key], self.stderr[key]
    local error_text = ''
    if e and not self._data.parameters.fixed[key] then
      error_text = (' +/- %s'):format(short(e))
      if v ~= 0 and e < INF then error_text = error_text .. (' (%.2g %%)'):format(100 * math.abs(e / v)) end
    end
    lines[#lines + 1] =
      (('  %-' .. wide .. 's  %s%s  %s'):format(label(key), short(v), error_text, state(self, key)):gsub('%s+$', ''))
  end
  local pairs_of = {}
  for i = 1, #self.free do
    for j = i + 1, #self.free do
      local c = self._C and self._C[i][j] / sqrt(self._C[i][i] * self._C[j][j]) or 0
      if math.abs(c) >= M.CORRELATED then
        pairs_of[#pairs_of + 1] = { c, ('%s, %s'):format(label(self.free[i]), label(self.free[j])) }
      end
    end
  end
  table.sort(pairs_of, function(a, b)
    if math.abs(a[1]) ~= math.abs(b[1]) then return math.abs(a[1]) > math.abs(b[1]) end
    return a[2] < b[2]
  end)
  if pairs_of[1] then
    lines[#lines + 1] = ''
    lines[#lines + 1] = ('  correlations of %g and more:'):format(M.CORRELATED)
    for _, pair in ipairs(pairs_of) do lines[#lines + 1] = ('    %s  %+.3f'):format(pair[2], pair[1]) end
  end
  if self.note then
    lines[#lines + 1] = ''
    lines[#lines + 1] = '  note: ' .. self.note
  end
  return table.concat(lines, '\n')
end
Fit.__tostring = Fit.report

--- Correlations below it are left out of the report.
M.CORRELATED = 0.1

return M
