-- call.lua - the calls of rows with one operand and parameters (reductions, scans, sorts, transforms), written out row
-- by row.
--
-- A call that is as it should be, x:sum(2), x:sum { 2, keepdim = true }, x:std(1, { correction = 1 }), is checked and
-- packed by straight code made from the parameters of its row: no table of options, no loop, no call but the one to
-- C. Everything else, mistakes included, goes to the general way, which finds the words.
local tensor = require 'mascon.core.tensor'
local lib = require 'mascon.core.ffi'
local keys = require 'mascon.core.keys'
local M = {}

local HERE = debug.getinfo(1, 'S').source -- errors blame the caller of the library, not this text
local MOST_KEYS = 4 -- options of a call that are looked at without a loop; keys gives one more

--- The text of one check: a condition under which the value v of a parameter is fine, and how it is packed.
local WRITE = {}
function WRITE.axes(o, v)
  o('if %s == nil then P.naxes = -1', v)
  o("elseif type(%s) == 'number' and %s %% 1 == 0 and %s ~= 0 and %s <= n and %s >= -n then P.naxes, P.axes[0] = 1, %s "
    .. "> 0 and %s - 1 or %s + n", v, v, v, v, v, v, v, v)
  o 'else goto general end'
end
WRITE.axis = WRITE.axes
function WRITE.keepdim(o, v)
  o('if %s == nil or %s == false then P.keepdim = 0 elseif %s == true then P.keepdim = 1 else goto general end', v, v,
    v)
end
function WRITE.bool(o, v, at) o("if type(%s) ~= 'boolean' then goto general end P.i[%d] = %s and 1 or 0", v, at, v) end
function WRITE.int(o, v, at)
  o("if type(%s) ~= 'number' or %s %% 1 ~= 0 or %s >= 2^53 or %s <= -2^53 then goto general end P.i[%d] = %s",
    v, v, v, v, at, v)
end
function WRITE.number(o, v, at) o("if type(%s) ~= 'number' then goto general end P.d[%d] = %s", v, at, v) end
function WRITE.ints(o, v, at)
  o("if type(%s) ~= 'number' or %s %% 1 ~= 0 or %s >= 2^53 or %s <= -2^53 then goto general end P.i[%d], "
    .. "P.i[%d] = 1, %s", v, v, v, v, at, at + 1, v)
end

local function literal(v)
  if type(v) == 'string' then return ('%q'):format(v) end
  return tostring(v)
end

