-- trials.lua - coupling where every trial has a mask of its own.
--
-- Trials keep different numbers of samples, so rows are filtered whole, cut, and coupled one by one. With pooled
-- segments the samples that the trials of a channel keep are joined end to end and shifted as one. Takes a plan for
-- whole rows; makes one for each length.
local mc = require 'mascon'
local ceiling = require 'mascon.base.ceiling'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local engine = require 'workflows.pac.engine'
local error = check.error
local M = {}

--- Takes a mask of two or more axes out of the options: equal rows become one mask of samples, others the field
--- trial_mask.
---@param o table completed options
---@param T integer
function M.take(o, T)
  local m = o.mask
  if m == nil then return end
  if type(m) == 'table' then m = mc.tensor(m) end
  if m.ndim < 2 then return end
  if m.shape[m.ndim] ~= T then
    error(('pac: mask is %s and rows have %d samples; give [samples], [segments, samples], or the shape of x'):format(
      tensor.describe(m), T), 2)
  end
  m = mc.ne(m, 0)
  local rows = m:reshape(-1, T)
  o.mask = nil
  if mc.all(mc.eq(rows, rows['1:1'])) then
    o.mask = rows[1]
    return
  end
  if o.surrogate == 'swap_trials' then
    error('pac: mask has a row for each trial and surrogate is "swap_trials"; trials of different samples cannot '
      .. 'change places, use block_swap', 2)
  end
  if o.bin_norm == 'pooled' then
    error('pac: mask has a row for each trial and bin_norm is "pooled"; use bin_norm = "mean"', 2)
  end
  if o.windows or o.edges > 0 then
    error('pac: more than one of edges, mask and windows is given; give one of them', 2)
  end
  o.trial_mask = m
end

--- Rows of the mask for the rows of x, [B*C*S, T].
local function rows_of(m, n, x)
  local T, R = x.shape[x.ndim], n.B * n.C * n.S
  if m.shape == x.shape then return m:reshape(R, T) end
  if m.ndim == 2 and m.shape[1] == n.S and n.S > 1 then
    return mc.broadcast_to(m:reshape(1, n.S, T), { n.B * n.C, n.S, T }):reshape(R, T)
  end
  error(('pac: mask is %s and x is %s; give [samples], [segments, samples] or the shape of x'):format(
    tensor.describe(m), tensor.describe(x)), 3)
end

--- The positions that a mask [T] keeps, and their number.
local function positions(mask)
  local at = mc.nonzero(mask):reshape(-1)
  return at, at:numel()
end

--- Options for coupling phases and amplitudes of L samples.
local function given(o, e)
  local out = {}
  for k, v in pairs(o) do out[k] = v end
  -- shifts near 0 are others in rows of another length, so they cannot be kept side by side
  out.single_step = not (o.pool_segments and o.trial_mask.ndim == 2)
  out.P, out.A, out.trial_mask, out.pool_segments, out.max_memory = e.P, e.A, nil, false, nil
  return out
end

--- What a trial gives that keeps too few samples: NaN and status 4, in the form of another.
local function nothing(template, K)
  local out = {}
  for name, t in pairs(template) do
    local fill = tensor.kind[t.dtype] == 'f' and mc.nan or 0
    if name == 'status' then
      fill = 4
    elseif name == 'best' then
      fill = -1
    elseif name == 'exceed' then
      fill = K
    elseif name == 'max' or name == 'zmax' then
      fill = -math.huge
    end
    out[name] = mc.full(t.shape, fill, { dtype = t.dtype })
  end
  return out
end

local function joined(parts, template, K)
  local out, list = {}, {}
  for i = 1, #parts do list[i] = parts[i] or nothing(template, K) end
  for name in pairs(template) do
    local column = {}
    for i, p in ipairs(list) do column[i] = p[name] end
    out[name] = #column == 1 and column[1] or mc.concat(column, 1)
  end
  return out
end

--- Runs a plan whose options hold a mask for each trial.
---@param plan table
---@param make function plan_of(options, samples) for phases and amplitudes that are given
---@param x any [..., T]
---@param xa any|nil amplitudes
---@param n table sizes B, C, S
---@return table results [jobs, ...] as of the engine
---@return integer K
---@return integer|nil smallest shift
function M.run(plan, make, x, xa, n)
  local o, e, T = plan.options, plan.engine, plan.T
  local R, S = n.B * n.C * n.S, n.S
  local masks = rows_of(o.trial_mask, n, x)
  local rows, amps = x:reshape(R, T), xa and xa:reshape(R, T)
  local need = 2 * S * (e.P + e.A) * T * e.size
  ceiling.need('pac', need, ('what the %d trials of a channel with masks of their own keep'):format(S), 3)
  local pairs_ = o.pairs
  if not pairs_ then
    pairs_ = {}
    for c = 1, n.C do pairs_[c] = { c, c } end
  end
  local inner, plans, parts, template, K, shift, lengths, short = given(o, e), {}, {}, nil, nil, nil, nil, 0
  local function couple(phase, amp)
    local L = phase.shape[3]
    local least = math.max(2, e.m and 2 * (o.min_shift or 1) + 1 or 2)
    if L < least then
      short = short + 1
      return false
    end
    local p = plans[L] or make(inner, L)
    plans[L] = p
    K, shift = p.n_surrogates, p.engine.m
    if o.surrogate == 'exhaustive' and lengths and lengths ~= L then
      error('pac: masks leave a different number of samples in each trial, so they have different numbers of shifts; '
        .. 'use surrogate = "block_swap" with n_perm, or pool_segments', 4)
    end
    lengths = L
    local r = p:_execute(phase, amp, { B = 1, C = 1, S = 1 })
    -- as if all surrogates made the spread: how many do differs from trial to trial
    if r.m2 and p.engine.far then r.m2 = r.m2 * (K / p.engine.far) end
    return r
  end
  for b = 0, n.B - 1 do
    for _, pair in ipairs(pairs_) do
      local function rows_at(c) return { ((b * n.C + c - 1) * S) + 1, (b * n.C + c) * S } end
      local list = mc.scope(function()
        local pha, amp = rows_at(pair[1]), rows_at(pair[2])
        local phase = engine.analytic(e, rows[{ pha }], 'pha')
        local envelope = engine.analytic(e, (amps or rows)[{ amp }], 'amp')
        local cut_p, cut_a, out = {}, {}, {}
        for s = 1, S do
          local keep = masks[pha[1] + s - 1]
          if pair[1] ~= pair[2] then keep = mc.logical_and(keep, masks[amp[1] + s - 1]) end
          local at, count = positions(keep)
          if count > 0 or not o.pool_segments then
            cut_p[#cut_p + 1], cut_a[#cut_a + 1] = mc.take(phase[{ { s, s } }], at, 3),
              mc.take(envelope[{ { s, s } }], at, 3)
          end
        end
        if o.pool_segments then
          if #cut_p == 0 then out[1] = couple(phase['..., 1:1'], envelope['..., 1:1'])
          else out[1] = couple(mc.concat(cut_p, 3), mc.concat(cut_a, 3)) end
        else
          for s = 1, S do out[s] = couple(cut_p[s], cut_a[s]) end
        end
        return out
      end)
      for _, r in ipairs(list) do
        parts[#parts + 1] = r
        template = template or r or nil
      end
    end
  end
  if not template then
    error('pac: the mask keeps too few samples of every trial; it is true where a sample counts', 3)
  end
  local out = joined(parts, template, K or 0)
  if short > 0 then
    out.note = ('%d of %d trials keep too few samples under the mask; they are NaN with status 4'):format(short, #parts)
  end
  return out, K or 0, shift
end

return M
