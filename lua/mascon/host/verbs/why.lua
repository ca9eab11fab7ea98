-- why.lua - `mascon why A B`: where two results part, and which recorded facts could be the reason.
--
-- Reads the two manifests only; of npz files that differ and lie beside them it says by how much. Exit status 0 when
-- the results agree, 1 when they part, 2 for wrong use.
local M = {}

local function say(...) io.stdout:write(string.format(...), '\n') end

local function short(v)
  local text = tostring(v)
  return #text == 64 and text:match '^%x+$' and text:sub(1, 12) or text
end

--- Folder of a result given as folder or manifest.
local function folder(path) return (path:gsub('/?[^/]*%.json$', ''):gsub('^$', '.')) end

--- Whether two arrays of texts, or whatever else is no tensor, hold the same.
local function same_words(p, q)
  if type(p) ~= 'table' or type(q) ~= 'table' then return p == q end
  for k, v in pairs(p) do if not same_words(v, q[k]) then return false end end
  for k in pairs(q) do if p[k] == nil then return false end end
  return true
end

--- Largest absolute difference of the arrays of two npz files, as lines.
local function npz_apart(a, b)
  local mc = require 'mascon'
  local x, y = mc.load(a), mc.load(b)
  local names, lines = {}, {}
  for k in pairs(x) do names[k] = true end
  for k in pairs(y) do names[k] = true end
  local sorted = {}
  for k in pairs(names) do sorted[#sorted + 1] = k end
  table.sort(sorted)
  for _, k in ipairs(sorted) do
    local p, q = x[k], y[k]
    if not p or not q then
      lines[#lines + 1] = ('  %s: only in the %s'):format(k, p and 'first' or 'second')
    elseif not mc.is_tensor(p) or not mc.is_tensor(q) then -- names and other texts
      if not same_words(p, q) then lines[#lines + 1] = ('  %s: other words'):format(k) end
    elseif p.dtype ~= q.dtype or p.shape ~= q.shape then
      lines[#lines + 1] = ('  %s: %s%s and %s%s'):format(k, p.dtype, tostring(p.shape), q.dtype, tostring(q.shape))
    elseif p:numel() > 0 and not mc.array_equal(p, q) then
      local kind = p.dtype == 'bool' and 'u8' or p.dtype
      local d = mc.abs(p:to(kind):to('f64') - q:to(kind):to('f64'))
      local odd = mc.isnan(d)
      local most = mc.where(odd, 0, d):max():item()
      local nan = mc.ne(mc.isnan(p:to('f64')), mc.isnan(q:to('f64'))):sum():item()
      lines[#lines + 1] =
        ('  %s: largest difference %.3g%s'):format(k, most, nan > 0 and (', %d NaN in one only'):format(nan) or '')
    end
  end
  return lines
end

local function exists(path)
  local f = io.open(path, 'rb')
  if f then f:close() end
  return f ~= nil
end

---@param args string[]
---@return integer status
function M.main(args)
  if #args ~= 2 then
    io.stderr:write('mascon why needs two results: mascon why A B (folders, or their manifest.json)\n')
    return 2
  end
  local manifest = require 'mascon.report.manifest'
  local records = {}
  for i = 1, 2 do
    local record, message = manifest.read(args[i])
    if not record then
      io.stderr:write('mascon why: ', message, '\n')
      return 2
    end
    records[i] = record
  end
  local a, b = records[1], records[2]
  local apart = manifest.facts_apart(a, b)
  if #apart > 0 then
    say('recorded facts that differ:')
    for _, d in ipairs(apart) do say('  %s: %s | %s', d[1], short(d[2]), short(d[3])) end
  end
  local stage, how, same = manifest.stage_apart(a, b)
  local files, looked = manifest.outputs_apart(a, b)
  if not stage and #files == 0 then
    say('the results agree: %d stage%s and %d file%s have the same hash', same, same == 1 and '' or 's', looked,
      looked == 1 and '' or 's')
    return 0
  end
  if stage then
    say('first stage in which they part: %s (%s; %d stage%s before it agree%s)', stage, how, same,
      same == 1 and '' or 's', same == 1 and 's' or '')
  else
    say('all %d stages agree', same)
  end
  for _, f in ipairs(files) do
    say('file %s: %s', f[1], f[2])
    local p, q = folder(args[1]) .. '/' .. f[1], folder(args[2]) .. '/' .. f[1]
    if f[1]:match '%.npz$' and exists(p) and exists(q) then
      for _, line in ipairs(npz_apart(p, q)) do say('%s', line) end
    end
  end
  if #apart == 0 then
    say('no recorded fact differs: look for times, unseeded random numbers or state outside the script')
  end
  return 1
end

return M
