-- vote.lua - which channels are bad in which epochs, which of them are repaired, which epochs are given up.
--
-- Holds the rules: a cell is bad when its range is above the limit of its channel; an epoch is bad when its bad
-- channels reach a fraction of all; the worst are repaired.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

local MORE = { flat = { nil, 'number' }, channels = { nil, 'table' } }

--- Raises unless v is nil or one of two words.
local function chosen(fname, what, v, a, b)
  if v ~= nil and v ~= a and v ~= b then
    error(('autoreject.vote.%s: %s is %s; choose %s or %s'):format(fname, what, check.show(v), a, b), 3)
  end
end

--- Votes of all cells.
---@param range any f64 [E, C] peak-to-peak amplitude
---@param threshold any f64 [C]
---@param more? table flat: cells of at most this range are bad too · channels (set of places): bad in every epoch
---@return table vote E, C, count (list of E), worst (for each epoch its bad channels, largest range first, lower place
---  first among equals)
---     mc.autoreject.vote.cast(mc.tensor{{4, 5, 6}}, mc.tensor{5, 5, 5}).count[1]  --> 1
function M.cast(range, threshold, more)
  more = check.opts('autoreject.vote.cast', more, MORE, 3)
  local E, C = range.shape[1], range.shape[2]
  local bad = mc.gt(range, threshold:reshape(1, C))
  local whole = more.channels or {}
  if more.flat then bad = mc.logical_or(bad, mc.le(range, more.flat)) end
  for c in pairs(whole) do bad[{ mc.all, { c, c } }] = true end
  local vote = { E = E, C = C, count = {}, worst = {}, bad = bad }
  for e = 1, E do vote.count[e], vote.worst[e] = 0, {} end
  local rows, columns = mc.nonzero(bad)
  local n = rows:numel()
  if n == 0 then return vote end
  local es, cs = rows:totable(), columns:totable()
  local ps = range[bad]:totable()
  for k = 1, n do
    local list = vote.worst[es[k]]
    list[#list + 1] = k
    vote.count[es[k]] = vote.count[es[k]] + 1
  end
  local function worse(a, b)
    local wa, wb = whole[cs[a]] or false, whole[cs[b]] or false
    if wa ~= wb then return wa end
    if ps[a] ~= ps[b] then return ps[a] > ps[b] end
    return cs[a] < cs[b]
  end
  for e = 1, E do
    table.sort(vote.worst[e], worse)
    local order = vote.worst[e]
    for i, k in ipairs(order) do order[i] = cs[k] end
  end
  return vote
end

--- How many of b bad channels are repaired when rho may be; at least one channel is left to repair from.
---@param b integer
---@param rho integer
---@param C integer channels
---@param partial? string 'drop': none when there are more than rho
function M.repaired(b, rho, C, partial)
  chosen('repaired', 'partial', partial, 'repair', 'drop')
  if partial == 'drop' and b > rho then return 0 end
  return math.min(b, rho, C - 1)
end

--- Whether an epoch with b bad channels of C is bad at the fraction kappa. The product is taken in doubles and not
--- rounded.
---     mc.autoreject.vote.is_bad(3, 0.1 * 3, 10)  --> false
function M.is_bad(b, kappa, C) return b >= kappa * C end

--- The repair limits at which list position j works: the entry itself, or upstream's sum of the first j, since there
--- the repairs of one entry stay for the next.
---@param rho integer[]
---@param compat? string native, upstream
---@return integer[]
function M.limits(rho, compat)
  chosen('limits', 'compat', compat, 'native', 'upstream')
  local out, sum = {}, 0
  for j, r in ipairs(rho) do
    sum = sum + r
    out[j] = compat == 'upstream' and sum or r
  end
  return out
end

return M
