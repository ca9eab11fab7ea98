-- fif_info.lua - the measurement info of a FIF file: channels, bad ones, head points, projectors, transforms.
--
-- Holds the kinds of tags that describe a recording, in both directions: from a file to the fields of a Raw or Epochs
-- object, and from such an object to a file. Tags that have no field here are kept as they stand, in info.fif, and
-- written back unchanged. Samples are in fif.lua. Source: Functional Image File Format, description of Elekta Neuromag,
-- 2006; extensions as MNE-Python 1.13 writes them.
local fif = require 'mascon.io.fif'
local text = require 'mascon.base.text'
local date = require 'mascon.meeg.date'
local channels = require 'mascon.meeg.channels'
local project = require 'mascon.meeg.project'
local M = {}

--- Blocks and kinds of tags that more than one file of this folder needs.
M.BLOCK = { meas = 100, meas_info = 101, raw = 102, processed = 103, continuous = 112, ias_raw = 119, ref = 118,
  events = 361, epochs = 373, annotations = 3810, history = 900 }
M.KIND = { block_id = 103, parent_block_id = 110, first_sample = 208, last_sample = 209,
  comment = 206, meas_date = 204 }

local NCHAN, SFREQ, CH_INFO, MEAS_DATE, LOWPASS, HIGHPASS, COORD_TRANS, DIG_POINT, DATA_PACK = 200, 201, 203, 204, 219,
  223, 222, 213, 202
local CH_INFO_BLOCK, ISOTRAK, HPI_RESULT, PROJ, PROJ_ITEM, BADS = 113, 107, 109, 313, 314, 359
local NAMES, PROJ_KIND, PROJ_NAMES, PROJ_NVEC, PROJ_VECTORS, PROJ_ACTIVE, COMMENT, NAME = 3507, 3411, 3417, 3414,
  3415, 3560, 206, 233
local CH_SCAN, CH_RANGE, CH_LONG_NAME, EXPLAINED = 250, 253, 258, 3605
local LONG = 15 -- bytes of a name in a channel's record
local DEVICE, HEAD = 1, 4

-- ---------------------------------------------------------------- channels

local TYPE = {
  [1] = 'mag', [2] = 'eeg', [3] = 'stim', [102] = 'bio', [201] = 'mag', [202] = 'eog', [301] = 'ref_meg', [302] = 'emg',
  [402] = 'ecg', [502] = 'misc', [602] = 'resp', [802] = 'seeg', [803] = 'dbs', [900] = 'syst', [902] = 'ecog',
  [910] = 'ias', [920] = 'exci', [1000] = 'dipole', [1001] = 'gof', [1100] = 'fnirs',
  [1200] = 'temperature', [1300] = 'gsr', [1400] = 'eyegaze',
}
for k = 700, 709 do TYPE[k] = 'chpi' end
local KIND = { grad = 1, csd = 2, hbo = 1100, hbr = 1100, pupil = 1400 }
for k, name in pairs(TYPE) do
  if k ~= 201 then KIND[name] = KIND[name] and math.min(KIND[name], k) or k end
end
local UNIT = { [107] = 'V', [112] = 'T', [201] = 'T/m', [6] = 'M', [110] = 'S', [114] = 'C', [-1] = '', [0] = '',
  [1] = 'm', [7] = 'rad', [3] = 's', [210] = 'px', [117] = 'V/m2' }
local UNIT_CODE = { V = 107, T = 112, ['T/m'] = 201, M = 6, S = 110, C = 114, m = 1, rad = 7, s = 3,
  px = 210, ['V/m2'] = 117 }
local UNIT_TM, CSD, HBO, HBR, PUPIL = 201, 6, 300, 301, 401
-- of channels that come from elsewhere
local COIL = { eeg = 1, csd = CSD, ecog = 1, seeg = 1, dbs = 1, hbo = HBO, hbr = HBR, fnirs = 302, eyegaze = 400,
  pupil = PUPIL, mag = 3024, grad = 3012, ref_meg = 3024 }

local MEG = { mag = true, grad = true, ref_meg = true } -- their positions are in the device frame

local function type_of(kind, coil, unit)
  local t = TYPE[kind]
  if kind == 1 and unit == UNIT_TM then t = 'grad' end
  if kind == 2 and coil == CSD then t = 'csd' end
  if kind == 1100 then t = coil == HBO and 'hbo' or coil == HBR and 'hbr' or 'fnirs' end
  if kind == 1400 and coil == PUPIL then t = 'pupil' end
  return t or 'misc'
