-- network_names_spec.lua - state dictionaries under the names of PyTorch: read, written, and what a wrong kind is told.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local nn = mc.nn

local says = support.says

local Attention = nn.Module 'Attention'
function Attention:init(opts) self.attention = nn.MultiheadAttention(4, 2, opts) end
function Attention:forward(x, memory) return self.attention(x, memory) end

local Transformer = nn.Module 'Transformer'
function Transformer:init()
  local o = { hidden = 6, norm_first = false, activation = 'relu' }
  self.encoder = nn.TransformerEncoder(4, 2, 2, o)
  self.encoder.norm = nn.LayerNorm(4)
  self.decoder = nn.TransformerDecoder(4, 2, 1, o)
  self.decoder.norm = nn.LayerNorm(4)
end
function Transformer:forward(x, y) return self.decoder(y, self.encoder(x), { causal = false }) end

local MAKE = {
  list = function()
    return nn.Sequential { nn.Linear(3, 4), nn.Sequential { nn.BatchNorm1d(4), nn.ReLU() }, nn.Linear(4, 2) }
  end,
  attention = function() return Attention() end,
  plain = function() return Attention { bias = false } end,
  memory = function() return Attention { kv_width = 6 } end,
  transformer = function() return Transformer() end,
  first = function() return nn.TransformerEncoder(4, 2, 1, { hidden = 6 }) end,
}

local file = mc.load(support.folder .. '/golden/network_names.npz')
local function state_of(name)
  local state = {}
  for k, t in pairs(file) do
    local n = k:match('^' .. name .. '/state/(.*)$')
    if n then state[n] = t end
  end
  assert(next(state), name)
  return state
end

describe('names of PyTorch', function()
  it('are read and written: the results there, and the same tensors back', function()
    for name, make in pairs(MAKE) do
      local net, state = make():to 'f64':eval(), state_of(name)
      net:load_state_dict(state, { names = 'pytorch' })
      local y = net(file[name .. '/in/1'], file[name .. '/in/2'])
      local off = mc.max(mc.abs(y - file[name .. '/out'])):item()
      assert(off < 1e-10, ('%s: %g'):format(name, off))
      local back = net:state_dict { names = 'pytorch' }
      assert.same(mc.tree.keys(state), mc.tree.keys(back))
      for n, t in pairs(state) do assert(mc.array_equal(t, back[n]), name .. ' ' .. n) end
    end
  end)

  it('stand in files; layers that PyTorch has not keep theirs, shared tensors have each of their names', function()
    local path = os.tmpname() .. '.safetensors'
    local net, other = MAKE.first(), MAKE.first()
    net:save(path, { names = 'pytorch' })
    assert(mc.load(path)['layers.0.self_attn.in_proj_weight'])
    other:load(path, { names = 'pytorch' })
    assert(mc.array_equal(net.layers[1].self_attn.k_proj.weight, other.layers[1].self_attn.k_proj.weight))
    assert(other.layers[1].self_attn.k_proj.weight:is_contiguous())
    says("the names are those of PyTorch, names = 'pytorch' takes them", other.load, other, path)
    nn.Sequential { nn.Linear(2, 3) }:save(path, { names = 'pytorch' })
    says("holds none of the tensors of the module, such as 1.weight; the names are those of PyTorch, names = 'pytorch'",
      other.load, nn.Sequential { nn.Linear(2, 3) }, path)
    os.remove(path)
    os.remove((path:gsub('%.safetensors$', '')))
    local grouped = nn.TransformerEncoderLayer(8, 4, { kv_heads = 2, activation = 'swiglu', bias = false })
    assert.same(mc.tree.keys(grouped:state_dict()), mc.tree.keys(grouped:state_dict { names = 'pytorch' }))
    local tied = nn.Sequential { nn.Embedding(5, 4), nn.Linear(4, 5, { bias = false }) }
    tied[2]:tie('weight', tied[1])
    assert.same({ '0.weight', '1.weight' }, mc.tree.keys(tied:state_dict { names = 'pytorch' }))
    local Own = nn.Module 'Own'
    function Own:init() self.body = nn.Sequential { nn.Linear(2, 2, { bias = false }) } end
    function Own:pytorch_name(name) return (name:gsub('^body', 'trunk')) end -- luacheck: ignore self
    assert.same({ 'trunk.0.weight' }, mc.tree.keys(Own():state_dict { names = 'pytorch' }))
  end)

  it('of the wrong kind are told', function()
    local net = MAKE.list()
    says('not in the module: 0.bias, 0.weight, 1.0.bias', net.load_state_dict, net, state_of 'list')
    says("the names are those of PyTorch, names = 'pytorch' takes them", net.load_state_dict, net, state_of 'list')
    says("the names are those of the module, leave out names = 'pytorch'", net.load_state_dict, net, net:state_dict(),
      { names = 'pytorch' })
    local state = state_of 'attention'
    state['attention.in_proj_weight'] = mc.ones { 4, 4 }
    says('attention.in_proj_weight is f64[4,4]@cpu, the module has f32[12,4]; both need the same shape', function()
      Attention():load_state_dict(state, { names = 'pytorch' })
    end)
    state['attention.in_proj_weight'] = nil
    says('missing: attention.in_proj_weight; strict', function()
      Attention():load_state_dict(state, { names = 'pytorch' })
    end)
    says("names is 'torch'", net.state_dict, net, { names = 'torch' })
  end)
end)
