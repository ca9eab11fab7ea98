-- rows.lua - rows of benches on disk: writing, reading, comparing; the facts of the machine that every row carries.
--
-- One JSON object per line. Two rows are compared when name, threads, processor and kernels agree: numbers of
-- different machines say nothing about our code. A loss counts when the fast tenth of the new run is more than 5 %
-- behind the slow tenth of the old one.
local mc = require 'mascon'
local M = {}

local LOSS = 1.05

local function shell(command)
  local pipe = io.popen(command .. ' 2>/dev/null')
  local text = pipe and pipe:read '*l'
  if pipe then pipe:close() end
  return text ~= '' and text or nil
end

--- Processor, kernels, version, commit ("+" when sources were changed since).
function M.machine()
  local info = mc.info()
  local commit = shell 'git rev-parse --short HEAD' or 'unknown'
  if shell 'git status --porcelain -- runtime kernels bindings lua Makefile' then commit = commit .. '+' end
  return { machine = ('%s, %d cores'):format(info.processor, info.cores), isa = info.isa,
    version = info.version, commit = commit }
end

--- Load of the machine over the last minute.
function M.load()
  return tonumber((mc.file.read '/proc/loadavg' or ''):match '^[%d.]+') or 0
end

function M.save(path, list)
  local out = {}
  for i, r in ipairs(list) do out[i] = mc.json.encode(r) end
  local ok, why = mc.file.write(path, table.concat(out, '\n') .. '\n')
  if not ok then error('bench: ' .. why, 0) end
end

--- The rows of a file, or nil and why not.
function M.load_rows(path)
  local text, why = mc.file.read(path)
  if not text then return nil, why end
  local list = {}
  for line in text:gmatch '[^\n]+' do
    local row, wrong = mc.json.decode(line)
    if type(row) ~= 'table' then return nil, ('%s: line %d is no row: %s'):format(path, #list + 1, tostring(wrong)) end
    list[#list + 1] = row
  end
  return list
end

--- Compares rows with those of a file: number of losses and a text.
function M.compare(path, now)
  local old, why = M.load_rows(path)
  if not old then return 1, 'compare: ' .. why end
  local by, lines = {}, {}
  for _, r in ipairs(old) do by[r.name .. '/' .. r.threads] = r end
  local losses, same, gains, elsewhere = 0, 0, 0, 0
  for _, r in ipairs(now) do
    local b = by[r.name .. '/' .. r.threads]
    if b and b.seconds and r.seconds then
      if b.machine ~= r.machine or b.isa ~= r.isa then
        elsewhere = elsewhere + 1
      elseif r.p10 > LOSS * b.p90 then
        losses = losses + 1
        lines[#lines + 1] = ('  LOSS  %-34s %.2f times the time it took (p10 %.3g s against p90 %.3g s)'):format(r.name,
          r.seconds / b.seconds, r.p10, b.p90)
      elseif b.p10 > LOSS * r.p90 then
        gains = gains + 1
        lines[#lines + 1] = ('  gain  %-34s %.2f times the time it took'):format(r.name, r.seconds / b.seconds)
      else
        same = same + 1
      end
    end
  end
  table.insert(lines, 1, ('compared with %s: %d as before, %d faster, %d slower%s'):format(path, same, gains, losses,
    elsewhere > 0 and (', %d rows of another machine left out'):format(elsewhere) or ''))
  return losses, table.concat(lines, '\n')
end

--- Rows beside those of a file, by the times of their fast tenths, which load disturbs least: a text.
function M.report(path, now)
  local old, why = M.load_rows(path)
  if not old then return 'no rows to compare with: ' .. why end
  local by, lines, elsewhere = {}, {}, false
  for _, r in ipairs(old) do by[r.name .. '/' .. r.threads] = r end
  for _, r in ipairs(now) do
    local b = by[r.name .. '/' .. r.threads]
    if b and b.p10 and r.p10 then
      local other = b.machine ~= r.machine or b.isa ~= r.isa
      elsewhere = elsewhere or other
      lines[#lines + 1] = ('  %-40s %5.2f of the stored time%s'):format(r.name, r.p10 / b.p10, other and ' *' or '')
    end
  end
  table.insert(lines, 1, ('times beside %s (load %.1f), which decide nothing:'):format(path, M.load()))
  if elsewhere then lines[#lines + 1] = '  * stored on another machine' end
  return table.concat(lines, '\n')
end

return M
