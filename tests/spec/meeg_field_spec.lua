-- meeg_field_spec.lua - maps of magnetic fields between sensors against autoreject and MNE-Python, their laws,
-- messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local coils, field = mc.meeg.coils, mc.meeg.field

local file
local function golden()
  file = file or mc.load(support.folder .. '/golden/field_mapping.npz')
  return file
end

--- Relative error of a matrix in its largest element: maps of the reference come from another decomposition of the same
--- matrix.
local function apart(got, want) return mc.max(mc.abs(got - want)):item() / mc.max(mc.abs(want)):item() end

local function all(n)
  local out = {}
  for i = 1, n do out[i] = i end
  return out
end

local function turned(l)
  local out = { unpack(l) }
  for i = 1, 3 do out[3 + i], out[6 + i] = l[6 + i], -l[3 + i] end
  return out
end

local function sensors(kind, n)
  local list = {}
  for i, loc in ipairs(golden().site_loc:totable()) do
    if kind == 'grad' then
      list[#list + 1] = { name = 'M' .. #list, type = 'grad', loc = loc, coil = 3012 }
      list[#list + 1] = { name = 'M' .. #list, type = 'grad', loc = turned(loc), coil = 3012 }
    elseif i <= (n or 36) then
      list[i] = { name = 'M' .. i - 1, type = 'mag', loc = loc, coil = kind == 'ctf' and 5001 or 3024 }
    end
  end
  return list
end

local function others(W, bad)
  local is, good = {}, {}
  for _, b in ipairs(bad) do is[b] = true end
  for c = 1, W.shape[2] do if not is[c] then good[#good + 1] = c end end
  return mc.take(W, mc.tensor(good, { dtype = 'i64' }), 2)
end

describe('mc.meeg.field.leave_one_out', function()
  for kind, count in pairs { mag = 36, grad = 72, ctf = 24 } do
    it('is that of autoreject for ' .. kind, function()
      local g = golden()
      local W = field.leave_one_out(sensors(kind, count), all(count), { dev_head_t = g.site_trans })
      tol.below(apart(W, g[kind .. '_loo']), 1e-9, kind)
      tol.below(mc.max(mc.abs(mc.diagonal(W))):item(), 0, 'diagonal')
    end)
  end

  it('does not depend on how many points are in work at a time', function()
    local t, list = golden().site_trans, {}
    for turn = 0, 4 do -- 180 sensors of 4 points: several blocks
      local c, s = math.cos(turn), math.sin(turn)
      for _, l in ipairs(golden().site_loc:totable()) do
        local loc = {}
        for k = 1, 12, 3 do
          loc[k], loc[k + 1], loc[k + 2] = c * l[k] - s * l[k + 1], s * l[k] + c * l[k + 1], l[k + 2]
        end
        list[#list + 1] = { name = 'M' .. #list, type = 'mag', loc = loc, coil = 3024 }
      end
    end
    local many = field.prepare(list, all(180), { dev_head_t = t }).products
    tol.below(apart(many['1:9, 1:9'], field.prepare(list, all(9), { dev_head_t = t }).products), 1e-14)
  end)
end)

describe('mc.meeg.field.repairer', function()
  local BAD = { 1, 8, 21 }

  it('maps from the good to the bad as MNE does, with 100 terms and with projectors', function()
    local g = golden()
    local list = sensors 'mag'
    local function weights(opts)
      opts.dev_head_t = g.site_trans
      return others(field.repairer(list, all(36), opts):weights(BAD), BAD)
    end
    tol.below(apart(weights { mode = 'accurate' }, g.mag_accurate), 1e-9, 'accurate')
    local names = {}
    for i, c in ipairs(list) do names[i] = c.name end
    local projs =
      { { channels = names, data = g.proj['1:1, :'] }, { channels = names, data = g.proj['2:2, :']:totable() } }
    tol.below(apart(weights { projs = projs }, g.mag_projected), 1e-9, 'projected')
    assert.is_true(apart(weights {}, g.mag_projected) > 1e-3)
    local by_info = field.repairer(list, all(36), { info = { dev_head_t = g.site_trans, projs = projs } }):weights(BAD)
    tol.below(apart(others(by_info, BAD), g.mag_projected), 1e-9, 'info')
  end)

  it('maps between magnetometers and gradiometers as MNE does', function()
    local g = golden()
    local list = {}
    for i, loc in ipairs(g.site_loc:totable()) do
      if i <= 16 then
        list[#list + 1] = { name = 'A' .. i, type = 'mag', loc = loc, coil = 3024 }
        list[#list + 1] = { name = 'B' .. i, type = 'grad', loc = loc, coil = 3012 }
        list[#list + 1] = { name = 'C' .. i, type = 'grad', loc = turned(loc), coil = 3012 }
      end
    end
    local W = others(field.repairer(list, all(48), { dev_head_t = g.site_trans }):weights(BAD), BAD)
    -- T and T/m stand side by side here: row by row; and MNE has 1 / (2 base) of a gradiometer with six digits
    for k = 1, 3 do tol.below(apart(W[k], g.both_map[k]), 1e-6, 'sensor ' .. BAD[k]) end
  end)

  it('agrees with leave_one_out on single sensors, whatever the order of picks', function()
    local g = golden()
    local list = sensors 'mag'
    local opts = { dev_head_t = g.site_trans }
    tol.below(apart(field.repairer(list, all(36), opts):weights({ 5 })[1], g.mag_loo[5]), 1e-9)
    local back = {}
    for i = 1, 36 do back[i] = 37 - i end
    tol.below(apart(mc.flip(field.repairer(list, back, opts):weights({ 32 })[1]), g.mag_loo[5]), 1e-9)
  end)

  it('rebuilds the field of a source that all sensors see', function()
    local g = golden()
    local list = sensors 'mag'
    -- a field of a source is the map's own: the products of a sensor with all others, as if a coil were the source
    local f = field.prepare(list, all(36), { dev_head_t = g.site_trans })
    local y = f.products[18]:reshape(36, 1)
    local W = field.repairer(list, all(36), { dev_head_t = g.site_trans }):weights { 7 }
    tol.below(math.abs(mc.matmul(W, y):item() / y[7]:item() - 1), 0.05) -- what truncation leaves out
  end)

  it('refuses the sets that cannot be', function()
    local r = field.repairer(sensors 'mag', all(4), { dev_head_t = golden().site_trans })
    assert.error_matches(function() r:weights { 1, 2, 3, 4 } end, 'all 4 sensors are bad')
    assert.error_matches(function() r:weights { 5 } end, 'places run from 1 to 4')
  end)
end)

describe('mc.meeg.coils', function()
  it('have the products of all kinds of coils', function()
    local g = golden()
    local list, locs = {}, g.site_loc:totable()
    for i, kind in ipairs(g.kinds:totable()) do
      list[i] = { name = 'K' .. kind, type = 'mag', loc = locs[i], coil = kind }
    end
    local p = field.prepare(list, all(#list), { dev_head_t = g.site_trans }).products
    local root = mc.sqrt(mc.diagonal(p))
    local off = mc.abs(p / root:reshape(-1, 1) / root:reshape(1, -1) - g.kind_products)
    for i, c in ipairs(list) do tol.below(mc.max(off[i]):item(), 1e-9, c.name) end
    assert.is_nil(coils.points(4711))
    assert.equal(4, #coils.points(3024 + 65536 * 7))
  end)
end)

describe('mistakes in MEG channels', function()
  it('are named with the channel', function()
    local t = golden().site_trans
    for _, case in ipairs {
      { { coil = 4711 }, 'channel M1 has the coil 4711, which is not known' },
      { { coil = mc.none }, 'channel M1 has no coil' },
      { { loc = { 1, 2, 3 } }, 'valid positions needed, channel M1 has none' },
      { { type = 'eeg' }, 'channel M1 is of type eeg; field mapping is for mag and grad' },
      { { loc = { 0, 0, 0.05, 1, 0, 0, 0, 1, 0, 0, 0, 1 } }, 'channel M1 lies .* within the sphere of sources' },
    } do
      local list = sensors('mag', 4)
      for k, v in pairs(case[1]) do list[2][k] = v ~= mc.none and v or nil end
      assert.error_matches(function() field.leave_one_out(list, all(4), { dev_head_t = t }) end, case[2])
    end
    local list = sensors('mag', 4)
    assert.error_matches(function() field.leave_one_out(list, { 2 }, { dev_head_t = t }) end,
      '1 channels; a field is mapped from others')
    assert.error_matches(function() field.leave_one_out(list, { 2, 9 }, { dev_head_t = t }) end,
      'channel 9 is not one of 4')
    assert.error_matches(function() field.leave_one_out(list, all(4), { dev_head_t = { 1 } }) end, 'no 4 x 4 matrix')
    assert.error_matches(function() field.leave_one_out(list, all(4), { modus = 'fast' }) end, 'did you mean "mode"')
  end)
end)
