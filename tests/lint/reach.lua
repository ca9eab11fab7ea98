-- reach.lua - Lua files of the library that no other file takes.
--
-- A module is reached by its name, in a file of Lua or a row of the op table, or by its last part in a file that has
-- the rest of the name in one piece ('mascon.nn.layer.' .. name).
local M = {}

local FIRST = 'mascon' -- is what programs require

--- Complains about modules of lua/mascon that nothing reaches; not where the op table is not there, which names some.
---@param paths string[] Lua files of the library and of the op table
---@param complain fun(path: string, line: integer, text: string)
function M.check(paths, complain)
  local whole, behind, rows = {}, {}, false
  for _, path in ipairs(paths) do
    local f = assert(io.open(path))
    local words = {}
    rows = rows or path:find '^runtime/ops/rows/' ~= nil
    for word in f:read('*a'):gmatch '[%w_%.]+' do words[word] = true end
    f:close()
    for word in pairs(words) do
      if word:find '^mascon%.' then whole[word] = true end
      if word:find '^mascon%..*%.$' then
        behind[word] = behind[word] or {}
        table.insert(behind[word], words)
      end
    end
  end
  for _, path in ipairs(paths) do
    local name = path:match '^lua/(mascon/.*)%.lua$'
    if name and rows then
      name = name:gsub('/init$', ''):gsub('/', '.')
      local prefix, last = name:match '^(.*%.)([^.]*)$'
      local found = name == FIRST or whole[name]
      for _, words in ipairs(prefix and behind[prefix] or {}) do found = found or words[last] end
      if not found then complain(path, 1, 'no file takes this module, and no list names it') end
    end
  end
end

return M
