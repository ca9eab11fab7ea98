-- sequence.lua - points that fill the unit cube more evenly than random ones: Sobol', Halton, Latin hypercube.
--
-- Holds the numbers that define the dimensions (primes; the table of sobol_numbers.lua) and the signatures f(n, d,
-- opts), f{ n, d, ... }. The points come from the sequence family of ops. Point k is a function of the source and k
-- alone.
local op = require 'mascon.core.op'
local check = require 'mascon.core.check'
local places = require 'mascon.core.place'
local tensor = require 'mascon.core.tensor'
local lib = require 'mascon.core.ffi'
local draw = require 'mascon.random.draw'
local keys = require 'mascon.random.key'
local source = require 'mascon.random.source'
local error = check.error
local F, ROWS = op.functions, op.rows
local M = {}

--- n, d and checked options of f(n, d, opts) and f{ n, d, name = value }.
local function arguments(fname, n, d, opts, spec)
  if type(d) == 'table' then d, opts = nil, d end
  local list, given = draw.arguments(fname, n, opts, 4)
  n, d = list[1], d or list[2]
  check.arg(fname, 'n', n, 'integer >= 0', 4)
  check.arg(fname, 'd', d, 'integer >= 1', 4)
  if n > 2 ^ 47 then error(('%s: n is %.0f; a sequence gives at most 2^47 points at once'):format(fname, n), 3) end
  return n, d, draw.options(fname, given, spec, 4)
end

local POINTS = draw.spec { skip = { 0, 'integer >= 0' }, scramble = { true, 'bool' } }
POINTS.dtype = nil

local function points(fname, row, n, d, o, numbers)
  local key, stream = keys.key(0), 0
  if o.scramble then key, stream = source.resolve(fname, o) end
  if n + o.skip > 2 ^ 53 then
    error(('%s: skip and n lead past point 2^53; use another key instead'):format(fname), 3)
  end
  local P = lib.params()
  local words, there = source.pack(P, key, stream), draw.there(fname, o.device, o.out, 3)
  numbers, words = tensor.moved(numbers, there, 3), words and tensor.moved(words, there, 3)
  P.i[4], P.i[5], P.i[6] = o.skip, o.scramble and 1 or 0, n
  return op.run(fname, 3, o, n * d * 8, function(out) return lib.op_list(row.id, out, { numbers, words }, P) end)
end

-- ---------------------------------------------------------------- Sobol'

local NUMBERS = 20 -- per dimension: degree, inner coefficients, m_1 .. m_18 (MCK_SEQUENCE_NUMBERS)
local entries

