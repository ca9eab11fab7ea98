-- keys.lua - the first five keys of a table in one call, nil where there are no more.
--
-- Options of calls are looked at with it: loops over next() are left to the interpreter (runtime/host/chunks.c), and a
-- trace ends at each call of it.
local host = package.loaded['mascon.host']

local function keys(t)
  local a, b, c, d, e = next(t), nil, nil, nil, nil
  if a ~= nil then b = next(t, a) end
  if b ~= nil then c = next(t, b) end
  if c ~= nil then d = next(t, c) end
  if d ~= nil then e = next(t, d) end
  return a, b, c, d, e
end

return type(host) == 'table' and host.keys or keys
