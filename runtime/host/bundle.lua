-- bundle.lua - writes the bytecode of our Lua modules into one file, for bundle.c. Run by make inside the program.
--
-- usage: find LUA -name '*.lua' -printf 'l %P %s %T@ %p\n' | mascon bundle.lua OUT
-- The first letter is g for modules made by the build.
-- The chunks come from the program's own loadfile, so their loops are the plain ones of chunks.c. Of each dump the file
-- name is left out: bundle.c puts in that of the installation.
local out = assert(arg[1], 'bundle: give the file to write')
local HEAD = 5 -- signature, version, flags

local modules, names = {}, {}
for line in io.lines() do
  local root, path, size, time, file = line:match '^([gl]) (%S+) (%d+) (%d+)%.?%d* (.*)$'
  local name = path and path:gsub('%.lua$', ''):gsub('/init$', ''):gsub('/', '.')
  if name and not path:find '[^%w_/.]' and not modules[name] then
    local chunk = assert(loadfile(file))
    local code = string.dump(chunk)
    local length, at, shift = 0, HEAD, 1
    repeat -- the name: its length, seven bits a byte, and its bytes
      at = at + 1
      local byte = code:byte(at)
      length, shift = length + byte % 128 * shift, shift * 128
    until byte < 128
    assert(code:sub(at + 1, at + length) == '@' .. file, file .. ': a dump of a form that is not known')
    modules[name] = { root, path, size, time, code:sub(1, HEAD) .. code:sub(at + length + 1) }
    names[#names + 1] = name
  end
end
table.sort(names)
local index, codes, from = {}, {}, 0
for i, name in ipairs(names) do
  local m = modules[name]
  index[i] = ('%s %s %s %s %s %d %d'):format(name, m[1], m[2], m[3], m[4], from, #m[5])
  codes[i], from = m[5], from + #m[5]
end
local text = '\n' .. table.concat(index, '\n') .. '\n'
local f = assert(io.open(out .. '.new', 'wb'))
assert(f:write('mascon modules 1 ', require('jit').version, '\n', #text, text, table.concat(codes)))
assert(f:close())
assert(os.rename(out .. '.new', out))
