-- index.lua - x[...] and x[...] = v in all their forms.
--
-- Keys: a number; a table of numbers, ranges {first, last, step}, mc.all, mc.newaxis, mc.ellipsis, tensors; a string "2:-1, ..., ::2"; a
-- boolean mask; an integer tensor. 1-based, inclusive, negative from the end. Owns their reading; views are made by C.
local ffi = require 'ffi'
local lib = require 'mascon.ffi'
local tensor = require 'mascon.tensor'
local check = require 'mascon.check'
local error = check.error
local op = require 'mascon.op'
local view = require 'mascon.view'
local C = lib.C
local is, methods, F = tensor.is, tensor.methods, op.functions

local M = {}

local function marker(name) return setmetatable({}, { __tostring = function() return 'mc.' .. name end, __newindex = function() error('mc.' .. name .. ' is a constant', 2) end }) end
M.all, M.newaxis, M.ellipsis = marker 'all', marker 'newaxis', marker 'ellipsis'
view.all = M.all

local spec = ffi.new 'int64_t[64]'

local function outside(t, axis, i, level)
  error(('index: %s is outside axis %d of %s; positions run from 1 to %d, or -1 backwards'):format(tostring(i), axis, tensor.describe(t), tonumber(t._shape[axis - 1])), level)
end

--- A position of axis (1-based) as 0-based.
local function position(t, axis, i, level)
  local n = tonumber(t._shape[axis - 1])
  if i ~= math.floor(i) then error(('index: position %s is no whole number'):format(tostring(i)), level) end
  if i == 0 or i > n or i < -n then outside(t, axis, i, level + 1) end
  return i > 0 and i - 1 or i + n
end

--- Range {a, b, step} of axis as start, count, step (0-based). {a, a-1} is empty.
local function range(t, axis, r, level)
  local n = tonumber(t._shape[axis - 1])
  local a, b, s = r[1], r[2], r[3] or 1
  if type(s) ~= 'number' or s == 0 or s ~= math.floor(s) then error(('index: step of a range is %s; give a whole number that is not 0'):format(check.show(s)), level) end
  if a == nil or a == M.all then a = s > 0 and 1 or -1 end
  if b == nil or b == M.all then b = s > 0 and -1 or 1 end
  for _, v in ipairs { a, b } do
    if type(v) ~= 'number' or v ~= math.floor(v) then error(('index: bound of a range is %s; give whole numbers, {first, last, step}'):format(check.show(v)), level) end
  end
  if n == 0 then return 0, 0, s end
  local lo = a < 0 and a + n or a - 1
  local hi = b < 0 and b + n or b - 1
  local count = math.floor((hi - lo) / s) + 1
  if count <= 0 then return 0, 0, s end
  if lo < 0 or lo >= n then outside(t, axis, a, level + 1) end
  local last = lo + (count - 1) * s
  if hi < 0 or hi >= n or last < 0 or last >= n then outside(t, axis, b, level + 1) end
  return lo, count, s
end

