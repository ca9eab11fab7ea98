-- fused.lua - cost, gradient and normal matrix of a stream in one pass, without a Jacobian in memory.
--
-- A model that treats points one by one becomes one C loop (pointwise.lua). For others, a compiled function of one unit
-- of observations gives residuals and derivatives, which are still in the cache when their products are summed. Units
-- are joined in a fixed tree. Units are cut by the number of the observation, so the
-- sums depend neither on chunks nor on blocks. The normal matrix, scaled to a unit diagonal, serves while its condition
-- is below GOOD; above it squares too many digits away, and the caller factorises the columns themselves.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local loss_of = require 'mascon.optim.fit.least_squares.loss'
local pointwise = require 'mascon.optim.fit.curve_fit.pointwise'
local running = require 'mascon.optim.fit.curve_fit.total'
local F = op.functions
local M = {}

--- Observations of a unit.
M.UNIT = 32768
--- Observations from which on fits that name no block try it: the loop is compiled once per model, which takes as long
--- as it saves there.
M.LARGE = 500000
--- Largest condition of the scaled normal matrix that is used.
M.GOOD = 1e8

local EPS = 2 ^ -52

--- Derivatives of the residuals by one sweep back, then the residuals, as functions of parameters of each point.
local function swept(residuals, v, x, y, sigma)
  local transform = require 'mascon.transform'
  local r, pull = transform.vjp(function(...) return residuals({ ... }, x, y, sigma) end, unpack(v))
  local rows = { pull(create.ones({}, { dtype = 'f64' }):broadcast_to(r.shape)) }
  rows[#v + 1] = r
  return rows
end

--- The same, one parameter at a time, for models that need parameters as single numbers.
local function sideways(residuals, v, x, y, sigma)
  local transform = require 'mascon.transform'
  local r
  local rows, n = {}, #v
  for k = 1, n do
    local function along(one)
      local p = {}
      for i = 1, n do p[i] = i == k and one or v[i] end
      return residuals(p, x, y, sigma)
    end
    r, rows[k] = transform.jvp(along, { v[k] }, { create.ones_like(v[k]) })
    if rows[k].shape ~= r.shape then rows[k] = F.add(rows[k], F.multiply(r, 0)) end
  end
  rows[n + 1] = r
  return rows
end

--- Rows as those of the ordinary problem under a loss, then rho and the residuals themselves.
local function robust(rows, rho, scale)
  local n = #rows - 1
  local r = rows[n + 1]
  local scaled, row = loss_of.rows(rho, r, scale)
  for k = 1, n do rows[k] = F.multiply(rows[k], row) end
  rows[n + 1], rows[n + 2], rows[n + 3] = scaled, (rho(F.square(F.divide(r, scale)))), r
  return rows
end

--- The compiled rows of one unit: f(v_1, ..., v_n, x, y, sigma) -> [n + 1, m] derivatives and residuals, those of the
--- ordinary problem; under a loss also the sum of rho and the sum of squares.
---@param residuals fun(free: table, x: any, y: any, sigma: any): any
---@param n integer
---@param rho function|nil loss
---@param scale number f_scale
---@param forward boolean derivatives one parameter at a time
local function rows_of(residuals, n, rho, scale, forward)
  return require('mascon.compile').compile(function(...)
    local v = { ... }
    local x, y, sigma = v[n + 1], v[n + 2], v[n + 3]
    for k = n + 3, n + 1, -1 do v[k] = nil end
    if not forward then -- a parameter of its own for every point
      local one = create.ones_like(y)
      for k = 1, n do v[k] = F.multiply(one, v[k]) end
    end
    local rows = (forward and sideways or swept)(residuals, v, x, y, sigma)
    if not rho then return F.stack(rows, 1) end
    robust(rows, rho, scale)
    return F.stack({ unpack(rows, 1, n + 1) }, 1), F.sum(rows[n + 2]), F.sum(F.square(rows[n + 3]))
  end)
end

local PART = 4096 -- points of a task

-- sums of products of the rows of R over parts of its points, in eight lanes, while they are in the first cache
local PRODUCTS = [[
  enum { K = %d, PART = %d, NEAR = 512 };
  const int64_t m = R_shape[1];
  for (int64_t t = first; t < last; t++) {
    double *to = out + t * (K * (K + 1) / 2);
    double acc[K * (K + 1) / 2][8] = {{0}};
    const int64_t end = (t + 1) * PART < m ? (t + 1) * PART : m;
    for (int64_t at = t * PART; at < end; at += NEAR) {
      const int64_t stop = at + NEAR < end ? at + NEAR : end;
      int pair = 0;
      for (int i = 0; i < K; i++)
        for (int j = i; j < K; j++, pair++) {
          const double *a = R + i * m, *b = R + j * m;
          double s[8];
          for (int l = 0; l < 8; l++) s[l] = acc[pair][l];
          int64_t p = at;
          for (; p + 8 <= stop; p += 8)
            for (int l = 0; l < 8; l++) s[l] += a[p + l] * b[p + l];
          for (int l = 0; p < stop; p++, l++) s[l] += a[p] * b[p];
          for (int l = 0; l < 8; l++) acc[pair][l] = s[l];
        }
    }
    for (int pair = 0; pair < K * (K + 1) / 2; pair++) {
      const double *s = acc[pair];
      to[pair] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }
  }
]]

--- Products of the rows of R [k, m], as the upper triangle of R R^T, row after row.
---@param k integer
---@return fun(R: mc.tensor): number[]
local function products(k)
  local kernel
  local function parts(R) return math.ceil(R.shape[2] / PART) end
  local function compiled(R)
    local sums = F.sum(kernel(R), 1)
    return sums:totable()
  end
  local function plain(R)
    local rows, out = F.matmul(R, R.mT):totable(), {}
    for i = 1, k do for j = i, k do out[#out + 1] = rows[i][j] end end
    return out
  end
  local function first(R)
    kernel = require('mascon.kernel').kernel { name = 'products', inputs = { 'R f64' }, outputs = { 'out f64' },
      grain = 2 ^ 20, c = PRODUCTS:format(k, PART), range = parts,
      shape = function(t) return { parts(t), k * (k + 1) / 2 } end }
    return compiled(R)
  end
  local run
  return function(R)
    if not run then
      local fine, sums = pcall(first, R) -- there may be no C compiler
      if fine then
        run = compiled
        return sums
      end
      if check.stopped(sums) then error(sums, 0) end
      run = plain
    end
    return run(R)
  end
end

---@class mascon.FusedSums
local Fused = {}
Fused.__index = Fused

--- Sums of the units of a piece, one list each: products, sum of rho (nil without a loss), sum of squares.
local function units_of(self, free, piece)
  if self.loop then return self.loop(free, piece):totable() end
  local args, n, out = {}, self.n, {}
  for k, v in ipairs(free) do args[k] = op.from_table(v) end
  local m = piece.y.shape[1]
  for first = 1, m, M.UNIT do
    local unit = self.part(piece, first, math.min(m, first + M.UNIT - 1))
    args[n + 1], args[n + 2], args[n + 3] = unit.x, unit.y, unit.sigma or 1
    local R, rho, squares = self.rows(unpack(args, 1, n + 3))
    local s = self.products(R)
    if rho then s[#s + 1], s[#s + 2] = rho:item(), squares:item() end
    R:release()
    out[#out + 1] = s
  end
  return out
end

--- Sums of a pass over pieces of observations: each(f) calls f(piece) for one after the other, all but the last with a
--- multiple of UNIT points.
---@return table cost, squares, H (list of rows), g; nil when a sum is not finite
function Fused:pass(free, each)
  local n = #free
  local add, total = running.new(function(a, b)
    local c = {}
    for i = 1, #a do c[i] = a[i] + b[i] end
    return c
  end)
  each(function(piece)
    if not self.loop and not self.rows then self:choose(free, piece) end
    for _, s in ipairs(units_of(self, free, piece)) do add(s) end
  end)
  local s = total()
  local out, at = { H = {}, g = {} }, 0
  for i = 1, n do out.H[i] = {} end
  for i = 1, n do
    for j = i, n do
      at = at + 1
      out.H[i][j], out.H[j][i] = s[at], s[at]
    end
    at = at + 1
    out.g[i] = s[at]
  end
  out.squares = s[#s]
  out.cost = 0.5 * (self.rho and s[at + 2] * self.scale ^ 2 or out.squares)
  return out
end

--- Whether sums are those of the products of rows R, to rounding.
local function agree(sums, R, more)
  local want, at = F.matmul(R, R.mT):totable(), 0
  local function near(a, b, size)
    return a == b or math.abs(a - b) <= 1e-9 * size or (a ~= a and b ~= b)
  end
  for i = 1, #want do
    for j = i, #want do
      at = at + 1
      if not near(sums[at], want[i][j], math.sqrt(want[i][i] * want[j][j])) then return false end
    end
  end
  for _, v in ipairs(more) do
    at = at + 1
    if not near(sums[at], v, math.abs(v)) then return false end
  end
  return true
end

--- How rows are made: by one loop over points, by one sweep back, or one parameter at a time. The quicker ways are
--- taken where they give on some points what the last one gives.
function Fused:choose(free, piece)
  local few = self.part(piece, 1, math.min(256, piece.y.shape[1]))
  local args, n = {}, self.n
  for k, v in ipairs(free) do args[k] = op.from_table(v) end
  args[n + 1], args[n + 2], args[n + 3] = few.x, few.y, few.sigma or 1
  local forward = rows_of(self.residuals, n, self.rho, self.scale, true)
  local b, rho, squares = forward(unpack(args, 1, n + 3))
  local function tried(f)
    local fine, way = pcall(f) -- a model may need single numbers, and there may be no C compiler
    if not fine and check.stopped(way) then error(way, 0) end
    return fine and way or nil
  end
  self.loop = tried(function()
    if few.y.shape[1] < pointwise.LEAST then return nil end
    local loop = pointwise.sums(function(v, x, y, sigma)
      local rows = swept(self.residuals, v, x, y, sigma)
      if self.rho then robust(rows, self.rho, self.scale) end
      return unpack(rows)
    end, n, M.UNIT, few, self.cut)
    return loop and agree(loop(free, few):totable()[1], b, rho and { rho:item(), squares:item() } or {}) and loop
  end)
  if self.loop then return end
  self.rows = tried(function()
    local rows = rows_of(self.residuals, n, self.rho, self.scale, false)
    return F.isclose(rows(unpack(args, 1, n + 3)), b, { rtol = 1e-9, atol = 0, equal_nan = true }):all() and rows
  end) or forward
end

--- The small problem of sums; nil when it is not finite; false when the normal matrix is too close to singular.
---@param s table of pass
function M.reduced(s)
  local n, norms, scaled = #s.g, {}, {}
  for i = 1, n do
    norms[i] = math.sqrt(math.max(s.H[i][i], 0))
    if s.g[i] - s.g[i] ~= 0 or norms[i] - norms[i] ~= 0 then return nil end
    if norms[i] == 0 then return false end
  end
  for i = 1, n do
    scaled[i] = {}
    for j = 1, n do scaled[i][j] = s.H[i][j] / (norms[i] * norms[j]) end
  end
  local values, vectors = require('mascon.linalg').eigh(op.from_table(scaled))
  values, vectors = values:totable(), vectors.mT:totable()
  if not (values[1] * M.GOOD > values[n]) then return false end
  local J, r = {}, {}
  for k = 1, n do
    local row, root, sum = {}, math.sqrt(math.max(values[k], n * EPS * values[n])), 0
    for j = 1, n do
      row[j] = root * vectors[k][j] * norms[j]
      sum = sum + vectors[k][j] * s.g[j] / norms[j]
    end
    J[k], r[k] = row, sum / root
  end
  return { n = n, k = n, J = J, r = r, g = s.g, norms = norms }
end

--- Fused sums of a residual function.
---@param residuals fun(free: table, x: any, y: any, sigma: any): any
---@param n integer free parameters
---@param rho function|nil
---@param scale number
---@param cut fun(x: any, first: integer, last: integer): any points of what the model takes
---@param part fun(piece: table, first: integer, last: integer): table points of a piece, for calls of the model
---@return mascon.FusedSums
function M.new(residuals, n, rho, scale, cut, part)
  return setmetatable({ residuals = residuals, n = n, rho = rho, scale = scale, cut = cut, part = part,
    products = products(n + 1) }, Fused)
end

return M
