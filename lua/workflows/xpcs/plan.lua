-- plan.lua - what a fit costs before it runs, and the strategy labels of homodyne.
--
-- A pass is the same arithmetic wherever the data live, so the label only tells where: in memory at once, or in blocks.
-- Upstream's formulas are printed beside ours.
local data = require 'workflows.xpcs.data'
local M = {}

M.LABELS = { 'STANDARD', 'LARGE', 'CHUNKED', 'STREAMING' }

--- Strategy label of N published points and p parameters on a machine with `free` bytes, by the rule of points and by
--- that of memory.
---@return string label, table { points_label, upstream_gb, upstream_path }
function M.strategy(N, p, free)
  local k = N < 1e6 and 1 or N < 1e7 and 2 or N < 1e8 and 3 or 4
  local gb = N * (1 + p) * 16 / 2 ^ 30
  local label = k
  if free and gb * 2 ^ 30 > 0.7 * free and k < 4 then label = k + 1 end
  local limit = free and 0.75 * free or 12e9
  local path = N * 8 > limit and 'hybrid streaming' or 6.5 * N * p * 8 > limit and 'out-of-core' or 'in memory'
  return M.LABELS[label], { points_label = M.LABELS[k], upstream_gb = gb, upstream_path = path,
    upstream_jacobian_gb = 6.5 * N * p * 8 / 2 ^ 30 }
end

-- measured: laminar, averaged scaling, points (pairs i < j times angles) per second and thread of one AVX2 core at 2.4
-- GHz
local RATE = { static = 1.2e9, laminar_flow = 2.5e8 }

--- Bytes and seconds of a fit.
---@param o table n, F, dtype, mode, p, threads, passes 25
---@return table bytes, seconds, seconds_per_pass, label, details
function M.cost(o)
  local packed = data.bytes(o.n, o.F, o.dtype or 'f64')
  local pairs_ = o.F * o.n * (o.n - 1) / 2
  local pass = pairs_ / (RATE[o.mode] or RATE.laminar_flow) / math.max(o.threads or 1, 1)
  local label, details = M.strategy(o.F * o.n ^ 2, o.p or 9, o.free)
  local source = require 'workflows.xpcs.source'
  local least = source.least(o.n, o.F)
  local way, bytes = source.way(o.n + 1, o.F, { dtype = o.dtype, max_memory = o.max_memory, pack = o.streamed,
    block_values = 2 ^ 22 })
  return { bytes = math.min(bytes, o.max_memory or math.huge), way = way, least = least, packed = packed,
    seconds = pass * (o.passes or 25),
    seconds_per_pass = pass, label = label, details = details, points = pairs_ }
end

--- The lines that `mascon plan` prints.
function M.lines(o)
  local c = M.cost(o)
  local d = c.details
  return {
    ('xpcs: %d angles x %d times: %.4g pairs (%.4g published points), %d parameters'):format(o.F, o.n, c.points,
      o.F * o.n ^ 2, o.p or 9),
    ('time about %.2g s (%.2g s a pass, 25 passes) and the reading of the file; peak memory %.0f MiB (data %.0f MiB '
      .. 'in %s)%s'):format(c.seconds, c.seconds_per_pass, c.bytes / 2 ^ 20, c.packed / 2 ^ 20, o.dtype or 'f64',
      c.least < c.bytes and (', read block by block at least %.0f MiB'):format(c.least / 2 ^ 20) or ''),
    ('strategy %s (by points %s); homodyne would estimate %.2f GB and, since 2.13, choose %s (Jacobian %.2f GB)'):format(o.strategy or c.label, d.points_label, d.upstream_gb, d.upstream_path,
      d.upstream_jacobian_gb),
  }
end

return M
