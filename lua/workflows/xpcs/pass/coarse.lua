-- coarse.lua - coarse copies of the data, on which a start is looked for.
--
-- Every k-th time is enough where the decay takes longer than that; where it is over by then, shorter windows at both
-- ends of the data, with finer steps, hold it.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local data_of = require 'workflows.xpcs.data.data'
local pass = require 'workflows.xpcs.pass.pass'
local problem = require 'workflows.xpcs.pass.problem'
local error = check.error
local M = {}

local LEAST, MOST, ANGLES = 40, 120, 23 -- times of a copy; so many angles have copies of the largest size
local SHORTER = 4 -- a window lasts so much less than the one before

--- Times of a copy, at most: fewer where there are many angles, so that copies stay small.
---@param F integer angles
---@return integer
function M.times(F) return math.max(LEAST, math.min(MOST, math.floor(MOST * math.sqrt(ANGLES / F)))) end

--- The copies of n times: { first, last, step } each. The first spans all times; the others lie at both ends, ever
--- shorter, until two times of a copy are at most two apart.
---@param n integer
---@param F integer angles
---@return integer[][]
function M.windows(n, F)
  for name, v in pairs { n = n, F = F } do
    if type(v) ~= 'number' or v < 1 then
      error(('xpcs.coarse.windows: %s is %s; give the number of times and of angles'):format(name, check.show(v)), 2)
    end
  end
  local out, size, times = {}, n, M.times(F)
  while true do
    local step = math.ceil(size / times)
    out[#out + 1] = { 1, size, step }
    if size < n then out[#out + 1] = { n - size + 1, n, step } end
    if step <= 2 then return out end
    size = math.ceil(size / SHORTER)
  end
end

--- The copies of a matrix, one per window.
---@param c mc.tensor f64 [n, n]
---@param F integer angles
---@return mc.tensor[]
function M.thin(c, F)
  local out = {}
  if c.shape[1] <= M.times(F) then return { c } end
  for i, w in ipairs(M.windows(c.shape[1], F)) do out[i] = tensor.hold(c[{ w, w }]:contiguous()) end
  return out
end

--- The copies of data: { data, step } each.
---@param data mascon.xpcs.Data
---@return table[]
function M.of(data)
  if data.n <= M.times(data.F) then return { { data = data, step = 1 } } end
  local list = data.coarse
  if not list then
    list = {}
    for f = 1, data.F do mc.scope(function() list[f] = M.thin(data:matrix(f), data.F) end) end
  end
  local out = {}
  for i, w in ipairs(M.windows(data.n, data.F)) do
    local c2 = {}
    for f = 1, data.F do c2[f] = list[f][i] end
    out[i] = { step = w[3], data = data_of.of { c2 = mc.stack(c2, 1), phi = data.phi, t = data.t[{ w }]:contiguous() } }
  end
  return out
end

--- A copy of which every k-th time is left, so that there are no more than `times`.
local function thinned(part, times)
  local d = part.data
  local k = math.ceil(d.n / times)
  if k == 1 then return part end
  local w, c2 = { 1, d.n, k }, {}
  for f = 1, d.F do c2[f] = mc.scope(function() return tensor.hold(d:matrix(f)[{ w, w }]:contiguous()) end) end
  return { step = k * part.step, data = data_of.of { c2 = mc.stack(c2, 1), phi = d.phi,
    t = d.t[{ w }]:contiguous() } }
end

--- The times first .. last of a copy.
local function window(part, first, last)
  local d = part.data
  local w, c2 = { first, last }, {}
  for f = 1, d.F do c2[f] = mc.scope(function() return tensor.hold(d:matrix(f)[{ w, w }]:contiguous()) end) end
  return { step = part.step, data = data_of.of { c2 = mc.stack(c2, 1), phi = d.phi, t = d.t[{ w }]:contiguous() } }
end

local SHARP = 20 -- times of a window with all steps of the finest copy

--- Copies of which each has no more than so many times; and, where the finest lost steps, short windows at its ends
--- that have them: a decay that is over within a step or two stands nowhere else.
---@param parts table[] of `of`
---@param times integer
---@return table[]
function M.thinner(parts, times)
  local out = {}
  for i, part in ipairs(parts) do out[i] = thinned(part, times) end
  local last = parts[#parts]
  local n = last.data.n
  if out[#parts] ~= last and n >= 2 * SHARP then
    out[#out + 1], out[#out + 2] = window(last, 1, SHARP), window(last, n - SHARP + 1, n)
  end
  return out
end

--- A problem on copies of its data, with the sums over all of them.
---@param p mascon.xpcs.Problem
---@param parts table[] of `of`
---@param loss? string the problem's
---@return mascon.xpcs.Problem
function M.problem(p, parts, loss)
  local settings = {}
  for key, v in pairs(p) do settings[key] = v end
  settings.data, settings.watch, settings.weights, settings.device = parts[1].data, nil, nil, nil
  settings.loss, settings.legacy_abs = loss or p.loss, nil -- which is smooth within 1e-6 of |x|
  function settings.engine(_, at, kind)
    local sums
    for _, part in ipairs(parts) do
      at.kd, at.ks, at.t = p.kd * part.step, p.ks * part.step, part.data.t
      local s = pass.run(part.data, at, kind)
      if sums then for k = 1, #s do sums[k] = sums[k] + s[k] end else sums = s end
    end
    return sums
  end
  return problem.new(settings)
end

return M
