-- ffi.lua - libmascon opened, its errors as Lua errors.
--
-- Holds the library handle, the parameter buffer and the way from a status to error(). With tensor.lua the only place
-- that touches the FFI.
local ffi = require 'ffi'
local gen = require 'mascon.gen.ops'
local error = require 'mascon.core.check'.error

local M = {}

local host = package.loaded['mascon.host']
local libdir = (type(host) == 'table' and host.libdir) or os.getenv 'MASCON_LIBDIR'
if not libdir then -- run from the tree by a plain LuaJIT: the generated files know where the library lies
  local path = package.searchpath and package.searchpath('mascon.gen.ops', package.path)
  libdir = path and path:match '^(.*)/lua/mascon/gen/ops%.lua$' or 'build'
end
local C = ffi.load(libdir .. '/libmascon.so')
ffi.cdef(require 'mascon.gen.cdef') -- after what may fail: a prompt loads the module again, and types are declared once
if type(host) == 'table' and host.set_cancel then
  local function address(f) return tonumber(ffi.cast('uintptr_t', ffi.cast('void *', f))) end
  host.set_cancel(address(C.mc_cancel_request), address(C.mc_cancel_clear), address(C.mc_working))
end

M.C, M.gen, M.libdir = C, gen, libdir
M.by_id = {} -- rows of the ops that have a number in C
for _, r in ipairs(gen.ops) do if r.id >= 0 then M.by_id[r.id] = r end end
M.params = ffi.new 'mc_params'
M.status = {}
for i, name in ipairs(gen.statuses) do M.status[name] = i - 1 end

--- Text of the last failing call.
--- Text of C's as a Lua string.
M.text = ffi.string

function M.message() return ffi.string(C.mc_errmsg()) end

--- Raises the library's last error at the caller's caller (level as in error()).
---@param level? integer
function M.raise(level)
  error(ffi.string(C.mc_errmsg()), level and level + 1 or 3)
end

--- rc ~= 0 becomes an error at `level` (2: the caller of the function that calls check).
function M.check(rc, level)
  if rc ~= 0 then error(ffi.string(C.mc_errmsg()), level and level + 1 or 3) end
end

--- The native part of a workflow, opened: it and { row = its place }; nil and why it cannot be.
function M.open_rows(path)
  local part = C.mc_workflow_open(path)
  if part == nil then return nil, M.message() end
  local places, k = {}, 0
  while true do
    local name = C.mc_workflow_row(part, k)
    if name == nil then return part, places end
    places[ffi.string(name)] = k
    k = k + 1
  end
end

