-- gradient_rows.lua - derivatives of the rows of some families and modules of the op table, one test for each row, from
-- a table of cases.
--
-- A case is { f, operands..., options of gradient.check by name }; cases of a row: a function of r(sizes...) (random
-- operands) and the dtype that gives a list of them, or the name of the row whose cases go through this one too. A row
-- without cases must say why it has no derivative; one with both is a contradiction. The first case of a row is also
-- compiled, others when they ask for it. Every case is tried in f64 and, where the row has it, c128; gradients of f32
-- and c64 are held to those of the wide dtypes.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local rules = require 'mascon.rules'
local gradient, tol = support.load 'gradient', support.load 'tol'

local M = {}

local NARROW, WIDE = { f64 = 'f32', c128 = 'c64' }, { f32 = 'f64', c64 = 'c128' }

--- f with results in the wide dtypes, which losses are made of.
local function widened(f)
  local function wide(v)
    if mc.is_tensor(v) then return WIDE[v.dtype] and v:to(WIDE[v.dtype]) or v end
    if type(v) ~= 'table' then return v end
    local out = {}
    for k, x in pairs(v) do out[k] = wide(x) end
    return out
  end
  return function(...) return wide { f(...) } end
end

--- What differs in single precision: gradients of narrow operands, against those of the same numbers in the wide dtype.
local function narrow(what, f, inputs)
  local small, wide = {}, {}
  f = widened(f)
  for i, x in ipairs(inputs) do
    small[i] = NARROW[x.dtype] and x:to(NARROW[x.dtype]) or x
    wide[i] = small[i]:to(x.dtype)
  end
  local got, want = { gradient.gradients(f, wide)(unpack(small)) }, { gradient.gradients(f, wide)(unpack(wide)) }
  local size = 0
  for k = 1, #want do size = math.max(size, mc.max(mc.abs(want[k])):item()) end
  for k = 1, #want do
    local name = NARROW[want[k].dtype]
    if got[k].dtype ~= name then
      error(('%s: gradient %d of %s operands is %s'):format(what, k, name, got[k].dtype), 0)
    end
    -- rounding of operands and of each step, as much as a condition of a thousand makes of it
    local far = mc.max(mc.abs(got[k]:to(want[k].dtype) - want[k])):item()
    local wrong = tol.compare('ITERATIVE', 'f64', far, 0, { bound = 1e3 * tol.kind.f32.eps * (size + 1) })
    if wrong then error(('%s: gradient %d of %s operands: %s'):format(what, k, name, wrong), 0) end
  end
end

local function try(row, cases, dtype)
  local seed = 0
  local function r(...)
    seed = seed + 1
    return gradient.random({ ... }, dtype, 100 + seed)
  end
  for k, c in ipairs(cases(r, dtype)) do
    local what, inputs = ('%s %s, case %d'):format(row[1], dtype, k), { unpack(c, 2) }
    gradient.check(what, c[1], inputs,
      { compiled = c.compiled or c.compiled == nil and k == 1, second = c.second, step = c.step })
    if c.narrow ~= false then narrow(what, c[1], inputs) end
  end
end

--- The test of a row.
local function verify(row, cases)
  local mine, yes, why = cases[row[1]], rules.differentiable(row)
  if not mine then
    assert(not yes, row[1] .. ': no case here, and its row does not say why it has no derivative')
    assert(why ~= 'no rule is written for it', row[1] .. ': no rule, and its row does not say why')
    return
  end
  assert(yes, ('%s: cases here, but: %s'):format(row[1], tostring(why)))
  if type(mine) == 'string' then
    assert(cases[mine], ('%s: its cases are those of %s, which has none'):format(row[1], mine))
    return
  end
  for _, dtype in ipairs(row.dtypes) do
    if NARROW[dtype] then try(row, mine, dtype) end
  end
end

--- Tests of the rows that `belongs` takes, as { name =, run = }.
---@param belongs fun(row: table): boolean
---@param cases table by name of the row
---@return table[]
function M.rows(belongs, cases)
  local out = {}
  for _, row in ipairs(require 'mascon.gen.ops'.ops) do
    if belongs(row) then out[#out + 1] = { name = row[1], run = function() verify(row, cases) end } end
  end
  return out
end

return M
