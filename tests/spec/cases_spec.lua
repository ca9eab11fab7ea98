-- cases_spec.lua - golden cases of ops (tests/golden/cases_*.npz) over dtypes, memory layouts and instruction levels.
--
-- A composed or linear-algebra row of the op table without a case fails, so that no such op goes untested.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local cases = support.load 'cases'

local COVERED = { lua = true, linalg = true, dot = true, pad = true, interp = true, tridiagonal = true, dct = true }
-- rows whose results are checked by laws instead (decompositions are not unique): the spec that does it
local BY_LAW = {}
for _, name in ipairs(support.load 'laws') do BY_LAW[name] = true end

local met, by_op = {}, {}
for _, part in ipairs(cases.parts()) do
  local file = cases.load(part)
  for k, case in ipairs(file.cases) do
    local short = case.op:match '[^.]+$'
    met[short] = true
    local key = part .. ': ' .. case.op
    by_op[key] = by_op[key] or { part = part, op = case.op }
    table.insert(by_op[key], { file = file, case = case, at = k })
  end
end
local keys = {}
for key in pairs(by_op) do keys[#keys + 1] = key end
table.sort(keys)

describe('golden cases', function()
  local levels = support.levels()
  if support.gc then levels = { levels[#levels] } end
  for _, key in ipairs(keys) do
    it(('of %s hold'):format(key), function()
      for _, entry in ipairs(by_op[key]) do
        local file, case = entry.file, entry.case
        for _, isa in ipairs(levels) do
          support.restoring(function()
            assert(C.mc_isa_set(isa) == 0)
            for _, dtype in ipairs(cases.dtypes(file, case)) do
              for _, layout in ipairs(case.layouts or support.gc and { 'strided' }
                or isa == levels[#levels] and cases.layouts or { 'contiguous' }) do
                local wrong = cases.run(file, case, dtype, layout)
                if wrong then
                  error(('%s, case %d%s, %s %s %s: %s'):format(key, entry.at,
                    case.note and ' (' .. case.note .. ')' or '', dtype, layout, isa, wrong), 0)
                end
              end
            end
          end)
        end
      end
    end)
  end

  it('exist for every composed row', function()
    local missing = {}
    for _, row in pairs(mc.ops) do
      if COVERED[row.family] and not met[row[1]] and not BY_LAW[row[1]] then missing[#missing + 1] = row[1] end
    end
    table.sort(missing)
    assert.equal('', table.concat(missing, ' '))
  end)
end)
