-- streams.lua - which random numbers belong to what: (seed, operator, realisation, step) and nothing else.
--
-- A row of the data set is a function of the seed and its index, whatever the batch, the order, the shard or the
-- number of threads. Philox 4x32-10: the key is derived from seed and operator, the stream from the use.
local mc = require 'mascon'
local M = {}

M.SCHEME = 'philox4x32-10; key = fold(seed, operator index from 0); ' ..
  'stream = use * 2^44 + realisation * 2^24 + 16 * step + draw; ' ..
  'uses: 1 weights, 2 type of field, 3 field, 4 noise, 5 probes; ' ..
  'sobol: random linear matrices and a digital shift'

local USE = { weights = 1, kind = 2, field = 3, noise = 4, probe = 5 }

local held = {} -- the key of the row asked for last, as most draws are of the row before: { seed, operator, key }

--- Key of a row.
local function key_of(seed, operator)
  if held.seed ~= seed or held.operator ~= operator then
    held = { seed = seed, operator = operator, key = mc.random.key(seed):fold_in(operator) }
  end
  return held.key
end

--- Options { key, stream } for a draw.
---@param seed integer
---@param operator integer index of the row, from 0
---@param use string weights, kind, field, noise or probe
---@param realisation? integer from 0
---@param step? integer
function M.of(seed, operator, use, realisation, step)
  return key_of(seed, operator), USE[use] * 2 ^ 44 + (realisation or 0) * 2 ^ 24 + (step or 0)
end

local Source = {}
Source.__index = Source

--- A source of successive draws of one use: :uniform(sizes), :normal(sizes), :number(low, high), :integer(low, high).
function M.source(seed, operator, use, realisation, step)
  local key, stream = M.of(seed, operator, use, realisation, (step or 0) * 16) -- a step makes at most 16 draws
  return setmetatable({ key = key, stream = stream, n = 0 }, Source)
end

function Source:options(more)
  local o = more or {}
  o.key, o.stream = self.key, self.stream + self.n
  self.n = self.n + 1
  return o
end
function Source:uniform(sizes, low, high) return mc.random.uniform(sizes, self:options { low = low or 0,
  high = high or 1 }) end
function Source:normal(sizes, dtype) return mc.random.normal(sizes, self:options { dtype = dtype }) end
function Source:exponential(sizes) return mc.random.exponential(sizes, self:options()) end
function Source:number(low, high) return self:uniform({ 1 }, low, high)[1]:item() end
function Source:gauss() return self:normal { 1 }[1]:item() end
function Source:integer(low, high) return math.min(high, low + math.floor(self:number() * (high - low + 1))) end

return M
