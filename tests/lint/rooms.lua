-- rooms.lua - knowledge flows one way: an include or a require against the arrow fails.
--
-- usage: luajit tests/lint/rooms.lua   (from the top of the tree)
-- Between rooms: the table C below and the rules for scripts, workflows and the FFI. Inside runtime/ and lua/: the floors of floors.lua, by
-- include, by quoted module name, by op and, where objects are built, by the functions that C files call; files that
-- call one another in a circle fail on one floor too.

-- C: files that match a pattern may include headers whose base name matches one of these. First match wins.
local C = {
  { '^kernels/workflows/', { '^mc_plugin%.h$', '^mck', '^mc_def%.h$', '^[^m][%w_]*%.h$', '^m[^ac][%w_]*%.h$', '^%.%./[%w_]+%.h$' }, 'a workflow knows mc_plugin.h, kernels/mck*.h and its own headers' },
  { '^kernels/device/', { '^mck', '^[^m][%w_]*%.h$' },
    'device kernels know kernels/mck*.h and their own headers' },
  { '^kernels/', { '^mck', '^mc_def%.h$', '^mc_gen_kernels%.h$', '_body%.h$', '^fft_', '^sort_', '^random_' }, 'kernels know kernels/mck*.h and mc_def.h' },
  { '^bindings/openblas/', { '^mc_backend%.h$', '^mck%.h$', '^parts%.h$' }, 'openblas knows its own parts.h' },
  { '^bindings/fftw/', { '^mc_backend%.h$', '^mc_def%.h$', '^parts%.h$' }, 'fftw knows its own parts.h' },
  { '^bindings/hdf5/', { '^mc_backend%.h$', '^mc_def%.h$', '^parts%.h$' }, 'the HDF5 neighbour knows mc_backend.h and its own parts.h' },
  { '^bindings/cuda/', { '^mc_device_api%.h$', '^mc_def%.h$', '^parts%.h$' },
    'the binding of CUDA knows its own parts.h' },
  { '^bindings/', { '^mc_backend%.h$', '^mc_device_api%.h$', '^mc_def%.h$', '^mck%.h$' }, 'neighbours know mc_backend.h or mc_device_api.h, and mck.h' },
  { '^runtime/host/', { '^host%.h$', '^mc_backend%.h$', '^mc_def%.h$' }, 'the program knows host.h and, for the line editor, mc_backend.h' },
  { '^tests/c/', { '^mascon%.h$', '^mc_lua%.h$', '^mc_def%.h$', '^mc_backend%.h$', '^mc_formats%.h$', '^mck', '_check%.h$', '^%.%./%.%./kernels/workflows/' }, 'C tests know the public headers, what a neighbour implements, or kernels' },
  { '^tests/fuzz/host%.c$', { '^mc_' }, 'the stand-in runtime of the fuzz targets knows the runtime' },
  { '^tests/fuzz/', { '^mc_lua%.h$' }, 'fuzz targets know the header of the Lua side' },
  { '^runtime/family/mc_launch', { '^mc_', '^mck', '/device/jobs%.h$', '^jobs%.h$' },
    'launches know the jobs of device kernels' },
  { '^runtime/formats/', { '^mc_files%.h$', '^mc_formats%.h$', '^mc_hdf5_apart%.h$', '^mc_error%.h$', '^mc_memory%.h$', '^mc_context%.h$', '^mc_backend%.h$', '^mc_def%.h$', '^mc_gen_enums%.h$' }, 'formats know errors, memory and the door to zlib, no tensors' },
  { '^runtime/mascon%.h$', { '^base/mc_types%.h$', '^formats/mc_files%.h$' },
    'the public header knows the types and the files it shows' },
  { '^runtime/mc_lua%.h$', { '^mascon%.h$', '^mc_formats%.h$' },
    'the header of the Lua side knows the public one and the formats' },
  { '^runtime/mc_plugin%.h$', { '^base/mc_types%.h$' }, 'the header of workflows knows the types' },
  { '^runtime/base/mc_error%.h$', { '^mc_lua%.h$', '^mc_def%.h$' }, 'errors know no tensors' },
  { '^runtime/', { '^mc_', '^formats/', '^mck' }, 'the runtime knows itself and the kernels as table entries' },
}

-- C that names single ops (MC_OP_*), with the reason; elsewhere what a driver knows of a row is a field of the row.
local NAMES_OPS = {
  ['runtime/mascon.h'] = 'the example and the words of the public interface',
  ['runtime/family/mc_pick.c'] = 'sums at positions are additions: it runs add',
  ['runtime/family/mc_matmul.c'] = 'products within other ops are its own',
}

