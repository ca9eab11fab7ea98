-- layout.lua - which matrices of a file belong to which q and angle, and which q is fitted.
--
-- APS-U: xpcs/qmap with lists of q and phi, bins that count through them, one dataset per bin. APS: one q, one phi and
-- one dataset per pair. Reads lists and names, no matrix; gives entries { q, phi, name, k, dataset, at } in the order
-- of the file: name is that of messages, dataset its path where it is another one, at the positions of the matrix on
-- those axes of the dataset that are not its own. own_layout.lua makes a row of what a user names. The rules for the
-- nearest q serve NPZ files too.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

local NEW = { q = 'xpcs/qmap/dynamic_v_list_dim0', phi = 'xpcs/qmap/dynamic_v_list_dim1',
  bins = 'xpcs/twotime/processed_bins', matrices = 'xpcs/twotime/correlation_map' }
local OLD = { q = 'xpcs/dqlist', phi = 'xpcs/dphilist', matrices = 'exchange/C2T_all' }

-- s; frames of two-time matrices may be means or every k-th
local FRAME = { 'entry/instrument/detector_1/frame_time', 'xpcs/multitau/config/stride_frame',
  'xpcs/multitau/config/avg_frame' }

--- A number of a file; nil where it is not there, or is no positive number.
local function positive(file, name)
  local v = file:has(name) and file:get(name)
  if mc.is_tensor(v) and v:numel() == 1 and v.dtype:sub(1, 1) ~= 'c' then v = v:to('f64'):reshape(-1)[1]:item() end
  return type(v) == 'number' and v > 0 and v < math.huge and v or nil
end

--- The steps of time that a file of the beamline may mean, s: of a frame, of the frames that are averaged, or of every
--- k-th one; nil where it says none. The last is that of its two-time matrices.
---@param file table group of mc.open
---@param row table of LIST
---@return number[]|nil
function M.steps(file, row)
  local step = row.frame and positive(file, row.frame[1])
  if not step then return nil end
  local out = { step }
  for f = 2, #row.frame do
    local k = positive(file, row.frame[f]) or 1
    for i = 1, #out do out[#out + 1] = out[i] * k end
  end
  return out
end

--- Raises unless what a file holds under a name are real numbers.
---@param t any
---@param path string
---@param name string
---@param level? integer of the error
function M.real(t, path, name, level)
  if not mc.is_tensor(t) then
    error(('xpcs: %s:%s holds %s; it must hold numbers'):format(path, name, type(t) == 'boolean' and 'true or false'
      or 'text'), (level or 1) + 1)
  end
  if t.dtype:sub(1, 1) == 'c' then
    error(('xpcs: %s:%s holds complex numbers; write their real part'):format(path, name), (level or 1) + 1)
  end
end

--- A dataset as a flat list of numbers.
local function list(file, path, name, row)
  if not file:has(name) then error(('xpcs: %s has no %s, which the layout needs'):format(path, name), 4) end
  local t = file:get(name)
  if type(t) == 'number' then return { t } end
  M.real(t, path, name, 4)
  if row and t.ndim == 2 then t = t[1] end
  return t:to('f64'):reshape(-1):totable()
end

local function number_in(name)
  local s = name:match '(%d+)$'
  return s and tonumber(s)
end

