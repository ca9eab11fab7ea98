-- grad_table_spec.lua: every row of the op table whose results are continuous has a derivative, or says why not.
local rules = require 'mascon.rules'
local ops = require 'mascon.gen.ops'.ops

local CONTINUOUS = { f16 = true, bf16 = true, f32 = true, f64 = true, c64 = true, c128 = true }
local CONSTANT = { bool = true, i64 = true }

describe('the op table', function()
  it('has a rule or a reason for every continuous row', function()
    local missing = {}
    for _, row in ipairs(ops) do
      local continuous = false
      for _, d in ipairs(row.dtypes) do continuous = continuous or CONTINUOUS[d] or false end
      if continuous and not CONSTANT[row.result] then
        local yes, why = rules.differentiable(row)
        if not yes and why == 'no rule is written for it' then missing[#missing + 1] = row[1] end
      end
    end
    assert(#missing == 0, 'neither a rule in lua/mascon/rules nor rules = "none: why": ' .. table.concat(missing, ', '))
  end)

  it('names no rule of an op that does not exist', function()
    local known = {}
    for _, row in ipairs(ops) do known[row[1]], known[row.rules or ''] = true, true end
    for _, name in ipairs(rules.names()) do assert(known[name], 'a rule for ' .. name .. ', which is no op') end
  end)

  it('answers for names and rows', function()
    assert.equal(true, (rules.differentiable 'add'))
    assert.equal('zero', (rules.differentiable 'floor'))
    assert.equal('parts', (rules.differentiable 'tile'))
    assert.equal('not in operand 1', select(2, rules.differentiable 'gammainc'))
    local no, why = rules.differentiable 'argsort'
    assert.equal(false, no)
    assert.equal('positions', why)
  end)
end)
