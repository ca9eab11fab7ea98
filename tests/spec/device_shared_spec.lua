-- device_shared_spec.lua - analyses whose work several devices share: the bits of one device, in a process that has
-- two; what lists of devices are refused.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device, process = support.load 'device', support.load 'process'

-- compares what a call gives on one device and on several: run(what, f) with f(device, ...). A device with programs
-- takes one dtype and measure, since each program is compiled for each device; device_workflows_spec has the others.
local COMPARE = [[
local mc = require 'mascon'
local WIDE = 'KIND' == 'ref' and 'f64' or nil
local function compared(what, a, b)
  if mc.is_tensor(a) then
    assert(b.device == 'cpu', what)
    a, b = a:to 'f64', b:to 'f64'
    return assert(mc.all(mc.logical_or(mc.eq(a, b), mc.logical_and(mc.ne(a, a), mc.ne(b, b)))), what) and 1
  elseif type(a) == 'number' then return assert(a == b or a ~= a and b ~= b, what) and 1
  elseif type(a) ~= 'table' then return 0 end
  local n = 0
  for k, v in pairs(a) do n = n + compared(what .. '.' .. tostring(k), v, b[k]) end
  return n
end
local function run(what, f)
  local one, n = f { 'KIND:0' }, 0
  for _, more in ipairs { { 'KIND:0', 'KIND:1' }, { 'KIND:1', 'KIND:0' } } do
    n = n + compared(what, one, f(more))
  end
  print(what .. ' compared ' .. n)
end
]]

