-- params.lua - the parameter block of a logged op, as rules read it.
--
-- The inverse of how op.lua packs: axes, keepdim, then the row's own parameters by name. Holds that reading; the block
-- itself stays reachable as `raw` for families that pack by hand.
local M = {}

--- Parameters of a node of kind op.
---@param n table node
---@return table p { row, op (its name), axes (1-based list, nil when not given), keepdim, dtype (code or -1), base,
---  raw, one entry per parameter of the row }
function M.read(n)
  local raw, row = n.params, n.row
  local p = { row = row, op = row[1], raw = raw, keepdim = raw.keepdim ~= 0, base = raw.base, dtype = raw.dtype }
  if raw.naxes >= 0 then
    p.axes = {}
    for i = 1, raw.naxes do p.axes[i] = tonumber(raw.axes[i - 1]) + 1 end
  end
  local ni, nd = 0, 0
  for _, spec in ipairs(row.params or {}) do
    local name, kind = spec[1], spec[2]
    local above = kind == 'axes' or kind == 'axis' or name == 'keepdim'
    if not above and kind == 'number' then
      p[name] = raw.d[nd]
      nd = nd + 1
    elseif not above and type(kind) == 'table' then
      p[name] = kind[tonumber(raw.i[ni]) + 1]
      ni = ni + 1
    elseif not above and kind == 'ints' then
      p[name] = {}
      for k = 1, tonumber(raw.i[ni]) do p[name][k] = tonumber(raw.i[ni + k]) end
      ni = ni + 9
    elseif not above then
      local v = tonumber(raw.i[ni])
      if kind == 'bool' then v = v ~= 0 end
      p[name] = v
      ni = ni + 1
    end
  end
  return p
end

return M
