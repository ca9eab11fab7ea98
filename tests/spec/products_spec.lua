-- products_spec.lua - laws and messages of products, einsum, padding, matrices of a structure, joins (golden answers:
-- cases_spec).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local sample, tol = support.load 'sample', support.load 'tol'
local contraction = require 'mascon.array.contraction'
local read = sample.read

local FIRST = tonumber(os.getenv 'MASCON_TEST_SEED' or '') or 20261121
local ROUNDS = os.getenv 'MASCON_TEST_SEED' and 1 or support.gc and 3 or 20

local function law(name, f)
  it(name, function()
    for k = 0, ROUNDS - 1 do
      local seed = FIRST + k
      local stream = sample.stream(seed)
      local function draw(lo, hi) return lo + math.floor(stream() * (hi - lo + 1)) end
      local ok, e = pcall(f, draw, seed)
      if not ok then error(('seed %d: %s'):format(seed, tostring(e)), 0) end
    end
  end)
end

local function close(a, b, more)
  assert(tostring(a.shape) == tostring(b.shape), 'shapes ' .. tostring(a.shape) .. ' and ' .. tostring(b.shape))
  local x, y = read(a), read(b)
  for i = 1, #y do
    local wrong = tol.compare('ACCUM', b.dtype, x[i], y[i], more)
    if wrong then error(('element %d: %s'):format(i, wrong), 0) end
  end
end
local function equal(a, b) assert.is_true(mc.array_equal(a, b)) end
local function fails(text, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(text, 1, true), message)
end
local function whole(draw, shape, dtype)
  local n, list = 1, {}
  for _, s in ipairs(shape) do n = n * s end
  for i = 1, n do list[i] = draw(-4, 4) end
  return mc.tensor(n > 0 and list or { 0 }, { dtype = dtype or 'i64' })[{ { 1, n } }]:reshape(shape)
end