-- Lua modules that touch the FFI, with the reason. Files named *native*.lua are those of a workflow's own kernels.
local FFI = {
  ['report/results.lua'] = 'a finalizer', ['core/ffi.lua'] = 'opens libmascon', ['core/tensor.lua'] = 'the handle', ['core/index.lua'] = 'index triples handed to C', ['core/view.lua'] = 'shapes handed to C',
  ['core/dlpack.lua'] = 'finalizers of pointers', ['report/devices.lua'] = 'what devices say of themselves',
  ['host/profile.lua'] = 'calls of the library, seen from outside',
  ['base/file.lua'] = 'the writer of files in pieces', ['base/child.lua'] = 'a process',
  ['io/npy.lua'] = 'readers and writers of arrays', ['io/edf.lua'] = 'reader of recordings', ['io/samples.lua'] = 'reader of recordings', ['io/scratch.lua'] = 'rows turned on disk', ['io/fif.lua'] = 'reader and writer of recordings', ['io/mat.lua'] = 'reader of MATLAB files', ['io/hdf5_file.lua'] = 'reader and writer of HDF5 objects', ['graph/recording.lua'] = 'recordings', ['compile/steps.lua'] = 'plans of compiled functions',
  ['compile/call.lua'] = 'calls of compiled functions', ['compile/native/handles.lua'] = 'compilers and compiled code',
}

-- Lua modules of LuaJIT itself, free for all.
local PLAIN = { ['bit'] = true, ['jit'] = true, ['table.new'] = true, ['table.clear'] = true, ['jit.opt'] = true, ['jit.util'] = true }

local floors = dofile((arg[0]:match '^(.*)/[^/]*$' or '.') .. '/floors.lua')
local list = floors.list

local failures, files = 0, 0
local function complain(path, line, text)
  failures = failures + 1
  io.stderr:write(('%s:%d: %s\n'):format(path, line, text))
end

local function any(text, patterns)
  for _, p in ipairs(patterns) do if text:find(p) then return true end end
  return false
end

local function check_names(path)
  local at, named = 0, false
  for line in io.lines(path) do
    at = at + 1
    local name = line:match '%f[%w_]MC_OP_[%u%d_]+'
    named = named or name ~= nil
    local word = line:match "strcmp%s*%([^,]*%->%s*name%s*,%s*\"" or line:match '%->%s*id%s*[=!]=%s*%d'
    if word then complain(path, at, ('asks for a single op (%s); make what it asks for a field of the row'):format(word)) end
    if name and not NAMES_OPS[path] then
      complain(path, at, ('names %s; make what it asks for a field of the row'):format(name))
    end
  end
  if NAMES_OPS[path] and not named then
    complain('tests/lint/rooms.lua', 1, ('NAMES_OPS lists %s, which names no op; take it off the list'):format(path))
  end
end

local function check_c(path)
  local rule
  for _, r in ipairs(C) do
    if path:find(r[1]) then
      rule = r
      break
    end
  end
  if not rule then return end
  local at = 0
  for line in io.lines(path) do
    at = at + 1
    line = line:gsub('/%*.-%*/', '')
    local header = line:match '^%s*#%s*include%s*"([^"]+)"'
    if line:find '^%s*#%s*include%s+[%a_]' and path:find '^runtime/' then
      complain(path, at, 'includes a name that the lint cannot read; write it in quotes')
    end
    local ours = line:match '^%s*#%s*include%s*<([%w_./]+)>'
    if ours and floors.is_ours(ours) then
      complain(path, at, ('includes <%s>; quote what is in this tree'):format(ours))
    end
    if header and not any(header:match '[^/]*$', rule[2]) and not any(header, rule[2]) then
      complain(path, at, ('includes "%s"; %s'):format(header, rule[3]))
    end
    local own = path:match '^kernels/workflows/([%w_]+)/'
    local other = header and header:match '^%.%./.*%f[%w_]([%w_]+)/[^/]*$'
    if own and other and other ~= own then
      complain(path, at, ('includes "%s"; a workflow includes nothing of another folder'):format(header))
    elseif not own and not path:find '^tests/' and header and header:find 'workflows/' then
      complain(path, at, ('includes "%s"; the library names no workflow'):format(header))
    end
  end
end

--- A script sees the library as a whole, so that it is an example of the public interface.
local function script_may(name) return name == 'mascon' or name:find '^mascon%.[%w_]+$' ~= nil end

