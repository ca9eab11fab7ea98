-- source.lua - where random numbers come from: a key, a generator, or the default generator of this Lua state.
--
-- Holds the one rule of all random functions: the numbers of a call come from `key =` (a key, or a whole number
-- standing for key(number)), from `seed =` (the same, numbers only), from `generator =`, or else from the default
-- generator; at most one of them. A key gives the same numbers at every call; a generator is a key and a counter of the
-- streams it has given out. A stream is a function of (key, stream, index) alone, see kernels/mck_philox.h.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local keys = require 'mascon.random.key'
local error = check.error
local is_key = keys.is_key
local M = {}

local WORD = 2 ^ 32
local PART = 0x01000000 -- in the high half of a stream: a second draw of the same call

-- ---------------------------------------------------------------- generators

---@class mascon.Generator a key and the number of the next stream; every call draws one stream. The distributions are
--- its methods: g:normal{ 3 } is mc.random.normal{ 3, generator = g }.
local Generator = {}

local function method(f)
  return function(self, sizes, opts)
    local given = { generator = self }
    if type(sizes) == 'table' and not tensor.is(sizes) then
      for k, v in pairs(sizes) do given[k] = v end
    elseif sizes ~= nil then
      given[1] = sizes
    end
    for k, v in pairs(opts or {}) do given[k] = v end
    return f(given)
  end
end

-- what a generator can be asked for: functions by name, whose first argument is a table of sizes and options. mc.random
-- puts them here; array/create.lua gives load_draws, which loads it.
local DRAWS = {}
M.draws = DRAWS

Generator.__index = function(_, name)
  local own = rawget(Generator, name)
  if own ~= nil or type(name) ~= 'string' then return own end
  if M.load_draws then M.load_draws() end
  if not DRAWS[name] then
    local near = check.nearest(name, DRAWS)
    error(('generator: it has no method %s%s'):format(name, near and ('; did you mean %s?'):format(near) or ''), 2)
  end
  local f = method(DRAWS[name])
  Generator[name] = f
  return f
end
Generator.__tostring =
  function(g) return ('generator of %s, next stream %d'):format(tostring(rawget(g, 'key')), rawget(g, 'stream')) end

--- A generator of its own: independent of the default one and of those with other seeds.
---
---     mc.random.generator(1):uniform{ 2 }  --> f64[2]@cpu { 0.8947, 0.7113 }
---@param seed? integer|mascon.Key default 0
---@return mascon.Generator
function M.generator(seed) return setmetatable({ key = keys.key(seed or 0), stream = 0 }, Generator) end

--- What there is to know of a generator, as a plain table { key = { lo, hi }, stream = n } that a file can keep.
function Generator:state() return { key = { self.key.lo, self.key.hi }, stream = self.stream } end

--- Puts a generator back into a state that state() gave, here or in another run.
---@return mascon.Generator self
function Generator:restore(state)
  local k = type(state) == 'table' and state.key
  if type(k) ~= 'table' or type(k[1]) ~= 'number' or type(k[2]) ~= 'number' or type(state.stream) ~= 'number' then
    error('generator:restore: the state is not one that generator:state() gave; it has key = { lo, hi } and stream', 2)
  end
  self.key, self.stream = keys.new(k[1], k[2]), state.stream
  return self
end

local function is_generator(v) return getmetatable(v) == Generator end

local default = M.generator(0)

--- The generator of this Lua state that serves calls without key=, seed= and generator=; mc.seed(n) starts it anew.
---@return mascon.Generator
function M.default_generator() return default end

--- Starts the default generator anew.
function M.seed(n) default.key, default.stream = keys.key(n), 0 end

-- ---------------------------------------------------------------- the rule

--- Options every random function has.
M.OPTS = { key = { nil, 'any' }, seed = { nil, 'integer >= 0' }, generator = { nil, 'table' },
  stream = { nil, 'integer >= 0' } }

M.drawn = 0 -- streams that generators have given out: what a trace draws of them, its replays draw again

--- Key and stream that a call with the options o draws from.
---@return mascon.Key, integer
function M.resolve(fname, o)
  local given = (o.key ~= nil and 1 or 0) + (o.seed ~= nil and 1 or 0) + (o.generator ~= nil and 1 or 0)
  if given > 1 then error(fname .. ': more than one of key, seed and generator is given; choose one', 3) end
  local key = o.key
  if key ~= nil then
    if not is_key(key) then
      if type(key) ~= 'number' then
        error(('%s: option key is %s; give mc.random.key(n), or a whole number'):format(fname, check.show(key)), 3)
      end
      key = keys.key(key)
    end
    return keys.single(fname, key, 3), o.stream or 0
  elseif o.seed ~= nil then
    return keys.key(o.seed), o.stream or 0
  end
  local g = o.generator or default
  if not is_generator(g) then
    error(('%s: option generator is %s; give one that mc.random.generator made'):format(fname, check.show(g)), 3)
  end
  local stream = o.stream
  if not stream then
    stream, g.stream = g.stream, g.stream + 1
    M.drawn = M.drawn + 1
  end
  return g.key, stream
end

--- Writes key and stream into the parameters P of an op. part: 0, or the number of a second draw of the same call.
---@param number? integer the device that the words are to be on
---@return mascon.Tensor? words of a key whose value is not known yet or that are asked for: the last operand
function M.pack(P, key, stream, part, number)
  local words = keys.pack(P, key, number)
  P.i[2], P.i[3] = stream % WORD, math.floor(stream / WORD) + (part or 0) * PART
  return words
end

return M
