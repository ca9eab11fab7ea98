-- public_names_spec.lua - no public name vanishes: those of tests/golden/names.txt are all there.
--
-- The list is made by
--   build/mascon -e 'for _, e in ipairs(require("mascon.help").entries()) do
--     if e.kind ~= "module" then print(e.name) end end' | sort -u > tests/golden/names.txt
-- New names are added with it. A name is taken off by hand, with the reason in the commit.
describe('public names', function()
  it('that were there once are there', function()
    local there, gone = {}, {}
    for _, e in ipairs(require('mascon.help').entries()) do there[e.name] = true end
    local count = 0
    for name in io.lines 'tests/golden/names.txt' do
      count = count + 1
      if not there[name] then gone[#gone + 1] = name end
    end
    assert.is_true(count > 1900, count)
    assert.equal('', table.concat(gone, ', '))
  end)
end)
