-- rooms.lua - knowledge flows one way: an include or a require against the arrow fails.
--
-- usage: luajit tests/lint/rooms.lua [built]   (from the top of the tree; built: no objects of runtime/ are a fault)
-- Between rooms: the table C below and the rules for scripts, workflows and the FFI. Inside runtime/ and lua/: the
-- floors of floors.lua, by include, by quoted module name, by op and, where objects are built, by the functions that C
-- files call; files that include or call one another in a circle fail on one floor too. ops.lua finds lists of ops,
-- calls.lua words and functions that a folder may not use,
-- devices.lua what knows a kind of device.

-- C: files that match the pattern may include the files of this tree that match one of these; %1 is what the pattern
-- found. First match wins.
local NEIGHBOUR = { '^runtime/device/mc_backend%.h$', '^runtime/base/mc_def%.h$', '^kernels/mck%.h$', '^bindings/%1/' }
local DEVICE = { '^runtime/device/mc_device_api%.h$', '^runtime/base/mc_def%.h$', '^bindings/%1/' }
local C = {
  { '^kernels/workflows/([%w_]+)/device/', { '^kernels/mck', '^kernels/workflows/%1/device/[%w_]+%.h$' },
    'programs of devices know kernels/mck*.h and headers of their folder' },
  { '^kernels/workflows/([%w_]+)/cpu/', { '^kernels/mck', '^kernels/workflows/%1/[%w_]+%.h$',
    '^kernels/workflows/%1/device/[%w_]+%.h$', '^kernels/workflows/%1/cpu/[%w_]+%.h$' },
    "kernels of a workflow know kernels/mck*.h and the workflow's headers" },
  { '^kernels/workflows/([%w_]+)/', { '^runtime/mc_plugin%.h$', '^kernels/mck', '^kernels/workflows/%1/[%w_]+%.h$',
    '^kernels/workflows/%1/device/[%w_]+%.h$' },
    'drivers of a workflow know mc_plugin.h, kernels/mck*.h, their own headers and those of device/' },
  { '^kernels/device/', { '^kernels/mck', '^kernels/device/' },
    'device kernels know kernels/mck*.h and their own headers' },
  { '^kernels/cpu/', { '^kernels/mck', '^kernels/cpu/', '^runtime/base/mc_def%.h$', '^build/gen/mc_gen_kernels%.h$' },
    'kernels know kernels/mck*.h, their own headers and mc_def.h' },
  { '^kernels/', { '^kernels/mck', '^runtime/base/mc_def%.h$', '^build/gen/mc_gen_kernels%.h$' },
    'headers of kernels know kernels/mck*.h and mc_def.h' },
  { '^bindings/(cuda)/', DEVICE, 'a device knows mc_device_api.h and its own headers' },
  { '^bindings/(opencl)/', DEVICE, 'a device knows mc_device_api.h and its own headers' },
  { '^bindings/(blas)/', { '^runtime/device/mc_backend%.h$', '^runtime/base/mc_def%.h$',
    '^bindings/openblas/parts%.h$' },
    'it takes the calls of BLAS and LAPACK from the neighbour OpenBLAS' },
  { '^bindings/([%w_]+)/', NEIGHBOUR, 'a neighbour knows mc_backend.h, mck.h and its own headers' },
  { '^runtime/host/', { '^runtime/host/', '^runtime/device/mc_backend%.h$', '^runtime/base/mc_def%.h$' },
    'the program knows host.h and, for the line editor, mc_backend.h' },
  { '^tests/c/', { '^runtime/mascon%.h$', '^runtime/mc_lua%.h$', '^runtime/base/mc_def%.h$',
    '^runtime/device/mc_backend%.h$', '^runtime/formats/mc_formats%.h$', '^kernels/mck', '^tests/c/',
    '^kernels/workflows/' },
    'C tests know the public headers, what a neighbour implements, or kernels' },
  { '^tests/fuzz/host%.c$', { '^runtime/' }, 'the stand-in runtime of the fuzz targets knows the runtime' },
  { '^tests/fuzz/', { '^runtime/mc_lua%.h$' }, 'fuzz targets know the header of the Lua side' },
  { '^tests/standin/', { '^bindings/cuda/parts%.h$', '^tests/standin/' },
    'the stand-in knows the binding it stands behind' },
  { '^runtime/family/mc_launch', { '^runtime/', '^kernels/mck', '^build/gen/', '^kernels/device/jobs%.h$' },
    'launches know the jobs of device kernels' },
  { '^runtime/formats/', { '^runtime/formats/', '^runtime/base/mc_error%.h$', '^runtime/base/mc_memory%.h$',
    '^runtime/base/mc_def%.h$', '^runtime/device/mc_context%.h$', '^runtime/device/mc_backend%.h$',
    '^build/gen/mc_gen_enums%.h$' }, 'formats know errors, memory and the door to zlib, no tensors' },
  { '^runtime/mascon%.h$', { '^runtime/base/mc_types%.h$', '^runtime/formats/mc_files%.h$' },
    'the public header knows the types and the files it shows' },
  { '^runtime/mc_lua%.h$', { '^runtime/mascon%.h$', '^runtime/formats/mc_formats%.h$' },
    'the header of the Lua side knows the public one and the formats' },
  { '^runtime/mc_plugin%.h$', { '^runtime/base/mc_types%.h$' }, 'the header of workflows knows the types' },
  { '^runtime/base/mc_error%.h$', { '^runtime/mc_lua%.h$', '^runtime/base/mc_def%.h$' }, 'errors know no tensors' },
  { '^runtime/', { '^runtime/', '^kernels/mck', '^build/gen/' },
    'the runtime knows itself and the kernels as table entries' },
}

