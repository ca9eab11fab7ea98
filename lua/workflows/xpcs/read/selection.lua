-- selection.lua - which matrices and frames of a file a fit takes, and how they are read.
--
-- of_hdf5 and of_npz read names, shapes, angles, q and times, no matrix, and give one record:
--   input: q, phi, names, path, layout, entries (matrices of the file), chosen (their numbers), N (frames of the file),
--     first, last, drop (1 where the first of those frames is left out)
--   o: options, those of the file filled in (sigma, mask, dt, exclude_first)
--     session(): the file once more, read by strips
--   read(i): matrix i whole, and its name; o.triangle: the rule by which a triangle of it counts
--   t(): times of the kept frames, s · same_sides(): raises where the matrices differ in shape · close()
--   finish(d): what is said of data that were read
local mc = require 'mascon'
local check = require 'mascon.core.check'
local angles = require 'workflows.xpcs.read.angles'
local examine = require 'workflows.xpcs.read.examine'
local layout = require 'workflows.xpcs.read.layout'
local numbers = require 'workflows.xpcs.model.numbers'
local own_layout = require 'workflows.xpcs.read.own_layout'
local times = require 'workflows.xpcs.read.times'
local truth = require 'workflows.xpcs.model.truth'
local error = check.error
local M = {}

local STEP_APART = 0.01 -- of dt: what it and the time of a frame may differ by without a word

--- First and last frame inside N, 1-based.
local function frames(o, N, warnings)
  local first, last = o.start_frame, o.end_frame
  if first < 1 then
    table.insert(warnings, ('start_frame is %d and frames count from 1; the first one is taken'):format(first))
    first = 1
  end
  if last < -1 then
    table.insert(warnings, ('end_frame is %d; the last of %d frames is taken, as for -1'):format(last, N))
  end
  if last < 0 then last = N end
  if last > N then
    table.insert(warnings, ('end_frame is %d and there are %d frames; the last one is taken'):format(last, N))
    last = N
  end
  if first > last then error(('xpcs: frames %d to %d hold nothing; the file has %d'):format(first, last, N), 4) end
  if last - first + 1 < 2 then
    error(('xpcs: frames %d to %d are too few; two-time correlation needs at least 2'):format(first, last), 4) end
  return first, last
end

--- A number of a file or an option that must be there, positive and finite.
---@param name string with the unit `unit`
function M.checked(name, v, unit)
  if type(v) ~= 'number' then
    error(('xpcs: %s is missing; give it in %s (--%s)'):format(name, unit, name:match '^%a+'), 4)
  end
  if not (v > 0 and v < math.huge) then error(('xpcs: %s is %s; it must be positive and finite, %s'):format(name,
    check.show(v), unit), 4) end
  return v
end

local function copy_of(o)
  local out = {}
  for k, v in pairs(o) do out[k] = v end
  return out
end

--- 1 where the first time of so many frames is left out.
local function dropped(o, frames_kept) return o.exclude_first and frames_kept >= 2 and 1 or 0 end

--- Angles within -180 .. 180; says which are shown as others than in the file.
local function wrapped(phi, warnings)
  local out, words, count = {}, {}, 0
  for k, a in ipairs(phi) do
    out[k] = angles.wrap(a)
    if math.abs(out[k] - a) > 1e-9 then
      count = count + 1
      if count <= 6 then words[count] = ('%s as %s'):format(numbers.number(a, 6), numbers.number(out[k], 6)) end
    end
  end
  if count > 0 then
    table.insert(warnings, ('angles are shown within -180 .. 180 degrees: %s%s'):format(table.concat(words, ', '),
      count > 6 and (' and %d more'):format(count - 6) or ''))
  end
  return out
end

-- ---------------------------------------------------------------- HDF5

--- The size of a dataset that holds a two-time matrix; raises for what is none.
local function side_of(set, name)
  if set.holds ~= 'numbers' or set.dtype:sub(1, 1) == 'c' then
    error(('xpcs: %s holds %s; a two-time matrix is real numbers'):format(name, set.holds == 'numbers'
      and 'complex numbers' or 'no numbers'), 4)
  end
  local shape = set.shape
  if #shape ~= 2 or shape[1] ~= shape[2] then
    error(('xpcs: %s is [%s]; a two-time matrix is square'):format(name, table.concat(shape, ', ')), 4)
  end
  return shape[1]
end

