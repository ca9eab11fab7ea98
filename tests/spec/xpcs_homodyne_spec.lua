-- xpcs_homodyne_spec.lua - every option of homodyne and homodyne-config (v2.23.2) is taken, noted or refused by name,
-- as the table of docs/xpcs-homodyne.md says; keys that its programs read, and those that only its pages show.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local script = support.load 'script'
local mc = require 'mascon'
local xpcs = mc.xpcs
local folder = os.tmpname()
os.remove(folder)

-- option of homodyne = words that follow it; an effect in the settings of a run, or the note on it
local TAKEN = {
  ['--method'] = { 'both', function(s) return s.method == 'both' end },
  ['--output-dir'] = { 'x', function(s) return s.dir == 'x' end },
  ['--data-file'] = { 'a.h5', function(s) return s.path == 'a.h5' end },
  ['--static-mode'] = { nil, function(s) return s.open.mode == 'static' end },
  ['--laminar-flow'] = { nil, function(s) return s.open.mode == 'laminar_flow' end },
  ['--max-iterations'] = { '77', function(s) return s.fit.max_nfev == 77 end },
  ['--tolerance'] = { '1e-5', function(s) return s.fit.ftol == 1e-5 and s.fit.xtol == 1e-5 end },
  ['--n-samples'] = { '7', function(s) return s.posterior.draws == 7 end, '--method cmc' },
  ['--n-warmup'] = { '8', function(s) return s.posterior.warmup == 8 end, '--method cmc' },
  ['--n-chains'] = { '3', function(s) return s.posterior.chains == 3 end, '--method cmc' },
  ['--cmc-num-shards'] = { '5', function(s) return s.posterior.shards == 5 end, '--method cmc' },
  ['--cmc-backend'] = { 'pbs', function(s) return s.unused[1]:find '^%-%-cmc%-backend' end, '--method cmc' },
  ['--cmc-plot-diagnostics'] = { nil, function(s) return s.unused[1] == '--cmc-plot-diagnostics' end },
  ['--no-nlsq-warmstart'] = { nil, function(s) return s.posterior.warm_start == false end, '--method cmc' },
  ['--dense-mass-matrix'] = { nil, function(s) return s.posterior.metric == 'dense' end, '--method cmc' },
  ['--initial-d0'] = { '5', function(s) return s.fit.initial.D0 == 5 end },
  ['--initial-alpha'] = { '0.1', function(s) return s.fit.initial.alpha == 0.1 end },
  ['--initial-d-offset'] = { '3', function(s) return s.fit.initial.D_offset == 3 end },
  ['--initial-gamma-dot-t0'] = { '2', function(s) return s.fit.initial.gamma_dot_t0 == 2 end, '--laminar-flow' },
  ['--initial-beta'] = { '0.2', function(s) return s.fit.initial.beta == 0.2 end, '--laminar-flow' },
  ['--initial-gamma-dot-offset'] = { '0.3', function(s) return s.fit.initial.gamma_dot_t_offset == 0.3 end,
    '--laminar-flow' },
  ['--initial-phi0'] = { '4', function(s) return s.fit.initial.phi0 == 4 end, '--laminar-flow' },
  ['--save-plots'] = { nil, function(s) return s.save_plots end },
  ['--plotting-backend'] = { 'datashader', function(s) return s.unused[1] == '--plotting-backend' end },
  ['--parallel-plots'] = { nil, function(s) return s.unused[1] == '--parallel-plots' end },
  ['--output-format'] = { 'npz', function(s) return s.format == 'npz' end },
  ['--threads'] = { '2', function(s) return s.threads == 2 end },
  ['--quiet'] = { nil, function(_, o) return o.quiet end },
  ['--verbose'] = { '2', function(_, o) return o.verbose == 2 end },
  ['--no-jit'] = { nil, function(s) return s.unused[1] == '--no-jit' end },
}
-- options that select a command or belong to one: tested by running it
local COMMANDS = { '--config', '--version', '--nlsq-result', '--plot-experimental-data', '--plot-simulated-data',
  '--contrast', '--offset', '--phi-angles', '--mode', '--output', '--interactive', '--validate', '--force', '--filter' }

