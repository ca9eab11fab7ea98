-- scale.lua - from data to page and back to round numbers.
--
-- Holds: linear and logarithmic axes, tick placement, tick labels. Pure functions of numbers.
--
-- Ticks are whole multiples of 1, 2 or 5 times a power of ten, and are computed as integer times step, so that
-- 0.3 is never 0.30000000000000004.

local M = {}

local floor, ceil, abs, log10, huge = math.floor, math.ceil, math.abs, math.log10, math.huge
local fmt = string.format

local MINUS = '−'

-- 10^n exactly as the reader of decimal text rounds it.
local function power(n)
  return tonumber('1e' .. n)
end

-- k * 10^n without the rounding of a negative power.
local function scaled(k, n)
  if n < 0 then return k / power(-n) end
  return k * power(n)
end

--- The step 1, 2 or 5 times 10^n that cuts [lo, hi] into at most `count` pieces: factor and n.
---@return integer factor
---@return integer exponent
function M.nice_step(lo, hi, count)
  local raw = (hi - lo) / math.max(1, count)
  local n = floor(log10(raw))
  for _, f in ipairs{ 1, 2, 5, 10 } do
    if scaled(f, n) >= raw * (1 - 1e-10) then
      if f == 10 then return 1, n + 1 end
      return f, n
    end
  end
  return 1, n + 1
end

