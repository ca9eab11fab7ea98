-- xpcs_docs_spec.lua - docs/xpcs.md names every option of the program, every option of the library stands in the text
-- of its function, and the table of findings has every kind; nothing in them is without its counterpart.
local mc = require 'mascon'
local conclusion = require 'workflows.xpcs.judge.conclusion'
local layout = require 'workflows.xpcs.read.layout'
local own_layout = require 'workflows.xpcs.read.own_layout'
local triangles = require 'workflows.xpcs.data.triangles'
local function read(path) return assert(mc.file.read(path)) .. '\n' end
local PAGE, HOMODYNE = 'docs/xpcs.md', 'docs/xpcs-homodyne.md'

local function names(text, option)
  return text:find('%-%-' .. option:gsub('%-', '%%-') .. '%f[^%w-]') ~= nil
end

describe('documents of xpcs', function()
  it('name every option: those of homodyne alone on its page', function()
    local page, homodyne = read(PAGE), read(HOMODYNE)
    for _, option in ipairs(mc.xpcs.options.LIST) do
      local name, other = option[1]:gsub('_', '-'), option.homodyne or option.unlisted
      assert.is_true(names(other and homodyne or page, name), ('--%s is not in %s'):format(name, other and HOMODYNE
        or PAGE))
    end
  end)

  it('name no option that is not there', function()
    local known = { help = true, interactive = true } -- taken by every script; refused by this one
    for _, option in ipairs(mc.xpcs.options.LIST) do known[option[1]:gsub('_', '-')] = true end
    for _, path in ipairs { PAGE, HOMODYNE, 'docs/xpcs-tests.md' } do
      for name in read(path):gmatch '%f[%w-]%-%-(%l[%w-]*)' do assert.is_true(known[name], path .. ': --' .. name) end
    end
    for line in read 'README.md':gmatch '[^\n]+' do
      for name in (line:find('scripts/xpcs.lua', 1, true) and line or ''):gmatch '%f[%w-]%-%-(%l[%w-]*)' do
        assert.is_true(known[name], 'README.md: --' .. name)
      end
    end
  end)

  it('say every option of a function in the text of it', function()
    for _, case in ipairs { { 'read.source', 'open' }, { 'fit.fit', 'fit' } } do
      local path = package.searchpath('workflows.xpcs.' .. case[1], package.path)
      local text = read(path)
      local said = text:match('\n(%-%-%-[^\n]*\n[%-%s][^\n]*[^%z]-)\nfunction M%.' .. case[2] .. '%(')
      said = said:gsub('^.*\n\n', '')
      local opts = text:match 'OPTS = (%b{})'
      for name in opts:sub(2):gsub('%b{}', '{}'):gmatch '([%w_]+) = ' do
        assert.is_truthy(said:find('%f[%w_]' .. name .. '%f[^%w_]'), ('%s: the text of %s says no %s'):format(path,
          case[2], name))
      end
    end
  end)

  it('have a row for every kind of finding, and for no other', function()
    local rows, found = read(PAGE):match '\n(| kind | the verdict says .-)\n\n', {}
    for kinds in rows:gmatch '\n| (`[^|]*`) |' do
      for kind in kinds:gmatch '`([%w_]+)`' do
        assert.is_nil(found[kind], kind .. ' stands there twice')
        assert.is_truthy(conclusion.row(kind), kind)
        found[kind] = true
      end
    end
    for _, kind in ipairs(conclusion.kinds()) do assert.is_true(found[kind], PAGE .. ' has no row of ' .. kind) end
  end)

  it('say what a layout holds', function()
    local page = read(PAGE)
    for _, row in ipairs(layout.LIST) do
      for _, part in ipairs(row) do
        assert.is_truthy(page:find('`' .. part[1]:gsub('/c?2?_?%*$', ''), 1, true), part[1])
      end
    end
    for key in pairs(own_layout.KEYS) do assert.is_truthy(page:find('`' .. key .. '`', 1, true), key) end
    for _, rule in ipairs(triangles.RULES) do assert.is_truthy(page:find('`' .. rule .. '`', 1, true), rule) end
  end)
end)
