-- profile.lua - what `mascon profile` collects while a script runs, and the tables it makes of that.
--
-- Every call of the library that works on tensors goes through here: its time, its operands, what it took of memory,
-- and the line of the script that made it; the library adds what happened inside (steps of plans, launches, transfers).
-- Launches are waited for, so that their times are their own. Holds the list of events.
local ffi = require 'ffi'
local host = require 'mascon.host'

local M = {}

local MOST = 200000 -- events that are kept for the trace

-- Where operands stand in the arguments of a call: op (its number is first) or a name, places of ins and outs.
local WATCHED = {
  mc_op = { list = true },
  mc_op1 = { op = true, outs = { 2 }, ins = { 3 } }, mc_op2 = { op = true, outs = { 2 }, ins = { 3, 4 } },
  mc_op3 = { op = true, outs = { 2 }, ins = { 3, 4, 5 } }, mc_op2_scalar = { op = true, outs = { 2 }, ins = { 3 } },
  mc_op2_complex = { op = true, outs = { 2 }, ins = { 3 } }, mc_op1_new = { op = true, outs = { 2 }, ins = { 4 } },
  mc_op1_with_new = { op = true, outs = { 2 }, ins = { 4 } },
  mc_op2_scalar_new = { op = true, outs = { 2 }, ins = { 4 } },
  mc_op2_new = { op = true, outs = { 2 }, ins = { 4, 5 } }, mc_op2_into = { op = true, outs = { 2 }, ins = { 3, 4 } },
  mc_plan_call = { name = 'compiled function', plan = true },
  mc_plan_into = { name = 'compiled function', plan = true },
  mc_plan_run = { name = 'compiled function', plan = true }, mc_copy = { name = 'copy', outs = { 1 }, ins = { 2 } },
  mc_fill = { name = 'fill', outs = { 1 }, ins = {} }, mc_put = { name = 'put', outs = { 1 }, ins = { 4 } },
  mc_masked = { name = 'mask', outs = { 1 }, ins = { 2 } }, mc_to_device = { name = 'to', outs = { 1 }, ins = { 3 } },
  mc_item = { name = 'item', outs = {}, ins = { 1 } }, mc_numbers = { name = 'numbers', outs = {}, ins = { 1 } },
}
local KINDS = { [0] = 'step', 'launch', 'to device', 'from device' }

local names, size, rows -- of the op table, once the library is open

--- dtype[sizes] of a header.
local function form(t)
  local list = {}
  for i = 0, t._ndim - 1 do list[i + 1] = tostring(tonumber(t._shape[i])) end
  return ('%s[%s]'):format(names[t._dtype] or '?', table.concat(list, ','))
end

local function bytes_of(t) return tonumber(t._numel) * (size[t._dtype] or 0) end

--- Bytes that are live on devices, by number.
local function device_bytes(C, stats)
  local out, n = {}, 1
  while C.mc_device_name(n)[0] ~= 63 do -- "?": not open
    C.mc_device_memory(n, stats)
    out[n], n = tonumber(stats[0]), n + 1
  end
  return out
end

