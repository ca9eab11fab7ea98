-- workflow_native_spec.lua - a user's workflow with C of its own: built in a folder of its own from the one header, its
-- rows behave as the library's.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local compiler = require 'mascon.compile.native.compiler'

local root = support.folder .. '/..'
local headers = io.open(root .. '/runtime/mc_plugin.h') and ('-I %s/runtime -I %s/gen'):format(root, lib.libdir)
  or ('-I %s/include'):format(root)
local found = compiler.find()
local cc = found and os.execute('command -v gcc >/dev/null 2>&1') == 0 and 'gcc'

local C = [[
#include "mc_plugin.h"

typedef struct { const double *x, *y; double *out; double by; int64_t n; } scaled;

static void scale(const void *args, int64_t begin, int64_t end, void *work)
{
    const scaled *a = (const scaled *)args;
    (void)work;
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < a->n; j++)
            a->out[i * a->n + j] = a->by * a->x[i * a->n + j] + a->y[i * a->n + j];
}

/* by x + y of one shape; the last axis is a row */
static int infer_scale(const mc_call *c)
{
    char s[MC_TEXT], t[MC_TEXT];
    int rc = mc_operand(c, 0, MC_F64, 0);
    if (rc || (rc = mc_operand(c, 1, MC_F64, 0)) != 0)
        return rc;
    const mc_tensor *x = c->in[0], *y = c->in[1];
    int same = x->ndim == y->ndim && x->ndim > 0;
    for (int i = 0; same && i < x->ndim; i++)
        same = x->shape[i] == y->shape[i];
    if (!same)
        return mc_error(MC_ESHAPE, "%s: operands are %s and %s; give two of one shape with at least one axis",
                        c->name, mc_text(s, sizeof s, x), mc_text(t, sizeof t, y));
    return mc_shape(c, 0, MC_F64, x->ndim, x->shape);
}

static int run_scale(const mc_call *c)
{
    const mc_tensor *x = c->in[0], *y = c->in[1];
    scaled a = {(const double *)x->data, (const double *)y->data, (double *)mc_result(c, 0), c->params->d[0],
                x->shape[x->ndim - 1]};
    return mc_tasks(scale, &a, a.n ? x->numel / a.n : 0, 0);
}

/* smallest and largest of a list of tensors, of any dtype and layout */
static int infer_range(const mc_call *c)
{
    int rc = mc_shape(c, 0, MC_F64, 0, NULL);
    return rc ? rc : mc_shape(c, 1, MC_F64, 0, NULL);
}

static int run_range(const mc_call *c)
{
    double lo = 1e308, hi = -1e308;
    for (int k = 0; k < c->nin; k++) {
        mc_tensor d;
        __builtin_memset(&d, 0, sizeof d);
        int rc = mc_dense(&d, c->in[k], MC_F64);
        const double *v = (const double *)d.data;
        for (int64_t i = 0; !rc && i < d.numel; i++) {
            lo = v[i] < lo ? v[i] : lo;
            hi = v[i] > hi ? v[i] : hi;
        }
        mc_give_back(&d);
        if (rc)
            return rc;
    }
    *(double *)mc_result(c, 0) = lo;
    *(double *)mc_result(c, 1) = hi;
    return MC_OK;
}

/* names no result when it is told to */
static int infer_lazy(const mc_call *c) { return c->params->i[0] ? MC_OK : mc_shape(c, 0, MC_F64, 0, NULL); }
static int run_lazy(const mc_call *c) { return mc_error(MC_EINVAL, "%s: is not in the mood", c->name); }

MC_PLUGIN({"moon_scale", infer_scale, run_scale}, {"moon_range", infer_range, run_range},
          {"moon_lazy", infer_lazy, run_lazy})
]]

