-- yaml_spec.lua - values, lines, and what is refused. The other opinion is the schema of YAML 1.2 written out; round
-- trips go through our own writer.
local mc = require 'mascon'
local yaml = require 'mascon.io.yaml'
local null = mc.json.null

local function refused(text, ...)
  local ok, why = pcall(yaml.decode, text, 'f.yaml')
  assert.is_false(ok, text)
  for _, part in ipairs { ... } do assert.is_truthy(tostring(why):find(part, 1, true), tostring(why)) end
end

describe('yaml', function()
  it('reads plain scalars by the core schema and quoted ones as texts', function()
    local list = yaml.decode('[1, -2, +3, 1e-8, 1.5E3, .5, 2., 0x1F, 0o17, true, False, null, ~, .inf, -.INF, yes, no, '
      .. 'on, 1_000, 2024-01-01, 0.1.2, "1", \'true\', -, 1e, abc def]')
    assert.same({ 1, -2, 3, 1e-8, 1500, 0.5, 2, 31, 15, true, false, null, null, math.huge, -math.huge, 'yes', 'no',
      'on', '1_000', '2024-01-01', '0.1.2', '1', 'true', '-', '1e', 'abc def' },
      { unpack(list, 1, #list) })
    local nan = yaml.decode '.nan'
    assert.is_true(nan ~= nan)
  end)

  it('reads mappings, sequences, blocks, anchors and merge keys', function()
    local v = yaml.decode(table.concat({ 'base: &b', '  p: 1', '  q: 2', 'more:', '  <<: *b', '  q: 3', 'same: *b',
      'text: |', '  two', '  lines', 'folded: >-', '  one', '  line', 'empty:', 'none: []' }, '\n'))
    assert.same({ p = 1, q = 3 }, v.more)
    assert.equal(v.base, v.same)
    assert.equal('two\nlines\n', v.text)
    assert.equal('one line', v.folded)
    assert.equal(null, v.empty)
    assert.equal('[]', mc.json.encode(v.none))
    assert.equal(null, (yaml.decode ''))
  end)

  it('tells the line of every key and entry', function()
    local v, lines = yaml.decode 'a: 1\n\nb:\n  c: 2\n  d:\n    - x\n    - y\n'
    assert.equal(1, lines[v].a)
    assert.equal(3, lines[v].b)
    assert.equal(4, lines[v.b].c)
    assert.equal(7, lines[v.b.d][2])
  end)

  it('refuses what has two meanings or makes objects, with line and column', function()
    refused('a: 1\nb: 2\na: 3', 'f.yaml: line 3, column 1', '"a"', 'line 1')
    refused('a: *none', 'line 1, column 4', '&none')
    refused('a: &x [*x]', 'inside of its own anchor')
    refused('a: [1\nb: 2', 'f.yaml: line 2')
    refused('x: !!python/object/apply:os.system [ls]', 'line 1, column 4', 'tag')
    refused('a: 1\n---\nb: 2', 'second document')
    refused('? [1]\n: 2', 'a key is a list')
    refused('<<: 3', 'merge key')
    refused(('['):rep(300) .. (']'):rep(300), 'nested deeper')
  end)

  it('writes what it reads again, also for readers of YAML 1.1', function()
    local value = { word = 'plain', tricky = { 'yes', 'No', 'null', '12', ' x', 'a: b', '# c', 'tab\there',
      'line\nbreak', 'quote"', '' }, num = { 1, 1e-8, 1e300, -0.5, 123456789012 }, flag = true,
      none = null, deep = { { a = { 1, 2 }, b = {} }, { c = 'd' } } }
    local text = yaml.encode(value)
    assert.is_truthy(text:find('1.0e-8', 1, true))
    assert.equal(mc.json.encode(value), mc.json.encode((yaml.decode(text))))
    assert.has_error(function() yaml.encode { f = print } end)
  end)

  it('is what mc.load and mc.save do with .yaml and .yml', function()
    local path = os.tmpname() .. '.yml'
    mc.save(path, { a = { 1, 2.5 }, t = mc.arange(1, 3) })
    local v = mc.load(path)
    assert.same({ 1, 2.5 }, { v.a[1], v.a[2] })
    assert.same({ 1, 2, 3 }, { v.t[1], v.t[2], v.t[3] })
    local f = assert(io.open(path, 'w'))
    f:write 'a: [1\n'
    f:close()
    local ok, why = pcall(mc.load, path)
    os.remove(path)
    assert.is_false(ok)
    assert.is_truthy(why:find(path .. ': line 2', 1, true), why)
  end)

  it('survives texts changed at random', function()
    local draw = require('workflows.xpcs.data.generate').splitmix(7)
    local source = 'a: &x {p: [1, "b"], q: !!str 3}\nb:\n  <<: *x\n  - c\n'
    for _ = 1, 300 do
      local at = math.floor(draw() * #source) + 1
      local bytes = source:sub(1, at - 1) .. string.char(math.floor(draw() * 256))
        .. source:sub(at + math.floor(draw() * 3))
      local ok, why = pcall(yaml.decode, bytes, 'f')
      if not ok then assert.is_truthy(tostring(why):find('f: ', 1, true), tostring(why)) end
    end
  end)
end)
