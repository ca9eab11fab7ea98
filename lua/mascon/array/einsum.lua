-- einsum.lua - sums of products in index notation.
--
-- Reads subscripts ('ij,jk->ik', '...' for any axes, repeated letters for diagonals) and lowers them: diagonals are
-- views, the order of products comes from contraction.lua, each product from contract.lua. Makes no copy that the
-- products do not need.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local contract = require 'mascon.array.contract'
local contraction = require 'mascon.array.contraction'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

-- ---------------------------------------------------------------- subscripts

--- Letters of one term as a list; an ellipsis becomes the entry '...'.
local function letters(fname, term, spec)
  local out, rest = {}, term
  while #rest > 0 do
    if rest:sub(1, 3) == '...' then
      for _, l in ipairs(out) do
        if l == '...' then error(('%s: two ellipses in one term of %q; use one'):format(fname, spec), 4) end
      end
      out[#out + 1], rest = '...', rest:sub(4)
    elseif rest:match '^%a' then
      out[#out + 1], rest = rest:sub(1, 1), rest:sub(2)
    else
      error(('%s: cannot read %q at %q; terms are letters and ..., as in ij,jk->ik'):format(fname, spec, rest), 4)
    end
  end
  return out
end

--- Reads the subscripts against the operands: labels of each operand and of the result, ellipses spelled out as #1, #2,
--- ... from the end.
local function read(fname, spec, list)
  if type(spec) ~= 'string' then
    error(("%s: subscripts are %s; give a string like 'ij,jk->ik'"):format(fname, check.show(spec)), 3)
  end
  local text = spec:gsub('%s', '')
  local left, right = text:match '^(.-)%->(.*)$'
  if not left then left = text end
  local terms = {}
  for term in (left .. ','):gmatch '(.-),' do terms[#terms + 1] = letters(fname, term, spec) end
  if #terms ~= #list then
    error(('%s: %q has %d terms, %d operands are given; give one for each'):format(fname, spec, #terms, #list), 3)
  end
  local labels, deepest, times = {}, 0, {}
  for k, term in ipairs(terms) do
    local t, plain, dots = list[k], 0, false
    for _, l in ipairs(term) do if l == '...' then dots = true else plain = plain + 1 end end
    local extra = t.ndim - plain
    if extra < 0 or (extra > 0 and not dots) then
      error(('%s: term %d of %q names %d axes, operand %d is %s; name each axis once or add ...'):format(fname, k, spec,
        plain, k, tensor.describe(t)), 3)
    end
    local out = {}
    for _, l in ipairs(term) do
      if l == '...' then for e = extra, 1, -1 do out[#out + 1] = '#' .. e end
      else
        out[#out + 1] = l
        times[l] = (times[l] or 0) + 1
      end
    end
    if dots then deepest = math.max(deepest, extra) end
    labels[k] = out
  end
  local out = {}
  if right then
    local seen = {}
    for _, l in ipairs(letters(fname, right, spec)) do
      if l == '...' then for e = deepest, 1, -1 do out[#out + 1] = '#' .. e end
      else
        if not times[l] then error(('%s: %q gives %s, which no operand has; drop it'):format(fname, spec, l), 3) end
        if seen[l] then
          error(('%s: %q gives %s twice; name each axis of the result once'):format(fname, spec, l), 3)
        end
        seen[l] = true
        out[#out + 1] = l
      end
    end
  else -- the axes of the ellipsis, then the letters that occur once, in alphabetical order
    for e = deepest, 1, -1 do out[#out + 1] = '#' .. e end
    local once = {}
    for l, n in pairs(times) do if n == 1 then once[#once + 1] = l end end
    table.sort(once)
    for _, l in ipairs(once) do out[#out + 1] = l end
  end
  if #out > 8 then error(('%s: %q gives %d axes; at most 8'):format(fname, spec, #out), 3) end
  return labels, out
end

--- Size of each label; 1 goes with any size.
local function sizes_of(fname, spec, list, labels)
  local sizes, from = {}, {}
  for k, t in ipairs(list) do
    local shape = t.shape
    for i, l in ipairs(labels[k]) do
      local n = shape[i]
      if sizes[l] == nil or sizes[l] == 1 then
        sizes[l], from[l] = n, k
      elseif n ~= 1 and n ~= sizes[l] then
        error(('%s: %s has two sizes in %q, operand %d is %s and operand %d is %s; they must be equal or 1'):format(
          fname, l:sub(1, 1) == '#' and 'an axis of ...' or l, spec, from[l], tensor.describe(list[from[l]]), k,
          tensor.describe(t)), 3)
      end
    end
  end
  return sizes
end

-- ---------------------------------------------------------------- one operand

--- Repeated labels become diagonals, labels of size 1 that are longer elsewhere go. Views only.
local function prepare(t, labels, sizes)
  local i = 1
  labels = { unpack(labels) }
  while i <= #labels do
    local again
    for k = i + 1, #labels do if labels[k] == labels[i] then again = k break end end
    if again then
      local l, shape = labels[i], t.shape
      if shape[i] ~= shape[again] then -- one of them has size 1 and stands for all
        local whole = {}
        for k = 1, #shape do whole[k] = (k == i or k == again) and math.max(shape[i], shape[again]) or shape[k] end
        t = methods.broadcast_to(t, whole)
      end
      t = methods.diagonal(t, { axis1 = i, axis2 = again })
      table.remove(labels, again)
      table.remove(labels, i)
      labels[#labels + 1] = l
    else
      i = i + 1
    end
  end
  local shape, kept, rest = t.shape, {}, {}
  for k, l in ipairs(labels) do
    if not (shape[k] == 1 and sizes[l] ~= 1) then kept[#kept + 1], rest[#rest + 1] = l, shape[k] end
  end
  if #kept < #labels then t = methods.reshape(t, rest) end
  return t, kept
end

local function set_of(list)
  local s = {}
  for _, l in ipairs(list) do s[l] = true end
  return s
end

--- Operands, options and everything read from the subscripts.
local OPTS = { optimize = { 'auto', { 'auto', 'optimal', 'greedy', 'left' } } }
local function arguments(fname, spec, ...)
  local list, opts = {}, nil
  for k = 1, select('#', ...) do
    local v = select(k, ...)
    if type(v) == 'table' and v[1] == nil and next(v) ~= nil then opts = v
    elseif type(v) == 'table' and tensor.is(v[1]) and k == 1 then list = { unpack(v) }
    else list[#list + 1] = v end
  end
  op.operands(fname, list, #list, 3)
  local o = check.opts(fname, opts, OPTS, 4)
  if #list == 0 then error(("%s: there are no operands; give tensors after the subscripts"):format(fname), 3) end
  local labels, out = read(fname, spec, list)
  local sizes = sizes_of(fname, spec, list, labels)
  return list, labels, out, sizes, o
end

-- ---------------------------------------------------------------- one product of matrices

local plans = {} -- by subscripts: how the operands lie for matmul, or false where more is to be done

--- The axes of a term in the order of `want`, as an argument of permute_dims; false when they stand so.
local function order_of(term, want)
  local p, same = {}, true
  for i = 1, #want do
    p[i] = term:find(want:sub(i, i), 1, true)
    same = same and p[i] == i
  end
  return not same and p
end

--- 'bij,bjk->bik' and its like, in any order within the operands: batch axes, one free axis each, one summed axis.
local function plan_of(spec)
  local a, b, out = spec:match '^(%a+),(%a+)%->(%a+)$'
  if not a or #a ~= #out or #b ~= #out or #out > 8 then return false end
  local batch, summed, left, right = '', nil, nil, nil
  for l in (a .. b .. out):gmatch '.' do
    local _, n = (a .. b .. out):gsub(l, '')
    local ina, inb, ino = a:find(l, 1, true), b:find(l, 1, true), out:find(l, 1, true)
    if n ~= (ina and 1 or 0) + (inb and 1 or 0) + (ino and 1 or 0) then return false end -- named twice in a term
    if ina and inb and ino then
      if not batch:find(l, 1, true) then batch = batch .. l end
    elseif ina and inb then summed = summed and summed ~= l and '?' or l
    elseif ina and ino then left = left and left ~= l and '?' or l
    elseif inb and ino then right = right and right ~= l and '?' or l
    else return false end
  end
  if not summed or not left or not right or summed .. left .. right ~= (summed .. left .. right):gsub('%?', '')
    or out ~= batch .. left .. right then
    return false
  end
  local plan = { n = #out, batch = {}, a = order_of(a, batch .. left .. summed),
    b = order_of(b, batch .. summed .. right), pa = a:find(summed, 1, true), pb = b:find(summed, 1, true) }
  for i = 1, #batch do plan.batch[i] = { a:find(batch:sub(i, i), 1, true), (b:find(batch:sub(i, i), 1, true)) } end
  return plan
end

local DIRECT = { f32 = true, f64 = true, c64 = true, c128 = true }

--- The product when it is one of matrices and all sizes agree; nil otherwise.
local function direct(spec, a, b)
  local plan = plans[spec]
  if plan == nil then
    plan = plan_of(spec)
    plans[spec] = plan
  end
  if not plan or a._ndim ~= plan.n or b._ndim ~= plan.n or a._dtype ~= b._dtype
    or not DIRECT[tensor.name[a._dtype]] then
    return nil
  end
  if a._shape[plan.pa - 1] ~= b._shape[plan.pb - 1] then return nil end
  for i = 1, #plan.batch do
    if a._shape[plan.batch[i][1] - 1] ~= b._shape[plan.batch[i][2] - 1] then return nil end
  end
  return F.matmul(plan.a and methods.permute_dims(a, plan.a) or a, plan.b and methods.permute_dims(b, plan.b) or b)
end

--- Sum of products in index notation: each letter names an axis, letters that are not in the result are summed.
--- 'ij,jk->ik' is a matrix product, 'ii->i' a diagonal, 'bij,bjk' a batched product (without -> the result has the
--- letters that occur once, in alphabetical order), '...' stands for any axes, which broadcast.
---@param subscripts string
---@param ... any one tensor for each term; last a table of options: optimize = 'auto' (exact search for the order of
--- products up to 8 operands, greedy beyond), 'optimal', 'greedy', 'left' (as they stand)
---@return any tensor in the common dtype; sums of integers and booleans give i64. A diagonal or a reordering alone is a
---  view.
--- Errors: terms that do not fit the operands, sizes that differ. Source: NumPy einsum; order of products: Pfeifer,
--- Haegeman, Verstraete, Faster identification of optimal contraction sequences for tensor networks, 2014 (search over
--- subsets).
---     mc.einsum('ij,j->i', mc.tensor{ { 1, 2 }, { 3, 4 } }, mc.tensor{ 1, 10 })  --> f64[2]@cpu { 21, 43 }
---     mc.einsum('ii', mc.eye(3))  --> f64[]@cpu 3
function M.einsum(subscripts, ...)
  local first, second, more = ...
  if more == nil and type(subscripts) == 'string' and tensor.is(first) and tensor.is(second) then
    local product = direct(subscripts, first, second)
    if product then return product end
  end
  local list, labels, out, sizes, o = arguments('einsum', subscripts, ...)
  local dtype, kinds = nil, {}
  local keep = set_of(out)
  local summed = false
  for l in pairs(sizes) do summed = summed or not keep[l] end
  for k, t in ipairs(list) do kinds[tensor.kind[t.dtype]], list[k] = true, t end
  local float = kinds.f or kinds.c
  local half = false
  for k, t in ipairs(list) do
    dtype = dtype and tensor.promote_dtypes(dtype, t.dtype) or t.dtype
    if #list > 1 and (t.dtype == 'f16' or t.dtype == 'bf16') then
      list[k], half = methods.to(t, 'f32'), true
    elseif t.dtype == 'bool' and #list > 1 then
      list[k] = methods.to(t, 'i64')
    end
  end
  local sets = {}
  for k, t in ipairs(list) do
    list[k], labels[k] = prepare(t, labels[k], sizes)
    sets[k] = set_of(labels[k])
  end
  local path = contraction.search(sets, keep, sizes, o.optimize)
  for _, step in ipairs(path) do
    local i, j = step[1], step[2]
    local a, b = list[i], list[j]
    local la, lb = labels[i], labels[j]
    for _, l in ipairs { list, labels } do
      table.remove(l, j)
      table.remove(l, i)
    end
    local stays = set_of(out)
    for _, other in ipairs(labels) do for _, l in ipairs(other) do stays[l] = true end end
    list[#list + 1], labels[#labels + 1] = contract.pair(a, la, b, lb, stays, out)
  end
  local t, left = contract.reduce(list[1], labels[1], keep)
  local shape, present, mine = {}, set_of(left), {}
  for i, l in ipairs(out) do
    if present[l] then mine[#mine + 1] = l end
    shape[i] = sizes[l]
  end
  t = contract.ordered(t, left, mine)
  if #mine < #out then t = methods.reshape(t, shape) end -- axes of size 1 that went
  if half and float then t = methods.to(t, dtype) end
  if not float then t = methods.to(t, summed and 'i64' or dtype) end
  return t
end

--- The order in which einsum would multiply, and what it costs, without computing.
---@param subscripts string
---@param ... any tensors, options as einsum
---@return table path: list of { i, j }, positions in the list of operands from which two are taken; their product goes
--- to its end · work: multiplications of the path · naive: of one loop over all letters · largest: elements of the
--- largest intermediate · text: a report
--- Source: as einsum.
---     mc.einsum_path('ij,jk,kl->il', mc.ones{ 2, 9 }, mc.ones{ 9, 9 }, mc.ones{ 9, 2 }).work  --> 198
function M.einsum_path(subscripts, ...)
  local list, labels, out, sizes, o = arguments('einsum_path', subscripts, ...)
  local sets, keep = {}, set_of(out)
  for k, t in ipairs(list) do
    local _, kept = prepare(t, labels[k], sizes)
    sets[k] = set_of(kept)
  end
  local path, work = contraction.search(sets, keep, sizes, o.optimize)
  local naive, largest = 1, contraction.size_of(keep, sizes)
  for _, n in pairs(sizes) do naive = naive * n end
  local lines = { ('%-12s %-28s %12s %14s'):format('step', 'product', 'work', 'elements') }
  local function spell(set)
    local s = {}
    for l in pairs(set) do s[#s + 1] = l end
    table.sort(s)
    return table.concat(s)
  end
  for _, step in ipairs(path) do
    local i, j = step[1], step[2]
    local a, b = sets[i], sets[j]
    table.remove(sets, j)
    table.remove(sets, i)
    local met = contraction.union(a, b)
    local result = contraction.staying(met, keep, sets)
    sets[#sets + 1] = result
    local n = contraction.size_of(result, sizes)
    largest = math.max(largest, n)
    lines[#lines + 1] = ('%-12s %-28s %12.4g %14.4g'):format(('%d, %d'):format(i, j),
      ('%s,%s->%s'):format(spell(a), spell(b), spell(result)), contraction.size_of(met, sizes), n)
  end
  lines[#lines + 1] = ('work %.4g, in one loop %.4g, largest intermediate %.4g elements'):format(work,
    naive * math.max(1, #list - 1), largest)
  return { path = path, work = work, naive = naive * math.max(1, #list - 1), largest = largest,
    text = table.concat(lines, '\n') }
end

return M
