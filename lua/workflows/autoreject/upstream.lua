-- upstream.lua - a model that Python's autoreject saved (ar.save('x-ar.hdf5')).
--
-- Holds h5io's layout, as far as such a state needs it, and the names upstream gives to the fields of a model. Source:
-- autoreject 0.5.1, AutoReject.__getstate__; h5io 0.2.5, write_hdf5.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local file = require 'mascon.io.hdf5_file'
local json = require 'mascon.base.json'
local options = require 'workflows.autoreject.options'
local error = check.error
local M = {}

-- dicts within lists within dicts
local DEEPEST = 32

local SIGNATURE = '\137HDF\r\n\26\n'

--- Whether a file is HDF5.
---@param path string
---@return boolean
function M.is(path)
  local f = io.open(path, 'rb')
  local head = f and f:read(8)
  if f then f:close() end
  return head == SIGNATURE
end

local function damaged(path, what)
  error(('autoreject.load: %s %s; save it again with autoreject 0.4 or later'):format(path, what), 5)
end

local function codes(o)
  local out = {}
  for i, c in ipairs(o:numbers():reshape { -1 }:totable()) do out[i] = string.char(c % 256) end
  return table.concat(out)
end

--- One object of h5io's tree as a Lua value: dicts and lists as tables, None as mc.none, arrays as tensors.
local function read(path, o, depth)
  if depth > DEEPEST then damaged(path, 'is nested too deep') end
  local a = o:has('attributes', 'TITLE') and o:attribute 'TITLE'
  local title = a and a.holds == 'texts' and a:texts()[1]
  if a then a:close() end
  local out
  if title == 'dict' or title == 'list' or title == 'tuple' then
    out = {}
    for _, name in ipairs(o:names 'links') do
      local child = o:at(name)
      local key = name:match '^key_(.*)$'
      local position = tonumber((name:match '^idx_(%d+)$'))
      if key ~= 'dots' then -- of the field mapping: made anew from the positions
        local v = read(path, child, depth + 1)
        if key then out[key:gsub('{FWDSLASH}', '/')] = v elseif position then out[position + 1] = v end
      end
      child:close()
    end
  elseif o.holds ~= 'numbers' then out = mc.none
  elseif title == 'None' then out = mc.none
  elseif title == 'unicode' or title == 'ascii' then out = codes(o)
  elseif title == 'json' then out = json.decode(codes(o)) or mc.none
  elseif title == 'ndarray' then out = o:numbers()
  elseif o.numel == 1 then out = o:numbers():reshape { -1 }[1]:item() -- int, float, np_...
  else out = mc.none end
  return out
end

local function number(path, v, what, least)
  if type(v) ~= 'number' or v ~= v or v < least then damaged(path, ('has no usable %s'):format(what)) end
  return v
end

--- A list of numbers, from a list or an array; nil for None.
local function list_of(v)
  if mc.is_tensor(v) then v = v:reshape { -1 }:to('f64'):totable() end
  return type(v) == 'table' and getmetatable(v) == nil and #v > 0 and v or nil
end

local function place_in(grid, v)
  for i, g in ipairs(grid) do
    if g == v then return i end
  end
end

--- Names of the channels of one type, sorted, and their thresholds.
local function limits_of(path, kind, inner)
  local limits = type(inner) == 'table' and inner.threshes_
  if type(limits) ~= 'table' then damaged(path, ('lacks the thresholds of %s'):format(kind)) end
  local names, values = {}, {}
  for name in pairs(limits) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do values[i] = number(path, limits[name], 'threshold of ' .. tostring(name), 0) end
  if #names == 0 then damaged(path, ('lacks the thresholds of %s'):format(kind)) end
  return names, values
end

--- One type of channels.
local function type_of(path, kind, state, names, values, consensus_grid, n_interpolate_grid)
  local loss = type(state.loss_) == 'table' and state.loss_[kind]
  if not mc.is_tensor(loss) or loss.ndim ~= 3 or loss.shape[1] ~= #consensus_grid
    or loss.shape[2] ~= #n_interpolate_grid then
    damaged(path, ('has no loss of %s for each consensus and n_interpolate'):format(kind))
  end
  loss = loss:to 'f64'
  local consensus, repaired = number(path, (state.consensus_ or {})[kind], 'consensus_', 0),
    number(path, (state.n_interpolate_ or {})[kind], 'n_interpolate_', 0)
  return {
    type = kind, names = names, threshold = mc.tensor(values, { dtype = 'f64' }), consensus = consensus,
    n_interpolate = repaired, n_interpolate_grid = n_interpolate_grid, consensus_index = place_in(consensus_grid,
      consensus), n_interpolate_index = place_in(n_interpolate_grid, repaired), loss = loss, mean_loss = loss:mean(3),
  }
end

--- The fields of a model from a state of upstream. Its ways are those of compat = 'upstream'.
---@param path string
---@return table fields
function M.fields(path)
  local root = file.open(path)
  if not root:has('links', 'autoreject') then damaged(path, 'holds no state of autoreject') end
  local o = root:at 'autoreject'
  local state = read(path, o, 0)
  o:close()
  root:close()
  if type(state) ~= 'table' or type(state.local_reject_) ~= 'table' or getmetatable(state.local_reject_) ~= nil then
    damaged(path, 'holds a model that was not fitted')
  end
  local kinds, channels, names, values = {}, 0, {}, {}
  for kind, inner in pairs(state.local_reject_) do
    kinds[#kinds + 1] = kind
    names[kind], values[kind] = limits_of(path, kind, inner)
    channels = channels + #names[kind]
  end
  table.sort(kinds)
  local fname = 'autoreject.load'
  local method = state.thresh_method
  local picks = type(state.picks) == 'string' and { state.picks } or list_of(state.picks)
  for i, p in ipairs(picks or {}) do picks[i] = type(p) == 'number' and p + 1 or p end
  local seed = type(state.random_state) == 'number' and state.random_state or 0
  local ok, o_ = check.try(options.complete, fname, {
    compat = 'upstream', random_state = seed, verbose = false,
    thresh_method = place_in(options.METHODS, method) and method or nil, cv = type(state.cv) == 'number' and state.cv
      or nil, consensus = list_of(state.consensus), n_interpolate = list_of(state.n_interpolate), picks = picks,
  }, options.FIT)
  local function said(e) return (tostring(e):gsub('^.-autoreject%.load: ', '')) end
  if not ok then damaged(path, 'holds options that do not fit: ' .. said(o_)) end
  local fine, grid = check.try(options.consensus, fname, o_.consensus)
  local good, repaired = check.try(options.n_interpolate, fname, o_.n_interpolate, channels)
  if not (fine and good) then
    damaged(path, ('holds lists that do not fit: %s'):format(said(fine and repaired or grid)))
  end
  local out = { options = o_, given = { picks = picks }, seed = seed, order = kinds, warnings = {}, types = {},
    consensus_grid = grid }
  for _, kind in ipairs(kinds) do
    out.types[kind] = type_of(path, kind, state, names[kind], values[kind], grid, repaired)
  end
  return out
end

return M
