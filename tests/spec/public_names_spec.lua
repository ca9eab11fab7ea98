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

  it('are all that examples in docstrings name', function()
    local mc = require 'mascon'
    local files = assert(io.popen [[find lua/mascon -name '*.lua']])
    local count, bad = 0, {}
    for path in files:lines() do
      for line in io.lines(path) do
        for name in (line:match '^%-%-%-     (.*)' or ''):gmatch '%f[%w_]mc%.([%a_][%w_%.]*)' do
          local v = mc
          count = count + 1
          for part in name:gmatch '[%w_]+' do
            if type(v) ~= 'table' then break end
            local ok, inner = pcall(function() return v[part] end)
            if not ok or inner == nil then
              bad[#bad + 1] = ('%s: mc.%s'):format(path, name)
              break
            end
            v = inner
          end
        end
      end
    end
    files:close()
    assert.is_true(count > 1000, count)
    assert.equal('', table.concat(bad, ', '))
  end)
end)
