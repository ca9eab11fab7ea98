-- workflow_spec.lua - workflows found by name: ours, beside the script, in the folders of MASCON_PATH; and what the
-- core may not know of them.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local mc = require 'mascon'

local MOON = [[
--- workflows.moon: tides.
local check = require 'mascon.core.check'
local M = {}
--- Height of the tide in m.
function M.tide(x)
  check.arg('moon.tide', 'x', x, 'number', 3)
  return require 'workflows.moon.half'(x)
end
return M
]]

--- A folder with a workflow of two files, its own `where` in what half gives.
local function with_moon(folder, where)
  process.make(folder .. '/workflows/moon', '700')
  process.write(folder .. '/workflows/moon/init.lua', MOON)
  process.write(folder .. '/workflows/moon/half.lua', ("return function(x) return x / 2 .. ' %s' end\n"):format(where))
  return folder
end

describe('a workflow', function()
  local folder
  setup(function() folder = process.folder() end)
  teardown(function() process.remove(folder) end)

  it('is found beside the script, then in MASCON_PATH, and ours cannot be replaced', function()
    with_moon(folder .. '/here', 'beside')
    with_moon(folder .. '/there', 'path')
    process.make(folder .. '/here/workflows/pac', '700')
    process.write(folder .. '/here/workflows/pac/init.lua', "return { compute = 'not ours' }")
    local script =
      "local mc = require 'mascon'\nprint(mc.moon.tide(3), type(mc.pac.compute), mc.moon == require 'workflows.moon')\n"
    process.write(folder .. '/here/run.lua', script)
    process.write(folder .. '/run.lua', script)
    local paths = { MASCON_PATH = '/nowhere:' .. folder .. '/there' }
    assert.equal('1.5 beside\tfunction\ttrue\n', process.run({}, folder .. '/here/run.lua').text)
    assert.equal('1.5 beside\tfunction\ttrue\n', process.run(paths, folder .. '/here/run.lua').text)
    assert.equal('1.5 path\tfunction\ttrue\n', process.run(paths, folder .. '/run.lua').text)
    assert.matches('mc%.moon: there is no such name', process.run({}, folder .. '/run.lua').text)
    for _, name in ipairs { 'run.lua', './run.lua', '../here/run.lua' } do -- named as in a shell in that folder
      local pipe = io.popen(("cd '%s/here' && '%s' %s 2>&1"):format(folder, process.exe or require 'mascon.host'.exe,
        name))
      assert.equal('1.5 beside\tfunction\ttrue\n', pipe:read '*a', name)
      pipe:close()
    end
  end)

  it('comes with scripts that are found by their names', function()
    for _, name in ipairs { 'pac.lua', 'scripts/pac.lua' } do
      local pipe = io.popen(("cd '%s' && '%s' %s --help 2>&1"):format(folder, require 'mascon.host'.exe, name))
      assert.matches('^usage: mascon scripts/pac.lua', pipe:read '*a')
      pipe:close()
    end
    local pipe = io.popen(("cd '%s' && '%s' scripts/none.lua 2>&1"):format(folder, require 'mascon.host'.exe))
    assert.matches('no verb and no file', pipe:read '*a')
    pipe:close()
  end)

  it('blames the script for a wrong argument, and is named, helped and completed like ours', function()
    with_moon(folder .. '/there', 'path')
    local paths = { MASCON_PATH = folder .. '/there' }
    process.write(folder .. '/wrong.lua', "local mc = require 'mascon'\n\nmc.moon.tide 'x'\n")
    assert.matches('^%S*wrong%.lua:3: moon%.tide: x', process.run(paths, folder .. '/wrong.lua').text)
    assert.matches('did you mean mc%.moon%?', process.mascon("local _ = require('mascon').mooon", paths).text)
    local text =
      process.mascon("local h = require 'mascon.help' io.write(h.show 'mc.moon', h.show 'mc.moon.tide')", paths).text
    assert.matches('mc%.moon\n  tides%.\n', text)
    assert.matches('mc%.moon%.tide%(x%)\n  Height of the tide in m', text)
  end)

  it('says what is wrong with its file', function()
    process.make(folder .. '/bad/workflows/mars', '700')
    process.write(folder .. '/bad/workflows/mars/init.lua', 'local x =\n')
    assert.matches('workflows/mars/init%.lua:%d: ',
      process.mascon("local _ = require('mascon').mars", { MASCON_PATH = folder .. '/bad' }).text)
  end)
end)

describe('the core', function()
  it('names no workflow, in C or Lua', function()
    local root = support.folder .. '/..'
    local names = process.list(root .. '/lua/workflows')
    assert.is_true(#names >= 2)
    local found = {}
    for _, name in ipairs(names) do
      local pipe = assert(io.popen(("cd '%s' && { grep -rnwE \"workflows[./]%s|mc[.]%s|['\\\"]%s['\\\"]\" "
        .. "lua/mascon; [ ! -d runtime ] || grep -rnwiE '(mck?_?|mci_?)?%s(_[a-z]+)?' runtime kernels/cpu kernels/*.h "
        .. "--include=*.[ch] --include=*.lua; } 2>&1"):format(root, name, name, name, name)))
      for line in pipe:lines() do found[#found + 1] = line end
      pipe:close()
    end
    assert.same({}, found)
    assert.is_function(mc.pac.compute)
  end)
end)
