-- special_cases_spec.lua - the special-case tables of the Python array API standard, every sentence, every float and
-- complex dtype and level.
--
-- The table is data (tests/support/special_cases.lua, made from the standard's text). Results that are multiples of pi
-- are compared within ULP4 of the dtype; all others, zeros and their signs included, exactly.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local cases, tol, sample = dofile(support.folder .. '/support/special_cases.lua'), support.load 'tol',
  support.load 'sample'
local read = sample.read

local function show(list) return '(' .. table.concat(list, ', ') .. ')' end

-- Where mascon differs on purpose: the zero of tanh(inf + bj) takes the sign of sin 2b, as in C99 annex G and NumPy.
local OTHER = { tanh = function(row) return row[4][1] == math.huge and row[4][2] == 1 and row[5][1] == 1 end }

local function same(dtype, got, want, signs)
  if want == 'positive' then return 1 / got > 0 or got > 0 end
  if want == 'negative' then return got < 0 or 1 / got < 0 end
  if type(want) == 'boolean' then return got == want end
  if want ~= want then return got ~= got end
  if not signs then got, want = math.abs(got), math.abs(want) end
  local exact = want == math.floor(want * 2) / 2 or want == math.huge or want == -math.huge
  return tol.compare(exact and 'EXACT' or 'ULP4', dtype, got, want, { zero = true }) == nil
end

-- operands of a row in dtype: one tensor per operand
local function operands(row, dtype)
  local complex = row[2] == 'c'
  local per = complex and 2 or 1
  local n, count = row[3] / per, #row[4] / row[3]
  local out = {}
  for k = 1, n do
    local list = {}
    for i = 1, count do
      local at = (i - 1) * row[3] + (k - 1) * per
      list[i] = complex and { re = row[4][at + 1], im = row[4][at + 2] } or row[4][at + 1]
    end
    out[k] = sample.from({ count }, dtype, list)
  end
  return out, count
end

local REAL = { c64 = 'f32', c128 = 'f64' }

local function check(row, dtype)
  local name, complex = row[1], row[2] == 'c'
  local xs, count = operands(row, dtype)
  local got = mc[name](unpack(xs))
  local list, rd = read(got), REAL[dtype] or dtype
  for i = 1, count do
    local point = {}
    for k = 1, row[3] do point[k] = tostring(row[4][(i - 1) * row[3] + k]) end
    local pair = type(list[i]) == 'table'
    local width = pair and not row.part and 2 or 1
    local w = row[5]
    local at = type(w) == 'table' and (#w == width and 0 or (i - 1) * width)
    local want = type(w) == 'string' and { w } or { w[at + 1], w[at + 2] }
    local fine
    if pair then
      fine = same(rd, list[i].re, want[1], not (row.open == 're' or row.open == 'both'))
        and (row.part == 're' or same(rd, list[i].im, want[2], not (row.open == 'im' or row.open == 'both')))
    else
      fine = same(rd, list[i], want[1], true) or (row.also and same(rd, list[i], row.also, true))
    end
    if not fine then
      local text = pair and ('(%s, %s)'):format(list[i].re, list[i].im) or tostring(list[i])
      error(('%s %s%s: got %s, the standard wants %s'):format(name, dtype, show(point), text,
        pair and ('(%s, %s)'):format(want[1], want[2]) or tostring(want[1])), 0)
    end
  end
  return complex
end

local by_name, order = {}, {}
for _, row in ipairs(cases) do
  if not by_name[row[1]] then
    by_name[row[1]] = {}
    order[#order + 1] = row[1]
  end
  table.insert(by_name[row[1]], row)
end

for _, isa in ipairs(support.levels()) do
  describe('special cases on ' .. isa, function()
    for _, name in ipairs(order) do
      it(('of %s are those of the standard'):format(name), function()
        support.restoring(function()
          assert(C.mc_isa_set(isa) == 0)
          local wrong = {}
          for _, row in ipairs(by_name[name]) do
            for _, dtype in ipairs(row[2] == 'c' and { 'c64', 'c128' } or { 'f16', 'bf16', 'f32', 'f64' }) do
              if not (OTHER[name] and OTHER[name](row)) then
                local ok, e = pcall(check, row, dtype)
                if not ok then wrong[#wrong + 1] = tostring(e) end
              end
            end
          end
          if wrong[1] then error(table.concat(wrong, '\n'), 0) end
        end)
      end)
    end
  end)
end
