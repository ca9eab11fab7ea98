-- errors_spec.lua - what a mistake says: the operation, the operands, the advice, and the line of the script that made
-- it.
--
-- Every case stands on a line of its own; the blamed line must be that one.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'

local x = mc.arange(1, 6):reshape(2, 3)
local i32 = mc.tensor({ 4, 0, 2 }, { dtype = 'i32' })
local z = mc.tensor { mc.complex(1, 2) }

-- { name, function on one line, pattern of the message behind "file:line: " }
local CASES = {
  { 'unlike shapes', function() local _ = x + mc.ones { 5 } end, '^add: shapes do not broadcast, f64%[2,3%]@cpu and '
      .. 'f64%[5%]@cpu; sizes must be equal or 1 from the last axis backwards' },
  { 'unlike shapes, named', function() local _ = mc.atan2(x, mc.ones { 5 }) end,
    '^atan2: shapes do not broadcast, f64%[2,3%]@cpu and f64%[5%]@cpu' },
  { 'three operands', function() local _ = mc.where(mc.gt(x, 0), x, mc.ones { 7 }) end,
    '^where: shapes do not broadcast, bool%[2,3%]@cpu and f64%[2,3%]@cpu and f64%[7%]@cpu' },
  { 'an operand of text', function() local _ = x + 'a' end, "^add: operand is 'a'; give a tensor or a number" },
  { 'no operand', function() local _ = mc.exp() end, '^exp: operand is nil; give a tensor or a number' },
  { 'a dtype without the op', function() local _ = mc.bitwise_and(x, 1) end,
    '^bitwise_and: not defined for f64, operand is f64%[2,3%]@cpu; convert it with :to first' },
  { 'complex order', function() local _ = mc.lt(z, z) end, '^lt: not defined for c128, operand is c128%[1%]@cpu' },
  { 'complex max', function() local _ = z:max() end, '^max: not defined for c128' },
  { 'integer division by zero', function() local _ = mc.floor_divide(1, i32) end,
    '^floor_divide: integer division by zero at flat position 2 %(from 1%); mask such elements out first' },
  { 'integer remainder by zero', function() local _ = i32 % i32 end,
    '^remainder: integer division by zero at flat position 2' },
  { 'negative integer power', function() local _ = i32 ^ -1 end,
    '^pow: an integer to a negative power at flat position 1 %(from 1%); convert to f64 first$' },
  { 'a number out of range', function() local _ = mc.ones({ 2 }, { dtype = 'u8' }) * 256 end,
    '^multiply: the number 256 does not fit u8%[2%]@cpu' },
  { 'out= of another shape', function() local _ = mc.exp(x, { out = mc.zeros { 1 } }) end,
    '^exp: out is f64%[1%]@cpu but the result is f64%[2,3%]; give a tensor of that shape and dtype' },
  { 'out= of another dtype', function() local _ = mc.lt(x, x, { out = mc.zeros { 2, 3 } }) end,
    '^lt: out is f64%[2,3%]@cpu but the result is bool%[2,3%]' },
  { 'out= that is no tensor', function() local _ = mc.exp(x, { out = 3 }) end,
    '^exp: option out is 3; it must be tensor' },
  { 'out= of a broadcast view', function() local _ = mc.add(x, x, { out = mc.zeros { 3 }:broadcast_to { 2, 3 } }) end,
    '^add: out is read%-only %(a mapped file or a broadcast view%); copy it first' },
  { 'in place on a smaller tensor', function() mc.ones { 3 }:add_(x) end,
    '^add: out is f64%[3%]@cpu but the result is f64%[2,3%]' },
  { 'in place across dtypes', function() mc.ones({ 3 }, { dtype = 'i32' }):add_(1.5) end,
    '^add: out is i32%[3%]@cpu but the result is f64%[3%]' },
  { 'an option misspelt', function() local _ = mc.exp(x, { ot = x }) end,
    '^exp: option "ot" is unknown; did you mean "out"%?' },
  { 'an option of a reduction', function() local _ = x:sum { 1, keep_dim = true } end,
    '^sum: option "keep_dim" is unknown; did you mean "keepdim"%?' },
  { 'an option far from any', function() local _ = x:sort { zzzzzz = 1 } end,
    '^sort: option "zzzzzz" is unknown; it takes axis, descending, out, stable' },
  { 'options that are no table', function() local _ = mc.exp(x, 3) end, '^exp: options are 3; give a table' },
  { 'an option of the wrong type', function() local _ = x:sum { 1, keepdim = 1 } end,
    '^sum: option keepdim is 1; it must be bool' },
  { 'an axis outside', function() local _ = x:sum(5) end,
    '^sum: axis 5 is outside f64%[2,3%]@cpu; axes run from 1 to 2, or %-1 backwards' },
  { 'axis 0', function() local _ = x:max(0) end, '^max: axis 0 is outside f64%[2,3%]@cpu' },
  { 'an axis twice', function() local _ = x:sum { 1, -2 } end, '^sum: an axis of f64%[2,3%]@cpu is named twice' },
  { 'half an axis', function() local _ = x:mean(1.5) end, '^mean: axis is 1.5; give a whole number' },
  { 'axes of text', function() local _ = x:mean 'a' end, "^mean: axes are 'a'; give a number or a list" },
  { 'two axes for argmax', function() local _ = x:argmax { 1, 2 } end,
    '^argmax: takes one axis, or none for everything; operand is f64%[2,3%]@cpu' },
  { 'base of text', function() local _ = x:argmax { 1, base = 2 } end, '^argmax: option base is 2; choose 0, 1' },
  { 'nothing to reduce', function() local _ = mc.zeros { 0, 3 }:max() end,
    '^max: nothing to reduce in f64%[0,3%]@cpu; give it at least one element' },
  { 'a scan without an axis', function() local _ = x:cumsum() end,
    '^cumsum: operand is f64%[2,3%]@cpu; name the axis to run along' },
  { 'a result dtype misspelt', function() local _ = x:sum { dtype = 'f31' } end,
    '^sum: dtype .f31. is unknown; .*did you mean "f32"' },
  { 'positions of floats', function() local _ = mc.take(x, mc.tensor { 1.5 }) end,
    '^take: positions are f64%[1%]@cpu; give an integer tensor' },
  { 'positions outside', function() local _ = mc.take(x, i32) end,
    '^take: position 4 is outside an axis of size 2 %(positions count from 1, negative ones from the end%)' },
  { 'an index that does not match', function() local _ = mc.take_along_axis(x, i32) end,
    '^take_along_axis: index must match x off the axis, x is f64%[2,3%]@cpu and index is i32%[3%]@cpu' },
  { 'joining unlike shapes', function() local _ = mc.concat { x, mc.ones { 7 } } end,
    '^concat: shapes differ off the axis, operand 1 is f64%[2,3%]@cpu and operand 2 is f64%[7%]@cpu' },
  { 'joining nothing', function() local _ = mc.stack {} end, '^stack: the list is empty; give at least one tensor' },
  { 'joining along a tensor', function() local _ = mc.concat({ 1, 2 }, x, 3) end,
    '^concat: options are 3; give a table' },
  { 'a table that holds itself', function() local t = {}; t[1] = t; local _ = mc.tensor(t) end,
    '^tensor: the table is nested more than 8 deep, or contains itself' },
  { 'joining no list', function() local _ = mc.concat(3) end,
    '^concat: the first argument is 3; give a list of tensors' },
  { 'joining along a wrong axis', function() local _ = mc.stack({ x, x }, 5) end,
    '^stack: axis 5 is outside a result of 3 axes' },
  { 'reshape to another size', function() local _ = x:reshape(7) end,
    '^reshape: f64%[2,3%]@cpu does not have the elements of %[7%]; sizes must multiply to 6' },
  { 'reshape with two holes', function() local _ = x:reshape(-1, -1) end,
    '^reshape: f64%[2,3%]@cpu does not have the elements of %[%-1,%-1%]' },
  { 'reshape that would copy', function() local _ = x.T:reshape { 6, copy = false } end,
    '^reshape: f64%[3,2%]@cpu cannot be viewed as %[6%] without a copy; call contiguous first' },
  { 'no permutation', function() local _ = x:permute_dims { 1, 1 } end,
    '^permute_dims: the axes are no permutation of those of f64%[2,3%]@cpu; name each once' },
  { 'too few axes', function() local _ = x:permute_dims { 1 } end,
    '^permute_dims: 1 axes named, f64%[2,3%]@cpu has 2; name each once' },
  { 'broadcast to less', function() local _ = x:broadcast_to { 7, 7 } end,
    '^broadcast_to: f64%[2,3%]@cpu does not broadcast to %[7,7%]; only axes of size 1 grow' },
  { 'squeeze of more than one', function() local _ = x:squeeze(1) end,
    '^squeeze: axis 1 of f64%[2,3%]@cpu has size 2; only axes of size 1 can go' },
  { 'item of many', function() local _ = x:item() end,
    '^item: f64%[2,3%]@cpu has 6 elements; index one of them first' },
  { 'T of a vector', function() local _ = i32.T end,
    '^T: operand is i32%[3%]@cpu; it needs two axes, use mT or permute_dims' },
  { 'uneven split', function() local _ = x:split(2, 2) end, '^split: 2 does not divide axis 2 of f64%[2,3%]@cpu' },
  { 'windows too long', function() local _ = x:windows(9) end,
    '^windows: size 9 step 1 does not fit an axis of f64%[2,3%]@cpu' },
  { 'padding an empty axis with what is not there',
    function() local _ = mc.pad(mc.zeros { 0, 2 }, 1, { mode = 'reflect' }) end,
    '^pad: an axis of f64%[0,2%]@cpu is empty and has nothing to repeat; use the mode constant' },
  { 'a pad mode misspelt', function() local _ = mc.pad(x, 1, { mode = 'reflct' }) end,
    "^pad: option mode is 'reflct'; choose .*did you mean \"reflect\"" },
  { 'a size of text', function() local _ = mc.zeros { 2, 'a' } end,
    "^zeros: size 2 of the shape is 'a'; sizes are whole numbers from 0" },
  { 'a negative size', function() local _ = mc.ones { -2 } end,
    '^ones: size 1 of the shape is %-2; sizes are whole numbers from 0' },
  { 'a shape of text', function() local _ = mc.zeros 'a' end,
    "^zeros: shape is 'a'; give a table of sizes, as in mc.zeros{ 2, 3 }" },
  { 'nine axes', function() local _ = mc.zeros { 1, 1, 1, 1, 1, 1, 1, 1, 1 } end,
    '^zeros: shape has 9 axes; at most 8' },
  { 'a dtype misspelt', function() local _ = mc.zeros { 2, dtype = 'f33' } end,
    "^zeros: dtype 'f33' is unknown; choose bool, .*did you mean \"f32\"" },
  { 'an unknown device', function() local _ = mc.zeros { 2, device = 'tpu' } end,
    '^zeros: device "tpu" is unknown; use "cpu", "cuda:0", "opencl:0", "gpu" or "auto"' },
  { 'a ragged table', function() local _ = mc.tensor { { 1, 2 }, { 3 } } end,
    '^tensor: x%[2%] has 1 entries, its neighbours have 2' },
  { 'a number among tables', function() local _ = mc.tensor { { 1, 2 }, 3 } end,
    '^tensor: x%[2%] is 3, its neighbours are tables' },
  { 'a table among numbers', function() local _ = mc.tensor { { 1, 2 }, { 3, { 4 } } } end,
    '^tensor: x%[2%]%[2%] is a table, its neighbours are numbers' },
  { 'text in a table', function() local _ = mc.tensor { { 1, 2 }, { 3, 'a' } } end,
    "^tensor: x%[2%]%[2%] is 'a'; give numbers or booleans" },
  { 'a gap', function() local _ = mc.tensor { 1, nil, 3 } end, '^tensor: the table has a gap; position 2 is nil' },
  { 'a key of text', function() local _ = mc.tensor { 1, 2, a = 3 } end,
    "^tensor: the table has the key 'a'; nested tables hold positions only" },
  { 'a module in a table of numbers', function() local _ = mc.tensor { mc.nn.Linear(3, 2) } end,
    '^tensor: x%[1%] is an object, Linear%(3, 2%): .*; give a tensor, such as the result of its call' },
  { 'a module in the place of a tensor', function() mc.nn.mse_loss(mc.nn.Linear(3, 2), mc.ones { 3 }) end,
    '^nn.mse_loss: an operand is an object, Linear%(3, 2%): .*; give a tensor, such as the result of its call' },
  { 'numbers and booleans', function() local _ = mc.tensor { 1, true } end,
    '^tensor: numbers and booleans are mixed; use one kind' },
  { 'halves as integers', function() local _ = mc.tensor({ 1, 2.5 }, { dtype = 'i32' }) end,
    '^tensor: entry 2 is 2.5; dtype i32 takes whole numbers, round first' },
  { 'filling with halves', function() i32:copy():fill_(2.5) end,
    '^fill_: 2.5 does not fit i32%[3%]@cpu; round it first' },
  { 'filling out of range', function() mc.zeros({ 2 }, { dtype = 'u8' }):fill_(300) end,
    '^fill_: 300 does not fit u8%[2%]@cpu; convert the tensor to a wider dtype first' },
  { 'filling with complex', function() x:copy():fill_(mc.complex(1, 2)) end,
    '^fill_: a complex value does not fit f64%[2,3%]@cpu' },
  { 'copying what does not fit', function() mc.zeros { 3 }:copy_(x) end,
    '^copy: f64%[2,3%]@cpu does not fit into f64%[3%]@cpu; shapes must be equal or broadcast' },
  { 'a step of 0', function() local _ = mc.arange(1, 5, 0) end,
    '^arange: step is 0; give a positive or negative step' },
  { 'a count of text', function() local _ = mc.linspace(0, 1, 'a') end,
    "^linspace: n is 'a'; it must be integer >= 0" },
  { 'an unknown method', function() local _ = x.mea end, '^tensor: no field or method "mea"; did you mean "mean"%?' },
  { 'an unknown function', function() local _ = mc.zeroes end,
    '^mc.zeroes: there is no such name; did you mean mc.zeros%?' },
  { 'order of large tensors', function() local _ = x < 1 end,
    '^<: operands are f64%[2,3%]@cpu and f64%[%]@cpu; only one%-element tensors give a boolean, use :lt or :gt '
      .. 'elementwise' },
  { 'order, the other way', function() local _ = x >= x end, '^<=: operands are f64%[2,3%]@cpu and f64%[2,3%]@cpu; '
      .. 'only one%-element tensors give a boolean, use :le or :ge elementwise' },
  { 'equality with a number', function() local _ = x == 1 end,
    '^==: compares handles, not elements; use mc.eq%(x, number%), or x:item%(%) == number' },
  { 'ipairs', function() for i in ipairs(x) do error(i) end end,
    '^ipairs: a tensor is no Lua table; use for i = 1, #x do ... x%[i%] ... end, or x:totable%(%)' },
  { 'a dot for a colon', function() local _ = x.sum(2) end,
    '^sum: the first operand is 2; give a tensor %(a method is called with a colon, x:sum%(...%)%)' },
  { 'a dot and nothing', function() local _ = x.exp() end, '^exp: operand is nil; .*colon, x:exp' },
  { 'length of a scalar', function() local _ = #mc.tensor(1) end, '^#: a 0%-d tensor has no length; use :item%(%)' },
  { 'writing a shape', function() x.shape[3] = 5 end, '^shape: sizes are read%-only; use reshape' },
  { 'an ISA that is not there',
    function() require 'mascon.core.ffi'.check(require 'mascon.core.ffi'.C.mc_isa_set 'v9', 1) end,
    "^isa: 'v9' is unknown; choose v2, v3 or v4" },
}

describe('a mistake', function()
  for _, case in ipairs(CASES) do
    local name, f, pattern = case[1], case[2], case[3]
    it(('(%s) names op, operands and advice, and blames its own line'):format(name), function()
      local line = debug.getinfo(f, 'S').linedefined
      local m = support.message(f)
      local file, at, text = m:match '^([^\n]-):(%d+): (.*)$'
      assert.is_truthy(file, 'no line: ' .. m)
      assert.matches('errors_spec%.lua$', file)
      assert.matches(pattern, text)
      assert.equal(line, tonumber(at), m)
    end)
  end

  it('inside a function of the script blames the innermost line of the script', function()
    local function helper(t) return (t:sum(9)) end
    local m = support.message(function() local _ = helper(x) end)
    assert.matches('errors_spec%.lua:' .. debug.getinfo(helper, 'S').linedefined .. ': sum', m)
  end)

  it('inside a coroutine and a scope is blamed alike', function()
    local co = coroutine.create(function() return (x:sum(9)) end)
    local _, m = coroutine.resume(co)
    assert.matches('errors_spec%.lua:%d+: sum: axis 9', m)
    assert.matches('errors_spec%.lua:%d+: sum: axis 9', support.message(mc.scope, function() return (x:sum(9)) end))
  end)

  it('changes no output', function()
    local out = mc.full({ 2, 3 }, 7)
    support.message(function() mc.add(x, mc.ones { 5 }, { out = out }) end)
    support.message(function() mc.sort(x, { axis = 9, out = out }) end)
    support.message(function() mc.matmul(x, x, { out = out }) end)
    assert.same({ { 7, 7, 7 }, { 7, 7, 7 } }, out:totable())
  end)

  it('leaves out= usable', function()
    local out = mc.zeros { 3 }
    support.message(function() mc.add(x, x, { out = out }) end)
    mc.add(mc.ones { 3 }, 1, { out = out })
    assert.same({ 2, 2, 2 }, out:totable())
    assert.same({ 3, 3, 3 }, (out + 1):totable())
  end)
end)

it('refuses an option beside out wherever the table keeps it', function()
  for _, name in ipairs { 'foo', 'x', 'dtype', 'axis', 'a', 'keepdim', 'zz', 'ouT' } do
    assert.matches('^.*: add: option "' .. name .. '" is unknown',
      support.message(function() mc.add(x, x, { [name] = 1, out = x }) end))
  end
end)
