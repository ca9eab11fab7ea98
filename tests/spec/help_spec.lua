-- help_spec.lua - documentation at the prompt: every way to ask for a name, and what the answer holds.
local mc = require 'mascon'
local help = require 'mascon.help'

describe('help.show', function()
  it('gives an op from its row: formula, dtypes, options, other spellings, source', function()
    local text = help.show 'mc.hypot'
    assert.matches('^mc%.hypot%(a, b', text)
    assert.matches('sqrt%(a%^2 %+ b%^2%)', text)
    assert.matches('dtypes: f16, bf16, f32, f64', text)
    assert.matches('a:hypot%(b%)', text)
    assert.matches('Source: Python array API standard', text)
    assert.matches('Also: neg, ', help.show 'mc.negative')
    assert.matches('axis %(axes%)', help.show 'mc.sum')
  end)

  it('gives a function from the comment above its definition', function()
    local text = help.show 'mc.fft.next_fast_len'
    assert.matches('^mc%.fft%.next_fast_len%(n%)\n', text)
    assert.matches('Smallest 2%^a 3%^b 5%^c at or above n', text)
  end)

  it('finds names without mc, methods, and the library under another name', function()
    assert.equal(help.show 'mc.fft.rfft', help.show 'fft.rfft')
    assert.equal(help.show 'mc.fft.rfft', help.show 'm.fft.rfft')
    assert.equal(help.show 'mc.fft.rfft', help.show ' rfft ')
    assert.matches('^x:release%(%)\n  Gives the memory back now', help.show 'y:release')
    assert.matches('^x:add_%(b%)\n', help.show 'x:add_')
  end)

  it('takes values: functions, modules, the library', function()
    assert.equal(help.show 'mc.fft.rfft', help.show(mc.fft.rfft))
    assert.matches('^mc%.fft\n', help.show(mc.fft))
    assert.matches('Functions: .*fftfreq', help.show(mc.fft))
    assert.matches('mc%.fft ', help.show(mc))
    assert.matches('there is no documentation for a function', help.show(function() end))
  end)

  it('gives types that docstrings name, and their methods', function()
    local text = help.show 'mascon.Fit'
    assert.matches('^mascon%.Fit\n', text)
    assert.matches('Objects of this type come from: [%w_., ]*mc%.optim%.curve_fit', text)
    assert.matches('Methods: [%w_, ]*set_covariance', text)
    text = help.show 'mascon.xpcs.Data'
    assert.matches('n: integer times', text)
    assert.matches('mc%.xpcs%.data%.of', text)
    assert.matches('^Axes:line%(x, y, opts%)\n.*NaN breaks it', help.show 'Axes:line')
    assert.matches('come from: Figure:axes', help.show 'mascon.plot.Axes')
    assert.equal(help.show 'mascon.plot.Axes', help.show 'mc.plot.Axes')
    assert.matches('^Axes:set%(opts%)\n', help.show 'Axes:set')
    assert.matches('Axes:line ', help.apropos 'Axes:line')
    assert.matches('mascon%.xpcs%.Data ', help.apropos 'mascon.xpcs.Data')
  end)

  it('knows names of other libraries as errors do', function()
    for asked, here in pairs { ['mc.nn.MSELoss'] = 'mc.nn.mse_loss', ['nn.MSELoss'] = 'mc.nn.mse_loss',
      MSELoss = 'mc.nn.mse_loss', ['mc.optim.AdamW'] = 'mc.optim.adamw' } do
      assert(help.show(asked):find('; it is ' .. here .. '\n', 1, true), help.show(asked))
    end
    assert(help.apropos 'mseloss':find('mc.nn.MSELoss +is mc.nn.mse_loss here'))
  end)

  it('offers the nearest name for a misspelt one', function()
    assert.matches('nothing is called hypto; did you mean hypot', help.show 'hypto')
  end)
end)

