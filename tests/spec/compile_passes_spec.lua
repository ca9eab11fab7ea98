-- compile_passes_spec.lua: any subset of the passes gives the bits of the plain function; each pass does what it says and no more.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local property, programs = support.load 'property', support.load 'programs'
local same = programs.same

local PASSES = { 'algebra', 'copies', 'cse', 'dce', 'fold', 'fuse', 'inplace' }

describe('random programs', function()
  it('give the same bits with any subset of passes', function()
    property.check(function(draw)
      local f, args = programs.draw(draw, draw(1, 14))
      local want = f(unpack(args))
      for round = 1, 4 do
        local on, text = {}, {}
        for _, name in ipairs(PASSES) do
          on[name] = round == 1 or (round > 2 and draw(0, 1) == 1)
          if on[name] then text[#text + 1] = name end
        end
        local g = mc.compile(f, { passes = on })
        for call = 1, 2 do same(want, g(unpack(args)), ('call %d with passes %s'):format(call, table.concat(text, ' '))) end
      end
    end, 60)
  end)
end)
