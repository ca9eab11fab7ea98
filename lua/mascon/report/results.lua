-- results.lua - the files of a result, which appear in their folder together or not at all.
--
-- write(dir, record, body) hands body a set; the files that it makes go to a private folder inside dir and are moved
-- when all of them are whole, the manifest last. A failure, an interruption or a kill leaves the results that were
-- there. Leftovers of processes that were killed are removed by the next, a publication that was killed is completed.
-- claim keeps an output for one process, from the start of a run.
-- Binding module: touches the FFI for the finalizer.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local manifest = require 'mascon.report.manifest'
local C, error = lib.C, check.error
local M = {}

-- folders of M.folder, by name, until their set is published: claim; absent: the files that were not there
local begun = {}

-- outputs that this process has claimed: a list of { lock, count }
local claims, watched = {}, false
local host = type(package.loaded['mascon.host']) == 'table' and package.loaded['mascon.host'] or {}

local Claim = {}
Claim.__index = Claim

--- Ends the claim. More than once is no error.
function Claim:free()
  local c = self.of
  self.of = nil
  if c then c.count = c.count - 1 end
  if c and c.count == 0 then
    c.lock:free()
    for i = #claims, 1, -1 do if claims[i] == c then table.remove(claims, i) end end
  end
end

--- Makes this process the only one that writes an output, a file or a folder that is there: from here until :free() or
--- its end. The system keeps the claim (PATH.lock, or .mascon.lock in a folder), so that of a killed process nothing
--- stays. Claims of one process share: the last free counts.
---     (pcall(mc.results.claim, '--out', 'no/such/folder/a.npz'))  --> false
---@param option string that names the output, such as '--out', for the message
---@param path string
---@return table claim with free
--- Errors: another process has it; the place cannot be written.
function M.claim(option, path)
  check.arg('results.claim', 'option', option, 'string', 3)
  check.arg('results.claim', 'path', path, 'string', 3)
  local at = file.is_folder(path) and path .. '/.mascon' or path
  local c
  for _, held in ipairs(claims) do c = c or held.lock:of(at) and held end
  if not c then
    local lock, why = file.lock(at)
    if not lock then error(('%s %s: %s'):format(option, path, why), 3) end
    if not watched and host.on_exit then -- no lock file stays behind
      host.on_exit(function()
        for _, held in ipairs(claims) do
          held.lock:free()
          if held.made then os.remove(held.made) end -- a folder without results; one that holds files stays
        end
      end)
      watched = true
    end
    c = { lock = lock, count = 0 }
    claims[#claims + 1] = c
  end
  c.count = c.count + 1
  return setmetatable({ of = c }, Claim)
end

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

--- Adds a file that may be missing: write(path) returns true, or nil and why. What cannot be written is no part of the
--- set.
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

--- Refuses a set that would replace or remove what it was made from.
local function spared(dir, record, names, old)
  for _, input in ipairs(record and record.record and record.record.inputs or {}) do
    local function look(name)
      if file.same(dir .. '/' .. name, input.path) then
        error(('results: %s/%s is an input of this run and would be replaced or removed; choose another folder'):format(
          dir, name), 0)
      end
    end
    for _, name in ipairs(names) do look(name) end
    for name in old:gmatch '[^\n]+' do look(name) end
  end
end

--- body(handle, folder) with a private folder inside dir, which goes afterwards: pcall's results.
local function private(dir, body)
  -- a signal that comes between two steps leaves the folder to the end of the process, which removes it
  local stop, handle = check.held(C.mc_file_set_new, dir)
  if handle == nil then return false, lib.message() end
  ffi.gc(handle, C.mc_file_set_free)
  local done, trouble = pcall(function()
    if stop then error(stop, 0) end
    body(handle, ffi.string(C.mc_file_set_folder(handle)))
  end)
  C.mc_file_set_free(ffi.gc(handle, nil))
  return done, trouble
end

--- Files without a manifest that appear in a folder together or not at all: those that body writes into the private
--- folder that it gets. A kill between two of them is completed by whoever opens one next.
---@param dir string there already
---@param last string name of the file that stands for all: it goes first and appears last
---@param body fun(folder: string)
--- Errors: what body raises; a folder that cannot be written.
function M.together(dir, last, body)
  check.arg('results.together', 'dir', dir, 'string', 3)
  check.arg('results.together', 'last', last, 'string', 3)
  check.arg('results.together', 'body', body, 'function', 3)
  local done, trouble = private(dir, function(handle, folder)
    body(folder)
    if C.mc_file_set_publish(handle, last, '', '') ~= 0 then lib.raise(2) end
  end)
  if not done then error(trouble, 0) end
end

--- Writes a set of files into a folder, which is made when it is not there. Files of the set before that the manifest
--- there names are replaced or removed; other files stay.
---@param dir string
---@param record table|nil of mc.manifest.new: the files are noted in it and it becomes the set's manifest.json
---@param body function body(set) with set.folder, set:path(name), set:put(name, bytes), set:try(name, write)
---@return string[] names of the files, in the order written
--- Errors: what body raises; a folder that cannot be written, or where another process writes; a folder where a file
--- should be; results that something else has put there since M.folder found none.
function M.write(dir, record, body)
  check.arg('results.write', 'dir', dir, 'string', 3)
  local ok, why = file.make_folder(dir)
  if not ok then error('results.write: ' .. why, 2) end
  local claim, run = M.claim('results.write:', dir), begun[dir] or {}
  local set
  local done, trouble = private(dir, function(handle, folder)
    set = setmetatable({ folder = folder, names = {}, compare = {} }, Set)
    body(set)
    if record then
      for _, name in ipairs(set.names) do
        record:output(set.folder .. '/' .. name, { compare = set.compare[name], name = name })
      end
      record:write(set.folder)
      set.names[#set.names + 1] = manifest.NAME
    end
    local old = stale(dir, set.names)
    spared(dir, record, set.names, old)
    if C.mc_file_set_publish(handle, manifest.NAME, old, run.absent or '') ~= 0 then lib.raise(2) end
  end)
  claim:free()
  if run.claim then run.claim:free() end
  if not done then error(trouble, 0) end
  begun[dir] = nil -- the results there are ours
  return set.names
end

local FREE = { overwrite = { false, 'bool' }, resume = { nil, 'bool' }, inputs = { nil, 'table' } }
local FOLDER = {
  overwrite = FREE.overwrite, resume = FREE.resume, inputs = FREE.inputs, names = { { manifest.NAME }, 'table' },
}

--- The rule of all scripts for results that are there: they are replaced only when that is asked for, and what a run
--- reads never. Refuses, before the work, when one of the files is there.
---@param option string that names the output, such as '--out', for the message
---@param paths string[]
---@param opts? table overwrite (false): they may be replaced · resume: the run goes on with them (nil where the script
---  has no such option) · inputs: files that the run reads
function M.free(option, paths, opts)
  check.arg('results.free', 'option', option, 'string', 3)
  check.list('results.free', check.arg('results.free', 'paths', paths, 'table', 3))
  local o = check.opts('results.free', opts, FREE, 3)
  for _, path in ipairs(paths) do
    for _, input in ipairs(o.inputs or {}) do
      if file.same(path, input) then
        error(('%s %s is a file that this run reads; give another %s'):format(option, path, option), 3)
      end
    end
  end
  if o.overwrite and o.resume then error('--resume and --overwrite exclude each other; give one', 3) end
  if o.overwrite or o.resume then return end
  for _, path in ipairs(paths) do
    if file.exists(path) then
      error(('%s is there already; use --overwrite, %sor another %s'):format(path,
        o.resume ~= nil and '--resume, ' or '', option), 3)
    end
  end
end

--- Makes a folder for results, before the work, and claims it until write has published there or the process ends.
--- Refuses one that cannot be written or that another run has claimed, and one that holds results unless they may be
--- replaced. write looks again, in the step that publishes.
---@param option string that names the folder, such as '--out', for the message
---@param dir string
---@param opts? table overwrite, resume as for free · names (manifest.json): the files that are looked for ·
---  inputs: files that the run reads, refused where they are of the results that it replaces
function M.folder(option, dir, opts)
  check.arg('results.folder', 'option', option, 'string', 3)
  check.arg('results.folder', 'dir', dir, 'string', 3)
  local o = check.opts('results.folder', opts, FOLDER, 3)
  local made = not file.exists(dir)
  local ok, why = file.make_folder(dir)
  if not ok then error(('%s: %s'):format(option, why), 3) end
  local claim = M.claim(option, dir)
  if made then claim.of.made = dir end
  local free, wrong = pcall(function()
    M.recover(dir)
    local paths = {}
    for i, name in ipairs(o.names) do paths[i] = dir .. '/' .. name end
    M.free(option, paths, { overwrite = o.overwrite, resume = o.resume })
    local record = manifest.read(dir)
    for _, old in ipairs(record and record.outputs or {}) do
      for _, input in ipairs(o.inputs or {}) do
        if M.plain(old.name) and file.same(dir .. '/' .. old.name, input) then
          error(('%s %s: %s is a file that this run reads and would replace or remove; give another %s'):format(option,
            dir, old.name, option), 3)
        end
      end
    end
  end)
  if begun[dir] then begun[dir].claim:free() end
  begun[dir] = nil
  if not free then
    claim:free()
    error(wrong, 0)
  end
  local replaces = o.overwrite or o.resume
  begun[dir] = { claim = claim, absent = not replaces and table.concat(o.names, '\n') .. '\n' or nil }
end

--- Removes the files that the manifest of a folder names, as they were written, and the manifest.
---@param dir string
function M.remove(dir)
  for name in stale(dir, {}):gmatch '[^\n]+' do os.remove(dir .. '/' .. name) end
  os.remove(dir .. '/' .. manifest.NAME)
end

--- Completes sets whose publication was killed, in a folder or above a file. Nothing to do is no error.
---     mc.results.recover 'no/such/folder'  --> nothing
---@param dir string folder or file
function M.recover(dir)
  check.arg('results.recover', 'dir', dir, 'string', 3)
  if C.mc_file_set_recover(dir) ~= 0 then lib.raise(2) end
end

return M
