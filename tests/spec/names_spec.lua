-- names_spec.lua - a name that a public namespace does not have is an error with the nearest one, as of mc itself.
local mc = require 'mascon'
local check = require 'mascon.core.check'

local MISSPELT = {
  'fft.rffft rfft', 'signal.welsh welch', 'plot.figur figure', 'stats.nrom norm', 'random.normall normal',
    'linalg.svdd svd', 'special.gama gamma',
  'optim.minimise minimize', 'integrate.quadd quad', 'json.decod decode', 'text.tabel table', 'tree.mapp map',
    'args.pars parse',
  'file.raed read', 'manifest.nwe new', 'results.writ write', 'report.htlm html', 'progress.nwe new',
    'sample.nutz nuts', 'nn.linaer Linear',
  'meeg.epoch epochs', 'meeg.epochs.ctu cut', 'pac.computee compute', 'pac.generate.recordng recording',
    'pac.report.tabel table', 'xpcs.fitt fit',
  'rollout.generate.runn run', 'autoreject.fitt fit', 'autoreject.log.raed read', 'stats.norm.sff sf',
}

describe('a name that is not there', function()
  it('is an error with the nearest name, in every public namespace', function()
    for _, case in ipairs(MISSPELT) do
      local name, near = case:match '^(%S+) (%S+)$'
      local space = 'mc.' .. name:match '^(.*)%.'
      local ok, why = pcall(assert(loadstring(('local mc = require "mascon"\nreturn mc.%s'):format(name),
        '@script.lua')))
      assert.is_false(ok, name)
      assert.equal(('script.lua:2: mc.%s: there is no such name; did you mean %s.%s?'):format(name, space, near), why)
    end
  end)

  it('is an error with its name here where other libraries have it', function()
    local function named(space)
      local elsewhere = require(('mascon.%s.elsewhere'):format(space))
      for name, here in pairs(elsewhere) do
        local touch = ('return require("mascon").%s[%q]'):format(space, name)
        local why = select(2, pcall(assert(loadstring(touch, '@script.lua'))))
        assert.equal(('script.lua:1: mc.%s.%s: there is no such name; it is %s'):format(space, name, here), why)
        for path in here:gmatch 'mc%.[%w_.]*%w' do -- what it names is there
          local at = mc
          for part in path:sub(4):gmatch '[%w_]+' do at = at[part] end
          assert(at, path)
        end
      end
      return elsewhere
    end
    local layers, optimisers = named 'nn', named 'optim'
    assert.equal('mc.nn.ChannelDropout', layers.Dropout2d)
    assert.equal('mc.optim.cosine', optimisers.CosineAnnealingLR)
    assert.equal('mc.optim.cosine', layers.CosineAnnealingLR)
  end)

  it('is an error with its place where a part has it', function()
    for name, place in pairs { relu = 'mc.nn.relu', svd = 'mc.linalg.svd', adam = 'mc.optim.adam',
      contiguous = 'the method x:contiguous of tensors' } do
      local why = select(2, pcall(assert(loadstring(('return require("mascon").%s'):format(name), '@script.lua'))))
      assert.equal(('script.lua:1: mc.%s: there is no such name; it is %s'):format(name, place), why)
    end
  end)

  it('is nil for the library and for workflows, and names that are there are read without a call', function()
    local probe = loadstring('return require("mascon").pac.no_such_name', '@' .. debug.getinfo(check.error,
      'S').source:sub(2))
    assert.is_nil(probe())
    for _, space in ipairs { 'fft', 'plot', 'text', 'pac' } do assert.is_nil(mc[space]._private, space) end
    assert.is_function(rawget(mc.plot, 'figure'))
  end)
end)
