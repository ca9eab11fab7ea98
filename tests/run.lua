-- run.lua - runs the specs: mascon tests/run.lua [FILTER]... [--seed N] [--queue FOLDER [--files N]] [--failures FILE]
-- [--verbose]
--
-- Assembles busted from its parts instead of calling its command line, for three reasons: the last line is ours ("N
-- passed, M failed"), failures set the exit status, and spec files share loaded modules (busted would unload and reload
-- the library for each file, which an FFI library with registered types does not survive). Files and tests are
-- shuffled; the seed is printed. FILTER picks the spec files whose name (or path) contains it or, when there is none,
-- the tests whose full name does; several filters pick files only. Processes that are given one --queue FOLDER (a new,
-- empty one) divide the files among themselves: each takes the next file that no other has begun, at most N of them.
-- What fails is also written to the FILE of --failures, at once; FILE.now names the spec file that runs, until the
-- process ends as it should.

local function missing(what)
  io.stderr:write('tests need busted (', what, '); `make deps` installs it\n')
  os.exit(2)
end

local folder = arg[0]:match('^(.*)/[^/]*$') or '.'
local filters = {}
local filter, seed, verbose, queue, failures -- filter: a part of the names of tests
local most = math.huge
do
  local i = 1
  while arg[i] do
    if arg[i] == '--seed' then
      i = i + 1
      seed = tonumber(arg[i])
      if not seed then
        io.stderr:write('--seed needs a number\n')
        os.exit(2)
      end
    elseif arg[i] == '--queue' then
      i = i + 1
      queue = arg[i]
      if not queue then
        io.stderr:write('--queue needs a folder\n')
        os.exit(2)
      end
    elseif arg[i] == '--files' then
      i = i + 1
      most = tonumber(arg[i])
      if not most then
        io.stderr:write('--files needs a number\n')
        os.exit(2)
      end
    elseif arg[i] == '--failures' then
      i = i + 1
      failures = arg[i]
      if not failures then
        io.stderr:write('--failures needs a file\n')
        os.exit(2)
      end
    elseif arg[i] == '--verbose' then
      verbose = true
    elseif arg[i]:sub(1, 1) == '-' then
      io.stderr:write('unknown option ', arg[i], '; there are --seed N, --queue FOLDER, --files N,',
        ' --failures FILE and --verbose\n')
      os.exit(2)
    else
      filters[#filters + 1] = arg[i]:match '^.*/([^/]+_spec%.lua)$' or arg[i]
    end
    i = i + 1
  end
end

local ok, core = pcall(require, 'busted.core')
if not ok then missing(core:match('[^\n]*')) end
local path = require 'pl.path'
local dir = require 'pl.dir'

local busted = core()
require 'busted'(busted)
busted.register('file', 'file', {}) -- no insulation
busted.sort = false
busted.randomize = true
busted.randomseed = seed or require 'busted.utils'.urandom() or os.time()

-- A signal reaches the test that runs as an error, which busted would count and go on: the run ends with the test
-- instead.
local host = require 'mascon.host'
local function stopped()
  local number, word = host.signal()
  if not number then return end
  print(('%s (signal %d)'):format(word, number))
  os.exit(128 + number)
end

-- Without the optional neighbours (MASCON_TEST_BARE=1) what meets one is pending, if the error names the plug-in and
-- the package: in a test, before it, or while a file is read.
local bare = os.getenv 'MASCON_TEST_BARE' == '1'
local met -- a plug-in that the running test met
local function neighbour(message)
  local text = type(message) == 'table' and tostring(message.message or message) or tostring(message)
  return bare and text:match '(mc_%w+%.so): cannot be opened [^\n]*install' or nil
end
if bare then
  busted.subscribe({ 'test', 'start' }, function(element)
    local body = element.run
    element.run = function(...)
      local fine, e = xpcall(body, function(object)
        return { needs = neighbour(object), e = object, trace = debug.traceback() }
      end, ...)
      if fine then return end
      if e.needs then busted.pending('needs ' .. e.needs) end
      if type(e.e) == 'string' then error(e.e .. '\n' .. e.trace, 0) end
      error(e.e, 0)
    end
    return nil, true
  end)
end

-- A failure in a few lines: place, name, seed, the beginning of the message. A process that dies later leaves them.
local LINES, COLUMNS = 8, 200
local function write(name, mode, text)
  if not failures then return end
  local f = assert(io.open(name, mode))
  f:write(text)
  f:close()
end
local function note(what, message)
  local lines = { ('FAILED %s (seed %s)'):format(what, tostring(busted.randomseed)) }
  local text = type(message) == 'table' and message.message or message
  for line in tostring(text or 'no message'):gmatch '[^\n]+' do
    if line:match '^%s*stack traceback:' or #lines > LINES then break end
    lines[#lines + 1] = '    ' .. line:sub(1, COLUMNS)
  end
  write(failures, 'a', table.concat(lines, '\n') .. '\n')
end
local function note_test(element, message)
  local names, file, up = {}, nil, element
  while up and up.descriptor do
    if up.descriptor == 'file' then file = up.name break end
    table.insert(names, 1, up.name or up.descriptor)
    up = busted.context.parent(up)
  end
  local place = element.trace and element.trace.currentline or 0
  note(('%s:%d: %s'):format(file or element.name or '?', place, table.concat(names, ' ')), message)
end

local passed, failed, skipped = 0, 0, 0
busted.subscribe({ 'test', 'end' }, function(_, _, status)
  if status == 'success' then
    passed = passed + 1
  elseif status == 'pending' or met then
    skipped = skipped + 1
  else
    failed = failed + 1
  end
  met = nil
  stopped()
  return nil, true
end)
local function outside_of_tests(element, _, message)
  stopped()
  met = neighbour(message) or met
  if element and not neighbour(message) then note_test(element, message) end
  if element and element.descriptor == 'it' then return nil, true end
  if neighbour(message) then
    skipped, met = skipped + 1, nil
  else
    failed = failed + 1
  end
  return nil, true
end
busted.subscribe({ 'error' }, outside_of_tests)
busted.subscribe({ 'failure' }, outside_of_tests)

-- What a spec file made dies with it: its tests are forgotten once they ran, and the tensor memory that is left then
-- was leaked by the file, or is held by the library, which keeps none.
local FIELDS = { 'run', 'env', 'before_each', 'after_each', 'lazy_setup', 'lazy_teardown', 'strict_setup',
  'strict_teardown', 'setup', 'teardown' }
local function forget(element)
  local children = busted.context.children(element)
  for i = #children, 1, -1 do
    forget(children[i])
    for _, name in ipairs(FIELDS) do children[i][name] = nil end
    children[i] = nil
  end
end
local held, leaks = 0, {}
local function tensor_bytes()
  local mascon = package.loaded.mascon
  if not mascon then return 0 end
  require 'jit'.flush() -- compiled traces hold upvalues as constants
  collectgarbage()
  collectgarbage()
  return mascon.memory().tensors
end
local clock, times, begun = host.clock, {}, {} -- begun: files that this process runs
busted.subscribe({ 'file', 'start' }, function(file)
  times[file.name] = clock()
  return nil, true
end)
busted.subscribe({ 'file', 'end' }, function(file)
  forget(file)
  if not begun[file.name] then return nil, true end
  times[#times + 1] = { file.name, clock() - times[file.name] }
  local left = tensor_bytes()
  if left > held then leaks[#leaks + 1] = ('%s leaves %d bytes of tensors'):format(file.name, left - held) end
  held = left
  return nil, true
end)

-- With --verbose: the tests that took most time of this processor; processes that they start are not counted.
local took, since = {}, nil
busted.subscribe({ 'test', 'start' }, function()
  since = os.clock()
  return nil, true
end)
busted.subscribe({ 'test', 'end' }, function(element)
  took[#took + 1] = { os.clock() - (since or os.clock()), element.name }
  return nil, true
end)

local files = {}
for _, file in ipairs(dir.getallfiles(folder .. '/spec', '*_spec.lua')) do files[#files + 1] = file end
table.sort(files)
if #filters > 0 then
  local chosen, used = {}, {}
  for _, file in ipairs(files) do
    local wanted = false
    for _, part in ipairs(filters) do
      if path.basename(file):find(part, 1, true) then wanted, used[part] = true, true end
    end
    if wanted then chosen[#chosen + 1] = file end
  end
  for _, part in ipairs(filters) do
    if not used[part] and #filters > 1 then
      io.stderr:write(("no spec file has '%s' in its name; several filters pick files\n"):format(part))
      os.exit(2)
    end
  end
  if #chosen > 0 then files = chosen else filter = filters[1] end
end
require 'busted.modules.output_handler_loader'()(busted, 'plainTerminal', {
  defaultOutput = 'plainTerminal', verbose = verbose, language = 'en', arguments = {},
})
if filter then
  local function plain(text) return (text:gsub('%p', '%%%0')) end
  require 'busted.modules.filter_loader'()(busted, {
    tags = {}, excludeTags = {}, filter = { plain(filter) }, filterOut = {},
  })
end
-- Files are read when their turn comes, and their code goes with them: specs that measure memory collect the whole heap
-- many times. A file belongs to the process whose mkdir makes the folder of its name.
local function mine(file)
  if not queue then return true end
  if most < 1 then return false end
  local ffi = require 'ffi'
  ffi.cdef 'int mkdir(const char *, unsigned int);'
  if ffi.C.mkdir(queue .. '/' .. path.basename(file), 448) ~= 0 then
    if ffi.errno() == 17 then return false end -- EEXIST
    error(('%s cannot be written; files would be left out'):format(queue))
  end
  most = most - 1
  return true
end
local get_trace = select(2, require 'busted.modules.files.lua'.load(busted, arg[0]))
for _, file in ipairs(files) do
  local function begin(_, ...)
    if not mine(file) then return end
    begun[file] = true
    if failures then write(failures .. '.now', 'w', file .. '\n') end
    local chunk = assert(loadfile(file))
    busted.wrap(chunk)
    return chunk(...)
  end
  -- a table that is called, as busted makes them: it looks for getTrace there
  busted.executors.file(file, setmetatable({ getTrace = get_trace }, { __call = begin }))
end

-- Files of more than some 8 s first, so that processes that divide them end together.
local LONG = {}
for name in ([[
  autoreject_memory call compile_passes cuda_adapter curve_fit_fused device_fused device_matrix device_rows
  device_shared device_transforms device_workflows footprint grad_layers grad_linalg hdf5_apart host integrate
  native network_device network_plan ops_matrix publish rollout_input rollout_own rollout_run row sample
  script_autoreject script_pac script_xpcs soak transform_cases xpcs_bad_input xpcs_conformance xpcs_contrasts
  xpcs_device xpcs_fit xpcs_joint xpcs_memory xpcs_noise xpcs_own xpcs_pixels xpcs_posterior xpcs_state xpcs_stop
  xpcs_verdict ]]):gmatch '%S+' do
  LONG[name] = true
end
busted.subscribe({ 'suite', 'start' }, function(suite)
  local children, long, short = busted.context.children(suite), {}, {}
  for _, file in ipairs(children) do
    local name = path.basename(file.name):gsub('_spec%.lua$', '')
    table.insert(LONG[name] and long or short, file)
  end
  for k = 1, #children do children[k] = long[k] or short[k - #long] end
  return nil, true
end)

print(('%d spec files, seed %s'):format(#files, tostring(busted.randomseed)))
local started = clock()
require 'busted.execute'(busted)(1, { seed = busted.randomseed, shuffle = true })
busted.publish { 'exit' }

if filter and passed + failed + skipped == 0 then
  local none = ("no spec file and no test has '%s' in its name"):format(filter)
  print(none)
  note(none, 'give a part of a name')
  failed = 1
end
for _, leak in ipairs(leaks) do
  print(leak)
  note(leak, 'release them in a teardown, or set what holds them to nil')
end
failed = failed + #leaks
table.sort(times, function(a, b) return a[2] > b[2] end)
if #times > 1 then
  local longest = {}
  for i = 1, math.min(8, #times) do longest[i] = ('%s %.1f'):format(path.basename(times[i][1]):gsub('_spec%.lua$', ''),
    times[i][2]) end
  print(('%d files run, longest in s: %s'):format(#times, table.concat(longest, ', ')))
end
if verbose then
  table.sort(took, function(a, b) return a[1] > b[1] end)
  for i = 1, math.min(15, #took) do print(('%7.2f s of a processor  %s'):format(took[i][1], took[i][2])) end
end
if failures then os.remove(failures .. '.now') end
print(('%.1f s'):format(clock() - started))
print(('%d passed, %d failed%s'):format(passed, failed, skipped > 0 and (', %d skipped'):format(skipped) or ''))
os.exit(failed == 0 and 0 or 1)
