-- data.lua - observations as the methods of least squares see them: whole, or in pieces of a stream.
--
-- Holds weights, the calls of the model, and the cutting of a stream into blocks by the number of the observation
-- alone, so that a fit does not depend on the chunks the data came in.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local loss = require 'mascon.optim.fit.least_squares.loss'
local reduced = require 'mascon.optim.fit.least_squares.reduced'
local exact_of = require 'mascon.optim.fit.least_squares.exact'
local difference = require 'mascon.optim.fit.least_squares.difference'
local watch = require 'mascon.optim.watch'
local running = require 'mascon.optim.fit.curve_fit.total'
local fused = require 'mascon.optim.fit.curve_fit.fused'
local index = require 'mascon.core.index'
local recording = require 'mascon.graph.recording'
local create = require 'mascon.array.create'
local error = check.error
local F = op.functions
local M = {}

---@class mascon.FitData
local Data = {}
Data.__index = Data

-- ---------------------------------------------------------------- one piece of observations

--- A real tensor in f64; `what` names it.
local function real(fname, what, v)
  if type(v) == 'table' then v = op.from_table(v) end
  if not tensor.is(v) then error(('%s: %s is %s; give a tensor'):format(fname, what, check.show(v)), 4) end
  if tensor.kind[v.dtype] == 'c' then
    error(('%s: %s is %s; give real numbers'):format(fname, what, tensor.describe(v)), 4)
  end
  return v.dtype == 'f64' and v or v:to 'f64'
end

--- Residuals r with weights: r / sigma, or L^-1 r for a covariance L L^T.
local function weigh(piece, r)
  if piece.chol then return F.solve_triangular(piece.chol, r, { lower = true }) end
  return piece.sigma and r / piece.sigma or r
end

--- The piece for a call that may be recorded: until the model is known to leave its argument alone, with a copy of it.
local function spared(self, piece)
  if self.pure then return piece end
  local y = {}
  for k, v in pairs(piece) do y[k] = v end
  y.x = watch.copied(piece.x)
  return y
end

--- What the model gives. Whether it writes into its argument is seen at the first call, and whenever it is recorded.
local function modelled(self, x, p)
  local on = recording.on()
  if self.pure and not on then return self.model(x, p) end
  if not on then x = watch.copied(x) end
  local before = watch.writes(x)
  local v = (on and self.model or recording.watched(self.model))(x, p)
  if watch.writes(x) ~= before then
    watch.refuse(self.fname, 'the model', 4)
  end
  self.pure = true
  return v
end

local function predict(self, piece, p)
  local v = modelled(self, piece.x, p)
  if type(v) == 'number' then v = create.full_like(piece.y, v) end
  if not tensor.is(v) then
    error(('%s: the model gave %s; it must give a tensor'):format(self.fname, check.show(v)), 4)
  end
  if v.shape ~= piece.y.shape then
    if v:numel() == 1 then
      v = v:reshape({}):broadcast_to(piece.y.shape)
    elseif v:numel() == piece.y:numel() then
      v = v:reshape(piece.y.shape)
    else
      error(('%s: the model gave %s for y %s; it must give a value for each'):format(self.fname, tensor.describe(v),
        tensor.describe(piece.y)), 4)
    end
  end
  if tensor.kind[v.dtype] == 'c' then
    error(('%s: the model gave %s; it must give real numbers'):format(self.fname, tensor.describe(v)), 4)
  end
  return v.dtype == 'f64' and v or v:to 'f64'
end

local function flat(r) return r.ndim == 1 and r or r:reshape { -1 } end

--- residuals as a function of free values that may be a tensor being differentiated
local function residuals(self, piece, free)
  return flat(weigh(piece, predict(self, piece, self.parameters:table(free)) - piece.y))
end

