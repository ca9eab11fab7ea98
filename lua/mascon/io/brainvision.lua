-- brainvision.lua - BrainVision recordings: a header (.vhdr), markers (.vmrk) and samples (.eeg) as one object.
--
-- Reads the two texts and where the numbers lie; the numbers themselves come through samples.lua, or, in ASCII files,
-- from text. Samples stay in the file until asked for. Values are in the unit of each channel, positions are 1-based.
-- Source: BrainVision Core Data Format 1.0, 2021.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local file = require 'mascon.base.file'
local op = require 'mascon.core.op'
local samples = require 'mascon.io.samples'
local text = require 'mascon.base.text'
local error = check.error
local M = {}

local function fail(path, fmt, ...) error(('brainvision: %s: ' .. fmt):format(path, ...), 4) end

-- ---------------------------------------------------------------- the two texts

local function folder_of(path) return path:match '^(.*/)[^/]*$' or '' end
local function stem_of(path) return (path:match '[^/]*$'):gsub('%.[^.]*$', '') end

-- bytes of a header or a list of markers: a million markers take 40 MB
local LONGEST = 2 ^ 26

--- Lines of a header or marker file, after a look at its first one.
local function lines_of(path, kind)
  local bytes, msg = file.read(path, LONGEST)
  if not bytes then error(('brainvision: %s; check the path'):format(msg), 4) end
  if bytes:sub(1, 3) == '\239\187\191' then bytes = bytes:sub(4) end
  local first = bytes:match '^[^\r\n]*'
  if not first:find('^Brain ?Vision .*Data') or not first:lower():find(kind, 1, true) then
    fail(path,
      'its first line does not say that it is a BrainVision %s file; it is damaged or another kind of file', kind)
  end
  if bytes:find('\0', 1, true) then fail(path, 'a zero byte; this is no text file') end
  local out = {}
  for line in (text.utf8(bytes) .. '\n'):gmatch '(.-)\r?\n' do out[#out + 1] = line end
  return out
end

--- Sections of key = value lines, { section = { key = value } }, both in lower case; those named in `lists` as lists of
--- { key, value }.
local function sections_of(lines, lists)
  local out, at = {}, nil
  for _, line in ipairs(lines) do
    local section = line:match '^%s*%[(.-)%]%s*$'
    if section then
      section = section:lower()
      if section == 'comment' then break end -- free text to the end
      at = out[section] or {}
      out[section] = at
      at._list = lists[section]
    elseif at and not line:find '^%s*;' then
      local key, value = line:match '^%s*([^=]-)%s*=%s*(.-)%s*$'
      if key and at._list then at[#at + 1] = { key, value }
      elseif key then at[key:lower()] = value end
    end
  end
  return out
end

--- Comma-separated parts, in which \1 stands for a comma.
local function parts_of(value)
  local out = {}
  for part in (value .. ','):gmatch '(.-),' do out[#out + 1] = part:gsub('\\1', ',') end
  return out
end

-- ---------------------------------------------------------------- header

local BINARY = { INT_16 = 'i16', UINT_16 = 'u16', INT_32 = 'i32', IEEE_FLOAT_32 = 'f32', IEEE_FLOAT_64 = 'f64' }
local MOST_CHANNELS = 100000

local function whole(path, common, key, least, most)
  local n = tonumber(common[key:lower()])
  if not n or n ~= math.floor(n) or n < least or n > most then
    fail(path, '%s is %q; it must be a whole number from %d', key, tostring(common[key:lower()]), least)
  end
  return n
end

--- The file that the header names, with $b for its own name; else the one beside it with this ending.
local function companion(path, name, ending)
  local folder, stem = folder_of(path), stem_of(path)
  local candidates = {}
  if name and name ~= '' then candidates[1] = folder .. name:gsub('%$b', (stem:gsub('%%', '%%%%'))) end
  candidates[#candidates + 1] = folder .. stem .. ending
  for _, p in ipairs(candidates) do
    if file.exists(p) then return p end
  end
  return nil, candidates[1]
end

--- Channels from lines ChN=name,reference,resolution,unit. An empty unit is microvolt, as the format says.
local function channels_of(path, list, n)
  local out = {}
  for _, item in ipairs(list or {}) do
    local i = tonumber(item[1]:match '^[Cc][Hh](%d+)$')
    if i and i >= 1 and i <= n then
      local p = parts_of(item[2])
      local unit = p[4] and p[4] ~= '' and p[4] or 'µV'
      local resolution = 1
      if p[3] and p[3] ~= '' then
        resolution = tonumber(p[3]) or fail(path, 'the resolution of channel %d is %q; it must be a number', i, p[3])
      end
      out[i] = { name = p[1] ~= '' and p[1] or ('ch%d'):format(i), reference = p[2] or '',
        resolution = resolution, unit = unit }
    end
  end
  for i = 1, n do
    if not out[i] then
      fail(path, 'channel %d of %d is not described; the section [Channel Infos] needs a line Ch%d=name', i, n, i)
    end
  end
  return out
end

--- Adds to channels what lines ChN=radius,theta,phi say: degrees from the vertical and, in the plane, from the right.
local function enter_coordinates(path, list, channels)
  for _, item in ipairs(list or {}) do
    local i, p = tonumber(item[1]:match '^[Cc][Hh](%d+)$'), parts_of(item[2])
    local c = i and channels[i]
    if c then
      local radius, theta, phi = tonumber(p[1]), tonumber(p[2]), tonumber(p[3])
      if not (radius and theta and phi) then
        fail(path, 'the coordinates of channel %d are %q; they must be three numbers', i, item[2])
      end
      if radius ~= 0 then c.coordinates = { radius = radius, theta = theta, phi = phi } end
    end
  end
end

--- The weakest filters of the amplifier, in Hz, from the table in the comment: lines of number, name, amplifier's
--- number, resolution and unit, low and high cutoff. A low cutoff in seconds is a time constant t: 1 / (2 pi t). nil
--- where the table is missing or tells of none.
local function filters_of(lines, channels)
  local low_seconds, low, high, at
  for _, line in ipairs(lines) do
    local name = line:find '^#%s+Name' and line:find('Low Cutoff', 1, true) and line:find('High Cutoff', 1, true)
    if name then low_seconds, at = line:match 'Low Cutoff %[(.-)%]' == 's', 0
    elseif at and at < #channels then
      at = at + 1
      local number, rest = line:match '^(%d+)%s+(.*)$'
      local own = channels[at].name
      if tonumber(number) ~= at or rest:sub(1, #own) ~= own then return nil end
      local words = {}
      for word in rest:sub(#own + 1):gmatch '%S+' do words[#words + 1] = word end
      local from, to = tonumber(words[4]), tonumber(words[5])
      if low_seconds and from then from = from > 0 and 1 / (2 * math.pi * from) or 0 end
      low, high = math.min(low or math.huge, from or 0), math.max(high or 0, to or math.huge)
    end
  end
  if at ~= #channels then return nil end
  return { highpass = low, lowpass = high > 0 and high < math.huge and high or nil }
end

local function header_of(path)
  local lines = lines_of(path, 'header')
  local s = sections_of(lines, { ['channel infos'] = true, coordinates = true })
  local common = s['common infos']
  if not common then fail(path, 'the section [Common Infos] is missing; the header is damaged') end
  local interval = tonumber(common.samplinginterval)
  if not (interval and interval > 0 and interval < math.huge) then
    fail(path, 'SamplingInterval is %q; it must be a positive number of microseconds',
      tostring(common.samplinginterval))
  end
  local n = whole(path, common, 'NumberOfChannels', 1, MOST_CHANNELS)
  local format, orientation = (common.dataformat or 'BINARY'):upper(), (common.dataorientation or 'MULTIPLEXED'):upper()
  if format ~= 'BINARY' and format ~= 'ASCII' then
    fail(path, 'DataFormat is %q; BINARY and ASCII are known', format)
  end
  if orientation ~= 'MULTIPLEXED' and orientation ~= 'VECTORIZED' then
    fail(path, 'DataOrientation is %q; MULTIPLEXED and VECTORIZED are known', orientation)
  end
  local binary = s['binary infos'] or {}
  local type_ = BINARY[(binary.binaryformat or 'INT_16'):upper()]
  if format == 'BINARY' and not type_ then
    fail(path, 'BinaryFormat is %q; known are INT_16, UINT_16, INT_32, IEEE_FLOAT_32, IEEE_FLOAT_64',
      binary.binaryformat)
  end
  local h = {
    fs = 1e6 / interval, n = n, format = format, orientation = orientation, type = type_,
    big = (binary.usebigendianorder or 'NO'):upper() == 'YES', ascii = s['ascii infos'] or {},
    points = tonumber(common.datapoints), channels = channels_of(path, s['channel infos'], n),
  }
  enter_coordinates(path, s.coordinates, h.channels)
  h.filters = filters_of(lines, h.channels)
  local missing
  h.data_file, missing = companion(path, common.datafile, '.eeg')
  if not h.data_file then fail(path, 'its samples, %s, are not there; put the file beside the header', missing) end
  if common.markerfile and common.markerfile ~= '' then
    h.marker_file, missing = companion(path, common.markerfile, '.vmrk')
    if not h.marker_file then h.warning = ('the marker file %s is not there; no markers are known'):format(missing) end
  end
  return h
end

-- ---------------------------------------------------------------- markers

--- Lines MkN=type,text,position,size,channel,date as tables, in their order.
local function markers_of(path)
  local s = sections_of(lines_of(path, 'marker'), { ['marker infos'] = true })
  local out = {}
  for _, item in ipairs(s['marker infos'] or {}) do
    if item[1]:find '^[Mm][Kk]%d+$' then
      local p = parts_of(item[2])
      local position = tonumber(p[3])
      if not position or position ~= math.floor(position) then
        fail(path, 'the marker %s is %q; it must hold type, text, position, size, channel', item[1], item[2])
      end
      local size = tonumber(p[4])
      out[#out + 1] = {
        type = p[1], text = p[2] or '', position = position,
        size = size and size >= 0 and size < 2 ^ 53 and math.floor(size) or 0, channel = tonumber(p[5]) or 0,
        date = p[6] and p[6]:match '^%d+$' and tonumber(p[6]) ~= 0 and p[6] or nil,
      }
    end
  end
  return out
end

-- ---------------------------------------------------------------- samples

--- All numbers of an ASCII file as a tensor [C, T].
local function ascii_of(h)
  local bytes, msg = file.read(h.data_file, 2 ^ 30)
  if not bytes then error(('brainvision: %s; check the path'):format(msg), 4) end
  local skip_lines, skip_columns = tonumber(h.ascii.skiplines) or 0, tonumber(h.ascii.skipcolumns) or 0
  local comma = (h.ascii.decimalsymbol or '.') == ','
  local rows, width, line_no = {}, nil, 0
  for line in (bytes .. '\n'):gmatch '(.-)\r?\n' do
    line_no = line_no + 1
    if line_no > skip_lines and line:find '%S' then
      if comma then line = line:gsub(',', '.') end
      local row, column = {}, 0
      for word in line:gmatch '[^%s,;]+' do
        column = column + 1
        if column > skip_columns then
          row[#row + 1] = tonumber(word) or fail(h.data_file,
            'line %d holds %q, which is no number; correct SkipLines, SkipColumns or DecimalSymbol in the header',
            line_no, word)
        end
      end
      width = width or #row
      if #row ~= width then
        fail(h.data_file, 'line %d has %d numbers, the lines above have %d; the file is damaged', line_no, #row, width)
      end
      rows[#rows + 1] = row
    end
  end
  local expected = h.orientation == 'MULTIPLEXED' and width or #rows
  if #rows == 0 or expected ~= h.n then
    fail(h.data_file, '%d channels of numbers, the header tells of %d; one of the two is wrong', expected or 0, h.n)
  end
  local t = create.tensor(rows)
  return h.orientation == 'MULTIPLEXED' and t.T:contiguous() or t
end

local Recording = {}
Recording.__index = Recording

function Recording:__tostring()
  return ('BrainVision %s: %d channels at %.6g Hz, %.6g s, %d markers'):format(self.path, #self.channels, self.fs,
    self.samples / self.fs, #self.markers)
end

--- Samples [first, first + count) (from 0) of channels (1-based positions) as f64 [#picks, count]: the stored numbers
--- times `scale`, one factor for each channel of the file.
function Recording:fetch(picks, first, count, scale)
  local factors = {}
  if not self._ascii then return self._file:read(self._grid, picks, first, count, scale) end
  local x = op.functions.take(self._ascii[{ { 1, #self.channels }, { first + 1, first + count } }],
    create.tensor(picks, { dtype = 'i64' }), 1)
  for k, i in ipairs(picks) do factors[k] = scale[i] end
  return x * create.tensor(factors):reshape(#picks, 1)
end

local READ = { channels = { nil, 'table' }, first = { 1, 'integer >= 1' }, last = { nil, 'integer' } }

--- Samples of some channels (1-based positions, default all), first to last (1-based, inclusive), f64 [C, n] in the
--- unit of each channel.
---@param opts? table
function Recording:read(opts)
  local o = check.opts('brainvision.read', opts, READ, 3)
  local picks, scale, last = o.channels, {}, o.last or self.samples
  for i, c in ipairs(self.channels) do scale[i] = c.resolution end
  if not picks then
    picks = {}
    for i = 1, #self.channels do picks[i] = i end
  end
  for _, i in ipairs(picks) do
    if not self.channels[i] then
      error(('brainvision.read: channel %s is outside the %d there are; they count from 1'):format(check.show(i),
        #self.channels), 2)
    end
  end
  if last > self.samples or o.first > last + 1 then
    error(('brainvision.read: samples %d to %d are not in %s, which has %d'):format(o.first, last,
      self.path, self.samples), 2)
  end
  if last < o.first then return tensor.empty('read', { #picks, 0 }, 'f64', 3) end
  return self:fetch(picks, o.first - 1, last - o.first + 1, scale)
end

--- Gives the files back now.
function Recording:close()
  if self._file then self._file:close() end
end

--- Opens a recording by its header; the samples stay in their file.
--
-- Fields: path, fs (Hz), samples, channels (list of { name, reference, resolution, unit, coordinates = { radius, theta,
-- phi } or nil }), markers (list of { type, text, position (1-based), size, channel, date }), filters ({ highpass,
-- lowpass } Hz of the amplifier, or nil), format, orientation, data_file, marker_file, warnings.
---@param path string
---@return table recording
function M.open(path)
  local h = header_of(path)
  local r = {
    path = path, fs = h.fs, channels = h.channels, format = h.format, orientation = h.orientation,
    data_file = h.data_file, marker_file = h.marker_file, filters = h.filters, warnings = { h.warning },
  }
  r.markers = h.marker_file and markers_of(h.marker_file) or {}
  if h.format == 'ASCII' then
    r._ascii = ascii_of(h)
    r.samples = r._ascii.shape[2]
  else
    local f = samples.open(h.data_file)
    local bytes = samples.bytes[h.type]
    r._file, r.samples = f, math.floor(f.size / (bytes * h.n))
    if h.orientation == 'VECTORIZED' and h.points and h.points == math.floor(h.points) and h.points >= 0
      and h.points <= r.samples then
      r.samples = h.points
    end
    if h.points and h.points > r.samples then
      table.insert(r.warnings, 'the file of samples ends early: fewer samples than the header promises')
    end
    local vectorized = h.orientation == 'VECTORIZED'
    r._grid = { type = h.type, big = h.big, base = 0, channel_step = vectorized and r.samples * bytes or bytes,
      sample_step = vectorized and bytes or bytes * h.n }
  end
  if r.samples == 0 then fail(h.data_file, 'it holds no sample; it is truncated') end
  return setmetatable(r, Recording)
end

--- A recording read whole: { data [C, T] in the units of the channels, fs, channels, markers, warnings }.
---@param path string
---@param opts? table as for :read
function M.load(path, opts)
  local r = M.open(path)
  local data = r:read(opts)
  r:close()
  return { data = data, fs = r.fs, channels = r.channels, markers = r.markers, warnings = r.warnings }
end

return M
