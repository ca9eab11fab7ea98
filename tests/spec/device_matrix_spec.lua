-- device_matrix_spec.lua - rows of the op table on a device with programs, within the class of the row of what the
-- CPU gives.
--
-- make test-device tries every row and dtype, contiguous and transposed, and lists and counts rows without a form
-- there: a number that may only go down. make test tries a tenth of the rows, each in one dtype, a new tenth every day;
-- MASCON_TEST_SEED=n repeats one.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local ops = require 'mascon.gen.ops'.ops
local calls, device, beside = support.load 'calls', support.load 'device', support.load 'beside'

-- rows that have no form on a device yet
local MISSING = 13

-- Compiling costs a quarter of a second for each kernel: rows that share a program with others are tried in every
-- dtype, the others in one of f64 and f32 by turns, in complex numbers and integers.
local EVERY = { sum = true, max = true, add = true, where = true }
local turn = 0
local WHOLE = os.getenv 'MASCON_TEST_DEVICE' ~= nil
local TENTH = (tonumber(os.getenv 'MASCON_TEST_SEED' or '') or math.floor(os.time() / 86400)) % 10
local function dtypes(row)
  if not WHOLE then
    turn = turn + 1
    return { row.dtypes[(turn + TENTH) % #row.dtypes + 1] }
  end
  if row.light or EVERY[row[1]] then return row.dtypes end
  local out, has, by_kind = {}, {}, { f = 'f64', c = 'c128', i = 'i64', b = 'bool' }
  for _, d in ipairs(row.dtypes) do has[d] = true end
  turn = turn + 1
  if turn % 2 == 0 and has.f32 then by_kind.f = 'f32' end
  for _, kind in ipairs { 'f', 'c', 'i', 'b' } do
    if has[by_kind[kind]] then out[#out + 1] = by_kind[kind] end
  end
  return calls.ewise[row.family] and out or { out[1], out[2] }
end
-- Elementwise rows are tried as they lie, some strided: what walks strides is the same text for all. Reductions of
-- small integers are those of i64.
local WALKED = { f64 = true, i32 = true, c64 = true, f16 = true }
local function list(row, dtype)
  local all = calls.list(row, dtype) or {}
  if not WHOLE then return { all[1] } end
  if calls.ewise[row.family] and not (EVERY[row[1]] or row.light and WALKED[dtype]) then return { all[1] } end
  return all
end

local families, names = {}, {}
for i, row in ipairs(ops) do
  if row.family ~= 'lua' and not calls.inside(row) and (WHOLE or i % 10 == TENTH) then
    if not families[row.family] then
      families[row.family] = {}
      names[#names + 1] = row.family
    end
    table.insert(families[row.family], row)
  end
end
table.sort(names)

describe('rows without a form on devices', function()
  it('are those that docs/devices.md lists', function()
    local C, op = require 'mascon.core.ffi'.C, require 'mascon.core.op'
    local file = io.open(support.folder .. '/../docs/devices.md')
    if not file then return pending 'the documents are not here' end
    local text, told, found = file:read '*a', {}, {}
    file:close()
    local function listed(pattern, before)
      for name in text:match(pattern):gmatch '`([%w_]+)`' do told[#told + 1] = before .. name end
    end
    listed('These operations have no form on a device: (.-)%.', '')
    listed('These random numbers are drawn on the CPU and copied, .-: (.-)%.', 'random_')
    for name, row in pairs(op.rows) do
      if row.id and row.family ~= 'lua' and not row.internal and C.mc_op_launches(row.id) == 0 then
        found[#found + 1] = name
      end
    end
    table.sort(found)
    table.sort(told)
    assert.same(found, told)
  end)
end)

describe('rows on a device', function()
  local missing, covered = {}, 0
  setup(function() calls.SMALL = 2048 end)
  teardown(function()
    calls.SMALL = nil
    calls.forget()
    local name = device.name()
    if not name or covered + #missing == 0 then return end
    table.sort(missing)
    print(('%s, %s: %d rows of %d have a form; missing: %s'):format(name, WHOLE and 'all rows' or 'tenth ' .. TENTH,
      covered, covered + #missing, table.concat(missing, ' ')))
    assert.is_true(not WHOLE or #missing <= MISSING, #missing .. ' rows are missing')
  end)

  for _, family in ipairs(names) do
    it('agree with the CPU: ' .. family, function()
      local name, reason = device.name()
      if not name then return pending(reason) end
      local faults = {}
      for _, row in ipairs(families[family]) do
        local lacks
        for _, dtype in ipairs(dtypes(row)) do
          for _, call in ipairs(list(row, dtype)) do
            local fine, why = pcall(beside.case, row, dtype, call)
            if fine then lacks = why or lacks else faults[#faults + 1] = why:sub(1, 600) end
          end
        end
        if lacks then missing[#missing + 1] = row[1] else covered = covered + 1 end
      end
      if #faults > 0 then error(table.concat(faults, '\n'), 0) end
    end)
  end
end)
