-- state.lua - checkpoints of a fit, from which it goes on to the same bits.
--
-- A fit is a chain of passes, and everything between two passes follows from their sums. So a checkpoint is the list of
-- points visited with their sums, and the state inside the pass that was under way; resuming runs the solver again from
-- its start and answers from the list until it ends. Files are written under a temporary name, synced and renamed,
-- carry a hash of options and of the form of the data, and are checked by the CRC of their archive: a damaged one is
-- passed over with a warning. That the values of the data are the same is seen when a fit resumes, from the sums of its
-- first pass, which is computed once more: a hash of all values would cost each fit two passes.
local clock = require 'mascon.base.clock'
local mc = require 'mascon'
local file = require 'mascon.base.file'
local check = require 'mascon.core.check'
local place = require 'mascon.core.place'
local devices = require 'mascon.core.devices'
local pass = require 'workflows.xpcs.pass.pass'
local M = {}

M.VERSION = 2
local BLOCK = 2 ^ 22 -- values of a block of tiles between two looks at the clock

---@class mascon.xpcs.State
local State = {}
State.__index = State

local OPTS = {
  dir = { './checkpoints', 'string' }, keep = { 3, 'integer >= 1' }, resume = { true, 'bool' }, every = { 1,
    'number >= 0' }, share = { 0.01, 'number > 0' }, block_values = { nil, 'integer >= 1' },
  blocks = { nil, 'integer >= 1' }, min_success_rate = { 0, 'number >= 0' },
}

local OTHER = 'checkpoint %s belongs to other data, options, another device or version; it is left alone'

local function path_of(dir, k) return ('%s/xpcs_state_%06d.npz'):format(dir, k) end