--- Derivatives of the residuals by a function of the user's: a table of tensors by parameter; ties by the chain rule.
local function user_rows(self, piece, free)
  local par = self.parameters
  local p = par:table(free)
  local by_key = self.jac(piece.x, p)
  if type(by_key) ~= 'table' then
    error(('%s: jac gave %s; it must give a table, a tensor for each parameter'):format(self.fname, check.show(by_key)),
      4)
  end
  local function column(key)
    local d = by_key[key]
    if type(d) == 'number' then d = create.full_like(piece.y, d) end
    if not tensor.is(d) then
      error(('%s: jac gave %s for %s; it must give a tensor'):format(self.fname, check.show(d), tostring(key)), 5)
    end
    return d:numel() == 1 and d:reshape({}):broadcast_to(piece.y.shape) or d:reshape(piece.y.shape)
  end
  local rows = {}
  for k, key in ipairs(par.free) do rows[k] = column(key) end
  for key in pairs(par.tied) do
    local function tie(v) return op.from_table { par:table(v)[key] } end
    local slopes = difference.rows(tie, free, tie(free), par.low, par.high, '3-point', {})
    local d = column(key)
    for k = 1, #rows do
      local slope = slopes[k]:item()
      if slope ~= 0 then rows[k] = rows[k] + d * slope end
    end
  end
  for k = 1, #rows do rows[k] = flat(weigh(piece, rows[k]:to 'f64')) end
  return rows
end

--- The residuals, and their derivatives by mc.jacfwd or mc.jacrev, as compiled functions of free values and piece; for
--- all pieces.
local function exact(self)
  if not self.exact then
    local n = #self.parameters.free
    local function f(v, x, y, sigma, chol)
      local p = {}
      for k = 1, n do p[k] = v[k] end
      return residuals(self, { x = x, y = y, sigma = sigma or nil, chol = chol or nil }, p)
    end
    self.exact = { residuals = require('mascon.compile').compile(f), slopes = exact_of.jacobian(f, self.jac) }
  end
  return self.exact
end
local function by_exact(self) return self.jac == 'forward' or self.jac == 'reverse' end
local function call(f, piece, free)
  return f(op.from_table(free), piece.x, piece.y, piece.sigma or false, piece.chol or false)
end

--- New residuals [m] of a piece.
local function evaluate(self, piece, free)
  if by_exact(self) then return call(exact(self).residuals, spared(self, piece), free) end
  return residuals(self, piece, free)
end

--- Residuals and derivatives of a piece as rows of one tensor [nfree + 1, m], which the next piece of the same size
--- takes over.
local function rows_of(self, piece, free)
  if self.jac == 'auto' then -- by the points in all, so that chunks do not matter
    self.jac = '3-point'
    if self.rows >= exact_of.LARGE then
      self.jac = 'forward'
      if not exact_of.attempt(function() return call(exact(self).slopes, piece, free) end) then
        self.jac, self.exact = '3-point', nil
      end
    end
  end
  local n, m = #free, piece.y:numel()
  local all = self.rows_buffer
  if not all or all.shape[2] ~= m or all.shape[1] ~= n + 1 then
    all = create.empty({ n + 1, m }, { dtype = 'f64' })
    self.rows_buffer = all
  end
  local r = evaluate(self, piece, free)
  all[n + 1] = r
  if by_exact(self) then
    local J = call(exact(self).slopes, piece, free)
    all[{ { 1, n } }] = J.mT
    J:release()
  elseif type(self.jac) == 'function' then
    for k, row in ipairs(user_rows(self, piece, free)) do all[k] = row end
  else
    local par = self.parameters
    difference.rows(function(v) return residuals(self, piece, v) end, free, r, par.low, par.high, self.jac,
      self.sizes, nil, all)
  end
  return all, r
end

-- ---------------------------------------------------------------- pieces

--- Last-axis slice of x (a tensor [m] or [k, m], or a list of such), and joins of such slices.
local function cut(x, first, last)
  if tensor.is(x) then return x[{ index.ellipsis, { first, last } }] end
  local y = {}
  for k, part in pairs(x) do y[k] = cut(part, first, last) end
  return y
end
local function joined(list)
  if #list == 1 then return list[1] end
  if tensor.is(list[1]) then return F.concat(list, -1) end
  local y = {}
  for k in pairs(list[1]) do
    local parts = {}
    for i = 1, #list do parts[i] = list[i][k] end
    y[k] = joined(parts)
  end
  return y
