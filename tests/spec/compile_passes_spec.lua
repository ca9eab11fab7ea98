-- compile_passes_spec.lua: any subset of the passes gives the bits of the plain function; each pass does what it says and no more.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local property, programs = support.load 'property', support.load 'programs'
local same = programs.same

local PASSES = { 'algebra', 'copies', 'cse', 'dce', 'epilogue', 'fold', 'fuse', 'inplace', 'prologue', 'rows' }

--- Calls f with tiles wherever they are possible, however little there is to do.
local function with_tiles(f)
  local rows = require 'mascon.compile.passes.rows'
  local smallest = rows.SMALLEST
  rows.SMALLEST = 0
  local ok, e = pcall(f)
  rows.SMALLEST = smallest
  if not ok then error(e, 0) end
end

--- The law: f compiled with a subset of the passes, called twice, gives what f gives.
local function any_subset(draw)
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
end

describe('random programs', function()
  it('give the same bits with any subset of passes', function()
    with_tiles(function() property.check(any_subset, 60) end)
  end)
end)
