-- examine.lua - what is odd in data before any fit: angles that are no numbers, values that no correlation has.
--
-- A fit of such data ends, with values that mean nothing; so it is said first. Takes what was noted while the data were
-- read; looks at no matrix.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local parameters = require 'workflows.xpcs.model.parameters'
local error = check.error
local M = {}

--- Raises for angles that are not finite.
---@param path string
---@param phi number[] deg
function M.angles(path, phi)
  for k, a in ipairs(phi) do
    if a - a ~= 0 then
      error(('xpcs: %s: angle %d of %d is %s; give degrees, or leave the matrix out'):format(path, k, #phi,
        check.show(a)), 4)
    end
  end
end

--- How many angles a test holds for, and the first of them, as words; nil for none.
local function which(d, test)
  local count, first = 0, nil
  for f = 1, d.F do
    local q = d.quality[f]
    if q and q.good > 0 and test(q) then count, first = count + 1, first or f end
  end
  if count == 0 then return nil end
  return ('%d of %d angles (the first at %g deg)'):format(count, d.F, d.phi[first]), d.quality[first]
end

local MOST = 12 -- ranges of frames that are named

--- Frames whose values are all 0 or less, in an angle: ranges { first, last } of frames of the file.
---@param d mascon.xpcs.Data
---@return integer[][]
function M.lost(d)
  local lost, out = {}, {}
  for f = 1, d.F do
    local q = d.quality and d.quality[f]
    if q and q.good > 0 and q.least <= 0 and q.most > 0 then
      for I = 0, d:tile_rows() - 1 do
        local first, last = d:times_of(I)
        local most = mc.scope(function()
          local x = d:strip(f, I)
          local there = mc.isfinite(x)
          local any = mc.gt(mc.sum(there:to 'f64', 2), 0)
          return mc.where(any, mc.max(mc.where(there, x, -math.huge), 2), 1):totable()
        end)
        for i = first, last do lost[i] = lost[i] or most[i - first + 1] <= 0 end
      end
    end
  end
  local offset = (d.first_frame or 1) - 1
  for i = 1, d.n do
    local at = out[#out]
    if lost[i] and at and at[2] == i + offset - 1 then at[2] = i + offset
    elseif lost[i] then out[#out + 1] = { i + offset, i + offset } end
  end
  return out
end

--- Ranges of frames as --mask-frames takes them.
local function words(list)
  local out = {}
  for k, r in ipairs(list) do out[k] = r[1] == r[2] and tostring(r[1]) or ('%d-%d'):format(r[1], r[2]) end
  return table.concat(out, ',')
end

--- What frames that were lost mean for a fit; nil where there is none.
local function lost_of(d)
  local list = d.lost_frames
  if not list or #list == 0 then return nil end
  local count = 0
  for _, r in ipairs(list) do count = count + r[2] - r[1] + 1 end
  local one = count == 1
  return ('C2 is 0 or less in all of %s, which no correlation is: %s lost; mask %s ({mask-frames%s})'):format(one
    and '1 frame' or ('%d frames'):format(count), one and 'it was' or 'they were', one and 'it' or 'them',
    #list <= MOST and ' ' .. words(list) or '')
end

-- of q: a spread that is refused, one that is a finding of a fit, and one that is none
local MIXED, TOLD, SAME = 0.01, 1e-3, 1e-6

--- The least and the largest q of the matrices, nil where they are one.
local function spread_of(d)
  local least, most = math.huge, 0
  for _, q in ipairs(d.q_list or {}) do least, most = math.min(least, q), math.max(most, q) end
  if most > least * (1 + SAME) then return least, most end
end

--- What is left to do with matrices of several q: one run a q, which every fit takes, first.
---@param list string[] the q
---@param own? boolean a model of the user's, which no joint fit takes
local function ways_of(d, list, own)
  local mine, others = ('%.8g'):format(d.q), {}
  for _, q in ipairs(list) do if q ~= mine then others[#others + 1] = q end end
  if d.reader == 'program' then
    local joint = (', or jointly (--q %s --strict-q --joint %s)'):format(mine, table.concat(others, ','))
    return ('fit each with its own q, one run a q (--q %s --strict-q, then %s)%s; or all with %s (--one-q)'):format(
      mine, table.concat(others, ', '), not own and not d.alone and joint or '', mine)
  end
  return ('open them by q (q = %s, strict_q = true; then %s) and fit each alone%s; or open them with one_q = true to '
    .. 'fit all with %s'):format(mine, table.concat(others, ', '), own and '' or ', or all by mc.xpcs.joint.fit', mine)
end

--- Refuses matrices of several q for a fit that takes them as one, unless that was asked for.
---@param d mascon.xpcs.Data
---@param own? boolean for a model of the user's
function M.refuse_mixed(d, own)
  local least, most = spread_of(d)
  if d.one_q or not least or most <= least * (1 + MIXED) then return end
  local list, seen = {}, {}
  for _, q in ipairs(d.q_list) do
    local word = ('%.8g'):format(q)
    if not seen[word] then list[#list + 1], seen[word] = word, true end
  end
  table.sort(list, function(a, b) return tonumber(a) < tonumber(b) end)
  error(('xpcs: the matrices have different q, %s 1/A, and one q for all would give a wrong D, shear rate and phi0; %s')
    :format(table.concat(list, ', '), ways_of(d, list, own)), 3)
end

--- That matrices of several q are fitted as one, where D, which goes as 1/q^2, may show it.
local function mixed_of(d)
  local least, most = spread_of(d)
  if not least or most <= least * (1 + TOLD) then return nil end
  return ('The angles have different q, %.6g to %.6g 1/A, and are fitted with %.6g: that alone makes them differ, and '
    .. 'D, the shear and phi0 wrong; take one q ({strict-q})'):format(least, most, d.q)
end

--- What is odd in data as findings of a fit, which make its values wrong: sentences without their full stop.
---@param d mascon.xpcs.Data
---@return table[] list of { kind, text }
function M.findings(d)
  local out = {}
  for _, one in ipairs { { 'level', d.odd_level }, { 'lost', lost_of(d) }, { 'mixed_q', mixed_of(d) },
    { 'dt', d.odd_step } } do
    if one[2] then out[#out + 1] = { kind = one[1], text = one[2] } end
  end
  return out
end

--- Sentences about values that C2 does not take.
---@param d mascon.xpcs.Data with quality
---@return string[]
function M.warnings(d)
  local out, low = {}, parameters.OFFSET.min
  local high = parameters.OFFSET.max + parameters.CONTRAST.max
  local list, q = which(d, function(v) return v.least == v.most end)
  if list then
    out[#out + 1] = ('all values are %g in %s: there is no correlation to fit'):format(q.least, list)
  end
  list, q = which(d, function(v) return v.mean < low or v.mean > high end)
  if list then
    out[#out + 1] = ('the mean of C2 is %.4g in %s; the model runs from an offset between %g and %g. Add 1 where it '
      .. 'was subtracted, or divide by the baseline'):format(q.mean, list, low, parameters.OFFSET.max)
    d.odd_level = out[#out]:gsub('^%l', string.upper)
    return out
  end
  list, q = which(d, function(v) return v.least <= 0 and v.least < v.most end)
  if list then
    d.lost_frames = M.lost(d)
    out[#out + 1] = ('C2 goes down to %.4g in %s, which no correlation does. Are these lost frames? Mask them '
      .. '(%s), or write NaN'):format(q.least, list, #d.lost_frames > 0 and #d.lost_frames <= MOST
      and ('frames %s: mask_frames, --mask-frames'):format(words(d.lost_frames)) or 'mask, --mask')
  end
  return out
end

return M