end
local function length(fname, x)
  if tensor.is(x) then return x.ndim > 0 and x.shape[x.ndim] or 0 end
  local _, part = next(x)
  return part == nil and 0 or length(fname, part)
end

--- Whether all numbers are finite. A sum that is finite says so without a second tensor; one that is not may have
--- overflowed.
local function finite(v)
  local sum = F.sum(v):item()
  return sum - sum == 0 or F.all(F.isfinite(v))
end

local function piece_of(self, x, y, sigma)
  local fname = self.fname
  local piece = { x = x, y = real(fname, 'y', y) }
  if sigma ~= nil and type(sigma) ~= 'number' then sigma = real(fname, 'sigma', sigma) end
  if tensor.is(sigma) and sigma.ndim == 2 and piece.y.ndim == 1 then
    local m = piece.y:numel()
    if sigma.shape[1] ~= m or sigma.shape[2] ~= m then
      error(('%s: sigma is %s for y %s; a covariance has a row and a column per point'):format(fname,
        tensor.describe(sigma), tensor.describe(piece.y)), 4)
    end
    piece.chol = F.cholesky(sigma)
  elseif sigma ~= nil then
    if tensor.is(sigma) and sigma.shape ~= piece.y.shape and sigma:numel() ~= 1 then
      error(('%s: sigma is %s for y %s; give one standard deviation, one per point, or their covariance'):format(fname,
        tensor.describe(sigma), tensor.describe(piece.y)), 4)
    end
    local good = self.seen or type(sigma) == 'number' and sigma > 0 and sigma < math.huge
      or tensor.is(sigma) and F.all(F.gt(sigma, 0)) and finite(sigma)
    if not good then
      error(('%s: sigma is not positive and finite throughout; leave such points out'):format(fname), 4)
    end
    piece.sigma = sigma
  end
  if not self.seen and not finite(piece.y) then
    error(("%s: y is %s and holds NaN or infinity; leave such points out, or give nan = 'omit'"):format(fname,
      tensor.describe(piece.y)), 4)
  end
  return piece
end

