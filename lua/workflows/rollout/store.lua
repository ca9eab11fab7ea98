-- store.lua - rows on their way to one HDF5 file: part files while the work goes on, merged at the end.
--
-- A part holds the rows of a batch and appears by rename, so a kill leaves whole parts; --resume goes on with them. Its
-- name says of which configuration the rows are, and the SHA-256 of its bytes: one that changed is made anew, to
-- the same rows. The layout of the merged file is that of the reference (specification of rollouts, 1.5), with status,
-- bad_step and the values of parameters beside it.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local lib = require 'mascon.core.ffi'
local config_of = require 'workflows.rollout.config'
local sampling = require 'workflows.rollout.sampling'
local space = require 'workflows.rollout.space'
local roll = require 'workflows.rollout.roll'
local user = require 'workflows.rollout.own'
local disk = require 'workflows.rollout.disk'
local page = require 'workflows.rollout.page'
local error = check.error
local M = {}

--- Folder of the parts of an output.
function M.folder(path) return path .. '.parts' end

local MARK = 12 -- digits of the hash of the configuration in the name of a part

--- Name of a part without its end, the SHA-256 and .h5.
local function part_name(path, hash, first, last)
  return ('%s/rows-%s-%08d-%08d'):format(M.folder(path), hash:sub(1, MARK), first, last)
end

local function names(path) return file.names(M.folder(path)) end

--- Level of compression of the datasets of a configuration; 0 for none.
function M.level(config)
  local storage = config.dataset.storage
  return storage.compression == 'gzip' and storage.compression_level or 0
end

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

--- How many rows the parts of an output hold, as a run that is stopped leaves them.
---@param path string
---@return integer
function M.kept(path)
  local rows = {}
  for _, name in ipairs(names(path)) do
    local a, b = name:match '^rows%-%x+%-(%d+)%-(%d+)%-%x+%.h5$'
    for i = tonumber(a) or 0, tonumber(b) or -1 do rows[i] = true end
  end
  local n = 0
  for _ in pairs(rows) do n = n + 1 end
  return n
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

--- Refuses to go on with rows of another configuration, or of own functions that changed since.
local function refuse_foreign(where, made, own, advice)
  local words = user.difference(own, made.own)
  if words then error(('rollout: %s holds rows, and the own %s; %s'):format(where, words, advice), 0) end
  error(('rollout: %s holds rows of another configuration; %s'):format(where, advice), 0)
end

--- A whole file: { path, first, last, whole, hash, own, attributes, config }; no hash where it is none of this program.
local function read_whole(path)
  local f = mc.open(path)
  local out = { path = path, whole = true, own = {} }
  local a = f:has '/metadata' and f:group('/metadata').attributes or {}
  local n = f:has '/parameters/params' and f:dataset('/parameters/params').shape[1]
  f:close()
  if not (n and a.first_row and a.total_rows and a.config and a.configuration_sha256) then return out end
  out.first, out.last = tonumber(a.first_row), tonumber(a.first_row) + n - 1
  out.hash, out.attributes, out.config = a.configuration_sha256, a, config_of.held(a.config, path)
  out.own = a.own_functions and mc.json.decode(a.own_functions) or {}
  return out
end

--- The same where the file may be anything.
local function whole_of(path)
  local ok, found = check.try(read_whole, path)
  return ok and found or { path = path, own = {} }
end

--- The own functions that the rows of parts of another configuration were made with.
local function own_of_parts(path, hash)
  for _, name in ipairs(names(path)) do
    local mark = name:match '^rows%-(%x+)%-%d+%-%d+%-%x+%.h5$'
    if mark and mark ~= hash:sub(1, MARK) then
      local ok, own = check.try(function()
        local f = mc.open(M.folder(path) .. '/' .. name)
        local text = f:has 'own' and f:get 'own'
        f:close()
        return text and mc.json.decode(type(text) == 'table' and text[1] or text)
      end)
      return ok and own or {}
    end
  end
  return {}
end

local OVERHEAD = { part = 2 ^ 14, file = 2 ^ 16, trial = 2 ^ 10 } -- bytes beside the data, at most

--- What is left to do after a file could not be written.
local function go_on(path)
  return function()
    return ('go on with --resume (%d finished rows are kept in %s)'):format(M.kept(path), M.folder(path))
  end
end