local PROMOTE = { numeric = 0, float = 1, bool = 2 }
--- Makes the row at place k of a native part an op of the library: its number; nil and why it cannot be.
function M.add_row(part, k, row)
  local compute = ffi.new('int8_t[?]', #gen.dtypes)
  local given = {}
  for _, name in ipairs(row.dtypes) do given[name] = true end
  for i, d in ipairs(gen.dtypes) do compute[i - 1] = given[d[1]] and d.code or -1 end
  local id = C.mc_workflow_add(part, k, row.nin, row.nout == 'list' and 255 or row.nout or 1, PROMOTE[row.promote or 'numeric'], compute)
  if id < 0 then return nil, M.message() end
  return id
end

--- Neighbours and process facts, as plain Lua values.
function M.neighbour(kind)
  local p = C.mc_neighbour(kind)
  if p == nil then return nil, M.message() end
  return ffi.string(p)
end

function M.isa() return ffi.string(C.mc_isa_name()) end
function M.version() return ffi.string(C.mc_version()) end

local stats = ffi.new 'int64_t[9]'
--- Memory counters of the library, bytes unless said otherwise.
function M.memory_stats(device)
  if device and device ~= 0 then M.check(C.mc_device_memory(device, stats), 3) else C.mc_memory_stats(stats) end
  return {
    live = tonumber(stats[0]), cached = tonumber(stats[1]), peak = tonumber(stats[2]), allocations = tonumber(stats[3]),
    soft_ceiling = tonumber(stats[4]), limit = tonumber(stats[5]), blocks = tonumber(stats[6]), tensors = tonumber(stats[7]), tensor_peak = tonumber(stats[8]),
  }
end

local tensor_list, out_list, short_list = ffi.typeof 'const mc_tensor *[?]', ffi.new 'mc_tensor *[1]', ffi.new 'const mc_tensor *[4]'

--- The pointers of a Lua list of tensors (anchored by the list while C runs). Short ones without a loop: see check.opts.
local function pointers(list, n)
  if n > 4 then
    local arr = tensor_list(n)
    for i = 1, n do arr[i - 1] = list[i] end
    return arr
  end
  if n > 0 then short_list[0] = list[1] end
  if n > 1 then short_list[1] = list[2] end
  if n > 2 then short_list[2] = list[3] end
  if n > 3 then short_list[3] = list[4] end
  return short_list
end

--- mc_op with a Lua list of operands.
function M.op_list(id, out, list, params)
  local n = #list
  out_list[0] = out
  return C.mc_op(id, 1, out_list, n, pointers(list, n), params)
end

local result_list, short_results = ffi.typeof 'mc_tensor *[?]', ffi.new 'mc_tensor *[2]'

--- mc_op with lists of results and operands.
function M.op_multi(id, outs, list, params)
  local n, m = #list, #outs
  local results = short_results
  if m > 2 then
    results = result_list(m)
    for i = 1, m do results[i - 1] = outs[i] end
  else
    results[0] = outs[1]
    if m > 1 then results[1] = outs[2] end
  end
  return C.mc_op(id, m, results, n, pointers(list, n), params)
end

--- The events of a YAML text, one behind the other (see mc_yaml_parse); nil and a message that names line and column.
function M.yaml_events(text)
  local h = C.mc_yaml_parse(text, #text)
  if h == nil then return nil, M.message() end
  local events = ffi.string(C.mc_yaml_events(h), C.mc_yaml_size(h))
  C.mc_yaml_free(h)
  return events
end

--- Renders SVG text into a PNG file; nil and advice when librsvg is missing or the path cannot be written.
function M.svg_to_png(svg, scale, path)
  if C.mc_svg_to_png(svg, #svg, scale or 1, path) ~= 0 then return nil, M.message() end
  return true
end

local hex = ffi.new 'char[65]'
--- SHA-256 of a string, of a file (nil and a message when it cannot be read), of a tensor's elements in row-major order.
function M.sha256(text)
  M.check(C.mc_sha256(text, #text, hex), 3)
  return ffi.string(hex, 64)
end
function M.sha256_file(path)
  if C.mc_sha256_file(path, hex) ~= 0 then return nil, M.message() end
  return ffi.string(hex, 64)
end
--- A file that is hashed piece by piece: a handle and its bytes, or nil and a message. step(bytes) reads on and tells
--- how many
--- bytes it took, 0 at the end; finish() gives the hash, whether the file was written meanwhile, and closes it.
function M.file_hash(path)
  local size = ffi.new 'int64_t[1]'
  local h = C.mc_file_hash_new(path, size)
  if h == nil then return nil, M.message() end
  ffi.gc(h, C.mc_file_hash_free)
  local function step(bytes)
    local n = tonumber(C.mc_file_hash_step(h, bytes))
    if n < 0 then M.raise(3) end
    return n
  end
  local function finish()
    local changed = C.mc_file_hash_finish(h, hex) ~= 0
    C.mc_file_hash_free(ffi.gc(h, nil))
    return ffi.string(hex, 64), changed
  end
  return { step = step, finish = finish }, tonumber(size[0])
end
function M.sha256_tensor(t)
  M.check(C.mc_sha256_tensor(t, hex), 3)
  return ffi.string(hex, 64)
end

--- Monotonic seconds.
function M.clock_seconds() return C.mc_clock() end
--- Descriptor fd is a terminal; its width in columns.
function M.isatty(fd) return C.mc_terminal_width(fd) > 0 end
function M.terminal_width()
  local w = C.mc_terminal_width(2)
  return w > 0 and w or nil
end

return M
