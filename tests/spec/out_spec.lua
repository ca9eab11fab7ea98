-- out_spec.lua - out= of every public function that gives one tensor: ops write into it, compositions copy into it.
--
-- The calls are those of the examples in docstrings, caught on their way and made again with out=.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local examples = support.load 'examples'
local is_tensor, equal = mc.is_tensor, mc.array_equal

local SPACES = { linalg = true, fft = true, signal = true, stats = true, special = true, interpolate = true }
-- what makes tensors from sizes and numbers has nothing to gain by out=, and says so: "option out is unknown"
-- (full_like: by empty_like)
local MAKERS = 'arange asarray empty full full_like linspace ones ones_like tensor zeros zeros_like empty_like'
-- takes functions, a pointer that can be taken once, or gives several results but in its example
local OTHERS = 'scope with_device keep from_dlpack nonzero linalg.qr cond switch fori_loop while_loop stop_gradient'
local makers, others = {}, {}
for name in MAKERS:gmatch '%S+' do makers[name] = true end
for name in OTHERS:gmatch '%S+' do others[name] = true end

--- First call of each function in the examples whose result is one tensor: { f, args, want }. The examples see
--- stand-ins for mc and its namespaces.
local function caught()
  local calls = {}
  local function stand_in(prefix, space)
    local function caller(path, f)
      local function leave(args, ...)
        local r, second = ...
        if not calls[path] and is_tensor(r) and second == nil then calls[path] = { f = f, args = args, want = r } end
        return ...
      end
      return function(...) return leave({ n = select('#', ...), ... }, f(...)) end
    end
    return setmetatable({}, { __index = function(_, k)
      local v = space[k]
      if prefix == '' and SPACES[k] then return stand_in(k .. '.', v) end
      return type(v) == 'function' and caller(prefix .. k, v) or v
    end })
  end
  local env = setmetatable({ mc = stand_in('', mc) }, { __index = _G })
  for _, block in ipairs(examples.all()) do
    for _, line in ipairs(block.lines) do
      local f = loadstring('return ' .. (line.code:match '^(.-)%s+%-%->' or line.code))
      if f then pcall(setfenv(f, env)) end
    end
  end
  return calls
end

--- The call with out= in its options.
local function into(call, out)
  local args, n = { unpack(call.args, 1, call.args.n) }, call.args.n
  local last, options = args[n], false
  if type(last) == 'table' then for k in pairs(last) do options = options or type(k) == 'string' end end
  local given = { out = out }
  if options then for k, v in pairs(last) do given[k] = v end else n = n + 1 end
  args[n] = given
  return call.f(unpack(args, 1, n))
end

describe('out=', function()
  it('is taken by every function with one tensor as its result, which then holds the same bits', function()
    local names, wrong, count = {}, {}, 0
    local calls = caught()
    for path in pairs(calls) do names[#names + 1] = path end
    table.sort(names)
    for _, path in ipairs(names) do
      local call = calls[path]
      local live = pcall(equal, call.want, call.want) and true
      for i = 1, call.args.n do live = live and (not is_tensor(call.args[i]) or call.args[i]._data ~= nil) end
      if live and not others[path] then
        local out = mc.zeros(call.want.shape, { dtype = call.want.dtype })
        local ok, r = pcall(into, call, out)
        if makers[path] then
          if ok or not tostring(r):find('option "out" is unknown', 1, true) then
            wrong[#wrong + 1] = path .. ' takes out'
          end
        elseif not ok then
          wrong[#wrong + 1] = path .. ': ' .. tostring(r):match '^[^\n]*'
        elseif not rawequal(r, out) then
          wrong[#wrong + 1] = path .. ' does not return out'
        elseif not path:find '^rand' and not equal(out, call.want)
          and not mc.allclose(out, call.want, { rtol = 0, atol = 0, equal_nan = true }) then
          wrong[#wrong + 1] = path .. ' differs'
        end
        count = count + 1
      end
    end
    assert.equal('', table.concat(wrong, '\n'))
    local least = os.getenv 'MASCON_TEST_BARE' == '1' and 200 or 230 -- without BLAS there are fewer
    assert.is_true(count > least, count .. ' functions were called')
  end)

  it('of a composition is refused with both shapes and left as it is when the call fails', function()
    local out, x = mc.full({ 2, 2 }, 7), mc.ones { 2, 3 }
    for _, case in ipairs {
      { function() mc.tile(x, 2, { out = out }) end,
        'tile: out is f64[2,2]@cpu but the result is f64[2,6]@cpu; give a tensor of that shape and dtype' },
      { function() mc.fft.fftn(mc.ones { 2, 2 }, { out = out }) end,
        'fft.fftn: out is f64[2,2]@cpu but the result is c128[2,2]@cpu' },
      { function() mc.linalg.expm(x, { out = out }) end, 'expm: ' },
      { function() mc.kron(x, x, { out = 3 }) end, 'kron: option out is 3; give a tensor' },
      { function() mc.special.sici(x, { out = out }) end, 'sici: out takes one tensor' },
    } do
      local ok, why = pcall(case[1])
      assert.is_false(ok)
      assert.truthy(why:find(case[2], 1, true), why)
      assert.truthy(why:find('out_spec.lua', 1, true), why)
    end
    assert.is_true(equal(mc.full({ 2, 2 }, 7), out))
  end)

  it('of a composition may be an operand, stands beside other options, and is taken by methods', function()
    local a = mc.tensor { { 1, 2 }, { 3, 4 } }
    assert.is_true(rawequal(a, mc.linalg.matrix_power(a, 2, { out = a })))
    assert.same({ { 7, 10 }, { 15, 22 } }, a:totable())
    local y = mc.zeros { 2 }
    assert.is_true(rawequal(y, mc.ptp(a, { axis = 1, out = y })))
    assert.same({ 8, 12 }, y:totable())
    y = mc.zeros { 4 }
    mc.tensor({ 1, 2 }):repeat_each(2, { out = y })
    assert.same({ 1, 1, 2, 2 }, y:totable())
  end)

  it('of a composition is followed by gradients', function()
    local g = mc.grad(function(x)
      local y = mc.zeros { 4 }
      mc.tile(x * x, 2, { out = y })
      return mc.sum(y)
    end)(mc.tensor { 1, 2 })
    assert.same({ 4, 8 }, g:totable())
  end)
end)
