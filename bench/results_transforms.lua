-- results_transforms.lua - the page's tables of transformed functions: plain and compiled beside the peers, first
-- calls, peaks of memory.
--
-- section(ours, theirs) -> text. A ratio is the fastest peer's time / ours compiled, the median over rounds. May not
-- run anything.
local measure = require 'measure'
local M = {}

local LIBRARIES = { 'numpy', 'numexpr', 'torch', 'torch_compile', 'jax' }
local TITLE = { numpy = 'NumPy', numexpr = 'numexpr', torch = 'PyTorch',
  torch_compile = 'torch.compile', jax = 'JAX jit' }
local SAME = 1e-4 -- relative difference of checksums: sums of millions of rounded numbers

local function table_of(head, body)
  local lines = { '| ' .. table.concat(head, ' | ') .. ' |', '|' .. ('---|'):rep(#head) }
  for _, r in ipairs(body) do lines[#lines + 1] = '| ' .. table.concat(r, ' | ') .. ' |' end
  return table.concat(lines, '\n')
end

local function ratio(theirs, ours)
  local list = {}
  for i = 1, math.min(theirs.rounds and #theirs.rounds or 0, ours.rounds and #ours.rounds or 0) do
    list[i] = theirs.rounds[i] / ours.rounds[i]
  end
  return #list > 0 and measure.summary(list).median or theirs.seconds / ours.seconds
end

local function bytes(n) return n and ('%.0f MiB'):format(n / 2 ^ 20) or '' end

--- The section of the page, or nil when nothing was measured.
function M.section(ours, theirs)
  local by = {}
  for _, list in ipairs { ours, theirs } do for _, r in ipairs(list) do if r.seconds then by[r.name] = r end end end
  local times, firsts, logs, lost, wrong = {}, {}, 0, {}, {}
  for _, e in ipairs(ours) do
    local name = e.family == 'transform' and e.seconds and e.name:match '^(tr_.*)_eager$'
    local c = name and by[name .. '_compiled']
    if c then
      local line = { '`' .. e.op .. '`', e.shape, measure.time(e.seconds), measure.time(c.seconds) }
      local first = { '`' .. e.op .. '`', measure.time(c.first_call), bytes(e.tensor_peak), bytes(c.tensor_peak) }
      local best, who
      for _, p in ipairs(LIBRARIES) do
        local t = by[name .. '_' .. p]
        line[#line + 1] = t and measure.time(t.seconds) or ''
        if p ~= 'numpy' and p ~= 'numexpr' then first[#first + 1] = t and measure.time(t.first_call) or '' end
        if t then
          local q = ratio(t, c)
          if not best or q < best then best, who = q, p end
          if t.sum and c.sum and not name:find 'mlp'
            and math.abs(t.sum - c.sum) > SAME * math.max(1, math.abs(c.sum)) then
            wrong[#wrong + 1] = { '`' .. e.op .. '`', TITLE[p], ('%.9g'):format(t.sum), ('%.9g'):format(c.sum) }
          end
        end
      end
      line[#line + 1] = best and ('%.2f'):format(best) or ''
      if best then
        logs = logs + math.log(best)
        if best < 1 then lost[#lost + 1] = ('`%s` %.2f (%s)'):format(e.op, best, TITLE[who]) end
      end
      times[#times + 1], firsts[#firsts + 1] = line, first
    end
  end
  if #times == 0 then return nil end
  local parts = {
    ('The same functions plain and through mc.compile, in NumPy, numexpr, PyTorch and JAX on the same cores; warm '
      .. 'calls. The last column is the fastest peer over ours compiled: geometric mean %.2f; below 1 in %d of %d%s.')
      :format(
        math.exp(logs / #times), #lost, #times, #lost > 0 and ': ' .. table.concat(lost, ', ') or ''),
    table_of({ 'function', 'shape', 'plain', 'compiled', 'NumPy', 'numexpr', 'PyTorch', 'torch.compile', 'JAX jit',
      'against the fastest' }, times),
    'First calls, and peaks of tensor memory of the plain and the compiled call (results included):',
    table_of({ 'function', 'ours', 'peak plain', 'peak compiled', 'PyTorch', 'torch.compile', 'JAX jit' }, firsts),
  }
  local machine = {}
  for _, e in ipairs(ours) do
    local c = e.seconds and e.name:match '^tr_.*_vm$' and by[(e.name:gsub('_vm$', '_compiled'))]
    if c then
      machine[#machine + 1] = { '`' .. e.op .. '`', e.shape, measure.time(c.seconds), measure.time(e.seconds),
        ('%.2f'):format(ratio(c, e)) }
    end
  end
  if #machine > 0 then
    parts[#parts + 1] =
      'Compiled code beside the vector machine, which runs until it is there (floor 0.75 of its speed, goal 0.9):'
    parts[#parts + 1] = table_of({ 'function', 'shape', 'compiled code', 'vector machine', 'share' }, machine)
  end
  if #wrong > 0 then
    parts[#parts + 1] = 'Results that differ:\n\n' .. table_of({ 'function', 'from', 'their checksum', 'ours' }, wrong)
  end
  return table.concat(parts, '\n\n')
end

return M
