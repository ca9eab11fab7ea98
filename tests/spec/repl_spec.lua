-- repl_spec.lua - the prompt: through a pipe, through a terminal with the line editor, and its parts.
--
-- The terminal is made by script(1); the specs that need it are pending where it or the editor plug-in is missing.

local host = require 'mascon.host'
local complete = require 'mascon.host.complete'
local locals = require 'mascon.host.locals'
local nearest = require 'mascon.host.nearest'
local show = require 'mascon.host.show'

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
    local out, status = shell(('sh -c %s'):format(quote(
      ('(sleep 0.4; kill -INT $$) & printf "local x = 5\\nwhile true do end\\nx\\n" > $0.in; exec %s -i < $0.in')
      :format(PROGRAM)) .. ' ' .. os.tmpname()))
    assert.truthy(out:find('interrupted', 1, true), out)
    assert.truthy(out:find('> 5\n> \n$'), out)
    assert.equal(0, status)
  end)
end)

describe('the terminal', function()
  local have_script = os.execute('command -v script >/dev/null 2>&1') == 0
  local plugin = io.open(host.plugindir .. '/mc_libedit.so', 'rb')
  if plugin then plugin:close() end
  local lacking = not have_script and 'script(1) is not installed' or not plugin and 'the editor plug-in is not built'

  local function terminal_it(name, fn)
    if lacking then
      pending(name .. ' (' .. lacking .. ')')
    else
      it(name, fn)
    end
  end

  local folder

  ---Types each text after a pause; returns all that the terminal showed, and the history file.
  local function type_in(...)
    folder = os.tmpname()
    os.remove(folder)
    local steps = { 'sleep 0.4' }
    for _, text in ipairs { ... } do steps[#steps + 1] = ('printf %%b %s; sleep 0.25'):format(quote(text)) end
    local out, status = shell(('mkdir %s; cd %s; (%s) | NO_COLOR=1 TERM=xterm LC_ALL=C.UTF-8 XDG_STATE_HOME=%s '
      .. 'script -qec %s /dev/null'):format(folder, folder, table.concat(steps, '; '), folder, quote(PROGRAM)))
    local file = io.open(folder .. '/mascon/history', 'rb')
    local history = file and file:read('*a')
    if file then file:close() end
    return (out:gsub('\r', '')), status, history
  end

  after_each(function()
    if folder then os.execute('rm -rf ' .. quote(folder)) end
    folder = nil
  end)

  terminal_it('greets, edits a line and leaves at Ctrl-D', function()
    local out, status = type_in('1 + 41\\n', '\\004')
    assert.truthy(out:find('^mascon %d'))
    assert.truthy(out:find('\n42\n', 1, true))
    assert.equal(0, status)
  end)

  terminal_it('completes a name that is the only one', function()
    local out = type_in('string.upp\\t("abc")\\n', '\\004')
    assert.truthy(out:find('"ABC"', 1, true))
  end)

  terminal_it('lists what can follow', function()
    local out = type_in('string.re\\t', '\\003', '\\004')
    assert.truthy(out:find('rep +reverse'))
  end)

  terminal_it('clears the line at Ctrl-C', function()
    local out, status = type_in('error("never', '\\003', '2 * 4\\n', '\\004')
    assert.truthy(out:find('\n8\n', 1, true))
    assert.falsy(out:find('unfinished', 1, true))
    assert.equal(0, status)
  end)

  terminal_it('stops a run at Ctrl-C and keeps the session', function()
    local out, status = type_in('local x = 9 while true do end\\n', '\\003', '\\n', 'x\\n', '\\004')
    assert.truthy(out:find('interrupted', 1, true))
    assert.truthy(out:find('\n9\n', 1, true))
    assert.equal(0, status)
  end)

  terminal_it('takes characters of several bytes', function()
    local out = type_in('#"\\0303\\0274"\\n', '\\004')
    assert.truthy(out:find('\n2\n', 1, true))
  end)

  terminal_it('keeps a private history without repeats and without lines that begin with a space', function()
    local _, _, history = type_in('1 + 1\\n', '2 + 2\\n', ' 3 + 3\\n', '1 + 1\\n', '\\004')
    assert.equal('2 + 2\n1 + 1\n', history)
    local mode = shell('stat -c %a ' .. folder .. '/mascon/history')
    assert.equal('600\n', mode)
  end)

  terminal_it('searches earlier lines with Ctrl-R', function()
    local out = type_in('1000 + 1\\n', '5\\n', '\\022', '000', '\\n', '\\004')
    local _, count = out:gsub('\n1001\n', '')
    assert.equal(2, count)
  end)

  terminal_it('prompts plainly with MASCON_EDIT=plain', function()
    local out = shell(('printf "1 + 1\\nquit\\n" | MASCON_EDIT=plain script -qec %s /dev/null'):format(quote(PROGRAM)))
    assert.truthy(out:find('> 2', 1, true))
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
