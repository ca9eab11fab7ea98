-- aliases.lua - results of a compiled function that show memory of its arguments, of one another, or of tensors from
-- outside.
--
-- A replay makes its results anew. What the plain function returns as a view of an argument, as two views of one
-- buffer, or as a tensor that was there before is put together from the arguments, the plan's results and that tensor,
-- so that writes to it reach what they reach without mc.compile. Holds the outline of results and where each of their
-- tensors comes from.
local recording = require 'mascon.graph.recording'
local random = require 'mascon.random.key'
local tensor = require 'mascon.core.tensor'
local tree = require 'mascon.graph.tree'

local M = {}

-- stand for a tensor and for a random key in the outline of a result, which keeps none alive
M.TENSOR = setmetatable({}, { __tostring = function() return 'a tensor' end })
M.KEY = setmetatable({}, { __tostring = function() return 'a key' end })

local function outline(v)
  if tensor.is(v) then return M.TENSOR end
  if random.is_key(v) then return M.KEY end
  if not tree.is_branch(v) then return v end
  local out = {}
  for _, k in ipairs(tree.keys(v)) do out[k] = outline(v[k]) end
  return tree.like(out, v)
end

--- Results with marks in the place of tensors and keys.
---@param results table { n =, ... }
function M.outline(results)
  local out = { n = results.n }
  for i = 1, results.n do out[i] = outline(results[i]) end
  return out
end

--- Whether some results are functions or objects of the library, which may hold tensors: they stay as they were made.
function M.opaque(v)
  if v == M.TENSOR or v == M.KEY then return false end
  if not tree.is_branch(v) then return type(v) == 'table' or type(v) == 'function' or type(v) == 'thread' end
  for _, x in pairs(v) do if M.opaque(x) then return true end end
  return false
end

--- An outline with these tensors, from place `at` on; the next place.
function M.shaped(v, outs, at)
  if v == M.TENSOR then return outs[at], at + 1 end
  if v == M.KEY then return random.of(outs[at]), at + 1 end
  if not tree.is_branch(v) then return v, at end
  local t = {}
  for _, k in ipairs(tree.keys(v)) do t[k], at = M.shaped(v[k], outs, at) end
  return tree.like(t, v), at
end

--- Which tensors of an outline belong to results at some positions (a set): by place of the tensor.
function M.among(shown, positions)
  local out, at = {}, 0
  local function walk(v, yes)
    if v == M.TENSOR or v == M.KEY then
      at = at + 1
      out[at] = yes
    elseif tree.is_branch(v) then for _, k in ipairs(tree.keys(v)) do walk(v[k], yes) end end
  end
  for i = 1, shown.n do walk(shown[i], positions[i] == true) end
  return out
end

local function layout(t, first)
  local l = recording.layout(t)
  return { shape = l.shape, strides = l.strides, offset = recording.offset(t) - first, dtype = l.dtype }
end

--- Where the tensors of the results come from.
---@param leaves any[] tensors that f returned
---@param inputs any[] tensors that stood for its arguments
---@param since integer serial of a buffer made before f ran
---@return any[] outputs tensors that a replay makes
---@return table? places of each leaf: { output = k }, { input = k } or { kept = tensor }, with a layout where it is a
--- view of that; nil when the leaves are the outputs
function M.find(leaves, inputs, since)
  local input_of, count, some = {}, {}, false
  for k, t in ipairs(inputs) do input_of[recording.serial(t)] = k end
  local function serial(t) return recording.serial(recording.own(t)) end
  for _, t in ipairs(leaves) do count[serial(t)] = (count[serial(t)] or 0) + 1 end
  local outputs, places, base = {}, {}, {}
  for i, t in ipairs(leaves) do
    local s = serial(t)
    local k = input_of[s]
    if k and not recording.weak(inputs[k]) then
      some, places[i] = true, { input = k }
      if not rawequal(t, inputs[k]) then places[i].layout = layout(t, recording.offset(inputs[k])) end
    elseif not k and s <= since then
      some, places[i] = true, { kept = t }
    elseif count[s] > 1 and not k then
      some = true
      if not base[s] then
        local all = recording.all_of(t)
        outputs[#outputs + 1] = all
        base[s] = #outputs
      end
      places[i] = { output = base[s] }
      local l = layout(t, 0)
      for j = 1, i - 1 do -- one tensor twice is one tensor
        if rawequal(leaves[j], t) then places[i].same = j end
      end
      places[i].layout = l
    else
      outputs[#outputs + 1] = t
      places[i] = { output = #outputs }
    end
  end
  return outputs, some and places or nil
end

local function view(t, l)
  if l.dtype ~= t._dtype then t = t:view_real() end
  return recording.strided(t, l.shape, l.strides, l.offset)
end

--- The tensors of the results.
---@param places table of M.find
---@param outputs any[] what a replay made
---@param args any[] leaves of the arguments
function M.tensors(places, outputs, args)
  local out = {}
  for i, p in ipairs(places) do
    local t = p.kept or (p.input and args[p.input]) or outputs[p.output]
    if p.same then out[i] = out[p.same]
    else out[i] = p.layout and view(t, p.layout) or t end
  end
  return out
end

return M
