-- calls.lua - every public function with random wrong arguments: an error in words or a result, never a signal, an
-- endless loop, a raw Lua error. soak: 100000
--
--     mascon tests/soak/calls.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- A case is a batch of 200 calls in a process of its own, so --count counts calls; a process that ends by a signal or
-- takes more than 20 s is found by the call it announced last. MASCON_SOAK_RAW=1 also fails on raw Lua errors ("attempt
-- to index").
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local process = dofile(here .. '/support/process.lua')
local host = require 'mascon.host'
local BATCH = 200

-- functions that wait, end the process, write where they are told, or change settings for all
local LEFT = { ['args.parse'] = true, ['args.run'] = true, ['set_num_threads'] = true, ['set_memory_limit'] = true,
  ['seed'] = true, ['results.write'] = true, ['results.folder'] = true }

local function child(first, last)
  local mc = require 'mascon'
  local list, seen = {}, {}
  local function walk(t, prefix, depth)
    if type(t) ~= 'table' or seen[t] or mc.is_tensor(t) then return end
    seen[t] = true
    local keys = {}
    for k in pairs(t) do if type(k) == 'string' and k:sub(1, 1) ~= '_' then keys[#keys + 1] = k end end
    table.sort(keys)
    for _, k in ipairs(keys) do
      local v, name = t[k], prefix .. k
      if type(v) == 'function' then if not LEFT[name] then list[#list + 1] = { name, v } end
      elseif type(v) == 'table' and depth < 3 then walk(v, name .. '.', depth + 1) end
    end
  end
  for _, n in ipairs { 'fft', 'signal', 'stats', 'interpolate', 'json', 'text', 'random', 'linalg', 'special', 'tree',
    'optim', 'integrate', 'plot', 'grad', 'vmap', 'compile', 'scan', 'cond' } do
    local _ = mc[n]
  end
  walk(mc, '', 1)
  walk(getmetatable(mc.ones { 1 }) and require 'mascon.core.tensor'.methods, 'x:', 3)
  local VALUES = {
    function() return nil end, function() return 'text' end, function() return 0 / 0 end, function() return -1 end,
    function() return 0 end, function() return 2 ^ 53 end, function() return 1e300 end, function() return 1.5 end,
    function() return true end, function() return {} end, function() return { 1, 2, 3 } end,
    function() return { nonsense = 1 } end,
    function() return { axis = 7 } end, function() return function() end end, function() return mc.ones { 3 } end,
    function() return mc.ones { 2, 3, dtype = 'f32' } end, function() return mc.zeros { 0 } end,
    function() return mc.ones({ 4 }, { dtype = 'bool' }) end, function() return mc.ones { 2, 2, dtype = 'c128' } end,
    function() return mc.arange(5):to 'i64' end, function() return mc.tensor { 1, mc.nan, -mc.inf } end,
    function() return mc.tensor(1e19) end, function() return 2 end, function() return { out = mc.ones { 3 } } end,
  }
  local raw = os.getenv 'MASCON_SOAK_RAW'
  for k = first, last do
    local draw = soak.drawer(k)
    local f = list[draw(1, #list)]
    local n, args, names = draw(0, 4), {}, {}
    for i = 1, n do
      names[i] = draw(1, #VALUES)
      args[i] = VALUES[names[i]]()
    end
    io.stdout:write(('%d %s(%s)\n'):format(k, f[1], table.concat(names, ',')))
    io.stdout:flush()
    local ok, why = pcall(f[2], unpack(args, 1, n))
    if not ok and raw and type(why) == 'string' and (why:find 'attempt to' or why:find 'is a cdata') then
      io.stdout:write('RAW ', why, '\n')
    end
  end
end

if arg[1] == 'child' then
  child(tonumber(arg[2]), tonumber(arg[3]))
  os.exit(0)
end

-- one case of the frame is a batch
local words = {}
for i, w in ipairs(arg) do words[i] = arg[i - 1] == '--count' and tostring(math.ceil(tonumber(w) / BATCH)) or w end
local at = process.folder()
host.on_exit(function() process.remove(at) end)
soak.run('calls (batches of 200)', 500, words, function(_, k)
  local r = process.shell(("cd %s && ulimit -v 4000000; timeout -s KILL 20 %s %s child %d %d"):format(at, host.exe,
    (arg[0]:sub(1, 1) == '/' and '' or "'$OLDPWD'/"):gsub("'", '"') .. arg[0], (k - 1) * BATCH + 1,
    k * BATCH))
  local last = r.text:match '([^\n]*)\n?$'
  assert(r.status == 0, ('status %d after %s'):format(r.status, last))
  local bad = r.text:match '[^\n]*\nRAW [^\n]*'
  assert(not bad, bad)
end)
