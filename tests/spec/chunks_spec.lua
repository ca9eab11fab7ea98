-- chunks_spec.lua - loops over pairs and next run to their end, however often they are compiled and given up
-- (runtime/host/chunks.c).
local program = os.getenv 'MASCON' or require 'mascon.host'.exe

-- One loop becomes hot with an inner loop that cannot join it: LuaJIT gives the compiled form up in the middle of a
-- round.
local BODY = [[
local t = { 1, 2, 3, 4, 5 }
local outer = { a = t, b = t, c = t, d = t, e = t }
local function pause(...) for _ = 1, 100 do end end
for i = 1, 60000 do
  pause()
  local c = 0
  for _, v in ITERATE(outer) do
    for _ in ITERATE(v) do end
    c = c + 1
  end
  if c ~= 5 then error(('round %d saw %d of 5 entries'):format(i, c)) end
end
return 'whole'
]]
local PAIRS, NEXT = BODY:gsub('ITERATE', 'pairs'), BODY:gsub('ITERATE%(', 'next, ('):gsub('next, %((%w+)%)', 'next, %1')

local function run(text)
  local path = os.tmpname()
  local f = assert(io.open(path, 'w'))
  f:write(text)
  f:close()
  local p = assert(io.popen(("'%s' '%s' 2>&1"):format(program, path)))
  local said = p:read '*a'
  p:close()
  os.remove(path)
  return said
end

describe('a loop over a table', function()
  it('sees every entry in a script', function()
    assert.equal('whole\n', run('print((function()\n' .. PAIRS .. '\nend)())'))
    assert.equal('whole\n', run('print((function()\n' .. NEXT .. '\nend)())'))
  end)

  it('sees every entry in text that load, loadstring, loadfile, dofile and require compile', function()
    assert.equal('whole', load(PAIRS)())
    assert.equal('whole', loadstring(NEXT)())
    local folder = os.tmpname()
    os.remove(folder)
    os.execute("mkdir '" .. folder .. "'")
    local path = folder .. '/chunk_of_the_spec.lua'
    local f = assert(io.open(path, 'w'))
    f:write(PAIRS)
    f:close()
    assert.equal('whole', assert(loadfile(path))())
    assert.equal('whole', dofile(path))
    local old = package.path
    package.path = folder .. '/?.lua;' .. old
    assert.equal('whole', require 'chunk_of_the_spec')
    package.path = old
    os.execute("rm -r '" .. folder .. "'")
  end)

  it('keeps names, lines, environments and messages of chunks', function()
    local chunk = load('for k in pairs(t) do seen = k end\nerror "here"', '=named', 't',
      { t = { x = 1 }, pairs = pairs, error = error })
    local ok, why = pcall(chunk)
    assert.is_false(ok)
    assert.equal('named:2: here', why)
    assert.equal('x', getfenv(chunk).seen)
    local none, message = load('for k in pairs(', '=broken')
    assert.is_nil(none)
    assert.truthy(message:find '^broken:1:')
    assert.has_error(function() dofile '/no/such/file.lua' end)
  end)
end)

describe('pairs and next', function()
  it('know a __pairs of a table and of a handle', function()
    local function two(_, k) if not k or k < 2 then return (k or 0) + 1, 'v' end end
    local meta = { __pairs = function(t) return two, t, nil end }
    local handle = newproxy(true)
    getmetatable(handle).__pairs = meta.__pairs
    for _, of in ipairs { setmetatable({ other = 1 }, meta), handle } do
      local seen = {}
      for k, v in pairs(of) do seen[k] = v end
      assert.same({ 'v', 'v' }, seen)
    end
    assert.is_false((pcall(pairs, 3)))
  end)

  it('are functions the compiler leaves alone, with the meaning of the builtin ones', function()
    local info = require('jit.util').funcinfo
    local keys = require 'mascon.core.keys'
    assert(info(type).ffid > 1) -- builtin functions have numbers of their own, which the compiler knows
    for _, f in ipairs { pairs, next, keys } do assert.is_nil(info(f).ffid) end
    assert.is_nil(require('jit').next)
    assert.same({ n = 5, 1, 2, 'x' }, { n = select('#', keys { 7, 8, x = 9 }), keys { 7, 8, x = 9 } })
    assert.same({}, { keys {} })
    assert.equal(5, #{ keys { 1, 2, 3, 4, 5, 6 } })
    local seen = {}
    for k, v in pairs { 1, nil, 3, x = 4 } do seen[k] = v end
    assert.same({ 1, nil, 3, x = 4 }, seen)
    assert.is_nil(next {})
    assert.same({ 1, 7 }, { next { 7 } })
    assert.is_nil(next({ 7 }, 1))
    assert.has_error(function() pairs(3) end)
    assert.has_error(function() next({}, 'gone') end)
    local t =
      setmetatable({}, { __pairs = function() return function(_, k) return not k and 'once' or nil end, nil, nil end })
    for k in pairs(t) do assert.equal('once', k) end
    assert.has_error(function() pairs(require 'mascon'.ones { 2 }) end)
  end)
end)