-- Lua modules that touch the FFI, with the reason.
local FFI = {
  ['report/results.lua'] = 'a finalizer', ['core/ffi.lua'] = 'opens libmascon', ['core/tensor.lua'] = 'the handle',
  ['core/index.lua'] = 'index triples handed to C', ['core/view.lua'] = 'shapes handed to C',
  ['core/dlpack.lua'] = 'finalizers of pointers', ['report/devices.lua'] = 'what devices say of themselves',
  ['host/profile.lua'] = 'calls of the library, seen from outside',
  ['base/file.lua'] = 'the writer of files in pieces', ['base/child.lua'] = 'a process',
  ['array/convolution.lua'] = 'numbers that C gives back',
  ['io/safetensors.lua'] = 'bytes of a file into tensors and back',
  ['io/npy.lua'] = 'readers and writers of arrays', ['io/edf.lua'] = 'reader of recordings',
  ['io/samples.lua'] = 'reader of recordings', ['io/scratch.lua'] = 'rows turned on disk',
  ['io/fif.lua'] = 'reader and writer of recordings', ['io/mat.lua'] = 'reader of MATLAB files',
  ['io/hdf5_file.lua'] = 'reader and writer of HDF5 objects', ['graph/recording.lua'] = 'recordings',
  ['kernel/program.lua'] = 'structs of numbers for kernels',
  ['compile/steps.lua'] = 'plans of compiled functions',
  ['compile/call.lua'] = 'calls of compiled functions', ['compile/native/handles.lua'] = 'compilers and compiled code',
}

-- Files of workflows that call libmascon past the Lua side, with the reason.
local DOOR = {
  ['autoreject/probe.lua'] = 'memory that goes back to the system', ['autoreject/stages.lua'] = 'room of a device',
  ['pac/segments.lua'] = 'devices without memory of their own',
  ['pac/stages.lua'] = 'devices without memory of their own', ['rollout/store.lua'] = 'checksums of files',
  ['xpcs/pass/device.lua'] = 'room of a device',
}

-- Lua modules that require what no quoted name of theirs says, with the reason. Elsewhere a name is one quoted word, a
-- part of the file's own folder, or stands quoted in a table of capitals: require(PARTS[name]).
local NAMES = {
  ['core/op.lua'] = 'the module of a row', ['base/workflow.lua'] = 'workflows',
  ['nn/data/dataset.lua'] = 'a module of the user',
  ['init.lua'] = 'registers the public names', ['compile/outside.lua'] = 'the tables of LuaJIT itself',
}

-- Lua modules of LuaJIT itself, free for all.
local PLAIN = { ['bit'] = true, ['jit'] = true, ['table.new'] = true, ['table.clear'] = true, ['jit.opt'] = true,
  ['jit.util'] = true, ['string.buffer'] = true }

