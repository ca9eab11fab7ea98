-- anew.lua - what is cheap to make is made a second time instead of being kept through the peak of memory.
--
-- A value that is read early and again late (on the way back of a gradient) holds its memory in between. Where
-- elementwise work, a copy or a standardisation makes it of operands that stay anyway, its late readers get a second
-- one, made just before the first of them: the same operation on the same numbers, so the same bits. Holds the choice:
-- values that lie there at the peak, most bytes for their time first, within a small share of the time of the graph.
local graphs = require 'mascon.graph.graph'
local lifetimes = require 'mascon.compile.lifetimes'
local work = require 'mascon.compile.work'

local M = { name = 'anew', doc = 'makes a second time what would have to be kept through the peak of memory' }

M.SMALLEST = 2 ^ 25 -- bytes of a graph from which on it pays
local SHARE = 0.03 -- of the time of the graph
local ROUNDS = 4
-- rough times: an operation of a product, an element of an operation elsewhere, in units of which only quotients count
local PRODUCT, ELEMENT = 1, 40

local CHEAP = { standardise = true, softmax = true }
for family in pairs(require('mascon.core.ffi').gen.elementwise) do CHEAP[family] = true end

local function members_of(n) return n.members or { n } end

--- The time of a node in those units.
local function time(n)
  local t = 0
  for _, m in ipairs(members_of(n)) do
    if m.members then t = t + time(m)
    else t = t + work.of_node(m) * (m.kind == 'op' and not CHEAP[m.row.family] and PRODUCT or ELEMENT) end
  end
  return t
end

