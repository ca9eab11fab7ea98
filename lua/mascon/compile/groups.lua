-- groups.lua - nodes that are joined to the nodes that make their operands, as long as no path leaves a group and comes
-- back.
--
-- Such a detour would have to run in the middle of the group. Who may join whom is the caller's rule; here are the
-- merging, the search for detours (bounded, so that a graph of n nodes takes of the order of n steps) and the reason
-- why a node was left alone. Holds groups while they are found.
local M = {}

local SEARCH = 64 -- nodes a search for detours looks at; past that, none is taken for granted

M.visits = 0 -- nodes looked at by searches since the program began: tests hold it against the number of nodes

--- A path leads from `group` to the operands of `n` through some node outside it (and outside the group `own` of n), or
--- `n` reads one of its values as it is not at hand inside.
local function detour(n, group, own, groups_of, position, rule)
  local steps, seen, stack = 0, {}, {}
  local function push(node)
    for _, u in ipairs(node.ins) do
      local p = u.value.node
      if p and not seen[p] and not (own and groups_of[p] == own) then
        seen[p] = true
        stack[#stack + 1] = p
      end
    end
  end
  for _, u in ipairs(n.ins) do
    local p = u.value.node
    if p and groups_of[p] == group then
      if not rule.inner(u, n, group.space) then return true end
      seen[p] = true -- read directly, as a group does
    end
  end
  push(n)
  while #stack > 0 do
    local p = table.remove(stack)
    steps, M.visits = steps + 1, M.visits + 1
    local g = groups_of[p]
    if g == group or steps > SEARCH then return true end
    if g then -- all of a group runs at once: what depends on one of its nodes depends on what all of them read
      if g.last > group.first and not seen[g] then
        seen[g] = true
        for _, m in ipairs(g.nodes) do push(m) end
      end
    elseif position[p] > group.first then
      push(p)
    end
  end
  return false
end

local function clear(nodes, group, own, groups_of, position, rule)
  for _, m in ipairs(nodes) do if detour(m, group, own, groups_of, position, rule) then return false end end
  return true
end

-- ---------------------------------------------------------------- what the search did not see

--- Groups that wait for one another: sets of units (groups, and nodes without one) that reach each other (Tarjan,
--- Depth-first search and linear graph algorithms, 1972). The search for detours stops at nodes that stand before a
--- group, though a group among their operands may run later.
local function knots(nodes, groups_of)
  local index, low, on, path, count, found = {}, {}, {}, {}, 0, {}
  local function operands(unit)
    local list = {}
    for _, m in ipairs(unit.nodes or { unit }) do
      for _, u in ipairs(m.ins) do
        local p = u.value.node
        local q = p and (groups_of[p] or p)
        if q and q ~= unit then list[#list + 1] = q end
      end
    end
    return list
  end
  local function enter(unit, stack)
    count = count + 1
    index[unit], low[unit], on[unit] = count, count, true
    path[#path + 1] = unit
    stack[#stack + 1] = { unit = unit, list = operands(unit), at = 1 }
  end
  for _, n in ipairs(nodes) do
    local stack = {}
    local start = groups_of[n] or n
    if not index[start] then enter(start, stack) end
    while #stack > 0 do
      local top = stack[#stack]
      local q = top.list[top.at]
      top.at = top.at + 1
      if q then
        if not index[q] then enter(q, stack)
        elseif on[q] then low[top.unit] = math.min(low[top.unit], index[q]) end
      else
        table.remove(stack)
        local below = stack[#stack]
        if below then low[below.unit] = math.min(low[below.unit], low[top.unit]) end
        if low[top.unit] == index[top.unit] then
          local knot = {}
          repeat
            local unit = table.remove(path)
            on[unit] = false
            knot[#knot + 1] = unit
          until unit == top.unit
          if #knot > 1 then found[#found + 1] = knot end
        end
      end
    end
  end
  return found
end

--- Takes the smallest group of each knot apart until none is left.
local function untie(graph, groups_of, why, take_apart)
  while true do
    local list = knots(graph.nodes, groups_of)
    if #list == 0 then return end
    for _, knot in ipairs(list) do
      local least
      for _, unit in ipairs(knot) do
        if unit.nodes and unit.space and #unit.nodes > 1 and (not least or #unit.nodes < #least.nodes) then
          least = unit
        end
      end
      for _, n in ipairs(least.nodes) do
        why[n] = why[n] or 'its group would have to wait for another one that waits for it'
      end
      take_apart(least)
    end
  end
end

---@class mascon.Rule
---@field space fun(n): table|nil, string? what the node is by itself, or nil and the reason why it joins nobody
---@field meet fun(a, b, u, n, group): table|nil, string? the space of two, the first that of a group, that are joined
---  by the use u of node n, or nil and the reason
---@field inner fun(u, n, space): boolean the use u of node n can be served inside
---@field most integer nodes of a group

--- Finds groups.
---@param graph table
---@param rule mascon.Rule
---@return table groups_of node -> { nodes, space, first }
---@return table position node -> its place
---@return table why node -> first reason why it was not joined to what makes its operands
function M.find(graph, rule)
  local groups_of, position, groups, why = {}, {}, {}, {}
  local function alone(n, k, space)
    local g = { space = space, nodes = { n }, first = k, last = k }
    groups[#groups + 1], groups_of[n] = g, g
    return g
  end
  for k, n in ipairs(graph.nodes) do
    position[n] = k
    local space, reason = rule.space(n)
    why[n] = reason
    if space then
      local mine
      for _, u in ipairs(n.ins) do
        local p = u.value.node
        local g = p and groups_of[p]
        local because
        if g and g ~= mine then
          local joined, no = rule.meet(g.space, mine and mine.space or space, u, n, g)
          if not joined then
            because = no
          elseif #g.nodes + (mine and #mine.nodes or 1) > rule.most then
            because = ('its group would have more than %d nodes'):format(rule.most)
          elseif not mine then
            if detour(n, g, nil, groups_of, position, rule) then
              because = 'a path leaves the group and comes back to it'
            else
              mine = g
              g.nodes[#g.nodes + 1], g.space, g.last, groups_of[n] = n, joined, k, g
            end
          elseif clear(g.nodes, mine, g, groups_of, position, rule)
            and clear(mine.nodes, g, mine, groups_of, position, rule) then
            for _, m in ipairs(g.nodes) do
              groups_of[m] = mine
              mine.nodes[#mine.nodes + 1] = m
            end
            mine.first, mine.last, mine.space, g.nodes = math.min(mine.first, g.first),
              math.max(mine.last, g.last), joined, {}
          else
            because = 'a path leaves the group and comes back to it'
          end
        elseif p and not g then
          because = ('its operand comes from %s, which is none of these'):format(p.row and p.row[1] or p.kind)
        end
        why[n] = why[n] or because
      end
      if not mine then alone(n, k, space) end
    end
  end
  untie(graph, groups_of, why, function(g)
    for _, n in ipairs(g.nodes) do alone(n, position[n], (rule.space(n))) end
    g.nodes = {}
  end)
  for _, g in ipairs(groups) do table.sort(g.nodes, function(a, b) return position[a] < position[b] end) end
  return groups_of, position, why
end

--- Values of a graph that somebody reads who is not in the group that makes them.
function M.outside(graph, groups_of)
  local outside = {}
  for _, n in ipairs(graph.nodes) do
    for _, u in ipairs(n.ins) do
      local p = u.value.node
      if p and (not groups_of[p] or groups_of[p] ~= groups_of[n]) then outside[u.value] = true end
    end
  end
  for _, u in ipairs(graph.outputs) do outside[u.value] = true end
  for _, e in ipairs(graph.effects) do outside[e.value] = true end
  return outside
end

return M
