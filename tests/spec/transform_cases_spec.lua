-- transform_cases_spec.lua - every golden case again, compiled and over batches: the bits of the plain call, and the
-- loop over the batch.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tree = require 'mascon.graph.tree'
local cases = support.load 'cases'

-- what these give (its shape, a Lua value, the number of steps) depends on the values of their operands
local BY_VALUE = {
  flatnonzero = 'shape', nonzero = 'shape', unique_consecutive = 'shape', mode = 'shape', unique_all = 'shape',
  unique_counts = 'shape', unique_inverse = 'shape', unique_values = 'shape', allclose = 'a boolean',
  array_equal = 'a boolean', argwhere = 'shape', unique = 'shape', roots = 'shape', polydiv = 'shape',
  repeat_each = 'shape', reduceat = 'shape',
  histogram = 'edges without range', histogram2d = 'edges without range', histogramdd = 'edges without range',
  histogram_bin_edges = 'edges without range', bincount = 'shape', ['linalg.eigsh'] = 'steps',
}
-- complex results of real operands are NaN where values are not known
local REAL = { ['linalg.logm'] = true, ['linalg.sqrtm'] = true }

local function floats(t) return t.dtype:sub(1, 1) == 'f' or t.dtype:sub(1, 1) == 'c' end

--- nil or where two results differ. close(a, b): two tensors agree.
local function differs(a, b, close, where)
  if mc.is_tensor(a) then
    if not mc.is_tensor(b) then return where .. ': no tensor' end
    if a.dtype ~= b.dtype or tostring(a.shape) ~= tostring(b.shape) then
      return ('%s: %s%s, want %s%s'):format(where, b.dtype, tostring(b.shape), a.dtype, tostring(a.shape))
    end
    return not close(a, b) and where .. ': values' or nil
  elseif type(a) == 'table' then
    if type(b) ~= 'table' then return where .. ': no table' end
    for k, v in pairs(a) do
      local wrong = differs(v, b[k], close, where .. '.' .. tostring(k))
      if wrong then return wrong end
    end
    return nil
  end
  if mc.is_tensor(b) then b = b:item() end -- a number that is the same for all
  return not (a == b or a ~= a or type(a) == 'cdata' and tostring(a) == tostring(b))
    and where .. ': ' .. tostring(b) or nil
end

local function exact(a, b) return mc.array_equal(a, b, { equal_nan = true }) end
local function near(a, b)
  if not floats(a) then return mc.array_equal(a, b) end
  return mc.allclose(b, a, { rtol = 1e-9, atol = 1e-10, equal_nan = true })
end

--- visit(case, f, args, n) for every case of a part whose plain call succeeds in a dtype and a layout.
local function each(part, layout, dtype, visit)
  local file = cases.load(part)
  for _, case in ipairs(file.cases) do
    local dt = dtype or cases.dtypes(file, case)[1]
    if cases.dtypes(file, case)[1] == 'own' then dt = 'own' end
    local args, n = cases.arguments(file, case, dt, layout)
    local f = cases.resolve(case.op)
    local want = { pcall(f, unpack(args, 1, n)) }
    local turned = REAL[case.op] and want[1] and want[2].dtype ~= args[1].dtype
    if want[1] and not turned and not BY_VALUE[case.op] and not (layout ~= 'contiguous' and case.op:find '_$') then
      visit(case, f, args, n, want)
    end
  end
end

for _, part in ipairs(cases.parts()) do
  describe('cases of ' .. part, function()
    it('give the same bits when compiled', function()
      for _, layout in ipairs { 'contiguous', 'transposed' } do
        each(part, layout, nil, function(case, f, args, n, want)
          local static = {}
          for i = 1, n do static[i] = i end
          local g = mc.compile(function(...) return f(...) end, { static = static })
          for again = 1, 2 do
            local got = { pcall(g, unpack(args, 1, n)) }
            if case.op:find '^segment_' and not got[1] and tostring(got[2]):find('give num_segments', 1, true) then
              return
            end
            assert(got[1], ('%s, %s, call %d: %s'):format(case.op, layout, again, tostring(got[2])))
            local wrong = differs(want, got, exact, 'result')
            assert(not wrong, ('%s, %s, call %d: %s'):format(case.op, layout, again, tostring(wrong)))
          end
        end)
      end
    end)

    it('give the loop over the batch under vmap', function()
      each(part, 'contiguous', 'f64', function(case, f, args, n)
        local axes, many, any = {}, {}, false
        for i = 1, n do
          many[i] = tree.rebuild(args[i], function(v)
            if v.ndim > 6 or not floats(v) then return v end
            any = true
            return mc.stack({ v, v * 0.75, v * 0.875 }, 1)
          end, true)
          axes[i] = tree.rebuild(args[i], function(v) return v.ndim <= 6 and floats(v) and 1 or false end, true)
          if not mc.is_tensor(args[i]) and type(axes[i]) ~= 'table' then axes[i] = false end
        end
        if not any then return end
        local function element(v, b, a)
          return tree.rebuild(v, function(t)
            if a == true or t.ndim <= 7 and floats(t) then return t[b] end
            return t
          end, true)
        end
        local want = {}
        for b = 1, 3 do
          local one = {}
          for i = 1, n do one[i] = element(many[i], b) end
          want[b] = { pcall(f, unpack(one, 1, n)) }
          if not want[b][1] then return end -- the changed values are no operands of the op
          if REAL[case.op] and want[b][2].dtype ~= one[1].dtype then return end
        end
        if case.op:find '^segment_' and not args[3] then return end
        local got = { pcall(mc.vmap(function(...) return f(...) end, { in_axes = axes }), unpack(many, 1, n)) }
        assert(got[1], ('%s: %s'):format(case.op, tostring(got[2])))
        for b = 1, 3 do
          local mine = { true }
          for i = 2, #got do mine[i] = element(got[i], b, true) end
          for i = 2, #want[b] do
            if getmetatable(want[b][i]) == nil or mc.is_tensor(want[b][i]) then
              local wrong = differs(want[b][i], mine[i], near, 'result ' .. (i - 1))
              assert(not wrong, ('%s, element %d: %s'):format(case.op, b, tostring(wrong)))
            end
          end
        end
      end)
    end)
  end)
end

describe('ops that depend on values', function()
  it('say so when they are compiled', function()
    for _, name in ipairs { 'unique', 'argwhere' } do
      local f = mc.compile(function(x) return mc[name](x) end)
      local ok, message = pcall(f, mc.tensor { 1, 0, 2 })
      assert(not ok and message:find('compiled', 1, true), name .. ': ' .. tostring(message))
    end
  end)
end)
