-- compile_passes_spec.lua - any subset of the passes gives the bits of the plain function; each pass does what it says
-- and no more.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local property, programs = support.load 'property', support.load 'programs'
local same = programs.same

local PASSES = { 'algebra', 'anew', 'copies', 'cse', 'dce', 'epilogue', 'fold', 'fuse', 'inplace', 'patterns',
  'prologue', 'rows', 'split' }

--- Calls f with what pays for large graphs alone done wherever it is possible.
local function with_least(f, ...)
  local smallest = {}
  for _, name in ipairs { ... } do
    local pass = require('mascon.compile.passes.' .. name)
    smallest[pass], pass.SMALLEST = pass.SMALLEST, 0
  end
  local ok, e = pcall(f)
  for pass, least in pairs(smallest) do pass.SMALLEST = least end
  if not ok then error(e, 0) end
end

--- Calls f with tiles wherever they are possible, however little there is to do.
local function with_tiles(f) with_least(f, 'tiles') end

--- The law: f compiled with a subset of the passes, called twice, gives what f gives.
local function any_subset(draw)
  local f, args = programs.draw(draw, draw(1, 14))
  local want = f(unpack(args))
  for round = 1, 4 do
    local on, text = {}, {}
    for _, name in ipairs(PASSES) do
      on[name] = round == 1 or (round > 2 and draw(0, 1) == 1)
      if on[name] then text[#text + 1] = name end
    end
    local g = mc.compile(f, { passes = on, tier = 'vm' })
    for call = 1, 2 do same(want, g(unpack(args)), ('call %d with passes %s'):format(call, table.concat(text, ' '))) end
  end
end

describe('random programs', function()
  it('give the same bits with any subset of passes (nn C27)', function()
    with_least(function() property.check(any_subset, 200) end, 'tiles', 'anew')
  end)
end)

-- ---------------------------------------------------------------- pass by pass

local function x(seed, shape, dtype) return mc.randn { shape[1], shape[2], seed = seed, dtype = dtype or 'f64' } end

--- f compiled and run twice on args, held against f; the compiled function and the report of a pass.
local function tried(what, f, args, opts, pass)
  local o = { tier = 'vm' }
  for k, v in pairs(opts or {}) do o[k] = v end
  local g = mc.compile(f, o)
  local want = { f(unpack(args)) }
  for _ = 1, 2 do
    local got = { g(unpack(args)) }
    for i, w in ipairs(want) do same(w, got[i], what .. ' ' .. i) end
  end
  local passes = g:explain().passes
  for k = #passes, 1, -1 do
    local r = passes[k]
    if r.name == pass then return g, r.did end
  end
  return g
end

--- The ops of the graph that is run, one line each.
local function ops(g)
  local out = {}
  for line in tostring(g:graph()):gmatch '[^\n]+' do out[#out + 1] = line:match '<%- ([%w_]+)' end
  return table.concat(out, ' ')
end

describe('dce', function()
  it('leaves out what nobody reads', function()
    local _, did = tried('dead', function(a)
      local unused = mc.exp(a) -- luacheck: ignore
      return a * 2
    end, { x(1, { 3, 4 }) }, nil, 'dce')
    assert.equal(0, did.removed) -- the first turn took it
    local g = mc.compile(function(a)
      mc.exp(a):matmul(a)
      return a + 1
    end)
    g(x(1, { 4, 4 }))
    assert.equal(2, g:explain().passes[1].did.removed)
  end)
end)

describe('cse', function()
  it('computes the same op on the same operands once', function()
    local g, did = tried('twice', function(a, b) return (a + b):matmul(a) * (a + b):matmul(a) end,
      { x(1, { 4, 4 }), x(2, { 4, 4 }) }, { passes = { fuse = false, epilogue = false } }, 'cse')
    assert.equal(2, did.removed)
    assert.equal('add matmul multiply', ops(g))
  end)
  it('tells parameters and layouts apart, and draws of random numbers', function()
    local _, did =
      tried('apart', function(a) return a:sum(1) + a:sum(2) + a.T:sum(1) end, { x(1, { 4, 4 }) }, nil, 'cse')
    assert.equal(0, did.removed)
    local g = mc.compile(function(a) return a + mc.randn { 3 }, mc.randn { 3 } end)
    local p, q = g(mc.zeros { 3 })
    assert.is_false(mc.array_equal(p, q))
  end)
  it('leaves writes apart', function()
    tried('writes', function(a)
      local p, q = mc.zeros { 2, 2 }, mc.zeros { 2, 2 }
      p['1, :'] = a['1, :']
      q['1, :'] = a['1, :']
      p:add_(1)
      return p, q
    end, { x(1, { 2, 2 }) })
  end)
end)

describe('work done anew', function()
  local recording = require 'mascon.graph.recording'
  local function heavy(a) return mc.exp(mc.sin(a) * 2) end
  -- the gradient of sum(heavy(a) * a^T a) by hand, with the first result kept or made again
  local function program(again)
    return function(a)
      local first = heavy(a)
      local h = first:matmul(first.T)
      for _ = 1, 3 do h = h:matmul(h) / 1e3 end
      return h:matmul(again(a))
    end
  end
  it('is not merged with the first time, nor moved there, and gives the same bits', function()
    local a = x(1, { 40, 40 })
    local kept = tried('kept', program(heavy), { a })
    local made = tried('made again', program(function(b) return recording.anew(heavy, b) end), { a })
    assert.truthy(kept:explain().passes[5].did.removed >= 3)
    assert.equal(0, made:explain().passes[5].did.removed)
    assert.truthy(tostring(made:graph()):find('computed anew', 1, true))
  end)
  it('frees what is kept in between', function()
    local a = x(1, { 100, 100 })
    local function deep(again)
      return function(b)
        local kept, h = {}, b
        for k = 1, 6 do
          kept[k] = h
          h = mc.cumsum(mc.sin(h), 1)
        end
        for k = 6, 1, -1 do h = h * (again and k > 1 and recording.anew(function()
          local v = b
          for _ = 2, k do v = mc.cumsum(mc.sin(v), 1) end
          return v
        end) or kept[k]) end
        return h
      end
    end
    local keep, remake = tried('kept', deep(false), { a }), tried('made again', deep(true), { a })
    assert.truthy(remake.forms[1].arena < keep.forms[1].arena)
  end)
end)

describe('fold', function()
  it('computes constants beforehand, and not what comes from outside', function()
    local outside = mc.ones { 200 }
    local function f(a)
      local noise = mc.random.normal({ 200 }, { key = mc.random.key(3) }) * 2
      return (a * (noise + 1) + outside) * 3
    end
    local g, did = tried('constants', f, { mc.ones { 200 } }, nil, 'fold')
    assert.truthy(did.removed >= 1)
    outside:add_(1)
    same(f(mc.ones { 200 }), g(mc.ones { 200 }), 'after the outside changed')
  end)
end)

describe('copies', function()
  it('go when they only move what lies there', function()
    local _, did = tried('copy', function(a)
      local b = a:copy()
      return b * 2 + b:sum()
    end, { x(1, { 3, 5 }) }, nil, 'copies')
    assert.equal(1, did.removed)
    tried('written afterwards', function(a)
      local b = a:copy()
      b:mul_(3)
      b['1, :'] = a['2, :']
      return b, a + 1
    end, { x(1, { 3, 5 }) })
    tried('view of a strided copy', function(a)
      local b = a.T:copy()
      return b['2:, 1'], b:reshape(-1)
    end, { x(1, { 3, 5 }) })
  end)
  it('stay where an argument becomes another one', function()
    local g = mc.compile(function(a, b)
      local keep = a:copy()
      a:copy_(b)
      b:copy_(keep)
    end)
    for _ = 1, 3 do
      local a, b = mc.full({ 3, 3 }, 1), mc.full({ 3, 3 }, 2)
      g(a, b)
      same(mc.full({ 3, 3 }, 2), a, 'first')
      same(mc.full({ 3, 3 }, 1), b, 'second')
    end
  end)
end)

describe('algebra', function()
  local alone = { passes = { fuse = false } }
  local special = mc.tensor { { 0, -1.5, 1e308, 1 / 0, -1 / 0, 0 / 0, 5e-324, 3 } } * mc.tensor { { 1 }, { -1 } }
  local zeros = mc.tensor { 0, 1 } * -1 -- a negative zero and -1

  --- The ops left of f on values where zeros, infinities and NaN tell identities apart.
  local function left(f, opts)
    local g = tried('identity', f, { special }, opts or alone)
    tried('identity on signed zeros', f, { zeros:reshape(-1, 1):expand(2, 8):copy() }, opts or alone)
    return ops(g)
  end

  it('keeps every bit under strict', function()
    assert.equal('', left(function(a) return a * 1 end))
    assert.equal('', left(function(a) return -(-(a - 0)) / 1 end))
    assert.equal('', left(function(a) return mc.where(mc.gt(a, 0), a, a) end))
    assert.equal('where', left(function(a)
      return mc.where(mc.tensor { true, false, true, false, true, false, true, false }, a, 1)
    end):gsub('copy ', ''))
    assert.equal('', left(function(a) return mc.where(mc.tensor { true }, a, 1) end):gsub('where', ''))
    assert.equal('', left(function(a) return mc.maximum(a, a) end))
    assert.equal('abs', left(function(a) return mc.abs(-mc.abs(a)) end))
    assert.equal('square', left(function(a) return mc.square(-a) end))
    assert.equal('multiply', left(function(a) return a / 8 end))
    assert.equal('', left(function(a) return a * mc.ones { 2, 1 } end):gsub('multiply', ''))
    assert.equal('floor', left(function(a) return mc.floor(mc.floor(a)) end))
  end)
  it('leaves alone what rounds, or what zeros, infinities and NaN tell apart', function()
    assert.equal('add', left(function(a) return a + 0 end))
    assert.equal('multiply', left(function(a) return a * 0 end))
    assert.equal('subtract', left(function(a) return a - a end))
    assert.equal('divide', left(function(a) return a / 3 end))
    assert.equal('log exp', left(function(a) return mc.exp(mc.log(a)) end))
    local g =
      tried('complex', function(a) return a * 1 end, { mc.tensor { mc.complex(1, 1 / 0), mc.complex(-0.0, 2) } }, alone)
    assert.equal('multiply', ops(g))
  end)
  it('does more when numbers may be taken for numbers', function()
    local function fast(f)
      local g = mc.compile(f, { math = 'fast', passes = { fuse = false } })
      local a = mc.tensor { { 0.5, 2, 3 } }
      g(a)
      assert.truthy(mc.allclose(f(a), g(a)))
      return ops(g)
    end
    assert.equal('', fast(function(a) return a + 0 end))
    assert.equal('multiply', fast(function(a) return a / 3 end))
    assert.equal('multiply', fast(function(a) return a * 3 * 5 * 7 end))
    assert.equal('', fast(function(a) return mc.exp(mc.log(a)) end))
  end)
  it('goes straight through conversions that lose nothing', function()
    assert.equal('',
      ops((tried('there and back', function(a) return a:to 'f64':to 'f32' end, { x(1, { 2, 3 }, 'f32') }, alone))))
    assert.equal('to_f32 to_f64',
      ops((tried('narrow', function(a) return a:to 'f32':to 'f64' end, { x(1, { 2, 3 }) }, alone))))
    assert.equal('to_i32 to_f64',
      ops((tried('whole numbers', function(a) return a:to 'i32':to 'f64' end, { mc.full({ 2, 2 }, 1.5) }, alone))))
    tried('sizes of unsigned numbers', function(a) return mc.abs(-a) end,
      { mc.tensor({ 1, 2, 255 }, { dtype = 'u8' }) })
    tried('sizes of signed numbers', function(a) return mc.abs(-a) end,
      { mc.tensor({ 1, -128, 127 }, { dtype = 'i8' }) })
  end)
end)

describe('fuse', function()
  it('keeps a value apart that is read turned around', function()
    tried('turned', function(a)
      local y = a + 1
      return y + y.T, y['::-1, :'] * y
    end, { x(1, { 300, 300 }) })
  end)
  it('cuts groups that are too large for a program', function()
    local args = {}
    for k = 1, 24 do args[k] = x(k, { 20, 30 }) end
    local g, did = tried('many operands', function(...)
      local a, out = { ... }, {}
      local first = mc.exp(a[1] / 3)
      for k = 2, 24 do out[k - 1] = (first + a[k]) * a[k - 1] end
      return unpack(out)
    end, args, nil, 'fuse')
    assert.truthy(did.groups >= 2 and g.forms[1].steps < 12)
  end)
  it('lets dead groups go without the pass for dead code', function()
    tried('dead', function(a)
      mc.exp(mc.sin(a))
      return a:sum()
    end, { x(1, { 30, 30 }) }, { passes = { dce = false } })
  end)
end)

describe('epilogue', function()
  it('works on tiles of products of any shape, dtype and batch', function()
    for _, dtype in ipairs { 'f32', 'f64' } do
      for _, s in ipairs { { 3, 5, 7 }, { 64, 64, 64 }, { 300, 200, 500 }, { 700, 30, 40 }, { 1, 100, 9 },
        { 200, 0, 3 } } do
        local a, b, bias = x(1, { s[1], s[2] }, dtype), x(2, { s[2], s[3] }, dtype),
          mc.randn { s[3], seed = 3, dtype = dtype }
        local _, did =
          tried('linear', function(p, q, c) return mc.tanh(p:matmul(q) + c) * 2 end, { a, b, bias }, nil, 'epilogue')
        assert.equal(1, did.groups)
        tried('residual and product', function(p, q, c)
          local h = p:matmul(q)
          return mc.maximum(h + c, 0) + h, h
        end, { a, b, bias })
      end
    end
    tried('batch', function(p, q) return mc.exp(p:matmul(q) * 0.1) end,
      { mc.randn { 3, 1, 20, 30, seed = 1 }, mc.randn { 4, 30, 25, seed = 2 } })
    tried('vectors', function(p, q) return p:matmul(q) * 2 + 1 end,
      { mc.randn { 30, seed = 1 }, mc.randn { 30, 25, seed = 2 } })
    tried('half', function(p, q) return p:matmul(q) end, { x(1, { 8, 30 }):to 'f16', x(2, { 30, 25 }):to 'f16' })
  end)
  it('leaves a product alone whose other readers are needed first', function()
    local _, did = tried('detour', function(p)
      local h = p:matmul(p)
      return h - h:max(2, { keepdim = true })
    end, { x(1, { 20, 20 }) }, nil, 'epilogue')
    assert.equal(0, did.groups)
  end)
end)

describe('anew', function()
  -- products are dear, what lies between them is not; layers widen and narrow again
  local function deep(a, ...)
    local w = { ... }
    for k = 1, #w, 2 do a = a + mc.nn.gelu(mc.nn.layer_norm(a, 256):matmul(w[k])):matmul(w[k + 1]) end
    return mc.sum(mc.square(a))
  end
  local function gradient(...) return unpack(mc.grad(deep, { argnums = { 1, 2, 3, 4, 5, 6, 7 } })(...)) end
  local function operands(dtype)
    local args = { x(1, { 16, 256 }, dtype) }
    for k = 2, 6, 2 do
      args[k], args[k + 1] = x(k, { 256, 512 }, dtype) / 16, x(k + 1, { 512, 256 }, dtype) / 16
    end
    return args
  end

  it('makes a second time what would be kept, with the same bits', function()
    with_least(function()
      for _, dtype in ipairs { 'f32', 'f64' } do
        local args = operands(dtype)
        local kept = mc.compile(gradient, { tier = 'vm', passes = { anew = false } })
        local g, did = tried('grad', gradient, args, nil, 'anew')
        local want, got = { kept(unpack(args)) }, { g(unpack(args)) }
        for i, w in ipairs(want) do same(w, got[i], dtype .. ' ' .. i) end
        assert.truthy(did.nodes >= 4)
        assert.truthy(g:explain().memory.peak < 0.8 * kept:explain().memory.peak)
        assert.truthy(tostring(g:graph()):find('computed anew', 1, true))
      end
    end, 'anew')
  end)

  it('leaves small graphs and what costs more than it spares', function()
    local _, did = tried('grad', gradient, operands 'f32', nil, 'anew')
    assert.equal(0, did.nodes)
    with_least(function() -- everything is elementwise: a second run of any of it is too large a share
      local function chain(a) return mc.sum(mc.sin(mc.sin(a))) end
      _, did = tried('chain', mc.grad(chain), { x(1, { 64, 64 }) }, { passes = { fuse = false } }, 'anew')
      assert.equal(0, did.nodes)
    end, 'anew')
  end)
end)

describe('prologue', function()
  it('keeps the bits of every reduction, whole, along rows and down columns', function()
    for _, dtype in ipairs { 'f32', 'f64' } do
      for _, name in ipairs { 'sum', 'mean', 'prod', 'max', 'min', 'argmax', 'argmin', 'var', 'std', 'logsumexp',
        'nansum', 'nanmax', 'nanvar' } do
        for _, s in ipairs { { 3, 40000 }, { 300, 5 }, { 600, 513 }, { 3, 1 } } do
          local a, f = x(1, s, dtype), mc[name]
          for _, axis in ipairs { 0, 1, 2 } do
            tried(('%s %s [%d,%d] axis %d'):format(name, dtype, s[1], s[2], axis), function(p)
              local v = mc.where(mc.gt(p, 3), 1, mc.sin(p) * 0.5)
              if axis == 0 then return f(v) end
              return f(v, axis)
            end, { a })
          end
        end
      end
    end
    local g, did =
      tried('truth', function(p) return mc.count_nonzero(mc.gt(p, 0.5)) end, { x(1, { 200, 100 }) }, nil, 'prologue')
    assert.equal(1, did.groups)
    assert.equal('reduced greater', (ops(g):gsub('gt', 'greater'):gsub(' count_nonzero', '')))
  end)
end)

describe('split', function()
  it('takes what one reduction reads out of a group that writes the rest anyway', function()
    local g, did = tried('loss', function(a, w)
      local h = mc.tanh(a:matmul(w) + 1)
      return h, (h * h):sum(), mc.abs(h):max(1)
    end, { x(1, { 60, 30 }), x(2, { 30, 50 }) }, nil, 'split')
    assert.equal(2, did.groups)
    assert.equal(3, g.forms[1].steps)
    local _, none = tried('too much to read', function(a, b, c)
      local h = a * b
      return h, mc.sin(a + b * c - h):sum()
    end, { x(1, { 60, 30 }), x(2, { 60, 30 }), x(3, { 60, 30 }) }, nil, 'split')
    assert.equal(0, none.groups)
  end)
end)

describe('rows', function()
  it('keeps norms, softmax and what follows in cache, to the bit', function()
    for _, dtype in ipairs { 'f32', 'f64' } do
      for _, s in ipairs { { 64, 50 }, { 700, 300 }, { 3, 5000 }, { 1000, 1 } } do
        with_tiles(function()
          local a, w = x(1, s, dtype), mc.randn { s[2], seed = 2, dtype = dtype }
          local _, did = tried('layer norm', function(p, q)
            local c = p - p:mean { -1, keepdim = true }
            return c / mc.sqrt(mc.square(c):mean { -1, keepdim = true } + 1e-5) * q + 1
          end, { a, w }, nil, 'rows')
          assert.equal(1, did.groups)
          tried('rms norm without kept axis',
            function(p, q) return p * mc.rsqrt(mc.square(p):mean(-1) + 1e-5):reshape(-1, 1) * q end, { a, w })
          tried('softmax',
            function(p, q) return mc.softmax(p * 2 + q, -1) * 3, mc.log_softmax(p, -1):max(-1) end, { a, w })
        end)
      end
    end
  end)
  it('cuts several leading axes', function()
    local a = mc.randn { 5, 40, 60, 70, seed = 1, dtype = 'f32' }
    local _, did =
      tried('attention weights', function(p) return mc.softmax(p * 0.125 - 1, -1) * 2 end, { a }, nil, 'rows')
    assert.equal(1, did.groups)
    tried('two axes in a row', function(p) return p - p:mean { 3, 4, keepdim = true } end, { a })
    tried('broadcast along the first axes', function(p, q) return mc.softmax(p + q, -1) - 1 end,
      { a, mc.randn { 40, 1, 70, seed = 2, dtype = 'f32' } })
  end)
  it('takes every reduction and dtype along', function()
    local a = mc.randn { 301, 77, seed = 1 } * 3
    a[{ 7, 5 }] = 0 / 0
    for _, dtype in ipairs { 'f64', 'f32', 'i32', 'f16', 'c64' } do
      for _, name in ipairs { 'sum', 'mean', 'max', 'prod', 'argmin', 'var', 'logsumexp', 'nansum', 'nanmax',
        'count_nonzero', 'any' } do
        if not (dtype == 'c64' and not ('sum mean prod'):find(name)) then
          with_tiles(function()
            tried(name .. ' ' .. dtype, function(p)
              local d = p + p
              local r = mc[name](d, { 2, keepdim = true })
              return mc.where(mc.eq(r, r), d, p) * 2, r
            end, { dtype == 'i32' and mc.where(mc.isnan(a), 0, a):to 'i32' or a:to(dtype) }, nil, 'rows')
          end)
        end
      end
    end
  end)
  it('writes large results past the caches, also when something reads them', function()
    local a, w = mc.randn { 4099, 1030, seed = 1, dtype = 'f32' }, mc.randn { 1030, seed = 2, dtype = 'f32' }
    local _, did =
      tried('one result', function(p, q) return (p - p:mean { 2, keepdim = true }) * q end, { a, w }, nil, 'rows')
    assert.equal(1, did.groups)
    tried('a result that is read inside', function(p, q)
      local d = p - p:mean { 2, keepdim = true }
      return d, d * q, mc.square(d):sum(2)
    end, { a, w }, nil, 'rows')
  end)
  it('keeps some products of matrices and what stands between them in cache', function()
    local function members(g)
      local list = {}
      for _, s in ipairs(g.forms[1].program) do if s.kind == 'tiles' then list[#list + 1] = s.count end end
      return list
    end
    local function attention(q, k, v, m) return mc.softmax(q:matmul(k.mT) * 0.25 + m, -1):matmul(v) end
    for _, dtype in ipairs { 'f32', 'f64' } do
      local function wave(...) return mc.randn({ ... }, { seed = select('#', ...), dtype = dtype }) end
      for _, tier in ipairs { 'vm', 'native' } do
        with_tiles(function()
          local g = tried('attention', attention,
            { wave(4, 8, 40, 16), wave(4, 8, 50, 16), wave(4, 8, 50, 24), wave(40, 50) }, { tier = tier }, 'rows')
          assert.same({ 3 }, members(g)) -- the product with what is made of it, softmax, the other product
          tried('heads that share their keys', attention,
            { wave(4, 8, 40, 16), wave(8, 50, 16), wave(50, 24), wave(8, 1, 50) }, { tier = tier })
          tried('layers', function(a, w, b)
            return mc.maximum(a:matmul(w) + b, 0):matmul(w.mT) - a:sum { 3, keepdim = true }
          end, { wave(20, 30, 8), wave(8, 12), wave(12) }, { tier = tier })
          tried('a gradient',
            mc.grad(function(...) return mc.sum(mc.square(attention(...))) end, { argnums = { 1, 2, 3 } }),
            { wave(3, 6, 20, 8), wave(3, 6, 30, 8), wave(3, 6, 30, 8), wave(30) }, { tier = tier })
        end)
      end
    end
    local large = mc.randn { 16, 400, 420, seed = 1, dtype = 'f32' }
    local g = tried('large ones', function(a, b) return mc.softmax(a:matmul(b) * 2, -1) - 1 end,
      { large, mc.randn { 16, 420, 500, seed = 2, dtype = 'f32' } }, nil, 'rows')
    assert.same({ 2 }, members(g)) -- softmax and the subtraction
  end)
  it('hands on what goes wrong in a tile', function()
    local g = mc.compile(function(p, q) return mc.floor_divide(p, q) - p:max { -1, keepdim = true } end)
    local a = mc.ones { 500, 300, dtype = 'i64' }
    g(a, a)
    local zero = a:copy()
    zero['400, 7'] = 0
    assert.truthy(support.message(function() g(a, zero) end):find('floor_divide: integer division by zero', 1, true))
  end)
end)

describe('memory', function()
  it('gives results the place of operands that nobody needs any more', function()
    local function f(a) return mc.tanh(mc.exp(mc.sin(a))) end
    local a = x(1, { 200, 100 })
    local g = tried('chain', f, { a }, { passes = { fuse = false } })
    assert.equal(1, g:explain().memory.inplace.count)
    local h = tried('chain', f, { a }, { passes = { fuse = false, inplace = false } })
    assert.equal(160000, h.forms[1].arena - g.forms[1].arena)
    assert.truthy(h.forms[1].arena <= h.forms[1].memory.total)
  end)
end)

describe('arguments that are one tensor', function()
  it('are not taken for one in the next call', function()
    local g = mc.compile(function(a, b) return a - b end)
    local a, b = mc.full({ 200 }, 3), mc.full({ 200 }, 1)
    same(mc.zeros { 200 }, g(a, a), 'the same')
    same(mc.full({ 200 }, 2), g(a, b), 'two')
    same(mc.full({ 200 }, 3), a, 'untouched')
  end)
end)

describe('a large graph', function()
  local function chain(n)
    return function(a)
      local b = a
      for i = 1, n do
        local k = i % 6
        if k == 0 then
          a = mc.sin(a)
        elseif k == 1 then
          b = a + b
        elseif k == 2 then
          a = a * 0.5
        elseif k == 3 then
          b = b - b:mean()
        elseif k == 4 then
          a = mc.maximum(a, b)
        else
          a = a:matmul(b) / 16
        end
      end
      return a, b
    end
  end
  it('is compiled in steps proportional to its nodes', function()
    local groups = require 'mascon.compile.groups'
    local function visits(n)
      local before = groups.visits
      local g = mc.compile(chain(n))
      g(x(1, { 4, 4 }))
      assert.truthy(g:explain().nodes >= n)
      return (groups.visits - before) / n
    end
    local small, large = visits(500), visits(10000)
    assert.truthy(large < 1.5 * small + 1, ('%g and %g visits per node'):format(small, large))
  end)
  it('that never ends is an error', function()
    local function deeper(a) return deeper(a + 1) + 1 end
    assert.truthy(support.message(function() mc.compile(deeper)(mc.ones { 2 }) end):find('stack overflow', 1, true))
    same(mc.full({ 2 }, 2), mc.compile(function(a) return a + 1 end)(mc.ones { 2 }), 'afterwards')
  end)
end)

-- ---------------------------------------------------------------- reading

describe('MASCON_PASSES', function()
  local process = support.load 'process'
  local script = [[
    local mc = require 'mascon'
    local f = mc.compile(function(a) return mc.exp(a * 1) + mc.exp(a * 1) end)
    f(mc.zeros { 2 })
    print((tostring(f:explain()):gsub('%s+', ' ')))]]
  it('switches passes off, and names those it does not know', function()
    local text = process.mascon(script, { MASCON_PASSES = '-cse,-fuse' }).text
    assert.truthy(
      text:find('cse off', 1, true) and text:find('fuse off', 1, true) and not text:find('algebra off', 1, true), text)
    text = process.mascon(script, { MASCON_PASSES = '-czze' }).text
    assert.truthy(text:find("compile: MASCON_PASSES names no pass, 'czze'; did you mean cse?", 1, true), text)
  end)
end)

describe('f:graph and f:explain', function()
  local scale = 0.25
  local function model(a, w) return mc.softmax(mc.tanh(a:matmul(w) * 1.5) * scale, -1), (a * a):sum() end
  local function compiled(opts)
    local g = mc.compile(model, opts)
    g(x(1, { 300, 200 }), x(2, { 200, 300 }))
    return g
  end

  it('print the graph as run, and before and after a pass', function()
    local g = compiled()
    local text = tostring(g:graph())
    assert.truthy(text:find('inputs    %1: f64[300,200]  %2: f64[200,300]', 1, true), text)
    assert.truthy(text:find('<- product(%1, %2, 1.5, 0.25)', 1, true), text)
    assert.truthy(text:find('<- reduced', 1, true), text)
    local before = tostring(g:graph { pass = 'fuse', when = 'before' })
    assert.truthy(before:find('%3: f64[300,300] <- matmul(%1, %2)', 1, true), before)
    assert.truthy(before:find('<- softmax(%9; axis = 2)', 1, true) or before:find('<- softmax(%', 1, true), before)
    assert.truthy(tostring(g:graph { pass = 'fuse' }):find('fused(', 1, true))
  end)
  it('write DOT', function()
    local path = os.tmpname()
    assert.equal(true, compiled():graph():dot(path))
    local f = assert(io.open(path))
    local dot = f:read '*a'
    f:close()
    os.remove(path)
    assert.truthy(dot:find('digraph mascon {', 1, true) and dot:find('product: matmul multiply tanh multiply', 1, true),
      dot)
    local opened, closed = select(2, dot:gsub('{', '')), select(2, dot:gsub('}', ''))
    assert.equal(opened, closed)
  end)
  it('count the operations of products, convolutions, attention and loops', function()
    local function operations(f, ...)
      local g = mc.compile(f)
      g(...)
      return g:explain().cost.operations
    end
    local function ones(...) return mc.ones { ... } end
    assert.equal(2 * 5 * 7 * 3, operations(mc.matmul, ones(5, 3), ones(3, 7)))
    -- 2 images of 4 channels to 6 in 2 groups, 9 taps, 8 x 8 places; the same terms in both derivatives
    local conv = 2 * (2 * 6 * 64) * (2 * 9)
    local function convolve(a, w) return mc.nn.conv2d(a, w, { padding = 1, groups = 2 }) end
    assert.equal(conv, operations(convolve, ones(2, 4, 8, 8), ones(6, 2, 3, 3)))
    for k = 1, 2 do
      assert.equal(conv, operations(function(a, w, c)
        return (select(k, select(2, mc.vjp(convolve, a, w))(c)))
      end, ones(2, 4, 8, 8), ones(6, 2, 3, 3), ones(2, 6, 8, 8)))
    end
    local function attend(q, k, v) return mc.nn.scaled_dot_product_attention(q, k, v) end
    assert.equal(2 * 2 * 5 * 7 * (4 + 3), operations(attend, ones(2, 5, 4), ones(2, 7, 4), ones(2, 7, 3)))
    local function loop(a) return (mc.scan(function(s) return mc.matmul(s, s) end, a, nil, { length = 6 })) end
    assert.equal(6 * 2 * 3 ^ 3, operations(loop, ones(3, 3)))
  end)
  it('explain what was put together, what not and why, constants, memory and cost', function()
    local g = compiled()
    local r = g:explain()
    assert.equal('product', r.groups[1].kind)
    assert.equal('matmul multiply tanh multiply', table.concat(r.groups[1].ops, ' '))
    assert.equal('reduced', r.groups[2].kind)
    assert.equal('softmax', r.alone[1].op)
    local from = {}
    for _, c in ipairs(r.constants) do from[tostring(c.value)] = c.from end
    assert.equal('the number scale outside the function', from['0.25'])
    assert.truthy(from['1.5']:find 'compile_passes_spec%.lua:%d+$')
    assert.truthy(r.cost.operations > 2 * 300 * 300 * 200)
    local text = tostring(r)
    for _, part in ipairs { 'passes', 'put together', 'alone', 'constants', 'memory', 'cost of a call', 'frozen' } do
      assert.truthy(text:find(part, 1, true), part)
    end
    assert.equal('first call', r.why)
    g(x(1, { 30, 20 }), x(2, { 20, 30 }))
    assert.equal('shape of argument 1 is {30, 20}, was {300, 200}', g:explain().why)
    assert.equal('first call', g:explain { form = 1 }.why)
    assert.truthy(g:explain().seconds > 0 and tostring(g:explain()):find 'traced in [%d.]+ ms: shape of argument 1', 1,
      true)
    local off = tostring(compiled { passes = { cse = false } }:explain())
    assert.truthy(off:find('cse       off', 1, true), off)
  end)
  it('list the variables outside with their values, or that they are read at each call', function()
    local factor, axis, unused = 3, 2, 'text'
    local g = mc.compile(function(t) return mc.sum(t * (factor * 2), axis), unused end)
    local a = mc.tensor { { 1, 2, 3 }, { 4, 5, 6 } }
    g(a)
    assert.same({ { name = 'factor', value = 3 }, { name = 'axis', value = 2 }, { name = 'unused', value = 'text' } },
      g:explain().outside)
    assert.truthy(tostring(g:explain()):find('factor = 3: with another value the function is traced again', 1, true))
    factor = 4
    assert.equal(8 * 21, mc.sum((g(a))):item())
    assert.same({ { name = 'axis', value = 2 }, { name = 'unused', value = 'text' },
      { name = 'factor', given = true } }, g:explain().outside)
    assert.truthy(tostring(g:explain()):find('factor, read at each call', 1, true))
    axis = 1
    g(a)
    assert.equal('axis is 1, was 2', g:explain().why)
    unused = nil
    g(a)
    assert.equal([[unused is nil, was 'text']], g:explain().why)
  end)
  it('say what they cannot do', function()
    local function message(...) return support.message(...) end
    assert.truthy(message(function() mc.compile(model):explain() end)
      :find('explain: nothing is compiled yet; call the function once', 1, true))
    local g = compiled()
    assert.truthy(message(function() g:graph { pass = 'fuze' } end)
      :find('graph: pass "fuze" is unknown; did you mean "fuse"?', 1, true))
    assert.truthy(message(function() g:graph { form = 3 } end):find('graph: form is 3 and there are 1', 1, true))
    assert.truthy(message(function() mc.compile(model, { passes = { cze = false } }) end)
      :find("compile: option passes names no pass, 'cze'; did you mean cse?", 1, true))
    assert.truthy(message(function() mc.compile(model, { passes = { cse = 1 } }) end)
      :find('compile: option passes.cse is 1; give true or false', 1, true))
    assert.truthy(message(function() mc.compile(model, { math = 'loose' }) end):find('compile: option math', 1, true))
  end)
end)
