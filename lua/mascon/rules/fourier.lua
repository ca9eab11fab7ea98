-- fourier.lua - derivatives of Fourier, cosine and sine transforms.
--
-- All are linear: the reverse rule is the adjoint transform, the forward rule the transform itself. The adjoint of a
-- cut is a fill with zeros and the other way round (`fitted`). The adjoint of a scaled transform carries the same
-- scale, which for the transform the other way is the other norm. Form of a rule: see init.lua.
local mc = require 'mascon.array'
local recording = require 'mascon.graph.recording'

local R, T = {}, {}

local OTHER = { backward = 'forward', ortho = 'ortho', forward = 'backward' }

--- A key of a tensor of n axes: `part` on one axis, everything on the others.
local function along(n, axis, part)
  local key = {}
  for i = 1, n do key[i] = i == axis and part or mc.all end
  return key
end

--- The first n entries of an axis; zeros where there are fewer.
local function fitted(t, n, axis)
  local have = t.shape[axis]
  if have == n then return t end
  if have > n then return t[along(t.ndim, axis, { 1, n })] end
  local widths = {}
  for i = 1, t.ndim do widths[i] = { 0, i == axis and n - have or 0 } end
  return mc.pad(t, widths)
end

local function axis_of(p, x) return p.axes and p.axes[1] or x.ndim end

--- A linear op forwards: itself on the tangent.
local function itself(t, _, y, p) return recording.call(p.row, #y, { t[1] }, p.raw) end

-- ---------------------------------------------------------------- Fourier transforms

for name, back in pairs { fft = 'ifft', ifft = 'fft' } do
  R[name] = function(g, x, _, p)
    local a = axis_of(p, x[1])
    return { fitted(mc.fft[back](g, { axis = a, norm = OTHER[p.norm] }), x[1].shape[a], a) }
  end
  T[name] = itself
end

--- Factors [bins] along an axis that tell the bins of a real row of n apart: those that stand for themselves and their
--- mirror image, and the first and (n even) the last, which stand for themselves.
local function weights(t, n, axis, single, double)
  local bins = t.shape[axis]
  local k = mc.arange(0, bins - 1, 1, { device = t.device })
  local alone = mc.eq(k, 0)
  if n % 2 == 0 then alone = mc.logical_or(alone, mc.eq(k, n / 2)) end
  local shape = {}
  for i = 1, t.ndim do shape[i] = i == axis and bins or 1 end
  return t * mc.where(alone, single, double):reshape(shape):to(t.dtype)
end

R.rfft = function(g, x, _, p)
  local a = axis_of(p, x[1])
  local n = p.n >= 0 and p.n or x[1].shape[a]
  return { fitted(mc.fft.irfft(weights(g, n, a, 1, 0.5), { axis = a, n = n, norm = OTHER[p.norm] }), x[1].shape[a], a) }
end
R.irfft = function(g, x, y, p)
  local a = axis_of(p, x[1])
  local n = y[1].shape[a]
  return { fitted(weights(mc.fft.rfft(g, { axis = a, norm = OTHER[p.norm] }), n, a, 1, 2), x[1].shape[a], a) }
end
T.rfft, T.irfft = itself, itself

-- ---------------------------------------------------------------- cosine and sine transforms

-- An inverse is the transform of the type that undoes it, with the other norm. With the factors of sqrt 2
-- (orthogonalize) types 2 and 3 are each other's transposed, 1 and 4 their own; without them one entry is counted
-- twice: of type 2 the first (sine: last), and both ends of the cosine type 1.
local UNDOES = { 1, 3, 2, 4 }
local NORMS = { [0] = 'backward', 'ortho', 'forward' }

--- t with the entries at `places` of an axis multiplied by a factor.
local function scaled(t, axis, places, factor)
  local n = t.shape[axis]
  local k = mc.arange(1, n, 1, { device = t.device })
  local hit
  for _, at in ipairs(places) do
    local here = mc.eq(k, at > 0 and at or n + 1 + at)
    hit = hit and mc.logical_or(hit, here) or here
  end
  local shape = {}
  for i = 1, t.ndim do shape[i] = i == axis and n or 1 end
  return t * mc.where(hit, factor, 1):reshape(shape):to(t.dtype)
end

local function trigonometric(kind, inverse)
  return function(g, x, _, p)
    local raw, a = p.raw, axis_of(p, x[1])
    local type, norm, orthogonal = tonumber(raw.i[0]), NORMS[tonumber(raw.i[2])], raw.i[3] ~= 0
    if inverse then type, norm = UNDOES[type], OTHER[norm] end
    local o = { type = UNDOES[type], axis = a, norm = norm, orthogonalize = orthogonal }
    local one = mc.fft[kind]
    local out
    if orthogonal or type == 4 or type == 1 and kind == 'dst' then
      out = one(g, o)
    else
      local ends = kind == 'dct' and (type == 1 and { 1, -1 } or { 1 }) or { -1 }
      if type == 1 then out = scaled(one(scaled(g, a, ends, 2), o), a, ends, 0.5)
      elseif type == 2 then out = one(scaled(g, a, ends, 2), o)
      else out = scaled(one(g, o), a, ends, 0.5) end
    end
    return { fitted(out, x[1].shape[a], a) }
  end
end
R.dct, R.idct, R.dst, R.idst = trigonometric('dct'), trigonometric('dct', true), trigonometric('dst'),
  trigonometric('dst', true)
T.dct, T.idct, T.dst, T.idst = itself, itself, itself, itself

return { reverse = R, forward = T }
