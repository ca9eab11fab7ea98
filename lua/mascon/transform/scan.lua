-- scan.lua - a function applied along rows, with a carry.
---
--- Holds mc.scan and the primitive that stands for a loop of known length in a graph. Going back, the carry of every
--- turn is kept and the inside of a turn is computed again; with `checkpoint` only some carries are kept.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local forms = require 'mascon.transform.forms'
local region = require 'mascon.transform.region'
local reverse = require 'mascon.transform.reverse'
local error = check.error

local M = {}

--- A scan as a primitive: operands { what the body captured, carry, rows }, results { carry, made rows }; graph: the
--- body.
local Scan = region.kind 'scan'

--- The loop in Lua. turn(carry, x) -> carry, y; lists of tensors.
---@param how table length, reverse; tidy: what a turn makes and does not return is given back at its end
local function plain(turn, carry, rows, how, empty)
  local n, made = how.length, {}
  if n == 0 then return carry, empty() end
  for step = 1, n do
    local k = how.reverse and n + 1 - step or step
    local x, y = {}
    for i, t in ipairs(rows) do x[i] = t[k] end
    if how.tidy then carry, y = tensor.scope(turn, carry, x) else carry, y = turn(carry, x) end
    for i, t in ipairs(y) do
      made[i] = made[i] or {}
      made[i][k] = t
    end
  end
  for i, list in ipairs(made) do made[i] = mc.stack(list, 1) end
  return carry, made
end

jit.off(plain) -- as machine code it would keep the turn of a call, and the tensors that it holds

