-- server.lua - mascon as a child of the array API bridge: one chunk of Lua a line in, one value out.
--
-- usage: mascon tests/array_api/server.lua, driven by bridge.py over its two pipes. A chunk sees `mc` and the
-- arrays `A` by number; a tensor that it returns is stored there. Answers are lines: T number dtype sizes (a tensor),
-- N (number), I (64-bit integer), C (complex), B, S, Z (nil), L count and D count before the parts of a list and of a
-- table with names, E (an error).
local mc = require 'mascon'
local A, last = {}, 0

local function line(...) io.write(table.concat({ ... }, ' '), '\n') end

local function answer(v)
  local kind = type(v)
  if kind == 'cdata' and mc.is_tensor(v) then
    last = last + 1
    A[last] = v
    line('T', ('%d'):format(last), v.dtype, table.concat(v.shape, ' '))
  elseif kind == 'number' then line('N', ('%.17g'):format(v))
  elseif kind == 'boolean' then line('B', v and '1' or '0')
  elseif kind == 'string' then line('S', (v:gsub('\n', ' ')))
  elseif kind == 'nil' then line 'Z'
  elseif kind == 'cdata' then
    local ok, re = pcall(function() return v.re end)
    if ok then line('C', ('%.17g'):format(re), ('%.17g'):format(v.im))
    else line('I', (tostring(v):gsub('U?LL$', ''))) end
  elseif kind == 'table' and (v[1] ~= nil or next(v) == nil) then
    line('L', ('%d'):format(#v))
    for i = 1, #v do answer(v[i]) end
  elseif kind == 'table' then
    local names = {}
    for k in pairs(v) do names[#names + 1] = k end
    table.sort(names)
    line('D', ('%d'):format(#names))
    for _, k in ipairs(names) do
      line('S', k)
      answer(v[k])
    end
  else line('S', tostring(v)) end
end

for request in io.lines() do
  local chunk, why = loadstring('local mc, A = ... ' .. request, '=request')
  local function run() return chunk(mc, A) end
  local results = chunk and { pcall(run) } or { false, why }
  local n = chunk and select('#', unpack(results, 1, table.maxn(results))) or 2
  if not results[1] then line('E', (tostring(results[2]):gsub('%s*\n%s*', ' | ')))
  elseif n <= 2 then answer(results[2])
  else
    line('L', ('%d'):format(n - 1))
    for i = 2, n do answer(results[i]) end
  end
  io.flush()
end