local ROWS = [[
-- rows.lua - ops of the moon.
return {
  { 'moon_scale', nin = 2, dtypes = { 'f64' }, params = { { 'by', 'number', 2 } }, tol = 'ULP1',
    doc = 'by x + y', source = 'this file',
    rules = {
      reverse = function(g, _, _, p) return { g * p.by, g } end,
      batch = 'leading',
    } },
  { 'moon_range', nin = 'list', nout = 2, dtypes = { 'f64', 'f32' }, tol = 'EXACT',
    doc = 'smallest and largest element', source = 'this file', rules = 'none: a summary' },
  { 'moon_lazy', nin = 1, dtypes = { 'f64' }, params = { { 'how', 'int', 0 } }, tol = 'EXACT',
    doc = 'nothing', source = 'this file', rules = 'none: no value' },
}
]]

local INIT = [[
--- workflows.moon: tides in C.
local native = require 'mascon.base.workflow'.native 'moon'
local M = {}
M.scale = native.moon_scale
M.range = native.moon_range
M.lazy = native.moon_lazy
return M
]]

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function build(folder, language, extra)
  local source = folder .. '/moon.' .. (language == 'c++' and 'cpp' or 'c')
  process.write(source, C)
  local flags = language == 'c++' and 'g++ -std=c++17' or 'gcc -std=c11'
  local pipe = io.popen(
    ('%s -Wall -Wextra -Wpedantic -Werror -O2 -ffp-contract=off -fPIC -fvisibility=hidden -shared %s %s -o %s %s 2>&1')
    :format(
      flags, extra or '', headers, quote(folder .. '/mc_wf_moon.so'), quote(source)))
  local said = pipe:read '*a'
  pipe:close()
  return said
end