local floors = dofile((arg[0]:match '^(.*)/[^/]*$' or '.') .. '/floors.lua')
local list, code = floors.list, floors.code
local HERE = arg[0]:match '^(.*)/[^/]*$' or '.'
local ops, calls, reach = dofile(HERE .. '/ops.lua'), dofile(HERE .. '/calls.lua'), dofile(HERE .. '/reach.lua')
local devices = dofile(HERE .. '/devices.lua')

local failures, files = 0, 0
local function complain(path, line, text)
  failures = failures + 1
  io.stderr:write(('%s:%d: %s\n'):format(path, line, text))
end

local workflows = {} -- by name
for _, path in ipairs(list [[ls -d lua/workflows/*/ kernels/workflows/*/ 2>/dev/null]]) do
  workflows[path:match '([%w_]+)/$'] = true
end

-- Headers that the FFI of Lua reads; what it could not.
local PLAIN_C = {
  ['runtime/mascon.h'] = true, ['runtime/mc_lua.h'] = true, ['runtime/base/mc_types.h'] = true,
  ['runtime/formats/mc_files.h'] = true,
}
local UNREAD = { ['static inline'] = '%f[%w_]inline%f[^%w_]', ['a variadic function'] = ',%s*%.%.%.%s*%)',
  ['a bit-field'] = '^%s*[%w_ ]+:%s*%d+%s*;' }

