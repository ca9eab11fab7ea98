-- tables_spec.lua - the generated tables of the reference: support from rows, accuracy from the measured file.
local mc = require 'mascon'
local generator = 'runtime/ops/gen/tables.lua'
local file = io.open(generator)
-- a folder that was made from a distribution holds no generator
local tables = file and dofile(generator)
if file then file:close() end

local function find(lines, text)
  for _, line in ipairs(lines) do if line:find(text, 1, true) then return line end end
end

describe('the support table', function()
  it('has a line per row with a mark per dtype', function()
    if not tables then return pending 'no generator in this folder' end
    local rows = {
      { 'add', id = 0, family = 'binary', dtypes = { 'i64', 'f64', 'c128' }, rules = 'auto' },
      { 'erf', id = 1, family = 'unary', dtypes = { 'f64' }, promote = 'float', rules = 'erf' },
      { 'eq', id = 0, by_value = 'x', family = 'binary', dtypes = { 'i64', 'f64' }, rules = 'none: boolean',
        namespace = 'x' },
      { 'floor', id = 0, family = 'unary', dtypes = { 'f64' } }, { 'tile', family = 'lua', dtypes = { 'f64' } },
    }
    local dtypes = { { 'i64', kind = 'i' }, { 'f64', kind = 'f' }, { 'c128', kind = 'c' } }
    local says = { add = { true }, erf = { true, 'not in operand 1' }, eq = { false, 'boolean' }, floor = { 'zero' },
      tile = { 'parts' } }
    local function launches(id) return id == 0 end
    local lines = tables.support(rows, dtypes, launches, function(row) return unpack(says[row[1]]) end)
    assert.equal('| `add` | binary | · | · | · | all | yes | 0 |', find(lines, '`add`'))
    assert.equal('| `erf` | unary | f | · |   | cpu, ref | yes, not in operand 1 | 0 |', find(lines, '`erf`'))
    assert.equal('| `x.eq` | binary | · | · |   | cpu, ref | no: boolean | 0 |', find(lines, '`x.eq`'))
    assert.equal('| `floor` | unary |   | · |   | all | zero: piecewise constant | 0 |', find(lines, '`floor`'))
    assert.equal('| `tile` | lua |   | · |   | as its parts | through its parts | 0 |', find(lines, '`tile`'))
  end)

  it('names every op of the table', function()
    if not tables then return pending 'no generator in this folder' end
    local rows = {}
    for _, row in pairs(mc.ops) do rows[#rows + 1] = row end
    local dtypes, yes = require 'mascon.gen.ops'.dtypes, function() return true end
    assert.equal(#rows, #tables.support(rows, dtypes, yes, require 'mascon.rules'.differentiable) - 9)
  end)
end)

describe('the accuracy table', function()
  local text = '# made by a program\n# machine: M\n# date: D\nop\tdtype\tlevel\tworst\tunit\tsource\tvalues\n'
    .. 'exp\tf32\tv2\t0.51\tulp\tsweep\t0\nexp\tf32\tv3\t0.52\tulp\tsweep\t0\nvar\tf64\tv3\t1.5\teps\tgolden\t99\n'

  it('sets levels side by side and names machine and date', function()
    if not tables then return pending 'no generator in this folder' end
    local lines = tables.accuracy(text)
    assert.equal('- machine: M', find(lines, 'machine'))
    assert.equal('- date: D', find(lines, 'date'))
    assert.equal('| `exp` | f32 | 0.51 | 0.52 |  | ulp | sweep |  |', find(lines, '`exp`'))
    assert.equal('| `var` | f64 |  | 1.5 |  | eps | golden | 99 |', find(lines, '`var`'))
  end)

  it('that is committed names only ops there are', function()
    local f = io.open 'runtime/ops/gen/accuracy.tsv'
    if not tables or not f then return pending 'no generator in this folder' end
    local list = tables.read(f:read '*a')
    f:close()
    assert.is_true(#list > 100)
    for _, r in ipairs(list) do
      if r.source == 'golden' then assert.is_truthy(mc.ops[r.op:match '[^.]+$'], r.op) end
    end
  end)
end)
