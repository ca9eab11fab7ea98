-- matrix_elementwise.lua - elementwise ops of the matrix: values, results that are given, layouts, numbers.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local matrix = support.load 'matrix'
local ref, sample, tol = support.load 'reference', support.load 'sample', support.load 'tol'
local read, KIND = sample.read, sample.kind
local SHAPES, LAYOUTS, operand, convert = matrix.SHAPES, matrix.LAYOUTS, matrix.operand, matrix.convert
local given, once = matrix.given, matrix.once

local REAL = { c64 = 'f32', c128 = 'f64' }
local function result_dtype(row, dtype)
  if row.result == 'bool' then return 'bool' end
  if row.result == 'real' then return REAL[dtype] or dtype end
  return dtype
end

-- lists: the operands, or a function that gives them
local function computed(row, e, dtype, rdtype, lists, n, isa)
  if type(lists) == 'function' then lists = lists() end
  local k = KIND[dtype]
  local f = assert(e[k], row[1] .. ': no reference for ' .. dtype)
  local out, a, b, c = {}, lists[1], lists[2], lists[3]
  local compute, round = sample.compute[dtype], sample.round[rdtype]
  local fused, bits = isa ~= 'v2', (dtype == 'f64' or dtype == 'c128') and 64 or 32
  for i = 1, n do
    local v
    if k == 'i' then
      v = f(a[i], b and b[i], c and c[i] or dtype)
      if rdtype ~= 'bool' then v = ref.wrap(rdtype, v) end
    elseif b == nil then v = f(a[i])
    elseif c == nil then v = f(a[i], b[i], nil, compute, fused, bits)
    else v = f(a[i], b[i], c[i], compute, fused, bits) end
    if type(v) == 'number' and round then v = round(v)
    elseif type(v) == 'table' and round then v = { re = round(v.re), im = round(v.im) } end
    out[i] = v
  end
  return out
end
local function expected(what, row, e, dtype, rdtype, lists, n, isa)
  if e.fused then return computed(row, e, dtype, rdtype, lists, n, isa) end -- hangs on the level
  return once(what, function() return computed(row, e, dtype, rdtype, lists, n, isa) end)
end

local function verify(row, e, dtype, rdtype, got, want, what)
  local class = (KIND[dtype] == 'c' and (e.ctol or row.ctol)) or row.tol
  if rdtype == 'bool' then class = 'EXACT' end
  local more = { zero = e.zero and KIND[dtype] == 'f' }
  if #got ~= #want then error(('%s %s: %d elements, want %d'):format(row[1], what, #got, #want), 0) end
  for i = 1, #want do
    if class == 'ACCUM' then
      more.n, more.scale = e.terms,
        e.scale and e.scale(want[i]) or e.size or math.max(math.abs(want[i].re), math.abs(want[i].im))
    end
    local wrong = tol.compare(class, rdtype, got[i], want[i], more)
    if wrong then error(('%s %s: element %d: %s'):format(row[1], what, i, wrong), 0) end
  end
end

local function style_of(row, e, dtype, k)
  if row.family == 'where' and k == 1 then return 'any' end
  if KIND[dtype] == 'c' then return 'plain' end
  if KIND[dtype] == 'i' and k == 2 and (e.small or e.shift) then return 'exponent' end
  if KIND[dtype] == 'i' and k == 2 and e.nonzero then return 'divisor' end
  if e.no_nan then return 'no_nan' end
  if e.cancels then return 'plain' end
  if e.golden then return 'positive' end
  return 'any'
end

-- 'exponent' and 'divisor' are integer samples that the op accepts
local plain_values = sample.values
local function values(dtype, n, seed, style)
  if style == 'exponent' then
    local out = plain_values(dtype, n, seed, 'small')
    for i = 1, n do out[i] = math.abs(out[i]) end
    if dtype ~= 'u8' and n > 3 then out[3] = 70 end
    return out
  elseif style == 'divisor' then
    local out = plain_values(dtype, n, seed, 'any')
    for i = 1, n do if out[i] == 0 then out[i] = 3 end end
    return out
  elseif style == 'no_nan' then
    local out = plain_values(dtype, n, seed, 'any')
    for i = 1, n do if out[i] ~= out[i] then out[i] = 2 end end
    return out
  elseif style == 'positive' then
    local out, round = plain_values(dtype, n, seed, 'plain'), sample.round[dtype]
    for i = 1, n do out[i] = round(math.abs(out[i]) / 5 + 0.01) end
    return out
  end
  return plain_values(dtype, n, seed, style)
end

