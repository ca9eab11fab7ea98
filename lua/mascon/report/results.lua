-- results.lua - the files of a result, which appear in their folder together or not at all.
--
-- write(dir, record, body) hands body a set; the files that it makes go to a private folder inside dir and are moved
-- when all of them are whole, the manifest last. A failure, an interruption or a kill leaves the results that were
-- there. Leftovers of processes that were killed are removed by the next, a publication that was killed is completed.
-- Binding module: touches the FFI for the finalizer.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local manifest = require 'mascon.report.manifest'
local C, error = lib.C, check.error
local M = {}

local Set = {}
Set.__index = Set

local FILE = { compare = { true, 'bool' } }

--- Whether a name can be one of a set: parts between slashes, none empty or hidden.
function M.plain(name)
  local depth = select(2, name:gsub('/', ''))
  return name ~= '' and not ('/' .. name .. '/'):find '/[/.]' and not name:find '[\n%z]' and depth < 8
end

--- The path under which a file of the set is to be written.
---@param name string a plain name, or one inside folders of the set: "fit/values.npz"
---@param opts? table compare true (false: the file differs from run to run by design)
---@return string
function Set:path(name, opts)
  check.arg('results', 'name', name, 'string', 3)
  local o = check.opts('results', opts, FILE, 3)
  if not M.plain(name) then
    error(('results: %q is no name of a result; give a plain file name, or one in folders such as "fit/a.json"')
      :format(name), 2)
  end
  for _, n in ipairs(self.names) do
    if n == name then error(('results: %s is in the set already; give each file its own name'):format(name), 2) end
  end
  local folder = name:match '^(.*)/'
  if folder then
    local ok, why = file.make_folder(self.folder .. '/' .. folder)
    if not ok then error('results: ' .. why, 2) end
  end
  self.names[#self.names + 1], self.compare[name] = name, o.compare
  return self.folder .. '/' .. name
end

--- Notes the parts that a writer made beside a file: name-1.ending, name-2.ending.
---@param name string
function Set:parts(name)
  local stem, ending = name:match '^(.*)(%.%w+)$'
  local k = 1
  while file.exists(('%s/%s-%d%s'):format(self.folder, stem, k, ending)) do
    self:path(('%s-%d%s'):format(stem, k, ending), { compare = self.compare[name] })
    k = k + 1
  end
end

--- Writes bytes as a file of the set.
---@param name string
---@param bytes string
---@param opts? table as for path
function Set:put(name, bytes, opts)
  local ok, why = file.write(self:path(name, opts), bytes)
  if not ok then error('results: ' .. why, 2) end
end

--- Adds a file that may be missing: write(path) returns true, or nil and why. What cannot be written is no part of the set.
---@param name string
---@param write function
---@param opts? table as for path
---@return any
---@return string|nil why
function Set:try(name, write, opts)
  local path = self:path(name, opts)
  local ok, why = write(path)
  if ok then return ok end
  os.remove(path)
  self.names[#self.names] = nil
  return nil, why
end

--- Files of the set before that are no part of this one: those its manifest names, as they were written.
local function stale(dir, names)
  local record = manifest.read(dir)
  local mine, out = {}, {}
  for _, n in ipairs(names) do mine[n] = true end
  for _, o in ipairs(record and record.outputs or {}) do
    local old = M.plain(o.name) and not mine[o.name]
    if old and lib.sha256_file(dir .. '/' .. o.name) == o.sha256 then out[#out + 1] = o.name .. '\n' end
  end
  return table.concat(out)
end

--- Writes a set of files into a folder, which is made when it is not there. Files of the set before that the manifest there names are replaced or
--- removed; other files stay.
---@param dir string
---@param record table|nil of mc.manifest.new: the files are noted in it and it becomes the set's manifest.json
---@param body function body(set) with set.folder, set:path(name), set:put(name, bytes), set:try(name, write)
---@return string[] names of the files, in the order written
--- Errors: what body raises; a folder that cannot be written; a folder where a file should be.
function M.write(dir, record, body)
  check.arg('results.write', 'dir', dir, 'string', 3)
  local ok, why = file.make_folder(dir)
  if not ok then error('results.write: ' .. why, 2) end
  local handle = C.mc_file_set_new(dir)
  if handle == nil then lib.raise(2) end
  ffi.gc(handle, C.mc_file_set_free)
  local set = setmetatable({ folder = ffi.string(C.mc_file_set_folder(handle)), names = {}, compare = {} }, Set)
  local done, trouble = pcall(function()
    body(set)
    if record then
      for _, name in ipairs(set.names) do
        record:output(set.folder .. '/' .. name, { compare = set.compare[name], name = name })
      end
      record:write(set.folder)
      set.names[#set.names + 1] = manifest.NAME
    end
    if C.mc_file_set_publish(handle, manifest.NAME, stale(dir, set.names)) ~= 0 then lib.raise(2) end
  end)
  C.mc_file_set_free(ffi.gc(handle, nil))
  if not done then error(trouble, 0) end
  return set.names
end

--- Refuses a folder that cannot be written, before the work; with names also one that holds results.
---@param fname string for the message
---@param dir string
---@param names? string[] files that may not be there
function M.folder(fname, dir, names)
  local ok, why = file.make_folder(dir)
  if not ok then error(('%s: %s'):format(fname, why), 3) end
  M.recover(dir)
  for _, name in ipairs(names or {}) do
    if file.exists(dir .. '/' .. name) then
      error(('%s: %s/%s is there already; give --overwrite to replace it, or choose another folder'):format(fname, dir,
        name), 3)
    end
  end
end

--- Completes a set whose publication was killed. Nothing to do is no error.
---     mc.results.recover 'no/such/folder'  --> nothing
---@param dir string
function M.recover(dir) if C.mc_file_set_recover(dir) ~= 0 then lib.raise(2) end end

return M
