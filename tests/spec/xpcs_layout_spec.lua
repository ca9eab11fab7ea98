-- xpcs_layout_spec.lua - HDF5 files of other beamlines: a layout of the user's own names the datasets; which triangle
-- of a matrix counts is told or found.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local mc = require 'mascon'
local xpcs = mc.xpcs
local N, F, DT = 9, 3, 0.5
local folder, sim, count

local function refused(f, ...)
  local ok, why = pcall(f)
  assert.is_false(ok)
  for _, part in ipairs { ... } do assert.is_truthy(tostring(why):find(part, 1, true), tostring(why)) end
end

--- A file of these datasets.
local function file(parts)
  count = count + 1
  local path = ('%s/%d.h5'):format(folder, count)
  local w = mc.open(path, { mode = 'w', format = 'h5' })
  for name, v in pairs(parts) do w:put(name, v) end
  w:close()
  return path
end

--- That a file read whole and by strips gives these matrices: pairs i < j without the first frame.
local function holds(path, o, want, phi)
  for _, pack in ipairs { false, folder .. '/packed.h5' } do
    o.pack = pack or nil
    local d = xpcs.open(path, o)
    assert.same(phi or sim.phi, d.phi)
    assert.equal(0, d.masked)
    for f = 1, d.F do
      local u = mc.triu(mc.ones { N - 1, N - 1 }, 1)
      local kept = want[f][{ { 2, N }, { 2, N } }]
      assert.is_true(mc.array_equal(d:matrix(f) * u, kept * u), 'matrix ' .. f)
    end
    o.pack = nil
    os.remove(folder .. '/packed.h5')
  end
end

