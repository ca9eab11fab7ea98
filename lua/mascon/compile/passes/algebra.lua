-- algebra.lua - identities of elementwise ops.
--
-- Strict ones keep every bit, signed zeros, infinities and NaN included: x * 1, x + (-0), x - 0, --x, where(c, a, a), x
-- / 2^k, conversions that only go there and back. With math = 'fast' also those that hold for numbers but not for
-- rounding or for inf and NaN: x * 0, x + 0, x - x, x / x, exp(log(x)), x / c as x * (1 / c), (x * a) * b as x * (a b).
-- Holds the list.
local graphs = require 'mascon.graph.graph'
local rewrite = require 'mascon.compile.rewrite'
local mc = require 'mascon.array'
local op = require 'mascon.core.op'
local operators = require 'mascon.core.operators'
local tensor = require 'mascon.core.tensor'

local M = { name = 'algebra', doc = 'applies identities of elementwise ops' }

local NAME, KIND = tensor.name, tensor.kind
local UNIFORM = 2 ^ 16 -- elements of a constant that are looked at to see whether they are one number

-- ---------------------------------------------------------------- looking at operands

--- The one real number that all elements of a fixed constant are, or nil.
local function number(u)
  local v = u.value
  if not v.fixed or not v.const then return nil end
  local known = v.uniform
  if known == nil then
    local t, kind = v.const, KIND[NAME[v.dtype]]
    local n = graphs.numel(v.shape)
    known = false
    if kind ~= 'c' and n > 0 and n <= UNIFORM then
      local first = t:reshape(-1)[1]
      local x = first:item()
      if type(x) == 'number' and (n == 1 or (x ~= 0 and mc.all(mc.eq(t, first)))) then known = { x } end
    end
    v.uniform = known
  end
  return known and known[1] or nil
end

local function is(u, x)
  local n = number(u)
  return n == x and (x ~= 0 or 1 / n == 1 / x)
end

--- u may stand in the place of the result: same dtype and shape, no number that promotes differently.
local function fits(u, n)
  local v = n.outs[1]
  return (u.dtype or u.value.dtype) == v.dtype and u.value.dtype == v.dtype
    and graphs.same(u.shape, v.shape) and not u.weak
end

--- The node that makes what `u` shows as a whole, when it is an op whose row says `what` under `key` (1: its name).
local function made_by(u, what, key)
  local n = u.value.node
  if n and n.kind == 'op' and n.row[key or 1] == what and graphs.whole(u) then return n end
end

local function real(n) return n.outs[1].dtype >= tensor.code.f16 and KIND[NAME[n.outs[1].dtype]] == 'f' end
local function complex(n) return KIND[NAME[n.compute >= 0 and n.compute or n.outs[1].dtype]] == 'c' end

local function same_use(a, b)
  return a.value == b.value and (a.offset or 0) == (b.offset or 0) and graphs.same(a.shape, b.shape)
    and graphs.same(a.strides, b.strides)
end

--- A number as a constant operand.
local function constant(graph, x)
  return graphs.use_of(graphs.constant(graph, mc.tensor(x), true), true)
end

-- ---------------------------------------------------------------- rules of arithmetic

-- operator -> function(n, fast, graph) -> use of the same elements, or true when n changed; other ops by `plain`, `law`
-- and `inverse` of their rows

local rules = {}

local function either(n, x)
  local a, b = n.ins[1], n.ins[2]
  if is(b, x) and fits(a, n) then return a end
  if is(a, x) and fits(b, n) then return b end
end

rules['*'] = function(n, fast, graph)
  local a, b = n.ins[1], n.ins[2]
  local one = (fast or not complex(n)) and either(n, 1)
  if one then return one end
  if fast then
    local zero = (number(a) == 0 and a) or (number(b) == 0 and b)
    if zero and fits(zero, n) then return zero end
    -- (x * p) * q
    local p = number(b) and b or number(a) and a
    local inner = p and made_by(p == b and a or b, '*', 'operator')
    local q = inner and (number(inner.ins[2]) and 2 or number(inner.ins[1]) and 1)
    if q and real(n) and graphs.same(inner.outs[1].shape, n.outs[1].shape) and #p.shape == 0 then
      n.ins = { inner.ins[3 - q], constant(graph, number(p) * number(inner.ins[q])) }
      return true
    end
  end
end

rules['+'] = function(n, fast)
  if complex(n) then return fast and either(n, 0) end
  if KIND[NAME[n.outs[1].dtype]] ~= 'f' or fast then
    local x = either(n, 0)
    if x then return x end
  end
  return either(n, -0.0)
end

rules['-'] = function(n, fast)
  local a, b = n.ins[1], n.ins[2]
  if is(b, 0) and fits(a, n) and not complex(n) then return a end
  if fast and is(b, -0.0) and fits(a, n) then return a end
end