--- Rows of no turn: the forms that the graph of a turn gives.
local function nothing(graph, first, device)
  local made = {}
  for i = first, #graph.outputs do
    local u = graph.outputs[i]
    made[#made + 1] = mc.zeros({ 0, unpack(u.shape) }, { dtype = tensor.name[u.dtype], device = device })
  end
  return made
end

local function example(t)
  if t.shape[1] > 0 then return t[1] end
  local shape = {}
  for d = 2, t.ndim do shape[d - 1] = t.shape[d] end
  return mc.zeros(shape, { dtype = t.dtype, device = t.device })
end

--- turn(carry, x) -> carry, y over rows; all are lists of tensors, the carry keeps shapes and dtypes.
---@param how table length, reverse
---@return any[] carry
---@return any[] made rows
function M.scan_leaves(name, turn, carry, rows, how)
  local ns, nx = #carry, #rows
  if not recording.on() and how.length > 0 then return plain(turn, carry, rows, how) end
  local first = {}
  for i, t in ipairs(rows) do first[i] = example(t) end
  local graph = region.trace(name, function(...)
    local list = { ... }
    local new, y = turn(region.part(list, 1, ns), region.part(list, ns + 1, ns + nx))
    return region.join(new, y)
  end, region.join(carry, first), false, true)
  local captured = region.close { graph }
  local ins = region.join(captured, region.join(carry, rows))
  if not region.is_traced(ins) then
    return plain(turn, carry, rows, how, function() return nothing(graph, ns + 1, tensor.shared_device(ins)) end)
  end
  local prim = setmetatable({ title = name, graph = graph, fixed = #captured, state = ns, rows = nx,
    made = #graph.outputs - ns, length = how.length, reversed = how.reverse }, Scan)
  local outs = prim:call(ins)
  return region.part(outs, 1, ns), region.part(outs, ns + 1, #outs)
end

local function thirds(self, list)
  local a, b = self.fixed, self.fixed + self.state
  return region.part(list, 1, a), region.part(list, a + 1, b), region.part(list, b + 1, b + self.rows)
end

function Scan:run(ins)
  local fixed, carry, rows = thirds(self, ins)
  local last, made = plain(function(c, x)
    local outs = region.run(self.graph, region.join(fixed, region.join(c, x)))
    return region.part(outs, 1, self.state), region.part(outs, self.state + 1, #outs)
  end, carry, rows, { length = self.length, reverse = self.reversed, tidy = true }, function()
    return nothing(self.graph, self.state + 1, tensor.shared_device(ins))
  end)
  return region.join(last, made)
end

--- The same scan that also gives the carry before each turn, as rows.
function Scan:keeping()
  local graph = {}
  for k, v in pairs(self.graph) do graph[k] = v end
  graph.outputs = region.join(self.graph.outputs, {})
  for i = self.fixed + 1, self.fixed + self.state do
    local v = self.graph.inputs[i]
    graph.outputs[#graph.outputs + 1] = { value = v, shape = v.shape, strides = v.strides, offset = 0, dtype = v.dtype }
  end
  local prim = {}
  for k, v in pairs(self) do prim[k] = v end
  prim.graph, prim.made = graph, self.made + self.state
  return setmetatable(prim, Scan)
end

function Scan:linearise(ins)
  local outs = self:keeping():call(ins)
  local n = self.state + self.made
  return region.part(outs, 1, n), region.part(outs, n + 1, #outs)
end

function Scan:back(g, x, _, carries, wanted)
  local fixed, carry, rows = thirds(self, x)
  if not carries then
    local _
    _, carries = self:linearise(x)
  end
  -- what comes back: through the carry (all of it that has a derivative), to what is fixed (a sum over turns), to the
  -- rows
  local moving, sums, into, given = {}, {}, {}, {}
  for i, t in ipairs(carry) do if reverse.continuous(t._dtype) then moving[#moving + 1] = i end end
  for i, t in ipairs(fixed) do if wanted[i] and reverse.continuous(t._dtype) then sums[#sums + 1] = i end end
  for i, t in ipairs(rows) do
    if wanted[self.fixed + self.state + i] and reverse.continuous(t._dtype) then into[#into + 1] = i end
  end
  for i = 1, self.made do if g[self.state + i] then given[#given + 1] = i end end
  local start = {}
  for j, i in ipairs(moving) do start[j] = g[i] or region.zeros(carry[i]) end
  for j, i in ipairs(sums) do start[#moving + j] = region.zeros(fixed[i]) end
  local came = {}
  for j, i in ipairs(given) do came[j] = g[self.state + i] end
  local want = {}
  for _, i in ipairs(sums) do want[i] = true end
  for i = 1, self.state do want[self.fixed + i] = true end
  for _, i in ipairs(into) do want[self.fixed + self.state + i] = true end
  local function turn(c, r)
    local operands = region.join(fixed, region.part(r, 1, self.state + self.rows))
    local cotangents = {}
    for j, i in ipairs(moving) do cotangents[i] = c[j] end
    for j, i in ipairs(given) do cotangents[self.state + i] = r[self.state + self.rows + j] end
    local back = region.back(self.graph, operands, cotangents, want)
    local new, y = {}, {}
    local function of(i, like) return back[i] and reverse.cast(back[i], like.dtype) or region.zeros(like) end
    for j, i in ipairs(moving) do new[j] = of(self.fixed + i, carry[i]) end
    for j, i in ipairs(sums) do
      new[#moving + j] = back[i] and c[#moving + j] + reverse.cast(back[i], fixed[i].dtype) or c[#moving + j]
    end
    for j, i in ipairs(into) do
      local at = self.fixed + self.state + i
      y[j] = of(at, operands[at])
    end
    return new, y
  end
  local last, made = M.scan_leaves(self.title, turn, start, region.join(region.join(carries, rows), came),
    { length = self.length, reverse = not self.reversed, tidy = true })
  local out = {}
  for j, i in ipairs(moving) do out[self.fixed + i] = last[j] end
  for j, i in ipairs(sums) do out[i] = last[#moving + j] end
  for j, i in ipairs(into) do out[self.fixed + self.state + i] = made[j] end
  return out
end

function Scan:forward(t, x)
  local fixed, carry, rows = thirds(self, x)
  local ns, nx = self.state, self.rows
  local moving, along, dots = {}, {}, {}
  for i, c in ipairs(carry) do if reverse.continuous(c._dtype) then moving[#moving + 1] = i end end
  local both, lines = region.join(carry, {}), region.join(rows, {})
  for j, i in ipairs(moving) do both[ns + j] = t[self.fixed + i] or region.zeros(carry[i]) end
  for i in ipairs(rows) do
    local d = t[self.fixed + ns + i]
    if d then
      along[#along + 1] = i
      lines[#lines + 1] = d
    end
  end
  local moved = {}
  for i = ns + 1, #self.graph.outputs do
    if reverse.continuous(self.graph.outputs[i].dtype) then moved[#moved + 1] = i end
  end
  local last, made = M.scan_leaves(self.title, function(c, r)
    local tangents = region.part(t, 1, self.fixed)
    for j, i in ipairs(moving) do tangents[self.fixed + i] = c[ns + j] end
    for j, i in ipairs(along) do tangents[self.fixed + ns + i] = r[nx + j] end
    local outs, d = region.forward(self.graph,
      region.join(fixed, region.join(region.part(c, 1, ns), region.part(r, 1, nx))), tangents)
    local new, y = region.part(outs, 1, ns), {}
    for j, i in ipairs(moving) do new[ns + j] = d[i] or region.zeros(outs[i]) end
    for j, i in ipairs(moved) do y[j] = d[i] or region.zeros(outs[i]) end
    return new, y
  end, both, lines, { length = self.length, reverse = self.reversed })
  for j, i in ipairs(moving) do dots[i] = last[ns + j] end
  for j, i in ipairs(moved) do dots[i] = made[j] end
  return dots
end

function Scan:batch(x, flags, size)
  local fixed, carry, rows = thirds(self, x)
  local all, lines = region.part(flags, 1, self.fixed), {}
  for i, c in ipairs(carry) do
    if not flags[self.fixed + i] then carry[i] = region.spread(c, size) end
    all[self.fixed + i] = true
  end
  for i, t in ipairs(rows) do
    local at = self.fixed + self.state + i
    all[at] = flags[at]
    lines[i] = flags[at] and t:moveaxis(1, 2):copy() or t
  end
  local last, made = M.scan_leaves(self.title, function(c, r)
    local outs = region.batch(self.graph, region.join(fixed, region.join(c, r)), all, size)
    return region.part(outs, 1, self.state), region.part(outs, self.state + 1, #outs)
  end, carry, lines, { length = self.length, reverse = self.reversed })
  for i, t in ipairs(made) do made[i] = t:moveaxis(1, 2):copy() end
  return region.join(last, made)
end

function Scan:lower(make)
  return { kind = 'scan', parts = { make(self.graph) }, fixed = self.fixed, state = self.state, rows = self.rows,
    made = self.made, length = self.length, reverse = self.reversed }
end

-- ---------------------------------------------------------------- the public function

local OPTS = { length = { nil, 'integer >= 0' }, reverse = { false, 'bool' }, checkpoint = { false, 'bool' } }

--- The length of the rows, which all leaves share.
local function length_of(leaves, names, given)
  local n, from = given, 'length'
  for i, t in ipairs(leaves) do
    if t.ndim == 0 then
      error(('scan: xs%s is %s; its first axis is run along, and it has none'):format(names[i], tensor.describe(t)), 2)
    end
    if n and t.shape[1] ~= n then
      error(('scan: xs%s has %d rows, %s has %d; they must agree'):format(names[i], t.shape[1], from, n), 2)
    end
    n, from = t.shape[1], 'xs' .. names[i]
  end
  if not n then error('scan: there are neither xs nor a length; give one of them', 2) end
  return n
end

--- carry, y = f(carry, x) along the rows of xs; the last carry and the ys as rows.
---
--- carry: a tensor, a number (becomes a 0-d tensor of f64) or a table of them; f keeps its structure, shapes and
--- dtypes. xs: a tensor [n, ...] or a table of them, or nil. f(carry, x) gets the rows x of xs and returns the next
--- carry and y (any tree, or nil). Result: carry, and ys with a first axis of n. One plan runs the turns when compiled.
--- Goes through mc.grad, mc.jvp and mc.vmap; in reverse the carry of every turn is kept and turns are computed again.
--- Options: length: of the loop, when xs is nil · reverse (false): from the last row to the first · checkpoint (false):
--- about sqrt(n) carries are kept instead of n, for one more run. Errors: a carry that changes its form, naming the
--- leaf; rows that differ.
--- Source: jax.lax.scan
---     mc.scan(function(c, x) return c + x, c * x end, 0, mc.tensor{ 1, 2, 3 })
---       --> f64[]@cpu 6, f64[3]@cpu { 0, 2, 9 }
---@param f fun(carry: any, x: any): any, any
---@param carry any
---@param xs any
---@param opts? table
---@return any carry
---@return any ys
function M.scan(f, carry, xs, opts)
  forms.callable('scan', 'the first argument', f)
  local o = check.opts('scan', opts, OPTS, 3)
  local c, carry_form = forms.apart(carry, false, xs)
  local x, x_form = forms.apart(xs, false, carry)
  tensor.one_device('scan', region.join(c, x), 2)
  local n = length_of(x, x_form.names, o.length)
  local y_form
  local function turn(state, r)
    local new, y = f(forms.together(carry_form, state), forms.together(x_form, r))
    local outs, after = forms.apart(new, false, state)
    forms.same(carry_form, after, function(what, where, a, b)
      return ('scan: %s of carry%s is %s before the step and %s after it; the carry keeps its structure, shapes and '
        .. 'dtypes (convert with :to)'):format(what, where, a, b)
    end)
    local made
    made, y_form = forms.apart(y, false, state)
    return outs, made
  end
  local how = { length = n, reverse = o.reverse }
  local last, made
  if o.checkpoint and n > 3 and recording.on() then last, made = M.in_parts(turn, c, x, how)
  else last, made = M.scan_leaves('scan', turn, c, x, how) end
  return forms.together(carry_form, last), forms.together(y_form, made)
end

--- A scan of scans: the outer one keeps a carry for each part, an inner one is run again going back.
function M.in_parts(turn, carry, rows, how)
  local n = how.length
  local width = math.floor(math.sqrt(n))
  local parts = math.floor(n / width)
  local left = n - parts * width
  local function cut(t, first, last) return t[{ { first, last } }] end
  local function grouped(t)
    local shape = { parts, width }
    for d = 2, t.ndim do shape[d + 1] = t.shape[d] end
    return t:reshape(shape)
  end
  local function ungrouped(t)
    local shape = { parts * width }
    for d = 3, t.ndim do shape[d - 1] = t.shape[d] end
    return t:reshape(shape)
  end
  -- rows that do not fill a part come last in the order of turns
  local from = how.reverse and left + 1 or 1
  local main, rest = {}, {}
  for i, t in ipairs(rows) do
    main[i] = grouped(cut(t, from, from + parts * width - 1))
    rest[i] = left > 0 and (how.reverse and cut(t, 1, left) or cut(t, n - left + 1, n))
  end
  local made
  carry, made = M.scan_leaves('scan', function(c, r)
    return M.scan_leaves('scan', turn, c, r, { length = width, reverse = how.reverse })
  end, carry, main, { length = parts, reverse = how.reverse })
  for i, t in ipairs(made) do made[i] = ungrouped(t) end
  if left > 0 then
    local more
    carry, more = M.scan_leaves('scan', turn, carry, rest, { length = left, reverse = how.reverse })
    for i, t in ipairs(more) do made[i] = mc.concat(how.reverse and { t, made[i] } or { made[i], t }, 1) end
  end
  return carry, made
end

return M
