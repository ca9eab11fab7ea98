-- docs_spec.lua - the generator of the reference: what it writes, and that a name without docstring fails it.
local host = require 'mascon.host'

local PROGRAM = os.getenv 'MASCON' or host.exe
local GENERATOR = 'runtime/ops/gen/docs.lua'

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function read(path)
  local f = io.open(path, 'rb')
  local text = f and f:read '*a'
  if f then f:close() end
  return text
end

-- a folder that was made from a distribution holds no generator
local here = read(GENERATOR) ~= nil

describe('the reference', function()
  local folder
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    os.execute('mkdir ' .. quote(folder))
  end)
  after_each(function() os.execute('rm -rf ' .. quote(folder)) end)

  it('has a page for each namespace, the methods and the ops, with every documented name', function()
    if not here then return pending 'no generator in this folder' end
    local run = io.popen(('%s %s %s 2>&1; echo "<$?>"'):format(quote(PROGRAM), GENERATOR, quote(folder)))
    local said = run:read '*a'
    run:close()
    assert.matches('<0>%s*$', said)
    local index = read(folder .. '/index.md')
    assert.matches('%[mc%.fft%]%(fft%.md%): %d+ names', index)
    local pages = {}
    -- the names of a fresh program: here other specs may have opened more modules
    local list = assert(io.popen(([[%s -e 'for _, e in ipairs(require("mascon.help").entries()) do
      if e.text and e.kind ~= "module" then print(e.space, e.name) end
    end']]):format(quote(PROGRAM))))
    local count = 0
    for line in list:lines() do
      local space, name = line:match '^(%S+)\t(.*)$'
      count = count + 1
      pages[space] = pages[space] or read(folder .. '/' .. space .. '.md') or ''
      assert.is_truthy(pages[space]:find('## `' .. name, 1, true), name)
    end
    list:close()
    assert.is_true(count > 500, count)
    local ops = read(folder .. '/ops.md')
    assert.matches('| `mc.special.gamma` | %d+ | %d | %d |', read(folder .. '/accuracy.md'))
    local listing = [[%s -e 'for name in pairs(require("mascon").ops) do print(name) end']]
    local rows = assert(io.popen(listing:format(quote(PROGRAM))))
    for name in rows:lines() do assert.is_truthy(ops:find('| `' .. name .. '` |', 1, true), name) end
    rows:close()
  end)

  it('fails and names the function that has no docstring', function()
    if not here then return pending 'no generator in this folder' end
    local code = ([[
      require 'mascon'.undocumented_here = loadstring('return function() end', '@nowhere')()
      arg = { [0] = 'docs', %q }
      dofile '%s']]):format(folder, GENERATOR)
    local pipe = io.popen(('%s -e %s 2>&1; echo "<$?>"'):format(quote(PROGRAM), quote(code)))
    local text = pipe:read '*a'
    pipe:close()
    assert.matches('mc%.undocumented_here has no docstring', text)
    assert.matches('%d+ of %d+ public names lack documentation', text)
    assert.matches('<1>\n$', text)
  end)
end)
