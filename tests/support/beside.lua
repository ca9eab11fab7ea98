-- beside.lua - a call on a device beside the same on the CPU, within the class of the row.
local mc = require 'mascon'
local support = package.loaded['mascon tests support']
local calls, device = support.load 'calls', support.load 'device'
local tol, sample = support.load 'tol', support.load 'sample'
local M = {}

--- The tensors of a result in a fixed order.
local function flat(v, out)
  if mc.is_tensor(v) then out[#out + 1] = v
  elseif type(v) == 'table' then
    local keys = {}
    for k in pairs(v) do keys[#keys + 1] = k end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, k in ipairs(keys) do flat(v[k], out) end
  elseif v ~= nil then out[#out + 1] = mc.tensor(v) end
  return out
end

local EPS = { f32 = 2 ^ -23, f64 = 2 ^ -52, c64 = 2 ^ -23, c128 = 2 ^ -52, f16 = 2 ^ -10, bf16 = 2 ^ -7 }

--- Raises unless got is want within the class of a row. n: elements that a result depends on.
function M.same(row, got, want, n)
  if got.dtype ~= want.dtype or got.shape ~= want.shape then
    error(('%s[%s], want %s[%s]'):format(got.dtype, got.shape, want.dtype, want.shape), 0)
  end
  local class = (want.dtype:find '^c' and row.ctol) or row.tol
  if not EPS[want.dtype] then class = 'EXACT' end
  local a, b = sample.read(got), sample.read(want)
  for i = 1, #b do
    local v = b[i]
    local size = type(v) == 'table' and math.max(math.abs(v.re), math.abs(v.im))
      or type(v) == 'number' and math.abs(v) or 1
    local more = { n = n, scale = math.max(size, 1), bound = 1000 * (EPS[want.dtype] or 0) * math.max(size, 1) }
    local wrong = tol.compare(class, want.dtype, a[i], b[i], more)
    if wrong then error(('element %d: %s'):format(i, wrong), 0) end
  end
end

--- Runs a call on the CPU and on the device; the reason when it has no form there.
function M.case(row, dtype, call)
  return mc.scope(function()
    local ok, want = pcall(function() return { call.f(unpack(call.args)) } end)
    if not ok then return end
    local good, got = pcall(function() return { call.f(unpack(device.moved(call.args))) } end)
    local a
    if good then good, a = pcall(function() -- errors of values come where the host waits
      local moved = flat(got, {})
      for i, t in ipairs(moved) do moved[i] = t:to 'cpu' end
      return moved
    end) end
    if not good then
      local message = tostring(good and got or a or got)
      if device.lacks(message) then return message end
      error(('%s %s %s: %s'):format(row[1], dtype, call.what, message), 0)
    end
    local b = flat(want, {})
    assert(#a == #b, row[1] .. ': number of results')
    for i = 1, #b do
      local fine, wrong = pcall(M.same, row, a[i], b[i], calls.SMALL / 2)
      if not fine then error(('%s %s %s: %s'):format(row[1], dtype, call.what, wrong), 0) end
    end
  end)
end

return M
