-- log.lua - what was decided for every epoch and channel.
--
-- Holds the RejectLog object and its file, which holds the three arrays that upstream writes, so that either program
-- reads the other's.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local guard = require 'mascon.core.guard'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

--- Labels: good, bad and left, bad and repaired, bad and next to another bad one, hence neither repaired nor a source
--- (adjacency only). NaN: not considered.
M.GOOD, M.BAD, M.REPAIRED, M.CLUSTER = 0, 1, 2, 3

local Log = {}
Log.__index = Log

--- A log.
---
--- Its `labels` may be edited (log.labels[{ e, c }] = 0) and `bad_epochs` too; transform{ reject_log = log } then does
--- as they say.
---@param labels any f64 [E, C], NaN, 0, 1, 2 or 3
---@param bad_epochs any bool [E] or a list
---@param names string[] of all channels
---@return table log labels, bad_epochs, names, warnings; with :counts(), :bad_list(), :save(path)
--- Errors: shapes that do not belong together.
---     mc.autoreject.log.new(mc.zeros{ 2, 1 }, { false, true }, { 'Cz' }):bad_list()  --> { 2 }
function M.new(labels, bad_epochs, names)
  if not tensor.is(bad_epochs) then bad_epochs = mc.tensor(bad_epochs, { dtype = 'bool' }) end
  if not tensor.is(labels) or labels.ndim ~= 2 or labels.shape[1] ~= bad_epochs:numel()
    or labels.shape[2] ~= #names then
    error(('autoreject.log: labels are %s for %d epochs and %d names; give [epochs, channels]'):format(
      tensor.is(labels) and tensor.describe(labels) or check.show(labels),
      bad_epochs:numel(), #names), 2)
  end
  return setmetatable({ labels = labels, bad_epochs = bad_epochs:to 'bool', names = names, warnings = {} }, Log)
end

--- Whether a value is a log.
---     mc.autoreject.log.is({})  --> false
function M.is(v) return type(v) == 'table' and getmetatable(v) == Log end

function Log:__tostring()
  local n = self:counts()
  return ('%d of %d epochs bad; cells: %d good, %d bad, %d repaired'):format(#self:bad_list(), self.labels.shape[1],
    n[0], n[1] + n[3], n[2])
end

--- How often each label occurs: table by label 0 .. 3.
function Log:counts()
  local out = {}
  for l = 0, 3 do out[l] = mc.sum(mc.eq(self.labels, l):to 'i64'):item() end
  return out
end

--- Numbers of the bad epochs.
---@return integer[]
function Log:bad_list()
  local out = {}
  for e, bad in ipairs(self.bad_epochs:totable()) do
    if bad then out[#out + 1] = e end
  end
  return out
end

local SAVE = { overwrite = { false, 'bool' } }

--- Refuses a file that is there.
---@param fname string
---@param path string
---@param opts table|nil overwrite
function M.free(fname, path, opts)
  check.arg(fname, 'path', path, 'string')
  local o = check.opts(fname, opts, SAVE)
  if not o.overwrite and mc.file.exists(path) then
    error(('%s: %s is there already; give overwrite = true to replace it'):format(fname, path), 3)
  end
end

--- Writes labels, bad_epochs and ch_names to a compressed .npz, under the names upstream uses.
---@param path string
---@param opts? table overwrite false
--- Errors: a file that is there; what cannot be written.
function Log:save(path, opts)
  M.free('autoreject.log.save', path, opts)
  local w = require('mascon.io.npy').create_npz(path, { level = 6 })
  w:put('bad_epochs', self.bad_epochs)
  w:put_texts('ch_names', self.names)
  w:put('labels', self.labels)
  w:close()
end

--- Reads a log that :save or upstream wrote.
---@param path string
---@return table log
--- Errors: a file that is not there or no log.
function M.read(path)
  check.arg('autoreject.log.read', 'path', path, 'string')
  local a = require('mascon.io.npy').open_npz(path)
  for _, name in ipairs { 'labels', 'bad_epochs', 'ch_names' } do
    if not a:has(name) then
      error(('autoreject.log.read: %s is no reject log, it has no array %s'):format(path, name), 2)
    end
  end
  local names = a:texts 'ch_names'
  if type(names) ~= 'table' then
    error(('autoreject.log.read: ch_names of %s is one text; give a list of names'):format(path), 2)
  end
  local log = M.new(a:get('labels', { map = false }):to 'f64', a:get('bad_epochs', { map = false }), names)
  a:close()
  return log
end

guard.class('log', Log)

return M
