-- cnn.lua - operators of type cnn: Blocks one after the other, or residual units of two where there are more than
-- three.
--
-- Source: specification of rollouts, 2.1.
local M = {}

--- The layers in the order of evaluation: { cin, cout, k, bias, part, grid }; part is block, first, second, projection
--- or output.
function M.layers(arch)
  local list, bias = {}, arch.norm == 'none'
  local function add(cin, cout, k, with, part)
    list[#list + 1] = { cin = cin, cout = cout, k = k, bias = with, part = part, grid = arch.grid }
  end
  add(arch.channels, arch.base, arch.kernel, bias, 'block')
  local cin = arch.base
  for i = 0, arch.layers - 1 do
    local cout = arch.base * 2 ^ math.min(i, 2)
    if arch.layers <= 3 then add(cin, cout, arch.kernel, bias, 'block')
    else
      add(cin, cout, arch.kernel, bias, 'first')
      add(cout, cout, arch.kernel, bias, 'second')
      if cin ~= cout then add(cin, cout, 1, false, 'projection') end
    end
    cin = cout
  end
  add(cin, arch.channels, 1, true, 'output')
  return list
end

--- The last hidden tensor of states x.
---@param kit table of block.kit
---@param layers table[]
---@param weights table[]
---@param x mascon.Tensor [B, C, G, G]
function M.hidden(kit, layers, weights, x)
  local h, i = x, 1
  while i < #layers do
    if layers[i].part == 'block' then
      local y = kit.conv(h, layers[i], weights[i])
      if i > 1 then kit.free(h) end
      h = kit.finish(y)
      kit.free(y)
    else
      local y = kit.conv(h, layers[i], weights[i])
      local a = kit.finish(y)
      kit.free(y)
      i = i + 1
      y = kit.conv(a, layers[i], weights[i])
      kit.free(a)
      local skip = h
      if layers[i + 1].part == 'projection' then
        i = i + 1
        skip = kit.conv(h, layers[i], weights[i])
        kit.free(h)
      end
      h = kit.finish(y, skip)
      kit.free(y)
      kit.free(skip)
    end
    i = i + 1
  end
  return h
end

return M
