-- window.lua - tapering windows under SciPy's names.
--
-- Holds their formulas and parameters. Symmetric windows (sym = true, for filters) run from edge to edge; periodic ones
-- (for spectra) are the first n points of the symmetric window of n + 1.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local check = require 'mascon.core.check'
local methods, F = tensor.methods, op.functions
local M = {}

local ONE = { sym = { true, 'bool' } }

--- a_0 + a_1 cos(k) + a_2 cos(2 k) ... on k from -pi to pi.
local function cosines(m, a)
  local k = create.linspace(-math.pi, math.pi, m)
  local w = create.full({ m }, a[1])
  for i = 2, #a do w = w + F.cos(k * (i - 1)) * a[i] end
  return w
end

local function sum_of(a) return function(m) return cosines(m, a) end end

--- Modified Bessel function I_0 by its power series; terms until they no longer count for the largest argument.
local function bessel_i0(x)
  local q = F.square(x) * 0.25
  local most = q:max():item()
  local term, sum, top, total = create.ones_like(x), create.ones_like(x), 1, 1
  for k = 1, 2000 do
    term = term * q / (k * k)
    sum = sum + term
    top = top * most / (k * k)
    total = total + top
    if top < total * 1e-18 then break end
  end
  return sum
end

-- name -> f(m, parameter): the symmetric window of m >= 2 points
local SHAPES = {
  boxcar = function(m) return create.ones { m } end,
  hann = sum_of { 0.5, 0.5 },
  hamming = sum_of { 0.54, 0.46 },
  blackman = sum_of { 0.42, 0.5, 0.08 },
  nuttall = sum_of { 0.3635819, 0.4891775, 0.1365995, 0.0106411 },
  blackmanharris = sum_of { 0.35875, 0.48829, 0.14128, 0.01168 },
  flattop = sum_of { 0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368 },
  bartlett = function(m)
    local up = create.arange(0, m - 1) * (2 / (m - 1))
    return F.minimum(up, 2 - up)
  end,
  cosine = function(m) return F.sin((create.arange(0, m - 1) + 0.5) * (math.pi / m)) end,
  bohman = function(m)
    local d = F.abs(create.linspace(-1, 1, m))
    local w = (1 - d) * F.cos(d * math.pi) + F.sin(d * math.pi) / math.pi
    w[1], w[m] = 0, 0
    return w
  end,
  kaiser = function(m, beta)
    local t = create.arange(0, m - 1) * (2 / (m - 1)) - 1
    return bessel_i0(F.sqrt(F.maximum(1 - F.square(t), 0)) * beta) / bessel_i0(create.full({ 1 }, beta))
  end,
  gaussian = function(m, std)
    local t = (create.arange(0, m - 1) - (m - 1) / 2) / std
    return F.exp(F.square(t) * -0.5)
  end,
  tukey = function(m, alpha)
    if alpha <= 0 then return create.ones { m } end
    local k = create.arange(0, m - 1)
    local from_edge = F.minimum(k, (m - 1) - k)
    local taper = (1 - F.cos(from_edge * (2 * math.pi / (math.min(alpha, 1) * (m - 1))))) * 0.5
    local width = math.floor(math.min(alpha, 1) * (m - 1) / 2)
    return F.where(F.le(from_edge, width), taper, 1)
  end,
}
local PARAMETER = { kaiser = { 'beta' }, gaussian = { 'std' }, tukey = { 'alpha', 0.5 } }
local ALIAS = { hanning = 'hann', rectangular = 'boxcar', rect = 'boxcar', ones = 'boxcar', box = 'boxcar',
  gauss = 'gaussian', triangle = 'bartlett' }

local function make(fname, name, n, parameter, sym, level)
  check.arg(fname, 'n', n, 'integer >= 0', level + 1)
  local p = PARAMETER[name]
  if p then
    parameter = parameter == nil and p[2] or parameter
    if type(parameter) ~= 'number' or (name ~= 'tukey' and not (parameter >= 0))
      or (name == 'gaussian' and parameter <= 0) then
      error(('%s: %s of the %s window is %s; give a number'):format(fname, p[1], name, check.show(parameter)), level)
    end
  elseif parameter ~= nil then
    error(('%s: the %s window takes no parameter, got %s'):format(fname, name, check.show(parameter)), level)
  end
  if n < 2 then return create.ones { n } end
  local m = sym and n or n + 1
  local w = SHAPES[name](m, parameter)
  return sym and w or methods.copy(w[{ { 1, n } }])
