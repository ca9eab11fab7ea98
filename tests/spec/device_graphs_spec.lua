-- device_graphs_spec.lua - launches of compiled functions that a card runs as one graph, on the stand-in for CUDA: the
-- bits of single launches, what is set anew at a call, what graphs refuse.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process, standin = support.load 'process', support.load 'standin'
local host = require 'mascon.host'

local try = standin.tests(it, pending)

--- What a script prints, and how often a line of the trace stands beside it.
local function traced(text, settings, more)
  settings = settings or {}
  settings.TRACE = 1
  local r = process.shell(("%s %s timeout 100 '%s' -e '%s'"):format(more or '', standin.environment(settings),
    host.program or arg[-1], 'local mc = require "mascon"\n' .. text))
  assert.equal(0, r.status, r.text)
  return r.text:gsub('standin: [^\n]*\n', ''), function(pattern) return (select(2, r.text:gsub(pattern, ''))) end
end

local WORK = [[
local f = mc.compile(function(x, w, k)
  local y = mc.cumsum(mc.cumsum(x * k + 1, 1):matmul(w), 1)
  return (mc.tanh(y) / 3):sum(1), y, mc.sort(y, 2)
end)
local function told(...)
  for _, t in ipairs { ... } do
    local line = {}
    for _, v in ipairs(t:reshape(-1):totable()) do line[#line + 1] = ("%a"):format(v) end
    print(table.concat(line, " "))
  end
end
]]

local LOOP = WORK .. [[
local w = mc.randn({ 5, 5 }, { seed = 9 }):to "cuda:0"
for i = 1, 5 do told(f(mc.randn({ 7, 5 }, { seed = i }):to "cuda:0", w, i)) end]]

describe('graphs of launches', function()
  try('give the bits of single launches, whatever changes from call to call', function()
    for seed = 1, 2 do
      local single, none = traced(LOOP, { SEED = seed }, 'MASCON_GRAPHS=off')
      assert.equal(0, none 'a graph of')
      local said, count = traced(LOOP, { SEED = seed })
      assert.equal(single, said)
      assert.equal(1, count 'a graph of 13 nodes is made')
      assert.equal(4, count 'a graph of 13 nodes runs')
    end
  end)

  try('set no launch whose operands and numbers stay', function()
    local _, count = traced(WORK .. [[
local x, w = mc.randn({ 7, 5 }, { seed = 1 }):to "cuda:0", mc.randn({ 5, 5 }, { seed = 9 }):to "cuda:0"
local a, b, c = f(x, w, 2)
for _ = 1, 6 do f:into({ a, b, c }, x, w, 2) end
told(a)]])
    assert.is_true(count 'a graph of 13 nodes runs' >= 4)
    assert.equal(0, count 'node %d+ is set')
  end)

  try('know the launch that refuses an operand', function()
    local said = traced [[
local f = mc.compile(function(a, b, x)
  local q = mc.floor_divide(a, b)
  return q, mc.cumsum(mc.cumsum(x, 1) * 2, 1), mc.sort(x, 1)
end)
local a, x = mc.tensor({ 6, 8, 10 }, { dtype = "i32" }):to "cuda:0", mc.ones({ 3 }, { device = "cuda:0" })
for _, v in ipairs { 2, 1, 2, 0, 2 } do
  local b = mc.tensor({ 1, v, 1 }, { dtype = "i32" }):to "cuda:0"
  local ok, e = pcall(function() return f(a, b, x)[2]:item() end)
  print(ok, (tostring(e):gsub(";.*", "")))
end]]
    local lines = {}
    for line in said:gmatch '[^\n]+' do lines[#lines + 1] = line end
    assert.equal(5, #lines, said)
    for _, i in ipairs { 1, 3, 5 } do assert.equal('true\t4', lines[i]) end
    assert.equal('true\t8', lines[2])
    assert.matches('^false\t.*floor_divide: .* at flat position 2', lines[4])
  end)

  try('serve the turns of a loop', function()
    local said, count = traced [[
local step = mc.compile(function(c, rows)
  return mc.scan(function(s, r) return mc.sort(mc.cumsum(mc.tanh(s) + r, 1), 1), s end, c, rows)
end)
local c, rows = mc.ones { 4 }, mc.randn({ 6, 4 }, { seed = 3 })
local want, all = step(c, rows)
for _ = 1, 3 do
  local got, each = step(c:to "cuda:0", rows:to "cuda:0")
  print(mc.max(mc.abs(got:to "cpu" - want)):item() < 1e-12, mc.max(mc.abs(each:to "cpu" - all)):item() < 1e-12)
end]]
    assert.equal(('true\ttrue\n'):rep(3), said)
    assert.is_true(count 'a graph of %d+ nodes runs' >= 10, said)
  end)

  try('write to their arguments, and take a step of training to the same parameters', function()
    local said, count = traced [[
local function body(x, y, k)
  x:mul_(0.5)
  x:add_(mc.cumsum(mc.cumsum(y, 1) * k, 1))
  x[{ { 2, 5 } }] = mc.sort(x[{ { 1, 4 } }], 1)
  return mc.sort(x, 1), mc.cumsum(x["::-1"], 1), x:sum() * k
end
local here, there = mc.compile(body), mc.compile(body)
local x, y = mc.randn({ 9 }, { seed = 1 }), mc.randn({ 9 }, { seed = 2 })
local X, Y = x:to "cuda:0", y:to "cuda:0"
local function near(a, b) return mc.max(mc.abs(a - b:to "cpu")):item() <= 1e-13 * mc.max(mc.abs(a)):item() end
for i = 1, 6 do
  local a, b, c = here(x, y, i)
  local A, B, D = there(X, Y, i)
  if not (near(a, A) and near(b, B) and near(c, D) and near(x, X)) then print("call", i) end
end
local u, v = mc.randn({ 32, 4 }, { seed = 5 }), mc.randn({ 32, 1 }, { seed = 6 })
local function loss(p, s, t) return mc.mean(mc.square(mc.tanh(s:matmul(p.a)):matmul(p.b) - t)) end
local step = mc.compile(function(p, s, t)
  local d = mc.grad(loss)(p, s, t)
  return { a = p.a - 0.1 * d.a, b = p.b - 0.1 * d.b }
end)
local function train(device)
  local p = { a = mc.randn({ 4, 8 }, { seed = 3 }):to(device), b = mc.randn({ 8, 1 }, { seed = 4 }):to(device) }
  local s, t = u:to(device), v:to(device)
  for _ = 1, 8 do p = step(p, s, t) end
  return p
end
local p, P = train "cpu", train "cuda:0"
print(near(p.a, P.a), near(p.b, P.b))]]
    assert.equal('true\ttrue\n', said)
    assert.is_true(count 'a graph of %d+ nodes runs' >= 10)
  end)

  try('are not taken where launches are waited for one by one', function()
    local _, count = traced(LOOP, {}, 'MASCON_SYNC=1')
    assert.equal(0, count 'a graph of')
  end)

  try('that the driver refuses leave single launches', function()
    local want = traced(LOOP, {}, 'MASCON_GRAPHS=off')
    for name, n in pairs { cuGraphCreate = 1, cuGraphAddKernelNode_v2 = 3, cuGraphAddChildGraphNode = 1,
      cuGraphInstantiateWithFlags = 1, cuStreamBeginCapture_v2 = 2, cuStreamEndCapture = 1,
      cuGraphExecKernelNodeSetParams_v2 = 2, cuGraphExecChildGraphNodeSetParams = 1 } do
      assert.equal(want, (traced(LOOP, { FAIL = ('%s:%d:1'):format(name, n) })), name)
    end
  end)

  try('that fault are an error', function()
    local said = traced([[
local f = mc.compile(function(x) return mc.sort(mc.cumsum(mc.cumsum(x, 1) * 2, 1), 1) end)
local x = mc.ones({ 5 }, { device = "cuda:0" })
for _ = 1, 4 do print(pcall(function() return f(x)[5]:item() end)) end]], { FAIL = 'cuGraphLaunch:1:719' })
    assert.matches('^true\t30\nfalse\t.*the card is lost.*\nfalse\t', said)
  end)
end)
