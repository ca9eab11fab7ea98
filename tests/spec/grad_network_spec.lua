-- grad_network_spec.lua - derivatives of the layers of networks: gradients, second derivatives, compiled gradients.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local gradient_rows = support.load 'gradient_rows'
local nn = mc.nn

local function conv(name, ...)
  local cases = { ... }
  return function(r)
    local out = {}
    for k, c in ipairs(cases) do
      local o = c[3]
      out[k] = { function(x, w, b)
        local with = { bias = b }
        for key, v in pairs(o) do with[key] = v end
        return nn[name](x, w, with)
      end, r(unpack(c[1])), r(unpack(c[2])), c.bias and r(c.bias) or nil }
    end
    return out
  end
end

local CASES = {
  conv1d = conv('conv1d', { { 2, 3, 7 }, { 4, 3, 3 }, { padding = 1, stride = 2 }, bias = 4 },
    { { 4, 6 }, { 2, 2, 3 }, { groups = 2, padding = 4, padding_mode = 'circular' } }),
  conv2d = conv('conv2d', { { 2, 2, 5, 4 }, { 3, 2, 2, 3 }, { padding = { 1, 2 }, dilation = { 2, 1 } }, bias = 3 },
    { { 1, 2, 4, 5 }, { 2, 2, 3, 3 }, { padding = 2, padding_mode = 'reflect', stride = { 1, 2 } } },
    { { 1, 2, 4, 5 }, { 4, 1, 2, 2 }, { padding = 1, padding_mode = 'replicate', groups = 2 } }),
  conv3d = conv('conv3d', { { 1, 2, 3, 3, 4 }, { 2, 2, 2, 2, 2 }, { padding = 1, stride = 2 } }),
  conv_transpose1d = conv('conv_transpose1d',
    { { 2, 4, 4 }, { 4, 2, 3 }, { stride = 2, padding = 1, output_padding = 1, groups = 2 }, bias = 4 }),
  conv_transpose2d = conv('conv_transpose2d',
    { { 1, 2, 3, 3 }, { 2, 3, 2, 3 }, { stride = { 2, 1 }, dilation = { 1, 2 } } }),
  conv_transpose3d = conv('conv_transpose3d', { { 1, 2, 2, 2, 2 }, { 2, 1, 2, 2, 2 }, { stride = 2 } }),
}

describe('derivatives of layers of networks', function()
  for _, t in ipairs(gradient_rows.rows(function(row) return (row.module or ''):find '^mascon%.nn' ~= nil end,
    CASES)) do it('of ' .. t.name, t.run) end
end)
