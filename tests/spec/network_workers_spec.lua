-- network_workers_spec.lua - batches made by processes beside the program, and event files of TensorBoard.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local mc = require 'mascon'
local host = require 'mascon.host'
local nn = mc.nn
local data = nn.data
local folder = process.folder()
local function at(name) return folder .. '/' .. name end

local MODULE = [[
local mc = require 'mascon'
return function(o)
  local s = mc.nn.data.shapes(o.n, { side = 8, seed = o.seed })
  return { n = s.n,
    batch = function(_, at)
      if o.fail and mc.any(mc.eq(at, o.fail)) then error('sample ' .. o.fail .. ' is torn', 0) end
      local b = s:batch(at)
      return { x = b.x, y = { b.y, name = 'kind' }, half = b.x:to 'bf16', count = at.shape[1] }
    end,
    transform = function(b, key)
      b.x = mc.nn.data.random_flip(b.x, key)
      return b
    end }
end
]]
mc.file.write(at 'workers_shapes.lua', MODULE)
package.path = folder .. '/?.lua;' .. package.path
local set = data.of_module('workers_shapes', { n = 50, seed = 3 })
local HOW = { batch = 8, shuffle = true, seed = 5 }
local function loader(more)
  local o = {}
  for k, v in pairs(HOW) do o[k] = v end
  for k, v in pairs(more or {}) do o[k] = v end
  return data.loader(o.set or set, (function() o.set = nil return o end)())
end
local function same(a, b)
  assert.is_true(mc.array_equal(a.x, b.x) and mc.array_equal(a.y[1], b.y[1]))
  assert.same({ 'kind', 'bf16', a.count }, { b.y.name, b.half.dtype, b.count })
