-- bundle_spec.lua - modules come from the bytecode of the build while their text is the one it was made from.
--
-- Tried on a copy of the installation: program, library, Lua modules with their times.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local host = require 'mascon.host'

local build = host.exe:match '^(.*)/[^/]*$'
local source = package.searchpath('mascon.base.json', package.path):match '^(.*)/mascon/base/json%.lua$'
local made = package.searchpath('mascon.gen.ops', package.path):match '^(.*)/mascon/gen/ops%.lua$'
local at = process.folder()
local program = at .. '/mascon'
teardown(function() process.remove(at) end)
do
  local line = "cp '%s/mascon' '%s/' && ln -s '%s/libmascon.so' '%s/' && "
    .. "cp -pR '%s' '%s/lua' && cp -pR '%s/.' '%s/lua/'"
  assert(process.shell(line:format(build, at, build, at, source, at, made, at)).status == 0)
end

local JSON = 'mascon/base/json.lua'
assert(process.shell(("cp -p '%s/lua/%s' '%s/as-it-was'"):format(at, JSON, at)).status == 0)
after_each(function() assert(process.shell(("cp -p '%s/as-it-was' '%s/lua/%s'"):format(at, at, JSON)).status == 0) end)
local function said(code)
  local r = process.shell(("%s -e '%s'"):format(program, code))
  return r.text:gsub('%s+$', ''), r.status
end
local function read(name) return process.read(at .. '/lua/' .. name) end

--- Another text in the place of json.lua, with its time or another one.
local function changed(text, time)
  local file = at .. '/lua/' .. JSON
  process.write(file, text)
  local as = time == 'kept' and ("-r '%s/as-it-was'"):format(at) or '-d 2001-01-01'
  assert(process.shell(("touch %s '%s'"):format(as, file)).status == 0)
end

describe('the bytecode of the modules', function()
  it('is what a start loads', function()
    changed(('?'):rep(#read(JSON)), 'kept') -- a text that cannot be loaded
    assert.equal('[1]', (said 'print(require("mascon.base.json").encode { 1 })'))
    changed(('?'):rep(#read(JSON)), 'other')
    assert.truthy(said('require "mascon.base.json"'):find('json.lua:1:', 1, true))
  end)

  it('is loaded without a trace; the compiler is as it was afterwards', function()
    local code = [[local traces = 0
      jit.attach(function(what) if what == "start" then traces = traces + 1 end end, "trace")
      local mc = require "mascon"
      print(traces, (jit.status()))]]
    assert.equal('0\ttrue', (said(code)))
    code = 'jit.off() local mc = require "mascon" print((jit.status()))'
    assert.equal('false', (said(code)))
  end)

  it('gives way to a text that was edited', function()
    local text = read(JSON)
    changed("print 'edited'\n" .. text, 'kept')
    assert.equal('edited', (said 'require "mascon.base.json"'))
    changed("print 'later'" .. (' '):rep(#text - 14) .. '\n', 'other')
    assert.equal('later', (said 'require "mascon.base.json"'))
  end)

  it('and to a module of the user that comes first', function()
    assert(process.shell(("mkdir -p '%s/own/mascon/base'"):format(at)).status == 0)
    process.write(at .. '/own/mascon/base/json.lua', "return 'own'")
    local code = 'package.path = "%s/own/?.lua;" .. package.path print(require "mascon.base.json")'
    assert.equal('own', (said(code:format(at))))
  end)

  it('names the file and line of this installation', function()
    local where = at .. '/lua/' .. JSON
    local code = 'local i = debug.getinfo(require("mascon.base.json").encode, "S") print(i.source, i.linedefined > 0)'
    assert.equal('@' .. where .. '\ttrue', (said(code)))
  end)

  it('is done without where it is damaged or of another LuaJIT', function()
    local name = 'mascon/gen/bundle'
    local whole = read(name)
    assert.truthy(whole:find('^mascon modules 1 LuaJIT'))
    for _, bytes in ipairs {
      '', 'x', whole:sub(1, 30), whole:sub(1, 5000), whole:sub(1, #whole - 100000), (whole:gsub('LuaJIT', 'LuaJAT', 1)),
      (whole:gsub('\27LJ', '\27LX')), (whole:gsub('\n(%d+)\n', '\n99999999999999999999\n', 1)),
    } do
      process.write(at .. '/lua/' .. name, bytes)
      local text, status = said 'local mc = require "mascon" print(mc.ones { 3 }:sum():item())'
      assert.equal(0, status, text)
      assert.equal('3', text)
    end
    process.write(at .. '/lua/' .. name, whole)
  end)
end)
