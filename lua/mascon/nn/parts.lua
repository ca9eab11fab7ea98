-- parts.lua - the inner modules of a module by the names of its order.
--
-- Parts of lists lie in the table of the module itself, by number, where ipairs and # find them; others in _modules.
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

return M
