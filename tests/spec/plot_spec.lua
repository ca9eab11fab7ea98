-- plot_spec.lua - figures, the terminal form and the HTML report.
--
-- The SVG is read back by a small XML checker (tests/support/figure.lua); the layout is tested by the boxes of its
-- texts, which must not meet. Runs inside mascon and in a bare LuaJIT.
local json = require 'mascon.base.json'
local plot = require 'mascon.plot'
local png = require 'mascon.plot.png'
local report = require 'mascon.report'
local text = require 'mascon.base.text'
local figure = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/figure.lua')
local parse_xml, collect, all_text, has_text, check_layout, wave, grid = figure.parse_xml, figure.collect,
  figure.all_text, figure.has_text, figure.check_layout, figure.wave, figure.grid

local NAN, INF = 0 / 0, math.huge

-- Runs f, which must fail; returns the message and checks that it names this file, that is, the caller's line.
local function failure(f)
  local ok, msg = pcall(f)
  assert.is_false(ok)
  assert.is_truthy(msg:match('plot_spec%.lua:%d+: '), 'no place in: ' .. msg)
  return (msg:gsub('^.-plot_spec%.lua:%d+: ', ''))
end

describe('plot.render', function()
  it('draws a small line as this text', function()
    local fig = plot.line({ 1, 2, 3 }, { 2, 4, 3 },
      { figsize = { 240, 180 }, title = 'a < b', xlabel = 't', xunit = 's', label = 'run_{1}' })
    local family = 'Helvetica, Arial, &#39;Liberation Sans&#39;, &#39;DejaVu Sans&#39;, sans-serif'
    local want = table.concat({
      '<svg xmlns="http://www.w3.org/2000/svg" width="240" height="180" viewBox="0 0 240 180" font-family="'
        .. family .. '" font-size="10" role="img">',
      '<title>a &lt; b</title>',
      '<rect x="0" y="0" width="240" height="180" class="bg" fill="#ffffff"/>',
      '<path d="M24.36 126.2H224.82M24.36 81.15H224.82M24.36 36.1H224.82" class="grid" fill="none" '
        .. 'stroke="#e6e6e6" stroke-width="0.8"/>',
      '<svg x="24.36" y="31.6" width="200.46" height="99.1" viewBox="24.36 31.6 200.46 99.1" '
        .. 'overflow="hidden">',
      '<path d="M24.36 126.2L124.59 36.1L224.82 81.15" fill="none" stroke="#0072b2" stroke-width="1.5" '
        .. 'stroke-linejoin="round" stroke-linecap="round"/>',
      '</svg>',
      '<path d="M24.36 31.6V130.7H224.82M24.36 130.7v4M124.59 130.7v4M224.82 130.7v4M24.36 126.2h-4M24.36 '
        .. '81.15h-4M24.36 36.1h-4" class="ax" fill="none" stroke="#444444" stroke-width="0.8"/>',
      '<text class="fg" x="24.36" y="146.7" text-anchor="middle" fill="#222222">1</text>',
      '<text class="fg" x="124.59" y="146.7" text-anchor="middle" fill="#222222">2</text>',
      '<text class="fg" x="224.82" y="146.7" text-anchor="middle" fill="#222222">3</text>',
      '<text class="fg" x="16.36" y="129.7" text-anchor="end" fill="#222222">2</text>',
      '<text class="fg" x="16.36" y="84.65" text-anchor="end" fill="#222222">3</text>',
      '<text class="fg" x="16.36" y="39.6" text-anchor="end" fill="#222222">4</text>',
      '<text class="fg" x="124.59" y="165.6" font-size="11" text-anchor="middle" fill="#222222">t '
        .. '(s)</text>',
      '<rect x="30.36" y="37.6" width="61.56" height="23" class="bg" fill="#ffffff" fill-opacity="0.85" '
        .. 'rx="3"/>',
      '<line x1="36.36" y1="49.1" x2="56.36" y2="49.1" stroke="#0072b2" stroke-width="1.5"/>',
      '<text class="fg" x="62.36" y="52.6" fill="#222222" xml:space="preserve">run<tspan dy="2" '
        .. 'font-size="7.5">1</tspan></text>',
      '<text class="fg" x="24.36" y="25.6" font-size="12" font-weight="bold" fill="#222222">a &lt; b</text>',
      '</svg>',
    }, '\n') .. '\n'
    assert.equal(want, fig:render())
  end)

  local function every_kind()
    local fig = plot.figure{ rows = 2, cols = 3, title = 'All kinds & <marks>' }
    local x, y = {}, wave(50)
    for i = 1, 50 do x[i] = i / 10 end
    local lo, hi = {}, {}
    for i = 1, 50 do lo[i], hi[i] = y[i] - 0.2, y[i] + 0.2 end
    y[20] = NAN
    fig:axes(1, 1, { title = 'Lines', xlabel = 'Time', xunit = 's', ylabel = 'Voltage', yunit = 'µV' })
      :band(x, lo, hi):line(x, y, { label = 'a' }):hline(0):vline(2, { label = 'on' }):text(1, 0.5, 'here^{2}')
    fig:axes(1, 2):scatter(x, y, { err = lo, label = 'points' }):set{ title = 'Points' }
    fig:axes(1, 3):hist(y, { bins = 9, label = 'values' }):set{ xlabel = 'Value' }
    fig:axes(2, 1):bar({ 'one', 'two', 'three' }, { 3, -1, 2 }, { err = { 0.1, 0.2, 0.3 }, label = 'p' })
      :bar({ 'one', 'two', 'three' }, { 1, 2, 1 }, { label = 'q' })
    local z = grid(6, 8, function(i, j) return i * j * 1e-6 end)
    z[2][3] = NAN
    fig:axes(2, 2):heatmap(nil, nil, z, { label = 'Power', contour_levels = 3, cmap = 'magma', clip = { 5, 95 },
      outline = grid(6, 8, function(i, j) return i > 3 and j > 4 end), title = 'Map' })
    fig:axes(2, 3):polar({ 0.1, 0.2, 0.3, 2 }, { bins = 12, title = 'Phases' })
    return fig
  end

  it('is well formed and equal in two runs, for every kind of mark', function()
    local a, b = every_kind():render(), every_kind():render()
    assert.equal(a, b)
    local root = parse_xml(a)
    assert.equal('svg', root.tag)
    assert.is_nil(a:find('nan', 1, true))
    assert.is_nil(a:find('inf', 1, true))
    assert.is_nil(a:find(' id=', 1, true))
    assert.is_true(check_layout(a) > 40)
  end)

  it('leaves the figure as it was, and draws the same from JSON', function()
    local fig = every_kind()
    local before = json.encode(fig, { nonfinite = 'null' })
    local svg = fig:render()
    assert.equal(before, json.encode(fig, { nonfinite = 'null' }))
    assert.equal(svg, plot.render(assert(json.decode(before))))
  end)

  it('keeps texts apart whatever the numbers are', function()
    local long = 'A rather long description of what is shown here, with many words'
    for k, span in ipairs{ { -1, 1 }, { 0, 1e-9 }, { 1e6, 1.00001e6 }, { -12345.678, 98765.4 }, { 1e12, 5e15 } } do
      for _, size in ipairs{ { 340, 300 }, { 520, 360 }, { 900, 240 }, { 300, 600 } } do
        local y = {}
        for i = 1, 30 do y[i] = span[1] + (span[2] - span[1]) * (0.5 + 0.5 * math.sin(i * k)) end
        local fig = plot.figure{ width = size[1], height = size[2] }
        fig:axes(1, 1, { title = long, xlabel = long, ylabel = long, xunit = 'Hz' }):line(y, y, { label = 'first' })
          :line(y, { label = 'second' })
        check_layout(fig:render())
        local z = grid(5, 7, function(i, j) return y[i] + j * (span[2] - span[1]) end)
        local map = plot.heatmap(nil, nil, z,
          { figsize = size, title = 'T', label = 'Value', xlabel = 'x', ylabel = 'y', clip = { 10, 90 } })
        check_layout(map:render())
      end
    end
  end)

  it('keeps texts apart on log axes and in grids of panels', function()
    local fig = plot.figure{ rows = 3, cols = 3 }
    for i = 1, 3 do
      for j = 1, 3 do
        local x, y = {}, {}
        for k = 1, 20 do x[k], y[k] = 10 ^ (k * i / 10), 10 ^ (k * j / 4 - 9) end
        fig:axes(i, j, { xscale = 'log', yscale = 'log', xlabel = 'f', xunit = 'Hz', ylabel = 'P', title = 'Panel' })
          :line(x, y)
      end
    end
    check_layout(fig:render())
  end)

  it('keeps tick labels apart at every width', function()
    for width = 150, 700, 50 do
      for _, lim in ipairs{ { 2, 30 }, { 1.2, 8 }, { 1e-5, 9e-5 }, { 1, 1e12 } } do
        check_layout(plot.line(lim, { 1, 2 }, { figsize = { width, 160 }, xscale = 'log', xlim = lim }):render())
        check_layout(plot.line(lim, { 1, 2 }, { figsize = { width, 160 }, xlim = lim }):render())
      end
      check_layout(plot.line({ 1, 2, 3, 4 }, { figsize = { width, 160 }, xticks = { 1, 2, 3, 4 },
        xticklabels = { 'beginning', 'middle part', 'later part', 'end' } }):render())
    end
  end)

  it('turns long names under bars instead of letting them overlap', function()
    local names = { 'temporal pole', 'hippocampus', 'amygdala', 'entorhinal', 'insula', 'cingulum', 'cuneus' }
    local svg = plot.bar(names, { 1, 2, 3, 4, 5, 6, 7 }, { figsize = { 300, 300 } }):render()
    check_layout(svg)
    assert.is_truthy(svg:find('rotate(-45', 1, true))
    assert.is_true(has_text(svg, 'hippocampus'))
  end)

  it('escapes text everywhere', function()
    local svg = plot.line({ 1, 2 }, { 1, 2 }, { title = '<b>&"\'', xlabel = ']]>', label = '<\27>' }):render()
    assert.is_true(has_text(svg, '<b>&"\''))
    assert.is_true(has_text(svg, ']]>'))
    assert.is_true(has_text(svg, '<?>'))
  end)

  it('breaks lines at NaN and shows a lone point', function()
    local svg = plot.line({ 1, 2, NAN, 4, NAN, 6, 7 }, { figsize = { 300, 200 } }):render()
    local d
    for _, p in ipairs(collect(parse_xml(svg), 'path')) do
      if p.attr.stroke == '#0072b2' then d = p.attr.d end
    end
    assert.equal(3, select(2, d:gsub('M', '')))
    assert.equal(1, select(2, d:gsub('h0', '')))
  end)

  it('draws without any finite value', function()
    check_layout(plot.line({ NAN, NAN, INF }):render())
    local svg = plot.heatmap(nil, nil, { { NAN, NAN }, { NAN, NAN } }):render()
    check_layout(svg)
    assert.is_truthy(svg:find('class="hatch"', 1, true))
  end)

  it('thins a long line without losing spikes', function()
    local y = {}
    for i = 1, 100000 do y[i] = math.sin(i / 5000) end
    y[77777], y[77778] = 50, -50 -- neighbours, in one pixel column
    local svg = plot.line(y, { ylim = { -50, 50 } }):render()
    assert.is_true(#svg < 60000, #svg .. ' bytes')
    local root = parse_xml(svg)
    local frame = collect(root, 'svg')[2].attr
    local top, bottom = tonumber(frame.y), frame.y + frame.height
    local up, down = false, false
    for _, p in ipairs(collect(root, 'path')) do
      if p.attr.stroke == '#0072b2' then
        for py in p.attr.d:gmatch('[ML][%d.]+ (-?[%d.]+)') do
          if math.abs(py - top) < 0.02 then up = true end
          if math.abs(py - bottom) < 0.02 then down = true end
        end
      end
    end
    assert.is_true(up and down)
  end)

  it('puts a legend where no line runs, outside if need be', function()
    local y = {}
    for i = 1, 100 do y[i] = i end
    local inside = plot.line(y, { label = 'rising' }):render()
    local root = parse_xml(inside)
    local frame = collect(root, 'svg')[2].attr
    local key
    for _, t in ipairs(collect(root, 'text')) do
      if all_text(t) == 'rising' then key = t.attr end
    end
    assert.is_true(tonumber(key.x) < frame.x + frame.width / 2, 'a rising line leaves the upper left free')
    local fig = plot.figure{}
    local ax = fig:axes()
    for k = 1, 4 do ax:line(wave(200, k * 0.37), { label = 'wave ' .. k }) end
    root = parse_xml(fig:render())
    frame = collect(root, 'svg')[2].attr
    for _, t in ipairs(collect(root, 'text')) do
      if all_text(t) == 'wave 1' then key = t.attr end
    end
    assert.is_true(tonumber(key.x) > frame.x + frame.width)
  end)
end)

describe('plot.heatmap', function()
  -- Colours of the cells and the sum of their areas in px, by reading the paths.
  local function cell_areas(svg)
    local out = {}
    for _, g in ipairs(collect(parse_xml(svg), 'g')) do
      for _, p in ipairs(g.children) do
        if p.tag == 'path' then
          local area = 0
          for x0, y0, x1, y1 in p.attr.d:gmatch('M([%d.]+) ([%d.]+)H([%d.]+)V([%d.]+)H') do
            area = area + math.abs((x1 - x0) * (y1 - y0))
          end
          out[#out + 1] = { p.attr.fill, area }
        end
      end
    end
    return out
  end

  it('gives cells the size of their bands', function()
    local svg = plot.heatmap({ 0, 1, 4 }, { 0, 1 }, { { 1, 2 } }, { colorbar = false }):render()
    local cells = cell_areas(svg)
    assert.equal(2, #cells)
    assert.equal('#440154', cells[1][1])
    assert.equal('#fde725', cells[2][1])
    assert.is_true(math.abs(cells[2][2] / cells[1][2] - 3) < 0.01)
  end)

  it('gives equal cells to centres that are even on a log axis', function()
    local svg = plot.heatmap({ 1, 10, 100 }, { 1 }, { { 1, 2, 3 } }, { xscale = 'log', colorbar = false }):render()
    local cells = cell_areas(svg)
    assert.is_true(math.abs(cells[1][2] / cells[3][2] - 1) < 1e-3 and math.abs(cells[2][2] / cells[3][2] - 1) < 1e-3)
  end)

  it('hatches missing and masked cells and leaves them out of the limits', function()
    local z = { { 1, NAN }, { 1e9, 2 } }
    local fig = plot.heatmap(nil, nil, z, { mask = { { false, false }, { true, false } } })
    local svg = fig:render()
    assert.equal(2, #cell_areas(svg))
    local area = 0
    for _, p in ipairs(collect(parse_xml(svg), 'path')) do
      if p.attr.class == 'void' then area = select(2, p.attr.d:gsub('M', '')) end
    end
    assert.equal(2, area)
    assert.is_true(has_text(svg, '2.0') and has_text(svg, '1.0') and not has_text(svg, '×109'))
  end)

  it('centres a diverging map, clips at percentiles and marks what lies beyond', function()
    local z = grid(10, 10, function(i, j) return (i - 1) * 10 + j - 1 end)
    local svg = plot.heatmap(nil, nil, z, { vmin = 20, vmax = 60 }):render()
    local heads = 0
    for _, p in ipairs(collect(parse_xml(svg), 'path')) do
      if p.attr.fill == '#440154' or p.attr.fill == '#fde725' then heads = heads + 1 end
    end
    assert.equal(4, heads) -- cells and arrow head at each end
    assert.equal(plot.heatmap(nil, nil, z, { vmin = -99, vmax = 99, cmap = 'tide' }):render(),
      (plot.heatmap(nil, nil, z, { center = 0, cmap = 'tide' }):render()))
  end)

  it('becomes one image when the cells are many', function()
    local z = grid(200, 150, function(i, j) return i < 100 and j or NAN end)
    local svg = plot.heatmap(nil, nil, z):render()
    local images = collect(parse_xml(svg), 'image')
    assert.equal(1, #images)
    local bytes = images[1].attr.href:match('^data:image/png;base64,([%w+/=]+)$')
    assert.is_truthy(bytes)
    assert.equal(png.base64('\137PNG\r\n'), bytes:sub(1, 8))
    assert.is_true(#svg < 80000, #svg .. ' bytes')
    assert.is_truthy(svg:find('class="hatch"', 1, true))
  end)

  it('reads tensors, pairs and falling axes', function()
    local tensor = { totable = function() return { { 1, 2 }, { 3, 4 } } end }
    local fig = plot.heatmap({ { 1, 3 }, { 3, 5 } }, { 8, 4 }, tensor)
    assert.same({ 2, 4 }, fig.panels[1].marks[1].x)
    check_layout(fig:render())
  end)
end)

describe('plot.hist and plot.polar', function()
  it('count every value once', function()
    local mark = plot.hist({ 0, 0.5, 1, 1, 2, NAN, 7 }, { bins = { 0, 1, 2 } }).panels[1].marks[1]
    assert.same({ 2, 3 }, mark.heights)
    assert.equal(2, mark.dropped)
    local values = wave(500, 0.7)
    local counts, sum = plot.hist(values).panels[1].marks[1].heights, 0
    for _, c in ipairs(counts) do sum = sum + c end
    assert.equal(500, sum)
    local density = plot.hist(values, { density = true, bins = 10 }).panels[1].marks[1]
    local area = 0
    for i, h in ipairs(density.heights) do area = area + h * (density.edges[i + 1] - density.edges[i]) end
    assert.is_true(math.abs(area - 1) < 1e-12)
    check_layout(plot.hist({ 3, 3, 3 }):render())
  end)

  it('find the mean vector', function()
    local mark = plot.polar({ 0, math.pi / 2 }).panels[1].marks[1]
    assert.is_true(math.abs(mark.length - math.sqrt(0.5)) < 1e-12 and math.abs(mark.angle - math.pi / 4) < 1e-12)
    local degrees = plot.polar({ 350, 10, 360 }, { unit = 'deg', bins = 4 }).panels[1].marks[1]
    assert.same({ 2, 0, 0, 1 }, degrees.heights)
    assert.is_true(has_text(plot.polar({ 350, 10 }, { unit = 'deg' }):render(), 'R = 0.98 at 0°, n = 2'))
    local heights = plot.polar({ 1, 1, 1, 1 }, { kind = 'heights' }).panels[1].marks[1]
    assert.is_true(heights.length < 1e-12)
    check_layout(plot.polar({ 1, 2, 3 }):render())
  end)
end)

describe('mistakes', function()
  it('are named at the line of the caller, with what to do', function()
    local cases = {
      { function() plot.line({}) end, 'plot.line: y is empty; give at least one value' },
      { function() plot.line({ 1, 2 }, { 1 }) end, 'plot.line: x has 2 values and y has 1; they must be equally long' },
      { function() plot.line({ 1, 'x' }) end, 'plot.line: y[2] is the string "x"; a number is needed' },
      { function() plot.line(5) end, 'plot.line: y must be an array or a tensor, got 5' },
      { function() plot.line({ { 1 }, { 2 } }) end,
        'plot.line: y has more than one dimension; pass one row or column of it' },
      { function() plot.line({ 1 }, { color = 'mauve' }) end,
        "plot.line: color mauve is not known; write '#rrggbb', a place in the cycle (1 to 7), or a plain name "
          .. "like 'red'" },
      { function() plot.line({ 1 }, { xlim = { 1, 1 } }) end,
        'plot.line: xlim must be { from, to }, two different finite numbers' },
      { function() plot.line({ 1 }, { yscale = 'log', ylim = { 0, 1 } }) end,
        'plot.line: ylim reaches 0, but a log axis starts above 0' },
      { function() plot.heatmap(nil, nil, { { 1, 2 }, { 3 } }) end,
        'plot.heatmap: z[2] has 1 values and z[1] has 2; rows must be equally long' },
      { function() plot.heatmap({ 1, 2, 3, 4 }, nil, { { 1, 2 } }) end,
        'plot.heatmap: x has 4 values for 2 cells; give 2 centres or 3 edges' },
      { function() plot.heatmap({ 1, 3, 2 }, nil, { { 1, 2, 3 } }) end,
        'plot.heatmap: x must rise or fall strictly, but x[3] is 2 after 3' },
      { function() plot.heatmap({ 0, 1 }, nil, { { 1, 2 } }, { xscale = 'log' }) end,
        'plot.heatmap: x reaches 0, but a log axis starts above 0' },
      { function() plot.heatmap(nil, nil, { { 1 } }, { cmap = 'jet' }) end,
        "plot.heatmap: no colour map 'jet'; there are viridis, magma, cividis, grey, tide, phase (with _r: reversed)" },
      { function() plot.heatmap(nil, nil, { { 1, 2 } }, { mask = { { true } } }) end,
        'plot.heatmap: mask is [1, 1] and z is [1, 2]; they must match' },
      { function() plot.heatmap(nil, nil, { { 1 } }, { vmin = 2, vmax = 1 }) end,
        'plot.heatmap: vmin is 2 and vmax is 1; vmin must be the smaller' },
      { function() plot.hist({ NAN }) end, 'plot.hist: none of the 1 values is finite; nothing to count' },
      { function() plot.hist({ 1 }, { bins = { 2, 1 } }) end, 'plot.hist: bins must rise, but edge 2 is 1 after 2' },
      { function() plot.polar({ NAN, INF }) end, 'plot.polar: none of the 2 values is finite; nothing to count' },
      { function() plot.polar({ -1 }, { kind = 'heights' }) end,
        'plot.polar: height 1 is -1; heights are finite and not negative' },
      { function() plot.figure{}:axes():hline(NAN) end, 'plot.hline: the position must be a finite number, got nan' },
      { function() plot.figure{}:axes(2, 1) end, 'plot.axes: there is no panel (2, 1) in 1 rows and 1 columns' },
      { function() plot.figure{}:render() end, 'plot.render: the figure has no panel; fig:axes(i, j) makes one' },
      { function()
        local fig = plot.figure{}
        fig:axes()
        fig:render()
      end, 'plot.render: panel (1, 1) is empty; draw on it, for example with :line(x, y)' },
      { function()
        local fig = plot.figure{}
        fig:axes():line({ 1, 2 }):polar({ 1 })
        fig:render()
      end, 'plot.render: panel (1, 1) mixes a polar mark with others; give it a panel of its own' },
      { function() plot.line({ 1 }, { figsize = { 60, 40 } }):render() end,
        'plot.render: 60 x 40 px leave no room for 1 x 1 panels with their labels; make width and height larger' },
      { function() plot.line({ 1, 2 }):save('figure.gif') end, 'plot.save: figure.gif must end in .svg, .png or .txt' },
      { function() plot.render({}) end, 'plot.render: expected a figure; plot.figure{...} makes one' },
    }
    for _, c in ipairs(cases) do assert.equal(c[2], failure(c[1])) end
  end)

  it('in option names are found', function()
    assert.is_truthy(failure(function() plot.line({ 1 }, { colour = 'red' }) end):find('plot.line: ', 1, true))
    assert.is_truthy(failure(function() plot.figure{ widht = 3 } end):find('plot.figure: ', 1, true))
  end)
end)

describe('plot.save', function()
  it('writes what render gives, and text for a terminal', function()
    local name = os.tmpname()
    local fig = plot.line({ 1, 3, 2 })
    for extension, want in pairs{ ['.svg'] = fig:render(), ['.txt'] = fig:ascii() } do
      assert.equal(name .. extension, assert(fig:save(name .. extension)))
      local f = assert(io.open(name .. extension, 'rb'))
      assert.equal(want, f:read('*a'))
      f:close()
      os.remove(name .. extension)
    end
    os.remove(name)
  end)

  it('tells why a file cannot be written', function()
    for _, name in ipairs { 'a.svg', 'a.txt', 'a.png' } do
      for _, opts in ipairs { {}, { required = name == 'a.svg' } } do
        local why = failure(function() plot.line({ 1, 2 }):save('/nonexistent-folder/' .. name, opts) end)
        assert.matches('^plot%.save: ', why)
        assert.is_truthy(why:find('/nonexistent-folder/' .. name, 1, true) or why:find 'librsvg', why)
      end
    end
  end)

  it('makes a PNG of the asked scale, or says what is missing', function()
    local name = os.tmpname()
    local fig = plot.line({ 1, 3, 2 }, { figsize = { 300, 200 } })
    local path, msg = fig:save(name .. '.png', { scale = 2, required = false })
    if path then
      local f = assert(io.open(path, 'rb'))
      local head = f:read(24)
      f:close()
      assert.equal('\137PNG\r\n\26\n\0\0\0\rIHDR\0\0\2\88\0\0\1\144', head)
      os.remove(path)
    else
      assert.is_truthy(msg:find('svg', 1, true), msg)
    end
    os.remove(name)
  end)
end)

describe('plot.ascii', function()
  it('draws a line in braille, with ticks', function()
    local got = plot.line({ 0, 1, 2, 3 }, { 0, 1, 2, 3 }, { title = 'Up', xlabel = 't', xunit = 's' })
      :ascii{ width = 36, height = 5 }
    assert.equal(table.concat({
      'Up',
      '  │                    ⣀⡠⠤⠒',
      '2 ┤              ⢀⣀⠤⠔⠊⠉',
      '  │         ⢀⣀⠤⠖⠉⠁',
      '  │    ⣀⡠⠔⠒⠉⠁',
      '0 ┤⠤⠒⠊⠉',
      '  └┬──────────────┬────────',
      '   0              2',
      '            t (s)',
    }, '\n') .. '\n', got)
  end)

  it('shades a heat map and leaves missing cells blank', function()
    local got = plot.heatmap(nil, nil, { { 1, 2, NAN } }, { label = 'z' }):ascii{ width = 36, height = 4 }
    assert.is_truthy(got:find('┤········████████\n', 1, true), got)
    assert.is_truthy(got:find('z: 1 ··░░▒▒▓▓██ 2', 1, true))
  end)

  it('keeps to its width, sends no control bytes unless coloured, and knows every kind', function()
    local fig = plot.figure{ rows = 1, cols = 3 }
    fig:axes(1, 1):hist(wave(100), { label = 'h' }):vline(0)
    fig:axes(1, 2):bar({ 'first', 'second\27[2J' }, { 2, -1 })
    fig:axes(1, 3):polar({ 0.1, 0.2, 3 }, { bins = 4 })
    local got = plot.ascii(fig, { width = 50, height = 6 })
    for line in got:gmatch('[^\n]*') do assert.is_true(text.width(line) <= 50, line) end
    assert.is_nil(got:find('\27', 1, true))
    assert.is_truthy(got:find('R = 0.', 1, true))
    assert.is_truthy(plot.ascii(fig, { color = true }):find('\27[38;5;', 1, true))
  end)
end)

describe('report.html', function()
  local function sample()
    return {
      title = 'Coupling <LA3>', subtitle = 'one & two', footer = 'end',
      sections = {
        { heading = 'Result', paragraphs = { 'Plain <b>text</b>', 'more' }, figure = plot.line({ 1, 2, 3 }),
          caption = 'Fig' },
        { heading = 'Table', table = { header = { 'channel', 'z', 'n' },
          rows = { { 'LA<1>', 3.14159265358979, 3 }, { 'LA2', NAN, nil }, { 'LA3', -INF, 2 } } } },
        { heading = 'Code', code = 'if a < b then\n\tprint("x")\nend' },
      },
    }
  end

  -- The body as XML: void elements and the head aside, the page is written so that it is well formed.
  local function body_of(html)
    local script = html:match('<script>.-</script>') or ''
    local from, to = html:find(script, 1, true)
    if script ~= '' then html = html:sub(1, from - 1) .. html:sub(to + 1) end
    return parse_xml(assert(html:match('<body>.*</body>')))
  end

  it('gives one well-formed page, equal in two runs', function()
    local html = report.html(sample())
    assert.equal(html, report.html(sample()))
    local body = body_of(html)
    assert.equal(2, #collect(body, 'svg')) -- the figure and its clipped part
    assert.equal('Coupling <LA3>', all_text(collect(body, 'h1')[1]))
    assert.equal('Plain <b>text</b>', all_text(collect(body, 'p')[2]))
    assert.equal('if a < b then\n        print("x")\nend', all_text(collect(body, 'code')[1]))
  end)

  it('lists its sections and links to them', function()
    local body = body_of(report.html(sample()))
    local ids = {}
    for _, s in ipairs(collect(body, 'section')) do ids['#' .. s.attr.id] = true end
    local links = collect(body, 'a')
    assert.equal(3, #links)
    for _, a in ipairs(links) do assert.is_true(ids[a.attr.href]) end
  end)

  it('loads nothing from anywhere', function()
    local html = report.html(sample())
    assert.is_truthy(html:find("default-src 'none'", 1, true))
    for address in html:gmatch('https?://[^"\' )]*') do assert.equal('http://www.w3.org/2000/svg', address) end
    assert.is_nil(html:find('src=', 1, true))
    assert.is_nil(html:find('<link', 1, true))
    assert.is_nil(html:find('@import', 1, true))
  end)

  it('keeps the whole number beside the rounded one', function()
    local cells = collect(body_of(report.html(sample())), 'td')
    assert.equal('3.14159', all_text(cells[2]))
    assert.equal('3.14159265358979', cells[2].attr['data-v'])
    assert.equal('nan', all_text(cells[5]))
    assert.equal('', cells[5].attr['data-v'])
    assert.equal('', cells[6].attr['data-v'])
    assert.equal('-Infinity', cells[8].attr['data-v'])
  end)

  it('refuses what would act or is missing', function()
    local cases = {
      { {}, 'report.html: title is missing' },
      { { title = 'x', sections = {} }, 'report.html: sections is missing or empty; give at least one section' },
      { { title = 'x', sections = { { figure = 'hello' } } },
        'report.html: sections[1].figure is text that is not SVG; pass a figure or the result of plot.render' },
      { { title = 'x', sections = { { figure = '<svg onload="x()"></svg>' } } },
        'report.html: sections[1].figure holds a script or a link to elsewhere; a report is self-contained' },
      { { title = 'x', sections = { { figure = '<svg><script>x</script></svg>' } } },
        'report.html: sections[1].figure holds a script or a link to elsewhere; a report is self-contained' },
      { { title = 'x', sections = { { table = { header = { 'a' }, rows = { { 1, 2 } } } } } },
        'report.html: sections[1].table row 1 has 2 cells and the header has 1 names' },
    }
    for _, href in ipairs { 'http://a/b', 'javascript:x()', '/etc/x', '../x', '//a/b', '' } do
      cases[#cases + 1] = { { title = 'x', sections = { { table = { rows = { { { href = href } } } } } } },
        ('report.html: sections[1]: the link %s must name a file beside the page, such as set1/report.html'):format(
          href) }
    end
    for _, c in ipairs(cases) do
      assert.equal(c[2], failure(function()
        local html = report.html(c[1])
        return html
      end))
    end
    assert.has_no.errors(function()
      report.html{ title = 'x', sections = { { figure = plot.line({ 1 }, { title = 'on one = two' }):render() } } }
    end)
  end)
end)
