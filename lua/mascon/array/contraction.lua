-- contraction.lua - in which order many tensors are multiplied pairwise: the search behind einsum.
--
-- Holds the cost of a step (the product of the sizes of all labels that meet in it) and two searches: over all subsets,
-- which is exact and takes 3^n steps, and a greedy one for many operands.
local M = {}

--- Operands up to which the search over subsets is made: 6561 splits.
M.EXACT = 8

local function size_of(set, sizes)
  local n = 1
  for l in pairs(set) do n = n * sizes[l] end
  return n
end

local function union(a, b)
  local out = {}
  for l in pairs(a) do out[l] = true end
  for l in pairs(b) do out[l] = true end
  return out
end

--- Labels that stay when operands meet: those of the result or of an operand that is not among them.
local function staying(set, keep, others)
  local out = {}
  for l in pairs(set) do
    local stays = keep[l]
    for _, o in ipairs(others) do stays = stays or o[l] end
    if stays then out[l] = true end
  end
  return out
end

--- Exact: the cheapest tree over subsets of operands. Returns the tree as nested pairs of positions, and its cost.
local function exact(sets, keep, sizes)
  local n = #sets
  local all = 2 ^ n - 1
  local labels, cost, how = {}, {}, {}
  for s = 1, all do
    local met, others, count = {}, {}, 0
    for i = 1, n do
      if math.floor(s / 2 ^ (i - 1)) % 2 == 1 then
        met, count, how[s] = union(met, sets[i]), count + 1, i
      else
        others[#others + 1] = sets[i]
      end
    end
    labels[s] = count == 1 and sets[how[s]] or staying(met, keep, others)
    cost[s] = count == 1 and 0 or math.huge
    if count > 1 then how[s] = nil end
  end
  local seen = {}
  local function step(a, b) -- work of one product, remembered by the pair of label sets' subsets
    local key = a * 2 ^ n + b
    local v = seen[key]
    if not v then
      v = size_of(union(labels[a], labels[b]), sizes)
      seen[key] = v
    end
    return v
  end
  local bit = require 'bit'
  for s = 1, all do
    if cost[s] == math.huge then
      local t = bit.band(s - 1, s)
      while t > 0 do
        local u = s - t
        if t >= u then -- each split once
          local base = cost[t] + cost[u]
          if base < cost[s] then
            local c = base + step(t, u)
            if c < cost[s] then cost[s], how[s] = c, { t, u } end
          end
        end
        t = bit.band(t - 1, s)
      end
    end
  end
  local function tree(s)
    if type(how[s]) == 'number' then return how[s] end
    return { tree(how[s][1]), tree(how[s][2]) }
  end
  return tree(all), cost[all]
end

--- Greedy: always the pair whose product shrinks the memory most, the cheaper one among equals.
local function greedy(sets, keep, sizes)
  local live, total = {}, 0
  for i, s in ipairs(sets) do live[i] = { set = s, tree = i } end
  while #live > 1 do
    local best
    for i = 1, #live - 1 do
      for j = i + 1, #live do
        local others = {}
        for k, o in ipairs(live) do if k ~= i and k ~= j then others[#others + 1] = o.set end end
        local met = union(live[i].set, live[j].set)
        local out = staying(met, keep, others)
        local gain = size_of(out, sizes) - size_of(live[i].set, sizes) - size_of(live[j].set, sizes)
        local work = size_of(met, sizes)
        if not best or gain < best.gain or (gain == best.gain and work < best.work) then
          best = { gain = gain, work = work, i = i, j = j, set = out }
        end
      end
    end
    total = total + best.work
    local joined = { set = best.set, tree = { live[best.i].tree, live[best.j].tree } }
    table.remove(live, best.j)
    table.remove(live, best.i)
    live[#live + 1] = joined
  end
  return live[1].tree, total
end

--- The tree as steps: positions (from 1) in a list from which the two are taken and at whose end their product is put.
local function steps(tree, n)
  local live, out = {}, {}
  for i = 1, n do live[i] = i end
  local function walk(node)
    if type(node) == 'number' then return node end
    local a, b = walk(node[1]), walk(node[2])
    local i, j
    for k, v in ipairs(live) do
      if v == a then i = k elseif v == b then j = k end
    end
    if i > j then i, j = j, i end
    out[#out + 1] = { i, j }
    table.remove(live, j)
    table.remove(live, i)
    live[#live + 1] = node
    return node
  end
  walk(tree)
  return out
end

--- The order for operands with label sets `sets`.
---@param sets table list of sets { label = true }
---@param keep table set of the labels of the result
---@param sizes table size of each label
---@param how string 'auto' | 'optimal' | 'greedy' | 'left' (one after the other)
---@return table path list of { i, j }
---@return number work sum over the steps of the product of the sizes that meet
function M.search(sets, keep, sizes, how)
  local n = #sets
  if n == 1 then return {}, size_of(sets[1], sizes) end
  local tree, work
  if how == 'left' then
    tree, work = 1, 0
    local met = sets[1]
    for i = 2, n do
      local others = {}
      for k = i + 1, n do others[#others + 1] = sets[k] end
      local both = union(met, sets[i])
      work, met, tree = work + size_of(both, sizes), staying(both, keep, others), { tree, i }
    end
  elseif how == 'greedy' or (how == 'auto' and n > M.EXACT) then
    tree, work = greedy(sets, keep, sizes)
  else
    tree, work = exact(sets, keep, sizes)
  end
  return steps(tree, n), work
end

M.size_of, M.union, M.staying = size_of, union, staying
return M
