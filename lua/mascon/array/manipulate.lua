-- manipulate.lua - shapes of several tensors brought together, elements repeated, one tensor taken apart.
--
-- Views where the elements can stay where they are, one copy where not. Views of one tensor are methods (view.lua);
-- padding and grids are in layout.lua.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local op = require 'mascon.core.op'
local index = require 'mascon.core.index'
local F, methods = op.functions, tensor.methods

local M = {}

--- The shape to which shapes broadcast: aligned at the last axis, sizes equal or 1.
--- Arguments: tables of sizes, tensors, or numbers.
--- Result: a Lua table of sizes. Errors name the two shapes that do not fit.
--- Source: Python array API standard, broadcasting
---     table.concat(mc.broadcast_shapes({3, 1}, {1, 4}), ' ')  --> 3 4
---@return integer[]
function M.broadcast_shapes(...)
  local out, made = {}, nil
  for k = 1, select('#', ...) do
    local s = select(k, ...)
    if tensor.is(s) then s = tensor.shape_of(s) elseif type(s) == 'number' then s = { s } end
    if type(s) == 'table' and #s == 0 and next(s) ~= nil then
      error(('broadcast_shapes: argument %d has names; give a table of sizes'):format(k), 2)
    end
    if type(s) ~= 'table' then
      error(('broadcast_shapes: argument %d is %s; give a table of sizes'):format(k, check.show(s)), 2)
    end
    for _, n in ipairs(s) do check.arg('broadcast_shapes', 'a size', n, 'integer >= 0', 3) end
    local n = math.max(#s, #out)
    local next_ = {}
    for i = 1, n do
      local a, b = out[i - n + #out] or 1, s[i - n + #s] or 1
      if a ~= b and a ~= 1 and b ~= 1 then
        error(
          ('broadcast_shapes: {%s} and {%s} do not fit; sizes must be equal or 1, counted from the last axis'):format(
            table.concat(made, ', '), table.concat(s, ', ')), 2)
      end
      next_[i] = a == 1 and b or a
    end
    out, made = next_, next_
  end
  return out
end

--- Tensors broadcast against each other: read-only views of one shape.
--- Arguments: tensors (or numbers and nested tables), or one list of them.
--- Result: a list of views, in order.
--- Source: Python array API standard 2023.12
---     mc.broadcast_arrays(mc.ones{3, 1}, mc.ones{1, 2})[2].shape  --> {3, 2}
---@return any[]
function M.broadcast_arrays(...)
  local list = { ... }
  if #list == 1 and type(list[1]) == 'table' and tensor.is(list[1][1]) then list = list[1] end
  local xs = {}
  for k = 1, #list do xs[k] = op.operand('broadcast_arrays', list[k], 2) end
  local shape = M.broadcast_shapes(unpack(xs))
  for k = 1, #xs do xs[k] = methods.broadcast_to(xs[k], shape) end
  return xs
end

--- The slices of a tensor along one axis, which goes away.
--- x: any dtype, at least one axis. axis (default 1).
--- Result: a list of views, as many as the axis is long.
--- Source: Python array API standard 2023.12
---     mc.unstack(mc.tensor{{1, 2}, {3, 4}}, 2)[1]  --> f64[2]@cpu { 1, 3 }
---@param x any
---@param axis? integer
---@return any[]
function M.unstack(x, axis)
  x = op.operand('unstack', x, 2)
  if type(axis) == 'table' then axis = check.opts('unstack', axis, { axis = { 1, 'integer' } }, 3).axis end
  local a = tensor.axis('unstack', x, axis or 1, 3) + 1
  local key, out = {}, {}
  for i = 1, a do key[i] = index.all end
  for i = 1, tonumber(x._shape[a - 1]) do
    key[a] = i
    out[i] = x[key]
  end
  return out
end

--- Rows and columns of each matrix exchanged: a view.
--- x: any dtype [..., m, n]. Result: [..., n, m].
--- Source: Python array API standard 2023.12
---     mc.matrix_transpose(mc.tensor{{1, 2}, {3, 4}})[1]  --> f64[2]@cpu { 1, 3 }
---@param x any
---@return any
function M.matrix_transpose(x)
  return op.operand('matrix_transpose', x, 2).mT
end

--- Positions (from 1) that repeat element i of a row counts[i] times.
local function repeated_positions(counts, n)
  local ends = F.cumsum(counts)
  local total = n > 0 and ends[n]:item() or 0
  local steps = tensor.empty('repeat_each', { total }, 'i64', 3, counts._device):fill_(0)
  if total == 0 then return steps end
  -- each element adds one where its run starts: the running sum is its position, also where runs are empty
  local starts = ends - counts
  starts = starts[F.lt(starts, total)]
  methods.index_add_(steps, starts + 1, 1)
  return F.cumsum(steps)
end

--- Each element k times, one after the other.
--- x: any dtype. repeats: a whole number k >= 0, or an integer tensor or list with one count for each place of the
--- axis. axis: default all elements in row-major order. In Python and as mc['repeat'] its name is repeat, a word of
--- Lua.
--- Result: tensor, the axis as long as the counts add up to.
--- Source: Python array API standard 2023.12
---     mc.repeat_each(mc.tensor{1, 2}, 2)  --> f64[4]@cpu { 1, 1, 2, 2 }
---     mc.repeat_each(mc.tensor{1, 2}, {0, 3})  --> f64[3]@cpu { 2, 2, 2 }
---@param x any
---@param repeats any
---@param axis? integer
---@return any
function M.repeat_each(x, repeats, axis)
  x = op.operand('repeat_each', x, 2)
  if type(axis) == 'table' then axis = check.opts('repeat_each', axis, { axis = { nil, 'integer' } }, 3).axis end
  if axis == nil then x, axis = x._ndim == 1 and x or methods.flatten(x), 1 end
  local a = tensor.axis('repeat_each', x, axis, 3) + 1
  if x._ndim == 1 and type(repeats) == 'number' then -- without a loop: see check.opts
    check.arg('repeat_each', 'repeats', repeats, 'integer >= 0', 3)
    local n = tonumber(x._numel)
    return tensor.reshaped(methods.copy(methods.broadcast_to(methods.reshape(x, { n, 1 }), { n, repeats })),
      { n * repeats })
  end
  local s = tensor.shape_of(x)
  if type(repeats) == 'number' then
    check.arg('repeat_each', 'repeats', repeats, 'integer >= 0', 3)
    local wide, out = {}, {}
    for i = 1, #s do
      wide[#wide + 1] = s[i]
      if i == a then wide[#wide + 1] = repeats end
      out[i] = i == a and s[i] * repeats or s[i]
    end
    if #wide <= 8 then
      return tensor.reshaped(methods.copy(methods.broadcast_to(methods.expand_dims(x, a + 1), wide)), out)
    end
    repeats = F.positive(tensor.empty('repeat_each', { s[a] }, 'i64', 2, x._device):fill_(repeats))
  end
  local counts = op.operand('repeat_each', repeats, 2)
  local kind = tensor.kind[counts.dtype]
  if type(repeats) == 'table' then counts = tensor.moved(counts, x._device, 3) end
  if type(repeats) == 'table' and F.all(F.eq(counts, F.floor(counts))) then
    counts, kind = methods.to(counts, 'i64'), 'i'
  end
  if kind ~= 'i' and kind ~= 'u' then
    error(('repeat_each: repeats are %s; give whole numbers'):format(tensor.describe(counts)), 2)
  end
  if counts.ndim == 0 or (counts.ndim == 1 and counts.shape[1] == 1 and s[a] ~= 1) then
    return M.repeat_each(x, counts:item(), a)
  end
  if counts.ndim ~= 1 or counts.shape[1] ~= s[a] then
    error(('repeat_each: repeats are %s for axis %d of %s; give one count for each place'):format(
      tensor.describe(counts), axis, tensor.describe(x)), 2)
  end
  counts = methods.to(counts, 'i64')
  if s[a] > 0 and F.min(counts):item() < 0 then
    error(('repeat_each: a count is %d; counts are 0 or more'):format(F.min(counts):item()), 2)
  end
  return F.take(x, repeated_positions(counts, s[a]), { axis = a })
end

--- The whole tensor reps[i] times along each axis.
--- x: any dtype. reps: a whole number >= 0 or a list of them; the shorter of reps and x.shape is filled up with 1 in
--- front.
--- Result: tensor [reps[i] * x.shape[i]].
--- Source: Python array API standard 2023.12
---     mc.tile(mc.tensor{1, 2}, 2)  --> f64[4]@cpu { 1, 2, 1, 2 }
---@param x any
---@param reps any
---@return any
function M.tile(x, reps)
  x = op.operand('tile', x, 2)
  check.list('tile', reps)
  if type(reps) == 'number' then reps = { reps } end
  if x._ndim == 1 and type(reps) == 'table' and #reps == 1 then -- without a loop: see check.opts
    local n, r = tonumber(x._numel), check.arg('tile', 'reps', reps[1], 'integer >= 0', 3)
    return tensor.reshaped(methods.copy(methods.broadcast_to(methods.reshape(x, { 1, n }), { r, n })), { r * n })
  end
  if type(reps) ~= 'table' then
    error(('tile: reps are %s; give a whole number or a list'):format(check.show(reps)), 2)
  end
  for _, r in ipairs(reps) do check.arg('tile', 'reps', r, 'integer >= 0', 3) end
  local s = tensor.shape_of(x)
  local n = math.max(#s, #reps)
  if n > 8 then
    error(('tile: %d repetitions for %s; a tensor has at most 8 axes'):format(#reps, tensor.describe(x)), 2)
  end
  local full, r = {}, {}
  for i = 1, n do full[i], r[i] = s[i - n + #s] or 1, reps[i - n + #reps] or 1 end
  -- one axis after the other as [outer, 1, rest] -> [outer, r, rest]: all copies but the last are smaller by its r
  local y = x
  for i = 1, n do
    if r[i] ~= 1 then
      local outer, rest = 1, 1
      for k = 1, n do if k < i then outer = outer * full[k] else rest = rest * full[k] end end
      y = methods.copy(methods.broadcast_to(methods.reshape(y, { outer, 1, rest }), { outer, r[i], rest }))
      full[i] = full[i] * r[i]
    end
  end
  return tensor.reshaped(rawequal(y, x) and methods.copy(x) or y, full)
end

local SCAN = { axis = { nil, 'integer' }, dtype = { nil, 'string' }, include_initial = { false, 'bool' },
  out = { nil, 'tensor' } }
local function scan(fname, one, initial)
  return function(x, axis, opts)
    x = op.operand(fname, x, 2)
    if type(axis) == 'table' then
      if opts ~= nil then
        error(('%s: %s is one argument too many after the options'):format(fname, check.show(opts)), 2)
      end
      opts, axis = axis, axis[1]
    end
    local o = check.opts(fname, opts, SCAN, 3)
    if axis ~= nil then o.axis = check.arg(fname, 'axis', axis, 'integer', 3) end
    if not o.axis and x.ndim ~= 1 then
      error(('%s: operand is %s; name the axis to run along'):format(fname, tensor.describe(x)), 2)
    end
    local run = { axis = o.axis or 1, dtype = o.dtype, out = o.out }
    if not o.include_initial then return one(x, run) end
    local a = tensor.axis(fname, x, run.axis, 3) + 1
    local s, first, rest, kind = tensor.shape_of(x), {}, {}, tensor.kind[x.dtype]
    local dt = o.dtype and tensor.name[tensor.dtype_code(fname, o.dtype, 3)]
      or ((kind == 'f' or kind == 'c') and x.dtype or 'i64')
    local sizes = {}
    for i = 1, #s do sizes[i], first[i], rest[i] = s[i] + (i == a and 1 or 0), index.all, index.all end
    first[a], rest[a] = 1, { 2, s[a] + 1 }
    local y = o.out or tensor.empty(fname, sizes, dt, 2, x._device)
    if o.out and (y.shape ~= setmetatable(sizes, getmetatable(s)) or y.dtype ~= dt) then
      error(('%s: out is %s, the result is %s[%s]; give a tensor of that dtype and shape'):format(fname,
        tensor.describe(y), dt, table.concat(sizes, ',')), 2)
    end
    run.out = y[rest]
    one(x, run)
    methods.fill_(y[first], initial)
    return y
  end
end

--- Running sums along one axis.
--- x: any dtype. axis: needed unless x has one axis.
--- Options: dtype of the sums (integers and booleans give i64), include_initial (false): a 0 comes first, so that the
--- axis grows by one, out.
--- Result: tensor [x.shape], or one longer along the axis.
--- Source: Python array API standard 2023.12
---     mc.cumulative_sum(mc.tensor{1, 2, 3}, {include_initial = true})  --> f64[4]@cpu { 0, 1, 3, 6 }
---@type fun(x: any, axis?: integer|table, opts?: table): any
M.cumulative_sum = scan('cumulative_sum', F.cumsum, 0)

--- Running products along one axis.
--- x: any dtype. axis: needed unless x has one axis.
--- Options: dtype of the products (integers and booleans give i64), include_initial (false): a 1 comes first, so that
--- the axis grows by one, out.
--- Result: tensor [x.shape], or one longer along the axis.
--- Source: Python array API standard 2024.12
---     mc.cumulative_prod(mc.tensor{2, 3, 4})  --> f64[3]@cpu { 2, 6, 24 }
---@type fun(x: any, axis?: integer|table, opts?: table): any
M.cumulative_prod = scan('cumulative_prod', F.cumprod, 1)

return M