end

local function applied(trans, p)
  local out = {}
  for i = 1, 3 do out[i] = trans[i][1] * p[1] + trans[i][2] * p[2] + trans[i][3] * p[3] + trans[i][4] end
  return out
end

local function finite(p) return p[1] - p[1] == 0 and p[2] - p[2] == 0 and p[3] - p[3] == 0 end

--- One record of 96 bytes.
local function channel_of(f, bytes)
  if #bytes < 96 then f:fail('a channel record has %d bytes instead of 96; the file is damaged', #bytes) end
  local loc = {}
  for k = 1, 12 do loc[k] = fif.float(bytes, 25 + 4 * (k - 1)) end
  local kind, coil, unit = fif.int(bytes, 9), fif.int(bytes, 21), fif.int(bytes, 73)
  local type_ = type_of(kind, coil, unit)
  local name = text.utf8(bytes:sub(81, 96):match '^[^%z]*')
  return {
    name = name, type = type_, unit = UNIT[unit], loc = loc, coil = coil,
    fif = {
      scanno = fif.int(bytes, 1), logno = fif.int(bytes, 5), kind = kind, range = fif.float(bytes, 13),
      cal = fif.float(bytes, 17), unit = unit, unit_mul = fif.int(bytes, 77), short = name,
    },
  }
end

--- Long names stand in blocks of their own, in the order of the channels.
local function enter_long_names(f, node, list)
  local blocks = f:find(CH_INFO_BLOCK, node)
  if #blocks == 0 then return end
  if #blocks ~= #list then f:fail('%d extended descriptions for %d channels; the file is damaged', #blocks, #list) end
  for i, b in ipairs(blocks) do
    local name_at, range_at, scan_at = f:tag(b, CH_LONG_NAME), f:tag(b, CH_RANGE), f:tag(b, CH_SCAN)
    if name_at then list[i].name = f:text(name_at) end
    list[i].fif.long_range = range_at and f:number(range_at)
    if scan_at then list[i].fif.scanno = f:number(scan_at) end
  end
end

-- ---------------------------------------------------------------- what stands beside

local function transform_of(f, i)
  local b = f:bytes(i)
  if #b < 56 then f:fail('a coordinate transform has %d bytes; the file is damaged', #b) end
  local from, to, m = fif.int(b, 1), fif.int(b, 5), {}
  for r = 1, 3 do
    m[r] = {}
    for c = 1, 3 do m[r][c] = fif.float(b, 9 + 4 * (3 * (r - 1) + c - 1)) end
    m[r][4] = fif.float(b, 45 + 4 * (r - 1))
  end
  m[4] = { 0, 0, 0, 1 }
  return from, to, m
end

--- The transform between two frames, directly in a node.
local function transform_in(f, node, from, to)
  for _, i in ipairs(node.tags) do
    if f:kind(i) == COORD_TRANS then
      local a, b, m = transform_of(f, i)
      if a == from and b == to then return m end
    end
  end
end

local function dig_of(f, node)
  local out = {}
  local block = f:find(ISOTRAK, node)[1]
  for _, i in ipairs(block and block.tags or {}) do
    if f:kind(i) == DIG_POINT then
      local b = f:bytes(i)
      if #b < 20 then f:fail('a head point has %d bytes instead of 20; the file is damaged', #b) end
      out[#out + 1] = { kind = fif.int(b, 1), ident = fif.int(b, 5),
        position = { fif.float(b, 9), fif.float(b, 13), fif.float(b, 17) } }
    end
  end
  return out
end

