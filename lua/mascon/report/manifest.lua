-- manifest.lua - the record beside every result: what ran, on what, with what, and a hash of each stage.
--
-- Holds the format of manifest.json (format 1), the hash of a value, and the comparison of two records, on which
-- `mascon rerun` and `mascon why` stand. A record is made by the script or workflow: new, stage after stage, output for
-- each file, write at the end. The clock is read here because times are part of the record; they are never compared.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local json = require 'mascon.base.json'
local progress = require 'mascon.base.progress'
local info = require 'mascon.report.info'
local devices = require 'mascon.report.devices'
local create = require 'mascon.array.create'
local error = check.error

local M = { FORMAT = 1, NAME = 'manifest.json' }

local host = type(package.loaded['mascon.host']) == 'table' and package.loaded['mascon.host'] or {}

-- ---------------------------------------------------------------- plan mode

--- Whether the run is a rehearsal (`mascon plan`, or MASCON_PLAN=1): a workflow then prints what it would cost and
--- returns.
---@return boolean
function M.planning()
  if host.planning or os.getenv 'MASCON_PLAN' == '1' then
    host.plan_asked = true
    return true
  end
  return false
end

-- ---------------------------------------------------------------- rerun

--- The folder for results of a script that names it itself: under `mascon rerun`, where the result is compared with
--- another one that must stay, that of the rerun, or a folder in it.
---     mc.manifest.redirected 'a'  --> a, false
---@param folder string
---@return string
---@return boolean whether this is a rerun
function M.redirected(folder)
  check.arg('manifest.redirected', 'folder', folder, 'string', 3)
  local to, of = os.getenv 'MASCON_RERUN', os.getenv 'MASCON_RERUN_OF'
  if not to then return folder, false end
  if file.same(folder, to) or folder:sub(1, #to + 1) == to .. '/' then return folder, true end
  local function last(path) return path:match '([^/]+)/*$' or path end
  if file.same(folder, of or to) or last(folder) == last(of or to) then return to, true end
  return to .. '/' .. last(folder), true
end

-- ---------------------------------------------------------------- hashes

local function text_of(v, path, open)
  if tensor.is(v) then
    return ('tensor %s[%s] %s'):format(v.dtype, table.concat(v.shape, ','), lib.sha256_tensor(v))
  end
  local kind = type(v)
  if kind == 'number' then return v ~= v and 'number nan' or ('number %.17g'):format(v) end
  if kind == 'string' then return ('string %d %s'):format(#v, v) end
  if kind == 'cdata' then return 'value ' .. tostring(v) end
  if kind ~= 'table' then
    if kind == 'boolean' or kind == 'nil' then return tostring(v) end
    error(('manifest.hash: %s is a %s; tensors, numbers, strings, booleans and tables of them have a hash'):format(path,
      kind), 3)
  end
  if open[v] then error(('manifest.hash: %s contains itself'):format(path), 3) end
  open[v] = true
  local keys, parts = {}, {}
  for k in pairs(v) do
    if type(k) ~= 'string' and type(k) ~= 'number' then
      error(('manifest.hash: %s has a key that is a %s; use names or numbers'):format(path, type(k)), 3)
    end
    keys[#keys + 1] = k
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) then return a < b end
    return type(a) == 'number'
  end)
  for i, k in ipairs(keys) do
    parts[i] = text_of(k, path, open) .. ' = ' .. text_of(v[k], path .. '.' .. tostring(k), open)
  end
  open[v] = nil
  return '{' .. table.concat(parts, ';') .. '}'
end

--- SHA-256 of a value: tensor (dtype, shape and elements; layout does not matter), number, string, boolean, or table of
--- these (keys in order).
---     mc.manifest.hash(mc.tensor{1, 2})  --> 8397b04e31001845119ad06d1bf5f739bf4d5c3515d30ebcb497596fb6e58a69
---@param value any
---@return string 64 hexadecimal digits
function M.hash(value)
  return lib.sha256(text_of(value, 'value', {}))
end

--- SHA-256 of a file's bytes.
---@param path string
---@return string|nil hash, string|nil message
function M.hash_file(path)
  check.arg('manifest.hash_file', 'path', path, 'string', 3)
  return lib.sha256_file(path)
end

-- files that take longer than a bar needs to be read; bytes between two looks at the clock
local LARGE, PIECE = 2 ^ 28, 2 ^ 24

--- Hash of an open file, with a bar for a large one; whether it was written meanwhile.
local function hash_open(handle, size, quiet)
  local bar = not quiet and size >= LARGE and progress.new(size, { label = 'hash', unit = 'B' }) or nil
  repeat
    local n = handle.step(PIECE)
    if bar then bar:add(n) end
  until n == 0
  if bar then bar:done() end
  return handle.finish()
end

--- Seconds that hashing so many bytes takes here, from a measured MiB.
---@param bytes number
---@return number
function M.hash_seconds(bytes)
  check.arg('manifest.hash_seconds', 'bytes', bytes, 'number >= 0', 3)
  local text = ('mascon__'):rep(2 ^ 17)
  local start = lib.clock_seconds()
  lib.sha256(text)
  return bytes * (lib.clock_seconds() - start) / #text
end

-- ---------------------------------------------------------------- facts

--- The working folder. Asked of a shell, since PWD is stale when a parent changed folder by itself.
local function working_folder()
  local pipe = io.popen 'pwd -P'
  local path = pipe and pipe:read '*l'
  if pipe then pipe:close() end
  return path or os.getenv 'PWD' or '.'
end

--- Commit of the git work tree that holds `path`, read from its files; nil when there is none.
local function commit_of(path, from)
  local folder = path:match '^(.*)/[^/]*$' or '.'
  if folder:sub(1, 1) ~= '/' then folder = from .. '/' .. folder end
  for _ = 1, 32 do
    local head = file.read(folder .. '/.git/HEAD')
    if head then
      local ref = head:match '^ref: (%S+)'
      if not ref then return head:match '^%x+' end
      local direct = file.read(folder .. '/.git/' .. ref)
      if direct then return direct:match '^%x+' end
      for hash, name in (file.read(folder .. '/.git/packed-refs') or ''):gmatch '(%x+) (%S+)' do
        if name == ref then return hash end
      end
      return nil
    end
    if folder == '' then return nil end
    folder = folder:match '^(.*)/[^/]*$' or ''
  end
end

local function library_hash()
  return lib.sha256_file(lib.libdir .. '/libmascon.so') or 'unknown'
end

--- Processor, library, neighbours and the device that "auto" reads: what the bits of a result can depend on.
local function facts()
  local device = os.getenv 'MASCON_DEVICE'
  local i = info.about { 'fft', 'blas', 'zlib' }
  return {
    processor = i.processor, cores = i.cores, isa = i.isa, threads = i.threads, lua = i.lua, system = i.system,
    fft = i.libraries.fft, blas = i.libraries.blas, zlib = i.libraries.zlib, library = library_hash(),
    device = device ~= '' and device or nil,
  }
end

--- Options as they can be stored: tensors by their hash, functions by a word.
local function storable(v, depth)
  depth = depth or 0
  if depth > 16 then error('manifest.new: options are nested deeper than 16, or contain themselves', 3) end
  if tensor.is(v) then return { tensor = v.dtype, shape = json.array(v.shape), sha256 = lib.sha256_tensor(v) } end
  if type(v) == 'table' and v ~= json.null then
    local out, array = {}, #v > 0
    for k, x in pairs(v) do
      if type(k) ~= 'string' and type(k) ~= 'number' then k = tostring(k) end
      if not array then k = tostring(k) end
      out[k] = storable(x, depth + 1)
    end
    return out
  end
  if type(v) == 'number' and (v ~= v or v == math.huge or v == -math.huge) then return tostring(v) end
  if type(v) == 'function' or type(v) == 'cdata' or type(v) == 'userdata' or type(v) == 'thread' then
    return tostring(v):gsub(': .*', '')
  end
  return v
end

-- ---------------------------------------------------------------- a record

local Manifest = {}
Manifest.__index = Manifest

local NEW = {
  script = { nil, 'string' }, args = { nil, 'table' }, options = { nil, 'table' }, inputs = { nil, 'table' },
  seed = { nil, 'integer >= 0' }, measured_fft = { false, 'bool' }, quiet = { false, 'bool' },
}

--- Begins a record: hashes the script, opens the input files, notes the machine, versions, options and seed. The
--- inputs, as they are now, are
--- hashed when the first stage or file is noted, after the work: what the work refuses is said before that. One that is
--- written meanwhile is
--- marked as changed.
---@param opts? table script (path; the running script by default), args (list; those of the script), options (table),
---  inputs (list of paths), seed (that of the default generator), measured_fft (transforms use measured plans, which
---  may change bits
--- from run to run),
---  quiet (no bar while large files are hashed)
---@return table manifest with the methods stage, output and write
--- Errors: an input that cannot be read.
function M.new(opts)
  local o = check.opts('manifest.new', opts, NEW, 3)
  local arg = rawget(_G, 'arg') or {}
  local script = o.script or (type(arg[0]) == 'string' and arg[0]) or nil
  local args = o.args
  if not args then
    args = {}
    for i = 1, #arg do args[i] = arg[i] end
  end
  local folder = working_folder()
  local record = {
    format = M.FORMAT, mascon = lib.version(), began = os.date '!%Y-%m-%dT%H:%M:%SZ', folder = folder,
    script = { path = script, sha256 = script and lib.sha256_file(script) or nil,
      commit = script and commit_of(script, folder) or nil },
    args = json.array(storable(args)), options = storable(o.options or {}), seed = o.seed or (create.seed_state()),
    facts = facts(), measured_fft = o.measured_fft, inputs = json.array {}, stages = json.array {},
    outputs = json.array {},
  }
  local waiting = {}
  for i, path in ipairs(o.inputs or {}) do
    local handle, size = lib.file_hash(path)
    if not handle then error(('manifest.new: input %d: %s'):format(i, size), 2) end
    waiting[i] = { handle = handle, size = size }
    record.inputs[i] = { path = path }
  end
  local now = lib.clock_seconds()
  return setmetatable({ record = record, _start = now, _last = now, _waiting = waiting, _quiet = o.quiet }, Manifest)
end

--- Hashes the inputs, once.
local function take_inputs(self)
  local waiting = self._waiting
  self._waiting = nil
  for i, w in ipairs(waiting or {}) do
    local hash, changed = hash_open(w.handle, w.size, self._quiet)
    self.record.inputs[i].sha256, self.record.inputs[i].changed = hash, changed or nil
  end
end

--- Notes a stage: its name, the hash of its value and the seconds since the stage before. Names are unique.
---@param name string
---@param value any tensor, number, string, boolean, or table of these
---@return any value
function Manifest:stage(name, value)
  check.arg('manifest:stage', 'name', name, 'string', 3)
  for _, s in ipairs(self.record.stages) do
    if s.name == name then
      error(('manifest:stage: %q is noted already; give each stage its own name'):format(name), 2)
    end
  end
  local now = lib.clock_seconds()
  take_inputs(self)
  table.insert(self.record.stages, { name = name, sha256 = M.hash(value), seconds = now - self._last })
  self._last = lib.clock_seconds()
  return value
end

--- Notes a file of the result; call it after the file is written. A file that differs from run to run by design (a
--- report with times) is noted with compare = false.
---@param path string
---@param opts? table compare true · name: the path inside the folder of the result, for files in folders of it
---@return string path
function Manifest:output(path, opts)
  local o = check.opts('manifest:output', opts, { compare = { true, 'bool' }, name = { nil, 'string' } }, 3)
  check.arg('manifest:output', 'path', path, 'string', 3)
  take_inputs(self)
  local handle, size = lib.file_hash(path)
  if not handle then error('manifest:output: ' .. size, 2) end
  local hash = hash_open(handle, size, self._quiet)
  table.insert(self.record.outputs, { name = o.name or path:match '[^/]*$', sha256 = hash, compare = o.compare })
  return path
end

--- Writes the record as DIR/manifest.json.
---@param dir string folder of the result
---@return string path
function Manifest:write(dir)
  check.arg('manifest:write', 'dir', dir, 'string', 3)
  take_inputs(self)
  self.record.seconds = lib.clock_seconds() - self._start
  self.record.peak_bytes = lib.memory_stats().peak
  local used = devices.used()
  self.record.facts.devices = next(used) and used or nil
  if not next(used) then self.record.facts.device = nil end -- the variable had no effect
  local path = dir .. '/' .. M.NAME
  local ok, why = file.write(path, json.encode(self.record, { indent = 2 }) .. '\n')
  if not ok then error('manifest:write: ' .. why, 2) end
  return path
end

-- ---------------------------------------------------------------- reading and comparing

--- Reads the record of a result: its folder, or the manifest itself.
---@param path string
---@return table|nil record, string|nil message
function M.read(path)
  check.arg('manifest.read', 'path', path, 'string', 3)
  local at = path:match '%.json$' and path or path:gsub('/+$', '') .. '/' .. M.NAME
  if lib.C.mc_file_set_recover(at) ~= 0 then return nil, lib.message() end -- a publication that was killed
  local text, why = file.read(at)
  if not text then return nil, ('%s; give the folder of a result, or its %s'):format(why, M.NAME) end
  local record, bad = json.decode(text)
  if type(record) ~= 'table' then return nil, ('%s is no manifest: %s'):format(at, bad or 'it holds no object') end
  if record.format ~= M.FORMAT or type(record.stages) ~= 'table' or type(record.outputs) ~= 'table'
    or type(record.facts) ~= 'table' then
    return nil, ('%s is no manifest of format %d; it was written by another program or version'):format(at, M.FORMAT)
  end
  for _, list in ipairs { record.stages, record.outputs } do
    for i, entry in ipairs(list) do
      if type(entry) ~= 'table' or type(entry.name) ~= 'string' or type(entry.sha256) ~= 'string' then
        return nil, ('%s is no manifest: entry %d of stages or outputs lacks a name or a hash'):format(at, i)
      end
    end
  end
  return record
end

--- Files of a result folder that are not as its record says.
---@param record table as of mc.manifest.read
---@param dir string
---@return table list of { name, 'is missing' or 'has changed' }
---@return integer files looked at
function M.files_apart(record, dir)
  local list = {}
  for _, o in ipairs(record.outputs) do
    local inside = not ('/' .. o.name .. '/'):find '/%.*/' -- no way out of the folder
    local hash = inside and lib.sha256_file(dir .. '/' .. o.name)
    if hash ~= o.sha256 then list[#list + 1] = { o.name, hash and 'has changed' or 'is missing' } end
  end
  return list, #record.outputs
end

local function flat(v, prefix, out)
  if type(v) == 'table' and v ~= json.null then
    for k, x in pairs(v) do flat(x, prefix == '' and tostring(k) or prefix .. '.' .. tostring(k), out) end
  else
    out[prefix] = v
  end
  return out
end

-- what two runs may share; times, folders and paths are no reason for other bits
local COMPARED = { 'mascon', 'options', 'seed', 'facts', 'measured_fft', 'args' }
local function comparable(r)
  local out = {}
  for _, k in ipairs(COMPARED) do flat(r[k], k, out) end
  out['script.sha256'] = type(r.script) == 'table' and r.script.sha256 or nil
  out['script.commit'] = type(r.script) == 'table' and r.script.commit or nil
  for i, input in ipairs(r.inputs or {}) do out[('inputs.%d.sha256'):format(i)] = input.sha256 end
  return out
end

--- Recorded facts in which two records differ, sorted by name.
---@param a table
---@param b table
---@return table list of { name, value in a, value in b }
function M.facts_apart(a, b)
  local x, y = comparable(a), comparable(b)
  local names, list = {}, {}
  for k in pairs(x) do names[k] = true end
  for k in pairs(y) do names[k] = true end
  for k in pairs(names) do
    if x[k] ~= y[k] then list[#list + 1] = { k, x[k], y[k] } end
  end
  table.sort(list, function(p, q) return p[1] < q[1] end)
  return list
end

--- The first stage in which two records part.
---@return string|nil name nil when all agree
---@return string|nil how 'differs', 'only in the first' or 'only in the second'
---@return integer same stages that agree before it
function M.stage_apart(a, b)
  local of = {}
  for _, s in ipairs(b.stages) do of[s.name] = s.sha256 end
  local same = 0
  for _, s in ipairs(a.stages) do
    if not of[s.name] then return s.name, 'only in the first', same end
    if of[s.name] ~= s.sha256 then return s.name, 'differs', same end
    same = same + 1
  end
  local known = {}
  for _, s in ipairs(a.stages) do known[s.name] = true end
  for _, s in ipairs(b.stages) do if not known[s.name] then return s.name, 'only in the second', same end end
  return nil, nil, same
end

--- Names of result files that differ or are missing in one of the records; files noted with compare = false are left
--- out.
---@return table list of { name, how }
---@return integer compared files looked at
function M.outputs_apart(a, b)
  local x, y, names, list = {}, {}, {}, {}
  for _, o in ipairs(a.outputs) do if o.compare ~= false then x[o.name], names[o.name] = o.sha256, true end end
  for _, o in ipairs(b.outputs) do if o.compare ~= false then y[o.name], names[o.name] = o.sha256, true end end
  local n = 0
  for k in pairs(names) do
    n = n + 1
    if x[k] ~= y[k] then
      list[#list + 1] = { k, not x[k] and 'only in the second' or not y[k] and 'only in the first' or 'differs' }
    end
  end
  table.sort(list, function(p, q) return p[1] < q[1] end)
  return list, n
end

return M
