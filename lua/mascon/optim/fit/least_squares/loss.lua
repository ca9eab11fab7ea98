-- loss.lua - robust losses: what a large residual may cost, and the weights by which a robust problem becomes an
-- ordinary one.
--
-- The cost is 1/2 sum c^2 rho((r/c)^2). Holds the losses by name with their first two derivatives, and the scaling of
-- rows of J and r after which J^T J is the Gauss-Newton matrix and J^T r the gradient of the robust cost.
--
-- Source: Triggs, McLauchlan, Hartley and Fitzgibbon, Bundle adjustment: a modern synthesis, 2000, section 4.3 (the
-- second-order scaling).
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local error = check.error
local F = op.functions
local M = {}

local EPS = 2 ^ -52

-- z -> rho, rho', rho''
local LOSSES = {}

function LOSSES.soft_l1(z)
  local t = z + 1
  local root = F.sqrt(t)
  return (root - 1) * 2, 1 / root, -0.5 / (t * root)
end

function LOSSES.huber(z)
  local inside = F.le(z, 1)
  local safe = F.where(inside, 1, z)
  local root = F.sqrt(safe)
  return F.where(inside, z, root * 2 - 1), 1 / root, F.where(inside, 0, -0.5 / (safe * root))
end

function LOSSES.cauchy(z)
  local t = 1 / (z + 1)
  return F.log1p(z), t, -(t * t)
end

function LOSSES.arctan(z)
  local t = 1 / (z * z + 1)
  return F.atan(z), t, z * -2 * t * t
end

M.NAMES = { 'linear', 'soft_l1', 'huber', 'cauchy', 'arctan' }

--- The loss of a name or of the user's function z -> rho, rho', rho'' (three tensors, or one tensor [3, m]); nil for
--- 'linear'.
---@param fname string
---@param loss string|function
function M.resolve(fname, loss)
  if loss == 'linear' then return nil end
  if LOSSES[loss] then return LOSSES[loss] end
  if type(loss) ~= 'function' then
    local near = type(loss) == 'string' and check.nearest(loss, M.NAMES)
    error(('%s: option loss is %s; choose %s, or give a function of z%s'):format(fname, check.show(loss),
      table.concat(M.NAMES, ', '),
      near and (' (did you mean %q?)'):format(near) or ''), 3)
  end
  return function(z)
    local a, b, c = loss(z)
    if tensor.is(a) and a.ndim == 2 and a.shape[1] == 3 and b == nil then a, b, c = a[1], a[2], a[3] end
    for _, part in ipairs { a or false, b or false, c or false } do
      if not (tensor.is(part) and part.shape == z.shape) then
        error(('%s: the loss gave %s for z %s; it must give rho(z) and its first two derivatives, three tensors like z '
          .. 'or one [3, m]'):format(fname,
            tensor.is(part) and tensor.describe(part) or check.show(part), tensor.describe(z)), 3)
      end
    end
    return a, b, c
  end
end

--- Cost of residuals r[m]: half the sum of squares without a loss.
---@param loss function|nil
---@param r mc.tensor
---@param scale number f_scale
---@return number
function M.cost(loss, r, scale)
  if not loss then return 0.5 * F.matmul(r, r):item() end
  local rho = loss(F.square(r / scale))
  return 0.5 * scale * scale * F.sum(rho):item()
end

--- Residuals r as those of the ordinary problem, and the factors of the rows of J that go with them (nil: none).
--- `share`: the curvature of a residual is at least this share of its weight rho' (0: exact where it is positive; 1:
--- that of reweighting, which never steps too far).
---@return mc.tensor r, mc.tensor|nil row
function M.rows(loss, r, scale, share)
  if not loss then return r, nil end
  local z = F.square(r / scale)
  local _, d1, d2 = loss(z)
  local row = F.sqrt(F.maximum(d1 + d2 * z * 2, share and d1 * share or EPS))
  return r * d1 / row, row
end

--- What errors under a loss are made of: psi = r rho', and the root of what the curvature of the cost is below 0.
---@return mc.tensor psi, mc.tensor below
function M.spread(loss, r, scale)
  local z = F.square(r / scale)
  local _, d1, d2 = loss(z)
  return r * d1, F.sqrt(F.maximum((d1 + d2 * z * 2) * -1, 0))
end

--- r[m] and the columns Jt[n, m] scaled so that an ordinary Gauss-Newton step on them is one of the robust problem.
---@return mc.tensor r, mc.tensor Jt
function M.weigh(loss, r, Jt, scale)
  local scaled, row = M.rows(loss, r, scale)
  return scaled, row and Jt * row or Jt
end

return M
