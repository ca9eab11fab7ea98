-- maps.lua - the matrix of an angle as a map of few cells: experiment, fit and residual over the same pairs.
--
-- In memory a cell is the mean over its block of k x k times; of data in a file every k-th time is read. Experiment and
-- fit take the same pairs, so both have the same gaps and the same diagonal, which holds no pair of its own.
local mc = require 'mascon'
local prepare = require 'workflows.xpcs.data.prepare'
local results = require 'workflows.xpcs.show.results'
local M = {}

--- A matrix of cells of k times with the rows and columns NaN in which a frame has no value at all: a gap shows however
--- few cells are drawn. Where that leaves fewer than half of the rows, as where every second frame is lost, cells keep
--- what they hold.
---@param data mascon.xpcs.Data
---@param f integer number of the angle
---@param x mc.tensor f64 [m, m]
---@return mc.tensor
function M.gaps(data, f, x)
  local m = x.shape[1]
  if data.masked == 0 or m == data.n then return x end
  return mc.scope(function()
    local k, there = math.ceil(data.n / m), {}
    for I = 0, data:tile_rows() - 1 do there[I + 1] = mc.isfinite(data:strip(f, I)):any(2) end
    local frames = mc.concat({ mc.concat(there, 1), mc.ones { m * k - data.n, dtype = 'bool' } }, 1)
    local whole = frames:reshape(m, k):all(2)
    if mc.sum(whole:to 'f64'):item() < m / 2 then return x end
    return mc.where(mc.logical_and(whole:reshape(m, 1), whole:reshape(1, m)), x, mc.nan)
  end)
end

--- Sums over cells of k columns: [rows, m].
local function across(x, m, k)
  local rows, n = x.shape[1], x.shape[2]
  if m * k > n then x = mc.concat({ x, mc.zeros { rows, m * k - n } }, 2) end
  return x:reshape(rows, m, k):sum(3)
end

--- Means over blocks of k x k times. r nil: of the experiment alone.
local function blocks(r, data, f, k)
  local n, m = data.n, math.ceil(data.n / k)
  local total = { c = mc.zeros { m, m }, fit = mc.zeros { m, m }, z = mc.zeros { m, m }, count = mc.zeros { m, m } }
  for I = 0, data:tile_rows() - 1 do
    local first, last = data:times_of(I)
    local parts = mc.scope(function()
      local x, i = data:strip(f, I), mc.arange(first, last):expand_dims(2)
      local there = mc.logical_and(mc.isfinite(x), mc.ne(mc.arange(1, n):expand_dims(1), i))
      local cell = mc.eq(mc.floor((mc.arange(first, last) - 1) / k):expand_dims(1), mc.arange(0, m - 1):expand_dims(2))
      cell = cell:to 'f64'
      local function sum(v) return mc.matmul(cell, across(mc.where(there, v, 0), m, k)) end
      local out = { c = sum(x), count = sum(mc.ones { last - first + 1, n }) }
      if r then
        local fitted, spread = results.theory(r, data, f, first, last) * r.contrast[f] + r.offset[f], data:spread(f, I)
        out.fit, out.z = sum(fitted), sum((x - fitted) / (spread and spread * r.sigma[f] or r.sigma[f]))
      end
      return out
    end)
    for name, v in pairs(parts) do total[name] = total[name] + v end
  end
  local count = mc.where(mc.gt(total.count, 0), total.count, mc.nan)
  -- both halves of a pair lie in a cell of the diagonal
  local z = total.z / mc.sqrt(count) / mc.where(mc.gt(mc.eye(m), 0), math.sqrt(2), 1)
  local c, fit = total.c / count, total.fit / count
  if n - (m - 1) * k == 1 then -- the last cell of the diagonal holds no pair: the value beside it
    c[{ m, m }], fit[{ m, m }], z[{ m, m }] = c[{ m - 1, m }], fit[{ m - 1, m }], 0
  end
  return c, fit, z
end

--- Experiment, fit and residual of one angle in at most `limit` cells a side. A residual is that of the mean of a cell,
--- over the standard deviation that independent noise gives it.
---@param r table|nil result of fit; nil: the experiment alone
---@param data mascon.xpcs.Data
---@param f integer
---@param limit integer
---@return { c: mc.tensor, fit: mc.tensor|nil, residual: mc.tensor|nil, t: number[], k: integer, mean: boolean }
function M.of(r, data, f, limit)
  local k = math.ceil(data.n / limit)
  local out = { mean = k > 1 and data.packed ~= nil }
  out.c, out.fit, out.residual = mc.scope(function()
    if out.mean then
      local c, fit, z = blocks(r, data, f, k)
      if not r then return M.gaps(data, f, c) end
      return M.gaps(data, f, c), fit, z
    end
    local c, fit, sigma, _
    if not r then
      c, _, k = results.thinned(data, f, limit)
      return M.gaps(data, f, c)
    end
    c, fit, _, sigma, k = results.figure(r, data, f, limit)
    fit = prepare.diagonal(fit)
    local z = (c - fit) / sigma
    return M.gaps(data, f, c), fit, mc.where(mc.gt(mc.eye(z.shape[1]), 0), 0, z)
  end)
  local middle = out.mean and (data.t[2]:item() - data.t[1]:item()) * (k - 1) / 2 or 0
  out.k, out.t = k, (data.t[{ { 1, data.n, k } }] + middle):totable()
  return out
end

return M
