-- xpcs_advice_spec.lua - sentences on a fit name options of the command line in the program, and of Lua in a script.
local mc = require 'mascon'
local process = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/process.lua')
local advice = require 'workflows.xpcs.model.advice'

describe('xpcs.advice', function()
  it('gives an option as the program takes it, and as a script says it', function()
    for from, want in pairs {
      ['fit with {scaling individual}.'] = { 'fit with --scaling individual.', "fit with scaling = 'individual'." },
      ['search ({multi-start 20}); else'] = { 'search (--multi-start 20); else',
        'search (mc.xpcs.search.multi_start, n_starts = 20); else' },
      ['widen it ({bounds phi0=-90:90}).'] = { 'widen it (--bounds phi0=-90:90).',
        'widen it (bounds = { phi0 = { -90, 90 } }).' },
      ['({any-bounds})'] = { '(--bounds NAME=LOW:HIGH, or parameter_space.bounds of a configuration)',
        '(bounds = { NAME = { LOW, HIGH } })' },
      ['({fixed alpha=0,D_offset=0}) or'] = { '(--fixed alpha=0,D_offset=0) or',
        '(fixed = { alpha = 0, D_offset = 0 }) or' },
      ['its own ({sigma 0.005,0.01}).'] = { 'its own (--sigma 0.005,0.01).', 'its own (sigma = { 0.005, 0.01 }).' },
      ['give {sigma} to'] = { 'give --sigma to', 'give sigma to' },
      ['take {profile 0.95} or ({method both})'] = { 'take --profile 0.95 or (--method both)',
        'take mc.xpcs.intervals.profile(r, nil, 0.95) or (mc.xpcs.posterior.run(r))' },
      ['the rates ({rates}), not'] = { 'the rates (rates.csv), not', 'the rates (mc.xpcs.rates.of(r)), not' },
      ['with {laminar-flow & bounds phi0=-90:90}.'] = { 'with --laminar-flow --bounds phi0=-90:90.',
        "with mode = 'laminar_flow', bounds = { phi0 = { -90, 90 } }." },
      ['mask them ({mask-frames 20,30-31})'] = { 'mask them (--mask-frames 20,30-31)',
        'mask them (mask_frames = { { 20, 20 }, { 30, 31 } })' },
      ['of {starts}.'] = { 'of --initial-d0, --initial-alpha, ....', 'of initial = { D0 = VALUE, ... }.' },
      ['the files {a} and x{?}'] = { 'the files {a} and x', 'the files {a} and x' },
    } do assert.same(want, { advice.words(from, true, {}), advice.words(from, false, {}) }) end
  end)

  it('is given once: the first line, then sentences', function()
    local said = { conclusion = 'Fit: take {rates}, or hold it ({fixed a=0}).', findings = {
      { text = 'It is 3 at 2 s{? ({all-rates}: all times)}, as far as known.' },
      { text = '{?Hold it: {fixed a=0}.}' },
      { text = 'Fit with shear{? ({laminar-flow & bounds phi0=-90:90})}.' },
      { text = 'Widen it{? ({bounds phi0=-90:90})}{? or hold b ({fixed b=0})}.' } } }
    advice.reword(said, { data = { reader = 'program' } })
    assert.equal('Fit: take rates.csv, or hold it (--fixed a=0).', said.conclusion)
    assert.same({ 'It is 3 at 2 s, as far as known.', 'Fit with shear (--laminar-flow --bounds phi0=-90:90).',
      'Widen it or hold b (--fixed b=0).' }, said.sentences)
    assert.same({ { option = 'bounds', value = 'phi0=-90:90' }, { option = 'fixed', value = 'b=0' } },
      said.findings[3].advice)
    -- the first line of one set of a joint fit is not shown
    said = { conclusion = 'Fit: hold it ({fixed a=0}).', findings = { { text = '{?Hold it: {fixed a=0}.}' } } }
    advice.reword(said, { joint = true, data = { reader = 'program' } })
    assert.same({ 'Hold it: --fixed a=0.' }, said.sentences)
  end)

  it('stands in sentences on a fit alone by its option, which is known', function()
    local folder, count = package.searchpath('workflows.xpcs.judge.verdict', package.path):match '^(.*)/verdict', 0
    for _, name in ipairs(process.list(folder)) do
      for line in io.lines(folder .. '/' .. name) do
        for text in (line:find '^%s*%-%-' and '' or line):gmatch "'([^']*)'" do
          assert.is_nil((' ' .. text):match '[%s(]%-%-%l[%w-]*', name .. ': ' .. text)
          for option in text:gmatch '{(%l[%w-]*)' do
            assert.is_true(advice.knows(option), name .. ' names {' .. option .. '}')
            count = count + 1
          end
        end
      end
    end
    assert.is_true(count > 20)
  end)

  it('goes by who opened the data', function()
    local s = mc.xpcs.simulate { n = 30, q = 0.012, dt = 0.5, phi = { 0, 60 }, physics = { 2200, -0.35, 300 },
      sigma = 0.004 }
    s.sigma = nil
    local d = mc.xpcs.data.of(s)
    assert.matches('give sigma to test', mc.xpcs.fit(d, { fixed = { D_offset = 300 } }).conclusion)
    d.reader = 'program'
    local r = mc.xpcs.fit(d, { fixed = { D_offset = 300 } })
    assert.matches('give %-%-sigma to test', r.conclusion)
    assert.equal(r.verdict.conclusion, r.conclusion)
  end)
end)
