-- plot_parts_spec.lua - the parts figures are made of: scales, colour maps, contours, PNG, font measures.
--
-- Runs inside mascon and in a bare LuaJIT.
local colormap = require 'mascon.plot.colormap'
local contour = require 'mascon.plot.contour'
local font = require 'mascon.plot.font'
local png = require 'mascon.plot.png'
local scale = require 'mascon.plot.scale'
local figure = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/figure.lua')
local grid = figure.grid

local NAN, INF = 0 / 0, math.huge

describe('scale.linear_ticks', function()
  it('gives exact multiples of 1, 2 or 5', function()
    local cases = {
      { 0, 1, 5, { '0.0', '0.2', '0.4', '0.6', '0.8', '1.0' } },
      { 0, 0.3, 3, { '0.0', '0.1', '0.2', '0.3' } },
      { -1, 1, 4, { '−1.0', '−0.5', '0.0', '0.5', '1.0' } },
      { 0.07, 0.33, 6, { '0.10', '0.15', '0.20', '0.25', '0.30' } },
      { 3, 97, 5, { '20', '40', '60', '80' } },
      { 0, 99999, 2, { '0', '50000' } },
      { 0, 2.5e6, 5, { '0.0', '0.5', '1.0', '1.5', '2.0', '2.5' }, '×10^{6}' },
      { 0, 4e-5, 4, { '0', '10', '20', '30', '40' }, '×10^{−6}' },
      { -3e-9, 3e-9, 3, { '−2', '0', '2' }, '×10^{−9}' },
      { 1000000.1, 1000000.5, 4, { '0.0', '0.1', '0.2', '0.3', '0.4' }, '+ 1000000.1' },
      { 1.7e9, 1.7001e9, 2, { '1.70000', '1.70005', '1.70010' }, '×10^{9}' },
    }
    for _, c in ipairs(cases) do
      local ticks, exponent = scale.linear_ticks(c[1], c[2], c[3])
      local labels, note = scale.linear_labels(ticks, exponent)
      assert.same(c[4], labels)
      assert.equal(c[5], note)
    end
    assert.same({ 0, 0.1, 0.2, 0.3 }, (scale.linear_ticks(0, 0.3, 3)))
  end)

  it('stays inside the limits and below the count for any range', function()
    for k = -40, 40 do
      local lo, hi = math.sin(k) * 10 ^ (k / 3), (math.sin(k) + 0.1 + math.cos(k) ^ 2) * 10 ^ (k / 3)
      for count = 1, 9 do
        local ticks = scale.linear_ticks(lo, hi, count)
        assert.is_true(#ticks <= count + 1)
        for i, t in ipairs(ticks) do
          assert.is_true(t >= lo - 1e-9 * (hi - lo) and t <= hi + 1e-9 * (hi - lo))
          if i > 1 then assert.is_true(t > ticks[i - 1]) end
        end
      end
    end
  end)
end)

describe('scale.log_ticks', function()
  it('labels as densely as the count allows', function()
    local cases = {
      { 1, 10000, 6, { '1', '10', '100', '1000', '10000' } },
      { 2, 30, 8, { '2', '3', '4', '6', '8', '10', '20', '30' } },
      { 2, 30, 5, { '2', '5', '10', '20' } },
      { 2, 30, 7, { '2', '3', '5', '7', '10', '20', '30' } },
      { 1e-12, 1, 4, { '10^{−12}', '10^{−8}', '10^{−4}', '10^{0}' } },
      { 0.01, 100, 9, { '0.01', '0.1', '1', '10', '100' } },
      { 3, 4, 4, { '3', '3.5', '4' } },
      { 2e6, 3e8, 3, { '10^{7}', '10^{8}' } },
    }
    for _, c in ipairs(cases) do
      assert.same(c[4], scale.log_labels((scale.log_ticks(c[1], c[2], c[3]))))
    end
    local _, minor = scale.log_ticks(1, 100, 3)
    assert.same({ 2, 3, 4, 5, 6, 7, 8, 9, 20, 30, 40, 50, 60, 70, 80, 90 }, minor)
  end)
end)

describe('scale.edges and scale.limits', function()
  it('put edges between centres, in the middle of the scale', function()
    assert.same({ 0.5, 1.5, 3, 5 }, scale.edges({ 1, 2, 4 }, 'linear'))
    local edges = scale.edges({ 1, 4, 16 }, 'log')
    for i, want in ipairs{ 0.5, 2, 8, 32 } do assert.is_true(math.abs(edges[i] - want) < 1e-12) end
    assert.same({ 6.5, 7.5 }, scale.edges({ 7 }, 'linear'))
  end)

  it('never give an empty axis', function()
    for _, c in ipairs{ { 'linear', 3, 3 }, { 'linear', 0, 0 }, { 'log', 5, 5 }, { 'linear' }, { 'log' } } do
      local lo, hi = scale.limits(c[1], c[2], c[3], 0.05)
      assert.is_true(lo < hi and (c[1] == 'linear' or lo > 0))
    end
  end)
end)

local function lightness(hex)
  return (colormap.oklab(colormap.components(hex)))
end

local function distance(a, b)
  local l1, a1, b1 = colormap.oklab(colormap.components(a))
  local l2, a2, b2 = colormap.oklab(colormap.components(b))
  return math.sqrt((l1 - l2) ^ 2 + (a1 - a2) ^ 2 + (b1 - b2) ^ 2)
end

describe('colormap', function()
  it('turns sRGB to Oklab and back', function()
    local l, a, b = colormap.oklab(1, 1, 1)
    assert.is_true(math.abs(l - 1) < 1e-6 and math.abs(a) < 1e-6 and math.abs(b) < 1e-6)
    local r, g, bl = colormap.from_oklab(colormap.oklab(0.2, 0.5, 0.9))
    assert.is_true(math.abs(r - 0.2) < 1e-5 and math.abs(g - 0.5) < 1e-5 and math.abs(bl - 0.9) < 1e-5)
    -- Pure red, as tabulated by the paper's author: L 0.628, a 0.225, b 0.126
    l, a, b = colormap.oklab(1, 0, 0)
    assert.is_true(math.abs(l - 0.628) < 1e-3 and math.abs(a - 0.225) < 1e-3 and math.abs(b - 0.126) < 1e-3)
  end)

  it('has sequential maps whose lightness rises at every step', function()
    for _, name in ipairs{ 'viridis', 'magma', 'cividis', 'grey' } do
      local c = colormap.colours(name, 16)
      for i = 2, 16 do assert.is_true(lightness(c[i]) > lightness(c[i - 1]), name .. ' step ' .. i) end
    end
    assert.equal('#440154', colormap.colours('viridis', 9)[1])
    assert.equal('#fde725', colormap.colours('viridis', 9)[9])
    assert.equal('#440154', colormap.colours('viridis_r', 9)[9])
  end)

  it('has a diverging map that is symmetric in lightness and lightest in the middle', function()
    local c = colormap.colours('tide', 101)
    for i = 1, 50 do
      assert.is_true(math.abs(lightness(c[i]) - lightness(c[102 - i])) < 0.02)
      assert.is_true(lightness(c[i]) < lightness(c[i + 1]))
    end
  end)

  it('has a cyclic map that closes, of one lightness and even steps', function()
    local c = colormap.colours('phase', 73)
    assert.equal(c[1], c[73])
    local least, most = INF, 0
    for i = 2, 73 do
      assert.is_true(math.abs(lightness(c[i]) - 0.70) < 0.01)
      least, most = math.min(least, distance(c[i], c[i - 1])), math.max(most, distance(c[i], c[i - 1]))
    end
    assert.is_true(most / least < 1.6)
  end)

  it('keeps line colours apart and on white readable', function()
    for i, a in ipairs(colormap.cycle) do
      assert.is_true(lightness(a) < 0.8)
      for j = 1, i - 1 do assert.is_true(distance(a, colormap.cycle[j]) > 0.1) end
    end
    assert.equal('#0072b2', colormap.parse(1))
    assert.equal('#aabbcc', colormap.parse('#abc'))
    assert.is_nil(colormap.parse('#12'))
  end)
end)

describe('contour', function()
  it('runs where the values say', function()
    local z = grid(3, 5, function(_, j) return j end)
    local lines = contour.lines({ 10, 20, 30, 40, 50 }, { 0, 1, 2 }, z, 2.5)
    assert.equal(1, #lines)
    assert.same({ 25, 25, 25 }, { lines[1][1], lines[1][3], lines[1][5] })
    assert.is_nil(lines[1].closed)
  end)

  it('closes round a hill and keeps to its radius', function()
    local xs, ys = {}, {}
    for i = 1, 41 do xs[i], ys[i] = i - 21, i - 21 end
    local z = grid(41, 41, function(i, j) return -math.sqrt((i - 21) ^ 2 + (j - 21) ^ 2) end)
    local lines = contour.lines(xs, ys, z, -10.3)
    assert.equal(1, #lines)
    assert.is_true(lines[1].closed)
    for k = 1, #lines[1], 2 do
      local r = math.sqrt(lines[1][k] ^ 2 + lines[1][k + 1] ^ 2)
      assert.is_true(math.abs(r - 10.3) < 0.05)
    end
  end)

  it('parts at saddles without crossing, and stops at missing corners', function()
    local lines = contour.lines({ 0, 1 }, { 0, 1 }, { { 1, 0 }, { 0, 1 } }, 0.5)
    assert.equal(2, #lines)
    -- The mean of the corners is 0.5: below it the high corners are one ridge, above it two peaks.
    local function cuts(level, x, y) -- a line joins the lower side at x and an upright side at height y
      for _, line in ipairs(contour.lines({ 0, 1 }, { 0, 1 }, { { 1, 0 }, { 0, 1 } }, level)) do
        local function near(k, px, py) return math.abs(line[k] - px) + math.abs(line[k + 1] - py) < 1e-9 end
        local side = x < 0.5 and 0 or 1
        if (near(1, x, 0) and near(3, side, y)) or (near(3, x, 0) and near(1, side, y)) then return true end
      end
      return false
    end
    assert.is_true(cuts(0.6, 0.4, 0.4))
    assert.is_true(cuts(0.4, 0.6, 0.4))
    assert.same({}, contour.lines({ 0, 1 }, { 0, 1 }, { { 1, NAN }, { 0, 1 } }, 0.5))
  end)

  it('frames sets of cells along their sides', function()
    local lines = contour.outline({ 0, 1, 2, 3 }, { 0, 1, 2 }, { { false, true, true }, { false, false, true } })
    assert.equal(1, #lines)
    assert.is_true(lines[1].closed)
    assert.equal(8, #lines[1] / 2) -- the perimeter of three cells in an L
  end)
end)

describe('png', function()
  it('writes base64 as RFC 4648 does', function()
    for want, s in pairs{ [''] = '', ['Zg=='] = 'f', ['Zm8='] = 'fo', ['Zm9v'] = 'foo', ['Zm9vYmFy'] = 'foobar' } do
      assert.equal(want, png.base64(s))
    end
  end)

  it('frames chunks with the right sums', function()
    local bytes = png.indexed({ { 0, 1 }, { 1, 0 } }, { { 255, 0, 0 }, { 0, 0, 255 } })
    assert.equal('\137PNG\r\n\26\n', bytes:sub(1, 8))
    assert.equal('\0\0\0\2\0\0\0\2\8\3\0\0\0', bytes:match('IHDR(.............)'))
    assert.equal('IEND\174B`\130', bytes:sub(-8)) -- the check sum of an empty IEND is a constant of the format
    -- zlib header, one last stored block of 6 bytes, filter byte before each row, Adler-32 of 0 0 1 0 1 0:
    -- a = 1 + 2 = 3, b = 1 + 1 + 2 + 2 + 3 + 3 = 12
    assert.is_truthy(bytes:find('IDAT\120\1\1\6\0\249\255\0\0\1\0\1\0\0\12\0\3', 1, true))
  end)

  it('splits what is longer than a stored block', function()
    local row = {}
    for j = 1, 70000 do row[j] = j % 7 end
    local bytes = png.indexed({ row }, { { 0, 0, 0 }, { 1, 1, 1 }, { 2, 2, 2 }, { 3, 3, 3 }, { 4, 4, 4 }, { 5, 5, 5 },
      { 6, 6, 6 } })
    assert.equal(70001 + 2 + 4 + 2 * 5 + 8 + 25 + 12 + 12 + 12 + 21, #bytes)
  end)
end)

describe('font', function()
  it('reads the markup of labels', function()
    assert.same({ { text = 'q' }, { text = '−1', shift = 'up' }, { text = ' x' }, { text = 'a', shift = 'down' } },
      font.runs('q^{−1} x_{a}'))
    assert.equal('q⁻¹ xa', font.plain('q^{−1} x_{a}'))
    assert.equal('file_name ^2', font.plain('file_name ^2'))
  end)

  it('breaks lines at blanks and cuts a word that is too long', function()
    local lines = font.wrap('a title of several words that must be broken', 12, 120, true)
    assert.is_true(#lines >= 2)
    assert.equal('a title of several words that must be broken', table.concat(lines, ' '))
    for _, s in ipairs(lines) do assert.is_true(font.width(s, 12, true) <= 120) end
    local cut = font.wrap(('x'):rep(100), 12, 60)
    assert.equal(1, #cut)
    assert.is_true(font.width(cut[1], 12) <= 60)
  end)
end)
