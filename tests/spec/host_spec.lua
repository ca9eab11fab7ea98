-- host_spec.lua - the program as its users meet it: arguments, scripts, errors, signals, ways out.
--
-- Runs the program as a child through a shell and reads what it prints. Needs nothing but the program.

local host = require 'mascon.host'

local PROGRAM = os.getenv('MASCON') or host.exe

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

---Output (both streams) and exit status of a shell command in which MASCON is replaced by the program.
local function shell(command)
  local pipe = io.popen('exec 2>&1; ' .. command:gsub('MASCON%f[%s]', (quote(PROGRAM):gsub('%%', '%%%%')))
    .. '; echo "<$?>"', 'r')
  local text = pipe:read('*a')
  pipe:close()
  local out, status = text:match('^(.*)<(%d+)>\n$')
  return out, tonumber(status)
end

local folder

local function write(name, text)
  local path = folder .. '/' .. name
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
  return path
end

local function run(text, arguments)
  return shell('MASCON ' .. quote(write('script.lua', text)) .. ' ' .. (arguments or ''))
end

---Shell text that runs a script and, once the script has begun and had time to be compiled, the shell text `killer`, in
---which $$ is the program.
local function with_killer(text, killer)
  local path = write('signalled.lua', 'io.open(arg[1], "w"):close() ' .. text)
  local ready = folder .. '/ready'
  return 'sh -c ' .. quote(('(while [ ! -e %s ]; do sleep 0.02; done; sleep 0.1; %s) & exec MASCON %s %s')
    :format(ready, killer, path, ready))
end

---Output and status of a script that gets `signal`; one that does not end is killed (status 137).
local function run_and_signal(text, signal)
  return shell('timeout --foreground -s KILL 200 ' .. with_killer(text, ('kill -%s $$'):format(signal)))
end

before_each(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute('mkdir ' .. quote(folder)) == 0)
end)

after_each(function()
  os.execute('rm -rf ' .. quote(folder))
end)

