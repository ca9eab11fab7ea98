-- grad_table_spec.lua - every row of the op table whose results are continuous has a derivative, or says why not.
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

  it('has each rule in one file, where the family of its op looks', function()
    for _, list in ipairs { 'reverse', 'forward', 'without' } do
      local where = {}
      for _, name in ipairs(rules.FILES) do
        for k in pairs(require('mascon.rules.' .. name)[list] or {}) do
          assert(not where[k], ('%s stands in %s and %s'):format(k, name, where[k] or ''))
          where[k] = name
        end
      end
      for _, row in ipairs(ops) do
        local own, key = where[row[1]], list ~= 'without' and where[row.rules or ''] or nil
        assert(not (own and key) or own == key, row[1] .. ' has rules in two files')
        assert(not (list == 'reverse' and own and (row.rules or ''):find '^none'),
          row[1] .. ' has a rule and a reason why not')
        local home = rules.HOME[row.family]
        if home and (own or key) then
          local there = false
          for _, name in ipairs(home) do there = there or name == (own or key) end
          assert(there, ('the rule of %s stands in %s'):format(row[1], own or key))
        end
      end
    end
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
