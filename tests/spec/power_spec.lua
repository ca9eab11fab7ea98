-- power_spec.lua - numbers of Lua are the same in interpreted and in compiled code.

describe('powers of numbers in interpreted and compiled code', function()
  -- functions of their own text, so that each has traces of its own
  local function made(exponent)
    return assert(loadstring(('return function(x, out) for i = 1, #x do out[i] = x[i] ^ %s end return out end'):format(
      exponent)))()
  end

  for _, exponent in ipairs { '2', '3', '0.5', '-1', '-2', '1.5' } do
    it('are the same to the bit: ^ ' .. exponent, function()
      local x = {}
      for i = 1, 100000 do x[i] = 1 + i * 1.2345678e-5 + 1e-9 * i end
      local plain, compiled = made(exponent), made(exponent)
      jit.off(plain)
      local a, b = plain(x, {}), compiled(x, {})
      local differ = 0
      for i = 1, #x do if a[i] ~= b[i] then differ = differ + 1 end end
      assert.equal(0, differ)
    end)
  end
end)