end
local function left(path)
  local names = {}
  for _, name in ipairs(mc.file.names(path)) do if name:find '^mascon%-' then names[#names + 1] = name end end
  return #names
end

local function made(workers, options)
  local net = nn.Sequential { nn.Flatten(), nn.Linear(64, 6, { key = 1 }) }
  local o = { loss = function(m, b) return nn.cross_entropy(m(b.x), b.y[1]) end, optimizer = mc.optim.adamw(),
    train = loader { workers = workers, folder = workers > 0 and folder or nil }, steps = 12, progress = false,
    folder = at 'run', tensorboard = true }
  for k, v in pairs(options or {}) do o[k] = v end
  if o.folder == mc.none then o.folder = nil end
  return nn.Trainer(net, o), net
end

--- The net of a run that was stopped at step 9 and went on, made once for the tests that look at it.
local went
local function gone_on()
  if went then return went end
  local t = made(2, { callbacks = { step = function(_, f) if f.step == 9 then return 'stop' end end } })
  t:fit()
  t.options.train:close()
  local last
  last, went = made(1, { resume = true })
  assert.equal(12, last:fit()[2].step)
  last.options.train:close()
  return went
end

describe('workers of a loader', function()
  it('give the batches of one process, in its order, from any place', function()
    local plain = loader()
    for workers = 1, 3 do
      local beside = loader { workers = workers, folder = folder }
      for e = 1, 2 do for b, k in beside:epoch(e) do same(plain:at(e, k), b) end end
      same(plain:at(7, 3), beside:at(7, 3))
      same(plain:at(7, 4), beside:at(7, 4))
      same(plain:at(1, 2), beside:at(1, 2))
      assert.equal(workers, left(folder))
      beside:close()
      assert.equal(0, left(folder))
      same(plain:at(1, 3), beside:at(1, 3)) -- now in this process
    end
  end)

  it('serve a run that goes on in mid-epoch to the same bits', function()
    local net = gone_on()
    local other = select(2, (function()
      local a, b = made(0, { folder = mc.none, tensorboard = false })
      a:fit()
      return a, b
    end)())
    for k, v in pairs(net:parameters()) do assert.is_true(mc.array_equal(v, other:parameters()[k]), k) end
  end)

  it('make the parts of a split, and parts of parts', function()
    local part = data.subset((data.split(set, 0.3, { seed = 2 })), mc.arange(3, 30, 1, { dtype = 'i64' }))
    local here, beside = loader { set = part }, loader { set = part, workers = 1, folder = folder }
    for k = 1, 2 do same(here:at(1, k), beside:at(1, k)) end
    beside:close()
  end)

  it('say what went wrong, and refuse what they cannot have', function()
    local torn = loader { set = data.of_module('workers_shapes', { n = 50, seed = 3, fail = 20 }), workers = 2,
      folder = folder }
    local e = support.message(function() for _ in torn:epoch(1) do end end) -- luacheck: ignore
    assert(e:find('a worker ended: ', 1, true) and e:find('sample 20 is torn', 1, true), e)
    torn:close()
    assert(support.message(data.loader, data.tensors { x = mc.ones { 4 } }, { workers = 1 }):find('of_module', 1, true))
    assert(support.message(loader, { workers = 1, collate = function() end }):find('collate is a function', 1, true))
    assert(support.message(loader, { workers = 1, folder = at 'workers_shapes.lua' }):find('the folder for batches', 1,
      true))
  end)

  it('end with a program that is killed, and leave nothing', function()
    local script = at 'killed.lua'
    mc.file.write(script, ([[
package.path = %q
local mc = require 'mascon'
local l = mc.nn.data.loader(mc.nn.data.of_module('workers_shapes', { n = 50, seed = 3 }), { workers = 2, folder = %q })
l:at(1, 1)
os.execute 'kill -9 $PPID'
]]):format(package.path, folder))
    process.shell(("'%s' -- '%s'"):format(host.exe, script))
    local waited = 0
    while left(folder) > 0 and waited < 100 do
      process.shell 'sleep 0.1'
      waited = waited + 1
    end
    assert.equal(0, left(folder))
  end)
end)

-- ---------------------------------------------------------------- event files

--- Records of an event file, with checksums looked at: a list of { time, step, tag = value ... }.
local function events(path)
  local bytes, out, p = process.read(path), {}, 1
  local function little(s, a, b)
    local v = 0
    for i = b, a, -1 do v = v * 256 + s:byte(i) end
    return v
  end
  local function check(s, crc)
    local c = nn.events.crc32c(s)
    local turned = (math.floor(c / 2 ^ 15) + c % 2 ^ 15 * 2 ^ 17 + 0xa282ead8) % 2 ^ 32
    assert.equal(turned, little(crc, 1, 4))
  end
  local function fields(s)
    local list, i = {}, 1
    local function varint()
      local v, shift = 0, 1
      repeat
        local b = s:byte(i)
        v, shift, i = v + b % 128 * shift, shift * 128, i + 1
      until b < 128
      return v
    end
    while i <= #s do
      local head = varint()
      local kind = head % 8
      if kind == 0 then list[#list + 1] = { math.floor(head / 8), varint() }
      else
        local n = kind == 1 and 8 or kind == 5 and 4 or varint()
        list[#list + 1] = { math.floor(head / 8), s:sub(i, i + n - 1) }
        i = i + n
      end
    end
    return list
  end
  local function float(s)
    if #s == 4 then
      local v = little(s, 1, 4)
      local sign, e, m = math.floor(v / 2 ^ 31), math.floor(v / 2 ^ 23) % 256, v % 2 ^ 23
      local x = e == 0 and m * 2 ^ -149 or e == 255 and (m == 0 and math.huge or 0 / 0)
        or (1 + m / 2 ^ 23) * 2 ^ (e - 127)
      return sign == 1 and -x or x
    end
    local e = s:byte(8) % 128 * 16 + math.floor(s:byte(7) / 16)
    return (1 + (s:byte(7) % 16 * 2 ^ 48 + little(s, 1, 6)) / 2 ^ 52) * 2 ^ (e - 1023)
  end
  while p <= #bytes do
    local n = little(bytes, p, p + 7)
    check(bytes:sub(p, p + 7), bytes:sub(p + 8, p + 11))
    local d = bytes:sub(p + 12, p + 11 + n)
    check(d, bytes:sub(p + 12 + n, p + 15 + n))
    local e = { values = {} }
    for _, f in ipairs(fields(d)) do
      if f[1] == 1 then e.time = float(f[2]) elseif f[1] == 2 then e.step = f[2] elseif f[1] == 3 then e.version = f[2]
      elseif f[1] == 7 then e.start = fields(f[2])[1][2] == 1
      elseif f[1] == 5 then
        for _, v in ipairs(fields(f[2])) do
          local tag, x
          for _, q in ipairs(fields(v[2])) do if q[1] == 1 then tag = q[2] else x = float(q[2]) end end
          e.values[tag] = x
        end
      end
    end
    out[#out + 1], p = e, p + 16 + n
  end
  return out
end

describe('event files', function()
  it('hold the numbers of a run; a new start says from where it goes on', function()
    gone_on()
    local files = {}
    for _, name in ipairs(mc.file.names(at 'run')) do
      if name:find 'tfevents' then files[#files + 1] = events(at('run/' .. name)) end
    end
    assert.equal(2, #files)
    table.sort(files, function(a, b) return #a > #b end)
    assert.equal('brain.Event:2', files[1][1].version)
    assert(math.abs(files[1][1].time - os.time()) < 600)
    assert.is_true(files[2][2].start)
    local steps, log = {}, {}
    for i, f in ipairs(files) do
      for _, e in ipairs(f) do
        if e.values['train/loss'] then steps[e.step] = e.values['train/loss'] end
        if e.start then assert.same({ 2, 10 }, { i, e.step }) end
      end
    end
    for line in io.lines(at 'run/log.jsonl') do
      local e = mc.json.decode(line)
      if e.kind == 'step' then log[e.step] = e.loss end
    end
    assert.equal(12, #log)
    for k, v in ipairs(log) do assert.equal(mc.tensor({ v }, { dtype = 'f32' }):item(), steps[k]) end
  end)

  it('hold any number', function()
    local e = nn.events.open(folder, 3)
    local numbers = { 0, 1, -1, 0.1, 1 / 3, 16777217, 16777219, 3.4028234e38, 1e39, -1e-45, 7e-46, 1.17549435e-38,
      mc.inf, -mc.inf, 2 ^ -127 * 1.5, 123456789 }
    for i, v in ipairs(numbers) do e:scalars(i, { x = v, ['a/b'] = -v }) end
    e:scalars(99, { x = mc.nan })
    e:close()
    local read = events(e.path)
    for i, v in ipairs(numbers) do
      local want = mc.tensor({ v }, { dtype = 'f64' }):to('f32'):item()
      assert.equal(want, read[i + 2].values.x, v)
      assert.equal(-want, read[i + 2].values['a/b'])
    end
    local last = read[#read].values.x
    assert(last ~= last)
    assert.equal(0xe3069283, nn.events.crc32c '123456789')
    assert.equal(0x8a9136aa, nn.events.crc32c(('\0'):rep(32))) -- RFC 3720, B.4
    assert(support.message(nn.events.open, at 'nowhere'):find('nn.events.open: ', 1, true))
  end)
end)

teardown(function()
  package.loaded.workers_shapes, went = nil, nil
  package.path = package.path:gsub('^[^;]*;', '')
  process.remove(folder)
end)
