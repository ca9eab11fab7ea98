-- ops_matrix_spec.lua - every op of the table, every dtype, awkward shapes and layouts, every instruction level, against the plain loop.
--
-- The cases come from the op table itself: a row without a reference fails. Families with their own sense of shape (fft, random, gather,
-- layout) are held to their definitions here as well, in their simplest form; their own specs go further.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local ops = require 'mascon.gen.ops'.ops
local ref, sample, tol = support.load 'reference', support.load 'sample', support.load 'tol'
local read, KIND = sample.read, sample.kind

local SHAPES = { {}, { 0 }, { 0, 3 }, { 1 }, { 7 }, { 8 }, { 9 }, { 1023 }, { 3, 5 }, { 2, 3, 4 } }
local LAYOUTS = sample.layouts
if support.gc then SHAPES, LAYOUTS = { {}, { 0, 3 }, { 2, 3 } }, { 'contiguous', 'strided', 'broadcast' } end

-- operands are shared by all ops of a level and dropped at the end of the file
local store = {}
local function operand(shape, dtype, layout, seed, style)
  local key = table.concat({ table.concat(shape, ','), dtype, layout, seed, style }, '|')
  local have = store[key]
  if not have then
    local t = sample.make(shape, dtype, layout, seed, style)
    have = { t = t, list = read(t), shape = shape, dtype = dtype, layout = layout }
    store[key] = have
  end
  return have
end

-- ---------------------------------------------------------------- elementwise

local REAL = { c64 = 'f32', c128 = 'f64' }
local function result_dtype(row, dtype)
  if row.result == 'bool' then return 'bool' end
  if row.result == 'real' then return REAL[dtype] or dtype end
  return dtype
end

-- values as a dtype sees them, for integers and booleans that an op takes as floats or booleans
local function convert(list, from, to)
  if from == to then return list end
  local out, k = {}, KIND[to]
  for i = 1, #list do
    local v = list[i]
    if k == 'b' then out[i] = ref.nonzero(v)
    elseif type(v) == 'boolean' then out[i] = v and 1 or 0
    else out[i] = tonumber(v) end
  end
  return out
end

local function expected(row, e, dtype, rdtype, lists, n, isa)
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

local function verify(row, e, dtype, rdtype, got, want, what)
  local class = (KIND[dtype] == 'c' and (e.ctol or row.ctol)) or row.tol
  if rdtype == 'bool' then class = 'EXACT' end
  local more = { zero = e.zero and KIND[dtype] == 'f' }
  if #got ~= #want then error(('%s %s: %d elements, want %d'):format(row[1], what, #got, #want), 0) end
  for i = 1, #want do
    if class == 'ACCUM' then more.n, more.scale = e.terms, e.scale and e.scale(want[i]) or e.size or math.max(math.abs(want[i].re), math.abs(want[i].im)) end
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
    xs[k], lists[k], names[k] = o.t, sample.spread(o.list, shapes[k], shape), sample.describe(dt, shapes[k], layouts[k])
  end
  local met = dtype
  if row.promote == 'float' and KIND[dtype] ~= 'f' and KIND[dtype] ~= 'c' then met = 'f64' end
  if row.promote == 'bool' then met = 'bool' end
  for k = 1, row.nin do
    if not (row.family == 'where' and k == 1) then lists[k] = convert(lists[k], dtype, met) end
  end
  local rdtype = result_dtype(row, met)
  local n = sample.count(shape)
  local want = expected(row, e, met, rdtype, lists, n, isa)
  local what = table.concat(names, ' ')
  local y = f(unpack(xs, 1, row.nin))
  if y.dtype ~= rdtype then error(('%s %s: dtype %s, want %s'):format(row[1], what, y.dtype, rdtype), 0) end
  if table.concat(y.shape, ',') ~= table.concat(shape, ',') then error(('%s %s: shape %s'):format(row[1], what, tostring(y.shape)), 0) end
  verify(row, e, met, rdtype, read(y), want, what)
  y:release()
  return xs, shape, rdtype, want, what
end

-- a result tensor with guard elements on both sides of the view
local function given(shape, dtype, strided)
  local nd = #shape
  if nd == 0 then return mc.zeros({}, { dtype = dtype }) end
  local s, key = {}, {}
  for i = 1, nd do s[i], key[i] = shape[i], mc.all end
  if strided then s[nd], key[nd] = 2 * shape[nd] + 1, { 2, 2 * shape[nd], 2 }
  else s[nd], key[nd] = shape[nd] + 2, { 2, shape[nd] + 1 } end
  local base = mc.zeros(s, { dtype = dtype })
  return base[key], base
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
          local args, lists = {}, {}
          local out
          for q = 1, row.nin do
            local dq = row.family == 'where' and q == 1 and 'bool' or dtype
            local base = sample.write(mc.zeros({ n + 1 }, { dtype = dq }), values(dq, n + 1, q, style_of(row, e, dtype, q)))
            args[q] = base[{ { 1, n } }]
            lists[q] = read(args[q])
            if q == k then out = shift == 0 and args[q] or base[{ { 2, n + 1 } }] end
          end
          local full = expected(row, e, dtype, rdtype, lists, n, isa)
          args[row.nin + 1] = { out = out }
          f(unpack(args, 1, row.nin + 1))
          verify(row, e, dtype, rdtype, read(out), full, ('%s n=%d out = operand %d shifted by %d'):format(dtype, n, k, shift))
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
    local full = expected(row, e, dtype, rdtype, lists, 7, isa)
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
            if wrong then error(('%s %s: element %d: %s'):format(row[1], sample.describe(dtype, shape, LAYOUTS[l]), i, wrong), 0) end
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
    verify(row, e, dtype, result_dtype(row, dtype), read(f(x, 2.5)), expected(row, e, dtype, result_dtype(row, dtype), { list, constant }, n, isa), dtype .. ' with 2.5')
    verify(row, e, dtype, result_dtype(row, dtype), read(f(2.5, x)), expected(row, e, dtype, result_dtype(row, dtype), { constant, list }, n, isa), '2.5 with ' .. dtype)
  end