--- 1 / c without rounding.
local function exact_inverse(c)
  local m, e = math.frexp(c)
  return math.abs(m) == 0.5 and e > -120 and e < 120
end

rules['/'] = function(n, fast, graph)
  local a, b = n.ins[1], n.ins[2]
  if is(b, 1) and fits(a, n) and (fast or not complex(n)) then return a end
  local c = number(b)
  if c and c ~= 0 and c == c and math.abs(c) < math.huge and real(n) and #b.shape == 0
    and (fast or exact_inverse(c)) then
    n.row = op.rows[operators.arithmetic['*']]
    n.ins = { a, constant(graph, 1 / c) }
    return true
  end
end

local laws = {} -- by the word that rows have

--- f(f(x)) = x
function laws.involution(n)
  local inner = made_by(n.ins[1], n.row[1])
  if inner and fits(inner.ins[1], n) then return inner.ins[1] end
end

--- f(f(x)) = f(x)
function laws.idempotent(n)
  if made_by(n.ins[1], n.row[1]) and fits(n.ins[1], n) then return n.ins[1] end
end

--- What gives an operand back as it is.
local function plainly(n)
  return (n.row.plain == 'all' or not complex(n)) and fits(n.ins[1], n) and n.ins[1] or nil
end

--- The sign does not count.
function laws.even(n)
  local kind = KIND[NAME[n.compute]]
  if kind ~= 'f' and kind ~= 'i' then return nil end -- -x of an unsigned x is another number
  local inner = made_by(n.ins[1], true, 'modulus')
  if inner and inner.ins[1].value.dtype == inner.outs[1].dtype and graphs.same(inner.ins[1].shape, n.ins[1].shape) then
    n.ins = { inner.ins[1] }
    return true
  end
end

--- f(x, x) = x
function laws.same(n)
  if same_use(n.ins[1], n.ins[2]) and fits(n.ins[1], n) then return n.ins[1] end
end

rules['?'] = function(n)
  local c, a, b = n.ins[1], n.ins[2], n.ins[3]
  if same_use(a, b) and fits(a, n) then return a end
  if not c.value.fixed or not c.value.const or graphs.numel(c.value.shape) ~= 1 then return nil end
  local chosen = c.value.const:reshape(-1)[1]:item() and a or b
  if NAME[c.value.dtype] == 'bool' and fits(chosen, n) then return chosen end
end

--- f(inverse(x)) = x, for numbers in the domain.
local function undoes(n, fast)
  local inner = fast and made_by(n.ins[1], n.row.inverse)
  if inner and fits(inner.ins[1], n) then return inner.ins[1] end
end

--- The rule of a row: one of its own, or by what its row says of it.
local function rule_of(row)
  local law = row.operator and rules[row.operator] or laws[row.law] or row.inverse and undoes
  if not row.plain then return law end
  return function(n, fast) return plainly(n) or law and law(n, fast) end
end

-- ---------------------------------------------------------------- conversions

-- dtypes that hold every value of a dtype
local WIDER = {
  f16 = { f32 = true, f64 = true }, bf16 = { f32 = true, f64 = true }, f32 = { f64 = true }, c64 = { c128 = true },
  u8 = { i16 = true, i32 = true, i64 = true, f32 = true, f64 = true },
  i8 = { i16 = true, i32 = true, i64 = true, f32 = true, f64 = true },
  i16 = { i32 = true, i64 = true, f32 = true, f64 = true }, i32 = { i64 = true, f64 = true },
}

--- A conversion of a conversion: straight from the first dtype when the one between holds all its values.
local function conversion(n)
  local inner = n.ins[1].value.node
  if not inner or inner.kind ~= 'copy' or not graphs.whole(n.ins[1]) or inner.device and inner.ins[1].weak then
    return nil
  end
  local u = inner.ins[1]
  local from, between, to = NAME[u.value.dtype], NAME[inner.outs[1].dtype], NAME[n.outs[1].dtype]
  if between == to or not (WIDER[from] and WIDER[from][between]) or not graphs.same(u.shape, inner.outs[1].shape) then
    return nil
  end
  if from == to then return u end
  if KIND[to] == 'f' and KIND[from] == 'f' then
    n.ins = { u }
    return true
  end
end

-- ---------------------------------------------------------------- the pass

---@param graph table
---@param options table { math: 'strict' or 'fast' }
---@return table report { applied }
function M.run(graph, options)
  local fast, report = options.math == 'fast', { applied = 0 }
  rewrite.sweep(graph, function(n, map)
    local rule = n.kind == 'op' and n.compute >= 0 and rule_of(n.row)
    for _ = 1, 4 do
      local r
      if n.kind == 'copy' then r = conversion(n) elseif rule then r = rule(n, fast, graph) end
      if not r then break end
      report.applied = report.applied + 1
      if r ~= true then
        map[n.outs[1]] = r
        break
      end
      rule = n.kind == 'op' and rule_of(n.row)
    end
  end)
  return report
end

return M
