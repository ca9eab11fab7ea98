-- bench.lua - `mascon bench [PART] [--device D] [--seconds S] [--limit L]`: how fast this machine is, which device
-- `auto` takes.
--
-- PART is `ops`, or a workflow with a file bench.lua (about, cases); without one, ops alone. Every case runs on the CPU
-- and, where there is one, on the card, or on the device that is named. Prints medians; what a device has no form for
-- is said in a line.
local check = require 'mascon.core.check'
local host = require 'mascon.host'

local M = {}

local HELP = [[
mascon bench [ops|WORKFLOW ...] [--device D] [--seconds S] [--limit L]

  ops           memory, elementwise chains, sums, products, transforms, sorts
  WORKFLOW      pac, autoreject or another workflow that says what to measure (its bench.lua)
  --device D    cpu, cuda:0, opencl:0 ...; default: cpu, and the card if there is one
  --seconds S   time for each case (default 0.3)
  --limit L     cases that would begin after L seconds are left out

GB/s count the bytes of operands and results; share is of a copy of the same device, or of its product of f32 matrices.
]]

local function say(...) io.stdout:write(string.format(...), '\n') end

--- Median seconds of a call that runs for about `least` seconds in all; of a slow one, the seconds of its first run.
local function median(call, wait, least)
  local times, began = {}, host.clock()
  call()
  wait()
  local first = host.clock() - began
  if first > math.max(1, 10 * least) then return first end
  repeat
    local t = host.clock()
    call()
    wait()
    times[#times + 1] = host.clock() - t
  until (#times >= 3 and host.clock() - began > least) or host.clock() - began > 10 * least
  table.sort(times)
  return times[math.ceil(#times / 2)]
end

--- Cases of the operations: bytes or operations of a call, make(mc, device) -> the call.
local function operations()
  local N, K = 2 ^ 22, 768
  local function vector(mc, device, seed) return mc.randn({ N }, { seed = seed, dtype = 'f32' }):to(device) end
  return {
    { name = 'a + b of 16 f64', amount = 1, unit = 'calls/s', make = function(mc, device)
      local a = mc.ones({ 16 }, { device = device })
      local c = mc.zeros({ 16 }, { device = device })
      return function() mc.add(a, a, { out = c }) end
    end },
    { name = 'copy, 4M f32', bytes = 8 * N, limit = true, make = function(mc, device)
      local a, b = vector(mc, device, 1), vector(mc, device, 2)
      return function() b:copy_(a) end
    end },
    { name = 'compiled chain, 4M f32', bytes = 12 * N, make = function(mc, device)
      local a, b = vector(mc, device, 1), vector(mc, device, 2)
      local f = mc.compile(function(x, y) return x * y * 0.5 + x - 1 end, { tier = 'native' })
      for _ = 1, 3 do f(a, b) end
      return function() return f(a, b) end
    end },
    { name = 'exp, 4M f32', bytes = 8 * N, make = function(mc, device)
      local a, b = vector(mc, device, 1), vector(mc, device, 2)
      return function() mc.exp(a, { out = b }) end
    end },
    { name = 'sum, 4M f32', bytes = 4 * N, make = function(mc, device)
      local a = vector(mc, device, 1)
      return function() return a:sum() end
    end },
    { name = 'softmax, 4096 x 1024 f32', bytes = 8 * N, make = function(mc, device)
      local a = vector(mc, device, 1):reshape(4096, 1024)
      return function() return mc.softmax(a, 2) end
    end },
    { name = 'product, 768 x 768 f32', work = 2 * K ^ 3, make = function(mc, device)
      local a = mc.randn({ K, K }, { seed = 1, dtype = 'f32' }):to(device)
      return function() return a:matmul(a) end
    end },
    { name = 'product, 768 x 768 f64', work = 2 * K ^ 3, make = function(mc, device)
      local a = mc.randn({ K, K }, { seed = 1 }):to(device)
      return function() return a:matmul(a) end
    end },
    { name = 'rfft, 512 x 2048 f32', bytes = 8 * 2 ^ 20, make = function(mc, device)
      local a = mc.randn({ 512, 2048 }, { seed = 1, dtype = 'f32' }):to(device)
      return function() return mc.fft.rfft(a) end
    end },
    { name = 'sort, 512 x 2048 f32', bytes = 8 * 2 ^ 20, make = function(mc, device)
      local a = mc.randn({ 512, 2048 }, { seed = 1, dtype = 'f32' }):to(device)
      return function() return mc.sort(a, 2) end
    end },
  }
end

local function time_text(t)
  for _, unit in ipairs { { 1, 's' }, { 1e-3, 'ms' }, { 1e-6, 'us' } } do
    if t >= unit[1] then return ('%.3g %s'):format(t / unit[1], unit[2]) end
  end
  return ('%.3g ns'):format(t / 1e-9)
end

local function measure(mc, part, cases, devices, o, began)
  local lib = require 'mascon.core.ffi'
  for _, device in ipairs(devices) do
    local number = require 'mascon.core.tensor'.device_number('bench', device, 2)
    local function wait() if number ~= 0 then lib.check(lib.C.mc_device_sync(number), 2) end end
    local limit
    say('\n%-28s %11s %22s %7s', part .. ' on ' .. device, 'median', 'rate', 'share')
    for _, c in ipairs(cases) do
      local over = o.limit and host.clock() - began > o.limit
      local ok, t = pcall(function()
        return not over and mc.scope(function() return median(c.make(mc, device), wait, o.seconds) end)
      end)
      if over then
        say('%-28s left out: %g seconds are over', c.name, o.limit)
      elseif not ok then
        if check.stopped(t) then error(t, 0) end
        say('%-28s %s', c.name, tostring(t):gsub('\n.*', ''))
      else
        if c.limit then limit = c.bytes / t end
        local rate = c.bytes and ('%.2f GB/s'):format(c.bytes / t / 1e9)
          or c.work and ('%.2f GFLOP/s'):format(c.work / t / 1e9) or ('%.4g %s'):format(c.amount / t, c.unit)
        local share = c.bytes and limit and ('%.0f%%'):format(100 * c.bytes / t / limit) or ''
        say('%-28s %11s %22s %7s', c.name, time_text(t), rate, share)
      end
    end
  end
end

--- Names of devices to measure, or nil and why not.
local function devices_of(mc, want)
  if want then
    local lib = require 'mascon.core.ffi'
    local number = want == 'cpu' and 0 or lib.C.mc_device_find(want)
    if number < 0 then return nil, '--device: ' .. lib.message() end
    return { require 'mascon.core.tensor'.device_name(number) }
  end
  local list = { 'cpu' }
  local ok, t = check.try(mc.zeros, { 1 }, { device = 'gpu' })
  if ok and t.device ~= 'cpu' then list[2] = t.device end
  return list
end

local function parse(args)
  local o, i = { parts = {}, seconds = 0.3 }, 1
  while args[i] do
    local name, value = args[i]:match '^%-%-(%w+)=(.*)$'
    if not name and args[i]:sub(1, 2) == '--' then
      name, value = args[i]:sub(3), args[i + 1]
      i = i + 1
    end
    local number = tonumber(value)
    local fits = number and number > 0 and number <= 600
    if name == 'device' and value then o.device = value
    elseif (name == 'seconds' or name == 'limit') and fits then o[name] = number
    elseif name then
      return nil, ('--%s %s is no option; there are --device D, --seconds S and --limit L, up to 600 s')
        :format(name, value or '')
    else o.parts[#o.parts + 1] = args[i] end
    i = i + 1
  end
  if #o.parts == 0 then o.parts[1] = 'ops' end
  return o
end

---@param args string[]
---@return integer status
function M.main(args)
  if args[1] == '--help' or args[1] == '-h' then
    io.stdout:write(HELP)
    return 0
  end
  local function wrong(text)
    io.stderr:write('mascon bench: ', text, '\n')
    return 2
  end
  local o, why = parse(args)
  if not o then return wrong(why) end
  local mc, workflow = require 'mascon', require 'mascon.base.workflow'
  local jobs, began = {}, host.clock()
  for _, part in ipairs(o.parts) do
    local module = part ~= 'ops' and workflow.find(part)
    local path = module and package.searchpath(module .. '.bench', package.path)
    if part ~= 'ops' and not path then
      local known = { 'ops' }
      for _, name in ipairs(workflow.names()) do
        if package.searchpath('workflows.' .. name .. '.bench', package.path) then known[#known + 1] = name end
      end
      return wrong(('there is nothing to measure in %s; there are %s'):format(part, table.concat(known, ', ')))
    end
    jobs[#jobs + 1] = { part = part, module = module }
  end
  local devices
  devices, why = devices_of(mc, o.device)
  if not devices then return wrong(why) end
  say('%s, %d threads, kernels %s', mc.info().processor, mc.info().threads, mc.info().isa)
  for _, d in ipairs(mc.devices()) do
    if d.kind ~= 'cpu' then say('%s: %s%s', d.name, d.title, d.about ~= '' and ', ' .. d.about or '') end
  end
  for _, j in ipairs(jobs) do
    local list = j.module and require(j.module .. '.bench') or { cases = operations() }
    if list.about then say('\n%s: %s', j.part, list.about) end
    local cases = list.cases
    if j.module then
      cases = {}
      for i, c in ipairs(list.cases) do
        local function make(_, device) return c.make(device) end
        cases[i] = { name = c.name, amount = c.amount, unit = c.unit, make = make }
      end
    end
    measure(mc, j.part, cases, devices, o, began)
  end
  say('\nauto takes %s: %s', require('mascon.core.tensor').device_auto(1))
  return 0
end

return M
