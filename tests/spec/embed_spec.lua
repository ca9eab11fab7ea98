-- embed_spec.lua - the headers for C programs: clean as C and C++, their example as printed, an installation.
--
-- Needs the sources, a compiler and, for the installation, make and pkg-config; says which is missing.
local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function shell(command)
  local pipe = io.popen('{ ' .. command .. '; } 2>&1; echo "<$?>"')
  local text = pipe:read '*a'
  pipe:close()
  local out, status = text:match '^(.*)<(%d+)>\n$'
  return out, tonumber(status)
end

local function have(program) return select(2, shell('command -v ' .. program)) == 0 end

local function read(path)
  local f = io.open(path, 'rb')
  local text = f and f:read '*a'
  if f then f:close() end
  return text
end

local HEADER = read 'runtime/mascon.h'
local BUILD = (os.getenv 'MASCON' or require('mascon.host').exe):match '^(.*)/mascon$' or 'build'
local folder

local function write(name, text)
  local f = assert(io.open(folder .. '/' .. name, 'wb'))
  f:write(text)
  f:close()
end

--- The example in the head of mascon.h.
local function example()
  local lines, inside = {}, false
  for line in HEADER:gmatch '[^\n]*' do
    local code = line:match '^ %*   (.*)$'
    if code and code:find '^#include' then inside = true end
    if inside and code then lines[#lines + 1] = code end
    if code == '}' then break end
  end
  return table.concat(lines, '\n') .. '\n'
end

-- why a test cannot run here, or nil
local function lacking(...)
  local all = HEADER and read 'Makefile' and read(BUILD .. '/gen/mc_gen_enums.h')
  if not all then return 'no sources and headers in this folder' end
  for _, program in ipairs { ... } do
    if not have(program) then return program .. ' is missing' end
  end
end

describe('the headers for C programs', function()
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute('mkdir ' .. quote(folder)) == 0)
  end)
  after_each(function() os.execute('rm -rf ' .. quote(folder)) end)

  for _, header in ipairs { 'mascon.h', 'mc_plugin.h', 'mc_lua.h' } do
    it(header .. ' is clean as C11 and as C++17', function()
      local why = lacking('gcc', 'g++')
      if why then return pending(why) end
      write('one.c', ('#include "%s"\nint main(void);\n'):format(header))
      for _, compiler in ipairs { 'gcc -std=c11 -x c', 'g++ -std=c++17 -x c++' } do
        local options = '-Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iruntime'
        local out, status = shell(('%s %s -I%s/gen %s/one.c'):format(compiler, options, quote(BUILD), folder))
        assert.equal('', out, compiler)
        assert.equal(0, status)
      end
    end)
  end

  it('are about 90 functions in mascon.h, each exported by the library', function()
    local why = lacking('gcc', 'nm')
    if why then return pending(why) end
    write('one.c', '#include "mascon.h"\n')
    local text = shell(('gcc -std=c11 -E -P -Iruntime -I%s/gen %s/one.c'):format(quote(BUILD), folder))
    local exported, n = {}, 0
    local symbols = shell('nm -D --defined-only ' .. quote(BUILD .. '/libmascon.so'))
    for name in symbols:gmatch ' T (mc_[%w_]+)' do exported[name] = true end
    for name in text:gmatch 'visibility%("default"%)%)%)[^;(]-(mc_[%w_]+)%(' do
      n = n + 1
      assert.is_true(exported[name], name)
    end
    assert.is_true(n >= 80 and n <= 100, n)
    assert.is_nil(text:find('mc_record_', 1, true))
  end)

  it('print what the example says, beside the library that was built', function()
    local why = lacking 'gcc'
    if why then return pending(why) end
    write('example.c', example())
    if BUILD:find 'asan' then return pending 'a program without the sanitizers cannot open this library' end
    local library = io.popen('cd ' .. quote(BUILD) .. ' && pwd -P'):read '*l'
    local top = io.popen('pwd -P'):read '*l'
    local build = 'gcc -std=c11 -Wall -Wextra -Werror -I%s/runtime -I%s/gen example.c -L%s -lmascon -Wl,-rpath,%s'
    build = build:format(quote(top), quote(library), quote(library), quote(library))
    local out, status = shell(('cd %s && %s && ./a.out'):format(folder, build))
    assert.equal('20\n', out)
    assert.equal(0, status)
  end)

  it('are installed, found by pkg-config and removed', function()
    local why = lacking('gcc', 'make', 'pkg-config')
    if why then return pending(why) end
    if BUILD ~= 'build' and not BUILD:find '/build$' then return pending 'only the release build is installed' end
    write('example.c', example())
    local prefix = folder .. '/prefix'
    -- what is built is taken as it is: `all` counts as up to date
    local out, status = shell(('MAKEFLAGS= make -s -o all install PREFIX=%s'):format(prefix))
    assert.equal(0, status, out)
    assert.is_nil(read(prefix .. '/include/mascon/mc_lua.h'))
    local line = HEADER:match '\n %*   (gcc [^\n]*)\n'
    local setting = ('cd %s && PKG_CONFIG_PATH=%s/lib/pkgconfig && export PKG_CONFIG_PATH && '):format(folder, prefix)
    out, status = shell(setting .. line .. ' && ./a.out && pkg-config --modversion mascon')
    assert.equal(0, status, out)
    assert.matches('^20\n%d+%.%d+%.%d+\n$', out)
    write('plugin.c', '#include "mc_plugin.h"\n')
    out = shell(('gcc -std=c11 -fsyntax-only -I%s/include/mascon %s/plugin.c'):format(prefix, folder))
    assert.equal('', out)
    out, status = shell(('MAKEFLAGS= make -s uninstall PREFIX=%s && find %s ! -type d'):format(prefix, prefix))
    assert.equal('', out)
    assert.equal(0, status)
  end)
end)
