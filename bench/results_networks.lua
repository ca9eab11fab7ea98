-- results_networks.lua - the page's table of layers of networks and steps of training beside PyTorch.
--
-- section(ours, theirs, lost) -> text: times of both sides at all threads and, where that was measured, at one. May
-- not run anything.
local measure = require 'measure'
local M = {}

local function ratio(theirs, ours)
  if not theirs or not ours or not ours.seconds then return nil end
  local list = {}
  for i = 1, math.min(theirs.rounds and #theirs.rounds or 0, ours.rounds and #ours.rounds or 0) do
    list[i] = theirs.rounds[i] / ours.rounds[i]
  end
  return #list > 0 and measure.summary(list).median or theirs.seconds / ours.seconds
end

local OTHERS = { { '_torch', 'PyTorch' }, { '_torch_compile', 'torch.compile' }, { '_jax', 'JAX' } }

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

--- The section of the page, or nil when nothing was measured. Cases in which a peer is faster are added to `lost`.
function M.section(ours, theirs, lost)
  local us, them, lines, singles, by_processor = {}, {}, {}, false, false
  for _, r in ipairs(theirs) do if r.seconds then them[r.name] = r end end
  for _, r in ipairs(ours) do
    us[r.name] = r
    if r.family == 'networks' then
      singles, by_processor = singles or r.name:find '_t1$' ~= nil, by_processor or r.clock == 'processor'
    end
  end
  local function cell(q) return q and ('%.2f'):format(q) or '' end
  for _, r in ipairs(ours) do
    if r.family == 'networks' and r.seconds and not r.name:find '_t1$' then
      local base = r.name:gsub('_hand$', '')
      local line, torch = { r.op, r.shape, measure.time(r.seconds) }, them[base .. '_torch']
      line[#line + 1] = torch and measure.time(torch.seconds) or ''
      for _, p in ipairs(OTHERS) do
        local q = ratio(them[base .. p[1]], r)
        line[#line + 1] = cell(q)
        if p[1] == '_torch' and singles then
          line[#line + 1] = cell(ratio(them[base .. '_t1_torch'], us[r.name .. '_t1']))
        end
        if q and q < 1 then
          lost[#lost + 1] = { '`' .. r.name .. '`', p[2], measure.time(r.seconds),
            measure.time(them[base .. p[1]].seconds), ('%.2fx'):format(q) }
        end
      end
      line[#line + 1] = cell(r.share)
      lines[#lines + 1] = '| ' .. table.concat(line, ' | ') .. ' |'
    end
  end
  if #lines == 0 then return nil end
  return 'Compiled functions here, PyTorch eager there, f32, the same shapes and threads. "Derivatives" are those '
    .. 'alone, "and derivatives" the result with them; "apart" are functions of their own, one after the other. Ratios '
    .. 'are theirs over ours; "passes" is one call of cblas, then a loop with erff of libm.'
    .. (by_processor and ' Times are those of the processor, since other work ran beside it.' or '') .. '\n\n'
    .. ('| what | shape | ours | PyTorch | ratio |%s torch.compile | JAX | passes |\n'
      .. '|---|---|---|---|---|%s---|---|---|\n'):format(
        singles and ' ratio at one thread |' or '', singles and '---|' or '')
    .. table.concat(lines, '\n') .. processes(ours, them)
end

return M