local function library_may(path, name)
  if name == 'ffi' then
    local file = path:gsub('^lua/mascon/', '')
    return FFI[file] ~= nil or file:find 'native[%w_]*%.lua$' ~= nil, 'touches the FFI; only the modules listed in tests/lint/rooms.lua do'
  end
  if path:find '^lua/mascon/host/' then return true end
  if PLAIN[name] or name:find '^mascon' or name:find '^workflows%.' then return true end
  return false, 'the library needs nothing but itself and LuaJIT'
end

-- Names of ops, for lists of them: what the library knows of single ops stands in their rows.
local HERE = arg[0]:match '^(.*)/[^/]*$' or '.'
local is_op = {}
local ROWS = dofile(HERE .. '/../../runtime/ops/ops.lua').ops
for _, r in ipairs(ROWS) do is_op[r[1]] = true end
for _, r in ipairs(ROWS) do is_op[r.family] = nil end
local LISTS, SHARE = 3, 0.75 -- so many names, and so great a part of a table, are a list of ops

-- Tables of names that users write, of which many are ops.
local PUBLIC = {
  ['array/statistics.lua'] = 'the option reduce', ['nn/layer/activation.lua'] = 'the option activation',
  ['optim/fit/curve_fit/expression.lua'] = 'functions of formulas', ['help/deviations.lua'] = 'what documents name',
  ['fft/init.lua'] = 'names of mc.fft', ['integrate/init.lua'] = 'names of mc.integrate', ['linalg/init.lua'] = 'names of mc.linalg',
  ['interpolate/init.lua'] = 'names of mc.interpolate', ['random/init.lua'] = 'names of mc.random',
  ['special/init.lua'] = 'names of mc.special', ['stats/init.lua'] = 'names of mc.stats',
}

--- Tables that list ops: positions, keys with any value, over one line or several.
local function check_lists(path, text)
  text = text:gsub('%-%-[^\n]*', '')
  local listed = PUBLIC[path:match '^lua/mascon/(.*)']
  local met = false
  for at, body in text:gmatch '(){([^{}]*)}' do
    local ops, all = 0, 0
    for item in (body .. ','):gmatch '([^,;]*)[,;]' do
      local name = item:match '^%s*([%a_][%w_]*)%s*=[^=]' or item:match "^%s*%[%s*['\"]([%w_]+)['\"]%s*%]%s*=[^=]"
        or item:match "^%s*['\"]([%w_]+)['\"]%s*$"
      if item:find '%S' then all = all + 1 end
      if name and is_op[name] then ops = ops + 1 end
    end
    if ops >= LISTS and ops >= SHARE * all then
      met = true
      local _, before = text:sub(1, at):gsub('\n', '')
      if not listed then complain(path, before + 1, 'lists ops by name; make what they share a field of their rows') end
    end
  end
  if listed and not met then
    complain('tests/lint/rooms.lua', 1, ('PUBLIC has %s, which lists no ops; take it off the list'):format(path))
  end
end

local function check_ops(path, at, code)
  local name = code:match "row%[1%]%s*[~=]=%s*['\"]([%w_]+)['\"]"
    or code:match "['\"]([%w_]+)['\"]%s*[~=]=%s*[%w_.]*row%[1%]"
  if name then complain(path, at, ('asks for the op %s by name; make what it asks for a field of the row'):format(name)) end
end