--- Linear ticks inside [lo, hi], at most `count` + 1 of them.
---@param lo number
---@param hi number greater than lo
---@param count integer wished number of intervals
---@return number[] ticks
---@return integer exponent of the step: every tick is a multiple of 10^exponent
function M.linear_ticks(lo, hi, count)
  local f, n = M.nice_step(lo, hi, count)
  local step = scaled(f, n)
  local slack = (hi - lo) / step * 1e-9
  local first, last = ceil(lo / step - slack), floor(hi / step + slack)
  local out = {}
  for i = first, last do out[#out + 1] = scaled(i * f, n) + 0 end
  return out, n
end

-- Which multiples of a power of ten are labelled, densest first, and up to how many decades.
local LOG_SETS = {
  { { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 0.75 }, { { 1, 2, 3, 4, 6, 8 }, 1.3 }, { { 1, 2, 3, 5, 7 }, 1.3 },
  { { 1, 2, 5 }, 2.2 }, { { 1, 3 }, 3.2 }, { { 1 }, huge },
}

--- Logarithmic ticks inside [lo, hi]: labelled ones and the small ones between.
--- As many multiples of each power of ten as `count` allows; over many decades only every second, third, ... power.
---@param lo number above 0
---@param hi number greater than lo
---@param count integer wished number of labels
---@return number[] major
---@return number[] minor
function M.log_ticks(lo, hi, count)
  local a, b = log10(lo), log10(hi)
  if b - a < 0.35 then -- less than a factor of about two: evenly spaced round numbers
    return (M.linear_ticks(lo, hi, count)), {}
  end
  local first, last = floor(a + 1e-9), ceil(b - 1e-9)
  local function collect(set, every)
    local out = {}
    for n = first, last do
      for _, k in ipairs(n % every == 0 and set or {}) do
        local v = scaled(k, n)
        if v >= lo * (1 - 1e-9) and v <= hi * (1 + 1e-9) then out[#out + 1] = v end
      end
    end
    return out
  end
  local major, every = nil, 1
  for _, row in ipairs(LOG_SETS) do
    if b - a <= row[2] then
      major = collect(row[1], 1)
      if #major <= count then break end
    end
  end
  while #major > math.max(count, 1) and #collect({ 1 }, every + 1) >= 2 do
    every = every + 1
    major = collect({ 1 }, every)
  end
  if #major < 2 then major = collect({ 1, 2, 5 }, 1) end
  local is_major, minor = {}, {}
  for _, v in ipairs(major) do is_major[v] = true end
  for _, v in ipairs(collect(every == 1 and LOG_SETS[1][1] or { 1 }, 1)) do
    if not is_major[v] then minor[#minor + 1] = v end
  end
  return major, minor
end

local function signed(s)
  return (s:gsub('^%-', MINUS))
end

--- Labels of linear ticks. Common powers of ten (and, for small spans far from zero, a common offset) leave the labels
--- and come back as a note such as '×10^{−6}'.
---@param ticks number[]
---@param exponent integer as given by linear_ticks
---@return string[] labels
---@return string|nil note
function M.linear_labels(ticks, exponent)
  local largest = 0
  for _, t in ipairs(ticks) do largest = math.max(largest, abs(t)) end
  local offset = 0
  if #ticks > 1 and largest > 0 and log10(largest) - exponent > 5.5 and (exponent < 0 or exponent > 5) then
    offset = ticks[1] -- the labels would need seven digits and more
    local span = ticks[#ticks] - ticks[1]
    largest = abs(span)
  end
  local shift = 0
  if largest >= 99999.5 then
    shift = 3 * floor(log10(largest * (1 + 1e-9)) / 3)
  elseif largest > 0 and largest < 0.000999 then
    shift = 3 * floor(log10(largest * (1 + 1e-9)) / 3)
  end
  local decimals = math.max(0, shift - exponent)
  local labels = {}
  for i, t in ipairs(ticks) do
    -- Rounded in units of the step first, so that the text is that of an exact decimal.
    local v = floor((t - offset) / scaled(1, exponent) + 0.5)
    local s = fmt('%.' .. decimals .. 'f', v / (decimals > 0 and power(shift - exponent) or 1)
      * (decimals > 0 and 1 or power(exponent - shift)))
    if tonumber(s) == 0 then s = s:gsub('^%-', '') end
    labels[i] = signed(s)
  end
  local note
  if shift ~= 0 then note = '×10^{' .. signed(fmt('%d', shift)) .. '}' end
  if offset ~= 0 then
    local s = fmt('%.15g', offset):gsub('e%+?(%-?)0*(%d+)', function(sign, digits)
      return '×10^{' .. (sign == '-' and MINUS or '') .. digits .. '}'
    end)
    s = s:gsub('^%-', '')
    note = (note and note .. ' ' or '') .. (offset < 0 and MINUS or '+') .. ' ' .. s
  end
  return labels, note
end

--- Labels of logarithmic ticks: plain decimals when all lie in [0.001, 10000], powers of ten otherwise.
---@param ticks number[]
---@return string[]
function M.log_labels(ticks)
  local plain = true
  for _, t in ipairs(ticks) do
    if t < 0.000999 or t > 10001 then plain = false end
  end
  local labels = {}
  for i, t in ipairs(ticks) do
    if plain then
      labels[i] = fmt('%.12g', t)
    else
      local n = floor(log10(t) + 1e-9)
      local k = t / scaled(1, n)
      local mantissa = abs(k - 1) < 1e-9 and '' or fmt('%.6g', k) .. '·'
      labels[i] = mantissa .. '10^{' .. signed(fmt('%d', n)) .. '}'
    end
  end
  return labels
end

--- A map from data to page.
---@param kind string 'linear' or 'log'
---@param lo number data value at p0
---@param hi number data value at p1
---@param p0 number page coordinate
---@param p1 number
---@return fun(v: number): number
function M.map(kind, lo, hi, p0, p1)
  if kind == 'log' then
    local a = log10(lo)
    local k = (p1 - p0) / (log10(hi) - a)
    return function(v)
      if v <= 0 then return p0 - (p1 > p0 and 1e5 or -1e5) end
      return p0 + (log10(v) - a) * k
    end
  end
  local k = (p1 - p0) / (hi - lo)
  return function(v) return p0 + (v - lo) * k end
end

--- Limits that are fit to be an axis: never empty, never reversed, positive on a log axis.
---@return number lo
---@return number hi
function M.limits(kind, lo, hi, margin)
  if not lo or lo == huge or lo ~= lo then
    lo, hi = kind == 'log' and 1 or 0, kind == 'log' and 10 or 1
  end
  if kind == 'log' then
    if lo == hi then return lo / 2, hi * 2 end
    local pad = (hi / lo) ^ (margin or 0)
    return lo / pad, hi * pad
  end
  local span = hi - lo
  if span <= math.max(abs(lo), abs(hi)) * 1e-12 or span == 0 then
    local pad = lo == 0 and 1 or abs(lo) * 0.1
    return lo - pad, hi + pad
  end
  return lo - span * (margin or 0), hi + span * (margin or 0)
end

--- Cell edges for n centres: half way between neighbours (geometrically on a log axis), the outer cells symmetric.
---@param centres number[] strictly rising, two or more; positive when kind is 'log'
---@param kind string
---@return number[] edges, one more than centres
function M.edges(centres, kind)
  local n, out = #centres, {}
  local up, down = math.log, math.exp
  if kind ~= 'log' then up, down = function(v) return v end, function(v) return v end end
  if n == 1 then
    local c = centres[1]
    if kind == 'log' then return { c / 2 ^ 0.5, c * 2 ^ 0.5 } end
    return { c - 0.5, c + 0.5 }
  end
  for i = 2, n do out[i] = down((up(centres[i - 1]) + up(centres[i])) / 2) end
  out[1] = down(2 * up(centres[1]) - up(out[2]))
  out[n + 1] = down(2 * up(centres[n]) - up(out[n]))
  return out
end

return M
