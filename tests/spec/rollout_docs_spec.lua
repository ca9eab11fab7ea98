-- rollout_docs_spec.lua - docs/rollout.md lists what there is: initial fields with their options and defaults, and the
-- values of keys that choose among names.
local mc = require 'mascon'
local leaf = require 'workflows.rollout.leaf'
local parameters = require 'workflows.rollout.parameters'
local rollout = mc.rollout

local function shown(v)
  if type(v) ~= 'table' then return v == nil and 'none' or tostring(v) end
  local out = {}
  for i, x in ipairs(v) do out[i] = tostring(x) end
  return '[' .. table.concat(out, ', ') .. ']'
end

--- Options of a kind as the page writes them: `name` default (choices).
local function options(kind)
  local out, names = {}, {}
  for name in pairs(rollout.fields.schema(kind)) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    local l = rollout.fields.schema(kind)[name]
    local choices = leaf.choices(l)
    out[i] = ('`%s` %s%s'):format(name, shown(l[2]), choices and (' (%s)'):format(table.concat(choices, ', ')) or '')
  end
  return table.concat(out, '; ')
end

describe('docs/rollout.md', function()
  local page = assert(mc.file.read 'docs/rollout.md')

  it('lists every initial field with its options and defaults', function()
    local rows, count = {}, 0
    for name, _, text in page:gmatch '\n| `([%w_]+)` | ([^|\n]*) | ([^|\n]*) |' do rows[name] = text end
    for _, kind in ipairs(rollout.fields.names()) do
      local own = rollout.fields.records { simulation = { input_generation = { method = kind } } }[1] -- of another spec
      if not own then
        assert.equal(options(kind), rows[kind], kind)
        count = count + 1
      end
    end
    assert.is_true(count >= 28)
    for kind in pairs(rows) do assert.is_truthy(rollout.fields.schema(kind), kind) end
  end)

  it('names every parameter of operators, and what it may be', function()
    local count = 0
    for _, section in ipairs(parameters.SECTIONS) do
      for _, name in ipairs(parameters.NAMES[section]) do
        assert.is_truthy(page:find('`' .. name .. '`', 1, true), name)
        local choices = parameters.leaf(section, name).choices
        if choices then
          count = count + 1
          assert.is_truthy(page:find('`' .. table.concat(choices, '`, `') .. '`', 1, true), name)
        end
      end
    end
    assert.is_true(count >= 6)
    assert.is_truthy(page:find('`' .. table.concat(rollout.operator.STORAGE, '`, `') .. '`', 1, true))
  end)
end)