--- Degree, coefficients and initial numbers of dimensions 1..d, i64 [d, NUMBERS].
local function sobol_numbers(d)
  if not entries then
    entries = {}
    for entry in require('mascon.random.sobol_numbers'):gmatch '[^,]+' do entries[#entries + 1] = entry end
  end
  if d > #entries + 1 then
    error(('random.sobol: d is %d; direction numbers are there for %d dimensions'):format(d, #entries + 1), 4)
  end
  local t = tensor.empty('random.sobol', { d, NUMBERS }, 'i64', 4):fill_(0)
  local p = tensor.pointer(t)
  for j = 1, d - 1 do -- the first dimension has degree 0
    local at, polynomial = j * NUMBERS, nil
    for number in entries[j]:gmatch '%d+' do
      local v = tonumber(number)
      if not polynomial then
        polynomial = v
        local _, bits = math.frexp(v)
        p[at], p[at + 1] = bits - 1, math.floor((v - 2 ^ (bits - 1)) / 2)
        at = at + 2
      else
        p[at], at = v, at + 1
      end
    end
  end
  return t
end

--- Sobol' points: n points in [0, 1)^d, the first 2^k of them one to every elementary interval.
---
---   n, d (integer): number of points, of dimensions (up to 1111)
---   scramble (bool): random linear scrambling and digital shift, which keep the evenness and make means over points
---   unbiased; default true skip (integer): points left out at the beginning, default 0 result: f64 [n, d];
---   unscrambled, the first point is 0
---
--- Errors: more dimensions than there are direction numbers.
--- Source: Sobol', Distribution of points in a cube, 1967; Constructing Sobol sequences with better two-dimensional
--- projections, 2008; Matousek, On the L2-discrepancy for anchored boxes, 1998.
---
---     mc.random.sobol{ 4, 2, scramble = false }
---       --> f64[4,2]@cpu { { 0.0000, 0.0000 }, { 0.5000, 0.5000 }, { 0.7500, 0.2500 }, { 0.2500, 0.7500 } }
---@param n integer|table
---@param d? integer
---@param opts? table scramble, skip, out, and the source
---@return mascon.Tensor
function M.sobol(n, d, opts)
  local o
  n, d, o = arguments('random.sobol', n, d, opts, POINTS)
  return points('random.sobol', ROWS.random_sobol, n, d, o, sobol_numbers(d))
end

-- ---------------------------------------------------------------- Halton

--- The first d primes, i64 [d] (sieve; the d-th prime is below d (ln d + ln ln d) from d = 6 on: Rosser 1941).
local function primes(d)
  local limit = d < 6 and 13 or math.ceil(d * (math.log(d) + math.log(math.log(d))))
  local t = tensor.empty('random.halton', { d }, 'i64', 4)
  local p, composite, found = tensor.pointer(t), {}, 0
  for k = 2, limit do
    if not composite[k] then
      p[found], found = k, found + 1
      if found == d then break end
      for m = k * k, limit, k do composite[m] = true end
    end
  end
  return t
end

--- Halton points: n points in [0, 1)^d, coordinate j from the digits of the point's number in base of the j-th prime.
---
---   n, d (integer): number of points, of dimensions
---   scramble (bool): digits go through random multipliers and shifts, without which dimensions from about 8 on march
---   in step; default true skip (integer): points left out at the beginning, default 0 result: f64 [n, d]; unscrambled,
---   the first point is 0
---
--- Source: Halton, On the efficiency of certain quasi-random sequences of points, 1960; Matousek 1998 as for
--- mc.random.sobol.
---
---     mc.random.halton{ 3, 2, scramble = false, skip = 1 }
---       --> f64[3,2]@cpu { { 0.5000, 0.3333 }, { 0.2500, 0.6667 }, { 0.7500, 0.1111 } }
---@param n integer|table
---@param d? integer
---@param opts? table scramble, skip, out, and the source
---@return mascon.Tensor
function M.halton(n, d, opts)
  local o
  n, d, o = arguments('random.halton', n, d, opts, POINTS)
  return points('random.halton', ROWS.random_halton, n, d, o, primes(d))
end

-- ---------------------------------------------------------------- Latin hypercube

local SQUARE = draw.spec { centred = { false, 'bool' } }
SQUARE.dtype = nil

--- A Latin hypercube: n points in [0, 1)^d, exactly one in each of the n slices of every coordinate.
---
---   n, d (integer): number of points, of dimensions
---   centred (bool): points in the middle of their slices, else uniform within them (default)
---   result: f64 [n, d]
---
--- Source: A comparison of three methods for selecting values of input variables, 1979.
---
---     mc.random.latin_hypercube{ 4, 1, centred = true, key = 1 }
---       --> f64[4,1]@cpu { { 0.8750 }, { 0.3750 }, { 0.6250 }, { 0.1250 } }
---@param n integer|table
---@param d? integer
---@param opts? table centred, out, and the source
---@return mascon.Tensor
function M.latin_hypercube(n, d, opts)
  local o
  n, d, o = arguments('random.latin_hypercube', n, d, opts, SQUARE)
  local key, stream = source.resolve('random.latin_hypercube', o)
  local words = draw.draw(ROWS.random_integers, 'random.latin_hypercube', { d, n }, { key = key, stream = stream },
    { named = { low = -0x7fffffffffffffffLL - 1, high = 0x7fffffffffffffffLL } }, 3)
  local within = o.centred and 0.5 or draw.draw(ROWS.random_uniform, 'random.latin_hypercube', { n, d },
    { key = key, stream = stream }, { part = 1 }, 3)
  local place = F.subtract(F.argsort(words, { axis = 2 }), 1):to('f64'):permute_dims { 2, 1 }
  local x = F.divide(F.add(place, within), math.max(n, 1))
  x = F.minimum(x, 1 - 2 ^ -53) -- the sum may round to n
  return draw.placed('random.latin_hypercube', o.out and o.out:copy_(x) or x:contiguous(), o.device, o.out, 2)
end

places.made_by(M, 'sobol halton latin_hypercube')

return M
