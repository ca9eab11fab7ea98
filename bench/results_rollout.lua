-- results_rollout.lua - the page's table of steps of neural operators and features of states beside PyTorch.
--
-- section(ours, theirs) -> text: times at all threads, and ratios at all and at one. May not run anything.
local measure = require 'measure'
local M = {}

local function ratio(theirs, ours)
  return theirs and ours and ('%.2f'):format(theirs.seconds / ours.seconds) or ''
end

--- The section of the page, or nil when nothing was measured.
function M.section(ours, theirs)
  local us, them, lines, parts = {}, {}, {}, {}
  for _, r in ipairs(theirs) do if r.seconds then them[r.name] = r end end
  for _, r in ipairs(ours) do if r.seconds then us[r.name] = r end end
  for _, r in ipairs(ours) do
    if r.seconds and not r.name:find '_t1$' then
      local one = us[r.name .. '_t1']
      if r.family == 'rollout' then
        lines[#lines + 1] = ('| %s | %s | %s | %s | %s | %s | %s |'):format(r.op, r.shape, measure.time(r.seconds),
          ratio(them[r.name .. '_torch'], r), ratio(them[r.name .. '_compiled_torch'], r),
          ratio(them[r.name .. '_t1_torch'], one), ratio(them[r.name .. '_compiled_t1_torch'], one))
      elseif r.family == 'rollout_ablation' then
        parts[#parts + 1] = ('| %s | %s | %s |'):format(r.op, measure.time(r.seconds),
          one and measure.time(one.seconds) or '')
      end
    end
  end
  if #lines == 0 then return nil end
  local text = 'One application of an operator to all its realisations, and the features of a short trajectory, f32. '
    .. 'The ratio is the time of PyTorch, which writes no file, over ours, eager and torch.compile.\n\n'
    .. '| what | shape | ours | eager | compiled | eager, one thread | compiled, one thread |\n'
    .. '|---|---|---|---|---|---|---|\n'
    .. table.concat(lines, '\n')
  if #parts == 0 then return text end
  return text .. '\n\nWhat the parts of a step gain, 3 layers, 32 channels, 5 x 5, 3 realisations:\n\n'
    .. '| step | time | one thread |\n|---|---|---|\n' .. table.concat(parts, '\n')
end

return M
