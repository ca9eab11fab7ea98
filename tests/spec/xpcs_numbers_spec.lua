-- xpcs_numbers_spec.lua - numbers for people: digits that errors leave, exponents only where they are needed.
local numbers = require 'workflows.xpcs.model.numbers'

describe('numbers of xpcs', function()
  it('have no exponent from 1e-3 to 1e6', function()
    for _, case in ipairs { { 94962.67, 4, '94960' }, { 140.3, 2, '140' }, { 1e5, 5, '100000' }, { 1444990.4, 6,
      '1444990' }, { 0.00123456, 3, '0.00123' }, { 1e-3, 3, '0.001' }, { 1e6, 2, '1000000' }, { 2.5e-5, 3, '2.5e-5' },
      { 2e12, 3, '2e12' }, { -0.5, 4, '-0.5' }, { 0, 4, '0' }, { 9999.7, 4, '10000' }, { 0 / 0, 4, 'nan' },
      { math.huge, 4, 'infinite' } } do
      assert.equal(case[3], numbers.number(case[1], case[2]))
    end
  end)

  it('end at the second digit of their error', function()
    for _, case in ipairs { { 4968.842, 964, '4970 +- 960' }, { 549.2855, 1220, '500 +- 1200' },
      { 52352.1, 284, '52350 +- 280' }, { 0.2998487, 0.000362, '0.29985 +- 0.00036' },
      { 1.0000456, 7.431e-5, '1.000046 +- 0.000074' }, { 2.943108e-4, 3.2207e-6, '2.943e-4 +- 3.2e-6' },
      { -0.44104, 0.0996, '-0.44 +- 0.10' }, { 3e-8, 1.2e-3, '0.0000 +- 0.0012' }, { -1e-9, 0.5, '0.00 +- 0.50' },
      { 2.0312e7, 1.24e5, '2.031e7 +- 1.2e5' }, { 1e-7, 5e-5, '1e-7 +- 5.0e-5' }, { 0, 2e-5, '0 +- 2.0e-5' } } do
      assert.equal(case[3], numbers.with_error(case[1], case[2]))
    end
  end)

  it('keep their digits where no error cuts them', function()
    assert.equal('0.3', numbers.with_error(0.3, nil))
    assert.equal('2195.97', numbers.with_error(2195.971, math.huge))
    assert.equal('2195.97', numbers.with_error(2195.971, 0))
    assert.equal('0.3 +- 1e-15', numbers.with_error(0.3, 1e-15))
    assert.same({ '300', '' }, { numbers.rounded(300) })
    assert.same({ '300', 'infinite' }, { numbers.rounded(300, math.huge) })
  end)

  it('are so in the table of a fit: value, error and interval end at one place', function()
    local D0 = { name = 'D0', unit = 'A^2/s', value = 4968.842, error = 964.3, state = 'free', low = 100, high = 1e5 }
    local beta = { name = 'beta', value = -0.13, error = math.huge, state = 'free', low = -2, high = 2 }
    local alpha = { name = 'alpha', value = -2, error = 0.31, at_bound = 'lower', state = 'free', low = -2, high = 2 }
    local kept = { name = 'D_offset', value = 0.1 + 0.2, error = 0, state = 'fixed' }
    local r = { parameters = { D0, beta, alpha, kept },
      intervals = { D0 = { level = 0.95, low = 3909.94, high = 1e5, high_open = true } } }
    local head, rows = require('workflows.xpcs.judge.summary').cells(r)
    assert.same({ 'parameter', 'unit', 'value', 'standard error', '95 % interval' }, head)
    assert.same({ 'D0', 'A^2/s', '4970', '960', '3910 .. 100000 (bound)' }, rows[1])
    assert.same({ 'beta', '', '-0.13', 'not determined', '' }, rows[2])
    assert.same({ 'alpha', '', '-2', 'at lower bound', '' }, rows[3])
    assert.same({ 'D_offset', '', '0.3', 'fixed', '' }, rows[4])
  end)

  it('are so in the table of a posterior, whose notes say a misfit first', function()
    local files, mc = require 'workflows.xpcs.show.posterior_files', require 'mascon'
    local function column(a, b) return mc.tensor { a, b } end
    local s = { table = { labels = { 'offset', 'D0' }, mean = column(1.0260083, 4968.842), sd = column(7.431e-5, 964),
      q5 = column(1.0258871, 3511), median = column(1.0260112, 4902.5), q95 = column(1.0261304, 6604.1),
      rhat = column(1.0031, 1.2), ess_bulk = column(812.3, 30.7) }, too_narrow = { D0 = 140.3 },
      fit = { verdict = { misfit = true }, reduced_chi2 = 1.4182 },
      warnings = function() return { 'R-hat' } end, sample_stats = { lp = mc.zeros { 2, 4 } } }
    local head, rows = files.cells(s)
    assert.same({ 'parameter', 'mean', 'sd', 'sd too small by', '5 %', 'median', '95 %', 'R-hat', 'ESS' }, head)
    assert.same({ 'offset', '1.026008', '0.000074', '', '1.025887', '1.026011', '1.026130', '1.003', '812' }, rows[1])
    assert.same({ 'D0', '4970', '960', '140', '3510', '4900', '6600', '1.200', '31' }, rows[2])
    assert.equal('the fit does not describe the data (reduced chi2 1.418): the posterior takes the model for true, and '
      .. 'its values and intervals are not to be trusted', files.warnings(s)[1])
  end)
end)
