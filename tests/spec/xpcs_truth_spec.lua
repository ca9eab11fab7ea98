-- xpcs_truth_spec.lua - the true values of a simulation: in its file, beside the values of its fit, left out where they
-- do not hold.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local script = support.load 'script'
local mc = require 'mascon'
local xpcs = mc.xpcs
local truth = require 'workflows.xpcs.model.truth'
local folder = os.tmpname()
os.remove(folder)

local TRUE = { D0 = 5000, alpha = 0.3, D_offset = 900, gamma_dot_t0 = 4e-4, beta = -0.25, gamma_dot_t_offset = 1.2e-4,
  phi0 = 4, contrast = 0.25, offset = 1.02, sigma = 0.004, gap = 1.5e6 }

local function run(line) return script.run('xpcs', line) end

describe('true values of a simulation', function()
  local data
  setup(function()
    assert(mc.file.make_folder(folder))
    local text, status = run('simulate --laminar-flow --frames 50 --dt 0.25 --q 0.01 --phi-angles "-25,0,30,75" --gap '
      .. '1.5e6 --contrast 0.25 --offset 1.02 --initial-d0 5000 --initial-alpha 0.3 --initial-d-offset 900 '
      .. '--initial-gamma-dot-t0 4e-4 --initial-beta -0.25 --initial-gamma-dot-offset 1.2e-4 --initial-phi0 4 '
      .. '--noise 0.004 --output-dir ' .. folder)
    assert.equal(0, status, text)
    for _, part in ipairs { 'true value', 'D0                  A^2/s  5000', 'gamma_dot_t_offset  1/s    1.2e-4',
      'sigma' } do assert.is_truthy(text:find(part, 1, true), text) end
    data = folder .. '/simulated_data.npz'
  end)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  it('stand in its file', function()
    local z = mc.load(data)
    for name, v in pairs(TRUE) do assert.equal(v, z['true_' .. name]:item(), name) end
  end)

  it('have sigma 0 where no noise is asked for', function()
    local text, status = run('simulate --frames 10 --noise 0 --output-dir ' .. folder .. '/clean')
    assert.equal(0, status, text)
    local z = mc.load(folder .. '/clean/simulated_data.npz')
    assert.equal(0, z.true_sigma:item())
    assert.is_true(mc.array_equal(z.c2_exp, z.c2_exp.mT))
  end)

  it('stand beside the fit with their distance in standard errors, in tables, JSON and report', function()
    local out = folder .. '/fit'
    local text, status = run(data .. ' --laminar-flow --gap 1.5e6 --sigma 0.004 --scaling individual '
      .. '--fixed beta=-0.25 --quiet --no-arrays --output-dir ' .. out)
    assert.equal(0, status, text)
    assert.is_truthy(text:find('true value  pull', 1, true), text)
    local p = mc.load(out .. '/nlsq/parameters.json').parameters
    for name, v in pairs(TRUE) do
      local q = p[name]
      if q then
        assert.equal(v, q.true_value, name)
        if q.state ~= 'fixed' then
          assert.is_true(math.abs(q.pull - (q.value - v) / q.uncertainty) < 1e-9 and math.abs(q.pull) < 5, name)
        else assert.is_nil(q.pull) end
      end
    end
    local page = script.read(out .. '/report.html')
    assert.is_truthy(page:find('Pull: the value less the true one', 1, true))
  end)

  it('follow the convention of the phase, and the terms of a series', function()
    local d = xpcs.open(data, { mode = 'laminar_flow', gap = 1.5e6 })
    local r = xpcs.fit(d, { sigma = 0.004, phase_convention = 'qL/2' })
    for _, q in ipairs(r.parameters) do
      local v = truth.beside(r, q)
      local want = TRUE[q.name] / (q.name:find '^gamma' and math.pi or 1)
      assert.is_true(math.abs(v - want) < 1e-12 * math.abs(want), q.name)
    end
    r = { data = d, geometry = {} }
    assert.equal(0.25, (truth.beside(r, { name = 'contrast_mean' })))
    assert.equal(0, (truth.beside(r, { name = 'offset_cos_1' })))
    assert.equal(1.02, (truth.beside(r, { name = 'offset_3' })))
  end)

  it('are left out, with a note, where clock, step or gap are others', function()
    for part, o in pairs { ['the clock starts again'] = { start_frame = 4 }, ['the time between frames'] = { dt = 0.5 },
      ['a gap of 1500000 A, and 2000000 A is used'] = { gap = 2e6 } } do
      o.mode, o.gap = 'laminar_flow', o.gap or 1.5e6
      local d = xpcs.open(data, o)
      assert.is_nil(d.truth)
      assert.is_truthy(table.concat(d.warnings, '\n'):find(part, 1, true), part)
    end
    -- fewer frames at the end change nothing
    assert.equal(5000, xpcs.open(data, { end_frame = 40, gap = 1.5e6 }).truth.D0)
  end)

  it('are absent in data that are measured', function()
    local z = mc.load(data)
    for name in pairs(TRUE) do z['true_' .. name] = nil end
    mc.save(folder .. '/measured.npz', z)
    local d = xpcs.open(folder .. '/measured.npz', {})
    assert.is_nil(d.truth)
    local r = xpcs.fit(d, { mode = 'static', sigma = 0.004 })
    assert.is_nil(xpcs.report.table(r):find('pull', 1, true))
    assert.is_nil(xpcs.results.parameters(r).parameters.D0.true_value)
  end)
end)
