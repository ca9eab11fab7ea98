-- small.lua - small operations and the start: where the handle, the call and the process are the cost, not the
-- arithmetic.
--
-- Holds shapes of 16 and 1000 elements, compiled and interpreted, with 10 and 1e5 results alive, and new processes. The
-- names are those of the peers' bench.
local mc = require 'mascon'
local limits = require 'limits'

local function same(t, want)
  local ok = mc.allclose(t, want)
  return ok, 'result differs from the expected one'
end

--- A case in two: compiled by LuaJIT, and interpreted.
local function twice(bench, case)
  bench.case(case)
  local other = {}
  for k, v in pairs(case) do other[k] = v end
  other.name, other.interpreted = case.name .. '_interpreted', true
  bench.case(other)
end

local function adds(bench, dtype)
  local function case(tail, setup)
    twice(bench, { name = 'add_16_' .. dtype .. '_' .. tail, family = 'small', op = 'add', dtype = dtype, shape = '16',
      threads = 1, setup = setup })
  end
  local function operands()
    return mc.randn({ 16 }, { dtype = dtype, seed = 1 }), mc.randn({ 16 }, { dtype = dtype, seed = 2 })
  end
  local function expected(a, b)
    local x, y = a:to('f64'):totable(), b:to('f64'):totable()
    for i = 1, 16 do x[i] = x[i] + y[i] end
    return mc.tensor(x):to(dtype)
  end
  case('out', function()
    local a, b = operands()
    local c, add = mc.empty({ 16 }, { dtype = dtype }), mc.add
    local opts = { out = c }
    return {
      run = function(n) for _ = 1, n do add(a, b, opts) end end,
      check = function() return same(c, expected(a, b)) end,
    }
  end)
  for _, live in ipairs { 0, 100000 } do
    case(live == 0 and 'new' or 'new_100000_live', function()
      local a, b = operands()
      local keep, last = {}, nil
      for i = 1, live do keep[i] = a + b end
      return {
        run = function(n)
          local c
          for _ = 1, n do c = a + b end
          last = c
        end,
        check = function() return #keep == live and same(last, expected(a, b)) end,
      }
    end)
  end
end

--- A new process: `seconds` of one start is what is timed, so run(n) starts n of them.
local function starts(bench)
  local program = require('mascon.core.ffi').libdir .. '/mascon'
  for _, s in ipairs { { 'start_mascon', '' }, { 'start_mascon_require', "require 'mascon'" },
    { 'start_mascon_add', "local mc = require 'mascon' print(mc.ones{3} + 1)" } } do
    bench.case {
      name = s[1], family = 'start', op = 'start', threads = 1, setup = function()
        local good = true
        return {
          run = function(n) for _ = 1, n do good = limits.spawn(program, '-e', s[2]) and good end end,
          limit = function(n) for _ = 1, n do limits.spawn('true', nil, nil) end end,
          limit_name = '/bin/true',
          check = function() return good, 'mascon -e ended with an error' end,
        }
      end,
    }
  end
end

return function(bench)
  starts(bench)
  adds(bench, 'f32')
  adds(bench, 'f64')
  twice(bench, { name = 'index_row_64x64', family = 'small', op = 'index', dtype = 'f32', shape = '64x64', threads = 1,
    setup = function()
      local a, row = mc.randn({ 64, 64 }, { dtype = 'f32', seed = 3 }), nil
      return {
        run = function(n)
          local r
          for _ = 1, n do r = a[6] end
          row = r
        end,
        check = function() return row[7]:item() == a[{ 6, 7 }]:item() end,
      }
    end })
  twice(bench, { name = 'sum_1000_f32', family = 'small', op = 'sum', dtype = 'f32', shape = '1000', threads = 1,
    setup = function()
      local a, s = mc.ones({ 1000 }, { dtype = 'f32' }), nil
      return {
        run = function(n)
          local r
          for _ = 1, n do r = a:sum() end
          s = r
        end,
        check = function() return s:item() == 1000 end,
      }
    end })
end
