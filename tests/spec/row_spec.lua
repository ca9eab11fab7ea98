-- row_spec.lua - an op is one row: the example of CONTRIBUTING and a reduction are added to a copy of the tree, which
-- is built and tested.
--
-- Only what a row changes is compiled; the copy runs its own matrix, gradient and documentation tests, and maps the new
-- functions over batches.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process, read = support.load 'process', support.load('script').read
local quote = process.quote

--- Both outputs of a command line and its exit status.
local function shell(command)
  local r = process.shell(command)
  return r.text, r.status
end

local function write(path, text, mode)
  local f = assert(io.open(path, mode or 'wb'))
  f:write(text)
  f:close()
end

local REDUCTION = [[
op { 'sum_of_squares', family = 'reduce', dtypes = { 'f32', 'f64' }, params = AX, kernel = { 'f32', 'f64' },
  tol = 'ACCUM', rules = 'auto', d = '2 * a', work = 0.5,
  example = 'mc.sum_of_squares(mc.tensor{1, 2, 3})  --> f64[]@cpu 14',
  doc = 'sum of squares over axes', source = 'definition' }
]]
local KERNEL = [[
/* sum_of_squares.c - sums of squares along rows, in double precision. */
#include "mck_reduce.h"
#define BODY(T)                                                                  \
    double *o = k->out;                                                          \
    const T *x = k->in;                                                          \
    for (int64_t i = 0; i < k->m; i++) {                                         \
        double s = 0;                                                            \
        for (int64_t j = 0; j < k->n; j++) {                                     \
            const double v = (double)x[i * k->row_stride + j * k->elem_stride];  \
            s += v * v;                                                          \
        }                                                                        \
        o[i] = s;                                                                \
    }
void MCK(sum_of_squares_f32)(const mck_reduce *k);
void MCK(sum_of_squares_f64)(const mck_reduce *k);
void MCK(sum_of_squares_f32)(const mck_reduce *k) { BODY(float) }
void MCK(sum_of_squares_f64)(const mck_reduce *k) { BODY(double) }
]]
local REFERENCE = [[
function R.sum_of_squares(row)
  local squares = {}
  for i = 1, #row do squares[i] = row[i] * row[i] end
  return exact_sum(squares), exact_sum(squares)
end

]]
local BATCHES = [[
local mc = require 'mascon'
local x = mc.randn({ 3, 4 }, { seed = 1 })
for _, case in ipairs {
  { mc.hypot3, x, x + 1, x * 2 }, { function(t) return mc.sum_of_squares(t) end, x },
  { mc.grad(function(t) return mc.sum_of_squares(t) end), x },
  { mc.grad(function(a, b, c) return mc.sum(mc.hypot3(a, b, c)) end, { argnums = 2 }), x, x + 1, x * 2 },
} do
  local rows = {}
  for i = 1, 3 do rows[i] = case[1](case[2][i], case[3] and case[3][i], case[4] and case[4][i]) end
  local want, all = mc.stack(rows, 1), mc.vmap(case[1])
  assert(mc.allclose(want, all(unpack(case, 2)), { rtol = 1e-14 }))
  local compiled = mc.compile(all)
  for _ = 1, 2 do assert(mc.allclose(want, compiled(unpack(case, 2)), { rtol = 1e-14 })) end
end
local help = ''
for _, e in ipairs(require 'mascon.help'.entries()) do
  if e.name == 'mc.hypot3' then help = table.concat(e.text, '\n') end
end
print(mc.hypot3(1, 2, 2), mc.tensor { 3 }:hypot3(4, 12), mc.sum_of_squares(mc.tensor { 1, 2, 3 }),
  help:find('Euclidean norm of three numbers', 1, true) ~= nil)
]]