describe('the documentation', function()
  it('is there for every public name, and for every name that the README and the guides quote', function()
    local without = {}
    for _, e in ipairs(help.entries()) do if not e.text then without[#without + 1] = e.name end end
    assert.equal('', table.concat(without, ' '))
    local root = (debug.getinfo(1, 'S').source:match '^@(.*)/tests/spec/[^/]*$' or '.')
    local unknown, seen, count = {}, {}, 0
    local pages = io.popen(("ls '%s'/README.md '%s'/docs/*.md"):format(root, root))
    for path in pages:lines() do
      for name in mc.file.read(path):gmatch '%f[%w_.]mc%.[%l_]+[%w_.]*%w' do
        count = count + 1
        if not seen[name] and name ~= 'mc.dist'
          and help.show(name):find '^help: nothing' then unknown[#unknown + 1] = name end
        seen[name] = true
      end
    end
    pages:close()
    assert.is_true(count > 50)
    assert.equal('', table.concat(unknown, ' '))
  end)

  it('follows a comment that names the module of the function', function()
    assert.matches('^mc%.meeg%.epochs%.cut%(raw, opts%)\n.*event %+ tmin to event %+ tmax',
      help.show 'mc.meeg.epochs.cut')
    assert.matches('reduced_chi2', help.show 'mc.xpcs.fit')
    assert.is_nil(help.show('mc.xpcs.fit'):find 'see workflows')
  end)

  it('lists functions of namespaces within namespaces under their names', function()
    local text = help.show 'mc.meeg'
    assert.matches('Functions of mc%.meeg%.epochs: [%w_, ]*cut', text)
    assert.is_nil(text:match 'Functions: [%w_, ]*new')
    assert.matches('did you mean mc%.pac%.report%.table%?', help.show 'mc.pac.reprot.table')
  end)
end)

describe('help.apropos', function()
  it('lists names whose documentation has the text, in any case', function()
    local text = help.apropos 'FOURIER TRANSFORM'
    assert.matches('mc%.fft%.fft ', text)
    assert.is_nil(text:match 'mc%.hypot')
    assert.matches('no name and no documentation contains "zzyzx"', help.apropos 'zzyzx')
    assert.matches('mc%.nn%.scaled_dot_product_attention ', help.apropos 'boolean attention') -- in this order nowhere
  end)
end)

describe('help.entries', function()
  it('knows every public function and method once', function()
    local seen = {}
    local short = {} -- of the names in namespaces
    for _, e in ipairs(help.entries()) do
      assert.is_nil(seen[e.name])
      seen[e.name] = true
      short[e.name:match '^mc%.%w+%.([%w_]+)$' or ''] = true
    end
    for _, name in ipairs { 'mc.tensor', 'mc.zeros', 'mc.load', 'mc.info', 'mc.fft.rfft', 'mc.special.jn',
      'mc.stats.norm', 'mc.plot', 'mc.manifest.new', 'x:sum', 'x:reshape' } do
      assert.is_true(seen[name] or false, name)
    end
    for name in pairs(require 'mascon.core.op'.functions) do
      assert.is_true(seen['mc.' .. name] or short[name] or seen['x:' .. name]
        or mc.ops[name] ~= nil and mc.ops[name].namespace ~= nil, name)
    end
  end)
end)

describe('help.signature', function()
  it('says in words what an entry is', function()
    for _, entry in ipairs { { name = 'f', args = { {} } }, { name = {} }, {}, { name = 'f', args = 'x' } } do
      local ok, why = pcall(help.signature, entry)
      assert.is_false(ok)
      assert.matches('help.signature: the entry has no name, or arguments that are no names; give', why)
    end
  end)
end)

describe('the prompt', function()
  it('answers help(value), ?name and ??text', function()
    local program = os.getenv 'MASCON' or require 'mascon.host'.exe
    local pipe =
      io.popen(("printf '%s' | '%s' 2>&1"):format('help(mc.hypot)\\n?mc.hypot\\n??hyperbolic sine\\n', program))
    local text = pipe:read '*a'
    pipe:close()
    local page = help.show 'mc.hypot'
    assert.equal(page .. page, text:sub(1, 2 * #page))
    assert.matches('mc%.sinh +hyperbolic sine', text)
  end)
end)
