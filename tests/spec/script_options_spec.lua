-- script_options_spec.lua - the tables of options of scripts: every option says when it does something, and one check
-- refuses it everywhere else.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local script, process = support.load 'script', support.load 'process'
local mc = require 'mascon'

--- The declaration that a script gives to mc.args.parse.
local function declared(path)
  local parse, spec = mc.args.parse, nil
  mc.args.parse = function(_, s) -- luacheck: ignore
    spec = s
    error 'declared'
  end
  pcall(assert(loadfile(path)))
  mc.args.parse = parse -- luacheck: ignore
  return assert(spec, path)
end

-- options that do something in every run
local ALWAYS = {
  ['scripts/pac.lua'] = [[demo pick pha_range pha_bands amp_range amp_bands spacing measure filter surrogate compat
    dtype device threads max_memory segment_length search contrast top out overwrite quiet]],
  ['scripts/autoreject.lua'] = 'types bads montage picks reject_by device threads max_memory out overwrite quiet',
}

for path, always in pairs(ALWAYS) do
  describe(path, function()
    local spec = declared(path)

    it('says of every option when it does something', function()
      local free = {}
      for _, o in ipairs(spec.options) do
        if not o.of then free[#free + 1] = o[1] end
        for word in (o.of or ''):gmatch '%S+' do
          assert.is_string(spec.settings[word], ('%s: setting %s is not said'):format(o[1], word))
        end
      end
      assert.equal(always:gsub('%s+', ' '), table.concat(free, ' '))
    end)

    it('refuses each option where none of its settings holds, and takes it where one does or is not known', function()
      local none = {}
      for name in pairs(spec.settings) do none[name] = false end
      for _, o in ipairs(spec.options) do
        local line = { [o[1]] = true }
        local ok, why = pcall(mc.args.refuse, spec, line, none)
        assert.equal(not o.of, ok, o[1])
        if o.of then assert.equal(('--%s is for '):format(o[1]:gsub('_', '-')), why:match '%-%-[%w-]+ is for ') end
        assert.is_true(pcall(mc.args.refuse, spec, {}, none), o[1]) -- a default is harmless
        for word in (o.of or ''):gmatch '%S+' do
          for _, holds in ipairs { 'yes', 'unknown' } do
            local facts = {}
            for name in pairs(none) do facts[name] = false end
            facts[word] = holds == 'yes' or nil
            assert.is_true(pcall(mc.args.refuse, spec, line, facts), ('%s with %s'):format(o[1], word))
          end
        end
      end
    end)
  end)
end

describe('a line of words', function()
  local spec = { name = 'demo', positional = 2, options = { { 'top', 'count', 'rows' }, { 'all', 'flag', 'all' } } }

  it('holds names with dashes after --', function()
    for _, argv in ipairs { { '--', '-x', '--top' }, { '-x', '--', '--top' } } do
      local o, given = mc.args.parse(argv, spec)
      assert.same({ '-x', '--top' }, o)
      assert.same({}, given)
    end
    local o = mc.args.parse({ '--all', '--', '--help' }, spec)
    assert.same({ '--help', all = true }, o)
  end)

  it('that names no option is refused in a sentence, in every script', function()
    for _, name in ipairs { 'pac', 'autoreject', 'rollout', 'xpcs', 'surrogate', 'train' } do
      local r = process.shell(('%s scripts/%s.lua --=3'):format(script.program, name))
      assert.equal(2, r.status, r.text)
      assert.is_truthy(r.text:find(('^%s: option %%-%%- is unknown[^\n]*\n$'):format(name)), r.text)
      r = process.shell(('%s scripts/%s.lua -- --no-such-file.npz'):format(script.program, name))
      assert.is_nil(r.text:find('.lua:', 1, true), r.text)
      assert.is_true(r.status == 1 or r.status == 2, r.text)
    end
  end)
end)

describe('mc.args.help', function()
  it('shows values as they are declared, choices once, and the text of a command', function()
    local text = mc.args.help({ usage = 'u', about = 'a', commands = { { 'go', 'goes' },
      { 'stay', 'stays' } }, options = {
      { 'tie', 'list', 'ties', value = 'NAME=FACTOR*OTHER+SHIFT,...', of = 'go' },
      { 'word', 'string', 'a word', value = 'NAME', of = 'go' }, { 'few', { 'a', 'b' }, 'choices', of = 'go' },
      { 'many', { 'one', 'two', 'three', 'four', 'five', 'six' }, 'more', of = 'go' },
      { 'q', 'number', 'of a file', texts = { stay = 'of nothing' }, of = 'go stay' },
      { 'idle', 'flag', 'nothing', of = 'go', unlisted = true } } }, 'go')
    for _, part in ipairs { '--tie NAME=FACTOR*OTHER+SHIFT,...  ties', '--few a|b                          choices\n',
      '--many NAME                        more: one, two, three, four, five, six\n', '  of a file' } do
      assert.is_truthy(text:find(part, 1, true), text)
    end
    assert.is_nil(text:find('idle', 1, true))
  end)
end)

describe('mc.args.device', function()
  it('is the device of the option, else that of MASCON_DEVICE, with a line that says so', function()
    assert.same({ 'cpu' }, { mc.args.device 'cpu' })
    assert.same({ 'ref:0', 'device: ref:0' }, { mc.args.device 'ref:0' })
    local list, line = mc.args.device 'ref:0,ref:1'
    assert.same({ { 'ref:0', 'ref:1' }, 'device: ref:0, ref:1' }, { list, line })
    for text, why in pairs { ['ref:0,cuda:7'] = '--device: device "cuda:7" is not there',
      GPU = '--device: device "GPU" is unknown; use "cpu"' } do
      local ok, said = pcall(mc.args.device, text)
      assert.is_false(ok)
      assert.is_truthy(said:find(why, 1, true), said)
    end
    for named, want in pairs { [''] = 'nil\tnil', cpu = 'cpu\tnil', ['ref:0'] =
      'ref:0\tdevice: ref:0, MASCON_DEVICE names it' } do
      local r = process.shell(('MASCON_DEVICE=%s %s -e %s'):format(named, process.quote(script.program),
        process.quote "print((function(a, b) return tostring(a), tostring(b) end)(require 'mascon'.args.device()))"))
      assert.equal(want .. '\n', r.text)
    end
  end)
end)

describe('mc.pac.compute', function()
  it('notes each option that does nothing beside the others, and no other', function()
    local x = mc.randn({ 2, 600 }, { seed = 7 })
    --- Names of the options that the notes of a run call idle.
    local function idle(options)
      local o, names = { fs = 200, pha_n_bands = 1, amp_n_bands = 1, amp_range_hz = { 30, 60 } }, {}
      for k, v in pairs(options) do o[k] = v end
      for _, note in ipairs(mc.pac.compute(x, o).warnings) do
        names[#names + 1] = note:match '^option (%S+) does nothing here: it acts where '
      end
      return table.concat(names, ' ')
    end
    local cases = {
      { {}, '' }, { { seed = 42, n_bins = 18 }, '' }, -- defaults are harmless
      { { n_perm = 20, seed = 2, null_shift = 3, norm = 'sub', mcp_scope = 'channel' }, '' },
      { { seed = 2, norm = 'sub', mcp_scope = 'channel' }, 'seed norm mcp_scope' },
      { { surrogate = 'exhaustive', n_perm = 20, seed = 2 }, 'n_perm seed' },
      { { surrogate = 'swap_trials', n_perm = 9, min_shift = 3, axes = 'ST' }, 'min_shift' },
      { { n_perm = 20, mcp = 'fdr', maxstat_of = 'raw' }, 'maxstat_of' },
      { { measure = 'mvl', n_bins = 20, bin_norm = 'sum', return_dist = true }, 'n_bins bin_norm return_dist' },
      { { tau = 0.1, ndpac_p = 0.1, plv_entry = 'fit' }, 'tau ndpac_p plv_entry' },
      { { measure = 'ndpac', ndpac_p = 0.1 }, '' }, { { measure = 'plv', plv_entry = 'fit' }, '' },
      { { binning = 'soft', tau = 0.1 }, '' }, { { filter = 'morlet', morlet_width = 6 }, '' },
      { { filter = 'morlet', n_cycles = { 2, 4 } }, 'n_cycles' }, { { morlet_width = 6 }, 'morlet_width' },
    }
    for i, c in ipairs(cases) do assert.equal(c[2], idle(c[1]), 'case ' .. i) end
  end)
end)
