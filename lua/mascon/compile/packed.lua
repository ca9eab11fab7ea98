-- packed.lua - plain tables as a string, a tenth of their size: what a plan keeps for a question that may never come.
--
-- Tensors, rows of the op table, functions and objects stay as they are, in a list beside it. Tables come back as
-- copies, without what is false.
local buffer = require 'string.buffer'

local M = {}

local WHOLE = { row = true, call = true } -- fields whose tables stay as they are
-- fields of operands that no graph is built from
local LEFT_OUT = { version = true, now = true, gone = true, traced = true }
local dict = { 'dtype', 'shape', 'strides', 'serial', 'offset', 'numel', 'size', 'kind', 'op', 'row', 'compute',
  'params', 'ins', 'outs', 'const', 'literal', 'weak', 'line', 'turn', 'kept', 'copy' }

--- A list of tables as a string and a list of what cannot be in it.
---@param list table[]
---@return table packed
function M.pack(list)
  local things, place = {}, {}
  local function thing(v)
    if not place[v] then
      things[#things + 1] = v
      place[v] = #things
    end
    return 1LL * place[v]
  end
  local function plain(v, key)
    local kind = type(v)
    if kind == 'table' and not getmetatable(v) and not WHOLE[key] then
      local out = {}
      for k, x in pairs(v) do if x and not LEFT_OUT[k] then out[k] = plain(x, k) end end
      return out
    end
    if kind == 'table' or kind == 'cdata' or kind == 'function' or kind == 'userdata' then return thing(v) end
    return v
  end
  local out = buffer.new { dict = dict }
  for _, v in ipairs(list) do out:encode(plain(v)) end
  return { text = out:tostring(), things = things, n = #list }
end

--- The list that was packed.
---@param packed table
---@return table[]
function M.unpack(packed)
  local things = packed.things
  local function whole(v)
    if type(v) == 'cdata' then return things[tonumber(v)] end
    if type(v) == 'table' then for k, x in pairs(v) do v[k] = whole(x) end end
    return v
  end
  local text, out = buffer.new { dict = dict }:put(packed.text), {}
  for i = 1, packed.n do out[i] = whole(text:decode()) end
  return out
end

return M
