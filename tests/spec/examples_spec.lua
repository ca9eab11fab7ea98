-- examples_spec.lua - every example of a docstring or a row of the op table does what it says; every family and
-- namespace has some.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local help = require 'mascon.help'
local recording = require 'mascon.graph.recording'
local examples = support.load 'examples'

local blocks = examples.all()
local by_file, names = {}, {}
for _, b in ipairs(blocks) do
  if not by_file[b.file] then
    by_file[b.file] = {}
    names[#names + 1] = b.file
  end
  table.insert(by_file[b.file], b)
end

describe('the examples', function()
  for _, name in ipairs(names) do
    it(('of %s print what they say'):format(name), function()
      local wrong = {}
      for _, block in ipairs(by_file[name]) do
        for _, text in ipairs((examples.run(block))) do wrong[#wrong + 1] = text end
      end
      -- leaves of this file: while one lives, the tape is on and compiled functions run as they are
      for _ = 1, recording.on() and 2 or 0 do collectgarbage() end
      assert.equal('', table.concat(wrong, '\n'))
    end)
  end

  it('exist for every family of ops, every composed op and every namespace of functions', function()
    local shown, missing = {}, {}
    for _, e in ipairs(help.entries()) do
      for _, line in ipairs(e.text or {}) do
        if line:find '^    .*  %-%-> ' then
          shown[e.name:match '[^.:]*$'] = true
          shown['space ' .. e.space] = true
        end
      end
    end
    local families, functions = {}, require 'mascon.core.op'.functions
    for name, row in pairs(mc.ops) do -- rows without a function are the inside of others
      if functions[name] then families[row.family] = families[row.family] or shown[name] or false end
      if row.family == 'lua' and not shown[name] then missing[#missing + 1] = 'op ' .. name end
    end
    for family, has in pairs(families) do if not has then missing[#missing + 1] = 'family ' .. family end end
    for _, e in ipairs(help.entries()) do
      if e.kind == 'function' and not shown['space ' .. e.space] then
        shown['space ' .. e.space] = true
        missing[#missing + 1] = 'namespace ' .. e.space
      end
    end
    table.sort(missing)
    assert.equal('', table.concat(missing, '\n'))
  end)

  local function wrong_of(text) return examples.run(examples.of_text(text, 'text')[1])[1] end

  it('fail when the result differs, the code is none or the form is wrong', function()
    assert.is_nil(wrong_of '---     1 + 1  --> 2\n')
    assert.is_nil(wrong_of '---     local x = mc.arange(1, 3)\n---     x + 1  --> f64[3]@cpu { 2, 3, 4 }\n')
    assert.is_nil(wrong_of('---     mc.sum(2)  --> error: sum: the first operand is 2; give a tensor (a method is '
      .. 'called with a colon, x:sum(...))\n'))
    assert.matches('text:1: 1 %+ 1.*gives 2.*not   3', wrong_of '---     1 + 1  --> 3\n')
    assert.matches('text:1: is no expression', wrong_of '---     1 +  --> 3\n')
    assert.matches('text:1: is neither a statement nor', wrong_of '---     some prose here\n')
    assert.matches('text:1: an arrow', wrong_of '--- 1 + 1 --> 2\n')
    assert.matches('text:1: code without a result', wrong_of '---     local x = 1\n')
  end)
end)
