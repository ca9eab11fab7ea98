-- index.lua - x[...] and x[...] = v in all their forms.
--
-- Keys: a number; a table of numbers, ranges {first, last, step}, mc.all, mc.newaxis, mc.ellipsis, tensors; a string
-- "2:-1, ..., ::2"; a boolean mask; an integer tensor. 1-based, inclusive, negative from the end. Holds their reading;
-- views are made by C.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local op = require 'mascon.core.op'
local some = require 'mascon.core.keys' -- the first keys of a table
local view = require 'mascon.core.view'
local C = lib.C
local is, methods, F = tensor.is, tensor.methods, op.functions

local M = {}

local function marker(name)
  return setmetatable({}, { __tostring = function() return 'mc.' .. name end, __newindex = function()
    error('mc.' .. name .. ' is a constant', 2)
  end })
end
M.all, M.newaxis, M.ellipsis = marker 'all', marker 'newaxis', marker 'ellipsis'
view.all = M.all

local spec_t, spec_spare = ffi.typeof 'int64_t[64]', nil -- keys as C reads them, four numbers each

local function outside(t, axis, i, level)
  error(('index: %s is outside axis %d of %s; positions run from 1 to %d, or -1 backwards'):format(tostring(i), axis,
    tensor.describe(t), tonumber(t._shape[axis - 1])), level)
end

--- A position of axis (1-based) as 0-based.
local function position(t, axis, i, level)
  local n = tonumber(t._shape[axis - 1])
  if i ~= math.floor(i) then error(('index: position %s is no whole number'):format(tostring(i)), level) end
  if i == 0 or i > n or i < -n then outside(t, axis, i, level + 1) end
  return i > 0 and i - 1 or i + n
end

local function bound(v, level)
  if type(v) ~= 'number' or v ~= math.floor(v) then
    error(('index: bound of a range is %s; give whole numbers, {first, last, step}'):format(check.show(v)), level)
  end
end