--- The innermost line of the stack that is not the library's.
local known = {}
local function place()
  for level = 3, 60 do
    local at = debug.getinfo(level, 'Sl')
    if not at then break end
    local text = at.source
    if known[text] == nil then
      local file = text:match '^@(.*)$'
      local ours = not file and not text:find '^='
      for _, folder in ipairs { host.luadir .. '/mascon/', (host.generated or '') .. '/mascon/' } do
        ours = ours or file and file:sub(1, #folder) == folder
      end
      known[text] = not ours and at.what ~= 'C' and text ~= '=[C]' and at.short_src or false
    end
    if known[text] and at.currentline > 0 then return known[text], at.currentline end
  end
  return '(the library)', 0
end

-- ---------------------------------------------------------------- collecting

local events, lines, over = {}, {}, false
local counts = ffi.new 'int[2]'
-- live bytes after the call before, by device: what was made since then belongs to the call that fills it
local last = {}
M.lost = 0

--- Nothing is noted from here on.
function M.stop() over = true end

local function put(e)
  if #events < MOST then events[#events + 1] = e else M.lost = M.lost + 1 end
end

local MOST_SHAPES = 6 -- of a call, in the table

local function watcher(C, name, how, stats)
  local f, inner, taken = C[name], nil, nil
  local function finish(began, ended, before, ins, outs, title, device, ...)
    C.mc_memory_stats(stats)
    local host_live = tonumber(stats[0])
    local there = device_bytes(C, stats)
    last = { [0] = host_live, unpack(there) }
    local file, line = place()
    local shapes, bytes, work = {}, 0, 0
    for _, t in ipairs(ins) do
      shapes[#shapes + 1], bytes, device = form(t), bytes + bytes_of(t), math.max(device, t._device)
    end
    local traced = false -- by shapes: nothing was computed
    for _, t in ipairs(ins) do traced = traced or C.mc_hollow(t) ~= 0 end
    local rc = ...
    local good = tonumber(rc) == nil or tonumber(rc) <= 0
    for _, t in ipairs(good and outs or {}) do
      if t._dtype >= 0 and t._ndim >= 0 and t._ndim <= 8 then
        shapes[#shapes + 1], bytes, device = '-> ' .. form(t), bytes + bytes_of(t), math.max(device, t._device)
        local a = ins[1]
        local product = a and rows.product[title] and a._ndim > 0
        work = product and 2 * tonumber(t._numel) * tonumber(a._shape[a._ndim - 1]) or 0
      end
    end
    if #shapes > MOST_SHAPES then shapes[MOST_SHAPES], shapes[MOST_SHAPES + 1] = '...', nil end
    if traced then title, shapes, bytes, work, device = 'recorded operation', {}, 0, 0, 0 end
    local key = file .. ':' .. line
    local l = lines[key]
    if not l then
      l = { name = key, file = file, line = line, seconds = 0, calls = 0, memory = 0, peak = 0, on = {} }
      lines[key] = l
    end
    local grown = math.max(0, host_live - before[0])
    l.seconds, l.calls, l.memory = l.seconds + ended - began, l.calls + 1, l.memory + grown
    l.peak = math.max(l.peak, host_live)
    for n, live in ipairs(there) do
      local d = l.on[n] or { memory = 0, peak = 0 }
      local more = math.max(0, live - (before[n] or 0))
      d.memory, d.peak, l.on[n] = d.memory + more, math.max(d.peak, live), d
      if n == device then grown = more end
    end
    put { kind = 'op', name = title, what = table.concat(shapes, ' '), at = key, began = began, ended = ended,
      bytes = bytes, work = work, device = device, memory = grown }
    inner = inner or ffi.new 'mc_event[256]'
    repeat
      taken = C.mc_watched(inner, 256)
      for i = 0, taken - 1 do
        local e = inner[i]
        put { kind = KINDS[e.kind], name = ffi.string(e.name), what = ffi.string(e.what), at = key, began = e.begin,
          ended = e['end'], bytes = tonumber(e.bytes), work = 0, device = e.device, memory = 0 }
      end
    until taken < 256
    return ...
  end
  return function(...)
    if over then return f(...) end
    if not names then
      local gen, tensor = package.loaded['mascon.gen.ops'], package.loaded['mascon.core.tensor']
      if not tensor then return f(...) end
      names, size, rows = {}, {}, { product = {} }
      for _, d in ipairs(gen.dtypes) do names[d.code], size[d.code] = d[1], d.size end
      for _, r in ipairs(gen.ops) do
        rows[r.id] = r[1]
        rows.product[r[1]] = r.family == 'matmul' or nil
      end
    end
    local ins, outs, title, device = {}, {}, how.name, 0
    if how.plan then
      local plan, list, n, out, m = ...
      device = C.mc_plan_where(plan, counts, counts + 1)
      if name ~= 'mc_plan_run' then n, out, m = counts[0], n, counts[1] end
      for i = 0, n - 1 do ins[i + 1] = list[i] end
      for i = 0, m - 1 do outs[i + 1] = out[i] end
    elseif how.list then
      local op, nout, out, nin, list = ...
      title = rows[op] or 'op'
      for i = 0, nin - 1 do ins[i + 1] = list[i] end
      for i = 0, nout - 1 do outs[i + 1] = out[i] end
    else
      if how.op then title = rows[(...)] or 'op' end
      for i, k in ipairs(how.ins or {}) do ins[i] = select(k, ...) end
      for i, k in ipairs(how.outs or {}) do outs[i] = select(k, ...) end
    end
    C.mc_memory_stats(stats)
    local live = tonumber(stats[0])
    local before = device_bytes(C, stats)
    before[0] = live
    for n, bytes in pairs(last) do before[n] = math.min(before[n], bytes) end
    local began = C.mc_clock()
    return (function(...) return finish(began, C.mc_clock(), before, ins, outs, title, device, ...) end)(f(...))
  end
end

--- Stands for the opened library: calls of WATCHED are noted, all others are its own.
function M.library(C)
  local stats = ffi.new 'int64_t[9]'
  return setmetatable({}, { __index = function(t, name)
    local how = WATCHED[name]
    local f = how and watcher(C, name, how, stats) or C[name]
    if how or type(f) == 'cdata' then rawset(t, name, f) end
    return f
  end })
end

--- Names of the devices that are open, in the order of their numbers.
function M.devices(C)
  local out = {}
  while C.mc_device_name(#out + 1)[0] ~= 63 do out[#out + 1] = ffi.string(C.mc_device_name(#out + 1)) end
  return out
end

--- What was seen: events in order, lines by place.
function M.seen() return events, lines end

-- ---------------------------------------------------------------- tables

--- The limits of a device: bytes a second of a copy, operations a second of an f32 product, each of a size that takes
--- a few milliseconds.
local function limits(mc, device)
  local C = require 'mascon.core.ffi'.C
  local number = require 'mascon.core.tensor'.device_number('profile', device, 2)
  local function best(f)
    local least = math.huge
    for _ = 1, 4 do
      local t = C.mc_clock()
      f()
      if number ~= 0 then C.mc_device_sync(number) end
      least = math.min(least, C.mc_clock() - t)
    end
    return least
  end
  local function ones(...) return mc.ones({ ... }, { dtype = 'f32', device = device }) end
  --- amount(n) / seconds for the first size n of a list that takes long enough.
  local function rate(sizes, amount, make)
    local r
    for _, n in ipairs(sizes) do
      local t = mc.scope(function() return best(make(n)) end)
      r = amount(n) / t
      if t > 2e-3 then break end
    end
    return r
  end
  return {
    bandwidth = rate({ 2 ^ 16, 2 ^ 20, 2 ^ 23 }, function(n) return 8 * n end, function(n)
      local x, y = ones(n), ones(n)
      return function() y:copy_(x) end
    end),
    flops = rate({ 64, 256, 512, 2048 }, function(n) return 2 * n ^ 3 end, function(n)
      local a, c = ones(n, n), ones(n, n)
      return function() mc.matmul(a, a, { out = c }) end
    end),
  }
end

--- Events of some kinds added up by name and shapes.
function M.sums(kinds)
  local by, out = {}, {}
  for _, e in ipairs(events) do
    if kinds[e.kind] then
      local key = ('%d %s %s'):format(e.device, e.name, e.what)
      local s = by[key]
      if not s then
        s = { name = e.name, what = e.what, kind = e.kind, device = e.device,
          seconds = 0, calls = 0, bytes = 0, work = 0, memory = 0 }
        by[key] = s
        out[#out + 1] = s
      end
      s.seconds, s.calls = s.seconds + e.ended - e.began, s.calls + 1
      s.unknown = s.unknown or e.kind == 'launch' and e.bytes == 0
      s.bytes, s.work, s.memory = s.bytes + e.bytes, s.work + e.work, s.memory + e.memory
    end
  end
  return out
end

--- The share of a device's limit that each sum reached: of a copy's bandwidth or a product's rate, what is more.
function M.shares(mc, sums)
  local known_limits = {}
  for _, s in ipairs(sums) do
    local name = s.device == 0 and 'cpu' or ffi.string(require 'mascon.core.ffi'.C.mc_device_name(s.device))
    known_limits[name] = known_limits[name] or limits(mc, name)
    local l = known_limits[name]
    s.on = name
    s.share = s.seconds > 0 and math.max(s.bytes / l.bandwidth, s.work / l.flops) / s.seconds or 0
  end
  return known_limits
end

local ORDER = {
  time = function(a, b) return a.seconds > b.seconds end, calls = function(a, b) return a.calls > b.calls end,
  memory = function(a, b) return a.memory > b.memory end,
  share = function(a, b) return (a.share or 0) < (b.share or 0) end,
  name = function(a, b) return a.name < b.name end,
}
M.ORDER = ORDER

--- Sorted by a name of ORDER; what is equal, by name and shapes.
function M.sorted(list, how)
  local less = ORDER[how]
  table.sort(list, function(a, b)
    if less(a, b) ~= less(b, a) then return less(a, b) end
    return a.name .. (a.what or '') < b.name .. (b.what or '')
  end)
  return list
end

--- Writes a trace for chrome://tracing and Perfetto: the script, devices and copies as tracks of their own.
function M.trace(path)
  local json, first = require 'mascon.base.json', math.huge
  for _, e in ipairs(events) do first = math.min(first, e.began) end
  local TRACK = { op = { 1, 'calls' }, step = { 2, 'steps of compiled functions' }, launch = { 3, 'device' },
    ['to device'] = { 4, 'copies' }, ['from device'] = { 4, 'copies' } }
  local out = {}
  for _, track in pairs { TRACK.op, TRACK.step, TRACK.launch, TRACK['to device'] } do
    out[#out + 1] = { name = 'thread_name', ph = 'M', pid = 1, tid = track[1], args = { name = track[2] } }
  end
  table.sort(out, function(a, b) return a.tid < b.tid end)
  for _, e in ipairs(events) do
    out[#out + 1] = { name = e.name, ph = 'X', pid = 1, tid = TRACK[e.kind][1], ts = (e.began - first) * 1e6,
      dur = (e.ended - e.began) * 1e6, args = { line = e.at, what = e.what, bytes = e.bytes } }
  end
  return require 'mascon.base.file'.write(path, json.encode { traceEvents = json.array(out), displayTimeUnit = 'ms' })
end

return M