local function run(line) return script.run('xpcs', line) end

describe('options of homodyne', function()
  setup(function() assert(mc.file.make_folder(folder)) end)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  it('have the effect that they have there, or are noted', function()
    for name, case in pairs(TAKEN) do
      local words = { name }
      if case[1] then words[2] = case[1] end
      for word in (case[3] or ''):gmatch '%S+' do words[#words + 1] = word end
      local o = mc.args.parse(words, { name = 'xpcs', options = xpcs.options.LIST })
      assert.is_truthy(case[2](xpcs.run.settings(o), o), name)
    end
  end)

  it('are each in the table of the page about homodyne', function()
    local page = assert(script.read 'docs/xpcs-homodyne.md')
    for name in pairs(TAKEN) do assert.is_truthy(page:find(name, 1, true), name) end
    for _, name in ipairs(COMMANDS) do assert.is_truthy(page:find(name, 1, true), name) end
  end)

  it('select commands', function()
    local data, sim = folder .. '/sim/simulated_data.npz', ' --phi-angles 0,60 --contrast 0.2 --offset 1.1'
    local text, status = run('--plot-simulated-data --frames 30' .. sim .. ' --output-dir ' .. folder .. '/sim')
    assert.equal(0, status, text)
    assert.equal(0.2, mc.load(data).true_contrast:item())
    text, status = run('--plot-experimental-data --data-file ' .. data .. ' --output-dir ' .. folder .. '/plot')
    assert.equal(0, status, text)
    text, status = run('--data-file ' .. data .. sim)
    assert.is_true(status == 1 and text:find('belongs to the command simulate', 1, true) ~= nil, text)
    text, status = run 'config --interactive'
    assert.is_true(status == 2 and text:find('--interactive: there is no dialogue', 1, true) ~= nil, text)
    local path = folder .. '/c.yaml'
    assert.equal(0, select(2, run('config -m static --filter minimal -o ' .. path)))
    text, status = run('config -v ' .. path)
    assert.is_true(status == 0 and text:find('can be read: static', 1, true) ~= nil, text)
    text, status = run('--cmc-backend mpi --method cmc --data-file ' .. data)
    assert.is_true(status == 2 and text:find('choose auto, pjit', 1, true) ~= nil, text)
  end)
end)

describe('keys of homodyne', function()
  local function refused(tree, ...)
    tree.analyzer_parameters = tree.analyzer_parameters or { dt = 0.1 }
    local ok, why = pcall(xpcs.config.of, tree)
    assert.is_false(ok)
    for _, part in ipairs { ... } do assert.is_truthy(why:find(part, 1, true), why) end
  end

  it('that its programs read beside those of its templates are taken', function()
    local c = xpcs.config.of { analyzer_parameters = { dt = 0.1 }, optimization = { nlsq = { ftol = 1e-5,
      tolerance = 1e-3, x_scale = 'jac', streaming = { enable = true }, stratified = { enable = true },
      recovery = { max_attempts = 2 },
      force_stratified_ls = true, cmaes = { diagonal_filtering = 'remove' } } } }
    assert.equal(1e-5, c.fit.ftol)
    assert.same({ 'optimization.nlsq.cmaes.diagonal_filtering', 'optimization.nlsq.force_stratified_ls',
      'optimization.nlsq.recovery', 'optimization.nlsq.stratified', 'optimization.nlsq.streaming' }, c.unused)
  end)

  it('of its example scripts are taken: strategies in small letters, method mcmc, performance.device', function()
    local c = xpcs.config.of { analyzer_parameters = { dt = 0.1 }, optimization = { method = 'mcmc' },
      performance = { strategy_override = 'streaming', device = { preferred_device = 'auto' } } }
    assert.same({ 'cmc', 'STREAMING', { 'performance.device' } }, { c.method, c.strategy, c.unused })
    c = xpcs.config.of { analyzer_parameters = { dt = 0.1 }, performance = { strategy_override = 'LARGE' } }
    assert.equal('LARGE', c.strategy)
    c = xpcs.config.of { analysis_mode = 'laminar_flow', analyzer_parameters = { dt = 0.1 },
      initial_parameters = { parameter_names = { 'gamma_dot_t_0', 'phi_0' }, values = { 1e-3, 4 } } }
    assert.same({ gamma_dot_t0 = 1e-3, phi0 = 4 }, c.fit.initial)
    refused({ performance = { strategy_override = 'Huge' } }, 'choose standard')
  end)

  it('that only its pages show are refused with what to write', function()
    refused({ analysis = { mode = 'static' } }, 'there is no key analysis', 'analysis_mode')
    refused({ data = { file_path = 'a' } }, 'there is no key data', 'write experimental_data')
    refused({ nlsq = { loss = 'linear' } }, 'nlsq is a key of optimization')
    refused({ stratification = {} }, 'stratification is a key of optimization')
    refused({ cmaes = {} }, 'cmaes is a key of optimization.nlsq')
    refused({ parameter_space = { D0 = { bounds = {} } } }, 'parameter_space.bounds', 'name: D0')
    refused({ optimization = { nlsq = { los = 'linear' } } }, 'did you mean loss?')
    refused({ whatever = 1 }, 'known here are analysis_mode')
  end)

  it('of laminar flow have no effect in a static fit, and a note says so', function()
    local d = xpcs.data.of(xpcs.simulate { n = 20, phi = { 0, 60 }, physics = { 3000, -0.2, 500 } })
    local function notes(o)
      o.mode, o.sigma, o.max_nfev = 'static', 0.01, 3
      return table.concat(xpcs.fit(d, o).warnings, '\n')
    end
    assert.is_truthy(notes { fixed = { phi0 = 3 }, bounds = { beta = { 0, 1 } } }:find(
      'beta, phi0 belong to laminar flow', 1, true))
    assert.is_truthy(notes { initial = { gamma_dot_0 = 1e-3 } }:find('gamma_dot_t0 belongs to laminar flow', 1, true))
    assert.is_nil(notes { fixed = { alpha = -0.2, contrast = 0.3 } }:find('laminar', 1, true))
  end)
end)

describe('--tie', function()
  it('reads factor and shift, of which each may be left out', function()
    local function ties(word)
      return xpcs.run.settings({ tie = { word } }).fit.ties
    end
    assert.same({ D_offset = { to = 'D0', factor = 0.1, shift = 0 } }, ties 'D_offset=0.1*D0')
    assert.same({ D_offset = { to = 'D0', factor = 1, shift = -500 } }, ties 'D_offset=D0-5e2')
    assert.same({ alpha = { to = 'D0', factor = -2e-3, shift = 1.5 } }, ties 'alpha=-2e-3*D0+1.5')
  end)
end)

describe('--bounds', function()
  local function settings(o) return xpcs.run.settings(o).fit.bounds end

  it('replaces ranges of parameters', function()
    assert.same({ D0 = { 10, 1e6 }, offset = { 0.9, 1.1 } }, settings { bounds = { 'D0=10:1e6', 'offset=0.9:1.1' } })
    assert.same({ gamma_dot_t_offset = { -1, 1 } }, settings { bounds = { 'gamma_dot_offset=-1:1' },
      laminar_flow = true })
    local d = xpcs.data.of(xpcs.simulate { n = 20, phi = { 0, 60 }, physics = { 3000, -0.2, 500 } })
    local o = xpcs.run.settings { bounds = { 'D0=200:2500' } }.fit
    o.sigma = 0.01
    local q = xpcs.fit(d, o).parameters[5]
    assert.same({ 'D0', 200, 2500 }, { q.name, q.low, q.high })
  end)

  it('says what it cannot read', function()
    for word, part in pairs { ['D0=5'] = 'NAME=LOW:HIGH', ['D0=a:b'] = 'NAME=LOW:HIGH', ['D0=5:1'] = 'exceeds',
      ['phi0=-90:90'] = 'belongs to laminar flow', ['DO=1:2'] = 'did you mean D0?' } do
      local ok, why = pcall(settings, { bounds = { word } })
      assert.is_true(not ok and why:find(part, 1, true) ~= nil, why)
    end
    assert.has_error(function() settings { bounds = { 'D0=1:2', 'D0=1:3' } } end)
  end)
end)
