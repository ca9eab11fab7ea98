-- plot/init.lua - figures.
--
-- Holds: the figure record, one-shot plots, saving by extension. A figure is plain data ({ width, height, rows, cols,
-- panels }): it can be written as JSON, compared, and rendered again, also without the methods. Rendering gives SVG;
-- PNG comes from the raster plug-in behind mascon.core.ffi, the terminal form from plot/ascii.lua.
--
--   local fig = plot.figure{ title = 'Coupling', rows = 1, cols = 2 }
--   fig:axes(1, 1):heatmap(fp, fa, z, { xlabel = 'Phase', xunit = 'Hz', label = 'z' })
--   fig:axes(1, 2):line(t, y, { label = 'raw' }):hline(0)
--   fig:save('coupling.svg')

local check = require 'mascon.core.check'
local axes = require 'mascon.plot.axes'
local colormap = require 'mascon.plot.colormap'
local render = require 'mascon.plot.render'

local M = {}

local fmt = string.format

---@class mascon.plot.Figure
local Figure = {}
Figure.__index = Figure

--- Names of the colour maps.
M.colormaps = colormap.names
--- A colour map as '#rrggbb' texts: colours(name, n).
M.colours = colormap.colours

local FIGURE = {
  title = { nil, 'string' },
  width = { nil, 'number > 0' },
  height = { nil, 'number > 0' },
  rows = { 1, 'integer >= 1' },
  cols = { 1, 'integer >= 1' },
}

local function new_figure(o)
  return setmetatable({
    title = o.title, rows = o.rows, cols = o.cols, panels = {},
    width = o.width or (o.cols == 1 and 520 or 40 + 340 * o.cols),
    height = o.height or (o.rows == 1 and 360 or 40 + 280 * o.rows),
  }, Figure)
end

--- A figure of rows x cols panels. Sizes are px; without them they follow the number of panels.
--- options: title, width, height, rows 1, cols 1
---@return mascon.plot.Figure
function M.figure(opts)
  local o = check.opts('plot.figure', opts, FIGURE)
  return new_figure(o)
end

