-- results_optim.lua - the page's table of minimisers, roots, integrals and differential equations.
--
-- section(ours, theirs) -> text: time and evaluations of both sides and the value reached. May not run anything.
local measure = require 'measure'
local M = {}

local function ratio(theirs, ours)
  local list = {}
  for i = 1, math.min(theirs.rounds and #theirs.rounds or 0, ours.rounds and #ours.rounds or 0) do
    list[i] = theirs.rounds[i] / ours.rounds[i]
  end
  return #list > 0 and measure.summary(list).median or theirs.seconds / ours.seconds
end

--- The section of the page, or nil when nothing was measured.
function M.section(ours, theirs)
  local by, lines = {}, {}
  for _, r in ipairs(theirs) do if r.seconds then by[r.name] = r end end
  for _, r in ipairs(ours) do
    if r.family == 'optim' and r.seconds then
      local base = r.name:gsub('_compiled$', '')
      local t = by[base .. '_scipy'] or by[base .. '_torch'] or by[base .. '_numpyro']
      lines[#lines + 1] = ('| %s | %s | %s | %s | %s | %s | %s | %s | %s |'):format(r.op, measure.time(r.seconds),
        r.nfev and ('%d'):format(r.nfev) or '', r.fun and ('%.6g'):format(r.fun) or '',
        t and measure.time(t.seconds) or '', t and t.nfev and ('%d'):format(t.nfev) or '',
        t and t.fun and ('%.6g'):format(t.fun) or '', t and ('%.2f'):format(ratio(t, r)) or '',
        t and t.cpu and r.cpu and ('%.2f'):format(t.cpu / r.cpu) or '')
    end
  end
  if #lines == 0 then return nil end
  return 'The same problems from the same starts in SciPy (the training step: PyTorch); the function itself is Lua '
    .. 'tensors here, NumPy there. Evaluations count every call of f, also for '
    .. 'differences. Ratios are theirs over ours, of the time and of the least processor time.\n\n| problem '
    .. '| ours | evaluations | value | theirs | evaluations | value | ratio | of processor time |\n'
    .. '|---|---|---|---|---|---|---|---|---|\n' .. table.concat(lines, '\n')
end

return M
