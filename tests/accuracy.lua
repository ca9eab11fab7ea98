-- accuracy.lua - measures the accuracy table: worst error per function, dtype and ISA level.
--
-- usage: mascon tests/accuracy.lua LOGS OUT   (run by `make accuracy`; LOGS holds ulp.LEVEL.log as tests/c/ulp.c prints
--   them)
-- Two sources. Elementwise functions of the scalar language: the sweeps of tests/c/ulp.c against a wider libm.
-- Everything else: the golden cases. Units: `ulp`, units in the last place of the correct result, for elementwise ops;
-- `eps`, errors over the largest magnitude of the answer in units of the dtype's eps, for all others, whose elements
-- share their rounding errors. OUT is a table of tab-separated columns with the machine and the date in its head.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local cases, tol, sample = support.load 'cases', support.load 'tol', support.load 'sample'

local logs, out = arg[1], arg[2]
local rows = {} -- 'op dtype level' -> { op, dtype, level, worst, unit, source, count }
local function note(op, dtype, level, worst, unit, source, count)
  local key = table.concat({ op, dtype, level, source }, '\t')
  local r = rows[key] or { op, dtype, level, 0, unit, source, 0 }
  rows[key] = r
  if worst > r[4] then r[4] = worst end
  r[7] = r[7] + count
end

for _, level in ipairs { 'v2', 'v3', 'v4' } do
  local f = io.open(logs .. '/ulp.' .. level .. '.log')
  for line in f and f:lines() or function() end do
    local name, dtype, lv, worst = line:match '^(%S+)%s+(%S+)%s+(v%d)%s+(%S+)'
    if name and tonumber(worst) then note(name, dtype, lv, tonumber(worst), 'ulp', 'sweep', 0) end
  end
end

local EWISE = { unary = true, binary = true, ternary = true, where = true }
local function apart(got, want)
  if type(want) == 'table' and type(got) == 'table' then
    return math.max(math.abs(got.re - want.re), math.abs(got.im - want.im))
  end
  if type(want) == 'table' or type(got) == 'table' then return nil end
  return math.abs(got - want)
end

for _, part in ipairs(cases.parts()) do
  local file = cases.load(part)
  for _, case in ipairs(file.cases) do
    local row = cases.row(case.op)
    -- exact ops and stated bounds of cases that cannot be met better (ill-conditioned by intent) say nothing about a
    -- function
    if row and (case.tol or row.tol) ~= 'EXACT' then
      for _, level in ipairs(support.levels()) do
        support.restoring(function()
          assert(C.mc_isa_set(level) == 0)
          for _, dtype in ipairs(cases.dtypes(file, case)) do
            cases.numbers(file, case, dtype, 'contiguous', function(got, want, size, dt)
              local d = apart(got, want)
              if not d or d ~= d or d == math.huge then return end
              local round = sample.round[dt]
              if type(want) == 'number' and round and math.abs(round(want)) == math.huge then return end
              local elementwise = EWISE[row.family]
              local magnitude = type(want) == 'table' and math.max(math.abs(want.re), math.abs(want.im))
                or math.abs(want)
              local e = elementwise and d / tol.ulp(dt, magnitude) or size > 0 and d / (size * tol.kind[dt].eps) or 0
              note(case.op, dt, level, e, elementwise and 'ulp' or 'eps', 'golden', 1)
            end)
          end
        end)
      end
    end
  end
end

local list = {}
for _, r in pairs(rows) do list[#list + 1] = r end
table.sort(list, function(a, b)
  for i = 1, 6 do if i ~= 4 and i ~= 5 and a[i] ~= b[i] then return a[i] < b[i] end end
  return false
end)
local f = assert(io.open(out, 'w'))
f:write('# worst errors of ops, measured by `make accuracy` (tests/accuracy.lua says how); do not edit\n')
f:write(('# machine: %s\n# date: %s\n# mascon: %s\n'):format(mc.info().processor, os.date '%Y-%m-%d', mc.version))
f:write 'op\tdtype\tlevel\tworst\tunit\tsource\tvalues\n'
for _, r in ipairs(list) do f:write(('%s\t%s\t%s\t%.3g\t%s\t%s\t%d\n'):format(unpack(r))) end
f:close()
print(('accuracy: %d rows in %s'):format(#list, out))
