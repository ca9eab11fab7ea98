-- matrix_axes.lua - ops of the matrix that work along axes: reductions, scans, softmax, sorting, medians, products.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local matrix = support.load 'matrix'
local ref, sample, tol = support.load 'reference', support.load 'sample', support.load 'tol'
local read, KIND = sample.read, sample.kind
local LAYOUTS, RSHAPES, operand, convert = matrix.LAYOUTS, matrix.RSHAPES, matrix.operand, matrix.convert
local given, all_axes, compare, equal_lists = matrix.given, matrix.all_axes, matrix.compare, matrix.equal_lists
local once = matrix.once

local function reduce(row)
  local f, r = require 'mascon.core.op'.functions[row[1]],
    assert(ref.reduce[row[1]], row[1] .. ' has no reference in tests/support/reference.lua')
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
          local axes = {}
          for a = 1, nd do if set[a] then axes[#axes + 1] = (a + q) % 2 == 0 and a or a - nd - 1 end end
          local position = row.result == 'i64'
          if not (position and #axes > 1 and q > 1) then
            local what = sample.describe(dtype, shape, LAYOUTS[l]) .. ' axes ' .. table.concat(axes, ',')
            local groups = ref.groups(shape, set)
            local nothing = row.empty == 'error' and #groups > 0 and #groups[1] == 0
            local says = once(what, function()
              if nothing then return { nothing = true } end
              local list, all = convert(o.list, dtype, met), {}
              for g, group in ipairs(groups) do
                local part = {}
                for i, at in ipairs(group) do part[i] = list[at] end
                local want, scale = r(part, KIND[met], {})
                if position and want == nil then nothing = true end
                if round and type(want) == 'number' then want = round(want)
                elseif round and type(want) == 'table' then want = { re = round(want.re), im = round(want.im) } end
                all[g] = { want, scale }
              end
              all.nothing = nothing
              return all
            end)
            if says.nothing then
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
                compare(row, rdtype, got[g], says[g][1], { n = #group, scale = says[g][2] }, what)
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
  local f, r = require 'mascon.core.op'.functions[row[1]],
    assert(ref.scan[row[1]], row[1] .. ' has no reference in tests/support/reference.lua')
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
          local says = once(what, function()
            local all = {}
            for _, group in ipairs(ref.groups(shape, { [axis] = true })) do
              local list = {}
              for i, at in ipairs(group) do list[i] = o.list[at] end
              local want, scale = r(list, KIND[dtype])
              for i, at in ipairs(group) do
                local w = want[i]
                if round and type(w) == 'number' then
                  w = round(w)
                elseif round and type(w) == 'table' then
                  w = { re = round(w.re), im = round(w.im) }
                end
                all[#all + 1] = { at, w, { n = i, scale = scale[i] } }
              end
            end
            return all
          end)
          for _, p in ipairs(says) do compare(row, rdtype, got[p[1]], p[2], p[3], what) end
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
      for i, v in ipairs(read(x)) do
        assert(not tol.compare('EXACT', rdtype, v, want[i]), row[1] .. ': out = operand')
      end
    end
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
          assert(y.dtype == dtype and table.concat(y.shape, ',') == table.concat(shape, ','),
            row[1] .. ' ' .. what .. ': ' .. tostring(y.shape))
          local got = read(y)
          local says = once(what, function()
            local all = {}
            for _, group in ipairs(ref.groups(shape, set)) do
              local list = {}
              for i, at in ipairs(group) do list[i] = o.list[at] end
              local want, scale = ref.softmax(list, row[1] == 'log_softmax')
              for i, at in ipairs(group) do
                all[#all + 1] = { at, sample.round[dtype](want[i]), { n = #group, scale = scale } }
              end
            end
            return all
          end)
          for _, p in ipairs(says) do compare(row, dtype, got[p[1]], p[2], p[3], what) end
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
            local says = once(what, function()
              local groups, out_shape, all = ref.groups(shape, { [axis] = true }), { unpack(shape) }, {}
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
                for i, at in ipairs(to) do all[#all + 1] = { at, list[want[i]], want[i] } end
              end
              return all
            end)
            for _, p in ipairs(says) do
              local picked, places = row.result ~= 'i64' and first[p[1]],
                second and second[p[1]] or row.result == 'i64' and first[p[1]]
              local wrong = row.result ~= 'i64' and tol.compare('EXACT', dtype, picked, p[2])
                or places and tol.compare('EXACT', 'i64', places, p[3])
              if wrong then error(('%s %s: element %d: %s'):format(row[1], what, p[1], wrong), 0) end
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
            local what = sample.describe(dtype, shape, LAYOUTS[l]) .. ' axis ' .. axis
              .. (descending and ' descending' or '')
            local y = f(o.t, { axis = axis, descending = descending })
            local got = read(y)
            assert(y.dtype == (positions and 'i64' or dtype))
            local says = once(what, function()
              local all = {}
              for _, group in ipairs(ref.groups(shape, { [axis] = true })) do
                local list = {}
                for i, at in ipairs(group) do list[i] = o.list[at] end
                local order = ref.argsort(list, descending)
                for i, at in ipairs(group) do all[at] = positions and order[i] or list[order[i]] end
              end
              return all
            end)
            for i, want in ipairs(says) do
              local wrong = tol.compare('EXACT', positions and 'i64' or dtype, got[i], want)
              if wrong then error(('%s %s: element %d: %s'):format(row[1], what, i, wrong), 0) end
            end
            assert(#got == #says)
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
            local what = sample.describe(dtype, shape, LAYOUTS[l]) .. ' axis ' .. axis
            local says = once(what, function()
              local all = {}
              for g, group in ipairs(ref.groups(shape, set)) do
                local list = {}
                for i, at in ipairs(group) do list[i] = o.list[at] end
                all[g] = sample.round[dtype](ref.median(list))
              end
              return all
            end)
            for g, want in ipairs(says) do compare(row, dtype, got[g], want, nil, what) end
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
    { { 3, 4 }, { 4, 5 } }, { { 1, 1 }, { 1, 1 } }, { { 7, 1 }, { 1, 9 } }, { { 1, 9 }, { 9, 1 } }, { { 4 }, { 4 } },
    { { 4 }, { 4, 3 } }, { { 3, 4 }, { 4 } }, { { 2, 3, 4 }, { 4, 5 } }, { { 3, 4 }, { 2, 4, 5 } },
    { { 2, 1, 3, 4 }, { 3, 4, 2 } }, { { 0, 4 }, { 4, 3 } }, { { 3, 0 }, { 0, 2 } }, { { 17, 33 }, { 33, 9 } },
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
        local y = f(a.t, b.t)
        local what = sample.describe(dtype, sa, LAYOUTS[l]) .. ' with ' .. sample.describe('', sb, b.layout)
        assert(y.dtype == rdtype, 'matmul ' .. what .. ': dtype ' .. y.dtype)
        local shape = { unpack(batch) }
        if #sa > 1 then shape[#shape + 1] = m end
        if #sb > 1 then shape[#shape + 1] = n end
        assert(table.concat(y.shape, ',') == table.concat(shape, ','),
          'matmul ' .. what .. ': shape ' .. tostring(y.shape))
        local got = read(y)
        local says = once(what, function()
          local la, lb, all = sample.spread(a.list, ma, full_a), sample.spread(b.list, mb, full_b), {}
          for q = 0, sample.count(batch) - 1 do
            for i = 1, m do
              for j = 1, n do
                local want, scale = ref.dot(function(r, s) return la[q * m * inner + (r - 1) * inner + s] end,
                  function(r, s) return lb[q * inner * n + (r - 1) * n + s] end, i, j, inner, k)
                if round and type(want) == 'number' then
                  want = round(want)
                elseif round and type(want) == 'table' then
                  want = { re = round(want.re), im = round(want.im) }
                end
                all[#all + 1] = { want, { n = inner + 1, scale = scale } }
              end
            end
          end
          return all
        end)
        for at, p in ipairs(says) do compare(row, rdtype, got[at], p[1], p[2], what) end
      end
    end
  end
end

-- ---------------------------------------------------------------- moving elements, transforms, random numbers:
-- definitions in small

return { reduce = reduce, scan = scan, softmax = softmax, sort = sort, median = median, matmul = matmul }
