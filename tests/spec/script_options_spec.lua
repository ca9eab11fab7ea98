-- script_options_spec.lua - the tables of options of scripts: every option says when it does something, and one check
-- refuses it everywhere else.
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
  ['scripts/autoreject.lua'] = 'types bads montage picks reject_by threads max_memory out overwrite quiet',
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
