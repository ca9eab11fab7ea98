-- network_modules_spec.lua - every layer against PyTorch (forward, gradients, three steps), and what modules can do.
--
-- NETWORK_MODULES names another file of make_network_modules.py, with more configurations.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local nn = mc.nn

local function text(bytes)
  local out = {}
  for i, b in ipairs(bytes:totable()) do out[i] = string.char(b) end
  return table.concat(out)
end

--- The numbers that make_network_modules.py puts into tensors.
local function wave(shape, k)
  local n = 1
  for _, s in ipairs(shape) do n = n * s end
  local i = mc.arange(0, n - 1)
  return (mc.sin((i + 1) * 1.7 + 0.9 * k + mc.pow(i, 1.5) * 0.003) * 0.6):reshape(shape)
end

--- Five numbers that stand for a tensor.
local function five(t)
  local v = t:reshape(-1)
  local i = mc.arange(0, v.shape[1] - 1)
  return { mc.sum(v * mc.cos(i * 0.37 + 1)):item(), mc.sum(v * mc.cos(i * 1.91 + 0.2)):item(), mc.sum(mc.abs(v)):item(),
    v[1]:item(), v[-1]:item() }
end

local function copy(t)
  local out = {}
  for k, v in pairs(t or {}) do out[k] = v end
  return out
end

local function build(c)
  local args = {}
  for i, a in ipairs(c.args) do args[i] = a end
  local o = copy(c.options)
  if c.options then
    if not c.name:find 'Pool' then o.dtype = 'f64' end
    args[#args + 1] = o
  end
  return nn[c.name](unpack(args))
end

--- Arguments of a call; places of those that are differentiated.
local function inputs_of(c)
  local list, places = {}, {}
  for k, s in ipairs(c.inputs) do
    if s.ids then
      local n = 1
      for _, m in ipairs(s.ids) do n = n * m end
      list[k] = mc.remainder(mc.arange(0, n - 1, 1, { dtype = 'i64' }) * 7 + 3, s.most):reshape(s.ids)
    else
      list[k], places[#places + 1] = wave(s, k - 1), k
    end
  end
  return list, places
end

--- Results of a module as a list of tensors, in the order of PyTorch's.
local function flat(...)
  local out = {}
  local function walk(v)
    if type(v) == 'table' then for _, x in ipairs(v) do walk(x) end else out[#out + 1] = v end
  end
  for i = 1, select('#', ...) do walk((select(i, ...))) end
  return out
end

local function arguments(c, list)
  if c.name == 'LSTM' and list[2] then return { list[1], { list[2], list[3] } } end
  return list
end

local function check_case(c, values)
  local net = build(c)
  local params = {}
  for k, n in ipairs(c.names) do params[n[1]] = wave(n[2], k - 1 + 10) end
  net:load_state_dict(params, { strict = false })
  local own = net:parameters()
  local count = 0
  for name in pairs(own) do
    assert(params[name], c.name .. ' has ' .. name)
    count = count + 1
  end
  assert.equal(#c.names, count)
  local list, places = inputs_of(c)
  local at = c.first
  local function compare(what, t)
    at = at + 1
    local want, got = values[at], five(t)
    local size = math.max(1, want[3])
    for k = 1, 5 do
      local wrong = tol.compare('ITERATIVE', 'f64', got[k], want[k], { bound = 1e-10 * size })
      if wrong then error(('%s %s, %s: number %d: %s'):format(c.name, mc.json.encode(c), what, k, wrong), 0) end
    end
  end
  local function loss(p, xs, buffers)
    local all = {}
    for k, x in ipairs(list) do all[k] = x end
    for k, place in ipairs(places) do all[place] = xs[k] end
    local y, after = net:apply(p, arguments(c, all), { train = true, buffers = buffers })
    local total, results = mc.zeros {}, flat(y)
    for k, t in ipairs(results) do total = total + mc.sum(t * wave(t.shape, 5 + k - 1)) end
    return total, results, after
  end
  local floats = {}
  for k, place in ipairs(places) do floats[k] = list[place] end
  local opt = mc.optim.sgd { lr = 0.05, momentum = 0.9, weight_decay = 0.01 }
  local run = mc.value_and_grad(loss, { argnums = { 1, 2 }, has_aux = true })
  local p, state, buffers = own, count > 0 and opt.init(own) or nil, net:buffers()
  for step = 1, count > 0 and 3 or 1 do
    local _, g, results, after = run(p, floats, buffers)
    buffers = after
    if step == 1 then
      assert.equal(c.results, #results)
      for k, t in ipairs(results) do compare('result ' .. k, t) end
      for k, t in ipairs(g[2]) do compare('gradient of input ' .. k, t) end
      for _, n in ipairs(c.names) do compare('gradient of ' .. n[1], g[1][n[1]]) end
    end
    if count > 0 then p, state = opt.update(p, g[1], state) end
  end
  for _, n in ipairs(c.names) do compare(n[1] .. ' after three steps', p[n[1]]) end
  for _, n in ipairs(c.buffers) do compare('buffer ' .. n, buffers[n]) end
end

-- layers without cases of their own, and where they are tested
local WITHOUT = {
  Identity = 'no arithmetic', Flatten = 'no arithmetic', Lambda = 'a function of the user',
  DifferentialAttention = 'PyTorch has none: attention_spec',
  FeedForward = 'inside TransformerEncoderLayer', TransformerEncoder = 'network_step_spec, network_models_spec',
  TransformerDecoder = 'TransformerDecoderLayer has cases', UNet = 'ResidualBlock has cases; network_plan_spec',
}

describe('an activation of the op table', function()
  it('is an option of layers and a module', function()
    local points = mc.linspace(-4, 4, 9)
    local modules = {}
    for name, make in pairs(require 'mascon.nn.layer.activation') do
      local ok, y = pcall(function() return make()(points) end) -- gated ones take an even number
      if ok then modules[#modules + 1] = assert(nn[name]) and y end
    end
    modules[#modules + 1] = nn.GELU 'tanh'(points)
    for name, row in pairs(require 'mascon.core.op'.rows) do
      if row.namespace == 'nn' and row.family == 'unary' and not name:find '_slope$' then
        local want, found = nn[name](points), false
        for _, y in ipairs(modules) do found = found or mc.array_equal(y, want) end
        assert(found, name .. ' has no module')
        local layer = nn.Linear(9, 1, { activation = name, dtype = 'f64', weight_init = 'ones' })
        assert(mc.allclose(nn[name](mc.sum(points) + layer.bias), layer(points), { atol = 1e-9 }), name)
      end
    end
  end)
end)

describe('layers', function()
  it('agree with PyTorch on random configurations: results, gradients, three steps', function()
    local file = mc.load(os.getenv 'NETWORK_MODULES' or support.folder .. '/golden/network_modules.npz')
    local cases, values = mc.json.decode(text(file.cases)), file.values:totable()
    assert(#cases > 100)
    local seen = {}
    for _, c in ipairs(cases) do seen[c.name] = true end
    local files = 'linear convolution norm activation pool recurrent attention transformer language unet'
    for file_name in files:gmatch '%S+' do
      for name in mc.file.read(('%s/../lua/mascon/nn/init.lua'):format(support.folder))
        :match("%[layer '" .. file_name .. "'%] = (%b{})"):gmatch "'([A-Z]%w+)'" do
        assert((seen[name] ~= nil) ~= (WITHOUT[name] ~= nil), name .. ' has neither cases nor a reason, or both')
      end
    end
    for _, c in ipairs(cases) do mc.scope(check_case, c, values) end
  end)
end)
