-- rooms.lua - knowledge flows one way: an include or a require against the arrow fails.
--
-- usage: luajit tests/lint/rooms.lua   (from the top of the tree)
-- Owns the table of who may know whom (house style, section 1). Reads text only: `#include "..."` in C, `require` and dofile in Lua.
-- The lists of files that touch the FFI stand here, each with its reason, and nowhere else.

-- C: files that match a pattern may include headers whose base name matches one of these. First match wins.
local C = {
  { '^kernels/workflows/xpcs/', { '^mck', '^mc_def%.h$', '^mc_plugin%.h$', '^xpcs%.h$', '^body%.h$' }, 'kernels of a workflow know kernels/mck*.h, mc_plugin.h and their own folder' },
  { '^kernels/', { '^mck', '^mc_def%.h$', '^mc_gen_kernels%.h$', '_body%.h$', '^fft_', '^sort_', '^pac_', '^autoreject_', '^random_' }, 'kernels know kernels/mck*.h and mc_def.h' },
  { '^bindings/luajit/', { '^mascon%.h$' }, 'bindings/luajit knows the public header' },
  { '^bindings/hdf5/', { '^mc_backend%.h$', '^mc_def%.h$', '^parts%.h$' }, 'the HDF5 neighbour knows mc_backend.h and its own parts.h' },
  { '^bindings/', { '^mc_backend%.h$', '^mc_def%.h$', '^mck%.h$' }, 'neighbours know mc_backend.h and mck.h' },
  { '^runtime/host/', { '^host%.h$', '^mc_backend%.h$', '^mc_def%.h$' }, 'the program knows host.h and, for the line editor, mc_backend.h' },
  { '^tests/c/', { '^mascon%.h$', '^mc_def%.h$', '^mc_backend%.h$', '^mc_formats%.h$', '^mck', '_check%.h$' }, 'C tests know the public header, what a neighbour implements, or kernels' },
  { '^tests/fuzz/host%.c$', { '^mc_' }, 'the stand-in runtime of the fuzz targets knows the runtime' },
  { '^tests/fuzz/', { '^mascon%.h$', '^mc_formats%.h$' }, 'fuzz targets know the public header' },
  { '^runtime/formats/', { '^mascon%.h$', '^mc_formats%.h$', '^mc_error%.h$', '^mc_memory%.h$', '^mc_context%.h$', '^mc_backend%.h$', '^mc_def%.h$', '^mc_gen_enums%.h$' }, 'formats know errors, memory and the door to zlib, no tensors' },
  { '^runtime/base/mc_error%.h$', { '^mascon%.h$', '^mc_def%.h$' }, 'errors know no tensors' },
  { '^runtime/', { '^mascon%.h$', '^mc_', '^formats/', '^mck' }, 'the runtime knows itself and the kernels as table entries' },
}

-- Lua modules that touch the FFI, with the reason. Files named *native*.lua are those of a workflow's own kernels.
local FFI = {
  ['report/results.lua'] = 'a finalizer', ['core/ffi.lua'] = 'opens libmascon', ['core/tensor.lua'] = 'the handle', ['core/index.lua'] = 'index triples handed to C', ['core/view.lua'] = 'shapes handed to C',
  ['core/dlpack.lua'] = 'finalizers of pointers',
  ['base/file.lua'] = 'the writer of files in pieces', ['base/child.lua'] = 'a process',
  ['io/npy.lua'] = 'readers and writers of arrays', ['io/edf.lua'] = 'reader of recordings', ['io/samples.lua'] = 'reader of recordings', ['io/scratch.lua'] = 'rows turned on disk', ['io/fif.lua'] = 'reader and writer of recordings', ['io/mat.lua'] = 'reader of MATLAB files', ['io/hdf5_file.lua'] = 'reader and writer of HDF5 objects', ['graph/launch.lua'] = 'launches of compiled functions',
  ['compile/call.lua'] = 'calls of compiled functions', ['compile/native/door.lua'] = 'compilers and compiled code',
}

-- Lua modules of LuaJIT itself, free for all.
local PLAIN = { ['bit'] = true, ['jit'] = true, ['table.new'] = true, ['table.clear'] = true, ['jit.opt'] = true, ['jit.util'] = true }

local failures, files = 0, 0
local function complain(path, line, text)
  failures = failures + 1
  io.stderr:write(('%s:%d: %s\n'):format(path, line, text))
end

local function list(command)
  local pipe = assert(io.popen(command))
  local out = {}
  for path in pipe:lines() do out[#out + 1] = path end
  pipe:close()
  table.sort(out)
  return out
end

local function any(text, patterns)
  for _, p in ipairs(patterns) do if text:find(p) then return true end end
  return false
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
    local header = line:match '^%s*#%s*include%s*"([^"]+)"'
    if header and not any(header:match '[^/]*$', rule[2]) and not any(header, rule[2]) then
      complain(path, at, ('includes "%s"; %s'):format(header, rule[3]))
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
  if name:find '^mascon%.host%.' then return false, 'the library may not know the program' end
  if PLAIN[name] or name:find '^mascon' then return true end
  if path:find '^lua/workflows/' and name:find '^workflows%.' then return true end
  return false, 'the library needs nothing but itself and LuaJIT'
end

local function check_lua(path)
  local at = 0
  for line in io.lines(path) do
    at = at + 1
    local code = line:gsub('%-%-.*$', '')
    for name in code:gmatch 'require%s*%(?%s*[\'"]([%w_.]+)[\'"]' do
      if path:find '^scripts/' then
        if not script_may(name) then complain(path, at, ('requires %s; a script sees mascon and its public modules'):format(name)) end
      elseif path:find '^lua/' then
        local fine, why = library_may(path, name)
        if not fine then complain(path, at, ('requires %s: %s'):format(name, why)) end
      end
    end
    if path:find '^lua/mascon/' and not path:find '^lua/mascon/host/' and code:find 'ffi%.C%f[^%w_]' then
      complain(path, at, 'uses ffi.C; the library is reached through mascon.ffi')
    end
  end
end

for _, path in ipairs(list [[find kernels runtime bindings tests -name '*.[ch]']]) do
  files = files + 1
  check_c(path)
end
for _, path in ipairs(list [[find lua scripts -name '*.lua']]) do
  files = files + 1
  check_lua(path)
end
print(('rooms: %d files, %d against the arrow'):format(files, failures))
os.exit(failures == 0 and 0 or 1)
