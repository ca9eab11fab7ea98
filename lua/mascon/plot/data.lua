-- data.lua - takes what users hand to a plot and makes plain arrays of numbers of it.
--
-- Holds: reading of arrays, nested arrays and tensors (through `totable`), the errors about their shape, order
-- statistics and histograms of plain arrays. The result is a copy, so a figure never changes with its source.
--
-- Absent values (nil inside a counted array, json.null, NaN) become NaN; infinities stay.

local M = {}

local fmt, floor = string.format, math.floor
local NAN = 0 / 0

local function is_object(v)
  return type(v) == 'table' or type(v) == 'cdata' or type(v) == 'userdata'
end

-- The plain table behind v, or nil.
local function plain(v)
  if not is_object(v) then return nil end
  if type(v) ~= 'table' or v.totable then
    local t = v:totable()
    return type(t) == 'table' and t or { t }
  end
  return v
end

local function describe(v)
  if type(v) == 'string' then return fmt('the string %q', v) end
  if type(v) == 'table' then return 'a table' end
  return tostring(v)
end

local function number_at(fname, name, v, where, level)
  if type(v) == 'number' then return v end
  if type(v) == 'cdata' then
    local x = tonumber(v)
    if x then return x end
  end
  if type(v) == 'boolean' then return v and 1 or 0 end
  if v == nil or (type(v) == 'table' and tostring(v) == 'null') then return NAN end
  error(fmt('%s: %s%s is %s; a number is needed', fname, name, where, describe(v)), level + 1)
end

--- A vector as a plain array of numbers.
---@param fname string the public function, for messages
---@param name string the argument, for messages
---@param v any array or tensor of rank 1
---@param level integer error level as seen from the caller of this function
---@return number[]
function M.vector(fname, name, v, level)
  local t = plain(v)
  if not t then
    error(fmt('%s: %s must be an array or a tensor, got %s', fname, name, describe(v)), level + 1)
  end
  local n = t.n or #t
  if n == 0 then
    error(fmt('%s: %s is empty; give at least one value', fname, name), level + 1)
  end
  local out = {}
  for i = 1, n do
    if type(t[i]) == 'table' and t[i][1] ~= nil then
      error(fmt('%s: %s has more than one dimension; pass one row or column of it', fname, name), level + 1)
    end
    out[i] = number_at(fname, name, t[i], fmt('[%d]', i), level + 1)
  end
  return out
end

--- A matrix as nested arrays, every row of the same length.
---@return number[][] rows
---@return integer row count
---@return integer column count
function M.matrix(fname, name, v, level)
  local t = plain(v)
  if not t then
    error(fmt('%s: %s must be nested arrays or a tensor of rank 2, got %s', fname, name, describe(v)), level + 1)
  end
  local rows, columns = #t, nil
  if rows == 0 then error(fmt('%s: %s is empty; give at least one row', fname, name), level + 1) end
  local out = {}
  for i = 1, rows do
    local row = plain(t[i])
    if not row then
      error(fmt('%s: %s[%d] is %s; %s needs two dimensions', fname, name, i, describe(t[i]), name), level + 1)
    end
    local n = row.n or #row
    columns = columns or n
    if n == 0 then error(fmt('%s: %s[%d] is empty; give at least one column', fname, name, i), level + 1) end
    if n ~= columns then
      local msg = '%s: %s[%d] has %d values and %s[1] has %d; rows must be equally long'
      error(fmt(msg, fname, name, i, n, name, columns), level + 1)
    end
    local copy = {}
    for j = 1, n do
      if type(row[j]) == 'table' and row[j][1] ~= nil then
        error(fmt('%s: %s has more than two dimensions; select one plane of it', fname, name), level + 1)
      end
      copy[j] = number_at(fname, name, row[j], fmt('[%d][%d]', i, j), level + 1)
    end
    out[i] = copy
  end
  return out, rows, columns
end

