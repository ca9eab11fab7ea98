-- axes.lua - the methods that put marks on a panel.
--
-- Holds: names, defaults and checks of everything one can say about a panel, and the plain records that result. A panel
-- is { row, col, marks = { { kind = 'line', x = {...}, ... } }, title = ..., ... } and holds data only: it can be
-- written to a file, compared and drawn again.

local check = require 'mascon.core.check'
local colormap = require 'mascon.plot.colormap'
local data = require 'mascon.plot.data'

local M = {}

local fmt = string.format

---@class mascon.plot.Axes
local Axes = {}
Axes.__index = Axes
M.Axes = Axes

-- What can be said about a panel; every method takes these names among its options.
local PANEL = {
  title = { nil, 'string' },
  xlabel = { nil, 'string' },
  ylabel = { nil, 'string' },
  xunit = { nil, 'string' },
  yunit = { nil, 'string' },
  xlim = { nil, 'table' },
  ylim = { nil, 'table' },
  xscale = { nil, { 'linear', 'log' } },
  yscale = { nil, { 'linear', 'log' } },
  xticks = { nil, 'any' },
  yticks = { nil, 'any' },
  xticklabels = { nil, 'table' },
  yticklabels = { nil, 'table' },
  grid = { nil, 'boolean' },
  legend = { nil, { 'best', 'right', 'none', 'top right', 'top left', 'bottom right', 'bottom left' } },
  aspect = { nil, { 'auto', 'equal' } },
}

