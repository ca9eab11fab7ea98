-- labels.lua - short names of data sets: the name of the file, and as much of its folders as tells it from another one.
local M = {}

--- The last k parts of a path.
local function tail(parts, k) return table.concat(parts, '/', math.max(1, #parts - k + 1)) end

--- Names of data sets, each by its file; sets of one file have one name (their q differ). Empty without a file.
---@param list mascon.xpcs.Data[]
---@return string[]
function M.of(list)
  local out, parts = {}, {}
  for i, data in ipairs(list) do
    parts[i] = {}
    for part in (data.path or ''):gmatch '[^/]+' do table.insert(parts[i], part) end
  end
  for i, data in ipairs(list) do
    local k = 1
    for j, other in ipairs(list) do
      while other.path ~= data.path and tail(parts[i], k) == tail(parts[j], k) and k < math.max(#parts[i], #parts[j]) do
        k = k + 1
      end
    end
    out[i] = tail(parts[i], k)
  end
  return out
end

return M