end

--- Window of a name, for spectra periodic by default.
---     mc.signal.get_window('hann', 4)  --> f64[4]@cpu { 0.0000, 0.5000, 1.0000, 0.5000 }
---@param name string|table name, or { 'kaiser', beta }, { 'gaussian', std }, { 'tukey', alpha }
---@param n integer points
---@param opts table|nil sym: symmetric instead of periodic (false)
---@return any f64 [n]
--- Errors: unknown name, missing parameter. Source: SciPy 1.17 signal.windows; coefficients of Nuttall, Some windows
--- with very good sidelobe behavior, 1981, and Harris, On the use of windows for harmonic analysis, 1978.
function M.get_window(name, n, opts)
  local o = check.opts('signal.get_window', opts, { sym = { false, 'bool' } }, 3)
  return M.build('signal.get_window', name, n, o.sym, 3)
end

--- The same for callers inside mc.signal: `fname` and `level` of whom to blame. A tensor of n values passes as it is.
function M.build(fname, name, n, sym, level)
  if tensor.is(name) then
    if name.ndim ~= 1 or name.shape[1] ~= n then
      error(('%s: the window is %s; it must have %d values'):format(fname, tensor.describe(name), n), level)
    end
    return methods.to(name, 'f64')
  end
  local parameter
  if type(name) == 'table' then name, parameter = name[1], name[2] end
  if type(name) ~= 'string' then
    error(('%s: window is %s; give a name or { name, parameter }'):format(fname, check.show(name)), level)
  end
  local known = ALIAS[name] or name
  if not SHAPES[known] then
    local near = check.nearest(name, SHAPES)
    error(('%s: window %s is unknown; choose %s%s'):format(fname, check.show(name), check.names(SHAPES),
      near and (' (did you mean %q?)'):format(near) or ''), level)
  end
  return make(fname, known, n, parameter, sym, level + 1)
end

--- A tapering window of n points: window(n), and window(n, parameter) for those with one (beta of kaiser, standard
--- deviation of gaussian, tapered fraction of tukey). Option sym (true): from edge to edge, for filters; false: the
--- first n points of the window of n + 1, for spectra. Result: f64 [n]. Source: the formulas of SciPy signal.windows,
--- which stand above as written.
---     mc.signal.hann(5)  --> f64[5]@cpu { 0.0000, 0.5000, 1.0000, 0.5000, 0.0000 }
---     mc.signal.bartlett(4, { sym = false })  --> f64[4]@cpu { 0.0000, 0.5000, 1.0000, 0.5000 }
for name in pairs(SHAPES) do
  local fname = 'signal.' .. name
  if PARAMETER[name] then
    M[name] = function(n, parameter, opts)
      local o = check.opts(fname, opts, ONE, 3)
      return (make(fname, name, n, parameter, o.sym, 3))
    end
  else
    M[name] = function(n, opts)
      local o = check.opts(fname, opts, ONE, 3)
      return (make(fname, name, n, nil, o.sym, 3))
    end
  end
end

--- Kaiser beta that attenuates by `a` dB (Kaiser and Schafer, On the use of the I0-sinh window, 1980).
---     mc.signal.kaiser_beta(60)  --> 5.65326
function M.kaiser_beta(a)
  check.arg('signal.kaiser_beta', 'a', a, 'number', 3)
  if a > 50 then return 0.1102 * (a - 8.7) end
  if a > 21 then return 0.5842 * (a - 21) ^ 0.4 + 0.07886 * (a - 21) end
  return 0
end

--- Taps and Kaiser beta for a ripple in dB and a transition width as a fraction of half the sampling rate.
---@return integer numtaps
---@return number beta
function M.kaiserord(ripple, width)
  check.arg('signal.kaiserord', 'ripple', ripple, 'number', 3)
  check.arg('signal.kaiserord', 'width', width, 'number > 0', 3)
  local a = math.abs(ripple)
  if a < 8 then
    error('signal.kaiserord: ripple of ' .. a .. ' dB is too small for the formula; ask for 8 dB or more', 2)
  end
  return math.ceil((a - 7.95) / 2.285 / (math.pi * width) + 1), M.kaiser_beta(a)
end

return M
