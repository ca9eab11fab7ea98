-- field.lua - magnetic fields from sensors to sensors, through a sphere of sources.
--
-- Holds the lead field products of coils, the noise that weighs them, and the truncated inverse: the field at any coil
-- is estimated as that of the currents of least norm which explain the fields at the others. Points of a coil:
-- mascon.meeg.coils. Source: Hamalainen and Ilmoniemi, Interpreting magnetic fields of the brain: minimum norm
-- estimates, 1994; parameters as in MNE-Python: sources on a sphere of 0.06 m about (0, 0, 0.04) m, 50 Legendre terms
-- (fast) or 100, noise 20 fT and 5 fT/cm, 1e-4 of the sum of singular values left out.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local coils = require 'mascon.meeg.coils'
local repairer = require 'mascon.meeg.repairer'
local error = check.error
local M = {}

local RADIUS = 0.06
local MISS = 1e-4
local NOISE = { mag = 20e-15, grad = 5e-13, ref_meg = 20e-15 }
local TERMS = { fast = 50, accurate = 100 }
local FACTOR = 4e-14 * math.pi -- mu_0^2 / (4 pi)
local PAIRS = 2 ^ 18 -- of points in work at a time: some fifteen arrays of 2 MiB, which stay in the cache of a core

local OPTS = {
  mode = { 'fast', { 'fast', 'accurate' } }, origin = { { 0, 0, 0.04 }, 'table' }, info = { nil, 'table' },
  dev_head_t = { nil, 'table | tensor' }, projs = { nil, 'table' }, cache = { repairer.CACHE, 'number >= 0' },
}

-- ---------------------------------------------------------------- coils in the head

local function transform_of(t)
  if t == nil then return nil end
  if type(t) ~= 'table' then t = t:totable() end
  if #t ~= 4 or type(t[1]) ~= 'table' or #t[1] ~= 4 then
    error('meeg.field: dev_head_t is no 4 x 4 matrix; give that from device to head', 4)
  end
  return t
end

local function moved(t, p, shift)
  if not t then return p end
  local out = {}
  for i = 1, 3 do out[i] = t[i][1] * p[1] + t[i][2] * p[2] + t[i][3] * p[3] + t[i][4] * shift end
  return out
end

