-- sampling.lua - the next token from what a network says of all tokens.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local random = require 'mascon.random'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local OPTS = { temperature = { 1, 'number >= 0' }, top_k = { nil, 'integer >= 1' }, top_p = { nil, 'number > 0' },
  key = { nil, 'any' } }

--- Tokens drawn from logits: the softmax of logits / temperature, cut to the top_k largest and then to the fewest
--- largest whose probabilities reach top_p.
---
--- Temperature 0 takes the largest. The token at which the sum reaches top_p is kept, so that one is always left; of
--- equal logits the first ones are kept.
---@param logits any f32|f64 [..., tokens]
---@param opts? table temperature (1) · top_k (all) · top_p, at most 1 (1) · key: a random key (the default generator)
---@return any i64 [...], from 0
--- Errors: logits with NaN, or a row of -infinity alone.
--- Source: The curious case of neural text degeneration, 2020 (top_p).
---     mc.nn.sample_logits(mc.tensor{ 1, 5, 2 }, { temperature = 0 }):item()  --> 1
function M.sample_logits(logits, opts)
  local fname = 'nn.sample_logits'
  logits = op.operand(fname, logits, 2)
  local o = check.opts(fname, opts, OPTS, 3)
  if logits.ndim == 0 or logits.shape[logits.ndim] == 0 then
    error(('%s: logits are %s; give [..., tokens]'):format(fname, tensor.describe(logits)), 2)
  end
  if o.top_p and o.top_p > 1 then error(('%s: top_p is %g; it is at most 1'):format(fname, o.top_p), 2) end
  local n = logits.shape[logits.ndim]
  if logits.dtype ~= 'f64' then logits = methods.to(logits, 'f32') end
  local top = F.max(logits, { -1, keepdim = true })
  if not tensor.recorded(top) then
    local none = F.any(F.isnan(top)) and 'NaN' or F.any(F.eq(top, -math.huge)) and 'a row of -infinity'
    if none then
      error(('%s: logits are %s and hold %s; there is no token to draw'):format(fname, tensor.describe(logits), none),
        2)
    end
  end
  if o.temperature == 0 then return F.argmax(logits, { -1 }) - 1 end
  local z = F.where(F.eq(logits, top), 0, (logits - top) / o.temperature) -- 0 at a temperature that rounds to 0
  if o.top_k and o.top_k < n or o.top_p and o.top_p < 1 then
    local order = F.argsort(z, { -1, descending = true, stable = true })
    local sorted = F.take_along_axis(z, order, { axis = -1 })
    if o.top_k and o.top_k < n then
      local key = {}
      for k = 1, z.ndim - 1 do key[k] = { 1, -1 } end
      key[z.ndim] = { 1, o.top_k }
      sorted, order = methods.copy(sorted[key]), methods.copy(order[key])
    end
    if o.top_p then
      local p = F.softmax(sorted, { -1 })
      sorted = F.where(F.lt(F.cumsum(p, -1) - p, o.top_p), sorted, -math.huge)
    end
    local at = M.sample_logits(sorted, { key = o.key }) + 1
    return methods.squeeze(F.take_along_axis(order, methods.expand_dims(at, -1), { axis = -1 }), -1) - 1
  end
  local noise = random.gumbel(z.shape, { dtype = z.dtype, key = o.key })
  return F.argmax(z + noise, { -1 }) - 1
end

return M
