-- repl_spec.lua - the prompt: through a pipe, through a terminal with the line editor, and its parts.
--
-- The terminal is a pseudo-terminal of our own; its specs wait for what the program shows before they type on. They are
-- pending where the editor plug-in is not built.

local host = require 'mascon.host'
local complete = require 'mascon.host.complete'
local locals = require 'mascon.host.locals'
local nearest = require 'mascon.host.nearest'
local show = require 'mascon.host.show'
local ffi = require 'ffi'

local PROGRAM = os.getenv('MASCON') or host.exe

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function shell(command)
  local pipe = io.popen('exec 2>&1; ' .. command .. '; echo "<$?>"', 'r')
  local text = pipe:read('*a')
  pipe:close()
  local out, status = text:match('^(.*)<(%d+)>\n$')
  return out, tonumber(status)
end

---Output and status of the program fed with `input` through a pipe.
local function feed(input, arguments)
  return shell(('printf %%s %s | %s %s'):format(quote(input), quote(PROGRAM), arguments or ''))
end

describe('pipe mode', function()
  it('prints the value of each line without prompts', function()
    local out, status = feed('1 + 2\n"text"\nnil\nprint("x")\n')
    assert.equal('3\n"text"\nnil\nx\n', out)
    assert.equal(0, status)
  end)

  it('prints several values in one line', function()
    assert.equal('1\tnil\tinf\n', (feed('1, nil, 1/0\n')))
  end)

  it('lets compiled functions see what the locals of the prompt have become', function()
    local lines = 'local rate = 2\nlocal f = mc.compile(function(t) return t * rate end)\nf(mc.tensor(1)):item()\nrate '
      .. '= 3\nf(mc.tensor(1)):item()\n'
    assert.equal('2\n3\n', (feed(lines)))
  end)

  it('goes on whatever the user assigns to the names of base functions', function()
    local names = {
      'type', 'table', 'next', 'pairs', 'select', 'ipairs', 'io', 'pcall', 'xpcall', 'string', 'math', 'os',
      'debug', 'require', 'package', 'setmetatable', 'getmetatable', 'error', 'assert', 'jit', 'load',
      'loadstring', 'rawget', 'rawset', 'unpack', 'tostring', 'tonumber', '_G' }
    local lines = { '1 + 1', 'mc.arange(6):reshape{2, 3}', 'mc.sum(mc.arange(6)):item()', 'mc.qqq', '7' }
    for _, few in ipairs { { 'type' }, { 'table' }, names } do
      local input = table.concat(few, ' = { 1, 2 }\n') .. ' = { 1, 2 }\n' .. table.concat(lines, '\n') .. '\n'
      local out, status = feed(input)
      assert.equal(1, status, out)
      assert.equal('2', out:match '^[^\n]*', out)
      assert.truthy(out:find('\n21\n', 1, true) and out:find('qqq', 1, true) and out:find '\n7\n$', out)
    end
    local code = "type = 'eeg'; select = 1; local mc = require 'mascon'; print((mc.ones{3} + 1):sum():item())"
    local out = shell(quote(PROGRAM) .. ' -e ' .. quote(code))
    assert.equal('6\n', out)
  end)

  it('goes on over lines until the syntax is complete', function()
    assert.equal('1\n2\n', (feed('for i = 1, 2 do\nprint(i)\nend\n')))
    assert.equal('"a\\nb"\n', (feed('[[a\nb]]\n')))
    assert.equal('{ 1, 2 }\n', (feed('{ 1,\n2\n}\n')))
  end)

  it('reports an unfinished chunk at the end of the input', function()
    local out, status = feed('for i = 1, 2 do\n')
    assert.truthy(out:find("near '<eof>'", 1, true))
    assert.equal(1, status)
  end)

  it('goes on after an error and then exits with 1', function()
    local out, status = feed('error("bad")\n1 + 1\n')
    assert.truthy(out:find('prompt[1]:1: bad', 1, true))
    assert.truthy(out:find('\n2\n', 1, true) or out:find('^2\n'))
    assert.equal(1, status)
  end)

  it('names the nearest global', function()
    assert.truthy(feed('prnt(1)\n'):find("undeclared name 'prnt'; did you mean 'print'?", 1, true))
  end)

  it('keeps top-level locals', function()
    assert.equal('3\n', (feed('local a, b = 1, 2\na + b\n')))
    assert.equal('nil\n', (feed('local nothing\nnothing\n')))
    assert.equal('120\n', (feed('local function f(n) if n == 0 then return 1 end return n * f(n - 1) end\nf(5)\n')))
  end)

  it('shares them with closures of the same line', function()
    assert.equal('2\n', (feed('local n = 0; function inc() n = n + 1 end\ninc() inc()\nn\n')))
  end)

  it('keeps what was assigned before an error', function()
    assert.truthy(feed('local kept = 5 error("x")\nkept\n'):find('5\n', 1, true))
  end)

  it('leaves locals of blocks alone', function()
    local out = feed('do local hidden = 1 end\nhidden\n')
    assert.truthy(out:find("undeclared name 'hidden'", 1, true))
  end)

  it('gives the last values as _ and _1 to _9', function()
    assert.equal('10\n20\n40\n40\n10\n', (feed('10\n20\n_ * 2\n_1\n_4\n')))
  end)

  it('mutes with a semicolon, keeping the value', function()
    assert.equal('6\n', (feed('5;\n_ + 1\n')))
  end)

  it('tolerates a leading =', function()
    assert.equal('4\n', (feed('= 2 + 2\n')))
  end)

  it('lets loaded code see globals', function()
    assert.equal('7\n', (feed('x = 7\nloadstring("return x")()\n')))
  end)

  it('leaves at quit and exit', function()
    assert.equal('1\n', (feed('1\nquit\n2\n')))
    assert.equal('1\n', (feed('1\nexit\n2\n')))
  end)

  it('honours os.exit', function()
    local _, status = feed('os.exit(5)\n')
    assert.equal(5, status)
  end)

  it('shows the line of an error in a chunk of several lines', function()
    assert.truthy(feed('do\nlocal t\nlocal x = t.y\nend\n'):find('> 3 | local x = t.y', 1, true))
  end)
end)