--- Ways to name a module past the lint. A composed name is fine where its beginning is the folder of the file.
local function check_words(path, at, code)
  local prefix = code:match 'require%s*%(?%s*[\'"]([^\'"]*)[\'"]%s*%.%.'
  local folder = path:match '^lua/(.*/)':gsub('/', '.')
  if code:find 'require%s*%(?%s*%[%[' or prefix and prefix:sub(1, #folder) ~= folder then
    complain(path, at, 'requires a name that the lint cannot read; write it as one quoted word')
  end
  if code:find 'pcall%s*%(%s*require%s*,%s*[\'"]ffi[\'"]' then
    complain(path, at, 'takes the FFI through pcall; only the modules listed in tests/lint/rooms.lua touch it')
  end
end

local workflows = {} -- by name
for _, path in ipairs(list [[ls -d lua/workflows/*/ 2>/dev/null]]) do workflows[path:match '([%w_]+)/$'] = true end

--- A workflow reached through the public table: mc.pac.
local function check_public(path, at, code)
  local own = path:match '^lua/workflows/([%w_]+)'
  for name in code:gsub("'[^']*'", "''"):gsub('"[^"]*"', '""'):gmatch '%f[%w_.]mc%.([%l_]+)%f[^%w_]' do
    if workflows[name] and name ~= own then
      complain(path, at, ('names mc.%s; %s'):format(name, own and 'a workflow knows the library and itself'
        or 'the library names no workflow'))
    end
  end
end

local function check_lua(path)
  local at = 0
  if path:find '^lua/mascon/' then
    local file = assert(io.open(path))
    check_lists(path, file:read '*a')
    file:close()
  end
  for line in io.lines(path) do
    at = at + 1
    local code = line:gsub('%-%-.*$', '')
    if path:find '^lua/' then
      check_words(path, at, code)
      check_public(path, at, code)
    end
    for name in code:gmatch 'require%s*%(?%s*[\'"]([%w_.]+)[\'"]' do
      if path:find '^scripts/' then
        if not script_may(name) then complain(path, at, ('requires %s; a script sees mascon and its public modules'):format(name)) end
      elseif path:find '^lua/' then
        local fine, why = library_may(path, name)
        if not fine then complain(path, at, ('requires %s: %s'):format(name, why)) end
      end
    end
    if path:find '^lua/mascon/' then check_ops(path, at, code) end
    if path:find '^lua/mascon/' and not path:find '^lua/mascon/host/' and code:find 'ffi%.C%f[^%w_]' then
      complain(path, at, 'uses ffi.C; the library is reached through mascon.core.ffi')
    end
  end
end

for _, path in ipairs(list [[find kernels runtime bindings tests -name '*.[ch]']]) do
  files = files + 1
  check_c(path)
  if not path:find '^tests/' then check_names(path) end
end
for _, path in ipairs(list [[find lua scripts -name '*.lua']]) do
  files = files + 1
  check_lua(path)
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
  if not floors.lua_floor(path) then complain(path, 1, 'stands on no floor; put it into a folder of lua/mascon (tests/lint/floors.lua lists them)') end
end
for _, path in ipairs(list [[find runtime -name '*.[ch]']]) do
  local file = path:gsub('^runtime/', '')
  if not TOP[file] and not floors.floor_of(floors.place_c, file) then complain(path, 1, 'stands on no floor; the folders of runtime/ are those of tests/lint/floors.lua') end
end

--- What a file of a workflow may name: the library and itself.
local function check_workflow(a)
  local own, other = a.path:match '^lua/workflows/([%w_]+)', a.to:match '^workflows%.([%w_]+)'
  if other and own ~= other then complain(a.path, a.line, ('names %s; a workflow knows the library and itself'):format(a.to)) end
  if a.to:find '^mascon%.host%.' or a.to == 'mascon.host' then complain(a.path, a.line, ('names %s; a workflow does not know the program'):format(a.to)) end
end

for _, a in ipairs(arrows) do
  if a.path:find '^lua/workflows/' then check_workflow(a)
  elseif a.to:find '^workflows%.' then complain(a.path, a.line, ('names %s; the library names no workflow'):format(a.to))
  else
    local from = floors.lua_floor(a.path)
    local to = a.to == 'mascon' and floors.TABLES['init.lua'] or a.target and floors.lua_floor(a.target) or a.to:match '^mascon%.(gen)%.'
    if from and to and floors.place_lua[to] > floors.place_lua[from] then
      complain(a.path, a.line, ('names %s: %s stands above %s'):format(a.to, to, from))
    end
  end
end
local ops = floors.op_arrows()
for _, a in ipairs(ops) do
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
local calls = floors.c_calls()
for _, c in ipairs(calls) do
  if floors.place_c[c.to] > floors.place_c[c.from] then
    complain('runtime/' .. c.file, 1, ('calls %s of %s: %s stands above %s'):format(c.name, c.target, c.to, c.from))
  end
end
for _, c in ipairs(calls) do c.from, c.to = c.file, c.target end
for _, circle in ipairs(floors.circles(calls, function() return true end)) do
  local text = 'calls in a circle: %s; give what they share a file of its own'
  complain('runtime/' .. circle:match '^%S+', 1, text:format(circle))
end
for _, a in ipairs(ops) do
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
  for m in circle:gmatch '%S+' do there = there and io.open('lua/' .. m:gsub('%.', '/') .. '.lua') ~= nil or io.open('lua/' .. m:gsub('%.', '/') .. '/init.lua') ~= nil end
  if there and not seen[circle] then
    complain('tests/lint/floors.lua', 1, ('CIRCLES lists %s, which is none any more; take it off the list'):format(circle))
  end
end

print(('rooms: %d files, %s, %d against the arrow'):format(
  files, calls[1] and #calls .. ' calls of C' or 'calls of C not read (nothing is built)', failures))
os.exit(failures == 0 and 0 or 1)
