-- measure_special.lua - writes accuracy_special.lua: the worst error of every special function, by instruction level.
--
-- usage: mascon tests/golden/measure_special.lua FOLDER...     (files of make_special.py, the committed ones and denser
--   sets)
-- Figures are ULP of f64, rounded up; f32 (and f16, bf16 before their own rounding) is f64 rounded once, which
-- special_spec checks bit by bit.
local root = debug.getinfo(1, 'S').source:match '^@(.*)/golden/[^/]*$' or 'tests'
local support = dofile(root .. '/support/init.lua')
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local accuracy = support.load 'accuracy'

local rows = {}
for _, folder in ipairs(arg) do
  for _, path in ipairs(accuracy.files(folder)) do
    for _, f in ipairs(accuracy.functions(mc.load(path))) do
      local r = rows[f.name] or { points = 0, worst = {} }
      rows[f.name] = r
      r.points = r.points + f.want:numel()
      support.restoring(function()
        for _, isa in ipairs(support.levels()) do
          assert(C.mc_isa_set(isa) == 0)
          local worst, at = accuracy.worst(f)
          if worst > (r.worst[isa] or -1) then
            r.worst[isa] = worst
            if worst > 100 then io.stderr:write(isa, ': ', ('%.3g'):format(worst), ' ', at, '\n') end
          end
        end
      end)
    end
  end
end

local names = {}
for name in pairs(rows) do names[#names + 1] = name end
table.sort(names)
local out = {
  '-- accuracy_special.lua: worst error of the special functions in ULP of f64, by instruction level, against mpmath.',
  '--',
  '-- Written by measure_special.lua over points of make_special.py. Where a function oscillates the unit is that of '
    .. 'its amplitude. points: how many were',
  '-- measured. v4 computes what v3 does. f32, f16 and bf16 are the f64 result rounded once, so that their error is '
    .. 'half a unit and what stands here.', 'return {' }
for _, name in ipairs(names) do
  local r = rows[name]
  local list = {}
  for _, isa in ipairs { 'v2', 'v3', 'v4' } do
    if r.worst[isa] then list[#list + 1] = ('%s = %g'):format(isa, math.ceil(r.worst[isa])) end
  end
  out[#out + 1] = ('  %s = { %s, points = %d },'):format(name, table.concat(list, ', '), r.points)
end
out[#out + 1] = '}'
local f = assert(io.open(root .. '/golden/accuracy_special.lua', 'w'))
f:write(table.concat(out, '\n'), '\n')
f:close()
