-- contour.lua - lines of equal value through a grid, and outlines of cell sets.
--
-- Holds: marching squares ("Marching cubes", 1987, in two dimensions) with linear interpolation along cell sides, and
-- the joining of pieces into long lines. A cell with a missing corner is skipped.
--
-- Every piece ends on grid sides; a side has one number, and pieces that share it are joined. Ambiguous cells
-- (two opposite corners high) are cut by the mean of their corners.

local M = {}

-- Joins pieces { key1, x1, y1, key2, x2, y2 } that share keys into lines { x, y, x, y, ..., closed = bool }.
local function join(pieces)
  local at = {} -- key -> pieces that end there
  for i, p in ipairs(pieces) do
    for _, key in ipairs{ p[1], p[4] } do
      at[key] = at[key] or {}
      table.insert(at[key], i)
    end
  end
  local used, lines = {}, {}
  local function follow(line, key)
    while true do
      local nxt
      for _, i in ipairs(at[key]) do
        if not used[i] then
          nxt = i
          break
        end
      end
      if not nxt then return key end
      used[nxt] = true
      local p = pieces[nxt]
      if p[1] == key then
        line[#line + 1], line[#line + 2], key = p[5], p[6], p[4]
      else
        line[#line + 1], line[#line + 2], key = p[2], p[3], p[1]
      end
    end
  end
  local function start(i)
    local p = pieces[i]
    used[i] = true
    local line = { p[2], p[3], p[5], p[6] }
    local last = follow(line, p[4])
    if last == p[1] then
      line[#line], line[#line - 1] = nil, nil
      line.closed = true
      lines[#lines + 1] = line
      return
    end
    local back = {}
    follow(back, p[1])
    if #back > 0 then -- the piece lay in the middle: turn the other half round and put it in front
      local whole = {}
      for k = #back - 1, 1, -2 do whole[#whole + 1], whole[#whole + 2] = back[k], back[k + 1] end
      for _, v in ipairs(line) do whole[#whole + 1] = v end
      line = whole
    end
    lines[#lines + 1] = line
  end
  for i = 1, #pieces do
    if not used[i] then start(i) end
  end
  return lines
end

-- Which sides a line joins, by the four corners above the level: bit 1 (j,i), 2 (j+1,i), 4 (j+1,i+1), 8 (j,i+1).
-- Sides: 1 lower, 2 right, 3 upper, 4 left.
local CASES = {
  [1] = { 4, 1 }, [2] = { 1, 2 }, [3] = { 4, 2 }, [4] = { 2, 3 }, [6] = { 1, 3 }, [7] = { 4, 3 }, [8] = { 3, 4 },
  [9] = { 3, 1 }, [11] = { 3, 2 }, [12] = { 2, 4 }, [13] = { 2, 1 }, [14] = { 1, 4 },
}

--- Lines of equal value.
---@param xs number[] page x of the columns
---@param ys number[] page y of the rows
---@param z number[][] z[i][j] at (xs[j], ys[i]); NaN is missing
---@param level number
---@return table lines arrays x, y, x, y, ... with the field `closed`
function M.lines(xs, ys, z, level)
  local nx, pieces = #xs, {}
  local function side(i, j, which) -- number and crossing point of a side of cell (i, j)
    local i1, j1, i2, j2 = i, j, i, j + 1
    if which == 2 then
      i1, j1, i2, j2 = i, j + 1, i + 1, j + 1
    elseif which == 3 then
      i1, j1, i2, j2 = i + 1, j, i + 1, j + 1
    elseif which == 4 then
      i1, j1, i2, j2 = i, j, i + 1, j
    end
    local a, b = z[i1][j1], z[i2][j2]
    local t = (level - a) / (b - a)
    local key = ((i1 - 1) * nx + j1) * 2 + (i1 == i2 and 0 or 1)
    return key, xs[j1] + t * (xs[j2] - xs[j1]), ys[i1] + t * (ys[i2] - ys[i1])
  end
  local function add(i, j, s1, s2)
    local k1, x1, y1 = side(i, j, s1)
    local k2, x2, y2 = side(i, j, s2)
    pieces[#pieces + 1] = { k1, x1, y1, k2, x2, y2 }
  end
  for i = 1, #ys - 1 do
    for j = 1, nx - 1 do
      local a, b, c, d = z[i][j], z[i][j + 1], z[i + 1][j + 1], z[i + 1][j]
      local sum = a + b + c + d
      if sum == sum and sum ~= math.huge and sum ~= -math.huge then
        local case = (a >= level and 1 or 0) + (b >= level and 2 or 0)
          + (c >= level and 4 or 0) + (d >= level and 8 or 0)
        if case == 5 or case == 10 then
          local high = sum / 4 >= level
          if (case == 5) == high then
            add(i, j, 4, 3)
            add(i, j, 1, 2)
          else
            add(i, j, 4, 1)
            add(i, j, 2, 3)
          end
        elseif CASES[case] then
          add(i, j, CASES[case][1], CASES[case][2])
        end
      end
    end
  end
  return join(pieces)
end

--- Outline of a set of cells, along cell sides.
---@param xs number[] page x of the cell edges, one more than columns
---@param ys number[] page y of the cell edges
---@param inside boolean[][] inside[i][j]
---@return table lines as above
function M.outline(xs, ys, inside)
  local nx, ny, pieces = #xs - 1, #ys - 1, {}
  local function node(i, j) return i * (nx + 1) + j end
  local function is(i, j)
    return i >= 1 and i <= ny and j >= 1 and j <= nx and inside[i][j] and true or false
  end
  for i = 0, ny do
    for j = 0, nx do
      if j >= 1 and is(i, j) ~= is(i + 1, j) then -- horizontal side between rows i and i + 1
        pieces[#pieces + 1] = { node(i, j - 1), xs[j], ys[i + 1], node(i, j), xs[j + 1], ys[i + 1] }
      end
      if i >= 1 and is(i, j) ~= is(i, j + 1) then
        pieces[#pieces + 1] = { node(i - 1, j), xs[j + 1], ys[i], node(i, j), xs[j + 1], ys[i + 1] }
      end
    end
  end
  return join(pieces)
end

return M
