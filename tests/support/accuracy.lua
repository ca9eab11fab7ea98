-- accuracy.lua - the error of the special functions against golden answers, in units in the last place.
--
-- Read by special_spec.lua, which holds the committed files (tests/golden/special_*.npz) to the table
-- tests/golden/accuracy_special.lua, and by tests/golden/measure_special.lua, which writes that table from many more
-- points. The unit is that of the answer, or of the amplitude stored beside it where a function oscillates.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local M = {}

--- Golden files of a folder, part after part.
function M.files(folder)
  local out = {}
  for k = 1, 99 do
    local path = ('%s/special_%d.npz'):format(folder, k)
    local f = io.open(path, 'rb')
    if not f then break end
    f:close()
    out[k] = path
  end
  return out
end

--- Functions of a loaded file: { name =, args = tensors, want =, scale = or nil }, sorted.
function M.functions(file)
  local out = {}
  for name, want in pairs(file) do
    if file[name .. '_1'] then
      local f = { name = name, want = want, scale = file[name .. '_s'], args = {} }
      for k = 1, 3 do f.args[k] = file[name .. '_' .. k] end
      out[#out + 1] = f
    end
  end
  table.sort(out, function(a, b) return a.name < b.name end)
  return out
end

local function size(v) return type(v) == 'number' and math.abs(v) or v:abs() end
local function text(v) return type(v) == 'number' and ('%.17g'):format(v) or ('%.17g%+.17gi'):format(v.re, v.im) end

--- Largest error of f in ULP of f64 (for complex numbers of the modulus), and where.
---@return number worst, string at
function M.worst(f)
  local got, want, scale = mc.special[f.name](unpack(f.args)):totable(), f.want:totable(), f.scale and f.scale:totable()
  local worst, at = 0, 0
  for i = 1, #want do
    local g, w = got[i], want[i]
    local e = 0
    if g ~= w then
      e = size(g - w) / tol.ulp('f64', math.max(size(w), scale and scale[i] or 0))
      if e ~= e then e = math.huge end
    end
    if e > worst then worst, at = e, i end
  end
  local args = {}
  for k, a in ipairs(f.args) do args[k] = at > 0 and text(a[at]:item()) or '' end
  return worst,
    at > 0 and ('%s(%s) = %s, want %s'):format(f.name, table.concat(args, ', '), text(got[at]), text(want[at])) or ''
end

--- Whether f32 operands give the f64 result rounded once.
---@return string|nil what is wrong
function M.single(f)
  local narrow, wide = {}, {}
  for k, a in ipairs(f.args) do
    local short = a.dtype == 'c128' and 'c64' or 'f32'
    narrow[k] = a:to(short)
    wide[k] = narrow[k]:to(a.dtype)
  end
  local short = f.want.dtype == 'c128' and 'c64' or 'f32'
  local got, want = mc.special[f.name](unpack(narrow)), mc.special[f.name](unpack(wide)):to(short)
  if got.dtype ~= short then return f.name .. ' of f32 gives ' .. got.dtype end
  got, want = got:totable(), want:totable()
  for i = 1, #want do
    if got[i] ~= want[i] and (got[i] == got[i] or want[i] == want[i]) then
      return ('%s in %s, point %d: %s, f64 rounded is %s'):format(f.name, short, i, text(got[i]), text(want[i]))
    end
  end
end

return M
