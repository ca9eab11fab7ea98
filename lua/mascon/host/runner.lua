-- runner.lua - the verbs of the program: what `mascon ARGUMENTS` does.
--
-- Called by the C part with the raw arguments; its number is the exit status: 0, 1 for a failed script, 2 for wrong
-- use, 128 + signal when a signal ended the run. Holds the command line, the running of scripts and the choice of the
-- message that a failure gets.

local host = require 'mascon.host'
local full = require 'mascon.host.full'
local nearest = require 'mascon.host.nearest'
local source = require 'mascon.host.source'
local strict = require 'mascon.host.strict'
local traceback = require 'mascon.host.traceback'
local variables = require 'mascon.host.variables'

local M = {}

local VERBS = { 'bench', 'cache', 'info', 'plan', 'profile', 'rerun', 'why' }
local VERB_HELP = {
  bench = 'bench [PART]      how fast this machine is: ops, pac, autoreject; which device auto takes',
  cache = 'cache ACTION      list, clear, verify or tune the compiled code on disk',
  info = 'info              this machine, the libraries found, the limits that apply',
  plan = 'plan FILE [args]  time and peak memory of a script, before it runs',
  profile = 'profile FILE      time and memory of a script by line, operation and launch',
  rerun = 'rerun RESULT      repeat a result from its manifest and compare',
  why = 'why A B           the first stage in which two results part',
}

local OWN_HELP = { bench = true, cache = true, profile = true }

local HELP = [[
mascon runs Lua scripts with tensors.

  mascon FILE.lua [args]    run a script: a file, or one that comes with mascon, such as pac.lua
  mascon                    the prompt; with input from a pipe, each line is run and its value printed
  mascon -e 'code'          run code; may be repeated and come before FILE
  mascon -i ...             the prompt after the script or the code
  mascon -                  run standard input as one script
  mascon VERB ...
%s
  mascon --help, --version

A file with the name of a verb is run as ./%s. Variables of the environment:

%s
  NO_COLOR             1: a prompt without colours
]]