describe('commands', function()
  it('%time prints the values and the time', function()
    local out = feed('%time 6 * 7\n')
    assert.truthy(out:find('^42\ntime %d'))
  end)

  it('%bench prints median and spread', function()
    assert.truthy(feed('%bench ("x"):rep(10)\n'):find('^median %S+ %a+, p10 %S+ %a+, p90 %S+ %a+ %(%d+ samples of'))
  end)

  it('%who lists the names of the session', function()
    local out = feed('local a = 1\nb = "two"\n%who\n')
    assert.truthy(out:find('a     number    1\n', 1, true))
    assert.truthy(out:find('b     string    "two"\n', 1, true))
    assert.equal('no names yet\n', (feed('%who\n')))
  end)

  it('%mem prints the heap', function()
    assert.truthy(feed('%mem\n'):find('^Lua heap +%d'))
  end)

  it('! runs the shell', function()
    assert.equal('from the shell\n', (feed('!echo from the shell\n')))
  end)

  it('unknown ones name the nearest', function()
    local out, status = feed('%tiem 1\n')
    assert.truthy(out:find('no command %tiem; did you mean \'time\'?', 1, true))
    assert.equal(1, status)
  end)

  it('help explains the prompt', function()
    assert.truthy(feed('help\n'):find('%bench expr', 1, true))
  end)
end)

