-- store.lua - rows on their way to one HDF5 file: part files while the work goes on, merged at the end.
--
-- A part holds the rows of a batch and appears by rename, so a kill leaves whole parts; --resume goes on with them. Its
-- name says of which configuration the rows are, and the SHA-256 of its bytes: one that changed is made anew, to
-- the same rows. The layout of the merged file is that of the reference (specification of rollouts, 1.5), with status
-- and bad_step beside it.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local lib = require 'mascon.core.ffi'
local error = check.error
local M = {}

--- The page of a data set.
---@param path string
function M.page(path)
  check.arg('rollout.store.page', 'path', path, 'string', 3)
  return (path:gsub('%.h5$', '')) .. '.html'
end

--- Folder of the parts of an output.
function M.folder(path) return path .. '.parts' end

local MARK = 12 -- digits of the hash of the configuration in the name of a part

--- Name of a part without its end, the SHA-256 and .h5.
local function part_name(path, hash, first, last)
  return ('%s/rows-%s-%08d-%08d'):format(M.folder(path), hash:sub(1, MARK), first, last)
end

local function names(path) return file.names(M.folder(path)) end

--- Parts of a configuration, by their first row: { { path, first, last, sum } ... }; how many belong to another one.
---@param path string of the output
---@param hash string
---@return table[] parts
---@return integer foreign
function M.parts(path, hash)
  check.arg('rollout.store.parts', 'path', path, 'string', 3)
  check.arg('rollout.store.parts', 'hash', hash, 'string', 3)
  local out, foreign = {}, 0
  for _, name in ipairs(names(path)) do
    local mark, a, b, sum = name:match '^rows%-(%x*)%-?(%d%d%d%d%d%d%d%d+)%-(%d+)%-?(%x*)%.h5$'
    if a and mark == hash:sub(1, MARK) then
      out[#out + 1] = { path = M.folder(path) .. '/' .. name, first = tonumber(a), last = tonumber(b), sum = sum }
    elseif a then foreign = foreign + 1 end
  end
  table.sort(out, function(x, y) return x.first < y.first or x.first == y.first and x.last > y.last end)
  return out, foreign
end

--- The parts whose bytes are those that were written, the others, and those whose rows good ones hold; one that repeats
--- rows and has others too is of the others.
local function sound(parts)
  local good, bad, within, next_row = {}, {}, {}, 0
  for _, p in ipairs(parts) do
    local whole = p.first >= next_row and p.last >= p.first and lib.sha256_file(p.path) == p.sum
    local list = whole and good or p.last >= p.first and p.last < next_row and within or bad
    list[#list + 1] = p
    if whole then next_row = p.last + 1 end
  end
  return good, bad, within
end

local function drop(parts)
  for _, p in ipairs(parts) do
    local gone, because = os.remove(p.path)
    if not gone then error(('rollout: a part cannot be removed: %s; remove it'):format(because), 0) end
  end
end

--- Removes the parts of a configuration within rows first .. last but the one that holds them all.
function M.thin(path, hash, first, last)
  check.arg('rollout.store.thin', 'path', path, 'string', 3)
  check.arg('rollout.store.thin', 'hash', hash, 'string', 3)
  check.arg('rollout.store.thin', 'first', first, 'integer', 3)
  check.arg('rollout.store.thin', 'last', last, 'integer', 3)
  local inside = {}
  for _, p in ipairs(M.parts(path, hash)) do
    if p.first >= first and p.last <= last and p.last - p.first < last - first then inside[#inside + 1] = p end
  end
  drop(inside)
end

--- Removes all parts and what killed writers of parts left, then the folder.
local function clear(path)
  for _, name in ipairs(names(path)) do
    if name:find '^rows%-' then os.remove(M.folder(path) .. '/' .. name) end
  end
  os.remove(M.folder(path))
end

--- The configuration of a whole file, nil where it is none of this program.
local function hash_of(path)
  local ok, found = pcall(function()
    local f = mc.open(path)
    local v = f:group('/metadata').attributes.configuration_sha256
    f:close()
    return v
  end)
  return ok and found or nil
end

--- Whether the output is whole already; makes the folder of the parts where it is not. Refuses outputs of others.
---@param path string of the output
---@param hash string
---@param o table resume, overwrite
---@return boolean complete
---@return table[] bad parts that changed since they were written: removed, their rows are to be made anew
function M.begin(path, hash, o)
  local parts, foreign = M.parts(path, hash)
  local there = file.exists(path)
  mc.results.free('--output', { path }, { overwrite = o.overwrite, resume = o.resume or false })
  if there and o.resume and #parts + foreign == 0 then
    if hash_of(path) ~= hash then
      error(('rollout: %s holds rows of another configuration; use --overwrite, or another --output'):format(path), 0)
    end
    return true, {}
  end
  if foreign > 0 and not o.overwrite then
    error(('rollout: %s holds rows of another configuration; finish with that one, or use --overwrite'):format(
      M.folder(path)), 0)
  end
  if #parts > 0 and not o.overwrite and not o.resume then
    local rows = 0
    for _, p in ipairs(parts) do rows = rows + p.last - p.first + 1 end
    error(('rollout: %s holds %d finished rows of a run that was stopped; %s'):format(M.folder(path), rows,
      'go on with --resume, or drop them with --overwrite'), 0)
  end
  if o.overwrite and not o.resume then clear(path) end
  local ok, why = file.make_folder(M.folder(path))
  if not ok then error('rollout: ' .. why, 0) end
  local can, reason = pcall(mc.save, M.folder(path) .. '/rows-trial.h5', {}) -- before the work, not after it
  os.remove(M.folder(path) .. '/rows-trial.h5')
  if not can then
    os.remove(M.folder(path))
    error('rollout: ' .. tostring(reason):gsub('^[^\n]-%.lua:%d+: ', ''), 0)
  end
  if not o.resume then return false, {} end
  local _, bad, within = sound(parts)
  drop(bad)
  drop(within)
  return false, bad
end

--- Writes the rows of a batch: lists of tensors and texts as generate.batch gives them.
function M.put(path, hash, batch)
  local tree = { params = batch.params, inputs = batch.inputs, ic_types = batch.ic_types, policies = batch.policies,
    regimes = batch.regimes, grid = batch.grid, filtered = batch.filtered,
    status = batch.status, bad_step = batch.bad_step, seconds = batch.seconds, temporal = batch.temporal,
      summary = batch.summary, aggregated = batch.aggregated, outputs = batch.outputs }
  local name = part_name(path, hash, batch.first, batch.last)
  local fresh = name .. '.new.h5' -- no part yet
  mc.save(fresh, tree)
  local sum, why = lib.sha256_file(fresh)
  local ok = sum
  if sum then ok, why = os.rename(fresh, ('%s-%s.h5'):format(name, sum)) end
  if not ok then error('rollout: ' .. why, 0) end
end

--- Rows of a list of parts in order, one dataset at a time: next() for Writer:rows.
local function reader(parts, name)
  local i = 0
  return function()
    i = i + 1
    local f = mc.open(parts[i].path)
    local d = f:dataset(name)
    local t = d:read()
    f:close()
    return t
  end
end

local function texts(parts, name)
  local out = {}
  for _, p in ipairs(parts) do
    local f = mc.open(p.path)
    local list = f:get(name)
    f:close()
    for _, v in ipairs(type(list) == 'table' and list or { list }) do out[#out + 1] = v end
  end
  return out
end

local function shape_of(parts, name)
  local f = mc.open(parts[1].path)
  local s, dtype
  if f:has(name) then
    local d = f:dataset(name)
    s, dtype = d.shape, d.dtype
  end
  f:close()
  return s, dtype
end

--- Merges parts into the file, which appears whole. about: attributes and the plan of datasets.
---@param path string
---@param hash string of the configuration
---@param about table { first, last, metadata, features, temporal, summary, chunk, level, trajectories, registry ... }
function M.merge(path, hash, about)
  local parts, foreign = M.parts(path, hash)
  if foreign > 0 then
    error(('rollout: %s holds rows of another configuration now; nothing was merged'):format(M.folder(path)), 0)
  end
  local bad
  parts, bad = sound(parts)
  if bad[1] then
    error(('rollout: %s changed since it was written; run again with --resume, which makes its rows anew'):format(
      bad[1].path), 0)
  end
  local expect = about.first
  for _, p in ipairs(parts) do
    if p.first ~= expect then error(('rollout: rows %d to %d are not there yet; run with --resume'):format(expect,
      p.first - 1), 0) end
    expect = p.last + 1
  end
  if expect ~= about.last + 1 then error(('rollout: rows %d to %d are not there yet; run with --resume'):format(expect,
    about.last), 0) end
  M.combine(path, parts, about)
  clear(path)
end

-- name in a part, place in the file, axes of a chunk: 0 the row chunk, -1 the whole axis, other numbers at most that
local PLAN = {
  { 'params', '/parameters/params', { 0, -1 } }, { 'inputs', '/inputs/fields', { 0, -1, -1, -1 } }, { 'grid',
    '/metadata/grid_sizes', { 0 } }, { 'filtered', '/metadata/filtered', { 0 } },
  { 'status', '/metadata/status', { 0, -1 } }, { 'bad_step', '/metadata/bad_step', { 0, -1 } }, { 'temporal',
    '/features/temporal/features', { 0, -1, -1 } },
  { 'summary', '/features/summary/per_trajectory/features', { 0, -1, -1 } }, { 'aggregated',
    '/features/summary/aggregated/features', { 0, -1 } },
  { 'seconds', '/features/summary/aggregated/metadata/extraction_time', { 0 } },
}

local function chunk_of(rule, shape, rows)
  local out = {}
  for k, r in ipairs(rule) do out[k] = r == 0 and math.min(rows, shape[1]) or r == -1 and shape[k] or math.min(r,
    shape[k]) end
  return out
end

local MASKS = { temporal = '/features/temporal/mask', summary = '/features/summary/per_trajectory/mask',
  aggregated = '/features/summary/aggregated/mask' }

--- Which columns of a dataset of parts have two different finite values: u8 [columns].
local function mask_of(parts, name)
  local read, low, high = reader(parts, name), nil, nil
  for _ = 1, #parts do
    low, high = mc.scope(function()
      local x = read()
      x = x:reshape(-1, x.shape[x.ndim])
      local good = mc.isfinite(x)
      local a, b = mc.where(good, x, math.huge):min(1), mc.where(good, x, -math.huge):max(1)
      if low then a, b = mc.minimum(a, low), mc.maximum(b, high) end
      return a, b
    end)
  end
  return mc.lt(low, high):to 'u8'
end

--- Writes a file from parts (or from whole files, which have its names); groups and attributes as the reference has
--- them. The page of the data that were there goes.
function M.combine(path, parts, about, whole)
  os.remove(M.page(path))
  local w = require('mascon.io.hdf5').create(path)
  local n = about.last - about.first + 1
  local function dataset(name, place, rule)
    local from = whole and place or name
    local s, dtype = shape_of(parts, from)
    if not s then return end
    s[1] = n
    w:rows(place, s, reader(parts, from), { dtype = dtype, chunk = chunk_of(rule, s, about.chunk),
      level = about.level })
  end
  w:group '/parameters'
  w:group '/inputs'
  w:group '/outputs'
  w:group '/metadata'
  if about.temporal or about.summary then w:group '/features' end
  if about.temporal then w:group '/features/temporal' end
  if about.summary then
    for _, g in ipairs { '/features/summary', '/features/summary/per_trajectory', '/features/summary/aggregated',
      '/features/summary/aggregated/metadata' } do w:group(g) end
  end
  for _, p in ipairs(PLAN) do if about.summary or p[1] ~= 'seconds' then dataset(unpack(p)) end end
  for _, p in ipairs(PLAN) do
    local from = whole and p[2] or p[1]
    if MASKS[p[1]] and shape_of(parts, from) then w:put(MASKS[p[1]], mask_of(parts, from)) end
  end
  dataset('outputs', '/outputs/fields', about.steps > 1 and { 1, 1, 32, -1, -1, -1 } or { 1, 1, -1, -1, -1 })
  for name, place in pairs { ic_types = 'ic_types', policies = 'evolution_policies',
    regimes = 'noise_regimes' } do w:put('/metadata/' .. place, texts(parts, whole
    and '/metadata/' .. place or name)) end
  w:attributes('/metadata', about.metadata)
  w:attributes('/parameters/params', { names = about.names })
  if about.filters then w:attributes('/metadata/filtered', { words = about.filters }) end
  if not about.trajectories then w:attributes('/outputs', { feature_only_mode = true }) end
  if about.features then w:attributes('/features', about.features) end
  if about.summary then w:attributes('/features/summary', about.summary) end
  w:close()
end

--- Joins files of shards, in the order of their rows, into one.
---@param paths string[]
---@param out string
---@param overwrite? boolean
---@return string out
function M.join(paths, out, overwrite)
  return (M.alone(out, function() return M.join_held(paths, out, overwrite) end))
end

--- Runs work(path, ...) as the only writer of an output.
---@param path string
---@param work function
function M.alone(path, work, ...)
  check.arg('rollout.store.alone', 'path', path, 'string', 3)
  check.arg('rollout.store.alone', 'work', work, 'function', 3)
  if path == '' or file.is_folder(path) then
    error(('rollout: the output %q is %s; name a file'):format(path, path == '' and 'empty' or 'a folder'), 0)
  end
  local folder = path:match '^(.*)/[^/]*$'
  if folder and folder ~= '' then
    local ok, why = file.make_folder(folder)
    if not ok then error('rollout: ' .. why, 0) end
  end
  local lock, why = file.lock(path)
  if not lock then error('rollout: ' .. why, 0) end
  file.sweep(M.page(path))
  local ok, r = pcall(work, path, ...)
  lock:free()
  if not ok then error(r, 0) end
  return r
end

--- join while nobody else writes the output.
function M.join_held(paths, out, overwrite)
  mc.results.free('--output', { out }, { overwrite = overwrite, inputs = paths })
  local list, hash = {}, nil
  for _, p in ipairs(paths) do
    local f = mc.open(p)
    local a = f:group('/metadata').attributes
    local first, n = a.first_row, f:dataset('/parameters/params').shape[1]
    f:close()
    if not first or not a.config then error(('rollout: %s is no data set of this program'):format(p), 0) end
    local config = a.config:gsub('"output_path":"[^"]*"', '')
    if hash and hash ~= config then error(('rollout: %s belongs to another configuration than %s'):format(p, paths[1]),
      0) end
    hash = config
    list[#list + 1] = { path = p, first = first, last = first + n - 1, attributes = a }
  end
  table.sort(list, function(a, b) return a.first < b.first end)
  for k = 2, #list do
    local a, b = list[k - 1], list[k]
    if b.first <= a.last then
      error(('rollout: %s and %s both hold rows %d to %d; give each row once'):format(a.path, b.path, b.first,
        math.min(a.last, b.last)), 0)
    end
    if b.first > a.last + 1 then
      error(('rollout: rows %d to %d are missing between %s and %s'):format(a.last + 1, b.first - 1, a.path, b.path), 0)
    end
  end
  local a = list[1].attributes
  a.num_parameter_sets = list[#list].last - list[1].first + 1
  local f = mc.open(list[1].path)
  local filtered = f:has '/metadata/filtered' and f:dataset '/metadata/filtered'.attributes.words
  local chunk = f:dataset('/parameters/params').chunk[1]
  local about = { first = list[1].first, last = list[#list].last, chunk = chunk,
    level = f:dataset('/parameters/params').compression and 4 or 0, metadata = a,
    filters = filtered or nil, names = f:dataset('/parameters/params').attributes.names,
    steps = f:has '/features/temporal/features'
      and f:dataset('/features/temporal/features').shape[2] or 2,
    trajectories = f:has '/outputs/fields', temporal = f:has '/features/temporal',
      features = f:has '/features' and f:group('/features').attributes or nil,
    summary = f:has '/features/summary' and f:group('/features/summary').attributes or nil }
  f:close()
  M.combine(out, list, about, true)
  return out
end

return M
