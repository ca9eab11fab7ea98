-- reentry_spec.lua - a debug hook or a finalizer that calls the library within a call changes nothing of that call.
local mc = require 'mascon'

local x, y = mc.arange(1, 6):reshape { 2, 3 }, mc.arange(1, 16):reshape { 4, 4 }
local first, fourth = mc.tensor({ 2, 1 }, { dtype = 'i64' }), mc.tensor({ 4, 4, 4 }, { dtype = 'i64' })
local scaled = mc.compile(function(a, s) return a * s end)

-- What is called, and what calls come between: other parameters, shapes and numbers of results.
local CALLS = {
  sum = function() return x:sum(2), x:sum { 1, keepdim = true }, x:sum() end,
  std = function() return x:std(1, { correction = 1 }) end,
  item = function() return mc.tensor(x[{ 2, 3 }]:item()) end,
  reshape = function() return x:reshape { 3, 2 }, x:reshape(6) end,
  permute = function() return x:permute_dims { 2, 1 }, x:transpose() end,
  broadcast = function() return x:broadcast_to { 2, 2, 3 } end,
  zeros = function() return mc.zeros { 3, 1, 2 }, mc.zeros(3) end,
  index = function() return x[2], x[{ { 1, 2 }, 3 }], x['-1, ::2'] end,
  take = function() return x[first], x:take(first, 1) end,
  gather = function() return x:gather(mc.ones({ 2, 1 }, { dtype = 'i64' }), 2) end,
  concat = function() return mc.concat({ x, x }, 2), mc.stack { x, x, x } end,
  sort = function() return mc.sort(x, { descending = true }), mc.topk(x, 2) end,
  quantile = function() return mc.quantile(x, { 0.25, 0.5 }, { axis = 2 }) end,
  pad = function() return mc.pad(x, 1) end,
  dct = function() return mc.fft.dct(x, { type = 3 }), mc.fft.rfft(x) end,
  interp = function() return mc.interp(1.5, mc.tensor { 1, 2 }, mc.tensor { 3, 4 }) end,
  draws = function() return mc.randn({ 3 }, { key = 5 }), mc.randint(5, 9, { 4 }, { key = 7 }) end,
  key = function() return mc.rand({ 2 }, { key = mc.random.key(5):split(3)[2] }) end,
  qr = function() return mc.linalg.qr(x) end,
  compiled = function() return scaled(x, 2) end,
}
local BETWEEN = {
  function() y:sum(1) end,
  function() y:std { 1, keepdim = true } end,
  function() y[{ 1, 1 }]:item() end,
  function() y:reshape { 16 } end,
  function() y:permute_dims { 1, 2 } end,
  function() mc.zeros { 5, 2 } end,
  function() y:take(fourth, 2) end,
  function() mc.stack { y, y, y } end,
  function() mc.rand({ 2, 2 }, { key = 9 }) end,
  function() mc.linalg.qr(y) end,
  function() scaled(x, 3) end,
  function() return y[{ { 2, 3 }, 4 }] end,
}

local function names()
  local list = {}
  for name in pairs(CALLS) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function texts(...)
  local out = {}
  for i = 1, select('#', ...) do out[i] = tostring(select(i, ...)) .. tostring(select(i, ...).shape) end
  return table.concat(out, '\n')
end

for _, f in pairs(BETWEEN) do f() end -- what a first call loads is loaded

describe('calls between the steps of a call', function()
  it('by a debug hook leave its result as it is', function()
    for _, name in ipairs(names()) do
      local f = CALLS[name]
      local want = texts(f())
      for period = 1, 61, 6 do
        local function unhooked(...)
          debug.sethook()
          return ...
        end
        debug.sethook(function()
          for i = 1, #BETWEEN, 3 do BETWEEN[(i + period) % #BETWEEN + 1]() end
        end, '', period)
        local results = { unhooked(pcall(f)) }
        assert.is_true(results[1], name .. ': ' .. tostring(results[2]))
        assert.equal(want, texts(unpack(results, 2)), name .. ' with a hook every ' .. period)
      end
    end
  end)

  it('by a finalizer leave its result as it is', function()
    local wrong = 0
    for _ = 1, 5000 do
      getmetatable(newproxy(true)).__gc = function() y:sum(1) end
      local s = x:sum(2)
      if s.ndim ~= 1 or s.shape[1] ~= 2 then wrong = wrong + 1 end
    end
    assert.equal(0, wrong)
  end)
end)
