-- results_networks.lua - the page's table of layers of networks and steps of training beside PyTorch.
--
-- section(ours, theirs) -> text: times of both sides at all threads and at one. May not run anything.
local measure = require 'measure'
local M = {}

local function ratio(theirs, ours)
  if not theirs or not ours or not ours.seconds then return '' end
  local list = {}
  for i = 1, math.min(theirs.rounds and #theirs.rounds or 0, ours.rounds and #ours.rounds or 0) do
    list[i] = theirs.rounds[i] / ours.rounds[i]
  end
  return ('%.2f'):format(#list > 0 and measure.summary(list).median or theirs.seconds / ours.seconds)
end

--- The table of processes, or nothing.
local function processes(ours, them)
  local lines = {}
  local function cell(r, memory)
    if not r then return '' end
    if not memory then return ('%s, %.2f s of a processor'):format(measure.time(r.seconds), r.cpu) end
    return ('%.0f MiB (%.0f its own), %.3g M parameters'):format(r.resident / 2 ^ 20, r.own / 2 ^ 20, r.params / 1e6)
  end
  for _, r in ipairs(ours) do
    if r.family == 'networks_process' and not r.failed then
      local base = r.name:gsub('_checkpoint$', ''):gsub('_spare$', '')
      lines[#lines + 1] = ('| %s | %s | %s | %s |'):format(r.op, cell(r, r.resident),
        cell(them[base .. '_torch'], r.resident), cell(them[base .. '_torch_compile']))
    end
  end
  if #lines == 0 then return '' end
  return '\n\nProcesses of their own, one thread:\n\n| what | ours | PyTorch eager | torch.compile |\n'
    .. '|---|---|---|---|\n' .. table.concat(lines, '\n')
end

--- The section of the page, or nil when nothing was measured.
function M.section(ours, theirs)
  local us, them, lines = {}, {}, {}
  for _, r in ipairs(theirs) do if r.seconds then them[r.name] = r end end
  for _, r in ipairs(ours) do us[r.name] = r end
  for _, r in ipairs(ours) do
    if r.family == 'networks' and r.seconds and not r.name:find '_t1$' then
      local base = r.name:gsub('_hand$', '')
      local one, all, single = us[r.name .. '_t1'], them[base .. '_torch'], them[base .. '_t1_torch']
      lines[#lines + 1] = ('| %s | %s | %s | %s | %s | %s | %s | %s | %s |'):format(r.op, r.shape,
        measure.time(r.seconds), all and measure.time(all.seconds) or '', ratio(all, r), ratio(single, one),
        ratio(them[base .. '_torch_compile'], r), ratio(them[base .. '_jax'], r),
        r.share and ('%.2f'):format(r.share) or '')
    end
  end
  if #lines == 0 then return nil end
  return 'Compiled functions here, PyTorch eager there, f32, the same shapes and threads. "Derivatives" are those '
    .. 'alone, "and derivatives" the result with them; "apart" are functions of their own, one after the other. Ratios '
    .. 'are theirs over ours; "passes" is one call of cblas, then a loop with erff of libm.\n\n'
    .. '| what | shape | ours | PyTorch | ratio | ratio at one thread | torch.compile | JAX | passes |\n'
    .. '|---|---|---|---|---|---|---|---|---|\n' .. table.concat(lines, '\n') .. processes(ours, them)
end

return M
