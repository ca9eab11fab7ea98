-- policies.lua - update policies: what the next state takes of the last one and of the operator's result. The only list
-- of them.
--
-- Source: specification of rollouts, 2.5.
local M = {}

M.DEFAULT = 'residual'

-- by name: f(p) gives a and b of the next state a x + b o; p has alpha and dt
local POLICIES = {
  autoregressive = function() return 0, 1 end,
  residual = function(p) return 1, p.dt end,
  convex = function(p) return p.alpha, 1 - p.alpha end,
}

--- Names of the policies, sorted.
---@return string[]
function M.names()
  local out = {}
  for name in pairs(POLICIES) do out[#out + 1] = name end
  table.sort(out)
  return out
end

--- a and b of the next state a x + b o.
---@param p table policy (its name), alpha, dt
---@return number a
---@return number b
function M.shares(p) return POLICIES[p.policy](p) end

return M
