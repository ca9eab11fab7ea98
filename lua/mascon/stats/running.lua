-- running.lua - running extremum along rows: what cumsum is for sums.
--
-- Returns one function, shared by the step-up rules of multiple.lua and the ties of rank.lua. Knows neither.
local op = require 'mascon.op'
local index = require 'mascon.index'
local F, ALL = op.functions, index.all

--- Running extremum along rows [m, n] by doubling: log2 n passes. back: from the end.
return function(f, x, back)
  local n, k = x.shape[2], 1
  while k < n do
    if back then x = F.concat({ f(x[{ ALL, { 1, n - k } }], x[{ ALL, { k + 1, n } }]), x[{ ALL, { n - k + 1, n } }] }, 2)
    else x = F.concat({ x[{ ALL, { 1, k } }], f(x[{ ALL, { k + 1, n } }], x[{ ALL, { 1, n - k } }]) }, 2) end
    k = 2 * k
  end
  return x
end