describe("a workflow's own C", function()
  local folder, path, moon
  setup(function()
    if not cc then return end
    folder = process.folder()
    path = folder .. '/workflows/moon'
    process.make(path, '700')
    process.write(path .. '/init.lua', INIT)
    process.write(path .. '/rows.lua', ROWS)
    assert.equal('', build(path, 'c'))
    package.path = package.path .. (';%s/?.lua;%s/?/init.lua'):format(folder, folder)
    moon = mc.moon
  end)
  teardown(function()
    if not cc then return end
    package.path = package.path:gsub(';[^;]*' .. folder:gsub('%p', '%%%0') .. '[^;]*', '')
    process.remove(folder)
  end)
  local function it_c(name, f)
    it(name, function()
      if not cc then return pending 'no gcc here' end
      f()
    end)
  end

  it_c('runs on a device, at once and compiled', function()
    local x, y = mc.randn { 5, 7, seed = 1 }, mc.randn { 5, 7, seed = 2 }
    local p, q = x:to 'ref', y:to 'ref'
    local z = moon.scale(p, q, 3)
    assert.equal('ref:0', z.device)
    assert.is_true(mc.array_equal(moon.scale(x, y, 3), z:to 'cpu'))
    local lo, hi = moon.range({ p, q })
    assert.equal((moon.range { x, y }):item(), lo:item())
    assert.equal('ref:0', hi.device)
    local g = mc.compile(function(a, b) return moon.scale(a, b, 3) + 1 end)
    for _ = 1, 2 do assert.is_true(mc.array_equal(moon.scale(x, y, 3) + 1, g(p, q):to 'cpu')) end
    local function says(pattern, a, b)
      assert.matches(pattern, support.message(function() return moon.scale(a, b) end))
    end
    says('moon_scale: operands are on different devices', p, y)
    says('moon_scale: operands are f64%[5,7%]@ref:0', p, q['1:3'])
  end)

  it_c('computes, with parameters by place and name, out=, and lists', function()
    local x, y = mc.randn { 5, 7, seed = 1 }, mc.randn { 5, 7, seed = 2 }
    assert.is_true(mc.array_equal(x * 2 + y, moon.scale(x, y)))
    assert.is_true(mc.array_equal(x * 3 + y, moon.scale(x, y, 3)))
    assert.is_true(mc.array_equal(x * 3 + y, moon.scale(x, y, { by = 3 })))
    local out = mc.zeros { 5, 7 }
    assert.is_true(rawequal(out, moon.scale(x, y, { by = -1, out = out })))
    assert.is_true(mc.array_equal(y - x, out))
    assert.same({ 0, 3 }, { mc.zeros({ 0, 3 }).shape[1], moon.scale(mc.zeros { 0, 3 }, mc.zeros { 0, 3 }).shape[2] })
    local wide = mc.zeros { 5, 14 }
    moon.scale(x, y, { out = wide[':, ::2'] })
    assert.is_true(mc.array_equal(x * 2 + y, wide[':, ::2']))
    assert.is_true(mc.array_equal(mc.zeros { 5, 7 }, wide[':, 2::2']))
    local self = x:copy()
    moon.scale(self, self.T:copy().T:contiguous(), { out = self }) -- written over what it reads
    assert.is_true(mc.array_equal(x * 2 + x, self))
    local lo, hi = moon.range({ mc.arange(1, 6):reshape(2, 3).T, mc.tensor({ -4, 9 }, { dtype = 'i32' }) })
    assert.same({ -4, 9 }, { lo:item(), hi:item() })
    for _, threads in ipairs { 1, 2 } do
      mc.set_num_threads(threads)
      assert.is_true(mc.array_equal(x * 2 + y, moon.scale(x, y)))
    end
  end)

  it_c('says what is wrong, and leaves nothing behind', function()
    local before = mc.memory().tensors
    local x = mc.ones { 3, 4 }
    for text, f in pairs {
      ['moon_scale: operands are f64[3,4]@cpu and f64[4]@cpu; give two of one shape'] = function()
        moon.scale(x, mc.ones { 4 })
      end,
      ['moon_scale: operand 1 is f32[2]@cpu; it must be contiguous f64'] = function()
        moon.scale(mc.ones({ 2 }, { dtype = 'f32' }), x)
      end,
      ['moon_scale: operand 1 is f64[4,3]@cpu, which is not contiguous; give x:contiguous()'] = function()
        moon.scale(x.T, x.T)
      end,
      ['moon_scale: option "bye" is unknown; did you mean "by"?'] = function() moon.scale(x, x, { bye = 1 }) end,
      ['moon_scale: operand is nil'] = function() moon.scale(x) end,
      ['moon_scale: takes 2 operands and options'] = function() moon.scale(x, x, 1, {}, 5) end,
      ['moon_lazy: is not in the mood'] = function() moon.lazy(x) end,
      ['moon_lazy: result 1 was not inferred'] = function() moon.lazy(x, 1) end,
      ['moon_range: operands are missing'] = function() moon.range {} end,
      ['moon_range: the first argument is'] = function() moon.range(x) end,
      ['mc.moom: there is no such name; did you mean mc.moon?'] = function() return mc.moom end,
    } do
      local said = support.message(f)
      assert.is_truthy(said:find(text, 1, true), said)
    end
    local blamed =
      select(2, pcall(loadstring("local moon, x = ...\n\nmoon.scale(x, x, { bye = 1 })", '=caller'), moon, x))
    assert.matches('^caller:3: ', blamed)
    x = nil
    collectgarbage()
    collectgarbage()
    assert.is_true(mc.memory().tensors <= before + 4096)
  end)

  it_c('is part of compiled functions, derivatives, maps, the tape and help', function()
    local x, y = mc.randn { 6, 8, seed = 3 }, mc.randn { 6, 8, seed = 4 }
    local function f(a, b) return (mc.exp(moon.scale(a, b, 0.5)) * 2):sum() end
    local function plain(a, b) return (mc.exp(a * 0.5 + b) * 2):sum() end
    local g = mc.compile(f)
    for _ = 1, 3 do assert.is_true(mc.array_equal(f(x, y), g(x, y))) end
    assert.is_true(mc.array_equal(f(y, x), g(y, x)))
    assert.is_true(mc.array_equal(mc.grad(plain)(x, y), mc.grad(f)(x, y)))
    local value, tangent = mc.jvp(f, { x, y }, { y, x })
    local value2, tangent2 = mc.jvp(plain, { x, y }, { y, x })
    assert.is_true(mc.allclose(value, value2) and mc.allclose(tangent, tangent2, { rtol = 1e-12 }))
    assert.is_true(mc.array_equal(x * 2 + y[1], mc.vmap(function(a) return moon.scale(a, y[1]) end)(x)))
    assert.is_true(mc.array_equal(x * 2 + x, mc.vmap(function(a) return moon.scale(a, a) end)(x)))
    local lo = mc.vmap(function(a) return (moon.range { a }) end)(x) -- without a rule: one by one
    assert.is_true(mc.array_equal(x:min(2), lo))
    assert.matches('moon_range has no derivative: a summary',
      support.message(mc.grad(function(a) return (moon.range { a }) end), x))
    assert.matches('moon_lazy', support.message(mc.grad(function(a) return moon.lazy(a) end), x))
    assert.equal('moon_scale', mc.ops.moon_scale[1])
    local text = require('mascon.help').show(moon.scale)
    assert.matches('by x %+ y', text)
    assert.matches('by %(number%), default 2', text)
    assert.matches('Source: this file', text)
  end)

  it_c('is refused with advice when its parts do not belong together', function()
    local script = "local ok, why = pcall(function() return require('mascon').mars end) io.write(tostring(why))"
    local mars = folder .. '/bad/workflows/mars'
    process.make(mars, '700')
    process.write(mars .. '/init.lua', "return require 'mascon.base.workflow'.native 'mars'\n")
    local function said()
      return process.mascon(script, { MASCON_PATH = folder .. '/bad' }).text
    end
    assert.matches('mars: its native part has no rows%.lua beside ', said())
    process.write(mars .. '/rows.lua', ROWS)
    assert.matches('mars: its native part mc_wf_mars%.so is neither in .*workflows/mars nor in .*plugins; build it',
      said())
    os.execute(('cp %s/mc_wf_moon.so %s/mc_wf_mars.so'):format(quote(path), quote(mars)))
    local function rows(from, to)
      local text = ROWS
      local at, stop = text:find(from, 1, true)
      process.write(mars .. '/rows.lua', text:sub(1, at - 1) .. to .. text:sub(stop + 1))
      return said()
    end
    assert.matches('row moon_scales has no function in .*mc_wf_mars%.so; name it in MC_PLUGIN',
      rows("'moon_scale'", "'moon_scales'"))
    assert.matches('has a function moon_lazy that no row of .*rows%.lua names',
      rows(ROWS:match "  { 'moon_lazy'.-} },\n" or ROWS:match "  { 'moon_lazy'.-},\n", ''))
    assert.matches('row moon_scale: there is no field tole; did you mean tol%?', rows('tol', 'tole'))
    assert.matches('row moon_scale: it has no source', rows("source = 'this file',", ''))
    assert.matches('row moon_scale: there is no dtype f65', rows("'f64'", "'f65'"))
    assert.matches('row moon_scale: rules are a table', rows(
      'rules = {\n      reverse = function(g, _, _, p) return { g * p.by, g } end,\n      batch = \'leading\',\n    }',
      'rules = "auto"'))
    assert.matches('there is an op add already; give the row another name', rows("'moon_scale'", "'add'"))
    process.write(mars .. '/mc_wf_mars.so', 'no object')
    assert.matches('mc_wf_mars%.so cannot be opened', said())
  end)

  it_c('may be C++', function()
    if os.execute 'command -v g++ >/dev/null 2>&1' ~= 0 then return pending 'no g++ here' end
    local at = folder .. '/plus'
    process.make(at, '700')
    assert.equal('', build(at, 'c++'))
  end)
end)
