-- calls.lua - functions and words of C and Lua that only some files may use, each with the files and the reason.
--
-- A file is listed by its path or the beginning of it. What is listed and uses none of the words fails, so that the
-- lists stay short. check(path, complain) reads a file; finish(complain) is called after the last.
local code = dofile((arg[0]:match '^(.*)/[^/]*$' or '.') .. '/code.lua')
local M = {}

-- { where, words, complaint, files = { path = reason } }; calls: only where a ( follows
local C = {
  { '^kernels/', 'malloc calloc realloc free strdup strndup asprintf vasprintf aligned_alloc posix_memalign mmap '
    .. 'printf fprintf vprintf vfprintf dprintf fwrite puts putchar assert abort exit getenv time pthread_[%w_]+',
    'a kernel neither allocates nor prints, locks or ends', calls = true },
  { '^runtime/', 'printf puts fputs fprintf vprintf vfprintf dprintf vdprintf putchar perror assert abort exit _exit',
    'the library neither prints nor ends the program',
    calls = true, files = { ['runtime/host/'] = 'the program', ['runtime/base/mc_error.c'] = 'assertions' } },
  { '^bindings/', 'printf puts perror abort exit _exit', 'a neighbour neither prints nor ends the program',
    calls = true, files = { ['bindings/libedit/libedit.c'] = 'the line editor' } },
  { '^runtime/', 'malloc calloc realloc free strdup strndup asprintf vasprintf aligned_alloc posix_memalign',
    'memory comes from mci_alloc', calls = true, files = {
      ['runtime/host/'] = 'the program', ['runtime/base/mc_memory.c'] = 'it stands below',
      ['runtime/base/mc_error.c'] = 'the record of errors must not fail with what it reports',
      ['runtime/device/mc_context.c'] = 'room for libraries to load',
    } },
  { '^runtime/', 'stdout stderr', 'the library neither prints nor ends the program', files = {
    ['runtime/host/'] = 'the program', ['runtime/base/mc_error.c'] = 'assertions',
  } },
  { '^runtime/', 'mmap', 'memory comes from mci_alloc', calls = true, files = {
    ['runtime/host/'] = 'the program', ['runtime/device/mc_device.c'] = 'addresses without memory',
    ['runtime/base/mc_memory.c'] = 'it stands below', ['runtime/formats/mc_infile.c'] = 'files, mapped',
    ['runtime/device/mc_ref.c'] = 'one stretch of memory under two addresses',
    ['runtime/formats/mc_hdf5_apart.c'] = 'memory shared with a process',
    ['runtime/formats/mc_hdf5_serve.c'] = 'memory shared with a process',
  } },
  { '^runtime/', 'getenv secure_getenv', 'settings come from calls; the environment is read by those listed',
    calls = true, files = {
      ['runtime/host/'] = 'the program', ['runtime/base/mc_machine.c'] = 'threads and memory, also of a batch system',
      ['runtime/base/mc_compiler.c'] = 'TMPDIR', ['runtime/tensor/mc_scratch.c'] = 'TMPDIR',
      ['runtime/base/mc_folder.c'] = 'PATH', ['runtime/base/mc_memory.c'] = 'MASCON_MEMORY_CACHE',
      ['runtime/device/mc_code_cache.c'] = 'the folder of compiled code',
      ['runtime/device/mc_context.c'] = 'MASCON_ISA, MASCON_BLAS',
      ['runtime/device/mc_shipped.c'] = 'MASCON_PROGRAMS',
      ['runtime/device/mc_device.c'] = 'MASCON_MEMORY_LIMIT', ['runtime/device/mc_device_names.c'] = 'MASCON_DEVICE',
      ['runtime/family/mc_bind.c'] = 'MASCON_SYNC',
      ['runtime/replay/mc_stretch.c'] = 'MASCON_GRAPHS',
      ['runtime/formats/mc_hdf5.c'] = 'MASCON_HDF5',
    } },
  { '^runtime/', 'time', 'the library does not read the clock of the day', calls = true, files = {
    ['runtime/host/'] = 'the program', ['runtime/base/mc_lock.c'] = 'when a lock was taken',
    ['runtime/device/mc_code_cache.c'] = 'age of what is kept',
  } },
  { '', 'alloca setjmp longjmp _Generic _Thread_local thread_local __thread',
    'no alloca, setjmp, _Generic or thread-local variables of the compiler (docs/STYLE.md)' },
  { '^runtime/', '__attribute__ __typeof__ typeof', 'GNU syntax stands in mc_def.h and in kernels', files = {
    ['runtime/base/mc_def.h'] = 'its place', ['runtime/base/mc_hash.c'] = 'instructions of the machine',
    ['runtime/base/mc_compiler.c'] = 'what ends with the process', ['runtime/host/power.c'] = 'a name that C has, too',
  } },
  { '^bindings/', '__attribute__ __typeof__ typeof', 'GNU syntax stands in mc_def.h and in kernels' },
  { '', 'immintrin.h _mm[%w_]* __m%d+%w*', 'intrinsics stand in kernels/mck_lanes.h and files of one level', files = {
    ['runtime/base/mc_hash.c'] = 'checksums', ['runtime/tensor/mc_blocks.c'] = 'stores past the cache',
    ['kernels/mck_lanes.h'] = 'their place', ['kernels/cpu/sort_v3.c'] = 'of one level',
    ['kernels/cpu/sort_v3_body.h'] = 'of one level', ['kernels/cpu/random_v3.c'] = 'of one level',
    ['kernels/workflows/'] = 'kernels of an analysis',
  } },
}

-- Variables of a kernel that keep nothing: their address alone is used.
local STATIC = {
  ['kernels/workflows/autoreject/cpu/sums.c'] = true, ['kernels/workflows/autoreject/cpu/predict.c'] = true,
  ['kernels/workflows/autoreject/cpu/levels.c'] = true,
}

local LUA = {
  { '^lua/', 'debug.getregistry', 'what Lua keeps for itself is not ours' },
  { '^lua/', 'dofile loadfile setfenv getfenv', 'code is loaded by require, from a quoted name', files = {
    ['lua/workflows/xpcs/fit/model_file.lua'] = "a user's model",
    ['lua/workflows/xpcs/model/trial.lua'] = "the globals of a user's model",
  } },
  { '^scripts/', 'dofile loadfile load loadstring setfenv getfenv package',
    'a script sees mascon and its public modules', files = {
      ['scripts/pac.lua'] = "a user's measure",
      ['scripts/rollout.lua'] = "a user's operators, fields and features",
    } },
  { '^lua/', 'load loadstring', 'code is loaded by require, from a quoted name', files = {
    ['lua/mascon/host/'] = 'the program runs text of users',
    ['lua/mascon/core/call.lua'] = 'functions of rows, made as text',
    ['lua/mascon/core/check.lua'] = 'functions of rows, made as text',
    ['lua/mascon/core/guard.lua'] = 'functions of rows, made as text',
    ['lua/mascon/core/op.lua'] = 'functions of rows, made as text',
    ['lua/mascon/compile/outside.lua'] = 'comparisons of variables, made as text',
    ['lua/mascon/rules/formula.lua'] = 'derivatives, made as text',
    ['lua/mascon/optim/fit/curve_fit/expression.lua'] = 'formulas of users',
  } },
  { '^lua/', '_G', 'there are no global variables', files = {
    ['lua/mascon/host/'] = 'the program', ['lua/mascon/report/manifest.lua'] = 'the command line of a script',
  } },
  { '^lua/mascon/', 'print io.write io.stdout io.stderr os.exit', 'the library neither prints nor ends the program',
    files = {
      ['lua/mascon/host/'] = 'the program', ['lua/mascon/base/args.lua'] = 'command lines: usage and mistakes',
      ['lua/mascon/base/progress.lua'] = 'progress', ['lua/mascon/base/format.lua'] = 'mc.printf',
      ['lua/mascon/help/init.lua'] = 'mc.help prints', ['lua/mascon/compile/log.lua'] = 'the log that a user asks for',
      ['lua/mascon/nn/train/trainer.lua'] = 'a forecast that the command line asks for',
    } },
  { '^lua/mascon/', 'os.time os.clock os.date math.random math.randomseed',
    'the library reads neither the clock nor the global random state', files = {
      ['lua/mascon/host/'] = 'the program', ['lua/mascon/base/progress.lua'] = 'progress',
      ['lua/mascon/base/clock.lua'] = 'dates for workflows',
      ['lua/mascon/nn/train/events.lua'] = 'event files have times',
      ['lua/mascon/report/manifest.lua'] = 'when a run began',
      ['lua/mascon/compile/native/cache.lua'] = 'age of what is kept', ['lua/mascon/meeg/date.lua'] = 'dates as text',
    } },
  { '^lua/workflows/', 'print io.write io.stdout io.stderr os.exit mc.printf',
    'a workflow neither prints nor ends the program', files = {
      ['lua/workflows/xpcs/command/run.lua'] = 'how far a fit has come, where progress is asked for',
    } },
  { '^lua/workflows/', 'os.time os.clock os.date math.random math.randomseed',
    'a workflow takes time from mascon.base.clock and random numbers from mc.random' },
  { '^lua/workflows/', 'os.execute io.popen', 'a workflow starts no program but those that tests/lint/calls.lua lists',
    files = {
      ['lua/workflows/autoreject/probe.lua'] = 'the folder of a small cleaning goes',
      ['lua/workflows/rollout/view.lua'] = 'films are made by ffmpeg',
    } },
  { '^lua/workflows/', 'clock.seconds clock.taken clock.stamp',
    'a workflow reads the clock only where tests/lint/calls.lua says why', files = {
      ['lua/workflows/autoreject/probe.lua'] = 'a forecast from a small cleaning',
      ['lua/workflows/pac/source.lua'] = 'a forecast from a small analysis',
      ['lua/workflows/rollout/report.lua'] = 'the speed of a machine',
      ['lua/workflows/rollout/crew.lua'] = 'when to look whether rows are still wanted',
      ['lua/workflows/rollout/generate.lua'] = 'seconds of rows in the data set, when it was made',
      ['lua/workflows/xpcs/fit/fit.lua'] = 'seconds of a fit in its result',
      ['lua/workflows/xpcs/fit/joint.lua'] = 'seconds of a fit in its result',
      ['lua/workflows/xpcs/fit/own.lua'] = 'seconds of a fit in its result',
      ['lua/workflows/xpcs/fit/posterior.lua'] = 'when to keep a checkpoint; seconds in the result',
      ['lua/workflows/xpcs/fit/state.lua'] = 'when to keep a checkpoint, and what it costs',
      ['lua/workflows/xpcs/command/run.lua'] = 'how far a fit has come',
      ['lua/workflows/xpcs/show/results.lua'] = 'when a file was made',
      ['lua/workflows/xpcs/show/posterior_files.lua'] = 'when a file was made',
    } },
}

local function listed(path, files)
  if files and files[path] then return path end
  for prefix in pairs(files or {}) do
    if prefix:sub(-1) == '/' and path:sub(1, #prefix) == prefix then return prefix end
  end
end

local used = {}

--- A variable of a kernel that outlives a call, and the table io under another name, by which a library would print.
local function check_lines(path, f, complain)
  for at, line in ipairs(f.bare) do
    if path:find '^kernels/' and not STATIC[path] and line:find '^%s*static%s[^()]*[;=]'
      and not line:find '%f[%w]const%f[%W]' then
      complain(path, at, 'has a variable that outlives a call; a kernel keeps nothing')
    elseif path:find '^lua/workflows/' and line:find '%f[%w_]clock_seconds%f[^%w_]' then
      complain(path, at, 'names clock_seconds; a workflow takes time from mascon.base.clock')
    elseif path:find '^lua/workflows/' and f.lines[at]:find '[\'"]mascon%.base%.clock[\'"]'
      and not f.lines[at]:find '^local clock = require \'mascon%.base%.clock\'%s*$' then
      complain(path, at, 'takes mascon.base.clock under no name or another one; write local clock = require and it')
    elseif path:find '^lua/' and not path:find '^lua/mascon/host/' and line:find '=%s*io%s*$' then
      complain(path, at, 'takes io under another name; write io.open and what else is called')
    end
  end
end

--- Words as patterns: a dot is a dot, the rest is one already.
local function pattern_of(word) return '%f[%w_.:>]' .. word:gsub('%.', '%%.') .. '%f[^%w_]%s*(.?.?)' end

function M.check(path, complain)
  local f, lua = code.of(path), path:match '%.lua$'
  check_lines(path, f, complain)
  for _, rule in ipairs(lua and LUA or C) do
    local entry = path:find(rule[1]) and listed(path, rule.files)
    for word in (path:find(rule[1]) and rule[2] or ''):gmatch '%S+' do
      local pattern = pattern_of(word)
      for at, line in ipairs(f.bare_text:find(word:match '^[%w_.]+', 1, true) and f.bare or {}) do
        for after in line:gmatch(pattern) do
          local own = lua and (after:find '^=[^=]?$' or f.bare_text:find('local function ' .. word .. '%f[^%w_]'))
          -- not: a key, a function of the file
          local uses = not own and (not rule.calls or after:sub(1, 1) == '(')
          if uses and entry then used[entry .. rule[2]] = true
          elseif uses then complain(path, at, ('uses %s: %s'):format(word:match '^[%w_.]+', rule[3])) end
        end
      end
    end
  end
end

function M.finish(complain)
  for _, rules in ipairs { C, LUA } do
    for _, rule in ipairs(rules) do
      for entry in pairs(rule.files or {}) do
        if not used[entry .. rule[2]] and entry:sub(-1) ~= '/' and io.open(entry) then
          complain('tests/lint/calls.lua', 1, ('lists %s for %s; take it off the list'):format(entry, rule[2]))
        end
      end
    end
  end
end

return M
