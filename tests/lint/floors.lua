-- floors.lua - the floors of runtime/ and lua/ from the ground up, and every arrow between them.
--
-- A file may name what stands on its own floor or below it: in C by #include and by the functions it calls, in Lua by
-- every quoted module name, whether it is required at once, at the first call, or stands in a table of files to load,
-- and by every op whose row names a module (F.lstsq, mc.linalg.pinv, x:tile(2)). rooms.lua checks, draw.lua draws.
local files = dofile((arg[0]:match '^(.*)/[^/]*$' or '.') .. '/code.lua')
local M = {}
M.code = files

-- runtime/<folder>
M.C = {
  { 'base', 'errors, memory, hash, folders, the compiler process' },
  { 'device', 'what a device is: a table of functions; threads, instruction levels, neighbours' },
  { 'tensor', 'storage, header, views, exchange with others' },
  { 'ops', 'the op table: rows, generator, what is derived from a row' },
  { 'record', 'what a traced function did' },
  { 'family', 'per family of ops: infer and run; dispatch; copies and casts' },
  { 'replay', 'plans, vector machine, native code' },
  { 'formats', 'files, on bytes' },
  { 'host', 'the program: verbs, scripts, prompt' },
}

-- lua/mascon/<folder>; a folder within one may have a floor of its own
M.LUA = {
  { 'gen', 'written by the build: declarations, rows of the op table' },
  { 'core', 'the library opened, the handle, checks of arguments, ops by name, indices, views' },
  { 'random', 'keys, generators, distributions' },
  { 'array', 'makers, joins, products, statistics: functions composed of ops' },
  { 'base', 'text, files, JSON, arguments of scripts, workflows by name' },
  { 'graph', 'recordings as graphs, trees of tensors' },
  { 'compile', 'plans, passes, native code' },
  { 'rules', 'derivatives and batching, by op' },
  { 'transform', 'grad, vmap, loops, branches, the tape' },
  { 'kernel', "functions of one's own from a few lines of text" },
  { 'special', 'special functions' },
  { 'fft', 'discrete transforms' },
  { 'linalg', 'linear algebra' },
  { 'signal', 'windows, filters, spectra' },
  { 'stats', 'distributions, tests, correlation' },
  { 'interpolate', 'lines, splines, grids' },
  { 'optim', 'what all parts share: objectives, parameters as vectors' },
  { 'optim/train', 'update rules, schedules' },
  { 'optim/minimize', 'minimisers and roots' },
  { 'optim/fit', 'least squares, curves' },
  { 'optim/search', 'global and Bayesian search' },
  { 'integrate', 'integrals, differential equations' },
  { 'io', 'formats of files as tensors' },
  { 'plot', 'figures' },
  { 'sample', 'draws from log densities, their diagnostics and figures' },
  { 'report', 'pages, manifests, what the machine offers' },
  { 'nn', 'functions of networks, modules' },
  { 'nn/layer', 'layers' },
  { 'nn/data', 'data sets and their batches' },
  { 'nn/train', 'steps of training, the loop around them, what is kept of a run' },
  { 'meeg', 'recordings of EEG and MEG' },
  { 'help', 'documentation of every public name' },
  { 'host', 'the program in Lua: runner, prompt, verbs' },
}
-- public tables of a floor in parts know the parts, and these alone; the public table of all knows everything but the
-- program
M.TABLES = { ['optim/init.lua'] = 'optim/search', ['optim/minimize/init.lua'] = 'optim/search',
  ['nn/init.lua'] = 'nn/train', ['init.lua'] = 'help' }

-- lua/workflows/<name>/<folder>, of workflows in folders. Files beside the folders know all of them.
M.WORKFLOWS = {
  xpcs = {
    { 'model', 'C2 and its parameters, scaling, numbers in text' },
    { 'data', 'matrices in memory, weights, simulations' },
    { 'pass', 'sums over all points: cost, gradient, normal matrix' },
    { 'read', 'files to matrices, packed files' },
    { 'judge', 'errors, noise, what the data determine, the verdict' },
    { 'show', 'tables, figures, pages, files of results' },
    { 'fit', 'starts, fits of one or several data sets, own models, intervals, posteriors' },
    { 'command', 'configuration, options, what scripts run' },
  },
}