--- Whether the output is whole already; makes the folder of the parts where it is not. Refuses outputs of others.
---@param path string of the output
---@param made table { hash, own, first, last, grows }: what decides its rows, and which are asked for
---@param o table resume, overwrite
---@return boolean complete
---@return table[] bad parts that changed since they were written: removed, their rows are to be made anew
---@return table? whole the file that is there, where it holds the first of the rows: the others are added
function M.begin(path, made, o)
  local hash = made.hash
  local parts, foreign = M.parts(path, hash)
  local there = file.exists(path)
  local whole
  mc.results.free('--output', { path }, { overwrite = o.overwrite, resume = o.resume or false })
  if there and o.resume then
    whole = whole_of(path)
    if whole.hash == hash and whole.first == made.first and whole.last == made.last and foreign == 0 then
      clear(path) -- what a kill after the last step left
      return true, {}
    end
    if whole.hash == hash and (whole.first ~= made.first or whole.last > made.last) then
      error(('rollout: %s holds rows %d to %d, and %d to %d are asked for; ask for all of them, or use another '
        .. '--output'):format(path, whole.first, whole.last, made.first, made.last), 0)
    end
    if whole.hash ~= hash then
      if #parts + foreign == 0 then
        refuse_foreign(path, made, whole.own, (made.grows and '' or 'rows of lhs hang on how many there are; ')
          .. 'use --overwrite, or another --output')
      end
      whole = nil
    end
  end
  if foreign > 0 and not o.overwrite then
    refuse_foreign(M.folder(path), made, own_of_parts(path, hash), 'finish with that one, or use --overwrite')
  end
  local first, last = parts[1] and parts[1].first, parts[1] and parts[#parts].last
  if first and (first < made.first or last > made.last) and not o.overwrite then
    error(('rollout: %s holds finished rows between %d and %d, and rows %d to %d are asked for; finish with all of '
      .. 'them, or use --overwrite'):format(M.folder(path), first, last, made.first, made.last), 0)
  end
  if #parts > 0 and not o.overwrite and not o.resume then
    error(('rollout: %s holds %d finished rows of a run that was stopped; %s'):format(M.folder(path), M.kept(path),
      'go on with --resume, or drop them with --overwrite'), 0)
  end
  if o.overwrite and not o.resume then clear(path) end
  local ok, why = file.make_folder(M.folder(path))
  if not ok then error('rollout: ' .. why, 0) end
  local trial = M.folder(path) .. '/rows-trial.h5' -- before the work, not after it
  local can, reason = pcall(disk.told, trial, OVERHEAD.trial, go_on(path), mc.save, trial, {})
  os.remove(trial)
  if not can then
    os.remove(M.folder(path))
    error('rollout: ' .. tostring(reason):gsub('^[^\n]-%.lua:%d+: ', ''):gsub('^rollout: ', ''), 0)
  end
  if not o.resume then return false, {} end
  local _, bad, within = sound(parts)
  drop(bad)
  drop(within)
  for _, p in ipairs(whole and M.parts(path, hash) or {}) do
    if p.first <= whole.last then drop { p } end
  end
  return false, bad, whole
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
local TEXTS = { { 'ic_types', '/metadata/ic_types' }, { 'policies', '/metadata/evolution_policies' },
  { 'regimes', '/metadata/noise_regimes' } }
--- Writes the rows of a batch: lists of tensors and texts as generate.batch gives them. made: { hash, own }.
function M.put(path, made, batch)
  local tree = { outputs = batch.outputs, own = made.own[1] and { mc.json.encode(made.own) } or nil }
  for _, list in ipairs { PLAN, TEXTS } do
    for _, entry in ipairs(list) do tree[entry[1]] = batch[entry[1]] end
  end
  local name = part_name(path, made.hash, batch.first, batch.last)
  local fresh = name .. '.new.h5' -- no part yet
  disk.told(fresh, disk.bytes(tree) + OVERHEAD.part, go_on(path), mc.save, fresh, tree)
  local sum, why = lib.sha256_file(fresh)
  local ok = sum
  if sum then ok, why = os.rename(fresh, ('%s-%s.h5'):format(name, sum)) end
  if not ok then error('rollout: ' .. why, 0) end
end

--- Rows of a list of parts in order, one dataset at a time: next() for Writer:rows. Parts may be whole files, in which
--- a dataset has another name; entry is { name in a part, place in a file }.
local function name_in(part, entry) return part.whole and entry[2] or entry[1] end

--- A part, whose bytes were compared with their sum, or a whole file. A process for each that another run wrote would
--- take longer than what is read.
local function opened(part)
  if part.sum then lib.C.mc_hdf5_trust(part.path) end
  return mc.open(part.path)
end

local function reader(parts, entry)
  local i = 0
  return function()
    i = i + 1
    local f = opened(parts[i])
    local d = f:dataset(name_in(parts[i], entry))
    local t = d:read()
    d:close() -- the file closes with the last of them
    f:close()
    return t
  end
end

local function texts(parts, entry)
  local out = {}
  for _, p in ipairs(parts) do
    local f = opened(p)
    local list = f:get(name_in(p, entry))
    f:close()
    for _, v in ipairs(type(list) == 'table' and list or { list }) do out[#out + 1] = v end
  end
  return out
end

local function shape_of(parts, entry)
  local f, name = opened(parts[1]), name_in(parts[1], entry)
  local s, dtype
  if f:has(name) then
    local d = f:dataset(name)
    s, dtype = d.shape, d.dtype
    d:close()
  end
  f:close()
  return s, dtype
end

--- Writes the file of parts and its page, which appear together. next: what to do where there is no room for them.
local function publish(path, parts, about, next)
  local dir, name = path:match '^(.*)/([^/]*)$'
  dir, name = dir == '' and '/' or dir or '.', name or path
  local paths = {}
  for k, p in ipairs(parts) do paths[k] = p.path end
  mc.results.together(dir, name, function(folder)
    local fresh, side = folder .. '/' .. name, page.of(path)
    disk.told(path, disk.size(paths) + OVERHEAD.file, next, M.combine, fresh, parts, about)
    local text = page.text(fresh)
    disk.told(side, #text, next, page.put, page.of(fresh), text)
  end)
end

--- Merges parts into the file, which appears whole, with its page. about: attributes and the plan of datasets.
---@param path string
---@param hash string of the configuration
---@param about table { first, last, metadata, features, temporal, summary, chunk, level, trajectories, registry ... }
---@param whole? table of begin: the file that holds the first of the rows
function M.merge(path, hash, about, whole)
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
  if whole then table.insert(parts, 1, whole) end
  local expect = about.first
  for _, p in ipairs(parts) do
    if p.first ~= expect then error(('rollout: rows %d to %d are not there yet; run with --resume'):format(expect,
      p.first - 1), 0) end
    expect = p.last + 1
  end
  if expect ~= about.last + 1 then error(('rollout: rows %d to %d are not there yet; run with --resume'):format(expect,
    about.last), 0) end
  publish(path, parts, about, go_on(path))
  clear(path)
end

local STATES = '/outputs/fields'

--- Paths of the datasets of a file that have a row for each operator.
---@return string[]
function M.places()
  local out = {}
  for _, list in ipairs { PLAN, TEXTS, { { 'outputs', STATES } } } do
    for _, p in ipairs(list) do out[#out + 1] = p[2] end
  end
  return out
end

local function chunk_of(rule, shape, rows)
  local out = {}
  for k, r in ipairs(rule) do out[k] = r == 0 and math.min(rows, shape[1]) or r == -1 and shape[k] or math.min(r,
    shape[k]) end
  return out
end

local MASKS = { temporal = '/features/temporal/mask', summary = '/features/summary/per_trajectory/mask',
  aggregated = '/features/summary/aggregated/mask' }

--- Which columns of a dataset of parts have two different finite values: u8 [columns].
local function mask_of(parts, entry)
  local read, low, high = reader(parts, entry), nil, nil
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
--- them, and /parameters/values beside them.
function M.combine(path, parts, about)
  local w = require('mascon.io.hdf5').create(path)
  local n = about.last - about.first + 1
  local asked = { params = true, inputs = true, status = true, temporal = about.temporal, summary = about.summary,
    aggregated = about.summary, outputs = about.trajectories }
  local function dataset(entry, rule)
    local s, dtype = shape_of(parts, entry)
    if not s then
      if not asked[entry[1]] then return end
      error(('rollout: %s holds no %s; run again with --overwrite'):format(parts[1].path, name_in(parts[1], entry)), 0)
    end
    s[1] = n
    w:rows(entry[2], s, reader(parts, entry), { dtype = dtype, chunk = chunk_of(rule, s, about.chunk),
      level = about.level })
  end
  w:group '/parameters'
  w:group '/parameters/values'
  for _, c in ipairs(about.values) do w:put('/parameters/values/' .. c[1], c[2]) end
  w:group '/inputs'
  w:group '/outputs'
  w:group '/metadata'
  if about.temporal or about.summary then w:group '/features' end
  if about.temporal then w:group '/features/temporal' end
  if about.summary then
    for _, g in ipairs { '/features/summary', '/features/summary/per_trajectory', '/features/summary/aggregated',
      '/features/summary/aggregated/metadata' } do w:group(g) end
  end
  for _, p in ipairs(PLAN) do if about.summary or p[1] ~= 'seconds' then dataset(p, p[3]) end end
  for _, p in ipairs(PLAN) do
    if MASKS[p[1]] and shape_of(parts, p) then w:put(MASKS[p[1]], mask_of(parts, p)) end
  end
  dataset({ 'outputs', STATES }, about.steps > 1 and { 1, 1, 32, -1, -1, -1 } or { 1, 1, -1, -1, -1 })
  for _, p in ipairs(TEXTS) do w:put(p[2], texts(parts, p)) end
  w:attributes('/metadata', about.metadata)
  w:attributes('/parameters/params', { names = about.names })
  w:attributes('/metadata/status', { words = { 'good', unpack(roll.STATUS) } })
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
---@return integer first row
---@return integer last
---@return integer total rows of the whole set
function M.join(paths, out, overwrite)
  return unpack(M.alone(out, function() return { M.join_held(paths, out, overwrite) } end))
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
  local ok, r = pcall(function(...)
    mc.results.recover(path)
    file.sweep(page.of(path))
    return work(path, ...)
  end, ...)
  lock:free()
  if not ok then error(r, 0) end
  return r
end

--- The shards in the order of their rows. Refuses those of several configurations, repeated rows and gaps.
local function ordered(paths)
  local list = {}
  for i, p in ipairs(paths) do
    local one = read_whole(p)
    list[i] = one
    if not one.hash then error(('rollout: %s is no data set of this version of the program'):format(p), 0) end
    local words = user.difference(list[1].own, one.own)
    if words then
      error(('rollout: the rows of %s and %s do not belong together; the own %s'):format(paths[1], p, words), 0)
    end
    if one.hash ~= list[1].hash then
      error(('rollout: %s belongs to another configuration than %s'):format(p, paths[1]), 0) end
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
  return list
end

--- Of rows first .. last of a file's configuration: quality of the sampling, as generate reports it, and values.
local function drawn(config, coordinates, first, last)
  local of = space.new(config.parameter_space, space.order(coordinates))
  local points = sampling.points({ sampling = config.sampling, space = of }, first + 1, last + 1)
  return sampling.quality(config, points), space.columns(of, points)
end

--- Attributes as they were written: numbers of the program's attributes are whole.
local function whole_numbers(attributes)
  local out = {}
  for k, v in pairs(attributes or {}) do out[k] = type(v) == 'number' and mc.tensor(v, { dtype = 'i64' }) or v end
  return attributes and out
end

--- join while nobody else writes the output. Chunks and compression are those of the shard with the first rows.
function M.join_held(paths, out, overwrite)
  mc.results.free('--output', { out, page.of(out) }, { overwrite = overwrite, inputs = paths })
  local list = ordered(paths)
  local first, last, largest = list[1].first, list[#list].last, list[1]
  for _, one in ipairs(list) do -- a data set that grew has shards of several totals
    if one.attributes.total_rows > largest.attributes.total_rows then largest = one end
  end
  local a, config = largest.attributes, list[1].config
  a.first_row, a.num_parameter_sets = list[1].attributes.first_row, last - first + 1
  local f = mc.open(list[1].path)
  local coordinates = f:dataset('/parameters/params').attributes.names
  config.sampling.total_samples = a.total_rows
  local quality, values = drawn(config, coordinates, first, last)
  a.sampling_metrics = mc.json.encode(quality)
  local function attributes(group) return f:has(group) and whole_numbers(f:group(group).attributes) or nil end
  local about = { first = first, last = last, metadata = whole_numbers(a), steps = config.simulation.num_timesteps,
    chunk = config.dataset.storage.chunk_size, level = M.level(config),
    filters = f:has '/metadata/filtered' and f:dataset '/metadata/filtered'.attributes.words or nil,
    names = coordinates, values = values, trajectories = f:has(STATES),
    temporal = f:has '/features/temporal', features = attributes '/features', summary = attributes '/features/summary' }
  f:close()
  publish(out, list, about, function() return 'merge again (the shards are unchanged)' end)
  return out, first, last, config.sampling.total_samples
end

return M