describe('einsum', function()
  -- the definition, one loop over all letters, in exact integers
  local function plain(terms, out, list, sizes)
    local letters, shape = {}, {}
    for l in pairs(sizes) do letters[#letters + 1] = l end
    table.sort(letters)
    for i = 1, #out do shape[i] = sizes[out:sub(i, i)] end
    local total, at = {}, {}
    local values = {}
    for k, t in ipairs(list) do values[k] = read(t) end
    local function place(term)
      local p = 0
      for i = 1, #term do p = p * sizes[term:sub(i, i)] + at[term:sub(i, i)] end
      return p + 1
    end
    local function loop(d)
      if d > #letters then
        local v = 1
        for k, term in ipairs(terms) do v = v * tonumber(values[k][place(term)]) end
        local o = place(out)
        total[o] = (total[o] or 0) + v
        return
      end
      for i = 0, sizes[letters[d]] - 1 do
        at[letters[d]] = i
        loop(d + 1)
      end
    end
    loop(1)
    return mc.tensor(total, { dtype = 'i64' }):reshape(shape)
  end

  law('agrees with one loop over all letters, whatever the order of products', function(draw)
    local names, sizes, terms, list, used = 'abcde', {}, {}, {}, {}
    for k = 1, draw(1, 5) do
      local term = ''
      for _ = 1, draw(0, 3) do
        local l = names:sub(draw(1, 5))
        term = term .. l:sub(1, 1)
      end
      terms[k] = term
    end
    for _, term in ipairs(terms) do for l in term:gmatch '.' do sizes[l] = sizes[l] or draw(1, 3) end end
    for l in pairs(sizes) do used[#used + 1] = l end
    table.sort(used)
    local out = ''
    for _, l in ipairs(used) do if draw(0, 1) == 1 then out = draw(0, 1) == 1 and out .. l or l .. out end end
    for k, term in ipairs(terms) do
      local shape = {}
      for i = 1, #term do shape[i] = sizes[term:sub(i, i)] end
      list[k] = whole(draw, shape)
      if #shape > 1 and draw(0, 1) == 1 then -- the same elements lying in another order
        local p = {}
        for i = 1, #shape do p[i] = #shape + 1 - i end
        list[k] = list[k]:permute_dims(p):copy():permute_dims(p)
      end
    end
    local want = plain(terms, out, list, sizes)
    local spec = table.concat(terms, ',') .. '->' .. out
    for _, how in ipairs { 'auto', 'optimal', 'greedy', 'left' } do
      local args = { unpack(list) }
      args[#args + 1] = { optimize = how }
      local got = mc.einsum(spec, unpack(args))
      if not mc.array_equal(got, want) then
        error(spec .. ' ' .. how .. ': got ' .. tostring(got) .. ' want ' .. tostring(want), 0)
      end
    end
  end)

  law('finds no dearer order than any other search', function(draw)
    local sets, sizes, keep = {}, {}, {}
    for i = 1, 8 do sizes[i] = draw(1, 9) end
    for k = 1, draw(3, 6) do
      sets[k] = {}
      for _ = 1, draw(1, 4) do sets[k][draw(1, 8)] = true end
    end
    keep[draw(1, 8)] = true
    local _, best = contraction.search(sets, keep, sizes, 'optimal')
    for _, how in ipairs { 'greedy', 'left' } do
      local path, work = contraction.search(sets, keep, sizes, how)
      assert.equal(#sets - 1, #path)
      assert.is_true(best <= work)
    end
  end)

  it('takes views where nothing is summed', function()
    local x = mc.arange(1, 9):reshape(3, 3)
    assert.is_true(mc.einsum('ii->i', x):shares_memory(x))
    assert.is_true(mc.einsum('ij->ji', x):shares_memory(x))
    mc.einsum('ii->i', x):fill_(0)
    assert.same({ { 0, 2, 3 }, { 4, 0, 6 }, { 7, 8, 0 } }, x:totable())
  end)

  it('serves more operands than the exact search', function()
    local list, spec = {}, {}
    for k = 1, 12 do
      list[k], spec[k] = mc.eye(2) * 2, ('abcdefghijklm'):sub(k, k + 1)
    end
    equal(mc.eye(2) * 2 ^ 12, mc.einsum(table.concat(spec, ',') .. '->am', unpack(list)))
    assert.equal(11, #mc.einsum_path(table.concat(spec, ','), unpack(list)).path)
  end)

  it('keeps dtypes: halves stay, sums of integers and booleans give i64', function()
    for _, dtype in ipairs { 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128' } do
      local a = mc.ones({ 2, 2 }, { dtype = dtype })
      assert.equal(dtype, mc.einsum('ij,jk', a, a).dtype)
      assert.equal(dtype, mc.einsum('ij,ij->ij', a, a).dtype)
      assert.equal(dtype, mc.einsum('ij->', a).dtype)
    end
    local i, b = mc.ones({ 2, 2 }, { dtype = 'i16' }), mc.ones({ 2, 2 }, { dtype = 'bool' })
    assert.equal('i16', mc.einsum('ij,ij->ij', i, i).dtype)
    assert.equal('i64', mc.einsum('ij,jk', i, i).dtype)
    assert.equal('bool', mc.einsum('ij,ij->ij', b, b).dtype)
    assert.same({ { 2, 2 }, { 2, 2 } }, mc.einsum('ij,jk', b, b):totable())
  end)

  it('explains what does not fit', function()
    local a, b = mc.zeros { 2, 3 }, mc.zeros { 4, 5 }
    fails('einsum: j has two sizes in "ij,jk", operand 1 is f64[2,3]@cpu and operand 2 is f64[4,5]@cpu; they must be '
      .. 'equal or 1', mc.einsum, 'ij,jk', a, b)
    fails('einsum: "ij,jk" has 2 terms, 1 operands are given; give one for each', mc.einsum, 'ij,jk', a)
    fails('einsum: term 1 of "i" names 1 axes, operand 1 is f64[2,3]@cpu; name each axis once or add ...',
      mc.einsum, 'i', a)
    fails('einsum: "ij->k" gives k, which no operand has; drop it', mc.einsum, 'ij->k', a)
    fails('einsum: "ij->ii" gives i twice', mc.einsum, 'ij->ii', a)
    fails('einsum: cannot read "i1->i" at "1"', mc.einsum, 'i1->i', a)
    fails('einsum: two ellipses', mc.einsum, '......', a)
    fails("einsum: subscripts are f64[2,3]@cpu; give a string like 'ij,jk->ik'", mc.einsum, a, a)
    fails('option optimize is', mc.einsum, 'ij', a, { optimize = 'best' })
    local two, list = mc.ones { 2, 2, 2, 2, 2 }, {}
    for k = 1, 10 do list[k] = mc.ones { 2 } end
    list[11] = { optimize = 'left' }
    fails('einsum: an intermediate result would have 10 axes; at most 8', mc.einsum,
      'abcde,fghij,a,b,c,d,e,f,g,h,i,j->', two, two, unpack(list))
  end)
end)

describe('products', function()
  law('are linear and agree with each other', function(draw)
    local n, m, k = draw(1, 4), draw(1, 4), draw(1, 5)
    local a, b, c = whole(draw, { n, k }), whole(draw, { k, m }), whole(draw, { k, m })
    equal(mc.tensordot(a, b, 1), mc.matmul(a, b))
    equal(mc.dot(a, b + c), mc.dot(a, b) + mc.dot(a, c))
    equal(mc.inner(a, b.T), mc.matmul(a, b))
    equal(mc.kron(a, b).T, mc.kron(a.T, b.T))
    equal(mc.vecdot(a, a), (a * a):sum(2))
    equal(mc.outer(a, b), mc.tensordot(a, b, 0):reshape(n * k, k * m))
  end)

  law('of long rows do not depend on how memory lies or on threads', function(draw)
    local n = draw(1, 40000)
    local x, y = mc.randn({ 3, n }, { seed = draw(1, 1e6) }), mc.randn({ 3, n }, { seed = draw(1, 1e6) })
    local threads = mc.get_num_threads()
    local first = mc.vecdot(x, y)
    mc.set_num_threads(threads == 1 and 2 or 1)
    equal(first, mc.vecdot(x, y))
    mc.set_num_threads(threads)
    close(mc.vecdot(x.T:copy().T, y), first, { n = n, scale = mc.vecdot(mc.abs(x), mc.abs(y)):max():item() })
  end)

  law('cross is at right angles to both and turns its sign', function(draw)
    local a, b = whole(draw, { draw(1, 4), 3 }), whole(draw, { 3 })
    local c = mc.cross(a, b)
    assert.is_false(mc.any(mc.vecdot(c, a)))
    assert.is_false(mc.any(mc.vecdot(c, b)))
    equal(c, -mc.cross(b, a))
  end)

  it('cross in one pass has the bits of its components by themselves, in every layout and for any threads', function()
    local a, b = mc.randn({ 9000, 2, 3 }, { seed = 1 }), mc.randn({ 9000, 2, 3 }, { seed = 2 })
    local rows = mc.randn({ 2, 3 }, { seed = 3 })
    for _, dtype in ipairs { 'f64', 'f32' } do
      for _, case in ipairs { { a, b }, { a, rows }, { rows, b }, { a['::3, ::-1, ::-1'], b['::3'] },
        { a[{ { 1, 40 } }]:permute_dims(2, 1, 3), b[{ { 1, 40 } }]:permute_dims(2, 1, 3) }, { rows[1], rows[2] },
        { a[{ {} }], rows } } do
        local x, y = case[1]:to(dtype), case[2]:to(dtype)
        local function part(t, k) return t[{ mc.ellipsis, k }] end
        local want = mc.stack({ part(x, 2) * part(y, 3) - part(x, 3) * part(y, 2), part(x, 3) * part(y, 1) - part(x,
          1) * part(y, 3), part(x, 1) * part(y, 2) - part(x, 2) * part(y, 1) }, { axis = -1 })
        local threads = mc.get_num_threads()
        for _, n in ipairs { 1, 2 } do
          mc.set_num_threads(n)
          local got = mc.cross(x, y)
          assert.equal(dtype, got.dtype)
          equal(want, got)
          equal(want, mc.cross(mc.moveaxis(x, -1, 1), mc.moveaxis(y, -1, 1), 1):moveaxis(1, -1))
        end
        mc.set_num_threads(threads)
      end
    end
    local x, y = a[{ { 1, 5 } }], b[{ { 1, 5 } }]
    equal(mc.cross(x, y), mc.compile(function(u, v) return mc.cross(u, v) end)(x, y))
    equal(mc.cross(x, y), mc.vmap(mc.cross)(x, y))
    -- d (u x y) . 1 = y x 1
    equal(mc.cross(y, mc.ones { 5, 2, 3 }), mc.grad(function(u) return mc.sum(mc.cross(u, y)) end)(x))
  end)

  it('kron, tile and repeat_each give their memory back with their result, without the collector', function()
    local a, b, c = mc.ones { 30, 30 }, mc.ones { 20, 20 }, mc.ones { 5000 }
    collectgarbage()
    collectgarbage()
    local before = mc.memory().tensors
    for _, f in ipairs { function() return mc.tile(c, 3) end, function() return mc.tile(a, { 2, 2 }) end,
      function() return mc.repeat_each(c, 3) end, function() return mc.repeat_each(a, 3, 2) end,
      function() return mc.kron(a, b) end } do
      collectgarbage 'stop'
      local y = f()
      local held = mc.memory().tensors - before
      y:release()
      local left = mc.memory().tensors - before
      collectgarbage 'restart'
      assert.is_true(held >= 8 * 2700)
      -- tile of two axes has a result between
      assert.is_true(left < held / 1.9, ('%d of %d bytes are left'):format(left, held))
      collectgarbage()
      collectgarbage()
    end
  end)

  it('write into out, also when it is an operand', function()
    local x = mc.tensor { 1, 2, 3 }
    local out = mc.zeros {}
    assert.is_true(rawequal(out, mc.vecdot(x, x, { out = out })))
    assert.equal(14, out:item())
    local m = mc.zeros { 3, 3 }
    mc.outer(x, x, { out = m })
    assert.equal(9, m[{ 3, 3 }]:item())
    local y = mc.tensor { { 1, 2 }, { 3, 4 } }
    mc.vecdot(y, y, { out = y[1] })
    assert.same({ { 5, 25 }, { 3, 4 } }, y:totable())
  end)

  it('explain what does not fit', function()
    local a, b = mc.zeros { 2, 3 }, mc.zeros { 4 }
    fails('vecdot: sizes differ on the axis, a is f64[2,3]@cpu and b is f64[4]@cpu; they must be equal', mc.vecdot, a,
      b)
    fails('vecdot: axis 5 is outside the operands f64[2,3]@cpu and f64[4]@cpu', mc.vecdot, a, b, 5)
    fails('vecdot: outer sizes do not broadcast, a is f64[2,3]@cpu and b is f64[5,3]@cpu', mc.vecdot, a,
      mc.zeros { 5, 3 })
    fails('dot: summed sizes differ, operands are f64[2,3]@cpu and f64[4]@cpu', mc.dot, a, b)
    fails('vdot: operands are f64[2,3]@cpu and f64[4]@cpu; give the same number of elements', mc.vdot, a, b)
    fails('tensordot: 3 axes are summed, operands are f64[2,3]@cpu and f64[4]@cpu; give fewer', mc.tensordot, a, b, 3)
    fails('tensordot: axis 1 of f64[2,3]@cpu is named twice', mc.tensordot, a, a, { { 1, 1 }, { 1, 2 } })
    fails('tensordot: 2 axes of f64[2,3]@cpu are paired with 1 of f64[2,3]@cpu', mc.tensordot, a, a, { { 1, 2 }, 1 })
    fails('cross: operands are f64[2,3]@cpu and f64[4]@cpu; the axis must have size 3', mc.cross, a, b)
    fails('cross: outer sizes do not broadcast, a is f64[2,3]@cpu and b is f64[5,3]@cpu; they must be equal or 1',
      mc.cross, a, mc.zeros { 5, 3 })
    fails('kron: operands are f64[1,1,1,1,1]@cpu and f64[4]@cpu; at most 4 axes', mc.kron,
      mc.zeros { 1, 1, 1, 1, 1 }, b)
    fails('dot: operand is nil', mc.dot, a)
  end)
end)

describe('pad', function()
  law('of every mode leaves the operand in the middle and any layout alone', function(draw)
    local shape, width = {}, {}
    for i = 1, draw(1, 3) do
      shape[i] = draw(1, 5)
      width[i] = { draw(0, 6), draw(0, 6) }
    end
    local x = whole(draw, shape, 'f64')
    local p, key = {}, {}
    for i = 1, #shape do
      p[i] = #shape + 1 - i
      key[i] = { width[i][1] + 1, width[i][1] + shape[i] }
    end
    local y = x:permute_dims(p):copy():permute_dims(p)
    for _, mode in ipairs { 'constant', 'edge', 'reflect', 'symmetric', 'wrap', 'linear_ramp', 'maximum', 'minimum',
      'mean', 'median', 'odd_reflect' } do
      local a, b = mc.pad(x, width, { mode = mode }), mc.pad(y, width, { mode = mode })
      equal(a, b)
      equal(x, a[key])
    end
    equal(x, mc.pad(x, width, { mode = 'empty' })[key])
  end)

  it('takes out=, strided or overlapping its operand', function()
    local x = mc.arange(1, 3)
    local base = mc.zeros { 5, 2 }
    mc.pad(x, 1, { mode = 'edge', out = base[{ mc.all, 1 }] })
    assert.same({ { 1, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 }, { 3, 0 } }, base:totable())
    local y = mc.arange(1, 5)
    mc.pad(y[{ { 1, 3 } }], 1, { out = y })
    assert.same({ 0, 1, 2, 3, 0 }, y:totable())
  end)

  it('does not allocate more than its result and the maps of its axes', function()
    local x = mc.zeros { 300, 300 }
    collectgarbage()
    collectgarbage()
    mc.pad(x, 5, { mode = 'reflect' }):release()
    local live = mc.memory().live
    local C = require 'mascon.core.ffi'.C
    C.mc_memory_reset_peak()
    local y = mc.pad(x, 5, { mode = 'reflect' })
    assert.is_true(mc.memory().peak - live <= y.nbytes + 2 * 310 * 8 + 65536)
  end)

  it('explains what does not fit', function()
    local x = mc.zeros { 2, 3 }
    fails('pad: widths do not fit f64[2,3]@cpu', mc.pad, x, { 1, 2, 3 })
    fails('pad: width is -1; it must be integer >= 0', mc.pad, x, -1)
    fails('pad: operand is f64[]@cpu; it needs at least one axis', mc.pad, mc.tensor(1), 1)
    fails('pad: axis 1 of f64[0,2]@cpu is empty and has nothing to repeat', mc.pad, mc.zeros { 0, 2 }, 1,
      { mode = 'mean' })
    fails('does not fit u8', mc.pad, mc.zeros({ 2 }, { dtype = 'u8' }), 1, { value = 300 })
    fails('does not fit i32', mc.pad, mc.zeros({ 2 }, { dtype = 'i32' }), 1, { value = 0.5 })
  end)
end)

describe('matrices and pieces', function()
  law('diagonals are views and triangles add up', function(draw)
    local n, m, k = draw(1, 5), draw(1, 5), draw(-6, 6)
    local x = whole(draw, { n, m }, 'f64')
    equal(x, mc.tril(x, k) + mc.triu(x, k + 1))
    local d = mc.diagonal(x, { offset = k })
    assert.is_true(d:numel() == 0 or d:shares_memory(x))
    local sum = 0
    for i = 1, n do if i + k >= 1 and i + k <= m then sum = sum + x[{ i, i + k }]:item() end end
    assert.equal(sum, mc.trace(x, { offset = k }):item())
    local i, j = mc.tril_indices(n, k, { m = m })
    equal(x[{ i, j }], x[mc.tri(n, m, { k = k }):ne(0)])
  end)

  law('pieces put together give the whole, quarter turns come round', function(draw)
    local x = whole(draw, { draw(1, 7), draw(1, 7) })
    local a = draw(1, 2)
    equal(x, mc.concat(mc.array_split(x, draw(1, 9), a), a))
    local n = x.shape[a]
    local p = draw(1, n)
    equal(x, mc.concat(mc.split(x, { p, n }, a), a))
    equal(x, mc.rot90(mc.rot90(mc.rot90(mc.rot90(x)))))
    equal(mc.rot90(x, -1), mc.rot90(x, 3))
  end)

  it('of constant diagonals keep infinities and booleans where they are', function()
    equal(mc.tensor { { 1, 5 }, { mc.inf, 1 } }, mc.toeplitz(mc.tensor { 1, mc.inf }, mc.tensor { 1, 5 }))
    equal(mc.tensor { { mc.inf, 1 }, { 1, 0 } }, mc.hankel(mc.tensor { mc.inf, 1 }))
    assert.same({ { true, false }, { false, true } }, mc.toeplitz(mc.tensor { true, false }):totable())
    assert.same({ { { 1, 2 }, { 2, 1 } }, { { 3, 4 }, { 4, 3 } } },
      mc.toeplitz(mc.tensor { { 1, 2 }, { 3, 4 } }):totable())
  end)

  it('explain what does not fit', function()
    local x = mc.zeros { 2, 3 }
    fails('tril: operand is f64[3]@cpu; it needs at least two axes', mc.tril, mc.zeros { 3 })
    fails('diag: operand is f64[1,1,1]@cpu; give one axis or two', mc.diag, mc.zeros { 1, 1, 1 })
    fails('diagonal: axes 1 and -2 of f64[2,3]@cpu are the same', mc.diagonal, x, { axis1 = 1, axis2 = -2 })
    fails('split: 2 does not divide axis 2 of f64[2,3]@cpu; use array_split', mc.split, x, 2, 2)
    fails('block: lists are nested 1 and 2 deep', mc.block, { x, { x } })
    fails('block: a list is empty', mc.block, { {} })
    fails('vstack: the list is empty', mc.vstack, {})
    fails('concat: shapes differ off the axis', mc.hstack, { x, mc.zeros { 3, 3 } })
    fails('rot90: axes 1 and 1 of f64[2,3]@cpu are the same', mc.rot90, x, 1, { axes = { 1, 1 } })
    fails('fill_diagonal_: operand is f64[3]@cpu', mc.fill_diagonal_, mc.zeros { 3 }, 1)
    fails('vander: operand is f64[]@cpu', mc.vander, mc.tensor(2))
    fails('sliding_window_view: 2 sizes for 1 axes', mc.sliding_window_view, x, { 1, 2 }, { axis = 1 })
  end)
end)
