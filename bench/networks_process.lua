-- networks_process.lua - what needs a process of its own: the first step of the GPT of networks.lua and its memory.
--
-- The work is network_child.lua's, beside peers/network_child.py: one thread, two steps. Rows hold seconds of the whole
-- process, or bytes resident at most: of the process, and above what it held before the network (`values.own`). The
-- largest network is the one of most layers whose process stays below 2 GiB. The pool's rows: seconds and faults of the
-- same with blocks that are kept and with MASCON_MEMORY_CACHE=0.
local mc = require 'mascon'
local measure = require 'measure'
local FAMILY = 'networks_process'
local ROOM = 2 ^ 31
local STEPS = 2
local FEW = 3 -- processes that a time is the median of

--- Wall seconds and the line of a child, or nil and what it said.
local function child(...)
  local here = (arg or {})[0]:match '^(.*)/[^/]*$' or '.'
  local words = { require('mascon.core.ffi').libdir .. '/mascon', here .. '/network_child.lua' }
  for i, v in ipairs { ... } do words[2 + i] = tostring(v) end
  local prefix = ''
  if words[6] == 'cold' then
    prefix = 'MASCON_MEMORY_CACHE=0 '
    words[6] = nil
  end
  for i, w in ipairs(words) do words[i] = "'" .. w:gsub("'", "'\\''") .. "'" end
  local t = measure.clock()
  local pipe = io.popen(prefix .. table.concat(words, ' ') .. ' 2>&1')
  local text = pipe:read '*a'
  pipe:close()
  t = measure.clock() - t
  if text:sub(1, 1) ~= '{' then error('network_child: ' .. text, 0) end
  return t, mc.json.decode(text)
end

local function row(name, text, shape, fill)
  return { name = name, family = FAMILY, measure = function()
    local r = { name = name, family = FAMILY, op = text, dtype = 'f32', shape = shape, threads = 1 }
    local ok, why = pcall(fill, r)
    if not ok then r.failed = tostring(why) end
    return r
  end }
end

--- Seconds of processes: the median, the ends, the least processor time.
local function timed(r, ...)
  local times, last = {}, nil
  for i = 1, FEW do
    times[i], last = child(...)
    r.cpu = math.min(r.cpu or math.huge, last.cpu)
  end
  local s = measure.summary(times)
  r.seconds, r.p10, r.p90, r.runs = s.median, s.p10, s.p90, s.runs
  return last
end

local function resident(r, layers, how)
  local _, c = child(STEPS, layers, how)
  r.resident, r.own, r.params = c.peak, c.peak - c.base, c.params
  r.note = ('%.0f MiB, %.0f MiB its own, %.3g M parameters'):format(c.peak / 2 ^ 20, r.own / 2 ^ 20, c.params / 1e6)
  return c.peak
end

--- Most layers below ROOM: peaks grow by the same from layer to layer.
local function largest(r, how)
  local four, twelve = resident(r, 4, how), resident(r, 12, how)
  local each = (twelve - four) / 8
  local n = math.floor(4 + (ROOM - four) / each)
  while resident(r, n, how) > ROOM do n = n - 1 end
  r.layers = n
end

return function(bench)
  local shape = '8 x 128 tokens'
  bench.case(row('nn_first_gpt', 'first step of a fresh process, gpt', shape, function(r) timed(r, 1) end))
  for _, how in ipairs { 'plain', 'checkpoint', 'spare' } do
    local text = ({ plain = '', checkpoint = ', blocks computed again', spare = ', so, and 8 batches of 1' })[how]
    local tail = how == 'plain' and '' or '_' .. how
    bench.case(row('nn_peak_gpt' .. tail, 'resident memory of training, gpt' .. text, shape, function(r)
      resident(r, 4, how)
    end))
    bench.case(row('nn_largest_gpt' .. tail, 'largest gpt below 2 GiB' .. text, shape, function(r) largest(r, how) end))
  end
  for _, kind in ipairs { 'on', 'off' } do
    bench.case(row('nn_pool_' .. kind, 'ten steps of gpt with kept blocks ' .. kind, shape, function(r)
      local last = timed(r, 10, 4, 'plain', kind == 'off' and 'cold' or nil)
      r.note = ('%d pages of the system'):format(last.faults)
    end))
  end
end