--- Numbers of the checkpoints of a folder, the newest first.
local function numbers(dir)
  local out = {}
  for _, name in ipairs(file.names(dir)) do
    local k = name:match '^xpcs_state_(%d+)%.npz$'
    if k then out[#out + 1] = tonumber(k) end
  end
  table.sort(out, function(a, b) return a > b end)
  return out
end

--- What identifies a fit: its data, the device and the options that change numbers.
local function fingerprint(data, opts)
  local plain = {}
  for k, v in pairs(opts or {}) do
    if type(v) ~= 'function' and k ~= 'progress' and k ~= 'max_memory' then plain[k] = v end
  end
  plain.device = devices.names(devices.numbers('xpcs.fit', plain.device or place.of_analysis(), 5))
  return mc.manifest.hash { key = data.key, sigma = data.sigma, holes = data.holes, phi = data.phi, t = data.t,
    points = data.points, dtype = data.dtype, options = plain, version = M.VERSION }
end

--- Reads the newest checkpoint that is whole and belongs to this fit.
local function load(self)
  for _, k in ipairs(numbers(self.dir)) do
    local path = path_of(self.dir, k)
    local ok, a = pcall(mc.load, path)
    if not ok then
      if check.stopped(a) then error(a, 0) end
      table.insert(self.warnings, ('checkpoint %s is damaged and is passed over (%s)'):format(path,
        (tostring(a):gsub('^[^\n]-%.lua:%d+: ', ''))))
    elseif a.fingerprint ~= self.fingerprint then
      table.insert(self.warnings, OTHER:format(path))
    elseif a.points or a.state then -- else the run was stopped before its first pass
      if a.points then
        for i = 1, a.points.shape[1] do self.log[i] = { key = a.points[i]:totable(), sums = a.sums[i]:totable() } end
      end
      if a.state then self.partial = { key = a.at:totable(), state = a.state, tile = a.tile:item() } end
      self.resumed, self.resume_batch_idx, self.unproved = true, k, path
      self.number = k
      return
    end
  end
end

--- Checkpoints of a fit.
---@param data mascon.xpcs.Data
---@param fit_options table
---@param opts? table dir './checkpoints' · keep 3 · resume true · every 1 s at the earliest · share 0.01 of the time at
---  most · blocks: instead of every and share, one after so many blocks · block_values · min_success_rate 0: least
---  share of the last 100 blocks whose sums are finite
---@return mascon.xpcs.State with engine, warnings, resumed, statistics
function M.new(data, fit_options, opts)
  local o = check.opts('xpcs.state', opts, OPTS, 3)
  if type(data) ~= 'table' or not data.tiles then
    check.error(('xpcs.state: the data are %s; give those of mc.xpcs.open'):format(check.show(data)), 2)
  end
  local ours = not mc.file.is_folder(o.dir)
  local ok, why = mc.file.make_folder(o.dir)
  if not ok then check.error('xpcs: ' .. why, 2) end
  local self = setmetatable({ dir = o.dir, ours = ours, keep = o.keep, every = o.every, share = o.share,
    blocks = o.blocks,
    since = 0, least_success = o.min_success_rate, log = {}, at = 0,
    number = 0, warnings = {}, written = 0, saving = 0,
    last = clock.seconds(), started = clock.seconds() }, State)
  self.fingerprint = fingerprint(data, fit_options)
  self.statistics = { total_batches = 0, total_successes = 0, total_failures = 0, success_rate = 1, average_loss = 0,
    average_iterations = 1, error_distribution = {}, recent_batches = {} }
  data.block_values = o.block_values or data.block_values or BLOCK
  if o.resume then load(self) end
  self.engine = function(d, p, kind) return self:run(d, p, kind) end
  return self
end

local function key_of(p)
  local key = {}
  for _, list in ipairs { p.physics, p.contrast, p.offset, p.sigma } do for _,
    v in ipairs(list) do key[#key + 1] = v end end
  return key
end

local function same(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do if a[i] ~= b[i] then return false end end
  return true
end

--- Notes a block: what it added to the cost, and whether all of it is finite.
local function note(self, state, before)
  local s = self.statistics
  local total = state[{ 1, 1 }]:item() + state[{ 2, 1 }]:item()
  local loss = total - before
  local fine = loss == loss and math.abs(loss) < math.huge
  s.total_batches = s.total_batches + 1
  if fine then
    s.total_successes = s.total_successes + 1
    s.average_loss = s.average_loss + (loss - s.average_loss) / s.total_successes
  else
    s.total_failures = s.total_failures + 1
    s.error_distribution.not_finite = (s.error_distribution.not_finite or 0) + 1
  end
  table.insert(s.recent_batches, { batch_idx = s.total_batches, success = fine, loss = fine and loss or mc.json.null,
    iterations = 1, recovery_actions = mc.json.array {},
    error_type = not fine and 'not_finite' or nil })
  if #s.recent_batches > 100 then table.remove(s.recent_batches, 1) end
  local good = 0
  for _, b in ipairs(s.recent_batches) do if b.success then good = good + 1 end end
  s.success_rate = good / #s.recent_batches
  return total
end

--- Whether the sums of a checkpoint, or the state of its first pass, are those of the data.
local function proved(self, data, p, kind, key)
  local entry, about = self.log[1], {}
  for k, v in pairs(p) do about[k] = v end
  if entry then return same(entry.key, key) and same(pass.run(data, about, kind), entry.sums) end
  local partial = self.partial
  if not partial or not same(partial.key, key) then return false end
  local found
  function about.between(state, tile)
    if tile >= partial.tile then
      found = same(state:reshape(-1):totable(), partial.state:reshape(-1):totable())
      error(partial, 0)
    end
  end
  local ok, why = pcall(pass.run, data, about, kind)
  if not ok and why ~= partial then error(why, 0) end
  return found or false
end

--- A pass: from the list while it lasts, else over the data.
function State:run(data, p, kind)
  self.at = self.at + 1
  local key = key_of(p)
  if self.unproved then
    if not proved(self, data, p, kind, key) then
      table.insert(self.warnings, OTHER:format(self.unproved))
      self.log, self.partial, self.resumed, self.resume_batch_idx, self.number = {}, nil, false, nil, 0
    end
    self.unproved = nil
  end
  local entry = self.log[self.at]
  if entry then
    if same(entry.key, key) and #entry.sums == pass.count(kind, data.F) then return entry.sums end
    table.insert(self.warnings,
      ('the checkpoint parts from this run at evaluation %d; the fit goes on from the data'):format(self.at))
    for i = #self.log, self.at, -1 do self.log[i] = nil end
    self.partial = nil
  end
  if self.partial and same(self.partial.key, key) and self.partial.state.shape[2] == pass.count(kind, data.F) then
    p.from = { state = self.partial.state, tile = self.partial.tile } end
  local before = p.from and p.from.state[{ 1, 1 }]:item() + p.from.state[{ 2, 1 }]:item() or 0
  p.between = function(state, tile)
    before = note(self, state, before)
    self.since = self.since + 1
    if self.statistics.success_rate < self.least_success and self.statistics.total_batches >= 10 then
      check.error(('xpcs: only %.0f %% of the last blocks gave finite sums, and min_success_rate is %g; look at the '
        .. 'starting values and the data'):format(100 * self.statistics.success_rate, self.least_success), 0)
    end
    self.partial = { key = key, state = state, tile = tile }
    if tile <= #data.tiles then self:maybe() end
    if self.watch then self.watch(self) end -- tests stop here
  end
  local sums = pass.run(data, p, kind)
  self.log[self.at] = { key = key, sums = sums }
  self.partial = nil
  self:maybe()
  return sums
end

--- Writes when the last writing is long enough ago, and writing has not taken more than its share.
function State:maybe()
  if self.closed then return end
  if self.blocks then
    if self.since >= self.blocks then self:save() end
    return
  end
  local now = clock.seconds()
  local spent = self.saving + (self.cost or 0) -- with the one to come
  if now - self.last < self.every or spent > self.share * (now - self.started) and self.every > 0 then return end
  self:save()
end

--- Writes a checkpoint now; none before the first pass has begun.
---@return string|nil path
function State:save()
  if #self.log == 0 and not self.partial then return nil end
  local start = clock.seconds()
  local arrays = { fingerprint = self.fingerprint }
  if #self.log > 0 then
    local points, sums, width = {}, {}, #self.log[#self.log].sums
    for i, e in ipairs(self.log) do
      if #e.sums ~= width then break end -- passes of another kind follow a fit, not precede it
      points[i], sums[i] = e.key, e.sums
    end
    if #points > 0 then arrays.points, arrays.sums = mc.tensor(points), mc.tensor(sums) end
  end
  if self.partial then arrays.state, arrays.at, arrays.tile = self.partial.state, mc.tensor(self.partial.key),
    mc.tensor(self.partial.tile) end
  self.number = self.number + 1
  local path = path_of(self.dir, self.number)
  mc.save(path, arrays)
  for i, k in ipairs(numbers(self.dir)) do if i > self.keep then os.remove(path_of(self.dir, k)) end end
  self.last, self.since = clock.seconds(), 0
  self.cost = self.last - start
  self.saving = self.saving + self.cost
  self.written = self.written + 1
  return path
end

--- Removes the checkpoints: the fit is done. What its engine computes from here on, such as profiles, leaves none.
function State:clear()
  self.closed = true
  for _, k in ipairs(numbers(self.dir)) do os.remove(path_of(self.dir, k)) end
  self:leave()
end

--- Removes the folder where this fit made it and nothing is in it.
function State:leave()
  if self.free then self.free() end
  if self.ours then os.remove(self.dir) end -- refused by the system where it holds files
end

local Hold = {}
Hold.__index = Hold

--- Lets others write checkpoints there. More than once is no error.
function Hold:__call()
  if self.lock then self.lock:free() end
  self.lock = nil
end

--- Makes this process the only one with checkpoints in a folder, which is made; gives what ends that. ours: the folder
--- was made here.
---@param dir string
---@return table hold
function M.hold(dir)
  local ours = not file.is_folder(dir)
  local lock, why
  for _ = 1, 3 do -- the one before may be removing the folder
    local ok
    ok, why = file.make_folder(dir)
    if ok then lock, why = file.lock(dir .. '/xpcs_state') end
    if lock or file.is_folder(dir) then break end
  end
  if not lock then check.error(('xpcs: --checkpoint-dir %s: %s'):format(dir, why), 2) end
  return setmetatable({ lock = lock, ours = ours }, Hold)
end

--- A fit with checkpoints: stopped by Ctrl-C or SIGTERM it leaves one.
---@param data mascon.xpcs.Data
---@param fit_options table
---@param opts? table as for new; keep_files: leave the checkpoints of a fit that ended
---@return table result with statistics, checkpoint_enabled, resumed, resume_batch_idx
function M.fit(data, fit_options, opts)
  local dir = opts and opts.dir or OPTS.dir[1]
  local free = M.hold(dir)
  local made, self = pcall(M.new, data, fit_options, opts)
  if not made then
    free()
    error(self, 0)
  end
  self.ours, self.free = free.ours, free
  local with = {}
  for k, v in pairs(fit_options or {}) do with[k] = v end
  with.engine = self.engine
  local ok, r = pcall(require('workflows.xpcs.fit.fit').fit, data, with)
  if not ok then
    if not check.stopped(r) or not self:save() then self:leave() end
    free()
    error(r, 0)
  end
  for _, w in ipairs(self.warnings) do table.insert(r.warnings, w) end
  r.statistics, r.checkpoint_enabled, r.resumed, r.resume_batch_idx = self.statistics, true, self.resumed or false,
    self.resume_batch_idx
  r.n_batches, r.success_rate, r.checkpoint_seconds = self.statistics.total_batches, self.statistics.success_rate,
    self.saving
  self:clear()
  return r
end

return M
