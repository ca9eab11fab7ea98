-- call_spec.lua - how many calls an op takes, and that what a call is given is understood or refused with words.
local mc = require 'mascon'
local ops = require 'mascon.gen.ops'.ops
local functions = require 'mascon.core.op'.functions

--- Lua functions entered during f(), f itself apart.
local function entered(f)
  f() -- modules are loaded, formulas compiled
  local n, was = -1, jit.status()
  jit.off()
  debug.sethook(function() if debug.getinfo(2, 'S').what == 'Lua' then n = n + 1 end end, 'c')
  f()
  debug.sethook()
  if was then jit.on() end
  return n
end

local function refused(text, f, ...)
  local ok, why = pcall(f, ...)
  assert.is_false(ok, 'taken: ' .. text)
  assert.truthy(why:find(text, 1, true), why)
end

describe('a call of an op along axes', function()
  local x = mc.randn({ 4, 5 }, { seed = 1 })

  it('takes at most 8 Lua calls, options included', function()
    for what, f in pairs {
      ['x:sum(2)'] = function() return x:sum(2) end, ['x:sum()'] = function() return x:sum() end, ['x:sum { 2, keepdim = true }'] = function() return x:sum { 2, keepdim = true } end,
      ['x:sum { 1, 2 }'] = function() return x:sum { 1, 2 } end, ['x:std'] = function() return x:std(1, { correction = 1, keepdim = true }) end,
      ['x:sort'] = function() return x:sort(1, { descending = true }) end, ['x:roll'] = function() return x:roll(1, 2) end, ['rfft'] = function() return mc.fft.rfft(x, { axis = 1 }) end,
    } do
      local n = entered(f)
      assert(n <= 8, ('%s enters %d functions'):format(what, n))
    end
  end)

  it('gives the same in every way of writing it', function()
    for _, row in ipairs(ops) do
      local f = functions[row[1]]
      local p = row.params
      if f and p and #p > 0 and (row.family == 'reduce' or row.family == 'scan' or row.family == 'softmax') and not row.internal then
        local want = f(x, { axis = 2 })
        for k, got in ipairs { f(x, 2), f(x, -1), f(x, { 2 }), f(x, { -1 }), f(x, 2, {}), f(x, nil, { axis = 2 }), (f(x, 2, { out = mc.zeros(want.shape, { dtype = want.dtype }) })) } do
          assert(mc.array_equal(want, got, { equal_nan = true }), ('%s, way %d'):format(row[1], k))
        end
        if p[2] and p[2][1] == 'keepdim' then
          assert.equal(2, f(x, { 2, keepdim = true }).ndim)
          assert.equal(2, f(x, 2, { keepdim = true }).ndim)
          assert.equal(1, f(x, 2, { keepdim = false }).ndim)
        end
      end
    end
  end)

  it('swallows nothing', function()
    refused('sum: axis 3 is outside', x.sum, x, 3)
    refused('sum: axis is 1.5', x.sum, x, 1.5)
    refused("sum: axes are 'two'", x.sum, x, 'two')
    refused('one argument too many', x.sum, x, 1, {}, 2)
    refused('option keepdim is 1', x.sum, x, 1, { keepdim = 1 })
    refused('did you mean "keepdim"', x.sum, x, 1, { keepdims_ = true })
    refused('option "axes" is unknown', x.sum, x, { axes = 1 })
    refused('without a name', x.sum, x, 1, { 2 })
    refused('axis is given twice', x.sum, x, { 1, axis = 2 })
    refused('axis is given twice', x.sum, x, 1, { axis = 2 })
    refused('choose', mc.fft.rfft, x, { norm = 'orto' })
    refused('one argument too many', x.cumsum, x, { 1, 2 })
    refused('axis is', x.sort, x, { { 1, 2 } })
    refused('one argument too many', x.exp, x, {}, 1)
    refused('one argument too many', x.add, x, x, {}, 1)
    refused('one argument too many', mc.where, x, x, x, {}, 1)
    refused('one argument too many', mc.matmul, x, x, {}, 1)
    refused('one argument too many', mc.take, x, mc.tensor { 1 }, 1, {}, 1)
    refused('one argument too many', mc.concat, { x, x }, 1, {}, 1)
  end)
end)
