-- watch.lua - functions of the user's that must leave their arguments as they are: data would change from call to call.
--
-- Holds copies whose writes are counted, and the check of a function's first call.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local recording = require 'mascon.graph.recording'
local error = check.error
local F = op.functions
local M = {}

--- What a function takes, with tensors of its own, whose buffers count their writes.
function M.copied(x)
  if tensor.is(x) then return recording.own(tensor.methods.copy(x)) end
  if type(x) ~= 'table' or getmetatable(x) then return x end
  local y = {}
  for k, part in pairs(x) do y[k] = M.copied(part) end
  return y
end

--- How often the tensors of x were written while somebody looked.
function M.writes(x)
  if tensor.is(x) then return recording.version(x) end
  local n = 0
  if type(x) == 'table' and not getmetatable(x) then for _, part in pairs(x) do n = n + M.writes(part) end end
  return n
end

--- Whether a tree of tensors holds the same bits as another; what is no tensor is not looked at.
local function same(x, y)
  if tensor.is(x) then
    return F.all(F.logical_or(F.eq(x, y), F.logical_and(F.ne(x, x), F.ne(y, y))))
  end
  if type(x) ~= 'table' or getmetatable(x) then return true end
  for k, part in pairs(x) do if not same(part, y[k]) then return false end end
  return true
end

--- Refuses a function that wrote.
function M.refuse(fname, what, level)
  error(('%s: %s writes into its argument, which would change the data from call to call; make new tensors '
    .. '(x * 2, not x:mul_(2), x[1] = 2 or out = x), or take x:copy() first'):format(fname, what), level + 1)
end

--- f; its first call gets copies of the arguments from number `first` on, and is an error where it writes into one.
function M.leaves(fname, what, f, first)
  local known = false
  return function(...)
    if known or select('#', ...) < first then return f(...) end
    local given, n, out = { ... }, select('#', ...), nil
    local kept = { unpack(given, first, n) }
    for i = first, n do given[i] = M.copied(given[i]) end
    local rest = { unpack(given, first, n) }
    local before = M.writes(rest)
    local function gather(...) out = { n = select('#', ...), ... } end
    recording.watched(function(...) gather(f(...)) end)(unpack(given, 1, n))
    -- a derivative is made of a recording of f, whose writes are not counted
    if M.writes(rest) ~= before or not same(kept, rest) then M.refuse(fname, what, 4) end
    known = true
    return unpack(out, 1, out.n)
  end
end

return M