describe('command line', function()
  it('runs a script with its arguments in arg and ...', function()
    local out, status = run('print(arg[0]:match("[^/]*$"), #arg, arg[2], ...)', 'one "two words"')
    assert.equal('script.lua\t2\ttwo words\tone\ttwo words\n', out)
    assert.equal(0, status)
  end)

  it('puts the program at a negative index of arg', function()
    local out = run('print(arg[-1] ~= nil, arg[-2])')
    assert.equal('true\tnil\n', out)
  end)

  it('skips a first line that begins with # and keeps line numbers', function()
    local out, status = run('#!/usr/bin/env mascon\nprint("here")\nerror("there")')
    assert.equal(1, status)
    assert.truthy(out:find('here\n', 1, true))
    assert.truthy(out:find('script.lua:3: there', 1, true))
  end)

  it('ends as a script does whose library was not loaded to the end', function()
    local out, status = shell [[MASCON -e 'package.loaded["mascon.core.ffi"] = 1' 2>&1]]
    assert.equal('', out)
    assert.equal(0, status)
  end)

  it('runs several -e in order in one environment', function()
    local out, status = shell [[MASCON -e 'x = 2' -e 'print(x + 1)']]
    assert.equal('3\n', out)
    assert.equal(0, status)
  end)

  it('runs -e before the script', function()
    local path = write('after.lua', 'print("script", early)')
    assert.equal('script\t7\n', (shell('MASCON -e "early = 7" ' .. quote(path))))
  end)

  it('stops at the first -e that fails', function()
    local out, status = shell [[MASCON -e 'error("first")' -e 'print("second")']]
    assert.equal(1, status)
    assert.falsy(out:find('second', 1, true))
  end)

  it('runs standard input as a script for -', function()
    assert.equal('2\targ\n', (shell [[printf 'local a = ...\nprint(1 + 1, a)\n' | MASCON - arg]]))
  end)

  it('prints its version', function()
    local out, status = shell 'MASCON --version'
    assert.equal(0, status)
    assert.truthy(out:find('^mascon %d+%.%d+%.%d+ %(LuaJIT'))
  end)

  it('lists verbs in its help', function()
    local out = shell 'MASCON --help'
    for _, verb in ipairs { 'cache', 'info', 'plan', 'rerun', 'why' } do
      assert.truthy(out:find('\n    ' .. verb, 1, true))
    end
  end)

  it('lists in its help each variable of the environment that its code reads', function()
    local out = shell 'MASCON --help'
    local names = shell("grep -rhoE --include='*.lua' --include='*.c' "
      .. "'getenv ?\\(?.MASCON_[A-Z0-9_]+' lua runtime bindings")
    local seen = 0
    for name in names:gmatch 'MASCON_[%w_]+' do
      if not name:find '^MASCON_TEST_' and not name:find '^MASCON_SOAK' then
        seen = seen + 1
        assert.truthy(out:find('\n  ' .. name .. ' ', 1, true), name)
      end
    end
    assert.is_true(seen > 15 or not io.open('runtime/mascon.h'))
  end)

  it('answers wrong use with status 2 and the nearest verb', function()
    local out, status = shell 'MASCON ifno'
    assert.equal(2, status)
    assert.truthy(out:find("no file 'ifno'; did you mean 'info'?", 1, true))
    assert.truthy(out:find('verbs: bench, cache, info, plan, profile, rerun, why', 1, true))
  end)

  it('answers an unknown option with status 2', function()
    local out, status = shell 'MASCON --verzion'
    assert.equal(2, status)
    assert.truthy(out:find("did you mean '--version'?", 1, true))
  end)

  it('says that -e needs code', function()
    local out, status = shell 'MASCON -e'
    assert.equal(2, status)
    assert.truthy(out:find('-e needs code', 1, true))
  end)

  it('prefers a verb to a file of that name, which ./ reaches', function()
    write('info', 'print("a file")')
    local verb = shell('cd ' .. quote(folder) .. ' && MASCON info')
    assert.truthy(verb:find('processor', 1, true))
    assert.equal('a file\n', (shell('cd ' .. quote(folder) .. ' && MASCON ./info')))
  end)

  it('refuses bytecode', function()
    local path = write('code.luac', string.dump(function() return 1 end))
    local out, status = shell('MASCON ' .. quote(path))
    assert.equal(1, status)
    assert.truthy(out:find('compiled bytecode', 1, true))
  end)

  it('says that a folder is no script', function()
    local out, status = shell('MASCON ' .. quote(folder))
    assert.equal(1, status)
    assert.truthy(out:find('Is a directory', 1, true))
  end)

  it('finds modules beside the script', function()
    write('beside.lua', 'return { value = 42 }')
    local path = write('main.lua', 'print(require("beside").value)')
    assert.equal('42\n', (shell('cd / && MASCON ' .. quote(path))))
  end)

  it('runs a script of the test tool', function()
    local out, status = shell [[MASCON -e 'print(type(require("busted.core")))']]
    assert.equal('function\n', out)
    assert.equal(0, status)
  end)
end)

describe('info', function()
  it('reports the program, the machine and the limits', function()
    local out = shell 'MASCON info'
    for _, word in ipairs { 'mascon', 'processor', 'instructions', 'processors', 'memory', 'devices', 'cache',
      'plug-ins', 'library' } do
      assert.truthy(('\n' .. out):find('\n *' .. word:gsub('%-', '%%-') .. ' +%S'), word)
    end
  end)

  it('refuses arguments', function()
    local _, status = shell 'MASCON info extra'
    assert.equal(2, status)
  end)
end)

