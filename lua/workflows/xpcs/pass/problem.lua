-- problem.lua - the fit as the solver of mascon.optim sees it: cost at a point, small linear problem at a point.
--
-- The free numbers x are some of the full vector z = (scaling of contrast, scaling of offset, physics); the others are
-- fixed or tied to one. One pass over the data gives cost, gradient and normal matrix at once, so an accepted step
-- needs no second one. The normal matrix is scaled to a unit diagonal and cut by eigenvalues; its square root takes the
-- place of the Jacobian.
local mc = require 'mascon'
local scaling = require 'workflows.xpcs.model.scaling'
local pass = require 'workflows.xpcs.pass.pass'
local sums = require 'workflows.xpcs.model.sums'
local ridge = require 'workflows.xpcs.model.ridge'
local M = {}

local EPS = 2 ^ -52

---@class mascon.xpcs.Problem
local Problem = {}
Problem.__index = Problem

--- Contrast and offset per angle, and physics, of a full vector.
function Problem:split(z)
  local m, F = self.m, self.data.F
  local contrast, offset, physics = self.contrast, self.offset, {}
  if m > 0 then
    contrast, offset = scaling.values(self.shares, z, 1), scaling.values(self.shares, z, m + 1)
  end
  for k = 1, self.P do physics[k] = z[2 * m + k] end
  assert(#contrast == F and #offset == F)
  return contrast, offset, physics
end

--- The full vector of free numbers.
function Problem:full(x)
  local z = {}
  for i = 1, self.Z do z[i] = self.start[i] end
  for k, i in ipairs(self.free) do z[i] = x[k] end
  for i, t in pairs(self.ties) do z[i] = t.factor * z[t.to] + t.shift end
  return z
end

--- Sums of a pass as cost, gradient and normal matrix of the full vector.
local function expand(self, s)
  local m, P, Z, F = self.m, self.P, self.Z, self.data.F
  local g, H = {}, {}
  for i = 1, Z do
    g[i], H[i] = 0, {}
    for j = 1, Z do H[i][j] = 0 end
  end
  for k = 1, P do g[2 * m + k] = s[1 + k] end
  sums.normal(P, function(k, l, at) H[2 * m + k][2 * m + l], H[2 * m + l][2 * m + k] = s[at], s[at] end)
  if m == 0 then return g, H end
  for f = 1, sums.sections(self.kind, F) do
    local b = sums.before(f)
    local row = self.kind == 'common' and { 1 } or self.shares[f]
    for i = 1, m do
      local u = row[i]
      if u ~= 0 then
        g[i], g[m + i] = g[i] + u * s[b + 4], g[m + i] + u * s[b + 5]
        for j = 1, m do
          local v = u * row[j]
          if v ~= 0 then
            H[i][j], H[m + i][m + j] = H[i][j] + v * s[b + 1], H[m + i][m + j] + v * s[b + 3]
            H[i][m + j], H[m + j][i] = H[i][m + j] + v * s[b + 2], H[m + j][i] + v * s[b + 2]
          end
        end
        for k = 1, P do
          local c, o = u * s[b + 5 + k], u * s[b + 12 + k]
          H[i][2 * m + k], H[2 * m + k][i] = H[i][2 * m + k] + c, H[2 * m + k][i] + c
          H[m + i][2 * m + k], H[2 * m + k][m + i] = H[m + i][2 * m + k] + o, H[2 * m + k][m + i] + o
        end
      end
    end
  end
  return g, H
end

--- The same for the free numbers: ties add the columns of what is tied.
local function reduce(self, g, H)
  local n = #self.free
  local with = {}
  for k, i in ipairs(self.free) do with[k] = { { i, 1 } } end
  for i, t in pairs(self.ties) do
    for k, to in ipairs(self.free) do if to == t.to then table.insert(with[k], { i, t.factor }) end end
  end
  local gf, Hf = {}, {}
  for a = 1, n do
    local sum = 0
    for _, p in ipairs(with[a]) do sum = sum + p[2] * g[p[1]] end
    gf[a], Hf[a] = -sum, {} -- residuals of the solver are model - data
    for b = 1, n do
      local h = 0
      for _, p in ipairs(with[a]) do for _, q in ipairs(with[b]) do h = h + p[2] * q[2] * H[p[1]][q[1]] end end
      Hf[a][b] = h
    end
  end
  return gf, Hf
end

--- What a pass at free numbers x takes.
local function about(self, x)
  local contrast, offset, physics = self:split(self:full(x))
  return { physics = physics, contrast = contrast, offset = offset, sigma = self.sigma, kd = self.kd, ks = self.ks,
    t = self.t, loss = self.loss, f_scale = self.f_scale, legacy_abs = self.legacy_abs, device = self.device }
end

--- Cost, sums, gradient and normal matrix at free numbers x; cost is nil when it is not finite.
---@param x number[]
function Problem:at(x)
  self.nfev = self.nfev + 1
  local s = self.engine(self.data, about(self, x), self.kind)
  local point = { x = x, sums = s }
  local cost = 0.5 * s[1]
  if cost < math.huge then point.cost = cost end -- NaN is not
  if self.watch then self.watch(self, point) end
  return point
end

--- Gradient and normal matrix of the free numbers at a point.
function Problem:normal(point)
  if not point.H then
    local g, H = expand(self, point.sums)
    point.g, point.H = reduce(self, g, H)
  end
  return point.g, point.H
end

--- Of a robust loss at a point, for the free numbers: the sum of psi^2 g g^T over the points, psi = r rho' and g the
--- derivatives of the residual; and the sum of g g^T times what the curvature of the loss is below 0, which the normal
--- matrix leaves out (nil: it is nowhere).
---@return number[][] spread, number[][]|nil below
function Problem:robust(point)
  local function matrix(part)
    local p = about(self, point.x)
    p.part = part
    local _, H = reduce(self, expand(self, pass.run(self.data, p, self.kind)))
    return H
  end
  return matrix 'psi', M.BENDS_BACK[self.loss] and matrix 'below' or nil
end

-- losses whose second derivative is below 0 somewhere
M.BENDS_BACK = { cauchy = true, arctan = true }

--- Eigenvalues (ascending) and vectors of the normal matrix scaled to a unit diagonal, and the norms of its columns.
---@param H number[][]
---@return number[] values, number[][] vectors as rows, number[] norms
function M.spectrum(H)
  local n, norms, scaled = #H, {}, {}
  for i = 1, n do norms[i] = math.sqrt(math.max(H[i][i], 0)) end
  for i = 1, n do
    scaled[i] = {}
    for j = 1, n do scaled[i][j] = norms[i] > 0 and norms[j] > 0 and H[i][j] / (norms[i] * norms[j]) or 0 end
  end
  local values, vectors = mc.linalg.eigh(mc.tensor(scaled))
  return values:totable(), vectors.mT:totable(), norms
end

--- The small problem of a point for the solver; nil when a sum is not finite.
function Problem:linear(point)
  self.njev = self.njev + 1
  local g, H = self:normal(point)
  local n = #g
  for i = 1, n do
    if g[i] - g[i] ~= 0 then return nil end
    for j = 1, n do if H[i][j] - H[i][j] ~= 0 then return nil end end
  end
  local values, vectors, norms = M.spectrum(H)
  local J, r = {}, {}
  for k = 1, n do
    local row, root = {}, values[k] > n * EPS * values[n] and math.sqrt(values[k]) or 0
    local sum = 0
    for j = 1, n do
      row[j] = root * vectors[k][j] * norms[j]
      if root > 0 and norms[j] > 0 then sum = sum + vectors[k][j] * g[j] / norms[j] end
    end
    J[k], r[k] = row, root > 0 and sum / root or 0
  end
  return { n = n, k = n, J = J, r = r, g = g, norms = norms }
end

--- Where a step of the solver leads.
function Problem:move(x, step, low, high) return ridge.move(self.ridges, x, step, low, high) end

--- A problem on data.
---@param o table data, mode (resolved), shares (matrix of the scaling, nil for constant), P, start (full vector), free
---  (places), ties, sigma, kd, ks, t, loss, f_scale
---@return mascon.xpcs.Problem
function M.new(o)
  local p = setmetatable({}, Problem)
  for k, v in pairs(o) do p[k] = v end
  p.nfev, p.njev = 0, 0 -- also of a problem made of another one
  p.m = o.shares and #o.shares[1] or 0
  p.Z = 2 * p.m + p.P
  p.kind = p.m == 0 and 'fixed' or o.mode == 'averaged' and 'common' or 'each'
  p.rows = 1 -- the normal matrix is square already
  p.engine = o.engine or pass.run
  local index = {}
  for k, place in ipairs(o.free) do index[place - 2 * p.m] = k end
  p.ridges = ridge.among(function(i) return index[i] end, p.P, o.t[o.t.shape[1]]:item(),
    function(i) return o.start[2 * p.m + i] end)
  return p
end

--- The small problem of a point and the way of a step, for other problems with the same `normal` and ridges.
M.linear, M.move = Problem.linear, Problem.move

return M
