-- property.lua - laws tried on random cases; a failing case is shrunk to a small one and printed with its seed.
--
-- A law receives `draw`, from which it takes all its choices: draw(lo, hi) is a whole number, draw.shape, draw.axis,
-- draw.dtype, draw.layout, draw.tensor, draw.permutation stand on it. A case is therefore a list of whole numbers, and
-- shrinking knows nothing of laws: it cuts pieces off the list (what is missing counts as the lowest choice), sets
-- numbers to the lowest, halves them and lowers them by one, as long as the law still fails, greedily until nothing
-- helps. Lower means simpler: smaller shapes, the first dtype and layout, ones instead of random values.
-- MASCON_TEST_SEED=n repeats one run; otherwise seeds are fixed, so that a failing suite fails again.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local sample = support.load 'sample'
local M = {}

local GIVEN = tonumber(os.getenv 'MASCON_TEST_SEED' or '')
M.first = GIVEN or 20240901
M.rounds = GIVEN and 1 or support.gc and 3 or 25
M.tries = 800 -- of shrinking

local Draw = {}
Draw.__index = Draw
--- A whole number in [lo, hi].
function Draw:__call(lo, hi)
  local k = self.at + 1
  self.at = k
  local span = hi - lo + 1
  local c = self.choices[k]
  if c == nil then
    c = self.stream and math.floor(self.stream() * span) or 0
  end
  if c >= span then c = c % span end
  self.choices[k], self.spans[k] = c, span
  return lo + c
end

local function make(choices, stream)
  local self = { choices = choices, spans = {}, at = 0, stream = stream, said = {} }
  local draw = setmetatable(self, Draw)
  local function say(what) self.said[#self.said + 1] = what end
  --- Sizes of 1 to `most` axes, each from `least` (1) to `largest`.
  function self.shape(most, largest, least)
    local s = {}
    for i = 1, draw(1, most) do s[i] = draw(least or 1, largest) end
    return s
  end
  function self.axis(shape) return draw(1, #shape) end
  --- One of a list; the first is the simplest.
  function self.one(list) return list[draw(1, #list)] end
  function self.dtype(list) return self.one(list or { 'f64', 'f32', 'i64', 'i32', 'u8' }) end
  function self.layout() return self.one(sample.layouts) end
  --- A tensor: ones, small whole numbers or random ones (style: see sample.lua, 'plain').
  function self.tensor(shape, dtype, layout, style)
    local fill = draw(0, 3)
    local t, n
    if fill >= 2 then
      local seed = draw(1, 1e6)
      t, n = sample.make(shape, dtype, layout or 'contiguous', seed, style or 'plain'), 'values of seed ' .. seed
    else
      local list = {}
      for i = 1, sample.count(shape) do
        local v = fill == 0 and 1 or (i - 1) % 5
        local kind = sample.kind[dtype]
        list[i] = kind == 'c' and { re = v, im = 0 } or kind == 'b' and v ~= 0 or v
      end
      t, n = sample.from(shape, dtype, list), fill == 0 and 'ones' or '0 1 2 3 4 0 ...'
      if layout and layout ~= 'contiguous' and #shape > 0 and layout ~= 'broadcast' then
        local into = sample.make(shape, dtype, layout, 1, 'small')
        into:copy_(t)
        t = into
      end
    end
    say(('%s: %s'):format(sample.describe(dtype, shape, layout), n))
    return t
  end
  function self.permutation(n)
    local p = {}
    for i = 1, n do p[i] = i end
    for i = n, 2, -1 do
      local j = i - draw(0, i - 1)
      p[i], p[j] = p[j], p[i]
    end
    return p
  end
  return draw
end

local function try(f, choices, stream, seed)
  local draw = make(choices, stream)
  local ok, e = pcall(f, draw, seed)
  for k = #choices, draw.at + 1, -1 do choices[k] = nil end -- choices that nobody took
  return ok, e, draw
end

local function copied(list)
  local out = {}
  for i, v in ipairs(list) do out[i] = v end
  return out
end

-- simpler lists than this one, the boldest first
local function candidates(list)
  local out = {}
  local n = #list
  for _, size in ipairs { n, 16, 8, 4, 2, 1 } do
    if size <= n then
      for from = n - size + 1, 1, -math.max(1, math.floor(size / 2)) do
        out[#out + 1] = function()
          local c = {}
          for i, v in ipairs(list) do if i < from or i >= from + size then c[#c + 1] = v end end
          return c
        end
      end
    end
  end
  for i = 1, n do
    local v = list[i]
    local seen = {}
    for _, w in ipairs { 0, math.floor(v / 2), v - 1 } do
      if w >= 0 and w < v and not seen[w] then
        seen[w] = true
        out[#out + 1] = function()
          local c = copied(list)
          c[i] = w
          return c
        end
      end
    end
  end
  return out
end

local function simpler(a, b)
  if #a ~= #b then return #a < #b end
  for i = 1, #a do if a[i] ~= b[i] then return a[i] < b[i] end end
  return false
end

--- Shrinks a failing list of choices: the smallest found, its message, what was drawn, tries spent.
function M.shrink(f, choices, message, draw, seed)
  local tries, again = 0, true
  while again and tries < M.tries do
    again = false
    for _, candidate in ipairs(candidates(choices)) do
      local c = candidate()
      tries = tries + 1
      local ok, e, d = try(f, c, nil, seed)
      if not ok and simpler(c, choices) then
        choices, message, draw, again = c, e, d, true
        break
      end
      if tries >= M.tries then break end
    end
  end
  return choices, message, draw, tries
end

--- Tries a law with one seed: nil, or the report of the smallest case that fails.
function M.run(f, seed)
  local choices = {}
  local ok, e, draw = try(f, choices, sample.stream(seed), seed)
  if ok then return nil end
  local small, message, drawn, tries = M.shrink(f, choices, e, draw, seed)
  while small[1] and small[#small] == 0 do small[#small] = nil end -- what is missing counts as 0
  local text = { ('seed %d: %s'):format(seed, tostring(message)) }
  text[#text + 1] = ('smallest case after %d tries: choices %s'):format(tries, table.concat(small, ' '))
  for _, line in ipairs(drawn.said) do text[#text + 1] = '  ' .. line end
  return table.concat(text, '\n'), small
end

--- Tries a law with several seeds; an error with the report of the first that fails.
function M.check(f, rounds)
  for k = 0, (GIVEN and 1 or rounds and math.min(rounds, M.rounds) or M.rounds) - 1 do
    local wrong = M.run(f, M.first + k)
    if wrong then error(wrong, 0) end
  end
end

return M