describe('environment defaults', function()
  local SHOW = [[MASCON -e 'print(os.getenv("OPENBLAS_NUM_THREADS"), os.getenv("GOMP_SPINCOUNT"))']]

  it('are set when the user left them open', function()
    assert.equal('1\t2000\n', (shell('unset OPENBLAS_NUM_THREADS GOMP_SPINCOUNT OMP_WAIT_POLICY; ' .. SHOW)))
  end)

  it('leave what the user set', function()
    assert.equal('4\tnil\n',
      (shell('unset GOMP_SPINCOUNT; OPENBLAS_NUM_THREADS=4 OMP_WAIT_POLICY=active ' .. SHOW)))
  end)
end)

describe('strict globals', function()
  it('turn the reading of an undeclared name into an error with the nearest one', function()
    local out, status = run('local x = 1\nprnt(x)')
    assert.equal(1, status)
    assert.truthy(out:find("script.lua:2: undeclared global 'prnt'; did you mean 'print'?", 1, true))
  end)

  it('let the top level declare, also with nil', function()
    local out, status = run('a = 1 b = nil function f() a = a + 1 b = a end f() print(a, b)')
    assert.equal('2\t2\n', out)
    assert.equal(0, status)
  end)

  it('refuse a new global inside a function', function()
    local out, status = run('local function f()\n  count = 1\nend\nf()')
    assert.equal(1, status)
    assert.truthy(out:find("script.lua:2: assignment to undeclared global 'count' inside a function", 1, true))
  end)

  it('do not bind modules and loadstring', function()
    write('loose.lua', 'function_global = 1 return undefined_global')
    local path = write('main.lua',
      'local m = require "loose" print(m, function_global, loadstring("return nothing")())')
    assert.equal('true\t1\tnil\n', (shell('MASCON ' .. quote(path))))
  end)

  it('are seen by loadstring and through _G', function()
    assert.equal('5\t5\n', (run('shared = 5 print(loadstring("return shared")(), _G.shared)')))
  end)
end)

