-- own.lua - coupling measures written in Lua by the user.
--
-- measure(phase, amp, info) gets phases [n, P, L] in rad and amplitudes [n, A, L] and returns coupling [n, P, A].
-- Observed rows and surrogates are both rows of the first axis. Batches rows and surrogates, checks what the function
-- returns, and gives the engine the same statistics that the kernels give for built-in measures. Does no filtering.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local normalize = require 'workflows.pac.normalize'
local error = check.error
local M = {}

local ZERO_AMPLITUDE, BAD_INPUT = 2, 4 -- bits of status

-- numbers of phases and amplitudes in one call of the measure: 16 MiB in f64
local BATCH = 2 ^ 21
-- values of a batch may differ from those of rows alone by rounding, so surrogates within this share of the observed
-- value count as equal
local TIE = { f32 = 1e-5, f64 = 1e-11 }
-- rows of a batch and rows alone: sums of another order
local SAME = { f32 = 1e-3, f64 = 1e-8 }

--- Rows of one call.
function M.batch(e) return math.max(1, math.floor(BATCH / ((e.P + e.A) * e.L))) end

--- Bytes of the calls: phases, amplitudes, amplitudes twice over for shifts, and as much again for what the measure
--- makes.
function M.work_bytes(e)
  return 6 * e.size * (e.P + e.A) * e.L * M.batch(e)
end

--- Bytes of the surrogates of one row and of their standardisation.
function M.row_bytes(e) return e.K * e.P * e.A * 8 * 8 end

local function call(e, phase, amp)
  local o, n = e.o, phase.shape[1]
  local y = o.own(phase, amp, { fs = o.fs, n_bins = o.n_bins, pha_bands_hz = o.pha, amp_bands_hz = o.amp })
  local kind = mc.is_tensor(y) and tensor.kind[y.dtype]
  if not kind or kind == 'c' or kind == 'b' or y.ndim ~= 3 or y.shape[1] ~= n or y.shape[2] ~= e.P
    or y.shape[3] ~= e.A then
    error(('pac: measure returned %s for phases %s and amplitudes %s; it must return real coupling values [%d, %d, ' ..
      '%d]: one for each row, phase band and amplitude band'):format(
      mc.is_tensor(y) and tensor.describe(y) or check.show(y), tensor.describe(phase), tensor.describe(amp), n, e.P,
        e.A), 0)
  end
  return y:to 'f64'
end

--- Refuses a measure whose rows depend on each other: surrogates would change the observed value.
local function check_rows(e, phase, amp, y)
  if e.own_checked or y.shape[1] < 2 then return end
  e.own_checked = true
  local alone = call(e, phase['1:1']:contiguous(), amp['1:1']:contiguous())
  local a, b = y['1:1'], alone
  local close = mc.logical_or(mc.le(mc.abs(a - b), SAME[e.dtype] * mc.maximum(mc.abs(a), mc.abs(b)) + 1e-12),
    mc.logical_and(mc.isnan(a), mc.isnan(b)))
  if not mc.all(mc.logical_or(close, mc.eq(a, b))) then
    error('pac: measure gives a row another value in a batch than alone; rows of the first axis must not depend on ' ..
      'each other: reduce over the last axis only', 0)
  end
end

