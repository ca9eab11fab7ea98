-- ivp.lua - initial value problems: y' = f(t, y) from a start.
--
-- Makes the choice of steps, events, the solution between steps, and results. The arithmetic of a step stands in
-- runge_kutta.lua.
--
-- Source: Hairer, Norsett and Wanner, Solving ordinary differential equations I, 1993, section II.4; SciPy
-- integrate.solve_ivp.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local parameters = require 'mascon.optim.parameters'
local rk = require 'mascon.integrate.runge_kutta'
local roots = require 'mascon.optim.minimize.root_scalar'
local scalar = require 'mascon.optim.scalar'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

local EPS = 2 ^ -52
local SAFETY, LEAST, MOST = 0.9, 0.2, 10

--- Numbers next to t differ by this.
local function spacing(t)
  local _, e = math.frexp(t)
  return math.max(2 ^ (e - 53), 2 ^ -1074)
end

--- sqrt(mean(|x / scale|^2)).
local function rms(x, scale) return math.sqrt(F.mean(F.square(F.abs(F.divide(x, scale)))):item()) end

-- ---------------------------------------------------------------- the problem

--- The right-hand side as a counted function giving vectors of one dtype.
local function right_side(fname, f, y, args)
  local count = { nfev = 0 }
  local n, shape, rank = y:numel(), y.shape, y.ndim
  return function(t, v)
    count.nfev = count.nfev + 1
    local d = f(t, rank == 1 and v or methods.reshape(v, shape), unpack(args, 1, #args))
    local flat = is(d) and d._ndim == 1 and d or parameters.vector(d)
    if not flat or flat:numel() ~= n then
      error(('%s: f gave %s for y %s; it must give as many values'):format(fname,
        flat and tensor.describe(flat) or check.show(d), tensor.describe(y)), 2)
    end
    return flat
  end, count
end

--- y0 as a floating or complex vector.
local function start(fname, y0)
  local y = type(y0) == 'number' and op.from_table { y0 } or op.operand(fname, y0, 4)
  if y.ndim == 0 then y = methods.reshape(y, { 1 }) end
  local kind = tensor.kind[y.dtype]
  if y:numel() == 0 then error(fname .. ': y0 holds no element; give at least one', 3) end
  if kind ~= 'c' and y.dtype ~= 'f32' then y = methods.to(y, 'f64') end
  if not F.isfinite(y):all() then
    error(('%s: y0 is %s and holds NaN or infinity; find them with isfinite'):format(fname, tensor.describe(y)), 3)
  end
  return y
end

local function times(fname, what, t)
  if t == nil then return nil end
  local v = op.operand(fname, t, 4)
  if v.ndim ~= 1 then error(('%s: %s is %s; give a list of times'):format(fname, what, tensor.describe(v)), 3) end
  return methods.totable(methods.to(v, 'f64'))
end

--- The first step (section II.4, after Gladwell, Shampine and Brankin).
local function first_step(f, t, y, slope, direction, order, o, span)
  local scale = F.add(o.atol, F.multiply(F.abs(y), o.rtol))
  local d0, d1 = rms(y, scale), rms(slope, scale)
  local h0 = (d0 < 1e-5 or d1 < 1e-5) and 1e-6 or 0.01 * d0 / d1
  h0 = math.min(h0, span)
  local d2 = rms(F.subtract(f(t + h0 * direction, F.add(y, F.multiply(slope, h0 * direction))), slope), scale) / h0
  local h1 = (d1 <= 1e-15 and d2 <= 1e-15) and math.max(1e-6, h0 * 1e-3)
    or (0.01 / math.max(d1, d2)) ^ (1 / (order + 1))
  return math.min(100 * h0, h1, span, o.max_step)
end

-- ---------------------------------------------------------------- events

local EVENT = { f = true, terminal = true, direction = true, [1] = true }

--- One event: a function, or { f, terminal =, direction = } with f first or by name.
local function event_of(fname, what, e)
  local given = type(e) == 'function' and { f = e } or e
  if type(given) ~= 'table' then
    error(('%s: %s is %s; give a function, or { f, terminal =, direction = }'):format(fname, what, check.show(e)),
      4) end
  for k in pairs(given) do
    if not EVENT[k] then
      local near = type(k) == 'string' and check.nearest(k, { 'f', 'terminal', 'direction' })
      error(('%s: %s has a field %s; an event has terminal and direction%s'):format(fname, what, tostring(k), near
        and (' (did you mean %q?)'):format(near) or ''), 4)
    end
  end
  if given.f ~= nil and given[1] ~= nil then
    error(('%s: %s names its function twice, first and as f; give it once'):format(fname, what), 4) end
  local f = scalar.callable(fname, what, given.f or given[1])
  local terminal, direction = given.terminal, given.direction
  if terminal ~= nil and type(terminal) ~= 'boolean' and not (type(terminal) == 'number' and terminal >= 1
    and terminal % 1 == 0) then
    error(('%s: %s.terminal is %s; give true, or after how many times'):format(fname, what, check.show(terminal)), 4)
  end
  if direction ~= nil and not (type(direction) == 'number' and direction == direction) then
    error(('%s: %s.direction is %s; give 1 for zeros from below, -1 from above, 0 for both'):format(fname, what,
      check.show(direction)), 4)
  end
  return { f = f, after = terminal == true and 1 or terminal or math.huge, direction = direction or 0, t = {}, y = {} }
end

--- The events of a call: one, or a list of them. A table with a name in it is one event.
local function event_list(fname, events)
  if events == nil then return {} end
  if type(events) == 'function' then return { event_of(fname, 'events', events) } end
  if type(events) ~= 'table' then
    error(('%s: events is %s; give a function, { f, terminal =, direction = }, or a list of these'):format(fname,
      check.show(events)), 3) end
  for k in pairs(events) do
    if type(k) ~= 'number' then
      if #events > 1 then
        error(('%s: events is a list of %d with the field %s; write a table for each: { { f, terminal = true }, g }')
          :format(
            fname, #events, tostring(k)), 3)
      end
      return { event_of(fname, 'events', events) }
    end
  end
  local list = {}
  for i, e in ipairs(events) do list[i] = event_of(fname, ('events[%d]'):format(i), e) end
  return list
end

--- Enters what happened within a step; the time at which the solution ends there, or nil.
local function happened(fname, list, values, fresh, piece, to, shape, args)
  local found = {}
  for i, e in ipairs(list) do
    local a, b = values[i], fresh[i]
    local up, down = a <= 0 and b >= 0, a >= 0 and b <= 0
    if (e.direction > 0 and up) or (e.direction < 0 and down) or (e.direction == 0 and (up or down)) then
      local t
      if a == 0 then t = piece.t
      elseif b == 0 then t = to
      else
        t = roots.brentq(function(s) return scalar.number(fname, 'an event',
          e.f(s, methods.reshape(rk.at(piece, s), shape), unpack(args, 1, #args))) end,
          piece.t, to, { xtol = 4 * EPS, rtol = 4 * EPS })
      end
      found[#found + 1] = { event = e, t = t, place = i }
    end
  end
  local direction = to >= piece.t and 1 or -1
  table.sort(found, function(p, q) return p.t == q.t and p.place < q.place or (p.t - q.t) * direction < 0 end)
  for _, x in ipairs(found) do
    local e = x.event
    e.t[#e.t + 1], e.y[#e.y + 1] = x.t, methods.reshape(rk.at(piece, x.t), shape)
    if #e.t >= e.after then return x.t end
  end
end

-- ---------------------------------------------------------------- the solution between the steps

---@class mascon.OdeSolution a function of time: sol(t) for a number gives y, for a list or tensor [m] gives [n, m]
local Solution = {}
Solution.__index = Solution

function Solution.__call(self, t)
  local function piece_of(v)
    local low, high = 1, #self.pieces
    while low < high do
      local middle = math.floor((low + high) / 2)
      if (v - self.pieces[middle].to) * self.direction <= 0 then high = middle else low = middle + 1 end
    end
    return self.pieces[low]
  end
  if type(t) == 'number' then return methods.reshape(rk.at(piece_of(t), t), self.shape) end
  local list = times('sol', 't', t)
  local columns = {}
  for i, v in ipairs(list) do columns[i] = rk.at(piece_of(v), v) end
  return F.stack(columns, 2)
end

-- ---------------------------------------------------------------- the door

local OPTS = {
  method = { 'RK45', { 'RK45', 'RK23' } }, t_eval = { nil, 'any' }, dense_output = { false, 'bool' },
  events = { nil, 'any' }, rtol = { 1e-3, 'number >= 0' }, atol = { 1e-6, 'any' }, first_step = { nil, 'number > 0' },
  max_step = { math.huge, 'number > 0' }, args = { nil, 'table' },
  callback = { nil, 'function' }, progress = { false, 'any' },
}
local MESSAGES = { [0] = 'the end of the range is reached', [1] = 'a terminal event happened',
  [2] = 'the callback stopped it', [-1] = 'the step has become smaller than the spacing of numbers' }

--- The solution of y' = f(t, y), y(t0) = y0, by explicit Runge-Kutta steps that keep the error within bounds.
---
--- f(t, y, args...): t a number, y f32|f64|c64|c128 [n] in the form of y0; gives as many values, a tensor or list, and
--- may not write into y. t_span: { t0, t1 }, also t1 < t0. y0: tensor, list or number; real ones compute in f64 unless
--- f32. Options: method: 'RK45' (default) or 'RK23' · rtol (1e-3), atol (1e-6; number or tensor [n]): the error of a
--- step is kept below atol + rtol |y|, root mean square · t_eval: times at which to give y, in order within the range;
--- else the steps · dense_output (false) · events: a function(t, y, args...) or { f, terminal = true or after how many,
--- direction = 1 | -1 }, or a list of them: their zeros are found, and the first terminal one ends the solution ·
--- first_step, max_step · args · callback(t, y): after every step, true stops · progress.
--- Result: { t f64 [m], y [n, m], sol (function of time, with dense_output), t_events, y_events (one tensor for each
--- event), nfev, nsteps, status, message, success }: status 0 end reached, 1 terminal event, 2 callback, -1 the steps
--- became too small. y of a start with more axes keeps them before the last.
--- Errors: sizes that do not fit; t_eval outside the range. Source: A family of embedded Runge-Kutta formulae, 1980; A
--- 3(2) pair of Runge-Kutta formulas, 1989; SciPy integrate.solve_ivp.
---     local r = mc.integrate.solve_ivp(function(t, y) return -y end, { 0, 1 }, { 1 }, { t_eval = { 0, 1 },
---       rtol = 1e-8 })
---     r.y  --> f64[1,2]@cpu { { 1.0000, 0.3679 } }
---@param f fun(t: number, y: any): any
---@param t_span table
---@param y0 any
---@param opts? table
---@return table result
function M.solve_ivp(f, t_span, y0, opts)
  local fname = 'integrate.solve_ivp'
  scalar.callable(fname, 'f', f)
  local o = check.opts(fname, opts, OPTS, 3)
  if type(t_span) ~= 'table' or #t_span ~= 2 or type(t_span[1]) ~= 'number' or type(t_span[2]) ~= 'number'
    or not (math.abs(t_span[1]) < math.huge and t_span[2] == t_span[2]) then
    error(('%s: t_span is %s; give { t0, t1 }'):format(fname, check.show(t_span)), 2)
  end
  local t, t1 = t_span[1], t_span[2]
  local given = start(fname, y0)
  local shape, n, args = given.shape, given:numel(), o.args or {}
  local rhs, count = right_side(fname, f, given, args)
  local y = methods.reshape(given, { n })
  local slope = rhs(t, y)
  local dtype = tensor.promote_dtypes(y.dtype, slope.dtype)
  if tensor.kind[dtype] ~= 'c' and y.dtype == 'f32' then dtype = 'f32' end
  y = methods.to(y, dtype)
  local function slope_at(at, v)
    local d = rhs(at, v)
    return d.dtype == dtype and d or methods.to(d, dtype)
  end
  slope = methods.to(slope, dtype)
  local real = (dtype == 'f32' or dtype == 'c64') and 'f32' or 'f64'
  o.rtol = math.max(o.rtol, 100 * (real == 'f32' and 2 ^ -23 or EPS))
  local atol = op.operand(fname, o.atol, 3)
  if tensor.kind[atol.dtype] == 'c' or atol.ndim > 0 and atol:numel() ~= n or F.any(F.lt(atol, 0)) then
    error(('%s: option atol is %s; give a number >= 0, or one for each of the %d values'):format(fname,
      tensor.describe(atol), n), 2)
  end
  o.atol = methods.to(atol.ndim > 0 and methods.reshape(atol, { n }) or atol, real)
  if atol._device == 0 then o.atol = tensor.moved(o.atol, y._device, 3) end
  local direction = t1 >= t and 1 or -1
  local wanted, at = times(fname, 't_eval', o.t_eval), 1
  for i, v in ipairs(wanted or {}) do
    if (v - t) * direction < 0 or (v - t1) * direction > 0 then
      error(('%s: t_eval[%d] is %g; it lies outside %g to %g'):format(fname, i, v, t, t1), 2)
    end
    if i > 1 and (v - wanted[i - 1]) * direction <= 0 then
      error(('%s: t_eval[%d] is %g after %g; give times in order'):format(fname, i, v, wanted[i - 1]), 2)
    end
  end
  local events = event_list(fname, o.events)
  local function event_values(s, v)
    local out = {}
    for i, e in ipairs(events) do
      out[i] = scalar.number(fname, 'an event', e.f(s, methods.reshape(v, shape), unpack(args, 1, #args)))
    end
    return out
  end
  local values = event_values(t, y)
  local tableau = rk[o.method]
  local stepper = rk.stepper(tableau, n, dtype, y._device)
  local ts, ys, pieces = {}, {}, {}
  if not wanted then ts[1], ys[1] = t, y end
  local h = o.first_step or first_step(slope_at, t, y, slope, direction, tableau.error_order, o, math.abs(t1 - t))
  local power = -1 / (tableau.error_order + 1)
  local bar = require 'mascon.optim.objective'.bar(fname, o.progress)
  local status, steps = t == t1 and 0 or nil, 0
  if status and wanted and wanted[1] then ts[1], ys[1] = t, y end
  while not status do
    -- one step, tried until its error fits
    local least = 10 * spacing(t)
    h = math.max(least, math.min(h, o.max_step))
    local new, new_slope, to, signed
    local refused = false
    methods.copy_(stepper.rows[1], slope)
    while true do
      if h < least or h ~= h then
        status = -1
        break
      end
      to = t + h * direction
      if (to - t1) * direction > 0 then to = t1 end
      signed = to - t
      h = math.abs(signed)
      new, new_slope = rk.step(stepper, slope_at, t, y, signed)
      local scale = F.add(o.atol, F.multiply(F.maximum(F.abs(y), F.abs(new)), o.rtol))
      local err = rms(rk.error(stepper, signed), scale)
      if err < 1 then
        local factor = err == 0 and MOST or math.min(MOST, SAFETY * err ^ power)
        if refused then factor = math.min(1, factor) end
        h = h * factor
        break
      end
      h = h * (err == err and math.max(LEAST, SAFETY * err ^ power) or LEAST) -- NaN: the step left the domain
      refused = true
    end
    if status then break end
    steps = steps + 1
    local piece
    if o.dense_output or #events > 0 or wanted and wanted[at] and (wanted[at] - to) * direction <= 0 then
      piece = { t = t, to = to, h = signed, y = y, q = rk.interpolant(stepper) }
    end
    t, y, slope = to, new, new_slope
    if (t - t1) * direction >= 0 then status = 0 end
    local end_y = y
    if #events > 0 then
      local fresh = event_values(t, y)
      local stop = happened(fname, events, values, fresh, piece, t, shape, args)
      values = fresh
      if stop then
        status, t = 1, stop
        end_y = rk.at(piece, stop)
      end
    end
    if o.dense_output then pieces[#pieces + 1] = piece end
    if wanted then
      local within = {}
      while wanted[at] and (wanted[at] - t) * direction <= 0 do
        within[#within + 1] = wanted[at]
        at = at + 1
      end
      if #within > 0 then
        local block = rk.at(piece, within)
        for i, v in ipairs(within) do ts[#ts + 1], ys[#ys + 1] = v, block[{ { 1, n }, i }] end
      end
    else
      ts[#ts + 1], ys[#ys + 1] = t, end_y
    end
    if bar then bar:update(steps) end
    if o.callback and o.callback(t, methods.reshape(end_y, shape)) == true and status ~= 1 then status = status or 2 end
  end
  if bar then bar:done() end
  local result = { nfev = count.nfev, nsteps = steps, status = status, message = MESSAGES[status],
    success = status >= 0 and status ~= 2 }
  result.t = op.from_table(ts)
  local full = {}
  for i, v in ipairs(shape) do full[i] = v end
  full[#full + 1] = #ts
  result.y = #ys > 0 and methods.reshape(F.stack(ys, 2), full) or tensor.empty(fname, full, dtype, 2, y._device)
  if o.dense_output then
    result.sol = setmetatable({ pieces = pieces, direction = direction, shape = shape }, Solution)
  end
  if #events > 0 then
    result.t_events, result.y_events = {}, {}
    for i, e in ipairs(events) do
      result.t_events[i] = op.from_table(e.t)
      result.y_events[i] = #e.y > 0 and F.stack(e.y) or tensor.empty(fname, { 0, unpack(shape) }, dtype, 2, y._device)
    end
  end
  return result
end

local RK4 = { substeps = { 1, 'integer >= 1' }, args = { nil, 'table' } }

--- The solution of y' = f(t, y) at given times, by the classical Runge-Kutta steps of order 4, one (or `substeps`) from
--- each time to the next.
---
--- f(t, y, args...): as for mc.integrate.solve_ivp. t: times [m], the first belongs to y0. y0: tensor, list or number.
--- Options: substeps (1) · args.
--- Result: y [n, m]; y of a start with more axes keeps them before the last. Only tensor arithmetic: it differentiates
--- and compiles.
--- Errors: sizes that do not fit. Source: Hairer, Norsett and Wanner, Solving ordinary differential equations I, 1993,
--- table II.1.2.
---     mc.integrate.rk4(function(t, y) return -y end, { 0, 0.5, 1 }, { 1 })
---       --> f64[1,3]@cpu { { 1.0000, 0.6068, 0.3682 } }
---@param f fun(t: number, y: any): any
---@param t any
---@param y0 any
---@param opts? table
---@return any
function M.rk4(f, t, y0, opts)
  local fname = 'integrate.rk4'
  scalar.callable(fname, 'f', f)
  local o = check.opts(fname, opts, RK4, 3)
  local list = times(fname, 't', t)
  if not list or #list == 0 then error(fname .. ': t holds no time; give at least one', 2) end
  local y = type(y0) == 'number' and op.from_table { y0 } or op.operand(fname, y0, 3)
  if y.ndim == 0 then y = methods.reshape(y, { 1 }) end
  if tensor.kind[y.dtype] ~= 'c' and y.dtype ~= 'f32' then y = methods.to(y, 'f64') end
  local args, shape = o.args or {}, y.shape
  local function slope(at, v)
    local d = f(at, v, unpack(args, 1, #args))
    if not is(d) then d = parameters.vector(d) end
    if not d or d:numel() ~= y:numel() then
      error(('%s: f gave %s for y %s; it must give as many values'):format(fname,
        d and tensor.describe(d) or 'no values', tensor.describe(y)), 3)
    end
    return #shape == 1 and d or methods.reshape(d, shape)
  end
  local out = { y }
  for i = 2, #list do
    local at, h = list[i - 1], (list[i] - list[i - 1]) / o.substeps
    for k = 1, o.substeps do
      local a = slope(at, y)
      local b = slope(at + h / 2, F.add(y, F.multiply(a, h / 2)))
      local c = slope(at + h / 2, F.add(y, F.multiply(b, h / 2)))
      local d = slope(at + h, F.add(y, F.multiply(c, h)))
      y = F.add(y, F.multiply(F.add(F.add(a, d), F.multiply(F.add(b, c), 2)), h / 6))
      at = list[i - 1] + k * h
    end
    out[i] = y
  end
  return F.stack(out, #shape + 1)
end

return M