describe('errors', function()
  it('name the spelling for tensors where a plain Lua function got one', function()
    local begin = 'local mc = require "mascon" local x = mc.ones { 3 } '
    for call, hint in pairs {
      ['math.max(x, 1)'] = 'for a tensor use mc.maximum(x, y) or x:max(); x:item() gives the number of one element',
      ['math.floor(x)'] = 'for a tensor use mc.floor;',
      ['table.concat(x)'] = 'for a tensor use x:totable();', ['string.format("%d", x)'] = 'for a tensor use mc.format;',
      ['string.char(x)'] = "; for a tensor x:item() gives the number",
    } do
      local out, status = run(begin .. call)
      assert.is_truthy(out:match('^[^\n]*'):find(hint, 1, true), out)
      assert.equal(1, status)
    end
    assert.is_nil(run('math.floor({})'):find('for a tensor', 1, true))
  end)

  it('name the method that was meant', function()
    local begin = 'local mc = require "mascon" local net = mc.nn.Linear(1, 1) '
    assert.matches("attempt to call method 'paramters' %(a nil value%); did you mean parameters%?",
      (run(begin .. 'net:paramters()')))
    assert.is_nil(run(begin .. 'net:draw()'):find('did you mean', 1, true))
  end)

  it('show place, source and the frames of the script', function()
    local out, status = run('local function inner(t)\n  local y = 1\n  return t.x + y\nend\n\ninner(nil)\n')
    assert.equal(1, status)
    local lines = {}
    for line in out:gmatch('[^\n]+') do lines[#lines + 1] = (line:gsub('%S*/script', 'script')) end
    assert.same({
      "script.lua:3: attempt to index local 't' (a nil value)",
      '  2 |   local y = 1',
      '> 3 |   return t.x + y',
      '  4 | end',
      "  script.lua:3: in function 'inner'",
      '  script.lua:6: in main chunk',
    }, lines)
  end)

  it('go to standard error', function()
    local path = write('script.lua', 'error("bad")')
    assert.equal('', (shell('MASCON ' .. quote(path) .. ' 2>/dev/null')))
  end)

  it('show syntax errors with their line', function()
    local out, status = run('local a = 1\nlocal = 2\n')
    assert.equal(1, status)
    assert.truthy(out:find("script.lua:2: '<name>' expected near '='", 1, true))
    assert.truthy(out:find('> 2 | local = 2', 1, true))
  end)

  it('print objects with a message, with __tostring, and others by type', function()
    assert.truthy(run('error { status = 3, message = "op: wrong" }'):find('script.lua:1: op: wrong', 1, true))
    assert.truthy(run('error(setmetatable({}, { __tostring = function() return "as text" end }))')
      :find('as text', 1, true))
    assert.truthy(run('error({})'):find('(error object is a table without message)', 1, true))
    assert.truthy(run('error(nil)'):find('(error object is a nil value)', 1, true))
  end)

  -- Two functions that claim to stand in a module of the library, between two functions of the script.
  local BETWEEN = [[
local folder = require("mascon.host").luadir
local outer = load("local function inner(f) f() return 1 end\nreturn function(f) inner(f) return 2 end",
  "@" .. folder .. "/mascon/signal.lua")()
local function callback() error("from the script") end
local function user() outer(callback) return 3 end
user()
]]

  it('fold frames of the library', function()
    local out = run(BETWEEN)
    local frames = {}
    for line in out:gmatch('\n  ([^\n|]+)') do
      if not line:find('|', 1, true) then frames[#frames + 1] = (line:gsub('%S*/script', 'script')) end
    end
    assert.same({
      "script.lua:4: in function 'f'", -- the name that its caller has for it
      '(2 frames in mascon.signal)',
      "script.lua:5: in function 'user'",
      'script.lua:6: in main chunk',
    }, { frames[#frames - 3], frames[#frames - 2], frames[#frames - 1], frames[#frames] })
  end)

  it('show them with MASCON_TRACEBACK=full', function()
    local path = write('script.lua', BETWEEN)
    local out = shell('MASCON_TRACEBACK=full MASCON ' .. quote(path))
    assert.falsy(out:find('frames in', 1, true))
    assert.truthy(out:find("signal.lua:1: in function 'inner'", 1, true))
    assert.truthy(out:find("signal.lua:2: in function 'outer'", 1, true))
  end)

  it('name the line of the script when the library raised at its own place or at one of the host', function()
    local text = [[
local f = load("return function(level) error('sig: wrong', level) end",
  "@" .. require("mascon.host").luadir .. "/mascon/signal.lua")()
local function tail() return f(LEVEL) end
tail()
]]
    local expected_at = { '4: (mascon.signal:1) sig: wrong', '4: sig: wrong', '4: sig: wrong' }
    for level, expected in ipairs(expected_at) do
      assert.truthy(run((text:gsub('LEVEL', level))):find('script.lua:' .. expected, 1, true), level)
    end
  end)

  it('cut the frames of a stack overflow', function()
    local path = write('script.lua', 'local function f(n) return 1 + f(n + 1) end\nf(1)')
    local out, status = shell('MASCON_JIT=off MASCON ' .. quote(path))
    assert.equal(1, status)
    assert.truthy(out:find('stack overflow', 1, true))
    assert.truthy(out:find('more)', 1, true))
    assert.is_true(#out < 4000)
    out, status = shell('MASCON ' .. quote(path)) -- compiled: with the place or with advice
    assert.equal(1, status)
    assert.truthy(
      out:find('script.lua:1: stack overflow', 1, true) or out:find('MASCON_JIT=off shows the place', 1, true), out)
  end)

  it('of an internal place lead to the line of the script', function()
    local out = run('local x = 1\nerror("no place", 0)')
    assert.truthy(out:find('script.lua:2: no place', 1, true))
  end)
end)

describe('ways out', function()
  local CLEANUP = 'require("mascon.host").on_exit(function() print("first") end)\n'
    .. 'require("mascon.host").on_exit(function() print("last") end)\n'

  it('run the exit functions, last registered first', function()
    local out, status = run(CLEANUP)
    assert.equal('last\nfirst\n', out)
    assert.equal(0, status)
  end)

  it('run them on error, os.exit, closing os.exit and os.exit inside a coroutine', function()
    local out, status = run(CLEANUP .. 'error("x")')
    assert.equal(1, status)
    assert.truthy(out:find('last\nfirst\n', 1, true))
    out, status = run(CLEANUP .. 'os.exit(7)')
    assert.equal('last\nfirst\n', out)
    assert.equal(7, status)
    out, status = run(CLEANUP .. 'os.exit(8, true)')
    assert.equal('last\nfirst\n', out)
    assert.equal(8, status)
    out, status = run(CLEANUP .. 'coroutine.wrap(function() os.exit(9) end)()')
    assert.equal('last\nfirst\n', out)
    assert.equal(9, status)
  end)

  it('report an exit function that fails and run the others', function()
    local out, status = run(CLEANUP .. 'require("mascon.host").on_exit(function() error("broken") end)')
    assert.truthy(out:find('on the way out: .*broken'))
    assert.truthy(out:find('last\nfirst\n', 1, true))
    assert.equal(0, status)
  end)

  it('say that standard output could not be written', function()
    local out, status = shell [[MASCON -e 'print(1)' >/dev/full]]
    assert.equal(1, status)
    assert.truthy(out:find('standard output: No space left', 1, true))
  end)

  it('are quiet where the reader left before the program wrote its last words', function()
    local fifo = write('fifo', '')
    os.remove(fifo)
    for _, leave in ipairs { '', 'os.exit(0)', 'os.exit(0, true)' } do
      local out, status = shell(('mkfifo %s; { MASCON -e \'io.open(%q):read "*a" print(1) %s\'; echo "left $?" >&2; } '
        .. '| { exec 0<&-; echo >%s; }; rm %s'):format(quote(fifo), fifo, leave, quote(fifo), quote(fifo)))
      assert.equal(0, status)
      assert.equal('left 141\n', out)
    end
  end)

  it('are quiet when the reader of standard output leaves', function()
    local path = write('script.lua', CLEANUP:gsub('print', 'io.stderr:write') .. 'while true do print(1) end')
    local out, status = shell('{ MASCON ' .. quote(path) .. '; echo "left $?" >&2; } | head -n 1')
    assert.equal(0, status)
    assert.truthy(out:find('left 141', 1, true))
    assert.truthy(out:find('lastfirst', 1, true))
    assert.falsy(out:find('broken pipe', 1, true))
  end)
end)

describe('a name that is not declared', function()
  it('gets the line to begin with where it is mc', function()
    local out, status = shell "MASCON -e 'print(mc.ones { 2 })' 2>&1"
    assert.equal(1, status)
    assert.truthy(out:find("undeclared global 'mc'; begin with: local mc = require 'mascon'", 1, true), out)
  end)
end)

describe('a command whose output cannot be written', function()
  it('says so and has status 1', function()
    for _, line in ipairs { '--help', '--version', '-e "print(1)"', '-e "print(1) os.exit()"',
      '-e "print(1) os.exit(0, true)"', 'info', 'info --help', 'cache --help',
      'scripts/pac.lua --help', 'scripts/xpcs.lua --version' } do
      local out, status = shell(('MASCON %s 2>&1 >/dev/full'):format(line))
      assert.equal(1, status, line)
      assert.truthy(out:find '^mascon: standard output: [^\n]+\n$', out)
    end
    assert.equal(3, select(2, shell 'MASCON -e "print(1) os.exit(3)" 2>&1 >/dev/full'))
  end)
end)

describe('signals', function()
  -- Loops that LuaJIT compiles, from one without any guard to ones that spend their time in C functions.
  local LOOPS = {
    ['an empty loop'] = 'while true do end',
    ['a counting loop'] = 'local i = 0\nwhile true do i = i + 1 end',
    ['a loop with branches'] = 'local i, a, b = 0, 0, 0\nwhile true do\n'
      .. '  if i % 2 == 0 then a = a + 1 else b = b + 1 end\n  i = i + 1\nend',
    ['a loop over a table'] = 'local t, k = {}, 0\nwhile true do k = k + 1 t[k % 100 + 1] = math.sin(k % 7) end',
    ['a loop of strings'] = 'for i = 1, 1e18 do local s = ("x"):rep(i % 7) .. i end',
    ['a loop of tail calls'] = 'local function f() return f() end\nf()',
    ['a loop of coroutines'] = 'local c = coroutine.wrap(function() while true do coroutine.yield(1) end end)\n'
      .. 'while true do c() end',
    ['a loop of sleeps'] = 'local ffi = require "ffi"\nffi.cdef "int usleep(unsigned);"\n'
      .. 'while true do ffi.C.usleep(1000) end',
    ['a loop that polls'] = 'local ffi = require "ffi"\nffi.cdef "int usleep(unsigned); int getppid(void);"\n'
      .. 'local parent = 1\nwhile parent ~= 0 do ffi.C.usleep(1000) parent = ffi.C.getppid() end',
  }
  local names = {}
  for name in pairs(LOOPS) do names[#names + 1] = name end
  table.sort(names)

  it('Ctrl-C stops compiled loops with status 130 and the place', function()
    for _, name in ipairs(names) do
      local out, status = run_and_signal(LOOPS[name], 'INT')
      assert.equal(130, status, name)
      assert.truthy(out:find('mascon: interrupted at %S*signalled.lua:%d+\n'), name)
    end
  end)

  it('Ctrl-C can be caught once, and the script goes on', function()
    local out, status = run_and_signal('print(pcall(function() while true do end end))\nlocal s = 0\n'
      .. 'for i = 1, 1000000 do s = s + i end\nprint(s)', 'INT')
    assert.equal('false\tinterrupted\n500000500000\n', out)
    assert.equal(0, status)
  end)

  it('SIGTERM gives status 143 after the exit functions', function()
    local out, status = run_and_signal('require("mascon.host").on_exit(function() print("cleaned") end)\n'
      .. 'while true do end', 'TERM')
    assert.equal(143, status)
    assert.truthy(out:find('terminated', 1, true))
    assert.truthy(out:find('cleaned', 1, true))
  end)

  it('a second Ctrl-C ends a script that catches every error', function()
    local out, status = shell(with_killer('while true do pcall(function() while true do end end) end',
      'kill -INT $$; sleep 0.3; kill -INT $$'))
    assert.equal(130, status)
    assert.truthy(out:find('interrupted', 1, true), out)
  end)

  it('wait while a module of the library is loaded, which is whole afterwards', function()
    local out, status = run [[
      local mc, ffi = require 'mascon', require 'ffi'
      ffi.cdef 'int getpid(void); int kill(int, int);'
      local sent = 0
      table.insert(package.loaders, 1, function(name) -- called from within the module that requires this one
        if name ~= 'workflows.xpcs.command.options' then return nil end
        sent = sent + 1
        ffi.C.kill(ffi.C.getpid(), 15)
      end)
      print(pcall(function()
        local part = mc.xpcs.run
        for _ = 1, 1000 do part = mc.xpcs.run.settings end
        return part
      end))
      print(type(mc.xpcs.run.settings), sent)]]
    assert.equal(0, status, out)
    assert.equal('false\tterminated\nfunction\t1\n', out)
  end)

  it('wait for the end of finished work, the first one, and are told; the second one ends it', function()
    local SEND = [[
      local mc, ffi, host = require 'mascon', require 'ffi', require 'mascon.host'
      ffi.cdef 'int getpid(void); int kill(int, int);'
      local function send()
        ffi.C.kill(ffi.C.getpid(), 15)
        local n = 0
        repeat n = n + 1 until host.signal()
      end ]]
    local out, status = run(SEND .. [[
      local s = 0
      print(mc.args.held(function(a)
        send()
        for i = 1, 3e7 do s = s + i % 3 end
        return a, mc.sum(mc.ones { 1000 }):item()
      end, 'whole'))
      for i = 1, 3e7 do s = s + i % 3 end
      print(s, mc.sum(mc.ones { 1000 }):item())
      print(mc.args.held(function() return 7 end))
      print(mc.args.stopped 'terminated')]])
    assert.equal(0, status, out)
    assert.equal('terminated\twhole\t1000\n60000000\t1000\nnil\t7\nterminated\t143\n', out)
    out, status = run(SEND .. [[
      print(pcall(mc.args.held, function() error('its own', 0) end))
      print(mc.args.held(function()
        send()
        send()
        for i = 1, 1e12 do mc.ones { 3 } end
      end))]])
    assert.equal(143, status, out)
    assert.truthy(out:find '^false\tits own\nmascon: terminated at ', out)
    out, status = run(SEND .. [[
      print(pcall(mc.args.held, function()
        send()
        error('its own', 0)
      end))
      print(host.signal())]])
    assert.equal(0, status, out)
    assert.equal('false\tits own\n15\tterminated\n', out)
  end)

  it('at the top of a script say the place in one line', function()
    local out, status = run [[
      local mc = require 'mascon'
      mc.manifest.hash { os.execute 'kill -TERM $PPID', mc.ones { 3 } } for i = 1, 1e9 do mc.ones { 3 } end]]
    assert.equal(143, status)
    assert.truthy(out:find '^mascon: terminated at %S+script.lua:%d\n$', out)
  end)

  it('that nothing answers leave the end to the second one', function()
    -- one call of C that never returns, like one of LAPACK that takes half a minute; the first signal waits for it
    local code = 'local ffi = require "ffi"; ffi.cdef "int pthread_mutex_lock(char *);"; '
      .. 'local lock = ffi.new "char[64]"; for _ = 1, 2 do ffi.C.pthread_mutex_lock(lock) end'
    local out, status = shell(with_killer(code, 'until grep -q "^State:.S" /proc/$$/status; do sleep 0.02; done; '
      .. 'kill -TERM $$; sleep 3; kill -TERM $$'))
    assert.equal(143, status)
    assert.truthy(out:find 'ended by a further signal', out)
  end)

  it('ignored by the starter stay ignored', function()
    local out, status = shell('trap "" INT; ' .. with_killer('local c = require("mascon.host").clock\nlocal t = c()\n'
      .. 'repeat until c() - t > 0.5\nprint("done")', 'kill -INT $$'))
    assert.equal('done\n', out)
    assert.equal(0, status)
  end)

  it('leave the state of a computation intact', function()
    -- The same work again and again, cut short at different moments: a value restored wrongly would show in its
    -- result. The script asks for each signal itself and waits for it inside pcall, so that none can arrive
    -- elsewhere.
    local out, status = run [[
local host = require "mascon.host"
local pid = io.open("/proc/self/stat"):read("*n")
local function work(n)
  local t, s, text = {}, 0, ""
  for i = 1, n do
    local pair = { i, i + 1 }
    t[i % 64 + 1] = pair
    if i % 3 == 0 then s = s + t[i % 64 + 1][1] else s = s - pair[2] % 5 end
    if i % 500 == 0 then text = text .. i end
  end
  return s + #text
end
local expected = work(3000)
local cut, wrong = 0, 0
for i = 1, 25 do
  local killer
  host.run_begin()
  local ok, message = pcall(function()
    -- os.execute ignores Ctrl-C while its shell runs
    killer = io.popen(("sleep 0.0%d; kill -INT %d"):format(i % 5 + 1, pid))
    while true do
      if work(3000) ~= expected then wrong = wrong + 1 end
    end
  end)
  if not ok and message == "interrupted" then cut = cut + 1 end
  killer:close()
  if work(3000) ~= expected then wrong = wrong + 1 end
end
print(cut, wrong)
]]
    assert.equal('25\t0\n', out)
    assert.equal(0, status)
  end)
end)