local function ewise_case(row, e, dtype, isa, shapes, layouts)
  local f = require 'mascon.core.op'.functions[row[1]]
  local xs, lists, names = {}, {}, {}
  local shape = sample.broadcast(shapes)
  for k = 1, row.nin do
    local dt = row.family == 'where' and k == 1 and 'bool' or dtype
    local o = operand(shapes[k], dt, layouts[k], k, style_of(row, e, dtype, k))
    xs[k], lists[k], names[k] = o.t, o.list, sample.describe(dt, shapes[k], layouts[k])
  end
  local met = dtype
  if row.promote == 'float' and KIND[dtype] ~= 'f' and KIND[dtype] ~= 'c' then met = 'f64' end
  if row.promote == 'bool' then met = 'bool' end
  local rdtype = result_dtype(row, met)
  local n = sample.count(shape)
  local what = table.concat(names, ' ')
  local want = expected(what, row, e, met, rdtype, function()
    for k = 1, row.nin do
      lists[k] = sample.spread(lists[k], shapes[k], shape)
      if not (row.family == 'where' and k == 1) then lists[k] = convert(lists[k], dtype, met) end
    end
    return lists
  end, n, isa)
  local y = f(unpack(xs, 1, row.nin))
  if y.dtype ~= rdtype then error(('%s %s: dtype %s, want %s'):format(row[1], what, y.dtype, rdtype), 0) end
  if table.concat(y.shape, ',') ~= table.concat(shape, ',') then
    error(('%s %s: shape %s'):format(row[1], what, tostring(y.shape)), 0)
  end
  verify(row, e, met, rdtype, read(y), want, what)
  y:release()
  return xs, shape, rdtype, want, what
end

local function out_cases(row, e, dtype, isa)
  local f = require 'mascon.core.op'.functions[row[1]]
  local shape = { 3, 5 }
  local shapes, layouts = {}, {}
  for k = 1, row.nin do shapes[k], layouts[k] = shape, 'contiguous' end
  local xs, _, rdtype, want, what = ewise_case(row, e, dtype, isa, shapes, layouts)
  for _, strided in ipairs { false, true } do
    local out, base = given(shape, rdtype, strided)
    xs[row.nin + 1] = { out = out }
    local y = f(unpack(xs, 1, row.nin + 1))
    if not rawequal(y, out) then error(row[1] .. ': out= is not what it returned', 0) end
    verify(row, e, dtype, rdtype, read(out), want, what .. ' out=')
    local zeros = 0
    for _, v in ipairs(read(base)) do if not ref.nonzero(v) then zeros = zeros + 1 end end
    local inside = 0
    for _, v in ipairs(want) do if not ref.nonzero(v) then inside = inside + 1 end end
    if zeros - inside ~= #read(base) - #want then error(row[1] .. ': out= wrote beside its view', 0) end
  end
  -- out is one of the operands: the same elements, then shifted by one
  for k = 1, row.nin do
    local dt = row.family == 'where' and k == 1 and 'bool' or dtype
    if dt == rdtype then
      for shift = 0, 1 do
        for _, n in ipairs { 9, 600 } do
          local args, drawn = {}, {}
          local out
          for q = 1, row.nin do
            local dq = row.family == 'where' and q == 1 and 'bool' or dtype
            drawn[q] = once(('operand %d'):format(q), function()
              return values(dq, n + 1, q, style_of(row, e, dtype, q))
            end)
            local base = sample.write(mc.zeros({ n + 1 }, { dtype = dq }), drawn[q])
            args[q] = base[{ { 1, n } }]
            if q == k then out = shift == 0 and args[q] or base[{ { 2, n + 1 } }] end
          end
          local case = ('%s n=%d out = operand %d shifted by %d'):format(dtype, n, k, shift)
          local full = expected(case, row, e, dtype, rdtype, function()
            local lists = {}
            for q = 1, row.nin do lists[q] = read(args[q]) end
            return lists
          end, n, isa)
          args[row.nin + 1] = { out = out }
          f(unpack(args, 1, row.nin + 1))
          verify(row, e, dtype, rdtype, read(out), full, case)
        end
      end
    end
  end
  if row.inplace then
    local x = sample.make({ 7 }, dtype, 'contiguous', 1, style_of(row, e, dtype, 1))
    local lists, args = { read(x) }, { x }
    if row.nin == 2 then
      args[2] = sample.make({ 7 }, dtype, 'strided', 2, style_of(row, e, dtype, 2))
      lists[2] = read(args[2])
    end
    local full = expected(dtype .. ' in place', row, e, dtype, rdtype, lists, 7, isa)
    local y = x[row[1] .. '_'](unpack(args))
    assert(rawequal(y, x))
    verify(row, e, dtype, rdtype, read(x), full, dtype .. ' in place')
  end
