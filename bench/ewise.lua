-- ewise.lua - elementwise ops, chains of them, and reductions over 16 million f32, against streams over the same
-- memory.
--
-- Plain stores are the yardstick (the reader of a line that will be written is part of them); streams with non-temporal
-- stores stand in the family `limit`. Chains are compiled functions. Holds shapes.
local mc = require 'mascon'
local limits = require 'limits'
local BIG, MID = 16 * 2 ^ 20, 2 ^ 20

local function close(t, want) return mc.allclose(t, want), 'result differs from the expected one' end

--- The first elements of a big result against the same op on a small copy in f64.
local function head(t) return t['1:1000']:to 'f64' end

local function machine(bench)
  local function stream(name, arrays, setup)
    bench.case { name = name, family = 'limit', op = 'stream', dtype = 'f32', shape = '16M',
      work = { arrays * 4 * BIG / 1e9, 'GB' }, setup = function(threads)
        local a, b = mc.ones({ BIG }, { dtype = 'f32' }), mc.ones({ BIG }, { dtype = 'f32' })
        local c = mc.zeros({ BIG }, { dtype = 'f32' })
        return { run = setup(threads, c, a, b), check = function() return true end }
      end }
  end
  stream('limit_copy', 2, function(t, c, a) return limits.copy(t, c, a) end)
  stream('limit_copy_streaming', 2, function(t, c, a) return limits.copy(t, c, a, true) end)
  stream('limit_triad', 3, function(t, c, a, b) return limits.triad(t, c, a, b) end)
  stream('limit_triad_streaming', 3, function(t, c, a, b) return limits.triad(t, c, a, b, true) end)
  stream('limit_read', 1, function(t, _, a) return limits.read(t, a) end)
  for _, dtype in ipairs { 'f32', 'f64' } do
    bench.case { name = 'limit_gemm_2048_' .. dtype, family = 'limit', op = 'gemm', dtype = dtype,
      shape = '2048x2048x2048', work = { 2e-9 * 2048 ^ 3, 'GFLOP' }, least = 1,
      setup = function(threads)
        local a, b = mc.ones({ 2048, 2048 }, { dtype = dtype }), mc.ones({ 2048, 2048 }, { dtype = dtype })
        local c = mc.zeros({ 2048, 2048 }, { dtype = dtype })
        mc.matmul(a, b, { out = c }) -- the plug-in is open, so its one thread is what is changed below
        return { run = limits.gemm(threads, c, a, b), check = function() return c[{ 5, 5 }]:item() == 2048 end }
      end }
  end
end