describe('the plain prompt', function()
  it('serves mascon -i through a pipe', function()
    local out, status = feed('1 + 1\nfor i = 1, 1 do\nend\n', '-i')
    assert.equal('> 2\n> . > \n', out)
    assert.equal(0, status)
  end)

  it('follows -e with its globals', function()
    assert.equal('> 3\n> \n', (feed('x\n', "-i -e 'x = 3'")))
  end)

  it('survives Ctrl-C in a run with its state', function()
    local base = os.tmpname()
    local file = assert(io.open(base, 'w'))
    file:write(('local x = 5\nio.open("%s.ready", "w"):close() while true do end\nx\n'):format(base))
    file:close()
    local out, status = shell('sh -c ' .. quote(
      ('(while [ ! -e %s.ready ]; do sleep 0.02; done; sleep 0.1; kill -INT $$) & exec %s -i < %s')
      :format(base, PROGRAM, base)))
    os.remove(base)
    os.remove(base .. '.ready')
    assert.truthy(out:find('interrupted', 1, true), out)
    assert.truthy(out:find('> 5\n> \n$'), out)
    assert.equal(0, status)
  end)

  it('survives Ctrl-C in a run that catches every error', function()
    local LOOPS = {
      'while true do pcall(function() while true do end end) end',
      'while true do pcall(function() for i = 1, 1e9 do pcall(math.sin, i) end end) end',
      'while true do pcall(coroutine.wrap(function() while true do pcall(function() while true do end end) end end)) '
        .. 'end',
      'while true do xpcall(function() while true do end end, function(e) return e end) end',
    }
    for _, loop in ipairs(LOOPS) do
      local base = os.tmpname()
      local file = assert(io.open(base, 'w'))
      file:write(('local x = 5\nio.open("%s.ready", "w"):close() %s\nx\n'):format(base, loop))
      file:close()
      -- the first is caught, the second is not
      local out, status = shell('sh -c ' .. quote(('(while [ ! -e %s.ready ]; do sleep 0.02; done; sleep 0.2; '
        .. 'kill -INT $$; sleep 0.3; kill -INT $$) & exec %s -i < %s'):format(base, PROGRAM, base)))
      os.remove(base)
      os.remove(base .. '.ready')
      assert.truthy(out:find('interrupted', 1, true), loop .. out)
      assert.truthy(out:find('> 5\n> \n$'), loop .. out)
      assert.equal(0, status)
    end
  end)
end)

ffi.cdef [[
int forkpty(int *master, char *name, void *modes, void *size);
int execv(const char *path, char *const argv[]);
int setenv(const char *name, const char *value, int replace);
int unsetenv(const char *name);
int waitpid(int pid, int *status, int options);
int kill(int pid, int sig);
int close(int fd);
long read(int fd, void *buffer, size_t n);
long write(int fd, const void *buffer, size_t n);
struct repl_spec_poll { int fd; short events, revents; };
int poll(struct repl_spec_poll *fds, unsigned long n, int timeout);
void _exit(int status);
]]

local CTRL_C, CTRL_D, CTRL_R, TAB = '\3', '\4', '\18', '\t'

---A program on a terminal of its own.
local Terminal = {}
Terminal.__index = Terminal

