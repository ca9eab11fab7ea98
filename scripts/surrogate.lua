-- surrogate.lua - the least value of an expensive function, found with few evaluations by a Gaussian-process surrogate.
--
-- usage: mascon scripts/surrogate.lua [options]; --help lists them. The function is a choice of --problem; put your
-- own beside them in PROBLEMS. Writes DIR/search.svg/.png (convergence, and the surrogate's surface), history.csv,
-- state.json (--resume goes on from it) and manifest.json.
local mc = require 'mascon'

-- ---------------------------------------------------------------- problems: ranges, a function of a table of values,
-- the least value if known

-- the oscillator that was measured: rad/s, damping ratio, noise of the sensor
local OMEGA, ZETA, NOISE = 2 * math.pi * 1.3, 0.06, 0.05

--- Displacement of x'' + 2 zeta omega x' + omega^2 x = 0 from x = 1 at rest, `n` samples `dt` seconds apart, by
--- Runge-Kutta steps.
local function oscillator(omega, zeta, n, dt)
  local function slope(x, v) return v, -2 * zeta * omega * v - omega * omega * x end
  local x, v, out, h = 1, 0, {}, dt / 4
  for i = 1, n do
    out[i] = x
    for _ = 1, 4 do
      local a1, b1 = slope(x, v)
      local a2, b2 = slope(x + h / 2 * a1, v + h / 2 * b1)
      local a3, b3 = slope(x + h / 2 * a2, v + h / 2 * b2)
      local a4, b4 = slope(x + h * a3, v + h * b3)
      x, v = x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), v + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    end
  end
  return mc.tensor(out)
end

local PROBLEMS = {
  branin = { space = { x = { -5, 10 }, y = { 0, 15 } }, least = 0.39788735772973816, make = function()
    return function(p)
      return (p.y - 5.1 / (4 * math.pi ^ 2) * p.x ^ 2 + 5 / math.pi * p.x - 6) ^ 2
        + 10 * (1 - 1 / (8 * math.pi)) * math.cos(p.x) + 10
    end
  end },
  hartmann = { space = { x1 = { 0, 1 }, x2 = { 0, 1 }, x3 = { 0, 1 }, x4 = { 0, 1 }, x5 = { 0, 1 }, x6 = { 0, 1 } },
    least = -3.32236801141551, make = function()
      local A = mc.tensor { { 10, 3, 17, 3.5, 1.7, 8 }, { 0.05, 10, 17, 0.1, 8, 14 }, { 3, 3.5, 1.7, 10, 17, 8 },
        { 17, 8, 0.05, 10, 0.1, 14 } }
      local P = mc.tensor { { 1312, 1696, 5569, 124, 8283, 5886 }, { 2329, 4135, 8307, 3736, 1004, 9991 },
        { 2348, 1451, 3522, 2883, 3047, 6650 }, { 4047, 8828, 8732, 5743, 1091, 381 } } * 1e-4
      local alpha = mc.tensor { 1, 1.2, 3, 3.2 }
      return function(p)
        return -mc.sum(
          alpha * mc.exp(-mc.sum(A * (mc.tensor { p.x1, p.x2, p.x3, p.x4, p.x5, p.x6 } - P) ^ 2, 2))):item()
      end
    end },
  -- which oscillator gave this record: root mean square misfit of a simulation
  oscillator =
  { space = { frequency_hz = { 0.2, 5, log = true }, damping = { 0.005, 0.5, log = true } }, make = function(seed)
    local n, dt = 200, 0.02
    local record = oscillator(OMEGA, ZETA, n, dt) + NOISE * mc.random.normal({ n }, { key = seed })
    return function(p)
      return mc.sqrt(mc.mean((oscillator(2 * math.pi * p.frequency_hz, p.damping, n, dt) - record) ^ 2)):item()
    end
  end },
}

local o = mc.args.parse(arg, {
  name = 'surrogate', usage = 'usage: mascon scripts/surrogate.lua [options]', positional = 0,
  about = 'Finds the least value of an expensive function with few evaluations.',
  options = {
    { 'problem', { 'branin', 'hartmann', 'oscillator' }, 'function to minimise', default = 'oscillator' },
    { 'calls', 'integer', 'evaluations in all', default = 40 },
    { 'acquisition', { 'ei', 'lcb', 'pi' }, 'what makes a point promising', default = 'ei' },
    { 'seed', 'natural', 'seed of the search (and of the noise of the record)', default = 1 },
    { 'resume', 'string', 'state.json of an earlier run to go on from', value = 'FILE' },
    { 'out', 'string', 'folder for the results', value = 'DIR', default = 'surrogate-results' },
    { 'overwrite', 'flag', 'replace results that are there' }, { 'quiet', 'flag', 'no progress bar' },
  },
})

