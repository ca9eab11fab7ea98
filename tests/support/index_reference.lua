-- index_reference.lua - what an index expression takes, by plain loops; drawing of random ones; shrinking of one that
-- fails.
--
-- A key is a list of numbers, 'all', 'new', 'dots', { r = { a, b, step } }, { i = flat positions, s = shape }, { m =
-- flat booleans, s = shape }, all counted from 1 (tests/golden/index_expressions.json holds such keys with NumPy's
-- answers).
local M = {}

local function count(s)
  local n = 1
  for i = 1, #s do n = n * s[i] end
  return n
end

--- Broadcast shape of shapes.
local function broadcast(shapes)
  local out = {}
  for _, s in ipairs(shapes) do
    local n, new = math.max(#s, #out), {}
    for i = 1, n do
      local a, b = out[i - n + #out] or 1, s[i - n + #s] or 1
      assert(a == b or a == 1 or b == 1, 'tensors do not pair up')
      new[i] = a == 1 and b or a
    end
    out = new
  end
  return out
end

local function inside(p, n)
  assert(p ~= 0 and p <= n and p >= -n, 'outside')
  return p > 0 and p or p + n + 1
end

--- Subscripts (from 1) of flat position k (from 0) of a shape.
local function subscripts(k, shape)
  local out = {}
  for i = #shape, 1, -1 do
    out[i] = k % shape[i] + 1
    k = math.floor(k / shape[i])
  end
  return out
end

--- Index tensors of a mask: one list of positions for each of its axes.
local function true_places(m)
  local out = {}
  for j = 1, #m.s do out[j] = {} end
  local n = 0
  for k = 0, count(m.s) - 1 do
    if m.m[k + 1] then
      n = n + 1
      local at = subscripts(k, m.s)
      for j = 1, #m.s do out[j][n] = at[j] end
    end
  end
  return out, n
end

--- Shape of the result and, for each of its elements in row-major order, the flat position (from 1) it comes from.
function M.take(shape, key)
  local used = 0
  for _, k in ipairs(key) do
    if type(k) == 'table' and k.m then used = used + #k.s elseif k ~= 'new' and k ~= 'dots' then used = used + 1 end
  end
  assert(used <= #shape, 'too many')
  local parts, axis, dots = {}, 0, false
  local function whole()
    axis = axis + 1
    local list = {}
    for p = 1, shape[axis] do list[p] = p end
    parts[#parts + 1] = { axis = axis, list = list }
  end
  local fixed, advanced = {}, {}
  for _, k in ipairs(key) do
    if k == 'dots' then
      assert(not dots)
      dots = true
      for _ = 1, #shape - used do whole() end
    elseif k == 'new' then parts[#parts + 1] = { list = { 1 } }
    elseif k == 'all' then whole()
    elseif type(k) == 'number' then
      axis = axis + 1
      fixed[axis] = inside(k, shape[axis])
    elseif k.r then
      axis = axis + 1
      local n, list = shape[axis], {}
      local a, b, s = k.r[1], k.r[2], k.r[3]
      a, b = a < 0 and a + n + 1 or a, b < 0 and b + n + 1 or b
      for p = a, b, s do list[#list + 1] = inside(p, n) end
      parts[#parts + 1] = { axis = axis, list = list }
    elseif k.i then
      axis = axis + 1
      local list = {}
      for j, p in ipairs(k.i) do list[j] = inside(p, shape[axis]) end
      advanced[#advanced + 1] = { axis = axis, list = list, s = k.s }
      parts[#parts + 1] = 'advanced'
    else
      local lists, n = true_places(k)
      if #k.s == 0 then -- a point: an axis of one or none
        advanced[#advanced + 1] = { list = {}, s = { k.m[1] and 1 or 0 } }
        parts[#parts + 1] = 'advanced'
      end
      for j = 1, #k.s do
        axis = axis + 1
        assert(shape[axis] == k.s[j], 'mask of another shape')
        advanced[#advanced + 1] = { axis = axis, list = lists[j], s = { n } }
        parts[#parts + 1] = 'advanced'
      end
    end
  end
  while axis < #shape do whole() end
  -- where the tensors' common axes go: in place when side by side, else first
  local shapes, first, last, together = {}, nil, nil, true
  for i, a in ipairs(advanced) do shapes[i] = a.s end
  local common = broadcast(shapes)
  for i, p in ipairs(parts) do
    if p == 'advanced' then
      if last and last ~= i - 1 then together = false end
      first, last = first or i, i
    end
  end
  local result, place = {}, {}
  local function put_common()
    for i = 1, #common do result[#result + 1], place[#place + 1] = common[i], { common = i } end
  end
  if not together then put_common() end
  for i, p in ipairs(parts) do
    if p ~= 'advanced' then result[#result + 1], place[#place + 1] = #p.list, p
    elseif together and i == first then put_common() end
  end
  assert(#result <= 8, 'too many axes')
  local taken = {}
  for k = 0, count(result) - 1 do
    local at, where, c = subscripts(k, result), {}, {}
    for i, p in ipairs(place) do
      if p.common then c[p.common] = at[i] elseif p.axis then where[p.axis] = p.list[at[i]] end
    end
    for _, a in ipairs(advanced) do
      local flat = 0
      for i, n in ipairs(a.s) do
        local q = c[i + #common - #a.s]
        flat = flat * n + (n == 1 and 0 or q - 1)
      end
      if a.axis then where[a.axis] = a.list[flat + 1] end
    end
    local flat = 0
    for i = 1, #shape do flat = flat * shape[i] + (fixed[i] or where[i]) - 1 end
    taken[k + 1] = flat + 1
  end
  return result, taken
end

--- A random shape and key; draw(lo, hi) gives whole numbers.
function M.draw(draw)
  local shape, key, common = {}, {}, {}
  for i = 1, draw(1, 4) do shape[i] = draw(1, 4) end
  for i = 1, draw(0, 2) do common[i] = draw(1, 3) end
  local axis, dots, tensors = 1, draw(1, 4) == 1, draw(1, 3) > 1
  while axis <= #shape do
    local n, kind = shape[axis], draw(1, 9)
    if kind == 1 then key[#key + 1] = draw(0, 1) == 1 and draw(1, n) or -draw(1, n)
    elseif kind == 2 then
      local a, b, s = draw(1, n), draw(1, n), draw(1, 3)
      if a > b then s = -s end
      key[#key + 1] = { r = { draw(0, 1) == 1 and a or a - n - 1, draw(0, 1) == 1 and b or b - n - 1, s } }
    elseif kind == 3 then
      key[#key + 1] = 'new'
      axis = axis - 1
    elseif kind == 4 and dots then
      key[#key + 1], dots = 'dots', false
      axis = axis + draw(0, #shape - axis) - 1
    elseif kind == 5 and tensors then -- a mask of as many axes as are there
      local d = draw(0, math.min(2, #shape - axis + 1))
      local m = { m = {}, s = {} }
      for j = 1, d do m.s[j] = shape[axis + j - 1] end
      for k = 1, count(m.s) do m.m[k] = draw(0, 2) == 0 end
      key[#key + 1] = m
      axis = axis + d - 1
    elseif kind <= 7 and tensors then
      local t = { i = {}, s = {} }
      for j = draw(1, #common + 1), #common do t.s[#t.s + 1] = draw(1, 5) == 1 and 1 or common[j] end
      for k = 1, count(t.s) do t.i[k] = draw(0, 1) == 1 and draw(1, n) or -draw(1, n) end
      key[#key + 1] = t
    elseif kind == 8 then break
    else key[#key + 1] = 'all' end
    axis = axis + 1
  end
  return shape, key
end

--- The smallest key found by dropping entries and replacing them by 'all' for which `fails(shape, key)` is still true.
--- Keys the reference refuses are not tried.
function M.shrink(shape, key, fails)
  local again = true
  local function try(candidate)
    if pcall(M.take, shape, candidate) and fails(shape, candidate) then
      key, again = candidate, true
      return true
    end
  end
  while again do
    again = false
    for k = #key, 1, -1 do
      local without, plain = {}, {}
      for i, v in ipairs(key) do
        if i ~= k then without[#without + 1] = v end
        plain[i] = i == k and v ~= 'new' and v ~= 'dots' and not (type(v) == 'table' and v.m) and 'all' or v
      end
      if try(without) or (plain[k] ~= key[k] and try(plain)) then break end
    end
  end
  return key
end

--- A key as text.
function M.text(key)
  local out = {}
  for i, k in ipairs(key) do
    if type(k) ~= 'table' then out[i] = tostring(k)
    elseif k.r then out[i] = ('{%d, %d, %d}'):format(k.r[1], k.r[2], k.r[3])
    else
      local list = {}
      for j, v in ipairs(k.i or k.m) do list[j] = tostring(v) end
      out[i] = ('%s[%s](%s)'):format(k.i and 'positions' or 'mask', table.concat(k.s, ','), table.concat(list, ' '))
    end
  end
  return table.concat(out, ', ')
end

return M
