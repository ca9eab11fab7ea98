-- random_search.lua - twenty random thresholds, the best of them.
--
-- Holds the draws. It exists to reproduce upstream's thresholds.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local twister = require 'workflows.autoreject.twister'
local error = check.error
local M = {}

local DRAWS = 20

--- The best of 20 thresholds drawn between the least and the largest candidate, the same 20 numbers for every channel.
---
--- A draw costs what the largest candidate not above it costs. compat = 'upstream' draws from a[1] to a[1] + a[n], as
--- upstream does.
---@param candidates any f64 [C, n] ascending
---@param losses any f64 [C, n]
---@param seed integer
---@param compat string 'native' or 'upstream'
---@return table index i64 [C] of that candidate, 1-based · threshold f64 [C] as drawn · loss f64 [C]
function M.choose(candidates, losses, seed, compat)
  for name, t in pairs { candidates = candidates or false, losses = losses or false } do
    if not mc.is_tensor(t) or t.ndim ~= 2 then
      error(('random_search: %s is %s; give a tensor [channels, candidates]'):format(name, check.show(t or nil)), 2)
    end
  end
  local stream, u = twister.new(seed), {}
  for k = 1, DRAWS do u[k] = stream:uniform() end
  local a, l, index, threshold, loss = candidates:totable(), losses:totable(), {}, {}, {}
  for c = 1, #a do
    local row = a[c]
    local n = #row
    local width = compat == 'upstream' and row[n] or row[n] - row[1]
    for k = 1, DRAWS do
      local tau, i = u[k] * width + row[1], n
      while i > 1 and row[i] > tau do i = i - 1 end
      if not loss[c] or l[c][i] < loss[c] then index[c], threshold[c], loss[c] = i, tau, l[c][i] end
    end
  end
  return { index = mc.tensor(index, { dtype = 'i64' }), threshold = mc.tensor(threshold), loss = mc.tensor(loss) }
end

return M