--- Positions along one side of a heat map with n cells: n centres, n + 1 edges, n pairs { low, high } (their mean
--- counts), or nil for 1 to n. They must rise or fall strictly.
function M.positions(fname, name, v, n, level)
  if v == nil then
    local out = {}
    for i = 1, n do out[i] = i end
    return out
  end
  local t = plain(v)
  if t and type(t[1]) == 'table' and #t[1] == 2 then
    local means = {}
    for i, pair in ipairs(t) do
      local lo = number_at(fname, name, pair[1], fmt('[%d][1]', i), level + 1)
      means[i] = (lo + number_at(fname, name, pair[2], fmt('[%d][2]', i), level + 1)) / 2
    end
    v = means
  end
  local out = M.vector(fname, name, v, level + 1)
  if #out ~= n and #out ~= n + 1 then
    local msg = '%s: %s has %d values for %d cells; give %d centres or %d edges'
    error(fmt(msg, fname, name, #out, n, n, n + 1), level + 1)
  end
  local rising = #out < 2 or out[2] > out[1]
  for i = 1, #out do
    local ok = out[i] - out[i] == 0 and (i == 1 or (out[i] ~= out[i - 1] and (out[i] > out[i - 1]) == rising))
    if not ok then
      error(fmt('%s: %s must rise or fall strictly, but %s[%d] is %.6g after %.6g', fname, name, name, i, out[i],
        out[i - 1] or NAN), level + 1)
    end
  end
  return out
end

function M.finite(v)
  return v - v == 0
end

--- Least and greatest finite value, or nil.
function M.range(values, lo, hi)
  for i = 1, #values do
    local v = values[i]
    if v - v == 0 then
      if not lo or v < lo then lo = v end
      if not hi or v > hi then hi = v end
    end
  end
  return lo, hi
end

--- The finite values, sorted, and how many were not finite.
function M.sorted(values)
  local out = {}
  for i = 1, #values do
    if values[i] - values[i] == 0 then out[#out + 1] = values[i] end
  end
  table.sort(out)
  return out, #values - #out
end

--- Quantile of a sorted array by linear interpolation (definition 7 of "Sample quantiles in statistical packages",
--- 1996).
function M.quantile(sorted, q)
  local h = (#sorted - 1) * q + 1
  local k = floor(h)
  if k >= #sorted then return sorted[#sorted] end
  return sorted[k] + (h - k) * (sorted[k + 1] - sorted[k])
end

--- Edges for a histogram: width 2 IQR / n^(1/3) ("On the histogram as a density estimator", 1981); when the quartiles
--- coincide, 1 + log2 n equal bins. At most 200 bins.
function M.bin_edges(sorted, bins)
  local lo, hi, n = sorted[1], sorted[#sorted], #sorted
  if lo == hi then
    local pad = lo == 0 and 0.5 or math.abs(lo) * 0.05
    return { lo - pad, hi + pad }
  end
  if not bins then
    local width = 2 * (M.quantile(sorted, 0.75) - M.quantile(sorted, 0.25)) / n ^ (1 / 3)
    bins = width > 0 and math.ceil((hi - lo) / width) or math.ceil(1 + math.log(n) / math.log(2))
    bins = math.max(1, math.min(200, bins))
  end
  local edges = {}
  for i = 0, bins do edges[i + 1] = lo + (hi - lo) * i / bins end
  edges[bins + 1] = hi
  return edges
end

--- Counts of sorted values between edges; each bin holds its lower edge, the last one also its upper.
--- Returns the counts and the number of values outside.
function M.bin_counts(sorted, edges)
  local counts, outside = {}, 0
  for b = 1, #edges - 1 do counts[b] = 0 end
  local b = 1
  for i = 1, #sorted do
    local v = sorted[i]
    while b < #edges - 1 and v >= edges[b + 1] do b = b + 1 end
    if v < edges[1] or v > edges[#edges] then
      outside = outside + 1
    else
      counts[b] = counts[b] + 1
    end
  end
  return counts, outside
end

return M
