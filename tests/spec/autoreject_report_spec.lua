-- autoreject_report_spec.lua - figures, tables and the page of a cleaning, from made-up results.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local figure, tol = support.load 'figure', support.load 'tol'
local report = require 'workflows.autoreject.report'
local NAN, INF = 0 / 0, math.huge

local NAMES = { 'Fp1', 'Fp2', 'C3', 'C4', 'EOG' }

--- 4 epochs of 5 channels, the last not considered.
local function log()
  return {
    labels = mc.tensor { { 0, 0, 0, 0, NAN }, { 1, 2, 0, 0, NAN }, { 1, 1, 2, 1, NAN }, { 0, 0, 0, 2, NAN } },
    bad_epochs = { false, false, true, false }, names = NAMES,
  }
end

local function channels()
  local m, list = mc.meeg.montage.standard '10-20', {}
  for i, n in ipairs(NAMES) do
    list[i] = { name = n, type = n == 'EOG' and 'eog' or 'eeg', position = m.positions[n] }
  end
  return list
end

local function eeg()
  local curves = {}
  for k = 1, 4 do curves[k] = { tau = { 1e-5, 2e-5, 3e-5 * k }, loss = { 5e-6, 3e-6, k == 2 and INF or 4e-6 } } end
  return {
    type = 'eeg', channels = { 'Fp1', 'Fp2', 'C3', 'C4' }, thresholds = { 2e-5, 2.5e-5, 3e-5, 4e-5 }, curves = curves,
    consensus = { 0, 0.5, 1 }, n_interpolate = { 1, 2 },
    loss = { { INF, INF }, { 6e-6, INF }, { 5e-6, 5.5e-6 } }, chosen = { consensus = 1, n_interpolate = 1 },
  }
end

describe('mc.autoreject.report.counts', function()
  it('counts epochs, cells and shares of the channels considered', function()
    local c = report.counts(log())
    assert.same({ 4, 1, 9, 4, 3 }, { c.epochs, c.bad_epochs, c.good, c.bad, c.repaired })
    assert.same({ { name = 'Fp1', place = 1, bad = 0.5, repaired = 0 },
      { name = 'Fp2', place = 2, bad = 0.25, repaired = 0.25 }, { name = 'C3', place = 3, bad = 0, repaired = 0.25 },
      { name = 'C4', place = 4, bad = 0.25, repaired = 0.25 } }, c.channels)
    local beside = log()
    beside.labels[{ 1, 1 }] = 3
    assert.same({ 8, 5 }, { report.counts(beside).good, report.counts(beside).bad })
    assert.same({ 'good', 'repaired', 'bad', 'bad beside a bad one' }, (function()
      local names = {}
      for i, class in ipairs(report.log_figure(beside).panels[1].marks[1].classes) do names[i] = class[1] end
      return names
    end)())
    local same = log()
    same.bad_epochs = mc.tensor({ 0, 0, 1, 0 }, { dtype = 'i64' })
    assert.equal(1, report.counts(same).bad_epochs)
  end)
end)

