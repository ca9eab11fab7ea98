-- steady.lua - how much of a phase is left after shifts, and what that means for surrogates made by shifts.
--
-- Shifted surrogates take the phase of another time. Where the phase of a rhythm is as steady as a clock's, that is the
-- same phase but for a constant, and the surrogates are coupled as the data are.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local filters = require 'workflows.pac.filters'
local M = {}

-- samples that are looked at; the share from which on surrogates hold the coupling, and by how much it must exceed what
-- noise of the same band gives
local MOST, SHARE, ABOVE = 2 ^ 16, 0.5, 3

--- Share of the phase that is left after a circular shift: the root mean square, over all shifts L, of
--- |mean over t of exp(i (phi(t + L) - phi(t)))|. 1 for a sine; for noise of bandwidth B in a recording of length T
--- about 1 / sqrt(B T).
---
--- By Parseval's theorem the root of the sum of squares of the normalised power spectrum of exp(i phi).
---     mc.pac.steady.share(mc.sin(mc.arange(2048) * 0.05), { 2, 6 }, 512)[1]:item() > 0.7  --> true
---@param x any samples [T] or rows [R, T]
---@param band number[] {lo, hi} Hz
---@param fs number Hz
---@return any f64 [R]
function M.share(x, band, fs)
  check.arg('pac.steady.share', 'x', x, 'tensor', 3)
  check.arg('pac.steady.share', 'band', band, 'table', 3)
  check.arg('pac.steady.share', 'fs', fs, 'number > 0', 3)
  local z = filters.unfused(x:to('f64'):reshape(-1, x.shape[x.ndim]), band, { fs = fs, cycles = 3 })
  local power = mc.square(mc.abs(mc.fft.fft(z / mc.abs(z))))
  return mc.sqrt(mc.sum(mc.square(power / mc.sum(power, 2, { keepdim = true })), 2))
end

--- A sentence on the channels whose pair of largest coupling has a steady phase; nil where none has, or surrogates are
--- not made by shifts.
---@param plan table of pac.plan
---@param source table
---@param r table result with a first axis of channels
---@return string|nil
function M.note(plan, source, r)
  local kind = plan.options.surrogate
  if not r.p or kind == 'swap_trials' or kind == 'none' then return nil end
  local T = math.min(source.T, MOST)
  local value = r.pac.ndim == 4 and r.pac:mean(2) or r.pac
  local pha, found, worst = r.pha_bands_hz:totable(), {}, nil
  for c = 1, source.C do
    mc.scope(function()
      local cells = value[c]:reshape(-1)
      if not mc.all(mc.isfinite(cells)) then return end
      local p = math.floor((mc.argmax(cells):item() - 1) / value.shape[3]) + 1
      local x = source.span and source:span({ c }, 1, T) or source:read(c, c):reshape(-1, source.T)[{ 1, { 1, T } }]
      local share = M.share(x, pha[p], source.fs)[1]:item()
      if share > SHARE and share > ABOVE / math.sqrt((pha[p][2] - pha[p][1]) * T / source.fs) then
        found[#found + 1] = source.names[c]
        if not worst or share > worst.share then worst = { share = share, band = pha[p] } end
      end
    end)
  end
  if #found == 0 then return nil end
  local list = table.concat(found, ', ', 1, math.min(#found, 8))
  if #found > 8 then list = ('%s, %d more'):format(list, #found - 8) end
  return ('the phase of largest coupling is that of a steady rhythm in %d of %d channels (%s): %.2f of it is left '
    .. 'after any shift, at %g-%g Hz. Surrogates made by shifts hold that coupling too, so z near 0 and a large p do '
    .. 'not speak against it. Segments that begin at no fixed phase and --surrogate swap_trials test it'):format(#found,
      source.C, list, worst.share, worst.band[1], worst.band[2])
end

return M