end

local function ewise(row, isa)
  local e = assert(ref.ewise[row[1]] or ref.from_formula(row), row[1] .. ' has no reference in tests/support/reference.lua, and its expr needs functions that have none')
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
      for _, p in ipairs { one, two, wide, point, { point[2], point[1] }, { { 2, 1, 4 }, { 3, 1 } }, { { 0, 1 }, { 1, 3 } } } do
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

local RSHAPES = { {}, { 0 }, { 1 }, { 7 }, { 8 }, { 9 }, { 1023 }, { 3, 5 }, { 2, 3, 4 }, { 0, 3 }, { 70, 9 } }
if support.gc then RSHAPES = { {}, { 0, 3 }, { 2, 3, 4 } } end

local function all_axes(nd)
  local s = {}
  for i = 1, nd do s[i] = true end
  return s
end

local function compare(row, dtype, got, want, more, what)
  local class = KIND[dtype] == 'f' and row.tol or KIND[dtype] == 'c' and (row.ctol or row.tol) or 'EXACT'
  local wrong = tol.compare(class, dtype, got, want, more)
  if wrong then error(('%s %s: %s'):format(row[1], what, wrong), 0) end
end

local function reduce(row)
  local f, r = require 'mascon.core.op'.functions[row[1]], assert(ref.reduce[row[1]], row[1] .. ' has no reference in tests/support/reference.lua')
  local dtypes = { unpack(row.dtypes) }
  if row.promote == 'float' then dtypes[#dtypes + 1] = 'i16' end
  for _, dtype in ipairs(dtypes) do
    local gaps = row[1]:find '^nan' ~= nil
    local style = KIND[dtype] == 'f' and (row.tol == 'EXACT' and not gaps and 'any' or 'plain') or 'any'
    if gaps and (KIND[dtype] == 'f' or KIND[dtype] == 'c') then style = 'gaps' end
    local met = (row.promote == 'float' and KIND[dtype] ~= 'f' and KIND[dtype] ~= 'c') and 'f64' or dtype
    local rdtype = row.result or met
    if row.accumulate and (KIND[met] == 'i' or KIND[met] == 'b') then rdtype = 'i64' end
    local round = sample.round[rdtype]
    for s, shape in ipairs(RSHAPES) do
      local nd = #shape
      local sets = { all_axes(nd) }
      for a = 1, nd do sets[#sets + 1] = { [a] = true } end
      if nd == 3 then sets[#sets + 1] = { true, nil, true } end
      for q, set in ipairs(sets) do
        for l = 1, (nd > 0 and sample.count(shape) < 1000) and #LAYOUTS or 1 do
          local o = operand(shape, dtype, LAYOUTS[l], s, style)
          local list = convert(o.list, dtype, met)
          local axes = {}
          for a = 1, nd do if set[a] then axes[#axes + 1] = (a + q) % 2 == 0 and a or a - nd - 1 end end
          local position = row.result == 'i64'
          if not (position and #axes > 1 and q > 1) then
            local what = sample.describe(dtype, shape, LAYOUTS[l]) .. ' axes ' .. table.concat(axes, ',')
            local groups = ref.groups(shape, set)
            local function folded(group)
              local part = {}
              for i, at in ipairs(group) do part[i] = list[at] end
              return r(part, KIND[met], {})
            end
            local nothing = row.empty == 'error' and #groups > 0 and #groups[1] == 0
            for _, group in ipairs(position and groups or {}) do nothing = nothing or folded(group) == nil end
            if nothing then
              assert(not pcall(f, o.t, q > 1 and axes or nil), row[1] .. ' ' .. what .. ': no error for nothing')
            else
              local y
              if q == 1 then
                y = f(o.t)
                if row.result == 'bool' then
                  assert(type(y) == 'boolean')
                  y = mc.tensor(y)
                end
              else y = f(o.t, axes) end
              assert(y.dtype == rdtype, row[1] .. ' ' .. what .. ': dtype ' .. y.dtype)
              local got = read(y)
              assert(#got == #groups, row[1] .. ' ' .. what .. ': size')
              for g, group in ipairs(groups) do
                local want, scale = folded(group)
                if round and type(want) == 'number' then want = round(want)
                elseif round and type(want) == 'table' then want = { re = round(want.re), im = round(want.im) } end
                compare(row, rdtype, got[g], want, { n = #group, scale = scale }, what)
              end
            end
          end
        end
      end
    end
  end
  -- keepdim, out=, base, correction, dtype
  local x = sample.make({ 3, 4 }, row.dtypes[#row.dtypes], 'contiguous', 5, 'plain')
  assert(table.concat(f(x, { 2, keepdim = true }).shape, ',') == '3,1')
  assert(table.concat(f(x, { 1, keepdim = true }).shape, ',') == '1,4')
  local y = f(x, 2)
  local out = given({ 3 }, y.dtype, true)
  assert(rawequal(f(x, 2, { out = out }), out))
  assert(mc.array_equal(out, y), row[1] .. ': out=')
  if row.base then
    local zero, one = read(f(x, 2, { base = 0 })), read(y)
    for i = 1, 3 do assert(zero[i] == one[i] - 1, row[1] .. ': base = 0') end
  end
  if row[1]:find 'var$' or row[1]:find 'std$' then
    local got = f(x, { correction = 1 }):item()
    local want = r(read(x), 'f', { correction = 1 })
    compare(row, 'f64', got, want, { n = 12, scale = want }, 'correction')
    assert(f(x, { correction = 12 }):item() ~= f(x, { correction = 12 }):item())
  end
end

local function scan(row)
  local f, r = require 'mascon.core.op'.functions[row[1]], assert(ref.scan[row[1]], row[1] .. ' has no reference in tests/support/reference.lua')
  for _, dtype in ipairs(row.dtypes) do
    local rdtype = row.result or row.accumulate and (KIND[dtype] == 'i' or KIND[dtype] == 'b') and 'i64' or dtype
    local round = sample.round[rdtype]
    local style = KIND[dtype] == 'f' and row.tol ~= 'EXACT' and 'plain' or 'any'
    for s, shape in ipairs(RSHAPES) do
      for axis = 1, #shape do
        for l = 1, sample.count(shape) < 1000 and #LAYOUTS or 1 do
          local o = operand(shape, dtype, LAYOUTS[l], s, style)
          local what = sample.describe(dtype, shape, LAYOUTS[l]) .. ' axis ' .. axis
          local y = f(o.t, (axis + l) % 2 == 0 and axis or axis - #shape - 1)
          assert(y.dtype == rdtype, row[1] .. ' ' .. what .. ': dtype ' .. y.dtype)
          local got = read(y)
          for _, group in ipairs(ref.groups(shape, { [axis] = true })) do
            local list = {}
            for i, at in ipairs(group) do list[i] = o.list[at] end
            local want, scale = r(list, KIND[dtype])
            for i, at in ipairs(group) do
              local w = want[i]
              if round and type(w) == 'number' then w = round(w) elseif round and type(w) == 'table' then w = { re = round(w.re), im = round(w.im) } end
              compare(row, rdtype, got[at], w, { n = i, scale = scale[i] }, what)
            end
          end
        end
      end
    end
    local x = sample.make({ 4, 3 }, dtype, 'contiguous', 1, 'plain')
    local want = read(f(x, 1))
    local out = given({ 4, 3 }, rdtype, true)
    f(x, { axis = 1, out = out })
    for i, v in ipairs(read(out)) do assert(not tol.compare('EXACT', rdtype, v, want[i])) end
    if rdtype == dtype then
      f(x, { axis = 1, out = x })
      for i, v in ipairs(read(x)) do assert(not tol.compare('EXACT', rdtype, v, want[i]), row[1] .. ': out = operand') end
    end
  end
end

local function equal_lists(name, dtype, got, want)
  assert(#got == #want, ('%s %s: %d elements, want %d'):format(name, dtype, #got, #want))
  for i = 1, #want do
    local wrong = tol.compare('EXACT', dtype, got[i], want[i])
    if wrong then error(('%s %s: element %d: %s'):format(name, dtype, i, wrong), 0) end
  end
end

local function softmax(row)
  local f = require 'mascon.core.op'.functions[row[1]]
  for _, dtype in ipairs(row.dtypes) do
    for s, shape in ipairs(RSHAPES) do
      local nd = #shape
      local sets = { all_axes(nd) }
      for a = 1, nd do sets[#sets + 1] = { [a] = true } end
      if nd == 3 then sets[#sets + 1] = { true, nil, true } end
      for q, set in ipairs(sets) do
        for l = 1, (nd > 0 and sample.count(shape) < 1000) and #LAYOUTS or 1 do
          local o, axes = operand(shape, dtype, LAYOUTS[l], s, 'plain'), {}
          for a = 1, nd do if set[a] then axes[#axes + 1] = a end end
          local what = sample.describe(dtype, shape, LAYOUTS[l]) .. ' axes ' .. table.concat(axes, ',')
          local y = f(o.t, q > 1 and axes or nil)
          assert(y.dtype == dtype and table.concat(y.shape, ',') == table.concat(shape, ','), row[1] .. ' ' .. what .. ': ' .. tostring(y.shape))
          local got = read(y)
          for _, group in ipairs(ref.groups(shape, set)) do
            local list = {}
            for i, at in ipairs(group) do list[i] = o.list[at] end
            local want, scale = ref.softmax(list, row[1] == 'log_softmax')
            for i, at in ipairs(group) do compare(row, dtype, got[at], sample.round[dtype](want[i]), { n = #group, scale = scale }, what) end
          end
        end
      end
    end
    local x = sample.make({ 3, 70 }, dtype, 'contiguous', 5, 'plain')
    local want, out = read(f(x, 2)), given({ 3, 70 }, dtype, true)
    assert(rawequal(f(x, 2, { out = out }), out))
    equal_lists(row[1], dtype, read(out), want)
    local shifted, wide = x:copy(), mc.zeros({ 3, 71 }, { dtype = dtype })
    wide['..., 2:'] = x
    f(shifted, 2, { out = shifted })
    f(wide['..., 2:'], 2, { out = wide['..., :-2'] })
    equal_lists(row[1], dtype, read(shifted), want)
    equal_lists(row[1], dtype, read(wide['..., :-2']), want)
  end
end

-- places of a part of the order: what the whole order says
local function part_of_order(row)
  local f = require 'mascon.core.op'.functions[row[1]]
  for _, dtype in ipairs(row.dtypes) do
    for s, shape in ipairs(RSHAPES) do
      for axis = 1, #shape do
        local n = shape[axis]
        for l = 1, sample.count(shape) < 1000 and #LAYOUTS or 1 do
          for k = 1, math.max(n, 1), math.max(1, math.floor(n / 3)) do
            local o = operand(shape, dtype, LAYOUTS[l], s, s % 2 == 0 and 'any' or 'small')
            local what = sample.describe(dtype, shape, LAYOUTS[l]) .. ' axis ' .. axis .. ' k ' .. k
            if n == 0 then k = 0 end
            local largest = row[1] == 'topk' and l % 2 == 0
            local opts = { axis = axis }
            if row[1] == 'topk' then opts.largest = largest end
            local a, b = f(o.t, k, opts)
            local first, second = read(a), b and read(b)
            local groups, out_shape = ref.groups(shape, { [axis] = true }), { unpack(shape) }
            if b then out_shape[axis] = k end
            for g, to in ipairs(ref.groups(out_shape, { [axis] = true })) do
              local list, want = {}, {}
              for i, at in ipairs(groups[g]) do list[i] = o.list[at] end
              local order = ref.argsort(list, largest)
              if b then
                for i = 1, k do want[i] = order[i] end
              else -- smaller, equal, larger, each in the order of the list
                local place = {}
                for i, at in ipairs(order) do place[at] = i end
                local pivot, class = list[order[k]], {}
                for i = 1, n do
                  local v = list[i]
                  local same = v == pivot or (v ~= v and pivot ~= pivot)
                  class[i] = same and 2 or place[i] < k and 1 or 3
                end
                for c = 1, 3 do for i = 1, n do if class[i] == c then want[#want + 1] = i end end end
              end
              for i, at in ipairs(to) do
                local picked, places = row.result ~= 'i64' and first[at], second and second[at] or row.result == 'i64' and first[at]
                local wrong = row.result ~= 'i64' and tol.compare('EXACT', dtype, picked, list[want[i]]) or places and tol.compare('EXACT', 'i64', places, want[i])
                if wrong then error(('%s %s: place %d: %s'):format(row[1], what, i, wrong), 0) end
              end
            end
          end
        end
      end
    end
  end
end

local function sort(row)
  if row[1] == 'topk' or row[1]:find 'partition$' then return part_of_order(row) end
  local f = require 'mascon.core.op'.functions[row[1]]
  local positions = row[1] == 'argsort'
  for _, dtype in ipairs(row.dtypes) do
    for s, shape in ipairs(RSHAPES) do
      for axis = 1, #shape do
        for l = 1, sample.count(shape) < 1000 and #LAYOUTS or 1 do
          for _, descending in ipairs { false, true } do
            local o = operand(shape, dtype, LAYOUTS[l], s, s % 2 == 0 and 'any' or 'small')
            local what = sample.describe(dtype, shape, LAYOUTS[l]) .. ' axis ' .. axis .. (descending and ' descending' or '')
            local y = f(o.t, { axis = axis, descending = descending })
            local got = read(y)
            assert(y.dtype == (positions and 'i64' or dtype))
            for _, group in ipairs(ref.groups(shape, { [axis] = true })) do
              local list = {}
              for i, at in ipairs(group) do list[i] = o.list[at] end
              local order = ref.argsort(list, descending)
              for i, at in ipairs(group) do
                local want = positions and order[i] or list[order[i]]
                local wrong = tol.compare('EXACT', positions and 'i64' or dtype, got[at], want)
                if wrong then error(('%s %s: place %d: %s'):format(row[1], what, i, wrong), 0) end
              end
            end
          end
        end
      end
    end
  end
end

local function median(row)
  local f = require 'mascon.core.op'.functions.median
  for _, dtype in ipairs(row.dtypes) do
    for s, shape in ipairs(RSHAPES) do
      if sample.count(shape) > 0 then
        for axis = 0, #shape do
          for l = 1, (#shape > 0 and sample.count(shape) < 1000) and #LAYOUTS or 1 do
            local o = operand(shape, dtype, LAYOUTS[l], s, s % 2 == 0 and 'plain' or 'small')
            local set = axis == 0 and all_axes(#shape) or { [axis] = true }
            local got = read(f(o.t, axis > 0 and axis or nil))
            for g, group in ipairs(ref.groups(shape, set)) do
              local list = {}
              for i, at in ipairs(group) do list[i] = o.list[at] end
              compare(row, dtype, got[g], sample.round[dtype](ref.median(list)), nil, sample.describe(dtype, shape, LAYOUTS[l]))
            end
          end
        end
      end
    end
  end
end

-- ---------------------------------------------------------------- products

local function matmul(row)
  local f = require 'mascon.core.op'.functions.matmul
  local cases = {
    { { 3, 4 }, { 4, 5 } }, { { 1, 1 }, { 1, 1 } }, { { 7, 1 }, { 1, 9 } }, { { 1, 9 }, { 9, 1 } }, { { 4 }, { 4 } }, { { 4 }, { 4, 3 } }, { { 3, 4 }, { 4 } },
    { { 2, 3, 4 }, { 4, 5 } }, { { 3, 4 }, { 2, 4, 5 } }, { { 2, 1, 3, 4 }, { 3, 4, 2 } }, { { 0, 4 }, { 4, 3 } }, { { 3, 0 }, { 0, 2 } }, { { 17, 33 }, { 33, 9 } },
  }
  for _, dtype in ipairs(row.dtypes) do
    local k = KIND[dtype]
    local rdtype = (k == 'i' or k == 'b') and 'i64' or dtype
    local round = sample.round[rdtype]
    for c, case in ipairs(cases) do
      for l = 1, #LAYOUTS do
        local a = operand(case[1], dtype, LAYOUTS[l], c, k == 'i' and 'small' or 'plain')
        local b = operand(case[2], dtype, LAYOUTS[(l * 2) % #LAYOUTS + 1], c + 50, k == 'i' and 'small' or 'plain')
        local sa, sb = case[1], case[2]
        local ma, mb = #sa == 1 and { 1, sa[1] } or { unpack(sa) }, #sb == 1 and { sb[1], 1 } or { unpack(sb) }
        local m, inner, n = ma[#ma - 1], ma[#ma], mb[#mb]
        local outer_a, outer_b = {}, {}
        for i = 1, #ma - 2 do outer_a[i] = ma[i] end
        for i = 1, #mb - 2 do outer_b[i] = mb[i] end
        local batch = sample.broadcast { outer_a, outer_b }
        local full_a, full_b = { unpack(batch) }, { unpack(batch) }
        full_a[#full_a + 1], full_a[#full_a + 2] = m, inner
        full_b[#full_b + 1], full_b[#full_b + 2] = inner, n
        local la, lb = sample.spread(a.list, ma, full_a), sample.spread(b.list, mb, full_b)
        local y = f(a.t, b.t)
        local what = sample.describe(dtype, sa, LAYOUTS[l]) .. ' with ' .. sample.describe('', sb, b.layout)
        assert(y.dtype == rdtype, 'matmul ' .. what .. ': dtype ' .. y.dtype)
        local shape = { unpack(batch) }
        if #sa > 1 then shape[#shape + 1] = m end
        if #sb > 1 then shape[#shape + 1] = n end
        assert(table.concat(y.shape, ',') == table.concat(shape, ','), 'matmul ' .. what .. ': shape ' .. tostring(y.shape))
        local got, at = read(y), 0
        for q = 0, sample.count(batch) - 1 do
          for i = 1, m do
            for j = 1, n do
              at = at + 1
              local want, scale = ref.dot(function(r, s) return la[q * m * inner + (r - 1) * inner + s] end, function(r, s) return lb[q * inner * n + (r - 1) * n + s] end, i, j, inner, k)
              if round and type(want) == 'number' then want = round(want) elseif round and type(want) == 'table' then want = { re = round(want.re), im = round(want.im) } end
              compare(row, rdtype, got[at], want, { n = inner + 1, scale = scale }, what)
            end
          end
        end
      end
    end
  end
end

-- ---------------------------------------------------------------- moving elements, transforms, random numbers: definitions in small

local function i64(list) return mc.tensor(list, { dtype = 'i64' }) end

local GATHER = {}
function GATHER.take(f, dtype, layout)
  local x = sample.make({ 4, 3 }, dtype, layout, 1, 'any')
  local v = read(x)
  local function at(i, j) return v[(i - 1) * 3 + j] end
  equal_lists('take', dtype, read(f(x, i64 { 4, 1, 1, -2 })), { at(4, 1), at(4, 2), at(4, 3), at(1, 1), at(1, 2), at(1, 3), at(1, 1), at(1, 2), at(1, 3), at(3, 1), at(3, 2), at(3, 3) })
  equal_lists('take', dtype, read(f(x, i64 { { 3 }, { 1 } }, 2)), { at(1, 3), at(1, 1), at(2, 3), at(2, 1), at(3, 3), at(3, 1), at(4, 3), at(4, 1) })
  equal_lists('take', dtype, read(f(x, i64 { 0, 3 }, { axis = 1, base = 0 })), { at(1, 1), at(1, 2), at(1, 3), at(4, 1), at(4, 2), at(4, 3) })
end
function GATHER.take_along_axis(f, dtype, layout)
  local x = sample.make({ 3, 4 }, dtype, layout, 1, 'any')
  local v = read(x)
  equal_lists('take_along_axis', dtype, read(f(x, i64 { { 4, 1 }, { 2, 2 }, { -1, 1 } })), { v[4], v[1], v[6], v[6], v[12], v[9] })
  equal_lists('take_along_axis', dtype, read(f(x, i64 { { 3, 1, 2, 2 } }, 1)), { v[9], v[2], v[7], v[8] })
end
function GATHER.put_along_axis(f, dtype, layout)
  local x, y = sample.make({ 3, 4 }, dtype, layout, 1, 'any'), sample.make({ 3, 2 }, dtype, layout, 2, 'any')
  local v, w = read(x), read(y)
  local want = { unpack(v) }
  want[4], want[1], want[6], want[12], want[9] = w[1], w[2], w[4], w[5], w[6]
  equal_lists('put_along_axis', dtype, read(f(x, i64 { { 4, 1 }, { 2, 2 }, { 4, 1 } }, y)), want)
  equal_lists('put_along_axis', dtype, read(x), v)
end
function GATHER.nonzero_flat(f, dtype, layout)
  local x = sample.make({ 3, 5 }, dtype, layout, 1, 'small')
  local want = {}
  for i, v in ipairs(read(x)) do if ref.nonzero(v) then want[#want + 1] = i end end
  equal_lists('nonzero_flat', 'i64', read(f(x)), want)
end
function GATHER.searchsorted(f, dtype, layout)
  local sorted = sample.from({ 6 }, dtype, { 0, 1, 1, 3, 5, 9 })
  local v = sample.make({ 2, 7 }, dtype, layout, 1, 'small')
  for _, right in ipairs { false, true } do
    local want = {}
    for i, y in ipairs(read(v)) do
      local k = 1
      for _, x in ipairs { 0, 1, 1, 3, 5, 9 } do if x < y or (right and x == y) then k = k + 1 end end
      want[i] = k
    end
    equal_lists('searchsorted', 'i64', read(f(sorted, v, { right = right })), want)
  end
end
function GATHER.bincount(f)
  equal_lists('bincount', 'i64', read(f(i64 { 0, 3, 1, 3, 3 })), { 1, 1, 0, 3 })
  equal_lists('bincount', 'i64', read(f(i64 { 0, 1 }, { minlength = 4 })), { 1, 1, 0, 0 })
  equal_lists('bincount', 'i64', read(f(mc.zeros({ 0 }, { dtype = 'i64' }))), {})
end
function GATHER.bincount_weighted(f)
  equal_lists('bincount_weighted', 'f64', read(f(i64 { 0, 3, 1, 3 }, mc.tensor { 0.5, 1, 2, 4 })), { 0.5, 2, 0, 5 })
end

local LAYOUT = {}
function LAYOUT.concat(f, dtype, layout)
  local a, b = sample.make({ 2, 3 }, dtype, layout, 1, 'any'), sample.make({ 2, 2 }, dtype, layout, 2, 'any')
  local v, w = read(a), read(b)
  equal_lists('concat', dtype, read(f({ a, b }, 2)), { v[1], v[2], v[3], w[1], w[2], v[4], v[5], v[6], w[3], w[4] })
  equal_lists('concat', dtype, read(f { a, a, axis = 1 }), { v[1], v[2], v[3], v[4], v[5], v[6], v[1], v[2], v[3], v[4], v[5], v[6] })
end
function LAYOUT.stack(f, dtype, layout)
  local a, b = sample.make({ 2, 2 }, dtype, layout, 1, 'any'), sample.make({ 2, 2 }, dtype, layout, 2, 'any')
  local v, w = read(a), read(b)
  equal_lists('stack', dtype, read(f { a, b }), { v[1], v[2], v[3], v[4], w[1], w[2], w[3], w[4] })
  equal_lists('stack', dtype, read(f({ a, b }, 2)), { v[1], v[2], w[1], w[2], v[3], v[4], w[3], w[4] })
  equal_lists('stack', dtype, read(f({ a, b }, -1)), { v[1], w[1], v[2], w[2], v[3], w[3], v[4], w[4] })
end
function LAYOUT.roll(f, dtype, layout)
  local x = sample.make({ 3, 4 }, dtype, layout, 1, 'any')
  local v = read(x)
  for _, k in ipairs { 0, 1, -1, 5, -7, 12 } do
    local flat, second, first = {}, {}, {}
    for i = 0, 11 do
      flat[(i + k) % 12 + 1] = v[i + 1]
      second[math.floor(i / 4) * 4 + (i % 4 + k) % 4 + 1] = v[i + 1]
      first[(math.floor(i / 4) + k) % 3 * 4 + i % 4 + 1] = v[i + 1]
    end
    equal_lists('roll', dtype, read(f(x, k)), flat)
    equal_lists('roll', dtype, read(f(x, { k, axis = 2 })), second)
    equal_lists('roll', dtype, read(f(x, { k, axis = 1 })), first)
  end
end

local function moving(row)
  local f = require 'mascon.core.op'.functions[row[1]]
  local check = assert(GATHER[row[1]] or LAYOUT[row[1]], row[1] .. ' has no reference in tests/support/reference.lua')
  for _, dtype in ipairs(row.dtypes) do
    for _, layout in ipairs(LAYOUTS) do check(f, dtype, layout) end
  end
end

-- what is joined where: lists of elements per place, folded by the reference of the reduction
local function segment(row)
  local f, name = require 'mascon.core.op'.functions[row[1]], row[1]
  for _, dtype in ipairs(row.dtypes) do
    local k, round = KIND[dtype], sample.round[dtype]
    local style = k == 'f' and row.tol == 'EXACT' and 'any' or 'plain'
    if k == 'i' then style = 'any' end
    local function check(got, rdtype, lists, how, what)
      for i, list in ipairs(lists) do
        local want, scale
        if #list == 0 then want = false else want, scale = ref.join(how, list, k) end
        if want then
          if k == 'i' and rdtype ~= 'bool' then want = ref.wrap(rdtype, want) end
          if round then want = type(want) == 'table' and { re = round(want.re), im = round(want.im) } or round(want) end
          compare(row, rdtype, got[i], want, { n = #list, scale = scale or 1, wide = 1 }, what .. ' ' .. how .. ' place ' .. i)
        end
      end
    end
    for l, layout in ipairs(LAYOUTS) do
      local x = sample.make({ 5, 4 }, dtype, layout, l, style)
      local v = read(x)
      if row.nin == 2 then
        local how, places = name:match '_(.*)$', { 3, 1, 3, 4, 1 }
        local rdtype = row.result or (k == 'i' and (how == 'sum' or how == 'prod')) and 'i64' or dtype
        for axis = 1, 2 do
          local at = axis == 1 and places or { 2, 2, 5, 1 }
          local y = f(x, i64(at), { axis = axis, num_segments = axis == 2 and 6 or nil })
          local size = axis == 1 and { 4, 4 } or { 5, 6 }
          assert(y.dtype == rdtype and table.concat(y.shape, ',') == table.concat(size, ','), name .. ' ' .. dtype .. ': ' .. y.dtype .. tostring(y.shape))
          local lists = {}
          for i = 1, size[1] * size[2] do lists[i] = {} end
          for i = 1, 5 do
            for j = 1, 4 do
              local r, c = axis == 1 and at[i] or i, axis == 1 and j or at[j]
              table.insert(lists[(r - 1) * size[2] + c], v[(i - 1) * 4 + j])
            end
          end
          check(read(y), rdtype, lists, how, sample.describe(dtype, { 5, 4 }, layout) .. ' axis ' .. axis)
        end
      else
        local w = sample.make({ 3, 4 }, dtype, layout, l + 9, style)
        local add, at = read(w), { { 4, 1, 1, 2 }, { 4, 5, 1, -4 }, { 4, 5, 3, 2 } }
        for _, how in ipairs(name == 'scatter_add' and { 'sum' } or { 'sum', 'prod', 'max', 'min', 'mean' }) do
          local ordered = how == 'max' or how == 'min'
          if not (k == 'c' and ordered) and not (k == 'i' and how == 'mean') then
            for self = name == 'scatter_add' and 1 or 0, 1 do
              local opts = { axis = 1 }
              if name == 'scatter_reduce' then opts.reduce, opts.include_self = how, self == 1 end
              local y = f(x, i64(at), w, opts)
              local lists = {}
              for i = 1, 20 do lists[i] = { self == 1 and v[i] or nil } end
              for i = 1, 3 do
                for j = 1, 4 do table.insert(lists[((at[i][j] > 0 and at[i][j] or 6 + at[i][j]) - 1) * 4 + j], add[(i - 1) * 4 + j]) end
              end
              check(read(y), dtype, lists, how, sample.describe(dtype, { 5, 4 }, layout))
            end
          end
        end
        equal_lists(name, dtype, read(x), v)
      end
    end
  end
end

local function fft(row)
  local f = require 'mascon.core.op'.functions[row[1]]
  for _, dtype in ipairs(row.dtypes) do
    local complex_in = row[1] ~= 'rfft'
    if complex_in or KIND[dtype] == 'f' then
      for _, n in ipairs { 1, 2, 7, 8, 9, 30 } do
        for _, layout in ipairs { 'contiguous', 'strided', 'transposed' } do
          local x = sample.make({ 3, n }, dtype, layout, n, 'plain')
          local list = read(x)
          local y = f(x, row[1] == 'irfft' and { n = n } or nil)
          local got = read(y)
          local width = y.shape[2]
          for r = 0, 2 do
            local line, norm = {}, 0
            for i = 1, n do
              local v = list[r * n + i]
              line[i] = type(v) == 'table' and v or { re = v, im = 0 }
              norm = norm + line[i].re ^ 2 + line[i].im ^ 2
            end
            local scale = 1
            if row[1] == 'irfft' then -- the half spectrum stands for a Hermitian one; imaginary parts of its ends do not count
              local half = math.floor(n / 2) + 1
              local full = {}
              for i = 1, half do full[i] = { re = line[i].re, im = line[i].im } end
              full[1].im = 0
              if n % 2 == 0 then full[half].im = 0 end
              for i = half + 1, n do full[i] = { re = full[n + 2 - i].re, im = -full[n + 2 - i].im } end
              line, scale, norm = full, 1 / n, 0
              for i = 1, n do norm = norm + full[i].re ^ 2 + full[i].im ^ 2 end
            elseif row[1] == 'ifft' then scale = 1 / n end
            local want = ref.dft(line, (row[1] == 'fft' or row[1] == 'rfft') and -1 or 1)
            for i = 1, width do
              local w, g = { re = want[i].re * scale, im = want[i].im * scale }, got[r * width + i]
              local wrong = tol.compare('FFT', y.dtype, g, type(g) == 'number' and w.re or w, { n = n, scale = math.sqrt(norm) * (scale == 1 and 1 or 1 / math.sqrt(n)) })
              if wrong then error(('%s %s n=%d %s: bin %d: %s'):format(row[1], dtype, n, layout, i, wrong), 0) end
            end
          end
        end
      end
    end
  end
end

--- Mean and variance of a few thousand draws of each dtype, against the exact ones; the whole distribution is held up in random_spec.
local function random(row)
  local name, n = row[1]:match '^random_(.*)$', 5000
  local list = assert(support.load 'random_laws'[name], row[1] .. ' has no reference in tests/support/reference.lua')
  for at, case in ipairs(list) do
    for _, dtype in ipairs(row.dtypes) do
      if case.mean and not (name == 'integers' and dtype:find '8$') then
        local o = { key = at, dtype = dtype }
        for k, v in pairs(case.p) do o[k] = v end
        local x = mc.random[name]({ n }, o)
        assert(x.dtype == dtype and x.shape[1] == n)
        x = (x.ndim == 2 and x[{ mc.all, 1 }] or x):to 'f64'
        local fourth = mc.square(x - case.mean):var():item() + 1e-24 -- a variable of two values has no spread here
        for what, wrong in pairs {
          mean = tol.stat(x:mean():item(), case.mean, math.sqrt(case.var / n)) or false, variance = tol.stat(mc.square(x - case.mean):mean():item(), case.var, math.sqrt(fourth / n)) or false,
        } do
          if wrong then error(('%s %s, case %d: the %s: %s'):format(row[1], dtype, at, what, wrong), 0) end
        end
      end
    end
  end
end

-- ---------------------------------------------------------------- one test per op and level

local FAMILY = {
  unary = ewise, binary = ewise, ternary = ewise, where = ewise, reduce = reduce, scan = scan, sort = sort, matmul = matmul, gather = moving, softmax = softmax, segment = segment, layout = moving, fft = fft,
  select = function(row) if row[1] == 'median' then median(row) end end, -- quantile: golden answers of all methods in sort_spec
  random = random,
}

-- families with specs of their own
local ELSEWHERE = {
  native = 'workflow_native_spec', -- rows that workflows of other specs added
  autoreject = 'autoreject_*_spec',
  conv = 'conv_spec',
  dct = 'cases_spec',
  dot = 'cases_spec',
  filter = 'signal_spec',
  interp = 'cases_spec',
  linalg = 'cases_spec.lua, linalg_spec.lua',
  lua = 'cases_spec.lua',
  pac = 'pac_*_spec',
  pad = 'cases_spec',
  recurrence = 'recurrence_spec',
  sequence = 'random_sequence_spec',
  tridiagonal = 'cases_spec', cross = 'products_spec',
  unique = 'arrayapi_spec',
}

-- with a collection before every tensor the whole matrix would take minutes: one dtype of each kind, one level
local function thinned(row)
  if not support.gc then return row end
  local some, list = { f64 = true, i32 = true, c64 = true, bool = true }, {}
  for _, d in ipairs(row.dtypes) do if some[d] then list[#list + 1] = d end end
  if #list == 0 then list[1] = row.dtypes[1] end
  return setmetatable({ dtypes = list }, { __index = row })
end

describe('the op table', function()
  teardown(function()
    store = {}
    assert.equal(BEFORE, support.tensor_bytes())
  end)
  local levels = support.levels()
  if support.gc then levels = { levels[#levels] } end
  for _, isa in ipairs(levels) do
    for _, row in ipairs(ops) do
      if FAMILY[row.family] then
        it(('%s agrees with its definition on %s'):format(row[1], isa), function()
          support.restoring(function()
            assert(C.mc_isa_set(isa) == 0)
            FAMILY[row.family](thinned(row), isa)
          end)
        end)
      end
    end
  end

  it('has a test for every family', function()
    for _, row in ipairs(ops) do assert.is_truthy(FAMILY[row.family] or ELSEWHERE[row.family], row.family) end
  end)
end)
