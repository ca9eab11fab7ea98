-- project.lua - projectors of a recording (signal-space projection, average reference) applied to epochs.
--
-- A projector is a set of patterns over channels that is taken out of the samples: x - U (U' x), where U are
-- orthonormal columns that span the patterns. Files carry projectors; those marked active were applied before the
-- samples were stored. Channels marked bad take no part: their samples stay, and the patterns are scaled anew without
-- them.
--
-- Source: Uusitalo and Ilmoniemi, Signal-space projection method for separating MEG or EEG into components, 1997. The
-- order of steps and the bound below which patterns count as dependent are those of MNE-Python.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local error = check.error
local F = op.functions
local M = {}

local DEPENDENT = 1e-2 -- singular values below this share of the largest span nothing

--- Names of the projectors that are not applied to the samples, in order.
---@param projs? table[]
---@return string[]
function M.waiting(projs)
  local names = {}
  for _, p in ipairs(projs or {}) do
    if not p.active then names[#names + 1] = p.name ~= nil and p.name ~= '' and p.name or '(no name)' end
  end
  return names
end

local function positions(list) return create.tensor(list, { dtype = 'i64' }) end

--- Patterns in groups that share no channel. pattern: channel = weight.
local function groups_of(patterns, n)
  local of, groups = {}, {}
  for i = 1, n do of[i] = i end
  local function root(i)
    while of[i] ~= i do i = of[i] end
    return i
  end
  local first = {}
  for k, at in ipairs(patterns) do
    for i = 1, n do
      if at[i] then
        first[k] = first[k] or i
        of[root(i)] = root(first[k])
      end
    end
  end
  local place = {}
  for k, at in ipairs(patterns) do
    local r = root(first[k])
    if not place[r] then
      groups[#groups + 1] = {}
      place[r] = groups[#groups]
    end
    table.insert(place[r], at)
  end
  return groups
end

--- What a projection takes out, or nil where no projector touches a channel.
---
--- projs: list of { channels (names), data [n, #channels] }. Result: a list of { rows = positions of channels,
--- basis = orthonormal f64 [#rows, k] } that share no channel. Errors: a projector that names a channel twice.
---@param projs? table[]
---@param list table[] channels
---@param bads string[]
---@return table|nil
function M.basis(projs, list, bads)
  local marked = {}
  for _, b in ipairs(bads) do marked[b] = true end
  local patterns = {}
  for _, p in ipairs(projs or {}) do
    local place, data = {}, type(p.data) == 'table' and p.data or p.data:totable()
    for k, name in ipairs(p.channels) do
      if place[name] then error(('meeg.epochs: the projector %q names %s twice; correct the file'):format(p.name or '',
        name), 4) end
      place[name] = k
    end
    for _, pattern in ipairs(data) do
      local at, sum = {}, 0
      for i, c in ipairs(list) do
        local v = not marked[c.name] and place[c.name] and pattern[place[c.name]] or 0
        if v ~= 0 then at[i], sum = v, sum + v * v end
      end
      if sum > 0 then
        for i, v in pairs(at) do at[i] = v / math.sqrt(sum) end
        patterns[#patterns + 1] = at
      end
    end
  end
  if #patterns == 0 then return nil end
  -- patterns that share no channel are made orthonormal apart: units of channels differ by many orders of magnitude
  local parts, top = {}, 0
  for _, group in ipairs(groups_of(patterns, #list)) do
    local rows, matrix, seen = {}, {}, {}
    for _, at in ipairs(group) do for i in pairs(at) do seen[i] = true end end
    for i = 1, #list do if seen[i] then rows[#rows + 1] = i end end
    for k, i in ipairs(rows) do
      matrix[k] = {}
      for j, at in ipairs(group) do matrix[k][j] = at[i] or 0 end
    end
    local s = require('mascon.linalg').svd(create.tensor(matrix), { full_matrices = false })
    parts[#parts + 1] = { rows = rows, U = s.U, S = s.S:totable() }
    top = math.max(top, parts[#parts].S[1])
  end
  for _, part in ipairs(parts) do
    local keep = 0
    for _, v in ipairs(part.S) do if v > DEPENDENT * top then keep = keep + 1 end end
    part.basis = part.U[{ { 1, #part.rows }, { 1, keep } }]:contiguous()
    part.U, part.S = nil, nil
  end
  return parts
end

--- What epochs read with every projector of info.projs applied, and the projectors marked active; nil where none waits.
---@param e table epochs
---@return function|nil read(rows, picks) as of a source of epochs
---@return table[]|nil projs
function M.reader(e)
  if #M.waiting(e.info.projs) == 0 then return nil end
  local parts, part_of = M.basis(e.info.projs, e.channels, e.bads) or {}, {}
  for _, part in ipairs(parts) do
    part.basis = tensor.outlive(part.basis)
    part.row_of = {}
    for k, i in ipairs(part.rows) do part_of[i], part.row_of[i] = part, k end
  end
  local function read(rows, picks)
    local result = tensor.empty('epochs.read', { #rows, #picks, e.samples }, e:dtype(), 3)
    -- the channels to read, in ascending order as readers give them: what is asked for and what its parts need
    local need, wanted, place, jobs = {}, {}, {}, {}
    for k, i in ipairs(picks) do
      local part = part_of[i]
      need[i] = true
      if part then
        if not jobs[part] then
          jobs[part] = { at = {}, to = {}, from = {} }
          jobs[#jobs + 1] = part
          for _, row in ipairs(part.rows) do need[row] = true end
        end
        table.insert(jobs[part].at, k)
        table.insert(jobs[part].to, part.row_of[i])
      end
    end
    for i = 1, #e.channels do
      if need[i] then
        wanted[#wanted + 1] = i
        place[i] = #wanted
      end
    end
    for _, part in ipairs(jobs) do
      for row, channel in ipairs(part.rows) do jobs[part].from[row] = place[channel] end
    end
    local asked = {}
    for k, i in ipairs(picks) do asked[k] = place[i] end
    for j, row in ipairs(rows) do
      tensor.scope(function()
        local x = e:read { epochs = { row }, channels = wanted }[1]
        local y = F.take(x, positions(asked), 1)
        result[j] = y
        for _, part in ipairs(jobs) do
          local job = jobs[part]
          local at = positions(job.at)
          -- of all channels of the part, so that the bits do not depend on which are asked for
          local inner = F.matmul(part.basis.T, F.take(x, positions(job.from), 1):to { dtype = 'f64' })
          local taken = F.take(F.matmul(part.basis, inner), positions(job.to), 1)
          result[{ j, at }] = F.take(y, at, 1):to { dtype = 'f64' } - taken
        end
      end)
    end
    return result
  end
  local projs = {}
  for k, proj in ipairs(e.info.projs) do
    projs[k] = {}
    for name, v in pairs(proj) do projs[k][name] = v end
    projs[k].active = true
  end
  return read, projs
end

return M