--- The call of a row.
---@param row table
---@param general fun(x, first, second, extra): any all other calls
---@param offers { dtype: boolean, all_is_item: boolean } dtype: the option dtype is taken; all_is_item: over everything
---  the result is a Lua value
---@return function
function M.of(row, general, offers)
  local params = row.params or {}
  local lines, places, names, in_first = {}, {}, {}, {}
  local function o(text, ...) lines[#lines + 1] = select('#', ...) > 0 and text:format(...) or text end
  for _, p in ipairs(params) do names[p[1]], in_first[p[1]] = true, true end
  if row.base then names.base, in_first.base = true, true end
  if offers.dtype then names.dtype, in_first.dtype = true, true end
  local several = params[1] and params[1][2] == 'axes'
  for k = 1, several and 2 or #params do in_first[k] = true end -- a longer list of axes goes the general way

  o 'local ct, istype, new, op1, finish, block, keys, type, names, in_first, general, id, code, places, item = ...'
  o 'local spare' -- the block of this function between calls: see ffi.lua
  o 'return function(x, first, second, extra)'
  o '  local P = spare'
  o '  if P then spare = nil else P = block() end'
  local vars = {}
  for k = 1, #params do vars[k] = 'v' .. k end
  o('  local n, o, k1, k2, k3, k4, k5, list%s%s%s', #vars > 0 and ', ' or '', table.concat(vars, ', '), ', more')
  o '  if extra ~= nil or not istype(ct, x) then goto general end'
  o '  n = x._ndim'
  if #params > 0 then
    o "  if type(first) == 'table' then"
    o '    if second ~= nil then goto general end'
    o '    o, list = first, in_first'
    if several then o '    v1, more = first[1], first[2]'
    else for k = 1, #params do o('    v%d = first[%d]', k, k) end end
    o '  else'
    o '    v1 = first'
    o '    if second ~= nil then'
    if params[2] then
      o("      if type(second) == 'number' then v2 = second elseif type(second) == 'table' then o, list = second, "
        .. "names else goto general end")
    else
      o "      if type(second) == 'table' then o, list = second, names else goto general end"
    end
    o '    end'
    o '  end'
  else
    o("  if first ~= nil then if type(first) ~= 'table' or second ~= nil then goto general end o, list = "
      .. "first, names end")
  end
  o '  if o then'
  o '    k1, k2, k3, k4, k5 = keys(o)'
  for k = 1, MOST_KEYS do o('    if k%d ~= nil and not list[k%d] then goto general end', k, k) end
  o '    if k5 ~= nil then goto general end'
  for k, p in ipairs(params) do
    o('    if v%d == nil then v%d = o.%s elseif o.%s ~= nil then goto general end', k, k, p[1], p[1])
  end
  o '  end'
  for k, p in ipairs(params) do if p[3] ~= nil then o('  if v%d == nil then v%d = %s end', k, k, literal(p[3])) end end
  -- what C reads of parameters that the row has not
  local has_axes, has_keepdim = false, false
  local ni, nd = 0, 0
  for k, p in ipairs(params) do
    local kind, v = p[2], 'v' .. k
    if kind == 'axes' or kind == 'axis' then
      has_axes = true
      WRITE.axes(o, v)
    elseif p[1] == 'keepdim' then
      has_keepdim = true
      WRITE.keepdim(o, v)
    elseif kind == 'number' then
      WRITE.number(o, v, nd)
      nd = nd + 1
    elseif type(kind) == 'table' then
      places[p[1]] = {}
      for i, c in ipairs(kind) do places[p[1]][c] = i - 1 end
      o('  if %s == nil then goto general end', v)
      o('  %s = places.%s[%s]', v, p[1], v)
      o('  if %s == nil then goto general end P.i[%d] = %s', v, ni, v)
      ni = ni + 1
    else
      assert(WRITE[kind],
        row[1] .. ': a parameter of kind ' .. tostring(kind) .. ' is not packed by call.lua')(o, v, ni)
      ni = ni + (kind == 'ints' and 9 or 1)
    end
  end
  if several then
    o '  if more ~= nil then'
    o("    if v1 == nil or type(more) ~= 'number' or more % 1 ~= 0 or more == 0 or more > n or more < -n then "
      .. "goto general end")
    o '    P.naxes, P.axes[1] = 2, more > 0 and more - 1 or more + n'
    o '  end'
  end
  if not has_axes then o '  P.naxes = -1' end
  if not has_keepdim then o '  P.keepdim = 0' end
  if row.base then
    o '  P.base = 1'
    o '  if o and o.base ~= nil then if o.base ~= 0 and o.base ~= 1 then goto general end P.base = o.base end'
  else o '  P.base = 1' end
  o '  P.dtype = -1'
  if offers.dtype then
    o '  if o and o.dtype ~= nil then P.dtype = code[o.dtype] or -2 if P.dtype == -2 then goto general end end'
  end
  o '  do'
  o '    local s = x._small'
  o '    if x._dtype < 8 then s = s * 8 end'
  if row.family == 'reduce' then
    o '    if P.naxes == -1 and P.keepdim == 0 then s = 16 elseif s > 1024 or s == 0 then s = 1024 end'
  else
    o '    if s > 1024 then s = 1024 end'
  end
  o '    local out = new(ct, (s + 7) / 8)'
  o '    local rc = op1(id, out, s, x, P)'
  if offers.all_is_item then o '    local all = P.naxes == -1 and P.keepdim == 0' end
  o '    spare = P'
  if offers.all_is_item then o '    if rc <= 0 and all then return item(rc == 0 and out or finish(out)) end' end
  o '    if rc == 0 then return out end'
  o '    if rc == -1 then return finish(out) end'
  o '  end'
  o '  ::general::'
  o '  spare = P'
  o '  return (general(x, first, second, extra))'
  o 'end'
  local f = assert(loadstring(table.concat(lines, '\n'), HERE))
  return f(tensor.ct, tensor.istype, tensor.new, lib.C.mc_op1_with_new, tensor.finish, lib.params_t, keys, type, names,
    in_first, general, row.id, tensor.code, places,
    tensor.methods.item)
end

return M
