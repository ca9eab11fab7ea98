-- plan.lua - what an analysis will cost, before it runs.
--
-- Holds the sums of bytes: every large piece that fit() holds at one time, from sizes alone.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local curves = require 'workflows.autoreject.curves'
local folds = require 'workflows.autoreject.folds'
local repair = require 'workflows.autoreject.repair'
local source = require 'workflows.autoreject.source'
local M = {}

local OPTS = {
  epochs = { nil, 'integer >= 1' }, channels = { nil, 'integer >= 1' }, samples = { nil, 'integer >= 1' },
  dtype = { 'f64', { 'f64', 'f32' } }, in_memory = { true, 'bool' }, folds = { 10, 'integer >= 2' },
  consensus = { 11, 'integer >= 1' }, repairs = { 3, 'integer >= 1' }, bad = { 0.1, 'number >= 0' },
  max_memory = { nil, 'number > 0' }, threads = { nil, 'integer >= 1' },
}
-- bytes of Lua values for each cell: labels, votes, ranks; tensors of the same: ranges, and the cells that stand in
local LUA, CELL = 128, 24
-- copies of what is read at a time that the reading of a file makes
local READING = 3

-- seconds per epoch, channel and sample, for predictions of one channel from another, and for the rest; measured on one
-- core with AVX-512
local MIX, REST = 4.5e-11, 1.2e-8
-- seconds per byte of the scratch file: written, and read twice
local TURNED = 2e-9

--- Bytes an analysis takes beside its samples, and the seconds it should take here.
---@param opts table epochs, channels (of one type), samples (required) · dtype 'f64'|'f32' · in_memory true · folds 10
---  · consensus 11 and repairs 3 (sizes of the grids) · bad 0.1 (share of cells that will be bad) · max_memory bytes ·
---  threads
---@return table bytes · seconds · block (samples done at a time) · passes (over the file, when it is not in memory) ·
---  scratch (bytes of a temporary file in the folder TMPDIR, when blocks are shorter than the epochs)
--- Errors: sizes that are missing.
---     mc.autoreject.plan{ epochs = 100, channels = 64, samples = 500 }.block  --> 512
function M.plan(opts)
  local fname = 'autoreject.plan'
  local o = check.opts(fname, opts, OPTS)
  for _, name in ipairs { 'epochs', 'channels', 'samples' } do
    if not o[name] then check.error(('%s: %s is missing; give the three sizes'):format(fname, name), 2) end
  end
  local E, C, T, threads = o.epochs, o.channels, o.samples, o.threads or mc.get_num_threads()
  local size = o.dtype == 'f32' and 4 or 8
  local s = source.sized(E, C, T, size, o.in_memory, o.max_memory, threads)
  local block = s:search_block(fname, true)
  local N = 2 * E
  local tables = curves.tables(C, N, s.group)
  local losses = curves.tables(C, N) / 2 + 8 * C * folds.SPLITS * N
  local search = tables + s:sample_bytes(true, 0, s.group) * math.min(block, T)
  local cells = math.ceil(o.bad * o.repairs * E * C)
  local weights = repair.held(8 * cells * C, s:room()) + 8 * o.repairs * E * C
  local mended = weights + s:sample_bytes(false, 8 * cells) * math.min(s:block(fname, false, 8 * cells, weights), T)
  local _, chunk = s:chunk()
  local reading = o.in_memory and 0 or READING * chunk
  local lasting = (CELL + LUA) * E * C + 24 * C * N
  local scratch = not o.in_memory and block < T and E * C * T * size or 0
  -- freed blocks wait to be used again as far as the limit allows
  local need = lasting + math.max(search, losses, mended, reading) + source.workspaces(E, C, threads)
  local most = o.max_memory or not o.in_memory and source.LARGE
  local work = E * C * T * (C * MIX * (block >= T and 1 or 2) + REST) / threads + scratch * TURNED
  return { bytes = math.ceil(most and math.min(1.25 * need, math.max(need, most)) or need), seconds = work,
    block = block, passes = o.in_memory and 0 or scratch > 0 and 1 or 3,
    scratch = scratch }
end

return M