local function panel_at(fig, i, j)
  for _, panel in ipairs(fig.panels) do
    if panel.row == i and panel.col == j then return panel end
  end
  local panel = { row = i, col = j, marks = {} }
  fig.panels[#fig.panels + 1] = panel
  return panel
end

--- The panel in row i and column j (1, 1 by default), made on first use. Options as for `Axes:set`.
---@return mascon.plot.Axes
function Figure:axes(i, j, opts)
  if type(i) == 'table' then i, j, opts = 1, 1, i end
  i, j = i or 1, j or 1
  if type(i) ~= 'number' or type(j) ~= 'number' or i < 1 or j < 1 or i > self.rows or j > self.cols
    or i % 1 ~= 0 or j % 1 ~= 0 then
    error(fmt('plot.axes: there is no panel (%s, %s) in %d rows and %d columns', tostring(i), tostring(j), self.rows,
      self.cols), 2)
  end
  local handle = setmetatable({ panel = panel_at(self, i, j) }, axes.Axes)
  if opts == nil then return handle end
  return axes.Axes.set(handle, opts)
end

local function check_figure(fname, fig, level)
  if type(fig) ~= 'table' or type(fig.panels) ~= 'table' then
    error(fname .. ': expected a figure; plot.figure{...} makes one', level + 1)
  end
  if #fig.panels == 0 then
    error(fname .. ': the figure has no panel; fig:axes(i, j) makes one', level + 1)
  end
  for _, panel in ipairs(fig.panels) do
    if #panel.marks == 0 then
      local msg = '%s: panel (%d, %d) is empty; draw on it, for example with :line(x, y)'
      error(fmt(msg, fname, panel.row, panel.col), level + 1)
    end
    for _, m in ipairs(panel.marks) do
      if panel.round and m.kind ~= panel.round then
        error(fmt('%s: panel (%d, %d) mixes a %s mark with others; give it a panel of its own', fname, panel.row,
          panel.col, panel.round), level + 1)
      end
    end
  end
end

--- A figure as SVG text. Equal figures give equal bytes.
---@param fig table
---@return string
function M.render(fig)
  check_figure('plot.render', fig, 2)
  local out, msg = render.svg(fig)
  if not out then error('plot.render: ' .. msg, 2) end
  return out
end

local function write_file(path, bytes)
  local ok, file = pcall(require, 'mascon.base.file')
  if ok then return file.write(path, bytes) end
  if not tostring(file):find("module 'mascon.base.file' not found", 1, true) then error(file, 0) end
  local f, msg = io.open(path, 'wb') -- outside the mascon program there is no mascon.file
  if not f then return nil, msg end
  f:write(bytes)
  f:close()
  return true
end

-- GLib, below librsvg, ends its process when there is no memory for it: it gets one of its own, which writes into its
-- own folder only. The picture comes to its place from here.
local DRAW = [[
local folder = arg[1]
local file = io.open(folder .. '/figure.svg', 'rb')
local scale = io.open(folder .. '/scale', 'rb'):read '*n'
local ok, why = require 'mascon.core.ffi'.svg_to_png(file:read '*a', scale, folder .. '/figure.png')
if not ok then
  io.stderr:write(why, '\n')
  os.exit(1)
end
]]

--- Draws a picture: its bytes, or true where a program that we are part of has drawn it at `path`; nil and why not.
local function picture(ffi, svg_text, scale, path)
  local child = require 'mascon.base.child'
  if not child.possible() then return ffi.svg_to_png(svg_text, scale, path) end
  return child.run(DRAW, { ['figure.svg'] = svg_text, scale = ('%.17g'):format(scale) }, 120, 'figure.png')
end

local SAVE = { scale = { 2, 'number > 0' }, required = { true, 'bool' } }

--- Writes a figure; the extension says how: .svg, .png, or .txt for the terminal form.
---
--- Options: scale: pixels per px of a .png (2) · required (true): false gives nil and the reason where a .png cannot be
--- drawn (librsvg is missing, or there is no memory for it), for results that go on without it. Result: the path.
--- Errors: another extension; a folder that is not there or cannot be written.
---@param fig table
---@param path string
---@param opts? table
---@return string|nil path
---@return string|nil reason
function M.save(fig, path, opts)
  local o = check.opts('plot.save', opts, SAVE)
  check_figure('plot.save', fig, 2)
  local extension = type(path) == 'string' and path:match('%.(%a+)$')
  extension = extension and extension:lower()
  if extension ~= 'svg' and extension ~= 'png' and extension ~= 'txt' then
    error(fmt('plot.save: %s must end in .svg, .png or .txt', tostring(path)), 2)
  end
  if extension == 'txt' then
    local ok, msg = write_file(path, M.ascii(fig))
    if not ok then error(fmt('plot.save: %s; make the folder, or choose another', tostring(msg)), 2) end
    return path
  end
  local text, problem = render.svg(fig)
  if not text then error('plot.save: ' .. problem, 2) end
  local ok, msg
  if extension == 'svg' then
    ok, msg = write_file(path, text)
  else
    local found, ffi = pcall(require, 'mascon.core.ffi')
    if not found or not ffi.svg_to_png then
      local why = 'plot.save: this program has no PNG writer; save as .svg, or run it with mascon and librsvg installed'
      if o.required then error(why, 2) end
      return nil, why
    end
    local drawn, missing = picture(ffi, text, o.scale, path)
    if not drawn then
      local why = fmt('plot.save: %s; saving as .svg needs no library', tostring(missing))
      if o.required then error(why, 2) end
      return nil, why
    end
    if drawn == true then return path end
    ok, msg = write_file(path, drawn)
  end
  if not ok then error(fmt('plot.save: %s; make the folder, or choose another', tostring(msg)), 2) end
  return path
end

--- A figure as text for a terminal; see plot/ascii.lua for the options.
function M.ascii(fig, opts)
  check_figure('plot.ascii', fig, 2)
  return require('mascon.plot.ascii').text(fig, opts)
end

function Figure:render()
  check_figure('plot.render', self, 2)
  local out, msg = render.svg(self)
  if not out then error('plot.render: ' .. msg, 2) end
  return out
end

function Figure:save(path, opts)
  return M.save(self, path, opts)
end

function Figure:ascii(opts)
  return M.ascii(self, opts)
end

-- One-shot plots: a handle that answers every method with the figure. The option `figsize` is { width, height } of
-- the figure.
local function one_shot(opts, default)
  local size = type(opts) == 'table' and opts.figsize
  if size and not (type(size) == 'table' and tonumber(size[1]) and tonumber(size[2])) then
    error('plot: figsize must be { width, height } in px', 3)
  end
  local fig_size = size or default
  local fig = new_figure{ rows = 1, cols = 1, width = fig_size and fig_size[1], height = fig_size and fig_size[2] }
  local handle = setmetatable({ panel = panel_at(fig, 1, 1), result = fig }, axes.Axes)
  if not size then return handle, opts end
  local rest = {}
  for k, v in pairs(opts) do
    if k ~= 'figsize' then rest[k] = v end
  end
  return handle, rest
end

local function options_in(y, opts)
  if opts == nil and type(y) == 'table' and y.totable == nil and #y == 0 then return nil, y end
  return y, opts
end

--- A figure with one line; arguments as Axes:line, and figsize = { width, height }.
function M.line(x, y, opts)
  y, opts = options_in(y, opts)
  local handle, rest = one_shot(opts)
  return axes.Axes.line(handle, x, y, rest) -- a tail call: errors name the caller's line
end

--- A figure with points; arguments as Axes:scatter, and figsize.
function M.scatter(x, y, opts)
  y, opts = options_in(y, opts)
  local handle, rest = one_shot(opts)
  return axes.Axes.scatter(handle, x, y, rest)
end

--- A figure with a heat map; arguments as Axes:heatmap, and figsize.
function M.heatmap(x, y, z, opts)
  if z == nil then x, y, z, opts = nil, nil, x, y end
  local handle, rest = one_shot(opts)
  return axes.Axes.heatmap(handle, x, y, z, rest)
end

--- A figure with a histogram; arguments as Axes:hist, and figsize.
function M.hist(values, opts)
  local handle, rest = one_shot(opts)
  return axes.Axes.hist(handle, values, rest)
end

--- A figure with bars; arguments as Axes:bar, and figsize.
function M.bar(names, heights, opts)
  heights, opts = options_in(heights, opts)
  local handle, rest = one_shot(opts)
  return axes.Axes.bar(handle, names, heights, rest)
end

--- A figure with a map of the scalp; arguments as Axes:scalp, and figsize.
function M.scalp(z, opts)
  local handle, rest = one_shot(opts, { 400, 360 })
  return axes.Axes.scalp(handle, z, rest)
end

--- A figure with a polar histogram; arguments as Axes:polar, and figsize.
function M.polar(values, opts)
  local handle, rest = one_shot(opts, { 380, 420 })
  return axes.Axes.polar(handle, values, rest)
end

return M