local function help_text()
  local lines = {}
  for _, verb in ipairs(VERBS) do lines[#lines + 1] = '    ' .. VERB_HELP[verb] end
  return HELP:format(table.concat(lines, '\n'), VERBS[1], variables.help())
end

local function complain(text)
  io.stdout:flush()
  io.stderr:write(text)
end

local function wrong_use(text)
  complain('mascon: ' .. text .. '\n`mascon --help` lists what there is\n')
  return 2
end

---Status and text for a failed run.
---@param record table from traceback.collect
---@return integer status, string? text nil when nothing is to be said
local function failure(record)
  local signal, word = host.signal()
  if signal and traceback.is_signal(record.object, word) then
    if word == 'broken pipe' then return 128 + signal, nil end
    return 128 + signal, traceback.stopped(record, word)
  end
  return 1, traceback.report(record)
end

---Runs `fn(...)`; reports on standard error what goes wrong.
---@return integer status
local function run(fn, ...)
  local ok, record = host.protected(fn, traceback.collect, ...)
  if ok then return 0 end
  if full.is(record) then record = full.report() end
  if type(record) ~= 'table' or not record.frames then
    record = traceback.bare(record)
  end
  local status, text = failure(record)
  if text then complain(text) end
  return status
end

---Runs what a loader gave: a chunk, or nil and why the chunk called `name` does not compile.
local function run_chunk(chunk, message, name, ...)
  if chunk then return run(chunk, ...) end
  complain(traceback.syntax(message, name))
  return 1
end

local function exists(path)
  local file = io.open(path, 'rb')
  if file then file:close() end
  return file ~= nil
end

---A script finds modules that lie beside it.
local function add_script_folder(path)
  local folder = path:match('^(.*)/[^/]*$') or '.'
  if folder == '' then folder = '/' end
  local own = host.luadir .. '/?/init.lua;'
  local at = select(2, package.path:find(own, 1, true))
  local entry = folder .. '/?.lua;' .. folder .. '/?/init.lua;'
  package.path = package.path:sub(1, at or 0) .. entry .. package.path:sub((at or 0) + 1)
end

---A script may begin with require 'mascon.base.json': the library knows where that lies.
local function find_public_modules()
  package.loaders[#package.loaders + 1] = function(name)
    if not name:find '^mascon%.[%w_]+$' then return nil end
    require 'mascon'
    local workflow = not package.preload[name] and require 'mascon.base.workflow'.find(name:match '%.(.*)$')
    return package.preload[name] or (workflow and function() return require(workflow) end)
  end
end

local function set_arguments(argv, first, script)
  local arg = {}
  for i = 0, #argv do
    if i < first then arg[i - first] = argv[i] end
  end
  arg[0] = script
  for i = first + 1, #argv do arg[i - first] = argv[i] end
  rawset(_G, 'arg', arg)
end

---A script that comes with mascon, by its name or as scripts/NAME: mascon pac.lua.
local function delivered_script(word)
  local name = word:match '^scripts/([%w_]+%.lua)$' or word:match '^[%w_]+%.lua$'
  local path = name and host.luadir:gsub('/+$', ''):gsub('[^/]*$', '') .. 'scripts/' .. name
  return path and exists(path) and path or nil
end

local function run_verb(verb, argv, first)
  local name = 'mascon.host.verbs.' .. verb
  if not package.searchpath(name, package.path) then
    complain(("mascon: the verb '%s' is not part of this installation (%s/mascon/host/verbs/%s.lua is missing)\n")
      :format(verb, host.luadir, verb))
    return 1
  end
  local args = {}
  for i = first + 1, #argv do args[#args + 1] = argv[i] end
  local status
  local failed = run(function() status = require(name).main(args) end)
  return failed ~= 0 and failed or status or 0
end

---Reads the options. Returns a table {code = list, prompt = bool, script = index or nil, stdin = bool}, or nil and a
---message.
local function options(argv)
  local o = { code = {} }
  local i = 1
  while argv[i] do
    local word = argv[i]
    if word == '--help' or word == '-h' then
      o.help = true
    elseif word == '--version' or word == '-v' then
      o.version = true
    elseif word == '-i' then
      o.prompt = true
    elseif word == '-e' then
      i = i + 1
      if not argv[i] then return nil, "-e needs code, as in mascon -e 'print(1 + 1)'" end
      o.code[#o.code + 1] = argv[i]
    elseif word:sub(1, 2) == '-e' then
      o.code[#o.code + 1] = word:sub(3)
    elseif word == '--' then
      o.script = argv[i + 1] and i + 1
      o.file_only = true
      return o
    elseif word == '-' then
      o.script, o.stdin = i, true
      return o
    elseif word:sub(1, 1) == '-' then
      local known = { '-e', '-i', '--help', '--version' }
      return nil, ("unknown option '%s'%s"):format(word, #word > 2 and nearest.hint(word, known) or '')
    else
      o.script = i
      return o
    end
    i = i + 1
  end
  return o
end

local function is_verb(word)
  for _, verb in ipairs(VERBS) do
    if verb == word then return true end
  end
  return false
end

local function run_script(o, argv, env)
  local path = argv[o.script]
  set_arguments(argv, o.script, path)
  if o.stdin then
    local text = io.stdin:read('*a') or ''
    text = text:gsub('^#[^\n]*', '')
    local chunk, message = source.load(text, '=stdin', env)
    return run_chunk(chunk, message, '=stdin', unpack(argv, o.script + 1, #argv))
  end
  add_script_folder(path)
  local chunk, message = source.load_file(path, env)
  return run_chunk(chunk, message, '@' .. path, unpack(argv, o.script + 1, #argv))
end

-- Room for machine code. LuaJIT's 512 KiB and 1000 traces are spent by one workflow; it then drops all of them and
-- compiles again: a fifth of the time of an XPCS fit of small data.
local TRACES = { 'maxmcode=8192', 'sizemcode=512', 'maxtrace=4000' }

local function main(argv)
  require 'jit.opt'.start(unpack(TRACES))
  local o, message = options(argv)
  if not o then return wrong_use(message) end
  if o.help then
    io.write(help_text())
    return 0
  end
  if o.version then
    io.write(('mascon %s (%s)\n'):format(host.version, jit.version))
    return 0
  end

  local word = o.script and argv[o.script]
  local trouble = variables.trouble()
  if trouble and word ~= 'info' then return wrong_use(trouble) end -- which tells it among the rest
  find_public_modules()
  if word and not o.stdin and not o.file_only and is_verb(word) then
    local first = argv[o.script + 1]
    if (first == '--help' or first == '-h') and not OWN_HELP[word] then
      io.write('usage: mascon ', VERB_HELP[word], '\n')
      return 0
    end
    return run_verb(word, argv, o.script)
  end
  local delivered = word and not o.stdin and not exists(word) and delivered_script(word)
  if delivered then argv[o.script], word = delivered, delivered end
  if word and not o.stdin and not exists(word) then
    local hint = nearest.hint(word, VERBS)
    return wrong_use(("there is no verb and no file '%s'%s\nverbs: %s"):format(word, hint, table.concat(VERBS, ', ')))
  end

  if os.getenv 'MASCON_JIT' == 'off' then jit.off() end
  local status = 0
  local env = strict.environment(_G)
  set_arguments(argv, o.script or #argv + 1, word or argv[0])
  for _, code in ipairs(o.code) do
    local chunk, why = source.load(code, '=(command line)', env)
    status = run_chunk(chunk, why, '=(command line)')
    if status ~= 0 then break end
  end
  if word and status == 0 then status = run_script(o, argv, env) end
  local terminal = host.isatty(0)
  if o.prompt or (not word and #o.code == 0) then
    if status > 128 and status ~= 130 then return status end
    return require('mascon.host.repl').main { prompt = o.prompt or terminal, banner = terminal }
  end
  return status
end

---What went through the host without being asked to: one line.
local function tell_detours()
  local lib = package.loaded['mascon.core.ffi']
  if type(lib) == 'table' and lib.C.mc_through_host(-1) > 0 then complain(require 'mascon.report.devices'.detours()) end
end

---An error of a device's queued work that no line of the script waited for.
local function queued_fault()
  local queued = package.loaded['mascon.core.queued']
  return type(queued) == 'table' and queued.left_over() or nil
end

---@param argv string[] raw arguments, the program at 0
---@return integer status
function M.main(argv)
  local status = main(argv)
  local fault = status == 0 and queued_fault()
  if fault then
    complain('mascon: ' .. fault .. ' (of work that nothing waited for; MASCON_SYNC=1 names the line)\n')
    status = 1
  end
  tell_detours()
  return status
end

return M
