-- groups.lua - nodes that are joined to the nodes that make their operands, as long as no path leaves a group and comes back.
--
-- Such a detour would have to run in the middle of the group. Who may join whom is the caller's rule; here are the merging, the search for
-- detours (bounded, so that a graph of n nodes takes of the order of n steps) and the reason why a node was left alone. Owns groups while they
-- are found. May not know what they become.
local M = {}

local SEARCH = 64 -- nodes a search for detours looks at; past that, none is taken for granted

M.visits = 0 -- nodes looked at by searches since the program began: tests hold it against the number of nodes

--- A path leads from `group` to the operands of `n` through some node outside, or `n` reads one of its values as it is not at hand inside.
local function detour(n, group, groups_of, position, rule)
  for _, u in ipairs(n.ins) do
    local p = u.value.node
    if p and groups_of[p] == group and not rule.inner(u, n, group.space) then return true end
  end
  local steps, seen, stack = 0, {}, {}
  local function push(node, from_group)
    for _, u in ipairs(node.ins) do
      local p = u.value.node
      if p and not seen[p] and not (from_group and groups_of[p] == group) then
        seen[p] = true
        stack[#stack + 1] = p
      end
    end
  end
  push(n, true)
  while #stack > 0 do
    local p = table.remove(stack)
    steps, M.visits = steps + 1, M.visits + 1
    if groups_of[p] == group or steps > SEARCH then return true end
    if position[p] > group.first then
      local g = groups_of[p]
      if g then
        for _, m in ipairs(g.nodes) do if groups_of[m] == g then push(m) end end
      else
        push(p)
      end
    end
  end
  return false
end

local function clear(nodes, group, groups_of, position, rule)
  for _, m in ipairs(nodes) do if detour(m, group, groups_of, position, rule) then return false end end
  return true
end

---@class mascon.Rule
---@field space fun(n): table|nil, string? what the node is by itself, or nil and the reason why it joins nobody
---@field meet fun(a, b, u, n): table|nil, string? the space of two that are joined by the use u of node n, or nil and the reason
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
    local g = { space = space, nodes = { n }, first = k }
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
          local joined, no = rule.meet(g.space, mine and mine.space or space, u, n)
          if not joined then because = no
          elseif #g.nodes + (mine and #mine.nodes or 1) > rule.most then because = ('its group would have more than %d nodes'):format(rule.most)
          elseif not mine then
            if detour(n, g, groups_of, position, rule) then because = 'a path leaves the group and comes back to it'
            else
              mine = g
              g.nodes[#g.nodes + 1], g.space, groups_of[n] = n, joined, g
            end
          elseif clear(g.nodes, mine, groups_of, position, rule) and clear(mine.nodes, g, groups_of, position, rule) then
            for _, m in ipairs(g.nodes) do
              groups_of[m] = mine
              mine.nodes[#mine.nodes + 1] = m
            end
            mine.first, mine.space, g.nodes = math.min(mine.first, g.first), joined, {}
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
