-- work.lua - operations of a node of a graph: two for each term of a product, one for each element elsewhere.
--
-- Holds how many terms the products of each family have; loops count their turns, choices their longest branch.
local graphs = require 'mascon.graph.graph'
local M = {}

local numel = graphs.numel

--- Terms of nodes of a family, from their operands and results.
local TERMS = {}

function TERMS.matmul(n)
  local s = n.ins[1].shape
  return numel(n.outs[1].shape) * (s[#s] or 1)
end

--- The kernel [out, in / groups, taps...] meets each place of what it makes, the results of the convolution that a row
--- belongs to. A transposed one (the gradient of the operand) reads them; the gradient of the kernel has both.
function TERMS.conv(n)
  local kernel, results = n.ins[2].shape, n.outs[1].shape
  if n.row.variant == 'input' then results = n.ins[1].shape
  elseif n.row.variant == 'weight' then kernel, results = n.outs[1].shape, n.ins[2].shape end
  return numel(results) * numel(kernel) / math.max(kernel[1] or 1, 1)
end

--- Fits and means, [.., queries, d] with [.., keys, d] and [.., keys, e]; the way back makes the fits again, and two
--- products for each of both. What a query does not see counts too.
function TERMS.attention(n)
  local q, k, v = n.ins[1].shape, n.ins[2].shape, n.ins[3].shape
  local last, back = #q, n.row.variant == 'back'
  local fits = numel(q) / math.max(q[last], 1) * k[last - 1]
  return fits * (q[last] * (back and 3 or 1) + v[last] * (back and 2 or 1))
end

--- Operations of one node.
---@param n table
---@return number
function M.of_node(n)
  local work = 0
  if n.members then
    for _, m in ipairs(n.members) do work = work + M.of_node(m) end
  elseif n.kind == 'op' and TERMS[n.row.family] then work = 2 * TERMS[n.row.family](n)
  elseif n.kind == 'op' then
    work = numel(n.outs[1].shape)
    for _, u in ipairs(n.ins) do work = math.max(work, numel(u.shape)) end
  elseif n.kind == 'call' then
    local loop = n.prim:lower(M.of)
    for _, part in ipairs(loop.parts) do
      work = loop.kind == 'scan' and work + part * (loop.length or 1) or math.max(work, part)
    end
  end
  return work
end

--- Operations of a graph.
---@param graph table
---@return number
function M.of(graph)
  local work = 0
  for _, n in ipairs(graph.nodes) do work = work + M.of_node(n) end
  return work
end

return M