--- Coupling of items that pick a phase row, an amplitude row (0-based) and a shift of the amplitude: f64 [n, P, A].
---@param e table engine
---@param f table phase [R, P, L], amp [R, A, L], bad_amp bool [R, A]|nil
---@param pha_rows integer[]
---@param amp_rows integer[]
---@param shifts? integer[]
function M.values(e, f, pha_rows, amp_rows, shifts)
  local phase, amp, n, per = f.phase, f.amp, #pha_rows, M.batch(e)
  local out = mc.empty { n, e.P, e.A }
  for first = 1, n, per do
    local last = math.min(first + per - 1, n)
    mc.scope(function()
      local p, a = {}, {}
      for i = first, last do
        p[#p + 1] = pha_rows[i] + 1
        local row, s = amp[amp_rows[i] + 1], shifts and shifts[i] or 0
        -- surrogate s pairs the phase at t with the amplitude at t + s
        a[#a + 1] = s == 0 and row or mc.roll(row, { -s, axis = -1 })
      end
      local pha, shifted = mc.take(phase, mc.tensor(p, { dtype = 'i64', device = phase.device }), 1), mc.stack(a)
      local y = call(e, pha, shifted)
      check_rows(e, pha, shifted, y)
      y = y:to 'cpu'
      if f.bad_amp then
        local at = {}
        for i = first, last do at[#at + 1] = amp_rows[i] + 1 end
        y = mc.where(mc.take(f.bad_amp, mc.tensor(at, { dtype = 'i64' }), 1):reshape(#at, 1, e.A), mc.nan, y)
      end
      out[{ { first, last } }] = y
    end)
  end
  return out
end

--- Observed value and surrogates on the scale of those at least `near` away on the circle: z [..., K + 1], the
--- observation first.
local function circle(all, positions, near, L)
  local n = positions:numel()
  local d = all - all[{ mc.ellipsis, { 1, 1 } }] -- exactly 0 when nothing varies
  local total, square = mc.sum(d, { -1, keepdim = true }), mc.sum(d * d, { -1, keepdim = true })
  local rest, sum, sq = n, total, square
  if near > 0 then
    local order = mc.argsort(positions)
    local sorted = mc.take(positions, order, 1)
    local three = mc.concat({ sorted - L, sorted, sorted + L }, 1)
    local lo, hi = mc.searchsorted(three, positions - near, { right = true, base = 0 }), mc.searchsorted(three,
      positions + near, { base = 0 })
    rest = n - (hi - lo):to 'f64'
    local row = mc.take(d, order, -1)
    local width = {}
    for i = 1, d.ndim do width[i] = i == d.ndim and { 1, 0 } or { 0, 0 } end
    local function within(v, all_of_it)
      local run = mc.pad(mc.cumsum(v, -1), width)
      local function upto(at)
        local turns = mc.floor(at:to 'f64' / n)
        return mc.take(run, (at:to 'f64' - turns * n):to 'i64' + 1, -1) + turns * all_of_it
      end
      return upto(hi) - upto(lo)
    end
    sum, sq = total - within(row, total), square - within(row * row, square)
  end
  local mean = sum / rest
  local var = sq / rest - mean * mean
  local none = mc.where(mc.gt(d, mean), math.huge, -math.huge)
  local z = mc.where(mc.gt(var, 1e-13 * sq / rest), (d - mean) / mc.sqrt(mc.maximum(var, 0)), none)
  if near > 0 then z = mc.where(mc.lt(rest, 2), math.huge, z) end
  z = mc.where(mc.eq(square, 0), -math.huge, z)
  return mc.where(mc.isnan(square), mc.nan, z)
end

--- Statistics of shifted surrogates: what the kernels return for built-in measures.
---@param value any f64 [jobs, P, A]
---@param s any f64 [jobs, K, P, A]
local function statistics(e, r, value, s, want)
  local last = mc.moveaxis(s, 2, -1)
  local shifts, near = e.shifts:to 'f64', e.near or 0
  local far = near > 0 and mc.logical_and(mc.ge(shifts, near), mc.le(shifts, e.L - near)) or mc.full({ e.K }, true,
    { dtype = 'bool' })
  local far_at = mc.nonzero(far):reshape(-1)
  local kept = e.far < e.K and mc.take(last, far_at, -1) or last
  local mean, m2 = normalize.moments(kept)
  local flat = mc.eq(mc.max(kept, -1), mc.min(kept, -1))
  r.mean, r.m2 = mean, mc.where(flat, 0, m2)
  local x = value:expand_dims(-1)
  r.exceed = mc.sum(mc.ge(last, x - TIE[e.dtype] * mc.abs(x)), -1)
  local low = mc.full({ 1 }, -math.huge)
  local function maxima(t) return mc.max(mc.where(mc.isnan(t), low, t), { 2, 3 }) end
  if want.max then r.max = maxima(last) end
  if want.zmax then
    local positions = mc.concat({ mc.zeros { 1 }, shifts }, 1)
    local z = circle(mc.concat({ x, last }, -1), positions, near, e.L)
    r.zvalue = z['..., 1']:contiguous()
    -- the observed value is compared with a margin for rounding, as in exceed
    local others = z[{ mc.ellipsis, { 2, e.K + 1 } }]
    others = mc.where(mc.isnan(others), low, others + TIE[e.dtype] * mc.abs(mc.where(mc.isfinite(others), others, 0)))
    r.zmax = maxima(others)
    if want.znear then
      local order = mc.argsort(shifts) -- by shift, as the kernels keep them
      local close = order[mc.take(mc.logical_not(far), order, 1)]
      r.zmax = mc.where(far:reshape(1, -1), r.zmax, low)
      r.znear = mc.moveaxis(mc.take(others, close, -1), -1, 2):contiguous()
    end
  end
  if want.all then r.all = s end
end

--- Value, status and statistics of the surrogates of one block.
---@param e table engine
---@param f table phase [R, P, L], amp [R, A, L]
---@param layout table of the engine
---@param want table names of results
---@param K integer surrogates by shifts; 0: none here
function M.block(e, f, layout, want, K)
  local jobs = layout.jobs
  local r = { value = M.values(e, f, layout.pha, layout.amp) }
  -- a bit where the amplitude does not vary; the value is what the measure says
  local still = mc.eq(mc.max(f.amp, -1), mc.min(f.amp, -1)):to { device = 'cpu' }
  local dead = mc.take(still, mc.tensor(layout.amp, { dtype = 'i64' }) + 1, 1):reshape(jobs, 1, e.A)
  local bad = f.bad_amp and mc.take(f.bad_amp, mc.tensor(layout.amp, { dtype = 'i64' }) + 1, 1):reshape(jobs, 1, e.A)
  r.status = mc.broadcast_to(bad and mc.where(bad, BAD_INPUT, mc.where(dead, ZERO_AMPLITUDE, 0)) or mc.where(dead,
    ZERO_AMPLITUDE, 0), { jobs, e.P, e.A }):to 'i32':contiguous()
  if K == 0 then return r end
  local pha, amp, shifts, list = {}, {}, {}, e.shifts:totable()
  for job = 1, jobs do
    for k = 1, K do
      pha[#pha + 1], amp[#amp + 1], shifts[#shifts + 1] = layout.pha[job], layout.amp[job], list[k]
    end
  end
  local s = M.values(e, f, pha, amp, shifts):reshape(jobs, K, e.P, e.A)
  statistics(e, r, r.value, s, want)
  return r
end

return M