local includes = {} -- arrows from file to file
local function check_c(path)
  local rule, found
  for _, r in ipairs(C) do
    if not rule and path:find(r[1]) then rule, found = r, path:match(r[1]) end
  end
  local outside = path:find '^kernels/' or path:find '^bindings/'
  local own = path:match '^kernels/workflows/([%w_]+)/'
  for at, line in ipairs(code.of(path).lines) do
    local word = line:match '^%s*#%s*([%a_]*)' or line:match '^%s*%%:' or line:match '^%s*%?%?='
    local quoted, angled = line:match '^%s*#%s*include%s*"([^"]+)"', line:match '^%s*#%s*include%s*<([^>]+)>'
    local ours = angled and floors.included(path, angled)
    local file = quoted and floors.included(path, quoted, true)
    if word and not quoted and not angled
      and (word:find '^i[nm][cp]' or word:find '%p' or line:find '^%s*#%s*%a*\\$') then
      complain(path, at, 'includes a name that the lint cannot read; write #include and the name in quotes on one line')
    elseif ours then complain(path, at, ('includes <%s>; quote what is in this tree'):format(angled))
    elseif quoted and not file then
      complain(path, at, ('includes "%s", which is not in this tree; write <%s>'):format(quoted, quoted))
    elseif rule and file then
      local fine = false
      for _, p in ipairs(rule[2]) do fine = fine or file:find((p:gsub('%%1', found))) ~= nil end
      local other = file:match '^kernels/workflows/([%w_]+)'
      if other and not own and not path:find '^tests/' then
        complain(path, at, ('includes "%s"; the library names no workflow'):format(quoted))
      elseif other and own and other ~= own then
        complain(path, at, ('includes "%s"; a workflow includes nothing of another folder'):format(quoted))
      elseif not fine then complain(path, at, ('includes "%s"; %s'):format(quoted, rule[3])) end
    end
    includes[#includes + 1] = file and { from = path, to = file, target = true }
    for what, pattern in pairs(PLAIN_C[path] and UNREAD or {}) do
      if line:find(pattern) then complain(path, at, ('has %s, which the FFI of Lua does not read'):format(what)) end
    end
    local inner = outside and line:match '%f[%w_]mci_[%w_]*'
    if inner then complain(path, at, ('names %s; what begins with mci_ is known in runtime/ alone'):format(inner)) end
    local name = not own and not path:find '^tests/' and line:match '"([%l_]+)"'
    if name and workflows[name] then complain(path, at, ('names %s; the library names no workflow'):format(name)) end
  end
end

--- A script sees the library as a whole, so that it is an example of the public interface.
local function script_may(name) return name == 'mascon' or name:find '^mascon%.[%w_]+$' ~= nil end

local touched = {}
local function library_may(path, name)
  if name == 'ffi' then
    local file = path:gsub('^lua/mascon/', '')
    touched[file] = true
    return FFI[file] ~= nil, 'touches the FFI; only the modules listed in tests/lint/rooms.lua do'
  end
  if name == 'mascon.core.ffi' and path:find '^lua/workflows/' then
    local file = path:gsub('^lua/workflows/', '')
    touched[file .. ' door'] = true
    return DOOR[file] ~= nil, 'a workflow calls libmascon by its Lua functions; tests/lint/rooms.lua lists others'
  end
  if path:find '^lua/mascon/host/' then return true end
  if PLAIN[name] or name:find '^mascon' or name:find '^workflows%.' then return true end
  return false, 'the library needs nothing but itself and LuaJIT'
end

--- Whether what follows the word require says in this file what is required.
local function is_plain(after, folder)
  if after:find '^%s*%(?%s*\'[%w_.]+\'' or after:find '^%s*%(?%s*"[%w_.]+"' then
    return not after:find '^%s*%(%s*[\'"][^\'"]*[\'"]%s*%.%.' or after:match '[\'"]([^\'"]*)':sub(1, #folder) == folder
  end
  return after:find '^%s*,%s*[\'"][%w_.]+[\'"]%s*%)' or after:find '^%s*%(%s*%u[%u%d_]*%[[^%[%]]*%][%w_.]*%s*%)'
end

--- Ways to name a module past the lint.
local function check_words(path, at, line, bare)
  local folder, file = path:match '^lua/(.*/)':gsub('/', '.'), path:gsub('^lua/mascon/', '')
  if path:find '^lua/mascon/host/' then return end
  local free, said = false, false
  for to in bare:gmatch '%f[%w_.:]require()%f[^%w_]' do
    if not is_plain(line:sub(to), folder) and bare:find('^%s*=[^=]', to) == nil then
      free, said = true, not NAMES[file]
      if said then complain(path, at, 'requires a name that the lint cannot read; write it as one quoted word') end
    end
  end
  for name in line:gmatch '[\'"](%l+%.[%w_.%%]*)[\'"]' do
    if (name:find '^mascon%.' or name:find '^workflows%.') and (name:find '%.$' or name:find '%%') then
      free = free or name:sub(1, #folder) ~= folder
      if not said and not NAMES[file] and name:sub(1, #folder) ~= folder then
        complain(path, at, ('makes a name of %q; write modules as one quoted word'):format(name))
      end
    end
  end
  for _, what in ipairs { 'preload', 'loaders', 'searchers', 'loadlib', 'loaded%s*%[' } do
    local after = bare:match('package%.' .. what .. '()')
    if after and (what:find '^loade[rd]' == nil or what == 'loaders' or not line:find('^%s*[\'"]', after)) then
      free = true
      if not NAMES[file] then complain(path, at, 'reaches modules past require; write require and one quoted word') end
    end
  end
  if free then touched[file .. ' names'] = true end
  if line:find 'package%.loaded%.ffi' or line:find 'package%.loaded%[%s*[\'"]ffi[\'"]'
    or line:find 'require%s*,%s*[\'"]ffi[\'"]' then
    complain(path, at, 'takes the FFI past require; only the modules listed in tests/lint/rooms.lua touch it')
  end
end

--- A workflow reached through the public table or as native code: mc.pac, mc['pac'], workflow.native 'pac'.
local function check_public(path, at, line, bare)
  local own = path:match '^lua/workflows/([%w_]+)'
  local function named(name, as)
    if workflows[name] and name ~= own then
      complain(path, at, ('names %s; %s'):format(as:format(name), own and 'a workflow knows the library and itself'
        or 'the library names no workflow'))
    end
  end
  for name in bare:gmatch '%f[%w_.]mc%.([%l_]+)%f[^%w_]' do named(name, 'mc.%s') end
  for name in line:gmatch "%[%s*['\"]([%l_]+)['\"]%s*%]" do named(name, "['%s']") end
  for name in line:gmatch "%f[%w_]native%s*%(?%s*['\"]([%l_]+)['\"]" do named(name, "native '%s'") end
  for name in not own and line:gmatch "['\"]([%l_]+)['\"]" or function() end do named(name, "'%s'") end
end

local function check_lua(path)
  local f = code.of(path)
  for at, line in ipairs(f.lines) do
    if path:find '^lua/' then
      check_words(path, at, line, f.bare[at])
      check_public(path, at, line, f.bare[at])
    end
    for name in line:gmatch 'require%s*%(?%s*[\'"]([%w_.]+)[\'"]' do
      if path:find '^scripts/' then
        if not script_may(name) then
          complain(path, at, ('requires %s; a script sees mascon and its public modules'):format(name))
        end
      elseif path:find '^lua/' then
        local fine, why = library_may(path, name)
        if not fine then complain(path, at, ('requires %s: %s'):format(name, why)) end
      end
    end
    if path:find '^lua/mascon/' and not path:find '^lua/mascon/host/' and line:find 'ffi%.C%f[^%w_]' then
      complain(path, at, 'uses ffi.C; the library is reached through mascon.core.ffi')
    end
  end
end

for _, path in ipairs(list [[find kernels runtime bindings tests -name '*.[ch]']]) do
  files = files + 1
  check_c(path)
  if not path:find '^tests/' then
    ops.check(path, complain)
    calls.check(path, complain)
    devices.check(path, complain)
  end
end
for _, path in ipairs(
  list [[find lua scripts runtime/ops runtime/host -name '*.lua' -not -path '*/rows/*' 2>/dev/null]]) do
  files = files + 1
  ops.check(path, complain)
  calls.check(path, complain)
  devices.check(path, complain)
  if not path:find '^runtime/' then check_lua(path) end
end
calls.finish(complain)
devices.finish(complain)
reach.check(list [[find lua/mascon lua/workflows runtime/ops/rows -name '*.lua' 2>/dev/null]], complain)
for _, circle in ipairs(floors.circles(includes, function() return true end)) do
  complain(circle:match '^%S+', 1, ('includes in a circle: %s'):format(circle))
end
for file in pairs(FFI) do
  if not touched[file] and io.open('lua/mascon/' .. file) then
    complain('tests/lint/rooms.lua', 1, ('FFI lists %s, which does not touch it; take it off the list'):format(file))
  end
end
for file in pairs(DOOR) do
  if not touched[file .. ' door'] and io.open('lua/workflows/' .. file) then
    complain('tests/lint/rooms.lua', 1, ('DOOR lists %s, which does not require it; take it off the list'):format(file))
  end
end
for file in pairs(NAMES) do
  if not touched[file .. ' names'] and io.open('lua/mascon/' .. file) then
    complain('tests/lint/rooms.lua', 1,
      ('NAMES lists %s, which requires quoted names alone; take it off the list'):format(file))
  end
end

-- ---------------------------------------------------------------- floors

local TOP = { ['mascon.h'] = true, ['mc_lua.h'] = true, ['mc_plugin.h'] = true } -- of runtime/, the public headers
local arrows, is = floors.lua_arrows()
for _, path in ipairs(list [[find lua -name '*.lua']]) do
  if not path:find '^lua/mascon/' and not path:find '^lua/workflows/' then
    complain(path, 1, 'stands in no room; Lua files are in lua/mascon and lua/workflows')
  end
end
for _, path in ipairs(list [[find lua/mascon -name '*.lua']]) do
  if not floors.lua_floor(path) then
    complain(path, 1, 'stands on no floor; put it into a folder of lua/mascon (tests/lint/floors.lua lists them)')
  end
end
for _, path in ipairs(list [[find runtime -name '*.[ch]']]) do
  local file = path:gsub('^runtime/', '')
  if not TOP[file] and not floors.floor_of(floors.place_c, file) then
    complain(path, 1, 'stands on no floor; the folders of runtime/ are those of tests/lint/floors.lua')
  end
end

--- What a file of a workflow may name: the library and itself, of its folders its own and those before it.
local function check_workflow(a)
  local name, folder, at = floors.workflow_floor(a.from)
  local _, over, to = floors.workflow_floor(a.to)
  if floors.WORKFLOWS[name] and not at then
    complain(a.path, a.line, ('stands on no floor of %s; tests/lint/floors.lua lists them'):format(name))
  elseif at and to and to > at then
    complain(a.path, a.line, ('names %s: %s stands above %s'):format(a.to, over, folder))
  end
  local own, other = a.path:match '^lua/workflows/([%w_]+)', a.to:match '^workflows%.([%w_]+)'
  if other and own ~= other then
    complain(a.path, a.line, ('names %s; a workflow knows the library and itself'):format(a.to))
  end
  if a.to:find '^mascon%.host%.' or a.to == 'mascon.host' then
    complain(a.path, a.line, ('names %s; a workflow does not know the program'):format(a.to))
  end
end

for _, a in ipairs(arrows) do
  if a.path:find '^lua/workflows/' then
    check_workflow(a)
  elseif a.to:find '^workflows%.' then
    complain(a.path, a.line, ('names %s; the library names no workflow'):format(a.to))
  else
    local from = floors.lua_floor(a.path)
    local to = a.to == 'mascon' and floors.TABLES['init.lua'] or a.target and floors.lua_floor(a.target)
      or a.to:match '^mascon%.(gen)%.'
    if from and to and floors.place_lua[to] > floors.place_lua[from] then
      complain(a.path, a.line, ('names %s: %s stands above %s'):format(a.to, to, from))
    end
  end
end
local op_arrows = floors.op_arrows()
for _, a in ipairs(op_arrows) do
  local from, to = floors.lua_floor(a.path), floors.module_floor(a.to)
  if from and to and floors.place_lua[to] > floors.place_lua[from] then
    complain(a.path, a.line, ('calls %s of %s: %s stands above %s'):format(a.name, a.to, to, from))
  end
end
for _, a in ipairs(floors.c_arrows()) do
  if a.from and a.to and floors.place_c[a.to] > floors.place_c[a.from] then
    complain(a.path, a.line, ('includes "%s": %s stands above %s'):format(a.header, a.to, a.from))
  end
end
local c_calls = floors.c_calls()
if arg[1] == 'built' and not c_calls[1] then
  complain('build/obj/runtime', 0,
    'holds no objects, so the calls of C cannot be read; run make LEVELS=v3 all, then make lint')
end
for _, c in ipairs(c_calls) do
  if floors.place_c[c.to] > floors.place_c[c.from] then
    complain('runtime/' .. c.file, 1, ('calls %s of %s: %s stands above %s'):format(c.name, c.target, c.to, c.from))
  end
end
for _, c in ipairs(c_calls) do c.from, c.to, c.target = 'runtime/' .. c.file, 'runtime/' .. c.target, true end
local part_calls = floors.part_calls()
for _, c in ipairs(part_calls) do c_calls[#c_calls + 1] = c end
for _, circle in ipairs(floors.circles(c_calls, function() return true end)) do
  local text = 'calls in a circle: %s; give what they share a file of its own'
  complain(circle:match '^%S+', 1, text:format(circle))
end
for _, a in ipairs(op_arrows) do
  a.target = is[a.to]
  arrows[#arrows + 1] = a
end
for _, circle in ipairs(floors.circles(arrows, function(a) return a.eager end)) do
  complain(circle:match '^%S+', 1, ('is loaded in a circle: %s'):format(circle))
end
local seen = {}
for _, circle in ipairs(floors.circles(arrows, function() return true end)) do
  seen[circle] = true
  if not floors.CIRCLES[circle] then
    local text = 'stands in a circle: %s; give what they share a file of its own'
    complain(circle:match '^%S+', 1, text:format(circle))
  end
end

for circle in pairs(floors.CIRCLES) do
  local there = true
  for m in circle:gmatch '%S+' do
    there = there and io.open('lua/' .. m:gsub('%.', '/') .. '.lua') ~= nil
      or io.open('lua/' .. m:gsub('%.', '/') .. '/init.lua') ~= nil
  end
  if there and not seen[circle] then
    complain('tests/lint/floors.lua', 1,
      ('CIRCLES lists %s, which is none any more; take it off the list'):format(circle))
  end
end

print(('rooms: %d files, %s, %d against the arrow'):format(
  files, #c_calls > #part_calls and #c_calls .. ' calls of C' or 'calls of C not read (nothing is built)', failures))
os.exit(failures == 0 and 0 or 1)