describe('a row of the op table', function()
  it('is all that an op takes', function()
    if not read 'Makefile' or not read 'runtime/ops/ops.lua' then return pending 'no sources in this folder' end
    if os.getenv 'MASCON_TEST_BARE' == '1' then return pending 'a build of its own, with all its plug-ins' end
    local build = os.getenv 'B' or 'build'
    if not read(build .. '/gen/.levels') then return pending 'this build has no generated sources' end
    local folder = os.tmpname()
    os.remove(folder)
    local ok, why = pcall(function()
      local out, status =
        -- what other tests write meanwhile (compiled programs, logs) is no part of it, and may vanish under the copy
        shell(('mkdir -p %s/build && cp -a Makefile runtime kernels bindings lua tests scripts CONTRIBUTING.md %s/ && '
          .. "find %s -mindepth 1 -maxdepth 1 ! -name pocl ! -name cache ! -name tests ! -name soak ! -name standin "
          .. "-exec cp -a -t %s/build '{}' +"):format(quote(folder), quote(folder), quote(build), quote(folder)))
      assert(status == 0, out)
      -- one level is enough here; a build of several is brought to it before anything is counted
      out, status = shell(('cd %s && make LEVELS=v3 all'):format(quote(folder)))
      assert(status == 0, out)
      local row = assert(read(folder .. '/CONTRIBUTING.md'):match "\n( *op {\n *'hypot3'.-)```",
        'the example of CONTRIBUTING is not found')
      write(folder .. '/runtime/ops/rows/ternary.lua', '\n' .. row, 'ab')
      write(folder .. '/runtime/ops/rows/reduce.lua', '\n' .. REDUCTION, 'ab')
      write(folder .. '/kernels/cpu/sum_of_squares.c', KERNEL)
      local reference = read(folder .. '/tests/support/reference.lua')
      write(folder .. '/tests/support/reference.lua',
        (reference:gsub('\nfunction R%.prod', '\n' .. REFERENCE:gsub('%%', '%%%%') .. 'function R.prod', 1)))
      -- the specs that try every row, and no others
      os.execute(('cd %s/tests/spec && ls | grep -v -x -e ops_matrix_spec.lua -e grad_elementwise_spec.lua -e '
        .. 'grad_reduce_spec.lua -e examples_spec.lua | xargs rm -rf'):format(quote(folder)))
      out, status = shell(('cd %s && make LEVELS=v3 V=1 all'):format(quote(folder)))
      assert(status == 0, out)
      local compiled = 0
      for line in out:gmatch '[^\n]+' do if line:find ' %-c ' then compiled = compiled + 1 end end
      assert(compiled <= 5, ('%d files are compiled for two rows:\n%s'):format(compiled, out))
      for filter, least in pairs { hypot3 = 2, sum_of_squares = 3 } do
        out, status = shell(('cd %s && JOBS=1 build/mascon tests/run.lua %s'):format(quote(folder), filter))
        local passed = tonumber(out:match '(%d+) passed, 0 failed%s*$')
        assert(status == 0 and passed and passed >= least, out)
      end
      write(folder .. '/batches.lua', BATCHES)
      out, status = shell(('cd %s && build/mascon batches.lua'):format(quote(folder)))
      assert(status == 0, out)
      assert.equal('f64[]@cpu 3\tf64[1]@cpu { 13 }\tf64[]@cpu 14\ttrue\n', out)
      -- a kernel that no row names, and a row whose kernel is not there, stop the build by name
      write(folder .. '/kernels/cpu/sum_of_cubes.c', (KERNEL:gsub('sum_of_squares', 'sum_of_cubes')))
      out, status = shell(('cd %s && make LEVELS=v3 all'):format(quote(folder)))
      local stray = 'mck_sum_of_cubes_f64_v3 of kernels/cpu/sum_of_cubes.c is named by no row'
      assert(status ~= 0 and out:find(stray, 1, true), out)
      os.remove(folder .. '/kernels/cpu/sum_of_cubes.c')
      local nothing = '/* sum_of_squares.c - nothing. */\n#include "mck_reduce.h"\n'
      write(folder .. '/kernels/cpu/sum_of_squares.c', nothing)
      out, status = shell(('cd %s && make LEVELS=v3 all'):format(quote(folder)))
      local missing = 'the row sum_of_squares of runtime/ops/rows names mck_sum_of_squares_f32_v3'
      assert(status ~= 0 and out:find(missing, 1, true), out)
    end)
    os.execute('rm -rf ' .. quote(folder))
    assert(ok, why)
  end)
end)
