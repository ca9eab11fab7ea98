-- nearest.lua - the known name that is closest to one that does not exist.
--
-- For messages only: undeclared globals, unknown verbs, misspelt prompt commands. Holds the edit distance (insert,
-- delete, replace, and a swap of neighbours count one each: "restricted Damerau-Levenshtein").

local M = {}

---Edits that lead from `a` to `b`, ignoring case; stops counting beyond `limit`.
---@param a string
---@param b string
---@param limit integer
---@return integer
function M.distance(a, b, limit)
  a, b = a:lower(), b:lower()
  local n, m = #a, #b
  if math.abs(n - m) > limit then return limit + 1 end
  local before, previous, current = {}, {}, {}
  for j = 0, m do previous[j] = j end
  for i = 1, n do
    current[0] = i
    local best = i
    local ca = a:byte(i)
    for j = 1, m do
      local cb = b:byte(j)
      local cost = previous[j - 1] + (ca == cb and 0 or 1)
      cost = math.min(cost, previous[j] + 1, current[j - 1] + 1)
      if i > 1 and j > 1 and ca == b:byte(j - 1) and a:byte(i - 1) == cb then
        cost = math.min(cost, before[j - 2] + 1)
      end
      current[j] = cost
      best = math.min(best, cost)
    end
    if best > limit then return limit + 1 end
    before, previous, current = previous, current, before
  end
  return previous[m]
end

---The member of `names` (a list) nearest to `name`, or nil when none is near enough to be meant.
---@param name string
---@param names string[]
---@return string?
function M.name(name, names)
  local limit = #name <= 2 and 1 or #name <= 5 and 2 or 3
  local found, least
  for _, candidate in ipairs(names) do
    local d = M.distance(name, candidate, limit)
    local close = d <= limit and d < math.max(#name, #candidate)
    if close and (not least or d < least or (d == least and candidate < found)) then
      found, least = candidate, d
    end
  end
  return found
end

---"; did you mean 'print'?" or an empty text.
---@param name string
---@param names string[]
---@return string
function M.hint(name, names)
  local found = M.name(name, names)
  return found and ("; did you mean '" .. found .. "'?") or ''
end

return M