--- A sentence on projectors that a file holds and that are not applied to its samples, or nil.
---@param projs table[]|nil
---@param what string what becomes of them
function M.idle(projs, what)
  local names = project.waiting(projs)
  if #names == 0 then return nil end
  local words = 'the file holds %d projector%s not applied to its samples (%s); %s (not with proj = false, --no-proj)'
  return words:format(#names, #names == 1 and '' or 's', table.concat(names, ', '), what)
end

local function projs_of(f, node, long)
  local out = {}
  local block = f:find(PROJ, node)[1]
  for _, item in ipairs(block and f:find(PROJ_ITEM, block) or {}) do
    local names_at, vectors_at = f:tag(item, PROJ_NAMES), f:tag(item, PROJ_VECTORS)
    local title, kind, active, count = f:tag(item, COMMENT) or f:tag(item, NAME), f:tag(item, PROJ_KIND),
      f:tag(item, PROJ_ACTIVE), f:tag(item, PROJ_NVEC)
    local explained = f:tag(item, EXPLAINED)
    if not (names_at and vectors_at and count) then
      f:fail('a projector without channels or vectors; the file is damaged')
    end
    local names, data, nvec = f:names(names_at), f:matrix(vectors_at), f:number(count)
    if data.ndim ~= 2 then f:fail('a projector whose vectors are no matrix; the file is damaged') end
    if data.shape[1] == #names and data.shape[2] == nvec and #names ~= nvec then data = data.T:contiguous() end
    if data.shape[2] ~= #names then
      f:fail('a projector of %d channels with vectors of %d; the file is damaged', #names, data.shape[2])
    end
    for k, name in ipairs(names) do names[k] = long[name] or name end
    out[#out + 1] = {
      name = title and f:text(title) or '', kind = kind and f:number(kind) or 0,
      active = active ~= nil and f:number(active) ~= 0, channels = names, data = data,
      explained = explained and f:number(explained),
    }
  end
  return out
end

--- What is written anew, from fields; all other tags and blocks of the measurement info are kept.
local REWRITTEN = { [NCHAN] = true, [SFREQ] = true, [CH_INFO] = true, [LOWPASS] = true, [HIGHPASS] = true,
  [DATA_PACK] = true, [M.KIND.block_id] = true }
local REWRITTEN_BLOCK = { [CH_INFO_BLOCK] = true, [BADS] = true, [PROJ] = true, [ISOTRAK] = true }

--- The tags from one position to another, each { kind, type, bytes }; leave(i) says where to go on behind what is left
--- out.
local function copied(f, first, last, leave)
  local out, i = {}, first
  while i <= last do
    local on = leave and leave(i)
    if not on then out[#out + 1] = { f:kind(i), f:type(i), f:bytes(i) } end
    i = (on or i) + 1
  end
  return out
end

--- A block as it stands in the file, or nil.
function M.block(f, block, within)
  local node = f:find(block, within)[1]
  return node and copied(f, node.first, node.last)
end

--- The measurement info without what is rewritten.
local function kept_of(f, node)
  local skip = {}
  for _, i in ipairs(node.tags) do skip[i] = REWRITTEN[f:kind(i)] and i or nil end
  for _, c in ipairs(node.children) do skip[c.first] = REWRITTEN_BLOCK[c.block] and c.last or nil end
  return copied(f, node.first + 1, node.last - 1, function(i) return skip[i] end)
end

--- The ids of a block as they stand.
local function ids_of(f, node)
  local out = {}
  for _, i in ipairs(node.tags) do
    if f:kind(i) == M.KIND.block_id or f:kind(i) == M.KIND.parent_block_id then
      out[#out + 1] = { f:kind(i), f:type(i), f:bytes(i) }
    end
  end
  return out
end

local function optional(f, node, kind)
  local i = f:tag(node, kind)
  local v = i and f:number(i)
  if v and v == v then return v end
end

-- ---------------------------------------------------------------- reading

--- The measurement info of a file: { fs, channels, bads, cals (stored number to SI unit, without range), ranges, info,
--- meas = node }.
---@param f table of mascon.io.fif
---@return table
function M.read(f)
  local meas = f:find(M.BLOCK.meas)[1]
  local node = meas and f:find(M.BLOCK.meas_info, meas)[1]
  if not node then f:fail('it holds no measurement; it is another kind of FIF file') end
  local out = { meas = meas, channels = {}, bads = {}, cals = {}, ranges = {} }
  local n, fs = optional(f, node, NCHAN), optional(f, node, SFREQ)
  if not n or not fs or not (fs > 0 and fs < math.huge) then
    f:fail('the number of channels or the sampling rate is missing; the file is damaged')
  end
  for _, i in ipairs(node.tags) do
    if f:kind(i) == CH_INFO then out.channels[#out.channels + 1] = channel_of(f, f:bytes(i)) end
  end
  if #out.channels ~= n or n == 0 then
    f:fail('it tells of %.0f channels and describes %d; it is damaged', n, #out.channels)
  end
  enter_long_names(f, node, out.channels)
  local hpi = f:find(HPI_RESULT, node)
  local dev_head_t = transform_in(f, node, DEVICE, HEAD) or #hpi == 1 and transform_in(f, hpi[1], DEVICE, HEAD) or nil
  local long, seen = {}, {}
  out.warnings = { channels.distinct(out.channels) }
  for i, c in ipairs(out.channels) do
    seen[c.name] = true
    long[c.fif.short] = c.name
    if c.name == '' then f:fail('channel %d has no name; give it one', i) end
    out.cals[i], out.ranges[i] = c.fif.cal, c.fif.range
    if finite(c.loc) then
      local p = { c.loc[1], c.loc[2], c.loc[3] }
      if MEG[c.type] then p = dev_head_t and applied(dev_head_t, p) or nil end
      c.position = p
    end
  end
  for _, b in ipairs(f:find(BADS, node)) do
    local at = f:tag(b, NAMES)
    for _, name in ipairs(at and f:names(at) or {}) do
      local full = long[name] or name
      if seen[full] then table.insert(out.bads, full) end
    end
  end
  local date_at, id_at = f:tag(node, MEAS_DATE), f:tag(f.root, 100)
  out.fs = fs
  out.info = {
    dig = dig_of(f, node), dev_head_t = dev_head_t, projs = projs_of(f, node, long),
    highpass = optional(f, node, HIGHPASS), lowpass = optional(f, node, LOWPASS),
    meas_date = date_at and date.text(f:numbers(date_at)) or nil,
    fif = { tags = kept_of(f, node), history = M.block(f, M.BLOCK.history, meas), file_id = id_at and f:bytes(id_at),
      ids = ids_of(f, meas) },
  }
  return out
end

-- ---------------------------------------------------------------- writing

local ID_TYPE = 31
--- An id as files of a known version carry one: no machine, and the microseconds that stand for no time.
M.NO_ID = fif.int_bytes(65540) .. fif.int_bytes(0) .. fif.int_bytes(0) .. fif.int_bytes(0) .. fif.int_bytes(2 ^ 31 - 1)

--- Names of at most 15 bytes, those of the file where there are any, all different.
local function short_names(list)
  local out, seen, longer = {}, {}, false
  for i, c in ipairs(list) do
    local own = c.fif and c.fif.short
    if own and not seen[own] then
      out[i], seen[own] = own, true
      longer = longer or own ~= c.name
    end
  end
  for i, c in ipairs(list) do
    if not out[i] then
      local name, k = c.name, 0
      while #name > LONG or seen[name] do
        k = k + 1
        name = ('%s-%d'):format(c.name:sub(1, LONG - 1 - #tostring(k)), k)
      end
      out[i], seen[name] = name, true
      longer = longer or name ~= c.name
    end
  end
  return out, longer
end

--- SI units of one stored number of a channel; 1 for those of other formats and for a 0, which would lose what is
--- written.
---@param c table channel
function M.cal_of(c) return c.fif and c.fif.cal ~= 0 and c.fif.cal or 1 end

--- The numbers of one channel's record.
local function record_of(c)
  local own, nan, loc, p = c.fif or {}, 0 / 0, {}, c.position
  for k = 1, 12 do loc[k] = c.loc and c.loc[k] or nan end
  if p and not MEG[c.type] then -- a montage may have moved it since
    loc[1], loc[2], loc[3] = p[1], p[2], p[3]
    if not c.loc then loc[4], loc[5], loc[6] = 0, 0, 0 end
  end
  local kind = own.kind
  -- the type was changed since
  if not kind or type_of(kind, c.coil, own.unit) ~= c.type then kind = KIND[c.type] or KIND.misc end
  return {
    kind = kind, coil = c.coil or COIL[c.type] or 0, loc = loc, unit = own.unit or UNIT_CODE[c.unit] or -1,
    unit_mul = own.unit_mul or 0, cal = M.cal_of(c), logno = own.logno,
  }
end

local function write_channels(w, list)
  local short, longer = short_names(list)
  for i, c in ipairs(list) do
    local r = record_of(c)
    local bytes = { fif.int_bytes(i), fif.int_bytes(r.logno or i), fif.int_bytes(r.kind), fif.float_bytes(1),
      fif.float_bytes(r.cal), fif.int_bytes(r.coil) }
    for k = 1, 12 do bytes[#bytes + 1] = fif.float_bytes(r.loc[k]) end
    bytes[#bytes + 1] = fif.int_bytes(r.unit) .. fif.int_bytes(r.unit_mul) .. short[i] .. ('\0'):rep(16 - #short[i])
    w:tag(CH_INFO, 30, table.concat(bytes))
  end
  if not longer then return short end
  for i, c in ipairs(list) do
    local r = record_of(c)
    w:open_block(CH_INFO_BLOCK)
    w:ints(CH_SCAN, { c.fif and c.fif.scanno or i }) -- as it was: what counts is in the record
    w:ints(251, { r.logno or i })
    w:ints(252, { r.kind })
    w:floats(CH_RANGE, { c.fif and c.fif.long_range or 1 })
    w:floats(254, { r.cal })
    w:ints(350, { r.coil })
    w:floats(255, r.loc)
    w:ints(256, { r.unit })
    w:ints(257, { r.unit_mul })
    w:text(CH_LONG_NAME, c.name)
    w:close_block(CH_INFO_BLOCK)
  end
  return short
end

--- Head points of sensors, for recordings that come without any.
local function dig_from(list)
  local out = {}
  for _, c in ipairs(list) do
    local p = c.position
    if p and c.type == 'eeg' then out[#out + 1] = { kind = 3, ident = #out + 1, position = p } end
  end
  return out
end

local function write_dig(w, dig)
  if #dig == 0 then return end
  w:open_block(ISOTRAK)
  for _, d in ipairs(dig) do
    w:tag(DIG_POINT, 33, fif.int_bytes(d.kind) .. fif.int_bytes(d.ident) .. fif.float_bytes(d.position[1])
      .. fif.float_bytes(d.position[2]) .. fif.float_bytes(d.position[3]))
  end
  w:close_block(ISOTRAK)
end

local function write_projs(w, projs, short)
  if #projs == 0 then return end
  w:open_block(PROJ)
  for _, p in ipairs(projs) do
    local names = {}
    for k, name in ipairs(p.channels) do names[k] = short[name] or name end
    w:open_block(PROJ_ITEM)
    w:names(PROJ_NAMES, names)
    w:text(NAME, p.name)
    w:ints(NCHAN, { #names })
    w:ints(PROJ_KIND, { p.kind })
    if p.kind == 1 then w:floats(3412, { 0 }) end
    w:ints(PROJ_NVEC, { p.data.shape[1] })
    w:ints(PROJ_ACTIVE, { p.active and 1 or 0 })
    local left = p.data
    w:matrix(PROJ_VECTORS, { p.data.shape[1], p.data.shape[2] }, 'f32', function()
      local t = left
      left = nil
      return t
    end)
    if p.explained then w:floats(EXPLAINED, { p.explained }) end
    w:close_block(PROJ_ITEM)
  end
  w:close_block(PROJ)
end

--- Writes the measurement info block of an object (fields fs, channels, bads, info).
---@param w table writer of mascon.io.fif
---@param e table
function M.write(w, e)
  local info, kept = e.info, e.info.fif
  w:open_block(M.BLOCK.meas_info)
  if kept then
    w:tags(kept.tags)
  else
    local stamp = date.stamp(info.meas_date)
    if stamp then w:ints(MEAS_DATE, stamp) end
  end
  write_dig(w, info.dig or dig_from(e.channels))
  w:ints(NCHAN, { #e.channels })
  w:floats(SFREQ, { e.fs })
  w:floats(LOWPASS, { info.lowpass or e.fs / 2 })
  w:floats(HIGHPASS, { info.highpass or 0 })
  local names = short_names(e.channels)
  local short = {}
  for i, c in ipairs(e.channels) do short[c.name] = names[i] end
  write_projs(w, info.projs or {}, short)
  write_channels(w, e.channels)
  if #e.bads > 0 then
    local list = {}
    for k, b in ipairs(e.bads) do list[k] = short[b] or b end
    w:open_block(BADS)
    w:names(NAMES, list)
    w:close_block(BADS)
  end
  w:close_block(M.BLOCK.meas_info)
  if kept and kept.history then w:tags(kept.history) end
end

--- Opens the measurement of a file that is written: its block and ids.
function M.open_measurement(w, info)
  w:open_block(M.BLOCK.meas)
  local ids = info.fif and info.fif.ids or {}
  if #ids == 0 then ids = { { M.KIND.block_id, ID_TYPE, M.NO_ID } } end
  w:tags(ids)
end

return M