--- Every point of the coils of channels: unit vectors and lengths from the origin, directions, weights, and the coil
--- each belongs to.
local function points_of(fname, channels, picks, o)
  local t = transform_of(o.dev_head_t)
  local places, lengths, normals, weights, owner = {}, {}, {}, {}, {}
  for k, c in ipairs(picks) do
    local ch = channels[c]
    if not ch then error(('%s: channel %s is not one of %d'):format(fname, tostring(c), #channels), 4) end
    local loc = ch.loc
    local list = ch.coil and coils.points(ch.coil)
    if not list then
      error(('%s: channel %s has %s; field mapping needs MEG coils of a known kind'):format(fname, ch.name,
        ch.coil and ('the coil %d, which is not known'):format(ch.coil) or 'no coil'), 4)
    end
    local sum = 0
    for i = 1, 12 do sum = sum + (loc and tonumber(loc[i]) or 0 / 0) end
    if sum - sum ~= 0 then
      error(('%s: valid positions needed, channel %s has none (loc must be 12 numbers)'):format(fname, ch.name), 4)
    end
    for _, p in ipairs(list) do
      local at = {}
      for i = 1, 3 do at[i] = loc[i] + loc[3 + i] * p[1] + loc[6 + i] * p[2] + loc[9 + i] * p[3] end
      at = moved(t, at, 1)
      for i = 1, 3 do at[i] = at[i] - o.origin[i] end
      local length = math.sqrt(at[1] ^ 2 + at[2] ^ 2 + at[3] ^ 2)
      if length <= RADIUS then
        error(('%s: channel %s lies %.3g m from the origin, within the sphere of sources (%g m); check its position '
          .. 'and dev_head_t'):format(fname, ch.name, length, RADIUS), 4)
      end
      local n = #lengths + 1
      places[n], lengths[n] = { at[1] / length, at[2] / length, at[3] / length }, length
      normals[n], weights[n], owner[n] = moved(t, { loc[10], loc[11], loc[12] }, 0), p[4], k
    end
  end
  return { u = mc.tensor(places), length = mc.tensor(lengths), n = mc.tensor(normals), w = mc.tensor(weights),
    owner = mc.tensor(owner, { dtype = 'i64' }), count = #picks }
end

-- ---------------------------------------------------------------- products

--- The four sums over the Legendre series at cosines x and ratios beta, both [a, b]:
--- n (n + 1)/(2n + 1) beta^(n+1) P_n, n/(2n + 1) beta^(n+1) P_n', and n/((2n + 1)(n + 1)) beta^(n+1) of P_n' and P_n'';
--- n = 1 .. terms - 1.
local function sums(x, beta, terms)
  local s = { mc.zeros_like(x), mc.zeros_like(x), mc.zeros_like(x), mc.zeros_like(x) }
  local p0, p1 = mc.ones_like(x), x:copy()           -- P_(n-1), P_n
  local d1, dd1 = mc.ones_like(x), mc.zeros_like(x)  -- P_n', P_n''
  local power, work = beta * beta, mc.zeros_like(x)
  local function gather(into, factor, p)
    mc.multiply(power, p, { out = work })
    mc.multiply(work, factor, { out = work })
    mc.add(into, work, { out = into })
  end
  for n = 1, terms - 1 do
    local f = n / (2 * n + 1)
    gather(s[1], f * (n + 1), p1)
    gather(s[2], f, d1)
    gather(s[3], f / (n + 1), d1)
    gather(s[4], f / (n + 1), dd1)
    if n == terms - 1 then break end
    local m = n + 1
    -- P_m'' = (m + 1) P_n' + x P_n'', P_m' = m P_n + x P_n', P_m = ((2m - 1) x P_n - n P_(n-1)) / m
    mc.multiply(x, dd1, { out = dd1 })
    mc.multiply(d1, m + 1, { out = work })
    mc.add(dd1, work, { out = dd1 })
    mc.multiply(x, d1, { out = d1 })
    mc.multiply(p1, m, { out = work })
    mc.add(d1, work, { out = d1 })
    mc.multiply(p0, -n / m, { out = p0 })
    mc.multiply(x, p1, { out = work })
    mc.multiply(work, (2 * m - 1) / m, { out = work })
    mc.add(p0, work, { out = p0 })
    p0, p1 = p1, p0
    mc.multiply(power, beta, { out = power })
  end
  return s
end

--- Products of the lead fields of points a (rows first .. last) with points b, weighted, [rows, b].
local function block(a, b, first, last, terms)
  local u, n = a.u[{ { first, last } }], a.n[{ { first, last } }]
  local x = mc.clip(mc.matmul(u, b.u.mT), -1, 1)
  local apart = mc.matmul(a.length[{ { first, last } }]:reshape(-1, 1), b.length:reshape(1, -1))
  local s = sums(x, RADIUS * RADIUS / apart, terms)
  local n1u1 = mc.sum(n * u, { 2, keepdim = true })
  local n2u2 = mc.sum(b.n * b.u, 2):reshape(1, -1)
  local n1u2, n2u1, n1n2 = mc.matmul(n, b.u.mT), mc.matmul(u, b.n.mT), mc.matmul(n, b.n.mT)
  local both = n1u1 * n2u2
  local p, q = x * both, n1u1 * n2u1 + n1u2 * n2u2
  local out = both * s[1] + (2 * p - q) * s[2] + (n1n2 + p - q) * s[3] + (n1u2 - x * n1u1) * (n2u1 - x * n2u2) * s[4]
  return out * FACTOR / apart * a.w[{ { first, last } }]:reshape(-1, 1) * b.w:reshape(1, -1)
end

--- Sums over the points of each coil along an axis.
local function per_coil(t, p, axis) return mc.segment_sum(t, p.owner, { axis = axis, num_segments = p.count }) end

--- Products of the lead fields of coils, [C, C].
local function products(p, terms)
  local total = p.u.shape[1]
  local rows = math.max(1, math.floor(PAIRS / total))
  local parts = {}
  for first = 1, total, rows do
    local last = math.min(total, first + rows - 1)
    parts[#parts + 1] = mc.scope(function() return per_coil(block(p, p, first, last, terms), p, 2) end)
  end
  local out = per_coil(mc.concat(parts, 1), p, 1)
  return (out + out.mT) / 2
end

-- ---------------------------------------------------------------- mapping

--- Orthonormal columns of the projectors on some channels, or nil where none touches them.
local function projected(projs, channels, picks, good)
  local columns = {}
  for _, p in ipairs(projs or {}) do
    local place = {}
    for i, name in ipairs(p.channels) do place[name] = i end
    local rows = type(p.data) == 'table' and p.data or p.data:totable()
    for _, row in ipairs(rows) do
      local v, size = {}, 0
      for k, g in ipairs(good) do
        local i = place[channels[picks[g]].name]
        v[k] = i and row[i] or 0
        size = size + v[k] ^ 2
      end
      if size > 0 then
        for k = 1, #good do v[k] = v[k] / math.sqrt(size) end
        columns[#columns + 1] = v
      end
    end
  end
  if #columns == 0 then return nil end
  local svd = mc.linalg.svd(mc.tensor(columns).mT:contiguous(), { full_matrices = false })
  local S, keep = svd.S:totable(), 0
  for _, s in ipairs(S) do if s / S[1] > 1e-2 then keep = keep + 1 end end
  if keep >= #good then
    error(('meeg.field: %d projectors leave nothing of %d channels; give fewer projectors or more channels'):format(
      keep, #good), 4)
  end
  return svd.U[{ mc.all, { 1, keep } }]
end

local Field = {}
Field.__index = Field

--- The coils of channels made ready for mapping: products once, maps from any good to any bad ones.
---@param channels table[]
---@param picks integer[] places of MEG channels, one type
---@param opts? table mode: 'fast' (50 Legendre terms, default) or 'accurate' (100); origin of the sphere ({ 0, 0,
---  0.04 } m, head frame); info: that of a recording, for the next two; dev_head_t: 4 x 4 from device to head
---  (identity); projs: list of { channels (names), data [n, #channels] }
---@return table with :map(good, bad) and products [C, C]
--- Errors: a channel without coil, a coil or place that is not known, a sensor inside the sphere of sources.
function M.prepare(channels, picks, opts)
  local fname = 'meeg.field'
  local o = check.opts(fname, opts, OPTS)
  check.arg(fname, 'picks', picks, 'table')
  local info = o.info or {}
  o.dev_head_t, o.projs = o.dev_head_t or info.dev_head_t, o.projs or info.projs
  if #picks < 2 then
    error(('%s: %d channels; a field is mapped from others, give 2 or more'):format(fname, #picks), 2)
  end
  local noise = {}
  for k, c in ipairs(picks) do
    local ch = channels[c]
    local sd = ch and NOISE[ch.type]
    if ch and not sd then
      error(('%s: channel %s is of type %s; field mapping is for mag and grad'):format(fname, ch.name,
        tostring(ch.type)), 2)
    end
    noise[k] = sd
  end
  local points = points_of(fname, channels, picks, o)
  return setmetatable({ channels = channels, picks = picks, projs = o.projs, noise = mc.tensor(noise),
    products = products(points, TERMS[o.mode]), C = #picks, cache = o.cache }, Field)
end

--- The map from good sensors to bad ones, both places among the picks: f64 [#bad, #good].
---@param good integer[]
---@param bad integer[]
function Field:map(good, bad)
  local g, b = mc.tensor(good, { dtype = 'i64' }), mc.tensor(bad, { dtype = 'i64' })
  local rows = mc.take(self.products, g, 2)
  local own, cross = mc.take(rows, g, 1), mc.take(rows, b, 1)
  local basis = projected(self.projs, self.channels, self.picks, good)
  local sd = mc.take(self.noise, g)
  if basis then
    own = own - mc.matmul(basis, mc.matmul(basis.mT, own))
    own = own - mc.matmul(mc.matmul(own, basis), basis.mT)
  end
  own = own / sd:reshape(-1, 1) / sd:reshape(1, -1)
  own = (own + own.mT) / 2
  local values, vectors = mc.linalg.eigh(own)
  -- the fewest of the largest that leave out no more than MISS
  local s, total, sum, keep = mc.flip(mc.abs(values)):totable(), 0, 0, #good
  for _, v in ipairs(s) do total = total + v end
  for k, v in ipairs(s) do
    sum = sum + v
    if sum / total >= 1 - MISS then
      keep = k
      break
    end
  end
  local n = #good
  local V = vectors[{ mc.all, { n - keep + 1, n } }]
  local inverse = mc.matmul(V / values[{ { n - keep + 1, n } }], V.mT) / sd:reshape(-1, 1) / sd:reshape(1, -1)
  if basis then inverse = inverse - mc.matmul(basis, mc.matmul(basis.mT, inverse)) end
  return mc.matmul(cross, inverse)
end

--- Weights of bad ones over all picks, zero at the bad: f64 [#bad, C].
local function widened(field, bad, seen)
  local good = {}
  for c = 1, field.C do if not seen[c] then good[#good + 1] = c end end
  local W = mc.zeros { #bad, field.C }
  W[{ mc.all, mc.tensor(good, { dtype = 'i64' }) }] = field:map(good, bad)
  return W
end

--- Weights that predict each MEG sensor from all others of the picks: X~ = W X, zero on the diagonal.
---@param channels table[] with type, loc and coil
---@param picks integer[] places of channels of one type
---@param opts? table as for prepare
---@return any f64 [C, C]
--- Errors: as prepare.
function M.leave_one_out(channels, picks, opts)
  local field = M.prepare(channels, picks, opts)
  local rows = {}
  for c = 1, field.C do
    rows[c] = mc.scope(function() return widened(field, { c }, { [c] = true }) end)
  end
  return mc.concat(rows, 1)
end

--- What repairs any set of bad MEG sensors from the other picks, weights kept by set.
---@param channels table[] with type, loc and coil
---@param picks integer[] places of channels of one type
---@param opts? table as for prepare; cache: bytes of weights kept
---@return table with :weights(bad), as mc.meeg.spline.repairer
--- Errors: as prepare.
function M.repairer(channels, picks, opts)
  local field = M.prepare(channels, picks, opts)
  return repairer.new(field.C, function(at, seen) return widened(field, at:totable(), seen) end, field.cache)
end

return M
