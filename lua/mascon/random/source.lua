--- source.lua - where random numbers come from: keys, generators, the default generator of this Lua state.
--
-- Owns the one rule of all random functions: the numbers of a call come from `key =` (a key, or a whole number standing for
-- key(number)), from `seed =` (the same, numbers only), from `generator =`, or else from the default generator; at most one of them. A
-- key gives the same numbers at every call; a generator is a key and a counter of the streams it has given out. A stream is a function of
-- (key, stream, index) alone, see kernels/mck_philox.h. May not know distributions.
local check = require 'mascon.check'
local tensor = require 'mascon.tensor'
local op = require 'mascon.op'
local lib = require 'mascon.ffi'
local error = check.error
local P = lib.params
local M = {}

local WORD = 2 ^ 32
-- Streams of users stay below 2^53; what the library derives itself has a tag of 24 bits in the high half.
local FOLD, SPLIT, PART = 0x464f4c44, 0x53504c54, 0x01000000

-- ---------------------------------------------------------------- keys

---@class mascon.Key a 64-bit key of the Philox generator: lo, hi are its 32-bit halves. Keys are values: nothing changes them.
---@field lo integer
---@field hi integer
local Key = {}
Key.__index = Key
Key.__tostring = function(k) return ('key 0x%08x%08x'):format(k.hi, k.lo) end
Key.__eq = function(a, b) return a.lo == b.lo and a.hi == b.hi end

local function is_key(v) return getmetatable(v) == Key end
M.is_key = is_key

local function new(lo, hi) return setmetatable({ lo = lo, hi = hi }, Key) end

--- A key from a whole number 0 <= seed < 2^53.
---
---     tostring(mc.random.key(5))  --> key 0x0000000000000005
---@param seed integer|mascon.Key a key comes back as it is
---@return mascon.Key
function M.key(seed)
  if is_key(seed) then return seed end
  check.arg('random.key', 'seed', seed, 'integer >= 0', 3)
  return new(seed % WORD, math.floor(seed / WORD))
end

--- n keys derived from one: 64-bit elements first .. first + n - 1 of a stream that no user reaches.
local function derive(key, tag, first, n)
  op.fresh()
  P.naxes, P.axes[0], P.dtype = 1, n, tensor.code.i64
  P.i[0], P.i[1], P.i[2], P.i[3], P.i[4] = key.lo, key.hi, 0, tag, first
  P.i[5], P.i[6], P.i[7], P.i[10], P.i[11] = 0, -0x7fffffffffffffffLL - 1, 0x7fffffffffffffffLL, 0, 2
  local words = op.run('random.key', 3, nil, n * 8, function(out) return op.call_list(op.rows.random_integers.id, out, {}) end)
  local p, keys = tensor.pointer(words), {}
  for i = 1, n do
    local lo = tonumber(p[i - 1] % 0x100000000LL)
    if lo < 0 then lo = lo + WORD end
    keys[i] = new(lo, tonumber((p[i - 1] - lo) / 0x100000000LL) % WORD)
  end
  return keys
end

--- n keys whose numbers have nothing to do with each other's or with the key's own.
---
---     #mc.random.key(5):split(3)  --> 3
---@param n? integer default 2
---@return mascon.Key[]
function Key:split(n)
  n = check.arg('key:split', 'n', n or 2, 'integer >= 1', 3)
  return derive(self, SPLIT, 0, n)
end

--- The key for number i of a family: a step of a loop, a subject, a rank.
---
---     mc.random.key(5):fold_in(1) == mc.random.key(5):fold_in(1)  --> true
---@param i integer 0 <= i < 2^53
---@return mascon.Key
function Key:fold_in(i)
  check.arg('key:fold_in', 'i', i, 'integer >= 0', 3)
  return derive(self, FOLD, i, 1)[1]
end

-- ---------------------------------------------------------------- generators

