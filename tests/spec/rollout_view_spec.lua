-- rollout_view_spec.lua - pictures of a row: the same way up in figures and animations, square places, axes with units,
-- and a mark on what a failed realisation left.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local process = support.load 'process'
local gif = require 'mascon.plot.gif'
local rollout = mc.rollout

--- A configuration of rows of an own operator that multiplies by ten, from states that grow with the row (y).
local function config(at, divergence)
  local tree = mc.json.decode [[{ "metadata": { "name": "view" }, "parameter_space": {
    "operator": { "grid_size": { "type": "choice", "choices": [8] } } },
    "sampling": { "total_samples": 2 },
    "simulation": { "operator_type": "view_tenfold", "num_timesteps": 6, "num_realizations": 1, "channels": 2,
      "policy": "autoregressive", "input_generation": { "method": "view_ramp" } },
    "dataset": { "output_path": "" } }]]
  tree.dataset.output_path, tree.simulation.divergence = at, divergence
  return rollout.config.of(tree)
end

--- f() with the figures that it saves and the frames of animations that it writes.
local function watched(f)
  local save, animation, figures, films = mc.plot.save, gif.animation, {}, {}
  mc.plot.save = function(fig, path)
    figures[#figures + 1] = fig
    return save(fig, path)
  end
  gif.animation = function(width, height, frames, palette, ...)
    films[#films + 1] = { width = width, height = height, frames = frames, palette = palette }
    return animation(width, height, frames, palette, ...)
  end
  local ok, why = pcall(f)
  mc.plot.save, gif.animation = save, animation
  assert(ok, why)
  return figures, films
end

describe('pictures of a row', function()
  local at
  setup(function()
    at = process.folder()
    rollout.fields.register('view_ramp', function(_, C, G)
      return mc.arange(1, G):reshape(1, G, 1) / G * mc.ones { C, G, G }
    end)
    rollout.operator.register('view_tenfold', function() return function(x) return 10 * x end end)
    rollout.generate.run(config(at .. '/good.h5', 1e9), { quiet = true })
    rollout.generate.run(config(at .. '/bad.h5', 500), { quiet = true })
  end)
  teardown(function() process.remove(at) end)

  it('have the first row of a state below in figures and in animations', function()
    local figures, films = watched(function()
      rollout.view.row(at .. '/good.h5', 0, at .. '/v.svg')
      rollout.view.row(at .. '/good.h5', 0, at .. '/v.gif')
    end)
    local panel = figures[1].panels[1]
    assert.is_true(panel.marks[1].y[1] < panel.marks[1].y[8] and panel.ylim == nil) -- y goes up
    assert.is_true(panel.marks[1].z[1][1] < panel.marks[1].z[8][1])
    local film = films[1]
    local last = film.frames[#film.frames]
    assert.equal(film.width * film.height, #last)
    local function line(k) return last:byte((k - 1) * film.width + 1) end
    assert.is_true(line(1) > line(film.height / 2) and line(film.height / 2) > 0, 'the largest values stand above')
  end)

  it('have square places, axes in pixels and one colour bar that says what it shows', function()
    local fig = watched(function() rollout.view.row(at .. '/good.h5', 0, at .. '/w.svg') end)[1]
    assert.equal(2 * 6, #fig.panels)
    local bars = 0
    for _, p in ipairs(fig.panels) do
      assert.equal('equal', p.aspect)
      if p.marks[1].colorbar ~= false then
        bars = bars + 1
        assert.equal('state', p.marks[1].label)
      end
    end
    assert.equal(2, bars) -- one per line of panels
    local text = assert(mc.file.read(at .. '/w.svg'))
    for _, word in ipairs { 'x (px)', 'channel 1, y (px)', 'channel 2, y (px)', 't = 5' } do
      assert.is_truthy(text:find(word, 1, true), word)
    end
  end)

  it('mark a realisation that failed: at which step, and the states that are only held', function()
    local words
    local figures, films = watched(function()
      words = select(3, rollout.view.row(at .. '/bad.h5', 1, at .. '/b.svg'))
      rollout.view.row(at .. '/bad.h5', 1, at .. '/b-%d.svg')
      rollout.view.row(at .. '/bad.h5', 1, at .. '/b.gif')
    end)
    assert.equal('realisation 1 exploded at step 3: later states are that of step 2, frozen', words)
    assert.is_truthy(figures[1].title:find('exploded at step 3', 1, true), figures[1].title)
    for k, p in ipairs(figures[1].panels) do
      if k <= 6 then assert.equal(('t = %d%s'):format(k - 1, k > 3 and ', frozen' or ''), p.title) end
    end
    assert.equal('t = 2', figures[4].panels[1].title)
    assert.equal('t = 3, frozen', figures[5].panels[1].title)
    local film = films[1]
    local function foot(k) return film.palette[film.frames[k]:byte(-1) + 1] end
    for k = 1, 6 do
      local colour = foot(k)
      assert.equal(k > 3, colour[1] > 150 and colour[2] < 80 and colour[3] < 80, 'frame ' .. k)
    end
    local good, legend = select(3, rollout.view.row(at .. '/good.h5', 1, at .. '/g.gif'))
    assert.is_nil(good)
    assert.matches('^t = 0 to 5; channels 1 to 2 from the left; colours from %S+ %(dark%) to %S+ %(light%)', legend)
  end)

  it('show the realisation that is asked for, and name it', function()
    local tree = mc.json.decode [[{ "metadata": { "name": "two" }, "parameter_space": {
      "architecture": { "num_layers": { "type": "choice", "choices": [1] },
        "base_channels": { "type": "choice", "choices": [4] } },
      "stochastic": { "noise_scale": { "type": "choice", "choices": [0.5] } },
      "operator": { "grid_size": { "type": "choice", "choices": [8] } } },
      "sampling": { "total_samples": 1 },
      "simulation": { "num_timesteps": 3, "num_realizations": 2, "channels": 1, "policy": "convex" },
      "dataset": { "output_path": "" } }]]
    tree.dataset.output_path = at .. '/two.h5'
    rollout.generate.run(rollout.config.of(tree), { quiet = true })
    local last
    rollout.dataset.replay(at .. '/two.h5', 0, { features = false, visit = function(_, x)
      last = x:to('f64'):totable()
    end })
    assert.is_true(last[1][1][1][1] ~= last[2][1][1][1])
    for m = 1, 2 do
      local figures = watched(function()
        rollout.view.row(at .. '/two.h5', 0, at .. '/m.svg', { realization = m })
      end)
      assert.matches('^two, row 0, realisation ' .. m .. ': L1 b4 k3, instance norm, gelu, 8x8', figures[1].title)
      assert.same(last[m][1], figures[1].panels[3].marks[1].z)
    end
    local ok, why = pcall(rollout.view.row, at .. '/two.h5', 0, at .. '/m.svg', { realization = 3 })
    assert.is_false(ok)
    assert.matches('%-%-realization is 3; the rows of .- have 2', why)
  end)
end)

describe('the page of a data set', function()
  local at
  setup(function() at = process.folder() end)
  teardown(function() process.remove(at) end)

  --- A data set of four rows with a choice, whole numbers and a logarithmic scale; configuration: of the file, changed.
  local function made(name)
    local tree = mc.json.decode [[{ "metadata": { "name": "of <names>" }, "parameter_space": {
      "architecture": { "num_layers": { "type": "choice", "choices": [1] },
        "base_channels": { "type": "choice", "choices": [4] },
        "activation": { "type": "choice", "choices": ["relu", "tanh"] } },
      "stochastic": { "noise_scale": { "type": "continuous", "bounds": [0.001, 0.1], "log_scale": true } },
      "operator": { "grid_size": { "type": "integer", "bounds": [8, 10] } } },
      "sampling": { "total_samples": 4 }, "simulation": { "num_timesteps": 2, "num_realizations": 1, "channels": 1 },
      "dataset": { "output_path": "" } }]]
    tree.dataset.output_path = at .. '/' .. name
    rollout.generate.run(rollout.config.of(tree), { quiet = true })
    return tree.dataset.output_path
  end

  it('shows the values that were drawn, by name and with units', function()
    local text
    local hist, logs, figure = {}, 0, mc.plot.figure
    mc.plot.figure = function(o)
      local fig = figure(o)
      hist[#hist + 1] = fig
      return fig
    end
    local ok, why = pcall(function() text = process.read(rollout.report.write(made 'p.h5')) end)
    mc.plot.figure = figure
    assert(ok, why)
    local panels = 0
    for _, fig in ipairs(hist) do
      panels = panels + #fig.panels
      for _, panel in ipairs(fig.panels) do logs = logs + (panel.xscale == 'log' and 1 or 0) end
    end
    assert.is_true(logs > 0)
    assert.is_true(panels > 60) -- features
    for _, word in ipairs { 'of &lt;names&gt;', '>relu<', '>tanh<', 'grid_size (px)', 'stochastic.noise_scale' } do
      assert.is_truthy(text:find(word, 1, true), word)
    end
    for _, word in ipairs { 'Features (means over realisations)', 'Features of states (means over steps)',
      '>realisations</td>' } do
      assert.is_truthy(text:find(word, 1, true), word)
    end
    assert.is_nil(text:find('coordinate', 1, true))
    assert.is_nil(text:find('num_layers', 1, true)) -- one value
  end)

  it('needs a whole configuration, which merging and extraction need, too', function()
    local path = made 'd.h5'
    local bytes = process.read(path)
    for was, is in pairs { ['"sampling":'] = '"sampl\1ng":', ['"num_timesteps":%d'] = '"num_timesteps":0',
      ['"chunk_size":1000'] = '"chunk_size":null' } do
      local changed = assert(bytes:gsub(was, is))
      assert.is_true(changed ~= bytes, was)
      process.write(path, changed)
      for _, f in ipairs { function() rollout.store.join({ path }, at .. '/m.h5') end,
        function() rollout.dataset.configuration(path) end, function() rollout.report.write(path) end,
        function() rollout.dataset.info(path) end } do
        local ok, why = pcall(f)
        assert.is_false(ok)
        assert.is_truthy(tostring(why):find('the configuration in ' .. path .. ' is damaged', 1, true), why)
      end
      local ok, lines = rollout.dataset.validate(path)
      assert.is_false(ok)
      assert.is_truthy(lines[1]:find('^FAIL .*the configuration in '), lines[1])
    end
  end)

  it('and validate tell values that are not finite; all attributes are listed on request', function()
    local path = made 'n.h5'
    local lines = table.concat(rollout.dataset.info(path, true), '\n')
    for _, word in ipairs { 'temporal_registry: {', 'words: ["kept","failed"', 'names: ["architecture.' } do
      assert.is_truthy(lines:find(word, 1, true), word)
    end
    assert.is_nil(table.concat(rollout.dataset.info(path), '\n'):find('names: [', 1, true))
    assert.is_true(rollout.dataset.validate(path))
    local open = mc.open
    finally(function() mc.open = open end)
    mc.open = function(...) -- a file in which one value of row 2 is NaN
      local file = open(...)
      return setmetatable({ dataset = function(_, place)
        local d = file:dataset(place)
        if place ~= '/features/temporal/features' then return d end
        return { shape = d.shape, read = function(_, what)
          local x = d:read(what)
          x[2][1][1] = 0 / 0
          return x
        end }
      end }, { __index = function(_, name)
        return function(_, ...) return file[name](file, ...) end
      end })
    end
    local ok, told = rollout.dataset.validate(path)
    assert.is_false(ok)
    assert.is_truthy(table.concat(told, '\n'):find(
      'FAIL  /features/temporal/features: 1 values of rows without a failure', 1, true), table.concat(told, '\n'))
  end)

  it('has a place for values that no row drew, and names coordinates without a figure', function()
    local few = rollout.config.of { metadata = { name = 'few' }, parameter_space = {
      architecture = { num_layers = { type = 'integer', bounds = { 1, 2 } },
        base_channels = { type = 'choice', choices = { 1, 2, 3, 4, 5, 6, 7 } } },
      operator = { grid_size = { type = 'choice', choices = { 4 } } },
      own = { many = { type = 'array', length = 33, element_type = 'continuous', bounds = { 0, 1 } } } },
      sampling = { total_samples = 1, batch_size = 1 },
      simulation = { num_realizations = 1, num_timesteps = 2 }, dataset = { output_path = at .. '/few.h5' } }
    local r = rollout.generate.run(few, { quiet = true })
    local text = process.read(rollout.report.write(r.path))
    for k = 1, 7 do assert.is_truthy(text:find(('>%d<'):format(k), 1, true), k) end
    assert.is_truthy(text:find('without one: own.many[31], own.many[32], own.many[33].', 1, true))
    -- no limit is held against a set of so few rows
    assert.is_nil(table.concat(rollout.report.quality(r.quality), '\n'):find('above', 1, true))
  end)
end)
