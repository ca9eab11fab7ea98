-- scalp_clamp_spec.lua - a clamped scalp map stays between the sensors around every point; `mascon why` compares logs
-- that hold names.
local mc = require 'mascon'

describe('a clamped scalp map', function()
  it('shows nothing beyond what the sensors around say', function()
    local channels = mc.meeg.montage.join(mc.meeg.channels.new({ 'Fp1', 'Fp2', 'F3', 'F4', 'Fz', 'C3', 'C4', 'Cz',
      'P3', 'P4', 'Pz', 'O1', 'O2', 'T7', 'T8' }, 'eeg'), '10-05')
    local values = {}
    for i = 1, 15 do values[i] = 8 + 2 * (i % 3) end
    values[1] = 90 -- one far channel is bad; the back of the head says 8 to 12
    local seen
    local axes = setmetatable({}, { __index = function(_, name)
      return function(_, ...)
        for _, v in ipairs { ... } do if mc.is_tensor(v) and v.ndim == 2 and v.shape[1] > 20 or type(v) == 'table'
          and type(v[1]) == 'table' and #v > 20 then seen = v end end
        return name
      end
    end })
    mc.meeg.scalp.draw(axes, channels, values, { clamp = true })
    seen = mc.is_tensor(seen) and seen or mc.tensor(seen)
    local back = seen[{ { 1, math.floor(seen.shape[1] / 3) } }]
    local finite = mc.isfinite(back)
    assert.is_true(mc.max(mc.where(finite, back, 0)):item() <= 12 + 1e-9)
    assert.is_true(mc.min(mc.where(finite, back, 9)):item() >= 8 - 1e-9)
  end)
end)

describe('mascon why', function()
  it('compares files that hold names beside numbers', function()
    local folder = os.tmpname()
    os.remove(folder)
    for i = 1, 2 do
      local dir = folder .. i
      os.execute("mkdir -p '" .. dir .. "'")
      local log = mc.autoreject.log.new(mc.full({ 2, 2 }, i - 1), { false, i == 2 }, { 'a', i == 1 and 'b' or 'c' })
      log:save(dir .. '/reject_log.npz')
      local record = mc.manifest.new { options = {}, seed = 1 }
      record:output(dir .. '/reject_log.npz')
      record:write(dir)
    end
    local why = require 'mascon.host.verbs.why'
    local kept, said = io.stdout, {}
    rawset(io, 'stdout', { write = function(_, ...) for _, v in ipairs { ... } do said[#said + 1] = v end end })
    local ok, status = pcall(why.main, { folder .. 1, folder .. 2 })
    rawset(io, 'stdout', kept)
    os.execute("rm -rf '" .. folder .. "1' '" .. folder .. "2'")
    assert.is_true(ok, tostring(status))
    assert.equal(1, status)
    local text = table.concat(said)
    assert.truthy(text:find('ch_names: other words', 1, true), text)
    assert.truthy(text:find('labels: largest difference 1', 1, true), text)
  end)
end)

describe('projectors of a FIF file', function()
  it('are named where nobody applied them', function()
    local idle = require('mascon.meeg.files.fif_info').idle
    local channels, data = { 'EEG 001', 'EEG 002' }, mc.ones { 1, 2 }
    local function projector(name, active) return { name = name, active = active, kind = 1, channels = channels,
      data = data } end
    assert.is_nil(idle({ projector('PCA-v1', true) }, 'epochs get them'))
    local text = idle({ projector('PCA-v1', true), projector('Average EEG reference', false) }, 'epochs get them')
    assert.truthy(text:find(
      'the file holds 1 projector not applied to its samples (Average EEG reference); epochs get them', 1, true), text)
  end)
end)