--- "2:-1, ..., ::2" into a list of keys.
local function parse(s, level)
  local out = {}
  for part in (s .. ','):gmatch '%s*(.-)%s*,' do
    if part == ':' then out[#out + 1] = M.all
    elseif part == '...' then out[#out + 1] = M.ellipsis
    elseif part == 'new' or part == 'newaxis' then out[#out + 1] = M.newaxis
    elseif part:match '^-?%d+$' then out[#out + 1] = tonumber(part)
    else
      local a, b, c = part:match '^(-?%d*)%s*:%s*(-?%d*)%s*:?%s*(-?%d*)$'
      if not a then error(('index: cannot read %q in %q; parts look like 3, 2:-1, ::2, : or ...'):format(part, s), level) end
      out[#out + 1] = { [1] = tonumber(a), [2] = tonumber(b), [3] = tonumber(c), range = true }
    end
  end
  return out
end

local function is_range(k) return type(k) == 'table' and k ~= M.all and k ~= M.newaxis and k ~= M.ellipsis end

--- Normalises any key to a list without ellipsis; returns list and whether tensors occur.
local function keys(t, key, level)
  local list
  if type(key) == 'number' or is(key) or key == M.all or key == M.newaxis or key == M.ellipsis then list = { key }
  elseif type(key) == 'boolean' then error('index: a boolean is no position; use a mask tensor', level)
  elseif type(key) == 'string' then list = parse(key, level + 1)
  elseif type(key) == 'table' then list = key
  else error(('index: key is %s; give a number, a table, a string or a tensor'):format(check.show(key)), level) end
  local used, advanced, dots = 0, false, nil
  for i = 1, #list do
    local k = list[i]
    if is(k) then
      advanced = true
      used = used + (k.dtype == 'bool' and k.ndim or 1)
    elseif k == M.ellipsis then
      if dots then error('index: more than one ellipsis', level) end
      dots = i
    elseif k ~= M.newaxis then used = used + 1 end
  end
  if used > t._ndim then error(('index: %d positions for %s, which has %d axes'):format(used, tensor.describe(t), t._ndim), level) end
  if dots then
    local full = {}
    for i = 1, #list do
      if i == dots then for _ = 1, t._ndim - used do full[#full + 1] = M.all end
      else full[#full + 1] = list[i] end
    end
    list = full
  end
  return list, advanced
end

--- View for keys without tensors.
local function basic(t, list, level)
  local axis, n = 1, #list
  if n > 16 then error('index: more than 16 positions', level) end
  for i = 1, n do
    local k, at = list[i], 4 * (i - 1)
    if type(k) == 'number' then
      spec[at], spec[at + 1] = 0, position(t, axis, k, level + 1)
      axis = axis + 1
    elseif k == M.newaxis then
      spec[at] = 2
    elseif k == M.all then
      spec[at], spec[at + 1], spec[at + 2], spec[at + 3] = 1, 0, tonumber(t._shape[axis - 1]), 1
      axis = axis + 1
    elseif is_range(k) then
      spec[at], spec[at + 1], spec[at + 2], spec[at + 3] = 1, range(t, axis, k, level + 1)
      axis = axis + 1
    else
      error(('index: position %d is %s; give a number, {first, last, step}, mc.all, mc.newaxis or a tensor'):format(i, check.show(k)), level)
    end
  end
  tensor.promote(t, level + 1)
  return tensor.make(level, 0, C.mc_view_index, t, n, spec)
end

--- Tensor keys: the plain part is taken as a view first; the axes under tensors come to the front and are flattened into one, addressed by
--- one linear position. Returns the flattened view, the positions (1-based i64), the shape that replaces it, and where it goes.
local function advanced_view(t, list, level)
  local plain, at, idx, axes = {}, 0, {}, {}
  for i = 1, #list do
    local k = list[i]
    if is(k) then
      if k.dtype == 'bool' then
        for j = 1, k.ndim do
          at = at + 1
          plain[#plain + 1] = M.all
          axes[#axes + 1] = at
          if tonumber(t._shape[at - 1]) ~= tonumber(k._shape[j - 1]) and #list == 1 then
            error(('index: mask is %s for %s; the sizes must be equal'):format(tensor.describe(k), tensor.describe(t)), level)
          end
        end
        idx[#idx + 1] = { mask = k, n = k.ndim }
      else
        local kind = tensor.kind[k.dtype]
        if kind ~= 'i' and kind ~= 'u' then error(('index: positions are %s; give an integer or a boolean tensor'):format(tensor.describe(k)), level) end
        at = at + 1
        plain[#plain + 1] = M.all
        axes[#axes + 1] = at
        idx[#idx + 1] = { pos = k, n = 1 }
      end
    else
      plain[#plain + 1] = k
      if type(k) ~= 'number' then at = at + 1 end
    end
  end
  local v = #plain > 0 and basic(t, plain, level + 1) or t
  -- axes counted on the view; bring them to the front when they are not side by side
  local adjacent = true
  for i = 2, #axes do adjacent = adjacent and axes[i] == axes[i - 1] + 1 end
  local first = axes[1]
  if not adjacent then
    local p, seen = {}, {}
    for _, a in ipairs(axes) do
      p[#p + 1] = a
      seen[a] = true
    end
    for a = 1, v.ndim do if not seen[a] then p[#p + 1] = a end end
    v = methods.permute_dims(v, p)
    first = 1
  end
  local shape, sizes = v.shape, {}
  for i = 1, #axes do sizes[i] = shape[first + i - 1] end
  -- one linear position per element of the result; a mask lists its true places
  local linear, base, single = nil, 1, #idx == 1
  local at_axis = #axes
  for i = #idx, 1, -1 do
    local k, n = idx[i], 1
    for _ = 1, k.n do
      n = n * sizes[at_axis]
      at_axis = at_axis - 1
    end
    local pos
    if k.mask then
      local want = {}
      for j = 1, k.n do want[j] = sizes[at_axis + j] end
      for j = 1, k.n do
        if want[j] ~= k.mask.shape[j] then error(('index: mask is %s for sizes {%s}; they must be equal'):format(tensor.describe(k.mask), table.concat(want, ', ')), level) end
      end
      pos = F.nonzero_flat(k.mask)
    else
      pos = methods.to(k.pos, 'i64')
      if pos:numel() > 0 then
        local lo, hi = pos:min():item(), pos:max():item()
        local zero = lo <= 0 and hi >= 0 and F.any(F.eq(pos, 0))
        if zero or lo < -n or hi > n then outside(t, axes[i] or 1, zero and 0 or (hi > n and hi or lo), level + 1) end
        if lo < 0 then pos = F.where(F.lt(pos, 0), pos + (n + 1), pos) end
      end
    end
    if single then linear = pos
    else
      local part = (pos - 1) * base
      linear = linear and linear + part or part
    end
    base = base * n
  end
  if not single then linear = linear + 1 end
  local flat = {}
  for i = 1, first - 1 do flat[#flat + 1] = shape[i] end
  flat[#flat + 1] = base
  for i = first + #axes, #shape do flat[#flat + 1] = shape[i] end
  return v, flat, linear, first
end

local function get(t, key)
  if type(key) == 'number' then
    if t._ndim == 0 then error('index: a 0-d tensor has no positions; use :item()', 3) end
    spec[0], spec[1] = 0, position(t, 1, key, 4)
    tensor.promote(t, 4)
    return tensor.make(3, 0, C.mc_view_index, t, 1, spec)
  end
  local list, advanced = keys(t, key, 4)
  if not advanced then return basic(t, list, 4) end
  local v, flat, linear, axis = advanced_view(t, list, 4)
  return F.take(methods.reshape(v, flat), linear, axis)
end

local function set(t, key, value)
  local list, advanced = keys(t, key, 4)
  if not advanced then
    local v = basic(t, list, 4)
    if is(value) then
      local rc = C.mc_copy(v, value)
      if rc ~= 0 then tensor.failed(rc, 3, true, t, value) end
    elseif type(value) == 'table' then
      local rc = C.mc_copy(v, op.from_table(value))
      if rc ~= 0 then tensor.failed(rc, 3, true, t) end
    else
      methods.fill_(v, value)
    end
    return
  end
  M.put(t, list, value, false)
end

--- t[key] = value (or += value) through tensor keys; later positions win, sums run in order.
function M.put(t, list, value, accumulate)
  local v, flat, linear, axis = advanced_view(t, list, 5)
  if not is(value) then value = type(value) == 'table' and op.from_table(value) or op.scalar('index', value, 4) end
  local whole = methods.reshape(v, { copy = true, unpack(flat) })
  local viewed = C.mc_shares_storage(whole, v) ~= 0
  local rc = C.mc_put(whole, axis - 1, linear, value, accumulate and 1 or 0)
  if rc == 0 and not viewed then rc = C.mc_copy(v, methods.reshape(whole, v.shape)) end
  if rc ~= 0 then tensor.failed(rc, 4, true, t, value) end
end

--- x[key] += value, also where positions repeat.
---     local x = mc.zeros { 3 }
---     x:index_add_({ mc.tensor({ 1, 1 }, { dtype = "i64" }) }, 2)  --> f64[3]@cpu { 4, 0, 0 }
function methods.index_add_(t, key, value)
  local list, advanced = keys(t, key, 3)
  if not advanced then
    local v = basic(t, list, 3)
    F.add(v, value, { out = v })
    return t
  end
  M.put(t, list, value, true)
  return t
end

tensor.set_index(get, set)
return M
