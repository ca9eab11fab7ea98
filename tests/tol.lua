-- tol.lua - tolerance classes, the only place where numbers of accuracy stand.
--
-- compare(class, dtype, got, want, more) is the one comparison of the specs: nil when `got` fits, else a sentence. A
-- spec names a class, never a number. NaN and infinities must match exactly in every class. Real numbers are Lua
-- numbers, integers and booleans int64 boxes or Lua numbers, complex numbers { re =, im = }.
--
-- EXACT      the same value; in `more.zero` also the same sign of zero
-- ULP4       at most 4 units in the last place of the dtype (of the larger part for complex numbers)
-- ACCUM      c eps (2 + sqrt n) S: n terms whose magnitudes add up to more.scale = S; errors of a sum taken in lanes
--            grow like a random walk, sqrt n, with S as the unit (Accuracy and stability of numerical algorithms, 2002,
--            section 4.2)
-- PRODUCT    n eps S: n factors, each rounding of which may go the same way, since lanes that meet the same factors
--            round alike (Accuracy and stability of numerical algorithms, 2002, section 3.1)
-- FFT        c eps log2(n) times more.scale, the Euclidean norm of the row: the root mean square error of a fast
--            transform grows like sqrt(log n) for it (Accuracy of the discrete Fourier transform and the fast Fourier
--            transform, 1996); log n bounds the worst element
-- ITERATIVE  more.bound, from the stopping rule of the method
-- STAT       a z-score of at most 5: one false alarm in 1.7 million
local ffi = require 'ffi'

local M = {}

-- eps: distance from 1 to the next number; tiny: the smallest step, that of the subnormal numbers
local KIND = {
  f16 = { eps = 2 ^ -10, tiny = 2 ^ -24, bits = 11 }, bf16 = { eps = 2 ^ -7, tiny = 2 ^ -133, bits = 8 },
  f32 = { eps = 2 ^ -23, tiny = 2 ^ -149, bits = 24 }, f64 = { eps = 2 ^ -52, tiny = 2 ^ -1074, bits = 53 },
}
KIND.c64, KIND.c128 = KIND.f32, KIND.f64
M.kind = KIND

--- Unit in the last place of dtype at x.
local function ulp(dtype, x)
  local k = KIND[dtype]
  if x == 0 then return k.tiny end
  local _, e = math.frexp(x)
  return math.max(2 ^ (e - k.bits), k.tiny)
end
M.ulp = ulp

local INF = math.huge

local function show(v)
  if type(v) == 'table' then return ('(%.17g, %.17g)'):format(v.re, v.im) end
  if type(v) == 'number' then return ('%.17g'):format(v) end
  return tostring(v)
end

-- one real number; slack: the absolute error allowed
local function real(got, want, slack)
  if want ~= want then return got ~= got end
  if want == INF or want == -INF or got == INF or got == -INF then return got == want end
  return math.abs(got - want) <= slack
end

local function slack_of(class, dtype, size, more)
  local k = KIND[dtype]
  if class == 'ULP4' then return 4 * ulp(dtype, size) end
  if class == 'ACCUM' then
    return k.eps * (2 + math.sqrt(more.n)) * more.scale + k.tiny + 4 * ulp(dtype, size) * (more.wide or 0)
  end
  if class == 'PRODUCT' then return k.eps * (2 + more.n) * more.scale + k.tiny end
  if class == 'FFT' then return 2 * k.eps * (1 + math.log(more.n) / math.log(2)) * more.scale + k.tiny end
  if class == 'ITERATIVE' then return more.bound end
  error('tolerance class ' .. tostring(class) .. ' is unknown')
end

--- nil when got agrees with want within the class, else what is wrong.
---@param class string
---@param dtype string dtype of the result
---@param got any
---@param want any
---@param more? table n, scale, bound, zero
function M.compare(class, dtype, got, want, more)
  local k = KIND[dtype]
  local fine
  if not k then -- bool and integers
    if type(got) == 'boolean' or type(want) == 'boolean' then
      fine = got == want
    elseif type(got) == 'cdata' or type(want) == 'cdata' then
      fine = ffi.cast('int64_t', got) == ffi.cast('int64_t', want)
    else
      fine = got == want
    end
  elseif type(want) == 'table' then
    if class == 'EXACT' then fine = real(got.re, want.re, 0) and real(got.im, want.im, 0)
    else
      local s = slack_of(class, dtype, math.max(math.abs(want.re), math.abs(want.im)), more)
      fine = real(got.re, want.re, s) and real(got.im, want.im, s)
    end
  elseif class == 'EXACT' then
    fine = real(got, want, 0)
    if fine and more and more.zero and want == 0 then fine = 1 / got == 1 / want end
  else
    -- a result may lie on the other side of the overflow threshold by a few units
    fine = real(got, want, slack_of(class, dtype, want, more))
  end
  if fine then return nil end
  return ('got %s, want %s (%s, %s)'):format(show(got), show(want), dtype, class)
end

--- STAT: an estimate with a standard error.
function M.stat(got, want, standard_error)
  local z = math.abs(got - want) / standard_error
  if z <= 5 then return nil end
  return ('got %.6g, want %.6g: %.1f standard errors apart'):format(got, want, z)
end

--- Raises unless |got| (a number) is at most `bound`.
function M.below(got, bound, what)
  local wrong = M.compare('ITERATIVE', 'f64', got, 0, { bound = bound })
  if wrong then error((what and what .. ' ' or '') .. wrong, 2) end
end

--- Raises unless the elements of `got` lie within bound * max(1, |want|) of those of `want` (tensors or nested tables).
function M.near(want, got, what, bound)
  local mc = require 'mascon'
  want, got = mc.tensor(want):reshape { -1 }:totable(), mc.tensor(got):reshape { -1 }:totable()
  if #want ~= #got then error(('%s: %d elements, want %d'):format(what, #got, #want), 2) end
  for i = 1, #want do
    local wrong =
      M.compare('ITERATIVE', 'f64', got[i], want[i], { bound = (bound or 1e-7) * math.max(1, math.abs(want[i])) })
    if wrong then error(('%s, element %d: %s'):format(what, i, wrong), 2) end
  end
end

return M