local WORK = {
  coupling = [[
local x, s = mc.randn({ 11, 600 }, { seed = 1 }), mc.randn({ 2, 3, 4, 400 }, { seed = 2 })
for _, c in ipairs { { dtype = WIDE }, { surrogate = 'swap_trials', axes = 'BCST' }, WIDE and { measure = 'plv' } } do
  run('coupling', function(list)
    local o, out = { fs = 500, pha_n_bands = 2, amp_n_bands = 3, n_perm = 5, seed = 3, device = list }, {}
    for k, v in pairs(c) do o[k] = v end
    for k, v in pairs(mc.pac.compute(c.axes and s or x, o)) do if mc.is_tensor(v) then out[k] = v end end
    return out
  end)
end]],
  fit = [[
local phi = { -20, 0, 33, 90.5 }
local s = mc.xpcs.generate.simulate { n = 300, dt = 0.1, q = 0.0054, gap = 2e6, phi = phi, contrast = 0.3, offset = 1,
  physics = { 400, -0.3, 5, 3e-3, -0.2, 1e-4, -6 }, sigma = 0.01, seed = 3, first = 1 }
local points = mc.random.uniform({ 300, 300 }, { seed = 4 })
local kd, ks = mc.xpcs.model.constants { q = 0.0054, gap = 2e6, dt = 0.1 }
local place = require 'workflows.xpcs.pass.device'.place
for _, c in ipairs { {}, { weighted = true, kind = 'common', loss = 'huber', dtype = 'f32' },
  { block = 20000, between = true }, { room = 3e5 }, { from = true } } do
  run('fit', function(list)
    local data = mc.xpcs.data.of { c2 = s.c2, phi = phi, t = s.t, q = 0.0054, dt = 0.1, gap = 2e6,
      mode = 'laminar_flow', dtype = c.dtype, sigma_c2 = c.weighted and 0.01 + 0.01 * points * points.mT or nil }
    local common, states = c.kind == 'common', {}
    data.block_values = c.block
    local p = { physics = { 500, -0.25, 6, 2.5e-3, -0.25, 2e-4, -4 }, kd = kd, ks = ks, t = data.t, f_scale = 1.5,
      loss = c.loss or 'linear', sigma = { 0.01, 0.011, 0.009, 0.02 }, offset = { 1, 1, 1, 1 },
      contrast = common and { 0.3, 0.3, 0.3, 0.3 } or { 0.28, 0.3, 0.31, 0.25 },
      device = place({ device = list, max_memory = c.room }, {}) }
    function p.between(state, tile)
      states[#states + 1] = c.between and { state, tile } or nil
      if c.from and not p.from then p.from = { state = state, tile = tile } end
    end
    local kind = c.kind or 'each'
    if c.from then
      data.block_values = 30000
      mc.xpcs.pass.run(data, p, kind)
      p.device = place({ device = list }, {})
    end
    return { mc.xpcs.pass.run(data, p, kind), states }
  end)
end]],
  rejection = [[
local s = mc.randn({ 13, 10, 70 }, { seed = 3 }) * mc.random.uniform({ 13, 10, 1 }, { seed = 4 })
local places = {}
for k = 1, 10 do places[k] = { 0.09 * math.cos(k), 0.09 * math.sin(k), 0.03 * k - 0.15 } end
for _, c in ipairs { { dtype = 'f32' }, { dtype = WIDE or 'f32', there = true, partial = 'drop' } } do
  run('rejection', function(list)
    local o = { random_state = 5, cv = 3, verbose = false, device = list, partial = c.partial }
    local x = s:to(c.dtype)
    if c.there then x = x:to 'KIND:0' end
    local e = mc.meeg.epochs.new { data = x, fs = 100, positions = mc.tensor(places) }
    local m = mc.autoreject.fit(e, o)
    local clean, log = m:transform(e, { allow_empty = true })
    local t = m.types.eeg
    assert(mc.any(mc.eq(log.labels, 2)))
    local out = { log.labels, log.bad_epochs, t.threshold, t.losses, t.loss, clean:read():to 'cpu' }
    if c.there then out[7] = mc.autoreject.ransac(e, { random_state = 5, device = list }).corr end
    return out
  end)
end]],
}

describe('work that devices share', function()
  for _, kind in ipairs { 'ref', 'opencl' } do
    it('gives the bits of one device: ' .. kind, function()
      local name, why = device.name()
      if kind == 'opencl' and (name or 'cuda'):match '^%a+' ~= 'opencl' then
        return pending(why or 'the device of the tests is ' .. name)
      end
      local text, order = COMPARE, {}
      for what in pairs(WORK) do order[#order + 1] = what end
      table.sort(order)
      for _, what in ipairs(order) do text = text .. 'do ' .. WORK[what] .. '\nend\n' end
      -- not 'pthread pthread': two such devices of PoCL 3.1 mix the group memory of kernels that run at one time
      local r = process.mascon((text:gsub('KIND', kind)), { POCL_DEVICES = 'pthread basic' })
      for what in pairs(WORK) do assert.matches(what .. ' compared [1-9]%d+\n', r.text) end
      assert.equal(0, r.status, r.text)
    end)
  end

  it('is of devices of one kind', function()
    local x = mc.randn({ 2, 900 }, { seed = 1 })
    local function says(pattern, devices)
      local said = support.message(function() mc.pac.compute(x, { fs = 500, device = devices }) end)
      assert.matches(pattern, said, 1, true)
      end
    says('pac: device is an empty list; give names', {})
    says('pac: device[2] is 3; give the name of a device', { 'ref:0', 3 })
    says('pac: device names ref:0 twice (ref:0 and ref); name each device once', { 'ref:0', 'ref:1', 'ref' })
    says('pac: device names ref:0 and cpu; work is shared among devices of one kind', { 'ref:0', 'cpu' })
    local function refused(pattern, f, ...) assert.matches(pattern, support.message(f, ...), 1, true) end
    refused('autoreject.fit: device names ref:0 and cpu; work is shared', mc.autoreject.fit, {},
      { device = { 'ref:0', 'cpu' } })
    refused('xpcs.fit: device[1] is true; give the name', require 'workflows.xpcs.pass.device'.place,
      { device = { true } })
    refused('--device: device names ref:0 and cpu; work is shared', mc.args.device, 'ref:0,cpu')
  end)
end)
