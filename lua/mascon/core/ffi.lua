-- ffi.lua - libmascon opened, its errors as Lua errors.
--
-- Holds the library handle, parameter blocks and the way from a status to error().
--
-- Memory that Lua fills for C, or C for Lua, is taken for one call: a finalizer or a debug hook may call the library
-- between any two steps of Lua, and must then find another block. A function that keeps one for its next call takes it
-- out of the variable first, and puts it back after the last use; after an error the next call makes a new one.
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
if type(host) == 'table' and host.watch then C = host.watch(C) end -- mascon profile
if type(host) == 'table' and host.set_cancel then
  local function address(f) return tonumber(ffi.cast('uintptr_t', ffi.cast('void *', f))) end
  host.set_cancel(address(C.mc_cancel_request), address(C.mc_cancel_clear), address(C.mc_working))
end

M.C, M.gen, M.libdir = C, gen, libdir
M.by_id = {} -- rows of the ops that have a number in C
for _, r in ipairs(gen.ops) do if r.id >= 0 then M.by_id[r.id] = r end end

local params_t, spare = ffi.typeof 'mc_params', nil
--- A parameter block for one call, with the parameters that every op has at their defaults.
function M.params()
  local p = spare
  if p then spare = nil else p = params_t() end
  p.naxes, p.keepdim, p.dtype, p.base = -1, 0, -1, 1
  return p
end
--- A block after its call, for the next one to use.
function M.give(p) spare = p end
M.params_t = params_t

M.status = {}
for i, name in ipairs(gen.statuses) do M.status[name] = i - 1 end

--- Text of C's as a Lua string.
M.text = ffi.string

--- Text of the last failing call.
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
  local id = C.mc_workflow_add(part, k, row.nin, row.nout == 'list' and 255 or row.nout or 1,
    PROMOTE[row.promote or 'numeric'], compute)
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

--- Memory counters of the library, bytes unless said otherwise.
function M.memory_stats(device)
  local stats = ffi.new 'int64_t[9]'
  if device and device ~= 0 then M.check(C.mc_device_memory(device, stats), 3) else C.mc_memory_stats(stats) end
  return {
    live = tonumber(stats[0]), cached = tonumber(stats[1]), peak = tonumber(stats[2]), allocations = tonumber(stats[3]),
    soft_ceiling = tonumber(stats[4]), limit = tonumber(stats[5]), blocks = tonumber(stats[6]),
    tensors = tonumber(stats[7]), tensor_peak = tonumber(stats[8]),
  }
end

local tensor_list, short_list, outs_list = ffi.typeof 'const mc_tensor *[?]', ffi.typeof 'const mc_tensor *[4]',
  ffi.typeof 'mc_tensor *[2]'
local result_list = ffi.typeof 'mc_tensor *[?]'
local ins_spare, outs_spare -- lists for the next call

--- The pointers of a Lua list of tensors (anchored by the list while C runs). Short ones without a loop: see
--- check.opts.
local function pointers(list, n)
  if n > 4 then
    local arr = tensor_list(n)
    for i = 1, n do arr[i - 1] = list[i] end
    return arr
  end
  local arr = ins_spare
  if arr then ins_spare = nil else arr = short_list() end
  if n > 0 then arr[0] = list[1] end
  if n > 1 then arr[1] = list[2] end
  if n > 2 then arr[2] = list[3] end
  if n > 3 then arr[3] = list[4] end
  return arr
end

local function results()
  local outs = outs_spare
  if outs then outs_spare = nil else outs = outs_list() end
  return outs
end

--- mc_op with a Lua list of operands.
function M.op_list(id, out, list, params)
  local n, outs = #list, results()
  local ins = pointers(list, n)
  outs[0] = out
  local rc = C.mc_op(id, 1, outs, n, ins, params)
  outs_spare = outs
  if n <= 4 then ins_spare = ins end
  return rc
end

--- mc_op with two operands.
function M.op_pair(id, out, a, b, params)
  local outs, ins = results(), ins_spare
  if ins then ins_spare = nil else ins = short_list() end
  outs[0], ins[0], ins[1] = out, a, b
  local rc = C.mc_op(id, 1, outs, 2, ins, params)
  outs_spare, ins_spare = outs, ins
  return rc
end

--- mc_op with lists of results and operands.
function M.op_multi(id, outs, list, params)
  local n, m = #list, #outs
  local made
  if m > 2 then
    made = result_list(m)
    for i = 1, m do made[i - 1] = outs[i] end
  else
    made = results()
    made[0] = outs[1]
    if m > 1 then made[1] = outs[2] end
  end
  local ins = pointers(list, n)
  local rc = C.mc_op(id, m, made, n, ins, params)
  if m <= 2 then outs_spare = made end
  if n <= 4 then ins_spare = ins end
  return rc
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

local hex_t = ffi.typeof 'char[65]'
--- SHA-256 of a string, of a file (nil and a message when it cannot be read), of a tensor's elements in row-major
--- order.
function M.sha256(text)
  local hex = hex_t()
  M.check(C.mc_sha256(text, #text, hex), 3)
  return ffi.string(hex, 64)
end
function M.sha256_file(path)
  local hex = hex_t()
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
    local hex = hex_t()
    local changed = C.mc_file_hash_finish(h, hex) ~= 0
    C.mc_file_hash_free(ffi.gc(h, nil))
    return ffi.string(hex, 64), changed
  end
  return { step = step, finish = finish }, tonumber(size[0])
end
function M.sha256_tensor(t)
  local hex = hex_t()
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
