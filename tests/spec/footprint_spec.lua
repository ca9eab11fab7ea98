-- footprint_spec.lua - no op takes more memory than its result and the workspace its row states, over ops, dtypes and
-- layouts.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local calls, footprint = support.load 'calls', support.load 'footprint'

local names, by_family = {}, {}
for name, row in pairs(mc.ops) do
  if not calls.inside(row) then
    if not by_family[row.family] then
      by_family[row.family] = {}
      names[#names + 1] = row.family
    end
    table.insert(by_family[row.family], name)
  end
end
table.sort(names)

-- under forced collection the counters are those of the collector
local DTYPES = support.gc and { f64 = true } or nil
-- one dtype of each kind, unless MASCON_SOAK asks for all
local KINDS = { bool = true, i32 = true, i64 = true, f32 = true, f64 = true, c128 = true }

describe('memory beside the result stays within what the row states', function()
  local threads = mc.get_num_threads()
  setup(function() mc.set_num_threads(math.min(2, threads)) end)
  teardown(function() mc.set_num_threads(threads) end)
  for _, family in ipairs(names) do
    table.sort(by_family[family])
    it(('for ops of family %s'):format(family), function()
      local wrong, limit = {}, mc.memory().limit
      mc.set_memory_limit(2 ^ 30) -- a call that means something else by its arguments must not take the machine down
      for _, name in ipairs(by_family[family]) do
        local row, any = mc.ops[name], false
        for _, dtype in ipairs(calls.dtypes(row)) do
          if (DTYPES or os.getenv 'MASCON_SOAK' and { [dtype] = true } or KINDS)[dtype] then
            for _, call in ipairs(calls.list(row, dtype) or {}) do
              local beside, unit, result = footprint.measure(call)
              if not beside then
                if wrong[#wrong] ~= unit then wrong[#wrong + 1] = unit end
              else
                any = true
                local allowed = (row.work
                  or 0) * unit * footprint.rounding + result * (footprint.rounding - 1) + footprint.slack()
                if beside > allowed then
                  wrong[#wrong + 1] = ('%s of %s, %s: %.2f units of %d bytes beside the result, the row states %s')
                    :format(name, dtype, call.what, beside / unit, unit, row.work or 0)
                end
              end
            end
          end
        end
        if not any and not DTYPES then
          wrong[#wrong + 1] = name .. ': no call is known; give it one in tests/support/calls.lua'
        end
      end
      calls.forget()
      mc.set_memory_limit(limit)
      assert.equal('', table.concat(wrong, '\n'))
    end)
  end
end)

describe('mc.reset_peak_memory', function()
  it('starts the peaks anew from what is live', function()
    local keep = mc.zeros { 1000 }
    mc.zeros({ 100000 }):release()
    assert.is_true(mc.memory().peak >= 808000)
    mc.reset_peak_memory()
    local m = mc.memory()
    assert.equal(m.live, m.peak)
    assert.equal(m.tensors, m.tensor_peak)
    keep:release()
  end)
end)
