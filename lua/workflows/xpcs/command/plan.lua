-- plan.lua - what a fit costs before it runs, and the strategy labels of homodyne.
--
-- A pass is the same arithmetic wherever the data live, so the label only tells where: in memory at once, or in blocks.
-- Upstream's formulas are printed beside ours.
local text = require 'mascon.base.text'
local check = require 'mascon.core.check'
local data = require 'workflows.xpcs.data.data'
local coarse = require 'workflows.xpcs.pass.coarse'
local labels = require 'workflows.xpcs.model.labels'
local number = require('workflows.xpcs.model.numbers').number
local scaling = require 'workflows.xpcs.model.scaling'
local examine = require 'workflows.xpcs.read.examine'
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

-- measured: points (pairs i < j times angles) of a pass per second and thread of one AVX2 core at 2.4 GHz; and the
-- share of it where every angle has its own contrast and offset
local RATE = { static = { linear = 1.1e9, robust = 2.2e8 }, laminar_flow = { linear = 2.5e8, robust = 1.4e8 } }
local EACH = 0.55
-- passes of a fit and of the two ends of a profile, the median of simulated data sets; seconds of one besides its
-- points
local PASSES, PROFILE, PASS = 15, 100, 3e-4
local SUMS = 0.01 -- bytes of the sums of tiles on a device, for a byte of the data

--- Seconds of a pass.
---@param o table points, mode, scaling (resolved), loss, threads
local function pass_of(o)
  local rate = RATE[o.mode] or RATE.laminar_flow
  rate = rate[(o.loss or 'linear') == 'linear' and 'linear' or 'robust']
  if o.scaling == 'individual' or o.scaling == 'fourier' then rate = rate * EACH end
  return PASS + o.points / rate / math.max(o.threads or 1, 1)
end

--- Words on the time that is left of a fit: to the usual count of passes while it has not come there, else to the
--- most that it may take.
---@param passes integer so far
---@param seconds number that these took
---@param most integer evaluations that the fit may take
---@return string
function M.left(passes, seconds, most)
  local usual = math.min(PASSES, most)
  local count = passes < usual and usual - passes or math.max(most - passes, 0)
  return ('%s %s left'):format(passes < usual and 'about' or 'at most', text.duration(count * seconds
    / math.max(passes, 1)))
end

--- Bytes and seconds of a fit.
---@param o table n, F, dtype, mode, scaling, loss, p, threads, passes
---@return table bytes, seconds, seconds_per_pass, label, details
function M.cost(o)
  local packed = data.bytes(o.n, o.F, o.dtype or 'f64')
  local pairs_ = o.F * o.n * (o.n - 1) / 2
  local pass = pass_of { points = pairs_, mode = o.mode, scaling = o.scaling, loss = o.loss, threads = o.threads }
  local label, details = M.strategy(o.F * o.n ^ 2, o.p or 9, o.free)
  local source = require 'workflows.xpcs.read.source'
  local least = source.least(o.n, o.F)
  local way, bytes = source.way(o.n + 1, o.F, { dtype = o.dtype, max_memory = o.max_memory, pack = o.streamed,
    block_values = 2 ^ 22 })
  return { bytes = math.min(bytes, o.max_memory or math.huge), way = way, least = least, packed = packed,
    seconds = pass * (o.passes or PASSES),
    seconds_per_pass = pass, label = label, details = details, points = pairs_ }
end

-- CPU seconds, measured on the core of RATE: program, tables and report; a scan for the start; a point read and packed;
-- a value of fitted_data written; a point of one pass of a model of the user's, of few operations
local FIXED, SCAN, READ, WRITTEN, OWN = 0.3, 0.15, 1.5e-7, 4e-8, 2.5e-7
local SCANNED = { static = 350, laminar_flow = 1200 } -- passes over the coarse copies, those of the grid included
local OWN_PASSES, GRADIENTS, GRADIENT = 12, 16, 2e-4 -- passes of such a fit; gradients of a draw, seconds beside one

