-- locals.lua - lets top-level locals of the prompt outlive their line.
--
-- `local x = 1` typed at the prompt would end with its chunk. The text is therefore rewritten before it is compiled: a
-- `local` that stands outside of every block loses that word, and the names go to the session. Inside functions, loops
-- and do-blocks nothing changes. Closures made on the same line then share the name with later lines, which copying the
-- values of locals after the run would not give. Line numbers are kept. Holds a small scanner of Lua tokens; compiles
-- nothing.

local M = {}

local OPEN = { ['function'] = true, ['do'] = true, ['if'] = true, ['repeat'] = true }
local CLOSE = { ['end'] = true, ['until'] = true }
local NAME = '[%a_\128-\255][%w_\128-\255]*'

---Position behind the quoted string that starts at `i`.
local function skip_quoted(text, i)
  local quote = text:sub(i, i)
  i = i + 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == '\\' then
      i = i + 2
    elseif c == quote then
      return i + 1
    else
      i = i + 1
    end
  end
  return i
end

---Position behind the long bracket that starts at `i`, or nil when there is none at `i`.
local function skip_long(text, i)
  local level = text:match('^%[(=*)%[', i)
  if not level then return nil end
  local _, stop = text:find(']' .. level .. ']', i, true)
  return (stop or #text) + 1
end

---The names after a `local` that ends before `i`: list, position behind the last name, whether `=` follows.
local function name_list(text, i)
  local names = {}
  while true do
    local name, behind = text:match('^%s*(' .. NAME .. ')()', i)
    if not name then return nil end
    names[#names + 1] = name
    local next_name = text:match('^%s*,()', behind)
    if not next_name then return names, behind, text:find('^%s*=', behind) ~= nil end
    i = next_name
  end
end

---@param text string a chunk that compiles
---@return string rewritten, string[] names
function M.persist(text)
  local out, names = {}, {}
  local copied, depth, i = 1, 0, 1
  local function replace(first, behind, with)
    out[#out + 1] = text:sub(copied, first - 1) .. with
    copied = behind
  end
  while i <= #text do
    local c = text:sub(i, i)
    local word = text:match('^' .. NAME, i)
    if word then
      local after = i + #word
      if OPEN[word] then depth = depth + 1 end
      if CLOSE[word] then depth = depth - 1 end
      if word == 'local' and depth == 0 then
        local function_name = text:match('^%s+function%s+(' .. NAME .. ')', after)
        local list, behind, assigned = name_list(text, after)
        if function_name then
          names[#names + 1] = function_name
          replace(i, after, '')
        elseif list then
          for _, name in ipairs(list) do names[#names + 1] = name end
          replace(i, after, '')
          if not assigned then replace(behind, behind, ' = nil') end
          after = behind
        end
      end
      i = after
    elseif text:find('^%d', i) then
      i = i + #text:match('^[%w%.]+', i)
    elseif c == '"' or c == "'" then
      i = skip_quoted(text, i)
    elseif text:find('^%-%-', i) then
      i = skip_long(text, i + 2) or text:find('\n', i, true) or #text + 1
    elseif c == '[' then
      i = skip_long(text, i) or i + 1
    else
      i = i + 1
    end
  end
  out[#out + 1] = text:sub(copied)
  return table.concat(out), names
end

return M
