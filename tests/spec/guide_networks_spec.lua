-- guide_networks_spec.lua - docs/networks.md runs as printed, and says what it says.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'

local folder = process.folder()

describe('the guide to networks', function()
  it('runs as printed', function()
    local f = io.open(support.folder .. '/../docs/networks.md', 'rb')
    if not f then return pending 'this folder has no guides' end
    local text, code = f:read '*a', {}
    f:close()
    for block in text:gmatch '```lua\n(.-)```' do code[#code + 1] = block end
    assert(#code >= 8, #code)
    process.write(folder .. '/guide.lua', table.concat(code, '\n'))
    local line = "cd '%s' && MASCON_PROGRESS=0 '%s' guide.lua"
    local r = process.shell(line:format(folder, os.getenv 'MASCON' or require 'mascon.host'.exe))
    assert.equal(0, r.status, r.text)
    assert(tonumber(r.text:match 'not trained on: ([%d.]+)') > 0.9, r.text)
    assert(r.text:find('(in inner.1, Linear)', 1, true), r.text)
    assert(r.text:find('{3}\t{64, 3}', 1, true), r.text)
  end)
end)

teardown(function() process.remove(folder) end)
