-- xpcs_advice_spec.lua - sentences on a fit name options of the command line in the program, and of Lua in a script.
local mc = require 'mascon'
local process = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/process.lua')
local advice = require 'workflows.xpcs.model.advice'

describe('xpcs.advice', function()
  it('turns options of the command line into those of the library', function()
    for from, want in pairs {
      ['fit with --scaling individual.'] = "fit with scaling = 'individual'.",
      ['search (--multi-start 20); else'] = 'search (mc.xpcs.search.multi_start, n_starts = 20); else',
      ['widen it (--bounds phi0=-90:90).'] = 'widen it (bounds = { phi0 = { -90, 90 } }).',
      ['(--bounds NAME=LOW:HIGH, or parameter_space.bounds of a configuration)'] =
        '(bounds = { NAME = { LOW, HIGH } })',
      ['hold it: --fixed D_offset=0.'] = 'hold it: fixed = { D_offset = 0 }.',
      ['(--fixed alpha=0,D_offset=0) or'] = '(fixed = { alpha = 0, D_offset = 0 }) or',
      ['fit it (--fixed D0=VALUE).'] = 'fit it (fixed = { D0 = VALUE }).',
      ['its own (--sigma 0.005,0.01).'] = 'its own (sigma = { 0.005, 0.01 }).',
      ['give sigma (--sigma) to'] = 'give sigma to',
      ['take --profile 0.95 or (--method both)'] = 'take mc.xpcs.intervals.profile(r, nil, 0.95) or '
        .. '(mc.xpcs.posterior.run(r))',
      ['take the rates (rates.csv), not'] = 'take the rates (mc.xpcs.rates.of(r)), not',
      ['with --laminar-flow --bounds phi0=-90:90.'] = "with mode = 'laminar_flow', bounds = { phi0 = { -90, 90 } }.",
      ['mask them (--mask-frames 20,30-31)'] = 'mask them (mask_frames = { { 20, 20 }, { 30, 31 } })',
      ['other starting values (--initial-d0, --initial-alpha, ...).'] =
        'other starting values (initial = { D0 = VALUE, ... }).',
      ['share less (--shared).'] = 'share less (shared = { NAME, ... }).',
      ['check the gap (--gap, in A)'] = 'check the gap (gap = VALUE, in A)',
      ['rates do (--dt)'] = 'rates do (dt = VALUE)',
      ['fit as one (--one-q)'] = 'fit as one (one_q = true)', ['or write NaN (--mask)'] = 'or write NaN (mask = FILE)',
      ['mask them (--mask-frames)'] = 'mask them (mask_frames)',
      ['(--initial-d0 and its kin)'] = '(initial = { D0 = VALUE, ... })', ['a --new-one x'] = 'a new_one x',
    } do assert.equal(want, advice.in_lua(from)) end
  end)

  it('knows every option that a sentence on a fit names', function()
    local folder, count = package.searchpath('workflows.xpcs.judge.verdict', package.path):match '^(.*)/verdict', 0
    for _, name in ipairs(process.list(folder)) do
      for line in io.lines(folder .. '/' .. name) do
        for text in (line:find '^%s*%-%-' and '' or line):gmatch "'([^']*)'" do
          for option in (' ' .. text):gmatch '[%s(]%-%-(%l[%w-]*)' do
            assert.is_true(advice.knows(option), name .. ' names --' .. option)
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
    assert.matches('give sigma %(%-%-sigma%)', r.conclusion)
    assert.equal(r.verdict.conclusion, r.conclusion)
  end)
end)
