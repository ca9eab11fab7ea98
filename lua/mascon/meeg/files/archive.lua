-- archive.lua - what an .npz tells of a recording: its samples, its sampling rate, the names of its channels.
--
-- Holds the names under which programs keep these, and which array is meant where nobody says. Texts, arrays of other
-- kinds and members that cannot be read take no part; notes say which.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

local RATES = { 'fs', 'sfreq', 'srate', 'sf', 'sampling_rate' }
local NAMES = { 'ch_names', 'channel_names', 'names', 'channels', 'labels' }

--- A number of an archive, under the first of some names that it has.
---@param file table of mc.open
---@param names string[]
---@return number|nil
function M.number(file, names)
  for _, name in ipairs(names) do
    local t = file:has(name) and file:get(name)
    if tensor.is(t) and tensor.kind[t.dtype] ~= 'c' and t:numel() == 1 then return t:reshape({ -1 })[1]:item() end
  end
end

--- A flat list of texts, or nil.
local function texts(v)
  if type(v) ~= 'table' or #v == 0 then return nil end
  for _, word in ipairs(v) do if type(word) ~= 'string' then return nil end end
  return v
end

local READ = { key = { nil, 'string' }, prefer = { nil, 'string' }, least = { 1, 'integer' }, most = { 3,
  'integer' } }

--- What an archive holds of a recording.
---@param fname string for messages
---@param file table of mc.open
---@param opts? table key (array of the samples) · prefer (name that is taken where it is there) · least 1, most 3:
--- axes.
---  Without key the largest array of that many axes
---@return table { data, key, fs, lists = { { name, texts } }, notes }
function M.read(fname, file, opts)
  local o = check.opts(fname, opts, READ, 3)
  local out = { lists = {}, notes = {} }
  local key, best, at = o.key, -1, {}
  if not key and o.prefer and file:has(o.prefer) then key = o.prefer end
  for i, name in ipairs(NAMES) do at[name] = i end
  for _, name in ipairs(file.names) do
    if name ~= key and (at[name] or not key) then -- where the samples are known, other arrays are not read
      local ok, t = check.try(file.get, file, name)
      if not ok then
        out.notes[#out.notes + 1] = ('%s is ignored: %s'):format(name, (tostring(t):gsub('^.-npy: ', '')))
      elseif not tensor.is(t) then
        local list = texts(t)
        if list and at[name] then out.lists[#out.lists + 1] = { name = name, texts = list }
        else
          out.notes[#out.notes + 1] = ('%s is ignored: it holds text, and names of channels are called %s'):format(name,
            table.concat(NAMES, ', ', 1, #NAMES - 1) .. ' or ' .. NAMES[#NAMES])
        end
      elseif not key and t.ndim >= o.least and t.ndim <= o.most
        and tensor.kind[t.dtype] ~= 'c' and t:numel() > best then
        best, out.key = t:numel(), name
      end
    end
  end
  table.sort(out.lists, function(a, b) return at[a.name] < at[b.name] end)
  out.key = key or out.key
  if not out.key then
    error(('%s: %s holds no array of %d to %d axes; it has %s'):format(fname, file.path, o.least, o.most,
      #file.names > 0 and table.concat(file.names, ', ') or 'no arrays'), 3)
  end
  out.data = file:get(out.key)
  if not tensor.is(out.data) then
    error(('%s: %s of %s holds texts; name an array of samples'):format(fname, out.key, file.path), 3)
  end
  out.fs = M.number(file, RATES)
  return out
end

--- Names of `count` channels out of the lists of an archive, or nil; lists of another length are noted.
---@param found table of M.read
---@param count integer
---@return string[]|nil
function M.names(found, count)
  local names
  for _, l in ipairs(found.lists) do
    if #l.texts == count and not names then names = l.texts
    elseif #l.texts ~= count then
      found.notes[#found.notes + 1] = ('%s is ignored: it names %d channels, and there %s %d'):format(l.name, #l.texts,
        count == 1 and 'is' or 'are', count)
    end
  end
  return names
end

return M
