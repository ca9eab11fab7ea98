-- ops_matrix_spec.lua - every op of the table, every dtype, awkward shapes and layouts, every instruction level,
-- against the plain loop.
--
-- The cases come from the op table itself: a row without a reference fails. Families with their own sense of shape
-- (fft, random, gather, layout) are held to their definitions here as well, in their simplest form; their own specs go
-- further.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local C = require 'mascon.core.ffi'.C
local ops = require 'mascon.gen.ops'.ops
local matrix = support.load 'matrix'
local elementwise, axes, moves = support.load 'matrix_elementwise', support.load 'matrix_axes',
  support.load 'matrix_moves'

local FAMILY = {
  unary = elementwise.ewise, binary = elementwise.ewise, ternary = elementwise.ewise, where = elementwise.ewise,
  reduce = axes.reduce, scan = axes.scan, sort = axes.sort, matmul = axes.matmul, softmax = axes.softmax,
  gather = moves.moving, layout = moves.moving, segment = moves.segment, fft = moves.fft,
  -- quantile: golden answers of all methods in sort_spec
  select = function(row) if row[1] == 'median' then axes.median(row) end end,
  random = moves.random,
}

-- families with specs of their own
local ELSEWHERE = {
  native = 'workflow_native_spec', -- rows that workflows of other specs added
  autoreject = 'autoreject_*_spec',
  attention = 'attention_spec',
  conv = 'conv_spec',
  dct = 'cases_spec',
  dot = 'cases_spec',
  filter = 'signal_spec',
  interp = 'cases_spec',
  linalg = 'cases_spec.lua, linalg_spec.lua',
  lua = 'cases_spec.lua',
  pac = 'pac_*_spec',
  pad = 'cases_spec',
  recurrence = 'recurrence_spec',
  sequence = 'random_sequence_spec', standardise = 'network_norm_spec',
  tridiagonal = 'cases_spec', cross = 'products_spec',
  unique = 'arrayapi_spec',
}

-- with a collection before every tensor the whole matrix would take minutes: one dtype of each kind, one level
local function thinned(row)
  if not support.gc then return row end
  local some, list = { f64 = true, i32 = true, c64 = true, bool = true }, {}
  for _, d in ipairs(row.dtypes) do if some[d] then list[#list + 1] = d end end
  if #list == 0 then list[1] = row.dtypes[1] end
  return setmetatable({ dtypes = list }, { __index = row })
end

describe('the op table', function()
  teardown(function()
    matrix.forget()
    assert.equal(BEFORE, support.tensor_bytes())
  end)
  local levels = support.levels()
  if support.gc then levels = { levels[#levels] } end
  for _, row in ipairs(ops) do
    if FAMILY[row.family] then
      describe(row[1], function()
        setup(matrix.next_row)
        teardown(matrix.next_row)
        for _, isa in ipairs(levels) do
          it('agrees with its definition on ' .. isa, function()
            support.restoring(function()
              assert(C.mc_isa_set(isa) == 0)
              matrix.again()
              FAMILY[row.family](thinned(row), isa)
            end)
          end)
        end
      end)
    end
  end

  it('has a test for every family', function()
    for _, row in ipairs(ops) do assert.is_truthy(FAMILY[row.family] or ELSEWHERE[row.family], row.family) end
  end)
end)
