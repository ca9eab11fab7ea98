-- parts.lua - the inner modules of a module by the names of its order.
--
-- Parts of lists lie in the table of the module itself, by number, where ipairs and # find them; others in _modules.
local check = require 'mascon.core.check'
local error = check.error
local M = {}

--- The inner module of a name; nil for names of parameters, buffers and what is gone.
function M.child(m, name)
  local inner = rawget(m, '_modules')[name]
  if inner then return inner end
  local k = tonumber(name)
  local part = k and rawget(m, k)
  return type(part) == 'table' and rawget(part, '_order') and part or nil
end

--- Whether a module has no inner modules.
function M.single(m)
  for _, n in ipairs(rawget(m, '_order')) do if M.child(m, n) then return false end end
  return true
end

--- Each inner module in order, depth first, the module itself first: f(module, name), names with dots.
function M.each(self, f)
  if type(self) ~= 'table' or not rawget(self, '_order') then
    error(('module: a method is called on %s; write it with a colon, as in net:parameters()'):format(check.show(self)),
      2)
  end
  local seen = {}
  local function walk(m, name)
    if seen[m] then return end
    seen[m] = true
    f(m, name)
    for _, n in ipairs(rawget(m, '_order')) do
      local inner = M.child(m, n)
      if inner then walk(inner, name == '' and n or name .. '.' .. n) end
    end
  end
  walk(self, '')
end

return M
