-- predict.lua - a function of every draw: posterior predictions, derived quantities.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local source = require 'mascon.random.source'
local scalar = require 'mascon.optim.scalar'
local error = check.error
local is, methods = tensor.is, tensor.methods
local M = {}

local OPTS = { key = { nil, 'any' }, seed = { nil, 'integer >= 0' }, generator = { nil, 'table' },
  compile = { true, 'bool' } }

--- f of every draw, as a tensor [chain, draw, ...].
---
--- f(x, key): x has the form of the start of the sampler; key is another random key for every draw, for what is drawn
--- given the parameters (mc.random.normal { 5, key = key }).
--- It gives a real tensor or a number, of the same shape each time. Options: key, seed, generator: where the keys come
--- from · compile (true): false for an f that reads values of tensors.
--- Result: f64|f32 [chain, draw, shape of f]. Errors: f gives something else, or other shapes.
---     local function f(x) return -0.5 * mc.sum(x * x) end
---     local r = mc.sample.nuts(f, { 0, 0 }, { key = 1, chains = 2, draws = 50, warmup = 50 })
---     local function noisy(x, key) return x + mc.random.normal({ 2 }, { key = key }) end
---     mc.sample.predict(r, noisy, { key = 2 }).shape  --> {2, 50, 2}
---@param r mascon.sample.Result
---@param f function
---@param opts? table
---@return mascon.Tensor
function M.predict(r, f, opts)
  local fname = 'sample.predict'
  if type(r) ~= 'table' or not is(r.positions) then
    error(('%s: the first argument is %s; give a result of mc.sample.nuts'):format(fname, check.show(r)), 2)
  end
  scalar.callable(fname, 'f', f)
  local o = check.opts(fname, opts, OPTS)
  local key, number = source.resolve(fname, { key = o.key, seed = o.seed, generator = o.generator })
  if o.key == nil and o.seed == nil then key = key:fold_in(number) end
  local unravel = r.unravel
  local function each(q, k) return f(unravel(q), k) end
  if o.compile then each = require 'mascon.compile'.compile(each) end
  local chains, draws, n = r.positions.shape[1], r.positions.shape[2], r.positions.shape[3]
  local flat = methods.reshape(r.positions, { chains * draws, n })
  local out, shape
  for i = 1, chains * draws do
    local y = each(flat[i], key:fold_in(i))
    if type(y) == 'number' then y = op.from_table(y) end
    if not is(y) or tensor.kind[y.dtype] == 'c' then
      error(('%s: f gave %s; it must give a real tensor'):format(fname, is(y) and tensor.describe(y)
        or check.show(y)), 2)
    end
    if not out then
      shape = y.shape
      local sizes = { chains * draws }
      for _, s in ipairs(shape) do sizes[#sizes + 1] = s end
      out = tensor.empty(fname, sizes, y.dtype, 3)
    elseif y.shape ~= shape then
      error(('%s: f gave %s for draw %d and the shape %s before; it must give one shape'):format(fname,
        tensor.describe(y), i, tostring(shape)), 2)
    end
    out[i] = y
  end
  local sizes = { chains, draws }
  for _, s in ipairs(shape) do sizes[#sizes + 1] = s end
  return methods.reshape(out, sizes)
end

return M
