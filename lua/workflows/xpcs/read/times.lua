-- times.lua - the times of the rows of an .npz as one grid of equal steps, which the integrals of the model need.
--
-- Takes what the file holds, as a list or as meshgrid makes it; says where it is no such grid. Reads no file.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

local OFF = 0.01 -- of a step, by which a time may lie beside the grid: lists are often rounded

--- The largest gap of rising times: its place and the step.
local function widest(t)
  local list, place, most = t:totable(), 1, 0
  for k = 1, #list - 1 do
    if list[k + 1] - list[k] > most then place, most = k, list[k + 1] - list[k] end
  end
  return list[place], list[place + 1], most
end

--- Times f64 [n] and their step; raises where they are not finite, do not rise, begin before 0 or are unequally spaced.
---@param path string for messages
---@param t mc.tensor [n] or [n, n]
---@param n integer rows of the matrices
---@return mc.tensor times, number step
function M.grid(path, t, n)
  t = t:to 'f64'
  if t.ndim == 2 then
    local down = t.shape[1] > 1 and t[{ 1, 1 }]:item() ~= t[{ 2, 1 }]:item()
    t = down and t[{ mc.all, 1 }] or t[1]
  end
  t = t:reshape(-1):contiguous()
  if t.shape[1] ~= n then error(('xpcs: %s: there are %d times and %d rows'):format(path, t.shape[1], n), 4) end
  if not mc.all(mc.isfinite(t)) then
    local bad = n - mc.sum(mc.isfinite(t):to 'f64'):item()
    error(('xpcs: %s: %d of its %d times are not finite'):format(path, bad, n), 4)
  end
  if n < 2 then return t, 0 / 0 end
  local first, second = t[1]:item(), t[2]:item()
  local step = (t[n]:item() - first) / (n - 1)
  if not (step > 0) then
    error(('xpcs: %s: its times run from %g to %g s; they must rise'):format(path, first, t[n]:item()), 4)
  end
  if first < 0 then error(('xpcs: %s: its times begin at %g s; the first one is 0 or later'):format(path, first), 4) end
  local off = mc.max(mc.abs(t - (mc.arange(0, n - 1) * step + first))):item() / step
  if off > OFF then
    local a, b, most = widest(t)
    error(('xpcs: %s: its times are not equally spaced: the mean step is %g s and from %g to %g s it is %g. The model '
      .. 'integrates over equal steps: give a frame that was lost a row and a column of NaN, or fit a range of frames '
      .. 'without a gap'):format(path, step, a, b, most), 4)
  end
  return t, math.abs(second - first - step) <= 1e-9 * step and second - first or step
end

return M