--- Best values so far of an even design with as many points: what the surrogate is to beat.
local function even(f, search, calls, seed)
  local names, best, least = search.space.keys, {}, math.huge
  for i, u in ipairs(mc.random.sobol(calls, #names, { key = seed }):totable()) do
    local v = search.space:values(u)
    least = math.min(least, f(search.space:point(v)))
    best[i] = least
  end
  return best
end

--- The surrogate's mean over two variables, the others as in the best point: axes of values and z [rows, columns].
local function surface(search, best, side)
  local space, model = search.space, search:model()
  local cube, axis = search:cube(best):totable(), {}
  local xs, ys = {}, {}
  for i = 1, side do axis[i] = (i - 0.5) / side end
  local points = {}
  for i = 1, side do
    for j = 1, side do
      local u = { unpack(cube) }
      u[1], u[2] = axis[j], axis[i]
      points[#points + 1] = u
      local v = space:values(u)
      xs[j], ys[i] = v[1], v[2]
    end
  end
  return xs, ys, model:predict(mc.tensor(points), { std = false }).mean:reshape { side, side }
end

mc.args.run('surrogate', function()
  local problem, dir = PROBLEMS[o.problem], o.out
  if mc.manifest.planning() then
    print(('surrogate: %d evaluations of %s, about %.1f s beside them'):format(o.calls, o.problem, 0.03 * o.calls))
    os.exit(0)
  end
  mc.results.folder('--out', dir, { overwrite = o.overwrite, inputs = { o.resume } })
  local f = problem.make(o.seed)
  local state = o.resume and mc.json.decode(assert(mc.file.read(o.resume)))
  local record = mc.manifest.new { options = { problem = o.problem, calls = o.calls,
    acquisition = o.acquisition, seed = o.seed },
    inputs = o.resume and { o.resume } or nil, seed = o.seed, quiet = o.quiet }

  local bar = not o.quiet and mc.progress.new(o.calls, { label = o.problem, unit = 'evaluations' }) or nil
  local r = mc.optim.bayes(f, problem.space, { n_calls = o.calls, acquisition = o.acquisition,
    seed = not state and o.seed or nil, state = state, progress = bar })
  if bar then bar:done() end
  record:stage('history', r.history.y)

  local names, parts = r.search.space.keys, {}
  for i, name in ipairs(names) do parts[i] = ('%s = %.5g'):format(name, r.x[name]) end
  local baseline = even(f, r.search, r.n, o.seed)
  print(('%s after %d evaluations: %.6g at %s'):format(o.problem, r.n, r.fun, table.concat(parts, ', ')))
  if problem.least then print(('  %.3g above the least value there is'):format(r.fun - problem.least)) end
  if o.problem == 'oscillator' then
    print(('  measured: frequency_hz = %.5g, damping = %.5g'):format(OMEGA / (2 * math.pi), ZETA))
  end
  print(('  an even design of as many points reaches %.6g'):format(baseline[#baseline]))
  print('  ' .. tostring(r.search:model()))

  local fig = mc.plot.figure { cols = 2, title = 'Surrogate search: ' .. o.problem, width = 860 }
  local shift = problem.least or 0
  local function gaps(list)
    local y = {}
    for i, v in ipairs(list) do y[i] = problem.least and math.max(v - shift, 1e-12) or v end
    return y
  end
  local left = fig:axes(1, 1, { xlabel = 'Evaluation',
    ylabel = problem.least and 'Best value above the least' or 'Best value', yscale = 'log', legend = 'top right' })
  left:line(gaps(r.history.best), { label = 'surrogate', step = true })
  left:line(gaps(baseline), { label = 'even design', step = true, dash = 'dashed' })
  local xs, ys, z = surface(r.search, r.x, 48)
  local px, py = {}, {}
  for i, p in ipairs(r.history.x) do px[i], py[i] = p[names[1]], p[names[2]] end
  local function scale(i) return problem.space[names[i]].log and 'log' or 'linear' end
  local right = fig:axes(1, 2, { xlabel = names[1], ylabel = names[2], xscale = scale(1), yscale = scale(2) })
  right:heatmap(xs, ys, z, { label = 'mean of the surrogate' })
  right:scatter(px, py, { color = 'white', size = 4 })
  right:scatter({ r.x[names[1]] }, { r.x[names[2]] }, { color = 'red', size = 9 })
  local rows = { table.concat(names, ',') .. ',value,best' }
  for i, p in ipairs(r.history.x) do
    local row = {}
    for k, name in ipairs(names) do row[k] = ('%.17g'):format(p[name]) end
    rows[i + 1] = ('%s,%.17g,%.17g'):format(table.concat(row, ','), r.history.y[i], r.history.best[i])
  end
  local png, reason
  local files = mc.results.write(dir, record, function(set)
    set:put('history.csv', table.concat(rows, '\n') .. '\n')
    set:put('state.json', mc.json.encode(r.state) .. '\n')
    set:put('search.svg', mc.plot.render(fig))
    png, reason = set:try('search.png', function(path) return mc.plot.save(fig, path, { required = false }) end,
      { compare = false })
  end)
  print(('results in %s: %s'):format(dir, table.concat(files, '  ')))
  if not png then print('no PNG: ' .. tostring(reason)) end
end)
