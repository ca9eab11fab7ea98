-- fir.lua - finite impulse responses by the window method.
--
-- Holds band edges and their checks, shared with iir.lua.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local check = require 'mascon.core.check'
local window = require 'mascon.signal.window'
local F = op.functions
local M = {}

--- Cut-off frequencies in units of fs as fractions of fs/2, ascending, inside (0, 1).
function M.edges(fname, cutoff, fs, level)
  local list = cutoff
  if tensor.is(cutoff) then list = cutoff:totable() end
  if type(list) == 'number' then list = { list } end
  if type(list) ~= 'table' or #list == 0 then
    error(('%s: cutoff is %s; give a frequency or an ascending list'):format(fname, check.show(cutoff)), level)
  end
  local out = {}
  for i, f in ipairs(list) do
    if type(f) ~= 'number' or not (f > 0 and f < fs / 2) then
      error(('%s: cutoff %d is %s; it must lie between 0 and fs/2 = %g'):format(fname, i, check.show(f), fs / 2), level)
    end
    if i > 1 and f <= list[i - 1] then
      error(('%s: cutoffs %g and %g are not ascending'):format(fname, list[i - 1], f), level)
    end
    out[i] = f / (fs / 2)
  end
  return out
end

local ZERO = { bandstop = true, lowpass = true, bandpass = false, highpass = false }
local FIRWIN = {
  fs = { 2, 'number > 0' }, pass_zero = { true, 'bool | string' }, window = { 'hamming', 'any' },
  scale = { true, 'bool' }, width = { nil, 'number > 0' },
}

--- Linear-phase filter by the window method: h[k] = w[k] sum over pass bands of f2 sinc(f2 t) - f1 sinc(f1 t), t = k -
--- (numtaps - 1)/2.
---     mc.signal.firwin(3, 0.5)  --> f64[3]@cpu { 0.0462, 0.9076, 0.0462 }
---     mc.signal.firwin(65, { 8, 12 }, { fs = 250, pass_zero = false }).shape  --> {65}
---@param numtaps integer length of the filter
---@param cutoff number|table edges of the bands, unit of fs
---@param opts table|nil fs: sampling rate (2: edges are fractions of half the rate) · pass_zero: the band at 0 passes
---  (true), or
--- 'lowpass' | 'highpass' | 'bandpass' | 'bandstop' · window: name or { name, parameter } ('hamming') · scale: gain 1
--- in the middle of the first pass band, at 0 or at fs/2 when it reaches there (true) · width: transition width in
--- units of fs, chooses a Kaiser window
---@return any f64 [numtaps]
--- Errors: edges outside (0, fs/2) or not ascending; an even length for a filter that passes fs/2.
--- Source: Discrete-time signal processing, 1999, section 7.5; options as SciPy 1.17 firwin.
function M.firwin(numtaps, cutoff, opts)
  local fname = 'signal.firwin'
  check.arg(fname, 'numtaps', numtaps, 'integer >= 1', 3)
  local o = check.opts(fname, opts, FIRWIN, 3)
  local edges = M.edges(fname, cutoff, o.fs, 3)
  local zero = o.pass_zero
  if type(zero) == 'string' then
    if ZERO[zero] == nil then
      error(('%s: pass_zero is %s; choose true, false, lowpass, highpass, bandpass or bandstop'):format(fname,
        check.show(zero)), 2)
    end
    local single = zero == 'lowpass' or zero == 'highpass'
    if single and #edges ~= 1 or not single and #edges < 2 then
      error(
        ('%s: %s takes %s, %d given'):format(fname, zero, single and 'one cutoff' or 'at least two cutoffs', #edges), 2)
    end
    zero = ZERO[zero]
  end
  local pass_end = (#edges % 2 == 1) ~= zero
  if pass_end and numtaps % 2 == 0 then
    error(('%s: %d taps force a zero at fs/2, which this filter passes; use an odd number'):format(fname, numtaps), 2)
  end
  local bands = {}
  if zero then table.insert(edges, 1, 0) end
  if pass_end then edges[#edges + 1] = 1 end
  for i = 1, #edges, 2 do bands[#bands + 1] = { edges[i], edges[i + 1] } end
  local t = create.arange(0, numtaps - 1) - (numtaps - 1) / 2
  local at_zero = F.eq(t, 0)
  local safe = F.where(at_zero, 1, t) * math.pi
  local h = create.zeros { numtaps }
  for _, b in ipairs(bands) do
    h = h + F.where(at_zero, b[2] - b[1], (F.sin(safe * b[2]) - F.sin(safe * b[1])) / safe)
  end
  local shape = o.window
  if o.width then
    local a = 2.285 * (numtaps - 1) * math.pi * (o.width / (o.fs / 2)) + 7.95
    shape = { 'kaiser', window.kaiser_beta(a) }
  end
  h = h * window.build(fname, shape, numtaps, true, 3)
  if o.scale then
    local b = bands[1]
    local f = b[1] == 0 and 0 or b[2] == 1 and 1 or 0.5 * (b[1] + b[2])
    h = h / F.sum(h * F.cos(t * (math.pi * f))):item()
  end
  return h
end

return M
