-- source.lua - reads chunks of Lua text and remembers them for error messages.
--
-- Holds the texts by chunk name, so that lines of `-e` code, standard input and the prompt can be shown as those of
-- files. Text only: bytecode is refused, since LuaJIT does not verify it.

local M = {}

local texts = {}

---Keeps the text of a chunk that somebody else compiles.
function M.remember(name, text)
  texts[name] = text
end

---Compiles `text`; `name` as for load ("@file" or "=word").
---@return function? chunk, string? message
function M.load(text, name, env)
  if text:byte(1) == 27 then
    return nil, name:sub(2) .. ': this is compiled bytecode, which can crash the program; give the Lua source'
  end
  texts[name] = text
  return load(text, name, 't', env)
end

---Reads and compiles a file; a first line that begins with # is skipped, as is a byte order mark.
function M.load_file(path, env)
  local text, message = M.read(path)
  if not text then return nil, message end
  text = text:gsub('^\239\187\191', ''):gsub('^#[^\n]*', '')
  return M.load(text, '@' .. path, env)
end

---The whole of a file, or nil and a message.
function M.read(path)
  local file, message = io.open(path, 'rb')
  if not file then return nil, message end
  local text, why = file:read('*a')
  file:close()
  if not text then return nil, path .. ': ' .. (why or 'cannot be read') end
  return text
end

---Line `number` of the chunk called `name`, or nil.
function M.line(name, number)
  local text = texts[name]
  if not text and name:sub(1, 1) == '@' then
    text = M.read(name:sub(2))
    texts[name] = text or ''
  end
  if not text or text == '' then return nil end
  local at = 1
  if text:sub(-1) ~= '\n' then text = text .. '\n' end
  for line in text:gmatch('([^\n]*)\n') do
    if at == number then return (line:gsub('\r$', '')) end
    at = at + 1
  end
  return nil
end

return M
