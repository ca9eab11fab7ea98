-- draw.lua - the floors of runtime/ and lua/ as text, from includes, calls and module names.
--
-- usage: luajit tests/lint/draw.lua   (from the top of the tree; calls of C are read where objects are built)
-- Highest floor first. Behind each floor: its files and lines, then the floors it names and how often. An arrow up is
-- marked with a !.
local floors = dofile((arg[0]:match '^(.*)/[^/]*$' or '.') .. '/floors.lua')

local function size(folder, at, floor)
  local files, lines = 0, 0
  for _, path in ipairs(floors.list(("find %s -name '*.[ch]' -o -name '*.lua' 2>/dev/null"):format(folder))) do
    local own = at == floors.place_c and floors.floor_of(at, (path:gsub('^runtime/', '')))
      or at == floors.place_lua and floors.lua_floor(path)
    if own == floor then
      files = files + 1
      for _ in io.lines(path) do lines = lines + 1 end
    end
  end
  return files, lines
end

local function draw(title, root, list, at, arrows)
  print(title)
  local up = 0
  for i = #list, 1, -1 do
    local floor, about = list[i][1], list[i][2]
    local files, lines = size(root .. '/' .. floor, at, floor)
    if files > 0 then
      local names = {}
      for to in pairs(arrows[floor] or {}) do names[#names + 1] = to end
      table.sort(names, function(a, b) return at[a] > at[b] end)
      for k, to in ipairs(names) do
        local wrong = at[to] > i
        if wrong then up = up + 1 end
        names[k] = ('%s%s %d'):format(wrong and '!' or '', to, arrows[floor][to])
      end
      print(('  %-16s %3d files %6d lines  %s'):format(floor, files, lines, about))
      if names[1] then print(('  %16s -> %s'):format('', table.concat(names, ', '))) end
    end
  end
  print(('  %d arrows up'):format(up))
  print ''
end

local function count(into, from, to)
  if not from or not to or from == to then return end
  into[from] = into[from] or {}
  into[from][to] = (into[from][to] or 0) + 1
end

local c, calls, lua = {}, {}, {}
for _, a in ipairs(floors.c_arrows()) do count(c, a.from, a.to) end
for _, a in ipairs(floors.c_calls()) do count(calls, a.from, a.to) end
local arrows = floors.lua_arrows()
for _, a in ipairs(arrows) do
  if not a.path:find '^lua/workflows/' then
    count(lua, floors.lua_floor(a.path), a.target and floors.lua_floor(a.target) or a.to:match '^mascon%.(gen)%.')
  end
end
draw('runtime/ by #include', 'runtime', floors.C, floors.place_c, c)
if next(calls) then draw('runtime/ by functions called', 'runtime', floors.C, floors.place_c, calls) end
draw('lua/mascon/ by module names, loaded at once or later', 'lua/mascon', floors.LUA, floors.place_lua, lua)
local circles = floors.circles(arrows, function() return true end)
print(('circles of Lua files: %d'):format(#circles))
for _, circle in ipairs(circles) do print(('  %s: %s'):format(circle, floors.CIRCLES[circle] or '!')) end