describe('a layout of the user', function()
  setup(function()
    folder, count = process.folder(), 0
    sim = xpcs.simulate { n = N, dt = DT, q = 0.01, phi = { 0, 40, 80 }, physics = { 2200, -0.35, 300 }, sigma = 0.004,
      first = 0 }
  end)
  teardown(function()
    process.remove(folder)
    sim = nil
  end)

  it('names one dataset of all matrices, its axis found by the shape or told', function()
    local rest = { q = mc.full({ F }, 0.01), phi = mc.tensor(sim.phi), dt = mc.tensor(DT) }
    local own = { c2 = 'a/c2', q = 'q', phi = 'phi', dt = 'dt' }
    for axis = 1, 3 do
      local c2 = mc.stack({ sim.c2[1], sim.c2[2], sim.c2[3] }, axis)
      holds(file { ['a/c2'] = c2, q = rest.q, phi = rest.phi, dt = rest.dt }, { layout = own }, sim.c2)
    end
    local cube = mc.stack({ mc.triu(sim.c2[1][{ { 1, 3 }, { 1, 3 } }]), mc.triu(sim.c2[2][{ { 1, 3 }, { 1, 3 } }]),
      mc.triu(sim.c2[3][{ { 1, 3 }, { 1, 3 } }]) }, 3)
    local path = file { ['a/c2'] = cube, q = rest.q, phi = rest.phi, dt = rest.dt }
    local told = { c2 = 'a/c2', q = 'q', phi = 'phi', dt = 'dt', axis = 3 }
    assert.equal(sim.c2[2][{ 2, 3 }]:item(), xpcs.open(path, { layout = told }):matrix(2)[{ 1, 2 }]:item())
  end)

  it('finds the triangle that counts, or is told it', function()
    local below = mc.tril(mc.ones { N, N }, -1)
    local function one(h, o)
      local path = file { c2 = h, q = mc.tensor(0.01), phi = mc.tensor(40) }
      local own = { c2 = 'c2', q = 'q', phi = 'phi', triangle = o and o.triangle }
      return path, { layout = own, dt = DT, full_matrices = o and o.full_matrices }
    end
    local c = sim.c2[2]
    local forms = { full = c, upper = mc.triu(c), lower = mc.tril(c), upper_nan = mc.where(mc.gt(below, 0), mc.nan, c),
      lower_nan = mc.where(mc.gt(below.mT, 0), mc.nan, c) }
    for _, h in pairs(forms) do
      local path, o = one(h)
      holds(path, o, { c }, { 40 })
    end
    local two = mc.triu(c, 0) + mc.tril(sim.c2[3], -1)
    for triangle, want in pairs { upper = c, lower = sim.c2[3], full = c } do
      local path, o = one(two, { triangle = triangle })
      holds(path, o, { want }, { 40 })
    end
    local path, o = one(two, { full_matrices = true })
    holds(path, o, { c }, { 40 })
    for _, pack in ipairs { false, folder .. '/two.h5' } do
      path, o = one(two)
      o.pack = pack or nil
      refused(function() xpcs.open(path, o) end, 'both triangles', 'differ by', 'full_matrices', 'triangle')
    end
  end)

  it('makes a packed file again for another triangle or other datasets, and says all the same of one that is kept',
    function()
      local two = mc.triu(sim.c2[1], 0) + mc.tril(sim.c2[3], -1)
      local path = file { c2 = two, other = sim.c2[2], q = mc.tensor(0.01), phi = mc.tensor(40) }
      local function first(c2, triangle)
        local d = xpcs.open(path, { dt = DT, pack = folder .. '/kept.h5', layout = { c2 = c2, q = 'q', phi = 'phi',
          triangle = triangle } })
        local v, said = d:matrix(1)[{ 1, 2 }]:item(), table.concat(d.warnings, '\n')
        return v, said
      end
      assert.equal(sim.c2[1][{ 2, 3 }]:item(), (first('c2', 'upper')))
      assert.equal(sim.c2[3][{ 2, 3 }]:item(), (first('c2', 'lower')))
      assert.equal(sim.c2[2][{ 2, 3 }]:item(), (first('other')))
      for _ = 1, 2 do assert.matches('1 of 1 matrices are not symmetric', select(2, first('c2', 'full'))) end
    end)

  it('takes q, angles and dt as numbers, per matrix or by the grid of q and angles, and in other units', function()
    local groups = {}
    for f = 1, F do groups['m/' .. f] = mc.triu(sim.c2[f]) end
    groups.q, groups.phi = mc.full({ F }, 0.1), mc.tensor(sim.phi) * (math.pi / 180)
    local function near(path, o)
      local d = xpcs.open(path, o)
      for f, a in ipairs(sim.phi) do assert.is_true(math.abs(d.phi[f] - a) < 1e-9) end
      assert.is_true(math.abs(d.q - 0.01) < 1e-12)
      return d
    end
    near(file(groups), { dt = DT, layout = { c2 = 'm', q = 'q', phi = 'phi', q_unit = '1/nm', phi_unit = 'rad' } })
    near(file(groups), { q = 0.01, layout = { c2 = 'm', phi = sim.phi, dt = DT } })
    refused(function() xpcs.open(file(groups), { dt = DT, layout = { c2 = 'm', phi = 'phi' } }) end, 'q is missing')
    -- [q, angles, n, n]
    local grid = mc.stack({ sim.c2, sim.c2 + 0.25 }, 1)
    local path = file { c2 = grid, q = mc.tensor { 0.01, 0.02 }, phi = mc.tensor(sim.phi) }
    local own = { c2 = 'c2', q = 'q', phi = 'phi' }
    holds(path, { q = 0.02, dt = DT, layout = own }, sim.c2 + 0.25)
    refused(function() xpcs.open(path, { dt = DT, layout = own }) end, 'matrices of 2 q')
    -- measured q that differ: one by one, or as one
    path = file { c2 = sim.c2, q = mc.tensor { 0.01, 0.01004, 0.00996 }, phi = mc.tensor(sim.phi) }
    assert.equal(1, xpcs.open(path, { q = 0.01, dt = DT, layout = own }).F)
    own.near = true
    assert.equal(3, xpcs.open(path, { q = 0.01, dt = DT, layout = own }).F)
  end)

  it('takes dt from a number or from times, whose clock counts', function()
    local function opened(dt, asked)
      return xpcs.open(file { c2 = sim.c2, q = mc.tensor(0.01), phi = mc.tensor(sim.phi), t = dt },
        { dt = asked, layout = { c2 = 'c2', q = 'q', phi = 'phi', dt = 't' } })
    end
    local d = opened(mc.arange(0, N - 1) * DT)
    assert.same({ DT, DT, N - 1, {} }, { d.dt, d.t[1]:item(), d.n, d.warnings })
    d = opened(mc.arange(1, N) * DT) -- the first frame was dropped already
    assert.same({ DT, DT, N }, { d.dt, d.t[1]:item(), d.n })
    assert.matches('dt is 1 s and t of the file says 0.5 s', opened(mc.tensor(DT), 1).warnings[1])
    refused(function() opened(mc.arange(0, N - 2) * DT) end, 'there are 8 times and 9 rows')
    refused(function() opened(mc.tensor(-1)) end, 'dt is -1')
  end)

  it('is refused by name where it does not fit the file', function()
    local path = file { c2 = sim.c2, flat = mc.ones { 4, 5 }, five = mc.ones { 2, 2, 2, 2, 2 },
      q = mc.full({ 2 }, 0.01), phi = mc.tensor(sim.phi), text = 'x' }
    local function with(layout, ...)
      refused(function() xpcs.open(path, { q = 0.01, dt = DT, layout = layout }) end, ...)
    end
    with({ q = 'q', phi = 'phi' }, 'layout', 'c2')
    with({ c2 = 'c2', phi = 'phi', angles = 1 }, 'angles')
    with({ c2 = 'c2', q = 'q' }, 'phi')
    with({ c2 = 'c2', q = 'q', phi = true }, 'phi is true')
    with({ c2 = 'c2', q = 'q', phi = 'phi', triangle = 'left' }, 'triangle', 'left')
    with({ c2 = 'nothing', q = 'q', phi = 'phi' }, 'has no nothing', 'layout')
    with({ c2 = 'c2', q = 'q', phi = 'phi' }, 'q holds 2 values for 3 matrices')
    with({ c2 = 'five', phi = 0 }, 'five is [2, 2, 2, 2, 2]', '[q, angles, n, n]')
    with({ c2 = 'flat', phi = 0 }, 'flat is [4, 5]', 'square')
    with({ c2 = 'c2', phi = 'text' }, 'text holds text')
    with({ c2 = 'c2', phi = 'phi', axis = 4 }, 'axis')
    mc.save(folder .. '/x.npz', { c2_exp = sim.c2, phi_angles_list = mc.tensor(sim.phi) })
    refused(function() xpcs.open(folder .. '/x.npz', { q = 0.01, dt = DT, layout = { c2 = 'c2', phi = 0 } }) end,
      'layout', 'HDF5')
    refused(function() xpcs.open(path, { q = 0.01, dt = DT }) end, 'neither the APS-U layout', 'APS layout', '--layout')
  end)

  it('comes from a configuration or the command line', function()
    local c = xpcs.config.of { experimental_data = { file_path = 'a.h5', layout = { c2 = 'x/c2', q = 0.01,
      phi = { 0, 40 }, dt = 't', near = true } } }
    assert.same({ c2 = 'x/c2', q = 0.01, phi = { 0, 40 }, dt = 't', near = true }, c.open.layout)
    xpcs.config.timed(c, 'c.yaml')
    local path = file { c2 = sim.c2 }
    local function settings(own) return xpcs.run.settings { data_file = path, dt = DT, q = 0.01, layout = own } end
    assert.same({ c2 = 'c2', phi = 0, axis = 1, near = false },
      settings({ c2 = 'c2', phi = '0', axis = '1', near = 'false' }).open.layout)
    refused(function()
      xpcs.run.settings { data_file = 'x.npz', layout = { c2 = 'c2' } }
    end, '--layout is for HDF5 files')
    refused(function() settings { c3 = 'c2' } end, '--layout', 'c3', 'c2')
  end)
end)
