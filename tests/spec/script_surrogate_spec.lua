-- script_surrogate_spec.lua - scripts/surrogate.lua as a person runs it: a search, resumed, repeated, wrong lines.
local script =
  dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua').load 'script'
local folder = os.tmpname()
os.remove(folder)

local function run(line) return script.run('surrogate', line) end
local read = script.read

describe('scripts/surrogate.lua', function()
  teardown(function() os.execute("rm -rf '" .. folder .. "'*") end)

  it('finds the oscillator of a record and writes every result', function()
    local text, status = run('--calls 24 --out ' .. folder)
    assert.equal(0, status, text)
    for _, name in ipairs { 'search.svg', 'history.csv', 'state.json', 'manifest.json' } do
      assert.is_truthy(read(folder .. '/' .. name), name)
    end
    local value = tonumber(text:match 'after 24 evaluations: (%S+)')
    local even = tonumber(text:match 'even design of as many points reaches (%S+)')
    assert.is_true(value < 0.1 and value < even, text)
    assert.is_truthy(text:find 'frequency_hz = 1.3')
    local _, lines = read(folder .. '/history.csv'):gsub('\n', '')
    assert.equal(25, lines)
  end)

  it('goes on from its state with the points of a longer run', function()
    for _, line in ipairs {
      '--problem branin --calls 8 --out %s-a', '--problem branin --calls 11 --resume %s-a/state.json --out %s-b',
      '--problem branin --calls 11 --out %s-c',
    } do
      local text, status = run((line:gsub('%%s', folder)))
      assert.equal(0, status, text)
    end
    assert.equal(read(folder .. '-c/history.csv'), read(folder .. '-b/history.csv'))
  end)

  it('says what is wrong with a line', function()
    local text, status = run '--problem brain'
    assert.is_true(status ~= 0)
    assert.matches('branin', text)
    text, status = run('--resume ' .. folder .. '/nothing.json --out ' .. folder .. '-n')
    assert.is_true(status ~= 0)
    assert.matches('nothing.json', text)
  end)
end)