--- Calls f(piece) for the blocks of a stream: observations first .. first + size - 1, whatever the chunks.
local function blocks(self, f, size)
  size = size or self.block
  local held, count = {}, 0
  local function give(n) -- a block of the n observations held first
    local xs, ys, ss, left = {}, {}, {}, n
    while left > 0 do
      local h = held[1]
      local take = math.min(left, h.n)
      xs[#xs + 1], ys[#ys + 1] = cut(h.x, h.at, h.at + take - 1), h.y[{ { h.at, h.at + take - 1 } }]
      if h.sigma then
        ss[#ss + 1] = tensor.is(h.sigma) and h.sigma.ndim == 1 and h.sigma[{ { h.at, h.at + take - 1 } }]
          or create.full({ take }, tensor.is(h.sigma) and h.sigma:item() or h.sigma)
      end
      h.at, h.n, left = h.at + take, h.n - take, left - take
      if h.n == 0 then table.remove(held, 1) end
    end
    count = count - n
    f(piece_of(self, joined(xs), joined(ys), ss[1] and joined(ss)))
  end
  local seen = 0
  for x, y, sigma in self.source() do
    y = real(self.fname, 'y of a chunk', y)
    local n = y:numel()
    if y.ndim ~= 1 or length(self.fname, x) ~= n then
      error(('%s: a chunk has y %s and x with %d points along its last axis; they must be as many, y of one axis')
        :format(self.fname, tensor.describe(y), length(self.fname, x)), 4)
    end
    if n > 0 then
      held[#held + 1] = { x = x, y = y, sigma = sigma, at = 1, n = n }
      count, seen = count + n, seen + n
      while count >= size do give(size) end
    end
  end
  if count > 0 then give(count) end
  if seen == 0 then error(('%s: the source gave no data; it must begin anew at every call'):format(self.fname), 4) end
  if self.rows and seen ~= self.rows then
    error(('%s: the source gave %d points, and %d before; it must begin anew at every call'):format(self.fname,
      seen, self.rows), 4)
  end
  self.rows, self.seen = seen, true -- later passes need no checks of values
end

local function each(self, f)
  if self.piece then return f(self.piece) end
  return blocks(self, f)
end

local function plus(a, b) return a + b end

-- ---------------------------------------------------------------- what the methods call

--- Points of a piece for a call that may be recorded.
local function part(self, piece, first, last)
  local y = { x = cut(piece.x, first, last), y = piece.y[{ { first, last } }], sigma = piece.sigma }
  if tensor.is(y.sigma) and y.sigma.ndim == 1 and y.sigma:numel() > 1 then y.sigma = y.sigma[{ { first, last } }] end
  return spared(self, y)
end

--- Whether points of a piece can be told apart along its last axis.
local function one_axis(self, piece)
  return not piece.chol and piece.y.ndim == 1 and length(self.fname, piece.x) == piece.y.shape[1]
end

--- Whether passes are fused: many observations, whose model can be recorded. What cannot be is known by recording some
--- of them.
local function fuses(self)
  if self.fused ~= nil then return self.fused end
  if not self.rows then return false end
  local few = self.piece and fused.LARGE or self.jac == 'auto' and exact_of.LARGE or 0
  if not (self.jac == 'forward' or self.jac == 'auto') or self.rows < few
    or self.piece and (self.whole or not one_axis(self, self.piece)) then
    self.fused = false
    return false
  end
  self.fused = fused.new(function(free, x, y, sigma)
    return residuals(self, { x = x, y = y, sigma = sigma or nil }, free)
  end, #self.parameters.free, self.loss, self.f_scale, cut,
    function(piece, first, last) return part(self, piece, first, last) end)
  return self.fused
end

--- Sums of a pass; nil when the model cannot be recorded, or where nobody said that it treats points one by one and its
--- recording does not show it.
local function pass(self, x)
  local sums = fuses(self)
  if not sums then return nil end
  local s
  local function pieces(f)
    if self.piece then f(self.piece) end
    if self.source then blocks(self, f, fused.UNIT * math.max(1, math.floor(self.block / fused.UNIT))) end
  end
  local function run()
    if self.piece and not sums.loop then
      sums:choose(x, self.piece)
      if not sums.loop then return end
    end
    s = sums:pass(x, pieces)
    return true
  end
  if self.fused_known then run()
  elseif not exact_of.attempt(run) then
    self.fused = false
    return nil
  end
  self.fused_known, self.jac = true, 'forward'
  return s
end

--- Cost at a point, nil where it is not finite; also the plain sum of squares.
function Data:at(x)
  self.nfev = self.nfev + 1
  local sums = pass(self, x)
  if sums then
    local cost = sums.cost
    if not (cost < math.huge) then cost = nil end
    return { x = x, cost = cost, squares = cost and sums.squares, sums = sums }
  end
  local add, total = running.new(plus)
  local add_square, squares = running.new(plus)
  each(self, function(piece)
    local r = evaluate(self, piece, x)
    add(loss.cost(self.loss, r, self.f_scale))
    add_square(self.loss and F.sum(F.square(r)):item() or 0)
    r:release()
  end)
  local cost = total()
  if not (cost < math.huge) then cost = nil end
  return { x = x, cost = cost, squares = cost and (self.loss and squares() or 2 * cost) }
end

--- The small problem at a point; nil when a derivative is not finite.
function Data:linear(point)
  self.njev = self.njev + 1
  local sums = point.sums or pass(self, point.x)
  if sums then
    local small = fused.reduced(sums)
    if small ~= false then return small end
  end
  local fine = true
  local add, total = running.new(function(a, b) return reduced.stack(a, b) end)
  each(self, function(piece)
    if not fine then return end
    local all, r = rows_of(self, piece, point.x)
    local triangle
    if self.loss then
      local scaled, Jt = loss.weigh(self.loss, r, all[{ { 1, #point.x } }], self.f_scale)
      triangle = reduced.triangle(Jt, scaled)
    else
      triangle = reduced.triangle_of(all)
    end
    r:release()
    if triangle then add(triangle) else fine = false end
  end)
  return fine and reduced.of(total()) or nil
end

--- Sums over the points of a robust fit, from which its covariance is made (statistics.sandwich): psi^2 g g^T, and
--- g g^T times what the curvature of the loss is below 0.
---@return { spread: number[][], below: number[][] }
function Data:robust(point)
  local n = #point.x
  local add, total = running.new(plus)
  each(self, function(piece)
    local all, r = rows_of(self, piece, point.x)
    local J = all[{ { 1, n } }]
    local psi, below = loss.spread(self.loss, r, self.f_scale)
    local P, D = J * psi, J * below
    add(F.stack({ F.matmul(P, P.mT), F.matmul(D, D.mT) }, 1))
    for _, t in ipairs { r, psi, below, P, D } do t:release() end
  end)
  local sums = total():totable()
  return { spread = sums[1], below = sums[2] }
end

--- Values of the model and their derivatives [nfree, ...] at any x.
function Data:model_at(x, free, with_derivatives)
  local par = self.parameters
  local function value(v)
    local y = self.model(x, par:table(v))
    if not tensor.is(y) then
      error(('%s: the model gave %s; it must give a tensor'):format(self.fname, check.show(y)), 4)
    end
    return y:to 'f64'
  end
  local y = value(free)
  return y, with_derivatives and F.stack(difference.rows(value, free, y, par.low, par.high, '3-point', {}), 1) or nil
end

--- The same data for other parameters, whose fits are counted apart.
function Data:with(parameters)
  local other = {}
  for k, v in pairs(self) do other[k] = v end
  other.parameters, other.sizes, other.exact, other.rows_buffer, other.nfev, other.njev = parameters, {}, nil, nil, 0, 0
  other.fused, other.fused_known = nil, nil
  return setmetatable(other, Data)
end

--- Residuals (model - y) / sigma at a point; nil for a stream.
function Data:residuals(x) return self.piece and residuals(self, self.piece, x) end

--- Data for a model. x a function: a stream; it gives, at each call, an iterator over chunks x, y, sigma.
---@param o table model, x, y, sigma, parameters, jac, loss, f_scale, block (false: points are never told apart), nan
---@return mascon.FitData
function M.new(fname, o)
  local self = setmetatable({
    fname = fname, model = o.model, parameters = o.parameters,
    jac = type(o.jac) == 'function' and watch.leaves(o.fname or fname, 'jac', o.jac, 1) or o.jac,
    loss = o.loss, f_scale = o.f_scale,
    block = o.block == true and M.BLOCK or o.block or nil, whole = o.block == false, sizes = {}, nfev = 0, njev = 0,
  }, Data)
  local x, y, sigma = o.x, o.y, o.sigma
  if type(x) == 'function' then
    self.source, self.block = x, self.block or M.BLOCK
    return self
  end
  y = real(fname, 'y', y)
  if type(x) == 'table' and not tensor.is(x) and type(x[1]) == 'number' then x = op.from_table(x) end
  if o.nan == 'omit' then
    local keep = F.isfinite(y)
    if tensor.is(x) and x.ndim == 1 and x.dtype ~= 'bool' then keep = F.logical_and(keep, F.isfinite(x)) end
    if not F.all(keep) then
      if y.ndim ~= 1 or not tensor.is(x) then
        error(("%s: nan = 'omit' takes y [m] and x [m] or [k, m]"):format(fname), 3)
      end
      x, y = x[{ index.ellipsis, keep }], y[keep]
      if tensor.is(sigma) and sigma.ndim == 1 and sigma:numel() > 1 then sigma = sigma[keep] end
    end
  end
  if o.block then
    self.rows = y:numel()
    if y.ndim ~= 1 or length(fname, x) ~= y:numel() then
      error(('%s: option block takes y [m] and x [m] or [k, m], y is %s'):format(fname, tensor.describe(y)), 3)
    end
    self.source = function()
      local given
      return function()
        if not given then
          given = true
          return x, y, sigma
        end
      end
    end
    return self
  end
  self.piece = piece_of(self, x, y, sigma)
  self.rows = self.piece.y:numel()
  if self.rows == 0 then error(('%s: y is %s; give data'):format(fname, tensor.describe(y)), 3) end
  return self
end

--- Observations in a block of a stream.
M.BLOCK = 65536

return M
