-- words.lua - words with one meaning: which files may bear them, and that files named in documents are there.
--
-- usage: luajit tests/lint/words.lua   (from the top of the tree)
-- docs/ARCHITECTURE.md says what each word means. A file whose name is such a word, alone or as its last part, must be
-- listed here: a new one with another meaning gets another name.
local BEARERS = {
  launch = { 'runtime/family/mc_launch' },
  plan = {
    'runtime/replay/mc_plan', 'lua/mascon/compile/plan', 'lua/mascon/host/verbs/plan', -- the verb, public
    'lua/workflows/autoreject/plan', 'lua/workflows/xpcs/command/plan', -- what the verb asks a workflow
  },
  rows = {
    'kernels/workflows/', 'bench/rows', 'tests/support/gradient_rows', -- of the op table, of a table of benchmarks
    'kernels/device/rows', 'runtime/family/mc_rows', 'runtime/family/mc_launch_rows', 'runtime/replay/mc_native_rows',
    'lua/mascon/signal/rows', -- of memory
  },
  row = { 'kernels/workflows/pac/cpu/row' },
  tiles = {
    'runtime/replay/mc_tiles', 'lua/mascon/compile/passes/tiles',
    'lua/mascon/compile/native/tiles',
  },
  tile = { 'kernels/workflows/autoreject/cpu/tile' },
  groups = { 'lua/mascon/compile/groups' },
  forms = { 'lua/mascon/transform/forms', 'runtime/family/mc_conv_forms' },
  tree = { 'lua/mascon/graph/tree' },
  region = { 'lua/mascon/transform/region', 'lua/mascon/optim/fit/least_squares/trust_region' },
  ways = { 'lua/workflows/autoreject/ways' }, -- public
  group = { 'kernels/cpu/random_group' }, -- of lanes
  method = {}, variant = {}, form = {}, stage = {}, ready = {}, door = {},
}
local DOCS = {
  'docs/ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/DECISIONS.md', 'docs/STYLE.md', 'README.md', 'bench/README.md',
  'docs/devices.md', 'docs/networks.md', 'docs/rollout.md', 'docs/xpcs.md', 'docs/xpcs-homodyne.md',
  'docs/xpcs-tests.md',
  'docs/pac-statistics.md',
}
local ROOTS = {
  '', 'runtime/', 'lua/mascon/', 'lua/', 'lua/mascon/compile/', 'lua/workflows/pac/',
  'lua/workflows/xpcs/', 'tests/', 'docs/', 'bench/',
}

local failures, checked = 0, 0
local function complain(path, line, text)
  failures = failures + 1
  io.stderr:write(('%s:%d: %s\n'):format(path, line, text))
end

local function there(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local function bears(path, list)
  for _, prefix in ipairs(list) do if path:sub(1, #prefix) == prefix then return true end end
  return false
end

local FIND = [[find bench kernels lua runtime tests -type f \( -name '*.lua' -o -name '*.[ch]' \) 2>/dev/null | sort]]
local pipe = assert(io.popen(FIND))
for path in pipe:lines() do
  checked = checked + 1
  local name = path:match '([^/]*)%.%w+$'
  local word = name:match '[^_]*$'
  if BEARERS[word] and path:sub(1, 11) ~= 'tests/spec/' and not bears(path, BEARERS[word]) then
    local text = 'is named %s, a word with a meaning of its own (docs/ARCHITECTURE.md); choose another name, '
      .. 'or list it in tests/lint/words.lua'
    complain(path, 1, text:format(word))
  end
end
pipe:close()

-- folders, each between slashes, as a document may name a part of the path
local folders = {}
pipe = assert(io.popen [[find bench bindings docs kernels lua runtime scripts tests -type d 2>/dev/null]])
for path in pipe:lines() do folders[#folders + 1] = '/' .. path .. '/' end
pipe:close()
folders = table.concat(folders, '\n')

for _, doc in ipairs(DOCS) do
  local at, elsewhere = 0, false
  for line in (there(doc) and io.lines(doc) or function() end) do
    at = at + 1
    -- files of other projects stand behind these words, to the end of the item
    if line:find '^%s*%- ' or not line:find '%S' or line:find '^#' then elsewhere = false end
    local look = line:find 'Look at:' or line:find 'Look away from:'
    line, elsewhere = elsewhere and '' or line:sub(1, (look or 0) - 1), elsewhere or look ~= nil
    for path in line:gmatch '`([%w_./-]+/[%w_.-]+%.[%a]+)`' do
      local found = path:find('NAME', 1, true) or path:find '^build/' or not path:find '%.[lch]u?a?$'
      for _, root in ipairs(ROOTS) do found = found or there(root .. path) end
      if not found then complain(doc, at, ('names %s, which is not there'):format(path)) end
    end
    for path in line:gmatch '`([%w_./-]+/)`' do
      local found = path:find '^build' or folders:find('/' .. path, 1, true)
      if doc == 'docs/ARCHITECTURE.md' and not found then
        complain(doc, at, ('names the folder %s, which is not there'):format(path))
      end
    end
  end
end

print(('words: %d files, %d faults'):format(checked, failures))
os.exit(failures == 0 and 0 or 1)
