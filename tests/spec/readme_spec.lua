-- readme_spec.lua - the results that the README prints beside its examples are those that they print.
local mc = require 'mascon'
local root = debug.getinfo(1, 'S').source:match '^@(.*)/tests/spec/[^/]*$' or '.'

--- The code of the README that is Lua, block by block.
local function blocks()
  local out = {}
  for code in mc.file.read(root .. '/README.md'):gmatch '```lua\n(.-)```' do out[#out + 1] = code end
  return out
end

describe('the README', function()
  it('prints what it says', function()
    local count = 0
    for _, code in ipairs(blocks()) do
      local before, call, said = code:match '^(.-)(print%b())%s+%-%-%s+(%b{}[^\n]*)'
      if said then
        count = count + 1
        local got = {}
        local chunk = assert(loadstring(before .. call))
        setfenv(chunk, setmetatable({ print = function(...)
          for i = 1, select('#', ...) do got[i] = tostring((select(i, ...))) end
        end }, { __index = _G }))
        chunk()
        local k = 0
        for want in (said .. '  '):gmatch '(.-)%s%s+' do
          k = k + 1
          local start = want:gsub('%.%.%.$', '')
          assert.equal(start, got[k]:sub(1, #start))
        end
        assert.equal(#got, k)
      end
    end
    assert.is_true(count >= 1)
  end)
end)
