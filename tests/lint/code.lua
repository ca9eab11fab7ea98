-- code.lua - files as the lint reads them: lines without comments, and the same with the inside of strings blanked.
--
-- Lines and columns stay what they are in the file. A file is read once.
local M = {}

local function blank(s) return (s:gsub('[^\n]', ' ')) end

--- Last position of the quoted string that begins at i.
local function quoted(text, i)
  local mark, j = '[\\\n' .. text:sub(i, i) .. ']', i + 1
  while true do
    local k = text:find(mark, j)
    if not k or text:sub(k, k) ~= '\\' then return k or #text end
    j = k + 2
  end
end

local function long(text, i)
  local level = text:match('^%[(=*)%[', i)
  return level and (select(2, text:find(']' .. level .. ']', i, true)) or #text)
end

local function to_line_end(text, i) return (text:find('\n', i, true) or #text + 1) - 1 end

--- By language: where strings and comments may begin, and the last position of the one that begins at i and whether it
--- is a comment; nil where none does.
local PARTS = {
  lua = { '[-\'"[]', function(text, i)
    local c = text:sub(i, i)
    if c == '[' then return long(text, i), false end
    if c ~= '-' then return quoted(text, i), false end
    if text:sub(i, i + 1) == '--' then return long(text, i + 2) or to_line_end(text, i), true end
  end },
  c = { '[/\'"]', function(text, i)
    local c = text:sub(i, i + 1)
    if c == '/*' then return select(2, text:find('*/', i + 2, true)) or #text, true end
    if c == '//' then return to_line_end(text, i), true end
    if c:sub(1, 1) ~= '/' then return quoted(text, i), false end
  end },
}
PARTS.h = PARTS.c

local function lines(text)
  local out = {}
  for line in text:gmatch '([^\n]*)\n?' do out[#out + 1] = line end
  return out
end

local known = {}
--- A file: text without comments, its lines, and its lines without the inside of strings.
---@return table { text =, lines =, bare_text =, bare = }
function M.of(path)
  if known[path] then return known[path] end
  local file = assert(io.open(path))
  local text = file:read '*a'
  file:close()
  local first, part = unpack(PARTS[path:match '%.(%w+)$'])
  local code, bare, at, from = {}, {}, 1, 1
  while true do
    local i = text:find(first, from)
    local last, comment
    if i then last, comment = part(text, i) end
    if not i or last then
      local plain = text:sub(at, (i or 0) - 1)
      code[#code + 1], bare[#bare + 1] = plain, plain
      if not i then break end
      local s = text:sub(i, last)
      code[#code + 1] = comment and blank(s) or s
      bare[#bare + 1] = comment and blank(s) or s:sub(1, 1) .. blank(s:sub(2, -2)) .. (#s > 1 and s:sub(-1) or '')
      at = last + 1
    end
    from = (last or i) + 1
  end
  code, bare = table.concat(code), table.concat(bare)
  known[path] = { text = code, lines = lines(code), bare_text = bare, bare = lines(bare) }
  return known[path]
end

--- Number of the line of a position of `text`.
function M.line(text, at) return select(2, text:sub(1, at - 1):gsub('\n', '')) + 1 end

return M
