-- into.lua - out= for functions that are composed of others: the result is copied into the tensor that was given.
--
-- Ops write into out= themselves and need no memory; a composition has its result first and copies it, so that a call
-- that fails changes nothing and out may be an operand. Holds the wrappers and which function stands behind one.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error, is, methods = check.error, tensor.is, tensor.methods
local M = {}

M.behind = setmetatable({}, { __mode = 'k' }) -- wrapper -> function
M.guard = nil -- guard.of, once it is loaded

-- functions in modules that take out= themselves
M.own = {}
for _, row in ipairs(require 'mascon.gen.ops'.ops) do if row.own_out then M.own[row[1]] = true end end

local function copied(name, out, ...)
  local r, second = ...
  if not is(r) or second ~= nil then
    error(('%s: out takes one tensor, and this call gives no single one; leave out away'):format(name), 3)
  end
  if out.dtype ~= r.dtype or out._ndim ~= r._ndim then goto wrong end
  for i = 0, r._ndim - 1 do if out._shape[i] ~= r._shape[i] then goto wrong end end
  do return methods.copy_(out, r) end
  ::wrong::
  error(('%s: out is %s but the result is %s; give a tensor of that shape and dtype'):format(name, tensor.describe(out),
    tensor.describe(r)), 3)
end

M.copied = copied

--- Calls f(...), whose last argument is a table of options with out in it.
function M.call(name, f, opts, ...)
  local out, rest, n = opts.out, nil, select('#', ...)
  if not is(out) then error(('%s: option out is %s; give a tensor'):format(name, check.show(out)), 3) end
  if out._data == nil then tensor.numel(out) end
  for k, v in pairs(opts) do
    if k ~= 'out' then
      rest = rest or {}
      rest[k] = v
    end
  end
  local args = { ... }
  args[n] = rest
  return copied(name, out, f(unpack(args, 1, rest and n or n - 1)))
end

--- f with the option out in a last table.
function M.wrap(name, f)
  local real = f
  f = M.guard and M.guard(name, f) or f
  local function g(...)
    local n = select('#', ...)
    if n > 0 then
      local last = select(n, ...)
      if type(last) == 'table' and rawget(last, 'out') ~= nil then return M.call(name, f, last, ...) end
    end
    return f(...)
  end
  M.behind[g] = real
  return g
end

--- Wraps the functions of a namespace, but those of op.lua, which take out= already.
---@param prefix string as messages name the functions
---@param t table
---@param ops table functions of op.lua by name
---@return table t
function M.all(prefix, t, ops)
  local done = {} -- a second name is the same function
  for _, f in pairs(ops) do done[f] = f end
  for name, f in pairs(t) do
    if type(f) == 'function' then
      done[f] = done[f] or (M.own[name] and f) or M.wrap(prefix .. name, f)
      t[name] = done[f]
    end
  end
  return t
end

return M
