-- plot_scalp_spec.lua - maps of the scalp and heat maps of classes, as SVG, as text, and from sensors.
local json = require 'mascon.base.json'
local mc = require 'mascon'
local plot = require 'mascon.plot'
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local figure, tol = support.load 'figure', support.load 'tol'
local parse_xml, collect, has_text, check_layout, grid = figure.parse_xml, figure.collect, figure.has_text,
  figure.check_layout, figure.grid

local function hill(n)
  return grid(n, n, function(i, j) return math.exp(-((i - n / 2) ^ 2 + (j - n / 2) ^ 2) / n) end)
end
local SENSORS = { { 0, 0 }, { 0.5, 0.5 }, { -0.9, 0 } }

describe('plot.scalp', function()
  it('draws disc, head, sensors, names and colour bar, equal in two runs and from JSON', function()
    local function make()
      return plot.scalp(hill(21), { sensors = SENSORS, names = { 'Cz', '', 'T7' }, marked = { false, false, true },
        title = 'Map & more', label = 'µV', radius = 1.1, extent = 1.1 })
    end
    local text = make():render()
    assert.equal(text, make():render())
    assert.equal(text, plot.render(assert(json.decode(json.encode(make(), { nonfinite = 'null' })))))
    local root = parse_xml(text)
    assert.equal(1, #collect(root, 'image'))
    for _, name in ipairs { 'Cz', 'T7', 'Map & more', 'µV' } do assert.is_true(has_text(text, name), name) end
    assert.is_nil(text:find(' id=', 1, true))
    assert.is_nil(text:find('nan', 1, true))
    check_layout(text)
  end)

  it('sets its colours by what lies in the disc', function()
    local z = grid(21, 21, function(i, j) return (i == 1 and j == 1) and 1000 or i end)
    local norm = require('mascon.plot.heatmap').norm(plot.scalp(z, { extent = 1.2 }).panels[1].marks[1])
    assert.is_true(norm.hi < 22, norm.hi)
  end)

  it('stands beside other panels and shows a head as text', function()
    local fig = plot.figure { rows = 1, cols = 2 }
    fig:axes(1, 1):scalp(hill(15), { colorbar = false })
    fig:axes(1, 2):line { 1, 2, 3 }
    check_layout(fig:render())
    local lines = {}
    for line in plot.scalp(hill(31), { extent = 1 }):ascii({ width = 60, height = 11 }):gmatch '[^\n]+' do
      lines[#lines + 1] = line
    end
    local function cells(line) return #line:gsub('^.-[│┤]', ''):gsub('[\128-\191]', '') end
    assert.is_true(cells(lines[1]) < cells(lines[6]), 'narrow at the front, wide in the middle')
  end)

  it('says what is wrong', function()
    for _, case in ipairs {
      { function() plot.scalp { { 1, 2, 3 }, { 1, 2, 3 } } end, 'z is %[2, 3%]; give a square grid' },
      { function() plot.scalp(hill(5), { sensors = { { 1, 2, 3 } } }) end, 'sensors is %[1, 3%]; give x and y' },
      { function() plot.scalp(hill(5), { sensors = SENSORS, names = { 'a' } }) end,
        'names has 1 values and sensors has 3' },
      { function() plot.scalp(hill(5), { cmap = 'jet' }) end, "no colour map 'jet'" },
      { function() plot.scalp(hill(5), { extent = 0.5 }) end, 'extent is 0.5' },
      { function()
        local fig = plot.figure {}
        fig:axes():scalp(hill(5)):line { 1, 2 }
        fig:render()
      end, 'mixes a scalp mark with others' },
    } do
      assert.error_matches(case[1], case[2])
    end
  end)
end)

describe('plot.heatmap with classes', function()
  local CLASSES = { { 'good', '#ffffff' }, { 'repaired', 'blue' }, { 'bad', 'red' } }

  it('gives each class its colour and its name in a legend', function()
    local text = plot.heatmap({ { 1, 2 }, { 3, 0 / 0 } },
      { classes = CLASSES, outline = { { true, false }, { true, false } } }):render()
    parse_xml(text)
    for _, c in ipairs { '#ffffff', '#0072b2', '#c62828', 'class="void"' } do
      assert.truthy(text:find(c, 1, true), c)
    end
    for _, c in ipairs(CLASSES) do assert.is_true(has_text(text, c[1])) end
    check_layout(text)
  end)

  it('stays sharp with many cells, and shows the last class where an image has to do', function()
    local rare = grid(200, 400, function(i, j) return i == 60 and j == 200 and 3 or 1 end)
    local text = plot.heatmap(rare, { classes = CLASSES, figsize = { 160, 160 } }):render()
    assert.is_nil(text:find('<image', 1, true))
    assert.truthy(text:find('#c62828', 1, true))
    local function image(z)
      return plot.heatmap(z, { classes = CLASSES, figsize = { 160, 160 }, legend = 'none' }):render()
        :match 'base64,([^"]*)'
    end
    local busy = grid(200, 400, function(i, j) return (i + j) % 2 + 1 end)
    local bad = grid(200, 400, function(i, j) return i == 60 and j == 200 and 3 or (i + j) % 2 + 1 end)
    assert.is_string(image(busy))
    assert.not_equal(image(busy), image(bad))
  end)

  it('shows classes as text', function()
    local text = plot.heatmap({ { 1, 2, 3 } }, { classes = CLASSES }):ascii { width = 40, height = 4 }
    assert.matches('· good   ▒ repaired   █ bad', text)
    local row = text:match '┤([^\n]*)'
    assert.truthy(row:find('····', 1, true) and row:find('▒▒▒▒', 1, true) and row:find('████', 1, true), text)
  end)

  it('refuses numbers without a class and classes without a colour', function()
    assert.error_matches(function() plot.heatmap({ { 1, 4 } }, { classes = CLASSES }) end,
      'z%[1%]%[2%] is 4; with 3 classes')
    assert.error_matches(function() plot.heatmap({ { 1 } }, { classes = { 'good' } }) end,
      'classes%[1%] must be { name, colour }')
    assert.error_matches(function() plot.heatmap({ { 1 } }, { classes = { { 'good', 'no colour' } } }) end, 'no colour')
  end)
end)

describe('mc.meeg.scalp', function()
  local montage, scalp = mc.meeg.montage, mc.meeg.scalp
  local function channels(name)
    local m, list = montage.standard(name), {}
    for i, n in ipairs(m.names) do list[i] = { name = n, type = 'eeg', position = m.positions[n] } end
    return list
  end

  it('puts sensors at their inclination over the rim, whatever the origin', function()
    local list = channels 'biosemi64'
    local flat = scalp.project(montage.positions(list)):totable()
    for i, c in ipairs(list) do
      if c.name == 'Cz' then tol.near({ 0, 0 }, flat[i], 'Cz', 1e-9) end
      if c.name == 'T8' then tol.near({ 92 / 95, 0 }, flat[i], 'T8', 1e-9) end
      if c.name == 'Fpz' then tol.near({ 0, 92 / 95 }, flat[i], 'Fpz', 1e-9) end
      if c.name == 'C3' then tol.near({ -46 / 95, 0 }, flat[i], 'C3', 1e-9) end
    end
  end)

  it('shows at sensors what was measured there', function()
    local list = channels '10-20'
    local values = {}
    for i = 1, #list do values[i] = i % 5 end
    local fig = plot.figure {}
    scalp.draw(fig:axes(), list, values, { names = 'marked', marked = { true } })
    local mark = fig.panels[1].marks[1]
    assert.equal('Fp1', mark.names[1])
    assert.equal('', mark.names[2])
    local n, e = #mark.z, mark.extent
    for i, p in ipairs(mark.sensors) do -- between the four points of the grid around it
      local x, y = (p[1] / e + 1) / 2 * (n - 1) + 1, (p[2] / e + 1) / 2 * (n - 1) + 1
      local j, k = math.min(n - 1, math.floor(x)), math.min(n - 1, math.floor(y))
      local fx, fy = x - j, y - k
      local z = (1 - fy) * ((1 - fx) * mark.z[k][j] + fx * mark.z[k][j + 1])
        + fy * ((1 - fx) * mark.z[k + 1][j] + fx * mark.z[k + 1][j + 1])
      tol.below(math.abs(z - values[i]), 0.15, mark.names[i] .. i) -- a grid of 81 points under a range of 4
    end
  end)

  it('keeps within the values when asked, and shows equal values without contours', function()
    local list, values = channels 'biosemi32', {}
    for i = 1, 32 do values[i] = i == 5 and 1 or 0 end
    local fig = plot.figure {}
    scalp.draw(fig:axes(), list, values, { clamp = true })
    local z = mc.tensor(fig.panels[1].marks[1].z)
    assert.equal(0, mc.min(z):item())
    assert.is_true(mc.max(z):item() <= 1)
    fig = plot.figure {}
    scalp.draw(fig:axes(), list, mc.full({ 32 }, 3))
    assert.truthy(fig:render())
  end)

  it('refuses channels without positions and other counts', function()
    local list = channels '10-20'
    assert.error_matches(function() scalp.draw(plot.figure {}:axes(), list, { 1, 2 }) end, '2 values for 21 channels')
    list[3].position = nil
    assert.error_matches(function() scalp.draw(plot.figure {}:axes(), list, mc.zeros { 21 }) end,
      '1 of 21 channels have none')
    scalp.draw(plot.figure {}:axes(), list, { 1, 2 }, { picks = { 1, 2 } })
  end)
end)