local PANEL_NAMES = {}
for name in pairs(PANEL) do PANEL_NAMES[#PANEL_NAMES + 1] = name end
table.sort(PANEL_NAMES)

local function with_panel(spec)
  for name, row in pairs(PANEL) do spec[name] = row end
  return spec
end

local function check_limits(fname, name, v, level)
  local numbers = type(v[1]) == 'number' and type(v[2]) == 'number'
  if not numbers or not data.finite(v[1]) or not data.finite(v[2]) or v[1] == v[2] then
    error(fmt('%s: %s must be { from, to }, two different finite numbers', fname, name), level + 1)
  end
  return { v[1], v[2] }
end

local function check_strings(fname, name, v, level)
  local out = {}
  for i, s in ipairs(v) do
    if type(s) ~= 'string' and type(s) ~= 'number' then
      error(fmt('%s: %s[%d] must be text', fname, name, i), level + 1)
    end
    out[i] = tostring(s)
  end
  return out
end

-- Moves the panel's share of the options to the panel.
local function set_panel(panel, fname, o, level)
  for _, name in ipairs(PANEL_NAMES) do
    local v = o[name]
    if v ~= nil then
      if name:match('lim$') then v = check_limits(fname, name, v, level + 1) end
      if name:match('ticks$') then v = data.vector(fname, name, v, level + 1) end
      if name:match('ticklabels$') then v = check_strings(fname, name, v, level + 1) end
      panel[name] = v
    end
  end
  for _, a in ipairs{ 'x', 'y' } do
    local lim = panel[a .. 'lim']
    if panel[a .. 'scale'] == 'log' and lim and (lim[1] <= 0 or lim[2] <= 0) then
      error(fmt('%s: %slim reaches %.6g, but a log axis starts above 0', fname, a, math.min(lim[1], lim[2])), level + 1)
    end
    local labels, ticks = panel[a .. 'ticklabels'], panel[a .. 'ticks']
    if labels and (not ticks or #ticks ~= #labels) then
      local msg = '%s: %sticklabels has %d entries and %sticks has %d; give one label for each tick'
      error(fmt(msg, fname, a, #labels, a, ticks and #ticks or 0), level + 1)
    end
  end
end

local function color_of(fname, c, level)
  if c == nil then return nil end
  local hex = colormap.parse(c)
  if not hex then
    error(fmt("%s: color %s is not known; write '#rrggbb', a place in the cycle (1 to %d), or a plain name like 'red'",
      fname, tostring(c), #colormap.cycle), level + 1)
  end
  return hex
end

local function add(self, mark)
  local marks = self.panel.marks
  marks[#marks + 1] = mark
  return self.result or self
end

local function same_length(fname, a, na, b, nb, level)
  if na ~= nb then
    error(fmt('%s: %s has %d values and %s has %d; they must be equally long', fname, a, na, b, nb), level + 1)
  end
end

-- x and y of a series; y alone is plotted over 1 to n.
local function series(fname, x, y, level)
  if y == nil then x, y = nil, x end
  y = data.vector(fname, 'y', y, level + 1)
  if x == nil then
    x = {}
    for i = 1, #y do x[i] = i end
  else
    x = data.vector(fname, 'x', x, level + 1)
    same_length(fname, 'x', #x, 'y', #y, level + 1)
  end
  return x, y
end

-- `line(y, opts)` and `line(x, y, opts)`: a table of named options may stand in the place of y.
local function shift_options(y, opts)
  if opts == nil and type(y) == 'table' and y.totable == nil and #y == 0 and next(y) ~= nil then return nil, y end
  return y, opts
end

local SET = with_panel{}

--- Says something about the panel: title, labels, units, limits, scales, ticks, grid, legend, aspect.
function Axes:set(opts)
  local o = check.opts('plot.axes', opts, SET)
  set_panel(self.panel, 'plot.axes', o, 2)
  return self.result or self
end

local LINE = with_panel{
  label = { nil, 'string' },
  color = { nil, 'any' },
  width = { 1.5, 'number > 0' },
  dash = { nil, { 'solid', 'dashed', 'dotted' } },
  step = { false, 'boolean' },
}

--- A line through points; NaN breaks it. `line(y)` counts x from 1.
--- options: label, color, width (px), dash, step (horizontal, then vertical), and all of `set`
function Axes:line(x, y, opts)
  y, opts = shift_options(y, opts)
  local o = check.opts('plot.line', opts, LINE)
  local xs, ys = series('plot.line', x, y, 2)
  local color = color_of('plot.line', o.color, 2)
  set_panel(self.panel, 'plot.line', o, 2)
  return add(self, {
    kind = 'line', x = xs, y = ys, label = o.label, color = color, width = o.width, dash = o.dash, step = o.step or nil,
  })
end

local SCATTER = with_panel{
  label = { nil, 'string' },
  color = { nil, 'any' },
  size = { 5, 'number > 0' },
  alpha = { 0.85, 'number > 0' },
  err = { nil, 'any' },
}

--- Points; NaN leaves one out.
--- options: label, color, size (diameter, px), alpha, err (half length of vertical error bars), and all of `set`
function Axes:scatter(x, y, opts)
  y, opts = shift_options(y, opts)
  local o = check.opts('plot.scatter', opts, SCATTER)
  local xs, ys = series('plot.scatter', x, y, 2)
  local err
  if o.err ~= nil then
    err = data.vector('plot.scatter', 'err', o.err, 2)
    same_length('plot.scatter', 'err', #err, 'y', #ys, 2)
  end
  local color = color_of('plot.scatter', o.color, 2)
  set_panel(self.panel, 'plot.scatter', o, 2)
  return add(self, {
    kind = 'scatter', x = xs, y = ys, err = err, label = o.label, color = color, size = o.size, alpha = o.alpha,
  })
end

local BAND = with_panel{ label = { nil, 'string' }, color = { nil, 'any' }, alpha = { 0.25, 'number > 0' } }

--- The area between two curves, such as a confidence interval. Takes the colour of the line that follows.
function Axes:band(x, lo, hi, opts)
  local o = check.opts('plot.band', opts, BAND)
  local xs = data.vector('plot.band', 'x', x, 2)
  local los, his = data.vector('plot.band', 'lo', lo, 2), data.vector('plot.band', 'hi', hi, 2)
  same_length('plot.band', 'x', #xs, 'lo', #los, 2)
  same_length('plot.band', 'x', #xs, 'hi', #his, 2)
  local color = color_of('plot.band', o.color, 2)
  set_panel(self.panel, 'plot.band', o, 2)
  return add(self, { kind = 'band', x = xs, lo = los, hi = his, label = o.label, color = color, alpha = o.alpha })
end

local HIST = with_panel{
  bins = { nil, 'any' },
  density = { false, 'boolean' },
  label = { nil, 'string' },
  color = { nil, 'any' },
  alpha = { 0.75, 'number > 0' },
}

--- A histogram. options: bins (a count or an array of edges; default by the Freedman-Diaconis rule), density (area 1),
--- label, color, alpha, and all of `set`. Values that are not finite or outside given edges are counted in `dropped`.
function Axes:hist(values, opts)
  local o = check.opts('plot.hist', opts, HIST)
  local sorted, dropped = data.sorted(data.vector('plot.hist', 'values', values, 2))
  if #sorted == 0 then error(fmt('plot.hist: none of the %d values is finite; nothing to count', dropped), 2) end
  local edges
  if type(o.bins) == 'number' or o.bins == nil then
    if o.bins and (o.bins < 1 or o.bins ~= math.floor(o.bins)) then
      error(fmt('plot.hist: bins must be a whole number, 1 or more, or an array of edges, got %s', o.bins), 2)
    end
    edges = data.bin_edges(sorted, o.bins)
  else
    edges = data.vector('plot.hist', 'bins', o.bins, 2)
    if #edges < 2 then error('plot.hist: bins has one edge; two are the least', 2) end
    for i = 2, #edges do
      if not data.finite(edges[i] - edges[i - 1]) or edges[i] <= edges[i - 1] then
        error(fmt('plot.hist: bins must rise, but edge %d is %.6g after %.6g', i, edges[i], edges[i - 1]), 2)
      end
    end
  end
  local heights, outside = data.bin_counts(sorted, edges)
  local total = #sorted - outside
  if o.density and total > 0 then
    for i, c in ipairs(heights) do heights[i] = c / total / (edges[i + 1] - edges[i]) end
  end
  local color = color_of('plot.hist', o.color, 2)
  set_panel(self.panel, 'plot.hist', o, 2)
  if not self.panel.ylabel then self.panel.ylabel = o.density and 'Density' or 'Count' end
  return add(self, {
    kind = 'hist', edges = edges, heights = heights, dropped = dropped + outside, label = o.label, color = color,
    alpha = o.alpha,
  })
end

local BAR = with_panel{
  label = { nil, 'string' },
  color = { nil, 'any' },
  err = { nil, 'any' },
  width = { 0.8, 'number > 0' },
}

--- Bars over names or numbers; several bar marks with the same names stand side by side.
--- options: label, color, err (half length of error bars), width (share of the place), and all of `set`
function Axes:bar(names, heights, opts)
  heights, opts = shift_options(heights, opts)
  local o = check.opts('plot.bar', opts, BAR)
  local hs = data.vector('plot.bar', 'heights', heights == nil and names or heights, 2)
  local labels
  if heights ~= nil then
    if type(names) == 'table' and names.totable then names = names:totable() end
    if type(names) ~= 'table' then error('plot.bar: names must be an array of text or numbers', 2) end
    labels = check_strings('plot.bar', 'names', names, 2)
    same_length('plot.bar', 'names', #labels, 'heights', #hs, 2)
  end
  local err
  if o.err ~= nil then
    err = data.vector('plot.bar', 'err', o.err, 2)
    same_length('plot.bar', 'err', #err, 'heights', #hs, 2)
  end
  local color = color_of('plot.bar', o.color, 2)
  set_panel(self.panel, 'plot.bar', o, 2)
  if labels then
    local places = {}
    for i = 1, #labels do places[i] = i end
    self.panel.xticks, self.panel.xticklabels = places, labels
  end
  return add(self, { kind = 'bar', heights = hs, err = err, label = o.label, color = color, width = o.width })
end

local RULE = with_panel{
  label = { nil, 'string' },
  color = { '#444444', 'any' },
  width = { 1, 'number > 0' },
  dash = { 'dashed', { 'solid', 'dashed', 'dotted' } },
}

local function rule(self, fname, kind, at, o)
  if type(at) ~= 'number' or not data.finite(at) then
    error(fmt('%s: the position must be a finite number, got %s', fname, tostring(at)), 3)
  end
  local color = color_of(fname, o.color, 3)
  set_panel(self.panel, fname, o, 3)
  return add(self, { kind = kind, at = at, label = o.label, color = color, width = o.width, dash = o.dash })
end

--- A line across the panel at height y. options: label, color, width (px), dash, and all of `set`
function Axes:hline(y, opts)
  local o = check.opts('plot.hline', opts, RULE)
  local out = rule(self, 'plot.hline', 'hline', y, o)
  return out
end

--- A line up the panel at x. options as for `hline`
function Axes:vline(x, opts)
  local o = check.opts('plot.vline', opts, RULE)
  local out = rule(self, 'plot.vline', 'vline', x, o)
  return out
end

local TEXT = with_panel{
  color = { '#222222', 'any' },
  size = { 10, 'number > 0' },
  anchor = { 'start', { 'start', 'middle', 'end' } },
}

--- Text at a data position; ^{..} raises and _{..} lowers.
function Axes:text(x, y, text, opts)
  local o = check.opts('plot.text', opts, TEXT)
  if type(x) ~= 'number' or type(y) ~= 'number' or type(text) ~= 'string' then
    error('plot.text: takes x, y and a string', 2)
  end
  local color = color_of('plot.text', o.color, 2)
  set_panel(self.panel, 'plot.text', o, 2)
  return add(self, { kind = 'text', x = x, y = y, text = text, color = color, size = o.size, anchor = o.anchor })
end

local HEATMAP = with_panel{
  cmap = { 'viridis', 'string' },
  vmin = { nil, 'number' },
  vmax = { nil, 'number' },
  center = { nil, 'number' },
  clip = { nil, 'table' },
  cscale = { 'linear', { 'linear', 'log' } },
  label = { nil, 'string' },
  colorbar = { true, 'boolean' },
  mask = { nil, 'any' },
  outline = { nil, 'any' },
  outline_width = { 1.4, 'number > 0' },
  contour_levels = { nil, 'any' },
  classes = { nil, 'table' },
}

local function truth(fname, name, v, rows, columns, level)
  if v == nil then return nil end
  local m, r, c = data.matrix(fname, name, v, level + 1)
  if r ~= rows or c ~= columns then
    error(fmt('%s: %s is [%d, %d] and z is [%d, %d]; they must match', fname, name, r, c, rows, columns), level + 1)
  end
  for i = 1, r do
    for j = 1, c do m[i][j] = m[i][j] ~= 0 end
  end
  return m
end

-- Classes as { name, '#rrggbb' }; every number of z names one.
local function classes_of(fname, list, z, level)
  local out = {}
  for k, c in ipairs(list) do
    if type(c) ~= 'table' or type(c[1]) ~= 'string' then
      error(fmt('%s: classes[%d] must be { name, colour }', fname, k), level + 1)
    end
    out[k] = { c[1], color_of(fname, c[2], level + 1) }
  end
  for i = 1, #z do
    for j = 1, #z[i] do
      local v = z[i][j]
      if v == v and not out[v] then
        error(fmt('%s: z[%d][%d] is %.6g; with %d classes it is a number from 1 to %d', fname, i, j, v, #out, #out),
          level + 1)
      end
    end
  end
  return out
end

--- A heat map: z[i][j] coloured in the cell of y[i] and x[j].
--- x and y are cell centres (n), cell edges (n + 1), pairs { low, high }, or nil for 1 to n; they need not be even.
--- NaN cells are grey and hatched.
--- options: cmap, vmin, vmax, center (colours symmetric about it), clip ({1, 99}: limits at these percentiles), cscale
--- 'linear'|'log', label (of the colour bar), colorbar, mask (true: cell left out), outline (true cells are framed,
--- outline_width 1.4 px; from 1.2 px on with a light rim), contour_levels (a count or an array), classes (z holds class
--- numbers: a list of { name, colour }, shown in a legend instead of a colour bar; where cells are too many to be seen,
--- the last class wins), and all of `set`
function Axes:heatmap(x, y, z, opts)
  local f = 'plot.heatmap'
  if z == nil then z, opts, x, y = x, y, nil, nil end
  local o = check.opts(f, opts, HEATMAP)
  local rows, ny, nx = data.matrix(f, 'z', z, 2)
  local xs, ys = data.positions(f, 'x', x, nx, 2), data.positions(f, 'y', y, ny, 2)
  local ok, msg = colormap.colours(o.cmap)
  if not ok then error(f .. ': ' .. msg, 2) end
  if o.vmin and o.vmax and o.vmin >= o.vmax then
    error(fmt('%s: vmin is %.6g and vmax is %.6g; vmin must be the smaller', f, o.vmin, o.vmax), 2)
  end
  if o.cscale == 'log' and ((o.vmin and o.vmin <= 0) or (o.vmax and o.vmax <= 0) or o.center) then
    error(f .. ": cscale 'log' takes vmin and vmax above 0 and no center", 2)
  end
  local clip
  if o.clip then
    local a, b = o.clip[1], o.clip[2]
    if type(a) ~= 'number' or type(b) ~= 'number' or a < 0 or b > 100 or a >= b then
      error(f .. ': clip must be two percentiles like { 1, 99 }', 2)
    end
    clip = { a, b }
  end
  local classes = o.classes and classes_of(f, o.classes, rows, 2)
  local levels = o.contour_levels
  if levels ~= nil and type(levels) ~= 'number' then levels = data.vector(f, 'contour_levels', levels, 2) end
  local mask, outline = truth(f, 'mask', o.mask, ny, nx, 2), truth(f, 'outline', o.outline, ny, nx, 2)
  for _, side in ipairs{ { 'x', xs }, { 'y', ys } } do
    local scale = o[side[1] .. 'scale'] or self.panel[side[1] .. 'scale']
    local least = math.min(side[2][1], side[2][#side[2]])
    if scale == 'log' and least <= 0 then
      error(fmt('%s: %s reaches %.6g, but a log axis starts above 0', f, side[1], least), 2)
    end
  end
  set_panel(self.panel, f, o, 2)
  return add(self, {
    kind = 'heatmap', x = xs, y = ys, z = rows, cmap = o.cmap, vmin = o.vmin, vmax = o.vmax, center = o.center,
    clip = clip, cscale = o.cscale, label = o.label, colorbar = o.colorbar and not classes, mask = mask,
    outline = outline, outline_width = outline and o.outline_width, contour_levels = levels, classes = classes,
  })
end

local SCALP = with_panel{
  extent = { 1.25, 'number >= 1' },
  radius = { 1, 'number > 0' },
  sensors = { nil, 'any' },
  names = { nil, 'table' },
  marked = { nil, 'table' },
  cmap = { 'tide', 'string' },
  vmin = { nil, 'number' },
  vmax = { nil, 'number' },
  center = { nil, 'number' },
  label = { nil, 'string' },
  colorbar = { true, 'boolean' },
  contour_levels = { 5, 'any' },
}

--- A map of the scalp seen from above, nose up: z[i][j] on a square grid from -extent to extent, rows from back to
--- front, shown inside a disc; the head is the circle of radius 1.
--- options: extent 1.25, radius of the disc 1, sensors (pairs x, y), names (one each, or '' for none), marked (true: a
--- sensor stands out), cmap, vmin, vmax, center, label (of the colour bar), colorbar, contour_levels (a count, an
--- array, 0 for none), and title of `set`
function Axes:scalp(z, opts)
  local f = 'plot.scalp'
  local o = check.opts(f, opts, SCALP)
  local rows, ny, nx = data.matrix(f, 'z', z, 2)
  if ny ~= nx or ny < 2 then error(fmt('%s: z is [%d, %d]; give a square grid, [2, 2] or larger', f, ny, nx), 2) end
  local ok, msg = colormap.colours(o.cmap)
  if not ok then error(f .. ': ' .. msg, 2) end
  local sensors, names = {}, nil
  if o.sensors ~= nil then
    local list, n, two = data.matrix(f, 'sensors', o.sensors, 2)
    if two ~= 2 then error(fmt('%s: sensors is [%d, %d]; give x and y of each', f, n, two), 2) end
    sensors = list
  end
  if o.names then
    names = check_strings(f, 'names', o.names, 2)
    same_length(f, 'names', #names, 'sensors', #sensors, 2)
  end
  local levels = o.contour_levels
  if type(levels) ~= 'number' then levels = data.vector(f, 'contour_levels', levels, 2) end
  local radius, mask = math.min(o.radius, o.extent), {}
  for i = 1, ny do
    mask[i] = {}
    for j = 1, nx do
      local x, y = (2 * (j - 1) / (nx - 1) - 1) * o.extent, (2 * (i - 1) / (ny - 1) - 1) * o.extent
      mask[i][j] = x * x + y * y > radius * radius
    end
  end
  set_panel(self.panel, f, o, 2)
  self.panel.round = 'scalp'
  return add(self, {
    kind = 'scalp', z = rows, mask = mask, extent = o.extent, radius = radius, sensors = sensors, names = names,
    marked = o.marked or {}, cmap = o.cmap, vmin = o.vmin, vmax = o.vmax, center = o.center, label = o.label,
    colorbar = o.colorbar, contour_levels = levels,
  })
end

local POLAR = with_panel{
  bins = { 18, 'integer >= 1' },
  unit = { 'rad', { 'rad', 'deg' } },
  weights = { nil, 'any' },
  kind = { 'phases', { 'phases', 'heights' } },
  mean = { true, 'boolean' },
  color = { nil, 'any' },
}

-- Mean vector of angles (rad) with weights: length, angle, number of values used.
local function mean_vector(angles, weights)
  local c, s, total, n = 0, 0, 0, 0
  for i = 1, #angles do
    local a, w = angles[i], weights and weights[i] or 1
    if data.finite(a) and data.finite(w) then
      c, s, total, n = c + w * math.cos(a), s + w * math.sin(a), total + w, n + 1
    end
  end
  if total == 0 then return 0, 0, n end
  return math.sqrt(c * c + s * s) / total, math.atan2(s, c), n
end

--- A polar histogram with its mean vector. Angles count anticlockwise from the right.
--- values: phases, one each; or with kind = 'heights' the height of each of n equal sectors, the first starting at 0.
--- options: bins 18, unit 'rad'|'deg', weights (one each), mean (draw the mean vector; its length R is 0 to 1), color
function Axes:polar(values, opts)
  local f = 'plot.polar'
  local o = check.opts(f, opts, POLAR)
  local v = data.vector(f, 'values', values, 2)
  local weights
  if o.weights ~= nil then
    if o.kind == 'heights' then error(f .. ": weights go with kind = 'phases'", 2) end
    weights = data.vector(f, 'weights', o.weights, 2)
    same_length(f, 'weights', #weights, 'values', #v, 2)
  end
  local heights = {}
  local r, angle, n
  if o.kind == 'heights' then
    local centres = {}
    for i = 1, #v do
      if not data.finite(v[i]) or v[i] < 0 then
        error(fmt('%s: height %d is %.6g; heights are finite and not negative', f, i, v[i]), 2)
      end
      heights[i], centres[i] = v[i], (i - 0.5) * 2 * math.pi / #v
    end
    r, angle = mean_vector(centres, heights)
  else
    local turn = o.unit == 'deg' and 360 or 2 * math.pi
    local angles = {}
    for b = 1, o.bins do heights[b] = 0 end
    for i = 1, #v do
      angles[i] = v[i] / turn * 2 * math.pi
      local w = weights and weights[i] or 1
      if data.finite(v[i]) and data.finite(w) then
        local b = math.min(o.bins, math.floor((v[i] / turn) % 1 * o.bins) + 1)
        heights[b] = heights[b] + w
      end
    end
    r, angle, n = mean_vector(angles, weights)
    if n == 0 then error(fmt('%s: none of the %d values is finite; nothing to count', f, #v), 2) end
  end
  local color = color_of(f, o.color, 2)
  set_panel(self.panel, f, o, 2)
  self.panel.round = 'polar'
  return add(self, {
    kind = 'polar', heights = heights, mean = o.mean, length = r, angle = angle, n = n, color = color,
  })
end

return M
