-- build_spec.lua - the machinery around the tests: the rules of the C tests, the count line, the lints, the dependency
-- tracking.
--
-- Works on small trees of its own; a folder made from a distribution lacks the sources and skips what needs them.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process, read = support.load 'process', support.load('script').read
local quote = process.quote

--- Both outputs of a command line and its exit status.
local function shell(command)
  local r = process.shell(command)
  return r.text, r.status
end

local sources = read 'Makefile' ~= nil and read 'runtime/ops/ops.lua' ~= nil
local top = io.popen('pwd -P'):read '*l'
local folder

local function write(name, text)
  os.execute('mkdir -p ' .. quote((folder .. '/' .. name):match '^(.*)/'))
  local f = assert(io.open(folder .. '/' .. name, 'wb'))
  f:write(text)
  f:close()
end

before_each(function()
  folder = os.tmpname()
  os.remove(folder)
  os.execute('mkdir ' .. quote(folder))
end)
after_each(function() os.execute('rm -rf ' .. quote(folder)) end)

describe('tests/run.sh', function()
  -- programs that stand in for C tests; the script is copied so that its tree is ours
  local function run(programs, variables)
    write('tests/run.sh', read 'tests/run.sh')
    local list = {}
    for name, text in pairs(programs) do
      write('build/tests/' .. name, '#!/bin/sh\n' .. text .. '\n')
      list[#list + 1] = 'library ' .. name
    end
    table.sort(list)
    write('build/tests/list', table.concat(list, '\n') .. '\n')
    local out, status = shell(('cd %s && chmod +x build/tests/* && %s bash tests/run.sh build c'):format(folder,
      variables or ''))
    return out:match '([^\n]*)\n$', status, out
  end

  it('sums the counts of all programs in its last line', function()
    local last, status = run { a = 'echo 3 passed, 0 failed', b = 'echo noise; echo 4 passed, 0 failed, 2 skipped' }
    assert.equal('7 passed, 0 failed, 2 skipped', last)
    assert.equal(0, status)
  end)

  it('counts a program without a count line by its exit status', function()
    local last, status, out = run { good = 'exit 0', bad = 'echo the reason; exit 3' }
    assert.equal('1 passed, 1 failed', last)
    assert.equal(1, status)
    assert.matches('bad: FAILED %(exit status 3%)', out)
    assert.matches('the reason', out)
  end)

  it('counts a program that dies after its count as failed', function()
    local last, status = run { a = 'echo 5 passed, 0 failed; kill -SEGV $$' }
    assert.equal('5 passed, 1 failed', last)
    assert.equal(1, status)
  end)

  it('counts failures that a program reports', function()
    local last, status = run { a = 'echo 5 passed, 2 failed; exit 1' }
    assert.equal('5 passed, 2 failed', last)
    assert.equal(1, status)
  end)

  it('names what failed before its last line', function()
    local bad = 'echo row 7 differs; echo 5 passed, 2 failed; exit 1'
    local _, _, out = run { good = 'echo 2 passed, 0 failed', bad = bad }
    assert.matches('\nFAILED C test bad %(exit status 1%)\n    row 7 differs\n7 passed, 2 failed\n$', out)
    _, _, out = run { good = 'echo 2 passed, 0 failed' }
    assert.is_nil(out:find('FAILED', 1, true))
  end)

  it('finds files that tests leave in the checkout, where it is told to', function()
    write('.gitignore', 'build/\ntests/\n')
    write('known', '')
    assert.equal(0, select(2, shell(('cd %s && git init -q .'):format(folder))))
    local tidy = { a = 'echo 2 passed, 0 failed' }
    assert.equal('2 passed, 0 failed', (run(tidy, 'TREE=1')))
    local last, status, out = run({ a = 'echo 2 passed, 0 failed; mkdir x; touch x/events' }, 'TREE=1')
    assert.equal('2 passed, 1 failed', last)
    assert.equal(1, status)
    assert.matches('FAILED: tests left or changed files in the checkout:\n    %?%? x/events\n2 passed', out)
    assert.equal('2 passed, 0 failed', (run(tidy)))
  end)

  it('names tests of specs, with the seed and the message, and a file in which the process died', function()
    for _, name in ipairs { 'tests/run.sh', 'tests/run.lua' } do write(name, read(name)) end
    write('tests/spec/one_spec.lua', "describe('a sum', function()\n  it('is right', function() end)\n"
      .. "  it('is 3', function() assert.equal(3, 4, 'a text of\\ntwo lines') end)\nend)\n")
    write('tests/spec/two_spec.lua', "describe('a process', function()\n"
      .. "  it('dies', function() io.stderr:write 'last words' os.execute 'kill -KILL $PPID' end)\nend)\n")
    local line = 'JOBS=1 MASCON=%s bash %s/tests/run.sh build lua'
    local out, status = shell(line:format(require 'mascon.host'.exe, folder))
    assert.equal(1, status)
    local list = out:match '\n\n(FAILED .*)\n%d+ passed, %d+ failed\n$'
    assert(list, out)
    assert.matches('FAILED [^\n]*one_spec%.lua:3: a sum is 3 %(seed %d+%)\n'
      .. '[^\n]*one_spec%.lua:3: a text of\n    two lines\n', list)
    assert.matches('FAILED [^\n]*two_spec%.lua: the process ended while it ran %(exit status 137%)\n'
      .. '.*last words', list)
  end)
end)

describe('.ci/run', function()
  it('names what failed at its very end', function()
    write('.ci/run', read '.ci/run')
    write('bin/make', '#!/bin/sh\ncase $1 in\n  test) mkdir -p build/tests; '
      .. 'echo FAILED this one >build/tests/failures.txt; echo 3 passed, 1 failed; exit 2 ;;\n'
      .. '  *) echo the benchmarks ;;\nesac\n')
    local out, status = shell(('cd %s && chmod +x bin/make && PATH=%s/bin:$PATH bash .ci/run'):format(folder, folder))
    assert.equal(2, status, out)
    assert.matches('the benchmarks\nFAILED this one\n3 passed, 1 failed\n$', out)
  end)
end)

describe('tests/c/build.sh', function()
  it('follows the build line in the head of a test', function()
    if not sources then return pending 'no sources in this folder' end
    write('tests/c/build.sh', read 'tests/c/build.sh')
    write('tests/c/one.c', '/* one.c - x\n * build: levels\n */\n')
    write('tests/c/two.c', '/* two.c - x\n * build: plugins */\n')
    write('tests/c/three.c', '/* three.c - x */\n')
    write('tests/fuzz/fuzz_x.c', '/* x */\n')
    local out, status = shell('bash ' .. folder .. '/tests/c/build.sh')
    assert.equal(0, status)
    for _, part in ipairs { '$(B)/tests/one.v2: tests/c/one.c $(B)/tests/kernels.v2.a', '$(B)/tests/two: tests/c/two.c',
      '$(B)/tests/three: tests/c/three.c $(B)/libmascon.so',
      "'levels one.v4'", "'plugins two'", "'library three'", "'corpus fuzz_x'" } do
      assert.is_truthy(out:find(part, 1, true), part)
    end
    write('tests/c/four.c', '/* four.c - x\n * build: somehow\n */\n')
    out, status = shell('bash ' .. folder .. '/tests/c/build.sh')
    assert.equal(1, status)
    assert.matches("four%.c: build: 'somehow' is unknown", out)
  end)
end)

describe('tests/lint', function()
  local function lint(name, how)
    return shell(('cd %s && luajit %s/tests/lint/%s.lua %s'):format(quote(folder), quote(top), name, how or ''))
  end

  --- A tree in which nothing is wrong, a function that plants files in it, and one that runs the lint and compares.
  local function tree()
    for _, room in ipairs { 'kernels/cpu', 'runtime/base', 'runtime/tensor', 'bindings', 'tests', 'scripts',
      'lua/mascon/core', 'lua/mascon/fft', 'lua/mascon/stats', 'lua/mascon/host', 'lua/workflows/one',
      'lua/workflows/two', 'build/obj/runtime/base', 'build/obj/runtime/tensor' } do
      os.execute('mkdir -p ' .. quote(folder .. '/' .. room))
    end
    for _, header in ipairs { 'kernels/mck.h', 'runtime/mascon.h', 'runtime/tensor/mc_tensor.h',
      'runtime/base/mc_def.h',
      'runtime/base/mc_there.h', 'runtime/mc_plugin.h', 'kernels/device/jobs.h', 'bindings/zlib/parts.h',
      'kernels/workflows/one/own.h', 'kernels/workflows/two/two.h' } do write(header, '/* x */\n') end
    write('runtime/base/mc_def.h', '/* x */\n#define MC_API __attribute__((visibility("default")))\n')
    write('kernels/cpu/good.c',
      '/* x */\n#include "mck.h"\n#include <math.h>\n#include "../../runtime/base/mc_def.h"\n')
    write('kernels/workflows/one/good.c', '/* x */\n#include "mc_plugin.h"\n#include "own.h"\n')
    write('runtime/tensor/good.c', '/* x */\n#include "base/mc_def.h"\n')
    write('lua/mascon/stats/good.lua',
      "-- x\nlocal tensor = require 'mascon.core.tensor'\nlocal function f() return require('mascon.fft') end\n")
    write('lua/mascon/core/tensor.lua', "-- x\nlocal host = package.loaded['mascon.host']\n"
      .. "-- see require 'mascon.stats.good'\nlocal ffi = require 'ffi'\n")
    write('lua/mascon/fft/init.lua', "-- x\nlocal NAMES = { 'ifft', 'rfft', 'irfft' }\n")
    write('lua/mascon/host/repl.lua', '-- x\n')
    write('lua/workflows/one/init.lua',
      "-- x\nlocal part = require 'workflows.one.part'\nlocal fft = require 'mascon.fft'\n")
    write('scripts/good.lua', "-- x\nlocal mc = require 'mascon'\n")
    local out, status = lint 'rooms'
    assert.equal(0, status, out)
    assert.is_truthy(out:find('calls of C not read (nothing is built)', 1, true), out)
    out, status = lint('rooms', 'built') -- as make lint calls it
    assert.equal(1, status)
    assert.is_truthy(out:find('holds no objects, so the calls of C cannot be read', 1, true), out)
    local planted = {}
    --- Writes a file about which the lint is to complain in these words.
    local function plant(path, text, complaint)
      write(path, text)
      planted[#planted + 1] = complaint
    end
    local function found()
      out, status = lint 'rooms'
      assert.equal(1, status)
      for _, complaint in ipairs(planted) do
        assert.is_truthy(out:find(complaint, 1, true), complaint .. '\n' .. out)
      end
      assert.is_truthy(out:find(#planted .. ' against the arrow', 1, true), out)
    end
    return plant, found, planted
  end

  it('finds includes and requires against the arrow', function()
    if not sources then return pending 'no sources in this folder' end
    local plant, found, planted = tree()
    plant('kernels/cpu/bad.c', '/* x */\n#include "mc_tensor.h"\n', 'kernels/cpu/bad.c:2: includes "mc_tensor.h"')
    plant('bindings/fftw/fftw.c', '/* x */\n#include "mascon.h"\n', 'bindings/fftw/fftw.c:2: includes "mascon.h"')
    plant('scripts/bad.lua', "-- x\nlocal lib = require 'mascon.core.ffi'\n",
      'scripts/bad.lua:2: requires mascon.core.ffi')
    plant('lua/mascon/stats/name.lua', "-- x\nlocal function f(n) return n.row[1] == 'matmul' end\n",
      'lua/mascon/stats/name.lua:2: asks for the op matmul by name')
    plant('lua/mascon/stats/names.lua', '-- x\nlocal CHEAP = { sqrt = true, floor = true, abs = true }\n',
      'lua/mascon/stats/names.lua:2: lists ops by name')
    plant('lua/mascon/stats/ffi.lua', "-- x\nlocal ffi = require 'ffi'\n", 'lua/mascon/stats/ffi.lua:2: requires ffi')
    -- floors of C: an include, a call that no include shows
    plant('kernels/cpu/names.c', '/* x */\nint f(int id)\n{\n    return id == MC_OP_ADD;\n}\n',
      'kernels/cpu/names.c:4: names MC_OP_ADD')
    plant('runtime/base/bad.c', '/* x */\n#include "tensor/mc_tensor.h"\n',
      'runtime/base/bad.c:2: includes "tensor/mc_tensor.h": tensor stands above base')
    write('runtime/base/low.c', '/* x */\nvoid above(void);\nvoid below(void);\nvoid below(void) { above(); }\n')
    write('runtime/tensor/high.c', '/* x */\nvoid above(void);\nvoid above(void) {}\n')
    local out, status =
      shell(('cd %s && for o in base/low tensor/high; do cc -c runtime/$o.c -o build/obj/runtime/$o.o || exit 1; done')
        :format(quote(folder)))
    assert.equal(0, status, out)
    plant('note.txt', '', 'runtime/base/low.c:1: calls above of tensor/high.c: tensor stands above base')
    -- floors of Lua: at once, at the first call, in a table, the program, no floor
    plant('lua/mascon/core/now.lua', "-- x\nlocal fft = require 'mascon.fft'\n",
      'lua/mascon/core/now.lua:2: names mascon.fft: fft stands above core')
    plant('lua/mascon/core/later.lua', "-- x\nlocal function f()\n  return require('mascon.fft').fft\nend\n",
      'lua/mascon/core/later.lua:3: names mascon.fft: fft stands above core')
    plant('lua/mascon/core/listed.lua', "-- x\nlocal FROM = { fft = 'mascon.fft' }\n",
      'lua/mascon/core/listed.lua:2: names mascon.fft: fft stands above core')
    plant('lua/mascon/core/public.lua', "-- x\nlocal mc = require 'mascon'\n",
      'lua/mascon/core/public.lua:2: names mascon: help stands above core')
    plant('lua/mascon/stats/worse.lua', "-- x\nlocal repl = require('mascon.host.repl')\n",
      'lua/mascon/stats/worse.lua:2: names mascon.host.repl: host stands above stats')
    plant('lua/mascon/flat.lua', '-- x\n', 'lua/mascon/flat.lua:1: stands on no floor')
    -- workflows
    plant('lua/mascon/stats/two.lua', "-- x\nlocal two = require 'workflows.two'\n",
      'lua/mascon/stats/two.lua:2: names workflows.two; the library names no workflow')
    plant('lua/workflows/two/init.lua', "-- x\nlocal one = require 'workflows.one'\n",
      'lua/workflows/two/init.lua:2: names workflows.one; a workflow knows the library and itself')
    -- ways around the words above
    plant('kernels/cpu/angle.c', '/* x */\n#include <base/mc_there.h>\n',
      'kernels/cpu/angle.c:2: includes <base/mc_there.h>')
    plant('kernels/workflows/one/one.c', '/* x */\n#include "../two/two.h"\n',
      'kernels/workflows/one/one.c:2: includes "../two/two.h"')
    plant('runtime/base/text.c', '/* x */\nint f(void) { return !strcmp(o->name, "add"); }\n',
      'runtime/base/text.c:2: asks for a single op')
    plant('runtime/base/number.c', '/* x */\nint f(void) { return o->id == 7; }\n',
      'runtime/base/number.c:2: asks for a single op')
    plant('lua/mascon/stats/first.lua', "-- x\nlocal function f(row) return 'matmul' == row[1] end\n",
      'lua/mascon/stats/first.lua:2: asks for the op matmul by name')
    plant('lua/mascon/core/joined.lua', "-- x\nlocal function f() return require('mascon.' .. 'fft') end\n",
      'lua/mascon/core/joined.lua:2: requires a name that the lint cannot read')
    plant('lua/mascon/core/long.lua', '-- x\nlocal fft = require [[mascon.fft]]\n',
      'lua/mascon/core/long.lua:2: requires a name that the lint cannot read')
    plant('lua/mascon/stats/tried.lua', "-- x\nlocal ok, ffi = pcall(require, 'ffi')\n",
      'lua/mascon/stats/tried.lua:2: takes the FFI past require')
    plant('lua/workflows/one/host.lua', "-- x\nlocal host = require 'mascon.host'\n",
      'lua/workflows/one/host.lua:2: names mascon.host; a workflow does not know the program')
    -- ops whose rows name a module above: under F, mc and a namespace, under another name, as a method
    plant('lua/mascon/core/op_up.lua', "-- x\nlocal F = op.functions\nlocal function f(a) return F.lstsq(a, a) end\n",
      'lua/mascon/core/op_up.lua:3: calls F.lstsq of mascon.linalg.systems: linalg stands above core')
    -- includes in other words, files at the top
    plant('runtime/base/round.c', '/* x */\n#include "../../runtime/tensor/mc_tensor.h"\n',
      'runtime/base/round.c:2: includes "../../runtime/tensor/mc_tensor.h": tensor stands above base')
    plant('runtime/base/through.c', '/* x */\n#include "base/../tensor/mc_tensor.h"\n',
      'runtime/base/through.c:2: includes "base/../tensor/mc_tensor.h": tensor stands above base')
    plant('runtime/base/behind.c', '/* x */\n/**/ #include "tensor/mc_tensor.h"\n',
      'runtime/base/behind.c:2: includes "tensor/mc_tensor.h": tensor stands above base')
    plant('runtime/base/macro.c', '/* x */\n#include UP\n', 'runtime/base/macro.c:2: includes a name that')
    plant('runtime/top.c', '/* x */\n', 'runtime/top.c:1: stands on no floor')
    plant('lua/extra/x.lua', '-- x\n', 'lua/extra/x.lua:1: stands in no room')
    plant('lua/mascon/core/whole_init.lua', "-- x\nlocal fft = require 'mascon.fft.init'\n",
      'lua/mascon/core/whole_init.lua:2: names mascon.fft: fft stands above core')
    write('lua/mascon/array/init.lua', '-- x\n')
    plant('lua/mascon/core/op_in.lua',
      "-- x\nlocal mc = require 'mascon.array'\nlocal L = mc.linalg\nlocal p = L.pinv\n",
      'lua/mascon/core/op_in.lua:4: calls L.pinv')
    planted[#planted + 1] = 'lua/mascon/core/op_in.lua:2: names mascon.array: array stands above core'
    plant('lua/mascon/core/op_of.lua', "-- x\nlocal function f(t) return t:tile(2) end\n",
      'lua/mascon/core/op_of.lua:2: calls :tile')
    -- modules by other names: loaded ones, public ones, workflows
    write('lua/mascon/init.lua', "-- x\nlocal LAZY = { json = 'mascon.base.json' }\n"
      .. "local function f(at) return require(at) end\n")
    write('lua/mascon/base/json.lua', '-- x\n')
    plant('lua/mascon/core/loaded.lua', "-- x\nlocal function f() return package.loaded['mascon.fft'].rfft end\n",
      'lua/mascon/core/loaded.lua:2: names mascon.fft: fft stands above core')
    plant('lua/mascon/core/whole.lua', "-- x\nlocal function f() return package.loaded.mascon end\n",
      'lua/mascon/core/whole.lua:2: names mascon: help stands above core')
    plant('lua/mascon/core/alias.lua', "-- x\nlocal json = require 'mascon.json'\n",
      'lua/mascon/core/alias.lua:2: names mascon.base.json: base stands above core')
    plant('lua/mascon/stats/work.lua', "-- x\nlocal two = require 'mascon.two'\n",
      'lua/mascon/stats/work.lua:2: names workflows.two; the library names no workflow')
    plant('lua/mascon/stats/field.lua', "-- x\nlocal function f(mc) return mc.two.run end\n",
      'lua/mascon/stats/field.lua:2: names mc.two; the library names no workflow')
    plant('lua/workflows/one/field.lua', "-- x\nlocal function f(mc) return mc.two.run end\n",
      'lua/workflows/one/field.lua:2: names mc.two; a workflow knows the library and itself')
    -- lists of ops: positions, other values, over lines
    plant('lua/mascon/stats/array.lua', "-- x\nlocal T = { 'sqrt', 'floor', 'abs', 'exp' }\n",
      'lua/mascon/stats/array.lua:2: lists ops by name')
    plant('lua/mascon/stats/values.lua', '-- x\nlocal COST = { sqrt = 1, floor = 2, abs = 1 }\n',
      'lua/mascon/stats/values.lua:2: lists ops by name')
    plant('lua/mascon/stats/lines.lua', '-- x\nlocal T = {\n  sqrt = true,\n  floor = true,\n  abs = true,\n}\n',
      'lua/mascon/stats/lines.lua:2: lists ops by name')
    -- C files of one floor that call one another
    write('runtime/tensor/one.c', '/* x */\nvoid one(void);\nvoid two(void);\nvoid one(void) { two(); }\n')
    write('runtime/tensor/two.c', '/* x */\nvoid one(void);\nvoid two(void);\nvoid two(void) { one(); }\n')
    local compile = 'cd %s/runtime/tensor && for o in one two; do '
      .. 'cc -c $o.c -o ../../build/obj/runtime/tensor/$o.o || exit 1; done'
    out, status = shell(compile:format(quote(folder)))
    assert.equal(0, status, out)
    plant('note.txt', '', 'runtime/tensor/one.c:1: calls in a circle: runtime/tensor/one.c runtime/tensor/two.c')
    -- circles: of files loaded at once (which are also circles), of files loaded later
    write('lua/mascon/fft/a.lua', "-- x\nlocal function f() return require 'mascon.fft.b' end\n")
    plant('lua/mascon/fft/b.lua', "-- x\nlocal function f() return require 'mascon.fft.a' end\n",
      'stands in a circle: mascon.fft.a mascon.fft.b')
    planted[#planted + 1] = 'stands in a circle: mascon.stats.a mascon.stats.b'
    write('lua/mascon/stats/a.lua', "-- x\nlocal b = require 'mascon.stats.b'\n")
    plant('lua/mascon/stats/b.lua', "-- x\nlocal a = require 'mascon.stats.a'\n",
      'is loaded in a circle: mascon.stats.a mascon.stats.b')
    found()
  end)

  it('finds modules that no file takes', function()
    if not sources then return pending 'no sources in this folder' end
    write('lua/mascon/init.lua', "-- x\nlocal a = require 'mascon.core.a'\n")
    write('lua/mascon/core/a.lua', "-- x\nlocal function f(n) return require('mascon.core.' .. n), { b = 1 } end\n")
    write('runtime/ops/rows/some.lua', '-- x\n')
    for _, name in ipairs { 'b', 'c' } do write(('lua/mascon/core/%s.lua'):format(name), '-- x\n') end
    local out = shell(([[cd %s && luajit -e 'dofile("%s/tests/lint/reach.lua").check(
      { "lua/mascon/init.lua", "lua/mascon/core/a.lua", "lua/mascon/core/b.lua", "lua/mascon/core/c.lua",
        "runtime/ops/rows/some.lua" }, print)']]
      ):format(quote(folder), top))
    assert.equal('lua/mascon/core/c.lua\t1\tno file takes this module, and no list names it\n', out)
  end)

  it('finds modules that are named in other words', function()
    if not sources then return pending 'no sources in this folder' end
    local plant, found, planted = tree()
    local unread = ':2: requires a name that the lint cannot read'
    plant('lua/mascon/core/variable.lua', "-- x\nlocal function f(name) return require(name) end\n",
      'lua/mascon/core/variable.lua' .. unread)
    plant('lua/mascon/core/composed.lua', "-- x\nlocal function f(x) return require('mascon.' .. x) end\n",
      'lua/mascon/core/composed.lua' .. unread)
    plant('lua/mascon/core/format.lua', "-- x\nlocal NAME = ('mascon.%s.init'):format 'fft'\n",
      'lua/mascon/core/format.lua:2: makes a name of "mascon.%s.init"')
    plant('lua/mascon/core/other.lua', "-- x\nlocal load_module = require\n", 'lua/mascon/core/other.lua' .. unread)
    plant('lua/mascon/core/pcall.lua', "-- x\nlocal function f(name) return pcall(require, name) end\n",
      'lua/mascon/core/pcall.lua' .. unread)
    plant('lua/mascon/core/two_lines.lua', "-- x\nlocal fft = require(\n  'mascon.fft')\n",
      'lua/mascon/core/two_lines.lua' .. unread)
    planted[#planted + 1] = 'lua/mascon/core/two_lines.lua:3: names mascon.fft: fft stands above core'
    write('lua/mascon/fft/parts.lua',
      "-- x\nlocal PARTS = { a = 'mascon.fft' }\nlocal function f(k) return require(PARTS[k]) end\n"
      .. "local function g(k) return require('mascon.fft.' .. k) end\nlocal text = 'require(name) -- no code'\n")
    -- behind a string that holds the mark of a comment, behind a comment within the line
    plant('lua/mascon/core/dashes.lua', "-- x\nlocal a, b = '--', require('mascon.fft')\n",
      'lua/mascon/core/dashes.lua:2: names mascon.fft: fft stands above core')
    plant('lua/mascon/core/block.lua', "-- x\nlocal a = --[[ here ]] require('mascon.fft')\n",
      'lua/mascon/core/block.lua:2: names mascon.fft: fft stands above core')
    -- past require
    plant('lua/mascon/core/dofile.lua', "-- x\nlocal fft = dofile 'lua/mascon/fft/init.lua'\n",
      'lua/mascon/core/dofile.lua:2: uses dofile')
    plant('lua/mascon/core/loadfile.lua', "-- x\nlocal fft = loadfile('lua/mascon/fft/init.lua')()\n",
      'lua/mascon/core/loadfile.lua:2: uses loadfile')
    plant('lua/mascon/core/load.lua', "-- x\nlocal fft = load(io.open('lua/mascon/fft/init.lua'):read '*a')()\n",
      'lua/mascon/core/load.lua:2: uses load')
    plant('lua/mascon/core/loadstring.lua', "-- x\nlocal make = loadstring\n",
      'lua/mascon/core/loadstring.lua:2: uses loadstring')
    plant('lua/mascon/core/global.lua', "-- x\nlocal fft = _G['require']\n", 'lua/mascon/core/global.lua:2: uses _G')
    plant('lua/mascon/core/any_loaded.lua', "-- x\nlocal function f(name) return package.loaded[name] end\n",
      'lua/mascon/core/any_loaded.lua:2: reaches modules past require')
    plant('lua/mascon/core/preload.lua', "-- x\nlocal function f() return package.preload.x end\n",
      'lua/mascon/core/preload.lua:2: reaches modules past require')
    plant('scripts/dofile.lua', "-- x\nlocal op = dofile 'lua/mascon/core/op.lua'\n",
      'scripts/dofile.lua:2: uses dofile')
    plant('scripts/loaded.lua', "-- x\nlocal op = package.loaded['mascon.core.op']\n",
      'scripts/loaded.lua:2: uses package')
    -- the FFI: by the name of the file, past require
    plant('lua/mascon/stats/native.lua', "-- x\nlocal ffi = require 'ffi'\n",
      'lua/mascon/stats/native.lua:2: requires ffi')
    plant('lua/workflows/one/native.lua', "-- x\nlocal ffi = require 'ffi'\n",
      'lua/workflows/one/native.lua:2: requires ffi')
    plant('lua/mascon/stats/ffi_loaded.lua', "-- x\nlocal ffi = package.loaded.ffi\n",
      'lua/mascon/stats/ffi_loaded.lua:2: takes the FFI past require')
    -- ops of modules above
    plant('lua/mascon/core/op_later.lua',
      "-- x\nlocal F\nF = op.functions\nlocal function f(a) return F.lstsq(a, a) end\n",
      'lua/mascon/core/op_later.lua:4: calls F.lstsq')
    plant('lua/mascon/core/op_field.lua', "-- x\nlocal function f(x) return x['tile'](x, 2) end\n",
      "lua/mascon/core/op_field.lua:2: calls x['tile']")
    plant('lua/mascon/core/op_dot.lua', "-- x\nlocal function f(x) return x.tile(x, 2) end\n",
      'lua/mascon/core/op_dot.lua:2: calls x.tile')
    -- workflows: native parts, fields, words
    plant('lua/workflows/two/other.lua', "-- x\nworkflow.native 'one'\n",
      "lua/workflows/two/other.lua:2: names native 'one'")
    plant('lua/workflows/two/key.lua', "-- x\nlocal function f(mc) return mc['one'].run end\n",
      "lua/workflows/two/key.lua:2: names ['one']")
    plant('lua/mascon/stats/word.lua', "-- x\nlocal function f(find) return find 'two' end\n",
      "lua/mascon/stats/word.lua:2: names 'two'; the library names no workflow")
    -- printing, the clock, global random numbers
    plant('lua/mascon/stats/print.lua', '-- x\nlocal function f(x) print(x) end\n',
      'lua/mascon/stats/print.lua:2: uses print')
    plant('lua/mascon/stats/stop.lua', '-- x\nlocal function f() os.exit(1) end\n',
      'lua/mascon/stats/stop.lua:2: uses os.exit')
    plant('lua/mascon/stats/clock.lua', '-- x\nlocal function f() return os.time() end\n',
      'lua/mascon/stats/clock.lua:2: uses os.time')
    -- of a workflow: the clock without a name or under another one, programs, the library past its Lua side
    plant('lua/workflows/one/clock.lua', "-- x\nlocal t = require 'mascon.base.clock'.seconds()\n",
      'lua/workflows/one/clock.lua:2: takes mascon.base.clock under no name or another one')
    plant('lua/workflows/one/clock_in.lua', "-- x\nlocal t = require('mascon.base.clock').seconds()\n",
      'lua/workflows/one/clock_in.lua:2: takes mascon.base.clock under no name or another one')
    plant('lua/workflows/one/clock_as.lua', "-- x\nlocal c = require 'mascon.base.clock'\nlocal t = c.seconds()\n",
      'lua/workflows/one/clock_as.lua:2: takes mascon.base.clock under no name or another one')
    plant('lua/workflows/one/run.lua', "-- x\nlocal function f() os.execute 'ls' end\n",
      'lua/workflows/one/run.lua:2: uses os.execute')
    plant('lua/workflows/one/pipe.lua', "-- x\nlocal function f() return io.popen 'ls' end\n",
      'lua/workflows/one/pipe.lua:2: uses io.popen')
    plant('lua/workflows/one/door.lua', "-- x\nlocal lib = require 'mascon.core.ffi'\n",
      'lua/workflows/one/door.lua:2: requires mascon.core.ffi')
    plant('lua/mascon/stats/draw.lua', '-- x\nlocal function f() return math.random() end\n',
      'lua/mascon/stats/draw.lua:2: uses math.random')
    found()
  end)

  it('finds what knows a kind of device, and what the language of device kernels has not', function()
    if not sources then return pending 'no sources in this folder' end
    local plant, found = tree()
    for name, case in pairs {
      name = { 'strcmp(kind(d), "opencl")', 'names the kind of device opencl' },
      text = { "mci_device_text(d)[0] == 'c'", 'takes the name of a device apart' },
      field = { 'strcmp(mci_device_api(d)->kind, "o") == 0', 'compares the kind or name of a device' },
      of = { 'strncmp(mc_device_name(d), "o", 1)', 'compares the kind or name of a device' },
    } do
      plant(('runtime/tensor/%s.c'):format(name), ('/* x */\nint f(int d) { return %s; }\n'):format(case[1]),
        ('runtime/tensor/%s.c:2: %s'):format(name, case[2]))
    end
    for name, case in pairs {
      found = { "x.device:find '^cuda'", 'names the kind of device cuda' },
      equal = { "x.device == 'ref:0'", 'names the kind of device ref' },
      of = { '({ cpu = 1, opencl = 1 })[kind]', 'has a table with the kind of device opencl' },
    } do
      plant(('lua/mascon/stats/%s.lua'):format(name), ('-- x\nlocal function f(x) return %s end\n'):format(case[1]),
        ('lua/mascon/stats/%s.lua:2: %s'):format(name, case[2]))
    end
    write('lua/mascon/stats/says.lua', "-- x\nlocal WORDS, ref = 'a name such as \"cuda:0\", or opencl:0', 'ref'\n")
    for name, line in pairs {
      fmin = 'y[i] = fmin(a, b);', restrict = 'GLOBAL float *restrict y;', min = 'k = min(a, b);',
      atomicAdd = 'atomicAdd(y, 1.0f);', threadIdx = 'i = threadIdx.x;', barrier = 'barrier(1);',
      __local = '__local float s[4];', class = 'int class = 3;', bool = 'const bool k = 1;',
      native_exp = 'y[i] = native_exp(a);', MCD_CUDA = '#if defined(MCD_CUDA)',
    } do
      plant(('kernels/device/%s.c'):format(name), ('/* x, and no fmin or max */\n%s\n'):format(line),
        ('kernels/device/%s.c:2: uses %s, which the language of device kernels has not'):format(name, name))
    end
    plant('kernels/device/library.c', '/* x */\nint sin, a;\ny = expf(a);\n',
      'kernels/device/library.c:3: calls expf of a')
    plant('kernels/device/literal.c', '/* x */\nf((state){ 1, 2 });\n',
      'kernels/device/literal.c:2: has a compound literal')
    plant('kernels/device/pointer.c', '/* x */\nfloat g(float (*f)(float));\n',
      'kernels/device/pointer.c:2: has a pointer to a function')
    plant('kernels/workflows/one/device/loop.c', '/* x */\ngoto end;\n',
      'kernels/workflows/one/device/loop.c:2: uses goto')
    plant('kernels/device/jobs.h', '/* x */\ntypedef struct a {\n    int64_t at[2];\n    double *p;\n} a;\n',
      'kernels/device/jobs.h:4: has a pointer in a struct that launches pass by value')
    plant('kernels/workflows/one/device/jobs.h', '/* x */\ntypedef struct a {\n    int32_t n;\n    int64_t m;\n} a;\n',
      'kernels/workflows/one/device/jobs.h:4: has a member of 8 bytes behind a smaller one')
    found()
  end)

  it('finds includes, calls and words of C that a folder may not have', function()
    if not sources then return pending 'no sources in this folder' end
    local plant, found = tree()
    plant('kernels/cpu/near.c', '/* x */\n#include "../device/jobs.h"\n',
      'kernels/cpu/near.c:2: includes "../device/jobs.h"')
    plant('bindings/fftw/other.c', '/* x */\n#include "../zlib/parts.h"\n',
      'bindings/fftw/other.c:2: includes "../zlib/parts.h"')
    plant('bindings/fftw/none.c', '/* x */\n#include "fftw3.h"\n',
      'bindings/fftw/none.c:2: includes "fftw3.h", which is not')
    for _, room in ipairs { 'kernels/cpu', 'bindings/fftw', 'kernels/workflows/one' } do
      plant(room .. '/macro.c', '/* x */\n#include UP\n', room .. '/macro.c:2: includes a name that')
      plant(room .. '/inner.c', '/* x */\nint mci_error(int, const char *);\n',
        room .. '/inner.c:2: names mci_error')
    end
    plant('runtime/base/broken.c', '/* x */\n#inclu\\\nde "tensor/mc_tensor.h"\n',
      'runtime/base/broken.c:2: includes a name that')
    plant('runtime/base/digraph.c', '/* x */\n%:include "tensor/mc_tensor.h"\n',
      'runtime/base/digraph.c:2: includes a name that')
    plant('runtime/base/lines.c', '/* x */\n/* x\n*/ #include "tensor/mc_tensor.h"\n',
      'runtime/base/lines.c:3: includes "tensor/mc_tensor.h": tensor stands above base')
    plant('runtime/tensor/work.c', '/* x */\n#include "../../kernels/workflows/one/own.h"\n',
      'runtime/tensor/work.c:2: includes "../../kernels/workflows/one/own.h"; the library names no workflow')
    plant('runtime/tensor/word.c', '/* x */\nconst char *name(void) { return "two"; }\n',
      'runtime/tensor/word.c:2: names two; the library names no workflow')
    plant('runtime/tensor/ring_a.h', '/* x */\n#include "ring_b.h"\n',
      'runtime/tensor/ring_a.h:1: includes in a circle: runtime/tensor/ring_a.h runtime/tensor/ring_b.h')
    write('runtime/tensor/ring_b.h', '/* x */\n#include "ring_a.h"\n')
    -- files of a binding that call one another
    write('bindings/fftw/one.c', '/* x */\nvoid two(void);\nvoid one(void)\n{\n    two();\n}\n')
    plant('bindings/fftw/two.c', '/* x */\nvoid one(void);\nvoid two(void)\n{\n    one();\n}\n',
      'bindings/fftw/one.c:1: calls in a circle: bindings/fftw/one.c bindings/fftw/two.c')
    -- memory, printing, ends, words that C11 has and this tree has not
    plant('kernels/cpu/lock.c', '/* x */\nvoid f(void) { pthread_once(&o, g); }\n',
      'kernels/cpu/lock.c:2: uses pthread_')
    plant('kernels/cpu/keep.c', '/* x */\nint f(void)\n{\n    static int calls;\n    return calls++;\n}\n',
      'kernels/cpu/keep.c:4: has a variable that outlives a call')
    plant('runtime/tensor/said.c', '/* x */\nvoid f(void) { fwrite("x", 1, 1, stderr); }\n',
      'runtime/tensor/said.c:2: uses stderr')
    plant('runtime/tensor/told.c', '/* x */\nvoid f(void) { g(getenv("X")); }\n',
      'runtime/tensor/told.c:2: uses getenv')
    plant('lua/mascon/stats/other.lua', "-- x\nlocal o = io\no.write 'x'\n",
      'lua/mascon/stats/other.lua:2: takes io under another name')
    plant('kernels/cpu/room.c', '/* x */\nvoid *f(void) { return malloc(8); }\n', 'kernels/cpu/room.c:2: uses malloc')
    plant('runtime/tensor/room.c', '/* x */\nvoid *f(void) { return calloc(1, 8); } /* free(p) */\n',
      'runtime/tensor/room.c:2: uses calloc')
    plant('runtime/tensor/print.c', '/* x */\nvoid f(void) { puts("free(p)"); }\n',
      'runtime/tensor/print.c:2: uses puts')
    plant('bindings/fftw/stop.c', '/* x */\nvoid f(void) { abort(); }\n', 'bindings/fftw/stop.c:2: uses abort')
    plant('runtime/tensor/jump.c', '/* x */\nint f(void) { return setjmp(b); }\n',
      'runtime/tensor/jump.c:2: uses setjmp')
    plant('runtime/tensor/thread.c', '/* x */\nstatic _Thread_local int x;\n',
      'runtime/tensor/thread.c:2: uses _Thread_local')
    plant('runtime/tensor/gnu.c', '/* x */\n__attribute__((cold)) void f(void);\n',
      'runtime/tensor/gnu.c:2: uses __attribute__')
    plant('kernels/cpu/lanes.c', '/* x */\n#include <immintrin.h>\n', 'kernels/cpu/lanes.c:2: uses immintrin.h')
    -- within the kernels of a workflow: device below cpu, both below the drivers
    write('kernels/workflows/one/cpu/body.h', '/* x */\n#include "../own.h"\n#include "../device/places.h"\n')
    write('kernels/workflows/one/device/places.h', '/* x */\n#include "mck.h"\n')
    plant('kernels/workflows/one/cpu/up.c', '/* x */\n#include "body.h"\n#include "../good.c"\n',
      'kernels/workflows/one/cpu/up.c:3: includes "../good.c"')
    plant('kernels/workflows/one/cpu/tensor.c', '/* x */\n#include "mc_plugin.h"\n',
      'kernels/workflows/one/cpu/tensor.c:2: includes "mc_plugin.h"')
    plant('kernels/workflows/one/device/up.c', '/* x */\n#include "places.h"\n#include "../cpu/body.h"\n',
      'kernels/workflows/one/device/up.c:3: includes "../cpu/body.h"')
    plant('kernels/workflows/one/device/own.c', '/* x */\n#include "../own.h"\n',
      'kernels/workflows/one/device/own.c:2: includes "../own.h"')
    plant('kernels/workflows/one/down.c', '/* x */\n#include "device/places.h"\n#include "cpu/body.h"\n',
      'kernels/workflows/one/down.c:3: includes "cpu/body.h"')
    -- what the Lua FFI could not read
    plant('runtime/mc_lua.h', '/* x */\nstatic inline int f(int x) { return x; }\n',
      'runtime/mc_lua.h:2: has static inline')
    found()
  end)

  it('finds lists of ops in any words', function()
    if not sources then return pending 'no sources in this folder' end
    local plant, found = tree()
    local listed, compares = ':2: lists ops by name', ':2: compares with names of ops'
    os.execute('mkdir -p ' .. quote(folder .. '/runtime/ops/gen'))
    for _, path in ipairs { 'lua/mascon/stats', 'lua/workflows/one', 'scripts', 'runtime/ops/gen' } do
      plant(path .. '/nested.lua', "-- x\nlocal T = { { 'sqrt', 1 }, { 'floor', 2 }, { 'exp', 1 } }\n",
        path .. '/nested.lua' .. listed)
      plant(path .. '/chain.lua', "-- x\nlocal function f(name) return name == 'add' or name == 'subtract' end\n",
        path .. '/chain.lua' .. compares)
    end
    plant('lua/mascon/stats/aliases.lua', "-- x\nlocal T = { 'sub', 'mul', 'div', 'neg' }\n",
      'lua/mascon/stats/aliases.lua' .. listed)
    plant('runtime/tensor/aliases.c', '/* x */\nstatic const char *const T[] = { "sub", "mul", "div" };\n',
      'runtime/tensor/aliases.c' .. listed)
    plant('lua/mascon/stats/keyed.lua', '-- x\nlocal T = { sqrt = { 1 }, floor = { 2 }, exp = { 3 } }\n',
      'lua/mascon/stats/keyed.lua' .. listed)
    plant('lua/mascon/stats/mapped.lua', "-- x\nlocal T = { a = 'sqrt', b = 'floor', c = 'exp' }\n",
      'lua/mascon/stats/mapped.lua' .. listed)
    plant('runtime/tensor/array.c', '/* x */\nstatic const char *const T[] = { "sqrt", "floor", "exp" };\n',
      'runtime/tensor/array.c' .. listed)
    plant('runtime/tensor/structs.c',
      '/* x */\nstatic const struct s T[] = { { "sqrt", 1 }, { "floor", 2 }, { "exp", 3 } };\n',
      'runtime/tensor/structs.c' .. listed)
    plant('runtime/tensor/compare.c',
      '/* x */\nint f(const char *s) { return !strcmp(s, "sqrt") || !strcmp(s, "exp"); }\n',
      'runtime/tensor/compare.c' .. compares)
    plant('runtime/tensor/turned.c', '/* x */\nint f(const op *o) { return !strcmp("sqrt", o->name); }\n',
      'runtime/tensor/turned.c:2: asks for a single op')
    plant('runtime/tensor/switch.c', '/* x */\nint f(const op *o) { switch (o->id) { default: return 0; } }\n',
      'runtime/tensor/switch.c:2: asks for a single op')
    plant('runtime/tensor/below.c', '/* x */\nint f(const op *o) { return o->id < 12; }\n',
      'runtime/tensor/below.c:2: asks for a single op')
    -- no lists: statistics that a workflow reports, options, a few among other words
    write('lua/workflows/one/report.lua', "-- x\nlocal T = { mean = 1, std = 2, max = 3, min = 4 }\n")
    write('lua/mascon/stats/option.lua',
      "-- x\nlocal function f(o) return o.reduce == 'sum' or o.reduce == 'mean' end\n")
    write('lua/mascon/stats/twice.lua', "-- x\nlocal T = { 'sub', 'subtract', 'mul' }\n")
    write('lua/mascon/stats/few.lua', "-- x\nlocal T = { 'linear', 'cubic', 'floor', 'ceil', 'sign' }\n")
    found()
  end)

  it('finds files that bear a word with another meaning, and files that documents name in vain', function()
    if not sources then return pending 'no sources in this folder' end
    os.execute('mkdir -p ' .. quote(folder .. '/docs') .. ' ' .. quote(folder .. '/lua/mascon/compile'))
    write('lua/mascon/compile/plan.lua', '-- x\n')
    write('docs/ARCHITECTURE.md', 'A plan (`compile/plan.lua`).\n')
    local out, status = lint 'words'
    assert.equal(0, status, out)
    write('lua/mascon/stats/plan.lua', '-- x\n')
    write('runtime/base/mc_launch.c', '/* x */\n')
    write('docs/ARCHITECTURE.md', 'A plan (`compile/plan.lua`).\nRows (`compile/rows.lua`).\n'
      .. 'A folder (`compile/none/`).\n')
    write('docs/STYLE.md', 'As `runtime/base/none.c`.\n')
    write('README.md', 'As `runtime/base/none.h`.\n')
    out, status = lint 'words'
    assert.equal(1, status)
    for _, part in ipairs { 'lua/mascon/stats/plan.lua:1: is named plan', 'runtime/base/mc_launch.c:1: is named launch',
      'docs/ARCHITECTURE.md:2: names compile/rows.lua, which is not there',
      'docs/ARCHITECTURE.md:3: names the folder compile/none/, which is not there',
      'docs/STYLE.md:1: names runtime/base/none.c', 'README.md:1: names runtime/base/none.h', '6 faults' } do
      assert.is_truthy(out:find(part, 1, true), part .. '\n' .. out)
    end
  end)

  it('finds files without an opening comment, tabs, blanks at line ends and paths of one machine', function()
    if not sources then return pending 'no sources in this folder' end
    write('a.c', 'int x;\n')
    write('b.lua', '-- b\n\tlocal x\n')
    write('c.lua', '-- c \n')
    write('d.lua', "-- d\nlocal p = '/ho" .. "me/someone/x'\n")
    write('e.c', '/* generated by a program */\n')
    local out, status = lint 'shape'
    assert.equal(1, status)
    for _, part in ipairs { 'a.c:1: has no opening comment', 'b.lua:2: a tab', 'c.lua:1: blanks at the end',
      'd.lua:2: names a path of one machine', 'e.c:1: is a generated file' } do
      assert.is_truthy(out:find(part, 1, true), part)
    end
  end)

  it('finds lines past the width: C 100, Lua 120 columns', function()
    if not sources then return pending 'no sources in this folder' end
    for ext, width in pairs { c = 100, h = 100, lua = 120 } do
      local open, close = ext == 'lua' and '-- wide.lua - ' or '/* ', ext == 'lua' and '' or ' */'
      local body = ('é'):rep(width - #open - #close)
      write('wide.' .. ext, open .. body .. close .. '\n')
      local out = lint 'shape'
      assert.is_nil(out:find('wide.' .. ext, 1, true), out)
      write('wide.' .. ext, open .. body .. 'x' .. close .. '\n')
      out = lint 'shape'
      assert.is_truthy(out:find(('wide.%s:1: %d columns; break it at %d'):format(ext, width + 1, width), 1, true), out)
    end
    -- code that CONTRIBUTING shows, without the indentation of its fence; text is free
    local fenced = ('x'):rep(130) .. '\n   ```lua\n   %s\n   ```\n' .. ('x'):rep(130) .. '\n'
    write('CONTRIBUTING.md', fenced:format(('x'):rep(120)))
    assert.is_nil((lint 'shape'):find('CONTRIBUTING.md', 1, true))
    write('CONTRIBUTING.md', fenced:format(('x'):rep(121)))
    assert.is_truthy((lint 'shape'):find('CONTRIBUTING.md:3: 121 columns of code; break it at 120', 1, true))
  end)
end)

describe('make', function()
  it('knows the headers an object was made from', function()
    if not sources then return pending 'no sources in this folder' end
    local build = require 'mascon.host'.libdir
    local deps = read(build .. '/obj/v3/kernels/cpu/fft.d')
    if not deps then return pending 'the library was built elsewhere' end
    assert.matches('mck_fft%.h', deps)
    deps = read(build .. '/obj/runtime/tensor/mc_tensor.d')
    assert.matches('runtime/mascon%.h', deps)
    assert.matches('gen/mc_gen_enums%.h', deps)
  end)

  it('lists its targets', function()
    if not sources then return pending 'no sources in this folder' end
    local out, status = shell 'make --no-print-directory help'
    assert.equal(0, status)
    for _, target in ipairs { 'run', 'test', 'check', 'lint', 'debug', 'docs', 'install', 'dist', 'clean' } do
      assert.matches('make ' .. target, out)
    end
  end)
end)

describe('the kernels', function()
  it('hold no product that a compiler fused with a sum on its own: bits would depend on the place of an element',
    function()
      local path = require 'mascon.host'.libdir .. '/libmascon.so'
      if not read(path) or select(2, shell 'command -v objdump') ~= 0 then return pending 'needs objdump' end
      local found = shell(
        ("objdump -d --no-show-raw-insn %s | awk '/>:$/ { name = $2 } /vfmaddsub|vfmsubadd/ { print name }' | sort -u")
        :format(quote(path)))
      assert.equal('', found) -- write MC_PRODUCT around the products there
    end)
end)
