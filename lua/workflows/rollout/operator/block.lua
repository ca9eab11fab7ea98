-- block.lua - what operators are built from: a convolution, and the normalisation, activation and sum after it.
--
-- A kit does both for one architecture: with the fused pass (kernels/workflows/rollout), or composed of ops, which has
-- derivatives. Source: specification of rollouts, 2.2 and 2.3.
local mc = require 'mascon'
local workflow = require 'mascon.base.workflow'
local M = {}

M.EPS = 1e-5
local NORM = { none = 0, batch = 2 }
local ACTIVATION = { none = 0, relu = 1, tanh = 2, silu = 3, swish = 3, gelu = 4, gelu_tanh = 5 }

--- Groups of n channels that are standardised together.
local function groups_of(arch, norm, n)
  if norm == 'instance' then return n end
  if norm ~= 'group' then return 1 end
  local g = math.min(arch.groups, n)
  while n % g ~= 0 do g = g - 1 end
  return g
end

local function normalise(x, norm, groups)
  if norm == 'none' then return x end
  if norm == 'batch' then return x * (1 / math.sqrt(1 + M.EPS)) end
  local B, C, H, W = x.shape[1], x.shape[2], x.shape[3], x.shape[4]
  local y = x:reshape(B * groups, -1)
  local mean = y:mean(2, { keepdim = true })
  local var = y:var(2, { keepdim = true })
  return ((y - mean) / (var + M.EPS):sqrt()):reshape(B, C, H, W)
end

local function activate(a, x)
  if a == 'relu' then return mc.maximum(x, 0) end
  if a == 'tanh' then return mc.tanh(x) end
  if a == 'silu' or a == 'swish' then return x / (1 + mc.exp(-x)) end
  if a == 'gelu' then return 0.5 * x * (1 + mc.special.erf(x * math.sqrt(0.5))) end
  if a == 'gelu_tanh' then
    return 0.5 * x * (1 + mc.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
  end
  return x
end

--- The parts of an architecture: conv(x, layer, weights), finish(y, skip, norm, activation), free(t).
---
--- finish gives activation(norm(y)) + skip; norm and activation are those of the architecture unless they are given.
--- free says that a tensor is not needed any more. arch.storage (f16, bf16): what finish gives is stored so; all sums
--- are of the dtype of the weights. composed: of ops with derivatives; free then does nothing.
---@param arch table
---@param composed? boolean
---@param keep? boolean free does nothing
---@param several? integer operators whose states stand one after the other, with weights [operators, ...] (1)
---@param direct? boolean convolutions are sums as they are written, never by tiles
---@return table
function M.kit(arch, composed, keep, several, direct)
  local kit = {}
  local usual = arch.activation == 'gelu' and arch.gelu == 'tanh' and 'gelu_tanh' or arch.activation
  local function stored(z)
    if not arch.storage then return z end
    local small = z:to(arch.storage)
    kit.free(z)
    return small
  end
  function kit.conv(h, layer, p)
    local wide = h:to(p.w.dtype)
    local B, C, H, W = h.shape[1], h.shape[2], h.shape[3], h.shape[4]
    local grouped = several and several > 1
    local x = grouped and wide:reshape(several, B / several, C, H, W) or wide
    local y = mc.nn.conv2d(x, p.w, { bias = p.b, padding = math.floor(layer.k / 2), stride = layer.stride or 1,
      padding_mode = arch.padding_mode, direct = direct })
    if wide.dtype ~= h.dtype then kit.free(wide) end
    if not grouped then return y end
    local flat = y:reshape(B, y.shape[3], y.shape[4], y.shape[5])
    kit.free(x) -- the views, or they would keep what the next layers can use again
    kit.free(y)
    return flat
  end
  if composed then
    function kit.finish(y, skip, norm, activation)
      norm = norm or arch.norm
      local z = activate(activation or usual, normalise(y, norm, groups_of(arch, norm, y.shape[2])))
      return stored(skip and z + skip:to(z.dtype) or z)
    end
    function kit.free() end
    return kit
  end
  workflow.native 'rollout'
  function kit.finish(y, skip, norm, activation)
    norm = norm or arch.norm
    return stored(workflow.call('ro_block', skip and { y, skip:to(y.dtype) } or { y }, { norm = NORM[norm] or 1,
      groups = groups_of(arch, norm, y.shape[2]), activation = ACTIVATION[activation or usual], eps = M.EPS }, 1)[1])
  end
  function kit.free(t) if not keep then t:release() end end
  return kit
end

return M
