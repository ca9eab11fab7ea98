-- matrix_moves.lua - ops of the matrix that move elements, transforms and random numbers.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local matrix = support.load 'matrix'
local ref, sample, tol = support.load 'reference', support.load 'sample', support.load 'tol'
local read, KIND = sample.read, sample.kind
local LAYOUTS, compare, equal_lists = matrix.LAYOUTS, matrix.compare, matrix.equal_lists

local function i64(list) return mc.tensor(list, { dtype = 'i64' }) end

local GATHER = {}
function GATHER.take(f, dtype, layout)
  local x = sample.make({ 4, 3 }, dtype, layout, 1, 'any')
  local v = read(x)
  local function at(i, j) return v[(i - 1) * 3 + j] end
  equal_lists('take', dtype, read(f(x, i64 { 4, 1, 1, -2 })), { at(4, 1), at(4, 2), at(4, 3), at(1, 1), at(1, 2),
    at(1, 3), at(1, 1), at(1, 2), at(1, 3), at(3, 1), at(3, 2), at(3, 3) })
  equal_lists('take', dtype, read(f(x, i64 { { 3 }, { 1 } }, 2)),
    { at(1, 3), at(1, 1), at(2, 3), at(2, 1), at(3, 3), at(3, 1), at(4, 3), at(4, 1) })
  equal_lists('take', dtype, read(f(x, i64 { 0, 3 }, { axis = 1, base = 0 })),
    { at(1, 1), at(1, 2), at(1, 3), at(4, 1), at(4, 2), at(4, 3) })
end
function GATHER.take_along_axis(f, dtype, layout)
  local x = sample.make({ 3, 4 }, dtype, layout, 1, 'any')
  local v = read(x)
  equal_lists('take_along_axis', dtype, read(f(x, i64 { { 4, 1 }, { 2, 2 }, { -1, 1 } })),
    { v[4], v[1], v[6], v[6], v[12], v[9] })
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
  equal_lists('concat', dtype, read(f { a, a, axis = 1 }),
    { v[1], v[2], v[3], v[4], v[5], v[6], v[1], v[2], v[3], v[4], v[5], v[6] })
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
          compare(row, rdtype, got[i], want, { n = #list, scale = scale or 1, wide = 1 },
            what .. ' ' .. how .. ' place ' .. i)
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
          assert(y.dtype == rdtype and table.concat(y.shape, ',') == table.concat(size, ','),
            name .. ' ' .. dtype .. ': ' .. y.dtype .. tostring(y.shape))
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
                for j = 1, 4 do
                  table.insert(lists[((at[i][j] > 0 and at[i][j] or 6 + at[i][j]) - 1) * 4 + j], add[(i - 1) * 4 + j])
                end
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
            if row[1] == 'irfft' then
              -- the half spectrum stands for a Hermitian one; imaginary parts of its ends do not count
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
              local wrong = tol.compare('FFT', y.dtype, g, type(g) == 'number' and w.re or w,
                { n = n, scale = math.sqrt(norm) * (scale == 1 and 1 or 1 / math.sqrt(n)) })
              if wrong then error(('%s %s n=%d %s: bin %d: %s'):format(row[1], dtype, n, layout, i, wrong), 0) end
            end
          end
        end
      end
    end
  end
end

--- Mean and variance of a few thousand draws of each dtype, against the exact ones; the whole distribution is held up
--- in random_spec.
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
          mean = tol.stat(x:mean():item(), case.mean, math.sqrt(case.var / n)) or false,
          variance = tol.stat(mc.square(x - case.mean):mean():item(), case.var, math.sqrt(fourth / n)) or false,
        } do
          if wrong then error(('%s %s, case %d: the %s: %s'):format(row[1], dtype, at, what, wrong), 0) end
        end
      end
    end
  end
end

return { moving = moving, segment = segment, fft = fft, random = random }
