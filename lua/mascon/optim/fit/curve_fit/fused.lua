-- fused.lua - cost, gradient and normal matrix of a stream in one pass, without a Jacobian in memory.
--
-- A compiled function of one unit of observations gives residuals and derivatives, which are still in the cache when
-- their products are summed; units are joined in a fixed tree. Units are cut by the number of the observation, so the
-- sums depend neither on chunks nor on blocks. The normal matrix, scaled to a unit diagonal, serves while its condition
-- is below GOOD; above it squares too many digits away, and the caller factorises the columns themselves.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local create = require 'mascon.array.create'
local loss_of = require 'mascon.optim.fit.least_squares.loss'
local running = require 'mascon.optim.fit.curve_fit.total'
local F = op.functions
local M = {}

--- Observations of a unit.
M.UNIT = 32768
--- Largest condition of the scaled normal matrix that is used.
M.GOOD = 1e8

local EPS = 2 ^ -52

--- The compiled rows of one unit: f(v_1, ..., v_n, x, y, sigma) -> [n + 1, m] derivatives and residuals, those of the
--- ordinary problem; under a loss also cost and sum of squares.
---@param residuals fun(free: table, x: any, y: any, sigma: any): any
---@param n integer
---@param rho function|nil loss
---@param scale number f_scale
---@param forward boolean derivatives one parameter at a time, for models that need parameters as single numbers
local function rows_of(residuals, n, rho, scale, forward)
  local transform = require 'mascon.transform'
  return require('mascon.compile').compile(function(...)
    local v = { ... }
    local x, y, sigma = v[n + 1], v[n + 2], v[n + 3]
    local r
    local rows = {}
    if forward then
      for k = 1, n do
        local function along(one)
          local p = {}
          for i = 1, n do p[i] = i == k and one or v[i] end
          return residuals(p, x, y, sigma)
        end
        r, rows[k] = transform.jvp(along, { v[k] }, { create.ones_like(v[k]) })
        if rows[k].shape ~= r.shape then rows[k] = F.add(rows[k], F.multiply(r, 0)) end
      end
    else
      -- a parameter of its own for every point: one sweep back gives the derivative of each residual by each
      -- parameter
      local own, one = {}, create.ones_like(y)
      for k = 1, n do own[k] = F.multiply(one, v[k]) end
      local pull
      r, pull = transform.vjp(function(...) return residuals({ ... }, x, y, sigma) end, unpack(own, 1, n))
      rows = { pull(create.ones_like(r)) }
    end
    if not rho then
      rows[n + 1] = r
      return F.stack(rows, 1)
    end
    local scaled, row = loss_of.rows(rho, r, scale)
    for k = 1, n do rows[k] = F.multiply(rows[k], row) end
    rows[n + 1] = scaled
    return F.stack(rows, 1), F.multiply(F.sum((rho(F.square(F.divide(r, scale))))), 0.5 * scale * scale),
      F.sum(F.square(r))
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

--- Sums of a pass over pieces of at most UNIT observations: each(f) calls f(piece) for one after the other.
---@return table cost, squares, H (list of rows), g; nil when a sum is not finite
function Fused:pass(free, each)
  local args = {}
  for k, v in ipairs(free) do args[k] = op.from_table(v) end
  local n = #free
  local add, total = running.new(function(a, b)
    local c = {}
    for i = 1, #a do c[i] = a[i] + b[i] end
    return c
  end)
  each(function(piece)
    args[n + 1], args[n + 2], args[n + 3] = piece.x, piece.y, piece.sigma or 1
    if not self.rows then self.rows = self:choose(args, piece) end
    local R, cost, squares = self.rows(unpack(args, 1, n + 3))
    local s = self.products(R)
    local last = #s
    s[last + 1], s[last + 2] = cost and cost:item() or 0.5 * s[last], squares and squares:item() or s[last]
    R:release()
    add(s)
  end)
  local s = total()
  local out = { cost = s[#s - 1], squares = s[#s], H = {}, g = {} }
  for i = 1, n do out.H[i] = {} end
  local at = 0
  for i = 1, n do
    for j = i, n do
      at = at + 1
      out.H[i][j], out.H[j][i] = s[at], s[at]
    end
    at = at + 1
    out.g[i] = s[at]
  end
  return out
end

--- The rows by one sweep back, where they are those of one parameter at a time.
function Fused:choose(args, piece)
  local n = self.n
  local forward = self.make(true)
  local fine, back = pcall(function()
    local rows = self.make(false)
    local m = math.min(256, piece.y.shape[1])
    local few = { unpack(args, 1, n + 3) }
    few[n + 1], few[n + 2] = self.cut(piece.x, 1, m), piece.y[{ { 1, m } }]
    if tensor.is(few[n + 3]) and few[n + 3].ndim == 1 then few[n + 3] = few[n + 3][{ { 1, m } }] end
    local a, b = rows(unpack(few, 1, n + 3)), forward(unpack(few, 1, n + 3))
    return F.isclose(a, b, { rtol = 1e-9, atol = 0, equal_nan = true }):all() and rows
  end)
  if not fine and check.stopped(back) then error(back, 0) end
  return fine and back or forward
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
---@return mascon.FusedSums
function M.new(residuals, n, rho, scale, cut)
  return setmetatable({ n = n, cut = cut, products = products(n + 1),
    make = function(forward) return rows_of(residuals, n, rho, scale, forward) end }, Fused)
end

return M
