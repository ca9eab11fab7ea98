-- measure.lua - how a case is timed and what its row holds.
--
-- A case gives `run(n)`, which does the work n times, and may give `limit(n)`, the machine's own way of doing the same
-- work. Both are timed in turn, so that a change of the machine's mood meets both; the share is the median over pairs
-- of limit time / our time. Holds warm-up, number of repetitions, medians and percentiles, the row.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local C = lib.C
local M = {}

M.LEAST = 0.3 -- seconds that each side is timed for
local SAMPLE = 5e-3 -- seconds one sample should last: the clock and a thread's wake-up vanish in it
local FEW, MANY = 3, 9 -- samples of slow (above 1 s) and of other cases
local WARM = 0.03 -- seconds each side runs untimed after a rest: until the scheduler has parted its threads

local function sorted(times)
  local s = {}
  for i, t in ipairs(times) do s[i] = t end
  table.sort(s)
  return s
end

--- Median, p10, p90 of a list.
function M.summary(times)
  local s = sorted(times)
  local n = #s
  local mid = n % 2 == 1 and s[(n + 1) / 2] or (s[n / 2] + s[n / 2 + 1]) / 2
  return { median = mid, p10 = s[math.floor((n - 1) * 0.1) + 1], p90 = s[n - math.floor((n - 1) * 0.1)], runs = n }
end

--- Monotonic seconds.
function M.clock() return C.mc_clock() end

-- what samples are timed by; of the process with all its threads where it is os.clock (run.lua --clock)
M.timed = M.clock

local function once(f, n)
  local t = M.timed()
  f(n)
  return (M.timed() - t) / n
end

--- Repetitions per sample, found by doubling; the doubling is the warm-up. first: seconds of a run that was made
--- before.
local function repetitions(f, first)
  local n = 1
  while true do
    local t = first or once(f, n)
    first = nil
    if t * n >= SAMPLE then return n end
    n = t * n < SAMPLE / 16 and n * 8 or math.max(n + 1, math.ceil(SAMPLE / t * 1.2))
  end
end

--- Times `run`, and `limit` in turn with it, until both had `least` seconds and enough samples. rest: seconds of sleep
--- between the two, for neighbours whose threads spin on after their work; an untimed warm-up follows it. first:
--- seconds of a warm-up run that was made before.
---@return table ours summary, table|nil limit summary, number|nil share
function M.pairs_of(run, limit, least, rest, first, samples)
  local n = repetitions(run, first)
  local m = limit and repetitions(limit)
  local function ready(f)
    if not rest then return end
    require('limits').pause(rest)
    local t = C.mc_clock()
    repeat f(1) until C.mc_clock() - t > WARM
  end
  local ours, theirs, share, spent, wall = {}, {}, {}, 0, C.mc_clock()
  local k = 0
  repeat
    k = k + 1
    local t, u
    if limit and k % 2 == 0 then
      ready(limit)
      u = once(limit, m)
    end
    ready(run)
    t = once(run, n)
    if limit and k % 2 == 1 then
      ready(limit)
      u = once(limit, m)
    end
    ours[k] = t
    if u then
      theirs[k] = u
      share[k] = u / t
    end
    spent = spent + math.min(t * n, u and u * m or math.huge)
  until (spent >= least and k >= (t * n > 1 and FEW or samples or MANY)) or (k >= FEW and C.mc_clock() - wall > 30)
  return M.summary(ours), limit and M.summary(theirs) or nil, limit and M.summary(share).median or nil
end

--- Runs one case and returns its row. The case: name, family, op, dtype, shape, threads, work = { amount, unit },
--- interpreted, least, samples, warm (seconds untimed), and setup(threads) -> { run, limit, limit_name, check, rest,
--- close, note, scaled, values }. `check` returns true, or false and what is wrong; `scaled` is the factor from the
--- part that is run to the job; `values` are further fields of the row. An error becomes a row with `failed`.
function M.case(c, threads)
  local row = { name = c.name, family = c.family, op = c.op, dtype = c.dtype, shape = c.shape,
    threads = c.threads or threads, clock = M.timed ~= M.clock and 'processor' or nil }
  mc.set_num_threads(row.threads)
  collectgarbage()
  collectgarbage()
  C.mc_memory_trim()
  local kit
  local ok, why = pcall(function()
    kit = c.setup(row.threads)
    C.mc_memory_reset_peak()
    local first = once(kit.run, 1)
    if first < SAMPLE then first = nil end
    row.tensor_peak = mc.memory().tensor_peak
    local fine, wrong = kit.check()
    if not fine then error('check failed: ' .. tostring(wrong), 0) end
    if c.interpreted then
      jit.off()
      jit.flush()
    end
    local warm = C.mc_clock() + (c.warm or 0)
    while C.mc_clock() < warm do kit.run(1) end
    local ours, limit, share = M.pairs_of(kit.run, kit.limit, c.least or M.LEAST, kit.rest, first, c.samples)
    row.seconds, row.p10, row.p90, row.runs = ours.median, ours.p10, ours.p90, ours.runs
    row.note = kit.note
    for k, v in pairs(kit.values or {}) do row[k] = v end
    if kit.scaled then -- a part stands for the whole job
      row.scaled = kit.scaled
      for _, k in ipairs { 'seconds', 'p10', 'p90' } do row[k] = row[k] * kit.scaled end
    end
    if c.work then
      row.rate, row.unit = c.work[1] / ours.median, c.work[2] .. '/s'
      if limit then row.limit_rate = c.work[1] / limit.median end
    end
    if limit then row.limit, row.limit_seconds, row.share = kit.limit_name, limit.median, share end
  end)
  jit.on()
  if kit and kit.close then kit.close() end
  if not ok then row.failed = tostring(why) end
  mc.set_num_threads(threads)
  return row
end

-- ---------------------------------------------------------------- texts

--- Seconds for people.
function M.time(t)
  if not t then return '' end
  if t < 1e-6 then return ('%.0f ns'):format(t * 1e9) end
  if t < 1e-3 then return ('%.3g us'):format(t * 1e6) end
  if t < 1 then return ('%.3g ms'):format(t * 1e3) end
  return t < 100 and ('%.3g s'):format(t) or ('%.0f s'):format(t)
end

--- One line of the table.
function M.line(r)
  if r.failed then return ('%-34s FAILED  %s'):format(r.name, (r.failed:gsub('\n.*', ''))) end
  if r.peak then
    return ('%-34s %dt peak %.0f MiB, planned %.0f MiB, allowed %.0f MiB'):format(r.name, r.threads, r.peak / 2 ^ 20,
      r.planned / 2 ^ 20, r.allowed / 2 ^ 20)
  end
  local spread = M.time(r.p10) .. ' - ' .. M.time(r.p90)
  local rate = r.rate and ('%.3g %s'):format(r.rate, r.unit) or ''
  local share = r.share and ('%.2f of %s%s'):format(r.share, r.limit,
    r.limit_rate and (' (%.3g)'):format(r.limit_rate) or '') or r.note or ''
  return ('%-34s %dt %10s  %-22s %14s  %s'):format(r.name, r.threads, M.time(r.seconds), spread, rate, share)
end

return M