end

-- the same bits as from contiguous copies, without a broadcast
local function layout_cases(row, e)
  local f = require 'mascon.core.op'.functions[row[1]]
  for _, dtype in ipairs(row.dtypes) do
    if dtype == 'f32' or dtype == 'f64' then
      for _, shape in ipairs { { 0 }, { 1 }, { 9 }, { 1023 }, { 3, 5 }, { 2, 3, 4 } } do
        for l = 1, #LAYOUTS do
          local xs, ys = {}, {}
          for k = 1, row.nin do
            xs[k] = operand(shape, dtype, LAYOUTS[(l + k) % #LAYOUTS + 1], k, style_of(row, e, dtype, k)).t
            ys[k] = xs[k]:copy()
          end
          local got, want = read(f(unpack(xs))), read(f(unpack(ys)))
          for i = 1, #want do
            local wrong = tol.compare('EXACT', dtype, got[i], want[i])
            if wrong then
              error(('%s %s: element %d: %s'):format(row[1], sample.describe(dtype, shape, LAYOUTS[l]), i, wrong), 0)
            end
          end
          assert(#got == sample.count(shape))
        end
      end
    end
  end
end

local function scalar_cases(row, e, dtype, isa)
  if row.nin ~= 2 or (dtype ~= 'f64' and dtype ~= 'f32') then return end
  local f = require 'mascon.core.op'.functions[row[1]]
  for _, n in ipairs { 5, 3000 } do
    local x = sample.make({ n }, dtype, 'contiguous', 1, style_of(row, e, dtype, 1))
    local list, constant = read(x), {}
    for i = 1, n do constant[i] = 2.5 end
    local rdtype, right, left = result_dtype(row, dtype), dtype .. ' with 2.5', '2.5 with ' .. dtype
    verify(row, e, dtype, rdtype, read(f(x, 2.5)),
      expected(right, row, e, dtype, rdtype, { list, constant }, n, isa), right)
    verify(row, e, dtype, rdtype, read(f(2.5, x)),
      expected(left, row, e, dtype, rdtype, { constant, list }, n, isa), left)
  end
end

local function ewise(row, isa)
  local e = assert(ref.ewise[row[1]] or ref.from_formula(row),
    row[1] .. ' has no reference in tests/support/reference.lua, and its expr needs functions that have none')
  local dtypes = { unpack(row.dtypes) }
  if row.promote == 'float' then
    dtypes[#dtypes + 1] = 'i16'
    dtypes[#dtypes + 1] = 'bool'
  elseif row.promote == 'bool' then
    dtypes[#dtypes + 1] = 'i32'
    dtypes[#dtypes + 1] = 'f32'
  end
  sample.values = values
  if e.golden then
    layout_cases(row, e)
    sample.values = plain_values
    return
  end
  for _, dtype in ipairs(dtypes) do
    for s, shape in ipairs(SHAPES) do
      local many = #shape > 0 and sample.count(shape) > 1 and sample.count(shape) < 20
      for l = 1, many and #LAYOUTS or 1 do
        local shapes, layouts = {}, {}
        for k = 1, row.nin do
          shapes[k] = shape
          layouts[k] = LAYOUTS[(l + (k - 1) * s - 1) % #LAYOUTS + 1]
        end
        if l == 1 then for k = 1, row.nin do layouts[k] = 'contiguous' end end
        ewise_case(row, e, dtype, isa, shapes, layouts)
      end
    end
    if row.nin > 1 then
      local one, two = { { 3, 1 }, { 1, 5 } }, { { 5 }, { 4, 1 } }
      local wide, point = { { 4, 70 }, { 70 } }, { {}, { 9 } }
      for _, p in ipairs { one, two, wide, point, { point[2], point[1] }, { { 2, 1, 4 }, { 3, 1 } },
        { { 0, 1 }, { 1, 3 } } } do
        local shapes, layouts = { p[1], p[2], row.nin == 3 and p[1] or nil }, { 'contiguous', 'strided', 'contiguous' }
        ewise_case(row, e, dtype, isa, shapes, layouts)
      end
    end
    local listed = false
    for _, d in ipairs(row.dtypes) do listed = listed or d == dtype end
    if listed then
      out_cases(row, e, dtype, isa)
      scalar_cases(row, e, dtype, isa)
    end
  end
  sample.values = plain_values
end

-- ---------------------------------------------------------------- reductions, scans, order

return { ewise = ewise }