--- Which dataset each bin has: by the number in its name when those numbers are the bins, else by position.
local function pair(bins, names, warnings)
  local by_number, matches = {}, #names == #bins
  for _, name in ipairs(names) do
    local k = number_in(name)
    if not k or by_number[k] then matches = false else by_number[k] = name end
  end
  for _, b in ipairs(bins) do if not by_number[b] then matches = false end end
  local out, differ = {}, false
  for k, b in ipairs(bins) do
    out[k] = matches and by_number[b] or names[k]
    if matches and by_number[b] ~= names[k] then differ = true end
  end
  if differ then
    table.insert(warnings,
      'the bins are listed in another order than the names of the matrices; they are paired by the number in the name '
      .. '(pairing by position would exchange matrices)')
  end
  if not matches and #names ~= #bins then
    table.insert(warnings, ('there are %d bins and %d matrices; the longer list is cut'):format(#bins, #names))
    for k = #out, math.min(#bins, #names) + 1, -1 do out[k] = nil end
  end
  return out
end

--- Raises for bins that are no whole numbers, or are listed twice: two matrices cannot belong to one.
local function whole(bins, path)
  local seen = {}
  for k, b in ipairs(bins) do
    if b % 1 ~= 0 then
      error(('xpcs: %s:%s: entry %d is %g; bins are whole numbers'):format(path, NEW.bins, k, b), 5)
    end
    if seen[b] then
      error(('xpcs: %s:%s: bin %d stands at entries %d and %d; each has one matrix'):format(path, NEW.bins, b, seen[b],
        k), 5)
    end
    seen[b] = k
  end
end

local function new_entries(file, path, warnings)
  local q, phi, bins = list(file, path, NEW.q), list(file, path, NEW.phi), list(file, path, NEW.bins)
  whole(bins, path)
  local group = file:group(NEW.matrices)
  local names = group.names
  local out = {}
  for k, name in pairs(pair(bins, names, warnings)) do
    local b = bins[k] - 1
    local iq = math.floor(b / #phi)
    if b < 0 or iq >= #q then
      table.insert(warnings, ('bin %d lies outside of %d q x %d angles and is skipped, its matrix too'):format(bins[k],
        #q, #phi))
    else
      out[#out + 1] = { q = q[iq + 1], phi = phi[b % #phi + 1], name = NEW.matrices .. '/' .. name, k = k }
    end
  end
  table.sort(out, function(a, b) return a.k < b.k end)
  if #out == 0 then
    error(('xpcs: %s: none of its bins lies inside %d q x %d angles; the file is damaged or of another layout'):format(
      path, #q, #phi), 4)
  end
  return out
end

--- Names in the order of the numbers that they end in, where these count from 0 or 1 without a gap; else by name.
---@param names string[] sorted
---@param warnings string[]
---@return string[]
function M.counted(names, warnings)
  local by_number, least, most, differ = {}, math.huge, -math.huge, nil
  for _, name in ipairs(names) do
    local k = number_in(name)
    if not k or by_number[k] then return names end
    by_number[k], least, most = name, math.min(least, k), math.max(most, k)
  end
  local out = {}
  for k = least, most do out[#out + 1] = by_number[k] end
  for k, name in ipairs(out) do differ = differ or names[k] ~= name and k or nil end
  if not differ then return names end
  if least > 1 or #out < #names or most - least >= #names then
    table.insert(warnings, ('the numbers in the names of the matrices rise in another order than the names; they are '
      .. 'paired with q and angles by name (entry %d has %s)'):format(differ, names[differ]))
    return names
  end
  table.insert(warnings, ('the matrices are paired with q and angles by the number in their names (entry %d has %s; '
    .. 'by name it would have %s)'):format(differ, out[differ], names[differ]))
  return out
end

local function old_entries(file, path, warnings)
  local q, phi = list(file, path, OLD.q, true), list(file, path, OLD.phi, true)
  local names = M.counted(file:group(OLD.matrices).names, warnings)
  local n = math.min(#q, #phi, #names)
  if n < math.max(#q, #phi, #names) then
    table.insert(warnings, ('there are %d q, %d angles and %d matrices; the longer lists are cut'):format(#q, #phi,
      #names))
  end
  local out = {}
  for k = 1, n do out[k] = { q = q[k], phi = phi[k], name = OLD.matrices .. '/' .. names[k], k = k } end
  if n == 0 then error(('xpcs: %s holds no matrix in %s'):format(path, OLD.matrices), 4) end
  return out
end

--- The layouts that are found without a word. name · needs: the paths that tell it · entries(file, path, warnings) ·
--- triangle: which one counts (triangles.lua) · near: a q of each matrix is measured, and those within
--- q_tolerance_fraction are taken as one, as homodyne does · frame: where the time of a frame stands, and how many of
--- them a time of the matrices is · the list, for help: path, shape and unit of what is read.
M.LIST = {
  { name = 'APS-U', needs = { NEW.q, NEW.matrices }, entries = new_entries, triangle = 'half', frame = FRAME,
    { NEW.q, '[n_q], 1/A' }, { NEW.phi, '[n_phi], degrees' },
    { NEW.bins, '[matrices]: (iq - 1) n_phi + iphi, from 1' },
    { NEW.matrices .. '/c2_*', '[n, n] each, one triangle filled' } },
  { name = 'APS', needs = { OLD.q, OLD.phi, OLD.matrices }, entries = old_entries, triangle = 'half', near = true,
    frame = FRAME,
    { OLD.q, '[1, matrices] or [matrices], 1/A' }, { OLD.phi, 'the same shape, degrees' },
    { OLD.matrices .. '/*', '[n, n] each, one triangle filled, in order of names' } },
}

--- The layout of a file; raises where it has none of LIST.
---@param file table group of mc.open
---@param path string
---@return table row of LIST
function M.of(file, path)
  local words = {}
  for i, row in ipairs(M.LIST) do
    local all = true
    for _, name in ipairs(row.needs) do all = all and file:has(name) end
    if all then return row end
    words[i] = ('the %s layout (%s)'):format(row.name, table.concat(row.needs, ', '))
  end
  error(('xpcs: %s has neither %s; name its datasets with layout (--layout c2=PATH,q=PATH,phi=PATH,dt=PATH)'):format(
    path, table.concat(words, ' nor ')), 3)
end

--- The matrix of an entry as a dataset [n, n]: shape, dtype, holds, read(ranges), close().
---@param file table group of mc.open
---@param entry table
function M.matrix(file, entry)
  local set, at = file:dataset(entry.dataset or entry.name), entry.at
  if not at then return set end
  local axes, shape = {}, {}
  for axis, n in ipairs(set.shape) do
    if not at[axis] then axes[#axes + 1], shape[#shape + 1] = axis, n end
  end
  return {
    shape = shape, dtype = set.dtype, holds = set.holds, close = function() set:close() end,
    read = function(_, ranges)
      local all = {}
      for axis, k in pairs(at) do all[axis] = k end
      for i, axis in ipairs(axes) do all[axis] = ranges[i] end
      return set:read(all)
    end,
  }
end

local FAR = 0.1 -- of q, by which the nearest one may miss what is asked for without a word
local PRECISION = 1e-6 -- of q: what a file in f32 and a number that was typed may differ by and be the same

--- Matrices of one q by default, and where only that very q is wanted.
local function same_q(a, b, o) return math.abs(a - b) < (o.strict_q and math.max(1e-10, PRECISION * b) or 1e-10) end

--- Says that the nearest q is far from the one that is asked for; where only that very q is wanted, refuses another.
local function distance(path, near, wanted, all, o, warnings)
  if math.abs(near - wanted) <= (o.strict_q and PRECISION or FAR) * near then return end
  local words, seen, tenth = {}, {}, false
  for _, v in ipairs(all) do
    tenth = tenth or math.abs(wanted / v / 10 - 1) < FAR
    if not seen[v] and #words < 12 then words[#words + 1], seen[v] = ('%.8g'):format(v), true end
  end
  local text = ('q = %.8g 1/A is asked for and the nearest of %s is %.8g (it holds %s)%s'):format(wanted, path, near,
    table.concat(words, ', '), tenth and '; 1 1/nm is 0.1 1/A' or '')
  if o.strict_q then error(('xpcs: %s; strict_q (--strict-q) takes a q of the file alone'):format(text), 5) end
  table.insert(warnings, text)
end

--- The q of an .npz, and which of its matrices belong to it (nil: all).
---@param path string
---@param q mc.tensor|number|nil what the file holds: one q, or one per matrix
---@param o table q, strict_q
---@param count integer matrices
---@param warnings string[]
---@return number|nil q, table<integer, boolean>|nil among
function M.q_of(path, q, o, count, warnings)
  local all = q == nil and {} or mc.is_tensor(q) and q:to('f64'):reshape(-1):totable() or { q }
  if #all == 0 then return o.q end
  local least, most = math.huge, -math.huge
  for _, v in ipairs(all) do
    if not (v > 0 and v < math.huge) then
      error(('xpcs: %s holds q = %s 1/A; it must be positive and finite'):format(path, check.show(v)), 4)
    end
    least, most = math.min(least, v), math.max(most, v)
  end
  if most - least < 1e-10 then
    if o.q and not o.only_among and math.abs(o.q - least) > PRECISION * least then
      if o.strict_q then
        error(('xpcs: %s holds q = %g 1/A and %g is asked for; strict_q (--strict-q) takes a q of the file alone')
          :format(path, least, o.q),
          4)
      end
      table.insert(warnings, ('%s says q = %.8g 1/A and %.8g is asked for; that of the file is used'):format(path,
        least, o.q))
    end
    return least
  end
  if #all ~= count then
    error(('xpcs: %s holds %d q (%g to %g 1/A) for %d matrices; give one q, or one per matrix'):format(path, #all,
      least, most, count), 4)
  end
  if not o.q then
    error(('xpcs: %s holds several q (%g to %g 1/A); name one of them with q (--q on the command line)'):format(path,
      least, most), 4)
  end
  local near, among = all[1], {}
  for _, v in ipairs(all) do if math.abs(v - o.q) < math.abs(near - o.q) then near = v end end
  for k, v in ipairs(all) do among[k] = same_q(v, near, o) end
  distance(path, near, o.q, all, o, warnings)
  return near, among
end

--- The entries of one q. Where a layout says `near`, what lies within q_tolerance_fraction of it, or else the 10
--- nearest; strict_q takes that very q alone.
---@param entries table[]
---@param row table layout
---@param wanted number 1/A
---@param o table q_tolerance_fraction 0.1, strict_q
---@param warnings string[]
---@return table[] kept, number q
function M.select_q(entries, row, wanted, o, warnings)
  local good, values = {}, {}
  for _, e in ipairs(entries) do
    if e.q > 0 and e.q < math.huge then good[#good + 1], values[#values + 1] = e, e.q end
  end
  if #good < #entries then
    table.insert(warnings, ('%d of %d matrices belong to a q that is no positive number and are left out'):format(
      #entries - #good, #entries))
  end
  if #good == 0 then error('xpcs: no matrix of the file has a q that is a positive number', 3) end
  entries = good
  local near = entries[1].q
  for _, e in ipairs(entries) do if math.abs(e.q - wanted) < math.abs(near - wanted) then near = e.q end end
  local kept = {}
  if not row.near or o.strict_q then
    for _, e in ipairs(entries) do if same_q(e.q, near, o) then kept[#kept + 1] = e end end
  else
    local fraction = o.q_tolerance_fraction or 0.1
    local tolerance, percent = fraction * near, ('%g %%'):format(100 * fraction)
    local mixed = false
    for _, e in ipairs(entries) do
      if math.abs(e.q - near) <= tolerance then
        kept[#kept + 1] = e
        mixed = mixed or math.abs(e.q - near) > 1e-10
      end
    end
    if #kept < 5 and #kept < #entries then
      local all = {}
      for i, e in ipairs(entries) do all[i] = { e, math.abs(e.q - near), i } end
      table.sort(all, function(a, b) return a[2] < b[2] or (a[2] == b[2] and a[3] < b[3]) end)
      kept = {}
      for i = 1, math.min(10, #all) do kept[i] = all[i][1] end
      local least, most = math.huge, 0
      for _, e in ipairs(kept) do least, most = math.min(least, e.q), math.max(most, e.q) end
      table.insert(warnings,
        ('fewer than 5 matrices lie within %s of q = %g 1/A; the %d nearest are taken and fitted as one q ' ..
          'although theirs run from %g to %g 1/A; strict_q (--strict-q) takes that q alone')
        :format(percent, near, #kept, least, most))
    elseif mixed then
      table.insert(warnings,
        ('matrices of several q within %s of %g 1/A are fitted as one q; strict_q (--strict-q) takes that q alone')
        :format(percent, near))
    end
  end
  if #kept == 0 then error(('xpcs: no matrix belongs to q = %g 1/A'):format(wanted), 3) end
  distance('the file', near, wanted, values, o, warnings)
  return kept, near
end

return M