---@param arguments string[]
---@param environment table values by name, false to unset
function Terminal.open(arguments, environment)
  local argv = ffi.new('char *[?]', #arguments + 2)
  local keep = {}
  for i, word in ipairs { PROGRAM, unpack(arguments) } do
    keep[i] = ffi.new('char[?]', #word + 1, word)
    argv[i - 1] = keep[i]
  end
  local master = ffi.new('int[1]')
  local pid = ffi.C.forkpty(master, nil, nil, nil)
  if pid == 0 then
    for name, value in pairs(environment) do
      if value then ffi.C.setenv(name, value, 1) else ffi.C.unsetenv(name) end
    end
    ffi.C.execv(PROGRAM, argv)
    ffi.C._exit(127)
  end
  assert(pid > 0, 'no pseudo-terminal')
  return setmetatable({ fd = master[0], pid = pid, seen = '', at = 1 }, Terminal)
end

---Reads what there is; false when the program has closed the terminal or shows nothing for `seconds`.
function Terminal:read(seconds)
  local wait = ffi.new('struct repl_spec_poll[1]')
  wait[0].fd, wait[0].events = self.fd, 1
  if ffi.C.poll(wait, 1, seconds * 1000) <= 0 then return false end
  local buffer = ffi.new('char[4096]')
  local n = tonumber(ffi.C.read(self.fd, buffer, 4096))
  if n <= 0 then return false end
  self.seen = self.seen .. ffi.string(buffer, n):gsub('\r', '')
  return true
end

---Waits until `text` is shown after what was waited for before.
function Terminal:expect(text)
  while true do
    local _, stop = self.seen:find(text, self.at, true)
    if stop then
      self.at = stop + 1
      return self
    end
    if not self:read(60) then
      error(('the terminal never showed %q; it shows %q'):format(text, self.seen:sub(self.at)), 2)
    end
  end
end

function Terminal:type(text)
  ffi.C.write(self.fd, text, #text)
  return self
end

---Reads to the end; returns the exit status and all that was shown.
function Terminal:finish()
  while self:read(60) do end
  local status = ffi.new('int[1]')
  local ended
  for _ = 1, 1000 do -- the terminal is closed a moment before the program ends
    ended = ffi.C.waitpid(self.pid, status, 1) == self.pid
    if ended then break end
    os.execute('sleep 0.05')
  end
  if not ended then
    ffi.C.kill(self.pid, 9)
    ffi.C.waitpid(self.pid, status, 0)
  end
  ffi.C.close(self.fd)
  if not ended then error(('the program does not leave; the terminal shows %q'):format(self.seen), 2) end
  assert.equal(0, bit.band(status[0], 0x7f)) -- not killed by a signal
  return bit.rshift(bit.band(status[0], 0xff00), 8), self.seen
end

describe('the terminal', function()
  local plugin = io.open(host.plugindir .. '/mc_libedit.so', 'rb')
  if plugin then plugin:close() end

  local console = io.open('/dev/ptmx', 'r+b')
  if console then console:close() end

  local function terminal_it(name, fn)
    if not plugin then
      pending(name .. ' (the editor plug-in is not built)')
    elseif not console then
      pending(name .. ' (there are no pseudo-terminals)')
    else
      it(name, fn)
    end
  end

  local folder

  local function open(environment)
    local all = { NO_COLOR = '1', TERM = 'xterm', LC_ALL = 'C.UTF-8', XDG_STATE_HOME = folder, MASCON_EDIT = false,
      HOME = folder }
    for name, value in pairs(environment or {}) do all[name] = value end
    return Terminal.open({}, all):expect('leaves\n'):expect('> ')
  end

  local function history()
    local file = assert(io.open(folder .. '/mascon/history', 'rb'))
    local text = file:read('*a')
    file:close()
    return text
  end

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    os.execute('mkdir ' .. folder)
  end)

  after_each(function()
    os.execute('rm -rf ' .. folder)
  end)

  terminal_it('greets, edits a line and leaves at Ctrl-D', function()
    local status, seen = open():type('1 + 41\n'):expect('\n42\n'):expect('> '):type(CTRL_D):finish()
    assert.truthy(seen:find('^mascon %d'))
    assert.equal(0, status)
  end)

  terminal_it('completes a name that is the only one', function()
    open():type('string.upp' .. TAB .. '("abc")\n'):expect('"ABC"'):expect('> '):type(CTRL_D):finish()
  end)

  terminal_it('lists what can follow', function()
    open():type('string.re' .. TAB):expect('rep      reverse'):expect('> string.re'):type(CTRL_C):expect('\n> ')
      :type(CTRL_D):finish()
  end)

  terminal_it('clears the line at Ctrl-C', function()
    local status, seen = open():type('error("never'):expect('never'):type(CTRL_C):expect('> '):type('2 * 4\n')
      :expect('\n8\n'):expect('> '):type(CTRL_D):finish()
    assert.falsy(seen:find('unfinished', 1, true))
    assert.equal(0, status)
  end)

  terminal_it('drops an unfinished chunk at Ctrl-C', function()
    open():type('for i = 1, 2 do\n'):expect('\n. '):type(CTRL_C):expect('\n> '):type('3\n'):expect('\n3\n'):expect('> ')
      :type(CTRL_D):finish()
  end)

  terminal_it('stops a run at Ctrl-C and keeps the session', function()
    local status = open():type('local x = 9 print("begun") while true do end\n'):expect('\nbegun\n'):type(CTRL_C)
      :expect('interrupted'):expect('> '):type('x\n'):expect('\n9\n'):expect('> '):type(CTRL_D):finish()
    assert.equal(0, status)
  end)

  terminal_it('takes characters of several bytes', function()
    open():type('#"ü"\n'):expect('\n2\n'):expect('> '):type(CTRL_D):finish()
  end)

  terminal_it('leaves at SIGTERM with 143', function()
    local terminal = open()
    ffi.C.kill(terminal.pid, 15)
    assert.equal(143, (terminal:finish()))
  end)

  terminal_it('shows the first line of an error in red, unless NO_COLOR is set', function()
    open { NO_COLOR = false }:type('error("bad")\n'):expect('\27[31mprompt[1]:1: bad\27[0m'):expect('> ')
      :type(CTRL_D):finish()
    local _, seen = open():type('error("bad")\n'):expect('bad\n'):expect('> '):type(CTRL_D):finish()
    assert.falsy(seen:find('\27[31m', 1, true))
  end)

  terminal_it('keeps a private history without repeats and without lines that begin with a space', function()
    local terminal = open()
    for _, line in ipairs { '1 + 1', '2 + 2', ' 3 + 3', '1 + 1' } do terminal:type(line .. '\n'):expect('> ') end
    terminal:type(CTRL_D):finish()
    assert.equal('2 + 2\n1 + 1\n', history())
    assert.equal('600\n', (shell('stat -c %a ' .. folder .. '/mascon/history')))
  end)

  terminal_it('searches the lines of earlier sessions with Ctrl-R', function()
    open():type('1000 + 1\n'):expect('\n1001\n'):expect('> '):type(CTRL_D):finish()
    open():type(CTRL_R .. '000'):expect('1000 + 1'):type('\n'):expect('\n1001\n'):expect('> '):type(CTRL_D):finish()
  end)

  terminal_it('prompts plainly with MASCON_EDIT=plain', function()
    local status = open { MASCON_EDIT = 'plain' }:type('1 + 1\n'):expect('\n2\n> '):type('local\n'):expect('\n. ')
      :type(CTRL_C):expect('\n> '):type('quit\n'):finish()
    assert.equal(0, status)
  end)
end)

describe('complete', function()
  local session

  before_each(function()
    session = { env = { alpha = { beta = { gamma = 1 }, run = function() end }, albatross = 1 } }
  end)

  local function words(line, at)
    local list, start = complete.complete(session, line, at or #line)
    return table.concat(list, ' '), start
  end

  it('gives names of the session, globals and keywords', function()
    assert.equal('albatross alpha', (words('al')))
    assert.equal('while', (words('x = 1 whil')))
    assert.equal('setmetatable', (words('setm')))
  end)

  it('gives fields after a dot and tells where they start', function()
    local list, start = words('x = alpha.be')
    assert.equal('beta', list)
    assert.equal(10, start)
    assert.equal('gamma', (words('alpha.beta.')))
  end)

  it('gives only functions after a colon', function()
    assert.equal('run', (words('alpha:')))
    assert.truthy(words('io.stdout:'):find('write', 1, true))
  end)

  it('looks at the text before the cursor only', function()
    assert.equal('beta', (words('alpha.be + 1', 8)))
  end)

  it('follows __index tables and never calls __index functions', function()
    local called = false
    session.env.object = setmetatable({}, { __index = { inherited = 1 } })
    session.env.trap = setmetatable({ own = 1 }, { __index = function() called = true end })
    assert.equal('inherited', (words('object.in')))
    assert.equal('own', (words('trap.')))
    assert.equal('', (words('trap.missing.')))
    assert.is_false(called)
  end)

  it('gives file names inside quotes', function()
    local folder = os.tmpname()
    os.remove(folder)
    os.execute('mkdir -p ' .. folder .. '/inner && touch ' .. folder .. '/one.npy')
    assert.equal(folder .. '/one.npy', (words('mc.load("' .. folder .. '/o')))
    assert.equal(folder .. '/inner/', (words('mc.load("' .. folder .. '/i')))
    os.execute('rm -r ' .. folder)
  end)

  it('gives module names inside require', function()
    assert.truthy(words('require("mascon.host.loc'):find('mascon.host.locals', 1, true))
    assert.truthy(words("local s = require 'strin"):find('^string'))
  end)

  it('gives commands', function()
    assert.equal('time', (words('%ti')))
  end)
end)

describe('locals', function()
  it('take the word away at the top level only', function()
    assert.equal(' x = 1', (locals.persist('local x = 1')))
    assert.equal(' a, b = nil', (locals.persist('local a, b')))
    assert.equal(' function f() local x end', (locals.persist('local function f() local x end')))
    assert.equal('if c then local y end  z = 1', (locals.persist('if c then local y end local z = 1')))
    assert.equal('repeat local q until q  z = 1', (locals.persist('repeat local q until q local z = 1')))
  end)

  it('are not seen in strings and comments', function()
    for _, text in ipairs { 's = "local x"', "s = 'a\\'local x'", 's = [==[ local x ]] ]==]', '-- local x',
      '--[[ local x\n]] y = 1' } do
      assert.equal(text, (locals.persist(text)))
    end
  end)

  it('are named', function()
    local _, names = locals.persist('local a, b = 1 local function c() end')
    assert.same({ 'a', 'b', 'c' }, names)
  end)
end)

describe('show', function()
  it('prints numbers so that they read back the same', function()
    assert.equal('0.1', show.value(0.1))
    assert.equal('0.30000000000000004', show.value(0.1 + 0.2))
    assert.equal('9007199254740991', show.value(2 ^ 53 - 1))
    assert.equal('nan', show.value(0 / 0))
    assert.equal('-inf', show.value(-1 / 0))
    assert.equal('1e+300', show.value(1e300))
  end)

  it('quotes strings', function()
    assert.equal('"a\\n\\"b\\"\\000é"', show.value('a\n"b"\0é'))
  end)

  it('sorts keys: array part, then names', function()
    assert.equal('{ 1, 2, [10] = 3, a = 4, ["b c"] = 5, ["end"] = 6 }',
      show.value { 1, 2, [10] = 3, ['b c'] = 5, a = 4, ['end'] = 6 })
  end)

  it('stops at tables inside themselves and at depth', function()
    local t = { 1 }
    t.self = t
    assert.equal('{ 1, self = <itself, further up> }', show.value(t))
    assert.truthy(show.value({ { { { { 1 } } } } }):find('{...} (1 entries)', 1, true))
  end)

  it('limits long tables', function()
    local t = {}
    for i = 1, 500 do t[i] = i end
    local text = show.value(t)
    assert.truthy(text:find('... (300 more)', 1, true))
    for line in text:gmatch('[^\n]+') do assert.is_true(#line <= 80) end
  end)

  it('uses __tostring and survives one that fails', function()
    assert.equal('as text', show.value(setmetatable({}, { __tostring = function() return 'as text' end })))
    assert.truthy(show.value(setmetatable({}, { __tostring = function() error('no') end })):find('failed', 1, true))
  end)
end)

describe('nearest', function()
  it('counts insertions, deletions, replacements and swaps', function()
    assert.equal(0, nearest.distance('same', 'same', 3))
    assert.equal(1, nearest.distance('print', 'prnt', 3))
    assert.equal(1, nearest.distance('tiem', 'time', 3))
    assert.equal(3, nearest.distance('kitten', 'sitting', 3))
  end)

  it('finds nothing when nothing is near', function()
    assert.is_nil(nearest.name('xyzzy', { 'print', 'pairs' }))
    assert.equal('print', nearest.name('prnt', { 'pairs', 'print' }))
  end)
end)
