-- network_module_spec.lua - modules as tables of parameters: names, files, freezing, hooks, messages, pure functions.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local nn = mc.nn
local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir '" .. folder .. "'")

local says = support.says

local function mlp(key)
  local k = mc.random.key(key or 1)
  return nn.Sequential { nn.Linear(3, 8, { key = k:fold_in(1) }), nn.ReLU(), nn.Linear(8, 2, { key = k:fold_in(2) }) }
end
local function f32(shape, seed) return mc.randn(shape, { seed = seed }):to 'f32' end
local function names(net)
  local out = {}
  for i, p in ipairs(net:named_parameters()) do out[i] = p.name end
  return table.concat(out, ' ')
end

local Net = nn.Module 'Net'
function Net:init()
  self.encoder = nn.Sequential { nn.Linear(3, 4), nn.BatchNorm1d(4) }
  self:parameter('scale', { 4 }, 'ones')
  self.head = nn.Linear(4, 2)
end
function Net:forward(x) return self.head(mc.tanh(self.encoder(x)) * self.scale) end

describe('a module', function()
  it('names its own parameters, then those of its parts, in the order of registration', function()
    local net = Net()
    assert.equal('scale encoder.1.weight encoder.1.bias encoder.2.weight encoder.2.bias head.weight head.bias',
      names(net))
    assert.equal(12 + 4 + 4 + 4 + 4 + 8 + 2, net:count())
    assert.same({ 4, 3 }, { net.encoder[1].weight:size() })
    local text = tostring(net)
    assert(text:find('Net: 38 parameters, 192 bytes', 1, true), text)
    assert(text:find('    1      Linear(3, 4)    16', 1, true), text)
    local summary = net:summary(mc.zeros { 5, 3, dtype = 'f32' })
    assert(summary:find('Linear(4, 2)    f32[5,2]          10          80', 1, true), summary)
    assert(summary:find('200 operations of products a call', 1, true), summary)
  end)

  it('counts tied parameters once, and those of models that need no memory (nn C24)', function()
    local Model = nn.Module 'Model'
    function Model:init(vocabulary, width, heads, layers, o)
      self.embedding = nn.Embedding(vocabulary, width)
      if o.places then self.places = nn.LearnedPositions(o.places, width) end
      self.blocks = nn.TransformerEncoder(width, heads, layers, o.block)
      self.head = nn.Linear(width, vocabulary, { bias = false })
      self.head:tie('weight', self.embedding)
    end
    local before = support.tensor_bytes()
    local function count(...)
      local args = { ... }
      return nn.shapes_only(function() return Model(unpack(args)) end):count()
    end
    assert.equal(19427328, count(1000, 512, 8, 6, {}))
    assert.equal(124439808, count(50257, 768, 12, 12, { places = 1024 }))
    assert.equal(151702272, count(50000, 768, 12, 12, { block = { hidden = 3072, activation = 'swiglu',
      norm = 'rms' } }))
    assert.equal(before, support.tensor_bytes())
    local small = nn.shapes_only(function() return nn.Linear(2, 2) end)
    says('weight: the module was built with shapes only and has no tensors; call module:initialise() first', function()
      return small(mc.zeros { 1, 2, dtype = 'f32' })
    end)
    assert.same({ 1, 2 }, { small:initialise()(mc.zeros { 1, 2, dtype = 'f32' }):size() })
    local tied = Model(5, 4, 1, 1, {})
    tied.embedding.weight = mc.ones { 5, 4 }
    assert(mc.all(mc.eq(tied.head.weight, 1)))
    assert.is_nil(tied:parameters()['head.weight'])
  end)

  it('goes to a file and back with the same bits', function()
    local net, other, x = Net(), Net(), f32({ 6, 3 }, 1)
    net(x) -- running moments move
    net:save(folder .. '/net.npz')
    other:load(folder .. '/net.npz')
    assert.is_true(mc.array_equal(net:eval()(x), other:eval()(x)))
    assert.equal(1, other.encoder[2].num_batches_tracked:item())
    local state = net:state_dict()
    state['head.bias'] = nil
    state.extra = mc.ones { 1 }
    says('module:load_state_dict: missing: head.bias; not in the module: extra; strict = false takes what fits',
      other.load_state_dict, other, state)
    local missing, unknown = other:load_state_dict(state, { strict = false })
    assert.same({ 'head.bias' }, missing)
    assert.same({ 'extra' }, unknown)
    state['head.weight'] = mc.ones { 3, 3 }
    says('head.weight is f64[3,3]@cpu, the module has f32[2,4]; both need the same shape', other.load_state_dict, other,
      state, { strict = false })
    says('module: weight is f64[1]@cpu, the module has f32[2,4]; give a tensor of that shape', function()
      net.head.weight = mc.ones { 1 }
    end)
  end)

  it('is frozen by name', function()
    local net = Net()
    net:freeze '^encoder%.'
    assert.same({ 'head.bias', 'head.weight', 'scale' }, mc.tree.keys(net:parameters()))
    assert.equal(14, net:count { trainable = true })
    assert.same({ 4, 3 }, { net:frozen()['encoder.1.weight']:size() })
    says("module:freeze: no parameter matches 'encodr'", net.freeze, net, 'encodr')
    net:unfreeze()
    assert.is_not_nil(net:parameters()['encoder.1.weight'])
  end)

  it('converts and draws anew', function()
    local net = mlp()
    net:to 'f64'
    assert.equal('f64', net[1].weight.dtype)
    assert.same({ 4, 2 }, { net(mc.ones { 4, 3 }):size() })
    local a = net:initialise { key = 3 }[1].weight
    local b = net:initialise { key = 3 }[1].weight
    assert.is_true(mc.array_equal(a, b))
    assert.is_false(mc.array_equal(a, net:initialise { key = 4 }[1].weight))
    net:initialise('weight$', { 'constant', value = 2 })
    assert(mc.all(mc.eq(net[3].weight, 2)))
    says('module:initialise: initialiser is \'he_norml\'; give a name of mc.nn.init (did you mean "he_normal"?)',
      net.initialise, net, 'weight$', 'he_norml')
  end)

  it('keeps what layers make of their first values when these are drawn anew', function()
    local function lstm(forget)
      return nn.shapes_only(function() return nn.LSTM(2, 3, { forget_bias = forget, key = 5 }) end)
    end
    local plain, open, made = lstm(0):initialise(), lstm(1):initialise(), nn.LSTM(2, 3, { forget_bias = 1, key = 5 })
    local more = mc.tensor({ 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0 }, { dtype = 'f32' })
    assert.is_true(mc.array_equal(plain.bias_ih_l0 + more, open.bias_ih_l0))
    assert.is_true(mc.array_equal(made.bias_ih_l0, open.bias_ih_l0))
    assert.is_true(mc.array_equal(more, open:initialise('^bias_ih', 'zeros').bias_ih_l0))
    local table_, ones = nn.Embedding(4, 2, { padding_idx = 2 }), mc.ones({ 4, 2 }, { dtype = 'f32' })
    for _, init in ipairs { 'he_normal', 'ones', function() return ones end } do
      assert.same({ 0, 0 }, table_:initialise('weight$', init).weight[3]:totable())
      assert.is_true(mc.any(mc.ne(table_.weight[2], 0)))
    end
    assert.same({ 1, 1 }, ones[3]:totable())
  end)

  it('calls hooks', function()
    local net, seen = mlp(), {}
    local off = net[1]:hook(function(m, y, x) seen[#seen + 1] = { m, y.shape[2], x.shape[2] } end)
    local stop = net[3]:hook(function(_, y) return y * 0 end)
    local early = net:hook(function(_, x) return x + 1 end, { before = true })
    local y = net(mc.ones { 2, 3, dtype = 'f32' })
    assert.equal(net[1], seen[1][1])
    assert.same({ 8, 3 }, { seen[1][2], seen[1][3] })
    assert.equal(0, mc.sum(mc.abs(y)):item())
    off()
    stop()
    early()
    assert(mc.sum(mc.abs(net(mc.ones { 2, 3, dtype = 'f32' }))):item() > 0)
    assert.equal(1, #seen)
  end)

  it('refuses a tensor as a plain field, which nothing would train', function()
    local Own = nn.Module 'Own'
    function Own:init(n) self.amp = mc.zeros({ n }, { dtype = 'f32' }) end
    says('module: amp is a tensor (f32[3]@cpu), and as a plain field nothing trains or saves it; write '
      .. 'self:parameter("amp", tensor) for a weight, self:buffer("amp", tensor) for a constant', Own, 3)
    function Own:init(n)
      self:parameter('amp', mc.ones({ n }, { dtype = 'f32' }))
      self.amp = mc.zeros({ n }, { dtype = 'f32' })
    end
    function Own:forward(x)
      self.seen = x -- what a call keeps for a look is no weight
      return x + self.amp
    end
    local net = Own(3)
    assert.equal('amp', names(net))
    local x = f32({ 3 }, 1)
    assert.equal(x, net(x) and net.seen)
  end)
  it('refuses tables of tensors and modules as fields, which nothing would train', function()
    local Own = nn.Module 'Own'
    function Own:init() self.w = { 1, { top = mc.ones { 2 } } } end
    says("module: w[2].top is a tensor (f64[2]@cpu) in a table, where nothing trains or saves it; give each a name of "
      .. "its own: self:parameter('w_1', tensor)", Own)
    function Own:init()
      self.parts = {}
      for k = 1, 2 do self.parts[k] = nn.Linear(2, 2) end
    end
    says('module: parts[1] is a module in a table, where nothing trains or saves it; write self.parts = '
      .. 'mc.nn.ModuleList{ ... }, or mc.nn.ModuleDict', Own)
    function Own:init()
      self.sizes, self.key = { 1, { 2 } }, mc.random.key(1)
      self.parts = nn.ModuleList { nn.Linear(2, 2) }
    end
    function Own:forward(x)
      self.seen = { x } -- for a look
      return self.parts[1](x)
    end
    local net = Own()
    net(mc.ones({ 1, 2 }, { dtype = 'f32' }))
    assert.equal(6, net:count())
    assert.equal(1, #net.seen)
    says('module: w[1] is a tensor', function() net.w = { mc.ones { 2 } } end)
  end)

  it('has lists that ipairs goes through, and full names in messages', function()
    local Own = nn.Module 'Own'
    function Own:init()
      self.layers = nn.ModuleList { nn.Linear(2, 2), nn.Linear(2, 2) }
      self.more = nn.ModuleDict { a = nn.Sequential { nn.Linear(2, 3) } }
    end
    function Own:forward(x)
      for _, layer in ipairs(self.layers) do x = layer(x) end
      return self.more.a(x)
    end
    local net = Own()
    assert.equal(2, #net.layers)
    local x = f32({ 1, 2 }, 1)
    assert.is_true(mc.array_equal(net(x), net.more.a(net.layers[2](net.layers[1](x)))))
    net.layers[2] = nn.Linear(2, 4)
    assert.same({ 4, 2 }, { unpack(net:parameters()['layers.2.weight'].shape) })
    says('(in more.a.1, Linear)', net, x)
    net.layers[2] = net.layers[1]
    assert.is_nil(net:parameters()['layers.2.weight'])
    net.layers[2] = nn.Linear(3, 4)
    says('(in layers.2, Linear)', net, x)
    net.layers[3] = nn.Linear(1, 1)
    assert.same({ 3, 3 }, { #net.layers, net.layers.n })
    assert.is_not_nil(net:parameters()['layers.3.weight'])
    for _, k in ipairs { -1, 0, 5 } do -- as in other libraries; nothing would call what stands there
      says(('ModuleList: position %d is outside its 3 parts; positions count from 1, list[list.n] is the last')
        :format(k), function() net.layers[k] = nn.Linear(1, 1) end)
    end
  end)

  it('of blocks keeps keys and values for each of them', function()
    local x, memory = f32({ 2, 5, 8 }, 1), f32({ 2, 3, 8 }, 2)
    local encoder = nn.TransformerEncoder(8, 2, 3, { causal = true, rope = true }):eval()
    local decoder = nn.TransformerDecoder(8, 2, 2):eval()
    local whole, other, one, two = encoder(x), decoder(x, memory), {}, {}
    for t = 1, 5 do
      local at = x[{ mc.all, { t, t } }]
      local y, z = encoder(at, { cache = one }), decoder(at, memory, { cache = two })
      assert(mc.allclose(y, whole[{ mc.all, { t, t } }], { rtol = 1e-5, atol = 1e-5 }))
      assert(mc.allclose(z, other[{ mc.all, { t, t } }], { rtol = 1e-5, atol = 1e-5 }))
    end
  end)

  it('refuses fields and methods that would hide methods of modules', function()
    local Own = nn.Module 'Own'
    for name, v in pairs { update = nn.Linear(3, 1), count = 5, buffers = {}, forward = nn.Linear(3, 1) } do
      function Own:init() self[name] = v end
      says(('Own: %s is a method of every module, as a field it would hide it; choose another name, such as %s_')
        :format(name, name), Own)
    end
    function Own:init() self:parameter('frozen', { 1 }) end
    says('Own: frozen is a method of every module', Own)
    function Own:init() self.forward = function(_, x) return x + 1 end end
    assert.equal(3, Own()(2))
    function Own:update() end -- luacheck: ignore self
    says('Own: the library calls the method update of modules, which the class defines anew; choose another name', Own)
  end)

  it('has copies with tensors of their own, which share what it shares', function()
    local Own = nn.Module 'Own'
    function Own:init()
      self.a, self.sizes, self.drop = nn.Linear(3, 3, { key = 1 }), { 3, { 4 } }, nn.Dropout(0.5)
      self.b = nn.Linear(3, 3, { bias = false })
      self.b:tie('weight', self.a)
      self.again = self.a
      self.norm = nn.BatchNorm1d(3)
    end
    function Own:forward(x) return self.norm(self.again(self.b(self.drop(self.a(x))))) end
    local net, xs = Own(), mc.randn({ 4, 3 }, { seed = 1, dtype = 'f32' })
    net:freeze 'bias$':eval()
    local twin = net:copy()
    assert.equal(net:count(), twin:count())
    assert.equal(net:count { trainable = true }, twin:count { trainable = true })
    assert.is_true(mc.array_equal(net(xs), twin(xs)))
    assert.is_true(rawequal(twin.again, twin.a) and not rawequal(twin.a, net.a))
    assert.is_true(twin.sizes[2][1] == 4 and not rawequal(twin.sizes[2], net.sizes[2]))
    local kept = net.a.weight:copy()
    local function sum(m, b) return mc.sum(m(b)) + mc.sum(m.a.weight) end
    nn.Step(twin:train(), sum, { optimizer = mc.optim.sgd { lr = 0.1 } })(xs)
    assert.is_true(mc.array_equal(kept, net.a.weight) and not mc.array_equal(kept, twin.a.weight))
    assert.is_true(mc.array_equal(twin.a.weight, twin.b.weight))
    assert.same({ 0, 1 }, { net.norm.num_batches_tracked:item(), twin.norm.num_batches_tracked:item() })
    assert.is_false(net:is_training())
    assert.equal(6, nn.shapes_only(function() return nn.Linear(2, 2) end):clone():count())
  end)

  it('derives from a class', function()
    local Base = nn.Module 'Base'
    local factor = 2
    function Base:init(n) self.inner = nn.Linear(n, n, { key = 1 }) end
    function Base:forward(x) return self.inner(x) * factor end
    function Base:twice(x) return self(self(x)) end
    local Derived = nn.Module('Derived', Base)
    function Derived:init(n)
      Base.init(self, n)
      self.more = nn.Linear(n, 1, { key = 2 })
    end
    function Derived:forward(x) return Base.forward(self, x) + self.more(x) end
    local net, xs = Derived(3), mc.ones({ 2, 3 }, { dtype = 'f32' })
    assert.equal('class Derived', tostring(Derived))
    assert.equal(16, net:count())
    assert.is_true(mc.array_equal(net.inner(xs) * 2 + net.more(xs), net(xs)))
    assert.same({ 2, 3 }, { unpack(net:twice(xs).shape) })
    local step = nn.Step(net, function(m, b) return mc.mean(m(b)) end, { optimizer = mc.optim.sgd { lr = 0 } })
    local first = step(xs)
    factor = 3 -- a variable of the base is read at each call
    assert.is_true(step(xs) ~= first)
    says('nn.Module: the base of D is a function; give a class of mc.nn.Module, and hold a layer as a part', nn.Module,
      'D', nn.Linear)
    Base.shared = nn.Linear(1, 1)
    says('Base: shared is a module in the class, where nothing trains or saves it; write self.shared = ... in init',
      Derived, 3)
  end)

  it('says how options and methods are written', function()
    says('nn.Conv2d: 1 is one argument too many; options stand in one table, { name = value }', nn.Conv2d, 3, 8, 3, 1,
      1)
    says('nn.Conv2d: options are 1; give a table, { name = value }; it takes bias, device, dilation', nn.Conv2d, 3, 8,
      3, 1)
    says('module: a method is called on nil; write it with a colon, as in net:parameters()',
      nn.Linear(1, 1).parameters)
  end)

  it('is applied to several inputs in a list, and says so', function()
    local gru = nn.GRU(2, 3)
    local x, h = f32({ 1, 4, 2 }, 1), f32({ 1, 1, 3 }, 2)
    assert.same({ 1, 1, 3 }, gru:apply(gru:parameters(), { x, h })[2].shape)
    says('module:apply: the argument behind the inputs is f32[1,1,3]@cpu; parameters come first, several inputs go in '
      .. 'a list: net:apply(net:parameters(), { x, y }, { train = true })', gru.apply, gru, gru:parameters(), x, h)
    says('module:apply: params is f32[1,4,2]@cpu; parameters come first', gru.apply, gru, x)
    assert.same({ 1, 4, 3 }, gru:with(gru:parameters(), function() return (gru(x)) end)[1].shape)
  end)

  it('answers to what is taken for another library, and to files that are none of its own', function()
    local net = nn.Linear(2, 3)
    says("Linear has no method cuda; it is net:to 'gpu'", function() net:cuda() end)
    says('Linear.forward: the first argument is f64[2]@cpu; call the module, net(x)', function()
      net.forward(mc.ones { 2 })
    end)
    assert.same({ 3 }, net:forward(mc.ones({ 2 }, { dtype = 'f32' })).shape)
    says('nn.Sequential: a table is one argument too many; several things go in one list, nn.Sequential{ ... }',
      nn.Sequential, net, net)
    mc.save(folder .. '/other.npz', { rows = mc.ones { 2 } })
    says('other.npz holds none of the tensors of the module, such as weight; give a file of module:save', net.load, net,
      folder .. '/other.npz')
  end)

  it('lets a signal end the program as it does outside of a module', function()
    local process = support.load 'process'
    process.write(folder .. '/ended.lua', [[
      local mc = require 'mascon'
      local Slow = mc.nn.Module 'Slow'
      function Slow:forward()
        os.execute 'kill -TERM $PPID'
        for _ = 1, 1e5 do mc.zeros { 10 } end
      end
      mc.nn.Sequential { Slow() } (1)
    ]])
    local exe = os.getenv 'MASCON' or require 'mascon.host'.exe
    local r = process.shell(("'%s' '%s/ended.lua'"):format(exe, folder))
    assert.equal(143, r.status, r.text)
    assert(not r.text:find('(in ', 1, true), r.text)
  end)
  it('says where in it a shape is wrong', function()
    local net = Net()
    says('nn.linear: input is f32[2,5]@cpu and weight is f32[4,3]@cpu; the last axis of the input must have the size '
      .. 'of the second of the weight (in encoder.1, Linear)', net, mc.ones { 2, 5, dtype = 'f32' })
    local bad = nn.Sequential { nn.Conv2d(1, 4, 3), nn.Sequential { nn.Conv2d(3, 2, 3) } }
    says('nn.conv2d: input f32[1,4,4,4]@cpu has 4 channels, weight f32[2,3,3,3]@cpu takes 3', bad,
      mc.ones { 1, 1, 6, 6, dtype = 'f32' })
    says('(in 2.1, Conv2d)', bad, mc.ones { 1, 1, 6, 6, dtype = 'f32' })
    says('module:apply: the module has no head.wieght; did you mean head.weight?', net.apply, net,
      { ['head.wieght'] = mc.ones { 1 } }, mc.ones { 1, 3 })
    says('module:apply: scale is f64[1]@cpu, the module has f32[4]; give a tensor of that shape', net.apply, net,
      { scale = mc.ones { 1 } }, mc.ones { 1, 3 })
    says('nn.Linear: option "bais" is unknown; did you mean "bias"?', nn.Linear, 1, 2, { bais = false })
    says('nn.Sequential: a part is the function nn.ReLU; call it, as in nn.ReLU()', nn.Sequential,
      { nn.Linear(3, 4), nn.ReLU })
    assert.same({ 2, 4 }, { nn.Sequential { nn.Linear(3, 4), nn.relu } (f32({ 2, 3 }, 1)):size() })
    local Bare = nn.Module 'Bare'
    function Bare:init() self.inner = nn.Linear(1, 1) end
    says('Bare: the class has no forward; define function Bare:forward(...) (in 1, Bare)', nn.Sequential { Bare() },
      mc.ones { 1, 1 })
    -- after errors the module is as it was
    assert.same({ 2, 2 }, { net:eval()(mc.ones { 2, 3, dtype = 'f32' }):size() })
  end)
end)

describe('a module as a function of its parameters', function()
  local x, y = f32({ 7, 3 }, 2), mc.randint(0, 1, { 7 }, { seed = 3 })
  local net = mlp()
  local function loss(p, a, b) return nn.cross_entropy(net:apply(p, a), b) end

  it('is differentiated, compiled and mapped like any other', function()
    local p = net:parameters()
    local value, g = mc.value_and_grad(loss)(p, x, y)
    local compiled = mc.compile(mc.value_and_grad(loss))
    for _ = 1, 2 do
      local v2, g2 = compiled(p, x, y)
      assert.is_true(mc.array_equal(value, v2))
      for name in pairs(p) do assert.is_true(mc.array_equal(g[name], g2[name]), name) end
    end
    local q = mc.tree.map(function(t) return t * 1.5 end, p)
    assert.is_true(mc.array_equal(loss(q, x, y), (compiled(q, x, y))))
    assert.equal(1, compiled.traces)
    local both = {}
    for name in pairs(p) do both[name] = mc.stack({ p[name], q[name] }, 1) end
    local out = mc.vmap(function(params) return net:apply(params, x) end)(both)
    assert(mc.allclose(out[2], (net:apply(q, x)), { rtol = 1e-5, atol = 1e-6 }))
    assert.is_true(mc.array_equal((net:apply(p, x)), net(x)))
  end)

  it('is no argument that a derivative is taken by', function()
    local one = nn.Linear(3, 1)
    for _, f in ipairs { mc.grad, mc.value_and_grad } do
      for _, arg in ipairs { one, { inner = one } } do
        local e = support.message(f(function() return mc.sum(one(mc.ones { 1, 3 })) end), arg)
        assert(e:find('is a module, Linear(3, 1)', 1, true) and e:find('net:apply(params, x)', 1, true), e)
      end
    end
  end)

  it('returns new buffers and leaves those of the module', function()
    local bn = nn.Sequential { nn.BatchNorm1d(3) }
    local _, buffers = bn:apply(bn:parameters(), x, { train = true })
    assert.equal(1, buffers['1.num_batches_tracked']:item())
    assert.equal(0, bn[1].num_batches_tracked:item())
    assert(mc.any(mc.ne(buffers['1.running_mean'], 0)))
    local _, again = bn:apply({}, x, { train = true, buffers = buffers })
    assert.equal(2, again['1.num_batches_tracked']:item())
    bn(x)
    assert.is_true(mc.array_equal(bn[1].running_mean, buffers['1.running_mean']))
    local w = mc.ones { 3, dtype = 'f32' }:requires_grad()
    mc.sum(bn(x * w) ^ 3):backward()
    collectgarbage() -- handles that are gone end the tape
    collectgarbage()
    w:requires_grad(false)
    assert.equal(2, bn[1].num_batches_tracked:item())
    assert(mc.any(mc.ne(bn[1].running_var, buffers['1.running_var'])))
    says('changes in a traced call', function() return mc.grad(function(t) return mc.sum(bn(t)) end)(x) end)
  end)

  it('has its own again after a coroutine that would leave the call, which is refused', function()
    local waits = nn.Sequential { nn.Lambda(coroutine.yield), nn.Linear(3, 2) }
    local before, other = waits:parameters()['2.bias'], {}
    for k, v in pairs(waits:parameters()) do other[k] = v + 1 end
    local ok, why = coroutine.resume(coroutine.create(function() return waits:apply(other, mc.ones { 1, 3 }) end))
    assert.equal(false, ok)
    assert(why:find('module:apply: the function yielded; the call must end', 1, true), why)
    assert.is_true(mc.array_equal(before, waits:parameters()['2.bias']))
  end)

  it('in segments has the results and gradients of its parts one after the other (nn C23)', function()
    local function parts()
      local out = {}
      for k = 1, 5 do
        out[2 * k - 1] = nn.Linear(4, 4, { key = k, dtype = 'f64' })
        out[2 * k] = k % 2 == 0 and nn.Dropout(0.3) or nn.Tanh()
      end
      return out
    end
    local input = mc.randn({ 3, 4 }, { seed = 1 })
    local ones = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }
    for segments, sizes in pairs { [0] = { 3, 4, 3 }, [1] = { 10 }, [4] = { 3, 2, 3, 2 }, [99] = ones } do
      local cut = nn.CheckpointSequential(parts(), { segments = segments > 0 and segments or nil })
      local have, list = {}, {}
      for s = 1, cut.n do
        have[s] = cut[s].inner.n
        for i = 1, cut[s].inner.n do list[#list + 1] = cut[s].inner[i] end
      end
      assert.same(sizes, have)
      local plain = nn.Sequential(list) -- the same layers
      local function slopes(f)
        return mc.value_and_grad(function(p, t) return mc.sum(mc.sin(f:apply(p, t, { train = true, key = 7 }))) end,
          { argnums = { 1, 2 } })(f:parameters(), input)
      end
      local v, g = slopes(cut)
      local w, h = slopes(plain)
      assert.equal(w:item(), v:item())
      assert(mc.array_equal(h[2], g[2]))
      local count = 0
      for s = 1, cut.n do
        for name, p in pairs(cut[s].inner:parameters()) do
          for other, q in pairs(plain:parameters()) do
            if q == p then
              assert(mc.array_equal(h[1][other], g[1][('%d.inner.%s'):format(s, name)]))
              count = count + 1
            end
          end
        end
      end
      assert.equal(10, count)
    end
    assert(support.message(nn.CheckpointSequential, {}):find('the list of modules is empty', 1, true))
  end)

  it('drops by a key, equally when a checkpoint computes it again (nn C23)', function()
    local drop = nn.Sequential { nn.Linear(3, 64, { key = mc.random.key(5) }), nn.Dropout(0.5), nn.ReLU(),
      nn.Dropout(0.25) }
    local p = drop:parameters()
    local function value(key) return (drop:apply(p, x, { train = true, key = key })) end
    assert.is_true(mc.array_equal(value(1), value(1)))
    assert.is_false(mc.array_equal(value(1), value(2)))
    local share = mc.mean(mc.eq(nn.dropout(mc.ones { 200, 200 }, 0.3, 7), 0):to 'f64'):item()
    assert(math.abs(share - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 40000), share)
    assert.equal(1 / 0.7, mc.max(nn.dropout(mc.ones { 50 }, 0.3, 7)):item())
    local channels = nn.dropout(mc.ones { 4, 6, 5 }, 0.5, 1, { axes = 2 })
    assert(mc.all(mc.eq(mc.min(channels, 3), mc.max(channels, 3))))
    local function loss_of(q, key)
      return mc.sum(mc.checkpoint(function(r, k) return (drop:apply(r, x, { train = true, key = k })) end)(q, key) ^ 2)
    end
    local function plain(q, key) return mc.sum((drop:apply(q, x, { train = true, key = key })) ^ 2) end
    local a, b = mc.grad(loss_of)(p, mc.random.key(3)), mc.grad(plain)(p, mc.random.key(3))
    local c = mc.compile(mc.grad(loss_of))(p, mc.random.key(3))
    for name in pairs(p) do
      assert.is_true(mc.array_equal(a[name], b[name]), name)
      assert.is_true(mc.array_equal(a[name], c[name]), name)
    end
    says('random numbers in a traced call need a key', function()
      return mc.grad(function(q) return mc.sum(drop:apply(q, x, { train = true })) end)(p)
    end)
    mc.seed(3)
    local first = drop(x)
    mc.seed(3)
    assert.is_true(mc.array_equal(first, drop(x)))
    assert.is_false(mc.array_equal(first, drop(x)))
    assert.is_true(mc.array_equal(drop:eval()(x), drop(x)))
  end)

  it('decodes with a cache as without', function()
    for _, o in ipairs { { causal = true }, { causal = true, rope = true, kv_heads = 2 },
      { causal = true, alibi = true } } do
      o.dtype = 'f64'
      local attention = nn.MultiheadAttention(8, 4, o)
      local t = mc.randn({ 2, 5, 8 }, { seed = 9 })
      local whole, cache, parts = attention(t), {}, {}
      for i = 1, 5 do parts[i] = attention(t[{ mc.all, { i, i } }], { cache = cache }) end
      assert(mc.allclose(mc.concat(parts, 2), whole, { rtol = 1e-12, atol = 1e-13 }))
    end
  end)
end)

describe('initialisers', function()
  it('leave running moments, which are set back without one', function()
    local norm = nn.BatchNorm1d(3)
    norm(mc.randn({ 9, 3 }, { seed = 1 }):to 'f32' + 5)
    local before = norm.running_var
    norm:initialise(nil, 'normal')
    assert.is_true(mc.array_equal(before, norm.running_var))
    norm:initialise()
    assert.same({ 1, 1, 1 }, norm.running_var:totable())
  end)

  it('that are functions give tensors of the shape, which get the dtype', function()
    assert.equal('f32', nn.Linear(3, 3, { weight_init = function(shape) return mc.ones(shape) end }).weight.dtype)
    for _, bad in ipairs { mc.ones { 2 }, 5 } do
      local function make() return nn.Linear(3, 3, { weight_init = function() return bad end }) end
      local e = support.message(make)
      assert(e:find('what the initialiser gave is', 1, true) and e:find('the module has f32[3,3]', 1, true), e)
      local net = nn.Linear(3, 3)
      e = support.message(net.initialise, net, 'weight$', function() return bad end)
      assert(e:find('what the initialiser gave is', 1, true), e)
    end
  end)

  it('have the moments they claim (nn C42)', function()
    local shape = { 1024, 2048 }
    local function moments(name, o)
      o = o or {}
      o.dtype, o.key = 'f64', 1
      local w = nn.init[name](shape, o)
      local var = mc.mean(mc.square(w)):item()
      local m4 = mc.mean(mc.square(mc.square(w))):item()
      return var, m4 / var ^ 2, mc.max(mc.abs(w)):item()
    end
    for name, want in pairs { xavier = 2 / 3072, he = 2 / 2048, lecun = 1 / 2048 } do
      local var, kurtosis, largest = moments(name .. '_uniform')
      assert(math.abs(var / want - 1) < 0.005 and math.abs(kurtosis - 1.8) < 0.02, name)
      local bound = math.sqrt(3 * want)
      assert(largest <= bound and largest > 0.999 * bound, name)
      var, kurtosis = moments(name .. '_normal')
      assert(math.abs(var / want - 1) < 0.005 and math.abs(kurtosis - 3) < 0.02, name)
    end
    local var = moments 'torch_default'
    assert(math.abs(var * 3 * 2048 - 1) < 0.005)
    local cut, _, largest = moments 'trunc_normal'
    assert(math.abs(cut / 0.77374130355 - 1) < 0.005 and largest <= 2)
    assert(math.abs(moments('trunc_normal', { std = 0.02 }) / 4e-4 - 1) < 0.005)
    for _, s in ipairs { { 40, 64 }, { 64, 40 }, { 8, 2, 3 } } do
      local w = nn.init.orthogonal(s, { dtype = 'f64', key = 2 }):reshape(s[1], -1)
      local square = s[1] <= w.shape[2] and w:matmul(w.mT) or w.mT:matmul(w)
      assert(mc.max(mc.abs(square - mc.eye(square.shape[1]))):item() < 1e-12)
    end
    assert.same({ 144, 576 }, { nn.init.fans { 64, 16, 3, 3 } })
    assert.equal(1368, nn.SwiGLU(512).hidden)
  end)
end)

describe('positions', function()
  it('are rotated as specified (nn C18)', function()
    local x = mc.tensor { { 1, 0, 1, 0 } }
    local function near(want, got)
      for i, w in ipairs(want) do assert(math.abs(got[{ 1, i }]:item() - w) < 1e-13, i) end
    end
    near({ 0.54030230586814, 0.8414709848079, 0.99995000041667, 0.0099998333341667 }, nn.rope(x, { start = 1 }))
    near({ -0.30116867893976, 0, 1.381773290676, 0 }, nn.rope(x, { start = 1, layout = 'half' }))
    local q, k = mc.randn({ 1, 8 }, { seed = 1 }), mc.randn({ 1, 8 }, { seed = 2 })
    local function product(m, n) return mc.sum(nn.rope(q, { start = m }) * nn.rope(k, { start = n })):item() end
    assert(math.abs(product(3, 1) - product(103, 101)) < 1e-12)
    local y = nn.rope(q, { start = 9 })
    assert(math.abs(mc.sum(y * y):item() - mc.sum(q * q):item()) < 1e-13)
    local order = mc.tensor({ 1, 3, 5, 7, 2, 4, 6, 8 }, { dtype = 'i64' })
    assert.is_true(mc.array_equal(nn.rope(q:take(order, 2), { start = 5, layout = 'half' }),
      nn.rope(q, { start = 5 }):take(order, 2)))
    assert.same({ 0.5, 0.25, 0.125, 0.0625 }, (-nn.alibi(8, 2)[{ { 1, 4 }, 2, 1 }]):totable())
    -- heads beyond a power of two have every second slope of twice as many
    assert.same({ 2 ^ -2, 2 ^ -4, 2 ^ -6, 2 ^ -8, 2 ^ -1, 2 ^ -3 }, (-nn.alibi(6, 2)[{ mc.all, 2, 1 }]):totable())
  end)
end)

teardown(function()
  os.execute("rm -rf '" .. folder .. "'")
  collectgarbage()
  collectgarbage()
  assert(support.tensor_bytes() - BEFORE < 2 ^ 22)
end)