--- The q asked for, or the only one of the file.
local function wanted_q(entries, path, o)
  if o.q ~= nil and not o.only_among then return M.checked('q (wavevector_q)', o.q, '1/A') end
  local list, seen = {}, {}
  for _, e in ipairs(entries) do
    if e.q == e.q and not seen[e.q] then list[#list + 1], seen[e.q] = ('%g'):format(e.q), true end
  end
  local wanted = o.q
  if #list == 1 then wanted = entries[1].q end
  if not wanted then
    error(('xpcs: %s holds matrices of %d q (1/A): %s; name one of them with q (--q on the command line)'):format(path,
      #list, table.concat(list, ', ')), 4)
  end
  return M.checked('q (wavevector_q)', wanted, '1/A')
end

--- The entries of the wanted q and angles: the entries, and the fields of input that follow from them.
local function chosen_of(entries, row, path, o, warnings)
  local kept, q = layout.select_q(entries, row, wanted_q(entries, path, o), o, warnings)
  local phi = {}
  for k, e in ipairs(kept) do phi[k] = e.phi end
  examine.angles(path, phi)
  phi = wrapped(phi, warnings)
  local list, input = {}, { q = q, phi = {}, names = {}, path = path, layout = row.name, chosen = {},
    entries = #entries }
  for i, k in ipairs(angles.choose(phi, o.phi_ranges, warnings, nil, o.skip_phi)) do
    list[i], input.names[i], input.phi[i] = kept[k], path .. ':' .. kept[k].name, phi[k]
    for number, e in ipairs(entries) do if e == kept[k] then input.chosen[i] = number end end
  end
  return list, input
end

--- Compares dt with the steps of time that a file says under a name: what is said where they differ.
---@return string|nil
local function odd_step(steps, name, dt)
  for _, step in ipairs(steps) do if math.abs(dt - step) <= STEP_APART * step then return end end
  return ('dt is %s s and %s of the file says %s s: D goes as 1/dt, and so do shear rates'):format(
    numbers.number(dt, 6), name, numbers.number(steps[#steps], 6))
end

--- What is said where dt is another than the time of a frame that the file holds; raises with that time where dt is
--- missing.
---@return string|nil
local function check_frame(file, path, row, o)
  local steps = layout.steps(file, row)
  if not steps then return end
  local last = numbers.number(steps[#steps], 6)
  if o.dt == nil then
    error(('xpcs: dt is missing; %s:%s says %s s: --dt %s'):format(path, row.frame[1], last, last), 4)
  end
  return odd_step(steps, row.frame[1], o.dt)
end

--- Sets dt to the step that the layout names, where no option does. The first time of the file in steps of dt, and what
--- is said where dt is another.
---@return number first, string|nil
local function take_step(file, path, row, o, N)
  local step, first = row.time(file, path, N)
  if not step then return 0 end
  M.checked('dt', step, 's')
  o.dt = o.dt or step
  return first / step, odd_step({ step }, type(row.dt) == 'string' and row.dt or 'the layout', o.dt)
end

--- What a fit takes of an HDF5 file of the old APS or the APS-U layout, or of one that the user names.
---@param path string
---@param o table options of source.open
---@param warnings string[] notes are added
---@return table record; also list: the entries by number, with q and name
function M.of_hdf5(path, o, warnings)
  o = copy_of(o)
  local file = mc.open(path, { format = 'h5' })
  local row = o.layout and own_layout.row(o.layout) or layout.of(file, path)
  o.triangle = o.full_matrices and 'full' or row.triangle
  local entries = row.entries(file, path, warnings, o.q)
  local odd, begins = check_frame(file, path, row, o), 0
  local list, input = chosen_of(entries, row, path, o, warnings)
  local N = side_of(layout.matrix(file, list[1]), input.names[1])
  if row.time then begins, odd = take_step(file, path, row, o, N) end
  table.insert(warnings, odd)
  -- times that start after 0 say that the first one was dropped already
  if begins > 1e-9 then o.exclude_first = false else begins = 0 end
  local first, last = frames(o, N, warnings)
  local n = last - first + 1
  input.N, input.first, input.last, input.drop = N, first, last, dropped(o, n)
  local function same(i, side)
    if side == N then return end
    error(('xpcs: %s is [%d, %d] and %s is [%d, %d]; all matrices must have one shape'):format(input.names[i], side,
      side, input.names[1], N, N), 4)
  end
  input.session = function()
    local again = mc.open(path, { format = 'h5' })
    return { set = function(f) return layout.matrix(again, list[f]) end, close = function() again:close() end }
  end
  return {
    input = input, o = o, list = list, close = function() file:close() end,
    t = function() return (mc.arange(input.drop, n - 1) + begins) * o.dt end,
    read = function(i)
      local set = layout.matrix(file, list[i])
      same(i, side_of(set, input.names[i]))
      local t = set:read { { first, last }, { first, last } }
      set:close()
      return t, input.names[i]
    end,
    same_sides = function()
      for i = 2, #list do same(i, side_of(layout.matrix(file, list[i]), input.names[i])) end
    end,
    finish = function(d)
      d.q_list, d.one_q, d.odd_step = {}, o.one_q, odd
      for i, e in ipairs(list) do d.q_list[i] = e.q end
    end,
  }
end

-- ---------------------------------------------------------------- NPZ

local SIGMA = { 'sigma', 'c2_sigma', 'c2_std' } -- beside the matrices of an .npz
local MASK = { 'mask', 'c2_mask' }

local NAMES = { c2 = { 'c2_exp', 'c2', 'C2', 'correlation' }, phi = { 'phi_angles_list', 'phi_angles', 'phi' },
  q = { 'q', 'wavevector_q', 'wavevector_q_list' }, t = { 't1', 't' } }

--- get(name) of an archive: an array, nil where there is none; it stays in the file where it is stored plainly.
local function arrays_of(archive, o)
  local known = {}
  return function(name)
    if known[name] == nil then
      known[name] = archive:has(name) and archive:get(name, { map = true, verify = not o.shape_only })
    end
    return known[name] or nil
  end
end

--- The matrices [angles, n, n] and the angles in degrees.
local function matrices_of(find, path, warnings)
  local c2, phi = find('c2', true), find('phi', true):to('f64'):reshape(-1):totable()
  if #phi == 0 then error(('xpcs: %s holds no angle, so no matrix; nothing can be fitted'):format(path), 4) end
  if c2.ndim ~= 3 or c2.shape[1] ~= #phi or c2.shape[2] ~= c2.shape[3] then
    error(('xpcs: %s: the matrices are [%s] for %d angles; they must be [angles, n, n]'):format(path,
      table.concat({ c2:size() }, ', '), #phi), 4)
  end
  examine.angles(path, phi)
  return c2, wrapped(phi, warnings)
end

--- Times of the file in the step asked for: t (nil where the file has none), dt, the first time, the step of the file.
local function times_of(path, t, N, dt, warnings)
  if not t then return nil, dt, 0, nil end
  local step
  t, step = times.grid(path, t, N)
  if dt and math.abs(dt - step) > 1e-6 * step then
    table.insert(warnings,
      ('the times of the file have a step of %.8g s and dt = %.8g s is asked for; %.8g is used'):format(
      step, dt, dt))
    t = t * (dt / step)
  end
  return t, dt or step, t[1]:item(), step
end

--- Sets sigma and mask from arrays of the file where no option gives them.
local function beside(o, get, path, warnings)
  for _, pair in ipairs { { 'sigma', SIGMA }, { 'mask', MASK } } do
    local what = pair[1]
    for _, name in ipairs(pair[2]) do
      local x = o[what] == nil and get(name) or nil
      if x ~= nil then layout.real(x, path, name, 2) end
      if x ~= nil and x.ndim > 1 then
        o[what] = x
        table.insert(warnings, ('%s is that of the array %s of the file'):format(what, name))
      end
    end
  end
end

--- What a fit takes of an .npz: c2_exp [angles, n, n], phi_angles_list, t1, q, and sigma and mask where they are there.
---@param path string
---@param o table options of source.open
---@param warnings string[] notes are added
---@return table record
function M.of_npz(path, o, warnings)
  if o.layout then
    error(('xpcs: layout names datasets of HDF5 files; %s is an .npz, of which key names the array'):format(path), 4)
  end
  o = copy_of(o)
  local archive = mc.open(path, { format = 'npz' })
  local get = arrays_of(archive, o)
  local function find(what, needed)
    for _, name in ipairs(what == 'c2' and o.key and { o.key } or NAMES[what]) do
      local x = get(name)
      if x ~= nil then
        layout.real(x, path, name, 3)
        return x
      end
    end
    if needed then
      error(('xpcs: %s has no array %s; it holds %s'):format(path, table.concat(NAMES[what], ' or '),
        table.concat(archive.names, ', ')), 5)
    end
  end
  local c2, phi = matrices_of(find, path, warnings)
  local t, dt, origin, step = times_of(path, find 't', c2.shape[2], o.dt, warnings)
  local q, of_q = layout.q_of(path, find 'q', o, #phi, warnings)
  local input = { phi = {}, names = {}, path = path, layout = 'NPZ', entries = c2.shape[1], N = c2.shape[2],
    chosen = angles.choose(phi, o.phi_ranges, warnings, of_q, o.skip_phi) }
  for i, k in ipairs(input.chosen) do
    input.phi[i], input.names[i] = phi[k], ('%s: matrix %d'):format(path, k)
  end
  local first, last = frames(o, input.N, warnings)
  local n = last - first + 1
  o.dt, o.triangle, input.q = dt, 'full', M.checked('q', q, '1/A')
  beside(o, get, path, warnings)
  -- times that start after 0 say that the first one was dropped already; a range of frames begins where the file does
  local late = origin > 1e-12
  if late then o.exclude_first = false end
  input.first, input.last, input.drop = first, last, dropped(o, n)
  local known_truth = step and not o.shape_only and truth.of(truth.read(archive), { first = first, dt = step,
    wanted = dt, gap = o.gap }, warnings)
  archive:close()
  input.session = function()
    return { set = function(f)
      return { read = function(_, r) return c2[{ input.chosen[f], r[1], r[2] }]:to 'f64' end, close = function() end }
    end, close = function() end }
  end
  return {
    input = input, o = o, close = function() end, same_sides = function() end,
    t = function() return mc.arange(input.drop, n - 1) * dt end,
    read = function(i)
      return c2[input.chosen[i]][{ { first, last }, { first, last } }], input.names[i]
    end,
    finish = function(d)
      if late then d.t = t[{ { 1, n } }]:contiguous() end
      d.truth = known_truth
    end,
  }
end

return M