describe('mc.autoreject.report figures', function()
  it('show the log with dropped epochs framed and the channels considered', function()
    local fig = report.log_figure(log())
    local mark = fig.panels[1].marks[1]
    assert.same({ { 1, 3, 3, 1 }, { 1, 2, 3, 1 }, { 1, 1, 2, 1 }, { 1, 1, 3, 2 } }, mark.z)
    assert.same({ false, false, true, false }, mark.outline[2])
    assert.same({ 'Fp1', 'Fp2', 'C3', 'C4' }, fig.panels[1].yticklabels)
    for _, word in ipairs { 'good', 'repaired', 'bad' } do assert.is_true(figure.has_text(fig:render(), word)) end
  end)

  it('mark dropped epochs in a row of their own when there are many', function()
    local many = { labels = mc.zeros { 500, 3 }, bad_epochs = {}, names = { 'a', 'b', 'c' } }
    for e = 1, 500 do many.bad_epochs[e] = e == 7 end
    local mark = report.log_figure(many).panels[1].marks[1]
    assert.equal(4, #mark.z)
    assert.same({ 1, 4, 1 }, { mark.z[1][6], mark.z[1][7], mark.z[1][8] })
    assert.is_nil(mark.outline)
  end)

  it('show every curve with its optimum, in the unit of the type', function()
    local fig = report.threshold_figure(eeg())
    local marks = fig.panels[1].marks
    assert.equal(5, #marks)
    tol.near({ 20, 20, 20, 20 }, marks[5].x, 'optimum', 1e-12)
    tol.near({ 3, 3, 3, 3 }, marks[5].y, 'loss', 1e-12)
    tol.near({ 20, 25, 30, 40 }, fig.panels[2].marks[1].y, 'thresholds', 1e-12)
    assert.is_true(figure.has_text(fig:render(), 'threshold, peak to peak (µV)'))
    local plain = eeg()
    plain.curves = nil
    figure.check_layout(report.threshold_figure(plain):render())
  end)

  it('show the losses with the chosen cell framed and forbidden ones hatched', function()
    local fig = report.loss_figure(eeg())
    local mark = fig.panels[1].marks[1]
    assert.same({ { false, false }, { false, false }, { true, false } }, mark.outline)
    tol.near({ 5, 5.5 }, mark.z[3], 'losses', 1e-12)
    local text = fig:render()
    assert.truthy(text:find('class="void"', 1, true))
    figure.check_layout(text)
  end)

  it('show averages on one scale, and the map of bad channels where positions are known', function()
    local x = mc.randn { 4, 60, seed = 1, dtype = 'f64' } * 1e-6
    local fig = report.evoked_figure(x, x * 0.5, mc.linspace(-0.1, 0.4, 60), 'eeg')
    assert.same(fig.panels[1].ylim, fig.panels[2].ylim)
    figure.check_layout(fig:render())
    local map = report.scalp_figure(channels(), report.counts(log()), 'eeg')
    assert.same({ 'Fp1', '', '', '' }, map.panels[1].marks[1].names) -- repaired cells are not bad
    local bare = channels()
    for _, c in ipairs(bare) do c.position = nil end
    assert.is_nil(report.scalp_figure(bare, report.counts(log()), 'eeg'))
  end)

  it('show how sure votes are, channels down', function()
    local t = eeg()
    t.certainty = mc.tensor { { 1, 0.5, 1, 1 }, { 0.25, 1, 1, 1 } }
    local fig = report.certainty_figure(t)
    local mark = fig.panels[1].marks[1]
    assert.same({ { 100, 25 }, { 50, 100 }, { 100, 100 }, { 100, 100 } }, mark.z)
    assert.same({ 25, 100 }, { mark.vmin, mark.vmax })
    figure.check_layout(fig:render())
    assert.truthy(report.page({ log = log(), types = { t } }):find('Certainty of the votes', 1, true))
  end)

  it('show a validation curve, without limits that keep no epoch', function()
    local v = {
      range = mc.tensor { 1e-5, 2e-5, 3e-5 }, train = mc.tensor { { -INF, -4e-6 }, { -2e-6, -4e-6 }, { -1e-6, -3e-6 } },
      test = mc.tensor { { -INF, -INF }, { -5e-6, -7e-6 }, { -4e-6, -6e-6 } },
    }
    local fig = report.validation_figure(v, 'eeg')
    local marks = fig.panels[1].marks
    assert.equal(6, #marks)
    for k, want in ipairs { { -4, -3 }, { -2, -1 }, { -3, -2 }, { -7, -6 }, { -5, -4 }, { -6, -5 } } do
      tol.near({ 20, 30 }, marks[k].x, 'limits', 1e-12)
      tol.near(want, marks[k].y, 'scores ' .. k, 1e-12)
    end
    assert.is_true(figure.has_text(fig:render(), 'limit, peak to peak (µV)'))
    figure.check_layout(fig:render())
  end)
end)

describe('mc.autoreject.report tables and page', function()
  it('hold one row a channel, in SI units', function()
    local csv = report.csv({ eeg() }, report.counts(log()))
    assert.matches('^type,channel,threshold,unit,share_bad,share_repaired\neeg,Fp1,2e%-5,V,0.5,0\n', csv)
    assert.equal(5, select(2, csv:gsub('\n', '')))
    assert.matches('3 of 4 epochs kept, 1 dropped; 3 cells repaired, 4 bad and left',
      report.text({ eeg() }, report.counts(log())))
    assert.matches('3 of 4 epochs good, 1 bad and kept as they were; 3 cells repaired',
      report.text({ eeg() }, report.counts(log()), true))
  end)

  it('make one page with every figure, equal in two runs', function()
    local x = mc.randn { 4, 60, seed = 1, dtype = 'f64' } * 1e-6
    local function page()
      return report.page {
        log = log(), types = { eeg() }, channels = channels(), evoked = { { type = 'eeg', before = x, after = x,
          times = mc.linspace(0, 1, 60) } }, settings = { { 'cv', 10 } },
        warnings = { 'a <warning>' }, subtitle = 'x & y',
      }
    end
    local html = page()
    assert.equal(html, page())
    assert.equal(5, select(2, html:gsub('<figure>', '')))
    for _, word in ipairs { 'Summary', 'Log', 'Thresholds', 'Choice of kappa and rho', 'Average before and after',
      'Bad channels', 'Dropped epochs', 'a &lt;warning&gt;', 'x &amp; y', 'kappa 1, rho 1' } do
      assert.truthy(html:find(word, 1, true), word)
    end
    assert.truthy(html:find('<p>3</p>', 1, true), 'the third epoch is named')
  end)

  it('does without what is not there', function()
    local t = eeg()
    t.curves, t.loss, t.chosen, t.consensus, t.n_interpolate = nil, nil, nil, nil, nil
    local html = report.page { log = log(), types = { t } }
    assert.equal(2, select(2, html:gsub('<figure>', '')))
  end)
end)