--- What may run a second time for the results of a node: the node, or what is made of a product that is written too;
--- else nil.
local function again_of(n)
  if n.alone then return nil end
  if n.kind == 'copy' then return n end
  if n.kind == 'op' then
    return CHEAP[n.row.family] and not n.row.guard and n.row.variant ~= 'back' and n or nil
  end
  local f = n
  if n.kind == 'product' and n.outs[#n.outs] == n.product then
    f = { kind = 'fused', ins = n.leaves, want = n.want, code = n.code, result = n.result, members = {}, outs = {} }
    for i = 1, n.results do f.outs[i] = n.outs[i] end
    for i = 2, #n.members do f.members[i - 1] = n.members[i] end
  end
  if f.kind ~= 'fused' then return nil end
  for _, m in ipairs(f.members) do if m.kind == 'op' and m.row.guard then return nil end end
  return f
end

--- A node whose reads of some values are reads of others; map: value -> value.
local function shown(n, map)
  local function list(uses)
    local out = {}
    for i, u in ipairs(uses) do
      out[i] = u
      if map[u.value] then
        out[i] = {}
        for k, v in pairs(u) do out[i][k] = v end
        out[i].value = map[u.value]
      end
    end
    return out
  end
  n.ins = list(n.ins)
  if n.leaves then n.leaves = list(n.leaves) end
  if n.members then
    local own = {}
    for i, m in ipairs(n.members) do
      own[i] = {}
      for k, v in pairs(m) do own[i][k] = v end
      shown(own[i], map)
    end
    n.members = own
  end
end

--- Places of the reads of each value, and where the memory of the graph is largest.
local function profile(graph, kept)
  local reads, live, most, at = {}, 0, 0, 0
  for k, n in ipairs(graph.nodes) do
    for _, u in ipairs(n.ins) do
      local list = reads[u.value]
      if not list then
        list = {}
        reads[u.value] = list
      end
      if list[#list] ~= k then list[#list + 1] = k end
    end
  end
  for k, n in ipairs(graph.nodes) do
    for _, v in ipairs(n.outs) do if not kept[v] then live = live + graphs.bytes(v) end end
    if live > most then most, at = live, k end
    local gone = {}
    for _, u in ipairs(n.ins) do
      local v, list = u.value, reads[u.value]
      if v.node and not kept[v] and list[#list] == k then gone[v] = true end
    end
    for _, v in ipairs(n.outs) do if not reads[v] and not kept[v] then gone[v] = true end end
    for v in pairs(gone) do live = live - graphs.bytes(v) end
  end
  return reads, most, at
end

--- The first read of a value after a place, or nil.
local function next_read(list, at)
  for _, k in ipairs(list or {}) do if k > at then return k end end
end

--- Nodes before the peak of which some results are read after it and could be made again: { node, place, from, bytes,
--- time }, by bytes for their time.
local function candidates(graph, kept, reads, at)
  local found = {}
  for k = 1, at - 1 do
    local n = again_of(graph.nodes[k])
    local from, bytes, free = nil, 0, n ~= nil
    for _, v in ipairs(free and n.outs or {}) do
      local late = next_read(reads[v], at)
      free = free and not kept[v]
      if late then from, bytes = math.min(from or late, late), bytes + graphs.bytes(v) end
    end
    if from and free then
      found[#found + 1] = { node = n, place = k, from = from, bytes = bytes, time = time(n) }
    end
  end
  table.sort(found, function(a, b)
    local p, q = a.bytes * b.time, b.bytes * a.time
    if p ~= q then return p > q end
    return a.place < b.place
  end)
  return found
end

--- Candidates that are taken while time is left, in the order of their places, and their time. `from` of each is as
--- early as those that are made of it want it.
local function chosen(found, kept, reads, at, budget)
  local taken, list, spent = {}, {}, 0
  --- Bytes that have to stay longer for a node to run again at a place.
  local function held(n, from)
    local bytes, done = 0, {}
    for _, u in ipairs(n.ins) do
      local v = u.value
      if v.node and not kept[v] and not done[v] and not taken[v] then
        done[v] = true
        local last = reads[v] and reads[v][#reads[v]] or 0 -- a product that nobody else reads
        if last < from then bytes = bytes + graphs.bytes(v) / (last > at and 2 or 1) end
      end
    end
    return bytes
  end
  for _, c in ipairs(found) do
    if spent + c.time <= budget and 2 * held(c.node, c.from) < c.bytes then
      for _, v in ipairs(c.node.outs) do taken[v] = c end
      list[#list + 1], spent = c, spent + c.time
    end
  end
  table.sort(list, function(a, b) return a.place < b.place end)
  for k = #list, 1, -1 do
    for _, u in ipairs(list[k].node.ins) do
      local c = taken[u.value]
      if c then c.from = math.min(c.from, list[k].from) end
    end
  end
  return list, spent
end

--- Puts second nodes in: before the first late reader of the first ones.
local function insert(graph, list)
  local before = {}
  for _, c in ipairs(list) do
    before[c.from] = before[c.from] or {}
    table.insert(before[c.from], c)
  end
  local nodes, map = {}, {}
  for k, n in ipairs(graph.nodes) do
    for _, c in ipairs(before[k] or {}) do
      local again = {}
      for key, v in pairs(c.node) do again[key] = v end
      shown(again, map)
      again.remat, again.epoch, again.outs = true, n.epoch, {}
      for i, v in ipairs(c.node.outs) do
        again.outs[i] = graphs.value(graph, v.dtype, v.shape, v.strides, { node = again })
        map[v] = again.outs[i]
      end
      nodes[#nodes + 1] = again
    end
    if next(map) then shown(n, map) end
    nodes[#nodes + 1] = n
  end
  graph.nodes = nodes
end

---@param graph table
---@return table report { nodes, bytes }
function M.run(graph)
  local report = { nodes = 0, bytes = 0 }
  local kept = lifetimes.kept(graph)
  local reads, most, at = profile(graph, kept)
  if most < M.SMALLEST then return report end
  local first, budget = most, 0
  for _, n in ipairs(graph.nodes) do budget = budget + time(n) end
  budget = SHARE * budget
  for _ = 1, ROUNDS do
    local list, spent = chosen(candidates(graph, kept, reads, at), kept, reads, at, budget)
    if #list == 0 then break end
    report.nodes, budget = report.nodes + #list, budget - spent
    insert(graph, list)
    local before = most
    reads, most, at = profile(graph, kept)
    if most >= before then break end
  end
  report.bytes = first - most
  return report
end

return M