--- Range {a, b, step} of axis as start, count, step (0-based). {a, a-1} is empty.
local function range(t, axis, r, level)
  local n = tonumber(t._shape[axis - 1])
  local a, b, s = r[1], r[2], r[3] or 1
  if #r > 3 then
    error(('index: a list of %d numbers is no range {first, last, step}; single positions stand in an integer tensor')
      :format(#r), level)
  end
  if type(s) ~= 'number' or s == 0 or s ~= math.floor(s) then
    error(('index: step of a range is %s; give a whole number that is not 0'):format(check.show(s)), level)
  end
  if a == nil or a == M.all then a = s > 0 and 1 or -1 end
  if b == nil or b == M.all then b = s > 0 and -1 or 1 end
  bound(a, level + 1)
  bound(b, level + 1)
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
      if not a then
        error(('index: cannot read %q in %q; parts look like 3, 2:-1, ::2, : or ...'):format(part, s), level)
      end
      out[#out + 1] = { [1] = tonumber(a), [2] = tonumber(b), [3] = tonumber(c), range = true }
    end
  end
  return out
end

local parsed, known, KNOWN = {}, 0, 256 -- strings read before; started anew when there are many

local function parsed_once(s, level)
  local list = parsed[s]
  if not list then
    list = parse(s, level + 1)
    if known >= KNOWN then parsed, known = {}, 0 end
    parsed[s], known = list, known + 1
  end
  return list
end

local function is_range(k) return type(k) == 'table' and k ~= M.all and k ~= M.newaxis and k ~= M.ellipsis end

--- Normalises any key to a list without ellipsis; returns list and whether tensors occur.
local function keys(t, key, level)
  local list
  if type(key) == 'number' or is(key) or key == M.all or key == M.newaxis or key == M.ellipsis then list = { key }
  elseif type(key) == 'boolean' then error('index: a boolean is no position; use a mask tensor', level)
  elseif type(key) == 'string' then list = parsed_once(key, level + 1)
  elseif type(key) == 'table' then
    list = key
    local first = list[1] == nil and some(list)
    if first then
      error(('index: the table of positions has the field %s; give a list, x[{ 1, { 2, 3 } }]'):format(tostring(first)),
        level)
    end
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
  if used > t._ndim then
    error(('index: %d positions for %s, which has %d axes'):format(used, tensor.describe(t), t._ndim), level)
  end
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

--- Key i on an axis of t into the list for C; returns the next axis.
local function place(spec, t, axis, i, k, level)
  local at = 4 * (i - 1)
  if type(k) == 'number' then
    spec[at], spec[at + 1] = 0, position(t, axis, k, level + 1)
  elseif k == M.newaxis then
    spec[at] = 2
    return axis
  elseif k == M.all then
    spec[at], spec[at + 1], spec[at + 2], spec[at + 3] = 1, 0, tonumber(t._shape[axis - 1]), 1
  elseif is_range(k) then
    spec[at], spec[at + 1], spec[at + 2], spec[at + 3] = 1, range(t, axis, k, level + 1)
  else
    error(('index: position %d is %s; give a number, {first, last, step}, mc.all, mc.newaxis or a tensor'):format(i,
      check.show(k)), level)
  end
  return axis + 1
end

--- View for keys without tensors.
local function basic(t, list, level)
  local n, axis = #list, 1
  if n > 16 then error('index: more than 16 positions', level) end
  local spec = spec_spare
  if spec then spec_spare = nil else spec = spec_t() end
  -- no loop up to three keys: see check.opts
  if n > 0 then axis = place(spec, t, axis, 1, list[1], level + 1) end
  if n > 1 then axis = place(spec, t, axis, 2, list[2], level + 1) end
  if n > 2 then axis = place(spec, t, axis, 3, list[3], level + 1) end
  if n > 3 then
    for i = 4, n do axis = place(spec, t, axis, i, list[i], level + 1) end
  end
  tensor.promote(t, level + 1)
  local v = tensor.make(level, 0, C.mc_view_index, t, n, spec)
  spec_spare = spec
  return v
end

--- A key that stands for itself: one axis of t, no tensor.
local function stands(k) return type(k) == 'number' or type(k) == 'table' and k ~= M.newaxis and k ~= M.ellipsis end

--- A list of up to three keys of which each stands for an axis of t.
local function straight(t, list)
  local n = #list
  return n <= 3 and n <= t._ndim and (n < 1 or stands(list[1])) and (n < 2 or stands(list[2]))
    and (n < 3 or stands(list[3]))
end

local function sizes_text(s) return '{' .. table.concat(s, ', ') .. '}' end

--- Splits a list with tensors: `plain` makes a view of everything else, `picks` are the tensors with the axes of that
--- view they take ({ axes = { ... }, mask = t } or { axes = { a }, pos = t }). A mask without axes stands on a new axis
--- of size 1.
local function split(t, list, level)
  local plain, picks, at, axis = {}, {}, 0, 0
  for i = 1, #list do
    local k = list[i]
    if not is(k) then
      plain[#plain + 1] = k
      if type(k) ~= 'number' then at = at + 1 end
      if k ~= M.newaxis then axis = axis + 1 end
    elseif k.dtype == 'bool' then
      local pick = { axes = {}, mask = k }
      if k.ndim == 0 then
        at = at + 1
        plain[#plain + 1], pick.axes[1] = M.newaxis, at
        pick.mask = methods.reshape(k, { 1 })
      end
      for j = 1, k.ndim do
        at, axis = at + 1, axis + 1
        plain[#plain + 1], pick.axes[j] = M.all, at
        if tonumber(t._shape[axis - 1]) ~= tonumber(k._shape[j - 1]) then
          local want = {}
          for q = 1, k.ndim do want[q] = tonumber(t._shape[axis - j + q - 1]) end
          error(('index: mask is %s for sizes %s of %s; the sizes must be equal'):format(tensor.describe(k),
            sizes_text(want), tensor.describe(t)), level)
        end
      end
      picks[#picks + 1] = pick
    else
      at, axis = at + 1, axis + 1
      plain[#plain + 1] = M.all
      picks[#picks + 1] = { axes = { at }, pos = k, axis = axis }
    end
  end
  return plain, picks
end

--- Positions of an integer tensor on an axis of n as i64 from 1, checked.
local function checked(t, pick, n, level)
  local kind = tensor.kind[pick.pos.dtype]
  if kind ~= 'i' and kind ~= 'u' then
    error(('index: positions are %s; give an integer or a boolean tensor'):format(tensor.describe(pick.pos)), level)
  end
  local pos = methods.to(pick.pos, 'i64')
  if pos:numel() == 0 then return pos end
  local lo, hi = pos:min():item(), pos:max():item()
  local zero = lo <= 0 and hi >= 0 and F.any(F.eq(pos, 0))
  if zero or lo < -n or hi > n then outside(t, pick.axis, zero and 0 or (hi > n and hi or lo), level + 1) end
  return lo < 0 and F.where(F.lt(pos, 0), pos + (n + 1), pos) or pos
end

--- One message for tensors that do not pair up.
local function pair_up(a, b, level)
  local s, r = tensor.shape_of(a), tensor.shape_of(b)
  for i = 0, math.min(#s, #r) - 1 do
    local m, n = s[#s - i], r[#r - i]
    if m ~= n and m ~= 1 and n ~= 1 then
      error(('index: positions of shapes %s and %s do not pair up; their shapes must broadcast'):format(sizes_text(s),
        sizes_text(r)), level)
    end
  end
end

--- Positions of a mask that are set. Their number is known on the host alone: a mask on a device passes through it.
local function set_places(mask, level)
  if mask._device == 0 or tensor.recorded(mask) then return F.nonzero_flat(mask) end
  return tensor.moved(F.nonzero_flat(tensor.hosted(mask)), mask._device, level + 1)
end

--- Tensor keys: the plain part is taken as a view first; the axes under tensors are flattened into one, addressed by
--- one linear position. Tensors side by side leave their result in their place, tensors apart put it first (as NumPy; a
--- plain number takes its axis away before). Returns the view, its shape with the axes under tensors flattened, the
--- positions (1-based i64), and the place of the flattened axis.
local function advanced_view(t, list, level)
  local plain, picks = split(t, list, level + 1)
  local axes, adjacent = {}, true
  for _, p in ipairs(picks) do
    for _, a in ipairs(p.axes) do
      adjacent = adjacent and (#axes == 0 or a == axes[#axes] + 1)
      axes[#axes + 1] = a
    end
  end
  local v = basic(t, plain, level + 1)
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
  local shape = tensor.shape_of(v)
  -- from the last axis to the first: linear = sum of (position - 1) * (product of the sizes behind), counted from 1
  local linear, base, at = nil, 1, first + #axes - 1
  for i = #picks, 1, -1 do
    local p, n = picks[i], 1
    for _ = 1, #p.axes do
      n = n * shape[at]
      at = at - 1
    end
    local pos = p.mask and set_places(p.mask, level + 1) or checked(t, p, n, level + 1)
    if #picks == 1 then linear = pos
    else
      if linear then pair_up(pos, linear, level + 1) end
      local part = (pos - 1) * base
      linear = linear and linear + part or part
    end
    base = base * n
  end
  if #picks > 1 then linear = linear + 1 end
  local flat = {}
  for i = 1, first - 1 do flat[#flat + 1] = shape[i] end
  flat[#flat + 1] = base
  for i = first + #axes, #shape do flat[#flat + 1] = shape[i] end
  return v, flat, linear, first
end

local TAKE = op.rows.take.id

--- v taken at linear positions of an axis; positions the caller did not check are checked by C, and then once more for
--- the error's words.
local function taken(v, linear, axis, level, unchecked)
  local P = lib.params()
  P.naxes, P.axes[0] = 1, axis - 1
  local n = v._small
  local out = tensor.header(n > 0 and linear._small > 0 and 1024 or 0)
  local rc = lib.op_pair(TAKE, out, v, linear, P)
  if rc ~= 0 then
    if unchecked then checked(v, { pos = unchecked, axis = axis }, tonumber(v._shape[axis - 1]), level + 2) end
    if tensor.failed(rc, level, false, v, linear) then
      rc = lib.op_pair(TAKE, out, v, linear, P)
      if rc ~= 0 then tensor.failed(rc, level, true, v, linear) end
    end
  end
  lib.give(P)
  return out._storage ~= nil and tensor.finish(out) or out
end

local ELSEWHERE = -2 -- of mc_masked: the general way does it

local function get(t, key)
  if is(key) and t._ndim > 0 and tensor.name[key._dtype] ~= 'bool' then -- one tensor of positions: no view is needed
    return taken(t, key, 1, 4, key)
  end
  if is(key) and t._ndim > 0 and key._ndim == t._ndim then -- a mask of the whole shape
    local out = tensor.header(t._small)
    local rc = C.mc_masked(out, t, key)
    if rc == 0 then return out._storage ~= nil and tensor.finish(out) or out end
    if rc ~= ELSEWHERE and not tensor.failed(rc, 3, false, t, key) then return nil end
  end
  if type(key) == 'number' then
    if t._ndim == 0 then error('index: a 0-d tensor has no positions; use :item()', 3) end
    local spec = spec_spare
    if spec then spec_spare = nil else spec = spec_t() end
    spec[0], spec[1] = 0, position(t, 1, key, 4)
    tensor.promote(t, 4)
    local v = tensor.make(3, 0, C.mc_view_index, t, 1, spec)
    spec_spare = spec
    return v
  end
  local simple = type(key) == 'string' and parsed_once(key, 4)
    or type(key) == 'table' and key ~= M.all and key ~= M.newaxis and key ~= M.ellipsis and key
  if simple and simple[1] ~= nil and straight(t, simple) then return basic(t, simple, 4) end
  local list, advanced = keys(t, key, 4)
  if not advanced then return basic(t, list, 4) end
  local v, flat, linear, axis = advanced_view(t, list, 4)
  return taken(methods.reshape(v, flat), linear, axis, 4)
end

--- A value to be written into t as a tensor; numbers, booleans and complex numbers must fit its dtype.
local function written(t, value, level)
  if is(value) then
    if value._flags ~= 256 or t._device == 0 then return value end
    -- a number of a compiled function
    return methods.copy_(tensor.empty('index', {}, tensor.name[t._dtype], level, t._device), value)
  end
  if type(value) == 'table' then return tensor.moved(op.from_table(value), t._device, level + 1) end
  local k = type(value)
  if k ~= 'number' and k ~= 'boolean' and not tensor.is_complex(value) and not (k == 'cdata' and tonumber(value)) then
    error(("index: value is %s; give a number, a table or a tensor"):format(check.show(value)), level)
  end
  return methods.fill_(tensor.empty('index', {}, tensor.name[t._dtype], level, t._device), value)
end

--- t[list] = value (or += value) through tensor keys; later positions win, sums run in order.
local function put(t, list, value, accumulate, level)
  local only = #list == 1 and list[1]
  if only and only.dtype ~= 'bool' then -- one tensor of positions: no view is needed
    value = written(t, value, level + 1)
    local rc = C.mc_put(t, 0, only, value, accumulate and 1 or 0)
    if rc ~= 0 then
      checked(t, { pos = only, axis = 1 }, tonumber(t._shape[0]), level + 1)
      tensor.failed(rc, level, true, t, value)
    end
    return
  end
  local v, flat, linear, axis = advanced_view(t, list, level + 1)
  value = written(t, value, level + 1)
  local whole = methods.reshape(v, flat)
  local viewed = C.mc_shares_storage(whole, v) ~= 0
  if value.ndim > 1 and linear.ndim ~= 1 or value.ndim > #flat then
    -- leading axes of size 1 do no harm
    local s, most = tensor.shape_of(value), #flat - 1 + linear.ndim
    while #s > most and s[1] == 1 do table.remove(s, 1) end
    if #s < value.ndim then value = methods.reshape(value, s) end
  end
  local rc = C.mc_put(whole, axis - 1, linear, value, accumulate and 1 or 0)
  if rc == 0 and not viewed then rc = C.mc_copy(v, methods.reshape(whole, v.shape)) end
  if rc ~= 0 then tensor.failed(rc, level, true, t, value) end
end

local function set(t, key, value)
  if is(key) and key.dtype == 'bool' and key.shape == t.shape and t._ndim > 0 then
    -- one value where a mask of the whole shape is set
    if not is(value) and type(value) ~= 'table' or is(value) and value.ndim == 0 then
      F.where(key, methods.to(written(t, value, 4), t.dtype), t, { out = t })
      return
    end
  end
  local list, advanced = keys(t, key, 4)
  if advanced then return put(t, list, value, false, 4) end
  local v = basic(t, list, 4)
  if is(value) or type(value) == 'table' then
    local rc = C.mc_copy(v, written(t, value, 4))
    if rc ~= 0 then tensor.failed(rc, 3, true, t, value) end
  else
    methods.fill_(v, value)
  end
end

--- x[key] += value in place, also where positions repeat: each occurrence counts, in order. x is returned.
--- x: any dtype but bool. key: whatever x[key] takes. value: a number, table or tensor that broadcasts to the shape of
--- x[key]; it takes the dtype of x.
--- Errors: what x[key] refuses; a read-only x (a broadcast view).
---     mc.zeros{3}:index_add_(mc.tensor({1, 1}, {dtype = 'i64'}), 5)  --> f64[3]@cpu { 10, 0, 0 }
---@param key any
---@param value any
---@return any x
function methods.index_add_(t, key, value)
  local list, advanced = keys(t, key, 3)
  if t.dtype == 'bool' then
    error(('index_add: operand is %s; booleans have no sums, convert with :to first'):format(tensor.describe(t)), 2)
  end
  if advanced then
    put(t, list, value, true, 3)
  else
    local v = basic(t, list, 3)
    F.add(v, type(value) == 'number' and value or methods.to(written(t, value, 3), t.dtype), { out = v })
  end
  return t
end

local PUT = { accumulate = { false, 'bool' } }
--- x[key] = value in place, or x[key] += value with the option accumulate. x is returned.
--- x: any dtype. key: whatever x[key] takes. value: a number, table or tensor that broadcasts to the shape of x[key].
--- Where positions repeat, the last value stays; with accumulate = true each is added.
---     mc.zeros{3}:put_(mc.tensor({3, 1}, {dtype = 'i64'}), {7, 8})  --> f64[3]@cpu { 8, 0, 7 }
---@param key any
---@param value any
---@param opts? table
---@return any x
function methods.put_(t, key, value, opts)
  if check.opts('put', opts, PUT, 3).accumulate then return methods.index_add_(t, key, value) end
  set(t, key, value)
  return t
end

--- A copy of x in which x[key] = value, or x[key] + value with the option accumulate. See x:put_ for the same in place.
--- x: any dtype. key: whatever x[key] takes. value: a number, table or tensor that broadcasts to the shape of x[key].
--- Where positions repeat, the last value stays; with accumulate = true each is added.
--- Source: NumPy advanced indexing, numpy.add.at
---     mc.put(mc.zeros{3}, {{1, 2}}, 4)  --> f64[3]@cpu { 4, 4, 0 }
---@param x any
---@param key any
---@param value any
---@param opts? table
---@return any
function M.put(x, key, value, opts)
  return methods.put_(methods.copy(op.operand('put', x, 2)), key, value, opts)
end

--- A copy of x with value added at key; positions that repeat count as often as they occur. See x:index_add_ for the
--- same in place.
--- x: any dtype but bool. key: whatever x[key] takes. value: a number, table or tensor that broadcasts to the shape of
--- x[key].
--- Source: NumPy advanced indexing, numpy.add.at
---     mc.index_add(mc.zeros{3}, mc.tensor({2, 2}, {dtype = 'i64'}), 1)  --> f64[3]@cpu { 0, 2, 0 }
---@param x any
---@param key any
---@param value any
---@return any
function M.index_add(x, key, value)
  return methods.index_add_(methods.copy(op.operand('index_add', x, 2)), key, value)
end

tensor.set_index(get, set)
return M