local function big(bench)
  local function case(name, op, arrays, setup)
    bench.case { name = name, family = 'ewise', op = op, dtype = 'f32', shape = '16M',
      work = { arrays * 4 * BIG / 1e9, 'GB' }, setup = setup }
  end
  local function operands()
    return mc.rand({ BIG }, { dtype = 'f32', seed = 1 }), mc.rand({ BIG }, { dtype = 'f32', seed = 2 }),
      mc.zeros({ BIG }, { dtype = 'f32' })
  end
  case('add_16M_f32_out', 'add', 3, function(t)
    local a, b, c = operands()
    local opts = { out = c }
    return { run = function(n)
      for _ = 1, n do mc.add(a, b, opts) end
    end, limit = limits.triad(t, mc.zeros_like(c), a, b), limit_name = 'triad',
      check = function() return close(head(c), head(a) + head(b)) end }
  end)
  case('copy_16M_f32', 'copy', 2, function(t)
    local a, _, c = operands()
    return { run = function(n)
      for _ = 1, n do c:copy_(a) end
    end, limit = limits.copy(t, mc.zeros_like(c), a), limit_name = 'copy',
      check = function() return mc.array_equal(c['1:1000'], a['1:1000']) end }
  end)
  for _, name in ipairs { 'exp', 'sin' } do
    case(name .. '_16M_f32', name, 2, function(t)
      local a, _, c = operands()
      local f, opts = mc[name], { out = c }
      return { run = function(n)
        for _ = 1, n do f(a, opts) end
      end, limit = limits.copy(t, mc.zeros_like(c), a), limit_name = 'copy',
        check = function() return close(head(c), f(head(a))) end }
    end)
  end
  local function compiled(name, text, f, want)
    case(name, text, 3, function(t)
      local x, y, c = operands()
      local g = mc.compile(f, { tier = 'native' })
      g:into(c, x, y)
      return { run = function(n)
        for _ = 1, n do g:into(c, x, y) end
      end, limit = limits.triad(t, mc.zeros_like(c), x, y), limit_name = 'triad',
        note = 'compiled, into a result that is there',
        check = function() return close(head(c), want(head(x), head(y))) end }
    end)
  end
  local function muladd(x, y) return x * y + x end
  local function relu(x, y) return mc.maximum(x * y + x, 0) * 0.5 end
  compiled('chain_muladd_16M_f32', 'a * b + a', muladd, muladd)
  compiled('chain_muladd_relu_16M_f32', 'max(a * b + a, 0) / 2', relu, relu)
  bench.case { name = 'softmax_4096x1024_f32', family = 'ewise', op = 'softmax', dtype = 'f32', shape = '4096x1024',
    work = { 2 * 4 * 2 ^ 22 / 1e9, 'GB' }, setup = function(t)
      local a = mc.randn({ 4096, 1024 }, { dtype = 'f32', seed = 1 })
      local into, c = mc.zeros_like(a), mc.zeros_like(a)
      local opts = { axis = 2, out = c }
      return { run = function(n)
        for _ = 1, n do mc.softmax(a, opts) end
      end, limit = limits.copy(t, into, a), limit_name = 'copy',
        check = function() return close(c:sum(2), mc.ones({ 4096 }, { dtype = 'f32' })) end }
    end }
  for _, dtype in ipairs { 'f32', 'f64' } do
    for _, name in ipairs { 'exp', 'log', 'sin', 'tanh' } do
      bench.both { name = name .. '_1M_' .. dtype, family = 'ewise', op = name, dtype = dtype, shape = '1M',
        work = { MID / 1e9, 'Gelem' }, setup = function()
          local a = mc.rand({ MID }, { dtype = dtype, seed = 1, low = 0.1, high = 5 })
          local c = mc.zeros_like(a)
          local f, opts = mc[name], { out = c }
          return { run = function(n) for _ = 1, n do f(a, opts) end end, check = function()
            local got, x = c['1:1000']:to('f64'):totable(), a['1:1000']:to('f64'):totable()
            for i = 1, 1000 do
              local want = math[name](x[i])
              if math.abs(got[i] - want) > (dtype == 'f32' and 1e-6 or 1e-14) * math.max(1, math.abs(want)) then
                return false, ('%s(%.17g) is %.17g'):format(name, x[i], got[i])
              end
            end
            return true
          end }
        end }
    end
  end
end

local function reductions(bench)
  for _, name in ipairs { 'sum', 'max', 'var' } do
    bench.both { name = name .. '_16M_f32', family = 'reduce', op = name, dtype = 'f32', shape = '16M',
      work = { 4 * BIG / 1e9, 'GB' }, setup = function(t)
        local a = mc.rand({ BIG }, { dtype = 'f32', seed = 1 })
        local f, r = mc[name], nil
        return { run = function(n)
          for _ = 1, n do r = f(a) end
        end, limit = limits.read(t, a), limit_name = 'read', check = function()
          local v, want = r:item(), ({ sum = BIG / 2, max = 1, var = 1 / 12 })[name]
          return math.abs(v / want - 1) < 1e-3, name .. ' is ' .. v
        end }
      end }
  end
end

return function(bench)
  machine(bench)
  big(bench)
  reductions(bench)
end
