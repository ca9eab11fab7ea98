-- programs_spec.lua - 5 % of the programs of tests/soak/programs.lua, which `make soak` runs all.
local folder = debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests'
local programs = dofile(folder .. '/soak/programs.lua')

describe('random programs with writes, aliases, objects and captured tables', function()
  it('give the same plain, compiled, batched and differentiated', function()
    local checks = 0
    for seed = 1, 2000, 20 do checks = checks + programs.check(seed) end
    assert.truthy(checks > 200)
  end)
end)