-- Files that name each other, because the methods of one object load their parts when called. Every other circle is an
-- error.
M.CIRCLES = {
  ['mascon mascon.help'] = 'help describes the public table, which holds help',
  ['mascon.meeg.cut mascon.meeg.epochs mascon.meeg.events mascon.meeg.files mascon.meeg.files.arrays '
      .. 'mascon.meeg.files.fif mascon.meeg.raw'] =
    'a recording can be cut, filtered and saved, a file opened is a recording',
}

local function list(command)
  local pipe = assert(io.popen(command))
  local out = {}
  for path in pipe:lines() do out[#out + 1] = path end
  pipe:close()
  table.sort(out)
  return out
end
M.list = list

local function places(floors)
  local at = {}
  for i, f in ipairs(floors) do at[f[1]] = i end
  return at
end
M.place_c, M.place_lua = places(M.C), places(M.LUA)

--- Workflow and folder of a module workflows.NAME.FOLDER.FILE, and the number of that folder; nil beside the folders.
function M.workflow_floor(module)
  local name, folder = module:match '^workflows%.([%w_]+)%.([%w_]+)%.'
  local floors = M.WORKFLOWS[name]
  return name, folder, floors and places(floors)[folder]
end

local function there(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

--- Folder and header as one path below the top of the tree, without . and ..
local function joined(folder, header)
  local parts = {}
  for part in (folder .. '/' .. header):gmatch '[^/]+' do
    if part == '..' then table.remove(parts) elseif part ~= '.' then parts[#parts + 1] = part end
  end
  return table.concat(parts, '/')
end

--- The file of this tree that an #include of a file means, or nil: beside it if `near`, in runtime, kernels, or written
--- by the build.
function M.included(path, header, near)
  if near and there(joined(path:match '^(.*)/', header)) then return joined(path:match '^(.*)/', header) end
  for _, root in ipairs { 'runtime', 'kernels', 'build/gen' } do
    if there(root .. '/' .. header) then return joined(root, header) end
  end
  return header:find '^mc_gen_' and 'build/gen/' .. header or nil
end

--- Floor of a path below runtime/ or lua/mascon/: the longest folder that is one, or nil.
local function floor_of(at, path)
  local folder = path:match '^(.*)/[^/]*$'
  while folder do
    if at[folder] then return folder end
    folder = folder:match '^(.*)/[^/]*$'
  end
end
M.floor_of = floor_of

--- Floor of a Lua file; the public tables stand on the floor that TABLES names, just above their parts.
function M.lua_floor(path)
  local file = path:gsub('^lua/mascon/', '')
  return M.TABLES[file] or floor_of(M.place_lua, file)
end

--- Module name of a path, and path of a module.
local function module_of(path) return (path:gsub('^lua/', ''):gsub('%.lua$', ''):gsub('/init$', ''):gsub('/', '.')) end
M.module_of = module_of

--- Public names of modules, as lua/mascon/init.lua lists them: mascon.json is mascon.base.json. A workflow may go by
--- its name alone.
local function aliases()
  local known, file = {}, io.open 'lua/mascon/init.lua'
  for line in file and file:lines() or function() end do
    for name, module in line:gmatch "([%l_]+) = '(mascon%.[%w_.]+)'" do known['mascon.' .. name] = module end
  end
  if file then file:close() end
  for _, path in ipairs(list [[ls -d lua/workflows/*/ 2>/dev/null]]) do
    local name = path:match '([%w_]+)/$'
    known['mascon.' .. name] = known['mascon.' .. name] or 'workflows.' .. name
  end
  return known
end

--- Quoted module names of a line of Lua: name, and whether the line begins at the margin and requires it (then it is
--- loaded with the file). package.loaded['mascon.host'] is no module but the table of C functions of the program, where
--- there is one.
local function modules(line)
  local code = line:gsub("package%.loaded%[?%s*['\"]mascon%.host['\"]", '')
  local out, eager = {}, (code:find '^local[^()]*=%s*require' or code:find '^require') ~= nil
  for _, q in ipairs { "'", '"' } do
    for name in code:gmatch(q .. '([%l_]+%.[%w_.]*[%w_])' .. q) do
      if name:find '^mascon%.' or name:find '^workflows%.' then out[#out + 1] = { name, eager } end
    end
  end
  code = code:gsub("package%.loaded%[%s*['\"]mascon['\"]", 'package.loaded.mascon ')
  if code:find "require%s*%(?%s*['\"]mascon['\"]" or code:find 'package%.loaded%.mascon%f[^%w_]' then
    out[#out + 1] = { 'mascon', eager }
  end
  return out
end

--- Arrows of Lua: { path, line, from (module), to (module), eager }.
function M.lua_arrows()
  local out, is = {}, {}
  local paths = list [[find lua -name '*.lua']]
  for _, path in ipairs(paths) do is[module_of(path)] = path end
  local public = aliases()
  for _, path in ipairs(paths) do
    for at, line in ipairs(files.of(path).lines) do
      for _, m in ipairs(modules(line)) do
        local name = m[1]:gsub('%.init$', '') -- X.init is X
        local to = not is[name] and public[name] or name
        out[#out + 1] = { path = path, line = at, from = module_of(path), to = to, eager = m[2], target = is[to] }
      end
    end
  end
  return out, is
end

--- Ops with a Lua file of their own: module by name as F and mc have it, and of methods.
local function composed()
  local functions, methods = {}, {}
  for _, r in ipairs(dofile((arg[0]:match '^(.*)/[^/]*$' or '.') .. '/../../runtime/ops/ops.lua').ops) do
    local names = r.module and { r[1], unpack(r.alias or {}) } or {}
    for _, name in ipairs(names) do
      functions[name] = r.module
      if r.namespace then functions[r.namespace .. '.' .. name] = r.module end
      if r.method ~= false then methods[name] = r.module end
    end
  end
  return functions, methods
end

--- What a name of a file stands for: the prefix of what is looked up in it ('' for op.functions and mascon.array), or
--- 'method'.
local function meaning(expression, known)
  local e = expression:match '^%s*(.-)%s*$'
  if e:find 'op[\'"]?%)?%.functions$' or e == 'functions' then return '' end
  if e:find "require%s*%(?%s*['\"]mascon%.array['\"]%s*%)?$" then return '' end
  if e:find 'tensor[\'"]?%)?%.methods$' then return 'method' end
  local head, space = e:match '^([%a_][%w_]*)%.([%l]+)$'
  if head and known[head] == '' then return space .. '.' end
end

--- Arrows of Lua by ops: { path, line, from (module), to (module), name }.
function M.op_arrows()
  local functions, methods = composed()
  local out = {}
  for _, path in ipairs(list [[find lua/mascon -name '*.lua']]) do
    local known, own, lines = { functions = '' }, {}, files.of(path).lines
    for _, line in ipairs(lines) do
      local name = line:match '^%s*function%s+[%w_.]+[.:]([%w_]+)'
      if name then own[name] = true end
    end
    for at, code in ipairs(lines) do
      local function note(name, module)
        if module then out[#out + 1] = { path = path, line = at, from = module_of(path), to = module, name = name } end
      end
      local names, values = code:match '^%s*local%s+([%w_,%s]-)%s*=%s*(.*)$'
      if not names then names, values = (' ' .. code):match '[%s;]([%a_][%w_]*)%s*=%s*([^=].*)$' end -- assigned later
      if names then
        local next_value = (values .. ','):gmatch '([^,]*),'
        for name in names:gmatch '[%w_]+' do known[name] = meaning(next_value() or '', known) or known[name] end
      end
      for head, name, first in code:gmatch '%f[%w_.]([%a_][%w_]*)%.([%l_][%w_]*)%(%s*([%w_]+)' do -- x.tile(x, 2)
        if head == first and not known[head] then note(head .. '.' .. name, methods[name]) end
      end
      code = code:gsub("([%w_]*)%[%s*['\"]([%a_][%w_]*)['\"]%s*%]", function(head, name)
        if not known[head] and not own[name] then note(head .. "['" .. name .. "']", methods[name]) end
        return head .. '.' .. name
      end)
      for head, rest in code:gmatch '%f[%w_.]([%a_][%w_]*)%.([%a_][%w_.]*)' do
        local through = (head .. '.' .. rest):match '[.]functions%.([%w_.]+)$'
        local prefix = through and '' or known[head]
        rest = through or rest
        if prefix == 'method' then note(rest, methods[rest:match '^[%w_]+'])
        elseif prefix then
          local two, one = rest:match '^[%w_]+%.[%w_]+', rest:match '^[%w_]+'
          note(head .. '.' .. rest, prefix == '' and two and functions[two] or functions[prefix .. one])
        end
      end
      for name in code:gmatch ":([%l_][%w_]*)%s*[({'\"]" do
        if not own[name] then note(':' .. name, methods[name]) end
      end
    end
  end
  return out
end

--- Floor of a module by its name, whether or not it is there.
function M.module_floor(module)
  local path = 'lua/' .. module:gsub('%.', '/')
  return M.lua_floor(path .. '.lua') or M.lua_floor(path .. '/init.lua')
end

--- Arrows of C between the folders of runtime/: { path, line, from (floor), to (floor), header }.
function M.c_arrows()
  local out = {}
  for _, path in ipairs(list [[find runtime -name '*.[ch]']]) do
    local from = floor_of(M.place_c, path:gsub('^runtime/', ''))
    for at, line in ipairs(files.of(path).lines) do
      local header = line:match '^%s*#%s*include%s*"([^"]+)"'
      local file = header and (M.included(path, header, true) or ''):match '^runtime/(.*)'
      if file then
        out[#out + 1] = { path = path, line = at, from = from, to = floor_of(M.place_c, file), header = header }
      end
    end
  end
  return out
end

--- Calls between the files of each folder of bindings/ and of a workflow's kernels, as text: functions begin at the
--- margin. { from, to, name, target }, with files as both.
function M.part_calls()
  local out, defined, users = {}, {}, {}
  for _, path in ipairs(list [[find bindings kernels/workflows -name '*.c' 2>/dev/null]]) do
    local folder = path:match '^bindings/[^/]*' or path:match '^kernels/workflows/[^/]*'
    users[#users + 1] = { path, folder }
    defined[folder] = defined[folder] or {}
    for head in ('\n' .. files.of(path).text):gmatch '\n(%a[^\n;{}=#]*%b()%s*){' do
      local name = not head:find '^static' and head:match '([%a_][%w_]*)%s*%b()%s*$'
      if name then defined[folder][name] = path end
    end
  end
  for _, u in ipairs(users) do
    local seen = {}
    for name in files.of(u[1]).bare_text:gmatch '%f[%w_][%a_][%w_]*' do
      local to = defined[u[2]][name]
      if to and to ~= u[1] and not seen[name] then
        seen[name] = true
        out[#out + 1] = { from = u[1], to = to, name = name, target = to }
      end
    end
  end
  return out
end

--- Calls of C from floor to floor, read from the objects where they are built: { from, to, file, name, target }.
function M.c_calls()
  local defined, wanted, floor = {}, {}, {}
  for _, line in ipairs(list [[find build/obj/runtime -name '*.o' 2>/dev/null | xargs -r nm -A -g 2>/dev/null]]) do
    local file, kind, name = line:match '^build/obj/runtime/(.-)%.o:.*%s(%a)%s+([%w_]+)$'
    file = file and file .. '.c'
    if file and floor[file] == nil then -- an object may outlive its source
      floor[file] = there('runtime/' .. file) and floor_of(M.place_c, file) or false
    end
    local from = file and floor[file]
    if from and kind == 'U' then wanted[#wanted + 1] = { from = from, file = file, name = name }
    elseif from and kind:find '%u' and not name:find '^pow' then -- C's own, which host/power.c defines
      defined[name] = { from, file }
    end
  end
  local out = {}
  for _, w in ipairs(wanted) do
    local d = defined[w.name]
    if d then
      w.to, w.target = d[1], d[2]
      out[#out + 1] = w
    end
  end
  return out
end

--- Circles of Lua files, as sorted lists of modules; of the arrows that `take` chooses.
function M.circles(arrows, take)
  local next_, names = {}, {}
  for _, a in ipairs(arrows) do
    if not next_[a.from] then
      next_[a.from] = {}
      names[#names + 1] = a.from
    end
    if a.target and a.from ~= a.to and take(a) then table.insert(next_[a.from], a.to) end
  end
  table.sort(names)
  local number, low, on, stack, n, found = {}, {}, {}, {}, 0, {}
  local function visit(m)
    n = n + 1
    number[m], low[m] = n, n
    stack[#stack + 1], on[m] = m, true
    for _, r in ipairs(next_[m] or {}) do
      if not number[r] then
        visit(r)
        low[m] = math.min(low[m], low[r])
      elseif on[r] then low[m] = math.min(low[m], number[r]) end
    end
    if low[m] == number[m] then
      local circle = {}
      repeat
        local x = table.remove(stack)
        on[x] = nil
        circle[#circle + 1] = x
      until x == m
      table.sort(circle)
      if #circle > 1 then found[#found + 1] = table.concat(circle, ' ') end
    end
  end
  for _, m in ipairs(names) do if not number[m] then visit(m) end end
  table.sort(found)
  return found
end

return M