--- The scaling of a data set of F angles, and free numbers of contrast and of offset.
local function scaling_of(s, F)
  local mode = scaling.resolve(s.fit.scaling or 'auto', F, s.fit)
  return mode, mode == 'averaged' and 1 or mode == 'individual' and F or mode == 'fourier'
    and 2 * (s.fit.fourier_order or 2) + 1 or 0
end

--- Free parameters of a run over a data set of F angles, as far as names tell; later: it is not the first one of a
--- joint fit, and brings only what is not shared.
local function free_of(s, F, later)
  local fixed, own = 0, 0
  for _ in pairs(s.fit.fixed or {}) do fixed = fixed + 1 end
  local _, m = scaling_of(s, F)
  if s.model then for _ in pairs(s.model.p0) do own = own + 1 end
  else own = s.open.mode == 'laminar_flow' and 7 or 3 end
  if later then own, fixed = s.shared and math.max(own - fixed - #s.shared, 0) or 0, 0 end
  return math.max(own + 2 * m - fixed, 1)
end

--- Seconds of the scan for a start of a data set; none where starting values are given.
---@param c table of cost
local function scan_of(s, d, mode, c)
  if next(s.fit.initial or {}) ~= nil or s.model then return 0 end
  local points = 0
  for _, w in ipairs(coarse.windows(d.n, d.F)) do points = points + d.F * ((w[2] - w[1] + 1) / w[3]) ^ 2 / 2 end
  return SCAN + SCANNED[mode] * points * c.seconds_per_pass / math.max(c.points, 1)
end

--- What a run by the settings costs: all data sets, own models, searches, the posterior.
---@param s table settings of run
---@param list table[] shapes of the data sets: n, F, dtype, path, streamed
---@param threads integer
---@return table seconds, bytes, p, parts (words), first (cost of the first data set)
function M.of_run(s, list, threads)
  local mode = s.open.mode == 'laminar_flow' and 'laminar_flow' or 'static'
  local p, points, bytes, parts, written, pass, scan, first = 0, 0, 0, {}, 0, 0, 0, nil
  for i, d in ipairs(list) do
    p = p + free_of(s, d.F, i > 1)
    local c = M.cost { n = d.n, F = d.F, dtype = d.dtype, mode = mode, p = free_of(s, d.F), threads = threads,
      streamed = d.streamed, max_memory = s.open.max_memory, scaling = scaling_of(s, d.F), loss = s.fit.loss }
    pass, scan = pass + c.seconds_per_pass, scan + scan_of(s, d, mode, c)
    first = first or c
    points, written = points + c.points, written + 7 * d.F * d.n ^ 2
    -- an .npz is mapped: its pages count
    local more = (d.path or ''):find '%.npz$' and 8 * d.F * (d.n + 1) ^ 2 or 0
    if s.model then more = more + 8 * require('workflows.xpcs.fit.own').COPIES * math.min(c.points, 2 ^ 20) end
    bytes = i == 1 and c.bytes + more or bytes + c.packed + more
  end
  bytes = math.min(bytes, s.open.max_memory or math.huge)
  local fit = PASSES * pass + scan
  if s.model then fit = OWN_PASSES * points * OWN / threads end
  if #list > 1 then fit = fit * (1 + #list) end
  local seconds = FIXED + READ * points + (s.arrays and WRITTEN * written or 0) + fit
  parts[1] = ('fit %s s'):format(number(fit, 2))
  if s.multi_start.enable or s.cmaes.enable then
    local most = (s.multi_start.enable and s.multi_start.n_starts or 10) * fit
    parts[#parts + 1] = ('up to %s s more for other starts, when the first fit is not good'):format(
      number(most, 2))
  end
  if s.level then
    local more = PROFILE * pass * (mode == 'static' and 3 or 7)
    seconds, parts[#parts + 1] = seconds + more, ('profiles %s s'):format(number(more, 2))
  end
  if s.method ~= 'nlsq' then
    local o = s.posterior
    local gradients = GRADIENTS * ((o.draws or 1000) + (o.warmup or 500)) * (o.chains or 4)
    local each = pass_of { points = points, mode = mode, scaling = scaling_of(s, list[1].F), threads = threads }
    local more = (each + GRADIENT) * gradients * (o.shards and 2 or 1)
    seconds, parts[#parts + 1] = seconds + more, ('posterior %s s (about %d gradients)'):format(number(more, 2),
      gradients)
  end
  return { seconds = seconds, bytes = bytes, p = p, parts = parts, first = first, points = points }
end

--- The lines that `mascon plan` prints.
---@param s table settings of run
---@param list table[] shapes of the data sets
---@param threads integer
---@return string[]
function M.lines(s, list, threads)
  local c, out, published = M.of_run(s, list, threads), {}, 0
  local label = labels.of(list)
  for i, d in ipairs(list) do
    published = published + d.F * d.n ^ 2
    out[i] = ('%s%s%s: %s x %d times%s, %s pairs of times'):format(#list > 1 and ('data set %d: '):format(i) or '',
      label[i], label[i] == '' and 'data' or '', text.count(d.F, 'angle'), d.n,
      d.q and (', q = %s 1/A'):format(number(d.q, 6)) or '', number(d.F * d.n * (d.n - 1) / 2, 12))
  end
  local what = s.model and 'own model' or s.open.mode == 'laminar_flow' and 'laminar flow' or 'static'
  local strategy, d = M.strategy(published, c.p)
  out[#out + 1] = ('%s%s%s: %s'):format(what, #list > 1 and ', joint' or '', s.method ~= 'nlsq' and ', posterior' or '',
    text.count(c.p, 'free parameter'))
  local device, moved = s.fit.device, 0
  local there = device and device ~= 'cpu' and (type(device) == 'table' and table.concat(device, ', ') or device)
  for _, e in ipairs(list) do moved = moved + data.bytes(e.n, e.F, e.dtype or 'f64') * (1 + SUMS) end
  out[#out + 1] = ('time: about %s s on %s%s (reading and files, %s)'):format(number(c.seconds, 2),
    text.count(threads, 'thread'),
    there and (' of the CPU; that of %s is not known'):format(there) or '', table.concat(c.parts, ', '))
  out[#out + 1] = ('memory: about %.0f MiB at most, %.0f MiB of it data in %s%s'):format(c.bytes / 2 ^ 20,
    c.first.packed / 2 ^ 20, list[1].dtype or 'f64', c.first.least < c.bytes
    and ('; read block by block at least %.0f MiB'):format(c.first.least / 2 ^ 20) or '')
  if there then
    out[#out + 1] = ('memory of %s: about %.0f MiB of data and sums%s; what does not fit goes there block by block in '
      .. 'each pass'):format(there, moved / 2 ^ 20, type(device) == 'table' and #device > 1 and ' in all' or '')
  end
  out[#out + 1] = ('for comparison, homodyne counts %s points (both triangles and the diagonal): strategy %s%s; its '
    .. 'formulas give %s GB and a Jacobian of %s GB, %s'):format(number(published, 4), strategy, s.strategy
    and (', %s by the configuration'):format(s.strategy) or '', number(d.upstream_gb, 2),
    number(d.upstream_jacobian_gb, 2), d.upstream_path)
  return out
end

--- What the run would refuse, in words; nil when nothing was found.
---@param s table
---@param list table[]
---@param free fun() raises where the results may not be written
---@return string|nil
function M.refusal(s, list, free)
  if type(s) ~= 'table' or type(list) ~= 'table' or #list == 0 or type(free) ~= 'function' then
    error('xpcs.plan.refusal: give the settings of a run, a list of data sets and a function', 2)
  end
  local ok, why = check.try(free)
  if not ok then return (tostring(why):gsub('^[^\n:]*%.lua:%d+: ', '')) end
  for i, d in ipairs(list) do
    d.reader, d.alone = 'program', s.alone
    ok, why = check.try(examine.refuse_mixed, d)
    if not ok then return (tostring(why):gsub('^.-xpcs: ', '')) end
    if d.points < free_of(s, d.F) then
      return ('data set %d: %d points cannot determine %d parameters'):format(i, d.points, free_of(s, d.F))
    end
    local sigma = s.fit.sigma
    if type(sigma) == 'table' and #sigma ~= d.F then
      return ('sigma has %d values for %d angles'):format(#sigma, d.F)
    end
  end
end

return M