---@class mascon.Generator a key and the number of the next stream; every call draws one stream. The distributions are its methods:
--- g:normal{ 3 } is mc.random.normal{ 3, generator = g }.
local Generator = {}

local function method(name)
  local f = require 'mascon.random'[name]
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

-- what a generator can be asked for: the functions whose first argument is a table of sizes and options
local DRAWS = {}
M.draws = DRAWS

Generator.__index = function(_, name)
  local own = rawget(Generator, name)
  if own ~= nil or type(name) ~= 'string' then return own end
  require 'mascon.random'
  if not DRAWS[name] then
    local near = check.nearest(name, DRAWS)
    error(('generator: it has no method %s%s'):format(name, near and ('; did you mean %s?'):format(near) or ''), 2)
  end
  local f = method(name)
  Generator[name] = f
  return f
end
Generator.__tostring = function(g) return ('generator of %s, next stream %d'):format(tostring(rawget(g, 'key')), rawget(g, 'stream')) end

--- A generator of its own: independent of the default one and of those with other seeds.
---
---     mc.random.generator(1):uniform{ 2 }  --> f64[2]@cpu { 0.8947, 0.7113 }
---@param seed? integer|mascon.Key default 0
---@return mascon.Generator
function M.generator(seed) return setmetatable({ key = M.key(seed or 0), stream = 0 }, Generator) end

--- What there is to know of a generator, as a plain table { key = { lo, hi }, stream = n } that a file can keep.
function Generator:state() return { key = { self.key.lo, self.key.hi }, stream = self.stream } end

--- Puts a generator back into a state that state() gave, here or in another run.
---@return mascon.Generator self
function Generator:restore(state)
  local k = type(state) == 'table' and state.key
  if type(k) ~= 'table' or type(k[1]) ~= 'number' or type(k[2]) ~= 'number' or type(state.stream) ~= 'number' then
    error('generator:restore: the state is not one that generator:state() gave; it has key = { lo, hi } and stream', 2)
  end
  self.key, self.stream = new(k[1], k[2]), state.stream
  return self
end

local function is_generator(v) return getmetatable(v) == Generator end

local default = M.generator(0)

--- The generator of this Lua state that serves calls without key=, seed= and generator=; mc.seed(n) starts it anew.
---@return mascon.Generator
function M.default_generator() return default end

--- Starts the default generator anew.
function M.seed(n) default.key, default.stream = M.key(n), 0 end

-- ---------------------------------------------------------------- the rule

--- Options every random function has.
M.OPTS = { key = { nil, 'any' }, seed = { nil, 'integer >= 0' }, generator = { nil, 'table' }, stream = { nil, 'integer >= 0' } }

--- Key and stream that a call with the options o draws from.
---@return mascon.Key, integer
function M.resolve(fname, o)
  local given = (o.key ~= nil and 1 or 0) + (o.seed ~= nil and 1 or 0) + (o.generator ~= nil and 1 or 0)
  if given > 1 then error(fname .. ': more than one of key, seed and generator is given; choose one', 3) end
  local key = o.key
  if key ~= nil then
    if not is_key(key) then
      if type(key) ~= 'number' then error(('%s: option key is %s; give mc.random.key(n), or a whole number'):format(fname, check.show(key)), 3) end
      key = M.key(key)
    end
    return key, o.stream or 0
  elseif o.seed ~= nil then
    return M.key(o.seed), o.stream or 0
  end
  local g = o.generator or default
  if not is_generator(g) then error(('%s: option generator is %s; give one that mc.random.generator made'):format(fname, check.show(g)), 3) end
  local stream = o.stream
  if not stream then stream, g.stream = g.stream, g.stream + 1 end
  return g.key, stream
end

--- Writes key and stream into the parameters of an op. part: 0, or the number of a second draw of the same call.
function M.pack(key, stream, part)
  P.i[0], P.i[1] = key.lo, key.hi
  P.i[2], P.i[3] = stream % WORD, math.floor(stream / WORD) + (part or 0) * PART
end

return M
